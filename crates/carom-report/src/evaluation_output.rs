//! Errors of a model on recordings, as JSON.

use carom_tasks::evaluate::{Floor, Report, Windows};
use serde_json::{Value, json};

use crate::summary_output::floor_json;

/// For programs: means, and errors of every trajectory; beside them what the model would score if it were right, and windows that were
/// measured because whole runs diverge.
pub fn evaluation_json(
    report: &Report,
    floor: Option<&Floor>,
    windows: Option<&Windows>,
    warnings: &[String],
) -> Value {
    // JSON has no NaN: what was not compared is null.
    let errors = |numbers: &[f64]| {
        let pairs = report.metrics.iter().zip(numbers);
        let pairs = pairs.map(|(metric, number)| (metric.name.clone(), json!(number)));
        Value::Object(pairs.collect())
    };
    let trajectories: Vec<_> = report
        .trajectories
        .iter()
        .map(|trajectory| {
            json!({
                "label": trajectory.label, "frames": trajectory.frames, "windows": trajectory.windows,
                "errors": errors(&trajectory.errors), "failure": trajectory.failure,
                "steps_outside_training": trajectory.extrapolating,
            })
        })
        .collect();
    json!({
        "total": errors(&report.total), "trajectories": trajectories,
        "floor": floor_json(report, floor), "windows": windows.map(|windows| json!({
            "frames": windows.frames, "every": windows.every, "diverged": windows.diverged[0],
            "runs": windows.diverged[1], "because": windows.words(),
        })),
        "failed": report.failures().count(), "warnings": warnings,
    })
}
