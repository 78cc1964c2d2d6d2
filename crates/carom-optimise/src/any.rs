//! All methods behind one type, for those who choose at run time, and for checkpoints of whatever was chosen.

use serde::{Deserialize, Serialize};

use crate::basin_hopping::{BasinHopping, BasinHoppingSettings};
use crate::cem::{Cem, CemSettings};
use crate::cma::{CmaEs, CmaSettings};
use crate::islands::{Islands, IslandsSettings};
use crate::least_squares::Fit;
use crate::local::{Descent, Local, LocalSettings};
use crate::multi_start::{MultiStart, MultiStartSettings};
use crate::optimiser::{Best, Method, Search, Status};
use crate::refined::{Refined, RefinedSettings};
use crate::request::{Answered, Proposal};
use crate::space::Space;

/// A choice of a method with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settings {
    /// One local search.
    Local(LocalSettings),
    /// CMA-ES.
    CmaEs(CmaSettings),
    /// The cross-entropy method.
    Cem(CemSettings),
    /// Local searches from many starts.
    MultiStart(MultiStartSettings),
    /// Basin hopping.
    BasinHopping(BasinHoppingSettings),
    /// Populations on islands.
    Islands(IslandsSettings),
    /// Another search, whose end is refined.
    Refined(RefinedSettings),
}

/// Any method at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AnyMethod {
    /// One local search.
    Local(Box<Local>),
    /// CMA-ES.
    CmaEs(Box<CmaEs>),
    /// The cross-entropy method.
    Cem(Box<Cem>),
    /// Local searches from many starts.
    MultiStart(Box<MultiStart>),
    /// Basin hopping.
    BasinHopping(Box<BasinHopping>),
    /// Populations on islands.
    Islands(Box<Islands>),
    /// Another search, whose end is refined.
    Refined(Box<Refined>),
}

impl Settings {
    /// A search at the start of a space. Local searches draw no random numbers.
    pub fn search(&self, space: Space, seed: u64) -> Search<AnyMethod> {
        let method = self.method(&space, seed);
        Search::new(space, method)
    }

    pub(crate) fn method(&self, space: &Space, seed: u64) -> AnyMethod {
        match self.clone() {
            Self::Local(settings) => AnyMethod::Local(Box::new(settings.start(space))),
            Self::CmaEs(settings) => AnyMethod::CmaEs(Box::new(CmaEs::new(space, settings, seed))),
            Self::Cem(settings) => AnyMethod::Cem(Box::new(Cem::new(space, settings, seed))),
            Self::MultiStart(settings) => {
                AnyMethod::MultiStart(Box::new(MultiStart::new(space, settings, seed)))
            }
            Self::BasinHopping(settings) => {
                AnyMethod::BasinHopping(Box::new(BasinHopping::new(space, settings, seed)))
            }
            Self::Islands(settings) => {
                AnyMethod::Islands(Box::new(Islands::new(space, settings, seed)))
            }
            Self::Refined(settings) => {
                AnyMethod::Refined(Box::new(Refined::new(space, settings, seed)))
            }
        }
    }
}

impl AnyMethod {
    fn as_method(&self) -> &dyn Method {
        match self {
            Self::Local(method) => &**method,
            Self::CmaEs(method) => &**method,
            Self::Cem(method) => &**method,
            Self::MultiStart(method) => &**method,
            Self::BasinHopping(method) => &**method,
            Self::Islands(method) => &**method,
            Self::Refined(method) => &**method,
        }
    }

    fn as_method_mut(&mut self) -> &mut dyn Method {
        match self {
            Self::Local(method) => &mut **method,
            Self::CmaEs(method) => &mut **method,
            Self::Cem(method) => &mut **method,
            Self::MultiStart(method) => &mut **method,
            Self::BasinHopping(method) => &mut **method,
            Self::Islands(method) => &mut **method,
            Self::Refined(method) => &mut **method,
        }
    }

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
            Local::Lbfgsb(_) | Local::Adam(_) => None,
        }
    }

    /// Whether a least-squares search found that derivatives mislead, and went on with slopes over spans.
    pub fn is_by_chords(&self) -> bool {
        match self.local() {
            Some(Local::LeastSquares(method)) => method.is_by_chords(),
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
            Self::Local(_) | Self::CmaEs(_) | Self::Cem(_) => &[],
        }
    }
}

impl Method for AnyMethod {
    fn propose(&mut self) -> Vec<Proposal> {
        self.as_method_mut().propose()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        self.as_method_mut().learn(answered);
    }

    fn best(&self) -> Option<&Best> {
        self.as_method().best()
    }

    fn status(&self) -> &Status {
        self.as_method().status()
    }
}
