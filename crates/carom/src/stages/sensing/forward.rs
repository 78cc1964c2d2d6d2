use super::measure::Reader;
use super::{Sensed, Sensing, kinetic_energy, potential_energy, tree_pass};
use crate::history::delay_sensor;
use crate::model::{Model, SensorKind};
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
    if !sensing || sensors.kind.is_empty() {
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
    let Sensing {
        values,
        energy,
        subtree_velocity,
        subtree_angular_momentum,
        body_acceleration,
        interaction_force,
        ..
    } = out;
    let reader = Reader {
        model,
        state,
        stages,
        energy: &energy[0],
        subtree_velocity,
        subtree_angular_momentum,
        body_acceleration,
        interaction_force,
    };
    for (sensor, &kind) in sensors.kind.iter().enumerate() {
        let values = &mut values[sensors.address[sensor]..][..sensors.dimension[sensor]];
        reader.measure(kind, values);
        clip(model, sensor, kind, values);
    }
}

/// Keeps the fresh values, and replaces those of sensors that report the past or are read at intervals only.
pub fn delay<T: Scalar>(model: &Model<T>, state: &State<T>, out: &mut Sensing<T>) {
    if state.history.is_empty() || model.settings.disable.sensor {
        return;
    }
    out.measured.copy_from_slice(&out.values);
    let sensors = &model.structure.sensors;
    for sensor in 0..sensors.kind.len() {
        let values = &mut out.values[sensors.address[sensor]..][..sensors.dimension[sensor]];
        delay_sensor(model, state, sensor, values);
    }
}

/// Holds the values within the sensor's cutoff.
pub(super) fn clip<T: Scalar>(model: &Model<T>, sensor: usize, kind: SensorKind, values: &mut [T]) {
    let cutoff = model.sensors.cutoff[sensor];
    let Some(both_signs) = clips_both_signs(model, sensor, kind) else {
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
fn clips_both_signs<T: Scalar>(model: &Model<T>, sensor: usize, kind: SensorKind) -> Option<bool> {
    // These two understand the cutoff as a range of detection.
    let detects = matches!(kind, SensorKind::Contact(_) | SensorKind::GeomFromTo { .. });
    let clips = model.sensors.cutoff[sensor].value() > 0.0 && !detects;
    model.structure.sensors.clip[sensor].filter(|_| clips)
}

/// The twin of [`clip`] at values that are not clipped: sets the cotangents of those that would be to zero and returns
/// that of the cutoff, on which alone they depend.
pub(super) fn clip_vjp(
    model: &Model,
    sensor: usize,
    kind: SensorKind,
    values: &[f64],
    bars: &mut [f64],
) -> f64 {
    let cutoff = model.sensors.cutoff[sensor];
    let Some(both_signs) = clips_both_signs(model, sensor, kind) else {
        return 0.0;
    };
    let mut cutoff_bar = 0.0;
    for (&value, bar) in values.iter().zip(bars) {
        if value > cutoff {
            cutoff_bar += std::mem::take(bar);
        } else if both_signs && value < -cutoff {
            cutoff_bar -= std::mem::take(bar);
        }
    }
    cutoff_bar
}
