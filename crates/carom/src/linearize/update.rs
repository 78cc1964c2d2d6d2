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

/// rows ← derivatives of q ⊕ reach·rate by the inputs; (1) of `rotation`. `has_positions` says whether the first inputs are
/// the positions q themselves.
pub(super) fn advance_positions(
    model: &Model,
    rate: &Rates<'_, impl Fn(usize) -> f64>,
    reach: f64,
    has_positions: bool,
    rows: &mut [f64],
) {
    let (joints, width) = (&model.structure.joints, rate.width);
    let row_of = |dof: usize| &rate.rows[dof * width..(dof + 1) * width];
    joints.straight().for_each(|(_, dof)| {
        let row = &mut rows[dof * width..(dof + 1) * width];
        for (target, &rate) in row.iter_mut().zip(row_of(dof)) {
            *target = reach * rate;
        }
        if has_positions {
            row[dof] += 1.0;
        }
    });
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
            if has_positions {
                for j in 0..3 {
                    row[first + j] += carry.0[3 * k + j];
                }
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
    /// Rows of the next state.
    pub(super) fn write(&mut self, model: &Model, state: &State, data: &Data) {
        let (
            h,
            Layout {
                nv, inputs, width, ..
            },
        ) = (data.timestep, self.layout);
        let size = self.size();
        let (a_positions, a_speeds) = self.a.split_at_mut(nv * size);
        let (b_positions, b_speeds) = self.b.split_at_mut(nv * inputs);
        // dv⁺ = dv + h·dȧ.
        for (dof, row) in self.rows.chunks_exact(width.max(1)).enumerate() {
            let (by_state, by_input) = row.split_at(size);
            let a = &mut a_speeds[dof * size..(dof + 1) * size];
            a.iter_mut()
                .zip(by_state)
                .for_each(|(a, rate)| *a = h * rate);
            a[nv + dof] += 1.0;
            let b = &mut b_speeds[dof * inputs..(dof + 1) * inputs];
            b.iter_mut()
                .zip(by_input)
                .for_each(|(b, rate)| *b = h * rate);
        }
        let at = &self.implicit.advancing;
        let speeds = |rows, width| Rates {
            value: |dof: usize| state.qvel[dof] + h * at[dof],
            rows,
            width,
        };
        advance_positions(model, &speeds(a_speeds, size), h, true, a_positions);
        if inputs > 0 {
            advance_positions(model, &speeds(b_speeds, inputs), h, false, b_positions);
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
