//! What each kind of sensor reads, and where it passes its cotangents: one list down, the same list up.
//!
//! Both are a `match` without a wildcard. A kind of sensor that has a value and no adjoint does not compile.

use super::backward::Reverse;
use super::constraint_force::ActiveLimit;
use super::{Sensed, Sensing};
use crate::cotangent::turn_bar;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{Model, Sensor, SensorKind, Transmission};
use crate::scalar::Scalar;
use crate::stages::actuation::tendon_force;
use crate::stages::constraint::BlockKind;
use crate::state::State;

/// Everything a sensor may read.
pub(super) struct Reader<'a, T: Scalar> {
    pub(super) model: &'a Model<T>,
    pub(super) state: &'a State<T>,
    pub(super) stages: &'a Sensed<'a, T>,
    /// Energies and passes over the tree; the values of sensors are elsewhere while they are written.
    pub(super) sensing: &'a Sensing<T>,
}

impl<T: Scalar> Reader<'_, T> {
    /// Writes the values of a sensor.
    pub(super) fn measure(&self, sensor: &Sensor, values: &mut [T]) {
        use SensorKind as S;
        let (model, state, stages) = (self.model, self.state, self.stages);
        let (structure, sensing) = (&model.structure, self.sensing);
        let (id, object, seen_from) = (sensor.id(), sensor.frame(), sensor.seen_from());
        let dof = || structure.joints.dof[id];
        let outputs = || structure.actuators.outputs[id].clone();
        let joint_limit = || ActiveLimit::find(stages, BlockKind::JointLimit, id);
        let tendon_limit = || ActiveLimit::find(stages, BlockKind::TendonLimit, id);
        let vector: Vec3<T> = match sensor.kind {
            S::Touch => return values[0] = self.touch(id),
            S::Accelerometer => self.local_acceleration(id),
            S::Velocimeter => self.local_velocity(id).linear(),
            S::Gyro => self.local_velocity(id).angular(),
            S::Force => self.local_force(id).linear(),
            S::Torque => self.local_force(id).angular(),
            S::Magnetometer => {
                let rotation = &stages.kinematics.site_rotation[id];
                rotation.transpose_mul_vec(model.option.magnetic[0])
            }
            S::Rangefinder(fields) => return self.ranges(object, fields, values),
            S::CameraProjection => {
                let camera = sensor.reference.map_or(0, |camera| camera.id);
                return values.copy_from_slice(&self.project(id, camera));
            }
            S::JointPosition => return values[0] = state.qpos[structure.joints.qpos[id]],
            S::JointVelocity => return values[0] = state.qvel[dof()],
            S::TendonPosition => return values[0] = stages.tendon.length[id],
            S::TendonVelocity => return values[0] = stages.velocity.tendon[id],
            S::ActuatorPosition => {
                return values.copy_from_slice(&stages.transmission.length[outputs()]);
            }
            S::ActuatorVelocity => {
                return values.copy_from_slice(&stages.velocity.actuator[outputs()]);
            }
            S::ActuatorForce => {
                return values.copy_from_slice(&stages.actuation.actuator_force[outputs()]);
            }
            S::JointActuatorForce => return values[0] = stages.actuation.force[dof()],
            S::TendonActuatorForce => {
                return values[0] = tendon_force(model, id, &stages.actuation.actuator_force);
            }
            S::BallQuaternion => {
                let start = structure.joints.qpos[id];
                let quat = Quat(std::array::from_fn(|k| state.qpos[start + k]));
                return values.copy_from_slice(&quat.normalized().0);
            }
            S::BallAngularVelocity => Vec3(std::array::from_fn(|k| state.qvel[dof() + k])),
            S::JointLimitPosition => return values[0] = joint_limit().distance,
            S::JointLimitVelocity => return values[0] = joint_limit().velocity,
            S::JointLimitForce => return values[0] = joint_limit().force,
            S::TendonLimitPosition => return values[0] = tendon_limit().distance,
            S::TendonLimitVelocity => return values[0] = tendon_limit().velocity,
            S::TendonLimitForce => return values[0] = tendon_limit().force,
            S::FramePosition => self.frame_position(object, seen_from),
            S::FrameQuaternion => {
                return values.copy_from_slice(&self.frame_quat(object, seen_from).0);
            }
            S::FrameXAxis => self.frame_axis(object, seen_from, 0),
            S::FrameYAxis => self.frame_axis(object, seen_from, 1),
            S::FrameZAxis => self.frame_axis(object, seen_from, 2),
            S::FrameLinearVelocity => self.relative_velocity(object, seen_from).linear(),
            S::FrameAngularVelocity => self.relative_velocity(object, seen_from).angular(),
            S::FrameLinearAcceleration => self.frame_acceleration(object).linear(),
            S::FrameAngularAcceleration => self.frame_acceleration(object).angular(),
            S::SubtreeCenterOfMass => stages.kinematics.subtree_com[id],
            S::SubtreeLinearVelocity => sensing.subtree_velocity[id],
            S::SubtreeAngularMomentum => sensing.subtree_angular_momentum[id],
            S::InsideSite(false) => {
                let site = sensor.reference.map_or(0, |site| site.id);
                let is_inside = self.is_inside(object, site);
                return values[0] = if is_inside { T::ONE } else { T::ZERO };
            }
            S::Contact(report) => return self.contacts(&sensor.contact(report), values),
            S::PotentialEnergy => return values[0] = sensing.energy[0][0],
            S::KineticEnergy => return values[0] = sensing.energy[0][1],
            S::Clock => return values[0] = state.time,
            S::JointTorque => return values[0] = self.joint_torque(id),
            // Distances have a pass of their own, enclosure is not evaluated yet, user sensors are for the user.
            S::GeomDistance | S::GeomNormal | S::GeomFromTo | S::InsideSite(true) | S::User(_) => {
                return values.fill(T::ZERO);
            }
        };
        values.copy_from_slice(&vector.0);
    }
}

