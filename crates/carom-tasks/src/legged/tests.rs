//! The solver against its conditions and a slow reference, the plan against stepping, and robots that walk.

use carom::math::{Mat3, Vec3};
use carom::{Data, Input, Model, State, compile};
use carom_optimise::random::Random;

use super::qp::{InteriorPoint, Pyramid, PyramidProgram};
use super::single_body::{BodyState, Condenser, Horizon, SingleBody, Task, Weights};
use super::*;

/// A random program over so many forces, of which some rows are active at the solution.
fn random_program(random: &mut Random, forces: usize) -> PyramidProgram {
    let size = 3 * forces;
    let root: Vec<f64> = random.normals(size * size);
    let mut hessian = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..size {
            let products = (0..size).map(|k| root[k * size + row] * root[k * size + column]);
            hessian[row * size + column] = products.sum::<f64>() / size as f64;
        }
        hessian[row * size + row] += 0.1;
    }
    let gradient = random.normals(size).iter().map(|one| 20.0 * one).collect();
    let pyramids = (0..forces).map(|_| {
        let low = 5.0 * random.uniform();
        Pyramid {
            friction: 0.2 + random.uniform(),
            low,
            high: low + 1.0 + 60.0 * random.uniform(),
        }
    });
    PyramidProgram {
        hessian,
        gradient,
        pyramids: pyramids.collect(),
    }
}

fn slope(program: &PyramidProgram, x: &[f64]) -> Vec<f64> {
    let rows = program.hessian.chunks_exact(x.len());
    let rows = rows.zip(&program.gradient);
    rows.map(|(row, g)| g + row.iter().zip(x).map(|(h, x)| h * x).sum::<f64>())
        .collect()
}

