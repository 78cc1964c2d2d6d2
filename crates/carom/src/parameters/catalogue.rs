//! What can be selected: attributes of the file format, by the table of quantities, and some that are made of parts of these.
//!
//! Public names are the file format's; our own field names are accepted too.

use std::sync::LazyLock;

use carom_spec::model_spec::LawRange;

use super::layout::StateField;
use crate::model::{
    ActuatorDynamics, BiasKind, EqualityKind, GainKind, GeomKind, GeomShape, Interpolation,
    JointKind, JointLawKind, MassSource, Model, Quantity, Recipe, Structure, Transmission,
    joint_law_parameter,
};
use crate::quantity::{ElementKind, Over, Range, Role};

/// Components of a quantity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) quantity: Quantity,
    pub(super) over: Over,
    /// First component and their number; all if none.
    pub(super) components: Option<(usize, usize)>,
    /// The quantity's number is this times the parameter's.
    pub(super) factor: f64,
}

/// What an attribute stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The quantities that name the attribute, one after another; this is the first.
    Of(Quantity),
    /// The anchor of an equality.
    Anchor,
    /// The relative pose of a weld.
    RelativePose,
    /// The torque scale of a weld.
    TorqueScale,
    /// The polynomial of an equality that couples joints or tendons.
    Polynomial,
    /// The gain of a position servo, which its bias mirrors.
    ServoGain,
    /// The damping of a position servo.
    ServoDamping,
    /// The damping ratio of a position servo.
    ServoDampingRatio,
    /// The mass of a body whose inertia stays as it is.
    MassOnly,
    /// The ten numbers of a body's pseudo-inertia.
    PseudoInertia,
    /// The number of this name of a law of the joint.
    JointLaw(&'static str),
    /// Numbers of the initial state.
    State(StateField),
    /// Nothing: why.
    Refused(&'static str),
}

impl Source {
    /// The parts that follow each other in the attribute, or all follow the same parameters if it is mirrored.
    pub(super) fn parts(self) -> Vec<Part> {
        match self {
            Self::Of(first) => of_attribute(first),
            Self::Anchor => vec![slice(Quantity::EqualityData, 0, 3)],
            Self::RelativePose => vec![slice(Quantity::EqualityData, 3, 7)],
            Self::TorqueScale => vec![slice(Quantity::EqualityData, 10, 1)],
            Self::Polynomial => vec![slice(Quantity::EqualityData, 0, 5)],
            Self::ServoGain => vec![
                slice(Quantity::ActuatorGain, 0, 1),
                negative(slice(Quantity::ActuatorBias, 1, 1)),
            ],
            Self::ServoDamping => vec![negative(slice(Quantity::ActuatorBias, 2, 1))],
            Self::ServoDampingRatio => vec![slice(Quantity::ActuatorBias, 2, 1)],
            Self::MassOnly => of_attribute(Quantity::BodyMass),
            Self::PseudoInertia | Self::JointLaw(_) | Self::State(_) | Self::Refused(_) => {
                Vec::new()
            }
        }
    }

    /// Whether all parts follow the same parameters.
    pub(super) fn is_mirrored(self) -> bool {
        self == Self::ServoGain
    }
}

/// An attribute that users know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) element: ElementKind,
    pub(super) name: &'static str,
    aliases: &'static [&'static str],
    /// Our own name, if that is another one.
    field: Option<&'static str>,
    /// Of each component; the last one holds for all that follow.
    pub(super) unit: &'static str,
    /// Which values make sense.
    pub(super) range: Range,
    pub(super) source: Source,
}

impl Attribute {
    /// Whether a word means it.
    pub(super) fn is_called(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word) || self.field == Some(word)
    }
}

/// All quantities that have the attribute of one of them.
fn of_attribute(first: Quantity) -> Vec<Part> {
    let Some(own) = first.row().attribute else {
        return Vec::new();
    };
    let parts = Quantity::ALL.iter().filter_map(|&quantity| {
        let attribute = quantity.row().attribute?;
        let is_same = (attribute.element, attribute.name) == (own.element, own.name);
        is_same.then_some(Part {
            quantity,
            over: attribute.over,
            components: attribute.components,
            factor: 1.0,
        })
    });
    parts.collect()
}

