//! Linear algebra of the step: factorisations over the kinematic tree and a dense Cholesky.
//!
//! Everything works on slices that the caller owns; nothing allocates after construction.

mod block_sparse;
pub(crate) mod cholesky;
mod complete_lu;
pub(crate) mod lu;
pub(crate) mod many;
mod minimum_degree;
mod panel;
mod partial_lu;
mod symmetric_eigen;
pub(crate) mod tree_ldl;
mod tree_sparsity;

pub(crate) use block_sparse::{BlockCholesky, BlockPlace};
pub(crate) use complete_lu::CompletePivotLu;
pub(crate) use lu::{DofPattern, TreeLu};
pub(crate) use partial_lu::PartialPivotLu;
pub use symmetric_eigen::symmetric_eigen;
pub(crate) use tree_sparsity::TreeSparsity;

use std::error::Error;
use std::fmt;

/// A factorisation met a pivot it cannot divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PivotError {
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
