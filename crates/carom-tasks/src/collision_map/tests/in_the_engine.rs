//! Maps of collisions in the engine: the same motions, exact derivatives, and the solver outside of their limits.

use carom::cotangent::StateBar;
use carom::model::STRIKE_MEMORY;
use carom::system::{Linear, Passing, Seen, StepBar};
use carom::{Dynamics, Model, State};
use carom_spec::ModelSpec;

use super::{CollisionMap, Limits, bodies, map, mapping, striker};
use crate::collision_map::store;

const LIMITS: Limits = Limits {
    speed: 1.5,
    slide: 2.0,
    spin: 60.0,
    depth: 2e-3,
};

fn scene(shape: &str) -> ModelSpec {
    let file = format!("../../datasets/clash_{shape}.xml");
    (carom::load::file(file.as_ref(), &[]).expect("the scene")).spec
}

fn limited(shape: &str) -> CollisionMap {
    CollisionMap {
        limits: LIMITS,
        ..map(shape)
    }
}

fn described(map: &CollisionMap, shape: &str) -> ModelSpec {
    store::scene(scene(shape), &mapping(), map, "hybrid.safetensors").expect("a scene")
}

fn compiled(spec: &ModelSpec) -> Model {
    let (model, problems) = carom::compile::compile(spec);
    model.unwrap_or_else(|| panic!("{problems:?}"))
}

fn hybrid(shape: &str) -> Model {
    compiled(&described(&limited(shape), shape))
}

/// The prism at rest, and the striker on its way.
fn ready(model: &Model, coming: [f64; 6]) -> State {
    let mut state = State::reference(model);
    let settle = model.input();
    let mut work = model.work();
    state.qpos[7..10].copy_from_slice(&[0.3, 0.3, 0.0]);
    for _ in 0..300 {
        model.step(&mut state, &settle, &mut work);
    }
    state.qvel.fill(0.0);
    state.time = 0.0;
    state.qpos[7..10].copy_from_slice(&coming[..3]);
    state.qvel[6..9].copy_from_slice(&coming[3..]);
    state
}

#[test]
fn engine_and_map_agree_on_where_prisms_come_to_rest() {
    for (shape, apothem) in [("square", 0.03), ("triangle", 0.0259)] {
        let (model, map) = (hybrid(shape), limited(shape));
        for (point, speed, deflection) in [(0.004, 0.6, 0.2), (-0.012, 0.9, -0.5)] {
            let coming = striker(apothem, point, speed, deflection);
            let mut state = ready(&model, coming);
            let (mut work, input) = (model.work(), model.input());
            for _ in 0..1200 {
                let report = model.step(&mut state, &input, &mut work);
                assert!(!report.falls_back && report.not_finite.is_none());
            }
            let expected = map.strike([0.0; 3], coming).rest;
            let [w, z] = [state.qpos[3], state.qpos[6]];
            let yaw = 2.0 * z.atan2(w);
            let off = (state.qpos[0] - expected[0]).hypot(state.qpos[1] - expected[1]);
            let turned = (yaw - expected[2] + 9.0 * std::f64::consts::PI)
                .rem_euclid(std::f64::consts::TAU)
                - std::f64::consts::PI;
            // Both step differently; recordings scatter by more.
            assert!(
                off < 1e-3 && turned.abs() < 2e-2,
                "{shape}: {off} m, {turned} rad"
            );
            assert!(
                state.qvel[..6].iter().all(|v| v.abs() < 1e-6),
                "{:?}",
                state.qvel
            );
        }
    }
}

/// States before, in and after an impact, and one in which the struck body is lifted, so that the solver does all.
fn moments(model: &Model) -> Vec<State> {
    let mut state = ready(model, striker(0.03, 0.009, 0.7, 0.3));
    let (mut work, input) = (model.work(), model.input());
    let mut found = Vec::new();
    for step in 0..60 {
        if [0, 1, 2, 3, 4, 12, 40].contains(&step) {
            found.push(state.clone());
        }
        model.step(&mut state, &input, &mut work);
    }
    state.qpos[2] += 0.1;
    found.push(state);
    found
}

