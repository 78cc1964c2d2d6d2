//! Where forces of actuators bend: at the ends of the pieces of muscle curves, and at their limits.

use super::Actuation;
use crate::model::Model;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::terms::Term;
use crate::terms::actuator::Force;

/// Appends numbers, always as many for a model, that change their sign where the force of an actuator bends.
pub(crate) fn write_bends(
    model: &Model,
    transmission: &TransmissionData,
    velocity: &Velocity,
    actuation: &Actuation,
    out: &mut Vec<f64>,
) {
    let actuators = &model.structure.actuators;
    for actuator in 0..model.counts().nactuator {
        let law = Force::law(&model.structure, actuator);
        let output = actuators.outputs[actuator].start;
        let x = [transmission.length[output], velocity.actuator[output]];
        law.write_bends(x, Force::rows(model, actuator), out);
        if actuators.force_limited[actuator] {
            let bounds = model.actuators.force_range[actuator];
            out.extend(bounds.map(|bound| actuation.unlimited_force[output] - bound));
        }
    }
}
