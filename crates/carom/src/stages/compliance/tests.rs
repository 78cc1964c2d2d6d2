//! Springs that give way: rebound, rest, slopes, momentum, energy and derivatives.

use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::laws::hunt_crossley::restitution;
use crate::model::{LawKind, LawLevel, Model};
use crate::state::{Input, State};
use crate::testing::stage_check::{Point, random_point};
use crate::testing::{Random, assert_close, model_from_mjcf, step_check};
use crate::{dynamics, integrate};

fn run(model: &Model, state: &mut State, seconds: f64, mut visit: impl FnMut(&State, &Data)) {
    let (input, mut data) = (Input::zeros(model), Data::new(model));
    while state.time < seconds {
        integrate::step(model, state, &input, &mut data);
        visit(state, &data);
    }
}

/// A ball above a plane, with an option element and the text of its law.
fn ball(option: &str, law: &str) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><option {option}/><worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 0.1"><freejoint/><geom size="0.1" friction="0.5" mass="0.4"/></body></worldbody>
          <custom><text name="carom/contact" data="law=hunt_crossley; {law}"/></custom></mujoco>"#
    ))
}

#[test]
fn balls_rebound_at_the_published_speed() {
    for integrator in ["Euler", "RK4", "implicit", "implicitfast"] {
        let option = format!(r#"integrator="{integrator}" timestep="2e-5" gravity="0 0 0""#);
        for (exponent, dissipation, speed) in [(1.5, 0.3, 1.0), (1.0, 0.2, 2.0), (2.0, 0.6, 0.5)] {
            let law = format!("stiffness=1e6; exponent={exponent}; dissipation={dissipation}");
            let model = ball(&option, &law);
            let mut state = State::reference(&model);
            state.qvel[2] = -speed;
            run(&model, &mut state, 0.03, |_, _| {});
            let (found, expected) = (state.qvel[2] / speed, restitution(dissipation, speed));
            assert!(
                (found - expected).abs() < 2e-3,
                "{integrator}, {law}: {found} instead of {expected}"
            );
        }
    }
}

#[test]
fn energy_never_rises() {
    let option = r#"integrator="RK4" timestep="2e-5"><flag energy="enable"/></option><option "#;
    let model = ball(option, "stiffness=1e5; dissipation=0.4; static_ratio=1.3");
    let mut state = State::reference(&model);
    state
        .qvel
        .copy_from_slice(&[0.5, 0.0, -1.0, 0.0, 20.0, 3.0]);
    let mut last = f64::INFINITY;
    let mass = 0.4;
    run(&model, &mut state, 1.0, |state, data| {
        // Height and motion; the spring's own energy is not part of it, so look at flights only.
        if data
            .compliance
            .contact_force
            .iter()
            .all(|force| force[0] == 0.0)
        {
            let [x, y, z] = [state.qvel[0], state.qvel[1], state.qvel[2]];
            let spin: f64 = state.qvel[3..6].iter().map(|w| w * w).sum();
            let inertia = 0.4 * mass * 0.01;
            let energy = 0.5 * mass * (x * x + y * y + z * z)
                + 0.5 * inertia * spin
                + mass * 9.81 * state.qpos[2];
            assert!(energy <= last + 1e-7, "{energy} after {last}");
            last = energy;
        }
    });
    assert!(last < 0.8, "no bounce lost energy: {last}");
}

/// A slab on a 2 cm grid of points sinks until N springs carry it.
#[test]
fn a_grid_of_points_carries_a_slab() {
    let model = model_from_mjcf(
        r#"<mujoco><option timestep="2e-4"/><worldbody><geom name="table" type="plane" size="1 1 1"/>
          <body pos="0 0 0.02"><freejoint/><geom name="slab" type="box" size="0.1 0.05 0.02" mass="1"/></body>
          </worldbody><custom><text name="carom/contact/slab" data="law=hunt_crossley; geom1=slab; geom2=table;
          grid=0.02; faces=-z; stiffness=2e4; exponent=1.5; dissipation=2"/></custom></mujoco>"#,
    );
    assert_eq!(model.counts().ncontact_point, 66);
    let mut state = State::reference(&model);
    run(&model, &mut state, 2.0, |_, _| {});
    let depth = 0.02 - state.qpos[2];
    let expected = (9.81_f64 / 66.0 / 2e4).powf(1.0 / 1.5);
    assert!(
        (depth / expected - 1.0).abs() < 1e-3,
        "{depth} instead of {expected}"
    );
    assert!(state.qvel.iter().all(|v| v.abs() < 1e-5));
}

/// Below the friction angle a slab creeps, above it accelerates at g·(sin − μ·cos).
#[test]
fn slopes_hold_or_slide() {
    for (angle, friction) in [(0.3_f64, 0.5), (0.6, 0.4)] {
        let (sine, cosine) = angle.sin_cos();
        let model = model_from_mjcf(&format!(
            r#"<mujoco><option timestep="2e-4" gravity="{} 0 {}"/><worldbody>
              <geom name="ramp" type="plane" size="1 1 1" friction="{friction}"/>
              <body pos="0 0 0.02"><freejoint/>
                <geom name="slab" type="box" size="0.1 0.1 0.02" mass="1" friction="{friction}"/></body></worldbody>
              <custom><text name="carom/contact/slab" data="law=hunt_crossley; geom1=slab;
                points=-0.1 -0.1 -0.02 0.1 -0.1 -0.02 -0.1 0.1 -0.02 0.1 0.1 -0.02;
                stiffness=1e5; exponent=1; dissipation=5; transition_speed=5e-3"/></custom></mujoco>"#,
            9.81 * sine,
            -9.81 * cosine
        ));
        let mut state = State::reference(&model);
        run(&model, &mut state, 0.5, |_, _| {});
        let before = state.qvel[0];
        run(&model, &mut state, 1.0, |_, _| {});
        let acceleration = (state.qvel[0] - before) / 0.5;
        let expected = (9.81 * (sine - friction * cosine)).max(0.0);
        assert!(
            (acceleration - expected).abs() < 1e-2,
            "{acceleration} instead of {expected}"
        );
        if expected == 0.0 {
            assert!(state.qvel[0] > 0.0 && state.qvel[0] < 5e-3);
        }
    }
}

#[test]
fn momentum_survives_collisions() {
    let model = model_from_mjcf(
        r#"<mujoco><option integrator="RK4" timestep="1e-4" gravity="0 0 0"/><worldbody>
          <body pos="-0.3 0.02 0"><freejoint/><geom size="0.05" mass="0.2"/></body>
          <body><freejoint/><geom size="0.05" mass="0.3"/></body>
          <body pos="0.2 -0.03 0"><freejoint/><geom type="capsule" size="0.04 0.1" mass="0.5"/></body></worldbody>
          <custom><text name="carom/contact" data="law=hunt_crossley; stiffness=1e5"/></custom></mujoco>"#,
    );
    let mut state = State::reference(&model);
    state.qvel[0] = 2.0;
    run(&model, &mut state, 0.5, |_, _| {});
    let along = |axis: usize| {
        0.2 * state.qvel[axis] + 0.3 * state.qvel[6 + axis] + 0.5 * state.qvel[12 + axis]
    };
    assert!(state.qvel[12].abs() > 0.1, "no collision");
    for (axis, expected) in [0.4, 0.0, 0.0].into_iter().enumerate() {
        assert!((along(axis) - expected).abs() < 1e-12);
    }
}

/// Derivatives by state and parameters, against differences.
#[test]
fn accelerations_have_right_derivatives() {
    let law = "stiffness=3e4; exponent=1.4; dissipation=0.3; static_ratio=1.2; viscous=0.1; transition_speed=0.3";
    let model = ball("", law);
    let mut random = Random::new(4);
    let mut state = State::reference(&model);
    state.qpos[2] = 0.095;
    state.qvel = random.vector(6);
    let direction = random.vector(6);
    let rates: [f64; 6] = random.numbers();
    let acceleration = |step: f64| {
        let (mut model, mut state) = (model.clone(), state.clone());
        integrate::integrate_positions(&model, &mut state.qpos, &direction, 1e-2 * step);
        for (velocity, &rate) in state.qvel.iter_mut().zip(&direction) {
            *velocity += rate * step;
        }
        shift(&mut model, &rates, step);
        let mut data = Data::new(&model);
        dynamics::forward(&model, &state, &Input::zeros(&model), &mut data);
        data.solve.qacc.clone()
    };
    let mut lifted = model.map(Dual::<LANES>::constant);
    let time = Dual::<LANES>::variable(0.0, 0);
    let constant = |numbers: &[f64]| -> Vec<Dual<LANES>> {
        numbers
            .iter()
            .map(|&number| Dual::constant(number))
            .collect()
    };
    let mut moved = State::reference(&lifted);
    moved.qpos = constant(&state.qpos);
    moved.qvel = constant(&state.qvel);
    let tangent = constant(&direction);
    integrate::integrate_positions(&lifted, &mut moved.qpos, &tangent, time * 1e-2);
    for (velocity, &rate) in moved.qvel.iter_mut().zip(&direction) {
        *velocity += time * rate;
    }
    shift(&mut lifted, &rates.map(Dual::constant), time);
    let mut data = Data::new(&lifted);
    dynamics::forward(&lifted, &moved, &Input::zeros(&lifted), &mut data);
    let found: Vec<f64> = data.solve.qacc.iter().map(|a| a.tangent[0]).collect();
    let (plus, minus) = (acceleration(1e-5), acceleration(-1e-5));
    let expected: Vec<f64> = plus
        .iter()
        .zip(&minus)
        .map(|(p, m)| (p - m) / 2e-5)
        .collect();
    assert!(expected.iter().any(|x| x.abs() > 1.0));
    assert_close("derivative", &found, &expected, 1e-7);
}

/// Moves every number of the law along a line.
fn shift<T: crate::scalar::Scalar>(model: &mut Model<T>, rates: &[T; 6], step: T) {
    let laws = &mut model.laws;
    let fields = [
        &mut laws.stiffness,
        &mut laws.exponent,
        &mut laws.dissipation,
        &mut laws.transition_speed,
        &mut laws.static_ratio,
        &mut laws.viscous,
    ];
    for (field, &rate) in fields.into_iter().zip(rates) {
        let size = field[0];
        field[0] += size * rate * step;
    }
}

/// Every law on the level of forces; Hunt–Crossley with all of its numbers, others as they are by default.
fn laws() -> Vec<String> {
    let all = LawKind::ALL.iter().map(|kind| kind.description());
    let forces = all.filter(|law| law.level == LawLevel::Force);
    let texts = forces.map(|law| match law.name {
        "hunt_crossley" => {
            "law=hunt_crossley; stiffness=3e3; exponent=1.4; dissipation=0.3; static_ratio=1.2; \
                            viscous=0.1; transition_speed=0.3"
                .to_owned()
        }
        name => format!("law={name}"),
    });
    texts.collect()
}

/// Bodies of several shapes that touch a plane, some by points of their own, and each other.
fn points() -> Vec<(String, Point)> {
    let touching = |law: &str, seed: u64| {
        let model = model_from_mjcf(
            &r#"<mujoco><worldbody><geom name="table" type="plane" size="1 1 1" friction="0.7"/>
              <body pos="0 0 0.097"><freejoint/><geom size="0.1" friction="0.8"/></body>
              <body pos="0.17 0.02 0.1"><joint axis="0 1 0" pos="0 0 0.3"/><joint type="slide" axis="0 0 1"/>
                <geom type="capsule" size="0.08 0.1" quat="1 0.1 1 0" condim="1" friction="0.9"/></body>
              <body pos="1 0 0.018" euler="2 3 10"><freejoint/>
                <geom name="slab" type="box" size="0.1 0.05 0.02" friction="1.1"/></body></worldbody>
              <custom><text name="carom/contact" data="LAW"/>
              <text name="carom/contact/slab" data="law=hunt_crossley; geom1=slab; geom2=table; grid=0.05;
                faces=-z; stiffness=2e3; exponent=1.5; dissipation=0.2"/></custom></mujoco>"#
                .replace("LAW", law),
        );
        let mut point = random_point(model, seed);
        point.state = State::reference(&point.model);
        point.state.qvel = Random::new(seed).vector(point.model.counts().nv);
        dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
        let forces = &point.data.compliance.contact_force;
        assert!(forces.iter().filter(|force| force[0] > 0.0).count() > 4);
        (format!("touching bodies {seed} under {law}"), point)
    };
    let laws = laws();
    let cases = laws
        .iter()
        .flat_map(|law| (0..4).map(move |seed| (law, seed)));
    cases.map(|(law, seed)| touching(law, seed)).collect()
}

crate::testing::stage_check::check_stage!(
    compliance,
    &["hunt_crossley"],
    points(),
    |point| super::forward(
        &point.model,
        &point.data.kinematics,
        &point.data.collision,
        &point.data.velocity,
        &mut point.data.compliance,
    ),
    |point, bar| {
        crate::stages::compliance::backward(point.at(), bar);
        // That of the forces was read, not used up.
        bar.data.acceleration.set_zero();
    }
);

#[test]
fn steps_have_the_adjoint_of_steps() {
    for (name, point) in points() {
        println!("{name}");
        step_check::check(&point);
    }
}
