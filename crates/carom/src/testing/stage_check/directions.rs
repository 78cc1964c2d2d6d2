//! Random directions and cotangents at a point, parts of them, and the point moved along one.

use super::{Point, Stage, for_stages, is_dependent, is_limit, zeros};
use crate::arrays::Arrays;
use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::history::HistoryBar;
use crate::linalg::tree_ldl;
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{ActuatorDynamics, GainKind, LawLevel, Model, Quantity, Transmission};
use crate::scalar::Scalar;
use crate::stages::collision::Contact;
use crate::stages::constraint::RowBar;
use crate::state::{Input, State};
use crate::testing::Random;

/// The direction without what finite steps may not move: density and viscosity of a medium that is absent, which have
/// one side only; the flags of geoms without ellipsoid forces; cutoffs that are absent; the optics of cameras, which are
/// rounded to single precision; the numbers of angular servos whose equality makes them such; and the control limits of
/// muscles, which coincide with the limits of excitation; and the vertices of meshes with faces of four and more corners,
/// which leave their plane.
pub(crate) fn two_sided(point: &Point, direction: &Cotangents) -> Cotangents {
    let mut direction = direction.clone();
    let (option, moving) = (&point.model.option, &mut direction.model.option);
    if option.density[0] == 0.0 {
        moving.density[0] = 0.0;
    }
    if option.viscosity[0] == 0.0 {
        moving.viscosity[0] = 0.0;
    }
    let meshes = &point.model.structure.meshes;
    for (topology, vertices) in meshes.hull_topology.iter().zip(&meshes.vertices) {
        if topology.polygons.iter().any(|outline| outline.len() > 3) {
            direction.model.meshes.vertex[vertices.clone()].fill(Vec3::ZERO);
        }
    }
    let geoms = point.model.geoms.fluid.iter();
    for (fluid, moving) in geoms.zip(&mut direction.model.geoms.fluid) {
        if fluid[0] == 0.0 {
            moving[0] = 0.0;
        }
    }
    direction.model.cameras.sensor_size.fill([0.0; 2]);
    direction.model.cameras.intrinsic.fill([0.0; 4]);
    let cutoffs = point.model.sensors.cutoff.iter();
    for (&cutoff, moving) in cutoffs.zip(&mut direction.model.sensors.cutoff) {
        if cutoff == 0.0 {
            *moving = 0.0;
        }
    }
    let (numbers, moving) = (&point.model.actuators, &mut direction.model.actuators);
    let dynamics = &point.model.structure.actuators.dynamics;
    let gains = &point.model.structure.actuators.gain;
    for (actuator, transmission) in
        (point.model.structure.actuators.transmission.iter()).enumerate()
    {
        if numbers.gain[actuator][0] == -numbers.bias[actuator][1] {
            moving.gain[actuator][0] = 0.0;
            moving.bias[actuator][1] = 0.0;
        }
        if matches!(transmission, Transmission::Site { .. })
            && numbers.gear[actuator][..3] == [0.0; 3]
        {
            moving.gear[actuator][..3].fill(0.0);
        }
        // A limit of zero is none.
        if matches!(gains[actuator], GainKind::DcMotor | GainKind::Pid) {
            for (numbers, moving) in [
                (&numbers.dynamics[actuator], &mut moving.dynamics[actuator]),
                (&numbers.gain[actuator], &mut moving.gain[actuator]),
            ] {
                for (number, moving) in numbers.iter().zip(moving) {
                    if *number == 0.0 {
                        *moving = 0.0;
                    }
                }
            }
        }
        if dynamics[actuator] == ActuatorDynamics::Muscle {
            moving.control_range[actuator] = [0.0; 2];
        }
    }
    direction
}

/// Families of the model, stages, parts of state and input.
pub(crate) fn groups(model: &Model) -> Vec<&'static str> {
    let mut groups = vec![
        "qpos", "qvel", "act", "mocap", "time", "history", "input", "contacts", "rows", "solution",
    ];
    macro_rules! add {
        ($stage:ident) => {
            groups.push(stringify!($stage));
        };
    }
    for_stages!(add);
    model.for_each(|quantity, _, _, _| {
        let family = quantity.family().name();
        let name = FAMILIES.iter().find(|&&known| known[6..] == *family);
        if let Some(&name) = name
            && !groups.contains(&name)
        {
            groups.push(name);
        }
    });
    groups
}

