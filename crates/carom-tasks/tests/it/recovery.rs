//! Every kind of parameter is found from noise-free motions of a model that has another value of it and written into a file, or
//! refused by name.

use carom::parameters::Parameters;
use carom::{Model, State};
use carom_spec::model_spec::{JointLawDescription, JointLawKind};
use carom_tasks::identify::{
    FREE_STARTS, Free, OptimiserKind, Prior, Settings, Task, Unwatched, calibrated, preset,
};
use carom_tasks::problem::{self, Problem, Starts};
use carom_tasks::recording::Recordings;

use crate::support::{Folder, load, model_of, simulate};

/// A kind of parameter.
struct Case {
    /// Numbers to find, and what they are in the motion.
    unknown: &'static [(&'static str, f64)],
    /// The model, with other numbers.
    model: &'static str,
    /// What is recorded of it.
    mapping: &'static str,
    /// Positions and velocities at the start.
    start: (&'static [f64], &'static [f64]),
    /// Steps, and how many a frame.
    steps: (usize, usize),
}

/// A pendulum on a servo.
const SERVO: &str = r#"<mujoco><option timestep="0.004"/><worldbody>
  <body><joint name="hinge" axis="0 1 0" damping="0.1" armature="0.02" frictionloss="0.05" stiffness="0.5" springref="0.1"/>
    <inertial pos="0 0.02 -0.3" mass="0.8" diaginertia="0.02 0.03 0.01"/>
    <site name="imu" pos="0.02 0 -0.2"/></body></worldbody>
  <actuator><position name="servo" joint="hinge" kp="12" kv="0.4" delay="0.01" nsample="12" interp="linear"/>
    <general name="drive" joint="hinge" gainprm="2" biastype="affine" biasprm="0.1 -0.3 -0.1" gear="1.5"/></actuator>
  <sensor><gyro name="gyro" site="imu"/><accelerometer name="accelerometer" site="imu"/><framepos name="place" objtype="site" objname="imu"/>
    <jointpos name="late" joint="hinge" delay="0.01" nsample="12" interp="linear"/></sensor></mujoco>"#;
const ANGLE: &str = "time.column = 't'\n[[joint]]\nname = 'hinge'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\n\
    [[actuator]]\nname = 'servo'\ncontrol = 'ctrl[0]'\n[[actuator]]\nname = 'drive'\ncontrol = 'ctrl[1]'\n";
const READINGS: &str = "time.column = 't'\n[[joint]]\nname = 'hinge'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\n\
    [[actuator]]\nname = 'servo'\ncontrol = 'ctrl[0]'\n[[actuator]]\nname = 'drive'\ncontrol = 'ctrl[1]'\n\
    [[sensor]]\nname = 'gyro'\nvalues = 'sensor[0:3]'\n[[sensor]]\nname = 'accelerometer'\nvalues = 'sensor[3:6]'\n\
    [[sensor]]\nname = 'place'\nvalues = 'sensor[6:9]'\n[[sensor]]\nname = 'late'\nvalues = 'sensor[9]'\n";

/// A body that slides, rolls or tumbles on a table.
const TABLE: &str = r#"<mujoco><option timestep="0.002" cone="elliptic"/><worldbody>
  <geom name="table" type="plane" size="5 5 1" friction="0.4" solref="0.02 1" solimp="0 0.95 0.01 0.5 2"/>
  <body name="box" pos="0 0 0.06"><freejoint/><geom name="box" type="box" size="0.05 0.06 0.05" mass="0.5" friction="0.4" solref="0.02 1" solimp="0 0.95 0.01 0.5 2"/></body>
  </worldbody></mujoco>"#;
const POSE: &str = "time.column = 't'\n[[body]]\nname = 'box'\nposition = 'qpos[0:3]'\nrotation = 'qpos[3:7]'\n\
    linear_velocity = 'qvel[0:3]'\nangular_velocity = 'qvel[3:6]'\n";
const SLIDING: (&[f64], &[f64]) = (
    &[0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0],
    &[1.2, 0.3, 0.0, 0.0, 0.0, 1.5],
);
const FALLING: (&[f64], &[f64]) = (
    &[0.0, 0.0, 0.12, 0.96, 0.2, 0.15, 0.1],
    &[0.4, 0.1, -0.5, 1.0, -0.7, 0.5],
);

