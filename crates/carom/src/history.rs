//! Buffers of past controls and sensor values: delays, and sensors that are read less often than every step.
//!
//! A buffer holds the last n samples with their times. It is part of the state: written when a step ends, read at
//! `time − delay` in the next ones. What was before the first step is zero, at the times a step or a period apart.

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

    /// Values of all samples, in no order of time.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
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

    /// Adds a sample and forgets the oldest; a sample of the same time is replaced, one older than all replaces the
    /// oldest.
    pub fn insert(&mut self, time: T, values: &[T]) {
        let count = self.times.len();
        if count == 0 {
            return;
        }
        let at = self.first_from(time.value());
        let is_same = at < count && (time - self.time(at)).value().abs() < SAME_TIME;
        let place = if is_same {
            self.place(at)
        } else if at == 0 {
            let oldest = self.place(0);
            self.times[oldest] = time;
            oldest
        } else if at == count {
            self.newest = (self.newest + 1) % count;
            self.times[self.newest] = time;
            self.newest
        } else {
            self.shift_down(at);
            let place = self.place(at - 1);
            self.times[place] = time;
            place
        };
        self.values[place * self.dimension..][..self.dimension].copy_from_slice(values);
    }

    /// Forgets the oldest sample and moves those up to `end` down by one.
    fn shift_down(&mut self, end: usize) {
        for age in 1..end {
            let (from, to) = (self.place(age), self.place(age - 1));
            self.times[to] = self.times[from];
            let source = from * self.dimension..(from + 1) * self.dimension;
            self.values.copy_within(source, to * self.dimension);
        }
    }

    /// Reads the values at a time, held constant before the oldest and after the newest sample.
    pub fn read(&self, time: T, interpolation: Interpolation, values: &mut [T]) {
        let count = self.times.len();
        if count == 0 {
            return;
        }
        let copy = |age: usize, values: &mut [T]| {
            for (component, value) in values.iter_mut().enumerate() {
                *value = self.value(age, component);
            }
        };
        let t = time.value();
        if t <= self.time(0).value() + SAME_TIME {
            return copy(0, values);
        }
        if t >= self.time(count - 1).value() - SAME_TIME {
            return copy(count - 1, values);
        }
        let high = self.first_from(t);
        if (t - self.time(high).value()).abs() < SAME_TIME && !T::HAS_DERIVATIVES {
            return copy(high, values);
        }
        let low = high - 1;
        let span = self.time(high) - self.time(low);
        let x = (time - self.time(low)) / span;
        for (component, value) in values.iter_mut().enumerate() {
            let [start, end] = [low, high].map(|age| self.value(age, component));
            *value = match interpolation {
                Interpolation::Hold if (t - self.time(high).value()).abs() < SAME_TIME => end,
                Interpolation::Hold => start,
                Interpolation::Linear => start + x * (end - start),
                Interpolation::Cubic => {
                    let slopes = [low, high].map(|age| self.slope(age, component) * span);
                    hermite(x, [start, end], slopes)
                }
            };
        }
    }

    /// Slope through the neighbours of a sample; zero at the ends.
    fn slope(&self, age: usize, component: usize) -> T {
        if age == 0 || age + 1 == self.times.len() {
            return T::ZERO;
        }
        let rise = self.value(age + 1, component) - self.value(age - 1, component);
        rise / (self.time(age + 1) - self.time(age - 1))
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

/// The control of an actuator: as given, or as it was before its delay.
pub(crate) fn delayed_control<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    actuator: usize,
    given: T,
) -> T {
    let structure = &model.structure;
    let delay = model.actuators.delay[actuator];
    let Some(history) = structure.actuators.history[actuator] else {
        return given;
    };
    if delay == T::ZERO {
        return given;
    }
    let mut control = [given];
    let interpolation = structure.histories[history].interpolation;
    state.history[history].read(state.time - delay, interpolation, &mut control);
    control[0]
}

