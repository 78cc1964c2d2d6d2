//! Mistakes on the command line are shown like those of a model file: with the line, a caret and what would be right.

use crate::support::{run, words};

/// Runs a line and compares what is under the carets, and words of the message.
#[track_caller]
fn check(line: &str, marked: &str, sentences: &[&str]) {
    let outcome = run(&words(line));
    outcome.fails(2, sentences);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let carets = lines
        .iter()
        .position(|line| line.contains("| ") && line.contains('^'));
    let carets = carets.unwrap_or_else(|| panic!("no caret: {outcome:#?}"));
    let start = lines[carets]
        .chars()
        .position(|letter| letter == '^')
        .unwrap();
    let count = lines[carets]
        .chars()
        .filter(|&letter| letter == '^')
        .count();
    let under: String = lines[carets - 1].chars().skip(start).take(count).collect();
    assert_eq!(under, marked, "{outcome:#?}");
    assert!(
        outcome.stderr.contains("--> command line:1:"),
        "{outcome:#?}"
    );
}

const CUBE: &str = "gradient models/cube.xml --loss qpos[1] --wrt qvel[2]";

#[test]
fn settings() {
    for (setting, marked, sentence) in [
        ("qpos[99]=1", "qpos[99]", "qpos[0] to qpos[6]"),
        ("qpos[-1]=1", "qpos[-1]", "qpos[0] to qpos[6]"),
        ("qpos[2=1", "qpos[2", "qpos[0] to qpos[6]"),
        ("qpso[2]=1", "qpso", "did you mean 'qpos'"),
        ("qpos=1", "qpos", "write qpos[0]"),
        ("qpos[2]", "qpos[2]", "NAME=VALUE"),
        ("qpos[2]=high", "high", "not a number"),
        ("qpos[2]=1e999", "1e999", "too large"),
        ("qpos[2]=nan", "nan", "not a number"),
        ("ctrl[0]=1", "ctrl[0]", "the model has no ctrl"),
    ] {
        check(&format!("{CUBE} --set {setting}"), marked, &[sentence]);
        check(&format!("{CUBE} --set={setting}"), marked, &[sentence]);
    }
}

#[test]
fn losses_and_variables() {
    let line = "gradient models/cube.xml --wrt qvel[2] --loss";
    for (loss, marked, sentence) in [
        ("qpso[1]", "qpso", "did you mean 'qpos'"),
        ("qpos[7]", "qpos[7]", "qpos[0] to qpos[6]"),
        ("ctrl[0]", "ctrl[0]", "not a result"),
        ("height", "height", "qpos[i], qvel[i], act[i]"),
    ] {
        check(&format!("{line} {loss}"), marked, &[sentence]);
    }
    let line = "gradient models/cube.xml --loss qpos[1] --wrt";
    for (wrt, marked, sentence) in [
        ("qvel[2],geom.cub.size", "cub", "did you mean 'cube'"),
        ("geom.cube.sise,qvel[2]", "sise", "did you mean 'size'"),
        ("gem.cube.size", "gem", "did you mean 'geom'"),
        ("geom.cube.size[7]", "geom.cube.size[7]", "has 3 components"),
        ("qvel[6]", "qvel[6]", "qvel[0] to qvel[5]"),
        ("qvle[1]", "qvle", "did you mean 'qvel'"),
        ("qvel[1],,qvel[2]", "^", "empty name"),
    ] {
        let marked = if marked == "^" { "," } else { marked };
        check(&format!("{line} {wrt}"), marked, &[sentence]);
    }
}

#[test]
fn ways() {
    for (flag, marked, sentence) in [
        ("--integrator tsit6", "tsit6", "did you mean 'tsit5'"),
        ("--integrator rk45", "rk45", "there are: "),
        ("--adjoint storde", "storde", "did you mean 'stored'"),
        ("--adjoint continuous=2", "2", "between 0 and 1"),
        (
            "--adjoint checkpointed",
            "checkpointed",
            "checkpointed=1000000",
        ),
        (
            "--adjoint forward --integrator fixed",
            "forward",
            "continuous time",
        ),
        ("--cfd=w_x=1", "w_x", "did you mean 'w_c'"),
        ("--cfd=d_0=0.1,w_c=wide", "wide", "not a number"),
        ("--cfd=geoms=cub", "cub", "did you mean 'cube'"),
        ("--cfd=w_c=-1", "-1", "must be positive"),
        ("--keyframe home", "home", "toss, edge, slide"),
        ("--tolerance 2", "2", "below 1"),
        ("--tolerance 0", "0", "above 0"),
        ("--threads 0", "0", "at least 1"),
        ("--threads 99999", "99999", "at most 1024"),
        ("--seconds 0", "0", "above 0 s"),
        (
            "--integrator fixed --seconds 1e9",
            "1e9",
            "at most 1e7 steps",
        ),
    ] {
        check(&format!("{CUBE} {flag}"), marked, &[sentence]);
    }
}

