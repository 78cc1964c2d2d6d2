//! Is the backward twin of a stage the adjoint of its forward twin?
//!
//! A stage is a function y = f(x) of the model, the state, the input and the results of other stages. At a random point x,
//! for random directions ẋ in all of these at once and a random cotangent ȳ of the results,
//!
//!   ⟨ȳ, ẏ⟩ = ⟨x̄, ẋ⟩   with ẏ from dual numbers (1e-10) and from central differences (1e-6).
//!
//! ẋ moves the results of other stages independently of each other: each stage is checked on its own. Besides, ẋ is set
//! to zero but for one group at a time (a stage's results, a family of the model, …), so that a wrong cotangent cannot
//! hide behind large ones, and the group is named.

use super::Random;
use crate::arrays::Arrays;
use crate::cotangent::{Cotangents, DataBar};
use crate::data::Data;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::gradient_check::{make_tangential, normalize, qpos_tangent};
use crate::history::HistoryBar;
use crate::linalg::tree_ldl;
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{ActuatorDynamics, Cone, Model, Transmission};
use crate::scalar::Scalar;
use crate::stages::collision::Contact;
use crate::stages::constraint::{Block, BlockKind, RowBar};
use crate::stages::solve;
use crate::state::{Input, State};

/// Everything that stages read, with the results of all of them.
#[derive(Clone)]
pub(crate) struct Point<T: Scalar = f64> {
    pub(crate) model: Model<T>,
    pub(crate) state: State<T>,
    pub(crate) input: Input<T>,
    pub(crate) data: Data<T>,
}

impl Point {
    pub(crate) fn at(&self) -> At<'_> {
        At {
            model: &self.model,
            state: &self.state,
            input: &self.input,
            data: &self.data,
        }
    }
}

/// No cotangents, or a direction along which nothing moves.
pub(crate) fn zeros(point: &Point) -> Cotangents {
    let mut bar = Cotangents::zeros(&point.model);
    bar.data.start(&point.data);
    bar
}

/// A stage to check: its results are those whose name is in `RESULTS`.
pub(crate) trait Stage {
    /// Name of the field of [`Data`].
    const NAME: &'static str;
    /// Whether the points checked are away from kinks, so that differences make sense.
    const DIFFERENCES: bool = true;
    fn forward<T: Scalar>(point: &mut Point<T>);
    fn backward(point: &Point, bar: &mut Cotangents);
}

/// Calls `$action!(name)` for the results of every stage.
macro_rules! for_stages {
    ($action:ident) => {
        $action!(kinematics);
        $action!(tendon);
        $action!(inertia);
        $action!(transmission);
        $action!(velocity);
        $action!(passive);
        $action!(bias);
        $action!(actuation);
        $action!(acceleration);
        $action!(sensing);
    };
}

/// The factor of M follows M; work areas carry nothing.
fn is_dependent(stage: &str, field: &str) -> bool {
    matches!(
        (stage, field),
        ("inertia", "factor" | "diagonal_inverse") | ("passive", "body_force")
    )
}

/// Checks a stage at a point where all stages have run, for several seeds.
pub(crate) fn check<S: Stage>(point: &Point) {
    let mut random = Random::new(0x00C0_FFEE);
    let result_bar = random_result_bar::<S>(point, &mut random);
    let mut bar = result_bar.clone();
    S::backward(point, &mut bar);
    let direction = random_direction::<S>(point, &mut random);
    for group in groups(&point.model) {
        let mut part = direction.clone();
        keep_only(&mut part, group);
        compare::<S>(point, &result_bar, &bar, &part, group);
    }
    compare::<S>(point, &result_bar, &bar, &direction, "everything");
}

