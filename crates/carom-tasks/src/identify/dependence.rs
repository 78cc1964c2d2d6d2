//! What residuals depend on: what the model lacks, as far as its residuals show it.
//!
//! A term that the model lacks leaves a trace in the residuals r: r ≈ −c·s, with s the response of all predictions to the term
//! (`problem/response.rs`) and c its coefficient. What the free parameters and initial states can make up for is taken out of s, as the
//! search has taken it out of r, so that nothing is proposed which is free already. For each term,
//!
//!   c = −s·r/s·s,   t = mean(gᵦ)/(sd(gᵦ)/√B),   gᵦ = s·r over block b of B                                          (1)
//!
//! Blocks are pieces of runs, since residuals of neighbouring frames depend on each other. The share of the variance that c explains is that of
//! blocks which were left out when c was found. A term counts if t is beyond chance among all terms that were tried, and the share is worth a
//! word. Terms resemble each other: a delay looks like damping. So the term that explains most is named for each signal, and what it explains is
//! taken out before the next one is looked for.
//!
//! Torques that are compared have a table of their own (`dependence/torques.rs`), whose responses need no simulation.

mod torques;

use carom::model::JointKind;
use carom::{Error, Model};
use carom_optimise::linalg::dot;
use carom_optimise::statistics::distribution::student_probability;

use super::conclude::{Identified, ROUNDING_NOISE};
use super::solve::Solution;
use super::task::{Task, orthonormal};
use crate::evaluate::figure;
use crate::problem::{DofStep, Problem, Push, RowOrigin};
use crate::recording::Quantity;

/// Probability of naming anything where there is nothing.
const MAX_CHANCE: f64 = 0.01;
/// Least share of the variance of a signal's residuals that is worth a word.
const MIN_SHARE: f64 = 0.02;
/// Responses that the free parameters make up for to this share of their square tell nothing of their own.
const MIN_OWN_RESPONSE: f64 = 1e-3;
/// Blocks over all runs: enough for a test, and long enough that neighbours depend little on each other.
const BLOCKS: usize = 24;
/// Fewest frames of a block.
const MIN_BLOCK_FRAMES: usize = 5;
/// Force of a push beside the forces that act at the joint: large enough for rounding, small enough for derivatives.
const PUSH_SHARE: f64 = 1e-3;
/// Speed below which friction has no direction, beside the root mean square of the speed.
const REST_SHARE: f64 = 0.05;
/// Most work of all simulations together (steps times degrees of freedom): some seconds. Of more runs, some are left out.
const MAX_WORK: f64 = 1e7;
/// Most degrees of freedom that are looked at.
const MAX_DOFS: usize = 40;

/// What residuals may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Driver {
    /// Changes of controls: commands act later, or earlier.
    ControlChange,
    /// Friction in the measure of the load: of what actuators and gravity do at the joint.
    Load,
    /// Velocity.
    Velocity,
    /// Direction of the velocity: dry friction.
    Direction,
    /// Position: gravity, springs, cogging.
    Position,
    /// Nothing: a constant force or torque.
    Constant,
    /// Acceleration: inertia. Of torques alone, since predictions are compared where forces lead.
    Acceleration,
    /// Time: drift.
    Time,
}

impl Driver {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::ControlChange,
        Self::Load,
        Self::Velocity,
        Self::Direction,
        Self::Position,
        Self::Constant,
        Self::Acceleration,
        Self::Time,
    ];

    /// As JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ControlChange => "delay",
            Self::Load => "load",
            Self::Velocity => "velocity",
            Self::Direction => "direction",
            Self::Position => "position",
            Self::Constant => "constant",
            Self::Acceleration => "acceleration",
            Self::Time => "time",
        }
    }

    /// What a dependence on it is called.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ControlChange => "changes of the control (delay)",
            Self::Load => "load (load-dependent friction)",
            Self::Velocity => "velocity (velocity-dependent)",
            Self::Direction => "direction of the velocity (dry friction)",
            Self::Position => "position (gravity, springs, cogging)",
            Self::Constant => "nothing: a constant force (offset, wind, weight)",
            Self::Acceleration => "acceleration (inertia)",
            Self::Time => "time (drift)",
        }
    }
}

/// How the residuals of a signal depend on a driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// The channel, with the component where it has several.
    pub signal: String,
    /// What they depend on.
    pub driver: Driver,
    /// The joint or actuator, `joint elbow`; empty for time.
    pub element: String,
    /// Correlation with the response to the driver.
    pub correlation: f64,
    /// Share of the variance that is explained where it was not fitted; negative if fitting made it worse.
    pub share: f64,
    /// Probability of such a correlation by chance, of this one test.
    pub probability: f64,
    /// Whether it is beyond chance among all tests, and worth a word.
    pub is_significant: bool,
}

/// What the model lacks, by its residuals.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The signal that shows it most.
    pub signal: String,
    /// What its residuals depend on.
    pub driver: Driver,
    /// The joint or actuator; empty for time.
    pub element: String,
    /// Share of the variance of that signal's residuals that it explains where it was not fitted.
    pub share: f64,
    /// What it is about, and what would take it up.
    pub words: String,
}

