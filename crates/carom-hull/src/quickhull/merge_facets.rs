//! How facets are merged: neighbours, ridges, vertices and their facets, each list in its order.

use super::Quickhull;
use super::merge::{Reason, Spread};
use super::parts::{Ridge, contains, replace, swap_out, take_out};

/// Facets with more vertices keep their centre when they grow.
const MOST_RECENTERED: usize = 8;

impl Quickhull<'_> {
    /// Makes ridges to the neighbours of a triangle that have none to it, before it becomes a polygon.
    pub(super) fn make_ridges(&mut self, facet: usize) {
        if !self.facets[facet].is_triangle {
            return;
        }
        self.facets[facet].is_triangle = false;
        for place in 0..self.facets[facet].neighbors.len() {
            let neighbor = self.facets[facet].neighbors[place];
            let mut ridges = self.facets[facet].ridges.iter();
            // Only ridges that were there before count; two neighbours are never the same facet.
            if !ridges.any(|&ridge| self.ridges[ridge].joins(neighbor)) {
                let is_tested = self.facets[facet].is_tested;
                self.new_ridge(facet, place, facet, neighbor, is_tested);
            }
        }
    }

    /// Makes the ridge between the `place`-th neighbour of a triangle and the facet that owns it now.
    fn new_ridge(
        &mut self,
        triangle: usize,
        place: usize,
        owner: usize,
        neighbor: usize,
        is_tested: bool,
    ) {
        let mut vertices = self.facets[triangle].vertices.clone();
        if place < vertices.len() {
            vertices.remove(place);
        }
        let is_top = self.facets[triangle].is_turned ^ (place % 2 == 1);
        let (top, bottom) = if is_top {
            (owner, neighbor)
        } else {
            (neighbor, owner)
        };
        let ridge = self.ridges.len();
        self.ridges.push(Ridge {
            vertices,
            top,
            bottom,
            is_tested,
            is_nonconvex: false,
        });
        self.attach_ridge(owner, ridge);
        self.attach_ridge(neighbor, ridge);
    }

    pub(super) fn attach_ridge(&mut self, facet: usize, ridge: usize) {
        self.facets[facet].ridges.push(ridge);
        self.facets[facet].had_ridges = true;
    }

    /// Removes a ridge between facets that merge, or whose ends merge.
    pub(super) fn delete_ridge(&mut self, id: usize) {
        let (top, bottom) = (self.ridges[id].top, self.ridges[id].bottom);
        if self.ridges[id].is_nonconvex {
            self.ridges[id].is_nonconvex = false;
            let mut others = self.facets[top].ridges.iter();
            let other = others.find(|&&other| other != id && self.ridges[other].joins(bottom));
            if let Some(&other) = other {
                self.ridges[other].is_nonconvex = true;
            }
        }
        for vertex in self.ridges[id].vertices.clone() {
            self.vertices[vertex].lost_ridge = true;
        }
        self.duplicate_ridges.retain(|pair| !pair.contains(&id));
        swap_out(&mut self.facets[top].ridges, id);
        swap_out(&mut self.facets[bottom].ridges, id);
    }

    /// Merges new triangles into the coplanar facets on the horizon; whether there were any.
    pub(super) fn merge_into_horizon(&mut self) -> Option<bool> {
        let mut has_merged = false;
        let mut skipped = Vec::new();
        for facet in self.new_facets() {
            if self.facets[facet].normal.is_some() || skipped.contains(&facet) {
                continue;
            }
            let horizon = *self.facets[facet].neighbors.first()?;
            self.facets[horizon].new_cycle = None;
            if self.facets[facet].same_cycle == Some(facet) {
                for &vertex in &self.facets[facet].vertices[1..] {
                    self.vertices[vertex].lost_ridge = true;
                }
                self.merge_facet(facet, horizon, Reason::CoplanarHorizon, None)?;
            } else {
                let cycle = self.cycle_of(facet)?;
                skipped.extend(&cycle);
                self.merge_cycle(&cycle, horizon)?;
                self.facets[horizon].merges += cycle.len();
            }
            has_merged = true;
        }
        if has_merged {
            for facet in self.new_facets() {
                if self.facets[facet].is_coplanar_horizon {
                    self.note_redundant_neighbors(facet)?;
                    self.facets[facet].is_coplanar_horizon = false;
                }
            }
            self.merge_degenerate()?;
        }
        Some(has_merged)
    }

    /// The new facets that join the same horizon, ending with the given one.
    fn cycle_of(&mut self, last: usize) -> Option<Vec<usize>> {
        let mut cycle = Vec::new();
        let mut facet = self.facets[last].same_cycle?;
        loop {
            if self.facets[facet].is_cycle_done || self.facets[facet].is_visible {
                return None;
            }
            self.facets[facet].is_cycle_done = true;
            if self.facets[facet].normal.is_none() {
                cycle.push(facet);
            }
            if facet == last {
                return Some(cycle);
            }
            facet = self.facets[facet].same_cycle?;
        }
    }

    /// Merges several new triangles into one facet on the horizon.
    fn merge_cycle(&mut self, cycle: &[usize], into: usize) -> Option<()> {
        self.merge_count += 1;
        self.learn_facets();
        let apex = *self.facets[*cycle.first()?].vertices.first()?;
        self.make_ridges(into);
        self.visit += 2;
        let (in_cycle, visit) = (self.visit - 1, self.visit);
        for &same in cycle {
            self.facets[same].visit = in_cycle;
        }
        self.merge_cycle_neighbors(cycle, into, in_cycle, visit)?;
        self.merge_cycle_ridges(cycle, into, in_cycle);
        self.merge_cycle_vertices(cycle, into, in_cycle, apex);
        if self.facets[into].vertices.first() != Some(&apex) {
            self.facets[into].vertices.insert(0, apex);
        }
        if !self.facets[into].is_new {
            self.renew_vertices(&self.facets[into].vertices.clone());
        }
        self.move_to_end(into);
        self.facets[into].is_new = true;
        self.facets[into].is_merged = true;
        for &same in cycle {
            self.will_delete(same, Some(into));
        }
        if self.facets[into].vertices.len() <= MOST_RECENTERED {
            self.facets[into].center = None;
        }
        Some(())
    }

    fn merge_cycle_neighbors(
        &mut self,
        cycle: &[usize],
        into: usize,
        in_cycle: u64,
        visit: u64,
    ) -> Option<()> {
        self.facets[into].visit = visit;
        let mut kept = std::mem::take(&mut self.facets[into].neighbors);
        kept.retain(|&neighbor| self.facets[neighbor].visit != in_cycle);
        for &neighbor in &kept {
            self.facets[neighbor].visit = visit;
        }
        self.facets[into].neighbors = kept;
        for &same in cycle {
            for neighbor in self.facets[same].neighbors.clone() {
                if self.facets[neighbor].visit == in_cycle {
                    continue;
                }
                let is_known = self.facets[neighbor].visit == visit;
                self.facets[neighbor].visit = visit;
                if !self.facets[neighbor].is_triangle {
                    swap_out(&mut self.facets[neighbor].neighbors, same);
                    if !is_known {
                        self.facets[neighbor].neighbors.push(into);
                        self.facets[into].neighbors.push(neighbor);
                    }
                } else if is_known {
                    self.make_ridges(neighbor);
                    swap_out(&mut self.facets[neighbor].neighbors, same);
                } else {
                    self.facets[into].neighbors.push(neighbor);
                    replace(&mut self.facets[neighbor].neighbors, same, into)?;
                    let mut ridges = self.facets[neighbor].ridges.iter();
                    let shared = ridges.find(|&&ridge| self.ridges[ridge].joins(same));
                    if let Some(&ridge) = shared {
                        self.ridges[ridge].hand_over(same, into);
                    }
                }
            }
        }
        Some(())
    }

    fn merge_cycle_ridges(&mut self, cycle: &[usize], into: usize, in_cycle: u64) {
        let mut kept = std::mem::take(&mut self.facets[into].ridges);
        kept.retain(|&ridge| self.facets[self.ridges[ridge].other(into)].visit != in_cycle);
        self.facets[into].ridges = kept;
        for &same in cycle {
            for ridge in std::mem::take(&mut self.facets[same].ridges) {
                if !self.ridges[ridge].joins(same) {
                    // A neighbour has handed it over already.
                    self.attach_ridge(into, ridge);
                    continue;
                }
                self.ridges[ridge].hand_over(same, into);
                let neighbor = self.ridges[ridge].other(into);
                if neighbor == into {
                    continue;
                }
                if self.facets[neighbor].visit == in_cycle {
                    swap_out(&mut self.facets[neighbor].ridges, ridge);
                } else {
                    self.attach_ridge(into, ridge);
                }
            }
            if !self.facets[same].is_triangle {
                continue;
            }
            for place in 0..self.facets[same].neighbors.len() {
                let neighbor = self.facets[same].neighbors[place];
                let other = &self.facets[neighbor];
                if other.visit != in_cycle && other.is_triangle {
                    self.new_ridge(same, place, into, neighbor, false);
                }
            }
        }
    }

    fn merge_cycle_vertices(&mut self, cycle: &[usize], into: usize, in_cycle: u64, apex: usize) {
        self.facets[into].visit = in_cycle;
        let mut vertices: Vec<usize> = Vec::new();
        for &same in cycle {
            for &vertex in &self.facets[same].vertices {
                if vertex != apex && !vertices.contains(&vertex) {
                    vertices.push(vertex);
                }
            }
        }
        vertices.push(apex);
        for vertex in vertices {
            self.vertices[vertex].lost_ridge = true;
            let facets = &self.facets;
            let around = &mut self.vertices[vertex].facets;
            around.retain(|&facet| facets[facet].visit != in_cycle);
            around.push(into);
            if around.len() < 2 {
                take_out(&mut self.facets[into].vertices, vertex);
                self.delete_vertex(vertex);
            }
        }
    }

    /// Merges a facet into another.
    pub(super) fn merge_facet(
        &mut self,
        from: usize,
        into: usize,
        reason: Reason,
        spread: Option<Spread>,
    ) -> Option<()> {
        self.merge_count += 1;
        let remaining = self.facet_chain.len().checked_sub(self.visible_count)?;
        if from == into
            || self.facets[from].is_visible
            || self.facets[into].is_visible
            || remaining <= 4
        {
            return None;
        }
        self.learn_facets();
        self.make_ridges(from);
        self.make_ridges(into);
        if let Some(Spread { low, high }) = spread {
            self.max_outside = self.max_outside.max(high);
            let wide = self.tolerances.wide;
            self.facets[into].keeps_center |= high > wide || low < -wide;
        }
        self.facets[into].merges += self.facets[from].merges + 1;
        self.facets[into].is_merged = true;
        self.forget_tests(from, into);
        if self.facets[from].vertices.len() == 3 {
            self.merge_triangle(from, into, reason == Reason::CoplanarHorizon)?;
        } else {
            self.merge_polygon(from, into)?;
        }
        self.move_to_end(into);
        self.facets[into].is_new = true;
        self.facets[into].is_tested = false;
        if reason != Reason::CoplanarHorizon {
            self.note_redundant_neighbors(into)?;
            self.note_degenerate_neighbors(from)?;
            self.note_degenerate(into)?;
        }
        self.will_delete(from, Some(into));
        Some(())
    }

    /// What merging invalidates: comparisons with neighbours, and the centre of a small facet.
    fn forget_tests(&mut self, from: usize, into: usize) {
        self.facets[into].is_tested = false;
        for &ridge in &self.facets[from].ridges {
            self.ridges[ridge].is_tested = false;
        }
        if self.facets[into].center.is_none() {
            return;
        }
        let facet = &mut self.facets[into];
        match facet.vertices.len() {
            3 => facet.keeps_center = false,
            count => facet.keeps_center |= count > MOST_RECENTERED,
        }
        if !facet.keeps_center {
            facet.center = None;
            for &ridge in &facet.ridges {
                self.ridges[ridge].is_tested = false;
            }
        }
    }

    fn merge_triangle(&mut self, from: usize, into: usize, is_horizon: bool) -> Option<()> {
        let (opposite, is_added) = if is_horizon {
            let apex = *self.facets[from].vertices.first()?;
            if !self.facets[into].is_new {
                self.renew_vertices(&self.facets[into].vertices.clone());
            }
            let is_added = self.facets[into].vertices.first() != Some(&apex);
            if is_added {
                self.facets[into].vertices.insert(0, apex);
            }
            (apex, is_added)
        } else {
            self.add_opposite_vertex(from, into)?
        };
        for vertex in self.facets[from].vertices.clone() {
            if vertex == opposite && is_added {
                replace(&mut self.vertices[vertex].facets, from, into)?;
            } else {
                self.leave_vertex(vertex, from, into);
            }
        }
        self.visit += 1;
        let visit = self.visit;
        for neighbor in self.facets[into].neighbors.clone() {
            self.facets[neighbor].visit = visit;
        }
        let mut place = 0;
        while let Some(&ridge) = self.facets[from].ridges.get(place) {
            let other = self.ridges[ridge].other(from);
            if other == into {
                self.delete_ridge(ridge);
                swap_out(&mut self.facets[into].neighbors, from);
                continue;
            }
            place += 1;
            self.attach_ridge(into, ridge);
            if self.facets[other].visit == visit {
                self.make_ridges(other);
                self.drop_neighbor(other, from, into)?;
            } else {
                self.facets[into].neighbors.push(other);
                replace(&mut self.facets[other].neighbors, from, into)?;
                self.facets[other].visit = visit;
            }
            self.ridges[ridge].hand_over(from, into);
        }
        Some(())
    }

    /// Adds the vertex of a triangle that is across from the facet that it merges into; whether it was missing there.
    fn add_opposite_vertex(&mut self, from: usize, into: usize) -> Option<(usize, bool)> {
        let mut ridges = self.facets[from].ridges.iter();
        let shared = ridges.find(|&&ridge| self.ridges[ridge].joins(into));
        let ends = shared.map_or_else(Vec::new, |&ridge| self.ridges[ridge].vertices.clone());
        for &vertex in &ends {
            self.vertices[vertex].lost_ridge = true;
        }
        let mut corners = self.facets[from].vertices.iter().copied();
        let opposite = corners.find(|vertex| !ends.contains(vertex))?;
        let is_added = !contains(&self.facets[into].vertices, opposite);
        if is_added {
            let vertices = &mut self.facets[into].vertices;
            let place = vertices.partition_point(|&vertex| vertex > opposite);
            vertices.insert(place, opposite);
        }
        if self.facets[into].is_new {
            self.renew_vertices(&[opposite]);
        } else {
            self.renew_vertices(&self.facets[into].vertices.clone());
        }
        Some((opposite, is_added))
    }

    /// A neighbour of both facets keeps one of them, in the first place if either was there.
    fn drop_neighbor(&mut self, neighbor: usize, from: usize, into: usize) -> Option<()> {
        let list = &mut self.facets[neighbor].neighbors;
        if list.first() == Some(&from) {
            swap_out(list, into);
            replace(list, from, into)
        } else {
            swap_out(list, from);
            Some(())
        }
    }

    /// A vertex of both facets loses the one that vanishes; it is deleted when one facet remains.
    fn leave_vertex(&mut self, vertex: usize, from: usize, into: usize) {
        swap_out(&mut self.vertices[vertex].facets, from);
        if self.vertices[vertex].facets.len() < 2 {
            take_out(&mut self.facets[into].vertices, vertex);
            self.delete_vertex(vertex);
        }
    }

    fn merge_polygon(&mut self, from: usize, into: usize) -> Option<()> {
        let before = self.facets[into].vertices.clone();
        self.visit += 1;
        let visit = self.visit;
        for neighbor in self.facets[into].neighbors.clone() {
            self.facets[neighbor].visit = visit;
        }
        for neighbor in self.facets[from].neighbors.clone() {
            if self.facets[neighbor].visit == visit {
                self.make_ridges(neighbor);
                self.drop_neighbor(neighbor, from, into)?;
            } else if neighbor != into {
                self.facets[into].neighbors.push(neighbor);
                replace(&mut self.facets[neighbor].neighbors, from, into)?;
            }
        }
        swap_out(&mut self.facets[from].neighbors, into);
        swap_out(&mut self.facets[into].neighbors, from);

        let mut all = before.clone();
        all.extend(&self.facets[from].vertices);
        all.sort_unstable_by(|first, second| second.cmp(first));
        all.dedup();
        self.facets[into].vertices = all;

        let mut place = 0;
        while let Some(&ridge) = self.facets[into].ridges.get(place) {
            if self.ridges[ridge].joins(from) {
                self.delete_ridge(ridge);
            } else {
                place += 1;
            }
        }
        for ridge in self.facets[from].ridges.clone() {
            self.ridges[ridge].hand_over(from, into);
            self.attach_ridge(into, ridge);
        }

        for vertex in self.facets[from].vertices.clone() {
            if contains(&before, vertex) {
                self.leave_vertex(vertex, from, into);
            } else {
                replace(&mut self.vertices[vertex].facets, from, into)?;
            }
        }
        if !self.facets[into].is_new {
            self.renew_vertices(&self.facets[into].vertices.clone());
        }
        Some(())
    }
}
