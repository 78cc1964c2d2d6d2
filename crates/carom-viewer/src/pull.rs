//! Dragging a body by a point: a spring with critical damping, scaled by the mass that is felt there.
//!
//! With W the mobility at the point (the velocity that a unit impulse gives to it) and r its rank, m = r/tr(W) is the
//! mean mass that is felt there, and the force is
//!
//!   f = m·(ω²·(target − p) − 2·ω·ṗ)                                                  (1)
//!
//! so that a light and a heavy body follow the hand alike, whatever hangs on them. A body that is moved from outside
//! (mocap) goes where the hand is.
//!
//! While time stands still there are no forces: the coordinates are changed until the point is at the hand, or as near to
//! it as joints let it come, by damped least squares with J the Jacobian of the point:
//!
//!   δq = Jᵀ·(J·Jᵀ + λ)⁻¹·(target − p)                                                (2)
//!
//! Free bodies are moved and not turned, limits are kept, and what was moved is at rest.

use carom::integrate_positions;
use carom::jacobian;
use carom::math::symmetric_eigen;
use carom::math::{Spatial, Vec3};
use carom::model::JointKind;
use carom::{Data, Input, Model, State};

use crate::gradient::mobility;

/// ω: how fast a body follows (1/s), where time steps are short. Under gravity it hangs below the hand, held at its
/// centre by g/ω², 16 mm.
const RATE: f64 = 25.0;

/// Most of ω in a time step: forces are held over it, and would overshoot.
const RATE_OF_STEP: f64 = 0.25;

/// Directions whose mobility is below this share of the largest count as fixed.
const FIXED: f64 = 1e-6;

/// λ at first, as a share of the largest eigenvalue of J·Jᵀ, and where nothing more is tried.
const DAMPING: [f64; 2] = [1e-6, 1e6];

/// Changes of coordinates that are tried for one place of the hand.
const MAX_CHANGES: usize = 100;

/// What is at the hand (m).
const ARRIVED: f64 = 1e-9;

/// A body that is dragged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    pub(crate) body: usize,
    /// Where it is held, in its frame (m).
    point: Vec3,
    /// Where it is pulled to, in the world (m).
    pub(crate) target: Vec3,
    /// Mass that is felt at the point (kg).
    mass: f64,
}

impl Pull {
    /// Takes hold of a body; `data` holds the results of a forward pass.
    pub(crate) fn new(
        model: &Model,
        data: &Data,
        (body, point): (usize, Vec3),
        target: Vec3,
    ) -> Self {
        let place = world(data, body, point);
        let (values, _) = symmetric_eigen(mobility(model, data, body, place), 3);
        let largest = values.iter().copied().fold(0.0, f64::max);
        let moving = values
            .iter()
            .filter(|value| **value > FIXED * largest.max(f64::MIN_POSITIVE));
        let (rank, trace) = moving.fold((0.0, 0.0), |(rank, trace), value| {
            (rank + 1.0, trace + value)
        });
        let mass = if trace > 0.0 { rank / trace } else { 0.0 };
        Self {
            body,
            point,
            target,
            mass,
        }
    }

    /// Whether it holds the same point of the same body.
    pub(crate) fn holds(&self, body: usize, point: Vec3) -> bool {
        self.body == body && self.point == point
    }

    /// Sets the force for the next step (1), or moves a mocap body. Writes the kinematics of the state.
    pub(crate) fn apply(
        &self,
        model: &Model,
        state: &mut State,
        input: &mut Input,
        data: &mut Data,
    ) {
        let place = self.place(model, state, data);
        if let Some(mocap) = self.mocap(model) {
            state.mocap_position[mocap] += self.target - place;
            return;
        }
        let velocity = self.moved(model, data, &state.qvel);
        let rate = RATE.min(RATE_OF_STEP / model.option.timestep[0]);
        let wish = (self.target - place) * (rate * rate) - velocity * (2.0 * rate);
        let force = wish * self.mass;
        let arm = place - data.kinematics.inertial_position[self.body];
        input.body_force[self.body] = Spatial::new(arm.cross(force), force);
    }

    /// Brings the point to the hand while time stands still (2). Writes the kinematics of the state.
    pub(crate) fn bring(&self, model: &Model, state: &mut State, data: &mut Data) {
        let mut way = self.target - self.place(model, state, data);
        if let Some(mocap) = self.mocap(model) {
            state.mocap_position[mocap] += way;
            return;
        }
        let mut damping = DAMPING[0];
        let mut nearer = state.clone();
        for _ in 0..MAX_CHANGES {
            if way.norm() < ARRIVED || damping > DAMPING[1] {
                break;
            }
            // The kinematics are those of the last attempt, which may have been left.
            carom::forward_kinematics(model, state, &mut data.kinematics);
            let change = self.change_within_limits(model, (&state.qpos, data), way, damping);
            let expected = way - self.moved(model, data, &change);
            nearer.qpos.clone_from(&state.qpos);
            integrate_positions(model, &mut nearer.qpos, &change, 1.0);
            keep_limits(model, &mut nearer.qpos);
            let left = self.target - self.place(model, &nearer, data);
            let gain = way.norm() - left.norm();
            let is_as_expected = gain > 0.5 * (way.norm() - expected.norm());
            if gain > 0.0 {
                state.qpos.clone_from(&nearer.qpos);
                way = left;
            }
            // Far from the hand, small changes are better foreseen than large ones.
            damping = if is_as_expected {
                (damping / 10.0).max(DAMPING[0])
            } else {
                damping * 5.0
            };
        }
        for &dof in jacobian::moving_dofs(model, self.body) {
            state.qvel[dof] = 0.0;
        }
    }

