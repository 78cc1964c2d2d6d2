//! Runs a recipe: shards are made by any number of workers, each from its number alone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use carom::math::{Quat, Vec3};
use carom::{Data, Error, ErrorKind, Input, Place, State};
use carom_optimise::random::Random;
use carom_spec::ModelSpec;
use rayon::prelude::*;

use super::impacts::{Impact, Touching};
use super::manifest::{FORMAT, MANIFEST, Manifest, ShardEntry};
use super::recipe::{Recipe, Until};
use super::scene::{self, Scene};
use super::shards::{self, Run, Shard};

/// Draws of one run before a recipe is refused.
const MAX_DRAWS: usize = 100;
/// Speeds below which a body is at rest (m/s, rad/s).
const REST: [f64; 2] = [0.002, 0.05];

/// A recipe with its model: what a worker owns.
#[derive(Clone, Debug)]
pub struct Maker {
    recipe: Recipe,
    text: String,
    spec: ModelSpec,
}

/// A run with the impacts of its bodies on each other.
struct Made {
    run: Run,
    meshes: Vec<Vec<[f64; 3]>>,
    impacts: Vec<Impact>,
}

impl Maker {
    /// Reads a recipe and its model, and draws one run to see that it can be made.
    ///
    /// # Errors
    /// When recipe or model are wrong, or do not go together.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (recipe, text) = Recipe::read(path)?;
        let spec = carom::load::file(&recipe.model, &[])
            .map_err(|cause| {
                Error::new(
                    ErrorKind::Settings,
                    format!("the model of the recipe '{}'", path.display()),
                )
                .because(cause)
            })?
            .spec;
        let maker = Self { recipe, text, spec };
        let first = scene::draw(&maker.recipe, &maker.spec, &mut maker.random(0));
        first.map_err(|cause| {
            Error::new(ErrorKind::Settings, format!("recipe '{}'", path.display()))
                .because(cause)
                .at(Place::File(path.to_owned()))
        })?;
        Ok(maker)
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    fn random(&self, run: usize) -> Random {
        Random::new(self.recipe.seed, run as u64)
    }

    /// The manifest before any shard is there.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            format: FORMAT.to_owned(),
            recipe: self.text.clone(),
            seed: self.recipe.seed,
            dt: self.recipe.dt(),
            runs: self.recipe.runs,
            shards: Vec::new(),
        }
    }

    /// Makes one shard and writes it; the same bits by whomever it is made.
    ///
    /// # Errors
    /// When a run cannot be made or the file not be written.
    pub fn write_shard(&self, folder: &Path, index: usize) -> Result<ShardEntry, Error> {
        let first = index * self.recipe.runs_per_shard;
        let last = (first + self.recipe.runs_per_shard).min(self.recipe.runs);
        let mut shard = Shard {
            dt: self.recipe.dt(),
            meshes: Vec::new(),
            runs: Vec::new(),
        };
        let mut impacts = Vec::new();
        for number in first..last {
            let mut made = self.run(number)?;
            for body in made.run.bodies.iter_mut().filter(|body| body.shape > 0) {
                let mesh = &made.meshes[body.shape - 1];
                let known = shard.meshes.iter().position(|known| known == mesh);
                body.shape = 1 + known.unwrap_or_else(|| {
                    shard.meshes.push(mesh.clone());
                    shard.meshes.len() - 1
                });
            }
            let run = shard.runs.len();
            impacts.extend(made.impacts.iter().map(|impact| impact.row(run)));
            shard.runs.push(made.run);
        }
        shards::write(folder, index, first, (&shard, &impacts))
    }

    /// One run, drawn again where it has no impact though it should, or where it leaves what can be simulated.
    fn run(&self, number: usize) -> Result<Made, Error> {
        let mut random = self.random(number);
        for _ in 0..MAX_DRAWS {
            let scene = scene::draw(&self.recipe, &self.spec, &mut random)?;
            let Some(made) = self.simulated(scene) else {
                continue;
            };
            let wants_impact = self.recipe.shot.is_some_and(|shot| shot.impact);
            if !wants_impact || made.run.bodies.len() < 2 || !made.impacts.is_empty() {
                return Ok(made);
            }
        }
        Err(Error::new(
            ErrorKind::Settings,
            format!("run {number} of the recipe has no impact, or diverges, in {MAX_DRAWS} draws"),
        )
        .remedy("give more speed or frames, less way or aside, or [shot] impact = false"))
    }

    /// None where the simulation leaves the finite numbers.
    fn simulated(&self, scene: Scene) -> Option<Made> {
        let Scene {
            model,
            mut state,
            places,
            bodies,
            meshes,
        } = scene;
        let steps = (self.recipe.dt() / model.option.timestep[0])
            .round()
            .max(1.0);
        let (input, mut data) = (Input::zeros(&model), Data::new(&model));
        let mut run = Run {
            bodies,
            ..Run::default()
        };
        let mut touching = Touching::new(&places);
        let mut impacts = Vec::new();
        observe(&state, &places, &mut run);
        for _ in 1..self.recipe.frames {
            let mut step = 0.0;
            while step < steps {
                let before = state.clone();
                let report = carom::step(&model, &mut state, &input, &mut data);
                if report.not_finite.is_some() {
                    return None;
                }
                touching.look(&model, &before, &data, &mut impacts);
                step += 1.0;
            }
            observe(&state, &places, &mut run);
            if self.recipe.until == Until::Rest && is_at_rest(&run) {
                break;
            }
        }
        Some(Made {
            run,
            meshes,
            impacts,
        })
    }
}