#[test]
fn derivatives_are_those_of_dual_numbers() {
    let model = hybrid("square");
    let input = model.input();
    let (nv, na) = (model.counts().nv, model.counts().na);
    assert_eq!(na, STRIKE_MEMORY);
    let (mut reverse, mut work) = (model.reverse(), model.work());
    let mut exact = Linear::default();
    for state in moments(&model) {
        let mut end = state.clone();
        model.step(&mut end, &input, &mut work);
        let seen = Seen {
            step: 0,
            state: &state,
            input: &input,
            warmstart: &end.warmstart,
        };
        model
            .linearize(seen, &mut exact, &mut reverse)
            .expect("a linear map");
        let width = 2 * nv + na;
        for row in 0..width {
            let mut next = StateBar::zeros(&model);
            match row {
                row if row < nv => next.qpos[row] = 1.0,
                row if row < 2 * nv => next.qvel[row - nv] = 1.0,
                row => next.act[row - 2 * nv] = 1.0,
            }
            let mut bar = StepBar::zeros(&state, &input);
            let passing = Passing {
                next: &next,
                loss: &mut carom::rollout::Nothing,
                observer: &mut (),
            };
            (model.backward(seen, passing, &mut bar, &mut reverse)).expect("a derivative");
            let found = bar
                .state
                .qpos
                .iter()
                .chain(&bar.state.qvel)
                .chain(&bar.state.act);
            for (column, (found, exact)) in found.zip(&exact.a[row * width..]).enumerate() {
                let off = (found - exact).abs();
                assert!(
                    off <= 1e-8 * (1.0 + exact.abs()),
                    "{row} {column}: {found} {exact}"
                );
            }
        }
    }
}

#[test]
fn derivatives_of_the_laws_are_those_of_differences() {
    let model = hybrid("square");
    let input = model.input();
    let (mut reverse, mut work) = (model.reverse(), model.work());
    for state in moments(&model) {
        let mut end = state.clone();
        model.step(&mut end, &input, &mut work);
        let weight = |k: usize| 1.0 / (1.0 + k as f64);
        let cost = |state: &State| -> f64 {
            let numbers = state.qvel.iter().enumerate();
            numbers.map(|(k, v)| weight(k) * v).sum()
        };
        let mut next = StateBar::zeros(&model);
        for (k, bar) in next.qvel.iter_mut().enumerate() {
            *bar = weight(k);
        }
        let seen = Seen {
            step: 0,
            state: &state,
            input: &input,
            warmstart: &end.warmstart,
        };
        let passing = Passing {
            next: &next,
            loss: &mut carom::rollout::Nothing,
            observer: &mut (),
        };
        let mut bar = StepBar::zeros(&state, &input);
        (model.backward(seen, passing, &mut bar, &mut reverse)).expect("a derivative");
        let found = model.take_bar(&mut reverse, 0.0).strikes.number.clone();
        for (k, found) in found.into_iter().enumerate() {
            let at = |sign: f64| {
                let mut moved = model.clone();
                moved.strikes.number[k] += sign * 1e-6;
                let mut end = state.clone();
                moved.step(&mut end, &input, &mut moved.work());
                cost(&end)
            };
            let difference = (at(1.0) - at(-1.0)) / 2e-6;
            let off = (found - difference).abs();
            assert!(
                off <= 1e-6 * (1.0 + difference.abs()),
                "{k}: {found} {difference}"
            );
        }
    }
}

#[test]
fn outside_of_its_limits_the_solver_does_all_and_steps_say_so() {
    let narrow = CollisionMap {
        limits: Limits {
            speed: 0.5,
            ..LIMITS
        },
        ..map("square")
    };
    let model = compiled(&described(&narrow, "square"));
    let plain = {
        let mut spec = described(&narrow, "square");
        spec.collision_maps.clear();
        compiled(&spec)
    };
    let coming = striker(0.03, 0.0, 0.8, 0.0);
    let mut state = ready(&model, coming);
    let (mut work, input) = (model.work(), model.input());
    let mut other = State::reference(&plain);
    other.qpos.clone_from(&state.qpos);
    other.qvel.clone_from(&state.qvel);
    other.warmstart.clone_from(&state.warmstart);
    let report = model.step(&mut state, &input, &mut work);
    assert!(report.falls_back && report.extrapolates);
    plain.step(&mut other, &input, &mut plain.work());
    assert_eq!((&state.qpos, &state.qvel), (&other.qpos, &other.qvel));
}

#[test]
fn maps_of_other_bodies_are_refused() {
    let mut spec = described(&limited("triangle"), "triangle");
    spec.collision_maps[0].fingerprint = bodies("square").fingerprint();
    let (model, problems) = carom::compile::compile(&spec);
    assert!(model.is_none());
    assert!(
        problems
            .iter()
            .any(|one| one.message.contains("other shape")),
        "{problems:?}"
    );
    let mut absent = described(&limited("square"), "square");
    absent.collision_maps[0].numbers.pop();
    let (model, problems) = carom::compile::compile(&absent);
    assert!(model.is_none());
    assert!(
        problems
            .iter()
            .any(|one| one.message.contains("15 numbers")),
        "{problems:?}"
    );
}
