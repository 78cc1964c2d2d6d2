//! Forces of the surrounding medium: two models, both in the frame of what moves, with ω, v its angular and linear
//! velocity relative to the medium, ρ density and β viscosity.
//!
//! *Inertia box*, for bodies: the box with the body's inertia, sides b, feels quadratic drag on its faces and the
//! Stokes drag of the sphere of the mean diameter d:
//!
//!   fᵢ = −½ρ·bⱼbₖ·|vᵢ|vᵢ − 3πβd·vᵢ        nᵢ = −ρ·bᵢ(bⱼ⁴ + bₖ⁴)·|ωᵢ|ωᵢ/64 − πβd³·ωᵢ           (1)
//!
//! *Ellipsoid*, for geoms that ask for it, with semi-axes s, added mass μ and inertia ι, coefficients c:
//!
//!   f = ρ(μ∘v) × ω + c₁·ρV·ω × v + lift − (3πβD + ρ|v|(c₂·A + c₃(A⁺ − A)))·v                        (2)
//!   n = ρ(μ∘v) × v + ρ(ι∘ω) × ω − (πβD³ + ρ|(c₄·J + c₃(J⁺ − J))∘ω|)·ω                              (3)
//!
//! are added mass, Magnus (c₁) and Kutta lift, and drag: viscous with the diameter D of the sphere of the same mean
//! size, quadratic, blunt (c₂) and slender (c₃), with the area A projected along v and its maximum A⁺, and angular (c₄)
//! with the moments J and their maximum J⁺. The body's inertia box is then switched off.

use std::f64::consts::PI;

use super::Passive;
use super::forward::project_body_forces;
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Computes the forces of the medium; returns whether there are any.
pub(super) fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    out: &mut Passive<T>,
) -> bool {
    out.fluid.fill(T::ZERO);
    let medium = Medium::new(model);
    if medium.density.vanishes() && medium.viscosity.vanishes() {
        return false;
    }
    for (body, force) in out.body_force.iter_mut().enumerate() {
        *force = of_body(model, kinematics, velocity, body);
    }
    let structure = &model.structure;
    project_body_forces(structure, kinematics, &mut out.body_force, &mut out.fluid);
    true
}

/// The force on one body, about the centre of mass of its tree, world axes.
pub(crate) fn of_body<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    body: usize,
) -> Spatial<T> {
    let bodies = &model.structure.bodies;
    if bodies.tree[body].is_none() || model.bodies.mass[body].value() < MIN_LENGTH {
        return Spatial::ZERO;
    }
    let flow = Flow {
        medium: Medium::new(model),
        motion: velocity.body[body],
        center: kinematics.subtree_com[bodies.root[body]],
    };
    if has_ellipsoids(model, body) {
        let geoms = bodies.geoms[body].clone();
        return geoms.fold(Spatial::ZERO, |sum, geom| {
            sum + ellipsoid(model, kinematics, geom, &flow)
        });
    }
    let frame = &kinematics.inertial_rotation[body];
    flow.force(kinematics.inertial_position[body], frame, |motion| {
        let (mass, inertia) = (model.bodies.mass[body], model.bodies.inertia[body]);
        inertia_box(flow.medium, mass, inertia, motion)
    })
}

/// Whether geoms of the body ask for the ellipsoid model, which switches its inertia box off.
pub(super) fn has_ellipsoids<T: Scalar>(model: &Model<T>, body: usize) -> bool {
    (model.structure.bodies.geoms[body].clone())
        .any(|geom| model.geoms.fluid[geom][0].value() > 0.0)
}

/// The medium's properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Medium<T> {
    pub(super) density: T,
    pub(super) viscosity: T,
    pub(super) wind: Vec3<T>,
}

impl<T: Scalar> Medium<T> {
    pub(super) fn new(model: &Model<T>) -> Self {
        Medium {
            density: model.option.density[0],
            viscosity: model.option.viscosity[0],
            wind: model.option.wind[0],
        }
    }
}

/// A body moving through the medium.
struct Flow<T> {
    medium: Medium<T>,
    /// Velocity of the body about `center`.
    motion: Spatial<T>,
    /// Centre of mass of the tree.
    center: Vec3<T>,
}

