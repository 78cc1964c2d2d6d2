//! `carom check`: what a model file holds, and what to know before simulating it.

mod contacts;
mod gradients;
mod stages;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::Model;
use carom::model::{Integrator, JointKind};
use carom_contact_units::survey;
use carom_spec::Diagnostic;
use serde_json::json;

use crate::failure::{self, COMPUTATION, Failure};
use crate::load::{self, Loaded};
use crate::{interrupt, stdio, values};

/// Code of warnings about contacts that the time step or their stiffness spoils.
const CONTACTS: &str = "E102";

/// Prints what a model holds, what its contacts mean, how long the stages of a step take, and every problem.
///
/// The exit code is 1 if the model has errors, or if --gradients finds a gradient that is wrong. Ctrl-C ends --gradients after the state
/// that is being looked at; what was compared is reported.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom check arm.xml\n  carom check robot.urdf --json\n  carom check arm.xml --gradients\n  carom check arm.xml --gradients --seed 7 --no-timing"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Leave out the times of the stages.
    #[arg(long)]
    no_timing: bool,
    /// Compare gradients by every quantity with dual numbers and central differences; fails where dual numbers disagree.
    #[arg(long)]
    gradients: bool,
    /// Start of the random numbers that choose states and directions for --gradients.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "gradients")]
    seed: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    match load::load(&args.model, &args.allow) {
        Ok(loaded) => report(args, loaded),
        Err(failure) if args.json => {
            let code = failure.report(false);
            let mut document = failure.to_json();
            document["valid"] = json!(false);
            crate::print(&document.to_string());
            code
        }
        Err(failure) => failure.report(false),
    }
}

