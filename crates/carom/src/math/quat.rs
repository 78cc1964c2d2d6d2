//! Unit quaternions as rotations, in MuJoCo's conventions.
//!
//! A quaternion q = (w, x, y, z) = (w, u) rotates v to R(q)·v = v + 2u × (w·v + u × v). It maps coordinates
//! of a local frame to its parent; angular velocities and rotation vectors are in the local frame:
//!
//!   integrate: q ⊗ exp(ω·dt)        difference: a.difference(b) = log(b⁻¹ ⊗ a), so b ⊗ exp(result) = a

use super::components::array_newtype;
use super::{MIN_LENGTH, Mat3, Vec3};
use crate::scalar::Scalar;
use std::f64::consts::PI;

/// A quaternion (w, x, y, z). `Default` is zero (a cotangent's start), not the identity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Quat<T = f64>(pub [T; 4]);

array_newtype!(Quat, 4);

impl<T: Scalar> Quat<T> {
    /// The quaternion w + x i + y j + z k.
    #[inline]
    pub const fn new(w: T, x: T, y: T, z: T) -> Self {
        Quat([w, x, y, z])
    }

    /// No rotation.
    #[inline]
    pub const fn identity() -> Self {
        Quat([T::ONE, T::ZERO, T::ZERO, T::ZERO])
    }

    /// The real part w and the vector part u.
    #[inline]
    pub fn parts(self) -> (T, Vec3<T>) {
        let [w, x, y, z] = self.0;
        (w, Vec3([x, y, z]))
    }

    /// The quaternion with real part w and vector part u.
    #[inline]
    pub fn from_parts(w: T, u: Vec3<T>) -> Self {
        Quat([w, u.0[0], u.0[1], u.0[2]])
    }

    /// The inner product of the four numbers.
    #[inline]
    pub fn dot(self, other: Self) -> T {
        let ([a, b, c, d], [w, x, y, z]) = (self.0, other.0);
        a * w + b * x + c * y + d * z
    }

