//! The adjoint of the Runge–Kutta step, stage by stage from the last.
//!
//! Stage i lies at x₀ ⊕ aᵢ·h·k₍ᵢ₋₁₎ with k the rates of a stage: those of positions in the tangent space at the start of
//! the step, accelerations, and rates of activations. So
//!
//!   k̄ᵢ = bᵢ·(mean of k)‾ + aᵢ₊₁·h·x̄ᵢ₊₁,   x̄ᵢ = (∂k/∂x)ᵀ·k̄ᵢ,   x̄₀ += x̄ᵢ                             (1)

use super::backward::{
    Evaluation, MovedBar, MovedBy, Retraced, positions_and_activations, take_back_records,
};
use super::rates::{Rates, add_scaled, dot, place, place_vjp};
use super::runge_kutta::{STAGE, WEIGHT, rotation_vector_rate, tangent_rates};
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
    rates: Vec<Rates>,
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

impl Work {
    /// Room for the steps of a model.
    pub(super) fn new(model: &Model) -> Self {
        let zeros = Rates::zeros(model.counts());
        Self {
            rates: vec![zeros.clone(); WEIGHT.len()],
            mean: zeros.clone(),
            mean_bar: zeros.clone(),
            stage_bar: zeros.clone(),
            before_bar: zeros,
            start: StateBar::zeros(model),
            later: DataBar::zeros(model),
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
    let mut is_unique = true;
    for (stage, Evaluation { state, data }) in evaluations.iter_mut().enumerate() {
        let (done, rest) = work.rates.split_at_mut(stage);
        let rates = &mut rest[0];
        state.copy_from(start);
        if let Some(before) = done.last() {
            let reach = h * STAGE[stage - 1];
            place(model, start, before, reach, state);
            state.time = start.time + reach;
            rates.position.copy_from_slice(&before.position);
            tangent_rates(model, &state.qvel, reach, &mut rates.position);
        } else {
            rates.position.copy_from_slice(&start.qvel);
        }
        dynamics::forward(model, state, input, data);
        rates.read(data);
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
    work.mean.combine(&WEIGHT, &work.rates);
    work.mean_bar.clear();
    work.stage_bar.clear();
    let moved_by = MovedBy {
        rate: &work.mean.position,
        activation_dot: &work.mean.activation,
    };
    let moved_bar = MovedBar {
        rate: &mut work.mean_bar.position,
        activation_dot: &mut work.mean_bar.activation,
    };
    positions_and_activations(at(0), moved_by, next, moved_bar, bar);
    add_scaled(&mut work.mean_bar.velocity, &next.qvel, h);
    bar.input.timestep += dot(&work.mean.velocity, &next.qvel);
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
        add_scaled(&mut data_bar.solve.qacc, &stage_bar.velocity, 1.0);
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
    before_bar.clear();
    let before = &rates[stage - 1];
    let velocity = &evaluations[stage].state.qvel;
    let reach_bar = tangent_rates_vjp(
        model,
        (&before.position, velocity, reach),
        &stage_bar.position,
        (&mut before_bar.position, &mut bar.state.qvel),
    );
    let placed = (&evaluations[0].state, before, reach);
    let placed_bar = place_vjp(model, placed, &bar.state, (before_bar, start));
    bar.state.qpos.fill(0.0);
    reach_bar + placed_bar + bar.state.time
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
