//! The carom engine.
