//! The adjoint of histories: from what is read to the samples and times it came from, and from the samples after a step
//! to those before it and to the one that was added.

use super::{Around, History, Located, Read, is_due};
use crate::cotangent::StateBar;
use crate::dual::Dual;
use crate::model::{Interpolation, Model};
use crate::state::State;

/// Cotangent of a [`History`]; when a sensor is due has none.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryBar {
    /// Of the time of each sample, as they lie in [`History::times`].
    pub times: Vec<f64>,
    /// Of the values of each sample, as they lie in [`History::values`].
    pub values: Vec<f64>,
}

impl HistoryBar {
    /// Zero for a history.
    pub(crate) fn like(history: &History) -> Self {
        Self {
            times: vec![0.0; history.times().len()],
            values: vec![0.0; history.values().len()],
        }
    }

    /// All numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &f64> {
        self.times.iter().chain(&self.values)
    }

    /// All numbers, to change them.
    pub(crate) fn numbers_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.times.iter_mut().chain(&mut self.values)
    }
}

/// Inputs of an interpolation: four times, four values, and when it is read.
const INPUTS: usize = 9;

impl Around<f64> {
    /// The slopes of [`interpolate`](Self::interpolate) by the four times, the four values and the time of the read.
    fn slopes(&self, time: f64, interpolation: Interpolation) -> [f64; INPUTS] {
        let variable = |value: f64, slot: usize| Dual::<INPUTS>::variable(value, slot);
        let around = Around {
            times: std::array::from_fn(|i| variable(self.times[i], i)),
            values: std::array::from_fn(|i| variable(self.values[i], 4 + i)),
            is_inner: self.is_inner,
        };
        let time = variable(time, INPUTS - 1);
        around.interpolate(time, interpolation).tangent
    }
}

impl History {
    /// The twin of [`read`](Self::read): adds to the cotangents of the samples and returns that of the time.
    fn read_vjp(
        &self,
        time: f64,
        interpolation: Interpolation,
        values_bar: &[f64],
        bar: &mut HistoryBar,
    ) -> f64 {
        if self.times.is_empty() {
            return 0.0;
        }
        let place = self.locate(time, interpolation, true);
        let mut time_bar = 0.0;
        for (component, &value_bar) in values_bar.iter().enumerate() {
            match place {
                Located::At(age) => {
                    bar.values[self.place(age) * self.dimension + component] += value_bar;
                }
                Located::Between(low) => {
                    let slopes = self.around(low, component).slopes(time, interpolation);
                    for (index, &age) in self.neighbourhood(low).iter().enumerate() {
                        let place = self.place(age);
                        bar.times[place] += slopes[index] * value_bar;
                        bar.values[place * self.dimension + component] +=
                            slopes[4 + index] * value_bar;
                    }
                    time_bar += slopes[INPUTS - 1] * value_bar;
                }
            }
        }
        time_bar
    }

    /// The twin of [`insert`](Self::insert) for the history before it: `bar`, of the history after it, becomes that of
    /// this one. Adds to the cotangents of the values that were added and returns that of their time.
    fn insert_vjp(&self, time: f64, bar: &mut HistoryBar, values_bar: &mut [f64]) -> f64 {
        if self.times.is_empty() {
            return 0.0;
        }
        let room = self.make_room(time);
        let numbers = |place: usize| place * self.dimension..(place + 1) * self.dimension;
        for (sum, term) in values_bar
            .iter_mut()
            .zip(&mut bar.values[numbers(room.place)])
        {
            *sum += std::mem::take(term);
        }
        let mut time_bar = 0.0;
        if !room.is_same {
            time_bar = std::mem::take(&mut bar.times[room.place]);
        }
        for age in room.shifted.rev() {
            let (from, to) = (self.place(age), self.place(age - 1));
            bar.times[from] = std::mem::take(&mut bar.times[to]);
            bar.values.copy_within(numbers(to), from * self.dimension);
            bar.values[numbers(to)].fill(0.0);
        }
        time_bar
    }
}

impl Read<f64> {
    /// Adds to the cotangents of what is read and of the time, and returns that of the delay.
    fn perform_vjp(&self, state: &State, values_bar: &[f64], bar: &mut StateBar) -> f64 {
        let (history, history_bar) = (&state.history[self.history], &mut bar.history[self.history]);
        let time_bar = history.read_vjp(self.time, self.interpolation, values_bar, history_bar);
        bar.time += time_bar;
        -time_bar
    }
}

/// The twin of [`delayed_control`](super::delayed_control): adds to the cotangents of what the control is read from and of
/// the delay, and returns that of the given control.
pub(crate) fn delayed_control_vjp(
    model: &Model,
    state: &State,
    actuator: usize,
    control_bar: f64,
    (state_bar, model_bar): (&mut StateBar, &mut Model),
) -> f64 {
    let Some(read) = Read::of_control(model, state, actuator) else {
        return control_bar;
    };
    model_bar.actuators.delay[actuator] += read.perform_vjp(state, &[control_bar], state_bar);
    0.0
}

/// The twin of [`delay_sensor`](super::delay_sensor): the cotangents of values that are not fresh go to the past instead.
pub(crate) fn delay_sensor_vjp(
    model: &Model,
    state: &State,
    sensor: usize,
    values_bar: &mut [f64],
    (state_bar, model_bar): (&mut StateBar, &mut Model),
) {
    if let Some(read) = Read::of_sensor(model, state, sensor) {
        model_bar.sensors.delay[sensor] += read.perform_vjp(state, values_bar, state_bar);
        values_bar.fill(0.0);
    }
}

/// The twin of [`record`](super::record) for the state before it: the histories of `state_bar`, of the state after it,
/// become those of this one. Adds to the cotangents of controls, fresh sensor values and time.
pub(crate) fn record_vjp(
    model: &Model,
    state: &State,
    state_bar: &mut StateBar,
    (control_bar, measured_bar): (&mut [f64], &mut [f64]),
) {
    let (structure, time) = (&model.structure, state.time);
    let mut take_back = |index: usize, values_bar: &mut [f64]| {
        let bar = &mut state_bar.history[index];
        state_bar.time += state.history[index].insert_vjp(time, bar, values_bar);
    };
    for (actuator, history) in structure.actuators.history.iter().enumerate() {
        if let Some(history) = *history {
            take_back(history, &mut control_bar[actuator..=actuator]);
        }
    }
    let sensors = &structure.sensors;
    for (sensor, history) in sensors.history.iter().enumerate() {
        if let Some(history) = *history
            && is_due(model, state, sensor, history)
        {
            let values =
                sensors.address[sensor]..sensors.address[sensor] + sensors.dimension[sensor];
            take_back(history, &mut measured_bar[values]);
        }
    }
}
