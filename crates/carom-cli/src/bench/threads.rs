//! How much more a batch of trajectories does on several threads.
//!
//! All numbers of threads are measured in turns, so that whatever else the machine does falls on all of them. Wall time
//! needs as many free cores as threads; the CPU time per step tells, even on a busy machine, what threads cost each other.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use carom::rollout::{Controls, rollout_batch};
use indicatif::ProgressBar;
use serde_json::json;

use super::{Args, Case, least_and_median};
use crate::command_line::unfit;
use crate::failure::{COMPUTATION, Failure};
use crate::interrupt;

/// Trajectories per thread of a batch: enough for their ends to coincide.
const TRAJECTORIES_PER_THREAD: usize = 8;

/// Most numbers of the states of a batch (2 GB).
const MAX_NUMBERS: usize = 1 << 28;

/// What a number of threads took.
struct Measurement {
    threads: usize,
    pool: rayon::ThreadPool,
    /// Microseconds per step of all batches: wall time, CPU time of all threads.
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// Measures and prints.
pub(super) fn measure(
    args: &Args,
    case: &Case,
    path: &Path,
    progress: &ProgressBar,
) -> Result<ExitCode, Failure> {
    let most = args.threads.iter().copied().max().unwrap_or(1);
    let n = case.model.counts();
    let numbers = (n.nq + 2 * n.nv + n.na + n.nu + 1) * TRAJECTORIES_PER_THREAD * most;
    if args.steps.saturating_mul(numbers) > MAX_NUMBERS {
        return Err(unfit(
            "--steps",
            "the states of all trajectories of a batch do not fit in memory",
            format!(
                "at most {} for this model and {most} threads",
                MAX_NUMBERS / numbers
            ),
        ));
    }
    let mut measurements = Vec::new();
    for &threads in &args.threads {
        measurements.push(Measurement {
            threads,
            pool: pool(threads).map_err(|message| Failure::sentence(COMPUTATION, message))?,
            wall: Vec::new(),
            cpu: Vec::new(),
        });
    }
    let trajectories = TRAJECTORIES_PER_THREAD * most.max(1);
    // The first round warms up.
    for round in 0..=args.batches {
        for measurement in &mut measurements {
            let (wall, cpu) = measurement
                .pool
                .install(|| case.batch_microseconds_per_step(trajectories));
            if round > 0 {
                measurement.wall.push(wall);
                measurement.cpu.push(cpu);
            }
        }
        progress.set_position(round as u64);
        if round > 0 && interrupt::asked() {
            break;
        }
    }
    progress.finish_and_clear();
    if args.json {
        let document =
            json!({ "threads": to_json(&measurements), "interrupted": interrupt::asked() });
        crate::print(&document.to_string());
    } else {
        print(&measurements, path);
    }
    Ok(super::ended())
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, String> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder.build();
    pool.map_err(|cause| format!("cannot start {threads} threads: {cause}"))
}

/// A batch that the benchmark harness asks for.
pub(super) struct Batch {
    pool: rayon::ThreadPool,
    trajectories: usize,
}

impl Batch {
    /// A request with `"trajectories"` and `"threads"`.
    pub(super) fn from_request(request: &serde_json::Value) -> Result<Self, String> {
        let count = |name: &str| {
            let number = request[name].as_u64().filter(|&number| number > 0);
            let number = number.and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| format!("the request has no {name}"))
        };
        Ok(Self {
            pool: pool(count("threads")?)?,
            trajectories: count("trajectories")?,
        })
    }

    /// CPU time of all threads per step.
    pub(super) fn cpu_microseconds_per_step(&self, case: &Case) -> f64 {
        let batch = || case.batch_microseconds_per_step(self.trajectories);
        self.pool.install(batch).1
    }
}

impl Case {
    /// Wall and CPU time per step of a batch over the threads of the current pool.
    fn batch_microseconds_per_step(&self, trajectories: usize) -> (f64, f64) {
        let starts = vec![self.start.clone(); trajectories];
        let controls = vec![Controls::PerStep(self.controls.clone()); trajectories];
        let (wall, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
        rollout_batch(&self.model, &starts, &controls, self.steps);
        let per_step = 1e6 / (self.steps * trajectories) as f64;
        (
            wall.elapsed().as_secs_f64() * per_step,
            cpu.elapsed().as_secs_f64() * per_step,
        )
    }
}

/// How many times as fast as the first: wall time at best, and CPU time per step (median).
fn compared(first: &Measurement, other: &Measurement) -> (f64, f64) {
    let wall = |measurement: &Measurement| least_and_median(measurement.wall.clone()).0;
    let cpu = |measurement: &Measurement| least_and_median(measurement.cpu.clone()).1;
    (wall(first) / wall(other), cpu(other) / cpu(first))
}

fn print(measurements: &[Measurement], path: &Path) {
    for measurement in measurements {
        let (least, median) = least_and_median(measurement.wall.clone());
        let (speedup, cost) = compared(&measurements[0], measurement);
        crate::print(&format!(
            "{}: {}, {least:.3} µs/step at best, {median:.3} µs median of {} batches; {speedup:.2}× the first, {cost:.2}× its CPU time",
            path.display(),
            match measurement.threads {
                1 => "1 thread".to_owned(),
                threads => format!("{threads} threads"),
            },
            measurement.wall.len()
        ));
    }
}

fn to_json(measurements: &[Measurement]) -> serde_json::Value {
    let list = measurements.iter().map(|measurement| {
        let (least, median) = least_and_median(measurement.wall.clone());
        let (speedup, cost) = compared(&measurements[0], measurement);
        json!({
            "threads": measurement.threads,
            "minimum_us": least,
            "median_us": median,
            "speedup": speedup,
            "cpu_cost": cost,
        })
    });
    list.collect()
}
