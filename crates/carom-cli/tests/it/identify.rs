//! `carom identify`.

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
        "recordings that were kept back",
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
        outcome.succeeds().stdout.contains("fitted all the same"),
        "{outcome:?}"
    );
}
