//! Forward mode: dual numbers through a whole step, a few directions at a time.
//!
//! Directions live in tangent space: a turn δ of a quaternion means q ⊗ exp(δ/2), and the result is compared with the
//! plain result in the tangent space there,
//!
//!   dx⁺ = x⁺ ⊖ value(x⁺).
//!
//! Every feature of the engine is generic over its numbers, so this covers all of them.

use super::Layout;
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::integrate;
use crate::math::Quat;
use crate::model::Model;
use crate::state::{Input, State};

/// A number with its derivatives along some directions.
pub(super) type Number = Dual<LANES>;

/// A model over dual numbers, with room for one step.
#[derive(Clone, Debug)]
pub struct ForwardMode {
    model: Model<Number>,
    state: State<Number>,
    input: Input<Number>,
    data: Data<Number>,
    /// A state without tangents.
    tangent: Vec<Number>,
    end: Vec<Number>,
}

/// A direction in the space of states and controls, or the change of a state along one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tangent {
    /// Of the configuration, in tangent space, nv.
    pub qpos: Vec<f64>,
    /// Of the velocity, nv.
    pub qvel: Vec<f64>,
    /// Of the activations, na.
    pub act: Vec<f64>,
    /// Of the controls, nu; empty for a change of state.
    pub ctrl: Vec<f64>,
    /// Of the values in each history, as they lie in [`History::values`](crate::history::History::values).
    pub history: Vec<Vec<f64>>,
}

impl Tangent {
    /// All zero.
    pub fn zeros(model: &Model) -> Self {
        let n = model.counts();
        Self {
            qpos: vec![0.0; n.nv],
            qvel: vec![0.0; n.nv],
            act: vec![0.0; n.na],
            ctrl: vec![0.0; n.nu],
            history: (model.structure.histories.iter())
                .map(|shape| vec![0.0; shape.samples * shape.dimension])
                .collect(),
        }
    }
}

impl ForwardMode {
    /// Room for a model.
    pub fn new(model: &Model) -> Self {
        let plain = model;
        let model = plain.map(Number::constant);
        Self {
            state: State::reference(&model),
            input: Input::zeros(&model),
            data: Data::new(&model),
            tangent: vec![Number::constant(0.0); plain.counts().nv],
            end: vec![Number::constant(0.0); plain.counts().nq],
            model,
        }
    }

    /// The change of the next state along a direction of state and controls: A·dx + B·du, and what past controls and
    /// sensor values add to it.
    pub fn jvp(&mut self, state: &State, input: &Input, direction: &Tangent, change: &mut Tangent) {
        self.begin(state, input);
        let nv = direction.qpos.len();
        for dof in 0..nv {
            self.tangent[dof].tangent[0] = direction.qpos[dof];
            self.state.qvel[dof].tangent[0] = direction.qvel[dof];
        }
        for (activation, &rate) in self.state.act.iter_mut().zip(&direction.act) {
            activation.tangent[0] = rate;
        }
        for (control, &rate) in self.input.ctrl.iter_mut().zip(&direction.ctrl) {
            control.tangent[0] = rate;
        }
        for (history, rates) in self.state.history.iter_mut().zip(&direction.history) {
            for (value, &rate) in history.values_mut().iter_mut().zip(rates) {
                value.tangent[0] = rate;
            }
        }
        self.run();
        for dof in 0..nv {
            change.qpos[dof] = self.tangent[dof].tangent[0];
            change.qvel[dof] = self.state.qvel[dof].tangent[0];
        }
        for (rate, activation) in change.act.iter_mut().zip(&self.state.act) {
            *rate = activation.tangent[0];
        }
        for (rates, history) in change.history.iter_mut().zip(&self.state.history) {
            for (rate, value) in rates.iter_mut().zip(history.values()) {
                *rate = value.tangent[0];
            }
        }
        change.ctrl.clear();
    }

    /// The change of the next state along a direction in the space of the model's numbers: ∂x⁺/∂θ·dθ.
    ///
    /// `direction` has the layout of the model; its unit quaternions and axes hold tangential changes.
    pub fn jvp_of_model(
        &mut self,
        state: &State,
        input: &Input,
        (model, direction): (&Model, &Model),
        change: &mut Tangent,
    ) {
        self.vary_model(model, direction);
        self.jvp(state, input, &Tangent::zeros(model), change);
        self.model = model.map(Number::constant);
    }

    /// Lets the numbers of the model change too, in all directions from here on.
    ///
    /// `direction` has the layout of the model; its unit quaternions and axes hold tangential changes.
    pub fn vary_model(&mut self, model: &Model, direction: &Model) {
        let mut rates = Vec::new();
        direction.for_each(|_, _, _, rate| rates.push(rate));
        let mut rates = rates.into_iter();
        self.model = model.map(|number| {
            let mut number = Number::constant(number);
            number.tangent[0] = rates.next().unwrap_or_default();
            number
        });
    }