/// The nearest point of a pyramid, by bisection over its height.
fn nearest([x, y, z]: [f64; 3], pyramid: &Pyramid) -> [f64; 3] {
    let mu = pyramid.friction;
    let over = |height: f64| {
        let outside = (x.abs() - mu * height).max(0.0) + (y.abs() - mu * height).max(0.0);
        height - z - mu * outside
    };
    let (mut low, mut high) = (pyramid.low, pyramid.high);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if over(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    let held = mu * low;
    [x.clamp(-held, held), y.clamp(-held, held), low]
}

/// The solution by projected gradients with momentum, to 1e-9.
fn by_projection(program: &PyramidProgram) -> Vec<f64> {
    let size = program.gradient.len();
    let largest = program.hessian.chunks_exact(size);
    let largest = largest.map(|row| row.iter().map(|h| h.abs()).sum::<f64>());
    let rate = 1.0 / largest.fold(0.0, f64::max);
    let mut x: Vec<f64> = program
        .pyramids
        .iter()
        .flat_map(|one| [0.0, 0.0, one.low])
        .collect();
    let (mut ahead, mut momentum) = (x.clone(), 1.0);
    for _ in 0..200_000 {
        let slope = slope(program, &ahead);
        let mut next = vec![0.0; size];
        for (force, pyramid) in program.pyramids.iter().enumerate() {
            let at = |axis: usize| ahead[3 * force + axis] - rate * slope[3 * force + axis];
            next[3 * force..3 * force + 3]
                .copy_from_slice(&nearest([at(0), at(1), at(2)], pyramid));
        }
        let moved: Vec<f64> = next.iter().zip(&x).map(|(next, x)| next - x).collect();
        let uphill: f64 = moved
            .iter()
            .zip(&slope)
            .map(|(moved, slope)| moved * slope)
            .sum();
        let square: f64 = momentum * momentum;
        let grown = if uphill > 0.0 {
            1.0
        } else {
            0.5 * (1.0 + (1.0 + 4.0 * square).sqrt())
        };
        let part = if uphill > 0.0 {
            0.0
        } else {
            (momentum - 1.0) / grown
        };
        ahead = next
            .iter()
            .zip(&moved)
            .map(|(next, moved)| next + part * moved)
            .collect();
        momentum = grown;
        x = next;
        if part > 0.0 && moved.iter().all(|moved| moved.abs() < 1e-13) {
            break;
        }
    }
    x
}

#[test]
fn programs_are_solved_to_their_conditions_and_to_the_slow_reference() {
    let mut random = Random::new(5, 0);
    let mut solver = InteriorPoint::default();
    solver.tolerance = 1e-10;
    let (mut active, mut worst, mut most) = (0, 0.0_f64, 0);
    for case in 0..carom_testing::by_tier(60, 2000) {
        let program = random_program(&mut random, 1 + case % 8);
        let solved = solver.solve(&program);
        assert!(solved.converged, "case {case}: {solved:?}");
        most = most.max(solved.iterations);
        let x = solver.solution();
        let slope = slope(&program, x);
        for (force, pyramid) in program.pyramids.iter().enumerate() {
            let [fx, fy, fz]: [f64; 3] = x[3 * force..3 * force + 3].try_into().unwrap();
            let held = pyramid.friction * fz;
            let slack = [
                held - fx,
                held + fx,
                held - fy,
                held + fy,
                pyramid.high - fz,
                fz - pyramid.low,
            ];
            let z = solver.multipliers()[force];
            for row in 0..6 {
                assert!(
                    slack[row] > -1e-9 && z[row] >= 0.0,
                    "case {case}: {slack:?} {z:?}"
                );
                assert!(slack[row] * z[row] < 1e-5, "case {case}: {slack:?} {z:?}");
                active += usize::from(z[row] > 1e-3);
            }
            let mu = pyramid.friction;
            let pulled = [
                z[0] - z[1],
                z[2] - z[3],
                z[4] - z[5] - mu * (z[0] + z[1] + z[2] + z[3]),
            ];
            for axis in 0..3 {
                assert!(
                    (slope[3 * force + axis] + pulled[axis]).abs() < 1e-7,
                    "case {case}"
                );
            }
        }
        for (found, reference) in x.iter().zip(by_projection(&program)) {
            worst = worst.max((found - reference).abs());
        }
    }
    assert!(worst < 1e-6, "{worst:e} from the reference");
    assert!(active > 100, "{active} active rows are no trial");
    assert!(most < 30, "{most} iterations");
}

#[test]
fn what_cannot_be_solved_is_said_and_gives_no_force() {
    let good = random_program(&mut Random::new(1, 0), 2);
    let mut broken = vec![good.clone(); 5];
    broken[0].gradient[1] = f64::NAN;
    broken[1].hessian[0] = -1e3;
    broken[2].pyramids[0].high = broken[2].pyramids[0].low;
    broken[3].gradient.pop();
    broken[4].pyramids[1].friction = f64::NAN;
    let mut solver = InteriorPoint::default();
    for program in &broken {
        assert!(!solver.solve(program).converged, "{program:?}");
        assert!(solver.solution().iter().all(|&force| force == 0.0));
    }
    assert!(solver.solve(&good).converged, "and it goes on after that");
    assert!(solver.solve(&PyramidProgram::default()).converged);
}

#[test]
fn the_cost_of_a_plan_is_that_of_stepping() {
    let mut random = Random::new(7, 0);
    let mut vector = |size: f64| Vec3([0; 3].map(|_| size * random.normal()));
    let body = SingleBody {
        mass: 13.0,
        inertia: Mat3([0.07, 0.01, 0.0, 0.01, 0.25, -0.02, 0.0, -0.02, 0.26]),
        gravity: Vec3([0.0, 0.0, -9.81]),
    };
    let mut state = |size: f64| BodyState {
        angles: vector(0.2 * size),
        place: vector(0.1 * size),
        angular: vector(size),
        linear: vector(size),
    };
    let task = Task {
        state: state(1.0),
        wanted: state(0.5),
        weights: Weights {
            place: [0.5, 2.0, 10.0],
            angular: [0.1, 0.2, 1.0],
            linear: [1.0, 1.0, 0.3],
            ..Weights::default()
        },
        horizon: Horizon {
            steps: 7,
            step: 0.03,
        },
    };
    let pyramid = Pyramid {
        friction: 0.5,
        low: 0.0,
        high: 100.0,
    };
    let feet: Vec<_> = (0..3).map(|_| (vector(0.3), pyramid)).collect();
    let mut program = PyramidProgram::default();
    Condenser::default().condense(&body, &task, &feet, &mut program);
    let size = program.gradient.len();
    assert_eq!((size, program.pyramids.len()), (7 * 9, 21));

    let square = |error: Vec3, weights: [f64; 3]| {
        (0..3)
            .map(|k| weights[k] * error[k] * error[k])
            .sum::<f64>()
    };
    let by_stepping = |x: &[f64]| {
        let (mut now, mut goal, mut cost) = (task.state, task.wanted, 0.0);
        for forces in x.chunks_exact(9) {
            let pushes = feet.iter().zip(forces.chunks_exact(3));
            let pushes: Vec<_> = pushes
                .map(|(foot, f)| (foot.0, Vec3([f[0], f[1], f[2]])))
                .collect();
            now = body.step(&now, task.state.angles, &pushes, task.horizon.step);
            goal.angles += goal.angular * task.horizon.step;
            goal.place += goal.linear * task.horizon.step;
            cost += square(now.angles - goal.angles, task.weights.angles);
            cost += square(now.place - goal.place, task.weights.place);
            cost += square(now.angular - goal.angular, task.weights.angular);
            cost += square(now.linear - goal.linear, task.weights.linear);
        }
        cost + task.weights.force * x.iter().map(|x| x * x).sum::<f64>()
    };
    let by_program = |x: &[f64]| {
        let mut cost = 0.0;
        for row in 0..size {
            cost += program.gradient[row] * x[row];
            for column in row..size {
                let half = if column == row { 0.5 } else { 1.0 };
                cost += half * program.hessian[row * size + column] * x[row] * x[column];
            }
        }
        cost
    };
    let rest = by_stepping(&vec![0.0; size]);
    for seed in 0..5 {
        let x: Vec<f64> = Random::new(seed, 1)
            .normals(size)
            .iter()
            .map(|x| 40.0 * x)
            .collect();
        let (found, expected) = (by_program(&x), by_stepping(&x) - rest);
        assert!(
            (found - expected).abs() < 1e-9 * (1.0 + expected.abs()),
            "{found} {expected}"
        );
    }
}

#[test]
fn legs_swing_when_the_schedule_says() {
    let gait = Gait::trot(0.3, 0.2);
    let stands = |time: f64| [0, 1, 2, 3].map(|leg| gait.phase(leg, time).is_stance());
    assert_eq!(stands(0.01), [true; 4]);
    assert_eq!(stands(0.1), [false, true, true, false]);
    assert_eq!(stands(0.26), [true; 4]);
    assert_eq!(stands(0.4), [true, false, false, true]);
    assert_eq!(stands(0.4), stands(100.4));
    assert_eq!(gait.phase(1, 0.4), Phase::Swing((0.4 - 0.3) / 0.2));
    for leg in 0..4 {
        let count = (0..1000).filter(|k| gait.phase(leg, 0.01 + f64::from(*k) * 1e-3).is_stance());
        assert_eq!(count.count(), 600, "leg {leg}");
        assert_eq!(Gait::stand().phase(leg, 3.3), Phase::Stance(0.0));
    }
}

#[test]
fn a_swing_rests_on_the_ground_at_both_ends_and_moves_as_its_speed_says() {
    let (swing, times, v) = (Swing::default(), [0.3, 0.2], 0.7);
    let along = |s: f64| swing.along(s, times, v, 0.5);
    // Over the ground: that of the body and its own.
    for s in [0.0, 1.0] {
        assert!((along(s).speed + v).abs() < 1e-12, "{s}");
        let level = if s == 0.0 { 0.0 } else { -swing.reach };
        assert!((swing.height(s, 0.2).place - level).abs() < 1e-12);
    }
    assert!((along(0.0).place + 0.5 * times[0] * v).abs() < 1e-12);
    assert!((along(1.0).place - 0.5 * times[0] * v - 0.1 * 0.2).abs() < 1e-12);
    assert!((swing.height(0.5, 0.2).place - swing.clearance + swing.reach / 8.0).abs() < 1e-12);
    let h = 1e-6;
    for s in [0.1, 0.4, 0.9] {
        let slope = (along(s + h).place - along(s - h).place) / (2.0 * h * times[1]);
        assert!((slope - along(s).speed).abs() < 1e-8);
        let slope =
            (swing.height(s + h, 0.2).place - swing.height(s - h, 0.2).place) / (2.0 * h * 0.2);
        assert!((slope - swing.height(s, 0.2).speed).abs() < 1e-8);
    }
}

fn own_quadruped() -> Description {
    Description {
        trunk: "trunk".to_owned(),
        legs: ["front_right", "front_left", "rear_right", "rear_left"].map(|leg| {
            let part = |name: &str| format!("{leg}_{name}");
            (part("foot"), ["abduction", "thigh", "knee"].map(part))
        }),
        stand: [0.0, 0.75, -1.5].repeat(4),
    }
}

fn laikago() -> Description {
    Description {
        trunk: "chassis".to_owned(),
        legs: ["FR", "FL", "RR", "RL"].map(|leg| {
            let joints = [
                "hip_motor_2_chassis",
                "upper_leg_2_hip_motor",
                "lower_leg_2_upper_leg",
            ];
            (
                format!("toe{leg}"),
                joints.map(|joint| format!("{leg}_{joint}_joint")),
            )
        }),
        stand: [0.0, 0.0, -0.5].repeat(4),
    }
}

fn compiled(path: &std::path::Path, description: &Description) -> Model {
    let read = carom_spec::read_file(path, &[]);
    let mut spec = torque_driven(read.spec, description);
    spec.option.timestep = 0.002;
    let (model, problems) = compile::compile(&spec);
    model.unwrap_or_else(|| panic!("{problems:?}"))
}

/// Mean velocity (ahead, left) and turning speed over the second half of a walk, in the frame of the heading, and the end, after so many
/// steps of 2 ms.
fn walk(
    model: &Model,
    description: &Description,
    gait: Gait,
    command: Command,
    steps: usize,
) -> ([f64; 3], State) {
    let robot = Robot::new(model, description).unwrap();
    let mut state = robot.standing(model);
    let mut mpc = Mpc::new(&robot);
    let controller = Controller::new(robot, gait);
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    let mut mean = [0.0; 3];
    for step in 0..steps {
        // Forces every second step, as a controller of 250 Hz would.
        if step % 2 == 0 {
            controller.act(model, &state, command, &mut mpc, &mut data, &mut input);
            assert!(mpc.solved.converged, "{:?} in step {step}", mpc.solved);
        }
        carom::step(model, &mut state, &input, &mut data);
        if 2 * step >= steps {
            carom::forward_frames(model, &state, &mut data);
            let motion = controller.robot.motion(model, &state, &data.kinematics);
            let now = [motion.linear[0], motion.linear[1], motion.angular[2]];
            (0..3).for_each(|k| mean[k] += now[k] / (steps - steps / 2) as f64);
        }
    }
    (mean, state)
}

fn own_model() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/quadruped.xml");
    compiled(path.as_ref(), &own_quadruped())
}

