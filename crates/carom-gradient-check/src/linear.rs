//! The gradient by state and controls from A and B.

use carom::cotangent::StateBar;
use carom::system::{Reverse, Seen};
use carom::{Dynamics, Model};

use crate::directions::{Direction, Place};

/// Slopes of the loss by configuration, velocity, activations and controls.
pub(super) struct Linear {
    by_state: Vec<f64>,
    by_control: Vec<f64>,
}

impl Linear {
    pub(super) fn new(
        seen: Seen<'_>,
        model: &Model,
        loss: &StateBar,
        reverse: &mut Reverse,
    ) -> Option<Self> {
        // The state that A knows of has no past.
        if !seen.state.history.is_empty() {
            return None;
        }
        let mut linear = carom::system::Linear::default();
        model.linearize(seen, &mut linear, reverse).ok()?;
        let (size, nu) = (model.shape().tangent(), model.shape().nu);
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
