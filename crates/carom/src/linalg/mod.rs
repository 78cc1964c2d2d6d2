//! Linear algebra of the step: factorisations over the kinematic tree and a dense Cholesky.
//!
//! Everything works on slices that the caller owns; nothing allocates after construction.

mod block_sparse;
pub mod cholesky;
mod complete_lu;
pub mod lu;
pub mod many;
mod minimum_degree;
mod panel;
mod partial_lu;
mod symmetric_eigen;
pub mod tree_ldl;
mod tree_sparsity;

pub use block_sparse::{BlockCholesky, BlockPlace};
pub use complete_lu::CompletePivotLu;
pub use lu::{DofPattern, TreeLu};
pub use partial_lu::PartialPivotLu;
pub use symmetric_eigen::symmetric_eigen;
pub use tree_sparsity::TreeSparsity;

use std::error::Error;
use std::fmt;

/// A factorisation met a pivot it cannot divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PivotError {
    /// Row of the pivot: the dof whose inertia (given its descendants) is not positive, or is zero.
    pub index: usize,
}

impl fmt::Display for PivotError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "matrix is not positive definite or is singular at row {}",
            self.index
        )
    }
}

impl Error for PivotError {}

#[cfg(test)]
mod tests;
