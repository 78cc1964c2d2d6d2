//! What each kind of sensor reads.

use std::f64::consts::PI;

use super::Sensed;
use super::constraint_force::ActiveLimit;
use super::frame::{self, Frame};
use crate::math::{MIN_LENGTH, Quat, Spatial, Vec3};
use crate::model::{FrameObject, GeomKind, Model, SensorKind};
use crate::scalar::Scalar;
use crate::stages::actuation::tendon_force;
use crate::stages::constraint::BlockKind;
use crate::state::State;

/// Everything a sensor may read.
pub(super) struct Reader<'a, T: Scalar> {
    pub(super) model: &'a Model<T>,
    pub(super) state: &'a State<T>,
    pub(super) stages: &'a Sensed<'a, T>,
    pub(super) energy: &'a [T; 2],
    pub(super) subtree_velocity: &'a [Vec3<T>],
    pub(super) subtree_angular_momentum: &'a [Vec3<T>],
    pub(super) body_acceleration: &'a [Spatial<T>],
    pub(super) interaction_force: &'a [Spatial<T>],
}

impl<T: Scalar> Reader<'_, T> {
    /// Writes the values of a sensor.
    pub(super) fn measure(&self, kind: SensorKind, values: &mut [T]) {
        if let Some(found) = self.actuator(kind) {
            values.copy_from_slice(found);
        } else if let Some(value) = self.scalar(kind) {
            values[0] = value;
        } else if let Some(vector) = self.vector(kind) {
            values.copy_from_slice(&vector.0);
        } else if let Some(quat) = self.quat(kind) {
            values.copy_from_slice(&quat.0);
        } else if let SensorKind::CameraProjection { site, camera } = kind {
            values.copy_from_slice(&self.project(site, camera));
        } else if let SensorKind::Contact(sensor) = kind {
            self.contacts(&sensor, values);
        } else if let SensorKind::Rangefinder { object, output } = kind {
            self.ranges(object, output, values);
        } else {
            // Distances have a pass of their own, enclosure is not evaluated yet, user sensors are for the user.
            values.fill(T::ZERO);
        }
    }

    /// Sensors with a value for each force of an actuator.
    fn actuator(&self, kind: SensorKind) -> Option<&[T]> {
        let (outputs, stages) = (&self.model.structure.actuators.outputs, self.stages);
        let (numbers, actuator) = match kind {
            SensorKind::ActuatorPosition { actuator } => (&stages.transmission.length, actuator),
            SensorKind::ActuatorVelocity { actuator } => (&stages.velocity.actuator, actuator),
            SensorKind::ActuatorForce { actuator } => (&stages.actuation.actuator_force, actuator),
            _ => return None,
        };
        Some(&numbers[outputs[actuator].clone()])
    }

    /// Sensors with a single value.
    fn scalar(&self, kind: SensorKind) -> Option<T> {
        let (model, state, stages) = (self.model, self.state, self.stages);
        let joints = &model.structure.joints;
        let joint_limit = |joint| ActiveLimit::find(stages, BlockKind::JointLimit, joint);
        let tendon_limit = |tendon| ActiveLimit::find(stages, BlockKind::TendonLimit, tendon);
        Some(match kind {
            SensorKind::Touch { site } => self.touch(site),
            SensorKind::JointPosition { joint } => state.qpos[joints.qpos[joint]],
            SensorKind::JointVelocity { joint } => state.qvel[joints.dof[joint]],
            SensorKind::TendonPosition { tendon } => stages.tendon.length[tendon],
            SensorKind::TendonVelocity { tendon } => stages.velocity.tendon[tendon],
            SensorKind::JointActuatorForce { joint } => stages.actuation.force[joints.dof[joint]],
            SensorKind::TendonActuatorForce { tendon } => {
                tendon_force(model, tendon, &stages.actuation.actuator_force)
            }
            SensorKind::JointLimitPosition { joint } => joint_limit(joint).distance,
            SensorKind::JointLimitVelocity { joint } => joint_limit(joint).velocity,
            SensorKind::TendonLimitPosition { tendon } => tendon_limit(tendon).distance,
            SensorKind::TendonLimitVelocity { tendon } => tendon_limit(tendon).velocity,
            SensorKind::JointLimitForce { joint } => joint_limit(joint).force,
            SensorKind::TendonLimitForce { tendon } => tendon_limit(tendon).force,
            SensorKind::InsideSite {
                object,
                site,
                enclosed: false,
            } => {
                if self.is_inside(object, site) {
                    T::ONE
                } else {
                    T::ZERO
                }
            }
            SensorKind::PotentialEnergy => self.energy[0],
            SensorKind::KineticEnergy => self.energy[1],
            SensorKind::Clock => state.time,
            _ => return None,
        })
    }

    /// Sensors with three values.
    fn vector(&self, kind: SensorKind) -> Option<Vec3<T>> {
        let (model, state, stages) = (self.model, self.state, self.stages);
        let site_frame = |site: usize| self.frame(FrameObject::Site(site));
        Some(match kind {
            SensorKind::Magnetometer { site } => {
                let rotation = &stages.kinematics.site_rotation[site];
                rotation.transpose_mul_vec(model.option.magnetic[0])
            }
            SensorKind::Velocimeter { site } => {
                let frame = site_frame(site);
                let velocity = frame.velocity(stages);
                frame.rotation.transpose_mul_vec(velocity.linear())
            }
            SensorKind::Gyro { site } => {
                let frame = site_frame(site);
                let velocity = frame.velocity(stages);
                frame.rotation.transpose_mul_vec(velocity.angular())
            }
            SensorKind::Accelerometer { site } => {
                let frame = site_frame(site);
                let acceleration = frame.acceleration(stages, self.body_acceleration);
                frame.rotation.transpose_mul_vec(acceleration.linear())
            }
            SensorKind::Force { site } => {
                let frame = site_frame(site);
                frame
                    .local_force(self.interaction_force[frame.body])
                    .linear()
            }
            SensorKind::Torque { site } => {
                let frame = site_frame(site);
                frame
                    .local_force(self.interaction_force[frame.body])
                    .angular()
            }
            SensorKind::BallAngularVelocity { joint } => {
                let dof = model.structure.joints.dof[joint];
                Vec3(std::array::from_fn(|i| state.qvel[dof + i]))
            }
            SensorKind::FrameLinearAcceleration { object } => {
                let acceleration = self
                    .frame(object)
                    .acceleration(stages, self.body_acceleration);
                acceleration.linear()
            }
            SensorKind::FrameAngularAcceleration { object } => {
                let acceleration = self
                    .frame(object)
                    .acceleration(stages, self.body_acceleration);
                acceleration.angular()
            }
            SensorKind::SubtreeCenterOfMass { body } => stages.kinematics.subtree_com[body],
            SensorKind::SubtreeLinearVelocity { body } => self.subtree_velocity[body],
            SensorKind::SubtreeAngularMomentum { body } => self.subtree_angular_momentum[body],
            _ => return self.relative_vector(kind),
        })
    }

    /// Sensors with three values in the frame of a reference, or of the world.
    fn relative_vector(&self, kind: SensorKind) -> Option<Vec3<T>> {
        match kind {
            SensorKind::FramePosition { object, reference } => {
                let position = self.frame(object).position;
                Some(match reference.map(|object| self.frame(object)) {
                    None => position,
                    Some(frame) => frame.rotation.transpose_mul_vec(position - frame.position),
                })
            }
            SensorKind::FrameAxis {
                object,
                reference,
                axis,
            } => {
                let axis = self.frame(object).rotation.column(usize::from(axis));
                Some(match reference.map(|object| self.frame(object)) {
                    None => axis,
                    Some(frame) => frame.rotation.transpose_mul_vec(axis),
                })
            }
            SensorKind::FrameLinearVelocity { object, reference } => {
                Some(self.relative_velocity(object, reference).linear())
            }
            SensorKind::FrameAngularVelocity { object, reference } => {
                Some(self.relative_velocity(object, reference).angular())
            }
            _ => None,
        }
    }

    /// Sensors with four values.
    fn quat(&self, kind: SensorKind) -> Option<Quat<T>> {
        match kind {
            SensorKind::BallQuaternion { joint } => {
                let start = self.model.structure.joints.qpos[joint];
                let quat = Quat(std::array::from_fn(|i| self.state.qpos[start + i]));
                Some(quat.normalized())
            }
            SensorKind::FrameQuaternion { object, reference } => {
                let quat = frame::quat(self.model, self.stages, object);
                Some(match reference {
                    None => quat,
                    Some(reference) => frame::quat(self.model, self.stages, reference)
                        .conjugate()
                        .mul(quat),
                })
            }
            _ => None,
        }
    }

    fn frame(&self, object: FrameObject) -> Frame<'_, T> {
        Frame::new(self.model, self.stages, object)
    }

    /// Velocity of an object as seen from a reference that moves and turns, in its axes; or in the world.
    fn relative_velocity(&self, object: FrameObject, reference: Option<FrameObject>) -> Spatial<T> {
        let object = self.frame(object);
        let velocity = object.velocity(self.stages);
        let Some(reference) = reference else {
            return velocity;
        };
        let reference = self.frame(reference);
        let offset = object.position - reference.position;
        let carried = reference.velocity(self.stages).shift_motion(offset);
        (velocity - carried).into_local_axes(reference.rotation)
    }

    /// Whether the origin of an object's frame is inside a site.
    fn is_inside(&self, object: FrameObject, site: usize) -> bool {
        let model = self.model;
        let mut point = self.frame(object).position;
        if let FrameObject::Inertial(body) = object {
            let masses = &model.bodies;
            // A body without mass of its own has no centre of mass but that of its subtree.
            if body > 0
                && masses.mass[body].value() < MIN_LENGTH
                && masses.subtree_mass[body].value() >= MIN_LENGTH
            {
                point = self.stages.kinematics.subtree_com[body];
            }
        }
        self.site_contains(site, point)
    }

    /// Whether a point of the world is inside the volume of a site.
    pub(super) fn site_contains(&self, site: usize, point: Vec3<T>) -> bool {
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let offset = point - kinematics.site_position[site];
        let local = kinematics.site_rotation[site].transpose_mul_vec(offset);
        let size = model.sites.size[site].0.map(T::value);
        is_inside(
            model.structure.sites.kind[site],
            size,
            local.0.map(T::value),
        )
    }

    /// Pixel at which a camera sees a site.
    fn project(&self, site: usize, camera: usize) -> [T; 2] {
        let kinematics = self.stages.kinematics;
        let offset = kinematics.site_position[site] - kinematics.camera_position[camera];
        let local = kinematics.camera_rotation[camera].transpose_mul_vec(offset);
        let resolution = self.model.structure.cameras.resolution[camera].map(f64::from);
        pixel(local, self.focal_pixels(camera, resolution), resolution)
    }

    /// Focal lengths in pixels.
    fn focal_pixels(&self, camera: usize, resolution: [f64; 2]) -> [T; 2] {
        let cameras = &self.model.cameras;
        let [focal_x, focal_y, ..] = cameras.intrinsic[camera];
        focal_lengths(
            cameras.fovy[camera],
            cameras.sensor_size[camera],
            [focal_x, focal_y],
            resolution,
        )
    }
}

