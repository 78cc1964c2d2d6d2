//! Tables over one or two inputs: uniform cubic B-splines, twice differentiable, whose weights are the control values.
//!
//! Inputs lie between −1 and 1: their centre and scale say what that means. With n control values along an input,
//! u = (x + 1)/2·(n − 3) lies in piece i = ⌊u⌋ at t = u − i, and
//!
//!   y = Σₖ Bₖ(t)·w(i + k),   k = 0 … 3                                                      (1)
//!   B = ((1 − t)³, 3t³ − 6t² + 4, −3t³ + 3t² + 3t + 1, t³) / 6                              (2)
//!
//! and for two inputs y = Σⱼₖ Bⱼ(s)·Bₖ(t)·w(i + k, h + j). Inputs outside of the range count as its nearest end: the table
//! goes on constant.
//!
//! Adjoint:   w̄(i + k) += Bₖ·ȳ,   x̄ += du/dx·Σₖ B′ₖ(t)·w(i + k)·ȳ                          (1̄)

use carom_scalar::Scalar;

use crate::{CoreBars, Function};

/// Values that a piece of a cubic spline depends on.
const SUPPORT: usize = 4;

/// A table of one output over one or two inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    axes: Vec<Axis>,
}

/// One input of a table: so many control values along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    count: usize,
}

/// What an input weighs the control values by.
#[derive(Clone, Copy)]
struct Basis<T> {
    first: usize,
    weights: [T; SUPPORT],
    /// Their derivatives with respect to the input.
    slopes: [T; SUPPORT],
}

impl Table {
    /// A table over one or two inputs, with at least four control values along each.
    pub fn new(counts: &[usize]) -> Self {
        let axes = counts.iter().map(|&count| Axis { count }).collect();
        Self { axes }
    }

    /// Calls `visit` with each control value in reach, its weight, and the derivatives of that weight with respect to both inputs.
    fn each<T: Scalar>(&self, x: &[T], mut visit: impl FnMut(usize, T, [T; 2])) {
        let first = self.axes[0].basis(x[0]);
        let Some(axis) = self.axes.get(1) else {
            for k in 0..SUPPORT {
                visit(
                    first.first + k,
                    first.weights[k],
                    [first.slopes[k], T::ZERO],
                );
            }
            return;
        };
        let second = axis.basis(x[1]);
        for j in 0..SUPPORT {
            let row = (second.first + j) * self.axes[0].count + first.first;
            for k in 0..SUPPORT {
                let slopes = [
                    first.slopes[k] * second.weights[j],
                    first.weights[k] * second.slopes[j],
                ];
                visit(row + k, first.weights[k] * second.weights[j], slopes);
            }
        }
    }
}

impl Function for Table {
    fn inputs(&self) -> usize {
        self.axes.len()
    }

    fn outputs(&self) -> usize {
        1
    }

    fn weights(&self) -> usize {
        self.axes.iter().map(|axis| axis.count).product()
    }

    fn weight_scales(&self, _: &[f64], z: &[f64]) -> Vec<f64> {
        vec![z[0]; self.weights()]
    }

    /// Control values that are all `y`.
    fn initial(&self, y: f64, _: &mut dyn FnMut() -> f64) -> Vec<f64> {
        vec![y; self.weights()]
    }

    /// (1).
    fn value<T: Scalar>(&self, x: &[T], w: &[T], y: &mut [T], _: &mut [T]) {
        y[0] = T::ZERO;
        self.each(x, |index, weight, _| y[0] += weight * w[index]);
    }

    /// (1̄). Adds to the cotangents of inputs and weights.
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        y_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        _: &mut [T],
    ) {
        let (y_bar, CoreBars { inputs, weights }) = (y_bar[0], bars);
        self.each(x, |index, weight, slopes| {
            weights[index] += weight * y_bar;
            for (bar, slope) in inputs.iter_mut().zip(slopes) {
                *bar += slope * y_bar * w[index];
            }
        });
    }
}

impl Axis {
    /// (2) at an input.
    #[inline]
    fn basis<T: Scalar>(self, x: T) -> Basis<T> {
        let pieces = self.count - (SUPPORT - 1);
        let scale = pieces as f64 / 2.0;
        let is_inside = x.value() > -1.0 && x.value() < 1.0;
        let u = (x.clamp(-T::ONE, T::ONE) + 1.0) * scale;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the pieces by the clamp; what is not a number becomes 0"
        )]
        let first = (u.value() as usize).min(pieces - 1);
        let t = u - first as f64;
        let rest = T::ONE - t;
        let (t2, rest2) = (t * t, rest * rest);
        let weights = [
            rest2 * rest,
            t2 * (t * 3.0 - 6.0) + 4.0,
            rest2 * (rest * 3.0 - 6.0) + 4.0,
            t2 * t,
        ];
        let slopes = [
            rest2 * -3.0,
            t * (t * 9.0 - 12.0),
            rest * (rest * -9.0 + 12.0),
            t2 * 3.0,
        ];
        let scale = if is_inside { scale } else { 0.0 };
        Basis {
            first,
            weights: weights.map(|weight| weight / 6.0),
            slopes: slopes.map(|slope| slope * (scale / 6.0)),
        }
    }
}
