//! The section of an elliptic cone: frictional forces at a given normal force.
//!
//! ½·tᵀ·A·t + b·t with Σ (t(k)/μ(k))² ≤ n² is minimal, in scaled forces x = t/μ with A and b scaled alike, where
//!
//!   (A + λ)·x = −b,   λ = 0 and |x| ≤ n, or λ > 0 and |x| = n                             (1)
//!
//! On the boundary its derivatives follow from (A + λ)·dx + x·dλ = −dA·x − db and x·dx = n·dn: with g = (A + λ)⁻¹·x̄,
//! h = (A + λ)⁻¹·x and κ = (g·x)/(h·x), or κ = 0 inside,
//!
//!   b̄ = κ·h − g,   Ā = b̄·xᵀ,   n̄ = κ·n                                                    (1̄)

use crate::math::MIN_LENGTH;
use crate::scalar::Scalar;

/// Maximum of frictional rows of a block: two tangents, one spin, two rolls.
pub(super) const MAX_FRICTION_ROWS: usize = 5;
/// Accuracy of the radius in (1), and by how much an update may raise the cost.
pub(super) const CONE_TOLERANCE: f64 = 1e-10;
/// Maximum of Newton iterations of (1).
const MAX_CONE_ITERATIONS: usize = 20;

/// A, b and μ of a section, or cotangents of them.
#[derive(Clone, Copy)]
pub(super) struct Cone<T: Scalar> {
    pub(super) count: usize,
    pub(super) matrix: [[T; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS],
    pub(super) linear: [T; MAX_FRICTION_ROWS],
    pub(super) friction: [T; MAX_FRICTION_ROWS],
}

impl<T: Scalar> Cone<T> {
    /// The forces at the minimum, and by how much they change the cost of the given ones, whose residuals are given.
    pub(super) fn renew(
        &self,
        normal: T,
        forces: &[T],
        residual: &[T; MAX_FRICTION_ROWS],
    ) -> ([T; MAX_FRICTION_ROWS], f64) {
        let renewed = if normal.value() < MIN_LENGTH {
            [T::ZERO; MAX_FRICTION_ROWS]
        } else {
            self.minimize(normal)
        };
        let mut cost = 0.0;
        for row in 0..self.count {
            let change = renewed[row] - forces[row];
            let mut pull = residual[row];
            for other in 0..self.count {
                pull += self.matrix[row][other] * (renewed[other] - forces[other]) * 0.5;
            }
            cost += (change * pull).value();
        }
        (renewed, cost)
    }

    /// The minimum; zero where the matrix is close to singular. (1)
    fn minimize(&self, normal: T) -> [T; MAX_FRICTION_ROWS] {
        let found = if T::HAS_DERIVATIVES {
            self.differentiate(normal)
        } else {
            self.search(normal)
        };
        let Some((multiplier, solution)) = found else {
            return [T::ZERO; MAX_FRICTION_ROWS];
        };
        let mut stretch = T::ONE;
        if multiplier.value() != 0.0 {
            // On the boundary, exactly.
            let square = dot(&solution, &solution, self.count).max(T::from(MIN_LENGTH));
            stretch = (normal * normal / square).sqrt();
        }
        let forces = std::array::from_fn(|row| solution[row] * stretch * self.friction[row]);
        if !T::HAS_DERIVATIVES {
            return forces;
        }
        // Later blocks start from these: from the same values as over plain numbers.
        let plain = self.values().minimize(normal.value());
        std::array::from_fn(|row| forces[row].with_value(plain[row]))
    }

    /// As [`search`](Self::search), for the values; then one more Newton step, which carries the tangents.
    fn differentiate(&self, normal: T) -> Option<(T, [T; MAX_FRICTION_ROWS])> {
        // The multiplier over plain numbers, to rounding; its tangents by one more Newton step.
        let values = self.values();
        let (found, _) = values.search(normal.value())?;
        let mut multiplier = T::ZERO;
        if found != 0.0 {
            multiplier = T::from(values.polish(normal.value(), found));
            let (_, [excess, slope]) = self.evaluate(normal, multiplier)?;
            multiplier -= excess / slope;
        }
        let (solution, _) = self.evaluate(normal, multiplier)?;
        Some((multiplier, solution))
    }

    /// λ and the scaled forces x there; none where the matrix is close to singular.
    fn search(&self, normal: T) -> Option<(T, [T; MAX_FRICTION_ROWS])> {
        let mut multiplier = T::ZERO;
        let mut solution = [T::ZERO; MAX_FRICTION_ROWS];
        for _ in 0..MAX_CONE_ITERATIONS {
            let excess;
            let slope;
            (solution, [excess, slope]) = self.evaluate(normal, multiplier)?;
            if excess.value() < CONE_TOLERANCE {
                break;
            }
            // Newton from below: |x|² falls with λ and is convex, so steps never overshoot.
            let step = -excess / slope;
            if step.value() < CONE_TOLERANCE {
                break;
            }
            multiplier += step;
        }
        Some((multiplier, solution))
    }

