//! What an identification found, as text and as JSON.

use carom::Model;
use carom::contact_units;
use carom_tasks::evaluate::{self, figure};
use carom_tasks::identify::{ErrorBasis, Estimate, Outcome};
use carom_tasks::problem::{FrameResidual, Horizon};
use serde_json::{Value, json};

use crate::checks_output;
use crate::naming::pair_name;

/// The answer for people: a summary, the table of parameters, remarks, errors before and after, checks.
pub fn identification_text(found: &Outcome) -> String {
    let mut lines = vec![summary(found)];
    for objection in found.objections() {
        lines.push(format!("no success: {objection}"));
    }
    lines.push(String::new());
    lines.extend(table(found));
    lines.push(String::new());
    lines.extend(remarks(found));
    let fitted = format!(
        "errors on the {} recordings of the fit",
        found.fitted[0].trajectories.len()
    );
    lines.extend(errors(&fitted, &found.fitted));
    if let Some(held_out) = &found.held_out {
        let title = format!(
            "errors on {} held-out recordings",
            held_out[0].trajectories.len()
        );
        lines.extend(errors(&title, held_out));
    }
    lines.extend(checks_output::as_text(found));
    lines.join("\n")
}

/// One sentence for all of it.
pub fn summary(found: &Outcome) -> String {
    let optimiser = found.optimiser.name();
    format!(
        "loss {} → {} in {} evaluations by {optimiser} ({:.1} s): {}",
        figure(found.inspection.value),
        figure(found.solution.value),
        found.solution.history.len(),
        found.seconds,
        found.solution.end
    )
}

fn table(found: &Outcome) -> Vec<String> {
    let estimates = &found.identified.estimates;
    let width = estimates
        .iter()
        .map(|one| one.name.chars().count())
        .max()
        .unwrap_or(0)
        .max(9);
    let percent = format!("{} % interval", 100.0 * found.identified.confidence);
    let mut lines = vec![format!(
        "{:width$}  {:>11}  {:>11}  {percent:>25}  unit",
        "parameter", "start", "value"
    )];
    for one in estimates {
        let note = if one.is_at_bound {
            "  (at its bound)"
        } else {
            ""
        };
        let name = &one.name;
        lines.push(format!(
            "{name:width$}  {:>11}  {:>11}  {:>25}  {}{note}",
            figure(one.start),
            figure(one.value),
            interval(one),
            one.unit
        ));
    }
    lines
}

/// `0.17 … 0.19`.
pub(crate) fn interval(one: &Estimate) -> String {
    let [low, high] = one.interval;
    if low.is_finite() && high.is_finite() {
        format!("{} … {}", figure(low), figure(high))
    } else {
        "not identifiable".to_owned()
    }
}

/// What the recordings do not tell, and how far the numbers can be trusted.
pub fn remarks(found: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let identified = &found.identified;
    if let Some(refusal) = found.inspection.refusal() {
        lines.push(format!("fitted all the same: {refusal}"));
    }
    for words in &identified.weak {
        lines.push(format!(
            "badly known: {words} (a scale is the width of the bounds, or the size of the start)"
        ));
    }
    lines.extend(identified.correlated.iter().cloned());
    if !found.solution.is_finished && !found.solution.is_stalled {
        lines.push(
            "the search did not reach its end: intervals are those of the best point so far"
                .to_owned(),
        );
    }
    if let Some(recorded) = found.recorded_starts {
        lines.push(format!(
            "starts were found too: from those that are recorded, residuals stay at {} times the noise ([initial_states] free = false in --settings keeps them)",
            figure(recorded)
        ));
    }
    if let Some(times) = found.times_the_noise() {
        lines.push(format!(
            "residuals are {} times the noise that the mapping states: the noise is greater than that, or the model, or what the search found, does not explain all of the recordings, and intervals do not know of that; {}",
            figure(times),
            remedies(found)
        ));
    }
    if identified.basis == ErrorBasis::Secants {
        lines.push(
            "intervals are from secants over about one standard error of each parameter, or from derivatives where those are wider: the two disagree, as they do through contacts in fixed steps"
                .to_owned(),
        );
    }
    if identified.by_runs {
        lines.push(
            "errors are taken from how much the trajectories contradict each other".to_owned(),
        );
    }
    if let Some(first) = found.skipped.first() {
        let count = found.skipped.len();
        lines.push(format!("{count} runs were left out: {first}"));
    }
    lines
}

/// What to look at where residuals stay large.
fn remedies(found: &Outcome) -> String {
    let search = match (found.has_free_starts(), found.settings.horizon) {
        (true, Horizon::Whole) if found.settings.runs.is_some() => {
            "--tolerance 1e-6 if the recorded motion is a real one"
        }
        (false, Horizon::Whole) => "--free-initial-states, and --segments 20 with it",
        (true, Horizon::Whole) => "--segments 20",
        (false, Horizon::Segments { .. }) => "--free-initial-states",
        (true, Horizon::Segments { .. }) => "shorter segments",
    };
    format!(
        "see whether columns, units and signs are right and controls have the clock of the measurements, and try {search}; a search from many starts (--optimiser multi-start) tells whether there is a lower loss"
    )
}

