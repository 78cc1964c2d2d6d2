//! Is the gradient over a whole trajectory right?
//!
//! Dual numbers are carried along the recorded trajectory, at the very states that the backward pass visits, so that a
//! chaotic motion does not drive the two apart. Directions of the start, of the controls of all steps and of the numbers
//! of the model are followed at once. With ẋ the tangents of the states and x̄ their cotangents,
//!
//!   ⟨x̄ₖ, ẋₖ⟩ is the same for all steps k                                                        (1)
//!
//! along directions of the start: where it changes, the two disagree.
//!
//! No slope is left out. Rounding of every state by ε changes the loss by
//!
//!   ν = ε·Σₖ ⟨|x̄ₖ|, |xₖ|⟩,                                                                       (2)
//!
//! so a slope along a direction as large as the numbers themselves may be off by ν, however small it is itself.

use carom::cotangent::{InputBar, StateBar};
use carom::rollout::{Adjoint, Controls, Loss, NoGradient, gradient};
use carom::{Data, Dual, Error, Input, Model, Scalar, State, varied};

use crate::directions::{Direction, FlatGradient, Given, Noise, Place, Variable, variables};
use crate::point::exceeds;
use crate::probe::{LANES, Number, constant_input, pairing};
use crate::{DUAL_BAR, comparable};

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
    /// The first step at which the two disagree.
    pub disagree_at: Option<usize>,
    /// The step before which the trajectory was ended as numbers are not finite there, and which.
    pub ended: Option<(usize, String)>,
}

/// Compares the gradient of a random weighing of the last state with dual numbers.
///
/// The motion begins at the model's default state, disturbed, after `before` steps.
///
/// # Errors
/// When the motion is not finite or has no derivative.
pub fn check_trajectory(
    model: &Model,
    before: usize,
    steps: usize,
    seed: u64,
) -> Result<TrajectoryReport, Error> {
    let model = &comparable(model);
    let (mut motion, ended) = Motion::new(model, (before, steps), seed)?;
    let mut report = motion.compare(&mut Noise(seed))?;
    report.ended = ended;
    Ok(report)
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
    ) -> Result<(Self, Option<(usize, String)>), Error> {
        let mut noise = Noise(seed);
        let (mut state, mut input) = (State::reference(model), Input::zeros(model));
        let mut data = Data::new(model);
        noise.disturb(model, &mut state, &mut input);
        let center = input.ctrl.clone();
        for step in 0..before {
            let report = carom::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                return Err(NoGradient::NotFinite(place).at(step));
            }
        }
        let (mut states, mut controls) = (vec![state.clone()], Vec::new());
        let mut ended = None;
        for step in 0..steps {
            for (control, center) in input.ctrl.iter_mut().zip(&center) {
                *control = center * (1.0 + 0.1 * noise.next());
            }
            let report = carom::step(model, &mut state, &input, &mut data);
            if let Some(place) = report.not_finite {
                ended = Some((step, place.to_string()));
                break;
            }
            controls.extend_from_slice(&input.ctrl);
            states.push(state.clone());
        }
        let motion = Self {
            model,
            states,
            controls,
            bars: Vec::new(),
        };
        Ok((motion, ended))
    }

    fn steps(&self) -> usize {
        self.states.len() - 1
    }

    fn input(&self, step: usize) -> Input {
        let mut input = Input::zeros(self.model);
        let nu = input.ctrl.len();
        (input.ctrl).copy_from_slice(&self.controls[step * nu..][..nu]);
        input
    }

    fn compare(&mut self, noise: &mut Noise) -> Result<TrajectoryReport, Error> {
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
        let by = FlatGradient {
            state: found.start,
            input: InputBar::zeros(model),
            model: found.model.flat(),
        };
        // Below this, an error of ν is more than the bar allows.
        let small = self.rounding() / DUAL_BAR;
        let directions = Directions::new((model, self.controls.len()), (&by, small), noise);
        let slopes = directions.slopes(&by, &found.controls);
        let (duals, disagree_at) = self.follow(&directions, (&last, small));
        let mut report = TrajectoryReport {
            steps,
            error: 0.0,
            along: GROUPS[0],
            growth: found.norms.iter().fold(0.0, |a: f64, b| a.max(*b)) / last.norm(),
            disagree_at,
            ended: None,
        };
        for (lane, (slope, size)) in slopes.into_iter().enumerate() {
            // Directions of the model are as long as their slopes are one, or what is small would be.
            let least = if MODEL_GROUPS.contains(&lane) {
                1.0
            } else {
                small
            };
            let error = (duals[lane] - slope).abs() / size.max(least);
            if exceeds(error, report.error) {
                (report.error, report.along) = (error, GROUPS[lane]);
            }
        }
        Ok(report)
    }

    /// What rounding of all states does to the loss. (2)
    fn rounding(&self) -> f64 {
        let terms = |bar: &[f64], numbers: &[f64]| -> f64 {
            let sizes = numbers.iter().map(|number| number.abs().max(1.0));
            bar.iter()
                .zip(sizes)
                .map(|(bar, size)| bar.abs() * size)
                .sum()
        };
        let of_step = |(bar, state): (&StateBar, &State)| {
            // Positions and angles count as one: there are more coordinates than directions.
            let positions: f64 = bar.qpos.iter().map(|bar| bar.abs()).sum();
            positions + terms(&bar.qvel, &state.qvel) + terms(&bar.act, &state.act)
        };
        f64::EPSILON * self.bars.iter().zip(&self.states).map(of_step).sum::<f64>()
    }

    /// Slopes of the loss by dual numbers, and the first step at which (1) changes.
    fn follow(
        &self,
        directions: &Directions,
        (loss, small): (&StateBar, f64),
    ) -> ([f64; LANES], Option<usize>) {
        let model = self.model;
        let mut over = model.map(Number::constant);
        directions.move_model(&mut over);
        let mut data = varied::data(&over);
        let mut state = self.states[0].map(Number::constant);
        directions.move_start(model, &self.states[0], &mut state);
        let mut broken = None;
        let mut before = pairing(model, &state, &self.bars[0]);
        for (step, next) in self.states[1..].iter().enumerate() {
            let mut input = constant_input(&over, &self.input(step));
            directions.move_controls(step, &mut input);
            varied::step(&over, &mut state, &input, &mut data);
            state.set_values(next);
            let after = pairing(model, &state, &self.bars[step + 1]);
            let parts = (0..2).any(|lane| {
                let size = before[lane].abs().max(small);
                exceeds((after[lane] - before[lane]).abs(), DUAL_BAR * size)
            });
            if parts && broken.is_none() {
                broken = Some(step);
            }
            before = after;
        }
        (pairing(model, &state, loss), broken)
    }
}

