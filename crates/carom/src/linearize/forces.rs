//! Derivatives of the smooth forces: springs, dampers, tendons and actuators by their [`terms`], and wrenches that are fixed
//! in the world.
//!
//! A torque t and a force f at a point p of a body, fixed in the
//! world, exert τ(i) = s(i)·w with w = (t + p × f, f). A dof j moves p, and carries the axes beyond it along:
//!
//!   ∂τ(i)/∂q(j) = s(i)·(dw − s(j) ×* w)  for i beyond j,   s(i)·dw  for i before j,   dw = (dp(j) × f, 0)      (1)

use super::bends::Bends;
use super::{Layout, Rows};
use crate::data::Data;
use crate::dynamics::At;
use crate::jacobian;
use crate::laws::lift::lift;
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::stages::actuation::{self, Sensitivity};
use crate::state::{Input, State};
use crate::terms::length::Push;
use crate::terms::{self, DofDamper, TendonDamper, TendonSpring, Term};

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
                terms::joint::columns(context.model, &context.state.qpos, rows);
            }
            if !disable.damper {
                let (qvel, layout) = (&context.state.qvel, context.layout);
                terms::dof::columns::<DofDamper, 3>(context.model, qvel, layout, rows);
                let x = [&context.state.qpos[..], qvel];
                terms::joint_law::columns(context.model, x, layout, rows);
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
            let (mass, fraction) = (model.bodies.mass[body], model.bodies.gravcomp[body]);
            let lift = lift(model.option.gravity[0], mass, fraction);
            if lift != Vec3::ZERO {
                let center = context.data.kinematics.inertial_position[body];
                let wrench = (Vec3::ZERO, lift);
                context.wrench(body, center, wrench, Some(&self.open), rows);
            }
        }
    }

    fn actuators(&mut self, context: &Context<'_>, bends: &Bends, rows: &mut Rows<'_>) {
        let Context {
            model,
            state,
            data,
            layout,
            ..
        } = *context;
        for actuator in 0..self.actuators.len() {
            let found = actuation::sensitivity(context.at(), actuator);
            self.actuators[actuator] = found;
            let length = bends.actuator(model, data, actuator, &self.open);
            let push = Push {
                force: data.actuation.actuator_force[actuator],
                by_length: found.force.length,
                by_rate: found.force.velocity,
            };
            length.columns(push, &state.qvel, layout, rows);
            let states = model.structure.actuators.activations[actuator].clone();
            if let Some(last) = states.last() {
                length.column(layout.activation() + last, found.force.activation, rows);
            }
            length.column(layout.control() + actuator, found.force.control, rows);
        }
    }
}

impl<'a> Context<'a> {
    pub(super) fn at(&self) -> At<'a> {
        let Self {
            model,
            state,
            input,
            data,
            ..
        } = *self;
        At {
            model,
            state,
            input,
            data,
        }
    }

    fn tendons(&self, bends: &Bends, rows: &mut Rows<'_>) {
        let (model, data) = (self.model, self.data);
        let disable = &model.settings.disable;
        for (tendon, &length) in data.tendon.length.iter().enumerate() {
            let mut push = Push::default();
            if !disable.spring {
                push.force += TendonSpring::value(model, tendon, [length]);
                [push.by_length] = TendonSpring::by_inputs(model, tendon, [length]);
            }
            if !disable.damper {
                let rate = data.velocity.tendon[tendon];
                push.force += TendonDamper::value(model, tendon, [rate]);
                [push.by_rate] = TendonDamper::by_inputs(model, tendon, [rate]);
            }
            let place = bends.tendon(model, data, tendon);
            place.columns(push, &self.state.qvel, self.layout, rows);
        }
    }

    /// A wrench that is fixed in the world, at a point of a body; `open` scales its rows where gravity is compensated
    /// by actuators. (1)
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
