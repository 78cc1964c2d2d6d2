//! Steps and trajectories, many at a time.

use std::ffi::CString;

use carom::report::NotFinite;
use carom::rollout::{Controls, Record, Recorded, StateRow, record};
use carom::{Data, Dynamics, Input, State};
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Numbers, give, optional, piece, pieces, slice, zeros};
use crate::model::Model;
use crate::threads::{Watch, run};
use crate::{errors, tables, tangent};

/// The models of a batch: one for all trajectories, or each its own; they differ in their numbers alone.
pub(crate) struct Models<'a> {
    list: Vec<&'a Model>,
}

impl<'a> Models<'a> {
    pub(crate) fn new(models: &'a [Bound<'_, Model>], trajectories: usize) -> PyResult<Self> {
        let list: Vec<_> = models.iter().map(Bound::get).collect();
        let counts = |model: &&Model| model.inner.counts() == list[0].inner.counts();
        let fits = list.len() == 1 || list.len() == trajectories;
        if list.is_empty() || !fits || !list.iter().all(counts) {
            let message = format!(
                "{} models do not fit {trajectories} trajectories",
                list.len()
            );
            return Err(PyValueError::new_err(message));
        }
        Ok(Self { list })
    }

    /// Whichever; for sizes and names.
    pub(crate) fn first(&self) -> &'a Model {
        self.list[0]
    }

    /// That of a trajectory.
    pub(crate) fn of(&self, trajectory: usize) -> &'a Model {
        self.list[trajectory.min(self.list.len() - 1)]
    }
}

/// Start states from Python: rows, and poses of the mocap bodies.
#[derive(FromPyObject)]
pub(crate) struct StartArrays(Numbers, Numbers);

/// Start states of a batch.
pub(crate) struct Starts<'a> {
    rows: &'a [f64],
    mocap: &'a [f64],
    count: usize,
}

impl<'a> Starts<'a> {
    /// Of rows, and of poses of the mocap bodies.
    pub(crate) fn new(model: &Model, rows: &'a Numbers, mocap: &'a Numbers) -> PyResult<Self> {
        let [width, mocap_width] = model.widths();
        let count = tables::first(rows);
        Ok(Self {
            rows: slice(rows, "states", &[count, width])?,
            mocap: slice(mocap, "mocap", &[count, mocap_width])?,
            count,
        })
    }

    pub(crate) fn of(model: &Model, starts: &'a StartArrays) -> PyResult<Self> {
        Self::new(model, &starts.0, &starts.1)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// One of the states.
    pub(crate) fn state(&self, model: &Model, index: usize) -> State {
        let row = piece(self.rows, index, self.count);
        model.state(row, piece(self.mocap, index, self.count))
    }
}

/// Controls of a batch: one set for all trajectories or each its own, one row for all steps or each its own.
pub(crate) struct Sets<'a> {
    numbers: &'a [f64],
    count: usize,
    per_step: bool,
}

