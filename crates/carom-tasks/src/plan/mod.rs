//! Planning and predictive control of anything that steps and has derivatives.
//!
//! A [task file](task) names a model, a cost and what counts as success; [`mpc::control`] plans, executes, shifts and plans
//! again. Methods stand behind [`Planner`]: [`Descent`] by gradients, [`Sampling`], [`Hybrid`] of both, and [`Ilqr`]. They
//! know [`Dynamics`](carom::Dynamics) and a [`Cost`] of states, controls and sensors, nothing else. `docs/control.md` is the
//! page for users.

pub mod background;
pub mod cost;
pub mod decision;
pub mod disturbance;
pub mod episode;
mod gradient;
mod hybrid;
mod ilqr;
mod method;
pub mod mpc;
mod noise;
pub mod quantity;
mod sampling;
mod start;
pub mod strike;
pub mod task;
mod truncation;

pub use background::{Live, Timing};
pub use cost::{Cost, CostTerm, Horizon, Kind};
pub use disturbance::{Disturbance, DisturbanceSettings};
pub use episode::{Episode, Progress, Saved};
pub use gradient::{Descent, GradientSettings};
pub use hybrid::{Hybrid, HybridSettings};
pub use ilqr::{Ilqr, IlqrSettings};
pub use method::{Memory, Planned, Planner, Ranges, shifted};
pub use mpc::{Condition, Control, Outcome, control};
pub use noise::Noise;
pub use sampling::{Sampling, SamplingSettings, Update};
pub use start::Start;
pub use task::{Method, Task, TaskFile};
