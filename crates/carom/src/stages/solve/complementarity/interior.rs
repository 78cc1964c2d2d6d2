//! The interior-point method: Newton's method along a path that ends at the solution.
//!
//! In the units x = λ/μ and w = μ·u of tangents, cones are circular and all w are speeds (m/s), also those of spin and
//! rolling. With slacks y ≥ 0 of normals and ψ ≥ |w| of tangents, the law of a contact is the limit κ → 0 of
//!
//!   x(0)·y = κ,   x(0)·ψ + x·w = κ,   ψ·x + x(0)·w = 0   [Howell 2022]                       (1)
//!
//! with y = w(0). No direction of sliding enters that is undefined at rest, and nothing is lost to rounding when
//! a contact slides fast. Rows that push have the first equation only; friction loss has (η + x)·y = κ and
//! (η − x)·ψ = κ with w = y − ψ; equalities have w = 0. Linearised, and with ψ eliminated, a block reads
//!
//!   P·dx + Q·dw = c,   dw = Yᵀ·dz + R·dx + (w − y),   dz = Y·dx                             (2)
//!
//! so that T = (P + Q·R)⁻¹·Q gives a system over the dofs, however many contacts there are:
//!
//!   (1 + Y·T·Yᵀ)·dz = Y·(P + Q·R)⁻¹·(c − Q·(w − y))                                        (3)
//!
//! Steps predict and correct [Mehrotra 1992] and stop short of the bounds. Loads that contacts share in many ways
//! need no choice: κ and R make one. Where the path turns back before its end, it is followed from a problem with
//! greater R, in which loads have less choice, to the given one.

mod start;
mod step;

use super::super::law::Phase;
use crate::laws::cone::MAX_ROWS;
use crate::linalg::PartialPivotLu;

/// A matrix over the rows of a block; only its leading rows and columns are used.
type BlockMatrix = [[f64; MAX_ROWS]; MAX_ROWS];

/// What the impulses of a block may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Admitted {
    /// Everything; velocities are zero.
    All,
    /// Up to a bound, either way.
    Within(f64),
    /// What pushes.
    Push,
    /// A cone around the first row.
    Cone,
}

/// One row of a block in its own units.
#[derive(Clone, Copy)]
pub(super) struct InteriorRow<'a> {
    /// Row of Yᵀ.
    pub(super) response: &'a [f64],
    /// λ/x.
    pub(super) unit: f64,
    /// u without impulses.
    pub(super) free: f64,
    /// R.
    pub(super) mixing: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Member {
    admitted: Admitted,
    row: usize,
    count: usize,
    column: usize,
    column_count: usize,
    value: usize,
}

/// A Newton step.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    x: Vec<f64>,
    y: Vec<f64>,
    slack: Vec<f64>,
}

/// The problem of an island and its iterate. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Interior {
    members: Vec<Member>,
    columns: Vec<usize>,
    values: Vec<f64>,
    unit: Vec<f64>,
    free: Vec<f64>,
    mixing: Vec<f64>,
    /// Diagonal of Yᵀ·Y; of the tangents of a contact the greatest.
    own: Vec<f64>,
    /// R that is added for now.
    added: f64,
    x: Vec<f64>,
    /// y of normals, w of tangents; of friction loss the slack of the lower bound.
    y: Vec<f64>,
    /// ψ of each block; of friction loss the slack of the upper bound.
    slack: Vec<f64>,
    velocity: Vec<f64>,
    /// w − y of each row.
    gap: Vec<f64>,
    /// (P + Q·R)⁻¹ and T of each block.
    inverse: Vec<BlockMatrix>,
    slope: Vec<BlockMatrix>,
    right: Vec<f64>,
    momentum: Vec<f64>,
    scratch: Vec<f64>,
    step: Step,
    affine: Step,
    phase: Vec<Phase>,
    /// x at the end of the last path that was followed to its end.
    kept: Vec<f64>,
    factor: PartialPivotLu,
}

