//! What the sweeps do, and their derivatives.

use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::integrate::step;
use crate::model::{Integrator, Model};
use crate::rollout::{Adjoint, Controls, RolloutBar, gradient, rollout};
use crate::state::{Input, State};
use crate::testing::stage_check::random_point;
use crate::testing::{Random, model_from_mjcf, step_check};

/// Three balls in one body on a slope, steep enough to creep but not to slide, and a joint held by dry friction.
fn slope(cone: &str, sweeps: usize) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><option cone="{cone}" tolerance="0" iterations="200" ls_tolerance="1e-12" ls_iterations="200"
          noslip_iterations="{sweeps}" noslip_tolerance="0" gravity="2 .5 -9"/>
        <default><geom friction=".8"/></default><worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 .0995"><freejoint/><geom size=".1"/><geom size=".1" pos=".3 0 0"/>
          <geom size=".1" pos="0 .3 0"/>
          <body pos=".1 .1 .2"><joint axis="0 1 0" frictionloss="5"/><geom size=".05" pos="0 0 .1"/></body></body>
        </worldbody></mujoco>"#
    ))
}

fn creep(model: &Model) -> f64 {
    let (mut state, input, mut data) = (
        State::reference(model),
        Input::zeros(model),
        Data::new(model),
    );
    for _ in 0..300 {
        step(model, &mut state, &input, &mut data);
    }
    state.qvel[0].hypot(state.qvel[1])
}

#[test]
fn contacts_under_load_do_not_creep() {
    for cone in ["pyramidal", "elliptic"] {
        let (soft, firm) = (creep(&slope(cone, 0)), creep(&slope(cone, 50)));
        assert!(soft > 1e-4, "{cone}: {soft}");
        assert!(firm < 1e-3 * soft, "{cone}: {soft} {firm}");
    }
}

#[test]
fn forces_stay_within_their_cones_and_give_the_acceleration() {
    for cone in ["pyramidal", "elliptic"] {
        let model = slope(cone, 3);
        let (mut state, mut data) = (State::reference(&model), Data::new(&model));
        state.qvel[0] = 0.3;
        dynamics::forward(&model, &state, &Input::zeros(&model), &mut data);
        assert_eq!(data.solve.report.noslip_iterations, 3);
        for (index, contact) in data.collision.contacts.iter().enumerate() {
            let force = data.contact_force(index);
            let sides = [force.force[1], force.force[2], force.torque[0]];
            let parts = sides
                .iter()
                .zip(contact.friction)
                .map(|(side, mu)| side / mu);
            let size = if cone == "elliptic" {
                parts.map(|part| part * part).sum::<f64>().sqrt()
            } else {
                parts.map(f64::abs).sum()
            };
            assert!(size <= force.force[0] * (1.0 + 1e-9), "{cone} {index}");
        }
        let mut momentum = vec![0.0; model.counts().nv];
        crate::stages::inertia::mul(&model, &data.inertia, &data.solve.qacc, &mut momentum);
        for (dof, momentum) in momentum.iter().enumerate() {
            let force = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
            assert!((momentum - force).abs() < 1e-9, "{cone} {dof}");
        }
    }
}

#[test]
fn duals_carry_the_derivative_of_the_sweeps() {
    for cone in ["pyramidal", "elliptic"] {
        let model = slope(cone, 2);
        let run = |push: f64| {
            let (state, mut input) = (State::reference(&model), Input::zeros(&model));
            input.force[0] = push;
            let mut data = Data::new(&model);
            dynamics::forward(&model, &state, &input, &mut data);
            data.solve.qacc
        };
        let dual_model = model.map(Dual::<LANES>::constant);
        let state = State::reference(&dual_model);
        let mut input = Input::zeros(&dual_model);
        input.force[0].tangent[0] = 1.0;
        let mut data = Data::new(&dual_model);
        dynamics::forward(&dual_model, &state, &input, &mut data);
        let h = 1e-5;
        for (dof, (plus, minus)) in run(h).iter().zip(run(-h)).enumerate() {
            let slope = (plus - minus) / (2.0 * h);
            let found = data.solve.qacc[dof].tangent[0];
            assert!(
                (found - slope).abs() < 1e-5 * slope.abs().max(1.0),
                "{cone} {dof}: {found} {slope}"
            );
        }
    }
}

