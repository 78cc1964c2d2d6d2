//! Values, gradients and Jacobians of problems.

use carom::flow::{FlowSettings, Tolerances};
use carom::model::ContactsFromDistance;
use carom::parameters::Parameters;
use carom::{Model, State};
use carom_tasks::loss::{Average, Loss, Penalty, RotationError, Weights};
use carom_tasks::problem::{Horizon, Problem, Settings, Starts, Stepping};
use carom_tasks::recording::Recordings;

use crate::support::{Folder, load, model, model_of, simulate};

const POSES: &str = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = 'qpos[0:3]'\nrotation = 'qpos[3:7]'\n\
    linear_velocity = 'qvel[0:3]'\nangular_velocity = 'qvel[3:6]'\n";

/// Tosses of a cube that is a little larger and more slippery than the nominal one.
fn tosses() -> (Model, Recordings) {
    let folder = Folder::new("tosses");
    let cube = model("datasets/contactnets_cube.xml");
    let parameters =
        Parameters::select(&cube, &["geom.cube.size tied", "geom.*.friction[0] tied"]).unwrap();
    let other = parameters.apply(&[0.0535, 0.15]).unwrap();
    let mut recordings: Option<Recordings> = None;
    for toss in 0..3_u8 {
        let mut start = State::reference(&other);
        start.qpos[2] = 0.11;
        start.qvel.copy_from_slice(&[
            0.8,
            0.1 * f64::from(toss),
            -0.5,
            3.0,
            1.0 + f64::from(toss),
            -2.0,
        ]);
        let path = folder.write("toss.csv", &simulate(&other, &start, (24, 1), &|_| 0.0));
        let read = load(&cube, POSES, &path).unwrap();
        match &mut recordings {
            Some(all) => all.trajectories.extend(read.trajectories),
            None => recordings = Some(read),
        }
    }
    (cube, recordings.unwrap())
}

const SELECTED: [&str; 4] = [
    "geom.cube.size log tied",
    "geom.*.friction[0] tied",
    "geom.cube.solref",
    "option.gravity[2]",
];

fn parameters(cube: &Model) -> Parameters {
    Parameters::select(cube, &SELECTED).unwrap()
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let scale = expected
        .iter()
        .fold(1e-12, |scale: f64, x| scale.max(x.abs()));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance * scale,
            "{what}, number {index}: {found} is not {expected}"
        );
    }
}

/// Central differences of the loss.
fn differences(problem: &Problem<'_>, x: &[f64], step: f64) -> Vec<f64> {
    let value = |index: usize, change: f64| {
        let mut x = x.to_vec();
        x[index] += change;
        problem.value(&x).unwrap().value
    };
    (0..x.len())
        .map(|k| (value(k, step) - value(k, -step)) / (2.0 * step))
        .collect()
}

#[test]
fn backward_passes_dual_numbers_and_the_value_agree_for_every_loss() {
    let (cube, recordings) = tosses();
    let losses = [
        ("squares", Loss::default()),
        ("matrices", Loss::squared_poses()),
        ("Eq. 1", Loss::distance_and_angle(0.1048)),
        ("absolute", Loss::absolute()),
        (
            "Huber",
            Loss {
                penalty: Penalty::Huber { delta: 0.05 },
                average: Average::Runs,
                ..Loss::default()
            },
        ),
        (
            "quaternions",
            Loss {
                rotation: RotationError::Quaternion,
                average: Average::Sum,
                ..Loss::default()
            },
        ),
    ];
    for (name, loss) in losses {
        let settings = Settings {
            loss,
            ..Settings::default()
        };
        let problem = Problem::new(&recordings, parameters(&cube), settings).unwrap();
        let x = problem.start();
        let gradient = problem.gradient(&x).unwrap();
        assert!(gradient.failures.is_empty());
        let linear = problem.linearize(&x).unwrap();
        let value = problem.value(&x).unwrap();
        assert!(value.value > 0.0);
        assert_near(
            &[gradient.value, linear.value()],
            &[value.value; 2],
            1e-12,
            name,
        );
        assert_near(&gradient.gradient, &linear.gradient(), 1e-8, name);
    }
}