    /// How the sensor values of the last step change along its direction.
    pub fn sensors(&self) -> impl ExactSizeIterator<Item = f64> {
        let values = self.data.sensing.values.iter();
        values.map(|value| value.tangent[0])
    }

    /// Writes A and B, a few columns at a time.
    pub(super) fn linearize(
        &mut self,
        state: &State,
        input: &Input,
        layout: &Layout,
        (a, b): (&mut [f64], &mut [f64]),
    ) {
        let size = layout.control();
        for first in (0..layout.width).step_by(LANES) {
            let count = LANES.min(layout.width - first);
            self.begin(state, input);
            for lane in 0..count {
                *self.variable(layout, first + lane, lane) = 1.0;
            }
            self.run();
            for row in 0..size {
                let number = self.result(layout, row);
                for lane in 0..count {
                    let column = first + lane;
                    let entry = if column < size {
                        &mut a[row * size + column]
                    } else {
                        &mut b[row * layout.inputs + column - size]
                    };
                    *entry = number.tangent[lane];
                }
            }
        }
    }

    /// The tangent of an input along a lane.
    fn variable(&mut self, layout: &Layout, column: usize, lane: usize) -> &mut f64 {
        let nv = layout.nv;
        let number = if column < nv {
            &mut self.tangent[column]
        } else if column < 2 * nv {
            &mut self.state.qvel[column - nv]
        } else if column < layout.control() {
            &mut self.state.act[column - 2 * nv]
        } else {
            &mut self.input.ctrl[column - layout.control()]
        };
        &mut number.tangent[lane]
    }

    /// One number of the next state's tangent.
    fn result(&self, layout: &Layout, row: usize) -> Number {
        let nv = layout.nv;
        if row < nv {
            self.tangent[row]
        } else if row < 2 * nv {
            self.state.qvel[row - nv]
        } else {
            self.state.act[row - 2 * nv]
        }
    }

    /// Takes over a state and an input, without tangents.
    fn begin(&mut self, state: &State, input: &Input) {
        let constant = Number::constant;
        let copy = |to: &mut [Number], from: &[f64]| {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = constant(from);
            }
        };
        self.state.time = constant(state.time);
        copy(&mut self.state.qpos, &state.qpos);
        copy(&mut self.state.qvel, &state.qvel);
        copy(&mut self.state.act, &state.act);
        copy(&mut self.state.warmstart, &state.warmstart);
        for (to, from) in (self.state.mocap_position.iter_mut()).zip(&state.mocap_position) {
            *to = from.map(constant);
        }
        for (to, from) in self.state.mocap_quat.iter_mut().zip(&state.mocap_quat) {
            *to = from.map(constant);
        }
        for (to, from) in self.state.history.iter_mut().zip(&state.history) {
            to.copy_values(from);
        }
        // A step of the model's own length changes with that number of the model.
        let own = self.model.option.timestep[0];
        self.input.timestep = if input.timestep == own.value {
            own
        } else {
            constant(input.timestep)
        };
        copy(&mut self.input.ctrl, &input.ctrl);
        copy(&mut self.input.force, &input.force);
        for (to, from) in self.input.body_force.iter_mut().zip(&input.body_force) {
            *to = from.map(constant);
        }
        (self.input.equality_active).copy_from_slice(&input.equality_active);
        self.tangent.fill(constant(0.0));
    }

    /// Moves the state along the tangent of its configuration, makes the step, and leaves the change there.
    fn run(&mut self) {
        turn(&self.model, &self.tangent, &mut self.state.qpos);
        integrate::step(&self.model, &mut self.state, &self.input, &mut self.data);
        for (end, number) in self.end.iter_mut().zip(&self.state.qpos) {
            *end = Number::constant(number.value);
        }
        integrate::difference(&self.model, &self.end, &self.state.qpos, &mut self.tangent);
    }
}

/// qpos ← qpos ⊕ tangent, to first order.
pub(crate) fn turn(model: &Model<Number>, tangent: &[Number], qpos: &mut [Number]) {
    let joints = &model.structure.joints;
    for (position, dof) in joints.straight() {
        qpos[position] += tangent[dof];
    }
    for (position, dof) in joints.rotations() {
        let half = integrate::vector_at(tangent, dof).scale(0.5);
        let turn = Quat::from_parts(Number::constant(1.0), half);
        let turned = integrate::quat_at(qpos, position).mul(turn);
        qpos[position..position + 4].copy_from_slice(&turned.0);
    }
}
