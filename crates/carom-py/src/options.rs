//! Options that Python sets: as if the model file said so.

use carom::load;
use carom::model::{ActsIn, Cone, ContactsFromDistance, Integrator, SolverKind};
use carom_spec::mjcf::ReadSettings;
use carom_spec::model_spec::{ContactLawSpec, Flags, OptionSpec};
use carom_spec::read::{ReadModel, read};
use carom_spec::{MemorySource, ModelSpec, SourceMap};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

const INTEGRATORS: [(&str, Integrator); 4] = [
    ("Euler", Integrator::Euler),
    ("RK4", Integrator::RungeKutta4),
    ("implicit", Integrator::Implicit),
    ("implicitfast", Integrator::ImplicitFast),
];

const CONES: [(&str, Cone); 2] = [("pyramidal", Cone::Pyramidal), ("elliptic", Cone::Elliptic)];

const SOLVERS: [(&str, SolverKind); 3] = [
    ("PGS", SolverKind::ProjectedGaussSeidel),
    ("CG", SolverKind::ConjugateGradient),
    ("Newton", SolverKind::Newton),
];

/// What a word means, in any case.
fn of_word<T: Copy>(table: &[(&str, T)], key: &str, word: &Bound<'_, PyAny>) -> PyResult<T> {
    let word: String = number(key, word)?;
    let found = table
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(&word));
    found.map(|&(_, value)| value).ok_or_else(|| {
        let known: Vec<_> = table.iter().map(|(word, _)| *word).collect();
        PyValueError::new_err(format!("{key} '{word}' is not one of {}", known.join(", ")))
    })
}

/// The word for a value.
fn word<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    let found = table.iter().find(|(_, known)| known == value);
    found.map_or("", |(word, _)| word)
}

/// Changes of a model.
#[derive(Default)]
pub(crate) struct Changes {
    settings: Vec<Setting>,
    laws: Option<Vec<ContactLawSpec>>,
    from_distance: Option<Distant>,
}

type Setting = Box<dyn Fn(&mut OptionSpec) + Send + Sync>;

/// Contacts from distance, with geoms by name.
struct Distant {
    numbers: ContactsFromDistance,
    geoms: Option<Vec<String>>,
    pairs: Option<Vec<[String; 2]>>,
}

impl Changes {
    /// Reads the options that are given.
    pub(crate) fn from_dict(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut changes = Self::default();
        for (key, value) in options {
            let key: String = key.extract()?;
            match key.as_str() {
                "contact_law" => changes.laws = Some(laws(&value)?),
                "from_distance" => {
                    changes.from_distance = Some(distant(value.cast::<PyDict>()?)?);
                }
                _ => changes.settings.push(setting(&key, &value)?),
            }
        }
        Ok(changes)
    }

    /// The changed model, and what its file would say.
    pub(crate) fn apply(
        &self,
        model: &carom::Model,
        spec: Option<&ModelSpec>,
    ) -> PyResult<(carom::Model, Option<ModelSpec>)> {
        let compiles = !self.settings.is_empty() || self.laws.is_some();
        let (changed, spec) = match (compiles, spec) {
            (false, spec) => (model.clone(), spec.cloned()),
            (true, Some(spec)) => {
                let (mut changed, spec) = self.compile(spec)?;
                if let Some(distant) = model.contacts_from_distance() {
                    changed = from_distance(changed, distant.clone())?;
                }
                (changed, Some(spec))
            }
            (true, None) => {
                return Err(errors::refused(
                    "this model does not come from a file, so its options are fixed; set them on the model it was made from".to_owned(),
                ));
            }
        };
        let changed = match &self.from_distance {
            None => changed,
            Some(distant) => {
                let settings = distant.resolve(&changed)?;
                from_distance(changed, settings)?
            }
        };
        Ok((changed, spec))
    }

