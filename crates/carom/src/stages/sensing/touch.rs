//! Touch: the normal forces of the contacts of a body whose line of action meets the volume of a site.
//!
//! The ray starts at the contact and points out of the body that carries the site's sensor, so that a thin volume just
//! over the surface feels the contact as well as one that contains the point.

use super::Sensed;
use super::backward::Reverse;
use super::measure::Reader;
use crate::math::Vec3;
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::constraint::Block;

impl<T: Scalar> Reader<'_, T> {
    /// Sum of the normal forces that a site feels.
    pub(super) fn touch(&self, site: usize) -> T {
        let mut total = T::ZERO;
        for block in self.stages.constraint.contact_blocks() {
            if feels(self.model, self.stages, site, block) {
                total += normal_force(self.stages, block);
            }
        }
        total
    }
}

impl Reverse<'_> {
    /// The twin of [`Reader::touch`]: which contacts the site feels stays as it is.
    pub(super) fn touch(&mut self, site: usize, bar: f64) {
        for block in self.stages.constraint.contact_blocks() {
            if feels(self.model, self.stages, site, block) {
                self.bars.data.solve.force[block.row] += bar;
                self.bars.data.contacts[block.object].adhesion -= bar;
            }
        }
    }
}

/// What a contact pushes with along its normal.
fn normal_force<T: Scalar>(stages: &Sensed<'_, T>, block: &Block) -> T {
    stages.solve.force[block.row] - stages.collision.contacts[block.object].adhesion
}

/// Whether a site feels a contact.
fn feels<T: Scalar>(model: &Model<T>, stages: &Sensed<'_, T>, site: usize, block: &Block) -> bool {
    let (structure, kinematics) = (&model.structure, stages.kinematics);
    let body = structure.sites.body[site];
    let contact = &stages.collision.contacts[block.object];
    let [first, second] = contact.geoms.map(|geom| structure.geoms.body[geom]);
    if body != first && body != second || normal_force(stages, block).value() <= 0.0 {
        return false;
    }
    let normal = contact.frame.row(0);
    let direction = if body == second { -normal } else { normal };
    let rotation = &kinematics.site_rotation[site];
    let offset = contact.position - kinematics.site_position[site];
    let ray = Ray {
        origin: rotation.transpose_mul_vec(offset).0.map(T::value),
        direction: rotation.transpose_mul_vec(direction).0.map(T::value),
    };
    let size = model.sites.size[site].0.map(T::value);
    ray.meets(structure.sites.kind[site], size)
}

/// A half line in the frame of a shape.
#[derive(Clone, Copy, Debug)]
struct Ray {
    origin: [f64; 3],
    direction: [f64; 3],
}

/// The part of a line inside a convex shape, by distance from the origin.
type Span = Option<[f64; 2]>;

impl Ray {
    /// Whether any point of the ray is inside a shape.
    fn meets(&self, kind: GeomKind, size: [f64; 3]) -> bool {
        let [radius, length, _] = size;
        match kind {
            GeomKind::Sphere => is_ahead(self.within_ellipsoid([radius; 3])),
            GeomKind::Ellipsoid => is_ahead(self.within_ellipsoid(size)),
            GeomKind::Box => is_ahead(self.within_box(size)),
            GeomKind::Cylinder => is_ahead(self.within_cylinder(radius, length)),
            GeomKind::Capsule => {
                is_ahead(self.within_cylinder(radius, length))
                    || [-length, length].into_iter().any(|z| {
                        let end = self.moved_down(z);
                        is_ahead(end.within_ellipsoid([radius; 3]))
                    })
            }
            GeomKind::Plane | GeomKind::HeightField | GeomKind::Mesh => false,
        }
    }

    fn moved_down(&self, z: f64) -> Self {
        let [x, y, height] = self.origin;
        Self {
            origin: [x, y, height - z],
            ..*self
        }
    }

