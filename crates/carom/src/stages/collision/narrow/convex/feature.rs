//! The parts of two cores that touch, and the distance, normal and points that they define.
//!
//! Near the solution a core is a point s(n) that moves with its outward normal n (a curved surface, or a corner that
//! stays) plus the span of up to two directions (an edge, a face). With s₁, s₂ of the two cores and u all directions,
//! the solution is
//!
//!   n·u = 0,    (s₂(−n) − s₁(n)) − d·n ∈ span(u),    |n| = 1.                                        (1)
//!
//! Two independent directions fix the normal, n ∝ u₁ × u₂. Otherwise it is found by Newton's method in the plane
//! across n and u with unit vectors e and the curvature radii Hᵢ = ∂sᵢ/∂n:
//!
//!   gⱼ = eⱼ·(s₂ − s₁),    (eᵀ·(H₁ + H₂)·e + d)·δ = g,    n ← n + e·δ.                                 (2)
//!
//! At the solution g vanishes but for its derivatives, so that one step over dual numbers differentiates (1) with the
//! features held fixed.

use super::core_shape::{CoreKind, CoreShape, ellipsoid_point, rim_offset};
use super::epa::perpendicular;
use super::simplex::{Simplex, Vertex};
use crate::math::Vec3;
use crate::scalar::Scalar;

/// Part of a cylinder's normal across its axis below which the cap touches as a whole.
const CAP: f64 = 1e-7;
/// Squared sine below which two directions are parallel.
const PARALLEL: f64 = 1e-16;
/// Fraction of its size by which a point may be outside of a shape.
const ON_SHAPE: f64 = 1e-9;
/// Curvature radius plus distance, relative to the size, below which the normal has no derivative.
const MIN_RADIUS: f64 = 1e-9;

/// The part of a core that touches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Feature {
    /// One, two or three different corners.
    Corners([u32; 3], usize),
    /// A point of an ellipsoid.
    Ellipsoid,
    /// A point of the rim of the upper (0) or lower (1) cap of a cylinder.
    Rim(u32),
    /// A line on the side of a cylinder.
    Side,
    /// The upper (0) or lower (1) cap of a cylinder.
    Cap(u32),
}

impl Feature {
    /// The feature of one of the shapes (0 or 1) of a simplex on which the difference has normal `normal`.
    pub(super) fn of<T: Scalar>(
        shape: &CoreShape<'_, T>,
        vertices: &[Vertex],
        side: usize,
        outward: Vec3,
    ) -> Self {
        let (corners, count) = different(vertices, side);
        match shape.kind {
            CoreKind::Ellipsoid => Self::Ellipsoid,
            CoreKind::Cylinder if count > 1 => Self::Side,
            CoreKind::Cylinder => {
                let local = shape.plain.to_local(outward);
                if local[0].hypot(local[1]) < CAP {
                    Self::Cap(corners[0])
                } else {
                    Self::Rim(corners[0])
                }
            }
            _ => Self::Corners(corners, count),
        }
    }

    /// s(n) in the world.
    fn base<T: Scalar>(self, shape: &CoreShape<'_, T>, outward: Vec3<T>) -> Vec3<T> {
        let (posed, size) = (&shape.posed, shape.posed.size);
        let end = |cap: u32| {
            let half = if cap == 0 { size[1] } else { -size[1] };
            Vec3([T::ZERO, T::ZERO, half])
        };
        let local = match self {
            Self::Corners(corners, _) => shape.corner(corners[0]),
            Self::Ellipsoid => ellipsoid_point(posed.to_local(outward), size),
            Self::Rim(cap) => end(cap) + rim_offset(posed.to_local(outward), size[0]),
            Self::Side => rim_offset(posed.to_local(outward), size[0]),
            Self::Cap(cap) => end(cap),
        };
        posed.to_world(local)
    }

