//! THE list of stages: read it down for the forward pass; the backward pass is the same list read upwards.

use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::{
    acceleration, actuation, bias, collision, constraint, inertia, kinematics, passive, sensing,
    solve, tendon, transmission, velocity,
};
use crate::state::{Input, State};

/// Everything that depends on the configuration alone.
pub fn forward_position<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    kinematics::forward(model, state, &mut data.kinematics);
    tendon::forward(model, state, &data.kinematics, &mut data.tendon);
    inertia::forward(model, &data.kinematics, &data.tendon, &mut data.inertia);
    collision::forward(model, &data.kinematics, &mut data.collision);
    transmission::forward(
        model,
        state,
        &data.kinematics,
        &data.tendon,
        &mut data.transmission,
    );
}

/// Everything that depends on configuration and velocity.
pub fn forward_velocity<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let Data {
        kinematics,
        tendon,
        transmission,
        velocity,
        passive,
        bias,
        ..
    } = data;
    velocity::forward(model, state, kinematics, tendon, transmission, velocity);
    passive::forward(model, state, kinematics, tendon, velocity, passive);
    bias::forward(model, state, kinematics, tendon, velocity, bias);
}

/// From state and input to acceleration.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    forward_position(model, state, data);
    forward_velocity(model, state, data);
    let Data {
        transmission,
        velocity,
        passive,
        actuation,
        ..
    } = data;
    actuation::forward(
        model,
        state,
        input,
        transmission,
        velocity,
        passive,
        actuation,
    );
    let Data {
        kinematics,
        inertia,
        passive,
        bias,
        actuation,
        acceleration,
        ..
    } = data;
    acceleration::forward(
        model,
        input,
        kinematics,
        inertia,
        (passive, bias, actuation),
        acceleration,
    );
    constrain(model, state, input, data);
}

/// The part of [`forward`] that depends on contacts: constraint rows and their solution.
pub fn constrain<T: Scalar>(
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
    };
    constraint::forward(model, state, input, sources, &mut data.constraint);
    let Data {
        inertia,
        acceleration,
        constraint,
        solve,
        ..
    } = data;
    solve::forward(
        model,
        inertia,
        acceleration,
        constraint,
        &state.warmstart,
        solve,
    );
}

/// As [`forward`], then sensors and energies.
pub fn forward_and_sense<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    data: &mut Data<T>,
) {
    forward(model, state, input, data);
    let (stages, sensing) = data.split_sensing();
    sensing::forward(model, state, input, &stages, sensing);
}
