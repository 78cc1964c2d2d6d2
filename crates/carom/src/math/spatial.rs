//! Spatial vectors: six numbers, rotation first, in world axes about a reference point.
//!
//! A motion is (ω, v) with v the velocity of the body-fixed point at the reference, a force is (n, f) with n
//! the moment about it. Moving the reference from o to p = o + d changes v to v − d × ω and n to n − d × f.

use super::components::array_newtype;
use super::{Mat3, Vec3};
use crate::scalar::Scalar;

/// A motion or force vector (rotation x, y, z, translation x, y, z).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Spatial<T = f64>(pub [T; 6]);

array_newtype!(Spatial, 6);

impl<T: Scalar> Spatial<T> {
    /// The zero vector.
    pub const ZERO: Self = Spatial([T::ZERO; 6]);

    /// A vector from its rotational and translational halves.
    #[inline]
    pub fn new(angular: Vec3<T>, linear: Vec3<T>) -> Self {
        let ([a, b, c], [x, y, z]) = (angular.0, linear.0);
        Spatial([a, b, c, x, y, z])
    }

    /// The rotational half: angular velocity or moment.
    #[inline]
    pub fn angular(self) -> Vec3<T> {
        Vec3([self.0[0], self.0[1], self.0[2]])
    }

    /// The translational half: velocity or force.
    #[inline]
    pub fn linear(self) -> Vec3<T> {
        Vec3([self.0[3], self.0[4], self.0[5]])
    }

    /// The power of a force along a motion (either may be `self`).
    #[inline]
    pub fn dot(self, other: Self) -> T {
        let (a, b) = (&self.0, &other.0);
        // Two sums side by side fill a vector register.
        (a[0] * b[0] + a[2] * b[2] + a[4] * b[4]) + (a[1] * b[1] + a[3] * b[3] + a[5] * b[5])
    }

    /// ad: the rate of change of a motion vector carried along by the motion `self`.
    #[inline]
    #[must_use]
    pub fn cross_motion(self, motion: Self) -> Self {
        let (angular, linear) = (self.angular(), self.linear());
        Self::new(
            angular.cross(motion.angular()),
            angular.cross(motion.linear()) + linear.cross(motion.angular()),
        )
    }

    /// ad*: the rate of change of a force vector carried along by the motion `self`.
    #[inline]
    #[must_use]
    pub fn cross_force(self, force: Self) -> Self {
        let (angular, linear) = (self.angular(), self.linear());
        Self::new(
            angular.cross(force.angular()) + linear.cross(force.linear()),
            angular.cross(force.linear()),
        )
    }

    /// The twin of [`cross_force`](Self::cross_force): `bar` is a motion-like vector.
    #[inline]
    pub fn cross_force_vjp(
        self,
        force: Self,
        bar: Self,
        self_bar: &mut Self,
        force_bar: &mut Self,
    ) {
        let moment = force.angular().cross(bar.angular()) + force.linear().cross(bar.linear());
        *self_bar += Self::new(moment, force.linear().cross(bar.angular()));
        *force_bar -= self.cross_motion(bar);
    }

    /// The motion about a reference point displaced by `offset` = new − old.
    #[inline]
    #[must_use]
    pub fn shift_motion(self, offset: Vec3<T>) -> Self {
        Self::new(self.angular(), self.linear() - offset.cross(self.angular()))
    }

    /// The twin of [`shift_motion`](Self::shift_motion).
    #[inline]
    pub fn shift_motion_vjp(
        self,
        offset: Vec3<T>,
        bar: Self,
        self_bar: &mut Self,
        offset_bar: &mut Vec3<T>,
    ) {
        *self_bar += bar.shift_force(-offset);
        *offset_bar -= self.angular().cross(bar.linear());
    }

    /// The force about a reference point displaced by `offset` = new − old.
    #[inline]
    #[must_use]
    pub fn shift_force(self, offset: Vec3<T>) -> Self {
        Self::new(self.angular() - offset.cross(self.linear()), self.linear())
    }

    /// The twin of [`shift_force`](Self::shift_force).
    #[inline]
    pub fn shift_force_vjp(
        self,
        offset: Vec3<T>,
        bar: Self,
        self_bar: &mut Self,
        offset_bar: &mut Vec3<T>,
    ) {
        *self_bar += bar.shift_motion(-offset);
        *offset_bar -= self.linear().cross(bar.angular());
    }

    /// The vector in the axes of a frame whose axes are the columns of `rotation`.
    #[inline]
    #[must_use]
    pub fn into_local_axes(self, rotation: &Mat3<T>) -> Self {
        Self::new(
            rotation.transpose_mul_vec(self.angular()),
            rotation.transpose_mul_vec(self.linear()),
        )
    }

    /// The vector, given in the axes of a frame, in world axes.
    #[inline]
    #[must_use]
    pub fn into_world_axes(self, rotation: &Mat3<T>) -> Self {
        Self::new(
            rotation.mul_vec(self.angular()),
            rotation.mul_vec(self.linear()),
        )
    }
}
