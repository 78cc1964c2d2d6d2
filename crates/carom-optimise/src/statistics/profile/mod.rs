//! Profile likelihoods [Venzon 1988]: how far a parameter can move before the best fit of all others gets worse than chance
//! explains.
//!
//! For values θ of one parameter the others are fitted again; f(θ) is the least loss. Where the loss is half a sum of
//! squares in units of noise, the parameter's interval is where
//!
//!   s(θ) = √(2·(f(θ) − f̂)) ≤ q   (1)
//!
//! with q the range of a normal variable, or of Student's with the degrees of freedom that estimated the noise. s is nearly
//! a straight line on either side of the estimate, and one for a linear model, so secants find the ends in a few fits; the
//! errors of the covariance say where they would be if it were one.
//!
//! A profile is itself asked and told, both sides at a time.

mod side;

use std::error::Error;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, CheckpointError};
use crate::local::LocalSettings;
use crate::optimiser::{Best, Optimiser, Search, Status, TellError};
use crate::request::{Answer, Request};
use crate::space::{Space, SpaceError};
use crate::statistics::distribution::student_range;
use side::{Frame, Side};

/// How a profile is followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileSettings {
    /// The solver for the other parameters.
    pub local: LocalSettings,
    /// By how much the loss may rise: [`rise_of`].
    pub rise: f64,
    /// The first step from the estimate, as the covariance suggests; a tenth of the scale if this is not known.
    pub first_step: Option<f64>,
    /// The part of the rise by which an end may be missed.
    pub tolerance: f64,
    /// Fits on each side.
    pub fits: usize,
}

impl ProfileSettings {
    /// Settings for a rise.
    pub fn new(local: LocalSettings, rise: f64) -> Self {
        Self {
            local,
            rise,
            first_step: None,
            tolerance: 0.01,
            fits: 15,
        }
    }
}

/// By how much the loss ½·‖r‖² may rise for a probability, (1): the noise is known, or estimated with so many degrees of
/// freedom.
pub fn rise_of(probability: f64, noise: f64, degrees: Option<usize>) -> f64 {
    let degrees = degrees.map_or(f64::INFINITY, |degrees| degrees as f64);
    0.5 * (noise * student_range(probability, degrees)).powi(2)
}

/// A fit with the parameter held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilePoint {
    /// Where the parameter was held.
    pub held: f64,
    /// All parameters of the fit.
    pub point: Vec<f64>,
    /// Its loss; infinite if nothing could be evaluated.
    pub value: f64,
}

/// Where an interval ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProfileLimit {
    /// The loss has risen by what is allowed.
    At(f64),
    /// It has not at the parameter's bound: the data allow every value up to it.
    Bound(f64),
    /// It has not as far as was looked: the interval is open.
    Beyond(f64),
}

impl ProfileLimit {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Self::At(value) | Self::Bound(value) | Self::Beyond(value) => value,
        }
    }
}

/// A profile at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    settings: ProfileSettings,
    space: Space,
    parameter: usize,
    fit: Best,
    sides: [Side; 2],
    /// Open requests: our id, side, and the id there.
    open: Vec<(u64, usize, u64)>,
    next_id: u64,
    evaluations: u64,
}

impl Profile {
    /// Follow the profile of a parameter from a fit.
    pub fn new(
        space: &Space,
        fit: Best,
        parameter: usize,
        settings: ProfileSettings,
    ) -> Result<Self, ProfileError> {
        if !space.free().contains(&parameter) {
            return Err(ProfileError::Held { parameter });
        }
        let positive = settings.rise > 0.0 && settings.rise.is_finite();
        if !positive {
            return Err(ProfileError::Rise {
                rise: settings.rise,
            });
        }
        space
            .hold(parameter, &fit.point)
            .map_err(ProfileError::Space)?;
        let estimate = fit.point[parameter];
        let mut profile = Self {
            settings,
            space: space.clone(),
            parameter,
            fit,
            sides: [-1.0, 1.0].map(|sign| Side::new(sign, estimate)),
            open: Vec::new(),
            next_id: 0,
            evaluations: 0,
        };
        for which in 0..2 {
            profile.go_on(which);
        }
        Ok(profile)
    }

    /// The profile of a checkpoint.
    pub fn resume(bytes: &[u8]) -> Result<Self, CheckpointError> {
        checkpoint::decode(bytes)
    }

    /// Ends of the interval, lower and upper, once they are found.
    pub fn limits(&self) -> Option<[ProfileLimit; 2]> {
        Some([self.sides[0].limit?, self.sides[1].limit?])
    }

    /// All fits, from the least value of the parameter to the greatest, the estimate among them.
    pub fn points(&self) -> Vec<ProfilePoint> {
        let mut points: Vec<ProfilePoint> = self
            .sides
            .iter()
            .flat_map(|side| side.points.clone())
            .collect();
        points.push(ProfilePoint {
            held: self.fit.point[self.parameter],
            point: self.fit.point.clone(),
            value: self.fit.value,
        });
        points.sort_by(|a, b| a.held.total_cmp(&b.held));
        points
    }

