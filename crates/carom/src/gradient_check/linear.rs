//! The gradient by state and controls from A and B.

use super::directions::{Direction, Given, Place};
use crate::cotangent::StateBar;
use crate::data::Data;
use crate::dynamics;
use crate::linearize::{self, Linearization};

/// Slopes of the loss by configuration, velocity, activations and controls.
pub(super) struct Linear {
    by_state: Vec<f64>,
    by_control: Vec<f64>,
}

impl Linear {
    #[inline]
    pub(super) fn new(given: Given<'_>, loss: &StateBar) -> Option<Self> {
        let Given {
            model,
            state,
            input,
        } = given;
        // The state that A knows of has no past.
        if !state.history.is_empty() {
            return None;
        }
        let mut data = Data::new(model);
        dynamics::forward(model, state, input, &mut data);
        let mut linear = Linearization::new(model);
        linearize::step(model, state, input, &mut data, &mut linear);
        let (size, nu) = (linear.size(), input.ctrl.len());
        let mut slopes = Self {
            by_state: vec![0.0; size],
            by_control: vec![0.0; nu],
        };
        let weights = loss.qpos.iter().chain(&loss.qvel).chain(&loss.act);
        for (row, weight) in weights.enumerate() {
            for (slope, entry) in slopes.by_state.iter_mut().zip(&linear.a[row * size..]) {
                *slope += weight * entry;
            }
            for (slope, entry) in slopes.by_control.iter_mut().zip(&linear.b[row * nu..]) {
                *slope += weight * entry;
            }
        }
        Some(slopes)
    }

    /// The slope along a direction of state or controls.
    pub(super) fn along(&self, direction: &Direction) -> Option<f64> {
        let nv = direction.tangent.len();
        let part = match direction.place {
            Place::Qpos => &self.by_state[..nv],
            Place::Qvel => &self.by_state[nv..2 * nv],
            Place::Activation => &self.by_state[self.by_state.len() - nv..],
            Place::Control => &self.by_control,
            _ => return None,
        };
        let products = part.iter().zip(&direction.tangent);
        Some(products.map(|(slope, tangent)| slope * tangent).sum())
    }
}
