//! Errors of torques: root mean squares of each joint, and their mean.

use carom::{Error, Model};

use super::{Metric, Report};
use crate::recording::Recordings;
use crate::torque::{Measured, rms_by_axis};

/// Adds the errors of torques to a report, where the mapping says that controls are torques: the mean over joints, then each joint. Root mean
/// squares are over the samples of a trajectory, and over all samples for the total.
pub(super) fn add(
    model: &Model,
    recordings: &Recordings,
    report: &mut Report,
) -> Result<(), Error> {
    let Some(measured) = Measured::new(model, recordings)? else {
        return Ok(());
    };
    let samples = measured.samples();
    let residuals = measured.residuals(model, &samples);
    let axes = &measured.axes;
    let unit = |is_hinge: bool| if is_hinge { "N·m" } else { "N" };
    let is_alike = axes.iter().all(|axis| axis.is_hinge == axes[0].is_hinge);
    report.metrics.push(Metric {
        name: "torque".to_owned(),
        unit: if is_alike { unit(axes[0].is_hinge) } else { "" },
    });
    report.metrics.extend(axes.iter().map(|axis| Metric {
        name: format!("torque {}", axis.name),
        unit: unit(axis.is_hinge),
    }));
    let errors = |residuals: &[f64]| -> Vec<f64> {
        if residuals.is_empty() {
            return vec![f64::NAN; axes.len() + 1];
        }
        let each = rms_by_axis(residuals, axes.len());
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        std::iter::once(mean).chain(each).collect()
    };
    report.total.extend(errors(&residuals));
    let mut rest = residuals.as_slice();
    for signals in &measured.signals {
        let (own, others) = rest.split_at(signals.samples.len() * axes.len());
        rest = others;
        report.trajectories[signals.trajectory]
            .errors
            .extend(errors(own));
    }
    Ok(())
}
