//! Who is near whom: pairs of nearest points between features of two solids.
//!
//! Nearest points of two faces are either a corner of one and a point of the other, or points of two edges that cross. Every such pair
//! within the threshold is found once, instead of once for every two triangles that share it: corners of each solid with the
//! nearest point of the other, and pairs of edges that support the two solids from opposite sides.

use carom::math::Vec3;

use super::{Body, Scene, Solid};

/// Where on a solid a nearest point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a corner.
    Vertex(usize),
    /// On an edge, given by its corners.
    Edge([usize; 2]),
    /// On a face.
    Face(usize),
}

/// Two nearest points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The two solids. If a corner belongs to the pair, it is the first one's.
    pub solids: [usize; 2],
    /// Where on them.
    pub places: [Place; 2],
    /// The points (m).
    pub points: [Vec3; 2],
    /// Unit vector from the first to the second solid.
    pub normal: Vec3,
    /// Signed distance (m), negative in penetration.
    pub distance: f64,
}

/// All pairs of a graph; keeps its memory from call to call.
#[derive(Clone, Debug, Default)]
pub struct Contacts {
    /// In the order of solids and their corners.
    pub found: Vec<Contact>,
}

/// Edges count as crossing if the points are at least this far from their ends, as a part of their length. Nearer to an end,
/// its corner stands for the edge: else crossings of edges that end at the same height would come and go.
pub(super) const END: f64 = 0.02;

/// Edges that are more parallel than this (sine) have no crossing of their own.
const LEAST_SINE: f64 = 0.1;

/// How far a corner may stick out beyond a supporting plane (m).
const SUPPORT_TOLERANCE: f64 = 1e-9;

/// Closer than this (m), two points have no direction.
const LEAST_DISTANCE: f64 = 1e-9;

impl Contacts {
    /// Finds all pairs that are closer than the threshold (m).
    pub fn find(&mut self, scene: &Scene, bodies: &[Body], threshold: f64) {
        self.found.clear();
        let moving = scene.moving();
        for one in 0..moving {
            for two in one + 1..scene.solids.len() {
                if is_far(scene, bodies, [one, two], threshold) {
                    continue;
                }
                self.corners(scene, bodies, [one, two], threshold);
                self.corners(scene, bodies, [two, one], threshold);
                self.edges(scene, bodies, [one, two], threshold);
            }
        }
    }

    fn corners(&mut self, scene: &Scene, bodies: &[Body], pair: [usize; 2], threshold: f64) {
        let [one, two] = pair.map(|solid| (&scene.solids[solid], &bodies[solid]));
        for (vertex, &local) in one.0.vertices.iter().enumerate() {
            let point = one.1.point(local);
            let seen = two.1.rotation.transpose_mul_vec(point - two.1.position);
            let Some((place, nearest, outward, distance)) = nearest(two.0, seen, threshold) else {
                continue;
            };
            self.found.push(Contact {
                solids: pair,
                places: [Place::Vertex(vertex), place],
                points: [point, two.1.point(nearest)],
                normal: -two.1.rotation.mul_vec(outward),
                distance,
            });
        }
    }

    fn edges(&mut self, scene: &Scene, bodies: &[Body], pair: [usize; 2], threshold: f64) {
        let [one, two] = pair.map(|solid| (&scene.solids[solid], &bodies[solid]));
        for &first in &one.0.edges {
            let ends = first.map(|vertex| one.1.point(one.0.vertices[vertex]));
            for &second in &two.0.edges {
                let others = second.map(|vertex| two.1.point(two.0.vertices[vertex]));
                let Some((points, mut normal)) = crossing(ends, others) else {
                    continue;
                };
                if normal.dot(two.1.position - one.1.position) < 0.0 {
                    normal = -normal;
                }
                let distance = normal.dot(points[1] - points[0]);
                if distance.abs() < threshold
                    && supports(one, points[0], normal)
                    && supports(two, points[1], -normal)
                {
                    self.found.push(Contact {
                        solids: pair,
                        places: [Place::Edge(first), Place::Edge(second)],
                        points,
                        normal,
                        distance,
                    });
                }
            }
        }
    }
}