/// What residuals depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependences {
    /// For each signal and driver the element that explains most.
    pub rows: Vec<Dependence>,
    /// What to do about it, what explains most first; empty where nothing is significant.
    pub findings: Vec<Finding>,
    /// Runs that were looked at, and all.
    pub runs: [usize; 2],
}

/// A term that the model may lack.
struct Term {
    driver: Driver,
    /// Degree of freedom and joint, or control; the signal of a drift.
    place: Place,
    /// Its response in all residuals, without what free parameters make up for.
    response: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Joint {
        joint: usize,
        dof: usize,
    },
    /// An axis of a free joint, the three of translation first; those of a ball joint are the last three.
    Free {
        joint: usize,
        axis: usize,
    },
    Control(usize),
    Signal(usize),
}

/// Numbers of a test.
struct Test {
    coefficient: f64,
    correlation: f64,
    share: f64,
    probability: f64,
    /// Sum of squares that is explained where it was not fitted.
    gain: f64,
}

/// Which block and which signal every residual belongs to; none for what is known of initial states.
struct Rows {
    block: Vec<Option<usize>>,
    signal: Vec<Option<usize>>,
    blocks: usize,
    names: Vec<String>,
    /// The degree of freedom that a signal is the motion of.
    dofs: Vec<Option<usize>>,
}

impl Task<'_> {
    /// What the residuals of a solution depend on; none where nothing is predicted or it would take long.
    ///
    /// # Errors
    /// When the solution cannot be simulated.
    pub(super) fn dependences(
        &self,
        solution: &Solution,
        identified: &Identified,
    ) -> Result<Option<Dependences>, Error> {
        let is_rounding = identified.noise < ROUNDING_NOISE;
        if self.problem.starts_per_run() != 1 || is_rounding {
            return Ok(None);
        }
        self.on_threads(|| {
            let mut all = Vec::new();
            if self.predicts() {
                all.extend(self.evidence_of_motions(solution, &identified.model)?);
            }
            all.extend(self.evidence_of_torques(identified)?);
            if all.is_empty() {
                return Ok(None);
            }
            let mut found = Dependences::default();
            for evidence in all {
                evidence.add_to(&mut found, identified);
            }
            Ok(Some(found))
        })
    }

    /// What predictions of motions show; none where it would take long.
    fn evidence_of_motions(
        &self,
        solution: &Solution,
        model: &Model,
    ) -> Result<Option<Evidence>, Error> {
        let (joints, controls) = (joints_of(model), moving_controls(&self.problem));
        let axes: Vec<(usize, usize)> = free_axes(model).collect();
        let count = model.counts().nv;
        let simulations = 2 * (5 * joints.len() + 2 * axes.len() + controls.len()) + 1;
        if count > MAX_DOFS {
            return Ok(None);
        }
        // Some of many runs tell as much.
        let steps = self.problem.steps_of_runs();
        let all: usize = steps.iter().sum();
        let work = all as f64 * simulations as f64 * count as f64;
        let every = (work / MAX_WORK).ceil().max(1.0);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of runs"
        )]
        let every = every as usize;
        if every > steps.len() {
            return Ok(None);
        }
        let (problem, x) = self.problem.of_runs(&solution.x, |run| run % every == 0);
        let linear = problem.linearize(&x)?;
        if !linear.failures.is_empty() {
            return Ok(None);
        }
        let rows = Rows::new(&problem);
        let mut terms = terms(&problem, &x, model, (&joints, &controls))?;
        terms.extend(free_terms(&problem, &x, model, &axes)?);
        terms.extend(rows.drifts(&problem));
        let runs = [problem.all_runs().len(), self.problem.all_runs().len()];
        let made_up = MadeUp::new(&linear);
        Ok(Some(Evidence::new(
            (rows, runs),
            &made_up,
            linear.residuals,
            terms,
        )))
    }
}

/// Residuals of one kind, and what they may respond to.
struct Evidence {
    rows: Rows,
    runs: [usize; 2],
    residuals: Vec<f64>,
    terms: Vec<Term>,
}

impl Evidence {
    /// Takes out of residuals and responses what free parameters and initial states make up for.
    fn new(
        (rows, runs): (Rows, [usize; 2]),
        made_up: &MadeUp,
        mut residuals: Vec<f64>,
        mut terms: Vec<Term>,
    ) -> Self {
        for (residual, block) in residuals.iter_mut().zip(&rows.block) {
            *residual *= f64::from(u8::from(block.is_some()));
        }
        made_up.take_out(&mut residuals);
        terms.retain_mut(|term| {
            let before = dot(&term.response, &term.response);
            made_up.take_out(&mut term.response);
            let after = dot(&term.response, &term.response);
            before > 0.0 && after > MIN_OWN_RESPONSE * before
        });
        Self {
            rows,
            runs,
            residuals,
            terms,
        }
    }

