//! Real motions and what one does with them: recordings, losses on them, and the errors of a model.
//!
//! [`recording`] reads files and says what they mean for a model, [`loss`] says how far predictions are from them, [`problem`] makes of
//! both a function of unknowns with derivatives, [`identify`] finds the unknowns, [`evaluate`] measures the errors of a model as it is.

mod error;
pub mod evaluate;
pub mod identify;
pub mod loss;
pub mod npz;
pub mod problem;
pub mod recording;

pub use carom::{Error, ErrorKind, Place};