fn is_far(scene: &Scene, bodies: &[Body], [one, two]: [usize; 2], threshold: f64) -> bool {
    let gap = bodies[one].position - bodies[two].position;
    let reach = threshold + scene.solids[one].radius;
    if scene.solids[two].vertices.is_empty() {
        let normal = bodies[two]
            .rotation
            .mul_vec(scene.solids[two].faces[0].normal);
        return normal.dot(gap) > reach;
    }
    gap.norm() > reach + scene.solids[two].radius
}

/// The nearest point of a solid, the direction from it to a point, and the signed distance, if it is below the threshold.
fn nearest(solid: &Solid, point: Vec3, threshold: f64) -> Option<(Place, Vec3, Vec3, f64)> {
    let height = |face: usize| solid.faces[face].normal.dot(point) - solid.faces[face].offset;
    let (mut top, mut most) = (0, f64::NEG_INFINITY);
    for face in 0..solid.faces.len() {
        let height = height(face);
        if height > most {
            (top, most) = (face, height);
        }
    }
    if most >= threshold {
        return None;
    }
    let on_face = |face: usize, height: f64| {
        let normal = solid.faces[face].normal;
        (Place::Face(face), point - normal * height, normal, height)
    };
    // Inside the nearest face is the one whose plane is nearest; a plane has no border.
    if most <= LEAST_DISTANCE || solid.vertices.is_empty() {
        return Some(on_face(top, most));
    }
    let mut best: Option<(Place, Vec3, f64)> = None;
    for face in 0..solid.faces.len() {
        let height = height(face);
        if height <= 0.0 {
            continue;
        }
        let Some((place, nearest)) = nearest_of_border(solid, face, point) else {
            return Some(on_face(face, height));
        };
        let distance = point.distance(nearest);
        if best.is_none_or(|(_, _, least)| distance < least) {
            best = Some((place, nearest, distance));
        }
    }
    let (place, nearest, distance) = best?;
    (distance < threshold).then(|| {
        let outward = (point - nearest) * (1.0 / distance.max(LEAST_DISTANCE));
        (place, nearest, outward, distance)
    })
}

/// The nearest point of the border of a face, if the shadow of the point on its plane is outside.
fn nearest_of_border(solid: &Solid, face: usize, point: Vec3) -> Option<(Place, Vec3)> {
    let super::Face {
        normal, corners, ..
    } = &solid.faces[face];
    let mut best: Option<(Place, Vec3, f64)> = None;
    for (place, &from) in corners.iter().enumerate() {
        let to = corners[(place + 1) % corners.len()];
        let (start, along) = (
            solid.vertices[from],
            solid.vertices[to] - solid.vertices[from],
        );
        if along.cross(point - start).dot(*normal) >= 0.0 {
            continue;
        }
        let part = (point - start).dot(along) / along.norm_squared();
        let (place, nearest) = if part <= 0.0 {
            (Place::Vertex(from), start)
        } else if part >= 1.0 {
            (Place::Vertex(to), solid.vertices[to])
        } else {
            (
                Place::Edge([from.min(to), from.max(to)]),
                start + along * part,
            )
        };
        let distance = point.distance(nearest);
        if best.is_none_or(|(_, _, least)| distance < least) {
            best = Some((place, nearest, distance));
        }
    }
    best.map(|(place, nearest, _)| (place, nearest))
}

/// The nearest points of two lines and their common normal, if both are well within the ends.
fn crossing(one: [Vec3; 2], two: [Vec3; 2]) -> Option<([Vec3; 2], Vec3)> {
    let (a, b, gap) = (one[1] - one[0], two[1] - two[0], two[0] - one[0]);
    let normal = a.cross(b);
    let square = normal.norm_squared();
    if square < LEAST_SINE * LEAST_SINE * a.norm_squared() * b.norm_squared() {
        return None;
    }
    let parts = [
        gap.cross(b).dot(normal) / square,
        gap.cross(a).dot(normal) / square,
    ];
    let is_within = parts.iter().all(|part| (END..=1.0 - END).contains(part));
    is_within.then(|| {
        let points = [one[0] + a * parts[0], two[0] + b * parts[1]];
        (points, normal * (1.0 / square.sqrt()))
    })
}

/// Whether a plane through a point supports a solid that is behind it.
fn supports((solid, body): (&Solid, &Body), point: Vec3, normal: Vec3) -> bool {
    let local = body.rotation.transpose_mul_vec(normal);
    let height = normal.dot(point - body.position) + SUPPORT_TOLERANCE;
    solid
        .vertices
        .iter()
        .all(|&vertex| local.dot(vertex) <= height)
}
