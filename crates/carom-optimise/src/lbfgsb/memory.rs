//! The Hessian's model from the last steps, in compact form [Byrd 1995, eq. 3.2].
//!
//!   B = θ·I − W·M·Wᵀ,   W = [Y  θ·S],   M⁻¹ = [−D  Lᵀ; L  θ·SᵀS]   (1)
//!
//! S holds the steps, Y the changes of the gradient, D and L the diagonal and the part below it of Sᵀ·Y.

use serde::{Deserialize, Serialize};

use crate::linalg::{Matrix, Qr, dot, norm, transpose_times};

/// Steps, changes of gradients, and the model that they make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    steps: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
    pub(super) theta: f64,
    /// W, a row for each coordinate.
    pub(super) w: Matrix,
    /// M.
    pub(super) m: Matrix,
}

/// Pivots below this fraction of the largest make M useless.
const MIN_PIVOT: f64 = 1e-15;

impl Memory {
    /// No memory: B = I.
    pub(super) fn new(size: usize) -> Self {
        Self {
            steps: Vec::new(),
            changes: Vec::new(),
            theta: 1.0,
            w: Matrix::zeros(size, 0),
            m: Matrix::zeros(0, 0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Remember a step and the change of the gradient, if they show a curvature that is positive.
    pub(super) fn remember(&mut self, mut step: Vec<f64>, mut change: Vec<f64>, most: usize) {
        // The length of a pair does not matter, but steps of all lengths in one matrix would make it look singular.
        let length = norm(&step);
        for entry in step.iter_mut().chain(&mut change) {
            *entry /= length;
        }
        let (curvature, square) = (dot(&step, &change), dot(&change, &change));
        let usable = curvature > f64::EPSILON * square && curvature.is_finite();
        if !usable {
            return;
        }
        if self.steps.len() >= most.max(1) {
            self.steps.remove(0);
            self.changes.remove(0);
        }
        self.steps.push(step);
        self.changes.push(change);
        self.theta = square / curvature;
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let (size, count) = (self.steps[0].len(), self.steps.len());
        let (s, y, theta) = (&self.steps, &self.changes, self.theta);
        self.w = Matrix::from_fn(size, 2 * count, |i, j| {
            if j < count {
                y[j][i]
            } else {
                theta * s[j - count][i]
            }
        });
        let inverse = Matrix::from_fn(2 * count, 2 * count, |i, j| {
            let (a, b) = (i % count, j % count);
            match (i < count, j < count) {
                (true, true) if a == b => -dot(&s[a], &y[a]),
                (true, false) if b > a => dot(&s[b], &y[a]),
                (false, true) if a > b => dot(&s[a], &y[b]),
                (false, false) => theta * dot(&s[a], &s[b]),
                _ => 0.0,
            }
        }); // (1)
        match invert(&inverse) {
            Some(m) => self.m = m,
            None => *self = Self::new(size),
        }
    }

    /// M·v.
    pub(super) fn m_times(&self, v: &[f64]) -> Vec<f64> {
        self.m.times(v)
    }

    /// Wᵀ·v.
    pub(super) fn w_transpose_times(&self, v: &[f64]) -> Vec<f64> {
        transpose_times(&self.w, v)
    }

    /// B·v.
    #[cfg(test)]
    pub(super) fn b_times(&self, v: &[f64]) -> Vec<f64> {
        let inner = self.w.times(&self.m_times(&self.w_transpose_times(v)));
        v.iter()
            .zip(&inner)
            .map(|(v, w)| self.theta * v - w)
            .collect()
    }
}

/// The inverse of a square matrix; `None` if it is singular or not finite.
pub(super) fn invert(matrix: &Matrix) -> Option<Matrix> {
    let size = matrix.rows();
    let qr = Qr::new(matrix);
    if qr.rank(MIN_PIVOT) < size {
        return None;
    }
    let mut inverse = Matrix::zeros(size, size);
    for column in 0..size {
        let mut unit = vec![0.0; size];
        unit[column] = 1.0;
        for (row, value) in qr.solve(&unit, 0.0).into_iter().enumerate() {
            inverse[(row, column)] = value;
        }
    }
    inverse
        .data()
        .iter()
        .all(|entry| entry.is_finite())
        .then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::testing::{assert_near, random_matrix};

    /// A memory of exact changes of a quadratic's gradient.
    pub(crate) fn of_quadratic(hessian: &Matrix, count: usize, most: usize) -> Memory {
        let size = hessian.rows();
        let steps = random_matrix(count, size, 9);
        let mut memory = Memory::new(size);
        for i in 0..count {
            let step = steps.row(i).to_vec();
            let change = hessian.times(&step);
            memory.remember(step, change, most);
        }
        memory
    }

    #[test]
    fn the_last_step_gives_the_last_change() {
        let hessian = random_matrix(9, 6, 4).gram();
        let memory = of_quadratic(&hessian, 7, 4);
        let (step, change) = (&memory.steps[3], &memory.changes[3]);
        for (a, b) in memory.b_times(step).iter().zip(change) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }

    #[test]
    fn steps_of_very_different_lengths_are_all_remembered() {
        let hessian = random_matrix(9, 6, 4).gram();
        let directions = random_matrix(5, 6, 2);
        let mut memory = Memory::new(6);
        for i in 0..5 {
            let length = 10.0_f64.powi(-4 * i32::try_from(i).unwrap());
            let step: Vec<f64> = directions.row(i).iter().map(|d| d * length).collect();
            let change = hessian.times(&step);
            memory.remember(step, change, 10);
        }
        assert_eq!(memory.m.rows(), 10);
    }

    #[test]
    fn steps_of_negative_curvature_are_not_remembered() {
        let mut memory = Memory::new(2);
        memory.remember(vec![1.0, 0.0], vec![-1.0, 0.0], 5);
        memory.remember(vec![1.0, 0.0], vec![0.0, 0.0], 5);
        assert!(memory.is_empty());
    }

    #[test]
    fn inverses() {
        let a = random_matrix(5, 5, 8);
        let product = a.times_matrix(&invert(&a).unwrap());
        assert_near(&product, &Matrix::identity(5), 1e-12);
        assert_eq!(invert(&Matrix::zeros(2, 2)), None);
    }
}
