//! The adjoint of sensors and energies.
//!
//! Read upwards: sensors pass their cotangents to what they read, among it the passes over the tree, which follow from
//! the last to the first.

use std::mem::take;

use super::forward::clip_vjp;
use super::{Sensed, Sensing};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::history::delay_sensor_vjp;
use crate::model::Model;
use crate::state::{Input, State};

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
    for sensor in 0..sensors.list.len() {
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
    if enabled && !sensors.list.is_empty() {
        // Fresh values, which tell what was held at the cutoff.
        let fresh = if at.state.history.is_empty() {
            &at.data.sensing.values
        } else {
            &at.data.sensing.measured
        };
        let mut values_bar = take(&mut reverse.bar.values);
        for (index, sensor) in sensors.list.iter().enumerate() {
            let range = sensors.address[index]..sensors.address[index] + sensors.dimension[index];
            let (values, bars) = (&fresh[range.clone()], &mut values_bar[range]);
            let cutoff_bar = clip_vjp(at.model, index, values, bars);
            reverse.bars.model.sensors.cutoff[index] += cutoff_bar;
            reverse.sensor(index, sensor, bars);
        }
        reverse.bar.values = values_bar;
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
