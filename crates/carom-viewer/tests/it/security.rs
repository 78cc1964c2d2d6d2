//! Strangers at the door.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tungstenite::Message;

use crate::client::{Page, connect, get, live, raw, status, token};

#[test]
fn it_listens_on_the_loopback_interface_alone() {
    let server = live("pendulum.xml", true);
    assert!(server.address().ip().is_loopback());
    assert!(!server.is_public());
    assert!(server.url().starts_with("http://127.0.0.1:"));
}

#[test]
fn the_page_needs_the_token() {
    let server = live("pendulum.xml", true);
    let token = token(&server).to_owned();
    let page = get(&server, &format!("/?token={token}"), "");
    assert_eq!(status(&page), 200);
    assert!(page.contains("<!--carom-data-->"));
    for path in ["/", "/?token=", "/?token=0", "/?tok=1"] {
        let answer = get(&server, path, "");
        assert_eq!(status(&answer), 403, "{path}");
        assert!(!answer.contains("<html"), "{path}");
    }
    let wrong = token.replace(|digit: char| digit.is_ascii_digit(), "x");
    assert_eq!(status(&get(&server, &format!("/?token={wrong}"), "")), 403);
}

#[test]
fn headers_protect_the_page() {
    let server = live("pendulum.xml", true);
    for path in [format!("/?token={}", token(&server)), "/nothing".to_owned()] {
        let answer = get(&server, &path, "").to_lowercase();
        for line in [
            "content-security-policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:",
            "connect-src 'self'",
            "frame-ancestors 'self'\r\n",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(answer.contains(line), "{path}: {line} in {answer}");
        }
        assert!(!answer.contains("access-control-allow-origin"));
    }
}

#[test]
fn there_is_nothing_else_to_get() {
    let server = live("pendulum.xml", true);
    let token = token(&server).to_owned();
    for path in [
        "/../Cargo.toml",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/./",
        "//",
        "/index.html",
        "/ws/",
        "/src/main.rs",
    ] {
        let answer = get(&server, &format!("{path}?token={token}"), "");
        assert_eq!(status(&answer), 404, "{path}");
    }
    let address = server.address();
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!(
            "{method} /?token={token} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(status(&raw(address, &request)), 405, "{method}");
    }
}

#[test]
fn other_names_for_this_machine_are_refused() {
    let server = live("pendulum.xml", true);
    let (address, token) = (server.address(), token(&server));
    let ask = |host: &str| {
        let request =
            format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        status(&raw(address, &request))
    };
    let port = address.port();
    assert_eq!(ask(&format!("127.0.0.1:{port}")), 200);
    assert_eq!(ask(&format!("localhost:{port}")), 200);
    for host in [
        format!("evil.example:{port}"),
        "127.0.0.1:1".to_owned(),
        "127.0.0.1".to_owned(),
        format!("192.168.1.1:{port}"),
    ] {
        assert_eq!(ask(&host), 403, "{host}");
    }
}

#[test]
fn the_websocket_is_for_our_page() {
    let server = live("pendulum.xml", true);
    let own = format!("http://{}", server.address());
    let token = token(&server);
    assert!(connect(&server, &own, token).is_ok());
    for origin in [
        "",
        "null",
        "http://evil.example",
        "http://localhost",
        "https://127.0.0.1",
    ] {
        assert_eq!(connect(&server, origin, token).err(), Some(403), "{origin}");
    }
    assert_eq!(connect(&server, &own, "").err(), Some(403));
    assert_eq!(connect(&server, &own, &token[1..]).err(), Some(403));
    // A plain request to the socket is no upgrade.
    let lines = format!("Origin: {own}\r\n");
    assert_eq!(
        status(&get(&server, &format!("/ws?token={token}"), &lines)),
        400
    );
}

#[test]
fn long_messages_end_the_connection_with_a_reason() {
    let server = live("pendulum.xml", true);
    let mut page = Page::open(&server);
    // A message of just the allowed length is read, and found wrong for what it says.
    page.say(&" ".repeat(64 * 1024));
    assert_eq!(page.closed().0, 1008);
    let mut page = Page::open(&server);
    page.say(&" ".repeat(64 * 1024 + 1));
    let (code, reason) = page.closed();
    assert_eq!(code, 1009, "{reason}");
    assert!(reason.contains("65536"), "{reason}");
}

#[test]
fn messages_that_make_no_sense_end_the_connection_with_a_reason() {
    let server = live("pendulum.xml", true);
    for (text, expected) in [
        ("{", "not JSON"),
        ("{\"type\":\"explode\"}", "unknown type \"explode\""),
        (
            "{\"type\":\"control\",\"index\":0}",
            "\"value\" must be a number",
        ),
    ] {
        let mut page = Page::open(&server);
        page.say(text);
        assert_eq!(page.closed(), (1008, expected.to_owned()));
    }
    let mut page = Page::open(&server);
    page.socket.send(Message::binary(vec![0_u8; 8])).unwrap();
    assert_eq!(page.closed().0, 1003);
    // The others are served as before.
    let mut page = Page::open(&server);
    page.json(|message| message["type"] == "scene");
}

#[test]
fn there_is_a_limit_to_clients() {
    let server = live("pendulum.xml", true);
    let mut pages: Vec<_> = (0..carom_viewer::server::MAX_CLIENTS)
        .map(|_| Page::open(&server))
        .collect();
    let own = format!("http://{}", server.address());
    let refused = connect(&server, &own, token(&server));
    assert_eq!(refused.err(), Some(503));
    // When one leaves there is room again.
    let mut leaving = pages.pop().unwrap();
    leaving.socket.close(None).unwrap();
    drop(leaving);
    let begin = Instant::now();
    while connect(&server, &own, token(&server)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(10), "no room again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nonsense_instead_of_http_does_no_harm() {
    let server = live("pendulum.xml", true);
    let address = server.address();
    for bytes in [&b"\x16\x03\x01\x02\x00\x01"[..], &[0; 1000], b"GET\r\n\r\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
    }
    let long = format!("/?token={}", "a".repeat(1 << 20));
    let mut stream = TcpStream::connect(address).unwrap();
    // The server may hang up before all of it is written.
    let _ = stream.write_all(format!("GET {long} HTTP/1.1\r\n\r\n").as_bytes());
    let page = get(&server, &format!("/?token={}", token(&server)), "");
    assert_eq!(status(&page), 200);
}

#[test]
fn half_requests_keep_nobody_out_and_do_not_last() {
    let server = live("pendulum.xml", true);
    let address = server.address();
    let begin = Instant::now();
    let strangers: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .write_all(b"GET /?token=0 HTTP/1.1\r\nHost: ")
                .unwrap();
            stream
        })
        .collect();
    let page = get(&server, &format!("/?token={}", token(&server)), "");
    assert_eq!(status(&page), 200);
    let mut watching = Page::open(&server);
    watching.json(|message| message["type"] == "scene");
    assert!(
        begin.elapsed() < Duration::from_secs(4),
        "they were waited for"
    );
    for mut stream in strangers {
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        // Hung up on, whether with a goodbye or without: anything but a connection that stays.
        let outcome = stream.read(&mut [0; 256]);
        let is_open = outcome.as_ref().is_err_and(|cause| {
            matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        });
        assert!(!is_open, "{outcome:?}");
    }
    // Those who brought the token stay.
    watching.say("{\"type\":\"step\"}");
    watching.json(|message| message["type"] == "status");
}
