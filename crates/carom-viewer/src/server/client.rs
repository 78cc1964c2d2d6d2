//! One page that is connected.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message as Packet, WebSocket, close_code};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{FeedKind, Shared};
use crate::live::Live;
use crate::message::{MAX_MESSAGE_BYTES, Message};

/// Time that a client has to take a packet before it is given up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A page that says which frames it has drawn gets no more than two ahead, unless it has been silent for so long.
const SILENCE: Duration = Duration::from_millis(500);

/// Time between attempts to hand a message to a simulation that is busy.
const RETRY: Duration = Duration::from_millis(2);

/// Why a conversation ends.
enum End {
    /// The client has gone.
    Gone,
    /// We end it: code and reason.
    Close(u16, String),
}

/// Serves a client until it or the server ends.
pub(super) async fn serve(mut socket: WebSocket, shared: &Shared) {
    let mut stopping = shared.stopping.clone();
    let end = tokio::select! {
        end = converse(&mut socket, shared) => end,
        _ = stopping.wait_for(|stop| *stop) => {
            End::Close(close_code::AWAY, "the viewer has been closed".to_owned())
        }
    };
    if let End::Close(code, reason) = end {
        let reason = reason.into();
        let goodbye = socket.send(Packet::Close(Some(CloseFrame { code, reason })));
        // It may not listen any more.
        let _ = tokio::time::timeout(Duration::from_millis(500), goodbye).await;
    }
}

async fn converse(socket: &mut WebSocket, shared: &Shared) -> End {
    let feed = &shared.feed;
    let outcome = async {
        send(socket, Packet::Text(feed.scene.clone())).await?;
        match &feed.kind {
            FeedKind::Live(live) => stream(socket, live).await,
            FeedKind::Recordings { status, parts } => {
                send(socket, Packet::Text(status.clone())).await?;
                for part in parts {
                    send(socket, Packet::Binary(part.clone())).await?;
                }
                loop {
                    read(socket.recv().await)?;
                }
            }
        }
    };
    let result: Result<std::convert::Infallible, End> = outcome.await;
    match result {
        Err(end) => end,
    }
}

/// Frames and status to the page, its wishes to the simulation.
async fn stream(socket: &mut WebSocket, live: &Live) -> Result<std::convert::Infallible, End> {
    let _watching = live.watch();
    let mut grip = Grip { live, held: false };
    let (mut frames, mut status) = (live.frames(), live.status());
    let mut flow = Flow::default();
    status.mark_changed();
    frames.mark_changed();
    loop {
        let wait = flow.wait();
        tokio::select! {
            packet = socket.recv() => match read(packet)? {
                Some(Message::Shown(frame)) => flow.shown = Some(frame),
                Some(message) => grip.pass(message).await,
                None => {}
            },
            changed = status.changed() => {
                alive(changed)?;
                let text = status.borrow_and_update().to_json();
                send(socket, Packet::Text(text.into())).await?;
            }
            changed = frames.changed(), if wait.is_none() => {
                alive(changed)?;
                let frame = frames.borrow_and_update().clone();
                if !frame.is_empty() {
                    flow.sent(&frame);
                    send(socket, Packet::Binary(frame)).await?;
                }
            }
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

/// Which frames are on their way.
#[derive(Default)]
struct Flow {
    /// The last frame that the page has drawn, if it ever said so.
    shown: Option<u32>,
    /// The last two frames that were sent.
    numbers: [Option<u32>; 2],
    last: Option<Instant>,
}

impl Flow {
    /// How long to wait until the next frame may be sent; none if it may go.
    fn wait(&self) -> Option<Duration> {
        let (shown, before, last) = (self.shown?, self.numbers[0]?, self.last?);
        // Numbers start again after the largest; half of them are ahead.
        let is_behind = before.wrapping_sub(shown).wrapping_sub(1) < u32::MAX / 2;
        let left = SILENCE.saturating_sub(last.elapsed());
        (is_behind && !left.is_zero()).then_some(left)
    }

    fn sent(&mut self, frame: &Bytes) {
        let number = frame.get(4..8).and_then(|bytes| bytes.try_into().ok());
        self.numbers = [self.numbers[1], number.map(u32::from_le_bytes)];
        self.last = Some(Instant::now());
    }
}

/// A client's hand: what it holds is let go when the client leaves.
struct Grip<'a> {
    live: &'a Live,
    held: bool,
}

impl Grip<'_> {
    /// Passes a message on; waits while the simulation has too many.
    async fn pass(&mut self, message: Message) {
        match message {
            Message::Drag { .. } => self.held = true,
            Message::Release => self.held = false,
            _ => {}
        }
        let mut offered = message;
        while let Err(back) = self.live.offer(offered) {
            offered = back;
            tokio::time::sleep(RETRY).await;
        }
    }
}

impl Drop for Grip<'_> {
    fn drop(&mut self) {
        if self.held {
            // If too many messages wait, the next drag or reset ends this one.
            let _ = self.live.offer(Message::Release);
        }
    }
}

async fn send(socket: &mut WebSocket, packet: Packet) -> Result<(), End> {
    match tokio::time::timeout(PATIENCE, socket.send(packet)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

fn alive(changed: Result<(), watch::error::RecvError>) -> Result<(), End> {
    let reason = "the simulation has ended".to_owned();
    changed.map_err(|_| End::Close(close_code::ERROR, reason))
}

/// What a packet says; none if it is not for us.
fn read(packet: Option<Result<Packet, axum::Error>>) -> Result<Option<Message>, End> {
    let refuse = |code: u16, reason: String| Err(End::Close(code, reason));
    match packet {
        Some(Ok(Packet::Text(text))) => match Message::parse(text.as_str()) {
            Ok(message) => Ok(Some(message)),
            Err(reason) => refuse(close_code::POLICY, reason),
        },
        Some(Ok(Packet::Binary(_))) => refuse(
            close_code::UNSUPPORTED,
            "messages to the viewer are text".to_owned(),
        ),
        Some(Ok(Packet::Ping(_) | Packet::Pong(_))) => Ok(None),
        Some(Err(cause)) if cause.to_string().contains("too long") => refuse(
            close_code::SIZE,
            format!("messages are at most {MAX_MESSAGE_BYTES} bytes long"),
        ),
        Some(Ok(Packet::Close(_)) | Err(_)) | None => Err(End::Gone),
    }
}
