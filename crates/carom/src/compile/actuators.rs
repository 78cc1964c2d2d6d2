//! Actuators: transmissions resolved to ids, ranges, activation states, the pattern of their moment arms.
//!
//! The parameters arrive in their general form. Two conventions remain until the constants are derived:
//! - a positive entry 2 of the bias, where entry 1 is minus the first gain, is a damping ratio;
//! - a length range without an interval is computed for muscles.
//!
//! Damping and armature of an actuator act on its joint or tendon, seen through the gear: g²·damping, g²·armature.
//! They are added to the target's own numbers when the model is derived, so that no stage has to look at actuators for
//! them.

use carom_spec::model_spec::{
    ActuatorDynamics, ActuatorSpec, BiasKind, GainKind, JointSpec, Transmission as Target,
};

use super::Source;
use super::checks::is_limited;
use super::histories;
use super::lookup::NameTable;
use super::report::{Report, called, code};
use crate::model::{ActuatorRecipe, JointKind, Model, Structure, Transmission, Wrap};

/// Activation states that a model may have in all; more would not fit in memory.
const MOST_STATES: usize = 1 << 24;

/// Fills the structure of actuators.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let joints = flat_joints(source);
    let auto_limits = source.spec.compiler.auto_limits;
    let mut activation_count = 0;
    for actuator in &source.spec.actuators {
        let owner = called("actuator", &actuator.name);
        let transmission = transmission(source, actuator, &owner, report);
        check_target(structure, actuator, transmission, &owner, report);
        check_parameters(actuator, &owner, report);
        let ranges = ranges(source, &joints, actuator, transmission);
        if let Err(problem) = ranges {
            let message = format!("inheritrange of {owner} {problem}");
            report.error(code::ACTUATOR, actuator.span, message);
        }
        let [control, activation] = ranges.unwrap_or_else(|_| own_ranges(actuator));
        let activations = activation_states(actuator, &owner, report);

        let dofs = transmission.map_or_else(Vec::new, |transmission| {
            moment_dofs(structure, transmission)
        });
        structure.has_tendon_armature |=
            matches!(transmission, Some(Transmission::Tendon(_))) && actuator.armature != 0.0;
        let actuators = &mut structure.actuators;
        actuators.moment.push_row(dofs);
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
                "{owner} brings the activation states to {activation_count}, too many to hold"
            );
            report.error(code::ACTUATOR, actuator.span, message);
            activation_count = start;
        }
        actuators.activations.push(start..activation_count);
        actuators.activation_early.push(actuator.activation_early);
        actuators.group.push(actuator.group);
        let place = (actuator.span, owner.as_str());
        let history = histories::shape(&actuator.history, 1, place, report);
        let index = history.map(|shape| {
            structure.histories.push(shape);
            structure.histories.len() - 1
        });
        structure.actuators.history.push(index);
        let actuators = &mut structure.actuators;

        let mut limited = |switch, range, attribute| {
            let place = (actuator.span, owner.as_str(), attribute);
            is_limited(switch, range, auto_limits, report, place)
        };
        let force_limited = limited(actuator.force_limited, actuator.force_range, "force");
        let control_limited = limited(actuator.control_limited, control, "ctrl");
        let activation_limited = limited(actuator.activation_limited, activation, "act");
        if activation_limited && actuator.dynamics == ActuatorDynamics::None {
            let message = format!("{owner} has an actrange but no activation dynamics");
            report.error(code::ACTUATOR, actuator.span, message);
        }
        actuators.force_limited.push(force_limited);
        actuators.control_limited.push(control_limited);
        actuators.activation_limited.push(activation_limited);
    }
    let counts = &mut structure.counts;
    counts.nactuator = source.spec.actuators.len();
    counts.nu = counts.nactuator;
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
    owner: &str,
    report: &mut Report,
) -> Option<Transmission> {
    let lookup = source.lookup;
    let mut resolve =
        |table: &NameTable, reference: &_| table.resolve(reference, || owner.to_owned(), report);
    match &actuator.transmission {
        None => {
            let message = format!("{owner} acts on nothing");
            report.error(code::ACTUATOR, actuator.span, message);
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
                let message = format!("cranklength of {owner} is not positive");
                report.error(code::ACTUATOR, actuator.span, message);
            }
            Some(Transmission::SliderCrank {
                crank: crank?,
                slider: slider?,
            })
        }
    }
}

