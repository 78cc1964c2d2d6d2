use super::Tendon;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::state::State;

/// Computes tendon lengths and Jacobians.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    out: &mut Tendon<T>,
) {
    let _ = (model, state, kinematics, out);
}