#[test]
fn eq_1_is_distance_over_width_and_angle() {
    let (cube, recordings) = tosses();
    let settings = Settings {
        loss: Loss {
            average: Average::Sum,
            ..Loss::distance_and_angle(0.1048)
        },
        ..Settings::default()
    };
    let problem = Problem::new(&recordings, parameters(&cube), settings).unwrap();
    let value = problem.value(&problem.start()).unwrap().value;
    let report = carom_tasks::evaluate::evaluate(&cube, &recordings, Stepping::Fixed).unwrap();
    // 24 predicted frames of 25, three tosses.
    let means = (
        report.total_of("position").unwrap(),
        report.total_of("rotation").unwrap(),
    );
    let expected = (means.0 / 0.1048 + means.1.to_radians()) * 25.0 * 3.0;
    assert!(
        (value - expected).abs() < 1e-3 * expected,
        "{value} is not {expected}"
    );
}

#[test]
fn smooth_motions_agree_with_differences_also_for_free_starts_sensors_and_controls() {
    let folder = Folder::new("cart");
    let cartpole = model("models/cartpole.xml");
    let mut start = State::reference(&cartpole);
    start.qpos[1] = 0.4;
    let table = simulate(&cartpole, &start, (60, 3), &|t| (7.0 * t).sin());
    let path = folder.write("run.csv", &table);
    let mapping = "time.column = 't'\n[[joint]]\nname = 'slider'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\nnoise = 0.01\nvelocity_noise = 0.1\n\
        [[joint]]\nname = 'hinge'\nposition = 'qpos[1]'\nnoise = 0.02\n[[actuator]]\nname = 'push'\ncontrol = 'ctrl[0]'\n\
        [[sensor]]\nname = 'cart_position'\nvalues = 'sensor[0]'\nnoise = 0.05\n";
    let recordings = load(&cartpole, mapping, &path).unwrap();
    let select = [
        "joint.slider.damping",
        "joint.hinge.damping",
        "body.*.mass log",
        "actuator.push.gear[0] scale(10)",
    ];
    for horizon in [
        Horizon::Whole,
        Horizon::Segments {
            frames: 5,
            every: 4,
        },
    ] {
        let settings = Settings {
            starts: Starts::Free {
                position: 0.05,
                velocity: 0.5,
            },
            horizon,
            ..Settings::default()
        };
        let parameters = Parameters::select(&cartpole, &select).unwrap();
        let problem = Problem::new(&recordings, parameters, settings).unwrap();
        let mut x = problem.start();
        for (k, number) in x.iter_mut().enumerate() {
            *number += 0.01 * ((k * k) as f64).sin();
        }
        let gradient = problem.gradient(&x).unwrap().gradient;
        assert_near(
            &gradient,
            &differences(&problem, &x, 1e-5),
            1e-6,
            "differences",
        );
        let linear = problem.linearize(&x).unwrap();
        assert_near(&gradient, &linear.gradient(), 1e-9, "Jacobian");
        assert_eq!(linear.dense().len(), linear.residuals.len() * problem.len());
    }
}

/// A body that falls on a floor with an arm of hinges, a spring, a limit, dry friction and a servo.
const ARM_ON_FLOOR: &str = r#"<worldbody><geom type="plane" size="2 2 1"/>
  <body name="cube" pos="0 0 .16"><freejoint/><geom type="box" size=".1 .12 .08" mass="1.5"/>
    <body name="upper" pos=".1 0 .05"><joint name="shoulder" axis="0 1 0" damping=".05" armature=".002" frictionloss=".02" stiffness=".3"/>
      <geom type="capsule" fromto="0 0 0 .2 0 .1" size=".02" mass=".3"/>
      <body name="lower" pos=".2 0 .1"><joint name="elbow" axis="0 .9 .2" damping=".02" armature=".003" range="-.3 .2" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".2" euler="10 0 0"/></body></body></body></worldbody>
  <actuator><position name="servo" joint="shoulder" kp="2" kv=".1"/></actuator>"#;

