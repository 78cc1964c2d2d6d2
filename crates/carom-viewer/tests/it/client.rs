//! Plain clients: a TCP socket that speaks HTTP, and a websocket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use carom::Model;
use carom_viewer::{Server, Settings, Source, Start};
use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Longest that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn load(name: &str) -> Arc<Model> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models")
        .join(name);
    Arc::new(carom::load::file(&path, &[]).unwrap().model)
}

/// A server of a simulation of a shipped model.
pub(crate) fn live(name: &str, paused: bool) -> Server {
    let model = load(name);
    let start = Start::reference(&model);
    let source = Source::Live {
        model,
        start,
        paused,
    };
    Server::start(source, &Settings::default()).unwrap()
}

pub(crate) fn token(server: &Server) -> &str {
    server.url().split_once("token=").unwrap().1
}

/// Sends bytes as they are and returns the answer's text, up to its end or a while.
pub(crate) fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        answer.extend(&part[..count]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// `GET` with the right host and further header lines.
pub(crate) fn get(server: &Server, path: &str, lines: &str) -> String {
    let address = server.address();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n");
    raw(address, &request)
}

pub(crate) fn status(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status in {answer:?}"))
}

/// A page, as far as the server can tell.
pub(crate) struct Page {
    pub(crate) socket: WebSocket<TcpStream>,
}

/// A connection attempt with chosen origin and token.
pub(crate) fn connect(server: &Server, origin: &str, token: &str) -> Result<Page, u16> {
    let address = server.address();
    let mut request = format!("ws://{address}/ws?token={token}")
        .into_client_request()
        .unwrap();
    if !origin.is_empty() {
        request
            .headers_mut()
            .insert("Origin", origin.parse().unwrap());
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(Page { socket }),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            Err(answer.status().as_u16())
        }
        Err(other) => panic!("{other}"),
    }
}

impl Page {
    pub(crate) fn open(server: &Server) -> Self {
        let origin = format!("http://{}", server.address());
        let page = connect(server, &origin, token(server));
        page.unwrap_or_else(|code| panic!("refused with {code}"))
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub(crate) fn next(&mut self) -> Message {
        self.socket.read().unwrap()
    }

    /// The next JSON message that fits.
    pub(crate) fn json(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Message::Text(text) = self.next() {
                let value: Value = serde_json::from_str(text.as_str()).unwrap();
                if fits(&value) {
                    return value;
                }
            }
        }
        panic!("no such message came");
    }

    /// The next frame that fits.
    pub(crate) fn frame(&mut self, mut fits: impl FnMut(&Frame) -> bool) -> Frame {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Message::Binary(bytes) = self.next() {
                let frame = Frame::read(&bytes);
                if fits(&frame) {
                    return frame;
                }
            }
        }
        panic!("no such frame came");
    }

    /// Code and reason with which the server closes.
    pub(crate) fn closed(&mut self) -> (u16, String) {
        loop {
            match self.socket.read() {
                Ok(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Ok(_) => {}
                Err(cause) => panic!("closed without a reason: {cause}"),
            }
        }
    }
}

/// A frame, read as the page reads it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) number: u32,
    pub(crate) time: f64,
    pub(crate) energy: [f64; 2],
    pub(crate) poses: Vec<[f32; 7]>,
    pub(crate) contacts: Vec<[f32; 9]>,
    pub(crate) tendons: Vec<[f32; 4]>,
    pub(crate) qpos: Vec<f32>,
    pub(crate) ctrl: Vec<f32>,
    pub(crate) sensors: Vec<f32>,
}

impl Frame {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let real = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(&bytes[..4], b"CRF1");
        let counts: Vec<usize> = (0..6).map(|index| word(32 + 4 * index) as usize).collect();
        let (words, rest) = bytes[64..].as_chunks::<4>();
        assert!(rest.is_empty());
        let mut numbers = words.iter().map(|word| f32::from_le_bytes(*word));
        let mut take = |count: usize| numbers.by_ref().take(count).collect::<Vec<f32>>();
        let frame = Self {
            number: word(4),
            time: real(8),
            energy: [real(16), real(24)],
            poses: grouped(&take(7 * counts[0])),
            contacts: grouped(&take(9 * counts[1])),
            tendons: grouped(&take(4 * counts[2])),
            qpos: take(counts[3]),
            ctrl: take(counts[4]),
            sensors: take(counts[5]),
        };
        let gradient = take(usize::MAX);
        let has_gradient = word(56) & 1 == 1;
        let expected = if has_gradient { 3 * counts[0] } else { 0 };
        assert_eq!(gradient.len(), expected, "the frame has another length");
        frame
    }
}

fn grouped<const N: usize>(numbers: &[f32]) -> Vec<[f32; N]> {
    let (groups, rest) = numbers.as_chunks::<N>();
    assert!(rest.is_empty(), "the frame is too short");
    groups.to_vec()
}