/// Appends the poses and velocities of a frame.
fn observe(state: &State, places: &[[usize; 3]], run: &mut Run) {
    for &[_, qpos, dof] in places {
        let mut pose = [0.0; 7];
        pose.copy_from_slice(&state.qpos[qpos..qpos + 7]);
        let quat = Quat([pose[3], pose[4], pose[5], pose[6]]).normalized();
        pose[3..].copy_from_slice(&quat.0);
        let velocity = &state.qvel[dof..dof + 6];
        let turning = quat.rotate(Vec3([velocity[3], velocity[4], velocity[5]]));
        run.pose.push(pose);
        run.velocity.push([
            velocity[0],
            velocity[1],
            velocity[2],
            turning[0],
            turning[1],
            turning[2],
        ]);
    }
}

fn is_at_rest(run: &Run) -> bool {
    let last = run.velocities(run.frames() - 1);
    last.iter().all(|velocity| {
        let length = |part: &[f64]| part.iter().map(|v| v * v).sum::<f64>().sqrt();
        length(&velocity[..3]) < REST[0] && length(&velocity[3..]) < REST[1]
    })
}

/// Which shards of a folder are still to be made, and what its manifest says; the manifest is written where there is none.
///
/// Shards that are listed but missing or damaged are made again.
///
/// # Errors
/// When the folder has shards of another recipe.
pub fn open(maker: &Maker, folder: &Path) -> Result<(Manifest, Vec<usize>), Error> {
    std::fs::create_dir_all(folder).map_err(|cause| {
        Error::new(
            ErrorKind::Write,
            format!("cannot make the folder '{}'", folder.display()),
        )
        .because(cause)
    })?;
    let wanted = maker.manifest();
    let mut manifest = wanted.clone();
    if folder.join(MANIFEST).exists() {
        let found = Manifest::read(folder)?;
        if (&found.recipe, found.seed, found.runs) != (&wanted.recipe, wanted.seed, wanted.runs) {
            return Err(Error::new(
                ErrorKind::Settings,
                format!("'{}' has shards of another recipe", folder.display()),
            )
            .at(Place::File(folder.join(MANIFEST)))
            .remedy("name another folder, or remove this one"));
        }
        manifest.shards = found.shards;
        manifest.shards.retain(|entry| {
            let bytes = std::fs::read(folder.join(&entry.file));
            bytes.is_ok_and(|bytes| super::manifest::crc32(&bytes) == entry.crc32)
        });
    }
    manifest.write(folder)?;
    let has = |index: &usize| {
        let name = shards::file_name(*index);
        manifest.shards.iter().any(|entry| entry.file == name)
    };
    let open = (0..maker.recipe.shards()).filter(|index| !has(index));
    let open = open.collect();
    Ok((manifest, open))
}

/// Adds a shard to a manifest, in the order of runs.
pub fn enter(manifest: &mut Manifest, entry: ShardEntry) {
    manifest.shards.retain(|other| other.file != entry.file);
    manifest.shards.push(entry);
    manifest.shards.sort_by_key(|entry| entry.first_run);
}

/// Makes all shards of a recipe that a folder lacks, on the threads of the pool that it runs in. `told` hears how many runs
/// are there, after every shard. With the flag set it ends after the shards under way; nothing is lost.
///
/// # Errors
/// When a run cannot be made, or a file not be written.
pub fn make(
    maker: &Maker,
    folder: &Path,
    stop: &AtomicBool,
    told: &(dyn Fn(&Manifest) + Sync),
) -> Result<Manifest, Error> {
    let (manifest, open) = open(maker, folder)?;
    told(&manifest);
    let manifest = Mutex::new(manifest);
    let folder: PathBuf = folder.to_owned();
    open.par_iter()
        .try_for_each(|&index| -> Result<(), Error> {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let entry = maker.write_shard(&folder, index)?;
            let mut manifest = manifest.lock().unwrap_or_else(PoisonError::into_inner);
            enter(&mut manifest, entry);
            manifest.write(&folder)?;
            told(&manifest);
            Ok(())
        })?;
    Ok(manifest
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
#[path = "make_tests.rs"]
mod tests;
