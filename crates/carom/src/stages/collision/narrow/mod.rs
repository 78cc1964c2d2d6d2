//! Colliders, one file per pair of shapes.
//!
//! Each is a function of two [`PosedShape`]s and the detection margin that appends to a
//! [`Manifold`]. The first shape's kind comes first in the order plane, height field, sphere,
//! capsule, ellipsoid, cylinder, box, mesh.

mod box_box;
mod capsule_box;
mod capsule_capsule;
pub(super) mod convex;
pub(super) mod height_field;
pub(crate) mod patch;
mod plane_box;
mod plane_capsule;
mod plane_cylinder;
mod plane_ellipsoid;
pub(super) mod plane_mesh;
mod plane_sphere;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
mod sphere_sphere;

use super::forward::rank;
use super::{ContactMap, Manifold, PosedShape};
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;

/// A collider: appends the points of two shapes that are closer than the margin.
pub type Collider<T> = fn(&PosedShape<'_, T>, &PosedShape<'_, T>, T, &mut Manifold<T>);

/// Where the contacts of two geoms come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PairSource<'a, T: Scalar> {
    /// A function of the two shapes: a formula, or a search that is differentiated at the features where it ends.
    Collider(Collider<T>),
    /// Something of the user's own, which carries its numbers along.
    Map(&'a dyn ContactMap),
}

impl<'a, T: Scalar> PairSource<'a, T> {
    /// The source of two geoms, and the geoms in the order that it takes them; none when there is none yet.
    #[inline]
    pub(crate) fn of<U: Scalar>(
        model: &'a Model<U>,
        [first, second]: [usize; 2],
    ) -> Option<([usize; 2], Self)> {
        if let Some(pair) = model.mapped_pair([first, second]) {
            return Some((pair.geoms, Self::Map(&*pair.map)));
        }
        let kinds = &model.structure.geoms.kind;
        let geoms = if rank(kinds[first]) > rank(kinds[second]) {
            [second, first]
        } else {
            [first, second]
        };
        let collider = collider(kinds[geoms[0]], kinds[geoms[1]])?;
        Some((geoms, Self::Collider(collider)))
    }

    /// Appends the points of the two shapes that are closer than the margin.
    #[inline]
    pub(crate) fn points(
        self,
        first: &PosedShape<'_, T>,
        second: &PosedShape<'_, T>,
        margin: T,
        out: &mut Manifold<T>,
    ) {
        match self {
            Self::Collider(collide) => collide(first, second, margin, out),
            Self::Map(map) => super::map::collide(map, [first, second], margin, out),
        }
    }
}

/// The collider of a pair of kinds, given in the order above; none when there is none yet.
pub fn collider<T: Scalar>(first: GeomKind, second: GeomKind) -> Option<Collider<T>> {
    use GeomKind as K;
    if first == K::Sphere
        && let Some(collider) = sphere_collider(second)
    {
        return Some(collider);
    }
    if let Some(collider) = formula_collider(first, second) {
        return Some(collider);
    }
    Some(match (first, second) {
        (K::Plane, K::Sphere) => plane_sphere::collide,
        (K::Plane, K::Capsule) => plane_capsule::collide,
        (K::Plane, K::Box) => plane_box::collide,
        (K::Plane, K::Mesh) => plane_mesh::collide,
        (K::Sphere, K::Ellipsoid | K::Mesh)
        | (K::Capsule, K::Ellipsoid | K::Cylinder | K::Mesh)
        | (K::Ellipsoid, K::Ellipsoid | K::Cylinder | K::Box | K::Mesh)
        | (K::Cylinder, K::Cylinder | K::Box | K::Mesh)
        | (K::Box | K::Mesh, K::Mesh) => convex::collide,
        (
            K::HeightField,
            K::Sphere | K::Capsule | K::Ellipsoid | K::Cylinder | K::Box | K::Mesh,
        ) => height_field::collide,
        _ => return None,
    })
}

/// The collider of a sphere with a shape against which it has a formula.
pub(super) fn sphere_collider<T: Scalar>(second: GeomKind) -> Option<Collider<T>> {
    use GeomKind as K;
    Some(match second {
        K::Sphere => sphere_sphere::collide,
        K::Capsule => sphere_capsule::collide,
        K::Cylinder => sphere_cylinder::collide,
        K::Box => sphere_box::collide,
        _ => return None,
    })
}

/// The collider of other pairs that have a formula, but for planes and shapes with corners or round ends.
pub(super) fn formula_collider<T: Scalar>(
    first: GeomKind,
    second: GeomKind,
) -> Option<Collider<T>> {
    use GeomKind as K;
    Some(match (first, second) {
        (K::Plane, K::Ellipsoid) => plane_ellipsoid::collide,
        (K::Plane, K::Cylinder) => plane_cylinder::collide,
        (K::Capsule, K::Capsule) => capsule_capsule::collide,
        (K::Capsule, K::Box) => capsule_box::collide,
        (K::Box, K::Box) => box_box::collide,
        _ => return None,
    })
}

/// Whether two kinds can touch at all: planes and height fields do not touch each other.
pub fn can_touch(first: GeomKind, second: GeomKind) -> bool {
    let fixed = |kind| matches!(kind, GeomKind::Plane | GeomKind::HeightField);
    !(fixed(first) && fixed(second))
}
