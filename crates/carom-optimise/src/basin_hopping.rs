//! Basin hopping [Wales 1997] with many walkers side by side [Heiden 2021].
//!
//! A walker stands at a local minimum. It jumps to a random point nearby, descends by a local solver, and stays at the new
//! minimum with the probability
//!
//!   min(1, exp((f − f⁺)/T))   (1)
//!
//! else returns. The length of its jumps is adapted so that it stays about every second time; after long without luck it
//! starts anew at a random place. Every walker has a stream of random numbers of its own.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::local::{Crew, Descent, LocalSettings, summary};
use crate::optimiser::{Best, Method, Status};
use crate::random::Random;
use crate::request::{Answered, Proposal};
use crate::space::Space;
use crate::starts::anywhere;

/// Settings of basin hopping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BasinHoppingSettings {
    /// The local solver.
    pub local: LocalSettings,
    /// Walkers side by side. The first starts at the start, the others at random places.
    pub walkers: usize,
    /// Descents of each walker, the first included.
    pub hops: u32,
    /// The first length of jumps along each scaled coordinate.
    pub jump: f64,
    /// T, in units of the value.
    pub temperature: f64,
    /// Hops without a lower value after which a walker starts anew.
    pub patience: Option<u32>,
    /// How far starts lie from the centre where there are no bounds, in scaled coordinates.
    pub reach: f64,
}

impl BasinHoppingSettings {
    /// So many walkers with so many descents each.
    pub fn new(local: LocalSettings, walkers: usize, hops: u32) -> Self {
        Self {
            local,
            walkers,
            hops,
            jump: 0.25,
            temperature: 1.0,
            patience: Some(30),
            reach: 1.0,
        }
    }
}

/// Hops after which the length of jumps is adapted …
const HOPS_PER_ADAPTATION: u32 = 10;
/// … by this factor or its inverse.
const JUMP_ADAPTATION: f64 = 0.8;

/// Basin hopping at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BasinHopping {
    settings: BasinHoppingSettings,
    bounds: Bounds,
    start: Vec<f64>,
    walkers: Vec<Walker>,
    crew: Crew,
    descents: Vec<Descent>,
    best: Option<Best>,
    status: Status,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Walker {
    random: Random,
    at: Option<Best>,
    lowest: f64,
    jump: f64,
    hops: u32,
    /// Hops and stays since the length of jumps was adapted.
    tried: u32,
    stayed: u32,
    unlucky: u32,
}

impl BasinHopping {
    /// Start at the start of a space and at random places.
    pub fn new(space: &Space, settings: BasinHoppingSettings, seed: u64) -> Self {
        let (start, bounds) = (space.scaled_start(), space.scaled_bounds());
        let mut walkers: Vec<Walker> = (0..settings.walkers.max(1) as u64)
            .map(|stream| Walker {
                random: Random::new(seed, stream),
                at: None,
                lowest: f64::INFINITY,
                jump: settings.jump,
                hops: 0,
                tried: 0,
                stayed: 0,
                unlucky: 0,
            })
            .collect();
        let mut crew = Crew::default();
        for (owner, walker) in walkers.iter_mut().enumerate() {
            let point = if owner == 0 {
                start.clone()
            } else {
                anywhere(&bounds, &start, settings.reach, &mut walker.random)
            };
            crew.send(owner, &settings.local, point, &bounds);
        }
        Self {
            settings,
            bounds,
            start,
            walkers,
            crew,
            descents: Vec::new(),
            best: None,
            status: Status::Running,
        }
    }

    /// How the local searches went that have ended.
    pub fn descents(&self) -> &[Descent] {
        &self.descents
    }

    fn arrive(&mut self, owner: usize, descent: &Descent) {
        let settings = &self.settings;
        let walker = &mut self.walkers[owner];
        walker.hops += 1;
        walker.judge(descent, settings.temperature);
        if walker.hops >= settings.hops {
            return;
        }
        let lost = settings
            .patience
            .is_some_and(|patience| walker.unlucky >= patience);
        let next = if lost || walker.at.is_none() {
            walker.begin_anew(settings.jump);
            anywhere(
                &self.bounds,
                &self.start,
                settings.reach,
                &mut walker.random,
            )
        } else {
            walker.next_start(&self.bounds)
        };
        self.crew.send(owner, &settings.local, next, &self.bounds);
    }
}

impl Walker {
    /// Stay at the end of a descent or return.
    fn judge(&mut self, descent: &Descent, temperature: f64) {
        if descent.value < self.lowest {
            self.lowest = descent.value;
            self.unlucky = 0;
        } else {
            self.unlucky += 1;
        }
        let draw = self.random.uniform();
        let stays = match &self.at {
            None => descent.value.is_finite(),
            Some(at) => {
                let rise = descent.value - at.value;
                rise <= 0.0 || draw < (-rise / temperature).exp() // (1)
            }
        };
        self.tried += 1;
        if stays {
            let moved = self.at.as_ref().is_none_or(|at| at.value != descent.value);
            self.stayed += u32::from(moved);
            self.at = Some(Best {
                point: descent.point.clone(),
                value: descent.value,
            });
        }
        if self.tried >= HOPS_PER_ADAPTATION {
            // Staying too often means that jumps are too short to matter.
            if 2 * self.stayed > self.tried {
                self.jump /= JUMP_ADAPTATION;
            } else if self.stayed > 0 {
                self.jump *= JUMP_ADAPTATION;
            } else {
                // Always back in the same minimum: jumps do not leave its basin.
                self.jump /= JUMP_ADAPTATION;
            }
            (self.tried, self.stayed) = (0, 0);
        }
    }

    fn begin_anew(&mut self, jump: f64) {
        self.at = None;
        self.lowest = f64::INFINITY;
        self.unlucky = 0;
        self.jump = jump;
        (self.tried, self.stayed) = (0, 0);
    }

    fn next_start(&mut self, bounds: &Bounds) -> Vec<f64> {
        let Some(at) = &self.at else {
            return Vec::new();
        };
        let mut point = at.point.clone();
        for (i, value) in point.iter_mut().enumerate() {
            let moved = *value + self.jump * (2.0 * self.random.uniform() - 1.0);
            *value = reflect(bounds, i, moved);
        }
        point
    }
}

/// Back into the bounds as from a mirror.
fn reflect(bounds: &Bounds, i: usize, value: f64) -> f64 {
    let (low, high) = (bounds.lower()[i], bounds.upper()[i]);
    let mirrored = if value < low {
        2.0 * low - value
    } else if value > high {
        2.0 * high - value
    } else {
        value
    };
    bounds.clamp(i, mirrored)
}

impl Method for BasinHopping {
    fn propose(&mut self) -> Vec<Proposal> {
        self.crew.propose()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        for (owner, descent) in self.crew.learn(answered) {
            Best::keep(&mut self.best, &descent.point, descent.value);
            self.arrive(owner, &descent);
            self.descents.push(descent);
        }
        if let Some(lowest) = self.crew.lowest() {
            Best::keep(&mut self.best, &lowest.point, lowest.value);
        }
        if self.crew.len() == 0 {
            self.status = summary(&self.descents);
        }
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}
