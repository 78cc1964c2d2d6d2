//! The first tetrahedron: the extreme points along x, then those that make the largest determinants.

use super::chain::END;
use super::plane::{Tolerances, dot};
use super::{Point, Quickhull};

/// A tetrahedron whose volume is this small a part of what the extent allows may hide a better one.
const NARROW_VOLUME_RATIO: f64 = 1e-3;
/// Cosine between normals of the tetrahedron below which the hull is very thin.
const MAX_THIN_COSINE: f64 = -0.999_999_99;

/// The lowest and highest point along each axis, in turn, and the tolerances.
pub(super) fn extremes(points: &[Point]) -> ([usize; 6], Tolerances) {
    let mut found = [0; 6];
    let mut magnitudes = [0.0; 3];
    let mut width = f64::NEG_INFINITY;
    for axis in 0..3 {
        let (mut low, mut high) = (0, 0);
        for (index, point) in points.iter().enumerate() {
            if points[high][axis] < point[axis] {
                high = index;
            } else if points[low][axis] > point[axis] {
                low = index;
            }
        }
        let (least, most) = (points[low][axis], points[high][axis]);
        magnitudes[axis] = most.max(-least);
        width = width.max(most - least);
        found[2 * axis] = low;
        found[2 * axis + 1] = high;
    }
    (found, Tolerances::new(magnitudes, width))
}

/// Volume spanned by a point and two others in the xy plane, or three others.
fn determinant(points: &[Point], others: &[usize], apex: usize) -> f64 {
    let row = |i: usize| -> Point {
        std::array::from_fn(|axis| points[others[i]][axis] - points[apex][axis])
    };
    let minor = |p: Point, q: Point, i: usize, j: usize| p[i] * q[j] - p[j] * q[i];
    if others.len() == 2 {
        return minor(row(0), row(1), 0, 1);
    }
    let (a, b, c) = (row(0), row(1), row(2));
    a[0] * minor(b, c, 1, 2) - b[0] * minor(a, c, 1, 2) + c[0] * minor(a, b, 1, 2)
}

/// Four points of a large tetrahedron.
fn four_points(
    points: &[Point],
    extremes: [usize; 6],
    tolerances: &Tolerances,
) -> Option<Vec<usize>> {
    let (mut low, mut high) = (extremes[0], extremes[0]);
    for &index in &extremes {
        if points[high][0] < points[index][0] {
            high = index;
        }
        if points[low][0] > points[index][0] {
            low = index;
        }
    }
    if low == high {
        return None;
    }
    let mut simplex = vec![low, high];
    let mut most = points[high][0] - points[low][0];
    for size in 2..4 {
        let uncertain = 10.0 * tolerances.near_zero[size - 1];
        let target = most * tolerances.width;
        let mut best: Option<usize> = None;
        most = -1.0;
        for &index in &extremes {
            if simplex.contains(&index) || best == Some(index) {
                continue;
            }
            let size = determinant(points, &simplex, index).abs();
            if size > most {
                (best, most) = (Some(index), size);
            }
        }
        let is_narrow = most > 0.0 && most / target < NARROW_VOLUME_RATIO;
        if best.is_none() || most < uncertain || is_narrow {
            for index in 0..points.len() {
                if extremes.contains(&index) || simplex.contains(&index) {
                    continue;
                }
                let size = determinant(points, &simplex, index).abs();
                if size > most {
                    (best, most) = (Some(index), size);
                    if most >= uncertain && most > 10.0 * NARROW_VOLUME_RATIO * target {
                        break;
                    }
                }
            }
        }
        simplex.push(best?);
    }
    Some(simplex)
}

impl Quickhull<'_> {
    /// Makes the tetrahedron and gives every other point to the first facet that it is clearly outside of.
    pub(super) fn start(&mut self, extremes: [usize; 6]) -> Option<()> {
        let corners = four_points(self.points, extremes, &self.tolerances)?;
        let ids: Vec<usize> = corners
            .iter()
            .map(|&point| self.new_vertex(point))
            .collect();
        let newest_first: Vec<usize> = ids.into_iter().rev().collect();
        let mut is_turned = true;
        for place in 0..4 {
            let mut vertices = newest_first.clone();
            vertices.remove(place);
            let facet = self.new_facet(vertices, is_turned);
            self.append_facet(facet);
            self.append_vertex(newest_first[place]);
            is_turned = !is_turned;
        }
        let all: Vec<usize> = self.all_facets();
        for &facet in &all {
            self.facets[facet].neighbors = all.iter().copied().filter(|&f| f != facet).collect();
        }
        self.reset_lists();
        self.next_facet = self.facet_chain.first();
        self.interior = self.mean(&newest_first);
        self.orient(&all)?;
        self.distribute(&corners)?;
        self.reset_lists();
        self.next_facet = self.facet_chain.first();
        self.advance_to_farthest();
        Some(())
    }

    /// Orients the tetrahedron; none if it is flat.
    fn orient(&mut self, all: &[usize]) -> Option<()> {
        let rounding = self.tolerances.rounding;
        let over = |hull: &Self, facet: usize| {
            super::plane::height(&hull.facets[facet], hull.interior) > rounding
        };
        self.set_plane(all[0])?;
        self.facets[all[0]].is_flipped = false;
        if over(self, all[0]) {
            for &facet in all {
                self.facets[facet].is_turned ^= true;
            }
            self.set_plane(all[0])?;
        }
        for &facet in &all[1..] {
            self.set_plane(facet)?;
        }
        for &facet in all {
            self.facets[facet].is_flipped = false;
        }
        if all.iter().any(|&facet| over(self, facet)) {
            for &facet in all {
                self.facets[facet].is_turned ^= true;
                self.look_outward(facet);
            }
        }
        for &facet in all {
            if !self.check_flipped(facet) {
                return None;
            }
        }
        let normals: Vec<Point> = all
            .iter()
            .filter_map(|&facet| self.facets[facet].normal)
            .collect();
        self.is_thin = normals
            .iter()
            .enumerate()
            .any(|(i, &p)| normals[..i].iter().any(|&q| dot(p, q) < MAX_THIN_COSINE));
        Some(())
    }

    fn distribute(&mut self, corners: &[usize]) -> Option<()> {
        let clear = self.clearly_outside();
        let mut rest: Vec<usize> = (0..self.points.len())
            .filter(|point| !corners.contains(point))
            .collect();
        for facet in self.all_facets() {
            let mut farthest: Option<(usize, f64)> = None;
            let mut kept = Vec::new();
            let mut outside = Vec::new();
            for point in rest {
                let height = self.height(facet, point);
                if height < clear {
                    kept.push(point);
                    continue;
                }
                match farthest {
                    Some((_, most)) if height <= most => outside.push(point),
                    _ => {
                        outside.extend(farthest.map(|(point, _)| point));
                        farthest = Some((point, height));
                    }
                }
            }
            if let Some((point, most)) = farthest {
                outside.push(point);
                self.facets[facet].farthest = most;
            }
            self.facets[facet].outside = outside;
            rest = kept;
        }
        self.searches_all_new = true;
        let first = self.facet_chain.first();
        debug_assert_ne!(first, END);
        for point in rest {
            self.partition_point(point, first)?;
        }
        self.searches_all_new = false;
        Some(())
    }
}
