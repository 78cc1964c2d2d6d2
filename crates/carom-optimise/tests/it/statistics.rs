//! Information, errors and profiles, against certified values and formulas.

use carom_optimise::linalg::Matrix;
use carom_optimise::random::Random;
use carom_optimise::statistics::{
    Information, Profile, ProfileLimit, ProfileSettings, estimated_noise, rise_of,
};
use carom_optimise::{
    Best, Bounds, End, LeastSquaresSettings, Limits, LocalSettings, OneByOne, Optimiser, Request,
    Space, Status, Unobserved, minimise,
};

use crate::dual::Dual;
use crate::functions::answer_residuals;
use crate::nist::{problems, solve, tight};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("b{}", i + 1)).collect()
}

#[test]
fn standard_errors_are_the_certified_ones() {
    for problem in problems() {
        let settings = LeastSquaresSettings {
            value_tolerance: 0.0,
            ..tight(1e-12)
        };
        let (search, _, _) = solve(&problem, 1, settings);
        let fit = search.method().fit();
        let scale = search.space().scale();
        let jacobian = search.space().unscaled_jacobian(&fit.jacobian);
        let names = names(problem.parameters.len());
        let information = Information::new(&names, scale, &jacobian).expect("information");
        assert_eq!(information.rank(), names.len(), "{}", problem.name);
        let noise = estimated_noise(2.0 * fit.cost, information.degrees()).expect("noise");
        let errors = information.standard_errors(noise);
        for (found, certified) in errors.iter().zip(&problem.deviations) {
            let error = (found / certified - 1.0).abs();
            assert!(error < 1e-5, "{}: {found} {certified}", problem.name);
        }
    }
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // A decay seen with noise, fitted anew for each of many draws.
    let truth = [2.0, 0.7, 0.3];
    let decay = |x: &[Dual], t: f64| &x[0] * &(&x[1] * -t).exp() + &x[2];
    let (draws, mut held) = (400, [0; 3]);
    for seed in 0..draws {
        let mut random = Random::new(seed, 0);
        let data: Vec<(f64, f64)> = (0..25)
            .map(|i| {
                let t = f64::from(i) * 0.2;
                let clean = decay(&Dual::constants(&truth), t).value;
                (t, clean + 0.05 * random.normal())
            })
            .collect();
        let residuals =
            |x: &[Dual]| -> Vec<Dual> { data.iter().map(|(t, y)| decay(x, *t) - *y).collect() };
        let space = Space::new(vec![1.0, 1.0, 0.1], Bounds::free(3)).expect("a space");
        let fit = fitted(&space, &residuals);
        let at = residuals(&Dual::variables(&fit.point));
        let jacobian = Matrix::from_fn(at.len(), 3, |i, j| at[i].slope[j]);
        let information =
            Information::new(&names(3), space.scale(), &jacobian).expect("information");
        let degrees = information.degrees();
        let noise = estimated_noise(2.0 * fit.value, degrees).expect("noise");
        let intervals = information.intervals(&fit.point, 0.95, noise, Some(degrees));
        for (count, (interval, truth)) in held.iter_mut().zip(intervals.iter().zip(truth)) {
            *count += usize::from(interval.lower <= truth && truth <= interval.upper);
        }
    }
    // Three deviations of the count, and a little for the bend of the model.
    for count in held {
        let share = count as f64 / draws as f64;
        assert!((0.91..0.985).contains(&share), "{held:?} of {draws}");
    }
}

