//! Steps by secants, where derivatives mislead.
//!
//! A cost may be rough at small scales and a bowl at large ones: that of a simulation in which contacts begin at one time step
//! or at the next is. Derivatives at a point then say nothing about the bowl, and no step along them is short enough. Secants
//! over a span s do,
//!
//!   Jᵢⱼ ≈ (rᵢ(x + s·eⱼ) − rᵢ(x − s·eⱼ))/2s   (1)
//!
//! Steps are those of the same trust region. Their radius is s·√n, the distance to the corners of what the secants have seen. The
//! span shrinks where such a step does not lead down as predicted. The search ends at the smallest span: nothing around is lower
//! at any scale that was looked at.

use serde::{Deserialize, Serialize};

use super::{LeastSquares, Phase, Reduced, Step};
use crate::linalg::Matrix;
use crate::optimiser::{Best, Status};
use crate::request::{Answered, Evaluation, Outcome, Proposal, Want};

/// Searches with more unknowns take no secants: each of them costs two evaluations per iteration.
const MAX_SECANT_UNKNOWNS: usize = 256;

/// Spans of secants, in scales of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spans {
    /// The first.
    pub first: f64,
    /// The search ends below this one.
    pub last: f64,
}

impl Default for Spans {
    fn default() -> Self {
        Self {
            first: 0.03,
            last: 3e-4,
        }
    }
}

/// A point beside this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Neighbour {
    point: Vec<f64>,
    residuals: Vec<f64>,
    cost: f64,
}

impl Neighbour {
    /// Keeps the lower of two; the first of equals.
    fn keep(self, lowest: &mut Option<Self>) {
        if lowest.as_ref().is_none_or(|other| self.cost < other.cost) {
            *lowest = Some(self);
        }
    }
}

/// The neighbours of a point along a coordinate; one where a bound is in the way, none where two are.
fn sides(search: &LeastSquares, span: f64, coordinate: usize) -> impl Iterator<Item = Vec<f64>> {
    [span, -span].into_iter().filter_map(move |offset| {
        let mut point = search.here.point.clone();
        let end = search.bounds.clamp(coordinate, point[coordinate] + offset);
        let is_apart = (end - point[coordinate]).abs() > 0.5 * span;
        point[coordinate] = end;
        is_apart.then_some(point)
    })
}

impl LeastSquares {
    /// Continues with secants if the settings allow it and they have not begun; whether it does.
    pub(super) fn begin_secants(&mut self) -> bool {
        let Some(spans) = self.settings.secants else {
            return false;
        };
        if self.span.is_some() || self.here.point.len() > MAX_SECANT_UNKNOWNS {
            return false;
        }
        self.span = Some(spans.first);
        self.phase = Phase::Secants;
        true
    }

    /// The residuals of a point are there, or none: of the start, or after a step.
    pub(super) fn learn_by_secants(&mut self, outcome: Outcome) {
        let residuals = residuals_of(outcome);
        if !matches!(self.phase, Phase::Arrive) {
            self.judge_secant(residuals);
            return;
        }
        let Some(residuals) = residuals else {
            let reason = std::mem::take(&mut self.last_failure);
            self.failed(reason);
            return;
        };
        self.here.cost = self.settings.loss.cost(&residuals);
        self.here.residuals = residuals;
        Best::keep(&mut self.best, &self.here.point, self.here.cost);
        self.phase = Phase::Secants;
    }

    /// The neighbours of this point.
    pub(super) fn secant_proposals(&self) -> Vec<Proposal> {
        let span = self.span.unwrap_or_default();
        (0..self.here.point.len())
            .flat_map(|coordinate| sides(self, span, coordinate))
            .map(|point| Proposal {
                point,
                want: Want::Residuals,
            })
            .collect()
    }

    /// The residuals of the neighbours are there.
    pub(super) fn learn_secants(&mut self, answered: Vec<Answered>) {
        let size = self.here.point.len();
        let rows = self.here.residuals.len();
        let mut jacobian = Matrix::zeros(rows, size);
        let mut answers = answered.into_iter();
        for coordinate in 0..size {
            let count = sides(self, self.span.unwrap_or_default(), coordinate).count();
            // The residuals on both sides; also the lowest point so far.
            let known: Vec<(f64, Vec<f64>)> = (answers.by_ref().take(count))
                .filter_map(|answer| {
                    let residuals = residuals_of(answer.outcome)?;
                    let cost = self.settings.loss.cost(&residuals);
                    Best::keep(&mut self.best, &answer.point, cost);
                    let place = answer.point[coordinate];
                    let neighbour = Neighbour {
                        point: answer.point,
                        residuals: residuals.clone(),
                        cost,
                    };
                    neighbour.keep(&mut self.neighbour);
                    Some((place, residuals))
                })
                .filter(|(_, residuals)| residuals.len() == rows)
                .collect();
            // Central secant, or one-sided next to a bound or a failure.
            let here = (self.here.point[coordinate], &self.here.residuals);
            let (high, low) = match known.as_slice() {
                [high, low] => ((high.0, &high.1), (low.0, &low.1)),
                [one] => ((one.0, &one.1), here),
                _ => continue,
            };
            for row in 0..rows {
                jacobian[(row, coordinate)] = (high.1[row] - low.1[row]) / (high.0 - low.0); // (1)
            }
        }
        self.here.jacobian = jacobian;
        self.try_secant_step();
    }

