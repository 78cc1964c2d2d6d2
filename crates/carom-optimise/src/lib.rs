//! Optimisers.

mod adam;
mod any;
mod basin_hopping;
mod cem;
pub mod checkpoint;
mod cma;
mod islands;
mod lbfgsb;
mod least_squares;
pub mod linalg;
mod local;
mod minimise;
mod multi_start;
mod optimiser;
pub mod random;
mod request;
mod space;
mod starts;

pub use adam::{Adam, AdamSettings, Schedule};
pub use any::{AnyMethod, Settings};
pub use basin_hopping::{BasinHopping, BasinHoppingSettings};
pub use cem::{Cem, CemSettings};
pub use cma::{CmaEs, CmaSettings, CmaTolerances, Restarts};
pub use islands::{Islands, IslandsSettings};
pub use lbfgsb::{Lbfgsb, LbfgsbSettings};
pub use least_squares::{Fit, LeastSquares, LeastSquaresSettings, Loss};
pub use local::{Descent, Local, LocalSettings};
pub use minimise::{
    End, Evaluator, Limits, Observer, OneByOne, Progress, RunError, Unobserved, minimise,
};
pub use multi_start::{MultiStart, MultiStartSettings};
pub use optimiser::{Best, Method, Optimiser, Search, Status, TellError};
pub use request::{Answer, Answered, Evaluation, Failure, Outcome, Proposal, Request, Want};
pub use space::{Bounds, Space, SpaceError};
