//! The simplex search of Nelder and Mead [Nelder 1965] within bounds, with restarts.
//!
//! A simplex has n + 1 vertices, sorted by value from u₀, the lowest, to uₙ. With the centre c of all but the last, a step
//! tries
//!
//!   reflection            P(c + (c − uₙ))              (1)
//!   expansion             P(c + β·(c − uₙ))            (2)
//!   contraction, outside  P(c + γ·(c − uₙ))            (3)
//!   contraction, inside   P(c − γ·(c − uₙ))            (4)
//!   shrinking, i ≥ 1      u₀ + δ·(uᵢ − u₀)             (5)
//!
//! where P moves into the bounds, and β = 1 + 2/n, γ = 3/4 − 1/(2n), δ = 1 − 1/n suit the number of parameters
//! [Gao 2012, eq. 4.1]. A vertex that cannot be evaluated is higher than any other. A simplex that has become small may have
//! collapsed, onto a bound above all: a new one around the lowest point then goes on, until that finds nothing lower.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::linalg::add_scaled;
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Proposal, Want};
use crate::space::Space;

/// Settings of the simplex search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NelderMeadSettings {
    /// Edges of a new simplex, in scaled coordinates.
    pub edge: f64,
    /// A simplex is small once all vertices are as close as this to the lowest, in scaled coordinates.
    pub tolerance: f64,
    /// A restart must lower the value by this part of it to be followed by another one.
    pub least_gain: f64,
    /// Most restarts.
    pub restarts: u32,
    /// Most steps, of all simplices together.
    pub steps: u64,
}

impl Default for NelderMeadSettings {
    fn default() -> Self {
        Self {
            edge: 0.1,
            tolerance: 1e-7,
            least_gain: 1e-9,
            restarts: 10,
            steps: 3000,
        }
    }
}

/// No parameter is sought farther from zero than this, in scaled coordinates: losses without a minimum end there.
const MAX_DISTANCE: f64 = 1e9;

/// What the open batch is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Move {
    /// A new simplex: all its vertices, without the lowest where that is known from before.
    Begin,
    Reflect,
    Expand {
        reflected: Best,
    },
    /// The bar that the contracted point must not exceed: the reflected point outside, the last vertex inside.
    Contract {
        bar: f64,
    },
    Shrink,
}

/// The simplex search at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NelderMead {
    settings: NelderMeadSettings,
    bounds: Bounds,
    /// From the lowest value to the highest.
    vertices: Vec<Best>,
    /// The move that is under way, and its points.
    under_way: Move,
    points: Vec<Vec<f64>>,
    steps: u64,
    restarts: u32,
    /// The lowest value when the simplex began.
    value_before: f64,
    best: Option<Best>,
    status: Status,
}

impl NelderMead {
    /// Start at the start of a space.
    pub fn new(space: &Space, settings: NelderMeadSettings) -> Self {
        Self::from_point(space.scaled_start(), space.scaled_bounds(), settings)
    }

    /// Start at a scaled point.
    pub(crate) fn from_point(
        point: Vec<f64>,
        bounds: Bounds,
        settings: NelderMeadSettings,
    ) -> Self {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let status = if point.is_empty() {
            Status::Finished("all parameters are held".into())
        } else if !positive(settings.edge) || !positive(settings.tolerance) {
            Status::Stalled("edge and tolerance must be positive numbers".into())
        } else {
            Status::Running
        };
        let mut method = Self {
            settings,
            bounds,
            vertices: Vec::new(),
            under_way: Move::Begin,
            points: Vec::new(),
            steps: 0,
            restarts: 0,
            value_before: f64::INFINITY,
            best: None,
            status,
        };
        method.points = method.neighbours(&point);
        method.points.insert(0, point);
        method
    }