/// Damping and armature need a joint or tendon to act on, and armature a tendon without wrapping.
fn check_target(
    structure: &Structure,
    actuator: &ActuatorSpec,
    transmission: Option<Transmission>,
    owner: &str,
    report: &mut Report,
) {
    let mut refuse = |message: String| report.error(code::ACTUATOR, actuator.span, message);
    let (has_damping, has_armature) = (actuator.damping != [0.0; 3], actuator.armature != 0.0);
    match transmission {
        None | Some(Transmission::Joint(_) | Transmission::JointInParent(_)) => {}
        Some(Transmission::Tendon(tendon)) => {
            let mut path = structure.tendons.path[structure.tendons.wraps[tendon].clone()].iter();
            if has_armature
                && path.any(|wrap| matches!(wrap, Wrap::Sphere { .. } | Wrap::Cylinder { .. }))
            {
                refuse(format!(
                    "{owner} has armature and acts on a tendon that wraps around a geom"
                ));
            }
        }
        Some(_) => {
            for (given, attribute) in [(has_damping, "damping"), (has_armature, "armature")] {
                if given {
                    refuse(format!(
                        "{attribute} of {owner} needs a joint or a tendon to act on"
                    ));
                }
            }
        }
    }
}

fn check_parameters(actuator: &ActuatorSpec, owner: &str, report: &mut Report) {
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
            let message = format!("muscle {owner}: {problem}");
            report.error(code::ACTUATOR, actuator.span, message);
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
            ActuatorDynamics::None | ActuatorDynamics::FilterExact => &mut control,
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
    let is_servo = actuator.gain == GainKind::Fixed
        && actuator.bias == BiasKind::Affine
        && actuator.gain_parameters[0] == -actuator.bias_parameters[1];
    is_servo && actuator.inherit_range > 0.0
}

/// The number of activation states.
fn activation_states(actuator: &ActuatorSpec, owner: &str, report: &mut Report) -> usize {
    let has_dynamics = actuator.dynamics != ActuatorDynamics::None;
    let Some(count) = actuator.activation_count else {
        return usize::from(has_dynamics);
    };
    let problem = match count {
        0 if has_dynamics => "an actuator with dynamics needs a state",
        1 if !has_dynamics => "an actuator without dynamics has no state",
        2.. if actuator.dynamics != ActuatorDynamics::User => {
            "only user dynamics have several states"
        }
        _ => return count as usize,
    };
    let message = format!("actdim {count} of {owner}: {problem}");
    report.error(code::ACTUATOR, actuator.span, message);
    usize::from(has_dynamics)
}

/// The dofs on which an actuator may act, increasing.
fn moment_dofs(structure: &Structure, transmission: Transmission) -> Vec<usize> {
    let body_of = |site: usize| structure.sites.body[site];
    let relative = |first: usize, second: usize| {
        let bodies = &structure.bodies;
        bodies.relative_dofs(body_of(first), body_of(second))
    };
    match transmission {
        Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
            let start = structure.joints.dof[joint];
            let count = match structure.joints.kind[joint] {
                JointKind::Free => 6,
                JointKind::Ball => 3,
                JointKind::Slide | JointKind::Hinge => 1,
            };
            (start..start + count).collect()
        }
        Transmission::Tendon(tendon) => structure.tendons.jacobian.columns(tendon).to_vec(),
        Transmission::Site {
            site,
            reference: None,
        } => structure.bodies.moving_dofs.columns(body_of(site)).to_vec(),
        Transmission::Site {
            site,
            reference: Some(reference),
        } => relative(site, reference),
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
