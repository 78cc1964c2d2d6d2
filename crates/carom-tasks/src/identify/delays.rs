//! Delays of actuators as ordinary unknowns: histories where the model has none.
//!
//! A delay needs a history of controls, interpolation between its samples so that motions are continuous in it, and a value above zero to begin
//! from. Where the delay of an actuator is free and one of these is missing, the description is given it: linear interpolation, as many
//! samples as the greatest delay takes, and a first value. The calibrated file has them too.

use carom::parameters::Parameters;
use carom::{Error, Model};
use carom_spec::ModelSpec;
use carom_spec::model_spec::{ActuatorSpec, HistorySpec, Interpolation};

use super::{Free, Settings};
use crate::error;

/// The greatest delay that is looked for where no bounds are given (s): buses and controllers of robots take some milliseconds.
const MAX_DELAY: f64 = 0.1;
/// Where the search for a delay begins (s).
const FIRST_DELAY: f64 = 0.01;

/// A question whose actuators can have the delays that are free.
pub(super) struct Delayed {
    pub(super) model: Model,
    pub(super) spec: ModelSpec,
    pub(super) settings: Settings,
}

/// The question with histories where delays are free; none where all is there.
///
/// # Errors
/// When the model with histories cannot be compiled.
pub(super) fn prepared(
    model: &Model,
    spec: &ModelSpec,
    settings: &Settings,
) -> Result<Option<Delayed>, Error> {
    let timestep = model.option.timestep[0];
    let mut everywhere = spec.clone();
    let mut own = spec.clone();
    let mut settings = settings.clone();
    let mut is_changed = false;
    for free in settings.free.iter_mut().filter(|free| is_delay(free)) {
        for actuator in &mut everywhere.actuators {
            give_history(actuator, free, timestep);
        }
        let selected = selected(&compiled(&everywhere)?, free)?;
        for (actuator, is_selected) in own.actuators.iter_mut().zip(selected) {
            is_changed |= is_selected && give_history(actuator, free, timestep);
        }
        free.bounds = free.bounds.or(Some([0.0, MAX_DELAY]));
    }
    if !is_changed {
        return Ok(None);
    }
    Ok(Some(Delayed {
        model: compiled(&own)?,
        spec: own,
        settings,
    }))
}

fn is_delay(free: &Free) -> bool {
    let mut parts = free.selection.selector.split('.');
    parts.next() == Some("actuator") && parts.next_back() == Some("delay")
}

/// Gives an actuator what a free delay needs; whether something was missing.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of samples, which the compiler bounds"
)]
fn give_history(actuator: &mut ActuatorSpec, free: &Free, timestep: f64) -> bool {
    let before = actuator.history;
    if actuator.control_count() != 1 {
        return false;
    }
    let [_, most] = free.bounds.unwrap_or([0.0, MAX_DELAY]);
    let first = free.start.unwrap_or(FIRST_DELAY.min(0.5 * most));
    actuator.history = HistorySpec {
        // One sample more than the delay has steps, and one for the read between two.
        samples: before.samples.max((most / timestep).ceil() as u32 + 2),
        interpolation: match before.interpolation {
            Interpolation::Hold => Interpolation::Linear,
            other => other,
        },
        delay: if before.delay > 0.0 {
            before.delay
        } else {
            first
        },
        ..before
    };
    actuator.history != before
}

/// Which actuators a selection of delays means, of a model in which all can have one.
fn selected(model: &Model, free: &Free) -> Result<Vec<bool>, Error> {
    let parameters = Parameters::new(model, std::slice::from_ref(&free.selection))?;
    let moved: Vec<f64> = parameters
        .theta0()
        .iter()
        .map(|theta| theta + 1e-3)
        .collect();
    let moved = parameters.apply(&moved)?;
    let pairs = moved.actuators.delay.iter().zip(&model.actuators.delay);
    Ok(pairs.map(|(after, before)| after != before).collect())
}

fn compiled(spec: &ModelSpec) -> Result<Model, Error> {
    let (model, diagnostics) = carom::compile::compile(spec);
    model.ok_or_else(|| {
        let why = diagnostics
            .into_iter()
            .find(carom_spec::Diagnostic::is_error);
        let why = why.map_or_else(String::new, |one| one.message);
        error::settings(format!("a model with delays cannot be compiled: {why}"))
    })
}
