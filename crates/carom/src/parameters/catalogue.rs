//! What can be selected: the public names of numbers, and where these are among the given numbers of a model.
//!
//! Public names are the file format's attribute names; our own field names are accepted too.

use crate::model::{
    ActuatorDynamics, BiasKind, EqualityKind, GainKind, GeomKind, GeomShape, Interpolation,
    JointKind, MassSource, Model, Recipe, Structure, Transmission,
};

/// Which elements of a field belong to the element that is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The one of the same id.
    Element,
    /// All degrees of freedom of the joint, with one parameter.
    Dofs,
    /// The coordinate of a sliding or turning joint.
    Coordinate,
    /// The vertices of the mesh.
    Vertices,
    /// The elevations of the height field.
    Elevations,
    /// The elements of the tendon's path that have a coefficient.
    Wraps,
}

/// Components of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) family: &'static str,
    pub(super) field: &'static str,
    pub(super) over: Over,
    /// First component and their number; all if none.
    pub(super) components: Option<(usize, usize)>,
    /// The field's number is this times the parameter's.
    pub(super) factor: f64,
}

/// What an attribute is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Parts one after another.
    Parts(&'static [Part]),
    /// Parts that all follow the same parameters.
    Mirrored(&'static [Part]),
    /// The ten numbers of a body's pseudo-inertia.
    PseudoInertia,
    /// Numbers of the initial state.
    State,
    /// Nothing: why.
    Refused(&'static str),
}

/// Which numbers of an attribute make sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Range {
    /// All.
    Any,
    /// From this one upwards.
    From(f64),
    /// Those of the sign that it has: another sign means something else.
    OneSign,
}

/// Friction below this counts as much, so that nothing changes there.
const LEAST_FRICTION: f64 = 1e-5;
/// Dry friction of zero is none, so that nothing tells how more of it would do (N, N·m).
const LEAST_DRY_FRICTION: f64 = 1e-9;
/// Least size of numbers that keep their sign.
const LEAST_SIZE: f64 = 1e-6;

impl Range {
    /// Lowest and highest number, where one is known to be possible.
    pub(super) fn around(self, known: f64) -> [f64; 2] {
        match self {
            Self::From(least) => [least.min(known), f64::INFINITY],
            Self::OneSign if known > 0.0 => [LEAST_SIZE.min(known), f64::INFINITY],
            Self::OneSign if known < 0.0 => [f64::NEG_INFINITY, 0.0],
            Self::Any | Self::OneSign => [f64::NEG_INFINITY, f64::INFINITY],
        }
    }
}

/// An attribute that users know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// Of each component; the last one holds for all that follow.
    pub(super) unit: &'static str,
    /// Which numbers make sense.
    pub(super) range: Range,
    pub(super) source: Source,
}

/// A family of elements.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) attributes: &'static [Attribute],
}

const fn part(family: &'static str, field: &'static str) -> Part {
    Part {
        family,
        field,
        over: Over::Element,
        components: None,
        factor: 1.0,
    }
}

const fn over(family: &'static str, field: &'static str, over: Over) -> Part {
    Part {
        over,
        ..part(family, field)
    }
}

const fn slice(family: &'static str, field: &'static str, first: usize, count: usize) -> Part {
    Part {
        components: Some((first, count)),
        ..part(family, field)
    }
}

const fn negative(part: Part) -> Part {
    Part {
        factor: -1.0,
        ..part
    }
}

/// Declares a table of attributes.
macro_rules! attributes {
    ($($name:literal $([$($alias:literal),*])?, $unit:literal $($range:ident)?: $source:expr;)*) => {
        &[$(Attribute {
            name: $name,
            aliases: &[$($($alias),*)?],
            unit: $unit,
            range: attributes!(@ $($range)?),
            source: $source,
        }),*]
    };
    (@ positive) => { Range::From(0.0) };
    (@ friction) => { Range::From(LEAST_FRICTION) };
    (@ dry) => { Range::From(LEAST_DRY_FRICTION) };
    (@ signed) => { Range::OneSign };
    (@) => { Range::Any };
}

/// Declares an attribute of one or several parts.
macro_rules! parts {
    ($($part:expr),*) => { Source::Parts(&[$($part),*]) };
}

const DISCRETE: &str =
    "is a choice, not a real number: there is no derivative, compile one model for each";
