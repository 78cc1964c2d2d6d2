//! Derivatives of the medium's forces with respect to the velocity, as the implicit integrators need them.
//!
//! In the notation of the force laws, with a = |v|, N = Σσᵢvᵢ², D = Σσᵢ²vᵢ², area A = π√(D/N) and the derivative of
//! v × w with respect to v written −[w]:
//!
//!   ∇A = A·(σ²∘v/D − σ∘v/N)                                                                    (1)
//!   drag −(b + ρ·a·K(A))·v:  −(b + ρ·a·K)·1 − v·(ρ·K·v/a + ρ·a·K'·∇A)ᵀ                          (2)
//!   Kutta lift C·(q × v), q = (σ∘v) × v, C = kρπ√(N/D)/a:
//!     (q × v)·∇Cᵀ + C·([q] − [v]·([σ∘v] − [v]·diag σ)),   ∇C = C·(σ∘v/N − σ²∘v/D − v/a²)        (3)
//!   angular drag −(b + ρ|r|)·ω, r = w∘ω:  −(b + ρ|r|)·1 − ω·(ρ·w∘r/|r|)ᵀ                        (4)

use std::f64::consts::PI;

use super::fluid::{has_ellipsoids, inertia_box_sides, semi_axes};
use crate::dual::Dual;
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Derivative of a force (n, f) with respect to a motion (ω, v), in four blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ForceDerivative<T> {
    torque_by_spin: Mat3<T>,
    torque_by_speed: Mat3<T>,
    force_by_spin: Mat3<T>,
    force_by_speed: Mat3<T>,
}

impl<T: Scalar> ForceDerivative<T> {
    /// The change of force with a motion.
    #[inline]
    pub(crate) fn mul(&self, motion: Spatial<T>) -> Spatial<T> {
        let (spin, speed) = (motion.angular(), motion.linear());
        Spatial::new(
            self.torque_by_spin.mul_vec(spin) + self.torque_by_speed.mul_vec(speed),
            self.force_by_spin.mul_vec(spin) + self.force_by_speed.mul_vec(speed),
        )
    }

    /// The product of the transposed matrix.
    #[inline]
    pub(crate) fn transpose_mul(&self, motion: Spatial<T>) -> Spatial<T> {
        let (spin, speed) = (motion.angular(), motion.linear());
        Spatial::new(
            self.torque_by_spin.transpose_mul_vec(spin)
                + self.force_by_spin.transpose_mul_vec(speed),
            self.torque_by_speed.transpose_mul_vec(spin)
                + self.force_by_speed.transpose_mul_vec(speed),
        )
    }

    /// Adds another derivative.
    pub(crate) fn add(&mut self, other: &Self) {
        self.torque_by_spin += other.torque_by_spin;
        self.torque_by_speed += other.torque_by_speed;
        self.force_by_spin += other.force_by_spin;
        self.force_by_speed += other.force_by_speed;
    }

    /// Half the sum of the matrix and its transpose.
    pub(crate) fn symmetric(&self) -> Self {
        let half = |a: &Mat3<T>, b: &Mat3<T>| (*a + b.transpose()) * T::from(0.5);
        let cross = half(&self.torque_by_speed, &self.force_by_spin);
        Self {
            torque_by_spin: half(&self.torque_by_spin, &self.torque_by_spin),
            torque_by_speed: cross,
            force_by_spin: cross.transpose(),
            force_by_speed: half(&self.force_by_speed, &self.force_by_speed),
        }
    }

    /// From local axes and about a local origin to world axes about a point from which that origin is at `arm`.
    fn into_world(self, rotation: &Mat3<T>, arm: Vec3<T>) -> Self {
        let turned = |block: &Mat3<T>| rotation.mul(block).mul(&rotation.transpose());
        let arm = Mat3::skew(arm);
        let speed = turned(&self.torque_by_speed);
        let force_by_speed = turned(&self.force_by_speed);
        // The origin moves at v − arm × ω, and its force has the moment arm × f.
        let force_by_spin = turned(&self.force_by_spin) - force_by_speed.mul(&arm);
        let torque_by_spin = turned(&self.torque_by_spin) - speed.mul(&arm);
        Self {
            torque_by_spin: torque_by_spin + arm.mul(&force_by_spin),
            torque_by_speed: speed + arm.mul(&force_by_speed),
            force_by_spin,
            force_by_speed,
        }
    }
}

