//! Any two convex shapes: ellipsoids, cylinders, meshes and what touches them.
//!
//! The search runs on plain numbers and on cores ([`core_shape`]): the distance of cores that are apart ([`gjk`]), or
//! the penetration depth ([`epa`]). Its result is only a start: the features it ended at ([`feature`]) define the
//! contact in closed form or by a few Newton steps, to the last digit and with derivatives. A solution d(n) of a normal
//! n is certain not to be deeper than the truth, since for every unit n
//!
//!   distance ≥ −(h₁(n) + h₂(−n)),    h the support functions,                                          (1)
//!
//! with equality at the solution: features that do worse than the search are dropped. Where faces and edges are
//! parallel, more points are found by clipping ([`manifold`]).
//!
//! Every loop is bounded and every result finite, for flat, tiny or coincident shapes as well.

mod backward;
mod clip;
mod clip_backward;
mod core_shape;
mod epa;
mod faces;
mod feature;
mod gjk;
mod manifold;
mod simplex;

pub(super) use backward::touch_vjp;
pub(in super::super) use backward::{SurfaceBar, backward, distance_backward};
pub(in super::super) use clip_backward::ClipBar;
pub(super) use core_shape::CoreShape;

use super::super::{ContactPoint, Manifold, PosedShape};
use crate::math::Vec3;
use crate::scalar::Scalar;
use epa::Polytope;
use feature::{Features, Touch};
use gjk::Separation;
use simplex::{Pair, Simplex};

/// Relative gap of the bounds at which Newton's method takes over on curved shapes.
const COARSE: f64 = 1e-6;
/// Relative gap at which a search that features do not improve ends.
const FINE: f64 = 1e-13;
/// Most Newton steps.
const MAX_STEPS: usize = 10;
/// Change of the normal below which Newton's method has converged.
const CONVERGED: f64 = 1e-15;
/// Relative error that rounding leaves in a distance.
const ROUNDING: f64 = 1e-12;

/// Room for the search and for polygons, and what the options ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace<T: Scalar = f64> {
    polytope: Polytope,
    clip: clip::Buffers<T>,
    /// Faces or edges of each shape that may be parallel.
    faces: [Vec<faces::Candidate<T>>; 2],
    /// Whether one point is enough for parallel faces and edges.
    pub single_point: bool,
}

/// The points of two convex shapes.
pub(super) fn collide<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    // Relative to the first shape no digits are lost far from the origin.
    let origin = first.position;
    let posed = [first, second];
    let (Some(first), Some(second)) = (
        CoreShape::new(first, origin),
        CoreShape::new(second, origin),
    ) else {
        return;
    };
    let shapes = [&first, &second];
    let Some(found) = touch(shapes, margin.value(), &mut out.convex) else {
        return;
    };
    let point = found.inflated(shapes);
    if point.distance.value() > margin.value() {
        return;
    }
    let in_world = posed.map(|shape| CoreShape::new(shape, Vec3::ZERO));
    if let ([Some(first), Some(second)], false) = (&in_world, out.convex.single_point)
        && manifold::add([first, second], &found, margin, out)
    {
        return;
    }
    let point = point.contact();
    out.push(ContactPoint {
        position: point.position + origin,
        ..point
    });
}

/// Signed distance of two convex shapes when it is below the cutoff.
pub(in super::super) fn distance<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    cutoff: f64,
    workspace: &mut Workspace<T>,
) -> Option<Surface<T>> {
    let origin = first.position;
    let first = CoreShape::new(first, origin)?;
    let second = CoreShape::new(second, origin)?;
    let shapes = [&first, &second];
    let mut surface = touch(shapes, cutoff, workspace)?.inflated(shapes);
    surface.points = surface.points.map(|point| point + origin);
    (surface.distance.value() < cutoff).then_some(surface)
}

/// Where and how two cores touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a, 'b, T: Scalar> {
    touch: Touch<T>,
    features: Features<'a, 'b, T>,
    /// Whether the features give no solution, so that the points and the normal are those of the search.
    is_frozen: bool,
}

/// Nearest points of two surfaces.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Surface<T: Scalar> {
    /// Unit vector from the first to the second shape.
    pub(in super::super) normal: Vec3<T>,
    /// Signed distance (m).
    pub(in super::super) distance: T,
    /// Nearest points, or those that must be separated (m).
    pub(in super::super) points: [Vec3<T>; 2],
}

