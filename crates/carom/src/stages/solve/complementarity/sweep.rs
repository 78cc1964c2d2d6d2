//! Gauss–Seidel over the blocks of an island, helped by extrapolation and by Newton steps.

use super::super::law::Phase;
use super::active_set::{ActiveSet, Point};
use super::anderson::Anderson;
use super::proximal::Proximal;
use super::response::Response;
use super::rows::LocalProblem;
use crate::laws::cone::MAX_ROWS;
use crate::stages::constraint::Block;

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
    pub(super) velocity: &'a mut [f64],
    pub(super) phase: &'a mut [Phase],
}

/// What helps the sweeps along.
pub(super) struct Helpers<'a> {
    pub(super) anderson: &'a mut Anderson,
    pub(super) active: &'a mut ActiveSet,
    pub(super) newton: &'a mut NewtonWork,
    pub(super) proximal: &'a mut Proximal,
}

/// Room for Newton steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NewtonWork {
    impulse: Vec<f64>,
    equation: Vec<f64>,
    scratch: Vec<f64>,
}

/// When to end.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) tolerance: f64,
    pub(super) iterations: usize,
}

/// How the sweeps ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) iterations: usize,
    /// Greatest change of a velocity that a block still asked for.
    pub(super) residual: f64,
    pub(super) converged: bool,
}

/// Plain sweeps before the first extrapolation: contacts first find out what they do.
const PLAIN_SWEEPS: usize = 3;
/// An extrapolation that makes things this much worse is taken back.
const TOO_MUCH_WORSE: f64 = 2.0;
/// Sweeps before the first Newton step, and after one that did not help; the wait doubles with each of these.
const NEWTON_WAIT: usize = 12;
/// The longest wait.
const NEWTON_WAIT_MOST: usize = 200;
/// Islands with more active rows are left to the sweeps.
const NEWTON_ROWS: usize = 600;

/// Sweeps after which blocks hold on to their impulses more firmly, if they have not settled.
const PATIENCE: usize = 60;
/// Shares of inverse inertia with which they do so, one after the other.
const HOLD: [f64; 6] = [0.0, 0.5, 2.0, 8.0, 32.0, 0.1];
/// Progress within that many sweeps that is enough to go on as before.
const ENOUGH_PROGRESS: f64 = 0.1;

/// How the impulses at the start of a sweep came about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Sweep,
    Extrapolation,
    Newton,
}

/// Sweeps forth and back until no block asks for a change.
pub(super) fn solve(
    island: &Island<'_>,
    limits: Limits,
    helpers: &mut Helpers<'_>,
    iterate: &mut Iterate<'_>,
) -> Progress {
    helpers.anderson.start(island, iterate.local);
    let mut progress = Progress {
        iterations: 0,
        residual: f64::INFINITY,
        converged: false,
    };
    let mut origin = Origin::Sweep;
    let (mut best, mut best_before, mut hold) = (f64::INFINITY, f64::INFINITY, 0);
    let (mut wait, mut next_newton, mut failures) = (NEWTON_WAIT, NEWTON_WAIT, 0);
    while progress.iterations < limits.iterations {
        progress.iterations += 1;
        helpers.anderson.remember_start(island, iterate.impulse);
        // The sweep forth mends what a leap has torn; the sweep back tells whether it was worth it.
        let forth = island.pass(island.members.iter(), iterate);
        let residual = if forth <= limits.tolerance {
            forth
        } else {
            island.pass(island.members.iter().rev(), iterate)
        };
        if residual <= limits.tolerance {
            progress.residual = residual;
            progress.converged = true;
            return progress;
        }
        let is_worse = |factor: f64| residual.is_nan() || residual > factor * progress.residual;
        match origin {
            Origin::Sweep if residual.is_nan() => {
                progress.residual = residual;
                return progress;
            }
            Origin::Extrapolation if is_worse(TOO_MUCH_WORSE) => {
                origin = island.take_back(origin, helpers, iterate);
                continue;
            }
            Origin::Newton if is_worse(1.0) => {
                origin = island.take_back(origin, helpers, iterate);
                wait = (2 * wait).min(NEWTON_WAIT_MOST);
                next_newton = progress.iterations + wait;
                failures += 1;
                continue;
            }
            Origin::Newton => next_newton = progress.iterations,
            _ => {}
        }
        progress.residual = residual;
        best = best.min(residual);
        if progress.iterations.is_multiple_of(PATIENCE) {
            if best > ENOUGH_PROGRESS * best_before {
                hold = (hold + 1) % HOLD.len();
                island.hold(HOLD[hold], iterate);
                helpers.anderson.start(island, iterate.local);
            }
            (best_before, best) = (best, f64::INFINITY);
        }
        let extrapolates = progress.iterations > PLAIN_SWEEPS;
        origin = if progress.iterations >= next_newton
            && island.leap(failures, limits.tolerance, helpers, iterate)
        {
            helpers.anderson.forget();
            Origin::Newton
        } else if helpers
            .anderson
            .extrapolate(island, extrapolates, iterate.impulse)
        {
            Origin::Extrapolation
        } else {
            Origin::Sweep
        };
        if origin != Origin::Sweep {
            island.project(iterate);
            island.refresh(iterate);
        }
    }
    island.take_back(origin, helpers, iterate);
    progress
}

