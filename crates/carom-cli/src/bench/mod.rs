//! `carom bench`: CPU time per step of a model, and answers to the benchmark harness.

mod gradient;
mod linearize;
mod motion;
mod threads;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::rollout::Adjoint;
use carom::{Data, Input, Model, State};
use serde_json::{Value, json};

use crate::load;
use motion::Motion;
use threads::Batch;

/// Measures steps per second of a model on one core.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom bench models/humanoid.xml\n  carom bench models/humanoid.xml --disable contact --json\n  carom bench models/humanoid.xml --threads 1,2"
)]
pub(crate) struct Args {
    /// Model file; without it, requests are read from standard input as JSON lines.
    model: Option<PathBuf>,
    /// Steps of one batch.
    #[arg(long, default_value_t = 2000)]
    steps: usize,
    /// Number of batches.
    #[arg(long, default_value_t = 15)]
    batches: usize,
    /// Switch off features: contact, constraint, sensor.
    #[arg(long, value_delimiter = ',')]
    disable: Vec<String>,
    /// Measure batches of trajectories spread over this many threads, in wall time, instead of single steps. Several
    /// numbers are measured in turns and compared: `--threads 1,2`.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let outcome = match &args.model {
        Some(model) => measure(args, model),
        None => serve(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn measure(args: &Args, path: &Path) -> Result<(), String> {
    if args.steps == 0 || args.batches == 0 {
        return Err("error: --steps and --batches must be at least 1".to_owned());
    }
    let mut case = Case::new(path, args.steps, &args.disable)?;
    if !args.threads.is_empty() {
        return threads::measure(args, &case, path);
    }
    let times = (0..args.batches).map(|_| case.cpu_microseconds_per_step());
    let (least, median) = least_and_median(times.collect());
    if args.json {
        crate::print(&json!({ "minimum_us": least, "median_us": median }).to_string());
    } else {
        crate::print(&format!(
            "{}: {least:.3} µs/step at best, {median:.3} µs median of {} batches ({:.0} steps/s)",
            path.display(),
            args.batches,
            1e6 / median
        ));
    }
    Ok(())
}

/// Least and median of a non-empty list.
fn least_and_median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

/// Answers requests until standard input ends: JSON lines as [`Case::from_request`] reads them.
fn serve() -> Result<(), String> {
    let mut cases: Vec<(String, (Measure, Case))> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| format!("error: cannot read requests: {cause}"))?;
        let known = cases.iter().position(|(request, _)| *request == line);
        let index = known.unwrap_or(cases.len());
        if known.is_none() {
            let request: Value = serde_json::from_str(&line)
                .map_err(|cause| format!("error: bad request: {cause}"))?;
            let case = Case::from_request(&request)?;
            let measure = Measure::from_request(&request, &case.model)?;
            cases.push((line, (measure, case)));
        }
        let (measure, case) = &mut cases[index].1;
        let mut found = None;
        let microseconds = match measure {
            Measure::Step => case.cpu_microseconds_per_step(),
            Measure::Batch(batch) => batch.cpu_microseconds_per_step(case),
            Measure::Backward => gradient::backward(case)?,
            Measure::Gradient(adjoint) => gradient::whole(case, *adjoint)?,
            Measure::FirstGradient => gradient::first(&case.path)?,
            Measure::Linearize => linearize::steps(case),
            Measure::LinearizeAfterStep => linearize::after_steps(case),
            Measure::Acceleration => linearize::accelerations(case)?,
            Measure::MotionGradient(motion) => {
                let measured = motion.measure(case)?;
                found = Some((measured.derivative, motion.parameters()));
                measured.microseconds
            }
        };
        let contacts = case.data.collision.contacts.len();
        let mut answer = json!({ "microseconds": microseconds, "contacts": contacts });
        if let Some((derivative, parameters)) = found {
            answer["derivative"] = json!(derivative);
            answer["parameters"] = json!(parameters);
        }
        crate::print(&answer.to_string());
    }
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
}

impl Measure {
    /// `"measure": "batch" | "backward" | "gradient" | "first gradient" | "linearize" | "linearize after step" | "acceleration" |
    /// "motion gradient"`, the first as [`Batch::from_request`] reads it, the third with an optional `"bytes"` budget, the last
    /// as [`Motion::from_request`] reads it.
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
            Some("first gradient") => Ok(Self::FirstGradient),
            Some("linearize") => Ok(Self::Linearize),
            Some("linearize after step") => Ok(Self::LinearizeAfterStep),
            Some("acceleration") => Ok(Self::Acceleration),
            Some("motion gradient") => Ok(Self::MotionGradient(Box::new(Motion::from_request(
                request, model,
            )?))),
            Some(other) => Err(format!("error: cannot measure '{other}'")),
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
            _ => return Err(format!("error: cannot set number {index} to {number}")),
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
    fn new(path: &Path, steps: usize, disable: &[String]) -> Result<Self, String> {
        let mut model = load::model(path, &[]).map_err(|problem| problem.rendered)?;
        for name in disable {
            match name.as_str() {
                "contact" => model.settings.disable.contact = true,
                "constraint" => model.settings.disable.constraint = true,
                "sensor" => model.settings.disable.sensor = true,
                other => {
                    return Err(format!(
                        "error: --disable {other}: expected contact, constraint or sensor"
                    ));
                }
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
    fn from_request(request: &Value) -> Result<Self, String> {
        let count = |name: &str| {
            let number = request[name].as_u64()?;
            usize::try_from(number).ok()
        };
        let path = request["model"]
            .as_str()
            .ok_or("error: the request names no model")?;
        let steps = count("steps")
            .filter(|&steps| steps > 0)
            .ok_or("error: the request has no steps")?;
        let disable: Vec<String> = request["disable"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let mut case = Self::new(Path::new(path), steps, &disable)?;
        if let Some(timestep) = request["timestep"].as_f64() {
            case.model.option.timestep[0] = timestep;
        }
        overwrite(&mut case.start.qpos, &request["qpos"])?;
        overwrite(&mut case.start.qvel, &request["qvel"])?;
        case.settle(count("settle").unwrap_or(0));
        Ok(case)
    }

    /// Moves the start by some steps under the first controls.
    fn settle(&mut self, steps: usize) {
        let width = self.input.ctrl.len();
        self.input.ctrl.copy_from_slice(&self.controls[..width]);
        for _ in 0..steps {
            carom::step(&self.model, &mut self.start, &self.input, &mut self.data);
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
            carom::step(&self.model, &mut self.state, &self.input, &mut self.data);
        }
        begin.elapsed().as_secs_f64() / self.steps as f64 * 1e6
    }
}

/// A small sine per actuator within its control range; the same formula as the peer's script.
fn controls(model: &Model, steps: usize) -> Vec<f64> {
    let nu = model.counts().nu;
    let mut controls = Vec::with_capacity(steps * nu);
    for step in 0..steps {
        for actuator in 0..nu {
            let limited = model.structure.actuators.control_limited[actuator];
            let [low, high] = if limited {
                model.actuators.control_range[actuator]
            } else {
                [-1.0, 1.0]
            };
            let phase = 0.02 * step as f64 + actuator as f64;
            controls.push(0.5 * (low + high) + 0.1 * (high - low) * phase.sin());
        }
    }
    controls
}
