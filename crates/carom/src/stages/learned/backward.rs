//! The adjoint of the learned terms.
//!
//! The cotangents of τ move the bodies at A (see [`terms::body`](crate::terms::body)). For a wrench w on a frame, A·F = a·w with
//! a = Rᵀ·(A about c), which is (3) of the stage for another motion: so
//!
//!   w̄ = a,   and for m as for a, each with its partner:   R̄ += (motion about c)·m̄ᵀ,   V̄ and c̄ − ō by the change of point   (3̄)
//!   x̄ += ∂fᵀ/∂x·ȳ,   w̄ += ∂fᵀ/∂w·ȳ                                                          (1̄)

use std::mem::take;

use super::forward::{arm, into_frame, sum_wrenches};
use super::{Learned, contact, numbers};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::history::delayed_control_vjp;
use crate::math::{Spatial, Vec3};
use crate::model::{Angle, LearnedFrame, Signal, Target};
use crate::stages::kinematics::Kinematics;
use crate::terms::body;
use carom_form::Bars;

/// The adjoint of [`forward`](super::forward): adds the cotangents of everything that the terms read; those of the generalised
/// force are used up.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let learned = &at.model.structure.learned;
    if learned.is_empty() {
        return;
    }
    let mut own = take(&mut bars.data.learned);
    if learned.has_wrenches {
        wrenches_vjp(at, &mut own, &mut bars.data.kinematics);
    }
    for (&target, bar) in learned.targets.iter().zip(&mut own.output) {
        match target {
            Target::Dof(dof) => *bar += own.force[dof],
            Target::Wrench(frame, component) => *bar += own.wrench[frame][component],
            Target::Actuator { .. } | Target::Contact(_) => {}
        }
    }
    evaluate_vjp(at, false, &mut own, bars);
    bars.data.learned = own;
}

/// The adjoint of [`forward_actuators`](super::forward_actuators).
pub fn backward_actuators(at: At<'_>, bars: &mut Cotangents) {
    let learned = &at.model.structure.learned;
    if learned.is_empty() {
        return;
    }
    let mut own = take(&mut bars.data.learned);
    evaluate_vjp(at, true, &mut own, bars);
    bars.data.learned = own;
}

/// The adjoint of [`forward_contacts`](super::forward_contacts), and of the motions that all terms read.
pub fn backward_contacts(at: At<'_>, bars: &mut Cotangents) {
    let learned = &at.model.structure.learned;
    if learned.is_empty() {
        return;
    }
    let mut own = take(&mut bars.data.learned);
    contact::backward(at, &mut own, bars);
    for (&frame, &motion_bar) in learned.frames.iter().zip(&own.motion) {
        let moving = at.data.velocity.body[frame.body];
        let (kinematics_bar, body) = (&mut bars.data.kinematics, frame.body);
        let moving_bar = into_frame_vjp(at, frame, (moving, motion_bar), kinematics_bar);
        bars.data.velocity.body[body] += moving_bar;
    }
    bars.data.learned = own;
}

/// (3̄) of the wrenches, and the cotangents of the motion axes.
fn wrenches_vjp(at: At<'_>, own: &mut Learned, kinematics_bar: &mut Kinematics) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let (structure, wrenches) = (&model.structure, &at.data.learned.wrench);
    body::motions(structure, kinematics, &own.force, &mut own.body_force);
    for (index, &frame) in structure.learned.frames.iter().enumerate() {
        let motion = own.body_force[frame.body];
        own.wrench[index] += into_frame(model, kinematics, frame, motion);
        // The motion itself follows from the axes, whose cotangents come below.
        into_frame_vjp(at, frame, (motion, wrenches[index]), kinematics_bar);
    }
    sum_wrenches(model, kinematics, wrenches, &mut own.body_force);
    let axes_bar = &mut kinematics_bar.dof_axis;
    body::axes_vjp(structure, &own.force, &mut own.body_force, axes_bar);
}

