//! All ways to the gradient of a motion lead to the same one.

use carom::Error;
use carom::cotangent::StateBar;
use carom::flow::{Adjoint, Flow, FlowSettings, Motion, Tolerances, Variation};
use carom::linearize::Tangent;
use carom::rollout::{Controls, Gradient, Loss};
use carom::{Model, State};

use crate::models;

/// All positions, velocities and activations at the ends of all intervals, weighted differently.
struct Everything;

impl Loss for Everything {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        let numbers = (bar.qpos.iter_mut())
            .chain(&mut bar.qvel)
            .chain(&mut bar.act);
        for (index, number) in numbers.enumerate() {
            *number += weight(step, index);
        }
    }
}

fn weight(step: usize, index: usize) -> f64 {
    (1.0 + index as f64 + 3.0 * step as f64).sin()
}

/// A motion over some intervals of 0.1 s.
struct Case {
    model: Model,
    start: State,
    controls: Controls,
    intervals: usize,
}

impl Case {
    fn follow(&self, adjoint: Adjoint, tolerance: f64) -> (Flow, Motion) {
        let settings = FlowSettings {
            tolerances: Tolerances::all(tolerance),
            adjoint,
            ..FlowSettings::default()
        };
        let flow = Flow::new(&self.model, settings).unwrap();
        let motion = flow.run(&self.start, &self.controls, 0.1, self.intervals);
        (flow, motion)
    }

    fn gradient(&self, adjoint: Adjoint, tolerance: f64) -> Result<Gradient, Error> {
        let (flow, motion) = self.follow(adjoint, tolerance);
        motion.backward(&flow, &self.controls, &mut Everything)
    }

    /// Directions of the start, of the controls, and of some of the model's numbers.
    fn variations(&self) -> Vec<Variation> {
        let rest = Tangent::zeros(&self.model);
        let wave = |numbers: &mut [f64]| {
            for (index, number) in numbers.iter_mut().enumerate() {
                *number = (2.0 + index as f64).cos();
            }
        };
        let mut start = rest.clone();
        wave(&mut start.qpos);
        wave(&mut start.qvel);
        wave(&mut start.act);
        let mut push = rest.clone();
        wave(&mut push.ctrl);
        let zeros = self.model.map(|_| 0.0);
        let mut materials = zeros.clone();
        materials.option.gravity[0].0 = [0.5, 0.2, -1.0];
        wave(&mut materials.bodies.mass);
        (materials.geoms.friction.iter_mut()).for_each(|friction| friction[0] = 0.3);
        (materials.geoms.solref.iter_mut()).for_each(|solref| solref[0] = 0.01);
        let mut shapes = zeros;
        (shapes.geoms.size.iter_mut()).for_each(|size| size[2] = 0.1);
        wave(&mut shapes.dofs.damping);
        let of_model = |model: Model| Variation {
            start: rest.clone(),
            model: Some(model),
        };
        let of_start = |start: Tangent| Variation { start, model: None };
        vec![
            of_start(start),
            of_start(push),
            of_model(materials),
            of_model(shapes),
        ]
    }
}

/// The change of the loss by changes of the states.
fn change_of_loss(changes: &[Tangent]) -> f64 {
    let of_state = |(step, change): (usize, &Tangent)| -> f64 {
        let numbers = change.qpos.iter().chain(&change.qvel).chain(&change.act);
        let terms = numbers.enumerate();
        terms
            .map(|(index, number)| weight(step, index) * number)
            .sum()
    };
    changes.iter().enumerate().map(of_state).sum()
}

/// The same by a gradient.
fn along(gradient: &Gradient, variation: &Variation) -> f64 {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (bar, start) = (&gradient.start, &variation.start);
    let mut sum = dot(&bar.qpos, &start.qpos) + dot(&bar.qvel, &start.qvel);
    sum += dot(&bar.act, &start.act);
    for row in gradient.controls.chunks(start.ctrl.len().max(1)) {
        sum += dot(row, &start.ctrl);
    }
    if let Some(model) = &variation.model {
        let mut rates = Vec::new();
        model.for_each(|_, _, _, rate| rates.push(rate));
        let mut rates = rates.into_iter();
        (gradient.model).for_each(|_, _, _, bar| sum += bar * rates.next().unwrap());
    }
    sum
}

#[test]
fn forward_and_backward_agree() {
    for case in [box_that_bounces(), arm_with_muscles(), swing()] {
        let (flow, motion) = case.follow(Adjoint::Stored, 1e-6);
        let gradient = motion.backward(&flow, &case.controls, &mut Everything);
        let gradient = gradient.unwrap();
        let variations = case.variations();
        let changes = motion.forward(&flow, &case.controls, &variations).unwrap();
        for (variation, changes) in variations.iter().zip(&changes) {
            assert_eq!(changes.len(), case.intervals + 1);
            let (found, expected) = (change_of_loss(changes), along(&gradient, variation));
            let size = expected.abs().max(1e-3);
            assert!(
                (found - expected).abs() < 1e-9 * size,
                "{found} instead of {expected}"
            );
        }
    }
}

