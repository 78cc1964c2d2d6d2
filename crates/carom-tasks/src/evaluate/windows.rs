//! Windows where whole runs diverge.
//!
//! A run from one start to the end of a long recording says little of a model that is unstable in open loop, as a flying robot is: any error
//! of the start or of the model grows until nothing is left of the motion. The rule:
//!
//! A run *diverges* if it cannot be simulated to its end, or if all of its errors are above those of holding its start. If more than half of
//! the runs diverge, windows of [`WINDOW`] seconds are simulated, one after the other. They count if all of them can be simulated, every mean
//! is below that of the runs that reach their end, and one is below a third of it.

use carom::{Error, Model};

use super::{Predictor, Report, evaluate, evaluate_by};
use crate::problem::Stepping;
use crate::recording::Recordings;

/// Length of a window (s): the time over which controllers plan, and over which flying robots are still where they were.
const WINDOW: f64 = 0.5;
/// Windows must have less than this part of an error of whole runs: of a model that is wrong from the first frame on, they say no more.
const MAX_SHARE: f64 = 1.0 / 3.0;

/// Windows that were measured instead of whole runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Frames that are predicted from each start.
    pub frames: usize,
    /// Frames from a start to the next.
    pub every: usize,
    /// Runs that diverge, of how many.
    pub diverged: [usize; 2],
}

impl Windows {
    /// Why, in words.
    pub fn words(&self) -> String {
        let [diverged, all] = self.diverged;
        format!(
            "{diverged} of {all} whole runs diverge (beyond the errors of holding still, or not to their end): errors are those of windows of {} frames",
            self.frames
        )
    }
}

/// Errors on whole runs, or on windows where these diverge and the mapping does not say what to measure.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_or_windows(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
) -> Result<(Report, Option<Windows>), Error> {
    let whole = evaluate(model, recordings, stepping)?;
    if recordings.evaluate.window.is_some() {
        return Ok((whole, None));
    }
    let still = evaluate_by(Predictor::HoldStill, model, recordings, stepping)?.report;
    let runs = whole.trajectories.iter().zip(&still.trajectories);
    let diverged = runs
        .filter(|(run, still)| {
            let mut pairs = run.errors.iter().zip(&still.errors);
            run.failure.is_some() || pairs.all(|(error, still)| error > still || still.is_nan())
        })
        .count();
    let all = whole.trajectories.len();
    if 2 * diverged <= all {
        return Ok((whole, None));
    }
    let mut windowed = recordings.clone();
    let frames = window_of(recordings, WINDOW);
    windowed.evaluate.window = Some(frames);
    windowed.evaluate.every = recordings.evaluate.every.or(Some(frames));
    let report = evaluate(model, &windowed, stepping)?;
    let is_below = |share: f64| {
        move |(whole, window): (&f64, &f64)| {
            *window < share * whole || whole.is_nan() && window.is_finite()
        }
    };
    let means = || whole.total.iter().zip(&report.total);
    let says_more = means().all(is_below(1.0)) && means().any(is_below(MAX_SHARE));
    if report.failures().next().is_some() || !says_more {
        return Ok((whole, None));
    }
    let windows = Windows {
        frames,
        every: windowed.evaluate.every.unwrap_or(frames),
        diverged: [diverged, all],
    };
    Ok((report, Some(windows)))
}

/// Frames of a window of so many seconds, by the times of the first trajectory; at most half of the shortest one.
pub fn window_of(recordings: &Recordings, seconds: f64) -> usize {
    /// Times closer than this are the same (s).
    const SAME_TIME: f64 = 1e-6;
    let motions = &recordings.trajectories;
    let times = motions.first().map_or(&[][..], |first| &first.times);
    let within = |time: &f64| time - times[0] <= seconds + SAME_TIME;
    let wanted = times.partition_point(within).saturating_sub(1);
    let shortest = motions.iter().map(|one| one.frames() - 1).min();
    let most = shortest.unwrap_or(0).saturating_sub(recordings.start) / 2;
    wanted.clamp(1, most.max(1))
}