const fn slice(quantity: Quantity, first: usize, count: usize) -> Part {
    Part {
        quantity,
        over: Over::Element,
        components: Some((first, count)),
        factor: 1.0,
    }
}

const fn negative(part: Part) -> Part {
    Part {
        factor: -1.0,
        ..part
    }
}

const DISCRETE: &str =
    "is a choice, not a real number: there is no derivative, compile one model for each";
const TOLERANCE: &str = "ends an iteration: results at the solution do not depend on it";
const NO_FRICTION: &str =
    "has no dry friction, and at zero its derivative jumps: start from a positive frictionloss";
/// Numbers of laws that must be positive are at least this, in their own unit: far below any that a law is used with.
const LEAST_POSITIVE: f64 = 1e-9;
const DRAWN: &str = "is for the viewer: nothing moves with it";

/// Declares attributes that are not one quantity.
macro_rules! attributes {
    ($($element:ident $name:literal $([$($alias:literal),*])?, $unit:literal $($range:ident)?: $source:expr;)*) => {
        &[$(Attribute {
            element: ElementKind::$element,
            name: $name,
            aliases: &[$($($alias),*)?],
            field: None,
            unit: $unit,
            range: attributes!(@ $($range)?),
            source: $source,
        }),*]
    };
    (@ positive) => { Range::From(0.0) };
    (@) => { Range::Any };
}

const COMPOSED: &[Attribute] = attributes! {
    Option "iterations", "": Source::Refused(TOLERANCE);
    Option "ls_iterations", "": Source::Refused(TOLERANCE);
    Body "mass_only", "kg" positive: Source::MassOnly;
    Body "pseudo_inertia" ["fullinertia"], "log-Cholesky": Source::PseudoInertia;
    Geom "rgba", "": Source::Refused(DRAWN);
    Mesh "refpos", "m": Source::Refused("is folded into the vertices when the mesh is read: select geom.pos");
    Mesh "refquat", "1": Source::Refused("is folded into the vertices when the mesh is read: select geom.quat");
    Equality "anchor", "m": Source::Anchor;
    Equality "relpose", "m, m, m, 1": Source::RelativePose;
    Equality "torquescale", "m" positive: Source::TorqueScale;
    Equality "polycoef", "m or rad": Source::Polynomial;
    Tendon "width", "m": Source::Refused(DRAWN);
    Actuator "kp", "N/m or N·m/rad" positive: Source::ServoGain;
    Actuator "kv", "N·s/m or N·m·s/rad" positive: Source::ServoDamping;
    Actuator "dampratio", "1" positive: Source::ServoDampingRatio;
    Sensor "pos" ["position", "quat"], "m":
        Source::Refused("is that of the site or body it is attached to: select site.pos");
    State "qpos", "m or rad": Source::State(StateField::Qpos);
    State "qvel", "m/s or rad/s": Source::State(StateField::Qvel);
    State "act", "by kind": Source::State(StateField::Act);
    State "mocap_pos" ["mocap_position"], "m": Source::State(StateField::MocapPosition);
    State "mocap_quat", "1": Source::State(StateField::MocapQuat);
};

/// Attributes that choose among kinds.
const CHOICES: &[(ElementKind, &str)] = &[
    (ElementKind::Option, "integrator cone solver jacobian"),
    (ElementKind::Body, "mocap"),
    (ElementKind::Joint, "type limited"),
    (
        ElementKind::Geom,
        "condim contype conaffinity priority type group",
    ),
    (ElementKind::Site, "type"),
    (ElementKind::Camera, "resolution"),
    (ElementKind::Pair, "condim"),
    (ElementKind::Equality, "active"),
    (ElementKind::Actuator, "group"),
];

