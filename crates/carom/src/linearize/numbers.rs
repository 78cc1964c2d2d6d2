//! Derivatives by numbers of the model: columns after those of the controls.
//!
//! A direction changes some numbers, and with them the equation of motion (1) of the module, at fixed state and acceleration. What
//! each number changes is one term: springs and dampers by their laws ([`along`](crate::terms::along)), armature −a, an actuator along its moment. A body whose inertia
//! changes by δI resists with
//!
//!   δI·a + v ×* δI·v                                                                                    (1)
//!
//! and constraints are as stiff as the bodies and dofs are heavy that they hold, by their inverse weight w at the reference:
//!
//!   df = −f·dw/w                                                                                        (2)
//!
//! Dry friction that slides pushes with its number itself. Under integrators that are implicit in velocity, M and D change as well
//! and add to (3) of the module.
//!
//! Numbers of places and shapes are not here, nor those of contacts: a step is differentiated by them over dual numbers.

use super::forces::Context;
use super::forward_mode::Number;
use super::rne::TreeDerivative;
use super::{Layout, Rows, medium};
use crate::data::Data;
use crate::dual::LANES;
use crate::dynamics::At;
use crate::integrate::free_body;
use crate::jacobian;
use crate::laws::actuator::PARAMETERS;
use crate::math::{Mat3, Spatial, SpatialInertia, Vec3};
use crate::model::{Family, Integrator, JointKind, Model, Quantity, Structure};
use crate::stages::actuation;
use crate::stages::constraint::{Block, BlockKind, Held, equality_anchors, held};
use crate::stages::solve::law::Phase;
use crate::terms::actuator::Force;
use crate::terms::along::Changes;
use crate::terms::length::{Advance, Length, Row};
use crate::terms::{self, DofDamper, JointSpring, Term};

/// Directions in the space of the model's numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// How many there are.
    count: usize,
    /// What they change of dampers, springs and actuators.
    dampers: Changes<3>,
    springs: Changes<5>,
    actuators: Changes<PARAMETERS>,
    /// What they change of other numbers, one at a time.
    changes: Vec<Change>,
    /// Rates of the dry friction of each dof, one row a dof.
    friction: Vec<f64>,
    /// Rates of inverse weights, one row an object: dofs, tendons, translations and rotations of bodies.
    lightness: [Vec<f64>; 4],
    changes_lightness: bool,
    /// Whether damping of dofs changes.
    pub(super) dampens: bool,
}

/// A number that changes along a direction.
#[derive(Clone, Copy, Debug)]
struct Change {
    direction: usize,
    rate: f64,
    number: Kind,
}

/// Which number it is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Inertia of a rotor.
    Armature { dof: usize },
    /// A parameter of a law of a joint.
    Law { parameter: usize },
    /// A component of gravity.
    Gravity { axis: usize },
    /// The centre of a body, where forces on it act, as it moves in the body's axes at the rate one.
    Center { body: usize, shift: Vec3 },
    /// Inertia of a body about its frame, in its axes, as it changes at the rate one.
    Inertia { body: usize, change: SpatialInertia },
}

/// Places of [`Numbers::lightness`]; rotations come after translations.
const DOF: usize = 0;
const TENDON: usize = 1;
const TRANSLATION: usize = 2;

impl Numbers {
    /// The directions of models over dual numbers, [`LANES`] in each; none where some of their numbers are not covered.
    pub(super) fn new(model: &Model, varied: &[Model<Number>], count: usize) -> Option<Self> {
        let n = model.counts();
        let mut numbers = Self {
            count,
            friction: vec![0.0; n.nv * count],
            lightness: [n.nv, n.ntendon, n.nbody, n.nbody].map(|rows| vec![0.0; rows * count]),
            ..Self::default()
        };
        let mut is_covered = true;
        for (chunk, varied) in varied.iter().enumerate() {
            let first = chunk * LANES;
            let lanes = LANES.min(count.saturating_sub(first));
            varied.for_each(|quantity, element, component, number| {
                for (lane, &rate) in number.tangent[..lanes].iter().enumerate() {
                    if rate != 0.0 {
                        let place = (quantity, element, component);
                        is_covered &= numbers.note(model, place, first + lane, rate);
                    }
                }
            });
            (numbers.dampers).note::<DofDamper, 1>(varied, n.nv, first, lanes);
            (numbers.springs).note::<JointSpring, 1>(varied, n.njoint, first, lanes);
            (numbers.actuators).note::<Force, 3>(varied, n.nactuator, first, lanes);
            numbers.note_inertias(model, varied, first, lanes);
        }
        (is_covered && numbers.suits(model)).then_some(numbers)
    }

