use crate::data::Data;
use crate::dynamics;
use crate::integrate::integrate_positions;
use crate::jacobian;
use crate::math::Vec3;
use crate::model::Model;
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};

const ACTUATORS: &str = r#"<mujoco><worldbody> <site name="world" pos="1 0 0"/>
  <body> <freejoint name="free"/> <geom size=".1"/> <site name="base" pos=".1 .2 .3" euler="10 20 30"/>
    <body pos=".5 0 0"> <joint name="hinge" axis="0 1 1"/> <geom size=".1"/>
      <body pos=".5 0 0"> <joint name="ball" type="ball"/> <geom size=".1"/> <site name="tip" pos=".1 .1 .3"/>
      </body> </body> </body>
</worldbody>
<tendon> <spatial name="string"> <site site="world"/> <site site="tip"/> </spatial> </tendon>
<actuator>
  <motor joint="hinge" gear="2"/>
  <motor tendon="string" gear="-3"/>
  <general cranksite="tip" slidersite="base" cranklength="2" gear="1.5"/>
  <general cranksite="tip" slidersite="base" cranklength=".1" gear="1.5"/>
  <motor site="tip" refsite="world" gear="1 2 3 0 0 0"/>
  <motor site="tip" gear="1 2 3 4 5 6"/>
  <motor joint="ball" gear=".1 .2 .3"/>
  <motor jointinparent="ball" gear=".1 .2 .3"/>
  <motor joint="free" gear="1 2 3 4 5 6"/>
  <motor jointinparent="free" gear="1 2 3 4 5 6"/>
  <motor site="tip" refsite="base" gear=".1 .2 .3 .4 .5 .6"/>
</actuator></mujoco>"#;

fn at(model: &Model, state: &State) -> Data {
    let mut data = Data::new(model);
    dynamics::forward_position(model, state, &mut data);
    data
}

fn moment(model: &Model, data: &Data, actuator: usize) -> Vec<f64> {
    let pattern = &model.structure.actuators.moment;
    let mut dense = vec![0.0; model.counts().nv];
    for (entry, &dof) in pattern.row(actuator).zip(pattern.columns(actuator)) {
        dense[dof] = data.transmission.moment[entry];
    }
    dense
}

fn random_state(model: &Model, random: &mut Random) -> State {
    let mut state = State::reference(model);
    integrate_positions(
        model,
        &mut state.qpos,
        &random.vector(model.counts().nv),
        1.0,
    );
    state
}

#[test]
fn moments_of_lengths_are_their_derivatives() {
    let model = model_from_mjcf(ACTUATORS);
    let nv = model.counts().nv;
    let mut random = Random::new(6);
    let h = 1e-6;
    for _ in 0..20 {
        let state = random_state(&model, &mut random);
        let data = at(&model, &state);
        for dof in 0..nv {
            let length = |step: f64| {
                let mut moved = state.clone();
                let mut direction = vec![0.0; nv];
                direction[dof] = 1.0;
                integrate_positions(&model, &mut moved.qpos, &direction, step);
                at(&model, &moved).transmission.length
            };
            let (plus, minus) = (length(h), length(-h));
            for actuator in 0..5 {
                let slope = (plus[actuator] - minus[actuator]) / (2.0 * h);
                let value = moment(&model, &data, actuator)[dof];
                assert!(
                    (value - slope).abs() < 1e-7,
                    "{actuator} {dof}: {value} {slope}"
                );
            }
        }
    }
}

#[test]
fn a_site_wrench_acts_through_the_jacobian_of_the_site() {
    let model = model_from_mjcf(ACTUATORS);
    let state = random_state(&model, &mut Random::new(7));
    let data = at(&model, &state);
    let site = model
        .structure
        .names
        .sites
        .iter()
        .position(|name| name == "tip")
        .unwrap();
    let body = model.structure.sites.body[site];
    let rotation = &data.kinematics.site_rotation[site];
    let force = rotation.mul_vec(Vec3([1.0, 2.0, 3.0]));
    let torque = rotation.mul_vec(Vec3([4.0, 5.0, 6.0]));
    let value = moment(&model, &data, 5);
    let point = data.kinematics.site_position[site];
    for (dof, angular, linear) in jacobian::columns(&model, &data.kinematics, body, point) {
        let expected = angular.dot(torque) + linear.dot(force);
        assert!((value[dof] - expected).abs() < 1e-13);
    }
}

