//! The hull as triangles.

use super::{OrderedHull, Quickhull};

impl Quickhull<'_> {
    /// Cuts polygons into fans from their newest vertices and lists what remains.
    pub(super) fn into_triangles(mut self) -> OrderedHull {
        let (mut triangles, polygons): (Vec<usize>, Vec<usize>) = {
            let all = self.all_facets().into_iter();
            all.partition(|&facet| self.facets[facet].is_triangle)
        };
        for &polygon in &polygons {
            triangles.extend(self.fan(polygon));
        }
        self.learn_facets();
        let point = |vertex: usize| u32::try_from(self.vertices[vertex].point).unwrap_or(u32::MAX);
        let corners = |facet: usize| {
            let facet = &self.facets[facet];
            let [a, b, c] = std::array::from_fn(|place| facet.vertices[place]);
            if facet.is_turned {
                [b, a, c]
            } else {
                [a, b, c]
            }
            .map(point)
        };
        let mut hull = OrderedHull {
            vertices: Vec::new(),
            triangles: triangles.into_iter().map(corners).collect(),
            neighbors: Vec::new(),
        };
        let mut vertex = self.vertex_chain.first();
        while vertex != super::END {
            let mut around: Vec<u32> = Vec::new();
            for &facet in &self.vertices[vertex].facets {
                if !self.facets[facet].is_triangle {
                    continue;
                }
                for &other in &self.facets[facet].vertices {
                    if other != vertex && !around.contains(&point(other)) {
                        around.push(point(other));
                    }
                }
            }
            hull.vertices.push(point(vertex));
            hull.neighbors.push(around);
            vertex = self.vertex_chain.next(vertex);
        }
        hull
    }

    /// Triangles from the newest vertex of a polygon to its ridges.
    fn fan(&mut self, polygon: usize) -> Vec<usize> {
        let mut fan = Vec::new();
        let Some(&apex) = self.facets[polygon].vertices.first() else {
            return fan;
        };
        for ridge in self.facets[polygon].ridges.clone() {
            let is_turned = self.ridges[ridge].top == polygon;
            let ends = self.ridges[ridge].vertices.clone();
            self.renew_vertices(&[apex]);
            self.renew_vertices(&ends);
            if ends.contains(&apex) {
                continue;
            }
            let mut vertices = vec![apex];
            vertices.extend(ends);
            let triangle = self.new_facet(vertices.clone(), is_turned);
            for vertex in vertices {
                self.vertices[vertex].facets.push(triangle);
            }
            fan.push(triangle);
        }
        fan
    }
}
