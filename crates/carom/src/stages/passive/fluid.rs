//! Forces of the surrounding medium.

use super::Passive;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Computes the forces of the medium; returns whether there are any.
pub(super) fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    out: &mut Passive<T>,
) -> bool {
    let _ = (model, kinematics, velocity);
    out.fluid.fill(T::ZERO);
    false
}
