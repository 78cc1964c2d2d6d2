//! Random directions in one quantity of what a step is given.

use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::history::History;
use crate::math::{Quat, Vec3};
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// What a step is given.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) input: &'a Input,
}

/// Numbers in [−1, 1) (splitmix64).
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Some speed and control everywhere, within the controls' ranges.
    pub(super) fn disturb(&mut self, model: &Model, state: &mut State, input: &mut Input) {
        state.qvel.fill_with(|| 0.3 * self.next());
        state.act.fill_with(|| 0.5 + 0.3 * self.next());
        self.control(model, input);
    }

    /// Controls within their ranges.
    pub(super) fn control(&mut self, model: &Model, input: &mut Input) {
        let ranges = &model.actuators.control_range;
        let limited = &model.structure.actuators.control_limited;
        for (actuator, control) in input.ctrl.iter_mut().enumerate() {
            let [low, high] = if limited[actuator] {
                ranges[actuator]
            } else {
                [-0.5, 0.5]
            };
            *control = 0.5 * (low + high) + 0.3 * (high - low) * self.next();
        }
    }
}

/// Part of the given that is looked at as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    /// `state`, `input`, or a family of the model.
    family: &'static str,
    field: &'static str,
    pub(super) numbers: usize,
}

/// Everything that has derivatives.
pub(super) fn quantities(model: &Model) -> Vec<Quantity> {
    let n = model.counts();
    let mut list: Vec<Quantity> = Vec::new();
    let given = [
        ("state", "qpos", n.nv),
        ("state", "qvel", n.nv),
        ("state", "act", n.na),
        ("state", "history", past_values(model)),
        ("input", "ctrl", n.nu),
        ("input", "force", n.nv),
    ];
    for (family, field, numbers) in given {
        if numbers > 0 {
            list.push(Quantity {
                family,
                field,
                numbers,
            });
        }
    }
    model.for_each(|family, field, _, _, _| {
        if is_setting(family, field) {
            return;
        }
        match list.last_mut() {
            Some(last) if last.family == family && last.field == field => last.numbers += 1,
            _ => list.push(Quantity {
                family,
                field,
                numbers: 1,
            }),
        }
    });
    list
}

/// Values that all histories hold.
fn past_values(model: &Model) -> usize {
    let shapes = model.structure.histories.iter();
    shapes.map(|shape| shape.samples * shape.dimension).sum()
}

/// Numbers that say how to compute rather than what, or that no step reads.
fn is_setting(family: &str, field: &str) -> bool {
    family == "keyframes" || ["option", "laws"].contains(&family) && field.ends_with("tolerance")
}

/// A direction in one quantity, zero elsewhere.
pub(super) struct Direction {
    model: Option<Model>,
    state: [Vec<f64>; 4],
    input: [Vec<f64>; 2],
}

impl Quantity {
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.family, self.field)
    }

    /// Why the quantity can move to one side only.
    pub(super) fn one_sided(&self, model: &Model) -> Option<String> {
        let option = &model.option;
        let absent = match (self.family, self.field) {
            ("option", "density") => option.density[0] == 0.0,
            ("option", "viscosity") => option.viscosity[0] == 0.0,
            _ => false,
        };
        absent.then(|| format!("there is no {} below zero", self.field))
    }

    /// A random direction, as large as the numbers are.
    pub(super) fn direction(&self, given: Given<'_>, noise: &mut Noise) -> Direction {
        let n = given.model.counts();
        let mut fill = |family: &str, field: &str, count: usize| -> Vec<f64> {
            if self.family == family && self.field == field {
                (0..count).map(|_| noise.next()).collect()
            } else {
                vec![0.0; count]
            }
        };
        let state = [
            fill("state", "qpos", n.nv),
            fill("state", "qvel", n.nv),
            fill("state", "act", n.na),
            fill("state", "history", past_values(given.model)),
        ];
        let input = [fill("input", "ctrl", n.nu), fill("input", "force", n.nv)];
        let is_model = !matches!(self.family, "state" | "input");
        let model = is_model.then(|| self.model_direction(given.model, noise));
        Direction {
            model,
            state,
            input,
        }
    }

    fn model_direction(&self, model: &Model, noise: &mut Noise) -> Model {
        let is_own = |family: &str, field: &str| self.family == family && self.field == field;
        let mut largest = 0.0_f64;
        model.for_each(|family, field, _, _, number| {
            if is_own(family, field) && number.is_finite() {
                largest = largest.max(number.abs());
            }
        });
        let typical = if largest > 0.0 { largest } else { 1.0 };
        let mut values = Vec::new();
        model.for_each(|_, _, _, _, number| values.push(number));
        let mut values = values.into_iter();
        let mut direction = Model::zeros(model.structure.clone(), model.settings);
        direction.for_each_mut(|family, field, _, _, number| {
            let value = values.next().unwrap_or(0.0).abs();
            if is_own(family, field) {
                // Numbers of one field may differ by powers of ten: each moves in proportion, zeros as the largest.
                let scale = if value > 0.0 && value.is_finite() {
                    value
                } else {
                    typical
                };
                *number = scale * noise.next();
            }
        });
        make_tangential(model, &mut direction);
        direction
    }
}

