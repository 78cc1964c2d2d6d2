//! Errors of a model on recordings, as JSON.

use carom_tasks::evaluate::Report;
use serde_json::{Value, json};

/// For programs: means, and errors of every trajectory.
pub fn evaluation_json(report: &Report, warnings: &[String]) -> Value {
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
            })
        })
        .collect();
    json!({
        "total": errors(&report.total), "trajectories": trajectories,
        "failed": report.failures().count(), "warnings": warnings,
    })
}
