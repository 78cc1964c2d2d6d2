//! Base parameters: the combinations of coefficients that motions identify, and what the best of them leaves.
//!
//! Columns of the regressor depend on each other: of the mass of a link that only turns about its own axis, torques know nothing. Householder's
//! factorisation with pivoting W·Y·P = Q·R finds a basis of the columns [Gautier 1991]: as many base parameters as R has diagonal entries
//! above a part of the first. The best of them by weighted least squares [Swevers 1997] need not be physical, so they are
//! no model. What they leave is: no parameters of this form do better, and its root mean square at each joint is what a torque's error
//! is measured in.

use carom_optimise::linalg::{Matrix, Qr, reduce};

use super::Regressor;

/// Columns count as dependent below this part of the first diagonal entry, after all have length one: about what filtered noise makes of
/// columns that depend.
const DEPENDENT: f64 = 1e-6;
/// Columns shorter than this part of the longest are rounding, whatever their units.
const ROUNDING: f64 = 1e-8;
/// Rounds of weights: the first knows no noise.
const WEIGHT_ROUNDS: usize = 3;
/// Torques are not known better than this part of their size: a model without error would have infinite weights.
const MIN_RELATIVE_NOISE: f64 = 1e-6;

/// What base parameters leave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Base {
    /// How many combinations are identified.
    pub(crate) count: usize,
    /// Root mean squares of what is left at each joint (N·m or N).
    pub(crate) noise: Vec<f64>,
}

impl Base {
    /// Base parameters of a regressor.
    pub(crate) fn new(regressor: &Regressor) -> Self {
        let (residuals, matrix) = regressor.at_base();
        let axes = regressor.axes().len();
        let greatest = residuals.iter().fold(1.0_f64, |most, r| most.max(r.abs()));
        let mut noise = vec![1.0; axes];
        let mut count = 0;
        for _ in 0..WEIGHT_ROUNDS {
            let weighted = Matrix::from_fn(matrix.rows(), matrix.columns(), |row, column| {
                matrix[(row, column)] / noise[row % axes]
            });
            let target: Vec<f64> = (residuals.iter().enumerate())
                .map(|(row, residual)| -residual / noise[row % axes])
                .collect();
            let lengths = weighted.column_lengths();
            let longest = lengths
                .iter()
                .fold(f64::MIN_POSITIVE, |most, length| most.max(*length));
            let scales: Vec<f64> = (lengths.iter())
                .map(|length| length.max(ROUNDING * longest))
                .collect();
            // Pivots of the triangle are those of the whole, at a fraction of the work.
            let (triangle, right) = reduce(&weighted, &scales, &target);
            let factors = Qr::new(&triangle);
            count = factors.rank(DEPENDENT);
            let scaled = factors.solve(&right, DEPENDENT).into_iter().zip(&scales);
            let best: Vec<f64> = scaled.map(|(number, scale)| number / scale).collect();
            let changes = matrix.times(&best);
            let left: Vec<f64> = residuals
                .iter()
                .zip(changes)
                .map(|(r, change)| r + change)
                .collect();
            let each = rms_by_axis(&left, axes).into_iter();
            noise = each
                .map(|noise| noise.max(MIN_RELATIVE_NOISE * greatest))
                .collect();
        }
        Self { count, noise }
    }
}

/// Root mean square of each joint.
pub(crate) fn rms_by_axis(residuals: &[f64], axes: usize) -> Vec<f64> {
    let samples = (residuals.len() / axes).max(1) as f64;
    let of = |axis: usize| {
        let own = residuals.iter().skip(axis).step_by(axes);
        (own.map(|r| r * r).sum::<f64>() / samples).sqrt()
    };
    (0..axes).map(of).collect()
}
