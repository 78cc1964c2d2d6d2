use super::servo::{self, ServoAt};
use super::{Actuation, ActuatorPlace};
use crate::history::delayed_control;
use crate::laws::so3;
use crate::math::Vec3;
use crate::model::{
    ActuatorDynamics, BiasKind, GainKind, JointKind, Model, Target, TermMode, Transmission,
};
use crate::scalar::Scalar;
use crate::stages::learned::Learned;
use crate::stages::passive::Passive;
use crate::state::{Input, State};
use crate::terms::Term;
use crate::terms::actuator::{Force, Next, Rate};
use std::f64::consts::TAU;

/// Computes actuator forces and activation derivatives.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    place: ActuatorPlace<'_, T>,
    (passive, learned): (&Passive<T>, &Learned<T>),
    out: &mut Actuation<T>,
) {
    out.force.fill(T::ZERO);
    let count = out.saturated.len();
    if count == 0 || model.settings.disable.actuation {
        out.actuator_force.fill(T::ZERO);
        out.unlimited_force.fill(T::ZERO);
        out.mechanical_force.fill(T::ZERO);
        out.activation_dot.fill(T::ZERO);
        out.saturated.fill(false);
        return;
    }
    effective_controls(model, state, input, &mut out.control);
    let (transmission, velocity) = (place.transmission, place.velocity);
    for actuator in 0..count {
        if let Some(servo) = ServoAt::find(model, actuator, place) {
            servo.forward(state, out);
            continue;
        }
        let output = model.structure.actuators.outputs[actuator].start;
        let (length, rate) = (transmission.length[output], velocity.actuator[output]);
        let gained = effective_input(model, actuator, length, state, input.timestep, out);
        out.unlimited_force[output] = if is_disabled(model, actuator) {
            T::ZERO
        } else {
            Force::value(model, actuator, [length, rate, gained])
        };
    }
    learned_forces(model, learned, out);
    out.actuator_force.copy_from_slice(&out.unlimited_force);
    limit_tendon_forces(model, &mut out.actuator_force);
    limit_actuator_forces(model, &mut out.actuator_force);
    servo::add_mechanical(model, out);
    let pattern = &model.structure.actuators.moment;
    for (output, &force) in out.actuator_force.iter().enumerate() {
        for (entry, &dof) in pattern.row(output).zip(pattern.columns(output)) {
            out.force[dof] += transmission.moment[entry] * force;
        }
    }
    compensate_gravity(model, passive, &mut out.force);
    limit_joint_forces(model, &mut out.force);
    mark_saturated(model, out);
}

/// Lets learned terms change the forces of actuators that are switched on.
fn learned_forces<T: Scalar>(model: &Model<T>, learned: &Learned<T>, out: &mut Actuation<T>) {
    let structure = &model.structure.learned;
    if structure.on_actuators == 0 {
        return;
    }
    out.law_force.copy_from_slice(&out.unlimited_force);
    for (&target, &y) in structure.targets.iter().zip(&learned.output) {
        let Some((output, mode)) = acting_output(model, target) else {
            continue;
        };
        let force = &mut out.unlimited_force[output];
        *force = match mode {
            TermMode::Add if !T::HAS_DERIVATIVES && y == T::ZERO => *force,
            TermMode::Add => *force + y,
            TermMode::Multiply => *force * (y + 1.0),
            TermMode::Replace => y,
        };
    }
}

/// Which output of an actuator that is switched on a learned term acts on, and how.
pub(super) fn acting_output<T: Scalar>(
    model: &Model<T>,
    target: Target,
) -> Option<(usize, TermMode)> {
    match target {
        Target::Actuator {
            actuator,
            output,
            mode,
        } if !is_disabled(model, actuator) => Some((output, mode)),
        _ => None,
    }
}

/// Numbers beyond this magnitude, and those that are not numbers, are refused as controls.
pub(super) const GREATEST_CONTROL: f64 = 1e10;

/// Controls, those of the past where they are delayed, within their ranges. A single bad number switches all of them off.
fn effective_controls<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    control: &mut [T],
) {
    let owners = &model.structure.actuators.control_owner;
    let clamp = !model.settings.disable.clampctrl;
    let mut good = true;
    for (place, (control, &given)) in control.iter_mut().zip(&input.ctrl).enumerate() {
        let given = delayed_control(model, state, owners[place], given);
        *control = match model.control_range(place) {
            Some([low, high]) if clamp => given.clamp(low, high),
            _ => given,
        };
        good &= control.value().abs() <= GREATEST_CONTROL;
    }
    if !good {
        control.fill(T::ZERO);
    }
}

