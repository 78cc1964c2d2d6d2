//! Actuators: transmissions resolved to ids, ranges, activation states, the pattern of their moment arms.
//!
//! The parameters arrive in their general form. Two conventions remain until the constants are derived:
//! - a positive entry 2 of the bias, where entry 1 is minus the first gain, is a damping ratio;
//! - a length range without an interval is computed for muscles.
//!
//! Motors and servos with set points have as many controls and states as their inputs and parameters say; servos of
//! orientations have three forces, all others one.
//!
//! Damping and armature of an actuator act on its joint or tendon, seen through the gear: g²·damping, g²·armature.
//! They are added to the target's own numbers when the model is derived, so that no stage has to look at actuators for
//! them.

use carom_spec::model_spec::{
    ActuatorDynamics, ActuatorInput, ActuatorSpec, BiasKind, GainKind, JointSpec,
    Transmission as Target,
};

use super::Source;
use super::histories;
use super::lookup::NameTable;
use super::report::{Checked, Report, code};
use crate::model::{ActuatorRecipe, JointKind, Model, Structure, Transmission, Wrap};

/// Activation states that a model may have in all; more would not fit in memory.
const MOST_STATES: usize = 1 << 24;

/// Fills the structure of actuators.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let joints = flat_joints(source);
    let auto_limits = source.spec.compiler.auto_limits;
    let (mut activation_count, mut control_count, mut output_count) = (0, 0, 0);
    for actuator in &source.spec.actuators {
        let checked = &mut report.checked("actuator", &actuator.name, actuator.span);
        let transmission = transmission(source, actuator, checked);
        let transmission = orientation(structure, actuator, transmission, checked);
        check_target(structure, actuator, transmission, checked);
        check_parameters(actuator, checked);
        check_servo(actuator, checked);
        let ranges = ranges(source, &joints, actuator, transmission);
        if let Err(problem) = ranges {
            let message = format!("inheritrange of {checked} {problem}");
            checked.error(code::ACTUATOR, message);
        }
        let [control, activation] = ranges.unwrap_or_else(|_| own_ranges(actuator));
        let activations = activation_states(actuator, checked);

        let rows = transmission.map_or_else(
            || vec![Vec::new()],
            |transmission| moment_rows(structure, transmission),
        );
        structure.has_tendon_armature |=
            matches!(transmission, Some(Transmission::Tendon(_))) && actuator.armature != 0.0;
        let actuators = &mut structure.actuators;
        let outputs = output_count..output_count + rows.len();
        output_count = outputs.end;
        actuators.outputs.push(outputs);
        for dofs in rows {
            actuators.moment.push_row(dofs);
        }
        let controls = control_count..control_count + actuator.control_count();
        control_count = controls.end;
        let id = actuators.controls.len();
        actuators.control_owner.extend(controls.clone().map(|_| id));
        actuators.controls.push(controls);
        actuators.input.push(actuator.effective_input());
        actuators.states.push(actuator.servo_states());
        // An unresolved transmission was reported; any placeholder keeps the lists in step.
        let placeholder = Transmission::Body(0);
        actuators
            .transmission
            .push(transmission.unwrap_or(placeholder));
        actuators.dynamics.push(actuator.dynamics);
        actuators.gain.push(actuator.gain);
        actuators.bias.push(actuator.bias);
        let start = activation_count;
        activation_count += activations;
        if activation_count > MOST_STATES {
            let message = format!(
                "{checked} brings the activation states to {activation_count}, too many to hold"
            );
            checked.error(code::ACTUATOR, message);
            activation_count = start;
        }
        actuators.activations.push(start..activation_count);
        actuators.activation_early.push(actuator.activation_early);
        actuators.group.push(actuator.group);
        let history = histories::shape(&actuator.history, 1, checked);
        if history.is_some() && actuator.control_count() != 1 {
            let message = format!(
                "{checked} has {} controls; 'nsample' and 'delay' are for one, split it up",
                actuator.control_count()
            );
            checked.error(code::ACTUATOR, message);
        }
        let index = history.map(|shape| {
            structure.histories.push(shape);
            structure.histories.len() - 1
        });
        structure.actuators.history.push(index);
        let actuators = &mut structure.actuators;

        let mut limited =
            |attribute, switch, range| checked.is_limited(attribute, switch, range, auto_limits);
        let force_limited = limited("force", actuator.force_limited, actuator.force_range);
        let control_limited = limited("ctrl", actuator.control_limited, control);
        let activation_limited = limited("act", actuator.activation_limited, activation);
        if activation_limited && actuator.dynamics == ActuatorDynamics::None {
            let message = format!("{checked} has an actrange but no activation dynamics");
            checked.error(code::ACTUATOR, message);
        }
        actuators.force_limited.push(force_limited);
        actuators.control_limited.push(control_limited);
        let is_interval = |[low, high]: [f64; 2]| low < high;
        let velocity_limited = is_interval(actuator.velocity_range);
        actuators.velocity_limited.push(velocity_limited);
        let feedforward_limited = is_interval(actuator.feedforward_range);
        actuators.feedforward_limited.push(feedforward_limited);
        actuators.activation_limited.push(activation_limited);
    }
    let counts = &mut structure.counts;
    counts.nactuator = source.spec.actuators.len();
    counts.nu = control_count;
    counts.nout = output_count;
    counts.na = activation_count;
    counts.nmoment = structure.actuators.moment.entries();
}

