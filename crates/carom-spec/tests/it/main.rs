//! Integration tests of the model readers.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failing test should stop with the reason"
)]

mod mjcf_markdown;
mod mjcf_models;
mod mjcf_robustness;
mod mjcf_values;
mod models;
mod mutations;
mod robustness;
mod round_trip;
mod urdf;
