use super::{Learned, contact, numbers};
use crate::dynamics::At;
use crate::history::delayed_control;
use crate::math::{Spatial, Vec3};
use crate::model::{Angle, LearnedFrame, Model, Signal, Target};
use crate::scalar::Scalar;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::collision::Collision;
use crate::stages::kinematics::Kinematics;
use crate::stages::passive::Passive;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};
use crate::terms::body;

/// What terms read.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what it names")]
pub struct Sources<'a, T: Scalar> {
    pub state: &'a State<T>,
    /// None in inverse dynamics, where controls count as zero.
    pub input: Option<&'a Input<T>>,
    pub kinematics: &'a Kinematics<T>,
    pub transmission: &'a TransmissionData<T>,
    pub velocity: &'a Velocity<T>,
    pub passive: &'a Passive<T>,
    pub bias: &'a Bias<T>,
    /// None before the actuators, and in inverse dynamics.
    pub actuation: Option<&'a Actuation<T>>,
}

impl<'a> Sources<'a, f64> {
    /// What terms on contacts read.
    pub(super) fn before_controls(at: At<'a>) -> Self {
        Self {
            state: at.state,
            input: None,
            kinematics: &at.data.kinematics,
            transmission: &at.data.transmission,
            velocity: &at.data.velocity,
            passive: &at.data.passive,
            bias: &at.data.bias,
            actuation: None,
        }
    }
}

/// Motions of frames, and the contacts.
pub fn forward_contacts<T: Scalar>(
    model: &Model<T>,
    sources: Sources<'_, T>,
    collision: &mut Collision<T>,
    out: &mut Learned<T>,
) {
    let learned = &model.structure.learned;
    for (motion, &frame) in out.motion.iter_mut().zip(&learned.frames) {
        let moving = sources.velocity.body[frame.body];
        *motion = into_frame(model, sources.kinematics, frame, moving); // (3)
    }
    if !learned.contacts.is_empty() {
        contact::forward(model, sources, collision, out);
    }
}

/// The outputs that act on actuators.
pub fn forward_actuators<T: Scalar>(
    model: &Model<T>,
    sources: Sources<'_, T>,
    out: &mut Learned<T>,
) {
    evaluate(model, sources, true, out);
}

/// All other outputs, and the generalised force.
pub fn forward<T: Scalar>(model: &Model<T>, sources: Sources<'_, T>, out: &mut Learned<T>) {
    let learned = &model.structure.learned;
    evaluate(model, sources, false, out);
    out.force.fill(T::ZERO);
    out.wrench.fill(Spatial::ZERO);
    for (&target, &y) in learned.targets.iter().zip(&out.output) {
        if let Target::Wrench(frame, component) = target {
            out.wrench[frame][component] += y;
        }
    }
    if learned.has_wrenches {
        sum_wrenches(model, sources.kinematics, &out.wrench, &mut out.body_force);
        let (structure, forces) = (&model.structure, &mut out.body_force);
        body::project(structure, sources.kinematics, forces, &mut out.force); // (4)
    }
    for (&target, &y) in learned.targets.iter().zip(&out.output) {
        if let Target::Dof(dof) = target {
            out.force[dof] += y; // (2)
        }
    }
}

/// (1) at the places before the actuators, or at those after them.
fn evaluate<T: Scalar>(
    model: &Model<T>,
    sources: Sources<'_, T>,
    before_actuators: bool,
    out: &mut Learned<T>,
) {
    let learned = &model.structure.learned;
    for place in learned.places(before_actuators) {
        let term = &learned.terms[place.term];
        let x = &mut out.input[place.inputs.clone()];
        for (x, &signal) in x.iter_mut().zip(&learned.signals[place.inputs.clone()]) {
            *x = sources.read(model, signal, &out.motion);
        }
        let y = &mut out.output[place.outputs.clone()];
        term.form.value(x, numbers(model, term), y, &mut out.room); // (1)
    }
}

impl<T: Scalar> Sources<'_, T> {
    #[inline]
    pub(super) fn read(&self, model: &Model<T>, signal: Signal, motions: &[Spatial<T>]) -> T {
        match signal {
            Signal::Position { coordinate, of, .. } => {
                let position = self.state.qpos[coordinate];
                match of {
                    Angle::Plain => position,
                    Angle::Sine => position.sin(),
                    Angle::Cosine => position.cos(),
                }
            }
            Signal::Velocity(dof) => self.state.qvel[dof],
            Signal::PassiveForce(dof) => self.passive.total[dof],
            Signal::BiasForce(dof) => self.bias.force[dof],
            Signal::ActuationForce(dof) => self.actuation.map_or(T::ZERO, |found| found.force[dof]),
            Signal::BodyPosition(body, axis) => self.kinematics.body_position[body][axis],
            Signal::BodyRotation(body, entry) => self.kinematics.body_rotation[body][entry],
            Signal::Motion(frame, component) => motions[frame][component],
            Signal::Control(control) => {
                let owner = model.structure.actuators.control_owner[control];
                self.input.map_or(T::ZERO, |input| {
                    delayed_control(model, self.state, owner, input.ctrl[control])
                })
            }
            Signal::Activation(activation) => self.state.act[activation],
            Signal::Length(output) => self.transmission.length[output],
            Signal::Rate(output) => self.velocity.actuator[output],
            Signal::ActuatorForce(output) => {
                (self.actuation).map_or(T::ZERO, |found| found.actuator_force[output])
            }
            // Read where the contact is at hand.
            Signal::Contact(_) => T::ZERO,
            Signal::Time => self.state.time,
        }
    }
}

/// From the centre of mass of the tree to that of the body.
#[inline]
pub(super) fn arm<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, body: usize) -> Vec3<T> {
    let root = model.structure.bodies.root[body];
    kinematics.inertial_position[body] - kinematics.subtree_com[root]
}

/// A motion of the body, about the centre of mass of its tree, as a frame has it. (3)
#[inline]
pub(super) fn into_frame<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    frame: LearnedFrame,
    motion: Spatial<T>,
) -> Spatial<T> {
    let motion = motion.shift_motion(arm(model, kinematics, frame.body));
    if frame.is_local {
        motion.into_local_axes(&kinematics.body_rotation[frame.body])
    } else {
        motion
    }
}

/// Forces on the bodies about the centres of mass of their trees. (3)
pub(super) fn sum_wrenches<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    wrenches: &[Spatial<T>],
    forces: &mut [Spatial<T>],
) {
    forces.fill(Spatial::ZERO);
    for (&frame, &wrench) in model.structure.learned.frames.iter().zip(wrenches) {
        let wrench = if frame.is_local {
            wrench.into_world_axes(&kinematics.body_rotation[frame.body])
        } else {
            wrench
        };
        forces[frame.body] += wrench.shift_force(-arm(model, kinematics, frame.body));
    }
}
