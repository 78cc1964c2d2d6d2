//! Dense elimination with complete pivoting, for systems that may lack rank.
//!
//! Rows and columns are exchanged so that the greatest entry left is the next pivot. Where all that is left is
//! rounding, the system has no more independent equations: the unknowns that remain are set to zero, which solves it
//! all the same if it can be solved at all.

use crate::scalar::Scalar;

/// Entries below this share of the greatest count as zero.
const RANK_TOLERANCE: f64 = 1e-13;

/// The factors of a square matrix. Keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CompletePivotLu {
    size: usize,
    rank: usize,
    /// Row by row; L below the diagonal, U on and above it, rows and columns in the order of elimination.
    entries: Vec<f64>,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl CompletePivotLu {
    /// Starts a system of the given size with all entries zero.
    pub(crate) fn start(&mut self, size: usize) {
        (self.size, self.rank) = (size, 0);
        self.entries.clear();
        self.entries.resize(size * size, 0.0);
        self.rows.clear();
        self.rows.extend(0..size);
        self.columns.clear();
        self.columns.extend(0..size);
    }

    /// A row of the matrix, to be filled before [`Self::factor`].
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.entries[row * self.size..][..self.size]
    }

    /// The number of independent equations.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Factors in place.
    pub(crate) fn factor(&mut self) {
        let size = self.size;
        let mut least = 0.0;
        for step in 0..size {
            let (row, column, pivot) = self.greatest(step);
            if step == 0 {
                least = pivot.abs() * RANK_TOLERANCE;
            }
            if pivot.is_nan() || pivot.abs() <= least {
                break;
            }
            self.rank = step + 1;
            self.exchange(step, row, column);
            let (above, below) = self.entries.split_at_mut((step + 1) * size);
            let source = &above[step * size..];
            for target in below.chunks_exact_mut(size) {
                let factor = target[step] / pivot;
                target[step] = factor;
                if factor != 0.0 {
                    for (target, &source) in target[step + 1..].iter_mut().zip(&source[step + 1..])
                    {
                        *target -= factor * source;
                    }
                }
            }
        }
    }

    fn greatest(&self, step: usize) -> (usize, usize, f64) {
        let mut best = (step, step, 0.0_f64);
        for row in step..self.size {
            for column in step..self.size {
                let entry = self.entries[row * self.size + column];
                if entry.abs() > best.2.abs() {
                    best = (row, column, entry);
                }
            }
        }
        best
    }

    fn exchange(&mut self, step: usize, row: usize, column: usize) {
        let size = self.size;
        self.rows.swap(step, row);
        self.columns.swap(step, column);
        if row != step {
            let (above, below) = self.entries.split_at_mut(row * size);
            above[step * size..][..size].swap_with_slice(&mut below[..size]);
        }
        if column != step {
            for entries in self.entries.chunks_exact_mut(size) {
                entries.swap(step, column);
            }
        }
    }

    /// Solves for a right-hand side, using `work` of the same length.
    pub(crate) fn solve<T: Scalar>(&self, right: &mut [T], work: &mut [T]) {
        let entry = |row: usize, column: usize| self.entries[row * self.size + column];
        for step in 0..self.rank {
            let mut sum = right[self.rows[step]];
            for k in 0..step {
                sum -= work[k] * entry(step, k);
            }
            work[step] = sum;
        }
        right.fill(T::ZERO);
        for step in (0..self.rank).rev() {
            let mut sum = work[step];
            for k in step + 1..self.rank {
                sum -= work[k] * entry(step, k);
            }
            work[step] = sum / entry(step, step);
            right[self.columns[step]] = work[step];
        }
    }

    /// Solves the transposed system, as adjoints need it.
    pub(crate) fn solve_transposed<T: Scalar>(&self, right: &mut [T], work: &mut [T]) {
        let entry = |row: usize, column: usize| self.entries[row * self.size + column];
        for step in 0..self.rank {
            let mut sum = right[self.columns[step]];
            for k in 0..step {
                sum -= work[k] * entry(k, step);
            }
            work[step] = sum / entry(step, step);
        }
        right.fill(T::ZERO);
        for step in (0..self.rank).rev() {
            let mut sum = work[step];
            for k in step + 1..self.rank {
                sum -= work[k] * entry(k, step);
            }
            work[step] = sum;
            right[self.rows[step]] = work[step];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn systems_of_any_rank_are_solved() {
        let mut random = Random::new(6);
        let mut lu = CompletePivotLu::default();
        for round in 0..60 {
            let size: usize = 1 + round % 9;
            let rank = if round % 2 == 0 {
                size
            } else {
                size.div_ceil(2)
            };
            let [left, right] = [0; 2].map(|_: i32| random.vector(size * rank));
            let matrix: Vec<f64> = (0..size * size)
                .map(|entry| {
                    let (row, column) = (entry / size, entry % size);
                    (0..rank)
                        .map(|k| left[row * rank + k] * right[column * rank + k])
                        .sum()
                })
                .collect();
            lu.start(size);
            for row in 0..size {
                lu.row_mut(row)
                    .copy_from_slice(&matrix[row * size..][..size]);
            }
            lu.factor();
            assert_eq!(lu.rank(), rank);
            for transposed in [false, true] {
                let entry = |row: usize, column: usize| {
                    if transposed {
                        matrix[column * size + row]
                    } else {
                        matrix[row * size + column]
                    }
                };
                let times = |x: &[f64]| -> Vec<f64> {
                    (0..size)
                        .map(|row| (0..size).map(|k| entry(row, k) * x[k]).sum())
                        .collect()
                };
                let expected = times(&random.vector(size));
                let (mut x, mut work) = (expected.clone(), vec![0.0; size]);
                if transposed {
                    lu.solve_transposed(&mut x, &mut work);
                } else {
                    lu.solve(&mut x, &mut work);
                }
                for (a, b) in times(&x).iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-9, "{a} {b}");
                }
            }
        }
    }
}
