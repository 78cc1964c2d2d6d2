//! Derivatives of contact points by the pose of the second geom, the first one held.
//!
//! A rigid motion of both geoms takes the point along, so these six directions are enough. A corner or round end x of
//! the second geom, inside of it by the radius r, on a plane with the normal n:
//!
//!   d = (x − plane)·n − r,   p = x − n·(d/2 + r):   dd = n·dx,   dp = dx − ½·n·dd,   dn = 0                 (1)
//!
//! Other pairs find their points once more, over dual numbers; colliders hold fixed which features touch.

use super::forward_mode::Number;
use crate::dual::Dual;
use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, GeomShape, Model};
use crate::stages::collision::narrow::patch;
use crate::stages::collision::parameters::detection_distance;
use crate::stages::collision::{
    Contact, Manifold, MeshSurface, PairSource, PosedShape, ShapeData, contact_frame, posed_shape,
};
use crate::stages::kinematics::Kinematics;

/// Derivatives of a contact along six motions of its second geom, about a given point: three turns about the axes of the
/// world, then three translations along them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointDerivative {
    pub(super) distance: [f64; 6],
    pub(super) position: [Vec3; 6],
    /// Of the normal and the first tangent.
    pub(super) frame: [[Vec3; 2]; 6],
    /// Whether the tangents turn with the geoms; if not, they follow the normal and the axes of the world.
    pub(super) tangents_turn: bool,
}

/// Points of one pair of geoms over dual numbers.
#[derive(Clone, Debug)]
pub(super) struct Points {
    manifold: Manifold<Number>,
    /// Which pair the manifold belongs to: its first contact.
    first: Option<usize>,
    /// Vertices of each mesh that can touch anything, without tangents; empty for others.
    vertices: Vec<Vec<Vec3<Number>>>,
    /// Sizes and elevations of each height field.
    height_fields: Vec<([Number; 4], Vec<Number>)>,
}

/// What contacts are made from.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) model: &'a Model,
    pub(super) kinematics: &'a Kinematics,
    pub(super) contacts: &'a [Contact],
}

/// How far a point may be from where it was found before, by the rounding of another order of operations (m, 1): not
/// far enough to be another corner of shapes that touch along edges or faces.
const SAME: f64 = 1e-9;

/// The unit vectors.
pub(super) const AXES: [Vec3; 3] = [
    Vec3([1.0, 0.0, 0.0]),
    Vec3([0.0, 1.0, 0.0]),
    Vec3([0.0, 0.0, 1.0]),
];

/// Turn and translation of one of the six motions.
#[inline]
pub(super) fn basis(direction: usize) -> (Vec3, Vec3) {
    if direction < 3 {
        (AXES[direction], Vec3::ZERO)
    } else {
        (Vec3::ZERO, AXES[direction - 3])
    }
}

impl Points {
    /// Room for the pairs of a model.
    pub(super) fn new(model: &Model) -> Self {
        let structure = &*model.structure;
        let geoms = &structure.geoms;
        let mut vertices = vec![Vec::new(); structure.meshes.vertices.len()];
        for (geom, &shape) in geoms.shape.iter().enumerate() {
            let pairs = &structure.pairs;
            let named = pairs.geom1.contains(&geom) || pairs.geom2.contains(&geom);
            let touches = geoms.contype[geom] != 0 || geoms.conaffinity[geom] != 0 || named;
            if let (GeomShape::Mesh(mesh), true) = (shape, touches) {
                let plain = &model.meshes.vertex[structure.meshes.vertices[mesh].clone()];
                vertices[mesh] = plain.iter().map(|v| v.map(Dual::constant)).collect();
            }
        }
        let fields = structure.height_fields.values.iter().enumerate();
        let height_fields = fields.map(|(field, values)| {
            let elevation = model.height_fields.elevation[values.clone()].iter();
            (
                model.height_fields.size[field].map(Dual::constant),
                elevation.map(|&value| Dual::constant(value)).collect(),
            )
        });
        Self {
            manifold: Manifold::default(),
            first: None,
            vertices,
            height_fields: height_fields.collect(),
        }
    }

    /// Forgets the points of an earlier state.
    pub(super) fn clear(&mut self) {
        self.first = None;
    }

    /// The derivatives of a contact along motions about `center`; none where the collider finds other points than before.
    pub(super) fn of_contact(
        &mut self,
        scene: &Scene<'_>,
        index: usize,
        center: Vec3,
    ) -> Option<PointDerivative> {
        let contact = &scene.contacts[index];
        let kinds = &scene.model.structure.geoms.kind;
        if kinds[contact.geoms[0]] == GeomKind::Plane
            && scene.model.mapped_pair(contact.geoms).is_none()
            && patch::of_law::<f64, _>(scene.model, contact.law, contact.geoms).is_none()
            && let Some(found) = on_plane(scene, contact, center)
        {
            return Some(found);
        }
        let geoms = contact.geoms;
        let same = |index: &usize| {
            let other = &scene.contacts[*index];
            (other.geoms, other.pair) == (geoms, contact.pair)
        };
        let first = (0..=index).rev().take_while(same).last()?;
        if self.first != Some(first) {
            self.collide(scene, contact);
            self.first = Some(first);
        }
        let point = self.manifold.points().get(index - first)?;
        let is_same = (point.distance.value - contact.distance).abs() < SAME
            && (point.position.value() - contact.position).norm() < SAME
            && (point.normal.value() - contact.frame.row(0)).norm() < SAME;
        if !is_same {
            return None;
        }
        let frame = contact_frame(point.normal, point.tangent);
        let arm = scene.kinematics.geom_position[geoms[1]] - center;
        let vector = |v: Vec3<Number>, lane: usize| v.map(|number| finite(number, lane));
        let mut out = PointDerivative {
            tangents_turn: point.tangent.norm_squared().value >= 0.25,
            ..PointDerivative::default()
        };
        // Over dual numbers the turns are about the geom's centre, which a turn about another point also moves.
        for direction in 0..6 {
            out.distance[direction] = finite(point.distance, direction);
            out.position[direction] = vector(point.position, direction);
            out.frame[direction] = [0, 1].map(|row| vector(frame.row(row), direction));
        }
        for direction in 0..3 {
            let moved = AXES[direction].cross(arm);
            for axis in 0..3 {
                out.distance[direction] += moved[axis] * out.distance[3 + axis];
                out.position[direction] += out.position[3 + axis] * moved[axis];
                for row in 0..2 {
                    let change = out.frame[3 + axis][row] * moved[axis];
                    out.frame[direction][row] += change;
                }
            }
        }
        Some(out)
    }