const TOLERANCE: &str = "ends an iteration: results at the solution do not depend on it";
const DERIVED_MASS: &str = "follows from masses, inertias and frames: select those";
const DERIVED_SHAPE: &str = "follows from the size: select that";
const NO_FRICTION: &str =
    "has no dry friction, and at zero its derivative jumps: start from a positive frictionloss";
const KEYFRAME: &str = "is part of a stored state: select state.qpos, state.qvel or state.act";

const OPTION: &[Attribute] = attributes! {
    "timestep", "s" positive: parts![part("option", "timestep")];
    "gravity", "m/s²": parts![part("option", "gravity")];
    "wind", "m/s": parts![part("option", "wind")];
    "magnetic", "1": parts![part("option", "magnetic")];
    "density", "kg/m³" positive: parts![part("option", "density")];
    "viscosity", "Pa·s" positive: parts![part("option", "viscosity")];
    "impratio", "1" positive: parts![part("option", "impratio")];
    "o_margin" ["override_margin"], "m": parts![part("option", "override_margin")];
    "o_solref" ["override_solref"], "s, 1" signed: parts![part("option", "override_solref")];
    "o_solimp" ["override_solimp"], "1, 1, m, 1": parts![part("option", "override_solimp")];
    "o_friction" ["override_friction"], "1, 1, m" friction: parts![part("option", "override_friction")];
    "tolerance", "1": Source::Refused(TOLERANCE);
    "ls_tolerance", "1": Source::Refused(TOLERANCE);
    "noslip_tolerance", "1": Source::Refused(TOLERANCE);
    "ccd_tolerance", "1": Source::Refused(TOLERANCE);
    "iterations", "": Source::Refused(TOLERANCE);
    "ls_iterations", "": Source::Refused(TOLERANCE);
    "integrator", "": Source::Refused(DISCRETE);
    "cone", "": Source::Refused(DISCRETE);
    "solver", "": Source::Refused(DISCRETE);
    "jacobian", "": Source::Refused(DISCRETE);
};

const BODY: &[Attribute] = attributes! {
    "pos" ["position"], "m": parts![part("bodies", "position")];
    "quat", "1": parts![part("bodies", "quat")];
    "mass", "kg" positive: parts![part("bodies", "mass")];
    "ipos" ["com", "inertial_position"], "m": parts![part("bodies", "inertial_position")];
    "iquat" ["inertial_quat"], "1": parts![part("bodies", "inertial_quat")];
    "inertia" ["diaginertia"], "kg·m²" positive: parts![part("bodies", "inertia")];
    "pseudo_inertia" ["fullinertia"], "log-Cholesky": Source::PseudoInertia;
    "gravcomp", "1": parts![part("bodies", "gravcomp")];
    "subtree_mass" ["subtreemass"], "kg": Source::Refused(DERIVED_MASS);
    "invweight0" ["inverse_weight"], "1/kg": Source::Refused(DERIVED_MASS);
    "mocap", "": Source::Refused(DISCRETE);
};

const JOINT: &[Attribute] = attributes! {
    "pos" ["position"], "m": parts![part("joints", "position")];
    "axis", "1": parts![part("joints", "axis")];
    "stiffness", "N/m or N·m/rad": parts![part("joints", "stiffness"), part("joints", "stiffness_poly")];
    "damping", "N·s/m or N·m·s/rad" positive: parts![
        over("dofs", "damping", Over::Dofs), over("dofs", "damping_poly", Over::Dofs)];
    "springdamper" ["spring_damper"], "s, 1" positive: parts![part("sources", "spring_damper")];
    "armature", "kg or kg·m²" positive: parts![over("dofs", "armature", Over::Dofs)];
    "frictionloss", "N or N·m" dry: parts![over("dofs", "frictionloss", Over::Dofs)];
    "solreffriction", "s, 1" signed: parts![over("dofs", "solref", Over::Dofs)];
    "solimpfriction", "1, 1, m or rad, 1": parts![over("dofs", "solimp", Over::Dofs)];
    "range", "m or rad": parts![part("joints", "range")];
    "margin", "m or rad": parts![part("joints", "margin")];
    "solreflimit" ["solref"], "s, 1" signed: parts![part("joints", "solref")];
    "solimplimit" ["solimp"], "1, 1, m or rad, 1": parts![part("joints", "solimp")];
    "actuatorfrcrange" ["actfrcrange", "actuator_force_range"], "N or N·m":
        parts![part("joints", "actuator_force_range")];
    "ref" ["reference"], "m or rad": parts![over("qpos", "reference", Over::Coordinate)];
    "springref", "m or rad": parts![over("qpos", "spring", Over::Coordinate)];
    "type", "": Source::Refused(DISCRETE);
    "limited", "": Source::Refused(DISCRETE);
    "invweight0" ["inverse_weight"], "1/kg": Source::Refused(DERIVED_MASS);
};

