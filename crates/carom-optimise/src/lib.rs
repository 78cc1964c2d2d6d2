//! Optimisers that are asked which points they want evaluated, and told what was found there.
//!
//! ```
//! use carom_optimise::{
//!     Bounds, Evaluation, Limits, OneByOne, Optimiser, Request, Settings, Space, Unobserved, minimise,
//! };
//!
//! // Two parameters with bounds, started in a corner.
//! let bounds = Bounds::new(vec![0.0, 0.0], vec![1.0, 10.0])?;
//! let space = Space::new(vec![0.0, 10.0], bounds)?;
//! let mut search = Settings::CmaEs(Default::default()).search(space, 1);
//! let loss = |x: &[f64]| (x[0] - 0.3).powi(2) + (0.1 * x[1] - 0.5).powi(2);
//! let mut evaluator = OneByOne(|request: &Request| Ok(Evaluation::Value(loss(&request.point))));
//! let end = minimise(&mut search, &mut evaluator, &Limits::default(), &mut Unobserved)?;
//!
//! let best = search.best().ok_or("nothing could be evaluated")?;
//! assert!((best.point[0] - 0.3).abs() < 1e-4 && (best.point[1] - 5.0).abs() < 1e-3, "{end}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which one
//!
//! | there are | one minimum nearby | many |
//! |---|---|---|
//! | residuals with a Jacobian | [`LeastSquares`]: fewest evaluations, and says what the data tell | [`MultiStart`], [`BasinHopping`] or [`Islands`] around it |
//! | a gradient | [`Lbfgsb`]; [`Adam`] if values are noisy | the same around it |
//! | values alone | [`CmaEs`] | [`CmaEs`] with [`Restarts`], [`Cem`] for large batches |
//!
//! [`Refined`] goes on with a local search from where another one has ended. [`Differences`] makes gradients and Jacobians of values and residuals where there are no others.
//!
//! # What holds for all
//!
//! - The path of a search depends on its settings, its seed and the answers; on nothing else, neither the order of answers nor
//!   the number of threads. It can be put into bytes at any time and goes on from them with the same bits.
//! - Points lie within their bounds. A start at a bound is a start like any other.
//! - A point that cannot be evaluated, or whose numbers are not finite, is worse than any other, and no more than that.
//! - Searches see parameters in their scales ([`Space`]): units do not matter.

mod any;
mod basin_hopping;
mod bounds;
mod cem;
pub mod checkpoint;
mod choice;
mod cma;
mod differences;
mod islands;
mod lbfgsb;
mod least_squares;
pub mod linalg;
mod local;
mod minimise;
mod multi_start;
mod optimiser;
pub mod random;
mod refined;
mod request;
mod space;
mod starts;
pub mod statistics;

pub use any::{AnyMethod, Settings};
pub use basin_hopping::{BasinHopping, BasinHoppingSettings};
pub use bounds::Bounds;
pub use cem::{Cem, CemSettings};
pub use checkpoint::CheckpointError;
pub use cma::{CmaEs, CmaSettings, CmaTolerances, Restarts};
pub use differences::Differences;
pub use islands::{Islands, IslandsSettings};
pub use lbfgsb::{Lbfgsb, LbfgsbSettings};
pub use least_squares::{Fit, LeastSquares, LeastSquaresSettings, Loss, Spans};
pub use local::*;
pub use minimise::{
    End, Evaluator, Limits, Observer, OneByOne, Progress, RunError, Unobserved, minimise,
};
pub use multi_start::{MultiStart, MultiStartSettings};
pub use optimiser::{Best, Method, Optimiser, Search, Status, TellError};
pub use refined::{Refined, RefinedSettings};
pub use request::{Answer, Answered, Evaluation, Failure, Outcome, Proposal, Request, Want};
pub use space::{Space, SpaceError};
