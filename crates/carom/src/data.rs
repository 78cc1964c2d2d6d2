//! Results of all stages for one state.

use crate::integrate::Integration;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::collision::Collision;
use crate::stages::compliance::Compliance;
use crate::stages::constraint::{Constraint, Sources};
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::learned::Learned;
use crate::stages::passive::Passive;
use crate::stages::sensing::{Sensed, Sensing};
use crate::stages::solve::{Solve, complementarity};
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// One struct per stage, in the order of [`dynamics`](crate::dynamics). Allocated once per simulation.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "each field is the result of the stage it names"
)]
pub struct Data<T: Scalar = f64> {
    /// Length of the step that the results belong to (s): that of the input they were computed for.
    pub timestep: T,
    pub kinematics: Kinematics<T>,
    pub tendon: Tendon<T>,
    pub inertia: Inertia<T>,
    pub transmission: TransmissionData<T>,
    pub collision: Collision<T>,
    pub velocity: Velocity<T>,
    pub passive: Passive<T>,
    pub bias: Bias<T>,
    pub compliance: Compliance<T>,
    pub actuation: Actuation<T>,
    pub learned: Learned<T>,
    pub acceleration: Acceleration<T>,
    pub constraint: Constraint<T>,
    pub solve: Solve<T>,
    pub sensing: Sensing<T>,
    pub integration: Integration<T>,
}

/// What sensors read of some results, field by field, so that other fields can be borrowed beside it.
macro_rules! sensed {
    ($data:expr) => {
        Sensed {
            kinematics: &$data.kinematics,
            tendon: &$data.tendon,
            inertia: &$data.inertia,
            transmission: &$data.transmission,
            velocity: &$data.velocity,
            actuation: &$data.actuation,
            acceleration: &$data.acceleration,
            collision: &$data.collision,
            constraint: &$data.constraint,
            solve: &$data.solve,
        }
    };
}

impl<T: Scalar> Data<T> {
    /// Room for all results of a model.
    pub fn new(model: &Model<T>) -> Self {
        let n = model.counts();
        Self {
            timestep: model.option.timestep[0],
            kinematics: Kinematics::zeros(n),
            tendon: Tendon::zeros(n),
            inertia: Inertia::zeros(n),
            transmission: TransmissionData::zeros(n),
            collision: Collision::default(),
            velocity: Velocity::zeros(n),
            passive: Passive::zeros(n),
            bias: Bias::zeros(n),
            compliance: Compliance::default(),
            actuation: Actuation::zeros(n),
            learned: Learned::zeros(n),
            acceleration: Acceleration::zeros(n),
            constraint: Constraint::default(),
            solve: Solve::new(model),
            sensing: Sensing::zeros(n),
            integration: Integration::new(model),
        }
    }

    /// The mass matrix of the joints, nv × nv row by row.
    pub fn mass_matrix(&self, model: &Model<T>) -> Vec<T> {
        let count = model.counts().nv;
        let mut dense = vec![T::ZERO; count * count];
        tree_ldl::to_dense(&model.structure.inertia, &self.inertia.matrix, &mut dense);
        dense
    }

    /// What constraint rows are made from.
    pub fn constraint_sources(&self) -> Sources<'_, T> {
        Sources {
            kinematics: &self.kinematics,
            tendon: &self.tendon,
            inertia: &self.inertia,
            velocity: &self.velocity,
            collision: &self.collision,
            timestep: self.timestep,
        }
    }

    /// What impulses are solved from, and where they are written.
    pub(crate) fn split_solve<'a>(
        &'a mut self,
        state: &'a State<T>,
    ) -> (complementarity::Given<'a, T>, &'a mut Solve<T>) {
        let given = complementarity::Given {
            state,
            timestep: self.timestep,
            inertia: &self.inertia,
            acceleration: &self.acceleration,
            constraint: &self.constraint,
            collision: &self.collision,
        };
        (given, &mut self.solve)
    }

    /// What sensors read.
    pub fn sensed(&self) -> Sensed<'_, T> {
        sensed!(self)
    }

    /// What sensors read, and where they write.
    pub fn split_sensing(&mut self) -> (Sensed<'_, T>, &mut Sensing<T>) {
        (sensed!(self), &mut self.sensing)
    }
}