const CASES: &[(&str, Case)] = &[
    ("damping", servo(&[("joint.hinge.damping[0]", 0.25)], ANGLE)),
    ("armature", servo(&[("joint.hinge.armature", 0.05)], ANGLE)),
    (
        "dry friction",
        servo(&[("joint.hinge.frictionloss", 0.12)], ANGLE),
    ),
    (
        "spring",
        servo(
            &[
                ("joint.hinge.stiffness[0]", 1.5),
                ("joint.hinge.springref", 0.3),
            ],
            ANGLE,
        ),
    ),
    (
        "gains of a servo",
        servo(
            &[("actuator.servo.kp", 16.0), ("actuator.servo.kv", 0.7)],
            ANGLE,
        ),
    ),
    (
        "gain and bias",
        servo(
            &[
                ("actuator.drive.gainprm[0]", 3.0),
                ("actuator.drive.biasprm[0]", 0.4),
                ("actuator.drive.biasprm[1]", -0.8),
            ],
            ANGLE,
        ),
    ),
    (
        "delay of commands",
        servo(&[("actuator.servo.delay", 0.0223)], ANGLE),
    ),
    (
        "delay of a reading",
        servo(&[("sensor.late.delay", 0.0223)], READINGS),
    ),
    (
        "gravity",
        servo(
            &[("option.gravity[0]", 0.4), ("option.gravity[2]", -9.2)],
            ANGLE,
        ),
    ),
    (
        "place of a sensor",
        servo(
            &[
                ("site.imu.pos[0]", 0.05),
                ("site.imu.pos[2]", -0.25),
                ("site.imu.quat[2]", 0.1),
            ],
            READINGS,
        ),
    ),
    (
        "mass and centre",
        servo(&[("body.1.mass", 1.1), ("body.1.ipos[0]", 0.03)], ANGLE),
    ),
    (
        "friction, tied",
        table(&[("geom.*.friction[0] tied", 0.25)], SLIDING),
    ),
    (
        "tilt and offset of the table",
        table(
            &[
                ("geom.table.quat[1]", 0.03),
                ("geom.table.quat[2]", -0.02),
                ("geom.table.pos[2]", 0.004),
            ],
            SLIDING,
        ),
    ),
    (
        "size of a box",
        table(
            &[("geom.box.size[0]", 0.055), ("geom.box.size[2]", 0.045)],
            FALLING,
        ),
    ),
    (
        "contact, tied",
        table(
            &[
                ("geom.*.solref[0] log tied", 0.03),
                ("geom.*.solimp[2] log tied", 0.015),
            ],
            FALLING,
        ),
    ),
    ("margin", table(&[("geom.box.margin", 0.004)], FALLING)),
    (
        "corner radius",
        Case {
            unknown: &[
                ("geom.corner*.size[0] tied", 0.016),
                ("geom.corner*.pos[2] tied-ratio", -0.043),
            ],
            model: ROUNDED,
            mapping: POSE,
            start: FALLING,
            steps: (150, 3),
        },
    ),
    (
        "vertices of a mesh",
        Case {
            unknown: &[
                ("mesh.stone.vertex[2]", 0.012),
                ("mesh.stone.vertex[17]", -0.052),
            ],
            model: STONE,
            mapping: POSE,
            start: FALLING,
            steps: (150, 3),
        },
    ),
];

const fn servo(unknown: &'static [(&'static str, f64)], mapping: &'static str) -> Case {
    Case {
        unknown,
        model: SERVO,
        mapping,
        start: (&[0.7], &[0.0]),
        steps: (400, 2),
    }
}

const fn table(
    unknown: &'static [(&'static str, f64)],
    start: (&'static [f64], &'static [f64]),
) -> Case {
    Case {
        unknown,
        model: TABLE,
        mapping: POSE,
        start,
        steps: (150, 3),
    }
}

/// A cube whose corners are spheres.
const ROUNDED: &str = r#"<mujoco><option timestep="0.002"/><default><geom solref="0.02 1" solimp="0 0.95 0.01 0.5 2" size="0.01" friction="0.4"/></default>
  <worldbody><geom name="table" type="plane" size="5 5 1"/>
  <body name="box"><freejoint/><inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/>
    <geom name="corner0" pos="-0.04 -0.04 -0.04"/><geom name="corner1" pos="0.04 -0.04 -0.04"/>
    <geom name="corner2" pos="-0.04 0.04 -0.04"/><geom name="corner3" pos="0.04 0.04 -0.04"/>
    <geom name="corner4" pos="-0.04 -0.04 0.04"/><geom name="corner5" pos="0.04 -0.04 0.04"/>
    <geom name="corner6" pos="-0.04 0.04 0.04"/><geom name="corner7" pos="0.04 0.04 0.04"/></body></worldbody></mujoco>"#;

