//! Advance of the activation states.

use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::next_activation;
use crate::stages::transmission::TransmissionData;

/// Advances all activations by one time step; those of switched-off actuators stay.
pub(super) fn advance<T: Scalar>(
    model: &Model<T>,
    act: &mut [T],
    activation_dot: &[T],
    transmission: &TransmissionData<T>,
) {
    if act.is_empty() || model.settings.disable.actuation {
        return;
    }
    let _ = transmission;
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
    }
}

/// Whether the actuator's group is switched off; groups beyond 30 cannot be.
pub(super) fn is_disabled<T: Scalar>(model: &Model<T>, actuator: usize) -> bool {
    let group = model.structure.actuators.group[actuator];
    (0..=30).contains(&group) && model.settings.disabled_actuator_groups >> group & 1 == 1
}