/// Derivative of the force on one body, about the centre of mass of its tree, world axes.
pub(crate) fn of_body<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    body: usize,
) -> ForceDerivative<T> {
    let medium = (model.option.density[0], model.option.viscosity[0]);
    let mut sum = ForceDerivative::default();
    for_each_part(model, kinematics, body, |part| {
        let local = (part.law).derivative(medium, part.relative_motion(model, velocity, body));
        sum.add(&local.into_world(part.rotation, part.arm));
    });
    sum
}

/// How the derivative B of the force on one body changes with the body's velocity: the matrix of y ↦ dB(y)·x, where
/// `along` = x is a motion like the velocity; if `symmetric`, with the symmetric part of B.
pub(crate) fn change_of_body(
    model: &Model,
    kinematics: &Kinematics,
    velocity: &Velocity,
    (body, along): (usize, Spatial),
    symmetric: bool,
) -> ForceDerivative<f64> {
    let medium = [model.option.density[0], model.option.viscosity[0]].map(Dual::constant);
    let mut sum = ForceDerivative::default();
    for_each_part(model, kinematics, body, |part| {
        let motion = part.relative_motion(model, velocity, body);
        let motion = Spatial(std::array::from_fn(|k| Dual::<6>::variable(motion[k], k)));
        let mut local = part.law.constant().derivative(medium.into(), motion);
        if symmetric {
            local = local.symmetric();
        }
        let along = along.shift_motion(part.arm).into_local_axes(part.rotation);
        let change = local.mul(along.map(Dual::constant));
        let block = |force: usize, motion: usize| {
            Mat3(std::array::from_fn(|entry| {
                change[force + entry / 3].tangent[motion + entry % 3]
            }))
        };
        let change = ForceDerivative {
            torque_by_spin: block(0, 0),
            torque_by_speed: block(0, 3),
            force_by_spin: block(3, 0),
            force_by_speed: block(3, 3),
        };
        sum.add(&change.into_world(part.rotation, part.arm));
    });
    sum
}

/// A frame of a body whose motion relative to the medium causes a force.
struct Part<'a, T> {
    rotation: &'a Mat3<T>,
    /// From the centre of mass of the tree.
    arm: Vec3<T>,
    law: Law<T>,
}

impl<T: Scalar> Part<'_, T> {
    /// Local axes.
    fn relative_motion(&self, model: &Model<T>, velocity: &Velocity<T>, body: usize) -> Spatial<T> {
        let motion = velocity.body[body].shift_motion(self.arm);
        let relative = Spatial::new(motion.angular(), motion.linear() - model.option.wind[0]);
        relative.into_local_axes(self.rotation)
    }
}

/// A law with its numbers.
enum Law<T> {
    InertiaBox(T, Vec3<T>),
    Ellipsoid([T; 12], [T; 3]),
}

impl<T: Scalar> Law<T> {
    fn derivative(&self, medium: (T, T), motion: Spatial<T>) -> ForceDerivative<T> {
        match self {
            Self::InertiaBox(mass, inertia) => inertia_box(medium, (*mass, *inertia), motion),
            Self::Ellipsoid(coefficients, axes) => ellipsoid(coefficients, medium, *axes, motion),
        }
    }
}

impl Law<f64> {
    fn constant<const N: usize>(&self) -> Law<Dual<N>> {
        match *self {
            Self::InertiaBox(mass, inertia) => {
                Law::InertiaBox(Dual::constant(mass), inertia.map(Dual::constant))
            }
            Self::Ellipsoid(coefficients, axes) => {
                Law::Ellipsoid(coefficients.map(Dual::constant), axes.map(Dual::constant))
            }
        }
    }
}

