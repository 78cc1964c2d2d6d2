//! Vectors in three dimensions.

use super::components::array_newtype;
use super::{MIN_LENGTH, Mat3};
use crate::scalar::Scalar;

/// A vector (x, y, z).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Vec3<T = f64>(pub [T; 3]);

array_newtype!(Vec3, 3);

impl<T: Scalar> Vec3<T> {
    /// The zero vector.
    pub const ZERO: Self = Vec3([T::ZERO; 3]);
    /// The unit vector along x.
    pub const X: Self = Vec3([T::ONE, T::ZERO, T::ZERO]);
    /// The unit vector along y.
    pub const Y: Self = Vec3([T::ZERO, T::ONE, T::ZERO]);
    /// The unit vector along z.
    pub const Z: Self = Vec3([T::ZERO, T::ZERO, T::ONE]);

    /// The vector (x, y, z).
    #[inline]
    pub const fn new(x: T, y: T, z: T) -> Self {
        Vec3([x, y, z])
    }

    /// The inner product.
    #[inline]
    pub fn dot(self, other: Self) -> T {
        self.0[0] * other.0[0] + self.0[1] * other.0[1] + self.0[2] * other.0[2]
    }

    /// The vector product `self` × `other`.
    #[inline]
    #[must_use]
    pub fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vec3([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    /// The twin of [`cross`](Self::cross).
    #[inline]
    pub fn cross_vjp(self, other: Self, bar: Self, self_bar: &mut Self, other_bar: &mut Self) {
        *self_bar += other.cross(bar);
        *other_bar += bar.cross(self);
    }

    /// The square of the length.
    #[inline]
    pub fn norm_squared(self) -> T {
        self.dot(self)
    }

    /// The length.
    #[inline]
    pub fn norm(self) -> T {
        self.norm_squared().sqrt()
    }

    /// The twin of [`norm`](Self::norm); the zero vector receives nothing.
    #[inline]
    pub fn norm_vjp(self, bar: T, self_bar: &mut Self) {
        let length = self.norm();
        if length.value() > 0.0 {
            *self_bar = self_bar.scale_add(self, bar / length);
        }
    }

    /// The unit vector and the length; a vector shorter than [`MIN_LENGTH`] gives the x axis.
    #[inline]
    pub fn normalized(self) -> (Self, T) {
        let length = self.norm();
        if length.value() < MIN_LENGTH {
            (Self::X, length)
        } else {
            (self * length.recip(), length)
        }
    }

    /// The twin of [`normalized`](Self::normalized); the arbitrary unit vector of a vanishing vector
    /// passes nothing on.
    #[inline]
    pub fn normalized_vjp(self, unit_bar: Self, length_bar: T, self_bar: &mut Self) {
        let (unit, length) = self.normalized();
        if length.value() < MIN_LENGTH {
            self.norm_vjp(length_bar, self_bar);
            return;
        }
        let inverse = length.recip();
        let along = length_bar - unit.dot(unit_bar) * inverse;
        *self_bar = self_bar.scale_add(unit_bar, inverse).scale_add(unit, along);
    }

    /// The distance between two points.
    #[inline]
    pub fn distance(self, other: Self) -> T {
        (self - other).norm()
    }

    /// The product of components.
    #[inline]
    #[must_use]
    pub fn component_mul(self, other: Self) -> Self {
        Vec3(std::array::from_fn(|i| self.0[i] * other.0[i]))
    }

    /// The matrix `self`·`other`ᵀ.
    #[inline]
    pub fn outer(self, other: Self) -> Mat3<T> {
        let ([a, b, c], v) = (self.0, other.0);
        Mat3([
            a * v[0],
            a * v[1],
            a * v[2], //
            b * v[0],
            b * v[1],
            b * v[2], //
            c * v[0],
            c * v[1],
            c * v[2],
        ])
    }
}
