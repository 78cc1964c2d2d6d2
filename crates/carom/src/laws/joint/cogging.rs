//! Cogging: the torque of magnets and teeth, f = −A·sin(n·q + φ) at the position q.

use crate::laws::law::Law;
use crate::scalar::Scalar;

/// The force over (q, v) with the parameters (A, n, φ).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cogging;

impl Law<2, 3> for Cogging {
    #[inline]
    fn value<T: Scalar>(self, [q, _]: [T; 2], [amplitude, periods, phase]: [T; 3]) -> T {
        -amplitude * (periods * q + phase).sin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_torque_turns_its_sign_from_tooth_to_tooth() {
        let p = [0.2, 6.0, 0.1];
        let tooth = std::f64::consts::PI / 6.0;
        let here = Cogging.value([0.4, 1.0], p);
        let next = Cogging.value([0.4 + tooth, -3.0], p);
        assert!((here + 0.2 * (6.0_f64 * 0.4 + 0.1).sin()).abs() < 1e-15);
        assert!((here + next).abs() < 1e-15);
        let [by_position, by_velocity] = Cogging.by_inputs([0.4, 1.0], p);
        assert!((by_position + 1.2 * (6.0_f64 * 0.4 + 0.1).cos()).abs() < 1e-15);
        assert!(by_velocity.abs() < f64::MIN_POSITIVE);
    }
}
