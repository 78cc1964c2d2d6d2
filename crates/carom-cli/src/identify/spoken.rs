//! What was found, as text and as JSON.

use carom::Model;
use carom::contact_units;
use carom_tasks::evaluate;
use carom_tasks::identify::{ErrorBasis, Estimate, FrameResidual};
use carom_tasks::loss::Average;
use carom_tasks::problem::Horizon;
use carom_tasks::recording::Channel;
use serde_json::{Value, json};

use super::{Found, objections, said};
use crate::evaluate::{figure, head};
use crate::naming::pair_name;

pub(crate) fn as_text(found: &Found<'_>) -> String {
    let mut lines = vec![summary(found)];
    for objection in objections(found) {
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
    if let Some(kept_back) = &found.kept_back {
        let title = format!(
            "errors on {} recordings that were kept back",
            kept_back[0].trajectories.len()
        );
        lines.extend(errors(&title, kept_back));
    }
    lines.extend(said::as_text(found));
    lines.join("\n")
}

/// One sentence for all of it.
pub(crate) fn summary(found: &Found<'_>) -> String {
    let optimiser = found.task.optimiser().name();
    format!(
        "loss {} → {} in {} evaluations by {optimiser} ({:.1} s): {}",
        figure(found.inspection.value),
        figure(found.solution.value),
        found.solution.history.len(),
        found.seconds,
        found.solution.end
    )
}

fn table(found: &Found<'_>) -> Vec<String> {
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
        "cannot be told".to_owned()
    }
}

/// What the recordings do not tell, and how far the numbers can be trusted.
pub(crate) fn remarks(found: &Found<'_>) -> Vec<String> {
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
            "starts were found too: from those that are recorded, residuals stay at {} times the noise ([starts] free = false in --settings keeps them)",
            figure(recorded)
        ));
    }
    if let Some(times) = times_the_noise(found) {
        lines.push(format!(
            "residuals are {} times the noise that the mapping states: the noise is greater than that, or the model, or what the search found, does not explain all of the recordings, and intervals do not know of that; {}",
            figure(times),
            remedies(found)
        ));
    }
    if identified.basis == ErrorBasis::Slopes {
        lines.push(
            "intervals are from slopes over about one standard error of each parameter, or from derivatives where those are wider: the two disagree, as they do through contacts in fixed steps"
                .to_owned(),
        );
    }
    if identified.by_runs {
        lines.push(
            "errors are taken from how much the trajectories contradict each other".to_owned(),
        );
    }
    let skipped = found.task.problem().skipped();
    if let Some(first) = skipped.first() {
        lines.push(format!("{} runs were left out: {first}", skipped.len()));
    }
    lines
}

/// How many times the noise that the mapping states residuals are, if that is more than chance explains.
fn times_the_noise(found: &Found<'_>) -> Option<f64> {
    /// Starts that are not free bring noise of their own into all that follows.
    const WITH_MEASURED_STARTS: f64 = 3.0;
    /// Who states noise rarely knows it better than this.
    const ROUGHLY: f64 = 1.2;
    /// Standard deviations of chance.
    const CHANCE: f64 = 5.0;
    let problem = found.task.problem();
    let loss = &problem.settings().loss;
    let channels = &problem.recordings().channels;
    let mut compared = channels.iter().filter(|one| loss.weight(one) != 0.0);
    let is_in_its_units = |channel: &Channel| {
        let times = channel.noise.map(|noise| noise * loss.weight(channel));
        times.is_some_and(|times| (times - 1.0).abs() < 1e-9)
    };
    let is_stated = loss.average == Average::Sum && compared.all(is_in_its_units);
    let identified = &found.identified;
    let most = if found.task.has_free_starts() {
        ROUGHLY.max(1.0 + CHANCE / (2.0 * identified.degrees as f64).sqrt())
    } else {
        WITH_MEASURED_STARTS
    };
    (is_stated && identified.noise > most).then_some(identified.noise)
}

/// What to look at where residuals stay large.
fn remedies(found: &Found<'_>) -> String {
    let settings = &found.task.settings().problem;
    let search = match (found.task.has_free_starts(), settings.horizon) {
        (false, Horizon::Whole) => "--free-starts, and --segments 20 with it",
        (true, Horizon::Whole) => "--segments 20",
        (false, Horizon::Segments { .. }) => "--free-starts",
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
            head(metric),
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

pub(crate) fn as_json(found: &Found<'_>) -> Value {
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
        "optimiser": found.task.optimiser().name(), "evaluations": found.solution.history.len(),
        "end": found.solution.end, "finished": found.solution.is_finished, "stalled": found.solution.is_stalled,
        "interrupted": found.solution.is_stopped, "seconds": found.seconds,
        "noise": identified.noise, "degrees_of_freedom": identified.degrees, "errors_by_runs": identified.by_runs,
        "errors_from": identified.basis.name(), "by_chords": found.solution.is_by_chords,
        "information": {
            "residuals": inspection.residuals, "rank": inspection.rank, "condition": inspection.condition,
            "silent": silent, "untold": inspection.untold, "hold": inspection.hold, "weak": inspection.weak,
        },
        "correlated": identified.correlated,
        "objections": objections(found),
        "fit": both(&found.fitted),
        "validation": found.kept_back.as_ref().map(both),
        "history": found.solution.history,
        "residuals": residuals(found),
        "contacts": contacts(found),
        "starts": starts(found),
        "checks": said::as_json(found),
    })
}

/// Residuals over time, as the report shows them.
fn residuals(found: &Found<'_>) -> Value {
    let frames = &found.identified.frames;
    let of =
        |number: fn(&FrameResidual) -> f64| -> Vec<f64> { frames.iter().map(number).collect() };
    json!({
        "time": of(|frame| frame.time), "before": of(|frame| frame.before), "after": of(|frame| frame.after),
    })
}

/// The start states that were found; none where starts are not unknowns.
fn starts(found: &Found<'_>) -> Value {
    let problem = found.task.problem();
    if !found.task.has_free_starts() {
        return Value::Null;
    }
    let states = problem.starts(&found.solution.x).unwrap_or_default();
    let starts = problem.all_runs().zip(&states).map(|(run, state)| {
        let trajectory = &problem.recordings().trajectories[run.trajectory];
        json!({
            "label": trajectory.label, "frame": run.first, "qpos": state.qpos, "qvel": state.qvel,
        })
    });
    starts.collect()
}

/// Contacts in physical units, before and after.
fn contacts(found: &Found<'_>) -> Value {
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
    json!({ "before": of(found.before), "after": of(&found.identified.model) })
}
