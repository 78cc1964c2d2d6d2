//! From shards of runs to motions that a network learns from.

use std::path::Path;

use carom::math::{Mat3, Quat, Vec3};
use carom::{Error, ErrorKind, Place};
use carom_learn::scene::{Body, Scene, Solid, Twist};
use carom_learn::store::Card;
use carom_learn::training::{Motion, Motions, Recipe};

use crate::scale::shards::{Run, Shard};

/// The motions of all runs, on a table with its top at z = 0.
///
/// # Errors
/// When a mesh bounds no volume, or there are no two frames in a row.
pub fn motions(shard: &Shard) -> Result<Motions, Error> {
    let mut all = Vec::with_capacity(shard.runs.len());
    for (index, run) in shard.runs.iter().enumerate() {
        let motion = motion(shard, run);
        all.push(
            motion
                .map_err(|why| Error::new(ErrorKind::Recording, format!("run {index}: {why}")))?,
        );
    }
    if all.iter().all(|motion| motion.frames.len() < 2) {
        return Err(Error::new(
            ErrorKind::Recording,
            "there are no two frames in a row to learn from",
        ));
    }
    Ok(Motions {
        step: shard.dt,
        all,
    })
}

fn motion(shard: &Shard, run: &Run) -> Result<Motion, String> {
    let mut scene = Scene::default();
    let mut centers = Vec::with_capacity(run.bodies.len());
    for body in &run.bodies {
        let (mass, friction) = (Some(body.mass), body.friction);
        let (solid, center) = match body.shape.checked_sub(1) {
            None => (
                Solid::cuboid(Vec3(body.half_size), mass, friction),
                Vec3::ZERO,
            ),
            Some(mesh) => Solid::hull(&shard.meshes[mesh], mass, friction)
                .map_err(|_| format!("mesh {} bounds no volume", mesh + 1))?,
        };
        scene.solids.push(solid);
        centers.push(center);
    }
    scene.solids.push(Solid::plane(0.0));
    let table = Body {
        position: Vec3::ZERO,
        rotation: Mat3::identity(),
        twist: Twist::default(),
    };
    let frames = (0..run.frames()).map(|frame| {
        let states = run.frame(frame).iter().zip(run.velocities(frame));
        let bodies = states.zip(&centers).map(|((pose, velocity), &center)| {
            let quat = Quat::new(pose[3], pose[4], pose[5], pose[6]);
            let rotation = quat.normalized().to_mat3();
            let angular = Vec3::new(velocity[3], velocity[4], velocity[5]);
            let from_origin = rotation.mul_vec(center);
            Body {
                position: Vec3::new(pose[0], pose[1], pose[2]) + from_origin,
                rotation,
                twist: Twist {
                    linear: Vec3::new(velocity[0], velocity[1], velocity[2])
                        + angular.cross(from_origin),
                    angular,
                },
            }
        });
        bodies.chain([table]).collect()
    });
    Ok(Motion {
        scene,
        frames: frames.collect(),
        start: run.start,
    })
}

/// Copies of runs, each turned about the vertical by another angle: the few-shot paper's baseline without an engine.
#[must_use]
pub fn rotated(shard: &Shard, copies: usize) -> Shard {
    let mut out = Shard {
        runs: Vec::with_capacity(copies),
        ..shard.clone()
    };
    out.runs.clear();
    let count = shard.runs.len().max(1);
    for copy in 0..copies {
        let Some(run) = shard.runs.get(copy % count) else {
            break;
        };
        // Angles of the golden ratio leave no gaps.
        let angle = std::f64::consts::TAU * (copy as f64 * 0.618_033_988_749_895).fract();
        let turn = Quat::exp(Vec3::new(0.0, 0.0, angle));
        let mut run = run.clone();
        for pose in &mut run.pose {
            let position = turn.rotate(Vec3::new(pose[0], pose[1], pose[2]));
            let quat = turn.mul(Quat::new(pose[3], pose[4], pose[5], pose[6]));
            pose[..3].copy_from_slice(&position.0);
            pose[3..].copy_from_slice(&quat.0);
        }
        for velocity in &mut run.velocity {
            for part in [0, 3] {
                let vector = Vec3::new(velocity[part], velocity[part + 1], velocity[part + 2]);
                velocity[part..part + 3].copy_from_slice(&turn.rotate(vector).0);
            }
        }
        out.runs.push(run);
    }
    out
}

/// What is known of a network that is to be trained on a shard; errors and steps are not known yet.
#[must_use]
pub fn card(shard: &Shard, recipe: Recipe, data: String, scene: Option<String>) -> Card {
    let bodies = || shard.runs.iter().flat_map(|run| &run.bodies);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold([f64::MAX, f64::MIN], |[low, high], value| {
            [low.min(value), high.max(value)]
        })
    };
    Card {
        recipe,
        steps: 0,
        data,
        motions: [shard.runs.len(), shard.runs.iter().map(Run::frames).sum()],
        held_out: [0.0; 3],
        friction: range(&mut bodies().map(|body| body.friction)),
        mass: range(&mut bodies().map(|body| body.mass)),
        half_size: range(&mut bodies().flat_map(|body| body.half_size)),
        scene,
    }
}

/// A recipe of training (TOML).
///
/// # Errors
/// When it cannot be read, or asks for what makes no sense.
pub fn read_recipe(path: &Path) -> Result<Recipe, Error> {
    let at = |error: Error| error.at(Place::File(path.to_owned()));
    let text = std::fs::read_to_string(path).map_err(|cause| {
        let why = format!("cannot read '{}': {cause}", path.display());
        at(Error::new(ErrorKind::Read, why))
    })?;
    let recipe: Recipe = toml::from_str(&text).map_err(|cause| {
        let why = format!("'{}': {cause}", path.display());
        at(Error::new(ErrorKind::Settings, why))
    })?;
    checked(&recipe).map_err(|why| {
        at(Error::new(
            ErrorKind::Settings,
            format!("'{}': {why}", path.display()),
        ))
    })?;
    Ok(recipe)
}

/// The widest network that anyone trains on a CPU, and the most layers.
const MAX_SIZES: [usize; 2] = [1024, 64];

fn checked(recipe: &Recipe) -> Result<(), String> {
    let [width, layers] = MAX_SIZES;
    if !(1..=width).contains(&recipe.width) || !(1..=layers).contains(&recipe.layers) {
        return Err(format!(
            "width must be from 1 to {width}, layers from 1 to {layers}"
        ));
    }
    if recipe.batch == 0 || recipe.steps == 0 {
        return Err("batch and steps must be positive".to_owned());
    }
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    if !is_share(recipe.hits) || !is_share(recipe.held_out) {
        return Err("hits and held_out are parts of a whole, from 0 to 1".to_owned());
    }
    let is_positive = |number: f64| number.is_finite() && number > 0.0;
    if !is_positive(recipe.threshold) || !is_positive(recipe.rate) {
        return Err("threshold and rate must be positive".to_owned());
    }
    let is_size = |number: f64| number.is_finite() && number >= 0.0;
    if !is_size(recipe.noise) || !is_size(recipe.velocity_noise) {
        return Err("noise and velocity_noise must not be negative".to_owned());
    }
    Ok(())
}
