//! Compiled models under MuJoCo's names, for comparisons and for those who know them so; and models that MuJoCo has
//! compiled ([`adopt`]).
//!
//! ```
//! # let model = carom::load::file("../../models/cube.xml".as_ref(), &[]).unwrap().model;
//! let mass = carom_mujoco::constant("body_mass").unwrap();
//! assert_eq!(mass.get(&model), model.bodies.mass);
//! ```

mod adopt;

pub use adopt::{Numbers, adopt};

use std::ops::Range;

use carom::math::{Components, Mat3, Quat, Vec3};
use carom::model::{
    ActuatorDynamics, BiasKind, ControlLimit, EqualityKind, GainKind, GeomKind, GeomShape,
    JointKind, Model, ObjectKind, Quantity, Sensor, Transmission, Wrap,
};
use carom::quantity::Exchange;
use carom_spec::model_spec::Attachment;

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
    /// Forces of actuators, with their lengths.
    Output,
    Control,
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
    source: Source,
}

/// Where the numbers of an array are.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// As they are.
    Quantity(Quantity),
    /// They follow.
    Computed(fn(&Model) -> Vec<f64>),
}

impl Constant {
    /// The numbers, row-major.
    pub fn get(&self, model: &Model) -> Vec<f64> {
        match self.source {
            Source::Quantity(quantity) => model.numbers(quantity),
            Source::Computed(get) => get(model),
        }
    }
}

/// Everything that can be compared number by number.
pub fn constants() -> impl Iterator<Item = Constant> {
    let same = of_table(|exchange| matches!(exchange, Exchange::Same | Exchange::Compared));
    let is_computed = |name: &str| COMPUTED.iter().any(|computed| computed.name == name);
    let same = same.filter(move |constant| !is_computed(constant.name));
    COMPUTED.iter().copied().chain(same)
}

/// The array of a name.
pub fn constant(name: &str) -> Option<Constant> {
    let frames = of_table(|exchange| exchange == Exchange::Frame);
    constants()
        .chain(frames)
        .find(|constant| constant.name == name)
}

/// Quantities whose array in MuJoCo is taken over, with its name.
pub fn adopted() -> impl Iterator<Item = (Quantity, &'static str)> {
    let is_adopted = |exchange| {
        matches!(
            exchange,
            Exchange::Same | Exchange::Frame | Exchange::Adopted
        )
    };
    Quantity::ALL.iter().filter_map(move |&quantity| {
        let (name, exchange) = quantity.row().mujoco?;
        is_adopted(exchange).then_some((quantity, name))
    })
}

/// Arrays that are quantities of ours.
fn of_table(chosen: fn(Exchange) -> bool) -> impl Iterator<Item = Constant> {
    Quantity::ALL.iter().filter_map(move |&quantity| {
        let (name, exchange) = quantity.row().mujoco?;
        chosen(exchange).then_some(Constant {
            name,
            family: rows_of(quantity.family()),
            source: Source::Quantity(quantity),
        })
    })
}

/// What the elements of a family of numbers are.
fn rows_of(family: carom::quantity::Family) -> Family {
    use carom::quantity::Family as Of;
    match family {
        Of::Option
        | Of::Laws
        | Of::ContactPoints
        | Of::JointLaws
        | Of::Learned
        | Of::Strikes
        | Of::Cameras
        | Of::Sources => Family::Model,
        Of::Qpos => Family::Qpos,
        Of::Bodies => Family::Body,
        Of::Joints => Family::Joint,
        Of::Dofs => Family::Dof,
        Of::Geoms => Family::Geom,
        Of::Sites => Family::Site,
        Of::Meshes => Family::Mesh,
        Of::HeightFields => Family::HeightField,
        Of::Pairs => Family::Pair,
        Of::Equalities => Family::Equality,
        Of::Tendons => Family::Tendon,
        Of::Wraps => Family::Wrap,
        Of::Actuators => Family::Actuator,
        Of::Sensors => Family::Sensor,
        Of::Keyframes => Family::Keyframe,
    }
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
        Transmission::BallOrientation(joint) => (6, joint, None),
        Transmission::SiteOrientation { site, reference } => (6, site, Some(reference)),
    };
    [code(kind), optional(Some(first)), optional(second)]
}

