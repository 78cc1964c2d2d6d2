//! `carom parity`: carom beside MuJoCo, stage by stage.
//!
//! A folder of models with reference files (made by `cargo xtask reference`) is compared in pipeline order, so that
//! the first stage that fails is the cause. Tolerances are those of the reference format, by the class of the model:
//! `exact` (no contact, or closed-form colliders), `ccd` (smooth convex shapes, found by iteration) and `loose` (meshes
//! and height fields, where the choice of contact points is part of the algorithm). Nothing is skipped in silence.

mod compare;
mod constraints;
mod contacts;
mod differences;
mod reference;
mod sensors;
mod snapshots;
mod trajectory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use carom::Model;
use carom::stages::solve;
use carom_mujoco as mujoco;
use serde_json::{Value, json};

use crate::command_line::Argument;
use crate::failure::{COMPUTATION, Failure, NAME, finish};
use crate::{interrupt, load, progress, stdio, values};
use compare::{Comparison, Family, Quantity, RowNames, compare};
use reference::{Class, Entry, Reference};
use trajectory::Steps;

/// Compares carom with MuJoCo, stage by stage, by reference files that MuJoCo has computed.
///
/// One line a model says whether all quantities agree within their tolerances; those that do not are listed below it, in the order
/// of computation, so that the first one is the cause. docs/parity.md says how to make references of your own models with your own
/// MuJoCo, and how to read the table. Ctrl-C ends after the models that are being compared and sums up what was.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom parity tests/reference\n  carom parity refs --until smooth --model panda --json\n  carom parity refs --class exact --threads 1 --verbose"
)]
pub(crate) struct Args {
    /// Folder with manifest.json, or with a folder per model that holds a ref.npz.
    directory: PathBuf,
    /// How far down the pipeline to compare.
    #[arg(long, value_enum, default_value = "trajectory")]
    until: Until,
    /// Only models whose name contains this.
    #[arg(long)]
    model: Option<String>,
    /// Only models of these classes of agreement.
    #[arg(long, value_enum, value_delimiter = ',')]
    class: Vec<Class>,
    /// Print every quantity, not only those that disagree.
    #[arg(long)]
    verbose: bool,
    /// Models that are compared at the same time; as many as there are cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// How far down the pipeline to compare.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Until {
    /// Compiled constants, smooth dynamics, steps without constraints.
    Smooth,
    /// Also contacts and constraint rows.
    Contacts,
    /// Also every step and the open rollout.
    Trajectory,
}

/// What was found for one model.
struct Report {
    name: String,
    class: Option<Class>,
    comparisons: Vec<Comparison>,
    /// Steps of the trajectory that were compared, of how many.
    steps: (usize, usize),
    /// Why the model could not be compared at all.
    failure: Option<String>,
    /// Why it was compared as far as it is smooth, where more was asked for.
    smooth_because: Option<String>,
}

impl Report {
    fn failures(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons
            .iter()
            .filter(|comparison| !comparison.passed())
    }

    fn passed(&self) -> bool {
        self.failure.is_none() && self.failures().next().is_none()
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let entries = reference::discover(&args.directory)?;
    let wanted = |name: &str| {
        args.model
            .as_ref()
            .is_none_or(|part| name.contains(part.as_str()))
    };
    let chosen: Vec<_> = (entries.iter())
        .filter(|(_, entry)| wanted(&entry.name))
        .collect();
    if let (Some(part), true) = (&args.model, chosen.is_empty()) {
        let names = entries.iter().map(|(_, entry)| entry.name.as_str());
        return Err(Argument::new("--model", part).unknown("model", names));
    }
    interrupt::watch();
    let reports = compare_all(args, &chosen);
    if reports.is_empty() && !interrupt::asked() {
        let folder = args.directory.display();
        let names: Vec<_> = args.class.iter().map(|class| class.name()).collect();
        let message = format!("no model in '{folder}' is of class {}", names.join(" or "));
        return Err(Failure::sentence(NAME, message));
    }
    let (passed, count) = (
        reports.iter().filter(|report| report.passed()).count(),
        reports.len(),
    );
    let left_out = interrupt::asked().then(|| chosen.len().saturating_sub(count));
    if args.json {
        let mut document = to_json(&reports);
        document["interrupted"] = json!(left_out.is_some());
        if passed < count {
            document["error"] = json!(format!("{} of {count} models disagree", count - passed));
        }
        crate::print(&document.to_string());
    } else {
        let classes = sums(&reports);
        crate::print(&format!("{passed} of {count} models agree ({classes})"));
    }
    if let Some(left_out) = left_out {
        stdio::warn(&format!(
            "interrupted: {left_out} models were not compared\n"
        ));
        return Ok(interrupt::exit_code());
    }
    if passed == count {
        return Ok(ExitCode::SUCCESS);
    }
    let message = format!("{} of {count} models disagree with MuJoCo", count - passed);
    stdio::warn(&Failure::sentence(COMPUTATION, message).rendered());
    Ok(ExitCode::from(1))
}

/// How many agree, by class.
fn sums(reports: &[Report]) -> String {
    let of_class = |class: Class| {
        let of_class = |report: &&Report| report.class == Some(class);
        let all = reports.iter().filter(of_class);
        let (passed, count) = all.fold((0, 0), |(passed, count), report| {
            (passed + usize::from(report.passed()), count + 1)
        });
        (count > 0).then(|| format!("{} {passed} of {count}", class.name()))
    };
    let classes = [Class::Exact, Class::Ccd, Class::Loose].map(of_class);
    let classes: Vec<_> = classes.into_iter().flatten().collect();
    classes.join(", ")
}

/// Compares the models over threads and prints each report as soon as all before it are done.
fn compare_all(args: &Args, chosen: &[&(PathBuf, Entry)]) -> Vec<Report> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = args.threads.unwrap_or(cores).min(chosen.len());
    let progress = progress::bar(chosen.len(), "models");
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= chosen.len() || interrupt::asked() {
                        break;
                    }
                    let (folder, entry) = chosen[index];
                    // The receiver lives as long as the threads.
                    let _ = sender.send((index, report(args, folder, entry)));
                }
            });
        }
        drop(sender);
        let (mut waiting, mut printed) = (BTreeMap::new(), 0);
        let mut reports = Vec::new();
        for (index, report) in receiver {
            progress.inc(1);
            waiting.insert(index, report);
            // What comes first is printed first.
            while let Some(report) = waiting.remove(&printed) {
                printed += 1;
                if let Some(report) = report {
                    progress.suspend(|| show(args, &report));
                    reports.push(report);
                }
            }
        }
        progress.finish_and_clear();
        // An interrupt leaves gaps.
        for report in waiting.into_values().flatten() {
            show(args, &report);
            reports.push(report);
        }
        reports
    })
}

