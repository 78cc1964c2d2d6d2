//! The adjoint of sensors and energies.
//!
//! Read upwards: sensors pass their cotangents to what they read, among it the passes over the tree, which follow from
//! the last to the first. Distances between geoms have a pass of their own, as in the forward direction:
//! [`measure_distances_backward`](super::measure_distances_backward).

use super::{Sensed, Sensing};
use crate::cotangent::{InputBar, StateBar};
use crate::history::delay_sensor_vjp;
use crate::model::{Model, SensorKind};
use crate::stages::actuation::Actuation;
use crate::stages::collision::Contact;
use crate::stages::constraint::ConstraintBar;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::solve::SolveBar;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};

/// Cotangents that the sensors pass on.
#[derive(Debug)]
#[allow(missing_docs, reason = "each field is the cotangent of what it names")]
pub struct Targets<'a> {
    pub kinematics: &'a mut Kinematics,
    pub tendon: &'a mut Tendon,
    pub inertia: &'a mut Inertia,
    pub transmission: &'a mut TransmissionData,
    pub velocity: &'a mut Velocity,
    pub actuation: &'a mut Actuation,
    pub contacts: &'a mut [Contact],
    pub constraint: &'a mut ConstraintBar,
    pub solve: &'a mut SolveBar,
    pub model: &'a mut Model,
    pub state: &'a mut StateBar,
    pub input: &'a mut InputBar,
}

/// Whether [`backward`] passes the cotangents of a sensor on; distances between geoms have a pass of their own.
fn has_backward(kind: SensorKind) -> bool {
    !matches!(
        kind,
        SensorKind::GeomDistance { .. }
            | SensorKind::GeomNormal { .. }
            | SensorKind::GeomFromTo { .. }
    )
}

/// Everything that the adjoints of sensors read and write.
pub(super) struct Reverse<'a, 't> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) input: &'a Input,
    pub(super) stages: &'a Sensed<'a, f64>,
    pub(super) sensing: &'a Sensing,
    pub(super) bar: &'a mut Sensing,
    pub(super) targets: &'a mut Targets<'t>,
}

/// The adjoint of [`delay`](super::delay), which comes first: the cotangents of sensor values become those of fresh
/// values, and what sensors report of the past passes its own to the histories.
pub fn delay_backward(
    model: &Model,
    state: &State,
    bar: &mut Sensing,
    (state_bar, model_bar): (&mut StateBar, &mut Model),
) {
    if state.history.is_empty() || model.settings.disable.sensor {
        return;
    }
    let sensors = &model.structure.sensors;
    for sensor in 0..sensors.kind.len() {
        let values_bar = &mut bar.values[sensors.address[sensor]..][..sensors.dimension[sensor]];
        let targets = (&mut *state_bar, &mut *model_bar);
        delay_sensor_vjp(model, state, sensor, values_bar, targets);
    }
    for (value_bar, measured_bar) in bar.values.iter_mut().zip(&mut bar.measured) {
        *value_bar += std::mem::take(measured_bar);
    }
}

/// Adds the cotangents of everything that sensors read; `bar` is used up.
pub fn backward(
    model: &Model,
    (state, input): (&State, &Input),
    stages: &Sensed<'_, f64>,
    sensing: &Sensing,
    bar: &mut Sensing,
    mut targets: Targets<'_>,
) {
    let sensors = &model.structure.sensors;
    let needs = &sensors.needs;
    let enabled = !model.settings.disable.sensor;
    let mut reverse = Reverse {
        model,
        state,
        input,
        stages,
        sensing,
        bar,
        targets: &mut targets,
    };
    if enabled && !sensors.kind.is_empty() {
        for (sensor, &kind) in sensors.kind.iter().enumerate() {
            if has_backward(kind) {
                reverse.sensor(sensor, kind);
            }
        }
        if needs.interaction_force {
            reverse.interaction_forces();
            reverse.external_forces();
        }
        if needs.acceleration {
            reverse.accelerations();
        }
        if needs.subtree_velocity {
            reverse.subtree_velocities();
        }
    }
    if model.settings.enable.energy || enabled && needs.energy {
        let [potential_bar, kinetic_bar] = reverse.bar.energy[0];
        reverse.potential_energy(potential_bar);
        reverse.kinetic_energy(kinetic_bar);
    }
}