const FAMILIES: [&str; 22] = [
    "model.option",
    "model.qpos",
    "model.bodies",
    "model.joints",
    "model.dofs",
    "model.geoms",
    "model.sites",
    "model.cameras",
    "model.meshes",
    "model.height_fields",
    "model.pairs",
    "model.laws",
    "model.contact_points",
    "model.joint_laws",
    "model.strikes",
    "model.learned",
    "model.equalities",
    "model.tendons",
    "model.wraps",
    "model.actuators",
    "model.sensors",
    "model.keyframes",
];

/// Sets everything to zero but the groups that belong to a part.
pub(crate) fn keep_only(direction: &mut Cotangents, belongs: &dyn Fn(&str) -> bool) {
    let families = FAMILIES.map(|family| (&family[6..], belongs(family)));
    direction.model.for_each_mut(|quantity, _, _, number| {
        if !families.contains(&(quantity.family().name(), true)) {
            *number = 0.0;
        }
    });
    macro_rules! clear {
        ($stage:ident) => {
            if !belongs(stringify!($stage)) {
                direction.data.$stage.set_zero();
            }
        };
    }
    for_stages!(clear);
    if !belongs("contacts") {
        for contact in &mut direction.data.contacts {
            *contact = contact.map(|_| 0.0);
        }
    }
    if !belongs("rows") {
        direction.data.constraint.jacobian.fill(0.0);
        direction.data.constraint.rows.fill(RowBar::default());
    }
    if !belongs("solution") {
        direction.data.solve.qacc.fill(0.0);
        direction.data.solve.force.fill(0.0);
    }
    let (state, input) = (&mut direction.state, &mut direction.input);
    if !belongs("qpos") {
        state.qpos.fill(0.0);
    }
    if !belongs("qvel") {
        state.qvel.fill(0.0);
    }
    if !belongs("act") {
        state.act.fill(0.0);
    }
    if !belongs("mocap") {
        state.mocap_position.fill(Vec3::ZERO);
        state.mocap_rotation.fill(Vec3::ZERO);
    }
    if !belongs("time") {
        state.time = 0.0;
    }
    if !belongs("history") {
        let past = state.history.iter_mut().flat_map(HistoryBar::numbers_mut);
        past.for_each(|number| *number = 0.0);
    }
    if !belongs("input") {
        input.set_zero();
    }
}

/// Cotangents of a stage's own results.
pub(super) fn random_result_bar<S: Stage>(point: &Point, random: &mut Random) -> Cotangents {
    let mut bar = zeros(point);
    macro_rules! fill {
        ($stage:ident) => {
            if S::NAME == stringify!($stage) {
                bar.data.$stage.visit_mut(&mut |field, number| {
                    if !is_dependent(stringify!($stage), field) {
                        *number = random.next();
                    }
                });
            }
        };
    }
    for_stages!(fill);
    let data = &mut bar.data;
    if S::NAME == "constraint" {
        data.constraint.jacobian.fill_with(|| random.next());
        data.constraint.rows.fill_with(|| RowBar {
            weight: random.next(),
            friction: random.next(),
            reference_acceleration: random.next(),
            position: random.next(),
            velocity: random.next(),
            ..RowBar::default()
        });
        let blocks = point.data.constraint.blocks.iter();
        for block in blocks.filter(|block| is_limit(block)) {
            data.constraint.rows[block.row].distance = random.next();
        }
    }
    if S::NAME == "collision" {
        for contact in &mut data.contacts {
            *contact = contact.map(|_| random.next());
        }
    }
    if S::NAME == "compliance" {
        // Its results are a term of the smooth force and have the same cotangent.
        (data.acceleration.force_smooth).fill_with(|| random.next());
    }
    if S::NAME == "solve" {
        let solve = &mut data.solve;
        for list in [
            &mut solve.qacc,
            &mut solve.force_constraint,
            &mut solve.residual,
            &mut solve.force,
        ] {
            list.fill_with(|| random.next());
        }
    }
    bar
}

