//! `carom bench`: CPU time per step of a model, and answers to the benchmark harness.

mod gradient;
mod identify;
mod linearize;
mod motion;
mod threads;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::rollout::Adjoint;
use carom::{Data, Dynamics, Input, Model, State};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::command_line::unfit;
use crate::failure::{COMPUTATION, CONTENT, Failure, READ, finish};
use crate::{interrupt, load, progress, stdio, values};
use identify::Question;
use motion::Motion;
use threads::Batch;

/// Measures steps per second of a model on one core, or with --threads of batches on several.
///
/// Without a model, requests are read from standard input, one JSON object a line, and answered likewise; `cargo xtask bench` asks so.
/// Ctrl-C ends the measurement and reports the batches that were done.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom bench models/humanoid.xml\n  carom bench models/humanoid.xml --disable contact --json\n  carom bench models/humanoid.xml --threads 1,2\n  echo '{\"model\": \"models/cube.xml\", \"steps\": 1000}' | carom bench"
)]
pub(crate) struct Args {
    /// Model file; without it, requests are read from standard input as JSON lines.
    model: Option<PathBuf>,
    /// Steps of one batch.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = values::count, allow_negative_numbers = true, requires = "model")]
    steps: usize,
    /// Number of batches.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = values::count, allow_negative_numbers = true, requires = "model")]
    batches: usize,
    /// Switch off features: contact, constraint, sensor.
    #[arg(long, value_enum, value_delimiter = ',', requires = "model")]
    disable: Vec<Feature>,
    /// Measure batches of trajectories spread over this many threads, in wall time, instead of single steps. Several
    /// numbers are measured in turns and compared: `--threads 1,2`.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = values::threads, allow_negative_numbers = true, requires = "model")]
    threads: Vec<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What can be switched off.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    /// Contacts.
    Contact,
    /// All constraints.
    Constraint,
    /// Sensors.
    Sensor,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(
        args.json,
        match &args.model {
            Some(model) => measure(args, model),
            None => serve().map(|()| ExitCode::SUCCESS),
        },
    )
}

/// Most steps of a batch, and of all: controls are made beforehand.
const MAX_STEPS: usize = 10_000_000;

fn measure(args: &Args, path: &Path) -> Result<ExitCode, Failure> {
    let mut case = Case::new(path, args.steps, &args.disable)?;
    interrupt::watch();
    let progress = progress::bar(args.batches, "batches");
    if !args.threads.is_empty() {
        return threads::measure(args, &case, path, &progress);
    }
    let mut times = Vec::new();
    for _ in 0..args.batches {
        times.push(case.cpu_microseconds_per_step());
        progress.inc(1);
        if interrupt::asked() {
            break;
        }
    }
    progress.finish_and_clear();
    let batches = times.len();
    let (least, median) = least_and_median(times);
    if args.json {
        let document = json!({
            "minimum_us": least, "median_us": median, "batches": batches, "interrupted": interrupt::asked(),
        });
        crate::print(&document.to_string());
    } else {
        crate::print(&format!(
            "{}: {least:.3} µs/step at best, {median:.3} µs median of {batches} batches ({:.0} steps/s)",
            path.display(),
            1e6 / median
        ));
    }
    Ok(ended())
}

/// The exit code at the end of a measurement.
fn ended() -> ExitCode {
    if interrupt::asked() {
        return interrupt::exit_code();
    }
    ExitCode::SUCCESS
}

/// Least and median of a non-empty list.
fn least_and_median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

/// Answers requests until standard input ends: JSON lines as [`Case::from_request`] reads them.
fn serve() -> Result<(), Failure> {
    if std::io::stdin().is_terminal() {
        stdio::warn(
            "reading requests, one JSON object a line (see carom bench --help); to measure a model: carom bench MODEL\n",
        );
    }
    let mut cases: Vec<(String, (Measure, Case))> = Vec::new();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|cause| {
            Failure::sentence(
                READ,
                format!("cannot read requests from standard input: {cause}"),
            )
        })?;
        reply(&line, &mut cases).map_err(|mut failure| {
            if let Some(last) = failure.diagnostics.pop() {
                let number = number + 1;
                (failure.diagnostics)
                    .push(last.note(format!("request on line {number} of standard input")));
            }
            failure
        })?;
    }
    Ok(())
}

