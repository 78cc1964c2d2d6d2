//! Forward sensitivities and Jacobians of steps, many at a time.

use carom::linearize::{self, ForwardMode, Linearization, Tangent};
use carom::rollout::StateRow;
use carom::{Data, Input};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give, optional, piece, pieces, zeros};
use crate::backward::ModelBar;
use crate::batch::{Past, RecordArrays, Sets, Starts};
use crate::model::{Area, Model};
use crate::parameters::check_model;
use crate::threads::{Watch, run};
use crate::{errors, tangent};

/// Changes of the states and sensor values of trajectories along a direction.
type Changes<'py> = Bound<'py, PyDict>;

/// A direction of start states, controls and the numbers of the model.
#[derive(Clone, Copy)]
struct Direction<'a> {
    qpos: Option<&'a [f64]>,
    is_tangent: bool,
    qvel: Option<&'a [f64]>,
    act: Option<&'a [f64]>,
    controls: Option<&'a [f64]>,
    model: Option<&'a carom::Model>,
}

/// A direction of start states, controls and the numbers of the model, from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DirectionArrays<'py> {
    qpos: Option<Numbers>,
    qvel: Option<Numbers>,
    act: Option<Numbers>,
    controls: Option<Numbers>,
    model: Option<Bound<'py, ModelBar>>,
}

/// How recorded trajectories change along a direction.
#[pyfunction]
pub(crate) fn jvp<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    recorded: RecordArrays,
    along: DirectionArrays<'py>,
    threads: Option<usize>,
) -> PyResult<Changes<'py>> {
    let model = model.get();
    refuse_from_distance(model)?;
    let recorded = Past::new(model, &recorded)?;
    let (batch, steps) = (recorded.batch, recorded.steps);
    let n = model.inner.counts();
    let DirectionArrays {
        qpos, qvel, act, ..
    } = &along;
    if let Some(along) = &along.model {
        check_model(along.get().model.counts(), n)?;
    }
    let is_tangent = (qpos.as_ref()).is_none_or(|qpos| qpos.shape().last() == Some(&n.nv));
    let qpos_width = if is_tangent { n.nv } else { n.nq };
    let direction = Direction {
        qpos: optional(qpos.as_ref(), "qpos", &[batch, qpos_width])?,
        is_tangent,
        qvel: optional(qvel.as_ref(), "qvel", &[batch, n.nv])?,
        act: optional(act.as_ref(), "act", &[batch, n.na])?,
        controls: optional(along.controls.as_ref(), "controls", &[batch, steps, n.nu])?,
        model: along.model.as_ref().map(|along| &along.get().model),
    };
    let shapes = [
        ("qpos", [batch, steps + 1, n.nq]),
        ("qpos_tangent", [batch, steps + 1, n.nv]),
        ("qvel", [batch, steps + 1, n.nv]),
        ("act", [batch, steps + 1, n.na]),
        ("sensordata", [batch, steps, n.nsensor_value]),
    ];
    let mut arrays = <[Vec<f64>; 5]>::default();
    for ((_, shape), array) in shapes.iter().zip(&mut arrays) {
        *array = zeros(shape)?;
    }
    let mut parts = arrays
        .each_mut()
        .map(|array| pieces(array, batch).into_iter());
    let jobs = (0..batch)
        .map(|index| {
            (
                index,
                parts
                    .each_mut()
                    .map(|parts| parts.next().unwrap_or_default()),
            )
        })
        .collect();
    let area = || {
        let mut mode = ForwardMode::new(&model.inner);
        if let Some(along) = direction.model {
            mode.vary_model(&model.inner, along);
        }
        mode
    };
    let work = |mode: &mut ForwardMode, (index, changes): (usize, _), watch: &Watch| {
        follow(model, &recorded, &direction, mode, index, changes, watch);
    };
    run(py, threads, jobs, area, work)?;
    let dict = PyDict::new(py);
    for ((name, shape), array) in shapes.into_iter().zip(arrays) {
        dict.set_item(name, give(py, array, &shape)?)?;
    }
    Ok(dict)
}