    /// Restarts so far.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// A point on each axis, an edge away from the centre, on the side where there is more room if an edge does not fit.
    fn neighbours(&self, centre: &[f64]) -> Vec<Vec<f64>> {
        let edge = self.settings.edge;
        (0..centre.len())
            .map(|axis| {
                let room = [
                    self.bounds.upper()[axis] - centre[axis],
                    centre[axis] - self.bounds.lower()[axis],
                ];
                let shift = if room[0] >= edge || room[0] >= room[1] {
                    edge.min(room[0])
                } else {
                    -edge.min(room[1])
                };
                let mut point = centre.to_vec();
                point[axis] += shift;
                self.inside(point)
            })
            .collect()
    }

    /// The point within the bounds, and not farther than a search goes.
    fn inside(&self, mut point: Vec<f64>) -> Vec<f64> {
        for value in &mut point {
            *value = value.clamp(-MAX_DISTANCE, MAX_DISTANCE);
        }
        self.bounds.project(&mut point);
        point
    }

    /// P(c + factor·(c − uₙ)).
    fn beyond_centre(&self, factor: f64) -> Vec<f64> {
        let (last, others) = match self.vertices.split_last() {
            Some((last, others)) if !others.is_empty() => (last, others),
            _ => return Vec::new(), // a simplex has two vertices at least
        };
        let share = 1.0 / others.len() as f64;
        let mut centre = vec![0.0; last.point.len()];
        for vertex in others {
            add_scaled(&mut centre, share, &vertex.point);
        }
        let mut point = centre.clone();
        add_scaled(&mut point, factor, &centre);
        add_scaled(&mut point, -factor, &last.point);
        self.inside(point)
    }

    /// β, γ and δ of the module's description. One parameter takes those of two, whose δ is not zero.
    fn coefficients(&self) -> [f64; 3] {
        let n = self.vertices.len().saturating_sub(1).max(2) as f64;
        [1.0 + 2.0 / n, 0.75 - 0.5 / n, 1.0 - 1.0 / n]
    }

    fn ask_for(&mut self, under_way: Move, points: Vec<Vec<f64>>) {
        self.under_way = under_way;
        self.points = points;
    }

    /// Puts a vertex in the place of the last and goes on.
    fn replace_last(&mut self, vertex: Best) {
        self.vertices.pop();
        self.vertices.push(vertex);
        self.next_step();
    }

