//! Newton's method on all rows at once, for islands that the sweeps do not settle.
//!
//! Sliding speeds near zero and loads shared among more contacts than needed leave Newton's method on the
//! active set without a derivative or without rank. A proximal term gives both: for impulses λᵏ
//! and a diagonal E > 0, velocities
//!
//!   û = u + E·(λ − λᵏ),   u = Yᵀ·z + b + R·λ                                            (1)
//!
//! are to complement λ. In units of x = λ/μ, with E chosen so that μ²·(R + E) is one number for all tangents of a
//! contact, each block is solved in closed form [Alart 1991]:
//!
//!   y = (E·λᵏ − Yᵀ·z − b)/(R + E)
//!   λ(0) = max(0, y(0)),   x = y·min(1, λ(0)/|y|) of the tangents                           (2)
//!
//! No direction of sliding enters, only that of y, which is longer than λ(0) wherever (2) cuts it. What is left is
//! F(z) = z − Y·λ(z) = 0, over the dofs however many contacts there are, with the derivative 1 + Y·D·Yᵀ, D = −∂λ/∂u.
//! Newton's method with a line search on |F| solves it, then λᵏ ← λ, until E·(λ − λᵏ) is within the tolerance. E
//! falls while that goes well.

use super::rows::BlockMatrix;
use super::sweep::{Island, Iterate};
use crate::laws::cone::MAX_ROWS;
use crate::linalg::CompletePivotLu;
use crate::stages::constraint::{Block, BlockKind};

/// Islands with more dofs are left to the sweeps.
const MOST_DOFS: usize = 300;
/// The most changes of λᵏ, and Newton steps for each.
const CENTRES: usize = 30;
const STEPS: usize = 15;
/// E as a share of the inverse inertia: the values to start from, one attempt after the other, and the least and
/// the greatest.
const START: [f64; 4] = [1e-2, 1.0, 1e-4, 0.1];
const LEAST: f64 = 1e-4;
const GREATEST: f64 = 10.0;
/// Decrease of |F|² that a step of the line search must bring, as a share of its length.
const DECREASE: f64 = 1e-4;
const HALVINGS: usize = 10;
/// Rounding of velocities, and what is put down to it where no step helps any more.
const ROUNDING: f64 = 2e-16;
const STALLED: f64 = 1e-14;
/// Coefficients below count as this.
const MIN_FRICTION: f64 = 1e-10;

/// Room for the method; lists over all rows or all dofs. All keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Proximal {
    /// Dofs of the island, and where each is among them.
    dofs: Vec<usize>,
    place: Vec<usize>,
    /// E as a share of the inverse inertia, and the greatest root of an inverse inertia.
    share: f64,
    reach: f64,
    /// E and R + E of the rows.
    hold: Vec<f64>,
    give: Vec<f64>,
    /// λᵏ and λ(z).
    centre: Vec<f64>,
    impulse: Vec<f64>,
    /// z, one that is tried, and F there.
    momentum: Vec<f64>,
    trial: Vec<f64>,
    defect: Vec<f64>,
    direction: Vec<f64>,
    scratch: Vec<f64>,
    factor: CompletePivotLu,
}

impl Proximal {
    /// Looks for impulses from those of `iterate`, and puts them there; false if the island is too large.
    pub(super) fn solve(
        &mut self,
        island: &Island<'_>,
        attempt: usize,
        tolerance: f64,
        iterate: &mut Iterate<'_>,
    ) -> bool {
        if !self.start(island, iterate) {
            return false;
        }
        let mut share = START[attempt % START.len()];
        for _ in 0..CENTRES {
            self.set_hold(island, share);
            self.momentum.copy_from_slice(iterate.momentum);
            if !self.descend(island, tolerance) {
                // Firmer blocks are easier to solve, but they come less far.
                if share >= GREATEST {
                    break;
                }
                share = (share * 10.0).min(GREATEST);
                continue;
            }
            let change = self.recentre(island, iterate);
            if change <= 0.1 * tolerance {
                break;
            }
            share = (share * 0.1).max(LEAST);
        }
        for (_, block) in island.members() {
            iterate.impulse[block.rows()].copy_from_slice(&self.centre[block.rows()]);
        }
        true
    }

    /// Finds the dofs and copies the impulses.
    fn start(&mut self, island: &Island<'_>, iterate: &Iterate<'_>) -> bool {
        let (rows, dofs) = (iterate.impulse.len(), iterate.momentum.len());
        self.place.clear();
        self.place.resize(dofs, usize::MAX);
        self.dofs.clear();
        for &index in island.members {
            for &dof in island.response.block(index, 0).columns {
                if self.place[dof] == usize::MAX {
                    self.place[dof] = self.dofs.len();
                    self.dofs.push(dof);
                }
            }
        }
        for list in [&mut self.hold, &mut self.give, &mut self.impulse] {
            list.resize(rows, 0.0);
        }
        for list in [&mut self.momentum, &mut self.trial, &mut self.defect] {
            list.resize(dofs, 0.0);
        }
        self.centre.clear();
        self.centre.extend_from_slice(iterate.impulse);
        !self.dofs.is_empty() && self.dofs.len() <= MOST_DOFS
    }