    /// The directions that the feature spans.
    fn directions<T: Scalar>(self, shape: &CoreShape<'_, T>) -> ([Vec3<T>; 2], usize) {
        let rotation = shape.posed.rotation;
        match self {
            Self::Corners(corners, count) => {
                let start = shape.corner(corners[0]);
                let toward = |corner: u32| rotation.mul_vec(shape.corner(corner) - start);
                match count {
                    1 => ([Vec3::ZERO; 2], 0),
                    2 => ([toward(corners[1]), Vec3::ZERO], 1),
                    _ => ([toward(corners[1]), toward(corners[2])], 2),
                }
            }
            Self::Ellipsoid | Self::Rim(_) => ([Vec3::ZERO; 2], 0),
            Self::Side => ([rotation.column(2), Vec3::ZERO], 1),
            Self::Cap(_) => ([rotation.column(0), rotation.column(1)], 2),
        }
    }

    /// H·e: how the point moves when the outward normal turns toward e.
    fn curvature<T: Scalar>(self, shape: &CoreShape<'_, T>, outward: Vec3, tangent: Vec3) -> Vec3 {
        let size = shape.plain.size;
        let scale = match self {
            Self::Corners(..) | Self::Cap(_) => return Vec3::ZERO,
            Self::Ellipsoid => size,
            // A circle is a flat ellipsoid of half sizes r, r, 0.
            Self::Rim(_) | Self::Side => Vec3([size[0], size[0], 0.0]),
        };
        let normal = shape.plain.to_local(outward).component_mul(scale);
        let along = shape.plain.to_local(tangent).component_mul(scale);
        let length = normal.norm();
        if length < f64::MIN_POSITIVE {
            return Vec3::ZERO;
        }
        let turned = along - normal * (normal.dot(along) / (length * length));
        shape
            .plain
            .rotation
            .mul_vec(turned.component_mul(scale) * length.recip())
    }
}

impl Feature {
    /// Whether a world point that lies on the plane, line or surface of the feature is on the shape itself.
    fn holds<T: Scalar>(self, shape: &CoreShape<'_, T>, point: Vec3) -> bool {
        let size = shape.plain.size;
        let local = shape.plain.to_local(point - shape.plain.position);
        let within = |coordinate: f64, limit: f64| {
            coordinate.abs() <= limit + ON_SHAPE * (limit + coordinate.abs())
        };
        match (shape.kind, self) {
            (CoreKind::Segment, _) => within(local[2], size[1]),
            (CoreKind::Box, _) => (0..3).all(|axis| within(local[axis], size[axis])),
            (CoreKind::Cylinder, _) => {
                within(local[2], size[1]) && within(local[0].hypot(local[1]), size[0])
            }
            (_, Self::Corners(corners, 2)) => {
                let [a, b] = [0, 1].map(|i: usize| shape.corner(corners[i]).value());
                let along = b - a;
                let t = (local - a).dot(along) / along.norm_squared();
                (-ON_SHAPE..=1.0 + ON_SHAPE).contains(&t)
            }
            (_, Self::Corners(corners, 3)) => {
                let [a, b, c] = corners.map(|corner| shape.corner(corner).value());
                let normal = (b - a).cross(c - a);
                let part = |p: Vec3, q: Vec3| (p - local).cross(q - local).dot(normal);
                let least = -ON_SHAPE * normal.norm_squared();
                [part(a, b), part(b, c), part(c, a)]
                    .iter()
                    .all(|&part| part >= least)
            }
            _ => true,
        }
    }
}

/// The different numbers among the vertices of one shape.
fn different(vertices: &[Vertex], side: usize) -> ([u32; 3], usize) {
    let (mut found, mut count) = ([0; 3], 0);
    for vertex in vertices.iter().take(3) {
        let index = vertex.index[side];
        if !found[..count].contains(&index) {
            found[count] = index;
            count += 1;
        }
    }
    (found, count)
}

/// The contact of two cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<T: Scalar> {
    /// Unit vector from the first to the second core.
    pub(super) normal: Vec3<T>,
    /// Signed distance of the cores (m).
    pub(super) distance: T,
    /// Witness points on the two cores (m).
    pub(super) points: [Vec3<T>; 2],
}

/// Two cores with the features at which they touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Features<'a, 'b, T: Scalar> {
    shapes: [&'b CoreShape<'a, T>; 2],
    features: [Feature; 2],
}