#[test]
fn formulas_agree_with_backward_passes_for_numbers_of_joints_bodies_and_servos() {
    let select = [
        "joint.shoulder.damping",
        "joint.shoulder.armature log",
        "joint.shoulder.frictionloss",
        "joint.shoulder.stiffness[0]",
        "joint.shoulder.springref",
        "joint.elbow.armature",
        "body.upper.mass log",
        "body.lower.pseudo_inertia",
        "actuator.servo.kp",
        "actuator.servo.kv",
        "option.gravity",
    ];
    let mapping = format!(
        "{POSES}[[joint]]\nname = 'shoulder'\nposition = 'qpos[7]'\nvelocity = 'qvel[6]'\n\
         [[joint]]\nname = 'elbow'\nposition = 'qpos[8]'\n[[actuator]]\nname = 'servo'\ncontrol = 'ctrl[0]'\n"
    );
    for integrator in ["Euler", "implicitfast", "RK4"] {
        let folder = Folder::new("formulas");
        let text = format!(
            r#"<mujoco><option integrator="{integrator}"/><compiler angle="radian"/>{ARM_ON_FLOOR}</mujoco>"#
        );
        let plain = model_of(&folder, &text);
        let mut start = State::reference(&plain);
        start
            .qvel
            .copy_from_slice(&[0.3, 0.1, -0.4, 0.2, 0.5, -0.3, 1.0, -0.7]);
        let table = simulate(&plain, &start, (40, 2), &|t| 0.5 * (9.0 * t).sin());
        let path = folder.write("run.csv", &table);
        let recordings = load(&plain, &mapping, &path).unwrap();
        for (horizon, starts) in [
            (Horizon::Whole, Starts::Recorded),
            (
                Horizon::Segments {
                    frames: 9,
                    every: 8,
                },
                Starts::Free {
                    position: 0.05,
                    velocity: 0.5,
                },
            ),
        ] {
            let settings = Settings {
                horizon,
                starts,
                ..Settings::default()
            };
            let parameters = Parameters::select(&plain, &select).unwrap();
            let problem = Problem::new(&recordings, parameters, settings).unwrap();
            let mut x = problem.start();
            assert!(problem.has_cheap_jacobian(&x), "{integrator}");
            for (k, number) in x.iter_mut().enumerate() {
                *number += 0.002 * ((k * k) as f64).sin().abs();
            }
            let gradient = problem.gradient(&x).unwrap();
            let linear = problem.linearize(&x).unwrap();
            assert_near(&[linear.value()], &[gradient.value], 1e-12, integrator);
            assert_near(&linear.gradient(), &gradient.gradient, 1e-7, integrator);
            assert_eq!(linear.residuals, problem.residuals(&x).unwrap().residuals);
        }
    }
    let (cube, recordings) = tosses();
    let problem = Problem::new(&recordings, parameters(&cube), Settings::default()).unwrap();
    assert!(
        !problem.has_cheap_jacobian(&problem.start()),
        "sizes are not covered"
    );
}

#[test]
fn segments_start_at_every_frame_and_the_truth_has_no_loss() {
    let (cube, recordings) = tosses();
    let settings = Settings {
        horizon: Horizon::Segments {
            frames: 5,
            every: 1,
        },
        loss: Loss::squared_poses(),
        ..Settings::default()
    };
    let parameters =
        Parameters::select(&cube, &["geom.cube.size tied", "geom.*.friction[0] tied"]).unwrap();
    let problem = Problem::new(&recordings, parameters, settings).unwrap();
    assert_eq!(problem.all_runs().len(), 3 * 21);
    assert!(problem.value(&[0.0535, 0.15]).unwrap().value < 1e-20);
    assert!(problem.value(&[0.0535, 0.16]).unwrap().value > 1e-9);
}

#[test]
fn the_loss_of_drawn_starts_is_the_mean_over_them() {
    let (cube, mut recordings) = tosses();
    let problem = |recordings: &Recordings, count: usize, average: Average| {
        let loss = Loss {
            average,
            ..Loss::distance_and_angle(0.1048)
        };
        let settings = Settings {
            loss,
            starts: Starts::Drawn { count },
            ..Settings::default()
        };
        let problem = Problem::new(recordings, parameters(&cube), settings)?;
        let x = problem.start();
        let (value, gradient) = (problem.value(&x)?, problem.gradient(&x)?);
        assert_eq!(
            (problem.all_runs().len(), value.by_run.len()),
            (3, 3),
            "runs are those of the recordings"
        );
        assert_near(
            &gradient.gradient,
            &problem.linearize(&x)?.gradient(),
            1e-8,
            "Jacobian",
        );
        Ok::<f64, carom_tasks::Error>(value.value)
    };
    let refused = problem(&recordings, 4, Average::Sum).unwrap_err();
    assert!(refused.to_string().contains("noise"), "{refused}");
    let refused = problem(&recordings, 0, Average::Sum).unwrap_err();
    assert!(refused.to_string().contains("draw 1"), "{refused}");
    for channel in &mut recordings.channels {
        channel.noise = Some(1e-9);
    }
    // Starts that are the same but for a trifle leave the mean where it was, for every way to add up.
    for average in [Average::Sum, Average::Frames, Average::Runs] {
        let recorded = problem(&recordings, 1, average).unwrap();
        let drawn = problem(&recordings, 4, average).unwrap();
        assert_near(&[drawn], &[recorded], 1e-4, "trifles");
        assert!(drawn != recorded);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (cube, recordings) = tosses();
    let settings = Settings {
        horizon: Horizon::Segments {
            frames: 6,
            every: 1,
        },
        starts: Starts::Free {
            position: 0.001,
            velocity: 0.05,
        },
        ..Settings::default()
    };
    let problem = Problem::new(&recordings, parameters(&cube), settings).unwrap();
    let x = problem.start();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            (
                problem.gradient(&x).unwrap(),
                problem.linearize(&x).unwrap(),
            )
        })
    };
    let (gradient, linear) = with(1);
    for threads in [2, 8] {
        assert_eq!(
            with(threads),
            (gradient.clone(), linear.clone()),
            "{threads} threads"
        );
    }
}

