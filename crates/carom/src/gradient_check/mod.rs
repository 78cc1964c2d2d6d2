//! Is the gradient of this model right here? The question for any model, asked at states of its own motion.
//!
//! A random weighing of the next state is a loss. Its gradient by the backward pass, by quantity (`state.qpos`,
//! `geoms.size`, …), is compared along random directions with dual numbers, which know nothing of the backward pass, and
//! with central differences, which know nothing of derivatives. Where the two sides of a difference see other contacts
//! or other phases of them there is a kink: the derivative is one-sided, and differences cannot judge.

mod directions;
mod sides;

use std::time::{Duration, Instant};

use crate::cotangent::{Cotangents, StateBar};
use crate::data::Data;
use crate::dual::Dual;
use crate::integrate::{self, Retraced};
use crate::model::Model;
use crate::rollout::GradientError;
use crate::scalar::Scalar;
use crate::state::{Input, State};
pub(crate) use directions::tangent_of;
use directions::{Direction, Given, Noise, Quantity};
#[cfg(test)]
pub(crate) use directions::{make_tangential, normalize, qpos_tangent};
use sides::Sides;

/// Directions that are compared at once for each quantity.
const DIRECTIONS: usize = 6;
/// Step sizes of differences, relative to the numbers.
const STEPS: [f64; 3] = [1e-5, 1e-6, 1e-7];
/// Difference between the slopes of both sides, relative to the largest, that is a kink.
const JUMP: f64 = 1e-4;
/// Slopes below this are rounding: the loss weighs the next state with numbers of the size one.
const NEGLIGIBLE: f64 = 1e-12;
/// The same as a multiple of the tolerance to which the complementarity law finds impulses.
const NEGLIGIBLE_SHARE: f64 = 100.0;

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
    /// States at which differences met a kink.
    pub kinks: usize,
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
    /// ⟨b, b⟩, ⟨d, d⟩ and ⟨b, d⟩ of backward slopes b and differences d.
    products: [f64; 3],
    kinks: usize,
}

/// Compares gradients along a short motion from the model's default state.
///
/// # Errors
/// When the motion is not finite or has no derivative.
// Inline, so that whoever calls it compiles the step over dual numbers, and not everybody who builds this crate.
#[inline]
pub fn check(model: &Model, settings: Settings) -> Result<Report, GradientError> {
    let model = &comparable(model);
    let mut noise = Noise(settings.seed);
    let (mut state, mut input) = (State::reference(model), Input::zeros(model));
    let mut data = Data::new(model);
    noise.disturb(model, &mut state, &mut input);
    let quantities = directions::quantities(model);
    let mut sums: Vec<Sums> = quantities.iter().map(|_| Sums::default()).collect();
    let mut kinks = Vec::new();
    let (mut forward, mut backward) = (Duration::ZERO, Duration::ZERO);
    for visit in 0..settings.states {
        for step in 0..settings.steps_between {
            if !state.history.is_empty() {
                // A delay of controls that never change does nothing.
                noise.control(model, &mut input);
            }
            let report = integrate::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                let step = visit * settings.steps_between + step;
                return Err(GradientError::NotFinite { step, place });
            }
        }
        let given = Given {
            model,
            state: &state,
            input: &input,
        };
        let (point, times) = Point::new(given, &mut noise, visit)?;
        forward += times[0];
        backward += times[1];
        for (quantity, sums) in quantities.iter().zip(&mut sums) {
            if let Some(kink) = point.compare(quantity, &mut noise, sums) {
                let kink = format!("at {:.3} s: {kink}", state.time);
                if !kinks.contains(&kink) {
                    kinks.push(kink);
                }
            }
        }
    }
    Ok(report(
        &quantities,
        &sums,
        kinks,
        settings.states,
        backward.as_secs_f64() / forward.as_secs_f64(),
    ))
}

fn report(
    quantities: &[Quantity],
    sums: &[Sums],
    kinks: Vec<String>,
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
            kinks: sums.kinks,
        });
    }
    Report {
        rows,
        without_effect,
        kinks,
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
    crate::stages::solve::tighten(&mut model);
    // What the sweeps make depends on how many they are.
    model.settings.noslip_iterations = sweeps;
    model.option.noslip_tolerance[0] = 0.0;
    model
}

/// A state, a loss on the next one, and its gradient.
struct Point<'a> {
    given: Given<'a>,
    /// The state after the step.
    end: State,
    /// What differences compare to tell kinks.
    sides: Sides,
    loss: StateBar,
    gradient: Cotangents,
}

