//! Forward sensitivities: how the states of a motion change along directions.
//!
//! The steps of the motion are taken again over dual numbers, a few directions at a time. Their values are those of the
//! motion; lengths of steps are constants, and at onsets
//!
//!   δv⁺ = δv⁻ + (f⁺ − f⁻)·δg/ġ                                                          (1)
//!
//! with δg the change of the distance that becomes zero. Cheaper than a backward pass for a few directions and many results.

use super::backward::weights;
use super::dense::Dense;
use super::mode::{Gauge, Switch, contact_of};
use super::motion::{Motion, Onset, Regime, Step};
use super::pieces::{Key, read_keys};
use super::stepper::{clamp_activations, prepare};
use super::{Flow, Tableau};
use crate::data::Data;
use crate::dual::{Dual, LANES};
use crate::dynamics;
use crate::error::Error;
use crate::integrate::{Rates, difference, place, tangent_rates};
use crate::linearize::{Tangent, turn};
use crate::math::Quat;
use crate::model::{JointKind, Model};
use crate::rollout::{Controls, NoGradient};
use crate::scalar::Scalar;
use crate::stages::actuation::is_disabled;
use crate::stages::solve::{self, Phase};
use crate::state::{Input, State};

type Number = Dual<LANES>;

/// A direction along which a motion changes.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Of the initial state, and of the controls in all intervals.
    pub start: Tangent,
    /// Of the parameters of the model, in its layout, unit quaternions and axes tangential; none if they stay.
    pub model: Option<Model>,
}

impl Motion {
    /// For each direction, how the states at the start and at the ends of the intervals change along it. `flow` and
    /// `controls` are those the motion was followed with.
    ///
    /// # Errors
    /// When the motion was not followed to its end, its steps are not stored, or derivatives are not those of its steps.
    ///
    /// # Panics
    /// When the controls do not fit the model.
    pub fn forward(
        &self,
        flow: &Flow,
        controls: &Controls,
        along: &[Variation],
    ) -> Result<Vec<Vec<Tangent>>, Error> {
        controls.assert_fit(flow.model.counts().nu);
        let why = if !self.status.is_done() {
            self.status.to_string()
        } else if !self.is_stored() {
            "the steps of the motion are not stored; follow it with another adjoint than 'checkpointed' or 'backsolve'".to_owned()
        } else if flow.model.surrogate().is_some() {
            "contacts from distance act in backward passes only; use a backward adjoint".to_owned()
        } else if flow.settings.method.tableau().is_extrapolated() {
            "forward sensitivities know explicit steps only; use a backward adjoint".to_owned()
        } else if self.has_holds() {
            "a contact chatters and is held, which forward sensitivities do not know; use a backward adjoint".to_owned()
        } else {
            let mut changes = Vec::with_capacity(along.len());
            for chunk in along.chunks(LANES) {
                changes.extend(Varied::new(flow, self, controls, chunk).follow()?);
            }
            return Ok(changes);
        };
        Err(NoGradient::refused(why))
    }
}

/// A motion that is followed again, with its derivatives along some directions.
struct Varied<'a> {
    motion: &'a Motion,
    controls: &'a Controls,
    tableau: &'static Tableau,
    dense: Dense,
    /// Weights of the rates where the step at hand was cut.
    cut_weights: Vec<f64>,
    along: &'a [Variation],
    plain: &'a Model,
    /// Plain numbers: a stage, its results and gauges, the start of a step and the rates of its stages.
    plain_state: State,
    plain_input: Input,
    plain_data: Data,
    gauges: Vec<Gauge>,
    keys: Vec<Key>,
    phases: Vec<Phase>,
    start: State,
    rates: Vec<Rates>,
    /// The same over dual numbers.
    model: Model<Number>,
    state: State<Number>,
    stage: State<Number>,
    input: Input<Number>,
    data: Data<Number>,
    dual_rates: Vec<Rates<Number>>,
    slope: Rates<Number>,
}

