//! Forces and activations of actuators, at the actuators themselves; [`length`](super::length) has what their forces push.

use super::{Term, pass_on};
use crate::laws::activation::{ActivationRate, NextActivation};
use crate::laws::actuator::{
    ACCELERATION_REFERENCE, ActuatorForce, AffineForce, BIAS, LENGTH_RANGE, PARAMETERS,
};
use crate::laws::law::Law;
use crate::model::{ActuatorDynamics, Model, Structure};
use crate::scalar::Scalar;

/// Forces of actuators without muscles, over length, rate and input.
struct AffineForces;

impl Term<3, 6> for AffineForces {
    type Law = AffineForce;

    #[inline]
    fn law(structure: &Structure, actuator: usize) -> AffineForce {
        Force::law(structure, actuator).affine()
    }

    #[inline]
    fn parameters<T: Scalar>(model: &Model<T>, actuator: usize) -> [T; 6] {
        let numbers = &model.actuators;
        let (gain, bias) = (&numbers.gain[actuator], &numbers.bias[actuator]);
        [gain[0], gain[1], gain[2], bias[0], bias[1], bias[2]]
    }

    #[inline]
    fn add_parameters(model_bar: &mut Model, actuator: usize, bar: [f64; 6]) {
        let numbers = &mut model_bar.actuators;
        for k in 0..3 {
            numbers.gain[actuator][k] += bar[k];
            numbers.bias[actuator][k] += bar[3 + k];
        }
    }
}

/// Forces of actuators, over length, rate and input. Those without muscles, which is most of them, go by six parameters
/// instead of all.
pub(crate) struct Force;

impl Term<3, PARAMETERS> for Force {
    type Law = ActuatorForce;

    #[inline]
    fn law(structure: &Structure, actuator: usize) -> ActuatorForce {
        ActuatorForce {
            gain: structure.actuators.gain[actuator],
            bias: structure.actuators.bias[actuator],
        }
    }

    #[inline]
    fn parameters<T: Scalar>(model: &Model<T>, actuator: usize) -> [T; PARAMETERS] {
        let numbers = &model.actuators;
        let mut p = [T::ZERO; PARAMETERS];
        p[..BIAS].copy_from_slice(&numbers.gain[actuator]);
        p[BIAS..LENGTH_RANGE].copy_from_slice(&numbers.bias[actuator]);
        p[LENGTH_RANGE..ACCELERATION_REFERENCE].copy_from_slice(&numbers.length_range[actuator]);
        let output = model.structure.actuators.outputs[actuator].start;
        p[ACCELERATION_REFERENCE] = numbers.acceleration_reference[output];
        p
    }

    #[inline]
    fn add_parameters(model_bar: &mut Model, actuator: usize, bar: [f64; PARAMETERS]) {
        let output = model_bar.structure.actuators.outputs[actuator].start;
        let numbers = &mut model_bar.actuators;
        let targets = (numbers.gain[actuator].iter_mut())
            .chain(&mut numbers.bias[actuator])
            .chain(&mut numbers.length_range[actuator])
            .chain([&mut numbers.acceleration_reference[output]]);
        for (target, bar) in targets.zip(bar) {
            *target += bar;
        }
    }

    #[inline]
    fn value<T: Scalar>(model: &Model<T>, actuator: usize, x: [T; 3]) -> T {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            law.value(x, Self::parameters(model, actuator))
        } else {
            AffineForces::value(model, actuator, x)
        }
    }

    #[inline]
    fn by_inputs(model: &Model, actuator: usize, x: [f64; 3]) -> [f64; 3] {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            law.by_inputs(x, Self::parameters(model, actuator))
        } else {
            AffineForces::by_inputs(model, actuator, x)
        }
    }

    #[inline]
    fn vjp(
        model: &Model,
        actuator: usize,
        x: [f64; 3],
        bar: f64,
        model_bar: &mut Model,
    ) -> [f64; 3] {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            let gradient = law.gradient(x, Self::parameters(model, actuator));
            pass_on::<Self, 3, PARAMETERS>(gradient, actuator, bar, model_bar)
        } else {
            AffineForces::vjp(model, actuator, x, bar, model_bar)
        }
    }

    #[inline]
    fn rate_derivative<T: Scalar>(model: &Model<T>, actuator: usize, x: [T; 3]) -> T {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            law.rate_derivative(x, Self::parameters(model, actuator))
        } else {
            AffineForces::rate_derivative(model, actuator, x)
        }
    }

    #[inline]
    fn rate_derivative_vjp(
        model: &Model,
        actuator: usize,
        x: [f64; 3],
        bar: f64,
        model_bar: &mut Model,
    ) -> [f64; 3] {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            let gradient = law.rate_derivative_gradient(x, Self::parameters(model, actuator));
            pass_on::<Self, 3, PARAMETERS>(gradient, actuator, bar, model_bar)
        } else {
            AffineForces::rate_derivative_vjp(model, actuator, x, bar, model_bar)
        }
    }
}

/// Rates of activations, over control and activation.
pub(crate) struct Rate;

impl Term<2, 3> for Rate {
    type Law = ActivationRate;

    #[inline]
    fn law(structure: &Structure, actuator: usize) -> ActivationRate {
        ActivationRate(structure.actuators.dynamics[actuator])
    }

    #[inline]
    fn parameters<T: Scalar>(model: &Model<T>, actuator: usize) -> [T; 3] {
        let [first, second, third, ..] = model.actuators.dynamics[actuator];
        [first, second, third]
    }

    #[inline]
    fn add_parameters(model_bar: &mut Model, actuator: usize, bar: [f64; 3]) {
        let targets = &mut model_bar.actuators.dynamics[actuator];
        for (target, bar) in targets.iter_mut().zip(bar) {
            *target += bar;
        }
    }
}

/// Activations after a step, over activation, rate and step.
pub(crate) struct Next;

impl Term<3, 3> for Next {
    type Law = NextActivation;

    #[inline]
    fn law(structure: &Structure, actuator: usize) -> NextActivation {
        NextActivation {
            is_exact: structure.actuators.dynamics[actuator] == ActuatorDynamics::FilterExact,
            is_limited: structure.actuators.activation_limited[actuator],
        }
    }

    #[inline]
    fn parameters<T: Scalar>(model: &Model<T>, actuator: usize) -> [T; 3] {
        let [low, high] = model.actuators.activation_range[actuator];
        [model.actuators.dynamics[actuator][0], low, high]
    }

    #[inline]
    fn add_parameters(model_bar: &mut Model, actuator: usize, [tau, low, high]: [f64; 3]) {
        let numbers = &mut model_bar.actuators;
        numbers.dynamics[actuator][0] += tau;
        numbers.activation_range[actuator][0] += low;
        numbers.activation_range[actuator][1] += high;
    }
}
