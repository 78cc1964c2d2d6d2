//! Numbers about states that are not in the states themselves, read after steps: what environments observe.

use std::ops::Range;

use carom::jacobian::{offset, point_velocity};
use carom::math::{Mat3, Vec3};
use carom::{Data, Input, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Numbers, give, pieces, zeros};
use crate::batch::{Inputs, Simulated, StartArrays, Starts, advance, problems};
use crate::model::{Area, Model};
use crate::threads::{Watch, run};

/// How far a state must be evaluated; later ones include earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// Not at all.
    Nothing,
    /// Frames of bodies, geoms and sites; tendons.
    Frames,
    /// Velocities.
    Motion,
    /// Forces, accelerations and sensors.
    Everything,
}

/// Something to read, of the element of this index.
#[derive(Clone)]
enum Reading {
    BodyPosition(usize),
    BodyQuat(usize),
    BodyRotation(usize),
    BodyCenter(usize),
    BodySubtreeCenter(usize),
    BodyVelocity(usize),
    BodyAngularVelocity(usize),
    GeomPosition(usize),
    GeomRotation(usize),
    SitePosition(usize),
    SiteRotation(usize),
    TendonLength(usize),
    TendonVelocity(usize),
    ActuatorForce(Range<usize>),
    Sensors(Range<usize>),
}

impl Reading {
    /// By name, of numbers `start..end` of a family: elements, or values of sensors.
    fn new(model: &carom::Model, name: &str, numbers: (usize, usize)) -> Option<Self> {
        let n = model.counts();
        let (index, end) = numbers;
        let (reading, count) = match name {
            "body.pos" => (Self::BodyPosition(index), n.nbody),
            "body.quat" => (Self::BodyQuat(index), n.nbody),
            "body.mat" => (Self::BodyRotation(index), n.nbody),
            "body.com" => (Self::BodyCenter(index), n.nbody),
            "body.subtree_com" => (Self::BodySubtreeCenter(index), n.nbody),
            "body.linvel" => (Self::BodyVelocity(index), n.nbody),
            "body.angvel" => (Self::BodyAngularVelocity(index), n.nbody),
            "geom.pos" => (Self::GeomPosition(index), n.ngeom),
            "geom.mat" => (Self::GeomRotation(index), n.ngeom),
            "site.pos" => (Self::SitePosition(index), n.nsite),
            "site.mat" => (Self::SiteRotation(index), n.nsite),
            "tendon.length" => (Self::TendonLength(index), n.ntendon),
            "tendon.velocity" => (Self::TendonVelocity(index), n.ntendon),
            "actuator.force" => {
                let forces = model.structure.actuators.outputs.get(index)?.clone();
                (Self::ActuatorForce(forces), n.nactuator)
            }
            "sensor" => (Self::Sensors(index..end), n.nsensor_value),
            _ => return None,
        };
        (index <= end && end <= count).then_some(reading)
    }

    fn width(&self) -> usize {
        match self {
            Self::BodyRotation(_) | Self::GeomRotation(_) | Self::SiteRotation(_) => 9,
            Self::BodyQuat(_) => 4,
            Self::TendonLength(_) | Self::TendonVelocity(_) => 1,
            Self::ActuatorForce(forces) => forces.len(),
            Self::Sensors(values) => values.len(),
            _ => 3,
        }
    }

    fn depth(&self) -> Depth {
        match self {
            Self::BodyVelocity(_) | Self::BodyAngularVelocity(_) | Self::TendonVelocity(_) => {
                Depth::Motion
            }
            Self::ActuatorForce(_) | Self::Sensors(_) => Depth::Everything,
            _ => Depth::Frames,
        }
    }

