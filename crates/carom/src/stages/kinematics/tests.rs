//! Frames and Jacobians against derivatives by dual numbers.

use super::{Kinematics, forward};
use crate::dual::{Dual, LANES};
use crate::integrate::integrate_positions;
use crate::jacobian;
use crate::math::Vec3;
use crate::model::Model;
use crate::state::State;
use crate::testing::{Random, assert_close, random_model, random_state};

/// Kinematics along q ⊕ t·v at t = 0, with the derivative by t.
pub(crate) fn moving_kinematics(model: &Model, state: &State) -> Kinematics<Dual<LANES>> {
    let dual_model = model.map(Dual::<LANES>::constant);
    let mut dual_state = State::reference(&dual_model);
    let lift = |numbers: &[f64]| -> Vec<Dual<LANES>> {
        numbers
            .iter()
            .map(|&number| Dual::constant(number))
            .collect()
    };
    dual_state.qpos = lift(&state.qpos);
    dual_state.qvel = lift(&state.qvel);
    let instant = Dual::variable(0.0, 0);
    integrate_positions(
        &dual_model,
        &mut dual_state.qpos,
        &lift(&state.qvel),
        instant,
    );
    let mut kinematics = Kinematics::zeros(model.counts());
    forward(&dual_model, &dual_state, &mut kinematics);
    kinematics
}

/// The time derivative of a vector.
pub(crate) fn rate(vector: Vec3<Dual<LANES>>) -> [f64; 3] {
    vector.0.map(|number| number.tangent[0])
}

#[test]
fn jacobians_are_derivatives_of_positions() {
    for seed in 0..20 {
        let model = random_model(seed, 7);
        let state = random_state(seed, &model);
        let mut kinematics = Kinematics::zeros(model.counts());
        forward(&model, &state, &mut kinematics);
        let moving = moving_kinematics(&model, &state);
        let nv = model.counts().nv;
        let (mut translation, mut rotation) = (vec![0.0; 3 * nv], vec![0.0; 3 * nv]);
        let times_velocity = |jacobian: &[f64]| -> Vec<f64> {
            (0..3)
                .map(|row| {
                    (0..nv)
                        .map(|dof| jacobian[row * nv + dof] * state.qvel[dof])
                        .sum()
                })
                .collect()
        };
        for body in 1..model.counts().nbody {
            jacobian::body(&model, &kinematics, body, &mut translation, &mut rotation);
            let expected = rate(moving.body_position[body]);
            assert_close("origin", &times_velocity(&translation), &expected, 1e-12);
            let angular = times_velocity(&rotation);
            let angular = Vec3([angular[0], angular[1], angular[2]]);
            for k in 0..3 {
                let axis = kinematics.body_rotation[body].column(k);
                let expected = rate(moving.body_rotation[body].column(k));
                assert_close("axis", &angular.cross(axis).0, &expected, 1e-12);
            }
            jacobian::center_of_mass(&model, &kinematics, body, &mut translation, &mut rotation);
            let expected = rate(moving.inertial_position[body]);
            assert_close("centre", &times_velocity(&translation), &expected, 1e-12);
        }
    }
}

#[test]
fn forces_act_through_the_transposed_jacobian() {
    let model = random_model(3, 6);
    let state = random_state(3, &model);
    let mut kinematics = Kinematics::zeros(model.counts());
    forward(&model, &state, &mut kinematics);
    let (body, nv) = (model.counts().nbody - 1, model.counts().nv);
    let mut random = Random::new(5);
    let (point, torque, force) = (random.vec3(), random.vec3(), random.vec3());
    let (mut translation, mut rotation) = (vec![0.0; 3 * nv], vec![0.0; 3 * nv]);
    jacobian::point(
        &model,
        &kinematics,
        body,
        point,
        &mut translation,
        &mut rotation,
    );
    let mut generalized = vec![0.0; nv];
    let wrench = jacobian::Wrench {
        body,
        point,
        torque,
        force,
    };
    jacobian::apply_force(&model, &kinematics, wrench, &mut generalized);
    for dof in 0..nv {
        let power: f64 = (0..3)
            .map(|k| translation[k * nv + dof] * force[k] + rotation[k * nv + dof] * torque[k])
            .sum();
        assert!((power - generalized[dof]).abs() < 1e-13);
    }
}

#[test]
fn shortcuts_do_not_change_the_frames() {
    // Dual numbers never take the shortcuts for identity frames.
    for seed in 0..10 {
        let model = random_model(seed, 6);
        let state = random_state(seed, &model);
        let mut kinematics = Kinematics::zeros(model.counts());
        forward(&model, &state, &mut kinematics);
        let moving = moving_kinematics(&model, &state).map(|number| number.value);
        let mut expected = Vec::new();
        moving.for_each(|_, _, _, number| expected.push(number));
        let mut actual = Vec::new();
        kinematics.for_each(|_, _, _, number| actual.push(number));
        assert_close("kinematics", &actual, &expected, 1e-14);
    }
}

#[test]
fn quaternions_are_normalised_on_reading_only() {
    let model = random_model(11, 6);
    let mut state = random_state(11, &model);
    let mut kinematics = Kinematics::zeros(model.counts());
    forward(&model, &state, &mut kinematics);
    let expected = kinematics.clone();
    for (joint, &address) in model.structure.joints.qpos.iter().enumerate() {
        use crate::model::JointKind::{Ball, Free};
        let first = match model.structure.joints.kind[joint] {
            Free => address + 3,
            Ball => address,
            _ => continue,
        };
        for number in &mut state.qpos[first..first + 4] {
            *number *= 1.7;
        }
    }
    let before = state.clone();
    forward(&model, &state, &mut kinematics);
    assert_eq!(state, before);
    for body in 0..model.counts().nbody {
        let (actual, expected) = (kinematics.body_position[body], expected.body_position[body]);
        assert_close("position", &actual.0, &expected.0, 1e-14);
    }
}

crate::testing::stage_check::check_stage!(
    kinematics,
    |point| super::forward(&point.model, &point.state, &mut point.data.kinematics),
    |point, bar| crate::stages::kinematics::backward(point.at(), bar)
);
