//! What was found, as text and as JSON.

use carom::Model;
use carom::contact_units;
use carom::model::JointKind;
use carom_tasks::evaluate;
use carom_tasks::identify::{ErrorBasis, Estimate, FrameResidual};
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
            unit(one, found.before)
        ));
    }
    lines
}

/// The unit of one component of an attribute whose units are listed; where joints that slide and joints that turn differ, that of the joint.
pub(crate) fn unit<'a>(one: &'a Estimate, model: &Model) -> &'a str {
    let own = component_unit(&one.name, &one.unit);
    let Some((sliding, turning)) = own.split_once(" or ") else {
        return own;
    };
    let element = one.name.split('.').nth(1).unwrap_or_default();
    let structure = &model.structure;
    let joints = structure.names.joints.iter().zip(&structure.joints.kind);
    let mut kinds = joints.filter(|(name, _)| element.contains('*') || *name == element);
    let first = kinds.next().map(|(_, kind)| *kind);
    match first {
        Some(first) if kinds.all(|(_, kind)| *kind == first) => match first {
            JointKind::Slide => sliding,
            JointKind::Hinge | JointKind::Ball => turning,
            JointKind::Free => own,
        },
        _ => own,
    }
}

/// The unit of the component that a name ends with; all of them for a name without one.
fn component_unit<'a>(name: &str, units: &'a str) -> &'a str {
    /// Of the numbers of an impedance, the depth at which it is full; the others are parts, and a power.
    const WIDTH: usize = 2;
    let list: Vec<&str> = units.split(", ").collect();
    let Some((path, rest)) = name.rsplit_once('[').filter(|_| list.len() > 1) else {
        return units;
    };
    let Ok(component) = rest.trim_end_matches(']').parse::<usize>() else {
        return units;
    };
    let attribute = path.rsplit('.').next().unwrap_or_default();
    let index = if attribute.contains("solimp") {
        usize::from(component == WIDTH)
    } else {
        component
    };
    list.get(index).or(list.last()).copied().unwrap_or(units)
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
    let noise = identified.noise;
    if noise > 3.0 {
        lines.push(format!(
            "residuals are {} times the noise that the mapping states (or 1, where it states none): the model, or what the search found, does not explain all of the recordings, and intervals do not know of that",
            figure(noise)
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
                "name": one.name, "unit": unit(one, found.before), "start": one.start, "value": one.value,
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

#[cfg(test)]
mod tests {
    use super::component_unit;

    #[test]
    fn only_the_width_of_an_impedance_is_a_length() {
        let units = |name: &str, all: &'static str| -> Vec<&str> {
            let one = |k: usize| component_unit(&format!("{name}[{k}]"), all);
            (0..5).map(one).collect()
        };
        let expected = ["1", "1", "m", "1", "1"];
        for name in ["geom.*.solimp", "pair.a.solimp", "option.o_solimp"] {
            assert_eq!(units(name, "1, m"), expected, "{name}");
        }
        let of_joint = units("joint.hinge.solimplimit", "1, m or rad");
        assert_eq!(of_joint, ["1", "1", "m or rad", "1", "1"]);
        assert_eq!(units("geom.*.solref", "s, 1")[..2], ["s", "1"]);
        assert_eq!(component_unit("geom.*.solimp", "1, m"), "1, m");
        assert_eq!(component_unit("geom.cube.size[1]", "m"), "m");
    }
}
