use super::Inertia;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;

/// Computes M and factorises it.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    out: &mut Inertia<T>,
) {
    let _ = (model, kinematics, tendon, out);
}

/// x ← M⁻¹·x.
pub fn solve<T: Scalar>(model: &Model<T>, inertia: &Inertia<T>, x: &mut [T]) {
    let _ = (model, inertia, x);
}

/// out ← M·x.
pub fn mul<T: Scalar>(model: &Model<T>, inertia: &Inertia<T>, x: &[T], out: &mut [T]) {
    let _ = (model, inertia, x, out);
}
