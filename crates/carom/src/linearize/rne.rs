//! Derivatives of inverse dynamics ID(q, v, a) = M·a + c over the kinematic tree [Carpentier 2018; Singh 2022].
//!
//! All spatial vectors are in world axes about the tree's centre of mass, taken here as a point fixed in space, on
//! which forces of joints do not depend. Moving dof j carries everything beyond it along with the motion s(j): axes by
//! s(j) × s, forces by s(j) ×* f. What changes beyond that, seen from what is carried along, is the same for
//! all bodies b beyond j. With w, α velocity and acceleration (gravity included) before the joint of j:
//!
//!   dv(b) = ṡ(j),   da(b) = s̈(j) + ṡ(j) × v(b),      ṡ(j) = w × s(j),   s̈(j) = α × s(j) + w × ṡ(j)            (1)
//!
//! so that the force f = I·a + v ×* I·v on the bodies beyond a dof, with composite inertia Iᶜ, its rate İᶜ and the
//! momentum pᶜ (see [`Coriolis`]), changes by
//!
//!   df(j) = Iᶜ·s̈(j) + İᶜ·ṡ(j) + ṡ(j) ×* pᶜ                                                                   (2)
//!
//!   ∂ID(i)/∂q(j) = s(i)·df(j) over the bodies of i                          i beyond j, or of the same ball joint   (3)
//!   ∂ID(i)/∂q(j) = s(i)·(df(j) + s(j) ×* fᶜ(j)) over the bodies of j        i before j                            (4)
//!
//! The translation axes of a free joint stay as the body turns: they count as before its rotations, which (4) covers.
//! The derivatives by velocity are those of [`Coriolis`]. With İᶜ symmetric, (3) contracts two vectors of row i with
//! two of column j:
//!
//!   s(i)·df(j) = s̈(j)·Iᶜ·s(i) + ṡ(j)·(İᶜ·s(i) − s(i) ×* pᶜ)                                                  (5)

use super::Layout;
use crate::data::Data;
use crate::integrate::coriolis::Coriolis;
use crate::math::Spatial;
use crate::model::{JointKind, Model};
use crate::stages::bias::Bias;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Quantities of bodies and dofs that derivatives of inverse dynamics are made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TreeDerivative {
    pub(super) coriolis: Coriolis<f64>,
    /// Σ s·a up to each body: its acceleration without gravity and without the terms of velocity.
    pub(super) gained: Vec<Spatial>,
    /// Force on each body's subtree.
    force: Vec<Spatial>,
    /// s̈ of each dof. (1)
    pub(super) carried: Vec<Spatial>,
    /// Σ s·a before the joint of each dof, crossed with its axis: the rate of ∂(Σ s·a)/∂q.
    pub(super) gained_axis: Vec<Spatial>,
    /// The first of the dofs that turn together with this one, by ball or free joints; itself for others.
    pub(super) turn_start: Vec<usize>,
}

/// How bodies are placed and how they move.
#[derive(Clone, Copy)]
pub(super) struct Motion<'a> {
    pub(super) kinematics: &'a Kinematics,
    pub(super) inertia: &'a Inertia,
    pub(super) velocity: &'a Velocity,
    /// Accelerations and forces of bodies at zero joint acceleration.
    pub(super) bias: &'a Bias,
    pub(super) qvel: &'a [f64],
}

impl<'a> Motion<'a> {
    /// In a state.
    pub(super) fn of(state: &'a State, data: &'a Data) -> Self {
        Self {
            kinematics: &data.kinematics,
            inertia: &data.inertia,
            velocity: &data.velocity,
            bias: &data.bias,
            qvel: &state.qvel,
        }
    }
}

