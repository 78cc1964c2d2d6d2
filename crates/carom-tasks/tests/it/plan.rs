//! Planning and predictive control: gradients of costs, methods on problems with known answers, bad files.

use std::path::Path;

use carom::{Dynamics, Model};
use carom_tasks::plan::decision::{DecisionSettings, SearchMethod, decide};
use carom_tasks::plan::{Horizon, Method, Outcome, Task, control};
use carom_testing::mutation::{Campaign, mutate};
use carom_testing::{Random, root};

use crate::support::Folder;

/// A hand that pushes a puck along a rail to a mark: contact, muscle-like activation, sites and sensors.
pub(crate) const PUSH: &str = r#"<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <site name="mark" pos="0.4 0 0"/>
    <body name="hand" pos="-0.2 0 0">
      <joint name="hand" type="slide" axis="1 0 0" damping="1"/>
      <geom name="hand" type="sphere" size="0.03" mass="0.2"/>
      <site name="hand"/>
    </body>
    <body name="puck" pos="0 0 0">
      <joint name="puck" type="slide" axis="1 0 0" damping="0.8"/>
      <geom name="puck" type="box" size="0.03 0.03 0.03" mass="0.1"/>
    </body>
  </worldbody>
  <option gravity="0 0 0"/>
  <actuator>
    <general name="push" joint="hand" gainprm="3" dyntype="filter" dynprm="0.05" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <framepos name="puck" objtype="geom" objname="puck"/>
    <framepos name="mark" objtype="site" objname="mark"/>
  </sensor>
  <keyframe><key name="start" qpos="0 0"/></keyframe>
</mujoco>"#;

pub(crate) const PUSH_TASK: &str = r#"model = "push.xml"
start = "start"
horizon = 60
execute = 10
duration = 120

[[cost]]
quantity = "sensor.puck - sensor.mark"

[[success]]
quantity = "sensor.puck - sensor.mark"
below = 0.02

[contacts_from_distance]
width = 0.5
near = 0.1
sharpness = 20.0

[sampling]
samples = 16

[hybrid]
samples = 16
iterations = 4

[variants.a]
qpos = [0.01, 0.05]
site_pos = { mark = [0.3, 0, 0] }
"#;

pub(crate) fn push(folder: &Folder, task: &str) -> Result<Task, carom::Error> {
    folder.write("push.xml", PUSH);
    let path = folder.write("task.toml", task);
    Task::read(&path, None, None)
}

pub(crate) fn run(task: &Task, method: Method, threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let mut planner = task.planner::<Model>(method, 3);
        control(&task.model, &task.control, planner.as_mut(), &mut |_| true)
    })
}

/// The largest error of a gradient against central differences, relative to the largest slope.
fn worst_slope(task: &Task, plan: &[f64], every: usize) -> f64 {
    let horizon = Horizon {
        dynamics: &task.model,
        start: &task.control.start,
        cost: &task.control.cost,
        steps: task.control.horizon,
    };
    let mut work = task.model.work();
    let found = horizon.derivatives(plan, &mut work).unwrap();
    assert!((found.value - horizon.value(plan, &mut work)).abs() < 1e-12);
    let largest = found
        .controls
        .iter()
        .fold(0.0_f64, |most, slope| most.max(slope.abs()));
    assert!(largest > 0.0);
    let mut worst = 0.0_f64;
    for index in (0..plan.len()).step_by(every) {
        let mut at = |change: f64| {
            let mut other = plan.to_vec();
            other[index] += change;
            horizon.value(&other, &mut work)
        };
        let step = 1e-5;
        let slope = (at(step) - at(-step)) / (2.0 * step);
        worst = worst.max((slope - found.controls[index]).abs() / largest);
    }
    worst
}