impl<T: Scalar> Flow<T> {
    /// The force on a frame of the body, about the tree's centre of mass, by a law in local axes about the frame's
    /// origin.
    fn force(
        &self,
        position: Vec3<T>,
        rotation: &Mat3<T>,
        law: impl FnOnce(Spatial<T>) -> Spatial<T>,
    ) -> Spatial<T> {
        let arm = position - self.center;
        let mut motion = self.motion.shift_motion(arm);
        motion = Spatial::new(motion.angular(), motion.linear() - self.medium.wind);
        let force = law(motion.into_local_axes(rotation));
        force.into_world_axes(rotation).shift_force(-arm)
    }
}

/// Sides of the box that has a body's mass and inertia.
pub(super) fn inertia_box_sides<T: Scalar>(mass: T, inertia: Vec3<T>) -> [T; 3] {
    let [x, y, z] = inertia.0;
    [y + z - x, x + z - y, x + y - z]
        .map(|square| (square.max(T::from(MIN_LENGTH)) / mass * 6.0).sqrt())
}

/// Coefficients of (1), for what asks how the drag depends on density and viscosity.
pub(super) struct BoxDrag {
    /// Of ρ·|ω|ω and ρ·|v|v.
    quadratic: Spatial,
    /// Of β·ω and β·v.
    viscous: [f64; 2],
}

impl BoxDrag {
    pub(super) fn new(mass: f64, inertia: Vec3) -> Self {
        let sides = inertia_box_sides(mass, inertia);
        let diameter = (sides[0] + sides[1] + sides[2]) / 3.0;
        let mut quadratic = Spatial::ZERO;
        for i in 0..3 {
            let [a, b, c] = [i, (i + 1) % 3, (i + 2) % 3].map(|axis| sides[axis]);
            let (b4, c4) = (b * b * (b * b), c * c * (c * c));
            quadratic[i] = a * (b4 + c4) / 64.0;
            quadratic[i + 3] = 0.5 * b * c;
        }
        Self {
            quadratic,
            viscous: [diameter * diameter * diameter * PI, 3.0 * PI * diameter],
        }
    }

    /// Derivatives by density and viscosity of bar·(force).
    pub(super) fn force_slopes(&self, motion: Spatial, bar: Spatial) -> [f64; 2] {
        let squares = Spatial(motion.0.map(|number| number.abs() * number));
        self.slopes(squares, motion, bar)
    }

    /// Derivatives by density and viscosity of a·B·b, B the derivative of the force by the motion.
    pub(super) fn form_slopes(&self, motion: Spatial, [a, b]: [Spatial; 2]) -> [f64; 2] {
        let doubles = std::array::from_fn(|i| 2.0 * motion[i].abs() * b[i]);
        self.slopes(Spatial(doubles), b, a)
    }

    fn slopes(&self, quadratic: Spatial, linear: Spatial, bar: Spatial) -> [f64; 2] {
        let weighed = Spatial(std::array::from_fn(|i| self.quadratic[i] * quadratic[i]));
        let [turning, moving] = self.viscous;
        [
            -bar.dot(weighed),
            -turning * bar.angular().dot(linear.angular())
                - moving * bar.linear().dot(linear.linear()),
        ]
    }
}

/// The inertia-box model (1).
pub(super) fn inertia_box<T: Scalar>(
    medium: Medium<T>,
    mass: T,
    inertia: Vec3<T>,
    motion: Spatial<T>,
) -> Spatial<T> {
    let Medium {
        density, viscosity, ..
    } = medium;
    let sides = inertia_box_sides(mass, inertia);
    let (spin, speed) = (motion.angular(), motion.linear());
    let mut torque = Vec3::ZERO;
    let mut force = Vec3::ZERO;
    if viscosity.value() > 0.0 || T::HAS_DERIVATIVES {
        let diameter = (sides[0] + sides[1] + sides[2]) / 3.0;
        torque = spin * (diameter * diameter * diameter * viscosity * -PI);
        force = speed * (diameter * viscosity * (-3.0 * PI));
    }
    if density.value() > 0.0 || T::HAS_DERIVATIVES {
        for i in 0..3 {
            let [a, b, c] = [i, (i + 1) % 3, (i + 2) % 3].map(|axis| sides[axis]);
            let (b4, c4) = (b * b * (b * b), c * c * (c * c));
            force[i] -= density * b * c * speed[i].abs() * speed[i] * 0.5;
            torque[i] -= density * a * (b4 + c4) * spin[i].abs() * spin[i] / 64.0;
        }
    }
    Spatial::new(torque, force)
}

