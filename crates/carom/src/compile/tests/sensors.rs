use super::{assert_refused, model, refusals};
use crate::model::{
    ContactMatch, ContactReduction, ContactReport, ContactSensor, FrameObject, ObjectKind,
    SensorGeoms, SensorKind, SensorObject,
};
use carom_spec::model_spec::SensorFields;

fn with(sensors: &str) -> String {
    format!(
        r#"<asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>
        <worldbody>
          <geom name="terrain" type="hfield" hfield="h"/>
          <body name="a"><joint name="hinge" range="-1 2"/><geom name="ga" size=".1"/><site name="s"/>
            <camera name="wide" resolution="4 3"/> <camera name="blind" resolution="0 0"/>
            <body name="b" pos="1 0 0"><joint name="ball" type="ball"/><geom name="gb" size=".1"/>
              <site name="t"/></body>
          </body>
        </worldbody>
        <tendon><fixed name="free"><joint joint="hinge" coef="1"/></fixed></tendon>
        <actuator><motor name="m" joint="hinge"/></actuator>
        <sensor>{sensors}</sensor>"#
    )
}

#[test]
fn objects_dimensions_and_addresses() {
    let model = model(&with(
        r#"<gyro site="t" cutoff="3" noise=".1"/> <rangefinder site="s"/>
        <rangefinder camera="wide" data="dist point normal"/> <camprojection site="t" camera="wide"/>
        <jointlimitpos joint="hinge"/> <ballquat joint="ball"/> <actuatorfrc actuator="m"/>
        <framepos objtype="body" objname="a" reftype="site" refname="t"/>
        <frameyaxis objtype="xbody" objname="b"/> <framelinacc objtype="geom" objname="gb"/>
        <subtreecom body="a"/> <insidesite site="s" objtype="camera" objname="wide"/>
        <fromto geom1="ga" body2="b" cutoff="1"/> <touch site="s"/> <clock/> <user dim="5"/>"#,
    ));
    let sensors = &model.structure.sensors;
    let list = &sensors.list;
    assert_eq!((list[0].kind, list[0].id()), (SensorKind::Gyro, 1));
    let fields = SensorFields([true, false, false, true, true, false]);
    assert_eq!(list[2].kind, SensorKind::Rangefinder(fields));
    assert_eq!(list[2].frame(), FrameObject::Camera(0));
    let camera = SensorObject {
        kind: ObjectKind::Camera,
        id: 0,
    };
    assert_eq!(list[3].kind, SensorKind::CameraProjection);
    assert_eq!((list[3].id(), list[3].reference), (1, Some(camera)));
    assert_eq!(list[7].kind, SensorKind::FramePosition);
    assert_eq!(list[7].frame(), FrameObject::Inertial(1));
    assert_eq!(list[7].seen_from(), Some(FrameObject::Site(1)));
    assert_eq!(list[8].kind, SensorKind::FrameYAxis);
    assert_eq!(list[8].frame(), FrameObject::Body(2));
    assert_eq!(list[8].seen_from(), None);
    let geoms = [SensorGeoms::Geom(1), SensorGeoms::Body(2)];
    assert_eq!(list[12].kind, SensorKind::GeomFromTo);
    assert_eq!(list[12].geoms(), geoms);
    let dimensions = [3, 1, 84, 2, 1, 4, 1, 3, 3, 3, 3, 1, 6, 1, 1, 5];
    assert_eq!(sensors.dimension, dimensions);
    let total: usize = dimensions.iter().sum();
    assert_eq!(model.counts().nsensor_value, total);
    assert_eq!(sensors.address[3], 88);
    assert_eq!(
        (model.sensors.cutoff[0], model.sensors.noise[0]),
        (3.0, 0.1)
    );
    // Real values are clipped on both sides, positive ones above, directions and segments not at all.
    let clip = [0, 5, 8, 11, 12, 13].map(|id| sensors.clip[id]);
    let expected = [Some(true), None, None, Some(false), None, Some(false)];
    assert_eq!(clip, expected);
}

#[test]
fn contact_sensors_report_what_they_are_asked_for() {
    let model = model(&with(
        r#"<contact/> <contact subtree1="a" geom2="gb" data="force dist" num="3" reduce="maxforce"/>
        <contact site="s" body2="b" data="found linvel angvel"/>"#,
    ));
    let sensors = &model.structure.sensors;
    let contact = |first, second, fields: &[usize], reduction, count| ContactSensor {
        first,
        second,
        report: ContactReport {
            fields: SensorFields(std::array::from_fn(|field| fields.contains(&field))),
            reduction,
            count,
        },
    };
    let expected = [
        contact(
            ContactMatch::Any,
            ContactMatch::Any,
            &[0],
            ContactReduction::None,
            1,
        ),
        contact(
            ContactMatch::Subtree(1),
            ContactMatch::Geom(2),
            &[1, 3],
            ContactReduction::MaximalForce,
            3,
        ),
        contact(
            ContactMatch::Site(0),
            ContactMatch::Body(2),
            &[0, 7, 8],
            ContactReduction::None,
            1,
        ),
    ];
    for (sensor, expected) in sensors.list.iter().zip(expected) {
        assert_eq!(sensor.kind, SensorKind::Contact(expected.report));
        assert_eq!(sensor.contact(expected.report), expected);
    }
    assert_eq!(sensors.dimension, [1, 12, 7]);
    assert_refused(
        &with(r#"<contact geom1="ga" data="linvel" reduce="netforce"/>"#),
        "sensor cannot report velocities of a net force",
    );
}

#[test]
fn sensors_that_cannot_work_are_refused() {
    for (sensor, reason) in [
        (
            r#"<jointpos joint="ball"/>"#,
            "sensor needs a slide or hinge joint",
        ),
        (r#"<ballquat joint="hinge"/>"#, "sensor needs a ball joint"),
        (
            r#"<jointlimitvel joint="ball"/>"#,
            "sensor needs a joint with limits",
        ),
        (
            r#"<tendonlimitfrc tendon="free"/>"#,
            "sensor needs a tendon with limits",
        ),
        (
            r#"<camprojection site="s" camera="blind"/>"#,
            "sensor needs a camera with a resolution",
        ),
        (
            r#"<rangefinder camera="blind"/>"#,
            "sensor needs a camera with a resolution",
        ),
        (
            r#"<distance geom1="ga" geom2="ga"/>"#,
            "sensor measures between an element and itself",
        ),
        (
            r#"<distance geom1="terrain" geom2="ga"/>"#,
            "sensor measures the distance of a height field, which is not supported",
        ),
        (
            r#"<gyro name="g" site="r"/>"#,
            "sensor 'g' refers to a site 'r' that does not exist",
        ),
        (r#"<clock noise="-1"/>"#, "noise of sensor is negative"),
        (r#"<clock cutoff="-1"/>"#, "cutoff of sensor is negative"),
        (
            r#"<ballquat joint="ball" cutoff="1"/>"#,
            "cutoff of sensor does not apply to unit vectors and quaternions",
        ),
        (
            r#"<user dim="2" datatype="axis"/>"#,
            "sensor needs dim 3 for an axis",
        ),
        (
            r#"<user name="u" dim="2000000000"/>"#,
            "sensor 'u' brings the sensor values to 2000000000, too many to hold",
        ),
    ] {
        assert_refused(&with(sensor), reason);
    }
}

#[test]
fn all_problems_are_reported_in_one_run() {
    let found = refusals(&with(
        r#"<gyro site="r"/> <jointpos joint="ball"/> <clock noise="-1"/>"#,
    ));
    assert_eq!(found.len(), 3);
}
