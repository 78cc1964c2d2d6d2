//! Inverse dynamics: the generalised force that a given acceleration takes.
//!
//!   τ = M·a + c − passive                                                                (1)
//!
//! is what actuators and applied forces must give together. Learned terms count as passive, as they act without controls. With `invdiscrete` the acceleration is that of a whole
//! step, â = (v⁺ − v)/h; what the integrator solves, (M − h·D)·â = τ + passive − c, is then read backwards:
//!
//!   τ = (M − h·D)·â + c − passive                                                        (2)

use crate::data::Data;
use crate::dynamics;
use crate::integrate;
use crate::model::{Integrator, Model};
use crate::stages::{inertia, learned};
use crate::state::State;

/// Writes the generalised force under which `state` accelerates at `acceleration`.
///
/// Position and velocity stages of `data` are computed on the way. Under RK4 a step has no single acceleration, and
/// `invdiscrete` is ignored.
pub fn forward(
    model: &Model,
    state: &State,
    acceleration: &[f64],
    data: &mut Data,
    force: &mut [f64],
) {
    dynamics::forward_position(model, state, data);
    dynamics::forward_velocity(model, state, data);
    let discrete =
        model.settings.enable.invdiscrete && model.settings.integrator != Integrator::RungeKutta4;
    if discrete {
        integrate::multiply_step_inertia(model, state, acceleration, data, force); // (2)
    } else {
        inertia::mul(model, &data.inertia, acceleration, force); // (1)
    }
    for (dof, force) in force.iter_mut().enumerate() {
        *force += data.bias.force[dof] - data.passive.total[dof];
    }
    for (force, &contacts) in force.iter_mut().zip(&data.compliance.force) {
        *force -= contacts;
    }
    if !model.structure.learned.is_empty() {
        subtract_learned(model, state, data, force);
    }
}

/// Learned terms that act on dofs and bodies; what they read of actuators counts as zero.
fn subtract_learned(model: &Model, state: &State, data: &mut Data, force: &mut [f64]) {
    let sources = learned::Sources {
        state,
        input: None,
        kinematics: &data.kinematics,
        transmission: &data.transmission,
        velocity: &data.velocity,
        passive: &data.passive,
        bias: &data.bias,
        actuation: None,
    };
    learned::forward_actuators(model, sources, &mut data.learned);
    learned::forward(model, sources, &mut data.learned);
    for (force, &learned) in force.iter_mut().zip(&data.learned.force) {
        *force -= learned;
    }
}
