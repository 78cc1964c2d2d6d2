//! Whether something is inside the volume of a site. A step has no derivative.

use super::measure::Reader;
use crate::math::{MIN_LENGTH, Vec3};
use crate::model::{FrameObject, GeomKind};
use crate::scalar::Scalar;

impl<T: Scalar> Reader<'_, T> {
    /// Whether the origin of an object's frame is inside a site.
    pub(super) fn is_inside(&self, object: FrameObject, site: usize) -> bool {
        let model = self.model;
        let mut point = self.frame_position(object, None);
        if let FrameObject::Inertial(body) = object {
            let masses = &model.bodies;
            // A body without mass of its own has no centre of mass but that of its subtree.
            if body > 0
                && masses.mass[body].value() < MIN_LENGTH
                && masses.subtree_mass[body].value() >= MIN_LENGTH
            {
                point = self.stages.kinematics.subtree_com[body];
            }
        }
        self.site_contains(site, point)
    }

    /// Whether a point of the world is inside the volume of a site.
    pub(super) fn site_contains(&self, site: usize, point: Vec3<T>) -> bool {
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let offset = point - kinematics.site_position[site];
        let local = kinematics.site_rotation[site].transpose_mul_vec(offset);
        let size = model.sites.size[site].0.map(T::value);
        is_inside(
            model.structure.sites.kind[site],
            size,
            local.0.map(T::value),
        )
    }
}

/// Whether a point, in the frame of a shape, is inside it.
pub(super) fn is_inside(kind: GeomKind, size: [f64; 3], [x, y, z]: [f64; 3]) -> bool {
    let across = x * x + y * y;
    match kind {
        GeomKind::Sphere => across + z * z < size[0] * size[0],
        GeomKind::Capsule => {
            let beyond = (z.abs() - size[1]).max(0.0);
            across + beyond * beyond < size[0] * size[0]
        }
        GeomKind::Ellipsoid => {
            let square = |a: f64, b: f64| (a / b) * (a / b);
            square(x, size[0]) + square(y, size[1]) + square(z, size[2]) < 1.0
        }
        GeomKind::Cylinder => z.abs() < size[1] && across < size[0] * size[0],
        GeomKind::Box => x.abs() < size[0] && y.abs() < size[1] && z.abs() < size[2],
        GeomKind::Plane => z < 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_inside_a_shape_or_not() {
        let size = [0.2, 0.3, 0.4];
        let cases = [
            (GeomKind::Sphere, [0.1, 0.1, 0.1], [0.15, 0.15, 0.0]),
            (GeomKind::Capsule, [0.0, 0.1, 0.45], [0.15, 0.1, 0.4]),
            (GeomKind::Ellipsoid, [0.0, 0.0, 0.39], [0.15, 0.2, 0.1]),
            (GeomKind::Cylinder, [0.1, 0.1, 0.29], [0.0, 0.0, 0.31]),
            (GeomKind::Box, [0.19, 0.29, -0.39], [0.19, -0.31, 0.0]),
            (GeomKind::Plane, [5.0, 5.0, -0.1], [0.0, 0.0, 0.1]),
        ];
        for (kind, inside, outside) in cases {
            assert!(is_inside(kind, size, inside), "{kind:?}");
            assert!(!is_inside(kind, size, outside), "{kind:?}");
        }
    }
}