/// MuJoCo's code of a kind of object that sensors are attached to.
fn object_code(kind: ObjectKind) -> i32 {
    match kind {
        ObjectKind::BodyInertial => 1,
        ObjectKind::Body => 2,
        ObjectKind::Joint => 3,
        ObjectKind::Geom => 5,
        ObjectKind::Site => 6,
        ObjectKind::Camera => 7,
        ObjectKind::Tendon => 18,
        ObjectKind::Actuator => 19,
        _ => 0,
    }
}

/// Type, object and reference codes of a sensor; none for kinds that MuJoCo lacks, that have no object, or whose operands
/// are richer than MuJoCo's pair of ids.
fn sensor_codes(sensor: &Sensor) -> Option<[f64; 5]> {
    let row = sensor.kind.row();
    if matches!(row.attachment, Attachment::Contacts | Attachment::Anything) {
        return None;
    }
    let (object, reference) = (sensor.object?, sensor.reference);
    Some([
        code(row.code?),
        code(object_code(object.kind)),
        optional(Some(object.id)),
        code(reference.map_or(0, |object| object_code(object.kind))),
        optional(reference.map(|object| object.id)),
    ])
}

fn sensor_column(model: &Model, column: usize) -> Vec<f64> {
    let sensors = &model.structure.sensors.list;
    sensors
        .iter()
        .map(|sensor| sensor_codes(sensor).map_or(f64::NAN, |codes| codes[column]))
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
            for &dof in actuators.moment.columns(actuators.outputs[actuator].start) {
                own[dof] -= added * gear * gear;
            }
        }
    }
    own
}

/// The range of a control, whether or not it limits it.
fn given_range(model: &Model, control: usize) -> [f64; 2] {
    let actuators = &model.structure.actuators;
    let owner = actuators.control_owner[control];
    let ranges = match actuators.control_role(control) {
        ControlLimit::Control => &model.actuators.control_range,
        ControlLimit::Velocity => &model.actuators.velocity_range,
        ControlLimit::Feedforward => &model.actuators.feedforward_range,
    };
    ranges[owner]
}

