//! The impulse law: impacts at their own times within a step, and derivatives that know them.

use carom::linearize::{ForwardMode, Tangent};
use carom::report::Warning;
use carom::rollout::{Controls, Gradient, Rollout, RolloutBar, rollout};
use carom::{Data, Input, Model, State};

use crate::models;

fn run(model: &Model, start: &State, steps: usize) -> Rollout {
    rollout(model, start, &Controls::Zero, steps, &mut Data::new(model))
}

/// The gradient of one number of the last state: of its position or of its velocity.
fn gradient(model: &Model, start: &State, steps: usize, dof: usize, of_position: bool) -> Gradient {
    let run = run(model, start, steps);
    let mut loss = RolloutBar::zeros(&run);
    if of_position {
        loss.qpos_mut(steps)[dof] = 1.0;
    } else {
        loss.qvel_mut(steps)[dof] = 1.0;
    }
    run.backward(model, &Controls::Zero, &mut loss).unwrap()
}

/// Two balls of 0.1 m on a line, the first one on its way to the second.
fn two_balls(timestep: f64) -> (Model, State) {
    let model = models::from_text(&format!(
        r#"<mujoco><option timestep="{timestep}" gravity="0 0 0"/><default><geom size="0.1" mass="1" condim="1"/></default>
          <worldbody><body><joint type="slide" axis="1 0 0"/><geom/></body>
            <body><joint type="slide" axis="1 0 0"/><geom/></body></worldbody>
          <custom><text name="carom/contact" data="law=impulse"/></custom></mujoco>"#
    ));
    let mut start = State::reference(&model);
    (start.qpos, start.qvel) = (vec![0.0, 0.537], vec![1.0, 0.0]);
    (model, start)
}

/// Two equal balls exchange their velocities, and from then on their ways: of the last state by the first one,
/// x₂(T) = x₁ + 2·r + T·v₁ and v₂(T) = v₁. Other simulators find 0.75, 0.25, 0.91, 0.08 for x₂ (nimblephysics, issue 97).
#[test]
fn an_elastic_hit_of_two_balls_has_its_gradient_at_any_step() {
    for (timestep, steps) in [(0.1, 10), (0.01, 100), (0.001, 1000), (1.0, 1), (0.3, 4)] {
        let (model, start) = two_balls(timestep);
        let time = timestep * f64::from(steps);
        let expected = [
            (1, true, [1.0, 0.0, time, 0.0]),
            (1, false, [0.0, 0.0, 1.0, 0.0]),
            (0, true, [0.0, 1.0, 0.0, time]),
            (0, false, [0.0, 0.0, 0.0, 1.0]),
        ];
        let steps = usize::try_from(steps).unwrap();
        let end = run(&model, &start, steps);
        assert!((end.qpos(steps)[0] - 0.337).abs() < 1e-12);
        assert!((end.qpos(steps)[1] - time - 0.2).abs() < 1e-12);
        for (dof, of_position, expected) in expected {
            let found = gradient(&model, &start, steps, dof, of_position).start;
            let found = [found.qpos, found.qvel].concat();
            for (found, expected) in found.iter().zip(expected) {
                let error = (found - expected).abs();
                assert!(
                    error < 1e-9,
                    "h {timestep}, dof {dof}: {found} instead of {expected}"
                );
            }
        }
    }
}

/// A step in which free bodies meet, turning and off their centres.
fn oblique(law: &str, geoms: [&str; 2]) -> (Model, State) {
    let model = models::from_text(&format!(
        r#"<mujoco><option timestep="0.05" gravity="0 0 -3"/><default><geom condim="1"/></default><worldbody>
          <body><freejoint/><geom {} mass="1.3"/></body><body pos="0.5 0.1 0.05"><freejoint/><geom {} mass="0.4"/></body>
          </worldbody><custom><text name="carom/contact" data="law=impulse; {law}"/></custom></mujoco>"#,
        geoms[0], geoms[1]
    ));
    let mut start = State::reference(&model);
    start.qvel = vec![
        3.0, 0.4, -0.2, 0.3, -0.5, 0.8, -4.0, 0.1, 0.3, -0.7, 0.2, 0.4,
    ];
    (model, start)
}

/// A number of a model.
type Pick = fn(&mut Model) -> &mut f64;