/// The joints of all bodies in order of their ids.
fn flat_joints(source: Source<'_>) -> Vec<&JointSpec> {
    let bodies = source.spec.bodies.iter();
    bodies.flat_map(|body| &body.joints).collect()
}

fn transmission(
    source: Source<'_>,
    actuator: &ActuatorSpec,
    checked: &mut Checked<'_>,
) -> Option<Transmission> {
    let lookup = source.lookup;
    let mut resolve = |table: &NameTable, reference: &_| checked.resolve(table, reference);
    match &actuator.transmission {
        None => {
            let message = format!("{checked} acts on nothing");
            checked.error(code::ACTUATOR, message);
            None
        }
        Some(Target::Joint(joint)) => resolve(&lookup.joints, joint).map(Transmission::Joint),
        Some(Target::JointInParent(joint)) => {
            resolve(&lookup.joints, joint).map(Transmission::JointInParent)
        }
        Some(Target::Tendon(tendon)) => resolve(&lookup.tendons, tendon).map(Transmission::Tendon),
        Some(Target::Body(body)) => resolve(&lookup.bodies, body).map(Transmission::Body),
        Some(Target::Site {
            site,
            reference_site,
        }) => {
            let reference = match reference_site {
                Some(reference) => Some(resolve(&lookup.sites, reference)?),
                None => None,
            };
            let site = resolve(&lookup.sites, site)?;
            Some(Transmission::Site { site, reference })
        }
        Some(Target::SliderCrank {
            crank_site,
            slider_site,
        }) => {
            let slider = resolve(&lookup.sites, slider_site);
            let crank = resolve(&lookup.sites, crank_site);
            if actuator.crank_length <= 0.0 {
                let message = format!("cranklength of {checked} is not positive");
                checked.error(code::ACTUATOR, message);
            }
            Some(Transmission::SliderCrank {
                crank: crank?,
                slider: slider?,
            })
        }
    }
}

/// A servo of an orientation acts on a ball joint, or on a site with a reference.
fn orientation(
    structure: &Structure,
    actuator: &ActuatorSpec,
    transmission: Option<Transmission>,
    checked: &mut Checked<'_>,
) -> Option<Transmission> {
    if actuator.gain != GainKind::So3 {
        return transmission;
    }
    match transmission? {
        Transmission::Joint(joint) if structure.joints.kind[joint] == JointKind::Ball => {
            Some(Transmission::BallOrientation(joint))
        }
        Transmission::Site {
            site,
            reference: Some(reference),
        } => Some(Transmission::SiteOrientation { site, reference }),
        _ => {
            let message = format!(
                "{checked} turns something: give it a ball joint, or a site with 'refsite'"
            );
            checked.error(code::ACTUATOR, message);
            None
        }
    }
}

