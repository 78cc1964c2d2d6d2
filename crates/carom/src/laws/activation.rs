//! Activation dynamics: how fast an activation w follows its control, and where it is after a step.
//!
//!   integrator: ẇ = u        filter: ẇ = (u − w)/τ        [muscle](super::muscle): a filter whose τ depends on w and on u − w
//!
//!   w⁺ = w + ẇ·h,   for exact filters w + ẇ·τ·(1 − e^(−h/τ)),   held within its range

use super::law::Law;
use super::muscle::activation_rate;
use crate::math::MIN_LENGTH;
use crate::model::ActuatorDynamics;
use crate::scalar::Scalar;

/// ẇ over (u, w), with the first three parameters of the dynamics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivationRate(pub(crate) ActuatorDynamics);

/// Time constant of a filter.
#[inline]
fn time_constant<T: Scalar>(given: T) -> T {
    given.max(T::from(MIN_LENGTH))
}

impl Law<2, 3> for ActivationRate {
    #[inline]
    fn value<T: Scalar>(self, [control, activation]: [T; 2], p: [T; 3]) -> T {
        match self.0 {
            ActuatorDynamics::Integrator => control,
            ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => {
                (control - activation) / time_constant(p[0])
            }
            ActuatorDynamics::Muscle => activation_rate(control, activation, p),
            // Motors and servos with set points have laws of their own.
            ActuatorDynamics::None
            | ActuatorDynamics::User
            | ActuatorDynamics::DcMotor
            | ActuatorDynamics::Pid => T::ZERO,
        }
    }
}

/// w⁺ over (w, ẇ, h), with the time constant and the range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextActivation {
    pub(crate) is_exact: bool,
    pub(crate) is_limited: bool,
}

impl Law<3, 3> for NextActivation {
    #[inline]
    fn value<T: Scalar>(self, [activation, rate, h]: [T; 3], [tau, low, high]: [T; 3]) -> T {
        let duration = if self.is_exact {
            let tau = time_constant(tau);
            tau * (-(-h / tau).exp() + 1.0)
        } else {
            h
        };
        let next = activation + rate * duration;
        if self.is_limited {
            next.clamp(low, high)
        } else {
            next
        }
    }
}
