//! The loop, one step at a time.

use super::sample::{Places, Samples};
use super::{Motion, Motions, RolloutErrors};
use crate::learned::{Learned, StepWork};
use crate::network::{Activations, Adam, AdamSettings, Features, Net, NetShape, Real};
use crate::random::Random;
use crate::scene::{Normalizer, Setting};

/// How a network is made and trained.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Numbers of a latent.
    pub width: usize,
    /// Layers of messages.
    pub layers: usize,
    /// Distance below which features of solids are linked (m).
    pub threshold: f64,
    /// Steps.
    pub steps: u64,
    /// Graphs a step.
    pub batch: usize,
    /// Longest step of a weight, reached after the first hundredth of the steps; from there it falls like a cosine.
    pub rate: f64,
    /// Part of the graphs that are drawn among those with a hit.
    pub hits: f64,
    /// Standard deviation of displaced vertices (m).
    pub noise: f64,
    /// Standard deviation of their velocities (m/s).
    pub velocity_noise: f64,
    /// Part of the motions that are held out.
    pub held_out: f64,
    /// Steps between two validations.
    pub every: u64,
    /// Validations without a better one after which training ends; 0 for never.
    pub patience: u64,
    /// Seed of all that is random.
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            width: 64,
            layers: 3,
            threshold: 0.03,
            steps: 12_000,
            batch: 32,
            rate: 2e-3,
            hits: 0.5,
            noise: 1e-4,
            velocity_noise: 2e-3,
            held_out: 0.03,
            every: 500,
            patience: 0,
            seed: 0,
        }
    }
}

/// Errors count linearly from this size on (in units of the outputs).
const BEND: f64 = 0.01;

/// How much an acceleration counts beside a change of velocity: that one lasts.
const OF_ACCELERATION: f64 = 0.3;

/// Frames from which means and scales of features are taken.
const SCALE_FRAMES: usize = 4000;

/// A validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps so far.
    pub step: u64,
    /// Mean loss of the steps since the last validation.
    pub loss: f64,
    /// Errors on motions that are held out.
    pub held_out: RolloutErrors,
    /// Whether it is the best so far.
    pub is_best: bool,
}

/// Everything that changes while training.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The network with its last weights.
    pub learned: Learned<f32>,
    /// Means of the search.
    pub adam: Adam<f32>,
    /// The best weights so far, and their error.
    pub best: Vec<f32>,
    /// Held-out error of the best weights.
    pub best_error: f64,
    /// Validations since then.
    pub since_best: u64,
}

/// A training.
#[derive(Debug)]
pub struct Trainer<'a> {
    recipe: Recipe,
    motions: &'a Motions,
    places: Places,
    held_out: Vec<&'a Motion>,
    state: State,
    gradient: Vec<f32>,
    samples: Samples,
    features: Features<f32>,
    activations: Activations<f32>,
    bar: Vec<f32>,
    work: StepWork<f32>,
    losses: (f64, u64),
}

