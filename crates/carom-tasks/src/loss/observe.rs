//! Errors of a predicted state against a frame, and their adjoint.

use carom::Scalar;
use carom::cotangent::{Cotangents, turn_bar};
use carom::dynamics::At;
use carom::math::{Mat3, Quat, Spatial, Vec3};
use carom::stages::kinematics::{self, Kinematics};
use carom::varied::{self, Varied};
use carom::{Data, Input, Model, State};

use super::{Loss, RotationError};
use crate::recording::{Channel, Frame, Quantity, Trajectory};

/// What of recordings is compared, and how.
#[derive(Clone, Debug)]
pub struct Observer<'a> {
    /// How it is compared.
    pub loss: Loss,
    /// All channels.
    pub channels: &'a [Channel],
    /// Weight of each channel; 0 if it is not compared.
    weights: Vec<f64>,
    needs_kinematics: bool,
    needs_sensors: bool,
}

/// Cotangents of what was observed of a state.
pub(crate) struct Observed<'a> {
    /// Of the state, and of the model as far as frames of bodies and sites depend on it; the rest is a work area.
    pub(crate) bars: &'a mut Cotangents,
    /// Of the sensors.
    pub(crate) sensors: &'a mut [f64],
}

impl<'a> Observer<'a> {
    /// Compares channels as a loss says.
    pub fn new(loss: Loss, channels: &'a [Channel]) -> Self {
        let weights: Vec<f64> = channels
            .iter()
            .map(|channel| loss.weight(channel))
            .collect();
        let any = |is: fn(Quantity) -> bool| {
            let mut compared = channels.iter().zip(&weights);
            compared.any(|(channel, &weight)| weight != 0.0 && is(channel.quantity))
        };
        let is_frame = |quantity| {
            matches!(
                quantity,
                Quantity::Position(Frame::Body(_) | Frame::Site(_))
                    | Quantity::Rotation(Frame::Body(_) | Frame::Site(_))
            )
        };
        Self {
            needs_kinematics: any(is_frame),
            needs_sensors: any(|quantity| matches!(quantity, Quantity::Sensor { .. })),
            loss,
            channels,
            weights,
        }
    }

    /// Whether sensors are compared.
    pub fn needs_sensors(&self) -> bool {
        self.needs_sensors
    }

    /// Number of residuals of a frame.
    pub fn count(&self, trajectory: &Trajectory, frame: usize) -> usize {
        let compared = self.compared(trajectory, frame);
        compared
            .map(|(index, _)| self.loss.width(&self.channels[index]))
            .sum()
    }

