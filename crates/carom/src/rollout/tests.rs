//! Gradients over trajectories against dual numbers and differences.

use super::{Adjoint, Controls, Gradient, Loss, RolloutBar, gradient, rollout};
use crate::cotangent::StateBar;
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::history::DELAYED;
use crate::integrate;
use crate::model::{ActsIn, ContactsFromDistance, Integrator, Model};
use crate::parameters::Parameters;
use crate::scalar::Scalar;
use crate::state::{Input, State};
use crate::testing::{Random, model_from_file, model_from_mjcf, random_state};

/// A loss that weighs the last state.
struct Last(StateBar, usize);

impl Loss for Last {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.1 {
            bar.add(&self.0);
        }
    }
}

fn last(model: &Model, steps: usize) -> Last {
    let (mut bar, mut random) = (StateBar::zeros(model), Random::new(3));
    for number in (bar.qpos.iter_mut())
        .chain(&mut bar.qvel)
        .chain(&mut bar.act)
    {
        *number = random.next();
    }
    Last(bar, steps)
}

fn shipped(name: &str) -> Model {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    model_from_file(&root.join(name).with_extension("xml"))
}

fn controls(model: &Model, steps: usize) -> Controls {
    let mut random = Random::new(5);
    Controls::PerStep(random.vector(steps * model.counts().nu))
}

#[test]
fn checkpoints_give_the_same_bits() {
    let model = shipped("humanoid");
    let (start, steps) = (random_state(1, &model), 60);
    let controls = controls(&model, steps);
    let with = |adjoint: Adjoint| -> (State, Gradient) {
        let mut loss = last(&model, steps);
        gradient(&model, &start, &controls, steps, adjoint, &mut loss).unwrap()
    };
    let stored = with(Adjoint::Stored);
    let state = super::tape::Tape::bytes_per_state(&crate::State::reference(&model));
    for states in [0, 3, 5, 10, 59, 60, 1000] {
        let bytes = states * state;
        assert_eq!(
            with(Adjoint::Checkpointed { bytes }),
            stored,
            "{states} states"
        );
    }
    let recorded = rollout(&model, &start, &controls, steps, &mut Data::new(&model));
    let read = recorded
        .backward(&model, &controls, &mut last(&model, steps))
        .unwrap();
    assert_eq!(read, stored.1);
    assert_eq!(recorded.end, stored.0);
}

/// The derivative of the loss over the last state along the first dof's velocity and the first control of all steps.
fn by_duals(model: &Model, start: &State, controls: &Controls, steps: usize) -> [f64; 2] {
    let over = model.map(Dual::<LANES>::constant);
    let mut state = State::reference(&over);
    state.qpos = start.qpos.iter().map(|&x| Dual::constant(x)).collect();
    state.qvel = start.qvel.iter().map(|&x| Dual::constant(x)).collect();
    state.act = start.act.iter().map(|&x| Dual::constant(x)).collect();
    state.qvel[0].tangent[0] = 1.0;
    let (mut input, mut data) = (Input::zeros(&over), Data::new(&over));
    let mut plain = vec![0.0; model.counts().nu];
    for step in 0..steps {
        controls.write(step, &mut plain);
        input.ctrl = plain.iter().map(|&x| Dual::constant(x)).collect();
        if let Some(first) = input.ctrl.first_mut() {
            first.tangent[1] = 1.0;
        }
        integrate::step(&over, &mut state, &input, &mut data);
    }
    let Last(bar, _) = last(model, steps);
    let qpos: Vec<f64> = state.qpos.iter().map(|number| number.value()).collect();
    [0, 1].map(|direction| {
        let part = |numbers: &[Dual<LANES>]| -> Vec<f64> {
            numbers
                .iter()
                .map(|number| number.tangent[direction])
                .collect()
        };
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        dot(&bar.qpos, &model.qpos_tangent(&qpos, &part(&state.qpos)))
            + dot(&bar.qvel, &part(&state.qvel))
            + dot(&bar.act, &part(&state.act))
    })
}

