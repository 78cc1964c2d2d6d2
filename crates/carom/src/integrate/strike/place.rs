//! Where the two bodies of a map are: from coordinates to the plane, and back.

use carom_planar::{Command, Course, Moving};

use crate::integrate::{quat_at, vector_at};
use crate::math::{Quat, Vec3};
use crate::model::{STRIKE_MEMORY, StrikeMap};
use crate::scalar::Scalar;
use crate::state::State;

/// The coordinates and velocities of both bodies, and what the arm remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place<T: Scalar = f64> {
    /// Frame of the struck body.
    pub(super) position: Vec3<T>,
    pub(super) quat: Quat<T>,
    /// Velocity of its origin in the world, and angular velocity in its own axes.
    pub(super) linear: Vec3<T>,
    pub(super) angular: Vec3<T>,
    /// Coordinates of the striker and their rates.
    pub(super) held: [T; 3],
    pub(super) held_rate: [T; 3],
    pub(super) memory: [T; STRIKE_MEMORY],
}

/// Numbers of a place.
pub(super) const PLACE_NUMBERS: usize = 13 + 6 + STRIKE_MEMORY;

impl<T: Scalar> Place<T> {
    pub(super) fn read(map: &StrikeMap, state: &State<T>) -> Self {
        let [qpos, dof] = map.free;
        Self {
            position: vector_at(&state.qpos, qpos),
            quat: quat_at(&state.qpos, qpos + 3),
            linear: vector_at(&state.qvel, dof),
            angular: vector_at(&state.qvel, dof + 3),
            held: map.held.map(|[qpos, _]| state.qpos[qpos]),
            held_rate: map.held.map(|[_, dof]| state.qvel[dof]),
            memory: std::array::from_fn(|k| state.act[map.memory + k]),
        }
    }

    pub(super) fn write(&self, map: &StrikeMap, state: &mut State<T>) {
        let [qpos, dof] = map.free;
        state.qpos[qpos..qpos + 3].copy_from_slice(&self.position.0);
        state.qpos[qpos + 3..qpos + 7].copy_from_slice(&self.quat.0);
        state.qvel[dof..dof + 3].copy_from_slice(&self.linear.0);
        state.qvel[dof + 3..dof + 6].copy_from_slice(&self.angular.0);
        for (k, [qpos, dof]) in map.held.into_iter().enumerate() {
            state.qpos[qpos] = self.held[k];
            state.qvel[dof] = self.held_rate[k];
        }
        state.act[map.memory..map.memory + STRIKE_MEMORY].copy_from_slice(&self.memory);
    }

    /// The numbers in order.
    pub(super) fn numbers(&self) -> [T; PLACE_NUMBERS] {
        let groups: [&[T]; 7] = [
            &self.position.0,
            &self.quat.0,
            &self.linear.0,
            &self.angular.0,
            &self.held,
            &self.held_rate,
            &self.memory,
        ];
        let mut numbers = groups.into_iter().flatten();
        std::array::from_fn(|_| numbers.next().copied().unwrap_or_default())
    }

    /// The same place over another scalar.
    pub(super) fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> Place<U> {
        Place {
            position: self.position.map(&mut convert),
            quat: self.quat.map(&mut convert),
            linear: self.linear.map(&mut convert),
            angular: self.angular.map(&mut convert),
            held: self.held.map(&mut convert),
            held_rate: self.held_rate.map(&mut convert),
            memory: self.memory.map(&mut convert),
        }
    }

    /// The same poses with other velocities.
    pub(super) fn take_velocities(&mut self, other: &Self) {
        self.linear = other.linear;
        self.angular = other.angular;
        self.held_rate = other.held_rate;
    }

    /// Upward part of the body's axis.
    pub(super) fn up(&self) -> T {
        self.quat.normalized().rotate(Vec3::Z)[2]
    }

    /// The centre of mass of the struck body.
    pub(super) fn centre(&self, map: &StrikeMap) -> Vec3<T> {
        self.position + self.quat.normalized().rotate(map.centre.map(T::from))
    }

    /// How fast the centre of mass rises, and how fast the body tips.
    pub(super) fn upright_rates(&self, map: &StrikeMap) -> [T; 2] {
        let turn = self.quat.normalized();
        let spin = turn.rotate(self.angular);
        let rise = self.linear + turn.rotate(self.angular.cross(map.centre.map(T::from)));
        let tips = (spin[0] * spin[0] + spin[1] * spin[1]).sqrt();
        [rise[2], tips]
    }

    /// Both bodies in the plane.
    pub(super) fn course(&self, map: &StrikeMap) -> Course<T> {
        let turn = self.quat.normalized();
        let centre = map.centre.map(T::from);
        let at = self.position + turn.rotate(centre);
        let moves = self.linear + turn.rotate(self.angular.cross(centre));
        let [x, y, turned] = self.held;
        Course {
            body: Moving {
                pose: [at[0], at[1], yaw(turn)],
                rate: [moves[0], moves[1], turn.rotate(self.angular)[2]],
            },
            held: Moving {
                pose: [x + map.origin[0], y + map.origin[1], turned],
                rate: self.held_rate,
            },
            command: Command::of(&self.memory),
        }
    }

    /// This place, the end of a step of all other forces, with both bodies moved in the plane.
    pub(super) fn moved(&self, map: &StrikeMap, course: &Course<T>) -> Self {
        let turn = self.quat.normalized();
        let centre = map.centre.map(T::from);
        let Moving { pose, rate } = course.body;
        let half = (pose[2] - yaw(turn)) * 0.5;
        let (sin, cos) = half.sin_cos();
        let about = Quat::from_parts(cos, Vec3([T::ZERO, T::ZERO, sin]));
        let quat = about.mul(turn);
        let height = self.position[2] + turn.rotate(centre)[2];
        let rise = self.linear[2] + turn.rotate(self.angular.cross(centre))[2];
        let mut spin = about.rotate(turn.rotate(self.angular));
        spin[2] = rate[2];
        let angular = quat.rotate_inverse(spin);
        let [x, y, turned] = course.held.pose;
        Self {
            position: Vec3([pose[0], pose[1], height]) - quat.rotate(centre),
            quat,
            linear: Vec3([rate[0], rate[1], rise]) - quat.rotate(angular.cross(centre)),
            angular,
            held: [x - map.origin[0], y - map.origin[1], turned],
            held_rate: course.held.rate,
            memory: course.command.numbers(),
        }
    }
}

/// The turn about the vertical of a body.
fn yaw<T: Scalar>(quat: Quat<T>) -> T {
    let [w, x, y, z] = quat.0;
    let (sin, cos) = (w * z + x * y, y * y + z * z);
    (sin * 2.0).atan2(T::ONE - cos * 2.0)
}
