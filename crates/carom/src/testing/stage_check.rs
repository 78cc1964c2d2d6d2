//! Is the backward twin of a stage the adjoint of its forward twin?
//!
//! A stage is a function y = f(x) of the model, the state, the input and the results of other stages. At a random point x,
//! for random directions ẋ in all of these at once and a random cotangent ȳ of the results,
//!
//!   ⟨ȳ, ẏ⟩ = ⟨x̄, ẋ⟩   with ẏ from dual numbers and from central differences
//!
//! to 1e-10 and 1e-6 of the length of the vector of products, and with dual numbers to 1e-12 of the sum of their magnitudes.
//!
//! ẋ moves the results of other stages independently of each other: each stage is checked on its own. Besides, ẋ is set
//! to zero but for one group at a time (a stage's results, a family of the model, …), so that a wrong cotangent cannot
//! hide behind large ones, and the group is named.

mod points;
mod shared;

use super::Random;
use crate::arrays::Arrays;
use crate::cotangent::{Cotangents, DataBar};
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics::At;
use crate::gradient_check::{make_tangential, normalize, qpos_tangent};
use crate::history::HistoryBar;
use crate::linalg::tree_ldl;
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{ActuatorDynamics, Model, Transmission};
use crate::scalar::Scalar;
use crate::stages::collision::Contact;
use crate::stages::constraint::{Block, BlockKind, RowBar};
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
    /// Contact laws of the random mechanisms it is checked on.
    const LAWS: &'static [&'static str] = &super::random_mjcf::LAWS;
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

/// Checks a stage at a point where all stages have run and which is away from kinks, group by group.
pub(crate) fn check<S: Stage>(point: &Point) -> Tally {
    let tally =
        examine::<S>(point, &fine_groups(&point.model)).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(tally.kinks, 0, "{}: differences do not converge", S::NAME);
    tally
}

/// A named part of a direction, and which groups belong to it.
type Part = (&'static str, Box<dyn Fn(&str) -> bool>);

/// One part for every group of the model, and everything.
fn fine_groups(model: &Model) -> Vec<Part> {
    let part = |name: &'static str| -> Part { (name, Box::new(move |group| group == name)) };
    let mut parts: Vec<Part> = groups(model).into_iter().map(part).collect();
    parts.push(("everything", Box::new(|_| true)));
    parts
}

/// State and input, the model's numbers, and the results of other stages.
fn coarse_groups() -> Vec<Part> {
    let is_state = |group: &str| {
        matches!(
            group,
            "qpos" | "qvel" | "act" | "mocap" | "time" | "history" | "input"
        )
    };
    let is_model = |group: &str| group.starts_with("model.");
    vec![
        ("state and input", Box::new(is_state)),
        ("the model", Box::new(is_model)),
        (
            "other stages",
            Box::new(move |group| !is_state(group) && !is_model(group)),
        ),
    ]
}

/// Compares along the parts of one random direction; the first disagreement is an error.
fn examine<S: Stage>(point: &Point, parts: &[Part]) -> Result<Tally, String> {
    let mut random = Random::new(0x00C0_FFEE);
    let result_bar = random_result_bar::<S>(point, &mut random);
    let mut bar = result_bar.clone();
    S::backward(point, &mut bar);
    let direction = random_direction::<S>(point, &mut random);
    let mut tally = Tally::default();
    for (name, belongs) in parts {
        let mut part = direction.clone();
        keep_only(&mut part, belongs);
        if is_still::<S>(&part) {
            continue;
        }
        compare::<S>(point, &result_bar, &bar, &part, &mut tally)
            .map_err(|why| format!("{} by {name}: {why}", S::NAME))?;
    }
    Ok(tally)
}

/// Whether nothing moves along a direction.
pub(super) fn is_still<S: Stage>(direction: &Cotangents) -> bool {
    pair_inputs::<S>(direction, direction).norm == 0.0
}

/// What comparisons found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Directions along which results move.
    pub(crate) moving: usize,
    /// Directions along which differences do not converge.
    pub(crate) kinks: usize,
    /// Points left out since they have no solution.
    pub(super) unsolved: usize,
    /// Greatest relative error to dual numbers, of their pairing, and to differences.
    pub(super) worst: [f64; 3],
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.moving += other.moving;
        self.kinks += other.kinks;
        self.unsolved += other.unsolved;
        for (worst, other) in self.worst.iter_mut().zip(other.worst) {
            *worst = worst.max(other);
        }
    }

    /// Fails if the comparisons say nothing: few results moved, or most directions led over kinks.
    #[track_caller]
    pub(crate) fn assert_telling(&self, name: &str, least: usize) {
        let [duals, pairing, differences] = self.worst;
        println!(
            "{name}: {} directions, {} with kinks, {} points unsolved, worst errors: duals {duals:.1e}, pairing {pairing:.1e}, differences {differences:.1e}",
            self.moving, self.kinks, self.unsolved
        );
        assert!(
            self.moving >= least,
            "{name}: only {} directions move anything",
            self.moving
        );
        assert!(
            5 * self.kinks <= self.moving,
            "{name}: {} kinks",
            self.kinks
        );
    }
}