/// All attributes: those of the table in its order, then the others.
pub(super) static ATTRIBUTES: LazyLock<Vec<Attribute>> = LazyLock::new(|| {
    let mut attributes: Vec<Attribute> = Vec::new();
    let rows = Quantity::ALL
        .iter()
        .map(|quantity| (quantity, quantity.row()));
    for (&quantity, row) in rows {
        let Some(own) = row.attribute else {
            continue;
        };
        let is_same = |known: &Attribute| (known.element, known.name) == (own.element, own.name);
        if attributes.iter().any(is_same) {
            continue;
        }
        let is_ours = own.over == Over::Element && row.field != own.name;
        attributes.push(Attribute {
            element: own.element,
            name: own.name,
            aliases: own.aliases,
            field: is_ours.then_some(row.field),
            unit: row.unit,
            range: row.range,
            source: match row.role {
                Role::Given | Role::Direct => Source::Of(quantity),
                Role::Setting => Source::Refused(TOLERANCE),
                Role::Derived(why) | Role::Refused(why) => Source::Refused(why),
            },
        });
    }
    attributes.extend(COMPOSED);
    attributes.extend(joint_laws());
    for &(element, names) in CHOICES {
        attributes.extend(names.split(' ').map(|name| Attribute {
            element,
            name,
            aliases: &[],
            field: None,
            unit: "",
            range: Range::Any,
            source: Source::Refused(DISCRETE),
        }));
    }
    attributes
});

/// The numbers of all laws of joints, as attributes of the joint.
fn joint_laws() -> impl Iterator<Item = Attribute> {
    let laws = JointLawKind::ALL.iter();
    let numbers = laws.flat_map(|kind| kind.description().numbers);
    numbers.map(|number| Attribute {
        element: ElementKind::Joint,
        name: number.name,
        aliases: &[],
        field: None,
        unit: number.unit,
        range: match number.range {
            LawRange::Share | LawRange::NotNegative => Range::From(0.0),
            LawRange::Positive => Range::From(LEAST_POSITIVE),
            LawRange::AtLeastOne => Range::From(1.0),
            LawRange::Any => Range::Any,
        },
        source: Source::JointLaw(number.name),
    })
}

/// Names of the elements of a kind; unnamed ones are called by their index.
pub(super) fn element_names(structure: &Structure, kind: ElementKind) -> Vec<String> {
    let names = match kind {
        ElementKind::Law => Some(&structure.laws.label),
        _ => kind.names(&structure.names),
    };
    let name = |id: usize| match names.and_then(|names| names.get(id)) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => id.to_string(),
    };
    (0..kind.count(&structure.counts)).map(name).collect()
}

/// How many components of an attribute an element has: none for all of the field; why not, if there are none at all.
pub(super) fn available(
    model: &Model,
    recipe: &Recipe,
    attribute: &Attribute,
    element: usize,
) -> Result<Option<usize>, String> {
    let source = attribute.source;
    match attribute.element {
        ElementKind::Body => body(model, source, element),
        ElementKind::Joint => joint(model, recipe, source, element),
        ElementKind::Geom => geom(model, recipe, source, element),
        ElementKind::Mesh => mesh(model, element),
        ElementKind::Law => law(model, attribute, element),
        ElementKind::Equality => equality(model, source, element),
        ElementKind::Tendon => tendon(model, source, element),
        ElementKind::Actuator => actuator(model, recipe, source, element),
        ElementKind::Sensor => sensor(model, source, element),
        _ => Ok(None),
    }
}

type Availability = Result<Option<usize>, String>;

fn no(why: impl Into<String>) -> Availability {
    Err(why.into())
}

fn body(model: &Model, source: Source, body: usize) -> Availability {
    match source {
        _ if body == 0 => no("is the world, which has no numbers"),
        Source::Of(
            Quantity::BodyMass
            | Quantity::BodyInertialPosition
            | Quantity::BodyInertialQuat
            | Quantity::BodyInertia,
        )
        | Source::MassOnly
        | Source::PseudoInertia
            if model.bodies.mass[body] == 0.0 =>
        {
            no("has no mass, and bodies without mass cannot be given any by a parameter")
        }
        _ => Ok(None),
    }
}