impl<'a> Varied<'a> {
    fn new(
        flow: &'a Flow,
        motion: &'a Motion,
        controls: &'a Controls,
        along: &'a [Variation],
    ) -> Self {
        let plain = &flow.model;
        let tableau = flow.settings.method.tableau();
        // A lane per direction: seed the numbers of the model …
        let mut model = plain.map(Number::constant);
        for (lane, variation) in along.iter().enumerate() {
            if let Some(direction) = &variation.model {
                let mut rates = direction.flat().into_iter();
                model.for_each_mut(|_, _, _, number| {
                    number.tangent[lane] = rates.next().unwrap_or(0.0);
                });
            }
        }
        // … and the initial state, orientations by rotations.
        let start = motion.states[0].clone();
        let mut state = start.map(Number::constant);
        let mut turns = vec![Number::constant(0.0); plain.counts().nv];
        for (lane, Variation { start, .. }) in along.iter().enumerate() {
            let seed = |numbers: &mut [Number], rates: &[f64]| {
                for (number, &rate) in numbers.iter_mut().zip(rates) {
                    number.tangent[lane] = rate;
                }
            };
            seed(&mut turns, &start.qpos);
            seed(&mut state.qvel, &start.qvel);
            seed(&mut state.act, &start.act);
        }
        turn(&model, &turns, &mut state.qpos);
        Self {
            motion,
            controls,
            tableau,
            dense: Dense::of(flow.settings.method),
            cut_weights: Vec::new(),
            along,
            plain,
            plain_state: start.clone(),
            plain_input: Input::zeros(plain),
            plain_data: Data::new(plain),
            gauges: Vec::new(),
            keys: Vec::new(),
            phases: Vec::new(),
            start,
            rates: vec![Rates::zeros(plain.counts()); tableau.len() + 1],
            stage: state.clone(),
            state,
            input: Input::zeros(&model),
            data: Data::new(&model),
            dual_rates: vec![Rates::zeros(plain.counts()); tableau.len() + 1],
            slope: Rates::zeros(plain.counts()),
            model,
        }
    }

    fn follow(mut self) -> Result<Vec<Vec<Tangent>>, Error> {
        let mut changes = vec![Vec::new(); self.along.len()];
        self.write_changes(0, &mut changes);
        let motion = self.motion;
        let mut onsets = motion.onsets.iter().peekable();
        for (index, &step) in motion.steps.iter().enumerate() {
            self.set_controls(step.interval);
            while let Some(onset) = onsets.next_if(|onset| onset.steps <= index) {
                self.jump(onset);
            }
            self.step(index, step)?;
            let next = motion.steps.get(index + 1).map(|step| step.interval);
            if next != Some(step.interval) {
                // What an onset at the very end of an interval does comes after its state.
                self.write_changes(step.interval + 1, &mut changes);
            }
        }
        Ok(changes)
    }

    /// Takes a step, whose values are known.
    fn step(&mut self, index: usize, step: Step) -> Result<(), Error> {
        let h = Number::constant(step.h);
        self.motion.read(index, &mut self.start, &mut self.rates);
        self.state.set_values(&self.start);
        // A step that was cut has one more stage, where it was cut.
        let is_cut = step.part < 1.0;
        let count = self.tableau.len() + usize::from(is_cut);
        if is_cut {
            self.dense.write_weights(step.part, &mut self.cut_weights);
        }
        for stage in 0..count {
            let factors = weights(self.tableau, &self.cut_weights, stage);
            self.slope.combine(factors, &self.dual_rates);
            place(&self.model, &self.state, &self.slope, h, &mut self.stage);
            self.stage.time = self.state.time + h * self.tableau.place(stage);
            if !self.evaluate(stage, &self.motion.regimes[step.regime]) {
                return Err(NoGradient::NotUnique.at(index));
            }
            let rates = &mut self.dual_rates[stage].position;
            rates.copy_from_slice(&self.slope.position);
            tangent_rates(&self.model, &self.stage.qvel, h, rates);
        }
        let factors = weights(self.tableau, &self.cut_weights, count);
        self.slope.combine(factors, &self.dual_rates);
        place(&self.model, &self.state, &self.slope, h, &mut self.stage);
        clamp_activations(&self.model, &mut self.stage.act);
        std::mem::swap(&mut self.state, &mut self.stage);
        Ok(())
    }

    /// Rates of velocities and activations at a stage; false where they have no derivatives.
    fn evaluate(&mut self, stage: usize, regime: &Regime) -> bool {
        let Self {
            plain,
            plain_state,
            plain_input,
            plain_data,
            model,
            stage: state,
            input,
            data,
            keys,
            phases,
            ..
        } = self;
        for (value, number) in state.warmstart.iter_mut().zip(&self.rates[stage].velocity) {
            *value = Number::constant(*number);
        }
        copy_values(state, plain_state);
        // Values decide which constraints act; the rows over dual numbers are cut down to the same ones.
        prepare(
            plain,
            plain_state,
            plain_input,
            &regime.mode,
            plain_data,
            &mut self.gauges,
        );
        dynamics::smooth(model, state, input, data);
        let contacts = data.collision.contacts.iter_mut();
        for (contact, known) in contacts.zip(&plain_data.collision.contacts) {
            contact.excluded = known.excluded;
        }
        dynamics::constraint_rows(model, state, input, data);
        let (known, mut next) = (&plain_data.constraint, 0);
        data.constraint.retain_blocks(|rows, block| {
            let acts = known.blocks.get(next).is_some_and(|other| {
                let place = rows.rows[block.row].position.value();
                (other.kind, other.object) == (block.kind, block.object)
                    && known.rows[other.row].position == place
            });
            next += usize::from(acts);
            acts
        });
        // Solve on the pieces of the step, or where a constraint is new, anew.
        read_keys(plain_data, keys);
        let contacts = &data.collision.contacts;
        if (regime.pieces).put(keys, (model, contacts), &mut data.constraint, phases) {
            let (smooth, start) = ((&data.inertia, &data.acceleration), &state.warmstart);
            let start = (&phases[..], &start[..]);
            if !solve::forward_on(model, smooth, &data.constraint, start, &mut data.solve) {
                return false;
            }
        } else {
            dynamics::solve_constraints(model, state, data);
        }
        // Keep the values of the motion, which differ by rounding at most.
        let (dual_rates, rates) = (&mut self.dual_rates[stage], &self.rates[stage]);
        let set = |numbers: &mut [Number], values: &[f64], found: &[Number]| {
            for ((number, &value), found) in numbers.iter_mut().zip(values).zip(found) {
                *number = *found;
                number.value = value;
            }
        };
        set(&mut dual_rates.velocity, &rates.velocity, &data.solve.qacc);
        set(
            &mut dual_rates.activation,
            &rates.activation,
            &data.actuation.activation_dot,
        );
        let actuators = &plain.structure.actuators.activations;
        for (actuator, states) in actuators.iter().enumerate() {
            if plain.settings.disable.actuation || is_disabled(plain, actuator) {
                dual_rates.activation[states.clone()].fill(Number::constant(0.0));
            }
        }
        true
    }

