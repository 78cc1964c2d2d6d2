//! What each kind of sensor passes on.

use super::backward::Reverse;
use super::constraint_force::ActiveLimit;
use super::frame::{self, Frame};
use super::measure::{focal_lengths, pixel};
use crate::cotangent::{quat_bar, turn_bar};
use crate::dual::Dual;
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{FrameObject, SensorKind, Transmission};
use crate::stages::constraint::BlockKind;

/// Most values of the sensors that pass their cotangents on, those of contacts aside.
const MAX_VALUES: usize = 4;

/// Cotangents of a frame.
#[derive(Clone, Copy, Default)]
struct FrameBar {
    position: Vec3,
    rotation: Mat3,
    /// Of the lever arm from the tree's centre of mass.
    offset: Vec3,
}

impl<'a> Reverse<'a> {
    /// Passes on the cotangents of one sensor's values.
    pub(super) fn sensor(&mut self, sensor: usize, kind: SensorKind) {
        let sensors = &self.model.structure.sensors;
        let (address, dimension) = (sensors.address[sensor], sensors.dimension[sensor]);
        if let SensorKind::Contact(contact_sensor) = kind {
            self.contacts(&contact_sensor, address);
            return;
        }
        if let SensorKind::Rangefinder { output, .. } = kind {
            self.ranges(sensor, kind, output);
            return;
        }
        if dimension > MAX_VALUES {
            return;
        }
        let mut bars = [0.0; MAX_VALUES];
        bars[..dimension].copy_from_slice(&self.bar.values[address..][..dimension]);
        self.clip(sensor, &mut bars[..dimension]);
        let [x, y, z, _] = bars;
        if !self.actuator(kind, &bars)
            && !self.scalar(kind, x)
            && !self.vector(kind, Vec3([x, y, z]))
        {
            self.quat(kind, Quat(bars));
            if let SensorKind::CameraProjection { site, camera } = kind {
                self.project(site, camera, [x, y]);
            }
        }
    }

    /// What is held at the cutoff depends on it alone.
    fn clip(&mut self, sensor: usize, bars: &mut [f64]) {
        let (sensors, cutoff) = (
            &self.model.structure.sensors,
            self.model.sensors.cutoff[sensor],
        );
        let Some(both_signs) = sensors.clip[sensor] else {
            return;
        };
        if cutoff <= 0.0 {
            return;
        }
        let fresh = if self.state.history.is_empty() {
            &self.sensing.values
        } else {
            &self.sensing.measured
        };
        let values = &fresh[sensors.address[sensor]..];
        for (bar, &value) in bars.iter_mut().zip(values) {
            let sign = if value >= cutoff {
                1.0
            } else if both_signs && value <= -cutoff {
                -1.0
            } else {
                continue;
            };
            self.bars.model.sensors.cutoff[sensor] += sign * *bar;
            *bar = 0.0;
        }
    }

    /// Sensors with a value for each force of an actuator; false for others.
    fn actuator(&mut self, kind: SensorKind, values_bar: &[f64]) -> bool {
        let outputs = &self.model.structure.actuators.outputs;
        let data = &mut self.bars.data;
        let (sums, actuator) = match kind {
            SensorKind::ActuatorPosition { actuator } => (&mut data.transmission.length, actuator),
            SensorKind::ActuatorVelocity { actuator } => (&mut data.velocity.actuator, actuator),
            SensorKind::ActuatorForce { actuator } => {
                (&mut data.actuation.actuator_force, actuator)
            }
            _ => return false,
        };
        for (sum, bar) in sums[outputs[actuator].clone()].iter_mut().zip(values_bar) {
            *sum += bar;
        }
        true
    }

