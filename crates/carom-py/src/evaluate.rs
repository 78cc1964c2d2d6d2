//! Errors of a model on recordings.

use carom_report::evaluation_json;
use carom_tasks::evaluate::evaluate as measure;
use carom_tasks::identify::in_continuous_time;
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
    let model = &*model.get().inner;
    let mut recordings = recordings.get().inner.clone();
    recordings.evaluate.window = window.or(recordings.evaluate.window);
    recordings.evaluate.every = every.or(recordings.evaluate.every);
    let stepping = tolerance.map_or(Stepping::Fixed, in_continuous_time);
    let recordings = &recordings;
    let attended = threads::attend(
        py,
        threads,
        |_, _: &(dyn Fn(()) + Sync)| measure(model, recordings, stepping),
        |_, ()| Ok(()),
    )?;
    if let Some(raised) = attended.raised {
        return Err(raised);
    }
    let report = attended.result.map_err(|error| errors::raised(&error))?;
    let metrics = report.metrics.iter();
    let metrics = metrics.map(|metric| (metric.name.clone(), metric.unit, metric.head()));
    let document = evaluation_json(&report, &recordings.warnings);
    Ok((document.to_string(), metrics.collect()))
}