/// A tumbling box that bounces a few times: onsets, kinks and orientations.
fn box_that_bounces() -> Case {
    let model = models::from_text(
        r#"<mujoco><option gravity="0 0 -9.81"/><worldbody><geom type="plane" size="5 5 1"/>
          <body pos="0 0 0.2"><freejoint/><geom type="box" size="0.05 0.04 0.03" euler="30 20 0"/></body>
        </worldbody></mujoco>"#,
    );
    let mut start = State::reference(&model);
    start
        .qvel
        .copy_from_slice(&[0.3, -0.2, -1.0, 2.0, 3.0, -1.0]);
    Case {
        model,
        start,
        controls: Controls::Zero,
        intervals: 3,
    }
}

/// An arm whose muscles are activated differently in every interval.
fn arm_with_muscles() -> Case {
    let model = models::load(&models::root().join("models/muscle_arm.xml"));
    let intervals = 3;
    let nu = model.counts().nu;
    let controls = (0..intervals * nu).map(|k| 0.5 + 0.4 * (k as f64).sin());
    Case {
        start: State::reference(&model),
        controls: Controls::PerStep(controls.collect()),
        model,
        intervals,
    }
}

/// A chain of a ball joint and a hinge without friction.
fn swing() -> Case {
    let model = models::from_text(
        r#"<mujoco><worldbody><body pos="0 0 1"><joint type="ball"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/>
          <body pos="0.3 0 0"><joint axis="0 1 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0 0.1 -0.3" mass="0.5"/></body>
        </body></worldbody></mujoco>"#,
    );
    let mut start = State::reference(&model);
    start.qvel.copy_from_slice(&[1.0, -2.0, 0.5, 3.0]);
    Case {
        model,
        start,
        controls: Controls::Zero,
        intervals: 4,
    }
}

/// Greatest difference of two gradients, relative to the greatest number of each of their parts.
fn distance(found: &Gradient, expected: &Gradient) -> f64 {
    let parts = |gradient: &Gradient| {
        let mut model = Vec::new();
        (gradient.model).for_each(|_, _, _, number| model.push(number));
        let start = &gradient.start;
        let state = (start.qpos.iter()).chain(&start.qvel).chain(&start.act);
        [model, state.copied().collect(), gradient.controls.clone()]
    };
    let pairs = parts(found).into_iter().zip(parts(expected));
    pairs
        .filter(|(_, expected)| !expected.is_empty())
        .map(|(found, expected)| {
            let size = expected.iter().fold(0.0_f64, |size, x| size.max(x.abs()));
            let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            off.fold(0.0, f64::max) / size.max(f64::MIN_POSITIVE)
        })
        .fold(0.0, f64::max)
}

#[test]
fn a_budget_of_memory_does_not_change_a_bit() {
    for case in [box_that_bounces(), arm_with_muscles(), swing()] {
        let stored = case.gradient(Adjoint::Stored, 1e-6).unwrap();
        assert!(stored.start.norm() > 0.0);
        for bytes in [0, 4_000, 30_000, 100_000_000] {
            let found = case.gradient(Adjoint::Checkpointed { bytes }, 1e-6);
            assert_eq!(found.unwrap(), stored, "{bytes} bytes");
        }
    }
}

/// The stored gradient is that of steps, of which the curves of muscles have an error of their own: it is known to as much as
/// shorter steps change it.
#[test]
fn the_continuous_adjoint_is_within_its_tolerance() {
    for case in [box_that_bounces(), arm_with_muscles(), swing()] {
        let expected = case.gradient(Adjoint::Stored, 1e-12).unwrap();
        let doubt = distance(&case.gradient(Adjoint::Stored, 1e-11).unwrap(), &expected);
        assert!(doubt < 1e-5, "{doubt:e}");
        for tolerance in [1e-4, 1e-8] {
            let found = case.gradient(Adjoint::Continuous { tolerance }, 1e-11);
            let off = distance(&found.unwrap(), &expected);
            assert!(off < tolerance + doubt, "{off:e} at {tolerance:e}");
        }
    }
}

#[test]
fn smooth_motions_can_be_followed_back_from_their_end() {
    let case = swing();
    let expected = case.gradient(Adjoint::Stored, 1e-11).unwrap();
    let found = case.gradient(Adjoint::Backsolve { tolerance: 1e-7 }, 1e-11);
    let off = distance(&found.unwrap(), &expected);
    assert!(off < 1e-7, "{off:e}");
}

#[test]
fn clamped_activations_cannot_be_followed_back() {
    let model = models::from_text(
        r#"<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
          <actuator><general joint="j" dyntype="integrator" actlimited="true" actrange="-1 1"/></actuator></mujoco>"#,
    );
    let case = Case {
        start: State::reference(&model),
        model,
        controls: Controls::Zero,
        intervals: 1,
    };
    let refused = case.gradient(Adjoint::Backsolve { tolerance: 1e-6 }, 1e-6);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("use another adjoint"), "{text}");
}
