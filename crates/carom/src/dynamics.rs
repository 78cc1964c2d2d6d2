//! THE list of stages: read it down for the forward pass; the backward pass is the same list read upwards.

pub mod backward;
mod surrogate;

pub use backward::At;
pub(crate) use surrogate::Surrogate;

use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::ActuatorPlace;
use crate::stages::solve::Phase;
use crate::stages::{
    acceleration, actuation, bias, collision, compliance, constraint, inertia, kinematics, learned,
    passive, sensing, solve, tendon, transmission, velocity,
};
use crate::state::{Input, State};

/// Told by the list below when a stage has ended, to time it for instance. `()` is the observer that does nothing and
/// costs nothing.
pub trait Observer {
    /// A stage has ended.
    fn ended(&mut self, stage: &'static str);
}

impl Observer for () {
    #[inline]
    fn ended(&mut self, _: &'static str) {}
}

impl<T: Observer + ?Sized> Observer for &mut T {
    fn ended(&mut self, stage: &'static str) {
        (**self).ended(stage);
    }
}

/// The list, with what it reads, what it writes and who looks on.
struct Stages<'a, T: Scalar, O> {
    model: &'a Model<T>,
    state: &'a State<T>,
    data: &'a mut Data<T>,
    observer: &'a mut O,
}

impl<T: Scalar, O: Observer> Stages<'_, T, O> {
    fn position(&mut self) {
        let Self {
            model,
            state,
            data,
            observer,
        } = self;
        kinematics::forward(model, state, &mut data.kinematics);
        observer.ended("kinematics");
        tendon::forward(model, state, &data.kinematics, &mut data.tendon);
        observer.ended("tendon");
        inertia::forward(model, &data.kinematics, &data.tendon, &mut data.inertia);
        observer.ended("inertia");
        data.collision.is_mapped = (model.strike.as_deref())
            .is_some_and(|map| map.is_asked(model, state, &data.kinematics));
        collision::forward(model, &data.kinematics, &mut data.collision);
        observer.ended("collision");
        transmission::forward(
            model,
            state,
            &data.kinematics,
            &data.tendon,
            &data.collision,
            &mut data.transmission,
        );
        observer.ended("transmission");
    }

    fn velocity(&mut self) {
        let (model, state, observer) = (self.model, self.state, &mut *self.observer);
        let Data {
            kinematics,
            tendon,
            transmission,
            collision,
            velocity,
            passive,
            bias,
            compliance,
            learned,
            ..
        } = &mut *self.data;
        velocity::forward(model, state, kinematics, tendon, transmission, velocity);
        observer.ended("velocity");
        passive::forward(
            model, state, kinematics, tendon, velocity, collision, passive,
        );
        observer.ended("passive");
        bias::forward(model, state, kinematics, tendon, velocity, bias);
        observer.ended("bias");
        if !model.structure.learned.is_empty() {
            let sources = learned::Sources {
                state,
                input: None,
                kinematics,
                transmission,
                velocity,
                passive,
                bias,
                actuation: None,
            };
            learned::forward_contacts(model, sources, collision, learned);
            observer.ended("learned");
        }
        compliance::forward(model, kinematics, collision, velocity, compliance);
        observer.ended("compliance");
    }

    fn smooth(&mut self, input: &Input<T>) {
        self.data.timestep = input.timestep;
        self.position();
        self.velocity();
        let (model, state) = (self.model, self.state);
        let Data {
            kinematics,
            inertia,
            transmission,
            velocity,
            passive,
            bias,
            compliance,
            actuation,
            learned,
            acceleration,
            ..
        } = &mut *self.data;
        let has_terms = !model.structure.learned.is_empty();
        let sources = learned::Sources {
            state,
            input: Some(input),
            kinematics,
            transmission,
            velocity,
            passive,
            bias,
            actuation: None,
        };
        if has_terms {
            learned::forward_actuators(model, sources, learned);
            self.observer.ended("learned");
        }
        let place = ActuatorPlace {
            transmission,
            velocity,
            timestep: input.timestep,
        };
        let before = (&*passive, &*learned);
        actuation::forward(model, state, input, place, before, actuation);
        self.observer.ended("actuation");
        if has_terms {
            let actuation = Some(&*actuation);
            let sources = learned::Sources {
                actuation,
                ..sources
            };
            learned::forward(model, sources, learned);
            self.observer.ended("learned");
        }
        let forces = (&*passive, &*bias, &*compliance, &*actuation, &*learned);
        acceleration::forward(model, input, kinematics, inertia, forces, acceleration);
        self.observer.ended("acceleration");
    }