    /// Notes that a number changes; false if that is not covered.
    fn note(
        &mut self,
        model: &Model,
        (quantity, element, component): (Quantity, usize, usize),
        direction: usize,
        rate: f64,
    ) -> bool {
        let cell = element * self.count + direction;
        let number = match quantity {
            Quantity::DofArmature => Kind::Armature { dof: element },
            Quantity::JointLawParameter => Kind::Law { parameter: element },
            Quantity::QposSpring => return is_at_single_dof(&model.structure, element),
            Quantity::OptionGravity => Kind::Gravity { axis: component },
            Quantity::DofFrictionloss => {
                self.friction[cell] = rate;
                return true;
            }
            Quantity::DofInverseWeight => return self.note_lightness(DOF, cell, rate),
            Quantity::TendonInverseWeight => return self.note_lightness(TENDON, cell, rate),
            Quantity::BodyInverseWeight => {
                return self.note_lightness(TRANSLATION + component, cell, rate);
            }
            // Parameters of terms are noted element by element.
            Quantity::DofDamping
            | Quantity::DofDampingPoly
            | Quantity::JointStiffness
            | Quantity::JointStiffnessPoly
            | Quantity::ActuatorGain
            | Quantity::ActuatorBias
            | Quantity::ActuatorAccelerationReference
            // Inertias are noted as a whole, and the centre of a tree is but a point of reference.
            | Quantity::BodyMass
            | Quantity::BodyInertialPosition
            | Quantity::BodyInertialQuat
            | Quantity::BodyInertia
            | Quantity::BodyInertiaProducts
            | Quantity::BodySubtreeMass
            // Nothing of these is in a step, or it is part of other numbers.
            | Quantity::DofInertiaReference
            | Quantity::ActuatorDamping
            | Quantity::ActuatorDampingPoly
            | Quantity::ActuatorArmature => return true,
            _ => {
                let family = quantity.family();
                return matches!(family, Family::Cameras | Family::Sensors | Family::Keyframes);
            }
        };
        self.changes.push(Change {
            direction,
            rate,
            number,
        });
        true
    }

    fn note_lightness(&mut self, kind: usize, cell: usize, rate: f64) -> bool {
        self.lightness[kind][cell] = rate;
        self.changes_lightness = true;
        true
    }

    fn note_inertias(&mut self, model: &Model, varied: &Model<Number>, first: usize, lanes: usize) {
        let bodies = &varied.bodies;
        for body in 1..model.counts().nbody {
            let rotation = bodies.inertial_quat[body].to_mat3();
            let (inertia, mass) = (bodies.inertia[body], bodies.mass[body]);
            let offset = bodies.inertial_position[body];
            let mut whole = SpatialInertia::from_body(inertia, &rotation, offset, mass);
            whole.add_products(bodies.inertia_products[body], &rotation);
            for lane in 0..lanes {
                let shift = Vec3(offset.0.map(|number| number.tangent[lane]));
                if shift != Vec3::ZERO {
                    self.changes.push(Change {
                        direction: first + lane,
                        rate: 1.0,
                        number: Kind::Center { body, shift },
                    });
                }
                let change = SpatialInertia(whole.0.map(|number| number.tangent[lane]));
                if change != SpatialInertia::ZERO {
                    self.changes.push(Change {
                        direction: first + lane,
                        rate: 1.0,
                        number: Kind::Inertia { body, change },
                    });
                }
            }
        }
    }

