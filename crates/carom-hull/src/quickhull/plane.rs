//! Planes of facets and the tolerances of rounding.

use super::parts::Facet;
use super::{Point, Quickhull};

/// Extent of the points and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Tolerances {
    /// Largest extent along an axis.
    pub(super) width: f64,
    /// Largest error of a distance to a plane.
    pub(super) rounding: f64,
    /// Determinants of two and three rows below these are nothing but rounding, over ten.
    pub(super) near_zero: [f64; 3],
    /// Centres this near to a plane are coplanar.
    pub(super) center: f64,
    /// Bound of the distances that one merge may make.
    pub(super) one_merge: f64,
    /// Points higher than this see a facet.
    pub(super) visible: f64,
    /// Points higher than this are outside.
    pub(super) outside: f64,
    /// Points lower than this are forgotten.
    pub(super) near_inside: f64,
    /// Facets wider than this keep their centre.
    pub(super) wide: f64,
}

impl Tolerances {
    /// From the largest magnitudes and the largest extent of the coordinates.
    pub(super) fn new(magnitudes: [f64; 3], width: f64) -> Self {
        let largest = magnitudes.iter().copied().fold(0.0, f64::max);
        let mut sum = 0.0;
        let near_zero = magnitudes.map(|magnitude| {
            sum += magnitude;
            80.0 * sum * f64::EPSILON
        });
        let reach = (3.0_f64.sqrt() * largest).min(sum);
        let rounding = f64::EPSILON * (3.0 * reach * 1.01 + largest);
        let center = 2.0 * rounding;
        let one_merge = 3.0 * center + rounding;
        let visible = center;
        Self {
            width,
            rounding,
            near_zero,
            center,
            one_merge,
            visible,
            outside: 2.0 * visible,
            near_inside: 5.0 * one_merge,
            wide: 6.0 * visible,
        }
    }
}

/// Height of a point over a facet.
pub(super) fn height(facet: &Facet, point: Point) -> f64 {
    let normal = facet.normal.unwrap_or_default();
    facet.offset + point[0] * normal[0] + point[1] * normal[1] + point[2] * normal[2]
}

pub(super) fn dot(p: Point, q: Point) -> f64 {
    p[0] * q[0] + p[1] * q[1] + p[2] * q[2]
}

fn minus(p: Point, q: Point) -> Point {
    std::array::from_fn(|axis| p[axis] - q[axis])
}

/// Unit normal and offset of the plane through three points, outward when they run as `is_turned` says; none when
/// they are nearly on a line.
fn plane([a, b, c]: [Point; 3], is_turned: bool, rounding: f64) -> Option<(Point, f64)> {
    let (u, w) = (minus(b, a), minus(c, a));
    let normal = [
        w[1] * u[2] - w[2] * u[1],
        u[0] * w[2] - u[2] * w[0],
        w[0] * u[1] - w[1] * u[0],
    ];
    let length = dot(normal, normal).sqrt();
    if length.is_nan() || length <= f64::MIN_POSITIVE {
        return None;
    }
    let length = if is_turned { length } else { -length };
    let normal = normal.map(|component| component / length);
    let offset = -dot(a, normal);
    let fits = |point: Point| (offset + dot(point, normal)).abs() <= rounding;
    (fits(c) && fits(b)).then_some((normal, offset))
}

/// The same by elimination, for three points nearly on a line, and whether a pivot is nothing but rounding.
fn plane_by_elimination(
    [a, b, c]: [Point; 3],
    is_turned: bool,
    near_zero: [f64; 3],
) -> (Point, f64, bool) {
    let (mut first, mut second) = (minus(b, a), minus(c, a));
    let mut sign = is_turned;
    if second[0].abs() > first[0].abs() {
        std::mem::swap(&mut first, &mut second);
        sign = !sign;
    }
    if first[0] != 0.0 {
        let factor = second[0] / first[0];
        second[1] -= factor * first[1];
        second[2] -= factor * first[2];
    }
    let is_uncertain = first[0].abs() <= near_zero[0] || second[1].abs() <= near_zero[1];
    sign ^= second[1] < 0.0;
    sign ^= first[0] < 0.0;
    let unit = if sign { -1.0 } else { 1.0 };
    // A pivot of zero leaves its own axis as the normal.
    let (y, z) = if second[1] == 0.0 {
        (unit, 0.0)
    } else {
        ((0.0 - second[2] * unit) / second[1], unit)
    };
    let normal = if first[0] == 0.0 {
        [unit, 0.0, 0.0]
    } else {
        [(0.0 - first[1] * y - first[2] * z) / first[0], y, z]
    };
    let length = dot(normal, normal).sqrt();
    let normal = normal.map(|component| component / length);
    let offset = -(a[0] * normal[0]) - a[1] * normal[1] - a[2] * normal[2];
    (normal, offset, is_uncertain)
}

impl Quickhull<'_> {
    pub(super) fn height(&self, facet: usize, point: usize) -> f64 {
        height(&self.facets[facet], self.points[point])
    }

    pub(super) fn vertex_height(&self, facet: usize, vertex: usize) -> f64 {
        self.height(facet, self.vertices[vertex].point)
    }

    /// Computes the plane of a triangle.
    pub(super) fn set_plane(&mut self, id: usize) -> Option<()> {
        let [a, b, c] = self.facets[id].vertices[..] else {
            return None;
        };
        let corners = [a, b, c].map(|vertex| self.points[self.vertices[vertex].point]);
        let (facet, tolerances) = (&mut self.facets[id], &self.tolerances);
        if let Some((normal, offset)) = plane(corners, facet.is_turned, tolerances.rounding) {
            facet.normal = Some(normal);
            facet.offset = offset;
        } else {
            let (normal, offset, is_uncertain) =
                plane_by_elimination(corners, facet.is_turned, tolerances.near_zero);
            facet.normal = Some(normal);
            facet.offset = offset;
            if is_uncertain {
                self.look_outward(id);
            }
        }
        self.check_flipped(id);
        Some(())
    }

    /// Turns a plane that has the interior above it.
    pub(super) fn look_outward(&mut self, id: usize) {
        let facet = &mut self.facets[id];
        if height(facet, self.interior) > 0.0 {
            facet.normal = facet.normal.map(|normal| normal.map(|x| -x));
            facet.offset = -facet.offset;
        }
    }

    /// Marks a facet that has the interior above or within rounding of it; false if so.
    pub(super) fn check_flipped(&mut self, id: usize) -> bool {
        let facet = &mut self.facets[id];
        if !facet.is_flipped && height(facet, self.interior) >= -self.tolerances.rounding {
            facet.is_flipped = true;
        }
        !facet.is_flipped
    }

    /// The centre of a facet's vertices on its plane.
    pub(super) fn center(&mut self, id: usize) -> Point {
        if let Some(center) = self.facets[id].center {
            return center;
        }
        let mean = self.mean(&self.facets[id].vertices);
        let facet = &mut self.facets[id];
        let distance = height(facet, mean);
        let normal = facet.normal.unwrap_or_default();
        let center = std::array::from_fn(|axis| mean[axis] - distance * normal[axis]);
        facet.center = Some(center);
        center
    }

    pub(super) fn mean(&self, vertices: &[usize]) -> Point {
        let mut sum = [0.0; 3];
        for &vertex in vertices {
            let point = self.points[self.vertices[vertex].point];
            for axis in 0..3 {
                sum[axis] += point[axis];
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of vertices")]
        let count = vertices.len() as f64;
        sum.map(|component| component / count)
    }
}
