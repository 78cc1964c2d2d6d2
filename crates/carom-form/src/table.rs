//! Tables over one or two inputs: uniform cubic B-splines, twice differentiable, whose weights are the control values.
//!
//! With n control values between low and high, u = (x − low)/(high − low)·(n − 3) lies in piece i = ⌊u⌋ at t = u − i, and
//!
//!   y = Σₖ Bₖ(t)·w(i + k),   k = 0 … 3                                                      (1)
//!   B = ((1 − t)³, 3t³ − 6t² + 4, −3t³ + 3t² + 3t + 1, t³) / 6                              (2)
//!
//! and for two inputs y = Σⱼₖ Bⱼ(s)·Bₖ(t)·w(i + k, h + j). Inputs outside of the range count as its nearest end: the table
//! goes on constant.
//!
//! Adjoint:   w̄(i + k) += Bₖ·ȳ,   x̄ += du/dx·Σₖ B′ₖ(t)·w(i + k)·ȳ                          (1̄)

use carom_scalar::Scalar;

use crate::Bars;

/// Values that a piece of a cubic spline depends on.
const SUPPORT: usize = 4;

/// One input of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// First input of the range.
    pub low: f64,
    /// Last input of the range.
    pub high: f64,
    /// Control values along it, at least four.
    pub count: usize,
}

/// A table of one output over one or two inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    axes: Vec<Axis>,
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
    /// A table over these inputs.
    pub fn new(axes: Vec<Axis>) -> Self {
        Self { axes }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.axes.len()
    }

    pub(crate) fn weights(&self) -> usize {
        self.axes.iter().map(|axis| axis.count).product()
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

    /// (1).
    pub(crate) fn value<T: Scalar>(&self, x: &[T], w: &[f64], y: &mut [T]) {
        y[0] = T::ZERO;
        self.each(x, |index, weight, _| y[0] += weight * w[index]);
    }

    /// (1̄). Adds to the cotangents of inputs and weights.
    pub(crate) fn vjp<T: Scalar>(&self, x: &[T], w: &[f64], y_bar: &[T], bars: &mut Bars<'_, T>) {
        let (y_bar, Bars { inputs, weights }) = (y_bar[0], bars);
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
    fn basis<T: Scalar>(&self, x: T) -> Basis<T> {
        let pieces = self.count - (SUPPORT - 1);
        let scale = pieces as f64 / (self.high - self.low);
        let is_inside = x.value() > self.low && x.value() < self.high;
        let x = x.clamp(T::from(self.low), T::from(self.high));
        let u = (x - self.low) * scale;
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
