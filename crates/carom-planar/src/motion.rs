//! How both bodies move: short steps while they may touch, longer ones while they do not.

use carom_scalar::scalar::Scalar;

use crate::Laws;
use crate::contact::{Arm, COMMAND_NUMBERS, Command, ContactLaw};
use crate::outline::{Outline, Side, Standing};
use crate::table::{Face, Patch, TableLaw};

/// Step while the bodies may touch (s).
pub(crate) const FINE: f64 = 5e-5;
/// Longest step of a slide (s).
pub(crate) const COARSE: f64 = 1.0 / 960.0;
/// Steps of the arm in one of a slide.
const ARM_STEPS: u32 = 4;
/// The points of the striker that may touch are looked for again after so many fine steps.
pub(crate) const LOOK: usize = 5;
/// Friction on the table is asked for again after so many fine steps: it hardly changes in between.
pub(crate) const FRICTION: usize = 5;
/// Beyond what bodies move until they are looked at again, this much counts as near (m).
const MARGIN: f64 = 1e-4;
/// Distance between points on the outline of the striker (m).
const SPACING: f64 = 4e-4;
/// A body that is slower than the root of this is at rest (m²/s²).
const REST: f64 = 1e-8;

/// A point on the outline of the striker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    at: [f64; 2],
    normal: [f64; 2],
    length: f64,
}

/// The two bodies, and the arm behind the striker.
#[derive(Clone, Debug, PartialEq)]
pub struct Bodies {
    /// The one that is struck.
    pub struck: Standing,
    /// Outline of the other one about the origin of its frame.
    pub striker: Outline,
    /// How the arm moves.
    pub arm: Arm,
    /// Time without contact after which the bodies have separated (s).
    pub quiet: f64,
    points: Vec<Point>,
    face: Face,
    radii: [f64; 2],
}

/// Pose and velocity in the plane: x, y, yaw, and their rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moving<T: Scalar = f64> {
    /// x, y (m), yaw (rad).
    pub pose: [T; 3],
    /// Their rates.
    pub rate: [T; 3],
}

/// How many numbers a course has.
pub(crate) const COURSE_NUMBERS: usize = 12 + COMMAND_NUMBERS;

/// The bodies on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course<T: Scalar = f64> {
    /// The struck body, by its centre of mass.
    pub body: Moving<T>,
    /// The striker, by the origin of its frame.
    pub held: Moving<T>,
    /// What the arm does.
    pub command: Command<T>,
}

/// Room for steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Room<T: Scalar = f64> {
    near: Vec<Point>,
    sides: Vec<Side>,
    patch: Patch<T>,
}

impl<T: Scalar> Course<T> {
    /// The numbers in order: poses and rates of both, then the command.
    pub fn numbers(&self) -> [T; COURSE_NUMBERS] {
        let ([body, rate], [held, held_rate]) = (
            [self.body.pose, self.body.rate],
            [self.held.pose, self.held.rate],
        );
        let command = self.command.numbers();
        let groups: [&[T]; 5] = [&body, &rate, &held, &held_rate, &command];
        let mut numbers = groups.into_iter().flatten();
        std::array::from_fn(|_| numbers.next().copied().unwrap_or_default())
    }
}

impl Bodies {
    /// The struck body, the outline of the striker, its arm, and the time without contact that ends a contact (s).
    pub fn new(struck: Standing, striker: Outline, arm: Arm, quiet: f64) -> Self {
        let mut points = Vec::new();
        let count = striker.corners.len();
        for (at, side) in striker.sides.iter().enumerate() {
            let (from, to) = (striker.corners[at], striker.corners[(at + 1) % count]);
            let length = (to[0] - from[0]).hypot(to[1] - from[1]);
            let parts = (length / SPACING).ceil().max(1.0);
            let mut part = 0.5;
            while part < parts {
                let share = part / parts;
                points.push(Point {
                    at: [0, 1].map(|k| from[k] + share * (to[k] - from[k])),
                    normal: side.normal,
                    length: length / parts,
                });
                part += 1.0;
            }
        }
        Self {
            face: Face::new(&struck.outline, struck.gyration),
            radii: [struck.outline.radius(), striker.radius()],
            struck,
            striker,
            arm,
            quiet,
            points,
        }
    }

    /// Room for steps of these bodies.
    pub fn room<T: Scalar>(&self) -> Room<T> {
        Room {
            near: Vec::with_capacity(self.points.len()),
            sides: Vec::with_capacity(self.struck.outline.sides.len()),
            patch: Patch::default(),
        }
    }

