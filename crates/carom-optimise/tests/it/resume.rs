//! A search that is killed and resumed, or evaluated in another order, ends with the same bits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use carom_optimise::random::Random;
use carom_optimise::statistics::{Profile, ProfileSettings, rise_of};
use carom_optimise::{
    AdamSettings, Answer, AnyMethod, BasinHoppingSettings, Best, CemSettings, CmaSettings,
    Evaluation, Evaluator, IslandsSettings, LbfgsbSettings, LeastSquaresSettings, Limits,
    LocalSettings, Loss, MultiStartSettings, Optimiser, Outcome, RefinedSettings, Request,
    Restarts, Search, Settings, Status, Unobserved, minimise,
};

use crate::dual::Dual;
use crate::functions::{answer_residuals, boxed_space};

/// One of each kind, small; local solvers first, which draw nothing.
pub(crate) fn all_settings() -> Vec<Settings> {
    let lbfgsb = LocalSettings::Lbfgsb(LbfgsbSettings::default());
    let least_squares = LocalSettings::LeastSquares(LeastSquaresSettings {
        loss: Loss::Soft(1.0),
        ..LeastSquaresSettings::default()
    });
    let adam = LocalSettings::Adam(AdamSettings {
        steps: 30,
        ..AdamSettings::default()
    });
    // Every local solver in its default form, and two with other settings.
    let mut all: Vec<Settings> = LocalSettings::each()
        .into_iter()
        .chain([least_squares.clone(), adam.clone()])
        .map(Settings::Local)
        .collect();
    all.extend([
        Settings::CmaEs(CmaSettings {
            restarts: Restarts::LargeAndSmall(2),
            evaluations: Some(3000),
            ..CmaSettings::default()
        }),
        Settings::Cem(CemSettings {
            full: true,
            generations: 30,
            ..CemSettings::default()
        }),
        Settings::MultiStart(MultiStartSettings {
            screened: 20,
            together: 2,
            ..MultiStartSettings::new(least_squares, 5)
        }),
        Settings::BasinHopping(BasinHoppingSettings::new(lbfgsb.clone(), 3, 4)),
        Settings::BasinHopping(BasinHoppingSettings::new(adam, 2, 3)),
        Settings::Islands(IslandsSettings::new(lbfgsb.clone(), 2, 3, 3)),
        Settings::Refined(RefinedSettings {
            search: Box::new(Settings::CmaEs(CmaSettings {
                evaluations: Some(60),
                ..CmaSettings::default()
            })),
            local: lbfgsb,
        }),
    ]);
    all
}

/// Residuals with many minima of their squares.
fn wavy(x: &[Dual]) -> Vec<Dual> {
    let mut residuals: Vec<Dual> = (x.windows(2))
        .map(|pair| (&pair[1] - &pair[0].powi(2)) * 3.0)
        .collect();
    residuals.extend(x.iter().map(|x| (x * 7.0).sin() * 0.7 + (x - 1.0)));
    residuals
}

/// Points in a corner cannot be evaluated, so that failures are on the way too.
fn evaluate(request: &Request) -> Outcome {
    if request.point[0] > 1.8 {
        return Ok(Evaluation::Residuals(vec![f64::NAN; 5]));
    }
    answer_residuals(&wavy, &request.point)
}

fn begin(settings: &Settings) -> Search<AnyMethod> {
    settings.search(boxed_space(vec![-1.2, 0.9, 0.3], -2.0, 2.0), 7)
}

/// The end of a search: evaluations, bits of the best point and value, status.
fn fingerprint(optimiser: &dyn Optimiser) -> (u64, Vec<u64>, Status) {
    let Best { mut point, value } = optimiser.best().expect("a best point");
    point.push(value);
    let bits = point.iter().map(|v| v.to_bits()).collect();
    (optimiser.evaluations(), bits, optimiser.status())
}

