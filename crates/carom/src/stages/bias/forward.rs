use super::{Bias, tendon_bias};
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Computes the bias force.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    out: &mut Bias<T>,
) {
    recursive_newton_euler(model, kinematics, velocity, state, None, out);
    tendon_bias::add(model, kinematics, tendon, velocity, out);
}

/// Inverse dynamics M·a + c by recursive Newton–Euler (a = 0 when `acceleration` is none), without armature.
pub fn recursive_newton_euler<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    state: &State<T>,
    acceleration: Option<&[T]>,
    out: &mut Bias<T>,
) {
    let gravity = if model.settings.disable.gravity {
        Vec3::ZERO
    } else {
        model.option.gravity[0]
    };
    out.body_acceleration[0] = Spatial::new(Vec3::ZERO, -gravity);
    out.body_force[0] = Spatial::ZERO;
    let bodies = &model.structure.bodies;
    for body in 1..model.counts().nbody {
        let mut total = out.body_acceleration[bodies.parent[body]];
        let dofs = bodies.dofs[body].clone();
        for dof in dofs.clone() {
            total = total.scale_add(velocity.dof_axis_dot[dof], state.qvel[dof]);
        }
        if let Some(acceleration) = acceleration {
            for dof in dofs {
                total = total.scale_add(kinematics.dof_axis[dof], acceleration[dof]);
            }
        }
        out.body_acceleration[body] = total;
        // Nothing downstream of a static body asks what holds it.
        out.body_force[body] = if bodies.tree[body].is_some() {
            let (inertia, motion) = (&kinematics.body_inertia[body], velocity.body[body]);
            inertia.mul_motion(total) + motion.cross_force(inertia.mul_motion(motion)) // (1)
        } else {
            Spatial::ZERO
        };
    }
    project_forces(model, kinematics, out);
}

/// Passes forces on to the parents and projects them on the motion axes. (2)
fn project_forces<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, out: &mut Bias<T>) {
    let bodies = &model.structure.bodies;
    for body in (1..model.counts().nbody).rev() {
        let force = out.body_force[body];
        for dof in bodies.dofs[body].clone() {
            out.force[dof] = kinematics.dof_axis[dof].dot(force);
        }
        let parent = bodies.parent[body];
        if parent > 0 {
            out.body_force[parent] += force;
        }
    }
}
