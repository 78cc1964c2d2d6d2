//! Forces and activations of actuators, at the actuators themselves; [`length`](super::length) has what their forces push.

use super::{Term, pass_on};
use crate::laws::activation::{ActivationRate, NextActivation};
use crate::laws::actuator::{
    ACCELERATION_REFERENCE, ActuatorForce, AffineGradient, BIAS, LENGTH_RANGE, PARAMETERS,
    Parameters,
};
use crate::laws::law::Law;
use crate::model::{ActuatorDynamics, Model, Structure};
use crate::scalar::Scalar;

/// Forces of actuators, over length, rate and input. The law looks at the rows of the model, of which most actuators use a few
/// numbers; all of them are listed for muscles alone.
pub(crate) struct Force;

impl Force {
    /// The parameters where the model has them.
    #[inline]
    pub(crate) fn rows<T: Scalar>(model: &Model<T>, actuator: usize) -> Parameters<'_, T> {
        let numbers = &model.actuators;
        Parameters {
            gain: &numbers.gain[actuator],
            bias: &numbers.bias[actuator],
            length_range: &numbers.length_range[actuator],
            acceleration_reference: &numbers.acceleration_reference,
            output: model.structure.actuators.outputs[actuator].start,
        }
    }

    /// What a cotangent passes on without muscles.
    #[inline]
    fn pass_on_affine(
        slopes: AffineGradient,
        actuator: usize,
        bar: f64,
        model_bar: &mut Model,
    ) -> [f64; 3] {
        let numbers = &mut model_bar.actuators;
        let (gain, bias) = (&mut numbers.gain[actuator], &mut numbers.bias[actuator]);
        for k in 0..3 {
            gain[k] += slopes.gain[k] * bar;
            bias[k] += slopes.bias[k] * bar;
        }
        slopes.inputs.map(|slope| slope * bar)
    }
}

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
        let rows = Self::rows(model, actuator);
        let mut p = [rows.acceleration_reference[rows.output]; PARAMETERS];
        p[..BIAS].copy_from_slice(rows.gain);
        p[BIAS..LENGTH_RANGE].copy_from_slice(rows.bias);
        p[LENGTH_RANGE..ACCELERATION_REFERENCE].copy_from_slice(rows.length_range);
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
        Self::law(&model.structure, actuator).force(x, Self::rows(model, actuator))
    }

    #[inline]
    fn by_inputs(model: &Model, actuator: usize, x: [f64; 3]) -> [f64; 3] {
        let law = Self::law(&model.structure, actuator);
        if law.has_muscle() {
            law.by_inputs(x, Self::parameters(model, actuator))
        } else {
            (law.affine_gradient(x, Self::rows(model, actuator))).inputs
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
            let slopes = law.affine_gradient(x, Self::rows(model, actuator));
            Self::pass_on_affine(slopes, actuator, bar, model_bar)
        }
    }

    #[inline]
    fn rate_derivative<T: Scalar>(model: &Model<T>, actuator: usize, x: [T; 3]) -> T {
        Self::law(&model.structure, actuator).by_rate(x, Self::rows(model, actuator))
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
            let slopes = law.affine_by_rate_gradient(x[2], Self::rows(model, actuator));
            Self::pass_on_affine(slopes, actuator, bar, model_bar)
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
