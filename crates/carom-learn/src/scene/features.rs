//! What the network is told, generic over the scalar: dual numbers give its derivatives.
//!
//! Vectors are told in the [`Heading`] of who hears them, velocities as distances a step, sizes and directions in ways that are smooth at
//! rest: with u a distance a step, u/√(u² + ε²) has the direction of sliding without a jump where it ends.

use carom::math::Vec3;
use carom_scalar::Scalar;

use super::body::constant;
use super::{Body, Contact, Heading, Place, Scene, Solid, Twist};

/// Numbers of a mesh node.
pub const MESH_FEATURES: usize = 15;
/// Numbers of an object.
pub const OBJECT_FEATURES: usize = 19;
/// Numbers of an object–mesh edge.
pub const EDGE_FEATURES: usize = 6;
/// Numbers of a face edge.
pub const FACE_FEATURES: usize = 39;

/// Speeds at which a direction has √½ of its size (m/s).
const SLOW: [f64; 2] = [0.02, 0.2];

/// Part of the threshold up to which a face edge counts in full.
const FULL: f64 = 0.8;

/// Gaps over which a face edge is told of nearness (m).
const NEAR: f64 = 0.001;

/// Where the push of contacts begins among the features of a mesh node, and of an object.
pub(crate) const MESH_PUSH: usize = 12;
pub(crate) const OBJECT_PUSH: usize = 13;

/// Fall in the square of a second, downwards (m/s²).
const GRAVITY: f64 = 9.81;

/// How nearest points are taken to move with the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WitnessMode {
    /// As they do while they stay on the same features: exact.
    #[default]
    Exact,
    /// Each is fixed to its body: ∂p/∂q of the point.
    PerPoint,
    /// As equations (5) to (7) of the few-shot paper are printed: each moves as the other does relative to it.
    Printed,
}

/// What a step of a network goes by.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Length of a step (s).
    pub step: f64,
    /// Distance below which features of solids are linked (m).
    pub threshold: f64,
    /// How nearest points are taken to move in derivatives.
    #[serde(default)]
    pub witness: WitnessMode,
}

/// Writes numbers one after the other.
struct Out<'a, T>(std::slice::IterMut<'a, T>);

impl<T: Scalar> Out<'_, T> {
    fn put(&mut self, value: T) {
        if let Some(place) = self.0.next() {
            *place = value;
        }
    }

    fn vector(&mut self, vector: Vec3<T>) {
        vector.0.into_iter().for_each(|value| self.put(value));
    }
}

/// u/√(u² + ε²).
fn direction<T: Scalar>(moved: Vec3<T>, speed: f64, step: f64) -> Vec3<T> {
    let slow = speed * step;
    moved * (moved.norm_squared() + slow * slow).sqrt().recip()
}

/// Of a mesh node: where it is from the centre, how it moves.
pub(crate) fn mesh_features<T: Scalar>(
    body: &Body<T>,
    vertex: Vec3,
    heading: &Heading<T>,
    step: f64,
    out: &mut [T],
) {
    let mut out = Out(out.iter_mut());
    let from_center = body.rotation.mul_vec(constant(vertex));
    let velocity = body.twist.linear + body.twist.angular.cross(from_center);
    let moved = heading.see(velocity * T::from(step));
    out.vector(heading.see(from_center));
    out.vector(moved);
    for speed in SLOW {
        out.vector(direction(moved, speed, step));
    }
}

/// Of an object–mesh edge: where the node is, and how it turns about the centre.
pub(crate) fn edge_features<T: Scalar>(
    body: &Body<T>,
    vertex: Vec3,
    heading: &Heading<T>,
    step: f64,
    out: &mut [T],
) {
    let mut out = Out(out.iter_mut());
    let from_center = body.rotation.mul_vec(constant(vertex));
    out.vector(heading.see(from_center));
    out.vector(heading.see(body.twist.angular.cross(from_center) * T::from(step)));
}

/// Of an object; one that stays where it is has no frame and tells its friction alone.
pub(crate) fn object_features<T: Scalar>(
    solid: &Solid,
    body: &Body<T>,
    heading: &Heading<T>,
    step: f64,
    out: &mut [T],
) {
    let mut out = Out(out.iter_mut());
    let Some(mass) = solid.mass else {
        for _ in 0..OBJECT_PUSH - 1 {
            out.put(T::ZERO);
        }
        out.put(T::ONE);
        return;
    };
    let moved = heading.see(body.twist.linear * T::from(step));
    out.vector(moved);
    out.vector(heading.see(body.twist.angular * T::from(step)));
    out.vector(direction(moved, SLOW[0], step));
    out.put(T::from(mass.ln()));
    out.put(T::from(solid.friction));
    let mean = solid.spread.diagonal().0.iter().sum::<f64>() / solid.vertices.len() as f64;
    out.put(T::from(mean.sqrt()));
    out.put(T::ZERO);
}

