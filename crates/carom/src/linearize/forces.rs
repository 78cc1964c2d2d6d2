//! Derivatives of the smooth forces: springs, dampers, tendons, actuators, and wrenches that are fixed in the world.
//!
//! Springs and dampers of a joint change along their own dof; what acts along a length ℓ with ∂ℓ/∂q = J changes by
//!
//!   dτ = Jᵀ·(k·J·dq + b·J·dv)                                                             (1)
//!
//! for the lengths of fixed tendons and joints, whose J is constant; where J changes (`bends`), by B on top,
//!
//!   dτ += (f·B + b·Jᵀ·(v·B))·dq                                                            (3)
//!
//! A torque t and a force f at a point p of a body, fixed in the
//! world, exert τ(i) = s(i)·w with w = (t + p × f, f). A dof j moves p, and carries the axes beyond it along:
//!
//!   ∂τ(i)/∂q(j) = s(i)·(dw − s(j) ×* w)  for i beyond j,   s(i)·dw  for i before j,   dw = (dp(j) × f, 0)      (2)

use super::bends::Bends;
use super::{Layout, Rows};
use crate::data::Data;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, SparsePattern};
use crate::stages::actuation::{self, Sensitivity};
use crate::stages::passive;
use crate::state::{Input, State};

/// What the forces leave for the integrator, and room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ForceDerivative {
    /// Of each actuator.
    pub(super) actuators: Vec<Sensitivity>,
    /// Zero for dofs whose limit holds the sum of actuator forces, otherwise one.
    pub(super) open: Vec<f64>,
}

/// Everything that forces are made from.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) input: &'a Input,
    pub(super) data: &'a Data,
    pub(super) layout: &'a Layout,
    /// The first of the dofs that turn together; see `rne`.
    pub(super) turn_start: &'a [usize],
}

impl ForceDerivative {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        let n = model.counts();
        Self {
            actuators: vec![Sensitivity::default(); n.nactuator],
            open: vec![1.0; n.nv],
        }
    }

    /// Adds the derivatives of all smooth forces.
    pub(super) fn add(&mut self, context: &Context<'_>, bends: &Bends, rows: &mut Rows<'_>) {
        let disable = &context.model.settings.disable;
        if !(disable.spring && disable.damper) {
            if !disable.spring {
                context.springs(rows);
            }
            if !disable.damper {
                context.dampers(rows);
            }
            context.tendons(bends, rows);
        }
        self.find_open(context);
        self.gravity_compensation(context, rows);
        if !disable.actuation {
            self.actuators(context, bends, rows);
        }
        // The world, body 0, stays.
        for body in 1..context.input.body_force.len() {
            let wrench = context.input.body_force[body];
            if wrench != Spatial::ZERO {
                let center = context.data.kinematics.inertial_position[body];
                let wrench = (wrench.angular(), wrench.linear());
                context.wrench(body, center, wrench, None, rows);
            }
        }
    }

    /// Which sums of actuator forces are not held by the limits of their joints.
    fn find_open(&mut self, context: &Context<'_>) {
        let (model, data) = (context.model, context.data);
        let (joints, pattern) = (&model.structure.joints, &model.structure.actuators.moment);
        if self.actuators.is_empty() || model.settings.disable.actuation {
            // Actuators that are not there compensate no gravity.
            self.open.fill(0.0);
            return;
        }
        self.open.fill(1.0);
        if !joints.actuator_force_limited.contains(&true) {
            return;
        }
        let sums = &mut self.open;
        sums.fill(0.0);
        for (actuator, &force) in data.actuation.actuator_force.iter().enumerate() {
            for (entry, &dof) in pattern.row(actuator).zip(pattern.columns(actuator)) {
                sums[dof] += data.transmission.moment[entry] * force;
            }
        }
        for (dof, sum) in sums.iter_mut().enumerate() {
            let joint = model.structure.dofs.joint[dof];
            if joints.actuator_gravcomp[joint] {
                *sum += data.passive.gravcomp[dof];
            }
            let [low, high] = model.joints.actuator_force_range[joint];
            let held = joints.actuator_force_limited[joint]
                && joints.dof[joint] == dof
                && (*sum < low || *sum > high);
            *sum = f64::from(u8::from(!held));
        }
    }

    /// Weights that bodies are relieved of.
    fn gravity_compensation(&self, context: &Context<'_>, rows: &mut Rows<'_>) {
        let (model, disable) = (context.model, &context.model.settings.disable);
        let off = disable.gravity || disable.spring && disable.damper;
        if !model.structure.has_gravcomp || off {
            return;
        }
        for body in 1..model.counts().nbody {
            let lifted = model.bodies.mass[body] * model.bodies.gravcomp[body];
            if lifted != 0.0 {
                let center = context.data.kinematics.inertial_position[body];
                let wrench = (Vec3::ZERO, model.option.gravity[0] * -lifted);
                context.wrench(body, center, wrench, Some(&self.open), rows);
            }
        }
    }

    fn actuators(&mut self, context: &Context<'_>, bends: &Bends, rows: &mut Rows<'_>) {
        let Context {
            model,
            state,
            input,
            data,
            layout,
            ..
        } = *context;
        let pattern = &model.structure.actuators.moment;
        for actuator in 0..self.actuators.len() {
            let found = actuation::sensitivity(model, state, input, data, actuator);
            self.actuators[actuator] = found;
            let (columns, force) = (pattern.columns(actuator), &found.force);
            let moment = &data.transmission.moment[pattern.row(actuator)];
            let lengths = bends.length_of(model, &data.transmission.moment, actuator);
            let last = model.structure.actuators.activations[actuator]
                .clone()
                .last();
            for (&dof, &arm) in columns.iter().zip(moment) {
                let arm = arm * self.open[dof];
                let row = rows.row(dof);
                for ((&other, &moment), &length) in columns.iter().zip(moment).zip(lengths) {
                    row[other] += arm * force.length * length; // (1)
                    row[layout.nv + other] += arm * force.velocity * moment;
                }
                if let Some(last) = last {
                    row[layout.activation() + last] += arm * force.activation;
                }
                row[layout.control() + actuator] += arm * force.control;
            }
            if let Some((bend, gear)) = bends.of_actuator(model, actuator) {
                let push = gear * data.actuation.actuator_force[actuator];
                bend.entries(|dof, other, entry| {
                    rows.row(dof)[other] += self.open[dof] * push * entry; // (3)
                });
                bend.along(&state.qvel, |other, rate| {
                    for (&dof, &arm) in columns.iter().zip(moment) {
                        let change = arm * self.open[dof] * force.velocity * gear * rate;
                        rows.row(dof)[other] += change;
                    }
                });
            }
        }
    }
}

