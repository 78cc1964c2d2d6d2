//! How long the next step may be.

/// Allowed error of a step: `absolute` and `relative` to the size of the quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In units of the quantity.
    pub absolute: f64,
    /// As a fraction of the quantity.
    pub relative: f64,
}

/// The fraction of a tolerance that one step may use: errors of hundreds of steps add up, and contacts magnify them.
const STEP_SHARE_OF_TOLERANCE: f64 = 0.1;

impl Tolerance {
    /// The same absolute and relative tolerance.
    pub fn both(tolerance: f64) -> Self {
        Self {
            absolute: tolerance,
            relative: tolerance,
        }
    }

    /// The absolute error that a step may make.
    pub(super) fn of_step(self) -> f64 {
        STEP_SHARE_OF_TOLERANCE * self.absolute
    }

    /// An error in units of what a step may make of a quantity between two values.
    pub(super) fn measure(self, error: f64, before: f64, after: f64) -> f64 {
        let allowed = self.absolute + self.relative * before.abs().max(after.abs());
        error.abs() / (STEP_SHARE_OF_TOLERANCE * allowed)
    }
}

/// A controller of the logarithm of the step [Soderlind 2003]: with ε the errors of this and the last two accepted steps in
/// units of what is allowed and k the order of their estimate,
///
///   h ← h·s·ε₀^(−(p + i + d)/k)·ε₁^((p + 2·d)/k)·ε₂^(−d/k)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepControl {
    /// p, i and d.
    pub coefficients: [f64; 3],
    /// s, below one.
    pub safety: f64,
    /// Least and greatest factor from step to step.
    pub factors: [f64; 2],
}

impl Default for StepControl {
    fn default() -> Self {
        Self {
            coefficients: [0.2, 0.4, 0.0],
            safety: 0.9,
            factors: [0.2, 10.0],
        }
    }
}

/// Errors count as at least this, in units of what is allowed: a perfect step must not let the next one grow without bounds.
const MIN_MEASURED_ERROR: f64 = 1e-10;

/// Errors of the last accepted steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct History([f64; 2]);

impl Default for History {
    fn default() -> Self {
        Self([1.0; 2])
    }
}

impl History {
    /// The factor for the step after one with an error, accepted if that is at most one.
    pub(super) fn next_factor(&mut self, control: &StepControl, error: f64, order: f64) -> f64 {
        let [least, greatest] = control.factors;
        if !error.is_finite() {
            return least;
        }
        let [p, i, d] = control.coefficients.map(|coefficient| coefficient / order);
        let error = error.max(MIN_MEASURED_ERROR);
        let Self([last, before]) = *self;
        let factor =
            control.safety * error.powf(-(p + i + d)) * last.powf(p + 2.0 * d) * before.powf(-d);
        // Only accepted steps enter the history; a rejected one must shrink.
        if error <= 1.0 {
            *self = Self([error, last]);
            factor.clamp(least, greatest)
        } else {
            factor.clamp(least, 0.9)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_settle_where_the_error_is_what_is_allowed() {
        // The error of a method of order four, allowed to be 1.
        let error = |h: f64| 1e4 * h.powi(5);
        let (control, mut history) = (StepControl::default(), History::default());
        for start in [1e-6, 10.0] {
            let mut h: f64 = start;
            for _ in 0..60 {
                h *= history.next_factor(&control, error(h), 5.0);
            }
            assert!((0.1..=1.0).contains(&error(h)), "{h} {}", error(h));
        }
    }

    #[test]
    fn a_rejected_step_shrinks() {
        let (control, mut history) = (StepControl::default(), History::default());
        for error in [1.000_001, 10.0, f64::INFINITY, f64::NAN] {
            let factor = history.next_factor(&control, error, 5.0);
            assert!((0.2..=0.9).contains(&factor), "{error}: {factor}");
        }
        assert_eq!(history, History::default());
    }
}
