//! Spellings of the keywords.

use super::attribute::Keyword;
use crate::model_spec::{
    ActuatorDynamics, BiasKind, Cone, ContactReduction, GainKind, GeomKind, InertiaFromGeom,
    Integrator, Interpolation, JacobianKind, JointKind, LengthRangeMode, LightKind,
    MeshBuiltinKind, MeshInertia, ObjectKind, SensorDataKind, SensorStage, SleepPolicy, SolverKind,
    TextureKind, TrackingMode,
};

/// Gives a type its spellings.
macro_rules! keywords {
    ($($kind:ty { $($word:literal => $value:expr),* $(,)? })*) => {
        $(impl Keyword for $kind {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),*];
        })*
    };
}

/// Place of a servo's input among [`ServoInputs::WORDS`](crate::model_spec::ServoInputs::WORDS).
#[derive(Clone, Copy)]
pub(super) struct ServoInput(pub(super) usize);

/// `disable` or `enable`.
#[derive(Clone, Copy)]
pub(super) struct Switch(pub(super) bool);

/// Unit of angles: `radian` or `degree`.
#[derive(Clone, Copy)]
pub(super) struct Degrees(pub(super) bool);

/// `false` or `auto`: whether something is allowed.
#[derive(Clone, Copy)]
pub(super) struct Permission(pub(super) bool);

/// How settings of attached models are merged.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ConflictPolicy {
    #[default]
    Warning,
    Merge,
    Error,
}

/// Fluid model of a geom: true for `ellipsoid`.
#[derive(Clone, Copy)]
pub(super) struct FluidShape(pub(super) bool);

/// Camera projection: true for `orthographic`.
#[derive(Clone, Copy)]
pub(super) struct Orthographic(pub(super) bool);

/// Output of a camera; kept by no one, but checked.
#[derive(Clone, Copy)]
pub(super) struct CameraOutput;

/// One of the N fields of a sensor, by its place among them.
#[derive(Clone, Copy)]
pub(super) struct Field<const N: usize>(pub(super) usize);

/// An object with a spatial frame.
#[derive(Clone, Copy)]
pub(super) struct FrameObject(pub(super) ObjectKind);

