//! Recordings: frames of a whole motion, made from its states.
//!
//! In a file of a run (`carom sim --out run.npz`) the states are arrays with one row a time: `time`, `qpos`, `qvel`, `act`,
//! `ctrl`. Two more are read if they are there: `mocap_pos` and `mocap_quat`, three and four numbers per mocap body, and
//! `grad_qvel`, ∂loss/∂qvel at the time of the row; it becomes an arrow on each body. A `grad_qvel` with fewer rows
//! belongs to the first ones.

use std::fmt;

use carom::math::{Quat, Vec3};
use carom::rollout::StateRow;
use carom::{Data, Dynamics, Input, Model, State};

use crate::frame::{self, Moment, length};
use crate::gradient;

/// `CRR1`.
pub const MAGIC: u32 = 0x3152_5243;

/// Frames a second that a page needs.
pub const FRAME_RATE: f64 = 60.0;

/// Longest recording (bytes); more would be more than a page can hold.
const MAX_RECORDING_BYTES: usize = 1 << 30;

/// States of a motion, row after row. Arrays that are empty have no rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trajectory<'a> {
    /// Times (s); they do not decrease.
    pub time: &'a [f64],
    /// Configurations, nq a row.
    pub qpos: &'a [f64],
    /// Velocities, nv a row; empty for motions known by their configurations alone.
    pub qvel: &'a [f64],
    /// Activations, na a row, or empty.
    pub act: &'a [f64],
    /// Controls, nu a row, or empty.
    pub ctrl: &'a [f64],
    /// Positions of the mocap bodies (m), 3 a body, or empty.
    pub mocap_position: &'a [f64],
    /// Orientations of the mocap bodies, 4 a body, or empty.
    pub mocap_quat: &'a [f64],
    /// ∂loss/∂qvel, nv a row, for as many rows as there are.
    pub gradient: &'a [f64],
}

/// A motion as frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What it is called on the page.
    pub name: String,
    frames: Vec<Vec<u8>>,
    duration: f64,
    has_gradients: bool,
}

/// Why states are not a motion of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError(String);

impl fmt::Display for RecordingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// Makes frames of a motion. `rate` is how many a second are kept at most; none keeps every state.
    ///
    /// # Errors
    /// When an array has not the length that the model asks for, or a number is not finite.
    pub fn new(
        name: &str,
        model: &Model,
        motion: &Trajectory<'_>,
        rate: Option<f64>,
    ) -> Result<Self, RecordingError> {
        let widths = Widths::new(model);
        widths.check(motion)?;
        let rows = chosen(motion.time, rate);
        let mut film = Film::new(name, model);
        for row in rows {
            widths.read(motion, row, &mut film.state, &mut film.input.ctrl);
            film.push(widths.gradient(motion, row))?;
        }
        Ok(film.develop())
    }

    /// Simulates from a start, keeping at most [`FRAME_RATE`] frames a second. `go_on` is asked at every frame, with its
    /// time (s). A motion whose numbers do not stay finite ends before that, and the second result says so.
    ///
    /// # Errors
    /// When there are more frames than a page can hold.
    pub fn simulate(
        name: &str,
        model: &Model,
        start: &crate::Start,
        seconds: f64,
        go_on: impl FnMut(f64) -> bool,
    ) -> Result<(Self, Option<String>), RecordingError> {
        Self::follow(name, model, model, start, seconds, go_on)
    }

    /// As [`Self::simulate`], for a system of any kind whose configurations and velocities are those of the model, which
    /// draws it.
    ///
    /// # Errors
    /// When they are not, or there are more frames than a page can hold.
    pub fn follow<D: Dynamics>(
        name: &str,
        model: &Model,
        dynamics: &D,
        start: &crate::Start,
        seconds: f64,
        mut go_on: impl FnMut(f64) -> bool,
    ) -> Result<(Self, Option<String>), RecordingError> {
        let mut film = Film::new(name, model);
        let (mut state, mut input) = (start.state.clone(), dynamics.input());
        film.check(&state)?;
        input.ctrl.clone_from(&start.ctrl);
        film.input.ctrl.clone_from(&start.ctrl);
        let mut work = dynamics.work();
        let begin = state.time;
        let half = 0.5 * input.timestep;
        let mut next = begin;
        let mut failure = None;
        loop {
            let time = state.time;
            let mut is_last = time + half >= begin + seconds;
            if time + half >= next || is_last {
                film.show(&state)?;
                is_last |= !go_on(time - begin);
                next += 1.0 / FRAME_RATE;
            }
            if is_last {
                break;
            }
            let report = dynamics.step(&mut state, &input, &mut work);
            if let Some(place) = report.not_finite.or(report.large) {
                failure = Some(format!(
                    "{} in the step from t = {time:.4} s; try a smaller time step",
                    dynamics.describe(place)
                ));
                break;
            }
        }
        Ok((film.develop(), failure))
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// The bytes of a frame.
    pub fn frame(&self, index: usize) -> Option<&[u8]> {
        self.frames.get(index).map(Vec::as_slice)
    }

    /// Time from the first frame to the last (s).
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// Whether any frame has gradient arrows.
    pub fn has_gradients(&self) -> bool {
        self.has_gradients
    }

    /// All of it as the page reads it: [`MAGIC`], number of frames, length of the name, the name filled up with zeros to
    /// a multiple of four bytes; then for each frame its length and itself.
    pub fn to_bytes(&self) -> Vec<u8> {
        let name = self.name.as_bytes();
        let filled = name.len().next_multiple_of(4);
        let content: usize = self.frames.iter().map(|frame| frame.len() + 4).sum();
        let mut bytes = Vec::with_capacity(12 + filled + content);
        for number in [MAGIC, length(self.frames.len()), length(name.len())] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(name);
        bytes.resize(12 + filled, 0);
        for frame in &self.frames {
            bytes.extend(length(frame.len()).to_le_bytes());
            bytes.extend(frame);
        }
        bytes
    }
}

