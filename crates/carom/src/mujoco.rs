//! The compiled model under MuJoCo's names: for comparisons, and for those who know it so.
//!
//! ```
//! # let model = carom::load::file("../../models/cube.xml".as_ref(), &[]).unwrap().model;
//! let mass = carom::mujoco::constant("body_mass").unwrap();
//! assert_eq!((mass.get)(&model), model.bodies.mass);
//! ```

mod adopt;

pub use adopt::Numbers;

use std::ops::Range;

use crate::math::{Components, Mat3, Quat, Vec3};
use crate::model::{
    ActuatorDynamics, BiasKind, EqualityKind, FrameObject, GainKind, GeomKind, GeomShape,
    JointKind, Model, SensorGeoms, SensorKind, Transmission, Wrap,
};

/// What the rows of an array belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "families of model elements")]
pub enum Family {
    Model,
    Qpos,
    Body,
    Joint,
    Dof,
    Geom,
    Site,
    Mesh,
    HeightField,
    Pair,
    Exclude,
    Equality,
    Tendon,
    Wrap,
    Actuator,
    Activation,
    Sensor,
    SensorValue,
    Keyframe,
    Row,
}

/// An array of MuJoCo's model, and how it follows from a carom model.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// MuJoCo's name.
    pub name: &'static str,
    /// What its rows are.
    pub family: Family,
    /// The numbers, row-major.
    pub get: fn(&Model) -> Vec<f64>,
}

/// The array of a name.
pub fn constant(name: &str) -> Option<&'static Constant> {
    let all = CONSTANTS.iter().chain(FRAMES);
    all.into_iter().find(|constant| constant.name == name)
}

/// All components of all elements.
pub fn flat<C: Components<f64>>(elements: &[C]) -> Vec<f64> {
    elements
        .iter()
        .flat_map(|element| element.as_slice().iter().copied())
        .collect()
}

fn ids(values: impl IntoIterator<Item = usize>) -> Vec<f64> {
    values.into_iter().map(|value| value as f64).collect()
}

fn optional(value: Option<usize>) -> f64 {
    value.map_or(-1.0, |value| value as f64)
}

/// Where the elements of something begin; none if there are none.
fn first(range: &Range<usize>) -> f64 {
    optional((!range.is_empty()).then_some(range.start))
}

fn flags(values: &[bool]) -> Vec<f64> {
    values
        .iter()
        .map(|&value| f64::from(u8::from(value)))
        .collect()
}

fn code(value: i32) -> f64 {
    f64::from(value)
}

fn joint_code(kind: JointKind) -> f64 {
    code(match kind {
        JointKind::Free => 0,
        JointKind::Ball => 1,
        JointKind::Slide => 2,
        JointKind::Hinge => 3,
    })
}

fn geom_code(kind: GeomKind) -> f64 {
    code(match kind {
        GeomKind::Plane => 0,
        GeomKind::HeightField => 1,
        GeomKind::Sphere => 2,
        GeomKind::Capsule => 3,
        GeomKind::Ellipsoid => 4,
        GeomKind::Cylinder => 5,
        GeomKind::Box => 6,
        GeomKind::Mesh => 7,
    })
}

fn wrap_code(wrap: &Wrap) -> [f64; 2] {
    let (kind, object) = match *wrap {
        Wrap::Joint(joint) => (1, Some(joint)),
        Wrap::Pulley => (2, None),
        Wrap::Site(site) => (3, Some(site)),
        Wrap::Sphere { geom, .. } => (4, Some(geom)),
        Wrap::Cylinder { geom, .. } => (5, Some(geom)),
    };
    [code(kind), optional(object)]
}

fn wrap_parameter(model: &Model) -> Vec<f64> {
    let path = model
        .structure
        .tendons
        .path
        .iter()
        .zip(&model.wraps.coefficient);
    path.map(|(wrap, &coefficient)| match *wrap {
        Wrap::Sphere { side, .. } | Wrap::Cylinder { side, .. } => optional(side),
        _ => coefficient,
    })
    .collect()
}

