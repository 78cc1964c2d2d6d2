//! Numbers of a state by name: `qpos[2]`, `qvel[0]`, `act[1]`, `ctrl[0]`.

use carom::cotangent::{StateBar, quat_bar, turn_bar};
use carom::linearize::Tangent;
use carom::math::{Quat, Vec3};
use carom::model::JointKind;
use carom::{Model, State};
use carom_spec::Diagnostic;

use crate::command_line::Argument;
use crate::failure::{Failure, NAME};

/// A number of a state or of the controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Position(usize),
    Velocity(usize),
    Activation(usize),
    Control(usize),
}

impl Quantity {
    /// Reads a name such as `qpos[2]`, of one of the families.
    pub(super) fn parse(
        argument: Argument<'_>,
        families: &[&str],
        model: &Model,
    ) -> Result<Self, Failure> {
        let argument = argument.trim();
        let example = format!("write one of {}", families.join("[i], ") + "[i]");
        let Some((family, rest)) = argument.split_once('[') else {
            if families.contains(&argument.text()) {
                return Err(argument.unfit("which one?", format!("write {}[0]", argument.text())));
            }
            let names = families.iter().copied();
            return Err(argument.unknown("quantity", names).help(example));
        };
        if !families.contains(&family.text()) {
            return Err(family.unknown("quantity", families.iter().copied()));
        }
        let n = model.counts();
        let (make, count): (fn(usize) -> Self, usize) = match family.text() {
            "qpos" => (Self::Position, n.nq),
            "qvel" => (Self::Velocity, n.nv),
            "act" => (Self::Activation, n.na),
            _ => (Self::Control, n.nu),
        };
        let name = family.text();
        let index = rest.text().strip_suffix(']');
        match index.and_then(|index| index.trim().parse().ok()) {
            Some(index) if index < count => Ok(make(index)),
            _ if count == 0 => {
                Err(argument.refuse(Diagnostic::error(NAME, format!("the model has no {name}"))))
            }
            Some(_) => Err(argument.refuse(
                Diagnostic::error(NAME, format!("there is no '{}'", argument.text()))
                    .label(format!("the model has {name}[0] to {name}[{}]", count - 1)),
            )),
            None => Err(argument.unfit(
                "the index is not a number in brackets",
                format!("write {name}[0] to {name}[{}]", count - 1),
            )),
        }
    }

    /// The number, to read or change.
    pub(super) fn of<'a>(self, state: &'a mut State, controls: &'a mut [f64]) -> &'a mut f64 {
        match self {
            Self::Position(index) => &mut state.qpos[index],
            Self::Velocity(index) => &mut state.qvel[index],
            Self::Activation(index) => &mut state.act[index],
            Self::Control(index) => &mut controls[index],
        }
    }

    /// Adds the derivative of this number of a state to cotangents.
    pub(super) fn seed(self, model: &Model, state: &State, bar: &mut StateBar) {
        match self {
            Self::Position(index) => match coordinate(model, state, index) {
                Coordinate::Plain(dof) => bar.qpos[dof] += 1.0,
                Coordinate::OfQuat {
                    quat,
                    component,
                    dof,
                } => {
                    let mut unit = Quat::default();
                    unit.0[component] = 1.0;
                    let turn = turn_bar(quat, unit);
                    for k in 0..3 {
                        bar.qpos[dof + k] += turn[k];
                    }
                }
            },
            Self::Velocity(index) => bar.qvel[index] += 1.0,
            Self::Activation(index) => bar.act[index] += 1.0,
            Self::Control(_) => {}
        }
    }

    /// A direction in which this number changes at the rate one, at a state.
    pub(super) fn direction(self, model: &Model, state: &State) -> Tangent {
        let mut direction = Tangent::zeros(model);
        match self {
            Self::Position(index) => match coordinate(model, state, index) {
                Coordinate::Plain(dof) => direction.qpos[dof] = 1.0,
                Coordinate::OfQuat {
                    quat,
                    component,
                    dof,
                } => {
                    for k in 0..3 {
                        let mut axis = Vec3::ZERO;
                        axis[k] = 1.0;
                        direction.qpos[dof + k] = quat_bar(quat, axis).0[component];
                    }
                }
            },
            Self::Velocity(index) => direction.qvel[index] = 1.0,
            Self::Activation(index) => direction.act[index] = 1.0,
            Self::Control(index) => direction.ctrl[index] = 1.0,
        }
        direction
    }

    /// The derivative by this number, from cotangents of the start state and of the controls, one row a step: as if they were the same in all.
    pub(super) fn derivative(
        self,
        model: &Model,
        state: &State,
        bar: &StateBar,
        controls: &[f64],
    ) -> f64 {
        match self {
            Self::Position(index) => match coordinate(model, state, index) {
                Coordinate::Plain(dof) => bar.qpos[dof],
                Coordinate::OfQuat {
                    quat,
                    component,
                    dof,
                } => quat_bar(quat, Vec3(std::array::from_fn(|k| bar.qpos[dof + k]))).0[component],
            },
            Self::Velocity(index) => bar.qvel[index],
            Self::Activation(index) => bar.act[index],
            Self::Control(index) => {
                let rows = controls.chunks_exact(model.counts().nu.max(1));
                rows.map(|row| row[index]).sum()
            }
        }
    }
}

/// What a coordinate is part of.
enum Coordinate {
    Plain(usize),
    OfQuat {
        quat: Quat,
        component: usize,
        dof: usize,
    },
}

fn coordinate(model: &Model, state: &State, index: usize) -> Coordinate {
    let joints = &model.structure.joints;
    let joint = joints.qpos.partition_point(|&first| first <= index) - 1;
    let (first, dof) = (joints.qpos[joint], joints.dof[joint]);
    let offset = index - first;
    let straight = match joints.kind[joint] {
        JointKind::Hinge | JointKind::Slide => 1,
        JointKind::Ball => 0,
        JointKind::Free => 3,
    };
    if offset < straight {
        return Coordinate::Plain(dof + offset);
    }
    let start = first + straight;
    let quat = Quat(std::array::from_fn(|k| state.qpos[start + k])).normalized();
    Coordinate::OfQuat {
        quat,
        component: index - start,
        dof: dof + straight,
    }
}
