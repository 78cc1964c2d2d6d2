//! Potential and kinetic energy.

use super::Sensed;
use crate::math::{Quat, Vec3};
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;
use crate::state::State;

/// Potential energy of gravity and springs (J).
pub fn potential_energy<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    stages: &Sensed<'_, T>,
) -> T {
    let mut energy = T::ZERO;
    if !model.settings.disable.gravity {
        let gravity = model.option.gravity[0];
        for body in 1..model.counts().nbody {
            let height = gravity.dot(stages.kinematics.inertial_position[body]);
            energy -= model.bodies.mass[body] * height;
        }
    }
    if !model.settings.disable.spring {
        for joint in 0..model.counts().njoint {
            energy += joint_spring_energy(model, state, joint);
        }
        for (tendon, &length) in stages.tendon.length.iter().enumerate() {
            energy += tendon_spring_energy(model, tendon, length);
        }
    }
    energy
}

/// Energy of the spring of one joint.
fn joint_spring_energy<T: Scalar>(model: &Model<T>, state: &State<T>, joint: usize) -> T {
    let spring = (
        model.joints.stiffness[joint],
        model.joints.stiffness_poly[joint],
    );
    let zero = spring == (T::ZERO, [T::ZERO; 2]);
    if !T::HAS_DERIVATIVES && zero {
        return T::ZERO;
    }
    let first = model.structure.joints.qpos[joint];
    let (qpos, rest) = (&state.qpos[first..], &model.qpos.spring[first..]);
    let position = |q: &[T]| Vec3([q[0], q[1], q[2]]);
    let turned = |from: usize| {
        let quat = |q: &[T]| Quat([q[from], q[from + 1], q[from + 2], q[from + 3]]);
        quat(qpos).difference(quat(rest)).norm()
    };
    match model.structure.joints.kind[joint] {
        JointKind::Slide | JointKind::Hinge => spring_energy(spring, qpos[0] - rest[0]),
        JointKind::Ball => spring_energy(spring, turned(0)),
        JointKind::Free => {
            let shifted = (position(qpos) - position(rest)).norm();
            spring_energy(spring, shifted) + spring_energy(spring, turned(3))
        }
    }
}

/// Energy of the spring of one tendon; none within the range of rest lengths.
fn tendon_spring_energy<T: Scalar>(model: &Model<T>, tendon: usize, length: T) -> T {
    let numbers = &model.tendons;
    let [lower, upper] = numbers.spring_length[tendon];
    let stretch = if length > upper {
        length - upper
    } else if length < lower {
        length - lower
    } else {
        T::ZERO
    };
    let spring = (numbers.stiffness[tendon], numbers.stiffness_poly[tendon]);
    spring_energy(spring, stretch)
}

/// ∫ (k·x + b·x² + c·x³) dx of a spring k with quadratic and cubic terms [b, c].
#[inline]
fn spring_energy<T: Scalar>((linear, [quadratic, cubic]): (T, [T; 2]), x: T) -> T {
    let square = x * x;
    linear * square * 0.5 + quadratic * square * x / 3.0 + cubic * square * square * 0.25
}

/// Kinetic energy ½·vᵀ·M·v (J).
pub fn kinetic_energy<T: Scalar>(model: &Model<T>, state: &State<T>, stages: &Sensed<'_, T>) -> T {
    let (sparsity, matrix) = (&model.structure.inertia, &stages.inertia.matrix);
    let qvel = &state.qvel;
    let mut energy = T::ZERO;
    for dof in 0..model.counts().nv {
        let (start, diagonal) = (sparsity.row_start[dof], sparsity.diagonal[dof]);
        let mut momentum = matrix[diagonal] * qvel[dof] * 0.5;
        for entry in start..diagonal {
            momentum += matrix[entry] * qvel[sparsity.columns[entry]];
        }
        energy += momentum * qvel[dof];
    }
    energy
}