    fn within_ellipsoid(&self, radii: [f64; 3]) -> Span {
        let scaled = |v: [f64; 3]| Vec3(std::array::from_fn(|axis| v[axis] / radii[axis]));
        let (origin, direction) = (scaled(self.origin), scaled(self.direction));
        quadratic_span(
            direction.norm_squared(),
            origin.dot(direction),
            origin.norm_squared() - 1.0,
        )
    }

    fn within_cylinder(&self, radius: f64, half_length: f64) -> Span {
        let ([px, py, _], [dx, dy, _]) = (self.origin, self.direction);
        let across = quadratic_span(
            dx * dx + dy * dy,
            px * dx + py * dy,
            px * px + py * py - radius * radius,
        );
        overlap(across, self.within_slab(2, half_length))
    }

    fn within_box(&self, size: [f64; 3]) -> Span {
        let slabs = (0..3).map(|axis| self.within_slab(axis, size[axis]));
        slabs.fold(Some([f64::NEG_INFINITY, f64::INFINITY]), overlap)
    }

    fn within_slab(&self, axis: usize, half: f64) -> Span {
        let (position, speed) = (self.origin[axis], self.direction[axis]);
        if speed == 0.0 {
            return (position.abs() <= half).then_some([f64::NEG_INFINITY, f64::INFINITY]);
        }
        let [a, b] = [(-half - position) / speed, (half - position) / speed];
        Some([a.min(b), a.max(b)])
    }
}

/// Where a·t² + 2·b·t + c ≤ 0.
fn quadratic_span(a: f64, b: f64, c: f64) -> Span {
    if a == 0.0 {
        return (c <= 0.0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    let discriminant = b * b - a * c;
    (discriminant >= 0.0).then(|| {
        let root = discriminant.sqrt();
        [(-b - root) / a, (-b + root) / a]
    })
}

fn overlap(first: Span, second: Span) -> Span {
    let ([a, b], [c, d]) = (first?, second?);
    let both = [a.max(c), b.min(d)];
    (both[0] <= both[1]).then_some(both)
}

fn is_ahead(span: Span) -> bool {
    span.is_some_and(|[_, end]| end >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// Marching along the ray finds the same as the intervals.
    #[test]
    fn a_ray_meets_what_it_passes_through() {
        let size = [0.3, 0.5, 0.4];
        let kinds = [
            GeomKind::Sphere,
            GeomKind::Capsule,
            GeomKind::Ellipsoid,
            GeomKind::Cylinder,
            GeomKind::Box,
        ];
        let mut random = Random::at(3);
        let mut hits = 0;
        for trial in 0..2000 {
            let kind = kinds[trial % kinds.len()];
            let (direction, _) = Vec3(random.numbers()).normalized();
            let ray = Ray {
                origin: random.numbers(),
                direction: direction.0,
            };
            let passes = (0..3000).any(|step| {
                let t = f64::from(step) * 1e-3;
                let point = std::array::from_fn(|i| ray.origin[i] + t * ray.direction[i]);
                super::super::inside::is_inside(kind, size, point)
            });
            let meets = ray.meets(kind, size);
            assert!(
                meets || !passes,
                "{kind:?} {ray:?} passes but is not found to"
            );
            hits += usize::from(meets && passes);
            // Rays that barely touch may be missed by the march, not others.
            let smaller = size.map(|length| length * 0.97);
            assert!(passes || !ray.meets(kind, smaller), "{kind:?} {ray:?}");
        }
        assert!(hits > 200, "{hits}");
    }

    #[test]
    fn what_lies_behind_is_not_met() {
        let behind = Ray {
            origin: [0.0, 0.0, 1.0],
            direction: [0.0, 0.0, 1.0],
        };
        let ahead = Ray {
            direction: [0.0, 0.0, -1.0],
            ..behind
        };
        for kind in [GeomKind::Sphere, GeomKind::Box, GeomKind::Capsule] {
            assert!(!behind.meets(kind, [0.2; 3]) && ahead.meets(kind, [0.2; 3]));
        }
    }
}
