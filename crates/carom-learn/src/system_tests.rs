//! Derivatives of rollouts against differences, symmetries, memory.

use carom::math::{Quat, Vec3};
use carom::rollout::{Controls, Course, RolloutBar};
use carom::{Dynamics, State};

use super::GraphSystem;
use crate::learned::Learned;
use crate::network::{Net, NetShape, Real};
use crate::random::Random;
use crate::scene::{Body, Normalizer, Scene, Setting, Solid, Twist, WitnessMode};

/// A network with random weights whose words are small.
fn learned(seed: u64) -> Learned<f64> {
    let mut random = Random::new(seed, 0);
    let mut normalizer = Normalizer::identity();
    for scales in &mut normalizer.features {
        for scale in scales {
            scale[1] = 10.0;
        }
    }
    normalizer.outputs = [0.001, 0.004];
    let features = [0, 1, 2, 3].map(|kind| normalizer.features[kind].len());
    let shape = NetShape {
        width: 16,
        layers: 2,
        features,
    };
    Learned {
        net: Net::random(shape, || random.uniform()),
        normalizer,
        setting: Setting {
            step: 1.0 / 120.0,
            threshold: 0.03,
            witness: WitnessMode::Exact,
        },
    }
}

fn state(bodies: &[Body]) -> State {
    let mut state = State {
        time: 0.0,
        qpos: Vec::new(),
        qvel: Vec::new(),
        act: Vec::new(),
        mocap_position: Vec::new(),
        mocap_quat: Vec::new(),
        history: Vec::new(),
        warmstart: Vec::new(),
    };
    for body in bodies {
        state.qpos.extend(body.position.0);
        state.qpos.extend(Quat::from_mat3(&body.rotation).0);
        state.qvel.extend(body.twist.linear.0);
        state
            .qvel
            .extend(body.rotation.transpose_mul_vec(body.twist.angular).0);
    }
    state
}

/// Two cubes on a table, one of which slides into the other.
fn system(learned: Learned<f64>) -> GraphSystem<f64> {
    let cube = Solid::cuboid(Vec3::new(0.03, 0.03, 0.03), Some(0.15), 0.25);
    let scene = Scene {
        solids: vec![cube.clone(), cube, Solid::plane(1.0)],
    };
    let at = |x: f64, yaw: f64, speed: f64| Body {
        position: Vec3::new(x, 0.01 * x, 0.03),
        rotation: Quat::exp(Vec3::new(0.01, -0.02, yaw)).to_mat3(),
        twist: Twist {
            linear: Vec3::new(speed, 0.1 * speed, 0.0),
            angular: Vec3::new(0.1, 0.0, speed),
        },
    };
    let moving = [at(0.0, 0.3, 0.9), at(0.09, -0.2, 0.02)];
    let fixed = Body {
        position: Vec3::ZERO,
        rotation: carom::math::Mat3::identity(),
        twist: Twist::default(),
    };
    let centers = vec![Vec3::new(0.001, -0.002, 0.003), Vec3::ZERO];
    GraphSystem::new(learned, scene, centers, vec![fixed], state(&moving))
}

const STEPS: usize = 20;

/// Smallest step of differences.
const DIFFERENCE: f64 = 1e-6;

/// A weighted sum of the last state, and its gradient with respect to the first one.
fn value<F: Real>(system: &GraphSystem<F>, start: &State, weights: &[f64]) -> f64 {
    let course = Course {
        controls: &Controls::Zero,
        steps: STEPS,
        timestep: None,
        stops: true,
    };
    let rollout = system.rollout(start, &course, &mut system.work());
    let tangent = {
        let mut tangent = vec![0.0; system.shape().nv];
        system.difference(&system.reference().qpos, rollout.qpos(STEPS), &mut tangent);
        tangent
    };
    let all = tangent.iter().chain(rollout.qvel(STEPS));
    all.zip(weights)
        .map(|(number, weight)| number * weight)
        .sum()
}

fn gradient<F: Real>(system: &GraphSystem<F>, start: &State, weights: &[f64]) -> Vec<f64> {
    let course = Course {
        controls: &Controls::Zero,
        steps: STEPS,
        timestep: None,
        stops: true,
    };
    let rollout = system.rollout(start, &course, &mut system.work());
    let mut bar = RolloutBar::zeros(&rollout);
    // The cotangent of log(Q₀⁻¹·Q), by differences in the tangent of Q: exact enough for the tests below in sixth order.
    let nv = system.shape().nv;
    let (end, reference) = (rollout.qpos(STEPS).to_vec(), system.reference().qpos);
    for index in 0..nv {
        let mut along = vec![0.0; nv];
        along[index] = 1.0;
        let at = |step: f64| {
            let (mut moved, mut tangent) = (end.clone(), vec![0.0; nv]);
            system.add(&mut moved, &along, step);
            system.difference(&reference, &moved, &mut tangent);
            tangent
                .iter()
                .zip(weights)
                .map(|(number, weight)| number * weight)
                .sum::<f64>()
        };
        let slope = |step: f64| (at(step) - at(-step)) / (2.0 * step);
        bar.qpos_mut(STEPS)[index] = (4.0 * slope(1e-3) - slope(2e-3)) / 3.0;
    }
    bar.qvel_mut(STEPS).copy_from_slice(&weights[nv..]);
    let found = system
        .gradient(&rollout, &Controls::Zero, &mut bar, &mut ())
        .unwrap();
    found
        .start
        .qpos
        .iter()
        .chain(&found.start.qvel)
        .copied()
        .collect()
}