/// Which kinds, inputs and parameters of motors and servos go together.
fn check_servo(actuator: &ActuatorSpec, checked: &mut Checked<'_>) {
    let kinds = (actuator.dynamics, actuator.gain, actuator.bias);
    let is_motor = [
        actuator.dynamics == ActuatorDynamics::DcMotor,
        actuator.gain == GainKind::DcMotor,
        actuator.bias == BiasKind::DcMotor,
    ];
    let is_orientation = [
        actuator.gain == GainKind::So3,
        actuator.bias == BiasKind::So3,
    ];
    let (gain, dynamics) = (&actuator.gain_parameters, &actuator.dynamics_parameters);
    let inputs = match actuator.effective_input() {
        ActuatorInput::Servo(inputs) => Some(inputs),
        ActuatorInput::RotationVector | ActuatorInput::Quaternion => None,
    };
    let servo = inputs.unwrap_or_default();
    let count = actuator.effective_input().count();
    let mut problems = Vec::new();
    let mut refuse = |found: bool, problem: &'static str| {
        if found {
            problems.push(problem);
        }
    };
    if is_motor.contains(&true) {
        refuse(
            is_motor.contains(&false),
            "dyntype, gaintype and biastype 'dcmotor' go together; write all three",
        );
        refuse(
            !actuator.activation_early,
            "a motor's current acts at the end of the step; write actearly=\"true\"",
        );
        refuse(
            inputs.is_none() || servo.pressure,
            "input of a motor is 'none', or some of pos, vel, ff and voltage",
        );
        refuse(
            servo.has_controller() && gain[1] <= 0.0,
            "a motor with a controller needs a positive motor constant",
        );
        let has_gains = gain[4..7].iter().any(|&gain| gain != 0.0) || dynamics[7] > 0.0;
        refuse(
            has_gains && !servo.has_controller(),
            "the numbers of 'controller' need an input pos, vel or ff",
        );
        refuse(
            gain[5] > 0.0 && !servo.position,
            "the integral gain needs the input pos",
        );
        refuse(gain[0] <= 0.0, "the resistance is not positive");
    } else if actuator.gain == GainKind::Pid || actuator.dynamics == ActuatorDynamics::Pid {
        let has_states = actuator.dynamics == ActuatorDynamics::Pid;
        refuse(
            !matches!(
                kinds,
                (
                    ActuatorDynamics::None | ActuatorDynamics::Pid,
                    GainKind::Pid,
                    BiasKind::Affine
                )
            ),
            "gaintype 'pid' goes with biastype 'affine' and dyntype 'none' or 'pid'",
        );
        refuse(
            !has_states && gain[0] != 0.0,
            "an integral gain (gainprm) needs dyntype 'pid'",
        );
        refuse(
            has_states && actuator.natural_state_count() == 0,
            "dyntype 'pid' needs an integral gain (gainprm) or a greatest rate (the second of dynprm)",
        );
        refuse(
            has_states && dynamics[..2].iter().any(|&number| number < 0.0),
            "imax and slewmax (dynprm) cannot be negative",
        );
        refuse(
            inputs.is_none() || servo.voltage || servo.pressure || count == 0,
            "inputs are some of pos, vel and ff",
        );
        refuse(
            has_states && !servo.position,
            "integral action and a greatest rate need the input pos",
        );
        refuse(
            matches!(actuator.transmission, Some(Target::Body(_))),
            "a servo cannot act on the contacts of a body",
        );
    } else if is_orientation.contains(&true) {
        refuse(
            is_orientation.contains(&false),
            "gaintype and biastype 'so3' go together; write both",
        );
        let by_state = actuator.dynamics == ActuatorDynamics::Integrator;
        refuse(
            !by_state && actuator.dynamics != ActuatorDynamics::None,
            "gaintype 'so3' goes with dyntype 'none' or 'integrator'",
        );
        refuse(
            by_state && actuator.input == Some(ActuatorInput::Quaternion),
            "an orientation that is integrated is a rotation vector; write input=\"expmap\"",
        );
        refuse(
            !is_orientation.contains(&false) && gain[0] != -actuator.bias_parameters[1],
            "the first number of gainprm must be minus the second of biasprm",
        );
        let limits = actuator
            .force_limited
            .unwrap_or(actuator.force_range != [0.0; 2]);
        refuse(
            limits && actuator.force_range[0] != 0.0,
            "forcerange bounds the size of the torque, so it starts at 0",
        );
    } else if matches!(actuator.gain, GainKind::Fixed | GainKind::Affine) {
        refuse(
            actuator.input.is_some() && inputs.is_some() && count != 1,
            "fixed and affine gains take one input, pos, vel or pressure",
        );
    }
    for problem in problems {
        let message = format!("{checked}: {problem}");
        checked.error(code::ACTUATOR, message);
    }
}

