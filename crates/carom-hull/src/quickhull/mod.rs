//! Convex hulls in the order of Qhull, which decides between contacts that tie.
//!
//! MuJoCo builds hulls with Qhull [Barber 1996], and the order of the hull's triangles and of their corners reaches its
//! contacts: a clipped face with more than four corners keeps four that a search from its first corner finds, and the
//! first corner follows from this order. The algorithm is quickhull with merges of facets that rounding makes coplanar
//! or concave. To come to the same order it is followed here step by step, with the same arithmetic:
//!
//! 1. A tetrahedron of extreme points; every other point is given to a facet that it is clearly outside of.
//! 2. For the farthest point of the next facet that has points outside: the facets that it sees are found breadth
//!    first, new triangles join the horizon to it, those that are coplanar with the horizon are merged into it, and the
//!    points of the vanished facets are given to new ones.
//! 3. New facets whose centres are not clearly below each other's planes are merged with the neighbour to which they
//!    are nearest; vertices that lie on fewer than three facets are dropped.
//! 4. In the end polygons are cut into triangles, as fans from their newest vertices.
//!
//! Facets and vertices are numbered as they are made, so that a larger number is newer. Inputs on which the topology
//! itself becomes ambiguous (more than two facets at an edge, pinched vertices) are not decided here: then there is no
//! result, and the exact hull of `super::exact` takes its place.

mod chain;
mod cone;
mod merge;
mod merge_facets;
mod parts;
mod plane;
mod rename;
mod search;
mod simplex;
#[cfg(test)]
mod tests;
mod triangles;

use std::collections::{BTreeMap, BTreeSet};

use chain::{Chain, END};
use parts::{Facet, Ridge, Vertex};
use plane::Tolerances;

use crate::Point;

/// Points are added at most this many times as often as there are points, against endless loops.
const MOST_ADDITIONS: usize = 4;

/// The hull of points, in the order in which it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OrderedHull {
    /// Points that are vertices.
    pub(super) vertices: Vec<u32>,
    /// Triangles of points, anticlockwise from outside.
    pub(super) triangles: Vec<[u32; 3]>,
    /// For each vertex, the points with which it shares an edge.
    pub(super) neighbors: Vec<Vec<u32>>,
}

impl OrderedHull {
    /// A hull without an order of its own: vertices and neighbours by number.
    pub(super) fn from_triangles(triangles: Vec<[u32; 3]>) -> Self {
        let mut around: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &[a, b, c] in &triangles {
            for (start, end) in [(a, b), (b, c), (c, a)] {
                around.entry(start).or_default().insert(end);
                around.entry(end).or_default().insert(start);
            }
        }
        Self {
            vertices: around.keys().copied().collect(),
            triangles,
            neighbors: around.into_values().map(Vec::from_iter).collect(),
        }
    }
}

/// The hull, with at most `max_vertices` vertices when given; none where its topology is ambiguous.
pub(super) fn ordered_hull(points: &[Point], max_vertices: Option<usize>) -> Option<OrderedHull> {
    built(points, max_vertices).map(Quickhull::into_triangles)
}

fn built(points: &[Point], max_vertices: Option<usize>) -> Option<Quickhull<'_>> {
    if points.len() < 4 || points.iter().flatten().any(|x| !x.is_finite()) {
        return None;
    }
    let mut hull = Quickhull::new(points);
    let (extremes, tolerances) = simplex::extremes(points);
    hull.tolerances = tolerances;
    hull.raise_limit();
    hull.picks_farthest = max_vertices.is_some();
    hull.start(extremes)?;
    hull.build(max_vertices)?;
    Some(hull)
}

/// The hull under construction.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks of one algorithm; an enum would have to name their combinations"
)]
struct Quickhull<'a> {
    points: &'a [Point],
    tolerances: Tolerances,
    facets: Vec<Facet>,
    /// Places in `facets` of those that vanished, for new ones: most facets of a large hull live for a few points only.
    vacant: Vec<usize>,
    vertices: Vec<Vertex>,
    ridges: Vec<Ridge>,
    facet_chain: Chain,
    vertex_chain: Chain,
    /// The facet from which the search for points outside goes on.
    next_facet: usize,
    /// The first of the facets that are about to vanish; they are followed by the new ones.
    first_visible: Option<usize>,
    first_new: Option<usize>,
    first_new_vertex: Option<usize>,
    visible_count: usize,
    /// A point inside.
    interior: Point,
    /// Vertices that vanished while the last point was added.
    deleted_vertices: Vec<usize>,
    /// Whether vertices know their facets; only needed once facets merge.
    knows_facets: bool,
    /// Whether all new facets are searched for a point's best facet.
    searches_all_new: bool,
    /// Whether the new facets are known to be within one octant of normals.
    is_not_sharp: bool,
    is_thin: bool,
    picks_farthest: bool,
    /// Largest height of a point over a facet that it does not belong to.
    max_outside: f64,
    /// The same, at least as large as one merge may cause, when the last point was added.
    max_outside_limit: f64,
    merge_count: usize,
    visit: u64,
    merges: Vec<merge::Merge>,
    degenerate_merges: Vec<merge::Merge>,
    /// Pairs of ridges with the same ends.
    duplicate_ridges: Vec<[usize; 2]>,
}

