//! Gradients over trajectories against dual numbers and differences.

use super::{Adjoint, Controls, Gradient, Loss, RolloutBar, gradient, rollout};
use crate::cotangent::StateBar;
use crate::data::Data;
use crate::dual::Dual;
use crate::gradient_check::tangent_of;
use crate::history::DELAYED;
use crate::integrate;
use crate::model::{Integrator, Model};
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
    let state = super::tape::Tape::bytes_per_state(&model);
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
    let over = model.map(Dual::<2>::constant);
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
        let part = |numbers: &[Dual<2>]| -> Vec<f64> {
            numbers
                .iter()
                .map(|number| number.tangent[direction])
                .collect()
        };
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        dot(&bar.qpos, &tangent_of(model, &qpos, &part(&state.qpos)))
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
fn delayed_by_duals(model: &Model, start: &State, controls: &Controls, steps: usize) -> [f64; 6] {
    let direction = |value: f64, slot: usize| Dual::<6>::variable(value, slot);
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
