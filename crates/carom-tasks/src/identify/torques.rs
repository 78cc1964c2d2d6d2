//! Torques in the loss of an identification, alone or beside predictions.
//!
//! A residual of torque is in units of what base parameters leave at its joint (`torque/base.rs`), so no joint counts more because it is
//! strong. Beside predictions both kinds have a variance of their own that nobody knows. Predictions alone make joints heavy: then torques
//! hardly move them. Torques alone leave small errors that a light wrist integrates twice. The most likely parameters for unknown
//! variances make N·log(Σr²) of both kinds together least, which is what weighted least squares converge to whose weights are taken from
//! the residuals again and again:
//!
//!   minimise Σ rₚ² + w²·Σ rₜ²,   w² = weight²·(mean of rₚ²·Nₚ)/(mean of rₜ²·Nₜ) at the last solution                (1)
//!
//! with the same number N for both: frames of a prediction depend on each other, so that their count means little.
//!
//! Only combinations of inertias are identifiable from a chain of joints. The others stay where they were by a prior of relative width s in the metric of
//! pseudo-inertias P = L·Lᵀ, whose distances no choice of axes or units changes [Lee 2020]: ‖L⁻¹·δP·L⁻ᵀ‖/s. At the start it is
//! diagonal in the parameters of `carom::parameters` up to the trade-off of mass and size,
//!
//!   sd(α) = sd(dₖ) = s/2,   sd(sₖₗ) = e^dₖ·s/√2,   sd(tₖ) = ē·s/√2,   ē = e^((d₁ + d₂ + d₃)/3)                          (2)
//!
//! and an armature has the width s·M of the inertia M that its joint moves.

use std::sync::atomic::AtomicBool;

use carom::Error;
use carom::parameters::Parameters;
use carom_optimise::linalg::Matrix;

use super::solve::Unwatched;
use super::task::Task;
use super::{OptimiserKind, ResidualKind};
use crate::error;
use crate::problem::{Block, Linear};
use crate::recording::Recordings;
use crate::torque::{Base, Measured, Regressor};

/// Rounds of weights, and evaluations of each.
const WEIGHT_ROUNDS: usize = 3;
const ROUND_EVALUATIONS: u64 = 12;
/// Evaluations of the search by torques alone, which takes milliseconds each.
const TORQUE_EVALUATIONS: u64 = 30;

/// Residuals of torques, weighed.
#[derive(Clone, Debug)]
pub(super) struct Torques {
    regressor: Regressor,
    pub(super) base: Base,
    /// w in (1).
    factor: f64,
}

impl Torques {
    /// The torques of recordings.
    ///
    /// # Errors
    /// When the mapping does not say that there are any, or a parameter is none of theirs.
    pub(super) fn new(parameters: &Parameters, recordings: &Recordings) -> Result<Self, Error> {
        let measured = Measured::new(parameters.base(), recordings)?.ok_or_else(|| {
            error::settings("the mapping does not say that torques were recorded: give it a table [torque] if controls of motors are torques of their joints")
        })?;
        let regressor = Regressor::new(measured, parameters)?;
        Ok(Self {
            base: Base::new(&regressor),
            regressor,
            factor: 1.0,
        })
    }

    /// Residuals in units of the noise, times the factor.
    pub(super) fn residuals(
        &self,
        parameters: &Parameters,
        theta: &[f64],
    ) -> Result<Vec<f64>, Error> {
        let mut residuals = self.regressor.residuals(parameters, theta)?;
        for (row, residual) in residuals.iter_mut().enumerate() {
            *residual *= self.weight(row);
        }
        Ok(residuals)
    }

    /// The torques that were measured.
    pub(super) fn measured(&self) -> &Measured {
        self.regressor.measured()
    }

    /// Residuals in units of the noise with their Jacobian, without the factor.
    pub(super) fn linearized(
        &self,
        parameters: &Parameters,
        theta: &[f64],
    ) -> Result<(Vec<f64>, Matrix), Error> {
        let (mut residuals, mut jacobian) = self.regressor.linearize(parameters, theta)?;
        for (row, residual) in residuals.iter_mut().enumerate() {
            let noise = self.base.noise[row % self.base.noise.len()];
            *residual /= noise;
            jacobian
                .row_mut(row)
                .iter_mut()
                .for_each(|entry| *entry /= noise);
        }
        Ok((residuals, jacobian))
    }