/// Principal point in pixels from the left and from the top.
pub(super) fn principal_point<T: Scalar>(
    size: [T; 2],
    [.., x, y]: [T; 4],
    resolution: [f64; 2],
) -> [T; 2] {
    if size[0] == T::ZERO || size[1] == T::ZERO {
        return resolution.map(|pixels| T::from(0.5 * pixels));
    }
    in_pixels([x, y], size, resolution)
}

/// Pixel at which a camera sees a point given in its frame.
pub(super) fn pixel<T: Scalar>(
    Vec3([x, y, mut depth]): Vec3<T>,
    [fx, fy]: [T; 2],
    resolution: [f64; 2],
) -> [T; 2] {
    if depth.value().abs() < MIN_LENGTH {
        depth = T::from(MIN_LENGTH.copysign(depth.value()));
    }
    [
        -fx * (x / depth) + 0.5 * resolution[0],
        fy * (y / depth) + 0.5 * resolution[1],
    ]
}

/// Focal lengths in pixels: from those of the optics where the sensor has a size, from the field of view otherwise.
pub(super) fn focal_lengths<T: Scalar>(
    fovy: T,
    size: [T; 2],
    focal: [T; 2],
    resolution: [f64; 2],
) -> [T; 2] {
    if size[0] == T::ZERO || size[1] == T::ZERO {
        let half = fovy * (PI / 360.0);
        return [half.tan().recip() * (0.5 * resolution[1]); 2];
    }
    in_pixels(focal, size, resolution)
}

