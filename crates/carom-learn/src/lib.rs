//! Graph networks of rigid motion.
mod learned;
pub mod network;
pub mod random;
pub mod scene;
pub mod store;
mod system;
pub mod training;

pub use learned::{Learned, StepWork};
pub use system::{GraphSystem, SystemReverse, SystemWork, WeightsBar};