    /// Adds residuals with their Jacobian, a block for each trajectory.
    pub(super) fn add_to(
        &self,
        linear: &mut Linear,
        parameters: &Parameters,
        theta: &[f64],
    ) -> Result<(), Error> {
        let (residuals, mut jacobian) = self.regressor.linearize(parameters, theta)?;
        for row in 0..jacobian.rows() {
            let weight = self.weight(row);
            jacobian
                .row_mut(row)
                .iter_mut()
                .for_each(|entry| *entry *= weight);
        }
        let weighed = residuals
            .iter()
            .enumerate()
            .map(|(row, r)| r * self.weight(row));
        linear.residuals.extend(weighed);
        linear.blocks.extend(self.blocks(&jacobian));
        Ok(())
    }

    fn blocks(&self, jacobian: &Matrix) -> Vec<Block> {
        let mut first = 0;
        let of = |rows: usize| {
            let range = first * jacobian.columns()..(first + rows) * jacobian.columns();
            first += rows;
            Block {
                rows,
                by_parameters: jacobian.data()[range].to_vec(),
                by_start: Vec::new(),
            }
        };
        self.regressor.rows_by_trajectory().map(of).collect()
    }

    fn weight(&self, row: usize) -> f64 {
        self.factor / self.base.noise[row % self.base.noise.len()]
    }
}

impl Task<'_> {
    /// Goes to where torques lead, and weighs them and predictions against each other.
    ///
    /// # Errors
    /// When the model cannot be simulated at the start.
    pub(super) fn follow_torques(&mut self, stop: Option<&AtomicBool>) -> Result<(), Error> {
        if self.settings.residual != ResidualKind::Both {
            return Ok(());
        }
        let mut alone = self.clone();
        alone.settings.residual = ResidualKind::Torque;
        alone.search_briefly(TORQUE_EVALUATIONS, stop)?;
        self.start_at(alone.start())?;
        for _ in 1..WEIGHT_ROUNDS {
            self.weigh_torques()?;
            self.search_briefly(ROUND_EVALUATIONS, stop)?;
        }
        self.weigh_torques()
    }

    /// Moves the start to the end of a short search.
    fn search_briefly(&mut self, evaluations: u64, stop: Option<&AtomicBool>) -> Result<(), Error> {
        let mut brief = self.clone();
        brief.settings.evaluations = Some(evaluations);
        brief.optimiser = OptimiserKind::Lm;
        let found = brief.solve(None, stop, &mut Unwatched)?;
        self.start_at(&found.x)
    }

    /// The weight (1) at the start of the search.
    fn weigh_torques(&mut self) -> Result<(), Error> {
        let x = self.start().to_vec();
        let sum = |residuals: &[f64]| residuals.iter().map(|r| r * r).sum::<f64>();
        let predicted = sum(&self.recorded_residuals(&x)?);
        let theta = &x[..self.parameters().len()];
        let weight = self.settings.torque_weight;
        let parameters = self.parameters().clone();
        if let Some(torques) = &mut self.torques {
            torques.factor = 1.0;
            let measured = sum(&torques.residuals(&parameters, theta)?);
            torques.factor = weight * (predicted / measured.max(f64::MIN_POSITIVE)).sqrt();
        }
        Ok(())
    }
}

/// Standard deviations of θ that inertias have in the absence of a prior of their own (2); none for other parameters.
pub(super) fn inertia_deviations(parameters: &Parameters, relative: f64) -> Vec<Option<f64>> {
    let theta = parameters.theta0();
    let names: Vec<&str> = parameters.names().collect();
    let of = |name: &&str| {
        if let Some(joint) = name
            .strip_prefix("joint.")
            .and_then(|rest| rest.strip_suffix(".armature"))
        {
            return armature_deviation(parameters, joint, relative);
        }
        let (body, number) = name.split_once(".pseudo_inertia[")?;
        let size = |number: &str| {
            let name = format!("{body}.pseudo_inertia[{number}]");
            let place = names.iter().position(|known| *known == name);
            place.map_or(1.0, |place| theta[place].exp())
        };
        let mean = (size("d1") * size("d2") * size("d3")).cbrt();
        let half = std::f64::consts::FRAC_1_SQRT_2;
        Some(
            relative
                * match number.trim_end_matches(']') {
                    "s12" | "s13" => size("d1") * half,
                    "s23" => size("d2") * half,
                    "t1" | "t2" | "t3" => mean * half,
                    _ => 0.5,
                },
        )
    };
    names.iter().map(of).collect()
}

fn armature_deviation(parameters: &Parameters, joint: &str, relative: f64) -> Option<f64> {
    let model = parameters.base();
    let joints = &model.structure.names.joints;
    let id = joints.iter().position(|name| name == joint)?;
    let inertia = model.dofs.inertia_reference[model.structure.joints.dof[id]];
    (inertia > 0.0).then_some(relative * inertia)
}
