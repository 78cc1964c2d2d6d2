//! Gradients that are known, or that other simulators get wrong: dry friction, muscles, inertia.

use carom::cotangent::turn_bar;
use carom::math::Vec3;
use carom::rollout::{Controls, Gradient, Rollout, RolloutBar, rollout};
use carom::stages::solve;
use carom::{Data, Model, State};
use carom_testing::Random;

use crate::models;

fn run(model: &Model, start: &State, controls: &Controls, steps: usize) -> Rollout {
    rollout(model, start, controls, steps, &mut Data::new(model))
}

/// The gradient of the last number of qvel.
fn by_last_speed(model: &Model, start: &State, steps: usize) -> Gradient {
    let run = run(model, start, &Controls::Zero, steps);
    let mut loss = RolloutBar::zeros(&run);
    loss.qvel_mut(steps)[0] = 1.0;
    run.backward(model, &Controls::Zero, &mut loss).unwrap()
}

/// The difference quotient of a function at zero, from two step sizes.
fn quotient(value: impl Fn(f64) -> f64, step: f64) -> f64 {
    let central = |step: f64| (value(step) - value(-step)) / (2.0 * step);
    (4.0 * central(0.5 * step) - central(step)) / 3.0
}

#[track_caller]
fn assert_near(name: &str, found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs() / expected.abs().max(1e-6);
    assert!(
        error < relative,
        "{name}: {found:e} instead of {expected:e}, relative error {error:e}"
    );
}

/// A bob of 1 kg on a rod of 0.5 m with dry friction.
fn pendulum(friction: f64) -> Model {
    let mut model = models::from_text(&format!(
        r#"<mujoco><worldbody><body><joint axis="0 1 0" frictionloss="{friction}"/>
          <geom size="0.05" pos="0 0 -0.5" mass="1"/></body></worldbody></mujoco>"#
    ));
    solve::tighten(&mut model);
    model
}

/// The last speed if friction, gravity along z or the start speed are a little different.
fn changed(model: &Model, start: &State, steps: usize, change: [f64; 3]) -> f64 {
    let (mut model, mut start) = (model.clone(), start.clone());
    model.dofs.frictionloss[0] += change[0];
    model.option.gravity[0][2] += change[1];
    start.qvel[0] += change[2];
    run(&model, &start, &Controls::Zero, steps).qvel(steps)[0]
}

#[test]
fn dry_friction_of_a_sliding_pendulum_has_the_derivative_of_its_torque() {
    let model = pendulum(0.3);
    let mut start = State::reference(&model);
    (start.qpos[0], start.qvel[0]) = (0.4, 2.0);
    // M·(v⁺ − v)/h = τ − η while it slides.
    let inertia = 1.0 * 0.25 + 0.4 * 0.05 * 0.05;
    let gradient = by_last_speed(&model, &start, 1);
    assert_near(
        "one step",
        gradient.model.dofs.frictionloss[0],
        -0.002 / inertia,
        1e-10,
    );
    start.qvel[0] = -2.0;
    let gradient = by_last_speed(&model, &start, 1);
    assert_near(
        "back",
        gradient.model.dofs.frictionloss[0],
        0.002 / inertia,
        1e-10,
    );
    for steps in [10, 100] {
        let gradient = by_last_speed(&model, &start, steps);
        let found = gradient.model.dofs.frictionloss[0];
        let expected = quotient(|x| changed(&model, &start, steps, [x, 0.0, 0.0]), 1e-4);
        assert_near("steps", found, expected, 1e-6);
        assert!(found.abs() > 1e-3, "{found}");
    }
}

#[test]
fn dry_friction_of_a_sticking_pendulum_gives_way_to_everything_but_its_bound() {
    let model = pendulum(5.0);
    let mut start = State::reference(&model);
    start.qpos[0] = 0.4;
    let gradient = by_last_speed(&model, &start, 20);
    // Within the bound the force does not know it.
    assert_eq!(gradient.model.dofs.frictionloss[0], 0.0);
    assert_eq!(
        changed(&model, &start, 20, [1e-3, 0.0, 0.0]),
        changed(&model, &start, 20, [0.0; 3])
    );
    let expected = quotient(|x| changed(&model, &start, 20, [0.0, x, 0.0]), 1e-4);
    assert_near(
        "gravity",
        gradient.model.option.gravity[0][2],
        expected,
        1e-6,
    );
    let expected = quotient(|x| changed(&model, &start, 20, [0.0, 0.0, x]), 1e-4);
    assert_near("speed", gradient.start.qvel[0], expected, 1e-6);
    assert!(
        gradient.model.dofs.solref[0] != [0.0; 2],
        "how far it gives way is given by solref"
    );
}

