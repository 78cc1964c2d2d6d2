//! The optimisers of an identification: names, what they need, and the settings they start with.
//!
//! A new one is a variant, a line of [`OptimiserKind::ALL`] and its settings.

use carom_optimise::{
    AdamSettings, CemSettings, CmaSettings, LbfgsbSettings, LeastSquaresSettings, LocalSettings,
    NelderMeadSettings, Restarts, Schedule, Settings as SearchSettings, Spans,
};
use serde::Deserialize;

use super::task::Task;

/// Steps of Adam unless evaluations are limited.
const ADAM_STEPS: u64 = 300;

/// The longest first step of L-BFGS, in scales of the parameters. Of the way to the bounds, this, a third and a tenth of it, this one finds the lengths of a
/// double pendulum from the most starts on records of 100 and 500 frames, and from the second most on 200.
const FIRST_STEP: f64 = 0.1;

/// How the loss is made small.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    /// Levenberg–Marquardt, or L-BFGS where the Jacobian would not fit into memory.
    #[default]
    Auto,
    /// Levenberg–Marquardt.
    Lm,
    /// L-BFGS within bounds.
    Lbfgs,
    /// Adam.
    Adam,
    /// Nelder and Mead's simplex: values alone, from one start.
    NelderMead,
    /// CMA-ES: values alone, for losses with many minima.
    Cmaes,
    /// The cross-entropy method: values alone, in large batches.
    Cem,
    /// Local searches from many starts.
    MultiStart,
    /// Basin hopping: walkers that jump from local minimum to local minimum.
    BasinHopping,
    /// Populations of local minima on islands.
    Islands,
}

use OptimiserKind::{
    Adam, Auto, BasinHopping, Cem, Cmaes, Islands, Lbfgs, Lm, MultiStart, NelderMead,
};

impl OptimiserKind {
    /// All, by name: first those that go from point to point, then those that search the whole range.
    pub const ALL: [(&'static str, Self); 10] = [
        ("auto", Auto),
        ("lm", Lm),
        ("lbfgs", Lbfgs),
        ("adam", Adam),
        ("nelder-mead", NelderMead),
        ("cmaes", Cmaes),
        ("cem", Cem),
        ("multi-start", MultiStart),
        ("basin-hopping", BasinHopping),
        ("islands", Islands),
    ];

    /// Whether it goes from point to point, and not over all of what bounds hold.
    pub fn is_local(self) -> bool {
        matches!(self, Auto | Lm | Lbfgs | Adam | NelderMead)
    }

    /// Whether it reads derivatives of the loss, and not its values alone.
    pub fn reads_derivatives(self) -> bool {
        !matches!(self, NelderMead | Cmaes | Cem)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, kind)| *kind == self);
        found.map_or("auto", |(name, _)| name)
    }

    /// Names of those that go from point to point, or of those that search the whole range, joined by commas.
    pub fn names(are_local: bool) -> String {
        let names = Self::ALL
            .iter()
            .filter(|(_, kind)| kind.is_local() == are_local);
        let names: Vec<&str> = names.map(|&(name, _)| name).collect();
        names.join(", ")
    }

    /// What it does with this question.
    pub(super) fn search_settings(self, task: &Task<'_>) -> SearchSettings {
        match self {
            Auto | Lm => SearchSettings::Local(task.least_squares()),
            Cem => SearchSettings::Cem(CemSettings::default()),
            MultiStart => task.multi_start(),
            BasinHopping => task.basin_hopping(),
            Islands => task.islands(),
            Lbfgs => {
                SearchSettings::Local(LocalSettings::Lbfgsb(LbfgsbSettings {
                    // A first step as far as bounds allow would leave the nearest minimum, and on long records ends in worse ones more often.
                    first_step: Some(FIRST_STEP),
                    ..LbfgsbSettings::default()
                }))
            }
            Adam => SearchSettings::Local(LocalSettings::Adam(AdamSettings {
                schedule: Schedule::Cosine {
                    rate: 0.03,
                    last: 0.01,
                },
                steps: task.settings.evaluations.unwrap_or(ADAM_STEPS),
                clip: Some(10.0),
                ..AdamSettings::default()
            })),
            NelderMead => {
                SearchSettings::Local(LocalSettings::NelderMead(NelderMeadSettings::default()))
            }
            Cmaes => SearchSettings::CmaEs(CmaSettings {
                restarts: Restarts::None,
                evaluations: task.settings.evaluations,
                ..CmaSettings::default()
            }),
        }
    }
}

impl Task<'_> {
    /// Levenberg–Marquardt for this question.
    pub(super) fn least_squares(&self) -> LocalSettings {
        LocalSettings::LeastSquares(LeastSquaresSettings {
            // In fixed steps, derivatives through contacts are those of roughness. Runs that have grown are followed closely.
            secants: (!self.grows()).then(Spans::default),
            // Most steps are taken, so that the Jacobian after one is wanted anyway.
            eager_jacobian: self.problem.has_cheap_jacobian(self.start()),
            ..LeastSquaresSettings::default()
        })
    }
}
