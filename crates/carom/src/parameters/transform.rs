//! Transforms from a free number θ to a number x of the model.

use super::error::ParameterProblem;
use crate::error::Error;
use crate::scalar::Scalar;

/// Width of the soft edges of bounds, as a share of the interval.
const EDGE: f64 = 0.1;
/// Below this the logarithm of 1 + e is a short series.
const SMALL: f64 = 0.01;

/// How a number x of the model follows from a free number θ.
///
/// | transform | x | range of x |
/// |---|---|---|
/// | identity | θ | all |
/// | log | exp θ | above 0 |
/// | softplus | ln(1 + exp θ) | above 0 |
/// | bounds | l + w·(s((θ − l)/w) − s((θ − h)/w)) | between l and h |
///
/// with s the softplus and w a tenth of h − l: well inside of the bounds the last one is close to the identity, so θ can
/// be read as x. A scale c makes c·x of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Transform {
    /// The number itself.
    #[default]
    Identity,
    /// Its logarithm: steps are relative, and the number stays positive.
    Log,
    /// Its inverse softplus: steps are absolute for large numbers, and the number stays positive.
    Softplus,
    /// A soft clip: the number stays between two bounds.
    Bounds {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
}

/// ln(1 + exp x) without overflow or loss of digits.
fn softplus<T: Scalar>(x: T) -> T {
    if x.value() > 0.0 {
        x + log_one_plus((-x).exp())
    } else {
        log_one_plus(x.exp())
    }
}

/// ln(1 + e) for 0 ≤ e ≤ 1.
fn log_one_plus<T: Scalar>(e: T) -> T {
    if e.value() > SMALL {
        return (e + 1.0).ln();
    }
    // 2·artanh z
    let z = e / (e + 2.0);
    let square = z * z;
    z * (square * (square * (square * (1.0 / 7.0) + 1.0 / 5.0) + 1.0 / 3.0) + 1.0) * 2.0
}

impl Transform {
    /// The number of the model for a free number.
    pub fn apply<T: Scalar>(self, theta: T) -> T {
        match self {
            Self::Identity => theta,
            Self::Log => theta.exp(),
            Self::Softplus => softplus(theta),
            Self::Bounds { low, high } => {
                let width = (high - low) * EDGE;
                let rise = softplus((theta - low) / width);
                let fall = softplus((theta - high) / width);
                // Rounding may lead out of the bounds by a digit.
                ((rise - fall) * width + low).clamp(T::from(low), T::from(high))
            }
        }
    }

    /// The free number for a number of the model.
    ///
    /// # Errors
    ///
    /// When the number is outside of the transform's range.
    pub fn invert(self, x: f64) -> Result<f64, Error> {
        let refuse = |range: &str| {
            let message = format!("{} needs a number {range}, found {x}", self.name());
            Err(ParameterProblem::Value.error(message))
        };
        match self {
            Self::Identity => Ok(x),
            Self::Log if x > 0.0 => Ok(x.ln()),
            // ln(eˣ − 1) = x + ln(1 − e⁻ˣ)
            Self::Softplus if x > 0.0 => Ok(x + (-(-x).exp_m1()).ln()),
            Self::Log | Self::Softplus => refuse("above 0"),
            Self::Bounds { low, high } if low < x && x < high => {
                let width = (high - low) * EDGE;
                let (above, below) = ((x - low) / width, (high - x) / width);
                // ln((e^a − 1)/(1 − e^−b)) with a, b the distances from the bounds
                let rise = above + (-(-above).exp_m1()).ln();
                Ok(low + width * (rise - (-(-below).exp_m1()).ln()))
            }
            Self::Bounds { low, high } => refuse(&format!("between {low} and {high}")),
        }
    }

    /// Its name, as selectors write it.
    pub fn name(self) -> String {
        match self {
            Self::Identity => "identity".to_owned(),
            Self::Log => "log".to_owned(),
            Self::Softplus => "softplus".to_owned(),
            Self::Bounds { low, high } => format!("bounds({low},{high})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;

    const TRANSFORMS: [Transform; 4] = [
        Transform::Identity,
        Transform::Log,
        Transform::Softplus,
        Transform::Bounds {
            low: 0.2,
            high: 60.0,
        },
    ];

    #[test]
    fn inverses_undo_transforms() {
        for transform in TRANSFORMS {
            for x in [0.2 + 1e-9, 0.21, 0.5, 3.0, 40.0, 59.999_999] {
                let theta = transform.invert(x).unwrap();
                let error = (transform.apply(theta) - x).abs();
                assert!(
                    error <= 1e-13 * x.abs().max(1.0),
                    "{transform:?} of {x}: {error}"
                );
            }
        }
        let softplus = Transform::Softplus;
        for x in [1e-12, 1e-6, 1e-3, 700.0, 1e5] {
            let again = softplus.apply(softplus.invert(x).unwrap());
            assert!((again - x).abs() <= 1e-13 * x, "{again} for {x}");
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        for transform in TRANSFORMS {
            for theta in [-30.0, -3.0, -0.1, 0.4, 7.0, 20.0] {
                let slope = transform.apply(Dual::<1>::variable(theta, 0)).tangent[0];
                let step = 1e-5;
                let ends = [theta + step, theta - step].map(|theta| transform.apply(theta));
                let expected = (ends[0] - ends[1]) / (2.0 * step);
                let error = (slope - expected).abs();
                assert!(
                    error <= 1e-7 * expected.abs().max(1e-3),
                    "{transform:?} at {theta}"
                );
            }
        }
    }

    #[test]
    fn bounds_hold_for_any_number() {
        let bounds = Transform::Bounds {
            low: -1.0,
            high: 2.0,
        };
        for theta in [-1e6, -40.0, 0.5, 40.0, 1e6] {
            let x = bounds.apply(theta);
            assert!((-1.0..=2.0).contains(&x), "{x}");
        }
        assert!((bounds.apply(0.5) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let message = Transform::Log.invert(0.0).unwrap_err().to_string();
        assert_eq!(message, "log needs a number above 0, found 0");
        let bounds = Transform::Bounds {
            low: 0.0,
            high: 1.0,
        };
        let message = bounds.invert(1.0).unwrap_err().to_string();
        assert_eq!(
            message,
            "bounds(0,1) needs a number between 0 and 1, found 1"
        );
    }
}