    /// Runs the collider of a pair over dual numbers.
    fn collide(&mut self, scene: &Scene<'_>, contact: &Contact) {
        let model = scene.model;
        self.manifold.clear();
        self.manifold.convex.single_point = model.settings.disable.multiccd;
        let Some((geoms, source)) = PairSource::<Number>::of(model, contact.geoms) else {
            return;
        };
        let (vertices, height_fields) = (&self.vertices, &self.height_fields);
        let shape = |geom: usize| {
            let plain = posed_shape(model, scene.kinematics, geom);
            let data = match (model.structure.geoms.shape[geom], plain.data) {
                (
                    GeomShape::Mesh(mesh),
                    ShapeData::Mesh {
                        hull,
                        topology,
                        surface,
                        ..
                    },
                ) => {
                    ShapeData::Mesh {
                        vertices: &vertices[mesh],
                        hull,
                        topology,
                        // Colliders of convex hulls do not look at it.
                        surface: MeshSurface {
                            triangles: surface.triangles,
                            tree: surface.tree,
                            box_low: &[],
                            box_high: &[],
                        },
                    }
                }
                (GeomShape::HeightField(field), ShapeData::HeightField { grid, .. }) => {
                    let (size, elevation) = &height_fields[field];
                    ShapeData::HeightField {
                        grid,
                        size,
                        elevation,
                    }
                }
                _ => ShapeData::None,
            };
            PosedShape {
                kind: plain.kind,
                position: plain.position.map(Dual::constant),
                rotation: plain.rotation.map(Dual::constant),
                size: plain.size.map(Dual::constant),
                data,
            }
        };
        let (first, mut second) = (shape(geoms[0]), shape(geoms[1]));
        for axis in 0..3 {
            second.position[axis].tangent[3 + axis] = 1.0;
        }
        turn(&mut second.rotation);
        let reach = detection_distance(model, geoms, contact.pair);
        let patch = patch::of_law(model, contact.law, geoms);
        if let (PairSource::Collider(_), Some((collide, cells))) = (source, patch) {
            second.data = ShapeData::Cells(cells);
            collide(&first, &second, Dual::constant(reach), &mut self.manifold);
        } else {
            source.points(&first, &second, Dual::constant(reach), &mut self.manifold);
        }
    }
}

/// The derivative along a direction, zero where there is none.
#[inline]
fn finite(number: Number, lane: usize) -> f64 {
    let tangent = number.tangent[lane];
    if tangent.is_finite() { tangent } else { 0.0 }
}

/// Lets a rotation turn about the axes of the world, along the first three directions.
fn turn(rotation: &mut Mat3<Number>) {
    for column in 0..3 {
        let vector = rotation.column(column).value();
        for (direction, axis) in AXES.into_iter().enumerate() {
            let rate = axis.cross(vector);
            for row in 0..3 {
                rotation.0[3 * row + column].tangent[direction] = rate[row];
            }
        }
    }
}

/// Corners and round ends on a plane (1); none for other shapes.
fn on_plane(scene: &Scene<'_>, contact: &Contact, center: Vec3) -> Option<PointDerivative> {
    let geom = contact.geoms[1];
    let radius = match scene.model.structure.geoms.kind[geom] {
        GeomKind::Sphere | GeomKind::Capsule => scene.model.geoms.size[geom][0],
        GeomKind::Box | GeomKind::Mesh => 0.0,
        _ => return None,
    };
    let capsule = scene.model.structure.geoms.kind[geom] == GeomKind::Capsule;
    let normal = contact.frame.row(0);
    let arm = contact.position - center + normal * (0.5 * contact.distance + radius);
    let mut out = PointDerivative {
        tangents_turn: capsule,
        ..PointDerivative::default()
    };
    for direction in 0..6 {
        let (turn, shift) = basis(direction);
        let moved = shift + turn.cross(arm);
        out.distance[direction] = normal.dot(moved);
        out.position[direction] = moved - normal * (0.5 * out.distance[direction]);
        if capsule {
            let axis = scene.kinematics.geom_rotation[geom].column(2);
            out.frame[direction][1] = tangent_rate(contact, axis, turn.cross(axis), Vec3::ZERO);
        }
    }
    Some(out)
}

/// Rate of the first tangent t ∝ a − n·(n·a) under rates of the preferred direction a and the normal n.
pub(super) fn tangent_rate(contact: &Contact, along: Vec3, rate: Vec3, normal_rate: Vec3) -> Vec3 {
    let [normal, tangent, _] = [0, 1, 2].map(|row| contact.frame.row(row));
    let length = (along - normal * normal.dot(along)).norm();
    let change = rate
        - normal_rate * normal.dot(along)
        - normal * (normal_rate.dot(along) + normal.dot(rate));
    (change - tangent * tangent.dot(change)) * length.recip()
}
