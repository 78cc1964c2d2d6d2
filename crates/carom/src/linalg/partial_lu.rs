//! Dense elimination with exchanges of rows, for regular systems without symmetry.

/// The factors of a square matrix. Keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartialPivotLu {
    size: usize,
    /// Row by row; L below the diagonal, U on and above it, rows in the order of elimination.
    entries: Vec<f64>,
    order: Vec<usize>,
}

impl PartialPivotLu {
    /// Starts a system of the given size from the identity.
    pub(crate) fn start_from_identity(&mut self, size: usize) {
        self.size = size;
        self.entries.clear();
        self.entries.resize(size * size, 0.0);
        for diagonal in 0..size {
            self.entries[diagonal * (size + 1)] = 1.0;
        }
        self.order.clear();
        self.order.extend(0..size);
    }

    /// A row of the matrix, to be filled before [`Self::factor`].
    #[inline]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.entries[row * self.size..][..self.size]
    }

    /// Factors in place; false if the matrix is singular or holds what is not a number.
    pub(crate) fn factor(&mut self) -> bool {
        let size = self.size;
        for step in 0..size {
            let row = self.greatest_below(step);
            if row != step {
                self.order.swap(step, row);
                let (above, below) = self.entries.split_at_mut(row * size);
                above[step * size..][..size].swap_with_slice(&mut below[..size]);
            }
            let (above, below) = self.entries.split_at_mut((step + 1) * size);
            let source = &above[step * size + step..];
            let pivot = source[0];
            if pivot == 0.0 || !pivot.is_finite() {
                return false;
            }
            let inverse = pivot.recip();
            for target in below.chunks_exact_mut(size) {
                let target = &mut target[step..];
                // Bodies that do not touch leave zeros.
                if target[0] == 0.0 {
                    continue;
                }
                let factor = target[0] * inverse;
                target[0] = factor;
                for (target, &source) in target[1..].iter_mut().zip(&source[1..]) {
                    *target -= factor * source;
                }
            }
        }
        true
    }

    fn greatest_below(&self, step: usize) -> usize {
        let mut best = (step, 0.0_f64);
        for row in step..self.size {
            let entry = self.entries[row * self.size + step].abs();
            if entry > best.1 {
                best = (row, entry);
            }
        }
        best.0
    }

    /// Solves for a right-hand side, using `work` of the same length.
    pub(crate) fn solve(&self, right: &mut [f64], work: &mut [f64]) {
        let row = |row: usize| &self.entries[row * self.size..][..self.size];
        let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        for step in 0..self.size {
            work[step] = right[self.order[step]] - product(&row(step)[..step], &work[..step]);
        }
        for step in (0..self.size).rev() {
            let rest = product(&row(step)[step + 1..], &right[step + 1..]);
            right[step] = (work[step] - rest) / row(step)[step];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn regular_systems_are_solved() {
        let mut random = Random::new(9);
        let mut lu = PartialPivotLu::default();
        for size in 1..12 {
            let matrix: Vec<Vec<f64>> = (0..size).map(|_| random.vector(size)).collect();
            let x = random.vector(size);
            let times = |x: &[f64]| -> Vec<f64> {
                let product = |row: &Vec<f64>| row.iter().zip(x).map(|(a, x)| a * x).sum();
                matrix.iter().map(product).collect()
            };
            lu.start_from_identity(size);
            for (row, entries) in matrix.iter().enumerate() {
                lu.row_mut(row).copy_from_slice(entries);
            }
            assert!(lu.factor());
            let (mut found, mut work) = (times(&x), vec![0.0; size]);
            lu.solve(&mut found, &mut work);
            for (a, b) in found.iter().zip(&x) {
                assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn singular_systems_are_refused() {
        let mut lu = PartialPivotLu::default();
        lu.start_from_identity(3);
        lu.row_mut(1).fill(0.0);
        assert!(!lu.factor());
    }
}
