//! Runs in continuous time, forwards and backwards: every stretch has one interval a frame.

use carom::cotangent::StateBar;
use carom::flow::{Flow, Motion, Variation};
use carom::linearize::Tangent;
use carom::{Model, State};

use super::Job;
use super::fixed::{Cotangents, FrameBar, Predicted, Stop, add_numbers};

/// Follows a run.
pub(crate) fn simulate(
    flow: &Flow,
    job: &Job,
    start: &State,
) -> Result<(Vec<Predicted>, Vec<Motion>), Stop> {
    let mut predicted = Vec::new();
    let mut motions: Vec<Motion> = Vec::with_capacity(job.stretches.len());
    for stretch in &job.stretches {
        let from = motions.last().map_or(start, Motion::end);
        let motion = flow.run(from, &stretch.controls, stretch.timestep, stretch.steps);
        if !motion.status().is_done() {
            let reached = stretch.marks.get(motion.states().len().saturating_sub(2));
            return Err(Stop {
                frame: reached.map_or(job.run.last, |&(_, frame)| frame),
                why: motion.status().to_string(),
            });
        }
        for &(interval, frame) in &stretch.marks {
            predicted.push(Predicted {
                frame,
                state: motion.states()[interval].clone(),
                sensors: Vec::new(),
            });
        }
        motions.push(motion);
    }
    Ok((predicted, motions))
}

/// Reads a run backwards, as [`fixed::backward`](super::fixed::backward).
pub(crate) fn backward(
    (model, flow): (&Model, &Flow),
    job: &Job,
    motions: &[Motion],
    bars: &[FrameBar],
    model_bar: &mut [f64],
) -> Result<StateBar, String> {
    let mut carried = StateBar::zeros(model);
    let mut end = bars.len();
    for (stretch, motion) in job.stretches.iter().zip(motions).rev() {
        let first = end - stretch.marks.len();
        let marks = stretch.marks.iter().zip(&bars[first..end]);
        let mut loss = Cotangents {
            marks: marks.map(|(&(step, _), bar)| (step, bar)).collect(),
            carried: &carried,
            end: stretch.steps,
            has_sensors: false,
        };
        let gradient = motion
            .backward(flow, &stretch.controls, &mut loss)
            .map_err(|error| error.to_string())?;
        add_numbers(&gradient.model, model_bar);
        carried = gradient.start;
        end = first;
    }
    Ok(carried)
}

/// For each direction, how the predicted states of a run change along it.
pub(crate) fn forward(
    flow: &Flow,
    job: &Job,
    motions: &[Motion],
    mut along: Vec<Variation>,
) -> Result<Vec<Vec<Tangent>>, String> {
    let mut changes: Vec<Vec<Tangent>> = vec![Vec::new(); along.len()];
    for (stretch, motion) in job.stretches.iter().zip(motions) {
        let found = motion
            .forward(flow, &stretch.controls, &along)
            .map_err(|error| error.to_string())?;
        for ((changes, found), variation) in changes.iter_mut().zip(found).zip(&mut along) {
            if let Some(last) = found.last() {
                variation.start.qpos.clone_from(&last.qpos);
                variation.start.qvel.clone_from(&last.qvel);
                variation.start.act.clone_from(&last.act);
            }
            changes.extend(found.into_iter().skip(1));
        }
    }
    Ok(changes)
}