const GEOM: &[Attribute] = attributes! {
    "size", "m" positive: parts![part("geoms", "size")];
    "pos" ["position"], "m": parts![part("geoms", "position")];
    "quat", "1": parts![part("geoms", "quat")];
    "mass", "kg" positive: parts![part("sources", "geom_mass")];
    "density", "kg/m³" positive: parts![part("sources", "geom_density")];
    "friction", "1, m" friction: parts![part("geoms", "friction")];
    "solmix", "1" positive: parts![part("geoms", "solmix")];
    "solref", "s, 1" signed: parts![part("geoms", "solref")];
    "solimp", "1, 1, m, 1": parts![part("geoms", "solimp")];
    "margin", "m": parts![part("geoms", "margin")];
    "gap", "m": parts![part("geoms", "gap")];
    "surfacevel" ["surface_velocity"], "m/s, rad/s": parts![part("geoms", "surface_velocity")];
    "adhesion", "N" positive: parts![part("geoms", "adhesion")];
    "fluidcoef" ["fluid"], "1": parts![slice("geoms", "fluid", 1, 5)];
    "rbound" ["bounding_radius"], "m": Source::Refused(DERIVED_SHAPE);
    "aabb" ["bounding_box"], "m": Source::Refused(DERIVED_SHAPE);
    "condim", "": Source::Refused(DISCRETE);
    "contype", "": Source::Refused(DISCRETE);
    "conaffinity", "": Source::Refused(DISCRETE);
    "priority", "": Source::Refused(DISCRETE);
    "type", "": Source::Refused(DISCRETE);
    "group", "": Source::Refused(DISCRETE);
    "rgba", "": Source::Refused("is for the viewer: nothing moves with it");
};

const SITE: &[Attribute] = attributes! {
    "pos" ["position"], "m": parts![part("sites", "position")];
    "quat", "1": parts![part("sites", "quat")];
    "size", "m" positive: parts![part("sites", "size")];
    "type", "": Source::Refused(DISCRETE);
};

const CAMERA: &[Attribute] = attributes! {
    "pos" ["position"], "m": parts![part("cameras", "position")];
    "quat", "1": parts![part("cameras", "quat")];
    "fovy", "degree" positive: parts![part("cameras", "fovy")];
    "sensorsize" ["sensor_size"], "m" positive: parts![part("cameras", "sensor_size")];
    "intrinsic" ["focal"], "m": parts![part("cameras", "intrinsic")];
    "resolution", "": Source::Refused(DISCRETE);
};

const MESH: &[Attribute] = attributes! {
    "vertex" ["vert"], "m": parts![over("meshes", "vertex", Over::Vertices)];
    "scale", "1": Source::Refused("is folded into the vertices when the mesh is read: select those");
    "refpos", "m": Source::Refused("is folded into the vertices when the mesh is read: select geom.pos");
    "refquat", "1": Source::Refused("is folded into the vertices when the mesh is read: select geom.quat");
};

const HEIGHT_FIELD: &[Attribute] = attributes! {
    "size", "m" positive: parts![part("height_fields", "size")];
    "elevation", "1": parts![over("height_fields", "elevation", Over::Elevations)];
};

const PAIR: &[Attribute] = attributes! {
    "solref", "s, 1" signed: parts![part("pairs", "solref")];
    "solreffriction", "s, 1" signed: parts![part("pairs", "solreffriction")];
    "solimp", "1, 1, m, 1": parts![part("pairs", "solimp")];
    "margin", "m": parts![part("pairs", "margin")];
    "gap", "m": parts![part("pairs", "gap")];
    "adhesion", "N" positive: parts![part("pairs", "adhesion")];
    "friction", "1, 1, m" friction: parts![part("pairs", "friction")];
    "condim", "": Source::Refused(DISCRETE);
};