#[test]
fn gradients_over_a_hundred_steps_agree_with_dual_numbers() {
    for name in [
        "arm7",
        "double_pendulum",
        "hand",
        "humanoid",
        "muscle_arm",
        "quadruped",
    ] {
        let mut model = shipped(name);
        crate::stages::solve::tighten(&mut model);
        let (start, steps) = (random_state(2, &model), 100);
        let controls = controls(&model, steps);
        let mut loss = last(&model, steps);
        let (_, found) =
            gradient(&model, &start, &controls, steps, Adjoint::Stored, &mut loss).unwrap();
        let nu = model.counts().nu;
        let by_control: f64 = found.controls.iter().step_by(nu.max(1)).sum();
        let expected = by_duals(&model, &start, &controls, steps);
        for (a, e) in [found.start.qvel[0], by_control].into_iter().zip(expected) {
            let error = (a - e).abs() / e.abs().max(1e-3);
            assert!(error < 1e-8, "{name}: {a:e} instead of {e:e}");
        }
    }
}

#[test]
fn a_loss_over_sensors_reaches_the_parameters() {
    let model = shipped("pendulum");
    let start = random_state(4, &model);
    let steps = 50;
    let value = |model: &Model| {
        let run = rollout(model, &start, &Controls::Zero, steps, &mut Data::new(model));
        (0..steps).map(|step| run.sensors(step)[0]).sum::<f64>()
    };
    let run = rollout(
        &model,
        &start,
        &Controls::Zero,
        steps,
        &mut Data::new(&model),
    );
    let mut loss = RolloutBar::zeros(&run);
    for step in 0..steps {
        loss.sensors_mut(step)[0] = 1.0;
    }
    let found = run.backward(&model, &Controls::Zero, &mut loss).unwrap();
    let moved = |step: f64| {
        let mut model = model.clone();
        model.dofs.damping[0] += step;
        value(&model)
    };
    let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    let error = (found.model.dofs.damping[0] - expected).abs() / expected.abs();
    assert!(
        error < 1e-6,
        "{} instead of {expected}",
        found.model.dofs.damping[0]
    );
    assert_eq!(found.norms.len(), steps + 1);
}

/// A loss that weighs the sensors of all steps and the velocity at the end, of a run with delays.
fn delayed_loss(run: &super::Rollout) -> RolloutBar {
    let (mut loss, mut random) = (RolloutBar::zeros(run), Random::new(8));
    for step in 0..run.steps() {
        loss.sensors_mut(step).fill_with(|| random.next());
    }
    loss.qvel_mut(run.steps()).fill_with(|| random.next());
    loss
}

/// The derivatives of that loss by the first velocity, the second control of all steps, delays of an actuator and a
/// sensor, the time step, and a past control; over dual numbers.
fn delayed_by_duals(
    model: &Model,
    start: &State,
    controls: &Controls,
    steps: usize,
) -> [f64; LANES] {
    let direction = |value: f64, slot: usize| Dual::<LANES>::variable(value, slot);
    let mut over = model.map(Dual::constant);
    over.actuators.delay[2] = direction(model.actuators.delay[2], 2);
    over.sensors.delay[2] = direction(model.sensors.delay[2], 3);
    over.option.timestep[0] = direction(model.option.timestep[0], 4);
    let mut state = start.map(Dual::constant);
    state.qvel[0] = direction(start.qvel[0], 0);
    let past = start.history[1].values()[3];
    state.history[1].values_mut()[3] = direction(past, 5);
    let (mut input, mut data) = (Input::zeros(&over), Data::new(&over));
    let (mut plain, mut random) = (vec![0.0; model.counts().nu], Random::new(8));
    let mut sum = Dual::constant(0.0);
    for step in 0..steps {
        controls.write(step, &mut plain);
        input.ctrl = plain
            .iter()
            .map(|&control| Dual::constant(control))
            .collect();
        input.ctrl[1] = direction(plain[1], 1);
        integrate::step(&over, &mut state, &input, &mut data);
        for &value in &data.sensing.values {
            sum += value * random.next();
        }
    }
    for &velocity in &state.qvel {
        sum += velocity * random.next();
    }
    sum.tangent
}

