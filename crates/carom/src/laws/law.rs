//! What every law at one element has in common: a value, its derivatives, and the part that implicit integrators take.

use crate::dual::Dual;
use crate::scalar::Scalar;

/// A law at one element: a number y = f(x, p) of N inputs x, which the state moves, and K parameters p, numbers of the model.
///
/// A law knows neither where it acts nor who asks: [`terms`](crate::terms) reads its inputs and parameters, and passes its
/// derivatives on to gradients, columns of linear maps and implicit integrators alike. A law states [`value`](Law::value),
/// and [`rate_derivative`](Law::rate_derivative) if one of its inputs is a rate. Their derivatives come from dual numbers; laws of
/// hot loops write them out beside the value.
pub(crate) trait Law<const N: usize, const K: usize>: Copy {
    /// f(x, p).
    fn value<T: Scalar>(self, x: [T; N], p: [T; K]) -> T;

    /// ∂f/∂x and ∂f/∂p.
    #[inline]
    fn gradient(self, x: [f64; N], p: [f64; K]) -> Gradient<N, K> {
        Gradient {
            inputs: (self.value(variables(x), p.map(Dual::constant))).tangent,
            parameters: (self.value(x.map(Dual::constant), variables(p))).tangent,
        }
    }

    /// ∂f/∂ẋ by the rate among the inputs, as implicit integrators take it: a part of the step, with derivatives of its own.
    #[inline]
    fn rate_derivative<T: Scalar>(self, _x: [T; N], _p: [T; K]) -> T {
        T::ZERO
    }

    /// Derivatives of [`rate_derivative`](Law::rate_derivative).
    #[inline]
    fn rate_derivative_gradient(self, x: [f64; N], p: [f64; K]) -> Gradient<N, K> {
        Gradient {
            inputs: (self.rate_derivative(variables(x), p.map(Dual::constant))).tangent,
            parameters: (self.rate_derivative(x.map(Dual::constant), variables(p))).tangent,
        }
    }
}

/// Derivatives of a law by its inputs and by its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gradient<const N: usize, const K: usize> {
    pub(crate) inputs: [f64; N],
    pub(crate) parameters: [f64; K],
}

impl<const N: usize, const K: usize> Gradient<N, K> {
    /// Nothing changes.
    pub(crate) const ZERO: Self = Self {
        inputs: [0.0; N],
        parameters: [0.0; K],
    };
}

/// Numbers as independent variables.
#[inline]
fn variables<const N: usize>(numbers: [f64; N]) -> [Dual<N>; N] {
    std::array::from_fn(|index| Dual::variable(numbers[index], index))
}

/// k + k₁x + k₂x², the strength of springs and dampers.
#[inline]
pub(super) fn strength<T: Scalar>([constant, first, second]: [T; 3], x: T) -> T {
    constant + x * (first + x * second)
}

/// d/dx of x·(k + k₁x + k₂x²).
#[inline]
pub(super) fn strength_slope([constant, first, second]: [f64; 3], x: f64) -> f64 {
    constant + x * (2.0 * first + x * (3.0 * second))
}

#[cfg(test)]
pub(super) mod check {
    use super::*;

    /// Asserts that what a law writes out agrees with dual numbers.
    pub(crate) fn gradients_agree<L: Law<N, K>, const N: usize, const K: usize>(
        law: L,
        x: [f64; N],
        p: [f64; K],
    ) {
        struct ByDuals<L>(L);
        impl<L: Copy> Clone for ByDuals<L> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<L: Copy> Copy for ByDuals<L> {}
        impl<L: Law<N, K>, const N: usize, const K: usize> Law<N, K> for ByDuals<L> {
            fn value<T: Scalar>(self, x: [T; N], p: [T; K]) -> T {
                self.0.value(x, p)
            }
            fn rate_derivative<T: Scalar>(self, x: [T; N], p: [T; K]) -> T {
                self.0.rate_derivative(x, p)
            }
        }
        let pairs = [
            (law.gradient(x, p), ByDuals(law).gradient(x, p)),
            (
                law.rate_derivative_gradient(x, p),
                ByDuals(law).rate_derivative_gradient(x, p),
            ),
        ];
        for (written, found) in pairs {
            let written = written.inputs.iter().chain(&written.parameters);
            let found = found.inputs.iter().chain(&found.parameters);
            for (index, (a, b)) in written.zip(found).enumerate() {
                let size = a.abs().max(b.abs()).max(1.0);
                assert!(
                    (a - b).abs() <= 1e-13 * size,
                    "argument {index} at {x:?}, {p:?}: {a} and {b}"
                );
            }
        }
    }

    /// Asserts that the part of implicit integrators is the derivative by an input.
    pub(crate) fn rate_derivative_is_by_input<L: Law<N, K>, const N: usize, const K: usize>(
        law: L,
        input: usize,
        x: [f64; N],
        p: [f64; K],
    ) {
        let (slope, expected) = (law.rate_derivative(x, p), law.gradient(x, p).inputs[input]);
        let size = slope.abs().max(1.0);
        assert!(
            (slope - expected).abs() <= 1e-13 * size,
            "at {x:?}, {p:?}: {slope} and {expected}"
        );
    }
}
