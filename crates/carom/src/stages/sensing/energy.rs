//! Potential and kinetic energy.

use super::Sensed;
use crate::laws::spring;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::State;
use crate::terms::joint::PartKind;
use crate::terms::{self, TendonSpring, Term, is_absent};

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
    let strength = terms::joint::strength(model, joint);
    if is_absent(strength) {
        return T::ZERO;
    }
    let (qpos, rest) = (&state.qpos, &model.qpos.spring);
    let parts = terms::joint::parts(&model.structure, joint);
    parts.fold(T::ZERO, |sum, part| {
        let x = match part.kind {
            PartKind::Single => qpos[part.address] - rest[part.address],
            PartKind::Shift => (part.vector(qpos) - part.vector(rest)).norm(),
            PartKind::Turn => part.quat(qpos).difference(part.quat(rest)).norm(),
        };
        sum + spring::energy(strength, x)
    })
}

/// Energy of the spring of one tendon; none within the range of rest lengths.
fn tendon_spring_energy<T: Scalar>(model: &Model<T>, tendon: usize, length: T) -> T {
    let [k, k1, k2, low, high] = TendonSpring::parameters(model, tendon);
    spring::energy([k, k1, k2], spring::displacement(length, [low, high]))
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
