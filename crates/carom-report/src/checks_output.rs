//! What the checks found, as text and as JSON.

use carom_tasks::evaluate::figure;
use carom_tasks::identify::{CrossValidation, Outcome, ParameterProfile, ProfileEnd, Recovery};
use serde_json::{Value, json};

/// Sections of the text, as far as the checks were made.
pub(crate) fn as_text(found: &Outcome) -> Vec<String> {
    let checks = &found.checks;
    let mut lines = Vec::new();
    if let Some(profiles) = &checks.profiles {
        lines.push("profile likelihoods:".to_owned());
        let names = profiles.iter().map(|profile| profile.name.chars().count());
        let width = names.max().unwrap_or(0);
        for profile in profiles {
            let (name, interval) = (&profile.name, profile_interval(profile));
            lines.push(format!("  {name:width$}  {interval}"));
        }
        let words = profiles.iter().flat_map(|profile| &profile.words);
        lines.extend(words.map(|words| format!("  {words}")));
    }
    if let Some(folds) = &checks.cross_validation {
        lines.push(format!(
            "cross-validation over {} folds, errors of trajectories that were fitted and held out:",
            folds.folds.len()
        ));
        lines.extend(fold_lines(folds));
    }
    if let Some(recovery) = &checks.recovery {
        lines.push(format!(
            "recovery of a known truth from {} synthetic sets:",
            recovery.rounds
        ));
        lines.extend(recovery_lines(recovery));
    }
    if !checks.suggestions.is_empty() {
        lines.push("what to record next:".to_owned());
        let words = checks
            .suggestions
            .iter()
            .map(|one| format!("  {}", one.words()));
        lines.extend(words);
    }
    lines
}

/// `0.17 … 0.19`, with open ends.
pub(crate) fn profile_interval(profile: &ParameterProfile) -> String {
    let [low, high] = profile.ends;
    let low = match low {
        ProfileEnd::Open(_) => "open".to_owned(),
        end => figure(end.value()),
    };
    let high = match high {
        ProfileEnd::Open(_) => "open".to_owned(),
        end => figure(end.value()),
    };
    format!("{low} … {high}")
}

fn fold_lines(folds: &CrossValidation) -> Vec<String> {
    let mut lines = Vec::new();
    let errors = folds.fitted_errors.iter().zip(&folds.held_out_errors);
    for ((metric, (fitted, held_out)), ratio) in
        folds.metrics.iter().zip(errors).zip(folds.ratios())
    {
        let ratio = if ratio.is_finite() {
            format!("×{ratio:.2}")
        } else {
            String::new()
        };
        lines.push(format!(
            "  {:24} {:>10}   {:>10}  {ratio}",
            metric.head(),
            figure(*fitted),
            figure(*held_out)
        ));
    }
    for (index, name) in folds.names.iter().enumerate() {
        let values = folds.folds.iter().map(|fold| figure(fold.values[index]));
        let values: Vec<String> = values.collect();
        let deviation = figure(folds.deviations[index]);
        lines.push(format!("  {name}: {} (±{deviation})", values.join(", ")));
    }
    lines.extend(folds.words.iter().map(|words| format!("  {words}")));
    lines
}

fn recovery_lines(recovery: &Recovery) -> Vec<String> {
    let names = recovery
        .parameters
        .iter()
        .map(|one| one.name.chars().count());
    let width = names.max().unwrap_or(0);
    let mut lines = Vec::new();
    for one in &recovery.parameters {
        lines.push(format!(
            "  {:width$}  truth {:>10}  within {} of {} intervals  mean error {}",
            one.name,
            figure(one.truth),
            one.held,
            recovery.rounds,
            figure(one.bias)
        ));
    }
    lines.extend(recovery.words.iter().map(|words| format!("  {words}")));
    lines
}

/// The same for programs; null where a check was not made.
pub(crate) fn as_json(found: &Outcome) -> Value {
    let checks = &found.checks;
    let suggestions: Vec<Value> = (checks.suggestions.iter())
        .map(|one| {
            let tells: Vec<Value> = (one.tells.iter())
                .map(|told| {
                    json!({ "parameter": told.parameter, "before": told.before, "after": told.after })
                })
                .collect();
            json!({ "motion": one.motion, "tells": tells, "words": one.words() })
        })
        .collect();
    json!({
        "profiles": checks.profiles.as_ref().map(|all| all.iter().map(profile).collect::<Vec<_>>()),
        "cross_validation": checks.cross_validation.as_ref().map(cross_validation),
        "recovery": checks.recovery.as_ref().map(recovery),
        "suggestions": suggestions,
    })
}

fn profile(profile: &ParameterProfile) -> Value {
    let end = |end: ProfileEnd| match end {
        ProfileEnd::At(value) => json!({ "value": value, "kind": "end" }),
        ProfileEnd::Bound(value) => json!({ "value": value, "kind": "bound" }),
        ProfileEnd::Open(value) => json!({ "value": value, "kind": "open" }),
    };
    let points: Vec<Value> = (profile.points.iter())
        .map(
            |point| json!({ "value": point.value, "rise": point.rise, "parabola": point.parabola }),
        )
        .collect();
    json!({
        "name": profile.name, "lower": end(profile.ends[0]), "upper": end(profile.ends[1]), "points": points,
        "lower_loss": profile.lower_loss, "evaluations": profile.evaluations, "words": profile.words,
    })
}

fn cross_validation(found: &CrossValidation) -> Value {
    let errors = |numbers: &[f64]| {
        let pairs = found.metrics.iter().zip(numbers);
        let pairs = pairs.map(|(metric, number)| (metric.name.clone(), json!(number)));
        Value::Object(pairs.collect())
    };
    let by_name = |numbers: &[f64]| {
        let pairs = found.names.iter().zip(numbers);
        let pairs = pairs.map(|(name, number)| (name.clone(), json!(number)));
        Value::Object(pairs.collect())
    };
    let folds: Vec<Value> = (found.folds.iter())
        .map(|fold| {
            json!({
                "held_out": fold.held_out, "parameters": by_name(&fold.values),
                "fitted_errors": errors(&fold.fitted_errors), "held_out_errors": errors(&fold.held_out_errors),
                "end": fold.end,
            })
        })
        .collect();
    json!({
        "folds": folds, "fitted_errors": errors(&found.fitted_errors),
        "held_out_errors": errors(&found.held_out_errors), "ratios": errors(&found.ratios()),
        "deviations": by_name(&found.deviations), "words": found.words,
    })
}

fn recovery(found: &Recovery) -> Value {
    let parameters: Vec<Value> = (found.parameters.iter())
        .map(|one| {
            json!({
                "name": one.name, "truth": one.truth, "values": one.values, "intervals": one.intervals,
                "held": one.held, "bias": one.bias,
            })
        })
        .collect();
    json!({
        "rounds": found.rounds, "passed": found.is_passed, "parameters": parameters,
        "failures": found.failures, "words": found.words,
    })
}
