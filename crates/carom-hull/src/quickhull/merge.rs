//! Which facets are merged, and in which order.

use super::Quickhull;
use super::chain::END;
use super::parts::{contains, is_subset, swap_out};
use super::plane::height;

/// Facets with more vertices than this are compared by their centres instead of all vertices.
const MANY_VERTICES: usize = 26;
/// Facets with more vertices than this are merged across ridges that are known not to be convex.
const MANY_RIDGES: usize = 18;

/// Why two facets are merged; the smaller kinds come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The centre of one is within rounding of the plane of the other.
    Coplanar,
    /// A centre is above the plane of the other.
    Concave,
    /// Both.
    ConcaveCoplanar,
    /// The interior is above the first one.
    Flipped,
    /// The first has fewer than three neighbours.
    Degenerate,
    /// All vertices of the first are vertices of the second.
    Redundant,
    /// The first is new and coplanar with the second on the horizon.
    CoplanarHorizon,
}

/// A facet to be merged with another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    facets: [usize; 2],
    reason: Reason,
    distance: f64,
}

/// Lowest and highest vertex of a facet over the plane of another, at least 0 away.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    fn distance(self) -> f64 {
        self.high.max(-self.low)
    }
}

/// The neighbour to which a facet is nearest.
#[derive(Clone, Copy, Debug)]
struct Nearest {
    neighbor: usize,
    distance: f64,
    spread: Spread,
}

