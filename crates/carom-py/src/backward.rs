//! Backward passes, many at a time.

use carom::Error;
use carom::State;
use carom::cotangent::{DataBar, StateBar};
use carom::dynamics::At;
use carom::dynamics::backward::Observer;
use carom::rollout::{Gradient, Loss, backward_of_record};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give, optional, piece, pieces, slice, zeros};
use crate::batch::{Models, Past, RecordArrays};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::threads::{Watch, run};
use crate::{errors, tables, tangent};

/// Trajectories are added up in at most so many groups, the same ones for any number of threads.
const GROUPS: usize = 64;

/// Derivatives of a loss by every number of the model, and by the start state: of all trajectories of a batch together.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct ModelBar {
    pub(crate) model: carom::Model,
    pub(crate) start: StateBar,
}

/// Cotangents of one trajectory.
pub(crate) struct Seeds<'a> {
    model: &'a carom::Model,
    /// By configurations: their numbers, or in tangent space.
    qpos: Option<&'a [f64]>,
    qvel: Option<&'a [f64]>,
    act: Option<&'a [f64]>,
    sensors: Option<&'a [f64]>,
}

impl Seeds<'_> {
    fn row(numbers: Option<&[f64]>, step: usize, width: usize) -> Option<&[f64]> {
        numbers.map(|numbers| &numbers[step * width..][..width])
    }
}

fn add(sum: &mut [f64], terms: Option<&[f64]>) {
    for (sum, term) in sum.iter_mut().zip(terms.unwrap_or_default()) {
        *sum += term;
    }
}

impl Loss for Seeds<'_> {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        let n = self.model.counts();
        add(&mut bar.qpos, Self::row(self.qpos, step, n.nv));
        add(&mut bar.qvel, Self::row(self.qvel, step, n.nv));
        add(&mut bar.act, Self::row(self.act, step, n.na));
    }

    fn by_results(&mut self, step: usize, _: At<'_>, bar: &mut DataBar) {
        let width = self.model.counts().nsensor_value;
        let terms = Self::row(self.sensors, step, width);
        add(&mut bar.sensing.values, terms);
    }

    fn uses_sensors(&self) -> bool {
        self.sensors.is_some()
    }
}

/// Stops a pass when Python asks for it.
struct Watched<'a>(&'a Watch);

impl Observer for Watched<'_> {
    fn goes_on(&mut self) -> bool {
        self.0.goes_on()
    }
}

/// Where the derivatives of one trajectory go.
struct Slot<'a> {
    trajectory: usize,
    qpos: &'a mut [f64],
    tangent: &'a mut [f64],
    qvel: &'a mut [f64],
    act: &'a mut [f64],
    mocap: &'a mut [f64],
    controls: &'a mut [f64],
    norms: &'a mut [f64],
    theta: &'a mut [f64],
}

/// Derivatives of a loss by recorded states and sensor values, from Python: one row a state.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct BarArrays {
    qpos: Option<Numbers>,
    qvel: Option<Numbers>,
    act: Option<Numbers>,
    sensors: Option<Numbers>,
}

/// Derivatives of a loss by recorded states and sensor values, as arrays.
pub(crate) struct Bars<'a> {
    qpos: Option<&'a [f64]>,
    /// Whether those by configurations are in tangent space, not by their numbers.
    is_tangent: bool,
    qvel: Option<&'a [f64]>,
    act: Option<&'a [f64]>,
    sensors: Option<&'a [f64]>,
}

impl<'a> Bars<'a> {
    pub(crate) fn new(model: &Model, recorded: &Past<'_>, arrays: &'a BarArrays) -> PyResult<Self> {
        let n = model.inner.counts();
        let (batch, steps) = (recorded.batch, recorded.steps);
        let BarArrays {
            qpos,
            qvel,
            act,
            sensors,
        } = arrays;
        let [qpos, qvel, act, sensors] = [qpos, qvel, act, sensors].map(Option::as_ref);
        let is_tangent = qpos.is_none_or(|qpos| qpos.shape().last() == Some(&n.nv));
        let width = if is_tangent { n.nv } else { n.nq };
        let states = |width: usize| [batch, steps + 1, width];
        Ok(Self {
            qpos: optional(qpos, "qpos", &states(width))?,
            is_tangent,
            qvel: optional(qvel, "qvel", &states(n.nv))?,
            act: optional(act, "act", &states(n.na))?,
            sensors: optional(sensors, "sensordata", &[batch, steps, n.nsensor_value])?,
        })
    }
}

/// What a backward pass over a batch has found.
pub(crate) type Found<'py> = (Bound<'py, PyDict>, ModelBar);

