//! Sensors: what they measure resolved to ids, their place in the output, how their values are clipped.

use carom_spec::model_spec::{
    ContactFields, ContactReduction, ContactReport, ObjectKind, ObjectReference, RayFields,
    SensorDataKind, SensorKind as Kind, SensorSpec,
};

use super::Source;
use super::histories;
use super::report::{Report, called, code};
use crate::model::{
    ContactMatch, ContactSensor, FrameObject, GeomKind, JointKind, Model, SensorGeoms, SensorKind,
    Structure,
};

/// Sensor outputs that a model may have in all; more would not fit in memory.
const MOST_VALUES: usize = 1 << 27;

/// Fills the structure of sensors.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let mut address = 0_usize;
    for sensor in &source.spec.sensors {
        let owner = called("sensor", &sensor.name);
        check_numbers(sensor, &owner, report);
        let kind = Resolver {
            source,
            structure,
            sensor,
            owner: &owner,
            report,
        }
        .kind();
        // A sensor that cannot be resolved was reported; the clock keeps the lists in step.
        let kind = kind.unwrap_or(SensorKind::Clock);
        let dimension = dimension(kind, structure);
        let place = (sensor.span, owner.as_str());
        let history = histories::shape(&sensor.history, dimension, place, report);
        let index = history.map(|shape| {
            structure.histories.push(shape);
            structure.histories.len() - 1
        });
        structure.sensors.history.push(index);
        let sensors = &mut structure.sensors;
        sensors.kind.push(kind);
        sensors.address.push(address);
        sensors.dimension.push(dimension);
        sensors.clip.push(clip(sensor.kind));
        address = address.saturating_add(dimension);
        if address > MOST_VALUES {
            let message =
                format!("{owner} brings the sensor values to {address}, too many to hold");
            report.error(code::SENSOR, sensor.span, message);
            address = 0;
        }
    }
    structure.counts.nsensor = source.spec.sensors.len();
    structure.counts.nsensor_value = address;
}

fn check_numbers(sensor: &SensorSpec, owner: &str, report: &mut Report) {
    let is_direction = match sensor.kind {
        Kind::FrameXAxis
        | Kind::FrameYAxis
        | Kind::FrameZAxis
        | Kind::FrameQuaternion
        | Kind::BallQuaternion => true,
        Kind::User { data, .. } => {
            matches!(data, SensorDataKind::Axis | SensorDataKind::Quaternion)
        }
        _ => false,
    };
    let problems = [
        (sensor.noise < 0.0, "noise", "is negative"),
        (sensor.cutoff < 0.0, "cutoff", "is negative"),
        (
            sensor.cutoff > 0.0 && is_direction,
            "cutoff",
            "does not apply to unit vectors and quaternions",
        ),
    ];
    for (_, attribute, problem) in problems.iter().filter(|(found, ..)| *found) {
        let message = format!("{attribute} of {owner} {problem}");
        report.error(code::SENSOR, sensor.span, message);
    }
}

/// Whether the cutoff clips both signs or only large values; none where it does not clip.
fn clip(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Touch | Kind::InsideSite { enclosed: false } => Some(false),
        Kind::FrameXAxis
        | Kind::FrameYAxis
        | Kind::FrameZAxis
        | Kind::FrameQuaternion
        | Kind::BallQuaternion
        | Kind::GeomNormal
        // The cutoff of a segment limits the search, not the values.
        | Kind::GeomFromTo
        | Kind::Contact(_) => None,
        Kind::User { data, .. } => match data {
            SensorDataKind::Real => Some(true),
            SensorDataKind::Positive => Some(false),
            SensorDataKind::Axis | SensorDataKind::Quaternion => None,
        },
        _ => Some(true),
    }
}

