//! The integrator `implicit`: D holds the derivatives of the bias force c too, and M − h·D is not symmetric.
//!
//! c is a quadratic form of the velocity, gravity aside, so that ∂c/∂v·x = (c(v + ε·x) − c(v − ε·x))/(2ε) for any ε, and
//! what the change of D does to the advancing acceleration x follows from derivatives of inverse dynamics at two other
//! velocities, with all their columns:
//!
//!   d(∂c/∂v·x) = (dID(q, v + ε·x, 0) − dID(q, v − ε·x, 0))/(2ε)                                            (1)

use super::Linearization;
use super::implicit::add_row;
use super::rne::Motion;
use crate::data::Data;
use crate::integrate::implicit;
use crate::linalg::TreeLu;
use crate::model::{Integrator, Model};
use crate::stages::bias::{self, Bias};
use crate::stages::velocity::{self, Velocity};
use crate::state::State;

/// The matrix of `implicit`, and room for other velocities.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FullImplicit {
    /// M − h·D in the pattern of pairs of dofs.
    matrix: Vec<f64>,
    factor: TreeLu<f64>,
    state: State,
    velocity: Velocity,
    bias: Bias,
    /// No acceleration.
    rest: Vec<f64>,
}

impl FullImplicit {
    /// Room for a model; none for other integrators.
    pub(super) fn new(model: &Model) -> Option<Box<Self>> {
        let n = model.counts();
        (model.settings.integrator == Integrator::Implicit).then(|| {
            Box::new(Self {
                matrix: vec![0.0; n.ndof_pair],
                factor: TreeLu::new(&model.structure.inertia),
                state: State::reference(model),
                velocity: Velocity::zeros(n),
                bias: Bias::zeros(n),
                rest: vec![0.0; n.nv],
            })
        })
    }

    /// Factors M − h·D; false where it cannot be.
    pub(super) fn prepare(&mut self, model: &Model, state: &State, data: &mut Data) -> bool {
        self.matrix
            .copy_from_slice(implicit::full_matrix(model, state, data));
        let structure = &*model.structure;
        (self.factor)
            .factor(&structure.inertia, &structure.dof_pairs, &self.matrix)
            .is_ok()
    }

    /// x ← (M − h·D)⁻¹·x.
    pub(super) fn solve(&self, model: &Model, x: &mut [f64]) {
        self.factor.solve_in_place(&model.structure.inertia, x);
    }

    /// X ← (M − h·D)⁻¹·X.
    pub(super) fn solve_many(&self, model: &Model, width: usize, x: &mut [f64]) {
        self.factor.solve_many(&model.structure.inertia, width, x);
    }

    /// target ← target + h·D·rows, for the dofs of a tree.
    pub(super) fn add_damped(
        &self,
        model: &Model,
        data: &Data,
        dofs: std::ops::Range<usize>,
        (target, rows, width): (&mut [f64], &[f64], usize),
    ) {
        let (sparsity, pattern) = (&model.structure.inertia, &model.structure.dof_pairs);
        for dof in dofs {
            for entry in sparsity.row_range(dof) {
                let (own, other) = (dof * width, sparsity.columns[entry] * width);
                let inertia = data.inertia.matrix[entry];
                let factor = inertia - self.matrix[pattern.lower[entry]];
                add_row(target, own, rows, other, width, factor);
                if own != other {
                    let factor = inertia - self.matrix[pattern.upper[entry]];
                    add_row(target, other, rows, own, width, factor);
                }
            }
        }
    }

    /// Motions at the velocity v + ε·x.
    fn move_at(
        &mut self,
        model: &Model,
        data: &Data,
        (velocity, x, epsilon): (&[f64], &[f64], f64),
    ) {
        for (dof, speed) in self.state.qvel.iter_mut().enumerate() {
            *speed = velocity[dof] + epsilon * x[dof];
        }
        let kinematics = &data.kinematics;
        velocity::forward(
            model,
            &self.state,
            kinematics,
            &data.tendon,
            &data.transmission,
            &mut self.velocity,
        );
        bias::recursive_newton_euler(
            model,
            kinematics,
            &self.velocity,
            &self.state,
            None,
            &mut self.bias,
        );
    }
}

impl Linearization {
    /// extra ← extra + h·dD·ȧ, as far as D stems from the bias force. (1)
    pub(super) fn add_bias_change(&mut self, model: &Model, state: &State, data: &Data) {
        let Some(mut full) = self.full_implicit.take() else {
            return;
        };
        let h = data.timestep;
        let greatest = |numbers: &[f64]| numbers.iter().fold(0.0_f64, |max, x| max.max(x.abs()));
        let x = std::mem::take(&mut self.implicit.advancing);
        let epsilon = (1.0 + greatest(&state.qvel)) / (1.0 + greatest(&x));
        for sign in [1.0, -1.0] {
            full.move_at(model, data, (&state.qvel, &x, sign * epsilon));
            let motion = Motion {
                kinematics: &data.kinematics,
                inertia: &data.inertia,
                velocity: &full.velocity,
                bias: &full.bias,
                qvel: &full.state.qvel,
            };
            self.island.fill(0.0);
            let (layout, rows) = (&self.layout, &mut self.island);
            self.tree.subtract(model, &motion, &full.rest, layout, rows);
            // D has the derivatives of −c, and so have the rows.
            let factor = sign * h / (2.0 * epsilon);
            for (extra, &row) in self.extra.iter_mut().zip(&self.island) {
                *extra += factor * row;
            }
        }
        self.implicit.advancing = x;
        self.full_implicit = Some(full);
    }
}
