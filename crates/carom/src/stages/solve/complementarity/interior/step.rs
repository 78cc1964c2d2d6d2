//! One Newton step along a path: its system, its direction and its length.

use super::{Admitted, BlockMatrix, Interior, Step, product};
use crate::laws::cone::MAX_ROWS;

/// A predictor step that gets less far than this corrects nothing.
const MIN_PREDICTOR_STEP: f64 = 0.1;
/// Share of the inverse inertia that is added to R in the linear system, so that shared loads leave it regular.
const SYSTEM_REGULARIZATION: f64 = 1e-12;
/// Smallest distance to bounds and cones, relative to them: two ulps.
const MIN_BOUND_DISTANCE: f64 = 4e-16;

impl Interior {
    /// One step that predicts and corrects; its length.
    pub(super) fn advance(&mut self, kappa: f64, most: f64) -> f64 {
        // Predict: straight to κ = 0.
        self.find_step(0.0, false);
        std::mem::swap(&mut self.step, &mut self.affine);
        let reach = self.reach(&self.affine).min(1.0);
        let share = (1.0 - reach).powi(3).max(1e-10);
        // Correct: κ by how far the prediction got, with its products of second order.
        let corrects = reach > MIN_PREDICTOR_STEP;
        self.find_step(if corrects { share } else { 0.3 } * kappa, corrects);
        let mut length = (most * self.reach(&self.step)).min(1.0);
        if length < 0.5 {
            // Short: go to the centre of the path first.
            std::mem::swap(&mut self.step, &mut self.affine);
            self.find_step(share.max(0.5) * kappa, false);
            let other = (most * self.reach(&self.step)).min(1.0);
            if other > length {
                length = other;
            } else {
                std::mem::swap(&mut self.step, &mut self.affine);
            }
        }
        self.take_step(length);
        length
    }

    /// P and Q of all blocks, and the factors of (3).
    pub(super) fn linearize(&mut self) -> bool {
        self.factor.start_from_identity(self.momentum.len());
        self.inverse.clear();
        self.slope.clear();
        for index in 0..self.members.len() {
            let member = self.members[index];
            let (inverse, slope) = self.linearize_block(index);
            self.inverse.push(inverse);
            self.slope.push(slope);
            for column in 0..member.column_count {
                let mut image = [0.0; MAX_ROWS];
                for (row, slope) in slope[..member.count].iter().enumerate() {
                    for (other, &entry) in slope[..member.count].iter().enumerate() {
                        let place = member.value + other * member.column_count + column;
                        image[row] += entry * self.values[place];
                    }
                }
                let target = self.columns[member.column + column];
                for (place, &dof) in self.columns[member.column..][..member.column_count]
                    .iter()
                    .enumerate()
                {
                    let mut sum = 0.0;
                    for (row, &image) in image[..member.count].iter().enumerate() {
                        sum +=
                            image * self.values[member.value + row * member.column_count + place];
                    }
                    self.factor.row_mut(dof)[target] += sum;
                }
            }
        }
        self.factor.factor()
    }

    /// (P + Q·R)⁻¹ and T of a block. (2)
    fn linearize_block(&self, index: usize) -> (BlockMatrix, BlockMatrix) {
        let member = &self.members[index];
        let (count, start, slack) = (member.count, member.row, self.slack[index]);
        let (x, y) = (self.x[start], self.y[start]);
        let give =
            |row: usize| self.give(start + row) + SYSTEM_REGULARIZATION * self.own[start + row];
        let (mut inverse, mut slope) = ([[0.0; MAX_ROWS]; MAX_ROWS], [[0.0; MAX_ROWS]; MAX_ROWS]);
        match member.admitted {
            Admitted::All => {
                for row in 0..count {
                    inverse[row][row] = give(row).recip();
                    slope[row][row] = inverse[row][row];
                }
            }
            Admitted::Within(bound) => {
                inverse[0][0] = (y / (bound + x) + slack / (bound - x) + give(0)).recip();
                slope[0][0] = inverse[0][0];
            }
            Admitted::Push => {
                inverse[0][0] = (y + x * give(0)).recip();
                slope[0][0] = inverse[0][0] * x;
            }
            Admitted::Cone => {
                let mut image = [[0.0; MAX_ROWS]; MAX_ROWS];
                let mut matrix = [[0.0; MAX_ROWS]; MAX_ROWS];
                image[0][0] = x;
                matrix[0][0] = y + x * give(0);
                for i in 1..count {
                    let (xi, yi) = (self.x[start + i], self.y[start + i]);
                    matrix[i][0] = yi - xi * slack / x;
                    for j in 1..count {
                        let (xj, yj) = (self.x[start + j], self.y[start + j]);
                        let same = f64::from(u8::from(i == j));
                        image[i][j] = x * same - xi * xj / x;
                        matrix[i][j] = slack * same - xi * yj / x + image[i][j] * give(j);
                    }
                }
                inverse = invert(matrix, count);
                for i in 0..count {
                    for j in 0..count {
                        slope[i][j] =
                            (0..count).fold(0.0, |sum, k| sum + inverse[i][k] * image[k][j]);
                    }
                }
            }
        }
        (inverse, slope)
    }