/// The adjoint of [`into_frame`] for a motion and the cotangent of what the frame has of it: adds to those of the places, returns
/// that of the motion. (3̄)
fn into_frame_vjp(
    at: At<'_>,
    frame: LearnedFrame,
    (motion, seen_bar): (Spatial, Spatial),
    kinematics_bar: &mut Kinematics,
) -> Spatial {
    let (model, kinematics, body) = (at.model, &at.data.kinematics, frame.body);
    let arm = arm(model, kinematics, body);
    let mut world_bar = seen_bar;
    if frame.is_local {
        let shifted = motion.shift_motion(arm);
        world_bar = seen_bar.into_world_axes(&kinematics.body_rotation[body]);
        kinematics_bar.body_rotation[body] +=
            shifted.angular().outer(seen_bar.angular()) + shifted.linear().outer(seen_bar.linear());
    }
    let (mut motion_bar, mut arm_bar) = (Spatial::ZERO, Vec3::ZERO);
    motion.shift_motion_vjp(arm, world_bar, &mut motion_bar, &mut arm_bar);
    kinematics_bar.inertial_position[body] += arm_bar;
    kinematics_bar.subtree_com[model.structure.bodies.root[body]] -= arm_bar;
    motion_bar
}

/// (1̄) at the places before the actuators, or at those after them.
fn evaluate_vjp(at: At<'_>, before_actuators: bool, own: &mut Learned, bars: &mut Cotangents) {
    let (model, learned) = (at.model, &at.model.structure.learned);
    let model_bar = &mut bars.model.learned;
    for place in learned.places(before_actuators) {
        let term = &learned.terms[place.term];
        let mut place_bars = Bars {
            inputs: &mut own.input[place.inputs.clone()],
            weights: &mut model_bar.weight[term.weights.clone()],
            constants: &mut model_bar.constant[term.constants.clone()],
        };
        let x = &at.data.learned.input[place.inputs.clone()];
        let y_bar = &own.output[place.outputs.clone()];
        let numbers = numbers(model, term);
        (term.form).vjp(x, numbers, y_bar, &mut place_bars, &mut own.room);
    }
    for place in learned.places(before_actuators) {
        for input in place.inputs.clone() {
            let bar = own.input[input];
            signal_vjp(at, learned.signals[input], bar, &mut own.motion, bars);
        }
    }
}

/// Adds to the cotangent of what a signal reads.
pub(super) fn signal_vjp(
    at: At<'_>,
    signal: Signal,
    bar: f64,
    motions_bar: &mut [Spatial],
    bars: &mut Cotangents,
) {
    let (state, data) = (&mut bars.state, &mut bars.data);
    match signal {
        Signal::Position {
            coordinate,
            dof,
            of,
        } => {
            let position = at.state.qpos[coordinate];
            state.qpos[dof] += match of {
                Angle::Plain => bar,
                Angle::Sine => bar * position.cos(),
                Angle::Cosine => -bar * position.sin(),
            };
        }
        Signal::Velocity(dof) => state.qvel[dof] += bar,
        Signal::PassiveForce(dof) => data.passive.total[dof] += bar,
        Signal::BiasForce(dof) => data.bias.force[dof] += bar,
        Signal::ActuationForce(dof) => data.actuation.force[dof] += bar,
        Signal::BodyPosition(body, axis) => data.kinematics.body_position[body][axis] += bar,
        Signal::BodyRotation(body, entry) => data.kinematics.body_rotation[body][entry] += bar,
        Signal::Motion(frame, component) => motions_bar[frame][component] += bar,
        Signal::Control(control) => {
            let owner = at.model.structure.actuators.control_owner[control];
            let past = (state, &mut *bars.model);
            bars.input.ctrl[control] += delayed_control_vjp(at.model, at.state, owner, bar, past);
        }
        Signal::Activation(activation) => state.act[activation] += bar,
        Signal::Length(output) => data.transmission.length[output] += bar,
        Signal::Rate(output) => data.velocity.actuator[output] += bar,
        Signal::ActuatorForce(output) => data.actuation.actuator_force[output] += bar,
        // Read where the contact is at hand.
        Signal::Contact(_) => {}
        Signal::Time => state.time += bar,
    }
}
