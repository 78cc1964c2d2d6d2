//! Distances to the limits of joints and tendons.

use crate::math::Quat;
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;
use crate::state::State;

/// A limit that is active: within its margin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ActiveLimit<T> {
    /// Distance to the limit, less the margin (m or rad).
    pub(super) distance: T,
    /// Rate of change of the distance.
    pub(super) velocity: T,
}

/// The active limit of a joint, the lower one first; zero when there is none.
pub(super) fn joint_limit<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    joint: usize,
) -> ActiveLimit<T> {
    let joints = &model.structure.joints;
    if !joints.limited[joint] || are_disabled(model) {
        return ActiveLimit::default();
    }
    let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
    let (range, margin) = (model.joints.range[joint], model.joints.margin[joint]);
    match joints.kind[joint] {
        JointKind::Slide | JointKind::Hinge => {
            scalar_limit(state.qpos[qpos], state.qvel[dof], range, margin)
        }
        JointKind::Ball => {
            let quat = Quat(std::array::from_fn(|i| state.qpos[qpos + i])).normalized();
            let (axis, angle) = quat.log().normalized();
            let turning = (0..3).fold(T::ZERO, |sum, i| sum + axis[i] * state.qvel[dof + i]);
            let limit = range[0].max(range[1]);
            within_margin(limit - angle, -turning, margin).unwrap_or_default()
        }
        JointKind::Free => ActiveLimit::default(),
    }
}

/// The active limit of a tendon, the lower one first; zero when there is none.
pub(super) fn tendon_limit<T: Scalar>(
    model: &Model<T>,
    tendon: usize,
    length: T,
    velocity: T,
) -> ActiveLimit<T> {
    if !model.structure.tendons.limited[tendon] || are_disabled(model) {
        return ActiveLimit::default();
    }
    let (range, margin) = (model.tendons.range[tendon], model.tendons.margin[tendon]);
    scalar_limit(length, velocity, range, margin)
}

fn are_disabled<T: Scalar>(model: &Model<T>) -> bool {
    model.settings.disable.constraint || model.settings.disable.limit
}

fn scalar_limit<T: Scalar>(
    value: T,
    velocity: T,
    [low, high]: [T; 2],
    margin: T,
) -> ActiveLimit<T> {
    within_margin(value - low, velocity, margin)
        .or_else(|| within_margin(high - value, -velocity, margin))
        .unwrap_or_default()
}

fn within_margin<T: Scalar>(distance: T, velocity: T, margin: T) -> Option<ActiveLimit<T>> {
    (distance < margin).then(|| ActiveLimit {
        distance: distance - margin,
        velocity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_limit_within_its_margin_is_felt() {
        let range = [-1.0, 2.0];
        assert_eq!(scalar_limit(0.5, 3.0, range, 0.1), ActiveLimit::default());
        let lower = scalar_limit(-1.2, 3.0, range, 0.1);
        assert!((lower.distance + 0.3).abs() < 1e-15);
        assert_eq!(lower.velocity, 3.0);
        let upper = scalar_limit(1.95, 3.0, range, 0.1);
        assert!((upper.distance + 0.05).abs() < 1e-15);
        assert_eq!(upper.velocity, -3.0);
    }
}