    /// c of a block for κ, and the right-hand side of the second equation of (1).
    fn wanted(&self, index: usize, kappa: f64, corrects: bool) -> ([f64; MAX_ROWS], f64) {
        let member = &self.members[index];
        let (row, slack) = (member.row, self.slack[index]);
        let (x, y) = (self.x[row], self.y[row]);
        let once = f64::from(u8::from(corrects));
        let (dx, dy) = (self.affine.x[row] * once, self.affine.y[row]);
        let dslack = self.affine.slack[index];
        let mut wanted = [0.0; MAX_ROWS];
        let mut second = 0.0;
        match member.admitted {
            Admitted::All => {}
            Admitted::Within(bound) => {
                let (below, above) = (bound + x, bound - x);
                wanted[0] = (kappa - dx * dy) / below - y - ((kappa + dx * dslack) / above - slack);
            }
            Admitted::Push => wanted[0] = kappa - x * y - dx * dy,
            Admitted::Cone => {
                wanted[0] = kappa - x * y - dx * dy;
                second = kappa - x * slack - dx * dslack;
                for tangent in row + 1..row + member.count {
                    let step = self.affine.x[tangent] * once;
                    second -= self.x[tangent] * self.y[tangent] + step * self.affine.y[tangent];
                }
                for j in 1..member.count {
                    let (xj, yj) = (self.x[row + j], self.y[row + j]);
                    let step = self.affine.x[row + j] * once;
                    let products = dslack * step + dx * self.affine.y[row + j];
                    wanted[j] = -(slack * xj + x * yj) - products - xj * second / x;
                }
            }
        }
        (wanted, second)
    }

    /// Solves (3) for κ; with `corrects`, for the products of the affine step as well.
    fn find_step(&mut self, kappa: f64, corrects: bool) {
        let rows = self.x.len();
        for step in [&mut self.step, &mut self.affine] {
            step.x.resize(rows, 0.0);
            step.y.resize(rows, 0.0);
            step.slack.resize(self.members.len(), 0.0);
        }
        self.right.clear();
        for (index, member) in self.members.iter().enumerate() {
            let (wanted, _) = self.wanted(index, kappa, corrects);
            let gap = &self.gap[member.row..][..member.count];
            for row in 0..member.count {
                let own = product(&self.inverse[index][row][..member.count], &wanted);
                let given = product(&self.slope[index][row][..member.count], gap);
                self.right.push(own - given);
            }
        }
        self.gather(|this, row| this.right[row]);
        self.scratch.resize(self.momentum.len(), 0.0);
        self.factor.solve(&mut self.momentum, &mut self.scratch);
        for index in 0..self.members.len() {
            self.expand_step(index, kappa, corrects);
        }
    }

    /// dx, dy and dψ of a block from dz.
    fn expand_step(&mut self, index: usize, kappa: f64, corrects: bool) {
        let member = self.members[index];
        let (count, start) = (member.count, member.row);
        let mut along = [0.0; MAX_ROWS];
        for (row, along) in along[..count].iter_mut().enumerate() {
            *along = self.along(&member, row);
        }
        for row in 0..count {
            let change = product(&self.slope[index][row][..count], &along);
            let dx = self.right[start + row] - change;
            self.step.x[start + row] = dx;
            self.step.y[start + row] =
                along[row] + self.give(start + row) * dx + self.gap[start + row];
        }
        let (x, y, slack) = (self.x[start], self.y[start], self.slack[index]);
        let dx = self.step.x[start];
        match member.admitted {
            Admitted::All | Admitted::Push => {}
            Admitted::Within(bound) => {
                let once = f64::from(u8::from(corrects)) * self.affine.x[start];
                let below = (kappa - once * self.affine.y[start] - y * dx) / (bound + x);
                let above = (kappa + once * self.affine.slack[index] + slack * dx) / (bound - x);
                self.step.y[start] = below - y;
                self.step.slack[index] = above - slack;
            }
            Admitted::Cone => {
                let (_, second) = self.wanted(index, kappa, corrects);
                let rows = start + 1..start + count;
                let products = product(&self.x[rows.clone()], &self.step.y[rows.clone()])
                    + product(&self.y[rows.clone()], &self.step.x[rows]);
                self.step.slack[index] = (second - slack * dx - products) / x;
            }
        }
    }

