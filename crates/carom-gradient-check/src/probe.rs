//! Steps from near a point, over plain and over dual numbers, without copying the model each time.

use std::ops::Range;

use carom::cotangent::StateBar;
use carom::model::{Model, Quantity};
use carom::varied;
use carom::{Data, Dual, Input, Scalar, State};

use crate::directions::{Direction, Given, Place, write_numbers};

pub(super) use carom::varied::{LANES, Varied as Number};

/// Room for steps.
pub(super) struct Probe {
    /// The numbers of the model.
    pub(super) numbers: Vec<f64>,
    model: Model,
    data: Data,
    over: Model<Number>,
    over_data: Data<Number>,
}

/// What a step near a point is given, and where it ends.
pub(super) struct Near<'a> {
    pub(super) model: &'a Model,
    /// Before the step.
    pub(super) start: State,
    pub(super) input: Input,
    /// After it.
    pub(super) end: State,
    pub(super) data: &'a Data,
}

impl Probe {
    pub(super) fn new(model: &Model) -> Self {
        let over = model.map(Dual::constant);
        Self {
            numbers: model.flat(),
            model: model.clone(),
            data: Data::new(model),
            over_data: varied::data(&over),
            over,
        }
    }

    /// Makes a plain step from a point moved by `step` along a direction, and shows it.
    pub(super) fn step<R>(
        &mut self,
        given: Given<'_>,
        (direction, step): (&Direction, f64),
        look: impl FnOnce(Near<'_>) -> R,
    ) -> R {
        if let Place::Model(quantity, range) = &direction.place {
            let moved = self.numbers[range.clone()].iter().zip(&direction.tangent);
            let moved = moved.map(|(number, tangent)| number + step * tangent);
            write_numbers(&mut self.model, *quantity, moved);
            if direction.leaves_sphere {
                self.model.normalize();
            }
        }
        let (mut start, mut input) = (given.state.clone(), given.input.clone());
        let amount = |tangent: f64| step * tangent;
        direction.add_to(given, (&mut start, &mut input), amount);
        let mut end = start.clone();
        input.timestep = self.model.option.timestep[0];
        carom::step(&self.model, &mut end, &input, &mut self.data);
        let seen = look(Near {
            model: &self.model,
            start,
            input,
            end,
            data: &self.data,
        });
        self.restore(direction);
        seen
    }

    /// Puts the numbers of the model back that a direction has moved.
    fn restore(&mut self, direction: &Direction) {
        let Place::Model(quantity, range) = &direction.place else {
            return;
        };
        if direction.leaves_sphere {
            let mut numbers = self.numbers.iter();
            self.model.for_each_mut(|_, _, _, number| {
                if let Some(&own) = numbers.next() {
                    *number = own;
                }
            });
        } else {
            let own = self.numbers[range.clone()].iter().copied();
            write_numbers(&mut self.model, *quantity, own);
        }
    }

    /// Slopes of a loss on the next state along directions, by dual numbers.
    pub(super) fn slopes(
        &mut self,
        given: Given<'_>,
        directions: &[Direction; LANES],
        loss: &StateBar,
    ) -> [f64; LANES] {
        let mut state = given.state.map(Dual::constant);
        let mut input = constant_input(&self.over, given.input);
        for (lane, direction) in directions.iter().enumerate() {
            let along = |tangent: f64| {
                let mut number = Number::constant(0.0);
                number.tangent[lane] = tangent;
                number
            };
            direction.add_to(given, (&mut state, &mut input), along);
            if let Place::Model(quantity, _) = direction.place {
                let mut tangents = direction.tangent.iter();
                self.over.numbers_mut(quantity, |number| {
                    number.tangent[lane] = tangents.next().copied().unwrap_or(0.0);
                });
            }
        }
        input.timestep = self.over.option.timestep[0];
        varied::step(&self.over, &mut state, &input, &mut self.over_data);
        for direction in directions {
            if let Place::Model(quantity, range) = &direction.place {
                let own = self.numbers[range.clone()].iter();
                write_numbers(&mut self.over, *quantity, own.map(|&x| Dual::constant(x)));
            }
        }
        pairing(given.model, &state, loss)
    }

    /// The slope along one of the directions, at a point that lies in this direction.
    pub(super) fn slope_elsewhere(
        &mut self,
        given: Given<'_>,
        (directions, lane): (&[Direction; LANES], usize),
        loss: &StateBar,
    ) -> f64 {
        let Place::Model(quantity, range) = &directions[lane].place else {
            return self.slopes(given, directions, loss)[lane];
        };
        // Only these numbers of the model are others.
        let here = self.numbers[range.clone()].to_vec();
        let there = given.model.numbers(*quantity);
        self.set((*quantity, range), &there);
        let slope = self.slopes(given, directions, loss)[lane];
        self.set((*quantity, range), &here);
        slope
    }

    /// Sets numbers that all slopes are taken at.
    fn set(&mut self, (quantity, range): (Quantity, &Range<usize>), values: &[f64]) {
        self.numbers[range.clone()].copy_from_slice(values);
        let values = values.iter().map(|&x| Dual::constant(x));
        write_numbers(&mut self.over, quantity, values);
    }
}

/// ⟨x̄, ẋ⟩ along all directions.
pub(super) fn pairing(model: &Model, state: &State<Number>, bar: &StateBar) -> [f64; LANES] {
    let qpos: Vec<f64> = state.qpos.iter().map(|number| number.value()).collect();
    let past: Vec<Number> = past_of(state).collect();
    std::array::from_fn(|lane| {
        let part = |numbers: &[Number]| -> Vec<f64> {
            (numbers.iter().map(|number| number.tangent[lane])).collect()
        };
        let qpos = model.qpos_tangent(&qpos, &part(&state.qpos));
        let (qvel, act) = (part(&state.qvel), part(&state.act));
        weigh(bar, [&qpos, &qvel, &act, &part(&past)])
    })
}

/// An input over dual numbers.
pub(super) fn constant_input(over: &Model<Number>, plain: &Input) -> Input<Number> {
    let mut input = Input::zeros(over);
    let constants = |numbers: &[f64]| numbers.iter().map(|&x| Dual::constant(x)).collect();
    input.ctrl = constants(&plain.ctrl);
    input.force = constants(&plain.force);
    let forces = plain.body_force.iter();
    input.body_force = forces.map(|force| force.map(Dual::constant)).collect();
    (input.equality_active).clone_from(&plain.equality_active);
    input
}

/// The values of all histories.
pub(super) fn past_of<T: Scalar>(state: &State<T>) -> impl Iterator<Item = T> {
    let histories = state.history.iter();
    histories.flat_map(|history| history.values().iter().copied())
}

/// The loss of a small change of the next state: configuration, velocity, activations, histories.
pub(super) fn weigh(loss: &StateBar, [qpos, qvel, act, past]: [&[f64]; 4]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut sum = dot(&loss.qpos, qpos) + dot(&loss.qvel, qvel) + dot(&loss.act, act);
    let mut past = past;
    for bar in &loss.history {
        let (own, rest) = past.split_at(bar.values.len());
        sum += dot(&bar.values, own);
        past = rest;
    }
    sum
}
