//! The server as its page meets it.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use carom_viewer::{Recording, Server, Settings, Source, Start};
use tungstenite::Message;

use crate::client::{Page, live, load};

#[test]
fn a_page_gets_scene_status_and_frames() {
    let server = live("humanoid.xml", false);
    let mut page = Page::open(&server);
    let Message::Text(first) = page.next() else {
        panic!("the scene comes first");
    };
    let scene: serde_json::Value = serde_json::from_str(first.as_str()).unwrap();
    assert_eq!(scene["type"], "scene");
    let bodies = scene["scene"]["bodies"].as_array().unwrap().len();
    let status = page.json(|message| message["type"] == "status");
    assert_eq!(status["mode"], "live");
    assert_eq!(status["paused"], false);
    assert!(status["frames"].is_null() && status["error"].is_null());
    let first = page.frame(|_| true);
    assert_eq!(first.poses.len(), bodies);
    let later = page.frame(|frame| frame.time > first.time + 0.1);
    assert!(later.number > first.number);
    page.json(|message| message["real_time_factor"].as_f64() > Some(0.0));
}

#[test]
fn a_page_steers_the_simulation() {
    let server = live("cartpole.xml", true);
    let mut page = Page::open(&server);
    page.say(r#"{"type":"qpos","index":1,"value":0.5}"#);
    page.frame(|frame| frame.qpos[1] == 0.5 && frame.time == 0.0);
    page.say(r#"{"type":"control","index":0,"value":0.25}"#);
    page.frame(|frame| frame.ctrl[0] == 0.25);
    page.say(r#"{"type":"step","count":10}"#);
    let moved = page.frame(|frame| frame.time > 0.0);
    assert!(moved.qpos[1] != 0.5);
    page.say(r#"{"type":"resume"}"#);
    page.json(|message| message["paused"] == false);
    page.frame(|frame| frame.time > 0.3);
    page.say(r#"{"type":"pause"}"#);
    page.json(|message| message["paused"] == true);
    page.say(r#"{"type":"reset"}"#);
    page.frame(|frame| frame.time == 0.0 && frame.qpos[1] == 0.0);
    page.say(r#"{"type":"keyframe","index":99}"#);
    let status = page.json(|message| message["message"].is_string());
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("no keyframe 99")
    );
}

#[test]
fn dragging_moves_a_body_and_ends_with_its_page() {
    let server = live("cube.xml", false);
    let mut hand = Page::open(&server);
    let start = hand.frame(|_| true);
    let x = start.poses[1][0];
    hand.say(&format!(
        r#"{{"type":"drag","body":1,"point":[0,0,0],"target":[{},0,2]}}"#,
        x + 1.0
    ));
    hand.frame(|frame| frame.poses[1][0] > x + 0.8 && frame.poses[1][2] > 1.0);
    let mut witness = Page::open(&server);
    hand.socket.close(None).unwrap();
    drop(hand);
    // Nobody holds it any more: it falls.
    witness.frame(|frame| frame.poses[1][2] < 0.5);
}

#[test]
fn recordings_come_whole() {
    let model = load("pendulum.xml");
    let start = Start::reference(&model);
    let (run, _) = Recording::simulate("run", &model, &start, 0.5, |_| true).unwrap();
    let (ghost, _) = Recording::simulate("ghost", &model, &start, 1.0, |_| true).unwrap();
    let expected = [run.to_bytes(), ghost.to_bytes()];
    let frames = run.frames();
    let source = Source::Recordings {
        model,
        recordings: vec![run, ghost],
    };
    let server = Server::start(source, &Settings::default()).unwrap();
    let mut page = Page::open(&server);
    page.json(|message| message["type"] == "scene");
    let status = page.json(|message| message["type"] == "status");
    assert_eq!(status["mode"], "recording");
    assert_eq!(status["frames"], frames);
    assert!((status["duration"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    for bytes in expected {
        assert_eq!(page.next(), Message::binary(bytes));
    }
    // Wishes for a simulation have no effect, and do no harm.
    page.say(r#"{"type":"reset"}"#);
    page.say(r#"{"type":"shown","frame":3}"#);
    page.say("{");
    assert_eq!(page.closed().0, 1008);
}

/// A page that draws nothing is sent two frames, and then one now and then to see whether it is still there.
#[test]
fn a_page_that_draws_slowly_is_not_flooded() {
    let server = live("pendulum.xml", false);
    let mut page = Page::open(&server);
    let first = page.frame(|_| true);
    page.say(&format!(r#"{{"type":"shown","frame":{}}}"#, first.number));
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < Duration::from_secs(2) {
        if let Message::Binary(_) = page.next() {
            count += 1;
        }
    }
    // Sixty a second would be 120; a few were on their way before the answer came.
    assert!(count < 30, "{count} frames");
    assert!(count >= 3, "{count} frames");
}

#[test]
fn it_stops_with_a_word_to_its_clients() {
    let mut server = live("humanoid.xml", false);
    let address = server.address();
    let mut page = Page::open(&server);
    page.frame(|_| true);
    // One that connects and says nothing.
    let _silent = TcpStream::connect(address).unwrap();
    let begin = Instant::now();
    server.stop();
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    let (code, reason) = page.closed();
    assert_eq!(
        (code, reason.as_str()),
        (1001, "the viewer has been closed")
    );
    assert!(TcpStream::connect(address).is_err());
    server.stop();
}

#[test]
fn a_port_that_is_taken_is_refused_with_advice() {
    let server = live("pendulum.xml", true);
    let model = load("pendulum.xml");
    let start = Start::reference(&model);
    let source = || Source::Live {
        model: model.clone(),
        start: start.clone(),
        paused: true,
    };
    let settings = Settings {
        port: server.address().port(),
        ..Settings::default()
    };
    let error = Server::start(source(), &settings).unwrap_err().to_string();
    assert!(error.contains("--port"), "{error}");
    let settings = Settings {
        host: "no such host".to_owned(),
        ..Settings::default()
    };
    assert!(Server::start(source(), &settings).is_err());
}

#[test]
fn notebooks_may_frame_the_page_if_told_so() {
    let model = load("pendulum.xml");
    let start = Start::reference(&model);
    let source = Source::Live {
        model,
        start,
        paused: true,
    };
    let settings = Settings {
        in_notebooks: true,
        ..Settings::default()
    };
    let server = Server::start(source, &settings).unwrap();
    let path = server.url().split_once("/?").unwrap().1;
    let answer = crate::client::get(&server, &format!("/?{path}"), "").to_lowercase();
    assert!(
        answer.contains("frame-ancestors 'self' http://localhost:*"),
        "{answer}"
    );
}
