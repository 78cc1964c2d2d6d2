use super::Velocity;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::state::State;

/// Computes all velocities.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    transmission: &TransmissionData<T>,
    out: &mut Velocity<T>,
) {
    let _ = (model, state, kinematics, tendon, transmission, out);
}
