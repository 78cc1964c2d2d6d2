//! Points without a value, wrong answers and limits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use carom_optimise::{
    AdamSettings, Answer, BasinHoppingSettings, Best, CemSettings, CmaSettings, End, Evaluation,
    Evaluator, Failure, LbfgsbSettings, LeastSquaresSettings, Limits, LocalSettings,
    MultiStartSettings, Observer, OneByOne, Optimiser, Outcome, Progress, Request, RunError,
    Schedule, Settings, Status, TellError, Unobserved, minimise,
};

use crate::dual::Dual;
use crate::functions::{answer, answer_residuals, plain_space, rosenbrock, run, sphere};

fn lbfgsb() -> LocalSettings {
    LocalSettings::Lbfgsb(LbfgsbSettings::default())
}

fn least_squares() -> LocalSettings {
    LocalSettings::LeastSquares(LeastSquaresSettings::default())
}

/// Residuals of Rosenbrock's valley.
fn valley(x: &[Dual]) -> Vec<Dual> {
    vec![(&x[1] - &x[0].powi(2)) * 10.0, &x[0] - 1.0]
}

fn best_after(
    settings: &Settings,
    mut outcome: impl FnMut(&Request) -> Outcome,
) -> (Option<Best>, Status) {
    let mut search = settings.search(plain_space(vec![-1.2, 1.0]), 5);
    let limits = Limits {
        evaluations: Some(20_000),
        ..Limits::default()
    };
    let mut evaluator = OneByOne(|request: &Request| outcome(request));
    minimise(&mut search, &mut evaluator, &limits, &mut Unobserved).expect("a run");
    (search.best(), search.status())
}

#[test]
fn a_search_that_ends_while_it_screens_has_the_lowest_point_of_those() {
    let settings = Settings::MultiStart(MultiStartSettings {
        screened: 128,
        ..MultiStartSettings::new(least_squares(), 16)
    });
    for evaluations in [1, 100, 128, 129] {
        let mut search = settings.search(plain_space(vec![-1.2, 1.0]), 5);
        let limits = Limits {
            evaluations: Some(evaluations),
            ..Limits::default()
        };
        let mut lowest = f64::INFINITY;
        let mut evaluator = OneByOne(|request: &Request| {
            let outcome = answer_residuals(&valley, &request.point);
            let value = valley_at(&request.point);
            lowest = lowest.min(value);
            outcome
        });
        minimise(&mut search, &mut evaluator, &limits, &mut Unobserved).expect("a run");
        let best = search.best().expect("the lowest of the points");
        assert!(
            (best.value - lowest).abs() <= 1e-12 * lowest,
            "{best:?}, {lowest}"
        );
    }
}

/// Half the sum of the squares of [`valley`].
fn valley_at(x: &[f64]) -> f64 {
    0.5 * (100.0 * (x[1] - x[0].powi(2)).powi(2) + (x[0] - 1.0).powi(2))
}

#[test]
fn walls_that_cannot_be_evaluated_are_searched_around() {
    // The valley bends around a region where a simulation would blow up; the third kind of failure is no number at all.
    let inside = |x: &[f64]| x[1] > 1.1 || x[0] < -1.6 || x[1] < -0.4;
    let mut count = 0;
    let mut failing = |request: &Request| {
        if !inside(&request.point) {
            return answer_residuals(&valley, &request.point);
        }
        count += 1;
        match count % 3 {
            0 => Err(Failure::new("the simulation blew up")),
            1 => Ok(Evaluation::Jacobian {
                residuals: vec![f64::NAN, 0.0],
                jacobian: carom_optimise::linalg::Matrix::zeros(2, 2),
            }),
            _ => Ok(Evaluation::Residuals(vec![f64::INFINITY, 0.0])),
        }
    };
    // An answer that lacks what was asked for is a mistake; failures and numbers that are not finite are not.
    let all = [
        Settings::Local(lbfgsb()),
        Settings::Local(least_squares()),
        Settings::CmaEs(CmaSettings::default()),
        Settings::BasinHopping(BasinHoppingSettings::new(lbfgsb(), 3, 3)),
    ];
    for settings in all {
        let (best, status) = best_after(&settings, &mut failing);
        let best = best.expect("a best point");
        assert!(best.value < 1e-6, "{settings:?}: {best:?} {status:?}");
    }
    assert!(count > 20, "{count}");
}

