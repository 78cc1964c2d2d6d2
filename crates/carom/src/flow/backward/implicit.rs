//! The adjoint of steps that are implicit in the constraints.
//!
//! The cotangent σ̄ of the slope to the end of a step goes to all columns by their weights. In a column the parts (2) of
//! [`implicit`](crate::flow) are read backwards: with c = 1/n,
//!
//!   ρ̄ = c·σ̄ to σ̄ of positions and v̄⁺,   σ̄ᵥ += h·v̄⁺,   ā = c·σ̄ᵥ to the state of the substep, and so to σ̄ and the start   (1̄)

use super::{Pass, add_all_but_positions};
use crate::cotangent::StateBar;
use crate::dynamics::{self, At, backward as stages};
use crate::error::Error;
use crate::flow::hold::{Softened, soften};
use crate::flow::implicit::Substep;
use crate::flow::stepper::{prepare, write_rates};
use crate::integrate::{Rates, add_scaled, place_vjp, tangent_rates_vjp};
use crate::model::Model;
use crate::rollout::NoGradient;
use crate::stages::constraint::Row;

/// What was found at the start of a substep.
#[derive(Clone, Debug)]
struct Known {
    slope: Rates,
    rates: Rates,
    /// Velocities at its end.
    velocity: Vec<f64>,
}

/// Room for what is read backwards.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    substeps: Vec<Known>,
    slope: Rates,
    /// Cotangents of the slope in a column.
    slope_bar: Rates,
    rate_bar: Vec<f64>,
    velocity_bar: Vec<f64>,
    /// Rows before they looked ahead.
    rows: Vec<Row>,
}

impl Columns {
    pub(super) fn new(model: &Model, tableau: &super::super::Tableau) -> Self {
        let counts = tableau.extrapolation.iter().map(|column| column.count);
        let zeros = Rates::zeros(model.counts());
        let known = Known {
            slope: zeros.clone(),
            rates: zeros.clone(),
            velocity: zeros.velocity.clone(),
        };
        Self {
            substeps: vec![known; counts.sum::<u32>() as usize],
            slope: zeros.clone(),
            rate_bar: zeros.velocity.clone(),
            velocity_bar: zeros.velocity.clone(),
            slope_bar: zeros,
            rows: Vec::new(),
        }
    }
}

