//! Derivatives of the solution.
//!
//! With phases fixed, the equations e(λ, p) = 0 of the [active set](super::active_set) give
//!
//!   ∂e/∂λ·dλ = −∂e/∂p·dp                                                               (1)
//!
//! Over dual numbers e at the values of λ holds ∂e/∂p in its tangents, so one Newton step from there carries them into λ.
//! Over plain numbers the same step makes λ as exact as derivatives at the solution need it: what mixing R hardly
//! resists, such as loads that equalities share, may be off by the tolerance over R.

use super::super::Solve;
use super::super::law::Phase;
use super::active_set::{ActiveSet, Point};
use super::sweep::Island;
use super::{Complementarity, Given};
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::constraint::{BlockKind, Constraint};

/// Room for the correction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Work<T: Scalar> {
    impulse: Vec<T>,
    velocity: Vec<T>,
    friction: Vec<T>,
    generalized: Vec<T>,
    equation: Vec<T>,
    scratch: Vec<T>,
}

/// Carries derivatives into impulses and velocities; values stay but for a correction within the tolerance. False where
/// equalities have no derivative, since they repeat or contradict each other and nothing mixes them.
pub(super) fn correct<T: Scalar>(
    model: &Model<T>,
    given: Given<'_, T>,
    out: &mut Solve<T>,
) -> bool {
    let constraint = given.constraint;
    let (h, phase) = (given.timestep, &out.phase);
    let mut room = std::mem::take(&mut out.complementarity.correction);
    room.start(h, constraint, phase, &out.complementarity.impulse);
    out.complementarity.velocities(model, given, &mut room);
    let mut is_unique = true;
    for index in 0..out.islands.count() {
        let Complementarity {
            response,
            free,
            mixing,
            friction,
            impulse,
            velocity,
            active,
            ..
        } = &mut out.complementarity;
        let island = Island {
            blocks: &constraint.blocks,
            members: out.islands.blocks(index),
            response,
            free,
            mixing,
            friction,
            timestep: h.value(),
        };
        // e and ∂e/∂λ of the rows that no bound holds.
        active.collect(&island, phase);
        let point = Point {
            impulse: &room.impulse,
            velocity: &room.velocity,
            friction: &room.friction,
        };
        ActiveSet::equations(&island, phase, point, &mut room.equation);
        let point = Point {
            impulse,
            velocity,
            friction,
        };
        active.factor(&island, phase, point);
        // One Newton step; over dual numbers it carries the tangents. (1)
        active.solve(&mut room.equation, &mut room.scratch);
        for (&row, &step) in active.rows().iter().zip(&room.equation) {
            room.impulse[row] -= step;
        }
        is_unique &= !active.equalities_repeat(&island, phase, point);
    }
    out.complementarity.velocities(model, given, &mut room);
    // Forces and velocities at the corrected impulses.
    let rate = h.recip();
    for (force, &impulse) in out.force.iter_mut().zip(&room.impulse) {
        *force = impulse * rate;
    }
    out.residual.copy_from_slice(&room.velocity);
    let keep = |to: &mut [f64], from: &[T]| {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.value();
        }
    };
    keep(&mut out.complementarity.impulse, &room.impulse);
    keep(&mut out.complementarity.velocity, &room.velocity);
    out.complementarity.correction = room;
    is_unique
}

impl<T: Scalar> Work<T> {
    /// Impulses as they are; those at a bound with the derivative of the bound.
    fn start(&mut self, h: T, constraint: &Constraint<T>, phase: &[Phase], impulse: &[f64]) {
        self.friction.clear();
        self.friction
            .extend(constraint.rows.iter().map(|row| row.friction));
        self.impulse.clear();
        self.impulse
            .extend(impulse.iter().map(|&value| T::from(value)));
        for (block, &phase) in constraint.blocks.iter().zip(phase) {
            let is_friction = matches!(
                block.kind,
                BlockKind::DofFriction | BlockKind::TendonFriction
            );
            // Friction loss at its bound is ±h·η, and has the derivative of that.
            let bound = self.friction[block.row] * h;
            if is_friction && phase == Phase::SLIDING_DOWN {
                self.impulse[block.row] = bound;
            } else if is_friction && phase == Phase::SLIDING_UP {
                self.impulse[block.row] = -bound;
            }
        }
    }
}

impl<T: Scalar> Complementarity<T> {
    /// u of all rows at the impulses of `room`.
    fn velocities(&self, model: &Model<T>, given: Given<'_, T>, room: &mut Work<T>) {
        let (h, constraint) = (given.timestep, given.constraint);
        room.generalized.clear();
        let forces = given.acceleration.force_smooth.iter();
        room.generalized.extend(forces.map(|&force| force * h));
        constraint.push(&room.impulse, &mut room.generalized);
        let (factor, inverse) = (&self.inertia_factor, &self.inertia_diagonal_inverse);
        let sparsity = &model.structure.inertia;
        // w = M̂⁻¹·(h·τ + Jᵀ·λ), then u = v⁻ − t + J·w + R·λ.
        tree_ldl::solve_in_place(sparsity, factor, inverse, &mut room.generalized);
        room.velocity.clear();
        for (index, block) in constraint.blocks.iter().enumerate() {
            let mixing = model.laws.mixing[self.law[index]];
            for (row, place) in block.rows().enumerate() {
                let start = constraint.rows[place].velocity - self.target[place];
                let jacobian = constraint.jacobian_row(block, row);
                let sum = jacobian.dot_from(start, &room.generalized);
                room.velocity.push(sum + mixing * room.impulse[place]);
            }
        }
    }
}
