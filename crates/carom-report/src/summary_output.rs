//! What an identification found, as text and as JSON.

use carom::Model;
use carom_contact_units as contact_units;
use carom_tasks::evaluate::{self, Floor, figure};
use carom_tasks::identify::{ErrorBasis, Estimate, Grade, Outcome, Verdict};
use carom_tasks::problem::{FrameResidual, Horizon};
use serde_json::{Value, json};

use crate::naming::pair_name;
use crate::{checks_output, dependence_output};

/// The answer for people: a summary, the table of parameters, remarks, errors before and after, checks.
pub fn identification_text(found: &Outcome) -> String {
    let mut lines = verdict_lines(found);
    lines.push(summary(found));
    lines.push(String::new());
    lines.extend(table(found));
    lines.push(String::new());
    lines.extend(remarks(found));
    let fitted = format!(
        "errors on the {} recordings of the fit",
        found.fitted[0].trajectories.len()
    );
    lines.extend(errors(&fitted, &found.fitted, found.floors[0].as_ref()));
    if let Some(held_out) = &found.held_out {
        let title = format!(
            "errors on {} held-out recordings",
            held_out[0].trajectories.len()
        );
        lines.extend(errors(&title, held_out, found.floors[1].as_ref()));
    }
    lines.extend(dependence_output::as_text(found));
    lines.extend(checks_output::as_text(found));
    lines.join("\n")
}

/// The verdict, a reason a line, the worst first.
fn verdict_lines(found: &Outcome) -> Vec<String> {
    let verdict = found.verdict();
    if verdict.grade == Grade::Success {
        return vec![verdict_sentence(found)];
    }
    let reasons = verdict.reasons.iter();
    let lines = reasons.map(|reason| format!("{}: {}", reason.grade, reason.words));
    lines.collect()
}

