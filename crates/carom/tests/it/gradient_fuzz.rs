//! Random contact states, most of them on a kink or degenerate: gradients are finite wherever the step itself is.
//!
//! Resting, lifting off, without velocity, parallel faces, coincident points and centres, shapes without extent, under
//! every law, cone and integrator. The loss weighs the next state, all sensors and all constraint forces, and the gradient
//! by state, controls and every number of the model is looked at. Where the step is not finite, or has no derivative, the
//! answer must be an error that says so.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use carom::cotangent::{DataBar, StateBar};
use carom::dynamics::At;
use carom::math::Vec3;
use carom::rollout::{Adjoint, Controls, Gradient, Loss, NoGradient, gradient};
use carom::{Data, ErrorKind, Input, Model, State};
use carom_testing::{Random, by_tier};
use rayon::prelude::*;

use crate::random_mjcf::{CONES, INTEGRATORS, LAWS, PARTS, Plan};
use crate::{models, robustness};

/// Scenes in the gate and in the long form, and states of each: 10⁵ together in the long form.
const SCENES: [u64; 2] = [400, 2_000];
const STATES: usize = 50;
/// Steps of every trajectory: one is enough to meet every backward pass.
const STEPS: usize = 1;

/// A loss that weighs the last state, and all sensors, forces and accelerations before.
struct Everything {
    last: StateBar,
    random: Random,
    contacts: usize,
}

impl Everything {
    fn new(model: &Model, mut random: Random) -> Self {
        let mut last = StateBar::zeros(model);
        let numbers = (last.qpos.iter_mut())
            .chain(&mut last.qvel)
            .chain(&mut last.act);
        numbers.for_each(|number| *number = random.next());
        Self {
            last,
            random,
            contacts: 0,
        }
    }
}

impl Loss for Everything {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == STEPS {
            bar.add(&self.last);
        }
    }

    fn by_results(&mut self, _: usize, at: At<'_>, bar: &mut DataBar) {
        self.contacts += at.data.collision.contacts.len();
        let lists = [
            &mut bar.sensing.values,
            &mut bar.solve.force,
            &mut bar.solve.qacc,
        ];
        for number in lists.into_iter().flatten() {
            *number += self.random.next();
        }
    }

    fn uses_sensors(&self) -> bool {
        true
    }
}

/// A mechanism of the seed: aligned to a grid, arbitrary, or absurd.
fn scene(seed: u64) -> String {
    let mut random = Random::new(seed);
    if seed % 8 == 7 {
        return robustness::scene(&mut random);
    }
    let parts = PARTS.into_iter().filter(|_| random.chance(0.2)).collect();
    let mut plan = Plan {
        seed,
        bodies: 1 + usize::from(random.chance(0.4)),
        parts,
        // Steps of four stages, and the search for impulses, take longest.
        integrator: match random.below(16) {
            0 => INTEGRATORS[3],
            _ => INTEGRATORS[random.below(3)],
        },
        cone: CONES[random.below(CONES.len())],
        law: match random.below(24) {
            0 => LAWS[1],
            1..8 => LAWS[2],
            _ => LAWS[0],
        },
        is_aligned: seed % 8 < 5,
    };
    if !plan.parts.contains(&PARTS[0]) {
        plan.parts.push(PARTS[0]);
    }
    plan.mjcf()
}

/// Takes the extent of some geoms away, whole or along one axis.
fn flatten(model: &mut Model, random: &mut Random) {
    for size in &mut model.geoms.size {
        match random.below(4) {
            0 => *size = Vec3::ZERO,
            1 => size[random.below(3)] = 0.0,
            _ => {}
        }
    }
}

/// States of a motion from the reference, while it is within measure.
fn motion(model: &Model, data: &mut Data) -> Vec<State> {
    let input = Input::zeros(model);
    let mut states = vec![State::reference(model)];
    for _ in 0..10 {
        let mut state = states[states.len() - 1].clone();
        if carom::step(model, &mut state, &input, data).large.is_some() {
            break;
        }
        states.push(state);
    }
    states
}