/// Visits the parts of a body.
fn for_each_part<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    mut visit: impl FnMut(Part<'_, T>),
) {
    let bodies = &model.structure.bodies;
    if bodies.tree[body].is_none() || model.bodies.mass[body].value() < MIN_LENGTH {
        return;
    }
    let center = kinematics.subtree_com[bodies.root[body]];
    if !has_ellipsoids(model, body) {
        return visit(Part {
            rotation: &kinematics.inertial_rotation[body],
            arm: kinematics.inertial_position[body] - center,
            law: Law::InertiaBox(model.bodies.mass[body], model.bodies.inertia[body]),
        });
    }
    for geom in bodies.geoms[body].clone() {
        let coefficients = model.geoms.fluid[geom];
        if coefficients[0] == T::ZERO {
            continue;
        }
        let axes = semi_axes(model.structure.geoms.kind[geom], model.geoms.size[geom]);
        visit(Part {
            rotation: &kinematics.geom_rotation[geom],
            arm: kinematics.geom_position[geom] - center,
            law: Law::Ellipsoid(coefficients, axes),
        });
    }
}

/// The inertia-box model: every component of the force depends on that component of the motion alone.
pub(super) fn inertia_box<T: Scalar>(
    (density, viscosity): (T, T),
    (mass, inertia): (T, Vec3<T>),
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let sides = inertia_box_sides(mass, inertia);
    let diameter = (sides[0] + sides[1] + sides[2]) / 3.0;
    let (mut torque, mut force) = (Vec3::ZERO, Vec3::ZERO);
    for i in 0..3 {
        let [a, b, c] = [i, (i + 1) % 3, (i + 2) % 3].map(|axis| sides[axis]);
        let (b4, c4) = (b * b * (b * b), c * c * (c * c));
        torque[i] = diameter * diameter * diameter * viscosity * -PI
            - density * a * (b4 + c4) * motion[i].abs() / 32.0;
        force[i] = diameter * viscosity * (-3.0 * PI) - density * b * c * motion[i + 3].abs();
    }
    ForceDerivative {
        torque_by_spin: Mat3::from_diagonal(torque),
        force_by_speed: Mat3::from_diagonal(force),
        ..ForceDerivative::default()
    }
}

/// The ellipsoid model of one geom.
pub(super) fn ellipsoid<T: Scalar>(
    coefficients: &[T; 12],
    medium: (T, T),
    axes: [T; 3],
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let mut sum = added_mass(coefficients, medium.0, motion);
    sum.add(&magnus_lift(coefficients, medium.0, axes, motion));
    sum.torque_by_spin += angular_drag(coefficients, medium, axes, motion.angular());
    sum.force_by_speed += lift_and_drag(coefficients, medium, axes, motion.linear());
    sum
}

/// The momentum of the medium that moves along.
fn added_mass<T: Scalar>(
    coefficients: &[T; 12],
    density: T,
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let [_, _, _, _, _, _, mx, my, mz, ix, iy, iz] = *coefficients;
    let (mass, inertia) = (Vec3([mx, my, mz]) * density, Vec3([ix, iy, iz]) * density);
    let (spin, speed) = (motion.angular(), motion.linear());
    let momentum = Mat3::skew(mass.component_mul(speed));
    let angular_momentum = Mat3::skew(inertia.component_mul(spin));
    let [mass, inertia] = [mass, inertia].map(Mat3::from_diagonal);
    let [spin, speed] = [spin, speed].map(Mat3::skew);
    ForceDerivative {
        torque_by_spin: angular_momentum - spin.mul(&inertia),
        torque_by_speed: momentum - speed.mul(&mass),
        force_by_spin: momentum,
        force_by_speed: -spin.mul(&mass),
    }
}

