//! Convex hulls: points in, triangles, edges and polygons out. Pure geometry, without dependencies.
//!
//! ```
//! let corner = |i: u32, axis: u32| f64::from(i >> axis & 1);
//! let cube: Vec<[f64; 3]> = (0..8).map(|i| [0, 1, 2].map(|axis| corner(i, axis))).collect();
//! let hull = carom_hull::convex_hull(&cube, None).expect("a cube has volume");
//! assert_eq!(hull.triangles.len(), 12);
//! assert_eq!(hull.topology.polygons.len(), 6);
//! ```
//!
//! The order of triangles and polygons decides between contacts that tie, so it is MuJoCo's wherever that is defined:
//! `quickhull` follows Qhull step by step, `polygon_order` the hash table in which MuJoCo collects polygons. Where
//! rounding makes Qhull's topology ambiguous, `exact` takes over, whose signs do not round and which exists for any
//! points with volume. Callers see one function and need not know whose order it is.

mod exact;
mod lists;
mod orientation;
mod polygon_order;
mod quickhull;
mod topology;
mod vector;

pub use lists::Lists;
pub use topology::HullTopology;

use quickhull::{OrderedHull, ordered_hull};

/// A place in space (m).
pub type Point = [f64; 3];

/// Why points have no hull with volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatPoints {
    /// All in one place.
    Coincident,
    /// All on a line.
    Collinear,
    /// All on a plane.
    Coplanar,
}

/// A convex hull with volume; the default is no hull at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hull {
    /// Triangles of points, anticlockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Vertices, edges and polygons.
    pub topology: HullTopology,
}

/// The convex hull of points that are finite, with at most `max_vertices` vertices when given.
pub fn convex_hull(points: &[Point], max_vertices: Option<usize>) -> Result<Hull, FlatPoints> {
    let ordered = match ordered_hull(points, max_vertices) {
        Some(hull) => hull,
        None => OrderedHull::from_triangles(exact::convex_hull(points, max_vertices)?),
    };
    Ok(Hull {
        topology: topology::of_hull(points, &ordered),
        triangles: ordered.triangles,
    })
}

/// Random points for tests.
#[cfg(test)]
mod random {
    use super::Point;

    /// A small generator of repeatable numbers in −1…1.
    pub(crate) struct Random(pub(crate) u64);

    impl Random {
        pub(crate) fn number(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f64::from((self.0 >> 40) as u32) / f64::from(1_u32 << 23) - 1.0
        }

        pub(crate) fn point(&mut self) -> Point {
            std::array::from_fn(|_| self.number())
        }
    }
}
