//! The adjoint of a step.
//!
//! With x̄⁺ the cotangents of the next state, the update (1) of the module passes back
//!
//!   v̄ = v̄⁺ + (∂(q ⊕ h·v⁺)/∂v⁺)ᵀ·q̄⁺,   â̄ = h·v̄,   q̄ = (∂(q ⊕ h·v⁺)/∂q)ᵀ·q̄⁺                    (1̄)
//!
//! From â̄ each integrator goes on to forces and inertia, and the stages read upwards do the rest. Where a model has a
//! surrogate for its gradients (contacts from distance), those stages are the surrogate's, at the same states.

use std::mem::take;

use super::impact::ImpactAdjoint;
use super::positions::integrate_positions_vjp;
use super::rates::dot;
use super::strike::StrikeAdjoint;
use super::surrogate::{Followed, linearized};
use super::{activation, advance, euler, implicit_backward, runge_kutta_backward};
use crate::cotangent::{Cotangents, StateBar};
use crate::data::Data;
use crate::dynamics::{self, At, backward::Observer};
use crate::history;
use crate::model::{Integrator, Model};
use crate::stages::actuation::{ActuatorPlace, ServoBar};
use crate::stages::sensing;
use crate::state::{Input, State};

/// A step computed again for its backward pass, and room for that.
#[derive(Clone, Debug)]
pub(crate) struct Retraced {
    /// Where the integrator evaluated the dynamics: once, or four times for RK4.
    pub(super) evaluations: Vec<Evaluation>,
    /// The state after the step.
    pub(super) end: State,
    /// Whether sensors were computed again.
    pub(super) senses: bool,
    /// Cotangent of the acceleration â, nv.
    pub(super) acceleration_bar: Vec<f64>,
    /// Cotangent of the velocity with which positions move, nv.
    pub(super) rate_bar: Vec<f64>,
    /// Work area of the implicit integrators.
    pub(super) implicit: Option<implicit_backward::Work>,
    /// Work area of RK4.
    pub(super) stages: runge_kutta_backward::Work,
    /// The system whose derivatives stand for those of the model, if it is another one.
    pub(super) surrogate: Option<Box<Followed>>,
    /// Work area of impacts, where the model may have some.
    impacts: Option<Box<ImpactAdjoint>>,
    /// Work area of strikes, where the model has a map of collisions.
    strikes: Option<Box<StrikeAdjoint>>,
}

/// One evaluation of the dynamics.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    pub(super) state: State,
    pub(super) data: Data,
}

impl Retraced {
    /// Room for the steps of a model.
    pub(crate) fn new(model: &Model) -> Self {
        let nv = model.counts().nv;
        let evaluation = Evaluation {
            state: State::reference(model),
            data: Data::new(model),
        };
        let count = match model.settings.integrator {
            Integrator::RungeKutta4 => 4,
            _ => 1,
        };
        let end = evaluation.state.clone();
        let evaluations = vec![evaluation; count];
        Self {
            end,
            senses: false,
            surrogate: Followed::new(model, &evaluations),
            evaluations,
            acceleration_bar: vec![0.0; nv],
            rate_bar: vec![0.0; nv],
            implicit: implicit_backward::Work::new(model),
            stages: runge_kutta_backward::Work::new(model),
            impacts: ImpactAdjoint::new(model),
            strikes: StrikeAdjoint::new(model),
        }
    }

    /// Results at the start of the step: those that derivatives are taken of.
    pub(crate) fn data(&self) -> &Data {
        let other = self.surrogate.as_deref().and_then(Followed::first);
        other.unwrap_or(&self.evaluations[0].data)
    }

    /// Computes a step again.
    ///
    /// `acceleration` is what the solver found in it: the warm start of the state after the step. Returns whether the equations of the solver have a unique solution, without which there is no derivative.
    pub(crate) fn retrace(
        &mut self,
        model: &Model,
        state: &State,
        input: &Input,
        acceleration: &[f64],
    ) -> bool {
        self.end.copy_from(state);
        self.senses = sensors_are_recorded(model);
        let is_unique = if model.settings.integrator == Integrator::RungeKutta4 {
            runge_kutta_backward::retrace(model, input, self)
        } else {
            let Evaluation { state, data } = &mut self.evaluations[0];
            state.copy_from(&self.end);
            let is_unique = dynamics::retrace(model, state, input, acceleration, data);
            if self.senses {
                dynamics::sense(model, state, input, data);
            }
            advance(model, &mut self.end, input, data);
            is_unique
        };
        let Some(surrogate) = &mut self.surrogate else {
            return is_unique;
        };
        let Some(is_unique) = surrogate.follow(&self.evaluations, input) else {
            return is_unique;
        };
        if std::mem::take(&mut self.senses) {
            self.sense(model, input);
        }
        is_unique
    }

    /// Computes sensors and energies of the retraced step again, for cotangents of theirs.
    pub(crate) fn sense(&mut self, model: &Model, input: &Input) {
        if std::mem::replace(&mut self.senses, true) {
            return;
        }
        let own = &mut self.evaluations[0];
        let other = self.surrogate.as_deref_mut().and_then(Followed::first_mut);
        let (model, Evaluation { state, data }) = other.unwrap_or((model, own));
        dynamics::sense(model, state, input, data);
    }

    /// The adjoint of the step that was retraced last.
    ///
    /// `next` holds the cotangents of the next state. Those of results at the start of the step (forces, …, and sensors
    /// after [`sense`](Self::sense)) are in `bar.data`, begun with [`start`](crate::cotangent::DataBar::start) for [`Self::data`]. `bar.state` receives the
    /// cotangents of the state before the step; those of input and model are added to.
    pub(crate) fn backward(
        &mut self,
        model: &Model,
        input: &Input,
        next: &StateBar,
        bar: &mut Cotangents,
    ) {
        self.observe_backward(model, input, next, bar, &mut ());
    }

