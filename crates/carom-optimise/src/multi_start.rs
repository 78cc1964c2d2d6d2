//! Local searches from many starts: the start of the space first, then points of a Latin hypercube, on request those with
//! the lowest values of a larger one.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::local::{Crew, Descent, LocalSettings, summary};
use crate::optimiser::{Best, Method, Status};
use crate::random::Random;
use crate::request::{Answered, Proposal, Want};
use crate::space::Space;
use crate::starts::latin_hypercube;

/// Settings of a search from many starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiStartSettings {
    /// The local solver.
    pub local: LocalSettings,
    /// Starts in all.
    pub starts: usize,
    /// Points that are evaluated beforehand, of which the lowest become starts; none if this is less than the starts.
    pub screened: usize,
    /// Local searches at the same time.
    pub together: usize,
    /// How far starts lie from the centre where there are no bounds, in scaled coordinates.
    pub reach: f64,
}

impl MultiStartSettings {
    /// So many starts of a solver, all at the same time.
    pub fn new(local: LocalSettings, starts: usize) -> Self {
        Self {
            local,
            starts,
            screened: 0,
            together: starts,
            reach: 1.0,
        }
    }
}

/// A search from many starts at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiStart {
    settings: MultiStartSettings,
    bounds: Bounds,
    /// Starts that wait, the next one last.
    waiting: Vec<Vec<f64>>,
    /// Points that wait for their values.
    screening: Vec<Vec<f64>>,
    crew: Crew,
    descents: Vec<Descent>,
    best: Option<Best>,
    status: Status,
}

impl MultiStart {
    /// Start at the start of a space and elsewhere.
    pub fn new(space: &Space, settings: MultiStartSettings, seed: u64) -> Self {
        let (start, bounds) = (space.scaled_start(), space.scaled_bounds());
        let mut random = Random::new(seed, 0);
        let others = settings.starts.max(1) - 1;
        let is_screened = settings.screened > others;
        let count = if is_screened {
            settings.screened
        } else {
            others
        };
        let points = latin_hypercube(count, &bounds, &start, settings.reach, &mut random);
        let mut search = Self {
            settings,
            bounds,
            waiting: vec![start],
            screening: Vec::new(),
            crew: Crew::default(),
            descents: Vec::new(),
            best: None,
            status: Status::Running,
        };
        if is_screened && others > 0 {
            search.screening = points;
        } else {
            search.queue(points);
        }
        search
    }

    /// How the local searches went that have ended.
    pub fn descents(&self) -> &[Descent] {
        &self.descents
    }

    /// Put starts behind those that wait.
    fn queue(&mut self, points: Vec<Vec<f64>>) {
        let mut waiting = points;
        waiting.reverse();
        waiting.append(&mut self.waiting);
        self.waiting = waiting;
    }

    fn send_out(&mut self) {
        while self.crew.len() < self.settings.together.max(1) {
            let Some(start) = self.waiting.pop() else {
                break;
            };
            self.crew.send(0, &self.settings.local, start, &self.bounds);
        }
    }
}

impl Method for MultiStart {
    fn propose(&mut self) -> Vec<Proposal> {
        if !self.screening.is_empty() {
            let points = self.screening.iter().cloned();
            return points
                .map(|point| Proposal {
                    point,
                    want: Want::Value,
                })
                .collect();
        }
        self.send_out();
        self.crew.propose()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        if !self.screening.is_empty() {
            self.screening.clear();
            // Whoever ends the search here has the lowest of them.
            for one in &answered {
                Best::keep(&mut self.best, &one.point, one.value());
            }
            let mut ranked: Vec<&Answered> = answered.iter().collect();
            ranked.sort_by(|a, b| a.value().total_cmp(&b.value()));
            ranked.truncate(self.settings.starts.max(1) - 1);
            let points = ranked.into_iter().map(|a| a.point.clone()).collect();
            self.queue(points);
            return;
        }
        for (_, descent) in self.crew.learn(answered) {
            Best::keep(&mut self.best, &descent.point, descent.value);
            self.descents.push(descent);
        }
        if let Some(lowest) = self.crew.lowest() {
            Best::keep(&mut self.best, &lowest.point, lowest.value);
        }
        if self.crew.len() == 0 && self.waiting.is_empty() {
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
