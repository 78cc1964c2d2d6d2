//! Functions that optimisers are measured by. The same are in `xtask/reference/make_optimiser_reference.py`.

use carom_optimise::linalg::Matrix;
use carom_optimise::{
    Bounds, End, Evaluation, Failure, Limits, OneByOne, Optimiser, Outcome, Request, Space,
    Unobserved, Want, minimise,
};

use crate::dual::Dual;

/// A function of parameters that carry derivatives.
pub(crate) type Function = fn(&[Dual]) -> Dual;

pub(crate) fn sphere(x: &[Dual]) -> Dual {
    sum(x.iter().map(|x| x.powi(2)))
}

/// Axes of lengths from one to a thousand.
pub(crate) fn ellipsoid(x: &[Dual]) -> Dual {
    let last = (x.len() - 1) as f64;
    sum((x.iter().enumerate()).map(|(i, x)| x.powi(2) * 10.0_f64.powf(6.0 * i as f64 / last)))
}

/// A milder one around another point, for gradients.
pub(crate) fn shifted_ellipsoid(x: &[Dual]) -> Dual {
    let last = (x.len() - 1) as f64;
    let weight = |i: usize| 10.0_f64.powf(3.0 * i as f64 / last);
    sum((x.iter().enumerate()).map(|(i, x)| (x - 0.5).powi(2) * weight(i)))
}

pub(crate) fn rosenbrock(x: &[Dual]) -> Dual {
    sum(x.windows(2).map(|pair| {
        let bend = &pair[1] - &pair[0].powi(2);
        bend.powi(2) * 100.0 + (&pair[0] - 1.0).powi(2)
    }))
}

pub(crate) fn rastrigin(x: &[Dual]) -> Dual {
    let turn = std::f64::consts::TAU;
    sum((x.iter()).map(|x| x.powi(2) - (x * turn).cos() * 10.0 + 10.0))
}

pub(crate) fn beale(x: &[Dual]) -> Dual {
    let term = |constant: f64, power: i32| (&x[0] * &x[1].powi(power) - &x[0] + constant).powi(2);
    term(1.5, 1) + term(2.25, 2) + term(2.625, 3)
}

pub(crate) fn wood(x: &[Dual]) -> Dual {
    let [a, b, c, d] = [&x[0], &x[1], &x[2], &x[3]];
    (a.powi(2) - b).powi(2) * 100.0
        + (a - 1.0).powi(2)
        + (c - 1.0).powi(2)
        + (c.powi(2) - d).powi(2) * 90.0
        + ((b - 1.0).powi(2) + (d - 1.0).powi(2)) * 10.1
        + (b - 1.0) * (d - 1.0) * 19.8
}

pub(crate) fn powell(x: &[Dual]) -> Dual {
    let [a, b, c, d] = [&x[0], &x[1], &x[2], &x[3]];
    (a + &(b * 10.0)).powi(2)
        + (c - d).powi(2) * 5.0
        + (b - &(c * 2.0)).powi(4)
        + (a - d).powi(4) * 10.0
}

pub(crate) fn trid(x: &[Dual]) -> Dual {
    sum(x.iter().map(|x| (x - 1.0).powi(2))) - sum(x.windows(2).map(|pair| &pair[0] * &pair[1]))
}

pub(crate) fn by_name(name: &str) -> Function {
    match name {
        "sphere" => sphere,
        "rosenbrock" => rosenbrock,
        "beale" => beale,
        "wood" => wood,
        "powell" => powell,
        "trid" => trid,
        other => panic!("no function {other}"),
    }
}

fn sum(terms: impl Iterator<Item = Dual>) -> Dual {
    terms.reduce(|a, b| a + b).expect("a term")
}

/// Answer a request by a function.
pub(crate) fn answer(function: Function, request: &Request) -> Outcome {
    let found = if request.want == Want::Value {
        function(&Dual::constants(&request.point))
    } else {
        function(&Dual::variables(&request.point))
    };
    Ok(match request.want {
        Want::Value => Evaluation::Value(found.value),
        Want::Gradient => Evaluation::Gradient {
            value: found.value,
            gradient: found.slope,
        },
        want => return Err(Failure::new(format!("{want} of a function"))),
    })
}

/// Answer a request by residuals.
#[expect(clippy::unnecessary_wraps, reason = "evaluations may fail elsewhere")]
pub(crate) fn answer_residuals(residuals: &dyn Fn(&[Dual]) -> Vec<Dual>, point: &[f64]) -> Outcome {
    let found = residuals(&Dual::variables(point));
    Ok(Evaluation::Jacobian {
        jacobian: Matrix::from_fn(found.len(), point.len(), |i, j| found[i].slope[j]),
        residuals: found.into_iter().map(|r| r.value).collect(),
    })
}

/// Minimise a function down to a target.
pub(crate) fn run(optimiser: &mut dyn Optimiser, function: Function, target: f64) -> End {
    let limits = Limits {
        evaluations: Some(500_000),
        target: Some(target),
        ..Limits::default()
    };
    let mut evaluator = OneByOne(|request: &Request| answer(function, request));
    minimise(optimiser, &mut evaluator, &limits, &mut Unobserved).expect("a run")
}

/// A space without bounds whose scales are all one.
pub(crate) fn plain_space(start: Vec<f64>) -> Space {
    let ones = vec![1.0; start.len()];
    let bounds = Bounds::free(start.len());
    Space::new(start, bounds)
        .and_then(|space| space.with_scale(ones))
        .expect("a space")
}

/// The same with bounds that are equal for all.
pub(crate) fn boxed_space(start: Vec<f64>, lower: f64, upper: f64) -> Space {
    let n = start.len();
    let bounds = Bounds::new(vec![lower; n], vec![upper; n]).expect("bounds");
    Space::new(start, bounds)
        .and_then(|space| space.with_scale(vec![1.0; n]))
        .expect("a space")
}