impl<'a> Sets<'a> {
    /// Of an array of shape (1 or trajectories, 1 or steps, nu).
    pub(crate) fn new(
        model: &Model,
        controls: &'a Numbers,
        trajectories: usize,
        steps: usize,
    ) -> PyResult<Self> {
        let nu = model.inner.counts().nu;
        let fits = |size: usize, wanted: usize| size == 1 || size == wanted;
        match *controls.shape() {
            [sets, rows, width] if fits(sets, trajectories) && fits(rows, steps) && width == nu => {
                Ok(Self {
                    numbers: slice(controls, "controls", &[sets, rows, nu])?,
                    count: sets,
                    per_step: rows != 1,
                })
            }
            _ => {
                let shape = controls.shape();
                let message = format!(
                    "controls have the shape {shape:?}, expected [{trajectories}, {steps}, {nu}]"
                );
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// Those of a trajectory.
    pub(crate) fn of(&self, trajectory: usize) -> Controls {
        let own = piece(self.numbers, trajectory.min(self.count - 1), self.count).to_vec();
        if own.is_empty() {
            // No step, or no control: none is asked for.
            Controls::Zero
        } else if self.per_step {
            Controls::PerStep(own)
        } else {
            Controls::Constant(own)
        }
    }
}

/// A trajectory that met a number that is not finite: which one, in which step, and a sentence.
pub(crate) type Problem = (usize, usize, String);

/// Numbers for Python: states, sensor values or readings, and what went wrong.
pub(crate) type Simulated<'py> = (
    Bound<'py, PyArrayDyn<f64>>,
    Bound<'py, PyArrayDyn<f64>>,
    Vec<Problem>,
);

/// What is wrong with a trajectory: an error if it was given so.
fn problem(
    model: &Model,
    trajectory: usize,
    found: Option<(usize, NotFinite)>,
) -> PyResult<Option<Problem>> {
    let Some((step, place)) = found else {
        return Ok(None);
    };
    let sentence = place.describe(&model.inner);
    if matches!(place.stage, "state" | "input") && step == 0 {
        let message = format!("trajectory {trajectory}: {sentence}");
        return Err(errors::not_finite(message));
    }
    Ok(Some((trajectory, step, sentence)))
}

/// What is wrong with trajectories. Python is warned of the first one that grew beyond all measure and yet stayed finite.
pub(crate) fn problems(
    py: Python<'_>,
    model: &Model,
    found: Vec<Recorded>,
) -> PyResult<Vec<Problem>> {
    let is_finite = |one: &Recorded| one.not_finite.is_none();
    let large = found
        .iter()
        .position(|one| is_finite(one) && one.large.is_some());
    if let Some(trajectory) = large
        && let Some((step, place)) = found[trajectory].large
    {
        let place = place.describe(&model.inner);
        let message = format!(
            "trajectory {trajectory}, step {step}: the motion grows beyond all measure: {place}; try a smaller time step"
        );
        let message = CString::new(message).unwrap_or_default();
        // The caller of the method that calls this.
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 2)?;
    }
    let found = found.into_iter().enumerate();
    let problems = found.map(|(trajectory, one)| problem(model, trajectory, one.not_finite));
    problems.filter_map(Result::transpose).collect()
}

/// Simulates trajectories of `steps` steps and returns all their states.
#[pyfunction]
pub(crate) fn rollout<'py>(
    py: Python<'py>,
    models: Vec<Bound<'py, Model>>,
    states: Numbers,
    mocap: Numbers,
    controls: Numbers,
    steps: usize,
    threads: Option<usize>,
) -> PyResult<Simulated<'py>> {
    let models = Models::new(&models, tables::first(&states))?;
    let starts = Starts::new(models.first(), &states, &mocap)?;
    let batch = starts.len();
    let sets = Sets::new(models.first(), &controls, batch, steps)?;
    let width = models.first().widths()[0];
    let shape = [batch, steps.saturating_add(1), width];
    let sensor_shape = [batch, steps, models.first().inner.counts().nsensor_value];
    let (mut rows, mut values) = (zeros(&shape)?, zeros(&sensor_shape)?);
    let jobs = pieces(&mut rows, batch)
        .into_iter()
        .zip(pieces(&mut values, batch));
    let jobs = jobs.enumerate().collect();
    let work = |(): &mut (), job: (usize, (_, _)), watch: &Watch| {
        let (trajectory, (states, sensors)) = job;
        let model = models.of(trajectory);
        let memory = Record { states, sensors };
        let mut state = starts.state(model, trajectory);
        let mut area = model.area();
        let data = area.data(&model.inner);
        let controls = sets.of(trajectory);
        let mut goes_on = || watch.goes_on();
        record(
            &*model.inner,
            &mut state,
            &controls,
            memory,
            data,
            &mut goes_on,
        )
    };
    let found = run(py, threads, jobs, || (), work)?;
    let problems = problems(py, models.first(), found)?;
    Ok((
        give(py, rows, &shape)?,
        give(py, values, &sensor_shape)?,
        problems,
    ))
}

/// What acts on a batch of states for some steps.
pub(crate) struct Inputs<'a> {
    controls: Sets<'a>,
    force: Option<&'a [f64]>,
    body_force: Option<&'a [f64]>,
    count: usize,
}

/// Numbers of a wrench.
const WRENCH: usize = 6;

impl<'a> Inputs<'a> {
    pub(crate) fn new(
        model: &Model,
        count: usize,
        controls: &'a Numbers,
        [force, body_force]: [Option<&'a Numbers>; 2],
    ) -> PyResult<Self> {
        let n = model.inner.counts();
        Ok(Self {
            controls: Sets::new(model, controls, count, 1)?,
            force: optional(force, "qfrc_applied", &[count, n.nv])?,
            body_force: optional(body_force, "xfrc_applied", &[count, n.nbody, WRENCH])?,
            count,
        })
    }

    /// Of one of the states.
    pub(crate) fn of(&self, model: &carom::Model, index: usize) -> Input {
        let mut input = Input::zeros(model);
        if let Controls::Constant(controls) = self.controls.of(index) {
            input.ctrl = controls;
        }
        if let Some(force) = self.force {
            input.force.copy_from_slice(piece(force, index, self.count));
        }
        if let Some(wrenches) = self.body_force {
            let wrenches = piece(wrenches, index, self.count).chunks_exact(WRENCH);
            for (body, wrench) in input.body_force.iter_mut().zip(wrenches) {
                // MuJoCo has the force first.
                let order = [3, 4, 5, 0, 1, 2];
                body.0 = order.map(|component| wrench[component]);
            }
        }
        input
    }
}

/// What acts on a batch of states, from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct InputArrays {
    controls: Numbers,
    force: Option<Numbers>,
    body_force: Option<Numbers>,
}