const LAW: &[Attribute] = attributes! {
    "restitution", "1" positive: parts![part("laws", "restitution")];
    "restitution_speed", "m/s" positive: parts![part("laws", "restitution_speed")];
    "baumgarte", "1" positive: parts![part("laws", "baumgarte")];
    "mixing", "1/kg" positive: parts![part("laws", "mixing")];
    "stiffness", "N/mⁿ" positive: parts![part("laws", "stiffness")];
    "exponent", "1" positive: parts![part("laws", "exponent")];
    "dissipation", "s/m" positive: parts![part("laws", "dissipation")];
    "transition_speed", "m/s" positive: parts![part("laws", "transition_speed")];
    "static_ratio", "1" positive: parts![part("laws", "static_ratio")];
    "viscous", "N·s/m" positive: parts![part("laws", "viscous")];
    "viscous_force", "N" positive: parts![part("laws", "viscous_force")];
    "tolerance", "m/s": Source::Refused(TOLERANCE);
};

const EQUALITY: &[Attribute] = attributes! {
    "solref", "s, 1" signed: parts![part("equalities", "solref")];
    "solimp", "1, 1, m or rad, 1": parts![part("equalities", "solimp")];
    "anchor", "m": parts![slice("equalities", "data", 0, 3)];
    "relpose", "m, m, m, 1": parts![slice("equalities", "data", 3, 7)];
    "torquescale", "m" positive: parts![slice("equalities", "data", 10, 1)];
    "polycoef", "m or rad": parts![slice("equalities", "data", 0, 5)];
    "active", "": Source::Refused(DISCRETE);
};

const TENDON: &[Attribute] = attributes! {
    "stiffness", "N/m": parts![part("tendons", "stiffness"), part("tendons", "stiffness_poly")];
    "damping", "N·s/m" positive: parts![part("tendons", "damping"), part("tendons", "damping_poly")];
    "armature", "kg" positive: parts![part("tendons", "armature")];
    "frictionloss", "N" dry: parts![part("tendons", "frictionloss")];
    "springlength" ["spring_length"], "m": parts![part("tendons", "spring_length")];
    "range", "m": parts![part("tendons", "range")];
    "margin", "m": parts![part("tendons", "margin")];
    "solreflimit" ["solref_limit"], "s, 1" signed: parts![part("tendons", "solref_limit")];
    "solimplimit" ["solimp_limit"], "1, 1, m, 1": parts![part("tendons", "solimp_limit")];
    "solreffriction" ["solref_friction"], "s, 1" signed: parts![part("tendons", "solref_friction")];
    "solimpfriction" ["solimp_friction"], "1, 1, m, 1": parts![part("tendons", "solimp_friction")];
    "actuatorfrcrange" ["actfrcrange", "actuator_force_range"], "N":
        parts![part("tendons", "actuator_force_range")];
    "coef" ["coefficient", "divisor"], "1": parts![over("wraps", "coefficient", Over::Wraps)];
    "length0" ["length_reference"], "m": Source::Refused("follows from sites and joints: select those");
    "invweight0" ["inverse_weight"], "1/kg": Source::Refused(DERIVED_MASS);
    "width", "m": Source::Refused("is for the viewer: nothing moves with it");
};

const ACTUATOR: &[Attribute] = attributes! {
    "gear", "1": parts![part("actuators", "gear")];
    "gainprm" ["gain"], "by kind": parts![part("actuators", "gain")];
    "biasprm" ["bias"], "by kind": parts![part("actuators", "bias")];
    "dynprm" ["dynamics"], "s": parts![part("actuators", "dynamics")];
    "kp", "N/m or N·m/rad" positive: Source::Mirrored(&[
        slice("actuators", "gain", 0, 1), negative(slice("actuators", "bias", 1, 1))]);
    "kv", "N·s/m or N·m·s/rad" positive: parts![negative(slice("actuators", "bias", 2, 1))];
    "dampratio", "1" positive: parts![slice("actuators", "bias", 2, 1)];
    "ctrlrange" ["control_range"], "by kind": parts![part("actuators", "control_range")];
    "forcerange" ["force_range"], "N or N·m": parts![part("actuators", "force_range")];
    "actrange" ["activation_range"], "by kind": parts![part("actuators", "activation_range")];
    "lengthrange" ["length_range"], "m or rad": parts![part("actuators", "length_range")];
    "cranklength" ["crank_length"], "m" positive: parts![part("actuators", "crank_length")];
    "damping", "N·s/m or N·m·s/rad": parts![part("actuators", "damping"), part("actuators", "damping_poly")];
    "armature", "kg or kg·m²" positive: parts![part("actuators", "armature")];
    "delay", "s" positive: parts![part("actuators", "delay")];
    "acc0" ["acceleration_reference"], "m/s²": Source::Refused(DERIVED_MASS);
    "length0" ["length_reference"], "m": Source::Refused("follows from the transmission: select that");
    "group", "": Source::Refused(DISCRETE);
};

