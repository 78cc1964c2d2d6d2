//! Files are complete under their name, or not there at all; what cannot be written is refused before the work.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

use carom_testing::Random;

use crate::support::{Folder, Outcome, run, words};
#[cfg(unix)]
use crate::support::{carom, finish, tool, wait};

/// Simulates for a second of the model and records that.
fn record(out: &Path) -> Outcome {
    let mut arguments = words("sim models/cartpole.xml --seconds 1 --out");
    arguments.push(out.to_str().unwrap());
    run(&arguments)
}

#[test]
fn targets_that_cannot_be_written_are_refused_before_the_work() {
    let folder = Folder::new("targets");
    folder.with("file", "");
    fs::create_dir(folder.path("folder.npz")).unwrap();
    for (name, word) in [
        ("nowhere/run.npz", "there is no folder"),
        ("folder.npz", "it is a folder"),
        ("file/run.csv", "ot a "),
    ] {
        // An hour of simulation would exceed the time limit of the test.
        let mut arguments = words("sim models/humanoid.xml --seconds 100000 --every 100000 --out");
        let out = folder.path(name);
        arguments.push(out.to_str().unwrap());
        run(&arguments).fails(2, &["cannot write", word, name]);
    }
    let protected = folder.with("protected.npz", "mine");
    let mut permissions = fs::metadata(&protected).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&protected, permissions).unwrap();
    record(&protected).fails(2, &["write-protected"]);
    assert_eq!(fs::read(&protected).unwrap(), b"mine");
    assert_eq!(folder.names(), ["file", "folder.npz", "protected.npz"]);
}

#[cfg(unix)]
#[test]
fn devices_pipes_and_folders_without_permission_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("devices");
    symlink("/dev/null", folder.path("null.npz")).unwrap();
    record(&folder.path("null.npz")).fails(2, &["device or a pipe"]);
    symlink("loop.npz", folder.path("loop.npz")).unwrap();
    record(&folder.path("loop.npz")).fails(2, &["loop.npz"]);
    if tool(Command::new("mkfifo").arg(folder.path("pipe.npz"))) {
        record(&folder.path("pipe.npz")).fails(2, &["device or a pipe"]);
    }
    let closed = folder.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        eprintln!("skipped: folders without permission, this user writes to them all the same");
    } else {
        record(&closed.join("run.npz")).fails(2, &["takes no new file"]);
    }
}

/// A swinging arm, a recording of it and a mapping.
fn recorded(folder: &Folder) {
    let model = r#"<mujoco><option timestep="0.005"/><worldbody><include file="arm.xml"/></worldbody></mujoco>"#;
    let arm = r#"<mujoco><body><joint name="hinge" axis="0 1 0" damping="0.05"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="1"/></body></mujoco>"#;
    let mapping = "[time]\ncolumn = 'time'\n[[joint]]\nname = 'hinge'\nposition = 'qpos'\nvelocity = 'qvel'\n\
        noise = 0.001\nvelocity_noise = 0.01\n";
    folder.with("swing.xml", model);
    folder.with("arm.xml", arm);
    folder.with("map.toml", mapping);
    let path = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    let line = [
        "sim",
        &path("swing.xml"),
        "--seconds",
        "1",
        "--out",
        &path("run.npz"),
    ];
    run(&line).succeeds();
}

/// The arguments of an identification of that arm, with more behind.
fn identification(folder: &Folder, more: &[&str]) -> Vec<String> {
    let path = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    let mut line = vec!["identify".to_owned(), path("swing.xml"), path("run.npz")];
    line.extend([
        "--mapping".to_owned(),
        path("map.toml"),
        "--free".to_owned(),
    ]);
    line.push("joint.hinge.damping[0]".to_owned());
    for word in more {
        line.push(if word.starts_with("--") {
            (*word).to_owned()
        } else {
            path(word)
        });
    }
    line
}

