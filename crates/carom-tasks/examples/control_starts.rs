//! Experiment: how often do plans succeed from other starts, with other targets, and when things go wrong?
//!
//! `cargo run --release -p carom-tasks --example control_starts -- --task push_cube_finger` draws twenty starts by seed around the one
//! of the scene and controls each to its end, with one thread. `--method`, `--first` and `--count` choose others, `--disturb
//! push,delay,model` lets things go wrong, and `--write FOLDER` only writes the starts, for `carom plan --start`. It needs the scenes
//! `models_tasks`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;
use std::path::{Path, PathBuf};

use carom::{Model, State};
use carom_optimise::random::Random;
use carom_tasks::plan::{Disturbance, Episode, Method, Task};
use cpu_time::ProcessTime;
use serde_json::{Value, json};

/// What is asked for.
struct Question {
    task: String,
    method: Option<Method>,
    first: u64,
    count: u64,
    disturb: String,
    write: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let question = question()?;
    let path = carom_testing::root().join(format!("tasks/{}.toml", question.task));
    let folder = match &question.write {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("carom-starts-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder)?;
    let standard = Task::read(&path, None, None)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (mut achieved, mut seconds) = (0, 0.0);
    for seed in question.first..question.first + question.count {
        let start = folder.join(format!("{}-{seed}.json", question.task));
        let drawn = draw(&question.task, &standard.control.start, seed)?;
        std::fs::write(&start, drawn.to_string())?;
        if question.write.is_some() {
            continue;
        }
        let clock = ProcessTime::now();
        let answer = || one(&question, &path, &start, seed).map_err(|error| error.to_string());
        let line = pool.install(answer)?;
        let used = clock.elapsed().as_secs_f64();
        achieved += u64::from(line.0);
        seconds += used;
        println!("seed {seed:3}: {} ({used:.1} CPU s)", line.1);
    }
    if question.write.is_none() {
        std::fs::remove_dir_all(&folder)?;
        println!(
            "{}: {achieved} of {} achieved, {:.1} CPU s each",
            question.task,
            question.count,
            seconds / question.count.max(1) as f64
        );
    }
    Ok(())
}

fn question() -> Result<Question, Box<dyn Error>> {
    let mut question = Question {
        task: "push_cube_finger".to_owned(),
        method: None,
        first: 0,
        count: 20,
        disturb: String::new(),
        write: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--task" => question.task = value,
            "--method" => {
                question.method = Some(serde_json::from_value(json!(value))?);
            }
            "--first" => question.first = value.parse()?,
            "--count" => question.count = value.parse()?,
            "--disturb" => question.disturb = value,
            "--write" => question.write = Some(value.into()),
            _ => return Err(format!("there is no {flag}").into()),
        }
    }
    Ok(question)
}

/// Whether a run achieved its task, and how it ended.
fn one(
    question: &Question,
    path: &Path,
    start: &Path,
    seed: u64,
) -> Result<(bool, String), carom::Error> {
    let task = Task::read(path, Some(start), None)?;
    let has = |trouble: &str| question.disturb.split(',').any(|one| one == trouble);
    let mut disturbance = Disturbance {
        is_delayed: has("delay"),
        ..Disturbance::default()
    };
    if has("push") {
        disturbance.pushes = task
            .disturbance
            .pushes(&task.model, task.control.steps, seed)?;
    }
    let plant = if has("model") {
        task.disturbance.off(&task.model, seed)?
    } else {
        task.model.clone()
    };
    let mut planner = task.planner::<Model>(question.method.unwrap_or(task.method), seed);
    let mut episode = Episode::new(&plant, &task.control, &disturbance);
    let of = episode.of();
    while !episode.is_over() {
        let index = episode.done() / task.control.execute;
        episode.plan(task.model_at(index, of), planner.as_mut());
        episode.execute(planner.as_mut());
    }
    let outcome = episode.outcome(false);
    let numbers = outcome.judged.iter();
    let numbers: Vec<String> = numbers
        .map(|judged| format!("{} {:.4}", judged.name, judged.value))
        .collect();
    let verdict = if outcome.success {
        "achieved"
    } else {
        "missed"
    };
    let why = outcome.stopped.unwrap_or_default();
    let text = format!("{verdict} {}{why}", numbers.join(", "));
    Ok((outcome.success, text))
}

/// A start around the one of a scene, as JSON: by how much is what a bench of such tasks would move by hand.
fn draw(task: &str, standard: &State, seed: u64) -> Result<Value, Box<dyn Error>> {
    let mut random = Random::new(seed, 0);
    let mut about = |size: f64| size * (2.0 * random.uniform() - 1.0);
    let (mut q, mut v) = (standard.qpos.clone(), standard.qvel.clone());
    let turned = |angle: f64| json!([(0.5 * angle).cos(), 0.0, 0.0, (0.5 * angle).sin()]);
    let mut start = json!({});
    match task {
        "push_cube_finger" => {
            // Both joints, the cube's place and heading, and the target.
            for (number, size) in q.iter_mut().zip([0.2, 0.2, 0.03, 0.03]) {
                *number += about(size);
            }
            let heading = 0.5 * about(0.3);
            (q[5], q[8]) = (heading.cos(), heading.sin());
            start["site_pos"] = json!({"target": [0.25 + about(0.04), about(0.08), 0.04]});
        }
        "flick_ball_paddle" => {
            for (number, size) in q.iter_mut().zip([0.06, 0.15, 0.03, 0.04]) {
                *number += about(size);
            }
            start["site_pos"] = json!({"target": [1.3, 0.25 + about(0.05), 0.04]});
        }
        "planar_push_two_fingers" => {
            for (number, size) in q.iter_mut().zip([0.02, 0.02, 0.2, 0.02, 0.02, 0.02, 0.02]) {
                *number += about(size);
            }
            let side = |number: f64| {
                if number < 0.0 {
                    number - 0.06
                } else {
                    number + 0.06
                }
            };
            let (x, y, heading) = (side(about(0.08)), about(0.1), about(0.9));
            start["body_pos"] = json!({"target": [x, y, 0.02]});
            start["body_quat"] = json!({"target": turned(heading)});
        }
        "hopper_balance" => {
            for (number, size) in q.iter_mut().zip([0.05, 0.03, 0.1, 0.1, 0.1, 0.1]) {
                *number += about(size);
            }
            for (number, size) in v.iter_mut().zip([0.1, 0.2, 0.3]) {
                *number += about(size);
            }
        }
        "myo_ball_swap" => {
            // Bent fingers, and both balls together and a little apart.
            for number in q.iter_mut().take(23).filter(|number| **number > 0.2) {
                *number += about(0.04);
            }
            for (axis, both) in [about(0.002), about(0.002)].into_iter().enumerate() {
                q[23 + axis] += both + about(0.001);
                q[30 + axis] += both + about(0.001);
            }
        }
        "bionic_tennis" => {
            // Where the ball comes from, and how fast: its seven and six numbers are the last ones.
            let (place, speed) = (q.len() - 7, v.len() - 6);
            for axis in 0..3 {
                q[place + axis] += about(0.02);
                v[speed + axis] += about(0.05);
            }
        }
        _ => return Err(format!("no starts are drawn for '{task}'").into()),
    }
    start["qpos"] = json!(q);
    start["qvel"] = json!(v);
    Ok(start)
}
