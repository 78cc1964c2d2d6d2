//! Histories of actuators and sensors: how many samples they keep.

use carom_spec::model_spec::HistorySpec;

use super::report::{Checked, code};
use crate::model::HistoryShape;

/// Samples that a history may have.
const MOST_SAMPLES: u32 = 1 << 24;
/// Numbers that a history may hold; more would not fit in memory.
const MOST_VALUES: usize = 1 << 27;

/// The shape of a history; none where there is none, or after an error.
pub(super) fn shape(
    history: &HistorySpec,
    dimension: usize,
    checked: &mut Checked<'_>,
) -> Option<HistoryShape> {
    let samples = history.samples;
    let [period, phase] = history.interval;
    let finite = history.delay.is_finite() && period.is_finite() && phase.is_finite();
    let size = (samples as usize).saturating_mul(dimension);
    let problems = [
        (!finite, "delay and interval are not finite"),
        (history.delay > 0.0 && samples == 0, "a delay needs nsample"),
        (period < 0.0, "the period of interval is negative"),
        (phase > 0.0, "the phase of interval is positive"),
        (
            period > 0.0 && phase <= -period,
            "the phase of interval is not greater than minus its period",
        ),
        (
            samples > MOST_SAMPLES || size > MOST_VALUES,
            "nsample is too large",
        ),
    ];
    for (_, problem) in problems.iter().filter(|(found, _)| *found) {
        checked.error(code::HISTORY, format!("history of {checked}: {problem}"));
    }
    let is_good = problems.iter().all(|(found, _)| !found);
    (is_good && samples > 0).then_some(HistoryShape {
        samples: samples as usize,
        dimension,
        interpolation: history.interpolation,
    })
}