/// Backward passes against dual numbers, for all states, and for mass, size, restitution and the time step.
fn check_against_dual_numbers(model: &Model, start: &State) {
    let input = Input::zeros(model);
    let (mut state, mut data) = (start.clone(), Data::new(model));
    let report = carom::step(model, &mut state, &input, &mut data);
    assert!(report.impacts > 0 && !report.is_impact_limited);
    let nv = model.counts().nv;
    let mut forward = ForwardMode::new(model);
    let mut change = Tangent::zeros(model);
    let mut columns = Vec::new();
    for index in 0..2 * nv {
        let mut direction = Tangent::zeros(model);
        if index < nv {
            direction.qpos[index] = 1.0;
        } else {
            direction.qvel[index - nv] = 1.0;
        }
        forward.jvp(start, &input, &direction, &mut change);
        columns.push([change.qpos.clone(), change.qvel.clone()].concat());
    }
    let numbers: [Pick; 4] = [
        |model| &mut model.bodies.mass[2],
        |model| &mut model.geoms.size[0][0],
        |model| &mut model.laws.restitution[0],
        |model| &mut model.option.timestep[0],
    ];
    for pick in numbers {
        let mut direction = carom::cotangent::Cotangents::zeros(model).model;
        *pick(&mut direction) = 1.0;
        forward.jvp_of_model(start, &input, (model, &direction), &mut change);
        columns.push([change.qpos.clone(), change.qvel.clone()].concat());
    }
    for row in 0..2 * nv {
        let mut found = gradient(model, start, 1, row % nv, row < nv);
        let mut list = [found.start.qpos, found.start.qvel].concat();
        list.extend(numbers.map(|pick| *pick(&mut found.model)));
        for (column, (found, expected)) in list.iter().zip(&columns).enumerate() {
            let error = (found - expected[row]).abs();
            let size = 1.0 + expected[row].abs();
            assert!(
                error < 1e-9 * size,
                "{row} by {column}: {found} instead of {}",
                expected[row]
            );
        }
    }
}

#[test]
fn oblique_hits_agree_with_dual_numbers() {
    let ball = r#"size="0.2""#;
    let ellipsoid = r#"type="ellipsoid" size="0.2 0.15 0.1""#;
    let capsule = r#"type="capsule" size="0.1 0.12""#;
    for geoms in [[ball, ball], [ball, capsule], [ellipsoid, ball]] {
        for law in ["", "restitution=0.6"] {
            let (model, start) = oblique(law, geoms);
            check_against_dual_numbers(&model, &start);
        }
    }
}

