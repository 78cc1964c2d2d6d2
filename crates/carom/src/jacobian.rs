//! Jacobians of points and bodies.
//!
//! A dof moves the body-fixed point p with the velocity of its motion axis (ω, v) about the centre of mass o of the
//! kinematic tree,
//!
//!   ∂ṗ/∂q̇ᵢ = vᵢ + ωᵢ × (p − o),   ∂ω/∂q̇ᵢ = ωᵢ                                      (1)
//!
//! for the dofs on the way from the body to the root, and not at all for others. A force f at p with a torque t acts
//! on those dofs as the transpose,
//!
//!   τᵢ = (t + (p − o) × f)·ωᵢ + f·vᵢ                                                 (2)

use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// The degrees of freedom that move a body, root first.
#[inline]
pub fn moving_dofs<T: Scalar>(model: &Model<T>, body: usize) -> &[usize] {
    model.structure.bodies.moving_dofs.columns(body)
}

/// A world point relative to the centre of mass of the body's kinematic tree.
#[inline]
pub fn offset<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    point: Vec3<T>,
) -> Vec3<T> {
    point - kinematics.subtree_com[model.structure.bodies.root[body]]
}

/// Velocity of a point at `offset` from the tree's centre of mass under a motion about that centre. (1)
#[inline]
pub fn point_velocity<T: Scalar>(motion: Spatial<T>, offset: Vec3<T>) -> Vec3<T> {
    motion.linear() + motion.angular().cross(offset)
}

/// The nonzero columns of the Jacobian of a body-fixed world point: dof, angular and linear velocity of unit speed.
pub fn columns<'a, T: Scalar>(
    model: &'a Model<T>,
    kinematics: &'a Kinematics<T>,
    body: usize,
    point: Vec3<T>,
) -> impl Iterator<Item = (usize, Vec3<T>, Vec3<T>)> + 'a {
    let offset = offset(model, kinematics, body, point);
    moving_dofs(model, body).iter().map(move |&dof| {
        let axis = kinematics.dof_axis[dof];
        (dof, axis.angular(), point_velocity(axis, offset))
    })
}

/// Dense Jacobians of a body-fixed world point: three rows of nv numbers each, row after row.
///
/// `translation` receives ∂ṗ/∂q̇ and `rotation` ∂ω/∂q̇; both must hold 3·nv numbers.
pub fn point<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    point: Vec3<T>,
    translation: &mut [T],
    rotation: &mut [T],
) {
    let nv = model.counts().nv;
    translation.fill(T::ZERO);
    rotation.fill(T::ZERO);
    for (dof, angular, linear) in columns(model, kinematics, body, point) {
        for row in 0..3 {
            translation[row * nv + dof] = linear[row];
            rotation[row * nv + dof] = angular[row];
        }
    }
}

/// Dense Jacobians of a body's frame origin; see [`point()`].
pub fn body<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    translation: &mut [T],
    rotation: &mut [T],
) {
    let origin = kinematics.body_position[body];
    point(model, kinematics, body, origin, translation, rotation);
}

/// Dense Jacobians of a body's centre of mass; see [`point()`].
pub fn center_of_mass<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    translation: &mut [T],
    rotation: &mut [T],
) {
    let center = kinematics.inertial_position[body];
    point(model, kinematics, body, center, translation, rotation);
}

/// A torque and a force at a body-fixed world point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrench<T: Scalar = f64> {
    /// The body that it acts on.
    pub body: usize,
    /// Where it acts (m).
    pub point: Vec3<T>,
    /// Torque, world axes (N·m).
    pub torque: Vec3<T>,
    /// Force, world axes (N).
    pub force: Vec3<T>,
}

impl<T: Scalar> Wrench<T> {
    /// A force without a torque.
    #[inline]
    pub fn force(body: usize, point: Vec3<T>, force: Vec3<T>) -> Self {
        Self {
            body,
            point,
            torque: Vec3::ZERO,
            force,
        }
    }

    /// The same wrench about the centre of mass of the body's tree, as motion axes are.
    #[inline]
    fn about_tree(&self, model: &Model<T>, kinematics: &Kinematics<T>) -> Spatial<T> {
        let arm = offset(model, kinematics, self.body, self.point);
        Spatial::new(self.torque + arm.cross(self.force), self.force)
    }
}

/// Adds the generalised force of a wrench. (2)
#[inline]
pub fn apply_force<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    wrench: Wrench<T>,
    generalized: &mut [T],
) {
    let about_tree = wrench.about_tree(model, kinematics);
    for &dof in moving_dofs(model, wrench.body) {
        generalized[dof] += kinematics.dof_axis[dof].dot(about_tree);
    }
}

/// Cotangents of a wrench and of the body-fixed point that it acts at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrenchBar {
    /// Of the torque.
    pub torque: Vec3,
    /// Of the force.
    pub force: Vec3,
    /// Of the point, its effect on the lever arm alone.
    pub point: Vec3,
}

/// The twin of [`apply_force`], for cotangents τ̄ of any dofs that move the body, given as (dof, τ̄) pairs.
///
/// With the motion (ω̃, ṽ) = Σ τ̄ᵢ·(ωᵢ, vᵢ) that the cotangents make of the dofs:
/// t̄ = ω̃,   f̄ = ṽ + ω̃ × (p − o),   p̄ = −ō = f × ω̃,   s̄ᵢ += τ̄ᵢ·(t + (p − o) × f, f).
#[inline]
pub fn apply_force_vjp(
    model: &Model,
    kinematics: &Kinematics,
    wrench: Wrench,
    generalized_bar: impl Iterator<Item = (usize, f64)>,
    kinematics_bar: &mut Kinematics,
) -> WrenchBar {
    let about_tree = wrench.about_tree(model, kinematics);
    let mut motion = Spatial::ZERO;
    for (dof, bar) in generalized_bar {
        motion = motion.scale_add(kinematics.dof_axis[dof], bar);
        let axis_bar = &mut kinematics_bar.dof_axis[dof];
        *axis_bar = axis_bar.scale_add(about_tree, bar);
    }
    let arm = offset(model, kinematics, wrench.body, wrench.point);
    let point = wrench.force.cross(motion.angular());
    kinematics_bar.subtree_com[model.structure.bodies.root[wrench.body]] -= point;
    WrenchBar {
        torque: motion.angular(),
        force: point_velocity(motion, arm),
        point,
    }
}
