//! Sensors.

use super::{HistorySpec, ObjectReference};
use crate::span::Span;

/// Fields that a contact sensor reports, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "a set of independent fields")]
pub struct ContactFields {
    /// Number of matching contacts.
    pub found: bool,
    /// Force in the contact frame.
    pub force: bool,
    /// Torque in the contact frame.
    pub torque: bool,
    /// Penetration distance.
    pub distance: bool,
    /// Position.
    pub position: bool,
    /// Normal.
    pub normal: bool,
    /// First tangent.
    pub tangent: bool,
    /// Relative linear velocity.
    pub linear_velocity: bool,
    /// Relative angular velocity.
    pub angular_velocity: bool,
}

impl Default for ContactFields {
    fn default() -> Self {
        Self {
            found: true,
            force: false,
            torque: false,
            distance: false,
            position: false,
            normal: false,
            tangent: false,
            linear_velocity: false,
            angular_velocity: false,
        }
    }
}

/// How a contact sensor chooses among matching contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactReduction {
    /// The first ones found.
    #[default]
    None,
    /// The closest ones.
    MinimalDistance,
    /// Those with the largest force.
    MaximalForce,
    /// One net wrench of all.
    NetForce,
}

/// Report of a contact sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContactReport {
    /// Fields of each slot.
    pub fields: ContactFields,
    /// Choice among contacts.
    pub reduction: ContactReduction,
    /// Number of slots.
    pub count: u32,
}

/// Fields that a range finder reports, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "a set of independent fields")]
pub struct RayFields {
    /// Distance to the nearest surface.
    pub distance: bool,
    /// Direction of the ray.
    pub direction: bool,
    /// Origin of the ray.
    pub origin: bool,
    /// Point hit.
    pub point: bool,
    /// Normal at that point.
    pub normal: bool,
    /// Depth along the z axis.
    pub depth: bool,
}

impl Default for RayFields {
    fn default() -> Self {
        Self {
            distance: true,
            direction: false,
            origin: false,
            point: false,
            normal: false,
            depth: false,
        }
    }
}

/// Domain of the values of a user sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SensorDataKind {
    /// Any real numbers.
    #[default]
    Real,
    /// Numbers that are not negative.
    Positive,
    /// A unit vector.
    Axis,
    /// A unit quaternion.
    Quaternion,
}

/// Stage of the pipeline that a user sensor needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SensorStage {
    /// Positions.
    Position,
    /// Velocities.
    Velocity,
    /// Accelerations and forces.
    #[default]
    Acceleration,
}

/// What a sensor measures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum SensorKind {
    /// Sum of contact normal forces in a site's volume.
    #[default]
    Touch,
    /// Linear acceleration of a site, in its frame.
    Accelerometer,
    /// Linear velocity of a site, in its frame.
    Velocimeter,
    /// Angular velocity of a site, in its frame.
    Gyro,
    /// Force between a site's body and its parent.
    Force,
    /// Torque between a site's body and its parent.
    Torque,
    /// Magnetic flux in a site's frame.
    Magnetometer,
    /// Distance along a site's z axis or a camera's pixels.
    Rangefinder(RayFields),
    /// Pixel coordinates of a site in a camera image.
    CameraProjection,
    /// Position of a scalar joint.
    JointPosition,
    /// Velocity of a scalar joint.
    JointVelocity,
    /// Length of a tendon.
    TendonPosition,
    /// Velocity of a tendon.
    TendonVelocity,
    /// Length of an actuator.
    ActuatorPosition,
    /// Velocity of an actuator.
    ActuatorVelocity,
    /// Force of an actuator.
    ActuatorForce,
    /// Total actuator force on a joint.
    JointActuatorForce,
    /// Total actuator force on a tendon.
    TendonActuatorForce,
    /// Quaternion of a ball joint.
    BallQuaternion,
    /// Angular velocity of a ball joint.
    BallAngularVelocity,
    /// Distance to a joint limit minus margin.
    JointLimitPosition,
    /// Velocity of a joint limit.
    JointLimitVelocity,
    /// Force of a joint limit.
    JointLimitForce,
    /// Distance to a tendon limit minus margin.
    TendonLimitPosition,
    /// Velocity of a tendon limit.
    TendonLimitVelocity,
    /// Force of a tendon limit.
    TendonLimitForce,
    /// Position of a frame.
    FramePosition,
    /// Orientation of a frame.
    FrameQuaternion,
    /// X axis of a frame.
    FrameXAxis,
    /// Y axis of a frame.
    FrameYAxis,
    /// Z axis of a frame.
    FrameZAxis,
    /// Linear velocity of a frame.
    FrameLinearVelocity,
    /// Angular velocity of a frame.
    FrameAngularVelocity,
    /// Linear acceleration of a frame.
    FrameLinearAcceleration,
    /// Angular acceleration of a frame.
    FrameAngularAcceleration,
    /// Centre of mass of a subtree.
    SubtreeCom,
    /// Velocity of the centre of mass of a subtree.
    SubtreeLinearVelocity,
    /// Angular momentum of a subtree about its centre of mass.
    SubtreeAngularMomentum,
    /// 1 when the object is inside the site that is the reference.
    InsideSite {
        /// Whether the whole object has to be inside.
        enclosed: bool,
    },
    /// Distance between two geoms or bodies.
    GeomDistance,
    /// Normal between two geoms or bodies.
    GeomNormal,
    /// Segment between two geoms or bodies.
    GeomFromTo,
    /// Contacts that match two objects.
    Contact(ContactReport),
    /// Potential energy.
    PotentialEnergy,
    /// Kinetic energy.
    KineticEnergy,
    /// Time.
    Clock,
    /// Filled by the user.
    User {
        /// Domain of the values.
        data: SensorDataKind,
        /// Stage needed.
        stage: SensorStage,
        /// Number of values.
        dimension: u32,
    },
}

/// One sensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensorSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// What it measures.
    pub kind: SensorKind,
    /// Measured object.
    pub object: Option<ObjectReference>,
    /// Object relative to which is measured, or second object.
    pub reference: Option<ObjectReference>,
    /// Clamp of real and positive values; 0 for none.
    pub cutoff: f64,
    /// Standard deviation of noise; kept for the user, never applied.
    pub noise: f64,
    /// History buffer.
    pub history: HistorySpec,
    /// User data.
    pub user: Vec<f64>,
}