#[test]
fn gradients_of_all_kinds_of_costs_are_those_of_differences() {
    let folder = Folder::new("plan-gradients");
    let head = PUSH_TASK.split("[[cost]]").next().unwrap();
    let mut random = Random::new(5);
    for (quantity, rest) in [
        ("sensor.puck - sensor.mark", "kind = \"norm\""),
        ("site.hand.pos - body.puck.pos", "kind = \"square\""),
        (
            "geom.hand.linvel[0] + 0.5",
            "kind = \"smooth_abs\"\nwidth = 0.1",
        ),
        ("qpos - act", "kind = \"smooth_norm\"\nat = \"terminal\""),
        (
            "joint.puck.qvel - joint.hand.qvel",
            "kind = \"abs\"\nweight = 3.0",
        ),
        ("ctrl.push", "kind = \"square\""),
        (
            "1 - body.hand.zaxis[2] + body.puck.subtree_com[0]",
            "kind = \"linear\"",
        ),
    ] {
        let text = format!("{head}[[cost]]\nquantity = \"{quantity}\"\n{rest}\n");
        let task = push(&folder, &text).unwrap();
        let plan: Vec<f64> = (0..60).map(|_| 0.5 + random.between(-0.3, 0.3)).collect();
        let worst = worst_slope(&task, &plan, 7);
        assert!(worst < 1e-5, "{quantity}: {worst}");
    }
}

