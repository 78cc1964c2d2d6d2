//! `carom sim`: simulate a model and record what happens.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use carom::{Data, Input, Model, State};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::npz::{self, Array, Values};
use crate::{load, output};

/// Simulates a model.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom sim models/humanoid.xml --seconds 5\n  carom sim arm.xml --keyframe home --controls ctrl.csv --out run.npz"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Simulated time (s).
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Controls, one row a step: an .npz with an array `ctrl`, or a .csv with one column per actuator. The last row is held.
    #[arg(long)]
    controls: Option<PathBuf>,
    /// Start from this keyframe (name or number) instead of the default configuration.
    #[arg(long)]
    keyframe: Option<String>,
    /// Record states, controls and sensors to this .npz or .csv file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Record every n-th step.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_delimiter = ',')]
    allow: Vec<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let loaded = match load::load(&args.model, &args.allow) {
        Ok(loaded) => loaded,
        Err(problem) => {
            eprint!("{}", problem.rendered);
            return ExitCode::from(if problem.unreadable { 2 } else { 1 });
        }
    };
    eprint!("{}", loaded.warnings);
    match simulate(args, &loaded.model) {
        Ok(summary) => {
            summary.print(args.json);
            if summary.failure.is_some() {
                ExitCode::from(1)
            } else {
                ExitCode::SUCCESS
            }
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// What to say at the end.
struct Summary {
    steps: usize,
    simulated: f64,
    elapsed: Duration,
    energy: [f64; 2],
    failure: Option<String>,
    out: Option<PathBuf>,
}

impl Summary {
    fn print(&self, as_json: bool) {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let rate = self.steps as f64 / seconds;
        let real_time = self.simulated / seconds;
        let drift = self.energy[1] - self.energy[0];
        if as_json {
            let summary = json!({
                "steps": self.steps, "simulated_seconds": self.simulated, "seconds": seconds,
                "steps_per_second": rate, "real_time_factor": real_time,
                "energy_start": self.energy[0], "energy_end": self.energy[1],
                "failure": self.failure, "out": self.out,
            });
            crate::print(&summary.to_string());
            return;
        }
        crate::print(&format!(
            "{} steps ({:.3} s simulated) in {seconds:.3} s: {rate:.0} steps/s, {real_time:.1}× real time, energy {:.6} → {:.6} J (drift {drift:+.3e} J)",
            self.steps, self.simulated, self.energy[0], self.energy[1],
        ));
        if let Some(out) = &self.out {
            crate::print(&format!("recorded to {}", out.display()));
        }
        if let Some(failure) = &self.failure {
            eprintln!("error: {failure}");
        }
    }
}

fn simulate(args: &Args, model: &Model) -> Result<Summary, String> {
    let timestep = model.option.timestep[0];
    if !(args.seconds >= 0.0 && args.seconds.is_finite()) {
        return Err(format!(
            "--seconds {} is not a length of time",
            args.seconds
        ));
    }
    if args.every == 0 {
        return Err("--every 0 records nothing; use 1 or more".to_owned());
    }
    if let Some(out) = &args.out {
        record_format(out)?;
    }
    let steps = (args.seconds / timestep).round();
    if steps > 1e9 {
        return Err(format!(
            "--seconds {} at a time step of {timestep} s is {steps:.0} steps; that is more than carom does in one run",
            args.seconds
        ));
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    let steps = steps as usize;
    let mut state = start_state(model, args.keyframe.as_deref())?;
    let mut input = Input::zeros(model);
    let controls = args
        .controls
        .as_deref()
        .map(|path| read_controls(path, model))
        .transpose()?;
    if controls.is_none() {
        hold_keyframe_controls(model, args.keyframe.as_deref(), &mut input);
    }
    let mut data = Data::new(model);
    let mut record = args.out.as_ref().map(|_| Recording::new(model));
    let start_energy = energy(model, &state, &input, &mut data);

    let progress = progress_bar(steps);
    let begin = Instant::now();
    let mut failure = None;
    let mut done = 0;
    for step in 0..steps {
        if let Some(controls) = &controls {
            input.ctrl.copy_from_slice(controls.row(step));
        }
        if let Some(record) = record.as_mut().filter(|_| step % args.every == 0) {
            carom::forward_and_sense(model, &state, &input, &mut data);
            record.push(&state, &input, &data);
        }
        let time = state.time;
        let report = carom::step(model, &mut state, &input, &mut data);
        done = step + 1;
        if let Some(place) = report.not_finite {
            let advice = match place.stage {
                "input" => "check the controls",
                "state" => "check the start state",
                _ => "try a smaller time step",
            };
            failure = Some(format!(
                "{} in step {done} (from t = {time:.4} s); {advice}",
                place.describe(model)
            ));
            break;
        }
        if step % 256 == 0 {
            progress.set_position(step as u64);
        }
    }
    let elapsed = begin.elapsed();
    progress.finish_and_clear();
    let end_energy = energy(model, &state, &input, &mut data);
    if let Some(record) = &mut record {
        carom::forward_and_sense(model, &state, &input, &mut data);
        record.push(&state, &input, &data);
    }
    if let (Some(record), Some(out)) = (&record, &args.out) {
        record.write(model, &args.model, out)?;
    }
    Ok(Summary {
        steps: done,
        simulated: done as f64 * timestep,
        elapsed,
        energy: [start_energy, end_energy],
        failure,
        out: args.out.clone(),
    })
}

fn progress_bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {per_sec}, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

fn energy(model: &Model, state: &State, input: &Input, data: &mut Data) -> f64 {
    carom::forward(model, state, input, data);
    let (stages, _) = data.split_sensing();
    carom::stages::sensing::potential_energy(model, state, &stages)
        + carom::stages::sensing::kinetic_energy(model, state, &stages)
}

fn find_keyframe(model: &Model, wanted: &str) -> Result<usize, String> {
    let names = &model.structure.names.keyframes;
    if let Some(index) = names.iter().position(|name| name == wanted) {
        return Ok(index);
    }
    match wanted.parse::<usize>() {
        Ok(index) if index < names.len() => Ok(index),
        _ if names.is_empty() => Err(format!(
            "there is no keyframe '{wanted}': the model has no keyframes"
        )),
        _ => Err(format!(
            "there is no keyframe '{wanted}'; the model has {}",
            names.join(", ")
        )),
    }
}

pub(crate) fn start_state(model: &Model, keyframe: Option<&str>) -> Result<State, String> {
    let Some(wanted) = keyframe else {
        return Ok(State::reference(model));
    };
    let index = find_keyframe(model, wanted)?;
    State::keyframe(model, index).ok_or_else(|| format!("there is no keyframe '{wanted}'"))
}

fn hold_keyframe_controls(model: &Model, keyframe: Option<&str>, input: &mut Input) {
    let nu = model.counts().nu;
    if let Some(Ok(index)) = keyframe.map(|wanted| find_keyframe(model, wanted)) {
        input
            .ctrl
            .copy_from_slice(&model.keyframes.ctrl[index * nu..][..nu]);
    }
}

/// Controls, one row a step.
struct Controls {
    width: usize,
    values: Vec<f64>,
}

impl Controls {
    /// The row of a step; the last row is held.
    fn row(&self, step: usize) -> &[f64] {
        let rows = self.values.len() / self.width.max(1);
        let start = step.min(rows.saturating_sub(1)) * self.width;
        &self.values[start..start + self.width]
    }
}

fn read_controls(path: &Path, model: &Model) -> Result<Controls, String> {
    let width = model.counts().nu;
    let place = path.display();
    let values = if has_extension(path, "npz") {
        let arrays = npz::read(path).map_err(|cause| cause.to_string())?;
        let array = arrays.get("ctrl").ok_or_else(|| {
            let names: Vec<_> = arrays.keys().map(String::as_str).collect();
            format!(
                "'{place}' has no array 'ctrl' (it has {})",
                names.join(", ")
            )
        })?;
        if array.shape.last() != Some(&width) {
            return Err(format!(
                "'ctrl' in '{place}' has shape {:?}; the last dimension must be {width}, one a control",
                array.shape
            ));
        }
        array.as_numbers().to_vec()
    } else {
        read_csv(path, width)?
    };
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(format!(
            "'{place}': row {}, column {}: not a finite number",
            index / width + 1,
            index % width + 1
        ));
    }
    if width > 0 && values.is_empty() {
        return Err(format!("'{place}' holds no controls"));
    }
    Ok(Controls { width, values })
}

/// Reads a table of numbers; a first line that is not numeric is taken as the header.
fn read_csv(path: &Path, width: usize) -> Result<Vec<f64>, String> {
    let place = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|cause| format!("cannot read '{place}': {cause}"))?;
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cells: Vec<_> = line.split([',', ';', '\t']).map(str::trim).collect();
        if line.trim().is_empty() || (index == 0 && cells[0].parse::<f64>().is_err()) {
            continue;
        }
        if cells.len() != width {
            return Err(format!(
                "'{place}' line {}: {} columns, expected {width}, one a control",
                index + 1,
                cells.len()
            ));
        }
        for (column, cell) in cells.iter().enumerate() {
            let value = cell.parse().map_err(|_| {
                format!(
                    "'{place}' line {}, column {}: '{cell}' is not a number",
                    index + 1,
                    column + 1
                )
            })?;
            values.push(value);
        }
    }
    Ok(values)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

fn record_format(path: &Path) -> Result<(), String> {
    if has_extension(path, "npz") || has_extension(path, "csv") {
        return Ok(());
    }
    Err(format!(
        "--out '{}': the name must end in .npz or .csv",
        path.display()
    ))
}

/// What is recorded.
#[derive(Default)]
struct Recording {
    rows: usize,
    columns: Vec<(&'static str, usize, Vec<f64>)>,
}

impl Recording {
    fn new(model: &Model) -> Self {
        let n = model.counts();
        let columns = [
            ("time", 1),
            ("qpos", n.nq),
            ("qvel", n.nv),
            ("act", n.na),
            ("ctrl", n.nu),
            ("sensordata", n.nsensor_value),
        ];
        Self {
            rows: 0,
            columns: columns
                .map(|(name, width)| (name, width, Vec::new()))
                .into(),
        }
    }

    fn push(&mut self, state: &State, input: &Input, data: &Data) {
        let time = [state.time];
        let rows: [&[f64]; 6] = [
            &time,
            &state.qpos,
            &state.qvel,
            &state.act,
            &input.ctrl,
            &data.sensing.values,
        ];
        for ((_, _, values), row) in self.columns.iter_mut().zip(rows) {
            values.extend_from_slice(row);
        }
        self.rows += 1;
    }

    fn write(&self, model: &Model, model_path: &Path, out: &Path) -> Result<(), String> {
        if has_extension(out, "csv") {
            return output::write_whole(out, |file| self.write_csv(file));
        }
        let mut arrays: Vec<(&str, Array)> = Vec::new();
        for (name, width, values) in &self.columns {
            let shape = if *name == "time" {
                vec![self.rows]
            } else {
                vec![self.rows, *width]
            };
            arrays.push((name, Array::numbers(&shape, values.clone())));
        }
        let strings = |list: &[String]| Array {
            shape: vec![list.len()],
            values: Values::Strings(list.to_vec()),
        };
        let names = &model.structure.names;
        arrays.push(("joint_names", strings(&names.joints)));
        arrays.push(("actuator_names", strings(&names.actuators)));
        arrays.push(("sensor_names", strings(&names.sensors)));
        arrays.push(("model", strings(&[model_path.display().to_string()])));
        let arrays: Vec<(&str, &Array)> =
            arrays.iter().map(|(name, array)| (*name, array)).collect();
        output::write_whole(out, |file| npz::write(file, &arrays))
    }

    fn write_csv(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut header = Vec::new();
        for (name, width, _) in &self.columns {
            if *name == "time" {
                header.push((*name).to_owned());
            } else {
                header.extend((0..*width).map(|index| format!("{name}[{index}]")));
            }
        }
        writeln!(out, "{}", header.join(","))?;
        for row in 0..self.rows {
            let cells = self
                .columns
                .iter()
                .flat_map(|(_, width, values)| &values[row * width..(row + 1) * width]);
            let cells: Vec<_> = cells.map(f64::to_string).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }
}
