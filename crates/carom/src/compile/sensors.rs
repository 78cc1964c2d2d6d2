//! Sensors: what they measure resolved to ids, their place in the output, how their values are clipped.

use carom_spec::model_spec::{
    Attachment, ContactFields, ContactReduction, ObjectKind, ObjectReference, RayFields,
    SensorDataKind, SensorFields, SensorKind, SensorSize, SensorSpec, SensorValues,
};

use super::Source;
use super::histories;
use super::report::{Checked, Report, code};
use crate::model::{GeomKind, JointKind, Model, Sensor, SensorObject, Structure};

/// Sensor outputs that a model may have in all; more would not fit in memory.
const MOST_VALUES: usize = 1 << 27;

/// Fills the structure of sensors.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let mut address = 0_usize;
    for spec in &source.spec.sensors {
        let mut checked = report.checked("sensor", &spec.name, spec.span);
        check_numbers(spec, &mut checked);
        let mut resolver = Resolver {
            source,
            structure,
            spec,
            checked: &mut checked,
        };
        let resolved = resolver.sensor();
        // A sensor that cannot be resolved was reported; the clock keeps the lists in step.
        let sensor = resolved.unwrap_or(Sensor {
            kind: SensorKind::Clock,
            object: None,
            reference: None,
        });
        let dimension = dimension(&sensor, structure);
        let history = histories::shape(&spec.history, dimension, &mut checked);
        let index = history.map(|shape| {
            structure.histories.push(shape);
            structure.histories.len() - 1
        });
        structure.sensors.history.push(index);
        let sensors = &mut structure.sensors;
        sensors.list.push(sensor);
        sensors.address.push(address);
        sensors.dimension.push(dimension);
        sensors.clip.push(match spec.kind.values() {
            SensorValues::Real => Some(true),
            SensorValues::Positive => Some(false),
            SensorValues::Direction | SensorValues::Detected => None,
        });
        address = address.saturating_add(dimension);
        if address > MOST_VALUES {
            let message =
                format!("{checked} brings the sensor values to {address}, too many to hold");
            checked.error(code::SENSOR, message);
            address = 0;
        }
    }
    structure.counts.nsensor = source.spec.sensors.len();
    structure.counts.nsensor_value = address;
}

fn check_numbers(spec: &SensorSpec, checked: &mut Checked<'_>) {
    let is_direction = spec.kind.values() == SensorValues::Direction;
    let problems = [
        (spec.noise < 0.0, "noise", "is negative"),
        (spec.cutoff < 0.0, "cutoff", "is negative"),
        (
            spec.cutoff > 0.0 && is_direction,
            "cutoff",
            "does not apply to unit vectors and quaternions",
        ),
    ];
    for (_, attribute, problem) in problems.iter().filter(|(found, ..)| *found) {
        checked.error(code::SENSOR, format!("{attribute} of {checked} {problem}"));
    }
}

/// The number of values of a sensor.
fn dimension(sensor: &Sensor, structure: &Structure) -> usize {
    match (sensor.kind.row().size, sensor.kind) {
        (SensorSize::Values(count), _) => count,
        (SensorSize::Forces, _) => structure.actuators.outputs[sensor.id()].len(),
        (_, SensorKind::Rangefinder(fields)) => {
            let camera = (sensor.object).filter(|object| object.kind == ObjectKind::Camera);
            let pixels = camera.map_or([1; 2], |camera| structure.cameras.resolution[camera.id]);
            let [columns, rows] = pixels.map(|pixels| pixels as usize);
            let rays = columns.saturating_mul(rows);
            rays.saturating_mul(fields.size(RayFields::SIZES))
        }
        (_, SensorKind::Contact(report)) => {
            let slot = report.fields.size(ContactFields::SIZES);
            slot.saturating_mul(report.count as usize)
        }
        (_, SensorKind::User(user)) => user.dimension as usize,
        _ => 0,
    }
}

/// Resolves the objects of one sensor.
struct Resolver<'a, 'r> {
    source: Source<'a>,
    structure: &'a Structure,
    spec: &'a SensorSpec,
    checked: &'a mut Checked<'r>,
}

/// The measured element and the second one.
type Objects = [Option<SensorObject>; 2];

