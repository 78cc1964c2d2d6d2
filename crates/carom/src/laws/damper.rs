//! Dampers of dofs and tendons: f = −v·(d + d₁|v| + d₂v²) at the rate v.

use super::law::{Law, strength, strength_slope};
use crate::scalar::Scalar;

/// The force of a damper over (v) with the parameters (d, d₁, d₂).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damper;

impl Law<1, 3> for Damper {
    #[inline]
    fn value<T: Scalar>(self, [v]: [T; 1], p: [T; 3]) -> T {
        -v * strength(p, v.abs())
    }

    #[inline]
    fn by_inputs(self, [v]: [f64; 1], p: [f64; 3]) -> [f64; 1] {
        [-strength_slope(p, v.abs())]
    }

    #[inline]
    fn by_parameters(self, [v]: [f64; 1], _: [f64; 3]) -> [f64; 3] {
        [-v, -v * v.abs(), -v * v * v]
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, [v]: [T; 1], [linear, quadratic, cubic]: [T; 3]) -> T {
        -(linear + quadratic * v.abs() * 2.0 + cubic * v * v * 3.0)
    }

    #[inline]
    fn rate_derivative_by_inputs(self, [v]: [f64; 1], [_, quadratic, cubic]: [f64; 3]) -> [f64; 1] {
        // |v| has no derivative at rest; it is taken as zero.
        let sign = if v == 0.0 { 0.0 } else { v.signum() };
        [-(2.0 * quadratic * sign + 6.0 * cubic * v)]
    }

    #[inline]
    fn rate_derivative_by_parameters(self, [v]: [f64; 1], _: [f64; 3]) -> [f64; 3] {
        [-1.0, -2.0 * v.abs(), -3.0 * v * v]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::law::check;

    #[test]
    fn what_is_written_out_agrees_with_dual_numbers() {
        for v in [-1.7, -0.2, 0.0, 0.4, 3.0] {
            check::gradients_agree(Damper, [v], [0.7, 0.3, 1.1]);
            check::rate_derivative_is_by_input(Damper, 0, [v], [0.7, 0.3, 1.1]);
        }
    }
}
