//! Joints whose torques were recorded, and the residuals of a model at them.

use carom::model::{BiasKind, GainKind, JointKind, Transmission};
use carom::{Data, Error, Model, State};
use carom_spec::model_spec::ActuatorDynamics;
use rayon::prelude::*;

use super::signals::Signals;
use crate::error;
use crate::recording::{Quantity, Recordings};

/// The cutoff of the filter (Hz) where the mapping gives none: arms move at a few Hz, and torque ripple and noise begin above.
const DEFAULT_CUTOFF: f64 = 10.0;

/// A motor that acts on a joint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motor {
    /// The actuator.
    pub(crate) actuator: usize,
    /// Its control.
    pub(crate) control: usize,
    /// Its gear at the joint.
    pub(crate) gear: f64,
}

/// A joint whose torque is known.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// The joint's name.
    pub(crate) name: String,
    /// Its degree of freedom, which is its place in the configuration too.
    pub(crate) dof: usize,
    /// Whether it turns.
    pub(crate) is_hinge: bool,
    /// All that acts on it.
    pub(crate) motors: Vec<Motor>,
}

/// Torques of recordings.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) axes: Vec<Axis>,
    pub(crate) signals: Vec<Signals>,
}

impl Measured {
    /// The torques of recordings whose mapping says that controls are torques; none if it does not.
    ///
    /// # Errors
    /// When no joint has a torque, or signals have gaps.
    pub(crate) fn new(model: &Model, recordings: &Recordings) -> Result<Option<Self>, Error> {
        let Some(mapping) = &recordings.torque else {
            return Ok(None);
        };
        let kinds = &model.structure.joints.kind;
        if kinds
            .iter()
            .any(|kind| !matches!(kind, JointKind::Hinge | JointKind::Slide))
        {
            return Err(error::settings(
                "torques are compared in models of hinges and slides: take [torque] out of the mapping of a model with free or ball joints",
            ));
        }
        let axes = axes(model, recordings);
        if axes.is_empty() {
            return Err(error::settings(
                "[torque] in the mapping says that controls are torques, but no joint has a recorded position and motors alone (gaintype fixed, no dynamics) with recorded controls",
            ));
        }
        let cutoff = mapping.cutoff.unwrap_or(DEFAULT_CUTOFF);
        if !(cutoff > 0.0 && cutoff.is_finite()) {
            return Err(error::settings(format!(
                "[torque] cutoff = {cutoff}: it must be above 0 (Hz)"
            )));
        }
        let signals = Signals::all(model, recordings, cutoff)?;
        if signals.iter().all(|one| one.samples.is_empty()) {
            return Err(error::settings(format!(
                "no recording is long enough for torques filtered at {cutoff} Hz: {:.2} s at each end are left out",
                1.0 / cutoff
            )));
        }
        Ok(Some(Self { axes, signals }))
    }

    /// Places of all samples: signals and frame.
    pub(crate) fn samples(&self) -> Vec<(usize, usize)> {
        let of = |(index, signals): (usize, &Signals)| {
            let frames = signals.samples.clone();
            frames.into_iter().map(move |frame| (index, frame))
        };
        self.signals.iter().enumerate().flat_map(of).collect()
    }

    /// The torque that its motors give a joint.
    pub(crate) fn motor_torque(model: &Model, axis: &Axis, signals: &Signals, frame: usize) -> f64 {
        let position = signals.position(frame)[axis.dof];
        let velocity = signals.velocity(frame)[axis.dof];
        let of = |motor: &Motor| {
            let numbers = &model.actuators;
            let (id, gear) = (motor.actuator, motor.gear);
            let (control, _) = signals.control(motor.control, frame, numbers.delay[id]);
            let [b0, b1, b2] = bias(model, id);
            gear * (numbers.gain[id][0] * control + b0 + gear * (b1 * position + b2 * velocity))
        };
        axis.motors.iter().map(of).sum()
    }

    /// Residuals (1) of a model at some samples, joint by joint for each.
    pub(crate) fn residuals(&self, model: &Model, samples: &[(usize, usize)]) -> Vec<f64> {
        let mut model = model.clone();
        without_constraints(&mut model);
        let needed = self.inverse_dynamics(&model, samples);
        let axes = self.axes.len();
        let of = |(row, needed): (usize, f64)| {
            let (signals, frame) = samples[row / axes];
            given(
                &model,
                &self.axes[row % axes],
                &self.signals[signals],
                frame,
            ) - needed
        };
        needed.into_iter().enumerate().map(of).collect()
    }

