//! The number type of the engine.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The number type of the engine: plain `f64`, or a [`Dual`](crate::Dual) that carries derivatives along.
///
/// Leaf functions are written once over it. For `f64` every method is the one of the standard library, so the generic code
/// compiles to what a hand-written `f64` version would. Comparisons look at the value alone: a dual number takes the same
/// branch as its value.
pub trait Scalar:
    Copy
    + Default
    + Debug
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + MulAssign<f64>
{
    /// The number 0, also the `Default`.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// Whether the number carries derivatives: then a zero or one may not be taken as a constant to skip work.
    const HAS_DERIVATIVES: bool;

    /// The number without its derivatives.
    fn value(self) -> f64;
    /// Whether the number is zero, and all its derivatives are: then what it is a factor of may be skipped.
    fn vanishes(self) -> bool;
    /// The same derivatives at a value that was found in another way: the plain number itself.
    #[must_use]
    fn with_value(self, value: f64) -> Self;
    /// The chain rule for a function that is known by its value and its derivatives by all its arguments, such as one that
    /// carries weights: the plain value, or the value with the derivatives that the arguments carry.
    fn chain(value: f64, slopes: &[f64], of: &[Self]) -> Self;
    /// The numbers themselves where they are plain, so that what works on values can read them in place.
    fn as_plain(numbers: &[Self]) -> Option<&[f64]> {
        let _ = numbers;
        None
    }
    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Sine of an angle (rad).
    #[must_use]
    fn sin(self) -> Self;
    /// Cosine of an angle (rad).
    #[must_use]
    fn cos(self) -> Self;
    /// Sine and cosine of an angle (rad).
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// Tangent of an angle (rad).
    #[must_use]
    fn tan(self) -> Self;
    /// Arc sine (rad).
    #[must_use]
    fn asin(self) -> Self;
    /// Arc cosine (rad).
    #[must_use]
    fn acos(self) -> Self;
    /// Arc tangent (rad).
    #[must_use]
    fn atan(self) -> Self;
    /// Angle (rad) of the point (`x`, `self`).
    #[must_use]
    fn atan2(self, x: Self) -> Self;
    /// Exponential.
    #[must_use]
    fn exp(self) -> Self;
    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Integer power.
    #[must_use]
    fn powi(self, exponent: i32) -> Self;
    /// Power with a constant exponent.
    #[must_use]
    fn powf(self, exponent: f64) -> Self;
    /// Power with an exponent that may carry derivatives.
    #[must_use]
    fn powt(self, exponent: Self) -> Self;
    /// Absolute value; its derivative at 0 is taken as 0.
    #[must_use]
    fn abs(self) -> Self;
    /// The smaller number; `self` when equal.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// The larger number; `self` when equal.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    #[must_use]
    fn copysign_of(self, sign: Self) -> Self;
    /// Whether value and derivatives are finite.
    fn is_finite(self) -> bool;

    /// `self` held within `low` and `high`; unlike the standard one it does not panic for crossed bounds.
    #[inline]
    #[must_use]
    fn clamp(self, low: Self, high: Self) -> Self {
        if self < low {
            low
        } else if self > high {
            high
        } else {
            self
        }
    }

    /// 1 / `self`.
    #[inline]
    #[must_use]
    fn recip(self) -> Self {
        Self::ONE / self
    }
}

/// Forwards methods to the inherent ones of `f64`.
macro_rules! forward_to_std {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {
        $(
            #[inline]
            fn $name(self $(, $argument: $kind)*) -> $output {
                f64::$name(self $(, $argument)*)
            }
        )*
    };
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const HAS_DERIVATIVES: bool = false;

    #[inline]
    fn value(self) -> f64 {
        self
    }

    #[inline]
    fn vanishes(self) -> bool {
        self == 0.0
    }

    #[inline]
    fn with_value(self, value: f64) -> Self {
        value
    }

    #[inline]
    fn chain(value: f64, _slopes: &[f64], _of: &[Self]) -> Self {
        value
    }

    #[inline]
    fn as_plain(numbers: &[Self]) -> Option<&[f64]> {
        Some(numbers)
    }

    #[inline]
    fn powt(self, exponent: Self) -> Self {
        self.powf(exponent)
    }

    #[inline]
    fn copysign_of(self, sign: Self) -> Self {
        self.copysign(sign)
    }

    forward_to_std! {
        sqrt() -> f64;
        sin() -> f64;
        cos() -> f64;
        sin_cos() -> (f64, f64);
        tan() -> f64;
        asin() -> f64;
        acos() -> f64;
        atan() -> f64;
        atan2(x: f64) -> f64;
        exp() -> f64;
        ln() -> f64;
        tanh() -> f64;
        powi(exponent: i32) -> f64;
        powf(exponent: f64) -> f64;
        abs() -> f64;
        min(other: f64) -> f64;
        max(other: f64) -> f64;
        recip() -> f64;
        is_finite() -> bool;
    }
}
