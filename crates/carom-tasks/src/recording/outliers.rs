//! Single frames that do not fit the others: jumps, gaps in time, and numbers that nothing on a table has.

use carom::math::Quat;
use carom_optimise::linalg::norm;

use super::load::Plan;
use super::{Channel, Quantity, Recordings, Trajectory};
use crate::evaluate::figure;

/// A jump is farther than so many times the usual way from a frame to the next …
const MIN_JUMP_RATIO: f64 = 30.0;
/// … which is this quantile of all of them.
const USUAL_QUANTILE: f64 = 0.75;
/// Jumps of bodies are farther than so many of their sizes.
const MIN_JUMP_SIZES: f64 = 3.0;
/// Jumps of bodies and sites without a size are farther than this (m).
const MIN_BODY_JUMP: f64 = 0.5;
/// Jumps of slides are farther than this (m).
const MIN_SLIDE_JUMP: f64 = 0.2;
/// Jumps of angles are farther than this (rad).
const MIN_ANGLE_JUMP: f64 = 2.0;
/// A gap in time is so many times as long as the median …
const MIN_GAP_RATIO: f64 = 20.0;
/// … and longer than this (s).
const MIN_GAP: f64 = 0.2;
/// Faster bodies and slides are no motion of a robot (m/s).
const MAX_SPEED: f64 = 1e3;
/// Nor is a faster rotation (rad/s).
const MAX_ANGULAR_SPEED: f64 = 1e4;
/// Angles that swing over more turns than this look like degrees.
const MAX_SWING_TURNS: f64 = 4.0;

/// Warnings, one for a channel at most.
pub(super) fn warnings(plan: &Plan, recordings: &Recordings) -> Vec<String> {
    let mut found: Vec<String> = recordings
        .trajectories
        .iter()
        .find_map(gap)
        .into_iter()
        .collect();
    for (index, channel) in plan.channels.iter().enumerate() {
        if !channel.is_recorded() {
            continue;
        }
        let look = |trajectory: &Trajectory| {
            let series = Series {
                trajectory,
                channel,
                index,
                size: plan.sizes[index],
            };
            series
                .too_fast()
                .or_else(|| series.degrees())
                .or_else(|| series.jump())
        };
        found.extend(recordings.trajectories.iter().find_map(look));
    }
    found
}

/// A gap in time that the others do not have.
fn gap(trajectory: &Trajectory) -> Option<String> {
    let gaps: Vec<f64> = (trajectory.times.windows(2))
        .map(|pair| pair[1] - pair[0])
        .collect();
    let usual = part_of(gaps.clone(), 0.5)?;
    let (frame, longest) = greatest(&gaps)?;
    let is_long = longest > MIN_GAP_RATIO * usual && longest > MIN_GAP;
    is_long.then(|| {
        format!(
            "{}: frames {frame} and {} are {} s apart, {:.0} times as far as most; cut trajectories there by [trajectories] max_gap, or correct the time stamps",
            trajectory.label,
            frame + 1,
            figure(longest),
            longest / usual
        )
    })
}

/// One channel of a trajectory.
struct Series<'a> {
    trajectory: &'a Trajectory,
    channel: &'a Channel,
    index: usize,
    size: f64,
}

