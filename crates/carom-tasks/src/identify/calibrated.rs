//! The description of a calibrated model: numbers that were found are written where the file has them, and the result is
//! read again to see that it is the model that was found.

mod agreement;
mod meshes;

use std::path::Path;

use carom::Model;
use carom::model::{GeomShape, Given};
use carom::parameters::Parameters;
use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, ReadSettings, write_with};
use carom_spec::model_spec::{EqualityKind, InertiaSpec, InertialSpec};
use carom_spec::read::read;
use carom_spec::source::MemorySource;

use super::IdentifyError;

/// MJCF text of a model with the parameters θ: complete in itself, data of meshes included.
///
/// # Errors
/// When a parameter has no place in such a file; it is named.
pub fn calibrated(
    spec: &ModelSpec,
    parameters: &Parameters,
    theta: &[f64],
) -> Result<String, IdentifyError> {
    let refuse = |why: String| IdentifyError::Description(why);
    let model = parameters
        .bake(theta)
        .map_err(|error| refuse(error.to_string()))?;
    let given = |model: &Model| model.recipe().map(|recipe| recipe.given.clone());
    let (Some(before), Some(after)) = (given(parameters.base()), given(&model)) else {
        return Err(refuse(
            "the model was not compiled from a description".to_owned(),
        ));
    };
    // Numbers of the model are those of fused bodies, so that these are written.
    let mut spec = carom::compile::simplified(spec);
    let mut place = Place {
        model: &model,
        spec: &mut spec,
        missing: None,
        moved_meshes: Vec::new(),
    };
    for change in changes(&before, &after) {
        place.set(&change);
    }
    place.keep_length_ranges();
    let Place {
        missing,
        moved_meshes,
        ..
    } = place;
    if let Some(missing) = missing {
        return Err(refuse(format!(
            "{missing} was identified, but cannot be written into a model file yet; the report has its value"
        )));
    }
    let text = write_with(&spec, AssetStorage::Inline);
    let again = compiled(&text).and_then(|again| agreement::check(&model, &again, &moved_meshes));
    again.map_err(|why| refuse(format!("the calibrated model cannot be written: {why}")))?;
    Ok(text)
}

/// The model that a text gives.
fn compiled(text: &str) -> Result<Model, String> {
    let name = "calibrated.xml";
    let files = MemorySource::new().with(name, text);
    let again = read(Path::new(name), &files, &ReadSettings::default());
    let again = carom::load::compiled(again).map_err(|error| error.to_string())?;
    Ok(again.model)
}

/// A number that is another one than before.
struct Change {
    family: &'static str,
    field: &'static str,
    element: usize,
    component: usize,
    value: f64,
}

fn changes(before: &Given, after: &Given) -> Vec<Change> {
    let mut old = Vec::new();
    before.for_each(|_, _, _, _, number| old.push(number));
    let mut changes = Vec::new();
    let mut index = 0;
    after.for_each(|family, field, element, component, value| {
        if old
            .get(index)
            .is_none_or(|old: &f64| old.to_bits() != value.to_bits())
        {
            changes.push(Change {
                family,
                field,
                element,
                component,
                value,
            });
        }
        index += 1;
    });
    changes
}

struct Place<'a> {
    model: &'a Model,
    spec: &'a mut ModelSpec,
    /// The first change that has no place.
    missing: Option<String>,
    /// Meshes of which vertices have moved.
    moved_meshes: Vec<usize>,
}

