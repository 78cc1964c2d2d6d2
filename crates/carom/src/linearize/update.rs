//! Rows of A and B from the derivatives of the advancing acceleration: dv⁺ = dv + h·dȧ, q⁺ = q ⊕ h·v⁺, activations.

use super::rotation::step_jacobians;
use super::{Layout, Linearization};
use crate::data::Data;
use crate::math::Vec3;
use crate::model::Model;
use crate::stages::actuation;
use crate::state::State;

/// Rates of the tangent by dofs, with their derivatives by all inputs, one row a dof.
#[derive(Clone, Copy)]
pub(super) struct Rates<'a, V> {
    pub(super) value: V,
    pub(super) rows: &'a [f64],
    pub(super) width: usize,
}

/// rows ← derivatives of q ⊕ reach·rate by the inputs, for positions q that are the first inputs; (1) of `rotation`.
pub(super) fn advance_positions(
    model: &Model,
    rate: &Rates<'_, impl Fn(usize) -> f64>,
    reach: f64,
    rows: &mut [f64],
) {
    let (joints, width) = (&model.structure.joints, rate.width);
    let row_of = |dof: usize| &rate.rows[dof * width..(dof + 1) * width];
    for (_, dof) in joints.straight() {
        let row = &mut rows[dof * width..(dof + 1) * width];
        for (target, &rate) in row.iter_mut().zip(row_of(dof)) {
            *target = reach * rate;
        }
        row[dof] += 1.0;
    }
    for (_, first) in joints.rotations() {
        let turn = Vec3(std::array::from_fn(|k| reach * (rate.value)(first + k)));
        let (carry, right) = step_jacobians(turn);
        let sources: [&[f64]; 3] = std::array::from_fn(|k| row_of(first + k));
        for k in 0..3 {
            let row = &mut rows[(first + k) * width..(first + k + 1) * width];
            let factors: [f64; 3] = std::array::from_fn(|j| reach * right.0[3 * k + j]);
            for (column, target) in row.iter_mut().enumerate() {
                *target = (0..3).map(|j| factors[j] * sources[j][column]).sum();
            }
            for j in 0..3 {
                row[first + j] += carry.0[3 * k + j];
            }
        }
    }
}

/// Writes one row of A and B from the derivatives of a number by all inputs.
pub(super) fn write_row(
    (a, b): (&mut [f64], &mut [f64]),
    layout: Layout,
    index: usize,
    row: &[f64],
) {
    let (by_state, by_input) = row.split_at(layout.control());
    a[index * by_state.len()..][..by_state.len()].copy_from_slice(by_state);
    b[index * by_input.len()..][..by_input.len()].copy_from_slice(by_input);
}

impl Linearization {
    /// Rows of the next state; uses up those of the acceleration.
    pub(super) fn write(&mut self, model: &Model, state: &State, data: &Data) {
        let (h, layout) = (data.timestep, self.layout);
        let Layout { nv, width, .. } = layout;
        // dv⁺ = dv + h·dȧ.
        for (dof, row) in self.rows.chunks_exact_mut(width.max(1)).enumerate() {
            for rate in row.iter_mut() {
                *rate *= h;
            }
            row[nv + dof] += 1.0;
        }
        let at = &self.implicit.advancing;
        let speeds = Rates {
            value: |dof: usize| state.qvel[dof] + h * at[dof],
            rows: &self.rows,
            width,
        };
        advance_positions(model, &speeds, h, &mut self.extra);
        for (dof, row) in self.extra.chunks_exact(width.max(1)).enumerate() {
            write_row((&mut self.a, &mut self.b), layout, dof, row);
        }
        for (dof, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            write_row((&mut self.a, &mut self.b), layout, nv + dof, row);
        }
        self.write_activations(model, state, data);
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
