//! The slope of a loss by differences.

use carom::State;

use crate::directions::Direction;
use crate::point::Point;
use crate::probe::{Probe, past_of, weigh};

/// Changes of the loss that differences aim at, in the order in which they are tried.
const CHANGES: [f64; 8] = [1e-6, 1e-7, 1e-5, 1e-8, 1e-4, 1e-9, 1e-3, 1e-2];
/// Longest step of a difference, relative to the number.
const MAX_RELATIVE_STEP: f64 = 0.1;
/// Shortest step, below which numbers do not move at all.
const MIN_RELATIVE_STEP: f64 = 1e-14;
/// Fraction of a step over which curvature vanishes beside that over the whole step.
const CURVATURE_STEP_FRACTION: f64 = 1.0 / 64.0;
/// Operations that every number of a step has gone through, at least, and each of which rounds.
const OPERATIONS: f64 = 64.0;
/// Differences of two step sizes that agree so well are good enough.
const AGREED: f64 = 1e-6;

/// A slope by differences.
#[derive(Clone, Copy)]
pub(super) struct Slope {
    pub(super) value: f64,
    /// Its error: by how much two step sizes disagree about it, and what rounding of the loss makes of that.
    pub(super) doubt: f64,
    /// The greater step size.
    pub(super) step: f64,
}

/// What differences say.
pub(super) enum Measured {
    /// The slope.
    Slope(Slope),
    /// Every step meets a kink, named in words.
    Kink(String),
}

/// What errors of the loss are multiplied by, at most, before they are divided by the step: the sizes of all factors in
/// (4·fine − coarse)/3, of central quotients or those to one side.
pub(super) const fn amplified(one_sided: bool) -> f64 {
    if one_sided { 15.0 } else { 3.0 }
}

impl Point<'_> {
    /// The slope by differences, from the step size that agrees best with its half: central ones, or to one side.
    pub(super) fn difference(
        &self,
        (direction, one_sided): (&Direction, bool),
        probe: &mut Probe,
        scale: f64,
    ) -> Measured {
        let mut best: Option<Slope> = None;
        let mut kink = None;
        let mut last = 0.0;
        let mut farthest = MAX_RELATIVE_STEP;
        for change in CHANGES {
            let step = (change / scale).min(farthest);
            if step == last || step < MIN_RELATIVE_STEP {
                continue;
            }
            last = step;
            let mut quotient = |step: f64| -> Result<f64, String> {
                let ahead = self.value(direction, step, probe)?;
                if one_sided {
                    let halfway = self.value(direction, 0.5 * step, probe)?;
                    return Ok((4.0 * halfway - ahead) / step);
                }
                let behind = self.value(direction, -step, probe)?;
                Ok((ahead - behind) / (2.0 * step))
            };
            let pair = quotient(step).and_then(|coarse| Ok((coarse, quotient(0.5 * step)?)));
            let (coarse, fine) = match pair {
                Ok(pair) => pair,
                Err(change) => {
                    kink = Some(change);
                    continue;
                }
            };
            if !(coarse.is_finite() && fine.is_finite()) {
                // Beyond what can be: an armature below zero, an inertia that is none.
                farthest = 0.1 * step;
                continue;
            }
            // Both kinds of quotients have errors of second order.
            let doubt = (coarse - fine).abs() + amplified(one_sided) * self.noise / step;
            let value = (4.0 * fine - coarse) / 3.0;
            if doubt.is_finite() && best.is_none_or(|best| doubt < best.doubt) {
                best = Some(Slope { value, doubt, step });
            }
            if doubt < AGREED * scale {
                break;
            }
        }
        match (best, kink) {
            (Some(slope), _) => Measured::Slope(slope),
            (None, Some(kink)) => Measured::Kink(kink),
            // So steep that no step is short enough; or the next state is not finite, which no doubt excuses.
            (None, None) => Measured::Slope(Slope {
                value: f64::NAN,
                doubt: if last == 0.0 { f64::INFINITY } else { 0.0 },
                step: MAX_RELATIVE_STEP,
            }),
        }
    }

    /// What rounding does to the loss along a direction: how far a few values right next to the point are off a line.
    ///
    /// The solver ends elsewhere by rounding whenever numbers move, which the point alone may not show.
    pub(super) fn roughness(
        &self,
        (direction, one_sided): (&Direction, bool),
        probe: &mut Probe,
        step: f64,
    ) -> f64 {
        let sides: &[f64] = if one_sided { &[1.0] } else { &[1.0, -1.0] };
        let mut most = 0.0_f64;
        for side in sides {
            let [first, second, third] = [1.0, 2.0, 3.0].map(|times| {
                let step = side * times * CURVATURE_STEP_FRACTION * step;
                probe.step(self.given, (direction, step), |near| {
                    self.loss_of(&near.end)
                })
            });
            most = most.max((first - 2.0 * second + third).abs());
        }
        most
    }

    /// The change of the loss by a step along a direction, or what else changes.
    fn value(&self, direction: &Direction, step: f64, probe: &mut Probe) -> Result<f64, String> {
        probe.step(self.given, (direction, step), |near| {
            match self.sides.change(near.data, self.given.model) {
                Some(change) => Err(change),
                None => Ok(self.loss_of(&near.end)),
            }
        })
    }

    /// The loss of another next state, less that of the own.
    pub(super) fn loss_of(&self, end: &State) -> f64 {
        let (model, own) = (self.given.model, &self.end);
        let mut tangent = vec![0.0; model.counts().nv];
        carom::difference(model, &own.qpos, &end.qpos, &mut tangent);
        let less =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let [past, own_past] = [end, own].map(|state| past_of(state).collect::<Vec<_>>());
        weigh(
            &self.loss,
            [
                &tangent,
                &less(&end.qvel, &own.qvel),
                &less(&end.act, &own.act),
                &less(&past, &own_past),
            ],
        )
    }

    /// Rounding of the loss on the next state, as far as it is that of its terms. A slope along a direction as large as the
    /// numbers themselves cannot be told from another one that is closer than this.
    pub(super) fn least_noise(&self) -> f64 {
        let terms = |weights: &[f64], numbers: &[f64]| -> f64 {
            let products = weights.iter().zip(numbers);
            products
                .map(|(weight, number)| (weight * number).abs())
                .sum()
        };
        let (loss, end) = (&self.loss, &self.end);
        let turns = loss.qpos.iter().map(|weight| weight.abs()).sum::<f64>();
        let terms = turns + terms(&loss.qvel, &end.qvel) + terms(&loss.act, &end.act);
        OPERATIONS * f64::EPSILON * terms
    }
}