    fn compile(&self, spec: &ModelSpec) -> PyResult<(carom::Model, ModelSpec)> {
        let mut spec = spec.clone();
        for setting in &self.settings {
            setting(&mut spec.option);
        }
        if let Some(laws) = &self.laws {
            spec.contact_laws.clone_from(laws);
        }
        let loaded = load::compiled(ReadModel {
            spec,
            diagnostics: Vec::new(),
            sources: SourceMap::new(),
        });
        let loaded = loaded.map_err(|error| errors::raised(&error))?;
        Ok((loaded.model, loaded.spec))
    }
}

fn from_distance(model: carom::Model, distant: ContactsFromDistance) -> PyResult<carom::Model> {
    let changed = model.with_contacts_from_distance(distant);
    changed.map_err(|error| errors::raised(&error))
}

/// One option by its name in the file format.
fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    macro_rules! options {
        ($( $name:literal => $type:ty, $field:ident, $read:expr; )*) => {
            match key {
                $( $name => {
                    let value: $type = $read?;
                    Box::new(move |option: &mut OptionSpec| option.$field = value)
                } )*
                _ => return flag(key, value),
            }
        };
    }
    Ok(options! {
        "timestep" => f64, timestep, number(key, value);
        "gravity" => [f64; 3], gravity, number(key, value);
        "wind" => [f64; 3], wind, number(key, value);
        "magnetic" => [f64; 3], magnetic, number(key, value);
        "density" => f64, density, number(key, value);
        "viscosity" => f64, viscosity, number(key, value);
        "impratio" => f64, impedance_ratio, number(key, value);
        "tolerance" => f64, tolerance, number(key, value);
        "ls_tolerance" => f64, line_search_tolerance, number(key, value);
        "noslip_tolerance" => f64, noslip_tolerance, number(key, value);
        "ccd_tolerance" => f64, ccd_tolerance, number(key, value);
        "iterations" => u32, iterations, number(key, value);
        "ls_iterations" => u32, line_search_iterations, number(key, value);
        "noslip_iterations" => u32, noslip_iterations, number(key, value);
        "ccd_iterations" => u32, ccd_iterations, number(key, value);
        "integrator" => Integrator, integrator, of_word(&INTEGRATORS, key, value);
        "cone" => Cone, cone, of_word(&CONES, key, value);
        "solver" => SolverKind, solver, of_word(&SOLVERS, key, value);
    })
}

/// The number or numbers of an option.
fn number<'py, T: FromPyObjectOwned<'py>>(key: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    let number = value.extract();
    number.map_err(|_| PyTypeError::new_err(format!("{key} cannot be {value}")))
}

/// One flag by its name in the file format.
fn flag(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    let on: bool = number(key, value)?;
    let field: fn(&mut Flags) -> &mut bool = match key {
        "constraint" => |flags| &mut flags.constraint,
        "equality" => |flags| &mut flags.equality,
        "frictionloss" => |flags| &mut flags.friction_loss,
        "limit" => |flags| &mut flags.limit,
        "contact" => |flags| &mut flags.contact,
        "spring" => |flags| &mut flags.spring,
        "damper" => |flags| &mut flags.damper,
        "gravity_force" => |flags| &mut flags.gravity,
        "clampctrl" => |flags| &mut flags.clamp_control,
        "warmstart" => |flags| &mut flags.warm_start,
        "filterparent" => |flags| &mut flags.filter_parent,
        "actuation" => |flags| &mut flags.actuation,
        "refsafe" => |flags| &mut flags.reference_safety,
        "sensor" => |flags| &mut flags.sensor,
        "eulerdamp" => |flags| &mut flags.euler_damping,
        "island" => |flags| &mut flags.island,
        "multiccd" => |flags| &mut flags.multi_ccd,
        "energy" => |flags| &mut flags.energy,
        _ => {
            let message = format!("there is no option '{key}'");
            return Err(PyTypeError::new_err(message));
        }
    };
    Ok(Box::new(move |option| *field(&mut option.flags) = on))
}

