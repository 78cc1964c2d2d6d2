//! The adjoint of the Runge–Kutta step, stage by stage from the last.
//!
//! Stage i lies at x₀ ⊕ aᵢ·h·k₍ᵢ₋₁₎ with k the rates of a stage: those of positions in the tangent space at the start of
//! the step, accelerations, and rates of activations. So
//!
//!   k̄ᵢ = bᵢ·(mean of k)‾ + aᵢ₊₁·h·x̄ᵢ₊₁,   x̄ᵢ = (∂k/∂x)ᵀ·k̄ᵢ,   x̄₀ += x̄ᵢ                             (1)

use super::backward::{
    Evaluation, MovedBar, MovedBy, Retraced, dot, positions_and_activations, take_back_records,
};
use super::positions::{integrate_positions, integrate_positions_vjp};
use super::runge_kutta::{STAGE, WEIGHT, add_scaled, rotation_vector_rate, tangent_rates};
use super::surrogate::linearized;
use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::dual::Dual;
use crate::dynamics::{self, At, backward::Observer};
use crate::history;
use crate::math::Vec3;
use crate::model::Model;
use crate::stages::{sensing, solve};
use crate::state::Input;

/// Work area: rates of all stages, and cotangents.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Rates of positions of each stage, nv each.
    rates: [Vec<f64>; 4],
    /// The weighted means of the stages.
    mean: Rates,
    mean_bar: Rates,
    /// Cotangents of the rates of the stage at hand and of the one before it.
    stage_bar: Rates,
    before_bar: Rates,
    /// Cotangent of the state at the start of the step, so far.
    start: StateBar,
    /// Cotangents of the results of later stages.
    later: DataBar,
}

/// How a state changes, or cotangents of that.
#[derive(Clone, Debug)]
struct Rates {
    position: Vec<f64>,
    acceleration: Vec<f64>,
    activation: Vec<f64>,
}

impl Rates {
    fn zeros(model: &Model) -> Self {
        let n = model.counts();
        Self {
            position: vec![0.0; n.nv],
            acceleration: vec![0.0; n.nv],
            activation: vec![0.0; n.na],
        }
    }

    fn set_zero(&mut self) {
        self.position.fill(0.0);
        self.acceleration.fill(0.0);
        self.activation.fill(0.0);
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        add_scaled(&mut self.position, &other.position, factor);
        add_scaled(&mut self.acceleration, &other.acceleration, factor);
        add_scaled(&mut self.activation, &other.activation, factor);
    }
}

impl Work {
    /// Room for the steps of a model.
    pub(super) fn new(model: &Model) -> Self {
        let zeros = || Rates::zeros(model);
        Self {
            rates: std::array::from_fn(|_| vec![0.0; model.counts().nv]),
            mean: zeros(),
            mean_bar: zeros(),
            stage_bar: zeros(),
            before_bar: zeros(),
            start: StateBar::zeros(model),
            later: DataBar::zeros(model),
        }
    }

    /// The weighted means of the stages' rates.
    fn average(&mut self, evaluations: &[Evaluation]) {
        self.mean.set_zero();
        for (stage, evaluation) in evaluations.iter().enumerate() {
            let (mean, data, weight) = (&mut self.mean, &evaluation.data, WEIGHT[stage]);
            add_scaled(&mut mean.position, &self.rates[stage], weight);
            add_scaled(&mut mean.acceleration, &data.solve.qacc, weight);
            add_scaled(&mut mean.activation, &data.actuation.activation_dot, weight);
        }
    }
}

/// Computes the stages of a step again, each in an evaluation of its own.
pub(super) fn retrace(model: &Model, input: &Input, step: &mut Retraced) -> bool {
    let h = input.timestep;
    let Retraced {
        evaluations,
        end: start,
        stages: work,
        senses,
        ..
    } = step;
    work.rates[0].copy_from_slice(&start.qvel);
    let mut is_unique = true;
    for stage in 0..evaluations.len() {
        let (before, current) = evaluations.split_at_mut(stage);
        let Evaluation { state, data } = &mut current[0];
        state.copy_from(start);
        if let Some(last) = before.last() {
            let reach = h * STAGE[stage - 1];
            let (done, rates) = work.rates.split_at_mut(stage);
            integrate_positions(model, &mut state.qpos, &done[stage - 1], reach);
            add_scaled(&mut state.qvel, &last.data.solve.qacc, reach);
            add_scaled(&mut state.act, &last.data.actuation.activation_dot, reach);
            state.time = start.time + reach;
            rates[0].copy_from_slice(&done[stage - 1]);
            tangent_rates(model, &state.qvel, reach, &mut rates[0]);
        }
        dynamics::forward(model, state, input, data);
        let (inertia, smooth, rows) = (&data.inertia, &data.acceleration, &data.constraint);
        is_unique &= solve::factor_at_solution(model, inertia, smooth, rows, &mut data.solve);
        if stage == 0 {
            // Later stages know what the step recorded.
            if *senses {
                dynamics::sense(model, state, input, data);
            }
            history::record(model, start, input, &data.sensing.measured);
        }
    }
    is_unique
}