/// A mesh of six vertices.
const STONE: &str = r#"<mujoco><option timestep="0.002"/><default><geom solref="0.02 1" solimp="0 0.95 0.01 0.5 2"/></default>
  <asset><mesh name="stone" vertex="0.06 0 0.01  -0.05 0.01 0  0 0.05 -0.01  0.01 -0.06 0  0 0.01 0.05  0.01 0 -0.045"/></asset>
  <worldbody><geom name="table" type="plane" size="5 5 1"/>
  <body name="box"><freejoint/><geom type="mesh" mesh="stone" density="900"/></body></worldbody></mujoco>"#;

/// Records a motion of the model with the numbers that are to be found.
fn recorded(case: &Case, folder: &Folder) -> (Model, Recordings) {
    let model = model_of(folder, case.model);
    // Without modifiers, θ is the number itself.
    let plain: Vec<String> = (case.unknown.iter())
        .map(|(name, _)| name.replace(" log", ""))
        .collect();
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let parameters = Parameters::select(&model, &plain).unwrap();
    let truth: Vec<f64> = case.unknown.iter().map(|&(_, value)| value).collect();
    let truth = parameters.apply(&truth).unwrap();
    let mut start = State::reference(&truth);
    start.qpos.copy_from_slice(case.start.0);
    start.qvel.copy_from_slice(case.start.1);
    let command = |time: f64| 0.6 * (5.0 * time + 2.0 * time * time).sin();
    let text = simulate(&truth, &start, case.steps, &command);
    let path = folder.write("motion.csv", &text);
    let recordings = load(&model, case.mapping, &path).unwrap();
    (model, recordings)
}

fn settings(names: &[&str]) -> Settings {
    let free = names.iter().map(|name| Free::new(name.parse().unwrap()));
    Settings {
        free: free.collect(),
        ..Settings::default()
    }
}

fn check_recovery(what: &str) {
    let (_, case) = CASES.iter().find(|(name, _)| *name == what).unwrap();
    check_case(what, case);
}

/// Finds the numbers of a case from its motion, and writes them into a file.
fn check_case(what: &str, case: &Case) {
    let folder = Folder::new(&format!("recovery-{}", what.replace([' ', ','], "-")));
    let (model, recordings) = recorded(case, &folder);
    let names: Vec<&str> = case.unknown.iter().map(|&(name, _)| name).collect();
    let mut task = match Task::new(&model, &recordings, settings(&names)) {
        Ok(task) => task,
        Err(error) => panic!("{what}: {error}"),
    };
    let inspection = task.inspect().unwrap();
    assert_eq!(inspection.refusal(), None, "{what}");
    task.warm_up(None).unwrap();
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    let found = task.conclude(&solution).unwrap();
    for (estimate, (_, truth)) in found.estimates.iter().zip(case.unknown) {
        assert!(
            (estimate.value - truth).abs() < 1e-4 * truth.abs().max(0.01),
            "{what}: {} is {}, not {truth}; {}, loss {:e} from {:e}",
            estimate.name,
            estimate.value,
            solution.end,
            solution.value,
            inspection.value
        );
    }
    let spec = carom_spec::read_file(&folder.write("model.xml", case.model), &[]).spec;
    if let Err(error) = calibrated(
        task.parameters().base(),
        &spec,
        None,
        task.parameters(),
        &found.theta,
    ) {
        panic!("{what}: {error}");
    }
}

mod every_kind_of_parameter_is_found {
    use super::{CASES, check_recovery};

    macro_rules! cases {
        ($($test:ident: $case:literal,)+) => {
            $(
                #[test]
                fn $test() {
                    check_recovery($case);
                }
            )+

            #[test]
            fn every_case_has_a_test() {
                let cases: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
                assert_eq!(cases, [$($case),+]);
            }
        };
    }

