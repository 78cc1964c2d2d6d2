//! A rigid-body simulator whose every number has a gradient: model files in, motions and derivatives out.
//!
//! ```
//! use carom::parameters::Parameters;
//! use carom::rollout::{Controls, RolloutBar, rollout};
//! use carom::{Data, State};
//!
//! let model = carom::load::file("../../models/pendulum.xml".as_ref(), &[])?.model;
//! let (start, controls) = (State::reference(&model), Controls::Zero);
//! let motion = rollout(&model, &start, &controls, 100, &mut Data::new(&model));
//!
//! // How does the last angle change with the damping of the joints?
//! let mut loss = RolloutBar::zeros(&motion);
//! loss.qpos_mut(100)[0] = 1.0;
//! let gradient = motion.backward(&model, &controls, &mut loss)?;
//! let damping = Parameters::select(&model, &["joint.*.damping"])?;
//! println!("{:?}", damping.pull_back(damping.theta0(), &gradient)?);
//! # Ok::<(), carom::Error>(())
//! ```
//!
//! A [`Model`] is compiled once and never changes, a [`State`] is what moves, an [`Input`] what drives it, and [`Data`] holds
//! what each stage of a step computes. Every error is an [`Error`].
//!
//! | I want to | there is |
//! |---|---|
//! | load MJCF or URDF, or build a model in code | [`load`], `carom_spec::builder`, [`compile`] |
//! | simulate step by step | [`step`], [`StepReport`] |
//! | compute accelerations, sensors and energies of a state | [`forward`], [`forward_and_sense`], [`dynamics`] |
//! | simulate trajectories, many at once, with gradients | [`rollout`] |
//! | simulate in continuous time, to a tolerance, with gradients through impacts | [`flow`] |
//! | name parameters of a model, set them, pull gradients back to them | [`parameters`] |
//! | linearise a step: A, B and Jacobians with respect to parameters | [`linearize`], [`varied`] |
//! | compute inverse dynamics, or Jacobians of points | [`inverse`], [`jacobian`] |
//! | cast rays, read forces of single contacts | [`ray`], [`contact_force`] |
//! | choose a contact law | [`laws`] |
//! | find a quantity of the model with its unit, its range and MuJoCo's name | [`quantity`], [`model`] |
//! | step something else than a model | [`system`], the trait [`Dynamics`] |
//! | step over dual numbers, or along tangents of configurations | [`varied`], [`Scalar`], [`integrate_positions`], [`difference`] |
//! | read the engine | [`dynamics`] first: it is the one list of [`stages`] |
//!
//! Recordings, losses on them and identification are in the crate `carom-tasks`; arrays under MuJoCo's names, and models
//! that MuJoCo has compiled, in `carom-mujoco`; contact parameters in physical
//! units in `carom-contact-units`; the question whether gradients are right in `carom-gradient-check`.

mod arrays;
pub mod compile;
pub mod contact_force;
pub mod cotangent;
pub mod coverage;
mod data;
pub mod dynamics;
mod error;
pub mod flow;
mod history;
mod integrate;
pub mod inverse;
pub mod jacobian;
pub mod laws;
mod linalg;
pub mod linearize;
pub mod load;
pub mod math;
pub mod model;
pub mod parameters;
mod plain;
pub mod plan_view;
pub mod quantity;
pub mod ray;
pub mod report;
pub mod rollout;
pub mod stages;
mod state;
pub mod system;
mod terms;
#[cfg(test)]
mod testing;
pub mod varied;

use carom_scalar::{dual, scalar};

pub use carom_scalar::{Dual, Scalar};
pub use data::Data;
pub use error::{Error, ErrorKind, Place};
pub use history::History;
pub use integrate::{difference, integrate_positions};
pub use model::Model;
pub use plain::{
    forward, forward_and_sense, forward_frames, forward_kinematics, forward_motion, observe_step,
    step,
};
pub use report::StepReport;
pub use state::{Input, State};
pub use system::Dynamics;
