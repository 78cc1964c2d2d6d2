//! Connections that have not shown the token yet: few, and not for long.
//!
//! Whoever has not sent an admitted request within [`PATIENCE`] is hung up on. Where more than [`MAX_WAITING`] wait,
//! the one that has waited longest goes first, so that strangers with half a request keep nobody else out.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

/// Time to send a request with the token.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that may wait at once; browsers open some six at a time.
pub(super) const MAX_WAITING: usize = 64;

/// Accepts connections.
pub(super) struct Door {
    listener: TcpListener,
    /// Those that have not been admitted when last looked at, oldest first.
    waiting: VecDeque<Weak<Pass>>,
}

impl Door {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            waiting: VecDeque::new(),
        }
    }

    /// Makes room for one more.
    fn expel_oldest(&mut self) {
        let is_waiting = |pass: &Weak<Pass>| pass.upgrade().is_some_and(|pass| !pass.is_admitted());
        self.waiting.retain(is_waiting);
        while self.waiting.len() >= MAX_WAITING {
            if let Some(pass) = self.waiting.pop_front().and_then(|pass| pass.upgrade()) {
                pass.expel();
            }
        }
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        self.expel_oldest();
        let pass = Arc::new(Pass::default());
        self.waiting.push_back(Arc::downgrade(&pass));
        let connection = Connection {
            stream,
            pass,
            patience: Box::pin(sleep(PATIENCE)),
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What is known of a connection at the door.
#[derive(Debug, Default)]
struct Pass {
    is_admitted: AtomicBool,
    is_expelled: AtomicBool,
    /// Who waits for its bytes.
    reader: Mutex<Option<Waker>>,
}

impl Pass {
    fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Acquire)
    }

    fn remember(&self, waker: &Waker) {
        *self.reader() = Some(waker.clone());
    }

    fn expel(&self) {
        self.is_expelled.store(true, Ordering::Release);
        if let Some(reader) = self.reader().take() {
            reader.wake();
        }
    }

    fn reader(&self) -> MutexGuard<'_, Option<Waker>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sender of a request, as its handlers see it.
#[derive(Clone, Debug)]
pub(super) struct Visitor(Arc<Pass>);

impl Visitor {
    /// The token was right: the connection may stay.
    pub(super) fn admit(&self) {
        self.0.is_admitted.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Door>> for Visitor {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        Self(Arc::clone(&stream.io().pass))
    }
}

/// A connection that ends by itself unless it is admitted in time.
pub(super) struct Connection {
    stream: TcpStream,
    pass: Arc<Pass>,
    patience: Pin<Box<Sleep>>,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.pass.is_admitted() {
            self.pass.remember(context.waker());
            let is_expelled = self.pass.is_expelled.load(Ordering::Acquire);
            if is_expelled || self.patience.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        Pin::new(&mut self.stream).poll_read(context, bytes)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