    /// Moves the bodies for a while; returns whether they touched.
    pub fn advance<T: Scalar>(
        &self,
        laws: &Laws<T>,
        course: &mut Course<T>,
        timestep: T,
        room: &mut Room<T>,
    ) -> bool {
        self.spread(&laws.table, room);
        let length = timestep.value();
        if self.are_apart(course, length) {
            let parts = count(length / COARSE);
            let step = timestep / f64::from(parts);
            for _ in 0..parts {
                self.slide(course, step, room);
                self.hold_free(&laws.contact, course, step);
            }
            return false;
        }
        let parts = count(length / FINE);
        let step = timestep / f64::from(parts);
        let mut touched = false;
        let mut friction = [T::ZERO; 3];
        for part in 0..parts as usize {
            if part % LOOK == 0 {
                self.look(course, LOOK as f64 * step.value(), room);
            }
            if part % FRICTION == 0 {
                friction = self.friction(&course.body, room);
            }
            touched |= self.fine_step(&laws.contact, course, (step, friction), room);
        }
        touched
    }

    /// Moves the striker for a while and leaves the body: what [`Self::advance`] does to it where both stay apart.
    pub fn advance_striker<T: Scalar>(&self, laws: &Laws<T>, course: &mut Course<T>, timestep: T) {
        let parts = count(timestep.value() / COARSE);
        let step = timestep / f64::from(parts);
        for _ in 0..parts {
            self.hold_free(&laws.contact, course, step);
        }
    }

    /// Friction of the table on the body.
    pub(crate) fn friction<T: Scalar>(&self, body: &Moving<T>, room: &Room<T>) -> [T; 3] {
        if body.rate.iter().all(|rate| rate.vanishes()) {
            return [T::ZERO; 3];
        }
        let place = (&self.struck, &self.face);
        room.patch.force(place, body.pose[2], body.rate)
    }

    /// Spreads the weight on the table as a law says.
    pub(crate) fn spread<T: Scalar>(&self, table: &TableLaw<T>, room: &mut Room<T>) {
        room.patch.spread(&self.face, table);
    }

    /// Whether the bodies stay apart for so long (s).
    pub fn are_apart<T: Scalar>(&self, course: &Course<T>, time: f64) -> bool {
        let plain = |moving: &Moving<T>| (moving.pose.map(T::value), moving.rate.map(T::value));
        let ((body, v), (held, w)) = (plain(&course.body), plain(&course.held));
        let [first, second] = self.radii;
        let closing = (v[0] - w[0]).hypot(v[1] - w[1]) + first * v[2].abs() + second * w[2].abs();
        let reach = MARGIN + closing * time;
        let between = (body[0] - held[0]).hypot(body[1] - held[1]);
        // Written so that a number that is not finite counts as near, and is found by who looks at the results.
        between > first + second + reach || self.gap(body, held) > reach
    }

    /// The bodies are not deeper in each other than this (m).
    pub fn depth_bound<T: Scalar>(&self, course: &Course<T>) -> f64 {
        let (body, held) = (
            course.body.pose.map(T::value),
            course.held.pose.map(T::value),
        );
        (-self.gap(body, held)).max(0.0)
    }

    /// A lower bound of the distance between the bodies with these poses (m); negative where they are in each other.
    pub fn gap(&self, body: [f64; 3], held: [f64; 3]) -> f64 {
        self.farthest(body, held).0
    }

    /// The side of the body that separates it best from the striker.
    fn facing(&self, body: [f64; 3], held: [f64; 3]) -> &Side {
        let (_, side) = self.farthest(body, held);
        &self.struck.outline.sides[side]
    }

    fn farthest(&self, body: [f64; 3], held: [f64; 3]) -> (f64, usize) {
        let (body_turn, held_turn) = (body[2].sin_cos(), held[2].sin_cos());
        let between = turned_back(body_turn, [held[0] - body[0], held[1] - body[1]]);
        let mut most = (f64::NEG_INFINITY, 0);
        for (index, side) in self.struck.outline.sides.iter().enumerate() {
            let normal = turned_back(held_turn, turned(body_turn, side.normal));
            let ahead = (self.striker.corners.iter())
                .map(|corner| normal[0] * corner[0] + normal[1] * corner[1])
                .fold(f64::INFINITY, f64::min);
            let origin = side.normal[0] * between[0] + side.normal[1] * between[1];
            let distance = ahead + origin - side.distance;
            if distance > most.0 {
                most = (distance, index);
            }
        }
        most
    }

