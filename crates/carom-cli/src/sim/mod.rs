//! `carom sim`: simulate a model and record what happens.

mod controls;
mod recording;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use carom::rollout::{self, Controls, Course, Recorder, Taken};
use carom::{Data, Dynamics, Input, Model, State};
use carom_spec::Diagnostic;
use serde_json::{Value, json};

use crate::command_line::{Argument, choice, unfit};
use crate::failure::{COMPUTATION, Failure, NAME, finish};
use crate::load::{self, Loaded};
use crate::{interrupt, output, progress, stdio, values};
use recording::Recording;
pub(crate) use recording::extension;

/// Simulates a model and prints how fast that was and how energy drifted.
///
/// With --out, states, controls and sensor values are recorded. Ctrl-C ends the simulation and keeps what was recorded so far; the
/// exit code is 130 then.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom sim models/humanoid.xml --seconds 5\n  carom sim arm.xml --keyframe home --controls ctrl.csv --out run.npz\n  carom sim arm.xml --seconds 3600 --out run.csv --every 100"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Simulated time (s).
    #[arg(long, default_value_t = 5.0, value_parser = values::seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Controls, one row a step: an .npz with an array `ctrl`, or a .csv with one column per actuator, in their order or, with a
    /// first line of names, by name. The last row is held.
    #[arg(long)]
    controls: Option<PathBuf>,
    /// Start from this keyframe (name or number) instead of the default configuration.
    #[arg(long)]
    keyframe: Option<String>,
    /// Record states, controls and sensors to this .npz or .csv file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Record every n-th step.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::count, allow_negative_numbers = true)]
    every: usize,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(out) = &args.out {
        recording::check(out)?;
    }
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let outputs: Vec<&Path> = args.out.iter().map(PathBuf::as_path).collect();
    let controls = args.controls.iter().map(PathBuf::as_path);
    output::check_distinct(&outputs, loaded.sources.paths().chain(controls))?;
    let mut plan = Plan::new(args, &loaded.model)?;
    interrupt::watch();
    let summary = plan.simulate(args)?;
    summary.print(args.json, &loaded);
    Ok(match summary.end {
        End::Done => ExitCode::SUCCESS,
        End::Failed(_) => ExitCode::from(1),
        End::Interrupted => interrupt::exit_code(),
    })
}

/// How a simulation ended.
enum End {
    Done,
    /// With the reason.
    Failed(String),
    Interrupted,
}

/// What to say at the end.
struct Summary {
    steps: usize,
    planned: usize,
    simulated: f64,
    elapsed: Duration,
    energy: [f64; 2],
    /// Steps beyond what learned terms were trained on; none where nobody knows that.
    extrapolating: Option<usize>,
    end: End,
    out: Option<PathBuf>,
    rows: usize,
}

impl Summary {
    fn print(&self, as_json: bool, loaded: &Loaded) {
        let failure = match &self.end {
            End::Failed(reason) => Some(Failure::sentence(COMPUTATION, reason)),
            _ => None,
        };
        if let Some(failure) = &failure {
            stdio::warn(&failure.rendered());
        }
        if as_json {
            crate::print(&self.to_json(failure.as_ref(), loaded).to_string());
            return;
        }
        let (seconds, rate, real_time) = self.rates();
        let drift = self.energy[1] - self.energy[0];
        crate::print(&format!(
            "{} steps ({:.3} s simulated) in {seconds:.3} s: {rate:.0} steps/s, {real_time:.1}× real time, energy {:.6} → {:.6} J (drift {drift:+.3e} J)",
            self.steps, self.simulated, self.energy[0], self.energy[1],
        ));
        if let Some(count) = self.extrapolating.filter(|count| *count > 0) {
            crate::print(&format!(
                "in {count} of {} steps an input of a learned term lay outside of the range that it was trained on",
                self.steps
            ));
        }
        if matches!(self.end, End::Interrupted) {
            let (steps, planned) = (self.steps, self.planned);
            crate::print(&format!("interrupted after {steps} of {planned} steps"));
        }
        if let Some(out) = &self.out {
            let (rows, out) = (self.rows, out.display());
            crate::print(&format!("recorded {rows} states to {out}"));
        }
    }

