//! From acceleration to the next state: Euler, implicit, implicitfast and RK4, as MuJoCo's.

use crate::model::Model;
use crate::scalar::Scalar;

/// Work area of the integrators.
#[derive(Clone, Debug, PartialEq)]
pub struct Integration<T: Scalar = f64> {
    /// Velocity or acceleration under construction, nv.
    pub velocity: Vec<T>,
}

impl<T: Scalar> Integration<T> {
    /// Room for the integrator of a model.
    pub fn new(model: &Model<T>) -> Self {
        Self {
            velocity: vec![T::ZERO; model.counts().nv],
        }
    }
}
