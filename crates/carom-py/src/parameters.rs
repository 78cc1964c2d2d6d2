//! Numbers of a model as a vector θ.

use carom::cotangent::StateBar;
use carom::model::Counts;
use carom::varied::{self, Varied};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Numbers, give, slice};
use crate::backward::ModelBar;
use crate::errors;
use crate::model::Model;

/// Numbers of a model, chosen by name.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Parameters {
    pub(crate) inner: carom::parameters::Parameters,
    /// Of the model whose numbers they are.
    counts: Counts,
}

impl Parameters {
    /// Refuses to work with a model that is not of the same shape.
    pub(crate) fn check_model(&self, model: &carom::Model) -> PyResult<()> {
        check_model(&self.counts, model.counts())
    }

    fn check<'a>(&self, theta: &'a Numbers) -> PyResult<&'a [f64]> {
        slice(theta, "theta", &[self.inner.len()])
    }
}

/// Refuses parameters of another model than the simulated one, as far as their shapes tell.
pub(crate) fn check_model(parameters: &Counts, simulated: &Counts) -> PyResult<()> {
    if parameters == simulated {
        return Ok(());
    }
    let message = "the parameters are those of another model; choose them from the one that was simulated: \
                   rollout.model.parameters(...)";
    Err(PyValueError::new_err(message))
}

#[pymethods]
impl Parameters {
    #[new]
    fn new(model: &Bound<'_, Model>, selectors: Vec<String>) -> PyResult<Self> {
        let selectors: Vec<_> = selectors.iter().map(String::as_str).collect();
        let inner = carom::parameters::Parameters::select(&model.get().inner, &selectors);
        let inner = inner.map_err(|error| errors::raised(&error))?;
        let counts = model.get().inner.counts().clone();
        Ok(Self { inner, counts })
    }

    #[getter]
    fn names(&self) -> Vec<&str> {
        self.inner.names().collect()
    }

    /// Elements that patterns passed over, and why.
    #[getter]
    fn skipped(&self) -> Vec<(String, String)> {
        self.inner.skipped().to_vec()
    }

    #[getter]
    fn has_state(&self) -> bool {
        self.inner.has_state()
    }

    /// The θ that gives the model as it was.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        give(py, self.inner.theta0().to_vec(), &[self.inner.len()])
    }

    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let bounds = self.inner.bounds().into_iter().flatten().collect();
        give(py, bounds, &[self.inner.len(), 2])
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let values = self.inner.values(self.check(&theta)?);
        give(py, values, &[self.inner.len()])
    }

    fn describe(&self, theta: Numbers) -> PyResult<String> {
        Ok(self.inner.describe(self.check(&theta)?))
    }

    /// θ with one parameter set to a value in the units of the model.
    fn set<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers,
        name: &str,
        value: f64,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let mut theta = self.check(&theta)?.to_vec();
        let set = self.inner.set(&mut theta, name, value);
        set.map_err(|error| errors::raised(&error))?;
        give(py, theta, &[self.inner.len()])
    }

    /// The model for θ.
    fn apply(&self, py: Python<'_>, theta: Numbers) -> PyResult<Model> {
        let theta = self.check(&theta)?;
        let model = py.detach(|| self.inner.bake(theta));
        let model = model.map_err(|error| errors::raised(&error))?;
        Ok(Model::new(model, None))
    }

    /// The derivative of a loss by θ, from those by the model for θ and the start state.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers,
        bar: &Bound<'py, ModelBar>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (theta, bar) = (self.check(&theta)?, bar.get());
        self.check_model(&bar.model)?;
        let theta_bar = py.detach(|| self.inner.backward(theta, &bar.model, Some(&bar.start)));
        let theta_bar = theta_bar.map_err(|error| errors::raised(&error))?;
        give(py, theta_bar, &[self.inner.len()])
    }

    /// How the numbers of the model change along a direction of θ.
    fn direction(&self, py: Python<'_>, theta: Numbers, along: Numbers) -> PyResult<ModelBar> {
        let (theta, along) = (self.check(&theta)?, self.check(&along)?);
        let model = py.detach(|| {
            let theta: Vec<_> = (theta.iter().zip(along))
                .map(|(&number, &rate)| Varied::moving(number, rate))
                .collect();
            varied::model(&self.inner, &theta)
        });
        let model = model.map_err(|error| errors::raised(&error))?;
        Ok(ModelBar {
            start: StateBar::zeros(self.inner.base()),
            model: model.map(|number| number.tangent[0]),
        })
    }
}
