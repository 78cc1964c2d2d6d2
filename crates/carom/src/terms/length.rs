//! Laws along a length ℓ(q): springs and dampers of tendons, actuators.
//!
//! With J = ∂ℓ/∂q, k = ∂f/∂ℓ and b = ∂f/∂ℓ̇,
//!
//!   τ = Jᵀ·f,   f̄ = J·τ̄,   J̄ += f·τ̄                                                            (1)
//!   dτ = Jᵀ·(k·J·dq + b·J·dv)                                                                   (2)
//!
//! where J is constant; where it changes (`bends`), by B = ∂J/∂q on top,
//!
//!   dτ += (f·B + b·Jᵀ·(v·B))·dq                                                                 (3)
//!
//! Implicit integrators take D = b·JᵀJ as far as the pattern of the kinematic tree holds it, and with the acceleration ȧ
//!
//!   d(D·ȧ) = Jᵀ·(J·ȧ)·db + b·(Bᵀ·(J·ȧ) + Jᵀ·(B·ȧ))·dq                                           (4)

use crate::linalg::TreeSparsity;
use crate::linearize::{Bend, Layout, Rows};
use crate::model::SparsePattern;
use crate::scalar::Scalar;
use crate::stages::inertia::{add_outer_product, outer_product_vjp};

/// J, by the dofs that move a length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a, T = f64> {
    pub(crate) columns: &'a [usize],
    pub(crate) values: &'a [T],
}

impl<'a, T: Scalar> Row<'a, T> {
    /// One row of a sparse matrix.
    #[inline]
    pub(crate) fn of(pattern: &'a SparsePattern, values: &'a [T], index: usize) -> Self {
        Self {
            columns: pattern.columns(index),
            values: &values[pattern.row(index)],
        }
    }

    #[inline]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, T)> + use<'a, T> {
        self.columns
            .iter()
            .copied()
            .zip(self.values.iter().copied())
    }

    /// J·x.
    #[inline]
    pub(crate) fn dot(&self, x: &[T]) -> T {
        self.dot_from(T::ZERO, x)
    }

    /// start + J·x, summed in this order.
    #[inline]
    pub(crate) fn dot_from(&self, start: T, x: &[T]) -> T {
        (self.entries()).fold(start, |sum, (dof, entry)| sum + entry * x[dof])
    }

    /// Writes J into a dense vector.
    #[inline]
    pub(crate) fn copy_to(&self, dense: &mut [T]) {
        for (dof, entry) in self.entries() {
            dense[dof] = entry;
        }
    }

    /// Adds Jᵀ·f. (1)
    #[inline]
    pub(crate) fn push(&self, force: T, out: &mut [T]) {
        for (dof, entry) in self.entries() {
            out[dof] += entry * force;
        }
    }

    /// matrix ← matrix − factor·JᵀJ, in the pattern of M.
    #[inline]
    pub(crate) fn subtract_damping(&self, sparsity: &TreeSparsity, factor: T, matrix: &mut [T]) {
        if T::HAS_DERIVATIVES || factor != T::ZERO {
            add_outer_product(sparsity, (self.columns, self.values), -factor, matrix);
        }
    }
}

impl Row<'_> {
    /// The adjoint of [`push`](Row::push): adds to the cotangent of J, returns that of the force. (1)
    #[inline]
    pub(crate) fn push_vjp(&self, force: f64, bar: &[f64], row_bar: &mut [f64]) -> f64 {
        let mut force_bar = 0.0;
        for ((dof, entry), entry_bar) in self.entries().zip(row_bar) {
            force_bar += entry * bar[dof];
            *entry_bar += force * bar[dof];
        }
        force_bar
    }

    /// The adjoint of [`subtract_damping`](Row::subtract_damping): adds to the cotangent of J, returns that of the factor.
    #[inline]
    pub(crate) fn damping_vjp(
        &self,
        sparsity: &TreeSparsity,
        factor: f64,
        matrix_bar: &[f64],
        row_bar: &mut [f64],
    ) -> f64 {
        let row = (self.columns, self.values);
        -outer_product_vjp(sparsity, row, -factor, matrix_bar, row_bar)
    }
}

/// A force along a length with its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Push {
    pub(crate) force: f64,
    pub(crate) by_length: f64,
    pub(crate) by_rate: f64,
}

/// What multiplies D: h·D·ȧ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance<'a> {
    pub(crate) h: f64,
    pub(crate) acceleration: &'a [f64],
    pub(crate) sparsity: &'a TreeSparsity,
}

impl Advance<'_> {
    /// Whether the pattern of the tree holds the product of two dofs.
    #[inline]
    fn holds(&self, first: usize, second: usize) -> bool {
        let (low, high) = (first.min(second), first.max(second));
        low == high || self.sparsity.ancestors(high).binary_search(&low).is_ok()
    }
}

/// A length with what changes along with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length<'a> {
    pub(crate) row: Row<'a>,
    /// ∂ℓ/∂q, which is J but for some actuators.
    pub(crate) by_position: &'a [f64],
    /// ∂J/∂q as a multiple; none where J is constant.
    pub(crate) bend: Option<(Bend<'a>, f64)>,
    /// Zero for dofs whose limit holds what acts on them, otherwise one; none where nothing does.
    pub(crate) open: Option<&'a [f64]>,
}