    /// x at λ, and |x|² − normal² with its slope.
    fn evaluate(&self, normal: T, multiplier: T) -> Option<([T; MAX_FRICTION_ROWS], [T; 2])> {
        let n = self.count;
        let factor = self.factor(multiplier)?;
        let scaled = std::array::from_fn(|row| -self.linear[row] * self.friction[row]);
        let solution = solve(&factor, n, scaled);
        let excess = dot(&solution, &solution, n) - normal * normal;
        let slope = dot(&solution, &solve(&factor, n, solution), n) * -2.0;
        Some((solution, [excess, slope]))
    }

    fn values(&self) -> Cone<f64> {
        Cone {
            count: self.count,
            matrix: self.matrix.map(|row| row.map(T::value)),
            linear: self.linear.map(T::value),
            friction: self.friction.map(T::value),
        }
    }

    /// Cholesky factor of A + λ in scaled forces.
    fn factor(&self, multiplier: T) -> Option<[[T; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS]> {
        let mut factor = [[T::ZERO; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS];
        let mut determinant = 1.0;
        for row in 0..self.count {
            for column in 0..=row {
                let scale = self.friction[row] * self.friction[column];
                let mut entry = self.matrix[row][column] * scale;
                if row == column {
                    entry += multiplier;
                }
                for k in 0..column {
                    entry -= factor[row][k] * factor[column][k];
                }
                factor[row][column] = if row == column {
                    if entry.value() <= 0.0 || self.count > 3 && entry.value() < CONE_TOLERANCE {
                        return None;
                    }
                    determinant *= entry.value();
                    entry.sqrt()
                } else {
                    entry / factor[column][column]
                };
            }
        }
        // Small systems are judged by their determinant, as in MuJoCo.
        (self.count > 3 || determinant >= CONE_TOLERANCE).then_some(factor)
    }
}

impl Cone<f64> {
    /// λ as exact as rounding allows, from one that is nearly so.
    fn polish(&self, normal: f64, mut multiplier: f64) -> f64 {
        for _ in 0..MAX_CONE_ITERATIONS {
            let Some((_, [excess, slope])) = self.evaluate(normal, multiplier) else {
                break;
            };
            let step = -excess / slope;
            multiplier += step;
            if step.abs() <= f64::EPSILON * multiplier {
                break;
            }
        }
        multiplier
    }

    /// The twin of [`minimize`](Self::minimize): cotangents of A, b and μ, and of the normal force. (1̄)
    pub(super) fn minimize_vjp(&self, normal: f64, bar: &[f64]) -> (Self, f64) {
        let n = self.count;
        let mut out = Self {
            count: n,
            matrix: [[0.0; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS],
            linear: [0.0; MAX_FRICTION_ROWS],
            friction: [0.0; MAX_FRICTION_ROWS],
        };
        let Some((mut multiplier, _)) = self.search(normal) else {
            return (out, 0.0);
        };
        // Inside the section λ is zero and the normal force does not matter.
        let on_boundary = multiplier != 0.0;
        if on_boundary {
            multiplier = self.polish(normal, multiplier);
        }
        let Some(((x, _), factor)) = self
            .evaluate(normal, multiplier)
            .zip(self.factor(multiplier))
        else {
            return (out, 0.0);
        };
        let friction = &self.friction;
        let mut x_bar = [0.0; MAX_FRICTION_ROWS];
        for (row, &bar) in bar.iter().enumerate() {
            x_bar[row] = friction[row] * bar;
            out.friction[row] = x[row] * bar;
        }
        // x = −(A + λ)⁻¹·b: to b, and on the boundary through λ to the normal force. (1̄)
        let mut linear_bar = solve(&factor, n, x_bar).map(|g| -g);
        let mut normal_bar = 0.0;
        if on_boundary {
            let h = solve(&factor, n, x);
            let share = -dot(&linear_bar, &x, n) / dot(&h, &x, n);
            for (bar, h) in linear_bar.iter_mut().zip(h) {
                *bar += share * h;
            }
            normal_bar = share * normal;
        }
        // A and b were scaled by the frictions.
        for i in 0..n {
            out.linear[i] = friction[i] * linear_bar[i];
            out.friction[i] += self.linear[i] * linear_bar[i];
            for j in 0..n {
                let entry_bar = linear_bar[i] * x[j];
                out.matrix[i][j] = friction[i] * friction[j] * entry_bar;
                out.friction[i] += entry_bar * self.matrix[i][j] * friction[j];
                out.friction[j] += entry_bar * self.matrix[i][j] * friction[i];
            }
        }
        (out, normal_bar)
    }
}

/// L⁻ᵀ·L⁻¹·x.
fn solve<T: Scalar>(
    factor: &[[T; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS],
    n: usize,
    mut x: [T; MAX_FRICTION_ROWS],
) -> [T; MAX_FRICTION_ROWS] {
    for row in 0..n {
        for k in 0..row {
            let below = factor[row][k] * x[k];
            x[row] -= below;
        }
        x[row] /= factor[row][row];
    }
    for row in (0..n).rev() {
        for k in row + 1..n {
            let above = factor[k][row] * x[k];
            x[row] -= above;
        }
        x[row] /= factor[row][row];
    }
    x
}

fn dot<T: Scalar>(a: &[T; MAX_FRICTION_ROWS], b: &[T; MAX_FRICTION_ROWS], n: usize) -> T {
    let mut sum = T::ZERO;
    for k in 0..n {
        sum += a[k] * b[k];
    }
    sum
}
