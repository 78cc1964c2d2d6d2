//! Laws of joints, by kind: functions f(x, p) over position and velocity x = (q, v) of a joint that slides or turns.
//!
//! Each is a [`Law`] in a file of its own, listed below. Where they act, and what becomes of their derivatives, is in
//! [`terms::joint_law`](crate::terms::joint_law). Parameters stand one after another in the model, as many as a law has.

mod cogging;
mod stribeck;

use carom_spec::model_spec::JointLawKind;

use super::law::Law;
use crate::scalar::Scalar;
use cogging::Cogging;
use stribeck::Stribeck;

/// Lists the laws, and calls one of them by its kind.
macro_rules! joint_laws {
    ($($law:ident<$count:literal>),* $(,)?) => {
        /// f(x, p).
        #[inline]
        pub(crate) fn value<T: Scalar>(kind: JointLawKind, x: [T; 2], p: &[T]) -> T {
            match kind {
                $( JointLawKind::$law => Law::<2, $count>::value($law, x, gather(p)), )*
            }
        }

        /// ∂f/∂x.
        #[inline]
        pub(crate) fn by_inputs(kind: JointLawKind, x: [f64; 2], p: &[f64]) -> [f64; 2] {
            match kind {
                $( JointLawKind::$law => Law::<2, $count>::by_inputs($law, x, gather(p)), )*
            }
        }

        /// Calls `add(k, ∂f/∂p(k))` for each parameter.
        #[inline]
        pub(crate) fn by_parameters(
            kind: JointLawKind,
            x: [f64; 2],
            p: &[f64],
            add: impl FnMut(usize, f64),
        ) {
            match kind {
                $( JointLawKind::$law => {
                    scatter(Law::<2, $count>::by_parameters($law, x, gather(p)), add);
                } )*
            }
        }

        /// g = ∂f/∂v.
        #[inline]
        pub(crate) fn rate_derivative<T: Scalar>(kind: JointLawKind, x: [T; 2], p: &[T]) -> T {
            match kind {
                $( JointLawKind::$law => {
                    Law::<2, $count>::rate_derivative($law, x, gather(p))
                } )*
            }
        }

        /// ∂g/∂x.
        #[inline]
        pub(crate) fn rate_derivative_by_inputs(
            kind: JointLawKind,
            x: [f64; 2],
            p: &[f64],
        ) -> [f64; 2] {
            match kind {
                $( JointLawKind::$law => {
                    Law::<2, $count>::rate_derivative_by_inputs($law, x, gather(p))
                } )*
            }
        }

        /// Calls `add(k, ∂g/∂p(k))` for each parameter.
        #[inline]
        pub(crate) fn rate_derivative_by_parameters(
            kind: JointLawKind,
            x: [f64; 2],
            p: &[f64],
            add: impl FnMut(usize, f64),
        ) {
            match kind {
                $( JointLawKind::$law => scatter(
                    Law::<2, $count>::rate_derivative_by_parameters($law, x, gather(p)),
                    add,
                ), )*
            }
        }
    };
}

joint_laws! {
    Cogging<3>,
    Stribeck<5>,
}

/// The parameters of a law.
#[inline]
fn gather<T: Scalar, const K: usize>(p: &[T]) -> [T; K] {
    std::array::from_fn(|k| p[k])
}

#[inline]
fn scatter<const K: usize>(slopes: [f64; K], mut add: impl FnMut(usize, f64)) {
    for (k, slope) in slopes.into_iter().enumerate() {
        add(k, slope);
    }
}

#[cfg(test)]
mod tests;
