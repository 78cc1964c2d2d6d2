//! The engine over plain numbers, compiled once.
//!
//! [`dynamics`] and the integrators work over any [`Scalar`](crate::scalar::Scalar), and what is generic is compiled anew
//! by every crate that calls it. These are the same functions over `f64`, compiled with this crate: what only simulates
//! calls them and builds in a fraction of the time.

use crate::data::Data;
use crate::dynamics::{self, Observer};
use crate::integrate;
use crate::model::Model;
use crate::report::StepReport;
use crate::stages::kinematics::{self, Kinematics};
use crate::stages::tendon;
use crate::state::{Input, State};

/// Frames of bodies, geoms and sites: the first stage.
pub fn forward_kinematics(model: &Model, state: &State, kinematics: &mut Kinematics) {
    kinematics::forward(model, state, kinematics);
}

/// Frames of bodies, geoms and sites, and lengths of tendons: the first stages of [`dynamics::forward_position`].
pub fn forward_frames(model: &Model, state: &State, data: &mut Data) {
    kinematics::forward(model, state, &mut data.kinematics);
    tendon::forward(model, state, &data.kinematics, &mut data.tendon);
}

/// Everything that depends on configuration and velocity: [`dynamics::forward_position`] and
/// [`dynamics::forward_velocity`].
pub fn forward_motion(model: &Model, state: &State, data: &mut Data) {
    dynamics::forward_position(model, state, data);
    dynamics::forward_velocity(model, state, data);
}

/// From state and input to acceleration: [`dynamics::forward`].
pub fn forward(model: &Model, state: &State, input: &Input, data: &mut Data) {
    dynamics::forward(model, state, input, data);
}

/// From state and input to acceleration, sensors and energies: [`dynamics::forward_and_sense`].
pub fn forward_and_sense(model: &Model, state: &State, input: &Input, data: &mut Data) {
    dynamics::forward_and_sense(model, state, input, data);
}

/// Advances the state by one time step with the model's integrator. Sensors and energies are those of the state at the
/// start of the step. The report names the first number that is not finite, if there is one.
pub fn step(model: &Model, state: &mut State, input: &Input, data: &mut Data) -> StepReport {
    integrate::step(model, state, input, data)
}

/// As [`step`], telling an observer when each stage has ended. What RK4 evaluates beyond the first stage of its tableau counts
/// as `integrate`.
pub fn observe_step(
    model: &Model,
    state: &mut State,
    input: &Input,
    data: &mut Data,
    mut observer: &mut dyn Observer,
) -> StepReport {
    integrate::observe_step(model, state, input, data, &mut observer)
}
