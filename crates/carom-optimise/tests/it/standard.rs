//! Standard functions, with and without bounds.

use carom_optimise::{
    Adam, AdamSettings, AnyMethod, BasinHoppingSettings, Bounds, Cem, CemSettings, CmaEs,
    CmaSettings, Evaluation, IslandsSettings, Lbfgsb, LbfgsbSettings, LeastSquares,
    LeastSquaresSettings, Limits, LocalSettings, Loss, MultiStartSettings, OneByOne, Optimiser,
    Request, Restarts, Schedule, Search, Settings, Space, Status, Unobserved, minimise,
};

use crate::dual::Dual;
use crate::functions::{
    Function, answer, answer_residuals, boxed_space, ellipsoid, plain_space, rastrigin, rosenbrock,
    run, shifted_ellipsoid, sphere,
};

fn local() -> LocalSettings {
    LocalSettings::Lbfgsb(LbfgsbSettings::default())
}

/// Steps that do not leave the nearest minimum.
fn careful() -> LocalSettings {
    LocalSettings::Lbfgsb(LbfgsbSettings {
        first_step: Some(0.1),
        ..LbfgsbSettings::default()
    })
}

fn search_boxed(settings: &Settings, seed: u64) -> Search<AnyMethod> {
    settings.search(boxed_space(vec![3.7, -4.1, 2.2], -5.12, 5.12), seed)
}

#[test]
fn adam_descends_valleys_and_keeps_its_best_point() {
    let space = plain_space(vec![-1.2, 1.0]);
    let settings = AdamSettings {
        schedule: Schedule::Cosine {
            rate: 0.05,
            last: 1e-3,
        },
        clip: Some(10.0),
        steps: 4000,
        ..AdamSettings::default()
    };
    let mut search = Search::new(space.clone(), Adam::new(&space, settings.clone()));
    run(&mut search, rosenbrock, 1e-8);
    assert!(search.best().unwrap().value <= 1e-8, "{:?}", search.best());
    // Steps that are far too long wander; the best point is the lowest that was seen.
    let wild = AdamSettings {
        schedule: Schedule::Constant(1.0),
        steps: 50,
        ..settings
    };
    let mut search = Search::new(space.clone(), Adam::new(&space, wild));
    let mut lowest = f64::INFINITY;
    while let [request] = &search.ask()[..] {
        let outcome = answer(rosenbrock, request);
        lowest = lowest.min(outcome.as_ref().unwrap().value());
        search.tell(vec![request.answer(outcome)]).unwrap();
    }
    assert_eq!(search.best().unwrap().value, lowest);
    assert_eq!(
        search.status(),
        Status::Finished("all 50 steps are done".into())
    );
}

#[test]
fn cross_entropy_finds_the_middle_of_bowls() {
    for full in [false, true] {
        let space = plain_space(vec![1.0; 4]);
        let settings = CemSettings {
            full,
            ..CemSettings::default()
        };
        let mut search = Search::new(space.clone(), Cem::new(&space, settings, 1));
        run(&mut search, sphere, 1e-9);
        let value = search.best().unwrap().value;
        assert!(value <= 1e-9, "{full}: {value} {:?}", search.status());
    }
}

#[test]
fn evolution_follows_a_valley_in_forty_dimensions() {
    let space = plain_space(vec![0.1; 40]);
    let settings = CmaSettings {
        sigma: 0.1,
        ..CmaSettings::default()
    };
    let mut search = Search::new(space.clone(), CmaEs::new(&space, settings, 3));
    run(&mut search, rosenbrock, 1e-6);
    assert!(
        search.best().unwrap().value <= 1e-6,
        "{:?}",
        search.status()
    );
}

#[test]
fn evolution_ends_by_itself() {
    let space = plain_space(vec![1.0; 5]);
    let mut search = Search::new(space.clone(), CmaEs::new(&space, CmaSettings::default(), 1));
    run(&mut search, ellipsoid, -1.0);
    assert!(
        matches!(search.status(), Status::Converged(_)),
        "{:?}",
        search.status()
    );
    assert!(search.best().unwrap().value < 1e-10);
}

#[test]
fn restarts_find_the_deepest_of_many_minima() {
    for restarts in [Restarts::Growing(7), Restarts::LargeAndSmall(7)] {
        for seed in 1..=5 {
            let space = boxed_space(vec![3.7, -4.1, 2.2, 0.7, -1.9], -5.12, 5.12);
            let settings = CmaSettings {
                sigma: 2.0,
                restarts,
                ..CmaSettings::default()
            };
            let mut search = Search::new(space.clone(), CmaEs::new(&space, settings, seed));
            run(&mut search, rastrigin, 1e-8);
            let best = search.best().unwrap();
            println!(
                "{restarts:?} {seed}: {} evaluations, {} runs",
                search.evaluations(),
                search.method().runs()
            );
            assert!(best.value <= 1e-8, "{restarts:?} {seed}: {best:?}");
        }
    }
}

