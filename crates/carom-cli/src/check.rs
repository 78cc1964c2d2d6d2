//! `carom check`: what a model file holds, and what to know before simulating it.

use std::path::PathBuf;
use std::process::ExitCode;

use carom::Model;
use carom::model::{Integrator, JointKind};
use serde_json::json;

use crate::load;

/// Prints what a model holds, and every problem with it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  carom check arm.xml\n  carom check robot.urdf --json")]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_delimiter = ',')]
    allow: Vec<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    match load::load(&args.model, &args.allow) {
        Ok(loaded) => {
            let facts = facts(&loaded.model);
            if args.json {
                let facts: serde_json::Map<_, _> = facts
                    .into_iter()
                    .map(|fact| (fact.key.to_owned(), fact.value))
                    .collect();
                let diagnostics: serde_json::Value = serde_json::from_str(
                    &carom_spec::diagnostic::to_json(&loaded.diagnostics, &loaded.sources),
                )
                .unwrap_or_default();
                crate::print(
                    &json!({ "valid": true, "model": facts, "diagnostics": diagnostics })
                        .to_string(),
                );
            } else {
                for fact in &facts {
                    crate::print(&format!("{:<24} {}", fact.label, fact.text));
                }
                eprint!("{}", loaded.warnings);
                crate::print(&format!(
                    "{}: valid, {} warnings",
                    args.model.display(),
                    loaded.diagnostics.len()
                ));
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            if args.json {
                crate::print(&format!(
                    "{{\"valid\":false,\"diagnostics\":{}}}",
                    problem.json
                ));
            } else {
                eprint!("{}", problem.rendered);
            }
            ExitCode::from(if problem.unreadable { 2 } else { 1 })
        }
    }
}

/// One line of the table.
struct Fact {
    key: &'static str,
    label: &'static str,
    value: serde_json::Value,
    text: String,
}

fn fact(key: &'static str, label: &'static str, value: serde_json::Value) -> Fact {
    let text = match &value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
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
    let masses = model
        .bodies
        .mass
        .iter()
        .skip(1)
        .copied()
        .filter(|&mass| mass > 0.0);
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
