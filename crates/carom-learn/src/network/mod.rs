//! The graph network: encode, process, decode, with adjoints written by hand.
//!
//! Everything is flat: weights are one vector ([`Layout`] says which is where), features and latents are matrices stored row by
//! row, and whoever calls owns the memory ([`Activations`]), which keeps its size from call to call. Forward passes of training
//! and of evaluation are the same code.

mod adam;
mod block;
mod links;
mod net;
pub mod product;
mod real;
#[cfg(test)]
mod tests;

pub use adam::{Adam, AdamSettings};
pub use block::{BlockShape, Dense};
pub use links::{Link, Links};
pub use net::{Activations, Features, FeaturesBar, Layout, Net, NetShape, Readout, Topology};
pub use real::Real;