    fn add_to(self, found: &mut Dependences, identified: &Identified) {
        let model = &identified.model;
        let own = self.rows.found(model, &self.terms, &self.residuals);
        found.rows.extend(own.rows);
        let findings = self
            .rows
            .findings((model, identified), self.terms, self.residuals);
        found.findings.extend(findings);
        if found.runs == [0, 0] {
            found.runs = self.runs;
        }
    }
}

/// Responses to everything that may be missing at joints and controls.
fn terms(
    problem: &Problem<'_>,
    x: &[f64],
    model: &Model,
    (joints, controls): (&[usize], &[usize]),
) -> Result<Vec<Term>, Error> {
    let structure = &model.structure.joints;
    let places: Vec<(usize, usize)> = (joints.iter())
        .map(|&joint| (structure.dof[joint], structure.qpos[joint]))
        .collect();
    let by_run = problem.steps_of_dofs(x, &places)?;
    let mut terms = Vec::new();
    for (index, (&joint, &(dof, _))) in joints.iter().zip(&places).enumerate() {
        let steps: Vec<&[DofStep]> = by_run.iter().map(|run| &run[index][..]).collect();
        let is_hinge = structure.kind[joint] == JointKind::Hinge;
        for (driver, shape) in shapes(&steps, is_hinge) {
            let forces: Vec<Vec<f64>> = (steps.iter())
                .map(|run| run.iter().map(&shape).collect())
                .collect();
            let Some(size) = push_size(acting(&steps), &forces) else {
                continue;
            };
            let at = |sign: f64| problem.pushed(x, Push::Force(dof, &forces, sign * size));
            if let (Ok(high), Ok(low)) = (at(1.0), at(-1.0)) {
                terms.push(Term {
                    driver,
                    place: Place::Joint { joint, dof },
                    response: difference(&high, &low, 2.0 * size),
                });
            }
        }
    }
    let timestep = model.option.timestep[0];
    for &control in controls {
        let at = |steps| problem.pushed(x, Push::Shift(control, steps));
        if let (Ok(late), Ok(early)) = (at(1), at(-1)) {
            terms.push(Term {
                driver: Driver::ControlChange,
                place: Place::Control(control),
                response: difference(&late, &early, 2.0 * timestep),
            });
        }
    }
    Ok(terms)
}

/// Responses to drag and to a constant force at every axis of free and ball joints.
fn free_terms(
    problem: &Problem<'_>,
    x: &[f64],
    model: &Model,
    axes: &[(usize, usize)],
) -> Result<Vec<Term>, Error> {
    let structure = &model.structure.joints;
    let dof_of = |&(joint, axis): &(usize, usize)| match structure.kind[joint] {
        JointKind::Ball => structure.dof[joint] + axis - 3,
        _ => structure.dof[joint] + axis,
    };
    let places: Vec<(usize, usize)> = (axes.iter())
        .map(|place| (dof_of(place), structure.qpos[place.0]))
        .collect();
    let by_run = problem.steps_of_dofs(x, &places)?;
    let steps_of =
        |index: usize| -> Vec<&[DofStep]> { by_run.iter().map(|run| &run[index][..]).collect() };
    let mut terms = Vec::new();
    for (index, (&(joint, axis), &(dof, _))) in axes.iter().zip(&places).enumerate() {
        let steps = steps_of(index);
        // Along an axis nothing may act: the three together say what a small force is.
        let first = index - axis % 3;
        let acting = (first..first + 3).map(|other| acting(&steps_of(other)));
        let acting: f64 = acting.sum();
        let shapes: [(Driver, Shape); 2] = [
            (Driver::Velocity, Box::new(|step| step.velocity)),
            (Driver::Constant, Box::new(|_| 1.0)),
        ];
        for (driver, shape) in shapes {
            let forces: Vec<Vec<f64>> = (steps.iter())
                .map(|run| run.iter().map(&shape).collect())
                .collect();
            let Some(size) = push_size(acting, &forces) else {
                continue;
            };
            let at = |sign: f64| problem.pushed(x, Push::Force(dof, &forces, sign * size));
            if let (Ok(high), Ok(low)) = (at(1.0), at(-1.0)) {
                terms.push(Term {
                    driver,
                    place: Place::Free { joint, axis },
                    response: difference(&high, &low, 2.0 * size),
                });
            }
        }
    }
    Ok(terms)
}

/// All axes of free and ball joints, as [`Place::Free`] counts them.
fn free_axes(model: &Model) -> impl Iterator<Item = (usize, usize)> {
    let kinds = model.structure.joints.kind.iter().enumerate();
    kinds.flat_map(|(joint, kind)| {
        let axes = match kind {
            JointKind::Free => 0..6,
            JointKind::Ball => 3..6,
            _ => 0..0,
        };
        axes.map(move |axis| (joint, axis))
    })
}

