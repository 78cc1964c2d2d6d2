//! How long each stage of a step takes.

use std::time::{Duration, Instant};

use carom::dynamics::Observer;
use carom::{Data, Input, Model, State, integrate};

/// Timed batches; each starts at the same state.
const BATCHES: usize = 9;
/// Wall time of all batches together, about (s).
const BUDGET: f64 = 0.4;
/// Bounds of the steps of one batch.
const STEPS: [usize; 2] = [5, 500];

/// Times of the stages of a step.
pub(super) struct Profile {
    /// Name and microseconds per step, in the order of the stages; medians over batches.
    pub(super) stages: Vec<(&'static str, f64)>,
    /// Microseconds per step, all stages.
    pub(super) step: f64,
    /// Steps that were timed.
    pub(super) steps: usize,
}

/// Times the stages from the first keyframe or the reference state, with controls at rest.
pub(super) fn profile(model: &Model) -> Profile {
    let start = State::keyframe(model, 0).unwrap_or_else(|| State::reference(model));
    let input = Input::zeros(model);
    let (mut state, mut data) = (start.clone(), Data::new(model));
    let mut run = |steps: usize, clock: &mut Clock| {
        state.copy_from(&start);
        for _ in 0..steps {
            clock.last = Instant::now();
            integrate::observe_step(model, &mut state, &input, &mut data, clock);
        }
    };
    // Warms up lists and caches, and says how long a step takes.
    let (mut clock, begin) = (Clock::new(), Instant::now());
    run(STEPS[0], &mut clock);
    let step = begin.elapsed().as_secs_f64() / STEPS[0] as f64;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of steps, clamped"
    )]
    let steps = (BUDGET / BATCHES as f64 / step.max(1e-9)) as usize;
    let steps = steps.clamp(STEPS[0], STEPS[1]);
    let overhead = overhead();
    let mut batches = Vec::new();
    for _ in 0..BATCHES {
        clock.clear();
        run(steps, &mut clock);
        let per_step = |total: &Duration| {
            let seconds = total.as_secs_f64() / steps as f64 - overhead;
            seconds.max(0.0) * 1e6
        };
        batches.push(
            clock
                .totals
                .iter()
                .map(|(_, total)| per_step(total))
                .collect(),
        );
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let batches: Vec<Vec<f64>> = batches;
    let stages = clock.totals.iter().enumerate().map(|(stage, &(name, _))| {
        let times = batches.iter().map(|batch| batch[stage]).collect();
        (name, median(times))
    });
    let stages: Vec<_> = stages.collect();
    Profile {
        step: median(batches.iter().map(|batch| batch.iter().sum()).collect()),
        stages,
        steps: BATCHES * steps,
    }
}

/// Sums the times between the ends of stages.
struct Clock {
    last: Instant,
    totals: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn new() -> Self {
        Self {
            last: Instant::now(),
            totals: Vec::new(),
        }
    }

    fn clear(&mut self) {
        for (_, total) in &mut self.totals {
            *total = Duration::ZERO;
        }
    }
}

impl Observer for Clock {
    fn ended(&mut self, stage: &'static str) {
        let now = Instant::now();
        let time = now - self.last;
        match self.totals.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += time,
            None => self.totals.push((stage, time)),
        }
        self.last = now;
    }
}

/// What reading the clock costs (s).
fn overhead() -> f64 {
    let readings = 2000;
    let mut clock = Clock::new();
    for _ in 0..readings {
        clock.ended("nothing");
    }
    let total = clock
        .totals
        .first()
        .map_or(0.0, |(_, total)| total.as_secs_f64());
    total / f64::from(readings)
}

/// Lines for people: dotted names, times and shares.
pub(super) fn lines(name: &str, profile: &Profile) -> Vec<String> {
    let width = name.len() + ".step.".len() + 13;
    let mut lines = vec![format!(
        "{:<width$} {:>9.2} µs  (median over {} steps)",
        format!("{name}.step"),
        profile.step,
        profile.steps
    )];
    for (stage, time) in &profile.stages {
        let share = 100.0 * time / profile.step.max(1e-12);
        lines.push(format!(
            "{:<width$} {time:>9.2} µs {share:4.0} %",
            format!("{name}.step.{stage}")
        ));
    }
    lines
}

/// Times for programs.
pub(super) fn to_json(profile: &Profile) -> serde_json::Value {
    let stages = profile.stages.iter();
    let stages: serde_json::Map<_, _> = stages
        .map(|&(name, time)| (name.to_owned(), serde_json::json!(time)))
        .collect();
    serde_json::json!({ "unit": "microseconds per step", "step": profile.step, "stages": stages })
}
