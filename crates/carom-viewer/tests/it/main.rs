//! Tests of the viewer from outside: every model as scene and frame, and the server as browsers and strangers meet it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they skip"
)]

mod client;
mod frames;
mod models;
mod security;
mod serving;