    /// A fit on the way that is lower than the estimate, which then was no minimum.
    pub fn lower_fit(&self) -> Option<Best> {
        let mut best = Some(self.fit.clone());
        let points = self.sides.iter().flat_map(|side| &side.points);
        let mut found = false;
        for point in points {
            let margin = 1e-3 * self.settings.rise;
            if point.value < self.fit.value - margin {
                found |= Best::keep(&mut best, &point.point, point.value);
            }
        }
        best.filter(|_| found)
    }

    fn target(&self) -> f64 {
        (2.0 * self.settings.rise).sqrt()
    }

    /// Begin the next fit of a side, or end it.
    fn go_on(&mut self, which: usize) {
        let frame = self.frame(which);
        let Some(held) = self.sides[which].next_value(&frame) else {
            return;
        };
        let near = self.sides[which].nearest(held);
        let mut start = near.map_or_else(|| self.fit.point.clone(), |point| point.point.clone());
        start[self.parameter] = held;
        match self.space.hold(self.parameter, &start) {
            Ok(space) => {
                let solver = self.settings.local.start(&space);
                self.sides[which].search = Some((held, Search::new(space, solver)));
            }
            Err(_) => self.sides[which].limit = Some(ProfileLimit::Beyond(held)),
        }
    }

    /// What a side is to know.
    fn frame(&self, which: usize) -> Frame {
        let bounds = self.space.bounds();
        let bound = [bounds.lower(), bounds.upper()][which][self.parameter];
        let scale = self.space.scale()[self.parameter];
        let suggested = self.settings.first_step;
        let target = self.target();
        Frame {
            estimate: self.fit.point[self.parameter],
            bound,
            scale,
            first_step: suggested
                .filter(|step| step.is_finite() && *step > 0.0)
                .unwrap_or(0.1 * scale),
            target,
            tolerance: self.settings.tolerance * target,
            fits: self.settings.fits,
        }
    }

    /// Take the fits that have ended and begin the next ones.
    fn collect(&mut self) {
        for which in 0..2 {
            while let Some((held, search)) = self.sides[which].search.take() {
                if search.status().is_running() {
                    self.sides[which].search = Some((held, search));
                    break;
                }
                let (point, value) = match search.best() {
                    Some(best) => (best.point, best.value),
                    None => (search.space().start().to_vec(), f64::INFINITY),
                };
                let rise = (2.0 * (value - self.fit.value)).max(0.0).sqrt(); // (1)
                let target = self.target();
                let point = ProfilePoint { held, point, value };
                self.sides[which].arrive(point, rise, target);
                self.go_on(which);
            }
        }
    }
}

impl Optimiser for Profile {
    fn ask(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        for (which, side) in self.sides.iter_mut().enumerate() {
            let Some((_, search)) = &mut side.search else {
                continue;
            };
            for mut request in search.ask() {
                let known = (self.open.iter())
                    .find(|(_, side, inner)| *side == which && *inner == request.id);
                let id = known.map_or(self.next_id, |(id, _, _)| *id);
                if known.is_none() {
                    self.open.push((id, which, request.id));
                    self.next_id += 1;
                }
                request.id = id;
                requests.push(request);
            }
        }
        requests
    }

    fn tell(&mut self, answers: Vec<Answer>) -> Result<(), TellError> {
        for mut answer in answers {
            let id = answer.id;
            let Some(place) = self.open.iter().position(|(open, _, _)| *open == id) else {
                return Err(TellError::Unknown { id });
            };
            let (_, which, inner) = self.open[place];
            answer.id = inner;
            if let Some((_, search)) = &mut self.sides[which].search {
                search.tell(vec![answer])?;
                self.evaluations += 1;
            }
            self.open.remove(place);
        }
        self.collect();
        Ok(())
    }

    fn best(&self) -> Option<Best> {
        Some(self.lower_fit().unwrap_or_else(|| self.fit.clone()))
    }

    fn status(&self) -> Status {
        match self.limits() {
            None => Status::Running,
            Some(limits) if limits.iter().all(|l| matches!(l, ProfileLimit::At(_))) => {
                Status::Converged("both ends of the interval are found".into())
            }
            Some(_) => Status::Finished("the interval is open or ends at a bound".into()),
        }
    }

    fn evaluations(&self) -> u64 {
        self.evaluations
    }

    fn checkpoint(&self) -> Result<Vec<u8>, CheckpointError> {
        checkpoint::encode(self)
    }
}

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfileError {
    /// The parameter is held.
    Held {
        /// The index of the parameter.
        parameter: usize,
    },
    /// The rise is not positive.
    Rise {
        /// The rise.
        rise: f64,
    },
    /// The fit lies outside of the space.
    Space(SpaceError),
}

impl Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { parameter } => {
                write!(
                    f,
                    "parameter {parameter} is held or does not exist: free it"
                )
            }
            Self::Rise { rise } => write!(
                f,
                "the loss may rise by {rise}: give a positive number, as `rise_of` does"
            ),
            Self::Space(error) => error.fmt(f),
        }
    }
}

impl Error for ProfileError {}
