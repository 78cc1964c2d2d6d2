//! Motions to learn from, and errors of predictions.

use carom::math::Quat;

use crate::learned::{Learned, StepWork};
use crate::network::Real;
use crate::scene::{Body, Scene};

/// A motion of a scene.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    /// What moves, and what does not.
    pub scene: Scene,
    /// The bodies of every frame, in the order of the scene.
    pub frames: Vec<Vec<Body>>,
    /// The frame at which a prediction begins.
    pub start: usize,
}

/// Motions with one time between frames.
#[derive(Clone, Debug, Default)]
pub struct Motions {
    /// Seconds between frames.
    pub step: f64,
    /// The motions.
    pub all: Vec<Motion>,
}

/// Mean errors of predictions, over frames after the start and bodies that move, then over motions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RolloutErrors {
    /// Distance of positions (m).
    pub position: f64,
    /// Angle between orientations (rad).
    pub angle: f64,
    /// Distance over the size of the body, plus angle: equation (1) of the few-shot paper.
    pub both: f64,
}

impl RolloutErrors {
    /// Errors of a network on motions, each predicted from its start to its end.
    pub fn measure<F: Real>(
        learned: &Learned<F>,
        motions: &[&Motion],
        work: &mut StepWork<F>,
    ) -> Self {
        let mut sum = Self::default();
        for motion in motions {
            let one = Self::of_motion(learned, motion, work);
            let part = 1.0 / motions.len() as f64;
            sum.position += one.position * part;
            sum.angle += one.angle * part;
            sum.both += one.both * part;
        }
        sum
    }

    fn of_motion<F: Real>(learned: &Learned<F>, motion: &Motion, work: &mut StepWork<F>) -> Self {
        let Some(mut bodies) = motion.frames.get(motion.start).cloned() else {
            return Self::default();
        };
        let moving = motion.scene.moving();
        let mut sum = Self::default();
        let after = &motion.frames[motion.start + 1..];
        let part = 1.0 / (after.len() * moving).max(1) as f64;
        for frame in after {
            learned.step(&motion.scene, &mut bodies, work);
            for ((body, known), solid) in bodies.iter().zip(frame).zip(&motion.scene.solids) {
                if solid.is_static() {
                    continue;
                }
                let distance = body.position.distance(known.position);
                let quat = |body: &Body| Quat::from_mat3(&body.rotation);
                let angle = quat(body).difference(quat(known)).norm();
                sum.position += distance * part;
                sum.angle += angle * part;
                sum.both += (distance / (2.0 * solid.half_extent()) + angle) * part;
            }
        }
        sum
    }
}
