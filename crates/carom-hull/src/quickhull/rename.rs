//! Vertices that merges have made redundant.

use super::Quickhull;
use super::chain::END;
use super::parts::{contains, swap_out, take_out};

impl Quickhull<'_> {
    /// Drops vertices without ridges from facets and renames those that only two facets share; whether facets merged.
    pub(super) fn reduce_vertices(&mut self) -> Option<bool> {
        let mut has_merged = self.merge_degenerate()? > 0;
        while self.reduce_once()? {
            has_merged = true;
        }
        Some(has_merged)
    }

    /// One pass, which ends early when facets merged.
    fn reduce_once(&mut self) -> Option<bool> {
        for facet in self.new_facets() {
            if self.facets[facet].is_merged && self.drop_extra_vertices(facet) {
                self.note_degenerate(facet)?;
                if self.merge_degenerate()? > 0 {
                    return Some(true);
                }
            }
        }
        for facet in self.new_facets() {
            if !std::mem::replace(&mut self.facets[facet].is_merged, false) {
                continue;
            }
            let mut place = 0;
            while let Some(&vertex) = self.facets[facet].vertices.get(place) {
                if self.vertices[vertex].lost_ridge && self.rename_shared(vertex, facet)? {
                    if self.merge_degenerate()? > 0 {
                        return Some(true);
                    }
                } else {
                    place += 1;
                }
            }
        }
        let mut vertex = self.first_new_vertex.unwrap_or(END);
        while vertex != END {
            if !self.vertices[vertex].is_deleted {
                self.vertices[vertex].lost_ridge = false;
            }
            vertex = self.vertex_chain.next(vertex);
        }
        Some(false)
    }

    /// Removes vertices that are on none of a polygon's ridges.
    fn drop_extra_vertices(&mut self, facet: usize) -> bool {
        if self.facets[facet].is_triangle {
            return false;
        }
        // Marks, not a search: a polygon of many sides passes here once a point.
        self.visit += 1;
        for &ridge in &self.facets[facet].ridges {
            for &vertex in &self.ridges[ridge].vertices {
                self.vertices[vertex].visit = self.visit;
            }
        }
        let mut extra = self.facets[facet].vertices.clone();
        extra.retain(|&vertex| self.vertices[vertex].visit != self.visit);
        for &vertex in &extra {
            take_out(&mut self.facets[facet].vertices, vertex);
            swap_out(&mut self.vertices[vertex].facets, facet);
            if self.vertices[vertex].facets.is_empty() {
                self.delete_vertex(vertex);
            }
        }
        !extra.is_empty()
    }

    /// Replaces a vertex on the edge between only two facets by another one of theirs; whether it could.
    fn rename_shared(&mut self, vertex: usize, facet: usize) -> Option<bool> {
        let [one, other] = self.vertices[vertex].facets[..] else {
            return Some(false);
        };
        let neighbor = if one == facet { other } else { one };
        let has_vertex = |ridge: usize| self.ridges[ridge].vertices.contains(&vertex);
        let ridges: Vec<usize> = {
            let all = self.facets[facet].ridges.iter().copied();
            all.filter(|&ridge| self.ridges[ridge].joins(neighbor) && has_vertex(ridge))
                .collect()
        };
        let mut shared = self.facets[facet].vertices.clone();
        shared.retain(|&other| contains(&self.facets[neighbor].vertices, other));
        swap_out(&mut shared, vertex);
        let Some(new) = self.new_name(vertex, shared, &ridges) else {
            return Some(false);
        };
        self.rename(vertex, new, &ridges)?;
        self.note_degenerate(facet)?;
        Some(true)
    }

    /// The candidate on the fewest of the ridges that can take the place of a vertex without doubling a ridge.
    fn new_name(&self, old: usize, mut candidates: Vec<usize>, ridges: &[usize]) -> Option<usize> {
        let count = |vertex: usize| {
            let at = |&&ridge: &&usize| self.ridges[ridge].vertices.contains(&vertex);
            ridges.iter().filter(at).count()
        };
        candidates.retain(|&vertex| count(vertex) > 0);
        candidates.sort_by_key(|&vertex| count(vertex));
        candidates.into_iter().find(|&vertex| {
            let doubles = |ridge: usize| {
                let rest = self.rest_of(ridge, vertex);
                let mut ridges = ridges.iter();
                ridges.any(|&other| other != ridge && self.rest_of(other, old) == rest)
            };
            !self.ridges_at(vertex).into_iter().any(doubles)
        })
    }

    /// The ends of a ridge but for one vertex.
    fn rest_of(&self, ridge: usize, vertex: usize) -> Vec<usize> {
        let mut rest = self.ridges[ridge].vertices.clone();
        rest.retain(|&other| other != vertex);
        rest
    }

    /// The ridges at a vertex between the facets around it.
    fn ridges_at(&self, vertex: usize) -> Vec<usize> {
        let around = &self.vertices[vertex].facets;
        let mut found: Vec<usize> = Vec::new();
        for &facet in around {
            for &ridge in &self.facets[facet].ridges {
                let is_between = around.contains(&self.ridges[ridge].other(facet));
                let is_at = self.ridges[ridge].vertices.contains(&vertex);
                if is_between && is_at && !found.contains(&ridge) {
                    found.push(ridge);
                }
            }
        }
        found
    }

    fn rename(&mut self, old: usize, new: usize, ridges: &[usize]) -> Option<()> {
        for &ridge in ridges {
            if self.rename_end(ridge, old, new)? {
                self.note_duplicates(ridge, new);
            }
        }
        for facet in self.vertices[old].facets.clone() {
            take_out(&mut self.facets[facet].vertices, old);
            self.note_degenerate(facet)?;
        }
        self.delete_vertex(old);
        Some(())
    }

    /// Renames an end of a ridge; false if the ridge shrinks to a point and vanishes.
    fn rename_end(&mut self, id: usize, old: usize, new: usize) -> Option<bool> {
        let ridge = &mut self.ridges[id];
        let old_place = ridge.vertices.iter().position(|&vertex| vertex == old)?;
        ridge.vertices.remove(old_place);
        if ridge.vertices.contains(&new) {
            self.delete_ridge(id);
            return Some(false);
        }
        let place = ridge.vertices.partition_point(|&vertex| vertex > new);
        ridge.vertices.insert(place, new);
        if old_place.abs_diff(place) % 2 == 1 {
            std::mem::swap(&mut ridge.top, &mut ridge.bottom);
        }
        Some(true)
    }

    /// Notes ridges of the same polygon that have the same ends now.
    fn note_duplicates(&mut self, id: usize, new: usize) {
        let sides = [self.ridges[id].top, self.ridges[id].bottom];
        let is_small = |facet: usize| {
            let facet = &self.facets[facet];
            let count = facet.vertices.len();
            count < 3 || count == 3 && !facet.is_triangle && contains(&facet.vertices, new)
        };
        if sides.into_iter().any(is_small) {
            return;
        }
        for side in sides {
            if self.facets[side].is_triangle || self.facets[side].merges == 0 {
                continue;
            }
            for &other in &self.facets[side].ridges {
                if other != id && self.ridges[other].vertices == self.ridges[id].vertices {
                    self.duplicate_ridges.push([id, other]);
                }
            }
        }
    }
}