    /// Sensors with a single value; false for others.
    fn scalar(&mut self, kind: SensorKind, bar: f64) -> bool {
        let joints = &self.model.structure.joints;
        let bars = &mut *self.bars;
        match kind {
            SensorKind::Touch { site } => self.touch(site, bar),
            // The configuration of a hinge or slide has one dof.
            SensorKind::JointPosition { joint } => bars.state.qpos[joints.dof[joint]] += bar,
            SensorKind::JointVelocity { joint } => bars.state.qvel[joints.dof[joint]] += bar,
            SensorKind::TendonPosition { tendon } => bars.data.tendon.length[tendon] += bar,
            SensorKind::TendonVelocity { tendon } => bars.data.velocity.tendon[tendon] += bar,
            SensorKind::JointActuatorForce { joint } => {
                bars.data.actuation.force[joints.dof[joint]] += bar;
            }
            SensorKind::TendonActuatorForce { tendon } => {
                let actuators = &self.model.structure.actuators;
                for (transmission, outputs) in actuators.transmission.iter().zip(&actuators.outputs)
                {
                    if *transmission == Transmission::Tendon(tendon) {
                        bars.data.actuation.actuator_force[outputs.start] += bar;
                    }
                }
            }
            SensorKind::JointLimitPosition { joint } => self.limit(joint, false, [bar, 0.0, 0.0]),
            SensorKind::JointLimitVelocity { joint } => self.limit(joint, false, [0.0, bar, 0.0]),
            SensorKind::JointLimitForce { joint } => self.limit(joint, false, [0.0, 0.0, bar]),
            SensorKind::TendonLimitPosition { tendon } => self.limit(tendon, true, [bar, 0.0, 0.0]),
            SensorKind::TendonLimitVelocity { tendon } => self.limit(tendon, true, [0.0, bar, 0.0]),
            SensorKind::TendonLimitForce { tendon } => self.limit(tendon, true, [0.0, 0.0, bar]),
            SensorKind::PotentialEnergy => self.bar.energy[0][0] += bar,
            SensorKind::KineticEnergy => self.bar.energy[0][1] += bar,
            SensorKind::Clock => bars.state.time += bar,
            // Steps have no derivative.
            SensorKind::InsideSite { .. } | SensorKind::User { .. } => {}
            _ => return false,
        }
        true
    }

    /// Distance, rate and force of an active limit.
    fn limit(&mut self, object: usize, of_tendon: bool, [distance, rate, force]: [f64; 3]) {
        let kind = if of_tendon {
            BlockKind::TendonLimit
        } else {
            BlockKind::JointLimit
        };
        if let Some(row) = ActiveLimit::<f64>::row(self.stages, kind, object) {
            self.bars.data.constraint.rows[row].distance += distance;
            self.bars.data.constraint.rows[row].velocity += rate;
            self.bars.data.solve.force[row] += force;
        }
    }

    /// Sensors with three values; false for others.
    fn vector(&mut self, kind: SensorKind, bar: Vec3) -> bool {
        let none = Vec3::ZERO;
        match kind {
            SensorKind::Magnetometer { site } => self.stages.kinematics.site_rotation[site]
                .transpose_mul_vec_vjp(
                    self.model.option.magnetic[0],
                    bar,
                    &mut self.bars.data.kinematics.site_rotation[site],
                    &mut self.bars.model.option.magnetic[0],
                ),
            SensorKind::Velocimeter { site } => self.local_motion(site, Spatial::new(none, bar)),
            SensorKind::Gyro { site } => self.local_motion(site, Spatial::new(bar, none)),
            SensorKind::Accelerometer { site } => {
                let object = FrameObject::Site(site);
                let frame = self.frame(object);
                let acceleration = frame.acceleration(self.stages, &self.sensing.body_acceleration);
                let (mut frame_bar, mut linear_bar) = (FrameBar::default(), Vec3::ZERO);
                frame.rotation.transpose_mul_vec_vjp(
                    acceleration.linear(),
                    bar,
                    &mut frame_bar.rotation,
                    &mut linear_bar,
                );
                let acceleration_bar = Spatial::new(Vec3::ZERO, linear_bar);
                self.acceleration(&frame, acceleration_bar, &mut frame_bar);
                self.spread(object, frame.body, &frame_bar);
            }
            SensorKind::Force { site } => self.local_force(site, Spatial::new(none, bar)),
            SensorKind::Torque { site } => self.local_force(site, Spatial::new(bar, none)),
            SensorKind::BallAngularVelocity { joint } => {
                let dof = self.model.structure.joints.dof[joint];
                for k in 0..3 {
                    self.bars.state.qvel[dof + k] += bar[k];
                }
            }
            SensorKind::FrameLinearAcceleration { object } => {
                self.frame_acceleration(object, Spatial::new(none, bar));
            }
            SensorKind::FrameAngularAcceleration { object } => {
                self.frame_acceleration(object, Spatial::new(bar, none));
            }
            SensorKind::SubtreeCenterOfMass { body } => {
                self.bars.data.kinematics.subtree_com[body] += bar;
            }
            SensorKind::SubtreeLinearVelocity { body } => self.bar.subtree_velocity[body] += bar,
            SensorKind::SubtreeAngularMomentum { body } => {
                self.bar.subtree_angular_momentum[body] += bar;
            }
            SensorKind::FramePosition { object, reference } => {
                self.frame_position(object, reference, bar);
            }
            SensorKind::FrameAxis {
                object,
                reference,
                axis,
            } => self.frame_axis(object, reference, usize::from(axis), bar),
            SensorKind::FrameLinearVelocity { object, reference } => {
                self.relative_velocity(object, reference, Spatial::new(none, bar));
            }
            SensorKind::FrameAngularVelocity { object, reference } => {
                self.relative_velocity(object, reference, Spatial::new(bar, none));
            }
            _ => return false,
        }
        true
    }