#[test]
fn gears_in_the_parent_frame_turn_with_the_joint() {
    let model = model_from_mjcf(ACTUATORS);
    let state = random_state(&model, &mut Random::new(8));
    let data = at(&model, &state);
    // The same torque in the world, whether given in the child's or the parent's frame.
    let parent_axis = Vec3([0.1, 0.2, 0.3]);
    let quat = crate::math::Quat(std::array::from_fn(|i| state.qpos[8 + i])).normalized();
    let local = moment(&model, &data, 7);
    let turned = quat.rotate(Vec3([local[7], local[8], local[9]]));
    assert!((turned - parent_axis).norm() < 1e-15);
    // The rotation vector is the same in both frames, so lengths agree.
    let length = &data.transmission.length;
    assert!((length[6] - length[7]).abs() < 1e-14);
    assert!((length[6] - quat.log().dot(parent_axis)).abs() < 1e-14);
    assert_eq!(length[8], 0.0);
    assert_eq!(
        &moment(&model, &data, 8)[..6],
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
    assert_eq!(&moment(&model, &data, 9)[..3], &[1.0, 2.0, 3.0]);
}

#[test]
fn a_wrench_between_two_bodies_leaves_their_common_motion_alone() {
    let model = model_from_mjcf(ACTUATORS);
    let data = at(&model, &random_state(&model, &mut Random::new(9)));
    let value = moment(&model, &data, 10);
    assert!(value[..6].iter().all(|&entry| entry == 0.0), "{value:?}");
    assert!(value[6..].iter().any(|&entry| entry.abs() > 1e-3));
}

#[test]
fn adhesion_pulls_the_contacts_of_a_body_with_equal_shares() {
    let model = model_from_mjcf(
        r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
          <body name="foot" pos="0 0 .1"><freejoint/><geom size=".1" pos="-.2 0 0"/>
            <geom size=".1" pos=".2 0 .01" gap=".02"/><geom size=".1" pos="0 0 .1"/></body></worldbody>
          <actuator><adhesion body="foot" ctrlrange="0 1"/><adhesion body="world" ctrlrange="0 1"/></actuator></mujoco>"#,
    );
    let mut state = State::reference(&model);
    state.qpos[2] -= 1e-3;
    let data = at(&model, &state);
    assert_eq!(data.collision.contacts.len(), 2);
    for actuator in 0..2 {
        let moment = moment(&model, &data, actuator);
        let expected = [0.0, 0.0, -1.0, 0.0, 0.0, 0.0];
        let error = moment.iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(error.fold(0.0, f64::max) < 1e-15, "{moment:?}");
    }
    state.qpos[2] += 1.0;
    assert!(
        moment(&model, &at(&model, &state), 0)
            .iter()
            .all(|&arm| arm == 0.0)
    );
    assert_eq!(model.actuators.acceleration_reference, [0.0, 0.0]);
}

/// Large bodies that touch wherever a random state puts them, and one far away.
const ADHESION: &str = r#"<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="hand"><joint axis="0 1 0"/><joint type="slide" axis="1 0 0"/><geom size="5" pos=".5 0 0"/></body>
  <body name="ball" pos="0 0 6"><freejoint/><geom size="4"/><geom size="3" pos="1 0 0"/></body>
  <body pos="0 90 90"><freejoint/><geom size="1"/></body>
</worldbody><actuator><adhesion body="hand" ctrlrange="0 1"/><adhesion body="ball" ctrlrange="0 1"/></actuator></mujoco>"#;

crate::testing::stage_check::check_stage!(
    transmission,
    crate::testing::stage_check::points_and(&[ACTUATORS, ADHESION]),
    |point| super::forward(
        &point.model,
        &point.state,
        &point.data.kinematics,
        &point.data.tendon,
        &point.data.collision,
        &mut point.data.transmission,
    ),
    |point, bar| crate::stages::transmission::backward(point.at(), bar)
);