/// Lengths on a sensor of a size, in pixels.
fn in_pixels<T: Scalar>(length: [T; 2], size: [T; 2], resolution: [f64; 2]) -> [T; 2] {
    std::array::from_fn(|axis| {
        let (length, size, pixels) = (length[axis], size[axis], resolution[axis]);
        let exact = length / size * pixels;
        let single = single_precision_ratio(length.value(), size.value(), pixels);
        exact + T::from(single - exact.value())
    })
}

/// a / b · c in single precision: camera intrinsics are single-precision numbers, and so is their arithmetic.
#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding to single precision is the purpose"
)]
fn single_precision_ratio(a: f64, b: f64, c: f64) -> f64 {
    f64::from(a as f32 / b as f32 * c as f32)
}

/// Whether a point, in the frame of a shape, is inside it.
pub(super) fn is_inside(kind: GeomKind, size: [f64; 3], [x, y, z]: [f64; 3]) -> bool {
    let across = x * x + y * y;
    match kind {
        GeomKind::Sphere => across + z * z < size[0] * size[0],
        GeomKind::Capsule => {
            let beyond = (z.abs() - size[1]).max(0.0);
            across + beyond * beyond < size[0] * size[0]
        }
        GeomKind::Ellipsoid => {
            let square = |a: f64, b: f64| (a / b) * (a / b);
            square(x, size[0]) + square(y, size[1]) + square(z, size[2]) < 1.0
        }
        GeomKind::Cylinder => z.abs() < size[1] && across < size[0] * size[0],
        GeomKind::Box => x.abs() < size[0] && y.abs() < size[1] && z.abs() < size[2],
        GeomKind::Plane => z < 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_inside_a_shape_or_not() {
        let size = [0.2, 0.3, 0.4];
        let cases = [
            (GeomKind::Sphere, [0.1, 0.1, 0.1], [0.15, 0.15, 0.0]),
            (GeomKind::Capsule, [0.0, 0.1, 0.45], [0.15, 0.1, 0.4]),
            (GeomKind::Ellipsoid, [0.0, 0.0, 0.39], [0.15, 0.2, 0.1]),
            (GeomKind::Cylinder, [0.1, 0.1, 0.29], [0.0, 0.0, 0.31]),
            (GeomKind::Box, [0.19, 0.29, -0.39], [0.19, -0.31, 0.0]),
            (GeomKind::Plane, [5.0, 5.0, -0.1], [0.0, 0.0, 0.1]),
        ];
        for (kind, inside, outside) in cases {
            assert!(is_inside(kind, size, inside), "{kind:?}");
            assert!(!is_inside(kind, size, outside), "{kind:?}");
        }
    }
}
