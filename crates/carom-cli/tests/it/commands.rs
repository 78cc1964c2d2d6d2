//! Every command does what its help says, for people and for programs.

use crate::support::{Folder, carom, finish, root, run, words};

const COMMANDS: [&str; 17] = [
    "quickstart",
    "sim",
    "check",
    "gradient",
    "identify",
    "evaluate",
    "map",
    "learn",
    "discover",
    "scale",
    "sites",
    "diff",
    "plan",
    "parity",
    "bench",
    "view",
    "completions",
];

/// Short runs that succeed.
const RUNS: [&str; 9] = [
    "sim models/cube.xml --seconds 0.1",
    "check models/pendulum.xml",
    "sites models/pendulum.xml",
    "check models/pendulum.xml --gradients --seed 3 --no-timing",
    "gradient models/pendulum.xml --seconds 0.1 --loss qpos[0] --wrt qvel[0],body.*.mass",
    "parity tests/reference --model double_pendulum --until smooth",
    "parity tests/reference --model terrain",
    "bench models/pendulum.xml --steps 10 --batches 2",
    "bench models/pendulum.xml --steps 10 --batches 2 --threads 1,2",
];

#[test]
fn every_command_has_help_with_examples() {
    let all = run(&["--help"]);
    all.succeeds();
    for command in COMMANDS {
        assert!(all.stdout.contains(command));
        for flag in ["--help", "-h"] {
            let help = run(&[command, flag]);
            help.succeeds();
            assert!(help.stdout.contains("Examples:\n  "), "{help:?}");
            assert!(help.stdout.contains("--json"), "{help:?}");
            assert_eq!(help.stderr, "");
        }
    }
    assert!(run(&["--version"]).succeeds().stdout.starts_with("carom "));
    // Without a command, the help is the answer to a question that was not asked.
    let nothing = carom().args([] as [&str; 0]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("Usage: carom"));
}

#[test]
fn diff_tells_numbers_in_units_and_structure_in_words() {
    let same = run(&words("diff models/pendulum.xml models/pendulum.xml"));
    assert_eq!(same.succeeds().stdout.trim(), "the models are the same");
    let folder = Folder::new("diff");
    let text = std::fs::read_to_string(root().join("models/pendulum.xml")).unwrap();
    let other = text.replace("name=\"pivot\"", "name=\"pivot\" frictionloss=\"0.03\"");
    assert_ne!(text, other);
    let other = other.replace(
        "</worldbody>",
        "<geom name=\"extra\" size=\"0.1\"/></worldbody>",
    );
    let path = folder.with("other.xml", other.into_bytes());
    let path = path.to_str().unwrap();
    let plain = run(&["diff", "models/pendulum.xml", path]);
    assert_eq!(plain.code, Some(1), "{plain:?}");
    assert!(
        plain
            .stdout
            .contains("geom extra is in the second model alone"),
        "{plain:?}"
    );
    let line = plain
        .stdout
        .lines()
        .find(|line| line.starts_with("joint.pivot.frictionloss"));
    let words: Vec<&str> = line.unwrap().split_ascii_whitespace().collect();
    assert_eq!(words[1..], ["0", "0.03", "—", "N·m"]);
    let document = run(&["diff", "models/pendulum.xml", path, "--json"]).json();
    assert_eq!(document["numbers"][0]["new"], 0.03, "{document}");
    assert_eq!(document["same"], false);
}

/// `cargo xtask bench smooth` reads these.
#[test]
fn rows_of_threads_have_speedup_and_cost() {
    let line = "bench models/pendulum.xml --steps 10 --batches 2 --threads 1,2 --json";
    let document = run(&words(line)).succeeds().json();
    for key in ["speedup", "cpu_cost"] {
        assert!(document["threads"][1][key].is_f64(), "{document}");
    }
}

