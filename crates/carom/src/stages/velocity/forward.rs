use super::Velocity;
use crate::math::Spatial;
use crate::model::{JointKind, Model, SparsePattern};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::state::State;

/// Computes all velocities.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    transmission: &TransmissionData<T>,
    out: &mut Velocity<T>,
) {
    body_velocities(model, &state.qvel, kinematics, out);
    let structure = &model.structure;
    let (tendons, moments) = (&structure.tendons.jacobian, &structure.actuators.moment);
    sparse_product(tendons, &tendon.jacobian, &state.qvel, &mut out.tendon);
    if model.settings.disable.actuation {
        out.actuator.fill(T::ZERO);
    } else {
        let moment = &transmission.moment;
        sparse_product(moments, moment, &state.qvel, &mut out.actuator);
    }
}

/// Velocities of bodies and rates of the motion axes. (1)
fn body_velocities<T: Scalar>(
    model: &Model<T>,
    qvel: &[T],
    kinematics: &Kinematics<T>,
    out: &mut Velocity<T>,
) {
    out.body[0] = Spatial::ZERO;
    let bodies = &model.structure.bodies;
    for body in 1..model.counts().nbody {
        let mut velocity = out.body[bodies.parent[body]];
        for joint in bodies.joints[body].clone() {
            let dof = model.structure.joints.dof[joint];
            velocity = match model.structure.joints.kind[joint] {
                JointKind::Hinge | JointKind::Slide => {
                    move_axes::<T, 1>(dof, velocity, qvel, kinematics, out)
                }
                JointKind::Ball => move_axes::<T, 3>(dof, velocity, qvel, kinematics, out),
                JointKind::Free => {
                    for k in 0..3 {
                        velocity.0[3 + k] += qvel[dof + k];
                        out.dof_axis_dot[dof + k] = Spatial::ZERO;
                    }
                    move_axes::<T, 3>(dof + 3, velocity, qvel, kinematics, out)
                }
            };
        }
        out.body[body] = velocity;
    }
}

/// Rates of the N axes of one joint under the motion before it, then the motion after it.
#[inline]
fn move_axes<T: Scalar, const N: usize>(
    dof: usize,
    before: Spatial<T>,
    qvel: &[T],
    kinematics: &Kinematics<T>,
    out: &mut Velocity<T>,
) -> Spatial<T> {
    let mut after = before;
    for dof in dof..dof + N {
        let axis = kinematics.dof_axis[dof];
        out.dof_axis_dot[dof] = before.cross_motion(axis);
        after = after.scale_add(axis, qvel[dof]);
    }
    after
}

/// product ← A·x for sparse rows. (2)
fn sparse_product<T: Scalar>(pattern: &SparsePattern, values: &[T], x: &[T], product: &mut [T]) {
    for (row, product) in product.iter_mut().enumerate() {
        let range = pattern.row(row);
        let mut sum = T::ZERO;
        for (&column, &value) in pattern.columns[range.clone()].iter().zip(&values[range]) {
            sum += value * x[column];
        }
        *product = sum;
    }
}