impl Quickhull<'_> {
    /// Merges new facets until all are convex with their neighbours.
    pub(super) fn merge_new_facets(&mut self) -> Option<()> {
        if self.is_clearly_convex() {
            return Some(());
        }
        let mut has_merged = self.merge_into_horizon()?;
        has_merged |= self.merge_flipped()?;
        self.collect_first_merges()?;
        self.merge_all(has_merged)
    }

    /// Whether all facets are triangles, and the new ones clearly convex with their neighbours.
    fn is_clearly_convex(&self) -> bool {
        let new = self.new_facets();
        let is_plain = |&facet: &usize| {
            let facet = &self.facets[facet];
            let has_triangle = self.facets[facet.neighbors[0]].is_triangle;
            has_triangle && !facet.is_flipped && facet.normal.is_some()
        };
        if !new.iter().all(is_plain) {
            return false;
        }
        let clear = -2.0 * self.tolerances.rounding;
        new.iter().all(|&id| {
            let facet = &self.facets[id];
            let is_below = |place: usize| {
                self.vertex_height(facet.neighbors[place], facet.vertices[place]) < clear
            };
            let mut horizon = self.facets[facet.neighbors[0]].vertices.iter();
            let across = horizon.find(|vertex| !facet.vertices[1..].contains(vertex));
            is_below(1)
                && is_below(2)
                && across.is_none_or(|&vertex| self.vertex_height(id, vertex) < clear)
        })
    }

    /// Notes a merge, unless one of the facets is to be merged anyway; none if it would turn a facet inside out.
    fn note(&mut self, facets: [usize; 2], reason: Reason, distance: f64) -> Option<()> {
        let [first, second] = facets;
        if self.facets[first].is_redundant
            || self.facets[second].is_redundant
            || self.facets[first].is_degenerate && reason == Reason::Degenerate
        {
            return Some(());
        }
        if self.facets[second].is_flipped && !self.facets[first].is_flipped {
            return None;
        }
        let merge = Merge {
            facets,
            reason,
            distance,
        };
        match reason {
            Reason::Degenerate => {
                self.facets[first].is_degenerate = true;
                let last = self.degenerate_merges.last();
                if last.is_none_or(|last| last.reason == Reason::Degenerate) {
                    self.degenerate_merges.push(merge);
                } else {
                    self.degenerate_merges.insert(0, merge);
                }
            }
            Reason::Redundant => {
                self.facets[first].is_redundant = true;
                self.degenerate_merges.push(merge);
            }
            _ => self.merges.push(merge),
        }
        Some(())
    }

    fn merge_flipped(&mut self) -> Option<bool> {
        for facet in self.new_facets() {
            if self.facets[facet].is_flipped && !self.facets[facet].is_visible {
                self.note([facet; 2], Reason::Flipped, 0.0)?;
            }
        }
        let mut has_merged = false;
        for merge in std::mem::take(&mut self.merges) {
            let facet = merge.facets[0];
            if !self.facets[facet].is_visible {
                let Nearest {
                    neighbor, spread, ..
                } = self.nearest_neighbor(facet)?;
                self.merge_facet(facet, neighbor, merge.reason, Some(spread))?;
                has_merged = true;
            }
        }
        self.merge_degenerate()?;
        Some(has_merged)
    }

    /// Compares new facets with all neighbours.
    fn collect_first_merges(&mut self) -> Option<()> {
        self.visit += 1;
        let visit = self.visit;
        for facet in self.new_facets() {
            self.facets[facet].visit = visit;
            for neighbor in self.facets[facet].neighbors.clone() {
                if self.facets[neighbor].visit != visit && self.compare(facet, neighbor)? {
                    let mut ridges = self.facets[neighbor].ridges.iter();
                    let shared = ridges.find(|&&ridge| self.ridges[ridge].joins(facet));
                    if let Some(&ridge) = shared {
                        self.ridges[ridge].is_nonconvex = true;
                    }
                }
            }
            self.facets[facet].is_tested = true;
            for place in 0..self.facets[facet].ridges.len() {
                let ridge = self.facets[facet].ridges[place];
                self.ridges[ridge].is_tested = true;
            }
        }
        self.sort_merges();
        Some(())
    }

    /// Compares facets that have changed with neighbours across ridges that have.
    fn collect_merges(&mut self) -> Option<()> {
        self.visit += 1;
        let visit = self.visit;
        for facet in self.new_facets() {
            if self.facets[facet].is_tested {
                continue;
            }
            self.facets[facet].visit = visit;
            for neighbor in self.facets[facet].neighbors.clone() {
                self.facets[neighbor].is_seen = false;
            }
            for ridge in self.facets[facet].ridges.clone() {
                if self.ridges[ridge].is_tested && !self.ridges[ridge].is_nonconvex {
                    continue;
                }
                let neighbor = self.ridges[ridge].other(facet);
                if self.facets[neighbor].is_seen {
                    self.ridges[ridge].is_tested = true;
                    self.ridges[ridge].is_nonconvex = false;
                } else if self.facets[neighbor].visit != visit {
                    self.facets[neighbor].is_seen = true;
                    self.ridges[ridge].is_nonconvex = self.compare(facet, neighbor)?;
                    self.ridges[ridge].is_tested = true;
                }
            }
            self.facets[facet].is_tested = true;
        }
        self.sort_merges();
        Some(())
    }

    /// Merges are taken from the end: the mildest reason and the smallest distance first.
    fn sort_merges(&mut self) {
        self.merges.sort_by(|first, second| {
            let by_reason = second.reason.cmp(&first.reason);
            by_reason.then_with(|| second.distance.total_cmp(&first.distance))
        });
    }

    /// Notes a merge if the centres of two facets are not clearly below each other's planes; whether so.
    fn compare(&mut self, first: usize, second: usize) -> Option<bool> {
        let radius = self.tolerances.center;
        let center = self.center(first);
        let over_second = height(&self.facets[second], center);
        let center = self.center(second);
        let over_first = height(&self.facets[first], center);
        let is_concave = over_second > radius || over_first > radius;
        let is_near = |distance: f64| (-radius..=radius).contains(&distance);
        let is_coplanar = is_near(over_second) || is_near(over_first);
        match (is_concave, is_coplanar) {
            (false, false) => return Some(false),
            (true, true) if over_second > over_first => {
                self.note([first, second], Reason::ConcaveCoplanar, over_second)?;
            }
            (true, true) => self.note([second, first], Reason::ConcaveCoplanar, over_first)?,
            (true, false) => {
                let distance = over_second.max(over_first);
                self.note([first, second], Reason::Concave, distance)?;
            }
            (false, true) => {
                let distance = over_second.abs().min(over_first.abs());
                self.note([first, second], Reason::Coplanar, distance)?;
            }
        }
        Some(true)
    }

    /// Merges until nothing is left to do.
    fn merge_all(&mut self, mut has_merged_before: bool) -> Option<()> {
        loop {
            let mut has_merged = false;
            while !self.merges.is_empty() || !self.degenerate_merges.is_empty() {
                if !self.degenerate_merges.is_empty() {
                    self.merge_degenerate()?;
                    has_merged = true;
                }
                while let Some(merge) = self.merges.pop() {
                    let facets = merge.facets.map(|facet| &self.facets[facet]);
                    let is_stale = merge.reason == Reason::Coplanar
                        && facets.iter().any(|facet| !facet.is_tested && facet.is_new);
                    if is_stale || facets.iter().any(|facet| facet.is_visible) {
                        continue;
                    }
                    self.merge_nonconvex(merge)?;
                    self.merge_degenerate()?;
                    has_merged = true;
                }
                self.collect_merges()?;
            }
            if !(self.knows_facets && (has_merged || has_merged_before)) {
                return Some(());
            }
            has_merged_before = false;
            if !self.reduce_vertices()? {
                return Some(());
            }
            self.collect_merges()?;
        }
    }

    /// Merges the one of two facets that is nearer to any of its neighbours.
    fn merge_nonconvex(&mut self, merge: Merge) -> Option<()> {
        let [mut first, mut second] = merge.facets;
        if !self.facets[first].is_new {
            (first, second) = (second, first);
        }
        let nearest = [first, second].map(|facet| self.nearest_neighbor(facet));
        let [nearest1, nearest2] = [nearest[0]?, nearest[1]?];
        let (facet, nearest) = if nearest1.distance < nearest2.distance {
            (first, nearest1)
        } else {
            (second, nearest2)
        };
        self.merge_facet(facet, nearest.neighbor, merge.reason, Some(nearest.spread))
    }

    /// Merges facets without enough neighbours or vertices of their own; returns how many.
    pub(super) fn merge_degenerate(&mut self) -> Option<usize> {
        let mut count = 0;
        while let Some(merge) = self.degenerate_merges.pop() {
            let [first, second] = merge.facets;
            if self.facets[first].is_visible {
                continue;
            }
            self.facets[first].is_degenerate = false;
            self.facets[first].is_redundant = false;
            if merge.reason == Reason::Redundant {
                let into = self.replacement(second)?;
                if first != into {
                    self.merge_facet(first, into, Reason::Redundant, None)?;
                    count += 1;
                }
                continue;
            }
            match self.facets[first].neighbors.len() {
                0 => {
                    self.will_delete(first, None);
                    for vertex in self.facets[first].vertices.clone() {
                        swap_out(&mut self.vertices[vertex].facets, first);
                        if self.vertices[vertex].facets.is_empty() {
                            self.delete_vertex(vertex);
                        }
                    }
                    count += 1;
                }
                1 | 2 => {
                    let nearest = self.nearest_neighbor(first)?;
                    let spread = Some(nearest.spread);
                    self.merge_facet(first, nearest.neighbor, Reason::Degenerate, spread)?;
                    count += 1;
                }
                _ => {}
            }
        }
        Some(count)
    }

    fn nearest_neighbor(&mut self, facet: usize) -> Option<Nearest> {
        let count = self.facets[facet].vertices.len();
        let by_center = count > MANY_VERTICES;
        if by_center {
            self.center(facet);
        }
        let mut best = None;
        if count > MANY_RIDGES {
            for &ridge in &self.facets[facet].ridges {
                if self.ridges[ridge].is_nonconvex {
                    let neighbor = self.ridges[ridge].other(facet);
                    self.try_neighbor(facet, neighbor, by_center, &mut best);
                }
            }
        }
        if best.is_none() {
            for &neighbor in &self.facets[facet].neighbors {
                self.try_neighbor(facet, neighbor, by_center, &mut best);
            }
        }
        let mut best = best?;
        if by_center {
            best.spread = self.spread(facet, best.neighbor);
        }
        Some(best)
    }

    fn try_neighbor(
        &self,
        id: usize,
        neighbor: usize,
        by_center: bool,
        best: &mut Option<Nearest>,
    ) {
        let is_flipped = |id: usize| self.facets[id].is_flipped;
        if is_flipped(id)
            && is_flipped(neighbor)
            && best.is_some_and(|best| !is_flipped(best.neighbor))
        {
            return;
        }
        let spread = match self.facets[id].center {
            Some(center) if by_center => {
                let distance = 3.0 * height(&self.facets[neighbor], center);
                Spread {
                    low: distance.min(0.0),
                    high: distance.max(0.0),
                }
            }
            _ => self.spread(id, neighbor),
        };
        let distance = spread.distance();
        if best.is_none_or(|best| distance < best.distance) {
            *best = Some(Nearest {
                neighbor,
                distance,
                spread,
            });
        }
    }

    /// How far the vertices of a facet that another does not share are from its plane.
    fn spread(&self, facet: usize, other: usize) -> Spread {
        let mut spread = Spread::default();
        for &vertex in &self.facets[facet].vertices {
            if !contains(&self.facets[other].vertices, vertex) {
                let height = self.vertex_height(other, vertex);
                spread.low = spread.low.min(height);
                spread.high = spread.high.max(height);
            }
        }
        spread
    }

    /// Notes neighbours of a facet that have no vertices of their own.
    pub(super) fn note_redundant_neighbors(&mut self, facet: usize) -> Option<()> {
        if self.facets[facet].neighbors.len() < 3 {
            return self.note([facet; 2], Reason::Degenerate, 0.0);
        }
        self.visit += 1;
        for &vertex in &self.facets[facet].vertices {
            self.vertices[vertex].visit = self.visit;
        }
        for neighbor in self.facets[facet].neighbors.clone() {
            let other = &self.facets[neighbor];
            if other.is_visible {
                return None;
            }
            if other.is_degenerate
                || other.is_redundant
                || self.facets[facet].is_flipped && !other.is_flipped
            {
                continue;
            }
            let is_shared = |&vertex: &usize| self.vertices[vertex].visit == self.visit;
            if other.vertices.iter().all(is_shared) {
                self.note([neighbor, facet], Reason::Redundant, 0.0)?;
            }
        }
        Some(())
    }

    /// Notes neighbours of a facet that have too few neighbours.
    pub(super) fn note_degenerate_neighbors(&mut self, facet: usize) -> Option<()> {
        for neighbor in self.facets[facet].neighbors.clone() {
            let other = &self.facets[neighbor];
            if other.is_visible {
                return None;
            }
            if !other.is_degenerate && !other.is_redundant && other.neighbors.len() < 3 {
                self.note([neighbor; 2], Reason::Degenerate, 0.0)?;
            }
        }
        Some(())
    }

    /// Notes a facet that has too few neighbours or no vertices of its own.
    pub(super) fn note_degenerate(&mut self, facet: usize) -> Option<()> {
        if self.facets[facet].is_flipped {
            return Some(());
        }
        for neighbor in self.facets[facet].neighbors.clone() {
            if self.facets[neighbor].is_flipped {
                continue;
            }
            if self.facets[neighbor].is_visible {
                return None;
            }
            if is_subset(
                &self.facets[facet].vertices,
                &self.facets[neighbor].vertices,
            ) {
                return self.note([facet, neighbor], Reason::Redundant, 0.0);
            }
        }
        if self.facets[facet].neighbors.len() < 3 {
            self.note([facet; 2], Reason::Degenerate, 0.0)?;
        }
        Some(())
    }

    /// Tells every vertex its facets, once facets begin to merge.
    pub(super) fn learn_facets(&mut self) {
        if self.knows_facets {
            return;
        }
        self.knows_facets = true;
        let mut facet = self.facet_chain.first();
        while facet != END {
            if !self.facets[facet].is_visible {
                for &vertex in &self.facets[facet].vertices {
                    self.vertices[vertex].facets.push(facet);
                }
            }
            facet = self.facet_chain.next(facet);
        }
    }
}
