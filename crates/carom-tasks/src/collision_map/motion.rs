//! Motions of a body that a held one strikes on a table: impact, slide, rest, in the plane.

use super::outline::{Outline, Standing};
use super::table::{Patch, TableLaw};

/// Step while the bodies may touch (s).
const FINE: f64 = 5e-5;
/// Step of a slide (s).
const COARSE: f64 = 1.0 / 960.0;
/// Bodies that are further apart than this do not touch within a step (m).
const NEAR: f64 = 3e-3;
/// The points of the striker that may touch are looked for again after so many fine steps.
const LOOK: usize = 20;
/// A striker that has not touched after this time misses (s).
const MISS: f64 = 0.1;
/// No motion is followed longer (s).
const LONGEST: f64 = 4.0;
/// Damping ratio of the arm, which recordings of a few milliseconds do not show.
const ARM_DAMPING: f64 = 0.7;
/// Distance between points on the outline of the striker (m).
const SPACING: f64 = 2e-4;

/// A planar state: x, y, yaw and their rates.
pub type Planar = [f64; 6];

/// How the arm moves the striker after the first touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// It goes on as before for so long (s).
    pub delay: f64,
    /// Then it brakes (m/s²),
    pub brake: f64,
    /// and goes back along its line (m/s)
    pub retreat: f64,
    /// so far (m).
    pub travel: f64,
}

/// What happens between the bodies, and behind the striker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactLaw {
    /// Pressure along the outline for a depth of a metre (N/m), as a logarithm.
    pub stiffness: f64,
    /// Its growth with the speed of approach (s/m), as a logarithm.
    pub dissipation: f64,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// Mass of striker and arm (kg), as a logarithm.
    pub arm_mass: f64,
    /// How fast the arm follows its command (rad/s), as a logarithm.
    pub arm_rate: f64,
    /// Inertia of striker and arm about the vertical (kg·m²), as a logarithm.
    pub arm_inertia: f64,
    /// Slip below which friction fades out (m/s), as a logarithm.
    pub slip: f64,
    /// Power of the depth in the pressure.
    pub power: f64,
}

/// How many numbers a contact law has.
pub(super) const CONTACT_NUMBERS: usize = 8;

impl ContactLaw {
    /// The numbers in order.
    pub fn numbers(&self) -> [f64; CONTACT_NUMBERS] {
        [
            self.stiffness,
            self.dissipation,
            self.friction,
            self.arm_mass,
            self.arm_rate,
            self.arm_inertia,
            self.slip,
            self.power,
        ]
    }

    /// The law of numbers in order.
    pub fn of(n: &[f64]) -> Self {
        Self {
            stiffness: n[0],
            dissipation: n[1],
            friction: n[2],
            arm_mass: n[3],
            arm_rate: n[4],
            arm_inertia: n[5],
            slip: n[6],
            power: n[7],
        }
    }
}

/// A point on the outline of the striker.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at: [f64; 2],
    normal: [f64; 2],
    length: f64,
}

/// The two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Bodies {
    /// The one that is struck.
    pub struck: Standing,
    striker: Outline,
    points: Vec<Point>,
    arm: Arm,
    /// Time without contact after which the bodies have separated (s).
    quiet: f64,
}

/// What a strike does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// The struck body when contact ends.
    pub post: Planar,
    /// The striker at that instant.
    pub post_striker: Planar,
    /// How long they touched (s); not a number for a miss.
    pub duration: f64,
    /// Where the struck body comes to rest.
    pub rest: [f64; 3],
}

