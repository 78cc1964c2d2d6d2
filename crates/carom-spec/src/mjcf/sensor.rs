//! Sensors.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use super::extension::Extension;
use super::history;
use super::keywords::{Field, FrameObject, NeedStage};
use crate::model_spec::{
    Attachment, ModelSpec, ObjectKind, ObjectReference, Reference, SensorFields, SensorKind,
    SensorSpec,
};
use crate::xml::Element;

impl Reader<'_> {
    pub(super) fn read_sensors(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let a = self.attributes(element);
            let mut sensor = SensorSpec {
                span: element.span(),
                ..SensorSpec::default()
            };
            a.set("name", &mut sensor.name);
            a.set("cutoff", &mut sensor.cutoff);
            a.set("noise", &mut sensor.noise);
            a.set("user", &mut sensor.user);
            history::read(&a, &mut sensor.history);
            if read_kind(&a, &mut sensor).is_some() {
                spec.sensors.push(sensor);
            }
        }
    }
}

impl Extension<'_, '_> {
    /// Reads a sensor that MuJoCo lacks; the label is its name.
    pub(super) fn read_sensor(&self, spec: &mut ModelSpec) {
        let own = |word: &&&str| {
            SensorKind::from_word(word).is_some_and(|kind| kind.row().code.is_none())
        };
        let words: Vec<&str> = SensorKind::WORDS.iter().filter(own).copied().collect();
        let Some(kind) = self
            .kind(("kind", "a sensor of carom's own"), &words, |word| word)
            .and_then(SensorKind::from_word)
        else {
            return;
        };
        let element = kind.row().attachment.element();
        let attribute = element.map(|(_, attribute)| attribute);
        let keys = ["kind", "cutoff", "noise"].into_iter().chain(attribute);
        self.check_keys("sensor", &keys);
        let mut sensor = SensorSpec {
            name: self.label.to_owned(),
            span: self.span,
            kind,
            ..SensorSpec::default()
        };
        self.number("cutoff", &mut sensor.cutoff);
        self.number("noise", &mut sensor.noise);
        if let Some((kind, attribute)) = element {
            let Some(reference) = self.reference(attribute, attribute) else {
                let message = format!(
                    "sensor '{}' does not say which {attribute} it is for",
                    self.label
                );
                self.refuse(message, format!("give it a '{attribute}'"));
                return;
            };
            sensor.object = Some(ObjectReference { kind, reference });
        }
        spec.sensors.push(sensor);
    }
}

/// Sets what a sensor measures; `None` when it cannot be used.
fn read_kind(a: &Attributes<'_, '_>, sensor: &mut SensorSpec) -> Option<()> {
    sensor.kind = SensorKind::from_word(a.element.tag())?;
    read_objects(a, sensor.kind.row().attachment, sensor)?;
    match &mut sensor.kind {
        SensorKind::Rangefinder(fields) => read_fields(fields, a.keywords("data")),
        SensorKind::InsideSite(enclosed) => {
            a.set("enclosed", enclosed);
        }
        SensorKind::Contact(report) => {
            read_fields(&mut report.fields, a.keywords("data"));
            a.set("reduce", &mut report.reduction);
            a.set("num", &mut report.count);
            if report.count == 0 {
                a.error(codes::VALUE_RANGE, "num", "must be positive");
            }
        }
        SensorKind::User(user) => {
            a.set("datatype", &mut user.data);
            if let Some(stage) = a.get::<NeedStage>("needstage") {
                user.stage = stage.0;
            }
            user.dimension = a.require("dim")?;
        }
        _ => {}
    }
    Some(())
}

/// Sets what a sensor is attached to; `None` when something is missing.
fn read_objects(
    a: &Attributes<'_, '_>,
    attachment: Attachment,
    sensor: &mut SensorSpec,
) -> Option<()> {
    let named = |kind, attribute| {
        let reference = a.require(attribute);
        reference.map(|reference| ObjectReference { kind, reference })
    };
    if let Some((kind, attribute)) = attachment.element() {
        sensor.object = Some(named(kind, attribute)?);
        return Some(());
    }
    match attachment {
        Attachment::Frame | Attachment::RelativeFrame => {
            sensor.object = frame_object(a, "objtype", "objname");
            let is_relative = attachment == Attachment::RelativeFrame;
            if is_relative && (a.has("reftype") || a.has("refname")) {
                sensor.reference = Some(frame_object(a, "reftype", "refname")?);
            }
            sensor.object.as_ref()?;
        }
        Attachment::FrameInSite => {
            let site = named(ObjectKind::Site, "site");
            sensor.object = frame_object(a, "objtype", "objname");
            sensor.reference = Some(site?);
            sensor.object.as_ref()?;
        }
        Attachment::SiteInCamera => {
            let (site, camera) = (
                named(ObjectKind::Site, "site"),
                named(ObjectKind::Camera, "camera"),
            );
            sensor.object = Some(site?);
            sensor.reference = Some(camera?);
        }
        Attachment::SiteOrCamera => {
            let options = [("site", ObjectKind::Site), ("camera", ObjectKind::Camera)];
            sensor.object = Some(one_of(a, &options, true)?);
        }
        Attachment::Pair => {
            let first = [("geom1", ObjectKind::Geom), ("body1", ObjectKind::Body)];
            let second = [("geom2", ObjectKind::Geom), ("body2", ObjectKind::Body)];
            let (first, second) = (one_of(a, &first, true), one_of(a, &second, true));
            sensor.object = Some(first?);
            sensor.reference = Some(second?);
        }
        Attachment::Contacts => {
            let first = [
                ("site", ObjectKind::Site),
                ("body1", ObjectKind::Body),
                ("subtree1", ObjectKind::Subtree),
                ("geom1", ObjectKind::Geom),
            ];
            let second = [
                ("body2", ObjectKind::Body),
                ("subtree2", ObjectKind::Subtree),
                ("geom2", ObjectKind::Geom),
            ];
            sensor.object = one_of(a, &first, false);
            sensor.reference = one_of(a, &second, false);
        }
        Attachment::Anything => {
            if let (Some(kind), Some(reference)) = (a.get("objtype"), a.get("objname")) {
                sensor.object = Some(ObjectReference { kind, reference });
            }
        }
        // The rest is a single element, or nothing.
        _ => {}
    }
    Some(())
}

fn frame_object(a: &Attributes<'_, '_>, kind: &str, name: &str) -> Option<ObjectReference> {
    let (kind, reference) = (a.require::<FrameObject>(kind), a.require::<Reference>(name));
    Some(ObjectReference {
        kind: kind?.0,
        reference: reference?,
    })
}

/// The one object that is given by either of several attributes.
fn one_of(
    a: &Attributes<'_, '_>,
    options: &[(&str, ObjectKind)],
    required: bool,
) -> Option<ObjectReference> {
    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
    a.exclusive(&names);
    for (name, kind) in options {
        if let Some(reference) = a.get(name) {
            return Some(ObjectReference {
                kind: *kind,
                reference,
            });
        }
    }
    if required {
        let message = format!("<{}> needs one of: {}", a.element.tag(), names.join(", "));
        a.problems
            .error(codes::MISSING_ATTRIBUTE, a.element.span(), message);
    }
    None
}

/// Sets the fields that a file lists; an empty list leaves them as they are.
fn read_fields<const N: usize>(fields: &mut SensorFields<N>, written: Option<Vec<Field<N>>>) {
    let Some(written) = written.filter(|list| !list.is_empty()) else {
        return;
    };
    fields.0 = [false; N];
    for field in written {
        fields.0[field.0] = true;
    }
}
