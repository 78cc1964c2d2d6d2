//! Five pages for a while, one of which hardly reads: memory must not grow.
//!
//! `CAROM_SOAK_SECONDS` says how long (10 unless told); `cargo xtask soak-viewer` sets it. A test of its own program, so
//! that no other test uses the memory that is measured.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they measure"
)]

use std::fmt::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use carom_spec::mjcf::ReadSettings;
use carom_viewer::{Server, Settings, Source, Start};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Bodies that stand in the scene: frames are large (112 kB), so that a queue of them would show at once.
const BODIES: usize = 4000;

/// What memory may grow by after the warm-up (bytes). A queue of 60 frames would take more.
const ALLOWED: u64 = 4 << 20;

/// Pages that read what they get.
const QUICK: usize = 4;

/// Resident memory of this program (bytes), where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

fn server() -> Server {
    let mut text = String::from("<mujoco><option timestep='0.005' gravity='0 0 0'/><worldbody>");
    for body in 0..BODIES {
        let (x, y) = (body % 64, body / 64);
        let joint = if body % 200 == 0 { "<freejoint/>" } else { "" };
        let geom = "<geom size='0.1' contype='0' conaffinity='0'/>";
        let _ = write!(text, "<body pos='{x} {y} 0'>{joint}{geom}</body>");
    }
    text.push_str("</worldbody></mujoco>");
    let files = carom_spec::MemorySource::new().with("model.xml", text);
    let read = carom_spec::read::read("model.xml".as_ref(), &files, &ReadSettings::default());
    let model = Arc::new(carom::load::compiled(read).unwrap().model);
    let start = Start::reference(&model);
    let source = Source::Live {
        model,
        start,
        paused: false,
    };
    Server::start(source, &Settings::default()).unwrap()
}

fn connect(server: &Server) -> WebSocket<TcpStream> {
    let (address, token) = (
        server.address(),
        server.url().split_once("token=").unwrap().1,
    );
    let mut request = format!("ws://{address}/ws?token={token}")
        .into_client_request()
        .unwrap();
    let origin = format!("http://{address}").parse().unwrap();
    request.headers_mut().insert("Origin", origin);
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    tungstenite::client(request, stream).unwrap().0
}

fn frame_number(message: &Message) -> Option<u32> {
    let Message::Binary(bytes) = message else {
        return None;
    };
    Some(u32::from_le_bytes(bytes[4..8].try_into().unwrap()))
}

#[test]
fn memory_does_not_grow() {
    let seconds = std::env::var("CAROM_SOAK_SECONDS").ok();
    let seconds: f64 = seconds.map_or(10.0, |text| text.parse().unwrap());
    let server = server();
    let (done, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut measured = Vec::new();
    let skipped = std::thread::scope(|scope| {
        for page in 0..QUICK {
            let mut socket = connect(&server);
            let (done, read) = (&done, &read);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if let Some(frame) = frame_number(&socket.read().unwrap()) {
                        read.fetch_add(1, Ordering::Relaxed);
                        // Every second page says what it has drawn.
                        if page % 2 == 0 {
                            let shown = format!(r#"{{"type":"shown","frame":{frame}}}"#);
                            socket.send(Message::text(shown)).unwrap();
                        }
                    }
                }
            });
        }
        let mut slow = connect(&server);
        let done_flag = &done;
        let slow = scope.spawn(move || {
            let (mut last, mut most) = (None, 0);
            while !done_flag.load(Ordering::Relaxed) {
                if let Some(frame) = frame_number(&slow.read().unwrap()) {
                    if let Some(last) = last.replace(frame) {
                        most = most.max(frame - last);
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
            }
            most
        });
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < seconds {
            std::thread::sleep(Duration::from_millis(250));
            measured.extend(resident().map(|bytes| (begin.elapsed().as_secs_f64(), bytes)));
        }
        done.store(true, Ordering::Relaxed);
        slow.join().unwrap()
    });
    let frames = read.load(Ordering::Relaxed);
    let rate = frames as f64 / QUICK as f64 / seconds;
    println!("{frames} frames to {QUICK} pages in {seconds} s: {rate:.1} a second each");
    println!("the slow page missed up to {skipped} frames between two that it got");
    assert!(rate > 2.0, "{rate} frames a second");
    assert_memory(&measured, seconds);
}

fn assert_memory(measured: &[(f64, u64)], seconds: f64) {
    // Buffers grow to their size first.
    let warm = measured
        .iter()
        .filter(|(time, _)| *time > seconds.min(60.0) * 0.4);
    let Some(first) = warm.clone().next() else {
        carom_testing::skip("this system does not tell how much memory a program uses");
        return;
    };
    let most = warm.max_by_key(|(_, bytes)| *bytes).unwrap_or(first);
    let growth = most.1.saturating_sub(first.1);
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "memory: {:.1} MB after {:.0} s, at most {:.1} MB at {:.0} s: grown by {:.2} MB",
        megabytes(first.1),
        first.0,
        megabytes(most.1),
        most.0,
        megabytes(growth)
    );
    assert!(growth < ALLOWED, "memory grew by {growth} bytes");
}
