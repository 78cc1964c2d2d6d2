//! Capsule and box: spheres at the point of the axis nearest to the box and, where the axis lies along the box, at the
//! farthest point that is still above it.
//!
//! In the frame of the box the axis is c + x·h with −1 ≤ x ≤ 1. The nearest point is an end of the axis above a face,
//! or the closest point of the axis to one of the twelve edges: with the edge m + y·a (a along one axis of the box,
//! −1 ≤ y ≤ 1) and d = m − c, minimising |d + y·a − x·h|² gives
//!
//!   | a·a  −a·h | | y |   | −a·d |
//!   | −a·h  h·h | | x | = |  h·d |
//!
//! clamped to both segments. Which feature wins, and how the axis passes over it, tells in which direction the second
//! sphere is to be looked for and where the box ends there.

use super::sphere_box;
use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{Manifold, PosedShape};

/// Numbers below this are zero.
const TINY: f64 = 1e-15;
/// Squared cosine above which the axis runs along an edge rather than across a face.
const ALONG_EDGE: f64 = 0.5;

/// The points of a capsule and a box.
pub(super) fn collide<T: Scalar>(
    capsule: &PosedShape<'_, T>,
    cuboid: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let axis = cuboid.rotation.transpose_mul_vec(capsule.axis());
    let segment = Segment {
        center: cuboid
            .rotation
            .transpose_mul_vec(capsule.position - cuboid.position),
        axis,
        half: axis * capsule.size[1],
        half_length: capsule.size[1],
    };
    let Some(nearest) = segment.nearest(cuboid.size) else {
        return;
    };
    let radius = capsule.size[0];
    // Through the world and back, so that ties between faces are broken as for a sphere at that place.
    let sphere_at = |along: T| {
        let offset = cuboid.rotation.mul_vec(segment.at(along)) + cuboid.position - cuboid.position;
        sphere_box::contact(cuboid.rotation.transpose_mul_vec(offset), radius, cuboid)
    };
    let first = sphere_at(nearest.along);
    out.push_within(first, margin);
    if let Some(step) = segment.step_to_second(&nearest, cuboid.size) {
        let second = sphere_at(nearest.along + step);
        out.push_within(second, margin);
    }
}

/// A corner of the box: bit k is set on the positive side of axis k. As a direction, the octant of a vector.
type Octant = usize;

/// The part of the box nearest to the axis of the capsule.
#[derive(Clone, Copy)]
enum Feature<T> {
    /// A face, nearest to an end of the axis; none when that end is inside.
    Face(Option<usize>),
    /// A corner.
    Corner(Octant),
    /// The inside of an edge along an axis, at −1…1 of it, with a corner of it.
    Edge {
        axis: usize,
        corner: Octant,
        place: T,
    },
}

/// The point of the axis nearest to the box.
struct Nearest<T> {
    /// Where it is, −1…1.
    along: T,
    /// What it is nearest to.
    feature: Feature<T>,
}

/// The axis of the capsule in the frame of the box.
struct Segment<T: Scalar> {
    center: Vec3<T>,
    /// Unit direction.
    axis: Vec3<T>,
    /// From the centre to an end (m).
    half: Vec3<T>,
    half_length: T,
}

impl<T: Scalar> Segment<T> {
    #[inline]
    fn at(&self, along: T) -> Vec3<T> {
        self.center + self.half * along
    }

    /// Signs of the direction.
    fn octant(&self) -> Octant {
        (0..3)
            .filter(|&axis| self.half[axis].value() > 0.0)
            .map(|axis| 1 << axis)
            .sum()
    }

    fn nearest(&self, size: Vec3<T>) -> Option<Nearest<T>> {
        let mut least = f64::INFINITY;
        let mut nearest = None;
        for end in [-1.0, 1.0] {
            if let Some((face, distance)) = above_face(self.at(T::from(end)), size)
                && distance < least
            {
                least = distance;
                nearest = Some(Nearest {
                    along: T::from(end),
                    feature: Feature::Face(face),
                });
            }
        }
        for axis in 0..3 {
            for corner in (0..8).filter(|corner| corner & (1 << axis) == 0) {
                if let Some((candidate, distance)) = self.nearest_on_edge(size, axis, corner)
                    && distance < least - TINY
                {
                    least = distance;
                    nearest = Some(candidate);
                }
            }
        }
        nearest
    }