impl Length<'_> {
    #[inline]
    fn open(&self, dof: usize) -> f64 {
        self.open.map_or(1.0, |open| open[dof])
    }

    /// Adds the columns of ∂τ/∂q and ∂τ/∂v.
    pub(crate) fn columns(&self, push: Push, qvel: &[f64], layout: &Layout, rows: &mut Rows<'_>) {
        let Push {
            force,
            by_length,
            by_rate,
        } = push;
        if by_length != 0.0 || by_rate != 0.0 {
            for (dof, arm) in self.row.entries() {
                let arm = arm * self.open(dof);
                let row = rows.row(dof);
                for ((other, entry), &by_position) in self.row.entries().zip(self.by_position) {
                    row[other] += arm * by_length * by_position; // (2)
                    row[layout.nv + other] += arm * by_rate * entry;
                }
            }
        }
        let Some((bend, gear)) = self.bend else {
            return;
        };
        bend.entries(|dof, other, entry| {
            rows.row(dof)[other] += self.open(dof) * gear * force * entry; // (3)
        });
        if by_rate != 0.0 {
            bend.along(qvel, |other, rate| {
                for (dof, arm) in self.row.entries() {
                    rows.row(dof)[other] += arm * self.open(dof) * by_rate * gear * rate;
                }
            });
        }
    }

    /// Adds to one column what its input changes of the force.
    pub(crate) fn column(&self, column: usize, change: f64, rows: &mut Rows<'_>) {
        for (dof, arm) in self.row.entries() {
            rows.row(dof)[column] += arm * self.open(dof) * change;
        }
    }

    /// Adds the columns of h·d(D·ȧ) by position and velocity, with the derivatives of b = `damping`. (4)
    pub(crate) fn damping_columns(
        &self,
        damping: f64,
        change: Push,
        advance: Advance<'_>,
        qvel: &[f64],
        layout: &Layout,
        rows: &mut Rows<'_>,
    ) {
        let by_position = Row {
            columns: self.row.columns,
            values: self.by_position,
        };
        self.add_damping(advance, change.by_length, by_position, 0, rows);
        self.add_damping(advance, change.by_rate, self.row, layout.nv, rows);
        self.damping_bend([damping, change.by_rate], advance, qvel, rows);
    }

    /// Adds what a change of J does to h·b·JᵀJ·ȧ, through the rate v·B as well, for b and its derivative by the rate.
    pub(crate) fn damping_bend(
        &self,
        slopes: [f64; 2],
        advance: Advance<'_>,
        qvel: &[f64],
        rows: &mut Rows<'_>,
    ) {
        let Some((bend, gear)) = self.bend else {
            return;
        };
        // Most lengths have no damping.
        if slopes == [0.0; 2] {
            return;
        }
        let [damping, by_rate] = slopes.map(|slope| advance.h * slope * gear);
        let bends = |i: usize| &bend.matrix[i * bend.columns.len()..][..bend.columns.len()];
        for (i, (dof, value)) in self.row.entries().enumerate() {
            let row = rows.row(dof);
            let mut add = |bends: &[f64], factor: f64| {
                for (&other, &entry) in bend.columns.iter().zip(bends) {
                    row[other] += factor * entry;
                }
            };
            let mut pull = 0.0;
            for (k, (other, entry)) in self.row.entries().enumerate() {
                if advance.holds(dof, other) {
                    pull += entry * advance.acceleration[other];
                    add(bends(k), damping * value * advance.acceleration[other]);
                }
            }
            add(bends(i), damping * pull);
            if by_rate != 0.0 {
                bend.along(qvel, |other, rate| {
                    row[other] += by_rate * value * pull * rate;
                });
            }
        }
    }

    /// Adds to one column what its input changes of h·D·ȧ.
    pub(crate) fn damping_column(
        &self,
        column: usize,
        change: f64,
        advance: Advance<'_>,
        rows: &mut Rows<'_>,
    ) {
        let one = Row {
            columns: &[column],
            values: &[1.0],
        };
        self.add_damping(advance, change, one, 0, rows);
    }

    /// Adds h·change·Jᵀ·(J·ȧ)·x, with the columns of the sparse vector x from `start` on.
    fn add_damping(
        &self,
        advance: Advance<'_>,
        change: f64,
        x: Row<'_>,
        start: usize,
        rows: &mut Rows<'_>,
    ) {
        if change == 0.0 {
            return;
        }
        for (dof, value) in self.row.entries() {
            let pull = self.pull(advance, dof);
            let factor = advance.h * change * value * pull;
            let row = rows.row(dof);
            for (column, entry) in x.entries() {
                row[start + column] += factor * entry;
            }
        }
    }

    /// Σ J(k)·ȧ(k) over the entries k whose product with a dof the pattern of the tree holds.
    fn pull(&self, advance: Advance<'_>, dof: usize) -> f64 {
        let held = self
            .row
            .entries()
            .filter(|&(other, _)| advance.holds(dof, other));
        held.map(|(other, entry)| entry * advance.acceleration[other])
            .sum()
    }
}
