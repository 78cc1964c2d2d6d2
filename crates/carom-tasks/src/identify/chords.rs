//! How residuals change over the width of an interval.
//!
//! In fixed steps a contact begins at one step or at the next, and residuals are rough at the scale of such changes: derivatives at
//! a point then do not tell how residuals change over a standard error, and errors that follow from them are wrong, mostly too
//! small. Slopes of chords over one standard error σ to both sides do,
//!
//!   Jᵢⱼ = (rᵢ(x + σⱼ·eⱼ) − rᵢ(x − σⱼ·eⱼ))/2σⱼ
//!
//! and where residuals are smooth they are the derivatives, up to σ².

use carom_optimise::linalg::norm;

use super::task::Task;
use crate::problem::Linear;

impl Task<'_> {
    /// Replaces derivatives by slopes of chords: over the errors of the parameters, and over what the residuals of its own run tell
    /// of each number of a start. A chord that leaves the bounds or cannot be simulated changes nothing.
    pub(super) fn take_chords(&self, x: &[f64], linear: &mut Linear, errors: &[f64], noise: f64) {
        let (count, width) = (linear.parameters, linear.start_width);
        for (column, &error) in errors.iter().enumerate() {
            let mut offsets = vec![0.0; x.len()];
            offsets[column] = error;
            let Some(changes) = self.chord(x, &offsets) else {
                continue;
            };
            let mut changes = changes.into_iter();
            for block in &mut linear.blocks {
                let slopes = changes.by_ref().take(block.rows);
                for (row, change) in slopes.enumerate() {
                    block.by_parameters[row * count + column] = change / (2.0 * error);
                }
            }
        }
        for column in 0..width {
            // A run depends on its own start alone, so that all are moved at once.
            let mut offsets = vec![0.0; x.len()];
            for (run, block) in linear.blocks.iter().enumerate() {
                let slopes: Vec<f64> = (0..block.rows)
                    .map(|row| block.by_start[row * width + column])
                    .collect();
                offsets[count + run * width + column] = noise / norm(&slopes);
            }
            let Some(changes) = self.chord(x, &offsets) else {
                continue;
            };
            let mut changes = changes.into_iter();
            for (run, block) in linear.blocks.iter_mut().enumerate() {
                let span = offsets[count + run * width + column];
                let slopes = changes.by_ref().take(block.rows);
                for (row, change) in slopes.enumerate() {
                    block.by_start[row * width + column] = change / (2.0 * span);
                }
            }
        }
    }

    /// The change of the residuals of the recordings from x − offsets to x + offsets.
    fn chord(&self, x: &[f64], offsets: &[f64]) -> Option<Vec<f64>> {
        let bounds = self.space.bounds();
        let end = |sign: f64| -> Option<Vec<f64>> {
            let end: Vec<f64> = (x.iter().zip(offsets))
                .map(|(x, offset)| x + sign * offset)
                .collect();
            let is_within =
                |(index, &x): (usize, &f64)| x.is_finite() && bounds.clamp(index, x) == x;
            if !end.iter().enumerate().all(is_within) {
                return None;
            }
            let found = self.problem.residuals(&end).ok()?;
            found.failures.is_empty().then_some(found.residuals)
        };
        let (high, low) = (end(1.0)?, end(-1.0)?);
        let change: Vec<f64> = high.iter().zip(low).map(|(high, low)| high - low).collect();
        change
            .iter()
            .all(|number| number.is_finite())
            .then_some(change)
    }
}
