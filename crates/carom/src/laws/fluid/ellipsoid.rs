//! The ellipsoid, with semi-axes s, added mass μ and inertia ι, coefficients c:
//!
//!   f = ρ(μ∘v) × ω + c₁·ρV·ω × v + lift − (3πβD + ρ|v|(c₂·A + c₃(A⁺ − A)))·v                        (1)
//!   n = ρ(μ∘v) × v + ρ(ι∘ω) × ω − (πβD³ + ρ|(c₄·J + c₃(J⁺ − J))∘ω|)·ω                              (2)
//!
//! are added mass, Magnus (c₁) and Kutta lift, and drag: viscous with the diameter D of the sphere of the same mean
//! size, quadratic, blunt (c₂) and slender (c₃), with the area A projected along v and its maximum A⁺, and angular (c₄)
//! with the moments J and their maximum J⁺.
//!
//! Derivatives by the motion, with a = |v|, N = Σσᵢvᵢ², D = Σσᵢ²vᵢ², area A = π√(D/N) and the derivative of
//! v × w with respect to v written −[w]:
//!
//!   ∇A = A·(σ²∘v/D − σ∘v/N)                                                                    (3)
//!   drag −(b + ρ·a·K(A))·v:  −(b + ρ·a·K)·1 − v·(ρ·K·v/a + ρ·a·K'·∇A)ᵀ                          (4)
//!   Kutta lift C·(q × v), q = (σ∘v) × v, C = kρπ√(N/D)/a:
//!     (q × v)·∇Cᵀ + C·([q] − [v]·([σ∘v] − [v]·diag σ)),   ∇C = C·(σ∘v/N − σ²∘v/D − v/a²)        (5)
//!   angular drag −(b + ρ|r|)·ω, r = w∘ω:  −(b + ρ|r|)·1 − ω·(ρ·w∘r/|r|)ᵀ                        (6)

use std::f64::consts::PI;

use super::{ForceDerivative, Medium};
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::GeomKind;
use crate::scalar::Scalar;

/// Semi-axes of the ellipsoid that stands for a geom.
pub(crate) fn semi_axes<T: Scalar>(kind: GeomKind, size: Vec3<T>) -> [T; 3] {
    let [x, y, z] = size.0;
    match kind {
        GeomKind::Sphere => [x, x, x],
        GeomKind::Capsule => [x, x, y + x],
        GeomKind::Cylinder => [x, x, y],
        _ => [x, y, z],
    }
}

/// (1) and (2), without the factor of the geom.
#[inline]
pub(crate) fn force<T: Scalar>(
    coefficients: &[T; 12],
    medium: Medium<T>,
    axes: [T; 3],
    motion: Spatial<T>,
) -> Spatial<T> {
    added_mass(coefficients, medium.density, motion)
        + lift_and_drag(coefficients, medium, axes, motion)
}

/// First terms of (1) and (2): the medium that moves along with the body has momentum, too.
fn added_mass<T: Scalar>(coefficients: &[T; 12], density: T, motion: Spatial<T>) -> Spatial<T> {
    let [_, _, _, _, _, _, mx, my, mz, ix, iy, iz] = *coefficients;
    let (spin, speed) = (motion.angular(), motion.linear());
    let momentum = speed.component_mul(Vec3([mx, my, mz])) * density;
    let angular_momentum = spin.component_mul(Vec3([ix, iy, iz])) * density;
    Spatial::new(
        momentum.cross(speed) + angular_momentum.cross(spin),
        momentum.cross(spin),
    )
}