#[test]
fn gradients_pass_through_delays() {
    for integrator in [
        Integrator::Euler,
        Integrator::ImplicitFast,
        Integrator::RungeKutta4,
    ] {
        let mut model = model_from_mjcf(DELAYED);
        model.settings.integrator = integrator;
        let (mut start, steps) = (random_state(2, &model), 60);
        let mut random = Random::new(4);
        for history in &mut start.history {
            history.values_mut().fill_with(|| 0.3 * random.next());
        }
        let controls = controls(&model, steps);
        let run = rollout(&model, &start, &controls, steps, &mut Data::new(&model));
        let mut loss = delayed_loss(&run);
        let found = run.backward(&model, &controls, &mut loss).unwrap();
        let nu = model.counts().nu;
        let found_slopes = [
            found.start.qvel[0],
            found.controls.chunks_exact(nu).map(|step| step[1]).sum(),
            found.model.actuators.delay[2],
            found.model.sensors.delay[2],
            found.model.option.timestep[0],
            found.start.history[1].values[3],
        ];
        let expected = delayed_by_duals(&model, &start, &controls, steps);
        for (a, e) in found_slopes.into_iter().zip(expected) {
            assert!(
                (a - e).abs() < 1e-9 * e.abs().max(1e-3),
                "{integrator:?}: {a:e} instead of {e:e}"
            );
            assert!(e != 0.0);
        }
        for bytes in [0, 4000, 20_000] {
            let adjoint = Adjoint::Checkpointed { bytes };
            let mut loss = delayed_loss(&run);
            let (end, again) =
                gradient(&model, &start, &controls, steps, adjoint, &mut loss).unwrap();
            assert_eq!(again, found);
            assert_eq!(end, run.end);
        }
    }
}