    /// Channels that are compared at a frame, with their values.
    pub(crate) fn compared<'t>(
        &'t self,
        trajectory: &'t Trajectory,
        frame: usize,
    ) -> impl Iterator<Item = (usize, &'t [f64])> {
        let channels = self.channels.iter().enumerate();
        channels
            .filter(|(index, _)| self.weights[*index] != 0.0)
            .filter_map(move |(index, channel)| {
                Some((index, trajectory.value(index, frame, channel.width)?))
            })
    }

    /// Computes what is needed of a state beyond its numbers.
    pub(crate) fn prepare(
        &self,
        model: &Model<Varied>,
        state: &State<Varied>,
        input: &Input<Varied>,
        data: &mut Data<Varied>,
    ) {
        if self.needs_sensors {
            varied::forward_and_sense(model, state, input, data);
        } else if self.needs_kinematics {
            varied::kinematics(model, state, data);
        }
    }

    /// As [`Self::prepare`], where sensors have been read before.
    pub(crate) fn prepare_with(
        &self,
        model: &Model,
        state: &State,
        sensors: &[f64],
        data: &mut Data,
    ) {
        if self.needs_kinematics {
            carom::forward_kinematics(model, state, &mut data.kinematics);
        }
        for (value, &known) in data.sensing.values.iter_mut().zip(sensors) {
            *value = known;
        }
    }

    /// Appends the residuals r̃ of a frame, times a factor; `data` is [prepared](Self::prepare).
    pub(crate) fn residuals<T: Scalar>(
        &self,
        (trajectory, frame): (&Trajectory, usize),
        (state, data): (&State<T>, &Data<T>),
        factor: f64,
        residuals: &mut Vec<T>,
    ) {
        for (index, recorded) in self.compared(trajectory, frame) {
            let start = residuals.len();
            self.errors(index, recorded, (state, data), residuals);
            let group = &mut residuals[start..];
            self.loss.penalty.apply(group);
            for residual in group {
                *residual *= factor;
            }
        }
    }

    /// Appends the weighted errors r of a channel.
    pub(crate) fn errors<T: Scalar>(
        &self,
        index: usize,
        recorded: &[f64],
        (state, data): (&State<T>, &Data<T>),
        errors: &mut Vec<T>,
    ) {
        let weight = self.weights[index];
        let start = errors.len();
        match self.channels[index].quantity {
            Quantity::JointPosition { qpos, .. } => errors.push(state.qpos[qpos] - recorded[0]),
            Quantity::JointVelocity { dof } => errors.push(state.qvel[dof] - recorded[0]),
            Quantity::LinearVelocity { dof } | Quantity::AngularVelocity { dof } => {
                errors.extend((0..3).map(|k| state.qvel[dof + k] - recorded[k]));
            }
            Quantity::Sensor { first } => {
                let values = data.sensing.values[first..].iter();
                errors.extend(values.zip(recorded).map(|(&value, &known)| value - known));
            }
            Quantity::Position(frame) => {
                let position = position(frame, state, &data.kinematics);
                errors.extend((0..3).map(|k| position.0[k] - recorded[k]));
            }
            Quantity::Rotation(frame) => {
                let quat = rotation(frame, state, &data.kinematics);
                let known = Quat(std::array::from_fn(|k| T::from(recorded[k])));
                self.rotation_errors(quat, known, errors);
            }
        }
        for error in &mut errors[start..] {
            *error *= weight;
        }
    }

    fn rotation_errors<T: Scalar>(&self, quat: Quat<T>, known: Quat<T>, errors: &mut Vec<T>) {
        match self.loss.rotation {
            RotationError::Vector => errors.extend(quat.difference(known).0),
            RotationError::Matrix => {
                let (Mat3(matrix), Mat3(known)) = (quat.to_mat3(), known.to_mat3());
                errors.extend(matrix.iter().zip(known).map(|(&a, b)| a - b));
            }
            RotationError::Quaternion => {
                let sign = if quat.dot(known).value() < 0.0 {
                    -1.0
                } else {
                    1.0
                };
                errors.extend(quat.0.iter().zip(known.0).map(|(&a, b)| a * sign - b));
            }
        }
    }

    /// Adds the cotangents of a state from those of the residuals r̃ of a frame; returns how many there were.
    pub(crate) fn residuals_vjp(
        &self,
        (trajectory, frame): (&Trajectory, usize),
        at: At<'_>,
        factor: f64,
        residual_bars: &[f64],
        bar: &mut Observed<'_>,
    ) -> usize {
        let (state, data) = (at.state, at.data);
        let mut has_frames = false;
        let mut used = 0;
        let mut errors = Vec::new();
        for (index, recorded) in self.compared(trajectory, frame) {
            errors.clear();
            self.errors(index, recorded, (state, data), &mut errors);
            let bars = &residual_bars[used..used + errors.len()];
            used += errors.len();
            let mut error_bars: Vec<f64> = bars.iter().map(|bar| bar * factor).collect();
            self.loss.penalty.apply_vjp(&errors, &mut error_bars);
            for error_bar in &mut error_bars {
                *error_bar *= self.weights[index];
            }
            let frame_bar = self.errors_vjp(index, recorded, (state, data), &error_bars, bar);
            if let Some((frame, [force, torque])) = frame_bar {
                let work = &mut bar.bars.data;
                if !std::mem::replace(&mut has_frames, true) {
                    work.kinematics.set_zero();
                    work.frame_wrench.fill(Spatial::ZERO);
                }
                pull(frame, &data.kinematics, force, torque, &mut work.kinematics);
            }
        }
        if has_frames {
            kinematics::backward(at, bar.bars);
        }
        used
    }

    /// The adjoint of [`Self::errors`]; for frames of bodies and sites, returns the force and torque on them.
    fn errors_vjp(
        &self,
        index: usize,
        recorded: &[f64],
        (state, data): (&State, &Data),
        bars: &[f64],
        bar: &mut Observed<'_>,
    ) -> Option<(Frame, [Vec3; 2])> {
        let add = |sums: &mut [f64], bars: &[f64]| {
            for (sum, bar) in sums.iter_mut().zip(bars) {
                *sum += bar;
            }
        };
        match self.channels[index].quantity {
            Quantity::JointPosition { dof, .. } => bar.bars.state.qpos[dof] += bars[0],
            Quantity::JointVelocity { dof } => bar.bars.state.qvel[dof] += bars[0],
            Quantity::LinearVelocity { dof } | Quantity::AngularVelocity { dof } => {
                add(&mut bar.bars.state.qvel[dof..dof + 3], bars);
            }
            Quantity::Sensor { first } => add(&mut bar.sensors[first..], bars),
            Quantity::Position(Frame::State { dof, .. }) => {
                add(&mut bar.bars.state.qpos[dof..dof + 3], bars);
            }
            Quantity::Position(frame) => {
                return Some((frame, [Vec3([bars[0], bars[1], bars[2]]), Vec3::ZERO]));
            }
            Quantity::Rotation(frame) => {
                let quat = rotation(frame, state, &data.kinematics);
                let known = Quat(std::array::from_fn(|k| recorded[k]));
                let turn = turn_bar(quat, self.rotation_errors_vjp(quat, known, bars));
                if let Frame::State { dof, .. } = frame {
                    add(&mut bar.bars.state.qpos[dof..dof + 3], &turn.0);
                } else {
                    return Some((frame, [Vec3::ZERO, quat.rotate(turn)]));
                }
            }
        }
        None
    }

    fn rotation_errors_vjp(&self, quat: Quat, known: Quat, bars: &[f64]) -> Quat {
        let (mut quat_bar, mut known_bar) = (Quat::default(), Quat::default());
        match self.loss.rotation {
            RotationError::Vector => {
                let bar = Vec3([bars[0], bars[1], bars[2]]);
                quat.difference_vjp(known, bar, &mut quat_bar, &mut known_bar);
            }
            RotationError::Matrix => {
                quat.to_mat3_vjp(&Mat3(std::array::from_fn(|k| bars[k])), &mut quat_bar);
            }
            RotationError::Quaternion => {
                let sign = if quat.dot(known) < 0.0 { -1.0 } else { 1.0 };
                quat_bar = Quat(std::array::from_fn(|k| bars[k] * sign));
            }
        }
        quat_bar
    }
}

