//! Graph networks (`carom-learn`) among recordings, shards and models: `carom learn graph` and `carom evaluate` of a network
//! without their words.

mod motions;
mod system;

pub use motions::{card, motions, read_recipe, rotated};
pub use system::{Placed, system};
