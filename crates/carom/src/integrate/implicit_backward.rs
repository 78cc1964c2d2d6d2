//! The adjoint of the implicit integrators.
//!
//! With F = M − h·D the matrix of the step, F·â = τ and μ = F⁻ᵀ·â̄, forces have the cotangent μ and F̄ = −μ·âᵀ. So each
//! term of F passes on the derivatives of −μ·F·â with μ and â held:
//!
//! - dampers, tendons and actuators, multiples of Jᵀ·J, by the twin of the outer product;
//! - the medium's forces: h·Σ V(μ)·B·V(â) over the bodies, with V(x) the motion of a body when the dofs move at x;
//! - the bias force: C = ∂c/∂v is linear in v, as c is quadratic but for gravity, so for any s > 0
//!
//!     C·â = (c(v + s·â) − c(v − s·â)) / 2s                                                        (1)
//!
//!   holds exactly, and two backward passes through the bias force give the rest.

use super::euler::{add, damping_backward};
use super::free_body;
use super::rates::dot;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::linalg::tree_ldl;
use crate::math::Spatial;
use crate::model::{Integrator, Model};
use crate::stages::actuation::{self, ActuatorPlace};
use crate::stages::bias::{self, Bias};
use crate::stages::inertia;
use crate::stages::velocity::{self, Velocity};
use crate::state::State;
use crate::terms::body::{self, Immersed};
use crate::terms::length::Row;
use crate::terms::{TendonDamper, Term};

/// Work area.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Cotangent of the symmetric terms of F, in the pattern of M.
    matrix_bar: Vec<f64>,
    /// μ on the dofs whose bias force takes part.
    turning: Vec<f64>,
    /// The motion of each body when the dofs move at μ and at â, and their cotangents.
    motions: [Vec<Spatial>; 2],
    motion_bars: [Vec<Spatial>; 2],
    /// The state with another velocity, its velocities and bias force, and their cotangents.
    state: State,
    velocity: Velocity,
    bias: Bias,
    velocity_bar: Velocity,
    bias_bar: Bias,
}

impl Work {
    /// Room for a model; none for integrators that do not need it.
    pub(super) fn new(model: &Model) -> Option<Self> {
        let n = model.counts();
        let is_implicit = matches!(
            model.settings.integrator,
            Integrator::Implicit | Integrator::ImplicitFast
        );
        let motions = || std::array::from_fn(|_| vec![Spatial::ZERO; n.nbody]);
        is_implicit.then(|| Self {
            matrix_bar: vec![0.0; n.ninertia],
            turning: vec![0.0; n.nv],
            motions: motions(),
            motion_bars: motions(),
            state: State::reference(model),
            velocity: Velocity::zeros(n),
            bias: Bias::zeros(n),
            velocity_bar: Velocity::zeros(n),
            bias_bar: Bias::zeros(n),
        })
    }
}

/// From the cotangent of â, which is used up, to those of the forces and of everything in F; returns â.
pub(super) fn backward<'a>(
    at: At<'a>,
    bar: &mut [f64],
    work: &mut Work,
    bars: &mut Cotangents,
) -> &'a [f64] {
    let acceleration = &at.data.integration.acceleration;
    solve_transposed(at, bar);
    work.matrix_bar.fill(0.0);
    inertia::subtract_outer_product(at.model, bar, acceleration, &mut work.matrix_bar);
    add(&mut bars.data.inertia.matrix, &work.matrix_bar);
    add(&mut bars.data.acceleration.force_smooth, bar);
    add(&mut bars.data.solve.force_constraint, bar);
    actuators(at, &work.matrix_bar, bars);
    dampers(at, &work.matrix_bar, bars);
    medium(at, bar, work, bars);
    bias_force(at, bar, work, bars);
    acceleration
}

