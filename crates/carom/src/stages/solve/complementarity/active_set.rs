//! The equations of the rows that are not at a bound, with every block held to what it does.
//!
//!   stopped: e = u;   sliding tangent j: e = λ(j)/λ(0)·|w| + μ(j)·w(j),  w = μ·u          (1)
//!
//! e = 0 is smooth in λ and in all that u depends on, so its derivative at the solution gives those of λ. Contacts that share
//! their load lack rank unless R > 0; one choice of impulses among equals is then taken.

use super::super::law::Phase;
use super::sweep::Island;
use crate::laws::cone::MAX_ROWS;
use crate::linalg::CompletePivotLu;
use crate::scalar::Scalar;
use crate::stages::constraint::{Block, BlockKind};

/// ∂e/∂λ, factored. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ActiveSet {
    /// Active blocks, and their rows one after another.
    blocks: Vec<usize>,
    rows: Vec<usize>,
    factor: CompletePivotLu,
    /// z of one unit impulse, zero between uses.
    unit: Vec<f64>,
}

/// Where e is looked at.
#[derive(Clone, Copy)]
pub(super) struct Point<'a, T: Scalar = f64> {
    pub(super) impulse: &'a [T],
    /// u.
    pub(super) velocity: &'a [T],
    /// Coefficients of the rows.
    pub(super) friction: &'a [T],
}

/// Whether the impulses of a block follow from equations; otherwise they are at a bound.
pub(super) fn is_active(block: &Block, phase: Phase) -> bool {
    match block.kind {
        BlockKind::PyramidalContact | BlockKind::EllipticContact => phase != Phase::OFF,
        _ => phase == Phase::QUADRATIC,
    }
}

/// Whether a block is a contact that slides.
pub(super) fn is_sliding(block: &Block, phase: Phase) -> bool {
    let is_cone = matches!(
        block.kind,
        BlockKind::PyramidalContact | BlockKind::EllipticContact
    );
    is_cone && phase == Phase::CONE
}

impl ActiveSet {
    /// The active rows.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Finds the active rows of an island.
    pub(super) fn collect(&mut self, island: &Island<'_>, phase: &[Phase]) {
        self.collect_where(island, |index, block| is_active(block, phase[index]));
    }

    fn collect_where(&mut self, island: &Island<'_>, is_in: impl Fn(usize, &Block) -> bool) {
        self.blocks.clear();
        self.rows.clear();
        for (index, block) in island.members() {
            if is_in(index, block) {
                self.blocks.push(index);
                self.rows.extend(block.rows());
            }
        }
    }

    /// Whether equalities of an island repeat or contradict each other, so that what they do has no derivative; the rows
    /// collected must be factored, and no longer are afterwards.
    pub(super) fn equalities_repeat(
        &mut self,
        island: &Island<'_>,
        phase: &[Phase],
        point: Point<'_>,
    ) -> bool {
        if self.factor.rank() == self.rows.len() {
            return false;
        }
        self.collect_where(island, |_, block| block.kind == BlockKind::Equality);
        self.factor(island, phase, point);
        self.factor.rank() < self.rows.len()
    }

    /// e of the active rows. (1)
    pub(super) fn equations<T: Scalar>(
        island: &Island<'_>,
        phase: &[Phase],
        point: Point<'_, T>,
        equation: &mut Vec<T>,
    ) {
        equation.clear();
        for (index, block) in island.members() {
            if !is_active(block, phase[index]) {
                continue;
            }
            let [impulse, velocity, friction] =
                [point.impulse, point.velocity, point.friction].map(|list| &list[block.rows()]);
            equation.extend_from_slice(velocity);
            if !is_sliding(block, phase[index]) {
                continue;
            }
            // Sliding rows: friction against the direction of w, in the section of the cone.
            let mut square = T::ZERO;
            for row in 1..block.row_count {
                let w = friction[row] * velocity[row];
                square += w * w;
            }
            let speed = square.sqrt() / impulse[0];
            let start = equation.len() - block.row_count;
            for row in 1..block.row_count {
                equation[start + row] =
                    impulse[row] * speed + friction[row] * friction[row] * velocity[row];
            }
        }
    }

