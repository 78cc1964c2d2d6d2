//! The driver: candidates, colliders, contact frames and parameters.

use super::broad::{self, Candidate};
use super::narrow::patch;
use super::parameters::{self, Parameters};
use super::{
    Collision, Contact, ContactPoint, MeshSurface, PairSource, PosedShape, ShapeData, points,
    surface_velocity,
};
use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, GeomShape, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Least friction coefficient of a contact.
pub(super) const MIN_FRICTION: f64 = 1e-5;

/// Finds all contacts.
pub fn forward<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, out: &mut Collision<T>) {
    out.contacts.clear();
    let disable = &model.settings.disable;
    if disable.contact || disable.constraint || model.counts().nv == 0 {
        return;
    }
    out.manifold.convex.single_point = disable.multiccd;
    broad::find(model, kinematics, &mut out.broad);
    for index in 0..out.broad.candidates.len() {
        let candidate = out.broad.candidates[index];
        collide(model, kinematics, candidate, out);
    }
    if model.structure.has_surface_velocity {
        surface_velocity::set(model, kinematics, &mut out.contacts);
    }
}

/// Colliders take the kinds in a fixed order.
pub(super) fn rank(kind: GeomKind) -> u8 {
    match kind {
        GeomKind::Plane => 0,
        GeomKind::HeightField => 1,
        GeomKind::Sphere => 2,
        GeomKind::Capsule => 3,
        GeomKind::Ellipsoid => 4,
        GeomKind::Cylinder => 5,
        GeomKind::Box => 6,
        GeomKind::Mesh => 7,
    }
}

fn collide<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    candidate: Candidate,
    out: &mut Collision<T>,
) {
    let [first, second] = candidate.geoms.map(|geom| geom as usize);
    let map = model.strike.as_deref().filter(|_| out.is_mapped);
    let bodies = [first, second].map(|geom| model.structure.geoms.body[geom]);
    if map.is_some_and(|map| map.takes_over(bodies)) {
        return;
    }
    let Some((geoms, source)) = PairSource::of(model, [first, second]) else {
        return;
    };
    let pair = (candidate.pair != u32::MAX).then_some(candidate.pair as usize);
    let law = model.structure.laws.find(geoms);
    if let Some((owner, points)) = points::of_law(model, law) {
        let parameters = parameters::mix(model, geoms, pair);
        let other = if owner == first { second } else { first };
        let points = (owner, points);
        points::collide(model, kinematics, points, other, &parameters, out);
        return;
    }
    // One by one: an array of shapes would be copied, which costs more than many a collider.
    let shape1 = posed_shape(model, kinematics, geoms[0]);
    let mut shape2 = posed_shape(model, kinematics, geoms[1]);
    let reach = parameters::detection_distance(model, geoms, pair);
    out.manifold.clear();
    if let (PairSource::Collider(_), Some((collide, cells))) =
        (source, patch::of_law(model, law, geoms))
    {
        shape2.data = ShapeData::Cells(cells);
        collide(&shape1, &shape2, reach, &mut out.manifold);
    } else {
        source.points(&shape1, &shape2, reach, &mut out.manifold);
    }
    let points = out.manifold.points();
    if points.is_empty() {
        return;
    }
    let parameters = parameters::mix(model, geoms, pair);
    let ContactPoint {
        normal, tangent, ..
    } = points[0];
    let shared = frame(normal, tangent);
    let features = out.manifold.features();
    out.contacts
        .extend(points.iter().zip(features).map(|(point, &feature)| {
            // Points of one manifold mostly share their normal, hence their frame.
            let same = point.normal == normal && point.tangent == tangent;
            let frame = if same && !T::HAS_DERIVATIVES {
                shared
            } else {
                frame(point.normal, point.tangent)
            };
            Contact {
                feature,
                ..contact_in_frame(geoms, point, frame, &parameters)
            }
        }));
    if map.is_some_and(|map| map.carries([first, second], bodies)) {
        let count = out.manifold.points().len();
        let own = out.contacts.len() - count;
        for contact in &mut out.contacts[own..] {
            contact.dimension = 1;
        }
    }
}