/// Whether the actuator's group is switched off; groups beyond 30 cannot be.
pub(crate) fn is_disabled<T: Scalar>(model: &Model<T>, actuator: usize) -> bool {
    let group = model.structure.actuators.group[actuator];
    (0..=30).contains(&group) && model.settings.disabled_actuator_groups >> group & 1 == 1
}

/// The input of an actuator: the control, or the activation whose rate of change is written on the way.
fn effective_input<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    length: T,
    state: &State<T>,
    h: T,
    out: &mut Actuation<T>,
) -> T {
    let structure = &model.structure.actuators;
    let control = out.control[structure.controls[actuator].start];
    let period = rotational_period(model, actuator);
    let activations = structure.activations[actuator].clone();
    let Some(last) = activations.clone().last() else {
        return nearest_turn(control, length, period);
    };
    // Further activations belong to user dynamics.
    out.activation_dot[activations].fill(T::ZERO);
    let activation = state.act[last];
    let target = match structure.dynamics[actuator] {
        ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => {
            nearest_turn(control, activation, period)
        }
        _ => control,
    };
    out.activation_dot[last] = Rate::value(model, actuator, [target, activation]);
    nearest_turn(gained(model, actuator, &state.act, out, h), length, period)
}

/// What the gain multiplies: the control, or the activation, at the end of the step if the actuator acts early.
pub(crate) fn gained<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    act: &[T],
    actuation: &Actuation<T>,
    h: T,
) -> T {
    let structure = &model.structure.actuators;
    let Some(last) = structure.activations[actuator].clone().last() else {
        return actuation.control[structure.controls[actuator].start];
    };
    if structure.activation_early[actuator] {
        let rate = actuation.activation_dot[last];
        Next::value(model, actuator, [act[last], rate, h])
    } else {
        act[last]
    }
}

/// Where the gear holds the axis of an angular servo: one whose length is an angle about a three-dimensional rotation.
pub(super) fn rotational_gear<T: Scalar>(model: &Model<T>, actuator: usize) -> Option<usize> {
    let structure = &model.structure;
    let gear = &model.actuators.gear[actuator];
    let first = match structure.actuators.transmission[actuator] {
        Transmission::Joint(joint) | Transmission::JointInParent(joint)
            if structure.joints.kind[joint] == JointKind::Ball =>
        {
            0
        }
        Transmission::Site {
            reference: Some(_), ..
        } if gear[..3] == [T::ZERO; 3] => 3,
        _ => return None,
    };
    let is_servo = structure.actuators.gain[actuator] == GainKind::Pid
        || structure.actuators.gain[actuator] == GainKind::Fixed
            && structure.actuators.bias[actuator] == BiasKind::Affine
            && model.actuators.gain[actuator][0] == -model.actuators.bias[actuator][1]
            && !matches!(
                structure.actuators.dynamics[actuator],
                ActuatorDynamics::Muscle | ActuatorDynamics::User
            );
    is_servo.then_some(first)
}

/// The length of a full turn of an angular servo: its setpoints are equivalent modulo it.
pub(super) fn rotational_period<T: Scalar>(model: &Model<T>, actuator: usize) -> Option<T> {
    let first = rotational_gear(model, actuator)?;
    let gear = &model.actuators.gear[actuator];
    let axis: Vec3<T> = Vec3(std::array::from_fn(|i| gear[first + i]));
    let period = axis.norm() * TAU;
    (period.value() > 0.0).then_some(period)
}

/// By how many full turns a setpoint is to be moved back to be nearest to `center`.
pub(super) fn turns_away<T: Scalar>(setpoint: T, center: T, period: Option<T>) -> f64 {
    period.map_or(0.0, |period| {
        ((setpoint - center).value() / period.value()).round()
    })
}

/// The equivalent of a setpoint that is nearest to `center`, modulo the period.
pub(super) fn nearest_turn<T: Scalar>(setpoint: T, center: T, period: Option<T>) -> T {
    let Some(period) = period else {
        return setpoint;
    };
    setpoint - period * turns_away(setpoint, center, Some(period))
}

/// The equivalent of an angular setpoint that is nearest to the actuator's length; other setpoints stay.
pub(crate) fn nearest_setpoint<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    setpoint: T,
    length: T,
) -> T {
    nearest_turn(setpoint, length, rotational_period(model, actuator))
}

/// Scales the forces of all actuators of a tendon so that their sum stays within the tendon's range.
fn limit_tendon_forces<T: Scalar>(model: &Model<T>, force: &mut [T]) {
    let structure = &model.structure;
    for tendon in 0..structure.tendons.actuator_force_limited.len() {
        let Some((total, limit)) = exceeded_limit(model, tendon, force) else {
            continue;
        };
        let (scale, actuators) = (limit / total, &structure.actuators);
        for (outputs, transmission) in actuators.outputs.iter().zip(&actuators.transmission) {
            if *transmission == Transmission::Tendon(tendon) {
                force[outputs.start] *= scale;
            }
        }
    }
}