#[test]
fn few_residuals_of_many_parameters_are_read_backwards() {
    let folder = Folder::new("few");
    let pendulum = model("models/double_pendulum.xml");
    let mut start = State::reference(&pendulum);
    start.qpos[0] = 1.0;
    let path = folder.write(
        "swing.csv",
        &simulate(&pendulum, &start, (100, 100), &|_| 0.0),
    );
    let mapping = "time.column = 't'\n[[joint]]\nname = 'shoulder'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\n\
        [[joint]]\nname = 'elbow'\nposition = 'qpos[1]'\nvelocity = 'qvel[1]'\n";
    let recordings = load(&pendulum, mapping, &path).unwrap();
    let parameters = Parameters::select(
        &pendulum,
        &[
            "body.*.pseudo_inertia",
            "joint.*.damping",
            "joint.*.armature",
            "joint.*.stiffness",
            "option.gravity",
        ],
    )
    .unwrap();
    assert!(parameters.len() > 24, "{}", parameters.len());
    let problem = Problem::new(&recordings, parameters, Settings::default()).unwrap();
    let mut x = problem.start();
    for (k, number) in x.iter_mut().enumerate() {
        *number += 0.05 * (k as f64 + 1.0).sin().abs();
    }
    let linear = problem.linearize(&x).unwrap();
    assert_eq!(linear.residuals.len(), 4);
    assert_near(
        &linear.gradient(),
        &problem.gradient(&x).unwrap().gradient,
        1e-10,
        "both ways",
    );
    assert_near(
        &linear.gradient(),
        &differences(&problem, &x, 1e-5),
        1e-5,
        "differences",
    );
}

#[test]
fn frames_of_bodies_and_sites_depend_on_the_model_too() {
    let folder = Folder::new("frames-of-bodies");
    let arm = model_of(
        &folder,
        "<mujoco><option timestep='0.002'/><worldbody><body name='a' pos='0 0 1'><joint name='one' axis='0 1 0' damping='0.1'/>\
         <geom type='capsule' fromto='0 0 0 0 0 -0.4' size='0.02'/><body name='b' pos='0 0 -0.4'><joint name='two' axis='1 0 0'/>\
         <geom type='capsule' fromto='0 0 0 0 0 -0.3' size='0.02'/><site name='tip' pos='0 0.05 -0.3' euler='10 20 30'/></body></body></worldbody>\
         <sensor><framepos name='p' objtype='site' objname='tip'/><framequat name='q' objtype='site' objname='tip'/>\
         <framepos name='pb' objtype='body' objname='b'/></sensor></mujoco>",
    );
    let mut start = State::reference(&arm);
    start.qpos.copy_from_slice(&[0.5, -0.3]);
    let path = folder.write("run.csv", &simulate(&arm, &start, (60, 6), &|_| 0.0));
    let mapping = "time.column = 't'\n[[site]]\nname = 'tip'\nposition = 'sensor[0:3]'\nrotation = 'sensor[3:7]'\n\
        [[body]]\nname = 'b'\nposition = 'sensor[7:10]'\n[[joint]]\nname = 'one'\nposition = 'qpos[0]'\n[[joint]]\nname = 'two'\nposition = 'qpos[1]'\n";
    let recordings = load(&arm, mapping, &path).unwrap();
    for rotation in [RotationError::Vector, RotationError::Matrix] {
        let settings = Settings {
            loss: Loss {
                rotation,
                ..Loss::default()
            },
            ..Settings::default()
        };
        let parameters =
            Parameters::select(&arm, &["body.b.pos", "site.tip.pos", "joint.one.damping"]).unwrap();
        let problem = Problem::new(&recordings, parameters, settings).unwrap();
        let mut x = problem.start();
        x[2] -= 0.01;
        x[4] += 0.02;
        let gradient = problem.gradient(&x).unwrap().gradient;
        assert_near(
            &gradient,
            &differences(&problem, &x, 1e-5),
            1e-6,
            "differences",
        );
        assert_near(
            &gradient,
            &problem.linearize(&x).unwrap().gradient(),
            1e-9,
            "Jacobian",
        );
    }
}