#[test]
fn dry_friction_is_found_through_the_moment_of_coming_to_rest() {
    let model = pendulum(3.0);
    let mut start = State::reference(&model);
    (start.qpos[0], start.qvel[0]) = (0.1, 1.0);
    let (mut before, mut after) = (false, false);
    let run = run(&model, &start, &Controls::Zero, 80);
    for step in 0..=80 {
        let speed = run.qvel(step)[0].abs();
        before |= speed > 0.5;
        after |= speed < 1e-2;
    }
    assert!(before && after, "it slides first and sticks then");
    let mut loss = RolloutBar::zeros(&run);
    loss.qpos_mut(80)[0] = 1.0;
    let gradient = run.backward(&model, &Controls::Zero, &mut loss).unwrap();
    let end = |x: f64| {
        let mut model = model.clone();
        model.dofs.frictionloss[0] += x;
        rollout(&model, &start, &Controls::Zero, 80, &mut Data::new(&model)).qpos(80)[0]
    };
    let found = gradient.model.dofs.frictionloss[0];
    assert_near("where it stops", found, quotient(end, 1e-6), 1e-6);
    assert!(found < -1e-3, "more friction stops it earlier: {found}");
}

/// Numbers of the muscles, each with its field in the gradient.
type Field = (&'static str, fn(&mut Model) -> &mut [f64]);

#[test]
fn muscles_have_gradients_by_activation_control_and_their_own_numbers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut model = models::load(&folder.join("muscle_arm.xml"));
    solve::tighten(&mut model);
    let n = model.counts().clone();
    let mut random = Random::new(8);
    let (mut start, steps) = (State::keyframe(&model, 0).unwrap(), 60);
    start.act.fill_with(|| random.between(0.1, 0.6));
    start.qvel = random.vector(n.nv);
    let controls: Vec<f64> = (0..n.nu).map(|_| random.between(0.1, 0.9)).collect();
    let weights = random.vector(2 * n.nv + n.na);
    let value = |model: &Model, start: &State, controls: &[f64]| {
        let run = run(model, start, &Controls::Constant(controls.to_vec()), steps);
        let end = run
            .qpos(steps)
            .iter()
            .chain(run.qvel(steps))
            .chain(run.act(steps));
        end.zip(&weights).map(|(a, b)| a * b).sum::<f64>()
    };
    let held = Controls::Constant(controls.clone());
    let recorded = run(&model, &start, &held, steps);
    let mut loss = RolloutBar::zeros(&recorded);
    loss.qpos_mut(steps).copy_from_slice(&weights[..n.nv]);
    loss.qvel_mut(steps)
        .copy_from_slice(&weights[n.nv..2 * n.nv]);
    loss.act_mut(steps).copy_from_slice(&weights[2 * n.nv..]);
    let gradient = recorded.backward(&model, &held, &mut loss).unwrap();

    let check = |name: &str, found: f64, moved: &dyn Fn(f64) -> f64| {
        let expected = quotient(moved, 1e-4);
        assert!(
            found.is_finite() && expected != 0.0,
            "{name}: {found}, {expected}"
        );
        assert_near(name, found, expected, 1e-6);
    };
    for muscle in 0..n.nu {
        check("activation", gradient.start.act[muscle], &|x| {
            let mut start = start.clone();
            start.act[muscle] += x;
            value(&model, &start, &controls)
        });
        let found: f64 = (gradient.controls.chunks_exact(n.nu))
            .map(|of_step| of_step[muscle])
            .sum();
        check("control", found, &|x| {
            let mut controls = controls.clone();
            controls[muscle] += x;
            value(&model, &start, &controls)
        });
    }
    let fields: [Field; 4] = [
        ("gain", |model| model.actuators.gain.as_flattened_mut()),
        ("bias", |model| model.actuators.bias.as_flattened_mut()),
        ("dynamics", |model| {
            model.actuators.dynamics.as_flattened_mut()
        }),
        ("length_range", |model| {
            model.actuators.length_range.as_flattened_mut()
        }),
    ];
    for (name, field) in fields {
        let mut bars = gradient.model.clone();
        let bars = field(&mut bars).to_vec();
        let sizes = field(&mut model.clone()).to_vec();
        // Each number in proportion to its size: those that are not set stay so.
        let direction: Vec<f64> = sizes.iter().map(|size| size * random.next()).collect();
        let found = bars.iter().zip(&direction).map(|(a, b)| a * b).sum();
        check(name, found, &|x| {
            let mut moved = model.clone();
            for (number, rate) in field(&mut moved).iter_mut().zip(&direction) {
                *number += x * rate;
            }
            value(&moved, &start, &controls)
        });
    }
}

