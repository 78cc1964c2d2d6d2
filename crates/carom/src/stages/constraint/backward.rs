//! The adjoint of the constraint rows.
//!
//! A row gives the solver J, D = 1/R, â and its friction. The twins of (1) and (2) of the module are
//!
//!   R̄ = −D²·D̄,   Ā = (1 − d)/d·R̄,   d̄ = −A/d²·R̄ − k·(r − m)·â̄                          (1̄)
//!   v̄ = −b·â̄,   b̄ = −v·â̄,   k̄ = −d·(r − m)·â̄,   r̄ = −m̄ = −k·d·â̄                    (2̄)
//!
//! The rates of rows are J·q̇, so J̄ += v̄·q̇ᵀ before J̄ itself passes to axes, points and directions. Stiffness, damping and
//! impedance are a small function of solref, solimp, distance and time step: its Jacobian comes from dual numbers.

use std::mem::take;

use super::impedance::{MIN_VALUE, least_time_constant};
use super::{Block, BlockKind, Constraint, Piece, Reference, Row, Sources};
use super::{contact_rows, dry_friction, equality_backward, limit};
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::model::{ContactsFromDistance, Model};
use crate::stages::inertia;
use crate::state::State;

/// Cotangent of what the solver reads of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowBar {
    /// Of D.
    pub weight: f64,
    /// Of the friction.
    pub friction: f64,
    /// Of â.
    pub reference_acceleration: f64,
    /// Of the position, as the complementarity law reads it.
    pub position: f64,
    /// Of the distance of a limit from its margin, as its sensor reads it.
    pub distance: f64,
    /// Of the rate, as the complementarity law and the sensors of limits read it.
    pub velocity: f64,
    /// Of stiffness, damping and impedance, as rows that look ahead read them.
    pub impedance: ImpedanceBar,
}

impl RowBar {
    /// Every number, to change.
    pub(crate) fn numbers_mut(&mut self) -> [&mut f64; 9] {
        let Self {
            weight,
            friction,
            reference_acceleration,
            position,
            distance,
            velocity,
            impedance,
        } = self;
        [
            weight,
            friction,
            reference_acceleration,
            position,
            distance,
            velocity,
            &mut impedance.stiffness,
            &mut impedance.damping,
            &mut impedance.value,
        ]
    }
}

/// Cotangent of [`Constraint`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstraintBar {
    /// Of the Jacobians, in their layout.
    pub jacobian: Vec<f64>,
    /// Of the rows.
    pub rows: Vec<RowBar>,
    /// A dense vector, nv.
    scratch: Vec<f64>,
}

impl ConstraintBar {
    /// Zeros in the layout of some rows; keeps its capacity.
    pub fn set_zero(&mut self, constraint: &Constraint) {
        self.jacobian.clear();
        self.jacobian.resize(constraint.jacobian.len(), 0.0);
        self.rows.clear();
        self.rows.resize(constraint.rows.len(), RowBar::default());
    }

    /// j̄ += scale·x for one row j of a block's Jacobian.
    pub(crate) fn add_to_row(
        &mut self,
        constraint: &Constraint,
        (block, row): (&Block, usize),
        scale: f64,
        x: impl Fn(usize) -> f64,
    ) {
        let columns = constraint.block_columns(block);
        let entries = &mut self.jacobian[block.value + row * columns.len()..];
        for (entry, &dof) in entries.iter_mut().zip(columns) {
            *entry += scale * x(dof);
        }
    }

    /// Forgets what a block of rows passes back.
    pub(crate) fn clear_block(&mut self, block: &Block) {
        self.jacobian[block.values()].fill(0.0);
        self.rows[block.rows()].fill(RowBar::default());
    }
}

/// Everything that the twins of the kinds of rows need.
pub(super) struct Pass<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) sources: Sources<'a, f64>,
    pub(super) constraint: &'a Constraint,
    /// Cotangents of the rows.
    pub(super) bar: ConstraintBar,
    /// Cotangents of everything else.
    pub(super) bars: &'a mut Cotangents,
}