/// Damping and armature need a joint or tendon to act on, and armature a tendon without wrapping.
fn check_target(
    structure: &Structure,
    actuator: &ActuatorSpec,
    transmission: Option<Transmission>,
    checked: &mut Checked<'_>,
) {
    let (has_damping, has_armature) = (actuator.damping != [0.0; 3], actuator.armature != 0.0);
    match transmission {
        None | Some(Transmission::Joint(_) | Transmission::JointInParent(_)) => {}
        Some(Transmission::Tendon(tendon)) => {
            let mut path = structure.tendons.path[structure.tendons.wraps[tendon].clone()].iter();
            if has_armature
                && path.any(|wrap| matches!(wrap, Wrap::Sphere { .. } | Wrap::Cylinder { .. }))
            {
                let message =
                    format!("{checked} has armature and acts on a tendon that wraps around a geom");
                checked.error(code::ACTUATOR, message);
            }
        }
        Some(_) => {
            for (given, attribute) in [(has_damping, "damping"), (has_armature, "armature")] {
                if given {
                    let message =
                        format!("{attribute} of {checked} needs a joint or a tendon to act on");
                    checked.error(code::ACTUATOR, message);
                }
            }
        }
    }
}

fn check_parameters(actuator: &ActuatorSpec, checked: &mut Checked<'_>) {
    let muscles = [
        (actuator.gain == GainKind::Muscle).then_some(&actuator.gain_parameters),
        (actuator.bias == BiasKind::Muscle).then_some(&actuator.bias_parameters),
    ];
    for &[low, high, _, scale, lmin, lmax, vmax, fpmax, fvmax, _] in muscles.into_iter().flatten() {
        let problems = [
            (low >= high, "range is not an interval"),
            (lmin >= 1.0 || lmax <= 1.0, "lmin < 1 < lmax does not hold"),
            (
                [scale, vmax, fpmax, fvmax]
                    .iter()
                    .any(|&number| number <= 0.0),
                "scale, vmax, fpmax and fvmax are not all positive",
            ),
        ];
        for (_, problem) in problems.iter().filter(|(found, _)| *found) {
            let message = format!("muscle {checked}: {problem}");
            checked.error(code::ACTUATOR, message);
        }
        if problems.iter().any(|(found, _)| *found) {
            break;
        }
    }
}

fn own_ranges(actuator: &ActuatorSpec) -> [[f64; 2]; 2] {
    [actuator.control_range, actuator.activation_range]
}

/// Ranges of control and activation. A servo may inherit one of them from its target: that of the position it is
/// told, which is the control or, for an integrated velocity, the activation.
fn ranges(
    source: Source<'_>,
    joints: &[&JointSpec],
    actuator: &ActuatorSpec,
    transmission: Option<Transmission>,
) -> Result<[[f64; 2]; 2], &'static str> {
    let [mut control, mut activation] = own_ranges(actuator);
    if inherits_range(actuator) {
        let inherited = match actuator.dynamics {
            ActuatorDynamics::None | ActuatorDynamics::FilterExact | ActuatorDynamics::Pid => {
                &mut control
            }
            ActuatorDynamics::Integrator => &mut activation,
            _ => return Err("is only available for position and intvelocity actuators"),
        };
        let [low, high] = match transmission {
            Some(Transmission::Joint(joint)) => match joints[joint].kind {
                JointKind::Slide | JointKind::Hinge => joints[joint].range,
                _ => return Err("needs a slide or hinge joint"),
            },
            Some(Transmission::Tendon(tendon)) => source.spec.tendons[tendon].range,
            Some(_) => return Err("needs a joint or tendon transmission"),
            None => return Ok([control, activation]),
        };
        if low == high {
            return Err("finds no range at its joint or tendon");
        }
        let middle = 0.5 * (high + low);
        let radius = 0.5 * (high - low) * actuator.inherit_range;
        *inherited = [middle - radius, middle + radius];
    }
    Ok([control, activation])
}

/// Whether a servo takes its range from its target.
fn inherits_range(actuator: &ActuatorSpec) -> bool {
    let is_servo = actuator.gain == GainKind::Pid
        || actuator.gain == GainKind::Fixed
            && actuator.gain_parameters[0] == -actuator.bias_parameters[1];
    is_servo && actuator.bias == BiasKind::Affine && actuator.inherit_range > 0.0
}

