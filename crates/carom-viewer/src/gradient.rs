//! Arrows for gradients: from ∂loss/∂qvel to ∂loss/∂velocity of each body's centre of mass.
//!
//! Velocities of bodies are not independent, so the derivative needs a rule: the velocity of a centre of mass is changed
//! by an impulse p on it. With J the Jacobian of the centre and M the joint-space inertia,
//!
//!   δq̇ = M⁻¹·Jᵀ·p,   δv = W·p with W = J·M⁻¹·Jᵀ,   δloss = gᵀ·M⁻¹·Jᵀ·p                 (1)
//!
//! and the arrow a with δloss = a·δv for all impulses is
//!
//!   a = W⁺·J·M⁻¹·g                                                                    (2)
//!
//! For a free body a is ∂loss/∂v itself, for a pendulum it lies along the motion. Directions in which the centre
//! cannot move have no part in it.

use carom::jacobian;
use carom::math::Vec3;
use carom::math::symmetric_eigen;
use carom::stages::inertia;
use carom::{Data, Model};

/// Directions whose mobility is below this share of the largest count as fixed.
const MIN_MOBILITY_SHARE: f64 = 1e-9;

/// The arrow of each body for the cotangent of the velocities, nv numbers. `data` holds the results of a forward pass.
pub fn arrows(model: &Model, data: &Data, velocity_bar: &[f64]) -> Vec<Vec3> {
    let mut change = velocity_bar.to_vec();
    inertia::solve(model, &data.inertia, &mut change);
    let bodies = 0..model.counts().nbody;
    let arrow = |body| {
        let center = data.kinematics.inertial_position[body];
        let columns = jacobian::columns(model, &data.kinematics, body, center);
        let pushed = columns.fold(Vec3::ZERO, |sum: Vec3, (dof, _, linear)| {
            sum.scale_add(linear, change[dof])
        });
        through_pseudo_inverse(mobility(model, data, body, center), pushed)
    };
    bodies.map(arrow).collect()
}

/// W: the velocity that a unit impulse at a point of a body gives to that point (1/kg), column by column.
pub(crate) fn mobility(model: &Model, data: &Data, body: usize, point: Vec3) -> [[f64; 3]; 3] {
    let mut matrix = [[0.0; 3]; 3];
    let mut response = vec![0.0; model.counts().nv];
    for axis in 0..3 {
        response.fill(0.0);
        for (dof, _, linear) in jacobian::columns(model, &data.kinematics, body, point) {
            response[dof] = linear[axis];
        }
        inertia::solve(model, &data.inertia, &mut response);
        for (dof, _, linear) in jacobian::columns(model, &data.kinematics, body, point) {
            for row in 0..3 {
                matrix[row][axis] += linear[row] * response[dof];
            }
        }
    }
    matrix
}

/// W⁺·x for symmetric W.
fn through_pseudo_inverse(matrix: [[f64; 3]; 3], vector: Vec3) -> Vec3 {
    let (values, directions) = symmetric_eigen(matrix, 3);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let mut result = Vec3::ZERO;
    for (value, direction) in values.into_iter().zip(directions) {
        if value > MIN_MOBILITY_SHARE * largest {
            let direction = Vec3(direction);
            result = result.scale_add(direction, direction.dot(vector) / value);
        }
    }
    result
}