    cases! {
        damping: "damping",
        armature: "armature",
        dry_friction: "dry friction",
        spring: "spring",
        gains_of_a_servo: "gains of a servo",
        gain_and_bias: "gain and bias",
        delay_of_commands: "delay of commands",
        delay_of_a_reading: "delay of a reading",
        gravity: "gravity",
        place_of_a_sensor: "place of a sensor",
        mass_and_centre: "mass and centre",
        friction_tied: "friction, tied",
        tilt_and_offset_of_the_table: "tilt and offset of the table",
        size_of_a_box: "size of a box",
        contact_tied: "contact, tied",
        margin: "margin",
        corner_radius: "corner radius",
        vertices_of_a_mesh: "vertices of a mesh",
    }
}

/// The numbers of every law of joints, from values that are a tenth off; a new law is tried as soon as it is declared.
#[test]
fn numbers_of_laws_of_joints_are_found() {
    for kind in JointLawKind::ALL {
        let JointLawDescription { name, numbers } = kind.description();
        let (mut data, mut unknown) = (vec![format!("law={name}; joint=hinge")], Vec::new());
        for number in *numbers {
            let truth = 1.3 * number.default + 0.1;
            data.push(format!("{}={}", number.name, 1.1 * truth));
            let parameter: &'static str = format!("joint.hinge.{}", number.name).leak();
            unknown.push((parameter, truth));
        }
        let data = data.join("; ");
        let case = Case {
            unknown: unknown.leak(),
            model: format!(
                r#"<mujoco><option timestep="0.004"/><worldbody><body><joint name="hinge" axis="0 1 0" armature="0.02"/>
                  <inertial pos="0 0.02 -0.3" mass="0.8" diaginertia="0.02 0.03 0.01"/></body></worldbody>
                  <actuator><motor name="servo" joint="hinge" gear="2"/></actuator>
                  <custom><text name="carom/joint/law" data="{data}"/></custom></mujoco>"#
            )
            .leak(),
            mapping: "time.column = 't'\n[[joint]]\nname = 'hinge'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\n\
                [[actuator]]\nname = 'servo'\ncontrol = 'ctrl[0]'\n",
            start: (&[0.7], &[0.0]),
            steps: (600, 2),
        };
        check_case(name, &case);
    }
}

/// A body in the air, pushed about by known forces at a point.
const PUSHED: Case = Case {
    unknown: &[],
    model: r#"<mujoco><option timestep="0.004"/><worldbody><body name="box"><freejoint/><site name="grip" pos="0.1 0.05 0.02"/>
      <inertial pos="0.01 0.02 -0.01" mass="1.2" diaginertia="0.02 0.025 0.015"/></body></worldbody>
      <actuator><motor name="x" site="grip" gear="3 0 0 0.1 0 0"/><motor name="y" site="grip" gear="0 2 1 0 0.2 0"/></actuator></mujoco>"#,
    mapping: "time.column = 't'\n[[body]]\nname = 'box'\nposition = 'qpos[0:3]'\nrotation = 'qpos[3:7]'\nlinear_velocity = 'qvel[0:3]'\n\
        angular_velocity = 'qvel[3:6]'\n[[actuator]]\nname = 'x'\ncontrol = 'ctrl[0]'\n[[actuator]]\nname = 'y'\ncontrol = 'ctrl[1]'\n",
    start: (
        &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        &[0.1, 0.0, 2.0, 1.0, -0.5, 2.0],
    ),
    steps: (200, 2),
};

