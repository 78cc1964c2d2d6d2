use super::Acceleration;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::passive::Passive;
use crate::state::Input;

/// Sums the smooth forces and solves for the acceleration.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    input: &Input<T>,
    kinematics: &Kinematics<T>,
    inertia: &Inertia<T>,
    (passive, bias, actuation): (&Passive<T>, &Bias<T>, &Actuation<T>),
    out: &mut Acceleration<T>,
) {
    let _ = (
        model, input, kinematics, inertia, passive, bias, actuation, out,
    );
}
