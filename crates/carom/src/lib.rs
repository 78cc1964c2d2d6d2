//! The carom engine.

pub mod dual;
pub mod linalg;
pub mod math;
pub mod scalar;
