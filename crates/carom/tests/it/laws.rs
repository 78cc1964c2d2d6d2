//! Model files that choose a contact law.

use std::path::Path;

use carom::stages::solve::SolveStatus;
use carom::{Data, Input, State};

use crate::models;

/// Simulates a file until its bodies rest; the greatest speed then, and the state.
fn rest(file: &str, seconds: f64) -> (f64, State) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let model = models::load(&folder.join(file));
    let (mut state, input) = (State::reference(&model), Input::zeros(&model));
    let mut data = Data::new(&model);
    while state.time < seconds {
        carom::step(&model, &mut state, &input, &mut data);
        assert_eq!(data.solve.report.status, SolveStatus::Converged);
    }
    let speed = state.qvel.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    (speed, state)
}

#[test]
fn a_rigid_stack_stands() {
    let (speed, state) = rest("rigid_stack.xml", 1.5);
    // The ball may still roll, the boxes may not move.
    let boxes = state.qvel[..12]
        .iter()
        .fold(0.0_f64, |most, v| most.max(v.abs()));
    assert!(boxes < 1e-2 && speed.is_finite(), "{:?}", state.qvel);
    assert!((state.qpos[2] - 0.1).abs() < 1e-3 && (state.qpos[9] - 0.3).abs() < 1e-3);
}

#[test]
fn a_slab_on_given_points_settles() {
    let (speed, state) = rest("slab_on_grid.xml", 1.5);
    assert!(speed < 1e-2, "{:?}", state.qvel);
    // 0.8 kg on 11 by 7 points of 2e4·δ^1.5 N.
    let depth = (0.8 * 9.81 / (77.0 * 2e4_f64)).powf(2.0 / 3.0);
    assert!(
        (0.02 - state.qpos[2] - depth).abs() < 0.02 * depth,
        "{}",
        state.qpos[2]
    );
}
