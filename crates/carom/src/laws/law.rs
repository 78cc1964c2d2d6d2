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

    /// ∂f/∂x.
    #[inline]
    fn by_inputs(self, x: [f64; N], p: [f64; K]) -> [f64; N] {
        (self.value(variables(x), p.map(Dual::constant))).tangent
    }

    /// ∂f/∂p.
    #[inline]
    fn by_parameters(self, x: [f64; N], p: [f64; K]) -> [f64; K] {
        (self.value(x.map(Dual::constant), variables(p))).tangent
    }

    /// ∂f/∂x and ∂f/∂p; a law that finds both in one pass says so here.
    #[inline]
    fn gradient(self, x: [f64; N], p: [f64; K]) -> ([f64; N], [f64; K]) {
        (self.by_inputs(x, p), self.by_parameters(x, p))
    }

    /// g = ∂f/∂ẋ by the rate among the inputs, as implicit integrators take it: a part of the step, with derivatives of its own.
    #[inline]
    fn rate_derivative<T: Scalar>(self, _x: [T; N], _p: [T; K]) -> T {
        T::ZERO
    }

    /// ∂g/∂x.
    #[inline]
    fn rate_derivative_by_inputs(self, x: [f64; N], p: [f64; K]) -> [f64; N] {
        (self.rate_derivative(variables(x), p.map(Dual::constant))).tangent
    }

    /// ∂g/∂p.
    #[inline]
    fn rate_derivative_by_parameters(self, x: [f64; N], p: [f64; K]) -> [f64; K] {
        (self.rate_derivative(x.map(Dual::constant), variables(p))).tangent
    }

    /// ∂g/∂x and ∂g/∂p.
    #[inline]
    fn rate_derivative_gradient(self, x: [f64; N], p: [f64; K]) -> ([f64; N], [f64; K]) {
        let by_inputs = self.rate_derivative_by_inputs(x, p);
        (by_inputs, self.rate_derivative_by_parameters(x, p))
    }
}

/// Numbers as independent variables.
#[inline]
pub(super) fn variables<const N: usize>(numbers: [f64; N]) -> [Dual<N>; N] {
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
        let (dx, dp) = (variables(x), variables(p));
        let (cx, cp) = (x.map(Dual::constant), p.map(Dual::constant));
        agree(&law.by_inputs(x, p), &law.value(dx, cp).tangent);
        agree(&law.by_parameters(x, p), &law.value(cx, dp).tangent);
        let by_inputs = law.rate_derivative(dx, cp).tangent;
        agree(&law.rate_derivative_by_inputs(x, p), &by_inputs);
        let by_parameters = law.rate_derivative(cx, dp).tangent;
        agree(&law.rate_derivative_by_parameters(x, p), &by_parameters);
        let at_once = law.gradient(x, p);
        agree(&at_once.0, &law.value(dx, cp).tangent);
        agree(&at_once.1, &law.value(cx, dp).tangent);
        let at_once = law.rate_derivative_gradient(x, p);
        agree(&at_once.0, &by_inputs);
        agree(&at_once.1, &by_parameters);
    }

    fn agree(written: &[f64], found: &[f64]) {
        for (index, (a, b)) in written.iter().zip(found).enumerate() {
            let size = a.abs().max(b.abs()).max(1.0);
            assert!((a - b).abs() <= 1e-13 * size, "argument {index}: {a}, {b}");
        }
    }

    /// Asserts that the part of implicit integrators is the derivative by an input.
    pub(crate) fn rate_derivative_is_by_input<L: Law<N, K>, const N: usize, const K: usize>(
        law: L,
        input: usize,
        x: [f64; N],
        p: [f64; K],
    ) {
        let (slope, expected) = (law.rate_derivative(x, p), law.by_inputs(x, p)[input]);
        let size = slope.abs().max(1.0);
        assert!(
            (slope - expected).abs() <= 1e-13 * size,
            "at {x:?}, {p:?}: {slope} and {expected}"
        );
    }
}
