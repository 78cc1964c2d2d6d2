//! From acceleration to the next state: Euler, implicit, implicitfast and RK4, as MuJoCo's.
//!
//! With h the time step, w the activations, a the acceleration and ⊕ the integration of a tangent on the manifold of
//! configurations,
//!
//!   w ← w + h·ẇ (exact for exact filters),   v ← v + h·â,   q ← q ⊕ h·v                  (1)
//!
//! The integrators differ in the acceleration â:
//! - Euler: (M + h·B)·â = M·a with B the derivative of joint damping; `euler`
//! - implicit, implicitfast: (M − h·∂τ/∂v)·â = M·a with more derivatives; `implicit`
//! - RK4: the weighted mean of four stages, also for v in the update of q; `runge_kutta`
//!
//! Where geoms meet under the impulse law, v changes on the way: [`impact`].

mod activation;
mod backward;
pub(crate) mod coriolis;
pub(crate) mod euler;
pub(crate) mod free_body;
pub(crate) mod impact;
pub(crate) mod implicit;
mod implicit_backward;
mod positions;
mod rates;
pub(crate) mod runge_kutta;
mod runge_kutta_backward;
pub(crate) mod strike;
mod surrogate;
#[cfg(test)]
mod tests;

pub(crate) use backward::Retraced;
pub use positions::{difference, integrate_positions};
pub(crate) use positions::{integrate_positions_vjp, quat_at, vector_at};
pub(crate) use rates::{Rates, add_scaled, dot, place, place_vjp};
pub(crate) use runge_kutta::tangent_rates;
pub(crate) use runge_kutta_backward::tangent_rates_vjp;

use crate::data::Data;
use crate::dynamics;
use crate::history;
use crate::model::{Integrator, Model};
use crate::report::{NotFinite, StepReport};
use crate::scalar::Scalar;
use crate::stages::actuation::ActuatorPlace;
use crate::stages::inertia;
use crate::state::{Input, State};

/// Work area of the integrators.
#[derive(Clone, Debug, PartialEq)]
pub struct Integration<T: Scalar = f64> {
    /// Acceleration that advances the velocity, nv.
    pub acceleration: Vec<T>,
    /// Modified inertia and its factor in the pattern of M.
    pub(crate) matrix: Vec<T>,
    /// Inverse diagonal of the factor, nv.
    diagonal_inverse: Vec<T>,
    /// Stages of the Runge–Kutta method.
    stages: runge_kutta::Stages<T>,
    /// Derivatives for the implicit integrators.
    implicit: implicit::Work<T>,
    /// Impacts within the step, where the model may have some.
    pub impacts: Option<Box<impact::Impacts<T>>>,
    /// Strikes within the step, where the model has a map of collisions.
    pub strikes: Option<Box<strike::Strikes<T>>>,
}

impl<T: Scalar> Integration<T> {
    /// Room for the integrators of a model.
    pub fn new(model: &Model<T>) -> Self {
        let n = model.counts();
        Self {
            acceleration: vec![T::ZERO; n.nv],
            matrix: vec![T::ZERO; n.ninertia],
            diagonal_inverse: vec![T::ZERO; n.nv],
            stages: runge_kutta::Stages::new(model),
            implicit: implicit::Work::new(model),
            impacts: impact::Impacts::new(model),
            strikes: strike::Strikes::new(model),
        }
    }
}

/// Advances the state by one step, of the length that the input gives, with the model's integrator.
///
/// Sensors and energies are those of the state at the start of the step. The report names the first number that is not
/// finite, if there is one.
pub(crate) fn step<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) -> StepReport {
    observe_step(model, state, input, data, &mut ())
}

/// As [`step`], telling an observer when each stage has ended. What RK4 evaluates beyond the first stage of its tableau
/// counts as `integrate`.
pub(crate) fn observe_step<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
    observer: &mut impl dynamics::Observer,
) -> StepReport {
    let given = NotFinite::in_given(model, state, input);
    dynamics::observe_and_sense(model, state, input, data, observer);
    advance(model, state, input, data);
    observer.ended("integrate");
    StepReport::new(model, state, data, given)
}

/// Advances a state for which `data` holds the results of [`dynamics::forward`]; where sensors have histories, those of
/// [`dynamics::forward_and_sense`].
pub(crate) fn advance<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    history::record(model, state, input, &data.sensing.measured);
    if let Some(impacts) = &mut data.integration.impacts {
        impacts.begin(state);
    }
    if let Some(strikes) = strikes_of(data) {
        strikes.begin(model, state);
    }
    match model.settings.integrator {
        Integrator::Euler => euler::accelerate(model, state, data),
        Integrator::Implicit | Integrator::ImplicitFast => implicit::accelerate(model, state, data),
        Integrator::RungeKutta4 => runge_kutta::average(model, state, input, data),
    }
    state.warmstart.copy_from_slice(&data.solve.qacc);
    update_state(model, state, data);
    if let Some(impacts) = &mut data.integration.impacts {
        impacts.pass(model, state, input.timestep);
    }
    if let Some(strikes) = strikes_of(data) {
        strikes.pass(model, state, input.timestep);
    }
}

/// The strikes of a step in which the map of collisions is asked.
fn strikes_of<T: Scalar>(data: &mut Data<T>) -> Option<&mut strike::Strikes<T>> {
    let is_mapped = data.collision.is_mapped;
    (data.integration.strikes.as_deref_mut()).filter(|_| is_mapped)
}

/// product ← (M − h·D)·vector, where the integrator of the model solves (M − h·D)·â = τ for the acceleration of a step.
///
/// `data` holds position and velocity stages; the derivatives of actuator forces are those of its actuation stage.
pub(crate) fn multiply_step_inertia<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    vector: &[T],
    data: &mut Data<T>,
    product: &mut [T],
) {
    match model.settings.integrator {
        Integrator::Euler => euler::multiply(model, state, vector, data, product),
        Integrator::Implicit | Integrator::ImplicitFast => {
            implicit::multiply(model, state, vector, data, product);
        }
        Integrator::RungeKutta4 => inertia::mul(model, &data.inertia, vector, product),
    }
}

/// The update (1): with the acceleration of the step, or with the mean rates of RK4, also of positions.
fn update_state<T: Scalar>(model: &Model<T>, state: &mut State<T>, data: &Data<T>) {
    let (h, place) = (data.timestep, ActuatorPlace::of(data));
    let State {
        qpos, qvel, act, ..
    } = state;
    if model.settings.integrator == Integrator::RungeKutta4 {
        let mean = &data.integration.stages.mean;
        activation::advance(model, act, &mean.activation, place);
        add_scaled(qvel, &mean.velocity, h);
        integrate_positions(model, qpos, &mean.position, h);
    } else {
        activation::advance(model, act, &data.actuation.activation_dot, place);
        add_scaled(qvel, &data.integration.acceleration, h);
        integrate_positions(model, qpos, qvel, h);
    }
    state.time += h;
}