fn law(model: &Model, attribute: &Attribute, law: usize) -> Availability {
    let numbers = model.structure.laws.kind[law].description().numbers;
    if numbers.iter().any(|number| number.name == attribute.name) {
        return Ok(None);
    }
    no("is another law, without that number")
}

fn joint(model: &Model, recipe: &Recipe, source: Source, joint: usize) -> Availability {
    let kind = model.structure.joints.kind[joint];
    let is_scalar = matches!(kind, JointKind::Slide | JointKind::Hinge);
    let [time, ratio] = recipe.given.sources.spring_damper[joint];
    let has_spring_damper = time > 0.0 && ratio > 0.0;
    match source {
        Source::JointLaw(name)
            if joint_law_parameter(&model.structure.joint_laws, joint, name).is_none() =>
        {
            no("has no law with that number: a text carom/joint/<label> puts one on it")
        }
        Source::Of(Quantity::JointPosition) if kind == JointKind::Free => {
            no("is a free joint, which has no anchor")
        }
        Source::Of(Quantity::JointPosition) if kind == JointKind::Slide => {
            no("slides: its anchor moves nothing")
        }
        Source::Of(Quantity::JointAxis) if !is_scalar => {
            no("is a free or ball joint, which has no axis")
        }
        Source::Of(Quantity::QposReference) if !is_scalar => {
            no("starts at the pose of its body: select body.pos and body.quat")
        }
        Source::Of(Quantity::QposSpring) if !is_scalar => {
            no("has a spring that rests at the pose of its body")
        }
        Source::Of(Quantity::JointStiffness | Quantity::DofDamping) if has_spring_damper => {
            no("gives springdamper, from which stiffness and damping follow: select that")
        }
        Source::Of(Quantity::DofFrictionloss)
            if model.dofs.frictionloss[model.structure.joints.dof[joint]] == 0.0 =>
        {
            no(NO_FRICTION)
        }
        Source::Of(Quantity::JointSpringDamper) if !has_spring_damper => {
            no("does not give springdamper")
        }
        Source::Of(
            Quantity::JointRange
            | Quantity::JointMargin
            | Quantity::JointSolref
            | Quantity::JointSolimp,
        ) if !model.structure.joints.limited[joint] => no("has no limits"),
        Source::Of(Quantity::JointActuatorForceRange)
            if !model.structure.joints.actuator_force_limited[joint] =>
        {
            no("does not limit the force of actuators")
        }
        _ => Ok(None),
    }
}

fn geom(model: &Model, recipe: &Recipe, source: Source, geom: usize) -> Availability {
    let structure = &model.structure;
    let shape = structure.geoms.shape[geom];
    match source {
        Source::Of(Quantity::GeomSize) => match (structure.geoms.kind[geom], shape) {
            _ if recipe.geoms[geom].fitted => no("is fitted to a mesh, which gives its size"),
            (GeomKind::Plane, _) => no("is a plane, whose size is only drawn"),
            (_, GeomShape::Mesh(_)) => no("is a mesh: select mesh.vertex"),
            (_, GeomShape::HeightField(_)) => no("is a height field: select hfield.size"),
            (GeomKind::Sphere, _) => Ok(Some(1)),
            (GeomKind::Capsule | GeomKind::Cylinder, _) => Ok(Some(2)),
            _ => Ok(None),
        },
        Source::Of(Quantity::GeomMass | Quantity::GeomDensity) => match recipe.geoms[geom].mass {
            MassSource::None if structure.geoms.body[geom] == 0 => {
                no("belongs to the world, which has no mass")
            }
            MassSource::None => no("does not count: the inertia of its body is given otherwise"),
            _ if model.bodies.mass[structure.geoms.body[geom]] == 0.0 => no("has no mass"),
            _ => Ok(None),
        },
        Source::Of(Quantity::GeomFluid) if model.geoms.fluid[geom][0] == 0.0 => {
            no("does not use the ellipsoid model of fluids (fluidshape)")
        }
        _ => Ok(None),
    }
}

