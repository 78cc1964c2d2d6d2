//! Calibrated models are patches of the files that they come from.

use std::path::Path;

use carom::load::Loaded;
use carom::parameters::Parameters;
use carom_tasks::identify::{Original, calibrated, calibrated_at};

use crate::support::{Folder, root};

fn loaded(path: &Path) -> Loaded {
    carom::load::file(path, &[]).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The model with every chosen number a little elsewhere.
fn moved(loaded: &Loaded, names: &[&str]) -> String {
    let parameters = Parameters::select(&loaded.model, names).unwrap();
    let theta: Vec<f64> = (parameters.theta0().iter().enumerate())
        .map(|(k, theta)| theta * (1.01 + 0.001 * k as f64) + 1e-4)
        .collect();
    let original = Original {
        spec: &loaded.spec,
        sources: &loaded.sources,
    };
    // It reads its text again and compares every number itself.
    calibrated(
        &loaded.model,
        &loaded.spec,
        Some(original),
        &parameters,
        &theta,
    )
    .unwrap()
}

/// Lines of a text that another one does not have.
fn news<'t>(text: &'t str, other: &str) -> Vec<&'t str> {
    let lines = text
        .lines()
        .filter(|line| !other.lines().any(|own| own == *line));
    lines.map(str::trim).collect()
}

const ARM: &str = r#"<?xml version="1.0"?>
<!-- An arm. -->
<mujoco model="arm">
  <include file="common.xml"/>
  <include file="bodies.xml"/>
  <actuator>
    <!-- Servos. -->
    <position name="lift" joint="shoulder"   kp="30.0" dampratio='1' ctrlrange="-1 1"/>
    <motor name="push" joint="elbow" gear="2"/>
    <general name="turn" joint="elbow" gainprm="3" biastype="affine" biasprm="0 -3 -0.1"/>
  </actuator>
</mujoco>
"#;

const COMMON: &str = r#"<mujocoinclude>
  <!-- Used by all arms. -->
  <compiler angle="degree" autolimits="true"/>
  <default>
    <joint damping="0.5" armature="0.01"/>
    <default class="soft"><geom friction="0.7 0.01 0.001" solref="0.03 1"/></default>
  </default>
</mujocoinclude>
"#;

const BODIES: &str = r#"<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1" euler="0 90 0">
      <joint name="shoulder" axis="0 1 0" range="-57.3 90"/>   <!-- degrees -->
      <geom name="rod" type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
      <frame pos="0.4 0 0" euler="0 0 90">
        <body name="lower" pos="0.02 0 0">
          <joint name="elbow" axis="0 1 0" pos="0 0 0.01" springref="30" stiffness="1"/>
          <inertial pos="0.1 0 0" mass="0.5" fullinertia="0.002 0.004 0.005 0.0001 0 0"/>
          <geom name="tip" class="soft" size="0.05" pos="0.3 0 0"/>
        </body>
      </frame>
    </body>
  </worldbody>
</mujoco>
"#;

fn arm(folder: &Folder) -> Loaded {
    folder.write("common.xml", COMMON);
    folder.write("bodies.xml", BODIES);
    loaded(&folder.write("arm.xml", ARM))
}