/// A recording in the making.
struct Film<'a> {
    model: &'a Model,
    state: State,
    input: Input,
    data: Data,
    bytes: usize,
    first: f64,
    recording: Recording,
}

impl<'a> Film<'a> {
    fn new(name: &str, model: &'a Model) -> Self {
        Self {
            model,
            state: State::reference(model),
            input: Input::zeros(model),
            data: Data::new(model),
            bytes: 0,
            first: 0.0,
            recording: Recording {
                name: name.to_owned(),
                frames: Vec::new(),
                duration: 0.0,
                has_gradients: false,
            },
        }
    }

    /// Refuses states that the model cannot draw.
    fn check(&self, state: &State) -> Result<(), RecordingError> {
        let widths = [state.qpos.len(), state.qvel.len()];
        let expected = [self.state.qpos.len(), self.state.qvel.len()];
        if widths == expected {
            return Ok(());
        }
        Err(RecordingError(format!(
            "states of {widths:?} positions and velocities cannot be drawn by a model of {expected:?}"
        )))
    }

    /// Takes a frame of a state; what the model knows beyond it stays as it is.
    fn show(&mut self, state: &State) -> Result<(), RecordingError> {
        if StateRow::like(state) == StateRow::like(&self.state) {
            self.state.clone_from(state);
        } else {
            self.state.time = state.time;
            self.state.qpos.copy_from_slice(&state.qpos);
            self.state.qvel.copy_from_slice(&state.qvel);
        }
        self.push(None)
    }

    /// Takes a frame of the present state.
    fn push(&mut self, velocity_bar: Option<&[f64]>) -> Result<(), RecordingError> {
        carom::forward_and_sense(self.model, &self.state, &self.input, &mut self.data);
        let arrows = velocity_bar.map(|bar| gradient::arrows(self.model, &self.data, bar));
        let moment = Moment {
            model: self.model,
            state: &self.state,
            input: &self.input,
            data: &self.data,
        };
        let recording = &mut self.recording;
        let mut bytes = Vec::new();
        let number = length(recording.frames.len());
        frame::write(&mut bytes, number, &moment, arrows.as_deref());
        self.bytes += bytes.len();
        if self.bytes > MAX_RECORDING_BYTES {
            return Err(RecordingError(format!(
                "the recording is larger than {} MB, more than a page can hold; show a shorter one",
                MAX_RECORDING_BYTES >> 20
            )));
        }
        if recording.frames.is_empty() {
            self.first = self.state.time;
        }
        recording.duration = self.state.time - self.first;
        recording.has_gradients |= arrows.is_some();
        recording.frames.push(bytes);
        Ok(())
    }

    fn develop(self) -> Recording {
        self.recording
    }
}

/// Numbers a row of each array.
struct Widths {
    nq: usize,
    nv: usize,
    na: usize,
    nu: usize,
    nmocap: usize,
}

