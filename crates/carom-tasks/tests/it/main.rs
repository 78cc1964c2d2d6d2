//! Tests of recordings, losses and problems through their public interface.

mod bad_recordings;
mod bags;
mod datasets;
mod documents;
mod identify;
mod loading;
mod problems;
mod support;
mod velocities;
