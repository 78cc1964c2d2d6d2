//! Where to search: bounds, scales, and parameters that are held.
//!
//! Methods see a point as scaled coordinates u of the parameters that are free; whoever evaluates sees all parameters x:
//!
//!   xᵢ = sᵢ·uᵢ   (1)
//!
//! clamped to the bounds, so that a coordinate at its bound is the bound to the bit. Derivatives follow by the chain rule,
//! ∂f/∂uᵢ = sᵢ·∂f/∂xᵢ.   (2)

use std::error::Error;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::linalg::Matrix;

/// Parameters with their start, bounds and scales. Parameters whose bounds are equal are held: no method sees them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    start: Vec<f64>,
    bounds: Bounds,
    scale: Vec<f64>,
    free: Vec<usize>,
}

impl Space {
    /// Parameters that start somewhere within bounds. The scale of a parameter is the width of its bounds if it has two,
    /// else the size of its start, else 1.
    pub fn new(start: Vec<f64>, bounds: Bounds) -> Result<Self, SpaceError> {
        check_length("start values", bounds.len(), start.len())?;
        for (parameter, &value) in start.iter().enumerate() {
            let (lower, upper) = (bounds.lower[parameter], bounds.upper[parameter]);
            let inside = value.is_finite() && lower <= value && value <= upper;
            if !inside {
                return Err(SpaceError::Start {
                    parameter,
                    value,
                    lower,
                    upper,
                });
            }
        }
        let scale = (0..start.len())
            .map(|i| {
                let width = bounds.upper[i] - bounds.lower[i];
                if width.is_finite() && width > 0.0 {
                    width
                } else if start[i] != 0.0 {
                    start[i].abs()
                } else {
                    1.0
                }
            })
            .collect();
        let free = (0..start.len())
            .filter(|&i| bounds.lower[i] < bounds.upper[i])
            .collect();
        Ok(Self {
            start,
            bounds,
            scale,
            free,
        })
    }

    /// The same parameters with other scales: by how much each must change to matter about as much as the others.
    pub fn with_scale(mut self, scale: Vec<f64>) -> Result<Self, SpaceError> {
        check_length("scales", self.start.len(), scale.len())?;
        for (parameter, &value) in scale.iter().enumerate() {
            let usable = value.is_finite() && value > 0.0;
            if !usable {
                return Err(SpaceError::Scale { parameter, value });
            }
        }
        self.scale = scale;
        Ok(self)
    }

    /// The same space with one parameter held at a value and the others started elsewhere.
    pub fn hold(&self, parameter: usize, start: &[f64]) -> Result<Self, SpaceError> {
        check_length("start values", self.len(), start.len())?;
        if parameter >= self.len() {
            return Err(SpaceError::Unknown {
                parameter,
                count: self.len(),
            });
        }
        let mut bounds = self.bounds.clone();
        bounds.lower[parameter] = start[parameter];
        bounds.upper[parameter] = start[parameter];
        Self::new(start.to_vec(), bounds)?.with_scale(self.scale.clone())
    }

    /// Number of parameters, free or held.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Parameters that are searched for, as indices of all.
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// Where the search starts.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Bounds of all parameters.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Scales of all parameters.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Scaled coordinates of the start.
    pub fn scaled_start(&self) -> Vec<f64> {
        self.scaled(&self.start)
    }

    /// Scaled coordinates of a point.
    pub fn scaled(&self, point: &[f64]) -> Vec<f64> {
        self.free
            .iter()
            .map(|&i| point[i] / self.scale[i])
            .collect()
    }

    /// Bounds of the scaled coordinates.
    pub fn scaled_bounds(&self) -> Bounds {
        Bounds {
            lower: self.scaled(&self.bounds.lower),
            upper: self.scaled(&self.bounds.upper),
        }
    }

    /// All parameters at scaled coordinates, within the bounds.
    pub fn point(&self, scaled: &[f64]) -> Vec<f64> {
        let mut point = self.start.clone();
        for (&i, &u) in self.free.iter().zip(scaled) {
            point[i] = self.bounds.clamp(i, self.scale[i] * u); // (1)
        }
        point
    }

    /// The gradient by scaled coordinates.
    pub fn scaled_gradient(&self, gradient: &[f64]) -> Vec<f64> {
        self.free
            .iter()
            .map(|&i| self.scale[i] * gradient[i]) // (2)
            .collect()
    }

    /// The Jacobian by scaled coordinates.
    pub fn scaled_jacobian(&self, jacobian: &Matrix) -> Matrix {
        Matrix::from_fn(jacobian.rows(), self.free.len(), |row, column| {
            let i = self.free[column];
            self.scale[i] * jacobian[(row, i)] // (2)
        })
    }