#[test]
fn a_patch_changes_numbers_alone() {
    let folder = Folder::new("patch");
    let arm = arm(&folder);
    // In the main file: everything else stays to the byte.
    let text = moved(&arm, &["actuator.lift.kp", "actuator.push.gear[0]"]);
    assert_eq!(
        news(&text, ARM),
        [
            r#"<position name="lift" joint="shoulder"   kp="30.3001" dampratio='1' ctrlrange="-1 1"/>"#,
            r#"<motor name="push" joint="elbow" gear="2.0221"/>"#,
        ]
    );
    // In an include: that one is replaced by its content, the other stays.
    let text = moved(&arm, &["joint.shoulder.range[0]"]);
    assert!(text.contains(r#"<include file="common.xml"/>"#), "{text}");
    let all = format!("{ARM}{BODIES}");
    assert_eq!(
        news(&text, &all),
        [
            "<!-- bodies.xml -->",
            r#"<joint name="shoulder" axis="0 1 0" range="-57.86727042204868 90"/>   <!-- degrees -->"#,
        ]
    );
}

#[test]
fn values_of_classes_geoms_and_frames_are_written_at_the_element() {
    let folder = Folder::new("places");
    let arm = arm(&folder);
    for (names, expected) in [
        // From a class; from nowhere.
        (
            ["joint.shoulder.damping[0]"],
            r#"range="-57.3 90" damping="0.5051"/>"#,
        ),
        (["geom.tip.margin"], r#"margin="0.0001"/>"#),
        (
            ["geom.tip.friction[0]"],
            r#"pos="0.3 0 0" friction="0.7071 0.01 0.001"/>"#,
        ),
        // A radius leaves the ends.
        (
            ["geom.rod.size[0]"],
            r#"fromto="0 0 0 0.4 0 0" size="0.0304"/>"#,
        ),
        // Inertia from geoms becomes explicit.
        (["body.upper.mass"], "<inertial pos="),
        // In the frame of the file: the body's y is the frame's x.
        (["body.lower.pos[1]"], r#"<body name="lower" pos="0.0203"#),
    ] {
        let text = moved(&arm, &names);
        assert!(
            text.contains(expected) && !text.contains("written whole"),
            "{names:?}: {text}"
        );
        assert!(text.contains("<!-- Servos. -->"));
    }
    let text = moved(&arm, &["body.lower.pseudo_inertia"]);
    assert!(
        !text.contains("fullinertia") && text.contains("diaginertia"),
        "{text}"
    );
}

#[test]
fn pairs_are_written_whatever_their_order() {
    let folder = Folder::new("pairs");
    let text = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="a"><freejoint/><geom name="a" size="0.1"/></body>
      <body name="b" pos="1 0 0"><freejoint/><geom name="b" size="0.1"/></body></worldbody>
      <contact>
        <pair name="bodies" geom1="b" geom2="a" friction="0.3 0.3 0.005 0.0001 0.0001"/>
        <pair name="late" geom1="b" geom2="floor" friction="0.25 0.25 0.005 0.0001 0.0001"/>
        <pair name="early" geom1="floor" geom2="a" friction="0.2 0.2 0.005 0.0001 0.0001"/>
      </contact></mujoco>"#;
    let pairs = loaded(&folder.write("pairs.xml", text));
    assert_eq!(
        pairs.model.structure.names.pairs,
        ["early", "late", "bodies"]
    );
    let patch = moved(&pairs, &["pair.late.friction[0]", "pair.bodies.margin"]);
    let [bodies, late] = news(&patch, text)[..] else {
        panic!("{patch}")
    };
    assert!(
        bodies.contains("bodies") && bodies.contains(r#"0.0001" margin="0.000"#),
        "{bodies}"
    );
    assert!(
        late.contains("late") && late.contains(r#"friction="0.2526 0.25"#),
        "{late}"
    );
}

#[test]
fn files_are_found_from_another_folder() {
    let folder = Folder::new("moved");
    let corners =
        "v 0.1 0 0\nv -0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 4\nf 1 4 2\nf 1 2 3\nf 2 4 3\n";
    std::fs::create_dir_all(folder.path("model/parts/own")).unwrap();
    std::fs::create_dir_all(folder.path("out")).unwrap();
    folder.write("model/parts/stone.obj", corners);
    folder.write("model/parts/own/beside.obj", corners);
    folder.write(
        "model/defaults.xml",
        "<mujoco><default><geom density='500'/></default></mujoco>",
    );
    // Found beside the file that names it.
    folder.write(
        "model/parts/own/more.xml",
        "<mujoco><asset><mesh name='beside' file='beside.obj'/></asset></mujoco>",
    );
    let text = r#"<mujoco>
  <compiler meshdir="parts"/>
  <include file="defaults.xml"/>
  <include file="parts/own/more.xml"/>
  <asset><mesh name="stone" file="stone.obj"/></asset>
  <worldbody><body name="a"><freejoint/><geom name="a" type="mesh" mesh="stone"/></body>
    <body name="b"><freejoint/><geom name="b" type="mesh" mesh="beside"/></body></worldbody>
</mujoco>
"#;
    let path = folder.write("model/model.xml", text);
    let model = loaded(&path);
    let patch = moved(&model, &["geom.a.friction[0]"]);
    assert_eq!(news(&patch, text).len(), 1, "{patch}");
    assert_eq!(
        calibrated_at(&patch, &path, &folder.path("model/other.xml")).unwrap(),
        patch
    );
    let to = folder.path("out/calibrated.xml");
    let placed = calibrated_at(&patch, &path, &to).unwrap();
    for expected in [
        r#"meshdir="../model/parts""#,
        r#"<include file="../model/defaults.xml"/>"#,
        "file='own/beside.obj'",
        r#"file="stone.obj""#,
    ] {
        assert!(placed.contains(expected), "{expected}: {placed}");
    }
    std::fs::write(&to, placed).unwrap();
    let there = loaded(&to).model;
    assert_eq!(there.geoms.friction[0][0], 1.0101);
    assert_eq!(there.bodies.mass, model.model.bodies.mass);
}

/// A robot with seventy mesh files: a patch is as small as its files.
#[test]
fn a_calibrated_panda_is_a_few_kilobytes() {
    let Some(path) = carom_testing::shared("models/menagerie_panda/scene.xml") else {
        return;
    };
    let panda = loaded(&path);
    let text = moved(
        &panda,
        &[
            "joint.*.damping[0]",
            "joint.*.armature",
            "body.*.pseudo_inertia",
            "actuator.*.kp",
        ],
    );
    let folder = Folder::new("panda");
    let to = folder.path("calibrated.xml");
    let placed = calibrated_at(&text, &path, &to).unwrap();
    assert!(placed.contains("mesh") && !placed.contains("written whole"));
    assert!(placed.len() <= 30_000, "{} bytes", placed.len());
    std::fs::write(&to, placed).unwrap();
    assert_eq!(loaded(&to).model.counts(), panda.model.counts());
}

/// What is written whole: end points that a class has too, so that no element can be without, and shortcuts without a word for a change.
const WHOLE: [(&str, &str); 10] = [
    ("ball_chain.xml", "geom.*.size"),
    ("ball_chain.xml", "geom.*.pos"),
    ("dc_motor.xml", "geom.*.size"),
    ("dc_motor.xml", "geom.*.pos"),
    ("orientation_servo.xml", "geom.*.size"),
    ("orientation_servo.xml", "geom.*.pos"),
    ("orientation_servo.xml", "actuator.*.gear"),
    ("pid.xml", "geom.*.size"),
    ("pid.xml", "geom.*.pos"),
    ("pid.xml", "actuator.*.ctrlrange"),
];

fn has_free_joint(loaded: &Loaded) -> bool {
    let mut files = loaded.sources.files().iter();
    files.any(|file| file.text().contains("<freejoint"))
}

/// What each family of parameters comes to in every model that ships: a patch, except where one element stands for several.
#[test]
fn all_families_are_patched_in_all_models() {
    let families = [
        "body.*.mass",
        "body.*.pseudo_inertia",
        "body.*.gravcomp",
        "joint.*.damping",
        "joint.*.armature",
        "joint.*.frictionloss",
        "joint.*.stiffness",
        "joint.*.springref",
        "joint.*.pos",
        "joint.*.solreflimit",
        "geom.*.friction",
        "geom.*.size",
        "geom.*.pos",
        "geom.*.mass",
        "geom.*.solref",
        "geom.*.solimp",
        "site.*.pos",
        "tendon.*.stiffness",
        "tendon.*.damping",
        "actuator.*.kp",
        "actuator.*.gear",
        "actuator.*.ctrlrange",
        "equality.*.solref",
        "pair.*.friction",
        "option.gravity",
        "option.viscosity",
        "joint.*.coulomb_friction",
    ];
    let mut patches = 0;
    let mut wrong: Vec<String> = Vec::new();
    for folder in ["models", "models/features"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "xml"));
        for path in files {
            let model = loaded(&path);
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            for family in families {
                let Ok(parameters) = Parameters::select(&model.model, &[family]) else {
                    continue;
                };
                // A free joint's frame follows its inertia there, and a body's centre its mesh: no file could be written before either.
                let is_refused = (name == "compiler.xml" && family.starts_with("body"))
                    || (name == "gem.xml" && family == "geom.*.pos");
                if is_refused {
                    continue;
                }
                let theta = parameters.theta0().iter().enumerate();
                let theta = theta.map(|(k, theta)| theta * (1.001 + 1e-4 * k as f64) + 1e-6);
                let theta: Vec<f64> = theta.collect();
                let original = Original {
                    spec: &model.spec,
                    sources: &model.sources,
                };
                let text = calibrated(
                    &model.model,
                    &model.spec,
                    Some(original),
                    &parameters,
                    &theta,
                );
                let text = match text {
                    Ok(text) => text,
                    Err(error) => {
                        wrong.push(format!("{name} {family}: {error}"));
                        continue;
                    }
                };
                let why = text.find("written whole").map(|at| text[at..].trim());
                // Copies share an element, and a free joint by that name takes what its class says once it has numbers.
                let is_special = name == "composed.xml"
                    || (family.starts_with("joint.") && has_free_joint(&model))
                    || WHOLE.contains(&(name.as_str(), family));
                match why {
                    Some(why) if !is_special => wrong.push(format!("{name} {family}: {why}")),
                    Some(_) => {}
                    None => patches += 1,
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(patches > 200, "{patches}");
}
