use std::mem::take;

use super::measure::Reader;
use super::{Sensed, Sensing, kinetic_energy, potential_energy, tree_pass};
use crate::history::delay_sensor;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// Evaluates all sensors.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    stages: &Sensed<'_, T>,
    out: &mut Sensing<T>,
) {
    let sensors = &model.structure.sensors;
    let needs = &sensors.needs;
    let sensing = !model.settings.disable.sensor;
    if model.settings.enable.energy || sensing && needs.energy {
        let potential = potential_energy(model, state, stages);
        out.energy[0] = [potential, kinetic_energy(model, state, stages)];
    }
    if !sensing || sensors.list.is_empty() {
        return;
    }
    if needs.subtree_velocity {
        tree_pass::subtree_velocities(model, stages, out);
    }
    if needs.acceleration {
        tree_pass::accelerations(model, state, stages, out);
    }
    if needs.interaction_force {
        tree_pass::interaction_forces(model, input, stages, out);
    }
    // The values are apart while they are written, the rest is read.
    let mut values = take(&mut out.values);
    let reader = Reader {
        model,
        state,
        stages,
        sensing: out,
    };
    for (index, sensor) in sensors.list.iter().enumerate() {
        let values = &mut values[sensors.address[index]..][..sensors.dimension[index]];
        reader.measure(sensor, values);
        clip(model, index, values);
    }
    out.values = values;
}

/// Keeps the fresh values, and replaces those of sensors that report the past or are read at intervals only.
pub fn delay<T: Scalar>(model: &Model<T>, state: &State<T>, out: &mut Sensing<T>) {
    if state.history.is_empty() || model.settings.disable.sensor {
        return;
    }
    out.measured.copy_from_slice(&out.values);
    let sensors = &model.structure.sensors;
    for sensor in 0..sensors.list.len() {
        let values = &mut out.values[sensors.address[sensor]..][..sensors.dimension[sensor]];
        delay_sensor(model, state, sensor, values);
    }
}

/// Holds the values within the sensor's cutoff.
pub(super) fn clip<T: Scalar>(model: &Model<T>, sensor: usize, values: &mut [T]) {
    let cutoff = model.sensors.cutoff[sensor];
    let Some(both_signs) = clips_both_signs(model, sensor) else {
        return;
    };
    for value in values {
        *value = if both_signs {
            value.clamp(-cutoff, cutoff)
        } else {
            value.min(cutoff)
        };
    }
}

/// Whether values are held within the cutoff on both sides, or on the upper side only; none if they are not.
fn clips_both_signs<T: Scalar>(model: &Model<T>, sensor: usize) -> Option<bool> {
    let clips = model.sensors.cutoff[sensor].value() > 0.0;
    model.structure.sensors.clip[sensor].filter(|_| clips)
}

/// The adjoint of [`clip`]: what is held at the cutoff depends on it alone. Sets the cotangents of such values to zero and
/// returns that of the cutoff.
pub(super) fn clip_vjp(model: &Model, sensor: usize, clipped: &[f64], bars: &mut [f64]) -> f64 {
    let cutoff = model.sensors.cutoff[sensor];
    let Some(both_signs) = clips_both_signs(model, sensor) else {
        return 0.0;
    };
    let mut cutoff_bar = 0.0;
    for (&value, bar) in clipped.iter().zip(bars) {
        if value >= cutoff {
            cutoff_bar += take(bar);
        } else if both_signs && value <= -cutoff {
            cutoff_bar -= take(bar);
        }
    }
    cutoff_bar
}