/// μ ← F⁻ᵀ·μ.
fn solve_transposed(at: At<'_>, bar: &mut [f64]) {
    let sparsity = &at.model.structure.inertia;
    let integration = &at.data.integration;
    if at.model.settings.integrator == Integrator::Implicit {
        let factor = &integration.implicit.factor;
        factor.solve_transposed_in_place(sparsity, bar);
        return;
    }
    let blocks = &integration.implicit.free_blocks;
    for ((dof, _), block) in free_body::standalone(at.model).zip(blocks) {
        let mut transposed = std::array::from_fn(|i| std::array::from_fn(|j| block[j][i]));
        let mut x = std::array::from_fn(|i| bar[dof + i]);
        if !free_body::solve(&mut transposed, &mut x) {
            x = [0.0; 6];
        }
        bar[dof..dof + 6].copy_from_slice(&x);
    }
    let (factor, inverse) = (&integration.matrix, &integration.diagonal_inverse);
    tree_ldl::solve_in_place(sparsity, factor, inverse, bar);
}

/// F −= h·d·Jᵀ·J.
fn actuators(at: At<'_>, matrix_bar: &[f64], bars: &mut Cotangents) {
    let (model, data) = (at.model, at.data);
    if model.settings.disable.actuation {
        return;
    }
    let h = at.input.timestep;
    let pattern = &model.structure.actuators.moment;
    for actuator in 0..model.counts().nactuator {
        let place = ActuatorPlace::of(data);
        let act = &at.state.act;
        let derivative =
            actuation::velocity_derivative(model, actuator, place, act, &data.actuation);
        let data_bar = &mut bars.data;
        let mut factor_bar = 0.0;
        for output in model.structure.actuators.outputs[actuator].clone() {
            let row = Row::of(pattern, &data.transmission.moment, output);
            factor_bar += row.damping_vjp(
                &model.structure.inertia,
                derivative * h,
                matrix_bar,
                &mut data_bar.transmission.moment[pattern.row(output)],
            );
        }
        bars.input.timestep += derivative * factor_bar;
        actuation::velocity_derivative_vjp(at, actuator, h * factor_bar, bars);
    }
}

/// Joint and tendon damping.
fn dampers(at: At<'_>, matrix_bar: &[f64], bars: &mut Cotangents) {
    let (model, data) = (at.model, at.data);
    if model.settings.disable.damper {
        return;
    }
    let h = at.input.timestep;
    let structure = &model.structure;
    let diagonal = &structure.inertia.diagonal;
    damping_backward(at, |dof| matrix_bar[diagonal[dof]], bars);
    let pattern = &structure.tendons.jacobian;
    for (tendon, &rate) in data.velocity.tendon.iter().enumerate() {
        let derivative = TendonDamper::rate_derivative(model, tendon, [rate]);
        let factor_bar = Row::of(pattern, &data.tendon.jacobian, tendon).damping_vjp(
            &structure.inertia,
            derivative * h,
            matrix_bar,
            &mut bars.data.tendon.jacobian[pattern.row(tendon)],
        );
        bars.input.timestep += derivative * factor_bar;
        let derivative_bar = h * factor_bar;
        let [rate_bar] = TendonDamper::rate_derivative_vjp(
            model,
            tendon,
            [rate],
            derivative_bar,
            &mut bars.model,
        );
        bars.data.velocity.tendon[tendon] += rate_bar;
    }
}

