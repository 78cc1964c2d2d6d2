//! Weights of extrapolation, for steps that are linearly implicit.
//!
//! A step of Euler's method, taken n times over h/n, has an error that is a series in h/n. With n from 1 to 4, sums of the
//! results with weights wₙ = Πₘ n/(n − m) lose its first three terms. The difference to the same with n from 2 to 4 estimates
//! the error [Hairer 1996, §IV.9].

use super::{Extrapolation, Tableau};

/// The columns, and where the sum over them goes: the slope to the end, and that of the error. The rates at both ends follow.
pub(super) const IMPLICIT: Tableau = Tableau {
    stages: &[&[], &[]],
    weights: &[0.0, 1.0, 0.0],
    error: &[0.0, 0.0, 1.0, 0.0],
    error_order: 4,
    extrapolation: &[
        Extrapolation {
            count: 1,
            weight: -1.0 / 6.0,
            error: -1.0 / 6.0,
        },
        Extrapolation {
            count: 2,
            weight: 4.0,
            error: 2.0,
        },
        Extrapolation {
            count: 3,
            weight: -13.5,
            error: -4.5,
        },
        Extrapolation {
            count: 4,
            weight: 32.0 / 3.0,
            error: 8.0 / 3.0,
        },
    ],
};
