//! Is the gradient of this model right here? The question for any model, asked at states of its own motion.
//!
//! A random weighing of the next state is a loss. Its gradient by the backward pass, by quantity (`state.qpos`,
//! `geoms.size`, …), is compared along random directions with dual numbers, which know nothing of the backward pass, and
//! with central differences, which know nothing of derivatives.
//!
//! ```
//! use carom_gradient_check::{DUAL_BAR, Settings, check};
//!
//! let model = carom::load::file("../../models/pendulum.xml".as_ref(), &[])?.model;
//! let report = check(&model, Settings::default())?;
//! assert!(report.rows.iter().all(|row| row.dual_error < DUAL_BAR));
//! assert!(report.linear_error < DUAL_BAR);
//! # Ok::<(), carom::Error>(())
//! ```
//!
//! A slope that is off must have a reason, or it is wrong:
//!
//! - Dual numbers make the same step to the last bit, and take the same side of every kink. What may differ is rounding:
//!   both are computed again several times such that all rounding happens anew, and may be as far apart as that spreads.
//! - Differences estimate their own error by a second step size and by what rounding does to the loss. Off by less, they
//!   cannot tell; off by more, there must be a kink or a jump on their way that dual numbers see as well (`kinks.rs`).

mod differences;
mod directions;
mod kinks;
mod linear;
mod point;
mod probe;
mod sides;
#[cfg(test)]
mod tests;
mod trajectory;

use std::time::Duration;

use carom::rollout::NoGradient;
use carom::{Data, Error, Input, Model, State};

use directions::{Given, Noise, Variable};
use point::{Point, greatest};
use probe::Probe;
pub use trajectory::{TrajectoryReport, check_trajectory};

/// Relative error against dual numbers above which a gradient is wrong.
pub const DUAL_BAR: f64 = 1e-8;
/// Relative error against differences above which a gradient is doubtful; differences have errors of their own.
pub const DIFFERENCE_BAR: f64 = 1e-4;

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of states.
    pub states: usize,
    /// Steps between them.
    pub steps_between: usize,
    /// Start of the random numbers.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            states: 4,
            steps_between: 25,
            seed: 1,
        }
    }
}

/// How well the gradient by one quantity agrees.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name: `state`, `input` or the model's family, and the field.
    pub quantity: String,
    /// How many numbers it has.
    pub numbers: usize,
    /// Largest slope of the loss along a direction, at any state.
    pub slope: f64,
    /// Greatest difference to dual numbers, relative to the largest slope.
    pub dual_error: f64,
    /// Greatest difference to central differences, relative to the largest slope, away from kinks.
    pub difference_error: f64,
    /// Cosine between the slopes of the backward pass and those of differences, away from kinks.
    pub cosine: f64,
    /// Greatest difference to dual numbers, relative to the largest slope, of slopes whose rounding explains it; those are
    /// not in `dual_error`.
    pub rounded: f64,
    /// States at which differences met a kink.
    pub kinks: usize,
    /// Differences that cannot tell: they are off, but by less than their own error.
    pub undecided: usize,
    /// The greatest of these errors, as differences estimate them, relative to the largest slope.
    pub doubt: f64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One row for each quantity that has an effect.
    pub rows: Vec<Row>,
    /// Quantities that had no effect at any of the states.
    pub without_effect: Vec<String>,
    /// Kinks that were met: the time of the state, and what changes there.
    pub kinks: Vec<String>,
    /// Quantities that can move to one side only, with the reason; they were compared there.
    pub one_sided: Vec<String>,
    /// Greatest difference of A and B to dual numbers, relative to the largest slope.
    pub linear_error: f64,
    /// States that were looked at.
    pub states: usize,
    /// Time of a backward pass over that of a step.
    pub cost_ratio: f64,
}

/// Sums over states for one row.
#[derive(Default)]
struct Sums {
    slope: f64,
    dual_error: f64,
    difference_error: f64,
    /// Of A and B against dual numbers.
    linear_error: f64,
    /// ⟨b, b⟩, ⟨d, d⟩ and ⟨b, d⟩ of backward slopes b and differences d.
    products: [f64; 3],
    kinks: usize,
    rounded: f64,
    undecided: usize,
    doubt: f64,
}

/// Kinks, each with the quantities along which it was met.
#[derive(Default)]
struct Kinks(Vec<(String, Vec<String>)>);

impl Kinks {
    fn add(&mut self, kink: String, quantity: String) {
        match self.0.iter_mut().find(|(known, _)| *known == kink) {
            Some((_, quantities)) => quantities.push(quantity),
            None => self.0.push((kink, vec![quantity])),
        }
    }