const SENSOR: &[Attribute] = attributes! {
    "cutoff", "by kind" positive: parts![part("sensors", "cutoff")];
    "delay", "s" positive: parts![part("sensors", "delay")];
    "interval", "s" positive: Source::Refused("decides when readings are taken: results jump with it");
    "noise", "by kind": Source::Refused("is only told to the user: no reading depends on it");
    "pos" ["position", "quat"], "m": Source::Refused("is that of the site or body it is attached to: select site.pos");
};

const KEY: &[Attribute] = attributes! {
    "qpos", "": Source::Refused(KEYFRAME);
    "qvel", "": Source::Refused(KEYFRAME);
    "act", "": Source::Refused(KEYFRAME);
    "ctrl", "": Source::Refused("is a control: its gradient is that of the input");
    "mpos", "": Source::Refused("is part of a stored state: select state.mocap_pos");
    "mquat", "": Source::Refused("is part of a stored state: select state.mocap_quat");
};

const STATE: &[Attribute] = attributes! {
    "qpos", "m or rad": Source::State;
    "qvel", "m/s or rad/s": Source::State;
    "act", "by kind": Source::State;
    "mocap_pos" ["mocap_position"], "m": Source::State;
    "mocap_quat", "1": Source::State;
};

/// All families.
pub(super) const FAMILIES: &[Family] = &[
    family("option", &[], OPTION),
    family("body", &["bodies"], BODY),
    family("joint", &["joints", "dof", "jnt"], JOINT),
    family("geom", &["geoms"], GEOM),
    family("site", &["sites"], SITE),
    family("camera", &["cameras", "cam"], CAMERA),
    family("mesh", &["meshes"], MESH),
    family("hfield", &["height_field"], HEIGHT_FIELD),
    family("pair", &["pairs"], PAIR),
    family("law", &["laws"], LAW),
    family("equality", &["eq", "equalities"], EQUALITY),
    family("tendon", &["tendons"], TENDON),
    family("actuator", &["actuators"], ACTUATOR),
    family("sensor", &["sensors"], SENSOR),
    family("key", &["keyframe"], KEY),
    family("state", &[], STATE),
];

const fn family(
    name: &'static str,
    aliases: &'static [&'static str],
    attributes: &'static [Attribute],
) -> Family {
    Family {
        name,
        aliases,
        attributes,
    }
}

/// Names of the elements of a family; unnamed ones are called by their index.
pub(super) fn element_names(structure: &Structure, family: &str) -> Vec<String> {
    let names = &structure.names;
    let nothing = Vec::new();
    let (list, count) = match family {
        "option" => (&nothing, 1),
        "body" => (&names.bodies, structure.counts.nbody),
        "joint" => (&names.joints, structure.counts.njoint),
        "geom" => (&names.geoms, structure.counts.ngeom),
        "site" => (&names.sites, structure.counts.nsite),
        "camera" => (&names.cameras, structure.counts.ncamera),
        "mesh" => (&names.meshes, structure.counts.nmesh),
        "hfield" => (&names.height_fields, structure.counts.nheight_field),
        "pair" => (&names.pairs, structure.counts.npair),
        "law" => (&structure.laws.label, structure.counts.nlaw),
        "equality" => (&names.equalities, structure.counts.nequality),
        "tendon" => (&names.tendons, structure.counts.ntendon),
        "actuator" => (&names.actuators, structure.counts.nactuator),
        "sensor" => (&names.sensors, structure.counts.nsensor),
        "key" => (&names.keyframes, structure.counts.nkeyframe),
        _ => (&nothing, 0),
    };
    let name = |id: usize| match list.get(id) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => id.to_string(),
    };
    (0..count).map(name).collect()
}

