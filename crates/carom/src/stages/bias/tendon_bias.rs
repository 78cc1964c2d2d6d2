//! Bias force of tendons with armature: m·Jᵀ·(J̇·q̇).
//!
//! A straight piece of the path between points p₀, p₁ of two bodies has length |p₁ − p₀| and direction d. With w the
//! relative velocity and b the relative acceleration at q̈ = 0,
//!
//!   J̇·q̇ = d·b + ḋ·w,   ḋ = (w − (d·w)·d) / |p₁ − p₀|                                  (1)
//!
//! Fixed tendons have a constant Jacobian. Paths around geoms may not have armature: the compiler refuses them.

use super::Bias;
use crate::jacobian;
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::{Model, Wrap};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;

/// Adds the bias force of all tendons; `out` holds the body accelerations at q̈ = 0.
pub(super) fn add<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    out: &mut Bias<T>,
) {
    for (index, &armature) in model.tendons.armature.iter().enumerate() {
        let skipped = !T::HAS_DERIVATIVES && armature == T::ZERO;
        if skipped || !model.structure.tendons.spatial[index] {
            continue;
        }
        let accelerations = &out.body_acceleration;
        let force = armature * path_acceleration(model, index, kinematics, velocity, accelerations);
        let pattern = &model.structure.tendons.jacobian;
        let range = pattern.row(index);
        for (&dof, &entry) in pattern.columns[range.clone()]
            .iter()
            .zip(&tendon.jacobian[range])
        {
            out.force[dof] += entry * force;
        }
    }
}

/// Second derivative of a spatial tendon's length under the given body accelerations: J̇·q̇ when they are those at q̈ = 0.
pub(crate) fn path_acceleration<T: Scalar>(
    model: &Model<T>,
    tendon: usize,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    accelerations: &[Spatial<T>],
) -> T {
    let wraps = model.structure.tendons.wraps[tendon].clone();
    let path = &model.structure.tendons.path[wraps.clone()];
    let (mut sum, mut divisor) = (T::ZERO, T::ONE);
    for (position, pair) in path.windows(2).enumerate() {
        match *pair {
            [Wrap::Pulley, _] => divisor = model.wraps.coefficient[wraps.start + position],
            [Wrap::Site(first), Wrap::Site(second)] => {
                let ends = [first, second];
                sum += segment_acceleration(model, ends, kinematics, velocity, accelerations)
                    / divisor;
            }
            _ => {}
        }
    }
    sum
}

/// Second derivative of the distance between two sites. (1)
fn segment_acceleration<T: Scalar>(
    model: &Model<T>,
    sites: [usize; 2],
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    accelerations: &[Spatial<T>],
) -> T {
    let bodies = sites.map(|site| model.structure.sites.body[site]);
    if bodies[0] == bodies[1] {
        return T::ZERO;
    }
    let points = sites.map(|site| kinematics.site_position[site]);
    let motions: [_; 2] = std::array::from_fn(|i| {
        point_motion(
            model,
            bodies[i],
            points[i],
            kinematics,
            velocity,
            accelerations,
        )
    });
    let relative_velocity = motions[1].0 - motions[0].0;
    // The fictitious acceleration of gravity is the same at both ends.
    let relative_acceleration = motions[1].1 - motions[0].1;
    let (direction, length) = (points[1] - points[0]).normalized();
    let along = direction.dot(relative_velocity);
    let turning = if length.value() > MIN_LENGTH {
        (relative_velocity - direction * along) * length.recip()
    } else {
        Vec3::ZERO
    };
    direction.dot(relative_acceleration) + turning.dot(relative_velocity)
}

/// Velocity and acceleration of a body-fixed point.
fn point_motion<T: Scalar>(
    model: &Model<T>,
    body: usize,
    point: Vec3<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    accelerations: &[Spatial<T>],
) -> (Vec3<T>, Vec3<T>) {
    let offset = jacobian::offset(model, kinematics, body, point);
    let motion = velocity.body[body];
    let point_velocity = jacobian::point_velocity(motion, offset);
    let spatial_acceleration = jacobian::point_velocity(accelerations[body], offset);
    (
        point_velocity,
        spatial_acceleration + motion.angular().cross(point_velocity),
    )
}
