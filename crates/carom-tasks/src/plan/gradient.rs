//! Plans by gradients: Adam over all controls of a horizon, in units of their ranges, with the best iterate kept.
//!
//! The cost of a plan through contacts is rugged: it need not fall from iterate to iterate, and gradients may grow beyond
//! use. Hence the clipping, and the best iterate [Paulus 2025, sec. 5.2].

use carom::Dynamics;
use carom_optimise::{
    Adam, AdamSettings, Bounds, Evaluation, Failure, Optimiser, Schedule, Search, Space,
};
use serde::Deserialize;

use super::cost::Horizon;
use super::method::{Planned, Planner, Ranges};

/// Settings of plans by gradients; the defaults are those of the paper.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct GradientSettings {
    /// Steps of Adam for a plan.
    pub iterations: usize,
    /// Their length, as a share of the range of a control.
    pub rate: f64,
    /// Gradients longer than this are shortened to it, in cost per range. Small: a single gradient through an impact, a
    /// thousand times longer than the others, would otherwise make all later steps of Adam short.
    pub clip: f64,
    /// β₁ and β₂ of Adam.
    pub decay: [f64; 2],
    /// Gradients are cut off where they have grown so many times; never if it is infinite.
    pub truncate: f64,
}

impl Default for GradientSettings {
    fn default() -> Self {
        Self {
            iterations: 32,
            rate: 0.01,
            clip: 1e-3,
            decay: [0.9, 0.999],
            truncate: f64::INFINITY,
        }
    }
}

/// Plans by gradients.
#[derive(Clone, Debug)]
pub struct Descent {
    settings: GradientSettings,
}

impl Descent {
    /// With settings.
    pub fn new(settings: GradientSettings) -> Self {
        Self { settings }
    }
}

impl<D: Dynamics> Planner<D> for Descent {
    fn refine(&mut self, horizon: &Horizon<'_, D>, ranges: &Ranges, warm: &[f64]) -> Planned {
        descend(horizon, ranges, warm, &self.settings)
    }
}

/// Goes down from a plan.
pub(super) fn descend<D: Dynamics>(
    horizon: &Horizon<'_, D>,
    ranges: &Ranges,
    warm: &[f64],
    settings: &GradientSettings,
) -> Planned {
    let mut best = Planned {
        plan: warm.to_vec(),
        cost: f64::INFINITY,
        evaluations: 0,
        gradients: 0,
    };
    let rows = warm.len() / ranges.len().max(1);
    let bounds = Bounds::new(ranges.lower.repeat(rows), ranges.upper.repeat(rows));
    let space = bounds
        .ok()
        .and_then(|bounds| Space::new(warm.to_vec(), bounds).ok());
    let Some(space) = space else {
        return best;
    };
    let truncate = settings.truncate;
    let settings = AdamSettings {
        schedule: Schedule::Constant(settings.rate),
        steps: settings.iterations as u64,
        clip: Some(settings.clip),
        decay: settings.decay,
        ..AdamSettings::default()
    };
    let adam = Adam::new(&space, settings);
    let mut search = Search::new(space, adam);
    let mut work = horizon.dynamics.work();
    loop {
        let requests = search.ask();
        if requests.is_empty() {
            break;
        }
        let answers = requests.iter().map(|request| {
            best.evaluations += 1;
            best.gradients += 1;
            let found = horizon.derivatives_within(&request.point, truncate, &mut work);
            let reason = |error: carom::Error| Failure {
                reason: error.to_string(),
            };
            let outcome = found.map(|found| Evaluation::Gradient {
                value: found.value,
                gradient: found.controls,
            });
            request.answer(outcome.map_err(reason))
        });
        let answers = answers.collect();
        if search.tell(answers).is_err() {
            break;
        }
    }
    if let Some(found) = search.best() {
        best.plan = found.point;
        best.cost = found.value;
    }
    best
}
