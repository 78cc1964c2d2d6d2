//! How long each stage of a step takes.

use std::time::Instant;

use carom::dynamics::Observer;
use carom::{Data, Input, Model, State};

/// Wall time of all steps together, about (s).
const MAX_SECONDS: f64 = 0.4;
/// Steps from the start state, before it is taken up again.
const STEPS_PER_TRAJECTORY: usize = 500;
/// Fewest steps, however long they take.
const MIN_STEPS: usize = 10;
/// A step that takes this many times the median was interrupted by something else and does not count.
const MAX_MEDIAN_RATIO: f64 = 4.0;

/// Times of the stages of a step.
pub(super) struct Profile {
    /// Name and microseconds per step, in the order of the stages; means over steps.
    pub(super) stages: Vec<(&'static str, f64)>,
    /// Microseconds per step, all stages.
    pub(super) step: f64,
    /// Steps that count.
    pub(super) steps: usize,
}

/// Times the stages from the first keyframe or the reference state, with controls at rest.
pub(super) fn profile(model: &Model) -> Profile {
    let start = State::keyframe(model, 0).unwrap_or_else(|| State::reference(model));
    let input = Input::zeros(model);
    let (mut state, mut data) = (start.clone(), Data::new(model));
    let (mut clock, begin) = (Clock::new(), Instant::now());
    // The first steps warm up lists and caches.
    let mut steps = Vec::new();
    for step in 0.. {
        if step % STEPS_PER_TRAJECTORY == 0 {
            state.copy_from(&start);
        }
        clock.last = Instant::now();
        carom::observe_step(model, &mut state, &input, &mut data, &mut clock);
        let times = clock.take();
        if step >= MIN_STEPS {
            steps.push(times);
        }
        if steps.len() >= MIN_STEPS && begin.elapsed().as_secs_f64() > MAX_SECONDS {
            break;
        }
    }
    keep_uninterrupted(&mut steps);
    let (count, overhead) = (steps.len(), overhead());
    let mean = |stage: usize| {
        let total: f64 = steps.iter().map(|times| times[stage]).sum();
        (total / count as f64 - overhead).max(0.0) * 1e6
    };
    let names = clock.names.iter().enumerate();
    let stages: Vec<_> = names.map(|(stage, &name)| (name, mean(stage))).collect();
    Profile {
        step: stages.iter().map(|(_, time)| time).sum(),
        stages,
        steps: count,
    }
}

/// Drops steps during which something else ran.
fn keep_uninterrupted(steps: &mut Vec<Vec<f64>>) {
    let total = |times: &Vec<f64>| times.iter().sum::<f64>();
    let mut totals: Vec<f64> = steps.iter().map(total).collect();
    totals.sort_by(f64::total_cmp);
    let bound = MAX_MEDIAN_RATIO * totals[totals.len() / 2];
    steps.retain(|times| total(times) <= bound);
}

/// Notes the times between the ends of stages.
struct Clock {
    last: Instant,
    names: Vec<&'static str>,
    /// Seconds of each stage of the current step.
    times: Vec<f64>,
}

impl Clock {
    fn new() -> Self {
        Self {
            last: Instant::now(),
            names: Vec::new(),
            times: Vec::new(),
        }
    }

    /// The times of a step.
    fn take(&mut self) -> Vec<f64> {
        let times = self.times.clone();
        self.times.fill(0.0);
        times
    }
}

impl Observer for Clock {
    fn ended(&mut self, stage: &'static str) {
        let now = Instant::now();
        let place = self.names.iter().position(|&name| name == stage);
        let place = place.unwrap_or_else(|| {
            self.names.push(stage);
            self.times.push(0.0);
            self.names.len() - 1
        });
        self.times[place] += (now - self.last).as_secs_f64();
        self.last = Instant::now();
    }
}

/// What reading the clock adds to a stage (s).
fn overhead() -> f64 {
    let mut readings = [0.0; 1001];
    for reading in &mut readings {
        let before = Instant::now();
        *reading = before.elapsed().as_secs_f64();
    }
    readings.sort_by(f64::total_cmp);
    readings[readings.len() / 2]
}

/// Lines for people: dotted names, times and shares.
pub(super) fn lines(name: &str, profile: &Profile) -> Vec<String> {
    let width = name.len() + ".step.".len() + 13;
    let mut lines = vec![format!(
        "{:<width$} {:>9.2} µs  (mean over {} steps)",
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
