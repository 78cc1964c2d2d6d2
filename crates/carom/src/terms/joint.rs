//! Springs of joints, over positions and rotations.
//!
//! A hinge or slide has one displacement, a ball joint a rotation vector, and a free joint a shift and a rotation vector. The
//! rotation vector is that of the way from the rest to the present orientation, in the axes of the present one, as velocities are.

use super::{JointSpring, Term, is_absent};
use crate::cotangent::{StateBar, turn_bar};
use crate::dual::Dual;
use crate::laws::spring::{pull, pull_vjp};
use crate::linearize::Rows;
use crate::math::{Quat, Vec3};
use crate::model::{JointKind, Model, Structure};
use crate::scalar::Scalar;

/// A displacement of a joint: where its coordinates start, and its dofs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) address: usize,
    pub(crate) dof: usize,
}

/// What a displacement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// One coordinate.
    Single,
    /// Three coordinates of a position.
    Shift,
    /// A rotation.
    Turn,
}

/// The displacements of a joint.
pub(crate) fn parts(structure: &Structure, joint: usize) -> impl Iterator<Item = Part> {
    let joints = &structure.joints;
    let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
    let part = |kind, skipped| Part {
        kind,
        address: address + skipped,
        dof: dof + skipped,
    };
    let parts = match joints.kind[joint] {
        JointKind::Hinge | JointKind::Slide => [Some(part(PartKind::Single, 0)), None],
        JointKind::Ball => [Some(part(PartKind::Turn, 0)), None],
        JointKind::Free => [
            Some(part(PartKind::Shift, 0)),
            Some(part(PartKind::Turn, 3)),
        ],
    };
    parts.into_iter().flatten()
}

/// The strength of a joint's spring.
#[inline]
pub(crate) fn strength<T: Scalar>(model: &Model<T>, joint: usize) -> [T; 3] {
    let [first, second] = model.joints.stiffness_poly[joint];
    [model.joints.stiffness[joint], first, second]
}

impl Part {
    pub(crate) fn vector<T: Scalar>(&self, numbers: &[T]) -> Vec3<T> {
        Vec3(std::array::from_fn(|k| numbers[self.address + k]))
    }

    pub(crate) fn quat<T: Scalar>(&self, numbers: &[T]) -> Quat<T> {
        Quat(std::array::from_fn(|k| numbers[self.address + k]))
    }

    /// The displacement of a part with three dofs from rest.
    fn displacement<T: Scalar>(&self, qpos: &[T], rest: &[T]) -> Vec3<T> {
        if self.kind == PartKind::Turn {
            let turn = self.quat(qpos).normalized();
            turn.difference(self.quat(rest))
        } else {
            self.vector(qpos) - self.vector(rest)
        }
    }
}

/// Sets the forces of the springs of joints; where there is no spring they stay.
pub(crate) fn forward<T: Scalar>(model: &Model<T>, qpos: &[T], force: &mut [T]) {
    let joints = &model.structure.joints;
    for joint in 0..model.joints.stiffness.len() {
        let strength = strength(model, joint);
        if is_absent(strength) {
            continue;
        }
        // Most joints have one dof: these go without a list of parts.
        if let JointKind::Hinge | JointKind::Slide = joints.kind[joint] {
            let position = qpos[joints.qpos[joint]];
            force[joints.dof[joint]] = JointSpring::value(model, joint, [position]);
            continue;
        }
        for part in parts(&model.structure, joint) {
            let displacement = part.displacement(qpos, &model.qpos.spring);
            force[part.dof..part.dof + 3].copy_from_slice(&pull(displacement, strength).0);
        }
    }
}