fn report(args: &Args, loaded: Loaded) -> ExitCode {
    let Loaded {
        model,
        mut diagnostics,
        sources,
        ..
    } = loaded;
    let facts = facts(&model);
    let kinds = survey(&model);
    let concerns = contacts::warnings(&model, &kinds).into_iter();
    diagnostics.extend(concerns.map(|sentence| Diagnostic::warning(CONTACTS, sentence)));
    // What is known is printed at once: the rest can take a while.
    let say = |lines: &[String]| {
        if !args.json {
            for line in lines {
                crate::print(line);
            }
        }
    };
    let table = facts
        .iter()
        .map(|fact| format!("{:<24} {}", fact.label, fact.text));
    say(&table.collect::<Vec<_>>());
    say(&contacts::lines(&model, &kinds));
    let profile = (!args.no_timing).then(|| stages::profile(&model));
    if let Some(profile) = &profile {
        say(&[String::new()]);
        say(&stages::lines(&stem(&args.model), profile));
    }
    let gradients = args.gradients.then(|| gradients::check(&model, args.seed));
    if let Some(checked) = &gradients {
        say(&[String::new()]);
        match checked {
            Ok(report) => say(&gradients::lines(report)),
            Err(why) => say(&[format!("no gradients: {why}")]),
        }
    }
    let problem = match &gradients {
        Some(Ok(report)) => gradients::problem(report),
        Some(Err(_)) => Some("there are no gradients".to_owned()),
        None => None,
    };
    if let Some(Ok(report)) = &gradients
        && let Some(doubts) = gradients::doubts(report)
    {
        stdio::warn(&format!("warning: {doubts}\n"));
    }
    if args.json {
        let facts = facts
            .into_iter()
            .map(|fact| (fact.key.to_owned(), fact.value));
        let gradients = gradients.as_ref().map(|checked| match checked {
            Ok(report) => gradients::to_json(report),
            Err(why) => json!({ "agrees": false, "refused": why }),
        });
        let mut document = json!({
            "valid": true,
            "model": facts.collect::<serde_json::Map<_, _>>(),
            "contacts": contacts::to_json(&model, &kinds),
            "timing": profile.as_ref().map(stages::to_json),
            "gradients": gradients,
            "diagnostics": failure::listed(&diagnostics, &sources),
        });
        document["interrupted"] = json!(interrupt::asked());
        if let Some(problem) = &problem {
            document["error"] = json!(problem);
        }
        crate::print(&document.to_string());
    } else {
        crate::print("");
        stdio::warn(&carom_spec::diagnostic::render_all(&diagnostics, &sources));
        let warnings = match diagnostics.len() {
            1 => "1 warning".to_owned(),
            count => format!("{count} warnings"),
        };
        crate::print(&format!("{}: valid, {warnings}", args.model.display()));
    }
    if let Some(problem) = problem {
        let message = format!("'{}': {problem}", args.model.display());
        stdio::warn(&Failure::sentence(COMPUTATION, message).rendered());
        return ExitCode::from(1);
    }
    if interrupt::asked() {
        return interrupt::exit_code();
    }
    ExitCode::SUCCESS
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// One line of the table.
struct Fact {
    key: &'static str,
    label: &'static str,
    value: serde_json::Value,
    text: String,
}

/// A value as a person would write it.
fn readable(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) => {
            let words: Vec<_> = list.iter().map(readable).collect();
            words.join(", ")
        }
        // Sums have an error in the last digit, which says nothing.
        serde_json::Value::Number(number) => match number.as_f64() {
            Some(value) if !number.is_u64() => {
                let rounded = format!("{value:.12e}").parse().unwrap_or(value);
                rounded.to_string()
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn fact(key: &'static str, label: &'static str, value: serde_json::Value) -> Fact {
    let text = readable(&value);
    Fact {
        key,
        label,
        value,
        text,
    }
}

fn facts(model: &Model) -> Vec<Fact> {
    let (n, structure) = (model.counts(), &model.structure);
    let joints = |wanted: JointKind| {
        structure
            .joints
            .kind
            .iter()
            .filter(|&&kind| kind == wanted)
            .count()
    };
    let integrator = match model.settings.integrator {
        Integrator::Euler => "Euler",
        Integrator::RungeKutta4 => "RK4",
        Integrator::Implicit => "implicit",
        Integrator::ImplicitFast => "implicitfast",
    };
    // The world has no mass of its own.
    let moving = model.bodies.mass[1..].iter().copied();
    let masses = moving.filter(|&mass| mass > 0.0);
    let (lightest, heaviest) = masses.fold((f64::INFINITY, 0.0f64), |(low, high), mass| {
        (low.min(mass), high.max(mass))
    });
    let joint_text = format!(
        "{} ({} free, {} ball, {} slide, {} hinge)",
        n.njoint,
        joints(JointKind::Free),
        joints(JointKind::Ball),
        joints(JointKind::Slide),
        joints(JointKind::Hinge)
    );
    let mut facts = vec![
        fact("name", "model", json!(structure.names.model)),
        fact("nq", "coordinates (nq)", json!(n.nq)),
        fact("nv", "degrees of freedom (nv)", json!(n.nv)),
        fact("nu", "controls (nu)", json!(n.nu)),
        fact("na", "activations (na)", json!(n.na)),
        fact("bodies", "bodies", json!(n.nbody - 1)),
        Fact {
            key: "joints",
            label: "joints",
            value: json!(n.njoint),
            text: joint_text,
        },
        fact("trees", "kinematic trees", json!(n.ntree)),
        fact("geoms", "geoms", json!(n.ngeom)),
        fact("sites", "sites", json!(n.nsite)),
        fact("meshes", "meshes", json!(n.nmesh)),
        fact("tendons", "tendons", json!(n.ntendon)),
        fact("equalities", "equality constraints", json!(n.nequality)),
        fact("sensors", "sensors", json!(n.nsensor)),
        fact("keyframes", "keyframes", json!(structure.names.keyframes)),
        fact("timestep", "time step (s)", json!(model.option.timestep[0])),
        fact("integrator", "integrator", json!(integrator)),
        fact(
            "gravity",
            "gravity (m/s²)",
            json!(model.option.gravity[0].0),
        ),
        fact(
            "mass",
            "total mass (kg)",
            json!(model.bodies.subtree_mass.first()),
        ),
    ];
    if heaviest > 0.0 {
        facts.push(fact("lightest", "lightest body (kg)", json!(lightest)));
        facts.push(fact("heaviest", "heaviest body (kg)", json!(heaviest)));
    }
    facts.retain(|fact| fact.value != json!(0) && fact.value != json!([]));
    facts
}
