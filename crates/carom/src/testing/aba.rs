//! The articulated-body algorithm: forward dynamics without forming M [Featherstone 2008, §7.3].
//!
//! An independent path from forces to accelerations, against which the composite inertia and its factorisation are
//! checked. It takes only the frames of bodies and joints from the kinematics; velocities, axes and inertias are its
//! own, all about the world origin, so nothing is ever transformed. Each dof i with axis s, rate ṡ and armature m is a
//! link of its own; only the last dof of a body carries mass. From the leaves to the root, with Iᴬ, pᴬ the articulated
//! inertia and bias force,
//!
//!   U = Iᴬ·s,   D = s·U + m,   u = τ − s·pᴬ                                           (1)
//!   Iᴬ(parent) += Iᴬ − U·Uᵀ/D,   pᴬ(parent) += pᴬ + (Iᴬ − U·Uᵀ/D)·ṡ·q̇ + U·u/D             (2)
//!
//! and back with a the acceleration, −g at the root,
//!
//!   q̈ = (u − U·(a + ṡ·q̇))/D,   a ← a + ṡ·q̇ + s·q̈                                      (3)
//!
//! Armature of tendons is not part of it: it couples dofs beyond the tree.

use crate::math::{Spatial, SpatialInertia, Vec3};
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// A symmetric 6 × 6 matrix, in full.
type Matrix6<T> = [Spatial<T>; 6];

/// Work area, allocated once.
#[derive(Clone, Debug)]
pub(crate) struct Workspace<T: Scalar = f64> {
    velocity: Vec<Spatial<T>>,
    axis: Vec<Spatial<T>>,
    axis_drift: Vec<Spatial<T>>,
    body_inertia: Vec<Matrix6<T>>,
    body_bias: Vec<Spatial<T>>,
    projected: Vec<Spatial<T>>,
    divisor: Vec<T>,
    residual: Vec<T>,
    acceleration: Vec<Spatial<T>>,
}

impl<T: Scalar> Workspace<T> {
    /// Room for a model.
    pub(crate) fn new(model: &Model<T>) -> Self {
        let (nbody, nv) = (model.counts().nbody, model.counts().nv);
        Self {
            velocity: vec![Spatial::ZERO; nbody],
            axis: vec![Spatial::ZERO; nv],
            axis_drift: vec![Spatial::ZERO; nv],
            body_inertia: vec![[Spatial::ZERO; 6]; nbody],
            body_bias: vec![Spatial::ZERO; nbody],
            projected: vec![Spatial::ZERO; nv],
            divisor: vec![T::ZERO; nv],
            residual: vec![T::ZERO; nv],
            acceleration: vec![Spatial::ZERO; nbody],
        }
    }
}

/// Acceleration under generalised forces `force` (everything but gravity and velocity-product forces).
pub(crate) fn acceleration<T: Scalar>(
    model: &Model<T>,
    qvel: &[T],
    kinematics: &Kinematics<T>,
    force: &[T],
    work: &mut Workspace<T>,
    qacc: &mut [T],
) {
    outward_motion(model, qvel, kinematics, work);
    rigid_bodies(model, kinematics, work);
    inward_forces(model, force, work);
    outward_acceleration(model, work, qacc);
}

/// Velocities, axes and ṡ·q̇, from the root to the leaves.
fn outward_motion<T: Scalar>(
    model: &Model<T>,
    qvel: &[T],
    kinematics: &Kinematics<T>,
    work: &mut Workspace<T>,
) {
    let structure = &model.structure;
    for body in 1..model.counts().nbody {
        let mut velocity = work.velocity[structure.bodies.parent[body]];
        for joint in structure.bodies.joints[body].clone() {
            let first = structure.joints.dof[joint];
            let count = joint_axes(model, kinematics, joint, &mut work.axis);
            let mut carrier = velocity;
            for dof in first..first + count {
                let motion = work.axis[dof] * qvel[dof];
                let fixed = structure.joints.kind[joint] == JointKind::Free && dof < first + 3;
                // The rotations of a free joint are carried along by its translations.
                if fixed {
                    work.axis_drift[dof] = Spatial::ZERO;
                    carrier += motion;
                } else {
                    work.axis_drift[dof] = carrier.cross_motion(motion);
                }
                velocity += motion;
            }
        }
        work.velocity[body] = velocity;
    }
}

