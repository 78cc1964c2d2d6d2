//! Fourth-order Runge–Kutta on the manifold of configurations.
//!
//! Positions are followed in the tangent space at the start of the step, q = q₀ ⊕ x. There ẋ is the velocity, except
//! for orientations: with q = q₀ ⊗ exp(r), a local angular velocity ω gives [Munthe-Kaas 1998; Bortz 1971]
//!
//!   ṙ = ω + ½·r × ω + c(|r|)·r × (r × ω),   c(x) = (1 − (x/2)·cot(x/2)) / x²              (1)
//!
//! Stages i = 2, 3, 4 lie at a·h with a = ½, ½, 1 along the rates of stage i − 1, and the step is their mean with the
//! weights 1/6, 1/3, 1/3, 1/6.                                                           (2)

use std::f64::consts::PI;

use super::positions::vector_at;
use super::{Rates, integrate_positions, update_state};
use crate::data::Data;
use crate::dynamics;
use crate::math::Vec3;
use crate::model::{Counts, Model};
use crate::scalar::Scalar;
use crate::stages::actuation::ActuatorPlace;
use crate::state::{Input, State};

/// Where the later stages lie, in time steps.
pub(crate) const STAGE: [f64; 3] = [0.5, 0.5, 1.0];
/// Weights of the stages.
pub(crate) const WEIGHT: [f64; 4] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// The start of the step, the rates of one stage and the weighted means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stages<T: Scalar> {
    qpos: Vec<T>,
    qvel: Vec<T>,
    act: Vec<T>,
    tangent_rate: Vec<T>,
    mean_rate: Vec<T>,
    mean_acceleration: Vec<T>,
    mean_activation_dot: Vec<T>,
    length: Vec<T>,
    velocity: Vec<T>,
}

impl<T: Scalar> Stages<T> {
    /// Room for the stages.
    pub(super) fn new(n: &Counts) -> Self {
        let zeros = |count| vec![T::ZERO; count];
        Self {
            qpos: zeros(n.nq),
            qvel: zeros(n.nv),
            act: zeros(n.na),
            tangent_rate: zeros(n.nv),
            mean_rate: zeros(n.nv),
            mean_acceleration: zeros(n.nv),
            mean_activation_dot: zeros(n.na),
            length: zeros(n.nout),
            velocity: zeros(n.nout),
        }
    }

    /// Remembers the start of the step.
    fn begin(&mut self, state: &State<T>, length: &[T], velocity: &[T]) {
        self.qpos.copy_from_slice(&state.qpos);
        self.qvel.copy_from_slice(&state.qvel);
        self.act.copy_from_slice(&state.act);
        self.tangent_rate.copy_from_slice(&state.qvel);
        self.length.copy_from_slice(length);
        self.velocity.copy_from_slice(velocity);
        self.mean_rate.fill(T::ZERO);
        self.mean_acceleration.fill(T::ZERO);
        self.mean_activation_dot.fill(T::ZERO);
    }

    /// Adds the rates of a stage to the means. (2)
    fn accumulate(&mut self, weight: f64, acceleration: &[T], activation_dot: &[T]) {
        add_scaled(&mut self.mean_rate, &self.tangent_rate, weight);
        add_scaled(&mut self.mean_acceleration, acceleration, weight);
        add_scaled(&mut self.mean_activation_dot, activation_dot, weight);
    }

    /// Puts the state at `h` from the start along the rates of the last stage.
    fn place(
        &self,
        model: &Model<T>,
        acceleration: &[T],
        activation_dot: &[T],
        h: T,
        state: &mut State<T>,
    ) {
        self.restore(state);
        integrate_positions(model, &mut state.qpos, &self.tangent_rate, h);
        for (velocity, &rate) in state.qvel.iter_mut().zip(acceleration) {
            *velocity += rate * h;
        }
        for (activation, &rate) in state.act.iter_mut().zip(activation_dot) {
            *activation += rate * h;
        }
    }

    /// Puts the state back to the start.
    fn restore(&self, state: &mut State<T>) {
        state.qpos.copy_from_slice(&self.qpos);
        state.qvel.copy_from_slice(&self.qvel);
        state.act.copy_from_slice(&self.act);
    }
}

