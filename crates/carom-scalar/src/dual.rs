//! Dual numbers: a value and its derivatives along N directions at once (forward mode).

use crate::scalar::Scalar;
use std::array::from_fn;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Directions of the dual numbers over which whole models, steps and derivations run. One width for all of them, since
/// every width is compiled on its own.
pub const LANES: usize = 6;

/// A number with N directional derivatives.
///
/// Every function f obeys the chain rule f(x + Σ ẋᵢ εᵢ) = f(x) + Σ f′(x) ẋᵢ εᵢ with εᵢ εⱼ = 0.
///
/// Where f has no derivative a choice is made, and it is the same everywhere in the engine:
/// - `abs` at 0 has derivative 0, `min`, `max` and `clamp` take the tangent of the branch that is returned;
/// - `sqrt` at 0 has tangent 0: lengths of zero vectors stay finite;
/// - where f′ is infinite a tangent of exactly 0 stays 0 (never 0·∞ = NaN); other tangents become infinite.
#[derive(Clone, Copy, Debug)]
pub struct Dual<const N: usize> {
    /// The number itself.
    pub value: f64,
    /// Its derivative along each direction.
    pub tangent: [f64; N],
}

// Tangents are written by plain loops: closures over arrays are not always inlined, and these are the innermost loops of
// everything that is differentiated forward.
impl<const N: usize> Dual<N> {
    /// A number that does not depend on the directions.
    #[inline]
    pub const fn constant(value: f64) -> Self {
        Self {
            value,
            tangent: [0.0; N],
        }
    }

    /// A number that changes at a rate along the first direction.
    #[inline]
    pub fn moving(value: f64, rate: f64) -> Self {
        let mut number = Self::variable(value, 0);
        number.tangent[0] = rate;
        number
    }

    /// The independent variable of direction `index`; a constant if there is no such direction.
    #[inline]
    pub fn variable(value: f64, index: usize) -> Self {
        Self {
            value,
            tangent: from_fn(|i| if i == index { 1.0 } else { 0.0 }),
        }
    }

    /// The chain rule for one argument: `value` = f(self), `slope` = f′(self).
    #[inline]
    fn chain1(self, value: f64, slope: f64) -> Self {
        let mut tangent = self.tangent;
        if slope.is_finite() {
            for t in &mut tangent {
                *t *= slope;
            }
        } else {
            for t in &mut tangent {
                *t = product(slope, *t);
            }
        }
        Self { value, tangent }
    }

    /// The chain rule for two arguments with partial derivatives `slope` and `other_slope`.
    #[inline]
    fn chain2(self, slope: f64, other: Self, other_slope: f64, value: f64) -> Self {
        let mut tangent = self.tangent;
        if slope.is_finite() && other_slope.is_finite() {
            for i in 0..N {
                tangent[i] = slope * tangent[i] + other_slope * other.tangent[i];
            }
        } else {
            for i in 0..N {
                tangent[i] = product(slope, tangent[i]) + product(other_slope, other.tangent[i]);
            }
        }
        Self { value, tangent }
    }
}

/// slope·tangent, where a tangent of 0 wins over an infinite slope.
#[inline]
fn product(slope: f64, tangent: f64) -> f64 {
    if tangent == 0.0 { 0.0 } else { slope * tangent }
}

impl<const N: usize> Default for Dual<N> {
    #[inline]
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl<const N: usize> From<f64> for Dual<N> {
    #[inline]
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}

impl<const N: usize> PartialEq for Dual<N> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<const N: usize> PartialOrd for Dual<N> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            tangent: self.tangent.map(|t| -t),
        }
    }
}

macro_rules! operators {
    ($($trait:ident::$method:ident<$other:ty>: |$a:ident, $b:ident| $result:expr;)*) => {
        $(
            impl<const N: usize> $trait<$other> for Dual<N> {
                type Output = Self;

                #[inline]
                fn $method(self, $b: $other) -> Self {
                    let $a = self;
                    $result
                }
            }
        )*
    };
}

operators! {
    Add::add<Self>: |a, b| a.chain2(1.0, b, 1.0, a.value + b.value);
    Sub::sub<Self>: |a, b| a.chain2(1.0, b, -1.0, a.value - b.value);
    Mul::mul<Self>: |a, b| a.chain2(b.value, b, a.value, a.value * b.value);
    Div::div<Self>: |a, b| {
        let value = a.value / b.value;
        a.chain2(1.0 / b.value, b, -value / b.value, value)
    };
    Add::add<f64>: |a, b| Self { value: a.value + b, ..a };
    Sub::sub<f64>: |a, b| Self { value: a.value - b, ..a };
    Mul::mul<f64>: |a, b| a.chain1(a.value * b, b);
    Div::div<f64>: |a, b| a.chain1(a.value / b, 1.0 / b);
}