    /// Whether everything that changes does so in a way that is covered.
    fn suits(&mut self, model: &Model) -> bool {
        let (structure, settings) = (&*model.structure, &model.settings);
        let is_law = |change: &Change| matches!(change.number, Kind::Law { .. });
        let dampens = !self.dampers.is_empty() || self.changes.iter().any(is_law);
        self.dampens = dampens && !settings.disable.damper;
        let addresses = &structure.joints.qpos;
        let springs_are_simple = (self.springs.iter())
            .all(|change| is_at_single_dof(structure, addresses[change.element]));
        let suits = |change: &Change| match change.number {
            Kind::Armature { .. } | Kind::Law { .. } | Kind::Center { .. } => true,
            Kind::Gravity { .. } => !structure.has_gravcomp,
            Kind::Inertia { body, .. } => {
                // D of these depends on inertias.
                let is_in_damping = settings.integrator == Integrator::Implicit
                    || settings.integrator == Integrator::ImplicitFast
                        && free_body::standalone(model).any(|(_, free)| free == body);
                !structure.has_gravcomp && !medium::is_present(model) && !is_in_damping
            }
        };
        springs_are_simple && self.changes.iter().all(suits)
    }

    /// The first column.
    fn first(&self, layout: &Layout) -> usize {
        layout.width - self.count
    }

    /// Adds what the numbers change of the equation of motion at an acceleration.
    pub(super) fn add(
        &self,
        context: &Context<'_>,
        tree: &TreeDerivative,
        (acceleration, open): (&[f64], &[f64]),
        rows: &mut Rows<'_>,
    ) {
        if self.count == 0 {
            return;
        }
        let first = self.first(context.layout);
        self.add_terms(context, open, rows);
        for change in &self.changes {
            let column = first + change.direction;
            let rate = change.rate;
            match change.number {
                Kind::Armature { dof } => rows.row(dof)[column] -= rate * acceleration[dof],
                Kind::Law { parameter } => {
                    let state = context.state;
                    let x = [&state.qpos[..], &state.qvel];
                    let found = terms::joint_law::by_parameter(context.model, x, parameter);
                    if let Some(slope) = found
                        && !context.model.settings.disable.damper
                    {
                        rows.row(slope.dof)[column] += rate * slope.force;
                    }
                }
                Kind::Gravity { axis } => {
                    if !context.model.settings.disable.gravity {
                        fall(context, axis, rate, |dof, push| {
                            rows.row(dof)[column] += push;
                        });
                    }
                }
                Kind::Center { body, shift } => {
                    let force = context.input.body_force[body].linear();
                    if force != Vec3::ZERO {
                        let (model, kinematics) = (context.model, &context.data.kinematics);
                        let shift = kinematics.body_rotation[body].mul_vec(shift);
                        let moment = Spatial::new(shift.cross(force), Vec3::ZERO);
                        for &dof in jacobian::moving_dofs(model, body) {
                            rows.row(dof)[column] += kinematics.dof_axis[dof].dot(moment);
                        }
                    }
                }
                Kind::Inertia { body, ref change } => {
                    let data = context.data;
                    let acceleration = data.bias.body_acceleration[body] + tree.gained[body];
                    let motion = (data.velocity.body[body], acceleration);
                    resist(context.model, data, (body, change), motion, |dof, force| {
                        rows.row(dof)[column] -= force;
                    });
                }
            }
        }
        self.add_constraints(context, rows);
    }

    /// Adds what the numbers change of springs, dampers and actuators.
    fn add_terms(&self, context: &Context<'_>, open: &[f64], rows: &mut Rows<'_>) {
        let (model, state, data) = (context.model, context.state, context.data);
        let (first, disable) = (self.first(context.layout), &model.settings.disable);
        if !disable.damper {
            for change in self.dampers.iter() {
                let dof = change.element;
                let slopes = DofDamper::by_parameters(model, dof, [state.qvel[dof]]);
                rows.row(dof)[first + change.direction] += change.of(slopes);
            }
        }
        if !disable.spring {
            let joints = &model.structure.joints;
            for change in self.springs.iter() {
                let position = state.qpos[joints.qpos[change.element]];
                let slopes = JointSpring::by_parameters(model, change.element, [position]);
                let row = rows.row(joints.dof[change.element]);
                row[first + change.direction] += change.of(slopes);
            }
        }
        for change in self.actuators.iter() {
            let actuator = change.element;
            if !disable.actuation && actuation::is_free(model, actuator, data) {
                let x = actuation::force_inputs(context.at(), actuator);
                let push = change.of(Force::by_parameters(model, actuator, x));
                let place = moment(model, data, actuator, Some(open));
                place.column(first + change.direction, push, rows);
            }
        }
    }

