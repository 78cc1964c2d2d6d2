//! Bias force of tendons with armature: m·Jᵀ·(J̇·q̇).
//!
//! A straight piece of the path between points p₀, p₁ of two bodies has length |p₁ − p₀| and direction d. With w the
//! relative velocity and b the relative acceleration at q̈ = 0,
//!
//!   J̇·q̇ = d·b + ḋ·w,   ḋ = (w − (d·w)·d) / |p₁ − p₀|                                  (1)
//!
//! Fixed tendons have a constant Jacobian. Paths around geoms may not have armature: the compiler refuses them.

use super::Bias;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
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

/// The adjoint of [`add`]; reads the cotangent of the force, adds to that of the body accelerations.
pub(super) fn backward(
    at: At<'_>,
    own: &mut Bias,
    velocity_bar: &mut Velocity,
    bar: &mut Cotangents,
) {
    let model = at.model;
    let (kinematics, velocity) = (&at.data.kinematics, &at.data.velocity);
    for (index, &armature) in model.tendons.armature.iter().enumerate() {
        if !model.structure.tendons.spatial[index] {
            continue;
        }
        let accelerations = &at.data.bias.body_acceleration;
        let along = path_acceleration(model, index, kinematics, velocity, accelerations);
        let pattern = &model.structure.tendons.jacobian;
        let mut force_bar = 0.0;
        for entry in pattern.row(index) {
            let dof_bar = own.force[pattern.columns[entry]];
            force_bar += dof_bar * at.data.tendon.jacobian[entry];
            bar.data.tendon.jacobian[entry] += dof_bar * armature * along;
        }
        bar.model.tendons.armature[index] += force_bar * along;
        let along_bar = force_bar * armature;
        if along_bar != 0.0 {
            let cotangents = PathBar {
                kinematics: &mut bar.data.kinematics,
                velocity: &mut *velocity_bar,
                accelerations: &mut own.body_acceleration,
                coefficient: &mut bar.model.wraps.coefficient,
            };
            let motion = (kinematics, velocity, &accelerations[..]);
            path_acceleration_vjp(model, index, motion, along_bar, cotangents);
        }
    }
}

/// Where [`path_acceleration_vjp`] adds its results.
pub(crate) struct PathBar<'a> {
    /// Of the kinematics.
    pub(crate) kinematics: &'a mut Kinematics,
    /// Of the velocities.
    pub(crate) velocity: &'a mut Velocity,
    /// Of the body accelerations.
    pub(crate) accelerations: &'a mut [Spatial],
    /// Of the divisors of pulleys.
    pub(crate) coefficient: &'a mut [f64],
}

/// The twin of [`path_acceleration`].
pub(crate) fn path_acceleration_vjp(
    model: &Model,
    tendon: usize,
    (kinematics, velocity, accelerations): (&Kinematics, &Velocity, &[Spatial]),
    bar: f64,
    mut cotangents: PathBar<'_>,
) {
    let wraps = model.structure.tendons.wraps[tendon].clone();
    let path = &model.structure.tendons.path[wraps.clone()];
    let mut pulley = None;
    for (position, pair) in path.windows(2).enumerate() {
        match *pair {
            [Wrap::Pulley, _] => pulley = Some(wraps.start + position),
            [Wrap::Site(first), Wrap::Site(second)] => {
                let divisor = pulley.map_or(1.0, |pulley| model.wraps.coefficient[pulley]);
                let ends = [first, second];
                let sources = (kinematics, velocity, accelerations);
                segment_acceleration_vjp(model, ends, sources, bar / divisor, &mut cotangents);
                if let Some(pulley) = pulley {
                    let along =
                        segment_acceleration(model, ends, kinematics, velocity, accelerations);
                    cotangents.coefficient[pulley] -= bar * along / (divisor * divisor);
                }
            }
            _ => {}
        }
    }
}

/// The twin of [`segment_acceleration`], which is d·b + (w·w − (d·w)²)/|p₁ − p₀|.
fn segment_acceleration_vjp(
    model: &Model,
    sites: [usize; 2],
    (kinematics, velocity, accelerations): (&Kinematics, &Velocity, &[Spatial]),
    bar: f64,
    cotangents: &mut PathBar<'_>,
) {
    let bodies = sites.map(|site| model.structure.sites.body[site]);
    if bodies[0] == bodies[1] {
        return;
    }
    let points = sites.map(|site| kinematics.site_position[site]);
    let motion = |i: usize| {
        point_motion(
            model,
            bodies[i],
            points[i],
            kinematics,
            velocity,
            accelerations,
        )
    };
    let motions = [motion(0), motion(1)];
    let w = motions[1].0 - motions[0].0;
    let b = motions[1].1 - motions[0].1;
    let between = points[1] - points[0];
    let (d, length) = between.normalized();
    let inverse = if length > MIN_LENGTH {
        1.0 / length
    } else {
        0.0
    };
    let along = d.dot(w);
    let d_bar = (b - w * (2.0 * along * inverse)) * bar;
    let length_bar = -bar * (w.dot(w) - along * along) * inverse * inverse;
    let velocity_bar = (w - d * along) * (2.0 * inverse * bar);
    let mut between_bar = Vec3::ZERO;
    between.normalized_vjp(d_bar, length_bar, &mut between_bar);
    for (i, sign) in [(0, -1.0), (1, 1.0)] {
        let (body, root) = (bodies[i], model.structure.bodies.root[bodies[i]]);
        let offset = jacobian::offset(model, kinematics, body, points[i]);
        let (motion, acceleration) = (velocity.body[body], accelerations[body]);
        let acceleration_bar = d * (sign * bar);
        let velocity_bar = velocity_bar * sign + acceleration_bar.cross(motion.angular());
        let turn_bar = motions[i].0.cross(acceleration_bar) + offset.cross(velocity_bar);
        cotangents.accelerations[body] +=
            Spatial::new(offset.cross(acceleration_bar), acceleration_bar);
        cotangents.velocity.body[body] += Spatial::new(turn_bar, velocity_bar);
        let offset_bar =
            acceleration_bar.cross(acceleration.angular()) + velocity_bar.cross(motion.angular());
        cotangents.kinematics.site_position[sites[i]] += offset_bar + between_bar * sign;
        cotangents.kinematics.subtree_com[root] -= offset_bar;
    }
}
