//! What the stages find out about a state: positions, forces, contacts, sensor values.

use carom::Data;
use numpy::PyArrayDyn;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give};
use crate::batch::{Inputs, Starts};
use crate::errors;
use crate::model::Model;

/// Results of all stages for one state.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Results {
    data: Data,
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
        py.detach(|| carom::forward_and_sense(&model.inner, &state, &input, &mut data));
        Ok(Self { data })
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
