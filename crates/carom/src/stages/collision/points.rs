//! Geoms that touch at given points only, where a contact law says so.
//!
//! A point is a sphere without radius: the colliders of spheres serve, and each point is a contact of its own.

use super::forward::{contact, posed_shape, rank};
use super::parameters::Parameters;
use super::{Collision, PosedShape, ShapeData, narrow};
use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use std::ops::Range;

/// The geom of a law that touches at points, and these points; none where shapes touch.
pub(super) fn of_law<T: Scalar>(
    model: &Model<T>,
    law: Option<usize>,
) -> Option<(usize, Range<usize>)> {
    let (law, laws) = (law?, &model.structure.laws);
    let points = laws.points[law].clone();
    (!points.is_empty()).then_some((laws.geom1[law]?, points))
}

/// Appends the contacts of the points of one geom with another.
pub(super) fn collide<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    (owner, points): (usize, Range<usize>),
    other: usize,
    parameters: &Parameters<T>,
    out: &mut Collision<T>,
) {
    let shape = posed_shape(model, kinematics, other);
    let point_first = rank(shape.kind) > rank(GeomKind::Sphere);
    let (kinds, geoms) = if point_first {
        ([GeomKind::Sphere, shape.kind], [owner, other])
    } else {
        ([shape.kind, GeomKind::Sphere], [other, owner])
    };
    let Some(collider) = narrow::collider::<T>(kinds[0], kinds[1]) else {
        return;
    };
    let (origin, rotation) = (
        kinematics.geom_position[owner],
        kinematics.geom_rotation[owner],
    );
    let reach = parameters.margin + parameters.gap;
    for &position in &model.contact_points.position[points] {
        let point = PosedShape {
            kind: GeomKind::Sphere,
            position: origin + rotation.mul_vec(position),
            rotation: Mat3::identity(),
            size: Vec3::ZERO,
            data: ShapeData::None,
        };
        let (first, second) = if point_first {
            (&point, &shape)
        } else {
            (&shape, &point)
        };
        out.manifold.clear();
        collider(first, second, reach, &mut out.manifold);
        for found in out.manifold.points() {
            out.contacts.push(contact(geoms, found, parameters));
        }
    }
}
