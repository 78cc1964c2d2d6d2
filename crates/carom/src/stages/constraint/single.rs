//! What blocks of a single row share: limits, dry friction, and joints and tendons that follow others.
//!
//! Whose numbers a block takes is said here once: its spring-damper, and the objects whose inverse weights add up to its
//! approximate inverse inertia.

use super::backward::{ImpedanceBar, Pass, add};
use super::forward::Context;
use super::{Block, BlockKind, Constraint, Piece, Reference, Row};
use crate::model::{EqualityKind, Model, Structure};
use crate::scalar::Scalar;

/// Where solref and solimp of the kinds of blocks are; contacts bring their own.
macro_rules! springs {
    ($($kind:ident: $family:ident $solref:ident $solimp:ident;)*) => {
        /// solref and solimp of the object of a block; none for contacts.
        pub(super) fn spring_of<T: Scalar>(
            model: &Model<T>,
            &Block { kind, object, .. }: &Block,
        ) -> Option<([T; 2], [T; 5])> {
            match kind {
                $(BlockKind::$kind => Some((
                    model.$family.$solref[object],
                    model.$family.$solimp[object],
                )),)*
                _ => None,
            }
        }

        /// Their cotangents.
        fn spring_bars<'a>(
            model_bar: &'a mut Model,
            &Block { kind, object, .. }: &Block,
        ) -> Option<(&'a mut [f64; 2], &'a mut [f64; 5])> {
            match kind {
                $(BlockKind::$kind => Some((
                    &mut model_bar.$family.$solref[object],
                    &mut model_bar.$family.$solimp[object],
                )),)*
                _ => None,
            }
        }
    };
}

springs! {
    JointLimit: joints solref solimp;
    TendonLimit: tendons solref_limit solimp_limit;
    DofFriction: dofs solref solimp;
    TendonFriction: tendons solref_friction solimp_friction;
    Equality: equalities solref solimp;
}

/// The objects whose inverse weights a row has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held {
    Dofs([Option<usize>; 2]),
    Tendons([Option<usize>; 2]),
    /// Those of connects, welds and contacts.
    Bodies,
}

/// Whose inverse weights the rows of a block have.
pub(crate) fn held(structure: &Structure, block: &Block) -> Held {
    let (joints, object) = (&structure.joints, block.object);
    match block.kind {
        BlockKind::DofFriction => Held::Dofs([Some(object), None]),
        BlockKind::JointLimit => Held::Dofs([Some(joints.dof[object]), None]),
        BlockKind::TendonFriction | BlockKind::TendonLimit => Held::Tendons([Some(object), None]),
        BlockKind::Equality => {
            let equalities = &structure.equalities;
            let ends = [Some(equalities.object1[object]), equalities.object2[object]];
            match equalities.kind[object] {
                EqualityKind::Joint => Held::Dofs(ends.map(|end| Some(joints.dof[end?]))),
                EqualityKind::Tendon => Held::Tendons(ends),
                EqualityKind::Connect | EqualityKind::Weld => Held::Bodies,
            }
        }
        _ => Held::Bodies,
    }
}

impl<T: Scalar> Context<'_, T> {
    /// The spring-damper of a block that is no contact.
    pub(super) fn spring(&self, block: &Block) -> Reference<T> {
        let (solref, solimp) = spring_of(self.model, block).unwrap_or_default();
        self.reference(solref, solimp)
    }

    /// Completes a block of one row with a position and a margin.
    pub(super) fn push_single(
        &self,
        block: &Block,
        weight: T,
        [position, margin]: [T; 2],
        out: &mut Constraint<T>,
    ) {
        let diagonal = self.diagonal(weight, block, 0, out);
        let velocity = self.velocity(block, 0, out);
        let impedance = self.spring(block).at(position - margin);
        out.rows
            .push(Row::new([position, margin], velocity, diagonal, impedance));
    }
}

impl Pass<'_> {
    /// From the impedance of a block that is no contact to solref and solimp; returns the cotangent of the distance.
    pub(super) fn spring(
        &mut self,
        block: &Block,
        place: (f64, Option<Piece>),
        bar: ImpedanceBar,
    ) -> f64 {
        let Some((solref, solimp)) = spring_of(self.model, block) else {
            return 0.0;
        };
        let reference = self.reference(solref, solimp, place, bar);
        if let Some((solref_bar, solimp_bar)) = spring_bars(&mut self.bars.model, block) {
            add(solref_bar, reference.solref);
            add(solimp_bar, reference.solimp);
        }
        reference.distance
    }

    /// A block of one row; returns the cotangents of its position and of its margin.
    pub(super) fn single(&mut self, block: &Block) -> [f64; 2] {
        let mut inputs = self.plain_row(block.row);
        let row = &self.constraint.rows[block.row];
        let place = match block.kind {
            // Only the damper acts.
            BlockKind::DofFriction | BlockKind::TendonFriction => {
                inputs.impedance.stiffness = 0.0;
                (0.0, None)
            }
            BlockKind::Equality => (row.position, None),
            _ => (row.position - row.margin, Some(row.impedance.piece)),
        };
        if !self.exact_diagonal(block, &[(0, 1.0)], inputs.diagonal) {
            let model_bar: &mut Model = &mut self.bars.model;
            let held = held(&self.model.structure, block);
            let (weights_bar, objects) = match &held {
                Held::Dofs(dofs) => (&mut model_bar.dofs.inverse_weight, &dofs[..]),
                Held::Tendons(tendons) => (&mut model_bar.tendons.inverse_weight, &tendons[..]),
                Held::Bodies => (&mut model_bar.dofs.inverse_weight, &[][..]),
            };
            for &object in objects.iter().flatten() {
                weights_bar[object] += inputs.diagonal;
            }
        }
        self.velocity(block, 0, inputs.velocity);
        let distance_bar = self.spring(block, place, inputs.impedance);
        [inputs.position + distance_bar, inputs.margin - distance_bar]
    }

    /// Adds the cotangents of a row's Jacobian, times a factor, to those of a tendon.
    pub(super) fn tendon_row(&mut self, block: &Block, tendon: usize, factor: f64) {
        let range = self.model.structure.tendons.jacobian.row(tendon);
        let entries = &self.bar.jacobian[block.values()];
        let totals = &mut self.bars.data.tendon.jacobian[range];
        for (total, &bar) in totals.iter_mut().zip(entries) {
            *total += factor * bar;
        }
    }
}