impl<'a> Point<'a> {
    fn new(
        given: Given<'a>,
        noise: &mut Noise,
        visit: usize,
    ) -> Result<(Self, [Duration; 2]), GradientError> {
        let Given {
            model,
            state,
            input,
        } = given;
        let mut loss = StateBar::zeros(model);
        for number in (loss.qpos.iter_mut())
            .chain(&mut loss.qvel)
            .chain(&mut loss.act)
            .chain((loss.history.iter_mut()).flat_map(|past| &mut past.values))
        {
            *number = noise.next();
        }
        let (mut end, mut data) = (state.clone(), Data::new(model));
        let mut retraced = Retraced::new(model);
        let mut gradient = Cotangents::zeros(model);
        let mut times = [Duration::MAX; 2];
        // The least of a few times; the first one fills the caches.
        for _ in 0..5 {
            end.copy_from(state);
            let start = Instant::now();
            integrate::step(model, &mut end, input, &mut data);
            times[0] = times[0].min(start.elapsed());
            gradient = Cotangents::zeros(model);
            let start = Instant::now();
            if !retraced.retrace(model, state, input, &end.warmstart) {
                return Err(GradientError::NotUnique { step: visit });
            }
            gradient.data.start(retraced.data());
            retraced.backward(model, input, &loss, &mut gradient);
            times[1] = times[1].min(start.elapsed());
        }
        let sides = Sides::of(&data);
        let point = Self {
            given,
            end,
            sides,
            loss,
            gradient,
        };
        Ok((point, times))
    }

    /// Compares the slopes along directions of one quantity; returns what changes at a kink.
    // Inline, so that whoever calls it compiles the step over dual numbers, and not everybody who builds this crate.
    #[inline]
    fn compare(&self, quantity: &Quantity, noise: &mut Noise, sums: &mut Sums) -> Option<String> {
        let model = self.given.model;
        let directions: [Direction; DIRECTIONS] =
            std::array::from_fn(|_| quantity.direction(self.given, noise));
        let backward = (directions.each_ref()).map(|direction| direction.dot(&self.gradient));
        let (over, mut state, input) = directions::along(self.given, &directions);
        integrate::step(&over, &mut state, &input, &mut Data::new(&over));
        let dual: [f64; DIRECTIONS] = std::array::from_fn(|direction| {
            let part = |numbers: &[Dual<DIRECTIONS>]| -> Vec<f64> {
                (numbers.iter().map(|number| number.tangent[direction])).collect()
            };
            let qpos: Vec<f64> = state.qpos.iter().map(|number| number.value()).collect();
            let qpos = tangent_of(model, &qpos, &part(&state.qpos));
            let past = |history: usize| part(state.history[history].values());
            self.weigh([&qpos, &part(&state.qvel), &part(&state.act)], past)
        });
        let largest = |slopes: &[f64]| slopes.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let scale = largest(&dual).max(largest(&backward));
        // Written so that what is not a number goes on, and is found wrong.
        if scale < negligible(model) {
            return None;
        }
        sums.slope = sums.slope.max(scale);
        let error = |other: &[f64]| {
            let differences = backward.iter().zip(other).map(|(a, b)| (a - b).abs());
            differences.fold(0.0, f64::max) / scale
        };
        sums.dual_error = greatest(sums.dual_error, error(&dual));
        if let Some(why) = quantity.one_sided(model) {
            sums.kinks += 1;
            return Some(why);
        }
        match self.differences(&directions, scale) {
            Ok(differences) => {
                sums.difference_error = greatest(sums.difference_error, error(&differences));
                let dot = |a: &[f64], b: &[f64]| -> f64 {
                    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / (scale * scale)
                };
                sums.products[0] += dot(&backward, &backward);
                sums.products[1] += dot(&differences, &differences);
                sums.products[2] += dot(&backward, &differences);
                None
            }
            Err(kink) => {
                sums.kinks += 1;
                Some(kink)
            }
        }
    }

    /// Slopes by differences, each from the step size that agrees best with its half; or what changes at a kink.
    fn differences(
        &self,
        directions: &[Direction; DIRECTIONS],
        scale: f64,
    ) -> Result<[f64; DIRECTIONS], String> {
        let mut slopes = [0.0; DIRECTIONS];
        for (slope, direction) in slopes.iter_mut().zip(directions) {
            let (mut least, mut jump) = (f64::INFINITY, f64::INFINITY);
            for step in STEPS {
                let [ahead, behind] = self.slopes(direction, step)?;
                let [near_ahead, near_behind] = self.slopes(direction, 0.5 * step)?;
                let [coarse, fine] =
                    [ahead + behind, near_ahead + near_behind].map(|sum| 0.5 * sum);
                jump = jump.min((near_ahead - near_behind).abs());
                if (coarse - fine).abs() < least {
                    least = (coarse - fine).abs();
                    *slope = (4.0 * fine - coarse) / 3.0;
                }
            }
            // What curvature does to the two sides vanishes with the step.
            if jump > JUMP * scale {
                return Err("the slope jumps: both sides have their own".to_owned());
            }
        }
        Ok(slopes)
    }

