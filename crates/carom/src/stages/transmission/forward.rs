use super::TransmissionData;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::state::State;

/// Computes actuator lengths and moment arms.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    out: &mut TransmissionData<T>,
) {
    let _ = (model, state, kinematics, tendon, out);
}
