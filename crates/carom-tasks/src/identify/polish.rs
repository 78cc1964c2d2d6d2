//! The last steps of a search that continued with secants.
//!
//! Such a search ends at the narrowest span of its secants, in scales of the parameters. Many recordings tell a parameter better than that: a delay
//! has the scale of its bounds, and standard errors a thousandth of a millisecond. From there Gauss and Newton's steps lead to the minimum
//! wherever derivatives hold again, and each is taken only as far as the loss falls.

use std::sync::atomic::AtomicBool;

use carom::Error;
use carom_optimise::linalg::{Cholesky, Matrix, add_scaled, dot, transpose_times};
use carom_optimise::{Evaluation, Want};

use super::OptimiserKind;
use super::again::is_stopped;
use super::solve::Solution;
use super::task::Task;

/// Most steps after a search by secants, and without one.
const MAX_STEPS: [usize; 2] = [8, 25];
/// Parts of a step that are tried, one after the other.
const PARTS: [f64; 5] = [1.0, 0.5, 0.25, 0.1, 0.03];
/// Steps that promise to lower the loss by less than this, in squares of the residuals' deviation, are within a seventh of a standard error.
const MIN_GAIN: f64 = 0.01;
/// A kink of the loss within so much of the minimum, half of a standard error, is as good as the minimum.
const MAX_GAIN_AT_KINK: f64 = 0.125;

/// Where Gauss and Newton's step leads.
enum Down {
    /// To a lower point with its loss.
    To(Vec<f64>, f64),
    /// Nowhere: this is the minimum, or a kink beside it.
    Minimum,
    /// Nowhere although derivatives say so.
    Nowhere,
}

impl Task<'_> {
    /// Goes on from the end of a search by secants, as far as derivatives lead down.
    pub(super) fn polished(&self, solution: Solution) -> Solution {
        let mut solution = solution;
        if solution.is_by_secants && solution.is_finished {
            self.go_down(&mut solution, MAX_STEPS[0], None);
        }
        solution
    }

    /// Searches by Gauss and Newton's steps alone, from a start that is near the minimum; none where they do not lead there. Secants would take two
    /// simulations for each unknown and iteration, and initial states are many unknowns.
    ///
    /// # Errors
    /// When the start cannot be simulated.
    pub(super) fn descend(&self, stop: Option<&AtomicBool>) -> Result<Option<Solution>, Error> {
        if self.optimiser != OptimiserKind::Lm {
            return Ok(None);
        }
        let value = self.loss_at(self.start())?;
        let mut solution = Solution {
            x: self.start().to_vec(),
            value,
            end: "no step by derivatives lowers the loss".to_owned(),
            is_finished: true,
            is_stalled: false,
            is_stopped: false,
            is_by_secants: false,
            history: vec![value],
        };
        let is_there = self.on_threads(|| Ok(self.go_down(&mut solution, MAX_STEPS[1], stop)))?;
        Ok(is_there.then_some(solution))
    }

    /// Takes steps; whether they lead to the minimum.
    fn go_down(&self, solution: &mut Solution, steps: usize, stop: Option<&AtomicBool>) -> bool {
        for _ in 0..steps {
            if is_stopped(stop) {
                return false;
            }
            match self.step_down(solution) {
                Down::To(x, value) => {
                    (solution.x, solution.value) = (x, value);
                    solution.history.push(value);
                }
                Down::Minimum => return true,
                Down::Nowhere => return false,
            }
        }
        false
    }

    /// A lower point along Gauss and Newton's step.
    fn step_down(&self, from: &Solution) -> Down {
        let Ok(Evaluation::Jacobian {
            residuals,
            jacobian,
        }) = self.evaluate(&from.x, Want::Jacobian)
        else {
            return Down::Nowhere;
        };
        let bounds = self.space.bounds();
        let gradient = transpose_times(&jacobian, &residuals);
        // What lies at a bound stays there if it would leave it.
        let moves: Vec<usize> = (0..from.x.len())
            .filter(|&k| {
                bounds.clamp(k, from.x[k] - gradient[k].signum() * f64::EPSILON.sqrt()) != from.x[k]
            })
            .collect();
        // In units of equal effect, so that the matrix is well scaled.
        let lengths: Vec<f64> = (moves.iter())
            .map(|&k| jacobian.column(k).iter().map(|x| x * x).sum::<f64>().sqrt())
            .collect();
        if !lengths.iter().all(|length| *length > 0.0) {
            return Down::Nowhere;
        }
        let own = jacobian.columns_at(&moves);
        let gram = own.gram();
        let scaled = Matrix::from_fn(moves.len(), moves.len(), |i, j| {
            gram[(i, j)] / (lengths[i] * lengths[j])
        });
        let Some(factor) = Cholesky::new(&scaled) else {
            return Down::Nowhere;
        };
        let down: Vec<f64> = (moves.iter().zip(&lengths))
            .map(|(&k, length)| -gradient[k] / length)
            .collect();
        let step = factor.solve(&down);
        let freedom = residuals.len().saturating_sub(from.x.len()).max(1) as f64;
        let deviation = 2.0 * from.value / freedom;
        let gain = 0.5 * dot(&step, &down) / deviation;
        if gain < MIN_GAIN {
            return Down::Minimum;
        }
        let mut whole = vec![0.0; from.x.len()];
        for ((&k, step), length) in moves.iter().zip(&step).zip(&lengths) {
            whole[k] = step / length;
        }
        for part in PARTS {
            let mut x = from.x.clone();
            add_scaled(&mut x, part, &whole);
            for (k, x) in x.iter_mut().enumerate() {
                *x = bounds.clamp(k, *x);
            }
            let value = self.residuals(&x).map(|all| 0.5 * dot(&all, &all));
            if let Some(value) = value.ok().filter(|value| *value < from.value) {
                return Down::To(x, value);
            }
        }
        if gain < MAX_GAIN_AT_KINK {
            return Down::Minimum;
        }
        Down::Nowhere
    }
}