#[test]
fn it_stands_still() {
    let model = own_model();
    let (mean, end) = walk(
        &model,
        &own_quadruped(),
        Gait::stand(),
        Command::default(),
        500,
    );
    assert!(mean.iter().all(|speed| speed.abs() < 0.01), "{mean:?}");
    let height = Robot::new(&model, &own_quadruped())
        .unwrap()
        .standing(&model)
        .qpos[2];
    assert!(
        (end.qpos[2] - height).abs() < 0.02,
        "{} {height}",
        end.qpos[2]
    );
}

#[test]
fn it_walks_as_commanded() {
    let model = own_model();
    let commands = [[0.4, 0.0, 0.0], [0.2, 0.1, 0.5], [-0.3, 0.0, -0.4]];
    let steps = carom_testing::by_tier(1000, 5000);
    for [forward, sideways, turn] in commands {
        let command = Command {
            forward,
            sideways,
            turn,
        };
        let (mean, end) = walk(
            &model,
            &own_quadruped(),
            Gait::trot(0.25, 0.2),
            command,
            steps,
        );
        println!("{command:?} {mean:?} {}", end.qpos[2]);
        assert!((mean[0] - forward).abs() < 0.1, "{command:?}: {mean:?}");
        assert!((mean[1] - sideways).abs() < 0.1, "{command:?}: {mean:?}");
        assert!((mean[2] - turn).abs() < 0.15, "{command:?}: {mean:?}");
        assert!(end.qpos[2] > 0.25, "{command:?} at {}", end.qpos[2]);
    }
}

