//! The adjoint of sensors and energies.
//!
//! Read upwards: sensors pass their cotangents to what they read, among it the passes over the tree, which follow from
//! the last to the first. Distances between geoms have a pass of their own, as in the forward direction:
//! [`measure_distances_backward`](super::measure_distances_backward).

use std::mem::take;

use super::{Sensed, Sensing, measure_distances_backward};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::history::delay_sensor_vjp;
use crate::model::{Model, SensorKind};
use crate::state::{Input, State};

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
pub(super) struct Reverse<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) input: &'a Input,
    pub(super) stages: &'a Sensed<'a, f64>,
    pub(super) sensing: &'a Sensing,
    /// Cotangents of sensors and energies.
    pub(super) bar: Sensing,
    /// Cotangents of everything else.
    pub(super) bars: &'a mut Cotangents,
}

/// The adjoint of [`delay`](super::delay), which comes first: the cotangents of sensor values become those of fresh
/// values, and what sensors report of the past passes its own to the histories.
fn delay_backward(at: At<'_>, bar: &mut Sensing, bars: &mut Cotangents) {
    let (model, state) = (at.model, at.state);
    if state.history.is_empty() || model.settings.disable.sensor {
        return;
    }
    let sensors = &model.structure.sensors;
    for sensor in 0..sensors.kind.len() {
        let values_bar = &mut bar.values[sensors.address[sensor]..][..sensors.dimension[sensor]];
        let targets = (&mut bars.state, &mut *bars.model);
        delay_sensor_vjp(model, state, sensor, values_bar, targets);
    }
    for (value_bar, measured_bar) in bar.values.iter_mut().zip(&mut bar.measured) {
        *value_bar += take(measured_bar);
    }
}

/// Adds the cotangents of everything that sensors read; those of the sensors are used up.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let mut bar = take(&mut bars.data.sensing);
    delay_backward(at, &mut bar, bars);
    measure_distances_backward(at, &bar, bars);
    let sensors = &at.model.structure.sensors;
    let needs = &sensors.needs;
    let enabled = !at.model.settings.disable.sensor;
    let mut reverse = Reverse {
        model: at.model,
        state: at.state,
        input: at.input,
        stages: &at.data.sensed(),
        sensing: &at.data.sensing,
        bar,
        bars,
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
    if at.model.settings.enable.energy || enabled && needs.energy {
        let [potential_bar, kinetic_bar] = reverse.bar.energy[0];
        reverse.potential_energy(potential_bar);
        reverse.kinetic_energy(kinetic_bar);
    }
    reverse.bars.data.sensing = reverse.bar;
}