#[test]
fn outputs_that_are_inputs_are_refused_before_the_work() {
    let folder = Folder::new("inputs");
    recorded(&folder);
    folder.with("controls.csv", "");
    let content = || -> Vec<Vec<u8>> {
        let names = folder.names();
        names
            .iter()
            .map(|name| fs::read(folder.path(name)).unwrap())
            .collect()
    };
    let before = content();
    let path = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    // The model itself, a file that it includes, the recording, the mapping, and two outputs that are one.
    for (more, lost) in [
        (["--out", "swing.xml"].as_slice(), "swing.xml"),
        (&["--out", "arm.xml"], "arm.xml"),
        (&["--report", "run.npz"], "run.npz"),
        (&["--report", "./run.npz"], "run.npz"),
        (&["--checkpoint", "map.toml"], "map.toml"),
        (&["--validate", "run.npz", "--out", "run.npz"], "run.npz"),
        (&["--out", "new.xml", "--report", "new.xml"], "new.xml"),
    ] {
        run(&identification(&folder, more)).fails(2, &["cannot write", lost, "another file"]);
    }
    for line in [
        ["view", &path("run.npz"), "--export", &path("run.npz")],
        ["view", &path("swing.xml"), "--export", &path("arm.xml")],
    ] {
        run(&line).fails(2, &["cannot write", "would be lost"]);
    }
    let controls = path("controls.csv");
    run(&[
        "sim",
        "models/cartpole.xml",
        "--controls",
        &controls,
        "--out",
        &controls,
    ])
    .fails(2, &["cannot write", "controls.csv", "would be lost"]);
    assert_eq!(content(), before);
}

#[cfg(unix)]
#[test]
fn links_to_inputs_are_inputs() {
    let folder = Folder::new("links_to_inputs");
    recorded(&folder);
    std::os::unix::fs::symlink("run.npz", folder.path("soft.npz")).unwrap();
    fs::hard_link(folder.path("run.npz"), folder.path("hard.npz")).unwrap();
    let before = fs::read(folder.path("run.npz")).unwrap();
    for name in ["soft.npz", "hard.npz"] {
        let line = identification(&folder, &["--report", name]);
        run(&line).fails(2, &["cannot write", name, "run.npz' and would be lost"]);
    }
    assert_eq!(fs::read(folder.path("run.npz")).unwrap(), before);
}

/// The search was the work: its answer is printed also where a file cannot be written.
#[cfg(unix)]
#[test]
fn an_answer_whose_report_cannot_be_written_is_printed() {
    let folder = Folder::new("report");
    recorded(&folder);
    for json in [true, false] {
        let mut line = identification(&folder, &["--out", "out.xml", "--report", "page.html"]);
        line.extend(json.then(|| "--json".to_owned()));
        // The page is larger than this, the model is not.
        let script = "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\"";
        let mut limited = Command::new("sh");
        limited
            .args(["-c", script, env!("CARGO_BIN_EXE_carom")])
            .args(line);
        let outcome = finish(limited.current_dir(crate::support::root()));
        outcome.fails(2, &["cannot write", "page.html"]);
        assert!(
            outcome.stdout.contains("joint.hinge.damping"),
            "{}",
            outcome.stdout
        );
        if json {
            let unwritten = outcome.json()["unwritten"].as_str().unwrap().to_owned();
            assert!(unwritten.contains("page.html"), "{unwritten}");
        }
        assert!(folder.path("out.xml").exists() && !folder.path("page.html").exists());
    }
}

#[test]
fn results_replace_what_was_there() {
    let folder = Folder::new("replace");
    for name in ["run.npz", "run.csv"] {
        let path = folder.with(name, "old");
        record(&path).succeeds();
        assert!(fs::metadata(&path).unwrap().len() > 1000);
    }
    assert_eq!(folder.names(), ["run.csv", "run.npz"]);
}

/// A limit on the size of files stands for a full disk: the last bytes cannot be written.
#[cfg(unix)]
#[test]
fn files_that_do_not_fit_leave_nothing() {
    let folder = Folder::new("limit");
    for name in ["run.npz", "run.csv"] {
        let old = folder.with(name, "old");
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut limited = Command::new("sh");
        let line = words("sim models/humanoid.xml --seconds 1 --out");
        limited
            .args(["-c", script, env!("CARGO_BIN_EXE_carom")])
            .args(line)
            .arg(&old);
        let outcome = finish(limited.current_dir(crate::support::root()));
        outcome.fails(2, &["cannot write", name, "too large"]);
        assert_eq!(fs::read(&old).unwrap(), b"old");
    }
    assert_eq!(folder.names(), ["run.csv", "run.npz"]);
}

/// A file system of its own that is removed at the end.
#[cfg(target_os = "linux")]
struct Mount(Folder);