fn compare<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    bar: &Cotangents,
    direction: &Cotangents,
    group: &str,
) {
    let backward = pair_inputs::<S>(bar, direction);
    let mut dual = with_direction(point, direction);
    S::forward(&mut dual);
    let forward = pair_results::<S, _>(&result_bar.data, &dual.data, |number| number.tangent[0]);
    let scale = 1e-3 + forward.1.max(backward.1);
    let error = (forward.0 - backward.0).abs() / scale;
    assert!(
        error < 1e-10,
        "{} by {group}: backward {:e}, duals {:e}, relative error {error:e}",
        S::NAME,
        backward.0,
        forward.0
    );
    if !S::DIFFERENCES {
        return;
    }
    // Two step sizes cancel the quadratic error, which is large where numbers are small (inertias of balls).
    let direction = two_sided(point, direction);
    let backward = pair_inputs::<S>(bar, &direction);
    let [coarse, fine] =
        [1e-6, 5e-7].map(|step| central_difference::<S>(point, result_bar, &direction, step));
    let differences = (4.0 * fine - coarse) / 3.0;
    let values = pair_results::<S, _>(&result_bar.data, &point.data, |number| number).1;
    let error = (differences - backward.0).abs() / (scale + values * 1e-2);
    assert!(
        error < 1e-6,
        "{} by {group}: backward {:e}, differences {differences:e}, relative error {error:e}",
        S::NAME,
        backward.0
    );
}

/// The direction without what finite steps may not move: density and viscosity of a medium that is absent, which have
/// one side only; the flags of geoms without ellipsoid forces; cutoffs that are absent; the optics of cameras, which are
/// rounded to single precision; the numbers of angular servos whose equality makes them such; and the control limits of
/// muscles, which coincide with the limits of excitation; and the vertices of meshes with faces of four and more corners,
/// which leave their plane.
pub(super) fn two_sided(point: &Point, direction: &Cotangents) -> Cotangents {
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
        if dynamics[actuator] == ActuatorDynamics::Muscle {
            moving.control_range[actuator] = [0.0; 2];
        }
    }
    direction
}

/// The derivative of ⟨ȳ, y⟩ along a direction by differences.
fn central_difference<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    direction: &Cotangents,
    step: f64,
) -> f64 {
    let [ahead, behind] = [step, -step].map(|step| {
        let mut moved = moved_along(point, direction, step);
        S::forward(&mut moved);
        pair_results::<S, _>(&result_bar.data, &moved.data, |number| number).0
    });
    (ahead - behind) / (2.0 * step)
}

/// Families of the model, stages, parts of state and input.
pub(super) fn groups(model: &Model) -> Vec<&'static str> {
    let mut groups = vec![
        "qpos", "qvel", "act", "mocap", "time", "history", "input", "contacts", "rows", "solution",
    ];
    macro_rules! add {
        ($stage:ident) => {
            groups.push(stringify!($stage));
        };
    }
    for_stages!(add);
    model.for_each(|family, _, _, _, _| {
        let name = FAMILIES.iter().find(|&&known| known[6..] == *family);
        if let Some(&name) = name
            && !groups.contains(&name)
        {
            groups.push(name);
        }
    });
    groups
}

const FAMILIES: [&str; 19] = [
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
    "model.equalities",
    "model.tendons",
    "model.wraps",
    "model.actuators",
    "model.sensors",
    "model.keyframes",
];

pub(super) fn keep_only(direction: &mut Cotangents, group: &str) {
    direction.model.for_each_mut(|family, _, _, _, number| {
        if !group.starts_with("model.") || group[6..] != *family {
            *number = 0.0;
        }
    });
    macro_rules! clear {
        ($stage:ident) => {
            if group != stringify!($stage) {
                direction.data.$stage.set_zero();
            }
        };
    }
    for_stages!(clear);
    if group != "contacts" {
        for contact in &mut direction.data.contacts {
            *contact = contact.map(|_| 0.0);
        }
    }
    if group != "rows" {
        direction.data.constraint.jacobian.fill(0.0);
        direction.data.constraint.rows.fill(RowBar::default());
    }
    if group != "solution" {
        direction.data.solve.qacc.fill(0.0);
        direction.data.solve.force.fill(0.0);
    }
    let (state, input) = (&mut direction.state, &mut direction.input);
    if group != "qpos" {
        state.qpos.fill(0.0);
    }
    if group != "qvel" {
        state.qvel.fill(0.0);
    }
    if group != "act" {
        state.act.fill(0.0);
    }
    if group != "mocap" {
        state.mocap_position.fill(Vec3::ZERO);
        state.mocap_rotation.fill(Vec3::ZERO);
    }
    if group != "time" {
        state.time = 0.0;
    }
    if group != "history" {
        let past = state.history.iter_mut().flat_map(HistoryBar::numbers_mut);
        past.for_each(|number| *number = 0.0);
    }
    if group != "input" {
        input.set_zero();
    }
}

