//! What experiments with known truths share: recordings that a model makes itself, and whether what was found is true.
#![allow(dead_code, reason = "every experiment uses a part of it")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::identify::{Estimate, Free, Identified, Settings, Task, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};

/// A motion to be recorded.
pub(crate) struct Motion<'a> {
    pub(crate) start: State,
    /// Frames after the start, and steps of the model from one to the next.
    pub(crate) frames: usize,
    pub(crate) every: usize,
    /// Controls at a time (s), held until the next frame.
    pub(crate) control: &'a dyn Fn(f64) -> Vec<f64>,
    /// Standard deviations of what is recorded of positions and of velocities.
    pub(crate) noise: [f64; 2],
    pub(crate) seed: u64,
}

impl Motion<'_> {
    /// A table with columns `t`, `q[0]`, …, `qd[0]`, … and `u[0]`, ….
    pub(crate) fn table(&self, model: &Model) -> Result<String, std::fmt::Error> {
        let n = model.counts();
        let mut text = String::from("t");
        for (name, count) in [("q", n.nq), ("qd", n.nv), ("u", n.nu)] {
            (0..count).try_for_each(|index| write!(text, ",{name}[{index}]"))?;
        }
        let mut random = Random::new(self.seed, 0);
        let (mut state, mut data) = (self.start.clone(), Data::new(model));
        let mut input = Input::zeros(model);
        for _ in 0..=self.frames {
            input.ctrl.copy_from_slice(&(self.control)(state.time));
            write!(text, "\n{}", state.time)?;
            for (numbers, noise) in [(&state.qpos, self.noise[0]), (&state.qvel, self.noise[1])] {
                for number in numbers {
                    write!(text, ",{}", number + noise * random.normal())?;
                }
            }
            input
                .ctrl
                .iter()
                .try_for_each(|control| write!(text, ",{control}"))?;
            for _ in 0..self.every {
                carom::step(model, &mut state, &input, &mut data);
            }
        }
        Ok(text)
    }

    /// Writes the table below `target/experiments/` and reads it again for another model.
    pub(crate) fn record(
        &self,
        truth: &Model,
        (name, mapping): (&str, &str),
        model: &Model,
    ) -> Result<Recordings, Box<dyn Error>> {
        let path = place(name)?;
        std::fs::write(&path, self.table(truth)?)?;
        let mapping = Mapping::parse(mapping, "mapping.toml")?;
        Ok(recording::load(model, &mapping, &[path])?)
    }
}

/// Where a recording goes.
fn place(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target/experiments/recordings");
    std::fs::create_dir_all(&folder)?;
    // Runs side by side have files of their own.
    Ok(folder.join(format!("{name}-{}.csv", std::process::id())))
}

/// A mapping of some joints and actuators in the columns of [`Motion::table`].
pub(crate) fn mapping(joints: &[(&str, [f64; 2])], actuators: &[&str]) -> String {
    let joint = |(index, (name, [position, velocity])): (usize, &(&str, [f64; 2]))| {
        format!(
            "[[joint]]\nname = \"{name}\"\nposition = \"q[{index}]\"\nvelocity = \"qd[{index}]\"\nnoise = {position}\nvelocity_noise = {velocity}\n"
        )
    };
    let actuator = |(index, name): (usize, &&str)| {
        format!("[[actuator]]\nname = \"{name}\"\ncontrol = \"u[{index}]\"\n")
    };
    let joints = joints.iter().enumerate().map(joint);
    let actuators = actuators.iter().enumerate().map(actuator);
    let time = "[time]\ncolumn = \"t\"\n".to_owned();
    std::iter::once(time)
        .chain(joints)
        .chain(actuators)
        .collect()
}

/// Parameters by name.
pub(crate) fn free(names: &[&str]) -> Result<Vec<Free>, Box<dyn Error>> {
    let parsed: Result<Vec<_>, _> = names.iter().map(|name| name.parse()).collect();
    Ok(parsed?.into_iter().map(Free::new).collect())
}

/// Checks, searches and concludes; the first two must not object.
pub(crate) fn identified(
    model: &Model,
    recordings: &Recordings,
    settings: Settings,
) -> Result<Identified, Box<dyn Error>> {
    let mut task = Task::new(model, recordings, settings)?;
    if let Some(refusal) = task.inspect()?.refusal() {
        return Err(refusal.into());
    }
    task.warm_up(None)?;
    let solution = task.solve(None, None, &mut Unwatched)?;
    if !solution.is_finished {
        return Err(format!("the search did not end well: {}", solution.end).into());
    }
    Ok(task.conclude(&solution)?)
}

/// Whether an interval holds a number.
pub(crate) fn holds(estimate: &Estimate, truth: f64) -> bool {
    let [low, high] = estimate.interval;
    low <= truth && truth <= high
}

/// A row of a table: name, start, found, interval, truth.
pub(crate) fn row(estimate: &Estimate, truth: f64) -> Vec<String> {
    let [low, high] = estimate.interval;
    vec![
        estimate.name.clone(),
        format!("{:.5}", estimate.start),
        format!("{:.5}", estimate.value),
        format!("{low:.5} … {high:.5}"),
        format!("{truth:.5}"),
        if holds(estimate, truth) { "yes" } else { "no" }.to_owned(),
    ]
}

/// The head of such a table.
pub(crate) const HEAD: [&str; 6] = [
    "parameter",
    "start",
    "found",
    "interval",
    "truth",
    "holds it",
];
