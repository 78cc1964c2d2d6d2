//! Is the gradient over a whole trajectory right?
//!
//! Dual numbers are carried along the recorded trajectory, at the very states that the backward pass visits, so that a
//! chaotic motion does not drive the two apart. Directions of the start, of the controls of all steps and of the numbers
//! of the model are followed at once. With ẋ the tangents of the states and x̄ their cotangents,
//!
//!   ⟨x̄ₖ, ẋₖ⟩ is the same for all steps k                                                        (1)
//!
//! along directions of the start: where it changes, the two disagree, or take different sides of a kink.

use super::directions::{
    Direction, FlatGradient, Given, Noise, Place, Quantity, numbers_of, quantities,
};
use super::point::{Point, exceeds};
use super::probe::{LANES, Number, Probe, constant_input, past_of, weigh};
use super::{DUAL_BAR, Sums, comparable, tangent_of};
use crate::cotangent::{Cotangents, StateBar};
use crate::data::Data;
use crate::dual::Dual;
use crate::history::History;
use crate::integrate;
use crate::model::Model;
use crate::rollout::{Adjoint, Controls, GradientError, Loss, gradient};
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// What is moved along each of the directions.
const GROUPS: [&str; LANES] = [
    "the start configuration",
    "the start velocity and activations",
    "the controls",
    "the model's numbers, first part",
    "the model's numbers, second part",
    "the model's numbers, third part",
];
/// Groups of the model.
const MODEL_GROUPS: std::ops::Range<usize> = 3..LANES;
/// Slopes below this are left to the check of a single step: after so many of them, rounding is not far away.
const SMALL: f64 = 1e-6;

/// How well the gradient over a trajectory agrees with dual numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryReport {
    /// Steps that were compared.
    pub steps: usize,
    /// Greatest error relative to the slopes, and along what.
    pub error: f64,
    /// What moved along the direction of the greatest error.
    pub along: &'static str,
    /// How much longer the derivative by a state became than that by the last one.
    pub growth: f64,
    /// The step before which the trajectory was ended, and why: a kink exactly there, or numbers that are not finite.
    pub ended: Option<(usize, String)>,
}

/// Compares the gradient of a random weighing of the last state with dual numbers.
///
/// The motion begins at the model's default state, disturbed, after `before` steps.
///
/// # Errors
/// When the motion is not finite or has no derivative.
// Inline, so that whoever calls it compiles the step over dual numbers, and not everybody who builds this crate.
#[inline]
pub fn check_trajectory(
    model: &Model,
    before: usize,
    steps: usize,
    seed: u64,
) -> Result<TrajectoryReport, GradientError> {
    let model = &comparable(model);
    let mut ended = None;
    let mut motion = Motion::new(model, (before, steps), seed, &mut ended)?;
    loop {
        let (mut report, broken) = motion.compare(&mut Noise(seed))?;
        let kink = broken.and_then(|step| Some((step, motion.kink(step)?)));
        match kink {
            Some((step, kink)) if step > 0 => {
                motion.truncate(step);
                ended = Some((step, kink));
            }
            kink => {
                report.ended = kink.or(ended);
                return Ok(report);
            }
        }
    }
}

/// A recorded motion.
struct Motion<'a> {
    model: &'a Model,
    /// Before each step and at the end.
    states: Vec<State>,
    controls: Vec<f64>,
    /// Cotangents of all states, once they are known.
    bars: Vec<StateBar>,
}

/// A loss that weighs the last state, and keeps the cotangents of all others.
struct Record {
    last: StateBar,
    bars: Vec<StateBar>,
}

impl Loss for Record {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step + 1 == self.bars.len() {
            bar.add(&self.last);
        }
        self.bars[step].clone_from(bar);
    }
}