    /// The point nearest to the edge that leaves `corner` along `axis`, with the squared distance; none when they are
    /// parallel.
    fn nearest_on_edge(
        &self,
        size: Vec3<T>,
        axis: usize,
        corner: Octant,
    ) -> Option<(Nearest<T>, f64)> {
        let mut middle = Vec3(std::array::from_fn(|k| {
            size[k] * if corner & (1 << k) == 0 { -1.0 } else { 1.0 }
        }));
        middle[axis] = T::ZERO;
        let between = middle - self.center;
        let edge_squared = size[axis] * size[axis];
        let axis_squared = self.half_length * self.half_length;
        let mixed = -size[axis] * self.half[axis];
        let edge_side = -size[axis] * between[axis];
        let axis_side = self.half.dot(between);
        let determinant = edge_squared * axis_squared - mixed * mixed;
        if determinant.value().abs() < TINY {
            return None;
        }
        let scale = determinant.recip();
        let mut place = (axis_squared * edge_side - mixed * axis_side) * scale;
        let mut along = (edge_squared * axis_side - mixed * edge_side) * scale;
        let mut corner_side = end_beyond(place);
        if let Some(end) = corner_side {
            place = T::from(end);
            along = (axis_side - mixed * end) / axis_squared;
        }
        if let Some(end) = end_beyond(along) {
            along = T::from(end);
            place = (edge_side - mixed * end) / edge_squared;
            // An edge that was left once counts as a corner even if this brings the point back.
            if let Some(end) = end_beyond(place) {
                place = T::from(end);
                corner_side = Some(end);
            }
        }
        let mut difference = between - self.half * along;
        difference[axis] += size[axis] * place;
        let feature = match corner_side {
            None => Feature::Edge {
                axis,
                corner,
                place,
            },
            Some(end) if end > 0.0 => Feature::Corner(corner | (1 << axis)),
            Some(_) => Feature::Corner(corner),
        };
        Some((
            Nearest { along, feature },
            difference.norm_squared().value(),
        ))
    }

    /// How far along the axis the second sphere is from the first; none when there is no use for one.
    fn step_to_second(&self, nearest: &Nearest<T>, size: Vec3<T>) -> Option<T> {
        match nearest.feature {
            Feature::Face(face) => face.map(|face| self.step_over_face(face, nearest.along, size)),
            Feature::Corner(corner) => self.step_from_corner(corner, nearest.along, size),
            Feature::Edge {
                axis,
                corner,
                place,
            } => self.step_from_edge(axis, corner, place, nearest.along, size),
        }
    }

    /// From the end above a face towards the other, as far as the face reaches.
    fn step_over_face(&self, face: usize, end: T, size: Vec3<T>) -> T {
        let start = self.at(end);
        let mut step = T::from(2.0);
        for axis in (0..3).filter(|&axis| axis != face) {
            for side in [size[axis], -size[axis]] {
                let to_side = (side - start[axis]) / self.half[axis] * -end;
                if to_side.value() > 0.0 && to_side.value() < step.value() {
                    step = to_side;
                }
            }
        }
        step * -end
    }

    /// From a corner along an edge or across a face; none when the axis points to the corner or away from it.
    fn step_from_corner(&self, corner: Octant, along: T, size: Vec3<T>) -> Option<T> {
        let turned = self.octant() ^ corner;
        let (apart, sign) = match turned {
            0 | 7 => return None,
            1 | 2 | 4 => (turned, 1.0),
            _ => (7 - turned, -1.0),
        };
        // The one axis along which the direction does not agree with the corner, or the one along which it does.
        let single = apart.trailing_zeros() as usize;
        let across = |axis: usize| size[axis] * 2.0 / self.half[axis].abs();
        if (self.axis[single] * self.axis[single]).value() > ALONG_EDGE {
            let to_end = T::ONE - along * sign;
            return Some(shorter(to_end, across(single)) * sign);
        }
        let to_end = T::ONE + along * sign;
        let [next, last] = [(single + 1) % 3, (single + 2) % 3].map(across);
        Some(shorter(shorter(to_end, next), last) * -sign)
    }

    /// From an edge over the face that the axis is flatter to; none when the axis points away from the box.
    fn step_from_edge(
        &self,
        edge: usize,
        corner: Octant,
        place: T,
        along: T,
        size: Vec3<T>,
    ) -> Option<T> {
        let turned = (self.octant() ^ corner) & !(1 << edge);
        if turned.count_ones() != 1 {
            return None;
        }
        let [next, last] = [(edge + 1) % 3, (edge + 2) % 3];
        let steeper = |axis: usize| self.axis[axis].value().abs();
        let flat = if steeper(next) > steeper(last) {
            next
        } else {
            last
        };
        let forward = turned & (1 << flat) != 0;
        let sign = if forward { 1.0 } else { -1.0 };
        let to_end = T::ONE - along * sign;
        let across = size[flat] * 2.0 / self.half[flat].abs();
        let toward_upper = (self.octant() & (1 << edge) != 0) == forward;
        let left = if toward_upper {
            T::ONE - place
        } else {
            T::ONE + place
        };
        let along_edge = size[edge] * left / self.half[edge].abs();
        Some(shorter(shorter(to_end, across), along_edge) * sign)
    }
}

/// The smaller number; the first when the second is not a number.
#[inline]
fn shorter<T: Scalar>(step: T, limit: T) -> T {
    if limit.value() < step.value() {
        limit
    } else {
        step
    }
}

/// The end of −1…1 that a number is beyond.
#[inline]
fn end_beyond<T: Scalar>(number: T) -> Option<f64> {
    if number.value() > 1.0 {
        Some(1.0)
    } else if number.value() < -1.0 {
        Some(-1.0)
    } else {
        None
    }
}

/// The face that a point is above, with its squared distance; a point inside is above none, at zero. Points beside
/// edges and corners are refused.
fn above_face<T: Scalar>(point: Vec3<T>, size: Vec3<T>) -> Option<(Option<usize>, f64)> {
    let mut face = None;
    let mut distance = 0.0;
    for axis in 0..3 {
        let beyond = point[axis].value().abs() - size[axis].value();
        if beyond > 0.0 {
            if face.is_some() {
                return None;
            }
            face = Some(axis);
            distance = beyond * beyond;
        }
    }
    Some((face, distance))
}
