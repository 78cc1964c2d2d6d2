//! Polynomials of several inputs, and quotients of two of them.
//!
//! Monomials of degree 1 to d follow from each other by one factor: the first ones are the inputs,
//!
//!   φ(k) = φ(parent(k))·x(factor(k))                                                        (1)
//!   p = W·φ + b                                                                             (2)
//!
//! and a quotient has a denominator that is never below one: y = p / (1 + q²), q = V·φ.     (3)
//!
//! Adjoint:   φ̄ = Wᵀ·p̄,   W̄ += p̄·φᵀ,   φ̄(parent) += φ̄(k)·x(factor),   x̄(factor) += φ̄(k)·φ(parent)   (1̄)

use carom_scalar::Scalar;

use crate::{CoreBars, Function};

/// A polynomial, or a quotient of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    inputs: usize,
    outputs: usize,
    /// Of each monomial, the one that it multiplies, if any, and the input that it multiplies it by.
    monomials: Vec<(Option<usize>, usize)>,
    has_constant: bool,
    is_quotient: bool,
}

impl Polynomial {
    /// All monomials up to a degree, with a constant or without.
    pub fn new(inputs: usize, outputs: usize, degree: usize, has_constant: bool) -> Self {
        let mut monomials: Vec<_> = (0..inputs).map(|input| (None, input)).collect();
        let mut previous = 0..monomials.len();
        for _ in 1..degree {
            // Factors in falling order, so that each product comes once.
            for parent in previous.clone() {
                let lowest = monomials[parent].1;
                monomials.extend((lowest..inputs).map(|input| (Some(parent), input)));
            }
            previous = previous.end..monomials.len();
        }
        Self {
            inputs,
            outputs,
            monomials,
            has_constant,
            is_quotient: false,
        }
    }

    /// The quotient of such a polynomial and 1 + q², with q of the same monomials without a constant.
    pub fn quotient(inputs: usize, outputs: usize, degree: usize, has_constant: bool) -> Self {
        Self {
            is_quotient: true,
            ..Self::new(inputs, outputs, degree, has_constant)
        }
    }

    fn constant(&self) -> usize {
        self.monomials.len() * self.outputs
    }

    fn denominator(&self) -> std::ops::Range<usize> {
        self.constant() + usize::from(self.has_constant) * self.outputs..self.weights()
    }

    /// Monomials (1), p (2) and q, which is zero where there is no denominator.
    fn parts<T: Scalar>(&self, x: &[T], w: &[T], monomials: &mut [T], p: &mut [T], q: &mut [T]) {
        for (k, &(parent, factor)) in self.monomials.iter().enumerate() {
            monomials[k] = parent.map_or(x[factor], |parent| monomials[parent] * x[factor]); // (1)
        }
        p.fill(T::ZERO);
        if self.has_constant {
            for (p, &constant) in p.iter_mut().zip(&w[self.constant()..]) {
                *p = constant;
            }
        }
        add_product(monomials, w, p); // (2)
        q.fill(T::ZERO);
        add_product(monomials, &w[self.denominator()], q);
    }
}

impl Function for Polynomial {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    /// Columns of W, then b, then the columns of V.
    fn weights(&self) -> usize {
        let matrices = self.monomials.len() * (1 + usize::from(self.is_quotient));
        (matrices + usize::from(self.has_constant)) * self.outputs
    }

    /// Weights of a polynomial whose outputs are all `y`; without a constant, where all inputs are one. The
    /// weights of a denominator are small and not zero, where they would have no gradient.
    fn initial(&self, y: f64, normal: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.weights()];
        let count = self.monomials.len() as f64;
        if self.has_constant {
            weights[self.constant()..][..self.outputs].fill(y);
        } else {
            weights[..self.constant()].fill(y / count);
        }
        for weight in &mut weights[self.denominator()] {
            *weight = 0.1 * normal();
        }
        weights
    }

    /// Those of a denominator are about one.
    fn weight_scales(&self, _: &[f64], z: &[f64]) -> Vec<f64> {
        let mut scales = z.repeat(self.weights() / z.len());
        scales[self.denominator()].fill(1.0);
        scales
    }

    /// (1) to (3).
    fn value<T: Scalar>(&self, x: &[T], w: &[T], y: &mut [T], room: &mut [T]) {
        let (monomials, work) = room.split_at_mut(self.monomials.len());
        let q = &mut work[..self.outputs];
        self.parts(x, w, monomials, y, q);
        if self.is_quotient {
            for (y, &mut q) in y.iter_mut().zip(q) {
                *y /= q * q + 1.0; // (3)
            }
        }
    }

    /// (1̄). Adds to the cotangents of inputs and weights.
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        y_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        room: &mut [T],
    ) {
        let (monomials, work) = room.split_at_mut(self.monomials.len());
        let (monomial_bars, work) = work.split_at_mut(self.monomials.len());
        let (p, q) = work.split_at_mut(self.outputs);
        let q = &mut q[..self.outputs];
        self.parts(x, w, monomials, p, q);
        // Of y = p/(1 + q²): p̄ = ȳ/(1 + q²), q̄ = −2qy·p̄.
        for ((p, q), &y_bar) in p.iter_mut().zip(&mut *q).zip(y_bar) {
            let denominator = *q * *q + 1.0;
            let y = *p / denominator;
            *p = y_bar / denominator;
            *q = *p * y * *q * -2.0;
        }
        let (p_bar, q_bar) = (&*p, &*q);
        monomial_bars.fill(T::ZERO);
        let range = self.denominator();
        let denominator_bars = &mut bars.weights[range.clone()];
        add_product_vjp(monomials, &w[range], q_bar, monomial_bars, denominator_bars);
        if self.has_constant {
            let constants = &mut bars.weights[self.constant()..][..self.outputs];
            for (bar, &p_bar) in constants.iter_mut().zip(p_bar) {
                *bar += p_bar;
            }
        }
        add_product_vjp(monomials, w, p_bar, monomial_bars, bars.weights);
        for (k, &(parent, factor)) in self.monomials.iter().enumerate().rev() {
            let bar = monomial_bars[k];
            if let Some(parent) = parent {
                monomial_bars[parent] += bar * x[factor];
                bars.inputs[factor] += bar * monomials[parent];
            } else {
                bars.inputs[factor] += bar;
            }
        }
    }

    /// Monomials, their cotangents, p and q.
    fn room(&self) -> usize {
        2 * self.monomials.len() + 2 * self.outputs
    }
}

/// y += W·φ, W by columns.
fn add_product<T: Scalar>(monomials: &[T], w: &[T], y: &mut [T]) {
    for (&monomial, column) in monomials.iter().zip(w.chunks_exact(y.len())) {
        for (y, &weight) in y.iter_mut().zip(column) {
            *y += monomial * weight;
        }
    }
}

/// The adjoint of [`add_product`].
fn add_product_vjp<T: Scalar>(
    monomials: &[T],
    w: &[T],
    y_bar: &[T],
    monomial_bars: &mut [T],
    w_bar: &mut [T],
) {
    let columns = w.chunks_exact(y_bar.len());
    let column_bars = w_bar.chunks_exact_mut(y_bar.len());
    let each = monomials.iter().zip(monomial_bars);
    for ((&monomial, bar), (column, column_bar)) in each.zip(columns.zip(column_bars)) {
        for ((&y_bar, &weight), weight_bar) in y_bar.iter().zip(column).zip(column_bar) {
            *bar += y_bar * weight;
            *weight_bar += y_bar * monomial;
        }
    }
}