/// Maximum of Newton steps along one path.
const MAX_PATH_STEPS: usize = 50;
/// Share of the way to the bounds that a step goes, the fraction to the boundary: usually, and where that failed.
const FAST_STEP_SHARE: f64 = 0.99;
const CAREFUL_STEP_SHARE: f64 = 0.9;
/// Initial speeds of paths from far away, in units of the greatest speed without impulses.
const INITIAL_SPEED_SCALES: [f64; 3] = [1.0, 10.0, 0.1];
/// Steps shorter than this fraction make no progress; a path is given up after so many of them in a row.
const SHORT_STEP: f64 = 0.3;
const MAX_SHORT_STEPS: usize = 12;
/// Initial barrier κ as a share of residual times impulse: of a first path, and of one that continues another.
const INITIAL_BARRIER_SHARE: f64 = 1.0;
const CONTINUED_BARRIER_SHARE: f64 = 1e-2;
/// Continuation adds this share of the typical inverse inertia to R at first …
const INITIAL_REGULARIZATION: f64 = 0.1;
/// … and decreases it by this factor from path to path …
const REGULARIZATION_DECREASE: f64 = 0.1;
/// … until it is below this, when the given problem is solved.
const MIN_REGULARIZATION: f64 = 1e-9;
/// Tolerance of the problems before the given one (m/s).
const REGULARIZED_TOLERANCE: f64 = 1e-9;
/// Maximum of paths of a continuation.
const MAX_PATHS: usize = 40;
/// Smallest bound of friction loss (N·s, N·m·s), so that the interior is not empty.
const MIN_FRICTION_BOUND: f64 = 1e-14;

impl Interior {
    /// Starts an island.
    pub(super) fn start(&mut self, dof_count: usize) {
        self.members.clear();
        self.columns.clear();
        for list in [
            &mut self.values,
            &mut self.unit,
            &mut self.free,
            &mut self.mixing,
            &mut self.own,
            &mut self.x,
        ] {
            list.clear();
        }
        self.momentum.clear();
        self.momentum.resize(dof_count, 0.0);
    }