    /// The Hamilton product: rotation `other` first, then `self`.
    #[inline]
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "the operator * scales by a number"
    )]
    pub fn mul(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Quat([
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ])
    }

    /// The twin of [`mul`](Self::mul).
    #[inline]
    pub fn mul_vjp(self, other: Self, bar: Self, self_bar: &mut Self, other_bar: &mut Self) {
        *self_bar += bar.mul(other.conjugate());
        *other_bar += self.conjugate().mul(bar);
    }

    /// The inverse rotation.
    #[inline]
    #[must_use]
    pub fn conjugate(self) -> Self {
        let [w, x, y, z] = self.0;
        Quat([w, -x, -y, -z])
    }

    /// The vector in the parent frame.
    #[inline]
    pub fn rotate(self, vector: Vec3<T>) -> Vec3<T> {
        let (w, u) = self.parts();
        let half = vector * w + u.cross(vector);
        vector + u.cross(half).scale(2.0)
    }

    /// The twin of [`rotate`](Self::rotate).
    #[inline]
    pub fn rotate_vjp(
        self,
        vector: Vec3<T>,
        bar: Vec3<T>,
        self_bar: &mut Self,
        vector_bar: &mut Vec3<T>,
    ) {
        let (w, u) = self.parts();
        let half = vector * w + u.cross(vector);
        let twice_bar = bar.scale(2.0);
        let half_bar = twice_bar.cross(u);
        let u_bar = half.cross(twice_bar) + vector.cross(half_bar);
        *self_bar += Self::from_parts(half_bar.dot(vector), u_bar);
        *vector_bar += bar + half_bar * w + half_bar.cross(u);
    }

    /// The vector of the parent frame in the local frame.
    #[inline]
    pub fn rotate_inverse(self, vector: Vec3<T>) -> Vec3<T> {
        self.conjugate().rotate(vector)
    }

    /// The twin of [`rotate_inverse`](Self::rotate_inverse).
    #[inline]
    pub fn rotate_inverse_vjp(
        self,
        vector: Vec3<T>,
        bar: Vec3<T>,
        self_bar: &mut Self,
        vector_bar: &mut Vec3<T>,
    ) {
        let mut conjugate_bar = Self::default();
        self.conjugate()
            .rotate_vjp(vector, bar, &mut conjugate_bar, vector_bar);
        *self_bar += conjugate_bar.conjugate();
    }

    /// The rotation matrix (of a unit quaternion).
    #[inline]
    pub fn to_mat3(self) -> Mat3<T> {
        let [w, x, y, z] = self.0;
        let (ww, wx, wy, wz) = (w * w, w * x, w * y, w * z);
        let (xx, xy, xz) = (x * x, x * y, x * z);
        let (yy, yz, zz) = (y * y, y * z, z * z);
        // The order of sums is MuJoCo's: contacts of regular shapes choose among equals by the last digit.
        let (even, odd) = (ww - yy, xx - zz);
        Mat3([
            even + odd,
            (xy - wz) * 2.0,
            (xz + wy) * 2.0,
            (xy + wz) * 2.0,
            (ww + yy) - (xx + zz),
            (yz - wx) * 2.0,
            (xz - wy) * 2.0,
            (yz + wx) * 2.0,
            even - odd,
        ])
    }

    /// The twin of [`to_mat3`](Self::to_mat3).
    #[inline]
    pub fn to_mat3_vjp(self, bar: &Mat3<T>, self_bar: &mut Self) {
        let [w, x, y, z] = self.0;
        let [xx, xy, xz, yx, yy, yz, zx, zy, zz] = bar.0;
        // Cotangents of the products: antisymmetric sums go with w, symmetric ones with the vector part.
        let (wx, wy, wz) = (zy - yz, xz - zx, yx - xy);
        let (sxy, sxz, syz) = (xy + yx, xz + zx, yz + zy);
        let half = Quat([
            w * (xx + yy + zz) + x * wx + y * wy + z * wz,
            x * (xx - yy - zz) + w * wx + y * sxy + z * sxz,
            y * (yy - xx - zz) + w * wy + x * sxy + z * syz,
            z * (zz - xx - yy) + w * wz + x * sxz + y * syz,
        ]);
        *self_bar += half.scale(2.0);
    }

    /// The quaternion of a rotation matrix, by the largest of its four numbers.
    pub fn from_mat3(matrix: &Mat3<T>) -> Self {
        let [xx, xy, xz, yx, yy, yz, zx, zy, zz] = matrix.0;
        let one = T::ONE;
        let half_root = |square: T| square.sqrt() * 0.5;
        let quat = if xx + yy + zz > T::ZERO {
            let w = half_root(one + xx + yy + zz);
            let scale = w.recip() * 0.25;
            Quat([w, (zy - yz) * scale, (xz - zx) * scale, (yx - xy) * scale])
        } else if xx > yy && xx > zz {
            let x = half_root(one + xx - yy - zz);
            let scale = x.recip() * 0.25;
            Quat([(zy - yz) * scale, x, (xy + yx) * scale, (xz + zx) * scale])
        } else if yy > zz {
            let y = half_root(one - xx + yy - zz);
            let scale = y.recip() * 0.25;
            Quat([(xz - zx) * scale, (xy + yx) * scale, y, (yz + zy) * scale])
        } else {
            let z = half_root(one - xx - yy + zz);
            let scale = z.recip() * 0.25;
            Quat([(yx - xy) * scale, (xz + zx) * scale, (yz + zy) * scale, z])
        };
        quat.normalized()
    }

    /// The rotation about a unit axis by an angle (rad).
    #[inline]
    pub fn from_axis_angle(axis: Vec3<T>, angle: T) -> Self {
        let (sin, cos) = (angle * 0.5).sin_cos();
        Self::from_parts(cos, axis * sin)
    }

    /// The twin of [`from_axis_angle`](Self::from_axis_angle).
    #[inline]
    pub fn from_axis_angle_vjp(
        axis: Vec3<T>,
        angle: T,
        bar: Self,
        axis_bar: &mut Vec3<T>,
        angle_bar: &mut T,
    ) {
        let (sin, cos) = (angle * 0.5).sin_cos();
        let (w_bar, u_bar) = bar.parts();
        *axis_bar = axis_bar.scale_add(u_bar, sin);
        *angle_bar += (cos * axis.dot(u_bar) - sin * w_bar) * 0.5;
    }

    /// The quaternion scaled to length 1; the zero quaternion becomes the identity.
    ///
    /// A length that is 1 within rounding is left alone, so that unit quaternions keep their bits; the
    /// derivative is that of the projection all the same.
    #[inline]
    #[must_use]
    pub fn normalized(self) -> Self {
        let length = self.dot(self).sqrt();
        let value = length.value();
        if value < MIN_LENGTH {
            Self::identity()
        } else if (value - 1.0).abs() > MIN_LENGTH {
            self * length.recip()
        } else {
            // The value of this factor is exactly 1, its tangent that of 1 / length.
            self * (-(length - value) + 1.0)
        }
    }

    /// The twin of [`normalized`](Self::normalized): q̄ += (1 − q̂·q̂ᵀ)·bar / |q|.
    #[inline]
    pub fn normalized_vjp(self, bar: Self, self_bar: &mut Self) {
        let length = self.dot(self).sqrt();
        if length.value() < MIN_LENGTH {
            return;
        }
        let inverse = length.recip();
        let unit = self * inverse;
        *self_bar = self_bar.scale_add(bar.scale_add(unit, -unit.dot(bar)), inverse);
    }

    /// The orientation after turning with a local angular velocity (rad/s) for a time (s).
    #[inline]
    #[must_use]
    pub fn integrate(self, angular_velocity_local: Vec3<T>, dt: impl Into<T>) -> Self {
        self.normalized()
            .mul(Self::turn(angular_velocity_local, dt.into()))
    }

    /// exp(ω·dt), through axis and angle.
    #[inline]
    fn turn(angular_velocity: Vec3<T>, dt: T) -> Self {
        let (axis, speed) = angular_velocity.normalized();
        if speed.value() < MIN_LENGTH {
            // The axis is arbitrary here; the first order of exp carries the derivative.
            return Self::from_parts(T::ONE, angular_velocity * (dt * 0.5));
        }
        Self::from_axis_angle(axis, speed * dt)
    }

    /// The twin of [`integrate`](Self::integrate).
    #[inline]
    pub fn integrate_vjp(
        self,
        angular_velocity_local: Vec3<T>,
        dt: impl Into<T>,
        bar: Self,
        self_bar: &mut Self,
        angular_velocity_bar: &mut Vec3<T>,
        dt_bar: &mut T,
    ) {
        let dt = dt.into();
        let turn = Self::turn(angular_velocity_local, dt);
        let (mut unit_bar, mut turn_bar) = (Self::default(), Self::default());
        self.normalized()
            .mul_vjp(turn, bar, &mut unit_bar, &mut turn_bar);
        self.normalized_vjp(unit_bar, self_bar);
        Self::turn_vjp(
            angular_velocity_local,
            dt,
            turn_bar,
            angular_velocity_bar,
            dt_bar,
        );
    }

    /// The twin of [`turn`](Self::turn).
    #[inline]
    fn turn_vjp(
        angular_velocity: Vec3<T>,
        dt: T,
        bar: Self,
        angular_velocity_bar: &mut Vec3<T>,
        dt_bar: &mut T,
    ) {
        let (axis, speed) = angular_velocity.normalized();
        if speed.value() < MIN_LENGTH {
            let (_, u_bar) = bar.parts();
            *angular_velocity_bar = angular_velocity_bar.scale_add(u_bar, dt * 0.5);
            *dt_bar += angular_velocity.dot(u_bar) * 0.5;
            return;
        }
        let (mut axis_bar, mut angle_bar) = (Vec3::ZERO, T::ZERO);
        Self::from_axis_angle_vjp(axis, speed * dt, bar, &mut axis_bar, &mut angle_bar);
        angular_velocity.normalized_vjp(axis_bar, angle_bar * dt, angular_velocity_bar);
        *dt_bar += angle_bar * speed;
    }

    /// The rotation vector, in the frame of `other`, that turns `other` into `self`; at most π long.
    #[inline]
    pub fn difference(self, other: Self) -> Vec3<T> {
        other.conjugate().mul(self).log()
    }

    /// The twin of [`difference`](Self::difference).
    #[inline]
    pub fn difference_vjp(
        self,
        other: Self,
        bar: Vec3<T>,
        self_bar: &mut Self,
        other_bar: &mut Self,
    ) {
        let inverse = other.conjugate();
        let (mut relative_bar, mut inverse_bar) = (Self::default(), Self::default());
        inverse.mul(self).log_vjp(bar, &mut relative_bar);
        inverse.mul_vjp(self, relative_bar, &mut inverse_bar, self_bar);
        *other_bar += inverse_bar.conjugate();
    }

    /// The rate of change under a local angular velocity (rad/s): ½ q ⊗ (0, ω).
    #[inline]
    #[must_use]
    pub fn derivative(self, angular_velocity_local: Vec3<T>) -> Self {
        self.mul(Self::from_parts(T::ZERO, angular_velocity_local))
            .scale(0.5)
    }

    /// The rotation by the length of a rotation vector (rad) about its direction; smooth at zero.
    #[inline]
    pub fn exp(rotation: Vec3<T>) -> Self {
        let square = rotation.norm_squared();
        if square.value() < EXP_SERIES_BELOW {
            let cos = horner(square, &EXP_COS_SERIES);
            let sinc = horner(square, &EXP_SINC_SERIES);
            return Self::from_parts(cos, rotation * sinc);
        }
        let angle = square.sqrt();
        let (sin, cos) = (angle * 0.5).sin_cos();
        Self::from_parts(cos, rotation * (sin / angle))
    }

    /// The twin of [`exp`](Self::exp).
    #[inline]
    pub fn exp_vjp(rotation: Vec3<T>, bar: Self, rotation_bar: &mut Vec3<T>) {
        let square = rotation.norm_squared();
        let (w_bar, u_bar) = bar.parts();
        // exp = (c(s), f(s)·r) with s = r·r; slopes are by s.
        let (sinc, cos_slope, sinc_slope) = if square.value() < EXP_SERIES_BELOW {
            let slope = |series| horner(square, &derivative_of(series));
            let sinc = horner(square, &EXP_SINC_SERIES);
            (sinc, slope(&EXP_COS_SERIES), slope(&EXP_SINC_SERIES))
        } else {
            let angle = square.sqrt();
            let (sin, cos) = (angle * 0.5).sin_cos();
            let sinc = sin / angle;
            (sinc, sinc * -0.25, (cos * 0.5 - sinc) / square * 0.5)
        };
        let square_bar = cos_slope * w_bar + sinc_slope * rotation.dot(u_bar);
        *rotation_bar = rotation_bar
            .scale_add(u_bar, sinc)
            .scale_add(rotation, square_bar * 2.0);
    }

    /// The rotation vector (rad) of a unit quaternion, at most π long; smooth at zero.
    #[inline]
    pub fn log(self) -> Vec3<T> {
        let (w, u) = self.parts();
        let (axis, sin) = u.normalized();
        if sin.value() < MIN_LENGTH {
            // log(q) → 2u / w, also for w = −1, which is no rotation as well.
            return if w.value() == 0.0 {
                Vec3::ZERO
            } else {
                u * (w.recip() * 2.0)
            };
        }
        axis * shortest_angle(sin, w)
    }

    /// The twin of [`log`](Self::log).
    #[inline]
    pub fn log_vjp(self, bar: Vec3<T>, self_bar: &mut Self) {
        let (w, u) = self.parts();
        let (axis, sin) = u.normalized();
        if sin.value() < MIN_LENGTH {
            if w.value() != 0.0 {
                let scale = w.recip() * 2.0;
                *self_bar += Self::from_parts(-(u.dot(bar) * scale / w), bar * scale);
            }
            return;
        }
        let angle = shortest_angle(sin, w);
        let slope = axis.dot(bar) * 2.0 / (sin * sin + w * w);
        let mut u_bar = Vec3::ZERO;
        u.normalized_vjp(bar * angle, slope * w, &mut u_bar);
        *self_bar += Self::from_parts(-(slope * sin), u_bar);
    }

    /// The shortest rotation from the z axis to a direction; half a turn about x when opposite.
    pub fn from_z_to(direction: Vec3<T>) -> Self {
        let (unit, length) = direction.normalized();
        if length.value() < MIN_LENGTH {
            return Self::identity();
        }
        let (axis, sin) = Vec3([-unit[1], unit[0], T::ZERO]).normalized();
        if sin.value() >= MIN_LENGTH {
            return Self::from_axis_angle(axis, sin.atan2(unit[2]));
        }
        if unit[2].value() < 0.0 {
            return Quat([T::ZERO, T::ONE, T::ZERO, T::ZERO]);
        }
        // Parallel: the first order carries the derivative.
        Quat([T::ONE, T::ZERO - unit[1] * 0.5, unit[0] * 0.5, T::ZERO])
    }
}