#[cfg(target_os = "linux")]
impl Mount {
    fn new() -> Option<Self> {
        let folder = Folder::new("tmpfs");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(&folder.0);
        tool(&mut mount).then_some(Self(folder))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mount {
    fn drop(&mut self) {
        tool(Command::new("umount").arg(&self.0.0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing() {
    let Some(Mount(folder)) = &Mount::new() else {
        carom_testing::skip("this user may not mount a file system");
        return;
    };
    for name in ["run.npz", "run.csv"] {
        let path = folder.path(name);
        let mut arguments = words("sim models/humanoid.xml --seconds 1 --json --out");
        arguments.push(path.to_str().unwrap());
        let outcome = run(&arguments);
        outcome.fails(2, &["cannot write", name, "No space left"]);
        assert!(outcome.json()["error"].as_str().unwrap().contains(name));
        assert_eq!(folder.names(), [] as [&str; 0]);
    }
    // What fits is written.
    let small = folder.path("small.npz");
    let mut arguments = words("sim models/pendulum.xml --seconds 0.01 --out");
    arguments.push(small.to_str().unwrap());
    run(&arguments).succeeds();
    assert_eq!(folder.names(), ["small.npz"]);
}

/// Bytes of a temporary file that is being written.
#[cfg(unix)]
fn half_written(folder: &Folder) -> u64 {
    let names = folder.names().into_iter();
    let partial = names.filter(|name| name.ends_with(".partial"));
    let sizes = partial.map(|name| fs::metadata(folder.path(&name)).map_or(0, |found| found.len()));
    sizes.sum()
}

/// Killed at any time, the final name is absent or complete.
#[cfg(unix)]
#[test]
fn killed_runs_leave_no_half_file() {
    let folder = Folder::new("killed");
    let out = folder.path("run.npz");
    let line = words("sim models/cartpole.xml --seconds 200 --out");
    let start = || {
        let mut command = carom();
        command.args(&line).arg(&out);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    wait(start(), "the whole run".to_owned()).succeeds();
    let whole = fs::read(&out).unwrap();
    let mut random = Random::new(1);
    let (mut during, mut absent, mut complete) = (0, 0, 0);
    for run in 0..60 {
        for name in folder.names() {
            fs::remove_file(folder.path(&name)).unwrap();
        }
        let mut child = start();
        // Every third at any time, the others once the file is begun, which is at the end.
        while run % 3 > 0 && half_written(&folder) == 0 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(Duration::from_micros(random.below(100_000) as u64));
        // It may have ended by itself.
        let _ = child.kill();
        wait(child, "killed".to_owned());
        during += usize::from(half_written(&folder) > 0);
        match fs::read(&out) {
            Err(_) => absent += 1,
            Ok(bytes) => {
                assert!(bytes == whole, "half a file in run {run}");
                complete += 1;
            }
        }
    }
    eprintln!(
        "60 runs killed: {during} while writing, {absent} without, {complete} with a complete file"
    );
    assert!(during > 0, "none was killed while the file was written");
    let others = folder.names();
    let is_ours = |name: &String| name == "run.npz" || name.ends_with(".partial");
    assert!(others.iter().all(is_ours), "{others:?}");
}

/// Output that nobody reads, or that has nowhere to go.
#[cfg(unix)]
#[test]
fn closed_and_full_streams_do_not_panic() {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        let script = format!("carom=\"$0\"; {script}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_carom")]);
        finish(command.current_dir(crate::support::root()))
    };
    for command in [
        "check models/humanoid.xml --no-timing",
        "--help",
        "completions bash",
        "sim models/pendulum.xml --seconds 0.1",
        "parity tests/reference --model pendulum --until smooth --verbose",
    ] {
        // The reader goes away at once.
        let script = format!("{{ \"$carom\" {command}; echo $? >&2; }} | true");
        let outcome = shell(&script);
        assert_eq!(outcome.stderr.lines().last(), Some("0"), "{outcome:#?}");
        assert!(!outcome.stderr.contains("panicked"), "{outcome:#?}");
        for closed in [">&-", "2>&-", ">&- 2>&- <&-"] {
            shell(&format!("\"$carom\" {command} {closed}")).succeeds();
        }
        if Path::new("/dev/full").exists() {
            let outcome = shell(&format!("\"$carom\" {command} > /dev/full"));
            outcome.fails(2, &["cannot write to standard output"]);
            shell(&format!("\"$carom\" {command} 2> /dev/full")).succeeds();
            let outcome = shell(&format!("\"$carom\" {command} > /dev/full 2> /dev/full"));
            assert_eq!(outcome.code, Some(2));
        }
    }
    let outcome = shell("\"$carom\" sim nowhere.xml 2>&-");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}
