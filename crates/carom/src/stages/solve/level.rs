//! Which solver takes the rows of a model: it follows from the level of the contact laws.
//!
//! Rows are solved for forces on the level of accelerations ([`super::forward()`]), or for the impulses of a whole step
//! ([`complementarity`]); never for both.

use super::complementarity::{self, Given};
use super::{Phase, Solve};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::model::{LawLevel, Model};
use crate::scalar::Scalar;

/// The acceleration that the constraint rows leave.
pub(crate) fn solve<T: Scalar>(model: &Model<T>, given: Given<'_, T>, out: &mut Solve<T>) {
    if model.structure.laws.acts_on(LawLevel::Impulse) {
        complementarity::forward(model, given, out);
        return;
    }
    super::forward(
        model,
        given.inertia,
        given.acceleration,
        given.constraint,
        &given.state.warmstart,
        out,
    );
}

/// Takes the acceleration that the solver found for the rows at hand instead of searching for it. Rows are on the pieces of
/// their laws where it puts them, or on those given. False where the equations have no unique solution.
pub(crate) fn settle(
    model: &Model,
    given: Given<'_>,
    (acceleration, phases): (&[f64], &[Phase]),
    out: &mut Solve,
) -> bool {
    if model.structure.laws.acts_on(LawLevel::Impulse) {
        // Impulses are not a function of the acceleration, but the search for them always takes the same way.
        complementarity::forward(model, given, out);
        return complementarity::refine(model, given, out);
    }
    let (inertia, smooth, rows) = (given.inertia, given.acceleration, given.constraint);
    if model.settings.noslip_iterations > 0 {
        // The sweeps have left what the solver had found.
        super::forward(model, inertia, smooth, rows, &given.state.warmstart, out);
    } else if phases.len() == rows.blocks.len() {
        let start = (phases, acceleration);
        return super::forward_on(model, (inertia, smooth), rows, start, out);
    } else {
        super::at_solution(model, inertia, smooth, rows, acceleration, out);
    }
    super::factor_at_solution(model, inertia, smooth, rows, out)
}

/// The adjoint of [`solve`]; `bar.data.solve` is used up.
pub(crate) fn backward(at: At<'_>, bar: &mut Cotangents) {
    if at.model.structure.laws.acts_on(LawLevel::Impulse) {
        complementarity::backward(at, bar);
        return;
    }
    if at.model.settings.noslip_iterations > 0 {
        super::noslip::backward(at, bar);
    }
    super::backward(at, bar);
}
