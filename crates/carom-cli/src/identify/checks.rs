//! What is looked at beyond the search: profiles, folds, recovery, motions to record next, and the replay gate.

use std::fmt::Write as _;

use carom_tasks::identify::{
    CrossValidation, Excitation, Inspection, ParameterProfile, Recovery, Task, replay_objections,
};

use super::{Args, Found, failed};
use crate::failure::Failure;
use crate::{interrupt, stdio};

/// What was looked at, as far as it was asked for.
#[derive(Default)]
pub(crate) struct Checks {
    /// Motions that would tell what the recordings do not.
    pub(crate) suggestions: Vec<Excitation>,
    /// Profile likelihoods; none if they were left out.
    pub(crate) profiles: Option<Vec<ParameterProfile>>,
    pub(crate) cross_validation: Option<CrossValidation>,
    pub(crate) recovery: Option<Recovery>,
}

/// Motions that would tell what the recordings do not, before the search: where something cannot be told, or is told badly although
/// the noise is known.
pub(crate) fn before(task: &Task<'_>, inspection: &Inspection) -> Vec<Excitation> {
    let channels = &task.problem().recordings().channels;
    let mut compared = channels.iter().filter(|channel| channel.is_compared);
    let has_noise = compared.all(|channel| channel.noise.is_some());
    let is_weak = has_noise && !inspection.weak.is_empty();
    if inspection.refusal().is_none() && !is_weak {
        return Vec::new();
    }
    // A suggestion is a courtesy: where there is none, the search says what is wrong.
    task.suggest(task.start_theta(), 1.0).unwrap_or_default()
}

/// Says before a search what could be recorded to make it better.
pub(crate) fn say(suggestions: &[Excitation]) {
    if suggestions.is_empty() {
        return;
    }
    let mut text =
        "note: the recordings tell some parameters badly; what to record next:\n".to_owned();
    for suggestion in suggestions {
        let _ = writeln!(text, "  - {}", suggestion.words());
    }
    stdio::warn(&text);
}

/// Looks at all that was asked for, after the search.
pub(crate) fn after(
    args: &Args,
    found: &Found<'_>,
    suggestions: Vec<Excitation>,
) -> Result<Checks, Failure> {
    let Found {
        task,
        solution,
        identified,
        ..
    } = found;
    let mut checks = Checks {
        suggestions,
        ..Checks::default()
    };
    if solution.is_stopped {
        return Ok(checks);
    }
    let stop = Some(interrupt::flag());
    // What was said before goes by the noise of the mapping; now the residuals tell it.
    checks.suggestions = if identified.weak.is_empty() {
        Vec::new()
    } else {
        let suggested = task.suggest(&identified.theta, identified.noise);
        suggested.unwrap_or(checks.suggestions)
    };
    // Where derivatives mislead, every fit of a profile takes many more simulations, and its ends are those of roughness.
    let is_smooth = solution.is_finished && !solution.is_by_chords;
    if args.profiles || (is_smooth && task.profiles_are_cheap()) {
        let profiles = task.profiles(solution, identified, stop);
        checks.profiles = Some(profiles.map_err(|error| failed(&error))?);
    }
    if let Some(folds) = args.folds {
        let answer = task.cross_validate(folds, identified, stop);
        checks.cross_validation = Some(answer.map_err(|error| failed(&error))?);
    }
    if let Some(rounds) = args.recovery {
        let answer = task.recover(rounds, identified, stop);
        checks.recovery = Some(answer.map_err(|error| failed(&error))?);
    }
    Ok(checks)
}

/// Why the answer is no success.
pub(crate) fn objections(found: &Found<'_>) -> Vec<String> {
    let mut objections = replay_objections(
        [found.inspection.value, found.solution.value],
        &found.fitted,
        found.kept_back.as_ref(),
    );
    if let Err(why) = &found.description {
        objections.push(why.clone());
    }
    if found.solution.is_stalled {
        objections.push(format!(
            "the search is stuck and not at a minimum ({}): the values are the best that it met, and intervals mean little; try shorter segments, another start or --optimiser cmaes",
            found.solution.end
        ));
    }
    objections
}
