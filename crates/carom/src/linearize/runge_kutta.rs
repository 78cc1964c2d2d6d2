//! RK4: the derivatives of the acceleration, chained over the stages.
//!
//! In the notation of the integrator, stage i lies at x(i) = x(0) ⊕ c·h·k(i − 1) with rates k = (ẋ, a, ẇ). With X(i) the
//! derivatives of x(i) by the inputs of the step, in the tangent space there, and G the derivatives of the acceleration at
//! that stage,
//!
//!   da(i) = G·(X(i), du),   X(i + 1) = X(0) ⊕ c·h·dk(i)                                              (1)
//!
//! where positions follow on the manifold (see `rotation`) and the rates of rotation vectors depend on the rotation that
//! the stage has reached.

use super::update::{Rates, advance_positions, write_row};
use super::{Layout, Linearization, coverage};
use crate::data::Data;
use crate::dual::Dual;
use crate::dynamics;
use crate::integrate::integrate_positions;
use crate::integrate::runge_kutta::{STAGE, WEIGHT, rotation_vector_rate};
use crate::math::Vec3;
use crate::model::Model;
use crate::state::{Input, State};
use crate::terms::Term;
use crate::terms::actuator::Next;

/// Numbers per dof or activation, with their derivatives by all inputs.
#[derive(Clone, Debug, PartialEq)]
struct Carried {
    value: Vec<f64>,
    /// One row a number.
    rows: Vec<f64>,
    width: usize,
}

impl Carried {
    fn new(count: usize, width: usize) -> Self {
        Self {
            value: vec![0.0; count],
            rows: vec![0.0; count * width],
            width,
        }
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.rows[index * self.width..(index + 1) * self.width]
    }

    /// Independent variables, whose columns start at `start`.
    fn set_variables(&mut self, start: usize) {
        self.rows.fill(0.0);
        for index in 0..self.value.len() {
            self.rows[index * self.width + start + index] = 1.0;
        }
    }

    /// self ← self + factor·other.
    fn add(&mut self, other: &Self, factor: f64) {
        for (sum, &term) in self.value.iter_mut().zip(&other.value) {
            *sum += factor * term;
        }
        for (sum, &term) in self.rows.iter_mut().zip(&other.rows) {
            *sum += factor * term;
        }
    }

    fn set_zero(&mut self) {
        self.value.fill(0.0);
        self.rows.fill(0.0);
    }

    /// Those of dofs, as rates.
    fn moving(&self) -> Rates<'_, impl Fn(usize) -> f64> {
        Rates {
            value: |dof| self.value[dof],
            rows: &self.rows,
            width: self.width,
        }
    }
}

/// The stage at hand and the means of all.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    state: State,
    data: Data,
    /// X of (1): only the derivatives of positions are used.
    position: Carried,
    velocity: Carried,
    activation: Carried,
    /// k of (1).
    tangent_rate: Carried,
    acceleration: Carried,
    activation_dot: Carried,
    mean: [Carried; 3],
}

impl Stages {
    /// Room for a model.
    pub(super) fn new(model: &Model, layout: Layout) -> Self {
        let Layout { nv, na, width, .. } = layout;
        let of = |count| Carried::new(count, width);
        Self {
            state: State::reference(model),
            data: Data::new(model),
            position: of(nv),
            velocity: of(nv),
            activation: of(na),
            tangent_rate: of(nv),
            acceleration: of(nv),
            activation_dot: of(na),
            mean: [of(nv), of(nv), of(na)],
        }
    }

    /// Puts the stage at the start of the step.
    fn begin(&mut self, state: &State, layout: &Layout) {
        self.state.copy_from(state);
        self.tangent_rate.value.copy_from_slice(&state.qvel);
        self.position.set_variables(0);
        self.tangent_rate.set_variables(layout.nv);
        self.velocity.set_variables(layout.nv);
        self.activation.set_variables(layout.activation());
        for mean in &mut self.mean {
            mean.set_zero();
        }
    }

    /// Puts the stage at `reach` along the rates of the last one.
    fn place(&mut self, model: &Model, start: &State, layout: &Layout, reach: f64) {
        let state = &mut self.state;
        state.copy_from(start);
        state.time = start.time + reach;
        let rates = &self.tangent_rate;
        integrate_positions(model, &mut state.qpos, &rates.value, reach);
        advance_positions(model, &rates.moving(), reach, true, &mut self.position.rows);
        self.velocity.set_variables(layout.nv);
        self.velocity.value.copy_from_slice(&start.qvel);
        self.velocity.add(&self.acceleration, reach);
        state.qvel.copy_from_slice(&self.velocity.value);
        self.activation.set_variables(layout.activation());
        self.activation.value.copy_from_slice(&start.act);
        self.activation.add(&self.activation_dot, reach);
        state.act.copy_from_slice(&self.activation.value);
    }