impl Resolver<'_, '_> {
    /// The sensor with its objects; none after an error.
    fn sensor(&mut self) -> Option<Sensor> {
        let kind = self.spec.kind;
        let [object, reference] = self.objects(kind.row().attachment)?;
        match kind {
            SensorKind::Rangefinder(fields) => self.check_fields(fields)?,
            SensorKind::Contact(report) => {
                self.check_fields(report.fields)?;
                if report.count == 0 {
                    return self.refuse("has no slots");
                }
                let [.., linear_velocity, angular_velocity] = report.fields.0;
                let has_velocity = linear_velocity || angular_velocity;
                if report.reduction == ContactReduction::NetForce && has_velocity {
                    return self.refuse("cannot report velocities of a net force");
                }
            }
            SensorKind::User(user) => match user.data {
                SensorDataKind::Axis if user.dimension != 3 => {
                    return self.refuse("needs dim 3 for an axis");
                }
                SensorDataKind::Quaternion if user.dimension != 4 => {
                    return self.refuse("needs dim 4 for a quaternion");
                }
                _ => {}
            },
            _ => {}
        }
        Some(Sensor {
            kind,
            object,
            reference,
        })
    }

    fn check_fields<const N: usize>(&mut self, fields: SensorFields<N>) -> Option<()> {
        if fields.0.contains(&true) {
            Some(())
        } else {
            self.refuse("reports no field")
        }
    }

    /// What the sensor is attached to.
    fn objects(&mut self, attachment: Attachment) -> Option<Objects> {
        let (object, reference) = (self.spec.object.as_ref(), self.spec.reference.as_ref());
        let one = |found: Option<SensorObject>| Some([Some(found?), None]);
        match attachment {
            Attachment::Nothing => Some([None; 2]),
            Attachment::Site => one(self.resolve(object, &[ObjectKind::Site], "a site")),
            Attachment::Body => one(self.resolve(object, &BODIES, "a body").map(as_body)),
            Attachment::Actuator => {
                one(self.resolve(object, &[ObjectKind::Actuator], "an actuator"))
            }
            Attachment::Tendon => one(self.resolve(object, &[ObjectKind::Tendon], "a tendon")),
            Attachment::LimitedTendon => {
                let tendon = self.resolve(object, &[ObjectKind::Tendon], "a tendon")?;
                if self.structure.tendons.limited[tendon.id] {
                    one(Some(tendon))
                } else {
                    self.refuse("needs a tendon with limits")
                }
            }
            Attachment::ScalarJoint | Attachment::BallJoint | Attachment::LimitedJoint => {
                let joint = self.resolve(object, &[ObjectKind::Joint], "a joint")?;
                let joints = &self.structure.joints;
                let kind = joints.kind[joint.id];
                let (fits, expected) = match attachment {
                    Attachment::ScalarJoint => (
                        matches!(kind, JointKind::Slide | JointKind::Hinge),
                        "needs a slide or hinge joint",
                    ),
                    Attachment::BallJoint => (kind == JointKind::Ball, "needs a ball joint"),
                    _ => (joints.limited[joint.id], "needs a joint with limits"),
                };
                if fits {
                    one(Some(joint))
                } else {
                    self.refuse(expected)
                }
            }
            Attachment::Frame | Attachment::RelativeFrame => {
                let object = self.resolve(object, &FRAMES, FRAMES_EXPECTED)?;
                let reference = match reference {
                    Some(_) => Some(self.resolve(reference, &FRAMES, FRAMES_EXPECTED)?),
                    None => None,
                };
                Some([Some(object), reference])
            }
            Attachment::FrameInSite => {
                let object = self.resolve(object, &FRAMES, FRAMES_EXPECTED)?;
                let site = self.resolve(reference, &[ObjectKind::Site], "a site")?;
                Some([Some(object), Some(site)])
            }
            Attachment::SiteInCamera => {
                let site = self.resolve(object, &[ObjectKind::Site], "a site")?;
                let camera = self.resolve(reference, &[ObjectKind::Camera], "a camera")?;
                self.check_camera(camera)?;
                Some([Some(site), Some(camera)])
            }
            Attachment::SiteOrCamera => {
                let allowed = [ObjectKind::Site, ObjectKind::Camera];
                let object = self.resolve(object, &allowed, "a site or a camera")?;
                self.check_camera(object)?;
                one(Some(object))
            }
            Attachment::Pair => self.pair(),
            Attachment::Contacts => {
                let first = match object {
                    None => None,
                    Some(_) => Some(self.resolve(object, &SIDES, "a body, geom or site")?),
                };
                let second = match reference {
                    None => None,
                    Some(_) => Some(self.resolve(reference, &SIDES[..4], "a body or geom")?),
                };
                Some([first, second])
            }
            Attachment::Anything => {
                if let Some(named) = object {
                    self.resolve(object, &[named.kind], "an element")?;
                }
                Some([None; 2])
            }
        }
    }

