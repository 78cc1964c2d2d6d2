//! The adjoint of the contact of two convex shapes, at the features that the search ends with.
//!
//! The search runs again on plain numbers and finds the same features. What they define, the distance, the normal and
//! the two surface points, is evaluated once over dual numbers, with directions of
//!
//! - the corners of a feature of a mesh or of a few points, from which the pose of that shape follows: a corner v of
//!   its frame with cotangent v̄ exerts the force R·v̄ at R·v; or
//! - the sizes of other shapes, and the pose of the second of two such.
//!
//! The pose of a shape without directions follows from the invariance under rigid motions.

use super::clip_backward::ClipBar;
use super::core_shape::{CoreKind, CoreShape, Posed};
use super::feature::{Feature, Features};
use super::manifold::clipped;
use super::{Found, Surface, Workspace, touch};
use crate::dual::Dual;
use crate::math::Vec3;
use crate::stages::collision::PosedShape;
use crate::stages::collision::backward::{Cotangent, PairBar, ShapeBar, add_tangent, turn};

/// Directions at a time: a pose and two sizes, four corners, or three corners and a size.
const DIRECTIONS: usize = 12;
type Number = Dual<DIRECTIONS>;

/// Cotangents of the nearest points of two surfaces.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super::super) struct SurfaceBar {
    pub(in super::super::super) normal: Vec3,
    pub(in super::super::super) distance: f64,
    pub(in super::super::super) points: [Vec3; 2],
}

/// Cotangents of two shapes that touch at features.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct FeatureBar {
    shapes: [ShapeBar; 2],
    /// Of the corners of the features of meshes and points, in the frame of the shape.
    corners: [[Vec3; 3]; 2],
}

impl FeatureBar {
    /// Calls `visit` with the number and the cotangent of every corner of a shape's feature.
    pub(in super::super) fn for_each_corner(
        &self,
        side: usize,
        found: &Found<'_, '_, f64>,
        mut visit: impl FnMut(u32, Vec3),
    ) {
        if let Feature::Corners(corners, count) = found.features.features()[side] {
            for (&corner, &bar) in corners[..count].iter().zip(&self.corners[side]) {
                visit(corner, bar);
            }
        }
    }

