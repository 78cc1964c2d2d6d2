//! Advance of the activation states.

use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::{is_disabled, nearest_setpoint, next_activation};
use crate::stages::transmission::TransmissionData;

/// Advances all activations by one time step; those of switched-off actuators stay. Angular setpoints move to the
/// equivalent one nearest to the actuator's length.
pub(super) fn advance<T: Scalar>(
    model: &Model<T>,
    act: &mut [T],
    activation_dot: &[T],
    transmission: &TransmissionData<T>,
) {
    if act.is_empty() || model.settings.disable.actuation {
        return;
    }
    let h = model.option.timestep[0];
    for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
        let disabled = is_disabled(model, actuator);
        for state in states.clone() {
            let rate = if disabled {
                T::ZERO
            } else {
                activation_dot[state]
            };
            act[state] = next_activation(model, actuator, act[state], rate, h);
        }
        if let Some(last) = states.clone().last() {
            let length = transmission.length[actuator];
            act[last] = nearest_setpoint(model, actuator, act[last], length);
        }
    }
}