    /// Adds what the numbers change of the forces of constraints.
    fn add_constraints(&self, context: &Context<'_>, rows: &mut Rows<'_>) {
        let (constraint, solve) = (&context.data.constraint, &context.data.solve);
        let first = self.first(context.layout);
        for (block, &phase) in constraint.blocks.iter().zip(&solve.phase) {
            if phase == Phase::OFF {
                continue;
            }
            let is_friction = matches!(
                block.kind,
                BlockKind::DofFriction | BlockKind::TendonFriction
            );
            let slides = is_friction && phase != Phase::QUADRATIC;
            if slides && block.kind == BlockKind::DofFriction {
                let (dof, side) = (block.object, solve.force[block.row].signum());
                let rates = &self.friction[dof * self.count..(dof + 1) * self.count];
                for (target, rate) in rows.row(dof)[first..].iter_mut().zip(rates) {
                    *target += side * rate;
                }
            }
            if !slides && self.changes_lightness {
                self.add_lightness(context, block, rows);
            }
        }
    }

    /// (2), row by row.
    fn add_lightness(&self, context: &Context<'_>, block: &Block, rows: &mut Rows<'_>) {
        let (constraint, solve) = (&context.data.constraint, &context.data.solve);
        let first = self.first(context.layout);
        let columns = constraint.block_columns(block);
        let values = constraint.block_jacobian(block);
        for index in 0..block.row_count {
            let row = &constraint.rows[block.row + index];
            let (weight, held) = held_by(context, block, index);
            if weight <= 0.0 || super::rows::is_floored(row) {
                continue;
            }
            let force = solve.force[block.row + index];
            for (&dof, &value) in columns.iter().zip(&values[index * columns.len()..]) {
                let factor = -value * force / weight;
                for (kind, object) in held.into_iter().flatten() {
                    let rates = &self.lightness[kind][object * self.count..][..self.count];
                    for (target, rate) in rows.row(dof)[first..].iter_mut().zip(rates) {
                        *target += factor * rate;
                    }
                }
            }
        }
    }

    /// Adds dM·x for the change of inertia, where `tree` has the motions that x gives the bodies.
    pub(super) fn add_inertia_change(
        &self,
        (model, data): (&Model, &Data),
        tree: &TreeDerivative,
        (x, layout): (&[f64], &Layout),
        rows: &mut Rows<'_>,
    ) {
        let first = self.first(layout);
        for change in &self.changes {
            let column = first + change.direction;
            match change.number {
                Kind::Armature { dof } => rows.row(dof)[column] += change.rate * x[dof],
                Kind::Inertia { body, ref change } => {
                    let motion = (Spatial::ZERO, tree.gained[body]);
                    resist(model, data, (body, change), motion, |dof, force| {
                        rows.row(dof)[column] += force;
                    });
                }
                _ => {}
            }
        }
    }

    /// Adds h·dD·ȧ.
    pub(super) fn add_damping_change(
        &self,
        at: At<'_>,
        advance: Advance<'_>,
        layout: &Layout,
        rows: &mut Rows<'_>,
    ) {
        let (model, data) = (at.model, at.data);
        let (first, settings) = (self.first(layout), &model.settings);
        if !settings.disable.damper {
            for change in self.dampers.iter() {
                let dof = change.element;
                let x = [at.state.qvel[dof]];
                let slope = change.of(DofDamper::rate_derivative_by_parameters(model, dof, x));
                rows.row(dof)[first + change.direction] +=
                    advance.h * slope * advance.acceleration[dof];
            }
            for change in &self.changes {
                let Kind::Law { parameter } = change.number else {
                    continue;
                };
                let x = [&at.state.qpos[..], &at.state.qvel];
                if let Some(slope) = terms::joint_law::by_parameter(model, x, parameter) {
                    rows.row(slope.dof)[first + change.direction] +=
                        advance.h * change.rate * slope.damping * advance.acceleration[slope.dof];
                }
            }
        }
        if settings.integrator == Integrator::Euler || settings.disable.actuation {
            return;
        }
        for change in self.actuators.iter() {
            let actuator = change.element;
            if !(data.actuation.saturated[actuator] || actuation::is_disabled(model, actuator)) {
                let x = actuation::force_inputs(at, actuator);
                let slope = change.of(Force::rate_derivative_by_parameters(model, actuator, x));
                let place = moment(model, data, actuator, None);
                place.damping_column(first + change.direction, slope, advance, rows);
            }
        }
    }
}