/// Two nearest points, in a mode of motion.
struct Pair<T> {
    points: [Vec3<T>; 2],
    /// From the first to the second.
    normal: Vec3<T>,
    distance: T,
}

fn pair<T: Scalar>(
    scene: &Scene,
    contact: &Contact,
    bodies: [&Body<T>; 2],
    mode: WitnessMode,
) -> Pair<T> {
    if mode == WitnessMode::Exact {
        return exact(scene, contact, bodies);
    }
    let fixed: [Vec3<T>; 2] = std::array::from_fn(|side| {
        let body = bodies[side].plain();
        let local = body
            .rotation
            .transpose_mul_vec(contact.points[side] - body.position);
        bodies[side].point(local)
    });
    // The normal turns with the second solid, to which it mostly belongs.
    let local = (bodies[1].plain().rotation).transpose_mul_vec(contact.normal);
    let normal = bodies[1].rotation.mul_vec(constant(local));
    let points = match mode {
        WitnessMode::Printed => {
            let moved: [Vec3<T>; 2] =
                std::array::from_fn(|side| fixed[side] - constant(contact.points[side]));
            [
                constant::<T>(contact.points[0]) + (moved[1] - moved[0]),
                constant::<T>(contact.points[1]) + (moved[0] - moved[1]),
            ]
        }
        _ => fixed,
    };
    Pair {
        points,
        normal,
        distance: normal.dot(points[1] - points[0]),
    }
}

/// The nearest points of the features that were found, wherever these are.
fn exact<T: Scalar>(scene: &Scene, contact: &Contact, bodies: [&Body<T>; 2]) -> Pair<T> {
    let solids = contact.solids.map(|solid| &scene.solids[solid]);
    let corner = |side: usize, vertex: usize| bodies[side].point(solids[side].vertices[vertex]);
    match contact.places {
        [Place::Edge(one), Place::Edge(two)] => {
            let one = one.map(|vertex| corner(0, vertex));
            let two = two.map(|vertex| corner(1, vertex));
            let (a, b, gap) = (one[1] - one[0], two[1] - two[0], two[0] - one[0]);
            let cross = a.cross(b);
            let square = cross.norm_squared();
            let points = [
                one[0] + a * (gap.cross(b).dot(cross) / square),
                two[0] + b * (gap.cross(a).dot(cross) / square),
            ];
            let unit = cross * square.sqrt().recip();
            let is_along = unit.map(Scalar::value).dot(contact.normal) >= 0.0;
            let normal = if is_along { unit } else { -unit };
            Pair {
                points,
                normal,
                distance: normal.dot(points[1] - points[0]),
            }
        }
        [first, place] => {
            let point = match first {
                Place::Vertex(vertex) => corner(0, vertex),
                _ => constant(contact.points[0]),
            };
            let nearest = match place {
                Place::Face(face) => {
                    let face = &solids[1].faces[face];
                    let normal = bodies[1].rotation.mul_vec(constant(face.normal));
                    let height = normal.dot(point - bodies[1].position) - face.offset;
                    return Pair {
                        points: [point, point - normal * height],
                        normal: -normal,
                        distance: height,
                    };
                }
                Place::Vertex(vertex) => corner(1, vertex),
                Place::Edge([from, to]) => {
                    let start = corner(1, from);
                    let along = corner(1, to) - start;
                    start + along * ((point - start).dot(along) / along.norm_squared())
                }
            };
            let gap = nearest - point;
            let distance = gap.norm();
            Pair {
                points: [point, nearest],
                normal: gap * distance.recip(),
                distance,
            }
        }
    }
}

/// 1/m + (r × n)ᵀ I⁻¹ (r × n): how much an impulse along n at a point speeds it up.
fn response<T: Scalar>(solid: &Solid, body: &Body<T>, point: Vec3<T>, normal: Vec3<T>) -> T {
    let Some(mass) = solid.mass else {
        return T::ZERO;
    };
    let lever = (point - body.position).cross(normal);
    let local = body.rotation.transpose_mul_vec(lever);
    let mut sum = T::from(1.0 / mass);
    for axis in 0..3 {
        sum += local[axis] * local[axis] / solid.inertia[axis].max(1e-12);
    }
    sum
}

/// (√(x² + δ²) − x)/2: what of x is below zero, smoothly.
fn below<T: Scalar>(x: T, smoothing: f64) -> T {
    ((x * x + smoothing * smoothing).sqrt() - x) * 0.5
}

