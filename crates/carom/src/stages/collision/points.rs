//! Geoms that touch at given points only, where a contact law says so.
//!
//! A point is a sphere without radius: the colliders of spheres serve, and each point is a contact of its own.

use super::backward::{BackwardWork, PairBar, Pass, ShapeBar, add_wrench, shapes_backward};
use super::forward::{contact, posed_shape, rank};
use super::parameters::{self, Parameters};
use super::{Collision, Contact, PosedShape, ShapeData, narrow};
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
    let touching = Touching::new(model, kinematics, owner, other);
    let Some(collider) = narrow::collider::<T>(touching.kinds()[0], touching.kinds()[1]) else {
        return;
    };
    let geoms = touching.ordered([owner, other]);
    let reach = parameters.margin + parameters.gap;
    for &position in &model.contact_points.position[points] {
        let point = touching.point(position);
        let [first, second] = touching.ordered([&point, &touching.shape]);
        out.manifold.clear();
        collider(first, second, reach, &mut out.manifold);
        for found in out.manifold.points() {
            out.contacts.push(contact(geoms, found, parameters));
        }
    }
}

/// A geom that touches at points, and the shape it touches.
struct Touching<'a, T: Scalar> {
    origin: Vec3<T>,
    rotation: Mat3<T>,
    shape: PosedShape<'a, T>,
    /// Whether colliders take the point first.
    point_first: bool,
}

impl<'a, T: Scalar> Touching<'a, T> {
    fn new(model: &'a Model<T>, kinematics: &Kinematics<T>, owner: usize, other: usize) -> Self {
        let shape = posed_shape(model, kinematics, other);
        Self {
            origin: kinematics.geom_position[owner],
            rotation: kinematics.geom_rotation[owner],
            point_first: rank(shape.kind) > rank(GeomKind::Sphere),
            shape,
        }
    }

    /// What belongs to the point and to the shape, in the order of the collider.
    fn ordered<U>(&self, [of_point, of_shape]: [U; 2]) -> [U; 2] {
        if self.point_first {
            [of_point, of_shape]
        } else {
            [of_shape, of_point]
        }
    }

    fn kinds(&self) -> [GeomKind; 2] {
        self.ordered([GeomKind::Sphere, self.shape.kind])
    }

    /// A point as a sphere.
    fn point(&self, position: Vec3<T>) -> PosedShape<'static, T> {
        PosedShape {
            kind: GeomKind::Sphere,
            position: self.origin + self.rotation.mul_vec(position),
            rotation: Mat3::identity(),
            size: Vec3::ZERO,
            data: ShapeData::None,
        }
    }
}

/// The twin of [`collide`] for the points in `work`.
pub(super) fn backward(
    pass: &mut Pass<'_>,
    owner: usize,
    points: Range<usize>,
    contact: &Contact,
    work: &mut BackwardWork,
) {
    let (model, kinematics, geoms) = (pass.model, pass.kinematics, contact.geoms);
    let other = if geoms[0] == owner {
        geoms[1]
    } else {
        geoms[0]
    };
    let touching = Touching::new(model, kinematics, owner, other);
    let Some(collider) = narrow::collider::<f64>(touching.kinds()[0], touching.kinds()[1]) else {
        return;
    };
    let parameters = parameters::mix(model, geoms, contact.pair);
    let reach = parameters.margin + parameters.gap;
    let cotangents = std::mem::take(&mut work.points);
    let mut rest = &*cotangents;
    for index in points {
        let position = model.contact_points.position[index];
        let point = touching.point(position);
        let shapes = touching.ordered([&point, &touching.shape]);
        work.manifold.clear();
        collider(shapes[0], shapes[1], reach, &mut work.manifold);
        let count = work.manifold.points().len().min(rest.len());
        let mut pair = PairBar::new(geoms, pass.model_bar);
        shapes_backward(shapes, reach, &rest[..count], work, &mut pair);
        rest = &rest[count..];
        let [of_point, of_shape] = touching.ordered(pair.shapes);
        let mut owner_bar = ShapeBar::default();
        owner_bar.add_point(point.position - touching.origin, of_point.force);
        add_wrench(kinematics, owner, &owner_bar, pass.kinematics_bar);
        add_wrench(kinematics, other, &of_shape, pass.kinematics_bar);
        pass.model_bar.geoms.size[other] += of_shape.size;
        pass.model_bar.contact_points.position[index] +=
            touching.rotation.transpose_mul_vec(of_point.force);
    }
    work.points = cotangents;
}