/// The derivatives of a batch of trajectories, each by `gradient` from a loss. The first rows of the trajectories are their
/// start states.
pub(crate) fn pass<'py>(
    py: Python<'py>,
    models: &Models<'_>,
    recorded: &Past<'_>,
    bars: &Bars<'_>,
    by: Option<&ByTheta<'_>>,
    threads: Option<usize>,
    gradient: impl Fn(usize, &State, &mut Seeds<'_>, &Watch) -> Result<Gradient, Error> + Sync,
) -> PyResult<Found<'py>> {
    let model = models.first();
    let (batch, steps) = (recorded.batch, recorded.steps);
    let mut memory = Memory::new(model, batch, steps, by.map_or(0, ByTheta::width))?;
    let one = |slot: &mut Slot<'_>, watch: &Watch| {
        let index = slot.trajectory;
        let model = models.of(index);
        let start = recorded.starts.state(model, index);
        let own = |numbers: Option<&'_ [f64]>| {
            numbers.map(|numbers| piece(numbers, index, batch).to_vec())
        };
        let (qpos, qvel, act, sensors) = (
            own(bars.qpos),
            own(bars.qvel),
            own(bars.act),
            own(bars.sensors),
        );
        let tangents = match &qpos {
            Some(numbers) if !bars.is_tangent => Some(recorded.pull(model, index, numbers)),
            other => other.clone(),
        };
        let mut loss = Seeds {
            model: &model.inner,
            qpos: tangents.as_deref(),
            qvel: qvel.as_deref(),
            act: act.as_deref(),
            sensors: sensors.as_deref(),
        };
        let found = gradient(index, &start, &mut loss, watch)?;
        slot.take(model, &start, &found);
        if let (Some(numbers), false) = (&qpos, bars.is_tangent) {
            let first = &numbers[..model.inner.counts().nq];
            tangent::add_lengths(&model.inner, &start.qpos, first, slot.qpos);
        }
        if let Some(by) = by {
            slot.theta.copy_from_slice(&by.pull_back(index, &found)?);
        }
        Ok(found)
    };
    let work = |(): &mut (), slots: Vec<Slot<'_>>, watch: &Watch| {
        let mut sum: Option<Gradient> = None;
        for mut slot in slots {
            let trajectory = slot.trajectory;
            let gradient = one(&mut slot, watch);
            let gradient = gradient.map_err(|error: Error| (trajectory, error))?;
            sum = Some(match sum {
                None => gradient,
                Some(sum) => added(sum, &gradient),
            });
        }
        Ok(sum)
    };
    let sums = run(py, threads, groups(memory.slots(batch)), || (), work)?;
    let mut total = ModelBar {
        model: carom::Model::zeros(model.inner.structure.clone(), model.inner.settings),
        start: StateBar::zeros(&model.inner),
    };
    for sum in sums {
        let sum: Result<_, (usize, Error)> = sum;
        let sum = sum.map_err(|(trajectory, error)| errors::gradient(&error, trajectory))?;
        if let Some(sum) = sum {
            add_model(&mut total.model, &sum.model);
            total.start.add(&sum.start);
        }
    }
    Ok((memory.give(py)?, total))
}

/// Trajectories in groups, which do not depend on the number of threads.
fn groups(mut slots: Vec<Slot<'_>>) -> Vec<Vec<Slot<'_>>> {
    let batch = slots.len();
    let count = batch.min(GROUPS);
    let mut groups: Vec<_> = (0..count)
        .rev()
        .map(|group| slots.split_off(group * batch / count))
        .collect();
    groups.reverse();
    groups
}

/// Derivatives of a loss from its derivatives by recorded states and sensor values.
#[pyfunction]
pub(crate) fn backward<'py>(
    py: Python<'py>,
    models: Vec<Bound<'py, Model>>,
    recorded: RecordArrays,
    bars: BarArrays,
    by: Option<ThetaArrays<'py>>,
    threads: Option<usize>,
) -> PyResult<Found<'py>> {
    let models = Models::new(&models, recorded.count())?;
    let recorded = Past::new(models.first(), &recorded)?;
    let bars = Bars::new(models.first(), &recorded, &bars)?;
    let by = ByTheta::of(by.as_ref(), models.first())?;
    let gradient = |index: usize, start: &State, loss: &mut Seeds<'_>, watch: &Watch| {
        backward_of_record(
            recorded.trajectory(index),
            &*models.of(index).inner,
            start,
            &recorded.sets.of(index),
            loss,
            &mut Watched(watch),
        )
    };
    pass(
        py,
        &models,
        &recorded,
        &bars,
        by.as_ref(),
        threads,
        gradient,
    )
}

/// Parameters whose derivatives are asked for, from Python, and their θ.
#[derive(FromPyObject)]
pub(crate) struct ThetaArrays<'py>(Bound<'py, Parameters>, Numbers);