/// Directions across which the normal is.
enum Span<T: Scalar> {
    None,
    One(Vec3<T>),
    Two(Vec3<T>, Vec3<T>),
}

impl<'a, 'b, T: Scalar> Features<'a, 'b, T> {
    /// The features of the simplex that a search ended with.
    pub(super) fn new(shapes: [&'b CoreShape<'a, T>; 2], simplex: &Simplex, normal: Vec3) -> Self {
        let feature = |side: usize, outward: Vec3| {
            Feature::of(shapes[side], simplex.vertices(), side, outward)
        };
        Self {
            shapes,
            features: [feature(0, normal), feature(1, -normal)],
        }
    }

    /// These features of these shapes.
    pub(super) fn of(shapes: [&'b CoreShape<'a, T>; 2], features: [Feature; 2]) -> Self {
        Self { shapes, features }
    }

    /// Whether (2) needs more than one step.
    pub(super) fn is_curved(&self) -> bool {
        self.features
            .iter()
            .any(|feature| !matches!(feature, Feature::Corners(..) | Feature::Cap(_)))
    }

    /// Whether the normal follows from the directions of the features, without (2).
    pub(super) fn fix_normal(&self) -> bool {
        matches!(self.span(), Span::Two(..))
    }

    /// The directions of both features. The second shape's face decides, then the first's, then two edges.
    fn span(&self) -> Span<T> {
        let (first, count1) = self.features[0].directions(self.shapes[0]);
        let (second, count2) = self.features[1].directions(self.shapes[1]);
        match (count1, count2) {
            (_, 2) => Span::Two(second[0], second[1]),
            (2, _) => Span::Two(first[0], first[1]),
            (1, 1) => {
                let (u, w) = (first[0].value(), second[0].value());
                let sine = u.cross(w).norm_squared();
                if sine > PARALLEL * u.norm_squared() * w.norm_squared() {
                    Span::Two(first[0], second[0])
                } else {
                    Span::One(second[0])
                }
            }
            (1, 0) => Span::One(first[0]),
            (0, 1) => Span::One(second[0]),
            _ => Span::None,
        }
    }

    /// s₂(−n) − s₁(n) and the two points.
    fn between(&self, normal: Vec3<T>) -> (Vec3<T>, [Vec3<T>; 2]) {
        let first = self.features[0].base(self.shapes[0], normal);
        let second = self.features[1].base(self.shapes[1], -normal);
        (second - first, [first, second])
    }

    /// One step of (2) from a normal near the solution, which is `witness` on the first core where several points
    /// are as near.
    pub(super) fn solve(&self, near: Vec3, witness: Vec3) -> Touch<T> {
        let start = Vec3::from_f64(near);
        let span = self.span();
        let normal = match span {
            Span::Two(u, w) => {
                let (normal, _) = u.cross(w).normalized();
                if normal.value().dot(near) < 0.0 {
                    -normal
                } else {
                    normal
                }
            }
            Span::One(u) => {
                let across = start - u * (u.dot(start) / u.norm_squared());
                let tangent = near.cross(u.value()).normalized().0;
                self.turn(across.normalized().0, &[tangent], Some(u))
            }
            Span::None => {
                let tangent = perpendicular(near);
                self.turn(start, &[tangent, near.cross(tangent)], None)
            }
        };
        let (between, bases) = self.between(normal);
        let distance = normal.dot(between);
        let points = self.witness(normal, distance, bases, witness);
        Touch {
            normal,
            distance,
            points,
        }
    }