/// Writes the motion axes of a joint about the world origin and returns how many there are.
fn joint_axes<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    joint: usize,
    axes: &mut [Spatial<T>],
) -> usize {
    let (body, first) = (
        model.structure.joints.body[joint],
        model.structure.joints.dof[joint],
    );
    let anchor = kinematics.joint_anchor[joint];
    let translation = |axis: Vec3<T>| Spatial::new(Vec3::ZERO, axis);
    let rotation = |axis: Vec3<T>| Spatial::new(axis, anchor.cross(axis));
    let column = |k: usize| kinematics.body_rotation[body].column(k);
    match model.structure.joints.kind[joint] {
        JointKind::Slide => axes[first] = translation(kinematics.joint_axis[joint]),
        JointKind::Hinge => axes[first] = rotation(kinematics.joint_axis[joint]),
        JointKind::Ball => {
            for k in 0..3 {
                axes[first + k] = rotation(column(k));
            }
            return 3;
        }
        JointKind::Free => {
            for (k, unit) in [Vec3::X, Vec3::Y, Vec3::Z].into_iter().enumerate() {
                axes[first + k] = translation(unit);
                axes[first + 3 + k] = rotation(column(k));
            }
            return 6;
        }
    }
    1
}

/// Inertia and v ×* I·v of each body.
fn rigid_bodies<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, work: &mut Workspace<T>) {
    for body in 0..model.counts().nbody {
        let mut inertia = SpatialInertia::from_body(
            model.bodies.inertia[body],
            &kinematics.inertial_rotation[body],
            kinematics.inertial_position[body],
            model.bodies.mass[body],
        );
        inertia.add_products(
            model.bodies.inertia_products[body],
            &kinematics.inertial_rotation[body],
        );
        work.body_inertia[body] = std::array::from_fn(|column| {
            let mut unit = Spatial::ZERO;
            unit.0[column] = T::ONE;
            inertia.mul_motion(unit)
        });
        let velocity = work.velocity[body];
        work.body_bias[body] = velocity.cross_force(inertia.mul_motion(velocity));
    }
}

/// Articulated inertias and bias forces, from the leaves to the root.
fn inward_forces<T: Scalar>(model: &Model<T>, force: &[T], work: &mut Workspace<T>) {
    for body in (1..model.counts().nbody).rev() {
        let mut inertia = work.body_inertia[body];
        let mut bias = work.body_bias[body];
        for dof in model.structure.bodies.dofs[body].clone().rev() {
            let (axis, drift) = (work.axis[dof], work.axis_drift[dof]);
            let projected = multiply(&inertia, axis);
            let divisor = axis.dot(projected) + model.dofs.armature[dof];
            let residual = force[dof] - axis.dot(bias); // (1)
            for (column, entry) in inertia.iter_mut().zip(projected.0) {
                *column -= projected * (entry / divisor);
            }
            bias = bias + multiply(&inertia, drift) + projected * (residual / divisor); // (2)
            work.projected[dof] = projected;
            work.divisor[dof] = divisor;
            work.residual[dof] = residual;
        }
        let parent = model.structure.bodies.parent[body];
        if parent > 0 {
            for (sum, column) in work.body_inertia[parent].iter_mut().zip(inertia) {
                *sum += column;
            }
            work.body_bias[parent] += bias;
        }
    }
}

/// Accelerations, from the root to the leaves. (3)
fn outward_acceleration<T: Scalar>(model: &Model<T>, work: &mut Workspace<T>, qacc: &mut [T]) {
    let gravity = if model.settings.disable.gravity {
        Vec3::ZERO
    } else {
        model.option.gravity[0]
    };
    work.acceleration[0] = Spatial::new(Vec3::ZERO, -gravity);
    for body in 1..model.counts().nbody {
        let mut total = work.acceleration[model.structure.bodies.parent[body]];
        for dof in model.structure.bodies.dofs[body].clone() {
            total += work.axis_drift[dof];
            qacc[dof] = (work.residual[dof] - work.projected[dof].dot(total)) / work.divisor[dof];
            total += work.axis[dof] * qacc[dof];
        }
        work.acceleration[body] = total;
    }
}

/// The product of a symmetric matrix and a vector.
#[inline]
fn multiply<T: Scalar>(matrix: &Matrix6<T>, vector: Spatial<T>) -> Spatial<T> {
    Spatial(std::array::from_fn(|row| matrix[row].dot(vector)))
}
