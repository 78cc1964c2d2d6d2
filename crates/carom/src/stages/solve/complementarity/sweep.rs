//! Gauss–Seidel over the blocks of an island, and the interior-point method where it is slow.

use super::super::law::Phase;
use super::interior::{Admitted, Interior, InteriorRow};
use super::response::Response;
use super::rows::LocalProblem;
use crate::laws::cone::MAX_ROWS;
use crate::stages::constraint::{Block, BlockKind};

/// What the sweeps read.
#[derive(Clone, Copy)]
pub(super) struct Island<'a> {
    /// All blocks.
    pub(super) blocks: &'a [Block],
    /// Those of the island.
    pub(super) members: &'a [usize],
    pub(super) response: &'a Response,
    /// Velocities without impulses, less targets.
    pub(super) free: &'a [f64],
    /// R of each block.
    pub(super) mixing: &'a [f64],
    /// Coefficients of the rows.
    pub(super) friction: &'a [f64],
    /// Time step (s).
    pub(super) timestep: f64,
}

/// What the sweeps change.
pub(super) struct Iterate<'a> {
    pub(super) local: &'a mut [LocalProblem],
    pub(super) impulse: &'a mut [f64],
    pub(super) momentum: &'a mut [f64],
    pub(super) phase: &'a mut [Phase],
}

/// When to end.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) tolerance: f64,
    pub(super) iterations: usize,
}

/// How the iterations ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Sweeps and steps of the interior-point method.
    pub(super) iterations: usize,
    /// Greatest change of a velocity that a block still asked for.
    pub(super) residual: f64,
    pub(super) converged: bool,
}

/// Sweeps before the interior-point method: a good start for it, and the solution of simple islands.
const INITIAL_SWEEPS: usize = 6;
/// Islands with more dofs are left to the sweeps: the interior-point method factorises a dense matrix over the dofs.
const MAX_INTERIOR_POINT_DOFS: usize = 600;
/// The interior-point method solves to this share of the tolerance: moving impulses onto their bounds takes the rest.
const INTERIOR_POINT_TOLERANCE_SHARE: f64 = 0.1;
/// Friction coefficients count as at least this: scaled impulses λ/μ stay finite.
const MIN_FRICTION: f64 = 1e-10;

/// Solves an island from impulses of zero; `interior` and the places of dofs are room to work in.
pub(super) fn solve(
    island: &Island<'_>,
    limits: Limits,
    (interior, place): (&mut Interior, &mut Vec<usize>),
    iterate: &mut Iterate<'_>,
) -> Progress {
    let mut progress = Progress {
        iterations: 0,
        residual: f64::INFINITY,
        converged: false,
    };
    island.sweep(INITIAL_SWEEPS, limits, iterate, &mut progress);
    if progress.is_over(limits) {
        return progress;
    }
    // From the impulses at hand, from far away, then by continuation; each only where the last one failed.
    if island.prepare(interior, (place, iterate.momentum.len())) {
        let tolerance = INTERIOR_POINT_TOLERANCE_SHARE * limits.tolerance;
        for solve in [
            Interior::solve,
            Interior::solve_anew,
            Interior::solve_by_continuation,
        ] {
            island.hand_over(iterate.impulse, interior);
            progress.iterations += solve(interior, tolerance);
            let residual = interior.settle();
            if residual < progress.residual {
                progress.residual = residual;
                progress.converged = residual <= limits.tolerance;
                island.take_over(interior, iterate);
            }
            if progress.converged {
                return progress;
            }
        }
    }
    // What is left goes to the sweeps.
    island.sweep(limits.iterations, limits, iterate, &mut progress);
    progress
}

impl Progress {
    fn is_over(&self, limits: Limits) -> bool {
        self.converged || self.residual.is_nan() || self.iterations >= limits.iterations
    }
}

