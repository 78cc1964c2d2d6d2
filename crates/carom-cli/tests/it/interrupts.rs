//! Ctrl-C keeps what was done; a second one ends at once.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Folder, Outcome, carom, run, wait, words};

/// Sends what Ctrl-C sends.
pub(crate) fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
}

/// Waits until the work has begun: from then on, interrupts are noted. The system tells which signals a process handles.
fn wait_for_work(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..600 {
        let Ok(text) = std::fs::read_to_string(&status) else {
            // Another system, or it has ended.
            std::thread::sleep(Duration::from_secs(3));
            return;
        };
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap_or("0").trim(), 16).unwrap();
        if caught & 0b10 != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Processor time that a process has used so far, where the system tells.
fn work_of(child: &Child) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // After the name in parentheses: state, then eleven numbers, then time of the program and of the system (1/100 s).
    let numbers: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 =
        numbers.get(11)?.parse::<u64>().ok()? + numbers.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Waits until a process has worked for so long, however busy the machine is.
fn wait_for_work_of(child: &Child, work: Duration) {
    let begin = work_of(child);
    let Some(begin) = begin else {
        std::thread::sleep(work);
        return;
    };
    for _ in 0..6000 {
        match work_of(child) {
            Some(now) if now < begin + work => std::thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
}

/// Starts a line and interrupts it after so much work, in processor time.
pub(crate) fn interrupted(line: &[&str], after: Duration) -> Outcome {
    let mut command = carom();
    command
        .args(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_work(&child);
    wait_for_work_of(&child, after);
    interrupt(&child);
    wait(child, line.join(" "))
}

#[test]
fn simulations_keep_what_was_recorded() {
    let folder = Folder::new("interrupt");
    for name in ["run.npz", "run.csv"] {
        let out = folder.path(name);
        let mut line = words("sim models/humanoid.xml --seconds 100000 --every 50 --json --out");
        line.push(out.to_str().unwrap());
        let outcome = interrupted(&line, Duration::from_secs(1));
        assert_eq!(outcome.code, Some(130), "{outcome:#?}");
        let document = outcome.json();
        assert_eq!(document["interrupted"], true);
        let steps = document["steps"].as_u64().unwrap();
        assert!(steps > 0, "{document}");
        assert_eq!(document["recorded"], steps.div_ceil(50) + 1, "{document}");
        // What was recorded can be used.
        let mut line = words("sim models/humanoid.xml --seconds 0.01 --controls");
        line.push(out.to_str().unwrap());
        run(&line).succeeds();
    }
    assert_eq!(folder.names(), ["run.csv", "run.npz"]);
}

#[test]
fn people_are_told() {
    let folder = Folder::new("told");
    let out = folder.path("run.npz");
    let mut line = words("sim models/cartpole.xml --seconds 100000 --every 1000 --out");
    line.push(out.to_str().unwrap());
    let outcome = interrupted(&line, Duration::from_secs(1));
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    assert!(outcome.stderr.contains("Ctrl-C again"), "{outcome:#?}");
    assert!(outcome.stdout.contains("interrupted after"), "{outcome:#?}");
    assert!(outcome.stdout.contains("recorded"), "{outcome:#?}");
}

#[test]
fn measurements_report_the_batches_that_were_done() {
    let line = words("bench models/humanoid.xml --steps 1000 --batches 100000 --json");
    let outcome = interrupted(&line, Duration::from_secs(1));
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    let document = outcome.json();
    assert_eq!(document["interrupted"], true);
    assert!(document["batches"].as_u64().unwrap() > 0);
}

#[test]
fn comparisons_sum_up_what_was_compared() {
    let line = words("parity tests/reference --threads 1 --json");
    let outcome = interrupted(&line, Duration::from_millis(100));
    // On a fast machine all may be done by then.
    if outcome.code != Some(0) {
        assert_eq!(outcome.code, Some(130), "{outcome:#?}");
        let document = outcome.json();
        assert_eq!(document["interrupted"], true);
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    // One batch takes far longer than the test.
    let mut command = carom();
    command.args(words(
        "bench models/humanoid.xml --steps 400000 --batches 2",
    ));
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_work(&child);
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(500));
    let begin = std::time::Instant::now();
    interrupt(&child);
    let outcome = wait(child, "bench".to_owned());
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(outcome.stdout, "");
}
