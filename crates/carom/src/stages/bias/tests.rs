//! Recursive Newton–Euler against the joint-space inertia and conservation laws.

use super::recursive_newton_euler;
use crate::data::Data;
use crate::dynamics::{forward_position, forward_velocity};
use crate::stages::inertia;
use crate::testing::{Random, assert_close, random_model, random_state};

#[test]
fn newton_euler_is_inertia_times_acceleration_plus_bias() {
    for seed in 0..20 {
        let model = random_model(seed, 8);
        let state = random_state(seed, &model);
        let mut data = Data::new(&model);
        forward_position(&model, &state, &mut data);
        forward_velocity(&model, &state, &mut data);
        let nv = model.counts().nv;
        let acceleration = Random::new(seed).vector(nv);
        let mut expected = vec![0.0; nv];
        inertia::mul(&model, &data.inertia, &acceleration, &mut expected);
        for dof in 0..nv {
            expected[dof] += data.bias.force[dof] - model.dofs.armature[dof] * acceleration[dof];
        }
        recursive_newton_euler(
            &model,
            &data.kinematics,
            &data.velocity,
            &state,
            Some(&acceleration),
            &mut data.bias,
        );
        assert_close("M·a + c", &data.bias.force, &expected, 1e-12);
    }
}

#[test]
fn disabled_gravity_leaves_only_velocity_products() {
    let mut model = random_model(4, 6);
    let mut state = random_state(4, &model);
    state.qvel.fill(0.0);
    let mut data = Data::new(&model);
    forward_position(&model, &state, &mut data);
    forward_velocity(&model, &state, &mut data);
    assert!(data.bias.force.iter().any(|force| force.abs() > 0.1));
    model.settings.disable.gravity = true;
    forward_velocity(&model, &state, &mut data);
    assert!(data.bias.force.iter().all(|&force| force == 0.0));
}

crate::testing::stage_check::check_stage!(
    bias,
    |point| super::forward(
        &point.model,
        &point.state,
        &point.data.kinematics,
        &point.data.tendon,
        &point.data.velocity,
        &mut point.data.bias,
    ),
    |point, bar| crate::stages::bias::backward(point.at(), bar)
);
