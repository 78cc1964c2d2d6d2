use super::Bias;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Computes the bias force.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    out: &mut Bias<T>,
) {
    let _ = (model, state, kinematics, tendon, velocity, out);
}

/// Inverse dynamics M·a + c by recursive Newton–Euler (a = 0 when `acceleration` is none).
pub fn recursive_newton_euler<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    state: &State<T>,
    acceleration: Option<&[T]>,
    out: &mut Bias<T>,
) {
    let _ = (model, kinematics, velocity, state, acceleration, out);
}