impl Series<'_> {
    /// Frames that have a value, with it.
    fn values(&self) -> impl Iterator<Item = (usize, &[f64])> {
        let width = self.channel.width;
        (0..self.trajectory.frames()).filter_map(move |frame| {
            Some((frame, self.trajectory.value(self.index, frame, width)?))
        })
    }

    fn place(&self, frame: usize) -> String {
        let Trajectory { label, times, .. } = self.trajectory;
        let (name, time) = (&self.channel.name, figure(times[frame]));
        format!("{label}: {name} at frame {frame} ({time} s)")
    }

    /// A speed that nothing has.
    fn too_fast(&self) -> Option<String> {
        let (most, unit) = match self.channel.quantity {
            Quantity::AngularVelocity { .. } => (MAX_ANGULAR_SPEED, "rad/s"),
            Quantity::JointVelocity { .. } if self.channel.is_angle => (MAX_ANGULAR_SPEED, "rad/s"),
            Quantity::LinearVelocity { .. } | Quantity::JointVelocity { .. } => (MAX_SPEED, "m/s"),
            _ => return None,
        };
        let (frame, value) = self.values().find(|(_, value)| norm(value) > most)?;
        Some(format!(
            "{} is {} {unit}; correct the value, or mark it as missing (NaN, missing = true)",
            self.place(frame),
            figure(norm(value))
        ))
    }

    /// Angles that go to and fro over many turns.
    fn degrees(&self) -> Option<String> {
        let Quantity::JointPosition { .. } = self.channel.quantity else {
            return None;
        };
        let values: Vec<f64> = self.values().map(|(_, value)| value[0]).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let turns = (most - least) / std::f64::consts::TAU;
        let (first, last) = (values.first()?, values.last()?);
        // Wheels go on and on; what comes back far was not turning.
        let comes_back = (last - first).abs() < 0.98 * (most - least);
        (self.channel.is_angle && turns > MAX_SWING_TURNS && comes_back).then(|| {
            format!(
                "{}: {} goes to and fro over {} rad, {turns:.0} turns; if it is in degrees, give unit = \"deg\"",
                self.trajectory.label,
                self.channel.name,
                figure(most - least)
            )
        })
    }

    /// A frame that is far from the one before, where others are not.
    fn jump(&self) -> Option<String> {
        let (least, unit) = match self.channel.quantity {
            Quantity::Position(_) if self.size > 0.0 => (MIN_JUMP_SIZES * self.size, "m"),
            Quantity::Position(_) => (MIN_BODY_JUMP, "m"),
            Quantity::JointPosition { .. } if !self.channel.is_angle => (MIN_SLIDE_JUMP, "m"),
            Quantity::JointPosition { .. } | Quantity::Rotation(_) => (MIN_ANGLE_JUMP, "rad"),
            _ => return None,
        };
        let values: Vec<(usize, &[f64])> = self.values().collect();
        let steps: Vec<f64> = values
            .windows(2)
            .map(|pair| self.distance(pair[0].1, pair[1].1))
            .collect();
        let usual = part_of(steps.clone(), USUAL_QUANTILE)?;
        let is_jump = |step: &f64| *step > MIN_JUMP_RATIO * usual && *step > least;
        let place = steps.iter().position(is_jump)?;
        let farthest = steps[place];
        let frame = values[place + 1].0;
        let turns = farthest / std::f64::consts::TAU;
        let is_wrapped = self.channel.is_angle && (turns - turns.round()).abs() < 0.1;
        let advice = if is_wrapped {
            "if angles start anew after a turn, give unwrap = true"
        } else {
            "correct the frame, or mark it as missing (NaN, missing = true)"
        };
        let compared = if usual > 0.0 {
            format!("{} times as far as most others", figure(farthest / usual))
        } else {
            "where most others do not move".to_owned()
        };
        Some(format!(
            "{} jumps by {} {unit}, {compared}; {advice}",
            self.place(frame),
            figure(farthest)
        ))
    }

    fn distance(&self, from: &[f64], to: &[f64]) -> f64 {
        if let Quantity::Rotation(_) = self.channel.quantity {
            let quat = |numbers: &[f64]| Quat(std::array::from_fn(|k| numbers[k]));
            return quat(to).difference(quat(from)).norm();
        }
        let change: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        norm(&change)
    }
}

/// The number below which a part of all lies.
fn part_of(mut numbers: Vec<f64>, part: f64) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let place = (part * (numbers.len() as f64 - 1.0)) as usize;
    numbers.get(place).copied()
}

fn greatest(numbers: &[f64]) -> Option<(usize, f64)> {
    let all = numbers.iter().copied().enumerate();
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}