fn transmission_codes(transmission: Transmission) -> [f64; 3] {
    let (kind, first, second) = match transmission {
        Transmission::Joint(joint) => (0, joint, None),
        Transmission::JointInParent(joint) => (1, joint, None),
        Transmission::SliderCrank { crank, slider } => (2, crank, Some(slider)),
        Transmission::Tendon(tendon) => (3, tendon, None),
        Transmission::Site { site, reference } => (4, site, reference),
        Transmission::Body(body) => (5, body, None),
    };
    [code(kind), optional(Some(first)), optional(second)]
}

/// MuJoCo's object codes: body 1 (inertial), xbody 2, joint 3, geom 5, site 6, camera 7, tendon 18, actuator 19.
fn frame_codes(object: FrameObject) -> (i32, usize) {
    match object {
        FrameObject::Inertial(body) => (1, body),
        FrameObject::Body(body) => (2, body),
        FrameObject::Geom(geom) => (5, geom),
        FrameObject::Site(site) => (6, site),
        FrameObject::Camera(camera) => (7, camera),
    }
}

fn geoms_codes(geoms: SensorGeoms) -> (i32, usize) {
    match geoms {
        SensorGeoms::Geom(geom) => (5, geom),
        SensorGeoms::Body(body) => (1, body),
    }
}

/// Type, object and reference codes of a sensor; none for kinds whose operands are richer than MuJoCo's pair of ids.
fn sensor_codes(kind: SensorKind) -> Option<[f64; 5]> {
    use SensorKind as S;
    const SITE: i32 = 6;
    const JOINT: i32 = 3;
    const TENDON: i32 = 18;
    const ACTUATOR: i32 = 19;
    let frame = |sensor: i32, object, reference: Option<FrameObject>| {
        (sensor, frame_codes(object), reference.map(frame_codes))
    };
    let (sensor, object, reference) = match kind {
        S::Touch { site } => (0, (SITE, site), None),
        S::Accelerometer { site } => (1, (SITE, site), None),
        S::Velocimeter { site } => (2, (SITE, site), None),
        S::Gyro { site } => (3, (SITE, site), None),
        S::Force { site } => (4, (SITE, site), None),
        S::Torque { site } => (5, (SITE, site), None),
        S::Magnetometer { site } => (6, (SITE, site), None),
        S::Rangefinder { object, .. } => frame(7, object, None),
        S::CameraProjection { site, camera } => (8, (SITE, site), Some((7, camera))),
        S::JointPosition { joint } => (9, (JOINT, joint), None),
        S::JointVelocity { joint } => (10, (JOINT, joint), None),
        S::TendonPosition { tendon } => (11, (TENDON, tendon), None),
        S::TendonVelocity { tendon } => (12, (TENDON, tendon), None),
        S::ActuatorPosition { actuator } => (13, (ACTUATOR, actuator), None),
        S::ActuatorVelocity { actuator } => (14, (ACTUATOR, actuator), None),
        S::ActuatorForce { actuator } => (15, (ACTUATOR, actuator), None),
        S::JointActuatorForce { joint } => (16, (JOINT, joint), None),
        S::TendonActuatorForce { tendon } => (17, (TENDON, tendon), None),
        S::BallQuaternion { joint } => (18, (JOINT, joint), None),
        S::BallAngularVelocity { joint } => (19, (JOINT, joint), None),
        S::JointLimitPosition { joint } => (20, (JOINT, joint), None),
        S::JointLimitVelocity { joint } => (21, (JOINT, joint), None),
        S::JointLimitForce { joint } => (22, (JOINT, joint), None),
        S::TendonLimitPosition { tendon } => (23, (TENDON, tendon), None),
        S::TendonLimitVelocity { tendon } => (24, (TENDON, tendon), None),
        S::TendonLimitForce { tendon } => (25, (TENDON, tendon), None),
        S::FramePosition { object, reference } => frame(26, object, reference),
        S::FrameQuaternion { object, reference } => frame(27, object, reference),
        S::FrameAxis {
            object,
            reference,
            axis,
        } => frame(28 + i32::from(axis), object, reference),
        S::FrameLinearVelocity { object, reference } => frame(31, object, reference),
        S::FrameAngularVelocity { object, reference } => frame(32, object, reference),
        S::FrameLinearAcceleration { object } => frame(33, object, None),
        S::FrameAngularAcceleration { object } => frame(34, object, None),
        S::SubtreeCenterOfMass { body } => (35, (1, body), None),
        S::SubtreeLinearVelocity { body } => (36, (1, body), None),
        S::SubtreeAngularMomentum { body } => (37, (1, body), None),
        S::InsideSite { object, site, .. } => frame(38, object, Some(FrameObject::Site(site))),
        S::GeomDistance { first, second } => (39, geoms_codes(first), Some(geoms_codes(second))),
        S::GeomNormal { first, second } => (40, geoms_codes(first), Some(geoms_codes(second))),
        S::GeomFromTo { first, second } => (41, geoms_codes(first), Some(geoms_codes(second))),
        S::Contact(_) | S::PotentialEnergy | S::KineticEnergy | S::Clock | S::User { .. } => {
            return None;
        }
    };
    let (reference_kind, reference_id) = reference.map_or((0, None), |(kind, id)| (kind, Some(id)));
    Some([
        code(sensor),
        code(object.0),
        optional(Some(object.1)),
        code(reference_kind),
        optional(reference_id),
    ])
}

