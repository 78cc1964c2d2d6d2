//! Matrices of three rows and columns.

use super::components::array_newtype;
use super::{Quat, Vec3};
use crate::scalar::Scalar;

/// A 3×3 matrix, row by row. `Default` is the zero matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Mat3<T = f64>(pub [T; 9]);

array_newtype!(Mat3, 9);

impl<T: Scalar> Mat3<T> {
    /// The zero matrix.
    pub const ZERO: Self = Mat3([T::ZERO; 9]);

    /// The identity matrix.
    #[inline]
    pub fn identity() -> Self {
        Self::from_diagonal(Vec3([T::ONE; 3]))
    }

    /// The matrix with this diagonal and zeros elsewhere.
    #[inline]
    pub fn from_diagonal(diagonal: Vec3<T>) -> Self {
        let ([x, y, z], o) = (diagonal.0, T::ZERO);
        Mat3([x, o, o, o, y, o, o, o, z])
    }

    /// The matrix with these columns.
    #[inline]
    pub fn from_columns(x: Vec3<T>, y: Vec3<T>, z: Vec3<T>) -> Self {
        Mat3([x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]])
    }

    /// The matrix with these rows.
    #[inline]
    pub fn from_rows(x: Vec3<T>, y: Vec3<T>, z: Vec3<T>) -> Self {
        Mat3([x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]])
    }

    /// The matrix of v ↦ `vector` × v.
    #[inline]
    pub fn skew(vector: Vec3<T>) -> Self {
        let ([x, y, z], o) = (vector.0, T::ZERO);
        Mat3([o, -z, y, z, o, -x, -y, x, o])
    }

    /// Row `index`.
    #[inline]
    pub fn row(&self, index: usize) -> Vec3<T> {
        Vec3([
            self.0[3 * index],
            self.0[3 * index + 1],
            self.0[3 * index + 2],
        ])
    }

    /// Column `index`.
    #[inline]
    pub fn column(&self, index: usize) -> Vec3<T> {
        Vec3([self.0[index], self.0[index + 3], self.0[index + 6]])
    }

    /// The diagonal.
    #[inline]
    pub fn diagonal(&self) -> Vec3<T> {
        Vec3([self.0[0], self.0[4], self.0[8]])
    }

    /// The transposed matrix.
    #[inline]
    #[must_use]
    pub fn transpose(&self) -> Self {
        let m = &self.0;
        Mat3([m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]])
    }

    /// The product `self`·`vector`.
    #[inline]
    pub fn mul_vec(&self, vector: Vec3<T>) -> Vec3<T> {
        let (m, v) = (&self.0, vector.0);
        Vec3([
            m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
            m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
            m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
        ])
    }

    /// The twin of [`mul_vec`](Self::mul_vec).
    #[inline]
    pub fn mul_vec_vjp(
        &self,
        vector: Vec3<T>,
        bar: Vec3<T>,
        self_bar: &mut Self,
        vector_bar: &mut Vec3<T>,
    ) {
        *self_bar += bar.outer(vector);
        *vector_bar += self.transpose_mul_vec(bar);
    }

    /// The product `self`ᵀ·`vector`.
    #[inline]
    pub fn transpose_mul_vec(&self, vector: Vec3<T>) -> Vec3<T> {
        let (m, v) = (&self.0, vector.0);
        Vec3([
            m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
            m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
            m[2] * v[0] + m[5] * v[1] + m[8] * v[2],
        ])
    }

    /// The twin of [`transpose_mul_vec`](Self::transpose_mul_vec).
    #[inline]
    pub fn transpose_mul_vec_vjp(
        &self,
        vector: Vec3<T>,
        bar: Vec3<T>,
        self_bar: &mut Self,
        vector_bar: &mut Vec3<T>,
    ) {
        *self_bar += vector.outer(bar);
        *vector_bar += self.mul_vec(bar);
    }

    /// The product `self`·`other`.
    #[inline]
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        let mut out = [T::ZERO; 9];
        for (k, entry) in out.iter_mut().enumerate() {
            *entry = self.row(k / 3).dot(other.column(k % 3));
        }
        Mat3(out)
    }

    /// The twin of [`mul`](Self::mul).
    #[inline]
    pub fn mul_vjp(&self, other: &Self, bar: &Self, self_bar: &mut Self, other_bar: &mut Self) {
        *self_bar += bar.mul(&other.transpose());
        *other_bar += self.transpose().mul(bar);
    }

    /// The determinant.
    #[inline]
    pub fn determinant(&self) -> T {
        self.row(0).dot(self.row(1).cross(self.row(2)))
    }

    /// The inverse matrix; its numbers are not finite if the matrix is singular.
    #[inline]
    #[must_use]
    pub fn inverse(&self) -> Self {
        let (x, y, z) = (self.row(0), self.row(1), self.row(2));
        let scale = self.determinant().recip();
        Self::from_columns(y.cross(z) * scale, z.cross(x) * scale, x.cross(y) * scale)
    }
}

impl Mat3<f64> {
    /// Principal axes of a symmetric matrix; see [`principal_axes`](super::principal_axes).
    pub fn symmetric_eigen(&self) -> (Quat<f64>, Vec3<f64>) {
        super::principal_axes(self)
    }
}
