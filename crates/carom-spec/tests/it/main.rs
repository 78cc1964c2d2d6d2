//! Integration tests of the model readers.

mod mjcf_models;
mod models;
mod round_trip;
