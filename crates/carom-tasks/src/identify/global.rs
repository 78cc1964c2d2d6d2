//! Global searches: many local ones, for losses with many minima [Heiden 2021].
//!
//! Starts are spread over the bounds of the parameters; a parameter without two bounds is sought within a scale of its start.

use carom_optimise::{
    BasinHoppingSettings, IslandsSettings, LbfgsbSettings, LeastSquaresSettings, LocalSettings,
    MultiStartSettings, RefinedSettings, Settings as SearchSettings,
};

use super::task::{MAX_JACOBIAN_ENTRIES, Task};
use crate::loss::Average;

/// Local searches of a search from many starts, and points that are tried to choose their starts.
const STARTS: (usize, usize) = (16, 128);
/// Walkers of basin hopping, and descents of each.
const WALKERS: (usize, u32) = (4, 20);
/// Islands, members of each, and rounds.
const ISLANDS: (usize, usize, u32) = (3, 4, 6);
/// Iterations of one local search: those that lead somewhere end earlier.
const ITERATIONS: u64 = 100;

impl Task<'_> {
    pub(super) fn multi_start(&self) -> SearchSettings {
        let (starts, most) = STARTS;
        // Of few evaluations the larger part is for descents.
        let quarter = self.settings.evaluations.map(|all| all / 4);
        let quarter = quarter.map_or(most, |quarter| usize::try_from(quarter).unwrap_or(most));
        let screened = quarter.min(most);
        self.refined(SearchSettings::MultiStart(MultiStartSettings {
            screened,
            ..MultiStartSettings::new(self.local_solver(starts), starts)
        }))
    }

    pub(super) fn basin_hopping(&self) -> SearchSettings {
        let (walkers, hops) = WALKERS;
        self.refined(SearchSettings::BasinHopping(BasinHoppingSettings {
            temperature: self.temperature(),
            ..BasinHoppingSettings::new(self.local_solver(walkers), walkers, hops)
        }))
    }

    pub(super) fn islands(&self) -> SearchSettings {
        let (islands, members, rounds) = ISLANDS;
        let local = self.local_solver(islands * members);
        let islands = IslandsSettings::new(local, islands, members, rounds);
        self.refined(SearchSettings::Islands(islands))
    }

    /// With a last local search that goes on where derivatives mislead: for the others that would take too long.
    fn refined(&self, search: SearchSettings) -> SearchSettings {
        if self.problem.residual_count() * self.problem.len() > MAX_JACOBIAN_ENTRIES {
            return search;
        }
        SearchSettings::Refined(RefinedSettings {
            search: Box::new(search),
            local: self.least_squares(),
        })
    }

    /// Levenberg–Marquardt; L-BFGS where the Jacobians of so many searches at a time would not fit into memory.
    fn local_solver(&self, together: usize) -> LocalSettings {
        let numbers = self.problem.residual_count() * self.problem.len();
        if numbers.saturating_mul(together) <= MAX_JACOBIAN_ENTRIES {
            LocalSettings::LeastSquares(LeastSquaresSettings {
                iterations: ITERATIONS,
                ..LeastSquaresSettings::default()
            })
        } else {
            LocalSettings::Lbfgsb(LbfgsbSettings {
                iterations: ITERATIONS,
                ..LbfgsbSettings::default()
            })
        }
    }

    /// By how much a minimum may be higher for a walker to stay: a deviation of one residual, in the unit of the loss.
    fn temperature(&self) -> f64 {
        match self.problem.settings().loss.average {
            Average::Sum => 1.0,
            Average::Frames | Average::Runs => 1.0 / self.problem.residual_count().max(1) as f64,
        }
    }
}
