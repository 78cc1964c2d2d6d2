//! Coulomb friction at one contact: the problem that a sweep over all contacts solves again and again.
//!
//! Velocities u = A·λ + b of the contact's directions (normal, tangents, spin, rolls) follow from its impulse λ and
//! from b, the velocities without it (targets taken off). Sought is λ with [Acary 2011]
//!
//!   0 ≤ λ(0) ⟂ u(0) ≥ 0,   Σ (λ(j)/μ(j))² ≤ λ(0)²                                      (1)
//!   λ(j) = −λ(0)·μ(j)·w(j)/|w|,  w(j) = μ(j)·u(j),  wherever w ≠ 0                       (2)
//!
//! (2) is the impulse that takes most energy. In units of x(j) = λ(j)/μ(j) the cone is circular. Unless b(0) ≥ 0, where
//! λ = 0 does, the normal velocity is zero; eliminating x(0) leaves the tangents with the matrix S = Ã − ã·ãᵀ/α, and
//! in its eigenbasis w = −γ·x reads
//!
//!   x(k) = −c(k)/(s(k) + γ),   x(0) = −(b(0) + ã·x)/α                                   (3)
//!
//! γ = 0 is sticking. If that is outside of the cone, the contact slides with the γ > 0 at which |x| = x(0): there is
//! one, since for great γ the tangents vanish and x(0) → −b(0)/α > 0. It is found to rounding by Newton's method within
//! a bracket.

use crate::linalg::symmetric_eigen;

/// The most directions of a contact.
pub const MAX_ROWS: usize = 6;
/// The most directions of friction.
const TANGENTS: usize = MAX_ROWS - 1;

/// Inverse inertias below this count as none: nothing moves the contact.
const MIN_INVERSE_INERTIA: f64 = 1e-15;
/// Eigenvalues are kept above this share of the greatest diagonal entry, so that directions that nothing moves do no harm.
const MIN_EIGENVALUE: f64 = 1e-13;

/// What a contact does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMode {
    /// No impulse.
    #[default]
    Separating,
    /// The impulse stops all motion.
    Sticking,
    /// The impulse is on the surface of the cone, against the motion.
    Sliding,
}

/// The problem of one contact, prepared for many right-hand sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoulombContact {
    /// Number of tangents.
    count: usize,
    /// α, the inverse inertia along the normal.
    normal: f64,
    /// Coefficients μ of the tangents.
    friction: [f64; TANGENTS],
    /// ã in the units of x.
    coupling: [f64; TANGENTS],
    /// The same in the eigenbasis of S.
    coupling_eigen: [f64; TANGENTS],
    /// s.
    values: [f64; TANGENTS],
    /// Eigenvectors of S, one a row.
    vectors: [[f64; TANGENTS]; TANGENTS],
}

impl CoulombContact {
    /// Prepares a contact whose directions have the inverse inertia `matrix` and friction coefficients `friction`, one
    /// for each row after the first.
    pub fn new(matrix: &[[f64; MAX_ROWS]; MAX_ROWS], friction: &[f64]) -> Self {
        let count = friction.len().min(TANGENTS);
        let mut contact = Self {
            count,
            normal: matrix[0][0],
            ..Self::default()
        };
        contact.friction[..count].copy_from_slice(&friction[..count]);
        if contact.is_immovable() {
            return contact;
        }
        for j in 0..count {
            contact.coupling[j] = matrix[0][j + 1] * friction[j];
        }
        let mut schur = [[0.0; TANGENTS]; TANGENTS];
        for i in 0..count {
            for j in 0..count {
                schur[i][j] = matrix[i + 1][j + 1] * friction[i] * friction[j]
                    - contact.coupling[i] * contact.coupling[j] / contact.normal;
            }
        }
        let greatest = (0..count).fold(0.0_f64, |most, j| {
            most.max(matrix[j + 1][j + 1] * friction[j] * friction[j])
        });
        let floor = (greatest * MIN_EIGENVALUE).max(f64::MIN_POSITIVE);
        let (values, vectors) = symmetric_eigen(schur, count);
        contact.values = values.map(|value| value.max(floor));
        contact.vectors = vectors;
        contact.coupling_eigen = contact.in_eigenvectors(&contact.coupling);
        contact
    }

    fn is_immovable(&self) -> bool {
        self.normal.is_nan() || self.normal < MIN_INVERSE_INERTIA
    }