fn sensor_column(model: &Model, column: usize) -> Vec<f64> {
    let kinds = &model.structure.sensors.kind;
    kinds
        .iter()
        .map(|&kind| sensor_codes(kind).map_or(f64::NAN, |codes| codes[column]))
        .collect()
}

fn gather<A, B>(items: &[A], f: impl Fn(&A) -> B) -> Vec<B> {
    items.iter().map(f).collect()
}

/// Inertia tensors in the body frame: independent of the order and sign of principal axes.
pub fn body_inertia_tensors(model: &Model) -> Vec<f64> {
    let bodies = model.bodies.inertial_quat.iter().zip(&model.bodies.inertia);
    bodies
        .flat_map(|(quat, inertia)| inertia_tensor(&quat.to_mat3(), inertia))
        .collect()
}

/// R·diag(I)·Rᵀ.
pub fn inertia_tensor(rotation: &Mat3, inertia: &Vec3) -> [f64; 9] {
    rotation
        .mul(&Mat3::from_diagonal(*inertia))
        .mul(&rotation.transpose())
        .0
}

/// Orientation of each geom, for meshes without the rotation into the mesh's principal axes (these are only
/// defined up to sign and order).
pub fn geom_orientations(model: &Model) -> Vec<f64> {
    let geoms = model.geoms.quat.iter().zip(&model.structure.geoms.shape);
    geoms
        .flat_map(|(quat, shape)| match *shape {
            GeomShape::Mesh(mesh) => geom_orientation(*quat, Some(model.meshes.quat[mesh])),
            _ => geom_orientation(*quat, None),
        })
        .collect()
}

/// Rotation matrix of a geom with the mesh's own rotation undone.
pub fn geom_orientation(quat: Quat, mesh: Option<Quat>) -> [f64; 9] {
    mesh.map_or(quat, |mesh| quat.mul(mesh.conjugate()))
        .to_mat3()
        .0
}

/// Numbers of dofs without what actuators add to them through their gear; MuJoCo keeps the two apart.
fn own_dofs(model: &Model, total: &[f64], of_actuators: &[f64]) -> Vec<f64> {
    let mut own = total.to_vec();
    let actuators = &model.structure.actuators;
    for (actuator, added) in of_actuators.iter().enumerate() {
        let gear = model.actuators.gear[actuator][0];
        if let Transmission::Joint(_) | Transmission::JointInParent(_) =
            actuators.transmission[actuator]
        {
            for &dof in actuators.moment.columns(actuator) {
                own[dof] -= added * gear * gear;
            }
        }
    }
    own
}

