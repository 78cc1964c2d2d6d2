//! `carom gradient`: a loss at the end of a motion and its derivatives, checked by differences.

mod adjoint;
mod from_distance;
pub(crate) mod problem;
mod quantity;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use carom::Model;
use carom::flow::Method;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::command_line::Argument;
use crate::failure::{COMPUTATION, Failure, finish};
use crate::{interrupt, load, progress, stdio, values};
use problem::{Answer, Problem, Variable};

/// Follows a motion and prints the derivative of a number at its end.
///
/// The motion is that of continuous time, to a tolerance: steps end where contacts begin or end, and derivatives know that
/// these times move. With `--integrator fixed` it is that of the model's own time steps, and the derivative that of the steps.
///
/// Every derivative is compared with a difference of motions; Ctrl-C leaves out the differences that are still to come.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom gradient cube.xml --set qpos[2]=0.2 --set qvel[2]=-2 --loss qpos[1] --wrt qvel[2]\n  carom gradient cube.xml --set qvel[2]=-2 --loss qpos[1] --wrt qvel[2],geom.cube.size,geom.cube.solref --tolerance 1e-9\n  carom gradient cube.xml --set qvel[2]=-2 --loss qpos[1] --wrt qvel[2] --integrator fixed\n  carom gradient billiard.xml --loss qpos[7] --wrt qvel[0] --cfd=w_c=0.2,pairs=cue_ball:red_ball"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Length of the motion (s).
    #[arg(long, default_value_t = 1.0, value_parser = values::positive_seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Set a coordinate of the initial state, or a constant control: `qpos[2]=0.2`. Can be given many times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// What to differentiate: a number of the last state, `qpos[1]`.
    #[arg(long, value_name = "NAME")]
    loss: String,
    /// With respect to what: coordinates of the initial state (`qvel[2]`), constant controls (`ctrl[0]`), parameters of the model
    /// (`geom.cube.size`), separated by commas.
    #[arg(long, value_name = "NAME,…", required = true)]
    wrt: Vec<String>,
    /// How to follow the motion: tsit5, dopri5, dopri8, bosh3, heun, midpoint, ralston, implicit (for very stiff contacts), or `fixed` for the model's own steps.
    #[arg(long, default_value = "tsit5")]
    integrator: String,
    /// Allowed error of a step, absolute and relative.
    #[arg(long, default_value = "1e-7", value_parser = values::tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Way to the derivatives: `stored` and `checkpointed=BYTES` read the steps of the motion backwards, `continuous[=TOLERANCE]`
    /// and `backsolve[=TOLERANCE]` follow the cotangents with steps of their own, the latter, fragile, without storing anything;
    /// `forward` carries the change by each variable along the motion.
    #[arg(long, default_value = "stored")]
    adjoint: String,
    /// Let contacts act from a distance in derivatives, so that those that were missed are felt; the motion stays as it is.
    /// Optionally with numbers: `--cfd=w_c=0.1,d_0=0.01,pairs=white:black`; keys are `d_c`, `d_0`, `w_c`, `m_c`, `p_c`,
    /// sharpness, geoms, pairs and in (gradients or motions).
    #[arg(long, value_name = "KEY=VALUE,…", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    cfd: Option<String>,
    /// Start from this keyframe (name or number).
    #[arg(long)]
    keyframe: Option<String>,
    /// Do not compare with differences.
    #[arg(long)]
    no_check: bool,
    /// Threads that follow the motions of the differences; all cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true, conflicts_with = "no_check")]
    threads: Option<usize>,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let mut loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    if let Some(list) = &args.cfd {
        loaded.model = from_distance::apply(loaded.model, list)?;
    }
    let problem = Problem::new(args, &loaded.model)?;
    let begin = Instant::now();
    let no = |message: String| Failure::sentence(COMPUTATION, message).answered();
    let answer = problem.solve().map_err(|error| no(error.to_string()))?;
    let seconds = begin.elapsed().as_secs_f64();
    if let Some(what) = first_not_finite(&problem, &answer) {
        let status = answer.motion.status();
        return Err(no(format!(
            "{what} is not a finite number at the end ({status})"
        )));
    }
    interrupt::watch();
    let checks = differences(args, &problem)?;
    let report = Report {
        problem: &problem,
        answer: &answer,
        seconds,
        checks: &checks,
        from_distance: (args.cfd.as_ref()).is_some_and(|list| !list.contains("in=motions")),
    };
    if args.json {
        let mut document = report.as_json(&loaded.model);
        document["interrupted"] = json!(interrupt::asked());
        document["diagnostics"] = loaded.listed();
        crate::print(&document.to_string());
    } else {
        crate::print(&report.as_text(&loaded.model));
    }
    if interrupt::asked() {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// Difference quotients by all variables; those that an interrupt has left out say so.
fn differences(args: &Args, problem: &Problem<'_>) -> Result<Vec<Option<Check>>, Failure> {
    let variables = &problem.variables;
    if args.no_check {
        return Ok(variables.iter().map(|_| None).collect());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let pool = (pool.build()).map_err(|cause| {
        Failure::sentence(COMPUTATION, format!("cannot start threads: {cause}"))
    })?;
    let progress = progress::bar(variables.len(), "differences");
    let checks = pool.install(|| {
        let check = |variable: &Variable| {
            let check = if interrupt::asked() {
                Err("not compared: interrupted".to_owned())
            } else {
                let difference = problem.difference(variable);
                difference.map_err(|error| error.to_string())
            };
            progress.inc(1);
            Some(check)
        };
        variables.par_iter().map(check).collect()
    });
    progress.finish_and_clear();
    Ok(checks)
}

/// What is not a number, if anything.
fn first_not_finite(problem: &Problem<'_>, answer: &Answer) -> Option<String> {
    if !answer.value.is_finite() {
        return Some(problem.loss_name.clone());
    }
    let mut named = problem.variables.iter().zip(&answer.derivatives);
    let (variable, _) = named.find(|(_, derivative)| !derivative.is_finite())?;
    Some(format!("the derivative by {}", variable.name))
}

/// The method of a name; none for the model's own steps.
fn method(name: &str) -> Result<Option<Method>, Failure> {
    if name == "fixed" {
        return Ok(None);
    }
    let known = Method::ALL.iter().find(|(known, _)| *known == name);
    known.map(|&(_, method)| Some(method)).ok_or_else(|| {
        let names = Method::ALL.iter().map(|&(name, _)| name);
        Argument::new("--integrator", name).unknown("integrator", names.chain(["fixed"]))
    })
}

/// A difference quotient and its error, or why there is none.
type Check = Result<(f64, f64), String>;

/// What to say at the end.
struct Report<'a> {
    problem: &'a Problem<'a>,
    answer: &'a Answer,
    seconds: f64,
    /// Difference quotients and their errors.
    checks: &'a [Option<Check>],
    /// Whether contacts act from a distance in derivatives alone.
    from_distance: bool,
}

impl Report<'_> {
    fn as_json(&self, model: &Model) -> Value {
        let Answer {
            value,
            derivatives,
            motion,
            end,
        } = self.answer;
        let rows = self
            .problem
            .variables
            .iter()
            .zip(derivatives)
            .zip(self.checks);
        let derivatives: Vec<_> = rows
            .map(|((variable, derivative), check)| {
                let check = check.as_ref().and_then(|check| check.as_ref().ok());
                json!({
                    "name": variable.name, "value": variable.value, "derivative": derivative,
                    "difference": check.map(|check| check.0), "difference_error": check.map(|check| check.1),
                })
            })
            .collect();
        let onsets: Vec<_> = motion.onsets().map(|onset| {
            json!({
                "time": onset.time, "what": onset.switch.describe(model), "begins": onset.begins,
                "rate": onset.rate, "grazes": onset.grazes,
            })
        }).collect();
        json!({
            "loss": self.problem.loss_name, "value": value, "derivatives": derivatives,
            "qpos": end.qpos, "qvel": end.qvel,
            "status": motion.status(), "steps": motion.steps(), "rejected": motion.rejected(),
            "evaluations": motion.evaluations(), "onsets": onsets, "seconds": self.seconds,
        })
    }

    fn as_text(&self, model: &Model) -> String {
        let motion = &self.answer.motion;
        let first = format!(
            "{} = {:.9} at the end",
            self.problem.loss_name, self.answer.value
        );
        let last = format!(
            "{} steps, {} taken back, {} evaluations, {:.2} ms: {}",
            motion.steps(),
            motion.rejected(),
            motion.evaluations(),
            1e3 * self.seconds,
            motion.status()
        );
        let mut lines = vec![first, String::new()];
        lines.extend(self.table());
        lines.push(String::new());
        if self.from_distance {
            lines.push(
                "derivatives feel contacts from a distance; differences are those of the motion, which does not"
                    .to_owned(),
            );
        }
        lines.extend(self.onsets(model));
        lines.push(last);
        lines.join("\n")
    }

    fn table(&self) -> Vec<String> {
        let variables = &self.problem.variables;
        let widest = variables.iter().map(|variable| variable.name.len());
        let width = widest.max().unwrap_or(0).max(4);
        let head = format!(
            "{:width$}  {:>14}  {:>16}  {:>16}  {:>9}",
            "by", "at", "derivative", "difference", "its error"
        );
        let rows = variables
            .iter()
            .zip(&self.answer.derivatives)
            .zip(self.checks);
        let rows = rows.map(|((Variable { name, value, .. }, derivative), check)| {
            let check = match check {
                Some(Ok((difference, error))) => format!("{difference:>16.9}  {error:>9.1e}"),
                Some(Err(why)) => why.clone(),
                None => String::new(),
            };
            format!("{name:width$}  {value:>14.6}  {derivative:>16.9}  {check}")
        });
        std::iter::once(head).chain(rows).collect()
    }

    fn onsets(&self, model: &Model) -> Vec<String> {
        let onsets = self.answer.motion.onsets();
        let mut lines: Vec<_> = onsets
            .map(|onset| {
                let what = onset.switch.describe(model);
                let verb = if onset.begins { "begins" } else { "ends" };
                let grazes = if onset.grazes {
                    "; it hardly touches, and has no derivative there"
                } else {
                    ""
                };
                format!(
                    "at {:.6} s {what} {verb} ({:.3} m/s){grazes}",
                    onset.time, onset.rate
                )
            })
            .collect();
        if lines.len() > MAX_LISTED_ONSETS + 1 {
            let more = lines.len() - MAX_LISTED_ONSETS;
            lines.truncate(MAX_LISTED_ONSETS);
            lines.push(format!("… and {more} more"));
        }
        lines
    }
}

/// Onsets that are listed one by one.
const MAX_LISTED_ONSETS: usize = 20;
