//! Forces of the surrounding medium on what moves through it: two laws, both in the frame of what moves, with ω, v its angular and
//! linear velocity relative to the medium, ρ density and β viscosity.
//!
//! [Inertia box](inertia_box), for bodies: the box with the body's inertia. [Ellipsoid](ellipsoid), for geoms that ask for it; the
//! body's inertia box is then switched off. Each states the force and its derivative B by the motion, as implicit integrators take
//! it; everything else follows from contractions a·f and a·B·b with given motions a and b, over dual numbers.

pub(crate) mod ellipsoid;
pub(crate) mod inertia_box;

use crate::dual::Dual;
use crate::math::{Mat3, Spatial, Vec3};
use crate::model::GeomKind;
use crate::scalar::Scalar;

/// Density (kg/m³) and viscosity (Pa·s) of the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Medium<T> {
    pub(crate) density: T,
    pub(crate) viscosity: T,
}

/// A law with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law<T> {
    InertiaBox {
        mass: T,
        inertia: Vec3<T>,
    },
    Ellipsoid {
        kind: GeomKind,
        coefficients: [T; 12],
        size: Vec3<T>,
    },
}

/// Parameters of a law: mass and inertia, or coefficients and size; then density and viscosity.
pub(crate) const BOX_PARAMETERS: usize = 6;
pub(crate) const ELLIPSOID_PARAMETERS: usize = 17;

/// The derivatives of a contraction by the motion and by the parameters, as far as the law has them.
pub(crate) struct Gradient {
    pub(crate) motion: Spatial,
    pub(crate) parameters: [f64; ELLIPSOID_PARAMETERS],
}

impl<T: Scalar> Law<T> {
    /// The force at a motion relative to the medium.
    #[inline]
    pub(crate) fn force(&self, medium: Medium<T>, motion: Spatial<T>) -> Spatial<T> {
        match *self {
            Self::InertiaBox { mass, inertia } => inertia_box::force(medium, mass, inertia, motion),
            Self::Ellipsoid {
                kind,
                ref coefficients,
                size,
            } => {
                let axes = ellipsoid::semi_axes(kind, size);
                ellipsoid::force(coefficients, medium, axes, motion) * coefficients[0]
            }
        }
    }

    /// B, as implicit integrators take it: without the factor of an ellipsoid.
    #[inline]
    pub(crate) fn derivative(&self, medium: Medium<T>, motion: Spatial<T>) -> ForceDerivative<T> {
        match *self {
            Self::InertiaBox { mass, inertia } => {
                inertia_box::derivative(medium, mass, inertia, motion)
            }
            Self::Ellipsoid {
                kind,
                ref coefficients,
                size,
            } => {
                let axes = ellipsoid::semi_axes(kind, size);
                ellipsoid::derivative(coefficients, medium, axes, motion)
            }
        }
    }

    /// a·f for one motion, a·B·b for two.
    #[inline]
    fn contract(&self, medium: Medium<T>, motion: Spatial<T>, with: &[Spatial]) -> T {
        match *with {
            [a] => Spatial::from_f64(a).dot(self.force(medium, motion)),
            [a, b] => {
                let change = self.derivative(medium, motion).mul(Spatial::from_f64(b));
                Spatial::from_f64(a).dot(change)
            }
            _ => T::ZERO,
        }
    }
}

impl Law<f64> {
    /// The same law over dual numbers that do not change.
    pub(crate) fn constant<const N: usize>(&self) -> Law<Dual<N>> {
        match *self {
            Self::InertiaBox { mass, inertia } => Law::InertiaBox {
                mass: Dual::constant(mass),
                inertia: inertia.map(Dual::constant),
            },
            Self::Ellipsoid {
                kind,
                coefficients,
                size,
            } => Law::Ellipsoid {
                kind,
                coefficients: coefficients.map(Dual::constant),
                size: size.map(Dual::constant),
            },
        }
    }