/// The number of values of a sensor.
fn dimension(kind: SensorKind, structure: &Structure) -> usize {
    match kind {
        SensorKind::CameraProjection { .. } => 2,
        SensorKind::Accelerometer { .. }
        | SensorKind::Velocimeter { .. }
        | SensorKind::Gyro { .. }
        | SensorKind::Force { .. }
        | SensorKind::Torque { .. }
        | SensorKind::Magnetometer { .. }
        | SensorKind::BallAngularVelocity { .. }
        | SensorKind::FramePosition { .. }
        | SensorKind::FrameAxis { .. }
        | SensorKind::FrameLinearVelocity { .. }
        | SensorKind::FrameAngularVelocity { .. }
        | SensorKind::FrameLinearAcceleration { .. }
        | SensorKind::FrameAngularAcceleration { .. }
        | SensorKind::SubtreeCenterOfMass { .. }
        | SensorKind::SubtreeLinearVelocity { .. }
        | SensorKind::SubtreeAngularMomentum { .. }
        | SensorKind::GeomNormal { .. } => 3,
        SensorKind::BallQuaternion { .. } | SensorKind::FrameQuaternion { .. } => 4,
        SensorKind::GeomFromTo { .. } => 6,
        SensorKind::Rangefinder { object, output } => {
            let rays = match object {
                FrameObject::Camera(camera) => structure.cameras.resolution[camera]
                    .iter()
                    .fold(1_usize, |rays, &pixels| {
                        rays.saturating_mul(pixels as usize)
                    }),
                _ => 1,
            };
            rays.saturating_mul(sum_of(output, RAY_FIELD_SIZES))
        }
        SensorKind::Contact(contact) => contact.size(),
        SensorKind::ActuatorPosition { actuator }
        | SensorKind::ActuatorVelocity { actuator }
        | SensorKind::ActuatorForce { actuator } => structure.actuators.outputs[actuator].len(),
        SensorKind::User { dimension } => dimension as usize,
        _ => 1,
    }
}

/// Values per ray: distance, direction, origin, point, normal, depth.
const RAY_FIELD_SIZES: [usize; 6] = [1, 3, 3, 3, 3, 1];

fn sum_of<const N: usize>(chosen: [bool; N], sizes: [usize; N]) -> usize {
    let sizes = chosen.into_iter().zip(sizes);
    sizes
        .filter_map(|(chosen, size)| chosen.then_some(size))
        .sum()
}

fn ray_fields(fields: RayFields) -> [bool; 6] {
    [
        fields.distance,
        fields.direction,
        fields.origin,
        fields.point,
        fields.normal,
        fields.depth,
    ]
}

fn contact_fields(fields: ContactFields) -> [bool; ContactSensor::FIELDS] {
    [
        fields.found,
        fields.force,
        fields.torque,
        fields.distance,
        fields.position,
        fields.normal,
        fields.tangent,
        fields.linear_velocity,
        fields.angular_velocity,
    ]
}

/// Resolves the objects of one sensor.
struct Resolver<'a, 'r> {
    source: Source<'a>,
    structure: &'a Structure,
    sensor: &'a SensorSpec,
    owner: &'a str,
    report: &'r mut Report,
}