    fn frame(&self, object: FrameObject) -> Frame<'a, f64> {
        Frame::new(self.model, self.stages, object)
    }

    /// Hands the cotangents of a frame to whatever carries it.
    fn spread(&mut self, object: FrameObject, body: usize, bar: &FrameBar) {
        let kinematics = &mut self.bars.data.kinematics;
        kinematics.subtree_com[self.model.structure.bodies.root[body]] -= bar.offset;
        let (position, rotation) = match object {
            FrameObject::Inertial(body) => (
                &mut kinematics.inertial_position[body],
                &mut kinematics.inertial_rotation[body],
            ),
            FrameObject::Body(body) => (
                &mut kinematics.body_position[body],
                &mut kinematics.body_rotation[body],
            ),
            FrameObject::Geom(geom) => (
                &mut kinematics.geom_position[geom],
                &mut kinematics.geom_rotation[geom],
            ),
            FrameObject::Site(site) => (
                &mut kinematics.site_position[site],
                &mut kinematics.site_rotation[site],
            ),
            FrameObject::Camera(camera) => (
                &mut kinematics.camera_position[camera],
                &mut kinematics.camera_rotation[camera],
            ),
        };
        *position += bar.position + bar.offset;
        *rotation += bar.rotation;
    }

    /// The twin of [`Frame::velocity`].
    fn velocity(&mut self, frame: &Frame<'_, f64>, bar: Spatial, frame_bar: &mut FrameBar) {
        self.stages.velocity.body[frame.body].shift_motion_vjp(
            frame.offset,
            bar,
            &mut self.bars.data.velocity.body[frame.body],
            &mut frame_bar.offset,
        );
    }

    /// The twin of [`Frame::acceleration`].
    fn acceleration(&mut self, frame: &Frame<'_, f64>, bar: Spatial, frame_bar: &mut FrameBar) {
        let velocity = frame.velocity(self.stages);
        let [mut spin_bar, mut speed_bar] = [Vec3::ZERO; 2];
        (velocity.angular()).cross_vjp(
            velocity.linear(),
            bar.linear(),
            &mut spin_bar,
            &mut speed_bar,
        );
        self.velocity(frame, Spatial::new(spin_bar, speed_bar), frame_bar);
        self.sensing.body_acceleration[frame.body].shift_motion_vjp(
            frame.offset,
            bar,
            &mut self.bar.body_acceleration[frame.body],
            &mut frame_bar.offset,
        );
    }

    /// Velocity of a site in its own axes.
    fn local_motion(&mut self, site: usize, bar: Spatial) {
        let object = FrameObject::Site(site);
        let frame = self.frame(object);
        let mut frame_bar = FrameBar {
            rotation: outer_products(frame.velocity(self.stages), bar),
            ..FrameBar::default()
        };
        let velocity_bar = bar.into_world_axes(frame.rotation);
        self.velocity(&frame, velocity_bar, &mut frame_bar);
        self.spread(object, frame.body, &frame_bar);
    }

    /// Force and torque between a body and its parent, at a site and in its axes.
    fn local_force(&mut self, site: usize, bar: Spatial) {
        let object = FrameObject::Site(site);
        let frame = self.frame(object);
        let force = self.sensing.interaction_force[frame.body];
        let mut frame_bar = FrameBar {
            rotation: outer_products(force.shift_force(frame.offset), bar),
            ..FrameBar::default()
        };
        force.shift_force_vjp(
            frame.offset,
            bar.into_world_axes(frame.rotation),
            &mut self.bar.interaction_force[frame.body],
            &mut frame_bar.offset,
        );
        self.spread(object, frame.body, &frame_bar);
    }

    fn frame_acceleration(&mut self, object: FrameObject, bar: Spatial) {
        let frame = self.frame(object);
        let mut frame_bar = FrameBar::default();
        self.acceleration(&frame, bar, &mut frame_bar);
        self.spread(object, frame.body, &frame_bar);
    }

    fn frame_position(&mut self, object: FrameObject, reference: Option<FrameObject>, bar: Vec3) {
        let frame = self.frame(object);
        let mut object_bar = FrameBar::default();
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let mut reference_bar = FrameBar::default();
            seen_from.rotation.transpose_mul_vec_vjp(
                frame.position - seen_from.position,
                bar,
                &mut reference_bar.rotation,
                &mut object_bar.position,
            );
            reference_bar.position -= object_bar.position;
            self.spread(reference, seen_from.body, &reference_bar);
        } else {
            object_bar.position = bar;
        }
        self.spread(object, frame.body, &object_bar);
    }

    fn frame_axis(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        axis: usize,
        bar: Vec3,
    ) {
        let frame = self.frame(object);
        let mut axis_bar = bar;
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let mut reference_bar = FrameBar::default();
            axis_bar = Vec3::ZERO;
            seen_from.rotation.transpose_mul_vec_vjp(
                frame.rotation.column(axis),
                bar,
                &mut reference_bar.rotation,
                &mut axis_bar,
            );
            self.spread(reference, seen_from.body, &reference_bar);
        }
        let mut object_bar = FrameBar::default();
        for k in 0..3 {
            object_bar.rotation[3 * k + axis] = axis_bar[k];
        }
        self.spread(object, frame.body, &object_bar);
    }

    /// Velocity of an object as seen from a reference, or in the world.
    fn relative_velocity(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        bar: Spatial,
    ) {
        let frame = self.frame(object);
        let mut object_bar = FrameBar::default();
        let mut difference_bar = bar;
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let own = seen_from.velocity(self.stages);
            let offset = frame.position - seen_from.position;
            let difference = frame.velocity(self.stages) - own.shift_motion(offset);
            let mut reference_bar = FrameBar {
                rotation: outer_products(difference, bar),
                ..FrameBar::default()
            };
            difference_bar = bar.into_world_axes(seen_from.rotation);
            let mut own_bar = Spatial::ZERO;
            own.shift_motion_vjp(
                offset,
                -difference_bar,
                &mut own_bar,
                &mut object_bar.position,
            );
            reference_bar.position -= object_bar.position;
            self.velocity(&seen_from, own_bar, &mut reference_bar);
            self.spread(reference, seen_from.body, &reference_bar);
        }
        self.velocity(&frame, difference_bar, &mut object_bar);
        self.spread(object, frame.body, &object_bar);
    }

    /// Sensors with four values.
    fn quat(&mut self, kind: SensorKind, bar: Quat) {
        match kind {
            SensorKind::BallQuaternion { joint } => {
                let joints = &self.model.structure.joints;
                let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
                let qpos = &self.state.qpos;
                let quat = Quat(std::array::from_fn(|k| qpos[address + k])).normalized();
                let turn = turn_bar(quat, bar);
                for k in 0..3 {
                    self.bars.state.qpos[dof + k] += turn[k];
                }
            }
            SensorKind::FrameQuaternion { object, reference } => {
                let mut object_bar = bar;
                if let Some(reference) = reference {
                    let quat = frame::quat(self.model, self.stages, object);
                    let inverse = frame::quat(self.model, self.stages, reference).conjugate();
                    let mut inverse_bar = Quat::default();
                    object_bar = Quat::default();
                    inverse.mul_vjp(quat, bar, &mut inverse_bar, &mut object_bar);
                    self.frame_quat(reference, inverse_bar.conjugate());
                }
                self.frame_quat(object, object_bar);
            }
            _ => {}
        }
    }

    /// The twin of [`frame::quat`].
    fn frame_quat(&mut self, object: FrameObject, bar: Quat) {
        let (model, model_bar) = (self.model, &mut self.bars.model);
        let structure = &model.structure;
        let (body, local, own_bar) = match object {
            FrameObject::Body(body) => {
                self.bars.data.kinematics.body_quat[body] += bar;
                return;
            }
            FrameObject::Inertial(body) => (
                body,
                model.inertial_quat(body),
                &mut model_bar.bodies.inertial_quat[body],
            ),
            FrameObject::Geom(geom) => (
                structure.geoms.body[geom],
                model.geom_quat(geom),
                &mut model_bar.geoms.quat[geom],
            ),
            FrameObject::Site(site) => (
                structure.sites.body[site],
                model.site_quat(site),
                &mut model_bar.sites.quat[site],
            ),
            FrameObject::Camera(camera) => (
                structure.cameras.body[camera],
                model.cameras.quat[camera],
                &mut model_bar.cameras.quat[camera],
            ),
        };
        let mut local_bar = Quat::default();
        self.stages.kinematics.body_quat[body].mul_vjp(
            local,
            bar,
            &mut self.bars.data.kinematics.body_quat[body],
            &mut local_bar,
        );
        *own_bar += quat_bar(local, turn_bar(local, local_bar));
    }

    /// The pixel at which a camera sees a site, by dual numbers of its place and of the camera's optics.
    fn project(&mut self, site: usize, camera: usize, bar: [f64; 2]) {
        let (kinematics, cameras) = (self.stages.kinematics, &self.model.cameras);
        let offset = kinematics.site_position[site] - kinematics.camera_position[camera];
        let rotation = &kinematics.camera_rotation[camera];
        let local = rotation.transpose_mul_vec(offset);
        let resolution = self.model.structure.cameras.resolution[camera].map(f64::from);
        let (size, intrinsic) = (cameras.sensor_size[camera], cameras.intrinsic[camera]);
        let focal = focal_lengths(
            Dual::<8>::variable(cameras.fovy[camera], 3),
            std::array::from_fn(|k| Dual::variable(size[k], 4 + k)),
            std::array::from_fn(|k| Dual::variable(intrinsic[k], 6 + k)),
            resolution,
        );
        let local = Vec3(std::array::from_fn(|k| Dual::variable(local[k], k)));
        let pixel = pixel(local, focal, resolution);
        let inputs: [f64; 8] =
            std::array::from_fn(|k| pixel[0].tangent[k] * bar[0] + pixel[1].tangent[k] * bar[1]);
        let [x, y, depth, fovy, width, height, focal_x, focal_y] = inputs;
        let cameras_bar = &mut self.bars.model.cameras;
        cameras_bar.fovy[camera] += fovy;
        cameras_bar.sensor_size[camera][0] += width;
        cameras_bar.sensor_size[camera][1] += height;
        cameras_bar.intrinsic[camera][0] += focal_x;
        cameras_bar.intrinsic[camera][1] += focal_y;
        let mut offset_bar = Vec3::ZERO;
        rotation.transpose_mul_vec_vjp(
            offset,
            Vec3([x, y, depth]),
            &mut self.bars.data.kinematics.camera_rotation[camera],
            &mut offset_bar,
        );
        self.bars.data.kinematics.site_position[site] += offset_bar;
        self.bars.data.kinematics.camera_position[camera] -= offset_bar;
    }
}

/// a·bᵀ of the rotational halves plus that of the translational halves.
fn outer_products(a: Spatial, b: Spatial) -> Mat3 {
    a.angular().outer(b.angular()) + a.linear().outer(b.linear())
}
