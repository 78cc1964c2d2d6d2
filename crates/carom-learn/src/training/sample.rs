//! What a step of training goes by: a frame, its successor, and how both are perturbed.

use carom::math::{Mat3, Quat, Vec3};

use super::{Motion, Motions, Recipe};
use crate::random::Random;
use crate::scene::motion::{free, said_of};
use crate::scene::{Batch, Body, Heading, Scene, Setting};

/// A frame that has a successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) motion: usize,
    pub(super) frame: usize,
}

/// Frames to draw from: all, and those in which bodies that move are about to touch each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) all: Vec<Place>,
    pub(super) touching: Vec<Place>,
}

/// A body that changes its velocity by more than this in a step (m/s, at its farthest vertex) was hit.
const HIT: f64 = 0.1;

/// Slower than this (m/s, at its farthest vertex), a body is at rest.
const REST: f64 = 0.01;

impl Places {
    /// Of some of the motions.
    pub(super) fn of(motions: &Motions, chosen: &[usize]) -> Self {
        let mut places = Self::default();
        for &motion in chosen {
            let known = &motions.all[motion];
            for frame in 0..known.frames.len().saturating_sub(1) {
                let place = Place { motion, frame };
                places.all.push(place);
                if is_hit(known, frame) {
                    places.touching.push(place);
                }
            }
        }
        places
    }

    pub(super) fn draw(&self, share: f64, random: &mut Random) -> Place {
        let is_hit = random.uniform() < share && !self.touching.is_empty();
        let from = if is_hit { &self.touching } else { &self.all };
        from[random.below(from.len())]
    }
}

fn is_hit(motion: &Motion, frame: usize) -> bool {
    let pairs = motion.frames[frame].iter().zip(&motion.frames[frame + 1]);
    pairs.zip(&motion.scene.solids).any(|((now, next), solid)| {
        !solid.is_static() && {
            let linear = (next.twist.linear - now.twist.linear).norm();
            let angular = (next.twist.angular - now.twist.angular).norm();
            linear + angular * solid.radius > HIT
        }
    })
}

/// Memory for samples, and the targets of those of a batch: six numbers a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub(super) batch: Batch,
    pub(super) targets: Vec<f64>,
    now: Vec<Body>,
    next: Vec<Body>,
    turns: Vec<usize>,
}

impl Samples {
    pub(super) fn clear(&mut self) {
        self.batch.clear();
        self.targets.clear();
    }

    /// Adds a frame, perturbed.
    pub(super) fn add(
        &mut self,
        motion: &Motion,
        frame: usize,
        (recipe, setting): (&Recipe, &Setting),
        random: &mut Random,
    ) {
        let scene = &motion.scene;
        self.now.clone_from(&motion.frames[frame]);
        self.next.clone_from(&motion.frames[frame + 1]);
        let is_mirrored = random.bits() & 1 == 1 && scene.is_symmetric();
        if is_mirrored {
            self.now.iter_mut().chain(&mut self.next).for_each(mirror);
        }
        self.turns.clear();
        for (solid, body) in scene.solids.iter().zip(&mut self.now) {
            self.turns.push(random.below(4));
            if !solid.is_static() {
                perturb(body, solid.radius, recipe, random);
            }
        }
        self.batch.add(scene, &self.now, &self.turns, setting);
        self.targets(scene, setting);
    }

    fn targets(&mut self, scene: &Scene, setting: &Setting) {
        for (index, solid) in scene.solids.iter().enumerate() {
            if solid.is_static() {
                continue;
            }
            let (now, next) = (&self.now[index], &self.next[index]);
            let heading = Heading::of(&now.rotation, self.turns[index]);
            let free = free(now, setting.step);
            for &vertex in &solid.vertices {
                for said in said_of(vertex, &free, next, setting.step) {
                    self.targets.extend(heading.see(said).0);
                }
            }
        }
    }
}

/// The mirror image on the other side of the plane y = 0.
fn mirror(body: &mut Body) {
    let flip = Mat3::from_diagonal(Vec3::new(1.0, -1.0, 1.0));
    body.rotation = flip.mul(&body.rotation).mul(&flip);
    body.position[1] = -body.position[1];
    body.twist.linear[1] = -body.twist.linear[1];
    body.twist.angular[0] = -body.twist.angular[0];
    body.twist.angular[2] = -body.twist.angular[2];
}

/// Moves a body a little to where it should not be, out of its plane and out of rest: the network learns the way back.
fn perturb(body: &mut Body, radius: f64, recipe: &Recipe, random: &mut Random) {
    let mut normal = |size: f64| size * random.normal();
    let (place, speed) = (recipe.noise, recipe.velocity_noise);
    body.position[2] += normal(place);
    let tilt = Vec3::new(normal(place / radius), normal(place / radius), 0.0);
    body.rotation = Quat::exp(tilt).to_mat3().mul(&body.rotation);
    body.twist.linear[2] += normal(speed);
    body.twist.angular[0] += normal(speed / radius);
    body.twist.angular[1] += normal(speed / radius);
    if body.twist.linear.norm() + body.twist.angular.norm() * radius < REST {
        body.twist.linear[0] += normal(speed);
        body.twist.linear[1] += normal(speed);
        body.twist.angular[2] += normal(speed / radius);
    }
}
