//! The carom engine: a compiled [`Model`], a [`State`], and the stages that turn them into motion.
//!
//! Read [`dynamics`] first: it is the one list of stages. [`step`] advances a state.

mod arrays;
pub mod compile;
pub mod contact_force;
pub mod contact_units;
pub mod cotangent;
pub mod coverage;
pub mod data;
pub mod dual;
pub mod dynamics;
mod error;
pub mod flow;
pub mod gradient_check;
pub mod history;
pub mod integrate;
pub mod inverse;
pub mod jacobian;
pub mod laws;
pub mod linalg;
pub mod linearize;
pub mod load;
pub mod math;
pub mod model;
pub mod mujoco;
pub mod parameters;
mod plain;
pub mod quantity;
pub mod ray;
pub mod report;
pub mod rollout;
pub mod scalar;
pub mod stages;
pub mod state;
pub mod system;
mod terms;
#[cfg(test)]
mod testing;
pub mod varied;

pub use data::Data;
pub use error::{Error, ErrorKind, Place};
pub use model::Model;
pub use plain::{forward, forward_and_sense, forward_frames, forward_motion, observe_step, step};
pub use report::StepReport;
pub use state::{Input, State};
pub use system::Dynamics;