impl<'a> Quickhull<'a> {
    fn new(points: &'a [Point]) -> Self {
        Self {
            points,
            tolerances: Tolerances::default(),
            // Number 0 is the end of the chains.
            facets: vec![Facet::default()],
            vacant: Vec::new(),
            vertices: vec![Vertex::default()],
            ridges: Vec::new(),
            facet_chain: Chain::new(),
            vertex_chain: Chain::new(),
            next_facet: END,
            first_visible: None,
            first_new: Some(END),
            first_new_vertex: Some(END),
            visible_count: 0,
            interior: [0.0; 3],
            deleted_vertices: Vec::new(),
            knows_facets: false,
            searches_all_new: false,
            is_not_sharp: false,
            is_thin: false,
            picks_farthest: false,
            max_outside: 0.0,
            max_outside_limit: 0.0,
            merge_count: 0,
            visit: 0,
            merges: Vec::new(),
            degenerate_merges: Vec::new(),
            duplicate_ridges: Vec::new(),
        }
    }

    /// Adds points until none is outside.
    fn build(&mut self, max_vertices: Option<usize>) -> Option<()> {
        let mut budget = MOST_ADDITIONS * self.points.len();
        while let Some((facet, point)) = self.next_point() {
            budget = budget.checked_sub(1)?;
            if max_vertices.is_some_and(|most| self.vertex_chain.len() >= most) {
                break;
            }
            self.add_point(point, facet)?;
        }
        Some(())
    }

    /// The farthest point of the next facet that has points outside.
    fn next_point(&mut self) -> Option<(usize, usize)> {
        while self.next_facet != END {
            let facet = self.next_facet;
            if self.facets[facet].outside.is_empty() {
                self.next_facet = self.facet_chain.next(facet);
                continue;
            }
            if self.is_thin {
                if self.facets[facet].needs_farthest {
                    self.sort_out_farthest(facet);
                }
                if self.facets[facet].farthest < self.tolerances.outside {
                    self.next_facet = self.facet_chain.next(facet);
                    continue;
                }
            }
            if self.picks_farthest {
                self.advance_to_farthest();
            }
            let facet = self.next_facet;
            return self.facets[facet].outside.pop().map(|point| (facet, point));
        }
        None
    }

    /// Moves the farthest of a facet's points to the end.
    fn sort_out_farthest(&mut self, facet: usize) {
        let mut best: Option<(usize, f64)> = None;
        for (place, &point) in self.facets[facet].outside.iter().enumerate() {
            let height = self.height(facet, point);
            if best.is_none_or(|(_, most)| height > most) {
                best = Some((place, height));
            }
        }
        if let Some((place, height)) = best {
            let facet = &mut self.facets[facet];
            let point = facet.outside.swap_remove(place);
            facet.outside.push(point);
            facet.farthest = height;
            facet.needs_farthest = false;
        }
    }

    /// Makes the facet with the farthest of all points the next one.
    fn advance_to_farthest(&mut self) {
        let mut best: Option<(usize, f64)> = None;
        for facet in self.all_facets() {
            let Facet {
                outside, farthest, ..
            } = &self.facets[facet];
            if !outside.is_empty() && best.is_none_or(|(_, most)| *farthest > most) {
                best = Some((facet, *farthest));
            }
        }
        if let Some((facet, _)) = best {
            self.remove_facet(facet);
            self.facet_chain.insert_before(self.next_facet, facet);
            self.next_facet = facet;
        }
    }

    fn add_point(&mut self, point: usize, facet: usize) -> Option<()> {
        self.raise_limit();
        self.find_horizon(point, facet)?;
        self.build_cone(point)?;
        self.merge_new_facets()?;
        let has_polygon = |hull: &Self| {
            let mut new = hull.new_facets().into_iter();
            new.any(|facet| !hull.facets[facet].is_triangle)
        };
        self.searches_all_new = self.has_many_merges() || has_polygon(self);
        self.partition_visible()?;
        self.searches_all_new = false;
        self.is_not_sharp = false;
        self.delete_visible();
        self.reset_lists();
        self.duplicate_ridges.is_empty().then_some(())
    }