    /// The points of the striker and the sides of the body that may touch within a time (s).
    pub(crate) fn look<T: Scalar>(&self, course: &Course<T>, time: f64, room: &mut Room<T>) {
        let Room { near, sides, .. } = room;
        near.clear();
        sides.clear();
        let (pose, v) = (
            course.body.pose.map(T::value),
            course.body.rate.map(T::value),
        );
        let (held, w) = (
            course.held.pose.map(T::value),
            course.held.rate.map(T::value),
        );
        let [first, second] = self.radii;
        let closing = (v[0] - w[0]).hypot(v[1] - w[1]) + first * v[2].abs() + second * w[2].abs();
        let reach = MARGIN + closing * time;
        let (body_turn, held_turn) = (pose[2].sin_cos(), held[2].sin_cos());
        let mut bound = 0.0f64;
        let place = |at: [f64; 2]| {
            let arm = turned(held_turn, at);
            turned_back(
                body_turn,
                [held[0] + arm[0] - pose[0], held[1] + arm[1] - pose[1]],
            )
        };
        // Most points are far off by one side already: the one that the striker comes from.
        let facing = self.facing(pose, held);
        for point in &self.points {
            let at = place(point.at);
            if ahead(facing, at) > reach {
                continue;
            }
            let separation = self.struck.outline.separation(at);
            if separation < reach {
                near.push(*point);
                bound = bound.max(-separation);
            }
        }
        let bound = bound + 2.0 * reach;
        for side in &self.struck.outline.sides {
            let behind = |point: &Point| -ahead(side, place(point.at));
            if near.iter().any(|point| behind(point) < bound) {
                sides.push(*side);
            }
        }
    }

    /// A step with contact, under this friction of the table; whether the bodies touch.
    pub(crate) fn fine_step<T: Scalar>(
        &self,
        law: &ContactLaw<T>,
        course: &mut Course<T>,
        (step, friction): (T, [T; 3]),
        room: &Room<T>,
    ) -> bool {
        let mut on_held = course.command.force(&self.arm, law, &course.held);
        let mut on_body = friction;
        let (body, held) = (course.body, course.held);
        let (body_turn, held_turn) = (body.pose[2].sin_cos(), held.pose[2].sin_cos());
        let mut numbers = None;
        let mut touches = false;
        for point in &room.near {
            let arm = turned(held_turn, point.at.map(T::from));
            let lever = [0, 1].map(|k| held.pose[k] + arm[k] - body.pose[k]);
            let Some(depth) = depth(&room.sides, turned_back(body_turn, lever)) else {
                continue;
            };
            touches = true;
            let (stiffness, dissipation, fade) = *numbers.get_or_insert_with(|| {
                let fade = (law.slip * 2.0).exp();
                (law.stiffness.exp(), law.dissipation.exp(), fade)
            });
            let normal = turned(held_turn, point.normal.map(T::from));
            let relative = [
                held.rate[0] - held.rate[2] * arm[1] - body.rate[0] + body.rate[2] * lever[1],
                held.rate[1] + held.rate[2] * arm[0] - body.rate[1] - body.rate[2] * lever[0],
            ];
            let approach = relative[0] * normal[0] + relative[1] * normal[1];
            let slip = relative[1] * normal[0] - relative[0] * normal[1];
            let pressure = stiffness
                * depth.powt(law.power)
                * (dissipation * approach + 1.0).max(T::ZERO)
                * point.length;
            let drag = law.friction * pressure * slip / (slip * slip + fade).sqrt();
            let force = [
                pressure * normal[0] - drag * normal[1],
                pressure * normal[1] + drag * normal[0],
            ];
            for k in 0..2 {
                on_body[k] += force[k];
                on_held[k] -= force[k];
            }
            on_body[2] += lever[0] * force[1] - lever[1] * force[0];
            on_held[2] -= arm[0] * force[1] - arm[1] * force[0];
        }
        if touches && !course.command.has_begun() {
            course.command = Command {
                clock: T::ZERO,
                from: held.pose,
                velocity: [held.rate[0], held.rate[1]],
            };
        }
        if touches || course.command.has_begun() {
            course.command.clock += step;
        }
        hold(law, &mut course.held, on_held, step);
        let weight = self.inverse_inertia();
        let Moving { pose, rate } = &mut course.body;
        for k in 0..3 {
            rate[k] += step * on_body[k] * weight[k];
            pose[k] += step * rate[k];
        }
        touches
    }