    /// Computes and factors ∂e/∂λ of the rows collected.
    pub(super) fn factor(&mut self, island: &Island<'_>, phase: &[Phase], point: Point<'_>) {
        self.factor.start(self.rows.len());
        let mut place = 0;
        for number in 0..self.blocks.len() {
            let index = self.blocks[number];
            let block = &island.blocks[index];
            for row in 0..block.row_count {
                self.inverse_inertia(island, (index, row), place + row);
            }
            if is_sliding(block, phase[index]) {
                self.slide(block, point, place);
            }
            place += block.row_count;
        }
        self.factor.factor();
    }

    /// Solves ∂e/∂λ·x = right in place.
    pub(super) fn solve<T: Scalar>(&self, right: &mut [T], work: &mut Vec<T>) {
        work.clear();
        work.resize(right.len(), T::ZERO);
        self.factor.solve(right, work);
    }

    /// Solves (∂e/∂λ)ᵀ·x = right in place.
    pub(super) fn solve_transposed(&self, right: &mut [f64], work: &mut Vec<f64>) {
        work.clear();
        work.resize(right.len(), 0.0);
        self.factor.solve_transposed(right, work);
    }

    /// ∂u/∂λ of one row over the active rows.
    fn inverse_inertia(&mut self, island: &Island<'_>, (index, row): (usize, usize), place: usize) {
        // Y of a unit impulse on the row, and Yᵀ of it for all active rows.
        let own = island.response.block(index, island.blocks[index].row_count);
        let end = own.columns.last().map_or(0, |&dof| dof + 1);
        self.unit.resize(end.max(self.unit.len()), 0.0);
        own.add(row, 1.0, &mut self.unit);
        let entries = self.factor.row_mut(place);
        let mut column = 0;
        for &other in &self.blocks {
            let count = island.blocks[other].row_count;
            let response = island.response.block(other, count);
            for line in 0..count {
                let pairs = response.row(line).iter().zip(response.columns);
                entries[column] = pairs.fold(0.0, |sum, (&value, &dof)| {
                    sum + value * self.unit.get(dof).copied().unwrap_or(0.0)
                });
                column += 1;
            }
        }
        entries[place] += island.mixing[index];
        for &dof in own.columns {
            self.unit[dof] = 0.0;
        }
    }

    /// Turns the rows of ∂u/∂λ of a contact into those of sliding. (1)
    fn slide(&mut self, block: &Block, point: Point<'_>, place: usize) {
        let [impulse, velocity, friction] =
            [point.impulse, point.velocity, point.friction].map(|list| &list[block.rows()]);
        let count = block.row_count;
        let mut slope = [0.0; MAX_ROWS];
        let mut square = 0.0;
        for row in 1..count {
            slope[row] = friction[row] * friction[row] * velocity[row];
            square += slope[row] * velocity[row];
        }
        let speed = square.sqrt();
        // The chain rule through u(j) and through the speed |w| …
        for column in 0..self.rows.len() {
            let mut speed_slope = 0.0;
            for row in 1..count {
                speed_slope += slope[row] * self.factor.row_mut(place + row)[column];
            }
            // Where nothing slides the direction has no derivative.
            speed_slope /= speed.max(f64::MIN_POSITIVE);
            for row in 1..count {
                let entry = &mut self.factor.row_mut(place + row)[column];
                *entry = friction[row] * friction[row] * *entry
                    + impulse[row] / impulse[0] * speed_slope;
            }
        }
        for row in 1..count {
            // … and the direct dependence on λ(j) and λ(0).
            let entries = self.factor.row_mut(place + row);
            entries[place + row] += speed / impulse[0];
            entries[place] -= impulse[row] / (impulse[0] * impulse[0]) * speed;
        }
    }
}