macro_rules! assign_operators {
    ($($trait:ident::$method:ident<$other:ty> by $operator:tt;)*) => {
        $(
            impl<const N: usize> $trait<$other> for Dual<N> {
                #[inline]
                fn $method(&mut self, other: $other) {
                    *self = *self $operator other;
                }
            }
        )*
    };
}

assign_operators! {
    AddAssign::add_assign<Self> by +;
    SubAssign::sub_assign<Self> by -;
    MulAssign::mul_assign<Self> by *;
    DivAssign::div_assign<Self> by /;
    MulAssign::mul_assign<f64> by *;
}

impl<const N: usize> Scalar for Dual<N> {
    const ZERO: Self = Self::constant(0.0);
    const ONE: Self = Self::constant(1.0);
    const HAS_DERIVATIVES: bool = true;

    #[inline]
    fn value(self) -> f64 {
        self.value
    }

    #[inline]
    fn vanishes(self) -> bool {
        self.value == 0.0 && self.tangent.iter().all(|part| *part == 0.0)
    }

    #[inline]
    fn with_value(self, value: f64) -> Self {
        Self { value, ..self }
    }

    #[inline]
    fn chain(value: f64, slopes: &[f64], of: &[Self]) -> Self {
        let mut tangent = [0.0; N];
        for (&slope, argument) in slopes.iter().zip(of) {
            for (sum, &part) in tangent.iter_mut().zip(&argument.tangent) {
                *sum += product(slope, part);
            }
        }
        Self { value, tangent }
    }