impl Resolver<'_, '_> {
    /// What the sensor measures; none after an error.
    fn kind(&mut self) -> Option<SensorKind> {
        use SensorKind as Out;
        let kind = match self.sensor.kind {
            Kind::Touch => Out::Touch { site: self.site()? },
            Kind::Accelerometer => Out::Accelerometer { site: self.site()? },
            Kind::Velocimeter => Out::Velocimeter { site: self.site()? },
            Kind::Gyro => Out::Gyro { site: self.site()? },
            Kind::Force => Out::Force { site: self.site()? },
            Kind::Torque => Out::Torque { site: self.site()? },
            Kind::Magnetometer => Out::Magnetometer { site: self.site()? },
            Kind::Rangefinder(fields) => self.rangefinder(fields)?,
            Kind::CameraProjection => self.camera_projection()?,
            Kind::JointPosition => Out::JointPosition {
                joint: self.scalar_joint()?,
            },
            Kind::JointVelocity => Out::JointVelocity {
                joint: self.scalar_joint()?,
            },
            Kind::JointActuatorForce => Out::JointActuatorForce {
                joint: self.scalar_joint()?,
            },
            Kind::TendonPosition => Out::TendonPosition {
                tendon: self.tendon()?,
            },
            Kind::TendonVelocity => Out::TendonVelocity {
                tendon: self.tendon()?,
            },
            Kind::TendonActuatorForce => Out::TendonActuatorForce {
                tendon: self.tendon()?,
            },
            Kind::ActuatorPosition => Out::ActuatorPosition {
                actuator: self.actuator()?,
            },
            Kind::ActuatorVelocity => Out::ActuatorVelocity {
                actuator: self.actuator()?,
            },
            Kind::ActuatorForce => Out::ActuatorForce {
                actuator: self.actuator()?,
            },
            Kind::BallQuaternion => Out::BallQuaternion {
                joint: self.ball_joint()?,
            },
            Kind::BallAngularVelocity => Out::BallAngularVelocity {
                joint: self.ball_joint()?,
            },
            Kind::JointLimitPosition => Out::JointLimitPosition {
                joint: self.limited_joint()?,
            },
            Kind::JointLimitVelocity => Out::JointLimitVelocity {
                joint: self.limited_joint()?,
            },
            Kind::JointLimitForce => Out::JointLimitForce {
                joint: self.limited_joint()?,
            },
            Kind::TendonLimitPosition => Out::TendonLimitPosition {
                tendon: self.limited_tendon()?,
            },
            Kind::TendonLimitVelocity => Out::TendonLimitVelocity {
                tendon: self.limited_tendon()?,
            },
            Kind::TendonLimitForce => Out::TendonLimitForce {
                tendon: self.limited_tendon()?,
            },
            Kind::FramePosition => {
                let (object, reference) = self.frames()?;
                Out::FramePosition { object, reference }
            }
            Kind::FrameQuaternion => {
                let (object, reference) = self.frames()?;
                Out::FrameQuaternion { object, reference }
            }
            Kind::FrameXAxis => self.frame_axis(0)?,
            Kind::FrameYAxis => self.frame_axis(1)?,
            Kind::FrameZAxis => self.frame_axis(2)?,
            Kind::FrameLinearVelocity => {
                let (object, reference) = self.frames()?;
                Out::FrameLinearVelocity { object, reference }
            }
            Kind::FrameAngularVelocity => {
                let (object, reference) = self.frames()?;
                Out::FrameAngularVelocity { object, reference }
            }
            Kind::FrameLinearAcceleration => Out::FrameLinearAcceleration {
                object: self.frame()?,
            },
            Kind::FrameAngularAcceleration => Out::FrameAngularAcceleration {
                object: self.frame()?,
            },
            Kind::SubtreeCom => Out::SubtreeCenterOfMass { body: self.body()? },
            Kind::SubtreeLinearVelocity => Out::SubtreeLinearVelocity { body: self.body()? },
            Kind::SubtreeAngularMomentum => Out::SubtreeAngularMomentum { body: self.body()? },
            Kind::InsideSite { enclosed } => {
                let object = self.frame()?;
                let site = self.reference_of(&[ObjectKind::Site], "a site")?.1;
                Out::InsideSite {
                    object,
                    site,
                    enclosed,
                }
            }
            Kind::GeomDistance => {
                let [first, second] = self.geoms()?;
                Out::GeomDistance { first, second }
            }
            Kind::GeomNormal => {
                let [first, second] = self.geoms()?;
                Out::GeomNormal { first, second }
            }
            Kind::GeomFromTo => {
                let [first, second] = self.geoms()?;
                Out::GeomFromTo { first, second }
            }
            Kind::Contact(contact) => self.contact(contact)?,
            Kind::PotentialEnergy => Out::PotentialEnergy,
            Kind::KineticEnergy => Out::KineticEnergy,
            Kind::Clock => Out::Clock,
            Kind::User {
                data, dimension, ..
            } => self.user(data, dimension)?,
        };
        Some(kind)
    }

    /// Reports a problem of the sensor as a whole.
    fn refuse<T>(&mut self, problem: &str) -> Option<T> {
        let message = format!("{} {problem}", self.owner);
        self.report.error(code::SENSOR, self.sensor.span, message);
        None
    }

    /// The id of a referenced object of one of the allowed kinds.
    fn resolve(
        &mut self,
        object: Option<&ObjectReference>,
        allowed: &[ObjectKind],
        expected: &str,
    ) -> Option<(ObjectKind, usize)> {
        let Some(object) = object.filter(|object| allowed.contains(&object.kind)) else {
            return self.refuse(&format!("must refer to {expected}"));
        };
        let owner = self.owner;
        let table = self.source.lookup.table(object.kind);
        let id = table.resolve(&object.reference, || owner.to_owned(), self.report)?;
        Some((object.kind, id))
    }