impl<'a> Motion<'a> {
    fn new(
        model: &'a Model,
        (before, steps): (usize, usize),
        seed: u64,
        ended: &mut Option<(usize, String)>,
    ) -> Result<Self, GradientError> {
        let mut noise = Noise(seed);
        let (mut state, mut input) = (State::reference(model), Input::zeros(model));
        let mut data = Data::new(model);
        noise.disturb(model, &mut state, &mut input);
        let center = input.ctrl.clone();
        for step in 0..before {
            let report = integrate::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                return Err(GradientError::NotFinite { step, place });
            }
        }
        let (mut states, mut controls) = (vec![state.clone()], Vec::new());
        for step in 0..steps {
            for (control, center) in input.ctrl.iter_mut().zip(&center) {
                *control = center * (1.0 + 0.1 * noise.next());
            }
            let report = integrate::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                *ended = Some((step, place.to_string()));
                break;
            }
            controls.extend_from_slice(&input.ctrl);
            states.push(state.clone());
        }
        Ok(Self {
            model,
            states,
            controls,
            bars: Vec::new(),
        })
    }

    fn steps(&self) -> usize {
        self.states.len() - 1
    }

    /// Forgets all steps from one on.
    fn truncate(&mut self, steps: usize) {
        self.states.truncate(steps + 1);
        self.controls.truncate(steps * self.model.counts().nu);
    }

    fn input(&self, step: usize) -> Input {
        let mut input = Input::zeros(self.model);
        let nu = input.ctrl.len();
        (input.ctrl).copy_from_slice(&self.controls[step * nu..][..nu]);
        input
    }

    /// The comparison, and the step at which the two sides of (1) part.
    #[inline]
    fn compare(
        &mut self,
        noise: &mut Noise,
    ) -> Result<(TrajectoryReport, Option<usize>), GradientError> {
        let (model, steps) = (self.model, self.steps());
        let mut last = StateBar::zeros(model);
        noise.weigh(&mut last);
        let mut record = Record {
            last: last.clone(),
            bars: vec![StateBar::zeros(model); steps + 1],
        };
        let controls = Controls::PerStep(self.controls.clone());
        let controls = if self.controls.is_empty() {
            Controls::Zero
        } else {
            controls
        };
        let (_, found) = gradient(
            model,
            &self.states[0],
            &controls,
            steps,
            Adjoint::Stored,
            &mut record,
        )?;
        self.bars = record.bars;
        let mut by = Cotangents::zeros(model);
        by.state = found.start;
        by.model = found.model;
        let by = FlatGradient {
            model: numbers_of(&by.model),
            gradient: by,
        };
        let directions = Directions::new(model, self.controls.len(), &by, noise);
        let slopes = directions.slopes(&by, &found.controls);
        let (duals, broken) = self.follow(&directions, &last);
        let mut report = TrajectoryReport {
            steps,
            error: 0.0,
            along: GROUPS[0],
            growth: found.norms.iter().fold(0.0, |a: f64, b| a.max(*b)) / last.norm(),
            ended: None,
        };
        for (lane, (slope, size)) in slopes.into_iter().enumerate() {
            let error = (duals[lane] - slope).abs() / size.max(SMALL);
            if exceeds(error, report.error) {
                (report.error, report.along) = (error, GROUPS[lane]);
            }
        }
        let broken = broken.filter(|_| exceeds(report.error, DUAL_BAR));
        Ok((report, broken))
    }

    /// Slopes of the loss by dual numbers, and the first step at which (1) changes.
    #[inline]
    fn follow(&self, directions: &Directions, loss: &StateBar) -> ([f64; LANES], Option<usize>) {
        let model = self.model;
        let mut over = model.map(Number::constant);
        directions.move_model(&mut over);
        let mut data = Data::new(&over);
        let mut state = self.states[0].map(Number::constant);
        directions.move_start(model, &self.states[0], &mut state);
        let mut broken = None;
        let mut before = pairing(model, &state, &self.bars[0]);
        for (step, next) in self.states[1..].iter().enumerate() {
            let mut input = constant_input(&over, &self.input(step));
            directions.move_controls(step, &mut input);
            integrate::step(&over, &mut state, &input, &mut data);
            set_values(&mut state, next);
            let after = pairing(model, &state, &self.bars[step + 1]);
            let parts = (0..2).any(|lane| {
                let size = before[lane].abs().max(SMALL);
                exceeds((after[lane] - before[lane]).abs(), DUAL_BAR * size)
            });
            if parts && broken.is_none() {
                broken = Some(step);
            }
            before = after;
        }
        (pairing(model, &state, loss), broken)
    }

    /// What kink a state is on, in words; none where it is on none.
    #[inline]
    fn kink(&self, step: usize) -> Option<String> {
        let input = self.input(step);
        let given = Given {
            model: self.model,
            state: &self.states[step],
            input: &input,
        };
        let loss = self.bars[step + 1].clone();
        let (mut point, _) = Point::with_loss(given, loss, step, 1).ok()?;
        let (mut probe, mut noise) = (Probe::new(self.model), Noise(7));
        point.find_edge(&mut probe, &mut noise);
        let of_state = quantities(self.model).into_iter();
        let mut of_state = of_state.filter(|quantity| {
            matches!(
                quantity.place,
                Place::Qpos | Place::Qvel | Place::Activation
            )
        });
        of_state.find_map(|quantity| {
            point.compare(&quantity, &mut probe, &mut noise, &mut Sums::default())
        })
    }
}

/// ⟨x̄, ẋ⟩ along all directions. (1)
fn pairing(model: &Model, state: &State<Number>, bar: &StateBar) -> [f64; LANES] {
    let qpos: Vec<f64> = state.qpos.iter().map(|number| number.value()).collect();
    let past: Vec<Number> = past_of(state).collect();
    std::array::from_fn(|lane| {
        let part = |numbers: &[Number]| -> Vec<f64> {
            (numbers.iter().map(|number| number.tangent[lane])).collect()
        };
        let qpos = tangent_of(model, &qpos, &part(&state.qpos));
        let parts = [
            &qpos[..],
            &part(&state.qvel),
            &part(&state.act),
            &part(&past),
        ];
        weigh(bar, parts)
    })
}

