//! What may miss a force, and what a missing force may depend on.

use carom::math::Vec3;
use carom::model::JointKind;
use carom::{Data, Error, Input, Model, State};

use super::passage::axes;
use crate::error;

/// Components of a wrench or velocity, in the order of [`carom::math::Spatial`].
const COMPONENTS: [&str; 3] = ["x", "y", "z"];

/// A quantity that a missing force may act on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// `joint.elbow.force`.
    pub(super) name: String,
    pub(super) place: Place,
}

/// Where a force acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A joint that slides or turns.
    Joint {
        joint: usize,
        dof: usize,
        is_hinge: bool,
    },
    /// A free body: a component of the torque and force at its centre of mass, in its own axes.
    Body {
        body: usize,
        qpos: usize,
        component: usize,
    },
}

impl Target {
    /// Adds the force to an input.
    pub(super) fn push(&self, model: &Model, state: &State, size: f64, input: &mut Input) {
        match self.place {
            Place::Joint { dof, .. } => input.force[dof] = size,
            Place::Body {
                body,
                qpos,
                component,
            } => {
                let _ = model;
                let mut force = [0.0; 3];
                force[component % 3] = size;
                let world = axes(state, qpos).rotate(Vec3(force)).0;
                let first = if component < 3 { 0 } else { 3 };
                input.body_force[body].0[first..first + 3].copy_from_slice(&world);
            }
        }
    }

    /// Takes the force away.
    pub(super) fn release(&self, input: &mut Input) {
        match self.place {
            Place::Joint { dof, .. } => input.force[dof] = 0.0,
            Place::Body { body, .. } => input.body_force[body].0 = [0.0; 6],
        }
    }

    /// What resists: inertia of the joint at the reference, mass or inertia of the body.
    pub(super) fn inertia(&self, model: &Model) -> f64 {
        match self.place {
            Place::Joint { dof, .. } => model.dofs.inertia_reference[dof].max(1e-9),
            Place::Body {
                body, component, ..
            } if component < 3 => model.bodies.inertia[body].0[component].max(1e-9),
            Place::Body { body, .. } => model.bodies.mass[body].max(1e-9),
        }
    }

    /// How large the forces are that act there: gravity and motion, springs and dampers, actuators.
    pub(super) fn size(&self, model: &Model, state: &State, data: &Data) -> f64 {
        match self.place {
            Place::Joint { dof, .. } => {
                let inertial = model.dofs.inertia_reference[dof] * data.solve.qacc[dof];
                data.bias.force[dof]
                    .abs()
                    .max(data.actuation.force[dof].abs())
                    .max(inertial.abs())
            }
            Place::Body {
                body, component, ..
            } => {
                let _ = state;
                let dof = model.structure.bodies.dofs[body].start;
                let weights = [3, 4, 5, 0, 1, 2];
                let dof = dof + weights[component];
                let inertial = self.inertia(model) * data.solve.qacc[dof];
                data.bias.force[dof]
                    .abs()
                    .max(data.actuation.force[dof].abs())
                    .max(inertial.abs())
            }
        }
    }

    /// Its unit.
    pub(super) fn unit(&self) -> &'static str {
        match self.place {
            Place::Joint { is_hinge: true, .. } => "N·m",
            Place::Body { component, .. } if component < 3 => "N·m",
            Place::Joint { .. } | Place::Body { .. } => "N",
        }
    }

    /// The unit of what it moves along.
    pub(super) fn length(&self) -> &'static str {
        match self.unit() {
            "N" => "m",
            _ => "rad",
        }
    }

    /// As a sentence has it: `the torque of joint elbow`.
    pub(super) fn words(&self) -> String {
        let element = self.name.split('.').nth(1).unwrap_or_default();
        match self.place {
            Place::Joint { is_hinge, .. } => {
                let kind = if is_hinge { "torque" } else { "force" };
                format!("the {kind} of joint {element}")
            }
            Place::Body { component, .. } => {
                let kind = if component < 3 { "torque" } else { "force" };
                let axis = COMPONENTS[component % 3];
                format!("the {kind} on body {element} along its {axis} axis")
            }
        }
    }
}

