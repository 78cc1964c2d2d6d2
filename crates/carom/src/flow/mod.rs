//! Motion in continuous time, with error control, and gradients that are those of the motion.
//!
//! A fixed step sees a contact at the first step that begins inside of it. The gradient of such a trajectory is the exact
//! derivative of the steps. It is mostly not close to that of the motion, because it does not include the derivative of the
//! contact time. Here steps integrate the motion to a tolerance and end where a contact or limit begins or ceases to act.
//! Sensitivities jump there (saltation):
//!
//!   δx⁺ = δx⁻ + (f⁺ − f⁻)·(∇g·δx⁻)/(∇g·f⁻)                                           (1)
//!
//! with f the rates before and after, and g the distance that becomes zero.
//!
//! Words of this folder, with those of the literature on hybrid systems:
//!
//! | here | elsewhere |
//! |---|---|
//! | gauge g of a switch | guard, event function |
//! | switch | event that changes the mode |
//! | mode | discrete state: the contacts and limits that act |
//! | kink | event at which forces are continuous, but not smooth |
//! | regime | mode together with the smooth piece of every law |
//! | onset | a switch that was passed, with its saltation |
//! | hold | Filippov sliding on the surface of a contact |
//! | slope | weighted sum of the rates kᵢ of a Runge–Kutta step |
//! | cut | a step that ends at an event within it, by dense output |
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/cube.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom::flow::{Flow, FlowSettings};
//! use carom::rollout::Controls;
//! use carom::State;
//!
//! let flow = Flow::new(&model, FlowSettings::default())?;
//! let motion = flow.run(&State::reference(&model), &Controls::Zero, 0.5, 1);
//! println!("{} steps, {} onsets: {}", motion.steps(), motion.onsets().len(), motion.status());
//! # Ok::<(), carom::Error>(())
//! ```

mod adjoint;
mod backward;
mod control;
mod dense;
mod event;
mod forward;
mod hold;
mod implicit;
mod mode;
mod motion;
mod onset;
mod pieces;
mod replay;
mod sample;
mod stepper;
mod tableau;
#[cfg(test)]
mod tests;

pub use adjoint::Adjoint;
pub use control::{StepControl, Tolerance};
pub use forward::Variation;
pub use mode::Switch;
pub use motion::{Motion, Onset, Status};
pub use tableau::{Extrapolation, Method, Tableau};

use crate::error::{Error, ErrorKind};
use crate::laws::admits;
use crate::model::{GainKind, Model};
use crate::stages::solve;

/// Allowed errors of a step, by kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Of positions (m, rad).
    pub position: Tolerance,
    /// Of velocities.
    pub velocity: Tolerance,
    /// Of activations.
    pub activation: Tolerance,
}

impl Tolerances {
    /// One tolerance for all.
    pub fn all(tolerance: f64) -> Self {
        let tolerance = Tolerance::both(tolerance);
        Self {
            position: tolerance,
            velocity: tolerance,
            activation: tolerance,
        }
    }
}

/// How to integrate a motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSettings {
    /// The method.
    pub method: Method,
    /// Allowed errors of a step.
    pub tolerances: Tolerances,
    /// How step lengths are chosen.
    pub control: StepControl,
    /// Longest step (s).
    pub longest_step: f64,
    /// Maximum of steps in an interval, rejected ones included.
    pub most_steps: usize,
    /// How gradients are computed.
    pub adjoint: Adjoint,
}

impl FlowSettings {
    /// Height of bounces that need not be resolved (m): zero, except for methods that do not resolve every force.
    fn bounce(&self) -> f64 {
        if self.method.tableau().is_extrapolated() {
            BOUNCE_PER_STEP_ERROR * self.tolerances.position.of_step()
        } else {
            0.0
        }
    }

    /// How far contacts may seem to be apart and still act (m).
    fn slack(&self) -> f64 {
        SLACK_PER_BOUNCE * self.bounce()
    }
}

impl Default for FlowSettings {
    fn default() -> Self {
        Self {
            method: Method::Tsit5,
            tolerances: Tolerances::all(1e-7),
            control: StepControl::default(),
            longest_step: 0.05,
            most_steps: 100_000,
            adjoint: Adjoint::Stored,
        }
    }
}

/// How far contacts may seem to be apart and still act, per height of the bounces that need not be resolved.
const SLACK_PER_BOUNCE: f64 = 0.2;

/// Height of the bounces that need not be resolved, per position error of a step; for methods that do not resolve every force.
const BOUNCE_PER_STEP_ERROR: f64 = 0.1;

/// Contacts are seen from this distance on (m), so that a step that ends at one knows on which side it ended.
const SIGHT_DISTANCE: f64 = 1e-6;

/// A model, made ready for continuous time.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The model, its constraints solved to rounding, its contacts seen from a distance.
    model: Model,
    settings: FlowSettings,
}

impl Flow {
    /// # Errors
    /// When the model is one of steps and not of continuous time.
    pub fn new(model: &Model, settings: FlowSettings) -> Result<Self, Error> {
        let structure = &model.structure;
        let has_history = |list: &[Option<usize>]| list.iter().any(Option::is_some);
        let why = if let Some(why) = admits::continuous_time(&structure.laws) {
            why
        } else if model.strike.is_some() {
            "maps of collisions move bodies in fixed steps; use those (--integrator fixed)"
        } else if has_history(&structure.actuators.history)
            || has_history(&structure.sensors.history)
        {
            "delayed controls and sensors are sampled in fixed steps; remove 'delay' and 'nsample'"
        } else if (structure.actuators.gain.iter())
            .any(|kind| matches!(kind, GainKind::DcMotor | GainKind::Pid | GainKind::So3))
        {
            "dcmotor, pid and orientation actuators are for fixed steps; use those (--integrator fixed)"
        } else if settings.method == Method::Implicit && model.surrogate().is_some() {
            "contacts from distance have gradients by explicit methods; choose tsit5"
        } else if settings.method == Method::Implicit && settings.adjoint.is_continuous() {
            "steps that are implicit are read backwards; choose the adjoint 'stored' or 'checkpointed'"
        } else if model.distant().is_some() {
            "contacts from distance in motions are for fixed steps; in gradients they work here too"
        } else {
            // Events are located to rounding, so solve constraints to rounding and see contacts before they touch.
            let mut model = model.clone();
            solve::tighten(&mut model);
            let sight = SIGHT_DISTANCE.max(3.0 * settings.slack());
            for gap in model.geoms.gap.iter_mut().chain(&mut model.pairs.gap) {
                *gap += sight;
            }
            return Ok(Self { model, settings });
        };
        Err(Error::new(ErrorKind::Unsupported, why))
    }

    /// The model, its constraints solved to rounding, its contacts seen from a distance.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// The settings.
    pub fn settings(&self) -> &FlowSettings {
        &self.settings
    }
}
