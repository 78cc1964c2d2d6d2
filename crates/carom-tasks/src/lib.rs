//! Real motions and what one does with them: recordings, losses on them, and the errors of a model.
//!
//! [`recording`] reads files and says what they mean for a model.

pub mod npz;
pub mod recording;
