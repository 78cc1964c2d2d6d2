//! Sensors.

use super::actuator::history;
use super::tag::{Output, Tag};
use crate::model_spec::{
    ContactFields, ContactReport, ModelSpec, ObjectKind, ObjectReference, RayFields, SensorKind,
    SensorSpec, SensorStage,
};

pub(super) fn write(out: &mut Output, spec: &ModelSpec) {
    for sensor in &spec.sensors {
        let tag = objects(
            Tag::new(tag_name(sensor.kind)).text("name", &sensor.name),
            sensor,
        );
        let tag = tag
            .number_unless("cutoff", sensor.cutoff, 0.0)
            .number_unless("noise", sensor.noise, 0.0);
        out.empty(&history(tag, &sensor.history).numbers("user", &sensor.user));
    }
}

fn tag_name(kind: SensorKind) -> &'static str {
    match kind {
        SensorKind::Touch => "touch",
        SensorKind::Accelerometer => "accelerometer",
        SensorKind::Velocimeter => "velocimeter",
        SensorKind::Gyro => "gyro",
        SensorKind::Force => "force",
        SensorKind::Torque => "torque",
        SensorKind::Magnetometer => "magnetometer",
        SensorKind::Rangefinder(_) => "rangefinder",
        SensorKind::CameraProjection => "camprojection",
        SensorKind::JointPosition => "jointpos",
        SensorKind::JointVelocity => "jointvel",
        SensorKind::TendonPosition => "tendonpos",
        SensorKind::TendonVelocity => "tendonvel",
        SensorKind::ActuatorPosition => "actuatorpos",
        SensorKind::ActuatorVelocity => "actuatorvel",
        SensorKind::ActuatorForce => "actuatorfrc",
        SensorKind::JointActuatorForce => "jointactuatorfrc",
        SensorKind::TendonActuatorForce => "tendonactuatorfrc",
        SensorKind::BallQuaternion => "ballquat",
        SensorKind::BallAngularVelocity => "ballangvel",
        SensorKind::JointLimitPosition => "jointlimitpos",
        SensorKind::JointLimitVelocity => "jointlimitvel",
        SensorKind::JointLimitForce => "jointlimitfrc",
        SensorKind::TendonLimitPosition => "tendonlimitpos",
        SensorKind::TendonLimitVelocity => "tendonlimitvel",
        SensorKind::TendonLimitForce => "tendonlimitfrc",
        SensorKind::FramePosition => "framepos",
        SensorKind::FrameQuaternion => "framequat",
        SensorKind::FrameXAxis => "framexaxis",
        SensorKind::FrameYAxis => "frameyaxis",
        SensorKind::FrameZAxis => "framezaxis",
        SensorKind::FrameLinearVelocity => "framelinvel",
        SensorKind::FrameAngularVelocity => "frameangvel",
        SensorKind::FrameLinearAcceleration => "framelinacc",
        SensorKind::FrameAngularAcceleration => "frameangacc",
        SensorKind::SubtreeCom => "subtreecom",
        SensorKind::SubtreeLinearVelocity => "subtreelinvel",
        SensorKind::SubtreeAngularMomentum => "subtreeangmom",
        SensorKind::InsideSite { .. } => "insidesite",
        SensorKind::GeomDistance => "distance",
        SensorKind::GeomNormal => "normal",
        SensorKind::GeomFromTo => "fromto",
        SensorKind::Contact(_) => "contact",
        SensorKind::PotentialEnergy => "e_potential",
        SensorKind::KineticEnergy => "e_kinetic",
        SensorKind::Clock => "clock",
        SensorKind::User { .. } => "user",
    }
}

fn is_frame(kind: SensorKind) -> bool {
    tag_name(kind).starts_with("frame")
}

/// The measured objects, and what only one kind of sensor has.
fn objects(tag: Tag, sensor: &SensorSpec) -> Tag {
    let (object, reference) = (sensor.object.as_ref(), sensor.reference.as_ref());
    match sensor.kind {
        kind if is_frame(kind) => {
            let tag = typed(tag, "objtype", "objname", object);
            typed(tag, "reftype", "refname", reference)
        }
        SensorKind::InsideSite { enclosed } => {
            typed(plain(tag, "", reference), "objtype", "objname", object)
                .word_unless("enclosed", enclosed, false)
        }
        SensorKind::User {
            data,
            stage,
            dimension,
        } => typed(tag, "objtype", "objname", object)
            .word_unless("datatype", data, crate::model_spec::SensorDataKind::Real)
            .text_unless("needstage", stage_word(stage), "acc")
            .integer_unless("dim", dimension, -1),
        SensorKind::GeomDistance | SensorKind::GeomNormal | SensorKind::GeomFromTo => {
            plain(plain(tag, "1", object), "2", reference)
        }
        SensorKind::Contact(report) => {
            contact_report(plain(plain(tag, "1", object), "2", reference), &report)
        }
        SensorKind::Rangefinder(fields) => plain(tag, "", object).words("data", &ray_words(fields)),
        _ => plain(plain(tag, "", object), "", reference),
    }
}

/// An attribute named after the kind of the object.
fn plain(tag: Tag, suffix: &str, object: Option<&ObjectReference>) -> Tag {
    let Some(object) = object else { return tag };
    let name = match object.kind {
        ObjectKind::Body | ObjectKind::BodyInertial => "body",
        ObjectKind::Subtree => "subtree",
        ObjectKind::Joint => "joint",
        ObjectKind::Geom => "geom",
        ObjectKind::Camera => "camera",
        ObjectKind::Tendon => "tendon",
        ObjectKind::Actuator => "actuator",
        // The only one that takes no number.
        ObjectKind::Site => return tag.reference("site", &object.reference),
        _ => return tag,
    };
    tag.reference(&format!("{name}{suffix}"), &object.reference)
}

/// A pair of attributes: kind and name.
fn typed(tag: Tag, kind: &str, name: &str, object: Option<&ObjectReference>) -> Tag {
    match object {
        Some(object) => tag
            .word(kind, object.kind)
            .reference(name, &object.reference),
        None => tag,
    }
}

fn stage_word(stage: SensorStage) -> &'static str {
    match stage {
        SensorStage::Position => "pos",
        SensorStage::Velocity => "vel",
        SensorStage::Acceleration => "acc",
    }
}

fn chosen<'a>(fields: &[(bool, &'a str)]) -> Vec<&'a str> {
    fields
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, word)| *word)
        .collect()
}

fn ray_words(fields: RayFields) -> Vec<&'static str> {
    if fields == RayFields::default() {
        return Vec::new();
    }
    chosen(&[
        (fields.distance, "dist"),
        (fields.direction, "dir"),
        (fields.origin, "origin"),
        (fields.point, "point"),
        (fields.normal, "normal"),
        (fields.depth, "depth"),
    ])
}

fn contact_report(tag: Tag, report: &ContactReport) -> Tag {
    let fields = &report.fields;
    let words = chosen(&[
        (fields.found, "found"),
        (fields.force, "force"),
        (fields.torque, "torque"),
        (fields.distance, "dist"),
        (fields.position, "pos"),
        (fields.normal, "normal"),
        (fields.tangent, "tangent"),
        (fields.linear_velocity, "linvel"),
        (fields.angular_velocity, "angvel"),
    ]);
    let words = if *fields == ContactFields::default() {
        Vec::new()
    } else {
        words
    };
    tag.words("data", &words)
        .word_unless(
            "reduce",
            report.reduction,
            crate::model_spec::ContactReduction::None,
        )
        .integer_unless("num", report.count, 1)
}