    /// E as a share of the inverse inertia, one number for all tangents of a contact in the units of x.
    fn set_hold(&mut self, island: &Island<'_>, share: f64) {
        (self.share, self.reach) = (share, f64::MIN_POSITIVE);
        for (index, block) in island.members() {
            let response = island.response.block(index, block.row_count);
            for row in 0..block.row_count {
                self.reach = self.reach.max(response.inner(row, row).sqrt());
            }
            let mixing = island.mixing[index];
            let friction = &island.friction[block.rows()];
            let own = |row: usize| mixing + share * response.inner(row, row).max(f64::EPSILON);
            let tangent = (1..block.row_count).fold(0.0_f64, |most, row| {
                most.max(own(row) * coefficient(friction[row]).powi(2))
            });
            for (row, place) in block.rows().enumerate() {
                self.give[place] = if row > 0 && is_cone(block) {
                    tangent / coefficient(friction[row]).powi(2)
                } else {
                    own(row)
                };
                self.hold[place] = self.give[place] - mixing;
            }
        }
    }

    /// Newton's method on F from the momentum at hand; whether it got to where F counts as zero.
    fn descend(&mut self, island: &Island<'_>, tolerance: f64) -> bool {
        self.trial.copy_from_slice(&self.momentum);
        let mut merit = self.evaluate(island);
        for _ in 0..STEPS {
            if self.is_solved(merit, tolerance, ROUNDING) {
                return true;
            }
            if !merit.is_finite() {
                return false;
            }
            self.find_direction(island);
            let mut length = 1.0;
            let mut next = f64::INFINITY;
            for _ in 0..HALVINGS {
                for (place, &dof) in self.dofs.iter().enumerate() {
                    self.trial[dof] = self.momentum[dof] - length * self.direction[place];
                }
                next = self.evaluate(island);
                if next <= (1.0 - DECREASE * length) * merit {
                    break;
                }
                length *= 0.5;
            }
            if next.is_nan() || next >= merit {
                return self.is_solved(merit, tolerance, STALLED);
            }
            for &dof in &self.dofs {
                self.momentum[dof] = self.trial[dof];
            }
            merit = next;
        }
        self.is_solved(merit, tolerance, ROUNDING)
    }

    /// Whether |F| is below the tolerance in velocities Yᵀ·F, or what rounding of velocities makes of it through 1/E.
    fn is_solved(&self, merit: f64, tolerance: f64, rounding: f64) -> bool {
        let square = self.dofs.iter().fold(0.0, |sum, &dof| {
            sum + self.momentum[dof] * self.momentum[dof]
        });
        let noise = rounding / self.share * square.sqrt();
        merit.sqrt() <= (0.1 * tolerance / self.reach).max(noise)
    }

    /// λ and F at the momentum that is tried; |F|².
    fn evaluate(&mut self, island: &Island<'_>) -> f64 {
        for &dof in &self.dofs {
            self.defect[dof] = -self.trial[dof];
        }
        for (index, block) in island.members() {
            let wanted = self.wanted(island, index, &self.trial);
            let impulse = &mut self.impulse[block.rows()];
            impulse.copy_from_slice(&wanted[..block.row_count]);
            admit(island, block, impulse);
            let response = island.response.block(index, block.row_count);
            for (row, &impulse) in impulse.iter().enumerate() {
                response.add(row, impulse, &mut self.defect);
            }
        }
        let square = |sum: f64, &dof: &usize| sum + self.defect[dof] * self.defect[dof];
        self.dofs.iter().fold(0.0, square)
    }

    /// y of a block. (2)
    fn wanted(&self, island: &Island<'_>, index: usize, momentum: &[f64]) -> [f64; MAX_ROWS] {
        let block = &island.blocks[index];
        let response = island.response.block(index, block.row_count);
        let mut wanted = [0.0; MAX_ROWS];
        for (row, place) in block.rows().enumerate() {
            let velocity = island.free[place] + response.dot(row, momentum);
            wanted[row] = (self.hold[place] * self.centre[place] - velocity) / self.give[place];
        }
        wanted
    }

