//! Integration tests of the model readers.

mod mjcf_models;
mod models;
mod mutations;
mod robustness;
mod round_trip;
mod urdf;