fn show(args: &Args, report: &Report) {
    if !args.json {
        print_report(report, args.verbose);
    }
}

/// What was found for a model; none if it is not of the classes that were asked for.
fn report(args: &Args, folder: &Path, entry: &Entry) -> Option<Report> {
    let mut report = Report {
        name: entry.name.clone(),
        class: None,
        comparisons: Vec::new(),
        steps: (0, 0),
        failure: None,
        smooth_because: None,
    };
    let reference = Reference::read(folder, entry);
    let class = reference.as_ref().ok().map(|reference| reference.class);
    if class.is_some_and(|class| !args.class.is_empty() && !args.class.contains(&class)) {
        return None;
    }
    let mut until = args.until;
    if until != Until::Smooth && entry.smooth_because.is_some() {
        until = Until::Smooth;
        report.smooth_because.clone_from(&entry.smooth_because);
    }
    let outcome = reference.and_then(|reference| examine(&reference, until, &mut report));
    report.failure = outcome.err();
    Some(report)
}

/// Compares one model as far as asked.
fn examine(reference: &Reference, until: Until, report: &mut Report) -> Result<(), String> {
    let model = load::model(&reference.model_path, &[]).map_err(|failure| failure.rendered())?;
    report.class = Some(reference.class);
    let rows = RowNames::new(&model);
    let mut tight = model.clone();
    solve::tighten(&mut tight);
    compare_constants(&model, reference, &rows, &mut report.comparisons);
    for snapshot in 0..reference.snapshots() {
        let out = &mut report.comparisons;
        snapshots::compare_smooth(&model, reference, &rows, snapshot, out)?;
        if until != Until::Smooth {
            constraints::compare_constraints(&tight, reference, &rows, snapshot, out)?;
        }
    }
    let constraint_rows = reference.numbers("traj/tight/nefc");
    let free = constraint_rows.iter().all(|&count| count == 0.0);
    let steps = if until == Until::Smooth {
        Steps::Unconstrained
    } else {
        Steps::All
    };
    let compared =
        trajectory::compare_steps(&tight, reference, &rows, steps, &mut report.comparisons)?;
    report.steps = (compared, constraint_rows.len());
    if free || until == Until::Trajectory {
        for snapshot in 0..reference.snapshots() {
            let out = &mut report.comparisons;
            differences::compare_differences(&tight, reference, &rows, snapshot, out)?;
        }
        trajectory::compare_rollout(&tight, reference, &rows, &mut report.comparisons)?;
    }
    Ok(())
}

