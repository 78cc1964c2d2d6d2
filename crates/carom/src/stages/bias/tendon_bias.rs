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
use crate::dual::Dual;
use crate::dynamics::At;
use crate::jacobian;
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::add_tangent;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::{Leg, Step, Tendon, steps};
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
    let (mut sum, mut divisor) = (T::ZERO, T::ONE);
    for step in steps(&model.structure.tendons, tendon) {
        match step {
            Step::Pulley(position) => divisor = model.wraps.coefficient[position],
            Step::Leg(leg) => {
                if let Some(relative) = relative(model, &leg, kinematics, velocity, accelerations) {
                    sum += stretching(relative) / divisor;
                }
            }
        }
    }
    sum
}

/// Second derivative of the distance of two points from their difference and the first two derivatives of that. (1)
pub(crate) fn stretching<T: Scalar>([between, velocity, acceleration]: [Vec3<T>; 3]) -> T {
    let (direction, length) = between.normalized();
    let along = direction.dot(velocity);
    let turning = if length.value() > MIN_LENGTH {
        (velocity - direction * along) * length.recip()
    } else {
        Vec3::ZERO
    };
    direction.dot(acceleration) + turning.dot(velocity)
}

/// Position, velocity and acceleration of the end of a leg relative to its start; none where both are on one body.
fn relative<T: Scalar>(
    model: &Model<T>,
    leg: &Leg,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    accelerations: &[Spatial<T>],
) -> Option<[Vec3<T>; 3]> {
    let [first, second] = leg.sites.map(|site| model.structure.sites.body[site]);
    if first == second || leg.around.is_some() {
        return None;
    }
    let [start, end] = leg.sites.map(|site| {
        let (body, point) = (
            model.structure.sites.body[site],
            kinematics.site_position[site],
        );
        let (speed, rate) = point_motion(model, body, point, kinematics, velocity, accelerations);
        [point, speed, rate]
    });
    // The fictitious acceleration of gravity is the same at both ends.
    Some(std::array::from_fn(|k| end[k] - start[k]))
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
    let mut pulley = None;
    for step in steps(&model.structure.tendons, tendon) {
        let leg = match step {
            Step::Pulley(position) => {
                pulley = Some(position);
                continue;
            }
            Step::Leg(leg) => leg,
        };
        let Some(relative) = relative(model, &leg, kinematics, velocity, accelerations) else {
            continue;
        };
        let divisor = pulley.map_or(1.0, |pulley| model.wraps.coefficient[pulley]);
        let variables = std::array::from_fn(|i| {
            Vec3(std::array::from_fn(|k| {
                Dual::<9>::variable(relative[i][k], 3 * i + k)
            }))
        });
        let found = stretching(variables);
        let mut slopes = [0.0; 9];
        add_tangent(&mut slopes, found, bar / divisor);
        let bars = [0, 3, 6].map(|first| Vec3(std::array::from_fn(|k| slopes[first + k])));
        if let Some(pulley) = pulley {
            cotangents.coefficient[pulley] -= bar * found.value / (divisor * divisor);
        }
        let motion = (kinematics, velocity, accelerations);
        for (site, sign) in leg.sites.into_iter().zip([-1.0, 1.0]) {
            end_vjp(
                model,
                site,
                motion,
                bars.map(|bar| bar * sign),
                &mut cotangents,
            );
        }
    }
}

/// The twin of one end of a leg: from its position, velocity and acceleration to what they follow from.
fn end_vjp(
    model: &Model,
    site: usize,
    (kinematics, velocity, accelerations): (&Kinematics, &Velocity, &[Spatial]),
    [position_bar, velocity_bar, acceleration_bar]: [Vec3; 3],
    cotangents: &mut PathBar<'_>,
) {
    let body = model.structure.sites.body[site];
    let offset = jacobian::offset(model, kinematics, body, kinematics.site_position[site]);
    let (motion, acceleration) = (velocity.body[body], accelerations[body]);
    let speed = jacobian::point_velocity(motion, offset);
    let velocity_bar = velocity_bar + acceleration_bar.cross(motion.angular());
    let turn_bar = speed.cross(acceleration_bar) + offset.cross(velocity_bar);
    cotangents.accelerations[body] +=
        Spatial::new(offset.cross(acceleration_bar), acceleration_bar);
    cotangents.velocity.body[body] += Spatial::new(turn_bar, velocity_bar);
    let offset_bar =
        acceleration_bar.cross(acceleration.angular()) + velocity_bar.cross(motion.angular());
    cotangents.kinematics.site_position[site] += offset_bar + position_bar;
    cotangents.kinematics.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
}
