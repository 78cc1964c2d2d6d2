//! The inertia box: the box with the body's inertia, sides b, feels quadratic drag on its faces and the Stokes drag of the sphere of
//! the mean diameter d:
//!
//!   fᵢ = −½ρ·bⱼbₖ·|vᵢ|vᵢ − 3πβd·vᵢ        nᵢ = −ρ·bᵢ(bⱼ⁴ + bₖ⁴)·|ωᵢ|ωᵢ/64 − πβd³·ωᵢ           (1)

use std::f64::consts::PI;

use super::{ForceDerivative, Medium};
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::scalar::Scalar;

/// Sides of the box that has a body's mass and inertia.
fn sides<T: Scalar>(mass: T, inertia: Vec3<T>) -> [T; 3] {
    let [x, y, z] = inertia.0;
    [y + z - x, x + z - y, x + y - z]
        .map(|square| (square.max(T::from(MIN_LENGTH)) / mass * 6.0).sqrt())
}

/// (1)
#[inline]
pub(crate) fn force<T: Scalar>(
    medium: Medium<T>,
    mass: T,
    inertia: Vec3<T>,
    motion: Spatial<T>,
) -> Spatial<T> {
    let Medium { density, viscosity } = medium;
    let sides = sides(mass, inertia);
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

/// The derivative by the motion: every component of the force depends on that component of the motion alone.
#[inline]
pub(crate) fn derivative<T: Scalar>(
    medium: Medium<T>,
    mass: T,
    inertia: Vec3<T>,
    motion: Spatial<T>,
) -> ForceDerivative<T> {
    let Medium { density, viscosity } = medium;
    let sides = sides(mass, inertia);
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

/// Derivatives by density and viscosity of a·f for one motion, of a·B·b for two, in closed form: every step of a gradient asks for
/// them where there is no medium.
pub(crate) fn by_absent_medium(
    mass: f64,
    inertia: Vec3,
    motion: Spatial,
    with: &[Spatial],
) -> [f64; 2] {
    let (a, quadratic, linear) = match *with {
        [a] => (a, motion.0.map(|x| x.abs() * x), motion),
        [a, b] => {
            let doubles = std::array::from_fn(|i| 2.0 * motion[i].abs() * b[i]);
            (a, doubles, b)
        }
        _ => return [0.0; 2],
    };
    let sides = sides(mass, inertia);
    let diameter = (sides[0] + sides[1] + sides[2]) / 3.0;
    let mut by_density = 0.0;
    for i in 0..3 {
        let [own, b, c] = [i, (i + 1) % 3, (i + 2) % 3].map(|axis| sides[axis]);
        let (b4, c4) = (b * b * (b * b), c * c * (c * c));
        by_density -= a[i] * own * (b4 + c4) / 64.0 * quadratic[i];
        by_density -= a[i + 3] * 0.5 * b * c * quadratic[i + 3];
    }
    let turning = diameter * diameter * diameter * PI * a.angular().dot(linear.angular());
    let moving = 3.0 * PI * diameter * a.linear().dot(linear.linear());
    [by_density, -turning - moving]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::fluid::Law;

    fn medium(density: f64, viscosity: f64) -> Medium<f64> {
        Medium { density, viscosity }
    }

    #[test]
    fn a_box_falling_flat_feels_the_pressure_on_its_face() {
        // Sides 0.2, 0.4, 0.6 and mass 3: inertia from m(b² + c²)/12.
        let inertia = Vec3([0.52, 0.40, 0.20]) * (3.0 / 12.0);
        let motion = Spatial([0.0, 0.0, 0.0, 0.0, 0.0, -2.0]);
        let felt = force(medium(1.2, 0.0), 3.0, inertia, motion);
        assert!((felt[5] - 0.5 * 1.2 * 0.2 * 0.4 * 4.0).abs() < 1e-12);
        assert_eq!(felt.angular(), Vec3::ZERO);
    }

    #[test]
    fn what_an_absent_medium_would_do_is_the_derivative_of_the_law() {
        let (mass, inertia) = (3.0, Vec3([0.13, 0.1, 0.05]));
        let motion = Spatial([0.4, -1.2, 0.3, 0.9, 0.5, -0.6]);
        let with = [
            Spatial([0.1, 0.2, -0.3, 0.4, -0.5, 0.6]),
            Spatial([-0.7, 0.3, 0.2, 0.5, 0.1, 0.8]),
        ];
        let law = Law::InertiaBox { mass, inertia };
        for with in [&with[..1], &with[..]] {
            let found = by_absent_medium(mass, inertia, motion, with);
            let (_, gradient) = law.contract_gradient(medium(0.0, 0.0), motion, with);
            for (found, expected) in found.iter().zip(&gradient.parameters[4..6]) {
                assert!((found - expected).abs() < 1e-13, "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_derivative_is_that_of_the_force() {
        let law = Law::InertiaBox {
            mass: 3.0,
            inertia: Vec3([0.13, 0.1, 0.05]),
        };
        crate::laws::fluid::ellipsoid::check_derivative(&law, medium(1.2, 0.1), 3);
    }
}
