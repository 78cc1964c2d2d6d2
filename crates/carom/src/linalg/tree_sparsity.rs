//! The sparsity of matrices over the kinematic tree: a dof meets its ancestors.

use super::panel::{MAX_PANEL, Panel};

/// Rows of the lower triangle, compressed: row i holds the ancestors of dof i in increasing order, then i.
///
/// The row of a parent is a prefix of the rows of its children. So where dof a stands at position p of row i,
/// row a has exactly the columns of row i up to p, and whole rows combine as contiguous slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSparsity {
    /// Where each row starts, and the number of entries at the end: nv + 1.
    pub row_start: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<usize>,
    /// The index of each diagonal entry, the last of its row: nv.
    pub diagonal: Vec<usize>,
    /// The dofs cut into short chains, in increasing order.
    pub(super) panels: Vec<Panel>,
}

impl TreeSparsity {
    /// Builds the rows from the parent of each dof; `None` for the first dof of a tree.
    ///
    /// # Panics
    /// If a parent does not come before its child.
    pub fn new(parents: impl IntoIterator<Item = Option<usize>>) -> Self {
        let mut sparsity = Self {
            row_start: vec![0],
            ..Self::default()
        };
        for (dof, parent) in parents.into_iter().enumerate() {
            if let Some(parent) = parent {
                assert!(parent < dof, "dof {dof} comes before its parent {parent}");
                sparsity
                    .columns
                    .extend_from_within(sparsity.row_range(parent));
            }
            sparsity.diagonal.push(sparsity.columns.len());
            sparsity.columns.push(dof);
            sparsity.row_start.push(sparsity.columns.len());
        }
        sparsity.cut_panels();
        sparsity
    }

    /// Joins consecutive dofs into panels while each is the parent of the next.
    fn cut_panels(&mut self) {
        for dof in 0..self.dof_count() {
            let continues = self
                .ancestors(dof)
                .last()
                .is_some_and(|&parent| parent + 1 == dof);
            match self.panels.last_mut() {
                Some(panel) if continues && panel.length < MAX_PANEL => panel.length += 1,
                _ => self.panels.push(Panel {
                    first: dof,
                    length: 1,
                }),
            }
        }
    }

    /// The panels of a range of dofs that cuts none.
    pub(super) fn panels_of(&self, dofs: std::ops::Range<usize>) -> &[Panel] {
        let place = |dof| self.panels.partition_point(|panel| panel.first < dof);
        &self.panels[place(dofs.start)..place(dofs.end)]
    }

    /// The number of dofs, nv.
    #[inline]
    pub fn dof_count(&self) -> usize {
        self.diagonal.len()
    }

    /// The number of stored entries.
    #[inline]
    pub fn entry_count(&self) -> usize {
        self.columns.len()
    }

    /// The entries of row `dof`, its diagonal last.
    #[inline]
    pub fn row_range(&self, dof: usize) -> std::ops::Range<usize> {
        self.row_start[dof]..self.row_start[dof + 1]
    }

    /// The ancestors of a dof, in increasing order, then the dof itself.
    #[inline]
    pub fn row_columns(&self, dof: usize) -> &[usize] {
        &self.columns[self.row_range(dof)]
    }

    /// The proper ancestors of a dof, in increasing order.
    #[inline]
    pub fn ancestors(&self, dof: usize) -> &[usize] {
        &self.columns[self.row_start[dof]..self.diagonal[dof]]
    }

    /// How many proper ancestors a dof has.
    #[inline]
    pub fn ancestor_count(&self, dof: usize) -> usize {
        self.diagonal[dof] - self.row_start[dof]
    }

    /// The index of entry (`row`, `column`) of the lower triangle, if it is stored.
    pub fn entry(&self, row: usize, column: usize) -> Option<usize> {
        let position = self.row_columns(row).binary_search(&column).ok()?;
        Some(self.row_start[row] + position)
    }
}