/// Takes over the values of a state, and keeps the tangents.
fn set_values(state: &mut State<Number>, plain: &State) {
    let set = |numbers: &mut [Number], values: &[f64]| {
        for (number, &value) in numbers.iter_mut().zip(values) {
            number.value = value;
        }
    };
    state.time.value = plain.time;
    set(&mut state.qpos, &plain.qpos);
    set(&mut state.qvel, &plain.qvel);
    set(&mut state.act, &plain.act);
    set(&mut state.warmstart, &plain.warmstart);
    let past = (state.history.iter_mut()).flat_map(History::values_mut);
    for (number, value) in past.zip(past_of(plain)) {
        number.value = value;
    }
}

/// Directions of the start, of all controls, and of parts of the model.
struct Directions {
    start: [Vec<Direction>; 2],
    controls: Vec<f64>,
    /// By group: directions of some quantities, each as long as its slope is one.
    model: [Vec<Direction>; MODEL_GROUPS.end - MODEL_GROUPS.start],
}

impl Directions {
    fn new(model: &Model, controls: usize, by: &FlatGradient, noise: &mut Noise) -> Self {
        let numbers = numbers_of(model);
        let mut directions = Self {
            start: [Vec::new(), Vec::new()],
            controls: (0..controls).map(|_| noise.next()).collect(),
            model: [Vec::new(), Vec::new(), Vec::new()],
        };
        let mut next = 0;
        for quantity in quantities(model) {
            let mut direction = Quantity::direction(&quantity, model, &numbers, noise);
            match direction.place {
                Place::Qpos => directions.start[0].push(direction),
                Place::Qvel | Place::Activation | Place::History => {
                    directions.start[1].push(direction);
                }
                Place::Model(_) => {
                    let slope = direction.dot(by).abs();
                    if slope > SMALL && slope.is_finite() {
                        for tangent in &mut direction.tangent {
                            *tangent /= slope;
                        }
                        let groups = directions.model.len();
                        directions.model[next % groups].push(direction);
                        next += 1;
                    }
                }
                _ => {}
            }
        }
        directions
    }

    /// The slope by a gradient along each direction, and the size of the terms it is the sum of.
    fn slopes(&self, by: &FlatGradient, by_controls: &[f64]) -> [(f64, f64); LANES] {
        let sum = |terms: &mut dyn Iterator<Item = f64>| {
            let (sum, squares) = terms.fold((0.0, 0.0), |(sum, squares), term| {
                (sum + term, squares + term * term)
            });
            (sum, squares.sqrt().max(sum.abs()))
        };
        let along = |directions: &[Direction]| {
            sum(&mut directions.iter().map(|direction| direction.dot(by)))
        };
        let [first, second, third] = &self.model;
        let mut by_control = by_controls.iter().zip(&self.controls).map(|(a, b)| a * b);
        [
            along(&self.start[0]),
            along(&self.start[1]),
            sum(&mut by_control),
            along(first),
            along(second),
            along(third),
        ]
    }

    fn move_start(&self, model: &Model, plain: &State, state: &mut State<Number>) {
        let input = Input::zeros(model);
        let given = Given {
            model,
            state: plain,
            input: &input,
        };
        let mut none = Input {
            ctrl: Vec::new(),
            force: Vec::new(),
            body_force: Vec::new(),
            equality_active: Vec::new(),
        };
        for (lane, directions) in self.start.iter().enumerate() {
            for direction in directions {
                direction.add_to(given, (state, &mut none), |tangent| along(lane, tangent));
            }
        }
    }

    fn move_controls(&self, step: usize, input: &mut Input<Number>) {
        let nu = input.ctrl.len();
        let tangents = &self.controls[step * nu..][..nu];
        for (control, &tangent) in input.ctrl.iter_mut().zip(tangents) {
            control.tangent[2] = tangent;
        }
    }

    fn move_model(&self, over: &mut Model<Number>) {
        for (lane, directions) in MODEL_GROUPS.zip(&self.model) {
            for direction in directions {
                if let Place::Model(range) = &direction.place {
                    let mut tangents = direction.tangent.iter();
                    over.for_range_mut(range, |number| {
                        number.tangent[lane] = tangents.next().copied().unwrap_or(0.0);
                    });
                }
            }
        }
    }
}

/// A change along one direction.
fn along(lane: usize, tangent: f64) -> Number {
    let mut number = Dual::constant(0.0);
    number.tangent[lane] = tangent;
    number
}
