//! The distance of two cores that are apart [Gilbert 1988].
//!
//! With x the point of the current simplex nearest to the origin and w the vertex farthest along −x,
//!
//!   x·w/|x| ≤ distance ≤ |x|                                                                         (1)
//!
//! and the next simplex is the old one with w, reduced to what spans its nearest point.

use super::simplex::{Pair, Simplex};
use crate::math::Vec3;
use crate::scalar::Scalar;

/// Most iterations.
const MAX_ITERATIONS: usize = 100;
/// Fraction of the size below which a distance counts as none.
const CONTACT: f64 = 1e-12;
/// Relative gap of (1) at which the distance cannot be improved.
const EXACT: f64 = 1e-15;

/// What the search found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Separation {
    /// Farther apart than the cutoff.
    Beyond,
    /// Apart.
    Apart(Nearest),
    /// The cores overlap or touch: the simplex holds the origin.
    Overlap(Simplex),
}

/// The nearest points of two cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearest {
    pub(super) simplex: Simplex,
    /// Unit vector from the first to the second core.
    pub(super) normal: Vec3,
    /// Lower bound of the distance along the normal (m).
    pub(super) lower: f64,
}

/// Searches the distance; stops once the relative gap of (1) is below `gap`.
pub(super) fn search<T: Scalar>(pair: &mut Pair<'_, '_, T>, cutoff: f64, gap: f64) -> Separation {
    let gap = gap.max(EXACT);
    let is_curved = pair.is_curved();
    let mut simplex = Simplex::default();
    let mut nearest = pair.shapes[0].center() - pair.shapes[1].center();
    if nearest.norm_squared() <= f64::MIN_POSITIVE {
        nearest = Vec3::X;
    }
    let mut length_squared = f64::INFINITY;
    let mut lower = 0.0;
    for iteration in 0..MAX_ITERATIONS {
        let (direction, length) = nearest.normalized();
        let vertex = pair.support(-direction);
        // (1)
        lower = direction.dot(vertex.difference);
        if lower > cutoff {
            return Separation::Beyond;
        }
        let is_known = !is_curved && simplex.contains(vertex.index);
        if iteration > 0 && (is_known || length - lower <= gap * length) {
            break;
        }
        let mut next = simplex;
        next.push(vertex);
        let candidate = next.reduce();
        let candidate_squared = candidate.norm_squared();
        let scale = vertex.on[0].norm_squared() + vertex.on[1].norm_squared();
        if next.count == 4 && lower > 0.0 {
            // (1) says that the origin is outside: rounding made the tetrahedron hold it.
            break;
        }
        if next.count == 4 || candidate_squared <= CONTACT * CONTACT * scale {
            return Separation::Overlap(next);
        }
        if candidate_squared >= length_squared || !candidate_squared.is_finite() {
            break;
        }
        (simplex, nearest, length_squared) = (next, candidate, candidate_squared);
    }
    if simplex.count == 0 {
        return Separation::Beyond;
    }
    Separation::Apart(Nearest {
        simplex,
        normal: -nearest.normalized().0,
        lower,
    })
}
