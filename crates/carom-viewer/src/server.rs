//! The server: the page and one websocket, for the browser on this machine.
//!
//! It listens on the loopback interface unless told otherwise. Its address holds a random token that every request must
//! bring; `Host` and `Origin` are checked besides, so that no other site that is open in the browser can reach it, and
//! connections without it do not last (`door.rs`). A slow client gets the newest frame when it is ready for one, never a queue.

mod access;
mod client;
mod door;
mod doorway;

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Utf8Bytes, WebSocketUpgrade};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use carom::Model;
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::live::{Live, Start};
use crate::message::MAX_MESSAGE_BYTES;
use crate::recording::Recording;
use crate::status::Status;
use crate::{PAGE, export::MAX_RECORDINGS, scene};
use access::{Access, random_token};
use door::{Door, Visitor};
use doorway::Doorway;

/// Clients that are served at once.
pub const MAX_CLIENTS: usize = 32;

/// Time that connections have to end when the server stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// Where to listen, and who may frame the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name or address of the interface; other machines can connect if it is not the loopback interface.
    pub host: String,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// Whether pages of other servers on this machine, such as a notebook's, may show the page in a frame.
    pub in_notebooks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            in_notebooks: false,
        }
    }
}

/// What is shown.
#[derive(Clone, Debug)]
pub enum Source {
    /// A simulation that runs while somebody watches.
    Live {
        /// The model.
        model: Arc<Model>,
        /// Where it begins.
        start: Start,
        /// Whether it waits for the page to let it run.
        paused: bool,
    },
    /// A motion, and perhaps a second one as its ghost.
    Recordings {
        /// The model.
        model: Arc<Model>,
        /// The motions.
        recordings: Vec<Recording>,
    },
}

