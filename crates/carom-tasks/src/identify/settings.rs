//! What is asked: free parameters, loss, starts, stepping, optimiser; in Rust, or as a small TOML file.
//!
//! ```toml
//! free = ["geom.*.friction[0] tied", "geom.cube.size log tied"]
//! preset = "contact"                     # friction and solref of all geoms; others are in `PRESETS`
//! residual = "prediction"                # torque, both: torques of joints by inverse dynamics
//! inertia_sd = 0.5                       # how far inertias may be from those of the model, relatively; unasked where torques are compared
//!
//! [[parameter]]                          # one that needs more words
//! select = "geom.cube.solref[0]"
//! transform = "log"                      # identity, log or softplus
//! tie = "equal"                          # or "ratio"
//! bounds = [0.001, 0.1]                  # in the units of the model
//! prior = { mean = 0.02, sd = 0.01 }
//! start = 0.02                           # the model's own value unless told
//!
//! [torque]
//! weight = 1.0                           # of torques beside predictions
//!
//! [loss]
//! kind = "likelihood"                    # distance_and_angle (with width), squared_poses, absolute
//! huber = 3.0                            # errors beyond so many deviations count less
//! frames = 5                             # segments of so many frames instead of whole trajectories …
//! every = 5                              # … that start so far apart
//! compare_every = 1                      # compares every so-manyth frame, where frames are many
//!
//! [initial_states]
//! free = true
//! position = 1e-3                        # deviations where the mapping gives no noise
//! velocity = 1e-2
//! draws = 8                              # or: as recorded and as 7 other measurements would have had it, where the loss is rough
//!
//! [simulation]
//! tolerance = 1e-6                       # in continuous time
//!
//! [optimiser]
//! kind = "auto"                          # or another name of `OptimiserKind`
//! evaluations = 500
//! seconds = 60
//! seed = 1
//! confidence = 0.95
//! ```

use std::path::Path;

use carom_spec::ModelSpec;

use crate::error;
use carom::flow::{FlowSettings, Tolerances};
use carom::parameters::{Selection, Tie, Transform};
use carom::{Error, Place};
use serde::{Deserialize, Deserializer};

use super::OptimiserKind;
use crate::loss::{Average, Loss, Penalty};
use crate::problem::{self, Horizon, Starts, Stepping};

/// Most steps from a frame to the next in continuous time.
const MAX_STEPS: usize = 2_000;

/// Relative standard deviation of inertias around those of the model where torques are compared: drawings know masses about so well.
pub(super) const INERTIA_SD: f64 = 0.5;

/// What is known of a parameter before: a normal distribution.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// The most likely value, in the units of the model.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
}

/// Parameters to identify: a selection, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    /// Which numbers of the model.
    pub selection: Selection,
    /// Least and greatest value, in the units of the model. A start at a bound is a start like any other.
    pub bounds: Option<[f64; 2]>,
    /// What is known before.
    pub prior: Option<Prior>,
    /// Where the search starts; the model's own value if none.
    pub start: Option<f64>,
    /// Whether a start outside of the bounds is moved to the nearest one, and not refused.
    pub moves_start: bool,
}

impl Free {
    /// Numbers of a selection. Bounds of its transform become bounds of the search, which can be reached.
    pub fn new(mut selection: Selection) -> Self {
        let bounds = match selection.transform {
            Transform::Bounds { low, high } => {
                selection.transform = Transform::Identity;
                let ends = [low * selection.scale, high * selection.scale];
                Some([ends[0].min(ends[1]), ends[0].max(ends[1])])
            }
            _ => None,
        };
        Self {
            selection,
            bounds,
            prior: None,
            start: None,
            moves_start: false,
        }
    }
}

/// What is compared with the recordings.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ResidualKind {
    /// Motions that the model predicts.
    #[default]
    Prediction,
    /// Torques of joints, by inverse dynamics.
    Torque,
    /// Both, each weighed by what is left of it.
    Both,
}

/// Names of what is compared.
pub const RESIDUALS: [(&str, ResidualKind); 3] = [
    ("prediction", ResidualKind::Prediction),
    ("torque", ResidualKind::Torque),
    ("both", ResidualKind::Both),
];

