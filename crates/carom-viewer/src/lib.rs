//! Shows models, simulations and recordings in a browser.
//!
//! One page (`web/`, built into a single file) is fed in two ways: by a [`Server`] on the loopback interface, which streams
//! a [`live`] simulation or a recording through a websocket, or by [`export_html`], which writes page and data into
//! one file that opens from disk with no network.
//!
//! What goes over the wire: a [`mod@scene`] (JSON, once) and [`frame`]s (binary). `PROTOCOL.md` has all messages.

pub mod export;
pub mod frame;
pub mod gradient;
pub mod live;
mod message;
mod pull;
pub mod recording;
pub mod scene;
pub mod server;
mod simulation;
mod status;
#[cfg(test)]
mod testing;

pub use export::export_html;
pub use live::Start;
pub use recording::{Recording, Trajectory};
pub use scene::scene;
pub use server::{Server, ServerError, Settings, Source};

/// The page that shows it all, with a marker where data goes.
pub(crate) const PAGE: &str = include_str!("../web/dist/index.html");