    #[inline]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain1(root, if root == 0.0 { 0.0 } else { 0.5 / root })
    }

    #[inline]
    fn sin(self) -> Self {
        self.sin_cos().0
    }

    #[inline]
    fn cos(self) -> Self {
        self.sin_cos().1
    }

    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain1(sin, cos), self.chain1(cos, -sin))
    }

    #[inline]
    fn tan(self) -> Self {
        let tan = self.value.tan();
        self.chain1(tan, 1.0 + tan * tan)
    }

    #[inline]
    fn asin(self) -> Self {
        self.chain1(
            self.value.asin(),
            1.0 / (1.0 - self.value * self.value).sqrt(),
        )
    }

    #[inline]
    fn acos(self) -> Self {
        self.chain1(
            self.value.acos(),
            -1.0 / (1.0 - self.value * self.value).sqrt(),
        )
    }

    #[inline]
    fn atan(self) -> Self {
        self.chain1(self.value.atan(), 1.0 / (1.0 + self.value * self.value))
    }

    /// At the origin, where the angle has no derivative, the tangent is 0.
    #[inline]
    fn atan2(self, x: Self) -> Self {
        let angle = self.value.atan2(x.value);
        let square = self.value * self.value + x.value * x.value;
        if square == 0.0 {
            return Self::constant(angle);
        }
        self.chain2(x.value / square, x, -self.value / square, angle)
    }

    #[inline]
    fn exp(self) -> Self {
        let exp = self.value.exp();
        self.chain1(exp, exp)
    }

    #[inline]
    fn ln(self) -> Self {
        self.chain1(self.value.ln(), 1.0 / self.value)
    }

    #[inline]
    fn tanh(self) -> Self {
        let tanh = self.value.tanh();
        self.chain1(tanh, 1.0 - tanh * tanh)
    }

    #[inline]
    fn powi(self, exponent: i32) -> Self {
        if exponent == 0 {
            return Self::ONE;
        }
        let slope = f64::from(exponent) * self.value.powi(exponent - 1);
        self.chain1(self.value.powi(exponent), slope)
    }

    #[inline]
    fn powf(self, exponent: f64) -> Self {
        if exponent == 0.0 {
            return Self::ONE;
        }
        self.chain1(
            self.value.powf(exponent),
            exponent * self.value.powf(exponent - 1.0),
        )
    }

    /// For base 0 the derivative by the exponent is taken as 0, its limit for positive exponents.
    #[inline]
    fn powt(self, exponent: Self) -> Self {
        let value = self.value.powf(exponent.value);
        let slope = if exponent.value == 0.0 {
            0.0
        } else {
            exponent.value * self.value.powf(exponent.value - 1.0)
        };
        let exponent_slope = if self.value == 0.0 {
            0.0
        } else {
            value * self.value.ln()
        };
        self.chain2(slope, exponent, exponent_slope, value)
    }

    #[inline]
    fn abs(self) -> Self {
        if self.value > 0.0 {
            self
        } else if self.value < 0.0 {
            -self
        } else {
            Self::constant(self.value.abs())
        }
    }

    #[inline]
    fn min(self, other: Self) -> Self {
        if other.value < self.value || self.value.is_nan() {
            other
        } else {
            self
        }
    }

    #[inline]
    fn max(self, other: Self) -> Self {
        if other.value > self.value || self.value.is_nan() {
            other
        } else {
            self
        }
    }

    #[inline]
    fn copysign_of(self, sign: Self) -> Self {
        let magnitude = self.abs();
        if sign.value.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    }

    #[inline]
    fn is_finite(self) -> bool {
        self.value.is_finite() && self.tangent.iter().all(|t| t.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::Dual;
    use crate::scalar::Scalar;

    type Function<T> = fn(T) -> T;

    /// Every elementary function with arguments inside its domain.
    fn functions<T: Scalar>() -> Vec<(&'static str, Function<T>)> {
        vec![
            ("add", |x| x + x + 2.0),
            ("sub", |x| T::ONE - x - 0.5),
            ("mul", |x| x * x * 3.0),
            ("div", |x| (x + 1.0) / (x * x) / 2.0),
            ("neg", |x| -x),
            ("chain", |x| {
                let v = x.value();
                T::chain(v * v, &[v, v], &[x, x])
            }),
            ("assign", |x| {
                let mut y = x;
                y += x * x;
                y -= T::from(0.25);
                y *= x;
                y /= x + 3.0;
                y *= 0.5;
                y
            }),
            ("sqrt", T::sqrt),
            ("sin", T::sin),
            ("cos", T::cos),
            ("tan", T::tan),
            ("asin", T::asin),
            ("acos", T::acos),
            ("atan", T::atan),
            ("atan2 of y", |x| x.atan2(T::from(0.7))),
            ("atan2 of x", |x| T::from(-0.7).atan2(x)),
            ("exp", T::exp),
            ("ln", T::ln),
            ("tanh", T::tanh),
            ("powi", |x| x.powi(-3)),
            ("powf", |x| x.powf(1.7)),
            ("powt", |x| x.powt(x + 1.0)),
            ("abs", |x| (-x).abs()),
            ("min", |x| x.min(T::from(2.0))),
            ("max", |x| (x * x).max(-x)),
            ("clamp", |x| x.clamp(T::ZERO, T::ONE)),
            ("copysign_of", |x| x.copysign_of(-x)),
            ("recip", T::recip),
        ]
    }

    #[test]
    fn values_are_those_of_f64_and_tangents_their_slopes() {
        let step = 1e-5;
        for ((name, dual), (_, plain)) in functions::<Dual<2>>().into_iter().zip(functions()) {
            for x in [0.2_f64, 0.5, 0.9] {
                let result = dual(Dual {
                    value: x,
                    tangent: [1.0, -2.0],
                });
                assert_eq!(result.value, plain(x), "{name}({x})");
                let slope = (plain(x + step) - plain(x - step)) / (2.0 * step);
                let scale = 1.0 + slope.abs();
                assert!(
                    (result.tangent[0] - slope).abs() < 1e-6 * scale,
                    "{name}′({x})"
                );
                assert!((result.tangent[1] + 2.0 * result.tangent[0]).abs() < 1e-14 * scale);
            }
        }
    }

    #[test]
    fn kinks_take_the_documented_side() {
        let zero = Dual::<1>::variable(0.0, 0);
        assert_eq!(zero.abs().tangent, [0.0]);
        assert_eq!(zero.sqrt().tangent, [0.0]);
        assert_eq!(zero.atan2(zero).tangent, [0.0]);
        assert_eq!(zero.min(Dual::ZERO).tangent, [1.0]);
        assert_eq!(Dual::ZERO.max(zero).tangent, [0.0]);
        assert_eq!(zero.clamp(Dual::from(0.5), Dual::ONE).tangent, [0.0]);
        assert_eq!(zero.powi(0).tangent, [0.0]);
        assert_eq!(zero.powi(1).tangent, [1.0]);
        assert_eq!(zero.powt(Dual::from(1.0)).tangent, [1.0]);
    }

    #[test]
    fn constants_stay_constant_where_slopes_are_infinite() {
        for function in [Dual::<1>::acos, Dual::asin] {
            assert_eq!(function(Dual::from(1.0)).tangent, [0.0]);
        }
        assert_eq!(Dual::<1>::from(0.0).powf(0.5).tangent, [0.0]);
        assert_eq!(Dual::<1>::from(0.0).ln().tangent, [0.0]);
        assert_eq!((Dual::<1>::ONE / Dual::ZERO).tangent, [0.0]);
        assert_eq!(
            (Dual::<1>::from(f64::INFINITY) * Dual::from(2.0)).tangent,
            [0.0]
        );
    }

    #[test]
    fn comparisons_look_at_the_value() {
        let (a, b) = (Dual::<1>::variable(1.0, 0), Dual::from(1.0));
        assert!(a == b && a <= b && a < Dual::from(2.0));
        assert!(!Dual::<1>::from(f64::NAN).is_finite());
        assert!(
            !Dual {
                value: 0.0,
                tangent: [f64::INFINITY]
            }
            .is_finite()
        );
        assert_eq!(Dual::from(f64::NAN).min(a).tangent, [1.0]);
    }
}