impl<'a> Island<'a> {
    /// The blocks with their indices.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &'a Block)> + use<'a> {
        let blocks = self.blocks;
        self.members
            .iter()
            .map(move |&index| (index, &blocks[index]))
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
                let moved = entries.fold(0.0, |sum, (&a, &x)| sum + a * x).abs();
                // A maximum that keeps what is not a number.
                if moved > residual || moved.is_nan() {
                    residual = moved;
                }
            }
        }
        residual
    }

    /// Puts the impulses before a leap back.
    fn take_back(
        &self,
        origin: Origin,
        helpers: &mut Helpers<'_>,
        iterate: &mut Iterate<'_>,
    ) -> Origin {
        match origin {
            Origin::Sweep => return Origin::Sweep,
            Origin::Extrapolation => helpers.anderson.take_back(self, iterate.impulse),
            Origin::Newton => iterate.impulse.copy_from_slice(&helpers.newton.impulse),
        }
        self.refresh(iterate);
        Origin::Sweep
    }

    /// Moves impulses to where their blocks admit them.
    fn project(&self, iterate: &mut Iterate<'_>) {
        for (index, block) in self.members() {
            let friction = &self.friction[block.rows()];
            iterate.local[index].project(friction, &mut iterate.impulse[block.rows()]);
        }
    }

    /// Prepares the blocks anew, holding on to their impulses.
    fn hold(&self, hold: f64, iterate: &mut Iterate<'_>) {
        for (index, block) in self.members() {
            let response = self.response.block(index, block.row_count);
            let friction = |row: usize| self.friction[block.row + row];
            let mixing = (self.mixing[index], hold);
            iterate.local[index] =
                LocalProblem::new(block, &response, mixing, friction, self.timestep);
        }
    }

    /// z = Y·λ anew.
    fn refresh(&self, iterate: &mut Iterate<'_>) {
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

    /// One Newton step of the active rows, or after a failure the slower and safer method, in turns, keeping the
    /// impulses before it; false if the island is too large.
    fn leap(
        &self,
        failures: usize,
        tolerance: f64,
        helpers: &mut Helpers<'_>,
        iterate: &mut Iterate<'_>,
    ) -> bool {
        helpers.newton.impulse.clear();
        helpers.newton.impulse.extend_from_slice(iterate.impulse);
        if failures.is_multiple_of(2) {
            self.newton(helpers, iterate)
        } else {
            helpers
                .proximal
                .solve(self, failures / 2, tolerance, iterate)
        }
    }

    /// One Newton step of the active rows; false if the island is too large.
    fn newton(&self, helpers: &mut Helpers<'_>, iterate: &mut Iterate<'_>) -> bool {
        let Helpers { active, newton, .. } = helpers;
        active.collect(self, iterate.phase);
        if active.rows().is_empty() || active.rows().len() > NEWTON_ROWS {
            return false;
        }
        self.velocities(iterate.impulse, iterate.momentum, iterate.velocity);
        let point = Point {
            impulse: iterate.impulse,
            velocity: iterate.velocity,
            friction: self.friction,
        };
        ActiveSet::equations(self, iterate.phase, point, &mut newton.equation);
        active.factor(self, iterate.phase, point);
        active.solve(&mut newton.equation, &mut newton.scratch);
        for (&row, &step) in active.rows().iter().zip(&newton.equation) {
            iterate.impulse[row] -= step;
        }
        true
    }
}