impl<'a> Island<'a> {
    /// The blocks with their indices.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &'a Block)> + use<'a> {
        let blocks = self.blocks;
        self.members
            .iter()
            .map(move |&index| (index, &blocks[index]))
    }

    /// Sweeps forth and back until no block asks for a change.
    fn sweep(
        &self,
        max_sweeps: usize,
        limits: Limits,
        iterate: &mut Iterate<'_>,
        progress: &mut Progress,
    ) {
        for _ in 0..max_sweeps {
            progress.iterations += 1;
            progress.residual = self.pass(self.members.iter(), iterate);
            if progress.residual > limits.tolerance {
                progress.residual = self.pass(self.members.iter().rev(), iterate);
            }
            progress.converged = progress.residual <= limits.tolerance;
            if progress.is_over(limits) {
                return;
            }
        }
    }

    /// Solves each block in turn; the greatest change of a velocity.
    fn pass<'b>(&self, members: impl Iterator<Item = &'b usize>, iterate: &mut Iterate<'_>) -> f64 {
        let mut residual = 0.0_f64;
        for &index in members {
            let block = &self.blocks[index];
            let (rows, count) = (block.rows(), block.row_count);
            let response = self.response.block(index, count);
            let local = &mut iterate.local[index];
            let impulse = &mut iterate.impulse[rows.clone()];
            // Velocities as if the block had no impulse of its own.
            let mut without = [0.0; MAX_ROWS];
            for (row, free) in self.free[rows].iter().enumerate() {
                let own = local.matrix[row][..count].iter().zip(&*impulse);
                let own = own.fold(0.0, |sum, (&a, &x)| sum + a * x);
                let mixing = self.mixing[index] * impulse[row];
                without[row] = free + response.dot(row, iterate.momentum) + mixing - own;
            }
            // The block's own problem, solved exactly.
            let mut next = [0.0; MAX_ROWS];
            iterate.phase[index] = local.solve(&without[..count], &mut next[..count]);
            let mut change = [0.0; MAX_ROWS];
            for row in 0..count {
                change[row] = next[row] - impulse[row];
                impulse[row] = next[row];
                if change[row] != 0.0 {
                    response.add(row, change[row], iterate.momentum);
                }
            }
            for row in 0..count {
                let entries = local.matrix[row][..count].iter().zip(&change);
                let moved = entries.fold(0.0, |sum, (&a, &x)| sum + a * x);
                let moved = moved.abs() * self.unit(block, row);
                // A maximum that keeps what is not a number.
                if moved > residual || moved.is_nan() {
                    residual = moved;
                }
            }
        }
        residual
    }

    /// μ of the tangents of contacts, 1 of all other rows.
    fn unit(&self, block: &Block, row: usize) -> f64 {
        match block.kind {
            BlockKind::PyramidalContact | BlockKind::EllipticContact if row > 0 => {
                self.friction[block.row + row].max(MIN_FRICTION)
            }
            _ => 1.0,
        }
    }

    /// Hands the blocks to the interior-point method; false if the island is too large.
    fn prepare(
        &self,
        interior: &mut Interior,
        (place, dof_count): (&mut Vec<usize>, usize),
    ) -> bool {
        place.clear();
        place.resize(dof_count, usize::MAX);
        let mut size = 0;
        for &index in self.members {
            for &dof in self.response.block(index, 0).columns {
                if place[dof] == usize::MAX {
                    place[dof] = size;
                    size += 1;
                }
            }
        }
        if size > MAX_INTERIOR_POINT_DOFS {
            return false;
        }
        interior.start(size);
        for (index, block) in self.members() {
            let response = self.response.block(index, block.row_count);
            let admitted = match block.kind {
                BlockKind::Equality => Admitted::All,
                BlockKind::DofFriction | BlockKind::TendonFriction => {
                    Admitted::within(self.timestep * self.friction[block.row])
                }
                BlockKind::PyramidalContact | BlockKind::EllipticContact => Admitted::Cone,
                BlockKind::JointLimit | BlockKind::TendonLimit | BlockKind::FrictionlessContact => {
                    Admitted::Push
                }
            };
            let columns = response.columns.iter().map(|&dof| place[dof]);
            let rows = (0..block.row_count).map(|row| InteriorRow {
                response: response.row(row),
                unit: self.unit(block, row),
                free: self.free[block.row + row],
                mixing: self.mixing[index],
            });
            interior.add(admitted, columns, rows);
        }
        true
    }

    fn hand_over(&self, impulse: &[f64], interior: &mut Interior) {
        let rows = self.members().flat_map(|(_, block)| block.rows());
        for (place, row) in rows.enumerate() {
            interior.set_impulse(place, impulse[row]);
        }
    }

    /// Takes the solution of the interior-point method.
    fn take_over(&self, interior: &Interior, iterate: &mut Iterate<'_>) {
        let rows = self.members().flat_map(|(_, block)| block.rows());
        for (row, impulse) in rows.zip(interior.impulses()) {
            iterate.impulse[row] = impulse;
        }
        for (&index, phase) in self.members.iter().zip(interior.phases()) {
            iterate.phase[index] = phase;
        }
        // z = Y·λ anew.
        for &index in self.members {
            let columns = self.response.block(index, 0).columns;
            for &dof in columns {
                iterate.momentum[dof] = 0.0;
            }
        }
        for (index, block) in self.members() {
            let response = self.response.block(index, block.row_count);
            for (row, &impulse) in iterate.impulse[block.rows()].iter().enumerate() {
                response.add(row, impulse, iterate.momentum);
            }
        }
    }

    /// u of all rows.
    pub(super) fn velocities(&self, impulse: &[f64], momentum: &[f64], velocity: &mut [f64]) {
        for (index, block) in self.members() {
            let response = self.response.block(index, block.row_count);
            for (row, place) in block.rows().enumerate() {
                let mixing = self.mixing[index] * impulse[place];
                velocity[place] = self.free[place] + response.dot(row, momentum) + mixing;
            }
        }
    }
}