/// What a generated texture shows; kept as its word.
#[derive(Clone, Copy)]
pub(super) struct TextureWord(pub(super) &'static str);

/// Marks of a generated texture; kept as their word.
#[derive(Clone, Copy)]
pub(super) struct MarkWord(pub(super) &'static str);

/// Role of a texture in a material: true for the base colour.
#[derive(Clone, Copy)]
pub(super) struct ColorRole(pub(super) bool);

/// `none` is a stage without sensors.
#[derive(Clone, Copy)]
pub(super) struct NeedStage(pub(super) SensorStage);

keywords! {
    Switch { "disable" => Switch(false), "enable" => Switch(true) }
    Degrees { "radian" => Degrees(false), "degree" => Degrees(true) }
    Permission { "false" => Permission(false), "auto" => Permission(true) }
    FluidShape { "none" => FluidShape(false), "ellipsoid" => FluidShape(true) }
    Orthographic { "perspective" => Orthographic(false), "orthographic" => Orthographic(true) }
    ConflictPolicy {
        "warning" => Self::Warning,
        "merge" => Self::Merge,
        "error" => Self::Error,
    }
    CameraOutput {
        "rgb" => CameraOutput,
        "depth" => CameraOutput,
        "distance" => CameraOutput,
        "normal" => CameraOutput,
        "segmentation" => CameraOutput,
    }
    SleepPolicy {
        "auto" => Self::Auto,
        "never" => Self::Never,
        "allowed" => Self::Allowed,
        "init" => Self::Init,
    }
    JointKind {
        "free" => Self::Free,
        "ball" => Self::Ball,
        "slide" => Self::Slide,
        "hinge" => Self::Hinge,
    }
    GeomKind {
        "plane" => Self::Plane,
        "hfield" => Self::HeightField,
        "sphere" => Self::Sphere,
        "capsule" => Self::Capsule,
        "ellipsoid" => Self::Ellipsoid,
        "cylinder" => Self::Cylinder,
        "box" => Self::Box,
        "mesh" => Self::Mesh,
    }
    TrackingMode {
        "fixed" => Self::Fixed,
        "track" => Self::Track,
        "trackcom" => Self::TrackCom,
        "targetbody" => Self::TargetBody,
        "targetbodycom" => Self::TargetBodyCom,
    }
    LightKind {
        "spot" => Self::Spot,
        "directional" => Self::Directional,
        "point" => Self::Point,
        "image" => Self::Image,
    }
    Integrator {
        "Euler" => Self::Euler,
        "RK4" => Self::RungeKutta4,
        "implicit" => Self::Implicit,
        "implicitfast" => Self::ImplicitFast,
    }
    Cone { "pyramidal" => Self::Pyramidal, "elliptic" => Self::Elliptic }
    JacobianKind { "dense" => Self::Dense, "sparse" => Self::Sparse, "auto" => Self::Auto }
    SolverKind {
        "PGS" => Self::ProjectedGaussSeidel,
        "CG" => Self::ConjugateGradient,
        "Newton" => Self::Newton,
    }
    InertiaFromGeom { "false" => Self::Never, "true" => Self::Always, "auto" => Self::Auto }
    LengthRangeMode {
        "none" => Self::None,
        "muscle" => Self::Muscle,
        "muscleuser" => Self::MuscleUser,
        "all" => Self::All,
    }
    MeshInertia {
        "convex" => Self::Convex,
        "legacy" => Self::Legacy,
        "exact" => Self::Exact,
        "shell" => Self::Shell,
    }
    MeshBuiltinKind {
        "sphere" => Self::Sphere,
        "hemisphere" => Self::Hemisphere,
        "cone" => Self::Cone,
        "supersphere" => Self::Supersphere,
        "supertorus" => Self::Supertorus,
        "wedge" => Self::Wedge,
        "plate" => Self::Plate,
        "grid" => Self::Grid,
        "box" => Self::Box,
        "cylinder" => Self::Cylinder,
        "ellipsoid" => Self::Ellipsoid,
        "square" => Self::Square,
        "disc" => Self::Disc,
    }
    TextureKind { "2d" => Self::TwoDimensional, "cube" => Self::Cube, "skybox" => Self::Skybox }
    TextureWord {
        "none" => TextureWord("none"),
        "gradient" => TextureWord("gradient"),
        "checker" => TextureWord("checker"),
        "flat" => TextureWord("flat"),
    }
    MarkWord {
        "none" => MarkWord("none"),
        "edge" => MarkWord("edge"),
        "cross" => MarkWord("cross"),
        "random" => MarkWord("random"),
    }
    ColorRole {
        "rgb" => ColorRole(true),
        "occlusion" => ColorRole(false),
        "roughness" => ColorRole(false),
        "metallic" => ColorRole(false),
        "normal" => ColorRole(false),
        "opacity" => ColorRole(false),
        "emissive" => ColorRole(false),
        "rgba" => ColorRole(true),
        "orm" => ColorRole(false),
    }
    ActuatorDynamics {
        "none" => Self::None,
        "integrator" => Self::Integrator,
        "filter" => Self::Filter,
        "filterexact" => Self::FilterExact,
        "muscle" => Self::Muscle,
        "dcmotor" => Self::DcMotor,
        "pid" => Self::Pid,
        "user" => Self::User,
    }
    GainKind {
        "fixed" => Self::Fixed,
        "affine" => Self::Affine,
        "muscle" => Self::Muscle,
        "dcmotor" => Self::DcMotor,
        "pid" => Self::Pid,
        "so3" => Self::So3,
        "user" => Self::User,
    }
    BiasKind {
        "none" => Self::None,
        "affine" => Self::Affine,
        "muscle" => Self::Muscle,
        "dcmotor" => Self::DcMotor,
        "so3" => Self::So3,
        "user" => Self::User,
    }
    ServoInput {
        "pos" => ServoInput(0),
        "vel" => ServoInput(1),
        "ff" => ServoInput(2),
        "voltage" => ServoInput(3),
        "pressure" => ServoInput(4),
    }
    Interpolation { "zoh" => Self::Hold, "linear" => Self::Linear, "cubic" => Self::Cubic }
    NeedStage {
        "none" => NeedStage(SensorStage::Position),
        "pos" => NeedStage(SensorStage::Position),
        "vel" => NeedStage(SensorStage::Velocity),
        "acc" => NeedStage(SensorStage::Acceleration),
    }
    SensorDataKind {
        "real" => Self::Real,
        "positive" => Self::Positive,
        "axis" => Self::Axis,
        "quaternion" => Self::Quaternion,
    }
    FrameObject {
        "body" => FrameObject(ObjectKind::BodyInertial),
        "xbody" => FrameObject(ObjectKind::Body),
        "geom" => FrameObject(ObjectKind::Geom),
        "site" => FrameObject(ObjectKind::Site),
        "camera" => FrameObject(ObjectKind::Camera),
    }
    Field<9> {
        "found" => Field(0),
        "force" => Field(1),
        "torque" => Field(2),
        "dist" => Field(3),
        "pos" => Field(4),
        "normal" => Field(5),
        "tangent" => Field(6),
        "linvel" => Field(7),
        "angvel" => Field(8),
    }
    Field<6> {
        "dist" => Field(0),
        "dir" => Field(1),
        "origin" => Field(2),
        "point" => Field(3),
        "normal" => Field(4),
        "depth" => Field(5),
    }
    ContactReduction {
        "none" => Self::None,
        "mindist" => Self::MinimalDistance,
        "maxforce" => Self::MaximalForce,
        "netforce" => Self::NetForce,
    }
    ObjectKind {
        "body" => Self::BodyInertial,
        "xbody" => Self::Body,
        "joint" => Self::Joint,
        "geom" => Self::Geom,
        "site" => Self::Site,
        "camera" => Self::Camera,
        "light" => Self::Light,
        "mesh" => Self::Mesh,
        "hfield" => Self::HeightField,
        "texture" => Self::Texture,
        "material" => Self::Material,
        "pair" => Self::Pair,
        "exclude" => Self::Exclude,
        "equality" => Self::Equality,
        "tendon" => Self::Tendon,
        "actuator" => Self::Actuator,
        "sensor" => Self::Sensor,
        "numeric" => Self::Numeric,
        "text" => Self::Text,
        "tuple" => Self::Tuple,
        "key" => Self::Keyframe,
    }
}
