//! Orders, conservation laws and round trips of the integrators.

use super::{difference, integrate_positions, step};
use crate::data::Data;
use crate::dynamics;
use crate::inverse;
use crate::math::Vec3;
use crate::model::{Integrator, Model};
use crate::stages::sensing::{kinetic_energy, potential_energy};
use crate::state::{Input, State};
use crate::testing::{
    Random, assert_close, random_input, random_model, random_state, stage_check, step_check,
};

/// A frictionless mechanism with free, ball, slide and hinge joints.
fn conservative_model(seed: u64) -> Model {
    let mut model = random_model(seed, 5);
    model.settings.integrator = Integrator::RungeKutta4;
    model
}

/// Total energy (J).
fn energy(model: &Model, state: &State, data: &mut Data) -> f64 {
    dynamics::forward(model, state, &Input::zeros(model), data);
    let (stages, _) = data.split_sensing();
    potential_energy(model, state, &stages) + kinetic_energy(model, state, &stages)
}

/// The state after `duration` in steps of `h`.
fn simulate(model: &Model, start: &State, h: f64, steps: usize) -> State {
    let mut model = model.clone();
    model.option.timestep[0] = h;
    let (mut state, input, mut data) = (start.clone(), Input::zeros(&model), Data::new(&model));
    for _ in 0..steps {
        step(&model, &mut state, &input, &mut data);
    }
    state
}

#[test]
fn integration_on_the_manifold_inverts_differences() {
    for seed in 0..10 {
        let model = random_model(seed, 7);
        let state = random_state(seed, &model);
        let tangent: Vec<f64> = Random::new(seed).vector(model.counts().nv);
        let mut moved = state.qpos.clone();
        integrate_positions(&model, &mut moved, &tangent, 1.0);
        let mut found = vec![0.0; model.counts().nv];
        difference(&model, &state.qpos, &moved, &mut found);
        assert_close("tangent", &found, &tangent, 1e-13);
    }
}

#[test]
fn runge_kutta_is_of_fourth_order() {
    let mut slopes = Vec::new();
    for seed in 0..8 {
        let model = conservative_model(seed);
        let start = random_state(seed, &model);
        let mut tangent = vec![0.0; model.counts().nv];
        let reference = simulate(&model, &start, 0.1 / 128.0, 128);
        let mut error = |steps: usize| {
            let end = simulate(&model, &start, 0.1 / steps as f64, steps);
            difference(&model, &reference.qpos, &end.qpos, &mut tangent);
            let velocity = end.qvel.iter().zip(&reference.qvel).map(|(a, b)| a - b);
            let squares = tangent.iter().copied().chain(velocity).map(|x| x * x);
            squares.sum::<f64>().sqrt()
        };
        let (coarse, fine) = (error(8), error(16));
        if fine > 1e-13 {
            slopes.push((coarse / fine).log2());
        }
    }
    slopes.sort_by(f64::total_cmp);
    assert!(
        slopes.len() >= 6,
        "too few mechanisms that move: {slopes:?}"
    );
    assert!(slopes[slopes.len() / 2] > 3.8, "{slopes:?}");
    assert!(slopes[0] > 3.3, "{slopes:?}");
}

#[test]
fn runge_kutta_conserves_energy_to_fourth_order() {
    let mut slopes = Vec::new();
    for seed in 0..8 {
        let model = conservative_model(seed);
        let start = random_state(seed, &model);
        let mut data = Data::new(&model);
        let before = energy(&model, &start, &mut data);
        let mut drift = |steps: usize| {
            let end = simulate(&model, &start, 0.2 / steps as f64, steps);
            (energy(&model, &end, &mut data) - before).abs()
        };
        let (coarse, fine) = (drift(16), drift(32));
        if fine > 1e-12 {
            slopes.push((coarse / fine).log2());
        }
    }
    slopes.sort_by(f64::total_cmp);
    assert!(
        slopes.len() >= 5,
        "too few mechanisms that move: {slopes:?}"
    );
    assert!(slopes[slopes.len() / 2] > 3.8, "{slopes:?}");
}

#[test]
fn euler_and_implicit_integrators_are_of_first_order() {
    for integrator in [
        Integrator::Euler,
        Integrator::ImplicitFast,
        Integrator::Implicit,
    ] {
        let mut model = random_model(5, 6);
        model.settings.integrator = integrator;
        model.dofs.damping.fill(0.5);
        model.dofs.damping_poly.fill([0.2, 0.1]);
        model.option.density[0] = 1.2;
        model.option.viscosity[0] = 0.3;
        let start = random_state(5, &model);
        let mut exact = model.clone();
        exact.settings.integrator = Integrator::RungeKutta4;
        let reference = simulate(&exact, &start, 0.1 / 100.0, 100);
        let error = |steps: usize| {
            let end = simulate(&model, &start, 0.1 / steps as f64, steps);
            let errors = end
                .qvel
                .iter()
                .zip(&reference.qvel)
                .map(|(a, b)| (a - b).abs());
            errors.fold(0.0, f64::max)
        };
        let slope = (error(100) / error(200)).log2();
        assert!((0.9..1.1).contains(&slope), "{integrator:?}: {slope}");
    }
}

