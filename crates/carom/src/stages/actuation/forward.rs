use super::Actuation;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::passive::Passive;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};

/// Computes actuator forces and activation derivatives.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    transmission: &TransmissionData<T>,
    velocity: &Velocity<T>,
    passive: &Passive<T>,
    out: &mut Actuation<T>,
) {
    let _ = (model, state, input, transmission, velocity, passive, out);
}

/// Activation of one state after a step `h`: exact for exact filters, Euler otherwise, clamped to its range.
pub fn next_activation<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    activation: T,
    activation_dot: T,
    h: T,
) -> T {
    let _ = (model, actuator);
    activation + activation_dot * h
}