/// As [`own_dofs`], for tendons.
fn own_tendons(model: &Model, total: &[f64], of_actuators: &[f64]) -> Vec<f64> {
    let mut own = total.to_vec();
    for (actuator, added) in of_actuators.iter().enumerate() {
        let gear = model.actuators.gear[actuator][0];
        if let Transmission::Tendon(tendon) = model.structure.actuators.transmission[actuator] {
            own[tendon] -= added * gear * gear;
        }
    }
    own
}

macro_rules! constants {
    ($( $name:literal $family:ident $get:expr; )*) => {
        &[ $( Constant { name: $name, family: Family::$family, get: $get }, )* ]
    };
}

/// What is not unique (signs of quaternions, order of principal axes): the same thing in MuJoCo may have other numbers.
pub const FRAMES: &[Constant] = constants! {
    "body_iquat" Body |m| flat(&m.bodies.inertial_quat);
    "body_inertia" Body |m| flat(&m.bodies.inertia);
    "geom_quat" Geom |m| flat(&m.geoms.quat);
    "mesh_quat" Mesh |m| flat(&m.meshes.quat);
};

/// Everything that can be compared number by number.
pub const CONSTANTS: &[Constant] = constants! {
    "qpos0" Qpos |m| m.qpos.reference.clone();
    "qpos_spring" Qpos |m| m.qpos.spring.clone();
    "body_parentid" Body |m| ids(m.structure.bodies.parent.iter().copied());
    "body_rootid" Body |m| ids(m.structure.bodies.root.iter().copied());
    "body_weldid" Body |m| ids(m.structure.bodies.weld.iter().copied());
    "body_mocapid" Body |m| gather(&m.structure.bodies.mocap, |&id| optional(id));
    "body_jntnum" Body |m| ids(m.structure.bodies.joints.iter().map(ExactSizeIterator::len));
    "body_dofnum" Body |m| ids(m.structure.bodies.dofs.iter().map(ExactSizeIterator::len));
    "body_jntadr" Body |m| gather(&m.structure.bodies.joints, first);
    "body_dofadr" Body |m| gather(&m.structure.bodies.dofs, first);
    "body_geomadr" Body |m| gather(&m.structure.bodies.geoms, first);
    "body_geomnum" Body |m| ids(m.structure.bodies.geoms.iter().map(ExactSizeIterator::len));
    "body_pos" Body |m| flat(&m.bodies.position);
    "body_quat" Body |m| flat(&m.bodies.quat);
    "body_ipos" Body |m| flat(&m.bodies.inertial_position);
    "body_mass" Body |m| m.bodies.mass.clone();
    "body_subtreemass" Body |m| m.bodies.subtree_mass.clone();
    "body_invweight0" Body |m| flat(&m.bodies.inverse_weight);
    "body_gravcomp" Body |m| m.bodies.gravcomp.clone();
    "jnt_type" Joint |m| gather(&m.structure.joints.kind, |&kind| joint_code(kind));
    "jnt_qposadr" Joint |m| ids(m.structure.joints.qpos.iter().copied());
    "jnt_dofadr" Joint |m| ids(m.structure.joints.dof.iter().copied());
    "jnt_bodyid" Joint |m| ids(m.structure.joints.body.iter().copied());
    "jnt_pos" Joint |m| flat(&m.joints.position);
    "jnt_axis" Joint |m| flat(&m.joints.axis);
    "jnt_stiffness" Joint |m| m.joints.stiffness.clone();
    "jnt_range" Joint |m| flat(&m.joints.range);
    "jnt_limited" Joint |m| flags(&m.structure.joints.limited);
    "jnt_margin" Joint |m| m.joints.margin.clone();
    "jnt_solref" Joint |m| flat(&m.joints.solref);
    "jnt_solimp" Joint |m| flat(&m.joints.solimp);
    "jnt_actfrclimited" Joint |m| flags(&m.structure.joints.actuator_force_limited);
    "jnt_actfrcrange" Joint |m| flat(&m.joints.actuator_force_range);
    "dof_bodyid" Dof |m| ids(m.structure.dofs.body.iter().copied());
    "dof_jntid" Dof |m| ids(m.structure.dofs.joint.iter().copied());
    "dof_parentid" Dof |m| gather(&m.structure.dofs.parent, |&id| optional(id));
    "dof_frictionloss" Dof |m| m.dofs.frictionloss.clone();
    "dof_armature" Dof |m| own_dofs(m, &m.dofs.armature, &m.actuators.armature);
    "dof_damping" Dof |m| own_dofs(m, &m.dofs.damping, &m.actuators.damping);
    "dof_invweight0" Dof |m| m.dofs.inverse_weight.clone();
    "dof_M0" Dof |m| m.dofs.inertia_reference.clone();
    "dof_solref" Dof |m| flat(&m.dofs.solref);
    "dof_solimp" Dof |m| flat(&m.dofs.solimp);
    "geom_type" Geom |m| {
        let geoms = m.structure.geoms.kind.iter().zip(&m.structure.geoms.signed_distance);
        geoms.map(|(&kind, &sdf)| if sdf { 8.0 } else { geom_code(kind) }).collect()
    };
    "geom_contype" Geom |m| gather(&m.structure.geoms.contype, |&bits| f64::from(bits));
    "geom_conaffinity" Geom |m| gather(&m.structure.geoms.conaffinity, |&bits| f64::from(bits));
    "geom_condim" Geom |m| gather(&m.structure.geoms.condim, |&dim| f64::from(dim));
    "geom_bodyid" Geom |m| ids(m.structure.geoms.body.iter().copied());
    "geom_dataid" Geom |m| gather(&m.structure.geoms.shape, |&shape| match shape {
        GeomShape::Primitive => -1.0,
        GeomShape::Mesh(id) | GeomShape::HeightField(id) => optional(Some(id)),
    });
    "geom_priority" Geom |m| gather(&m.structure.geoms.priority, |&priority| code(priority));
    "geom_solmix" Geom |m| m.geoms.solmix.clone();
    "geom_solref" Geom |m| flat(&m.geoms.solref);
    "geom_solimp" Geom |m| flat(&m.geoms.solimp);
    "geom_size" Geom |m| flat(&m.geoms.size);
    "geom_rbound" Geom |m| m.geoms.bounding_radius.clone();
    "geom_pos" Geom |m| flat(&m.geoms.position);
    "geom_friction" Geom |m| flat(&m.geoms.friction);
    "geom_margin" Geom |m| m.geoms.margin.clone();
    "geom_gap" Geom |m| m.geoms.gap.clone();
    "geom_surfacevel" Geom |m| flat(&m.geoms.surface_velocity);
    "geom_adhesion" Geom |m| m.geoms.adhesion.clone();
    "geom_fluid" Geom |m| flat(&m.geoms.fluid);
    "site_type" Site |m| gather(&m.structure.sites.kind, |&kind| geom_code(kind));
    "site_bodyid" Site |m| ids(m.structure.sites.body.iter().copied());
    "site_size" Site |m| flat(&m.sites.size);
    "site_pos" Site |m| flat(&m.sites.position);
    "site_quat" Site |m| flat(&m.sites.quat);
    "mesh_vertnum" Mesh |m| ids(m.structure.meshes.vertices.iter().map(ExactSizeIterator::len));
    "mesh_facenum" Mesh |m| ids(m.structure.meshes.faces.iter().map(ExactSizeIterator::len));
    "mesh_pos" Mesh |m| flat(&m.meshes.position);
    "mesh_scale" Mesh |m| flat(&m.meshes.scale);
    "hfield_size" HeightField |m| flat(&m.height_fields.size);
    "hfield_nrow" HeightField |m| ids(m.structure.height_fields.size.iter().map(|size| size[0]));
    "hfield_ncol" HeightField |m| ids(m.structure.height_fields.size.iter().map(|size| size[1]));
    "pair_dim" Pair |m| gather(&m.structure.pairs.condim, |&dim| f64::from(dim));
    "pair_geom1" Pair |m| ids(m.structure.pairs.geom1.iter().copied());
    "pair_geom2" Pair |m| ids(m.structure.pairs.geom2.iter().copied());
    "pair_solref" Pair |m| flat(&m.pairs.solref);
    "pair_solreffriction" Pair |m| flat(&m.pairs.solreffriction);
    "pair_solimp" Pair |m| flat(&m.pairs.solimp);
    "pair_margin" Pair |m| m.pairs.margin.clone();
    "pair_gap" Pair |m| m.pairs.gap.clone();
    "pair_adhesion" Pair |m| m.pairs.adhesion.clone();
    "pair_friction" Pair |m| flat(&m.pairs.friction);
    "exclude_signature" Exclude |m| gather(&m.structure.filter.exclude_signature, |&s| s as f64);
    "eq_type" Equality |m| gather(&m.structure.equalities.kind, |&kind| code(match kind {
        EqualityKind::Connect => 0,
        EqualityKind::Weld => 1,
        EqualityKind::Joint => 2,
        EqualityKind::Tendon => 3,
    }));
    "eq_obj1id" Equality |m| ids(m.structure.equalities.object1.iter().copied());
    "eq_obj2id" Equality |m| gather(&m.structure.equalities.object2, |&id| optional(id));
    "eq_active0" Equality |m| flags(&m.structure.equalities.active);
    "eq_solref" Equality |m| flat(&m.equalities.solref);
    "eq_solimp" Equality |m| flat(&m.equalities.solimp);
    "eq_data" Equality |m| flat(&m.equalities.data);
    "tendon_adr" Tendon |m| ids(m.structure.tendons.wraps.iter().map(|path| path.start));
    "tendon_num" Tendon |m| ids(m.structure.tendons.wraps.iter().map(ExactSizeIterator::len));
    "tendon_limited" Tendon |m| flags(&m.structure.tendons.limited);
    "tendon_range" Tendon |m| flat(&m.tendons.range);
    "tendon_margin" Tendon |m| m.tendons.margin.clone();
    "tendon_stiffness" Tendon |m| m.tendons.stiffness.clone();
    "tendon_damping" Tendon |m| own_tendons(m, &m.tendons.damping, &m.actuators.damping);
    "tendon_armature" Tendon |m| own_tendons(m, &m.tendons.armature, &m.actuators.armature);
    "tendon_frictionloss" Tendon |m| m.tendons.frictionloss.clone();
    "tendon_lengthspring" Tendon |m| flat(&m.tendons.spring_length);
    "tendon_length0" Tendon |m| m.tendons.length_reference.clone();
    "tendon_invweight0" Tendon |m| m.tendons.inverse_weight.clone();
    "tendon_solref_lim" Tendon |m| flat(&m.tendons.solref_limit);
    "tendon_solimp_lim" Tendon |m| flat(&m.tendons.solimp_limit);
    "tendon_solref_fri" Tendon |m| flat(&m.tendons.solref_friction);
    "tendon_solimp_fri" Tendon |m| flat(&m.tendons.solimp_friction);
    "wrap_type" Wrap |m| gather(&m.structure.tendons.path, |wrap| wrap_code(wrap)[0]);
    "wrap_objid" Wrap |m| gather(&m.structure.tendons.path, |wrap| wrap_code(wrap)[1]);
    "wrap_prm" Wrap wrap_parameter;
    "actuator_trntype" Actuator |m| {
        gather(&m.structure.actuators.transmission, |&t| transmission_codes(t)[0])
    };
    "actuator_trnid" Actuator |m| {
        let transmissions = m.structure.actuators.transmission.iter();
        transmissions.flat_map(|&t| [transmission_codes(t)[1], transmission_codes(t)[2]]).collect()
    };
    "actuator_dyntype" Actuator |m| gather(&m.structure.actuators.dynamics, |&kind| {
        code(match kind {
            ActuatorDynamics::None => 0,
            ActuatorDynamics::Integrator => 1,
            ActuatorDynamics::Filter => 2,
            ActuatorDynamics::FilterExact => 3,
            ActuatorDynamics::Muscle => 4,
            ActuatorDynamics::User => 7,
        })
    });
    "actuator_gaintype" Actuator |m| gather(&m.structure.actuators.gain, |&kind| code(match kind {
        GainKind::Fixed => 0,
        GainKind::Affine => 1,
        GainKind::Muscle => 2,
        GainKind::User => 6,
    }));
    "actuator_biastype" Actuator |m| gather(&m.structure.actuators.bias, |&kind| code(match kind {
        BiasKind::None => 0,
        BiasKind::Affine => 1,
        BiasKind::Muscle => 2,
        BiasKind::User => 5,
    }));
    "actuator_actadr" Actuator |m| gather(&m.structure.actuators.activations, first);
    "actuator_actnum" Actuator |m| {
        ids(m.structure.actuators.activations.iter().map(ExactSizeIterator::len))
    };
    "actuator_ctrllimited" Actuator |m| flags(&m.structure.actuators.control_limited);
    "actuator_forcelimited" Actuator |m| flags(&m.structure.actuators.force_limited);
    "actuator_actlimited" Actuator |m| flags(&m.structure.actuators.activation_limited);
    "actuator_actearly" Actuator |m| flags(&m.structure.actuators.activation_early);
    "actuator_dynprm" Actuator |m| flat(&m.actuators.dynamics);
    "actuator_gainprm" Actuator |m| flat(&m.actuators.gain);
    "actuator_biasprm" Actuator |m| flat(&m.actuators.bias);
    "actuator_ctrlrange" Actuator |m| flat(&m.actuators.control_range);
    "actuator_forcerange" Actuator |m| flat(&m.actuators.force_range);
    "actuator_actrange" Actuator |m| flat(&m.actuators.activation_range);
    "actuator_gear" Actuator |m| flat(&m.actuators.gear);
    "actuator_cranklength" Actuator |m| m.actuators.crank_length.clone();
    "actuator_acc0" Actuator |m| m.actuators.acceleration_reference.clone();
    "actuator_length0" Actuator |m| m.actuators.length_reference.clone();
    "actuator_lengthrange" Actuator |m| flat(&m.actuators.length_range);
    "sensor_type" Sensor |m| sensor_column(m, 0);
    "sensor_objtype" Sensor |m| sensor_column(m, 1);
    "sensor_objid" Sensor |m| sensor_column(m, 2);
    "sensor_reftype" Sensor |m| sensor_column(m, 3);
    "sensor_refid" Sensor |m| sensor_column(m, 4);
    "sensor_dim" Sensor |m| ids(m.structure.sensors.dimension.iter().copied());
    "sensor_adr" Sensor |m| ids(m.structure.sensors.address.iter().copied());
    "sensor_cutoff" Sensor |m| m.sensors.cutoff.clone();
    "key_time" Keyframe |m| m.keyframes.time.clone();
    "key_qpos" Keyframe |m| m.keyframes.qpos.clone();
    "key_qvel" Keyframe |m| m.keyframes.qvel.clone();
    "key_act" Keyframe |m| m.keyframes.act.clone();
    "key_ctrl" Keyframe |m| m.keyframes.ctrl.clone();
    "key_mpos" Keyframe |m| flat(&m.keyframes.mocap_position);
    "key_mquat" Keyframe |m| flat(&m.keyframes.mocap_quat);
};
