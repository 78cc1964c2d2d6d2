use crate::data::Data;
use crate::dynamics;
use crate::integrate::integrate_positions;
use crate::model::Model;
use crate::stages::sensing::potential_energy;
use crate::state::{Input, State};
use crate::testing::{Random, model_from_mjcf};

const SPRINGS: &str = r#"<mujoco><option gravity="0 0 0"/><worldbody> <site name="world" pos="1 0 0"/>
  <body> <joint name="hinge" stiffness="3 1 2" springref="20" damping="1 2 3"/> <geom size=".1"/>
    <body pos=".5 0 0"> <joint name="slide" type="slide" axis="0 1 1" stiffness="2" damping=".5"/> <geom size=".1"/>
      <body pos=".5 0 0"> <joint type="ball" stiffness="2 1 3"/> <geom size=".1"/> <site name="tip" pos=".1 .1 .3"/>
      </body> </body> </body>
  <body pos="0 0 1"> <joint type="free" stiffness="1 .5 .2"/> <geom size=".1"/> <site name="free" pos=".3 0 0"/> </body>
</worldbody>
<tendon>
  <spatial stiffness="10 5 2" springlength=".1 .3"> <site site="world"/> <site site="tip"/> </spatial>
  <spatial stiffness="10" damping="1 .3 .2" springlength="3"> <site site="free"/> <site site="tip"/> </spatial>
  <fixed stiffness="4 1 1" damping=".2" springlength=".2"> <joint joint="hinge" coef="2"/> </fixed>
</tendon></mujoco>"#;

fn evaluate(model: &Model, state: &State) -> Data {
    let mut data = Data::new(model);
    dynamics::forward(model, state, &Input::zeros(model), &mut data);
    data
}

fn random_state(model: &Model, random: &mut Random) -> State {
    let mut state = State::reference(model);
    integrate_positions(
        model,
        &mut state.qpos,
        &random.vector(model.counts().nv),
        1.0,
    );
    state.qvel = random.vector(model.counts().nv);
    state
}

#[test]
fn springs_descend_their_energy() {
    let model = model_from_mjcf(SPRINGS);
    let nv = model.counts().nv;
    let mut random = Random::new(10);
    let h = 1e-5;
    for _ in 0..10 {
        let state = random_state(&model, &mut random);
        let spring = evaluate(&model, &state).passive.spring;
        for dof in 0..nv {
            let energy = |step: f64| {
                let mut moved = state.clone();
                let mut direction = vec![0.0; nv];
                direction[dof] = 1.0;
                integrate_positions(&model, &mut moved.qpos, &direction, step);
                let mut data = evaluate(&model, &moved);
                potential_energy(&model, &moved, &data.split_sensing().0)
            };
            let slope = (energy(h) - energy(-h)) / (2.0 * h);
            assert!(
                (spring[dof] + slope).abs() < 1e-6,
                "{dof}: {} {slope}",
                spring[dof]
            );
        }
    }
}

#[test]
fn dampers_follow_their_polynomial_and_take_energy() {
    let model = model_from_mjcf(SPRINGS);
    let mut random = Random::new(11);
    for _ in 0..10 {
        let state = random_state(&model, &mut random);
        let data = evaluate(&model, &state);
        let power: f64 = data
            .passive
            .damper
            .iter()
            .zip(&state.qvel)
            .map(|(f, v)| f * v)
            .sum();
        let (v, hinge) = (state.qvel[0], 2.0 * state.qvel[0]);
        let joint = -v * (1.0 + 2.0 * v.abs() + 3.0 * v * v);
        let slide = -0.5 * state.qvel[1];
        let along = data.velocity.tendon[1];
        let string = -along * (1.0 + 0.3 * along.abs() + 0.2 * along * along);
        let expected = joint * v + slide * state.qvel[1] + string * along - 0.2 * hinge * hinge;
        assert!(power < 0.0);
        assert!((power - expected).abs() < 1e-12 * expected.abs().max(1.0));
    }
}

#[test]
fn switches_turn_springs_and_dampers_off_and_both_turn_everything_off() {
    let mut model = model_from_mjcf(SPRINGS);
    let state = random_state(&model, &mut Random::new(12));
    let all = evaluate(&model, &state).passive;
    model.settings.disable.spring = true;
    let no_spring = evaluate(&model, &state).passive;
    assert!(no_spring.spring.iter().all(|&force| force == 0.0));
    assert_eq!(no_spring.damper, all.damper);
    model.settings.disable.damper = true;
    assert!(
        evaluate(&model, &state)
            .passive
            .total
            .iter()
            .all(|&force| force == 0.0)
    );
}

#[test]
fn full_compensation_cancels_gravity() {
    let text = r#"<mujoco><worldbody>
      <body gravcomp="1"> <joint type="ball"/> <geom size=".1" pos=".1 .2 .3"/>
        <body pos=".5 0 0" gravcomp="1"> <joint axis="0 1 0" actuatorgravcomp="true"/> <geom size=".1" pos=".3 0 0"/>
        </body> </body> </worldbody></mujoco>"#;
    let model = model_from_mjcf(text);
    let mut state = random_state(&model, &mut Random::new(13));
    state.qvel.fill(0.0);
    let data = evaluate(&model, &state);
    for dof in 0..4 {
        assert!((data.passive.gravcomp[dof] - data.bias.force[dof]).abs() < 1e-13);
    }
    assert_eq!(&data.passive.total[..3], &data.passive.gravcomp[..3]);
    assert_eq!(
        data.passive.total[3], 0.0,
        "the last joint is held by its actuator"
    );
}