#[test]
fn a_delay_is_a_parameter() {
    let text = DELAYED.replace(
        r#"<position joint="c""#,
        r#"<position name="late" joint="c""#,
    );
    let model = model_from_mjcf(&text);
    let (start, steps) = (random_state(2, &model), 50);
    let controls = controls(&model, steps);
    let parameters = Parameters::select(&model, &["actuator.late.delay log"]).unwrap();
    let mut theta = parameters.theta0().to_vec();
    let run = rollout(&model, &start, &controls, steps, &mut Data::new(&model));
    let mut loss = RolloutBar::zeros(&run);
    loss.qvel_mut(steps)[2] = 1.0;
    let found = run.backward(&model, &controls, &mut loss).unwrap();
    let slope = parameters.pull_back(&theta, &found).unwrap()[0];
    let mut last = |shift: f64| {
        theta[0] += shift;
        let model = parameters.apply(&theta).unwrap();
        theta[0] -= shift;
        let run = rollout(&model, &start, &controls, steps, &mut Data::new(&model));
        run.qvel(steps)[2]
    };
    let expected = (last(1e-5) - last(-1e-5)) / 2e-5;
    assert!(
        (slope - expected).abs() < 1e-6 * expected.abs(),
        "{slope} instead of {expected}"
    );
    // Held samples jump, and say so.
    let held = model_from_mjcf(&text.replace(r#"delay=".026" interp="cubic""#, r#"delay=".026""#));
    let refused = Parameters::select(&held, &["actuator.late.delay"]).unwrap_err();
    assert!(
        refused.to_string().contains("jump with the delay"),
        "{refused}"
    );
}

/// Two carts on a rail and a ball beside a wall: slides only, so that a step is linear in the acceleration.
const APART: &str = r#"<mujoco><option timestep="0.005" gravity="0 0 -1"/><worldbody>
    <geom type="plane" size="2 2 1" friction="0.5"/>
    <body pos="0 0 0.1"><joint type="slide" axis="1 0 0" damping="0.3"/><joint type="slide" axis="0 0 1"/>
      <geom name="first" size="0.1" mass="1" solimp="0.5 0.9 0.01"/></body>
    <body pos="0.27 0.03 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><geom name="second" size="0.1" mass="0.7"/></body>
  </worldbody></mujoco>"#;

fn apart(acts_in: ActsIn, integrator: Integrator) -> Model {
    let mut model = model_from_mjcf(APART);
    model.settings.integrator = integrator;
    crate::stages::solve::tighten(&mut model);
    let distant = ContactsFromDistance {
        acts_in,
        near_impedance: 0.3,
        width: 0.2,
        sharpness: 50.0,
        ..ContactsFromDistance::default()
    };
    model.with_contacts_from_distance(distant).unwrap()
}

#[test]
fn gradients_from_a_distance_are_those_of_the_other_system_at_the_states_of_this_one() {
    for integrator in [Integrator::Euler, Integrator::ImplicitFast] {
        let plain = model_from_mjcf(APART);
        let [model, other] =
            [ActsIn::Gradients, ActsIn::Motions].map(|acts_in| apart(acts_in, integrator));
        let mut start = State::reference(&model);
        start.qvel.copy_from_slice(&[0.8, 0.0, -0.1, 0.2, 0.0]);
        let (steps, mut data) = (40, Data::new(&model));
        let motion = rollout(&model, &start, &Controls::Zero, steps, &mut data);
        let mut free = plain.clone();
        free.settings = model.settings;
        free.option = model.option.clone();
        let same = rollout(&free, &start, &Controls::Zero, steps, &mut Data::new(&free));
        assert_eq!(motion.end, same.end);

        let mut bar = last(&model, steps).0;
        let found = motion
            .backward(&model, &Controls::Zero, &mut Last(bar.clone(), steps))
            .unwrap();
        // The other system, one step at a time.
        let mut mass_bar = 0.0;
        for step in (0..steps).rev() {
            let mut state = start.clone();
            state.qpos.copy_from_slice(motion.qpos(step));
            state.qvel.copy_from_slice(motion.qvel(step));
            let step = rollout(&other, &state, &Controls::Zero, 1, &mut data);
            let gradient = step
                .backward(&other, &Controls::Zero, &mut Last(bar, 1))
                .unwrap();
            mass_bar += gradient.model.bodies.mass[1];
            bar = gradient.start;
        }
        crate::testing::assert_close("position", &found.start.qpos, &bar.qpos, 1e-9);
        crate::testing::assert_close("velocity", &found.start.qvel, &bar.qvel, 1e-9);
        crate::testing::assert_close("mass", &[found.model.bodies.mass[1]], &[mass_bar], 1e-9);
        // They tell of the second ball, which nothing touches.
        let without = same
            .backward(&free, &Controls::Zero, &mut last(&free, steps))
            .unwrap();
        assert!((without.start.qpos[0] - found.start.qpos[0]).abs() > 1e-3);
    }
}

#[test]
fn checkpoints_and_stages_know_of_contacts_from_a_distance() {
    for integrator in [Integrator::Euler, Integrator::RungeKutta4] {
        let model = apart(ActsIn::Gradients, integrator);
        let (start, steps) = (State::reference(&model), 30);
        let with = |adjoint: Adjoint| {
            let mut loss = last(&model, steps);
            gradient(&model, &start, &Controls::Zero, steps, adjoint, &mut loss).unwrap()
        };
        let stored = with(Adjoint::Stored);
        assert_eq!(stored, with(Adjoint::Checkpointed { bytes: 0 }));
        let mut free = model.clone();
        free.from_distance = None;
        let mut loss = last(&free, steps);
        let plain = gradient(
            &free,
            &start,
            &Controls::Zero,
            steps,
            Adjoint::Stored,
            &mut loss,
        )
        .unwrap();
        assert_eq!(stored.0, plain.0);
        assert_ne!(stored.1.start, plain.1.start);
    }
}
