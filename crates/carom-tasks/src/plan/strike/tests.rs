//! Where strikes begin, and strikes that gradients find.

use carom::cotangent::StateBar;
use carom::{Dynamics, State};

use crate::plan::Task;
use crate::plan::decision::{DecisionSettings, SearchMethod, decide};

const TASK: &str = "../../tasks/strike_square.toml";

fn task(variant: &str) -> Task {
    let text = std::fs::read_to_string(TASK).expect("the task");
    let text = format!("{text}\n{variant}");
    let name = (!variant.is_empty()).then_some("here");
    Task::parse(&text, TASK.as_ref(), None, name).expect("a task")
}

#[test]
fn slopes_are_those_of_differences() {
    let task = task("");
    let strike = &task.decisions[0].strike.as_ref().expect("a strike").strike;
    let mut start = task.control.start.clone();
    start.qpos[..7].copy_from_slice(&[0.1, -0.2, 0.02, 0.8, 0.0, 0.0, 0.6]);
    let mut bar = StateBar::zeros(&task.model);
    for (k, (q, v)) in bar.qpos.iter_mut().zip(&mut bar.qvel).enumerate() {
        (*q, *v) = (1.0 + k as f64, 2.0 - 0.3 * k as f64);
    }
    let numbers = [0.007, 0.6, 0.3];
    let slopes = strike.slopes(numbers, &start, &bar);
    for k in 0..3 {
        let at = |sign: f64| {
            let mut moved = numbers;
            moved[k] += sign * 1e-6;
            let mut state = start.clone();
            strike.place(moved, &mut state);
            // The striker has the last three coordinates and dofs.
            (0..3)
                .map(|i| state.qpos[7 + i] * bar.qpos[6 + i] + state.qvel[6 + i] * bar.qvel[6 + i])
                .sum::<f64>()
        };
        let difference = (at(1.0) - at(-1.0)) / 2e-6;
        assert!((slopes[k] - difference).abs() < 1e-6 * (1.0 + difference.abs()), "{k}");
    }
}

/// The state at the end of a strike.
fn end(task: &Task, numbers: [f64; 3]) -> State {
    let strike = &task.decisions[0].strike.as_ref().expect("a strike").strike;
    let mut state = task.control.start.clone();
    strike.place(numbers, &mut state);
    let (mut work, input) = (task.model.work(), task.model.input());
    for _ in 0..task.control.horizon {
        task.model.step(&mut state, &input, &mut work);
    }
    state
}

#[test]
fn gradients_find_a_strike_that_leads_to_its_target() {
    let q = end(&task(""), [0.006, 0.62, 0.2]).qpos;
    let task = task(&format!(
        "[variants.here]\nbody_pos = {{ target = [{}, {}, {}] }}\nbody_quat = {{ target = [{}, {}, {}, {}] }}\n",
        q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    ));
    let settings = DecisionSettings {
        method: SearchMethod::Gradient,
        evaluations: 40,
    };
    let found = decide(&task.model, &task.control, &task.decisions, &settings, 0).expect("a strike");
    assert!(found.cost < 1e-3, "{found:?}");
    assert!(found.evaluations <= 40);
}

#[test]
fn what_is_wrong_with_a_strike_is_said_with_its_place() {
    let text = std::fs::read_to_string(TASK).expect("the task");
    let cases = [
        (text.replace("strike.speed", "strike.sped"), "no number of a strike"),
        (text.replace("struck = \"prism\"", "struck = \"prisma\""), "no body 'prisma'"),
        (text.replace("striker = \"block\"", "striker = \"prism\""), "slides along x and y"),
        (text.replace("[strike]\nstruck = \"prism\"\nstriker = \"block\"\n", ""), "what strikes what"),
        (text.replace("striker = \"block\"", "striker = \"block\"\nway = -1"), "the way is -1"),
    ];
    for (text, expected) in cases {
        let error = Task::parse(&text, TASK.as_ref(), None, None).expect_err(expected);
        let said = error.to_string();
        assert!(said.contains(expected) && said.contains("line"), "{said}");
    }
}