impl Context<'_> {
    fn springs(&self, rows: &mut Rows<'_>) {
        let (model, qpos) = (self.model, &self.state.qpos);
        let (joints, rest) = (&model.structure.joints, &model.qpos.spring);
        for (joint, &kind) in joints.kind.iter().enumerate() {
            let stiffness = model.joints.stiffness[joint];
            let higher = model.joints.stiffness_poly[joint];
            if stiffness == 0.0 && higher == [0.0; 2] {
                continue;
            }
            let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
            let turning = |address: usize| {
                let quat = |numbers: &[f64]| Quat(std::array::from_fn(|k| numbers[address + k]));
                let turned = turned_quat(quat(qpos).normalized());
                turned.difference(quat(rest).map(Dual::constant))
            };
            match kind {
                JointKind::Hinge | JointKind::Slide => {
                    let x = qpos[address] - rest[address];
                    rows.row(dof)[dof] -= polynomial_slope(stiffness, higher, x);
                }
                JointKind::Ball => pull(stiffness, higher, turning(address), dof, rows),
                JointKind::Free => {
                    let offset = std::array::from_fn(|k| {
                        Dual::variable(qpos[address + k] - rest[address + k], k)
                    });
                    pull(stiffness, higher, Vec3(offset), dof, rows);
                    pull(stiffness, higher, turning(address + 3), dof + 3, rows);
                }
            }
        }
    }

    fn dampers(&self, rows: &mut Rows<'_>) {
        let dofs = &self.model.dofs;
        for (dof, &speed) in self.state.qvel.iter().enumerate() {
            let slope = polynomial_slope(dofs.damping[dof], dofs.damping_poly[dof], speed.abs());
            rows.row(dof)[self.layout.nv + dof] -= slope;
        }
    }

    fn tendons(&self, bends: &Bends, rows: &mut Rows<'_>) {
        let (model, data) = (self.model, self.data);
        let (numbers, disable) = (&model.tendons, &model.settings.disable);
        for (tendon, &length) in data.tendon.length.iter().enumerate() {
            let jacobian = (
                &model.structure.tendons.jacobian,
                &*data.tendon.jacobian,
                tendon,
            );
            let mut force = 0.0;
            let [low, high] = numbers.spring_length[tendon];
            let beyond = (length - high).max(0.0) + (length - low).min(0.0);
            // A range of a single length has nothing within.
            if !disable.spring && (beyond != 0.0 || low == high) {
                let (linear, higher) = (numbers.stiffness[tendon], numbers.stiffness_poly[tendon]);
                add_along(jacobian, 0, -polynomial_slope(linear, higher, beyond), rows);
                force += passive::tendon_spring(model, tendon, length);
            }
            if !disable.damper {
                let (linear, higher) = (numbers.damping[tendon], numbers.damping_poly[tendon]);
                let slope = polynomial_slope(linear, higher, data.velocity.tendon[tendon].abs());
                add_along(jacobian, self.layout.nv, -slope, rows);
                force += passive::tendon_damper(model, tendon, data.velocity.tendon[tendon]);
                if let Some(bend) = bends.of_tendon(model, tendon) {
                    let (pattern, values, row) = jacobian;
                    let values = &values[pattern.row(row)];
                    bend.along(&self.state.qvel, |other, rate| {
                        for (&dof, &value) in bend.columns.iter().zip(values) {
                            rows.row(dof)[other] -= slope * value * rate; // (3)
                        }
                    });
                }
            }
            if let Some(bend) = bends.of_tendon(model, tendon) {
                bend.entries(|dof, other, entry| rows.row(dof)[other] += force * entry);
            }
        }
    }

    /// A wrench that is fixed in the world, at a point of a body; `open` scales its rows where gravity is compensated
    /// by actuators. (2)
    fn wrench(
        &self,
        body: usize,
        point: Vec3,
        (torque, force): (Vec3, Vec3),
        open: Option<&[f64]>,
        rows: &mut Rows<'_>,
    ) {
        let (model, kinematics) = (self.model, &self.data.kinematics);
        let arm = jacobian::offset(model, kinematics, body, point);
        let wrench = Spatial::new(torque + arm.cross(force), force);
        let dofs = jacobian::moving_dofs(model, body);
        for &dof in dofs {
            let axis = kinematics.dof_axis[dof];
            let moved = jacobian::point_velocity(axis, arm).cross(force);
            let before = Spatial::new(moved, Vec3::ZERO);
            let beyond = before - axis.cross_force(wrench);
            for &other in dofs {
                let change = if other >= self.turn_start[dof] {
                    beyond
                } else {
                    before
                };
                let joint = model.structure.dofs.joint[other];
                let scale = match open {
                    Some(open) if model.structure.joints.actuator_gravcomp[joint] => open[other],
                    _ => 1.0,
                };
                rows.row(other)[dof] += scale * kinematics.dof_axis[other].dot(change);
            }
        }
    }
}

