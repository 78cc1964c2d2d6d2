//! Starts by a line through the frames up to them.
//!
//! With τ the time to the start, positions are a + b·τ + ½·d·τ² in least squares. The acceleration d is the model's own: that of
//! friction against the velocity, −μ·g·b/|b|, for a body that lies on a table ([`FlatStart`](super::FlatStart)), and gravity for
//! one that flies. Orientations turn uniformly. A body that moved by no more than the noise is at rest at its mean.

use carom::Model;
use carom::math::{Quat, Vec3};
use carom::model::GeomKind;
use carom::stages::collision::parameters::mix;

use super::{Channel, Frame, Quantity, Recordings, Trajectory, lay};

/// A body at rest seems to move by less than so many standard deviations of its noise.
const REST: f64 = 4.0;
/// Standard deviation of tracked positions where a mapping states none (m).
const USUAL_NOISE: f64 = 5e-4;
/// How often the direction of friction is found anew.
const ROUNDS: usize = 4;

/// A free body with its channels.
struct Tracked {
    position: usize,
    rotation: Option<usize>,
    qpos: usize,
    dof: usize,
    noise: f64,
}

/// Finds the states of all starts anew, with the accelerations that a model has, and lays bodies flat where that is said.
pub(crate) fn estimate(model: &Model, recordings: &mut Recordings) {
    let tracked = tracked(&recordings.channels);
    let (start, flat) = (recordings.start, recordings.flat_starts.clone());
    for trajectory in &mut recordings.trajectories {
        if trajectory.frames() <= start {
            continue;
        }
        for body in &tracked {
            let is_flat = flat.iter().any(|flat| flat.qpos == body.qpos);
            let friction = if is_flat {
                Some(friction(model, body.dof))
            } else {
                None
            };
            place(model, trajectory, (body, start), friction);
        }
        lay(model, &flat, trajectory);
    }
}

fn tracked(channels: &[Channel]) -> Vec<Tracked> {
    let free = |(index, channel): (usize, &Channel)| {
        let Quantity::Position(Frame::State { qpos, dof }) = channel.quantity else {
            return None;
        };
        let rotation = channels.iter().position(|other| {
            matches!(other.quantity, Quantity::Rotation(Frame::State { qpos: own, .. }) if own == qpos + 3)
        });
        Some(Tracked {
            position: index,
            rotation,
            qpos,
            dof,
            noise: channel.noise.unwrap_or(USUAL_NOISE),
        })
    };
    channels.iter().enumerate().filter_map(free).collect()
}

/// The coefficient of friction of the body with a dof on the first fixed plane.
fn friction(model: &Model, dof: usize) -> f64 {
    let structure = &model.structure;
    let body = structure.dofs.body[dof];
    let geoms = &structure.geoms;
    let own = (0..geoms.body.len()).find(|&geom| geoms.body[geom] == body);
    let table = (0..geoms.body.len())
        .find(|&geom| geoms.body[geom] == 0 && geoms.kind[geom] == GeomKind::Plane);
    match (table, own) {
        (Some(table), Some(own)) => mix(model, [table, own], None).friction[0],
        _ => 0.0,
    }
}

fn place(
    model: &Model,
    trajectory: &mut Trajectory,
    (body, start): (&Tracked, usize),
    friction: Option<f64>,
) {
    let n = model.counts();
    let gravity = model.option.gravity[0];
    let vector = |frame: usize| {
        let values = trajectory.value(body.position, frame, 3)?;
        Some(Vec3(std::array::from_fn(|k| values[k])))
    };
    let time = |frame: usize| trajectory.times[frame] - trajectory.times[start];
    let seen: Vec<(f64, Vec3)> = (0..=start)
        .filter_map(|frame| Some((time(frame), vector(frame)?)))
        .collect();
    let Some((mut position, mut velocity)) = line(&seen, Vec3::ZERO) else {
        return;
    };
    let span = -seen[0].0;
    let at_rest = velocity.norm() * span < REST * body.noise;
    if at_rest {
        (position, velocity) = (mean(&seen), Vec3::ZERO);
    } else {
        for _ in 0..ROUNDS {
            let acceleration = match friction {
                Some(friction) => velocity.normalized().0 * (-friction * gravity.norm()),
                None => gravity,
            };
            (position, velocity) = line(&seen, acceleration).unwrap_or((position, velocity));
        }
    }
    let turned = body.rotation.and_then(|channel| {
        let quat = |frame: usize| {
            let values = trajectory.value(channel, frame, 4)?;
            Some(Quat(std::array::from_fn(|k| values[k])))
        };
        let base = quat(start)?;
        let turns: Vec<(f64, Vec3)> = (0..=start)
            .filter_map(|frame| Some((time(frame), quat(frame)?.difference(base))))
            .collect();
        let (turn, rate) = if at_rest {
            (mean(&turns), Vec3::ZERO)
        } else {
            line(&turns, Vec3::ZERO)?
        };
        Some((base.mul(Quat::exp(turn)), rate))
    });
    let qpos = &mut trajectory.qpos[start * n.nq + body.qpos..];
    qpos[..3].copy_from_slice(&position.0);
    let qvel = &mut trajectory.qvel[start * n.nv + body.dof..];
    qvel[..3].copy_from_slice(&velocity.0);
    if let Some((quat, rate)) = turned {
        qpos[3..7].copy_from_slice(&quat.0);
        qvel[3..6].copy_from_slice(&rate.0);
    }
}

fn mean(seen: &[(f64, Vec3)]) -> Vec3 {
    let sum = seen.iter().fold(Vec3::ZERO, |sum, (_, x)| sum + *x);
    sum * (seen.len() as f64).recip()
}

/// Value and slope at τ = 0 of the best line, after a known acceleration; none where there are no two times.
fn line(seen: &[(f64, Vec3)], acceleration: Vec3) -> Option<(Vec3, Vec3)> {
    let count = seen.len() as f64;
    let middle = seen.iter().map(|(tau, _)| tau).sum::<f64>() / count;
    let straight: Vec<(f64, Vec3)> = seen
        .iter()
        .map(|&(tau, x)| (tau, x - acceleration * (0.5 * tau * tau)))
        .collect();
    let center = mean(&straight);
    let (mut squares, mut slope) = (0.0, Vec3::ZERO);
    for &(tau, x) in &straight {
        squares += (tau - middle).powi(2);
        slope += (x - center) * (tau - middle);
    }
    if squares <= 0.0 {
        return None;
    }
    let slope = slope * squares.recip();
    Some((center - slope * middle, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_its_acceleration_is_found_to_rounding() {
        let (a, b) = (Vec3([0.1, -0.2, 0.03]), Vec3([1.2, 0.3, 0.0]));
        let d = b.normalized().0 * -2.5;
        let seen: Vec<(f64, Vec3)> = [-0.05, -0.033, -0.017, 0.0]
            .map(|tau| (tau, a + b * tau + d * (0.5 * tau * tau)))
            .to_vec();
        let (place, slope) = line(&seen, d).unwrap();
        assert!((place - a).norm() < 1e-14 && (slope - b).norm() < 1e-13);
        assert!(line(&seen[..1], d).is_none());
    }
}
