//! Starts of simulations that the recordings do not tell well enough.
//!
//! - Where nothing measures a coordinate, a simulation from its reference may not move at all, and nothing could be said of the parameters:
//!   starts are found first, with the parameters as they are, over the first frames and then over more of them.
//! - Where recorded starts leave residuals well above the noise, the starts may be why; and their own noise may move the estimates although
//!   residuals hardly show it. The question is put once more with free starts.
//! - A replay of the recordings of the fit begins at the starts that were found.

use std::sync::atomic::AtomicBool;

use carom_optimise::{Bounds, Space};

use super::conclude::Identified;
use super::solve::Unwatched;
use super::task::{MAX_JACOBIAN_ENTRIES, Task};
use super::{FREE_STARTS, OptimiserKind, start_noise};
use crate::error;
use crate::problem::{Horizon, Starts};
use crate::recording::{Recordings, Trajectory};
use carom::Error;

/// Maximum of evaluations of the search for initial states alone.
const MAX_START_EVALUATIONS: u64 = 40;
/// Initial states are found over these fractions of the trajectories, one after the other: 1/16, 1/4, all.
const HORIZON_DIVISORS: [usize; 3] = [16, 4, 1];
/// Fewest frames of such a fraction.
const MIN_FRAMES: usize = 5;
/// Residuals above so many standard deviations of the noise may come from the initial states.
const MAX_RESIDUAL_PER_NOISE: f64 = 1.3;
/// Largest cost of a step of Levenberg–Marquardt that is taken unasked (multiplications).
const MAX_UNASKED_WORK: f64 = 5e8;

impl Task<'_> {
    /// Finds starts with the parameters as they are, where starts are free and something is not measured.
    ///
    /// # Errors
    /// When the model cannot be simulated at the start.
    pub fn find_starts(&mut self, stop: Option<&AtomicBool>) -> Result<(), Error> {
        if !self.has_free_starts() || self.problem.measures_starts() {
            return Ok(());
        }
        let lengths = (self.problem.recordings.trajectories.iter()).map(Trajectory::frames);
        let shortest = lengths.min().unwrap_or(0);
        for part in HORIZON_DIVISORS {
            let frames = shortest / part;
            let is_whole = part == 1 || self.settings.problem.horizon != Horizon::Whole;
            if frames < MIN_FRAMES && !is_whole {
                continue;
            }
            let mut short = self.clone();
            if !is_whole {
                let horizon = Horizon::Segments {
                    frames,
                    every: usize::MAX / 2,
                };
                short = self.with_horizon(horizon)?;
                if short.start().len() != self.start().len() {
                    continue;
                }
            }
            short.hold_parameters()?;
            short.settings.evaluations = Some(MAX_START_EVALUATIONS);
            short.optimiser = OptimiserKind::Lm;
            let before = short.loss_at(short.start())?;
            let Ok(found) = short.solve(None, stop, &mut Unwatched) else {
                continue;
            };
            if found.value < before {
                self.start_at(&found.x)?;
            }
            if self.settings.problem.horizon != Horizon::Whole {
                break;
            }
        }
        Ok(())
    }

    /// Leaves the starts as the only unknowns.
    fn hold_parameters(&mut self) -> Result<(), Error> {
        let count = self.parameters().len();
        let start = self.space.start().to_vec();
        let bounds = self.space.bounds();
        let (mut lower, mut upper) = (bounds.lower().to_vec(), bounds.upper().to_vec());
        lower[..count].copy_from_slice(&start[..count]);
        upper[..count].copy_from_slice(&start[..count]);
        let space = Bounds::new(lower, upper)
            .and_then(|bounds| Space::new(start, bounds))
            .map_err(error::space)?;
        self.space = space
            .with_scale(self.space.scale().to_vec())
            .map_err(error::space)?;
        Ok(())
    }

    /// Makes starts unknowns if they may be and something is not measured at them; whether it did.
    ///
    /// # Errors
    /// When parameters, recordings and settings do not go together.
    pub fn free_unmeasured_starts(&mut self) -> Result<bool, Error> {
        if !self.may_free_starts() || self.problem.measures_starts() {
            return Ok(false);
        }
        *self = self.freed(FREE_STARTS)?;
        Ok(true)
    }

    /// Whether nobody said how starts are.
    fn may_free_starts(&self) -> bool {
        self.settings.frees_starts
            && self.torques.is_none()
            && self.settings.problem.starts == Starts::Recorded
            && self.settings.optimiser == OptimiserKind::Auto
            && self.optimiser == OptimiserKind::Lm
    }

    /// The question with free starts, of which so much is known where nothing is stated.
    pub(super) fn freed(&self, starts: Starts) -> Result<Self, Error> {
        let mut settings = self.settings.clone();
        settings.problem.starts = starts;
        Self::new(self.parameters().base(), self.problem.recordings, settings)
    }

    /// The question with free starts, begun at what was found with recorded ones, where these may be why residuals are well above the
    /// noise, or where their noise moves the estimates; none where neither is so, where nothing is known of the noise, or where it would take long.
    ///
    /// # Errors
    /// When parameters, recordings and settings do not go together.
    pub fn with_free_starts(&self, identified: &Identified) -> Result<Option<Self>, Error> {
        let settings = &self.settings;
        let channels = &self.problem.recordings.channels;
        let mut compared = channels.iter().filter(|channel| channel.is_compared);
        let has_noise =
            settings.problem.loss.by_noise && compared.all(|channel| channel.noise.is_some());
        let is_due = identified.noise > MAX_RESIDUAL_PER_NOISE
            || start_noise::matters(&identified.start_shares);
        if !self.may_free_starts() || !has_noise || !is_due {
            return Ok(None);
        }
        let mut task = self.freed(FREE_STARTS)?;
        let (rows, columns) = (task.problem.residual_count(), task.problem.len());
        let work = rows as f64 * (columns as f64).powi(2);
        if work > MAX_UNASKED_WORK || rows * columns > MAX_JACOBIAN_ENTRIES {
            return Ok(None);
        }
        task.start_at(&identified.theta)?;
        Ok(Some(task))
    }

    /// The recordings with the starts that were found; none unless starts are free.
    pub fn with_found_starts(&self, x: &[f64]) -> Option<Recordings> {
        if !self.has_free_starts() {
            return None;
        }
        self.problem.with_found_starts(x).ok()
    }
}