    fn constraints(&mut self, input: &Input<T>) {
        constraint_rows(self.model, self.state, input, self.data);
        self.observer.ended("constraint");
        solve_constraints(self.model, self.state, self.data);
        self.observer.ended("solve");
    }
}

/// All stages, unobserved.
fn stages<'a, T: Scalar>(
    model: &'a Model<T>,
    state: &'a State<T>,
    data: &'a mut Data<T>,
    observer: &'a mut (),
) -> Stages<'a, T, ()> {
    Stages {
        model,
        state,
        data,
        observer,
    }
}

/// Everything that depends on the configuration alone.
pub fn forward_position<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    stages(model, state, data, &mut ()).position();
}

/// Everything that depends on configuration and velocity.
pub fn forward_velocity<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    stages(model, state, data, &mut ()).velocity();
}

/// From state and input to acceleration.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    smooth(model, state, input, data);
    constrain(model, state, input, data);
}

/// From state and input to the acceleration without constraints.
pub(crate) fn smooth<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    stages(model, state, data, &mut ()).smooth(input);
}

/// The part of [`forward`] that depends on contacts: constraint rows and their solution.
pub fn constrain<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    stages(model, state, data, &mut ()).constraints(input);
}

/// The acceleration that the constraint rows leave.
pub(crate) fn solve_constraints<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let (given, solve) = data.split_solve(state);
    solve::level::solve(model, given, solve);
}

pub(crate) fn constraint_rows<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    let sources = constraint::Sources {
        kinematics: &data.kinematics,
        tendon: &data.tendon,
        inertia: &data.inertia,
        velocity: &data.velocity,
        collision: &data.collision,
        timestep: input.timestep,
    };
    constraint::forward(model, state, input, sources, &mut data.constraint);
}

/// What [`forward`] found, computed again for a backward pass: the solver does not search but takes the acceleration
/// that it found then. False where its equations have no unique solution.
pub fn retrace(
    model: &Model,
    state: &State,
    input: &Input,
    acceleration: &[f64],
    data: &mut Data,
) -> bool {
    smooth(model, state, input, data);
    constraint_rows(model, state, input, data);
    settle(model, state, acceleration, &[], data)
}

/// The end of [`retrace`]: takes the acceleration that the solver found for the constraint rows at hand. They are on the
/// pieces of their laws where it puts them, or on those given.
pub(crate) fn settle(
    model: &Model,
    state: &State,
    acceleration: &[f64],
    phases: &[Phase],
    data: &mut Data,
) -> bool {
    let (given, solve) = data.split_solve(state);
    solve::level::settle(model, given, (acceleration, phases), solve)
}

/// As [`forward`], then sensors and energies.
pub fn forward_and_sense<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    observe_and_sense(model, state, input, data, &mut ());
}

/// As [`forward_and_sense`], telling an observer when each stage has ended.
pub fn observe_and_sense<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
    observer: &mut impl Observer,
) {
    let mut stages = Stages {
        model,
        state,
        data,
        observer,
    };
    stages.smooth(input);
    stages.constraints(input);
    sense(model, state, input, data);
    observer.ended("sensing");
}

/// Sensors and energies, after [`forward`].
pub fn sense<T: Scalar>(model: &Model<T>, state: &State<T>, input: &Input<T>, data: &mut Data<T>) {
    let (stages, sensing) = data.split_sensing();
    sensing::forward(model, state, input, &stages, sensing);
    let Data {
        kinematics,
        collision,
        sensing,
        ..
    } = data;
    sensing::measure_distances(model, kinematics, &mut collision.manifold, sensing);
    sensing::delay(model, state, sensing);
}
