//! Training: motions in, a network out.
//!
//! A step takes some frames, perturbs them, asks the network for accelerations and changes of velocity of all nodes, and goes
//! down the gradient. Everything random depends on the seed and the number of the step, so that a training that was interrupted
//! goes on to the same bits.

mod motion;
mod sample;
#[cfg(test)]
mod tests;
mod trainer;

pub use motion::{Motion, Motions, RolloutErrors};
pub use trainer::{Progress, Recipe, State, Trainer};