/// Joints that slide or turn.
fn joints_of(model: &Model) -> Vec<usize> {
    let kinds = model.structure.joints.kind.iter().enumerate();
    kinds
        .filter(|(_, kind)| matches!(kind, JointKind::Hinge | JointKind::Slide))
        .map(|(joint, _)| joint)
        .collect()
}

/// Controls that change while something is compared.
fn moving_controls(problem: &Problem<'_>) -> Vec<usize> {
    let nu = problem.parameters().base().counts().nu;
    let trajectories = &problem.recordings().trajectories;
    let moves = |control: &usize| {
        trajectories.iter().any(|trajectory| {
            let mut values = trajectory.controls.iter().skip(*control).step_by(nu.max(1));
            let first = values.next();
            values.any(|value| Some(value) != first)
        })
    };
    (0..nu).filter(moves).collect()
}

/// A force as a function of what a joint does.
type Shape = Box<dyn Fn(&DofStep) -> f64>;

/// Forces that may be missing at a joint, as functions of what it does.
fn shapes(steps: &[&[DofStep]], is_hinge: bool) -> Vec<(Driver, Shape)> {
    let all = || steps.iter().flat_map(|run| run.iter());
    let count = all().count().max(1) as f64;
    let speed = (all().map(|step| step.velocity.powi(2)).sum::<f64>() / count).sqrt();
    let rest = (REST_SHARE * speed).max(f64::MIN_POSITIVE);
    let direction = move |step: &DofStep| (step.velocity / rest).tanh();
    let load = |step: &DofStep| step.actuation.abs() + step.bias.abs();
    let mut shapes: Vec<(Driver, Shape)> = vec![
        (Driver::Velocity, Box::new(|step| step.velocity)),
        (Driver::Direction, Box::new(direction)),
        (
            Driver::Load,
            Box::new(move |step| load(step) * direction(step)),
        ),
    ];
    if is_hinge {
        shapes.push((Driver::Position, Box::new(|step| step.position.sin())));
        shapes.push((Driver::Position, Box::new(|step| step.position.cos())));
    } else {
        shapes.push((Driver::Position, Box::new(|step| step.position)));
    }
    shapes
}

/// Sum of the squares of all forces that act at a joint.
fn acting(steps: &[&[DofStep]]) -> f64 {
    let steps = steps.iter().flat_map(|run| run.iter());
    let forces = steps.map(|step| step.actuation.abs() + step.bias.abs() + step.inertial.abs());
    forces.map(|force| force * force).sum()
}

/// The factor of a push that makes it small beside what acts at the joint; none where nothing does.
fn push_size(acting: f64, forces: &[Vec<f64>]) -> Option<f64> {
    let own: f64 = forces.iter().flatten().map(|force| force * force).sum();
    let size = PUSH_SHARE * (acting / own).sqrt();
    (size.is_finite() && size > 0.0).then_some(size)
}

fn difference(high: &[f64], low: &[f64], span: f64) -> Vec<f64> {
    let pairs = high.iter().zip(low);
    pairs.map(|(high, low)| (high - low) / span).collect()
}

/// What free parameters and initial states make up for.
struct MadeUp {
    /// Of each run, with the place of its first row.
    starts: Vec<(usize, Vec<Vec<f64>>)>,
    parameters: Vec<Vec<f64>>,
}

impl MadeUp {
    fn new(linear: &crate::problem::Linear) -> Self {
        let mut starts = Vec::new();
        let mut first = 0;
        for block in &linear.blocks {
            let directions = orthonormal(&block.by_start, block.rows, linear.start_width);
            starts.push((first, directions));
            first += block.rows;
        }
        let mut made_up = Self {
            starts,
            parameters: Vec::new(),
        };
        let count = linear.parameters;
        let numbers: Vec<f64> = (linear.blocks.iter())
            .flat_map(|block| block.by_parameters.iter().copied())
            .collect();
        let columns = (0..count).map(|column| {
            let column = numbers.iter().skip(column).step_by(count);
            let mut column: Vec<f64> = column.copied().collect();
            made_up.take_out(&mut column);
            column
        });
        let columns: Vec<Vec<f64>> = columns.collect();
        let rows: Vec<f64> = (0..first)
            .flat_map(|row| columns.iter().map(move |column| column[row]))
            .collect();
        made_up.parameters = orthonormal(&rows, first, count);
        made_up
    }

    /// Takes them out of a vector of all residuals.
    fn take_out(&self, vector: &mut [f64]) {
        let subtract = |vector: &mut [f64], direction: &[f64]| {
            let along = dot(vector, direction);
            for (entry, part) in vector.iter_mut().zip(direction) {
                *entry -= along * part;
            }
        };
        for (first, directions) in &self.starts {
            for direction in directions {
                subtract(&mut vector[*first..first + direction.len()], direction);
            }
        }
        for direction in &self.parameters {
            subtract(vector, direction);
        }
    }
}

