//! Potential and kinetic energy.

use super::Sensed;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::State;

/// Potential energy of gravity and springs (J).
pub fn potential_energy<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    stages: &Sensed<'_, T>,
) -> T {
    let _ = (model, state, stages);
    T::ZERO
}

/// Kinetic energy ½·vᵀ·M·v (J).
pub fn kinetic_energy<T: Scalar>(model: &Model<T>, state: &State<T>, stages: &Sensed<'_, T>) -> T {
    let _ = (model, state, stages);
    T::ZERO
}
