//! Answers that make no sense: no search may panic, hang, leave its bounds or ask for a point that is not finite.

use carom_optimise::linalg::Matrix;
use carom_optimise::random::Random;
use carom_optimise::{Bounds, Evaluation, Failure, Optimiser, Outcome, Request, Space, Want};

use crate::resume::all_settings;

/// Numbers of all sizes, with some that are none.
fn number(random: &mut Random, wildness: usize) -> f64 {
    match random.below(12 + wildness) {
        0..8 => random.normal(),
        8 => 0.0,
        9 => -1e3 * random.uniform(),
        10 => 1e-9 * random.normal(),
        11 => 1.0,
        12 => 1e12 * random.normal(),
        13 => 1e154 * random.normal(),
        14 => 1e-300,
        15 => f64::NAN,
        16 => f64::INFINITY,
        _ => f64::MAX,
    }
}

fn nonsense(request: &Request, random: &mut Random, wildness: usize) -> Outcome {
    let mut numbers =
        |count: usize| -> Vec<f64> { (0..count).map(|_| number(random, wildness)).collect() };
    let parameters = request.point.len();
    let evaluation = match request.want {
        Want::Value => Evaluation::Value(numbers(1)[0]),
        Want::Gradient => Evaluation::Gradient {
            value: numbers(1)[0],
            gradient: numbers(parameters),
        },
        Want::Residuals => Evaluation::Residuals(numbers(2)),
        Want::Jacobian => Evaluation::Jacobian {
            residuals: numbers(2),
            jacobian: Matrix::from_data(2, parameters, numbers(2 * parameters)).expect("fits"),
        },
    };
    if random.below(10) == 0 {
        return Err(Failure::new("bad luck"));
    }
    Ok(evaluation)
}

#[test]
fn nonsense_ends_every_search_within_its_bounds() {
    let inf = f64::INFINITY;
    let bounds = Bounds::new(vec![-1.0, 0.0, -inf, 5.0], vec![1.0, inf, inf, 5.0]).expect("bounds");
    for settings in all_settings() {
        for seed in 0..40 {
            let wildness = [0, 3, 6][usize::try_from(seed % 3).expect("fits")];
            let space = Space::new(vec![1.0, 0.0, 3.0, 5.0], bounds.clone()).expect("a space");
            let mut search = settings.search(space, seed);
            let mut random = Random::new(seed, 99);
            // More than any of these methods should need for nothing.
            let mut left = 20_000;
            while search.status().is_running() && left > 0 {
                let requests = search.ask();
                let mut answers = Vec::new();
                for request in &requests {
                    left -= 1;
                    assert!(bounds.contains(&request.point), "{settings:?}: {request:?}");
                    assert!(request.point.iter().all(|x| x.is_finite()), "{request:?}");
                    answers.push(request.answer(nonsense(request, &mut random, wildness)));
                }
                assert!(!requests.is_empty() || !search.status().is_running());
                search.tell(answers).expect("answers of the right kind");
            }
            assert!(left > 0, "{settings:?} {seed} does not end");
            assert!(search.best().is_none_or(|best| best.value.is_finite()));
            assert!(!search.status().reason().is_empty());
        }
    }
}
