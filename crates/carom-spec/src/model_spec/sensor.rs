//! Sensors, and the table of their kinds.

use super::{HistorySpec, ObjectKind, ObjectReference};
use crate::span::Span;

/// Which of its fields a sensor reports; the first one where a file gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorFields<const N: usize>(pub [bool; N]);

impl<const N: usize> Default for SensorFields<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|field| field == 0))
    }
}

impl<const N: usize> SensorFields<N> {
    /// The number of values of the fields, given that of each of them.
    pub fn size(self, sizes: [usize; N]) -> usize {
        let fields = self.0.into_iter().zip(sizes);
        fields
            .filter_map(|(is_on, size)| is_on.then_some(size))
            .sum()
    }
}

/// Fields of a contact sensor: found, force, torque, distance, position, normal, tangent, linear and angular velocity.
pub type ContactFields = SensorFields<9>;

/// Fields of a range finder: distance, direction, origin, point hit, normal there, depth along the z axis.
pub type RayFields = SensorFields<6>;

impl ContactFields {
    /// The number of values of each field.
    pub const SIZES: [usize; 9] = [1, 3, 3, 1, 3, 3, 3, 3, 3];
}

impl RayFields {
    /// The number of values of each field.
    pub const SIZES: [usize; 6] = [1, 3, 3, 3, 3, 1];
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactReport {
    /// Fields of each slot.
    pub fields: ContactFields,
    /// Choice among contacts.
    pub reduction: ContactReduction,
    /// Number of slots.
    pub count: u32,
}

impl Default for ContactReport {
    fn default() -> Self {
        Self {
            fields: ContactFields::default(),
            reduction: ContactReduction::None,
            count: 1,
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

/// A sensor that the user fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserSensor {
    /// Domain of the values.
    pub data: SensorDataKind,
    /// Stage needed.
    pub stage: SensorStage,
    /// Number of values.
    pub dimension: u32,
}

/// What sensors of a kind are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// Nothing.
    Nothing,
    /// A site.
    Site,
    /// A body.
    Body,
    /// A hinge or slide.
    ScalarJoint,
    /// A ball joint.
    BallJoint,
    /// A joint with limits.
    LimitedJoint,
    /// A tendon.
    Tendon,
    /// A tendon with limits.
    LimitedTendon,
    /// An actuator.
    Actuator,
    /// A frame.
    Frame,
    /// A frame, seen from another one if that is given.
    RelativeFrame,
    /// A frame, and a site that may contain it.
    FrameInSite,
    /// A site, and a camera that sees it.
    SiteInCamera,
    /// A site or a camera.
    SiteOrCamera,
    /// Two geoms or bodies.
    Pair,
    /// What both sides of contacts belong to.
    Contacts,
    /// Anything, which nobody reads.
    Anything,
}

impl Attachment {
    /// The kind of the one element that is named by an attribute of the same name; none for other attachments.
    pub fn element(self) -> Option<(ObjectKind, &'static str)> {
        Some(match self {
            Self::Site => (ObjectKind::Site, "site"),
            Self::Body => (ObjectKind::Body, "body"),
            Self::ScalarJoint | Self::BallJoint | Self::LimitedJoint => {
                (ObjectKind::Joint, "joint")
            }
            Self::Tendon | Self::LimitedTendon => (ObjectKind::Tendon, "tendon"),
            Self::Actuator => (ObjectKind::Actuator, "actuator"),
            _ => return None,
        })
    }
}

/// How many values sensors of a kind have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorSize {
    /// Always as many.
    Values(usize),
    /// One for each force of the actuator.
    Forces,
    /// The fields of each ray.
    Rays,
    /// The fields of each contact.
    Slots,
    /// As many as the file says.
    Given,
}

/// What the values of a kind are, and with that what a cutoff does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorValues {
    /// Real numbers, held within the cutoff on both sides.
    Real,
    /// Numbers that are not negative, held below the cutoff.
    Positive,
    /// Unit vectors and quaternions, which have no cutoff.
    Direction,
    /// Things that are looked for within the cutoff.
    Detected,
}

/// What sensors of a kind read beyond state and smooth motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorNeed {
    /// Nothing.
    Motion,
    /// Velocities and angular momenta of subtrees.
    SubtreeVelocity,
    /// Accelerations of bodies.
    Acceleration,
    /// Forces between bodies and their parents.
    InteractionForce,
    /// Forces of constraints.
    ConstraintForce,
    /// Energies.
    Energy,
    /// Distances between geoms.
    Distance,
    /// Ray casts.
    Rays,
    /// Contacts and their forces.
    Contacts,
}