/// A ball that sticks with 5 N: pressed in, lifted off within the gap, and beyond it.
fn sticky(height: f64) -> crate::data::Data {
    let model = model_from_mjcf(&format!(
        r#"<mujoco><option tolerance="0" iterations="200"/><worldbody><geom type="plane" size="1 1 1" adhesion="3"/>
          <body pos="0 0 {height}"><freejoint/><geom size=".1" mass="2" adhesion="2" gap=".02"/></body></worldbody>
        </mujoco>"#
    ));
    let mut data = crate::data::Data::new(&model);
    let (state, input) = (
        crate::state::State::reference(&model),
        crate::state::Input::zeros(&model),
    );
    crate::dynamics::forward(&model, &state, &input, &mut data);
    data
}

#[test]
fn adhesion_attracts_across_the_gap_and_leaves_compression_alone() {
    let above = sticky(0.11);
    assert!((above.passive.adhesion[2] + 5.0).abs() < 1e-14);
    assert!((above.contact_force(0).force[0] + 5.0).abs() < 1e-12);
    assert!((above.solve.qacc[2] + 9.81 + 2.5).abs() < 1e-12);
    let beyond = sticky(0.13);
    assert_eq!(beyond.passive.adhesion[2], 0.0);
    // What the geoms exert on each other is the same as without adhesion.
    let pressed = sticky(0.099);
    let model = model_from_mjcf(
        r#"<mujoco><option tolerance="0" iterations="200"/><worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 .099"><freejoint/><geom size=".1" mass="2"/></body></worldbody></mujoco>"#,
    );
    let mut plain = crate::data::Data::new(&model);
    let (state, input) = (
        crate::state::State::reference(&model),
        crate::state::Input::zeros(&model),
    );
    crate::dynamics::forward(&model, &state, &input, &mut plain);
    let difference = pressed.solve.qacc[2] - plain.solve.qacc[2];
    assert!(difference.abs() < 1e-10, "{difference}");
    let forces = [&pressed, &plain].map(|data| data.contact_force(0).force[0]);
    assert!((forces[0] - forces[1]).abs() < 1e-10 && forces[0] > 1.0);
}

/// Every shape in the ellipsoid model, boxes beside them, and air that moves.
const AIR: &str = r#"<mujoco><option density="1.2" viscosity=".3" wind=".5 -.2 .1"/>
  <default><geom fluidshape="ellipsoid" fluidcoef=".6 .3 1.2 .9 .8"/></default><worldbody>
  <body><freejoint/><geom type="ellipsoid" size=".3 .2 .1" pos=".1 0 0" euler="10 20 30"/>
    <body pos=".5 0 0"><joint axis="0 1 1"/><geom type="capsule" size=".1 .3"/>
      <geom type="box" size=".1 .2 .15" pos="0 .3 0"/>
      <body pos=".5 0 0"><joint type="ball"/><geom fluidshape="none" type="box" size=".1 .2 .3" pos=".1 .2 .3"/></body>
    </body></body></worldbody></mujoco>"#;

/// The same shapes where there is no medium.
const VACUUM: &str = r#"<mujoco><worldbody>
  <body><freejoint/><geom type="ellipsoid" fluidshape="ellipsoid" size=".3 .2 .1" pos=".1 0 0" euler="10 20 30"/>
    <body pos=".5 0 0"><joint axis="0 1 1"/><geom type="box" size=".1 .2 .15" pos="0 .3 0"/></body>
  </body></worldbody></mujoco>"#;

/// Compensation, one joint's by its actuator.
const HELD_UP: &str = r#"<mujoco><worldbody>
  <body gravcomp="1"> <joint type="ball"/> <geom size=".1" pos=".1 .2 .3"/>
    <body pos=".5 0 0" gravcomp=".7"> <joint axis="0 1 0" actuatorgravcomp="true"/> <geom size=".1" pos=".3 0 0"/>
    <body pos=".5 0 0"> <joint type="slide" axis="0 1 1"/> <geom size=".1" pos=".3 0 0"/> </body> </body> </body>
  </worldbody></mujoco>"#;

/// Large sticky bodies that touch wherever a random state puts them.
const STICKY: &str = r#"<mujoco><worldbody>
  <body><joint axis="0 1 0"/><joint type="slide" axis="1 0 0"/><geom size="5" pos=".5 0 0" adhesion="2"/></body>
  <body pos="0 0 6"><freejoint/><geom size="4"/><geom size="3" pos="1 0 0" adhesion="3"/></body>
</worldbody></mujoco>"#;

crate::testing::stage_check::check_stage!(
    passive,
    crate::testing::stage_check::points_and(&[
        SPRINGS,
        AIR,
        VACUUM,
        HELD_UP,
        STICKY,
        &crate::testing::every_joint_law("")
    ]),
    |point| super::forward(
        &point.model,
        &point.state,
        &point.data.kinematics,
        &point.data.tendon,
        &point.data.velocity,
        &point.data.collision,
        &mut point.data.passive,
    ),
    |point, bar| crate::stages::passive::backward(point.at(), bar)
);