/// Linear momentum, and angular momentum about the world's origin, of everything that moves.
fn momentum(model: &Model, state: &State, data: &mut Data) -> [f64; 6] {
    dynamics::forward_position(model, state, data);
    dynamics::forward_velocity(model, state, data);
    let (mut linear, mut angular) = (Vec3::ZERO, Vec3::ZERO);
    for body in 1..model.counts().nbody {
        let center = data.kinematics.inertial_position[body];
        let offset = crate::jacobian::offset(model, &data.kinematics, body, center);
        let motion = data.velocity.body[body];
        let part = crate::jacobian::point_velocity(motion, offset) * model.bodies.mass[body];
        let rotation = &data.kinematics.inertial_rotation[body];
        let spin = rotation.transpose_mul_vec(motion.angular());
        let spin = rotation.mul_vec(spin.component_mul(model.bodies.inertia[body]));
        linear += part;
        angular += center.cross(part) + spin;
    }
    let ([a, b, c], [x, y, z]) = (linear.0, angular.0);
    [a, b, c, x, y, z]
}

#[test]
fn momentum_is_conserved_without_gravity() {
    let mut checked = 0;
    for seed in 0..200 {
        let mut model = conservative_model(seed);
        // Only mechanisms that hang on nothing: every tree starts with a free joint.
        let floats = (1..model.counts().nbody).all(|body| {
            let root = model.structure.bodies.root[body];
            model.structure.bodies.dofs[root].len() == 6
        });
        if !floats || checked == 5 {
            continue;
        }
        checked += 1;
        model.settings.disable.gravity = true;
        // Armature is an inertia that no body has.
        model.dofs.armature.fill(0.0);
        let start = random_state(seed, &model);
        let mut data = Data::new(&model);
        let before = momentum(&model, &start, &mut data);
        let end = simulate(&model, &start, 1e-3, 200);
        let after = momentum(&model, &end, &mut data);
        assert_close("momentum", &after, &before, 1e-10);
    }
    assert_eq!(checked, 5);
}

#[test]
fn inverse_dynamics_undoes_forward_dynamics() {
    for seed in 0..20 {
        let mut model = random_model(seed, 8);
        model.dofs.damping.fill(0.3);
        let state = random_state(seed, &model);
        let input = random_input(seed, &model);
        let mut data = Data::new(&model);
        dynamics::forward(&model, &state, &input, &mut data);
        let mut force = vec![0.0; model.counts().nv];
        let qacc = data.solve.qacc.clone();
        inverse::forward(&model, &state, &qacc, &mut data, &mut force);
        let mut expected = input.force.clone();
        crate::stages::acceleration::apply_body_forces(
            &model,
            &input,
            &data.kinematics,
            &mut expected,
        );
        assert_close("force", &force, &expected, 1e-11);
    }
}

#[test]
fn discrete_inverse_dynamics_undoes_a_step() {
    for integrator in [
        Integrator::Euler,
        Integrator::ImplicitFast,
        Integrator::Implicit,
    ] {
        for seed in 0..12 {
            let mut model = random_model(seed, 8);
            model.settings.integrator = integrator;
            model.settings.enable.invdiscrete = true;
            model.dofs.damping.fill(0.3);
            model.dofs.damping_poly.fill([0.1, 0.2]);
            model.option.density[0] = 1.2;
            let start = random_state(seed, &model);
            let mut input = random_input(seed, &model);
            input.body_force.fill(crate::math::Spatial::ZERO);
            let mut data = Data::new(&model);
            let mut state = start.clone();
            step(&model, &mut state, &input, &mut data);
            let h = model.option.timestep[0];
            let qacc: Vec<f64> = state
                .qvel
                .iter()
                .zip(&start.qvel)
                .map(|(after, before)| (after - before) / h)
                .collect();
            let mut force = vec![0.0; model.counts().nv];
            inverse::forward(&model, &start, &qacc, &mut data, &mut force);
            assert_close("force", &force, &input.force, 1e-9);
        }
    }
}

/// Steps of all models from random states, under an integrator.
fn check_backward(integrator: Integrator) {
    for (name, mut point) in stage_check::points() {
        println!("{name}");
        point.model.settings.integrator = integrator;
        crate::stages::solve::tighten(&mut point.model);
        point.data = Data::new(&point.model);
        dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
        step_check::check(&point);
    }
}

#[test]
fn backward_is_the_adjoint_of_an_euler_step() {
    check_backward(Integrator::Euler);
}

#[test]
fn backward_is_the_adjoint_of_an_implicit_step() {
    check_backward(Integrator::Implicit);
    check_backward(Integrator::ImplicitFast);
}

#[test]
fn backward_is_the_adjoint_of_a_runge_kutta_step() {
    check_backward(Integrator::RungeKutta4);
}