    /// The step (2) along one or two tangents, which stay across `edge`.
    fn turn(&self, normal: Vec3<T>, tangents: &[Vec3], edge: Option<Vec3<T>>) -> Vec3<T> {
        let (between, _) = self.between(normal);
        let plain = normal.value();
        let distance = plain.dot(between.value());
        let curvature = |tangent: Vec3| {
            self.features[0].curvature(self.shapes[0], plain, tangent)
                + self.features[1].curvature(self.shapes[1], -plain, tangent)
        };
        let project = |tangent: Vec3| {
            let lifted = Vec3::from_f64(tangent);
            let lifted = lifted - normal * normal.dot(lifted);
            edge.map_or(lifted, |u| lifted - u * (u.dot(lifted) / u.norm_squared()))
        };
        let least = MIN_RADIUS * between.value().norm().max(f64::MIN_POSITIVE);
        match *tangents {
            [e] => {
                let radius = e.dot(curvature(e)) + distance;
                if radius <= least {
                    return normal;
                }
                let lifted = project(e);
                let angle = lifted.dot(between) / radius;
                (normal + lifted * angle).normalized().0
            }
            [e, f] => {
                let (he, hf) = (curvature(e), curvature(f));
                let (a, b, c) = (e.dot(he) + distance, e.dot(hf), f.dot(hf) + distance);
                let determinant = a * c - b * b;
                if a + c <= least || determinant <= least * (a + c) {
                    return normal;
                }
                let lifted = [project(e), project(f)];
                let [g, h] = lifted.map(|tangent| tangent.dot(between));
                let angles = [(g * c - h * b) / determinant, (h * a - g * b) / determinant];
                (normal + lifted[0] * angles[0] + lifted[1] * angles[1])
                    .normalized()
                    .0
            }
            _ => normal,
        }
    }

    /// The nearest points: s₁ + u₁·α and s₂ + u₂·β that differ by d·n.
    fn witness(
        &self,
        normal: Vec3<T>,
        distance: T,
        [first, second]: [Vec3<T>; 2],
        witness: Vec3,
    ) -> [Vec3<T>; 2] {
        let (u, count1) = self.features[0].directions(self.shapes[0]);
        let (w, count2) = self.features[1].directions(self.shapes[1]);
        let gap = normal * distance;
        if count1 == 0 {
            return [first, first + gap];
        }
        if count2 == 0 {
            return [second - gap, second];
        }
        if (count1, count2) == (1, 1) {
            // Where the two lines are nearest: the third component is along n.
            let cross = u[0].cross(w[0]);
            let sine = cross.norm_squared();
            if sine.value() > PARALLEL * u[0].value().norm_squared() * w[0].value().norm_squared() {
                let along = (second - first - gap).cross(w[0]).dot(cross) / sine;
                let point = first + u[0] * along;
                return [point, point + gap];
            }
        }
        let point = Self::material_point(first, &u[..count1], witness);
        [point, point + gap]
    }

    /// The point of the first feature nearest to a plain one, as a point that moves with the shape.
    fn material_point(base: Vec3<T>, directions: &[Vec3<T>], near: Vec3) -> Vec3<T> {
        let offset = near - base.value();
        match *directions {
            [u] => {
                let along = u.value();
                base + u * (offset.dot(along) / along.norm_squared())
            }
            [u, w] => {
                let (p, q) = (u.value(), w.value());
                let (a, b, c) = (p.norm_squared(), p.dot(q), q.norm_squared());
                let determinant = a * c - b * b;
                if determinant <= PARALLEL * a * c {
                    return base;
                }
                let (g, h) = (offset.dot(p), offset.dot(q));
                base + u * ((g * c - h * b) / determinant) + w * ((h * a - g * b) / determinant)
            }
            _ => base,
        }
    }

    /// What a search found, carried along by the shapes, where the features do not give a better solution.
    pub(super) fn frozen(&self, normal: Vec3, witness: [Vec3; 2]) -> Touch<T> {
        let attach = |side: usize| {
            let (plain, posed) = (&self.shapes[side].plain, &self.shapes[side].posed);
            let local = plain.to_local(witness[side] - plain.position);
            posed.to_world(Vec3::from_f64(local))
        };
        let points = [attach(0), attach(1)];
        let normal = Vec3::from_f64(normal);
        Touch {
            normal,
            distance: normal.dot(points[1] - points[0]),
            points,
        }
    }

    /// Whether the points are on the shapes, not only on the planes and lines through their features.
    pub(super) fn hold(&self, points: [Vec3<T>; 2]) -> bool {
        let holds =
            |side: usize| self.features[side].holds(self.shapes[side], points[side].value());
        holds(0) && holds(1)
    }

    /// The features, first and second shape.
    pub(super) fn features(&self) -> [Feature; 2] {
        self.features
    }
}
