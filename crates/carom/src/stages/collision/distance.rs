//! The distance of two geoms, also when they are apart.

use super::backward::{BackwardWork, Cotangent, PairBar, shapes_backward};
use super::forward::{posed_shape, rank};
use super::narrow::{self, convex};
use super::{ContactPoint, Manifold, PosedShape};
use crate::cotangent::Cotangents;
use crate::math::Vec3;
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Nearest points of two geoms; in penetration, the points that must part company.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeomDistance<T: Scalar = f64> {
    /// Signed distance, negative in penetration (m).
    pub distance: T,
    /// The point of the first and of the second geom (m). Their difference is `normal` times `distance`.
    pub points: [Vec3<T>; 2],
    /// Unit vector from the first to the second geom.
    pub normal: Vec3<T>,
}

/// The shortest signed distance of two geoms, if it is less than `cutoff` (m).
///
/// Contact filters and margins play no role. As in MuJoCo there is no distance between planes and height fields, and
/// that to a height field is defined near it only. Pairs with several contact points give the deepest. `work` is any
/// manifold of points: it is overwritten, and keeps its capacity from call to call.
pub fn distance<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geoms: [usize; 2],
    cutoff: f64,
    work: &mut Manifold<T>,
) -> Option<GeomDistance<T>> {
    let shapes = geoms.map(|geom| posed_shape(model, kinematics, geom));
    shape_distance(&shapes[0], &shapes[1], cutoff, work)
}

/// As [`distance`], for shapes that need not belong to a model.
pub fn shape_distance<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    cutoff: f64,
    work: &mut Manifold<T>,
) -> Option<GeomDistance<T>> {
    let is_flipped = rank(first.kind) > rank(second.kind);
    let [one, two] = if is_flipped {
        [second, first]
    } else {
        [first, second]
    };
    let found = if has_support_functions(one.kind, two.kind) {
        let surface = convex::distance(one, two, cutoff, &mut work.convex)?;
        GeomDistance {
            distance: surface.distance,
            points: surface.points,
            normal: surface.normal,
        }
    } else {
        deepest_point(one, two, cutoff, work)?
    };
    Some(if is_flipped {
        GeomDistance {
            points: [found.points[1], found.points[0]],
            normal: -found.normal,
            ..found
        }
    } else {
        found
    })
}

/// Pairs without a formula for the single nearest point.
fn has_support_functions(first: GeomKind, second: GeomKind) -> bool {
    let is_round = |kind| matches!(kind, GeomKind::Sphere | GeomKind::Capsule);
    let is_unbounded = |kind| matches!(kind, GeomKind::Plane | GeomKind::HeightField);
    let is_simple = |kind| matches!(kind, GeomKind::Cylinder | GeomKind::Box);
    match (first, second) {
        (first, _) if is_unbounded(first) => false,
        (first, second) if is_round(first) && is_round(second) => false,
        (GeomKind::Sphere, second) => !is_simple(second),
        (GeomKind::Capsule, GeomKind::Box) => false,
        _ => true,
    }
}

fn deepest_point<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    cutoff: f64,
    work: &mut Manifold<T>,
) -> Option<GeomDistance<T>> {
    let collider = narrow::collider::<T>(first.kind, second.kind)?;
    work.clear();
    collider(first, second, T::from(cutoff), work);
    let point = work.points()[deepest(work, cutoff)?];
    let half = point.normal * (point.distance * 0.5);
    Some(GeomDistance {
        distance: point.distance,
        points: [point.position - half, point.position + half],
        normal: point.normal,
    })
}

/// Which point is deepest, if it is closer than the cutoff.
fn deepest<T: Scalar>(points: &Manifold<T>, cutoff: f64) -> Option<usize> {
    let mut deepest = None;
    let mut least = cutoff;
    for (index, point) in points.points().iter().enumerate() {
        if point.distance.value() < least {
            least = point.distance.value();
            deepest = Some(index);
        }
    }
    deepest
}

/// The twin of [`distance`]: adds the cotangents of the geoms' poses and of their shapes.
pub fn distance_backward(
    model: &Model,
    kinematics: &Kinematics,
    geoms: [usize; 2],
    cutoff: f64,
    bar: &GeomDistance,
    bars: &mut Cotangents,
) {
    let [first, second] = geoms.map(|geom| model.structure.geoms.kind[geom]);
    let (geoms, bar) = if rank(first) > rank(second) {
        let flipped = GeomDistance {
            points: [bar.points[1], bar.points[0]],
            normal: -bar.normal,
            ..*bar
        };
        ([geoms[1], geoms[0]], flipped)
    } else {
        (geoms, *bar)
    };
    let [one, two] = geoms.map(|geom| posed_shape(model, kinematics, geom));
    let mut pair = PairBar::new(geoms, &mut bars.model);
    let work = &mut bars.data.collision;
    if has_support_functions(one.kind, two.kind) {
        let bar = convex::SurfaceBar {
            normal: bar.normal,
            distance: bar.distance,
            points: bar.points,
        };
        let workspace = &mut work.manifold.convex;
        convex::distance_backward([&one, &two], cutoff, &bar, workspace, &mut pair);
    } else {
        deepest_point_backward([&one, &two], cutoff, &bar, work, &mut pair);
    }
    pair.finish(kinematics, &mut bars.data.kinematics);
}

fn deepest_point_backward(
    shapes: [&PosedShape<'_>; 2],
    cutoff: f64,
    bar: &GeomDistance,
    work: &mut BackwardWork,
    out: &mut PairBar<'_>,
) {
    let Some(collider) = narrow::collider::<f64>(shapes[0].kind, shapes[1].kind) else {
        return;
    };
    work.manifold.clear();
    collider(shapes[0], shapes[1], cutoff, &mut work.manifold);
    let Some(deepest) = deepest(&work.manifold, cutoff) else {
        return;
    };
    let mut points = std::mem::take(&mut work.points);
    points.clear();
    points.extend(work.manifold.points().iter().map(|&point| Cotangent {
        point,
        bar: ContactPoint::default(),
    }));
    let (point, half_bar) = (points[deepest].point, bar.points[1] - bar.points[0]);
    points[deepest].bar = ContactPoint {
        distance: bar.distance + 0.5 * half_bar.dot(point.normal),
        position: bar.points[0] + bar.points[1],
        normal: bar.normal + half_bar * (0.5 * point.distance),
        tangent: Vec3::ZERO,
    };
    shapes_backward(shapes, cutoff, &points, work, out);
    work.points = points;
}
