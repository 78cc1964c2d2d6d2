//! Buffers of past controls and sensor values: delays, and sensors that are read less often than every step.
//!
//! A buffer holds the last n samples with their times. It is part of the state: written when a step ends, read at
//! `time − delay` in the next ones. What was before the first step is zero, at the times a step or a period apart.
//!
//! A read between two samples at t₀ and t₁, with x = (t − t₀)/(t₁ − t₀), v the values and s their slopes there,
//!
//!   hold: v₀,   linear: v₀ + x·(v₁ − v₀),   cubic: the polynomial with v₀, s₀ at t₀ and v₁, s₁ at t₁        (1)
//!
//! is differentiable in the values, and but for `hold` in the times: hence in the delay, and in the time step.
//! When a sample is taken, and which ones a read lies between, has no derivative.

mod backward;
#[cfg(test)]
mod tests;

pub(crate) use backward::HistoryBar;
pub(crate) use backward::{delay_sensor_vjp, delayed_control_vjp, record_vjp};
#[cfg(test)]
pub(crate) use tests::DELAYED;

use std::ops::Range;

use crate::model::{HistoryShape, Interpolation, Model};
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// Times closer than this are the same.
const SAME_TIME: f64 = 1e-15;

/// The last samples of one control or sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct History<T: Scalar = f64> {
    /// When a sensor that is read at intervals was due last (s).
    pub due: T,
    /// Time of each sample (s), a ring.
    times: Vec<T>,
    /// Values of each sample, a ring.
    values: Vec<T>,
    /// Place of the newest sample in the ring.
    newest: usize,
    dimension: usize,
}

impl<T: Scalar> History<T> {
    /// Samples of zero before the start of a simulation: one per step, or one per period if there is one.
    ///
    /// Samples of a period with a phase were taken at the first step after they were due.
    pub fn before_start(shape: &HistoryShape, step: T, [period, phase]: [T; 2]) -> Self {
        let count = shape.samples;
        let back = |index: usize| (count - index) as f64;
        let periodic = period.value() > 0.0;
        let due = match (periodic, phase.value() == 0.0) {
            (false, _) => -step,
            (true, true) => -period,
            (true, false) => phase,
        };
        let times = (0..count).map(|index| {
            if periodic {
                let due = due - period * (back(index) - 1.0);
                step * (due / step).value().ceil()
            } else {
                -step * back(index)
            }
        });
        Self {
            due,
            times: times.collect(),
            values: vec![T::ZERO; count * shape.dimension],
            newest: count.saturating_sub(1),
            dimension: shape.dimension,
        }
    }

    /// The same history over another scalar.
    pub(crate) fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> History<U> {
        let mut all = |numbers: &[T]| numbers.iter().map(|&number| convert(number)).collect();
        let (times, values) = (all(&self.times), all(&self.values));
        History {
            due: convert(self.due),
            times,
            values,
            newest: self.newest,
            dimension: self.dimension,
        }
    }

