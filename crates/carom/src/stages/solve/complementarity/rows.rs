//! Targets of rows, and the problem of each block by itself.

use super::super::law::Phase;
use super::response::BlockResponse;
use crate::laws::cone::{ContactMode, CoulombContact, MAX_ROWS};
use crate::linalg::symmetric_eigen;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::constraint::{Block, BlockKind, Row};

/// A matrix over the rows of a block; only its leading rows and columns are used.
pub(super) type BlockMatrix = [[f64; MAX_ROWS]; MAX_ROWS];

/// Directions that are this much easier to move than others count as fixed to each other.
const MIN_EIGENVALUE: f64 = 1e-13;

/// What the target velocity of a row depends on. (2), (4)
pub(super) struct TargetNumbers<T: Scalar> {
    pub(super) timestep: T,
    pub(super) baumgarte: [T; 2],
    pub(super) restitution: T,
    pub(super) restitution_speed: T,
    pub(super) position: T,
    pub(super) velocity: T,
}

impl<T: Scalar> TargetNumbers<T> {
    pub(super) fn new(model: &Model<T>, law: usize, row: &Row<T>, timestep: T) -> Self {
        Self {
            timestep,
            baumgarte: model.laws.baumgarte[law],
            restitution: model.laws.restitution[law],
            restitution_speed: model.laws.restitution_speed[law],
            position: row.position,
            velocity: row.velocity,
        }
    }

    /// The target; only first rows of blocks and equalities have one.
    pub(super) fn target(&self, kind: BlockKind, is_first: bool) -> T {
        let rate = self.timestep.recip();
        let [correction, approach] = self.baumgarte;
        let (r, velocity) = (self.position, self.velocity);
        let is_contact = match kind {
            BlockKind::DofFriction | BlockKind::TendonFriction => return T::ZERO,
            BlockKind::Equality => return -(correction * r * rate),
            BlockKind::JointLimit | BlockKind::TendonLimit => false,
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => true,
        };
        if !is_first {
            return T::ZERO;
        }
        let share = if r < T::ZERO { correction } else { approach };
        let position = -(share * r * rate);
        // A contact bounces in the step that closes it.
        let closes = r * rate + velocity < T::ZERO && velocity < -self.restitution_speed;
        if is_contact && closes {
            position.max(-(self.restitution * velocity))
        } else {
            position
        }
    }
}

/// One block with all others held.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LocalProblem {
    /// Inverse inertia that the rows see, with R.
    pub(super) matrix: BlockMatrix,
    kind: LocalKind,
}

#[derive(Clone, Debug, PartialEq)]
enum LocalKind {
    /// λ = −matrix⁻¹·b.
    Equality(BlockMatrix),
    /// One row within bounds ±h·η.
    Friction(f64),
    /// One row that pushes.
    Push,
    /// A contact with friction, and γ of its last solution.
    Contact(CoulombContact, f64),
}

impl LocalProblem {
    /// Prepares a block with mixing R; `h` is the time step.
    pub(super) fn new(
        block: &Block,
        response: &BlockResponse<'_>,
        mixing: f64,
        friction: impl Fn(usize) -> f64,
        h: f64,
    ) -> Self {
        let count = block.row_count;
        let mut matrix = [[0.0; MAX_ROWS]; MAX_ROWS];
        for i in 0..count {
            for j in 0..=i {
                matrix[i][j] = response.inner(i, j);
                matrix[j][i] = matrix[i][j];
            }
            matrix[i][i] += mixing;
        }
        let kind = match block.kind {
            BlockKind::Equality => LocalKind::Equality(inverse(&matrix, count)),
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                LocalKind::Friction(h * friction(0))
            }
            BlockKind::JointLimit | BlockKind::TendonLimit | BlockKind::FrictionlessContact => {
                LocalKind::Push
            }
            BlockKind::PyramidalContact | BlockKind::EllipticContact => {
                let mut coefficients = [0.0; MAX_ROWS];
                for row in 1..count {
                    coefficients[row - 1] = friction(row);
                }
                let contact = CoulombContact::new(&matrix, &coefficients[..count - 1]);
                LocalKind::Contact(contact, 0.0)
            }
        };
        Self { matrix, kind }
    }

    /// The impulse at the velocities without it.
    #[inline]
    pub(super) fn solve(&mut self, free: &[f64], impulse: &mut [f64]) -> Phase {
        match &mut self.kind {
            LocalKind::Equality(inverse) => {
                for (impulse, inverse) in impulse.iter_mut().zip(inverse.iter()) {
                    let pairs = inverse.iter().zip(free);
                    *impulse = pairs.fold(0.0, |sum, (&a, &b)| sum - a * b);
                }
                Phase::QUADRATIC
            }
            LocalKind::Friction(bound) => {
                let wanted = quotient(-free[0], self.matrix[0][0]);
                impulse[0] = wanted.clamp(-*bound, *bound);
                if wanted > *bound {
                    Phase::SLIDING_DOWN
                } else if wanted < -*bound {
                    Phase::SLIDING_UP
                } else {
                    Phase::QUADRATIC
                }
            }
            LocalKind::Push => {
                impulse[0] = quotient(-free[0], self.matrix[0][0]).max(0.0);
                if impulse[0] > 0.0 {
                    Phase::QUADRATIC
                } else {
                    Phase::OFF
                }
            }
            LocalKind::Contact(contact, slip) => match contact.solve(free, slip, impulse) {
                ContactMode::Separating => Phase::OFF,
                ContactMode::Sticking => Phase::QUADRATIC,
                ContactMode::Sliding => Phase::CONE,
            },
        }
    }
}

/// A quotient that is zero where nothing moves the row.
fn quotient(numerator: f64, denominator: f64) -> f64 {
    if denominator > f64::MIN_POSITIVE {
        numerator / denominator
    } else {
        0.0
    }
}

/// The inverse of a symmetric matrix on the directions that something moves.
fn inverse(matrix: &BlockMatrix, count: usize) -> BlockMatrix {
    let (values, vectors) = symmetric_eigen(*matrix, count);
    // Directions that nothing moves have no inverse: leave them out.
    let greatest = values[..count].iter().fold(0.0_f64, |most, &x| most.max(x));
    let mut inverse = [[0.0; MAX_ROWS]; MAX_ROWS];
    for (&value, vector) in values[..count].iter().zip(&vectors) {
        if value <= greatest * MIN_EIGENVALUE || value <= f64::MIN_POSITIVE {
            continue;
        }
        for i in 0..count {
            for j in 0..count {
                inverse[i][j] += vector[i] * vector[j] / value;
            }
        }
    }
    inverse
}