/// The sum of the actuator forces on a tendon and the limit to bring it to; none when it is within its range.
pub(super) fn exceeded_limit<T: Scalar>(
    model: &Model<T>,
    tendon: usize,
    force: &[T],
) -> Option<(T, T)> {
    if !model.structure.tendons.actuator_force_limited[tendon] {
        return None;
    }
    let total = tendon_force(model, tendon, force);
    let [low, high] = model.tendons.actuator_force_range[tendon];
    let limit = total.clamp(low, high);
    (total != T::ZERO && limit != total).then_some((total, limit))
}

/// Sum of the actuator forces on a tendon.
pub(crate) fn tendon_force<T: Scalar>(model: &Model<T>, tendon: usize, force: &[T]) -> T {
    let mut total = T::ZERO;
    let actuators = &model.structure.actuators;
    for (outputs, transmission) in actuators.outputs.iter().zip(&actuators.transmission) {
        if *transmission == Transmission::Tendon(tendon) {
            total += force[outputs.start];
        }
    }
    total
}

fn limit_actuator_forces<T: Scalar>(model: &Model<T>, force: &mut [T]) {
    let actuators = &model.structure.actuators;
    for (actuator, outputs) in actuators.outputs.iter().enumerate() {
        if actuators.force_limited[actuator] {
            let [low, high] = model.actuators.force_range[actuator];
            if let [x, y, z] = &mut force[outputs.clone()] {
                [*x, *y, *z] = so3::limit(Vec3([*x, *y, *z]), high).0;
            } else {
                let force = &mut force[outputs.start];
                *force = force.clamp(low, high);
            }
        }
    }
}

/// Adds the gravity compensation that acts through actuators.
fn compensate_gravity<T: Scalar>(model: &Model<T>, passive: &Passive<T>, force: &mut [T]) {
    let structure = &model.structure;
    // `passive.gravcomp` is zero when gravity is off.
    if !structure.has_gravcomp {
        return;
    }
    for (dof, force) in force.iter_mut().enumerate() {
        if structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
            *force += passive.gravcomp[dof];
        }
    }
}

fn limit_joint_forces<T: Scalar>(model: &Model<T>, force: &mut [T]) {
    let joints = &model.structure.joints;
    for joint in 0..joints.kind.len() {
        if joints.actuator_force_limited[joint] {
            let [low, high] = model.joints.actuator_force_range[joint];
            let force = &mut force[joints.dof[joint]];
            *force = force.clamp(low, high);
        }
    }
}

/// Relative slack with which the sum of scaled tendon forces is compared with its limits.
const TENDON_SLACK: f64 = 1e-10;

/// Marks the actuators whose force stands at a limit of their own, of their tendon or of their joint.
fn mark_saturated<T: Scalar>(model: &Model<T>, out: &mut Actuation<T>) {
    let structure = &model.structure;
    let outside = |force: T, range: [T; 2], slack: f64| {
        let [low, high] = range.map(T::value);
        let force = force.value();
        force <= low + slack * low.abs() || force >= high - slack * high.abs()
    };
    for actuator in 0..out.saturated.len() {
        let own = structure.actuators.force_limited[actuator] && {
            let range = model.actuators.force_range[actuator];
            let outputs = structure.actuators.outputs[actuator].clone();
            match out.unlimited_force[outputs.clone()] {
                // Its own limit holds a part of the force of a motor; see `servo`.
                _ if structure.actuators.gain[actuator] == GainKind::DcMotor => false,
                // The size of a limited torque is the limit but for rounding.
                [x, y, z] => Vec3([x, y, z]).norm().value() >= range[1].value(),
                _ => outside(out.actuator_force[outputs.start], range, 0.0),
            }
        };
        out.saturated[actuator] = own
            || match structure.actuators.transmission[actuator] {
                Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
                    let total = out.force[structure.joints.dof[joint]];
                    structure.joints.actuator_force_limited[joint]
                        && outside(total, model.joints.actuator_force_range[joint], 0.0)
                }
                Transmission::Tendon(tendon) => {
                    structure.tendons.actuator_force_limited[tendon] && {
                        let total = tendon_force(model, tendon, &out.actuator_force);
                        let range = model.tendons.actuator_force_range[tendon];
                        outside(total, range, TENDON_SLACK)
                    }
                }
                _ => false,
            };
    }
}