impl Rows {
    fn new(problem: &Problem<'_>) -> Self {
        let origins = problem.origins();
        let channels = &problem.recordings().channels;
        let mut signals: Vec<(usize, usize)> = Vec::new();
        let is_measured = |row: &RowOrigin| row.channel.is_some();
        let frames: usize = problem.all_runs().map(|run| run.last - run.first).sum();
        let length = (frames / BLOCKS).max(MIN_BLOCK_FRAMES);
        let (mut block, mut signal) = (Vec::new(), Vec::new());
        let mut last: Option<(usize, usize)> = None;
        let mut blocks = 0_usize;
        for row in &origins {
            let first = problem.run_at(row.run).first + 1;
            let piece = (row.frame.saturating_sub(first)) / length;
            if !is_measured(row) {
                block.push(None);
                signal.push(None);
                continue;
            }
            if last != Some((row.run, piece)) {
                last = Some((row.run, piece));
                blocks += 1;
            }
            let key = (row.channel.unwrap_or(0), row.component);
            let index = signals.iter().position(|known| *known == key);
            let index = index.unwrap_or_else(|| {
                signals.push(key);
                signals.len() - 1
            });
            block.push(Some(blocks - 1));
            signal.push(Some(index));
        }
        let name = |&(channel, component): &(usize, usize)| {
            let channel = &channels[channel];
            if channel.width == 1 {
                return channel.name.clone();
            }
            format!("{}[{component}]", channel.name)
        };
        let dof = |&(channel, _): &(usize, usize)| match channels[channel].quantity {
            Quantity::JointPosition { dof, .. } | Quantity::JointVelocity { dof } => Some(dof),
            _ => None,
        };
        // Many short runs are blocks of their own: some of them together are enough.
        let together = blocks.div_ceil(4 * BLOCKS).max(1);
        for block in block.iter_mut().flatten() {
            *block /= together;
        }
        Self {
            block,
            signal,
            blocks: blocks.div_ceil(together),
            names: signals.iter().map(name).collect(),
            dofs: signals.iter().map(dof).collect(),
        }
    }

    /// A drift of every signal.
    fn drifts(&self, problem: &Problem<'_>) -> Vec<Term> {
        let origins = problem.origins();
        let time = |row: &RowOrigin| {
            let run = problem.run_at(row.run);
            let times = &problem.recordings().trajectories[run.trajectory].times;
            times[row.frame] - times[0]
        };
        let drift = |signal: usize| Term {
            driver: Driver::Time,
            place: Place::Signal(signal),
            response: (origins.iter().zip(&self.signal))
                .map(|(row, own)| if *own == Some(signal) { time(row) } else { 0.0 })
                .collect(),
        };
        (0..self.names.len()).map(drift).collect()
    }

    /// Tests a term on one signal, or on all of them.
    fn test(&self, response: &[f64], residuals: &[f64], signal: Option<usize>) -> Option<Test> {
        // Products over each block: s·r, s·s, r·r.
        let mut sums = vec![[0.0_f64; 3]; self.blocks];
        for (row, (&s, &r)) in response.iter().zip(residuals).enumerate() {
            let is_own = signal.is_none() || self.signal[row] == signal;
            let Some(block) = self.block[row].filter(|_| is_own) else {
                continue;
            };
            let sums = &mut sums[block];
            (sums[0], sums[1], sums[2]) = (sums[0] + s * r, sums[1] + s * s, sums[2] + r * r);
        }
        sums.retain(|sums| sums[2] > 0.0);
        let count = sums.len() as f64;
        let total = sums.iter().fold([0.0; 3], |total, sums| {
            [total[0] + sums[0], total[1] + sums[1], total[2] + sums[2]]
        });
        if sums.len() < 3 || total[1] <= 0.0 || total[2] <= 0.0 {
            return None;
        }
        let mean = total[0] / count;
        let variance: f64 = sums.iter().map(|sums| (sums[0] - mean).powi(2)).sum();
        let t = mean / (variance / (count - 1.0) / count).sqrt(); // (1)
        let probability = 2.0 * student_probability(-t.abs(), count - 1.0);
        // What is left of each block with the coefficient of the others.
        let left = sums.iter().map(|[sr, ss, rr]| {
            let others = total[1] - ss;
            let coefficient = if others > 0.0 {
                (total[0] - sr) / others
            } else {
                0.0
            };
            rr - 2.0 * coefficient * sr + coefficient * coefficient * ss
        });
        let gain = total[2] - left.sum::<f64>();
        Some(Test {
            coefficient: -total[0] / total[1],
            correlation: -total[0] / (total[1] * total[2]).sqrt(),
            share: gain / total[2],
            probability,
            gain,
        })
    }

    /// Whether a term may act on a signal: joints on their own motion, all else on everything.
    fn may_act(&self, term: &Term, signal: usize) -> bool {
        match term.place {
            Place::Joint { dof, .. } => self.dofs[signal].is_none_or(|own| own == dof),
            Place::Control(_) | Place::Free { .. } => true,
            Place::Signal(own) => own == signal,
        }
    }

