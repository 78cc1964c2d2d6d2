use super::{
    Block, Constraint, Impedance, Reference, Row, contact_rows, dry_friction, equality, limit,
};
use crate::linalg::tree_ldl;
use crate::model::{JacobianKind, Model};
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::constraint::impedance::floor;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};

/// The stages that rows are made from.
#[derive(Clone, Copy, Debug)]
#[allow(
    missing_docs,
    reason = "each field is the result of the stage it names"
)]
pub struct Sources<'a, T: Scalar> {
    pub kinematics: &'a Kinematics<T>,
    pub tendon: &'a Tendon<T>,
    pub inertia: &'a Inertia<T>,
    pub velocity: &'a Velocity<T>,
    pub collision: &'a Collision<T>,
    /// Length of the step (s).
    pub timestep: T,
}

/// Everything that a row is made from.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, T: Scalar> {
    pub(super) model: &'a Model<T>,
    pub(super) state: &'a State<T>,
    pub(super) sources: Sources<'a, T>,
}

/// Makes the rows of all constraints that hold in this state.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    input: &Input<T>,
    sources: Sources<'_, T>,
    out: &mut Constraint<T>,
) {
    out.clear();
    out.scratch.resize(model.counts().nv, T::ZERO);
    let disable = &model.settings.disable;
    if disable.constraint || model.counts().nv == 0 {
        return;
    }
    let context = Context {
        model,
        state,
        sources,
    };
    if !disable.equality {
        equality::push(&context, &input.equality_active, out);
    }
    if !disable.frictionloss {
        dry_friction::push(&context, out);
    }
    if !disable.limit {
        limit::push(&context, out);
    }
    out.first_contact = out.blocks.len();
    if !disable.contact {
        contact_rows::push(&context, out);
    }
}

/// From this number of dofs on MuJoCo's Jacobian is sparse unless the model asks otherwise.
const SPARSE_FROM: usize = 60;

impl<T: Scalar> Context<'_, T> {
    /// Whether a block can be left out: nothing moves it. As in MuJoCo, entries that happen to be zero count only
    /// where its Jacobian would be dense.
    pub(super) fn is_empty(&self, block: &Block, out: &Constraint<T>) -> bool {
        let dense = match self.model.settings.jacobian {
            JacobianKind::Dense => true,
            JacobianKind::Sparse => false,
            JacobianKind::Auto => self.model.counts().nv < SPARSE_FROM,
        };
        let zero = |value: &T| *value == T::ZERO;
        block.column_count == 0 || dense && out.block_jacobian(block).iter().all(zero)
    }

    /// A spring-damper made safe for the step at hand.
    pub(super) fn reference(&self, solref: [T; 2], solimp: [T; 5]) -> Reference<T> {
        Reference::new(self.model, self.sources.timestep, solref, solimp)
    }

    /// J·v of one row of a block.
    pub(super) fn velocity(&self, block: &Block, row: usize, out: &Constraint<T>) -> T {
        out.jacobian_row(block, row).dot(&self.state.qvel)
    }

    /// Inverse inertia along a row of a block: the given approximation, or exact if the model asks for it.
    pub(super) fn diagonal(
        &self,
        approximate: T,
        block: &Block,
        row: usize,
        out: &mut Constraint<T>,
    ) -> T {
        if !self.model.settings.enable.diagexact {
            return approximate;
        }
        self.exact_diagonal(block, &[(row, T::ONE)], out)
    }

    /// j·M⁻¹·jᵀ for a combination j of the rows of a block.
    pub(super) fn exact_diagonal(
        &self,
        block: &Block,
        combination: &[(usize, T)],
        out: &mut Constraint<T>,
    ) -> T {
        let Constraint {
            columns,
            jacobian,
            scratch,
            ..
        } = out;
        let columns = &columns[block.columns()];
        for &(row, factor) in combination {
            let values = &jacobian[block.value + row * columns.len()..];
            for (&dof, &value) in columns.iter().zip(values) {
                scratch[dof] += value * factor;
            }
        }
        let inertia = self.sources.inertia;
        tree_ldl::half_solve(
            &self.model.structure.inertia,
            &inertia.factor,
            &inertia.diagonal_inverse,
            scratch,
        );
        let mut sum = T::ZERO;
        for number in scratch.iter_mut() {
            sum += *number * *number;
            *number = T::ZERO;
        }
        sum
    }
}

impl<T: Scalar> Row<T> {
    /// A row with R, D and â from its diagonal, impedance and motion.
    pub(super) fn new(position: [T; 2], velocity: T, diagonal: T, impedance: Impedance<T>) -> Self {
        let d = impedance.value;
        Self::moving(position, velocity, impedance)
            .with_regularization(floor((T::ONE - d) * diagonal / d))
    }

    /// A row with â from its impedance and motion, still without R and D.
    #[inline]
    pub(super) fn moving([position, margin]: [T; 2], velocity: T, impedance: Impedance<T>) -> Self {
        Self::stretched([position, margin], position - margin, velocity, impedance)
    }

    /// As [`Self::moving`], where the spring sees another distance from the margin.
    #[inline]
    pub(super) fn stretched(
        [position, margin]: [T; 2],
        distance: T,
        velocity: T,
        impedance: Impedance<T>,
    ) -> Self {
        let spring = impedance.stiffness * impedance.value * distance;
        Self {
            position,
            margin,
            velocity,
            reference_acceleration: -(impedance.damping * velocity) - spring,
            impedance,
            ..Self::default()
        }
    }

    /// Takes R, D and the diagonal of another row of equal impedance.
    #[inline]
    #[must_use]
    pub(super) fn weighted_like(self, other: &Self) -> Self {
        Self {
            regularization: other.regularization,
            weight: other.weight,
            diagonal: other.diagonal,
            ..self
        }
    }

    /// Sets R, and D and the diagonal that follow from it.
    #[inline]
    #[must_use]
    pub(super) fn with_regularization(self, regularization: T) -> Self {
        let d = self.impedance.value;
        Self {
            regularization,
            weight: regularization.recip(),
            diagonal: regularization * d / (T::ONE - d),
            ..self
        }
    }

    /// Raises â for a contact that may pull with δ: by R·δ.
    #[must_use]
    pub(super) fn with_adhesion(self, adhesion: T) -> Self {
        let rise = self.regularization * adhesion;
        Self {
            reference_acceleration: self.reference_acceleration + rise,
            ..self
        }
    }

    /// Sets the friction loss or coefficient.
    #[must_use]
    pub(super) fn with_friction(self, friction: T) -> Self {
        Self { friction, ..self }
    }
}