    /// Copies another history of the same shape without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.due = other.due;
        self.times.copy_from_slice(&other.times);
        self.values.copy_from_slice(&other.values);
        self.newest = other.newest;
    }

    /// Copies the values of another history of the same shape, without derivatives.
    pub(crate) fn copy_values(&mut self, other: &History) {
        self.due = T::from(other.due);
        for (to, &from) in self.times.iter_mut().zip(&other.times) {
            *to = T::from(from);
        }
        for (to, &from) in self.values.iter_mut().zip(&other.values) {
            *to = T::from(from);
        }
        self.newest = other.newest;
    }

    /// Values of all samples, in no order of time: as they lie in the ring.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The same, to change them.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Times of all samples (s), in the same order.
    pub fn times(&self) -> &[T] {
        &self.times
    }

    /// Place in the ring of a sample counted from the oldest.
    fn place(&self, age: usize) -> usize {
        (self.newest + 1 + age) % self.times.len()
    }

    fn time(&self, age: usize) -> T {
        self.times[self.place(age)]
    }

    fn value(&self, age: usize, component: usize) -> T {
        self.values[self.place(age) * self.dimension + component]
    }

    /// The first sample, counted from the oldest, that is not older than a time.
    fn first_from(&self, time: f64) -> usize {
        let count = self.times.len();
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.time(middle).value() < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// What happens when a sample of a time is added: it takes the place of the oldest one, those between close up, or it
    /// takes that of the one of its own time. There must be samples.
    fn make_room(&self, time: f64) -> Room {
        let count = self.times.len();
        let at = self.first_from(time);
        let is_same = at < count && (time - self.time(at).value()).abs() < SAME_TIME;
        let (place, shifted) = match at {
            _ if is_same => (self.place(at), 0..0),
            _ if at == 0 || at == count => (self.place(0), 0..0),
            _ => (self.place(at - 1), 1..at),
        };
        Room {
            place,
            is_same,
            is_newest: at == count,
            shifted,
        }
    }

    /// Adds a sample and forgets the oldest; a sample of the same time is replaced, one older than all replaces the
    /// oldest.
    pub fn insert(&mut self, time: T, values: &[T]) {
        if self.times.is_empty() {
            return;
        }
        let room = self.make_room(time.value());
        for age in room.shifted.clone() {
            let (from, to) = (self.place(age), self.place(age - 1));
            self.times[to] = self.times[from];
            let source = from * self.dimension..(from + 1) * self.dimension;
            self.values.copy_within(source, to * self.dimension);
        }
        if room.is_newest {
            self.newest = room.place;
        }
        if !room.is_same {
            self.times[room.place] = time;
        }
        self.values[room.place * self.dimension..][..self.dimension].copy_from_slice(values);
    }

    /// Where a time lies among the samples, of which there must be some.
    ///
    /// A time that is that of a sample is where interpolations bend. Derivatives are then those of a stretch that it
    /// ends; values are the sample's in any case.
    fn locate(&self, time: f64, interpolation: Interpolation, differentiates: bool) -> Located {
        let last = self.times.len() - 1;
        let is_at = |age: usize| (time - self.time(age).value()).abs() < SAME_TIME;
        let bends = differentiates && interpolation != Interpolation::Hold;
        let has_length = |low: usize| self.time(low + 1) > self.time(low);
        if bends && is_at(0) && last > 0 && has_length(0) {
            Located::Between(0)
        } else if bends && is_at(last) && last > 0 && has_length(last - 1) {
            Located::Between(last - 1)
        } else if time <= self.time(0).value() + SAME_TIME {
            Located::At(0)
        } else if time >= self.time(last).value() - SAME_TIME {
            Located::At(last)
        } else {
            let high = self.first_from(time);
            match interpolation {
                _ if is_at(high) && !bends => Located::At(high),
                Interpolation::Hold => Located::At(high - 1),
                Interpolation::Linear | Interpolation::Cubic => Located::Between(high - 1),
            }
        }
    }

    /// Reads the values at a time, held constant before the oldest and after the newest sample.
    pub fn read(&self, time: T, interpolation: Interpolation, values: &mut [T]) {
        if self.times.is_empty() {
            return;
        }
        let place = self.locate(time.value(), interpolation, T::HAS_DERIVATIVES);
        for (component, value) in values.iter_mut().enumerate() {
            *value = match place {
                Located::At(age) => self.value(age, component),
                Located::Between(low) => {
                    self.around(low, component).interpolate(time, interpolation)
                }
            };
        }
    }

    /// One number of the samples between which a time lies, and of their neighbours.
    fn around(&self, low: usize, component: usize) -> Around<T> {
        let ages = self.neighbourhood(low);
        Around {
            times: ages.map(|age| self.time(age)),
            values: ages.map(|age| self.value(age, component)),
            is_inner: [ages[0] < low, ages[3] > low + 1],
        }
    }

    /// A sample, the next one and their neighbours; they themselves where they have none.
    fn neighbourhood(&self, low: usize) -> [usize; 4] {
        let last = self.times.len() - 1;
        [low.saturating_sub(1), low, low + 1, (low + 2).min(last)]
    }
}

