//! Forms against differences, dual numbers and what they promise.

use super::*;
use carom_scalar::Dual;
use carom_testing::Random;

/// One form of each kind, with every end.
fn forms() -> Vec<Form> {
    let axis = |count| Axis {
        low: -2.0,
        high: 1.5,
        count,
    };
    let mlp =
        |inputs, outputs, activation| Core::Mlp(Mlp::new(inputs, &[5, 4], outputs, activation));
    vec![
        Form::new(mlp(3, 2, Activation::Tanh)),
        Form::new(mlp(3, 2, Activation::Elu)).bounded(0.7),
        Form::new(mlp(2, 1, Activation::Softplus)).odd(&[1]),
        Form::new(mlp(4, 3, Activation::Silu)).dissipative(&[1, 3]),
        Form::new(mlp(3, 1, Activation::Tanh))
            .scaled(vec![[0.3, 2.0], [0.0, 0.5], [-1.0, 1.5]])
            .odd(&[1])
            .bounded(2.0),
        Form::new(Core::Mlp(Mlp::new(2, &[], 2, Activation::Tanh))),
        Form::new(Core::Polynomial(Polynomial::new(3, 2, 3, true))),
        Form::new(Core::Polynomial(Polynomial::new(2, 1, 2, false))).odd(&[0, 1]),
        Form::new(Core::Polynomial(Polynomial::quotient(2, 2, 2, true))),
        Form::new(Core::Polynomial(Polynomial::quotient(1, 1, 3, false))).dissipative(&[0]),
        Form::new(Core::Table(Table::new(vec![axis(6)]))),
        Form::new(Core::Table(Table::new(vec![axis(5), axis(7)]))).odd(&[0]),
    ]
}

fn value(form: &Form, x: &[f64], w: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; form.outputs()];
    form.value(x, w, &mut y, &mut vec![0.0; form.room()]);
    y
}

fn vjp(form: &Form, x: &[f64], w: &[f64], y_bar: &[f64]) -> [Vec<f64>; 2] {
    let (mut inputs, mut weights) = (vec![0.0; x.len()], vec![0.0; w.len()]);
    let mut bars = Bars {
        inputs: &mut inputs,
        weights: &mut weights,
    };
    form.vjp(x, w, y_bar, &mut bars, &mut vec![0.0; form.room()]);
    [inputs, weights]
}