    /// Seconds, steps per second, and simulated per real time.
    fn rates(&self) -> (f64, f64, f64) {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        (
            seconds,
            self.steps as f64 / seconds,
            self.simulated / seconds,
        )
    }

    fn to_json(&self, failure: Option<&Failure>, loaded: &Loaded) -> Value {
        let (seconds, rate, real_time) = self.rates();
        let mut document = json!({
            "steps": self.steps, "simulated_seconds": self.simulated, "seconds": seconds,
            "steps_per_second": rate, "real_time_factor": real_time,
            "energy_start": self.energy[0], "energy_end": self.energy[1],
            "interrupted": matches!(self.end, End::Interrupted),
            "steps_outside_training": self.extrapolating,
            "out": self.out.as_ref().map(|out| out.display().to_string()),
            "recorded": self.out.as_ref().map(|_| self.rows),
            "diagnostics": loaded.listed(),
        });
        if let Some(failure) = failure {
            document["error"] = failure.to_json()["error"].clone();
        }
        document
    }
}

/// Most steps of one run.
pub(crate) const MAX_STEPS: f64 = 1e9;

/// What is to be simulated.
struct Plan<'a> {
    model: &'a Model,
    steps: usize,
    state: State,
    controls: Controls,
    recording: Option<Recording>,
}

/// Keeps every n-th state and its sensors, and shows how far it got.
struct Watch<'a> {
    recording: &'a mut Option<Recording>,
    every: usize,
    progress: &'a indicatif::ProgressBar,
    is_interrupted: bool,
    /// Whether the motion grew beyond all measure: nothing of it means anything from there on.
    is_unstable: bool,
    /// Time of the last state before a step (s).
    time: f64,
}

impl Recorder<Model> for Watch<'_> {
    fn before(&mut self, step: usize, state: &State, input: &Input) -> bool {
        self.is_interrupted = interrupt::asked();
        if self.is_interrupted || self.is_unstable {
            return false;
        }
        self.time = state.time;
        if step.is_multiple_of(self.every)
            && let Some(recording) = self.recording
        {
            recording.push_state(state, input);
        }
        true
    }

    fn after(&mut self, step: usize, taken: Taken<'_, Model>) {
        if step.is_multiple_of(self.every)
            && let Some(recording) = self.recording
        {
            recording.push_sensors(taken.sensors);
        }
        self.is_unstable = taken.report.large.is_some();
        if step.is_multiple_of(256) {
            self.progress.set_position(step as u64);
        }
    }
}

impl<'a> Plan<'a> {
    fn new(args: &Args, model: &'a Model) -> Result<Self, Failure> {
        let steps = step_count(args.seconds, model, MAX_STEPS)?;
        let rows = steps / args.every + 2;
        let recording = (args.out.as_ref())
            .map(|_| Recording::new(model, rows))
            .transpose()?;
        let state = start_state(model, args.keyframe.as_deref())?;
        let controls = match (&args.controls, &args.keyframe) {
            (Some(path), _) => Controls::PerStep(controls::read(path, model)?),
            (None, Some(wanted)) => {
                let (nu, index) = (model.counts().nu, find_keyframe(model, wanted)?);
                Controls::Constant(model.keyframes.ctrl[index * nu..][..nu].to_vec())
            }
            (None, None) => Controls::Zero,
        };
        Ok(Self {
            model,
            steps,
            state,
            controls,
            recording,
        })
    }