    /// The slopes on both sides, from the state to a step ahead and behind.
    fn slopes(&self, direction: &Direction, step: f64) -> Result<[f64; 2], String> {
        let model = self.given.model;
        let mut sums = [0.0; 2];
        let mut tangent = vec![0.0; model.counts().nv];
        for (sum, step) in sums.iter_mut().zip([step, -step]) {
            let (moved, mut state, input) = directions::moved(self.given, direction, step);
            let mut data = Data::new(&moved);
            integrate::step(&moved, &mut state, &input, &mut data);
            if let Some(change) = self.sides.change(&data, model) {
                return Err(change);
            }
            integrate::difference(model, &self.end.qpos, &state.qpos, &mut tangent);
            let less = |a: &[f64], b: &[f64]| -> Vec<f64> {
                a.iter().zip(b).map(|(a, b)| a - b).collect()
            };
            let qvel = less(&state.qvel, &self.end.qvel);
            let past = |history: usize| {
                let [to, from] = [&state, &self.end].map(|state| state.history[history].values());
                less(to, from)
            };
            *sum = self.weigh([&tangent, &qvel, &less(&state.act, &self.end.act)], past);
        }
        Ok([sums[0] / step, -sums[1] / step])
    }

    /// The loss of a small change of the next state.
    fn weigh(&self, [qpos, qvel, act]: [&[f64]; 3], past: impl Fn(usize) -> Vec<f64>) -> f64 {
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let histories = self.loss.history.iter().enumerate();
        let past = histories.map(|(index, bar)| dot(&bar.values, &past(index)));
        dot(&self.loss.qpos, qpos)
            + dot(&self.loss.qvel, qvel)
            + dot(&self.loss.act, act)
            + past.sum::<f64>()
    }
}

/// Slopes below this cannot be told from zero.
fn negligible(model: &Model) -> f64 {
    let laws = &model.structure.laws;
    let tolerance = laws.of_rows.filter(|_| laws.is_impulse_level());
    let tolerance = tolerance.map_or(0.0, |law| model.laws.tolerance[law]);
    NEGLIGIBLE.max(NEGLIGIBLE_SHARE * tolerance)
}

/// The greater of two errors; what is not a number is greater than all.
fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::model_from_mjcf;

    const BALL: &str = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 0.099"><freejoint/><geom name="ball" size="0.1"/></body></worldbody></mujoco>"#;

    #[test]
    fn gradients_of_a_ball_on_the_floor_agree() {
        let report = check(&model_from_mjcf(BALL), Settings::default()).unwrap();
        let named = |name: &str| report.rows.iter().find(|row| row.quantity == name);
        for name in ["state.qpos", "state.qvel", "geoms.size", "geoms.solref"] {
            let row = named(name).unwrap_or_else(|| panic!("no row for {name}"));
            assert!(row.dual_error < 1e-9, "{row:?}");
            assert!(row.difference_error < 1e-5, "{row:?}");
        }
        assert!(report.without_effect.contains(&"option.wind".to_owned()));
        assert!(report.cost_ratio > 0.0);
    }

    #[test]
    fn a_gradient_that_is_wrong_is_found() {
        let model = comparable(&model_from_mjcf(BALL));
        let (state, input) = (State::reference(&model), Input::zeros(&model));
        let given = Given {
            model: &model,
            state: &state,
            input: &input,
        };
        let mut noise = Noise(3);
        let (mut point, _) = Point::new(given, &mut noise, 0).unwrap();
        point.gradient.model.geoms.size[1][0] *= 1.001;
        let quantities = directions::quantities(&model);
        let size = quantities
            .iter()
            .find(|quantity| quantity.name() == "geoms.size");
        let mut sums = Sums::default();
        point.compare(size.unwrap(), &mut noise, &mut sums);
        assert!(
            (1e-4..1e-2).contains(&sums.dual_error),
            "{}",
            sums.dual_error
        );
        assert!((1e-4..1e-2).contains(&sums.difference_error));
    }

    #[test]
    fn kinks_are_named() {
        // Just above the floor: the difference reaches down to it.
        let model = comparable(&model_from_mjcf(&BALL.replace("0.099", "0.10000001")));
        let (state, input) = (State::reference(&model), Input::zeros(&model));
        let given = Given {
            model: &model,
            state: &state,
            input: &input,
        };
        let mut noise = Noise(3);
        let (point, _) = Point::new(given, &mut noise, 0).unwrap();
        let quantities = directions::quantities(&model);
        let kink = point.compare(&quantities[0], &mut noise, &mut Sums::default());
        let kink = kink.unwrap_or_default();
        assert!(kink.contains("'floor' and 'ball'"), "{kink}");
    }

    #[test]
    fn delays_and_the_past_agree() {
        let settings = Settings {
            states: 2,
            ..Settings::default()
        };
        let report = check(&model_from_mjcf(crate::history::DELAYED), settings).unwrap();
        for name in ["state.history", "input.ctrl", "actuators.delay"] {
            let row = report.rows.iter().find(|row| row.quantity == name);
            let row = row.unwrap_or_else(|| panic!("no row for {name}"));
            assert!(row.dual_error < 1e-10, "{row:?}");
            assert!(row.difference_error < 1e-6, "{row:?}");
        }
    }
}
