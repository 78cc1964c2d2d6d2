//! Where stages are checked.

use std::cell::RefCell;

use carom_spec::model_spec::LearnedTermSpec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};

use super::{Point, Stage, Tally, examine, fine_groups};
use crate::data::Data;
use crate::dynamics;
use crate::integrate;
use crate::model::{Cone, LawLevel, Model};
use crate::stages::collision::Contact;
use crate::stages::constraint::Block;
use crate::stages::{learned, solve};
use crate::state::{Input, State};
use crate::testing::random_mjcf::{CONES, INTEGRATORS, PARTS, Part, Plan};
use crate::testing::{Random, model_with_terms};

/// Random mechanisms that every stage is checked on.
const CASES: u32 = 48;

/// A model at a random state with random inputs, all stages computed; frames that coincide are moved apart in the
/// model's own numbers, since derivatives go through them.
pub(crate) fn random_point(mut model: Model, seed: u64) -> Point {
    let mut random = Random::new(seed);
    let structure = std::sync::Arc::make_mut(&mut model.structure);
    structure.coincidences.clear();
    let mut state = crate::testing::random_state(seed, &model);
    state.act.fill_with(|| 0.5 + 0.4 * random.next());
    for history in &mut state.history {
        history.values_mut().fill_with(|| 0.5 * random.next());
    }
    let mut input = Input::zeros(&model);
    input.ctrl.fill_with(|| 0.5 * random.next());
    input.force.fill_with(|| random.next());
    (input.body_force).fill_with(|| crate::math::Spatial(random.numbers()));
    let mut data = Data::new(&model);
    crate::dynamics::forward_and_sense(&model, &state, &input, &mut data);
    Point {
        model,
        state,
        input,
        data,
    }
}

/// The models that stages are checked on: those the repository ships, and random mechanisms.
pub(crate) fn points() -> Vec<(String, Point)> {
    let mut points = Vec::new();
    for (name, file) in carom_testing::shipped_models() {
        if file.extension().is_some_and(|extension| extension == "xml") {
            let model = crate::testing::model_from_file(&file);
            points.push((name, random_point(model, 7)));
        }
    }
    for seed in 0..6 {
        let model = crate::testing::random_model(seed, 6);
        points.push((
            format!("random mechanism {seed}"),
            random_point(model, seed),
        ));
    }
    points
}

/// As [`points`], and further models in MJCF at several states each.
pub(crate) fn points_and(texts: &[&str]) -> Vec<(String, Point)> {
    let mut points = points();
    for (index, text) in texts.iter().enumerate() {
        for seed in 0..4 {
            let point = random_point(crate::testing::model_from_mjcf(text), seed);
            points.push((format!("further model {index}, seed {seed}"), point));
        }
    }
    points
}

/// Random mechanisms with constraints of every kind, under both cones, with so many sweeps against creep.
pub(crate) fn constrained_points(sweeps: usize) -> Vec<(String, Point)> {
    let cones = [Cone::Pyramidal, Cone::Elliptic];
    let scenes = cones
        .into_iter()
        .flat_map(|cone| (0..6).map(move |seed| (cone, seed)));
    scenes
        .map(|(cone, seed)| {
            let mut scene = crate::testing::random_constrained(seed, 6, cone);
            scene.model.settings.enable.diagexact = seed % 3 == 2;
            scene.model.settings.noslip_iterations = sweeps;
            let mut data = scene.solve();
            if sweeps > 0 {
                // Within a body a contact has no stiffness, which the least step would give it. Rows that act on fewer dofs
                // than they are depend on each other: renewing some leaves the others at their bounds and asking for
                // nothing, a kink, and what the sections of cones divide by is close to zero.
                let blocks = &data.constraint.blocks[data.constraint.first_contact..];
                let is_free = |block: &&Block| {
                    data.constraint.block_columns(block).len() >= block.row_count.max(3)
                };
                let touching: Vec<Contact> = (blocks.iter().filter(is_free))
                    .map(|block| scene.contacts[block.object])
                    .collect();
                scene.contacts = touching;
                data = scene.solve();
            }
            let model = scene.model_with_geoms();
            let complete = solve::factor_at_solution(
                &model,
                &data.inertia,
                &data.acceleration,
                &data.constraint,
                &mut data.solve,
            );
            assert!(complete);
            let point = Point {
                model,
                state: scene.state,
                input: scene.input,
                data,
            };
            (format!("{cone:?} {seed}, {sweeps} sweeps"), point)
        })
        .collect()
}

