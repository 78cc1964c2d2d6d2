//! Errors of a model on recordings.

use carom_report::evaluation_json;
use carom_tasks::evaluate::{StartNoise, evaluate_or_windows, noise_floor};
use carom_tasks::identify::{in_continuous_time, stepping_of};
use carom_tasks::problem::Stepping;
use pyo3::prelude::*;

use crate::model::Model;
use crate::recordings::Recordings;
use crate::{errors, threads};

/// What each error is: its name, its unit, and how tables call it.
type Metrics = Vec<(String, &'static str, String)>;

/// Errors as `carom evaluate --json` prints them, and what each one is.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    recordings: &Bound<'_, Recordings>,
    window: Option<usize>,
    every: Option<usize>,
    tolerance: Option<f64>,
    threads: Option<usize>,
) -> PyResult<(String, Metrics)> {
    let native = model.get();
    let asked = || tolerance.map_or(Stepping::Fixed, in_continuous_time);
    let stepping = (native.spec()).map_or_else(asked, |spec| stepping_of(tolerance, spec));
    let model = &*native.inner;
    let mut recordings = recordings.get().inner.clone();
    recordings.evaluate.window = window.or(recordings.evaluate.window);
    recordings.evaluate.every = every.or(recordings.evaluate.every);
    let measure = || {
        let mut recordings = recordings.clone();
        let (report, windows) = evaluate_or_windows(model, &recordings, stepping)?;
        if let Some(windows) = &windows {
            recordings.evaluate.window = Some(windows.frames);
            recordings.evaluate.every = Some(windows.every);
        }
        let floor = noise_floor(model, &recordings, stepping, StartNoise::Measured)?;
        Ok((report, floor, windows))
    };
    let attended = threads::attend(
        py,
        threads,
        |_, _: &(dyn Fn(()) + Sync)| measure(),
        |_, ()| Ok(()),
    )?;
    if let Some(raised) = attended.raised {
        return Err(raised);
    }
    let found: Result<_, carom::Error> = attended.result;
    let (report, floor, windows) = found.map_err(|error| errors::raised(&error))?;
    let metrics = report.metrics.iter();
    let metrics = metrics.map(|metric| (metric.name.clone(), metric.unit, metric.head()));
    let document = evaluation_json(
        &report,
        floor.as_ref(),
        windows.as_ref(),
        &recordings.warnings,
    );
    Ok((document.to_string(), metrics.collect()))
}