/// Parameters whose derivatives are asked for, of each trajectory by itself.
pub(crate) struct ByTheta<'a> {
    parameters: &'a carom::parameters::Parameters,
    thetas: &'a [f64],
}

impl<'a> ByTheta<'a> {
    pub(crate) fn of(by: Option<&'a ThetaArrays<'_>>, model: &Model) -> PyResult<Option<Self>> {
        let by = by.map(|ThetaArrays(parameters, thetas)| {
            parameters.get().check_model(&model.inner)?;
            Self::new(parameters.get(), thetas)
        });
        by.transpose()
    }

    /// `thetas` has one row for all trajectories, or one for each.
    fn new(parameters: &'a Parameters, thetas: &'a Numbers) -> PyResult<Self> {
        let shape = [tables::first(thetas), parameters.inner.len()];
        Ok(Self {
            parameters: &parameters.inner,
            thetas: slice(thetas, "theta", &shape)?,
        })
    }

    fn width(&self) -> usize {
        self.parameters.len()
    }

    fn pull_back(&self, trajectory: usize, gradient: &Gradient) -> Result<Vec<f64>, Error> {
        let rows = self.thetas.len() / self.width().max(1);
        let theta = piece(self.thetas, trajectory.min(rows.max(1) - 1), rows);
        self.parameters.pull_back(theta, gradient)
    }
}

/// The sum of two gradients, as far as batches have one.
fn added(mut sum: Gradient, term: &Gradient) -> Gradient {
    add_model(&mut sum.model, &term.model);
    sum.start.add(&term.start);
    sum
}

fn add_model(sum: &mut carom::Model, terms: &carom::Model) {
    let mut numbers = Vec::new();
    terms.for_each(|_, _, _, number| numbers.push(number));
    let mut numbers = numbers.into_iter();
    sum.for_each_mut(|_, _, _, sum| *sum += numbers.next().unwrap_or_default());
}

/// All derivatives of a batch.
struct Memory {
    shapes: [(&'static str, Vec<usize>); 8],
    arrays: [Vec<f64>; 8],
}

impl Memory {
    fn new(model: &Model, batch: usize, steps: usize, theta: usize) -> PyResult<Self> {
        let n = model.inner.counts();
        let shapes = [
            ("qpos", vec![batch, n.nq]),
            ("qpos_tangent", vec![batch, n.nv]),
            ("qvel", vec![batch, n.nv]),
            ("act", vec![batch, n.na]),
            ("mocap", vec![batch, n.nmocap, 7]),
            ("controls", vec![batch, steps, n.nu]),
            ("norms", vec![batch, steps + 1]),
            ("theta", vec![batch, theta]),
        ];
        let mut arrays = <[Vec<f64>; 8]>::default();
        for ((_, shape), array) in shapes.iter().zip(&mut arrays) {
            *array = zeros(shape)?;
        }
        Ok(Self { shapes, arrays })
    }

    fn slots(&mut self, batch: usize) -> Vec<Slot<'_>> {
        let arrays = self.arrays.each_mut();
        let mut parts = arrays.map(|array| pieces(array, batch).into_iter());
        let slot = |trajectory| {
            // As many pieces as trajectories.
            let [qpos, tangent, qvel, act, mocap, controls, norms, theta] = parts
                .each_mut()
                .map(|parts| parts.next().unwrap_or_default());
            Slot {
                trajectory,
                qpos,
                tangent,
                qvel,
                act,
                mocap,
                controls,
                norms,
                theta,
            }
        };
        (0..batch).map(slot).collect()
    }

    fn give(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for ((name, shape), array) in self.shapes.into_iter().zip(self.arrays) {
            dict.set_item(name, give(py, array, &shape)?)?;
        }
        Ok(dict)
    }
}

impl Slot<'_> {
    fn take(&mut self, model: &Model, start: &State, gradient: &Gradient) {
        let bar = &gradient.start;
        self.tangent.copy_from_slice(&bar.qpos);
        tangent::lift(&model.inner, &start.qpos, &bar.qpos, self.qpos);
        self.qvel.copy_from_slice(&bar.qvel);
        self.act.copy_from_slice(&bar.act);
        self.controls.copy_from_slice(&gradient.controls);
        self.norms.copy_from_slice(&gradient.norms);
        for (body, pose) in self.mocap.chunks_exact_mut(7).enumerate() {
            pose[..3].copy_from_slice(&bar.mocap_position[body].0);
            let quat = tangent::lift_turn(start.mocap_quat[body], bar.mocap_rotation[body]);
            pose[3..].copy_from_slice(&quat.0);
        }
    }
}