fn random_result_bar<S: Stage>(point: &Point, random: &mut Random) -> Cotangents {
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

pub(super) fn random_direction<S: Stage>(point: &Point, random: &mut Random) -> Cotangents {
    let mut direction = zeros(point);
    direction
        .model
        .for_each_mut(|_, _, _, _, number| *number = random.next());
    make_tangential(&point.model, &mut direction.model);
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
    if matches!(S::NAME, "collision" | "sensing") {
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
            if point.model.structure.laws.is_impulse_level() {
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
pub(super) fn with_direction(point: &Point, direction: &Cotangents) -> Point<Dual<1>> {
    point_along(point, direction, |value, tangent| Dual {
        value,
        tangent: [tangent],
    })
}

/// The point moved by a finite step along a direction.
pub(super) fn moved_along(point: &Point, direction: &Cotangents, step: f64) -> Point {
    point_along(point, direction, |value, tangent| value + step * tangent)
}

fn point_along<T: Scalar>(
    point: &Point,
    direction: &Cotangents,
    combine: impl Fn(f64, f64) -> T + Copy,
) -> Point<T> {
    let mut tangents = Vec::new();
    (direction.model).for_each(|_, _, _, _, number| tangents.push(number));
    let mut tangents = tangents.into_iter();
    let mut model = (point.model).map(|value| combine(value, tangents.next().unwrap_or(0.0)));
    normalize(&mut model);

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
    data.solve.qacc = zip(&point.data.solve.qacc, &direction.data.solve.qacc);
    data.solve.force = zip(&point.data.solve.force, &direction.data.solve.force);
    let (primal, moving) = (&point.state, &direction.state);
    let mut state = State::reference(&model);
    let tangent = qpos_tangent(&point.model, &primal.qpos, &moving.qpos);
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
fn numbers_of(contact: &Contact) -> Vec<f64> {
    let mut numbers = Vec::new();
    let _ = contact.map(|number| {
        numbers.push(number);
        number
    });
    numbers
}

/// ⟨x̄, ẋ⟩ over everything but the stage's own results, and the sum of magnitudes.
pub(super) fn pair_inputs<S: Stage>(bar: &Cotangents, direction: &Cotangents) -> (f64, f64) {
    let mut terms: Vec<[f64; 2]> = Vec::new();
    let mut bars = Vec::new();
    (bar.model).for_each(|_, _, _, _, number| bars.push(number));
    let mut index = 0;
    (direction.model).for_each(|_, _, _, _, number| {
        terms.push([bars[index], number]);
        index += 1;
    });
    macro_rules! pair {
        ($stage:ident) => {
            if S::NAME != stringify!($stage) {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                bar.data.$stage.visit(&mut |_, number| a.push(number));
                (direction.data.$stage).visit(&mut |_, number| b.push(number));
                terms.extend(a.into_iter().zip(b).map(|(a, b)| [a, b]));
            }
        };
    }
    for_stages!(pair);
    let mut slices = |a: &[f64], b: &[f64]| {
        terms.extend(a.iter().zip(b).map(|(&a, &b)| [a, b]));
    };
    let (a, b) = (&bar.state, &direction.state);
    slices(&a.qpos, &b.qpos);
    slices(&a.qvel, &b.qvel);
    slices(&a.act, &b.act);
    slices(&[a.time], &[b.time]);
    for (a, b) in a.history.iter().zip(&b.history) {
        slices(&a.times, &b.times);
        slices(&a.values, &b.values);
    }
    for mocap in 0..a.mocap_position.len() {
        slices(&a.mocap_position[mocap].0, &b.mocap_position[mocap].0);
        slices(&a.mocap_rotation[mocap].0, &b.mocap_rotation[mocap].0);
    }
    let (a, b) = (&bar.input, &direction.input);
    slices(&a.ctrl, &b.ctrl);
    slices(&a.force, &b.force);
    let contacts = bar.data.contacts.iter().zip(&direction.data.contacts);
    for (a, b) in contacts.filter(|_| S::NAME != "collision") {
        slices(&numbers_of(a), &numbers_of(b));
    }
    for body in 0..a.body_force.len() {
        slices(&a.body_force[body].0, &b.body_force[body].0);
    }
    if S::NAME == "sensing" {
        let (a, b) = (&bar.data.solve, &direction.data.solve);
        slices(&a.qacc, &b.qacc);
        slices(&a.force, &b.force);
    }
    if matches!(S::NAME, "solve" | "sensing") {
        let (a, b) = (&bar.data.constraint, &direction.data.constraint);
        slices(&a.jacobian, &b.jacobian);
        for (a, b) in a.rows.iter().zip(&b.rows) {
            slices(&row_numbers(a), &row_numbers(b));
        }
    }
    sums(&terms)
}

fn row_numbers(row: &RowBar) -> [f64; 6] {
    [
        row.weight,
        row.friction,
        row.reference_acceleration,
        row.position,
        row.distance,
        row.velocity,
    ]
}

fn is_limit(block: &Block) -> bool {
    matches!(block.kind, BlockKind::JointLimit | BlockKind::TendonLimit)
}

/// ⟨ȳ, y⟩ over the stage's own results, and the sum of magnitudes.
fn pair_results<S: Stage, T: Scalar>(
    bar: &DataBar,
    data: &Data<T>,
    part: impl Fn(T) -> f64,
) -> (f64, f64) {
    let mut terms = Vec::new();
    macro_rules! pair {
        ($stage:ident) => {
            if S::NAME == stringify!($stage) {
                let mut bars = Vec::new();
                bar.$stage.visit(&mut |_, number| bars.push(number));
                let mut index = 0;
                parts(&bar.$stage, &data.$stage, &mut |field, number| {
                    if !is_dependent(stringify!($stage), field) {
                        terms.push([bars[index], part(number)]);
                    }
                    index += 1;
                });
            }
        };
    }
    for_stages!(pair);
    let mut slices = |bars: &[f64], numbers: &[T]| {
        let alike = bars.len() == numbers.len();
        assert!(alike, "{}: rows appear or vanish", S::NAME);
        terms.extend((bars.iter().zip(numbers)).map(|(&bar, &number)| [bar, part(number)]));
    };
    if S::NAME == "constraint" {
        slices(&bar.constraint.jacobian, &data.constraint.jacobian);
        for (bar, row) in bar.constraint.rows.iter().zip(&data.constraint.rows) {
            let numbers = [
                row.weight,
                row.friction,
                row.reference_acceleration,
                row.position,
                row.position - row.margin,
                row.velocity,
            ];
            slices(&row_numbers(bar), &numbers);
        }
    }
    if S::NAME == "collision" {
        let contacts = &data.collision.contacts;
        let alike = bar.contacts.len() == contacts.len();
        assert!(alike, "{}: contacts appear or vanish", S::NAME);
        for (bar, contact) in bar.contacts.iter().zip(contacts) {
            let mut numbers = Vec::new();
            let _ = contact.map(|number| {
                numbers.push(number);
                number
            });
            slices(&numbers_of(bar), &numbers);
        }
    }
    if S::NAME == "compliance" {
        slices(&bar.acceleration.force_smooth, &data.compliance.force);
    }
    if S::NAME == "solve" {
        let (bar, solve) = (&bar.solve, &data.solve);
        slices(&bar.qacc, &solve.qacc);
        slices(&bar.force_constraint, &solve.force_constraint);
        slices(&bar.residual, &solve.residual);
        slices(&bar.force, &solve.force);
    }
    sums(&terms)
}

/// Lets the compiler infer whose arrays are visited.
fn parts<A: Arrays, T: Scalar>(
    _like: &A,
    over: &A::Over<T>,
    visit: &mut dyn FnMut(&'static str, T),
) {
    A::parts(over, visit);
}

fn sums(terms: &[[f64; 2]]) -> (f64, f64) {
    let products = terms.iter().map(|[a, b]| a * b);
    let magnitude = products
        .clone()
        .map(|product| product * product)
        .sum::<f64>();
    (products.sum(), magnitude.sqrt())
}

/// A model at a random state with random inputs, all stages computed; frames that coincide are moved apart in the
/// model's own numbers, since derivatives go through them.
pub(crate) fn random_point(mut model: Model, seed: u64) -> Point {
    let mut random = Random::new(seed);
    let structure = std::sync::Arc::make_mut(&mut model.structure);
    structure.coincidences.clear();
    let mut state = super::random_state(seed, &model);
    state.act.fill_with(|| 0.5 + 0.4 * random.next());
    for history in &mut state.history {
        history.values_mut().fill_with(|| 0.5 * random.next());
    }
    let mut input = Input::zeros(&model);
    input.ctrl.fill_with(|| 0.5 * random.next());
    input.force.fill_with(|| random.next());
    (input.body_force).fill_with(|| crate::math::Spatial(random.numbers()));
    let mut data = Data::new(&model);
    crate::dynamics::forward_and_sense(&model, &state, &input, &mut data);
    Point {
        model,
        state,
        input,
        data,
    }
}

/// The models that stages are checked on: those the repository ships, and random mechanisms.
pub(crate) fn points() -> Vec<(String, Point)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut points = Vec::new();
    for folder in ["models", "models/features"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            continue;
        };
        let mut files: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.sort();
        for file in files {
            if file.extension().is_some_and(|extension| extension == "xml") {
                let name = file
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                points.push((name, random_point(super::model_from_file(&file), 7)));
            }
        }
    }
    for seed in 0..6 {
        let model = super::random_model(seed, 6);
        points.push((
            format!("random mechanism {seed}"),
            random_point(model, seed),
        ));
    }
    points
}

/// As [`points`], and further models in MJCF at several states each.
pub(crate) fn points_and(texts: &[&str]) -> Vec<(String, Point)> {
    let mut points = points();
    for (index, text) in texts.iter().enumerate() {
        for seed in 0..4 {
            let point = random_point(super::model_from_mjcf(text), seed);
            points.push((format!("further model {index}, seed {seed}"), point));
        }
    }
    points
}

/// Random mechanisms with constraints of every kind, under both cones, with so many sweeps against creep.
pub(crate) fn constrained_points(sweeps: usize) -> Vec<(String, Point)> {
    let cones = [Cone::Pyramidal, Cone::Elliptic];
    let scenes = cones
        .into_iter()
        .flat_map(|cone| (0..6).map(move |seed| (cone, seed)));
    scenes
        .map(|(cone, seed)| {
            let mut scene = super::random_constrained(seed, 6, cone);
            scene.model.settings.enable.diagexact = seed % 3 == 2;
            scene.model.settings.noslip_iterations = sweeps;
            let mut data = scene.solve();
            if sweeps > 0 {
                // Within a body a contact has no stiffness, which the least step would give it. Where rows act on one or
                // two dofs, renewing the first of them leaves the others at their bounds and asking for nothing: a kink.
                let blocks = &data.constraint.blocks[data.constraint.first_contact..];
                let is_free = |block: &&Block| data.constraint.block_columns(block).len() > 2;
                let touching: Vec<Contact> = (blocks.iter().filter(is_free))
                    .map(|block| scene.contacts[block.object])
                    .collect();
                scene.contacts = touching;
                data = scene.solve();
            }
            let model = scene.model_with_geoms();
            let complete = solve::factor_at_solution(
                &model,
                &data.inertia,
                &data.acceleration,
                &data.constraint,
                &mut data.solve,
            );
            assert!(complete);
            let point = Point {
                model,
                state: scene.state,
                input: scene.input,
                data,
            };
            (format!("{cone:?} {seed}, {sweeps} sweeps"), point)
        })
        .collect()
}

/// Declares the test of a stage; `forward` and `backward` as in [`Stage`].
macro_rules! check_stage {
    ($name:ident, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        $crate::testing::stage_check::check_stage!(
            $name,
            $crate::testing::stage_check::points(),
            |$point| $forward,
            |$at, $bar| $backward
        );
    };
    ($name:ident, $points:expr, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        #[test]
        fn backward_is_the_adjoint_of_forward() {
            use $crate::cotangent::Cotangents;
            use $crate::testing::stage_check::{Point, Stage, check};
            struct Checked;
            impl Stage for Checked {
                const NAME: &'static str = stringify!($name);
                fn forward<T: $crate::scalar::Scalar>($point: &mut Point<T>) {
                    $forward
                }
                fn backward($at: &Point, $bar: &mut Cotangents) {
                    $backward
                }
            }
            for (name, point) in $points {
                println!("{name}");
                check::<Checked>(&point);
            }
        }
    };
}

pub(crate) use check_stage;
