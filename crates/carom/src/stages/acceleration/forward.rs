use super::Acceleration;
use crate::jacobian::{self, Wrench};
use crate::math::Spatial;
use crate::model::{LawLevel, Model};
use crate::scalar::Scalar;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::compliance::Compliance;
use crate::stages::inertia::{self, Inertia};
use crate::stages::kinematics::Kinematics;
use crate::stages::learned::Learned;
use crate::stages::passive::Passive;
use crate::state::Input;

/// Results of the stages that give forces.
type Forces<'a, T> = (
    &'a Passive<T>,
    &'a Bias<T>,
    &'a Compliance<T>,
    &'a Actuation<T>,
    &'a Learned<T>,
);

/// Sums the smooth forces and solves for the acceleration.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    input: &Input<T>,
    kinematics: &Kinematics<T>,
    inertia: &Inertia<T>,
    (passive, bias, compliance, actuation, learned): Forces<'_, T>,
    out: &mut Acceleration<T>,
) {
    let nv = model.counts().nv;
    let (passive, bias) = (&passive.total[..nv], &bias.force[..nv]);
    let (applied, actuation) = (&input.force[..nv], &actuation.force[..nv]);
    let force = &mut out.force_smooth[..nv];
    for dof in 0..nv {
        force[dof] = passive[dof] - bias[dof] + applied[dof] + actuation[dof]; // (1)
    }
    apply_body_forces(model, input, kinematics, force);
    if model.structure.laws.acts_on(LawLevel::Force) {
        for (force, &contacts) in force.iter_mut().zip(&compliance.force) {
            *force += contacts;
        }
    }
    if !model.structure.learned.is_empty() {
        for (force, &learned) in force.iter_mut().zip(&learned.force) {
            // Nothing to the bit: a zero would change the sign of another.
            if T::HAS_DERIVATIVES || learned != T::ZERO {
                *force += learned;
            }
        }
    }
    out.smooth.copy_from_slice(force);
    inertia::solve(model, inertia, &mut out.smooth); // (2)
}

/// Adds the generalised force of the torques and forces applied to bodies.
pub(crate) fn apply_body_forces<T: Scalar>(
    model: &Model<T>,
    input: &Input<T>,
    kinematics: &Kinematics<T>,
    generalized: &mut [T],
) {
    for body in 1..input.body_force.len() {
        let wrench = input.body_force[body];
        if !T::HAS_DERIVATIVES && wrench == Spatial::ZERO {
            continue;
        }
        let wrench = Wrench {
            body,
            point: kinematics.inertial_position[body],
            torque: wrench.angular(),
            force: wrench.linear(),
        };
        jacobian::apply_force(model, kinematics, wrench, generalized);
    }
}