/// Force c·ω × v.
fn magnus_lift<T: Scalar>(
    coefficients: &[T; 12],
    density: T,
    [x, y, z]: [T; 3],
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let volume = x * y * z * (4.0 / 3.0 * PI);
    let coefficient = coefficients[5] * density * volume;
    ForceDerivative {
        force_by_spin: Mat3::skew(motion.linear() * -coefficient),
        force_by_speed: Mat3::skew(motion.angular() * coefficient),
        ..ForceDerivative::default()
    }
}

/// Largest and middle of the semi-axes.
fn sorted_axes<T: Scalar>([x, y, z]: [T; 3]) -> (T, T) {
    let largest = x.max(y).max(z);
    (largest, x + y + z - largest - x.min(y).min(z))
}

/// (4)
fn angular_drag<T: Scalar>(
    coefficients: &[T; 12],
    (density, viscosity): (T, T),
    axes: [T; 3],
    spin: Vec3<T>,
) -> Mat3<T> {
    let [_, _, slender, angular, ..] = *coefficients;
    let [x, y, z] = axes;
    let (largest, middle) = sorted_axes(axes);
    let moment =
        |axis: T, others: T| axis * others * others * (others * others) * (8.0 / 15.0 * PI);
    let greatest = moment(middle, largest);
    let weights = Vec3([
        moment(x, y.max(z)),
        moment(y, z.max(x)),
        moment(z, x.max(y)),
    ])
    .map(|moment| angular * moment + slender * (greatest - moment));
    let resistance = spin.component_mul(weights);
    let norm = resistance.norm();
    let diameter = (x + y + z) * (2.0 / 3.0);
    let stokes = viscosity * diameter * diameter * diameter * PI;
    let mut derivative = Mat3::from_diagonal(Vec3([-(stokes + density * norm); 3]));
    if norm.value() > MIN_LENGTH {
        let gradient = weights.component_mul(resistance) * (density / norm);
        derivative -= spin.outer(gradient);
    }
    derivative
}