#[test]
fn global_searches_around_local_ones_find_the_deepest_minimum() {
    let hopping = BasinHoppingSettings {
        jump: 1.2,
        ..BasinHoppingSettings::new(careful(), 4, 60)
    };
    let islands = IslandsSettings::new(careful(), 3, 6, 40);
    for settings in [Settings::BasinHopping(hopping), Settings::Islands(islands)] {
        for seed in 1..=5 {
            let mut search = search_boxed(&settings, seed);
            run(&mut search, rastrigin, 1e-7);
            let best = search.best().unwrap();
            println!("{seed}: {} evaluations", search.evaluations());
            assert!(best.value <= 1e-7, "{seed}: {best:?} {settings:?}");
        }
    }
}

#[test]
fn the_lowest_of_many_points_are_good_starts() {
    // A hundred minima in two dimensions; four hundred points are looked at, thirty followed.
    let settings = Settings::MultiStart(MultiStartSettings {
        screened: 400,
        ..MultiStartSettings::new(careful(), 30)
    });
    for seed in 1..=5 {
        let mut search = settings.search(boxed_space(vec![3.7, -4.1], -5.12, 5.12), seed);
        run(&mut search, rastrigin, -1.0);
        let best = search.best().unwrap();
        assert!(best.value <= 1e-7, "{seed}: {best:?}");
        assert_eq!(search.method().descents().len(), 30);
    }
}

#[test]
fn many_starts_report_how_each_went() {
    let settings = Settings::MultiStart(MultiStartSettings {
        together: 3,
        ..MultiStartSettings::new(local(), 8)
    });
    let mut search = search_boxed(&settings, 1);
    run(&mut search, rastrigin, -1.0);
    let descents = search.method().descents();
    assert_eq!(descents.len(), 8);
    assert_eq!(
        descents
            .iter()
            .filter(|d| d.start == [3.7, -4.1, 2.2])
            .count(),
        1
    );
    let status = search.status();
    assert_eq!(status.reason(), "8 of 8 local searches converged");
}

/// The least point of a bowl within bounds: its centre, moved into them, as its axes are those of the bounds.
#[test]
fn bounded_bowls_end_at_the_bounds_from_starts_at_the_bounds() {
    let (lower, upper) = (0.7, 3.0);
    for start in [0.7, 3.0, 2.0] {
        let space = boxed_space(vec![start; 6], lower, upper);
        let local = Lbfgsb::new(&space, LbfgsbSettings::default());
        let mut search = Search::new(space.clone(), local);
        run(&mut search, shifted_ellipsoid, -1.0);
        assert_eq!(search.best().unwrap().point, [0.7; 6], "{start}");
        let evolution = CmaSettings {
            sigma: 0.5,
            ..CmaSettings::default()
        };
        let mut search = Search::new(space.clone(), CmaEs::new(&space, evolution, 2));
        run(&mut search, shifted_ellipsoid, -1.0);
        for value in search.best().unwrap().point {
            assert!((value - 0.7).abs() < 1e-6, "{start}: {value}");
        }
        let adam = Adam::new(&space, AdamSettings::default());
        let mut search = Search::new(space.clone(), adam);
        run(&mut search, shifted_ellipsoid, -1.0);
        assert_eq!(search.best().unwrap().point, [0.7; 6], "{start}");
    }
}

#[test]
fn a_start_in_a_corner_of_the_box_does_not_stall() {
    // The minimum lies inside; all parameters start at a bound, on either side.
    let start = vec![-2.0, 2.0, -2.0, 2.0];
    let solved = |settings: &Settings, target: f64| {
        let mut search = settings.search(boxed_space(start.clone(), -2.0, 2.0), 1);
        run(&mut search, rosenbrock, target);
        search.best().unwrap().value
    };
    let evolution = Settings::CmaEs(CmaSettings {
        sigma: 0.5,
        ..CmaSettings::default()
    });
    assert!(solved(&Settings::Local(local()), -1.0) < 1e-8);
    assert!(solved(&evolution, 1e-8) <= 1e-8);
}

#[test]
fn least_squares_from_a_corner_of_the_box_reach_the_minimum_inside() {
    let valley = |x: &[Dual]| vec![(&x[1] - &x[0].powi(2)) * 10.0, &x[0] - 1.0];
    for start in [[-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0], [2.0, 2.0]] {
        let space = boxed_space(start.to_vec(), -2.0, 2.0);
        let method = LeastSquares::new(&space, LeastSquaresSettings::default());
        let mut search = Search::new(space, method);
        let mut evaluator = OneByOne(|r: &Request| answer_residuals(&valley, &r.point));
        let limits = Limits::default();
        minimise(&mut search, &mut evaluator, &limits, &mut Unobserved).unwrap();
        let best = search.best().unwrap();
        assert!(best.value < 1e-12, "{start:?}: {best:?}");
        assert!(search.evaluations() < 60);
    }
}

