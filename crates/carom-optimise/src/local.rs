//! Local solvers, and crews of them that work side by side.
//!
//! Global searches start local ones from many points. A crew asks for all its members at once, so that their evaluations
//! run in parallel, and passes the answers back to each.

mod adam;
mod nelder_mead;

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::choice::choice;
use crate::lbfgsb::{Lbfgsb, LbfgsbSettings};
use crate::least_squares::{LeastSquares, LeastSquaresSettings};
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Proposal};
use crate::space::Space;

pub use adam::{Adam, AdamSettings, Schedule};
pub use nelder_mead::{NelderMead, NelderMeadSettings};

choice! {
    /// A choice of a local solver.
    settings LocalSettings;
    /// A local solver at work.
    at_work Local;
    begin(point: Vec<f64>, bounds: Bounds) with settings by from_point(point, bounds, settings);
    /// Quasi-Newton steps from gradients.
    Lbfgsb: LbfgsbSettings, Lbfgsb, default;
    /// Gauss–Newton steps from residuals and Jacobians.
    LeastSquares: LeastSquaresSettings, LeastSquares, default;
    /// Adam from gradients.
    Adam: AdamSettings, Adam, default;
    /// A simplex from values alone.
    NelderMead: NelderMeadSettings, NelderMead, default;
}

impl LocalSettings {
    /// A solver at the start of a space.
    pub fn start(&self, space: &Space) -> Local {
        self.begin(space.scaled_start(), space.scaled_bounds())
    }
}

impl Local {
    /// A solver at the start of a space; there is nothing to draw, so the seed is not used.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "all optimisers of a choice are made with the same arguments"
    )]
    pub(crate) fn new(space: &Space, settings: LocalSettings, _seed: u64) -> Self {
        settings.start(space)
    }
}

/// The end of a local search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// Where it started, in scaled coordinates.
    pub start: Vec<f64>,
    /// Where it ended, in scaled coordinates; the start if nothing could be evaluated.
    pub point: Vec<f64>,
    /// The value there; infinite if nothing could be evaluated.
    pub value: f64,
    /// Why it ended.
    pub status: Status,
}

/// Local searches side by side, each with a number that says whose it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Crew {
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Member {
    owner: usize,
    start: Vec<f64>,
    solver: Local,
    /// Proposals that wait for answers.
    open: usize,
}

impl Crew {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Start a search for an owner.
    pub(crate) fn send(
        &mut self,
        owner: usize,
        settings: &LocalSettings,
        start: Vec<f64>,
        bounds: &Bounds,
    ) {
        self.members.push(Member {
            owner,
            solver: settings.begin(start.clone(), bounds.clone()),
            start,
            open: 0,
        });
    }

    /// Proposals of all members.
    pub(crate) fn propose(&mut self) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        for member in &mut self.members {
            let own = member.solver.propose();
            member.open = own.len();
            proposals.extend(own);
        }
        proposals
    }

    /// The lowest point of the members that are at work.
    pub(crate) fn lowest(&self) -> Option<&Best> {
        let bests = self
            .members
            .iter()
            .filter_map(|member| member.solver.best());
        bests.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// Pass answers on, and take out the searches that have ended, in the order in which they were sent.
    pub(crate) fn learn(&mut self, answered: Vec<Answered>) -> Vec<(usize, Descent)> {
        let mut answered = answered.into_iter();
        for member in &mut self.members {
            let own: Vec<Answered> = answered.by_ref().take(member.open).collect();
            member.open = 0;
            member.solver.learn(own);
        }
        let (running, ended): (Vec<Member>, Vec<Member>) = self
            .members
            .drain(..)
            .partition(|member| member.solver.status().is_running());
        self.members = running;
        ended.into_iter().map(Member::into_descent).collect()
    }
}

impl Member {
    fn into_descent(self) -> (usize, Descent) {
        let status = self.solver.status().clone();
        let (point, value) = match self.solver.best() {
            Some(best) => (best.point.clone(), best.value),
            None => (self.start.clone(), f64::INFINITY),
        };
        let descent = Descent {
            start: self.start,
            point,
            value,
            status,
        };
        (self.owner, descent)
    }
}

/// A reason for the end of a global search that says how its local ones went.
pub(crate) fn summary(descents: &[Descent]) -> Status {
    let converged = descents
        .iter()
        .filter(|descent| matches!(descent.status, Status::Converged(_)))
        .count();
    let count = descents.len();
    if descents.iter().all(|descent| descent.value.is_infinite()) {
        let reason = descents
            .first()
            .map_or("", |descent| descent.status.reason());
        Status::Stalled(format!(
            "none of {count} local searches found a value: {reason}"
        ))
    } else if converged == 0 {
        let reason = descents
            .first()
            .map_or("", |descent| descent.status.reason());
        Status::Finished(format!(
            "none of {count} local searches converged: {reason}"
        ))
    } else {
        Status::Converged(format!("{converged} of {count} local searches converged"))
    }
}
