//! Very stiff contacts, by steps that are implicit in the constraints.

use carom::cotangent::StateBar;
use carom::flow::{Adjoint, Flow, FlowSettings, Method, Motion, Tolerances};
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

/// Derivatives by the start state.
fn by_start(gradient: &Gradient) -> Vec<f64> {
    [&gradient.start.qpos[..], &gradient.start.qvel].concat()
}

/// Holds derivatives against expected ones, in parts of the greatest.
#[track_caller]
fn assert_near(name: &str, found: &[f64], expected: &[f64], relative: f64) {
    let size = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(
            error <= relative * size,
            "{name}: {found} instead of {expected}"
        );
    }
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
        assert_near(contact, &by_start(&found), &by_start(&expected), 2e-3);
        let geom = |gradient: &Gradient| gradient.model.geoms.size[1].0;
        assert_near(contact, &geom(&found), &geom(&expected), 2e-3);
        let solref = |gradient: &Gradient| gradient.model.geoms.solref[1];
        assert_near(contact, &solref(&found), &solref(&expected), 5e-3);
    }
}

/// A cube deep in a table, and contacts as hard as 0.1 ms: they cost at most ten times the usual case, and their derivatives
/// are those of the motion.
#[test]
fn stiff_contacts_are_affordable_and_differentiable() {
    let usual = cube("", "pyramidal");
    let (_, motion) = follow(&usual, &thrown(&usual, 0.08), Method::Tsit5, 1e-7, 1.0);
    let usual = motion.evaluations();
    let smooth = r#"solref="0.0001 1" solimp="0 0.95 0.001 0.5 2""#;
    for (name, contact, height) in [
        ("140 mm deep", "", 0.05 - 0.14),
        ("0.1 ms", smooth, 0.08),
        ("0.1 ms and deep", r#"solref="0.0001 1""#, 0.05 - 0.14),
    ] {
        let model = cube(contact, "pyramidal");
        let start = thrown(&model, height);
        let (flow, motion) = follow(&model, &start, Method::Implicit, 1e-5, 1.0);
        println!(
            "{name}: {} evaluations, {usual} usually",
            motion.evaluations()
        );
        assert!(
            motion.evaluations() < 10 * usual,
            "{name}: {}",
            motion.evaluations()
        );
        let (other_flow, other) = follow(&model, &start, Method::Tsit5, 1e-9, 1.0);
        for (found, expected) in motion.end().qpos.iter().zip(&other.end().qpos) {
            assert!(
                (found - expected).abs() < 1e-4,
                "{name}: {found} {expected}"
            );
        }
        let [found, expected] = [gradient(&flow, &motion), gradient(&other_flow, &other)];
        assert_near(name, &by_start(&found), &by_start(&expected), 0.02);
    }
}

/// Contacts that begin with a jump and are as hard as 0.1 ms make a cube chatter on its corners: explicit steps follow
/// thousands of bounces.
#[test]
fn stiff_contacts_that_chatter_end_in_time() {
    let usual = cube("", "pyramidal");
    let (_, motion) = follow(&usual, &thrown(&usual, 0.08), Method::Tsit5, 1e-7, 1.0);
    let model = cube(r#"solref="0.0001 1""#, "pyramidal");
    let start = thrown(&model, 0.08);
    let (flow, chattering) = follow(&model, &start, Method::Implicit, 1e-5, 1.0);
    println!(
        "{} evaluations, {} usually",
        chattering.evaluations(),
        motion.evaluations()
    );
    assert!(chattering.evaluations() < 40_000);
    assert!(
        (chattering.end().qpos[0] - 0.01202).abs() < 1e-4,
        "{:?}",
        chattering.end().qpos
    );
    assert!(gradient(&flow, &chattering).start.norm().is_finite());
}

/// Steps taken again within a budget of memory are the same to the last bit.
#[test]
fn implicit_steps_are_the_same_within_a_budget() {
    let model = cube(r#"solref="0.002 1""#, "elliptic");
    let start = thrown(&model, 0.08);
    let [stored, replayed] =
        [Adjoint::Stored, Adjoint::Checkpointed { bytes: 10_000 }].map(|adjoint| {
            let settings = FlowSettings {
                method: Method::Implicit,
                tolerances: Tolerances::all(1e-5),
                adjoint,
                ..FlowSettings::default()
            };
            let flow = Flow::new(&model, settings).unwrap();
            let motion = flow.run(&start, &Controls::Zero, 0.1, END);
            by_start(&gradient(&flow, &motion))
        });
    assert_eq!(stored, replayed);
    let continuous = FlowSettings {
        method: Method::Implicit,
        adjoint: Adjoint::Continuous { tolerance: 1e-6 },
        ..FlowSettings::default()
    };
    assert!(Flow::new(&model, continuous).is_err());
}