#[test]
fn killed_after_every_batch_and_resumed_the_end_has_the_same_bits() {
    for settings in all_settings() {
        let mut whole = begin(&settings);
        loop {
            let requests = whole.ask();
            if requests.is_empty() {
                break;
            }
            let answers = requests.iter().map(|r| r.answer(evaluate(r))).collect();
            whole.tell(answers).expect("good answers");
        }
        // A new process for each batch: nothing but bytes is carried on. Killed before and after it was asked.
        let mut bytes = begin(&settings).checkpoint().expect("bytes");
        loop {
            let mut asked = Search::<AnyMethod>::resume(&bytes).expect("a search");
            let requests = asked.ask();
            let again = Search::<AnyMethod>::resume(&asked.checkpoint().expect("bytes"));
            let mut again = again.expect("a search");
            assert_eq!(again.ask(), requests);
            if requests.is_empty() {
                assert_eq!(fingerprint(&again), fingerprint(&whole), "{settings:?}");
                assert_eq!(again, whole);
                break;
            }
            let answers = requests.iter().map(|r| r.answer(evaluate(r))).collect();
            again.tell(answers).expect("good answers");
            bytes = again.checkpoint().expect("bytes");
        }
    }
}

#[test]
fn answers_in_any_order_and_any_portions_give_the_same_bits() {
    for settings in all_settings() {
        let finish = |seed: Option<u64>| {
            let mut search = begin(&settings);
            let mut random = Random::new(seed.unwrap_or(0), 0);
            loop {
                let requests = search.ask();
                if requests.is_empty() {
                    return fingerprint(&search);
                }
                let mut answers: Vec<Answer> =
                    requests.iter().map(|r| r.answer(evaluate(r))).collect();
                if seed.is_some() {
                    let order = random.shuffled(answers.len());
                    answers = order.into_iter().map(|i| answers[i].clone()).collect();
                    answers.truncate(1 + random.below(answers.len()));
                }
                search.tell(answers).expect("good answers");
            }
        };
        let straight = finish(None);
        for seed in 1..=3 {
            assert_eq!(finish(Some(seed)), straight, "{settings:?}");
        }
    }
}

/// Evaluate a batch on threads, each taking the next request that is left; answers come as they are done.
struct Threads(usize);

impl Evaluator for Threads {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(|| {
                    while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let answer = request.answer(evaluate(request));
                        answers.lock().expect("no panic").push(answer);
                    }
                });
            }
        });
        answers.into_inner().expect("no panic")
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for settings in all_settings() {
        let ends = [1, 2, 5].map(|threads| {
            let mut search = begin(&settings);
            let limits = Limits::default();
            minimise(&mut search, &mut Threads(threads), &limits, &mut Unobserved).expect("a run");
            search
        });
        assert_eq!(ends[0], ends[1], "{settings:?}");
        assert_eq!(ends[0], ends[2], "{settings:?}");
    }
}

#[test]
fn other_seeds_take_other_ways() {
    let all = all_settings();
    let drawing = all
        .iter()
        .filter(|settings| !matches!(settings, Settings::Local(_)));
    for settings in drawing {
        let first = |seed: u64| {
            settings
                .search(boxed_space(vec![0.0; 3], -2.0, 2.0), seed)
                .ask()
        };
        assert_ne!(first(1), first(2), "{settings:?}");
        assert_eq!(first(1), first(1));
    }
}

#[test]
fn profiles_are_resumed_to_the_bit_too() {
    let space = boxed_space(vec![0.5, 0.5], -10.0, 10.0);
    let residuals = |x: &[Dual]| vec![&x[0] + &x[1] - 1.0, &x[0] * 2.0 - 1.0, x[1].powi(2) - 0.2];
    let local = LocalSettings::LeastSquares(LeastSquaresSettings::default());
    let settings = ProfileSettings::new(local, rise_of(0.95, 0.1, None));
    let fit = Best {
        point: vec![0.5, 0.5],
        value: 0.5 * 0.05 * 0.05,
    };
    let mut whole = Profile::new(&space, fit, 0, settings).expect("a profile");
    let mut bytes = whole.checkpoint().expect("bytes");
    loop {
        let requests = whole.ask();
        let mut resumed = Profile::resume(&bytes).expect("a profile");
        assert_eq!(resumed.ask(), requests);
        if requests.is_empty() {
            break;
        }
        let outcome = |r: &Request| r.answer(answer_residuals(&residuals, &r.point));
        let answers: Vec<Answer> = requests.iter().map(outcome).collect();
        whole.tell(answers.clone()).expect("good answers");
        resumed.tell(answers).expect("good answers");
        assert_eq!(resumed, whole);
        bytes = resumed.checkpoint().expect("bytes");
    }
    assert!(whole.limits().is_some());
}
