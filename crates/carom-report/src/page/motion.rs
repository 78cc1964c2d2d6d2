//! The measured motion with the simulated one as a ghost.

use carom_tasks::evaluate;
use carom_tasks::identify::Outcome;
use carom_tasks::recording::Recordings;
use carom_viewer::{Recording, Trajectory, export_html};

use super::{escape, plots};

/// Frames a second of the motion that is shown.
const FRAME_RATE: f64 = 60.0;
/// Most frames of it: half a minute at the full rate, about a megabyte for an arm.
const MAX_FRAMES: f64 = 1800.0;

/// The trajectory in the middle by its error after the fit: neither the best nor the worst.
pub(super) fn middle(found: &Outcome) -> usize {
    let report = &found.held_out.as_ref().unwrap_or(&found.fitted)[1];
    let mut order: Vec<usize> = (0..report.trajectories.len()).collect();
    let error = |index: &usize| {
        let errors = &report.trajectories[*index].errors;
        errors.first().copied().unwrap_or(f64::NAN)
    };
    order.sort_by(|a, b| error(a).total_cmp(&error(b)));
    order.get(order.len() / 2).copied().unwrap_or(0)
}

/// Most charts of signals: those of a humanoid with all velocities.
const MAX_SIGNALS: usize = 64;

/// Everything that was measured of that trajectory over time, beside what the model says.
pub(super) fn signals(found: &Outcome, shown: &Recordings) -> String {
    let model = &found.identified.model;
    let index = middle(found);
    let signals = match evaluate::signals(model, shown, found.settings.stepping, index) {
        Ok(signals) => signals,
        Err(why) => return format!("<p class=\"note\">{}</p>", escape(&why.to_string())),
    };
    let charts: Vec<String> = signals
        .iter()
        .take(MAX_SIGNALS)
        .map(plots::signal)
        .collect();
    let left = signals.len().saturating_sub(MAX_SIGNALS);
    let rest = match left {
        0 => String::new(),
        left => format!("<p class=\"note\">{left} more are not shown.</p>"),
    };
    format!("{}{rest}", plots::grid(&charts))
}

/// A trajectory as it was measured, and as the calibrated model moves.
pub(super) fn motion(found: &Outcome, shown: &Recordings) -> String {
    let model = &found.identified.model;
    let stepping = found.settings.stepping;
    let index = middle(found);
    let predicted = match evaluate::predict(model, shown, stepping, index) {
        Ok(predicted) => predicted,
        Err(why) => return format!("<p class=\"note\">{}</p>", escape(&why.to_string())),
    };
    let recorded = &shown.trajectories[index];
    let nq = model.counts().nq;
    let (mut times, mut measured, mut simulated) = (Vec::new(), Vec::new(), Vec::new());
    for (frame, state) in &predicted {
        let qpos = &recorded.qpos[frame * nq..][..nq];
        if qpos.iter().all(|number| number.is_finite()) {
            times.push(recorded.times[*frame]);
            measured.extend_from_slice(qpos);
            simulated.extend_from_slice(&state.qpos);
        }
    }
    let seconds = times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0);
    let rate = FRAME_RATE.min(MAX_FRAMES / seconds.max(f64::MIN_POSITIVE));
    let film = |name: &str, qpos: &[f64]| {
        let motion = Trajectory {
            time: &times,
            qpos,
            ..Trajectory::default()
        };
        Recording::new(name, model, &motion, Some(rate))
    };
    let (Ok(measured), Ok(simulated)) =
        (film("measured", &measured), film("simulated", &simulated))
    else {
        return "<p class=\"note\">The configurations were not all recorded, so there is nothing to show.</p>".to_owned();
    };
    let page = export_html(model, &[measured, simulated]);
    format!(
        "<p>{}: as it was measured, and, as a ghost, as the calibrated model moves from the same start. Of all trajectories its error is the median.</p>\
         <iframe title=\"measured and simulated\" srcdoc=\"{}\"></iframe>",
        escape(&recorded.label),
        page.replace('&', "&amp;").replace('"', "&quot;")
    )
}