/// Directions of the start, of all controls, and of parts of the model.
struct Directions {
    start: [Vec<Direction>; 2],
    controls: Vec<f64>,
    /// By group: directions of some quantities, each as long as its slope is one, unless it is small.
    model: [Vec<Direction>; MODEL_GROUPS.end - MODEL_GROUPS.start],
}

impl Directions {
    fn new(
        (model, controls): (&Model, usize),
        (by, small): (&FlatGradient, f64),
        noise: &mut Noise,
    ) -> Self {
        let numbers = model.flat();
        let mut directions = Self {
            start: [Vec::new(), Vec::new()],
            controls: (0..controls).map(|_| noise.next()).collect(),
            model: [Vec::new(), Vec::new(), Vec::new()],
        };
        let mut next = 0;
        for quantity in variables(model) {
            let mut direction = Variable::direction(&quantity, model, &numbers, noise);
            match direction.place {
                Place::Qpos => directions.start[0].push(direction),
                Place::Qvel | Place::Activation | Place::History => {
                    directions.start[1].push(direction);
                }
                Place::Model(..) => {
                    let slope = direction.dot(by).abs().max(small);
                    for tangent in &mut direction.tangent {
                        *tangent /= slope;
                    }
                    let groups = directions.model.len();
                    directions.model[next % groups].push(direction);
                    next += 1;
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
            timestep: Number::ZERO,
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
                if let Place::Model(quantity, _) = direction.place {
                    let mut tangents = direction.tangent.iter();
                    over.numbers_mut(quantity, |number| {
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