/// Steps of differences: where numbers are small (inertias of balls) or large, the first ones are not the best.
const STEPS: [f64; 4] = [1e-6, 1e-7, 1e-5, 1e-8];

fn compare<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    bar: &Cotangents,
    direction: &Cotangents,
    tally: &mut Tally,
) -> Result<(), String> {
    let backward = pair_inputs::<S>(bar, direction);
    let mut dual = with_direction(point, direction);
    S::forward(&mut dual);
    let forward = pair_results::<S, _>(&result_bar.data, &dual.data, |number| number.tangent[0])
        .ok_or("results appear or vanish")?;
    let scale = 1e-3 + forward.norm.max(backward.norm);
    let difference = (forward.sum - backward.sum).abs();
    let error = difference / scale;
    let pairing = difference / (1e-3 + forward.magnitude.max(backward.magnitude));
    tally.moving += usize::from(forward.norm > 0.0);
    tally.worst[0] = tally.worst[0].max(error);
    tally.worst[1] = tally.worst[1].max(pairing);
    if error.is_nan() || error >= 1e-10 || pairing >= 1e-12 {
        return Err(format!(
            "backward {:e}, duals {:e}, relative error {error:e}, of the pairing {pairing:e}",
            backward.sum, forward.sum
        ));
    }
    if !S::DIFFERENCES {
        return Ok(());
    }
    let direction = two_sided(point, direction);
    let backward = pair_inputs::<S>(bar, &direction).sum;
    let values = pair_results::<S, _>(&result_bar.data, &point.data, |number| number)
        .ok_or("results appear or vanish")?
        .norm;
    let scale = scale + values * 1e-2;
    let mut quotients: Vec<f64> = Vec::new();
    for step in STEPS {
        // Two step sizes cancel the quadratic error, which is large where numbers are small.
        let quotient = |step| central_difference::<S>(point, result_bar, &direction, step);
        let (Some(coarse), Some(fine)) = (quotient(step), quotient(0.5 * step)) else {
            continue;
        };
        let found = (4.0 * fine - coarse) / 3.0;
        let error = (found - backward).abs() / scale;
        if error < 1e-6 {
            tally.worst[2] = tally.worst[2].max(error);
            return Ok(());
        }
        quotients.push(found);
    }
    // Differences know better if they agree with each other, and see no kink: there the slopes of both sides differ by
    // much the same however small the step.
    let agree = |pair: &[f64]| (pair[0] - pair[1]).abs() < 1e-6 * scale;
    let is_sure = quotients.is_empty() || quotients.windows(2).any(agree);
    let off = |least: f64, found: &f64| least.min((found - backward).abs());
    let off = quotients.iter().fold(f64::INFINITY, off);
    let [near, far] = [1e-7, 1e-6].map(|step| jump::<S>(point, result_bar, &direction, step));
    let is_smooth = near < 1e-3 * off || near < 0.3 * far && far < 0.5 * off;
    if is_sure && is_smooth {
        return Err(format!("backward {backward:e}, differences {quotients:?}"));
    }
    tally.kinks += 1;
    Ok(())
}

/// The difference between the slopes ahead and behind.
fn jump<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    direction: &Cotangents,
    step: f64,
) -> f64 {
    let value = |step: f64| {
        let mut moved = moved_along(point, direction, step);
        S::forward(&mut moved);
        let paired = pair_results::<S, _>(&result_bar.data, &moved.data, |number| number);
        paired.map_or(f64::INFINITY, |pairing| pairing.sum)
    };
    ((value(step) - 2.0 * value(0.0) + value(-step)) / step).abs()
}

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