    /// The value of a contraction and its derivatives.
    pub(crate) fn contract_gradient(
        &self,
        medium: Medium<f64>,
        motion: Spatial,
        with: &[Spatial],
    ) -> (f64, Gradient) {
        match *self {
            Self::InertiaBox { mass, inertia } => {
                // Six variables of the motion, then the parameters.
                let law = Law::InertiaBox {
                    mass: Dual::<12>::variable(mass, 6),
                    inertia: variables(inertia, 7),
                };
                let value = law.contract(medium.variables(10), moving(motion), with);
                (value.value, Gradient::of(&value.tangent))
            }
            Self::Ellipsoid {
                kind,
                coefficients,
                size,
            } => {
                let law = Law::Ellipsoid {
                    kind,
                    coefficients: std::array::from_fn(|k| {
                        Dual::<23>::variable(coefficients[k], 6 + k)
                    }),
                    size: variables(size, 18),
                };
                let value = law.contract(medium.variables(21), moving(motion), with);
                (value.value, Gradient::of(&value.tangent))
            }
        }
    }

    /// The derivatives of a contraction by its motions: f, or B·b and Bᵀ·a.
    pub(crate) fn contract_by_motions<const N: usize>(
        &self,
        medium: Medium<f64>,
        motion: Spatial,
        with: [Spatial; N],
    ) -> [Spatial; N] {
        let mut slopes = [Spatial::ZERO; N];
        match (&mut slopes[..], &with[..]) {
            ([by_a], [_]) => *by_a = self.force(medium, motion),
            ([by_a, by_b], [a, b]) => {
                let derivative = self.derivative(medium, motion);
                *by_a = derivative.mul(*b);
                *by_b = derivative.transpose_mul(*a);
            }
            _ => {}
        }
        slopes
    }

    /// The derivatives of a contraction by density and viscosity where there is no medium. With `symmetric`, two motions are
    /// contracted with the symmetric part of B, which the inertia box has by itself.
    #[inline]
    pub(crate) fn contract_by_absent_medium<const N: usize>(
        &self,
        motion: Spatial,
        mut with: [Spatial; N],
        symmetric: bool,
    ) -> [f64; 2] {
        if let Self::InertiaBox { mass, inertia } = *self {
            return inertia_box::by_absent_medium(mass, inertia, motion, &with);
        }
        let medium = Medium {
            density: 0.0,
            viscosity: 0.0,
        };
        let (law, motion) = (self.constant::<2>(), Spatial::from_f64(motion));
        let mut value = law.contract(medium.variables(0), motion, &with);
        if symmetric {
            with.reverse();
            value = (value + law.contract(medium.variables(0), motion, &with)) * 0.5;
        }
        value.tangent
    }
}

impl Medium<f64> {
    /// Density and viscosity as the variables `first` and `first` + 1.
    fn variables<const N: usize>(self, first: usize) -> Medium<Dual<N>> {
        Medium {
            density: Dual::variable(self.density, first),
            viscosity: Dual::variable(self.viscosity, first + 1),
        }
    }
}

/// A vector as the variables from `first` on.
fn variables<const N: usize>(vector: Vec3, first: usize) -> Vec3<Dual<N>> {
    Vec3(std::array::from_fn(|k| {
        Dual::variable(vector[k], first + k)
    }))
}

/// A motion as the first six variables.
fn moving<const N: usize>(motion: Spatial) -> Spatial<Dual<N>> {
    Spatial(std::array::from_fn(|k| Dual::variable(motion[k], k)))
}

impl Gradient {
    fn of(tangent: &[f64]) -> Self {
        let slope = |index: usize| tangent.get(index).copied().unwrap_or_default();
        Self {
            motion: Spatial(std::array::from_fn(slope)),
            parameters: std::array::from_fn(|k| slope(6 + k)),
        }
    }
}

/// Derivative of a force (n, f) with respect to a motion (ω, v), in four blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ForceDerivative<T> {
    pub(super) torque_by_spin: Mat3<T>,
    pub(super) torque_by_speed: Mat3<T>,
    pub(super) force_by_spin: Mat3<T>,
    pub(super) force_by_speed: Mat3<T>,
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
    pub(crate) fn into_world(self, rotation: &Mat3<T>, arm: Vec3<T>) -> Self {
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

impl ForceDerivative<f64> {
    /// The derivative of a force over six variables, those of a motion.
    pub(crate) fn of_tangents(force: &Spatial<Dual<6>>) -> Self {
        let block = |row: usize, column: usize| {
            Mat3(std::array::from_fn(|entry| {
                force[row + entry / 3].tangent[column + entry % 3]
            }))
        };
        Self {
            torque_by_spin: block(0, 0),
            torque_by_speed: block(0, 3),
            force_by_spin: block(3, 0),
            force_by_speed: block(3, 3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

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