    /// Reports a problem of the sensor as a whole.
    fn refuse<T>(&mut self, problem: &str) -> Option<T> {
        let message = format!("{} {problem}", self.checked);
        self.checked.error(code::SENSOR, message);
        None
    }

    /// A referenced object of one of the allowed kinds.
    fn resolve(
        &mut self,
        object: Option<&ObjectReference>,
        allowed: &[ObjectKind],
        expected: &str,
    ) -> Option<SensorObject> {
        let Some(object) = object.filter(|object| allowed.contains(&object.kind)) else {
            return self.refuse(&format!("must refer to {expected}"));
        };
        let (kind, table) = (object.kind, self.source.lookup.table(object.kind));
        let id = self.checked.resolve(table, &object.reference)?;
        Some(SensorObject { kind, id })
    }

    fn check_camera(&mut self, object: SensorObject) -> Option<()> {
        let is_camera = object.kind == ObjectKind::Camera;
        if is_camera && self.structure.cameras.resolution[object.id].contains(&0) {
            return self.refuse("needs a camera with a resolution");
        }
        Some(())
    }

    /// Two different geoms or bodies whose distance can be computed.
    fn pair(&mut self) -> Option<Objects> {
        let allowed = [ObjectKind::Geom, ObjectKind::Body, ObjectKind::BodyInertial];
        let expected = "two geoms or bodies";
        let first = self.resolve(self.spec.object.as_ref(), &allowed, expected)?;
        let second = self.resolve(self.spec.reference.as_ref(), &allowed, expected)?;
        let objects = [first, second].map(|object| match object.kind {
            ObjectKind::Geom => object,
            _ => as_body(object),
        });
        if objects[0] == objects[1] {
            return self.refuse("measures between an element and itself");
        }
        let kinds = &self.structure.geoms.kind;
        let is_height_field = |object: &SensorObject| {
            object.kind == ObjectKind::Geom && kinds[object.id] == GeomKind::HeightField
        };
        if objects.iter().any(is_height_field) {
            return self.refuse("measures the distance of a height field, which is not supported");
        }
        Some(objects.map(Some))
    }
}

/// A body, however it was named: MuJoCo calls it that of its inertial frame.
fn as_body(object: SensorObject) -> SensorObject {
    let kind = ObjectKind::BodyInertial;
    SensorObject { kind, ..object }
}

const BODIES: [ObjectKind; 2] = [ObjectKind::Body, ObjectKind::BodyInertial];

/// Kinds of object that have a frame.
const FRAMES: [ObjectKind; 5] = [
    ObjectKind::BodyInertial,
    ObjectKind::Body,
    ObjectKind::Geom,
    ObjectKind::Site,
    ObjectKind::Camera,
];
const FRAMES_EXPECTED: &str = "a body, xbody, geom, site or camera";

/// What sides of contacts may belong to; only the first may be a site.
const SIDES: [ObjectKind; 5] = [
    ObjectKind::Geom,
    ObjectKind::Body,
    ObjectKind::BodyInertial,
    ObjectKind::Subtree,
    ObjectKind::Site,
];

/// Fills the numbers of sensors.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    for (id, sensor) in source.spec.sensors.iter().enumerate() {
        model.sensors.cutoff[id] = sensor.cutoff;
        model.sensors.noise[id] = sensor.noise;
        model.sensors.delay[id] = sensor.history.delay;
        model.sensors.interval[id] = sensor.history.interval;
    }
}