/// Numbers of actuators, again for each of their forces.
fn by_output<const N: usize>(model: &Model, numbers: &[[f64; N]]) -> Vec<f64> {
    let outputs = model.structure.actuators.outputs.iter().zip(numbers);
    let rows = outputs.flat_map(|(outputs, row)| outputs.clone().map(move |_| *row));
    rows.flatten().collect()
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

macro_rules! computed {
    ($( $name:literal $family:ident $get:expr; )*) => {
        &[ $( Constant { name: $name, family: Family::$family, source: Source::Computed($get) }, )* ]
    };
}

/// Arrays that are discrete with us, or kept another way.
const COMPUTED: &[Constant] = computed! {
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
    "jnt_type" Joint |m| gather(&m.structure.joints.kind, |&kind| joint_code(kind));
    "jnt_qposadr" Joint |m| ids(m.structure.joints.qpos.iter().copied());
    "jnt_dofadr" Joint |m| ids(m.structure.joints.dof.iter().copied());
    "jnt_bodyid" Joint |m| ids(m.structure.joints.body.iter().copied());
    "jnt_limited" Joint |m| flags(&m.structure.joints.limited);
    "jnt_actfrclimited" Joint |m| flags(&m.structure.joints.actuator_force_limited);
    "dof_bodyid" Dof |m| ids(m.structure.dofs.body.iter().copied());
    "dof_jntid" Dof |m| ids(m.structure.dofs.joint.iter().copied());
    "dof_parentid" Dof |m| gather(&m.structure.dofs.parent, |&id| optional(id));
    "dof_armature" Dof |m| own_dofs(m, &m.dofs.armature, &m.actuators.armature);
    "dof_damping" Dof |m| own_dofs(m, &m.dofs.damping, &m.actuators.damping);
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
    "site_type" Site |m| gather(&m.structure.sites.kind, |&kind| geom_code(kind));
    "site_bodyid" Site |m| ids(m.structure.sites.body.iter().copied());
    "mesh_vertnum" Mesh |m| ids(m.structure.meshes.vertices.iter().map(ExactSizeIterator::len));
    "mesh_facenum" Mesh |m| ids(m.structure.meshes.faces.iter().map(ExactSizeIterator::len));
    "hfield_nrow" HeightField |m| ids(m.structure.height_fields.size.iter().map(|size| size[0]));
    "hfield_ncol" HeightField |m| ids(m.structure.height_fields.size.iter().map(|size| size[1]));
    "pair_dim" Pair |m| gather(&m.structure.pairs.condim, |&dim| f64::from(dim));
    "pair_geom1" Pair |m| ids(m.structure.pairs.geom1.iter().copied());
    "pair_geom2" Pair |m| ids(m.structure.pairs.geom2.iter().copied());
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
    "tendon_adr" Tendon |m| ids(m.structure.tendons.wraps.iter().map(|path| path.start));
    "tendon_num" Tendon |m| ids(m.structure.tendons.wraps.iter().map(ExactSizeIterator::len));
    "tendon_limited" Tendon |m| flags(&m.structure.tendons.limited);
    "tendon_damping" Tendon |m| own_tendons(m, &m.tendons.damping, &m.actuators.damping);
    "tendon_armature" Tendon |m| own_tendons(m, &m.tendons.armature, &m.actuators.armature);
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
            ActuatorDynamics::DcMotor => 5,
            ActuatorDynamics::Pid => 6,
            ActuatorDynamics::User => 7,
        })
    });
    "actuator_gaintype" Actuator |m| gather(&m.structure.actuators.gain, |&kind| code(match kind {
        GainKind::Fixed => 0,
        GainKind::Affine => 1,
        GainKind::Muscle => 2,
        GainKind::DcMotor => 3,
        GainKind::So3 => 4,
        GainKind::Pid => 5,
        GainKind::User => 6,
    }));
    "actuator_biastype" Actuator |m| gather(&m.structure.actuators.bias, |&kind| code(match kind {
        BiasKind::None => 0,
        BiasKind::Affine => 1,
        BiasKind::Muscle => 2,
        BiasKind::DcMotor => 3,
        BiasKind::So3 => 4,
        BiasKind::User => 5,
    }));
    "actuator_actadr" Actuator |m| gather(&m.structure.actuators.activations, first);
    "actuator_actnum" Actuator |m| {
        ids(m.structure.actuators.activations.iter().map(ExactSizeIterator::len))
    };
    "actuator_ctrllimited" Control |m| {
        let limited = |control| m.structure.actuators.control_limit(control).is_some();
        (0..m.counts().nu).map(|control| code(i32::from(limited(control)))).collect()
    };
    "actuator_ctrlrange" Control |m| (0..m.counts().nu).flat_map(|control| given_range(m, control)).collect();
    "actuator_gear" Output |m| by_output(m, &m.actuators.gear);
    "actuator_acc0" Output |m| m.actuators.acceleration_reference.clone();
    "actuator_length0" Output |m| m.actuators.length_reference.clone();
    "actuator_lengthrange" Output |m| by_output(m, &m.actuators.length_range);
    "actuator_forcelimited" Actuator |m| flags(&m.structure.actuators.force_limited);
    "actuator_actlimited" Actuator |m| flags(&m.structure.actuators.activation_limited);
    "actuator_actearly" Actuator |m| flags(&m.structure.actuators.activation_early);
    "sensor_type" Sensor |m| sensor_column(m, 0);
    "sensor_objtype" Sensor |m| sensor_column(m, 1);
    "sensor_objid" Sensor |m| sensor_column(m, 2);
    "sensor_reftype" Sensor |m| sensor_column(m, 3);
    "sensor_refid" Sensor |m| sensor_column(m, 4);
    "sensor_dim" Sensor |m| ids(m.structure.sensors.dimension.iter().copied());
    "sensor_adr" Sensor |m| ids(m.structure.sensors.address.iter().copied());
};
