//! What goes wrong in the world: pushes, plans that come late, a model whose numbers are off.
//!
//! A `[disturbance]` table of a task says how much; which of them happen is chosen with each run. All of them are drawn
//! from the seed.

use carom::parameters::Parameters;
use carom::{Error, ErrorKind, Model};
use carom_optimise::random::Random;
use serde::Deserialize;

use super::quantity::find;

/// The stream of pushes, and that of parameters: far from those of samples, which count from zero.
const STREAMS: [u64; 2] = [1 << 62, (1 << 62) + 1];

/// How much goes wrong.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DisturbanceSettings {
    /// Bodies that are pushed; without, those that move freely, or else the first one that moves.
    pub bodies: Vec<String>,
    /// The impulse of a push as the change of velocity that it would give to the free body (m/s).
    pub push: f64,
    /// Mean time between pushes (s).
    pub every: f64,
    /// Which numbers of the model are off.
    pub parameters: Vec<String>,
    /// By which part of themselves, up or down.
    pub off: f64,
}

impl Default for DisturbanceSettings {
    fn default() -> Self {
        Self {
            bodies: Vec::new(),
            push: 0.1,
            every: 0.5,
            parameters: ["body.*.mass", "geom.*.friction[0]", "joint.*.damping"]
                .map(str::to_owned)
                .into(),
            off: 0.2,
        }
    }
}

/// A force on a body during one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// The step.
    pub step: usize,
    /// The body.
    pub body: usize,
    /// Force times time (N·s), world axes.
    pub impulse: [f64; 3],
}

/// What goes wrong in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Pushes that no plan knows of.
    pub pushes: Vec<Push>,
    /// Whether plans are followed one plan later than they are made, from where the model says that the motion will be.
    pub is_delayed: bool,
}

impl DisturbanceSettings {
    /// Pushes over some steps, of equal strength and in any direction; bodies and steps are drawn.
    ///
    /// # Errors
    /// When there is no body of a name, or none to push.
    pub fn pushes(&self, model: &Model, steps: usize, seed: u64) -> Result<Vec<Push>, Error> {
        let names = &model.structure.names.bodies;
        let bodies = self.bodies.iter().map(|name| {
            let known = names.iter().map(String::as_str);
            find(name, "body", &format!("body.{name}"), known)
                .map_err(|why| Error::new(ErrorKind::Name, format!("disturbance, bodies: {why}")))
        });
        let mut bodies = bodies.collect::<Result<Vec<usize>, Error>>()?;
        if bodies.is_empty() {
            bodies = pushed_without_a_word(model);
        }
        if bodies.is_empty() {
            return Err(
                Error::new(ErrorKind::Value, "no body of the model can be pushed")
                    .remedy("name one that moves: bodies = [\"cube\"] under [disturbance]"),
            );
        }
        let timestep = model.option.timestep[0];
        let mut random = Random::new(seed, STREAMS[0]);
        let mut pushes = Vec::new();
        for step in 0..steps {
            // As many draws for each step, whatever happens in it.
            let happens = random.uniform() < timestep / self.every;
            let body = bodies[random.below(bodies.len())];
            let direction = random.normals(3);
            if happens {
                let length = direction.iter().map(|n| n * n).sum::<f64>().sqrt();
                let size = self.push * model.bodies.mass[body] / length.max(f64::MIN_POSITIVE);
                let impulse = std::array::from_fn(|axis| size * direction[axis]);
                pushes.push(Push {
                    step,
                    body,
                    impulse,
                });
            }
        }
        Ok(pushes)
    }

    /// The model with numbers that are off, each up or down by chance. Selectors that choose nothing are left out, but not all
    /// of them.
    ///
    /// # Errors
    /// When nothing is chosen, or a number cannot be so.
    pub fn off(&self, model: &Model, seed: u64) -> Result<Model, Error> {
        let mut random = Random::new(seed, STREAMS[1]);
        let mut changed = model.clone();
        let (mut count, mut last) = (0, None);
        for selector in &self.parameters {
            let selected = match Parameters::select(&changed, &[selector.as_str()]) {
                Ok(selected) => selected,
                Err(cause) => {
                    last = Some(cause);
                    continue;
                }
            };
            let names: Vec<String> = selected.names().map(str::to_owned).collect();
            let mut theta = selected.theta0().to_vec();
            for name in &names {
                let factor = if random.uniform() < 0.5 {
                    1.0 + self.off
                } else {
                    1.0 - self.off
                };
                let value = factor * selected.get(&theta, name)?;
                selected.set(&mut theta, name, value)?;
            }
            count += names.len();
            changed = selected.apply(&theta)?;
        }
        match last {
            Some(cause) if count == 0 => Err(cause),
            _ => Ok(changed),
        }
    }
}

/// Bodies that move freely: with three degrees of freedom of their own at least. Or else the first one that moves.
fn pushed_without_a_word(model: &Model) -> Vec<usize> {
    let dofs = &model.structure.bodies.dofs;
    let with = |least: usize| (1..dofs.len()).filter(move |&body| dofs[body].len() >= least);
    let free: Vec<usize> = with(3).collect();
    if free.is_empty() {
        with(1).take(1).collect()
    } else {
        free
    }
}
