//! The joint-space inertia against its definition.

use super::{forward, mul, solve};
use crate::data::Data;
use crate::linalg::{cholesky, tree_ldl};
use crate::stages::kinematics;
use crate::testing::{assert_close, random_model, random_state};

#[test]
fn inertia_is_symmetric_positive_definite_and_solves() {
    for seed in 0..30 {
        let model = random_model(seed, 8);
        let state = random_state(seed, &model);
        let mut data = Data::new(&model);
        kinematics::forward(&model, &state, &mut data.kinematics);
        forward(&model, &data.kinematics, &data.tendon, &mut data.inertia);
        let nv = model.counts().nv;
        let mut dense = vec![0.0; nv * nv];
        tree_ldl::to_dense(&model.structure.inertia, &data.inertia.matrix, &mut dense);
        for row in 0..nv {
            for column in 0..nv {
                assert_eq!(dense[row * nv + column], dense[column * nv + row]);
            }
        }
        assert_eq!(cholesky::factor(&mut dense, nv), Ok(()));
        let mut product = vec![0.0; nv];
        mul(&model, &data.inertia, &state.qvel, &mut product);
        solve(&model, &data.inertia, &mut product);
        assert_close("M⁻¹·M·v", &product, &state.qvel, 1e-10);
    }
}

#[test]
fn kinetic_energy_is_that_of_the_bodies() {
    for seed in 0..20 {
        let model = random_model(seed, 8);
        let state = random_state(seed, &model);
        let mut data = Data::new(&model);
        crate::dynamics::forward_position(&model, &state, &mut data);
        crate::dynamics::forward_velocity(&model, &state, &mut data);
        let mut momentum = vec![0.0; model.counts().nv];
        mul(&model, &data.inertia, &state.qvel, &mut momentum);
        let energy: f64 = momentum
            .iter()
            .zip(&state.qvel)
            .map(|(p, v)| 0.5 * p * v)
            .sum();
        let mut expected: f64 = (0..model.counts().nv)
            .map(|dof| 0.5 * model.dofs.armature[dof] * state.qvel[dof].powi(2))
            .sum();
        for body in 1..model.counts().nbody {
            let center = data.kinematics.inertial_position[body];
            let offset = crate::jacobian::offset(&model, &data.kinematics, body, center);
            let motion = data.velocity.body[body];
            let velocity = crate::jacobian::point_velocity(motion, offset);
            let spin = data.kinematics.inertial_rotation[body].transpose_mul_vec(motion.angular());
            let inertia = model.bodies.inertia[body];
            expected += 0.5 * model.bodies.mass[body] * velocity.norm_squared()
                + 0.5 * spin.dot(spin.component_mul(inertia));
        }
        assert_close("energy", &[energy], &[expected], 1e-12);
        let (stages, _) = data.split_sensing();
        let sensed = crate::stages::sensing::kinetic_energy(&model, &state, &stages);
        assert_close("sensed energy", &[sensed], &[energy], 1e-13);
    }
}

#[test]
fn a_moving_part_without_inertia_gives_no_number() {
    let mut model = random_model(2, 3);
    model.bodies.mass.fill(0.0);
    model.bodies.inertia.fill(crate::math::Vec3::ZERO);
    model.dofs.armature.fill(0.0);
    let state = random_state(2, &model);
    let mut data = Data::new(&model);
    kinematics::forward(&model, &state, &mut data.kinematics);
    forward(&model, &data.kinematics, &data.tendon, &mut data.inertia);
    assert!(
        data.inertia
            .diagonal_inverse
            .iter()
            .all(|number| number.is_nan())
    );
}

crate::testing::stage_check::check_stage!(
    inertia,
    |point| super::forward(
        &point.model,
        &point.data.kinematics,
        &point.data.tendon,
        &mut point.data.inertia,
    ),
    |point, bar| crate::stages::inertia::backward(point.at(), bar)
);
