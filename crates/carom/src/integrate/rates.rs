//! Rates of a state: what Runge–Kutta methods of fixed steps and of continuous time add up.
//!
//! With k = (ρ, α, ω) the rates of positions, velocities and activations, a stage of a step of length h lies at
//!
//!   q₀ ⊕ h·ρ,   v₀ + h·α,   w₀ + h·ω                                                       (1)
//!
//! where ρ is in the tangent space at the start of the step.

use super::positions::{integrate_positions, integrate_positions_vjp};
use crate::cotangent::StateBar;
use crate::data::Data;
use crate::model::{Counts, Model};
use crate::scalar::Scalar;
use crate::state::State;

/// Rates of a state, or cotangents of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates<T: Scalar = f64> {
    /// Of the positions, in the tangent space at the start of the step, nv.
    pub(crate) position: Vec<T>,
    /// Of the velocities, nv.
    pub(crate) velocity: Vec<T>,
    /// Of the activations, na.
    pub(crate) activation: Vec<T>,
}

impl<T: Scalar> Rates<T> {
    pub(crate) fn zeros(n: &Counts) -> Self {
        Self {
            position: vec![T::ZERO; n.nv],
            velocity: vec![T::ZERO; n.nv],
            activation: vec![T::ZERO; n.na],
        }
    }

    /// Σ factorᵢ·kᵢ.
    pub(crate) fn combine(&mut self, factors: &[f64], rates: &[Self]) {
        self.clear();
        for (&factor, rates) in factors.iter().zip(rates) {
            if factor != 0.0 {
                self.add_scaled(rates, factor);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        for part in [&mut self.position, &mut self.velocity, &mut self.activation] {
            part.fill(T::ZERO);
        }
    }

    pub(crate) fn add_scaled(&mut self, other: &Self, factor: f64) {
        add_scaled(&mut self.position, &other.position, factor);
        add_scaled(&mut self.velocity, &other.velocity, factor);
        add_scaled(&mut self.activation, &other.activation, factor);
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.position.copy_from_slice(&other.position);
        self.velocity.copy_from_slice(&other.velocity);
        self.activation.copy_from_slice(&other.activation);
    }

    /// Takes the rates of velocities and activations that an evaluation found.
    pub(crate) fn read(&mut self, data: &Data<T>) {
        self.velocity.copy_from_slice(&data.solve.qacc);
        let activation_dot = &data.actuation.activation_dot;
        self.activation.copy_from_slice(activation_dot);
    }
}

/// The state at h·slope from another. (1)
pub(crate) fn place<T: Scalar>(
    model: &Model<T>,
    start: &State<T>,
    slope: &Rates<T>,
    h: T,
    state: &mut State<T>,
) {
    state.qpos.copy_from_slice(&start.qpos);
    state.qvel.copy_from_slice(&start.qvel);
    state.act.copy_from_slice(&start.act);
    integrate_positions(model, &mut state.qpos, &slope.position, h);
    add_scaled(&mut state.qvel, &slope.velocity, h);
    add_scaled(&mut state.act, &slope.activation, h);
}

/// The twin of [`place`]: adds to the cotangents of the slope and of the positions at the start; returns that of h. Those of
/// velocities and activations at the start are the ones given.
pub(crate) fn place_vjp(
    model: &Model,
    (start, slope, h): (&State, &Rates, f64),
    bar: &StateBar,
    (slope_bar, start_bar): (&mut Rates, &mut StateBar),
) -> f64 {
    let moved = (&slope.position[..], h);
    let positions = (&bar.qpos[..], &mut start_bar.qpos[..]);
    let slope_position = &mut slope_bar.position;
    let h_bar = integrate_positions_vjp(model, &start.qpos, moved, positions, slope_position);
    add_scaled(&mut slope_bar.velocity, &bar.qvel, h);
    add_scaled(&mut slope_bar.activation, &bar.act, h);
    h_bar + dot(&slope.velocity, &bar.qvel) + dot(&slope.activation, &bar.act)
}

/// target ← target + factor·source.
#[inline]
pub(crate) fn add_scaled<T: Scalar>(target: &mut [T], source: &[T], factor: impl Into<T>) {
    let factor = factor.into();
    for (target, &source) in target.iter_mut().zip(source) {
        *target += source * factor;
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