/// Why there is no server.
#[derive(Debug)]
pub struct ServerError(String);

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    url: String,
    address: SocketAddr,
    doorway: Option<Doorway>,
    /// The process whose threads serve: a forked child has a copy of this value, but not of them.
    process: u32,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server in a thread of its own.
    ///
    /// # Errors
    /// When it cannot listen there, or the system has no randomness or no thread to give.
    pub fn start(source: Source, settings: &Settings) -> Result<Self, ServerError> {
        let listener = listen(settings)?;
        let failed = |what: &str, cause: &dyn fmt::Display| {
            ServerError(format!("cannot start the viewer: {what}: {cause}"))
        };
        let address = listener
            .local_addr()
            .map_err(|cause| failed("no address", &cause))?;
        let token = random_token().map_err(|cause| failed("no random numbers", &cause))?;
        let url = format!(
            "http://{}/?token={token}",
            access::authority(&settings.host, address)
        );
        let feed = Feed::new(source).map_err(|cause| failed("no thread", &cause))?;
        let (stop, stopping) = watch::channel(false);
        let shared = Arc::new(Shared {
            access: Access::new(&settings.host, address, token),
            policy: content_policy(settings.in_notebooks),
            feed,
            slots: Arc::new(Semaphore::new(MAX_CLIENTS)),
            stopping,
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|cause| failed("no runtime", &cause))?;
        let thread = std::thread::Builder::new()
            .name("carom viewer".to_owned())
            .spawn(move || {
                // Nobody is left to be told if accepting connections fails for good.
                let _ = runtime.block_on(serve(listener, shared));
                runtime.shutdown_timeout(FAREWELL);
            })
            .map_err(|cause| failed("no thread", &cause))?;
        Ok(Self {
            url,
            address,
            doorway: None,
            process: std::process::id(),
            stop,
            thread: Some(thread),
        })
    }

    /// The address to open, token included.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A file that leads a browser to the address and that only this user can read; it goes when the server stops.
    ///
    /// Open this one by a program: an address among its arguments would show the token to every account of the machine.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn doorway(&mut self) -> std::io::Result<&Path> {
        let doorway = match self.doorway.take() {
            Some(doorway) => doorway,
            None => Doorway::to(&self.url)?,
        };
        Ok(self.doorway.insert(doorway).path())
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether other machines can reach it.
    pub fn is_public(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Ends all connections and the simulation. In a forked child of the process that started it, it does nothing.
    pub fn stop(&mut self) {
        if self.process != std::process::id() {
            // Neither the thread nor the file is ours to end, and a lock of the channel may be held for ever.
            std::mem::forget((self.thread.take(), self.doorway.take()));
            return;
        }
        // It may have stopped already.
        let _ = self.stop.send(true);
        self.doorway = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Serves until the user interrupts the program (Ctrl-C), then stops.
    ///
    /// # Errors
    /// When interrupts cannot be waited for.
    pub fn until_interrupted(mut self) -> Result<(), ServerError> {
        let wait = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()?;
            runtime.block_on(tokio::signal::ctrl_c())
        };
        let outcome = wait();
        self.stop();
        outcome.map_err(|cause| ServerError(format!("cannot wait for Ctrl-C: {cause}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn listen(settings: &Settings) -> Result<TcpListener, ServerError> {
    let (host, port) = (settings.host.as_str(), settings.port);
    let fail = |cause: &dyn fmt::Display| {
        ServerError(format!(
            "cannot listen on {host}, port {port}: {cause}; choose another --port or --host"
        ))
    };
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let mut addresses = (name, port)
        .to_socket_addrs()
        .map_err(|cause| fail(&cause))?;
    let address = addresses.next().ok_or_else(|| fail(&"no such address"))?;
    let listener = TcpListener::bind(address).map_err(|cause| fail(&cause))?;
    listener
        .set_nonblocking(true)
        .map_err(|cause| fail(&cause))?;
    Ok(listener)
}

/// What clients are served with.
struct Shared {
    access: Access,
    policy: String,
    feed: Feed,
    slots: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

/// Where frames come from.
struct Feed {
    /// The first message: the scene.
    scene: Utf8Bytes,
    kind: FeedKind,
}

enum FeedKind {
    Live(Live),
    Recordings {
        status: Utf8Bytes,
        parts: Vec<Bytes>,
    },
}

impl Feed {
    fn new(source: Source) -> std::io::Result<Self> {
        Ok(match source {
            Source::Live {
                model,
                start,
                paused,
            } => Self {
                scene: scene_message(&model, false),
                kind: FeedKind::Live(Live::start(model, start, paused)?),
            },
            Source::Recordings { model, recordings } => {
                let recordings = &recordings[..recordings.len().min(MAX_RECORDINGS)];
                let has_gradients = recordings.iter().any(Recording::has_gradients);
                let frames = recordings.first().map_or(0, Recording::frames);
                let longest = recordings.iter().map(Recording::duration);
                let status = Status {
                    paused: true,
                    speed: 1.0,
                    recording: Some((frames, longest.fold(0.0, f64::max))),
                    ..Status::default()
                };
                let parts = recordings.iter().map(|film| Bytes::from(film.to_bytes()));
                Self {
                    scene: scene_message(&model, has_gradients),
                    kind: FeedKind::Recordings {
                        status: status.to_json().into(),
                        parts: parts.collect(),
                    },
                }
            }
        })
    }
}

fn scene_message(model: &Model, has_gradients: bool) -> Utf8Bytes {
    let scene = scene::scene(model, has_gradients);
    json!({"type": "scene", "scene": scene}).to_string().into()
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) -> std::io::Result<()> {
    let door = Door::new(tokio::net::TcpListener::from_std(listener)?);
    let mut stopping = shared.stopping.clone();
    let policy = shared.policy.clone();
    let routes = Router::new()
        .route("/", get(page))
        .route("/ws", get(connect))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here\n") })
        .layer(axum::middleware::map_response(move |response| {
            let policy = policy.clone();
            async move { protected(response, &policy) }
        }))
        .with_state(Arc::clone(&shared));
    let stopped = {
        let mut stopping = stopping.clone();
        async move {
            // A sender that is gone means the same.
            let _ = stopping.wait_for(|stop| *stop).await;
        }
    };
    let server = axum::serve(
        door,
        routes.into_make_service_with_connect_info::<Visitor>(),
    )
    .with_graceful_shutdown(stopped);
    tokio::select! {
        outcome = server => outcome,
        () = async {
            let _ = stopping.wait_for(|stop| *stop).await;
            // Clients that are slow to say goodbye are left.
            tokio::time::sleep(FAREWELL).await;
        } => Ok(()),
    }
}

/// `GET /`: the page.
async fn page(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match shared.access.check_page(&uri, &headers) {
        Ok(()) => {
            visitor.admit();
            Html(PAGE).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// `GET /ws`: the websocket.
async fn connect(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refusal) = shared.access.check_socket(&uri, &headers) {
        return refusal.into_response();
    }
    visitor.admit();
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() else {
        let message = "too many pages watch already; close one\n";
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    };
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| async move {
            client::serve(socket, &shared).await;
            drop(slot);
        })
}

/// The page may do what it is made for and nothing else; it needs no network beyond the websocket.
fn content_policy(in_notebooks: bool) -> String {
    let frames = if in_notebooks {
        "'self' http://localhost:* http://127.0.0.1:* vscode-webview:"
    } else {
        "'self'"
    };
    format!(
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
         font-src data:; worker-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors {frames}"
    )
}

fn protected(mut response: Response, policy: &str) -> Response {
    let fixed = [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    let headers = response.headers_mut();
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