/// Adds the cotangents of everything that rows are made from; those of the rows are used up.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let constraint = &at.data.constraint;
    let mut pass = Pass {
        model: at.model,
        state: at.state,
        sources: at.data.constraint_sources(),
        constraint,
        bar: take(&mut bars.data.constraint),
        bars,
    };
    for block in &constraint.blocks {
        match block.kind {
            BlockKind::Equality => equality_backward::block(&mut pass, block),
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                dry_friction::backward(&mut pass, block);
            }
            BlockKind::JointLimit | BlockKind::TendonLimit => limit::backward(&mut pass, block),
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => contact_rows::backward(&mut pass, block),
        }
    }
    pass.bars.data.constraint = pass.bar;
}

/// Cotangents of what a [`Row`] is made from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowInputsBar {
    pub(super) position: f64,
    pub(super) margin: f64,
    pub(super) velocity: f64,
    pub(super) diagonal: f64,
    pub(super) impedance: ImpedanceBar,
}

/// Cotangents of stiffness, damping and impedance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is the cotangent of what it names")]
pub struct ImpedanceBar {
    pub stiffness: f64,
    pub damping: f64,
    pub value: f64,
}

impl ImpedanceBar {
    pub(super) fn add(&mut self, other: Self) {
        self.stiffness += other.stiffness;
        self.damping += other.damping;
        self.value += other.value;
    }
}

impl RowInputsBar {
    /// The twin of [`Row::new`] from the cotangents of â and of R, where R = (1 − d)/d·`diagonal`. (1̄), (2̄)
    ///
    /// `gap` is what the spring sees of the distance from the margin, and the derivative of that.
    pub(super) fn new(
        row: &Row,
        (gap, gap_slope): (f64, f64),
        diagonal: f64,
        regularization: f64,
        reference_bar: f64,
        regularization_bar: f64,
    ) -> Self {
        let (k, b, d) = (
            row.impedance.stiffness,
            row.impedance.damping,
            row.impedance.value,
        );
        let gap_bar = -k * d * reference_bar * gap_slope;
        let mut bar = Self {
            position: gap_bar,
            margin: -gap_bar,
            velocity: -b * reference_bar,
            diagonal: 0.0,
            impedance: ImpedanceBar {
                stiffness: -d * gap * reference_bar,
                damping: -row.velocity * reference_bar,
                value: -k * gap * reference_bar,
            },
        };
        if regularization > MIN_VALUE {
            bar.diagonal = (1.0 - d) / d * regularization_bar;
            bar.impedance.value -= diagonal / (d * d) * regularization_bar;
        }
        bar
    }
}

/// Cotangents of solref, solimp and the distance from the margin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReferenceBar {
    pub(super) solref: [f64; 2],
    pub(super) solimp: [f64; 5],
    pub(super) distance: f64,
}

