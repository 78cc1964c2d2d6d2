//! What residuals of torques depend on.
//!
//! A torque that the model lacks is a residual as it is: with c·f(t) more, a residual (1) of `torque/mod.rs` is larger by c·f(t). So responses
//! are the forces themselves, in units of the noise of each joint, and nothing is simulated.

use carom::Error;
use carom::Model;

use super::super::conclude::Identified;
use super::super::task::{Task, orthonormal};
use super::{BLOCKS, Driver, Evidence, MIN_BLOCK_FRAMES, MadeUp, Place, Rows, Term};
use crate::torque::{Axis, Measured, Signals};

/// What a joint's torque may depend on, at a frame of the signals.
type Shape = fn(&Model, &Axis, &Signals, usize) -> f64;

/// Torques that may be missing at a joint; positions are those of a hinge. The load is not among them: it is the measured torque
/// itself, whose noise is in the residuals too, so that hardly loaded joints would seem to have a friction that grows with it.
const SHAPES: [(Driver, Shape); 6] = [
    (Driver::Velocity, velocity),
    (Driver::Direction, |_, axis, signals, frame| {
        signals.sliding(frame)[axis.dof]
    }),
    (Driver::Position, |_, axis, signals, frame| {
        let position = signals.position(frame)[axis.dof];
        if axis.is_hinge {
            position.sin()
        } else {
            position
        }
    }),
    (Driver::Position, |_, axis, signals, frame| {
        let position = signals.position(frame)[axis.dof];
        f64::from(u8::from(axis.is_hinge)) * position.cos()
    }),
    (Driver::Constant, |_, _, _, _| 1.0),
    (Driver::Acceleration, |_, axis, signals, frame| {
        signals.acceleration(frame)[axis.dof]
    }),
];

fn velocity(_: &Model, axis: &Axis, signals: &Signals, frame: usize) -> f64 {
    signals.velocity(frame)[axis.dof]
}

impl Task<'_> {
    /// What torques show, where they are compared.
    pub(super) fn evidence_of_torques(
        &self,
        identified: &Identified,
    ) -> Result<Option<Evidence>, Error> {
        let Some(torques) = &self.torques else {
            return Ok(None);
        };
        let parameters = self.parameters();
        let (residuals, jacobian) = torques.linearized(parameters, &identified.theta)?;
        let measured = torques.measured();
        let samples = measured.samples();
        let (axes, noise) = (&measured.axes, &torques.base.noise);
        let model = &identified.model;
        // A row for every joint at every sample.
        let response = |own: usize, of: &dyn Fn(&Signals, usize) -> f64| -> Vec<f64> {
            let mut response = vec![0.0; residuals.len()];
            for (sample, &(signals, frame)) in samples.iter().enumerate() {
                let value = of(&measured.signals[signals], frame);
                response[sample * axes.len() + own] = value / noise[own];
            }
            response
        };
        let mut terms = Vec::new();
        for (own, axis) in axes.iter().enumerate() {
            let dofs = model.structure.joints.dof.iter();
            let Some(joint) = dofs.clone().position(|dof| *dof == axis.dof) else {
                continue;
            };
            let place = Place::Joint {
                joint,
                dof: axis.dof,
            };
            terms.extend(SHAPES.into_iter().map(|(driver, shape)| Term {
                driver,
                place,
                response: response(own, &|signals, frame| shape(model, axis, signals, frame)),
            }));
            terms.extend(axis.motors.iter().map(|motor| {
                let (gain, delay) = (&model.actuators.gain, &model.actuators.delay);
                let (gain, delay) = (gain[motor.actuator][0], delay[motor.actuator]);
                let slope =
                    |signals: &Signals, frame| signals.control(motor.control, frame, delay).1;
                Term {
                    driver: Driver::ControlChange,
                    place: Place::Control(motor.control),
                    response: response(own, &|signals, frame| {
                        -motor.gear * gain * slope(signals, frame)
                    }),
                }
            }));
            terms.push(Term {
                driver: Driver::Time,
                place: Place::Signal(own),
                response: response(own, &Signals::time),
            });
        }
        let rows = rows_of(measured, &samples);
        let runs = [measured.signals.len(); 2];
        let directions = orthonormal(jacobian.data(), jacobian.rows(), jacobian.columns());
        let made_up = MadeUp {
            starts: Vec::new(),
            parameters: directions,
        };
        Ok(Some(Evidence::new(
            (rows, runs),
            &made_up,
            residuals,
            terms,
        )))
    }
}

/// Blocks and signals of the residuals of some samples.
fn rows_of(measured: &Measured, samples: &[(usize, usize)]) -> Rows {
    let axes = measured.axes.len();
    let length = (samples.len() / BLOCKS).max(MIN_BLOCK_FRAMES);
    let (mut block, mut blocks, mut count) = (Vec::new(), 0, 0);
    let mut last = None;
    for &(signals, _) in samples {
        if last != Some(signals) || count == length {
            (last, count) = (Some(signals), 0);
            blocks += 1;
        }
        count += 1;
        block.extend(std::iter::repeat_n(Some(blocks - 1), axes));
    }
    let named = measured.axes.iter();
    Rows {
        block,
        signal: (0..samples.len() * axes)
            .map(|row| Some(row % axes))
            .collect(),
        blocks,
        names: named
            .clone()
            .map(|axis| format!("torque of joint {}", axis.name))
            .collect(),
        dofs: named.map(|axis| Some(axis.dof)).collect(),
    }
}
