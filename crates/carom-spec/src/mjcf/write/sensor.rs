//! Sensors.

use super::super::attribute::Keyword;
use super::super::extension;
use super::super::keywords::Field;
use super::actuator::history;
use super::tag::{Output, Tag};
use crate::model_spec::{
    Attachment, ContactReduction, HistorySpec, ModelSpec, ObjectKind, ObjectReference,
    SensorDataKind, SensorFields, SensorKind, SensorSpec, SensorStage,
};

pub(super) fn write(out: &mut Output, spec: &ModelSpec) {
    let known = |sensor: &&SensorSpec| sensor.kind.row().code.is_some();
    for sensor in spec.sensors.iter().filter(known) {
        out.empty(&sensor_tag(sensor, &HistorySpec::default(), [0.0; 2]));
    }
}

/// The attributes that differ from a history, a cutoff and a noise.
pub(in super::super) fn sensor_tag(
    sensor: &SensorSpec,
    default: &HistorySpec,
    [cutoff, noise]: [f64; 2],
) -> Tag {
    let row = sensor.kind.row();
    let tag = Tag::new(row.word).text("name", &sensor.name);
    let tag = options(objects(tag, row.attachment, sensor), sensor.kind)
        .number_unless("cutoff", sensor.cutoff, cutoff)
        .number_unless("noise", sensor.noise, noise);
    history(tag, &sensor.history, default).numbers("user", &sensor.user)
}

/// Names and texts of the sensors that MuJoCo lacks.
pub(super) fn extensions(spec: &ModelSpec) -> impl Iterator<Item = (String, String)> {
    let own = spec
        .sensors
        .iter()
        .filter(|sensor| sensor.kind.row().code.is_none());
    own.map(|sensor| {
        let row = sensor.kind.row();
        let mut data = extension::Data::default();
        data.push("kind", row.word);
        if let (Some(object), Some((_, attribute))) = (&sensor.object, row.attachment.element()) {
            data.push(attribute, &object.reference.name);
        }
        data.numbers("cutoff", &[sensor.cutoff], &[0.0]);
        data.numbers("noise", &[sensor.noise], &[0.0]);
        (extension::name("sensor", &sensor.name), data.0)
    })
}

/// The measured objects.
fn objects(tag: Tag, attachment: Attachment, sensor: &SensorSpec) -> Tag {
    let (object, reference) = (sensor.object.as_ref(), sensor.reference.as_ref());
    match attachment {
        Attachment::Frame | Attachment::RelativeFrame => {
            let tag = typed(tag, "objtype", "objname", object);
            typed(tag, "reftype", "refname", reference)
        }
        Attachment::FrameInSite => typed(plain(tag, "", reference), "objtype", "objname", object),
        Attachment::Anything => typed(tag, "objtype", "objname", object),
        Attachment::Pair | Attachment::Contacts => plain(plain(tag, "1", object), "2", reference),
        _ => plain(plain(tag, "", object), "", reference),
    }
}

/// What only one kind of sensor has.
fn options(tag: Tag, kind: SensorKind) -> Tag {
    match kind {
        SensorKind::Rangefinder(fields) => tag.words("data", &words(fields)),
        SensorKind::InsideSite(enclosed) => tag.word_unless("enclosed", enclosed, false),
        SensorKind::Contact(report) => tag
            .words("data", &words(report.fields))
            .word_unless("reduce", report.reduction, ContactReduction::None)
            .integer_unless("num", report.count, 1),
        SensorKind::User(user) => tag
            .word_unless("datatype", user.data, SensorDataKind::Real)
            .text_unless("needstage", stage_word(user.stage), "acc")
            .integer_unless("dim", user.dimension, -1),
        _ => tag,
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

/// The words of the fields, in their order; none for what holds without any.
fn words<const N: usize>(fields: SensorFields<N>) -> Vec<&'static str>
where
    Field<N>: Keyword,
{
    if fields == SensorFields::default() {
        return Vec::new();
    }
    let words = Field::<N>::WORDS.iter().zip(fields.0);
    words
        .filter_map(|((word, _), is_on)| is_on.then_some(*word))
        .collect()
}