#[test]
fn json_is_one_document_and_nothing_else() {
    for line in RUNS {
        let plain = run(&words(line));
        plain.succeeds();
        assert!(!plain.stdout.trim().is_empty(), "{plain:?}");
        let mut arguments = words(line);
        arguments.push("--json");
        let outcome = run(&arguments);
        let document = outcome.succeeds().json();
        assert!(document.is_object(), "{document}");
        assert!(document.get("error").is_none(), "{document}");
        assert_eq!(outcome.stderr, "", "{line}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]);
        assert!(script.succeeds().stdout.contains("gradient"), "{script:?}");
        let document = run(&["completions", shell, "--json"]).json();
        assert_eq!(document["shell"], shell);
        let text = document["script"].as_str().unwrap();
        assert_eq!(text.trim_end(), script.stdout.trim_end());
    }
}

#[test]
fn failures_are_json_as_well() {
    for (line, code) in [
        ("sim no_such_file.xml --json", 2),
        ("check no_such_file.xml --json", 2),
        (
            "gradient no_such_file.xml --loss qpos[0] --wrt qvel[0] --json",
            2,
        ),
        (
            "gradient models/pendulum.xml --loss qpso[0] --wrt qvel[0] --json",
            2,
        ),
        ("parity no_such_folder --json", 2),
        ("bench no_such_file.xml --json", 2),
        ("view no_such_file.xml --json", 2),
        ("view no_such_file.npz --json", 2),
        ("completions tcsh --json", 2),
        ("simm --json", 2),
        ("sim models/pendulum.xml --seconds nan --json", 2),
    ] {
        let outcome = run(&words(line));
        outcome.fails(code, &[]);
        let document = outcome.json();
        assert!(
            document["error"]
                .as_str()
                .is_some_and(|error| error.len() > 10),
            "{document}"
        );
        let diagnostics = document["diagnostics"].as_array().unwrap();
        assert!(!diagnostics.is_empty(), "{document}");
        assert_eq!(diagnostics[0]["severity"], "error");
    }
    let folder = Folder::new("json");
    let broken = folder.with("broken.xml", "<mujoco><worldbody><bdy/></worldbody>");
    for command in ["sim", "check", "bench", "view"] {
        let arguments = [command, broken.to_str().unwrap(), "--json"];
        let document = run(&arguments).fails(1, &["broken.xml:1:"]).json();
        assert_eq!(document["diagnostics"][0]["line"], 1, "{document}");
    }
}

#[test]
fn seeds_choose_the_states_of_a_gradient_check() {
    let slopes = |seed: &str| {
        let line = "check models/pendulum.xml --gradients --no-timing --json --seed";
        let mut arguments = words(line);
        arguments.push(seed);
        run(&arguments).succeeds().json()["gradients"]["rows"][0]["slope"].clone()
    };
    assert_eq!(slopes("3"), slopes("3"));
    assert_ne!(slopes("3"), slopes("4"));
    run(&words("check models/pendulum.xml --seed 3")).fails(2, &["--gradients"]);
}

#[test]
fn threads_change_no_number() {
    let line = "gradient models/cube.xml --seconds 0.2 --set qvel[2]=-2 --loss qpos[1] --wrt qvel[1],qvel[2],geom.cube.size --json --threads";
    let derivatives = |threads: &str| {
        let mut arguments = words(line);
        arguments.push(threads);
        run(&arguments).succeeds().json()["derivatives"].clone()
    };
    assert_eq!(derivatives("1"), derivatives("3"));
    let table = |threads: &str| {
        let mut arguments = words("parity tests/reference --model pend --until smooth --threads");
        arguments.push(threads);
        run(&arguments).succeeds().stdout.clone()
    };
    assert_eq!(table("1"), table("4"));
}

#[test]
fn recordings_can_be_played_again() {
    let folder = Folder::new("recordings");
    for name in ["run.npz", "run.csv"] {
        let (first, second) = (folder.path(name), folder.path(&format!("again_{name}")));
        let mut arguments = words("sim models/cartpole.xml --seconds 0.2 --json --out");
        arguments.push(first.to_str().unwrap());
        let document = run(&arguments).succeeds().json();
        assert_eq!(
            document["recorded"].as_u64(),
            document["steps"].as_u64().map(|steps| steps + 1)
        );
        let mut arguments = words("sim models/cartpole.xml --seconds 0.2");
        arguments.extend([
            "--controls",
            first.to_str().unwrap(),
            "--out",
            second.to_str().unwrap(),
        ]);
        run(&arguments).succeeds();
        assert_eq!(
            std::fs::read(first).unwrap(),
            std::fs::read(second).unwrap()
        );
    }
}

#[test]
fn requests_are_answered_line_by_line() {
    let folder = Folder::new("requests");
    let answer = |text: &str| {
        let requests = folder.with("requests", text);
        finish(
            carom()
                .arg("bench")
                .stdin(std::fs::File::open(requests).unwrap()),
        )
    };
    let request = "{\"model\": \"models/pendulum.xml\", \"steps\": 5}\n";
    let outcome = answer(&request.repeat(2));
    assert_eq!(outcome.succeeds().stdout.lines().count(), 2);
    for (text, words) in [
        ("{\"model\": 5}", ["names no model", "line 2"]),
        (
            "{\"model\": \"models/pendulum.xml\"}",
            ["no steps", "line 2"],
        ),
        (
            "{\"model\": \"models/pendulum.xml\", \"steps\": 1e18}",
            ["steps", "line 2"],
        ),
        (
            "{\"model\": \"models/pendulum.xml\", \"steps\": 999999999999}",
            ["at most", "line 2"],
        ),
        (
            "{\"model\": \"models/pendulum.xml\", \"steps\": 1, \"disable\": [\"gravity\"]}",
            ["gravity", "line 2"],
        ),
        (
            "{\"model\": \"nowhere.xml\", \"steps\": 1}",
            ["nowhere.xml", "line 2"],
        ),
        ("{\"model\": ", ["not JSON", "line 2"]),
        ("\u{0}\u{1}", ["not JSON", "line 2"]),
    ] {
        answer(&format!("{request}{text}\n")).fails(2, &words);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_for_terminals() {
    let line = "sim models/humanoid.xml --seconds 10";
    assert_eq!(run(&words(line)).succeeds().stderr, "");
    // A terminal of its own.
    let command = format!("'{}' {line}", env!("CARGO_BIN_EXE_carom"));
    let mut script = std::process::Command::new("script");
    script
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm");
    script
        .stdin(std::process::Stdio::null())
        .current_dir(crate::support::root());
    if !crate::support::tool(std::process::Command::new("script").arg("--version")) {
        carom_testing::skip("there is no program `script`, which makes a terminal");
        return;
    }
    let outcome = finish(&mut script);
    let shown = &outcome.succeeds().stdout;
    for word in ["/2000 steps", "/s, ", " left"] {
        assert!(shown.contains(word), "{outcome:#?}");
    }
}

/// MuJoCo warns of numbers beyond 1e10 ("The simulation is unstable"); a simulation that ends so has failed.
#[test]
fn motions_that_grow_beyond_all_measure_fail() {
    let folder = Folder::new("unstable");
    // Antidamping: the speed grows fivefold each step, and no number is infinite for a long time.
    let model = folder.with(
        "unstable.xml",
        r#"<mujoco><option timestep="0.01"/><worldbody><body><joint name="slider" type="slide"/>
          <geom size="0.1" mass="1"/></body></worldbody><actuator>
          <general joint="slider" biastype="affine" biasprm="0 0 400"/></actuator></mujoco>"#,
    );
    let out = folder.path("run.npz");
    let line = [
        "sim",
        model.to_str().unwrap(),
        "--seconds",
        "0.4",
        "--json",
        "--out",
    ];
    let outcome = run(&[&line[..], &[out.to_str().unwrap()]].concat());
    outcome.fails(1, &["joint 'slider' is", "in step", "smaller time step"]);
    let document = outcome.json();
    assert!(
        document["error"].as_str().unwrap().contains("'slider'"),
        "{document}"
    );
    // It ends there, and what was recorded until then is kept.
    assert!(
        document["steps"].as_u64().unwrap() < 40 && out.exists(),
        "{document}"
    );
}