    /// What inverse dynamics asks of the joints at some samples, joint by joint for each.
    pub(super) fn inverse_dynamics(&self, model: &Model, samples: &[(usize, usize)]) -> Vec<f64> {
        let reference = State::reference(model);
        let of = |(data, state, force): &mut (Data, State, Vec<f64>),
                  &(signals, frame): &(usize, usize)| {
            let signals = &self.signals[signals];
            state.qpos.copy_from_slice(signals.position(frame));
            state.qvel.copy_from_slice(signals.velocity(frame));
            carom::inverse::forward(model, state, signals.acceleration(frame), data, force);
            let own = self.axes.iter().map(|axis| force[axis.dof]);
            own.collect::<Vec<f64>>()
        };
        let work = || {
            (
                Data::new(model),
                reference.clone(),
                vec![0.0; model.counts().nv],
            )
        };
        let rows: Vec<Vec<f64>> = samples.par_iter().map_init(work, of).collect();
        rows.concat()
    }
}

/// The torque that motors and dry friction give a joint.
fn given(model: &Model, axis: &Axis, signals: &Signals, frame: usize) -> f64 {
    let sliding = signals.sliding(frame)[axis.dof];
    Measured::motor_torque(model, axis, signals, frame)
        - model.dofs.frictionloss[axis.dof] * sliding
}

/// Nothing but the equations of motion: torques are compared away from contacts and limits.
pub(super) fn without_constraints(model: &mut Model) {
    model.settings.disable.constraint = true;
    model.settings.disable.contact = true;
    model.settings.enable.invdiscrete = false;
}

/// The affine bias of an actuator; zeros where it has none.
fn bias(model: &Model, actuator: usize) -> [f64; 3] {
    match model.structure.actuators.bias[actuator] {
        BiasKind::None => [0.0; 3],
        _ => std::array::from_fn(|k| model.actuators.bias[actuator][k]),
    }
}

/// Joints with a recorded position on which nothing acts but motors with recorded controls.
fn axes(model: &Model, recordings: &Recordings) -> Vec<Axis> {
    let joints = &model.structure.joints;
    let channels = &recordings.channels;
    let has_position = |dof: usize| {
        let is_own =
            |quantity| matches!(quantity, Quantity::JointPosition { dof: own, .. } if own == dof);
        channels.iter().any(|channel| is_own(channel.quantity))
    };
    let axis = |joint: usize| {
        let dof = joints.dof[joint];
        let motors = motors(model, recordings, joint)?;
        (has_position(dof) && !motors.is_empty()).then(|| Axis {
            name: model.structure.names.joints[joint].clone(),
            dof,
            is_hinge: joints.kind[joint] == JointKind::Hinge,
            motors,
        })
    };
    (0..joints.kind.len()).filter_map(axis).collect()
}

/// The motors of a joint; none where something else acts on it, or a control was not recorded.
fn motors(model: &Model, recordings: &Recordings, joint: usize) -> Option<Vec<Motor>> {
    let actuators = &model.structure.actuators;
    let nu = model.counts().nu;
    let dof = model.structure.joints.dof[joint];
    let mut motors = Vec::new();
    for (id, transmission) in actuators.transmission.iter().enumerate() {
        match transmission {
            Transmission::Joint(own) if *own == joint => {}
            Transmission::Joint(_) => continue,
            // Whether it acts on the joint depends on the configuration.
            _ => {
                let mut rows = actuators.outputs[id].clone();
                if rows.any(|row| actuators.moment.row(row).contains(&dof)) {
                    return None;
                }
                continue;
            }
        }
        let is_motor = actuators.dynamics[id] == ActuatorDynamics::None
            && actuators.gain[id] == GainKind::Fixed
            && matches!(actuators.bias[id], BiasKind::None | BiasKind::Affine);
        let control = actuators.controls[id].start;
        let mut controls = (recordings.trajectories.iter())
            .flat_map(|one| one.controls.iter().skip(control).step_by(nu));
        let is_recorded = controls.any(|control| *control != 0.0);
        if !is_motor || (!is_recorded && model.actuators.gain[id][0] != 0.0) {
            return None;
        }
        motors.push(Motor {
            actuator: id,
            control,
            gear: model.actuators.gear[id][0],
        });
    }
    Some(motors)
}
