//! Householder's QR factors with pivoting of columns [Golub 2013, §5.4].
//!
//! A·P = Q·R with |R₁₁| ≥ |R₂₂| ≥ …: reflections H = I − β·v·vᵀ, each made for the column that is longest below the rows
//! already done.

use super::{Matrix, norm};

/// Q, R and P of A·P = Q·R.
#[derive(Clone, Debug, PartialEq)]
pub struct Qr {
    /// R above the diagonal, the reflections' vectors below it (their first entry is one).
    packed: Matrix,
    beta: Vec<f64>,
    order: Vec<usize>,
}

impl Qr {
    /// Factor a matrix with pivoting.
    pub fn new(matrix: &Matrix) -> Self {
        let mut packed = matrix.clone();
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let mut order: Vec<usize> = (0..columns).collect();
        let steps = rows.min(columns);
        let mut beta = vec![0.0; steps];
        for step in 0..steps {
            let pivot = longest_column(&packed, step);
            if pivot != step {
                swap_columns(&mut packed, step, pivot);
                order.swap(step, pivot);
            }
            beta[step] = reflect(&mut packed, step);
        }
        Self {
            packed,
            beta,
            order,
        }
    }

    /// Columns of the matrix in the order of those of R.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// R with its columns back in the order of the matrix: R·Pᵀ, whose products of columns are those of the matrix.
    pub fn r_in_order(&self) -> Matrix {
        let mut r = Matrix::zeros(self.beta.len(), self.order.len());
        for i in 0..self.beta.len() {
            for j in i..self.order.len() {
                r[(i, self.order[j])] = self.packed[(i, j)];
            }
        }
        r
    }

    /// Number of entries on the diagonal of R that are above a part of the first.
    pub fn rank(&self, part: f64) -> usize {
        let least = part * self.diagonal(0);
        (0..self.beta.len())
            .take_while(|&i| self.diagonal(i) > least)
            .count()
    }

    fn diagonal(&self, i: usize) -> f64 {
        if i < self.beta.len() {
            self.packed[(i, i)].abs()
        } else {
            0.0
        }
    }

    /// The first entries of Qᵀ·b, as many as R has rows.
    pub fn transpose_times(&self, b: &[f64]) -> Vec<f64> {
        let mut b = b.to_vec();
        for (step, &beta) in self.beta.iter().enumerate() {
            let mut sum = b[step];
            for i in step + 1..b.len() {
                sum += self.packed[(i, step)] * b[i];
            }
            b[step] -= beta * sum;
            for i in step + 1..b.len() {
                b[i] -= beta * sum * self.packed[(i, step)];
            }
        }
        b.truncate(self.beta.len());
        b
    }

    /// x that makes ‖A·x − b‖ least, with zeros for columns that depend on others.
    pub fn solve(&self, b: &[f64], part: f64) -> Vec<f64> {
        let rank = self.rank(part);
        let mut y = self.transpose_times(b);
        for i in (0..rank).rev() {
            let rest = (i + 1..rank).fold(y[i], |rest, j| rest - self.packed[(i, j)] * y[j]);
            y[i] = rest / self.packed[(i, i)];
        }
        let mut x = vec![0.0; self.order.len()];
        for i in 0..rank {
            x[self.order[i]] = y[i];
        }
        x
    }
}

/// Rows that [`reduce`] takes up at a time.
const ROWS_PER_BLOCK: usize = 64;

/// R and the first entries of Qᵀ·b of A·S⁻¹ = Q·R, with columns divided by `scales`, without pivoting: as many rows as A has columns.
///
/// For matrices of many rows: some of them are taken up at a time, [R; rows] = Q·R⁺, and lie in the cache while they are.
pub fn reduce(matrix: &Matrix, scales: &[f64], b: &[f64]) -> (Matrix, Vec<f64>) {
    let columns = matrix.columns();
    // b is one more column.
    let width = columns + 1;
    let mut r = vec![0.0; width * width];
    let mut block = Vec::with_capacity(ROWS_PER_BLOCK * width);
    for first in (0..matrix.rows()).step_by(ROWS_PER_BLOCK) {
        block.clear();
        for row in first..(first + ROWS_PER_BLOCK).min(matrix.rows()) {
            block.extend(
                matrix
                    .row(row)
                    .iter()
                    .zip(scales)
                    .map(|(entry, scale)| entry / scale),
            );
            block.push(b[row]);
        }
        take_up(&mut r, &mut block, width);
    }
    let upper = Matrix::from_fn(columns, columns, |i, j| r[i * width + j]);
    let right = (0..columns).map(|i| r[i * width + columns]).collect();
    (upper, right)
}

/// R ← that of [R; rows], by reflections that leave zeros in all columns of the rows but the last.
fn take_up(r: &mut [f64], rows: &mut [f64], width: usize) {
    let mut products = vec![0.0; width];
    for (column, own) in r.chunks_exact_mut(width).enumerate().take(width - 1) {
        let below: f64 = rows
            .chunks_exact(width)
            .map(|row| row[column] * row[column])
            .sum();
        if below == 0.0 {
            continue;
        }
        // v = own + sign·length on the diagonal, the rows below; H = I − 2·v·vᵀ/|v|².
        let length = (own[column] * own[column] + below).sqrt();
        let first = own[column] + length.copysign(own[column]);
        let beta = 2.0 / (first * first + below);
        let rest = column..width;
        for (product, entry) in products[rest.clone()].iter_mut().zip(&own[rest.clone()]) {
            *product = first * entry;
        }
        for row in rows.chunks_exact(width) {
            let factor = row[column];
            for (product, entry) in products[rest.clone()].iter_mut().zip(&row[rest.clone()]) {
                *product += factor * entry;
            }
        }
        for (entry, product) in own[rest.clone()].iter_mut().zip(&products[rest.clone()]) {
            *entry -= beta * first * product;
        }
        for row in rows.chunks_exact_mut(width) {
            let factor = beta * row[column];
            for (entry, product) in row[rest.clone()].iter_mut().zip(&products[rest.clone()]) {
                *entry -= factor * product;
            }
        }
    }
}