/// The derivative of ⟨ȳ, y⟩ along a direction by differences; none if results appear or vanish.
fn central_difference<S: Stage>(
    point: &Point,
    result_bar: &Cotangents,
    direction: &Cotangents,
    step: f64,
) -> Option<f64> {
    let [ahead, behind] = [step, -step].map(|step| {
        let mut moved = moved_along(point, direction, step);
        S::forward(&mut moved);
        pair_results::<S, _>(&result_bar.data, &moved.data, |number| number)
    });
    Some((ahead?.sum - behind?.sum) / (2.0 * step))
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

/// Sets everything to zero but the groups that belong to a part.
pub(super) fn keep_only(direction: &mut Cotangents, belongs: &dyn Fn(&str) -> bool) {
    let families = FAMILIES.map(|family| (&family[6..], belongs(family)));
    direction.model.for_each_mut(|family, _, _, _, number| {
        if !families.contains(&(family, true)) {
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

pub(crate) fn random_direction<S: Stage>(point: &Point, random: &mut Random) -> Cotangents {
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

/// ⟨x̄, ẋ⟩ over everything but the stage's own results.
pub(crate) fn pair_inputs<S: Stage>(bar: &Cotangents, direction: &Cotangents) -> Pairing {
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

/// ⟨ȳ, y⟩ over the stage's own results; none if there are others than ȳ is for.
fn pair_results<S: Stage, T: Scalar>(
    bar: &DataBar,
    data: &Data<T>,
    part: impl Fn(T) -> f64,
) -> Option<Pairing> {
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
    let mut is_alike = true;
    let mut slices = |bars: &[f64], numbers: &[T]| {
        is_alike &= bars.len() == numbers.len();
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
        if bar.contacts.len() != contacts.len() {
            return None;
        }
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
    is_alike.then(|| sums(&terms))
}

/// Lets the compiler infer whose arrays are visited.
fn parts<A: Arrays, T: Scalar>(
    _like: &A,
    over: &A::Over<T>,
    visit: &mut dyn FnMut(&'static str, T),
) {
    A::parts(over, visit);
}

/// A sum of products, and how large they are.
#[derive(Clone, Copy)]
pub(crate) struct Pairing {
    pub(crate) sum: f64,
    /// Length of the vector of products.
    pub(crate) norm: f64,
    /// Sum of their magnitudes.
    magnitude: f64,
}

fn sums(terms: &[[f64; 2]]) -> Pairing {
    let products = terms.iter().map(|[a, b]| a * b);
    let squares = products.clone().map(|product| product * product);
    Pairing {
        sum: products.clone().sum(),
        norm: squares.sum::<f64>().sqrt(),
        magnitude: products.map(f64::abs).sum(),
    }
}

/// Declares the tests of a stage, on points of its own and on random mechanisms, and `Checked` for those on the shared
/// models; `forward` and `backward` as in [`Stage`]. The laws are those of the random mechanisms, all unless given.
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
        $crate::testing::stage_check::check_stage!(
            $name,
            &$crate::testing::random_mjcf::LAWS,
            $points,
            |$point| $forward,
            |$at, $bar| $backward
        );
    };
    ($name:ident, $laws:expr, $points:expr, |$point:ident| $forward:expr, |$at:ident, $bar:ident| $backward:expr) => {
        /// The stage and its twin.
        pub(crate) struct Checked;

        impl $crate::testing::stage_check::Stage for Checked {
            const NAME: &'static str = stringify!($name);
            const LAWS: &'static [&'static str] = $laws;
            fn forward<T: $crate::scalar::Scalar>(
                $point: &mut $crate::testing::stage_check::Point<T>,
            ) {
                $forward
            }
            fn backward(
                $at: &$crate::testing::stage_check::Point,
                $bar: &mut $crate::cotangent::Cotangents,
            ) {
                $backward
            }
        }

        #[test]
        fn backward_is_the_adjoint_of_forward() {
            for (name, point) in $points {
                println!("{name}");
                $crate::testing::stage_check::check::<Checked>(&point);
            }
        }

        #[test]
        fn backward_is_the_adjoint_of_forward_in_random_mechanisms() {
            $crate::testing::stage_check::check_random::<Checked>();
        }
    };
}

pub(crate) use check_stage;
pub(crate) use points::{check_random, constrained_points, points, points_and, random_point};
