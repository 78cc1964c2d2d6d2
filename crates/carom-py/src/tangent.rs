//! Between the numbers of configurations and their tangent space.
//!
//! The engine's derivatives by a unit quaternion q are three numbers, by turns δ with q ⊗ exp(δ/2). Losses and directions
//! in Python may be about its four numbers. Scaling a quaternion changes nothing after the first step, so
//!
//!   δ̄ = ½·vec(q* ⊗ q̄),   q̄ = 2·q ⊗ (0, δ̄)/|q|²,   δ = 2·vec(q* ⊗ dq)/|q|²,   dq = ½·q ⊗ (0, δ)      (1)

use carom::Model;
use carom::math::{Quat, Vec3};
use carom::model::JointKind;

/// Two arrays side by side, of configurations and of tangents.
struct Joint {
    /// Where plain coordinates start, and how many there are.
    plain: (usize, usize, usize),
    /// Where a quaternion and its turn start.
    turn: Option<(usize, usize)>,
}

fn joints(model: &Model) -> impl Iterator<Item = Joint> {
    let joints = &model.structure.joints;
    joints.kind.iter().enumerate().map(|(joint, kind)| {
        let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
        match kind {
            JointKind::Hinge | JointKind::Slide => Joint {
                plain: (qpos, dof, 1),
                turn: None,
            },
            JointKind::Ball => Joint {
                plain: (qpos, dof, 0),
                turn: Some((qpos, dof)),
            },
            JointKind::Free => Joint {
                plain: (qpos, dof, 3),
                turn: Some((qpos + 3, dof + 3)),
            },
        }
    })
}

fn quat(numbers: &[f64], start: usize) -> Quat {
    Quat(std::array::from_fn(|k| numbers[start + k]))
}

fn vector(numbers: &[f64], start: usize) -> Vec3 {
    Vec3(std::array::from_fn(|k| numbers[start + k]))
}

/// Writes what `turns` makes of each quaternion and its four numbers, and copies plain coordinates.
fn to_tangent(
    model: &Model,
    qpos: &[f64],
    numbers: &[f64],
    tangent: &mut [f64],
    turns: fn(Quat, Quat) -> Vec3,
) {
    for joint in joints(model) {
        let (from, to, count) = joint.plain;
        tangent[to..to + count].copy_from_slice(&numbers[from..from + count]);
        if let Some((from, to)) = joint.turn {
            let turned = turns(quat(qpos, from), quat(numbers, from));
            tangent[to..to + 3].copy_from_slice(&turned.0);
        }
    }
}

/// The other way.
fn from_tangent(
    model: &Model,
    qpos: &[f64],
    tangent: &[f64],
    numbers: &mut [f64],
    quats: fn(Quat, Vec3) -> Quat,
) {
    for joint in joints(model) {
        let (to, from, count) = joint.plain;
        numbers[to..to + count].copy_from_slice(&tangent[from..from + count]);
        if let Some((to, from)) = joint.turn {
            let result = quats(quat(qpos, to), vector(tangent, from));
            numbers[to..to + 4].copy_from_slice(&result.0);
        }
    }
}

/// The length of quaternions, for divisions.
fn squared(quat: Quat) -> f64 {
    quat.dot(quat).max(f64::MIN_POSITIVE)
}

/// Cotangents in tangent space, from those by all numbers. (1)
pub(crate) fn pull(model: &Model, qpos: &[f64], bar: &[f64], tangent: &mut [f64]) {
    to_tangent(model, qpos, bar, tangent, carom::cotangent::turn_bar);
}

/// Cotangents by all numbers, from those in tangent space. (1)
pub(crate) fn lift(model: &Model, qpos: &[f64], tangent: &[f64], bar: &mut [f64]) {
    from_tangent(model, qpos, tangent, bar, lift_turn);
}

/// As [`lift`], of one quaternion.
pub(crate) fn lift_turn(quat: Quat, turn: Vec3) -> Quat {
    carom::cotangent::quat_bar(quat, turn).scale(1.0 / squared(quat))
}

/// Adds the cotangents by the lengths of quaternions, which a recorded start state has and nothing after it.
pub(crate) fn add_lengths(model: &Model, qpos: &[f64], bar: &[f64], sum: &mut [f64]) {
    for (start, _) in joints(model).filter_map(|joint| joint.turn) {
        let quat_here = quat(qpos, start);
        let factor = quat_here.dot(quat(bar, start)) / squared(quat_here);
        for k in 0..4 {
            sum[start + k] += factor * qpos[start + k];
        }
    }
}

/// Directions in tangent space, from those of all numbers. (1)
pub(crate) fn project(model: &Model, qpos: &[f64], direction: &[f64], tangent: &mut [f64]) {
    to_tangent(model, qpos, direction, tangent, |quat, change| {
        quat.conjugate().mul(change).parts().1 * (2.0 / squared(quat))
    });
}

/// Directions of all numbers, from those in tangent space. (1)
pub(crate) fn push(model: &Model, qpos: &[f64], tangent: &[f64], direction: &mut [f64]) {
    from_tangent(model, qpos, tangent, direction, |quat, turn| {
        quat.mul(Quat::from_parts(0.0, turn)).scale(0.5)
    });
}