/// Answers a request.
fn reply(line: &str, cases: &mut Vec<(String, (Measure, Case))>) -> Result<(), Failure> {
    let bad = |message: String| Failure::sentence(CONTENT, message);
    let known = cases.iter().position(|(request, _)| *request == line);
    let index = known.unwrap_or(cases.len());
    if known.is_none() {
        let request: Value = serde_json::from_str(line)
            .map_err(|cause| bad(format!("the request is not JSON: {cause}")))?;
        let case = Case::from_request(&request)?;
        let measure = Measure::from_request(&request, &case.model).map_err(bad)?;
        cases.push((line.to_owned(), (measure, case)));
    }
    let (measure, case) = &mut cases[index].1;
    let no = |message: String| Failure::sentence(COMPUTATION, message).answered();
    let (mut found, mut solution) = (None, None);
    let microseconds = match measure {
        Measure::Step => case.cpu_microseconds_per_step(),
        Measure::Batch(batch) => batch.cpu_microseconds_per_step(case),
        Measure::Backward => gradient::backward(case).map_err(no)?,
        Measure::Gradient(adjoint) => gradient::whole(case, *adjoint).map_err(no)?,
        Measure::Load => case.cpu_microseconds_to_load()?,
        Measure::FirstGradient => gradient::first(&case.path).map_err(no)?,
        Measure::Linearize => linearize::steps(case),
        Measure::LinearizeAfterStep => linearize::after_steps(case),
        Measure::Acceleration => linearize::accelerations(case).map_err(no)?,
        Measure::MotionGradient(motion) => {
            let measured = motion.measure(case).map_err(no)?;
            found = Some((measured.derivative, motion.parameters()));
            measured.microseconds
        }
        Measure::Identify(question) => {
            let (microseconds, end) = question.measure(&case.model).map_err(no)?;
            solution = Some(end);
            microseconds
        }
    };
    let contacts = case.data.collision.contacts.len();
    let mut answer = json!({ "microseconds": microseconds, "contacts": contacts });
    if let Some((derivative, parameters)) = found {
        answer["derivative"] = json!(derivative);
        answer["parameters"] = json!(parameters);
    }
    if let Some(solution) = solution {
        answer["values"] = json!(solution.x);
        answer["squares"] = json!(2.0 * solution.value);
    }
    crate::print(&answer.to_string());
    Ok(())
}

/// What is timed.
enum Measure {
    /// A step.
    Step,
    /// A step of a batch of trajectories over threads.
    Batch(Batch),
    /// The backward pass over a recorded trajectory, per step.
    Backward,
    /// A trajectory and its gradient, per step.
    Gradient(Adjoint),
    /// From the model file to the model.
    Load,
    /// From the model file to the gradient of one step.
    FirstGradient,
    /// From a state to A and B of the step from it.
    Linearize,
    /// From the results of a step's forward pass to A and B.
    LinearizeAfterStep,
    /// From a state to its acceleration and the derivatives of that.
    Acceleration,
    /// A motion in continuous time with its gradient.
    MotionGradient(Box<Motion>),
    /// An identification.
    Identify(Box<Question>),
}

impl Measure {
    /// `"measure": "batch" | "backward" | "gradient" | "load" | "first gradient" | "linearize" | "linearize after step" |
    /// "acceleration" | "motion gradient" | "identify"`, the first as [`Batch::from_request`] reads it, the third with an optional `"bytes"` budget,
    /// the last two as [`Motion::from_request`] and [`Question::from_request`] read them.
    fn from_request(request: &Value, model: &Model) -> Result<Self, String> {
        match request["measure"].as_str() {
            None => Ok(Self::Step),
            Some("batch") => Batch::from_request(request).map(Self::Batch),
            Some("backward") => Ok(Self::Backward),
            Some("gradient") => {
                let bytes = request["bytes"].as_u64();
                let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
                let adjoint =
                    bytes.map_or(Adjoint::Stored, |bytes| Adjoint::Checkpointed { bytes });
                Ok(Self::Gradient(adjoint))
            }
            Some("load") => Ok(Self::Load),
            Some("first gradient") => Ok(Self::FirstGradient),
            Some("linearize") => Ok(Self::Linearize),
            Some("linearize after step") => Ok(Self::LinearizeAfterStep),
            Some("acceleration") => Ok(Self::Acceleration),
            Some("motion gradient") => Ok(Self::MotionGradient(Box::new(Motion::from_request(
                request, model,
            )?))),
            Some("identify") => Ok(Self::Identify(Box::new(Question::from_request(
                request, model,
            )?))),
            Some(other) => Err(format!("cannot measure '{other}'")),
        }
    }
}

/// Sets the numbers that a request names by their index.
fn overwrite(numbers: &mut [f64], named: &Value) -> Result<(), String> {
    for (index, number) in named.as_object().into_iter().flatten() {
        let place = index
            .parse::<usize>()
            .ok()
            .and_then(|index| numbers.get_mut(index));
        match (place, number.as_f64()) {
            (Some(place), Some(number)) => *place = number,
            _ => return Err(format!("cannot set number {index} to {number}")),
        }
    }
    Ok(())
}

