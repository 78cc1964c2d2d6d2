//! The same question put to other recordings.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Settings;
use super::conclude::Identified;
use super::solve::{Solution, Unwatched};
use super::task::Task;
use crate::recording::Recordings;
use carom::Error;

/// Whether the search was asked to stop.
pub(super) fn is_stopped(stop: Option<&AtomicBool>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

impl Task<'_> {
    /// The answer for other recordings, from the same start and with the same settings.
    pub(super) fn asked_again(
        &self,
        recordings: &Recordings,
        stop: Option<&AtomicBool>,
    ) -> Result<(Solution, Identified), Error> {
        let (task, solution, mut identified) = self.searched(recordings, stop)?;
        task.repeat(&solution, &mut identified, stop)?;
        Ok((solution, identified))
    }

    /// The same, with errors by derivatives or secants.
    pub(super) fn searched_again(
        &self,
        recordings: &Recordings,
        stop: Option<&AtomicBool>,
    ) -> Result<(Solution, Identified), Error> {
        let (_, solution, identified) = self.searched(recordings, stop)?;
        Ok((solution, identified))
    }

    fn searched<'r>(
        &self,
        recordings: &'r Recordings,
        stop: Option<&AtomicBool>,
    ) -> Result<(Task<'r>, Solution, Identified), Error> {
        let mut task = self.on_recordings(recordings, self.settings.clone())?;
        task.warm_up(stop)?;
        let solution = task.solve(None, stop, &mut Unwatched)?;
        let identified = task.conclude(&solution)?;
        Ok((task, solution, identified))
    }

    /// The question for other recordings.
    pub(super) fn on_recordings<'r>(
        &self,
        recordings: &'r Recordings,
        mut settings: Settings,
    ) -> Result<Task<'r>, Error> {
        // Segments that were found are those of the own recordings.
        settings.problem.runs = None;
        Task::new(self.parameters().base(), recordings, settings)
    }

    /// θ of a parameter for one of its values, in the units of the model; none if it cannot have it.
    pub(super) fn theta_of(&self, theta: &[f64], index: usize, value: f64) -> Option<f64> {
        let parameters = self.parameters();
        let name = parameters.names().nth(index)?;
        let mut theta = theta.to_vec();
        parameters.set(&mut theta, name, value).ok()?;
        Some(theta[index]).filter(|theta| theta.is_finite())
    }

    /// The value of a parameter for its θ, with the other ones where they are.
    pub(super) fn value_of(&self, theta: &[f64], index: usize, at: f64) -> f64 {
        let mut theta = theta.to_vec();
        theta[index] = at;
        self.parameters().values(&theta)[index]
    }

    /// Half the width of a parameter's interval, as θ sees it; none if the interval is open.
    pub(super) fn half_width(&self, identified: &Identified, index: usize) -> Option<f64> {
        let [low, high] = identified.estimates[index].interval;
        let end = |value: f64| self.theta_of(&identified.theta, index, value);
        let width = 0.5 * (end(high)? - end(low)?).abs();
        (width > 0.0 && width.is_finite()).then_some(width)
    }
}