/// The length of an actuator at fixed positions.
fn moment<'a>(
    model: &'a Model,
    data: &'a Data,
    actuator: usize,
    open: Option<&'a [f64]>,
) -> Length<'a> {
    let pattern = &model.structure.actuators.moment;
    let row = Row::of(pattern, &data.transmission.moment, actuator);
    Length {
        row,
        by_position: row.values,
        bend: None,
        open,
    }
}

/// Whether a coordinate is that of a hinge or slide.
fn is_at_single_dof(structure: &Structure, address: usize) -> bool {
    let joints = &structure.joints;
    let joint = joints.qpos.iter().rposition(|&first| first <= address);
    joint.is_some_and(|joint| matches!(joints.kind[joint], JointKind::Hinge | JointKind::Slide))
}

/// What a row's inverse weight is the sum of: the sum, and the objects with their kinds.
fn held_by(context: &Context<'_>, block: &Block, row: usize) -> (f64, [Option<(usize, usize)>; 2]) {
    let (model, object) = (context.model, block.object);
    let structure = &*model.structure;
    let bodies = |bodies: [usize; 2], part: usize| {
        let weight = |body: usize| model.bodies.inverse_weight[body][part];
        let sum = weight(bodies[0]) + weight(bodies[1]);
        (sum, bodies.map(|body| Some((TRANSLATION + part, body))))
    };
    let (dofs, tendons) = (&model.dofs.inverse_weight, &model.tendons.inverse_weight);
    let pair = |weights: &[f64], kind: usize, [one, other]: [Option<usize>; 2]| {
        let weight = |object: Option<usize>| object.map_or(0.0, |object| weights[object]);
        let sum = weight(one) + weight(other);
        (sum, [one, other].map(|object| Some((kind, object?))))
    };
    match held(structure, block) {
        Held::Dofs(objects) => pair(dofs, DOF, objects),
        Held::Tendons(objects) => pair(tendons, TENDON, objects),
        Held::Bodies if block.kind == BlockKind::Equality => {
            match equality_anchors(model, &context.data.kinematics, object) {
                Some(anchors) => bodies(anchors.map(|anchor| anchor.body), row / 3),
                None => (0.0, [None, None]),
            }
        }
        Held::Bodies => {
            let contact = &context.data.collision.contacts[object];
            bodies(contact.geoms.map(|geom| structure.geoms.body[geom]), 0)
        }
    }
}

/// Pushes of a change of gravity along an axis.
fn fall(context: &Context<'_>, axis: usize, rate: f64, mut push: impl FnMut(usize, f64)) {
    let mut pull = Vec3::ZERO;
    pull.0[axis] = rate;
    let pull = Spatial::new(Vec3::ZERO, pull);
    for (dof, &body) in context.model.structure.dofs.body.iter().enumerate() {
        let weight = context.data.inertia.composite[body].mul_motion(pull);
        push(dof, context.data.kinematics.dof_axis[dof].dot(weight));
    }
}

/// (1): how a change of a body's inertia resists a motion and an acceleration about the centre of its tree.
fn resist(
    model: &Model,
    data: &Data,
    (body, change): (usize, &SpatialInertia),
    (velocity, acceleration): (Spatial, Spatial),
    mut push: impl FnMut(usize, f64),
) {
    let kinematics = &data.kinematics;
    let offset = jacobian::offset(model, kinematics, body, kinematics.body_position[body]);
    let rotation: &Mat3 = &kinematics.body_rotation[body];
    let [velocity, acceleration] = [velocity, acceleration]
        .map(|motion| motion.shift_motion(offset).into_local_axes(rotation));
    let force = change.mul_motion(acceleration) + velocity.cross_force(change.mul_motion(velocity));
    let force = force.into_world_axes(rotation).shift_force(-offset);
    for &dof in jacobian::moving_dofs(model, body) {
        push(dof, kinematics.dof_axis[dof].dot(force));
    }
}