/// What is asked.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Settings {
    /// The free parameters.
    pub free: Vec<Free>,
    /// Loss, horizon, starts and stepping.
    pub problem: problem::Settings,
    /// How the loss is made small.
    pub optimiser: OptimiserKind,
    /// Most evaluations of the loss.
    pub evaluations: Option<u64>,
    /// Longest search (s).
    pub seconds: Option<f64>,
    /// Of random numbers.
    pub seed: u64,
    /// Threads; all cores if none. Results do not depend on it.
    pub threads: Option<usize>,
    /// With which probability intervals hold the truth.
    pub confidence: f64,
    /// Fit although the recordings cannot tell some parameters.
    pub anyway: bool,
    /// Whether simulations step by the model's time step although its file says that it was calibrated in continuous time.
    pub fixed_steps: bool,
    /// Whether starts may be found too where recorded ones leave residuals well above the noise.
    pub frees_starts: bool,
    /// Predictions are compared at every so-manyth frame.
    pub compare_every: usize,
    /// What is compared: predicted motions, torques of joints, or both.
    pub residual: ResidualKind,
    /// How much torques count beside predictions; as much if 1.
    pub torque_weight: f64,
    /// Relative standard deviation of inertias around those of the model, of parameters that have no prior of their own. Unless it is given, it is
    /// 0.5 where torques are compared, and inertias have no prior where motions alone are.
    pub inertia_sd: Option<f64>,
    /// Whether segments and their initial states are found by a horizon that grows, for motions through impacts: where whole trajectories
    /// are compared, initial states are free and the optimiser is left open.
    pub grows: bool,
}

impl Default for Settings {
    /// The most likely parameters, from whole trajectories that start as recorded.
    fn default() -> Self {
        Self {
            free: Vec::new(),
            problem: problem::Settings {
                loss: likelihood(),
                ..problem::Settings::default()
            },
            optimiser: OptimiserKind::Auto,
            evaluations: None,
            seconds: None,
            seed: 0,
            threads: None,
            confidence: 0.95,
            anyway: false,
            fixed_steps: false,
            frees_starts: true,
            compare_every: 1,
            residual: ResidualKind::Prediction,
            torque_weight: 1.0,
            inertia_sd: None,
            grows: false,
        }
    }
}

/// The sum of squares in units of the noise: its least value is the most likely.
fn likelihood() -> Loss {
    Loss {
        average: Average::Sum,
        ..Loss::default()
    }
}

/// A loss by its name; the width of the body is that of `distance_and_angle`.
///
/// # Errors
/// When there is none of this name, or the width is missing.
pub fn loss_of(kind: &str, width: Option<f64>) -> Result<Loss, Error> {
    match (kind, width) {
        ("likelihood", _) => Ok(likelihood()),
        ("distance_and_angle", Some(width)) if width > 0.0 => Ok(Loss::distance_and_angle(width)),
        ("distance_and_angle", _) => Err(error::settings(
            "distance_and_angle needs the width of the body (m): width = 0.1, or `size` in the mapping's [evaluate]",
        )),
        ("squared_poses", _) => Ok(Loss::squared_poses()),
        ("absolute", _) => Ok(Loss::absolute()),
        _ => Err(error::settings(format!(
            "there is no loss '{kind}'; there are: {}",
            LOSSES.join(", ")
        ))),
    }
}

