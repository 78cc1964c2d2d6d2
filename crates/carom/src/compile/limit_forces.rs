//! Forces of limits and couplings of joints and tendons, for the simulations of the compile step.
//!
//! Each row has a Jacobian J, a reference acceleration r and a regularisation R, as in MuJoCo's soft constraints. With
//! a₀ the acceleration without constraints and A = J·M⁻¹·Jᵀ, the forces f minimise
//!
//!   ½·fᵀ·(A + R)·f + fᵀ·(J·a₀ − r),     f ≥ 0 for limits                                            (1)
//!
//! and the acceleration is a₀ + M⁻¹·Jᵀ·f. The problem is strictly convex and small (only rows that are about to be
//! violated take part), so an active-set method finds the minimum exactly.

use crate::data::Data;
use crate::linalg::cholesky;
use crate::math::Quat;
use crate::model::{EqualityKind, JointKind, Model};
use crate::stages::inertia;
use crate::state::State;

/// Denominators are kept above this, as in MuJoCo.
const MIN: f64 = 1e-15;
/// Impedances are kept within these bounds.
const IMPEDANCE: (f64, f64) = (0.0001, 0.9999);
/// Used in place of a solver reference whose numbers contradict each other.
const DEFAULT_REFERENCE: [f64; 2] = [0.02, 1.0];

/// One constraint.
struct Row {
    /// Entries of the Jacobian: dof and value.
    jacobian: Vec<(usize, f64)>,
    /// Whether the force may have either sign.
    is_equality: bool,
    /// Reference acceleration.
    reference: f64,
    /// Regularisation.
    regularization: f64,
}

/// What a row is made of.
struct Violation {
    jacobian: Vec<(usize, f64)>,
    is_equality: bool,
    position: f64,
    margin: f64,
    inverse_weight: f64,
    solref: [f64; 2],
    solimp: [f64; 5],
}

/// Rows and work areas.
#[derive(Default)]
pub(super) struct LimitForces {
    rows: Vec<Row>,
    /// M⁻¹·Jᵀ, row after row.
    responses: Vec<f64>,
    /// A + R.
    matrix: Vec<f64>,
    forces: Vec<f64>,
}

impl LimitForces {
    /// Adds the constraint forces to the acceleration of `data`.
    pub(super) fn apply(&mut self, model: &Model, state: &State, data: &mut Data) {
        self.rows.clear();
        self.couple(model, state, data);
        self.limit_joints(model, state);
        self.limit_tendons(model, state, data);
        if self.rows.is_empty() {
            return;
        }
        self.solve(model, data);
        let nv = model.counts().nv;
        let acceleration = &mut data.acceleration;
        for (row, &force) in self.rows.iter().zip(&self.forces) {
            for &(dof, value) in &row.jacobian {
                acceleration.force_constraint[dof] += value * force;
            }
        }
        for (response, &force) in self.responses.chunks(nv).zip(&self.forces) {
            for (qacc, value) in acceleration.qacc.iter_mut().zip(response) {
                *qacc += value * force;
            }
        }
    }

    fn push(&mut self, model: &Model, state: &State, violation: Violation) {
        let Violation {
            jacobian,
            is_equality,
            position,
            margin,
            inverse_weight,
            solref,
            solimp,
        } = violation;
        let velocity: f64 = jacobian
            .iter()
            .map(|&(dof, value)| value * state.qvel[dof])
            .sum();
        let (impedance, full) = impedance(solimp, position - margin);
        let [stiffness, damping] = spring(solref, full, model.option.timestep[0]);
        let reference = -damping * velocity - stiffness * impedance * (position - margin);
        let regularization = ((1.0 - impedance) * inverse_weight / impedance).max(MIN);
        self.rows.push(Row {
            jacobian,
            is_equality,
            reference,
            regularization,
        });
    }

    /// Polynomial couplings of joints and tendons.
    fn couple(&mut self, model: &Model, state: &State, data: &Data) {
        let equalities = &model.structure.equalities;
        for (id, &kind) in equalities.kind.iter().enumerate() {
            if !equalities.active[id] {
                continue;
            }
            let polynomial = model.equalities.data[id];
            let object = |object: usize| match kind {
                EqualityKind::Joint => Some(joint_value(model, state, object)),
                EqualityKind::Tendon => Some(tendon_value(model, data, object)),
                EqualityKind::Connect | EqualityKind::Weld => None,
            };
            let Some((value, mut jacobian, mut inverse_weight)) = object(equalities.object1[id])
            else {
                continue;
            };
            let mut position = value - polynomial[0];
            if let Some((x, other, weight)) = equalities.object2[id].and_then(object) {
                let [_, a, b, c, d, ..] = polynomial;
                position -= x * (a + x * (b + x * (c + x * d)));
                let slope = a + x * (2.0 * b + x * (3.0 * c + x * 4.0 * d));
                jacobian.extend(other.into_iter().map(|(dof, value)| (dof, -slope * value)));
                inverse_weight += weight;
            }
            let (solref, solimp) = (model.equalities.solref[id], model.equalities.solimp[id]);
            self.push(
                model,
                state,
                Violation {
                    jacobian,
                    is_equality: true,
                    position,
                    margin: 0.0,
                    inverse_weight,
                    solref,
                    solimp,
                },
            );
        }
    }