/// Takes `steps` steps under the same input and returns the last states.
#[pyfunction]
pub(crate) fn step<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    starts: StartArrays,
    inputs: InputArrays,
    steps: usize,
    threads: Option<usize>,
) -> PyResult<Simulated<'py>> {
    let model = model.get();
    let starts = Starts::of(model, &starts)?;
    let batch = starts.len();
    let forces = [&inputs.force, &inputs.body_force].map(Option::as_ref);
    let inputs = Inputs::new(model, batch, &inputs.controls, forces)?;
    let shape = [batch, model.widths()[0]];
    let sensor_shape = [batch, model.inner.counts().nsensor_value];
    let (mut rows, mut values) = (zeros(&shape)?, zeros(&sensor_shape)?);
    let jobs = pieces(&mut rows, batch)
        .into_iter()
        .zip(pieces(&mut values, batch));
    let jobs = jobs.enumerate().collect();
    let work = |area: &mut crate::model::Area,
                (index, (row, values)): (usize, (&mut [f64], &mut [f64])),
                watch: &Watch| {
        let mut state = starts.state(model, index);
        let input = inputs.of(&model.inner, index);
        let data = area.data(&model.inner);
        let found = advance(&model.inner, &mut state, &input, steps, data, watch);
        model.write(&state, row);
        values.copy_from_slice(&data.sensing.values);
        found
    };
    let found = run(py, threads, jobs, || model.area(), work)?;
    let problems = problems(py, model, found)?;
    Ok((
        give(py, rows, &shape)?,
        give(py, values, &sensor_shape)?,
        problems,
    ))
}

/// Takes steps under the same input, and says how they went.
pub(crate) fn advance(
    model: &carom::Model,
    state: &mut State,
    input: &Input,
    steps: usize,
    data: &mut Data,
    watch: &Watch,
) -> Recorded {
    let mut recorded = Recorded {
        steps: 0,
        not_finite: None,
        large: None,
        extrapolating: 0,
    };
    for step in (0..steps).take_while(|_| watch.goes_on()) {
        let report = model.step(state, input, data);
        let at_step = |place| (step, place);
        recorded.not_finite = recorded.not_finite.or(report.not_finite.map(at_step));
        recorded.large = recorded.large.or(report.large.map(at_step));
        recorded.extrapolating += usize::from(report.extrapolates);
        recorded.steps += 1;
    }
    recorded
}

/// Recorded trajectories from Python; the starts are their first rows with the poses of the mocap bodies.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RecordArrays {
    states: Numbers,
    starts: StartArrays,
    controls: Numbers,
}

impl RecordArrays {
    pub(crate) fn count(&self) -> usize {
        tables::first(&self.states)
    }
}

/// Trajectories that were recorded before.
pub(crate) struct Past<'a> {
    states: &'a [f64],
    pub(crate) starts: Starts<'a>,
    pub(crate) sets: Sets<'a>,
    pub(crate) batch: usize,
    pub(crate) steps: usize,
}

impl<'a> Past<'a> {
    pub(crate) fn new(model: &Model, arrays: &'a RecordArrays) -> PyResult<Self> {
        let (states, batch) = (&arrays.states, arrays.count());
        let steps = states.shape().get(1).copied().unwrap_or(1).max(1) - 1;
        Ok(Self {
            states: slice(states, "states", &[batch, steps + 1, model.widths()[0]])?,
            starts: Starts::of(model, &arrays.starts)?,
            sets: Sets::new(model, &arrays.controls, batch, steps)?,
            batch,
            steps,
        })
    }

    pub(crate) fn trajectory(&self, index: usize) -> &'a [f64] {
        piece(self.states, index, self.batch)
    }

    /// Cotangents of all configurations of a trajectory, from those by their numbers.
    pub(crate) fn pull(&self, model: &Model, index: usize, bars: &[f64]) -> Vec<f64> {
        let n = model.inner.counts();
        let layout = StateRow::new(&model.inner);
        let mut tangents = vec![0.0; (self.steps + 1) * n.nv];
        for step in 0..=self.steps {
            let row = &self.trajectory(index)[step * layout.width()..][..layout.width()];
            let bar = &bars[step * n.nq..][..n.nq];
            let tangent = &mut tangents[step * n.nv..][..n.nv];
            tangent::pull(&model.inner, &row[layout.qpos()], bar, tangent);
        }
        tangents
    }
}
