//! Derivative of the bias force with respect to the velocity.
//!
//! With I the body inertias, v the velocities, s the motion axes, all about the centre of mass o of the tree, the force
//! on a body is f = I·a + v ×* I·v. Moving dof k at unit speed changes v by s(k) and a by
//! ṡ(k) + s(k) × (v − w(k)), where w(k) is the velocity right after k's joint. Since v ×* I − I·v× is the rate İ of the
//! inertia about a fixed point, f changes by
//!
//!   I·e(k) + İ·s(k) + s(k) ×* I·v,     e(k) = ṡ(k) + w(k) × s(k) = 2·ṡ(k) + u(k) × s(k)           (1)
//!
//! with u(k) the motion of k's joint. Summed over the subtree of the deeper dof of a pair, with composite inertia Iᶜ,
//! rate İᶜ and momentum pᶜ,
//!
//!   ∂c(i)/∂v(k) = s(i)·(Iᶜ·e(k) + İᶜ·s(k) + s(k) ×* pᶜ)              k below i, or k = i              (2)
//!   ∂c(i)/∂v(k) = e(k)·Iᶜ·s(i) + s(k)·(İᶜ·s(i) − s(i) ×* pᶜ)         k above i                       (3)
//!
//! A rate İ is stored like an inertia: for a motion (ω, u), first moment μ and rotational inertia J,
//!
//!   ṁ = 0,   μ̇ = m·u + ω × μ,   J̇ = [ω]·J − J·[ω] + 2·(μ·u)·1 − μ·uᵀ − u·μᵀ                        (4)

use crate::math::{Spatial, SpatialInertia};
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Quantities of subtrees and dofs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coriolis<T: Scalar> {
    /// Rate of the composite inertia of each body.
    pub(crate) rate: Vec<SpatialInertia<T>>,
    /// Momentum of each body's subtree.
    pub(crate) momentum: Vec<Spatial<T>>,
    /// e of each dof.
    pub(crate) drift: Vec<Spatial<T>>,
}

/// The change of force that a dof's motion makes in its own subtree, seen from its ancestors and from itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<T> {
    /// The force: contract with the axis of an ancestor i for entry (i, k) of (2).
    pub(super) force: Spatial<T>,
    /// Iᶜ·s: contract with the drift of an ancestor for entry (k, ancestor) of (3).
    inertia: Spatial<T>,
    /// İᶜ·s − s ×* pᶜ: contract with the axis of an ancestor, likewise.
    rate: Spatial<T>,
}

impl<T: Scalar> Coriolis<T> {
    /// Room for a model.
    pub(crate) fn new(model: &Model<T>) -> Self {
        let (nbody, nv) = (model.counts().nbody, model.counts().nv);
        Self {
            rate: vec![SpatialInertia::ZERO; nbody],
            momentum: vec![Spatial::ZERO; nbody],
            drift: vec![Spatial::ZERO; nv],
        }
    }

    /// Sums over the bodies from `first` to before `end`, which must be a whole subtree or forest.
    pub(crate) fn prepare(
        &mut self,
        model: &Model<T>,
        (first, end): (usize, usize),
        kinematics: &Kinematics<T>,
        velocity: &Velocity<T>,
        qvel: &[T],
    ) {
        for body in first..end {
            let (inertia, motion) = (&kinematics.body_inertia[body], velocity.body[body]);
            self.rate[body] = inertia_rate(inertia, motion);
            self.momentum[body] = inertia.mul_motion(motion);
            for joint in model.structure.bodies.joints[body].clone() {
                self.joint_drift(model, joint, kinematics, velocity, qvel);
            }
        }
        for body in (first..end).rev() {
            let parent = model.structure.bodies.parent[body];
            if parent >= first && parent > 0 {
                let (rate, momentum) = (self.rate[body], self.momentum[body]);
                self.rate[parent] += rate;
                self.momentum[parent] += momentum;
            }
        }
    }

