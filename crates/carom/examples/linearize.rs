//! Times a step and its linearisation: `cargo run --release --example linearize -- MODEL [STEPS [free]]`.
//!
//! With `free`, contacts are switched off. Times are the least of many batches.

use std::time::Instant;

use carom::linearize::{self, Linearization};
use carom::{Data, Input, State, compile, dynamics};

/// Batches, and calls in each.
const BATCHES: usize = 60;
const CALLS: usize = 20;

/// Least time of a call in µs.
fn least(mut call: impl FnMut()) -> f64 {
    (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            start.elapsed().as_secs_f64() * 1e6 / CALLS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

#[allow(
    clippy::print_stdout,
    reason = "the figures are what the example is for"
)]
fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_program, path, rest @ ..] = &*arguments else {
        return Err("give a model file".to_owned());
    };
    let steps = rest.first().and_then(|steps| steps.parse().ok());
    let read = carom_spec::read_file(path.as_ref(), &[]);
    let (model, problems) = compile::compile(&read.spec);
    let mut model = model.ok_or_else(|| format!("{problems:?}"))?;
    model.settings.disable.contact |= rest.iter().any(|word| word == "free");
    let mut state = State::keyframe(&model, 0).unwrap_or_else(|| State::reference(&model));
    let (input, mut data) = (Input::zeros(&model), Data::new(&model));
    for _ in 0..steps.unwrap_or(200) {
        carom::step(&model, &mut state, &input, &mut data);
    }
    let mut next = state.clone();
    let step = least(|| {
        next.copy_from(&state);
        carom::step(&model, &mut next, &input, &mut data);
    });
    dynamics::forward(&model, &state, &input, &mut data);
    let mut out = Linearization::new(&model);
    let time = least(|| linearize::step(&model, &state, &input, &mut data, &mut out));
    let n = model.counts();
    println!(
        "{path}: nv {}, nu {}, {} contacts, {} rows, formulas {}: step {step:.1} µs, A and B {time:.1} µs ({:.2} steps)",
        n.nv,
        n.nu,
        data.collision.contacts.len(),
        data.constraint.rows.len(),
        linearize::covers(&model, &data),
        time / step,
    );
    Ok(())
}