/// The adjoint of [`forward`].
pub(crate) fn backward(
    model: &Model,
    qpos: &[f64],
    bar: &[f64],
    model_bar: &mut Model,
    state_bar: &mut StateBar,
) {
    let rest = &model.qpos.spring;
    for joint in 0..model.joints.stiffness.len() {
        let strength = strength(model, joint);
        for part in parts(&model.structure, joint) {
            let Part { kind, address, dof } = part;
            if kind == PartKind::Single {
                let [position_bar] =
                    JointSpring::vjp(model, joint, [qpos[address]], bar[dof], model_bar);
                state_bar.qpos[dof] += position_bar;
                continue;
            }
            let force_bar = Vec3(std::array::from_fn(|k| bar[dof + k]));
            let displacement = part.displacement(qpos, rest);
            let (displacement_bar, [stiffness, first, second]) =
                pull_vjp(displacement, strength, force_bar);
            let joints_bar = &mut model_bar.joints;
            joints_bar.stiffness[joint] += stiffness;
            joints_bar.stiffness_poly[joint][0] += first;
            joints_bar.stiffness_poly[joint][1] += second;
            // A spring without strength moves nothing else.
            if !is_absent(strength) {
                part.displacement_vjp(qpos, displacement_bar, model, model_bar, state_bar);
            }
        }
    }
}

impl Part {
    /// The adjoint of the displacement of a part with three dofs.
    pub(crate) fn displacement_vjp(
        &self,
        qpos: &[f64],
        bar: Vec3,
        model: &Model,
        model_bar: &mut Model,
        state_bar: &mut StateBar,
    ) {
        let (qpos_bar, rest_bar) = (&mut state_bar.qpos, &mut model_bar.qpos.spring);
        if self.kind == PartKind::Turn {
            let quat = self.quat(qpos).normalized();
            let rest = self.quat(&model.qpos.spring);
            let mut bars = [Quat::default(); 2];
            let [quat_bar, turned_bar] = &mut bars;
            quat.difference_vjp(rest, bar, quat_bar, turned_bar);
            let local_bar = turn_bar(quat, *quat_bar);
            for k in 0..3 {
                qpos_bar[self.dof + k] += local_bar[k];
            }
            for k in 0..4 {
                rest_bar[self.address + k] += turned_bar[k];
            }
        } else {
            for k in 0..3 {
                qpos_bar[self.dof + k] += bar[k];
                rest_bar[self.address + k] -= bar[k];
            }
        }
    }
}

/// Adds the columns of ∂τ/∂q.
pub(crate) fn columns(model: &Model, qpos: &[f64], rows: &mut Rows<'_>) {
    for joint in 0..model.joints.stiffness.len() {
        let strength = strength(model, joint);
        if is_absent(strength) {
            continue;
        }
        for part in parts(&model.structure, joint) {
            let dof = part.dof;
            if part.kind == PartKind::Single {
                let [slope] = JointSpring::by_inputs(model, joint, [qpos[part.address]]);
                rows.row(dof)[dof] += slope;
                continue;
            }
            let rest = &model.qpos.spring;
            let displacement = if part.kind == PartKind::Turn {
                let turned = turned_quat::<3>(part.quat(qpos).normalized());
                turned.difference(part.quat(rest).map(Dual::constant))
            } else {
                let shift = part.displacement(qpos, rest);
                Vec3(std::array::from_fn(|k| Dual::variable(shift[k], k)))
            };
            let force = pull(displacement, strength.map(Dual::constant));
            for (axis, force) in force.0.into_iter().enumerate() {
                let row = &mut rows.row(dof + axis)[dof..dof + 3];
                for (entry, slope) in row.iter_mut().zip(force.tangent) {
                    *entry += slope;
                }
            }
        }
    }
}

/// A unit quaternion that turns about the axes of its own frame, along the first three directions.
pub(crate) fn turned_quat<const N: usize>(quat: Quat) -> Quat<Dual<N>> {
    let half: [Dual<N>; 3] = std::array::from_fn(|k| Dual::variable(0.0, k) * 0.5);
    quat.map(Dual::constant)
        .mul(Quat::from_parts(Dual::constant(1.0), Vec3(half)))
}