/// Adds factor·JᵀJ to the columns from `start` on. (1)
fn add_along(
    (pattern, values, row): (&SparsePattern, &[f64], usize),
    start: usize,
    factor: f64,
    rows: &mut Rows<'_>,
) {
    if factor == 0.0 {
        return;
    }
    let (columns, values) = (pattern.columns(row), &values[pattern.row(row)]);
    for (&dof, &value) in columns.iter().zip(values) {
        let row = rows.row(dof);
        for (&other, &entry) in columns.iter().zip(values) {
            row[start + other] += factor * value * entry;
        }
    }
}

/// d/dx of x·(k + k₁·x + k₂·x²).
fn polynomial_slope(linear: f64, [first, second]: [f64; 2], x: f64) -> f64 {
    linear + x * (2.0 * first + 3.0 * second * x)
}

/// A unit quaternion that turns about the axes of its own frame.
pub(super) fn turned_quat(quat: Quat) -> Quat<Dual<3>> {
    let half: [Dual<3>; 3] = std::array::from_fn(|k| Dual::variable(0.0, k) * 0.5);
    quat.map(Dual::constant)
        .mul(Quat::from_parts(Dual::constant(1.0), Vec3(half)))
}

/// A spring that pulls three dofs back.
fn pull(
    stiffness: f64,
    higher: [f64; 2],
    displacement: Vec3<Dual<3>>,
    dof: usize,
    rows: &mut Rows<'_>,
) {
    let length = displacement.norm();
    let [first, second] = higher;
    let coefficient = (length * second + first) * length + stiffness;
    for axis in 0..3 {
        let force = -displacement[axis] * coefficient;
        let row = rows.row(dof + axis);
        for (entry, tangent) in row[dof..dof + 3].iter_mut().zip(force.tangent) {
            *entry += tangent;
        }
    }
}
