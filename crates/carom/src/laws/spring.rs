//! Springs of joints and tendons: f = −x·(k + k₁x + k₂x²) at the displacement x.
//!
//! A tendon is at rest in a range of lengths, and x is the distance to it. A hinge or slide is at rest at one position: a range whose
//! ends agree. For ball and free joints x is the length of a displacement or rotation vector, and the force is along it.

use super::law::{Law, strength, strength_slope};
use crate::math::Vec3;
use crate::scalar::Scalar;

/// The force of a spring over (position) with the parameters (k, k₁, k₂, lower and upper end of rest).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spring;

/// The end of the range of rest that a position is beyond; none within. A range of a single position has nothing within:
/// the slope there, where springs start at rest, is that of its sides.
#[inline]
pub(crate) fn nearest_end<T: Scalar>(position: T, [low, high]: [T; 2]) -> Option<usize> {
    if position > high {
        Some(1)
    } else if position < low || low == high {
        Some(0)
    } else {
        None
    }
}

/// The displacement of a position from a range of rest.
#[inline]
pub(crate) fn displacement<T: Scalar>(position: T, [low, high]: [T; 2]) -> T {
    match nearest_end(position, [low, high]) {
        Some(0) => position - low,
        Some(_) => position - high,
        None => T::ZERO,
    }
}

impl Law<1, 5> for Spring {
    #[inline]
    fn value<T: Scalar>(self, [position]: [T; 1], [k, k1, k2, low, high]: [T; 5]) -> T {
        let displacement = displacement(position, [low, high]);
        -displacement * strength([k, k1, k2], displacement)
    }

    #[inline]
    fn by_inputs(self, [position]: [f64; 1], [k, k1, k2, low, high]: [f64; 5]) -> [f64; 1] {
        let end = nearest_end(position, [low, high]);
        [end.map_or(0.0, |end| {
            -strength_slope([k, k1, k2], position - [low, high][end])
        })]
    }

    #[inline]
    fn by_parameters(self, [position]: [f64; 1], p: [f64; 5]) -> [f64; 5] {
        let [k, k1, k2, low, high] = p;
        let Some(end) = nearest_end(position, [low, high]) else {
            return [0.0; 5];
        };
        let x = position - [low, high][end];
        let mut slopes = [-x, -x * x, -x * x * x, 0.0, 0.0];
        slopes[3 + end] = strength_slope([k, k1, k2], x);
        slopes
    }
}

/// The force of a spring along a displacement vector, with the parameters (k, k₁, k₂).
#[inline]
pub(crate) fn pull<T: Scalar>(displacement: Vec3<T>, p: [T; 3]) -> Vec3<T> {
    let coefficient = strength(p, displacement.norm());
    Vec3(displacement.0.map(|part| -part * coefficient))
}

/// The adjoint of [`pull`]: the cotangents of the displacement and of the parameters.
pub(crate) fn pull_vjp(displacement: Vec3, p: [f64; 3], bar: Vec3) -> (Vec3, [f64; 3]) {
    let length = displacement.norm();
    let coefficient_bar = -displacement.dot(bar);
    let mut displacement_bar = bar * -strength(p, length);
    displacement.norm_vjp(
        coefficient_bar * (p[1] + 2.0 * p[2] * length),
        &mut displacement_bar,
    );
    let parameters_bar = [1.0, length, length * length].map(|power| coefficient_bar * power);
    (displacement_bar, parameters_bar)
}

/// ∫ x·(k + k₁x + k₂x²) dx, the energy of a spring.
#[inline]
pub(crate) fn energy<T: Scalar>([linear, quadratic, cubic]: [T; 3], x: T) -> T {
    let square = x * x;
    linear * square * 0.5 + quadratic * square * x / 3.0 + cubic * square * square * 0.25
}

/// Derivatives of [`energy`] by the displacement and by the parameters.
#[inline]
pub(crate) fn energy_gradient(p: [f64; 3], x: f64) -> (f64, [f64; 3]) {
    let square = x * x;
    let by_parameters = [0.5 * square, square * x / 3.0, 0.25 * square * square];
    (strength(p, x) * x, by_parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;
    use crate::laws::law::check;

    #[test]
    fn what_is_written_out_agrees_with_dual_numbers() {
        for position in [-1.0, 0.2, 0.3, 0.5, 1.4] {
            check::gradients_agree(Spring, [position], [3.0, 0.5, 0.7, 0.2, 0.5]);
            check::gradients_agree(Spring, [position], [3.0, 0.5, 0.7, 0.3, 0.3]);
        }
    }

    #[test]
    fn springs_along_vectors_agree_with_dual_numbers() {
        let (displacement, p, bar) = ([0.3, -0.8, 0.4], [2.0, 0.4, 1.5], [0.7, 0.1, -0.6]);
        let moved = Vec3(std::array::from_fn(|k| {
            Dual::<6>::variable(displacement[k], k)
        }));
        let parameters = std::array::from_fn(|k| Dual::<6>::variable(p[k], 3 + k));
        let force = pull(moved, parameters);
        let (displacement_bar, parameters_bar) = pull_vjp(Vec3(displacement), p, Vec3(bar));
        for (place, found) in (displacement_bar.0.iter().chain(&parameters_bar)).enumerate() {
            let expected: f64 = (0..3).map(|k| force[k].tangent[place] * bar[k]).sum();
            assert!((found - expected).abs() < 1e-13, "{place}");
        }
    }

    #[test]
    fn the_force_is_the_slope_of_the_energy() {
        let p = [2.0, 0.4, 1.5];
        for x in [-0.8, 0.0, 0.3] {
            let (slope, _) = energy_gradient(p, x);
            let [k, k1, k2] = p;
            let force = Spring.value([x], [k, k1, k2, 0.0, 0.0]);
            assert!((slope + force).abs() < 1e-14);
            let by_dual = energy(p.map(Dual::constant), Dual::<1>::variable(x, 0));
            assert!((slope - by_dual.tangent[0]).abs() < 1e-14);
        }
    }
}