impl<'a> Trainer<'a> {
    /// At the start of a training; none if there are no two frames to learn from.
    pub fn new(recipe: Recipe, motions: &'a Motions) -> Option<Self> {
        let mut order: Vec<usize> = (0..motions.all.len()).collect();
        let mut random = Random::new(recipe.seed, u64::MAX);
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a number of motions"
        )]
        let held = (motions.all.len() as f64 * recipe.held_out.clamp(0.0, 0.9)).ceil() as usize;
        let held = held.min(motions.all.len().saturating_sub(1));
        let (held, learned_from) = order.split_at(held);
        let places = Places::of(motions, learned_from);
        if places.all.is_empty() {
            return None;
        }
        let setting = Setting {
            step: motions.step,
            threshold: recipe.threshold,
            witness: crate::scene::WitnessMode::default(),
        };
        let normalizer = normalizer(&recipe, motions, &places, &setting);
        let shape = NetShape {
            width: recipe.width,
            layers: recipe.layers,
            features: [0, 1, 2, 3].map(|kind| normalizer.features[kind].len()),
        };
        let mut weights = Random::new(recipe.seed, u64::MAX - 1);
        let net = Net::random(shape, || weights.uniform());
        let state = State {
            adam: Adam::new(&net.weights),
            best: net.weights.clone(),
            best_error: f64::INFINITY,
            since_best: 0,
            learned: Learned {
                net,
                normalizer,
                setting,
            },
        };
        Some(Self {
            gradient: vec![0.0; state.learned.net.layout.count],
            recipe,
            places,
            held_out: held.iter().map(|&motion| &motions.all[motion]).collect(),
            motions,
            state,
            samples: Samples::default(),
            features: Features::default(),
            activations: Activations::default(),
            bar: Vec::new(),
            work: StepWork::default(),
            losses: (0.0, 0),
        })
    }

    /// Goes on from where a training was.
    #[must_use]
    pub fn resume(mut self, state: State) -> Self {
        self.state = state;
        self
    }

    /// Everything that changes.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How it is trained.
    pub fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// Motions that are held out.
    pub fn held_out(&self) -> &[&'a Motion] {
        &self.held_out
    }

    /// The network with the best weights.
    pub fn best(&self) -> Learned<f32> {
        let mut best = self.state.learned.clone();
        best.net.weights.clone_from(&self.state.best);
        best
    }

    /// Whether the steps of the recipe are done, or nothing gets better.
    pub fn is_done(&self) -> bool {
        let Recipe {
            steps, patience, ..
        } = self.recipe;
        self.state.adam.steps >= steps || (patience > 0 && self.state.since_best >= patience)
    }

    /// Takes a step; a validation now and then.
    pub fn step(&mut self) -> Option<Progress> {
        let steps = self.state.adam.steps;
        self.draw(steps);
        let loss = self.gradient();
        self.losses.0 += loss;
        self.losses.1 += 1;
        let State { adam, learned, .. } = &mut self.state;
        let settings = AdamSettings::default();
        adam.step(
            &settings,
            rate(&self.recipe, steps),
            &self.gradient,
            &mut learned.net.weights,
        );
        let is_due =
            adam.steps.is_multiple_of(self.recipe.every.max(1)) || adam.steps == self.recipe.steps;
        is_due.then(|| self.validate())
    }

    /// Draws the graphs of a step.
    fn draw(&mut self, step: u64) {
        let mut random = Random::new(self.recipe.seed, step);
        self.samples.clear();
        for _ in 0..self.recipe.batch {
            let place = self.places.draw(self.recipe.hits, &mut random);
            let motion = &self.motions.all[place.motion];
            let how = (&self.recipe, &self.state.learned.setting);
            (self.samples).add(motion, place.frame, how, &mut random);
        }
    }

    /// The loss of the graphs that were drawn, and its gradient.
    fn gradient(&mut self) -> f64 {
        let Learned {
            net, normalizer, ..
        } = &self.state.learned;
        let batch = &self.samples.batch;
        batch.scaled(normalizer, &mut self.features);
        let said = net.forward(&batch.topology, &self.features, &mut self.activations);
        let nodes = (said.len() / 6) as f64;
        self.bar.clear();
        let mut loss = 0.0;
        let scales = normalizer.outputs;
        let targets = self.samples.targets.chunks_exact(3);
        for (index, (said, target)) in said.chunks_exact(3).zip(targets).enumerate() {
            let (scale, counts) = if index % 2 == 0 {
                (scales[0], OF_ACCELERATION)
            } else {
                (scales[1], 1.0)
            };
            let error: [f64; 3] =
                std::array::from_fn(|axis| said[axis].wide() - target[axis] / scale);
            let square: f64 = error.iter().map(|e| e * e).sum();
            let root = (square + BEND * BEND).sqrt();
            loss += counts * (root - BEND) / nodes;
            let factor = counts / (root * nodes);
            self.bar
                .extend(error.iter().map(|error| f32::of(error * factor)));
        }
        self.gradient.fill(0.0);
        net.backward(
            &batch.topology,
            &self.features,
            (&self.bar, &mut self.activations),
            &mut self.gradient,
            None,
        );
        loss
    }

    /// Measures the errors on held-out motions, and keeps the weights if they are the best.
    pub fn validate(&mut self) -> Progress {
        let mut mean = self.state.learned.clone();
        mean.net.weights.clone_from(&self.state.adam.mean);
        let held_out = RolloutErrors::measure(&mean, &self.held_out, &mut self.work);
        let is_best = held_out.both < self.state.best_error || self.held_out.is_empty();
        if is_best {
            self.state.best = mean.net.weights;
            self.state.best_error = held_out.both;
            self.state.since_best = 0;
        } else {
            self.state.since_best += 1;
        }
        let (sum, count) = std::mem::take(&mut self.losses);
        Progress {
            step: self.state.adam.steps,
            loss: sum / count.max(1) as f64,
            held_out,
            is_best,
        }
    }
}

/// Length of a step.
fn rate(recipe: &Recipe, step: u64) -> f64 {
    let done = (step as f64 + 1.0) / recipe.steps.max(1) as f64;
    let warm = (done / 0.01).min(1.0);
    let fall = 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
    recipe.rate * warm * (0.002 + 0.998 * fall)
}

/// Means and scales over some frames.
fn normalizer(
    recipe: &Recipe,
    motions: &Motions,
    places: &Places,
    setting: &Setting,
) -> Normalizer {
    let mut random = Random::new(recipe.seed, u64::MAX - 2);
    let mut samples = Samples::default();
    samples.clear();
    for _ in 0..SCALE_FRAMES.min(20 * places.all.len()) {
        let place = places.draw(recipe.hits, &mut random);
        let motion = &motions.all[place.motion];
        samples.add(motion, place.frame, (recipe, setting), &mut random);
    }
    let mut normalizer = Normalizer::identity();
    for (scales, rows) in normalizer.features.iter_mut().zip(&samples.batch.raw) {
        let count = scales.len();
        let rows = rows.chunks_exact(count);
        let part = 1.0 / rows.len().max(1) as f64;
        for (place, scale) in scales.iter_mut().enumerate() {
            let mean: f64 = rows.clone().map(|row| row[place] * part).sum();
            let square = |row: &[f64]| (row[place] - mean).powi(2) * part;
            let deviation = rows.clone().map(square).sum::<f64>().sqrt();
            let is_constant = deviation <= 1e-9 * (1.0 + mean.abs());
            *scale = [mean, if is_constant { 0.0 } else { 1.0 / deviation }];
        }
    }
    let mut squares = [0.0; 2];
    let vectors = samples.targets.chunks_exact(3);
    let part = 2.0 / vectors.len().max(1) as f64;
    for (index, vector) in vectors.enumerate() {
        squares[index % 2] += vector.iter().map(|x| x * x).sum::<f64>() * part;
    }
    normalizer.outputs = squares.map(|square: f64| square.sqrt().max(1e-12));
    normalizer
}
