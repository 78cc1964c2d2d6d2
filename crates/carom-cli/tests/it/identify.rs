//! `carom identify`.

use std::fmt::Write as _;
use std::fs;

use crate::support::{Folder, Outcome, run};

/// Swings of a pendulum that has twice the damping of the model, without noise.
fn swings(folder: &Folder) {
    let text = fs::read_to_string(crate::support::root().join("models/pendulum.xml")).unwrap();
    let heavier = text.replace("damping=\"0.01\"", "damping=\"0.02\"");
    assert_ne!(text, heavier);
    fs::write(folder.path("model.xml"), text).unwrap();
    fs::write(folder.path("hidden.xml"), heavier).unwrap();
    for (name, seconds) in [("run.csv", "1.5"), ("other.csv", "3")] {
        let out = folder.path(name);
        let hidden = folder.path("hidden.xml");
        run(&[
            "sim",
            hidden.to_str().unwrap(),
            "--seconds",
            seconds,
            "--keyframe",
            "horizontal",
            "--every",
            "4",
            "--out",
            out.to_str().unwrap(),
        ])
        .succeeds();
    }
    let mapping = "time.column = 'time'\n[[joint]]\nname = 'pivot'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\n";
    fs::write(folder.path("map.toml"), mapping).unwrap();
}

fn identify(folder: &Folder, more: &[&str]) -> Outcome {
    let paths = ["model.xml", "run.csv", "map.toml"].map(|name| folder.path(name));
    let [model, recording, mapping] = paths.each_ref().map(|path| path.to_str().unwrap());
    let mut line = vec!["identify", model, recording, "--mapping", mapping];
    line.extend(more);
    run(&line)
}

#[test]
fn damping_is_found_and_written() {
    let folder = Folder::new("identify");
    swings(&folder);
    let paths =
        ["calibrated.xml", "report.html", "other.csv", "fit.bin"].map(|name| folder.path(name));
    let [out, report, other, checkpoint] = paths.each_ref().map(|path| path.to_str().unwrap());
    let outcome = identify(
        &folder,
        &[
            "--free",
            "joint.pivot.damping[0] log",
            "--validate",
            other,
            "--out",
            out,
            "--report",
            report,
            "--checkpoint",
            checkpoint,
            "--json",
        ],
    );
    let document = outcome.succeeds().json();
    let one = &document["parameters"][0];
    assert_eq!(one["name"], "joint.pivot.damping[0]");
    assert!(
        (one["value"].as_f64().unwrap() - 0.02).abs() < 1e-6,
        "{document}"
    );
    assert_eq!(document.get("error"), None, "{document}");
    assert_eq!(document["errors_from"], "derivatives");
    let error = |when: &str| document["validation"][when]["mse"].as_f64().unwrap();
    assert!(error("after") < 1e-3 * error("before"), "{document}");
    let text = fs::read_to_string(out).unwrap();
    assert!(text.contains("damping=\"0.0"), "{text}");
    run(&["check", out]).succeeds();
    let page = fs::read_to_string(report).unwrap();
    for words in [
        "viscous damping",
        "prefers-color-scheme",
        "carom-scene",
        "data:application/xml;base64,",
        "held-out recordings",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));
    // Killed and resumed, or not: the same. A checkpoint is not overwritten unasked.
    let again = [
        "--free",
        "joint.pivot.damping[0] log",
        "--checkpoint",
        checkpoint,
        "--json",
    ];
    identify(&folder, &again).fails(2, &["would be overwritten", "--resume"]);
    let resumed = [&again[..], &["--resume", "--threads", "1"]].concat();
    let other = identify(&folder, &resumed).succeeds().json();
    assert_eq!(other["parameters"], document["parameters"]);
    let else_asked = [
        "--free",
        "joint.pivot.armature",
        "--checkpoint",
        checkpoint,
        "--resume",
    ];
    identify(&folder, &else_asked).fails(2, &["another question"]);
}

