//! Motors and servos with several controls, states or forces: where their laws act.
//!
//! The laws are functions of [`Seen`]; here its numbers are gathered, and their cotangents go back to where they came from.

use super::backward::period_vjp;
use super::forward::{is_disabled, rotational_period};
use super::{Actuation, ActuatorPlace};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::laws::servo::{MOST_STATES, Seen, Servo};
use crate::math::Vec3;
use crate::model::{GainKind, Model};
use crate::scalar::Scalar;
use crate::state::State;

/// A motor or servo where its transmission is.
#[derive(Clone, Copy)]
pub(crate) struct ServoAt<'a, T: Scalar> {
    model: &'a Model<T>,
    actuator: usize,
    law: Servo,
    length: &'a [T],
    velocity: &'a [T],
    timestep: T,
}

/// Where the cotangents of everything that a law sees go. Lists may be empty where a law does not look.
pub(crate) struct ServoBar<'a> {
    pub(crate) model: &'a mut Model,
    pub(crate) act: &'a mut [f64],
    pub(crate) activation_dot: &'a mut [f64],
    pub(crate) velocity: &'a mut [f64],
    pub(crate) length: &'a mut [f64],
    pub(crate) control: &'a mut [f64],
}

impl<'a> ServoBar<'a> {
    /// Those of a stage, which does not look at rates.
    fn of(bars: &'a mut Cotangents) -> Self {
        Self {
            model: &mut bars.model,
            act: &mut bars.state.act,
            activation_dot: &mut [],
            velocity: &mut bars.data.velocity.actuator,
            length: &mut bars.data.transmission.length,
            control: &mut bars.data.actuation.control,
        }
    }
}

impl<'a, T: Scalar> ServoAt<'a, T> {
    /// The motor or servo with an id; none for other actuators.
    #[inline]
    pub(crate) fn find(
        model: &'a Model<T>,
        actuator: usize,
        place: ActuatorPlace<'a, T>,
    ) -> Option<Self> {
        let law = Servo::of(&model.structure.actuators, actuator)?;
        Some(Self::at(model, actuator, law, place))
    }

    // Few actuators are servos: loops over all of them stay small.
    #[cold]
    fn at(model: &'a Model<T>, actuator: usize, law: Servo, place: ActuatorPlace<'a, T>) -> Self {
        let outputs = model.structure.actuators.outputs[actuator].clone();
        Self {
            model,
            actuator,
            law,
            length: &place.transmission.length[outputs.clone()],
            velocity: &place.velocity.actuator[outputs],
            timestep: place.timestep,
        }
    }

    /// Everything that the law sees but the rates.
    fn see(&self, act: &[T], controls: &[T]) -> Seen<T> {
        let (model, actuator) = (self.model, self.actuator);
        let (structure, numbers) = (&model.structure.actuators, &model.actuators);
        let mut seen = Seen {
            dynamics: numbers.dynamics[actuator],
            gain: numbers.gain[actuator],
            bias: numbers.bias[actuator],
            activation_range: numbers.activation_range[actuator],
            period: rotational_period(model, actuator).unwrap_or(T::ZERO),
            timestep: self.timestep,
            ..Seen::zero()
        };
        copy(self.length, &mut seen.length);
        copy(self.velocity, &mut seen.velocity);
        let states = structure.activations[self.actuator].clone();
        copy(&act[states], &mut seen.activations);
        if let Some(controls) = controls.get(structure.controls[self.actuator].clone()) {
            copy(controls, &mut seen.controls);
        }
        seen
    }

    /// Writes forces before limits, what adds beyond them, and rates of activations.
    pub(super) fn forward(&self, state: &State<T>, out: &mut Actuation<T>) {
        let structure = &self.model.structure.actuators;
        let acting = self.law.act(&self.see(&state.act, &out.control));
        let disabled = is_disabled(self.model, self.actuator);
        let only = |number: T| if disabled { T::ZERO } else { number };
        let outputs = structure.outputs[self.actuator].clone();
        for (force, found) in out.unlimited_force[outputs].iter_mut().zip(acting.force) {
            *force = only(found);
        }
        out.mechanical_force[self.actuator] = only(acting.mechanical);
        let states = structure.activations[self.actuator].clone();
        copy(&acting.rates, &mut out.activation_dot[states]);
    }

    /// What the activations advance from; those of a switched-off actuator have no rates.
    fn see_rates(&self, act: &[T], activation_dot: &[T]) -> Seen<T> {
        let mut seen = self.see(act, &[]);
        if !is_disabled(self.model, self.actuator) {
            let states = self.model.structure.actuators.activations[self.actuator].clone();
            copy(&activation_dot[states], &mut seen.rates);
        }
        seen
    }

    /// Advances the activations by a time step.
    pub(crate) fn advance(&self, act: &mut [T], activation_dot: &[T]) {
        let next = self.law.advance(&self.see_rates(act, activation_dot));
        let states = self.model.structure.actuators.activations[self.actuator].clone();
        copy(&next, &mut act[states]);
    }

    /// Whether the limit of the actuator itself holds its force.
    fn is_held(&self, actuation: &Actuation<T>) -> bool {
        let actuators = &self.model.structure.actuators;
        if !actuators.force_limited[self.actuator] {
            return false;
        }
        let [low, high] = self.model.actuators.force_range[self.actuator].map(T::value);
        match actuation.unlimited_force[actuators.outputs[self.actuator].clone()] {
            [x, y, z] => Vec3([x, y, z]).norm().value() >= high,
            ref forces => !(low..high).contains(&forces[0].value()) || forces[0].value() == low,
        }
    }

