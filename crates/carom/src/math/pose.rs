//! Rigid transformations.

use super::{Quat, Vec3};
use crate::scalar::Scalar;

/// Position and orientation of a frame; maps points of the frame to its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose<T = f64> {
    /// Origin of the frame (m).
    pub position: Vec3<T>,
    /// Orientation of the frame, a unit quaternion.
    pub quat: Quat<T>,
}

impl<T: Scalar> Pose<T> {
    /// The frame that coincides with its parent.
    #[inline]
    pub fn identity() -> Self {
        Pose {
            position: Vec3::ZERO,
            quat: Quat::identity(),
        }
    }

    /// A frame at `position` with orientation `quat`.
    #[inline]
    pub fn new(position: Vec3<T>, quat: Quat<T>) -> Self {
        Pose { position, quat }
    }

    /// The pose of a frame that has pose `inner` in this one.
    #[inline]
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "named like the product of quaternions"
    )]
    pub fn mul(self, inner: Self) -> Self {
        Pose {
            position: self.transform_point(inner.position),
            quat: self.quat.mul(inner.quat).normalized(),
        }
    }

    /// The pose of the parent in this frame.
    #[inline]
    #[must_use]
    pub fn inverse(self) -> Self {
        let quat = self.quat.conjugate();
        Pose {
            position: -quat.rotate(self.position),
            quat,
        }
    }

    /// A point of this frame in the parent.
    #[inline]
    pub fn transform_point(self, point: Vec3<T>) -> Vec3<T> {
        self.quat.rotate(point) + self.position
    }

    /// A direction of this frame in the parent.
    #[inline]
    pub fn transform_vector(self, vector: Vec3<T>) -> Vec3<T> {
        self.quat.rotate(vector)
    }
}