    /// How much of a step reaches the first bound.
    fn reach(&self, step: &Step) -> f64 {
        let mut least = f64::INFINITY;
        for (index, member) in self.members.iter().enumerate() {
            let (row, slack, dslack) = (member.row, self.slack[index], step.slack[index]);
            let (x, y, dx, dy) = (self.x[row], self.y[row], step.x[row], step.y[row]);
            match member.admitted {
                Admitted::All => {}
                Admitted::Within(bound) => {
                    for (value, rate) in
                        [(bound + x, dx), (bound - x, -dx), (y, dy), (slack, dslack)]
                    {
                        least = least.min(time_to_zero(value, rate));
                    }
                }
                Admitted::Push => least = least.min(time_to_zero(x, dx)).min(time_to_zero(y, dy)),
                Admitted::Cone => {
                    let rows = row + 1..row + member.count;
                    let impulse =
                        time_to_cone((x, &self.x[rows.clone()]), (dx, &step.x[rows.clone()]));
                    let speed =
                        time_to_cone((slack, &self.y[rows.clone()]), (dslack, &step.y[rows]));
                    least = least.min(time_to_zero(y, dy)).min(impulse).min(speed);
                }
            }
        }
        least
    }

    fn take_step(&mut self, length: f64) {
        let Self { step, .. } = self;
        for (list, step) in [
            (&mut self.x, &step.x),
            (&mut self.y, &step.y),
            (&mut self.slack, &step.slack),
        ] {
            for (value, step) in list.iter_mut().zip(step) {
                *value += length * step;
            }
        }
        // Rounding must not leave bounds and cones.
        for (index, member) in self.members.iter().enumerate() {
            if let Admitted::Within(bound) = member.admitted {
                let most = bound * (1.0 - MIN_BOUND_DISTANCE);
                self.x[member.row] = self.x[member.row].clamp(-most, most);
            }
            if member.admitted != Admitted::Cone {
                continue;
            }
            let rows = member.row + 1..member.row + member.count;
            let tangents = &mut self.x[rows.clone()];
            let length = product(tangents, tangents).sqrt();
            let most = self.x[member.row] * (1.0 - MIN_BOUND_DISTANCE);
            if length > most {
                self.x[rows.clone()]
                    .iter_mut()
                    .for_each(|x| *x *= most / length);
            }
            let speed = product(&self.y[rows.clone()], &self.y[rows]).sqrt();
            self.slack[index] = self.slack[index].max(speed * (1.0 + MIN_BOUND_DISTANCE));
        }
    }
}

fn time_to_zero(value: f64, rate: f64) -> f64 {
    if rate < 0.0 {
        -value / rate
    } else {
        f64::INFINITY
    }
}

/// When a point of the cone |x| ≤ x(0) that moves along a line leaves it.
fn time_to_cone(point: (f64, &[f64]), rate: (f64, &[f64])) -> f64 {
    let a = rate.0 * rate.0 - product(rate.1, rate.1);
    let b = point.0 * rate.0 - product(point.1, rate.1);
    let length = product(point.1, point.1).sqrt();
    let c = (point.0 - length) * (point.0 + length);
    let mut first = time_to_zero(point.0, rate.0);
    let discriminant = b * b - a * c;
    if discriminant >= 0.0 {
        // a·t² + 2·b·t + c = 0 without cancellation.
        let sum = -(b + discriminant.sqrt().copysign(b));
        for root in [sum / a, c / sum] {
            if root > 0.0 {
                first = first.min(root);
            }
        }
    }
    first
}

/// The inverse, by elimination with exchanges of rows.
fn invert(mut matrix: BlockMatrix, count: usize) -> BlockMatrix {
    let mut inverse = [[0.0; MAX_ROWS]; MAX_ROWS];
    for row in 0..count {
        inverse[row][row] = 1.0;
    }
    for step in 0..count {
        let greatest = (step..count).fold(step, |best, row| {
            if matrix[row][step].abs() > matrix[best][step].abs() {
                row
            } else {
                best
            }
        });
        matrix.swap(step, greatest);
        inverse.swap(step, greatest);
        let scale = matrix[step][step].recip();
        for column in 0..count {
            matrix[step][column] *= scale;
            inverse[step][column] *= scale;
        }
        let (source, source_inverse) = (matrix[step], inverse[step]);
        for row in (0..count).filter(|&row| row != step) {
            let factor = matrix[row][step];
            for column in 0..count {
                matrix[row][column] -= factor * source[column];
                inverse[row][column] -= factor * source_inverse[column];
            }
        }
    }
    inverse
}