fn errors(title: &str, [before, after]: &[evaluate::Report; 2]) -> Vec<String> {
    let mut lines = vec![format!("{title}:")];
    for ((metric, before), after) in before.metrics.iter().zip(&before.total).zip(&after.total) {
        let change = 100.0 * (after / before - 1.0);
        let change = if change.is_finite() {
            format!("{change:+.1} %")
        } else {
            String::new()
        };
        lines.push(format!(
            "  {:24} {:>10} → {:>10}  {change}",
            metric.head(),
            figure(*before),
            figure(*after)
        ));
    }
    for failure in after.failures() {
        let why = failure.failure.as_deref().unwrap_or_default();
        lines.push(format!("  {} is not in the mean: {why}", failure.label));
    }
    lines
}

/// The same for programs.
pub fn identification_json(found: &Outcome) -> Value {
    let totals = |report: &evaluate::Report| {
        let pairs = report.metrics.iter().zip(&report.total);
        let pairs = pairs.map(|(metric, number)| (metric.name.clone(), json!(number)));
        Value::Object(pairs.collect())
    };
    let both = |[before, after]: &[evaluate::Report; 2]| {
        let each = before.trajectories.iter().zip(&after.trajectories);
        let each: Vec<Value> = each
            .map(|(one, other)| {
                json!({
                    "label": one.label, "before": one.errors, "after": other.errors, "failure": other.failure,
                })
            })
            .collect();
        json!({
            "before": totals(before), "after": totals(after),
            "trajectories": before.trajectories.len(), "failed": after.failures().count(), "each": each,
        })
    };
    let identified = &found.identified;
    let parameters: Vec<Value> = (identified.estimates.iter())
        .map(|one| {
            json!({
                "name": one.name, "unit": one.unit, "start": one.start, "value": one.value,
                "standard_error": one.error, "interval": one.interval, "at_bound": one.is_at_bound,
            })
        })
        .collect();
    let inspection = &found.inspection;
    let silent = inspection.silent.iter();
    let silent: Vec<Value> = silent
        .map(|one| json!({ "parameter": one.parameter, "reason": one.reason }))
        .collect();
    json!({
        "parameters": parameters, "confidence": identified.confidence,
        "loss": { "before": inspection.value, "after": found.solution.value },
        "optimiser": found.optimiser.name(), "evaluations": found.solution.history.len(),
        "end": found.solution.end, "finished": found.solution.is_finished, "stalled": found.solution.is_stalled,
        "interrupted": found.solution.is_stopped, "seconds": found.seconds,
        "noise": identified.noise, "degrees_of_freedom": identified.degrees, "errors_by_runs": identified.by_runs,
        "errors_from": identified.basis.name(), "by_secants": found.solution.is_by_secants,
        // The names of the version before, for one version: by_chords, untold, starts.
        "by_chords": found.solution.is_by_secants,
        "information": {
            "residuals": inspection.residuals, "rank": inspection.rank, "condition": inspection.condition,
            "silent": silent, "not_identifiable": inspection.untold, "untold": inspection.untold, "hold": inspection.hold, "weak": inspection.weak,
        },
        "correlated": identified.correlated,
        "objections": found.objections(),
        "fit": both(&found.fitted),
        "validation": found.held_out.as_ref().map(both),
        "history": found.solution.history,
        "residuals": residuals(found),
        "contacts": contacts(found),
        "initial_states": starts(found),
        "starts": starts(found),
        "checks": checks_output::as_json(found),
    })
}

/// Residuals over time, as the report shows them.
fn residuals(found: &Outcome) -> Value {
    let frames = &found.identified.frames;
    let of =
        |number: fn(&FrameResidual) -> f64| -> Vec<f64> { frames.iter().map(number).collect() };
    json!({
        "time": of(|frame| frame.time), "before": of(|frame| frame.before), "after": of(|frame| frame.after),
    })
}

/// Estimated initial states; null where they are as recorded.
fn starts(found: &Outcome) -> Value {
    let Some(states) = &found.initial_states else {
        return Value::Null;
    };
    let states = states.iter().map(|state| {
        json!({
            "label": state.label, "frame": state.frame, "qpos": state.qpos, "qvel": state.qvel,
        })
    });
    states.collect()
}

/// Contacts in physical units, before and after.
fn contacts(found: &Outcome) -> Value {
    let of = |model: &Model| -> Vec<Value> {
        let kinds = contact_units::survey(model);
        let kinds = kinds.iter().map(|kind| {
            let depth = kind.contact.full_depth();
            json!({
                "geoms": pair_name(model, kind.geoms), "friction": kind.parameters.friction[0],
                "stiffness": kind.contact.stiffness(depth), "damping": kind.contact.damping(depth),
                "restitution": kind.restitution, "time_constant": kind.time_constant,
                "rest_penetration": kind.rest_penetration,
            })
        });
        kinds.collect()
    };
    json!({ "before": of(&found.before), "after": of(&found.identified.model) })
}