/// Motions of an inertia that no body has have their lowest loss there, and the search must not end where no file can.
#[test]
fn searches_stay_where_bodies_are_possible() {
    let case = Case {
        unknown: &[
            ("body.box.inertia[0]", 0.02),
            ("body.box.inertia[1]", 0.025),
            ("body.box.inertia[2]", 0.06),
        ],
        ..PUSHED
    };
    let folder = Folder::new("impossible");
    let (model, recordings) = recorded(&case, &folder);
    let names: Vec<&str> = case.unknown.iter().map(|&(name, _)| name).collect();
    let problem_at = |moments: [f64; 3]| {
        let parameters = Parameters::select(&model, &names).unwrap();
        let problem = Problem::new(&recordings, parameters, problem::Settings::default()).unwrap();
        let value = problem.value(&moments).map(drop);
        assert_eq!(value, problem.gradient(&moments).map(drop));
        assert_eq!(value, problem.linearize(&moments).map(drop));
        value.map_err(|error| error.to_string())
    };
    assert_eq!(problem_at([0.02, 0.03, 0.05]), Ok(()));
    let error = problem_at([0.02, 0.025, 0.06]).unwrap_err();
    assert!(
        error.contains("body 'box' would be impossible") && error.contains("exceeds the sum"),
        "{error}"
    );
    for optimiser in [OptimiserKind::Auto, OptimiserKind::Cmaes] {
        let settings = Settings {
            optimiser,
            evaluations: Some(400),
            ..settings(&names)
        };
        let mut task = Task::new(&model, &recordings, settings).unwrap();
        let before = task.inspect().unwrap().value;
        task.warm_up(None).unwrap();
        let solution = task.solve(None, None, &mut Unwatched).unwrap();
        let found = task.conclude(&solution).unwrap();
        let [a, b, c] = [0, 1, 2].map(|k| found.estimates[k].value);
        assert!(a > 0.0 && b > 0.0 && c <= a + b, "{a} {b} {c}");
        assert!(solution.value < 0.5 * before, "{} {before}", solution.value);
        let spec = carom_spec::read_file(&folder.write("model.xml", case.model), &[]).spec;
        calibrated(
            task.parameters().base(),
            &spec,
            None,
            task.parameters(),
            &found.theta,
        )
        .unwrap();
    }
}

/// Such a body tells all of its inertia.
#[test]
fn a_pseudo_inertia_is_found() {
    let case = PUSHED;
    let folder = Folder::new("inertia");
    let heavier = "body.box.mass";
    let (model, _) = recorded(&case, &folder);
    let parameters = Parameters::select(&model, &["body.box.pseudo_inertia"]).unwrap();
    let theta: Vec<f64> = (parameters.theta0().iter().enumerate())
        .map(|(k, theta)| theta + 0.02 * (k as f64 - 4.3))
        .collect();
    let truth = parameters.apply(&theta).unwrap();
    let mut start = State::reference(&truth);
    start.qpos.copy_from_slice(case.start.0);
    start.qvel.copy_from_slice(case.start.1);
    let text = simulate(&truth, &start, case.steps, &|time| (6.0 * time).cos());
    let recordings = load(&model, case.mapping, &folder.write("push.csv", &text)).unwrap();
    let mut task = Task::new(&model, &recordings, settings(&["body.box.pseudo_inertia"])).unwrap();
    assert_eq!(task.inspect().unwrap().refusal(), None);
    task.warm_up(None).unwrap();
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    for (found, truth) in solution.x.iter().zip(&theta) {
        assert!((found - truth).abs() < 1e-4, "{:?} {theta:?}", solution.x);
    }
    // Mass and moments of a body that nothing pushes go together: a prior on one of them tells the rest.
    let text = simulate(&truth, &start, case.steps, &|_| 0.0);
    let recordings = load(&model, case.mapping, &folder.write("free.csv", &text)).unwrap();
    let names = [
        "body.box.inertia[0]",
        "body.box.inertia[1]",
        "body.box.inertia[2]",
    ];
    let task = Task::new(&model, &recordings, settings(&names)).unwrap();
    let refusal = task.inspect().unwrap().refusal().unwrap();
    assert!(
        refusal
            .contains("body.box.inertia[0], body.box.inertia[1] and body.box.inertia[2] trade off"),
        "{refusal}"
    );
    assert!(
        refusal.contains("held, the others would be identifiable"),
        "{refusal}"
    );
    let mut with_prior = settings(&names);
    with_prior.free[0].prior = Some(Prior {
        mean: 0.02,
        sd: 1e-3,
    });
    let task = Task::new(&model, &recordings, with_prior).unwrap();
    assert_eq!(task.inspect().unwrap().refusal(), None);
    let task = Task::new(&model, &recordings, settings(&[heavier])).unwrap();
    assert!(
        task.inspect()
            .unwrap()
            .refusal()
            .unwrap()
            .starts_with("body.box.mass has no effect")
    );
}