    fn in_eigenvectors(&self, tangent: &[f64; TANGENTS]) -> [f64; TANGENTS] {
        let mut rotated = [0.0; TANGENTS];
        for k in 0..self.count {
            for j in 0..self.count {
                rotated[k] += self.vectors[k][j] * tangent[j];
            }
        }
        rotated
    }

    /// Solves for the impulse at the velocities `free` without it. `slip` holds γ of an earlier, similar solution and
    /// receives that of this one.
    pub fn solve(&self, free: &[f64], slip: &mut f64, impulse: &mut [f64]) -> ContactMode {
        let count = self.count;
        impulse[..=count].fill(0.0);
        if free[0] >= 0.0 || self.is_immovable() {
            return ContactMode::Separating;
        }
        if count == 0 {
            impulse[0] = -free[0] / self.normal;
            return ContactMode::Sticking;
        }
        let ratio = free[0] / self.normal;
        let mut tangent = [0.0; TANGENTS];
        for j in 0..count {
            tangent[j] = free[j + 1] * self.friction[j] - self.coupling[j] * ratio;
        }
        let problem = Secular {
            contact: self,
            constant: self.in_eigenvectors(&tangent),
            start: -ratio,
        };
        let at_rest = problem.at(0.0);
        let (point, mode) = if at_rest.gap() <= 0.0 {
            (at_rest, ContactMode::Sticking)
        } else {
            *slip = problem.root(*slip);
            (problem.at(*slip), ContactMode::Sliding)
        };
        let length = point.tangent;
        // Rounding must not leave the cone.
        let scale = match mode {
            ContactMode::Sliding if length > 0.0 => point.normal / length,
            _ => 1.0,
        };
        impulse[0] = point.normal;
        for j in 0..count {
            let sum: f64 = (0..count).map(|k| self.vectors[k][j] * point.x[k]).sum();
            impulse[j + 1] = sum * scale * self.friction[j];
        }
        mode
    }
}

/// (3) as a function of γ.
struct Secular<'a> {
    contact: &'a CoulombContact,
    /// c.
    constant: [f64; TANGENTS],
    /// −b(0)/α.
    start: f64,
}

/// (3) at some γ.
struct Point {
    x: [f64; TANGENTS],
    /// |x| and its derivative by γ.
    tangent: f64,
    tangent_slope: f64,
    /// x(0) and its derivative.
    normal: f64,
    normal_slope: f64,
}

impl Point {
    /// Positive outside of the cone.
    fn gap(&self) -> f64 {
        self.tangent - self.normal
    }
}