pub(crate) fn random_direction<S: Stage>(point: &Point, random: &mut Random) -> Cotangents {
    let mut direction = zeros(point);
    direction
        .model
        .for_each_mut(|_, _, _, number| *number = random.next());
    for &quantity in Quantity::ALL {
        let mut tangent = direction.model.numbers(quantity);
        point.model.project(quantity, &mut tangent);
        let mut tangent = tangent.into_iter();
        (direction.model).numbers_mut(quantity, |number| *number = tangent.next().unwrap_or(0.0));
    }
    macro_rules! fill {
        ($stage:ident) => {
            if S::NAME != stringify!($stage) {
                let mut scales = std::collections::BTreeMap::new();
                let mut values = Vec::new();
                point.data.$stage.visit(&mut |field, number| {
                    let scale: &mut f64 = scales.entry(field).or_default();
                    *scale = scale.max(number.abs());
                    values.push(number.abs());
                });
                let mut values = values.into_iter();
                direction.data.$stage.visit_mut(&mut |field, number| {
                    let value = values.next().unwrap_or(0.0);
                    if !is_dependent(stringify!($stage), field) {
                        let scale = match scales.get(field) {
                            // M has to stay positive definite.
                            _ if field == "matrix" => value,
                            Some(&scale) if scale > 0.0 => scale,
                            _ => 1.0,
                        };
                        *number = random.next() * scale;
                    }
                });
            }
        };
    }
    for_stages!(fill);
    if matches!(S::NAME, "tendon" | "collision" | "sensing") {
        // Shapes stay rigid: cotangents of their rotations are tangential.
        let rotations = point.data.kinematics.geom_rotation.iter();
        for (rotation, direction) in rotations.zip(&mut direction.data.kinematics.geom_rotation) {
            *direction = Mat3::skew(random.vec3()).mul(rotation);
        }
    }
    if S::NAME == "collision" {
        return direction;
    }
    let contacts = point.data.collision.contacts.iter();
    for (direction, contact) in direction.data.contacts.iter_mut().zip(contacts) {
        *direction = contact.map(|_| random.next());
        // Absent means that the normal's is taken.
        if contact.solreffriction == [0.0; 2] {
            direction.solreffriction = [0.0; 2];
        }
    }
    if S::NAME == "solve" {
        let constraint = &mut direction.data.constraint;
        constraint.jacobian.fill_with(|| random.next());
        let rows = constraint.rows.iter_mut().zip(&point.data.constraint.rows);
        for (direction, row) in rows {
            *direction = RowBar {
                weight: random.next() * row.weight,
                friction: random.next() * row.friction,
                reference_acceleration: random.next(),
                ..RowBar::default()
            };
            if point.model.structure.laws.acts_on(LawLevel::Impulse) {
                direction.position = random.next() * row.position;
                direction.velocity = random.next();
            }
        }
    }
    if S::NAME == "sensing" {
        for block in (point.data.constraint.blocks.iter()).filter(|block| is_limit(block)) {
            let row = &mut direction.data.constraint.rows[block.row];
            (row.distance, row.velocity) = (random.next(), random.next());
        }
        let (solve, direction) = (&point.data.solve, &mut direction.data.solve);
        direction.qacc.fill_with(|| random.next());
        // Rows without force stay so: contacts would come to be felt.
        for (direction, &force) in direction.force.iter_mut().zip(&solve.force) {
            *direction = random.next() * force.abs();
        }
    }
    let state = &mut direction.state;
    for number in (state.qpos.iter_mut())
        .chain(&mut state.qvel)
        .chain(&mut state.act)
    {
        *number = random.next();
    }
    state.mocap_position.fill_with(|| random.vec3());
    state.mocap_rotation.fill_with(|| random.vec3());
    state.time = random.next();
    let past = state.history.iter_mut().flat_map(HistoryBar::numbers_mut);
    past.for_each(|number| *number = random.next());
    let input = &mut direction.input;
    for number in input.ctrl.iter_mut().chain(&mut input.force) {
        *number = random.next();
    }
    (input.body_force).fill_with(|| crate::math::Spatial(random.numbers()));
    direction
}

/// The point over dual numbers, moving along a direction.
pub(crate) fn with_direction(point: &Point, direction: &Cotangents) -> Point<Dual<LANES>> {
    point_along(point, direction, Dual::moving)
}

/// The point moved by a finite step along a direction.
pub(crate) fn moved_along(point: &Point, direction: &Cotangents, step: f64) -> Point {
    point_along(point, direction, |value, tangent| value + step * tangent)
}

