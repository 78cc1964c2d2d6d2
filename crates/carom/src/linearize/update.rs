//! Rows of A and B from the derivatives of the advancing acceleration: dv⁺ = dv + h·dȧ, q⁺ = q ⊕ h·v⁺, activations.

use super::rotation::step_jacobians;
use super::{Layout, Linearization};
use crate::data::Data;
use crate::math::Vec3;
use crate::model::Model;
use crate::stages::actuation;
use crate::state::State;

impl Linearization {
    /// Rows of the next state.
    pub(super) fn write(&mut self, model: &Model, state: &State, data: &Data) {
        let h = data.timestep;
        let Layout {
            nv, inputs, width, ..
        } = self.layout;
        let size = self.size();
        for dof in 0..nv {
            let row = &self.rows[dof * width..(dof + 1) * width];
            let (by_state, by_control) = row.split_at(size);
            let target = &mut self.a[(nv + dof) * size..(nv + dof + 1) * size];
            for (target, &rate) in target.iter_mut().zip(by_state) {
                *target = h * rate;
            }
            target[nv + dof] += 1.0;
            let target = &mut self.b[(nv + dof) * inputs..(nv + dof + 1) * inputs];
            for (target, &rate) in target.iter_mut().zip(by_control) {
                *target = h * rate;
            }
        }
        let joints = &model.structure.joints;
        for (_, dof) in joints.straight() {
            self.write_translation(dof, h);
        }
        for (_, dof) in joints.rotations() {
            self.write_rotation(state, dof, h);
        }
        self.write_activations(model, state, data);
    }

    /// q⁺ = q + h·v⁺.
    fn write_translation(&mut self, dof: usize, h: f64) {
        let (size, nv, inputs) = (self.size(), self.layout.nv, self.layout.inputs);
        scaled_copy(&mut self.a, [dof * size, (nv + dof) * size], size, h);
        self.a[dof * size + dof] += 1.0;
        scaled_copy(&mut self.b, [dof * inputs, (nv + dof) * inputs], inputs, h);
    }

    /// (1) of `rotation`.
    fn write_rotation(&mut self, state: &State, dof: usize, h: f64) {
        let (size, nv, inputs) = (self.size(), self.layout.nv, self.layout.inputs);
        let at = &self.implicit.advancing[dof..dof + 3];
        let turn = Vec3(std::array::from_fn(|k| {
            (state.qvel[dof + k] + h * at[k]) * h
        }));
        let (carry, right) = step_jacobians(turn);
        for (matrix, width) in [(&mut self.a, size), (&mut self.b, inputs)] {
            let (positions, velocities) = matrix.split_at_mut(nv * width);
            let velocities = &velocities[dof * width..(dof + 3) * width];
            for row in 0..3 {
                let target = &mut positions[(dof + row) * width..(dof + row + 1) * width];
                let factors: [f64; 3] = std::array::from_fn(|k| right.0[3 * row + k] * h);
                for (column, target) in target.iter_mut().enumerate() {
                    *target = factors[0] * velocities[column]
                        + factors[1] * velocities[width + column]
                        + factors[2] * velocities[2 * width + column];
                }
            }
        }
        for row in 0..3 {
            for column in 0..3 {
                self.a[(dof + row) * size + dof + column] += carry.0[3 * row + column];
            }
        }
    }

    fn write_activations(&mut self, model: &Model, state: &State, data: &Data) {
        let (size, inputs, first) = (self.size(), self.layout.inputs, self.layout.activation());
        self.a[first * size..].fill(0.0);
        self.b[first * inputs..].fill(0.0);
        let off = model.settings.disable.actuation;
        for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
            for index in states.clone() {
                let row = first + index;
                self.a[row * size + row] = 1.0;
                if off || index + 1 != states.end {
                    continue;
                }
                let rate = self.forces.actuators[actuator].rate;
                let activation = state.act[index];
                let [own, control] =
                    actuation::next_derivatives(model, actuator, activation, data, &rate);
                self.a[row * size + row] = own;
                self.b[row * inputs + actuator] = control;
            }
        }
    }
}

/// The row at `to` becomes a multiple of the one at `from`, which is later.
fn scaled_copy(matrix: &mut [f64], [to, from]: [usize; 2], width: usize, factor: f64) {
    let (early, late) = matrix.split_at_mut(from);
    for (target, &source) in early[to..to + width].iter_mut().zip(&late[..width]) {
        *target = factor * source;
    }
}