/// A body that tumbles freely, its axes renamed x → y → z → x `turns` times.
fn tumbling(turns: usize) -> (Model, State) {
    let turn =
        |numbers: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| numbers[(k + 3 - turns) % 3]) };
    let text = |numbers: [f64; 3]| turn(numbers).map(|number| number.to_string()).join(" ");
    let mut model = models::from_text(&format!(
        r#"<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
          <inertial pos="0 0 0" mass="2" diaginertia="{}"/></body></worldbody></mujoco>"#,
        text([0.02, 0.03, 0.04])
    ));
    // Frames are not snapped together: the inertial frame may turn.
    model.bodies.inertial_quat[1] = carom::math::Quat::identity();
    let mut state = State::reference(&model);
    state.qvel[3..].copy_from_slice(&turn([1.5, -2.0, 0.7]));
    (model, state)
}

/// By moments and products of inertia, for a loss that weighs the spin at the end.
fn by_inertia(turns: usize) -> (Vec3, Vec3, Vec3) {
    let (model, state) = tumbling(turns);
    let steps = 40;
    let run = run(&model, &state, &Controls::Zero, steps);
    let mut loss = RolloutBar::zeros(&run);
    let weights = [0.3, -0.9, 0.5];
    for axis in 0..3 {
        loss.qvel_mut(steps)[3 + (axis + turns) % 3] = weights[axis];
    }
    let gradient = run.backward(&model, &Controls::Zero, &mut loss).unwrap();
    let bodies = &gradient.model.bodies;
    let turn = turn_bar(model.bodies.inertial_quat[1], bodies.inertial_quat[1]);
    (bodies.inertia[1], bodies.inertia_products[1], turn)
}

#[test]
fn gradients_by_inertia_know_no_preferred_axis() {
    let (moments, products, turn) = by_inertia(0);
    assert!(moments.norm() > 1e-2 && products.norm() > 1e-2 && turn.norm() > 1e-4);
    for turns in 1..3 {
        let (turned_moments, turned_products, turned_turn) = by_inertia(turns);
        for axis in 0..3 {
            let image = (axis + turns) % 3;
            assert_near("moment", turned_moments[image], moments[axis], 1e-9);
            assert_near("turn", turned_turn[image], turn[axis], 1e-9);
            // The products xy, xz, yz lie opposite to the axes z, y, x.
            assert_near(
                "product",
                turned_products[2 - image],
                products[2 - axis],
                1e-9,
            );
        }
    }
}

/// The gradient is one symmetric matrix: that by products gives that by turning the principal axes.
#[test]
fn gradients_by_products_and_by_turns_of_the_principal_axes_are_one_matrix() {
    let (_, products, turn) = by_inertia(0);
    let moments = [0.02, 0.03, 0.04];
    let [xy, xz, yz] = products.0;
    // dI = [δ]·I − I·[δ] has the product (I_j − I_i)·δ_k·(±1) off the diagonal.
    let expected = [
        yz * (moments[1] - moments[2]),
        xz * (moments[2] - moments[0]),
        xy * (moments[0] - moments[1]),
    ];
    for (found, expected) in turn.0.into_iter().zip(expected) {
        assert_near("turn", found, expected, 1e-9);
    }
}