    fn limit_joints(&mut self, model: &Model, state: &State) {
        let joints = &model.structure.joints;
        for joint in (0..joints.kind.len()).filter(|&joint| joints.limited[joint]) {
            let (dof, [low, high]) = (joints.dof[joint], model.joints.range[joint]);
            let start = joints.qpos[joint];
            let mut limit = |position: f64, jacobian: Vec<(usize, f64)>| {
                let margin = model.joints.margin[joint];
                if position < margin {
                    let violation = Violation {
                        jacobian,
                        is_equality: false,
                        position,
                        margin,
                        inverse_weight: model.dofs.inverse_weight[dof],
                        solref: model.joints.solref[joint],
                        solimp: model.joints.solimp[joint],
                    };
                    self.push(model, state, violation);
                }
            };
            match joints.kind[joint] {
                JointKind::Slide | JointKind::Hinge => {
                    let value = state.qpos[start];
                    limit(value - low, vec![(dof, 1.0)]);
                    limit(high - value, vec![(dof, -1.0)]);
                }
                JointKind::Ball => {
                    let quat = Quat(std::array::from_fn(|i| state.qpos[start + i])).normalized();
                    let (axis, angle) = quat.log().normalized();
                    let jacobian = (0..3).map(|i| (dof + i, -axis[i])).collect();
                    limit(low.max(high) - angle, jacobian);
                }
                JointKind::Free => {}
            }
        }
    }

    fn limit_tendons(&mut self, model: &Model, state: &State, data: &Data) {
        let tendons = &model.structure.tendons;
        for tendon in (0..tendons.limited.len()).filter(|&tendon| tendons.limited[tendon]) {
            let [low, high] = model.tendons.range[tendon];
            let length = data.tendon.length[tendon];
            for (position, sign) in [(length - low, 1.0), (high - length, -1.0)] {
                let margin = model.tendons.margin[tendon];
                if position < margin {
                    let jacobian = tendon_row(model, data, tendon)
                        .map(|(dof, value)| (dof, sign * value))
                        .collect();
                    let violation = Violation {
                        jacobian,
                        is_equality: false,
                        position,
                        margin,
                        inverse_weight: model.tendons.inverse_weight[tendon],
                        solref: model.tendons.solref_limit[tendon],
                        solimp: model.tendons.solimp_limit[tendon],
                    };
                    self.push(model, state, violation);
                }
            }
        }
    }

    /// Finds the forces that minimise (1).
    fn solve(&mut self, model: &Model, data: &Data) {
        let (nv, count) = (model.counts().nv, self.rows.len());
        self.responses.clear();
        self.responses.resize(count * nv, 0.0);
        for (row, response) in self.rows.iter().zip(self.responses.chunks_mut(nv)) {
            for &(dof, value) in &row.jacobian {
                response[dof] += value;
            }
            inertia::solve(model, &data.inertia, response);
        }
        let dot = |row: &Row, vector: &[f64]| -> f64 {
            row.jacobian
                .iter()
                .map(|&(dof, value)| value * vector[dof])
                .sum()
        };
        self.matrix.clear();
        for (i, row) in self.rows.iter().enumerate() {
            for (j, response) in self.responses.chunks(nv).enumerate() {
                let regularization = if i == j { row.regularization } else { 0.0 };
                self.matrix.push(dot(row, response) + regularization);
            }
        }
        let target: Vec<f64> = (self.rows.iter())
            .map(|row| row.reference - dot(row, &data.acceleration.smooth))
            .collect();
        let is_free: Vec<bool> = self.rows.iter().map(|row| row.is_equality).collect();
        self.forces = bounded_solution(&self.matrix, &target, &is_free);
    }
}

/// Value relative to the reference, Jacobian and inverse weight of a joint.
fn joint_value(model: &Model, state: &State, joint: usize) -> (f64, Vec<(usize, f64)>, f64) {
    let joints = &model.structure.joints;
    let (start, dof) = (joints.qpos[joint], joints.dof[joint]);
    let value = state.qpos[start] - model.qpos.reference[start];
    (value, vec![(dof, 1.0)], model.dofs.inverse_weight[dof])
}