impl Direction {
    /// The slope along this direction by a gradient.
    pub(super) fn dot(&self, gradient: &Cotangents) -> f64 {
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (state, input) = (&gradient.state, &gradient.input);
        let past: Vec<f64> = (state.history.iter())
            .flat_map(|history| history.values.iter().copied())
            .collect();
        let mut sum = dot(&self.state[0], &state.qpos)
            + dot(&self.state[1], &state.qvel)
            + dot(&self.state[2], &state.act)
            + dot(&self.state[3], &past)
            + dot(&self.input[0], &input.ctrl)
            + dot(&self.input[1], &input.force);
        if let Some(model) = &self.model {
            let mut bars = Vec::new();
            (gradient.model).for_each(|_, _, _, _, number| bars.push(number));
            let mut bars = bars.into_iter();
            model.for_each(|_, _, _, _, number| sum += number * bars.next().unwrap_or(0.0));
        }
        sum
    }
}

/// What is given over dual numbers that move along some directions.
pub(super) fn along<const N: usize>(
    given: Given<'_>,
    directions: &[Direction; N],
) -> (Model<Dual<N>>, State<Dual<N>>, Input<Dual<N>>) {
    let models: Vec<Vec<f64>> = (directions.iter())
        .map(|direction| {
            let mut numbers = Vec::new();
            if let Some(model) = &direction.model {
                model.for_each(|_, _, _, _, number| numbers.push(number));
            }
            numbers
        })
        .collect();
    let mut index = 0;
    let mut model = given.model.map(|value| {
        let tangent = std::array::from_fn(|k| models[k].get(index).copied().unwrap_or(0.0));
        index += 1;
        Dual { value, tangent }
    });
    normalize(&mut model);
    let moving = |values: &[f64], tangents: [&[f64]; N]| -> Vec<Dual<N>> {
        let numbers = values.iter().enumerate();
        numbers
            .map(|(i, &value)| Dual {
                value,
                tangent: std::array::from_fn(|k| tangents[k][i]),
            })
            .collect()
    };
    let part = |part: usize| {
        directions
            .each_ref()
            .map(|direction| &direction.state[part][..])
    };
    let qpos = part(0).map(|tangent| qpos_tangent(given.model, &given.state.qpos, tangent));
    let mut state = given.state.map(Dual::constant);
    state.qpos = moving(
        &given.state.qpos,
        qpos.each_ref().map(|tangent| &tangent[..]),
    );
    state.qvel = moving(&given.state.qvel, part(1));
    state.act = moving(&given.state.act, part(2));
    let past = (state.history.iter_mut()).flat_map(History::values_mut);
    for (index, value) in past.enumerate() {
        value.tangent = std::array::from_fn(|k| directions[k].state[3][index]);
    }
    let mut input = Input::zeros(&model);
    let part = |part: usize| {
        directions
            .each_ref()
            .map(|direction| &direction.input[part][..])
    };
    input.ctrl = moving(&given.input.ctrl, part(0));
    input.force = moving(&given.input.force, part(1));
    (model, state, input)
}

/// What is given after a step along a direction.
pub(super) fn moved(given: Given<'_>, direction: &Direction, step: f64) -> (Model, State, Input) {
    let mut model = given.model.clone();
    if let Some(direction) = &direction.model {
        let mut tangents = Vec::new();
        direction.for_each(|_, _, _, _, number| tangents.push(number));
        let mut tangents = tangents.into_iter();
        model.for_each_mut(|_, _, _, _, number| *number += step * tangents.next().unwrap_or(0.0));
        normalize(&mut model);
    }
    let add = |numbers: &mut [f64], tangents: &[f64]| {
        for (number, tangent) in numbers.iter_mut().zip(tangents) {
            *number += step * tangent;
        }
    };
    let (mut state, mut input) = (given.state.clone(), given.input.clone());
    let tangent = qpos_tangent(given.model, &given.state.qpos, &direction.state[0]);
    add(&mut state.qpos, &tangent);
    add(&mut state.qvel, &direction.state[1]);
    add(&mut state.act, &direction.state[2]);
    let past = (state.history.iter_mut()).flat_map(History::values_mut);
    for (value, tangent) in past.zip(&direction.state[3]) {
        *value += step * tangent;
    }
    add(&mut input.ctrl, &direction.input[0]);
    add(&mut input.force, &direction.input[1]);
    (model, state, input)
}

