//! Rows that look ahead: an implicit step is the same convex problem with other numbers.
//!
//! Let the spring and damper of a row see where the row is at the end of a step h, with u⁺ = u + h·J·a its rate and
//! r⁺ = r + h·u⁺ its position there instead of those at the start. With κ = k·d,
//!
//!   J·a − â⁺ = J·a + b·u⁺ + κ·(r⁺ − m) = s·(J·a − â′)                                   (1)
//!   s = 1 + b·h + κ·h²,   â′ = (â − κ·h·u)/s                                            (2)
//!
//! so that a force −D·(J·a − â⁺) is one with the weight D′ = s·D and the reference â′. The problem stays convex and keeps its
//! cones, and a row as stiff as κ·h² ≫ 1 gives J·a ≈ −(u + (r − m)/h)/h: the end of the step is where the row wants to be.
//!
//! The rows of a contact share the s of its normal: edges of a pyramid are sums of rows, and cones have one metric. Tangents
//! have no position, so that their κ in â′ is zero. Impedances are those at the start.
//!
//! The adjoint of (2):
//!
//!   â̄ = â̄′/s,   ū = −κ·h·â̄′/s,   D̄ = s·D̄′,   s̄ = D·D̄′ − â′·â̄′/s,   κ̄ = −h·u·â̄′/s + h²·s̄,   b̄ = h·s̄   (2̄)

use super::backward::ImpedanceBar;
use super::{Block, BlockKind, Constraint, ConstraintBar, Row};

/// Stretch of a block of rows over a step h: s and κ of (2).
fn stretch(first: &Row, h: f64) -> (f64, f64) {
    let spring = first.impedance.stiffness * first.impedance.value;
    let stretch = 1.0 + h * (first.impedance.damping + h * spring);
    (stretch, spring)
}

/// Whether a row of a block has a position: all but the tangents, spins and rolls of contacts.
fn has_position(block: &Block, row: usize) -> bool {
    let is_contact = matches!(
        block.kind,
        BlockKind::FrictionlessContact | BlockKind::PyramidalContact | BlockKind::EllipticContact
    );
    !is_contact || row == block.row
}

impl Constraint {
    /// By how much a block of rows grows when it looks ahead over a step h. (2)
    pub(crate) fn stretch(&self, block: &Block, h: f64) -> f64 {
        stretch(&self.rows[block.row], h).0
    }

    /// Makes the rows those of an implicit step. (2)
    pub(crate) fn look_ahead(&mut self, h: f64) {
        for block in &self.blocks {
            let (stretch, spring) = stretch(&self.rows[block.row], h);
            for index in block.rows() {
                let row = &mut self.rows[index];
                if has_position(block, index) {
                    row.reference_acceleration -= spring * h * row.velocity;
                }
                row.reference_acceleration /= stretch;
                row.weight *= stretch;
                row.regularization /= stretch;
            }
        }
    }
}

impl ConstraintBar {
    /// The twin of [`Constraint::look_ahead`], for rows as they were before it. (2̄)
    pub(crate) fn look_ahead_backward(&mut self, constraint: &Constraint, h: f64) {
        for block in &constraint.blocks {
            self.look_back(constraint, block, h);
        }
    }

    fn look_back(&mut self, constraint: &Constraint, block: &Block, h: f64) {
        let first = &constraint.rows[block.row];
        let (stretch, spring) = stretch(first, h);
        let (mut stretch_bar, mut spring_bar) = (0.0, 0.0);
        for index in block.rows() {
            let (row, bar) = (&constraint.rows[index], &mut self.rows[index]);
            let has_position = f64::from(has_position(block, index));
            let spring = spring * has_position;
            let reference = (row.reference_acceleration - spring * h * row.velocity) / stretch;
            let reference_bar = bar.reference_acceleration / stretch;
            stretch_bar += row.weight * bar.weight - reference * reference_bar;
            spring_bar -= has_position * h * row.velocity * reference_bar;
            bar.velocity -= spring * h * reference_bar;
            bar.reference_acceleration = reference_bar;
            bar.weight *= stretch;
        }
        spring_bar += h * h * stretch_bar;
        self.rows[block.row].impedance.add(ImpedanceBar {
            stiffness: first.impedance.value * spring_bar,
            damping: h * stretch_bar,
            value: first.impedance.stiffness * spring_bar,
        });
    }
}
