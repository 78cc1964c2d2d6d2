//! The adjoint of steps that are implicit in the constraints.
//!
//! The cotangent σ̄ of the slope to the end of a step goes to all columns by their weights. In a column the parts (2) of
//! [`implicit`](crate::flow) are read backwards: with c = 1/n,
//!
//!   ρ̄ = c·σ̄ to σ̄ of positions and v̄⁺,   σ̄ᵥ += h·v̄⁺,   ā = c·σ̄ᵥ to the state of the substep, and so to σ̄ and the start   (1̄)

use super::{Pass, add_mocap};
use crate::cotangent::StateBar;
use crate::dynamics::{self, At, backward as stages};
use crate::error::Error;
use crate::flow::hold::{Softened, soften};
use crate::flow::implicit::Substep;
use crate::flow::stepper::{Rates, prepare, write_rates};
use crate::integrate::{add_scaled, integrate_positions_vjp, tangent_rates_vjp};
use crate::model::Model;
use crate::rollout::NoGradient;
use crate::stages::constraint::Row;
use crate::state::State;

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
        let zeros = Rates::zeros(model);
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
        let mut start_bar = StateBar::zeros(self.model);
        std::mem::swap(&mut start_bar, &mut self.next);
        let end_bar = start_bar.clone();
        start_bar.qpos.fill(0.0);
        let mut slope_bar = Rates::zeros(self.model);
        let reached = (&start, &self.slopes[last], h);
        reached_backward(
            self.model,
            reached,
            &end_bar,
            (&mut slope_bar, &mut start_bar),
        );
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
        self.next = start_bar;
        if self.next.norm().is_finite() {
            Ok(())
        } else {
            Err(NoGradient::Exploded.at(index))
        }
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
        let Self {
            model,
            input,
            state,
            data,
            gauges,
            columns,
            ..
        } = self;
        let mode = &self.motion.regimes[self.motion.steps[step].regime].mode;
        prepare(model, state, input, mode, data, gauges);
        soften(mode, data);
        columns.rows.clone_from(&data.constraint.rows);
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
        let stage_bar = self.bar.state.clone();
        reached_backward(
            self.model,
            (substep.start, &known.slope, h),
            &stage_bar,
            (&mut self.columns.slope_bar, start_bar),
        );
        add_scaled(&mut start_bar.qvel, &stage_bar.qvel, 1.0);
        add_scaled(&mut start_bar.act, &stage_bar.act, 1.0);
        add_mocap(start_bar, &stage_bar);
        Ok(())
    }

    /// From the cotangents of the rates of a substep to those of its state, in `self.bar.state`.
    fn evaluation_backward(&mut self, step: usize, substep: &Substep<'_>) {
        let share = substep.share();
        let mode = &self.motion.regimes[self.motion.steps[step].regime].mode;
        let Self {
            model,
            input,
            state,
            data,
            bar,
            columns,
            ..
        } = self;
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

/// From the cotangents of a state at h·slope from the start to those of the slope; positions also to the start.
fn reached_backward(
    model: &Model,
    (start, slope, h): (&State, &Rates, f64),
    bar: &StateBar,
    (slope_bar, start_bar): (&mut Rates, &mut StateBar),
) {
    let positions = (&bar.qpos[..], &mut start_bar.qpos[..]);
    let moved = (&slope.position[..], h);
    integrate_positions_vjp(
        model,
        &start.qpos,
        moved,
        positions,
        &mut slope_bar.position,
    );
    add_scaled(&mut slope_bar.velocity, &bar.qvel, h);
    add_scaled(&mut slope_bar.activation, &bar.act, h);
}
