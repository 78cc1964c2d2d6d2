//! Integration tests of the engine, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they skip"
)]

mod allocation;
mod book;
mod compile;
mod contact_map;
mod convex;
mod flow;
mod flow_adjoints;
mod from_distance;
mod golden;
mod gradient_fuzz;
mod impacts;
mod known_gradients;
mod laws;
mod models;
mod parameters;
mod physics;
#[path = "../shared/random_mjcf.rs"]
mod random_mjcf;
mod robustness;
mod stiff;
mod threads;
mod toss;