#[test]
fn what_cannot_be_told_is_said_in_words() {
    // An oscillation tells the ratio of stiffness and mass only, and nothing of a colour.
    let jacobian = Matrix::from_fn(20, 4, |i, j| {
        let t = i as f64 * 0.3;
        [t.cos(), -t.cos(), t.sin(), 0.0][j]
    });
    let names = ["mass", "stiffness", "damping", "colour"];
    let information = Information::new(&names, &[1.0; 4], &jacobian).expect("information");
    assert_eq!(information.rank(), 2);
    assert_eq!(information.condition(), f64::INFINITY);
    let mut words: Vec<String> = (information.unknown(1.0, 10.0).into_iter())
        .map(|direction| direction.words)
        .collect();
    words.sort();
    assert_eq!(words.len(), 2);
    assert_eq!(
        words[0],
        "colour is not identifiable: the data do not depend on it"
    );
    assert!(words[1].contains("trade off: 0.71·") && words[1].ends_with("is not identifiable"));
    assert!(
        words[1].contains("mass + 0.71·stiffness") || words[1].contains("stiffness + 0.71·mass")
    );
    assert_eq!(information.told(), [false, false, true, false]);
    let errors = information.standard_errors(1.0);
    assert!(errors[0].is_infinite() && errors[2].is_finite() && errors[3].is_infinite());
}

#[test]
fn weak_combinations_are_found_far_below_what_products_could_show() {
    // Two columns that differ by 1e-10 of their length.
    let jacobian = Matrix::from_fn(30, 2, |i, j| {
        let t = i as f64;
        1.0 + t + if j == 1 { 1e-10 * t * t } else { 0.0 }
    });
    let information = Information::new(&["a", "b"], &[1.0, 1.0], &jacobian).expect("information");
    assert_eq!(information.rank(), 2);
    let weak = &information.unknown(1.0, 1.0)[0];
    assert!(
        weak.deviation > 1e6 && weak.deviation < 1e9,
        "{}",
        weak.deviation
    );
    assert!(weak.words.starts_with("0.71·"), "{}", weak.words);
}

#[test]
fn derivatives_that_are_not_finite_are_named() {
    let jacobian = Matrix::from_rows(&[&[1.0, 2.0], &[1.0, f64::NAN]]);
    let error = Information::new(&["mass", "drag"], &[1.0; 2], &jacobian).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("residual 1 by drag"), "{text}");
    let error = Information::new(&["mass"], &[1.0; 2], &jacobian).unwrap_err();
    assert!(error.to_string().contains("1 names and 2 scales"));
}

/// Follow a profile to its end.
fn follow(profile: &mut Profile, residuals: &dyn Fn(&[Dual]) -> Vec<Dual>) -> End {
    let mut evaluator = OneByOne(|r: &Request| answer_residuals(residuals, &r.point));
    minimise(profile, &mut evaluator, &Limits::default(), &mut Unobserved).expect("a run")
}

fn fitted(space: &Space, residuals: &dyn Fn(&[Dual]) -> Vec<Dual>) -> Best {
    let local = LocalSettings::LeastSquares(tight(1e-12));
    let mut search = carom_optimise::Search::new(space.clone(), local.start(space));
    let mut evaluator = OneByOne(|r: &Request| answer_residuals(residuals, &r.point));
    minimise(
        &mut search,
        &mut evaluator,
        &Limits::default(),
        &mut Unobserved,
    )
    .expect("a run");
    search.best().expect("a fit")
}

fn settings(rise: f64) -> ProfileSettings {
    let local = LocalSettings::LeastSquares(tight(1e-12));
    ProfileSettings {
        tolerance: 1e-4,
        ..ProfileSettings::new(local, rise)
    }
}