    /// Adds a block that acts on some dofs of the island.
    pub(super) fn add<'a>(
        &mut self,
        admitted: Admitted,
        columns: impl Iterator<Item = usize>,
        rows: impl Iterator<Item = InteriorRow<'a>>,
    ) {
        let (row, column) = (self.free.len(), self.columns.len());
        let value = self.values.len();
        self.columns.extend(columns);
        for row in rows {
            let unit = row.unit;
            let start = self.values.len();
            self.values
                .extend(row.response.iter().map(|&value| value * unit));
            let own = product(&self.values[start..], &self.values[start..]);
            self.unit.push(unit);
            self.free.push(row.free * unit);
            self.mixing.push(row.mixing * unit * unit);
            self.own.push(own.max(f64::MIN_POSITIVE));
            self.x.push(0.0);
        }
        let count = self.free.len() - row;
        if admitted == Admitted::Cone {
            let tangents = &mut self.own[row + 1..];
            // One unit for all tangents, so that cones stay circular.
            let greatest = tangents.iter().fold(0.0_f64, |most, &own| most.max(own));
            tangents.fill(greatest);
        }
        self.members.push(Member {
            admitted,
            row,
            count,
            column,
            column_count: self.columns.len() - column,
            value,
        });
    }

    /// The impulses, in their order.
    pub(super) fn impulses(&self) -> impl Iterator<Item = f64> {
        self.x.iter().zip(&self.unit).map(|(x, unit)| x * unit)
    }

    /// What the blocks do, in their order.
    pub(super) fn phases(&self) -> impl Iterator<Item = Phase> {
        self.phase.iter().copied()
    }

    /// Sets the impulse of a row.
    pub(super) fn set_impulse(&mut self, row: usize, impulse: f64) {
        self.x[row] = impulse / self.unit[row];
    }

    /// Follows the path from the impulses at hand; the number of steps.
    pub(super) fn solve(&mut self, tolerance: f64) -> usize {
        self.added = 0.0;
        self.center_at_hand(INITIAL_BARRIER_SHARE);
        self.follow(tolerance, FAST_STEP_SHARE).0
    }

    /// Follows paths from far away, with care; the number of steps.
    pub(super) fn solve_anew(&mut self, tolerance: f64) -> usize {
        self.added = 0.0;
        let mut steps = 0;
        for scale in INITIAL_SPEED_SCALES {
            self.center_far_away(scale);
            let (more, ends) = self.follow(tolerance, CAREFUL_STEP_SHARE);
            steps += more;
            if ends {
                break;
            }
        }
        steps
    }

    /// Follows paths of problems that come closer and closer to the given one; the number of steps.
    pub(super) fn solve_by_continuation(&mut self, tolerance: f64) -> usize {
        let typical = self.typical();
        let (mut share, mut reached, mut decrease) = (
            INITIAL_REGULARIZATION,
            f64::INFINITY,
            REGULARIZATION_DECREASE,
        );
        let mut steps = 0;
        for _ in 0..MAX_PATHS {
            let is_last = share < MIN_REGULARIZATION;
            let (added, tolerance) = if is_last {
                (0.0, tolerance)
            } else {
                (share * typical, tolerance.max(REGULARIZED_TOLERANCE))
            };
            self.added = added;
            if reached.is_finite() {
                self.center_at_hand(CONTINUED_BARRIER_SHARE);
            } else {
                self.center_far_away(1.0);
            }
            let (more, ends) = self.follow(tolerance, FAST_STEP_SHARE);
            steps += more;
            // Closer to the given problem, by longer steps the better they go.
            if ends {
                if is_last {
                    break;
                }
                self.kept.clone_from(&self.x);
                reached = share;
                decrease = (decrease * decrease).max(REGULARIZATION_DECREASE);
                share *= decrease;
            } else if reached.is_finite() {
                // Back to the last end, and on by a smaller step.
                self.x.clone_from(&self.kept);
                decrease = decrease.sqrt();
                share = reached * decrease;
            } else {
                share /= REGULARIZATION_DECREASE;
            }
        }
        self.added = 0.0;
        steps
    }

    /// Follows one path; the number of steps, and whether its end was reached. Steps go no further than a share of the
    /// way to the bounds.
    fn follow(&mut self, tolerance: f64, share: f64) -> (usize, bool) {
        let mut short = 0;
        for steps in 0..MAX_PATH_STEPS {
            self.find_velocities();
            if self.residual() <= tolerance {
                return (steps, true);
            }
            self.find_gaps();
            let kappa = self.mean_product();
            if !kappa.is_finite() || !self.linearize() {
                return (steps, false);
            }
            let length = self.advance(kappa, share);
            short = if length < SHORT_STEP { short + 1 } else { 0 };
            if short >= MAX_SHORT_STEPS {
                return (steps + 1, false);
            }
        }
        (MAX_PATH_STEPS, false)
    }

    /// Decides what the blocks do and moves their impulses on the bounds that they are next to; the residual there.
    pub(super) fn settle(&mut self) -> f64 {
        self.find_velocities();
        self.phase.clear();
        for member in &self.members {
            let row = member.row;
            let own = self.own[row] + self.give(row);
            // The projection that the law is a fixed point of says which piece a block is on.
            let wanted = self.x[row] - self.velocity[row] / own;
            let tangents = row + 1..row + member.count;
            let phase = match member.admitted {
                Admitted::Within(bound) if wanted > bound => Phase::SLIDING_DOWN,
                Admitted::Within(bound) if wanted < -bound => Phase::SLIDING_UP,
                Admitted::Push | Admitted::Cone if wanted <= 0.0 => Phase::OFF,
                Admitted::Cone => self.phase_of_tangents(tangents.clone(), wanted),
                Admitted::All | Admitted::Within(_) | Admitted::Push => Phase::QUADRATIC,
            };
            // Move it exactly onto that piece.
            match (member.admitted, phase) {
                (Admitted::Within(bound), Phase::SLIDING_DOWN) => self.x[row] = bound,
                (Admitted::Within(bound), Phase::SLIDING_UP) => self.x[row] = -bound,
                (_, Phase::OFF) => self.x[row..tangents.end].fill(0.0),
                (_, Phase::CONE) => {
                    let used = product(&self.x[tangents.clone()], &self.x[tangents.clone()]).sqrt();
                    let scale = self.x[row] / used.max(f64::MIN_POSITIVE);
                    self.x[tangents].iter_mut().for_each(|x| *x *= scale);
                }
                _ => {}
            }
            self.phase.push(phase);
        }
        self.find_velocities();
        self.residual()
    }

    /// Whether tangents stick or slide under a normal impulse.
    fn phase_of_tangents(&self, rows: std::ops::Range<usize>, normal: f64) -> Phase {
        let own = rows.clone().fold(0.0_f64, |most, row| {
            most.max(self.own[row] + self.give(row))
        });
        let wanted = rows.map(|row| self.x[row] - self.velocity[row] / own);
        let square: f64 = wanted.map(|wanted| wanted * wanted).sum();
        if square.sqrt() <= normal {
            Phase::QUADRATIC
        } else {
            Phase::CONE
        }
    }

    /// The mean inverse inertia of the first rows.
    fn typical(&self) -> f64 {
        let sum: f64 = self.members.iter().map(|member| self.own[member.row]).sum();
        sum / self.members.len().max(1) as f64
    }

    fn give(&self, row: usize) -> f64 {
        self.mixing[row] + self.added * self.unit[row] * self.unit[row]
    }

    /// Row of Yᵀ.
    fn response(&self, member: &Member, row: usize) -> &[f64] {
        &self.values[member.value + row * member.column_count..][..member.column_count]
    }

    fn columns(&self, member: &Member) -> &[usize] {
        &self.columns[member.column..][..member.column_count]
    }

    /// Yᵀ·z of a row.
    fn along(&self, member: &Member, row: usize) -> f64 {
        let pairs = self.response(member, row).iter().zip(self.columns(member));
        pairs.fold(0.0, |sum, (&value, &dof)| sum + value * self.momentum[dof])
    }

    /// z = Y·x for some list x over the rows.
    fn gather(&mut self, list: impl Fn(&Self, usize) -> f64) {
        let mut momentum = std::mem::take(&mut self.momentum);
        momentum.fill(0.0);
        for member in &self.members {
            for row in 0..member.count {
                let x = list(self, member.row + row);
                let pairs = self.response(member, row).iter().zip(self.columns(member));
                for (&value, &dof) in pairs {
                    momentum[dof] += value * x;
                }
            }
        }
        self.momentum = momentum;
    }

    /// w of all rows.
    fn find_velocities(&mut self) {
        self.gather(|this, row| this.x[row]);
        let mut velocity = std::mem::take(&mut self.velocity);
        velocity.clear();
        for member in &self.members {
            for row in 0..member.count {
                let place = member.row + row;
                let own = self.free[place] + self.give(place) * self.x[place];
                velocity.push(own + self.along(member, row));
            }
        }
        self.velocity = velocity;
    }

    /// The greatest velocity by which one projection of all rows would change an impulse [Alart 1991].
    fn residual(&self) -> f64 {
        let mut most = 0.0_f64;
        let mut note = |change: f64| {
            if change.abs() > most || change.is_nan() {
                most = change.abs();
            }
        };
        for member in &self.members {
            let at = |row: usize| {
                let place = member.row + row;
                let own = self.own[place] + self.give(place);
                (self.x[place], self.velocity[place], own)
            };
            let (x, w, own) = at(0);
            let pushed = (x - w / own).max(0.0);
            match member.admitted {
                Admitted::All => (0..member.count).for_each(|row| note(at(row).1)),
                Admitted::Within(bound) => note((x - (x - w / own).clamp(-bound, bound)) * own),
                Admitted::Push => note((x - pushed) * own),
                Admitted::Cone => {
                    note((x - pushed) * own);
                    let own = (1..member.count).fold(0.0_f64, |most, row| most.max(at(row).2));
                    let wanted = |row: usize| at(row).0 - at(row).1 / own;
                    let square: f64 = (1..member.count).map(|row| wanted(row).powi(2)).sum();
                    let scale = (pushed / square.sqrt().max(f64::MIN_POSITIVE)).min(1.0);
                    for row in 1..member.count {
                        note((at(row).0 - wanted(row) * scale) * own);
                    }
                }
            }
        }
        most
    }

    /// w − y.
    fn find_gaps(&mut self) {
        self.gap.clear();
        for (member, &slack) in self.members.iter().zip(&self.slack) {
            for row in member.row..member.row + member.count {
                let y = match member.admitted {
                    Admitted::All => 0.0,
                    Admitted::Within(_) => self.y[row] - slack,
                    Admitted::Push | Admitted::Cone => self.y[row],
                };
                self.gap.push(self.velocity[row] - y);
            }
        }
    }

    /// κ that the iterate has on average.
    fn mean_product(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (member, &slack) in self.members.iter().zip(&self.slack) {
            let (x, y) = (self.x[member.row], self.y[member.row]);
            match member.admitted {
                Admitted::All => {}
                Admitted::Within(bound) => {
                    sum += (bound + x) * y + (bound - x) * slack;
                    count += 2.0;
                }
                Admitted::Push => {
                    sum += x * y;
                    count += 1.0;
                }
                Admitted::Cone => {
                    let rows = member.row + 1..member.row + member.count;
                    sum += x * (y + slack) + product(&self.x[rows.clone()], &self.y[rows]);
                    count += 2.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

impl Admitted {
    /// A bound that leaves room inside.
    pub(super) fn within(bound: f64) -> Self {
        Self::Within(bound.max(MIN_FRICTION_BOUND))
    }
}

#[inline]
fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (&a, &b)| sum + a * b)
}
