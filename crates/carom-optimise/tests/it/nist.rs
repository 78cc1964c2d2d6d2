//! Nonlinear regressions with certified solutions, the Statistical Reference Datasets of NIST.

use std::f64::consts::PI;

use carom_optimise::{
    Bounds, End, LeastSquares, LeastSquaresSettings, Limits, OneByOne, Optimiser, Request, Search,
    Space, Unobserved, Want, minimise,
};
use serde_json::Value;

use crate::dual::Dual;
use crate::functions::answer_residuals;

pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) starts: Vec<Vec<f64>>,
    pub(crate) parameters: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
    pub(crate) sum_of_squares: f64,
    x: Vec<f64>,
    y: Vec<f64>,
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// All problems.
pub(crate) fn problems() -> Vec<Problem> {
    let all: Value = serde_json::from_str(include_str!("../data/nist.json")).expect("JSON");
    let all = all.as_object().expect("an object");
    all.iter()
        .map(|(name, problem)| Problem {
            name: name.clone(),
            starts: [0, 1].map(|i| numbers(&problem["starts"][i])).to_vec(),
            parameters: numbers(&problem["parameters"]),
            deviations: numbers(&problem["deviations"]),
            sum_of_squares: problem["sum_of_squares"].as_f64().expect("a number"),
            x: numbers(&problem["x"]),
            y: numbers(&problem["y"]),
        })
        .collect()
}

impl Problem {
    pub(crate) fn residuals(&self, b: &[Dual]) -> Vec<Dual> {
        let pairs = self.x.iter().zip(&self.y);
        pairs.map(|(&x, &y)| model(&self.name, b, x) - y).collect()
    }
}

fn polynomial(coefficients: &[Dual], constant: Option<f64>, x: f64) -> Dual {
    let mut value = &coefficients[0] * 0.0 + constant.unwrap_or(0.0);
    let mut power = if constant.is_some() { x } else { 1.0 };
    for c in coefficients {
        value = value + c * power;
        power *= x;
    }
    value
}

fn model(name: &str, b: &[Dual], x: f64) -> Dual {
    let decay = |amplitude: &Dual, rate: &Dual| amplitude * &(rate * -x).exp();
    let bell = |place: &Dual, width: &Dual| (-((place - x) / width).powi(2)).exp();
    let constant = |c: f64| &b[0] * 0.0 + c;
    match name {
        "Misra1a" | "BoxBOD" => &b[0] - &decay(&b[0], &b[1]),
        "Chwirut2" => (&b[0] * -x).exp() / (&b[1] + &(&b[2] * x)),
        "Lanczos3" => decay(&b[0], &b[1]) + decay(&b[2], &b[3]) + decay(&b[4], &b[5]),
        "Gauss1" => decay(&b[0], &b[1]) + &b[2] * &bell(&b[3], &b[4]) + &b[5] * &bell(&b[6], &b[7]),
        "MGH17" => decay(&b[1], &b[3]) + decay(&b[2], &b[4]) + &b[0],
        "Misra1d" => &b[0] * &b[1] * x / (&b[1] * x + 1.0),
        "Roszman1" => {
            let angle = (&b[2] / &(constant(x) - &b[3])).atan();
            &b[0] - &(&b[1] * x) - angle / PI
        }
        "DanWood" => &b[0] * &constant(x).pow(&b[1]),
        "Kirby2" => polynomial(&b[..3], None, x) / polynomial(&b[3..], Some(1.0), x),
        "Hahn1" | "Thurber" => polynomial(&b[..4], None, x) / polynomial(&b[4..], Some(1.0), x),
        "ENSO" => {
            let wave = |period: &Dual, c: &Dual, s: &Dual| {
                let angle = constant(2.0 * PI * x) / period;
                c * &angle.cos() + s * &angle.sin()
            };
            wave(&constant(12.0), &b[1], &b[2])
                + wave(&b[3], &b[4], &b[5])
                + wave(&b[6], &b[7], &b[8])
                + &b[0]
        }
        "MGH09" => &b[0] * &((&b[1] * x) + x * x) / (&(&b[2] * x) + &b[3] + x * x),
        "Rat42" => &b[0] / &((&b[1] - &(&b[2] * x)).exp() + 1.0),
        "Rat43" => {
            let base = (&b[1] - &(&b[2] * x)).exp() + 1.0;
            &b[0] / &base.pow(&(constant(1.0) / &b[3]))
        }
        "MGH10" => &b[0] * &(&b[1] / &(&b[2] + x)).exp(),
        "Eckerle4" => {
            let off = (&b[2] - x) / &b[1];
            &b[0] / &b[1] * (off.powi(2) * -0.5).exp()
        }
        "Bennett5" => &b[0] * &(&b[1] + x).pow(&(constant(-1.0) / &b[2])),
        other => panic!("no model {other}"),
    }
}

/// A search solved from a start, and how many points it looked at.
pub(crate) fn solve(
    problem: &Problem,
    start: usize,
    settings: LeastSquaresSettings,
) -> (Search<LeastSquares>, u64, End) {
    let start = problem.starts[start].clone();
    let n = start.len();
    let space = Space::new(start, Bounds::free(n)).expect("a space");
    let method = LeastSquares::new(&space, settings);
    let mut search = Search::new(space, method);
    let mut points = 0;
    let mut evaluator = OneByOne(|request: &Request| {
        // The Jacobian of the start is its first residual too; later ones belong to points that were tried.
        points += u64::from(request.want == Want::Residuals || points == 0);
        answer_residuals(&|b| problem.residuals(b), &request.point)
    });
    let limits = Limits {
        evaluations: Some(20_000),
        ..Limits::default()
    };
    let end = minimise(&mut search, &mut evaluator, &limits, &mut Unobserved).expect("a run");
    (search, points, end)
}

pub(crate) fn tight(tolerance: f64) -> LeastSquaresSettings {
    LeastSquaresSettings {
        value_tolerance: tolerance,
        step_tolerance: tolerance,
        gradient_tolerance: tolerance,
        iterations: 10_000,
        ..LeastSquaresSettings::default()
    }
}

#[test]
fn certified_parameters_are_found_from_both_starts() {
    for problem in problems() {
        for start in 0..2 {
            let settings = LeastSquaresSettings {
                value_tolerance: 0.0,
                ..tight(1e-12)
            };
            let (search, _, end) = solve(&problem, start, settings);
            let name = &problem.name;
            assert!(matches!(end, End::Search(_)), "{name}: {end}");
            let best = search.best().expect("a best point");
            for (found, certified) in best.point.iter().zip(&problem.parameters) {
                // Eckerle4 is the same with the signs of the first two turned.
                let found = if name == "Eckerle4" {
                    found.abs()
                } else {
                    *found
                };
                let error = (found / certified - 1.0).abs();
                assert!(
                    error < 1e-6,
                    "{name} from start {start}: {found} {certified}, {end}"
                );
            }
            let error = (2.0 * best.value / problem.sum_of_squares - 1.0).abs();
            assert!(error < 1e-7, "{name}: {}", 2.0 * best.value);
        }
    }
}
