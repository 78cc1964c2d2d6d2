//! Samples choose basins, gradients go down in the best few of them.
//!
//! The best few plans of one time are shifted and compete with new samples at the next: a basin that is not yet the cheapest
//! is not forgotten at once.

use carom::Dynamics;
use rayon::prelude::*;
use serde::Deserialize;

use super::cost::Horizon;
use super::gradient::{GradientSettings, descend};
use super::method::{Memory, Planned, Planner, Ranges, costs, lowest, shifted};
use super::sampling::{Draws, SamplingSettings};

/// Settings of the hybrid.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct HybridSettings {
    /// How many plans are refined by gradients.
    pub refined: usize,
    /// Steps of Adam for each.
    pub iterations: usize,
    /// How many samples are drawn.
    pub samples: usize,
}

impl Default for HybridSettings {
    fn default() -> Self {
        Self {
            refined: 4,
            iterations: 12,
            samples: 96,
        }
    }
}

/// Plans by samples and gradients.
#[derive(Clone, Debug)]
pub struct Hybrid {
    settings: HybridSettings,
    gradient: GradientSettings,
    draws: Draws,
    /// The best few of the last time, shifted since.
    kept: Vec<Vec<f64>>,
}

impl Hybrid {
    /// With settings of its parts, and a seed on which all draws depend.
    pub fn new(
        settings: HybridSettings,
        sampling: SamplingSettings,
        gradient: &GradientSettings,
        seed: u64,
    ) -> Self {
        Self {
            gradient: GradientSettings {
                iterations: settings.iterations,
                ..gradient.clone()
            },
            settings,
            draws: Draws::new(sampling, seed),
            kept: Vec::new(),
        }
    }
}

impl<D: Dynamics> Planner<D> for Hybrid {
    fn refine(&mut self, horizon: &Horizon<'_, D>, ranges: &Ranges, warm: &[f64]) -> Planned {
        let mut plans = vec![warm.to_vec()];
        plans.append(&mut self.kept);
        let centers: Vec<&[f64]> = plans.iter().map(Vec::as_slice).collect();
        let drawn = (self.draws).around(&centers, horizon.steps, ranges, self.settings.samples);
        plans.extend(drawn);
        let found = costs(horizon, &plans);
        let chosen = lowest(&found, self.settings.refined.max(1));
        let refined: Vec<Planned> = chosen
            .par_iter()
            .map(|&index| {
                let mut refined = descend(horizon, ranges, &plans[index], &self.gradient);
                if found[index] <= refined.cost || !refined.cost.is_finite() {
                    refined.plan.clone_from(&plans[index]);
                    refined.cost = found[index];
                }
                refined
            })
            .collect();
        let costs: Vec<f64> = refined.iter().map(|planned| planned.cost).collect();
        let order = lowest(&costs, refined.len());
        let mut best = refined[order[0]].clone();
        let sum = |count: fn(&Planned) -> usize| refined.iter().map(count).sum::<usize>();
        best.evaluations = plans.len() + sum(|planned| planned.evaluations);
        best.gradients = sum(|planned| planned.gradients);
        let others = order
            .iter()
            .skip(1)
            .filter(|&&index| costs[index].is_finite());
        self.kept = others.map(|&index| refined[index].plan.clone()).collect();
        best
    }

    fn shift(&mut self, steps: usize, nu: usize) {
        for plan in &mut self.kept {
            *plan = shifted(plan, steps, nu);
        }
    }

    fn memory(&self) -> Memory {
        Memory {
            stream: self.draws.stream(),
            plans: self.kept.clone(),
            ..Memory::default()
        }
    }

    fn recall(&mut self, memory: &Memory, length: usize) -> bool {
        self.draws.set_stream(memory.stream);
        self.kept.clone_from(&memory.plans);
        memory.fits(length)
    }
}