#[test]
fn cross_entropy_ranks_failures_last() {
    // A bowl of which everything beyond a line through its middle fails.
    let bowl = |x: &[Dual]| vec![&x[0] - 1.0, &x[1] - 1.0];
    let half = |request: &Request| match request.point[0] + request.point[1] {
        sum if sum > 2.0 => Err(Failure::new("beyond the line")),
        _ => answer_residuals(&bowl, &request.point),
    };
    for full in [false, true] {
        let settings = CemSettings {
            full,
            deviation: 1.0,
            ..CemSettings::default()
        };
        let (best, _) = best_after(&Settings::Cem(settings), half);
        let best = best.expect("a best point");
        assert!(best.value < 1e-6, "{full}: {best:?}");
    }
}

#[test]
fn adam_steps_back_from_walls() {
    // It overshoots the middle of a bowl into a wall just behind it.
    let bowl = |x: &[Dual]| vec![&x[0] - 1.0, &x[1] - 1.0];
    let mut failures = 0;
    let wall = |request: &Request| match request.point[0] {
        x if x > 1.02 => {
            failures += 1;
            Err(Failure::new("the wall"))
        }
        _ => answer_residuals(&bowl, &request.point),
    };
    let adam = AdamSettings {
        schedule: Schedule::Exponential {
            rate: 0.3,
            factor: 0.98,
        },
        ..AdamSettings::default()
    };
    let (best, _) = best_after(&Settings::Local(LocalSettings::Adam(adam)), wall);
    assert!(best.expect("a best point").value < 1e-4);
    assert!(failures > 0);
}

#[test]
fn a_start_that_fails_is_said_so() {
    let dead = |_: &Request| Err(Failure::new("no model"));
    for local in [lbfgsb(), least_squares()] {
        let (best, status) = best_after(&Settings::Local(local), dead);
        assert_eq!(best, None);
        let reason = "the start cannot be evaluated: no model; start elsewhere";
        assert_eq!(status, Status::Stalled(reason.into()));
    }
    for settings in [
        Settings::CmaEs(CmaSettings::default()),
        Settings::Cem(CemSettings::default()),
        Settings::BasinHopping(BasinHoppingSettings::new(lbfgsb(), 2, 3)),
    ] {
        let (best, status) = best_after(&settings, dead);
        assert_eq!(best, None);
        assert!(matches!(status, Status::Stalled(_)), "{status:?}");
    }
}

#[test]
fn noisy_values_end_a_search_without_harm() {
    let mut flip = 0;
    let mut noisy = |request: &Request| {
        let mut outcome = answer(rosenbrock, request)?;
        flip = (flip * 7 + 3) % 11;
        if let Evaluation::Gradient { value, .. } = &mut outcome {
            *value += 1e-3 * f64::from(flip);
        }
        Ok(outcome)
    };
    let (best, status) = best_after(&Settings::Local(lbfgsb()), &mut noisy);
    assert!(best.expect("a best point").value < 1.0);
    assert!(!status.is_running());
}

#[test]
fn wrong_answers_are_named() {
    let mut search = Settings::Local(least_squares()).search(plain_space(vec![0.0, 1.0]), 0);
    let request = &search.ask()[0];
    let tell = |search: &mut dyn Optimiser, id: u64, evaluation: Evaluation| {
        let outcome = Ok(evaluation);
        search.tell(vec![Answer { id, outcome }])
    };
    let unknown = tell(&mut search, 99, Evaluation::Value(1.0)).unwrap_err();
    assert_eq!(unknown, TellError::Unknown { id: 99 });
    let kind = tell(&mut search, request.id, Evaluation::Value(1.0)).unwrap_err();
    assert_eq!(
        kind.to_string(),
        "the answer to request 0 lacks what was asked for, residuals with their Jacobian: give it, or tell a failure"
    );
    let shape = Evaluation::Jacobian {
        residuals: vec![1.0; 3],
        jacobian: carom_optimise::linalg::Matrix::zeros(3, 5),
    };
    let shape = tell(&mut search, request.id, shape).unwrap_err();
    assert!(
        shape.to_string().contains("5 derivatives, not 2"),
        "{shape}"
    );
    // None of them has done harm.
    assert_eq!(search.ask()[0].id, request.id);
    assert_eq!(search.evaluations(), 0);
    let first = request.answer(answer_residuals(&valley, &request.point));
    search.tell(vec![first.clone()]).expect("a good answer");
    assert_eq!(search.tell(vec![first]), Err(TellError::Unknown { id: 0 }));
    let next = search.ask()[0].id;
    let long = tell(&mut search, next, Evaluation::Residuals(vec![1.0; 4])).unwrap_err();
    assert!(long.to_string().contains("4 residuals, not 2"), "{long}");
}