    /// Sorts the simplex and begins a step, or ends.
    fn next_step(&mut self) {
        // Stable, so that of equal vertices the older one stays in front.
        self.vertices.sort_by(|a, b| a.value.total_cmp(&b.value));
        if self.vertices[0].value.is_infinite() {
            self.status = Status::Stalled("no vertex of the simplex can be evaluated".into());
            return;
        }
        let lowest = &self.vertices[0];
        let distance = |vertex: &Best| {
            let apart = vertex.point.iter().zip(&lowest.point);
            apart.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let width = self.vertices.iter().map(distance).fold(0.0, f64::max);
        if width <= self.settings.tolerance {
            self.restart(width);
        } else if self.steps >= self.settings.steps {
            self.status = Status::Finished(format!("all {} steps are done", self.settings.steps));
        } else {
            self.steps += 1;
            let reflected = self.beyond_centre(1.0); // (1)
            self.ask_for(Move::Reflect, vec![reflected]);
        }
    }

    /// A new simplex around the lowest point, unless the one before found nothing lower.
    fn restart(&mut self, width: f64) {
        let lowest = self.vertices[0].clone();
        let gain = self.value_before - lowest.value;
        // Not the negation of `<=`: the first simplex gains infinitely, which is not finite times anything.
        let is_lower = gain > self.settings.least_gain * lowest.value.abs();
        if !is_lower {
            self.status = Status::Converged(format!(
                "the simplex is {width:.1e} wide, and a new one around it found nothing lower"
            ));
        } else if self.restarts >= self.settings.restarts {
            self.status =
                Status::Finished(format!("all {} restarts are done", self.settings.restarts));
        } else {
            self.restarts += 1;
            self.value_before = lowest.value;
            let points = self.neighbours(&lowest.point);
            self.vertices = vec![lowest];
            self.ask_for(Move::Begin, points);
        }
    }

    fn after_reflection(&mut self, reflected: Best) {
        let value = |at: usize| self.vertices[at].value;
        let last = self.vertices.len() - 1;
        let [expansion, contraction, _] = self.coefficients();
        if reflected.value < value(0) {
            let expanded = self.beyond_centre(expansion); // (2)
            self.ask_for(Move::Expand { reflected }, vec![expanded]);
        } else if reflected.value < value(last - 1) {
            self.replace_last(reflected);
        } else if reflected.value < value(last) {
            let bar = reflected.value;
            let outside = self.beyond_centre(contraction); // (3)
            self.ask_for(Move::Contract { bar }, vec![outside]);
        } else {
            let bar = value(last);
            let inside = self.beyond_centre(-contraction); // (4)
            self.ask_for(Move::Contract { bar }, vec![inside]);
        }
    }

    fn shrink(&mut self) {
        let [_, _, shrinking] = self.coefficients();
        let lowest = self.vertices[0].point.clone();
        let towards = |vertex: &Best| {
            let pairs = vertex.point.iter().zip(&lowest);
            pairs.map(|(u, u0)| u0 + shrinking * (u - u0)).collect() // (5)
        };
        let points: Vec<Vec<f64>> = self.vertices[1..].iter().map(towards).collect();
        let points = points.into_iter().map(|point| self.inside(point)).collect();
        self.ask_for(Move::Shrink, points);
    }
}

impl Method for NelderMead {
    fn propose(&mut self) -> Vec<Proposal> {
        let proposal = |point: &Vec<f64>| Proposal {
            point: point.clone(),
            want: Want::Value,
        };
        self.points.iter().map(proposal).collect()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        let first_failure = answered.iter().find_map(|a| a.outcome.as_ref().err());
        let first_failure = first_failure.map(|failure| failure.reason.clone());
        let mut found: Vec<Best> = Vec::with_capacity(answered.len());
        for answer in answered {
            let value = answer
                .outcome
                .as_ref()
                .map_or(f64::INFINITY, |_| answer.value());
            Best::keep(&mut self.best, &answer.point, value);
            let point = answer.point;
            found.push(Best { point, value });
        }
        match std::mem::replace(&mut self.under_way, Move::Begin) {
            Move::Begin => {
                self.vertices.append(&mut found);
                if self.best.is_none() {
                    let reason = first_failure.unwrap_or_default();
                    self.status = Status::Stalled(format!(
                        "neither the start nor its neighbours can be evaluated: {reason}; start elsewhere"
                    ));
                    return;
                }
                self.next_step();
            }
            Move::Shrink => {
                self.vertices.truncate(1);
                self.vertices.append(&mut found);
                self.next_step();
            }
            single => {
                let Some(tried) = found.pop() else { return };
                match single {
                    Move::Expand { reflected } if reflected.value <= tried.value => {
                        self.replace_last(reflected);
                    }
                    Move::Expand { .. } => self.replace_last(tried),
                    // A failure is infinite, and never below a bar, were the bar infinite too.
                    Move::Contract { bar } if tried.value.is_finite() && tried.value <= bar => {
                        self.replace_last(tried);
                    }
                    Move::Contract { .. } => self.shrink(),
                    _ => self.after_reflection(tried),
                }
            }
        }
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}

#[cfg(test)]
mod tests {
    use super::{NelderMead, NelderMeadSettings};
    use crate::{
        Best, Bounds, Evaluation, Failure, Limits, OneByOne, Optimiser, Outcome, Request, Search,
        Space, Status, Unobserved, minimise,
    };

    fn search(start: &[f64], bounds: [f64; 2]) -> Search<NelderMead> {
        let [lower, upper] = bounds.map(|bound| vec![bound; start.len()]);
        let bounds = Bounds::new(lower, upper).unwrap();
        let space = Space::new(start.to_vec(), bounds).unwrap();
        let space = space.with_scale(vec![1.0; start.len()]).unwrap();
        let method = NelderMead::new(&space, NelderMeadSettings::default());
        Search::new(space, method)
    }