impl Reverse<'_> {
    /// Passes on the cotangents of a sensor's values, as they are before the cutoff.
    pub(super) fn sensor(&mut self, index: usize, sensor: &Sensor, bars: &[f64]) {
        use SensorKind as S;
        let structure = &self.model.structure;
        let (id, object, seen_from) = (sensor.id(), sensor.frame(), sensor.seen_from());
        let dof = || structure.joints.dof[id];
        let outputs = || structure.actuators.outputs[id].clone();
        let bar = bars.first().copied().unwrap_or_default();
        let vector = || Vec3(std::array::from_fn(|k| bars[k]));
        let quat = || Quat(std::array::from_fn(|k| bars[k]));
        let linear = || Spatial::new(Vec3::ZERO, vector());
        let angular = || Spatial::new(vector(), Vec3::ZERO);
        let (joint_limit, tendon_limit) = (BlockKind::JointLimit, BlockKind::TendonLimit);
        let targets = &mut *self.bars;
        match sensor.kind {
            S::Touch => self.touch(id, bar),
            S::Accelerometer => self.local_acceleration(id, vector()),
            S::Velocimeter => self.local_velocity(id, linear()),
            S::Gyro => self.local_velocity(id, angular()),
            S::Force => self.local_force(id, linear()),
            S::Torque => self.local_force(id, angular()),
            S::Magnetometer => self.stages.kinematics.site_rotation[id].transpose_mul_vec_vjp(
                self.model.option.magnetic[0],
                vector(),
                &mut targets.data.kinematics.site_rotation[id],
                &mut targets.model.option.magnetic[0],
            ),
            S::Rangefinder(fields) => self.ranges(object, fields, bars),
            S::CameraProjection => {
                let camera = sensor.reference.map_or(0, |camera| camera.id);
                self.project(id, camera, [bars[0], bars[1]]);
            }
            // The configuration of a hinge or slide has one dof.
            S::JointPosition => targets.state.qpos[dof()] += bar,
            S::JointVelocity => targets.state.qvel[dof()] += bar,
            S::TendonPosition => targets.data.tendon.length[id] += bar,
            S::TendonVelocity => targets.data.velocity.tendon[id] += bar,
            S::ActuatorPosition => add(&mut targets.data.transmission.length[outputs()], bars),
            S::ActuatorVelocity => add(&mut targets.data.velocity.actuator[outputs()], bars),
            S::ActuatorForce => add(&mut targets.data.actuation.actuator_force[outputs()], bars),
            S::JointActuatorForce => targets.data.actuation.force[dof()] += bar,
            S::TendonActuatorForce => {
                let actuators = &structure.actuators;
                for (transmission, outputs) in actuators.transmission.iter().zip(&actuators.outputs)
                {
                    if *transmission == Transmission::Tendon(id) {
                        targets.data.actuation.actuator_force[outputs.start] += bar;
                    }
                }
            }
            S::BallQuaternion => {
                let address = structure.joints.qpos[id];
                let own = Quat(std::array::from_fn(|k| self.state.qpos[address + k])).normalized();
                let turn = turn_bar(own, quat());
                add(&mut targets.state.qpos[dof()..dof() + 3], &turn.0);
            }
            S::BallAngularVelocity => add(&mut targets.state.qvel[dof()..dof() + 3], bars),
            S::JointLimitPosition => self.limit(joint_limit, id, [bar, 0.0, 0.0]),
            S::JointLimitVelocity => self.limit(joint_limit, id, [0.0, bar, 0.0]),
            S::JointLimitForce => self.limit(joint_limit, id, [0.0, 0.0, bar]),
            S::TendonLimitPosition => self.limit(tendon_limit, id, [bar, 0.0, 0.0]),
            S::TendonLimitVelocity => self.limit(tendon_limit, id, [0.0, bar, 0.0]),
            S::TendonLimitForce => self.limit(tendon_limit, id, [0.0, 0.0, bar]),
            S::FramePosition => self.frame_position(object, seen_from, vector()),
            S::FrameQuaternion => self.frame_quat(object, seen_from, quat()),
            S::FrameXAxis => self.frame_axis(object, seen_from, 0, vector()),
            S::FrameYAxis => self.frame_axis(object, seen_from, 1, vector()),
            S::FrameZAxis => self.frame_axis(object, seen_from, 2, vector()),
            S::FrameLinearVelocity => self.relative_velocity(object, seen_from, linear()),
            S::FrameAngularVelocity => self.relative_velocity(object, seen_from, angular()),
            S::FrameLinearAcceleration => self.frame_acceleration(object, linear()),
            S::FrameAngularAcceleration => self.frame_acceleration(object, angular()),
            S::SubtreeCenterOfMass => targets.data.kinematics.subtree_com[id] += vector(),
            S::SubtreeLinearVelocity => self.bar.subtree_velocity[id] += vector(),
            S::SubtreeAngularMomentum => self.bar.subtree_angular_momentum[id] += vector(),
            S::GeomDistance | S::GeomNormal | S::GeomFromTo => self.distance(index, sensor, bars),
            S::Contact(report) => self.contacts(&sensor.contact(report), bars),
            S::PotentialEnergy => self.bar.energy[0][0] += bar,
            S::KineticEnergy => self.bar.energy[0][1] += bar,
            S::Clock => targets.state.time += bar,
            S::JointTorque => self.joint_torque(id, bar),
            // Steps have no derivative, and what the user fills is not ours.
            S::InsideSite(_) | S::User(_) => {}
        }
    }

    /// Distance, rate and force of an active limit.
    fn limit(&mut self, kind: BlockKind, object: usize, [distance, rate, force]: [f64; 3]) {
        if let Some(row) = ActiveLimit::<f64>::row(self.stages, kind, object) {
            self.bars.data.constraint.rows[row].distance += distance;
            self.bars.data.constraint.rows[row].velocity += rate;
            self.bars.data.solve.force[row] += force;
        }
    }
}

fn add(sums: &mut [f64], bars: &[f64]) {
    for (sum, bar) in sums.iter_mut().zip(bars) {
        *sum += bar;
    }
}