/// The ellipsoid model of one geom, about the tree's centre of mass.
fn ellipsoid<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geom: usize,
    flow: &Flow<T>,
) -> Spatial<T> {
    let coefficients = &model.geoms.fluid[geom];
    if coefficients[0] == T::ZERO {
        return Spatial::ZERO;
    }
    let axes = semi_axes(model.structure.geoms.kind[geom], model.geoms.size[geom]);
    let rotation = &kinematics.geom_rotation[geom];
    flow.force(kinematics.geom_position[geom], rotation, |motion| {
        let force = added_mass(coefficients, flow.medium.density, motion)
            + lift_and_drag(coefficients, flow.medium, axes, motion);
        force * coefficients[0]
    })
}

/// Semi-axes of the ellipsoid that stands for a geom.
pub(super) fn semi_axes<T: Scalar>(kind: GeomKind, size: Vec3<T>) -> [T; 3] {
    let [x, y, z] = size.0;
    match kind {
        GeomKind::Sphere => [x, x, x],
        GeomKind::Capsule => [x, x, y + x],
        GeomKind::Cylinder => [x, x, y],
        _ => [x, y, z],
    }
}

/// (2) and (3) in local axes.
#[cfg(test)]
pub(super) fn ellipsoid_law<T: Scalar>(
    coefficients: &[T; 12],
    (density, viscosity): (T, T),
    axes: [T; 3],
    motion: Spatial<T>,
) -> Spatial<T> {
    let medium = Medium {
        density,
        viscosity,
        wind: Vec3::ZERO,
    };
    added_mass(coefficients, density, motion) + lift_and_drag(coefficients, medium, axes, motion)
}

/// First terms of (2) and (3): the medium that moves along with the body has momentum, too.
pub(super) fn added_mass<T: Scalar>(
    coefficients: &[T; 12],
    density: T,
    motion: Spatial<T>,
) -> Spatial<T> {
    let [_, _, _, _, _, _, mx, my, mz, ix, iy, iz] = *coefficients;
    let (spin, speed) = (motion.angular(), motion.linear());
    let momentum = speed.component_mul(Vec3([mx, my, mz])) * density;
    let angular_momentum = spin.component_mul(Vec3([ix, iy, iz])) * density;
    Spatial::new(
        momentum.cross(speed) + angular_momentum.cross(spin),
        momentum.cross(spin),
    )
}

/// Remaining terms of (2) and (3).
pub(super) fn lift_and_drag<T: Scalar>(
    coefficients: &[T; 12],
    medium: Medium<T>,
    axes: [T; 3],
    motion: Spatial<T>,
) -> Spatial<T> {
    let [_, blunt, slender, angular, kutta, magnus, ..] = *coefficients;
    let Medium {
        density, viscosity, ..
    } = medium;
    let [x, y, z] = axes;
    let (spin, velocity) = (motion.angular(), motion.linear());
    let speed = velocity.norm();
    let largest = x.max(y).max(z);
    let middle = x + y + z - largest - x.min(y).min(z);
    let projection = Projection::new(axes, largest, velocity, speed);

    let volume = x * y * z * (4.0 / 3.0 * PI);
    let magnus_lift = spin.cross(velocity) * (magnus * density * volume);
    let circulation = projection.normal.cross(velocity) * (kutta * density * projection.area);
    let kutta_lift = circulation.cross(velocity);

    let diameter = (x + y + z) * (2.0 / 3.0);
    let largest_area = largest * middle * PI;
    let area = projection.area * blunt + slender * (largest_area - projection.area);
    let drag = viscosity * diameter * (3.0 * PI) + density * speed * area;

    let moment =
        |axis: T, others: T| axis * others * others * (others * others) * (8.0 / 15.0 * PI);
    let largest_moment = moment(middle, largest);
    let moments = [
        moment(x, y.max(z)),
        moment(y, z.max(x)),
        moment(z, x.max(y)),
    ];
    let resistance = Vec3(std::array::from_fn(|i| {
        spin[i] * (angular * moments[i] + slender * (largest_moment - moments[i]))
    }));
    let stokes = viscosity * diameter * diameter * diameter * PI;
    let angular_drag = stokes + density * resistance.norm();
    Spatial::new(
        spin * -angular_drag,
        magnus_lift + kutta_lift - velocity * drag,
    )
}

