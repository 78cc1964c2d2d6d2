//! Cotangents: what a backward pass carries from the loss to everything that is a number.
//!
//! The cotangent x̄ of a quantity x is the derivative of the loss by x. It has the layout of x, except that rotations
//! live in their tangent space: a change δ of a unit quaternion q means q ⊗ exp(δ/2), three numbers in the rotated
//! frame, as velocities are. [`StateBar::qpos`] therefore has the length nv. Cotangents of the model are a [`Model`] of
//! the same structure; where it holds unit quaternions and unit axes, their cotangents are tangential, so adding a
//! multiple of one and normalising again is a step along the gradient.
//!
//! A stage's `backward` consumes the cotangent of its own results, which it may use as a work area, and *adds* to the
//! cotangents of what it reads. The factor of M is not a quantity of its own here: whoever solves with it passes the
//! derivative on to M itself.

use std::ops::{AddAssign, Deref, DerefMut};

use crate::arrays::add;
use crate::data::Data;
use crate::history::HistoryBar;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::Model;
use crate::stages::acceleration::Acceleration;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::collision::{BackwardWork, Contact};
use crate::stages::constraint::ConstraintBar;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::learned::Learned;
use crate::stages::passive::Passive;
use crate::stages::sensing::Sensing;
use crate::stages::solve::SolveBar;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};

/// Cotangent of a [`State`].
#[derive(Clone, Debug, PartialEq)]
pub struct StateBar {
    /// Of the configuration, in tangent space, nv.
    pub qpos: Vec<f64>,
    /// Of the velocity, nv.
    pub qvel: Vec<f64>,
    /// Of the activations, na.
    pub act: Vec<f64>,
    /// Of the positions of the mocap bodies.
    pub mocap_position: Vec<Vec3>,
    /// Of the orientations of the mocap bodies, in tangent space.
    pub mocap_rotation: Vec<Vec3>,
    /// Of the time.
    pub time: f64,
    /// Of past controls and sensor values.
    pub history: Vec<HistoryBar>,
}

impl StateBar {
    /// All zero.
    pub fn zeros(model: &Model) -> Self {
        Self::like(&State::reference(model))
    }

    /// All zero, for states like this one.
    pub fn like(state: &State) -> Self {
        Self {
            qpos: vec![0.0; state.qvel.len()],
            qvel: vec![0.0; state.qvel.len()],
            act: vec![0.0; state.act.len()],
            mocap_position: vec![Vec3::ZERO; state.mocap_position.len()],
            mocap_rotation: vec![Vec3::ZERO; state.mocap_quat.len()],
            time: 0.0,
            history: state.history.iter().map(HistoryBar::like).collect(),
        }
    }

    /// Every number.
    fn numbers(&self) -> impl Iterator<Item = &f64> {
        let vectors = self.mocap_position.iter().chain(&self.mocap_rotation);
        (self.qpos.iter().chain(&self.qvel).chain(&self.act))
            .chain([&self.time])
            .chain(vectors.flat_map(|vector| &vector.0))
            .chain(self.history.iter().flat_map(HistoryBar::numbers))
    }

    /// Every number, to change.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        let vectors = (self.mocap_position.iter_mut()).chain(&mut self.mocap_rotation);
        (self
            .qpos
            .iter_mut()
            .chain(&mut self.qvel)
            .chain(&mut self.act))
        .chain([&mut self.time])
        .chain(vectors.flat_map(|vector| &mut vector.0))
        .chain(self.history.iter_mut().flat_map(HistoryBar::numbers_mut))
    }

    /// Sets every number to zero.
    pub fn set_zero(&mut self) {
        self.numbers_mut().for_each(|number| *number = 0.0);
    }

    /// Euclidean length.
    pub fn norm(&self) -> f64 {
        let squares = self.numbers().map(|number| number * number);
        squares.sum::<f64>().sqrt()
    }

    /// Multiplies every number.
    pub fn scale(&mut self, factor: f64) {
        self.numbers_mut().for_each(|number| *number *= factor);
    }

    /// Adds another cotangent.
    pub fn add(&mut self, other: &Self) {
        for (sum, term) in self.numbers_mut().zip(other.numbers()) {
            *sum += term;
        }
    }

    /// Adds the cotangents of what a step leaves alone, or only records: mocap bodies and histories.
    pub(crate) fn add_given(&mut self, other: &Self) {
        add(&mut self.mocap_position, &other.mocap_position);
        add(&mut self.mocap_rotation, &other.mocap_rotation);
        for (sum, terms) in self.history.iter_mut().zip(&other.history) {
            add(&mut sum.times, &terms.times);
            add(&mut sum.values, &terms.values);
        }
    }
}

/// Cotangent of an [`Input`].
#[derive(Clone, Debug, PartialEq)]
pub struct InputBar {
    /// Of the controls, nu.
    pub ctrl: Vec<f64>,
    /// Of the applied generalised forces, nv.
    pub force: Vec<f64>,
    /// Of the applied torques and forces on bodies.
    pub body_force: Vec<Spatial>,
    /// Of the length of the step.
    pub timestep: f64,
}

impl InputBar {
    /// All zero.
    pub fn zeros(model: &Model) -> Self {
        Self::like(&Input::zeros(model))
    }

