//! Is a point on a kink, and what happens there?
//!
//! Dual numbers a little to both sides see the slopes there without the rounding of differences.

use super::DUAL_BAR;
use super::differences::FARTHEST;
use super::directions::{Direction, Given, Noise, Place};
use super::point::{Point, greatest};
use super::probe::{LANES, Near, Probe};
use crate::data::Data;
use crate::stages::solve::SolveStatus;
use crate::state::State;

/// Change of the loss at which the two sides of a point are looked at.
const ASIDE: f64 = 1e-9;
/// The same, as near as rounding allows.
const NEAR: f64 = 1e-12;
/// What part of a difference between two sides must be left nearer to the point if it is no curvature.
const LASTING: f64 = 0.3;
/// A force of which rounding is as large as ordinary forces (N).
const OVERWHELMING: f64 = 1e13;
/// How many such states are compared.
const SAMPLES: usize = 4;
/// Rounding of small numbers is that of what they are added to: lengths and angles of the size one.
const SMALLEST: f64 = 1.0;
/// What part of a difference's error the slopes of both sides must explain if a kink is the reason.
const EXPLAINED: f64 = 0.3;
/// How often a state is moved by rounding, to see whether that matters.
const SHAKES: usize = 8;

/// The slopes on both sides of a point, as dual numbers see them.
struct TwoSides {
    slopes: [f64; 2],
    /// What has changed on one of them.
    change: Option<String>,
    /// Greatest error of the backward pass there.
    error: f64,
    /// The loss there.
    values: [f64; 2],
}

