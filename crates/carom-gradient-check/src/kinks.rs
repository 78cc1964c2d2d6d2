//! Why differences may see another slope than a point has: kinks and jumps on their way.
//!
//! With s(t) the slope at the distance t from the point, a central difference over the reach h is
//!
//!   ∫₀¹ e(h·p) dp,   e(t) = ½·(s(t) + s(−t)),   or e(t) = 2·s(½·t) − s(t) to one side,                        (1)
//!
//! and so lies between the least and the greatest e, unless the loss itself jumps. Dual numbers see s without the rounding
//! of differences. There are four reasons to be off, and where none of them holds, the slope of the point is wrong:
//!
//! - the loss jumps: ever narrower intervals keep the same change;
//! - the two sides have different slopes however near the point is: it is on a kink;
//! - e varies by more than it would if s were smooth, and by as much as the difference is off: kinks on the way;
//! - the difference is what all e are, and only the point itself has another slope: there, a contact leaps from one
//!   feature to another.

use carom::stages::solve::SolveStatus;
use carom::{Data, State};

use crate::DIFFERENCE_BAR;
use crate::differences::{Slope, amplified};
use crate::directions::{Direction, Given, Noise, Place};
use crate::point::{Claim, Point};
use crate::probe::{LANES, Near, Probe};

/// Parts of the way of a difference where slopes are looked at, the nearest ones first; the first two as near as faces that
/// are almost parallel have their kinks.
const PLACES: [f64; 7] = [1e-8, 1e-5, 0.03, 0.15, 0.4, 0.7, 1.0];
/// How many times what two step sizes disagree by e of a smooth slope varies: s″·h²/2 against s″·h²/8.
const SMOOTH: f64 = 4.0;
/// Rounding of small numbers is that of what they are added to: lengths and angles of the size one.
const SMALLEST: f64 = 1.0;
/// How often a state is moved by rounding, to see whether that matters.
const SHAKES: usize = 8;
/// Halvings after which an interval is as narrow as rounding allows.
const HALVINGS: usize = 50;
/// What part of an unexplained change must be left in the narrowest interval if the loss jumps there; of a wrong slope
/// 2⁻⁵⁰ would be.
const LASTING: f64 = 0.5;
/// A jump is this many times what rounding does to the loss.
const CLEAR: f64 = 10.0;

/// What dual numbers see on the way of a difference.
struct Way {
    /// The least and the greatest e. (1)
    least: f64,
    greatest: f64,
    /// By how much s jumps at the point itself.
    jump: f64,
    /// What is different there, in words.
    change: Option<String>,
}