    fn pairs<'t>(&'t self, terms: &'t [Term]) -> impl Iterator<Item = (usize, &'t Term)> {
        let signals = 0..self.names.len();
        signals.flat_map(move |signal| {
            let own = terms.iter().filter(move |term| self.may_act(term, signal));
            own.map(move |term| (signal, term))
        })
    }

    /// Whether a test is beyond chance among so many, and worth a word.
    fn counts(test: &Test, tests: usize) -> bool {
        let level = MAX_CHANCE / tests.max(1) as f64;
        test.probability < level && test.share >= MIN_SHARE
    }

    /// For each signal and driver the term that explains most.
    fn found(&self, model: &Model, terms: &[Term], residuals: &[f64]) -> Dependences {
        let tests = self.pairs(terms).count();
        let mut rows: Vec<Dependence> = Vec::new();
        for signal in 0..self.names.len() {
            for driver in Driver::ALL {
                let own = terms.iter().filter(|term| term.driver == driver);
                let own = own.filter(|term| self.may_act(term, signal));
                let tested = own.filter_map(|term| {
                    let test = self.test(&term.response, residuals, Some(signal))?;
                    Some((term, test))
                });
                let best = tested.max_by(|(_, a), (_, b)| a.share.total_cmp(&b.share));
                let Some((term, test)) = best else {
                    continue;
                };
                rows.push(Dependence {
                    signal: self.names[signal].clone(),
                    driver,
                    element: element(model, term.place),
                    correlation: test.correlation,
                    share: test.share,
                    probability: test.probability,
                    is_significant: Self::counts(&test, tests),
                });
            }
        }
        Dependences {
            rows,
            ..Dependences::default()
        }
    }

    /// What explains most, one thing for each signal.
    fn findings(
        &self,
        (model, identified): (&Model, &Identified),
        mut terms: Vec<Term>,
        mut residuals: Vec<f64>,
    ) -> Vec<Finding> {
        let tests = self.pairs(&terms).count();
        let mut is_explained = vec![false; self.names.len()];
        let mut findings = Vec::new();
        loop {
            let mut best: Option<(usize, usize, Test)> = None;
            for (index, term) in terms.iter().enumerate() {
                let Some(whole) = self.test(&term.response, &residuals, None) else {
                    continue;
                };
                // The signal that shows it most.
                let signals = (0..self.names.len()).filter(|&signal| self.may_act(term, signal));
                let shown = signals
                    .filter_map(|signal| {
                        let test = self.test(&term.response, &residuals, Some(signal))?;
                        Some((signal, test))
                    })
                    .max_by(|(_, a), (_, b)| a.gain.total_cmp(&b.gain));
                let Some((signal, test)) = shown else {
                    continue;
                };
                let counts = Self::counts(&test, tests) && !is_explained[signal];
                let is_better = best
                    .as_ref()
                    .is_none_or(|(_, _, other)| whole.gain > other.gain);
                if counts && is_better {
                    let shown = Test {
                        gain: whole.gain,
                        ..test
                    };
                    best = Some((index, signal, shown));
                }
            }
            let Some((index, signal, test)) = best else {
                return findings;
            };
            is_explained[signal] = true;
            let term = terms.swap_remove(index);
            findings.push(Finding {
                signal: self.names[signal].clone(),
                driver: term.driver,
                element: element(model, term.place),
                share: test.share,
                words: Advice { model, identified }.words(&term, test.coefficient),
            });
            // What it explains is taken out of all else.
            let square = dot(&term.response, &term.response);
            let take_out = |vector: &mut Vec<f64>| {
                let along = dot(vector, &term.response) / square;
                for (entry, part) in vector.iter_mut().zip(&term.response) {
                    *entry -= along * part;
                }
            };
            take_out(&mut residuals);
            for other in &mut terms {
                take_out(&mut other.response);
            }
        }
    }
}

/// `joint elbow`, `actuator motor`; empty for time.
fn element(model: &Model, place: Place) -> String {
    match place {
        Place::Joint { joint, .. } => format!("joint {}", joint_name(model, joint)),
        Place::Free { joint, axis } => {
            format!("{} of joint {}", axis_words(axis), joint_name(model, joint))
        }
        Place::Control(control) => format!("actuator {}", actuator_name(model, control)),
        Place::Signal(_) => String::new(),
    }
}

/// What an axis of a free joint is: translations are along those of the world, rotations about those of the body.
fn axis_words(axis: usize) -> String {
    let letter = ["x", "y", "z"][axis % 3];
    if axis < 3 {
        format!("translation along the world's {letter}")
    } else {
        format!("rotation about the body's {letter}")
    }
}

fn named(names: &[String], index: usize) -> String {
    match names.get(index) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => index.to_string(),
    }
}

fn joint_name(model: &Model, joint: usize) -> String {
    named(&model.structure.names.joints, joint)
}

fn actuator_name(model: &Model, control: usize) -> String {
    let owner = model.structure.actuators.control_owner[control];
    named(&model.structure.names.actuators, owner)
}

/// What would take up a term.
struct Advice<'a> {
    model: &'a Model,
    identified: &'a Identified,
}

