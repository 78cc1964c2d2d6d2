//! THE list of stages read upwards: from cotangents of results to those of state, input and model.
//!
//! A stage's `backward` takes the results of the forward pass and the cotangents of everything. It uses up those of its
//! own results and adds to those of what it reads; [`backward`] is their order.

use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::data::Data;
use crate::model::Model;
use crate::stages::{
    acceleration, actuation, bias, collision, compliance, constraint, inertia, kinematics, learned,
    passive, solve, tendon, transmission, velocity,
};
use crate::state::{Input, State};

/// Where derivatives are taken: what the stages were given, and their results.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The model.
    pub model: &'a Model,
    /// The state.
    pub state: &'a State,
    /// The input.
    pub input: &'a Input,
    /// The results; the factors of H must be those of the solution, see
    /// [`solve::factor_at_solution`].
    pub data: &'a Data,
}

/// Looks on while steps are read backwards, and may change what they carry; `()` does neither. It is called a few times a
/// step, so by reference: passes are compiled once and not for every observer.
pub trait Observer {
    /// The adjoint of a step is about to use the cotangents of the state that the step led to.
    #[inline]
    fn before_step(&mut self, next: &mut StateBar) {
        let _ = next;
    }

    /// The twin of a stage is about to use up the cotangents of the stage's results.
    #[inline]
    fn before_stage(&mut self, stage: &'static str, at: At<'_>, bar: &mut DataBar) {
        let _ = (stage, at, bar);
    }

    /// Whether the pass is to go on; asked before each step.
    #[inline]
    fn goes_on(&mut self) -> bool {
        true
    }
}

impl Observer for () {}

/// The adjoint of [`forward`](super::forward): uses up `bar.data` and adds to the other cotangents. Cotangents of sensors
/// and energies come first, through
/// [`sensing::backward`](crate::stages::sensing::backward).
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    observe_backward(at, bar, &mut ());
}

/// [`backward`] with an observer.
pub fn observe_backward(at: At<'_>, bar: &mut Cotangents, observer: &mut dyn Observer) {
    observer.before_stage("solve", at, &mut bar.data);
    solve(at, bar);
    observe_backward_of_rows(at, bar, observer);
}

/// The rest of [`observe_backward`] after the solution of the constraints.
pub(crate) fn observe_backward_of_rows(
    at: At<'_>,
    bar: &mut Cotangents,
    observer: &mut dyn Observer,
) {
    let mut read = |stage: &'static str, backward: fn(At<'_>, &mut Cotangents)| {
        observer.before_stage(stage, at, &mut bar.data);
        backward(at, bar);
    };
    read("constraint", constraint::backward);
    read("acceleration", acceleration::backward);
    read("learned", learned::backward);
    read("actuation", actuation::backward);
    read("learned", learned::backward_actuators);
    read("compliance", compliance::backward);
    read("learned", learned::backward_contacts);
    read("bias", bias::backward);
    read("passive", passive::backward);
    read("velocity", velocity::backward);
    read("transmission", transmission::backward);
    read("collision", collision::backward);
    read("inertia", inertia::backward);
    read("tendon", tendon::backward);
    read("kinematics", kinematics::backward);
}

pub(crate) fn solve(at: At<'_>, bar: &mut Cotangents) {
    solve::level::backward(at, bar);
}