impl Point<'_> {
    /// What changes when the numbers of the state move by units in the last place: then rounding decides on which side of
    /// a kink the step is. Also finds what rounding does to the loss.
    pub(super) fn find_edge(&mut self, probe: &mut Probe, noise: &mut Noise) {
        let still = Direction::none();
        self.noise = self.least_noise();
        for _ in 0..SHAKES {
            let state = shaken(self.given.state, noise);
            let given = Given {
                state: &state,
                ..self.given
            };
            let (change, value) = probe.step(given, (&still, 0.0), |near| {
                let change = self.sides.change(near.data, near.model);
                (unsolved(near.data).or(change), self.loss_of(&near.end))
            });
            self.noise = self.noise.max(value.abs());
            if change.is_some() {
                self.edge = change;
            }
        }
    }

    /// Why a difference sees another slope than the point has, in words; none where the slope is wrong.
    pub(super) fn kink_on_the_way(
        &self,
        claim: &Claim<'_>,
        slope: &Slope,
        error: f64,
        probe: &mut Probe,
    ) -> Option<String> {
        let Claim {
            directions,
            lane,
            scale,
            one_sided,
            ..
        } = *claim;
        let way = self.look_along((directions, lane), (slope.step, one_sided), probe);
        let tolerance = slope.doubt + DIFFERENCE_BAR * scale;
        let variation = way.greatest - way.least;
        // A few places show the range of e up to as much as e varies between them.
        let margin = tolerance + variation;
        let is_between = (way.least - margin..=way.greatest + margin).contains(&slope.value);
        let has_kinks = variation > SMOOTH * slope.doubt + DIFFERENCE_BAR * scale
            && variation > error * scale - tolerance;
        if is_between && (way.jump > tolerance || has_kinks) {
            let size = way.jump.max(variation);
            return Some((way.change).unwrap_or_else(|| format!("the slope jumps by {size:.1e}")));
        }
        if is_between && way.change.is_some() {
            return way.change;
        }
        let start = if one_sided { 0.0 } else { -slope.step };
        let unexplained = error * scale * slope.step / amplified(one_sided);
        self.jump(&directions[lane], [start, slope.step], unexplained, probe)
    }

    /// The slopes on the way of a difference, by dual numbers.
    fn look_along(
        &self,
        (directions, lane): (&[Direction; LANES], usize),
        (reach, one_sided): (f64, bool),
        probe: &mut Probe,
    ) -> Way {
        let mut way = Way {
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            jump: 0.0,
            change: None,
        };
        let mut gaps = [0.0; PLACES.len()];
        for (gap, place) in gaps.iter_mut().zip(PLACES) {
            let other = if one_sided { 0.5 } else { -1.0 };
            let [first, second] = [1.0, other].map(|times| {
                let (slope, change) =
                    self.look_at((directions, lane), times * place * reach, probe);
                way.change = way.change.take().or(change);
                slope
            });
            let mean = if one_sided {
                2.0 * second - first
            } else {
                *gap = first - second;
                0.5 * (first + second)
            };
            (way.least, way.greatest) = (way.least.min(mean), way.greatest.max(mean));
        }
        // What is left of the gap at no distance at all: that of a smooth slope shrinks with the distance.
        let shrinks = (gaps[1] - gaps[0]) / (PLACES[1] - PLACES[0]);
        way.jump = (gaps[0] - PLACES[0] * shrinks).abs();
        way
    }

    /// The slope at a distance from the point, and what is different there, in words.
    fn look_at(
        &self,
        (directions, lane): (&[Direction; LANES], usize),
        step: f64,
        probe: &mut Probe,
    ) -> (f64, Option<String>) {
        let direction = &directions[lane];
        let is_model = matches!(direction.place, Place::Model(..));
        let moved = |near: Near<'_>| {
            let change = (self.sides.change(near.data, near.model)).or_else(|| {
                // What moves at a finite speed moves by much less than the root of a small step.
                self.sides.leap(near.data, near.model, step.abs().sqrt())
            });
            let model = is_model.then(|| near.model.clone());
            (model, near.start, near.input, change)
        };
        let (model, state, input, change) = probe.step(self.given, (direction, step), moved);
        let given = Given {
            model: model.as_ref().unwrap_or(self.given.model),
            state: &state,
            input: &input,
        };
        let slope = probe.slope_elsewhere(given, (directions, lane), &self.loss);
        (slope, change)
    }

    /// Whether the loss jumps in an interval, in words: whether a change as large as slopes leave unexplained stays the same
    /// in ever narrower intervals.
    fn jump(
        &self,
        direction: &Direction,
        [mut low, mut high]: [f64; 2],
        unexplained: f64,
        probe: &mut Probe,
    ) -> Option<String> {
        let mut loss = |step: f64| {
            probe.step(self.given, (direction, step), |near| {
                self.loss_of(&near.end)
            })
        };
        let [mut at_low, mut at_high] = [low, high].map(&mut loss);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let at_middle = loss(middle);
            if (at_high - at_middle).abs() > (at_middle - at_low).abs() {
                (low, at_low) = (middle, at_middle);
            } else {
                (high, at_high) = (middle, at_middle);
            }
        }
        let leap = (at_high - at_low).abs();
        let jumps = leap > LASTING * unexplained && leap > CLEAR * self.noise;
        jumps.then(|| {
            format!(
                "the next state jumps by {leap:.1e} within {:.1e}",
                high - low
            )
        })
    }
}

/// A state that rounding might have made as well.
fn shaken(state: &State, noise: &mut Noise) -> State {
    let mut state = state.clone();
    for number in (state.qpos.iter_mut())
        .chain(&mut state.qvel)
        .chain(&mut state.act)
    {
        *number += f64::EPSILON * number.abs().max(SMALLEST) * 2.0 * noise.next();
    }
    state
}

/// Why a step is not at the solution of its equations.
fn unsolved(data: &Data) -> Option<String> {
    let is_unsolved = data.solve.report.status == SolveStatus::IterationLimit;
    is_unsolved.then(|| "the constraint solver does not converge".to_owned())
}
