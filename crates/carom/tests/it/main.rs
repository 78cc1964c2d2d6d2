//! Integration tests of the engine, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they skip"
)]

mod allocation;
mod compile;
mod convex;
mod from_distance;
mod gradients;
mod laws;
mod models;
mod parameters;
mod physics;
mod robustness;
mod threads;