/// The two bodies on their way.
struct Course {
    body: [[f64; 3]; 2],
    held: [[f64; 3]; 2],
    /// Along the line of the command: how far, how fast, and where it turned.
    command: (f64, f64, Option<f64>),
    start: [f64; 2],
    direction: [f64; 2],
    heading: f64,
    time: f64,
    touch: Option<f64>,
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
            struck,
            striker,
            points,
            arm,
            quiet,
        }
    }

    /// What happens to the body at rest in this pose when the striker comes in this state.
    pub fn strike(
        &self,
        contact: &ContactLaw,
        table: &TableLaw,
        pose: [f64; 3],
        striker: Planar,
        to_rest: bool,
    ) -> Strike {
        let patch = Patch::new(&self.struck, *table);
        let [x, y, yaw, u, v, rate] = striker;
        let speed = u.hypot(v);
        let mut course = Course {
            body: [pose, [0.0; 3]],
            held: [[x, y, yaw], [u, v, rate]],
            command: (0.0, speed, None),
            start: [x, y],
            direction: if speed > 0.0 {
                [u / speed, v / speed]
            } else {
                [0.0; 2]
            },
            heading: yaw,
            time: 0.0,
            touch: None,
        };
        let mut post: Option<(Planar, Planar, f64)> = None;
        let (mut last, mut separated) = (0.0, false);
        let mut near = Vec::new();
        let mut steps = 0;
        while course.time < LONGEST {
            if separated && !to_rest {
                break;
            }
            if separated && self.gap(&course) > NEAR {
                if self.slide_step(&patch, contact, &mut course) {
                    break;
                }
                steps = 0;
                continue;
            }
            if steps % LOOK == 0 {
                self.look(&course, &mut near);
            }
            steps += 1;
            let touches = self.fine_step(&patch, contact, &mut course, &near);
            if touches {
                let _ = course.touch.get_or_insert(course.time);
                last = course.time;
                if !separated {
                    post = None;
                }
            } else if let Some(first) = course.touch
                && !separated
            {
                let _ = post.get_or_insert_with(|| {
                    (flat(course.body), flat(course.held), course.time - first)
                });
                separated = course.time - last > self.quiet;
            } else {
                let misses = course.touch.is_none() && course.time > MISS;
                let rests = separated && at_rest(course.body[1], self.struck.gyration);
                if misses || rests {
                    break;
                }
            }
        }
        let (post, post_striker, duration) =
            post.unwrap_or((flat(course.body), flat(course.held), f64::NAN));
        Strike {
            post,
            post_striker,
            duration,
            rest: course.body[0],
        }
    }

    /// Positions of the body at these times (s, in order) of a slide without contact, and where it rests.
    pub fn slide(
        &self,
        table: &TableLaw,
        start: Planar,
        times: &[f64],
    ) -> (Vec<[f64; 3]>, [f64; 3]) {
        let patch = Patch::new(&self.struck, *table);
        let mut body = split(start);
        let (mut time, mut places) = (0.0, Vec::with_capacity(times.len()));
        while time < LONGEST {
            let [pose, velocity] = body;
            let (next, is_rest) = self.slid(&patch, body);
            while let Some(&at) = times.get(places.len()).filter(|&&at| at < time + COARSE) {
                let (past, part) = (at - time, (at - time) / COARSE);
                places.push([0, 1, 2].map(|k| {
                    pose[k] + past * (velocity[k] + 0.5 * part * (next[1][k] - velocity[k]))
                }));
            }
            body = next;
            time += COARSE;
            if is_rest {
                break;
            }
        }
        places.resize(times.len(), body[0]);
        (places, body[0])
    }

    /// A step of the midpoint rule, and whether the body is at rest after it.
    fn slid(&self, patch: &Patch, body: [[f64; 3]; 2]) -> ([[f64; 3]; 2], bool) {
        let [pose, velocity] = body;
        let weight = self.inverse_inertia();
        let push = patch.force(pose, velocity);
        let middle = [0, 1, 2].map(|k| pose[k] + 0.5 * COARSE * velocity[k]);
        let half = [0, 1, 2].map(|k| velocity[k] + 0.5 * COARSE * weight[k] * push[k]);
        let push = patch.force(middle, half);
        let mut next = [0, 1, 2].map(|k| velocity[k] + COARSE * weight[k] * push[k]);
        let gyration = self.struck.gyration;
        let product = |a: [f64; 3], b: [f64; 3]| {
            a[0] * b[0] + a[1] * b[1] + gyration * gyration * a[2] * b[2]
        };
        let after = product(next, next);
        let is_rest =
            product(velocity, next) <= 0.0 || after >= product(velocity, velocity) || after < 1e-8;
        if is_rest {
            next = [0.0; 3];
        }
        let pose = [0, 1, 2].map(|k| pose[k] + 0.5 * COARSE * (velocity[k] + next[k]));
        ([pose, next], is_rest)
    }

    fn inverse_inertia(&self) -> [f64; 3] {
        let (mass, gyration) = (self.struck.mass, self.struck.gyration);
        let inverse = 1.0 / mass;
        [inverse, inverse, inverse / (gyration * gyration)]
    }

    /// The body slides, the arm goes on; true when the body rests.
    fn slide_step(&self, patch: &Patch, contact: &ContactLaw, course: &mut Course) -> bool {
        let (body, is_rest) = self.slid(patch, course.body);
        course.body = body;
        let parts = 4;
        for _ in 0..parts {
            let step = COARSE / f64::from(parts);
            let push = self.arm_force(contact, course, step);
            hold(contact, course, push, step);
            course.time += step;
        }
        is_rest && (course.command.2.is_some() || course.touch.is_none())
    }

    /// The command goes on; what the arm does to the striker.
    fn arm_force(&self, contact: &ContactLaw, course: &mut Course, step: f64) -> [f64; 3] {
        let (mut along, mut speed, mut turn) = course.command;
        if let Some(touch) = course.touch
            && course.time > touch + self.arm.delay
        {
            let mut target = -self.arm.retreat;
            if turn.is_none() && speed <= 0.0 {
                turn = Some(along);
            }
            if turn.is_some_and(|turn| along < turn - self.arm.travel) {
                target = 0.0;
            }
            let most = self.arm.brake * step;
            speed += (target - speed).clamp(-most, most);
        }
        along += speed * step;
        course.command = (along, speed, turn);
        let rate = contact.arm_rate.exp();
        let (spring, damper) = (rate * rate, 2.0 * ARM_DAMPING * rate);
        let [pose, velocity] = course.held;
        let (mass, inertia) = (contact.arm_mass.exp(), contact.arm_inertia.exp());
        let pull = |k: usize| {
            let goal = course.start[k] + course.direction[k] * along;
            mass * (spring * (goal - pose[k])
                + damper * (course.direction[k] * speed - velocity[k]))
        };
        let turn = spring * (course.heading - pose[2]) - damper * velocity[2];
        [pull(0), pull(1), inertia * turn]
    }

    /// A step with contact; whether the bodies touch.
    fn fine_step(
        &self,
        patch: &Patch,
        contact: &ContactLaw,
        course: &mut Course,
        near: &[Point],
    ) -> bool {
        let mut on_held = self.arm_force(contact, course, FINE);
        let mut on_body = patch.force(course.body[0], course.body[1]);
        let (stiffness, dissipation) = (contact.stiffness.exp(), contact.dissipation.exp());
        let fade = (2.0 * contact.slip).exp();
        let ([pose, velocity], [held, rate]) = (course.body, course.held);
        let (body_turn, held_turn) = (pose[2].sin_cos(), held[2].sin_cos());
        let mut touches = false;
        for point in near {
            let arm = turned(held_turn, point.at);
            let lever = [held[0] + arm[0] - pose[0], held[1] + arm[1] - pose[1]];
            let Some(depth) = (self.struck.outline).depth(turned_back(body_turn, lever)) else {
                continue;
            };
            touches = true;
            let normal = turned(held_turn, point.normal);
            let relative = [
                rate[0] - rate[2] * arm[1] - velocity[0] + velocity[2] * lever[1],
                rate[1] + rate[2] * arm[0] - velocity[1] - velocity[2] * lever[0],
            ];
            let approach = relative[0] * normal[0] + relative[1] * normal[1];
            let slip = relative[1] * normal[0] - relative[0] * normal[1];
            let pressure = stiffness
                * depth.powf(contact.power)
                * (1.0 + dissipation * approach).max(0.0)
                * point.length;
            let drag = contact.friction * pressure * slip / (slip * slip + fade).sqrt();
            let force = [
                pressure * normal[0] - drag * normal[1],
                pressure * normal[1] + drag * normal[0],
            ];
            on_body[0] += force[0];
            on_body[1] += force[1];
            on_body[2] += lever[0] * force[1] - lever[1] * force[0];
            on_held[0] -= force[0];
            on_held[1] -= force[1];
            on_held[2] -= arm[0] * force[1] - arm[1] * force[0];
        }
        hold(contact, course, on_held, FINE);
        let weight = self.inverse_inertia();
        let [pose, velocity] = &mut course.body;
        for k in 0..3 {
            velocity[k] += FINE * weight[k] * on_body[k];
            pose[k] += FINE * velocity[k];
        }
        course.time += FINE;
        touches
    }

    /// A lower bound of the distance between the bodies.
    fn gap(&self, course: &Course) -> f64 {
        distance(
            &self.struck.outline,
            course.body[0],
            &self.striker,
            course.held[0],
        )
    }

    /// The outline of the striker.
    pub fn striker(&self) -> &Outline {
        &self.striker
    }

    /// The same for poses of the two.
    pub fn gap_at(&self, body: [f64; 3], striker: [f64; 3]) -> f64 {
        distance(&self.struck.outline, body, &self.striker, striker)
    }

    /// The points of the striker that may touch soon.
    fn look(&self, course: &Course, near: &mut Vec<Point>) {
        near.clear();
        let (pose, held) = (course.body[0], course.held[0]);
        let (body_turn, held_turn) = (pose[2].sin_cos(), held[2].sin_cos());
        near.extend(self.points.iter().filter(|point| {
            let arm = turned(held_turn, point.at);
            let lever = [held[0] + arm[0] - pose[0], held[1] + arm[1] - pose[1]];
            self.struck
                .outline
                .separation(turned_back(body_turn, lever))
                < NEAR
        }));
    }
}