    fn run(
        search: &mut Search<NelderMead>,
        loss: impl Fn(&[f64]) -> Result<f64, Failure>,
    ) -> Option<Best> {
        let evaluate =
            |request: &Request| -> Outcome { loss(&request.point).map(Evaluation::Value) };
        let limits = Limits::default();
        minimise(search, &mut OneByOne(evaluate), &limits, &mut Unobserved).unwrap();
        search.best()
    }

    /// Banana-shaped: the least value, 0, is at (1, 1, …).
    fn valley(x: &[f64]) -> f64 {
        x.windows(2)
            .map(|pair| 100.0 * (pair[1] - pair[0].powi(2)).powi(2) + (1.0 - pair[0]).powi(2))
            .sum()
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        for start in [&[-1.2, 1.0][..], &[-1.2, 1.0, -0.5, 0.8, 1.1, 0.2]] {
            let mut search = search(start, [-f64::INFINITY, f64::INFINITY]);
            let best = run(&mut search, |x| Ok(valley(x))).unwrap();
            assert!(best.value < 1e-10, "{best:?}: {:?}", search.status());
            assert!(matches!(search.status(), Status::Converged(_)));
        }
    }

    #[test]
    fn one_parameter_is_enough() {
        let mut search = search(&[5.0], [0.0, 10.0]);
        let best = run(&mut search, |x| Ok((x[0] - 2.5).powi(4) + 1.0)).unwrap();
        assert!((best.point[0] - 2.5).abs() < 1e-2, "{best:?}");
        assert!((best.value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_minimum_in_a_corner_of_the_bounds_is_met_to_the_bit() {
        for start in [0.2, 1.0, 0.6] {
            let mut search = search(&[start; 4], [0.2, 1.0]);
            let pull = |x: &[f64]| Ok(x.iter().zip(1..).map(|(x, k)| f64::from(k) * x).sum());
            let best = run(&mut search, pull).unwrap();
            assert_eq!(best.point, [0.2; 4], "from {start}: {:?}", search.status());
        }
    }

    #[test]
    fn a_simplex_that_collapses_onto_a_bound_starts_again() {
        // Down the slope of the first parameter onto the bound, then along it.
        let mut search = search(&[0.9, 3.0], [0.0, 4.0]);
        let loss = |x: &[f64]| Ok(50.0 * x[0] + (x[1] - 1.0).powi(2));
        let best = run(&mut search, loss).unwrap();
        assert_eq!(best.point[0], 0.0);
        assert!((best.point[1] - 1.0).abs() < 1e-4, "{best:?}");
        assert!(search.method().restarts() > 0);
    }

    #[test]
    fn points_that_fail_are_walked_around_and_a_dead_start_is_named() {
        let wall = |x: &[f64]| match x[0] {
            x if x > 1.02 => Err(Failure::new("the wall")),
            _ => Ok((x[0] - 1.0).powi(2) + (x[1] - 1.0).powi(2)),
        };
        let best = run(&mut search(&[0.0, 0.0], [-5.0, 5.0]), wall).unwrap();
        assert!(best.value < 1e-9, "{best:?}");
        let mut dead = search(&[2.0, 0.0], [-5.0, 5.0]);
        assert_eq!(run(&mut dead, wall), None);
        let reason =
            "neither the start nor its neighbours can be evaluated: the wall; start elsewhere";
        assert_eq!(dead.status(), Status::Stalled(reason.into()));
    }

    #[test]
    fn a_loss_without_a_minimum_ends() {
        let mut search = search(&[0.0, 0.0], [-f64::INFINITY, f64::INFINITY]);
        let best = run(&mut search, |x| Ok(-x[0] - x[1])).unwrap();
        assert!(best.value < -1e8 && best.value.is_finite());
        assert!(!search.status().is_running());
    }
}
