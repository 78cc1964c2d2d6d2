//! Where strikes begin, and strikes that gradients find.

use std::path::PathBuf;

use carom::cotangent::StateBar;
use carom::{Dynamics, State};
use carom_spec::mjcf::{AssetStorage, write_with};

use crate::collision_map::{self, CollisionMap, Laws, Limits, StrikeMapping, store};
use crate::plan::Task;
use crate::plan::decision::{DecisionSettings, SearchMethod, decide};

/// Laws of some map; what strikes do by them is of no matter here.
const LAWS: [f64; 16] = [
    17.5, -0.5, 0.3, 1.0, 4.2, -3.4, -5.0, 1.0, 0.3, 0.05, 0.1, 0.02, 0.0, 0.0, 1.0, 1.0,
];

/// The task of the square, in a folder of its own with a scene that has a map.
struct Scene(PathBuf);

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Scene {
    fn new(name: &str) -> Self {
        let folder = format!("carom-strike-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let loaded = carom::load::file("../../datasets/clash_square.xml".as_ref(), &[]);
        let loaded = loaded.expect("the scene");
        let mapping = "../../datasets/clash_strikes.toml".as_ref();
        let mapping = StrikeMapping::read(mapping).expect("the mapping");
        let map = CollisionMap {
            bodies: collision_map::bodies(&loaded.model, &mapping, None).expect("the bodies"),
            laws: Laws::of(&LAWS),
            limits: Limits::of([2.0, 2.0, 80.0, 3e-3]),
        };
        let spec = store::scene(loaded.spec, &mapping, &map, "hybrid.safetensors");
        let text = write_with(&spec.expect("a scene"), AssetStorage::Inline);
        std::fs::write(folder.join("hybrid.xml"), text).expect("written");
        let bytes = store::write("block_prism", &map);
        std::fs::write(folder.join("hybrid.safetensors"), bytes).expect("written");
        Self(folder)
    }

    fn text() -> String {
        let text = std::fs::read_to_string("../../tasks/strike_square.toml").expect("the task");
        let lines = text.lines().map(|line| {
            if line.starts_with("model = ") {
                "model = \"hybrid.xml\""
            } else {
                line
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn parse(&self, text: &str, variant: Option<&str>) -> Result<Task, carom::Error> {
        Task::parse(text, &self.0.join("task.toml"), None, variant)
    }

    fn task(&self, variant: &str) -> Task {
        let text = format!("{}\n{variant}", Self::text());
        let name = (!variant.is_empty()).then_some("here");
        let task = self.parse(&text, name).expect("a task");
        assert!(task.model.strike.is_some());
        task
    }
}

#[test]
fn slopes_are_those_of_differences() {
    let scene = Scene::new("slopes");
    let task = scene.task("");
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
        assert!(
            (slopes[k] - difference).abs() < 1e-6 * (1.0 + difference.abs()),
            "{k}"
        );
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
    let scene = Scene::new("gradients");
    let q = end(&scene.task(""), [0.006, 0.62, 0.2]).qpos;
    let task = scene.task(&format!(
        "[variants.here]\nbody_pos = {{ target = [{}, {}, {}] }}\nbody_quat = {{ target = [{}, {}, {}, {}] }}\n",
        q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    ));
    let settings = DecisionSettings {
        method: SearchMethod::Gradient,
        evaluations: 40,
    };
    let found =
        decide(&task.model, &task.control, &task.decisions, &settings, 0).expect("a strike");
    assert!(found.cost < 1e-3, "{found:?}");
    assert!(found.evaluations <= 40);
}

#[test]
fn what_is_wrong_with_a_strike_is_said_with_its_place() {
    let scene = Scene::new("wrong");
    let text = Scene::text();
    let cases = [
        (
            text.replace("strike.speed", "strike.sped"),
            "no number of a strike",
        ),
        (
            text.replace("struck = \"prism\"", "struck = \"prisma\""),
            "no body 'prisma'",
        ),
        (
            text.replace("striker = \"block\"", "striker = \"prism\""),
            "slides along x and y",
        ),
        (
            text.replace("[strike]\nstruck = \"prism\"\nstriker = \"block\"\n", ""),
            "what strikes what",
        ),
        (
            text.replace("striker = \"block\"", "striker = \"block\"\nway = -1"),
            "the way is -1",
        ),
    ];
    for (text, expected) in cases {
        let error = scene.parse(&text, None).expect_err(expected);
        let said = error.to_string();
        assert!(said.contains(expected) && said.contains("line"), "{said}");
    }
}