/// A geom in the world.
#[inline]
pub fn posed_shape<'a, T: Scalar>(
    model: &'a Model<T>,
    kinematics: &Kinematics<T>,
    geom: usize,
) -> PosedShape<'a, T> {
    let structure = &*model.structure;
    let data = match structure.geoms.shape[geom] {
        GeomShape::Primitive => ShapeData::None,
        GeomShape::Mesh(mesh) => ShapeData::Mesh {
            vertices: &model.meshes.vertex[structure.meshes.vertices[mesh].clone()],
            hull: &structure.meshes.hull_face[structure.meshes.hull_faces[mesh].clone()],
            topology: &structure.meshes.hull_topology[mesh],
            surface: MeshSurface {
                triangles: &structure.meshes.face[structure.meshes.faces[mesh].clone()],
                tree: &structure.meshes.tree[mesh],
                box_low: &model.meshes.box_low[structure.meshes.boxes[mesh].clone()],
                box_high: &model.meshes.box_high[structure.meshes.boxes[mesh].clone()],
            },
        },
        GeomShape::HeightField(field) => ShapeData::HeightField {
            grid: structure.height_fields.size[field],
            size: &model.height_fields.size[field],
            elevation: &model.height_fields.elevation
                [structure.height_fields.values[field].clone()],
        },
    };
    PosedShape {
        kind: structure.geoms.kind[geom],
        position: kinematics.geom_position[geom],
        rotation: kinematics.geom_rotation[geom],
        size: model.geoms.size[geom],
        data,
    }
}

/// A contact of two geoms at a point.
pub(super) fn contact<T: Scalar>(
    geoms: [usize; 2],
    point: &ContactPoint<T>,
    parameters: &Parameters<T>,
) -> Contact<T> {
    let frame = frame(point.normal, point.tangent);
    contact_in_frame(geoms, point, frame, parameters)
}

#[inline]
fn contact_in_frame<T: Scalar>(
    geoms: [usize; 2],
    point: &ContactPoint<T>,
    frame: Mat3<T>,
    parameters: &Parameters<T>,
) -> Contact<T> {
    let in_gap = point.distance.value() >= parameters.margin.value() + parameters.range;
    let sticks = parameters.adhesion.value() != 0.0;
    Contact {
        geoms,
        feature: None,
        distance: point.distance,
        position: point.position,
        frame,
        // Across a gap adhesion attracts, without friction.
        dimension: if in_gap && sticks {
            1
        } else {
            parameters.dimension
        },
        include_margin: parameters.margin,
        friction: parameters
            .friction
            .map(|friction| friction.max(T::from(MIN_FRICTION))),
        solref: parameters.solref,
        solreffriction: parameters.solreffriction,
        solimp: parameters.solimp,
        adhesion: parameters.adhesion,
        surface_velocity: [T::ZERO; 3],
        law: parameters.law,
        pair: parameters.pair,
        excluded: in_gap && !sticks,
    }
}

/// Rows: normal, a tangent near the preferred one or near the y axis (the z axis when the normal is along y), and
/// their cross product.
pub(crate) fn frame<T: Scalar>(normal: Vec3<T>, preferred: Vec3<T>) -> Mat3<T> {
    let along = tangent_source(normal, preferred);
    let (tangent, _) = (along - normal * normal.dot(along)).normalized();
    let other = normal.cross(tangent);
    Mat3([
        normal[0], normal[1], normal[2], tangent[0], tangent[1], tangent[2], other[0], other[1],
        other[2],
    ])
}

/// What the first tangent is the projection of.
pub(super) fn tangent_source<T: Scalar>(normal: Vec3<T>, preferred: Vec3<T>) -> Vec3<T> {
    if preferred.norm_squared().value() >= 0.25 {
        preferred
    } else if normal[1].value().abs() < 0.5 {
        Vec3::Y
    } else {
        Vec3::Z
    }
}