/// How many components of an attribute an element has: none for all of the field; why not, if there are none at all.
pub(super) fn available(
    model: &Model,
    recipe: &Recipe,
    (family, attribute): (&str, &str),
    element: usize,
) -> Result<Option<usize>, String> {
    match family {
        "body" => body(model, attribute, element),
        "joint" => joint(model, recipe, attribute, element),
        "geom" => geom(model, recipe, attribute, element),
        "mesh" => mesh(model, element),
        "law" => law(model, attribute, element),
        "equality" => equality(model, attribute, element),
        "tendon" => tendon(model, attribute, element),
        "actuator" => actuator(model, recipe, attribute, element),
        "sensor" => sensor(model, attribute, element),
        _ => Ok(None),
    }
}

type Availability = Result<Option<usize>, String>;

fn no(why: impl Into<String>) -> Availability {
    Err(why.into())
}

fn body(model: &Model, attribute: &str, body: usize) -> Availability {
    match attribute {
        _ if body == 0 => no("is the world, which has no numbers"),
        "mass" | "ipos" | "iquat" | "inertia" | "pseudo_inertia"
            if model.bodies.mass[body] == 0.0 =>
        {
            no("has no mass, and bodies without mass cannot be given any by a parameter")
        }
        _ => Ok(None),
    }
}

fn law(model: &Model, attribute: &str, law: usize) -> Availability {
    let numbers = model.structure.laws.kind[law].description().numbers;
    if numbers.iter().any(|number| number.name == attribute) {
        return Ok(None);
    }
    no("is another law, without that number")
}

fn joint(model: &Model, recipe: &Recipe, attribute: &str, joint: usize) -> Availability {
    let kind = model.structure.joints.kind[joint];
    let is_scalar = matches!(kind, JointKind::Slide | JointKind::Hinge);
    let [time, ratio] = recipe.given.sources.spring_damper[joint];
    let has_spring_damper = time > 0.0 && ratio > 0.0;
    match attribute {
        "pos" if kind == JointKind::Free => no("is a free joint, which has no anchor"),
        "pos" if kind == JointKind::Slide => no("slides: its anchor moves nothing"),
        "axis" if !is_scalar => no("is a free or ball joint, which has no axis"),
        "ref" if !is_scalar => no("starts at the pose of its body: select body.pos and body.quat"),
        "springref" if !is_scalar => no("has a spring that rests at the pose of its body"),
        "stiffness" | "damping" if has_spring_damper => {
            no("gives springdamper, from which stiffness and damping follow: select that")
        }
        "frictionloss" if model.dofs.frictionloss[model.structure.joints.dof[joint]] == 0.0 => {
            no(NO_FRICTION)
        }
        "springdamper" if !has_spring_damper => no("does not give springdamper"),
        "range" | "margin" | "solreflimit" | "solimplimit"
            if !model.structure.joints.limited[joint] =>
        {
            no("has no limits")
        }
        "actuatorfrcrange" if !model.structure.joints.actuator_force_limited[joint] => {
            no("does not limit the force of actuators")
        }
        _ => Ok(None),
    }
}