/// Advances a state whose first stage is in `data`.
pub(super) fn advance<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    let (h, time) = (input.timestep, state.time);
    let stages = &mut data.integration.stages;
    stages.begin(state, &data.transmission.length, &data.velocity.actuator);
    stages.accumulate(WEIGHT[0], &data.solve.qacc, &data.actuation.activation_dot);
    for (&fraction, &weight) in STAGE.iter().zip(&WEIGHT[1..]) {
        let reach = h * fraction;
        data.integration.stages.place(
            model,
            &data.solve.qacc,
            &data.actuation.activation_dot,
            reach,
            state,
        );
        state.time = time + reach;
        dynamics::forward(model, state, input, data);
        let stages = &mut data.integration.stages;
        tangent_rates(model, &state.qvel, reach, &mut stages.tangent_rate);
        stages.accumulate(weight, &data.solve.qacc, &data.actuation.activation_dot);
    }
    state.warmstart.copy_from_slice(&data.solve.qacc);
    state.time = time;
    let stages = &data.integration.stages;
    stages.restore(state);
    data.transmission.length.copy_from_slice(&stages.length);
    data.velocity.actuator.copy_from_slice(&stages.velocity);
    let rates = Rates {
        activation: &stages.mean_activation_dot,
        acceleration: &stages.mean_acceleration,
        position: Some(&stages.mean_rate),
    };
    let place = ActuatorPlace {
        transmission: &data.transmission,
        velocity: &data.velocity,
        timestep: h,
    };
    update_state(model, state, place, rates);
}

/// target ← target + factor·source.
#[inline]
pub(crate) fn add_scaled<T: Scalar>(target: &mut [T], source: &[T], factor: impl Into<T>) {
    let factor = factor.into();
    for (target, &source) in target.iter_mut().zip(source) {
        *target += source * factor;
    }
}

/// Rates in the tangent space at the start of the step of a stage at `reach` along the previous rates.
///
/// `rates` holds those of the previous stage and receives those of this one.
pub(crate) fn tangent_rates<T: Scalar>(model: &Model<T>, qvel: &[T], reach: T, rates: &mut [T]) {
    let joints = &model.structure.joints;
    for (_, dof) in joints.straight() {
        rates[dof] = qvel[dof];
    }
    for (_, dof) in joints.rotations() {
        let rate = rotation_vector_rate(vector_at(rates, dof) * reach, vector_at(qvel, dof));
        rates[dof..dof + 3].copy_from_slice(&rate.0);
    }
}

/// Rate of the rotation vector r under the local angular velocity ω. (1)
pub(crate) fn rotation_vector_rate<T: Scalar>(rotation: Vec3<T>, velocity: Vec3<T>) -> Vec3<T> {
    let rotation = within_half_turn(rotation);
    let once = rotation.cross(velocity);
    let twice = rotation.cross(once);
    velocity + once * 0.5 + twice * bortz_coefficient(rotation.norm_squared())
}

/// The same rotation by at most half a turn.
fn within_half_turn<T: Scalar>(rotation: Vec3<T>) -> Vec3<T> {
    let square = rotation.norm_squared();
    if square.value() <= PI * PI {
        return rotation;
    }
    let angle = square.sqrt();
    let turns = (angle.value() / (2.0 * PI)).round();
    rotation * ((angle - turns * 2.0 * PI) / angle)
}

/// |B₂ₖ|/(2k)!, k = 1, 2, …: the series of c in powers of x².
const BORTZ_SERIES: [f64; 7] = [
    1.0 / 12.0,
    1.0 / 720.0,
    1.0 / 30_240.0,
    1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
];

/// c of (1) as a function of x².
fn bortz_coefficient<T: Scalar>(square: T) -> T {
    // Seven terms are exact to rounding here; beyond, the closed form no longer cancels.
    if square.value() < 0.1 {
        return BORTZ_SERIES
            .iter()
            .rev()
            .fold(T::ZERO, |sum, &coefficient| sum * square + coefficient);
    }
    let half = square.sqrt() * 0.5;
    (T::ONE - half / half.tan()) / square
}
