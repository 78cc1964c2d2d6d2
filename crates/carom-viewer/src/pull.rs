//! Dragging a body by a point: a spring with critical damping, scaled by the mass that is felt there.
//!
//! With W the mobility at the point (the velocity that a unit impulse gives to it) and r its rank, m = r/tr(W) is the
//! mean mass that is felt there, and the force is
//!
//!   f = m·(ω²·(target − p) − 2·ω·ṗ)                                                  (1)
//!
//! so that a light and a heavy body follow the hand alike, whatever hangs on them. A body that is moved from outside
//! (mocap) goes where the hand is.

use carom::jacobian;
use carom::linalg::symmetric_eigen;
use carom::math::{Spatial, Vec3};
use carom::stages::kinematics;
use carom::{Data, Input, Model, State};

use crate::gradient::mobility;

/// ω: how fast a body follows (1/s), where time steps are short. Under gravity it hangs g/ω² below the hand, 16 mm.
const RATE: f64 = 25.0;

/// Most of ω in a time step: forces are held over it, and would overshoot.
const RATE_OF_STEP: f64 = 0.25;

/// Directions whose mobility is below this share of the largest count as fixed.
const FIXED: f64 = 1e-6;

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
        kinematics::forward(model, state, &mut data.kinematics);
        let place = world(data, self.body, self.point);
        let top = model.structure.bodies.weld[self.body];
        if let Some(mocap) = model.structure.bodies.mocap[top] {
            state.mocap_position[mocap] += self.target - place;
            return;
        }
        let columns = jacobian::columns(model, &data.kinematics, self.body, place);
        let velocity = columns.fold(Vec3::ZERO, |sum: Vec3, (dof, _, linear)| {
            sum.scale_add(linear, state.qvel[dof])
        });
        let rate = RATE.min(RATE_OF_STEP / model.option.timestep[0]);
        let wish = (self.target - place) * (rate * rate) - velocity * (2.0 * rate);
        let force = wish * self.mass;
        let arm = place - data.kinematics.inertial_position[self.body];
        input.body_force[self.body] = Spatial::new(arm.cross(force), force);
    }
}

fn world(data: &Data, body: usize, point: Vec3) -> Vec3 {
    let frames = &data.kinematics;
    frames.body_position[body] + frames.body_rotation[body].mul_vec(point)
}