/// A state of the motion as it is, or at rest or with velocities of any size on the grid or beside it.
fn start(model: &Model, random: &mut Random, motion: &[State]) -> State {
    if random.chance(0.1) {
        return motion[random.below(motion.len())].clone();
    }
    let mut state = motion[0].clone();
    let shift = random.pick(&[0.0, 0.0, 1e-9, 0.1, 1.0]);
    let mut displacement = random.vector(model.counts().nv);
    if random.chance(0.5) {
        for number in &mut displacement {
            *number = number.round();
        }
    }
    carom::integrate_positions(model, &mut state.qpos, &displacement, shift);
    let speed = random.pick(&[0.0, 0.0, 1e-200, 1e-9, 1.0, 1.0, 30.0]);
    state.qvel.fill_with(|| speed * random.next());
    if random.chance(0.3) {
        // Lifting off, or sliding, along one axis of the world.
        let dof = random.below(state.qvel.len());
        state.qvel.fill(0.0);
        state.qvel[dof] = random.pick(&[1.0, -1.0, 1e-6]);
    }
    let level = random.pick(&[0.0, 0.5, 1.0]);
    state.act.fill(level);
    state
}

/// The first number of a gradient that is not finite.
fn first_not_finite(gradient: &Gradient) -> Option<String> {
    let bar = &gradient.start;
    for (name, list) in [
        ("qpos", &bar.qpos),
        ("qvel", &bar.qvel),
        ("act", &bar.act),
        ("controls", &gradient.controls),
    ] {
        if let Some(index) = list.iter().position(|number| !number.is_finite()) {
            return Some(format!("{name}[{index}]"));
        }
    }
    let vectors = (bar.mocap_position.iter()).chain(&bar.mocap_rotation);
    if vectors
        .flat_map(|vector| vector.0)
        .any(|number| !number.is_finite())
    {
        return Some("mocap".to_owned());
    }
    let mut found = None;
    gradient
        .model
        .for_each(|quantity, element, component, number| {
            if !number.is_finite() && found.is_none() {
                found = Some(format!("{quantity}[{element}][{component}]"));
            }
        });
    found
}

/// What came of the states.
#[derive(Default)]
struct Tally {
    refused: AtomicUsize,
    contacts: AtomicUsize,
    finite: AtomicUsize,
    errors: AtomicUsize,
}

/// Everything wrong with the states of a scene.
fn run(seed: u64, tally: &Tally) -> Vec<String> {
    let text = scene(seed);
    let Ok(mut model) = models::try_from_text(&text) else {
        tally.refused.fetch_add(STATES, Relaxed);
        return Vec::new();
    };
    let mut random = Random::new(seed ^ 0xF022);
    let mut data = Data::new(&model);
    let mut passed = motion(&model, &mut data);
    let mut wrong = Vec::new();
    for index in 0..STATES {
        if index == STATES * 4 / 5 {
            flatten(&mut model, &mut random);
            passed = motion(&model, &mut data);
        }
        let state = start(&model, &mut random, &passed);
        let push = random.pick(&[0.0, 0.5, 10.0]);
        let mut input = Input::zeros(&model);
        input.ctrl.fill_with(|| push * random.next());
        let controls = Controls::Constant(input.ctrl.clone());
        let mut loss = Everything::new(&model, Random::new(seed));
        match gradient(&model, &state, &controls, STEPS, Adjoint::Stored, &mut loss) {
            Ok((_, gradient)) => {
                tally.finite.fetch_add(1, Relaxed);
                if let Some(place) = first_not_finite(&gradient) {
                    wrong.push(format!(
                        "scene {seed}, state {index}: {place} of the gradient"
                    ));
                }
            }
            // Where the step itself leaves all measure, so may its derivative.
            Err(error)
                if error.kind() == &ErrorKind::Gradient(NoGradient::Exploded)
                    && carom::step(&model, &mut state.clone(), &input, &mut data)
                        .large
                        .is_none() =>
            {
                wrong.push(format!("scene {seed}, state {index}: {error}"));
            }
            Err(_) => {
                tally.errors.fetch_add(1, Relaxed);
            }
        }
        tally.contacts.fetch_add(loss.contacts, Relaxed);
    }
    wrong
}

#[test]
fn gradients_are_finite_wherever_steps_are() {
    let tally = Tally::default();
    let scenes = by_tier(SCENES[0], SCENES[1]);
    let wrong: Vec<String> = (0..scenes)
        .into_par_iter()
        .flat_map_iter(|seed| run(seed, &tally))
        .collect();
    let count = |count: &AtomicUsize| count.load(Relaxed);
    println!(
        "{} states: {} in refused scenes, {} gradients, {} errors, {} contacts",
        usize::try_from(scenes).unwrap() * STATES,
        count(&tally.refused),
        count(&tally.finite),
        count(&tally.errors),
        count(&tally.contacts),
    );
    // The generator must keep making states that say something.
    let states = usize::try_from(scenes).unwrap() * STATES;
    assert!(count(&tally.refused) + count(&tally.errors) < states / 20);
    assert!(count(&tally.contacts) > 2 * states);
    assert!(
        wrong.is_empty(),
        "{} gradients are not finite:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