/// A quantity that a missing force may depend on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    /// `joint.elbow.velocity`.
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Coordinate of a joint.
    Position {
        joint: usize,
        qpos: usize,
        is_hinge: bool,
    },
    /// Velocity of a joint.
    Velocity { joint: usize, dof: usize },
    /// Force of all actuators at a joint.
    ActuatorForce { joint: usize, dof: usize },
    /// What gravity and motion take at a joint.
    BiasForce { joint: usize, dof: usize },
    /// Component of the angular (0 to 2) or linear velocity of a free body, in its own axes.
    BodyVelocity {
        body: usize,
        qpos: usize,
        dof: usize,
        component: usize,
    },
    /// Component of the world's z axis in the axes of a free body.
    Up {
        body: usize,
        qpos: usize,
        component: usize,
    },
    /// Time since the recording began.
    Time,
}

impl Variable {
    /// Its value in a state, of which everything is known.
    pub(super) fn value(&self, state: &State, data: &Data) -> f64 {
        match self.kind {
            Kind::Position { qpos, .. } => state.qpos[qpos],
            Kind::Velocity { dof, .. } => state.qvel[dof],
            Kind::ActuatorForce { dof, .. } => data.actuation.force[dof],
            Kind::BiasForce { dof, .. } => data.bias.force[dof],
            Kind::BodyVelocity {
                body,
                qpos,
                dof,
                component,
            } => {
                let turn = Vec3(std::array::from_fn(|k| state.qvel[dof + 3 + k]));
                if component < 3 {
                    return turn.0[component];
                }
                let axes = axes(state, qpos);
                let slide = Vec3(std::array::from_fn(|k| state.qvel[dof + k]));
                let from = data.kinematics.body_position[body].0;
                let to = data.kinematics.inertial_position[body].0;
                let arm = axes.rotate_inverse(Vec3(std::array::from_fn(|k| to[k] - from[k])));
                let (slide, swing) = (axes.rotate_inverse(slide).0, turn.cross(arm).0);
                slide[component - 3] + swing[component - 3]
            }
            Kind::Up {
                qpos, component, ..
            } => axes(state, qpos).rotate_inverse(Vec3([0.0, 0.0, 1.0])).0[component],
            Kind::Time => state.time,
        }
    }

    /// The joint that it is of.
    pub(super) fn joint(&self) -> Option<usize> {
        match self.kind {
            Kind::Position { joint, .. }
            | Kind::Velocity { joint, .. }
            | Kind::ActuatorForce { joint, .. }
            | Kind::BiasForce { joint, .. } => Some(joint),
            _ => None,
        }
    }

    /// Whether it is a velocity.
    pub(super) fn is_velocity(&self) -> bool {
        matches!(self.kind, Kind::Velocity { .. } | Kind::BodyVelocity { .. })
    }

    /// Whether it is a load.
    pub(super) fn is_load(&self) -> bool {
        matches!(
            self.kind,
            Kind::ActuatorForce { .. } | Kind::BiasForce { .. }
        )
    }

    /// Whether it is a position or orientation.
    pub(super) fn is_position(&self) -> bool {
        matches!(self.kind, Kind::Position { .. } | Kind::Up { .. })
    }

    /// Whether it is an angle.
    pub(super) fn is_angle(&self) -> bool {
        matches!(self.kind, Kind::Position { is_hinge: true, .. })
    }

    /// As a sentence about a target has it.
    pub(super) fn words(&self, target: &Target) -> String {
        let own = match target.place {
            Place::Joint { joint, .. } => self.joint() == Some(joint),
            Place::Body { body, .. } => {
                matches!(self.kind, Kind::BodyVelocity { body: of, .. } | Kind::Up { body: of, .. } if of == body)
            }
        };
        let element = self.name.split('.').nth(1).unwrap_or_default();
        let what = match self.kind {
            Kind::Position { .. } => "position".to_owned(),
            Kind::Velocity { .. } => "velocity".to_owned(),
            Kind::ActuatorForce { .. } => "actuator force".to_owned(),
            Kind::BiasForce { .. } => "load by gravity and motion".to_owned(),
            Kind::BodyVelocity { component, .. } => {
                let kind = if component < 3 { "angular" } else { "linear" };
                format!("{kind} velocity along {}", COMPONENTS[component % 3])
            }
            Kind::Up { component, .. } => {
                format!("tilt ({} of the upward direction)", COMPONENTS[component])
            }
            Kind::Time => return "the time".to_owned(),
        };
        if own {
            format!("its own {what}")
        } else {
            format!("the {what} of {element}")
        }
    }

