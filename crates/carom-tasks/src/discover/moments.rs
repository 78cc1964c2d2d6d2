//! Least squares with cross-validation from sums of products, block by block of the recordings.

use carom_optimise::linalg::{Cholesky, Matrix};
use carom_optimise::statistics::distribution::student_probability;

/// Parts of the diagonal that are added to it.
const RIDGE: f64 = 1e-12;
/// Squares below this part of all are rounding.
const ROUNDING: f64 = 1e-14;
/// Folds of a cross-validation.
const FOLDS: usize = 5;

/// Sums of products of columns and measurements over one block.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Column by column, all of them.
    gram: Vec<f64>,
    by_measured: Vec<f64>,
    measured: f64,
}

/// Sums of products over all blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    pub(super) columns: usize,
    blocks: Vec<Block>,
}

/// Coefficients and what is left.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) coefficients: Vec<f64>,
    /// Sum of squares that is left.
    pub(super) left: f64,
}

impl Moments {
    /// Of no columns.
    pub(super) fn of_measured(measured: &[f64], ends: &[usize]) -> Self {
        let mut first = 0;
        let blocks = ends.iter().map(|&end| {
            let own = &measured[first..end];
            first = end;
            Block {
                measured: own.iter().map(|y| y * y).sum(),
                ..Block::default()
            }
        });
        Self {
            columns: 0,
            blocks: blocks.collect(),
        }
    }

    /// With more columns. `known` are those that are in already.
    pub(super) fn extended(
        &self,
        (known, new): (&[&[f64]], &[&[f64]]),
        measured: &[f64],
        ends: &[usize],
    ) -> Self {
        let (old, size) = (self.columns, self.columns + new.len());
        let mut first = 0;
        let blocks = self.blocks.iter().zip(ends).map(|(block, &end)| {
            let rows = first..end;
            first = end;
            let mut gram = vec![0.0; size * size];
            for row in 0..old {
                gram[row * size..][..old].copy_from_slice(&block.gram[row * old..][..old]);
            }
            let mut by_measured = block.by_measured.clone();
            for (place, column) in new.iter().enumerate() {
                let own = &column[rows.clone()];
                let others = known.iter().chain(&new[..=place]);
                for (index, other) in others.enumerate() {
                    let sum = dot(own, &other[rows.clone()]);
                    gram[(old + place) * size + index] = sum;
                    gram[index * size + old + place] = sum;
                }
                by_measured.push(dot(own, &measured[rows.clone()]));
            }
            Block {
                gram,
                by_measured,
                measured: block.measured,
            }
        });
        Self {
            columns: size,
            blocks: blocks.collect(),
        }
    }

    /// Without some columns.
    pub(super) fn kept(&self, kept: &[usize]) -> Self {
        let size = self.columns;
        let blocks = self.blocks.iter().map(|block| Block {
            gram: (kept.iter())
                .flat_map(|&a| kept.iter().map(move |&b| block.gram[a * size + b]))
                .collect(),
            by_measured: kept.iter().map(|&a| block.by_measured[a]).collect(),
            measured: block.measured,
        });
        Self {
            columns: kept.len(),
            blocks: blocks.collect(),
        }
    }

    fn sum(&self, is_in: impl Fn(usize) -> bool) -> Block {
        let mut sum = Block {
            gram: vec![0.0; self.columns * self.columns],
            by_measured: vec![0.0; self.columns],
            measured: 0.0,
        };
        for (_, block) in self.blocks.iter().enumerate().filter(|(k, _)| is_in(*k)) {
            sum.gram
                .iter_mut()
                .zip(&block.gram)
                .for_each(|(a, b)| *a += b);
            (sum.by_measured.iter_mut())
                .zip(&block.by_measured)
                .for_each(|(a, b)| *a += b);
            sum.measured += block.measured;
        }
        sum
    }

    /// The best coefficients.
    pub(super) fn fit(&self) -> Fitted {
        let all = self.sum(|_| true);
        let coefficients = all.solve();
        let left = all.left(&coefficients);
        Fitted { coefficients, left }
    }

    /// Sums of squares of every block that are left by the coefficients of the other folds.
    pub(super) fn cross_validated(&self) -> Vec<f64> {
        let folds = FOLDS.min(self.blocks.len());
        let mut left = vec![0.0; self.blocks.len()];
        for fold in 0..folds {
            let coefficients = self.sum(|block| block % folds != fold).solve();
            for (block, left) in left
                .iter_mut()
                .enumerate()
                .filter(|(k, _)| k % folds == fold)
            {
                *left = self.blocks[block].left(&coefficients);
            }
        }
        left
    }