/// The number of activation states.
fn activation_states(actuator: &ActuatorSpec, checked: &mut Checked<'_>) -> usize {
    let has_dynamics = actuator.dynamics != ActuatorDynamics::None;
    let natural = actuator.natural_state_count();
    let Some(count) = actuator.activation_count else {
        return natural;
    };
    let is_servo = matches!(
        actuator.gain,
        GainKind::DcMotor | GainKind::Pid | GainKind::So3
    );
    let problem = match count {
        0 if is_servo => return natural,
        _ if is_servo && count as usize == natural => return natural,
        _ if is_servo => "the parameters need another number of states; leave it out",
        0 if has_dynamics => "an actuator with dynamics needs a state",
        1 if !has_dynamics => "an actuator without dynamics has no state",
        2.. if actuator.dynamics != ActuatorDynamics::User => {
            "only user dynamics have several states"
        }
        _ => return count as usize,
    };
    let message = format!("actdim {count} of {checked}: {problem}");
    checked.error(code::ACTUATOR, message);
    natural
}

/// The dofs on which each force of an actuator may act, increasing.
fn moment_rows(structure: &Structure, transmission: Transmission) -> Vec<Vec<usize>> {
    match transmission {
        Transmission::BallOrientation(joint) => {
            let start = structure.joints.dof[joint];
            (start..start + 3).map(|dof| vec![dof]).collect()
        }
        Transmission::SiteOrientation { .. } => vec![moment_dofs(structure, transmission); 3],
        _ => vec![moment_dofs(structure, transmission)],
    }
}

/// The dofs on which an actuator may act, increasing.
fn moment_dofs(structure: &Structure, transmission: Transmission) -> Vec<usize> {
    let body_of = |site: usize| structure.sites.body[site];
    let relative = |first: usize, second: usize| {
        let bodies = &structure.bodies;
        bodies.relative_dofs(body_of(first), body_of(second))
    };
    match transmission {
        Transmission::Joint(joint)
        | Transmission::JointInParent(joint)
        | Transmission::BallOrientation(joint) => structure.joints.dofs(joint).collect(),
        Transmission::Tendon(tendon) => structure.tendons.jacobian.columns(tendon).to_vec(),
        Transmission::Site {
            site,
            reference: None,
        } => structure.bodies.moving_dofs.columns(body_of(site)).to_vec(),
        Transmission::Site {
            site,
            reference: Some(reference),
        }
        | Transmission::SiteOrientation { site, reference } => relative(site, reference),
        Transmission::SliderCrank { crank, slider } => relative(crank, slider),
        // Adhesion pulls on whatever the body touches.
        Transmission::Body(_) => (0..structure.counts.nv).collect(),
    }
}

/// Fills the given numbers of actuators, and says what they inherit.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) -> Vec<ActuatorRecipe> {
    for (id, actuator) in source.spec.actuators.iter().enumerate() {
        let [control, activation] = own_ranges(actuator);
        let [damping, damping_poly @ ..] = actuator.damping;
        let numbers = &mut model.actuators;
        numbers.gear[id] = actuator.gear;
        numbers.crank_length[id] = actuator.crank_length;
        numbers.dynamics[id] = actuator.dynamics_parameters;
        numbers.gain[id] = actuator.gain_parameters;
        numbers.bias[id] = actuator.bias_parameters;
        numbers.control_range[id] = control;
        numbers.velocity_range[id] = actuator.velocity_range;
        numbers.feedforward_range[id] = actuator.feedforward_range;
        numbers.force_range[id] = actuator.force_range;
        numbers.activation_range[id] = activation;
        numbers.damping[id] = damping;
        numbers.damping_poly[id] = damping_poly;
        numbers.armature[id] = actuator.armature;
        numbers.length_range[id] = actuator.length_range;
        numbers.delay[id] = actuator.history.delay;
    }
    let recipes = source.spec.actuators.iter().map(|actuator| ActuatorRecipe {
        inherits: inherits_range(actuator).then_some(actuator.inherit_range),
        inherits_activation: actuator.dynamics == ActuatorDynamics::Integrator,
        ..ActuatorRecipe::default()
    });
    recipes.collect()
}
