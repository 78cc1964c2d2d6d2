//! Facets, ridges and vertices under construction.

use super::Point;

/// A point that is a corner of the hull.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks of one algorithm; an enum would have to name their combinations"
)]
pub(super) struct Vertex {
    pub(super) point: usize,
    /// Facets around it, in the order in which they came.
    pub(super) facets: Vec<usize>,
    /// Whether a facet changed around it since the last point was added.
    pub(super) is_new: bool,
    pub(super) is_deleted: bool,
    /// Whether a ridge at it vanished, so that it may have become redundant.
    pub(super) lost_ridge: bool,
    /// Whether it was given to a facet as a point after it had been deleted.
    pub(super) is_partitioned: bool,
    pub(super) visit: u64,
}

/// An edge between two facets of which at least one is not a triangle.
#[derive(Debug)]
pub(super) struct Ridge {
    /// Ends, newest first.
    pub(super) vertices: Vec<usize>,
    /// The facet that is on the left of the ends as listed, and the other one.
    pub(super) top: usize,
    pub(super) bottom: usize,
    pub(super) is_tested: bool,
    pub(super) is_nonconvex: bool,
}

impl Ridge {
    pub(super) fn other(&self, facet: usize) -> usize {
        if self.top == facet {
            self.bottom
        } else {
            self.top
        }
    }

    /// Replaces one of the two facets.
    pub(super) fn hand_over(&mut self, from: usize, to: usize) {
        if self.top == from {
            self.top = to;
        } else {
            self.bottom = to;
        }
    }

    pub(super) fn joins(&self, facet: usize) -> bool {
        self.top == facet || self.bottom == facet
    }
}

/// A facet: a triangle at first, a polygon after merges.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks of one algorithm; an enum would have to name their combinations"
)]
pub(super) struct Facet {
    /// Newest first.
    pub(super) vertices: Vec<usize>,
    /// Of a triangle: the i-th is across from the i-th vertex.
    pub(super) neighbors: Vec<usize>,
    pub(super) ridges: Vec<usize>,
    /// Whether it ever had ridges.
    pub(super) had_ridges: bool,
    /// Unit outward normal, once known.
    pub(super) normal: Option<Point>,
    pub(super) offset: f64,
    /// Centre of the vertices projected onto the plane, once known.
    pub(super) center: Option<Point>,
    /// Points above it, the farthest one last.
    pub(super) outside: Vec<usize>,
    pub(super) farthest: f64,
    /// Points within rounding of it, the highest one last.
    pub(super) coplanar: Vec<usize>,
    pub(super) is_triangle: bool,
    /// Whether the vertices as listed run clockwise from outside.
    pub(super) is_turned: bool,
    /// Whether it is seen by the new point or was merged away, and is about to vanish.
    pub(super) is_visible: bool,
    pub(super) is_new: bool,
    pub(super) is_flipped: bool,
    pub(super) is_tested: bool,
    pub(super) is_merged: bool,
    pub(super) keeps_center: bool,
    pub(super) is_degenerate: bool,
    pub(super) is_redundant: bool,
    pub(super) is_seen: bool,
    /// On the horizon of the new point and coplanar with it.
    pub(super) is_coplanar_horizon: bool,
    /// A new facet that belongs to its coplanar horizon.
    pub(super) joins_horizon: bool,
    pub(super) is_cycle_done: bool,
    pub(super) needs_farthest: bool,
    /// The facet that took its place.
    pub(super) replacement: Option<usize>,
    /// The next new facet that joins the same horizon.
    pub(super) same_cycle: Option<usize>,
    /// On the horizon: the first new facet that joins it.
    pub(super) new_cycle: Option<usize>,
    pub(super) merges: usize,
    pub(super) visit: u64,
}

/// Removes an item; the last one takes its place.
pub(super) fn swap_out(list: &mut Vec<usize>, item: usize) -> bool {
    let place = list.iter().position(|&other| other == item);
    if let Some(place) = place {
        list.swap_remove(place);
    }
    place.is_some()
}

/// Removes an item; the others keep their order.
pub(super) fn take_out(list: &mut Vec<usize>, item: usize) {
    list.retain(|&other| other != item);
}

/// Puts an item in the place of another.
pub(super) fn replace(list: &mut [usize], old: usize, new: usize) -> Option<()> {
    let place = list.iter().position(|&other| other == old)?;
    list[place] = new;
    Some(())
}

/// Inserts an item before the last one.
pub(super) fn push_before_last(list: &mut Vec<usize>, item: usize) {
    let place = list.len().saturating_sub(1);
    list.insert(place, item);
}

/// Whether all of the first list, both newest first, is in the second.
pub(super) fn is_subset(first: &[usize], second: &[usize]) -> bool {
    first.iter().all(|&vertex| contains(second, vertex))
}

/// Whether a list, newest first, has an item.
pub(super) fn contains(list: &[usize], item: usize) -> bool {
    list.binary_search_by(|other| item.cmp(other)).is_ok()
}
