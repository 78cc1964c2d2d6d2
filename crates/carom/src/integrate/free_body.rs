//! Standalone free bodies: six dofs that meet no others, solved by themselves under implicitfast.
//!
//! implicitfast leaves out the derivatives of centripetal and Coriolis forces to keep its matrix symmetric. For a free
//! body without moving parts they matter most (spin) and cost least: a 6 × 6 system, solved with partial pivoting.

use crate::math::MIN_LENGTH;
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;

/// A 6 × 6 matrix, row by row.
pub(crate) type Block<T> = [[T; 6]; 6];

/// The free joints whose kinematic tree has no other dofs: joint, first dof, body.
pub(crate) fn standalone<T: Scalar>(model: &Model<T>) -> impl Iterator<Item = (usize, usize)> + '_ {
    let joints = &model.structure.joints;
    joints
        .kind
        .iter()
        .enumerate()
        .filter(|&(joint, &kind)| {
            kind == JointKind::Free && {
                let tree = model.structure.dofs.tree[joints.dof[joint]];
                model.structure.tree_dofs[tree].len() == 6
            }
        })
        .map(|(joint, _)| (joints.dof[joint], joints.body[joint]))
}

/// x ← A⁻¹·x by elimination with partial pivoting; false, with `x` spoilt, if A is singular.
pub(crate) fn solve<T: Scalar>(matrix: &mut Block<T>, x: &mut [T; 6]) -> bool {
    for column in 0..6 {
        let magnitude = |row: usize| matrix[row][column].value().abs();
        let mut pivot = column;
        for row in column + 1..6 {
            if magnitude(row) > magnitude(pivot) {
                pivot = row;
            }
        }
        if magnitude(pivot).is_nan() || magnitude(pivot) < MIN_LENGTH {
            return false;
        }
        matrix.swap(column, pivot);
        x.swap(column, pivot);
        let inverse = matrix[column][column].recip();
        for row in column + 1..6 {
            let factor = matrix[row][column] * inverse;
            for k in column + 1..6 {
                let entry = matrix[column][k];
                matrix[row][k] -= entry * factor;
            }
            let above = x[column];
            x[row] -= above * factor;
        }
    }
    for row in (0..6).rev() {
        let mut sum = x[row];
        for k in row + 1..6 {
            sum -= matrix[row][k] * x[k];
        }
        x[row] = sum / matrix[row][row];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn elimination_solves_unsymmetric_systems() {
        let mut random = Random::new(9);
        for _ in 0..20 {
            let matrix: Block<f64> = std::array::from_fn(|_| random.numbers());
            let expected: [f64; 6] = random.numbers();
            let mut x: [f64; 6] =
                matrix.map(|row| row.iter().zip(expected).map(|(a, b)| a * b).sum());
            assert!(solve(&mut matrix.clone(), &mut x));
            for (a, e) in x.iter().zip(expected) {
                assert!((a - e).abs() < 1e-10);
            }
        }
        assert!(!solve(&mut [[1.0; 6]; 6], &mut [1.0; 6]));
    }
}