impl Pass<'_> {
    /// A plain row: its D and â follow from position, rate, diagonal and impedance alone.
    pub(super) fn plain_row(&mut self, row: usize) -> RowInputsBar {
        let (numbers, bar) = (&self.constraint.rows[row], self.bar.rows[row]);
        let mut inputs = RowInputsBar::new(
            numbers,
            (numbers.position - numbers.margin, 1.0),
            numbers.diagonal,
            numbers.regularization,
            bar.reference_acceleration,
            -numbers.weight * numbers.weight * bar.weight,
        );
        inputs.position += bar.position + bar.distance;
        inputs.margin -= bar.distance;
        inputs.velocity += bar.velocity;
        inputs.impedance.add(bar.impedance);
        inputs
    }

    /// The twin of a [`Reference`] evaluated at a distance, on a piece of its curve if one is given; adds the cotangent of the time step
    /// itself.
    pub(super) fn reference(
        &mut self,
        solref: [f64; 2],
        solimp: [f64; 5],
        (distance, piece): (f64, Option<Piece>),
        bar: ImpedanceBar,
    ) -> ReferenceBar {
        self.reference_or_from(None, (solref, solimp), (distance, piece), bar)
    }

    /// As [`Self::reference`], for a contact that also acts from a distance.
    pub(super) fn reference_or_from(
        &mut self,
        distant: Option<&ContactsFromDistance>,
        (solref, solimp): ([f64; 2], [f64; 5]),
        (distance, piece): (f64, Option<Piece>),
        bar: ImpedanceBar,
    ) -> ReferenceBar {
        type Number = Dual<9>;
        let least = least_time_constant(self.model, self.sources.timestep)
            .map(|least| Number::variable(least, 8));
        let reference = Reference::with_least_time_constant(
            least,
            std::array::from_fn(|i| Number::variable(solref[i], i)),
            std::array::from_fn(|i| Number::variable(solimp[i], 2 + i)),
        );
        let number = Number::variable(distance, 7);
        let impedance = match piece {
            Some(piece) if distant.is_none() => reference.on(piece, number),
            _ => reference.at_or_from(distant, number),
        };
        let slope = |i: usize| {
            let mut sum = 0.0;
            for (part, bar) in [
                (impedance.stiffness, bar.stiffness),
                (impedance.damping, bar.damping),
                (impedance.value, bar.value),
            ] {
                if bar != 0.0 {
                    sum += part.tangent[i] * bar;
                }
            }
            sum
        };
        self.bars.input.timestep += 2.0 * slope(8);
        ReferenceBar {
            solref: [slope(0), slope(1)],
            solimp: std::array::from_fn(|i| slope(2 + i)),
            distance: slope(7),
        }
    }

    /// Rates are J·q̇.
    pub(super) fn velocity(&mut self, block: &Block, row: usize, velocity_bar: f64) {
        let (constraint, qvel) = (self.constraint, &self.state.qvel);
        (self.bar).add_to_row(constraint, (block, row), velocity_bar, |dof| qvel[dof]);
        let rates = constraint.jacobian_row(block, row);
        rates.push(velocity_bar, &mut self.bars.state.qvel);
    }

    /// Passes on the cotangent of a row's exact inverse inertia; false if the row has an approximate one instead.
    pub(super) fn exact_diagonal(
        &mut self,
        block: &Block,
        combination: &[(usize, f64)],
        diagonal_bar: f64,
    ) -> bool {
        if !self.model.settings.enable.diagexact {
            return false;
        }
        let mut half = take(&mut self.bar.scratch);
        half.clear();
        half.resize(self.model.counts().nv, 0.0);
        for &(row, factor) in combination {
            self.constraint
                .jacobian_row(block, row)
                .push(factor, &mut half);
        }
        // A = j·x with x = M⁻¹·jᵀ: j̄ = 2·Ā·x, M̄ = −Ā·x·xᵀ.
        inertia::solve(self.model, self.sources.inertia, &mut half);
        for &(row, factor) in combination {
            let scale = 2.0 * diagonal_bar * factor;
            (self.bar).add_to_row(self.constraint, (block, row), scale, |dof| half[dof]);
        }
        let matrix_bar = &mut self.bars.data.inertia.matrix;
        inertia::subtract_scaled_square(self.model, &half, diagonal_bar, matrix_bar);
        self.bar.scratch = half;
        true
    }

    /// A row of the block times what [`Self::exact_diagonal`] has left: M⁻¹ times its combination of rows.
    pub(super) fn along_scratch(&self, block: &Block, row: usize) -> f64 {
        self.constraint
            .jacobian_row(block, row)
            .dot(&self.bar.scratch)
    }
}

/// Adds to the numbers of an array.
pub(super) fn add<const N: usize>(total: &mut [f64; N], terms: [f64; N]) {
    for (total, term) in total.iter_mut().zip(terms) {
        *total += term;
    }
}
