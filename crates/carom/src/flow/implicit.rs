//! Steps that are implicit in the constraints, for very stiff contacts.
//!
//! A contact with time constant τ keeps explicit steps as short as τ for as long as it lasts, even where nothing happens. Here
//! the springs and dampers of constraints see the state at the end of a step of length η,
//!
//!   v⁺ = v + η·a(q, v; η),   q⁺ = q ⊕ η·v⁺                                             (1)
//!
//! where a solves the convex problem of the soft law with other coefficients ([`constraint`](crate::stages::constraint), rows that
//! look ahead). It is as robust as that problem at any η, and L-stable for springs and dampers [Kurtz 2025]. Other forces are those at
//! the start. Such steps are of first order. Taken n = 1 to 4 times over a step, each from its start, they are extrapolated
//! to order 4 with an error estimate of order 3 (see the weights in `tableau`), so that a body in free flight or at rest takes
//! the longest steps. With σ the slope to where a column is, in the tangent space at the start of the step,
//!
//!   σᵥ ← σᵥ + a/n,   σ ← σ + ρ/n of positions,   ρ = v⁺ carried to the start             (2)
//!
//! Steps end at onsets and at kinks of forces as those of other methods do, except at kinks of forces that are too stiff to be
//! resolved.

use super::hold::soften;
use super::mode::Mode;
use super::stepper::{Stepper, clamp_activations, prepare};
use super::tableau::Extrapolation;
use crate::dynamics;
use crate::integrate::{Rates, add_scaled, place, tangent_rates};
use crate::model::Model;
use crate::stages::solve::SolveStatus;
use crate::state::{Input, State};

/// One of the equal steps into which a step is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Substep<'a> {
    pub(super) start: &'a State,
    /// Length of the whole step (s).
    pub(super) h: f64,
    /// Into how many substeps it is divided.
    count: u32,
    /// Which of them.
    index: u32,
}

impl<'a> Substep<'a> {
    pub(super) fn new(start: &'a State, h: f64, count: u32, index: u32) -> Self {
        Self {
            start,
            h,
            count,
            index,
        }
    }

    pub(super) fn share(&self) -> f64 {
        1.0 / f64::from(self.count)
    }

    /// η of (1).
    pub(super) fn length(&self) -> f64 {
        self.h * self.share()
    }

    /// Goes to the start of the substep, at a slope from that of the step.
    pub(super) fn go(&self, model: &Model, slope: &Rates, state: &mut State) {
        place(model, self.start, slope, self.h, state);
        state.time = self.start.time + self.length() * f64::from(self.index);
    }

    /// Moves the slope on with rates of velocities and activations; `rates` receives those of positions, and the state its
    /// velocities at the end of the substep. (2)
    pub(super) fn advance(
        &self,
        model: &Model,
        rates: &mut Rates,
        slope: &mut Rates,
        velocity: &mut [f64],
    ) {
        // Velocities first: positions move with those at the end of the substep.
        let share = self.share();
        add_scaled(&mut slope.velocity, &rates.velocity, share);
        add_scaled(&mut slope.activation, &rates.activation, share);
        velocity.copy_from_slice(&self.start.qvel);
        add_scaled(velocity, &slope.velocity, self.h);
        rates.position.copy_from_slice(&slope.position);
        tangent_rates(model, velocity, self.h, &mut rates.position);
        add_scaled(&mut slope.position, &rates.position, share);
    }
}

impl Stepper {
    /// A step of length h by extrapolation; the rates at its end too. False where the dynamics are not finite on the way.
    pub(super) fn extrapolated_step(
        &mut self,
        model: &Model,
        start: &State,
        input: &Input,
        h: f64,
        mode: &Mode,
    ) -> bool {
        self.horizon = h;
        let last = self.tableau.len();
        for sum in &mut self.rates[1..last] {
            sum.clear();
        }
        // Every column of the extrapolation adds to the step and to its error estimate.
        for &column in self.tableau.extrapolation {
            if !self.column(model, (start, input), (h, column), mode) {
                return false;
            }
            let (first, sums) = self.rates.split_at_mut(2);
            first[1].add_scaled(&self.slope, column.weight);
            sums[0].add_scaled(&self.slope, column.error);
        }
        // The end of the step, and the rates there.
        place(model, start, &self.rates[1], h, &mut self.state);
        self.state.time = start.time + h;
        clamp_activations(model, &mut self.state.act);
        if !self.evaluate(model, input, mode) {
            return false;
        }
        self.record(model, last);
        let (sums, end) = self.rates.split_at_mut(last);
        end[0].position.copy_from_slice(&sums[1].position);
        tangent_rates(model, &self.state.qvel, h, &mut end[0].position);
        true
    }

    /// The step in equal substeps; the slope to its end is left in `self.slope`.
    fn column(
        &mut self,
        model: &Model,
        (start, input): (&State, &Input),
        (h, column): (f64, Extrapolation),
        mode: &Mode,
    ) -> bool {
        let last = self.tableau.len();
        self.slope.clear();
        for index in 0..column.count {
            let substep = Substep::new(start, h, column.count, index);
            substep.go(model, &self.slope, &mut self.state);
            if !self.evaluate_ahead(model, input, mode, substep.length()) {
                return false;
            }
            if self.early.is_none() && !mode.suits(&self.gauges) {
                self.early = Some(f64::from(index) * substep.share());
            }
            self.record(model, last);
            let Self {
                rates,
                slope,
                state,
                ..
            } = self;
            substep.advance(model, &mut rates[last], slope, &mut state.qvel);
        }
        true
    }

    /// Evaluates the dynamics at `self.state` for a step of a length. (1)
    fn evaluate_ahead(&mut self, model: &Model, input: &Input, mode: &Mode, length: f64) -> bool {
        self.evaluations += 1;
        let Self { state, data, .. } = self;
        prepare(model, state, input, mode, data, &mut self.gauges);
        soften(mode, data);
        // Springs and dampers see the end of the substep; the solver does not change.
        data.constraint.look_ahead(length);
        dynamics::solve_constraints(model, state, data);
        state.warmstart.copy_from_slice(&data.solve.qacc);
        data.solve.report.status != SolveStatus::NotFinite
            && data.solve.qacc.iter().all(|number| number.is_finite())
    }
}