/// Compares every `model/*` entry that carom knows.
fn compare_constants(
    model: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    out: &mut Vec<Comparison>,
) {
    let meshes = model.counts().nmesh > 0;
    let tolerance_of = |name: &str| match name {
        // Ranges given in the file are copied, computed ones come from a simulation.
        "actuator_lengthrange" => 1e-6,
        _ if meshes && reference.class == Class::Loose => 1e-7,
        _ => 1e-12,
    };
    let mut check = |name: &str, family: Family, ours: &[f64], theirs: &[f64]| {
        let quantity = Quantity {
            stage: "model",
            name: name.to_owned(),
            family,
            tolerance: tolerance_of(name),
        };
        out.push(compare(quantity, rows, ours, theirs));
    };
    for constant in mujoco::constants() {
        let Some(theirs) = reference.get(&format!("model/{}", constant.name)) else {
            continue;
        };
        let ours = constant.get(model);
        let mut theirs = theirs.to_vec();
        // Codes that carom does not express as MuJoCo's pair of ids.
        for (a, b) in ours.iter().zip(&mut theirs) {
            if a.is_nan() {
                *b = f64::NAN;
            }
        }
        check(constant.name, constant.family, &ours, &theirs);
    }
    if let (Some(quats), Some(inertias)) = (
        reference.get("model/body_iquat"),
        reference.get("model/body_inertia"),
    ) {
        let theirs: Vec<f64> = quats
            .as_chunks::<4>()
            .0
            .iter()
            .zip(inertias.as_chunks::<3>().0)
            .flat_map(|(quat, inertia)| {
                mujoco::inertia_tensor(&carom::math::Quat(*quat).to_mat3(), &(*inertia).into())
            })
            .collect();
        let ours = mujoco::body_inertia_tensors(model);
        check("body_inertia, body_iquat", Family::Body, &ours, &theirs);
    }
    if let Some(quats) = reference.get("model/geom_quat") {
        let mesh_quats = reference.numbers("model/mesh_quat").as_chunks::<4>().0;
        let theirs: Vec<f64> = quats
            .as_chunks::<4>()
            .0
            .iter()
            .zip(&model.structure.geoms.shape)
            .flat_map(|(quat, shape)| {
                let mesh = match *shape {
                    carom::model::GeomShape::Mesh(mesh) => {
                        mesh_quats.get(mesh).map(|quat| carom::math::Quat(*quat))
                    }
                    _ => None,
                };
                mujoco::geom_orientation(carom::math::Quat(*quat), mesh)
            })
            .collect();
        check(
            "geom_quat",
            Family::Geom,
            &mujoco::geom_orientations(model),
            &theirs,
        );
    }
}

fn print_report(report: &Report, verbose: bool) {
    if let Some(failure) = &report.failure {
        crate::print(&format!("{:<28} FAILED\n{failure}", report.name));
        return;
    }
    let verdict = match report.failures().next() {
        None => "ok".to_owned(),
        Some(first) => {
            format!(
                "FAILED first at {}: {} quantities",
                first.stage,
                report.failures().count()
            )
        }
    };
    let (compared, steps) = report.steps;
    let class = report.class.map_or("", Class::name);
    crate::print(&format!(
        "{:<28} {class:<5} {verdict} ({compared} of {steps} steps)",
        report.name
    ));
    if let Some(why) = &report.smooth_because {
        crate::print(&format!("    compared as far as it is smooth: {why}"));
    }
    for comparison in &report.comparisons {
        let informs = !comparison.judged && comparison.error > comparison.tolerance;
        if verbose || !comparison.passed() || (informs && !report.passed()) {
            crate::print(&format!("    {}", describe(comparison)));
        }
    }
}

fn describe(comparison: &Comparison) -> String {
    let Comparison {
        stage,
        quantity,
        error,
        tolerance,
        worst,
        note,
        ..
    } = comparison;
    let place = worst.as_ref().map_or(String::new(), |worst| {
        format!(
            "  {}[{}]: carom {:?}, MuJoCo {:?}",
            worst.element, worst.component, worst.ours, worst.theirs
        )
    });
    let note = note
        .as_deref()
        .map_or(String::new(), |note| format!("  {note}"));
    let judged = if comparison.judged {
        ""
    } else {
        "  (for information)"
    };
    format!(
        "{stage:<13} {quantity:<34} {error:9.2e} (allowed {tolerance:.0e}){place}{note}{judged}"
    )
}

fn to_json(reports: &[Report]) -> Value {
    let models: Vec<_> = reports
        .iter()
        .map(|report| {
            let quantities: Vec<_> = report
                .comparisons
                .iter()
                .map(|comparison| {
                    json!({
                        "stage": comparison.stage,
                        "quantity": comparison.quantity,
                        "error": if comparison.error.is_finite() { json!(comparison.error) } else { json!("inf") },
                        "tolerance": comparison.tolerance,
                        "passed": comparison.passed(),
                        "judged": comparison.judged,
                        "element": comparison.worst.as_ref().map(|worst| &worst.element),
                        "carom": comparison.worst.as_ref().map(|worst| worst.ours),
                        "mujoco": comparison.worst.as_ref().map(|worst| worst.theirs),
                        "note": comparison.note,
                    })
                })
                .collect();
            json!({
                "model": report.name,
                "class": report.class.map(Class::name),
                "passed": report.passed(),
                "failure": report.failure,
                "smooth_because": report.smooth_because,
                "first_failing_stage": report.failures().next().map(|comparison| comparison.stage),
                "steps_compared": report.steps.0,
                "steps": report.steps.1,
                "quantities": quantities,
            })
        })
        .collect();
    let passed = reports.iter().filter(|report| report.passed()).count();
    json!({ "passed": passed, "models": models })
}