impl Secular<'_> {
    fn at(&self, gamma: f64) -> Point {
        let contact = self.contact;
        let mut x = [0.0; TANGENTS];
        let (mut square, mut half_slope) = (0.0, 0.0);
        let (mut normal, mut normal_slope) = (self.start, 0.0);
        for k in 0..contact.count {
            let inverse = (contact.values[k] + gamma).recip();
            x[k] = -self.constant[k] * inverse;
            square += x[k] * x[k];
            half_slope -= x[k] * x[k] * inverse;
            let share = contact.coupling_eigen[k] / contact.normal;
            normal -= share * x[k];
            normal_slope += share * x[k] * inverse;
        }
        let tangent = square.sqrt();
        Point {
            x,
            tangent,
            tangent_slope: half_slope / tangent.max(f64::MIN_POSITIVE),
            normal,
            normal_slope,
        }
    }

    /// γ > 0 with |x| = x(0), given that γ = 0 is outside of the cone.
    fn root(&self, guess: f64) -> f64 {
        let scale = self.contact.values[..self.contact.count]
            .iter()
            .fold(0.0_f64, |most, &value| most.max(value));
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut gamma = if guess > 0.0 && guess.is_finite() {
            guess
        } else {
            scale
        };
        for _ in 0..200 {
            let point = self.at(gamma);
            let gap = point.gap();
            if gap > 0.0 {
                low = gamma;
            } else {
                high = gamma;
            }
            let slope = point.tangent_slope - point.normal_slope;
            let newton = gamma - gap / slope;
            let next = if newton > low && newton < high {
                newton
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                gamma * 8.0
            };
            if (next - gamma).abs() <= 1e-15 * gamma || gap == 0.0 || !next.is_finite() {
                break;
            }
            gamma = next;
        }
        gamma
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn random_problem(random: &mut Random, count: usize) -> ([[f64; 6]; 6], Vec<f64>, Vec<f64>) {
        let root: [[f64; 6]; 6] = std::array::from_fn(|_| random.numbers());
        let matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..6).map(|k| root[k][i] * root[k][j]).sum())
        });
        let friction = (0..count).map(|_| random.between(0.05, 1.5)).collect();
        (matrix, friction, random.vector(count + 1))
    }

    /// (1) and (2) hold to rounding, for all numbers of directions.
    #[test]
    fn impulses_follow_coulomb() {
        let mut random = Random::new(3);
        let mut modes = [0; 3];
        for round in 0..3000 {
            let count = [0, 2, 3, 5][round % 4];
            let (matrix, friction, free) = random_problem(&mut random, count);
            let contact = CoulombContact::new(&matrix, &friction);
            let (mut slip, mut impulse) = (0.0, vec![0.0; count + 1]);
            let mode = contact.solve(&free, &mut slip, &mut impulse);
            modes[mode as usize] += 1;
            let velocity: Vec<f64> = (0..=count)
                .map(|i| free[i] + (0..=count).map(|j| matrix[i][j] * impulse[j]).sum::<f64>())
                .collect();
            let size = 1.0 + impulse[0];
            assert!(impulse[0] >= 0.0 && velocity[0] >= -1e-12 * size);
            assert!(
                impulse[0] * velocity[0].abs() < 1e-11 * size * size,
                "{mode:?}"
            );
            let length =
                |x: &dyn Fn(usize) -> f64| (0..count).map(|j| x(j) * x(j)).sum::<f64>().sqrt();
            let used = length(&|j| impulse[j + 1] / friction[j]);
            assert!(used <= impulse[0] * (1.0 + 1e-14));
            let speed = length(&|j| friction[j] * velocity[j + 1]);
            for j in 0..count {
                let along = friction[j] * friction[j] * velocity[j + 1] * impulse[0];
                let error = (along + impulse[j + 1] * speed).abs();
                assert!(error < 1e-10 * size * size, "{mode:?}: {error:e}");
            }
        }
        assert!(modes.iter().all(|&count| count > 100), "{modes:?}");
    }

    /// The sliding impulse of two tangents against a search over all directions on the cone.
    #[test]
    fn a_search_over_directions_finds_the_same() {
        let mut random = Random::new(8);
        let mut compared = 0;
        for _ in 0..150 {
            let (matrix, friction, free) = random_problem(&mut random, 2);
            let contact = CoulombContact::new(&matrix, &friction);
            let (mut slip, mut impulse) = (0.0, [0.0; 3]);
            if contact.solve(&free, &mut slip, &mut impulse) != ContactMode::Sliding {
                continue;
            }
            // With λ = n·(1, μ·cos, μ·sin) the normal velocity gives n, and the velocity must point against it.
            let mut best = (f64::INFINITY, [0.0; 3]);
            for step in 0..20_000 {
                let angle = f64::from(step) * std::f64::consts::TAU / 20_000.0;
                let direction = [1.0, friction[0] * angle.cos(), friction[1] * angle.sin()];
                let rate = |i: usize| (0..3).map(|j| matrix[i][j] * direction[j]).sum::<f64>();
                let n = -free[0] / rate(0);
                if n < 0.0 {
                    continue;
                }
                let w = |j: usize| friction[j - 1] * (free[j] + n * rate(j));
                let (sine, cosine) = angle.sin_cos();
                let across = (w(1) * sine - w(2) * cosine).abs();
                if w(1) * cosine + w(2) * sine < 0.0 && across < best.0 {
                    best = (across, direction.map(|x| n * x));
                }
            }
            compared += 1;
            for (a, b) in impulse.iter().zip(best.1) {
                assert!(
                    (a - b).abs() < 5e-3 * (1.0 + impulse[0]),
                    "{impulse:?} {best:?}"
                );
            }
        }
        carom_testing::at_least("sliding contacts against a search, of 150", compared);
    }

    #[test]
    fn what_nothing_moves_gets_no_impulse() {
        let contact = CoulombContact::new(&[[0.0; 6]; 6], &[1.0, 1.0]);
        let (mut slip, mut impulse) = (0.0, [1.0; 3]);
        let mode = contact.solve(&[-1.0, 2.0, 0.0], &mut slip, &mut impulse);
        assert_eq!((mode, impulse), (ContactMode::Separating, [0.0; 3]));
    }
}