impl History {
    /// Writes everything that changes from step to step at the start of a row of numbers; returns what follows it.
    /// As many numbers as [`Self::store`] writes.
    pub(crate) fn stored_numbers(&self) -> usize {
        2 + self.times.len() + self.values.len()
    }

    pub(crate) fn store<'a>(&self, row: &'a mut [f64]) -> &'a mut [f64] {
        let (head, rest) = row.split_at_mut(2);
        let (times, rest) = rest.split_at_mut(self.times.len());
        let (values, rest) = rest.split_at_mut(self.values.len());
        head.copy_from_slice(&[self.due, self.newest as f64]);
        times.copy_from_slice(&self.times);
        values.copy_from_slice(&self.values);
        rest
    }

    /// Takes over what [`store`](Self::store) wrote; returns what follows it.
    pub(crate) fn restore<'a>(&mut self, row: &'a [f64]) -> &'a [f64] {
        let (head, rest) = row.split_at(2);
        let (times, rest) = rest.split_at(self.times.len());
        let (values, rest) = rest.split_at(self.values.len());
        self.due = head[0];
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was an index"
        )]
        {
            // Rows may come from users: an index beyond the ring would end in a panic later.
            self.newest = (head[1] as usize).min(self.times.len().saturating_sub(1));
        }
        self.times.copy_from_slice(times);
        self.values.copy_from_slice(values);
        rest
    }
}

/// What happens to the samples when one is added.
struct Room {
    /// Its place in the ring.
    place: usize,
    /// It replaces the one of the same time.
    is_same: bool,
    /// It is the newest.
    is_newest: bool,
    /// Samples, counted from the oldest, that move down by one before.
    shifted: Range<usize>,
}

/// Where a time lies: samples are counted from the oldest.
#[derive(Clone, Copy)]
enum Located {
    /// It reads a sample.
    At(usize),
    /// It lies between a sample and the next one.
    Between(usize),
}

/// One number of four samples in a row: a time lies between the middle ones.
struct Around<T> {
    times: [T; 4],
    values: [T; 4],
    /// Whether the middle ones have neighbours.
    is_inner: [bool; 2],
}

impl<T: Scalar> Around<T> {
    /// The value at a time. (1)
    fn interpolate(&self, time: T, interpolation: Interpolation) -> T {
        let [_, start, end, _] = self.values;
        let [_, low, high, _] = self.times;
        let span = high - low;
        let x = (time - low) / span;
        match interpolation {
            Interpolation::Hold => start,
            Interpolation::Linear => start + x * (end - start),
            Interpolation::Cubic => {
                let slopes = [0, 1].map(|middle| self.slope(middle) * span);
                hermite(x, [start, end], slopes)
            }
        }
    }

    /// Slope through the neighbours of a middle sample; zero at the ends.
    fn slope(&self, middle: usize) -> T {
        if !self.is_inner[middle] {
            return T::ZERO;
        }
        let rise = self.values[middle + 2] - self.values[middle];
        rise / (self.times[middle + 2] - self.times[middle])
    }
}

/// The cubic with values and slopes at 0 and 1.
fn hermite<T: Scalar>(x: T, [start, end]: [T; 2], [leaving, arriving]: [T; 2]) -> T {
    let (square, cube) = (x * x, x * x * x);
    let rise = square * 3.0 - cube * 2.0;
    start * (T::ONE - rise)
        + end * rise
        + leaving * (cube - square * 2.0 + x)
        + arriving * (cube - square)
}

/// All histories of a model before the start.
pub(crate) fn all_before_start<T: Scalar>(model: &Model<T>) -> Vec<History<T>> {
    let structure = &model.structure;
    let step = model.option.timestep[0];
    let mut intervals = vec![[T::ZERO; 2]; structure.histories.len()];
    for (sensor, history) in structure.sensors.history.iter().enumerate() {
        if let Some(history) = *history {
            intervals[history] = model.sensors.interval[sensor];
        }
    }
    let shapes = structure.histories.iter().zip(intervals);
    shapes
        .map(|(shape, interval)| History::before_start(shape, step, interval))
        .collect()
}

