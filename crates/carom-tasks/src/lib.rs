//! Real motions and what one does with them: recordings, losses on them, identification, and the errors of a model.
//!
//! ```
//! use carom_tasks::evaluate::evaluate;
//! use carom_tasks::npz::Array;
//! use carom_tasks::problem::Stepping;
//! use carom_tasks::recording::{self, Mapping, table::Table};
//!
//! let model = carom::load::file("../../models/pendulum.xml".as_ref(), &[])?.model;
//! let times: Vec<f64> = (0..50).map(|frame| 0.02 * f64::from(frame)).collect();
//! let angles: Vec<f64> = times.iter().map(|time| 0.5 * (3.6 * time).cos()).collect();
//! let arrays = [("time", times), ("joint.pivot", angles)];
//! let arrays = arrays.map(|(name, numbers)| (name.to_owned(), Array::numbers(&[50], numbers)));
//! let table = Table::from_arrays("swing".to_owned(), arrays, false);
//! let mapping = Mapping::of_own_arrays(&model, &table, &[("joint.pivot".to_owned(), 0.01)].into())?;
//! let recordings = recording::from_tables(&model, &mapping, [Ok(table)])?;
//! println!("{:?}", evaluate(&model, &recordings, Stepping::Fixed)?.total);
//! # Ok::<(), carom_tasks::Error>(())
//! ```
//!
//! | I want to | there is |
//! |---|---|
//! | read recordings (.npz, .csv, ROS 2 bags), and say what their columns mean for a model | [`recording`] |
//! | measure the errors of a model on recordings | [`evaluate`] |
//! | find parameters with intervals, as `carom identify` does | [`identify::workflow`] |
//! | take the steps of an identification one by one | [`identify::Task`] |
//! | train learned terms, as `carom learn terms` does | [`learn`] |
//! | have loss, gradient and Jacobian of recordings as functions of unknowns | [`problem::Problem`], [`loss`] |
//! | fit a system of my own that is no model | [`problem::Fit`] |
//! | find which forces a model lacks, as `carom discover` does | [`discover`] |
//! | let a quadruped walk | [`legged`] |
//! | learn a map of collisions from a few strikes, as `carom learn collision` does | [`collision_map`] |
//! | plan controls, or control a system by plans, as `carom plan` does | [`plan`] |
//! | have thousands of runs of a kind, as `carom scale` does | [`scale`] |
//! | train a graph network on them, and use it in the scene of a model | [`graph`], `carom-learn` |
//! | read and write numpy's `.npz` | [`npz`] |
//!
//! Whatever goes wrong is an [`Error`], the one of the engine.

pub mod collision_map;
pub mod diff;
pub mod discover;
mod error;
pub mod evaluate;
pub mod graph;
pub mod identify;
pub mod learn;
pub mod legged;
pub mod loss;
pub mod npz;
pub mod plan;
pub mod problem;
pub mod recording;
pub mod scale;
mod torque;

pub use carom::{Error, ErrorKind, Place};