#[test]
fn an_evaluator_that_forgets_a_request_ends_the_run() {
    struct Forgetful;
    impl Evaluator for Forgetful {
        fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
            let kept = requests.iter().skip(1);
            kept.map(|r| r.answer(Ok(Evaluation::Value(1.0)))).collect()
        }
    }
    let mut search = Settings::CmaEs(CmaSettings::default()).search(plain_space(vec![0.0]), 0);
    let error = minimise(
        &mut search,
        &mut Forgetful,
        &Limits::default(),
        &mut Unobserved,
    );
    assert_eq!(error, Err(RunError::Unanswered { id: 0 }));
}

struct Watcher<'a> {
    stop: &'a AtomicBool,
    seen: Vec<f64>,
    bytes: Vec<u8>,
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.seen
            .push(progress.best.as_ref().expect("a best point").value);
        if progress.batches == 5 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn wants_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes = bytes.to_vec();
        Ok(())
    }
}

#[test]
fn limits_end_a_run_and_observers_see_it() {
    let start = || Settings::CmaEs(CmaSettings::default()).search(plain_space(vec![1.0; 3]), 0);
    let go = |limits: &Limits<'_>| {
        let mut search = start();
        let mut evaluator = OneByOne(|request: &Request| answer(sphere, request));
        let end = minimise(&mut search, &mut evaluator, limits, &mut Unobserved);
        (end.expect("a run"), search.evaluations())
    };
    let evaluations = Limits {
        evaluations: Some(50),
        ..Limits::default()
    };
    let (end, used) = go(&evaluations);
    assert_eq!(end, End::Evaluations);
    assert!((50..60).contains(&used), "{used}");
    let time = Limits {
        time: Some(Duration::ZERO),
        ..Limits::default()
    };
    assert_eq!(go(&time), (End::Time, 0));
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher {
        stop: &stop,
        seen: Vec::new(),
        bytes: Vec::new(),
    };
    let limits = Limits {
        stop: Some(&stop),
        ..Limits::default()
    };
    let mut search = start();
    let mut evaluator = OneByOne(|request: &Request| answer(sphere, request));
    let end = minimise(&mut search, &mut evaluator, &limits, &mut watcher).expect("a run");
    assert_eq!(end, End::Stopped);
    assert_eq!(watcher.seen.len(), 5);
    assert!(watcher.seen.is_sorted_by(|a, b| a >= b));
    let resumed = carom_optimise::Search::<carom_optimise::AnyMethod>::resume(&watcher.bytes);
    assert_eq!(resumed.expect("a search"), search);
    assert_eq!(run(&mut search, sphere, 1e-3), End::Target);
}

#[test]
fn impossible_settings_are_refused_with_a_sentence() {
    let reason = |settings: Settings| {
        let mut search = settings.search(plain_space(vec![1.0]), 0);
        assert!(search.ask().is_empty());
        search.status().reason().to_owned()
    };
    let sigma = CmaSettings {
        sigma: f64::NAN,
        ..CmaSettings::default()
    };
    assert!(reason(Settings::CmaEs(sigma)).contains("the first σ is NaN"));
    let crowd = CmaSettings {
        population: Some(usize::MAX),
        ..CmaSettings::default()
    };
    assert!(reason(Settings::CmaEs(crowd)).contains("give at most 1000000"));
    let cem = CemSettings {
        elite: 3.0,
        ..CemSettings::default()
    };
    assert!(reason(Settings::Cem(cem)).contains("give numbers from 0 to 1"));
    let loss = LeastSquaresSettings {
        loss: carom_optimise::Loss::Huber(0.0),
        ..LeastSquaresSettings::default()
    };
    let local = LocalSettings::LeastSquares(loss);
    assert!(reason(Settings::Local(local)).contains("give a positive number"));
}