/// What a channel would measure of a state whose kinematics and sensors are known.
pub(crate) fn measured(
    channel: &Channel,
    state: &State,
    kinematics: &Kinematics,
    sensors: &[f64],
) -> Vec<f64> {
    match channel.quantity {
        Quantity::JointPosition { qpos, .. } => vec![state.qpos[qpos]],
        Quantity::JointVelocity { dof } => vec![state.qvel[dof]],
        Quantity::LinearVelocity { dof } | Quantity::AngularVelocity { dof } => {
            state.qvel[dof..dof + 3].to_vec()
        }
        Quantity::Position(frame) => position(frame, state, kinematics).0.to_vec(),
        Quantity::Rotation(frame) => rotation(frame, state, kinematics).0.to_vec(),
        Quantity::Sensor { first } => {
            let values = sensors.get(first..first + channel.width);
            values.map_or_else(|| vec![f64::NAN; channel.width], <[f64]>::to_vec)
        }
    }
}

fn position<T: Scalar>(frame: Frame, state: &State<T>, kinematics: &Kinematics<T>) -> Vec3<T> {
    match frame {
        Frame::State { qpos, .. } => Vec3(std::array::from_fn(|k| state.qpos[qpos + k])),
        Frame::Body(body) => kinematics.body_position[body],
        Frame::Site(site) => kinematics.site_position[site],
    }
}

fn rotation<T: Scalar>(frame: Frame, state: &State<T>, kinematics: &Kinematics<T>) -> Quat<T> {
    match frame {
        Frame::State { qpos, .. } => {
            Quat(std::array::from_fn(|k| state.qpos[qpos + k])).normalized()
        }
        Frame::Body(body) => Quat::from_mat3(&kinematics.body_rotation[body]),
        Frame::Site(site) => Quat::from_mat3(&kinematics.site_rotation[site]),
    }
}

/// Adds a force and a torque on a frame to the cotangents of its position and rotation matrix: Σ r × r̄ is the torque for
/// r̄ = ½·torque × r.
fn pull(frame: Frame, at: &Kinematics, force: Vec3, torque: Vec3, bars: &mut Kinematics) {
    let (position_bar, rotation, rotation_bar) = match frame {
        Frame::State { .. } => return,
        Frame::Body(body) => (
            &mut bars.body_position[body],
            &at.body_rotation[body],
            &mut bars.body_rotation[body],
        ),
        Frame::Site(site) => (
            &mut bars.site_position[site],
            &at.site_rotation[site],
            &mut bars.site_rotation[site],
        ),
    };
    *position_bar += force;
    for k in 0..3 {
        let Vec3(change) = torque.cross(rotation.column(k)).scale(0.5);
        for (row, change) in change.into_iter().enumerate() {
            rotation_bar.0[3 * row + k] += change;
        }
    }
}