/// F −= h·s·B·s, of which implicitfast takes the symmetric part but for standalone free bodies.
fn medium(at: At<'_>, lambda: &[f64], work: &mut Work, bars: &mut Cotangents) {
    let (model, data) = (at.model, at.data);
    let disable = &model.settings.disable;
    if disable.spring && disable.damper {
        return;
    }
    let structure = &model.structure;
    let h = at.input.timestep;
    let velocities = [lambda, &data.integration.acceleration[..]];
    for (motions, velocities) in work.motions.iter_mut().zip(velocities) {
        body::motions(structure, &data.kinematics, velocities, motions);
    }
    for body_bars in &mut work.motion_bars {
        body_bars.fill(Spatial::ZERO);
    }
    let mut immersed = Immersed::new(at, &mut bars.data, &mut bars.model);
    let (is_absent, mut sum) = (body::is_absent(model), 0.0);
    for body in 1..model.counts().nbody {
        let pair = [0, 1].map(|index| work.motions[index][body]);
        let symmetric =
            model.settings.integrator == Integrator::ImplicitFast && !is_standalone(model, body);
        if is_absent {
            immersed.absent_vjp(body, pair, h, symmetric);
            continue;
        }
        let weight = if symmetric { 0.5 } else { 1.0 };
        let (value, [first, second]) = immersed.contract_vjp(body, pair, weight * h);
        sum += weight * value;
        work.motion_bars[0][body] += first;
        work.motion_bars[1][body] += second;
        if symmetric {
            let (value, [second, first]) =
                immersed.contract_vjp(body, [pair[1], pair[0]], weight * h);
            sum += weight * value;
            work.motion_bars[0][body] += first;
            work.motion_bars[1][body] += second;
        }
    }
    if is_absent {
        return;
    }
    bars.input.timestep += sum;
    let axes_bar = &mut bars.data.kinematics.dof_axis;
    for (body_bars, velocities) in work.motion_bars.iter_mut().zip(velocities) {
        body::axes_vjp(structure, velocities, body_bars, axes_bar);
    }
}

/// Whether a body belongs to a tree that is one free joint.
fn is_standalone(model: &Model, body: usize) -> bool {
    let root = model.structure.bodies.root[body];
    free_body::standalone(model).any(|(_, free)| free == root)
}

/// F += h·C, for all dofs or for standalone free bodies.
fn bias_force(at: At<'_>, lambda: &[f64], work: &mut Work, bars: &mut Cotangents) {
    let (model, data) = (at.model, at.data);
    let h = at.input.timestep;
    let acceleration = &data.integration.acceleration;
    if model.settings.integrator == Integrator::Implicit {
        work.turning.copy_from_slice(lambda);
    } else {
        work.turning.fill(0.0);
        for (dof, _) in free_body::standalone(model) {
            work.turning[dof..dof + 6].copy_from_slice(&lambda[dof..dof + 6]);
        }
    }
    let length = dot(acceleration, acceleration).sqrt();
    if length == 0.0 || work.turning.iter().all(|&number| number == 0.0) {
        return;
    }
    let qvel = &at.state.qvel;
    // Any s is exact but for rounding, which is least where both velocities have the same size.
    let s = (1.0 + dot(qvel, qvel).sqrt()) / length;
    let mut form = 0.0;
    for sign in [1.0, -1.0] {
        for (dof, moved) in work.state.qvel.iter_mut().enumerate() {
            *moved = qvel[dof] + sign * s * acceleration[dof];
        }
        velocity::forward(
            model,
            &work.state,
            &data.kinematics,
            &data.tendon,
            &data.transmission,
            &mut work.velocity,
        );
        let (state, moved) = (&work.state, &work.velocity);
        bias::recursive_newton_euler(model, &data.kinematics, moved, state, None, &mut work.bias);
        let factor = sign / (2.0 * s); // (1)
        form += factor * dot(&work.turning, &work.bias.force);
        work.bias_bar.set_zero();
        work.velocity_bar.set_zero();
        for (bar, &lambda) in work.bias_bar.force.iter_mut().zip(&work.turning) {
            *bar = -h * factor * lambda;
        }
        let moving = velocity::Moving {
            at,
            state,
            velocity: moved,
        };
        let velocity_bar = &mut work.velocity_bar;
        let found = (moving, &work.bias);
        bias::newton_euler_backward(found, &mut work.bias_bar, velocity_bar, bars);
        velocity::backward_of(moving, velocity_bar, bars);
    }
    bars.input.timestep -= form;
}