    fn sentences(&self) -> Vec<String> {
        let sentence = |(kink, quantities): &(String, Vec<String>)| match &quantities[..] {
            [first, second, third, rest @ ..] if !rest.is_empty() => format!(
                "{kink} (along {first}, {second}, {third} and {} more)",
                rest.len()
            ),
            few => format!("{kink} (along {})", few.join(", ")),
        };
        self.0.iter().map(sentence).collect()
    }
}

/// Compares gradients along a short motion from the model's default state.
///
/// # Errors
/// When the motion is not finite or has no derivative.
pub fn check(model: &Model, settings: Settings) -> Result<Report, Error> {
    check_watched(model, settings, &mut |_, _| true)
}

/// As [`check`], for a caller who watches: `watch` is told how many of how many comparisons are done, and says whether to go
/// on. A check that is ended has the states that it has visited.
///
/// # Errors
/// As those of [`check`].
pub fn check_watched(
    model: &Model,
    settings: Settings,
    watch: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Report, Error> {
    let model = &comparable(model);
    let mut noise = Noise(settings.seed);
    let (mut state, mut input) = (State::reference(model), Input::zeros(model));
    let mut data = Data::new(model);
    noise.disturb(model, &mut state, &mut input);
    let quantities = directions::variables(model);
    let mut sums: Vec<Sums> = quantities.iter().map(|_| Sums::default()).collect();
    let mut kinks = Kinks::default();
    let mut probe = Probe::new(model);
    let (mut forward, mut backward) = (Duration::ZERO, Duration::ZERO);
    let all = settings.states * quantities.len();
    let (mut visited, mut goes_on) = (0, true);
    for visit in 0..settings.states {
        if !goes_on {
            break;
        }
        for step in 0..settings.steps_between {
            if !state.history.is_empty() {
                // A delay of controls that never change does nothing.
                noise.control(model, &mut input);
            }
            let report = carom::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                let step = visit * settings.steps_between + step;
                return Err(NoGradient::NotFinite(place).at(step));
            }
        }
        let given = Given {
            model,
            state: &state,
            input: &input,
        };
        let (mut point, times) = Point::new(given, &mut noise, visit)?;
        point.find_edge(&mut probe, &mut noise);
        forward += times[0];
        backward += times[1];
        let effective = point.effective(&quantities, &mut probe, &mut noise);
        let effective = (quantities.iter().zip(&mut sums).zip(effective))
            .filter_map(|(pair, effective)| effective.then_some(pair));
        for (index, (quantity, sums)) in effective.enumerate() {
            goes_on &= watch(visit * quantities.len() + index, all);
            if let Some(kink) = point.compare(quantity, &mut probe, &mut noise, sums) {
                kinks.add(format!("at {:.3} s: {kink}", state.time), quantity.name());
            }
        }
        visited += 1;
    }
    Ok(report(
        model,
        &quantities,
        &sums,
        &kinks,
        visited,
        backward.as_secs_f64() / forward.as_secs_f64(),
    ))
}

fn report(
    model: &Model,
    quantities: &[Variable],
    sums: &[Sums],
    kinks: &Kinks,
    states: usize,
    cost_ratio: f64,
) -> Report {
    let (mut rows, mut without_effect) = (Vec::new(), Vec::new());
    for (quantity, sums) in quantities.iter().zip(sums) {
        if sums.slope == 0.0 {
            without_effect.push(quantity.name());
            continue;
        }
        let [b, d, both] = sums.products;
        rows.push(Row {
            quantity: quantity.name(),
            numbers: quantity.numbers,
            slope: sums.slope,
            dual_error: sums.dual_error,
            difference_error: sums.difference_error,
            cosine: if b * d > 0.0 {
                both / (b * d).sqrt()
            } else {
                f64::NAN
            },
            rounded: sums.rounded,
            kinks: sums.kinks,
            undecided: sums.undecided,
            doubt: sums.doubt,
        });
    }
    let one_sided = |quantity: &Variable| {
        let why = quantity.one_sided(model)?;
        Some(format!("{} ({why})", quantity.name()))
    };
    Report {
        one_sided: quantities.iter().filter_map(one_sided).collect(),
        linear_error: (sums.iter()).fold(0.0, |most, sums| greatest(most, sums.linear_error)),
        rows,
        without_effect,
        kinks: kinks.sentences(),
        states,
        cost_ratio,
    }
}

/// The model with solver tolerances as tight as rounding allows, and no frames snapped together: what remains is smooth.
fn comparable(model: &Model) -> Model {
    let mut model = model.clone();
    let structure = std::sync::Arc::make_mut(&mut model.structure);
    structure.coincidences.clear();
    let sweeps = model.settings.noslip_iterations;
    carom::stages::solve::tighten(&mut model);
    // What the sweeps make depends on how many they are.
    model.settings.noslip_iterations = sweeps;
    model.option.noslip_tolerance[0] = 0.0;
    model
}
