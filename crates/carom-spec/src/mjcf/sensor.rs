//! Sensors.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use super::history;
use super::keywords::{ContactField, FrameObject, NeedStage, RayField};
use crate::model_spec::{
    ContactFields, ContactReport, ModelSpec, ObjectKind, ObjectReference, RayFields, Reference,
    SensorDataKind, SensorKind, SensorSpec, SensorStage,
};
use crate::xml::Element;

/// What sensors of one kind are attached to.
enum Attachment {
    /// The element named by this attribute.
    One(ObjectKind, &'static str),
    /// A frame, measured relative to another one when that is allowed.
    Frame { relative: bool },
    /// Nothing.
    None,
}

/// Kind and attachment of the sensors that are fully described by them.
fn simple_kind(tag: &str) -> Option<(SensorKind, Attachment)> {
    use Attachment::{Frame, One};
    let site = One(ObjectKind::Site, "site");
    let joint = One(ObjectKind::Joint, "joint");
    let tendon = One(ObjectKind::Tendon, "tendon");
    let actuator = One(ObjectKind::Actuator, "actuator");
    let body = One(ObjectKind::Body, "body");
    let frame = Frame { relative: true };
    Some(match tag {
        "touch" => (SensorKind::Touch, site),
        "accelerometer" => (SensorKind::Accelerometer, site),
        "velocimeter" => (SensorKind::Velocimeter, site),
        "gyro" => (SensorKind::Gyro, site),
        "force" => (SensorKind::Force, site),
        "torque" => (SensorKind::Torque, site),
        "magnetometer" => (SensorKind::Magnetometer, site),
        "jointpos" => (SensorKind::JointPosition, joint),
        "jointvel" => (SensorKind::JointVelocity, joint),
        "tendonpos" => (SensorKind::TendonPosition, tendon),
        "tendonvel" => (SensorKind::TendonVelocity, tendon),
        "actuatorpos" => (SensorKind::ActuatorPosition, actuator),
        "actuatorvel" => (SensorKind::ActuatorVelocity, actuator),
        "actuatorfrc" => (SensorKind::ActuatorForce, actuator),
        "jointactuatorfrc" => (SensorKind::JointActuatorForce, joint),
        "tendonactuatorfrc" => (SensorKind::TendonActuatorForce, tendon),
        "ballquat" => (SensorKind::BallQuaternion, joint),
        "ballangvel" => (SensorKind::BallAngularVelocity, joint),
        "jointlimitpos" => (SensorKind::JointLimitPosition, joint),
        "jointlimitvel" => (SensorKind::JointLimitVelocity, joint),
        "jointlimitfrc" => (SensorKind::JointLimitForce, joint),
        "tendonlimitpos" => (SensorKind::TendonLimitPosition, tendon),
        "tendonlimitvel" => (SensorKind::TendonLimitVelocity, tendon),
        "tendonlimitfrc" => (SensorKind::TendonLimitForce, tendon),
        "framepos" => (SensorKind::FramePosition, frame),
        "framequat" => (SensorKind::FrameQuaternion, frame),
        "framexaxis" => (SensorKind::FrameXAxis, frame),
        "frameyaxis" => (SensorKind::FrameYAxis, frame),
        "framezaxis" => (SensorKind::FrameZAxis, frame),
        "framelinvel" => (SensorKind::FrameLinearVelocity, frame),
        "frameangvel" => (SensorKind::FrameAngularVelocity, frame),
        "framelinacc" => (
            SensorKind::FrameLinearAcceleration,
            Frame { relative: false },
        ),
        "frameangacc" => (
            SensorKind::FrameAngularAcceleration,
            Frame { relative: false },
        ),
        "subtreecom" => (SensorKind::SubtreeCom, body),
        "subtreelinvel" => (SensorKind::SubtreeLinearVelocity, body),
        "subtreeangmom" => (SensorKind::SubtreeAngularMomentum, body),
        "e_potential" => (SensorKind::PotentialEnergy, Attachment::None),
        "e_kinetic" => (SensorKind::KineticEnergy, Attachment::None),
        "clock" => (SensorKind::Clock, Attachment::None),
        _ => return None,
    })
}

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

/// Sets what a sensor measures; `None` when it cannot be used.
fn read_kind(a: &Attributes<'_, '_>, sensor: &mut SensorSpec) -> Option<()> {
    let tag = a.element.tag();
    if let Some((kind, attachment)) = simple_kind(tag) {
        sensor.kind = kind;
        match attachment {
            Attachment::None => {}
            Attachment::One(kind, name) => {
                sensor.object = Some(ObjectReference {
                    kind,
                    reference: a.require(name)?,
                });
            }
            Attachment::Frame { relative } => {
                sensor.object = frame_object(a, "objtype", "objname");
                if relative && (a.has("reftype") || a.has("refname")) {
                    sensor.reference = Some(frame_object(a, "reftype", "refname")?);
                }
                sensor.object.as_ref()?;
            }
        }
        return Some(());
    }
    match tag {
        "camprojection" => {
            sensor.kind = SensorKind::CameraProjection;
            let (site, camera) = (a.require("site"), a.require("camera"));
            sensor.object = Some(ObjectReference {
                kind: ObjectKind::Site,
                reference: site?,
            });
            sensor.reference = Some(ObjectReference {
                kind: ObjectKind::Camera,
                reference: camera?,
            });
        }
        "rangefinder" => {
            sensor.kind = SensorKind::Rangefinder(ray_fields(a));
            let options = [("site", ObjectKind::Site), ("camera", ObjectKind::Camera)];
            sensor.object = Some(one_of(a, &options, true)?);
        }
        "insidesite" => {
            let mut enclosed = false;
            a.set("enclosed", &mut enclosed);
            sensor.kind = SensorKind::InsideSite { enclosed };
            let site = a.require("site");
            sensor.object = frame_object(a, "objtype", "objname");
            sensor.reference = Some(ObjectReference {
                kind: ObjectKind::Site,
                reference: site?,
            });
            sensor.object.as_ref()?;
        }
        "distance" | "normal" | "fromto" => {
            sensor.kind = match tag {
                "distance" => SensorKind::GeomDistance,
                "normal" => SensorKind::GeomNormal,
                _ => SensorKind::GeomFromTo,
            };
            let first = [("geom1", ObjectKind::Geom), ("body1", ObjectKind::Body)];
            let second = [("geom2", ObjectKind::Geom), ("body2", ObjectKind::Body)];
            let (first, second) = (one_of(a, &first, true), one_of(a, &second, true));
            sensor.object = Some(first?);
            sensor.reference = Some(second?);
        }
        "contact" => read_contact(a, sensor),
        "user" => read_user(a, sensor)?,
        _ => return None,
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

fn ray_fields(a: &Attributes<'_, '_>) -> RayFields {
    let mut fields = RayFields::default();
    let Some(written) = a
        .keywords::<RayField>("data")
        .filter(|list| !list.is_empty())
    else {
        return fields;
    };
    fields.distance = false;
    for field in written {
        *match field {
            RayField::Distance => &mut fields.distance,
            RayField::Direction => &mut fields.direction,
            RayField::Origin => &mut fields.origin,
            RayField::Point => &mut fields.point,
            RayField::Normal => &mut fields.normal,
            RayField::Depth => &mut fields.depth,
        } = true;
    }
    fields
}

fn read_contact(a: &Attributes<'_, '_>, sensor: &mut SensorSpec) {
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
    let mut report = ContactReport {
        count: 1,
        ..ContactReport::default()
    };
    if let Some(written) = a
        .keywords::<ContactField>("data")
        .filter(|list| !list.is_empty())
    {
        report.fields = ContactFields {
            found: false,
            ..ContactFields::default()
        };
        for field in written {
            set_contact_field(field, &mut report.fields);
        }
    }
    a.set("reduce", &mut report.reduction);
    a.set("num", &mut report.count);
    if report.count == 0 {
        a.error(codes::VALUE_RANGE, "num", "must be positive");
    }
    sensor.kind = SensorKind::Contact(report);
}

fn set_contact_field(field: ContactField, fields: &mut ContactFields) {
    *match field {
        ContactField::Found => &mut fields.found,
        ContactField::Force => &mut fields.force,
        ContactField::Torque => &mut fields.torque,
        ContactField::Distance => &mut fields.distance,
        ContactField::Position => &mut fields.position,
        ContactField::Normal => &mut fields.normal,
        ContactField::Tangent => &mut fields.tangent,
        ContactField::LinearVelocity => &mut fields.linear_velocity,
        ContactField::AngularVelocity => &mut fields.angular_velocity,
    } = true;
}

fn read_user(a: &Attributes<'_, '_>, sensor: &mut SensorSpec) -> Option<()> {
    let mut data = SensorDataKind::Real;
    a.set("datatype", &mut data);
    let stage = a
        .get::<NeedStage>("needstage")
        .map_or(SensorStage::Acceleration, |stage| stage.0);
    let dimension = a.require("dim")?;
    sensor.kind = SensorKind::User {
        data,
        stage,
        dimension,
    };
    if let (Some(kind), Some(reference)) = (a.get("objtype"), a.get("objname")) {
        sensor.object = Some(ObjectReference { kind, reference });
    }
    Some(())
}