    /// The body slides for a step of the midpoint rule; returns whether it is at rest after it.
    pub(crate) fn slide<T: Scalar>(&self, course: &mut Course<T>, step: T, room: &Room<T>) -> bool {
        let Moving { pose, rate } = course.body;
        let half = step * 0.5;
        if rate.iter().all(|rate| rate.value() == 0.0) {
            course.body.pose = [0, 1, 2].map(|k| pose[k] + half * rate[k]);
            course.body.rate = [T::ZERO; 3];
            return true;
        }
        let weight = self.inverse_inertia();
        let push = self.friction(&course.body, room);
        let middle = Moving {
            pose: [0, 1, 2].map(|k| pose[k] + half * rate[k]),
            rate: [0, 1, 2].map(|k| rate[k] + half * push[k] * weight[k]),
        };
        let push = self.friction(&middle, room);
        let mut next = [0, 1, 2].map(|k| rate[k] + step * push[k] * weight[k]);
        let inertia = self.struck.gyration * self.struck.gyration;
        let product = |a: &[T; 3], b: &[T; 3]| {
            let [a, b] = [a, b].map(|rates| rates.map(T::value));
            a[0] * b[0] + a[1] * b[1] + inertia * a[2] * b[2]
        };
        let after = product(&next, &next);
        let is_rest =
            product(&rate, &next) <= 0.0 || after >= product(&rate, &rate) || after < REST;
        if is_rest {
            next = [T::ZERO; 3];
        }
        course.body = Moving {
            pose: [0, 1, 2].map(|k| pose[k] + half * (rate[k] + next[k])),
            rate: next,
        };
        is_rest
    }

    /// The striker moves with its arm, or on as it did before it touched.
    fn hold_free<T: Scalar>(&self, law: &ContactLaw<T>, course: &mut Course<T>, step: T) {
        if !course.command.has_begun() {
            let Moving { pose, rate } = &mut course.held;
            for k in 0..3 {
                pose[k] += step * rate[k];
            }
            return;
        }
        let part = step / f64::from(ARM_STEPS);
        for _ in 0..ARM_STEPS {
            let push = course.command.force(&self.arm, law, &course.held);
            course.command.clock += part;
            hold(law, &mut course.held, push, part);
        }
    }

    /// The bodies slide for a step without touching; returns whether the struck one is at rest.
    pub(crate) fn slide_both<T: Scalar>(
        &self,
        law: &ContactLaw<T>,
        course: &mut Course<T>,
        step: T,
        room: &Room<T>,
    ) -> bool {
        let is_rest = self.slide(course, step, room);
        self.hold_free(law, course, step);
        is_rest
    }

    /// Shapes and mass as a number (FNV-1a), to a millionth of a metre and of a kilogram.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let corners = [&self.struck.outline, &self.striker].map(|outline| &outline.corners);
        let lengths = corners.into_iter().flatten().flatten().copied();
        let Standing {
            mass,
            gyration,
            height,
            gravity,
            ..
        } = self.struck;
        for number in lengths.chain([mass, gyration, height, gravity]) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "lengths and masses are small"
            )]
            let rounded = (number * 1e6).round() as i64;
            for byte in rounded.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }

    fn inverse_inertia(&self) -> [f64; 3] {
        let (mass, gyration) = (self.struck.mass, self.struck.gyration);
        let inverse = 1.0 / mass;
        [inverse, inverse, inverse / (gyration * gyration)]
    }
}

/// How many parts a ratio asks for, one at least.
fn count(ratio: f64) -> u32 {
    // Rounding of lengths that are multiples asks for no further part.
    let parts = (ratio - 1e-9).ceil().clamp(1.0, 1e6);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and a million"
    )]
    let parts = parts as u32;
    parts
}

/// How far a point is ahead of a side.
fn ahead(side: &Side, at: [f64; 2]) -> f64 {
    side.normal[0] * at[0] + side.normal[1] * at[1] - side.distance
}

/// How deep a point is behind all sides; none for one outside.
fn depth<T: Scalar>(sides: &[Side], [x, y]: [T; 2]) -> Option<T> {
    let mut least: Option<T> = None;
    for side in sides {
        let behind = T::from(side.distance) - x * side.normal[0] - y * side.normal[1];
        if behind.value() <= 0.0 {
            return None;
        }
        if least.is_none_or(|least| behind.value() < least.value()) {
            least = Some(behind);
        }
    }
    least
}

/// The striker under a force.
fn hold<T: Scalar>(law: &ContactLaw<T>, held: &mut Moving<T>, push: [T; 3], step: T) {
    let (mass, inertia) = (law.arm_mass.exp(), law.arm_inertia.exp());
    for (k, weight) in [mass, mass, inertia].into_iter().enumerate() {
        held.rate[k] += step * push[k] / weight;
        held.pose[k] += step * held.rate[k];
    }
}

fn turned<T: Scalar>((sin, cos): (T, T), [x, y]: [T; 2]) -> [T; 2] {
    [cos * x - sin * y, sin * x + cos * y]
}

fn turned_back<T: Scalar>((sin, cos): (T, T), [x, y]: [T; 2]) -> [T; 2] {
    [cos * x + sin * y, cos * y - sin * x]
}