/// Makes a direction one that keeps unit quaternions and axes unit, leaves tolerances alone, and absent friction and
/// delays absent.
pub(crate) fn make_tangential(model: &Model, direction: &mut Model) {
    let quat = |primal: &[Quat], direction: &mut [Quat]| {
        for (&primal, direction) in primal.iter().zip(direction) {
            *direction = direction.scale_add(primal, -primal.dot(*direction));
        }
    };
    quat(&model.bodies.quat, &mut direction.bodies.quat);
    quat(
        &model.bodies.inertial_quat,
        &mut direction.bodies.inertial_quat,
    );
    quat(&model.geoms.quat, &mut direction.geoms.quat);
    quat(&model.sites.quat, &mut direction.sites.quat);
    quat(&model.cameras.quat, &mut direction.cameras.quat);
    let option = &mut direction.option;
    for tolerance in [
        &mut option.tolerance,
        &mut option.ls_tolerance,
        &mut option.noslip_tolerance,
        &mut option.ccd_tolerance,
    ] {
        tolerance.fill(0.0);
    }
    direction.laws.tolerance.fill(0.0);
    // Friction that is absent stays so: its row would appear. So do delays: results would jump to past ones.
    let present = (model.dofs.frictionloss.iter())
        .chain(&model.tendons.frictionloss)
        .chain(&model.actuators.delay)
        .chain(&model.sensors.delay);
    let directions = (direction.dofs.frictionloss.iter_mut())
        .chain(&mut direction.tendons.frictionloss)
        .chain(&mut direction.actuators.delay)
        .chain(&mut direction.sensors.delay);
    for (&number, direction) in present.zip(directions) {
        if number == 0.0 {
            *direction = 0.0;
        }
    }
    for (&axis, direction) in (model.joints.axis.iter()).zip(&mut direction.joints.axis) {
        *direction = direction.scale_add(axis, -axis.dot(*direction));
    }
}

/// A finite step along a tangent leaves the unit sphere; dual numbers do not.
pub(crate) fn normalize<T: Scalar>(model: &mut Model<T>) {
    let quats = (model.bodies.quat.iter_mut())
        .chain(&mut model.bodies.inertial_quat)
        .chain(&mut model.geoms.quat)
        .chain(&mut model.sites.quat)
        .chain(&mut model.cameras.quat);
    for quat in quats {
        *quat = quat.normalized();
    }
    for axis in &mut model.joints.axis {
        *axis = axis.normalized().0;
    }
}

/// The tangent of qpos, nq, for a direction in tangent space, nv.
pub(crate) fn qpos_tangent(model: &Model, qpos: &[f64], direction: &[f64]) -> Vec<f64> {
    let mut tangent = vec![0.0; qpos.len()];
    for_parts(model, |part, address, dof| match part {
        Part::Straight => tangent[address] = direction[dof],
        Part::Rotation => {
            let quat = Quat(std::array::from_fn(|i| qpos[address + i]));
            let turn = Vec3(std::array::from_fn(|i| direction[dof + i]));
            tangent[address..address + 4].copy_from_slice(&quat.derivative(turn).0);
        }
    });
    tangent
}

/// The direction in tangent space, nv, of rates of qpos, nq.
pub(crate) fn tangent_of(model: &Model, qpos: &[f64], rates: &[f64]) -> Vec<f64> {
    let mut tangent = vec![0.0; model.counts().nv];
    for_parts(model, |part, address, dof| match part {
        Part::Straight => tangent[dof] = rates[address],
        Part::Rotation => {
            let quat = |numbers: &[f64]| Quat(std::array::from_fn(|i| numbers[address + i]));
            let turn: Vec3 = quat(qpos).conjugate().mul(quat(rates)).parts().1.scale(2.0);
            tangent[dof..dof + 3].copy_from_slice(&turn.0);
        }
    });
    tangent
}

/// Part of a joint's configuration.
enum Part {
    /// One number, one dof.
    Straight,
    /// A quaternion, three dofs.
    Rotation,
}

/// Calls `each(part, first number in qpos, first dof)` for all parts of all joints.
fn for_parts(model: &Model, mut each: impl FnMut(Part, usize, usize)) {
    let joints = &model.structure.joints;
    for joint in 0..model.counts().njoint {
        let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
        match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => each(Part::Straight, address, dof),
            JointKind::Ball => each(Part::Rotation, address, dof),
            JointKind::Free => {
                for k in 0..3 {
                    each(Part::Straight, address + k, dof + k);
                }
                each(Part::Rotation, address + 3, dof + 3);
            }
        }
    }
}