#[test]
fn numbers_that_are_none() {
    for (value, sentence) in [
        ("nan", "not a number"),
        ("inf", "infinite"),
        ("-inf", "infinite"),
        ("-1", "not negative"),
        ("1e999", "too large"),
        ("1e300", "steps"),
        ("five", "write a number"),
        ("0x10", "write a number"),
    ] {
        check(
            &format!("sim models/pendulum.xml --seconds={value}"),
            value,
            &[sentence],
        );
    }
    check(
        "sim models/pendulum.xml --seconds -1",
        "-1",
        &["not negative"],
    );
    check(
        "sim models/pendulum.xml --seconds 1e300",
        "1e300",
        &["at most 1e9 steps"],
    );
    check("sim models/pendulum.xml --every 0", "0", &["at least 1"]);
    check("bench models/pendulum.xml --steps 0", "0", &["at least 1"]);
    check(
        "bench models/pendulum.xml --steps 18446744073709551615",
        "18446744073709551615",
        &["at most"],
    );
    check(
        "bench models/pendulum.xml --steps 1000000000000",
        "1000000000000",
        &["at most"],
    );
    check(
        "bench models/pendulum.xml --steps 9000000 --threads 512",
        "9000000",
        &["memory"],
    );
    check(
        "bench models/pendulum.xml --threads 1,x",
        "x",
        &["whole number"],
    );
}

#[test]
fn words_that_are_not_known() {
    check("simm models/cube.xml", "simm", &["'sim'"]);
    check("sim models/cube.xml --secnds 5", "--secnds", &["--seconds"]);
    check(
        "sim models/cube.xml other.xml",
        "other.xml",
        &["unexpected"],
    );
    check(
        "sim models/cube.xml --out run.mat",
        "run.mat",
        &[".npz or .csv"],
    );
    check(
        "bench models/cube.xml --disable gravity",
        "gravity",
        &["contact, constraint, sensor"],
    );
    check("parity tests/reference --until smoth", "smoth", &["smooth"]);
    check("parity tests/reference --class exakt", "exakt", &["exact"]);
    check(
        "parity tests/reference --model pendulumm",
        "pendulumm",
        &["did you mean 'pendulum'"],
    );
    check("completions tcsh", "tcsh", &["bash"]);
    check("completions bash --seed 1", "--seed", &["unexpected"]);
    check(
        "sim models/cube.xml --threads 2",
        "--threads",
        &["unexpected"],
    );
    check(
        "sim models/cubee.xml",
        "models/cubee.xml",
        &["did you mean 'models/cube.xml'?"],
    );
    check(
        "check nothing_like_it.mjcf",
        "nothing_like_it.mjcf",
        &["cannot find file"],
    );
    check("sim models/cube.xml --allow M205,M999", "M999", &["M201"]);
    run(&words("gradient models/cube.xml")).fails(2, &["--loss", "--wrt", "usage: carom gradient"]);
    run(&words("sim")).fails(2, &["<MODEL>"]);
    run(&words(
        "sim models/pendulum.xml --seconds 1e6 --out /tmp/run.npz",
    ))
    .fails(2, &["GB", "--every"]);
}

#[test]
fn long_lines_and_strange_words_are_shown_in_part() {
    let long = "x".repeat(100_000);
    let outcome = run(&[
        "gradient",
        "models/cube.xml",
        "--loss",
        &long,
        "--wrt",
        "qvel[0]",
    ]);
    outcome.fails(2, &["there is no quantity"]);
    assert!(outcome.stderr.len() < 10_000, "{}", outcome.stderr.len());
    let outcome = run(&[
        "gradient",
        "models/cube.xml",
        "--loss",
        "a\u{7}\n\u{1b}[31mb",
        "--wrt",
        "qvel[0]",
    ]);
    outcome.fails(2, &[]);
    assert!(!outcome.stderr.contains(['\u{7}', '\u{1b}']), "{outcome:?}");
}

#[cfg(unix)]
#[test]
fn words_that_are_not_text_are_refused() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    for line in [
        "sim models/pendulum.xml --seconds WORD",
        "sim models/pendulum.xml --keyframe WORD",
        "gradient models/pendulum.xml --loss WORD --wrt qvel[0]",
        "gradient models/pendulum.xml --loss qpos[0] --wrt WORD",
        "parity tests/reference --until WORD",
        "completions WORD",
        "WORD",
        "sim WORD",
        "sim models/pendulum.xml --out WORD",
    ] {
        let word = OsString::from_vec(vec![b'a', 0xff, 0xfe, b'z']);
        let arguments = words(line).into_iter();
        let arguments = arguments.map(|text| {
            if text == "WORD" {
                word.clone()
            } else {
                text.into()
            }
        });
        run(&arguments.collect::<Vec<OsString>>()).fails(2, &[]);
    }
}