/// Random mechanisms under some contact laws.
pub(crate) fn plans(laws: &'static [&'static str]) -> impl Strategy<Value = Plan> {
    (
        any::<u64>().no_shrink(),
        1..5_usize,
        prop::sample::subsequence(PARTS.to_vec(), 0..=PARTS.len()),
        prop::sample::select(&INTEGRATORS[..]),
        prop::sample::select(&CONES[..]),
        prop::sample::select(laws),
    )
        .prop_map(|(seed, bodies, parts, integrator, cone, law)| Plan {
            seed,
            bodies,
            parts,
            integrator,
            cone,
            law,
            is_aligned: false,
        })
}

/// Runs a check on random mechanisms; a failure is made as small as it gets.
pub(crate) fn for_plans(
    laws: &'static [&'static str],
    cases: u32,
    check: impl Fn(&Plan) -> Result<(), String>,
) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&plans(laws), |plan| {
        check(&plan).map_err(|why| TestCaseError::fail(format!("{why}\n{}", plan.mjcf())))
    });
    if let Err(why) = outcome {
        panic!("{why}");
    }
}

/// A mechanism in motion near its default configuration, where its bodies touch.
/// With learned terms, if any are given.
pub(crate) fn plan_point(plan: &Plan, terms: Vec<LearnedTermSpec>) -> Point {
    let model = model_with_terms(&plan.mjcf(), terms);
    let mut random = Random::new(plan.seed ^ 0x0917);
    let mut state = State::reference(&model);
    let nv = model.counts().nv;
    integrate::integrate_positions(&model, &mut state.qpos, &random.vector(nv), 0.1);
    state.qvel = random.vector(nv);
    point_at(model, state, &mut random)
}

/// All results at a state under random inputs, solved as exactly as rounding allows.
pub(super) fn point_at(mut model: Model, mut state: State, random: &mut Random) -> Point {
    let structure = std::sync::Arc::make_mut(&mut model.structure);
    structure.coincidences.clear();
    solve::tighten(&mut model);
    // Impulses of a rigid law as exact as rounding allows, and yielding enough to exist wherever bodies are.
    model.laws.tolerance.fill(1e-14);
    model.laws.mixing.fill(0.1);
    state.act.fill_with(|| 0.5 + 0.4 * random.next());
    let mut input = Input::zeros(&model);
    input.ctrl.fill_with(|| 0.5 * random.next());
    input.force.fill_with(|| random.next());
    let mut data = Data::new(&model);
    dynamics::forward(&model, &state, &input, &mut data);
    let found = data.solve.qacc.clone();
    assert!(dynamics::retrace(&model, &state, &input, &found, &mut data));
    dynamics::sense(&model, &state, &input, &mut data);
    Point {
        model,
        state,
        input,
        data,
    }
}

/// Whether there is a solution to differentiate: the search for impulses may end without one, and says so.
pub(super) fn is_solved(point: &Point) -> bool {
    !point.model.structure.laws.acts_on(LawLevel::Impulse)
        || point.data.solve.report.residual < 1e-12
}

/// Checks a stage on random mechanisms.
pub(crate) fn check_random<S: Stage>() {
    let tally = RefCell::new(Tally::default());
    for_plans(S::LAWS, CASES, |plan| {
        let mut plan = plan.clone();
        if plan.law == "complementarity" {
            // Equalities under this law are checked on mechanisms of their own.
            plan.parts.retain(|&part| part != Part::Equalities);
        }
        let terms = match S::NAME {
            "learned" => learned::tests::everywhere(),
            _ => Vec::new(),
        };
        let point = plan_point(&plan, terms);
        if !is_solved(&point) {
            tally.borrow_mut().unsolved += 1;
            return Ok(());
        }
        let found = examine::<S>(&point, &fine_groups(&point.model))?;
        tally.borrow_mut().add(&found);
        Ok(())
    });
    let tally = tally.into_inner();
    let mechanisms = format!("random mechanisms, {}", S::LAWS.join(" "));
    tally.assert_telling(S::NAME, &mechanisms, 60);
}
