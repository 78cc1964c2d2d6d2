//! All methods behind one type, for those who choose at run time, and for checkpoints of whatever was chosen.

use crate::basin_hopping::{BasinHopping, BasinHoppingSettings};
use crate::cem::{Cem, CemSettings};
use crate::choice::choice;
use crate::cma::{CmaEs, CmaSettings};
use crate::islands::{Islands, IslandsSettings};
use crate::least_squares::Fit;
use crate::local::{Descent, Local, LocalSettings};
use crate::multi_start::{MultiStart, MultiStartSettings};
use crate::optimiser::Search;
use crate::refined::{Refined, RefinedSettings};
use crate::space::Space;

choice! {
    /// A choice of a method with its settings.
    settings Settings;
    /// Any method at work.
    at_work AnyMethod;
    begin(space: &Space, seed: u64) with settings by new(space, settings, seed);
    /// One local search.
    Local: LocalSettings, Local;
    /// CMA-ES.
    CmaEs: CmaSettings, CmaEs, default;
    /// The cross-entropy method.
    Cem: CemSettings, Cem, default;
    /// Local searches from many starts.
    MultiStart: MultiStartSettings, MultiStart;
    /// Basin hopping.
    BasinHopping: BasinHoppingSettings, BasinHopping;
    /// Populations on islands.
    Islands: IslandsSettings, Islands;
    /// Another search, whose end is refined.
    Refined: RefinedSettings, Refined;
}

impl Settings {
    /// A search at the start of a space. Local searches draw no random numbers.
    pub fn search(&self, space: Space, seed: u64) -> Search<AnyMethod> {
        let method = self.begin(&space, seed);
        Search::new(space, method)
    }
}

impl AnyMethod {
    /// The local solver that is at work alone, or refines what another search has found.
    fn local(&self) -> Option<&Local> {
        match self {
            Self::Local(local) => Some(local),
            Self::Refined(method) => method.refining(),
            _ => None,
        }
    }

    /// The point of a least-squares search with its residuals and Jacobian by scaled coordinates; none of other methods.
    pub fn fit(&self) -> Option<&Fit> {
        match self.local()? {
            Local::LeastSquares(method) => Some(method.fit()),
            _ => None,
        }
    }

    /// Whether a least-squares search found that derivatives mislead, and went on with slopes over spans.
    pub fn is_by_secants(&self) -> bool {
        match self.local() {
            Some(Local::LeastSquares(method)) => method.is_by_secants(),
            _ => false,
        }
    }

    /// How the local searches of a global one went that have ended; none of other methods.
    pub fn descents(&self) -> &[Descent] {
        match self {
            Self::MultiStart(method) => method.descents(),
            Self::BasinHopping(method) => method.descents(),
            Self::Islands(method) => method.descents(),
            Self::Refined(method) => method.search().descents(),
            _ => &[],
        }
    }
}