#[test]
fn forces_of_contacts_are_quantities() {
    let folder = Folder::new("plan-forces");
    let head = PUSH_TASK.split("[[cost]]").next().unwrap();
    let text = format!(
        "{head}[[cost]]\nquantity = \"contact.hand:puck.force\"\nkind = \"square\"\nweight = 1e-3\n"
    );
    let task = push(&folder, &text).unwrap();
    // Long enough to touch, short enough not to bounce at the last step.
    let worst = worst_slope(&task, &[0.6; 60], 5);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn methods_with_contacts_solve_a_push_that_plain_gradients_do_not_feel() {
    let folder = Folder::new("plan-push");
    let task = push(&folder, PUSH_TASK).unwrap();
    for method in [Method::Hybrid, Method::Gradient] {
        let outcome = run(&task, method, 2);
        assert!(outcome.success, "{method:?}: {:?}", outcome.judged);
        assert_eq!(outcome.plan_costs.len(), 12);
        assert!(outcome.distance() < 0.02);
    }
    // Without contacts from distance the hand does not know of the puck.
    let plain = PUSH_TASK.replace(
        "[contacts_from_distance]\nwidth = 0.5\nnear = 0.1\nsharpness = 20.0\n",
        "",
    );
    let task = push(&folder, &plain).unwrap();
    let outcome = run(&task, Method::Gradient, 1);
    assert!(!outcome.success);
}

#[test]
fn plans_are_the_same_bits_for_any_number_of_threads() {
    let folder = Folder::new("plan-threads");
    let task = push(&folder, PUSH_TASK).unwrap();
    for method in [Method::Hybrid, Method::Sampling] {
        let alone = run(&task, method, 1);
        assert_eq!(alone, run(&task, method, 3), "{method:?}");
    }
}

#[test]
fn all_updates_and_noises_of_samples_lower_the_cost() {
    let folder = Folder::new("plan-updates");
    for (update, noise) in [
        ("predictive", "white"),
        ("mppi", "pink"),
        ("cem", "spline"),
        ("cem", "brown"),
    ] {
        // The hand itself is to move: any noise does that a little.
        let settings = format!("[sampling]\nupdate = \"{update}\"\nnoise = \"{noise}\"");
        let text = (PUSH_TASK.replace("[sampling]", &settings)).replacen(
            "sensor.puck - sensor.mark",
            "site.hand.pos[0] + 0.15",
            1,
        );
        let task = push(&folder, &text).unwrap();
        let horizon = Horizon {
            dynamics: &task.model,
            start: &task.control.start,
            cost: &task.control.cost,
            steps: task.control.horizon,
        };
        let warm = vec![0.0; task.control.horizon];
        let before = horizon.value(&warm, &mut task.model.work());
        let mut planner = task.planner::<Model>(Method::Sampling, 3);
        let after = planner.refine(&horizon, &task.control.ranges, &warm);
        assert!(
            after.cost < before,
            "{update} {noise}: {before} {}",
            after.cost
        );
        let again = horizon.value(&after.plan, &mut task.model.work());
        assert_eq!(after.cost, again);
    }
}

/// A mass on a rail: x⁺ = x + h·v⁺, v⁺ = v + h·u/m.
const MASS: &str = r#"<mujoco>
  <option timestep="0.05" gravity="0 0 0"/>
  <worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody>
  <actuator><motor name="u" joint="x" ctrllimited="true" ctrlrange="-100 100"/></actuator>
  <keyframe><key name="start" qpos="1" qvel="0.5"/></keyframe>
</mujoco>"#;

#[test]
fn ilqr_on_a_double_integrator_is_the_linear_quadratic_regulator() {
    let folder = Folder::new("plan-lqr");
    folder.write("mass.xml", MASS);
    let costs = "[[cost]]\nquantity = \"qpos[0]\"\nkind = \"square\"\n[[cost]]\nquantity = \"qvel[0]\"\nkind = \"square\"\nweight = 0.1\n\
        [[cost]]\nquantity = \"ctrl.u\"\nkind = \"square\"\nweight = 0.01\n";
    let text = format!("model = \"mass.xml\"\nstart = \"start\"\nhorizon = 40\n{costs}");
    let path = folder.write("task.toml", &text);
    let task = Task::read(&path, None, None).unwrap();
    let mut planner = task.planner::<Model>(Method::Ilqr, 0);
    let horizon = Horizon {
        dynamics: &task.model,
        start: &task.control.start,
        cost: &task.control.cost,
        steps: 40,
    };
    let planned = planner.refine(&horizon, &task.control.ranges, &[0.0; 40]);

    // Riccati's equation of the same problem: W = Q + P, K = (R + Bᵀ·W·B)⁻¹·Bᵀ·W·A, P = Aᵀ·W·A − Aᵀ·W·B·K.
    let (h, mass) = (0.05, 2.0);
    let b = [h * h / mass, h / mass];
    let a = [[1.0, h], [0.0, 1.0]];
    let mut p = [[0.0; 2]; 2];
    let mut gains = Vec::new();
    for _ in 0..40 {
        let w = [[p[0][0] + 1.0, p[0][1]], [p[1][0], p[1][1] + 0.1]];
        let wb = [
            w[0][0] * b[0] + w[0][1] * b[1],
            w[1][0] * b[0] + w[1][1] * b[1],
        ];
        let s = 0.01 + b[0] * wb[0] + b[1] * wb[1];
        let k: [f64; 2] = std::array::from_fn(|j| (wb[0] * a[0][j] + wb[1] * a[1][j]) / s);
        let wa: [[f64; 2]; 2] =
            std::array::from_fn(|i| std::array::from_fn(|j| w[i][0] * a[0][j] + w[i][1] * a[1][j]));
        p = std::array::from_fn(|i| {
            std::array::from_fn(|j| a[0][i] * wa[0][j] + a[1][i] * wa[1][j] - k[i] * s * k[j])
        });
        gains.push(k);
    }
    let mut x = [1.0, 0.5];
    for (step, gain) in gains.iter().rev().enumerate() {
        let u = -(gain[0] * x[0] + gain[1] * x[1]);
        let found = planned.plan[step];
        assert!(
            (u - found).abs() < 1e-5 * (1.0 + u.abs()),
            "step {step}: {u} {found}"
        );
        x[1] += h * u / mass;
        x[0] += h * x[1];
    }
}

#[test]
fn ilqr_within_ranges_is_no_worse_than_descent_to_the_end() {
    let folder = Folder::new("plan-box");
    folder.write("mass.xml", &MASS.replace("-100 100", "-1 1"));
    let text = "model = \"mass.xml\"\nstart = \"start\"\nhorizon = 30\n[[cost]]\nquantity = \"qpos[0]\"\nkind = \"square\"\n\
        [ilqr]\niterations = 30\n[gradient]\niterations = 2000\nrate = 0.01\n";
    let path = folder.write("task.toml", text);
    let task = Task::read(&path, None, None).unwrap();
    let horizon = Horizon {
        dynamics: &task.model,
        start: &task.control.start,
        cost: &task.control.cost,
        steps: 30,
    };
    let plan = [0.0; 30];
    let [second, first] = [Method::Ilqr, Method::Gradient].map(|method| {
        let mut planner = task.planner::<Model>(method, 0);
        planner.refine(&horizon, &task.control.ranges, &plan)
    });
    assert!(second.plan.iter().all(|u| (-1.0..=1.0).contains(u)));
    assert!(
        second.cost <= first.cost + 1e-6,
        "{} {}",
        second.cost,
        first.cost
    );
    assert!(second.evaluations < 200);
}

#[test]
fn a_cart_swings_its_pole_up() {
    for variant in [None, Some("b")] {
        let task = Task::read(&root().join("tasks/cartpole_swing_up.toml"), None, variant).unwrap();
        let outcome = run(&task, Method::Ilqr, 1);
        assert!(outcome.success, "{variant:?}: {:?}", outcome.judged);
    }
}

#[test]
fn a_billiard_shot_is_decided_by_gradients_and_samples() {
    let task = Task::read(&root().join("tasks/billiard_shot.toml"), None, None).unwrap();
    let settings = DecisionSettings {
        method: SearchMethod::Both,
        evaluations: 300,
    };
    let found = decide(&task.model, &task.control, &task.decisions, &settings, 0).unwrap();
    assert_eq!(found.decision.len(), 2);
    assert!(found.cost < 0.05, "{}", found.cost);
    assert!(found.evaluations <= 400 && found.gradients > 0);
}

#[test]
fn a_plan_that_cannot_be_followed_falls_back_and_says_so() {
    let folder = Folder::new("plan-fallback");
    let mut task = push(&folder, PUSH_TASK).unwrap();
    task.control.start.qvel[0] = f64::NAN;
    let outcome = run(&task, Method::Hybrid, 1);
    assert!(!outcome.success);
    assert_eq!(outcome.fallbacks[0].plan, 0);
    assert!(outcome.stopped.is_some());
}

#[test]
fn mistakes_are_answered_with_line_and_remedy() {
    let folder = Folder::new("plan-mistakes");
    for (from, to, line, word) in [
        (
            "sensor.puck - sensor.mark\"\n\n[[succ",
            "sensor.pukc - sensor.mark\"\n\n[[succ",
            8,
            "did you mean 'puck'",
        ),
        (
            "start = \"start\"",
            "start = \"stat\"",
            2,
            "did you mean 'start'",
        ),
        ("horizon = 60", "horizon = 0", 3, "from 1"),
        ("horizon = 60", "horizon = nan", 3, "invalid type"),
        ("execute = 10", "execute = 100", 4, "at most the horizon"),
        ("below = 0.02", "below = nan", 12, "finite"),
        ("below = 0.02", "", 11, "below or above"),
        ("samples = 16\n\n", "samples = 0\n\n", 20, "from 2"),
        ("width = 0.5", "width = -1.0", 14, "width"),
        (
            "model = \"push.xml\"",
            "model = \"nothing.xml\"",
            1,
            "CAROM_SHARED",
        ),
        (
            "[sampling]",
            "[[control]]\nname = \"pusch\"\n[sampling]",
            20,
            "did you mean 'push'",
        ),
        (
            "[sampling]",
            "[[control]]\nname = \"push\"\nrange = [1, -1]\n[sampling]",
            21,
            "lower one first",
        ),
        (
            "[sampling]",
            "[[decision]]\nquantity = \"sensor.puck\"\nrange = [0, 1]\n[sampling]",
            20,
            "joint.cue_x.qvel",
        ),
        ("duration = 120", "durations = 120", 5, "unknown field"),
        ("width = 0.5", "width = [0.5]", 15, "two of them"),
        ("width = 0.5", "width = [0.5, -1]", 14, "width"),
        (
            "[sampling]",
            "[disturbance]\nevery = 0.0\n[sampling]",
            20,
            "above 0",
        ),
        (
            "[sampling]",
            "[gradient]\ntruncate = 0.5\n[sampling]",
            20,
            "above 1",
        ),
    ] {
        assert!(PUSH_TASK.contains(from), "{from}");
        let error = push(&folder, &PUSH_TASK.replacen(from, to, 1)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(word), "{to}: {text}");
        assert!(text.contains(&format!("line {line},")), "{to}: {text}");
    }
    folder.write("push.xml", PUSH);
    let task = folder.write("task.toml", PUSH_TASK);
    for (start, word) in [
        ("{\"qpos\": [1]}", "'qpos' has 1 numbers, the model 2"),
        ("{\"qpos\": [1, null]}", "finite"),
        (
            "{\"site_pos\": {\"marc\": [0, 0, 0]}}",
            "did you mean 'mark'",
        ),
        ("{\"site_pos\": {\"mark\": [0, 0]}}", "3 numbers"),
        ("{\"body_quat\": {\"puck\": [0, 0, 0, 0]}}", "zero"),
        ("{\"site_pos\": [[0, 0, 0]]}", "entries"),
        ("{\"speed\": 3}", "there is no 'speed'"),
        ("{\"keyframe\": \"stort\"}", "did you mean 'start'"),
        ("{\"keyframe\": []}", "a name or a number"),
        ("[1, 2]", "no object"),
        ("{\"qpos\": ", "line 1"),
    ] {
        let path = folder.write("start.json", start);
        let text = Task::read(&task, Some(&path), None)
            .unwrap_err()
            .to_string();
        assert!(text.contains(word), "{start}: {text}");
    }
    let text = Task::read(&task, None, Some("z")).unwrap_err().to_string();
    assert!(text.contains("it has a"), "{text}");
}

#[test]
fn starts_and_variants_move_states_and_targets() {
    let folder = Folder::new("plan-starts");
    folder.write("push.xml", PUSH);
    let path = folder.write("task.toml", PUSH_TASK);
    let task = Task::read(&path, None, Some("a")).unwrap();
    assert_eq!(task.control.start.qpos, [0.01, 0.05]);
    assert_eq!(task.model.sites.position[0].0, [0.3, 0.0, 0.0]);
    // What a start file says goes before the variant of the task; it may hold variants of its own.
    let start = folder.write(
        "start.json",
        "{\"qvel\": [1, 0], \"a\": {\"qpos\": [0, 0.1]}, \"b\": {\"ctrl\": [0.5]}}",
    );
    let task = Task::read(&path, Some(&start), Some("a")).unwrap();
    assert_eq!(task.control.start.qpos, [0.0, 0.1]);
    assert_eq!(task.control.start.qvel, [1.0, 0.0]);
    assert_eq!(task.model.sites.position[0].0, [0.3, 0.0, 0.0]);
    let task = Task::read(&path, Some(&start), Some("b")).unwrap();
    assert_eq!(task.control.first_control, [0.5]);
    let all = folder.write("all.json", "{\"site_pos\": [0.2, 0, 0, 0, 0, 0]}");
    let task = Task::read(&path, Some(&all), None).unwrap();
    assert_eq!(task.model.sites.position[0].0, [0.2, 0.0, 0.0]);
}

#[test]
fn damaged_tasks_and_starts_end_with_an_error_or_a_task() {
    let folder = Folder::new("plan-mutations");
    folder.write("push.xml", PUSH);
    let start = "{\"qpos\": [0, 0.1], \"qvel\": [0, 0], \"act\": [0.1], \"ctrl\": [0], \"site_pos\": {\"mark\": [0.3, 0, 0]}, \
        \"body_quat\": {\"puck\": [1, 0, 0, 0]}}";
    let task = folder.path("task.toml");
    let campaign = Campaign {
        count: 10_000,
        seconds: 3,
    };
    campaign.run(|random| {
        let mut texts = [PUSH_TASK.as_bytes().to_vec(), start.as_bytes().to_vec()];
        let which = random.below(2);
        mutate(&mut texts[which], random);
        let start = folder.write_bytes("start.json", &texts[1]);
        let task_path = folder.write_bytes("task.toml", &texts[0]);
        assert_eq!(task_path, task);
        match Task::read(Path::new(&task), Some(&start), Some("a")) {
            Ok(task) => {
                let numbers = task
                    .control
                    .start
                    .qpos
                    .iter()
                    .chain(&task.control.ranges.lower);
                let is_fine = numbers.copied().all(f64::is_finite);
                is_fine
                    .then_some(())
                    .ok_or("a number is not finite".to_owned())
            }
            Err(error) if error.to_string().is_empty() => Err("no reason".to_owned()),
            Err(_) => Ok(()),
        }
    });
}

#[test]
fn tasks_of_the_repository_are_read() {
    let has_scenes = carom_testing::shared("models_tasks/README.md").is_some();
    for entry in std::fs::read_dir(root().join("tasks")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if path.extension().is_none_or(|end| end != "toml")
            || (text.contains("CAROM_SHARED") && !has_scenes)
        {
            continue;
        }
        let task = Task::read(&path, None, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(!task.control.cost.terms().is_empty());
    }
}