/// Residuals of a straight line through bent data.
fn line(x: &[Dual]) -> Vec<Dual> {
    let data = [0.1, 0.9, 2.2, 2.8, 4.1, 40.0];
    let time = |i: usize| i as f64;
    (data.iter().enumerate())
        .map(|(i, y)| &x[0] + &(&x[1] * time(i)) - *y)
        .collect()
}

fn fit_line(start: [f64; 2], bounds: Bounds, loss: Loss) -> Search<LeastSquares> {
    let space = Space::new(start.to_vec(), bounds).unwrap();
    let settings = LeastSquaresSettings {
        loss,
        ..LeastSquaresSettings::default()
    };
    let mut search = Search::new(space.clone(), LeastSquares::new(&space, settings));
    let mut evaluator = OneByOne(|r: &Request| answer_residuals(&line, &r.point));
    minimise(
        &mut search,
        &mut evaluator,
        &Limits::default(),
        &mut Unobserved,
    )
    .unwrap();
    search
}

#[test]
fn robust_losses_do_not_follow_outliers() {
    let slope = |loss: Loss| {
        fit_line([0.0, 0.0], Bounds::free(2), loss)
            .best()
            .unwrap()
            .point[1]
    };
    assert!(slope(Loss::Squares) > 5.0);
    assert!(
        (slope(Loss::Cauchy(0.3)) - 1.0).abs() < 0.05,
        "{}",
        slope(Loss::Cauchy(0.3))
    );
    let huber = slope(Loss::Huber(0.3));
    assert!((0.9..1.4).contains(&huber), "{huber}");
    assert!((0.9..1.4).contains(&slope(Loss::Soft(0.3))));
}

#[test]
fn least_squares_within_bounds_meet_the_conditions_of_a_minimum() {
    // Free, the line is about −5.6 + 5.6·t. Held above −1 in the first, the second follows by hand: Σt(y + 1)/Σt².
    let inf = f64::INFINITY;
    for start in [[-1.0, 0.0], [5.0, -3.0]] {
        let bounds = Bounds::new(vec![-1.0, -inf], vec![inf, inf]).unwrap();
        let best = fit_line(start, bounds, Loss::Squares).best().unwrap();
        let sums = [0.1, 0.9, 2.2, 2.8, 4.1, 40.0].iter().enumerate();
        let (top, bottom) = sums.fold((0.0, 0.0), |(top, bottom), (i, y)| {
            let t = i as f64;
            (top + t * (y + 1.0), bottom + t * t)
        });
        assert_eq!(best.point[0], -1.0);
        assert!(
            (best.point[1] - top / bottom).abs() < 1e-9,
            "{start:?}: {best:?}"
        );
    }
}

#[test]
fn held_parameters_stay_and_the_others_are_solved_for() {
    let bounds = Bounds::new(vec![-5.0, 2.0], vec![5.0, 2.0]).unwrap();
    let best = fit_line([0.0, 2.0], bounds, Loss::Squares).best().unwrap();
    let mean = (0.1 + 0.9 + 2.2 + 2.8 + 4.1 + 40.0) / 6.0 - 5.0;
    assert!((best.point[0] - mean).abs() < 1e-9 && best.point[1] == 2.0);
    let all = Bounds::new(vec![1.0, 2.0], vec![1.0, 2.0]).unwrap();
    let held = fit_line([1.0, 2.0], all, Loss::Squares);
    assert_eq!(held.best().unwrap().point, [1.0, 2.0]);
    assert!(matches!(held.status(), Status::Converged(_)));
}

#[test]
fn small_losses_are_followed_as_far_as_others() {
    let small: Function = |x| rosenbrock(x) * 1e-9;
    for settings in [
        Settings::Local(local()),
        Settings::CmaEs(CmaSettings::default()),
    ] {
        let mut search = settings.search(plain_space(vec![-1.2, 1.0]), 1);
        run(&mut search, small, -1.0);
        let best = search.best().unwrap();
        assert!((best.point[0] - 1.0).abs() < 1e-3, "{settings:?}: {best:?}");
    }
}

#[test]
fn scales_make_units_matter_less() {
    // A bowl in two parameters, one of which is counted in millionths.
    let bowl: Function = |x| (&x[0] * 1e6 - 3.0).powi(2) + (&x[1] - 2.0).powi(2);
    let space = Space::new(vec![1e-6, 1.0], Bounds::free(2)).unwrap();
    let mut search = Settings::Local(local()).search(space, 0);
    run(&mut search, bowl, -1.0);
    let best = search.best().unwrap();
    assert!((best.point[0] / 3e-6 - 1.0).abs() < 1e-4, "{best:?}");
    assert!(search.evaluations() < 12);
    let value = Evaluation::Value(best.value);
    assert!(value.value() < 1e-8);
}
