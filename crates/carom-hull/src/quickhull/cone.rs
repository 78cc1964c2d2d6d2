//! The facets that a point sees, and the new ones that join the horizon around them to it.

use std::collections::HashMap;

use super::Quickhull;
use super::chain::END;
use super::parts::{replace, swap_out};

impl Quickhull<'_> {
    /// Collects the facets that a point sees, breadth first from one of them, at the end of the chain.
    pub(super) fn find_horizon(&mut self, point: usize, facet: usize) -> Option<()> {
        self.move_to_end(facet);
        self.visible_count = 1;
        self.first_visible = Some(facet);
        self.facets[facet].is_visible = true;
        self.facets[facet].replacement = None;
        self.visit += 1;
        let mut has_horizon = false;
        let mut visible = facet;
        while visible != END && self.facets[visible].is_visible {
            self.facets[visible].visit = self.visit;
            for neighbor in self.facets[visible].neighbors.clone() {
                if self.facets[neighbor].visit == self.visit {
                    continue;
                }
                self.facets[neighbor].visit = self.visit;
                let height = self.height(neighbor, point);
                if height > self.tolerances.visible {
                    self.move_to_end(neighbor);
                    self.facets[neighbor].is_visible = true;
                    self.facets[neighbor].replacement = None;
                    self.visible_count += 1;
                } else {
                    let is_coplanar = height >= -self.tolerances.visible;
                    self.facets[neighbor].is_coplanar_horizon = is_coplanar;
                    if is_coplanar {
                        self.max_outside = self.max_outside.max(height);
                    }
                    has_horizon = true;
                }
            }
            visible = self.facet_chain.next(visible);
        }
        has_horizon.then_some(())
    }

    /// Makes the new facets.
    pub(super) fn build_cone(&mut self, point: usize) -> Option<()> {
        self.make_new_facets(point)?;
        self.match_new_facets()?;
        for facet in self.new_facets() {
            if !self.facets[facet].joins_horizon {
                self.set_plane(facet)?;
            }
        }
        self.update_facets_of_vertices();
        Some(())
    }

    fn make_new_facets(&mut self, point: usize) -> Option<()> {
        self.first_new = Some(END);
        self.first_new_vertex = Some(END);
        let apex = self.new_vertex(point);
        self.append_vertex(apex);
        // The last facets made over ridges and over triangles; they outlast facets over which none is made.
        let (mut over_ridges, mut over_triangle) = (None, None);
        for visible in self.visible_facets() {
            for neighbor in self.facets[visible].neighbors.clone() {
                self.facets[neighbor].is_seen = false;
            }
            if self.facets[visible].had_ridges {
                self.make_over_ridges(visible, apex, &mut over_ridges)?;
            }
            if self.facets[visible].is_triangle {
                self.make_over_triangle(visible, apex, &mut over_triangle)?;
            }
            if over_ridges.is_some() {
                over_triangle = over_ridges;
            }
            if over_triangle.is_some() {
                self.facets[visible].replacement = over_triangle;
            }
            self.facets[visible].ridges.clear();
            self.facets[visible].neighbors.clear();
        }
        Some(())
    }

    fn make_facet(&mut self, vertices: Vec<usize>, is_turned: bool, horizon: usize) -> usize {
        self.renew_vertices(&vertices);
        let facet = self.new_facet(vertices, is_turned);
        self.facets[facet].neighbors.push(horizon);
        self.append_facet(facet);
        facet
    }

    /// Joins the ridges of a visible facet that are on the horizon to the apex; tells the last facet.
    fn make_over_ridges(
        &mut self,
        visible: usize,
        apex: usize,
        last: &mut Option<usize>,
    ) -> Option<()> {
        *last = None;
        for ridge in self.facets[visible].ridges.clone() {
            let horizon = self.ridges[ridge].other(visible);
            if !self.facets[horizon].is_visible {
                let is_turned = self.ridges[ridge].top == visible;
                let mut vertices = vec![apex];
                vertices.extend(&self.ridges[ridge].vertices);
                let facet = self.make_facet(vertices, is_turned, horizon);
                *last = Some(facet);
                if self.facets[horizon].is_coplanar_horizon {
                    self.join_horizon(facet, horizon);
                }
                let (is_seen, is_triangle) = {
                    let horizon = &self.facets[horizon];
                    (horizon.is_seen, horizon.is_triangle)
                };
                if is_seen {
                    if is_triangle {
                        return None;
                    }
                    self.facets[horizon].neighbors.push(facet);
                } else {
                    replace(&mut self.facets[horizon].neighbors, visible, facet)?;
                }
                if is_triangle {
                    swap_out(&mut self.facets[horizon].ridges, ridge);
                } else {
                    self.attach_ridge(facet, ridge);
                    self.ridges[ridge].hand_over(visible, facet);
                }
            }
            self.facets[horizon].is_seen = true;
        }
        Some(())
    }

    /// Notes that a new facet belongs to the coplanar facet on the horizon.
    fn join_horizon(&mut self, facet: usize, horizon: usize) {
        self.facets[facet].joins_horizon = true;
        match self.facets[horizon].new_cycle {
            Some(first) if self.facets[horizon].is_seen => {
                self.facets[facet].same_cycle = self.facets[first].same_cycle;
                self.facets[first].same_cycle = Some(facet);
            }
            _ => {
                self.facets[facet].same_cycle = Some(facet);
                self.facets[horizon].new_cycle = Some(facet);
            }
        }
    }

    /// Joins the edges of a visible triangle that are on the horizon, and have no ridge, to the apex.
    fn make_over_triangle(
        &mut self,
        visible: usize,
        apex: usize,
        last: &mut Option<usize>,
    ) -> Option<()> {
        *last = None;
        for horizon in self.facets[visible].neighbors.clone() {
            if self.facets[horizon].is_seen || self.facets[horizon].is_visible {
                continue;
            }
            let neighbors = &self.facets[horizon].neighbors;
            let skip = neighbors.iter().position(|&other| other == visible)?;
            let mut vertices = self.facets[horizon].vertices.clone();
            if skip >= vertices.len() || vertices.len() != 3 {
                return None;
            }
            vertices.remove(skip);
            vertices.insert(0, apex);
            let is_turned = self.facets[horizon].is_turned == (skip % 2 == 1);
            let facet = self.make_facet(vertices, is_turned, horizon);
            *last = Some(facet);
            if self.facets[horizon].is_coplanar_horizon {
                self.facets[facet].same_cycle = Some(facet);
                self.facets[facet].joins_horizon = true;
            }
            self.facets[horizon].neighbors[skip] = facet;
        }
        Some(())
    }

    /// Makes new facets neighbours that share an edge with the apex; none if more than two share one.
    fn match_new_facets(&mut self) -> Option<()> {
        let mut open: HashMap<usize, Option<(usize, usize)>> = HashMap::new();
        let new = self.new_facets();
        for &facet in &new {
            self.facets[facet].neighbors.resize(3, END);
        }
        for &facet in &new {
            for skip in 1..3 {
                let shared = self.facets[facet].vertices[3 - skip];
                let Some(entry) = open.get_mut(&shared) else {
                    open.insert(shared, Some((facet, skip)));
                    continue;
                };
                let (other, other_skip) = entry.take()?;
                let is_same_side = self.facets[facet].is_turned == self.facets[other].is_turned;
                if (skip == other_skip) == is_same_side {
                    return None;
                }
                self.facets[facet].neighbors[skip] = other;
                self.facets[other].neighbors[other_skip] = facet;
            }
        }
        open.values().all(Option::is_none).then_some(())
    }

    /// Tells vertices about their new facets and collects those that have none left.
    fn update_facets_of_vertices(&mut self) {
        if self.knows_facets {
            let mut vertex = self.first_new_vertex.unwrap_or(END);
            while vertex != END {
                let mut place = 0;
                while let Some(&facet) = self.vertices[vertex].facets.get(place) {
                    if self.facets[facet].is_visible {
                        self.vertices[vertex].facets.swap_remove(place);
                    } else {
                        place += 1;
                    }
                }
                vertex = self.vertex_chain.next(vertex);
            }
            for facet in self.new_facets() {
                for vertex in self.facets[facet].vertices.clone() {
                    self.vertices[vertex].facets.push(facet);
                }
            }
        }
        for visible in self.visible_facets() {
            for vertex in self.facets[visible].vertices.clone() {
                if self.vertices[vertex].is_new || self.vertices[vertex].is_deleted {
                    continue;
                }
                let remains = |&facet: &usize| !self.facets[facet].is_visible;
                if self.knows_facets && self.vertices[vertex].facets.iter().any(remains) {
                    swap_out(&mut self.vertices[vertex].facets, visible);
                } else {
                    self.delete_vertex(vertex);
                }
            }
        }
    }

    pub(super) fn delete_vertex(&mut self, vertex: usize) {
        self.vertices[vertex].is_deleted = true;
        self.deleted_vertices.push(vertex);
    }
}
