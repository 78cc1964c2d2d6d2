//! `carom plan`: runs that are killed, interrupted, disturbed and in real time; starts that cannot be meant.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, carom, run, words};

/// What does not depend on the machine.
fn lasting(document: &Value) -> Value {
    let mut document = document.clone();
    for key in ["seconds", "cpu_seconds"] {
        document[key] = Value::Null;
    }
    document
}

const LINE: &str =
    "plan tasks/cartpole_swing_up.toml --mpc --method sampling --seed 2 --threads 1 --json";

#[test]
fn killed_runs_go_on_with_the_same_bits() {
    let folder = Folder::new("plan-kill");
    let checkpoint = folder.path("run.bin");
    let whole = run(&words(LINE));
    let mut line = words(LINE);
    line.extend(["--checkpoint", checkpoint.to_str().unwrap()]);
    let mut child = carom()
        .args(&line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // In the middle of a plan, some plans after the first.
    for _ in 0..60_000 {
        if checkpoint.exists() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    run(&line).fails(2, &["would be overwritten", "--resume"]);
    line.push("--resume");
    let resumed = run(&line);
    assert_eq!(lasting(&resumed.json()), lasting(&whole.json()));

    let mut other = line.clone();
    other[6] = "3";
    run(&other).fails(2, &["another run"]);
    let bytes = fs::read(&checkpoint).unwrap();
    fs::write(&checkpoint, &bytes[..bytes.len() - 5]).unwrap();
    run(&line).fails(2, &["damaged"]);
}

#[cfg(unix)]
#[test]
fn interrupted_plans_keep_what_was_executed() {
    let folder = Folder::new("plan-interrupt");
    let out = folder.path("run.npz");
    let task = folder.path("long.toml");
    let root = crate::support::root();
    let model = root.join("models/cartpole.xml");
    let text = fs::read_to_string(root.join("tasks/cartpole_swing_up.toml")).unwrap();
    let text = text.replace("../models/cartpole.xml", model.to_str().unwrap());
    fs::write(&task, text.replace("duration = 400", "duration = 1000000")).unwrap();
    let mut line = words("plan --mpc --method sampling --json");
    line.extend([task.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let outcome = crate::interrupts::interrupted(&line, Duration::from_secs(1));
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    let document = outcome.json();
    assert_eq!(document["interrupted"], true);
    assert!(document["plans"].as_u64().unwrap() > 0);
    assert!(out.exists());
}

#[test]
fn troubles_and_real_time_are_reported() {
    let line = words(
        "plan tasks/cartpole_swing_up.toml --mpc --disturb push,delay,model --real-time=1000 --seed 1 --threads 1 --json",
    );
    let document = run(&line).json();
    assert_eq!(document["disturbances"].as_array().unwrap().len(), 3);
    assert!(document["pushes"].as_u64().unwrap() > 0);
    let timing = &document["real_time"];
    // A thousand times as fast as the clock, no plan is there in time.
    assert_eq!(timing["missed"], timing["plans"]);
    assert!(timing["factor"].as_f64().unwrap() > 0.0);
    assert_eq!(timing["speed"], 1000.0);
    for speed in ["--real-time=0", "--real-time=fast"] {
        run(&["plan", "tasks/cartpole_swing_up.toml", "--mpc", speed]).fails(2, &["above 0"]);
    }
    let report = run(&words("plan tasks/cartpole_swing_up.toml --growth --json"));
    let document = report.succeeds().json();
    assert_eq!(document["norms"].as_array().unwrap().len(), 152);
}

#[test]
fn starts_that_cannot_be_meant_are_refused_with_a_reason() {
    let folder = Folder::new("plan-start");
    let start = folder.path("start.json");
    for (text, word) in [
        ("{\"qpos\": [0, 3, 1]}", "'qpos' has 3 numbers, the model 2"),
        ("{\"qvel\": [0, \"fast\"]}", "finite number"),
        (
            "{\"body_pos\": {\"pool\": [0, 0, 0]}}",
            "no body 'pool'; it has world, cart, pole",
        ),
        ("qpos: 1", "line 1"),
    ] {
        fs::write(&start, text).unwrap();
        let mut line = words("plan tasks/cartpole_swing_up.toml --mpc --variant a --json --start");
        line.push(start.to_str().unwrap());
        let outcome = run(&line);
        outcome.fails(2, &[word]);
        assert!(outcome.json()["error"].as_str().unwrap().contains(word));
    }
}
