//! Derivatives by differences, for parameters that have no others.
//!
//! Each request for a gradient or a Jacobian becomes a batch of values or residuals around the point,
//!
//!   ∂f/∂xᵢ ≈ (f(x + h·sᵢ·eᵢ) − f(x − h·sᵢ·eᵢ))/(2·h·sᵢ)   (1)
//!
//! with the scales s of the space. Where a bound is nearer than the step, the difference is taken to one side, as it is for
//! all parameters on request.

use crate::linalg::Matrix;
use crate::minimise::Evaluator;
use crate::request::{Answer, Evaluation, Failure, Outcome, Request, Want};
use crate::space::Space;

/// An evaluator that makes derivatives by differences of another one's values and residuals.
pub struct Differences<E> {
    evaluator: E,
    space: Space,
    step: f64,
    central: bool,
}

/// A point beside the one that was asked for.
#[derive(Clone, Copy)]
struct Side {
    parameter: usize,
    /// How far it is away.
    offset: f64,
}

impl<E: Evaluator> Differences<E> {
    /// Differences to both sides: twice the evaluations, errors of second order.
    pub fn central(evaluator: E, space: Space) -> Self {
        Self {
            evaluator,
            space,
            step: f64::EPSILON.cbrt(),
            central: true,
        }
    }

    /// Differences to one side.
    pub fn forward(evaluator: E, space: Space) -> Self {
        Self {
            evaluator,
            space,
            step: f64::EPSILON.sqrt(),
            central: false,
        }
    }

    /// The same with another step, in scales. Simulations whose values carry noise need a longer one.
    #[must_use]
    pub fn with_step(mut self, step: f64) -> Self {
        self.step = step;
        self
    }

    /// Points around one that make its derivatives.
    fn sides(&self, point: &[f64]) -> Vec<Side> {
        let bounds = self.space.bounds();
        let mut sides = Vec::new();
        for &parameter in self.space.free() {
            let step = self.step * self.space.scale()[parameter];
            let at = point[parameter];
            let fits = |offset: f64| bounds.clamp(parameter, at + offset) == at + offset;
            let both = [step, -step].into_iter().filter(|&offset| fits(offset));
            let count = if self.central { 2 } else { 1 };
            sides.extend(both.take(count).map(|offset| Side {
                parameter,
                // What the numbers really are apart.
                offset: (at + offset) - at,
            }));
        }
        sides
    }
}

impl<E: Evaluator> Evaluator for Differences<E> {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        let mut inner = Vec::new();
        let mut plans = Vec::new();
        for request in requests {
            let (want, sides) = match request.want {
                Want::Gradient => (Want::Value, self.sides(&request.point)),
                Want::Jacobian => (Want::Residuals, self.sides(&request.point)),
                want => (want, Vec::new()),
            };
            let first = inner.len();
            let offsets = std::iter::once(None).chain(sides.iter().copied().map(Some));
            for side in offsets {
                let mut point = request.point.clone();
                if let Some(side) = side {
                    point[side.parameter] += side.offset;
                }
                inner.push(Request {
                    id: inner.len() as u64,
                    point,
                    want,
                });
            }
            plans.push((request, first, sides));
        }
        let mut outcomes: Vec<Option<Outcome>> = vec![None; inner.len()];
        for answer in self.evaluator.evaluate(&inner) {
            let place = usize::try_from(answer.id).unwrap_or(usize::MAX);
            if let Some(slot) = outcomes.get_mut(place) {
                *slot = Some(answer.outcome);
            }
        }
        let outcome_of = |place: usize| {
            let missing = || Err(Failure::new("the evaluator left a point out"));
            outcomes[place].clone().unwrap_or_else(missing)
        };
        plans
            .into_iter()
            .map(|(request, first, sides)| {
                let around = (first + 1..=first + sides.len()).map(outcome_of);
                let outcome = outcome_of(first).and_then(|center| {
                    let around = around.collect::<Result<Vec<Evaluation>, Failure>>()?;
                    assemble(request, center, &sides, &around)
                });
                request.answer(outcome)
            })
            .collect()
    }
}

/// What was found at a point, as a list of numbers.
fn numbers(evaluation: &Evaluation) -> Vec<f64> {
    match evaluation {
        Evaluation::Residuals(residuals) | Evaluation::Jacobian { residuals, .. } => {
            residuals.clone()
        }
        other => vec![other.value()],
    }
}