#[test]
fn mistakes_are_placed() {
    let folder = Folder::new("identify-mistakes");
    swings(&folder);
    let settings = folder.path("settings.toml");
    fs::write(&settings, "[optimiser]\nkind = 'newton'\n").unwrap();
    let settings = settings.to_str().unwrap();
    for (more, code, words) in [
        (
            &["--free", "joint.pivto.damping"][..],
            2,
            &["A003", "pivto", "^^^^^"][..],
        ),
        (
            &["--free", "joint.pivot.damping[0],,"],
            2,
            &["an empty name"],
        ),
        (&["--free", "joint.pivot.dampning"], 2, &["damping", "^"]),
        (
            &["--free", "joint.pivot.damping[0] exp"],
            2,
            &["none of log, softplus"],
        ),
        (
            &["--free", "joint.pivot.damping[0]", "--optimiser", "newton"],
            2,
            &["there is no optimiser 'newton'", "cmaes"],
        ),
        (
            &["--free", "joint.pivot.damping[0]", "--loss", "l2"],
            2,
            &["there is no loss 'l2'", "likelihood"],
        ),
        (
            &[
                "--free",
                "joint.pivot.damping[0]",
                "--loss",
                "distance_and_angle",
            ],
            2,
            &["width"],
        ),
        (
            &["--free", "joint.pivot.damping[0]", "--segments", "1"],
            2,
            &["segments of 1 frames"],
        ),
        (
            &["--free", "joint.pivot.damping[0] bounds(0.5,1)"],
            2,
            &["starts at 0.01, outside"],
        ),
        (
            &["--free", "joint.pivot.damping[0]", "--settings", settings],
            2,
            &["line 2", "newton"],
        ),
        (
            &["--free", "joint.pivot.damping[0]", "--resume"],
            2,
            &["--checkpoint"],
        ),
        (
            &[
                "--free",
                "joint.pivot.damping[0]",
                "--out",
                "/nonexistent/a.xml",
            ],
            2,
            &["/nonexistent"],
        ),
        (&[], 2, &["no parameter is free"]),
        // The answer is no.
        (
            &["--free", "geom.floor.friction[0]"],
            1,
            &["geom.floor.friction[0] has no effect", "--anyway"],
        ),
        (
            &[
                "--free",
                "geom.bob.mass,geom.rod.mass,joint.pivot.damping[0]",
            ],
            1,
            &["trade off"],
        ),
        (&["--free", "mesh.a.vertex"], 2, &["--free"]),
    ] {
        identify(&folder, more).fails(code, words);
    }
    // Fitted all the same, with the reason in the answer.
    let outcome = identify(
        &folder,
        &[
            "--free",
            "geom.bob.mass,geom.rod.mass,joint.pivot.damping[0]",
            "--anyway",
        ],
    );
    assert!(
        outcome.is_doubtful().stdout.contains("fitted all the same"),
        "{outcome:?}"
    );
}

/// Three noisy swings of the hidden pendulum, driven by its motor, as files with a mapping that states their noise.
fn noisy_swings(folder: &Folder) -> Vec<String> {
    swings(folder);
    let mut state = 1_u64;
    let mut paths = Vec::new();
    for swing in 0..3 {
        let clean = folder.path(&format!("clean{swing}.csv"));
        let seconds = format!("{}", 1.2 + 0.3 * f64::from(swing));
        let key = ["horizontal", "hanging", "horizontal"][usize::try_from(swing).unwrap()];
        let controls = folder.path(&format!("controls{swing}.csv"));
        let torque = |k: u32| (0.05 * f64::from(k) * f64::from(swing + 1)).sin();
        let rows: Vec<String> = (0..400).map(|k| torque(k / 4).to_string()).collect();
        fs::write(&controls, format!("pivot_torque\n{}\n", rows.join("\n"))).unwrap();
        let hidden = folder.path("hidden.xml");
        let line = [
            "sim",
            hidden.to_str().unwrap(),
            "--seconds",
            &seconds,
            "--keyframe",
            key,
            "--every",
            "4",
            "--controls",
            controls.to_str().unwrap(),
            "--out",
            clean.to_str().unwrap(),
        ];
        run(&line).succeeds();
        // Numbers that scatter evenly, with a deviation of 1.
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1_u32 << 31) - 0.5)
                * 12.0_f64.sqrt()
        };
        let text = fs::read_to_string(&clean).unwrap();
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let place = |name: &str| header.iter().position(|one| *one == name).unwrap();
        let (time, angle, rate) = (place("time"), place("qpos[0]"), place("qvel[0]"));
        let mut out = "t,angle,rate,torque\n".to_owned();
        for (row, line) in lines.enumerate() {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let torque = torque(u32::try_from(row).unwrap());
            writeln!(
                out,
                "{},{},{},{torque}",
                cells[time],
                cells[angle] + 0.002 * noise(),
                cells[rate] + 0.01 * noise()
            )
            .unwrap();
        }
        let path = folder.path(&format!("noisy{swing}.csv"));
        fs::write(&path, out).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nvelocity = 'rate'\nnoise = 0.002\nvelocity_noise = 0.01\n\
        [[actuator]]\nname = 'pivot_torque'\ncontrol = 'torque'\n";
    fs::write(folder.path("noisy.toml"), mapping).unwrap();
    paths
}

