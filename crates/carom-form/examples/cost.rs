//! What a network of two layers of 32 costs: its value, and its value with the adjoint.
//!
//! ```sh
//! cargo run --release -p carom-form --example cost
//! ```

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::time::Instant;

use carom_form::{Activation, Bars, Core, Form, Mlp, Numbers};

/// Evaluations a round; the fastest of all rounds counts, since others were disturbed.
const CALLS: u32 = 2000;
const ROUNDS: u32 = 200;

fn main() {
    for (name, activation) in [
        ("tanh", Activation::Tanh),
        ("elu", Activation::Elu),
        ("softplus", Activation::Softplus),
        ("silu", Activation::Silu),
    ] {
        let form = Form::new(Core::Mlp(Mlp::new(3, &[32, 32], 1, activation)));
        let weights: Vec<f64> = (0..form.weights())
            .map(|index| (1.7 * index as f64).sin() * 0.3)
            .collect();
        let constants = form.plain_constants();
        let numbers = Numbers {
            weights: &weights,
            constants: &constants,
        };
        let (mut y, mut room) = ([0.0], vec![0.0; form.room()]);
        let value = fastest(|x| {
            form.value(&x, numbers, &mut y, &mut room);
            black_box(y[0]);
        });
        let mut inputs = [0.0; 3];
        let (mut weight_bar, mut constant_bar) =
            (vec![0.0; weights.len()], vec![0.0; constants.len()]);
        let adjoint = fastest(|x| {
            let mut bars = Bars {
                inputs: &mut inputs,
                weights: &mut weight_bar,
                constants: &mut constant_bar,
            };
            form.vjp(&x, numbers, &[1.0], &mut bars, &mut room);
            black_box(&inputs);
        });
        println!(
            "{name}: value {value:.0} ns, value and adjoint {adjoint:.0} ns, {} weights",
            weights.len()
        );
    }
}

/// Nanoseconds of a call in the fastest round.
fn fastest(mut call: impl FnMut([f64; 3])) -> f64 {
    let mut least = f64::INFINITY;
    for round in 0..ROUNDS {
        let begin = Instant::now();
        for index in 0..CALLS {
            let x = f64::from(index % 17) * 0.1 - 0.8;
            call(black_box([x, -0.5 * x, 0.01 * f64::from(round)]));
        }
        least = least.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    least
}
