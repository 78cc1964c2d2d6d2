//! Populations on islands around a local solver [Biscani 2020; Heiden 2021].
//!
//! Every island holds a few points that are local minima. In a round each member has a child by differential evolution
//! [Storn 1997]: with others a and b of its island and the island's best,
//!
//!   c = x + F·(best − x) + F·(a − b)   (1)
//!
//! of which each coordinate is taken with a probability, else that of x. The child descends by the local solver and takes
//! the place of its parent if it is lower. Every few rounds the best of an island goes to the next one in a ring and takes
//! the place of the worst there, so that islands search apart and still share what they find.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::local::{Crew, Descent, LocalSettings, summary};
use crate::optimiser::{Best, Method, Status};
use crate::random::Random;
use crate::request::{Answered, Proposal};
use crate::space::Space;
use crate::starts::latin_hypercube;

/// Settings of a search on islands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IslandsSettings {
    /// The local solver.
    pub local: LocalSettings,
    /// Islands.
    pub islands: usize,
    /// Members of each.
    pub members: usize,
    /// Rounds in all, the first descents included.
    pub rounds: u32,
    /// Rounds between migrations.
    pub migrate_every: u32,
    /// F.
    pub mutation: f64,
    /// The probability that a coordinate is taken from (1).
    pub crossover: f64,
    /// How far starts lie from the centre where there are no bounds, in scaled coordinates.
    pub reach: f64,
}

impl IslandsSettings {
    /// So many islands with so many members for so many rounds.
    pub fn new(local: LocalSettings, islands: usize, members: usize, rounds: u32) -> Self {
        Self {
            local,
            islands,
            members,
            rounds,
            migrate_every: 2,
            mutation: 0.7,
            crossover: 0.9,
            reach: 1.0,
        }
    }
}

/// A search on islands at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Islands {
    settings: IslandsSettings,
    bounds: Bounds,
    /// Members of all islands, island by island; at first where their descents start.
    members: Vec<Best>,
    randoms: Vec<Random>,
    crew: Crew,
    round: u32,
    descents: Vec<Descent>,
    best: Option<Best>,
    status: Status,
}

impl Islands {
    /// Start at the start of a space and elsewhere.
    pub fn new(space: &Space, settings: IslandsSettings, seed: u64) -> Self {
        let (start, bounds) = (space.scaled_start(), space.scaled_bounds());
        let count = settings.islands.max(1) * settings.members.max(1);
        let mut random = Random::new(seed, 0);
        let mut points = latin_hypercube(count - 1, &bounds, &start, settings.reach, &mut random);
        points.insert(0, start);
        let mut crew = Crew::default();
        let mut members = Vec::with_capacity(count);
        for (owner, point) in points.into_iter().enumerate() {
            crew.send(owner, &settings.local, point.clone(), &bounds);
            members.push(Best {
                point,
                value: f64::INFINITY,
            });
        }
        let randoms = (0..settings.islands.max(1) as u64)
            .map(|island| Random::new(seed, island + 1))
            .collect();
        Self {
            settings,
            bounds,
            members,
            randoms,
            crew,
            round: 0,
            descents: Vec::new(),
            best: None,
            status: Status::Running,
        }
    }

    /// How the local searches went that have ended.
    pub fn descents(&self) -> &[Descent] {
        &self.descents
    }

    fn size(&self) -> usize {
        self.settings.members.max(1)
    }

    /// The place of the lowest or highest member of an island; the first of equals.
    fn extreme(&self, island: usize, lowest: bool) -> usize {
        let first = island * self.size();
        let mut place = first;
        for i in first + 1..first + self.size() {
            let (candidate, held) = (self.members[i].value, self.members[place].value);
            if lowest && candidate < held || !lowest && candidate > held {
                place = i;
            }
        }
        place
    }

    fn end_round(&mut self) {
        self.round += 1;
        if self.round >= self.settings.rounds {
            self.status = summary(&self.descents);
            return;
        }
        if self
            .round
            .is_multiple_of(self.settings.migrate_every.max(1))
        {
            self.migrate();
        }
        for island in 0..self.randoms.len() {
            for member in 0..self.size() {
                let owner = island * self.size() + member;
                let child = self.child(island, owner);
                let (settings, bounds) = (&self.settings.local, &self.bounds);
                self.crew.send(owner, settings, child, bounds);
            }
        }
    }

    fn migrate(&mut self) {
        let islands = self.randoms.len();
        let travellers: Vec<Best> = (0..islands)
            .map(|island| self.members[self.extreme(island, true)].clone())
            .collect();
        for (island, traveller) in travellers.into_iter().enumerate() {
            let worst = self.extreme((island + 1) % islands, false);
            if traveller.value < self.members[worst].value {
                self.members[worst] = traveller;
            }
        }
    }

    fn child(&mut self, island: usize, owner: usize) -> Vec<f64> {
        let first = island * self.size();
        let size = self.size();
        let best = self.members[self.extreme(island, true)].point.clone();
        let random = &mut self.randoms[island];
        let [a, b] = [random.below(size), random.below(size)];
        let (x, a, b) = (
            &self.members[owner].point,
            &self.members[first + a].point,
            &self.members[first + b].point,
        );
        let always = random.below(x.len());
        let factor = self.settings.mutation;
        let mut child = x.clone();
        for i in 0..x.len() {
            let taken = random.uniform() < self.settings.crossover || i == always;
            if taken {
                child[i] += factor * (best[i] - x[i]) + factor * (a[i] - b[i]); // (1)
            }
        }
        // A population that has met in one point would only find it again.
        let distinct = child.iter().zip(x).any(|(c, x)| (c - x).abs() > 1e-9);
        if !distinct {
            for value in &mut child {
                *value += 0.1 * random.normal();
            }
        }
        self.bounds.project(&mut child);
        child
    }
}

impl Method for Islands {
    fn propose(&mut self) -> Vec<Proposal> {
        self.crew.propose()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        for (owner, descent) in self.crew.learn(answered) {
            Best::keep(&mut self.best, &descent.point, descent.value);
            if descent.value < self.members[owner].value {
                self.members[owner] = Best {
                    point: descent.point.clone(),
                    value: descent.value,
                };
            }
            self.descents.push(descent);
        }
        if let Some(lowest) = self.crew.lowest() {
            Best::keep(&mut self.best, &lowest.point, lowest.value);
        }
        if self.crew.len() == 0 {
            self.end_round();
        }
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}