impl Widths {
    fn new(model: &Model) -> Self {
        let n = model.counts();
        Self {
            nq: n.nq,
            nv: n.nv,
            na: n.na,
            nu: n.nu,
            nmocap: n.nmocap,
        }
    }

    fn check(&self, motion: &Trajectory<'_>) -> Result<(), RecordingError> {
        let rows = motion.time.len();
        if rows == 0 {
            return Err(RecordingError("there are no states to show".to_owned()));
        }
        let arrays = [
            ("time", motion.time, 1, true),
            ("qpos", motion.qpos, self.nq, true),
            ("qvel", motion.qvel, self.nv, false),
            ("act", motion.act, self.na, false),
            ("ctrl", motion.ctrl, self.nu, false),
            ("mocap_pos", motion.mocap_position, 3 * self.nmocap, false),
            ("mocap_quat", motion.mocap_quat, 4 * self.nmocap, false),
        ];
        for (name, numbers, width, is_needed) in arrays {
            let may_miss = !is_needed && numbers.is_empty();
            if numbers.len() != rows * width && !may_miss {
                return Err(RecordingError(format!(
                    "{name} has {} numbers; {rows} states of this model have {} ({width} each)",
                    numbers.len(),
                    rows * width
                )));
            }
            check_finite(name, numbers, width)?;
        }
        let gradient = motion.gradient;
        let is_whole = self.nv > 0 && gradient.len().is_multiple_of(self.nv);
        let fits = is_whole && gradient.len() <= rows * self.nv;
        if !fits && !gradient.is_empty() {
            return Err(RecordingError(format!(
                "grad_qvel has {} numbers; up to {rows} rows of {} are expected",
                gradient.len(),
                self.nv
            )));
        }
        check_finite("grad_qvel", gradient, self.nv)?;
        if let Some(row) = motion.time.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(RecordingError(format!(
                "time goes back in row {}: from {} s to {} s",
                row + 1,
                motion.time[row],
                motion.time[row + 1]
            )));
        }
        Ok(())
    }

    fn read(&self, motion: &Trajectory<'_>, row: usize, state: &mut State, ctrl: &mut [f64]) {
        let copy = |from: &[f64], width: usize, to: &mut [f64]| {
            if let Some(numbers) = from.get(row * width..(row + 1) * width) {
                to.copy_from_slice(numbers);
            }
        };
        state.time = motion.time[row];
        copy(motion.qpos, self.nq, &mut state.qpos);
        copy(motion.qvel, self.nv, &mut state.qvel);
        copy(motion.act, self.na, &mut state.act);
        copy(motion.ctrl, self.nu, ctrl);
        for body in 0..self.nmocap {
            let place = row * self.nmocap + body;
            if let Some(&[x, y, z]) = motion.mocap_position.get(3 * place..3 * place + 3) {
                state.mocap_position[body] = Vec3([x, y, z]);
            }
            if let Some(&[w, x, y, z]) = motion.mocap_quat.get(4 * place..4 * place + 4) {
                state.mocap_quat[body] = Quat([w, x, y, z]);
            }
        }
    }

    fn gradient<'a>(&self, motion: &Trajectory<'a>, row: usize) -> Option<&'a [f64]> {
        let row = motion.gradient.get(row * self.nv..(row + 1) * self.nv);
        row.filter(|row| !row.is_empty())
    }
}

fn check_finite(name: &str, numbers: &[f64], width: usize) -> Result<(), RecordingError> {
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(RecordingError(format!(
            "{name} is {} in row {}, column {}",
            numbers[index],
            index / width,
            index % width
        ))),
        None => Ok(()),
    }
}

/// Rows to keep: the first, the last, and of those between no more than `rate` a second.
fn chosen(time: &[f64], rate: Option<f64>) -> Vec<usize> {
    let Some(rate) = rate else {
        return (0..time.len()).collect();
    };
    let mut rows = Vec::new();
    let mut next = f64::NEG_INFINITY;
    for (row, &now) in time.iter().enumerate() {
        // Times are sums of steps; a rounding error must not cost a frame.
        if now >= next - 1e-9 * now.abs() || row + 1 == time.len() {
            rows.push(row);
            // A regular grid, unless the motion has a gap.
            let (grid, gap) = (next + 1.0 / rate, now + 1.0 / rate);
            next = if grid > now { grid } else { gap };
        }
    }
    rows
}

#[cfg(test)]
mod tests;
