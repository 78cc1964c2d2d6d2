//! Body velocities against derivatives of positions.

use super::{Velocity, forward};
use crate::jacobian;
use crate::stages::kinematics::tests::{moving_kinematics, rate};
use crate::stages::kinematics::{self, Kinematics};
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::testing::{assert_close, random_model, random_state};

#[test]
fn velocities_are_derivatives_of_positions() {
    for seed in 0..20 {
        let model = random_model(seed, 7);
        let state = random_state(seed, &model);
        let mut kinematics = Kinematics::zeros(model.counts());
        kinematics::forward(&model, &state, &mut kinematics);
        let mut velocity = Velocity::zeros(model.counts());
        let tendon = Tendon::zeros(model.counts());
        let transmission = TransmissionData::zeros(model.counts());
        forward(
            &model,
            &state,
            &kinematics,
            &tendon,
            &transmission,
            &mut velocity,
        );
        let moving = moving_kinematics(&model, &state);
        for body in 0..model.counts().nbody {
            let center = kinematics.inertial_position[body];
            let offset = jacobian::offset(&model, &kinematics, body, center);
            let actual = jacobian::point_velocity(velocity.body[body], offset);
            let expected = rate(moving.inertial_position[body]);
            assert_close("velocity", &actual.0, &expected, 1e-12);
        }
    }
}

crate::testing::stage_check::check_stage!(
    velocity,
    |point| super::forward(
        &point.model,
        &point.state,
        &point.data.kinematics,
        &point.data.tendon,
        &point.data.transmission,
        &mut point.data.velocity,
    ),
    |point, bar| crate::stages::velocity::backward(point.at(), bar)
);