    /// Solves (1 + Y·D·Yᵀ)·x = F for F of the last evaluation but with the sign of z − Y·λ.
    fn find_direction(&mut self, island: &Island<'_>) {
        let size = self.dofs.len();
        self.trial.copy_from_slice(&self.momentum);
        self.evaluate(island);
        self.direction.clear();
        self.direction
            .extend(self.dofs.iter().map(|&dof| -self.defect[dof]));
        self.factor.start(size);
        for place in 0..size {
            let row = self.factor.row_mut(place);
            row.fill(0.0);
            row[place] = 1.0;
        }
        for (index, block) in island.members() {
            let wanted = self.wanted(island, index, &self.momentum);
            let give = &self.give[block.rows()];
            let slope = slope(island, block, &wanted, give);
            let response = island.response.block(index, block.row_count);
            for (i, slope) in slope[..block.row_count].iter().enumerate() {
                if slope.iter().all(|&entry| entry == 0.0) {
                    continue;
                }
                for (column, &dof) in response.columns.iter().enumerate() {
                    let product = (0..block.row_count)
                        .fold(0.0, |sum, j| sum + slope[j] * response.row(j)[column]);
                    for (&value, &other) in response.row(i).iter().zip(response.columns) {
                        self.factor.row_mut(self.place[other])[self.place[dof]] += value * product;
                    }
                }
            }
        }
        self.factor.factor();
        self.scratch.clear();
        self.scratch.resize(size, 0.0);
        self.factor.solve(&mut self.direction, &mut self.scratch);
    }

    /// λᵏ ← λ, and z of `iterate` to match; the greatest velocity E·(λ − λᵏ) that the proximal term held.
    fn recentre(&mut self, island: &Island<'_>, iterate: &mut Iterate<'_>) -> f64 {
        self.trial.copy_from_slice(&self.momentum);
        self.evaluate(island);
        for &dof in &self.dofs {
            iterate.momentum[dof] = self.trial[dof] + self.defect[dof];
        }
        let mut change = 0.0_f64;
        for (_, block) in island.members() {
            for row in block.rows() {
                let step = self.impulse[row] - self.centre[row];
                change = change.max((self.hold[row] * step).abs());
                self.centre[row] = self.impulse[row];
            }
        }
        change
    }
}

fn coefficient(friction: f64) -> f64 {
    friction.max(MIN_FRICTION)
}

fn is_cone(block: &Block) -> bool {
    matches!(
        block.kind,
        BlockKind::PyramidalContact | BlockKind::EllipticContact
    )
}

/// Length of the tangents in the units of x.
fn tangent_length(wanted: &[f64], friction: &[f64]) -> f64 {
    let tangents = wanted.iter().zip(friction).skip(1); // the normal has no friction
    let square = tangents.fold(0.0, |sum, (&y, &mu)| sum + (y / coefficient(mu)).powi(2));
    square.sqrt()
}

/// Takes y to λ. (2)
fn admit(island: &Island<'_>, block: &Block, wanted: &mut [f64]) {
    let friction = &island.friction[block.rows()];
    match block.kind {
        BlockKind::Equality => {}
        BlockKind::DofFriction | BlockKind::TendonFriction => {
            let bound = island.timestep * friction[0];
            wanted[0] = wanted[0].clamp(-bound, bound);
        }
        _ => {
            wanted[0] = wanted[0].max(0.0);
            let length = tangent_length(wanted, friction);
            if length > wanted[0] {
                let scale = wanted[0] / length;
                wanted[1..].iter_mut().for_each(|x| *x *= scale);
            }
        }
    }
}

/// D = −∂λ/∂u of a block.
fn slope(island: &Island<'_>, block: &Block, wanted: &[f64], give: &[f64]) -> BlockMatrix {
    let friction = &island.friction[block.rows()];
    let count = block.row_count;
    let mut slope = [[0.0; MAX_ROWS]; MAX_ROWS];
    let is_free = match block.kind {
        BlockKind::Equality => true,
        BlockKind::DofFriction | BlockKind::TendonFriction => {
            wanted[0].abs() < island.timestep * friction[0]
        }
        _ => wanted[0] > 0.0,
    };
    if !is_free {
        return slope;
    }
    for row in 0..count {
        slope[row][row] = give[row].recip();
    }
    if !is_cone(block) {
        return slope;
    }
    let wanted = &wanted[..count];
    let length = tangent_length(wanted, friction);
    if length <= wanted[0] {
        return slope;
    }
    let along = |row: usize| wanted[row] / (coefficient(friction[row]) * length);
    let shrink = wanted[0] / length;
    for i in 1..count {
        let mu = coefficient(friction[i]);
        slope[i][0] = mu * along(i) / give[0];
        for j in 1..count {
            let across = f64::from(u8::from(i == j)) - along(i) * along(j);
            slope[i][j] = mu * shrink * across / (give[j] * coefficient(friction[j]));
        }
    }
    slope
}