/// The outline of an ellipsoid seen along its velocity.
struct Projection<T> {
    /// Area.
    area: T,
    /// Normal of the section that casts the outline, scaled by the cosine of its angle with the velocity.
    normal: Vec3<T>,
}

impl<T: Scalar> Projection<T> {
    /// In units of the largest semi-axis and speed, so that small bodies keep their precision. With σᵢ = (sⱼsₖ)²,
    /// N = Σσᵢvᵢ² and D = Σσᵢ²vᵢ² the area is π√(D/N) and the scaled normal σᵢvᵢ·N/D.
    fn new(axes: [T; 3], largest: T, velocity: Vec3<T>, speed: T) -> Self {
        if speed.value() <= MIN_LENGTH || largest.value() <= MIN_LENGTH {
            return Projection {
                area: T::ZERO,
                normal: Vec3::ZERO,
            };
        }
        let direction = velocity * speed.recip();
        let [x, y, z] = axes.map(|axis| axis / largest);
        let square = |number: T| number * number;
        let weights = Vec3([square(y * z), square(z * x), square(x * y)]);
        let numerator = weights.dot(direction.component_mul(direction));
        if numerator.value() <= MIN_LENGTH {
            return Projection {
                area: T::ZERO,
                normal: Vec3::ZERO,
            };
        }
        let weighted = direction.component_mul(weights) * numerator.recip();
        let denominator = weighted.norm_squared();
        Projection {
            area: largest * largest * (numerator * denominator).sqrt() * PI,
            normal: weighted * denominator.recip(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;

    const COEFFICIENTS: [f64; 12] = [
        1.0, 0.5, 0.25, 1.5, 1.0, 1.0, 0.3, 0.2, 0.1, 0.03, 0.02, 0.01,
    ];

    fn medium<T: Scalar>(density: f64, viscosity: f64) -> Medium<T> {
        Medium {
            density: T::from(density),
            viscosity: T::from(viscosity),
            wind: Vec3::ZERO,
        }
    }

    fn close(a: Spatial, b: Spatial) -> bool {
        a.0.iter().zip(&b.0).all(|(a, b)| (a - b).abs() < 1e-13)
    }

    #[test]
    fn a_slow_sphere_feels_the_drag_of_stokes() {
        let motion = Spatial([0.1, -0.2, 0.3, 0.4, 0.5, -0.6]);
        let radius = 0.2;
        let force = lift_and_drag(&[1.0; 12], medium(0.0, 0.7), [radius; 3], motion);
        let expected = Spatial::new(
            motion.angular() * (-8.0 * PI * 0.7 * radius * radius * radius),
            motion.linear() * (-6.0 * PI * 0.7 * radius),
        );
        assert!(close(force, expected), "{force:?} {expected:?}");
        // The solid sphere of mass 1 has the same inertia as a cube of side b, b² = 12/5·r².
        let inertia = Vec3([0.4 * radius * radius; 3]);
        let side = (2.4_f64).sqrt() * radius;
        let boxed = inertia_box(medium(0.0, 0.7), 1.0, inertia, motion);
        assert!((boxed[3] + 3.0 * PI * 0.7 * side * 0.4).abs() < 1e-13);
        assert!((boxed[0] + PI * 0.7 * side * side * side * 0.1).abs() < 1e-13);
    }

    #[test]
    fn a_box_falling_flat_feels_the_pressure_on_its_face() {
        // Sides 0.2, 0.4, 0.6 and mass 3: inertia from m(b² + c²)/12.
        let inertia = Vec3([0.52, 0.40, 0.20]) * (3.0 / 12.0);
        let motion = Spatial([0.0, 0.0, 0.0, 0.0, 0.0, -2.0]);
        let force = inertia_box(medium(1.2, 0.0), 3.0, inertia, motion);
        assert!((force[5] - 0.5 * 1.2 * 0.2 * 0.4 * 4.0).abs() < 1e-12);
        assert_eq!(force.angular(), Vec3::ZERO);
    }

    #[test]
    fn the_projected_area_along_an_axis_is_that_of_the_ellipse() {
        let projection = Projection::new([0.3, 0.2, 0.1], 0.3, Vec3([0.0, 5.0, 0.0]), 5.0);
        assert!((projection.area - PI * 0.3 * 0.1).abs() < 1e-15);
        assert!((projection.normal[1] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_scaled_projection_is_the_unscaled_formula() {
        // π·√(D/N) without scaling.
        let axes = [0.3, 0.2, 0.1];
        let velocity = Vec3([1.0, -2.0, 0.5]);
        let speed = velocity.norm();
        let u = velocity * (1.0 / speed);
        let weights = [0.02, 0.03, 0.06];
        let sum = |power: i32| -> f64 {
            let terms = (0..3).map(|i| f64::powi(weights[i], power) * u[i] * u[i]);
            terms.sum()
        };
        let projection = Projection::new(axes, 0.3, velocity, speed);
        let expected = PI * (sum(4) / sum(2)).sqrt();
        assert!((projection.area - expected).abs() < 1e-14);
    }

    #[test]
    fn lift_does_no_work_and_drag_takes_energy() {
        let motion = Spatial([0.4, -1.2, 0.3, 0.9, 0.5, -0.6]);
        let axes = [0.3, 0.2, 0.1];
        let mut only_lift = COEFFICIENTS;
        only_lift[1..4].fill(0.0);
        let lift = lift_and_drag(&only_lift, medium(1.2, 0.0), axes, motion);
        assert!(lift.linear().norm() > 1e-3);
        assert!(lift.dot(motion).abs() < 1e-14);
        let added = added_mass(&COEFFICIENTS, 1.2, motion);
        assert!(added.linear().norm() > 1e-3);
        assert!(
            added.dot(motion).abs() < 1e-14,
            "added mass conserves energy"
        );
        let all = lift_and_drag(&COEFFICIENTS, medium(1.2, 0.1), axes, motion);
        assert!(all.dot(motion) < -1e-3);
    }

    #[test]
    fn duals_agree_with_central_differences() {
        let base = [0.4, -1.2, 0.3, 0.9, 0.5, -0.6];
        let axes = [0.3, 0.2, 0.1];
        let inertia = Vec3([0.13, 0.1, 0.05]);
        let dual = Spatial(std::array::from_fn(|i| Dual::<6>::variable(base[i], i)));
        let ellipsoid =
            lift_and_drag(
                &COEFFICIENTS.map(Dual::constant),
                medium(1.2, 0.1),
                axes.map(Dual::constant),
                dual,
            ) + added_mass(&COEFFICIENTS.map(Dual::constant), Dual::constant(1.2), dual);
        let boxed = inertia_box(
            medium(1.2, 0.1),
            Dual::constant(3.0),
            Vec3(inertia.0.map(Dual::constant)),
            dual,
        );
        let plain = |motion: Spatial| {
            let ellipsoid = lift_and_drag(&COEFFICIENTS, medium(1.2, 0.1), axes, motion)
                + added_mass(&COEFFICIENTS, 1.2, motion);
            (
                ellipsoid,
                inertia_box(medium(1.2, 0.1), 3.0, inertia, motion),
            )
        };
        let h = 1e-6;
        for direction in 0..6 {
            let moved = |sign: f64| {
                let mut motion = Spatial(base);
                motion[direction] += sign * h;
                plain(motion)
            };
            let (plus, minus) = (moved(1.0), moved(-1.0));
            for i in 0..6 {
                let by_ellipsoid = (plus.0[i] - minus.0[i]) / (2.0 * h);
                assert!((ellipsoid[i].tangent[direction] - by_ellipsoid).abs() < 1e-8);
                let by_box = (plus.1[i] - minus.1[i]) / (2.0 * h);
                assert!((boxed[i].tangent[direction] - by_box).abs() < 1e-8);
            }
        }
    }
}
