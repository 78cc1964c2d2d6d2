use crate::data::Data;
use crate::dynamics;
use crate::model::Model;
use crate::state::{Input, State};
use crate::terms::Term;
use crate::terms::actuator::Next;
use crate::testing::model_from_mjcf;

/// A slider and a ball joint, with the given actuators.
fn model(actuators: &str) -> Model {
    let text = format!(
        r#"<mujoco><worldbody>
          <body> <joint name="slide" type="slide"/> <geom size=".1"/> <site name="tip" pos="0 0 1"/>
            <body pos="1 0 0"> <joint name="ball" type="ball"/> <geom size=".1" pos=".1 0 0"/> </body> </body>
          <body pos="0 5 0"> <joint name="weak" type="slide" actuatorfrcrange="-2 1"/> <geom size=".1"/> </body>
          <site name="world" pos="0 0 3"/> </worldbody>
        <tendon> <spatial name="string" actuatorfrcrange="-3 3"> <site site="world"/> <site site="tip"/> </spatial>
        </tendon> <actuator>{actuators}</actuator></mujoco>"#
    );
    model_from_mjcf(&text)
}

fn evaluate(model: &Model, state: &State, control: &[f64]) -> Data {
    let mut input = Input::zeros(model);
    input.ctrl.copy_from_slice(control);
    let mut data = Data::new(model);
    dynamics::forward(model, state, &input, &mut data);
    data
}