    /// [`Self::backward`] with an observer.
    pub(crate) fn observe_backward(
        &mut self,
        model: &Model,
        input: &Input,
        next: &StateBar,
        bar: &mut Cotangents,
        observer: &mut dyn Observer,
    ) {
        bar.state.set_zero();
        if model.settings.integrator == Integrator::RungeKutta4 {
            runge_kutta_backward::backward(model, input, self, next, bar, observer);
            return;
        }
        let Self {
            evaluations,
            end,
            acceleration_bar,
            rate_bar,
            implicit,
            surrogate,
            senses,
            impacts,
            strikes,
            ..
        } = self;
        let Evaluation { state, data } = &evaluations[0];
        let at = At {
            model,
            state,
            input,
            data,
        };
        let met = (data.integration.impacts.as_deref()).filter(|met| !met.is_quiet());
        let next = match (impacts, met) {
            (Some(adjoint), Some(met)) => adjoint.backward(at, end, met, next, bar),
            _ => next,
        };
        let asked = (data.integration.strikes.as_deref()).filter(|_| data.collision.is_mapped);
        let next = match (strikes, asked) {
            (Some(adjoint), Some(asked)) => {
                adjoint.backward(model, asked, input.timestep, next, bar)
            }
            (Some(_), None) => {
                StrikeAdjoint::keep_memory(model, next, bar);
                next
            }
            _ => next,
        };
        rate_bar.copy_from_slice(&next.qvel);
        let mut activation_bar = take(&mut bar.data.actuation.activation_dot);
        let moved_by = MovedBy {
            rate: &end.qvel,
            activation_dot: &data.actuation.activation_dot,
        };
        let moved_bar = MovedBar {
            rate: rate_bar,
            activation_dot: &mut activation_bar,
        };
        positions_and_activations(at, moved_by, next, moved_bar, bar);
        bar.data.actuation.activation_dot = activation_bar;
        let moved = at;
        let at = linearized(surrogate.as_deref(), at, 0);
        take_back_records(at, bar);
        let h = input.timestep;
        for (dof, &rate_bar) in rate_bar.iter().enumerate() {
            bar.state.qvel[dof] += rate_bar;
            acceleration_bar[dof] = h * rate_bar;
        }
        let acceleration = match implicit {
            Some(work) => implicit_backward::backward(at, acceleration_bar, work, bar),
            None => euler::backward(at, acceleration_bar, bar),
        };
        bar.input.timestep += if surrogate.is_some() {
            // The velocity grew by what the model, not its surrogate, found.
            let growth = |dof: usize| (end.qvel[dof] - moved.state.qvel[dof]) / h;
            let products = rate_bar.iter().enumerate();
            products.map(|(dof, bar)| bar * growth(dof)).sum()
        } else {
            dot(rate_bar, acceleration)
        };
        if *senses {
            sensing::backward(at, bar);
        }
        dynamics::backward::observe_backward(at, bar, observer);
    }
}

/// Whether steps write sensor values into the state.
fn sensors_are_recorded(model: &Model) -> bool {
    model.structure.sensors.history.iter().any(Option::is_some)
}

/// From the histories after a step, whose cotangents are in `bar.state`, to those before it and what was recorded.
pub(super) fn take_back_records(at: At<'_>, bar: &mut Cotangents) {
    if !at.state.history.is_empty() {
        let recorded = (&mut bar.input.ctrl[..], &mut bar.data.sensing.measured[..]);
        history::record_vjp(at.model, at.state, &mut bar.state, recorded);
    }
}

/// The rates with which positions and activations moved over a step.
#[derive(Clone, Copy)]
pub(super) struct MovedBy<'a> {
    pub(super) rate: &'a [f64],
    pub(super) activation_dot: &'a [f64],
}

/// Their cotangents.
pub(super) struct MovedBar<'a> {
    pub(super) rate: &'a mut [f64],
    pub(super) activation_dot: &'a mut [f64],
}

/// The part of (1̄) that does not pass through the acceleration: positions and activations that moved with some rates from
/// the state; and what a step leaves alone. Histories are those after it.
pub(super) fn positions_and_activations(
    at: At<'_>,
    moved_by: MovedBy<'_>,
    next: &StateBar,
    moved_bar: MovedBar<'_>,
    bar: &mut Cotangents,
) {
    let (model, state) = (at.model, at.state);
    let h = at.input.timestep;
    let MovedBy {
        rate,
        activation_dot,
    } = moved_by;
    let MovedBar {
        rate: rate_bar,
        activation_dot: activation_dot_bar,
    } = moved_bar;
    let state_bar = &mut bar.state;
    let qpos_bar = (&next.qpos[..], &mut state_bar.qpos[..]);
    let mut h_bar = integrate_positions_vjp(model, &state.qpos, (rate, h), qpos_bar, rate_bar);
    let from = activation::From {
        model,
        act: &state.act,
        activation_dot,
        place: ActuatorPlace {
            transmission: &at.data.transmission,
            velocity: &at.data.velocity,
            timestep: h,
        },
    };
    let targets = ServoBar {
        model: &mut bar.model,
        act: &mut state_bar.act,
        activation_dot: activation_dot_bar,
        velocity: &mut bar.data.velocity.actuator,
        // The states of a step advance without looking at these.
        length: &mut [],
        control: &mut [],
    };
    h_bar += activation::advance_vjp(from, &next.act, targets);
    bar.input.timestep += h_bar + next.time;
    state_bar.time += next.time;
    state_bar.add_given(next);
}