impl<T: Scalar> Surface<T> {
    /// The point halfway.
    pub(super) fn contact(&self) -> ContactPoint<T> {
        ContactPoint {
            distance: self.distance,
            position: (self.points[0] + self.points[1]) * 0.5,
            normal: self.normal,
            tangent: Vec3::ZERO,
        }
    }
}

impl<T: Scalar> Found<'_, '_, T> {
    /// Adds the radii of the shapes around the cores.
    pub(super) fn inflated(&self, shapes: [&CoreShape<'_, T>; 2]) -> Surface<T> {
        let Touch {
            normal,
            distance,
            points,
        } = self.touch;
        let [radius1, radius2] = shapes.map(|shape| shape.radius);
        Surface {
            normal,
            distance: distance - radius1 - radius2,
            points: [points[0] + normal * radius1, points[1] - normal * radius2],
        }
    }
}

/// What the search on values ended with.
struct Start {
    simplex: Simplex,
    normal: Vec3,
    /// Lower bound (1) of the signed distance along the normal (m).
    lower: f64,
}

/// The contact of two cores whose surfaces are closer than the cutoff.
pub(super) fn touch<'a, 'b, T: Scalar>(
    shapes: [&'b CoreShape<'a, T>; 2],
    cutoff: f64,
    workspace: &mut Workspace<T>,
) -> Option<Found<'a, 'b, T>> {
    let mut pair = Pair::new(shapes);
    let reach = cutoff + shapes[0].radius.value() + shapes[1].radius.value();
    let is_curved = pair.is_curved();
    let coarse = if is_curved { COARSE } else { FINE };
    let start = search(&mut pair, reach, coarse, &mut workspace.polytope)?;
    let refined = refine(&mut pair, &start);
    if let Some(found) = refined {
        return Some(found);
    }
    if is_curved {
        let start = search(&mut pair, reach, FINE, &mut workspace.polytope)?;
        return Some(refine(&mut pair, &start).unwrap_or_else(|| as_found(shapes, &start)));
    }
    Some(as_found(shapes, &start))
}

fn search<T: Scalar>(
    pair: &mut Pair<'_, '_, T>,
    reach: f64,
    gap: f64,
    polytope: &mut Polytope,
) -> Option<Start> {
    match gjk::search(pair, reach, gap) {
        Separation::Beyond => None,
        Separation::Apart(nearest) => Some(Start {
            simplex: nearest.simplex,
            normal: nearest.normal,
            lower: nearest.lower,
        }),
        Separation::Overlap(simplex) => {
            let penetration = polytope.search(pair, &simplex, gap);
            Some(Start {
                simplex: penetration.simplex,
                normal: penetration.normal,
                lower: -penetration.upper,
            })
        }
    }
}

/// Solves for the contact of the features; none when (1) says that they are not the right ones.
fn refine<'a, 'b, T: Scalar>(
    pair: &mut Pair<'a, 'b, T>,
    start: &Start,
) -> Option<Found<'a, 'b, T>> {
    let features = Features::new(pair.shapes, &start.simplex, start.normal);
    let [witness, other] = start.simplex.witness();
    let mut normal = start.normal;
    let mut touch = features.solve(normal, witness);
    if features.is_curved() || !features.fix_normal() {
        for _ in 0..MAX_STEPS {
            let next = touch.normal.value();
            let change = (next - normal).norm_squared();
            normal = next;
            if change <= CONVERGED * CONVERGED {
                break;
            }
            touch = features.solve(normal, witness);
        }
    }
    let plain = touch.normal.value();
    let certain = -pair.support(plain).difference.dot(plain); // (1)
    let distance = touch.distance.value();
    let tolerance = ROUNDING * witness.norm().max(other.norm()).max(distance.abs());
    let is_finite = touch.distance.is_finite()
        && [plain, touch.points[0].value(), touch.points[1].value()]
            .iter()
            .all(|vector| vector.norm_squared().is_finite());
    let is_right = distance - certain <= tolerance && certain >= start.lower - tolerance;
    // Between flat shapes the search is exact, and parallel faces may share no point of its last triangle.
    let is_on_shapes = !pair.is_curved() || features.hold(touch.points);
    (is_finite && is_right && is_on_shapes).then_some(Found {
        touch,
        features,
        is_frozen: false,
    })
}

/// The result of the search itself.
fn as_found<'a, 'b, T: Scalar>(
    shapes: [&'b CoreShape<'a, T>; 2],
    start: &Start,
) -> Found<'a, 'b, T> {
    let features = Features::new(shapes, &start.simplex, start.normal);
    Found {
        touch: features.frozen(start.normal, start.simplex.witness()),
        features,
        is_frozen: true,
    }
}
