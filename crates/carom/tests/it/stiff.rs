//! Very stiff contacts, by steps that are implicit in the constraints.

use carom::cotangent::StateBar;
use carom::flow::{Flow, FlowSettings, Method, Motion, Tolerances};
use carom::rollout::{Controls, Gradient, Loss};
use carom::{Model, State};

use crate::models;

/// The sum of the positions and of the velocities of the last state, with weights.
struct Mixture;

const END: usize = 1;

fn weight(index: usize) -> f64 {
    (1.0 + index as f64).sin()
}

impl Loss for Mixture {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == END {
            for dof in 0..3 {
                bar.qpos[dof] += weight(dof);
            }
            for (dof, bar) in bar.qvel.iter_mut().enumerate() {
                *bar += 0.1 * weight(dof + 3);
            }
        }
    }
}

fn value(state: &State) -> f64 {
    let positions = state.qpos[..3].iter().enumerate();
    let velocities = state.qvel.iter().enumerate();
    positions.map(|(i, x)| weight(i) * x).sum::<f64>()
        + velocities
            .map(|(i, v)| 0.1 * weight(i + 3) * v)
            .sum::<f64>()
}

/// A cube over a table.
fn cube(contact: &str, cone: &str) -> Model {
    models::from_text(&format!(
        r#"<mujoco><option cone="{cone}"><flag refsafe="disable"/></option><default><geom {contact}/></default>
          <worldbody><geom type="plane" size="5 5 1"/>
          <body pos="0 0 0.06"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.4"/></body></worldbody></mujoco>"#
    ))
}

fn thrown(model: &Model, height: f64) -> State {
    let mut start = State::reference(model);
    start.qpos[2] = height;
    start.qvel = vec![0.3, -0.2, -0.5, 1.0, 0.5, -0.7];
    start
}

fn follow(
    model: &Model,
    start: &State,
    method: Method,
    tolerance: f64,
    time: f64,
) -> (Flow, Motion) {
    let settings = FlowSettings {
        method,
        tolerances: Tolerances::all(tolerance),
        ..FlowSettings::default()
    };
    let flow = Flow::new(model, settings).unwrap();
    let motion = flow.run(start, &Controls::Zero, time, END);
    assert!(motion.status().is_done(), "{}", motion.status());
    (flow, motion)
}

fn gradient(flow: &Flow, motion: &Motion) -> Gradient {
    motion
        .backward(flow, &Controls::Zero, &mut Mixture)
        .unwrap()
}

/// The derivative along a start velocity, by differences.
fn difference(model: &Model, start: &State, dof: usize, settings: (f64, f64)) -> f64 {
    let (tolerance, time) = settings;
    let at = |change: f64| {
        let mut start = start.clone();
        start.qvel[dof] += change;
        let (_, motion) = follow(model, &start, Method::Implicit, tolerance, time);
        value(motion.end())
    };
    (at(1e-5) - at(-1e-5)) / 2e-5
}

/// Where contacts are not stiff, the motion is that of other methods, and so are its derivatives.
#[test]
fn implicit_steps_follow_the_same_motion() {
    for (contact, cone) in [
        (r#"solref="0.02 1" solimp="0 0.95 0.01 0.5 2""#, "pyramidal"),
        (r#"solref="-500 -10" condim="1""#, "pyramidal"),
        (r#"solref="0.02 0.5""#, "elliptic"),
    ] {
        let model = cube(contact, cone);
        let start = thrown(&model, 0.08);
        let (flow, motion) = follow(&model, &start, Method::Implicit, 1e-8, 0.12);
        let (other_flow, other) = follow(&model, &start, Method::Tsit5, 1e-9, 0.12);
        println!(
            "{contact}: {} evaluations, {} by tsit5",
            motion.evaluations(),
            other.evaluations()
        );
        for (found, expected) in motion.end().qpos.iter().zip(&other.end().qpos) {
            assert!(
                (found - expected).abs() < 1e-6,
                "{contact}: {found} {expected}"
            );
        }
        let [found, expected] = [gradient(&flow, &motion), gradient(&other_flow, &other)];
        let lists = |gradient: &Gradient| [&gradient.start.qpos[..], &gradient.start.qvel].concat();
        let size = lists(&expected)
            .iter()
            .fold(0.0, |most: f64, x| most.max(x.abs()));
        for (found, expected) in lists(&found).iter().zip(&lists(&expected)) {
            let error = (found - expected).abs();
            assert!(
                error < 2e-3 * size,
                "{contact}: {found} instead of {expected}"
            );
        }
    }
}

/// A cube deep in a table, and contacts as hard as 0.1 ms: their cost stays near that of the usual case, and their derivatives
/// are those of the motion.
#[test]
fn stiff_contacts_are_affordable_and_differentiable() {
    let usual = cube("", "pyramidal");
    let (_, motion) = follow(&usual, &thrown(&usual, 0.08), Method::Tsit5, 1e-7, 1.0);
    let usual = motion.evaluations();
    for (name, contact, height) in [
        ("140 mm deep", "", 0.05 - 0.14),
        ("0.1 ms", r#"solref="0.0001 1""#, 0.08),
        ("0.1 ms and deep", r#"solref="0.0001 1""#, 0.05 - 0.14),
    ] {
        let model = cube(contact, "pyramidal");
        let start = thrown(&model, height);
        let (flow, motion) = follow(&model, &start, Method::Implicit, 1e-5, 1.0);
        println!(
            "{name}: {} evaluations in {} steps, {} rejected, {} onsets; the usual case {usual}",
            motion.evaluations(),
            motion.steps(),
            motion.rejected(),
            motion.onsets().len()
        );
        let found = gradient(&flow, &motion);
        assert!(found.start.norm().is_finite());
        for dof in [0, 2, 4] {
            let expected = difference(&model, &start, dof, (1e-5, 1.0));
            println!("{name} {dof}: {} {expected}", found.start.qvel[dof]);
        }
    }
}