    fn raise_limit(&mut self) {
        let limit = self.tolerances.one_merge + self.tolerances.rounding;
        self.max_outside_limit = self.max_outside.max(limit).max(self.tolerances.outside);
    }

    /// Whether so many facets were merged that searches for the best facet are widened.
    fn has_many_merges(&self) -> bool {
        self.merge_count > 50
    }

    fn new_facet(&mut self, vertices: Vec<usize>, is_turned: bool) -> usize {
        let facet = Facet {
            vertices,
            is_turned,
            is_triangle: true,
            is_new: true,
            ..Facet::default()
        };
        if let Some(place) = self.vacant.pop() {
            self.facets[place] = facet;
            return place;
        }
        self.facets.push(facet);
        self.facets.len() - 1
    }

    fn new_vertex(&mut self, point: usize) -> usize {
        self.vertices.push(Vertex {
            point,
            ..Vertex::default()
        });
        self.vertices.len() - 1
    }

    fn append_facet(&mut self, facet: usize) {
        if self.first_new == Some(END) {
            self.first_new = Some(facet);
            if self.first_visible == Some(END) {
                self.first_visible = Some(facet);
            }
        }
        if self.next_facet == END {
            self.next_facet = facet;
        }
        self.facet_chain.append(facet);
    }

    fn remove_facet(&mut self, facet: usize) {
        let next = self.facet_chain.next(facet);
        if self.first_new == Some(facet) {
            self.first_new = Some(next);
        }
        if self.next_facet == facet {
            self.next_facet = next;
        }
        if self.first_visible == Some(facet) {
            self.first_visible = Some(next);
        }
        self.facet_chain.remove(facet);
    }

    fn move_to_end(&mut self, facet: usize) {
        self.remove_facet(facet);
        self.append_facet(facet);
    }

    fn append_vertex(&mut self, vertex: usize) {
        if self.first_new_vertex == Some(END) {
            self.first_new_vertex = Some(vertex);
        }
        self.vertices[vertex].is_new = true;
        self.vertex_chain.append(vertex);
    }

    fn remove_vertex(&mut self, vertex: usize) {
        if self.first_new_vertex == Some(vertex) {
            self.first_new_vertex = Some(self.vertex_chain.next(vertex));
        }
        self.vertex_chain.remove(vertex);
    }

    /// Moves vertices that are not new to the end and marks them.
    fn renew_vertices(&mut self, vertices: &[usize]) {
        for &vertex in vertices {
            if !self.vertices[vertex].is_new {
                self.remove_vertex(vertex);
                self.append_vertex(vertex);
            }
        }
    }

    /// Marks a facet as about to vanish.
    fn will_delete(&mut self, facet: usize, replacement: Option<usize>) {
        self.remove_facet(facet);
        let place = self.first_visible.unwrap_or(END);
        self.facet_chain.insert_before(place, facet);
        if self.next_facet == place {
            self.next_facet = facet;
        }
        self.first_visible = Some(facet);
        self.visible_count += 1;
        let facet = &mut self.facets[facet];
        facet.is_visible = true;
        facet.replacement = replacement;
        facet.ridges.clear();
        facet.neighbors.clear();
    }

    fn delete_visible(&mut self) {
        for facet in self.visible_facets() {
            self.remove_facet(facet);
            self.facets[facet] = Facet::default();
            self.vacant.push(facet);
        }
        self.visible_count = 0;
        for vertex in std::mem::take(&mut self.deleted_vertices) {
            self.remove_vertex(vertex);
        }
    }

    /// Forgets which facets and vertices are new.
    fn reset_lists(&mut self) {
        for facet in self.new_facets() {
            self.facets[facet].is_new = false;
        }
        let mut vertex = self.first_new_vertex.unwrap_or(END);
        while vertex != END {
            self.vertices[vertex].is_new = false;
            vertex = self.vertex_chain.next(vertex);
        }
        self.first_new = None;
        self.first_new_vertex = None;
        self.first_visible = None;
        self.visible_count = 0;
    }

    fn facets_from(&self, first: usize) -> Vec<usize> {
        let mut list = Vec::new();
        let mut facet = first;
        while facet != END {
            list.push(facet);
            facet = self.facet_chain.next(facet);
        }
        list
    }

    fn all_facets(&self) -> Vec<usize> {
        self.facets_from(self.facet_chain.first())
    }

    fn new_facets(&self) -> Vec<usize> {
        self.facets_from(self.first_new.unwrap_or(END))
    }

    fn visible_facets(&self) -> Vec<usize> {
        let mut list = Vec::new();
        let mut facet = self.first_visible.unwrap_or(END);
        while facet != END && self.facets[facet].is_visible {
            list.push(facet);
            facet = self.facet_chain.next(facet);
        }
        list
    }
}
