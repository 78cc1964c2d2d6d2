//! A gait controller for quadrupeds: forces at the feet by convex model-predictive control, torques of the joints from them.
//!
//! A [`Description`] names the trunk, the feet and the joints of the legs; with it, any model with a free trunk and three hinges a
//! leg becomes a [`Robot`]. [`Controller`] goes from a state and a [`Command`] to torques in three parts:
//!
//! 1. what it knows as [`OBSERVED`] numbers ([`Motion::observe`]),
//! 2. a [`ForcePolicy`] from these to the forces at the feet: [`Mpc`], or whatever has learned to stand in for it,
//! 3. torques: those that press the forces through standing legs, and a servo along the path of swinging ones
//!    ([`Controller::torques`]).
//!
//! The first and the last part are functions of the state without memory, generic over [`Scalar`](carom::Scalar), so that dual numbers
//! give their derivatives: a policy can be trained through the simulation that it controls. Part two is a function of the observed
//! numbers alone.
//!
//! ```
//! use carom::{Data, Input, State, compile};
//! use carom_tasks::legged::{Command, Controller, Description, Gait, Mpc, Robot, torque_driven};
//!
//! let read = carom_spec::read_file("../../models/quadruped.xml".as_ref(), &[]);
//! let description = Description {
//!     trunk: "trunk".to_owned(),
//!     legs: ["front_right", "front_left", "rear_right", "rear_left"].map(|leg| {
//!         let joint = |name: &str| format!("{leg}_{name}");
//!         (joint("foot"), ["abduction", "thigh", "knee"].map(joint))
//!     }),
//!     stand: [0.0, 0.75, -1.5].repeat(4),
//! };
//! let model = compile::compile(&torque_driven(read.spec, &description)).0.unwrap();
//! let robot = Robot::new(&model, &description)?;
//! let mut state = robot.standing(&model);
//! let mut mpc = Mpc::new(&robot);
//! let controller = Controller::new(robot, Gait::trot(0.25, 0.2));
//!
//! let (mut data, mut input) = (Data::new(&model), Input::zeros(&model));
//! let command = Command { forward: 0.3, ..Command::default() };
//! for _ in 0..50 {
//!     controller.act(&model, &state, command, &mut mpc, &mut data, &mut input);
//!     carom::step(&model, &mut state, &input, &mut data);
//! }
//! assert!(state.qpos[2] > 0.25, "it stands on its feet");
//! # Ok::<(), carom::Error>(())
//! ```

mod controller;
mod gait;
mod mpc;
pub mod qp;
mod robot;
pub mod single_body;
mod swing;
#[cfg(test)]
mod tests;

pub use controller::{Command, Controller, ForcePolicy, OBSERVED};
pub use gait::{Gait, Phase};
pub use mpc::Mpc;
pub use robot::{Description, Motion, Robot, torque_driven};
pub use swing::{Course, Swing};

/// Number of legs: front right, front left, rear right, rear left.
pub const LEGS: usize = 4;
/// Components of the forces at all feet.
pub const FORCES: usize = 3 * LEGS;