fn geom(model: &Model, recipe: &Recipe, attribute: &str, geom: usize) -> Availability {
    let structure = &model.structure;
    let shape = structure.geoms.shape[geom];
    match attribute {
        "size" => match (structure.geoms.kind[geom], shape) {
            _ if recipe.geoms[geom].fitted => no("is fitted to a mesh, which gives its size"),
            (GeomKind::Plane, _) => no("is a plane, whose size is only drawn"),
            (_, GeomShape::Mesh(_)) => no("is a mesh: select mesh.vertex"),
            (_, GeomShape::HeightField(_)) => no("is a height field: select hfield.size"),
            (GeomKind::Sphere, _) => Ok(Some(1)),
            (GeomKind::Capsule | GeomKind::Cylinder, _) => Ok(Some(2)),
            _ => Ok(None),
        },
        "mass" | "density" => match recipe.geoms[geom].mass {
            MassSource::None if structure.geoms.body[geom] == 0 => {
                no("belongs to the world, which has no mass")
            }
            MassSource::None => no("does not count: the inertia of its body is given otherwise"),
            _ if model.bodies.mass[structure.geoms.body[geom]] == 0.0 => no("has no mass"),
            _ => Ok(None),
        },
        "fluidcoef" if model.geoms.fluid[geom][0] == 0.0 => {
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

fn equality(model: &Model, attribute: &str, equality: usize) -> Availability {
    let equalities = &model.structure.equalities;
    let (kind, sites) = (
        equalities.kind[equality],
        equalities.between_sites[equality],
    );
    let is_coupling = matches!(kind, EqualityKind::Joint | EqualityKind::Tendon);
    match attribute {
        "anchor" | "relpose" | "torquescale" if is_coupling => {
            no("couples joints or tendons: it has polycoef")
        }
        "polycoef" if !is_coupling => no("does not couple joints or tendons"),
        "anchor" | "relpose" if sites => no("is between sites: select site.pos and site.quat"),
        "relpose" | "torquescale" if kind == EqualityKind::Connect => {
            no("ties points together, not frames")
        }
        "relpose" if model.equalities.data[equality][11] != 0.0 => {
            no("takes its pose from the reference configuration: give relpose in the file")
        }
        _ => Ok(None),
    }
}

fn tendon(model: &Model, attribute: &str, tendon: usize) -> Availability {
    let tendons = &model.structure.tendons;
    match attribute {
        "frictionloss" if model.tendons.frictionloss[tendon] == 0.0 => no(NO_FRICTION),
        "range" | "margin" | "solreflimit" | "solimplimit" if !tendons.limited[tendon] => {
            no("has no limits")
        }
        "actuatorfrcrange" if !tendons.actuator_force_limited[tendon] => {
            no("does not limit the force of actuators")
        }
        _ => Ok(None),
    }
}

fn actuator(model: &Model, recipe: &Recipe, attribute: &str, actuator: usize) -> Availability {
    let actuators = &model.structure.actuators;
    let follows = &recipe.actuators[actuator];
    let given = &recipe.given.model.actuators;
    let (gain, bias) = (actuators.gain[actuator], actuators.bias[actuator]);
    let [_, stiffness, damping, ..] = given.bias[actuator];
    let is_servo = gain == GainKind::Fixed
        && bias == BiasKind::Affine
        && given.gain[actuator][0] == -stiffness;
    match attribute {
        "gear" => Ok(Some(match actuators.transmission[actuator] {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
                match model.structure.joints.kind[joint] {
                    JointKind::Free => 6,
                    JointKind::Ball => 3,
                    JointKind::Slide | JointKind::Hinge => 1,
                }
            }
            Transmission::Site { .. } => 6,
            _ => 1,
        })),
        "gainprm" => Ok(Some(match gain {
            GainKind::Fixed => 1,
            GainKind::Affine => 3,
            _ => 9,
        })),
        "biasprm" => match bias {
            BiasKind::None => no("has no bias"),
            BiasKind::Affine if is_servo && damping > 0.0 => {
                no("gives a damping ratio: select kp and dampratio")
            }
            BiasKind::Affine => Ok(Some(3)),
            _ => Ok(Some(9)),
        },
        "dynprm" => match actuators.dynamics[actuator] {
            ActuatorDynamics::None | ActuatorDynamics::Integrator => {
                no("has no dynamics with parameters")
            }
            ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => Ok(Some(1)),
            ActuatorDynamics::Muscle => Ok(Some(3)),
            ActuatorDynamics::User => Ok(None),
        },
        "kp" | "kv" | "dampratio" if !is_servo => no("is not a position servo"),
        "kv" if damping > 0.0 => no("gives a damping ratio: select dampratio"),
        "dampratio" if damping <= 0.0 => no("does not give a damping ratio: select kv"),
        "ctrlrange" if follows.inherits.is_some() && !follows.inherits_activation => {
            no("inherits the range of its joint or tendon: select that")
        }
        "actrange" if follows.inherits.is_some() && follows.inherits_activation => {
            no("inherits the range of its joint or tendon: select that")
        }
        "ctrlrange" if !actuators.control_limited[actuator] => no("does not limit its control"),
        "forcerange" if !actuators.force_limited[actuator] => no("does not limit its force"),
        "actrange" if !actuators.activation_limited[actuator] => {
            no("does not limit its activation")
        }
        "lengthrange" if gain != GainKind::Muscle && bias != BiasKind::Muscle => {
            no("is no muscle: nothing depends on its length range")
        }
        "cranklength"
            if !matches!(
                actuators.transmission[actuator],
                Transmission::SliderCrank { .. }
            ) =>
        {
            no("is no slider-crank")
        }
        "delay" => delay(
            model,
            (actuators.history[actuator], model.actuators.delay[actuator]),
        ),
        _ => Ok(None),
    }
}

fn sensor(model: &Model, attribute: &str, sensor: usize) -> Availability {
    let history = model.structure.sensors.history[sensor];
    match attribute {
        "delay" => delay(model, (history, model.sensors.delay[sensor])),
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