    /// e of the dofs of one joint. (1)
    fn joint_drift(
        &mut self,
        model: &Model<T>,
        joint: usize,
        kinematics: &Kinematics<T>,
        velocity: &Velocity<T>,
        qvel: &[T],
    ) {
        let dof = model.structure.joints.dof[joint];
        let first = match model.structure.joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => {
                self.drift[dof] = velocity.dof_axis_dot[dof] * 2.0;
                return;
            }
            JointKind::Ball => dof,
            JointKind::Free => {
                self.drift[dof..dof + 3].fill(Spatial::ZERO);
                dof + 3
            }
        };
        let mut motion = Spatial::ZERO;
        for dof in first..first + 3 {
            motion = motion.scale_add(kinematics.dof_axis[dof], qvel[dof]);
        }
        for dof in first..first + 3 {
            let axis = kinematics.dof_axis[dof];
            self.drift[dof] = velocity.dof_axis_dot[dof] * 2.0 + motion.cross_motion(axis);
        }
    }

    /// What pairs of a dof with its ancestors need.
    pub(super) fn pair(
        &self,
        body: usize,
        dof: usize,
        axis: Spatial<T>,
        inertia: &Inertia<T>,
    ) -> Pair<T> {
        let composite = &inertia.composite[body];
        let rate = self.rate[body].mul_motion(axis);
        let turned = axis.cross_force(self.momentum[body]);
        Pair {
            force: composite.mul_motion(self.drift[dof]) + rate + turned,
            inertia: composite.mul_motion(axis),
            rate: rate - turned,
        }
    }

    /// ∂c(i)/∂v(k) for the dof i of `pair` and an ancestor k with its axis. (3)
    #[inline]
    pub(super) fn below(&self, pair: &Pair<T>, ancestor: usize, axis: Spatial<T>) -> T {
        self.drift[ancestor].dot(pair.inertia) + axis.dot(pair.rate)
    }
}

/// Rate of an inertia about a fixed point under a motion. (4)
fn inertia_rate<T: Scalar>(inertia: &SpatialInertia<T>, motion: Spatial<T>) -> SpatialInertia<T> {
    let [xx, yy, zz, xy, xz, yz, ..] = inertia.0;
    let (spin, speed) = (motion.angular(), motion.linear());
    let [a, b, c] = spin.0;
    let [u, v, w] = speed.0;
    let moment = inertia.first_moment();
    let [x, y, z] = moment.0;
    let moment_rate = speed * inertia.mass() + spin.cross(moment);
    SpatialInertia([
        (b * xz - c * xy + y * v + z * w) * 2.0,
        (c * xy - a * yz + x * u + z * w) * 2.0,
        (a * yz - b * xz + x * u + y * v) * 2.0,
        c * (xx - yy) + b * yz - a * xz - (x * v + y * u),
        b * (zz - xx) + a * xy - c * yz - (x * w + z * u),
        a * (yy - zz) + c * xz - b * xy - (y * w + z * v),
        moment_rate[0],
        moment_rate[1],
        moment_rate[2],
        T::ZERO,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::dual::Dual;
    use crate::dynamics::{forward_position, forward_velocity};
    use crate::state::State;
    use crate::testing::{Random, random_model, random_state};

    #[test]
    fn the_rate_of_an_inertia_is_that_of_its_momentum_map() {
        let mut random = Random::new(3);
        let inertia = SpatialInertia(random.numbers());
        let (motion, probe) = (Spatial(random.numbers()), Spatial(random.numbers()));
        let expected = motion.cross_force(inertia.mul_motion(probe))
            - inertia.mul_motion(motion.cross_motion(probe));
        let actual = inertia_rate(&inertia, motion).mul_motion(probe);
        for (a, e) in actual.0.iter().zip(expected.0) {
            assert!((a - e).abs() < 1e-14);
        }
    }

    #[test]
    fn entries_are_derivatives_of_the_bias_force() {
        for seed in 0..20 {
            let model = random_model(seed, 8);
            let state = random_state(seed, &model);
            let n = model.counts();
            let mut data = Data::new(&model);
            forward_position(&model, &state, &mut data);
            forward_velocity(&model, &state, &mut data);
            let mut coriolis = Coriolis::new(&model);
            let all = (0, n.nbody);
            coriolis.prepare(&model, all, &data.kinematics, &data.velocity, &state.qvel);

            let dual_model = model.map(Dual::<1>::constant);
            for k in 0..n.nv {
                let mut moved = State::reference(&dual_model);
                moved.qpos = state.qpos.iter().map(|&q| Dual::constant(q)).collect();
                moved.qvel = state.qvel.iter().map(|&v| Dual::constant(v)).collect();
                moved.qvel[k] = Dual::variable(state.qvel[k], 0);
                let mut dual = Data::new(&dual_model);
                forward_position(&dual_model, &moved, &mut dual);
                forward_velocity(&dual_model, &moved, &mut dual);
                for i in 0..n.nv {
                    let (deeper, higher) = (i.max(k), i.min(k));
                    if !model
                        .structure
                        .inertia
                        .row_columns(deeper)
                        .contains(&higher)
                    {
                        continue;
                    }
                    let axes = &data.kinematics.dof_axis;
                    let body = model.structure.dofs.body[deeper];
                    let pair = coriolis.pair(body, deeper, axes[deeper], &data.inertia);
                    let actual = if i <= k {
                        axes[i].dot(pair.force)
                    } else {
                        coriolis.below(&pair, k, axes[k])
                    };
                    let expected = dual.bias.force[i].tangent[0];
                    let error = (actual - expected).abs();
                    assert!(error < 1e-12, "seed {seed} ({i}, {k}): {actual} {expected}");
                }
            }
        }
    }
}