/// Kutta lift (3) and drag (2).
fn lift_and_drag<T: Scalar>(
    coefficients: &[T; 12],
    (density, viscosity): (T, T),
    axes: [T; 3],
    velocity: Vec3<T>,
) -> Mat3<T> {
    let [_, blunt, slender, _, kutta, ..] = *coefficients;
    let (largest, middle) = sorted_axes(axes);
    let [x, y, z] = axes;
    let stokes = viscosity * (x + y + z) * (2.0 / 3.0 * 3.0 * PI);
    let resting = Mat3::from_diagonal(Vec3([-stokes; 3]));
    let speed = velocity.norm();
    if speed.value() <= MIN_LENGTH || largest.value() <= MIN_LENGTH {
        return resting;
    }
    // In units of the largest semi-axis and speed, like the forces.
    let u = velocity * speed.recip();
    let [x, y, z] = axes.map(|axis| axis / largest);
    let square = |number: T| number * number;
    let weights = Vec3([square(y * z), square(z * x), square(x * y)]);
    let weighted = weights.component_mul(u);
    let twice_weighted = weights.component_mul(weighted);
    let (numerator, denominator) = (weighted.dot(u), twice_weighted.dot(u));
    if numerator.value() <= MIN_LENGTH {
        return resting;
    }
    let (along, across) = (
        weighted * numerator.recip(),
        twice_weighted * denominator.recip(),
    );

    let scale = largest * largest * PI;
    let area = scale * (denominator / numerator).sqrt();
    let drag = area * blunt + slender * (largest * middle * PI - area);
    let gradient = u * drag + (across - along) * (area * (blunt - slender)); // (1)
    let identity = Mat3::identity();
    let mut derivative = resting - (identity * drag + u.outer(gradient)) * (density * speed); // (2)

    let coefficient = kutta * density * scale * speed * (numerator / denominator).sqrt();
    let turned = weighted.cross(u);
    let [u_cross, weighted_cross, turned_cross] = [u, weighted, turned].map(Mat3::skew);
    let turned_by = weighted_cross - u_cross.mul(&Mat3::from_diagonal(weights));
    derivative += (turned.cross(u).outer(along - across - u) + turned_cross
        - u_cross.mul(&turned_by))
        * coefficient; // (3)
    derivative
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;
    use crate::stages::passive::fluid;
    use crate::testing::Random;

    const COEFFICIENTS: [f64; 12] = [
        1.0, 0.5, 0.25, 1.5, 1.0, 0.7, 0.3, 0.2, 0.1, 0.03, 0.02, 0.01,
    ];

    /// Compares blocks with the derivative of a law by dual numbers.
    fn check(
        derivative: &ForceDerivative<f64>,
        motion: [f64; 6],
        law: impl Fn(Spatial<Dual<6>>) -> Spatial<Dual<6>>,
    ) {
        let dual = law(Spatial(std::array::from_fn(|i| {
            Dual::<6>::variable(motion[i], i)
        })));
        for direction in 0..6 {
            let mut unit = Spatial::ZERO;
            unit[direction] = 1.0;
            let column = derivative.mul(unit);
            let row = derivative.transpose_mul(unit);
            for i in 0..6 {
                let error = (column[i] - dual[i].tangent[direction]).abs();
                assert!(error < 1e-13, "∂{i}/∂{direction}: {error:e}");
                let error = (row[i] - dual[direction].tangent[i]).abs();
                assert!(error < 1e-13, "transposed ∂{direction}/∂{i}: {error:e}");
            }
        }
    }

    #[test]
    fn ellipsoid_derivatives_are_exact() {
        let mut random = Random::new(1);
        for _ in 0..20 {
            let motion: [f64; 6] = random.numbers();
            let axes = [0.3, 0.2, 0.1].map(|axis| axis * (1.2 + random.next()));
            let mut sum = added_mass(&COEFFICIENTS, 1.2, Spatial(motion));
            sum.add(&magnus_lift(&COEFFICIENTS, 1.2, axes, Spatial(motion)));
            let medium = (1.2, 0.1);
            sum.torque_by_spin +=
                angular_drag(&COEFFICIENTS, medium, axes, Spatial(motion).angular());
            sum.force_by_speed +=
                lift_and_drag(&COEFFICIENTS, medium, axes, Spatial(motion).linear());
            check(&sum, motion, |motion| {
                fluid::ellipsoid_law(
                    &COEFFICIENTS.map(Dual::constant),
                    (Dual::constant(1.2), Dual::constant(0.1)),
                    axes.map(Dual::constant),
                    motion,
                )
            });
        }
    }

    #[test]
    fn a_body_at_rest_feels_only_viscosity() {
        let derivative = lift_and_drag(&COEFFICIENTS, (1.2, 0.1), [0.3, 0.2, 0.1], Vec3::ZERO);
        let stokes = -3.0 * PI * 0.1 * 2.0 / 3.0 * 0.6;
        for (actual, expected) in derivative.0.iter().zip(Mat3::<f64>::identity().0) {
            assert!((actual - stokes * expected).abs() < 1e-15);
        }
    }

    #[test]
    fn moving_to_world_axes_keeps_the_power() {
        // A rotated and shifted frame: the same quadratic form of the same motion.
        let mut random = Random::new(2);
        let local = ForceDerivative {
            torque_by_spin: Mat3(random.numbers()),
            torque_by_speed: Mat3(random.numbers()),
            force_by_spin: Mat3(random.numbers()),
            force_by_speed: Mat3(random.numbers()),
        };
        let (rotation, arm) = (random.quat().to_mat3(), random.vec3());
        let (first, second) = (Spatial(random.numbers()), Spatial(random.numbers()));
        let to_local = |motion: Spatial| motion.shift_motion(arm).into_local_axes(&rotation);
        let expected = to_local(first).dot(local.mul(to_local(second)));
        let actual = first.dot(local.into_world(&rotation, arm).mul(second));
        assert!((actual - expected).abs() < 1e-13);
    }
}