impl Place<'_> {
    fn set(&mut self, change: &Change) {
        let is_set = match (change.family, change.field) {
            _ if self.is_inertia(change) => {
                self.set_inertia(change.element);
                true
            }
            ("meshes", "vertex") => self.set_vertex(change.element).is_some(),
            // They follow from vertices and sizes.
            ("sources", "mesh_moments")
            | ("meshes", "box_low" | "box_high")
            | ("geoms", "bounding_box" | "bounding_radius") => true,
            ("geoms", "size") if self.is_mesh(change.element) => true,
            _ => {
                let number = self.number(change);
                number.map(|number| *number = change.value).is_some()
            }
        };
        if !is_set && self.missing.is_none() {
            let Change {
                family,
                field,
                element,
                ..
            } = change;
            self.missing = Some(format!("{field} of {family} {element}"));
        }
    }

    /// Where the description has a number.
    fn number(&mut self, change: &Change) -> Option<&mut f64> {
        match change.family {
            "option" => self.option(change),
            "bodies" => self.body(change),
            "joints" => self.joint(change.element, change),
            "dofs" => self.dof(change),
            "qpos" => self.coordinate(change),
            "geoms" | "sources" => self.geom(change),
            "sites" => self.site(change),
            "pairs" => self.pair(change),
            "laws" => self.law(change),
            "tendons" => self.tendon(change),
            "equalities" => self.equality(change),
            "actuators" => self.actuator(change),
            "sensors" => self.sensor(change),
            _ => None,
        }
    }

    /// Lengths that the compiler found by search are those of the search's model, not of one that is searched again.
    fn keep_length_ranges(&mut self) {
        let found = &self.model.actuators.length_range;
        for (actuator, range) in self.spec.actuators.iter_mut().zip(found) {
            actuator.length_range = *range;
        }
    }

    fn is_mesh(&self, geom: usize) -> bool {
        matches!(self.model.structure.geoms.shape[geom], GeomShape::Mesh(_))
    }

    fn is_inertia(&self, change: &Change) -> bool {
        let is_number = matches!(
            change.field,
            "mass" | "inertial_position" | "inertial_quat" | "inertia" | "inertia_products"
        );
        change.family == "bodies" && is_number && change.element < self.spec.bodies.len()
    }

    /// Writes all of a body's inertia, about the principal axes that the model has found: a part alone would leave the rest to the
    /// geoms.
    fn set_inertia(&mut self, id: usize) {
        let numbers = &self.model.bodies;
        let body = &mut self.spec.bodies[id];
        body.inertial = Some(InertialSpec {
            span: body.span,
            position: numbers.inertial_position[id].0,
            mass: numbers.mass[id],
            inertia: InertiaSpec::Diagonal {
                quaternion: numbers.inertial_quat[id].0,
                diagonal: numbers.inertia[id].0,
            },
        });
    }

    fn option(&mut self, change: &Change) -> Option<&mut f64> {
        let option = &mut self.spec.option;
        let k = change.component;
        match change.field {
            "timestep" => Some(&mut option.timestep),
            "gravity" => option.gravity.get_mut(k),
            "wind" => option.wind.get_mut(k),
            "magnetic" => option.magnetic.get_mut(k),
            "density" => Some(&mut option.density),
            "viscosity" => Some(&mut option.viscosity),
            "impratio" => Some(&mut option.impedance_ratio),
            "override_margin" => Some(&mut option.override_margin),
            "override_solref" => option.override_solver_reference.get_mut(k),
            "override_solimp" => option.override_solver_impedance.get_mut(k),
            "override_friction" => option.override_friction.get_mut(k),
            _ => None,
        }
    }

    fn body(&mut self, change: &Change) -> Option<&mut f64> {
        let body = self.spec.bodies.get_mut(change.element)?;
        let k = change.component;
        match change.field {
            "position" => body.position.get_mut(k),
            "quat" => body.quaternion.get_mut(k),
            "gravcomp" => Some(&mut body.gravity_compensation),
            _ => None,
        }
    }

    /// A joint of the description by its id.
    fn joint(&mut self, id: usize, change: &Change) -> Option<&mut f64> {
        let mut joints = self
            .spec
            .bodies
            .iter_mut()
            .flat_map(|body| &mut body.joints);
        let joint = joints.nth(id)?;
        let k = change.component;
        match change.field {
            "position" => joint.position.get_mut(k),
            "axis" => joint.axis.get_mut(k),
            "stiffness" => joint.stiffness.get_mut(0),
            "stiffness_poly" => joint.stiffness.get_mut(1 + k),
            "range" => joint.range.get_mut(k),
            "actuator_force_range" => joint.actuator_force_range.get_mut(k),
            "margin" => Some(&mut joint.margin),
            "solref" => joint.limit_solver_reference.get_mut(k),
            "solimp" => joint.limit_solver_impedance.get_mut(k),
            "armature" => Some(&mut joint.armature),
            "damping" => joint.damping.get_mut(0),
            "damping_poly" => joint.damping.get_mut(1 + k),
            "frictionloss" => Some(&mut joint.friction_loss),
            "dof_solref" => joint.friction_solver_reference.get_mut(k),
            "dof_solimp" => joint.friction_solver_impedance.get_mut(k),
            "reference" => Some(&mut joint.reference_value),
            "spring" => Some(&mut joint.spring_reference),
            "spring_damper" => joint.spring_damper.get_mut(k),
            _ => None,
        }
    }

    fn dof(&mut self, change: &Change) -> Option<&mut f64> {
        let joint = *self.model.structure.dofs.joint.get(change.element)?;
        let field = match change.field {
            "solref" => "dof_solref",
            "solimp" => "dof_solimp",
            other => other,
        };
        self.joint(joint, &Change { field, ..*change })
    }

    fn coordinate(&mut self, change: &Change) -> Option<&mut f64> {
        let addresses = &self.model.structure.joints.qpos;
        let joint = addresses
            .iter()
            .position(|&start| start == change.element)?;
        self.joint(joint, change)
    }

    fn geom(&mut self, change: &Change) -> Option<&mut f64> {
        if change.field == "spring_damper" {
            return self.joint(change.element, change);
        }
        let mut geoms = self.spec.bodies.iter_mut().flat_map(|body| &mut body.geoms);
        let geom = geoms.nth(change.element)?;
        let k = change.component;
        let is_placed = matches!(change.field, "position" | "quat" | "size");
        if is_placed && geom.fromto.take().is_some() {
            // The two ends would give place and length again.
            let numbers = &self.model.recipe()?.given.model.geoms;
            geom.position = numbers.position.get(change.element)?.0;
            geom.quaternion = numbers.quat.get(change.element)?.0;
            geom.size = numbers.size.get(change.element)?.0;
        }
        match change.field {
            "size" => geom.size.get_mut(k),
            "position" => geom.position.get_mut(k),
            "quat" => geom.quaternion.get_mut(k),
            "friction" => geom.friction.get_mut(k),
            "solmix" => Some(&mut geom.solver_mix),
            "solref" => geom.solver_reference.get_mut(k),
            "solimp" => geom.solver_impedance.get_mut(k),
            "margin" => Some(&mut geom.margin),
            "gap" => Some(&mut geom.gap),
            "surface_velocity" => geom.surface_velocity.get_mut(k),
            "adhesion" => Some(&mut geom.adhesion),
            "fluid" => geom.fluid_coefficients.get_mut(k.checked_sub(1)?),
            "geom_mass" => Some(geom.mass.insert(0.0)),
            "geom_density" => {
                geom.mass = None;
                Some(&mut geom.density)
            }
            _ => None,
        }
    }

    fn site(&mut self, change: &Change) -> Option<&mut f64> {
        let mut sites = self.spec.bodies.iter_mut().flat_map(|body| &mut body.sites);
        let site = sites.nth(change.element)?;
        let k = change.component;
        if site.fromto.take().is_some() {
            let numbers = &self.model.recipe()?.given.model.sites;
            site.position = numbers.position.get(change.element)?.0;
            site.quaternion = numbers.quat.get(change.element)?.0;
            site.size = numbers.size.get(change.element)?.0;
        }
        match change.field {
            "position" => site.position.get_mut(k),
            "quat" => site.quaternion.get_mut(k),
            "size" => site.size.get_mut(k),
            _ => None,
        }
    }

    fn tendon(&mut self, change: &Change) -> Option<&mut f64> {
        let tendon = self.spec.tendons.get_mut(change.element)?;
        let k = change.component;
        match change.field {
            "range" => tendon.range.get_mut(k),
            "actuator_force_range" => tendon.actuator_force_range.get_mut(k),
            "margin" => Some(&mut tendon.margin),
            "stiffness" => tendon.stiffness.get_mut(0),
            "stiffness_poly" => tendon.stiffness.get_mut(1 + k),
            "damping" => tendon.damping.get_mut(0),
            "damping_poly" => tendon.damping.get_mut(1 + k),
            "armature" => Some(&mut tendon.armature),
            "frictionloss" => Some(&mut tendon.friction_loss),
            "spring_length" => tendon.spring_length.as_mut()?.get_mut(k),
            "solref_limit" => tendon.limit_solver_reference.get_mut(k),
            "solimp_limit" => tendon.limit_solver_impedance.get_mut(k),
            "solref_friction" => tendon.friction_solver_reference.get_mut(k),
            "solimp_friction" => tendon.friction_solver_impedance.get_mut(k),
            _ => None,
        }
    }

    fn equality(&mut self, change: &Change) -> Option<&mut f64> {
        let equality = self.spec.equalities.get_mut(change.element)?;
        let k = change.component;
        match (change.field, &mut equality.kind) {
            ("solref", _) => equality.solver_reference.get_mut(k),
            ("solimp", _) => equality.solver_impedance.get_mut(k),
            (
                "data",
                EqualityKind::Joint { polynomial, .. } | EqualityKind::Tendon { polynomial, .. },
            ) => polynomial.get_mut(k),
            ("data", EqualityKind::Connect { anchor, .. }) => anchor.get_mut(k),
            ("data", EqualityKind::Weld { torque_scale, .. }) if k == 10 => Some(torque_scale),
            _ => None,
        }
    }

    fn sensor(&mut self, change: &Change) -> Option<&mut f64> {
        let sensor = self.spec.sensors.get_mut(change.element)?;
        match change.field {
            "cutoff" => Some(&mut sensor.cutoff),
            "noise" => Some(&mut sensor.noise),
            "delay" => Some(&mut sensor.history.delay),
            "interval" => sensor.history.interval.get_mut(change.component),
            _ => None,
        }
    }

    fn pair(&mut self, change: &Change) -> Option<&mut f64> {
        let pair = self.spec.pairs.get_mut(change.element)?;
        let k = change.component;
        match change.field {
            "solref" => pair.solver_reference.get_mut(k),
            "solreffriction" => pair.friction_solver_reference.get_mut(k),
            "solimp" => pair.solver_impedance.get_mut(k),
            "margin" => Some(&mut pair.margin),
            "gap" => Some(&mut pair.gap),
            "adhesion" => Some(&mut pair.adhesion),
            "friction" => pair.friction.get_mut(k),
            _ => None,
        }
    }

    fn law(&mut self, change: &Change) -> Option<&mut f64> {
        let spec = self.spec.contact_laws.get_mut(change.element)?;
        spec.law.number_mut(change.field, change.component)
    }

    fn actuator(&mut self, change: &Change) -> Option<&mut f64> {
        let actuator = self.spec.actuators.get_mut(change.element)?;
        let k = change.component;
        match change.field {
            "gear" => actuator.gear.get_mut(k),
            "gain" => actuator.gain_parameters.get_mut(k),
            "bias" => actuator.bias_parameters.get_mut(k),
            "dynamics" => actuator.dynamics_parameters.get_mut(k),
            "crank_length" => Some(&mut actuator.crank_length),
            "control_range" => actuator.control_range.get_mut(k),
            "force_range" => actuator.force_range.get_mut(k),
            "activation_range" => actuator.activation_range.get_mut(k),
            "damping" => actuator.damping.get_mut(0),
            "damping_poly" => actuator.damping.get_mut(1 + k),
            "armature" => Some(&mut actuator.armature),
            "delay" => Some(&mut actuator.history.delay),
            _ => None,
        }
    }
}