#[test]
fn laikago_walks_by_the_names_of_its_urdf() {
    let Some(path) = carom_testing::shared("models/tds_laikago/laikago_toes_zup.urdf") else {
        return;
    };
    let model = compiled(&path, &laikago());
    let command = Command {
        forward: 0.4,
        ..Command::default()
    };
    let (mean, end) = walk(
        &model,
        &laikago(),
        Gait::trot(0.3, 0.2),
        command,
        carom_testing::by_tier(1000, 5000),
    );
    println!("{mean:?} {}", end.qpos[2]);
    assert!((mean[0] - 0.4).abs() < 0.1, "{mean:?}");
    assert!(end.qpos[2] > 0.3, "at {}", end.qpos[2]);
}

#[test]
fn names_that_are_not_there_are_said() {
    let model = own_model();
    let said = |change: fn(&mut Description)| {
        let mut description = own_quadruped();
        change(&mut description);
        Robot::new(&model, &description).unwrap_err().to_string()
    };
    assert!(said(|one| one.trunk = "torso".to_owned()).contains("torso"));
    assert!(said(|one| one.legs[2].0 = "hoof".to_owned()).contains("hoof"));
    assert!(said(|one| one.legs[1].1[0] = "elbow".to_owned()).contains("elbow"));
    assert!(said(|one| one.trunk = "front_left_shank".to_owned()).contains("freely"));
    assert!(said(|one| one.legs[1].1[0] = "rear_left_knee".to_owned()).contains("hinge"));
    assert!(said(|one| one.stand.truncate(7)).contains("12"));
    assert!(said(|one| one.stand[3] = f64::NAN).contains("12"));
}
