//! Where forces of actuators bend: at the ends of the pieces of muscle curves, and at their limits.

use super::Actuation;
use super::forward::Law;
use crate::model::{BiasKind, GainKind, Model};
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;

/// Appends numbers, always as many for a model, that change their sign where the force of an actuator bends.
pub(crate) fn write_bends(
    model: &Model,
    transmission: &TransmissionData,
    velocity: &Velocity,
    actuation: &Actuation,
    out: &mut Vec<f64>,
) {
    let actuators = &model.structure.actuators;
    for actuator in 0..model.counts().nu {
        let law = Law {
            model,
            actuator,
            length: transmission.length[actuator],
            velocity: velocity.actuator[actuator],
            // The curves know nothing of it.
            timestep: model.option.timestep[0],
        };
        if actuators.gain[actuator] == GainKind::Muscle {
            let muscle = law.muscle(&model.actuators.gain[actuator]);
            muscle.write_bends(law.length, law.velocity, out);
        }
        if actuators.bias[actuator] == BiasKind::Muscle {
            let muscle = law.muscle(&model.actuators.bias[actuator]);
            muscle.write_bends(law.length, law.velocity, out);
        }
        if actuators.force_limited[actuator] {
            let bounds = model.actuators.force_range[actuator];
            out.extend(bounds.map(|bound| actuation.unlimited_force[actuator] - bound));
        }
    }
}
