//! Integration tests of the check of gradients, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they found"
)]

mod trajectories;