/// Follows one trajectory along a direction.
fn follow(
    model: &Model,
    recorded: &Past<'_>,
    direction: &Direction<'_>,
    mode: &mut ForwardMode,
    index: usize,
    changes: [&mut [f64]; 5],
    watch: &Watch,
) {
    let n = model.inner.counts();
    let layout = StateRow::new(&model.inner);
    let [qpos, tangents, qvel, act, sensors] = changes;
    let mut state = recorded.starts.state(model, index);
    let mut input = Input::zeros(&model.inner);
    let mut change = Tangent::zeros(&model.inner);
    let mut next = Tangent::zeros(&model.inner);
    let own = |numbers: Option<&[f64]>, to: &mut [f64]| {
        if let Some(numbers) = numbers {
            to.copy_from_slice(piece(numbers, index, recorded.batch));
        }
    };
    own(direction.qvel, &mut change.qvel);
    own(direction.act, &mut change.act);
    match direction
        .qpos
        .map(|qpos| piece(qpos, index, recorded.batch))
    {
        Some(given) if direction.is_tangent => change.qpos.copy_from_slice(given),
        Some(given) => tangent::project(&model.inner, &state.qpos, given, &mut change.qpos),
        None => {}
    }
    let controls = recorded.sets.of(index);
    for step in 0..=recorded.steps {
        let row = &recorded.trajectory(index)[step * layout.width()..][..layout.width()];
        let at = &row[layout.qpos()];
        tangents[step * n.nv..][..n.nv].copy_from_slice(&change.qpos);
        tangent::push(
            &model.inner,
            at,
            &change.qpos,
            &mut qpos[step * n.nq..][..n.nq],
        );
        qvel[step * n.nv..][..n.nv].copy_from_slice(&change.qvel);
        act[step * n.na..][..n.na].copy_from_slice(&change.act);
        if step == recorded.steps || !watch.goes_on() {
            break;
        }
        layout.read(row, &mut state);
        controls.write(step, &mut input.ctrl);
        change.ctrl.resize(n.nu, 0.0);
        if let Some(rates) = direction.controls {
            let rates = piece(rates, index, recorded.batch);
            change.ctrl.copy_from_slice(&rates[step * n.nu..][..n.nu]);
        }
        mode.jvp(&state, &input, &change, &mut next);
        let values = &mut sensors[step * n.nsensor_value..][..n.nsensor_value];
        for (value, change) in values.iter_mut().zip(mode.sensors()) {
            *value = change;
        }
        std::mem::swap(&mut change, &mut next);
    }
    if let (Some(given), false) = (direction.qpos, direction.is_tangent) {
        qpos[..n.nq].copy_from_slice(piece(given, index, recorded.batch));
    }
}

/// Contacts from distance are in backward passes only.
fn refuse_from_distance(model: &Model) -> PyResult<()> {
    match model.inner.contacts_from_distance() {
        None => Ok(()),
        Some(_) => Err(errors::no_gradient(
            "contacts from distance act in backward passes only; use backward".to_owned(),
        )),
    }
}

/// Two Jacobians: of steps by state and by control, or of the motion and the turn of a point.
pub(crate) type Jacobians<'py> = (Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>);

/// The Jacobians of single steps.
#[pyfunction]
#[pyo3(name = "linearize")]
pub(crate) fn linearize_steps<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    states: Numbers,
    mocap: Numbers,
    controls: Numbers,
    threads: Option<usize>,
) -> PyResult<Jacobians<'py>> {
    let model = model.get();
    refuse_from_distance(model)?;
    let starts = Starts::new(model, &states, &mocap)?;
    let batch = starts.len();
    let sets = Sets::new(model, &controls, batch, 1)?;
    let n = model.inner.counts();
    let size = 2 * n.nv + n.na;
    let shapes = [[batch, size, size], [batch, size, n.nu]];
    let (mut a, mut b) = (zeros(&shapes[0])?, zeros(&shapes[1])?);
    let jobs = pieces(&mut a, batch).into_iter().zip(pieces(&mut b, batch));
    let jobs = jobs.enumerate().collect();
    let work = |(area, room): &mut (Area, Linearization),
                (index, (a, b)): (usize, (&mut [f64], &mut [f64])),
                watch: &Watch| {
        if !watch.goes_on() {
            return;
        }
        let state = starts.state(model, index);
        let mut input = Input::zeros(&model.inner);
        sets.of(index).write(0, &mut input.ctrl);
        let data: &mut Data = area.data(&model.inner);
        carom::forward(&model.inner, &state, &input, data);
        linearize::step(&model.inner, &state, &input, data, room);
        a.copy_from_slice(&room.a);
        b.copy_from_slice(&room.b);
    };
    let area = || (model.area(), Linearization::new(&model.inner));
    run(py, threads, jobs, area, work)?;
    Ok((give(py, a, &shapes[0])?, give(py, b, &shapes[1])?))
}