/// Value relative to the reference, Jacobian and inverse weight of a tendon.
fn tendon_value(model: &Model, data: &Data, tendon: usize) -> (f64, Vec<(usize, f64)>, f64) {
    let value = data.tendon.length[tendon] - model.tendons.length_reference[tendon];
    let row = tendon_row(model, data, tendon).collect();
    (value, row, model.tendons.inverse_weight[tendon])
}

fn tendon_row<'a>(
    model: &'a Model,
    data: &'a Data,
    tendon: usize,
) -> impl Iterator<Item = (usize, f64)> + 'a {
    let pattern = &model.structure.tendons.jacobian;
    let columns = pattern.columns(tendon).iter().copied();
    columns.zip(pattern.row(tendon).map(|entry| data.tendon.jacobian[entry]))
}

/// Impedance at a violation, and full impedance.
fn impedance(solimp: [f64; 5], violation: f64) -> (f64, f64) {
    let (least, most) = IMPEDANCE;
    let [start, full, middle] = [solimp[0], solimp[1], solimp[3]].map(|d| d.clamp(least, most));
    let (width, power) = (solimp[2].max(0.0), solimp[4].max(1.0));
    if start == full || width <= MIN {
        return (f64::midpoint(start, full), full);
    }
    let x = (violation / width).abs();
    let rise = if x >= 1.0 {
        1.0
    } else if power == 1.0 {
        x
    } else if x <= middle {
        x.powf(power) / middle.powf(power - 1.0)
    } else {
        1.0 - (1.0 - x).powf(power) / (1.0 - middle).powf(power - 1.0)
    };
    (start + rise * (full - start), full)
}

/// Stiffness and damping of the reference acceleration.
fn spring(solref: [f64; 2], full: f64, timestep: f64) -> [f64; 2] {
    let [mut first, mut second] = solref;
    if (first > 0.0) != (second > 0.0) {
        [first, second] = DEFAULT_REFERENCE;
    }
    if first > 0.0 {
        // The time constant is at least two steps.
        first = first.max(2.0 * timestep);
        let root = full * first * second;
        return [1.0 / (root * root).max(MIN), 2.0 / (full * first).max(MIN)];
    }
    [-first / (full * full).max(MIN), -second / full.max(MIN)]
}

/// The minimum of ½·fᵀ·Q·f − fᵀ·t with f ≥ 0 where `is_free` does not say otherwise, by the active-set method of
/// Lawson and Hanson.
fn bounded_solution(matrix: &[f64], target: &[f64], is_free: &[bool]) -> Vec<f64> {
    let count = target.len();
    let mut solution = vec![0.0; count];
    let mut is_active = is_free.to_vec();
    // Each round adds one row; a bound keeps rounding from cycling.
    for _ in 0..=3 * count {
        let trial = solve_active(matrix, target, &is_active);
        let blocked = |i: usize| is_active[i] && !is_free[i] && trial[i] <= 0.0;
        if (0..count).any(blocked) {
            let mut step = 1.0_f64;
            for i in (0..count).filter(|&i| blocked(i)) {
                step = step.min(solution[i] / (solution[i] - trial[i]).max(MIN));
            }
            for i in 0..count {
                solution[i] += step * (trial[i] - solution[i]);
                if is_active[i] && !is_free[i] && solution[i] <= 0.0 {
                    solution[i] = 0.0;
                }
            }
            let dropped: Vec<usize> = (0..count)
                .filter(|&i| is_active[i] && !is_free[i] && solution[i] == 0.0)
                .collect();
            dropped.into_iter().for_each(|i| is_active[i] = false);
            continue;
        }
        solution = trial;
        let residual = |i: usize| {
            let product: f64 = (0..count)
                .map(|j| matrix[i * count + j] * solution[j])
                .sum();
            target[i] - product
        };
        let entering = (0..count)
            .filter(|&i| !is_active[i])
            .map(|i| (i, residual(i)))
            .filter(|&(i, gain)| gain > 1e-13 * target[i].abs().max(MIN))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match entering {
            Some((row, _)) => is_active[row] = true,
            None => break,
        }
    }
    solution
}

/// The minimum over the active rows alone; zero elsewhere.
fn solve_active(matrix: &[f64], target: &[f64], is_active: &[bool]) -> Vec<f64> {
    let count = target.len();
    let active: Vec<usize> = (0..count).filter(|&i| is_active[i]).collect();
    let size = active.len();
    let mut block = Vec::with_capacity(size * size);
    for &i in &active {
        block.extend(active.iter().map(|&j| matrix[i * count + j]));
    }
    let mut values: Vec<f64> = active.iter().map(|&i| target[i]).collect();
    let mut solution = vec![0.0; count];
    if cholesky::factor(&mut block, size).is_ok() {
        cholesky::solve_in_place(&block, size, &mut values);
        for (&i, value) in active.iter().zip(values) {
            solution[i] = value;
        }
    }
    solution
}
