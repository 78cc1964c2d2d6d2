//! The `carom` command as its users meet it: run as a program, with good and bad input.
//!
//! Whatever it is given: no panic, no hang, an exit code that is documented, and on failure a sentence that says what and
//! where.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

mod commands;
mod documents;
mod files;
mod identify;
#[cfg(unix)]
mod interrupts;
mod mistakes;
mod outputs;
mod own_system;
mod plan;
mod quickstart;
mod random;
mod references;
mod scale;
mod shell;
mod support;
mod view;