    fn object_of(&mut self, allowed: &[ObjectKind], expected: &str) -> Option<(ObjectKind, usize)> {
        self.resolve(self.sensor.object.as_ref(), allowed, expected)
    }

    fn reference_of(
        &mut self,
        allowed: &[ObjectKind],
        expected: &str,
    ) -> Option<(ObjectKind, usize)> {
        self.resolve(self.sensor.reference.as_ref(), allowed, expected)
    }

    fn site(&mut self) -> Option<usize> {
        Some(self.object_of(&[ObjectKind::Site], "a site")?.1)
    }

    fn body(&mut self) -> Option<usize> {
        let bodies = [ObjectKind::Body, ObjectKind::BodyInertial];
        Some(self.object_of(&bodies, "a body")?.1)
    }

    fn tendon(&mut self) -> Option<usize> {
        Some(self.object_of(&[ObjectKind::Tendon], "a tendon")?.1)
    }

    fn limited_tendon(&mut self) -> Option<usize> {
        let tendon = self.tendon()?;
        if self.structure.tendons.limited[tendon] {
            Some(tendon)
        } else {
            self.refuse("needs a tendon with limits")
        }
    }

    fn actuator(&mut self) -> Option<usize> {
        Some(self.object_of(&[ObjectKind::Actuator], "an actuator")?.1)
    }

    fn joint(&mut self, fits: impl Fn(JointKind) -> bool, expected: &str) -> Option<usize> {
        let joint = self.object_of(&[ObjectKind::Joint], "a joint")?.1;
        if fits(self.structure.joints.kind[joint]) {
            Some(joint)
        } else {
            self.refuse(&format!("needs {expected}"))
        }
    }

    fn scalar_joint(&mut self) -> Option<usize> {
        let is_scalar = |kind| matches!(kind, JointKind::Slide | JointKind::Hinge);
        self.joint(is_scalar, "a slide or hinge joint")
    }

    fn ball_joint(&mut self) -> Option<usize> {
        self.joint(|kind| kind == JointKind::Ball, "a ball joint")
    }

    fn limited_joint(&mut self) -> Option<usize> {
        let joint = self.joint(|_| true, "a joint")?;
        if self.structure.joints.limited[joint] {
            Some(joint)
        } else {
            self.refuse("needs a joint with limits")
        }
    }

    fn frame(&mut self) -> Option<FrameObject> {
        let (kind, id) = self.object_of(&FRAMES, FRAMES_EXPECTED)?;
        frame_object(kind, id)
    }

    /// The measured frame and the one it is measured in.
    fn frames(&mut self) -> Option<(FrameObject, Option<FrameObject>)> {
        let object = self.frame()?;
        let mut reference = None;
        if self.sensor.reference.is_some() {
            let (kind, id) = self.reference_of(&FRAMES, FRAMES_EXPECTED)?;
            reference = frame_object(kind, id);
        }
        Some((object, reference))
    }

    fn frame_axis(&mut self, axis: u8) -> Option<SensorKind> {
        let (object, reference) = self.frames()?;
        Some(SensorKind::FrameAxis {
            object,
            reference,
            axis,
        })
    }

    fn rangefinder(&mut self, fields: RayFields) -> Option<SensorKind> {
        let allowed = [ObjectKind::Site, ObjectKind::Camera];
        let (kind, id) = self.object_of(&allowed, "a site or a camera")?;
        let output = ray_fields(fields);
        if !output.contains(&true) {
            return self.refuse("reports no field");
        }
        if kind == ObjectKind::Camera && self.structure.cameras.resolution[id].contains(&0) {
            return self.refuse("needs a camera with a resolution");
        }
        let object = frame_object(kind, id)?;
        Some(SensorKind::Rangefinder { object, output })
    }

    fn camera_projection(&mut self) -> Option<SensorKind> {
        let site = self.site()?;
        let camera = self.reference_of(&[ObjectKind::Camera], "a camera")?.1;
        if self.structure.cameras.resolution[camera].contains(&0) {
            return self.refuse("needs a camera with a resolution");
        }
        Some(SensorKind::CameraProjection { site, camera })
    }

