//! Settings of Levenberg–Marquardt.

use serde::{Deserialize, Serialize};

use super::{Loss, Spans};

/// Settings of Levenberg–Marquardt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastSquaresSettings {
    /// How residuals count.
    pub loss: Loss,
    /// Part of the cost that a step must be able to gain.
    pub value_tolerance: f64,
    /// Part of the point that the trust region must span.
    pub step_tolerance: f64,
    /// Cosine between residuals and columns of the Jacobian that counts as a right angle.
    pub gradient_tolerance: f64,
    /// Iterations in all.
    pub iterations: u64,
    /// The first radius in scales of the parameters; infinite for a first step of Gauss–Newton.
    pub first_radius: f64,
    /// Ask for the Jacobian at every trial, not only where a step is taken: one wait less for each step, for those who can
    /// compute in parallel or get Jacobians at little cost.
    pub eager_jacobian: bool,
    /// Where derivatives mislead, continue with secants over these spans; none to end there.
    pub secants: Option<Spans>,
}

impl Default for LeastSquaresSettings {
    fn default() -> Self {
        Self {
            loss: Loss::Squares,
            value_tolerance: 1e-8,
            step_tolerance: 1e-8,
            gradient_tolerance: 1e-8,
            iterations: 1000,
            first_radius: 1.0,
            eager_jacobian: false,
            secants: None,
        }
    }
}