/// The change of [`vjp`] along a direction, by dual numbers.
fn vjp_along(form: &Form, x: &[f64], w: &[f64], rate: &[f64], y_bar: &[f64]) -> [Vec<f64>; 2] {
    let moving = x
        .iter()
        .zip(rate)
        .map(|(&x, &rate)| Dual::<1>::moving(x, rate));
    let (x, y_bar): (Vec<_>, Vec<_>) = (
        moving.collect(),
        y_bar.iter().map(|&bar| Dual::constant(bar)).collect(),
    );
    let mut inputs = vec![Dual::default(); x.len()];
    let mut weights = vec![Dual::default(); w.len()];
    let mut bars = Bars {
        inputs: &mut inputs,
        weights: &mut weights,
    };
    form.vjp(
        &x,
        w,
        &y_bar,
        &mut bars,
        &mut vec![Dual::default(); form.room()],
    );
    [inputs, weights].map(|bars| bars.iter().map(|bar| bar.tangent[0]).collect())
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

/// A point, weights and a cotangent of a form.
fn drawn(form: &Form, random: &mut Random) -> [Vec<f64>; 3] {
    let mut w = random.vector(form.weights());
    if let Some(gain) = w.last_mut().filter(|_| form.is_dissipative()) {
        *gain = gain.abs();
    }
    [
        random.vector(form.inputs()),
        w,
        random.vector(form.outputs()),
    ]
}

#[test]
fn adjoints_are_those_of_dual_numbers_and_differences() {
    let mut random = Random::new(5);
    for (index, form) in forms().iter().enumerate() {
        for _ in 0..20 {
            let [x, w, y_bar] = drawn(form, &mut random);
            let what = format!("form {index} at {x:?}");
            let [x_bar, w_bar] = vjp(form, &x, &w, &y_bar);
            // Inputs by dual numbers.
            let rate = random.vector(x.len());
            let moving = x.iter().zip(&rate).map(|(&x, &r)| Dual::<1>::moving(x, r));
            let moving: Vec<_> = moving.collect();
            let mut y = vec![Dual::default(); form.outputs()];
            form.value(&moving, &w, &mut y, &mut vec![Dual::default(); form.room()]);
            let tangent: Vec<f64> = y.iter().map(|y| y.tangent[0]).collect();
            assert_close(dot(&x_bar, &rate), dot(&tangent, &y_bar), 1e-12, &what);
            // Weights by differences.
            let (rate, h) = (random.vector(w.len()), 1e-5);
            let at = |by: f64| dot(&value(form, &x, &moved(&w, &rate, by)), &y_bar);
            let difference = (at(h) - at(-h)) / (2.0 * h);
            assert_close(dot(&w_bar, &rate), difference, 1e-8, &what);
        }
    }
}

#[test]
fn second_derivatives_are_differences_of_adjoints() {
    let mut random = Random::new(6);
    for (index, form) in forms().iter().enumerate() {
        for _ in 0..20 {
            let [x, w, y_bar] = drawn(form, &mut random);
            let (rate, h) = (random.vector(x.len()), 1e-5);
            let found = vjp_along(form, &x, &w, &rate, &y_bar);
            let above = vjp(form, &moved(&x, &rate, h), &w, &y_bar);
            let below = vjp(form, &moved(&x, &rate, -h), &w, &y_bar);
            for k in 0..2 {
                for (i, found) in found[k].iter().enumerate() {
                    let expected = (above[k][i] - below[k][i]) / (2.0 * h);
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
            let y = value(form, &x, &w);
            assert!(y.iter().all(|y| *y == 0.0), "form {index}: {y:?}");
            let [_, w_bar] = vjp(form, &x, &w, &vec![1.0; y.len()]);
            is_movable |= w_bar.iter().any(|bar| *bar != 0.0);
        }
        assert!(is_movable, "form {index} has no gradient to begin with");
    }
}

#[test]
fn forms_keep_what_they_promise() {
    let mut random = Random::new(8);
    for form in &forms() {
        for _ in 0..50 {
            let [x, w, _] = drawn(form, &mut random);
            let y = value(form, &x, &w);
            if let Some(bound) = form.bound {
                assert!(y.iter().all(|y| y.abs() <= bound));
            }
            if form.is_dissipative() {
                let v: Vec<f64> = form.velocities.iter().map(|&input| x[input]).collect();
                assert!(dot(&v, &y) <= 0.0);
                assert_eq!(form.lower_bound(form.weights() - 1), 0.0);
            }
            if !form.odd.is_empty() {
                let mut turned = x.clone();
                form.turn_signs(&mut turned);
                let turned = value(form, &turned, &w);
                let is_odd = turned.iter().zip(&y).all(|(t, y)| *t == -y);
                assert!(is_odd, "{turned:?} {y:?}");
            }
        }
    }
}

/// Equal control values are a constant, and those of a line are that line inside of the range.
#[test]
fn tables_reproduce_lines_and_go_on_constant() {
    let form = Form::new(Core::Table(Table::new(vec![Axis {
        low: 0.0,
        high: 3.0,
        count: 6,
    }])));
    // Control values stand at −1, 0, …, 4.
    let w: Vec<f64> = (0..6).map(|k| 2.0 * (f64::from(k) - 1.0) + 0.5).collect();
    for x in [0.0, 0.1, 0.9, 1.0, 1.7, 2.999, 3.0] {
        assert_close(value(&form, &[x], &w)[0], 2.0 * x + 0.5, 1e-14, "inside");
    }
    assert_eq!(value(&form, &[7.0], &w), value(&form, &[3.0], &w));
    assert_eq!(vjp(&form, &[7.0], &w, &[1.0])[0], [0.0]);
    assert!(value(&form, &[f64::NAN], &w)[0].is_nan());
}

#[test]
fn polynomials_have_every_monomial_once() {
    for (inputs, degree, count) in [(1, 4, 4), (2, 2, 5), (3, 3, 19), (4, 2, 14)] {
        assert_eq!(Polynomial::new(inputs, 1, degree, false).weights(), count);
    }
    let form = Form::new(Core::Polynomial(Polynomial::new(2, 1, 2, true)));
    // x, y, x², xy, y², 1.
    let y = value(&form, &[3.0, 5.0], &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
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
            let [x_bar, w_bar] = vjp(&form, &[x], &w, &[1.0]);
            assert!(value(&form, &[x], &w)[0].is_finite());
            assert!(x_bar.iter().chain(&w_bar).all(|bar| bar.is_finite()));
        }
    }
}
