//! Gravity compensation: a body of mass m is relieved of the fraction c of its weight by the force −m·c·g at its centre of mass.

use crate::math::Vec3;
use crate::scalar::Scalar;

/// The force, over gravity, mass and fraction.
#[inline]
pub(crate) fn lift<T: Scalar>(gravity: Vec3<T>, mass: T, fraction: T) -> Vec3<T> {
    gravity * -(mass * fraction)
}

/// The adjoint of [`lift`]: the cotangents of gravity, mass and fraction.
#[inline]
pub(crate) fn lift_vjp(gravity: Vec3, mass: f64, fraction: f64, bar: Vec3) -> (Vec3, f64, f64) {
    let weight_bar = -gravity.dot(bar);
    (
        bar * -(mass * fraction),
        weight_bar * fraction,
        weight_bar * mass,
    )
}
