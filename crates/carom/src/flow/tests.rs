//! Motions that need a look inside; see the integration tests for others.

mod from_distance;
