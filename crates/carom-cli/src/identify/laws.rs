//! `carom identify --laws`: which contact law explains the recordings best.

use std::io::Write as _;
use std::process::ExitCode;

use carom_tasks::evaluate::figure;
use carom_tasks::identify::calibrated_at;
use carom_tasks::identify::laws::{Candidate, LawChoice, LawFit, LawQuestion, choose_law};
use carom_tasks::recording::Recordings;
use serde_json::{Value, json};

use super::Args;
use crate::command_line::Argument;
use crate::failure::Failure;
use crate::load::Loaded;
use crate::{interrupt, output, stdio};

/// Chooses the law, writes the model and says what was found.
pub(super) fn answer(
    args: &Args,
    names: &str,
    loaded: &Loaded,
    [recordings, held_out]: [Option<&Recordings>; 2],
) -> Result<ExitCode, Failure> {
    let candidates = candidates(names)?;
    let Some(recordings) = recordings else {
        return Ok(ExitCode::SUCCESS);
    };
    interrupt::watch();
    let question = LawQuestion {
        spec: &loaded.spec,
        original: Some(loaded.original()),
        recordings,
        held_out,
        candidates: &candidates,
        seed: args.seed.unwrap_or(0),
    };
    let mut told = |fit: &LawFit| {
        if !args.json {
            stdio::warn(&format!("{}\n", line(fit)));
        }
    };
    let mut choose = || choose_law(&question, interrupt::flag(), &mut told);
    let choice = match args.threads {
        None => choose(),
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|cause| {
                Failure::sentence(
                    crate::failure::READ,
                    format!("cannot start threads: {cause}"),
                )
            })?;
            pool.install(choose)
        }
    }?;
    if args.json {
        crate::print(&json(&choice).to_string());
    } else {
        crate::print(&text(&choice));
    }
    if let Some(path) = &args.out {
        let placed = calibrated_at(&choice.description, &args.model, path)?;
        output::write_whole(path, |out| out.write_all(placed.as_bytes()))?;
        if !args.json {
            crate::print(&format!("calibrated model: {}", path.display()));
        }
    }
    if interrupt::asked() {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// The laws that were asked for.
fn candidates(names: &str) -> Result<Vec<Candidate>, Failure> {
    if names == "auto" {
        return Ok(Candidate::ALL.to_vec());
    }
    let mut found = Vec::new();
    for name in Argument::new("--laws", names).split(',') {
        let known = Candidate::ALL
            .into_iter()
            .find(|candidate| candidate.name() == name.text());
        let all = Candidate::ALL.iter().map(|candidate| candidate.name());
        found.push(known.ok_or_else(|| name.unknown("contact law", all))?);
    }
    Ok(found)
}

fn line(fit: &LawFit) -> String {
    let numbers: Vec<String> = fit
        .numbers
        .iter()
        .map(|(name, value, unit)| {
            format!("{name} {} {unit}", figure(*value))
                .trim()
                .to_owned()
        })
        .collect();
    format!(
        "{:20} {:>10} {:>10}   {}",
        fit.candidate.name(),
        figure(fit.left_out),
        figure(fit.fitted),
        numbers.join(", ")
    )
}

fn text(choice: &LawChoice) -> String {
    let mut lines = vec![format!(
        "{:20} {:>10} {:>10}   numbers",
        "law", "left out", "fit"
    )];
    lines.extend(choice.fits.iter().map(line));
    lines.push(format!(
        "chosen: {}, in {:.0} s",
        choice.best().candidate.name(),
        choice.seconds
    ));
    let error = |error: Option<f64>| error.map_or("–".to_owned(), figure);
    for (what, [mapped, estimated]) in [("fit", choice.fitted), ("held out", choice.held_out)] {
        if mapped.is_some() || estimated.is_some() {
            lines.push(format!(
                "{what}: distance and angle {} from the initial states of the mapping, {} from estimated ones",
                error(mapped),
                error(estimated)
            ));
        }
    }
    lines.join("\n")
}

fn json(choice: &LawChoice) -> Value {
    let fit = |fit: &LawFit| {
        let numbers = fit
            .numbers
            .iter()
            .map(|(name, value, unit)| json!({"name": name, "value": value, "unit": unit}));
        json!({
            "law": fit.candidate.name(), "left_out": fit.left_out, "fitted": fit.fitted,
            "evaluations": fit.evaluations, "numbers": numbers.collect::<Vec<_>>(),
        })
    };
    let errors = |[mapped, estimated]: [Option<f64>; 2]| json!({"initial_states_of_the_mapping": mapped, "estimated_initial_states": estimated});
    json!({
        "laws": choice.fits.iter().map(fit).collect::<Vec<_>>(),
        "chosen": choice.best().candidate.name(),
        "parameters": fit(choice.best())["numbers"],
        "distance_and_angle": {"fit": errors(choice.fitted), "held_out": errors(choice.held_out)},
        "seconds": choice.seconds,
    })
}
