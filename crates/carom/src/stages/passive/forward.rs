use super::{Passive, adhesion, fluid};
use crate::laws::lift::lift;
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;
use crate::terms::length::Row;
use crate::terms::{self, DofDamper, TendonDamper, TendonSpring, Term, is_absent};

/// Computes all passive forces.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    collision: &Collision<T>,
    out: &mut Passive<T>,
) {
    let disable = &model.settings.disable;
    out.spring.fill(T::ZERO);
    out.damper.fill(T::ZERO);
    // Both switched off switches off everything passive.
    if disable.spring && disable.damper {
        out.gravcomp.fill(T::ZERO);
        out.fluid.fill(T::ZERO);
        out.adhesion.fill(T::ZERO);
        out.total.fill(T::ZERO);
        return;
    }
    if !disable.spring {
        terms::joint::forward(model, &state.qpos, &mut out.spring);
    }
    if !disable.damper {
        terms::dof::forward::<DofDamper, 3, T>(model, &state.qvel, &mut out.damper);
        terms::joint_law::forward(model, &state.qpos, &state.qvel, &mut out.damper);
    }
    tendon_forces(model, tendon, velocity, out);
    for ((total, &spring), &damper) in out.total.iter_mut().zip(&out.spring).zip(&out.damper) {
        *total = spring + damper;
    }
    if fluid::forward(model, kinematics, velocity, out) {
        add(&mut out.total, &out.fluid);
    }
    if adhesion::forward(model, kinematics, collision, out) {
        add(&mut out.total, &out.adhesion);
    }
    if gravity_compensation(model, kinematics, out) {
        let structure = &model.structure;
        for (dof, total) in out.total.iter_mut().enumerate() {
            if !structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
                *total += out.gravcomp[dof];
            }
        }
    }
}

fn add<T: Scalar>(sum: &mut [T], terms: &[T]) {
    for (sum, &term) in sum.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// Springs and dampers along tendons.
fn tendon_forces<T: Scalar>(
    model: &Model<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    out: &mut Passive<T>,
) {
    let disable = &model.settings.disable;
    let pattern = &model.structure.tendons.jacobian;
    for (id, &length) in tendon.length.iter().enumerate() {
        let row = Row::of(pattern, &tendon.jacobian, id);
        let [k, k1, k2, ..] = TendonSpring::parameters(model, id);
        if !disable.spring && !is_absent([k, k1, k2]) {
            row.push(TendonSpring::value(model, id, [length]), &mut out.spring);
        }
        if !disable.damper && !is_absent(TendonDamper::parameters(model, id)) {
            let rate = velocity.tendon[id];
            row.push(TendonDamper::value(model, id, [rate]), &mut out.damper);
        }
    }
}

/// Holds up the compensated fraction of each body's weight; returns whether there is any.
fn gravity_compensation<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    out: &mut Passive<T>,
) -> bool {
    let structure = &model.structure;
    let gravity = model.option.gravity[0];
    out.gravcomp.fill(T::ZERO);
    let weightless = !T::HAS_DERIVATIVES && gravity == Vec3::ZERO;
    if !structure.has_gravcomp || model.settings.disable.gravity || weightless {
        return false;
    }
    for (body, force) in out.body_force.iter_mut().enumerate() {
        let lift = lift(
            gravity,
            model.bodies.mass[body],
            model.bodies.gravcomp[body],
        );
        let root = structure.bodies.root[body];
        let arm = kinematics.inertial_position[body] - kinematics.subtree_com[root];
        *force = Spatial::new(arm.cross(lift), lift);
    }
    terms::body::project(
        structure,
        kinematics,
        &mut out.body_force,
        &mut out.gravcomp,
    );
    true
}