impl Point<'_> {
    /// What changes when the numbers of the state move by units in the last place: then rounding decides on which side of
    /// a kink the step is. Or why the solver finds no solution here. Also finds what rounding does to the loss.
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
                return;
            }
        }
    }

    /// How far slopes are apart, by dual numbers or by the backward pass, at points that rounding might have made as well:
    /// next to an equilibrium forces balance, and few digits of a slope are left.
    #[inline]
    pub(super) fn rounding(
        &self,
        directions: &[Direction; LANES],
        probe: &mut Probe,
        noise: &mut Noise,
    ) -> [f64; LANES] {
        let mut samples = [[f64::NAN; 2 * LANES]; SAMPLES];
        for sample in &mut samples {
            let state = shaken(self.given.state, noise);
            let given = Given {
                state: &state,
                ..self.given
            };
            let dual = probe.shaken_slopes(given, directions, &self.loss, noise);
            sample[..LANES].copy_from_slice(&dual);
            if let Some(gradient) = Self::gradient_of(given, &self.loss) {
                for (slope, direction) in sample[LANES..].iter_mut().zip(directions) {
                    *slope = direction.dot(&gradient);
                }
            }
        }
        let spread = |slope: usize| {
            let slopes = || samples.iter().map(|sample| sample[slope]);
            slopes().fold(f64::NEG_INFINITY, f64::max) - slopes().fold(f64::INFINITY, f64::min)
        };
        std::array::from_fn(|lane| spread(lane).max(spread(LANES + lane)))
    }

    /// Whether the slope or the step itself jumps within the reach of a difference, in words.
    ///
    /// A slope that differs on one side from that here explains why differences see something else. But if both sides
    /// have the same, and only this point another, there is no kink, and the slope here is wrong.
    #[inline]
    pub(super) fn jump(
        &self,
        directions: &[Direction; LANES],
        (lane, reach): (usize, f64),
        probe: &mut Probe,
        (scale, error): (f64, f64),
    ) -> Option<String> {
        let here = probe.slopes(self.given, directions, &self.loss)[lane];
        let ends = self.two_sides(directions, (lane, 0.5 * reach), probe, scale);
        let [ahead, behind] = ends.slopes;
        // Differences are means of slopes: what curvature does to both sides cancels there.
        let explained = (0.5 * (ahead + behind) - here).abs();
        if explained > EXPLAINED * error * scale && ends.gap() > 1e-3 * explained {
            return Some(ends.in_words());
        }
        let step = (NEAR / scale).min(FARTHEST * NEAR);
        let sides = self.two_sides(directions, (lane, step), probe, scale);
        let leap = || {
            let value = sides.values[0].abs().max(sides.values[1].abs());
            let leaps = value > 1e3 * (NEAR + self.noise);
            leaps.then(|| format!("the next state jumps by {value:.1e} as soon as it is moved"))
        };
        sides.change.clone().or_else(leap)
    }

    /// Whether the point is on a kink, so that the backward pass and dual numbers may take different sides of it: next to
    /// it they agree, but each side has its own slope, however near it is.
    #[inline]
    pub(super) fn tie(
        &self,
        directions: &[Direction; LANES],
        lane: usize,
        probe: &mut Probe,
        scale: f64,
    ) -> Option<String> {
        if self.edge.is_some() {
            return self.edge.clone();
        }
        let [far, near] = [ASIDE, NEAR].map(|change| {
            let step = (change / scale).min(FARTHEST * change);
            self.two_sides(directions, (lane, step), probe, scale)
        });
        let lasts = near.gap() > DUAL_BAR * scale && near.gap() > LASTING * far.gap();
        let is_tie = near.change.is_some() || (lasts && far.error <= DUAL_BAR);
        is_tie.then(|| near.in_words())
    }

    #[inline]
    fn two_sides(
        &self,
        directions: &[Direction; LANES],
        (lane, step): (usize, f64),
        probe: &mut Probe,
        scale: f64,
    ) -> TwoSides {
        let mut sides = TwoSides {
            slopes: [f64::NAN; 2],
            change: None,
            error: 0.0,
            values: [0.0; 2],
        };
        let direction = &directions[lane];
        for (side, step) in [step, -step].into_iter().enumerate() {
            let is_model = matches!(direction.place, Place::Model(_));
            let moved = |near: Near<'_>| {
                let change = (self.sides.change(near.data, near.model))
                    .or_else(|| self.sides.leap(near.data, near.model));
                let model = is_model.then(|| near.model.clone());
                (
                    model,
                    near.start,
                    near.input,
                    (change, self.loss_of(&near.end)),
                )
            };
            let (model, state, input, (change, value)) =
                probe.step(self.given, (direction, step), moved);
            sides.values[side] = value;
            sides.change = sides.change.take().or(change);
            let given = Given {
                model: model.as_ref().unwrap_or(self.given.model),
                state: &state,
                input: &input,
            };
            let dual = probe.slope_elsewhere(given, (directions, lane), &self.loss);
            sides.slopes[side] = dual;
            let error = match Self::gradient_of(given, &self.loss) {
                Some(gradient) => (direction.dot(&gradient) - dual).abs() / scale,
                None => f64::INFINITY,
            };
            sides.error = greatest(sides.error, error);
        }
        sides
    }
}

impl TwoSides {
    /// By how much the slopes differ.
    fn gap(&self) -> f64 {
        (self.slopes[0] - self.slopes[1]).abs()
    }

    /// What changes from one side to the other.
    fn in_words(&self) -> String {
        let [ahead, behind] = self.slopes;
        self.change.clone().unwrap_or_else(|| {
            format!("the slope jumps: it is {ahead:.3e} to one side and {behind:.3e} to the other")
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

/// Why a step has no solution that could be differentiated.
fn unsolved(data: &Data) -> Option<String> {
    let why = match data.solve.report.status {
        SolveStatus::IterationLimit => "does not converge",
        SolveStatus::Singular => "finds no unique solution",
        _ => {
            let forces = data.solve.force.iter();
            let most = forces.fold(0.0_f64, |most, force| most.max(force.abs()));
            let why = format!("constraint forces of {most:.0e} leave no digits to others");
            return (most > OVERWHELMING).then_some(why);
        }
    };
    Some(format!("the constraint solver {why}"))
}