/// The adjoint of a step. Cotangents of results in `bar.data` belong to the first stage.
pub(super) fn backward(
    model: &Model,
    input: &Input,
    step: &mut Retraced,
    next: &StateBar,
    bar: &mut Cotangents,
    observer: &mut dyn Observer,
) {
    let h = input.timestep;
    let Retraced {
        evaluations,
        surrogate,
        stages: work,
        ..
    } = step;
    let (evaluations, surrogate) = (&*evaluations, surrogate.as_deref());
    let at = |stage: usize| At {
        model,
        state: &evaluations[stage].state,
        input,
        data: &evaluations[stage].data,
    };
    work.average(evaluations);
    work.mean_bar.set_zero();
    work.stage_bar.set_zero();
    let moved_by = MovedBy {
        rate: &work.mean.position,
        activation_dot: &work.mean.activation,
    };
    let moved_bar = MovedBar {
        rate: &mut work.mean_bar.position,
        activation_dot: &mut work.mean_bar.activation,
    };
    positions_and_activations(at(0), moved_by, next, moved_bar, bar);
    add_scaled(&mut work.mean_bar.acceleration, &next.qvel, h);
    bar.input.timestep += dot(&work.mean.acceleration, &next.qvel);
    std::mem::swap(&mut work.start, &mut bar.state);
    add_scaled(&mut work.start.qvel, &next.qvel, 1.0);
    std::mem::swap(&mut work.later, &mut bar.data);
    for stage in (0..evaluations.len()).rev() {
        if stage == 0 {
            std::mem::swap(&mut work.later, &mut bar.data);
            std::mem::swap(&mut work.start, &mut bar.state);
            take_back_records(at(0), bar);
            std::mem::swap(&mut work.start, &mut bar.state);
        } else {
            bar.data.start(linearized(surrogate, at(stage), stage).data);
        }
        work.stage_bar.add_scaled(&work.mean_bar, WEIGHT[stage]); // (1)
        bar.state.set_zero();
        let (stage_bar, data_bar) = (&work.stage_bar, &mut bar.data);
        add_scaled(&mut data_bar.solve.qacc, &stage_bar.acceleration, 1.0);
        let activation_dot_bar = &mut data_bar.actuation.activation_dot;
        add_scaled(activation_dot_bar, &stage_bar.activation, 1.0);
        if stage == 0 && step.senses {
            sensing::backward(linearized(surrogate, at(0), 0), bar);
        }
        let at = linearized(surrogate, at(stage), stage);
        dynamics::backward::observe_backward(at, bar, observer);
        if stage == 0 {
            add_scaled(&mut bar.state.qvel, &work.stage_bar.position, 1.0);
        } else {
            bar.input.timestep +=
                STAGE[stage - 1] * pass_to_stage_before(model, evaluations, stage, work, bar);
            std::mem::swap(&mut work.stage_bar, &mut work.before_bar);
        }
        work.start.add(&bar.state);
    }
    std::mem::swap(&mut work.start, &mut bar.state);
}

/// From the cotangents of a stage's state and rates to those of the rates before it, into `work.before_bar`; the
/// cotangent of positions becomes that at the start of the step. Returns the cotangent of the stage's time.
fn pass_to_stage_before(
    model: &Model,
    evaluations: &[Evaluation],
    stage: usize,
    work: &mut Work,
    bar: &mut Cotangents,
) -> f64 {
    let reach = evaluations[stage].data.timestep * STAGE[stage - 1];
    let Work {
        rates,
        stage_bar,
        before_bar,
        start,
        ..
    } = work;
    before_bar.set_zero();
    let mut reach_bar = tangent_rates_vjp(
        model,
        (&rates[stage - 1], &evaluations[stage].state.qvel, reach),
        &stage_bar.position,
        (&mut before_bar.position, &mut bar.state.qvel),
    );
    let start_position = &evaluations[0].state.qpos;
    let moved = (&rates[stage - 1][..], reach);
    let position_bar = &mut before_bar.position;
    let qpos_bar = (&bar.state.qpos[..], &mut start.qpos[..]);
    reach_bar += integrate_positions_vjp(model, start_position, moved, qpos_bar, position_bar);
    bar.state.qpos.fill(0.0);
    let before = &evaluations[stage - 1].data;
    add_scaled(&mut before_bar.acceleration, &bar.state.qvel, reach);
    add_scaled(&mut before_bar.activation, &bar.state.act, reach);
    reach_bar
        + bar.state.time
        + dot(&before.solve.qacc, &bar.state.qvel)
        + dot(&before.actuation.activation_dot, &bar.state.act)
}

/// The twin of [`tangent_rates`]: adds to the cotangents of the rates before and of the velocity; returns that of the
/// reach.
pub(crate) fn tangent_rates_vjp(
    model: &Model,
    (before, qvel, reach): (&[f64], &[f64], f64),
    bar: &[f64],
    (before_bar, qvel_bar): (&mut [f64], &mut [f64]),
) -> f64 {
    let joints = &model.structure.joints;
    let mut reach_bar = 0.0;
    for (_, dof) in joints.straight() {
        qvel_bar[dof] += bar[dof];
    }
    for (_, first) in joints.rotations() {
        let seeded = |values: &[f64], scale: f64, slot: usize| {
            Vec3(std::array::from_fn(|i| {
                Dual::<6>::variable(values[first + i] * scale, slot + i)
            }))
        };
        let rate = rotation_vector_rate(seeded(before, reach, 0), seeded(qvel, 1.0, 3));
        for i in 0..3 {
            let along = |slot: usize| {
                let parts = rate.0.iter().zip(&bar[first..first + 3]);
                parts
                    .map(|(rate, bar)| rate.tangent[slot] * bar)
                    .sum::<f64>()
            };
            let rotation_bar = along(i);
            before_bar[first + i] += reach * rotation_bar;
            reach_bar += before[first + i] * rotation_bar;
            qvel_bar[first + i] += along(3 + i);
        }
    }
    reach_bar
}