/// Bodies that slide, stick and roll with all dimensions of contacts, and joints held or moved against dry friction.
fn mixed(cone: &str, sweeps: usize) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><option cone="{cone}" tolerance="0" iterations="200" ls_tolerance="1e-12" ls_iterations="200"
          noslip_iterations="{sweeps}" noslip_tolerance="0" gravity="2 .5 -9" impratio="3"/>
        <worldbody><geom type="plane" size="5 5 1" friction=".3"/>
        <body pos="0 0 .0985"><freejoint/><geom size=".1" friction=".8"/><geom size=".1" pos=".3 .01 0" friction=".4"/>
          <geom size=".1" pos="0 .3 0" condim="6" friction=".9 .1 .05"/>
          <body pos=".1 .1 .2"><joint axis="0 1 0" frictionloss=".3"/><geom size=".05" pos="0 0 .1"/>
            <joint axis="1 .2 0" frictionloss=".01"/></body></body>
        <body pos="1 0 .0984"><freejoint/><geom size=".1" condim="4" friction=".5 .2 .1"/></body>
        <body pos="1.1 .5 .2983"><joint type="slide" axis="1 0 0"/><joint type="slide"/><geom size=".3" condim="1"/></body>
        </worldbody></mujoco>"#
    ))
}

#[test]
fn backward_is_the_adjoint_of_steps_with_sweeps() {
    for (cone, sweeps) in [
        ("pyramidal", 1),
        ("pyramidal", 3),
        ("elliptic", 1),
        ("elliptic", 4),
    ] {
        for seed in 0..4 {
            for integrator in [
                Integrator::Euler,
                Integrator::ImplicitFast,
                Integrator::RungeKutta4,
            ] {
                println!("{cone} {sweeps} {seed} {integrator:?}");
                let mut model = mixed(cone, sweeps);
                model.settings.integrator = integrator;
                let mut point = random_point(model, seed);
                point.state = State::reference(&point.model);
                let mut random = Random::new(seed);
                point.state.qvel.fill_with(|| 0.3 * random.next());
                dynamics::forward_and_sense(
                    &point.model,
                    &point.state,
                    &point.input,
                    &mut point.data,
                );
                step_check::check(&point);
            }
        }
    }
}

#[test]
fn gradients_over_trajectories_pass_through_sweeps() {
    for cone in ["pyramidal", "elliptic"] {
        let (model, steps) = (mixed(cone, 3), 30);
        let mut start = State::reference(&model);
        start.qvel[0] = 0.4;
        let run = rollout(
            &model,
            &start,
            &Controls::Zero,
            steps,
            &mut Data::new(&model),
        );
        let loss = || {
            let mut loss = RolloutBar::zeros(&run);
            loss.qvel_mut(steps)[0] = 1.0;
            loss.qvel_mut(steps)[7] = 2.0;
            loss
        };
        let found = run.backward(&model, &Controls::Zero, &mut loss()).unwrap();
        let adjoint = Adjoint::Checkpointed { bytes: 3000 };
        let again = gradient(&model, &start, &Controls::Zero, steps, adjoint, &mut loss()).unwrap();
        assert_eq!(again.1, found, "{cone}");
        let mut over = model.map(Dual::<LANES>::constant);
        over.geoms.friction[1][0] = Dual::variable(model.geoms.friction[1][0], 0);
        over.bodies.mass[1] = Dual::variable(model.bodies.mass[1], 1);
        let mut state = start.map(Dual::constant);
        state.qvel[1] = Dual::variable(start.qvel[1], 2);
        let (input, mut data) = (Input::zeros(&over), Data::new(&over));
        for _ in 0..steps {
            step(&over, &mut state, &input, &mut data);
        }
        let expected = (state.qvel[0] + state.qvel[7] * 2.0).tangent;
        let slopes = [
            found.model.geoms.friction[1][0],
            found.model.bodies.mass[1],
            found.start.qvel[1],
        ];
        for (a, e) in slopes.into_iter().zip(expected) {
            assert!(
                (a - e).abs() < 1e-8 * e.abs().max(1e-3),
                "{cone}: {a:e} instead of {e:e}"
            );
        }
    }
}
