//! Tests of the optimisers from outside.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failing test should stop with the reason, and some tell figures"
)]

mod dual;
mod failures;
mod functions;
mod hostile;
mod mutations;
mod nist;
mod peers;
mod resume;
mod standard;
mod statistics;