/// Names of the losses.
pub const LOSSES: [&str; 4] = [
    "likelihood",
    "distance_and_angle",
    "squared_poses",
    "absolute",
];

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    free: Vec<String>,
    preset: Option<String>,
    #[serde(default)]
    parameter: Vec<FileParameter>,
    #[serde(default)]
    residual: ResidualKind,
    inertia_sd: Option<f64>,
    #[serde(default)]
    torque: FileTorque,
    #[serde(default)]
    loss: FileLoss,
    #[serde(default, alias = "starts")]
    initial_states: FileStarts,
    #[serde(default)]
    simulation: FileSimulation,
    #[serde(default)]
    optimiser: FileOptimiser,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct FileParameter {
    select: String,
    transform: Option<String>,
    scale: Option<f64>,
    tie: Option<String>,
    bounds: Option<[f64; 2]>,
    prior: Option<Prior>,
    start: Option<f64>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct FileLoss {
    kind: Option<String>,
    width: Option<f64>,
    huber: Option<f64>,
    frames: Option<usize>,
    every: Option<usize>,
    compare_every: Option<usize>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct FileTorque {
    weight: Option<f64>,
    inertia_sd: Option<f64>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct FileStarts {
    free: Option<bool>,
    position: Option<f64>,
    velocity: Option<f64>,
    draws: Option<usize>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct FileSimulation {
    tolerance: Option<f64>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct FileOptimiser {
    #[serde(default)]
    kind: OptimiserKind,
    evaluations: Option<u64>,
    seconds: Option<f64>,
    #[serde(default)]
    seed: u64,
    confidence: Option<f64>,
}

/// Deviations of free starts where no noise is known.
pub const FREE_STARTS: Starts = Starts::Free {
    position: 1e-3,
    velocity: 1e-2,
};

/// How simulations of a model step: as asked, else as its file says that it was calibrated, else by fixed steps.
pub fn stepping_of(asked: Option<f64>, spec: &ModelSpec) -> Stepping {
    let tolerance = asked.or(spec.continuous_time);
    tolerance.map_or(Stepping::Fixed, in_continuous_time)
}

/// Simulation in continuous time.
pub fn in_continuous_time(tolerance: f64) -> Stepping {
    Stepping::Flow(FlowSettings {
        tolerances: Tolerances::all(tolerance),
        most_steps: MAX_STEPS,
        ..FlowSettings::default()
    })
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// When it cannot be read, or says what cannot be meant.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|cause| {
            error::settings(format!("cannot read the settings '{}'", path.display()))
                .because(cause)
                .at(Place::File(path.to_owned()))
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Settings from their text; `file` is what messages call it.
    ///
    /// # Errors
    /// When it says what cannot be meant.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let read = toml::from_str(text).map_err(|cause| wrong_in(file, cause))?;
        Self::of(&read, file)
    }

    /// Settings of the same form in another format; `file` is what messages call them.
    ///
    /// # Errors
    /// When they say what cannot be meant.
    pub fn deserialize<'de, D: Deserializer<'de>>(settings: D, file: &str) -> Result<Self, Error> {
        let read = File::deserialize(settings)
            .map_err(|cause| wrong_in(file, error::settings(cause.to_string())))?;
        Self::of(&read, file)
    }

    fn of(read: &File, file: &str) -> Result<Self, Error> {
        let wrong = |cause: Error| wrong_in(file, cause);
        let refused = |why: &str| wrong(error::settings(why));
        let mut settings = Self::default();
        for text in &read.free {
            let selection: Selection = text.parse().map_err(wrong)?;
            settings.free.push(Free::new(selection));
        }
        for parameter in &read.parameter {
            settings.free.push(parameter.free().map_err(wrong)?);
        }
        settings.problem.starts = read.initial_states.starts().map_err(wrong)?;
        settings.frees_starts = read.initial_states.free != Some(false);
        if let Some(name) = &read.preset {
            settings.add_preset(name).map_err(wrong)?;
        }
        settings.set_loss(&read.loss).map_err(wrong)?;
        settings.residual = read.residual;
        let positive = |name: &str, number: Option<f64>| match number {
            Some(number) if !(number > 0.0 && number.is_finite()) => {
                Err(refused(&format!("{name} = {number}: it must be above 0")))
            }
            number => Ok(number),
        };
        if let Some(weight) = positive("[torque] weight", read.torque.weight)? {
            settings.torque_weight = weight;
        }
        let of_torques = positive("[torque] inertia_sd", read.torque.inertia_sd)?;
        settings.inertia_sd = positive("inertia_sd", read.inertia_sd)?.or(of_torques);
        match read.simulation.tolerance {
            None => {}
            Some(tolerance) if tolerance > 0.0 && tolerance < 1.0 => {
                settings.problem.stepping = in_continuous_time(tolerance);
            }
            Some(tolerance) => {
                let why =
                    format!("[simulation] tolerance = {tolerance}: it must be above 0 and below 1");
                return Err(refused(&why));
            }
        }
        let optimiser = &read.optimiser;
        settings.optimiser = optimiser.kind;
        settings.evaluations = optimiser.evaluations;
        settings.seed = optimiser.seed;
        settings.seconds = optimiser.seconds;
        if optimiser
            .seconds
            .is_some_and(|seconds| seconds <= 0.0 || !seconds.is_finite())
        {
            return Err(refused("[optimiser] seconds must be above 0"));
        }
        if let Some(confidence) = optimiser.confidence {
            if !(confidence > 0.0 && confidence < 1.0) {
                return Err(refused(&format!(
                    "[optimiser] confidence = {confidence}: it must be between 0 and 1, as in 0.95"
                )));
            }
            settings.confidence = confidence;
        }
        Ok(settings)
    }

    /// Compares segments of so many frames. As recorded, each starts where the last one ends; free starts are told by their first
    /// frame, so that one is left to them alone.
    pub fn set_segments(&mut self, frames: usize) {
        let every = match self.problem.starts {
            Starts::Recorded | Starts::Drawn { .. } => frames.saturating_sub(1).max(1),
            Starts::Free { .. } => frames,
        };
        self.problem.horizon = Horizon::Segments { frames, every };
    }

    fn set_loss(&mut self, read: &FileLoss) -> Result<(), Error> {
        let loss = &mut self.problem.loss;
        if let Some(kind) = &read.kind {
            *loss = loss_of(kind, read.width)?;
        }
        if let Some(delta) = read.huber {
            if !(delta > 0.0 && delta.is_finite()) {
                return Err(error::settings(format!(
                    "[loss] huber = {delta}: it must be above 0"
                )));
            }
            if loss.penalty != Penalty::Squared {
                return Err(error::settings(
                    "[loss] huber goes with likelihood and squared_poses",
                ));
            }
            loss.penalty = Penalty::Huber { delta };
        }
        match read.compare_every {
            Some(0) => {
                return Err(error::settings(
                    "[loss] compare_every = 0: it must be 1 or more (frames)",
                ));
            }
            Some(every) => self.compare_every = every,
            None => {}
        }
        match (read.frames, read.every) {
            (Some(frames), None) => self.set_segments(frames),
            (Some(frames), Some(every)) => {
                self.problem.horizon = Horizon::Segments { frames, every };
            }
            (None, Some(_)) => {
                return Err(error::settings(
                    "[loss] every goes with frames, the length of the segments",
                ));
            }
            (None, None) => {}
        }
        Ok(())
    }
}

fn wrong_in(file: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    error::settings(format!("settings '{file}'"))
        .because(cause)
        .at(Place::File(file.into()))
}

impl FileStarts {
    fn starts(&self) -> Result<Starts, Error> {
        let positive = |value: Option<f64>, default: f64| match value {
            Some(value) if value > 0.0 && value.is_finite() => Ok(value),
            Some(value) => Err(error::settings(format!(
                "[initial_states] has the standard deviation {value}: it must be above 0"
            ))),
            None => Ok(default),
        };
        match (self.free.unwrap_or(false), self.draws) {
            (true, None) => Ok(Starts::Free {
                position: positive(self.position, 1e-3)?,
                velocity: positive(self.velocity, 1e-2)?,
            }),
            (true, Some(_)) => Err(error::settings(
                "[initial_states] are either free or drawn: leave out free, or draws",
            )),
            (false, Some(0)) => Err(error::settings(
                "[initial_states] draws = 0: it must be 1 or more",
            )),
            (false, Some(count)) => Ok(Starts::Drawn { count }),
            (false, None) => Ok(Starts::Recorded),
        }
    }
}

impl FileParameter {
    fn free(&self) -> Result<Free, Error> {
        let what = &self.select;
        let mut selection: Selection = what.parse()?;
        match self.transform.as_deref() {
            None => {}
            Some("identity") => selection.transform = Transform::Identity,
            Some("log") => selection.transform = Transform::Log,
            Some("softplus") => selection.transform = Transform::Softplus,
            Some(other) => {
                return Err(error::settings(format!(
                    "'{what}' has the transform '{other}', which is none of identity, log, softplus"
                )));
            }
        }
        match self.tie.as_deref() {
            None => {}
            Some("equal") => selection.tie = Tie::Equal,
            Some("ratio") => selection.tie = Tie::Ratio,
            Some(other) => {
                return Err(error::settings(format!(
                    "'{what}' has the tie '{other}', which is none of equal, ratio"
                )));
            }
        }
        match self.scale {
            None => {}
            Some(scale) if scale != 0.0 && scale.is_finite() => selection.scale = scale,
            Some(scale) => {
                return Err(error::settings(format!(
                    "'{what}' has the scale {scale}, which is no factor"
                )));
            }
        }
        let mut free = Free::new(selection);
        if let Some([low, high]) = self.bounds {
            if low > high || low.is_nan() || high.is_nan() {
                return Err(error::settings(format!(
                    "'{what}' has bounds {low} to {high}: give the lower one first"
                )));
            }
            free.bounds = Some([low, high]);
        }
        if let Some(prior) = self.prior
            && !(prior.sd > 0.0 && prior.sd.is_finite() && prior.mean.is_finite())
        {
            return Err(error::settings(format!(
                "the prior of '{what}' needs a finite mean and an sd above 0"
            )));
        }
        free.prior = self.prior;
        if self.start.is_some_and(|start| !start.is_finite()) {
            return Err(error::settings(format!(
                "the start of '{what}' is not finite"
            )));
        }
        free.start = self.start;
        Ok(free)
    }
}