/// x that makes ‖A·x − b‖ least, with zeros for columns that depend on others.
pub fn least_squares(matrix: &Matrix, b: &[f64]) -> Vec<f64> {
    let part = f64::EPSILON * matrix.rows().max(matrix.columns()) as f64;
    Qr::new(matrix).solve(b, part)
}

fn longest_column(packed: &Matrix, step: usize) -> usize {
    let length = |column: usize| {
        let below: Vec<f64> = (step..packed.rows()).map(|i| packed[(i, column)]).collect();
        norm(&below)
    };
    let mut pivot = step;
    let mut longest = length(step);
    for column in step + 1..packed.columns() {
        let candidate = length(column);
        if candidate > longest {
            (pivot, longest) = (column, candidate);
        }
    }
    pivot
}

fn swap_columns(matrix: &mut Matrix, a: usize, b: usize) {
    for i in 0..matrix.rows() {
        matrix.row_mut(i).swap(a, b);
    }
}

/// Make the reflection that clears a column below the diagonal, apply it to the columns after it, and give its β.
fn reflect(packed: &mut Matrix, step: usize) -> f64 {
    let rows = packed.rows();
    let column: Vec<f64> = (step..rows).map(|i| packed[(i, step)]).collect();
    let length = norm(&column);
    if length == 0.0 {
        return 0.0;
    }
    let first = column[0];
    let diagonal = if first > 0.0 { -length } else { length };
    let head = first - diagonal;
    let beta = -head / diagonal;
    let mut v = vec![1.0; rows - step];
    for i in 1..v.len() {
        v[i] = column[i] / head;
        packed[(step + i, step)] = v[i];
    }
    packed[(step, step)] = diagonal;
    for j in step + 1..packed.columns() {
        let mut sum = 0.0;
        for i in 0..v.len() {
            sum += v[i] * packed[(step + i, j)];
        }
        for i in 0..v.len() {
            packed[(step + i, j)] -= beta * sum * v[i];
        }
    }
    beta
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_near, random_matrix};
    use super::super::{dot, transpose_times};
    use super::*;

    #[test]
    fn products_of_columns_are_kept() {
        for (rows, columns) in [(7, 4), (4, 4), (3, 5)] {
            let a = random_matrix(rows, columns, 11);
            let r = Qr::new(&a).r_in_order();
            assert_near(&r.gram(), &a.gram(), 1e-13);
        }
    }

    #[test]
    fn rows_taken_up_in_blocks_leave_the_same_triangle() {
        for (rows, columns) in [(1, 1), (3, 5), (64, 4), (65, 4), (300, 7)] {
            let a = random_matrix(rows, columns, 11);
            let b = random_matrix(rows, 1, 12).column(0);
            let (r, q) = reduce(&a, &vec![1.0; columns], &b);
            let tolerance = 1e-13 * (10 + rows) as f64;
            assert_near(&r.gram(), &a.gram(), tolerance);
            let products = transpose_times(&r, &q);
            for (product, expected) in products.iter().zip(transpose_times(&a, &b)) {
                assert!((product - expected).abs() < tolerance, "{rows}");
            }
            for i in 0..columns {
                assert!((0..i).all(|j| r[(i, j)].abs() < 1e-12));
            }
            let scales: Vec<f64> = (1..=columns).map(|k| 1e40_f64.powf(k as f64)).collect();
            let wide = Matrix::from_fn(rows, columns, |i, j| a[(i, j)] * scales[j]);
            let (again, _) = reduce(&wide, &scales, &b);
            assert_near(&again.gram(), &a.gram(), tolerance);
        }
    }

    #[test]
    fn residuals_of_least_squares_are_orthogonal_to_the_columns() {
        let a = random_matrix(10, 4, 5);
        let b: Vec<f64> = (0..10).map(f64::from).collect();
        let x = least_squares(&a, &b);
        let mut rest = a.times(&x);
        for (rest, b) in rest.iter_mut().zip(&b) {
            *rest -= b;
        }
        assert!(norm(&transpose_times(&a, &rest)) < 1e-12);
    }

    #[test]
    fn columns_that_depend_on_others_are_found() {
        let a = random_matrix(8, 3, 2);
        let b = Matrix::from_fn(8, 4, |i, j| {
            if j < 3 {
                a[(i, j)]
            } else {
                a[(i, 0)] - 2.0 * a[(i, 1)]
            }
        });
        let qr = Qr::new(&b);
        assert_eq!(qr.rank(1e-12), 3);
        let x = qr.solve(&b.column(3), 1e-12);
        let again = b.times(&x);
        let target = b.column(3);
        let error: Vec<f64> = again.iter().zip(&target).map(|(a, b)| a - b).collect();
        assert!(dot(&error, &error) < 1e-24);
    }

    #[test]
    fn a_matrix_of_zeros_has_rank_zero() {
        let qr = Qr::new(&Matrix::zeros(3, 2));
        assert_eq!(qr.rank(1e-12), 0);
        assert_eq!(qr.solve(&[1.0, 1.0, 1.0], 1e-12), [0.0, 0.0]);
    }
}