/// Of a face edge towards one side of a contact (0 or 1); gives back how much it counts.
pub(crate) fn face_features<T: Scalar>(
    (scene, contact): (&Scene, &Contact),
    bodies: [&Body<T>; 2],
    headings: [&Heading<T>; 2],
    (to, setting): (usize, &Setting),
    out: &mut [T],
) -> T {
    let mut out = Out(out.iter_mut());
    let from = 1 - to;
    let solids = contact.solids.map(|solid| &scene.solids[solid]);
    let Pair {
        points,
        normal,
        distance,
    } = pair(scene, contact, bodies, setting.witness);
    // Towards who hears.
    let normal = if to == 1 { normal } else { -normal };
    let step = T::from(setting.step);
    let gap_velocity = bodies[to].velocity_at(points[to]) - bodies[from].velocity_at(points[from]);
    let moved = gap_velocity * step;
    let opening = normal.dot(moved);
    let sliding = moved - normal * opening;

    out.vector(headings[to].see(normal));
    out.vector(headings[to].see(points[to] - bodies[to].position));
    out.vector(headings[to].see(moved));
    for speed in SLOW {
        out.vector(headings[to].see(direction(sliding, speed, setting.step)));
    }
    let is_static = solids[from].is_static();
    for vector in [normal, points[from] - bodies[from].position, moved] {
        out.vector(if is_static {
            Vec3::ZERO
        } else {
            headings[from].see(vector)
        });
    }
    let next = distance + opening;
    let mass = solids[to].mass.unwrap_or(1.0);
    let responses: [T; 2] =
        std::array::from_fn(|side| response(solids[side], bodies[side], points[side], normal));
    let share = (responses[0] + responses[1]).recip() / mass;
    let smoothing = NEAR * NEAR;
    out.put(distance);
    out.put(opening);
    out.put(next);
    out.put(below(distance, NEAR));
    out.put(below(next, NEAR));
    out.put((sliding.norm_squared() + smoothing * 0.01).sqrt());
    out.put(share);
    out.put(share * below(next, NEAR));
    out.put(share * below(opening, 0.1 * NEAR));
    out.put(T::from(solids[to].friction.max(solids[from].friction)));
    out.put(T::from(mass.ln()));
    out.put(T::from(solids[from].mass.map_or(0.0, f64::ln)));
    let kinds = [
        is_static,
        matches!(contact.places[to], Place::Vertex(_)) && to == 0,
        matches!(contact.places[0], Place::Edge(_)),
    ];
    for kind in kinds {
        out.put(T::from(f64::from(u8::from(kind))));
    }
    fade(distance, setting.threshold)
}

/// What a contact would do to one side of it (0 or 1) if it were alone and as simple as can be: the impulse that keeps it from
/// closing in this step, with sliding friction. Changes of velocity and angular velocity, as distances and angles a step, in
/// the heading of that side; and whether it closes. The network learns what is different.
pub(crate) fn push<T: Scalar>(
    (scene, contact): (&Scene, &Contact),
    bodies: [&Body<T>; 2],
    heading: &Heading<T>,
    (to, setting): (usize, &Setting),
) -> (Twist<T>, bool) {
    let from = 1 - to;
    let solids = contact.solids.map(|solid| &scene.solids[solid]);
    let Pair {
        points,
        normal,
        distance,
    } = pair(scene, contact, bodies, setting.witness);
    let normal = if to == 1 { normal } else { -normal };
    let gap_velocity = bodies[to].velocity_at(points[to]) - bodies[from].velocity_at(points[from]);
    let moved = gap_velocity * T::from(setting.step);
    let opening = normal.dot(moved);
    let sliding = moved - normal * opening;
    // What falls together keeps its distance.
    let fall = if solids[from].is_static() {
        normal[2] * (GRAVITY * setting.step * setting.step)
    } else {
        T::ZERO
    };
    let next = distance + opening - fall;
    let responses: [T; 2] =
        std::array::from_fn(|side| response(solids[side], bodies[side], points[side], normal));
    let size = below(next, NEAR) / (responses[0] + responses[1]);
    let friction = solids[to].friction.max(solids[from].friction);
    let along = normal - direction(sliding, SLOW[0], setting.step) * T::from(friction);
    let impulse = along * size;
    let lever = bodies[to]
        .rotation
        .transpose_mul_vec((points[to] - bodies[to].position).cross(impulse));
    let inertia = solids[to].inertia;
    let turn = Vec3(std::array::from_fn(|axis| {
        lever[axis] / inertia[axis].max(1e-12)
    }));
    let mass = solids[to].mass.unwrap_or(1.0);
    let twist = Twist {
        linear: heading.see(impulse * T::from(1.0 / mass)),
        angular: heading.see(bodies[to].rotation.mul_vec(turn)),
    };
    (twist, next.value() < 0.0)
}

/// 1 for near ones, 0 from the threshold on, with a continuous slope.
fn fade<T: Scalar>(distance: T, threshold: f64) -> T {
    let part = (distance - FULL * threshold) / ((1.0 - FULL) * threshold);
    if part.value() <= 0.0 {
        return T::ONE;
    }
    if part.value() >= 1.0 {
        return T::ZERO;
    }
    let rest = T::ONE - part;
    rest * rest * (T::ONE + part * 2.0)
}
