//! How terms are trained: from a blueprint's `[training]`, the command line, or Rust.

use carom::parameters::Selection;
use carom::{Error, ErrorKind};
use serde::Deserialize;

use crate::loss::{Loss, Penalty};
use crate::problem::Stepping;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Parameters of the model that are found with the weights.
    pub free: Vec<Selection>,
    /// How predictions are compared.
    pub loss: Loss,
    /// How simulations step.
    pub stepping: Stepping,
    /// Frames of the segments that are predicted, one after the other; longer than all trajectories means whole ones. Empty to
    /// choose by the recordings.
    pub horizons: Vec<usize>,
    /// Frames from the start of a segment to the next; each starts where the last one ends if none.
    pub every: Option<usize>,
    /// Most evaluations of each horizon.
    pub evaluations: u64,
    /// Segments of each step of Adam, where there are more.
    pub batch: usize,
    /// Steps of Adam over each horizon.
    pub steps: u64,
    /// Length of the first step of Adam in scales of the unknowns.
    pub rate: f64,
    /// What a weight as large as its scale costs beside the mean loss of a frame.
    pub regularization: f64,
    /// Share of the trajectories that is held back where no held-out recordings are given; if none, a fifth of five or more where
    /// there are many weights.
    pub held_back: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            free: Vec::new(),
            loss: Loss::default(),
            stepping: Stepping::Fixed,
            horizons: Vec::new(),
            every: None,
            evaluations: 400,
            batch: 64,
            steps: 200,
            rate: 0.02,
            regularization: 0.0,
            held_back: None,
        }
    }
}

/// The table `[training]` of a blueprint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    free: Vec<String>,
    #[serde(default)]
    horizons: Vec<usize>,
    every: Option<usize>,
    evaluations: Option<u64>,
    batch: Option<usize>,
    steps: Option<u64>,
    rate: Option<f64>,
    huber: Option<f64>,
    regularization: Option<f64>,
    held_back: Option<f64>,
}

impl File {
    /// What it says; a mistake in words otherwise.
    pub(super) fn settings(self) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for text in &self.free {
            let selection = text.parse::<Selection>();
            settings
                .free
                .push(selection.map_err(|cause| cause.to_string())?);
        }
        let counts = [
            ("every", self.every),
            ("batch", self.batch),
            ("horizons", self.horizons.iter().copied().min()),
        ];
        for (name, count) in counts {
            if count == Some(0) {
                return Err(format!("{name} = 0: it must be 1 or more"));
            }
        }
        let numbers = [
            ("rate", self.rate),
            ("huber", self.huber),
            ("regularization", self.regularization),
            ("held_back", self.held_back),
        ];
        for (name, number) in numbers {
            let is_zero_fine = matches!(name, "regularization" | "held_back");
            let is_fine =
                |number: f64| number.is_finite() && (number > 0.0 || is_zero_fine && number == 0.0);
            if let Some(number) = number.filter(|&number| !is_fine(number)) {
                let than = if is_zero_fine { "0 or more" } else { "above 0" };
                return Err(format!("{name} = {number}: it must be {than}"));
            }
        }
        if let Some(share) = self.held_back.filter(|&share| share >= 1.0) {
            return Err(format!(
                "held_back = {share}: it is a share of the trajectories, below 1"
            ));
        }
        settings.horizons = self.horizons;
        settings.every = self.every;
        settings.evaluations = self.evaluations.unwrap_or(settings.evaluations);
        settings.batch = self.batch.unwrap_or(settings.batch);
        settings.steps = self.steps.unwrap_or(settings.steps);
        settings.rate = self.rate.unwrap_or(settings.rate);
        settings.regularization = self.regularization.unwrap_or(settings.regularization);
        settings.held_back = self.held_back;
        if let Some(delta) = self.huber {
            settings.loss.penalty = Penalty::Huber { delta };
        }
        Ok(settings)
    }
}

/// Selections of a list such as that of `--free`.
///
/// # Errors
/// When one is no selection.
pub fn selections(texts: &[String]) -> Result<Vec<Selection>, Error> {
    let parsed = texts.iter().map(|text| text.parse::<Selection>());
    let parsed: Result<Vec<Selection>, Error> = parsed.collect();
    parsed.map_err(|cause| Error::of(ErrorKind::Settings, cause))
}