/// Below this square of the angle the series of [`Quat::exp`] are exact to rounding.
const EXP_SERIES_BELOW: f64 = 1e-3;
/// cos(√s / 2) in powers of s.
const EXP_COS_SERIES: [f64; 4] = [1.0, -1.0 / 8.0, 1.0 / 384.0, -1.0 / 46080.0];
/// sin(√s / 2) / √s in powers of s.
const EXP_SINC_SERIES: [f64; 4] = [0.5, -1.0 / 48.0, 1.0 / 3840.0, -1.0 / 645_120.0];

/// The angle in (−π, π] of a rotation with this sine and cosine of half of it, sine ≥ 0.
#[inline]
fn shortest_angle<T: Scalar>(half_sin: T, half_cos: T) -> T {
    let angle = half_sin.atan2(half_cos) * 2.0;
    if angle.value() > PI {
        angle - 2.0 * PI
    } else {
        angle
    }
}

/// The coefficients of the derivative of a polynomial, lowest order first.
#[inline]
fn derivative_of(series: &[f64; 4]) -> [f64; 3] {
    [series[1], 2.0 * series[2], 3.0 * series[3]]
}

/// The polynomial with these coefficients, lowest order first.
#[inline]
fn horner<T: Scalar>(x: T, coefficients: &[f64]) -> T {
    coefficients
        .iter()
        .rev()
        .fold(T::ZERO, |sum, &coefficient| sum * x + coefficient)
}
