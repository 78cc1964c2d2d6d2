//! Anderson's extrapolation of a fixed-point iteration.
//!
//! For g the map of one sweep forth and back, the last steps Δx and what became of them, Δg, combine so that the
//! residual g(x) − x would vanish best if the map were linear, which it is once contacts have settled what they do:
//!
//!   γ = argmin |r − ΔR·γ|,   x ← g − ΔG·γ                                               (1)

use super::rows::LocalProblem;
use super::sweep::Island;

/// How many steps are combined.
const DEPTH: usize = 8;
/// Share of the trace that keeps the normal equations of (1) solvable.
const RIDGE: f64 = 1e-13;

/// The last steps of an island. Vectors are over its rows, in the order of its blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Anderson {
    /// x, g and r of the sweep; g and r of the one before.
    start: Vec<f64>,
    after: Vec<f64>,
    residual: Vec<f64>,
    after_before: Vec<f64>,
    residual_before: Vec<f64>,
    /// ΔG and ΔR, one step a row of `DEPTH`.
    after_change: Vec<f64>,
    residual_change: Vec<f64>,
    /// Square roots of the rows' inverse inertias: residuals count by their energy.
    weight: Vec<f64>,
    /// How many steps are known, and where the next goes.
    known: usize,
    next: usize,
    has_before: bool,
}

impl Anderson {
    /// Makes room for an island, with no steps known.
    pub(super) fn start(&mut self, island: &Island<'_>, local: &[LocalProblem]) {
        self.forget();
        self.weight.clear();
        for &index in island.members {
            let matrix = &local[index].matrix;
            let rows = 0..island.blocks[index].row_count;
            self.weight
                .extend(rows.map(|row| matrix[row][row].max(0.0).sqrt()));
        }
        let count = self.weight.len();
        for vector in [
            &mut self.start,
            &mut self.after,
            &mut self.residual,
            &mut self.after_before,
            &mut self.residual_before,
        ] {
            vector.resize(count, 0.0);
        }
        self.after_change.resize(DEPTH * count, 0.0);
        self.residual_change.resize(DEPTH * count, 0.0);
    }

    /// Forgets all steps.
    pub(super) fn forget(&mut self) {
        (self.known, self.next, self.has_before) = (0, 0, false);
    }

    /// Keeps x.
    pub(super) fn remember_start(&mut self, island: &Island<'_>, impulse: &[f64]) {
        gather(island, impulse, &mut self.start);
    }

    /// Puts the impulses of the last plain sweep back and forgets the steps.
    pub(super) fn take_back(&mut self, island: &Island<'_>, impulse: &mut [f64]) {
        scatter(island, &self.after, impulse);
        self.forget();
    }

    /// Takes the result of a sweep in and, if wanted, moves the impulses on; false where they stay.
    pub(super) fn extrapolate(
        &mut self,
        island: &Island<'_>,
        wanted: bool,
        impulse: &mut [f64],
    ) -> bool {
        let count = self.weight.len();
        std::mem::swap(&mut self.after, &mut self.after_before);
        std::mem::swap(&mut self.residual, &mut self.residual_before);
        gather(island, impulse, &mut self.after);
        for row in 0..count {
            self.residual[row] = (self.after[row] - self.start[row]) * self.weight[row];
        }
        if self.has_before {
            let range = self.next * count..(self.next + 1) * count;
            difference(
                &self.after,
                &self.after_before,
                &mut self.after_change[range.clone()],
            );
            let change = &mut self.residual_change[range];
            difference(&self.residual, &self.residual_before, change);
            self.known = (self.known + 1).min(DEPTH);
            self.next = (self.next + 1) % DEPTH;
        }
        self.has_before = true;
        if !wanted || self.known == 0 {
            return false;
        }
        let Some(combination) = self.combination(count) else {
            return false;
        };
        self.start.copy_from_slice(&self.after);
        for (step, &factor) in combination[..self.known].iter().enumerate() {
            let changes = &self.after_change[step * count..][..count];
            for (x, &change) in self.start.iter_mut().zip(changes) {
                *x -= factor * change;
            }
        }
        scatter(island, &self.start, impulse);
        true
    }

    /// γ by the normal equations; none where they cannot be solved.
    fn combination(&self, count: usize) -> Option<[f64; DEPTH]> {
        let known = self.known;
        let step = |index: usize| &self.residual_change[index * count..][..count];
        let mut matrix = [[0.0; DEPTH]; DEPTH];
        let mut right = [0.0; DEPTH];
        let mut trace = 0.0;
        for i in 0..known {
            for j in 0..=i {
                matrix[i][j] = dot(step(i), step(j));
            }
            right[i] = dot(step(i), &self.residual);
            trace += matrix[i][i];
        }
        for (i, row) in matrix[..known].iter_mut().enumerate() {
            row[i] += RIDGE * trace;
        }
        cholesky_solve(&mut matrix, &mut right, known).then_some(right)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (&a, &b)| sum + a * b)
}

fn difference(now: &[f64], before: &[f64], out: &mut [f64]) {
    for ((out, &now), &before) in out.iter_mut().zip(now).zip(before) {
        *out = now - before;
    }
}

/// Solves a small positive system given by its lower triangle; false if it is not positive.
fn cholesky_solve(matrix: &mut [[f64; DEPTH]; DEPTH], x: &mut [f64; DEPTH], count: usize) -> bool {
    for i in 0..count {
        for j in 0..=i {
            let sum = (0..j).fold(matrix[i][j], |sum, k| sum - matrix[i][k] * matrix[j][k]);
            if i != j {
                matrix[i][j] = sum / matrix[j][j];
            } else if sum > 0.0 && sum.is_finite() {
                matrix[i][i] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    for i in 0..count {
        let sum = (0..i).fold(x[i], |sum, k| sum - matrix[i][k] * x[k]);
        x[i] = sum / matrix[i][i];
    }
    for i in (0..count).rev() {
        let sum = (i + 1..count).fold(x[i], |sum, k| sum - matrix[k][i] * x[k]);
        x[i] = sum / matrix[i][i];
    }
    true
}

/// The rows of an island, one after the other.
fn gather(island: &Island<'_>, rows: &[f64], out: &mut [f64]) {
    let mut place = 0;
    for &index in island.members {
        let block = &island.blocks[index];
        out[place..place + block.row_count].copy_from_slice(&rows[block.rows()]);
        place += block.row_count;
    }
}

/// The inverse of [`gather`].
fn scatter(island: &Island<'_>, values: &[f64], rows: &mut [f64]) {
    let mut place = 0;
    for &index in island.members {
        let block = &island.blocks[index];
        rows[block.rows()].copy_from_slice(&values[place..place + block.row_count]);
        place += block.row_count;
    }
}