fn assemble(
    request: &Request,
    center: Evaluation,
    sides: &[Side],
    around: &[Evaluation],
) -> Outcome {
    let wants_value = match request.want {
        Want::Gradient => true,
        Want::Jacobian => false,
        Want::Value | Want::Residuals => return Ok(center),
    };
    let of = |evaluation: &Evaluation| {
        if wants_value {
            vec![evaluation.value()]
        } else {
            numbers(evaluation)
        }
    };
    let here = of(&center);
    let mut jacobian = Matrix::zeros(here.len(), request.point.len());
    let beside: Vec<(Side, Vec<f64>)> =
        (sides.iter().copied()).zip(around.iter().map(of)).collect();
    for pair in beside.chunk_by(|(a, _), (b, _)| a.parameter == b.parameter) {
        let center = (0.0, &here);
        let mut ends = pair.iter().map(|(side, values)| (side.offset, values));
        let (Some(high), low) = (ends.next(), ends.next().unwrap_or(center)) else {
            continue;
        };
        if high.1.len() != here.len() || low.1.len() != here.len() {
            return Err(Failure::new("the number of residuals changed"));
        }
        for (row, (high_value, low_value)) in high.1.iter().zip(low.1).enumerate() {
            let slope = (high_value - low_value) / (high.0 - low.0);
            jacobian[(row, pair[0].0.parameter)] = slope; // (1)
        }
    }
    Ok(if wants_value {
        Evaluation::Gradient {
            value: here[0],
            gradient: jacobian.row(0).to_vec(),
        }
    } else {
        Evaluation::Jacobian {
            residuals: here,
            jacobian,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::minimise::OneByOne;

    fn residuals(x: &[f64]) -> Vec<f64> {
        vec![x[0] * x[1], x[0].sin(), x[2].exp()]
    }

    fn inner(request: &Request) -> Outcome {
        let residuals = residuals(&request.point);
        match request.want {
            Want::Value | Want::Residuals => Ok(Evaluation::Residuals(residuals)),
            _ => Err(Failure::new("no derivatives")),
        }
    }

    fn space() -> Space {
        let inf = f64::INFINITY;
        let bounds = Bounds::new(vec![0.0, -inf, 0.5], vec![2.0, inf, 0.5]).unwrap();
        Space::new(vec![2.0, 3.0, 0.5], bounds).unwrap()
    }

    #[test]
    fn derivatives_agree_with_formulas_at_bounds_too() {
        let (x, y) = (2.0_f64, 3.0);
        let exact = [[y, x, 0.0], [x.cos(), 0.0, 0.0], [0.0, 0.0, 0.0]];
        for central in [true, false] {
            let mut evaluator = if central {
                Differences::central(OneByOne(inner), space())
            } else {
                Differences::forward(OneByOne(inner), space())
            };
            let request = |want: Want| Request {
                id: 7,
                point: vec![x, y, 0.5],
                want,
            };
            let answers = evaluator.evaluate(&[request(Want::Jacobian), request(Want::Gradient)]);
            let Ok(Evaluation::Jacobian { jacobian, .. }) = &answers[0].outcome else {
                panic!("{answers:?}");
            };
            for (i, row) in exact.iter().enumerate() {
                for (j, exact) in row.iter().enumerate() {
                    let error = (jacobian[(i, j)] - exact).abs();
                    assert!(error < 2e-5, "{central} {i} {j}: {error}");
                }
            }
            let Ok(Evaluation::Gradient { gradient, .. }) = &answers[1].outcome else {
                panic!("{answers:?}");
            };
            // The second has room on both sides.
            let tolerance = if central { 1e-8 } else { 1e-5 };
            assert!((gradient[1] - x * y * x).abs() < tolerance, "{gradient:?}");
        }
    }

    #[test]
    fn failures_beside_a_point_are_failures_of_its_derivatives() {
        let failing = |request: &Request| {
            if request.point[1] > 3.0 {
                Err(Failure::new("too far"))
            } else {
                inner(request)
            }
        };
        let mut evaluator = Differences::forward(OneByOne(failing), space());
        let request = Request {
            id: 1,
            point: vec![1.0, 3.0, 0.5],
            want: Want::Gradient,
        };
        let answers = evaluator.evaluate(&[request]);
        assert_eq!(answers[0].outcome, Err(Failure::new("too far")));
    }
}