/// Remaining terms of (1) and (2).
fn lift_and_drag<T: Scalar>(
    coefficients: &[T; 12],
    medium: Medium<T>,
    axes: [T; 3],
    motion: Spatial<T>,
) -> Spatial<T> {
    let [_, blunt, slender, angular, kutta, magnus, ..] = *coefficients;
    let Medium { density, viscosity } = medium;
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

/// The derivative by the motion.
pub(crate) fn derivative<T: Scalar>(
    coefficients: &[T; 12],
    medium: Medium<T>,
    axes: [T; 3],
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let mut sum = added_mass_derivative(coefficients, medium.density, motion);
    sum.add(&magnus_lift_derivative(
        coefficients,
        medium.density,
        axes,
        motion,
    ));
    sum.torque_by_spin += angular_drag_derivative(coefficients, medium, axes, motion.angular());
    sum.force_by_speed += lift_and_drag_derivative(coefficients, medium, axes, motion.linear());
    sum
}

/// The momentum of the medium that moves along.
fn added_mass_derivative<T: Scalar>(
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
fn magnus_lift_derivative<T: Scalar>(
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

/// (6)
fn angular_drag_derivative<T: Scalar>(
    coefficients: &[T; 12],
    Medium { density, viscosity }: Medium<T>,
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

/// Kutta lift (5) and drag (4).
fn lift_and_drag_derivative<T: Scalar>(
    coefficients: &[T; 12],
    Medium { density, viscosity }: Medium<T>,
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
    let gradient = u * drag + (across - along) * (area * (blunt - slender)); // (3)
    let identity = Mat3::identity();
    let mut derivative = resting - (identity * drag + u.outer(gradient)) * (density * speed); // (4)

    let coefficient = kutta * density * scale * speed * (numerator / denominator).sqrt();
    let turned = weighted.cross(u);
    let [u_cross, weighted_cross, turned_cross] = [u, weighted, turned].map(Mat3::skew);
    let turned_by = weighted_cross - u_cross.mul(&Mat3::from_diagonal(weights));
    derivative += (turned.cross(u).outer(along - across - u) + turned_cross
        - u_cross.mul(&turned_by))
        * coefficient; // (5)
    derivative
}

/// Asserts that the derivative of a law by the motion is that of its force, at some motions.
#[cfg(test)]
pub(super) fn check_derivative(law: &super::Law<f64>, medium: Medium<f64>, seed: u64) {
    use crate::dual::Dual;
    let mut random = crate::testing::Random::new(seed);
    for _ in 0..20 {
        let motion: [f64; 6] = random.numbers();
        let moving = Spatial(std::array::from_fn(|i| Dual::<6>::variable(motion[i], i)));
        let constant = Medium {
            density: Dual::constant(medium.density),
            viscosity: Dual::constant(medium.viscosity),
        };
        let force = law.constant().force(constant, moving);
        let (expected, found) = (
            ForceDerivative::of_tangents(&force),
            law.derivative(medium, Spatial(motion)),
        );
        for direction in 0..6 {
            let mut unit = Spatial::ZERO;
            unit[direction] = 1.0;
            let pairs = [
                (found.mul(unit), expected.mul(unit)),
                (found.transpose_mul(unit), expected.transpose_mul(unit)),
            ];
            for (found, expected) in pairs {
                for i in 0..6 {
                    let error = (found[i] - expected[i]).abs();
                    assert!(error < 1e-13, "{i} by {direction}: {error:e}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::fluid::{Law, inertia_box};

    const COEFFICIENTS: [f64; 12] = [
        1.0, 0.5, 0.25, 1.5, 1.0, 0.7, 0.3, 0.2, 0.1, 0.03, 0.02, 0.01,
    ];

    fn medium(density: f64, viscosity: f64) -> Medium<f64> {
        Medium { density, viscosity }
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
        let boxed = inertia_box::force(medium(0.0, 0.7), 1.0, inertia, motion);
        assert!((boxed[3] + 3.0 * PI * 0.7 * side * 0.4).abs() < 1e-13);
        assert!((boxed[0] + PI * 0.7 * side * side * side * 0.1).abs() < 1e-13);
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
    fn a_body_at_rest_feels_only_viscosity() {
        let derivative =
            lift_and_drag_derivative(&COEFFICIENTS, medium(1.2, 0.1), [0.3, 0.2, 0.1], Vec3::ZERO);
        let stokes = -3.0 * PI * 0.1 * 2.0 / 3.0 * 0.6;
        for (actual, expected) in derivative.0.iter().zip(Mat3::<f64>::identity().0) {
            assert!((actual - stokes * expected).abs() < 1e-15);
        }
    }

    #[test]
    fn derivatives_are_exact() {
        for (size, seed) in [([0.3, 0.2, 0.1], 1), ([0.1, 0.25, 0.2], 2)] {
            let law = Law::Ellipsoid {
                kind: GeomKind::Ellipsoid,
                coefficients: COEFFICIENTS,
                size: Vec3(size),
            };
            check_derivative(&law, medium(1.2, 0.1), seed);
        }
    }
}