#[test]
fn controls_are_clamped_unless_switched_off() {
    let mut model = model(r#"<motor joint="slide" ctrlrange="-1 2" gear="3"/>"#);
    let state = State::reference(&model);
    assert_eq!(evaluate(&model, &state, &[5.0]).actuation.force[0], 6.0);
    assert_eq!(evaluate(&model, &state, &[-5.0]).actuation.force[0], -3.0);
    model.settings.disable.clampctrl = true;
    assert_eq!(evaluate(&model, &state, &[5.0]).actuation.force[0], 15.0);
    model.settings.disable.actuation = true;
    assert_eq!(evaluate(&model, &state, &[5.0]).actuation.force[0], 0.0);
}

#[test]
fn one_bad_control_switches_all_of_them_off() {
    let model = model(r#"<motor joint="slide"/> <motor joint="weak"/>"#);
    let state = State::reference(&model);
    for bad in [f64::NAN, f64::INFINITY, 1e11] {
        let data = evaluate(&model, &state, &[0.5, bad]);
        assert_eq!(data.actuation.actuator_force, [0.0, 0.0]);
    }
}

#[test]
fn a_switched_off_group_has_no_force_and_its_activation_stands_still() {
    let mut model = model(r#"<intvelocity joint="slide" kp="2" group="3" actrange="-1 1"/>"#);
    let mut state = State::reference(&model);
    state.act[0] = 0.4;
    assert!((evaluate(&model, &state, &[1.0]).actuation.force[0] - 0.8).abs() < 1e-15);
    model.settings.disabled_actuator_groups = 1 << 3;
    let mut data = evaluate(&model, &state, &[1.0]);
    assert_eq!(data.actuation.force[0], 0.0);
    crate::integrate::advance(&model, &mut state, &Input::zeros(&model), &mut data);
    assert_eq!(state.act[0], 0.4);
}

#[test]
fn forces_are_limited_by_actuator_tendon_and_joint_in_turn() {
    let model = model(
        r#"<motor joint="slide" forcerange="-1 1"/>
           <motor tendon="string"/> <motor tendon="string" forcerange="-1 1"/>
           <motor joint="weak" gear="2"/> <motor joint="weak"/>"#,
    );
    let state = State::reference(&model);
    let data = evaluate(&model, &state, &[5.0, 2.0, 4.0, 3.0, 0.5]).actuation;
    // The tendon's total of 6 is scaled to 3; then the second actuator's own limit cuts 2 to 1.
    assert_eq!(data.actuator_force, [1.0, 1.0, 1.0, 3.0, 0.5]);
    assert_eq!(data.force[4], 1.0);
    assert_eq!(data.saturated, [true, false, true, true, true]);
    let data = evaluate(&model, &state, &[0.5, 4.0, 0.5, -0.1, -0.2]).actuation;
    assert!((data.actuator_force[1] - 4.0 * 3.0 / 4.5).abs() < 1e-15);
    assert_eq!(data.saturated, [false, true, true, false, false]);
}

#[test]
fn an_exact_filter_follows_the_exponential_and_a_range_holds_it() {
    let actuators = r#"<general joint="slide" dyntype="filterexact" dynprm=".3"/>
        <general joint="slide" dyntype="filter" dynprm=".3" actlimited="true" actrange="0 .1"/>"#;
    let model = model(actuators);
    let state = State::reference(&model);
    let rates = evaluate(&model, &state, &[1.0, 1.0])
        .actuation
        .activation_dot;
    assert!((rates[0] - 1.0 / 0.3).abs() < 1e-15);
    for h in [0.01, 0.1, 2.0] {
        let next = Next::value(&model, 0, [0.0, rates[0], h]);
        assert!((next - (1.0 - (-h / 0.3_f64).exp())).abs() < 1e-15);
        let next = Next::value(&model, 1, [0.0, rates[1], h]);
        assert!((next - (h / 0.3).min(0.1)).abs() < 1e-15);
    }
}

#[test]
fn early_activation_acts_one_step_ahead() {
    let actuators = r#"<general joint="slide" dyntype="integrator" gainprm="2"/>
        <general joint="slide" dyntype="integrator" gainprm="2" actearly="true"/>"#;
    let model = model(actuators);
    let mut state = State::reference(&model);
    state.act.fill(0.3);
    let forces = evaluate(&model, &state, &[5.0, 5.0])
        .actuation
        .actuator_force;
    let h = model.option.timestep[0];
    assert!((forces[0] - 0.6).abs() < 1e-15);
    assert!((forces[1] - 2.0 * (0.3 + 5.0 * h)).abs() < 1e-15);
}

#[test]
fn an_angular_setpoint_may_be_any_number_of_turns_away() {
    let model = model(r#"<position joint="ball" gear="0 0 2" kp="3"/>"#);
    let state = State::reference(&model);
    let force = |control: f64| {
        evaluate(&model, &state, &[control])
            .actuation
            .actuator_force[0]
    };
    let turn = 4.0 * std::f64::consts::PI;
    assert!((force(0.5) - 1.5).abs() < 1e-15);
    assert!((force(0.5 + turn) - 1.5).abs() < 1e-13);
    assert!((force(0.5 - 2.0 * turn) - 1.5).abs() < 1e-13);
}

#[test]
fn gain_and_bias_are_affine_in_length_and_velocity() {
    let actuators = r#"<general joint="slide" gaintype="affine" gainprm="1 2 3" biastype="affine"
        biasprm=".1 .2 .3"/>"#;
    let model = model(actuators);
    let mut state = State::reference(&model);
    (state.qpos[0], state.qvel[0]) = (0.5, -0.7);
    let force = evaluate(&model, &state, &[2.0]).actuation.actuator_force[0];
    let gain = 1.0 + 2.0 * 0.5 - 3.0 * 0.7;
    let bias = 0.1 + 0.2 * 0.5 - 0.3 * 0.7;
    assert!((force - (2.0 * gain + bias)).abs() < 1e-15);
}

/// Every gain, bias and activation, every limit, angular servos beyond a turn, and compensation through an actuator.
const ACTUATORS: &str = r#"<mujoco><worldbody>
  <body gravcomp=".5"> <joint name="slide" type="slide" axis="1 0 1" actuatorgravcomp="true"/>
    <geom size=".1"/> <site name="tip" pos="0 .1 1"/>
    <body pos="1 0 0"> <joint name="ball" type="ball"/> <geom size=".1" pos=".1 0 0"/> <site name="end" pos=".1 .1 0"/>
    </body> </body>
  <body pos="0 5 0"> <joint name="weak" type="slide" actuatorfrcrange="-.2 .1"/> <geom size=".1"/> </body>
  <body pos="0 6 0"> <joint name="strong" type="slide" actuatorfrcrange="-200 100"/> <geom size=".1"/> </body>
  <site name="world" pos="0 0 3"/> </worldbody>
<tendon>
  <spatial name="string" actuatorfrcrange="-.3 .2"> <site site="world"/> <site site="tip"/> </spatial>
  <spatial name="rope" actuatorfrcrange="-30 20"> <site site="world"/> <site site="end"/> </spatial>
</tendon>
<actuator>
  <motor joint="slide" ctrlrange="-.1 .1" gear="3"/>
  <motor joint="slide" ctrlrange="-10 10" forcerange="-.05 .04" gear="2"/>
  <motor joint="weak" gear="20"/> <motor joint="weak" gear="-7"/>
  <motor joint="strong" gear="2"/> <motor joint="strong"/>
  <motor tendon="string"/> <general tendon="string" gainprm="5" forcerange="-.1 .1"/> <motor tendon="rope"/>
  <general joint="slide" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm=".1 .2 .3"/>
  <muscle tendon="rope" lengthrange="1 4" force="100"/>
  <muscle tendon="string" lengthrange="0.5 4" scale="300" timeconst=".02 .06" tausmooth=".4"/>
  <muscle joint="weak" lengthrange="-1 1" range=".5 1.4" timeconst=".02 .06"/>
  <position joint="ball" gear="0 0 .02" kp="3"/>
  <position site="end" refsite="world" gear="0 0 0 0 .1 .02" kp="3" timeconst=".1"/>
  <general joint="slide" dyntype="filterexact" dynprm=".3" actearly="true"/>
  <general joint="slide" dyntype="filter" dynprm=".3" actearly="true" actlimited="true" actrange="0 .1"/>
  <general joint="slide" dyntype="integrator" actearly="true" actlimited="true" actrange="-5 5"/>
  <intvelocity joint="slide" kp="2" group="3" actrange="-1 1"/>
  <general joint="strong" dyntype="muscle" dynprm=".01 .04" gainprm="2" actearly="true"/>
  <damper joint="strong" kv="2" ctrlrange="0 1"/> <cylinder joint="strong" timeconst=".2" area=".5" bias="1 2 3"/>
</actuator></mujoco>"#;

crate::testing::stage_check::check_stage!(
    actuation,
    crate::testing::stage_check::points_and(&[ACTUATORS, crate::history::DELAYED]),
    |point| super::forward(
        &point.model,
        &point.state,
        &point.input,
        super::ActuatorPlace {
            transmission: &point.data.transmission,
            velocity: &point.data.velocity,
            timestep: point.input.timestep,
        },
        (&point.data.passive, &point.data.learned),
        &mut point.data.actuation,
    ),
    |point, bar| crate::stages::actuation::backward(point.at(), bar)
);