    /// All zero, for inputs like this one.
    pub fn like(input: &Input) -> Self {
        Self {
            ctrl: vec![0.0; input.ctrl.len()],
            force: vec![0.0; input.force.len()],
            body_force: vec![Spatial::ZERO; input.body_force.len()],
            timestep: 0.0,
        }
    }

    /// Sets every number to zero.
    pub fn set_zero(&mut self) {
        self.timestep = 0.0;
        self.next_step();
    }

    /// Sets to zero what steps are given anew. Those in a row have one length, whose cotangent goes on as their sum.
    pub fn next_step(&mut self) {
        self.ctrl.fill(0.0);
        self.force.fill(0.0);
        self.body_force.fill(Spatial::ZERO);
    }
}

/// Cotangents of the results of all stages; see [`Data`].
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "each field is the cotangent of the stage it names"
)]
pub struct DataBar {
    pub kinematics: Kinematics,
    pub tendon: Tendon,
    pub inertia: Inertia,
    pub transmission: TransmissionData,
    pub velocity: Velocity,
    pub passive: Passive,
    pub bias: Bias,
    pub actuation: Actuation,
    pub learned: Learned,
    pub acceleration: Acceleration,
    pub constraint: ConstraintBar,
    pub solve: SolveBar,
    pub sensing: Sensing,
    /// Of the numbers of the contacts, in their order.
    pub contacts: Vec<Contact>,
    /// Work area of the collision stage.
    pub collision: BackwardWork,
    /// Work area: torque and force that the cotangents exert on each body frame, at its origin.
    pub frame_wrench: Vec<Spatial>,
}

impl DataBar {
    /// Room for the cotangents of a model, all zero.
    pub fn zeros(model: &Model) -> Self {
        let n = model.counts();
        Self {
            kinematics: Kinematics::zeros(n),
            tendon: Tendon::zeros(n),
            inertia: Inertia::zeros(n),
            transmission: TransmissionData::zeros(n),
            velocity: Velocity::zeros(n),
            passive: Passive::zeros(n),
            bias: Bias::zeros(n),
            actuation: Actuation::zeros(n),
            learned: Learned::zeros(n),
            acceleration: Acceleration::zeros(n),
            constraint: ConstraintBar::default(),
            solve: SolveBar::zeros(model),
            sensing: Sensing::zeros(n),
            contacts: Vec::new(),
            collision: BackwardWork::default(),
            frame_wrench: vec![Spatial::ZERO; n.nbody],
        }
    }

    /// Sets every number to zero, for the contacts and rows of these results: the start of a backward pass.
    pub fn start(&mut self, data: &Data) {
        self.kinematics.set_zero();
        self.tendon.set_zero();
        self.inertia.set_zero();
        self.transmission.set_zero();
        self.velocity.set_zero();
        self.passive.set_zero();
        self.bias.set_zero();
        self.actuation.set_zero();
        self.learned.set_zero();
        self.acceleration.set_zero();
        self.constraint.set_zero(&data.constraint);
        self.solve.set_zero(data.constraint.rows.len());
        self.sensing.set_zero();
        self.contacts.clear();
        let contacts = data.collision.contacts.iter();
        self.contacts
            .extend(contacts.map(|contact| contact.map(|_| 0.0)));
    }
}

/// Cotangent of every number of a model, in the model's own layout: adjoints add to its fields, sums of it are `+=`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBar(Model);

impl ModelBar {
    /// All zero.
    pub fn zeros(model: &Model) -> Self {
        Self(Model::zeros(model.structure.clone(), model.settings))
    }

    /// Sets every number to zero.
    pub fn set_zero(&mut self) {
        self.0.set_zero();
    }
}

impl Deref for ModelBar {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.0
    }
}

impl DerefMut for ModelBar {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.0
    }
}

impl AddAssign<&ModelBar> for ModelBar {
    fn add_assign(&mut self, other: &ModelBar) {
        self.0.add_numbers(&other.0);
    }
}

/// Cotangents of everything that a step depends on or computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cotangents {
    /// Of every number of the model.
    pub model: ModelBar,
    /// Of the state.
    pub state: StateBar,
    /// Of the input.
    pub input: InputBar,
    /// Of the results of the stages.
    pub data: DataBar,
}

impl Cotangents {
    /// All zero.
    pub fn zeros(model: &Model) -> Self {
        Self {
            model: ModelBar::zeros(model),
            state: StateBar::zeros(model),
            input: InputBar::zeros(model),
            data: DataBar::zeros(model),
        }
    }

    /// Gives the cotangent of the step's length to the model, whose own length the step had.
    pub fn give_timestep_to_model(&mut self) {
        self.model.option.timestep[0] += std::mem::take(&mut self.input.timestep);
    }
}

/// The cotangent of a unit quaternion's four numbers from that of a turn δ in its own frame.
#[inline]
pub fn quat_bar(quat: Quat, turn_bar: Vec3) -> Quat {
    quat.mul(Quat::from_parts(0.0, turn_bar)).scale(2.0)
}

/// The cotangent of a turn δ in its own frame from that of a unit quaternion's four numbers, tangential or not.
#[inline]
pub fn turn_bar(quat: Quat, quat_bar: Quat) -> Vec3 {
    quat.conjugate().mul(quat_bar).parts().1.scale(0.5)
}