    fn read(&self, model: &carom::Model, data: &Data, out: &mut [f64]) {
        let frames = &data.kinematics;
        let vector = |out: &mut [f64], Vec3(numbers): Vec3| out.copy_from_slice(&numbers);
        let matrix = |out: &mut [f64], Mat3(numbers): &Mat3| out.copy_from_slice(numbers);
        match *self {
            Self::BodyPosition(body) => vector(out, frames.body_position[body]),
            Self::BodyQuat(body) => out.copy_from_slice(&frames.body_quat[body].0),
            Self::BodyRotation(body) => matrix(out, &frames.body_rotation[body]),
            Self::BodyCenter(body) => vector(out, frames.inertial_position[body]),
            Self::BodySubtreeCenter(body) => vector(out, frames.subtree_com[body]),
            Self::BodyVelocity(body) => {
                let place = offset(model, frames, body, frames.body_position[body]);
                vector(out, point_velocity(data.velocity.body[body], place));
            }
            Self::BodyAngularVelocity(body) => vector(out, data.velocity.body[body].angular()),
            Self::GeomPosition(geom) => vector(out, frames.geom_position[geom]),
            Self::GeomRotation(geom) => matrix(out, &frames.geom_rotation[geom]),
            Self::SitePosition(site) => vector(out, frames.site_position[site]),
            Self::SiteRotation(site) => matrix(out, &frames.site_rotation[site]),
            Self::TendonLength(tendon) => out[0] = data.tendon.length[tendon],
            Self::TendonVelocity(tendon) => out[0] = data.velocity.tendon[tendon],
            Self::ActuatorForce(ref forces) => {
                out.copy_from_slice(&data.actuation.actuator_force[forces.clone()]);
            }
            Self::Sensors(ref values) => {
                out.copy_from_slice(&data.sensing.values[values.clone()]);
            }
        }
    }
}

/// What to read of states of a model, in this order.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Readings {
    list: Vec<Reading>,
    width: usize,
    depth: Depth,
}

#[pymethods]
impl Readings {
    /// Of names, each with the numbers of its family that are meant.
    #[new]
    fn new(model: &Bound<'_, Model>, names: Vec<(String, usize, usize)>) -> PyResult<Self> {
        let model = &model.get().inner;
        let found = names.iter().map(|(name, start, end)| {
            let reading = Reading::new(model, name, (*start, *end));
            reading.ok_or_else(|| PyValueError::new_err(format!("no {name}[{start}..{end}]")))
        });
        let list: Vec<_> = found.collect::<PyResult<_>>()?;
        let depths = list.iter().map(Reading::depth);
        Ok(Self {
            width: list.iter().map(Reading::width).sum(),
            depth: depths.max().unwrap_or(Depth::Nothing),
            list,
        })
    }

    /// Numbers of a state.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }
}

impl Readings {
    fn read(
        &self,
        model: &carom::Model,
        state: &State,
        input: &Input,
        data: &mut Data,
        mut out: &mut [f64],
    ) {
        match self.depth {
            Depth::Nothing => {}
            Depth::Frames => carom::forward_frames(model, state, data),
            Depth::Motion => carom::forward_motion(model, state, data),
            Depth::Everything => carom::forward_and_sense(model, state, input, data),
        }
        for reading in &self.list {
            let (own, rest) = out.split_at_mut(reading.width());
            reading.read(model, data, own);
            out = rest;
        }
    }
}

/// Takes `steps` steps under constant controls, then reads numbers of the states where they end.
#[pyfunction]
#[pyo3(name = "advance")]
pub(crate) fn advance_and_read<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    starts: StartArrays,
    controls: Numbers,
    steps: usize,
    readings: &Bound<'py, Readings>,
    threads: Option<usize>,
) -> PyResult<Simulated<'py>> {
    let (model, readings) = (model.get(), readings.get());
    let starts = Starts::of(model, &starts)?;
    let batch = starts.len();
    let inputs = Inputs::new(model, batch, &controls, [None; 2])?;
    let (shape, read_shape) = ([batch, model.widths()[0]], [batch, readings.width]);
    let (mut rows, mut read) = (zeros(&shape)?, zeros(&read_shape)?);
    let jobs = pieces(&mut rows, batch)
        .into_iter()
        .zip(pieces(&mut read, batch));
    let jobs = jobs.enumerate().collect();
    let work = |area: &mut Area,
                (index, (row, read)): (usize, (&mut [f64], &mut [f64])),
                watch: &Watch| {
        let mut state = starts.state(model, index);
        let input = inputs.of(&model.inner, index);
        let data = area.data(&model.inner);
        let found = advance(&model.inner, &mut state, &input, steps, data, watch);
        model.write(&state, row);
        if found.not_finite.is_none() {
            readings.read(&model.inner, &state, &input, data, read);
        }
        found
    };
    let found = run(py, threads, jobs, || model.area(), work)?;
    let problems = problems(py, model, found)?;
    Ok((
        give(py, rows, &shape)?,
        give(py, read, &read_shape)?,
        problems,
    ))
}
