use super::*;
use crate::data::Data;
use crate::dynamics;
use crate::integrate::integrate_positions;
use crate::model::Model;
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};

const PATHS: &str = r#"<mujoco><worldbody>
  <site name="anchor" pos="-0.5 0.1 0.3"/> <site name="side_ball" pos="0 0.2 1.2"/>
  <geom name="ball" type="sphere" size=".15" pos="0 0 1"/>
  <body pos="0 0 1">
    <joint name="a" axis="0 1 0"/> <joint name="b" axis="1 0 0"/> <geom size=".05"/>
    <geom name="ring" type="sphere" size=".12" pos=".1 0 0.05"/>
    <site name="inside" pos=".12 0.01 0.06"/> <site name="first" pos=".3 .05 .1"/>
    <body pos=".5 0 0">
      <joint name="c" axis="0 1 .2"/> <geom size=".05"/>
      <geom name="drum" type="cylinder" size=".1 .3" euler="80 10 0"/> <site name="side_drum" pos="0 0.01 .25"/>
      <site name="second" pos=".3 -.05 .1"/>
      <body pos=".5 0 0"> <joint type="ball"/> <geom size=".1"/> <site name="third" pos=".1 .1 .1"/> </body>
    </body>
  </body>
  <body pos="0 1 1"> <freejoint/> <geom size=".2"/> <site name="free" pos=".3 .1 0.1"/> </body>
</worldbody>
<tendon>
  <spatial> <site site="anchor"/> <geom geom="ball" sidesite="side_ball"/> <site site="first"/>
    <geom geom="drum" sidesite="side_drum"/> <site site="third"/> </spatial>
  <spatial> <site site="anchor"/> <geom geom="ring" sidesite="inside"/> <site site="second"/> </spatial>
  <spatial> <site site="first"/> <geom geom="drum"/> <site site="third"/> <pulley divisor="3"/>
    <site site="third"/> <site site="free"/> <site site="anchor"/> </spatial>
  <fixed> <joint joint="a" coef="2"/> <joint joint="c" coef="-.7"/> </fixed>
</tendon></mujoco>"#;

fn lengths(model: &Model, state: &State) -> Data {
    let mut data = Data::new(model);
    dynamics::forward_position(model, state, &mut data);
    data
}

#[test]
fn jacobians_are_derivatives_of_lengths() {
    let model = model_from_mjcf(PATHS);
    let n = model.counts();
    let h = 1e-6;
    let mut random = Random::new(5);
    let mut compared = 0;
    for _ in 0..40 {
        let mut state = State::reference(&model);
        integrate_positions(&model, &mut state.qpos, &random.vector(n.nv), 1.5);
        let data = lengths(&model, &state);
        for dof in 0..n.nv {
            let moved = |step: f64| {
                let mut moved = state.clone();
                let mut direction = vec![0.0; n.nv];
                direction[dof] = 1.0;
                integrate_positions(&model, &mut moved.qpos, &direction, step);
                lengths(&model, &moved).tendon
            };
            let (plus, minus) = (moved(h), moved(-h));
            for tendon in 0..n.ntendon {
                let pattern = &model.structure.tendons.jacobian;
                let entry = pattern.entry(tendon, dof);
                let value = entry.map_or(0.0, |entry| data.tendon.jacobian[entry]);
                let slope = (plus.length[tendon] - minus.length[tendon]) / (2.0 * h);
                // Paths that change their shape in between have no derivative.
                if plus.path_length[tendon] == minus.path_length[tendon] && slope.abs() < 10.0 {
                    assert!(
                        (value - slope).abs() < 1e-6,
                        "{tendon} {dof}: {value} {slope}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000);
}

#[test]
fn path_points_measure_the_length() {
    let model = model_from_mjcf(PATHS);
    let data = lengths(&model, &State::reference(&model)).tendon;
    // The third tendon: drum or not, then a pulley that divides by three, then two straight legs.
    let range = data.path_start[2]..data.path_start[2] + data.path_length[2];
    let pulley = range
        .clone()
        .find(|&point| data.path_body[point] == PULLEY)
        .unwrap();
    let leg = |point: usize| data.path_point[point].distance(data.path_point[point + 1]);
    let after: f64 = (pulley + 1..range.end - 1).map(leg).sum();
    assert_eq!(range.end - pulley, 4);
    let before: f64 = (range.start..pulley - 1).map(leg).sum();
    // The chord of an arc is shorter than the arc.
    let length = data.length[2] - after / 3.0;
    assert!(length >= before - 1e-14 && length < 1.1 * before);
    assert_eq!(data.path_length[3], 0, "fixed tendons have no path");
}

#[test]
fn a_fixed_tendon_is_a_sum_of_joint_positions() {
    let model = model_from_mjcf(PATHS);
    let mut state = State::reference(&model);
    state.qpos[..3].copy_from_slice(&[0.3, 0.5, -0.2]);
    let data = lengths(&model, &state).tendon;
    assert!((data.length[3] - (2.0 * 0.3 + 0.7 * 0.2)).abs() < 1e-15);
    let row = model.structure.tendons.jacobian.row(3);
    assert_eq!(&data.jacobian[row], &[2.0, -0.7]);
}

crate::testing::stage_check::check_stage!(
    tendon,
    crate::testing::stage_check::points_and(&[PATHS]),
    |point| super::forward(
        &point.model,
        &point.state,
        &point.data.kinematics,
        &mut point.data.tendon,
    ),
    |point, bar| crate::stages::tendon::backward(point.at(), bar)
);