    fn try_secant_step(&mut self) {
        let span = self.span.unwrap_or_default();
        let (jacobian, residuals) = self.weighted();
        let size = self.here.point.len();
        let Step {
            point,
            length,
            predicted,
            damping,
        } = Reduced::new(&jacobian, &residuals).step(
            &self.here.point,
            &self.bounds,
            &vec![1.0; size],
            span * (size as f64).sqrt(),
        );
        self.damping = damping;
        if point == self.here.point {
            self.narrow();
        } else {
            self.phase = Phase::Trial {
                point,
                length,
                predicted,
            };
        }
    }

    /// The residuals after a step by secants are there, or none. A neighbour that is lower still is as good.
    fn judge_secant(&mut self, residuals: Option<Vec<f64>>) {
        let Phase::Trial {
            point, predicted, ..
        } = std::mem::replace(&mut self.phase, Phase::Secants)
        else {
            return;
        };
        let tried = residuals.map(|residuals| Neighbour {
            cost: self.settings.loss.cost(&residuals),
            point,
            residuals,
        });
        let mut lowest = self.neighbour.take();
        let mut agreement = 0.0;
        if let Some(tried) = tried.filter(|tried| tried.cost.is_finite()) {
            Best::keep(&mut self.best, &tried.point, tried.cost);
            if predicted > 0.0 {
                agreement = (self.here.cost - tried.cost) / predicted;
            }
            tried.keep(&mut lowest);
        }
        // Wider where the prediction was good and the radius was felt, narrower where it was bad.
        if agreement > 0.75 && self.damping > 0.0 {
            self.span = self.span.map(|span| 2.0 * span);
        } else if agreement < 0.25 {
            self.narrow();
        }
        // Go to the lowest of the step and the neighbours.
        if let Some(found) = lowest.filter(|found| found.cost < self.here.cost) {
            self.iteration += 1;
            self.here.point = found.point;
            self.here.residuals = found.residuals;
            self.here.cost = found.cost;
        }
        if self.iteration >= self.settings.iterations && self.status.is_running() {
            self.status = Status::Finished(format!("all {} iterations are done", self.iteration));
        }
    }

    fn narrow(&mut self) {
        let Some(spans) = self.settings.secants else {
            return;
        };
        let span = 0.5 * self.span.unwrap_or(spans.first);
        self.span = Some(span);
        self.phase = Phase::Secants;
        if span < spans.last {
            self.status = Status::Converged(format!(
                "nothing around is lower, down to {span:.1e} of the scales of the parameters"
            ));
        }
    }
}