/// A model with its start state and controls.
struct Case {
    path: PathBuf,
    model: Model,
    start: State,
    state: State,
    input: Input,
    data: Data,
    controls: Vec<f64>,
    steps: usize,
}

impl Case {
    fn new(path: &Path, steps: usize, disable: &[Feature]) -> Result<Self, Failure> {
        let mut model = load::model(path, &[])?;
        if steps.saturating_mul(model.counts().nu.max(1)) > MAX_STEPS {
            let most = MAX_STEPS / model.counts().nu.max(1);
            return Err(unfit(
                "--steps",
                "a batch of so many steps is not measured",
                format!("at most {most} for this model"),
            ));
        }
        for feature in disable {
            match feature {
                Feature::Contact => model.settings.disable.contact = true,
                Feature::Constraint => model.settings.disable.constraint = true,
                Feature::Sensor => model.settings.disable.sensor = true,
            }
        }
        let start = State::keyframe(&model, 0).unwrap_or_else(|| State::reference(&model));
        Ok(Self {
            path: path.to_owned(),
            state: start.clone(),
            start,
            input: Input::zeros(&model),
            data: Data::new(&model),
            controls: controls(&model, steps),
            steps,
            model,
        })
    }

    /// A request `{"model": path, "steps": n}`, optionally with `"disable": [...]`, `"timestep": seconds`, `"qpos"` and
    /// `"qvel": {index: number}` of the start, and `"settle": steps` before it.
    fn from_request(request: &Value) -> Result<Self, Failure> {
        let bad = |message: &str| Failure::sentence(CONTENT, message);
        let count = |name: &str| {
            let number = request[name].as_u64()?;
            usize::try_from(number).ok()
        };
        let path = request["model"]
            .as_str()
            .ok_or_else(|| bad("the request names no model"))?;
        let steps = count("steps")
            .filter(|&steps| steps > 0)
            .ok_or_else(|| bad("the request has no steps, a whole number from 1 on"))?;
        let names = request["disable"].as_array().into_iter().flatten();
        let disable: Result<Vec<Feature>, Failure> = names
            .map(|name| {
                let feature = name
                    .as_str()
                    .and_then(|name| Feature::from_str(name, false).ok());
                feature.ok_or_else(|| {
                    bad(&format!(
                        "cannot disable {name}, only contact, constraint and sensor"
                    ))
                })
            })
            .collect();
        let mut case = Self::new(Path::new(path), steps, &disable?)?;
        if let Some(timestep) = request["timestep"].as_f64() {
            case.model.option.timestep[0] = timestep;
            case.input.timestep = timestep;
        }
        overwrite(&mut case.start.qpos, &request["qpos"]).map_err(|message| bad(&message))?;
        overwrite(&mut case.start.qvel, &request["qvel"]).map_err(|message| bad(&message))?;
        case.settle(count("settle").unwrap_or(0));
        Ok(case)
    }

    /// Moves the start by some steps under the first controls.
    fn settle(&mut self, steps: usize) {
        let width = self.input.ctrl.len();
        self.input.ctrl.copy_from_slice(&self.controls[..width]);
        for _ in 0..steps {
            (self.model).step(&mut self.start, &self.input, &mut self.data);
        }
    }

    fn cpu_microseconds_per_step(&mut self) -> f64 {
        self.state.copy_from(&self.start);
        let width = self.input.ctrl.len();
        let begin = cpu_time::ThreadTime::now();
        for step in 0..self.steps {
            self.input
                .ctrl
                .copy_from_slice(&self.controls[step * width..(step + 1) * width]);
            (self.model).step(&mut self.state, &self.input, &mut self.data);
        }
        begin.elapsed().as_secs_f64() / self.steps as f64 * 1e6
    }

    fn cpu_microseconds_to_load(&self) -> Result<f64, Failure> {
        let begin = cpu_time::ProcessTime::now();
        load::model(&self.path, &[])?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    }
}

/// A small sine per actuator within its control range; the same formula as the peer's script.
fn controls(model: &Model, steps: usize) -> Vec<f64> {
    let nu = model.counts().nu;
    let mut controls = Vec::with_capacity(steps * nu);
    for step in 0..steps {
        for control in 0..nu {
            let [low, high] = model.control_range(control).unwrap_or([-1.0, 1.0]);
            let phase = 0.02 * step as f64 + control as f64;
            controls.push(0.5 * (low + high) + 0.1 * (high - low) * phase.sin());
        }
    }
    controls
}