/// The verdict in a sentence.
pub fn verdict_sentence(found: &Outcome) -> String {
    let verdict = found.verdict();
    let words = match verdict.reasons.first() {
        Some(worst) => worst.words.as_str(),
        None if found.held_out.is_some() => {
            "better than the start on the recordings of the fit and on the held-out ones"
        }
        None => {
            "better than the start on the recordings of the fit; give others with --validate to see whether it holds beyond them"
        }
    };
    format!("{}: {words}", verdict.grade)
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
            "initial states were estimated too: from those that are recorded, residuals are {} times the noise ([initial_states] free = false in --settings keeps them)",
            figure(recorded)
        ));
    }
    lines.extend(about_start_noise(found));
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
    if let Some(repetitions) = &identified.repetitions {
        lines.push(format!(
            "intervals are from {} searches that were repeated on recordings of the calibrated model itself: errors there are {} times those by derivatives",
            repetitions.errors.len(),
            figure(repetitions.factor)
        ));
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

/// How well initial velocities are known, and what their noise does.
fn about_start_noise(found: &Outcome) -> Vec<String> {
    /// Shares of a standard error that are worth a word.
    const MIN_SHARE: f64 = 0.3;
    let mut lines = Vec::new();
    let velocities = found.start_noise.iter().filter(|one| one.is_found);
    let velocities = velocities.map(|one| format!("{} ±{}", one.name, figure(one.deviation)));
    let velocities: Vec<String> = velocities.collect();
    if !velocities.is_empty() {
        lines.push(format!(
            "initial velocities are found from positions, with standard deviations of {}",
            velocities.join(", ")
        ));
    }
    let estimates = found.identified.estimates.iter();
    let moved = estimates.zip(&found.identified.start_shares);
    let moved = moved.filter(|(_, share)| **share > MIN_SHARE);
    let most = moved.max_by(|(_, a), (_, b)| a.total_cmp(b));
    if let Some((one, share)) = most {
        lines.push(format!(
            "the noise of recorded initial states moves {} by {} standard errors, which its interval counts in; --free-initial-states estimates them",
            one.name,
            figure(*share)
        ));
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
    // Who has searched from many starts is not told to.
    let many = if found.optimiser.is_local() {
        "; a search from many starts (--optimiser multi-start) tells whether there is a lower loss"
    } else {
        ""
    };
    format!(
        "see whether columns, units and signs are right and controls have the clock of the measurements, and try {search}{many}"
    )
}

fn errors(
    title: &str,
    [before, after]: &[evaluate::Report; 2],
    floor: Option<&Floor>,
) -> Vec<String> {
    let mut lines = vec![format!("{title}:")];
    for (index, metric) in before.metrics.iter().enumerate() {
        let [before, after] = [before, after].map(|report| report.total[index]);
        let change = 100.0 * (after / before - 1.0);
        let change = if change.is_finite() {
            format!("{change:+.1} %")
        } else {
            String::new()
        };
        let floor = floor.and_then(|floor| floor.errors.get(index));
        let floor = floor.filter(|floor| floor.is_finite());
        let floor = floor.map_or_else(String::new, |floor| format!("floor {}", figure(*floor)));
        let line = format!(
            "  {:24} {:>10} → {:>10}  {change:10} {floor}",
            metric.head(),
            figure(before),
            figure(after)
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.extend(floor.map(about_floor));
    for failure in after.failures() {
        let why = failure.failure.as_deref().unwrap_or_default();
        lines.push(format!("  {} is not in the mean: {why}", failure.label));
    }
    lines
}

/// What a floor is.
pub fn about_floor(floor: &Floor) -> String {
    let noise = if floor.is_stated {
        "the noise of the mapping"
    } else {
        "noise estimated from how rough the recordings are"
    };
    format!("  (floor: what the model would score if it were right, by {noise})")
}

/// Errors of a floor by name; null where there is none.
pub(crate) fn floor_json(report: &evaluate::Report, floor: Option<&Floor>) -> Value {
    let Some(floor) = floor else {
        return Value::Null;
    };
    let pairs = report.metrics.iter().zip(&floor.errors);
    let pairs = pairs.map(|(metric, number)| (metric.name.clone(), json!(number)));
    json!({ "errors": Value::Object(pairs.collect()), "noise_stated": floor.is_stated })
}

/// The verdict for programs.
fn verdict_json(verdict: &Verdict) -> Value {
    let reasons = verdict.reasons.iter().map(|reason| {
        json!({ "grade": reason.grade.name(), "rule": reason.rule, "words": reason.words })
    });
    json!({ "grade": verdict.grade.name(), "reasons": reasons.collect::<Vec<_>>() })
}

/// The same for programs.
pub fn identification_json(found: &Outcome) -> Value {
    let totals = |report: &evaluate::Report| {
        let pairs = report.metrics.iter().zip(&report.total);
        let pairs = pairs.map(|(metric, number)| (metric.name.clone(), json!(number)));
        Value::Object(pairs.collect())
    };
    let both = |[before, after]: &[evaluate::Report; 2], floor: Option<&Floor>| {
        let each = before.trajectories.iter().zip(&after.trajectories);
        let each: Vec<Value> = each
            .map(|(one, other)| {
                json!({
                    "label": one.label, "before": one.errors, "after": other.errors, "failure": other.failure,
                })
            })
            .collect();
        json!({
            "before": totals(before), "after": totals(after), "floor": floor_json(after, floor),
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
        "verdict": verdict_json(&found.verdict()),
        "objections": found.objections(),
        "fit": both(&found.fitted, found.floors[0].as_ref()),
        "validation": found.held_out.as_ref().map(|reports| both(reports, found.floors[1].as_ref())),
        "naive": found.naive.iter().map(|(predictor, report)| json!({
            "predictor": predictor.words(), "errors": totals(report),
        })).collect::<Vec<_>>(),
        "residuals_over_noise": found.over_noise,
        "history": found.solution.history,
        "residuals": residuals(found),
        "contacts": contacts(found),
        "initial_states": starts(found),
        "starts": starts(found),
        "dependences": dependence_output::as_json(found),
        "initial_state_noise": start_noise(found),
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

/// How well initial states are known from what is measured, and what their noise does to estimates.
fn start_noise(found: &Outcome) -> Value {
    let channels: Vec<Value> = (found.start_noise.iter())
        .map(|one| json!({ "channel": one.name, "standard_deviation": one.deviation, "found_from_positions": one.is_found }))
        .collect();
    json!({ "channels": channels, "shares_of_standard_errors": found.identified.start_shares })
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
