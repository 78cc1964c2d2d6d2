use super::Inertia;
use crate::linalg::{TreeSparsity, tree_ldl};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;

/// Computes M and factorises it.
///
/// A matrix that is not positive definite (a moving part without inertia) has no factor: the inverse diagonal becomes
/// NaN, and so does everything solved with it.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    out: &mut Inertia<T>,
) {
    composite_inertias(model, kinematics, out);
    joint_space_inertia(model, kinematics, out);
    add_tendon_armature(model, tendon, out);
    let factored = tree_ldl::factor(
        &model.structure.inertia,
        &out.matrix,
        &mut out.factor,
        &mut out.diagonal_inverse,
    );
    if factored.is_err() {
        out.diagonal_inverse.fill(T::from(f64::NAN));
    }
}

/// Sums inertias from the leaves to the root; the world collects none. (1)
fn composite_inertias<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    out: &mut Inertia<T>,
) {
    let composite = &mut out.composite[..];
    composite.copy_from_slice(&kinematics.body_inertia);
    let parents = &model.structure.bodies.parent[..composite.len()];
    for body in (1..composite.len()).rev() {
        let parent = parents[body];
        if parent > 0 {
            let inertia = composite[body];
            composite[parent] += inertia;
        }
    }
}

/// Entries of M: row by row, the momentum of each dof's subtree along the axes of its ancestors. (2)
fn joint_space_inertia<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    out: &mut Inertia<T>,
) {
    let (sparsity, axes) = (&model.structure.inertia, &kinematics.dof_axis[..]);
    for (dof, &body) in model.structure.dofs.body.iter().enumerate() {
        let momentum = out.composite[body].mul_motion(axes[dof]);
        let row = sparsity.row_range(dof);
        let entries = &mut out.matrix[row.clone()];
        for (entry, &ancestor) in entries.iter_mut().zip(&sparsity.columns[row]) {
            *entry = axes[ancestor].dot(momentum);
        }
        if let Some(diagonal) = entries.last_mut() {
            *diagonal += model.dofs.armature[dof];
        }
    }
}

/// Adds armature·JᵀJ of each tendon, as far as the tree pattern holds it. (3)
fn add_tendon_armature<T: Scalar>(model: &Model<T>, tendon: &Tendon<T>, out: &mut Inertia<T>) {
    let pattern = &model.structure.tendons.jacobian;
    for (index, &armature) in model.tendons.armature.iter().enumerate() {
        if !T::HAS_DERIVATIVES && armature == T::ZERO {
            continue;
        }
        let range = pattern.row(index);
        let row = (&pattern.columns[range.clone()], &tendon.jacobian[range]);
        add_outer_product(&model.structure.inertia, row, armature, &mut out.matrix);
    }
}

/// Adds `factor`·xxᵀ of a sparse vector x (columns, values) to a matrix, as far as the tree pattern holds it.
pub(crate) fn add_outer_product<T: Scalar>(
    sparsity: &TreeSparsity,
    (columns, values): (&[usize], &[T]),
    factor: T,
    matrix: &mut [T],
) {
    if let (&[dof], &[value]) = (columns, values) {
        matrix[sparsity.diagonal[dof]] += value * value * factor;
        return;
    }
    for (&dof, &value) in columns.iter().zip(values) {
        let row = sparsity.row_range(dof);
        let stored = &sparsity.columns[row.clone()];
        let mut position = 0;
        for (&ancestor, entry) in stored.iter().zip(&mut matrix[row]) {
            while position < columns.len() && columns[position] < ancestor {
                position += 1;
            }
            if position < columns.len() && columns[position] == ancestor {
                *entry += values[position] * value * factor;
            }
        }
    }
}

/// x ← M⁻¹·x.
pub fn solve<T: Scalar>(model: &Model<T>, inertia: &Inertia<T>, x: &mut [T]) {
    tree_ldl::solve_in_place(
        &model.structure.inertia,
        &inertia.factor,
        &inertia.diagonal_inverse,
        x,
    );
}

/// out ← M·x.
pub fn mul<T: Scalar>(model: &Model<T>, inertia: &Inertia<T>, x: &[T], out: &mut [T]) {
    tree_ldl::mul_vec(&model.structure.inertia, &inertia.matrix, x, out);
}