    /// Its symbol in formulas.
    pub(super) fn symbol(&self, target: &Target) -> String {
        let own = match target.place {
            Place::Joint { joint, .. } => self.joint() == Some(joint),
            Place::Body { .. } => false,
        };
        let letter = match self.kind {
            Kind::Position { .. } => "q".to_owned(),
            Kind::Velocity { .. } => "v".to_owned(),
            Kind::ActuatorForce { .. } | Kind::BiasForce { .. } => "L".to_owned(),
            Kind::BodyVelocity { component, .. } => {
                let kind = if component < 3 { "w" } else { "v" };
                return format!("{kind}_{}", COMPONENTS[component % 3]);
            }
            Kind::Up { component, .. } => return format!("up_{}", COMPONENTS[component]),
            Kind::Time => return "t".to_owned(),
        };
        if own {
            letter
        } else {
            format!(
                "{letter}_{}",
                self.name.split('.').nth(1).unwrap_or_default()
            )
        }
    }
}

/// The name of an element, or its number.
fn named(names: &[String], index: usize) -> String {
    match names.get(index).map(String::as_str) {
        None | Some("") => index.to_string(),
        Some(name) => name.to_owned(),
    }
}

/// Everything that forces may be missing at, and everything that they may depend on.
pub(super) fn all(model: &Model) -> (Vec<Target>, Vec<Variable>) {
    let (joints, names) = (&model.structure.joints, &model.structure.names);
    let (mut targets, mut variables) = (Vec::new(), Vec::new());
    for (joint, kind) in joints.kind.iter().enumerate() {
        let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
        match kind {
            JointKind::Hinge | JointKind::Slide => {
                let is_hinge = *kind == JointKind::Hinge;
                let name = named(&names.joints, joint);
                targets.push(Target {
                    name: format!("joint.{name}.force"),
                    place: Place::Joint {
                        joint,
                        dof,
                        is_hinge,
                    },
                });
                let kinds = [
                    ("velocity", Kind::Velocity { joint, dof }),
                    (
                        "position",
                        Kind::Position {
                            joint,
                            qpos,
                            is_hinge,
                        },
                    ),
                    ("actuator_force", Kind::ActuatorForce { joint, dof }),
                    ("bias_force", Kind::BiasForce { joint, dof }),
                ];
                variables.extend(kinds.map(|(what, kind)| Variable {
                    name: format!("joint.{name}.{what}"),
                    kind,
                }));
            }
            JointKind::Free => {
                let body = joints.body[joint];
                let name = named(&names.bodies, body);
                for component in 0..6 {
                    let axis = COMPONENTS[component % 3];
                    let [force, velocity] = if component < 3 {
                        ["torque", "angular_velocity"]
                    } else {
                        ["force", "linear_velocity"]
                    };
                    targets.push(Target {
                        name: format!("body.{name}.{force}.{axis}"),
                        place: Place::Body {
                            body,
                            qpos,
                            component,
                        },
                    });
                    variables.push(Variable {
                        name: format!("body.{name}.{velocity}.{axis}"),
                        kind: Kind::BodyVelocity {
                            body,
                            qpos,
                            dof,
                            component,
                        },
                    });
                }
                variables.extend((0..3).map(|component| Variable {
                    name: format!("body.{name}.up.{}", COMPONENTS[component]),
                    kind: Kind::Up {
                        body,
                        qpos,
                        component,
                    },
                }));
            }
            JointKind::Ball => {}
        }
    }
    variables.push(Variable {
        name: "time".to_owned(),
        kind: Kind::Time,
    });
    (targets, variables)
}

/// Those that patterns choose; all of them without patterns.
///
/// # Errors
/// When a pattern fits none.
pub(super) fn chosen<T: Clone>(
    all: &[T],
    name: impl Fn(&T) -> &str,
    patterns: &[String],
    what: &str,
) -> Result<Vec<T>, Error> {
    if patterns.is_empty() {
        return Ok(all.to_vec());
    }
    for pattern in patterns {
        if !all.iter().any(|one| fits(pattern, name(one))) {
            let known: Vec<&str> = all.iter().map(&name).collect();
            return Err(error::settings(format!("no {what} fits '{pattern}'"))
                .remedy(format!("choose among {}", known.join(", "))));
        }
    }
    let is_chosen = |one: &&T| patterns.iter().any(|pattern| fits(pattern, name(one)));
    Ok(all.iter().filter(is_chosen).cloned().collect())
}

/// Whether a pattern with `*` for any letters fits a name.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(begin) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}