    fn set_controls(&mut self, interval: usize) {
        self.controls.write(interval, &mut self.plain_input.ctrl);
        for (actuator, control) in self.input.ctrl.iter_mut().enumerate() {
            *control = Number::constant(self.plain_input.ctrl[actuator]);
            for (lane, variation) in self.along.iter().enumerate() {
                control.tangent[lane] = variation.start.ctrl.get(actuator).copied().unwrap_or(0.0);
            }
        }
    }

    /// The jump at an onset. (1)
    fn jump(&mut self, onset: &Onset) {
        if onset.grazes || onset.is_held {
            return;
        }
        let Some(gauge) = self.gauge(onset.switch) else {
            return;
        };
        for (velocity, jump) in self.state.qvel.iter_mut().zip(&onset.jump) {
            for (sum, change) in velocity.tangent.iter_mut().zip(gauge.tangent) {
                *sum += jump * change / onset.rate;
            }
        }
    }

    /// The gauge of a switch at the state.
    fn gauge(&mut self, switch: Switch) -> Option<Number> {
        let Self {
            plain,
            plain_state,
            plain_data,
            model,
            state,
            data,
            ..
        } = self;
        dynamics::forward_position(model, state, data);
        let joints = &model.structure.joints;
        let within = |[low, high]: [Number; 2], place: Number, upper: bool| {
            if upper { high - place } else { place - low }
        };
        Some(match switch {
            Switch::JointLimit { joint, upper } => {
                let (range, first) = (model.joints.range[joint], joints.qpos[joint]);
                let distance = if joints.kind[joint] == JointKind::Ball {
                    let quat = Quat(std::array::from_fn(|k| state.qpos[first + k]));
                    let (_, angle) = quat.normalized().log().normalized();
                    let [low, high] = range;
                    (if high.value >= low.value { high } else { low }) - angle
                } else {
                    within(range, state.qpos[first], upper)
                };
                distance - model.joints.margin[joint]
            }
            Switch::TendonLimit { tendon, upper } => {
                let (range, length) = (model.tendons.range[tendon], data.tendon.length[tendon]);
                within(range, length, upper) - model.tendons.margin[tendon]
            }
            Switch::Contact { geoms, feature } => {
                copy_values(state, plain_state);
                dynamics::forward_position(plain, plain_state, plain_data);
                let contact = &data.collision.contacts[contact_of(plain_data, geoms, feature)?];
                contact.distance - contact.include_margin
            }
        })
    }

    /// The changes of the state by now, whose values are those at the end of an interval.
    fn write_changes(&mut self, interval: usize, changes: &mut [Vec<Tangent>]) {
        let values = &self.motion.states[interval];
        self.state.set_values(values);
        let from: Vec<Number> = values.qpos.iter().map(|&x| Number::constant(x)).collect();
        let mut turns = vec![Number::constant(0.0); values.qvel.len()];
        difference(&self.model, &from, &self.state.qpos, &mut turns);
        for (lane, changes) in changes.iter_mut().enumerate() {
            let part = |numbers: &[Number]| -> Vec<f64> {
                numbers.iter().map(|number| number.tangent[lane]).collect()
            };
            changes.push(Tangent {
                qpos: part(&turns),
                qvel: part(&self.state.qvel),
                act: part(&self.state.act),
                ..Tangent::default()
            });
        }
    }
}

fn copy_values(state: &State<Number>, values: &mut State) {
    values.time = state.time.value;
    let numbers = state.qpos.iter().chain(&state.qvel).chain(&state.act);
    let places = (values.qpos.iter_mut())
        .chain(&mut values.qvel)
        .chain(&mut values.act);
    for (place, number) in places.zip(numbers) {
        *place = number.value;
    }
}