/// Replaces fresh values of a sensor by what it reports: the past, or the last reading of its interval.
pub(crate) fn delay_sensor<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    sensor: usize,
    values: &mut [T],
) {
    let Some(index) = model.structure.sensors.history[sensor] else {
        return;
    };
    let (delay, [period, _]) = (model.sensors.delay[sensor], model.sensors.interval[sensor]);
    let history = &state.history[index];
    let is_fresh = period.value() <= 0.0 || (history.due + period).value() <= state.time.value();
    if delay.value() > 0.0 || !is_fresh {
        let interpolation = model.structure.histories[index].interpolation;
        history.read(state.time - delay, interpolation, values);
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
            state.history[history].insert(time, &input.ctrl[actuator..=actuator]);
        }
    }
    let sensors = &structure.sensors;
    for (sensor, history) in sensors.history.iter().enumerate() {
        let Some(history) = *history else { continue };
        let history = &mut state.history[history];
        let period = model.sensors.interval[sensor][0];
        if period.value() > 0.0 {
            if (history.due + period).value() > time.value() {
                continue;
            }
            history.due += period;
        }
        let values = &measured[sensors.address[sensor]..][..sensors.dimension[sensor]];
        history.insert(time, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::integrate::step;
    use crate::testing::model_from_mjcf;

    fn history(samples: usize) -> History {
        let shape = HistoryShape {
            samples,
            dimension: 1,
            interpolation: Interpolation::Hold,
        };
        History::before_start(&shape, 0.1, [0.0; 2])
    }

    fn read(history: &History, time: f64, interpolation: Interpolation) -> f64 {
        let mut value = [f64::NAN];
        history.read(time, interpolation, &mut value);
        value[0]
    }

    #[test]
    fn samples_are_interpolated_and_held_at_the_ends() {
        let mut past = history(4);
        for (index, value) in [1.0, 3.0, 2.0, 5.0, 4.0].into_iter().enumerate() {
            past.insert(index as f64, &[value]);
        }
        // The first sample is forgotten.
        let hold = Interpolation::Hold;
        let held = [0.5, 1.0, 1.9, 2.0, 3.5, 9.0].map(|time| read(&past, time, hold));
        assert_eq!(held, [3.0, 3.0, 3.0, 2.0, 5.0, 4.0]);
        assert_eq!(read(&past, 2.25, Interpolation::Linear), 2.75);
        // Catmull–Rom with no slope at the ends: symmetric here.
        let cubic = read(&past, 2.5, Interpolation::Cubic);
        let slopes = [(5.0 - 3.0) / 2.0, (4.0 - 2.0) / 2.0];
        assert!((cubic - (3.5 + (slopes[0] - slopes[1]) / 8.0)).abs() < 1e-15);
    }

    #[test]
    fn samples_may_come_out_of_order_or_twice() {
        let mut past = history(3);
        for (time, value) in [(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)] {
            past.insert(time, &[value]);
        }
        past.insert(3.0, &[30.0]);
        let hold = Interpolation::Hold;
        assert_eq!(
            [2.0, 3.0, 4.0].map(|t| read(&past, t, hold)),
            [20.0, 30.0, 40.0]
        );
        past.insert(3.0, &[33.0]);
        past.insert(0.5, &[5.0]);
        assert_eq!(
            [0.5, 3.0, 4.0].map(|t| read(&past, t, hold)),
            [5.0, 33.0, 40.0]
        );
    }

    #[test]
    fn a_control_acts_when_its_delay_is_over() {
        let model = model_from_mjcf(
            r#"<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody><body><joint type="slide" name="s"/>
              <geom size=".1" mass="1"/></body></worldbody>
              <actuator><motor joint="s" delay=".03" nsample="3"/></actuator>
              <sensor><actuatorfrc actuator="x"/><clock name="late" delay=".02" nsample="4" interp="linear"/>
                <clock name="seldom" interval=".03" nsample="1"/></sensor></mujoco>"#
                .replace("<motor ", "<motor name=\"x\" ")
                .as_str(),
        );
        let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
        let mut data = Data::new(&model);
        let mut seen = Vec::new();
        for index in 0..7 {
            input.ctrl[0] = f64::from(index) + 1.0;
            step(&model, &mut state, &input, &mut data);
            seen.push([
                data.sensing.values[0],
                data.sensing.values[1],
                data.sensing.values[2],
            ]);
        }
        let forces: Vec<f64> = seen.iter().map(|values| values[0]).collect();
        assert_eq!(forces, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
        for (index, values) in seen.iter().enumerate() {
            let late = (index as f64 * 0.01 - 0.02).max(0.0);
            assert!((values[1] - late).abs() < 1e-12, "{index}: {values:?}");
            // 0.03 is reached at the step of 0.03, by rounding or the next one.
            let seldom = [0.0, 0.0, 0.0, 0.03, 0.03, 0.03, 0.06][index];
            assert!((values[2] - seldom).abs() < 1e-12, "{index}: {values:?}");
        }
    }
}
