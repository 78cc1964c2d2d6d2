//! Length ranges of actuators.
