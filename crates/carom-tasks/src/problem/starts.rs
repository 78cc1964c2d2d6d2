//! Start states: as recorded, or shifted by unknowns.

use crate::error;
use carom::Error;
use carom::Scalar;
use carom::math::{Quat, Vec3};
use carom::model::JointKind;
use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;

use super::Run;
use crate::recording::{Frame, Quantity, Recordings, Trajectory, measure_again};

/// Deviations of coordinates that nothing measures, and of their velocities: with angles it is a radian, with slides a metre.
const UNMEASURED: [f64; 2] = [1.0, 10.0];

/// Times closer than this are the same (s).
const SAME_TIME: f64 = 1e-6;

/// Where simulations start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Starts {
    /// At the recorded states.
    #[default]
    Recorded,
    /// At states that are unknowns too, near the recorded ones: their shift has a normal prior. Its standard deviations are the noise of
    /// the channels where it is known, and these where it is not. Velocities that were found from positions may be as far off as those
    /// positions allow, and of coordinates that nothing measures hardly anything is known.
    Free {
        /// Of positions (m, rad).
        position: f64,
        /// Of velocities.
        velocity: f64,
    },
    /// At several states for every run, and the loss is the mean over them: the recorded one, and those that the same motion would
    /// have been given by other measurements with the noise of the channels. A loss that is rough through contacts is smoothed by
    /// it, so that parameters which do well by luck from one start only are not found.
    Drawn {
        /// How many, the recorded one among them.
        count: usize,
    },
}

/// Drawn starts are the same for every seed of a search, so that its losses can be compared.
const SEED: u64 = 0;
/// More starts than this are a mistake.
const MAX_DRAWS: usize = 1000;

impl Starts {
    /// Starts of every run.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Recorded | Self::Free { .. } => 1,
            Self::Drawn { count } => count,
        }
    }

    /// The recordings as other measurements would have made them, one for every start but the recorded one.
    pub(super) fn measured_again(
        self,
        model: &Model,
        recordings: &Recordings,
    ) -> Result<Vec<Recordings>, Error> {
        let Self::Drawn { count } = self else {
            return Ok(Vec::new());
        };
        if !(1..=MAX_DRAWS).contains(&count) {
            return Err(error::settings(format!(
                "{count} drawn starts: draw 1 to {MAX_DRAWS} of them for every run"
            )));
        }
        let deviations: Vec<f64> = (recordings.channels.iter())
            .map(|channel| channel.noise.unwrap_or(0.0))
            .collect();
        if count > 1 && deviations.iter().all(|deviation| *deviation == 0.0) {
            return Err(error::settings(
                "starts are drawn from the noise of the recordings, and the mapping states none: give it there as `noise`".to_owned(),
            ));
        }
        let measured = (1..count).map(|draw| {
            let mut copy = recordings.clone();
            let mut random = Random::new(SEED, draw as u64);
            measure_again(model, &mut copy, &deviations, &mut random);
            copy
        });
        Ok(measured.collect())
    }

    /// Standard deviations of the shift of a start, positions then velocities; empty if starts are fixed.
    pub(super) fn prior(self, model: &Model, recordings: &Recordings) -> Result<Vec<f64>, Error> {
        let Self::Free { position, velocity } = self else {
            return Ok(Vec::new());
        };
        if !(position > 0.0 && velocity > 0.0) {
            return Err(error::settings(format!(
                "free starts need standard deviations above 0, not {position} and {velocity}"
            )));
        }
        let nv = model.counts().nv;
        let mut prior = vec![position.max(UNMEASURED[0]); nv];
        prior.resize(2 * nv, velocity.max(UNMEASURED[1]));
        for channel in &recordings.channels {
            let Some((dof, width)) = dofs(channel.quantity, nv) else {
                continue;
            };
            let found = || recordings.found_deviation(channel, position);
            let otherwise = if dof < nv { position } else { velocity };
            let deviation = channel.noise.or_else(found).unwrap_or(otherwise);
            prior[dof..dof + width].fill(deviation);
        }
        Ok(prior)
    }
}

/// Whether channels measure all coordinates of a model.
pub(super) fn are_measured(model: &Model, recordings: &Recordings) -> bool {
    let nv = model.counts().nv;
    let mut is_measured = vec![false; nv];
    for channel in &recordings.channels {
        if let Some((dof, width)) = dofs(channel.quantity, nv).filter(|(dof, _)| *dof < nv) {
            is_measured[dof..dof + width].fill(true);
        }
    }
    !is_measured.contains(&false)
}

/// Where a channel is in the tangent of a state, and how wide.
pub(crate) fn dofs(quantity: Quantity, nv: usize) -> Option<(usize, usize)> {
    match quantity {
        Quantity::JointPosition { dof, .. } => Some((dof, 1)),
        Quantity::JointVelocity { dof } => Some((nv + dof, 1)),
        Quantity::Position(Frame::State { dof, .. })
        | Quantity::Rotation(Frame::State { dof, .. }) => Some((dof, 3)),
        Quantity::LinearVelocity { dof } | Quantity::AngularVelocity { dof } => Some((nv + dof, 3)),
        _ => None,
    }
}

