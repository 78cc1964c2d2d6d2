//! The optimisation problem over plain numbers, and its products with vectors.
//!
//! Vectors over dofs are indexed by dof and touched only in the trees of the island at hand; vectors over rows by row.

use std::ops::Range;

use super::island::Islands;
use super::law::{Law, Phase};
use super::products;
use crate::linalg::cholesky::dot;
use crate::linalg::tree_ldl;
use crate::model::Structure;
use crate::stages::constraint::Block;

/// minimise ½·(a − a₀)ᵀ·M·(a − a₀) + Σ s(J·a − â) over a.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    pub(super) structure: &'a Structure,
    pub(super) blocks: &'a [Block],
    pub(super) columns: &'a [usize],
    pub(super) jacobian: &'a [f64],
    /// Weight, friction and reference acceleration of each row.
    pub(super) weight: &'a [f64],
    pub(super) friction: &'a [f64],
    pub(super) reference: &'a [f64],
    /// M and its tree factor.
    pub(super) inertia: &'a [f64],
    pub(super) inertia_factor: &'a [f64],
    pub(super) inertia_diagonal_inverse: &'a [f64],
    /// M·a₀ and a₀.
    pub(super) force_smooth: &'a [f64],
    pub(super) smooth: &'a [f64],
}

/// One island of a problem.
#[derive(Clone, Copy)]
pub(super) struct Island<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) islands: &'a Islands,
    pub(super) index: usize,
}

impl<'a> Island<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, islands: &'a Islands, index: usize) -> Self {
        Self {
            problem,
            islands,
            index,
        }
    }

    /// The blocks.
    #[inline]
    pub(super) fn blocks(&self) -> impl Iterator<Item = (usize, &'a Block)> + Clone + use<'a> {
        let blocks = self.problem.blocks;
        self.islands
            .blocks(self.index)
            .iter()
            .map(move |&index| (index, &blocks[index]))
    }

    /// The dofs, one range a tree.
    #[inline]
    pub(super) fn dofs(&self) -> impl Iterator<Item = Range<usize>> + Clone + use<'a> {
        self.islands.dof_ranges(self.problem.structure, self.index)
    }

    /// The number of dofs.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.islands.size(self.index)
    }

    /// The law of a block.
    #[inline]
    pub(super) fn law(&self, block: &Block) -> Law<'a> {
        Law {
            kind: block.kind,
            weight: &self.problem.weight[block.rows()],
            friction: &self.problem.friction[block.rows()],
        }
    }

    /// product ← M·x.
    pub(super) fn mul_inertia(&self, x: &[f64], product: &mut [f64]) {
        let sparsity = &self.problem.structure.inertia;
        for dofs in self.dofs() {
            tree_ldl::mul_trees(sparsity, self.problem.inertia, dofs, x, product);
        }
    }

    /// x ← M⁻¹·x.
    pub(super) fn solve_inertia(&self, x: &mut [f64]) {
        let problem = self.problem;
        for dofs in self.dofs() {
            tree_ldl::solve_trees(
                &problem.structure.inertia,
                problem.inertia_factor,
                problem.inertia_diagonal_inverse,
                dofs,
                x,
            );
        }
    }

    /// The trace of M.
    pub(super) fn inertia_trace(&self) -> f64 {
        let diagonal = &self.problem.structure.inertia.diagonal;
        let entries = self.dofs().flatten().map(|dof| diagonal[dof]);
        entries.map(|entry| self.problem.inertia[entry]).sum()
    }

    /// product ← J·x. `gather` holds the numbers of a block's columns meanwhile.
    pub(super) fn mul_jacobian(&self, x: &[f64], gather: &mut Vec<f64>, product: &mut [f64]) {
        let problem = self.problem;
        let mut last = usize::MAX;
        for (_, block) in self.blocks() {
            // Blocks of one pair of bodies share their columns: gather once for all.
            if block.column != last {
                last = block.column;
                gather.clear();
                gather.extend(problem.columns[block.columns()].iter().map(|&dof| x[dof]));
            }
            let rows = &problem.jacobian[block.values()];
            products::mul(rows, gather, &mut product[block.rows()]);
        }
    }

    /// residual ← J·x − â.
    pub(super) fn residual(&self, x: &[f64], gather: &mut Vec<f64>, residual: &mut [f64]) {
        self.mul_jacobian(x, gather, residual);
        for (_, block) in self.blocks() {
            let reference = &self.problem.reference[block.rows()];
            for (residual, &reference) in residual[block.rows()].iter_mut().zip(reference) {
                *residual -= reference;
            }
        }
    }

    /// product ← Jᵀ·rows. `gather` collects the sums of blocks with the same columns.
    pub(super) fn mul_jacobian_transposed(
        &self,
        rows: &[f64],
        gather: &mut Vec<f64>,
        product: &mut [f64],
    ) {
        for dofs in self.dofs() {
            product[dofs].fill(0.0);
        }
        let problem = self.problem;
        let mut last: Option<&Block> = None;
        for (_, block) in self.blocks() {
            // Sum over blocks with the same columns first, then scatter once.
            if last.is_none_or(|last| last.column != block.column) {
                scatter(problem.columns, last, gather, product);
                gather.clear();
                gather.resize(block.column_count, 0.0);
                last = Some(block);
            }
            let factors = &rows[block.rows()];
            if factors.iter().any(|&factor| factor != 0.0) {
                products::add_transposed(&problem.jacobian[block.values()], factors, gather);
            }
        }
        scatter(problem.columns, last, gather, product);
    }

    /// Forces and phases at a residual; returns the cost and whether any phase changed.
    pub(super) fn respond(
        &self,
        residual: &[f64],
        force: &mut [f64],
        phase: &mut [Phase],
    ) -> (f64, bool) {
        let (mut total, mut changed) = (0.0, false);
        for (index, block) in self.blocks() {
            let rows = block.rows();
            let law = self.law(block);
            let (new, cost) = law.respond(&residual[rows.clone()], &mut force[rows]);
            changed |= new != phase[index];
            phase[index] = new;
            total += cost;
        }
        (total, changed)
    }

    /// The sum of products over the island's dofs.
    pub(super) fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        self.dofs()
            .map(|dofs| dot(&a[dofs.clone()], &b[dofs]))
            .sum()
    }

    /// a ← a + factor·b over the island's dofs.
    pub(super) fn add_scaled(&self, a: &mut [f64], b: &[f64], factor: f64) {
        for dofs in self.dofs() {
            for (a, &b) in a[dofs.clone()].iter_mut().zip(&b[dofs]) {
                *a += factor * b;
            }
        }
    }

    /// a ← a + factor·b over the island's rows.
    pub(super) fn add_scaled_rows(&self, a: &mut [f64], b: &[f64], factor: f64) {
        for (_, block) in self.blocks() {
            let rows = block.rows();
            for (a, &b) in a[rows.clone()].iter_mut().zip(&b[rows]) {
                *a += factor * b;
            }
        }
    }
}

/// Adds the sums of a group of blocks to their columns.
#[inline]
fn scatter(columns: &[usize], block: Option<&Block>, sums: &[f64], product: &mut [f64]) {
    if let Some(block) = block {
        for (&dof, &sum) in columns[block.columns()].iter().zip(sums) {
            product[dof] += sum;
        }
    }
}
