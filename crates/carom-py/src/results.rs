//! What the stages find out about a state: positions, forces, contacts, sensor values.

use std::sync::Arc;

use carom::math::Vec3;
use carom::stages::sensing::{kinetic_energy, potential_energy};
use carom::{Data, jacobian};
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give};
use crate::batch::{Inputs, Starts};
use crate::errors;
use crate::model::Model;
use crate::sensitivity::Jacobians;

/// Results of all stages for one state.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Results {
    model: Arc<carom::Model>,
    data: Data,
    /// Potential and kinetic (J).
    energy: (f64, f64),
}

#[pymethods]
impl Results {
    #[new]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        state: Numbers,
        mocap: Numbers,
        controls: Numbers,
        force: Option<Numbers>,
        body_force: Option<Numbers>,
    ) -> PyResult<Self> {
        let model = model.get();
        let starts = Starts::new(model, &state, &mocap)?;
        let inputs = Inputs::new(
            model,
            1,
            &controls,
            [&force, &body_force].map(Option::as_ref),
        )?;
        let state = starts.state(model, 0);
        let input = inputs.of(&model.inner, 0);
        if let Some(place) = carom::report::NotFinite::in_given(&model.inner, &state, &input) {
            return Err(errors::not_finite(place.describe(&model.inner)));
        }
        let mut data = Data::new(&model.inner);
        let energy = py.detach(|| {
            carom::forward_and_sense(&model.inner, &state, &input, &mut data);
            let stages = data.sensed();
            (
                potential_energy(&model.inner, &state, &stages),
                kinetic_energy(&model.inner, &state, &stages),
            )
        });
        Ok(Self {
            model: Arc::clone(&model.inner),
            data,
            energy,
        })
    }

    /// Potential and kinetic energy (J).
    #[getter]
    fn energy(&self) -> (f64, f64) {
        self.energy
    }

    /// The mass matrix of the joints.
    fn mass_matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let nv = self.model.counts().nv;
        give(py, self.data.mass_matrix(&self.model), &[nv, nv])
    }

    /// How a point of the world that a body carries moves and turns with the joints: 3 × nv each. Without a point that of the body's
    /// frame.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        body: usize,
        point: Option<[f64; 3]>,
    ) -> PyResult<Jacobians<'py>> {
        let (nv, nbody) = (self.model.counts().nv, self.model.counts().nbody);
        if body >= nbody {
            let why = format!("the model has {nbody} bodies, none at {body}");
            return Err(PyIndexError::new_err(why));
        }
        let kinematics = &self.data.kinematics;
        let place = point.map_or(kinematics.body_position[body], Vec3);
        let (mut translation, mut rotation) = (vec![0.0; 3 * nv], vec![0.0; 3 * nv]);
        let (model, parts) = (&self.model, (&mut translation, &mut rotation));
        jacobian::point(model, kinematics, body, place, parts.0, parts.1);
        Ok((
            give(py, translation, &[3, nv])?,
            give(py, rotation, &[3, nv])?,
        ))
    }

    /// Numbers of a stage, by the engine's names: one row an element.
    fn array<'py>(
        &self,
        py: Python<'py>,
        stage: &str,
        field: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let mut numbers = Vec::new();
        let mut elements = 0;
        let mut is_known = false;
        macro_rules! stages {
            ($($stage:ident)*) => {
                match stage {
                    $(stringify!($stage) => {
                        is_known = true;
                        self.data.$stage.for_each(|name, element, _, number| {
                            if name == field {
                                numbers.push(number);
                                elements = element + 1;
                            }
                        });
                    })*
                    _ => {}
                }
            };
        }
        stages! { kinematics tendon inertia transmission velocity passive bias actuation acceleration sensing }
        if stage == "solve" {
            let solve = &self.data.solve;
            let list = match field {
                "qacc" => Some(&solve.qacc),
                "force_constraint" => Some(&solve.force_constraint),
                _ => None,
            };
            if let Some(list) = list {
                is_known = true;
                elements = list.len();
                numbers.clone_from(list);
            }
        }
        if !is_known {
            return Err(PyKeyError::new_err(format!("{stage}.{field}")));
        }
        let components = numbers.len() / elements.max(1);
        give(py, numbers, &[elements, components])
    }

    /// Contacts: geoms, distances, places, frames, and forces in these frames.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let contacts = &self.data.collision.contacts;
        let count = contacts.len();
        let numbers = |width: usize, get: &dyn Fn(usize) -> Vec<f64>| {
            give(py, (0..count).flat_map(get).collect(), &[count, width])
        };
        let geoms = contacts.iter().flat_map(|contact| contact.geoms);
        let geoms = geoms
            .map(|geom| i64::try_from(geom).unwrap_or(-1))
            .collect();
        let dict = PyDict::new(py);
        dict.set_item("geom", give::<i64>(py, geoms, &[count, 2])?)?;
        dict.set_item("dist", numbers(1, &|i| vec![contacts[i].distance])?)?;
        dict.set_item("pos", numbers(3, &|i| contacts[i].position.0.to_vec())?)?;
        dict.set_item("frame", numbers(9, &|i| contacts[i].frame.0.to_vec())?)?;
        let force = |i: usize| {
            let found = self.data.contact_force(i);
            found.force.0.into_iter().chain(found.torque.0).collect()
        };
        dict.set_item("force", numbers(6, &force)?)?;
        Ok(dict)
    }
}