/// The recorded start of a run, with what delayed actuators remember. Where velocities are means since the frame before, half of the
/// acceleration of that time is added: (Δt − h)/2, since steps of length h move positions by the velocity at their ends. Contacts that
/// throw bodies back against all other forces have not done so for that time: nothing is added in an impact.
pub(crate) fn state(
    recordings: &Recordings,
    model: &Model,
    run: &Run,
    timestep: f64,
) -> Result<State, Error> {
    let mut start = recordings.start(model, run.trajectory, run.first)?;
    let trajectory = &recordings.trajectories[run.trajectory];
    remember_controls(model, trajectory, run.first, &mut start);
    if !recordings.velocity.means {
        return Ok(start);
    }
    let before = run.first.max(1) - 1;
    let span = trajectory.times[before + 1] - trajectory.times[before];
    let nu = model.counts().nu;
    let mut input = Input::zeros(model);
    input
        .ctrl
        .copy_from_slice(&trajectory.controls[run.first * nu..][..nu]);
    let mut data = Data::new(model);
    carom::forward(model, &start, &input, &mut data);
    let forces = &data.acceleration.force_smooth;
    let power: f64 = (data.solve.qacc.iter().zip(forces))
        .map(|(acceleration, force)| acceleration * force)
        .sum();
    if power >= 0.0 {
        for (velocity, acceleration) in start.qvel.iter_mut().zip(&data.solve.qacc) {
            *velocity += acceleration * 0.5 * (span - timestep).max(0.0);
        }
    }
    Ok(start)
}

/// Fills the histories of delayed actuators with the controls recorded before a frame; the first one was held before the
/// recording began.
fn remember_controls(model: &Model, trajectory: &Trajectory, frame: usize, start: &mut State) {
    let nu = model.counts().nu;
    let now = trajectory.times[frame];
    let actuators = &model.structure.actuators;
    for (controls, history) in actuators.controls.iter().zip(&actuators.history) {
        let Some(history) = history.and_then(|index| start.history.get_mut(index)) else {
            continue;
        };
        let held: Vec<f64> = (history.times().iter())
            .map(|back| {
                let then = now + back + SAME_TIME;
                let after = (trajectory.times).partition_point(|time| *time <= then);
                trajectory.controls[after.saturating_sub(1) * nu + controls.start]
            })
            .collect();
        history.values_mut().copy_from_slice(&held);
    }
}

/// Moves a state by a shift in tangent space.
pub(crate) fn moved<T: Scalar>(model: &Model, state: &mut State<T>, shift: &[T]) {
    if shift.is_empty() {
        return;
    }
    let nv = model.counts().nv;
    for (velocity, &change) in state.qvel.iter_mut().zip(&shift[nv..]) {
        *velocity += change;
    }
    for_places(model, |qpos, dof, is_rotation| {
        if is_rotation {
            let quat = Quat(std::array::from_fn(|k| state.qpos[qpos + k]));
            let turn = Vec3(std::array::from_fn(|k| shift[dof + k]));
            let turned = quat.normalized().mul(Quat::exp(turn));
            state.qpos[qpos..qpos + 4].copy_from_slice(&turned.0);
        } else {
            state.qpos[qpos] += shift[dof];
        }
    });
}

/// The shift in tangent space that moves a state to another.
pub(super) fn shift(model: &Model, from: &State, to: &State) -> Vec<f64> {
    let nv = model.counts().nv;
    let mut shift = vec![0.0; nv];
    let velocities = to.qvel.iter().zip(&from.qvel);
    shift.extend(velocities.map(|(to, from)| to - from));
    for_places(model, |qpos, dof, is_rotation| {
        if is_rotation {
            let quat = |state: &State| Quat(std::array::from_fn(|k| state.qpos[qpos + k]));
            let turn = quat(to).normalized().difference(quat(from).normalized());
            shift[dof..dof + 3].copy_from_slice(&turn.0);
        } else {
            shift[dof] = to.qpos[qpos] - from.qpos[qpos];
        }
    });
    shift
}

/// The cotangent of a shift from those of the moved state's positions, in tangent space, and velocities.
pub(super) fn moved_vjp(
    model: &Model,
    shift: &[f64],
    qpos_bar: &[f64],
    qvel_bar: &[f64],
) -> Vec<f64> {
    let mut bar = [qpos_bar, qvel_bar].concat();
    for_places(model, |_, dof, is_rotation| {
        if is_rotation {
            // A turn of q·exp(δ) in its own frame is one of exp(δ) in its own frame.
            let turn = Vec3([shift[dof], shift[dof + 1], shift[dof + 2]]);
            let turn_bar = Vec3([qpos_bar[dof], qpos_bar[dof + 1], qpos_bar[dof + 2]]);
            let mut shift_bar = Vec3::ZERO;
            let end_bar = carom::cotangent::quat_bar(Quat::exp(turn), turn_bar);
            Quat::exp_vjp(turn, end_bar, &mut shift_bar);
            bar[dof..dof + 3].copy_from_slice(&shift_bar.0);
        }
    });
    bar
}

/// Calls for every coordinate, and for every quaternion as a whole: its place in qpos, in qvel, and whether it is a quaternion.
fn for_places(model: &Model, mut visit: impl FnMut(usize, usize, bool)) {
    let joints = &model.structure.joints;
    for (joint, kind) in joints.kind.iter().enumerate() {
        let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
        match kind {
            JointKind::Hinge | JointKind::Slide => visit(qpos, dof, false),
            JointKind::Ball => visit(qpos, dof, true),
            JointKind::Free => {
                (0..3).for_each(|k| visit(qpos + k, dof + k, false));
                visit(qpos + 3, dof + 3, true);
            }
        }
    }
}
