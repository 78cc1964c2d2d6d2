//! Starts of bodies that lie on a table: their tracked height and tilt are noise, and would let them jump or fall over.

use carom::Error;
use carom::Model;
use carom::math::{Quat, Vec3};

use super::bind::Binder;
use super::{Channel, Frame, Quantity, Trajectory};

/// A body that lies flat at the starts of simulations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatStart {
    /// Its first number in `qpos`.
    pub qpos: usize,
    /// Its first number in `qvel`.
    pub dof: usize,
    /// The height of its origin (m).
    pub height: f64,
}

/// Bodies that lie flat, where the mapping says so.
pub(super) fn starts(binder: &Binder<'_>, channels: &[Channel]) -> Result<Vec<FlatStart>, Error> {
    let mut starts = Vec::new();
    for pose in &binder.mapping.bodies {
        let Some(height) = pose.flat_start else {
            continue;
        };
        let of_body = |element: &str| element == pose.name;
        let place = channels.iter().find_map(|channel| {
            let is_own = of_body(&channel.element);
            match channel.quantity {
                Quantity::Position(Frame::State { qpos, dof }) if is_own => Some((qpos, dof)),
                _ => None,
            }
        });
        let Some((qpos, dof)) = place.filter(|_| height.is_finite()) else {
            return Err(binder.error(&format!(
                "\"{}\" flat_start = {height}: the height (m) of a body on a free joint whose position is mapped",
                pose.name
            )));
        };
        starts.push(FlatStart { qpos, dof, height });
    }
    Ok(starts)
}

/// Lays bodies flat at all frames of a trajectory.
pub(crate) fn lay(model: &Model, starts: &[FlatStart], trajectory: &mut Trajectory) {
    let n = model.counts();
    for &FlatStart { qpos, dof, height } in starts {
        for frame in 0..trajectory.frames() {
            let places = (frame * n.nq + qpos, frame * n.nv + dof);
            lay_frame(trajectory, places, height);
        }
    }
}

/// Turns the axis of a body that is nearest to the vertical into it, and takes the velocities along that are left to a body
/// which lies there.
fn lay_frame(trajectory: &mut Trajectory, (qpos, qvel): (usize, usize), height: f64) {
    let at = |numbers: &[f64], start: usize| Vec3(std::array::from_fn(|k| numbers[start + k]));
    let quat = Quat(std::array::from_fn(|k| trajectory.qpos[qpos + 3 + k]));
    if !quat.0.iter().all(|number| number.is_finite()) {
        return;
    }
    let quat = quat.normalized();
    let axes = (0..3).flat_map(|axis| {
        [1.0, -1.0].map(|sign| {
            let mut unit = [0.0; 3];
            unit[axis] = sign;
            quat.rotate(Vec3(unit))
        })
    });
    let Some(up) = axes.max_by(|a, b| a.0[2].total_cmp(&b.0[2])) else {
        return;
    };
    let flat = Quat::from_z_to(up).conjugate().mul(quat);
    let turning = quat.rotate(at(&trajectory.qvel, qvel + 3));
    let turning = flat.rotate_inverse(Vec3([0.0, 0.0, turning.0[2]]));
    trajectory.qpos[qpos + 2] = height;
    trajectory.qpos[qpos + 3..qpos + 7].copy_from_slice(&flat.0);
    trajectory.qvel[qvel + 2] = 0.0;
    trajectory.qvel[qvel + 3..qvel + 6].copy_from_slice(&turning.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilted_body_on_its_side_is_laid_flat_with_its_heading_and_spin() {
        // On its −y side, turned by 0.7 about the vertical, tilted by 0.02.
        let heading = Quat::exp(Vec3([0.0, 0.0, 0.7]));
        let side = Quat::exp(Vec3([-std::f64::consts::FRAC_PI_2, 0.0, 0.0]));
        let tilted = Quat::exp(Vec3([0.012, -0.016, 0.0])).mul(heading).mul(side);
        let spin = tilted.rotate_inverse(Vec3([0.1, -0.2, 3.0]));
        let mut trajectory = Trajectory {
            file: String::new(),
            label: String::new(),
            times: vec![0.0],
            values: Vec::new(),
            controls: Vec::new(),
            qpos: [&[0.4, 0.5, 0.031][..], &tilted.0].concat(),
            qvel: [&[1.0, 0.0, 0.1][..], &spin.0].concat(),
        };
        lay_frame(&mut trajectory, (0, 0), 0.03);
        let flat = Quat(std::array::from_fn(|k| trajectory.qpos[3 + k]));
        assert_eq!(trajectory.qpos[..3], [0.4, 0.5, 0.03]);
        assert_eq!(trajectory.qvel[..3], [1.0, 0.0, 0.0]);
        let off = flat.difference(heading.mul(side)).0;
        assert!(off.iter().all(|x| x.abs() < 2e-4), "{off:?}");
        let world = flat.rotate(Vec3(std::array::from_fn(|k| trajectory.qvel[3 + k])));
        assert!(
            (world.0[2] - 3.0).abs() < 1e-12 && world.0[0].abs() < 1e-12,
            "{world:?}"
        );
    }
}