    /// The rates of the tangent at `reach` along those of the last stage, which they replace.
    fn advance_rates(&mut self, model: &Model, reach: f64) {
        let joints = &model.structure.joints;
        let width = self.velocity.width;
        let Self {
            tangent_rate: rate,
            velocity,
            state,
            ..
        } = self;
        for (_, dof) in joints.straight() {
            rate.value[dof] = state.qvel[dof];
            let row = dof * width..(dof + 1) * width;
            rate.rows[row.clone()].copy_from_slice(&velocity.rows[row]);
        }
        for (_, first) in joints.rotations() {
            let turn = |k: usize| Dual::<6>::variable(rate.value[first + k] * reach, k);
            let spin = |k: usize| Dual::<6>::variable(state.qvel[first + k], 3 + k);
            let found = rotation_vector_rate(
                Vec3(std::array::from_fn(turn)),
                Vec3(std::array::from_fn(spin)),
            );
            for column in 0..width {
                let old: [f64; 3] =
                    std::array::from_fn(|k| rate.rows[(first + k) * width + column] * reach);
                let speed: [f64; 3] =
                    std::array::from_fn(|k| velocity.rows[(first + k) * width + column]);
                for k in 0..3 {
                    let slope = &found[k].tangent;
                    rate.rows[(first + k) * width + column] = (0..3)
                        .map(|j| slope[j] * old[j] + slope[3 + j] * speed[j])
                        .sum();
                }
            }
            for k in 0..3 {
                rate.value[first + k] = found[k].value;
            }
        }
    }
}

/// Writes A and B; false where a stage is not covered.
pub(super) fn step(model: &Model, state: &State, input: &Input, out: &mut Linearization) -> bool {
    let mut stages = out
        .runge_kutta
        .take()
        .unwrap_or_else(|| Box::new(Stages::new(model, out.layout)));
    let done = out.chain(model, state, input, &mut stages);
    out.runge_kutta = Some(stages);
    done
}

impl Linearization {
    fn chain(&mut self, model: &Model, state: &State, input: &Input, stages: &mut Stages) -> bool {
        let (h, layout) = (input.timestep, self.layout);
        stages.begin(state, &layout);
        for (stage, &weight) in WEIGHT.iter().enumerate() {
            let reach = stage.checked_sub(1).map(|before| h * STAGE[before]);
            if let Some(reach) = reach {
                stages.place(model, state, &layout, reach);
            }
            dynamics::forward(model, &stages.state, input, &mut stages.data);
            if !coverage::of_state(model, &stages.data) {
                return false;
            }
            let (at, data) = (&stages.state, &mut stages.data);
            if !self.differentiate_acceleration(model, at, input, data, false) {
                return false;
            }
            self.combine(stages);
            self.differentiate_activation(model, stages);
            if let Some(reach) = reach {
                stages.advance_rates(model, reach);
            }
            let rates = [
                &stages.tangent_rate,
                &stages.acceleration,
                &stages.activation_dot,
            ];
            for (mean, rate) in stages.mean.iter_mut().zip(rates) {
                mean.add(rate, weight);
            }
        }
        self.write_means(model, state, h, stages);
        true
    }

    /// da of (1).
    fn combine(&self, stages: &mut Stages) {
        let Layout { nv, width, .. } = self.layout;
        let (first, last) = (self.layout.activation(), self.layout.control());
        let target = &mut stages.acceleration;
        target.value.copy_from_slice(&stages.data.solve.qacc);
        for dof in 0..nv {
            let slopes = &self.rows[dof * width..(dof + 1) * width];
            let row = &mut target.rows[dof * width..(dof + 1) * width];
            row.fill(0.0);
            row[last..].copy_from_slice(&slopes[last..]);
            let parts = [
                (&slopes[..nv], &stages.position),
                (&slopes[nv..first], &stages.velocity),
                (&slopes[first..last], &stages.activation),
            ];
            for (slopes, inputs) in parts {
                for (index, &slope) in slopes.iter().enumerate() {
                    if slope != 0.0 {
                        for (target, &input) in row.iter_mut().zip(inputs.row(index)) {
                            *target += slope * input;
                        }
                    }
                }
            }
        }
    }

    /// Rates of the activations at a stage, and their derivatives.
    fn differentiate_activation(&self, model: &Model, stages: &mut Stages) {
        let (width, control) = (self.layout.width, self.layout.control());
        let target = &mut stages.activation_dot;
        target.set_zero();
        if model.settings.disable.actuation {
            return;
        }
        target
            .value
            .copy_from_slice(&stages.data.actuation.activation_dot);
        for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
            let Some(last) = states.clone().last() else {
                continue;
            };
            let rate = self.forces.actuators[actuator].rate;
            let row = &mut target.rows[last * width..(last + 1) * width];
            for (target, &input) in row.iter_mut().zip(stages.activation.row(last)) {
                *target = rate.activation * input;
            }
            row[control + actuator] += rate.control;
        }
    }

    /// The end of the step, from the means.
    fn write_means(&mut self, model: &Model, state: &State, h: f64, stages: &mut Stages) {
        let Layout { nv, width, .. } = self.layout;
        let [rate, acceleration, dot] = &stages.mean;
        advance_positions(model, &rate.moving(), h, true, &mut stages.position.rows);
        stages.velocity.set_variables(nv);
        stages.velocity.add(acceleration, h);
        stages.activation.set_variables(self.layout.activation());
        for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
            if model.settings.disable.actuation {
                break;
            }
            for index in states.clone() {
                let x = [state.act[index], dot.value[index], h];
                let [by_activation, by_rate, _] = Next::by_inputs(model, actuator, x);
                let row = &mut stages.activation.rows[index * width..(index + 1) * width];
                for (target, &rate) in row.iter_mut().zip(dot.row(index)) {
                    *target = by_activation * *target + by_rate * rate;
                }
            }
        }
        let all = [&stages.position, &stages.velocity, &stages.activation];
        let rows = all
            .iter()
            .flat_map(|part| part.rows.chunks_exact(width.max(1)));
        for (index, row) in rows.enumerate() {
            write_row((&mut self.a, &mut self.b), self.layout, index, row);
        }
    }
}