fn point_along<T: Scalar>(
    point: &Point,
    direction: &Cotangents,
    combine: impl Fn(f64, f64) -> T + Copy,
) -> Point<T> {
    let mut tangents = Vec::new();
    (direction.model).for_each(|_, _, _, number| tangents.push(number));
    let mut tangents = tangents.into_iter();
    let mut model = (point.model).map(|value| combine(value, tangents.next().unwrap_or(0.0)));
    model.normalize();

    let mut data = Data::new(&model);
    macro_rules! move_stage {
        ($stage:ident) => {
            let mut tangents = Vec::new();
            (direction.data.$stage).visit(&mut |_, number| tangents.push(number));
            let mut tangents = tangents.into_iter();
            data.$stage = (point.data.$stage)
                .convert(&mut |value| combine(value, tangents.next().unwrap_or(0.0)));
        };
    }
    for_stages!(move_stage);
    let moving = point.data.collision.contacts.iter();
    (data.collision.contacts).extend(moving.zip(&direction.data.contacts).map(
        |(contact, direction)| {
            let mut tangents = numbers_of(direction).into_iter();
            contact.map(|value| combine(value, tangents.next().unwrap_or(0.0)))
        },
    ));
    data.constraint = point
        .data
        .constraint
        .along(&direction.data.constraint, combine);
    let factored = tree_ldl::factor(
        &model.structure.inertia,
        &data.inertia.matrix,
        &mut data.inertia.factor,
        &mut data.inertia.diagonal_inverse,
    );
    assert!(factored.is_ok());

    let zip = |values: &[f64], tangents: &[f64]| -> Vec<T> {
        (values.iter().zip(tangents))
            .map(|(&value, &tangent)| combine(value, tangent))
            .collect()
    };
    // Not a quantity of its own in directions: a term of the smooth force.
    data.compliance.force = point
        .data
        .compliance
        .force
        .iter()
        .map(|&force| force.into())
        .collect();
    data.solve.qacc = zip(&point.data.solve.qacc, &direction.data.solve.qacc);
    data.solve.force = zip(&point.data.solve.force, &direction.data.solve.force);
    let (primal, moving) = (&point.state, &direction.state);
    let mut state = State::reference(&model);
    let tangent = point.model.qpos_rates(&primal.qpos, &moving.qpos);
    state.time = combine(primal.time, moving.time);
    for (index, history) in state.history.iter_mut().enumerate() {
        // What comes last, when a sensor is due, does not move.
        let mut tangents = moving.history[index].numbers().copied().chain([0.0]);
        *history =
            primal.history[index].map(|value| combine(value, tangents.next().unwrap_or_default()));
    }
    state.qpos = zip(&primal.qpos, &tangent);
    state.qvel = zip(&primal.qvel, &moving.qvel);
    state.act = zip(&primal.act, &moving.act);
    for mocap in 0..state.mocap_quat.len() {
        let (position, quat) = (primal.mocap_position[mocap], primal.mocap_quat[mocap]);
        let turning = quat.derivative(moving.mocap_rotation[mocap]);
        let shift = moving.mocap_position[mocap];
        state.mocap_position[mocap] = Vec3(std::array::from_fn(|i| combine(position[i], shift[i])));
        state.mocap_quat[mocap] = Quat(std::array::from_fn(|i| combine(quat[i], turning[i])));
    }
    let mut input = Input::zeros(&model);
    input.ctrl = zip(&point.input.ctrl, &direction.input.ctrl);
    input.force = zip(&point.input.force, &direction.input.force);
    for (body, wrench) in input.body_force.iter_mut().enumerate() {
        let (value, tangent) = (
            point.input.body_force[body],
            direction.input.body_force[body],
        );
        wrench.0 = std::array::from_fn(|i| combine(value.0[i], tangent.0[i]));
    }
    input
        .equality_active
        .clone_from(&point.input.equality_active);
    Point {
        model,
        state,
        input,
        data,
    }
}

/// The numbers of a contact, in the order of [`Contact::map`].
pub(super) fn numbers_of(contact: &Contact) -> Vec<f64> {
    let mut numbers = Vec::new();
    let _ = contact.map(|number| {
        numbers.push(number);
        number
    });
    numbers
}