impl Pass<'_> {
    /// The adjoint of an extrapolated step: from the cotangents of its end in `self.next` to those of its start.
    pub(super) fn extrapolated_step(&mut self, index: usize) -> Result<(), Error> {
        let step = self.motion.steps[index];
        let (h, last) = (step.h, self.tableau.len());
        let start = self.start.clone();
        self.slopes[last].clear();
        let mut known = 0;
        // Forward once more, since substeps are not stored.
        for column in self.tableau.extrapolation {
            self.columns.slope.clear();
            for place in 0..column.count {
                let substep = Substep::new(&start, h, column.count, place);
                self.retrace_substep(index, &substep, known)?;
                known += 1;
            }
            self.slopes[last].add_scaled(&self.columns.slope, column.weight);
        }
        self.clamp_activation_bars(h);
        // The end of the step hangs on the start and on the slope to it.
        let (end_bar, mut start_bar) = self.take_end();
        let mut slope_bar = Rates::zeros(self.model.counts());
        let placed = (&start, &self.slopes[last], h);
        let bars = (&mut slope_bar, &mut start_bar);
        place_vjp(self.model, placed, &end_bar, bars);
        // Each column has its weight in that slope; its substeps are read last first.
        for column in self.tableau.extrapolation.iter().rev() {
            let bar = &mut self.columns.slope_bar;
            bar.clear();
            bar.add_scaled(&slope_bar, column.weight);
            for place in (0..column.count).rev() {
                known -= 1;
                let substep = Substep::new(&start, h, column.count, place);
                self.substep_backward(index, &substep, known, &mut start_bar)?;
            }
        }
        self.arrive(start_bar, index)
    }

    /// Computes a substep of a column again, and remembers it.
    fn retrace_substep(
        &mut self,
        step: usize,
        substep: &Substep<'_>,
        place: usize,
    ) -> Result<(), Error> {
        substep.go(self.model, &self.columns.slope, &mut self.state);
        self.evaluate_ahead(step, substep.length(), None)?;
        let Columns {
            substeps, slope, ..
        } = &mut self.columns;
        let known = &mut substeps[place];
        known.slope.copy_from(slope);
        write_rates(self.model, &self.data, &mut known.rates);
        substep.advance(self.model, &mut known.rates, slope, &mut known.velocity);
        Ok(())
    }

    /// Evaluates the dynamics at `self.state` for a step of a length; with an acceleration, as it was found.
    fn evaluate_ahead(
        &mut self,
        step: usize,
        length: f64,
        acceleration: Option<&[f64]>,
    ) -> Result<(), Error> {
        let (model, state, data) = (self.model, &mut self.state, &mut self.data);
        let mode = &self.motion.regimes[self.motion.steps[step].regime].mode;
        prepare(model, state, &self.input, mode, data, &mut self.gauges);
        soften(mode, data);
        self.columns.rows.clone_from(&data.constraint.rows);
        data.constraint.look_ahead(length);
        let is_unique = if let Some(acceleration) = acceleration {
            dynamics::settle(model, state, acceleration, &[], data)
        } else {
            dynamics::solve_constraints(model, state, data);
            state.warmstart.copy_from_slice(&data.solve.qacc);
            true
        };
        if is_unique {
            Ok(())
        } else {
            Err(NoGradient::NotUnique.at(step))
        }
    }

    /// The adjoint of a substep. (1̄)
    fn substep_backward(
        &mut self,
        step: usize,
        substep: &Substep<'_>,
        place: usize,
        start_bar: &mut StateBar,
    ) -> Result<(), Error> {
        let (h, share) = (substep.h, substep.share());
        let known = self.columns.substeps[place].clone();
        let Columns {
            slope_bar,
            rate_bar,
            velocity_bar,
            ..
        } = &mut self.columns;
        velocity_bar.fill(0.0);
        rate_bar.fill(0.0);
        // Positions moved with the velocity at the end of the substep.
        add_scaled(rate_bar, &slope_bar.position, share);
        tangent_rates_vjp(
            self.model,
            (&known.slope.position, &known.velocity, h),
            rate_bar,
            (&mut slope_bar.position, velocity_bar),
        );
        add_scaled(&mut slope_bar.velocity, velocity_bar, h);
        add_scaled(&mut start_bar.qvel, velocity_bar, 1.0);
        // Then the evaluation at its start, as it was found.
        substep.go(self.model, &known.slope, &mut self.state);
        self.evaluate_ahead(step, substep.length(), Some(&known.rates.velocity))?;
        self.evaluation_backward(step, substep);
        let placed = (substep.start, &known.slope, h);
        let bars = (&mut self.columns.slope_bar, &mut *start_bar);
        place_vjp(self.model, placed, &self.bar.state, bars);
        add_all_but_positions(start_bar, &self.bar.state);
        Ok(())
    }

    /// From the cotangents of the rates of a substep to those of its state, in `self.bar.state`.
    fn evaluation_backward(&mut self, step: usize, substep: &Substep<'_>) {
        let share = substep.share();
        let mode = &self.motion.regimes[self.motion.steps[step].regime].mode;
        let (model, state, input) = (self.model, &self.state, &self.input);
        let (data, bar, columns) = (&mut self.data, &mut self.bar, &mut self.columns);
        bar.data.start(data);
        bar.state.set_zero();
        let slope_bar = &columns.slope_bar;
        add_scaled(&mut bar.data.solve.qacc, &slope_bar.velocity, share);
        super::add_activation_bars(model, &slope_bar.activation, share, &mut bar.data);
        let at = At {
            model,
            state,
            input,
            data,
        };
        stages::solve(at, bar);
        // The adjoint of the rows knows them as they were before they looked ahead.
        std::mem::swap(&mut data.constraint.rows, &mut columns.rows);
        (bar.data.constraint).look_ahead_backward(&data.constraint, substep.length());
        let at = At {
            model,
            state,
            input,
            data,
        };
        stages::observe_backward_of_rows(at, bar, &mut Softened(mode));
    }
}