    /// δq of (2). Joints that it would push beyond limits at which they are leave the way to the others.
    fn change_within_limits(
        &self,
        model: &Model,
        (qpos, data): (&[f64], &Data),
        way: Vec3,
        damping: f64,
    ) -> Vec<f64> {
        let mut free: Vec<bool> = (0..model.counts().nv)
            .map(|dof| !turns_freely(model, dof))
            .collect();
        loop {
            let change = self.change(model, data, way, (damping, &free));
            let stopped: Vec<usize> = limits(model)
                .filter(|&(place, dof, [low, high])| {
                    let (place, change) = (qpos[place], change[dof]);
                    free[dof] && (place <= low && change < 0.0 || place >= high && change > 0.0)
                })
                .map(|(_, dof, _)| dof)
                .collect();
            if stopped.is_empty() {
                return change;
            }
            for dof in stopped {
                free[dof] = false;
            }
        }
    }

    /// δq of (2) for the degrees of freedom that are free to move.
    fn change(
        &self,
        model: &Model,
        data: &Data,
        way: Vec3,
        (damping, free): (f64, &[bool]),
    ) -> Vec<f64> {
        let place = world(data, self.body, self.point);
        let columns = || {
            jacobian::columns(model, &data.kinematics, self.body, place)
                .filter(|(dof, ..)| free[*dof])
        };
        let mut square = [[0.0; 3]; 3];
        for (_, _, linear) in columns() {
            for (row, entries) in square.iter_mut().enumerate() {
                for (column, entry) in entries.iter_mut().enumerate() {
                    *entry += linear[row] * linear[column];
                }
            }
        }
        let (values, directions) = symmetric_eigen(square, 3);
        let largest = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let through = values.into_iter().zip(directions.map(Vec3));
        let push = through.fold(Vec3::ZERO, |sum: Vec3, (value, direction)| {
            sum.scale_add(direction, direction.dot(way) / (value + damping * largest))
        });
        let mut change = vec![0.0; model.counts().nv];
        for (dof, _, linear) in columns() {
            change[dof] = linear.dot(push);
        }
        change
    }

    /// The motion of the point with a small change of the coordinates (m).
    fn moved(&self, model: &Model, data: &Data, change: &[f64]) -> Vec3 {
        let place = world(data, self.body, self.point);
        let columns = jacobian::columns(model, &data.kinematics, self.body, place);
        columns.fold(Vec3::ZERO, |sum: Vec3, (dof, _, linear)| {
            sum.scale_add(linear, change[dof])
        })
    }

    /// Where the point is, in the world (m). Writes the kinematics of the state.
    fn place(&self, model: &Model, state: &State, data: &mut Data) -> Vec3 {
        carom::forward_kinematics(model, state, &mut data.kinematics);
        world(data, self.body, self.point)
    }

    /// Which mocap body it is, or is fixed to.
    fn mocap(&self, model: &Model) -> Option<usize> {
        let bodies = &model.structure.bodies;
        bodies.mocap[bodies.weld[self.body]]
    }
}

/// Whether a degree of freedom turns a free body.
fn turns_freely(model: &Model, dof: usize) -> bool {
    let joints = &model.structure.joints;
    let joint = model.structure.dofs.joint[dof];
    joints.kind[joint] == JointKind::Free && dof >= joints.dof[joint] + 3
}

/// Hinges and slides with limits: coordinate, degree of freedom and limits.
fn limits(model: &Model) -> impl Iterator<Item = (usize, usize, [f64; 2])> {
    let joints = &model.structure.joints;
    let is_meant = |&joint: &usize| {
        joints.limited[joint] && matches!(joints.kind[joint], JointKind::Hinge | JointKind::Slide)
    };
    let all = (0..joints.kind.len()).filter(is_meant);
    all.map(|joint| {
        let range = model.joints.range[joint];
        (joints.qpos[joint], joints.dof[joint], range)
    })
}

/// Puts hinges and slides that are beyond their limits on them.
fn keep_limits(model: &Model, qpos: &mut [f64]) {
    for (place, _, [low, high]) in limits(model) {
        qpos[place] = qpos[place].min(high).max(low);
    }
}

fn world(data: &Data, body: usize, point: Vec3) -> Vec3 {
    let frames = &data.kinematics;
    frames.body_position[body] + frames.body_rotation[body].mul_vec(point)
}