    /// ∂force/∂velocity that implicit integrators take, for each of the forces.
    pub(super) fn velocity_derivative(&self, act: &[T], actuation: &Actuation<T>) -> T {
        let seen = self.see(act, &actuation.control);
        self.law.velocity_derivative(&seen, self.is_held(actuation))
    }
}

impl ServoAt<'_, f64> {
    /// The twin of [`Self::forward`].
    pub(super) fn backward(&self, at: At<'_>, bars: &mut Cotangents) {
        let structure = &self.model.structure.actuators;
        let seen = self.see(&at.state.act, &at.data.actuation.control);
        let bar = &bars.data.actuation;
        let on = f64::from(u8::from(!is_disabled(self.model, self.actuator)));
        let mechanical = bar.mechanical_force[self.actuator] * on;
        let states = structure.activations[self.actuator].clone();
        let mut rates_bar = [0.0; MOST_STATES];
        copy(&bar.activation_dot[states], &mut rates_bar);
        let seen_bar = seen.pull_back(|varied| {
            let found = self.law.act(varied);
            let outputs = structure.outputs[self.actuator].clone();
            let forces = found.force.into_iter().zip(outputs);
            let forces = forces.map(|(force, output)| {
                let force_bar = bar.actuator_force[output] + bar.unlimited_force[output];
                (force, force_bar * on)
            });
            let rates = found.rates.into_iter().zip(rates_bar);
            forces.chain([(found.mechanical, mechanical)]).chain(rates)
        });
        self.scatter(&seen_bar, &mut ServoBar::of(bars));
        bars.input.timestep += seen_bar.timestep;
    }

    /// The twin of [`Self::advance`]; returns the cotangent of the time step.
    pub(crate) fn advance_vjp(
        &self,
        act: &[f64],
        activation_dot: &[f64],
        bar: &[f64],
        targets: &mut ServoBar<'_>,
    ) -> f64 {
        let states = self.model.structure.actuators.activations[self.actuator].clone();
        let mut next_bar = [0.0; MOST_STATES];
        copy(&bar[states], &mut next_bar);
        let seen = self.see_rates(act, activation_dot);
        let seen_bar = seen.pull_back(|varied| self.law.advance(varied).into_iter().zip(next_bar));
        self.scatter(&seen_bar, targets);
        seen_bar.timestep
    }

    /// The twin of [`Self::velocity_derivative`].
    pub(super) fn velocity_derivative_vjp(&self, at: At<'_>, bar: f64, bars: &mut Cotangents) {
        let actuation = &at.data.actuation;
        let seen = self.see(&at.state.act, &actuation.control);
        let is_held = self.is_held(actuation);
        let seen_bar =
            seen.pull_back(|varied| [(self.law.velocity_derivative(varied, is_held), bar)]);
        self.scatter(&seen_bar, &mut ServoBar::of(bars));
        bars.input.timestep += seen_bar.timestep;
    }

    /// Adds cotangents, but for that of the time step.
    fn scatter(&self, bar: &Seen<f64>, targets: &mut ServoBar<'_>) {
        let structure = &self.model.structure.actuators;
        add_parameters(self.model, self.actuator, bar, targets.model);
        let outputs = structure.outputs[self.actuator].clone();
        let states = structure.activations[self.actuator].clone();
        let controls = structure.controls[self.actuator].clone();
        add(targets.length.get_mut(outputs.clone()), &bar.length);
        add(targets.velocity.get_mut(outputs), &bar.velocity);
        add(targets.control.get_mut(controls), &bar.controls);
        add(targets.act.get_mut(states.clone()), &bar.activations);
        if !is_disabled(self.model, self.actuator) {
            add(targets.activation_dot.get_mut(states), &bar.rates);
        }
    }
}

/// Adds the cotangents of the parameters.
fn add_parameters(model: &Model, actuator: usize, bar: &Seen<f64>, model_bar: &mut Model) {
    let numbers = &mut model_bar.actuators;
    add(Some(&mut numbers.dynamics[actuator]), &bar.dynamics);
    add(Some(&mut numbers.gain[actuator]), &bar.gain);
    add(Some(&mut numbers.bias[actuator]), &bar.bias);
    let range = &mut numbers.activation_range[actuator];
    add(Some(range), &bar.activation_range);
    period_vjp(model, actuator, bar.period, model_bar);
}

/// Adds what acts beyond the limits of forces.
pub(super) fn add_mechanical<T: Scalar>(model: &Model<T>, out: &mut Actuation<T>) {
    let actuators = &model.structure.actuators;
    for (actuator, outputs) in actuators.outputs.iter().enumerate() {
        if actuators.gain[actuator] == GainKind::DcMotor {
            out.actuator_force[outputs.start] += out.mechanical_force[actuator];
        }
    }
}

/// Copies as many numbers as both lists have.
fn copy<T: Scalar>(from: &[T], to: &mut [T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}

/// Adds as many numbers as both lists have.
fn add(sums: Option<&mut [f64]>, terms: &[f64]) {
    for (sum, term) in sums.into_iter().flatten().zip(terms) {
        *sum += term;
    }
}
