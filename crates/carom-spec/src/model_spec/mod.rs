//! The resolved description of a model: what a model file says, after its own conveniences are
//! gone and before any physics is computed.
//!
//! *Resolved* means that includes, frames, replicas and attachments are expanded, default classes
//! are applied (every value is filled in), angles are radians and every notation of an
//! orientation has become a unit quaternion (w, x, y, z). Whatever needs a second element or a
//! mesh is left to the compile step: `fromto`, automatic limits, inertia from geoms, inherited
//! ranges, damping ratios, mesh fitting, tendon lengths. Fields whose absence matters are
//! `Option`s.
//!
//! The `Default` of each structure holds MuJoCo's built-in defaults. Elements remember the place
//! of their start tag, and refer to each other by name, so that later phases can point at the
//! file when something is wrong.

mod actuator;
mod asset;
mod body;
mod collision_map;
mod contact;
mod contact_law;
mod custom;
mod equality;
mod geom;
mod joint;
mod joint_law;
mod learned_term;
mod options;
mod sensor;
mod settings;
mod tendon;
mod visual;

pub use actuator::{
    ActuatorDynamics, ActuatorElement, ActuatorInput, ActuatorSpec, BiasKind, GainKind,
    HistorySpec, Interpolation, ServoInputs, ServoStates, Transmission,
};
pub use asset::{
    HeightFieldSpec, MaterialSpec, MeshBuiltin, MeshBuiltinKind, MeshInertia, MeshSpec,
    ProcessedMesh, TextureKind, TextureSpec,
};
pub use body::{BodySpec, InertiaSpec, InertialSpec, SleepPolicy, with_parents};
pub use collision_map::*;
pub use contact::{ExcludeSpec, PairSpec};
pub use contact_law::*;
pub use custom::{KeyframeSpec, NumericSpec, TextSpec, TupleElement, TupleSpec};
pub use equality::{EqualityKind, EqualityObjects, EqualitySpec};
pub use geom::{GeomKind, GeomSpec, SiteSpec};
pub use joint::{JointKind, JointSpec};
pub use joint_law::*;
pub use learned_term::*;
pub use options::{Cone, Flags, Integrator, JacobianKind, OptionSpec, SolverKind};
pub use sensor::*;
pub use settings::{
    CompilerSettings, InertiaFromGeom, LengthRangeMode, LengthRangeSettings, SizeSpec,
};
pub use tendon::{TendonPath, TendonSpec, WrapSpec};
pub use visual::{CameraSpec, LightKind, LightSpec, StatisticSpec, TrackingMode, VisualSetting};

use crate::span::Span;

/// Built-in reference of soft constraints: time constant (s) and damping ratio.
pub const DEFAULT_SOLVER_REFERENCE: [f64; 2] = [0.02, 1.0];

/// Built-in impedance of soft constraints: impedance at zero and at full width, width, midpoint, power.
pub const DEFAULT_SOLVER_IMPEDANCE: [f64; 5] = [0.9, 0.95, 0.001, 0.5, 2.0];

/// A whole model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// Name of the model.
    pub name: String,
    /// Settings of the compile step.
    pub compiler: CompilerSettings,
    /// Physics options and flags.
    pub option: OptionSpec,
    /// Sizes that only matter for user data.
    pub size: SizeSpec,
    /// Overrides of model statistics.
    pub statistic: StatisticSpec,
    /// Settings of the viewer, as written.
    pub visual: Vec<VisualSetting>,
    /// Bodies in depth-first order; body 0 is the world, and parents precede their children.
    pub bodies: Vec<BodySpec>,
    /// Meshes.
    pub meshes: Vec<MeshSpec>,
    /// Height fields.
    pub height_fields: Vec<HeightFieldSpec>,
    /// Textures.
    pub textures: Vec<TextureSpec>,
    /// Materials.
    pub materials: Vec<MaterialSpec>,
    /// Contact pairs checked whatever the filters say.
    pub pairs: Vec<PairSpec>,
    /// Body pairs whose contacts are excluded.
    pub excludes: Vec<ExcludeSpec>,
    /// Contact laws other than MuJoCo's, in the order of the file.
    pub contact_laws: Vec<ContactLawSpec>,
    /// Laws of joints.
    pub joint_laws: Vec<JointLawSpec>,
    /// Learned terms.
    pub learned_terms: Vec<LearnedTermSpec>,
    /// Maps of collisions, in the order of the file.
    pub collision_maps: Vec<CollisionMapSpec>,
    /// The tolerance to which the model's motion was followed in continuous time when its numbers were found; none for fixed steps.
    pub continuous_time: Option<f64>,
    /// Equality constraints.
    pub equalities: Vec<EqualitySpec>,
    /// Tendons.
    pub tendons: Vec<TendonSpec>,
    /// Actuators.
    pub actuators: Vec<ActuatorSpec>,
    /// Sensors.
    pub sensors: Vec<SensorSpec>,
    /// Keyframes.
    pub keyframes: Vec<KeyframeSpec>,
    /// Custom numbers.
    pub numerics: Vec<NumericSpec>,
    /// Custom texts.
    pub texts: Vec<TextSpec>,
    /// Custom tuples.
    pub tuples: Vec<TupleSpec>,
}

impl Default for ModelSpec {
    /// The empty model: a world body and nothing else.
    fn default() -> Self {
        Self {
            name: "MuJoCo Model".to_owned(),
            compiler: CompilerSettings::default(),
            option: OptionSpec::default(),
            size: SizeSpec::default(),
            statistic: StatisticSpec::default(),
            visual: Vec::new(),
            bodies: vec![BodySpec {
                name: "world".to_owned(),
                ..BodySpec::default()
            }],
            meshes: Vec::new(),
            height_fields: Vec::new(),
            textures: Vec::new(),
            materials: Vec::new(),
            pairs: Vec::new(),
            excludes: Vec::new(),
            contact_laws: Vec::new(),
            joint_laws: Vec::new(),
            learned_terms: Vec::new(),
            collision_maps: Vec::new(),
            continuous_time: None,
            equalities: Vec::new(),
            tendons: Vec::new(),
            actuators: Vec::new(),
            sensors: Vec::new(),
            keyframes: Vec::new(),
            numerics: Vec::new(),
            texts: Vec::new(),
            tuples: Vec::new(),
        }
    }
}

/// A reference to another element by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Name of the element referred to.
    pub name: String,
    /// Place of the name in the file.
    pub span: Span,
}

/// Kinds of element that sensors and tuples can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A body with its inertial frame (`body` in MJCF).
    BodyInertial,
    /// A body with its own frame (`xbody` in MJCF).
    Body,
    /// A body with all its descendants.
    Subtree,
    /// A joint.
    Joint,
    /// A geom.
    Geom,
    /// A site.
    Site,
    /// A camera.
    Camera,
    /// A light.
    Light,
    /// A mesh.
    Mesh,
    /// A height field.
    HeightField,
    /// A texture.
    Texture,
    /// A material.
    Material,
    /// A contact pair.
    Pair,
    /// A contact exclusion.
    Exclude,
    /// An equality constraint.
    Equality,
    /// A tendon.
    Tendon,
    /// An actuator.
    Actuator,
    /// A sensor.
    Sensor,
    /// A custom number.
    Numeric,
    /// A custom text.
    Text,
    /// A custom tuple.
    Tuple,
    /// A keyframe.
    Keyframe,
}

/// A reference to an element of a given kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReference {
    /// Kind of the element.
    pub kind: ObjectKind,
    /// Name of the element, with its place.
    pub reference: Reference,
}
