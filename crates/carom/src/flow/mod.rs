//! Motion in continuous time, with error control, and gradients that are those of the motion.
//!
//! A fixed step sees a contact at the first step that begins inside of it. The gradient of such a trajectory is the exact
//! derivative of the steps, and mostly not near that of the motion: the time at which the contact begins moves with the
//! state, and the steps do not know. Here steps follow the motion to a tolerance, end where a contact or limit begins or
//! ceases to act, and sensitivities pass there by the jump
//!
//!   δx⁺ = δx⁻ + (f⁺ − f⁻)·(∇g·δx⁻)/(∇g·f⁻)                                           (1)
//!
//! with f the rates before and after, and g the distance that becomes zero.
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
//! # Ok::<(), carom::flow::FlowError>(())
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

use std::fmt;

use crate::laws::admits;
use crate::model::Model;
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

/// How to follow a motion.
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
    /// Most steps in an interval, rejected ones included.
    pub most_steps: usize,
    /// How gradients are computed.
    pub adjoint: Adjoint,
}

impl FlowSettings {
    /// Height of bounces that need not be followed (m): none, but for methods that do not follow every force.
    fn bounce(&self) -> f64 {
        if self.method.tableau().is_extrapolated() {
            BOUNCE * self.tolerances.position.of_step()
        } else {
            0.0
        }
    }

    /// How far contacts may seem to be apart and still act (m).
    fn slack(&self) -> f64 {
        SLACK * self.bounce()
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

/// Why a model has no motion in continuous time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowError(String);

impl fmt::Display for FlowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for FlowError {}

/// The part of the height of bounces that need not be followed by which contacts may seem to be apart.
const SLACK: f64 = 0.2;

/// Bounces no higher than this part of the error of a step need not be followed, where a method does not follow every force.
const BOUNCE: f64 = 0.1;

/// Contacts are seen from this distance on (m), so that a step that ends at one can tell on which side it ended.
const SIGHT: f64 = 1e-6;

/// A model, made ready to be followed in continuous time.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The model, its constraints solved to rounding, its contacts seen from a distance.
    model: Model,
    settings: FlowSettings,
}

impl Flow {
    /// # Errors
    /// When the model is one of steps and not of continuous time.
    pub fn new(model: &Model, settings: FlowSettings) -> Result<Self, FlowError> {
        let structure = &model.structure;
        let has_history = |list: &[Option<usize>]| list.iter().any(Option::is_some);
        let why = if let Some(why) = admits::continuous_time(&structure.laws) {
            why
        } else if has_history(&structure.actuators.history)
            || has_history(&structure.sensors.history)
        {
            "delayed controls and sensors are sampled in fixed steps; remove 'delay' and 'nsample'"
        } else if settings.method == Method::Implicit && model.surrogate().is_some() {
            "contacts from distance have gradients by explicit methods; choose tsit5"
        } else if settings.method == Method::Implicit && settings.adjoint.is_continuous() {
            "steps that are implicit are read backwards; choose the adjoint 'stored' or 'checkpointed'"
        } else if model.distant().is_some() {
            "contacts from distance in motions are for fixed steps; in gradients they work here too"
        } else {
            let mut model = model.clone();
            solve::tighten(&mut model);
            let sight = SIGHT.max(3.0 * settings.slack());
            for gap in model.geoms.gap.iter_mut().chain(&mut model.pairs.gap) {
                *gap += sight;
            }
            return Ok(Self { model, settings });
        };
        Err(FlowError(why.to_owned()))
    }

    /// The settings.
    pub fn settings(&self) -> &FlowSettings {
        &self.settings
    }
}