    /// Two different geoms or bodies whose distance can be computed.
    fn geoms(&mut self) -> Option<[SensorGeoms; 2]> {
        let allowed = [ObjectKind::Geom, ObjectKind::Body, ObjectKind::BodyInertial];
        let expected = "two geoms or bodies";
        let first = self.object_of(&allowed, expected)?;
        let second = self.reference_of(&allowed, expected)?;
        let [first, second] = [first, second].map(|(kind, id)| match kind {
            ObjectKind::Geom => SensorGeoms::Geom(id),
            _ => SensorGeoms::Body(id),
        });
        if first == second {
            return self.refuse("measures between an element and itself");
        }
        let kinds = &self.structure.geoms.kind;
        let is_height_field = |geoms: SensorGeoms| matches!(geoms, SensorGeoms::Geom(geom) if kinds[geom] == GeomKind::HeightField);
        if is_height_field(first) || is_height_field(second) {
            return self.refuse("measures the distance of a height field, which is not supported");
        }
        Some([first, second])
    }

    fn contact(&mut self, contact: ContactReport) -> Option<SensorKind> {
        let sides = [
            ObjectKind::Geom,
            ObjectKind::Body,
            ObjectKind::BodyInertial,
            ObjectKind::Subtree,
            ObjectKind::Site,
        ];
        let first = match self.sensor.object {
            None => ContactMatch::Any,
            Some(_) => contact_match(self.object_of(&sides, "a body, geom or site")?),
        };
        let second = match self.sensor.reference {
            None => ContactMatch::Any,
            Some(_) => contact_match(self.reference_of(&sides[..4], "a body or geom")?),
        };
        let fields = contact_fields(contact.fields);
        if fields == [false; ContactSensor::FIELDS] {
            return self.refuse("reports no field");
        }
        if contact.count == 0 {
            return self.refuse("has no slots");
        }
        let has_velocity = contact.fields.linear_velocity || contact.fields.angular_velocity;
        if contact.reduction == ContactReduction::NetForce && has_velocity {
            return self.refuse("cannot report velocities of a net force");
        }
        Some(SensorKind::Contact(ContactSensor {
            first,
            second,
            fields,
            reduction: contact.reduction,
            slots: contact.count,
        }))
    }

    fn user(&mut self, data: SensorDataKind, dimension: u32) -> Option<SensorKind> {
        if let Some(object) = &self.sensor.object {
            self.resolve(Some(object), &[object.kind], "an element")?;
        }
        match data {
            SensorDataKind::Axis if dimension != 3 => self.refuse("needs dim 3 for an axis"),
            SensorDataKind::Quaternion if dimension != 4 => {
                self.refuse("needs dim 4 for a quaternion")
            }
            _ => Some(SensorKind::User { dimension }),
        }
    }
}

/// Kinds of object that have a frame.
const FRAMES: [ObjectKind; 5] = [
    ObjectKind::BodyInertial,
    ObjectKind::Body,
    ObjectKind::Geom,
    ObjectKind::Site,
    ObjectKind::Camera,
];
const FRAMES_EXPECTED: &str = "a body, xbody, geom, site or camera";

fn frame_object(kind: ObjectKind, id: usize) -> Option<FrameObject> {
    match kind {
        ObjectKind::BodyInertial => Some(FrameObject::Inertial(id)),
        ObjectKind::Body => Some(FrameObject::Body(id)),
        ObjectKind::Geom => Some(FrameObject::Geom(id)),
        ObjectKind::Site => Some(FrameObject::Site(id)),
        ObjectKind::Camera => Some(FrameObject::Camera(id)),
        _ => None,
    }
}

fn contact_match((kind, id): (ObjectKind, usize)) -> ContactMatch {
    match kind {
        ObjectKind::Geom => ContactMatch::Geom(id),
        ObjectKind::Subtree => ContactMatch::Subtree(id),
        ObjectKind::Site => ContactMatch::Site(id),
        _ => ContactMatch::Body(id),
    }
}

/// Fills the numbers of sensors.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, _report: &mut Report) {
    for (id, sensor) in source.spec.sensors.iter().enumerate() {
        model.sensors.cutoff[id] = sensor.cutoff;
        model.sensors.noise[id] = sensor.noise;
        model.sensors.delay[id] = sensor.history.delay;
        model.sensors.interval[id] = sensor.history.interval;
    }
}
