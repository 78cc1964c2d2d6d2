//! A search, and a local one from where it has ended: a coarse look around first, and the best of it to the last digit.

use serde::{Deserialize, Serialize};

use crate::any::{AnyMethod, Settings};
use crate::bounds::Bounds;
use crate::local::{Local, LocalSettings};
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Proposal};
use crate::space::Space;

/// Settings of a search whose end is refined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefinedSettings {
    /// The search.
    pub search: Box<Settings>,
    /// The local solver that starts at its lowest point.
    pub local: LocalSettings,
}

/// A search whose end is refined, at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refined {
    search: AnyMethod,
    local: LocalSettings,
    bounds: Bounds,
    /// The local solver, once the search has ended.
    refining: Option<Local>,
    status: Status,
}

impl Refined {
    /// Start at the start of a space.
    pub fn new(space: &Space, settings: RefinedSettings, seed: u64) -> Self {
        Self {
            search: settings.search.begin(space, seed),
            local: settings.local,
            bounds: space.scaled_bounds(),
            refining: None,
            status: Status::Running,
        }
    }

    /// The search whose end is refined.
    pub fn search(&self) -> &AnyMethod {
        &self.search
    }

    /// The local solver, once the search has ended.
    pub fn refining(&self) -> Option<&Local> {
        self.refining.as_ref()
    }

    /// The search has ended: go on from its lowest point.
    fn refine(&mut self) {
        match self.search.best() {
            Some(best) => {
                let local = self.local.begin(best.point.clone(), self.bounds.clone());
                self.refining = Some(local);
            }
            None => self.status = self.search.status().clone(),
        }
    }

    /// The local solver has ended. If it is stuck, the end of the search counts: that point is no worse for it.
    fn end(&mut self, refined: &Status) {
        let first = self.search.status();
        let both = || format!("{}, then {}", first.reason(), refined.reason());
        self.status = match (first, refined) {
            (_, Status::Converged(_)) | (Status::Converged(_), _) => Status::Converged(both()),
            (Status::Finished(_), _) | (_, Status::Finished(_)) => Status::Finished(both()),
            _ => Status::Stalled(both()),
        };
    }
}

impl Method for Refined {
    fn propose(&mut self) -> Vec<Proposal> {
        match &mut self.refining {
            Some(local) => local.propose(),
            None => self.search.propose(),
        }
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        if let Some(local) = &mut self.refining {
            local.learn(answered);
            let status = local.status().clone();
            if !status.is_running() {
                self.end(&status);
            }
            return;
        }
        self.search.learn(answered);
        if !self.search.status().is_running() {
            self.refine();
        }
    }

    fn best(&self) -> Option<&Best> {
        let refined = self.refining.as_ref().and_then(Method::best);
        match (self.search.best(), refined) {
            (Some(first), Some(refined)) if refined.value < first.value => Some(refined),
            (first, refined) => first.or(refined),
        }
    }

    fn status(&self) -> &Status {
        &self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cma::{CmaSettings, CmaTolerances};
    use crate::least_squares::{LeastSquaresSettings, Spans};
    use crate::linalg::Matrix;
    use crate::minimise::{Limits, OneByOne, Unobserved, minimise};
    use crate::multi_start::MultiStartSettings;
    use crate::optimiser::Optimiser;
    use crate::request::{Evaluation, Failure, Outcome, Request, Want};

    fn least_squares(secants: Option<Spans>) -> LocalSettings {
        LocalSettings::LeastSquares(LeastSquaresSettings {
            secants,
            ..LeastSquaresSettings::default()
        })
    }

    fn end_of(
        settings: &Settings,
        answer: impl FnMut(&Request) -> Outcome,
    ) -> (Option<Best>, Status) {
        let bounds = Bounds::new(vec![-2.0, -2.0], vec![2.0, 2.0]).unwrap();
        let space = Space::new(vec![1.0, 0.5], bounds).unwrap();
        let mut search = settings.search(space, 1);
        let limits = Limits::default();
        minimise(&mut search, &mut OneByOne(answer), &limits, &mut Unobserved).unwrap();
        (search.best(), search.status())
    }

    /// A bowl around (0.3, −0.2) with ripples, whose derivatives are those of the ripples.
    #[allow(clippy::unnecessary_wraps, reason = "what evaluators answer")]
    fn rippled(request: &Request) -> Outcome {
        let ripple = |x: f64| 2e-4 * (x / 1e-5).sin();
        let slope = |x: f64| 20.0 * (x / 1e-5).cos();
        let [x, y] = [request.point[0], request.point[1]];
        let residuals = vec![x - 0.3 + ripple(x), y + 0.2 + ripple(y), 0.1];
        Ok(match request.want {
            Want::Jacobian => Evaluation::Jacobian {
                residuals,
                jacobian: Matrix::from_rows(&[
                    &[1.0 + slope(x), 0.0],
                    &[0.0, 1.0 + slope(y)],
                    &[0.0, 0.0],
                ]),
            },
            Want::Residuals => Evaluation::Residuals(residuals),
            _ => Evaluation::Value(0.5 * residuals.iter().map(|r| r * r).sum::<f64>()),
        })
    }

    #[test]
    fn the_lowest_of_many_starts_is_refined_where_derivatives_mislead() {
        let many = Settings::MultiStart(MultiStartSettings::new(least_squares(None), 4));
        let above = |best: &Best| best.value - 0.5 * 0.1 * 0.1;
        let (stuck, _) = end_of(&many, rippled);
        let refined = Settings::Refined(RefinedSettings {
            search: Box::new(many),
            local: least_squares(Some(Spans::default())),
        });
        let (best, status) = end_of(&refined, rippled);
        let (stuck, best) = (stuck.unwrap(), best.unwrap());
        assert!(above(&stuck) > 1e-3, "{stuck:?}");
        assert!(above(&best) < 1e-6, "{best:?}");
        assert!(matches!(status, Status::Converged(_)), "{status:?}");
        assert!(
            status.reason().contains("of 4 local searches"),
            "{status:?}"
        );
    }

    #[test]
    fn values_alone_are_refined_by_derivatives() {
        let smooth = |request: &Request| {
            let [x, y] = [request.point[0], request.point[1]];
            let residuals = vec![x - 0.3, y + 0.2 + x * x];
            Ok(match request.want {
                Want::Jacobian => Evaluation::Jacobian {
                    residuals,
                    jacobian: Matrix::from_rows(&[&[1.0, 0.0], &[2.0 * x, 1.0]]),
                },
                _ => Evaluation::Residuals(residuals),
            })
        };
        let coarse = CmaSettings {
            tolerances: CmaTolerances {
                value: 1e-2,
                ..CmaTolerances::default()
            },
            ..CmaSettings::default()
        };
        let refined = Settings::Refined(RefinedSettings {
            search: Box::new(Settings::CmaEs(coarse)),
            local: least_squares(None),
        });
        let (best, _) = end_of(&refined, smooth);
        let best = best.unwrap();
        assert!(best.value < 1e-20, "{best:?}");
    }

    #[test]
    fn a_search_that_finds_nothing_ends() {
        let many = Settings::MultiStart(MultiStartSettings::new(least_squares(None), 3));
        let refined = Settings::Refined(RefinedSettings {
            search: Box::new(many),
            local: least_squares(None),
        });
        let (best, status) = end_of(&refined, |_| Err(Failure::new("nothing")));
        assert_eq!(best, None);
        assert!(status.reason().contains("nothing"), "{status:?}");
    }
}