/// A read of a history: which one, and when.
struct Read<T> {
    history: usize,
    time: T,
    interpolation: Interpolation,
}

impl<T: Scalar> Read<T> {
    fn before(model: &Model<T>, state: &State<T>, history: usize, delay: T) -> Self {
        Self {
            history,
            time: state.time - delay,
            interpolation: model.structure.histories[history].interpolation,
        }
    }

    /// Where the control of an actuator is read; none if it acts as given.
    fn of_control(model: &Model<T>, state: &State<T>, actuator: usize) -> Option<Self> {
        let delay = model.actuators.delay[actuator];
        let history = model.structure.actuators.history[actuator]?;
        (delay != T::ZERO).then(|| Self::before(model, state, history, delay))
    }

    /// Where the values of a sensor are read: in the past, or at the last reading of its interval; none if they are
    /// fresh.
    fn of_sensor(model: &Model<T>, state: &State<T>, sensor: usize) -> Option<Self> {
        let history = model.structure.sensors.history[sensor]?;
        let delay = model.sensors.delay[sensor];
        let is_past = delay.value() > 0.0 || !is_due(model, state, sensor, history);
        is_past.then(|| Self::before(model, state, history, delay))
    }

    fn perform(&self, state: &State<T>, values: &mut [T]) {
        state.history[self.history].read(self.time, self.interpolation, values);
    }
}

/// The control of an actuator: as given, or as it was before its delay.
pub(crate) fn delayed_control<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    actuator: usize,
    given: T,
) -> T {
    let mut control = [given];
    if let Some(read) = Read::of_control(model, state, actuator) {
        read.perform(state, &mut control);
    }
    control[0]
}

/// Replaces fresh values of a sensor by what it reports: the past, or the last reading of its interval.
pub(crate) fn delay_sensor<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    sensor: usize,
    values: &mut [T],
) {
    if let Some(read) = Read::of_sensor(model, state, sensor) {
        read.perform(state, values);
    }
}

/// Writes the controls and fresh sensor values of a step into the state's histories.
pub(crate) fn record<T: Scalar>(
    model: &Model<T>,
    state: &mut State<T>,
    input: &Input<T>,
    measured: &[T],
) {
    if state.history.is_empty() {
        return;
    }
    let (structure, time) = (&model.structure, state.time);
    for (actuator, history) in structure.actuators.history.iter().enumerate() {
        if let Some(history) = *history {
            let control = structure.actuators.controls[actuator].start;
            state.history[history].insert(time, &input.ctrl[control..=control]);
        }
    }
    let sensors = &structure.sensors;
    for (sensor, history) in sensors.history.iter().enumerate() {
        let Some(history) = *history else { continue };
        if !is_due(model, state, sensor, history) {
            continue;
        }
        let history = &mut state.history[history];
        let period = model.sensors.interval[sensor][0];
        if period.value() > 0.0 {
            history.due += period;
        }
        let values = &measured[sensors.address[sensor]..][..sensors.dimension[sensor]];
        history.insert(time, values);
    }
}

/// Whether a step takes a sample of a sensor: every one does, or those at which its interval is over.
fn is_due<T: Scalar>(model: &Model<T>, state: &State<T>, sensor: usize, history: usize) -> bool {
    let period = model.sensors.interval[sensor][0];
    let due = state.history[history].due + period;
    period.value() <= 0.0 || due.value() <= state.time.value()
}

/// Whether an actuator acts on past controls only.
pub(crate) fn is_delayed(model: &Model, actuator: usize) -> bool {
    model.structure.actuators.history[actuator].is_some() && model.actuators.delay[actuator] != 0.0
}

/// Numbers that describe all histories of a state.
pub(crate) fn number_count(model: &Model) -> usize {
    let shapes = model.structure.histories.iter();
    shapes
        .map(|shape| 2 + shape.samples * (1 + shape.dimension))
        .sum()
}