fn distance(outline: &Outline, body: [f64; 3], other: &Outline, held: [f64; 3]) -> f64 {
    let (body_turn, held_turn) = (body[2].sin_cos(), held[2].sin_cos());
    let corners: Vec<[f64; 2]> = (other.corners.iter())
        .map(|&corner| {
            let arm = turned(held_turn, corner);
            turned_back(
                body_turn,
                [held[0] + arm[0] - body[0], held[1] + arm[1] - body[1]],
            )
        })
        .collect();
    let mut most = f64::NEG_INFINITY;
    for side in &outline.sides {
        let ahead = (corners.iter())
            .map(|corner| side.normal[0] * corner[0] + side.normal[1] * corner[1] - side.distance)
            .fold(f64::INFINITY, f64::min);
        most = most.max(ahead);
    }
    most
}

/// The striker under a force.
fn hold(contact: &ContactLaw, course: &mut Course, push: [f64; 3], step: f64) {
    let (mass, inertia) = (contact.arm_mass.exp(), contact.arm_inertia.exp());
    let [pose, velocity] = &mut course.held;
    for (k, weight) in [mass, mass, inertia].into_iter().enumerate() {
        velocity[k] += step * push[k] / weight;
        pose[k] += step * velocity[k];
    }
}

fn turned((sin, cos): (f64, f64), [x, y]: [f64; 2]) -> [f64; 2] {
    [cos * x - sin * y, sin * x + cos * y]
}

fn turned_back((sin, cos): (f64, f64), [x, y]: [f64; 2]) -> [f64; 2] {
    [cos * x + sin * y, cos * y - sin * x]
}

fn at_rest(velocity: [f64; 3], gyration: f64) -> bool {
    velocity[0].hypot(velocity[1]).hypot(gyration * velocity[2]) < 1e-4
}

fn flat([pose, velocity]: [[f64; 3]; 2]) -> Planar {
    let ([a, b, c], [d, e, f]) = (pose, velocity);
    [a, b, c, d, e, f]
}

fn split([a, b, c, d, e, f]: Planar) -> [[f64; 3]; 2] {
    [[a, b, c], [d, e, f]]
}