#[test]
fn continuous_time_has_the_same_derivatives_both_ways() {
    let (cube, mut recordings) = tosses();
    recordings.trajectories.truncate(1);
    // Uneven times: one frame is left out.
    let trajectory = &mut recordings.trajectories[0];
    trajectory.times.remove(2);
    for (values, channel) in trajectory.values.iter_mut().zip(&recordings.channels) {
        values.drain(2 * channel.width..3 * channel.width);
    }
    trajectory.qpos.drain(14..21);
    trajectory.qvel.drain(12..18);
    let frames = 9;
    trajectory.times.truncate(frames);
    let settings = Settings {
        stepping: Stepping::Flow(FlowSettings {
            tolerances: Tolerances::all(1e-9),
            ..FlowSettings::default()
        }),
        starts: Starts::Free {
            position: 0.01,
            velocity: 0.1,
        },
        ..Settings::default()
    };
    let parameters =
        Parameters::select(&cube, &["geom.cube.size log tied", "option.gravity[2]"]).unwrap();
    let problem = Problem::new(&recordings, parameters, settings).unwrap();
    let x = problem.start();
    let gradient = problem.gradient(&x).unwrap();
    assert!(gradient.failures.is_empty(), "{:?}", gradient.failures);
    assert_near(
        &gradient.gradient,
        &problem.linearize(&x).unwrap().gradient(),
        1e-6,
        "both ways",
    );
    assert_near(
        &gradient.gradient,
        &differences(&problem, &x, 1e-6),
        1e-3,
        "differences",
    );
}

#[test]
fn contacts_from_distance_change_gradients_and_not_values() {
    let (cube, recordings) = tosses();
    let plain = Problem::new(&recordings, parameters(&cube), Settings::default()).unwrap();
    let settings = Settings {
        from_distance: Some(ContactsFromDistance::default()),
        ..Settings::default()
    };
    let distant = Problem::new(&recordings, parameters(&cube), settings).unwrap();
    let x = plain.start();
    let (plain, distant) = (plain.gradient(&x).unwrap(), distant.gradient(&x).unwrap());
    assert_eq!(plain.value, distant.value);
    assert_ne!(plain.gradient, distant.gradient);
}

#[test]
fn runs_that_fail_are_named() {
    let (cube, mut recordings) = tosses();
    recordings.trajectories[1].qvel[2] = 1e200;
    let problem = Problem::new(&recordings, parameters(&cube), Settings::default()).unwrap();
    let x = problem.start();
    let value = problem.value(&x).unwrap();
    assert_eq!(value.value, f64::INFINITY);
    assert_eq!((value.failures.len(), value.failures[0].trajectory), (1, 1));
    assert!(value.by_run[0].is_finite() && value.by_run[2].is_finite());
    let gradient = problem.gradient(&x).unwrap();
    assert_eq!(
        (gradient.value, gradient.failures[0].run),
        (f64::INFINITY, 1)
    );
    assert!(gradient.gradient.iter().all(|number| number.is_finite()));
    assert_eq!(problem.linearize(&x).unwrap().failures.len(), 1);
}

#[test]
fn questions_without_sense_are_refused() {
    let (cube, recordings) = tosses();
    let refusal = |settings: Settings| {
        Problem::new(&recordings, parameters(&cube), settings)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(Settings {
            horizon: Horizon::Segments {
                frames: 1,
                every: 1
            },
            ..Settings::default()
        }),
        "segments of 1 frames, every 1: a segment has 2 frames or more, and starts are 1 or more apart"
    );
    let nothing = Weights {
        position: 0.0,
        rotation: 0.0,
        ..Weights::positions()
    };
    assert_eq!(
        refusal(Settings {
            loss: Loss {
                weights: nothing,
                ..Loss::default()
            },
            ..Settings::default()
        }),
        "there is nothing to compare: no run has a start and a compared value after it. toss.csv: nothing is compared between frames 0 and 24"
    );
    assert_eq!(
        refusal(Settings {
            starts: Starts::Free {
                position: 0.0,
                velocity: 1.0
            },
            ..Settings::default()
        }),
        "free starts need standard deviations above 0, not 0 and 1"
    );
}
