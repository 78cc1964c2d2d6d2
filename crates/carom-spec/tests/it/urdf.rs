//! URDF: what each element becomes, and what is said about mistakes. Expected values are MuJoCo 4.0.0's.

use carom_spec::mjcf::ReadSettings;
use carom_spec::model_spec::{EqualityKind, GeomKind, InertiaSpec, JointKind};
use carom_spec::read::{ReadModel, read};
use carom_spec::{MemorySource, ModelSpec};

const TETRAHEDRON: &str =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
const INERTIAL: &str = r#"<inertial><origin xyz="0.1 0 0" rpy="0 0 0.5"/><mass value="2"/>
    <inertia ixx="1" iyy="1.2" izz="1.5" ixy="0.1" ixz="0" iyz="0.05"/></inertial>"#;

fn load(content: &str) -> ReadModel {
    let text = format!("<robot name=\"r\">{content}</robot>");
    let files = MemorySource::new()
        .with("robots/r.urdf", text)
        .with("robots/arm.obj", TETRAHEDRON)
        .with("robots/meshes/leg.obj", TETRAHEDRON)
        .with("box_description/meshes/box.obj", TETRAHEDRON);
    read("robots/r.urdf".as_ref(), &files, &ReadSettings::default())
}

fn clean(content: &str) -> ModelSpec {
    let model = load(content);
    let messages: Vec<String> = model
        .diagnostics
        .iter()
        .map(|one| one.render(&model.sources))
        .collect();
    assert!(messages.is_empty(), "{}", messages.join("\n"));
    model.spec
}

/// Two links with a joint of that type between them.
fn two_links(kind: &str, inside: &str) -> String {
    format!(
        r#"<link name="a"/><link name="b">{INERTIAL}</link>
           <joint name="j" type="{kind}"><parent link="a"/><child link="b"/>
           <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>{inside}</joint>"#
    )
}

#[test]
fn a_revolute_joint_has_pose_limits_dynamics_and_effort() {
    let spec = clean(&two_links(
        "revolute",
        r#"<limit lower="-1" upper="2" effort="-30" velocity="3"/>
           <dynamics damping="0.3" friction="0.4"/>"#,
    ));
    assert!(spec.compiler.fuse_static && spec.compiler.discard_visual);
    let body = &spec.bodies[2];
    assert_eq!(
        (body.name.as_str(), body.parent, body.position),
        ("b", 1, [0.0, 0.0, 1.0])
    );
    let quaternion = [0.983_347, 0.034_271, 0.106_021, 0.143_572];
    assert!(
        body.quaternion
            .iter()
            .zip(quaternion)
            .all(|(a, b)| (a - b).abs() < 1e-6)
    );
    let joint = &body.joints[0];
    assert_eq!((joint.name.as_str(), joint.kind), ("j", JointKind::Hinge));
    assert_eq!(
        (joint.axis, joint.range, joint.limited),
        ([0.0, 1.0, 0.0], [-1.0, 2.0], None)
    );
    assert_eq!(joint.actuator_force_range, [-30.0, 30.0]);
    assert_eq!((joint.damping[0], joint.friction_loss), (0.3, 0.4));
}

#[test]
fn inertia_turns_with_its_origin() {
    let spec = clean(&two_links("revolute", ""));
    let inertial = spec.bodies[2].inertial.as_ref().unwrap();
    assert_eq!((inertial.mass, inertial.position), (2.0, [0.1, 0.0, 0.0]));
    let InertiaSpec::Full(matrix) = inertial.inertia else {
        panic!("not a full matrix")
    };
    let expected = [0.961_823, 1.238_177, 1.5, -0.030_117, -0.023_971, 0.043_879];
    assert!(
        matrix
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-6),
        "{matrix:?}"
    );
}

