//! THE list of stages read upwards: from cotangents of results to those of state, input and model.
//!
//! Each function below says what one stage's backward twin reads and adds to; [`backward`] is their order.

use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::data::Data;
use crate::model::Model;
use crate::stages::{
    acceleration, actuation, bias, collision, compliance, constraint, inertia, kinematics, passive,
    sensing, solve, tendon, transmission, velocity,
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
/// and energies come first, through [`sensing()`].
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    observe_backward(at, bar, &mut ());
}

/// [`backward`] under the eyes of an observer.
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
    macro_rules! stages {
        ($($stage:ident)*) => {$(
            observer.before_stage(stringify!($stage), at, &mut bar.data);
            $stage(at, bar);
        )*};
    }
    stages! {
        constraint acceleration actuation compliance bias passive velocity transmission collision inertia tendon
        kinematics
    }
}

/// The adjoint of [`sense`](super::sense).
pub fn sensing(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    sensing::delay_backward(
        at.model,
        at.state,
        &mut data.sensing,
        (&mut bar.state, &mut bar.model),
    );
    sensing::measure_distances_backward(
        at.model,
        &at.data.kinematics,
        &data.sensing,
        &mut data.collision,
        &mut data.kinematics,
        &mut bar.model,
    );
    sensing::backward(
        at.model,
        (at.state, at.input),
        &at.data.sensed(),
        &at.data.sensing,
        &mut data.sensing,
        sensing::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            inertia: &mut data.inertia,
            transmission: &mut data.transmission,
            velocity: &mut data.velocity,
            actuation: &mut data.actuation,
            contacts: &mut data.contacts,
            constraint: &mut data.constraint,
            solve: &mut data.solve,
            model: &mut bar.model,
            state: &mut bar.state,
            input: &mut bar.input,
        },
    );
}

pub(crate) fn solve(at: At<'_>, bar: &mut Cotangents) {
    solve::level::backward(at, bar);
}

pub(crate) fn constraint(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    constraint::backward(
        at.model,
        at.state,
        at.data.constraint_sources(),
        &at.data.constraint,
        &mut data.constraint,
        constraint::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            inertia: &mut data.inertia,
            velocity: &mut data.velocity,
            contacts: &mut data.contacts,
            model: &mut bar.model,
            state: &mut bar.state,
            timestep: &mut bar.input.timestep,
        },
    );
}

pub(crate) fn acceleration(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    acceleration::backward(
        at.model,
        at.input,
        (&at.data.kinematics, &at.data.inertia),
        &at.data.acceleration,
        &mut data.acceleration,
        acceleration::Targets {
            kinematics: &mut data.kinematics,
            inertia: &mut data.inertia,
            passive: &mut data.passive,
            bias: &mut data.bias,
            actuation: &mut data.actuation,
            input: &mut bar.input,
        },
    );
}

pub(crate) fn actuation(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    actuation::backward(
        at.model,
        (at.state, at.input),
        (&at.data.transmission, &at.data.velocity, &at.data.passive),
        &at.data.actuation,
        &mut data.actuation,
        actuation::Targets {
            transmission: &mut data.transmission,
            velocity: &mut data.velocity,
            passive: &mut data.passive,
            model: &mut bar.model,
            state: &mut bar.state,
            input: &mut bar.input,
        },
    );
}

/// After the adjoint of the acceleration, the cotangent of the smooth force is that of each of its terms.
pub(crate) fn compliance(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    compliance::backward(
        at.model,
        (&at.data.kinematics, &at.data.collision, &at.data.velocity),
        &data.acceleration.force_smooth,
        compliance::Targets {
            kinematics: &mut data.kinematics,
            velocity: &mut data.velocity,
            contacts: &mut data.contacts,
            model: &mut bar.model,
        },
    );
}

pub(crate) fn bias(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    bias::backward(
        at.model,
        at.state,
        (&at.data.kinematics, &at.data.tendon, &at.data.velocity),
        &at.data.bias,
        &mut data.bias,
        bias::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            velocity: &mut data.velocity,
            model: &mut bar.model,
            state: &mut bar.state,
        },
    );
}

pub(crate) fn passive(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    passive::backward(
        at.model,
        at.state,
        (
            &at.data.kinematics,
            &at.data.tendon,
            &at.data.velocity,
            &at.data.collision,
        ),
        &mut data.passive,
        passive::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            velocity: &mut data.velocity,
            contacts: &mut data.contacts,
            model: &mut bar.model,
            state: &mut bar.state,
            body_work: &mut data.frame_wrench,
        },
    );
}

pub(crate) fn velocity(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    velocity::backward(
        at.model,
        at.state,
        (&at.data.kinematics, &at.data.tendon, &at.data.transmission),
        &at.data.velocity,
        &mut data.velocity,
        velocity::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            transmission: &mut data.transmission,
            state: &mut bar.state,
        },
    );
}

pub(crate) fn transmission(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    transmission::backward(
        at.model,
        at.state,
        (&at.data.kinematics, &at.data.tendon, &at.data.collision),
        &data.transmission,
        transmission::Targets {
            kinematics: &mut data.kinematics,
            tendon: &mut data.tendon,
            contacts: &mut data.contacts,
            model: &mut bar.model,
            state: &mut bar.state,
        },
    );
}

pub(crate) fn collision(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    collision::backward(
        at.model,
        &at.data.kinematics,
        &at.data.collision,
        &data.contacts,
        &mut data.collision,
        &mut data.kinematics,
        &mut bar.model,
    );
}

pub(crate) fn inertia(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    inertia::backward(
        at.model,
        (&at.data.kinematics, &at.data.tendon),
        &at.data.inertia,
        &mut data.inertia,
        (&mut data.kinematics, &mut data.tendon),
        &mut bar.model,
    );
}

pub(crate) fn tendon(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    tendon::backward(
        at.model,
        at.state,
        &at.data.kinematics,
        &at.data.tendon,
        &data.tendon,
        tendon::Targets {
            kinematics: &mut data.kinematics,
            model: &mut bar.model,
            state: &mut bar.state,
        },
    );
}

pub(crate) fn kinematics(at: At<'_>, bar: &mut Cotangents) {
    let data = &mut bar.data;
    kinematics::backward(
        at.model,
        at.state,
        &at.data.kinematics,
        &mut data.kinematics,
        &mut data.frame_wrench,
        &mut bar.model,
        &mut bar.state,
    );
}