impl Advice<'_> {
    /// What is found and what would take it up, with its size.
    fn words(&self, term: &Term, coefficient: f64) -> String {
        let size = figure(coefficient.abs());
        match term.place {
            Place::Control(control) => self.delay(control, coefficient),
            Place::Joint { joint, .. } => {
                let name = joint_name(self.model, joint);
                let is_missing = coefficient < 0.0;
                match term.driver {
                    Driver::Velocity => self.viscous(&name, is_missing, &size),
                    Driver::Direction => self.dry(&name, is_missing, &size),
                    Driver::Load => Self::load(&name, is_missing, coefficient),
                    Driver::Constant => self.offset(joint, &name, &size),
                    Driver::Acceleration => self.inertia(joint, &name, is_missing, &size),
                    _ => self.position(joint, &name),
                }
            }
            Place::Free { joint, axis } => self.free(joint, axis, term.driver, coefficient),
            Place::Signal(_) => "a drift: errors grow with the time of the recording; check the clocks ([time] in the mapping), offsets of \
                 encoders, the supply and the temperature; no attribute of MJCF takes it up"
                .to_owned(),
        }
    }

    fn delay(&self, control: usize, coefficient: f64) -> String {
        let name = actuator_name(self.model, control);
        let milliseconds = figure(1e3 * coefficient.abs());
        if coefficient < 0.0 {
            return format!(
                "delay: commands of actuator {name} act about {milliseconds} ms earlier than in the model; check that controls have the clock of \
                 the measurements, or lower actuator.{name}.delay"
            );
        }
        let remedy = match self.freed("actuator", &name, "delay") {
            Freed::No => format!("--free actuator.{name}.delay sets up all that it needs"),
            Freed::Tied => format!("free actuator.{name}.delay without tying it to others"),
            Freed::Alone => {
                "the delay is free already, so it may change from run to run".to_owned()
            }
        };
        format!(
            "delay: commands of actuator {name} act about {milliseconds} ms later than in the model; {remedy}"
        )
    }

    fn viscous(&self, name: &str, is_missing: bool, size: &str) -> String {
        let what = if is_missing { "more" } else { "less" };
        let remedy = match self.freed("joint", name, "damping[0]") {
            Freed::No => format!("free joint.{name}.damping[0]"),
            Freed::Tied => format!("free joint.{name}.damping[0] without tying it to others"),
            Freed::Alone => format!(
                "joint.{name}.damping[0] is free already: free joint.{name}.damping[1], which goes with the square of the speed"
            ),
        };
        format!(
            "velocity-dependent: joint {name} has about {size} (N·s/m or N·m·s/rad) {what} viscous friction than the model; {remedy}"
        )
    }

    fn dry(&self, name: &str, is_missing: bool, size: &str) -> String {
        let what = if is_missing { "more" } else { "less" };
        let dof = self
            .model
            .structure
            .names
            .joints
            .iter()
            .position(|one| one == name);
        let dof = dof.map(|joint| self.model.structure.joints.dof[joint]);
        let has_none = dof.is_some_and(|dof| self.model.dofs.frictionloss[dof] == 0.0);
        let remedy = match self.freed("joint", name, "frictionloss") {
            Freed::No if has_none => {
                format!("free joint.{name}.frictionloss from a `start` above 0 (in --settings)")
            }
            Freed::No => format!("free joint.{name}.frictionloss"),
            Freed::Tied => format!("free joint.{name}.frictionloss without tying it to others"),
            Freed::Alone => format!(
                "joint.{name}.frictionloss is free already: the law `stribeck` has friction that falls with the speed"
            ),
        };
        format!(
            "dry friction: joint {name} has about {size} (N or N·m) {what} than the model; {remedy}"
        )
    }

    fn load(name: &str, is_missing: bool, coefficient: f64) -> String {
        let percent = figure(100.0 * coefficient.abs());
        let what = if is_missing { "grows" } else { "falls" };
        format!(
            "load-dependent friction: friction of joint {name} {what} with the load, by about {percent} % of what actuators and gravity do there; \
             joint.{name}.frictionloss is constant and no attribute of MJCF takes this up, so gains and friction that were found stand for it too"
        )
    }

    fn position(&self, joint: usize, name: &str) -> String {
        let body = self.model.structure.joints.body[joint];
        let body = named(&self.model.structure.names.bodies, body);
        let candidates = [
            ("body", body.as_str(), "mass"),
            ("body", body.as_str(), "ipos"),
            ("body", body.as_str(), "pseudo_inertia"),
            ("joint", name, "stiffness"),
            ("joint", name, "springref"),
        ];
        let has_inertia = self.freed("body", &body, "pseudo_inertia") != Freed::No;
        let open = candidates.iter().filter(|(kind, element, attribute)| {
            let is_covered = has_inertia && *kind == "body";
            !is_covered && self.freed(kind, element, attribute) == Freed::No
        });
        let open: Vec<String> = open
            .map(|(kind, element, attribute)| format!("{kind}.{element}.{attribute}"))
            .collect();
        let remedy = match open.as_slice() {
            [] => "all that could take it up is free: a law `cogging` has torques of magnets and teeth".to_owned(),
            open => format!("free one of {}", open.join(", ")),
        };
        format!(
            "position-dependent: forces at joint {name} depend on where it is, as gravity, springs and cogging do; {remedy}"
        )
    }

    /// A torque that is always there, which motors with a bias can have.
    fn offset(&self, joint: usize, name: &str, size: &str) -> String {
        let motors = self.actuators_of(joint).into_iter().map(|id| {
            let actuator = named(&self.model.structure.names.actuators, id);
            format!("actuator.{actuator}.biasprm[0] (a motor needs biastype=\"affine\" for it)")
        });
        let motors: Vec<String> = motors.collect();
        format!(
            "constant: joint {name} has about {size} (N or N·m) that the model lacks, as sensors of torque with an offset say; free {}",
            motors.join(", ")
        )
    }

    /// Actuators that act on a joint.
    fn actuators_of(&self, joint: usize) -> Vec<usize> {
        let transmissions = self.model.structure.actuators.transmission.iter();
        let own = transmissions.enumerate().filter(
            |(_, one)| matches!(one, carom::model::Transmission::Joint(own) if *own == joint),
        );
        own.map(|(id, _)| id).collect()
    }

    fn inertia(&self, joint: usize, name: &str, is_missing: bool, size: &str) -> String {
        let what = if is_missing { "more" } else { "less" };
        let body = self.model.structure.joints.body[joint];
        let body = named(&self.model.structure.names.bodies, body);
        let remedy = match self.freed("joint", name, "armature") {
            Freed::No => {
                format!("free joint.{name}.armature, or body.{body}.pseudo_inertia")
            }
            _ => format!("free body.{body}.pseudo_inertia"),
        };
        format!(
            "acceleration-dependent: joint {name} moves about {size} (kg or kg·m²) {what} inertia than the model has; {remedy}"
        )
    }

    /// What a free body is missing along one axis.
    fn free(&self, joint: usize, axis: usize, driver: Driver, coefficient: f64) -> String {
        let body = self.model.structure.joints.body[joint];
        let body = named(&self.model.structure.names.bodies, body);
        let (size, axis_words) = (figure(coefficient.abs()), axis_words(axis));
        let is_translation = axis < 3;
        if driver == Driver::Velocity {
            let unit = if is_translation {
                "N·s/m"
            } else {
                "N·m·s/rad"
            };
            let what = if coefficient < 0.0 { "more" } else { "less" };
            return format!(
                "drag: the {axis_words} of body {body} has about {size} {unit} {what} drag than the model; option.viscosity and option.density \
                 give drag by the shape of all bodies, joint.*.damping[0] of a free joint the same along all axes"
            );
        }
        let sign = if coefficient < 0.0 { "-" } else { "" };
        if is_translation {
            return format!(
                "constant: about {sign}{size} N for the {axis_words} of body {body} is missing; free option.gravity, body.{body}.mass or the gains \
                 of actuators, if one of them may be wrong; wind and the tilt of the recording's world look the same"
            );
        }
        format!(
            "constant: about {sign}{size} N·m for the {axis_words} of body {body} is missing; free body.{body}.ipos, or check that actuators \
             are balanced"
        )
    }

    /// Whether a parameter is free.
    fn freed(&self, kind: &str, element: &str, attribute: &str) -> Freed {
        let names = self
            .identified
            .estimates
            .iter()
            .map(|one| one.name.as_str());
        let mut freed = Freed::No;
        for name in names {
            let mut parts = name.splitn(2, '.');
            let (Some(own), Some(rest)) = (parts.next(), parts.next()) else {
                continue;
            };
            let Some((pattern, own_attribute)) = rest.rsplit_once('.') else {
                continue;
            };
            let is_attribute = own_attribute == attribute
                || own_attribute.split('[').next() == Some(attribute)
                || attribute.split('[').next() == Some(own_attribute);
            if own != kind || !is_attribute || !matches(pattern, element) {
                continue;
            }
            if pattern == element {
                return Freed::Alone;
            }
            freed = Freed::Tied;
        }
        freed
    }
}

/// Whether a parameter is free, and whether it is tied to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    No,
    Tied,
    Alone,
}

/// Whether a name is one of a pattern with `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let [pattern, name] = [pattern, name].map(|text| text.chars().collect::<Vec<char>>());
    matches_from(&pattern, &name)
}

fn matches_from(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => {
            matches_from(rest, name) || !name.is_empty() && matches_from(pattern, &name[1..])
        }
        (['?', rest @ ..], [_, others @ ..]) => matches_from(rest, others),
        ([one, rest @ ..], [other, others @ ..]) => one == other && matches_from(rest, others),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_name_elements() {
        assert!(matches("*", "elbow") && matches("e?bow", "elbow") && matches("el*", "elbow"));
        assert!(!matches("e?bow", "bow") && !matches("wrist", "elbow"));
    }
}
