//! Bounds of parameters.

use serde::{Deserialize, Serialize};

use crate::space::SpaceError;

/// Least and greatest values, one pair for each parameter; infinite where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Bounds {
    /// Bounds from two lists of the same length. Equal bounds hold a parameter.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, SpaceError> {
        if lower.len() != upper.len() {
            return Err(SpaceError::Lengths {
                what: "upper bounds",
                expected: lower.len(),
                found: upper.len(),
            });
        }
        for (parameter, (&low, &high)) in lower.iter().zip(&upper).enumerate() {
            let possible = low <= high && low < f64::INFINITY && high > f64::NEG_INFINITY;
            if !possible {
                return Err(SpaceError::Bounds {
                    parameter,
                    lower: low,
                    upper: high,
                });
            }
        }
        Ok(Self { lower, upper })
    }

    /// No bounds.
    pub fn free(count: usize) -> Self {
        Self {
            lower: vec![f64::NEG_INFINITY; count],
            upper: vec![f64::INFINITY; count],
        }
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// Least values.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Greatest values.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// Whether a parameter has both bounds.
    pub fn is_boxed(&self, parameter: usize) -> bool {
        self.lower[parameter].is_finite() && self.upper[parameter].is_finite()
    }

    /// A value moved into the bounds of its parameter.
    pub fn clamp(&self, parameter: usize, value: f64) -> f64 {
        value.clamp(self.lower[parameter], self.upper[parameter])
    }

    /// Move a point into the bounds.
    pub fn project(&self, point: &mut [f64]) {
        for (parameter, value) in point.iter_mut().enumerate() {
            *value = self.clamp(parameter, *value);
        }
    }

    /// Whether a point lies within the bounds.
    pub fn contains(&self, point: &[f64]) -> bool {
        let limits = self.lower.iter().zip(&self.upper);
        point.len() == self.len()
            && point
                .iter()
                .zip(limits)
                .all(|(value, (low, high))| low <= value && value <= high)
    }

    /// The part of a gradient that a step down it could use: zero where the step would leave the bounds at once.
    /// Its largest entry is the usual measure of convergence, ‖P(x − g) − x‖∞.
    pub fn projected_gradient(&self, point: &[f64], gradient: &[f64]) -> Vec<f64> {
        (0..point.len())
            .map(|i| point[i] - self.clamp(i, point[i] - gradient[i]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_that_push_out_count_nothing() {
        let bounds = Bounds::new(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let projected = bounds.projected_gradient(&[0.0, 0.5], &[2.0, 0.25]);
        assert_eq!(projected, [0.0, 0.25]);
    }
}