    /// Adds everything to the cotangents of a pair, but for corners that belong to no mesh.
    pub(in super::super) fn add_to(
        &self,
        shapes: [&CoreShape<'_, f64>; 2],
        found: &Found<'_, '_, f64>,
        out: &mut PairBar<'_>,
    ) {
        for side in 0..2 {
            let (sum, bar) = (&mut out.shapes[side], &self.shapes[side]);
            sum.force += bar.force;
            sum.torque += bar.torque;
            sum.size += bar.size;
            if let CoreKind::Mesh(_, topology) = shapes[side].kind {
                self.for_each_corner(side, found, |corner, bar| {
                    out.add_vertex(side, topology.vertices[corner as usize] as usize, bar);
                });
            }
        }
    }
}

/// The twin of [`collide`](super::collide).
pub(in super::super::super) fn backward(
    posed: [&PosedShape<'_>; 2],
    margin: f64,
    points: &[Cotangent],
    (work, clip_bar): (&mut Workspace, &mut ClipBar),
    out: &mut PairBar<'_>,
) {
    let origin = posed[0].position;
    let [Some(first), Some(second)] = posed.map(|shape| CoreShape::new(shape, origin)) else {
        return;
    };
    let shapes = [&first, &second];
    let Some(found) = touch(shapes, margin, work) else {
        return;
    };
    let in_world = posed.map(|shape| CoreShape::new(shape, Vec3::ZERO));
    if let ([Some(first), Some(second)], false) = (&in_world, work.single_point) {
        let worlds = [first, second];
        if let Some(clip) = clipped(worlds, &found, margin, work) {
            let normal = found.touch.normal;
            let normal_bar = clip_bar.add(worlds, normal, &clip, points, &work.clip, out);
            if normal_bar != Vec3::ZERO {
                let bar = SurfaceBar {
                    normal: normal_bar,
                    ..SurfaceBar::default()
                };
                touch_vjp(shapes, &found, &bar).add_to(shapes, &found, out);
            }
            return;
        }
    }
    if let Some(Cotangent { bar, .. }) = points.first() {
        let bar = SurfaceBar {
            normal: bar.normal,
            distance: bar.distance,
            points: [bar.position * 0.5; 2],
        };
        touch_vjp(shapes, &found, &bar).add_to(shapes, &found, out);
    }
}

/// The twin of [`distance`](super::distance).
pub(in super::super::super) fn distance_backward(
    posed: [&PosedShape<'_>; 2],
    cutoff: f64,
    bar: &SurfaceBar,
    work: &mut Workspace,
    out: &mut PairBar<'_>,
) {
    let origin = posed[0].position;
    let [Some(first), Some(second)] = posed.map(|shape| CoreShape::new(shape, origin)) else {
        return;
    };
    let shapes = [&first, &second];
    if let Some(found) = touch(shapes, cutoff, work) {
        touch_vjp(shapes, &found, bar).add_to(shapes, &found, out);
    }
}

/// Which directions a shape has.
#[derive(Clone, Copy, Debug)]
enum Seed {
    None,
    /// Its size.
    Size(usize),
    /// Its pose and its size.
    PoseAndSize([usize; 2]),
    /// The corners of its feature.
    Corners(usize),
}

/// The twin of [`touch`] with the radii added: from nearest points to shapes.
pub(in super::super) fn touch_vjp(
    shapes: [&CoreShape<'_, f64>; 2],
    found: &Found<'_, '_, f64>,
    bar: &SurfaceBar,
) -> FeatureBar {
    if found.is_frozen {
        return frozen_vjp(shapes, found, bar);
    }
    let mut out = FeatureBar::default();
    let features = found.features.features();
    let corners = [0, 1].map(|side: usize| corner_count(shapes[side], features[side]));
    let mut run = |seeds: [Seed; 2]| {
        let sums = evaluate(shapes, found, bar, seeds);
        for (side, seed) in seeds.into_iter().enumerate() {
            out.add(side, shapes[side], features[side], seed, &sums);
        }
    };
    match corners {
        [None, None] => run([Seed::Size(6), Seed::PoseAndSize([0, 9])]),
        [Some(_), None] => run([Seed::Corners(0), Seed::Size(9)]),
        [None, Some(_)] => run([Seed::Size(9), Seed::Corners(0)]),
        [Some(first), Some(second)] if 3 * (first + second) <= DIRECTIONS => {
            run([Seed::Corners(0), Seed::Corners(3 * first)]);
        }
        [Some(_), Some(_)] => {
            run([Seed::Corners(0), Seed::None]);
            run([Seed::None, Seed::Corners(0)]);
        }
    }
    match corners {
        [Some(_), Some(_)] => {}
        [Some(_), None] => out.complete(0, shapes, found, bar),
        [None, _] => out.complete(1, shapes, found, bar),
    }
    out
}

/// How many corners with directions of their own a feature has; none for shapes given by their size.
fn corner_count(shape: &CoreShape<'_, f64>, feature: Feature) -> Option<usize> {
    match (shape.kind, feature) {
        (CoreKind::Mesh(..) | CoreKind::Points(_), Feature::Corners(_, count)) => Some(count),
        _ => None,
    }
}

impl FeatureBar {
    /// Adds what the directions of one shape gave.
    fn add(
        &mut self,
        side: usize,
        shape: &CoreShape<'_, f64>,
        feature: Feature,
        seed: Seed,
        sums: &[f64; DIRECTIONS],
    ) {
        let three = |start: usize| Vec3([sums[start], sums[start + 1], sums[start + 2]]);
        let bar = &mut self.shapes[side];
        match seed {
            Seed::None => {}
            Seed::Size(start) => bar.size += three(start),
            Seed::PoseAndSize([pose, size]) => {
                bar.force += three(pose);
                bar.torque += three(pose + 3);
                bar.size += three(size);
            }
            Seed::Corners(start) => {
                let Feature::Corners(corners, count) = feature else {
                    return;
                };
                let rotation = &shape.plain.rotation;
                for (index, &corner) in corners[..count].iter().enumerate() {
                    let corner_bar = three(start + 3 * index);
                    let arm = rotation.mul_vec(shape.corner(corner));
                    bar.add_point(arm, rotation.mul_vec(corner_bar));
                    self.corners[side][index] += corner_bar;
                }
            }
        }
    }

    /// The pose of the other shape from that of `side`.
    fn complete(
        &mut self,
        side: usize,
        shapes: [&CoreShape<'_, f64>; 2],
        found: &Found<'_, '_, f64>,
        bar: &SurfaceBar,
    ) {
        let centers = shapes.map(|shape| shape.plain.position);
        let known = self.shapes[side];
        let surface = found.inflated(shapes);
        let other = &mut self.shapes[1 - side];
        other.force -= known.force;
        other.torque -= known.torque + (centers[side] - centers[1 - side]).cross(known.force);
        for (point, point_bar) in surface.points.into_iter().zip(bar.points) {
            other.add_point(point - centers[1 - side], point_bar);
        }
        other.add_direction(surface.normal, bar.normal);
    }
}

/// Σ ȳ·∂y of the nearest points along the directions.
fn evaluate(
    shapes: [&CoreShape<'_, f64>; 2],
    found: &Found<'_, '_, f64>,
    bar: &SurfaceBar,
    seeds: [Seed; 2],
) -> [f64; DIRECTIONS] {
    let features = found.features.features();
    let corners = [0, 1].map(|side: usize| lift_corners(shapes[side], features[side], seeds[side]));
    let [first, second] = [0, 1].map(|side: usize| lift(shapes[side], seeds[side], &corners[side]));
    let lifted = [&first, &second];
    let renumbered = [0, 1].map(|side: usize| match features[side] {
        Feature::Corners(_, count) if corner_count(shapes[side], features[side]).is_some() => {
            Feature::Corners([0, 1, 2], count)
        }
        feature => feature,
    });
    let features = Features::of(lifted, renumbered);
    let found = Found {
        touch: features.solve(found.touch.normal, found.touch.points[0]),
        features,
        is_frozen: false,
    };
    let Surface {
        normal,
        distance,
        points,
    } = found.inflated(lifted);
    let mut sums = [0.0; DIRECTIONS];
    add_tangent(&mut sums, distance, bar.distance);
    for axis in 0..3 {
        add_tangent(&mut sums, normal[axis], bar.normal[axis]);
        for (point, bar) in points.iter().zip(&bar.points) {
            add_tangent(&mut sums, point[axis], bar[axis]);
        }
    }
    sums
}

/// The corners of a feature with their directions.
fn lift_corners(shape: &CoreShape<'_, f64>, feature: Feature, seed: Seed) -> [Vec3<Number>; 3] {
    let mut lifted = [Vec3::ZERO; 3];
    if let (Feature::Corners(corners, count), Some(_)) = (feature, corner_count(shape, feature)) {
        for (index, &corner) in corners[..count].iter().enumerate() {
            lifted[index] = shape.corner(corner).map(Number::constant);
            if let Seed::Corners(start) = seed {
                for axis in 0..3 {
                    lifted[index][axis].tangent[start + 3 * index + axis] = 1.0;
                }
            }
        }
    }
    lifted
}

/// A core with its directions.
fn lift<'a>(
    shape: &CoreShape<'_, f64>,
    seed: Seed,
    corners: &'a [Vec3<Number>; 3],
) -> CoreShape<'a, Number> {
    let Posed {
        position,
        rotation,
        size,
    } = shape.plain;
    let mut posed = Posed {
        position: position.map(Number::constant),
        rotation: rotation.map(Number::constant),
        size: size.map(Number::constant),
    };
    if let Seed::PoseAndSize([start, _]) = seed {
        turn(&mut posed.rotation, start + 3);
        for axis in 0..3 {
            posed.position[axis].tangent[start + axis] = 1.0;
        }
    }
    if let Seed::Size(start) | Seed::PoseAndSize([_, start]) = seed {
        for axis in 0..3 {
            posed.size[axis].tangent[start + axis] = 1.0;
        }
    }
    let (kind, radius) = match shape.kind {
        CoreKind::Point => (CoreKind::Point, posed.size[0]),
        CoreKind::Segment => (CoreKind::Segment, posed.size[0]),
        CoreKind::Ellipsoid => (CoreKind::Ellipsoid, Number::constant(0.0)),
        CoreKind::Cylinder => (CoreKind::Cylinder, Number::constant(0.0)),
        CoreKind::Box => (CoreKind::Box, Number::constant(0.0)),
        CoreKind::Mesh(..) | CoreKind::Points(_) => {
            (CoreKind::Points(corners), Number::constant(0.0))
        }
    };
    CoreShape {
        kind,
        posed,
        plain: shape.plain,
        radius,
    }
}

/// Points that are carried along by the shapes, and a normal that stays.
fn frozen_vjp(
    shapes: [&CoreShape<'_, f64>; 2],
    found: &Found<'_, '_, f64>,
    bar: &SurfaceBar,
) -> FeatureBar {
    let mut out = FeatureBar::default();
    let normal = found.touch.normal;
    for (side, outward) in [normal, -normal].into_iter().enumerate() {
        let (shape, sum) = (shapes[side], &mut out.shapes[side]);
        let point_bar = bar.points[side];
        let arm = found.touch.points[side] - shape.plain.position;
        sum.add_point(arm, point_bar - outward * bar.distance);
        if matches!(shape.kind, CoreKind::Point | CoreKind::Segment) {
            sum.size[0] += outward.dot(point_bar) - bar.distance;
        }
    }
    out
}
