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
use super::rates::{Rates, place};
use crate::data::Data;
use crate::dynamics;
use crate::math::Vec3;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// Where the later stages lie, in time steps.
pub(crate) const STAGE: [f64; 3] = [0.5, 0.5, 1.0];
/// Weights of the stages.
pub(crate) const WEIGHT: [f64; 4] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// The start of the step, the rates of one stage and the weighted means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stages<T: Scalar> {
    start: State<T>,
    rates: Rates<T>,
    pub(super) mean: Rates<T>,
    length: Vec<T>,
    velocity: Vec<T>,
}

impl<T: Scalar> Stages<T> {
    /// Room for the stages.
    pub(super) fn new(model: &Model<T>) -> Self {
        let n = model.counts();
        Self {
            start: State::reference(model),
            rates: Rates::zeros(n),
            mean: Rates::zeros(n),
            length: vec![T::ZERO; n.nout],
            velocity: vec![T::ZERO; n.nout],
        }
    }
}

/// Finds the mean rates of a step whose first stage is in `data`.
pub(super) fn average<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    let (h, time) = (input.timestep, state.time);
    let stages = &mut data.integration.stages;
    stages.start.qpos.copy_from_slice(&state.qpos);
    stages.start.qvel.copy_from_slice(&state.qvel);
    stages.start.act.copy_from_slice(&state.act);
    stages.length.copy_from_slice(&data.transmission.length);
    stages.velocity.copy_from_slice(&data.velocity.actuator);
    stages.rates.position.copy_from_slice(&state.qvel);
    stages.mean.clear();
    for (stage, &weight) in WEIGHT.iter().enumerate() {
        if stage > 0 {
            let reach = h * STAGE[stage - 1];
            let Stages { start, rates, .. } = &data.integration.stages;
            place(model, start, rates, reach, state);
            state.time = time + reach;
            dynamics::forward(model, state, input, data);
            let rates = &mut data.integration.stages.rates.position;
            tangent_rates(model, &state.qvel, reach, rates);
        }
        // Add the rates of the stage to the means. (2)
        let Stages { rates, mean, .. } = &mut data.integration.stages;
        rates.velocity.copy_from_slice(&data.solve.qacc);
        let activation_dot = &data.actuation.activation_dot;
        rates.activation.copy_from_slice(activation_dot);
        mean.add_scaled(rates, weight);
    }
    // Back to the start, from which the step goes along the means.
    state.time = time;
    let stages = &data.integration.stages;
    state.qpos.copy_from_slice(&stages.start.qpos);
    state.qvel.copy_from_slice(&stages.start.qvel);
    state.act.copy_from_slice(&stages.start.act);
    data.transmission.length.copy_from_slice(&stages.length);
    data.velocity.actuator.copy_from_slice(&stages.velocity);
}

/// Rates in the tangent space at the start of the step of a stage at `reach` along the previous rates.
///
/// `rates` holds those of the previous stage and receives those of this one.
pub(crate) fn tangent_rates<T: Scalar>(model: &Model<T>, qvel: &[T], reach: T, rates: &mut [T]) {
    let joints = &model.structure.joints;
    (joints.straight()).for_each(|(_, dof)| rates[dof] = qvel[dof]);
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