#[test]
fn what_has_no_gradient_is_refused_by_name() {
    let folder = Folder::new("refusals");
    let (servo, swing) = recorded(&CASES[0].1, &folder);
    for (name, words) in [
        ("state.qvel", "leave state.… out and set starts free"),
        ("sensor.gyro.pos", "select site.pos"),
        ("sensor.gyro.interval", "results jump"),
        ("geom.*.condim", "no"),
        ("joint.hinge.range", "has no limits"),
        ("actuator.drive.delay", "give nsample in the file"),
        ("actuator.drive.kp", "not a position servo"),
        ("option.tolerance", "ends an iteration"),
        ("body.1.subtree_mass", "follows from masses"),
    ] {
        let error = Task::new(&servo, &swing, settings(&[name])).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    // Known to have no effect only once the motion is looked at.
    for (name, words) in [
        ("body.1.inertia[0]", "body.1.inertia[0] has no effect: "),
        ("option.timestep", "option.timestep has no effect: "),
        ("option.density", "option.density has no effect: "),
    ] {
        let task = Task::new(&servo, &swing, settings(&[name])).unwrap();
        let refusal = task.inspect().unwrap().refusal();
        let refusal = refusal.unwrap_or_else(|| panic!("{name} was not refused"));
        assert!(refusal.starts_with(words), "{name}: {refusal}");
    }
    let held = SERVO.replace(" interp=\"linear\"", "");
    let held = model_of(&folder, &held);
    let error = Task::new(&held, &swing, settings(&["actuator.servo.delay"])).unwrap_err();
    assert!(error.to_string().contains("give interp="), "{error}");
    let smooth = model_of(&folder, &SERVO.replace("frictionloss=\"0.05\"", ""));
    let error = Task::new(&smooth, &swing, settings(&["joint.hinge.frictionloss"])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("start from a positive frictionloss"),
        "{error}"
    );
}

/// Commands from before a segment are those that a delayed servo acts on at its start.
#[test]
fn segments_begin_with_what_delayed_actuators_remember() {
    let folder = Folder::new("remembered");
    let (model, recordings) = recorded(&servo(&[("actuator.servo.delay", 0.0223)], ANGLE), &folder);
    let mut asked = settings(&["actuator.servo.delay"]);
    asked.set_segments(10);
    asked.optimiser = OptimiserKind::Lm;
    let task = Task::new(&model, &recordings, asked).unwrap();
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    assert!((solution.x[0] - 0.0223).abs() < 1e-6, "{:?}", solution.x);
    assert!(solution.value < 1e-12, "{}", solution.value);
}

#[test]
fn presets_free_contacts_within_their_ranges() {
    let folder = Folder::new("preset");
    let (model, recordings) = recorded(&table(&[], FALLING), &folder);
    let asked = Settings {
        free: preset("contact-all").unwrap(),
        ..Settings::default()
    };
    let task = Task::new(&model, &recordings, asked).unwrap();
    let names: Vec<&str> = task.parameters().names().collect();
    assert_eq!(names.len(), 8, "{names:?}");
    // The model's impedance starts at 0 and bends at 0.5, outside of the ranges: the search starts at the nearest ends.
    let start = task.start();
    assert_eq!((start[0], start[1], start[4]), (0.4, 0.9, 0.1), "{names:?}");
    let settings = Settings::parse(
        "preset = 'contact-all'\n[optimiser]\nkind = 'basin-hopping'\n",
        "identify.toml",
    )
    .unwrap();
    assert_eq!(
        (settings.free.len(), settings.optimiser),
        (8, OptimiserKind::BasinHopping)
    );
    // The one for throws chooses segments and initial states too, unless recorded ones are asked for.
    let throws = Settings::parse("preset = 'contact'", "identify.toml").unwrap();
    assert_eq!((throws.free.len(), throws.grows), (3, true));
    assert_eq!(throws.problem.starts, FREE_STARTS);
    let text = "preset = 'contact'\n[initial_states]\nfree = false\n";
    let recorded = Settings::parse(text, "identify.toml").unwrap();
    assert_eq!((recorded.free.len(), recorded.grows), (3, false));
    assert_eq!(recorded.problem.starts, Starts::Recorded);
    let error = Settings::parse("preset = 'contacts'", "identify.toml").unwrap_err();
    assert!(
        error.to_string().contains(
            "there is no preset 'contacts'; there are: contact, contact-pairs, contact-all"
        ),
        "{error}"
    );
    let pairs = Settings {
        free: preset("contact-pairs").unwrap(),
        ..Settings::default()
    };
    let error = Task::new(&model, &recordings, pairs)
        .unwrap_err()
        .to_string();
    assert!(error.contains("pair"), "{error}");
}