/// All that is to say about a kind of sensor without computing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorRow {
    /// Its word in files.
    pub word: &'static str,
    /// MuJoCo's code; none for kinds that MuJoCo lacks, which files declare by texts that MuJoCo ignores.
    pub code: Option<i32>,
    /// What it is attached to.
    pub attachment: Attachment,
    /// How many values it has.
    pub size: SensorSize,
    /// What its values are.
    pub values: SensorValues,
    /// What it reads.
    pub need: SensorNeed,
}

/// Declares the kinds of sensors. Reading, writing, compiling and the comparison with MuJoCo all go by this table.
macro_rules! sensors {
    ($(
        $(#[$doc:meta])*
        $kind:ident $(($options:ty))? = $word:literal $code:expr, $attachment:ident, $size:expr, $values:ident, $need:ident;
    )*) => {
        /// What a sensor measures.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum SensorKind {
            $( $(#[$doc])* $kind $(($options))?, )*
        }

        impl SensorKind {
            /// The words of all kinds, in MuJoCo's order.
            pub const WORDS: &'static [&'static str] = &[$( $word, )*];

            /// The kind with a word, with the options that hold where a file gives none.
            pub fn from_word(word: &str) -> Option<Self> {
                Some(match word {
                    $( $word => Self::$kind $((<$options>::default()))?, )*
                    _ => return None,
                })
            }

            /// All that is to say about the kind.
            pub const fn row(self) -> &'static SensorRow {
                use SensorSize::{Forces, Given, Rays, Slots, Values};
                match self {
                    $( Self::$kind { .. } => &SensorRow {
                        word: $word,
                        code: $code,
                        attachment: Attachment::$attachment,
                        size: $size,
                        values: SensorValues::$values,
                        need: SensorNeed::$need,
                    }, )*
                }
            }
        }
    };
}