fn mesh(model: &Model, mesh: usize) -> Availability {
    let geoms = &model.structure.geoms;
    let uses_ellipsoid = |(geom, shape): (usize, &GeomShape)| {
        *shape == GeomShape::Mesh(mesh) && model.geoms.fluid[geom][0] != 0.0
    };
    if geoms.shape.iter().enumerate().any(uses_ellipsoid) {
        return no("stands for an ellipsoid in a fluid, whose axes jump with the outermost vertex");
    }
    Ok(None)
}

fn equality(model: &Model, source: Source, equality: usize) -> Availability {
    let equalities = &model.structure.equalities;
    let (kind, sites) = (
        equalities.kind[equality],
        equalities.between_sites[equality],
    );
    let is_coupling = matches!(kind, EqualityKind::Joint | EqualityKind::Tendon);
    match source {
        Source::Anchor | Source::RelativePose | Source::TorqueScale if is_coupling => {
            no("couples joints or tendons: it has polycoef")
        }
        Source::Polynomial if !is_coupling => no("does not couple joints or tendons"),
        Source::Anchor | Source::RelativePose if sites => {
            no("is between sites: select site.pos and site.quat")
        }
        Source::RelativePose | Source::TorqueScale if kind == EqualityKind::Connect => {
            no("ties points together, not frames")
        }
        Source::RelativePose if model.equalities.data[equality][11] != 0.0 => {
            no("takes its pose from the reference configuration: give relpose in the file")
        }
        _ => Ok(None),
    }
}

fn tendon(model: &Model, source: Source, tendon: usize) -> Availability {
    let tendons = &model.structure.tendons;
    match source {
        Source::Of(Quantity::TendonFrictionloss) if model.tendons.frictionloss[tendon] == 0.0 => {
            no(NO_FRICTION)
        }
        Source::Of(
            Quantity::TendonRange
            | Quantity::TendonMargin
            | Quantity::TendonSolrefLimit
            | Quantity::TendonSolimpLimit,
        ) if !tendons.limited[tendon] => no("has no limits"),
        Source::Of(Quantity::TendonActuatorForceRange)
            if !tendons.actuator_force_limited[tendon] =>
        {
            no("does not limit the force of actuators")
        }
        _ => Ok(None),
    }
}