    fn simulate(&mut self, args: &Args) -> Result<Summary, Failure> {
        let (model, mut data) = (self.model, self.model.work());
        let start_energy = self.energy(&mut data);
        let progress = progress::bar(self.steps, "steps");
        let begin = Instant::now();
        let course = Course {
            controls: &self.controls,
            steps: self.steps,
            timestep: None,
            stops: true,
        };
        let mut watch = Watch {
            recording: &mut self.recording,
            every: args.every,
            progress: &progress,
            is_interrupted: false,
            is_unstable: false,
            time: self.state.time,
        };
        let recorded = rollout::run(model, &mut self.state, &course, &mut data, &mut watch);
        let (done, time) = (recorded.steps, watch.time);
        let end = match recorded.not_finite.or(recorded.large) {
            Some((_, place)) => {
                let advice = match place.stage {
                    "input" => "check the controls",
                    "state" => "check the initial state",
                    _ => "try a smaller time step",
                };
                let place = place.describe(model);
                End::Failed(format!(
                    "{place} in step {done} (from t = {time:.4} s); {advice}"
                ))
            }
            None if watch.is_interrupted => End::Interrupted,
            None => End::Done,
        };
        let elapsed = begin.elapsed();
        progress.finish_and_clear();
        let energy = [start_energy, self.energy(&mut data)];
        self.record(done, &mut data);
        let mut rows = 0;
        if let (Some(recording), Some(out)) = (self.recording.take(), &args.out) {
            rows = recording.rows();
            recording.write(self.model, &args.model, out)?;
        }
        Ok(Summary {
            steps: done,
            planned: self.steps,
            simulated: done as f64 * self.model.option.timestep[0],
            elapsed,
            energy,
            extrapolating: (model.counts().nlearned_range > 0).then_some(recorded.extrapolating),
            end,
            out: args.out.clone(),
            rows,
        })
    }

    /// Records the last state, with the controls of the last of some steps.
    fn record(&mut self, steps: usize, data: &mut Data) {
        let mut input = Input::zeros(self.model);
        if steps > 0 || matches!(self.controls, Controls::Constant(_)) {
            (self.controls).write(steps.saturating_sub(1), &mut input.ctrl);
        }
        if let Some(recording) = &mut self.recording {
            carom::forward_and_sense(self.model, &self.state, &input, data);
            recording.push_state(&self.state, &input);
            recording.push_sensors(&data.sensing.values);
        }
    }

    fn energy(&self, data: &mut Data) -> f64 {
        carom::forward(self.model, &self.state, &Input::zeros(self.model), data);
        let (stages, _) = data.split_sensing();
        carom::stages::sensing::potential_energy(self.model, &self.state, &stages)
            + carom::stages::sensing::kinetic_energy(self.model, &self.state, &stages)
    }
}

/// How many of the model's own steps a length of time is.
pub(crate) fn step_count(seconds: f64, model: &Model, most: f64) -> Result<usize, Failure> {
    let timestep = model.option.timestep[0];
    let steps = (seconds / timestep).round();
    if steps > most {
        return Err(unfit(
            "--seconds",
            &format!("{seconds:e} s in steps of {timestep} s are {steps:.1e} steps"),
            format!("at most {most:.0e} steps in one run"),
        ));
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    let steps = steps as usize;
    Ok(steps)
}

/// The number of a keyframe, by name or number.
pub(crate) fn find_keyframe(model: &Model, wanted: &str) -> Result<usize, Failure> {
    let names = &model.structure.names.keyframes;
    if let Some(index) = names.iter().position(|name| name == wanted) {
        return Ok(index);
    }
    match wanted.parse::<usize>() {
        Ok(index) if index < names.len() => Ok(index),
        _ => {
            let message = format!("there is no keyframe '{wanted}'");
            let all_names = names.iter().map(String::as_str);
            let help = match (names.len(), choice(wanted, all_names)) {
                (0, _) => "the model has no keyframes; leave --keyframe out".to_owned(),
                (count, None) => {
                    format!("the keyframes have no names; they are 0 to {}", count - 1)
                }
                (_, Some(help)) => help,
            };
            let diagnostic = Diagnostic::error(NAME, message).help(help);
            Err(Argument::new("--keyframe", wanted).refuse(diagnostic))
        }
    }
}

/// The initial state: a keyframe's or the model's default.
pub(crate) fn start_state(model: &Model, keyframe: Option<&str>) -> Result<State, Failure> {
    let Some(wanted) = keyframe else {
        return Ok(State::reference(model));
    };
    let index = find_keyframe(model, wanted)?;
    State::keyframe(model, index)
        .ok_or_else(|| Failure::sentence(NAME, format!("there is no keyframe '{wanted}'")))
}
