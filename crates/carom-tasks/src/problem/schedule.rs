//! When a simulation steps, so that it is at the time of every frame.
//!
//! From a frame to the next there are as many steps as fit the model's time step best, or as many as are asked for; their length is
//! the time between the frames over their number. So frames are hit whatever their times are, and the model's own step is used, to
//! the bit, where it divides the time between frames.

use carom::rollout::Controls;

use super::Run;
use crate::recording::Trajectory;

/// Steps that differ by less than this part are the same.
const SAME_STEP: f64 = 1e-9;

/// Steps of equal length in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// Their length (s).
    pub(crate) timestep: f64,
    /// Their number.
    pub(crate) steps: usize,
    /// Frames that are reached, as (steps taken, frame).
    pub(crate) marks: Vec<(usize, usize)>,
    /// Controls of every step.
    pub(crate) controls: Controls,
}

/// The stretches of a run.
pub(crate) fn stretches(
    trajectory: &Trajectory,
    run: &Run,
    (timestep, steps_per_frame): (f64, Option<usize>),
    nu: usize,
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for frame in run.first..run.last {
        let gap = trajectory.times[frame + 1] - trajectory.times[frame];
        let count = steps_per_frame.unwrap_or_else(|| best_count(gap, timestep));
        let length = gap / count as f64;
        let is_same = |other: f64| (length - other).abs() <= SAME_STEP * other;
        let length = if is_same(timestep) { timestep } else { length };
        let goes_on = (stretches.last()).is_some_and(|last| is_same(last.timestep));
        if !goes_on {
            stretches.push(Stretch {
                timestep: length,
                steps: 0,
                marks: Vec::new(),
                controls: Controls::PerStep(Vec::new()),
            });
        }
        let Some(last) = stretches.last_mut() else {
            continue;
        };
        last.steps += count;
        last.marks.push((last.steps, frame + 1));
        if let Controls::PerStep(rows) = &mut last.controls {
            for _ in 0..count {
                rows.extend(&trajectory.controls[frame * nu..][..nu]);
            }
        }
    }
    // Sensors at the last frame are read under its own controls.
    if let Some(Controls::PerStep(rows)) = stretches.last_mut().map(|last| &mut last.controls) {
        rows.extend(&trajectory.controls[run.last * nu..][..nu]);
    }
    if nu == 0 {
        for stretch in &mut stretches {
            stretch.controls = Controls::Zero;
        }
    }
    stretches
}

/// Steps of one length, the model's, over a whole run, with their controls: not at the times of the frames, but close to them.
pub(crate) fn in_own_steps(
    trajectory: &Trajectory,
    run: &Run,
    timestep: f64,
    nu: usize,
) -> (usize, Controls) {
    let begin = trajectory.times[run.first];
    let (mut steps, mut rows) = (0, Vec::new());
    for frame in run.first..run.last {
        let end = best_count(trajectory.times[frame + 1] - begin, timestep);
        for _ in steps..end {
            rows.extend(&trajectory.controls[frame * nu..][..nu]);
        }
        steps = steps.max(end);
    }
    let controls = if nu == 0 {
        Controls::Zero
    } else {
        Controls::PerStep(rows)
    };
    (steps, controls)
}

/// How many steps fit a time best.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of steps, at least 1 and bounded"
)]
fn best_count(gap: f64, timestep: f64) -> usize {
    (gap / timestep).round().clamp(1.0, 1e9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(times: &[f64]) -> Trajectory {
        Trajectory {
            file: String::new(),
            label: String::new(),
            times: times.to_vec(),
            values: Vec::new(),
            controls: (0..times.len()).map(|k| k as f64).collect(),
            qpos: Vec::new(),
            qvel: Vec::new(),
        }
    }

    #[test]
    fn steps_end_at_frames_of_any_times() {
        let trajectory = recorded(&[0.0, 0.01, 0.0205, 0.0405]);
        let run = Run {
            trajectory: 0,
            first: 0,
            last: 3,
        };
        let found = stretches(&trajectory, &run, (0.002, None), 1);
        let lengths: Vec<(f64, usize)> = found.iter().map(|s| (s.timestep, s.steps)).collect();
        assert_eq!(lengths[0], (0.002, 5));
        assert_eq!(lengths[1].1, 5);
        assert!((lengths[1].0 - 0.0021).abs() < 1e-15);
        assert_eq!(lengths[2], (0.002, 10));
        let time: f64 = found.iter().map(|s| s.timestep * s.steps as f64).sum();
        assert!((time - 0.0405).abs() < 1e-15);
        assert_eq!(found[2].marks, [(10, 3)]);
        assert_eq!(found[1].controls, Controls::PerStep(vec![1.0; 5]));
    }

    #[test]
    fn own_steps_go_to_the_end_of_a_run() {
        let trajectory = recorded(&[0.0, 0.01, 0.0205, 0.0405]);
        let run = Run {
            trajectory: 0,
            first: 1,
            last: 3,
        };
        let (steps, controls) = in_own_steps(&trajectory, &run, 0.002, 1);
        assert_eq!(steps, 15);
        let expected = [vec![1.0; 5], vec![2.0; 10]].concat();
        assert_eq!(controls, Controls::PerStep(expected));
    }

    #[test]
    fn even_frames_are_one_stretch_with_the_models_own_step() {
        let times: Vec<f64> = (0..100).map(|k| f64::from(k) / 148.0).collect();
        let run = Run {
            trajectory: 0,
            first: 2,
            last: 99,
        };
        let found = stretches(&recorded(&times), &run, (1.0 / 148.0, None), 0);
        assert_eq!(
            (found.len(), found[0].steps, found[0].timestep),
            (1, 97, 1.0 / 148.0)
        );
        assert_eq!(found[0].controls, Controls::Zero);
        // A step that does not divide the frames is shortened or stretched, once for all.
        let found = stretches(&recorded(&times), &run, (0.002, None), 0);
        assert_eq!((found.len(), found[0].steps), (1, 3 * 97));
        let found = stretches(&recorded(&times), &run, (0.002, Some(10)), 0);
        assert_eq!((found.len(), found[0].steps), (1, 970));
    }
}
