//! Y = D^(−½)·L⁻ᵀ·Jᵀ, row by row of J, over the dofs between bodies and root.

use crate::model::Structure;
use crate::stages::constraint::Block;

/// Y of all rows. A row of J acts on some dofs; Y adds their ancestors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Response {
    /// Dofs of all distinct patterns, increasing within each.
    columns: Vec<usize>,
    /// Where the dofs and values of each block are.
    places: Vec<Place>,
    /// Values, row by row.
    values: Vec<f64>,
    /// Dofs that the current pattern has, and a dense row.
    marked: Vec<bool>,
    dense: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    column: usize,
    column_count: usize,
    value: usize,
}

/// The rows of one block.
#[derive(Clone, Copy)]
pub(super) struct BlockResponse<'a> {
    pub(super) columns: &'a [usize],
    values: &'a [f64],
}

impl<'a> BlockResponse<'a> {
    /// A row over [`Self::columns`].
    #[inline]
    pub(super) fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.columns.len()..][..self.columns.len()]
    }

    /// Yᵀ·z of a row.
    #[inline]
    pub(super) fn dot(&self, row: usize, momentum: &[f64]) -> f64 {
        let pairs = self.row(row).iter().zip(self.columns);
        pairs.fold(0.0, |sum, (&value, &dof)| sum + value * momentum[dof])
    }

    /// z ← z + Y·λ for a row.
    #[inline]
    pub(super) fn add(&self, row: usize, impulse: f64, momentum: &mut [f64]) {
        for (&value, &dof) in self.row(row).iter().zip(self.columns) {
            momentum[dof] += value * impulse;
        }
    }

    /// Y(i)·Y(j), an entry of the inverse inertia that the block sees.
    pub(super) fn inner(&self, i: usize, j: usize) -> f64 {
        let pairs = self.row(i).iter().zip(self.row(j));
        pairs.fold(0.0, |sum, (&a, &b)| sum + a * b)
    }
}

impl Response {
    /// The rows of a block.
    #[inline]
    pub(super) fn block(&self, block: usize, row_count: usize) -> BlockResponse<'_> {
        let place = self.places[block];
        BlockResponse {
            columns: &self.columns[place.column..][..place.column_count],
            values: &self.values[place.value..][..row_count * place.column_count],
        }
    }

    /// Computes Y for the rows of J.
    pub(super) fn compute(
        &mut self,
        structure: &Structure,
        (factor, diagonal_inverse): (&[f64], &[f64]),
        blocks: &[Block],
        (columns, jacobian): (&[usize], &[f64]),
    ) {
        self.columns.clear();
        self.places.clear();
        self.values.clear();
        self.marked.resize(structure.counts.nv, false);
        self.dense.resize(structure.counts.nv, 0.0);
        let mut last = usize::MAX;
        for block in blocks {
            // Patterns: the dofs of the row and all their ancestors, once for blocks that share them.
            let own = &columns[block.columns()];
            // Blocks of one pair of bodies share their columns.
            if block.column != last || self.places.is_empty() {
                last = block.column;
                let column = self.columns.len();
                self.push_ancestors(structure, own);
                let column_count = self.columns.len() - column;
                self.places.push(Place {
                    column,
                    column_count,
                    value: self.values.len(),
                });
            } else if let Some(&place) = self.places.last() {
                let value = self.values.len();
                self.places.push(Place { value, ..place });
            }
            // Values: one substitution with the tree factor per row.
            for row in 0..block.row_count {
                let values = &jacobian[block.value + row * own.len()..][..own.len()];
                self.push_row(structure, (factor, diagonal_inverse), own, values);
            }
        }
    }

    /// Appends the dofs and their ancestors, increasing.
    fn push_ancestors(&mut self, structure: &Structure, dofs: &[usize]) {
        let start = self.columns.len();
        for &dof in dofs {
            let mut next = Some(dof);
            while let Some(dof) = next.filter(|&dof| !self.marked[dof]) {
                self.marked[dof] = true;
                self.columns.push(dof);
                next = structure.dofs.parent[dof];
            }
        }
        let new = &mut self.columns[start..];
        new.sort_unstable();
        for &dof in new.iter() {
            self.marked[dof] = false;
        }
    }

    /// Appends a row over the last pattern.
    fn push_row(
        &mut self,
        structure: &Structure,
        (factor, diagonal_inverse): (&[f64], &[f64]),
        dofs: &[usize],
        values: &[f64],
    ) {
        let Some(place) = self.places.last() else {
            return;
        };
        let columns = &self.columns[place.column..][..place.column_count];
        for (&dof, &value) in dofs.iter().zip(values) {
            self.dense[dof] = value;
        }
        // L⁻ᵀ: each dof hands its share on to its ancestors.
        for &dof in columns.iter().rev() {
            let share = self.dense[dof];
            let range = structure.inertia.row_range(dof);
            let ancestors = range.start..range.end - 1;
            let entries = structure.inertia.columns[ancestors.clone()].iter();
            for (&ancestor, &entry) in entries.zip(&factor[ancestors]) {
                self.dense[ancestor] -= entry * share;
            }
        }
        for &dof in columns {
            self.values
                .push(self.dense[dof] * diagonal_inverse[dof].sqrt());
            self.dense[dof] = 0.0;
        }
    }
}