#[test]
fn profiles_of_linear_models_are_the_intervals_of_the_covariance() {
    let noise = 0.2;
    let residuals = |x: &[Dual]| -> Vec<Dual> {
        (0..12)
            .map(|i| {
                let t = f64::from(i) * 0.5;
                (&x[0] + &(&x[1] * t) + &x[2] * (t * t) - (1.0 + t.sin())) * (1.0 / noise)
            })
            .collect()
    };
    let space = Space::new(vec![1.0; 3], Bounds::free(3)).expect("a space");
    let fit = fitted(&space, &residuals);
    let at = residuals(&Dual::variables(&fit.point));
    let jacobian = Matrix::from_fn(12, 3, |i, j| at[i].slope[j]);
    let information = Information::new(&names(3), space.scale(), &jacobian).expect("information");
    let intervals = information.intervals(&fit.point, 0.95, 1.0, None);
    for parameter in 0..3 {
        let rise = rise_of(0.95, 1.0, None);
        let mut profile =
            Profile::new(&space, fit.clone(), parameter, settings(rise)).expect("a profile");
        let end = follow(&mut profile, &residuals);
        assert!(matches!(end, End::Search(Status::Converged(_))), "{end}");
        let [lower, upper] = profile.limits().expect("limits").map(ProfileLimit::value);
        let interval = &intervals[parameter];
        let half = interval.upper - interval.estimate;
        assert!(
            (lower - interval.lower).abs() < 2e-3 * half,
            "{lower} {interval:?}"
        );
        assert!(
            (upper - interval.upper).abs() < 2e-3 * half,
            "{upper} {interval:?}"
        );
        assert!(profile.points().is_sorted_by(|a, b| a.held <= b.held));
        assert_eq!(profile.lower_fit(), None);
    }
}

#[test]
fn profiles_of_curved_models_are_lopsided_and_reach_the_rise_at_their_ends() {
    // A decay whose rate is seen by a few points.
    let residuals = |x: &[Dual]| -> Vec<Dual> {
        [(0.0, 1.02), (1.0, 0.41), (2.0, 0.10), (3.0, 0.09)]
            .map(|(t, y)| (&x[0] * &(&x[1] * -t).exp() - y) * 10.0)
            .to_vec()
    };
    let bounds = Bounds::new(vec![0.0, 0.0], vec![10.0, 50.0]).expect("bounds");
    let space = Space::new(vec![1.0, 1.0], bounds).expect("a space");
    let fit = fitted(&space, &residuals);
    let rise = rise_of(0.95, 1.0, None);
    let mut profile = Profile::new(&space, fit.clone(), 1, settings(rise)).expect("a profile");
    follow(&mut profile, &residuals);
    let [lower, upper] = profile.limits().expect("limits");
    let [below, above] = [lower, upper].map(|limit| (limit.value() - fit.point[1]).abs());
    assert!(above > 1.1 * below, "{below} {above}");
    for limit in [lower, upper] {
        let points = profile.points();
        let at = points
            .iter()
            .find(|p| p.held == limit.value())
            .expect("a fit");
        assert!(((at.value - fit.value) / rise - 1.0).abs() < 1e-3, "{at:?}");
    }
}

#[test]
fn profiles_say_where_the_data_set_no_limit() {
    // Nothing depends on the second parameter; the first is known, but a bound cuts its interval.
    let residuals = |x: &[Dual]| vec![&x[0] - 1.0, &x[1] * 0.0];
    let inf = f64::INFINITY;
    let bounds = Bounds::new(vec![0.5, -inf], vec![10.0, 4.0]).expect("bounds");
    let space = Space::new(vec![1.0, 1.0], bounds).expect("a space");
    let fit = fitted(&space, &residuals);
    let go = |parameter: usize| {
        let rise = rise_of(0.95, 1.0, None);
        let profile = Profile::new(&space, fit.clone(), parameter, settings(rise));
        let mut profile = profile.expect("a profile");
        follow(&mut profile, &residuals);
        profile.limits().expect("limits")
    };
    let [lower, upper] = go(0);
    assert_eq!(lower, ProfileLimit::Bound(0.5));
    assert!((upper.value() - 2.96).abs() < 1e-3, "{upper:?}");
    let [lower, upper] = go(1);
    assert!(matches!(lower, ProfileLimit::Beyond(_)), "{lower:?}");
    assert_eq!(upper, ProfileLimit::Bound(4.0));
    let held = Profile::new(&space, fit, 7, settings(1.0)).unwrap_err();
    assert!(
        held.to_string()
            .contains("parameter 7 is held or does not exist")
    );
}