fn differences(system: &GraphSystem<f64>, start: &State, weights: &[f64]) -> Vec<f64> {
    let nv = system.shape().nv;
    let slope = |index: usize, step: f64| {
        let at = |step: f64| {
            let mut moved = start.clone();
            if index < nv {
                let mut along = vec![0.0; nv];
                along[index] = 1.0;
                system.add(&mut moved.qpos, &along, step);
            } else {
                moved.qvel[index - nv] += step;
            }
            value(system, &moved, weights)
        };
        (at(step) - at(-step)) / (2.0 * step)
    };
    // Richardson's extrapolation over three steps: of sixth order, so that steps can be long enough for the last digits.
    let step = DIFFERENCE;
    let refined = |index: usize| {
        let slopes = [1.0, 2.0, 4.0].map(|factor| slope(index, factor * step));
        let finer = [0, 1].map(|at| (4.0 * slopes[at] - slopes[at + 1]) / 3.0);
        (16.0 * finer[0] - finer[1]) / 15.0
    };
    (0..2 * nv).map(refined).collect()
}

fn worst(found: &[f64], known: &[f64]) -> f64 {
    let size = known.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let gaps = found.iter().zip(known).map(|(one, two)| (one - two).abs());
    gaps.fold(0.0, f64::max) / size
}

#[test]
fn gradients_of_twenty_steps_agree_with_differences() {
    let mut random = Random::new(21, 0);
    let system = system(learned(20));
    let start = system.reference();
    let weights: Vec<f64> = (0..24).map(|_| random.normal()).collect();
    let known = differences(&system, &start, &weights);
    let found = gradient(&system, &start, &weights);
    let error = worst(&found, &known);
    assert!(error <= 1e-8, "f64: {error:e}");
    let narrow = GraphSystem::new(
        system.learned().convert::<f32>(),
        system.scene().clone(),
        vec![Vec3::new(0.001, -0.002, 0.003), Vec3::ZERO],
        system.fixed.clone(),
        start.clone(),
    );
    let error = worst(&gradient(&narrow, &start, &weights), &known);
    assert!(error <= 1e-4, "f32: {error:e}");
}

#[test]
fn only_exact_witness_points_give_the_derivative_of_the_step() {
    let mut random = Random::new(21, 0);
    let weights: Vec<f64> = (0..24).map(|_| random.normal()).collect();
    let error = |mode: WitnessMode| {
        let mut learned = learned(20);
        learned.setting.witness = mode;
        let system = system(learned);
        let start = system.reference();
        let known = differences(&system, &start, &weights);
        worst(&gradient(&system, &start, &weights), &known)
    };
    let [exact, point, printed] = [
        WitnessMode::Exact,
        WitnessMode::PerPoint,
        WitnessMode::Printed,
    ]
    .map(error);
    assert!(exact <= 1e-8, "{exact:e}");
    assert!(point > 1e-3, "{point:e}");
    assert!(printed > point, "{printed:e} {point:e}");
}

/// The state after some steps.
fn after(system: &GraphSystem<f64>, start: &State) -> State {
    let (mut state, input, mut work) = (start.clone(), system.input(), system.work());
    for _ in 0..10 {
        system.step(&mut state, &input, &mut work);
    }
    state
}

fn assert_close(one: &State, two: &State) {
    let all = |state: &State| [state.qpos.clone(), state.qvel.clone()].concat();
    for (one, two) in all(one).iter().zip(&all(two)) {
        assert!((one - two).abs() < 1e-9, "{one} {two}");
    }
}

#[test]
fn turned_and_shifted_starts_have_turned_and_shifted_ends() {
    let system = system(learned(30));
    let turn = Quat::exp(Vec3::new(0.0, 0.0, 2.0));
    let moved = |state: &State| {
        let mut out = state.clone();
        for (q, v) in out
            .qpos
            .chunks_exact_mut(7)
            .zip(out.qvel.chunks_exact_mut(6))
        {
            let position = turn.rotate(Vec3::new(q[0], q[1], q[2])) + Vec3::new(0.3, -2.0, 0.0);
            let quat = turn.mul(Quat::new(q[3], q[4], q[5], q[6]));
            // Of the two signs of a rotation, the one that states are written with.
            let quat = Quat::from_mat3(&quat.to_mat3());
            q[..3].copy_from_slice(&position.0);
            q[3..].copy_from_slice(&quat.0);
            let linear = turn.rotate(Vec3::new(v[0], v[1], v[2]));
            v[..3].copy_from_slice(&linear.0);
        }
        out
    };
    let start = system.reference();
    assert_close(
        &after(&system, &moved(&start)),
        &moved(&after(&system, &start)),
    );
}

#[test]
fn bodies_in_another_order_move_as_before() {
    let learned = learned(31);
    let mut original = system(learned.clone());
    original.centers[0] = Vec3::ZERO;
    let swap = |state: &State| {
        let mut out = state.clone();
        out.qpos.rotate_left(7);
        out.qvel.rotate_left(6);
        out
    };
    let start = original.reference();
    let swapped = GraphSystem::new(
        learned,
        original.scene.clone(),
        original.centers.clone(),
        original.fixed.clone(),
        swap(&start),
    );
    let (one, two) = (after(&original, &start), after(&swapped, &swap(&start)));
    assert_close(&swap(&one), &two);
}

#[test]
fn steps_allocate_nothing_after_the_first_ones() {
    let system = system(learned(32));
    let (mut state, input, mut work) = (system.reference(), system.input(), system.work());
    for _ in 0..20 {
        system.step(&mut state, &input, &mut work);
    }
    let mut state = system.reference();
    let counted = allocation_counter::measure(|| {
        for _ in 0..20 {
            system.step(&mut state, &input, &mut work);
        }
    });
    assert_eq!(counted.count_total, 0);
}