sensors! {
    /// Sum of contact normal forces in a site's volume.
    #[default]
    Touch = "touch" Some(0), Site, Values(1), Positive, Contacts;
    /// Linear acceleration of a site, in its frame.
    Accelerometer = "accelerometer" Some(1), Site, Values(3), Real, Acceleration;
    /// Linear velocity of a site, in its frame.
    Velocimeter = "velocimeter" Some(2), Site, Values(3), Real, Motion;
    /// Angular velocity of a site, in its frame.
    Gyro = "gyro" Some(3), Site, Values(3), Real, Motion;
    /// Force between a site's body and its parent.
    Force = "force" Some(4), Site, Values(3), Real, InteractionForce;
    /// Torque between a site's body and its parent.
    Torque = "torque" Some(5), Site, Values(3), Real, InteractionForce;
    /// Magnetic flux in a site's frame.
    Magnetometer = "magnetometer" Some(6), Site, Values(3), Real, Motion;
    /// Distance along a site's z axis or a camera's pixels.
    Rangefinder(RayFields) = "rangefinder" Some(7), SiteOrCamera, Rays, Real, Rays;
    /// Pixel coordinates of a site in a camera image.
    CameraProjection = "camprojection" Some(8), SiteInCamera, Values(2), Real, Motion;
    /// Position of a scalar joint.
    JointPosition = "jointpos" Some(9), ScalarJoint, Values(1), Real, Motion;
    /// Velocity of a scalar joint.
    JointVelocity = "jointvel" Some(10), ScalarJoint, Values(1), Real, Motion;
    /// Length of a tendon.
    TendonPosition = "tendonpos" Some(11), Tendon, Values(1), Real, Motion;
    /// Velocity of a tendon.
    TendonVelocity = "tendonvel" Some(12), Tendon, Values(1), Real, Motion;
    /// Length of an actuator.
    ActuatorPosition = "actuatorpos" Some(13), Actuator, Forces, Real, Motion;
    /// Velocity of an actuator.
    ActuatorVelocity = "actuatorvel" Some(14), Actuator, Forces, Real, Motion;
    /// Force of an actuator.
    ActuatorForce = "actuatorfrc" Some(15), Actuator, Forces, Real, Motion;
    /// Total actuator force on a joint.
    JointActuatorForce = "jointactuatorfrc" Some(16), ScalarJoint, Values(1), Real, Motion;
    /// Total actuator force on a tendon.
    TendonActuatorForce = "tendonactuatorfrc" Some(17), Tendon, Values(1), Real, Motion;
    /// Quaternion of a ball joint.
    BallQuaternion = "ballquat" Some(18), BallJoint, Values(4), Direction, Motion;
    /// Angular velocity of a ball joint.
    BallAngularVelocity = "ballangvel" Some(19), BallJoint, Values(3), Real, Motion;
    /// Distance to a joint limit minus margin.
    JointLimitPosition = "jointlimitpos" Some(20), LimitedJoint, Values(1), Real, Motion;
    /// Velocity of a joint limit.
    JointLimitVelocity = "jointlimitvel" Some(21), LimitedJoint, Values(1), Real, Motion;
    /// Force of a joint limit.
    JointLimitForce = "jointlimitfrc" Some(22), LimitedJoint, Values(1), Real, ConstraintForce;
    /// Distance to a tendon limit minus margin.
    TendonLimitPosition = "tendonlimitpos" Some(23), LimitedTendon, Values(1), Real, Motion;
    /// Velocity of a tendon limit.
    TendonLimitVelocity = "tendonlimitvel" Some(24), LimitedTendon, Values(1), Real, Motion;
    /// Force of a tendon limit.
    TendonLimitForce = "tendonlimitfrc" Some(25), LimitedTendon, Values(1), Real, ConstraintForce;
    /// Position of a frame.
    FramePosition = "framepos" Some(26), RelativeFrame, Values(3), Real, Motion;
    /// Orientation of a frame.
    FrameQuaternion = "framequat" Some(27), RelativeFrame, Values(4), Direction, Motion;
    /// X axis of a frame.
    FrameXAxis = "framexaxis" Some(28), RelativeFrame, Values(3), Direction, Motion;
    /// Y axis of a frame.
    FrameYAxis = "frameyaxis" Some(29), RelativeFrame, Values(3), Direction, Motion;
    /// Z axis of a frame.
    FrameZAxis = "framezaxis" Some(30), RelativeFrame, Values(3), Direction, Motion;
    /// Linear velocity of a frame.
    FrameLinearVelocity = "framelinvel" Some(31), RelativeFrame, Values(3), Real, Motion;
    /// Angular velocity of a frame.
    FrameAngularVelocity = "frameangvel" Some(32), RelativeFrame, Values(3), Real, Motion;
    /// Linear acceleration of a frame.
    FrameLinearAcceleration = "framelinacc" Some(33), Frame, Values(3), Real, Acceleration;
    /// Angular acceleration of a frame.
    FrameAngularAcceleration = "frameangacc" Some(34), Frame, Values(3), Real, Acceleration;
    /// Centre of mass of a subtree.
    SubtreeCenterOfMass = "subtreecom" Some(35), Body, Values(3), Real, Motion;
    /// Velocity of the centre of mass of a subtree.
    SubtreeLinearVelocity = "subtreelinvel" Some(36), Body, Values(3), Real, SubtreeVelocity;
    /// Angular momentum of a subtree about its centre of mass.
    SubtreeAngularMomentum = "subtreeangmom" Some(37), Body, Values(3), Real, SubtreeVelocity;
    /// 1 when the object is inside the site that is the reference; the option says whether the whole object has to be.
    InsideSite(bool) = "insidesite" Some(38), FrameInSite, Values(1), Positive, Motion;
    /// Distance between two geoms or bodies.
    GeomDistance = "distance" Some(39), Pair, Values(1), Real, Distance;
    /// Normal between two geoms or bodies.
    GeomNormal = "normal" Some(40), Pair, Values(3), Detected, Distance;
    /// Segment between two geoms or bodies.
    GeomFromTo = "fromto" Some(41), Pair, Values(6), Detected, Distance;
    /// Contacts that match two objects.
    Contact(ContactReport) = "contact" Some(42), Contacts, Slots, Detected, Contacts;
    /// Potential energy.
    PotentialEnergy = "e_potential" Some(43), Nothing, Values(1), Real, Energy;
    /// Kinetic energy.
    KineticEnergy = "e_kinetic" Some(44), Nothing, Values(1), Real, Energy;
    /// Time.
    Clock = "clock" Some(45), Nothing, Values(1), Real, Motion;
    /// Filled by the user.
    User(UserSensor) = "user" Some(48), Anything, Given, Real, Motion;
    /// Torque or force that a joint transmits along its axis, as a sensor on the link side of the gear feels it.
    JointTorque = "jointtorque" None, ScalarJoint, Values(1), Real, InteractionForce;
}

impl SensorKind {
    /// What its values are.
    pub fn values(self) -> SensorValues {
        let Self::User(user) = self else {
            return self.row().values;
        };
        match user.data {
            SensorDataKind::Real => SensorValues::Real,
            SensorDataKind::Positive => SensorValues::Positive,
            SensorDataKind::Axis | SensorDataKind::Quaternion => SensorValues::Direction,
        }
    }
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