fn actuator(model: &Model, recipe: &Recipe, source: Source, actuator: usize) -> Availability {
    let actuators = &model.structure.actuators;
    let follows = &recipe.actuators[actuator];
    let given = &recipe.given.model.actuators;
    let (gain, bias) = (actuators.gain[actuator], actuators.bias[actuator]);
    let [_, stiffness, damping, ..] = given.bias[actuator];
    let is_servo = (gain == GainKind::Fixed && bias == BiasKind::Affine || gain == GainKind::So3)
        && given.gain[actuator][0] == -stiffness;
    match source {
        Source::Of(Quantity::ActuatorGear) => Ok(Some(match actuators.transmission[actuator] {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
                model.structure.joints.kind[joint].dof_count()
            }
            Transmission::Site { .. } => 6,
            _ => 1,
        })),
        Source::Of(Quantity::ActuatorGain) => Ok(Some(match gain {
            GainKind::Fixed | GainKind::Pid | GainKind::So3 => 1,
            GainKind::Affine => 3,
            GainKind::DcMotor => 8,
            GainKind::Muscle | GainKind::User => 9,
        })),
        Source::Of(Quantity::ActuatorBias) => match bias {
            BiasKind::None => no("has no bias"),
            BiasKind::Affine | BiasKind::So3 if is_servo && damping > 0.0 => {
                no("gives a damping ratio: select kp and dampratio")
            }
            BiasKind::Affine | BiasKind::So3 => Ok(Some(3)),
            BiasKind::DcMotor => Ok(Some(6)),
            _ => Ok(Some(9)),
        },
        Source::Of(Quantity::ActuatorDynamics) => match actuators.dynamics[actuator] {
            ActuatorDynamics::None | ActuatorDynamics::Integrator => {
                no("has no dynamics with parameters")
            }
            ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => Ok(Some(1)),
            ActuatorDynamics::Muscle => Ok(Some(3)),
            ActuatorDynamics::DcMotor => Ok(Some(9)),
            ActuatorDynamics::Pid => Ok(Some(2)),
            ActuatorDynamics::User => Ok(None),
        },
        Source::ServoGain if gain == GainKind::Pid => {
            no("is a pid: select biasprm, whose second number is -kp")
        }
        Source::ServoDamping if gain == GainKind::Pid && damping <= 0.0 => Ok(None),
        Source::ServoDampingRatio if gain == GainKind::Pid && damping > 0.0 => Ok(None),
        Source::ServoGain | Source::ServoDamping | Source::ServoDampingRatio if !is_servo => {
            no("is not a position servo")
        }
        Source::ServoDamping if damping > 0.0 => no("gives a damping ratio: select dampratio"),
        Source::ServoDampingRatio if damping <= 0.0 => {
            no("does not give a damping ratio: select kv")
        }
        Source::Of(Quantity::ActuatorControlRange)
            if follows.inherits.is_some() && !follows.inherits_activation =>
        {
            no("inherits the range of its joint or tendon: select that")
        }
        Source::Of(Quantity::ActuatorActivationRange)
            if follows.inherits.is_some() && follows.inherits_activation =>
        {
            no("inherits the range of its joint or tendon: select that")
        }
        Source::Of(Quantity::ActuatorControlRange) if !actuators.control_limited[actuator] => {
            no("does not limit its control")
        }
        Source::Of(Quantity::ActuatorVelocityRange)
            if !actuators.velocity_limited[actuator] || gain != GainKind::Pid =>
        {
            no("does not limit a velocity that it is given")
        }
        Source::Of(Quantity::ActuatorFeedforwardRange)
            if !actuators.feedforward_limited[actuator] || gain != GainKind::Pid =>
        {
            no("does not limit its feedforward")
        }
        Source::Of(Quantity::ActuatorForceRange) if !actuators.force_limited[actuator] => {
            no("does not limit its force")
        }
        Source::Of(Quantity::ActuatorActivationRange)
            if !actuators.activation_limited[actuator] =>
        {
            no("does not limit its activation")
        }
        Source::Of(Quantity::ActuatorLengthRange)
            if gain != GainKind::Muscle && bias != BiasKind::Muscle =>
        {
            no("is no muscle: nothing depends on its length range")
        }
        Source::Of(Quantity::ActuatorCrankLength)
            if !matches!(
                actuators.transmission[actuator],
                Transmission::SliderCrank { .. }
            ) =>
        {
            no("is no slider-crank")
        }
        Source::Of(Quantity::ActuatorDelay) => delay(
            model,
            (actuators.history[actuator], model.actuators.delay[actuator]),
        ),
        _ => Ok(None),
    }
}

fn sensor(model: &Model, source: Source, sensor: usize) -> Availability {
    let history = model.structure.sensors.history[sensor];
    match source {
        Source::Of(Quantity::SensorDelay) => delay(model, (history, model.sensors.delay[sensor])),
        _ => Ok(None),
    }
}

fn delay(model: &Model, (history, delay): (Option<usize>, f64)) -> Availability {
    let interpolation = |history: usize| model.structure.histories[history].interpolation;
    match history.map(interpolation) {
        None => no("has no history: give nsample in the file"),
        Some(Interpolation::Hold) => no(
            "holds its samples, so that results jump with the delay: give interp=\"linear\" or \"cubic\" in the file",
        ),
        Some(_) if delay == 0.0 => {
            no("has no delay, and results jump where one begins: start from a positive delay")
        }
        Some(_) => Ok(None),
    }
}