#[test]
fn every_joint_type_has_its_counterpart() {
    let kinds = |kind: &str| -> Vec<(String, JointKind)> {
        let limit = r#"<limit lower="0" upper="1"/>"#;
        let spec = clean(&two_links(kind, limit));
        spec.bodies[2]
            .joints
            .iter()
            .map(|joint| (joint.name.clone(), joint.kind))
            .collect()
    };
    let one = |kind| vec![("j".to_owned(), kind)];
    assert_eq!(kinds("continuous"), one(JointKind::Hinge));
    assert_eq!(kinds("prismatic"), one(JointKind::Slide));
    assert_eq!(kinds("floating"), one(JointKind::Free));
    assert_eq!(kinds("spherical"), one(JointKind::Ball));
    assert_eq!(kinds("fixed"), Vec::new());
    let planar = [
        ("j_TX", JointKind::Slide),
        ("j_TY", JointKind::Slide),
        ("j_RZ", JointKind::Hinge),
    ];
    assert_eq!(
        kinds("planar"),
        planar.map(|(name, kind)| (name.to_owned(), kind))
    );
    let spec = clean(&two_links("planar", ""));
    let axes: Vec<[f64; 3]> = spec.bodies[2]
        .joints
        .iter()
        .map(|joint| joint.axis)
        .collect();
    for (axis, expected) in axes
        .iter()
        .zip([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    {
        assert!(
            axis.iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-15),
            "{axes:?}"
        );
    }
}

#[test]
fn limits_that_say_nothing_do_not_limit() {
    let joint = |kind: &str, limit: &str| {
        let spec = clean(&two_links(kind, limit));
        let joint = &spec.bodies[2].joints[0];
        (joint.limited, joint.range)
    };
    let both = r#"<limit lower="-1" upper="2"/>"#;
    assert_eq!(joint("continuous", both), (None, [0.0, 0.0]));
    assert_eq!(
        joint("revolute", r#"<limit lower="-1"/>"#),
        (Some(false), [-1.0, 0.0])
    );
    assert_eq!(
        joint("revolute", r#"<limit lower="1" upper="-1"/>"#),
        (Some(false), [1.0, -1.0])
    );
    assert_eq!(joint("revolute", ""), (None, [0.0, 0.0]));
}

#[test]
fn geometry_has_half_sizes_and_the_colour_of_the_visual_before() {
    let spec = clean(
        r#"<material name="red"><color rgba="1 0 0 1"/></material>
           <link name="a"><collision name="c"><geometry><box size="1 2 3"/></geometry></collision>
           <visual><material name="red"/><geometry><sphere radius="1"/></geometry></visual>
           <collision><origin xyz="1 2 3"/><geometry><cylinder radius="1" length="3"/></geometry></collision>
           <collision><geometry><capsule radius="1" length="3"/></geometry></collision></link>"#,
    );
    let geoms = &spec.bodies[1].geoms;
    let kinds: Vec<GeomKind> = geoms.iter().map(|geom| geom.kind).collect();
    assert_eq!(
        kinds,
        [GeomKind::Box, GeomKind::Cylinder, GeomKind::Capsule]
    );
    assert_eq!(
        (geoms[0].size, geoms[0].name.as_str()),
        ([0.5, 1.0, 1.5], "c")
    );
    assert_eq!(
        (geoms[1].size, geoms[1].position),
        ([1.0, 1.5, 0.0], [1.0, 2.0, 3.0])
    );
    assert_eq!(
        (geoms[0].rgba, geoms[1].rgba),
        ([0.5, 0.5, 0.5, 1.0], [1.0, 0.0, 0.0, 1.0])
    );
}

#[test]
fn visuals_are_kept_on_request() {
    let spec = clean(
        r#"<mujoco><compiler discardvisual="false" angle="degree"/><option timestep="0.01"/></mujoco>
           <link name="a"><visual><geometry><sphere radius="1"/></geometry></visual></link>"#,
    );
    let geom = &spec.bodies[1].geoms[0];
    assert_eq!(
        (geom.contype, geom.conaffinity, geom.group, geom.density),
        (0, 0, 1, 0.0)
    );
    assert_eq!(spec.option.timestep, 0.01);
}

#[test]
fn meshes_are_shared_by_file_and_scale() {
    let collision = |file: &str, scale: &str| {
        format!("<collision><geometry><mesh filename=\"{file}\" {scale}/></geometry></collision>")
    };
    let content: String = [
        collision("arm.obj", ""),
        collision("arm.obj", "scale=\"2 2 2\""),
        collision("arm.obj", ""),
        collision("meshes\\leg.obj", ""),
        collision("package://box_description/meshes/box.obj", ""),
    ]
    .concat();
    let spec = clean(&format!("<link name=\"a\">{content}</link>"));
    let names: Vec<&str> = spec.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["arm", "arm1", "leg", "box"]);
    assert_eq!(spec.meshes[1].scale, [2.0; 3]);
    let used: Vec<&str> = spec.bodies[1]
        .geoms
        .iter()
        .map(|geom| geom.mesh.as_ref().unwrap().name.as_str())
        .collect();
    assert_eq!(used, ["arm", "arm1", "arm", "leg", "box"]);
    let stripped = clean(&format!(
        "<mujoco><compiler strippath=\"true\" meshdir=\"meshes\"/></mujoco><link name=\"a\">{}</link>",
        collision("package://robot/some/leg.obj", "")
    ));
    assert_eq!(stripped.meshes[0].source, "meshes/leg.obj");
}

#[test]
fn the_world_link_is_the_world() {
    let ground = r#"<collision><geometry><box size="1 1 1"/></geometry></collision>"#;
    let spec = clean(&format!(
        r#"<link name="world">{ground}</link><link name="b">{INERTIAL}</link>
           <joint name="j" type="revolute"><parent link="world"/><child link="b"/></joint>"#
    ));
    assert_eq!(spec.bodies.len(), 2);
    assert_eq!((spec.bodies[0].geoms.len(), spec.bodies[1].parent), (1, 0));
}

#[test]
fn mimic_becomes_an_equality() {
    let follower = r#"<link name="c"/><joint name="k" type="prismatic"><parent link="b"/>
        <child link="c"/><mimic joint="j" multiplier="2" offset="0.1"/></joint>"#;
    let spec = clean(&(two_links("revolute", "") + follower));
    let EqualityKind::Joint {
        first,
        second,
        polynomial,
    } = &spec.equalities[0].kind
    else {
        panic!("not a joint equality")
    };
    assert_eq!(
        (first.name.as_str(), second.as_ref().unwrap().name.as_str()),
        ("k", "j")
    );
    assert_eq!(*polynomial, [0.1, 2.0, 0.0, 0.0, 0.0]);
    let ignored = load(&(two_links("floating", "") + follower));
    assert!(ignored.spec.equalities.is_empty());
    assert!(
        ignored.diagnostics[0]
            .message
            .starts_with("<mimic> of joint 'k' is ignored")
    );
}

#[test]
fn joint_order_decides_body_order() {
    let joint = |name: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"a\"/><child link=\"{child}\"/></joint>"
        )
    };
    let spec = clean(&format!(
        "<link name=\"a\"/><link name=\"b\"/><link name=\"c\"/>{}{}",
        joint("1", "c"),
        joint("2", "b")
    ));
    let names: Vec<&str> = spec.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["world", "a", "c", "b"]);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let joint = |inside: &str| {
        format!(
            "<link name=\"a\"/><link name=\"b\"/>\n<joint name=\"j\" type=\"revolute\">{inside}</joint>"
        )
    };
    let cases = [
        ("<link/>".to_owned(), "<link> needs the attribute 'name'"),
        ("<link name=\"a\"/><link name=\"a\"/>".to_owned(), "there are two links named 'a'"),
        (joint("<child link=\"b\"/>"), "<joint> needs a <parent>"),
        (joint("<parent link=\"aa\"/><child link=\"b\"/>"), "there is no link named 'aa'"),
        (joint("<parent link=\"a\"/><child link=\"a\"/>"), "link 'a' hangs on itself through its joints"),
        (
            joint("<parent link=\"a\"/><child link=\"b\"/><axis xyz=\"1 2\"/>"),
            "'xyz' of <axis> needs 3 values, found 2",
        ),
        (two_links("rotary", ""), "'type' of <joint> must be one of revolute, continuous, prismatic, fixed, floating, planar, spherical, not 'rotary'"),
        (
            "<link name=\"a\"><collision/></link>".to_owned(),
            "<collision> needs a <geometry>",
        ),
        (
            "<link name=\"a\"><collision><geometry/></collision></link>".to_owned(),
            "<geometry> needs a <box>, <cylinder>, <sphere>, <capsule> or <mesh>",
        ),
        (
            "<link name=\"a\"><collision><geometry><mesh filename=\"x.obj\"/></geometry></collision></link>".to_owned(),
            "cannot find file 'robots/x.obj'",
        ),
        (
            "<link name=\"a\"><collision><geometry><mesh filename=\"x.dae\"/></geometry></collision></link>".to_owned(),
            "'filename' of <mesh> must be an OBJ, STL or MSH file",
        ),
        (
            "<link name=\"a\"><inertial><mass value=\"1\"/></inertial></link>".to_owned(),
            "<inertial> needs a <inertia>",
        ),
        (
            "<link name=\"a\"><colision/></link>".to_owned(),
            "<colision> is not known and is ignored",
        ),
    ];
    for (content, message) in cases {
        let model = load(&content);
        let found: Vec<&str> = model
            .diagnostics
            .iter()
            .map(|one| one.message.as_str())
            .collect();
        assert_eq!(found, [message], "{content}");
        assert!(model.diagnostics[0].span.is_some(), "{content}");
    }
}
