//! Forms against differences, dual numbers and what they promise.

use super::*;
use carom_scalar::Dual;
use carom_testing::Random;

/// One form of each kind, with every end.
fn forms() -> Vec<Form> {
    let mlp =
        |inputs, outputs, activation| Core::Mlp(Mlp::new(inputs, &[5, 4], outputs, activation));
    vec![
        Form::new(mlp(3, 2, Activation::Tanh)),
        Form::new(mlp(3, 2, Activation::Elu)).bounded(),
        Form::new(mlp(2, 1, Activation::Softplus)).odd(&[1]),
        Form::new(mlp(4, 3, Activation::Silu)).dissipative(&[1, 3]),
        Form::new(mlp(3, 1, Activation::Tanh)).odd(&[1]).bounded(),
        Form::new(Core::Mlp(Mlp::new(2, &[], 2, Activation::Tanh))),
        Form::new(Core::Polynomial(Polynomial::new(3, 2, 3, true))),
        Form::new(Core::Polynomial(Polynomial::new(2, 1, 2, false))).odd(&[0, 1]),
        Form::new(Core::Polynomial(Polynomial::quotient(2, 2, 2, true))),
        Form::new(Core::Polynomial(Polynomial::quotient(1, 1, 3, false))).dissipative(&[0]),
        Form::new(Core::Table(Table::new(&[6]))),
        Form::new(Core::Table(Table::new(&[5, 7]))).odd(&[0]),
        Form::new(Core::Friction(Friction::new(false))),
        Form::new(Core::Friction(Friction::new(true))).bounded(),
        Form::new(Core::Drag(Drag::new(3))),
    ]
}

/// Weights w and constants k.
fn numbers<'a, T>(w: &'a [T], k: &'a [T]) -> Numbers<'a, T> {
    Numbers {
        weights: w,
        constants: k,
    }
}

fn value(form: &Form, x: &[f64], w: &[f64], k: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; form.outputs()];
    form.value(x, numbers(w, k), &mut y, &mut vec![0.0; form.room()]);
    y
}

/// Cotangents of inputs, weights and constants.
fn vjp<T: Scalar>(form: &Form, x: &[T], w: &[T], k: &[T], y_bar: &[T]) -> [Vec<T>; 3] {
    let [mut inputs, mut weights, mut constants] = [x, w, k].map(|all| vec![T::ZERO; all.len()]);
    let mut bars = Bars {
        inputs: &mut inputs,
        weights: &mut weights,
        constants: &mut constants,
    };
    let mut room = vec![T::ZERO; form.room()];
    form.vjp(x, numbers(w, k), y_bar, &mut bars, &mut room);
    [inputs, weights, constants]
}

/// Numbers that move at given rates.
fn moving(numbers: &[f64], rates: &[f64]) -> Vec<Dual<1>> {
    let each = numbers.iter().zip(rates);
    each.map(|(&number, &rate)| Dual::moving(number, rate))
        .collect()
}

