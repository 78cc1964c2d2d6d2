//! Many runs of a kind: sampled by a recipe, simulated by the engine, stored as shards for learners.

pub mod manifest;
mod recorded;
pub mod shards;