/// One step of the same against differences: the dual numbers too take the time of the impact from a formula.
#[test]
fn an_oblique_hit_agrees_with_differences() {
    let (model, start) = oblique("restitution=0.8", [r#"size="0.2""#, r#"size="0.15""#]);
    let value = |change: f64, which: usize| {
        let (mut model, mut start) = (model.clone(), start.clone());
        match which {
            0 => start.qpos[1] += change,
            1 => start.qvel[0] += change,
            2 => model.geoms.size[1][0] += change,
            3 => model.bodies.mass[1] += change,
            _ => model.laws.restitution[0] += change,
        }
        let end = run(&model, &start, 3);
        [end.qpos(3)[8], end.qvel(3)[0]]
    };
    for (place, dof, of_position) in [(0, 7, true), (1, 0, false)] {
        let found = gradient(&model, &start, 3, dof, of_position);
        let found = [
            found.start.qpos[1],
            found.start.qvel[0],
            found.model.geoms.size[1][0],
            found.model.bodies.mass[1],
            found.model.laws.restitution[0],
        ];
        for (which, found) in found.into_iter().enumerate() {
            let step = 1e-5;
            let expected = (value(step, which)[place] - value(-step, which)[place]) / (2.0 * step);
            let error = (found - expected).abs();
            assert!(
                error < 1e-6 * (1.0 + expected.abs()),
                "{which}: {found} instead of {expected}"
            );
        }
    }
}

/// A tumbling box between walls, with gravity and several impacts: energy stays, and so does the gradient.
#[test]
fn a_bouncing_box_keeps_its_energy_and_has_a_gradient() {
    let model = models::from_text(
        r#"<mujoco><option timestep="0.002" gravity="0 0 -9.81"><flag energy="enable"/></option>
          <default><geom condim="1"/></default><worldbody>
          <geom type="plane" size="2 2 1"/><geom type="plane" size="2 2 1" pos="-0.5 0 0" euler="0 90 0"/>
          <body pos="0 0 0.5"><freejoint/><geom type="box" size="0.05 0.08 0.1" mass="0.5"/></body></worldbody>
          <custom><text name="carom/contact" data="law=impulse"/></custom></mujoco>"#,
    );
    let mut start = State::reference(&model);
    start.qvel = vec![-1.5, 0.2, -1.0, 1.0, 2.0, -0.5];
    let energy = |state: &State| {
        let mut data = Data::new(&model);
        carom::dynamics::forward_and_sense(&model, state, &Input::zeros(&model), &mut data);
        data.sensing.energy.as_flattened().iter().sum::<f64>()
    };
    let (mut state, mut data) = (start.clone(), Data::new(&model));
    let (mut impacts, steps) = (0, 250);
    for _ in 0..steps {
        let report = carom::step(&model, &mut state, &Input::zeros(&model), &mut data);
        impacts += report.impacts;
        assert!(report.warnings().next().is_none());
        assert!(
            data.collision
                .contacts
                .iter()
                .all(|contact| contact.distance > -1e-9)
        );
    }
    assert!(impacts >= 3, "{impacts}");
    let lost = (energy(&state) - energy(&start)).abs() / energy(&start);
    assert!(lost < 0.02, "{lost}");
    let found = gradient(&model, &start, steps, 0, true);
    let value = |change: f64| {
        let mut start = start.clone();
        start.qvel[2] += change;
        run(&model, &start, steps).qpos(steps)[0]
    };
    let expected = (value(1e-7) - value(-1e-7)) / 2e-7;
    let error = (found.start.qvel[2] - expected).abs();
    assert!(
        error < 1e-4 * expected.abs(),
        "{} instead of {expected}",
        found.start.qvel[2]
    );
}

#[test]
fn a_row_of_balls_passes_an_impact_on() {
    let body = |x: f64| {
        format!(
            r#"<body pos="{x} 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.1" condim="1"/></body>"#
        )
    };
    let bodies: String = [0.0, 1.0, 1.2, 1.4].map(body).concat();
    let model = models::from_text(&format!(
        r#"<mujoco><option timestep="0.5" gravity="0 0 0"/><worldbody>{bodies}</worldbody>
          <custom><text name="carom/contact" data="law=impulse"/></custom></mujoco>"#
    ));
    let mut start = State::reference(&model);
    start.qvel[0] = 2.0;
    let end = run(&model, &start, 1);
    let expected = [0.0, 0.0, 0.0, 2.0];
    for (found, expected) in end.qvel(1).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{:?}", end.qvel(1));
    }
    assert!((end.qpos(1)[3] - 0.2).abs() < 1e-12);
}

#[test]
fn too_many_impacts_end_a_step_with_a_word() {
    let model = models::from_text(
        r#"<mujoco><option timestep="1" gravity="0 0 0"/><default><geom size="0.1" condim="1"/></default><worldbody>
          <geom pos="-0.3 0 0"/><geom pos="0.3 0 0"/><body><joint type="slide" axis="1 0 0"/><geom/></body></worldbody>
          <custom><text name="carom/contact" data="law=impulse; impacts=3"/></custom></mujoco>"#,
    );
    let mut state = State::reference(&model);
    state.qvel[0] = 10.0;
    let report = carom::step(
        &model,
        &mut state,
        &Input::zeros(&model),
        &mut Data::new(&model),
    );
    assert_eq!((report.impacts, report.is_impact_limited), (3, true));
    assert_eq!(
        report.warnings().collect::<Vec<_>>(),
        [Warning::ImpactLimit]
    );
    assert!(state.qpos[0].abs() < 0.1 + 1e-12);
    // Two ways of 0.2 m after the first one of 0.1 m, and there it stays.
    let mut start = State::reference(&model);
    start.qvel[0] = 10.0;
    assert!(gradient(&model, &start, 1, 0, true).start.qvel[0].abs() < 1e-12);
}

#[test]
fn what_the_law_does_not_have_is_refused() {
    let refused = |option: &str, geom: &str, data: &str| {
        models::try_from_text(&format!(
            r#"<mujoco><option {option}/><worldbody><geom type="plane" size="1 1 1" condim="1"/>
              <body><freejoint/><geom name="a" size="0.1" {geom}/></body></worldbody>
              <custom><text name="carom/contact" data="law=impulse{data}"/></custom></mujoco>"#
        ))
        .err()
    };
    assert_eq!(refused("", r#"condim="1""#, ""), None);
    for (option, geom, data) in [
        ("", "", ""),
        (r#"integrator="RK4""#, r#"condim="1""#, ""),
        ("", r#"condim="1""#, "; restitution=1.5"),
        ("", r#"condim="1""#, "; impacts=0"),
    ] {
        assert_eq!(
            refused(option, geom, data),
            Some(true),
            "{option} {geom} {data}"
        );
    }
}