/// The change of [`vjp`] along directions of inputs, weights and constants, by dual numbers.
fn vjp_along(form: &Form, at: [&[f64]; 3], rates: [&[f64]; 3], y_bar: &[f64]) -> [Vec<f64>; 3] {
    let [x, w, k] = [0, 1, 2].map(|part| moving(at[part], rates[part]));
    let y_bar: Vec<_> = y_bar.iter().map(|&bar| Dual::constant(bar)).collect();
    let bars = vjp(form, &x, &w, &k, &y_bar);
    bars.map(|bars| bars.iter().map(|bar| bar.tangent[0]).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn moved(x: &[f64], direction: &[f64], by: f64) -> Vec<f64> {
    x.iter().zip(direction).map(|(x, d)| x + by * d).collect()
}

fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let size = found.abs().max(expected.abs()).max(1.0);
    assert!(
        (found - expected).abs() <= tolerance * size,
        "{what}: {found} {expected}"
    );
}

/// Inputs, weights, constants and a cotangent of a form.
fn drawn(form: &Form, random: &mut Random) -> [Vec<f64>; 4] {
    let mut w = random.vector(form.weights());
    for (weight, w) in w.iter_mut().enumerate() {
        // Laws are smooth at speeds that random points lie at.
        match form.lower_bound(weight) {
            f64::NEG_INFINITY => {}
            0.0 => *w = w.abs(),
            least => *w = 0.3 + least + w.abs(),
        }
    }
    let mut k = form.plain_constants();
    for (place, constant) in k.iter_mut().enumerate() {
        let is_center = place % 2 == 0 && place < 2 * form.inputs();
        *constant = match is_center {
            true if form.odd.contains(&(place / 2)) => 0.0,
            true => 0.3 * random.next(),
            false => 0.7 + random.next().abs(),
        };
    }
    let (x, y_bar) = (random.vector(form.inputs()), random.vector(form.outputs()));
    [x, w, k, y_bar]
}

#[test]
fn adjoints_are_those_of_dual_numbers_and_differences() {
    let mut random = Random::new(5);
    for (index, form) in forms().iter().enumerate() {
        for _ in 0..20 {
            let [x, w, k, y_bar] = drawn(form, &mut random);
            let what = format!("form {index} at {x:?}");
            let bars = vjp(form, &x, &w, &k, &y_bar);
            let at = [&x, &w, &k];
            for part in 0..3 {
                let mut rates = [&x, &w, &k].map(|all| vec![0.0; all.len()]);
                rates[part] = random.vector(at[part].len());
                let moved_by = |by: f64| [0, 1, 2].map(|all| moved(at[all], &rates[all], by));
                let [x, w, k] = [0, 1, 2].map(|all| moving(at[all], &rates[all]));
                let mut y = vec![Dual::default(); form.outputs()];
                let mut room = vec![Dual::default(); form.room()];
                form.value(&x, numbers(&w, &k), &mut y, &mut room);
                let tangent: Vec<f64> = y.iter().map(|y| y.tangent[0]).collect();
                let found = dot(&bars[part], &rates[part]);
                assert_close(found, dot(&tangent, &y_bar), 1e-12, &what);
                let h = 1e-5;
                let value_at = |by: f64| {
                    let [x, w, k] = moved_by(by);
                    dot(&value(form, &x, &w, &k), &y_bar)
                };
                let difference = (value_at(h) - value_at(-h)) / (2.0 * h);
                assert_close(found, difference, 1e-7, &what);
            }
        }
    }
}

#[test]
fn second_derivatives_are_differences_of_adjoints() {
    let mut random = Random::new(6);
    for (index, form) in forms().iter().enumerate() {
        for _ in 0..20 {
            let [x, w, k, y_bar] = drawn(form, &mut random);
            let (rate, h) = (random.vector(x.len()), 1e-5);
            let [still, fixed] = [&w, &k].map(|all| vec![0.0; all.len()]);
            let found = vjp_along(form, [&x, &w, &k], [&rate, &still, &fixed], &y_bar);
            let above = vjp(form, &moved(&x, &rate, h), &w, &k, &y_bar);
            let below = vjp(form, &moved(&x, &rate, -h), &w, &k, &y_bar);
            for part in 0..3 {
                for (i, found) in found[part].iter().enumerate() {
                    let expected = (above[part][i] - below[part][i]) / (2.0 * h);
                    assert_close(*found, expected, 1e-6, &format!("form {index} at {x:?}"));
                }
            }
        }
    }
}

/// And has a gradient that training can follow.
#[test]
fn untrained_forms_are_zero_to_the_bit() {
    let mut random = Random::new(7);
    for (index, form) in forms().iter().enumerate() {
        let w = form.initial(|| random.next());
        assert_eq!(w.len(), form.weights());
        let mut is_movable = false;
        for _ in 0..20 {
            let x = random.vector(form.inputs());
            let k = form.plain_constants();
            let y = value(form, &x, &w, &k);
            assert!(y.iter().all(|y| *y == 0.0), "form {index}: {y:?}");
            let [_, w_bar, _] = vjp(form, &x, &w, &k, &vec![1.0; y.len()]);
            is_movable |= w_bar.iter().any(|bar| *bar != 0.0);
        }
        assert!(is_movable, "form {index} has no gradient to begin with");
    }
}

#[test]
fn every_weight_has_a_typical_size() {
    for form in &forms() {
        let scales = form.weight_scales(&vec![2.0; form.inputs()], &vec![1e-3; form.outputs()]);
        assert_eq!(scales.len(), form.weights());
        assert!(scales.iter().all(|scale| *scale > 0.0 && *scale <= 2.0));
    }
}

#[test]
fn forms_keep_what_they_promise() {
    let mut random = Random::new(8);
    for form in &forms() {
        for _ in 0..50 {
            let [x, w, k, _] = drawn(form, &mut random);
            let y = value(form, &x, &w, &k);
            if form.is_bounded {
                let bound = k[k.len() - 1];
                assert!(y.iter().all(|y| y.abs() <= bound));
            }
            if let Core::Friction(_) | Core::Drag(_) = form.core {
                let v = moved(&x, &k.iter().copied().step_by(2).collect::<Vec<_>>(), -1.0);
                assert!(v.iter().zip(&y).all(|(v, y)| v * y <= 0.0), "{v:?} {y:?}");
            }
            if form.is_dissipative() {
                let v: Vec<f64> = form.velocities.iter().map(|&input| x[input]).collect();
                assert!(dot(&v, &y) <= 0.0);
                assert_eq!(form.lower_bound(form.weights() - 1), 0.0);
            }
            if !form.odd.is_empty() {
                let mut turned = x.clone();
                form.turn_signs(&mut turned);
                let turned = value(form, &turned, &w, &k);
                let is_odd = turned.iter().zip(&y).all(|(t, y)| *t == -y);
                assert!(is_odd, "{turned:?} {y:?}");
            }
        }
    }
}

/// Equal control values are a constant, and those of a line are that line inside of the range.
#[test]
fn tables_reproduce_lines_and_go_on_constant() {
    let form = Form::new(Core::Table(Table::new(&[6])));
    // Over 0 to 3: control values stand at −1, 0, …, 4.
    let (w, k): (Vec<f64>, _) = (
        (0..6).map(|k| 2.0 * (f64::from(k) - 1.0) + 0.5).collect(),
        [1.5, 1.5],
    );
    for x in [0.0, 0.1, 0.9, 1.0, 1.7, 2.999, 3.0] {
        assert_close(
            value(&form, &[x], &w, &k)[0],
            2.0 * x + 0.5,
            1e-14,
            "inside",
        );
    }
    assert_eq!(value(&form, &[7.0], &w, &k), value(&form, &[3.0], &w, &k));
    assert_eq!(vjp(&form, &[7.0], &w, &k, &[1.0])[0], [0.0]);
    assert!(value(&form, &[f64::NAN], &w, &k)[0].is_nan());
}

#[test]
fn polynomials_have_every_monomial_once() {
    for (inputs, degree, count) in [(1, 4, 4), (2, 2, 5), (3, 3, 19), (4, 2, 14)] {
        assert_eq!(Polynomial::new(inputs, 1, degree, false).weights(), count);
    }
    let form = Form::new(Core::Polynomial(Polynomial::new(2, 1, 2, true)));
    // x, y, x², xy, y², 1.
    let w = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5];
    let y = value(&form, &[3.0, 5.0], &w, &form.plain_constants());
    assert_eq!(y, [3.0 + 50.0 + 900.0 + 15e3 + 25e4 + 1e5]);
}

#[test]
fn activations_are_finite_far_out() {
    for activation in [
        Activation::Tanh,
        Activation::Elu,
        Activation::Softplus,
        Activation::Silu,
    ] {
        let form = Form::new(Core::Mlp(Mlp::new(1, &[1], 1, activation)));
        for x in [-1e4, -40.0, 40.0, 1e4] {
            let w = [1.0, 0.0, 1.0, 0.0];
            let k = form.plain_constants();
            let [x_bar, w_bar, _] = vjp(&form, &[x], &w, &k, &[1.0]);
            assert!(value(&form, &[x], &w, &k)[0].is_finite());
            assert!(x_bar.iter().chain(&w_bar).all(|bar| bar.is_finite()));
        }
    }
}
