//! `carom view`: pages that are written, and one that is served.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::{Folder, carom, run, words};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A command line with a path at its end.
fn with<'a>(line: &'a str, path: &'a Path) -> Vec<&'a str> {
    let mut arguments = words(line);
    arguments.push(text(path));
    arguments
}

#[test]
fn a_model_is_exported_as_one_page() {
    let folder = Folder::new("view");
    let page = folder.path("pendulum.html");
    let line = "view models/pendulum.xml --seconds 0.5 --json --export";
    let outcome = run(&with(line, &page));
    let summary = outcome.succeeds().json();
    assert_eq!(outcome.stderr, "");
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(summary["bytes"], html.len());
    let frames = summary["frames"].as_u64().unwrap();
    assert!((30..=32).contains(&frames), "{summary}");
    assert!(html.contains("id=\"carom-scene\"") && html.contains("data-name=\"pendulum\""));
    assert_eq!(folder.names(), ["pendulum.html"]);
}

#[test]
fn two_runs_are_exported_with_a_ghost() {
    let folder = Folder::new("view_runs");
    let (measured, simulated) = (folder.path("measured.npz"), folder.path("simulated.npz"));
    let page = folder.path("page.html");
    run(&with(
        "sim models/cartpole.xml --seconds 0.2 --out",
        &measured,
    ))
    .succeeds();
    run(&with(
        "sim models/cartpole.xml --seconds 0.3 --out",
        &simulated,
    ))
    .succeeds();
    let line = ["view", text(&measured), "--overlay", text(&simulated)];
    run(&[&line[..], &["--export", text(&page)]].concat()).succeeds();
    let html = std::fs::read_to_string(&page).unwrap();
    let places = ["measured", "simulated"].map(|name| html.find(&format!("data-name=\"{name}\"")));
    assert!(places[0].unwrap() < places[1].unwrap());

    // Another model does not fit the run, and a page that could not be made leaves the old one.
    let wrong = ["view", text(&measured), "--model", "models/humanoid.xml"];
    let wrong = [&wrong[..], &["--export", text(&page)]].concat();
    run(&wrong).fails(2, &["measured.npz", "qpos has"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), html);
    for (line, word) in [
        (["--keyframe", "0"], "--keyframe"),
        (["--seconds", "1"], "--seconds"),
    ] {
        let arguments = [
            &["view", text(&measured), "--export", text(&page)],
            &line[..],
        ]
        .concat();
        run(&arguments).fails(2, &[word, "leave it out"]);
    }
}

#[test]
fn a_simulation_that_fails_is_shown_up_to_there() {
    let folder = Folder::new("view_fails");
    // Far too stiff for its time step.
    let model = folder.with(
        "stiff.xml",
        "<mujoco><option timestep='0.5'><flag eulerdamp='disable'/></option><worldbody><body>\
         <joint type='slide' stiffness='1e80'/><geom size='0.1'/></body></worldbody>\
         <keyframe><key qpos='1'/></keyframe></mujoco>",
    );
    let page = folder.path("page.html");
    let line = [
        "view",
        text(&model),
        "--keyframe",
        "0",
        "--json",
        "--export",
        text(&page),
    ];
    let outcome = run(&line);
    let document = outcome.fails(1, &["smaller time step"]).json();
    assert!(
        document["error"].as_str().unwrap().contains("t = "),
        "{document}"
    );
    assert!(document["frames"].as_u64().unwrap() >= 1);
    assert!(page.exists());
}

#[test]
fn mistakes_are_answered_with_advice() {
    let folder = Folder::new("view_mistakes");
    for (line, words_of_it) in [
        ("view nothing.xml", &["nothing.xml"][..]),
        ("view nothing.npz", &["nothing.npz"]),
        ("view run.csv", &["--out run.npz"]),
        (
            "view models/pendulum.xml --overlay x.npz",
            &["--overlay", "goes with a run", "^^^"],
        ),
        ("view models/pendulum.xml --keyframe zzz", &["zzz"]),
        (
            "view models/pendulum.xml --seconds=-1 --export x.html",
            &["negative"],
        ),
        ("view models/pendulum.xml --seconds 1", &["--export"]),
        (
            "view models/pendulum.xml --port 1 --export x.html",
            &["--port", "--export"],
        ),
        ("view models/pendulum.xml --port 70000", &["70000"]),
        (
            "view models/pendulum.xml --host no-such-host.invalid",
            &["--host"],
        ),
        (
            "view models/pendulum.xml --export missing/page.html",
            &["missing/page.html"],
        ),
        ("view", &["MODEL|RUN.npz"]),
    ] {
        run(&words(line)).fails(2, words_of_it);
    }
    let broken = folder.with("broken.npz", b"PK not really");
    run(&with("view", &broken)).fails(2, &["broken.npz"]);
    let missing = folder.with(
        "empty.npz",
        b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    run(&with("view", &missing)).fails(2, &["empty.npz", "no array 'time'"]);
}

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
#[test]
fn the_page_is_served_until_ctrl_c() {
    let mut command = carom();
    command.args(words("view models/pendulum.xml --no-browser"));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    let mut url = String::new();
    let mut out = BufReader::new(running.0.stdout.take().unwrap());
    out.read_line(&mut url).unwrap();
    let rest = url.trim().strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    crate::interrupts::interrupt(&running.0);
    let status = running.0.wait().unwrap();
    assert!(status.success(), "{status}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_export_keeps_what_was_simulated() {
    let folder = Folder::new("view_interrupt");
    let page = folder.path("page.html");
    let line = "view models/cartpole.xml --seconds 100000 --json --export";
    let after = std::time::Duration::from_secs(2);
    let outcome = crate::interrupts::interrupted(&with(line, &page), after);
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    let document = outcome.json();
    assert_eq!(document["interrupted"], true);
    assert!(document["frames"].as_u64().unwrap() > 1, "{document}");
    assert_eq!(folder.names(), ["page.html"]);
}