/// Contact laws, by label in the words of the file format; the label of the whole model's is empty.
fn laws(value: &Bound<'_, PyAny>) -> PyResult<Vec<ContactLawSpec>> {
    let texts: Vec<(String, String)> = value.extract()?;
    let texts = texts.into_iter().map(|(label, text)| {
        let slash = if label.is_empty() { "" } else { "/" };
        let [label, text] = [label, text].map(|text| escaped(&text));
        format!("<text name=\"carom/contact{slash}{label}\" data=\"{text}\"/>\n")
    });
    let texts: String = texts.collect();
    let mjcf = format!("<mujoco><custom>\n{texts}</custom></mujoco>");
    let files = MemorySource::new().with("<contact_law>", mjcf);
    let found = read("<contact_law>".as_ref(), &files, &ReadSettings::default());
    if found.diagnostics.is_empty() {
        Ok(found.spec.contact_laws)
    } else {
        Err(errors::model(&found.diagnostics, &found.sources))
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

fn distant(options: &Bound<'_, PyDict>) -> PyResult<Distant> {
    let number = |key: &str| -> PyResult<f64> {
        let value = options.get_item(key)?;
        let value = value.ok_or_else(|| PyValueError::new_err(format!("{key} is missing")))?;
        value.extract()
    };
    let list = |key: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(options.get_item(key)?.filter(|value| !value.is_none()))
    };
    let in_motions = match list("in_motions")? {
        Some(value) => value.extract()?,
        None => false,
    };
    Ok(Distant {
        numbers: ContactsFromDistance {
            far_impedance: number("far_impedance")?,
            near_impedance: number("near_impedance")?,
            width: number("width")?,
            midpoint: number("midpoint")?,
            power: number("power")?,
            sharpness: number("sharpness")?,
            acts_in: if in_motions {
                ActsIn::Motions
            } else {
                ActsIn::Gradients
            },
            ..ContactsFromDistance::default()
        },
        geoms: list("geoms")?.map(|value| value.extract()).transpose()?,
        pairs: list("pairs")?.map(|value| value.extract()).transpose()?,
    })
}

impl Distant {
    fn resolve(&self, model: &carom::Model) -> PyResult<ContactsFromDistance> {
        let resolved = match (&self.geoms, &self.pairs) {
            (None, None) => return Ok(self.numbers.clone()),
            (Some(geoms), _) => {
                let geoms: Vec<_> = geoms.iter().map(String::as_str).collect();
                self.numbers.clone().of_geoms(model, &geoms)
            }
            (None, Some(pairs)) => {
                let pairs: Vec<_> = pairs
                    .iter()
                    .map(|[first, second]| [first.as_str(), second.as_str()])
                    .collect();
                self.numbers.clone().of_pairs(model, &pairs)
            }
        };
        resolved.map_err(|error| errors::raised(&error))
    }
}

/// The options of a model, by their names in the file format.
pub(crate) fn describe<'py>(py: Python<'py>, model: &carom::Model) -> PyResult<Bound<'py, PyDict>> {
    let (numbers, settings) = (&model.option, &model.settings);
    let options = PyDict::new(py);
    options.set_item("timestep", numbers.timestep[0])?;
    options.set_item("gravity", numbers.gravity[0].0)?;
    options.set_item("wind", numbers.wind[0].0)?;
    options.set_item("magnetic", numbers.magnetic[0].0)?;
    options.set_item("density", numbers.density[0])?;
    options.set_item("viscosity", numbers.viscosity[0])?;
    options.set_item("impratio", numbers.impratio[0])?;
    options.set_item("tolerance", numbers.tolerance[0])?;
    options.set_item("integrator", word(&INTEGRATORS, &settings.integrator))?;
    options.set_item("cone", word(&CONES, &settings.cone))?;
    options.set_item("solver", word(&SOLVERS, &settings.solver))?;
    options.set_item("iterations", settings.iterations)?;
    options.set_item("ls_iterations", settings.ls_iterations)?;
    options.set_item("noslip_iterations", settings.noslip_iterations)?;
    Ok(options)
}