impl TreeDerivative {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        let (nbody, nv) = (model.counts().nbody, model.counts().nv);
        let joints = &model.structure.joints;
        let mut turn_start: Vec<usize> = (0..nv).collect();
        for (_, first) in joints.rotations() {
            turn_start[first..first + 3].fill(first);
        }
        Self {
            coriolis: Coriolis::new(model),
            gained: vec![Spatial::ZERO; nbody],
            force: vec![Spatial::ZERO; nbody],
            carried: vec![Spatial::ZERO; nv],
            gained_axis: vec![Spatial::ZERO; nv],
            turn_start,
        }
    }

    /// Subtracts the derivatives of ID(q, v, a) from the columns of q and v.
    pub(super) fn subtract(
        &mut self,
        model: &Model,
        motion: &Motion<'_>,
        acceleration: &[f64],
        layout: &Layout,
        rows: &mut [f64],
    ) {
        let all = (0, model.counts().nbody);
        let Motion {
            kinematics,
            inertia,
            velocity,
            qvel,
            ..
        } = *motion;
        self.coriolis
            .prepare(model, all, kinematics, velocity, qvel);
        self.descend(model, motion, acceleration, true);
        self.sum_forces(model, motion, true);
        let (structure, axes) = (&model.structure, &kinematics.dof_axis);
        let rates = &velocity.dof_axis_dot;
        let (width, nv) = (layout.width, layout.nv);
        for (dof, &body) in structure.dofs.body.iter().enumerate() {
            let (axis, rate) = (axes[dof], rates[dof]);
            let (composite, momentum) = (&inertia.composite[body], self.coriolis.momentum[body]);
            let inertia_rate = &self.coriolis.rate[body];
            let turning = inertia_rate.mul_motion(axis);
            let turned = axis.cross_force(momentum);
            let together = composite.mul_motion(self.carried[dof])
                + inertia_rate.mul_motion(rate)
                + rate.cross_force(momentum); // (2)
            let apart = together + axis.cross_force(self.force[body]); // (4)
            let speeding = composite.mul_motion(self.coriolis.drift[dof]) + turning + turned;
            let (inertial, turning) = (composite.mul_motion(axis), turning - turned); // (5)
            let (above, own) = rows.split_at_mut(dof * width);
            for &ancestor in structure.inertia.ancestors(dof) {
                let other = axes[ancestor];
                let force = if ancestor >= self.turn_start[dof] {
                    together
                } else {
                    apart
                };
                let row = &mut above[ancestor * width..][..width];
                row[dof] -= other.dot(force);
                row[nv + dof] -= other.dot(speeding);
                own[ancestor] -=
                    self.carried[ancestor].dot(inertial) + rates[ancestor].dot(turning);
                own[nv + ancestor] -=
                    self.coriolis.drift[ancestor].dot(inertial) + other.dot(turning);
            }
            own[dof] -= axis.dot(together);
            own[nv + dof] -= axis.dot(speeding);
        }
    }

    /// Adds ∂(M·x)/∂q to the columns of q: inverse dynamics at rest and without gravity.
    pub(super) fn add_inertia_change(
        &mut self,
        model: &Model,
        motion: &Motion<'_>,
        x: &[f64],
        layout: &Layout,
        rows: &mut [f64],
    ) {
        self.descend(model, motion, x, false);
        self.sum_forces(model, motion, false);
        let (structure, axes) = (&model.structure, &motion.kinematics.dof_axis);
        let width = layout.width;
        for (dof, &body) in structure.dofs.body.iter().enumerate() {
            let axis = axes[dof];
            let composite = &motion.inertia.composite[body];
            let together = composite.mul_motion(self.gained_axis[dof]);
            let apart = together + axis.cross_force(self.force[body]);
            let inertial = composite.mul_motion(axis);
            let (above, own) = rows.split_at_mut(dof * width);
            for &ancestor in structure.inertia.ancestors(dof) {
                let force = if ancestor >= self.turn_start[dof] {
                    together
                } else {
                    apart
                };
                above[ancestor * width + dof] += axes[ancestor].dot(force);
                own[ancestor] += self.gained_axis[ancestor].dot(inertial);
            }
            own[dof] += axis.dot(together);
        }
    }

    /// From the root to the leaves: accelerations and what dofs change of them. (1)
    pub(super) fn descend(
        &mut self,
        model: &Model,
        motion: &Motion<'_>,
        acceleration: &[f64],
        moving: bool,
    ) {
        let (bodies, joints) = (&model.structure.bodies, &model.structure.joints);
        for body in 1..model.counts().nbody {
            let parent = bodies.parent[body];
            let mut before = Before {
                motion: motion.velocity.body[parent],
                bias: motion.bias.body_acceleration[parent],
                gained: self.gained[parent],
            };
            for joint in bodies.joints[body].clone() {
                let dof = joints.dof[joint];
                let groups: [(usize, usize); 2] = match joints.kind[joint] {
                    JointKind::Hinge | JointKind::Slide => [(dof, 1), (dof, 0)],
                    JointKind::Ball => [(dof, 3), (dof, 0)],
                    JointKind::Free => [(dof, 3), (dof + 3, 3)],
                };
                for (first, count) in groups {
                    for dof in first..first + count {
                        let axis = motion.kinematics.dof_axis[dof];
                        self.gained_axis[dof] = before.gained.cross_motion(axis);
                        if moving {
                            let rate = motion.velocity.dof_axis_dot[dof];
                            self.carried[dof] = (before.bias).cross_motion(axis)
                                + self.gained_axis[dof]
                                + before.motion.cross_motion(rate);
                        }
                    }
                    for dof in first..first + count {
                        before.pass(motion, dof, acceleration[dof]);
                    }
                }
            }
            self.gained[body] = before.gained;
        }
    }

    /// Forces on subtrees; those at zero acceleration are results of the bias stage.
    fn sum_forces(&mut self, model: &Model, motion: &Motion<'_>, with_bias: bool) {
        let bodies = &model.structure.bodies;
        let inertias = &motion.kinematics.body_inertia;
        for ((force, inertia), &gained) in self.force.iter_mut().zip(inertias).zip(&self.gained) {
            *force = inertia.mul_motion(gained);
        }
        for body in (1..self.force.len()).rev() {
            let parent = bodies.parent[body];
            let force = self.force[body];
            if parent > 0 {
                self.force[parent] += force;
            }
        }
        if with_bias {
            for (force, &bias) in self.force.iter_mut().zip(&motion.bias.body_force) {
                *force += bias;
            }
        }
    }
}

/// Motion and acceleration before a joint.
struct Before {
    motion: Spatial,
    /// Acceleration at zero joint acceleration, gravity included.
    bias: Spatial,
    gained: Spatial,
}

impl Before {
    /// Adds the share of one dof.
    #[inline]
    fn pass(&mut self, motion: &Motion<'_>, dof: usize, acceleration: f64) {
        let (axis, velocity) = (motion.kinematics.dof_axis[dof], motion.qvel[dof]);
        self.motion = self.motion.scale_add(axis, velocity);
        self.bias = self
            .bias
            .scale_add(motion.velocity.dof_axis_dot[dof], velocity);
        self.gained = self.gained.scale_add(axis, acceleration);
    }
}
