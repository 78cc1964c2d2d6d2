//! The engine over dual numbers of [`LANES`] directions, compiled once: what [`crate::step`] and its like are for `f64`, for those who need
//! derivatives along directions.

use crate::data::Data;
use crate::dual::Dual;
use crate::error::Error;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::report::StepReport;
use crate::stages::kinematics;
use crate::state::{Input, State};
use crate::{dynamics, integrate};

pub use crate::dual::LANES;

/// A number with its derivatives along the directions.
pub type Varied = Dual<LANES>;

/// The model for θ: [`Parameters::apply`].
///
/// # Errors
/// As there.
pub fn model(parameters: &Parameters, theta: &[Varied]) -> Result<Model<Varied>, Error> {
    parameters.apply(theta)
}

/// The start for θ: [`Parameters::apply_state`].
///
/// # Errors
/// As there.
pub fn start(
    parameters: &Parameters,
    theta: &[Varied],
    start: &State,
) -> Result<State<Varied>, Error> {
    parameters.apply_state(theta, start)
}

/// Frames of bodies, geoms and sites.
pub fn kinematics(model: &Model<Varied>, state: &State<Varied>, data: &mut Data<Varied>) {
    kinematics::forward(model, state, &mut data.kinematics);
}

/// From state and input to acceleration, sensors and energies: [`dynamics::forward_and_sense`].
pub fn forward_and_sense(
    model: &Model<Varied>,
    state: &State<Varied>,
    input: &Input<Varied>,
    data: &mut Data<Varied>,
) {
    dynamics::forward_and_sense(model, state, input, data);
}

/// Advances the state by one time step with the model's integrator, as [`crate::step`].
pub fn step(
    model: &Model<Varied>,
    state: &mut State<Varied>,
    input: &Input<Varied>,
    data: &mut Data<Varied>,
) -> StepReport {
    integrate::step(model, state, input, data)
}

/// Memory for the results of all stages: [`Data::new`].
pub fn data(model: &Model<Varied>) -> Data<Varied> {
    Data::new(model)
}