    /// Standard errors of coefficients, from how much blocks disagree; by the noise alone where that says more.
    pub(super) fn errors(&self, fitted: &Fitted, rows: usize) -> Vec<f64> {
        let size = self.columns;
        let all = self.sum(|_| true);
        let Some(cholesky) = all.cholesky() else {
            return vec![f64::NAN; size];
        };
        let scale = all.scales();
        let inverse: Vec<Vec<f64>> = (0..size)
            .map(|column| {
                let mut unit = vec![0.0; size];
                unit[column] = 1.0 / scale[column];
                let solved = cholesky.solve(&unit);
                solved
                    .iter()
                    .zip(&scale)
                    .map(|(x, scale)| x / scale)
                    .collect()
            })
            .collect();
        let mut variance = vec![0.0; size];
        for block in &self.blocks {
            let slope: Vec<f64> = (0..size)
                .map(|row| {
                    block.by_measured[row]
                        - dot(&block.gram[row * size..][..size], &fitted.coefficients)
                })
                .collect();
            for (variance, line) in variance.iter_mut().zip(&inverse) {
                *variance += dot(line, &slope).powi(2);
            }
        }
        let count = self.blocks.len() as f64;
        let white = fitted.left / (rows.saturating_sub(size)).max(1) as f64;
        (variance.iter().enumerate())
            .map(|(index, sum)| {
                let blocks = sum * count / (count - 1.0).max(1.0);
                blocks.max(white * inverse[index][index]).sqrt()
            })
            .collect()
    }
}

impl Block {
    fn scales(&self) -> Vec<f64> {
        let size = self.by_measured.len();
        (0..size)
            .map(|k| self.gram[k * size + k].sqrt())
            .map(|scale| if scale > 0.0 { scale } else { 1.0 })
            .collect()
    }

    fn cholesky(&self) -> Option<Cholesky> {
        let (size, scale) = (self.by_measured.len(), self.scales());
        let matrix = Matrix::from_fn(size, size, |a, b| {
            let part = self.gram[a * size + b] / (scale[a] * scale[b]);
            if a == b {
                part.max(1e-300) + RIDGE
            } else {
                part
            }
        });
        Cholesky::new(&matrix)
    }

    fn solve(&self) -> Vec<f64> {
        let scale = self.scales();
        if self.by_measured.is_empty() {
            return Vec::new();
        }
        let Some(cholesky) = self.cholesky() else {
            return vec![0.0; self.by_measured.len()];
        };
        let right: Vec<f64> = self
            .by_measured
            .iter()
            .zip(&scale)
            .map(|(y, s)| y / s)
            .collect();
        let solved = cholesky.solve(&right);
        solved.iter().zip(&scale).map(|(x, s)| x / s).collect()
    }

    fn left(&self, coefficients: &[f64]) -> f64 {
        let size = coefficients.len();
        let mut left = self.measured;
        for (row, coefficient) in coefficients.iter().enumerate() {
            let line = dot(&self.gram[row * size..][..size], coefficients);
            left += coefficient * (line - 2.0 * self.by_measured[row]);
        }
        left.max(ROUNDING * self.measured).max(f64::MIN_POSITIVE)
    }
}

/// Probability that blocks are predicted better by chance only: a one-sided test of Student over the logarithms of both errors.
pub(super) fn chance(before: &[f64], after: &[f64]) -> f64 {
    let ratios: Vec<f64> = (before.iter().zip(after))
        .map(|(a, b)| (a / b).ln())
        .collect();
    let count = ratios.len() as f64;
    if count < 3.0 {
        return 1.0;
    }
    let mean = ratios.iter().sum::<f64>() / count;
    let square: f64 = ratios.iter().map(|x| (x - mean).powi(2)).sum();
    let deviation = (square / (count - 1.0) / count).sqrt();
    if mean <= 0.0 {
        return 1.0;
    }
    if deviation <= 0.0 {
        return 0.0;
    }
    student_probability(-mean / deviation, count - 1.0)
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums, which the processor adds side by side; their order is fixed.
    let mut sums = [0.0; 4];
    let (a_parts, b_parts) = (a.chunks_exact(4), b.chunks_exact(4));
    let (a_rest, b_rest) = (a_parts.remainder(), b_parts.remainder());
    for (a, b) in a_parts.zip(b_parts) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