    /// A Jacobian by all parameters from one by scaled coordinates, with zeros for held ones.
    pub fn unscaled_jacobian(&self, scaled: &Matrix) -> Matrix {
        let mut jacobian = Matrix::zeros(scaled.rows(), self.len());
        for (column, &i) in self.free.iter().enumerate() {
            for row in 0..scaled.rows() {
                jacobian[(row, i)] = scaled[(row, column)] / self.scale[i]; // (2)
            }
        }
        jacobian
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), SpaceError> {
    if expected == found {
        return Ok(());
    }
    Err(SpaceError::Lengths {
        what,
        expected,
        found,
    })
}

/// Why parameters cannot be searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum SpaceError {
    /// Lists that must be as long as each other are not.
    Lengths {
        /// The list that has the wrong length.
        what: &'static str,
        /// The length that it should have.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
    /// A lower bound above its upper one, or a bound that is not a number.
    Bounds {
        /// The index of the parameter.
        parameter: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A start outside of the bounds or not finite.
    Start {
        /// The index of the parameter.
        parameter: usize,
        /// Its start.
        value: f64,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A parameter that there is not.
    Unknown {
        /// Its index.
        parameter: usize,
        /// How many there are.
        count: usize,
    },
    /// A scale that is not positive and finite.
    Scale {
        /// The index of the parameter.
        parameter: usize,
        /// Its scale.
        value: f64,
    },
}

impl Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths {
                what,
                expected,
                found,
            } => write!(
                f,
                "{found} {what} for {expected} parameters: give one for each"
            ),
            Self::Bounds {
                parameter,
                lower,
                upper,
            } => write!(
                f,
                "parameter {parameter} has bounds {lower} to {upper}: give a lower bound that is at most the upper one (infinite if there is none)"
            ),
            Self::Start {
                parameter,
                value,
                lower,
                upper,
            } => write!(
                f,
                "parameter {parameter} starts at {value}, outside of {lower} to {upper}: start within the bounds or widen them"
            ),
            Self::Unknown { parameter, count } => {
                write!(
                    f,
                    "there is no parameter {parameter} among {count}: count from 0"
                )
            }
            Self::Scale { parameter, value } => write!(
                f,
                "parameter {parameter} has the scale {value}: give a positive number, by how much it must change to matter"
            ),
        }
    }
}

impl Error for SpaceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let inf = f64::INFINITY;
        let bounds = Bounds::new(vec![0.1, -inf, 5.0, 0.0], vec![0.3, inf, 5.0, inf]).unwrap();
        Space::new(vec![0.3, -200.0, 5.0, 0.0], bounds).unwrap()
    }

    #[test]
    fn held_parameters_are_not_seen_and_bounds_are_met_to_the_bit() {
        let space = space();
        assert_eq!(space.free(), [0, 1, 3]);
        assert_eq!(space.scaled_start(), [0.3 / (0.3 - 0.1), -1.0, 0.0]);
        let upper = space.scaled_bounds().upper()[0];
        assert_eq!(space.point(&[upper, 2.0, 1.0]), [0.3, 400.0, 5.0, 1.0]);
        assert_eq!(space.point(&[9.0, 2.0, -1.0]), [0.3, 400.0, 5.0, 0.0]);
        assert_eq!(space.scaled_gradient(&[1.0; 4]), [0.3 - 0.1, 200.0, 1.0]);
        let jacobian = Matrix::from_rows(&[&[4.0, 2.0, 0.0, 1.0]]);
        let again = space.unscaled_jacobian(&space.scaled_jacobian(&jacobian));
        assert_eq!(again, jacobian);
    }

    #[test]
    fn mistakes_are_named() {
        let nan = f64::NAN;
        let wrong = Bounds::new(vec![0.0, nan], vec![1.0, 1.0]).unwrap_err();
        assert!(wrong.to_string().starts_with("parameter 1 has bounds NaN"));
        let start = Space::new(vec![0.0, nan], Bounds::free(2)).unwrap_err();
        assert!(start.to_string().contains("parameter 1 starts at NaN"));
        let bounds = Bounds::new(vec![1.0], vec![2.0]).unwrap();
        let outside = Space::new(vec![0.5], bounds).unwrap_err();
        assert!(outside.to_string().contains("outside of 1 to 2"));
        let scale = space().with_scale(vec![1.0, 1.0, 1.0, 0.0]).unwrap_err();
        assert!(scale.to_string().contains("parameter 3 has the scale 0"));
        let length = Space::new(vec![0.0], Bounds::free(2)).unwrap_err();
        assert_eq!(
            length.to_string(),
            "1 start values for 2 parameters: give one for each"
        );
    }
}