fn residuals_of(outcome: Outcome) -> Option<Vec<f64>> {
    match outcome {
        Ok(Evaluation::Residuals(residuals) | Evaluation::Jacobian { residuals, .. }) => {
            Some(residuals)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::LeastSquaresSettings;
    use super::*;
    use crate::any::Settings;
    use crate::bounds::Bounds;
    use crate::local::LocalSettings;
    use crate::minimise::{Limits, OneByOne, Unobserved, minimise};
    use crate::optimiser::Optimiser;
    use crate::request::{Failure, Request};
    use crate::space::Space;

    /// A bowl around (0.3, −0.2) of terraces a thousandth wide, whose derivatives lead up.
    fn terraces(request: &Request) -> Evaluation {
        let at = |x: f64| (x / 1e-3).round() * 1e-3;
        let (x, y) = (at(request.point[0]), at(request.point[1]));
        let residuals = vec![x - 0.3, 2.0 * (y + 0.2), 0.5 * (x - 0.3) * (y - 1.0), 0.1];
        match request.want {
            Want::Jacobian => Evaluation::Jacobian {
                residuals,
                jacobian: Matrix::from_rows(&[
                    &[-1.0, 0.1],
                    &[0.0, -1.0],
                    &[0.3, 0.0],
                    &[0.0, 0.1],
                ]),
            },
            _ => Evaluation::Residuals(residuals),
        }
    }

    fn found(secants: Option<Spans>, bounds: Bounds) -> (Best, Status) {
        let space = Space::new(vec![1.0, 0.5], bounds).unwrap();
        let settings = Settings::Local(LocalSettings::LeastSquares(LeastSquaresSettings {
            secants,
            ..LeastSquaresSettings::default()
        }));
        let mut search = settings.search(space, 0);
        let limits = Limits::default();
        minimise(
            &mut search,
            &mut OneByOne(|request: &Request| Ok(terraces(request))),
            &limits,
            &mut Unobserved,
        )
        .unwrap();
        (search.best().unwrap(), search.status())
    }

    #[test]
    fn secants_find_the_bottom_where_tangents_lead_up() {
        let (stuck, _) = found(None, Bounds::free(2));
        assert!(stuck.value > 0.1, "{stuck:?}");
        let (best, status) = found(Some(Spans::default()), Bounds::free(2));
        assert!((best.point[0] - 0.3).abs() < 2e-3, "{best:?}");
        assert!((best.point[1] + 0.2).abs() < 2e-3, "{best:?}");
        assert!(matches!(status, Status::Converged(_)), "{status:?}");
    }

    #[test]
    fn a_start_without_derivatives_is_left_by_secants() {
        let space = Space::new(vec![1.0, 0.5], Bounds::free(2)).unwrap();
        let settings = Settings::Local(LocalSettings::LeastSquares(LeastSquaresSettings {
            secants: Some(Spans::default()),
            ..LeastSquaresSettings::default()
        }));
        let mut search = settings.search(space, 0);
        let mut flat = OneByOne(|request: &Request| match request.want {
            Want::Jacobian => Err(Failure::new("no derivatives")),
            _ => Ok(terraces(request)),
        });
        minimise(&mut search, &mut flat, &Limits::default(), &mut Unobserved).unwrap();
        let best = search.best().unwrap();
        assert!((best.point[0] - 0.3).abs() < 2e-3, "{best:?}");
        let space = Space::new(vec![1.0, 0.5], Bounds::free(2)).unwrap();
        let mut search = settings.search(space, 0);
        let mut dead = OneByOne(|_: &Request| Err(Failure::new("nothing")));
        minimise(&mut search, &mut dead, &Limits::default(), &mut Unobserved).unwrap();
        assert!(
            search.status().reason().contains("nothing"),
            "{:?}",
            search.status()
        );
    }

    /// Where a search ends whose derivatives have exploded to a size.
    fn found_on_steep(
        size: f64,
        secants: Option<Spans>,
        answer: impl Fn(&Request) -> Evaluation,
    ) -> (Best, Status) {
        let space = Space::new(vec![1.0, 0.5], Bounds::free(2)).unwrap();
        let settings = Settings::Local(LocalSettings::LeastSquares(LeastSquaresSettings {
            secants,
            ..LeastSquaresSettings::default()
        }));
        let mut search = settings.search(space, 0);
        let mut steep = OneByOne(|request: &Request| {
            Ok(match answer(request) {
                Evaluation::Jacobian { residuals, .. } => Evaluation::Jacobian {
                    residuals,
                    jacobian: Matrix::from_rows(&[
                        &[size, -3.0 * size],
                        &[-3.0 * size, size],
                        &[size, size],
                        &[0.0, size],
                    ]),
                },
                other => other,
            })
        });
        minimise(&mut search, &mut steep, &Limits::default(), &mut Unobserved).unwrap();
        (search.best().unwrap(), search.status())
    }

    #[test]
    fn slopes_too_steep_for_any_step_are_left_by_secants() {
        // A step along them is lost in the rounding of the point.
        let (stuck, status) = found_on_steep(1e30, None, terraces);
        assert_eq!(stuck.point, [1.0, 0.5]);
        assert!(status.reason().contains("rounding"), "{status:?}");
        let (best, _) = found_on_steep(1e30, Some(Spans::default()), terraces);
        assert!((best.point[0] - 0.3).abs() < 2e-3, "{best:?}");
        assert!((best.point[1] + 0.2).abs() < 2e-3, "{best:?}");
    }

    #[test]
    fn steps_that_gain_a_little_by_luck_are_left_by_secants() {
        // Beside the start it is a little lower, as it may be somewhere in the roughness.
        let lucky = |request: &Request| {
            let off = (request.point[0] - 1.0).abs() + (request.point[1] - 0.5).abs();
            match terraces(request) {
                Evaluation::Residuals(residuals) if off > 0.0 && off < 1e-9 => {
                    Evaluation::Residuals(residuals.iter().map(|r| 0.999 * r).collect())
                }
                other => other,
            }
        };
        let (stuck, status) = found_on_steep(1e12, None, lucky);
        assert!((stuck.point[0] - 1.0).abs() < 1e-9, "{stuck:?}");
        assert!(status.reason().contains("trust region"), "{status:?}");
        let (best, _) = found_on_steep(1e12, Some(Spans::default()), lucky);
        assert!((best.point[0] - 0.3).abs() < 2e-3, "{best:?}");
        assert!((best.point[1] + 0.2).abs() < 2e-3, "{best:?}");
    }

    #[test]
    fn secants_stay_within_bounds_and_end_at_them() {
        let bounds = Bounds::new(vec![0.5, -1.0], vec![1.2, 0.7]).unwrap();
        let (best, _) = found(Some(Spans::default()), bounds);
        assert_eq!(best.point[0], 0.5);
        assert!((best.point[1] + 0.18).abs() < 0.03, "{best:?}");
    }
}
