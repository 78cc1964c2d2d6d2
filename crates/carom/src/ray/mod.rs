//! Ray casts: where a ray first meets the surface of a geom.
//!
//! A ray is p + x·v, x ≥ 0; results give x (a distance when v has unit length) and the outward unit normal of the
//! surface there, also for rays from inside. Planes are seen from their front side and within their rendered
//! rectangle only. Meshes are met at their triangles, not at their convex hulls.
//!
//! Functions are generic over the scalar: the piece of surface that is hit (which face, triangle, cap) is found on
//! values and held fixed, so derivatives are those of the intersection with this piece.

mod backward;
mod height_field;
mod mesh;
mod primitive;
#[cfg(test)]
mod tests;
mod tree;
mod triangle;

pub(crate) use backward::meet_backward;
pub use tree::TriangleTree;
pub(crate) use tree::refit;

use crate::math::{MIN_LENGTH, Vec3};
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::collision::{PosedShape, ShapeData, posed_shape};
use crate::stages::kinematics::Kinematics;

/// A ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray<T: Scalar = f64> {
    /// Where it starts (m).
    pub origin: Vec3<T>,
    /// Where it goes; need not have unit length.
    pub direction: Vec3<T>,
}

impl<T: Scalar> Ray<T> {
    /// All zero: a cotangent.
    pub(crate) const ZERO: Self = Self {
        origin: Vec3::ZERO,
        direction: Vec3::ZERO,
    };

    /// The point at a distance in units of the direction's length.
    #[inline]
    pub fn at(&self, distance: T) -> Vec3<T> {
        self.origin + self.direction * distance
    }

    /// The same ray in the frame of a shape.
    #[inline]
    fn seen_from(&self, shape: &PosedShape<'_, T>) -> Self {
        Self {
            origin: shape
                .rotation
                .transpose_mul_vec(self.origin - shape.position),
            direction: shape.rotation.transpose_mul_vec(self.direction),
        }
    }

    fn values(&self) -> Ray {
        Ray {
            origin: self.origin.map(Scalar::value),
            direction: self.direction.map(Scalar::value),
        }
    }
}

/// Where a ray meets a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint<T: Scalar = f64> {
    /// Distance along the ray in units of its direction's length.
    pub distance: T,
    /// Outward unit normal.
    pub normal: Vec3<T>,
}

/// Where a ray meets a geom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<T: Scalar = f64> {
    /// The geom.
    pub geom: usize,
    /// The place on its surface.
    pub point: SurfacePoint<T>,
}

/// Number of groups of geoms that a filter tells apart.
pub const GROUPS: usize = 6;

/// Which geoms a ray meets. Invisible geoms (alpha 0) are never met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Groups to meet; none for all. Geoms of groups out of range count to the nearest.
    pub groups: Option<[bool; GROUPS]>,
    /// Whether to meet geoms that cannot move.
    pub include_static: bool,
    /// A body whose geoms are passed through.
    pub exclude_body: Option<usize>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            groups: None,
            include_static: true,
            exclude_body: None,
        }
    }
}

impl Filter {
    /// Whether a ray meets a geom.
    pub fn admits<T: Scalar>(&self, model: &Model<T>, geom: usize) -> bool {
        let (geoms, bodies) = (&model.structure.geoms, &model.structure.bodies);
        let body = geoms.body[geom];
        if self.exclude_body == Some(body) || geoms.invisible[geom] {
            return false;
        }
        if !self.include_static && bodies.weld[body] == 0 {
            return false;
        }
        self.groups.is_none_or(|groups| {
            let group = usize::try_from(geoms.group[geom]).unwrap_or(0);
            groups[group.min(GROUPS - 1)]
        })
    }
}

/// The first geom that a ray meets; none if it meets none or has no direction.
///
/// ```
/// # use carom::{Data, State, dynamics, math::Vec3, ray::{Filter, Ray, cast}};
/// # use carom_spec::{mjcf, source::{MemorySource, SourceMap}};
/// # let text = r#"<mujoco><worldbody><geom size="0.5"/></worldbody></mujoco>"#;
/// # let path = std::path::Path::new("ball.xml");
/// # let files = MemorySource::new().with(path, text);
/// # let (spec, _) = mjcf::read(path, &files, &mjcf::ReadSettings::default(), &mut SourceMap::new());
/// # let model = carom::compile::compile(&spec).0.unwrap();
/// let mut data = Data::new(&model); // a ball of radius 0.5 at the origin
/// dynamics::forward_position(&model, &State::reference(&model), &mut data);
/// let ray = Ray { origin: Vec3([0.0, 0.0, 2.0]), direction: Vec3([0.0, 0.0, -1.0]) };
/// let hit = cast(&model, &data.kinematics, &ray, &Filter::default()).unwrap();
/// assert_eq!(hit.point.distance, 1.5);
/// assert_eq!(hit.point.normal, Vec3([0.0, 0.0, 1.0]));
/// ```
pub fn cast<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    ray: &Ray<T>,
    filter: &Filter,
) -> Option<Hit<T>> {
    let length = ray.direction.norm().value();
    if length < MIN_LENGTH {
        return None;
    }
    let mut first: Option<Hit<T>> = None;
    for geom in (0..model.counts().ngeom).filter(|&geom| filter.admits(model, geom)) {
        if misses_bounds(model, kinematics, ray, geom) {
            continue;
        }
        let shape = posed_shape(model, kinematics, geom);
        let Some(point) = meet(&shape, ray) else {
            continue;
        };
        if first.is_none_or(|first| point.distance.value() < first.point.distance.value()) {
            first = Some(Hit { geom, point });
        }
    }
    first
}

/// Whether a ray passes by the bounding sphere of a geom, with room for rounding.
fn misses_bounds<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    ray: &Ray<T>,
    geom: usize,
) -> bool {
    if model.structure.geoms.kind[geom] == GeomKind::Plane {
        return false;
    }
    let Ray { origin, direction } = ray.values();
    let center = kinematics.geom_position[geom].map(Scalar::value);
    let radius = 1.001 * model.geoms.bounding_radius[geom].value();
    let to_center = center - origin;
    let (squared, inside) = (
        direction.norm_squared(),
        to_center.norm_squared() <= radius * radius,
    );
    let along = to_center.dot(direction) / squared;
    !inside && (along < 0.0 || (to_center - direction * along).norm_squared() > radius * radius)
}

/// Where a ray first meets the surface of a shape.
pub fn meet<T: Scalar>(shape: &PosedShape<'_, T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let local = ray.seen_from(shape);
    let size = shape.size;
    let point = match (shape.kind, shape.data) {
        (
            GeomKind::Mesh,
            ShapeData::Mesh {
                vertices, surface, ..
            },
        ) => mesh::meet(vertices, surface, &local),
        (
            GeomKind::HeightField,
            ShapeData::HeightField {
                grid,
                size,
                elevation,
            },
        ) => height_field::first(grid, size, elevation, &local).map(|(point, _)| point),
        (kind, _) => primitive::meet(kind, size, &local),
    }?;
    Some(SurfacePoint {
        distance: point.distance,
        normal: shape.rotation.mul_vec(point.normal),
    })
}
