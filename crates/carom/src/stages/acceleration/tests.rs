//! Forward dynamics against the articulated-body algorithm.

use crate::data::Data;
use crate::dynamics;
use crate::testing::aba;
use crate::testing::{assert_close, random_input, random_model, random_state};

#[test]
fn articulated_bodies_accelerate_alike() {
    for seed in 0..50 {
        let model = random_model(seed, 12);
        let state = random_state(seed, &model);
        let input = random_input(seed, &model);
        let mut data = Data::new(&model);
        dynamics::forward(&model, &state, &input, &mut data);
        let mut work = aba::Workspace::new(&model);
        let mut qacc = vec![0.0; model.counts().nv];
        // Everything but the bias force, which the algorithm finds by itself.
        let mut force = data.acceleration.force_smooth.clone();
        for (force, bias) in force.iter_mut().zip(&data.bias.force) {
            *force += bias;
        }
        aba::acceleration(
            &model,
            &state.qvel,
            &data.kinematics,
            &force,
            &mut work,
            &mut qacc,
        );
        assert_close("acceleration", &qacc, &data.solve.qacc, 1e-10);
    }
}

crate::testing::stage_check::check_stage!(
    acceleration,
    |point| super::forward(
        &point.model,
        &point.input,
        &point.data.kinematics,
        &point.data.inertia,
        (
            &point.data.passive,
            &point.data.bias,
            &point.data.compliance,
            &point.data.actuation,
            &point.data.learned,
        ),
        &mut point.data.acceleration,
    ),
    |point, bar| crate::stages::acceleration::backward(point.at(), bar)
);