fn identify_noisy(folder: &Folder, paths: &[String], more: &[&str]) -> Outcome {
    let [model, mapping] = ["model.xml", "noisy.toml"].map(|name| folder.path(name));
    let mut line = vec!["identify", model.to_str().unwrap()];
    line.extend(paths.iter().map(String::as_str));
    line.extend(["--mapping", mapping.to_str().unwrap()]);
    line.extend(more);
    run(&line)
}

#[test]
fn answers_are_looked_at_from_all_sides() {
    let folder = Folder::new("identify-checks");
    let paths = noisy_swings(&folder);
    let report = folder.path("report.html");
    let asked = [
        "--free",
        "joint.pivot.damping[0]",
        "--free-initial-states",
        "--profiles",
        "--folds",
        "3",
        "--recovery",
        "2",
        "--report",
        report.to_str().unwrap(),
        "--json",
    ];
    let document = identify_noisy(&folder, &paths, &asked).succeeds().json();
    assert_eq!(
        document["objections"].as_array().unwrap().len(),
        0,
        "{document}"
    );
    let checks = &document["checks"];
    let profile = &checks["profiles"][0];
    assert_eq!(profile["name"], "joint.pivot.damping[0]");
    let [low, high] = ["lower", "upper"].map(|end| profile[end]["value"].as_f64().unwrap());
    assert!(low < 0.02 && 0.02 < high && high < 0.03, "{profile}");
    assert_eq!(
        checks["cross_validation"]["folds"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(checks["recovery"]["rounds"], 2);
    assert_eq!(checks["recovery"]["passed"], true, "{checks}");
    assert_eq!(document["fit"]["each"].as_array().unwrap().len(), 3);
    // Found starts are nearer to the true ones, at 90 degrees and 0, than the noise of the camera.
    let starts = document["initial_states"].as_array().unwrap();
    let angles = starts.iter().map(|one| one["qpos"][0].as_f64().unwrap());
    let truth = [1.0, 0.0, 1.0].map(|part| part * std::f64::consts::FRAC_PI_2);
    for (angle, truth) in angles.zip(truth) {
        assert!(
            (angle - truth).abs() < 0.002 && angle != truth,
            "{starts:?}"
        );
    }
    assert_eq!(starts.len(), 3);
    assert_eq!(
        document["history"].as_array().unwrap().len(),
        usize::try_from(document["evaluations"].as_u64().unwrap()).unwrap()
    );
    let page = fs::read_to_string(&report).unwrap();
    for words in [
        "Better than the start",
        "Profile likelihoods",
        "Cross-validation over 3 folds",
        "Recovery of a known truth",
        "Residuals over time",
        "N·m·s/rad",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // The text has the same.
    let text = identify_noisy(&folder, &paths, &asked[..8])
        .succeeds()
        .stdout
        .clone();
    for words in [
        "profile likelihoods:",
        "cross-validation over 3 folds",
        "recovery of a known truth",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_is_not_better_than_the_start_is_no_success() {
    let folder = Folder::new("identify-gate");
    swings(&folder);
    let free = ["--free", "joint.pivot.damping[0]"];
    // The start itself is the best that one evaluation can find.
    let one = [&free[..], &["--evaluations", "1", "--optimiser", "lm"]].concat();
    let outcome = identify(&folder, &one);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome
            .stdout
            .contains("no success: the search found nothing better than the start"),
        "{outcome:?}"
    );
    // Programs read the reason where they read it of all failures.
    let document = identify(&folder, &[&one[..], &["--json"]].concat()).json();
    assert_eq!(document["error"], document["objections"][0], "{document}");
    assert!(document["error"].is_string(), "{document}");
    // Recordings of a pendulum with less damping than the model, not more, speak against the fit.
    let text = fs::read_to_string(folder.path("model.xml")).unwrap();
    let smooth = folder.path("smooth.xml");
    fs::write(
        &smooth,
        text.replace("damping=\"0.01\"", "damping=\"0.001\""),
    )
    .unwrap();
    let other = folder.path("smooth.csv");
    let sim = [
        "sim",
        smooth.to_str().unwrap(),
        "--seconds",
        "2",
        "--keyframe",
        "horizontal",
        "--every",
        "4",
        "--out",
        other.to_str().unwrap(),
    ];
    run(&sim).succeeds();
    let report = folder.path("gate.html");
    let validated = [
        &free[..],
        &[
            "--validate",
            other.to_str().unwrap(),
            "--report",
            report.to_str().unwrap(),
        ],
    ]
    .concat();
    let outcome = identify(&folder, &validated);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let words = "on held-out recordings, the calibrated model is worse than the one at the start";
    assert!(outcome.stdout.contains(words), "{outcome:?}");
    let page = fs::read_to_string(&report).unwrap();
    assert!(
        page.contains("No success")
            && page.contains("On held-out recordings, the calibrated model is worse")
    );
}

#[test]
fn residuals_beyond_the_stated_noise_are_told() {
    let folder = Folder::new("identify-noise");
    let paths = noisy_swings(&folder);
    let asked = ["--free", "joint.pivot.damping[0]", "--free-starts"];
    let words = "times the noise that the mapping states";
    let right = identify_noisy(&folder, &paths, &asked);
    assert!(!right.succeeds().stdout.contains(words), "{right:?}");
    // A mapping that promises two thirds of the noise.
    let mapping = folder.path("noisy.toml");
    let text = fs::read_to_string(&mapping).unwrap();
    let less = text.replace("0.002", "0.0013").replace("0.01", "0.0066");
    assert_ne!(text, less);
    fs::write(&mapping, less).unwrap();
    let wrong = identify_noisy(&folder, &paths, &asked);
    let stdout = &wrong.succeeds().stdout;
    assert!(
        stdout.contains("residuals are 1.5") && stdout.contains(words),
        "{stdout}"
    );
}

#[test]
fn starts_are_drawn_within_their_noise() {
    let folder = Folder::new("identify-draws");
    let paths = noisy_swings(&folder);
    let free = ["--free", "joint.pivot.damping[0]"];
    let drawn = [&free[..], &["--initial-state-draws", "4", "--json"]].concat();
    let document = identify_noisy(&folder, &paths, &drawn).succeeds().json();
    let one = &document["parameters"][0];
    let [low, high] = [0, 1].map(|end| one["interval"][end].as_f64().unwrap());
    assert!(low < 0.02 && 0.02 < high, "{one}");
    // Four simulations for every measurement.
    let residuals = |document: &serde_json::Value| document["information"]["residuals"].as_u64();
    let recorded = [&free[..], &["--json"]].concat();
    let other = identify_noisy(&folder, &paths, &recorded).succeeds().json();
    assert_eq!(residuals(&document), residuals(&other).map(|one| 4 * one));
    let both = [&free[..], &["--start-draws", "4", "--free-starts"]].concat();
    identify_noisy(&folder, &paths, &both)
        .fails(2, &["--initial-state-draws", "--free-initial-states"]);
    let none = [&free[..], &["--start-draws", "0"]].concat();
    identify_noisy(&folder, &paths, &none).fails(2, &["--initial-state-draws"]);
}

#[test]
fn several_recordings_are_held_out() {
    let folder = Folder::new("identify-several");
    let paths = noisy_swings(&folder);
    let more = [
        "--free",
        "joint.pivot.damping[0]",
        "--free-initial-states",
        "--validate",
        &paths[1],
        &paths[2],
        "--json",
    ];
    let document = identify_noisy(&folder, &paths[..1], &more).json();
    let count = |what: &str| document[what]["trajectories"].as_u64();
    assert_eq!((count("fit"), count("validation")), (Some(1), Some(2)));
}

#[test]
fn what_to_record_next_is_said_with_a_refusal() {
    let folder = Folder::new("identify-next");
    swings(&folder);
    let more = [
        "--free",
        "geom.bob.mass log,geom.rod.mass log,joint.pivot.damping[0] log",
    ];
    identify(&folder, &more).fails(
        1,
        &[
            "trade off",
            "what to record next",
            "pivot_torque with a chirp",
            "record other motions (",
        ],
    );
    identify(
        &folder,
        &["--free", "joint.pivot.damping[0]", "--folds", "2"],
    )
    .fails(2, &["--folds", "one trajectory"]);
    let paths = noisy_swings(&folder);
    let more = ["--free", "joint.pivot.damping[0]", "--folds", "4"];
    identify_noisy(&folder, &paths, &more)
        .fails(2, &["there are 3 trajectories, which make 2 to 3 folds"]);
}

#[test]
fn kills_at_any_moment_do_not_change_a_bit() {
    let folder = Folder::new("identify-kills");
    let paths = noisy_swings(&folder);
    let [model, mapping, whole, out, checkpoint] =
        ["model.xml", "noisy.toml", "whole.xml", "out.xml", "fit.bin"]
            .map(|name| folder.path(name));
    let line = |out: &std::path::Path| {
        let mut line = vec!["identify".to_owned(), model.display().to_string()];
        line.extend(paths.iter().cloned());
        for word in [
            "--mapping",
            mapping.to_str().unwrap(),
            "--free",
            "joint.pivot.damping[0],geom.bob.mass log",
            "--free-initial-states",
            "--out",
            out.to_str().unwrap(),
            "--checkpoint",
            checkpoint.to_str().unwrap(),
            "--resume",
        ] {
            line.push(word.to_owned());
        }
        line
    };
    let begin = std::time::Instant::now();
    run(&line(&whole)).succeeds();
    let took = begin.elapsed();
    let mut killed = 0;
    for part in [0.15, 0.35, 0.5, 0.65, 0.8] {
        let _ = fs::remove_file(&checkpoint);
        let _ = fs::remove_file(&out);
        let mut child = crate::support::carom()
            .args(line(&out))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(took.mul_f64(part));
        killed += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        run(&line(&out)).succeeds();
        assert_eq!(
            fs::read(&whole).unwrap(),
            fs::read(&out).unwrap(),
            "killed after {part} of the time"
        );
    }
    assert!(killed > 0, "all runs were quicker than the first one");
}

#[test]
fn starts_are_found_where_recorded_ones_explain_too_little() {
    let folder = Folder::new("starts");
    swings(&folder);
    // Velocities follow from positions, and at the first frame differences miss them.
    let mapping =
        "time.column = 'time'\n[[joint]]\nname = 'pivot'\nposition = 'qpos[0]'\nnoise = 1e-4\n";
    fs::write(folder.path("map.toml"), mapping).unwrap();
    let free = ["--free", "joint.pivot.damping[0] log"];
    let document = identify(&folder, &[&free[..], &["--json"]].concat())
        .succeeds()
        .json();
    assert!(document["starts"].is_array(), "{document}");
    // The names of the version before still hold.
    assert_eq!(document["starts"], document["initial_states"]);
    assert_eq!(document["by_chords"], document["by_secants"]);
    let information = &document["information"];
    assert_eq!(information["untold"], information["not_identifiable"]);
    assert!(information["not_identifiable"].is_array(), "{document}");
    let off = |document: &serde_json::Value| {
        let value = document["parameters"][0]["value"].as_f64().unwrap();
        (value / 0.02 - 1.0).abs()
    };
    assert!(off(&document) < 1e-3, "{document}");
    assert!(document["noise"].as_f64().unwrap() < 1.0, "{document}");
    let text = identify(&folder, &free).succeeds().stdout.clone();
    assert!(text.contains("initial states were estimated too"), "{text}");
    // As recorded, the fit is biased, and a remedy is named.
    let settings = folder.path("settings.toml");
    fs::write(&settings, "[initial_states]\nfree = false\n").unwrap();
    let kept = ["--settings", settings.to_str().unwrap(), "--json"];
    let document = identify(&folder, &[&free[..], &kept].concat()).json();
    assert!(document["starts"].is_null(), "{document}");
    assert!(off(&document) > 1e-2, "{document}");
    let text = identify(&folder, &[&free[..], &kept[..2]].concat());
    assert!(
        text.stdout.contains("try --free-initial-states"),
        "{text:?}"
    );
}
