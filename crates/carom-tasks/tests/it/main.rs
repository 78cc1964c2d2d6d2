//! Tests of recordings, losses and problems through their public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and say what they skip"
)]

mod bad_recordings;
mod bags;
mod calibrated;
mod contact_intervals;
mod datasets;
mod dependence;
mod discover;
mod documents;
mod evaluate;
mod free_starts;
mod geometry;
#[path = "../../examples/hidden/mod.rs"]
mod hidden_made;
mod identify;
mod identify_checks;
mod learn;
mod learn_mutations;
mod loading;
mod mutations;
mod plan;
mod problems;
mod real_robots;
mod recovery;
mod support;
mod throws;
#[path = "../../examples/throws/mod.rs"]
mod throws_made;
mod torques;
mod velocities;
mod verdict;
