//! Derivatives of the forces of the surrounding medium, and of what they add to implicit integrators.
//!
//! The force f on a body depends on its motion relative to the medium, seen from the body: f changes with it by
//! B ([`body`](crate::terms::body)). Moving dof j carries everything beyond it along; seen from there (see `rne`), with ω(j) the
//! turn of the dof and u the wind, the relative motion changes by
//!
//!   g(j) = ṡ(j) + (0, ω(j) × u)                                                                           (1)
//!
//! for all bodies beyond j alike. With sums Bᶜ, fᶜ over the bodies beyond the deeper dof,
//!
//!   ∂τ(i)/∂q(j) = s(i)·Bᶜ·g(j)                        i beyond j, or of the same ball joint                  (2)
//!   ∂τ(i)/∂q(j) = s(i)·(Bᶜ·g(j) + s(j) ×* fᶜ)         i before j                                            (3)
//!   ∂τ(i)/∂v(j) = s(i)·Bᶜ·s(j)                                                                              (4)
//!
//! Implicit integrators multiply B, or its symmetric part, with the motion x(b) = Σ s·ȧ that their acceleration ȧ gives a
//! body: a force like others, F = B·x, whose derivatives have in (2) to (4) the matrix T of y ↦ dB(y)·x for B, and
//! on top, with γ(j) the change of x seen from what dof j carries along, s(i)·Bᶜ·γ(j).

use super::Layout;
use super::rne::TreeDerivative;
use crate::data::Data;
use crate::integrate::free_body;
use crate::laws::fluid::ForceDerivative;
use crate::math::{Spatial, Vec3};
use crate::model::{Integrator, Model};
use crate::terms;

/// Whether a medium acts.
pub(super) fn is_present(model: &Model) -> bool {
    let disable = &model.settings.disable;
    let passive = !(disable.spring && disable.damper);
    passive && (model.option.density[0] > 0.0 || model.option.viscosity[0] > 0.0)
}

/// Whether the derivatives that the implicit integrators use are those of the forces.
pub(super) fn is_covered(model: &Model) -> bool {
    let factors = model.geoms.fluid.iter().map(|numbers| numbers[0]);
    !is_present(model)
        || factors
            .into_iter()
            .all(|factor| factor == 0.0 || factor == 1.0)
}

/// Sums over subtrees; empty without medium.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MediumDerivative {
    /// B of the forces, or T of the products.
    by_motion: Vec<ForceDerivative<f64>>,
    /// B of the products.
    by_gain: Vec<ForceDerivative<f64>>,
    force: Vec<Spatial>,
    /// g of each dof. (1)
    drift: Vec<Spatial>,
    /// Bodies whose derivatives an integrator takes in full, not only their symmetric part.
    in_full: Vec<bool>,
}

impl MediumDerivative {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        if !is_present(model) {
            return Self::default();
        }
        let (nbody, nv) = (model.counts().nbody, model.counts().nv);
        let full = model.settings.integrator == Integrator::Implicit;
        let mut in_full = vec![full; nbody];
        for (_, body) in free_body::standalone(model) {
            in_full[body..model.structure.bodies.subtree_end[body]].fill(true);
        }
        Self {
            by_motion: vec![ForceDerivative::default(); nbody],
            by_gain: vec![ForceDerivative::default(); nbody],
            force: vec![Spatial::ZERO; nbody],
            drift: vec![Spatial::ZERO; nv],
            in_full,
        }
    }

    /// Adds the derivatives of the forces.
    pub(super) fn add(
        &mut self,
        model: &Model,
        data: &Data,
        tree: &TreeDerivative,
        layout: &Layout,
        rows: &mut [f64],
    ) {
        if self.force.is_empty() {
            return;
        }
        let (kinematics, velocity) = (&data.kinematics, &data.velocity);
        for body in 0..self.force.len() {
            self.by_motion[body] = terms::body::derivative(model, kinematics, velocity, body);
            self.force[body] = terms::body::force(model, kinematics, velocity, body);
        }
        let wind = model.option.wind[0];
        for (dof, drift) in self.drift.iter_mut().enumerate() {
            let turn = kinematics.dof_axis[dof].angular();
            *drift = velocity.dof_axis_dot[dof] + Spatial::new(Vec3::ZERO, turn.cross(wind)); // (1)
        }
        self.by_gain.fill(ForceDerivative::default());
        self.sum(model);
        self.spread((model, data), tree, (layout, 1.0), rows);
    }

    /// Adds `factor` times the derivatives of D·ȧ, after [`Self::add`]; `tree` was led down for the motions of bodies by ȧ.
    pub(super) fn add_product(
        &mut self,
        model: &Model,
        data: &Data,
        tree: &TreeDerivative,
        (layout, factor): (&Layout, f64),
        rows: &mut [f64],
    ) {
        let (kinematics, velocity) = (&data.kinematics, &data.velocity);
        for body in 0..self.force.len() {
            let (full, along) = (self.in_full[body], tree.gained[body]);
            let slope = terms::body::derivative(model, kinematics, velocity, body);
            let slope = if full { slope } else { slope.symmetric() };
            self.by_gain[body] = slope;
            self.force[body] = slope.mul(along);
            self.by_motion[body] =
                terms::body::derivative_change(model, kinematics, velocity, body, along, !full);
        }
        self.sum(model);
        self.spread((model, data), tree, (layout, factor), rows);
    }

    /// Sums over subtrees; the world collects nothing.
    fn sum(&mut self, model: &Model) {
        for body in (1..self.force.len()).rev() {
            let parent = model.structure.bodies.parent[body];
            if parent > 0 {
                let (by_motion, by_gain) = (self.by_motion[body], self.by_gain[body]);
                self.by_motion[parent].add(&by_motion);
                self.by_gain[parent].add(&by_gain);
                let force = self.force[body];
                self.force[parent] += force;
            }
        }
    }

    /// (2) to (4), for all pairs of dofs of which one is beyond the other.
    fn spread(
        &self,
        (model, data): (&Model, &Data),
        tree: &TreeDerivative,
        (layout, factor): (&Layout, f64),
        rows: &mut [f64],
    ) {
        let (structure, axes) = (&model.structure, &data.kinematics.dof_axis);
        let (width, nv) = (layout.width, layout.nv);
        for (dof, &body) in structure.dofs.body.iter().enumerate() {
            let (axis, by_motion, by_gain) =
                (axes[dof], &self.by_motion[body], &self.by_gain[body]);
            let together = by_motion.mul(self.drift[dof]) + by_gain.mul(tree.gained_axis[dof]);
            let (across, gaining) = (by_motion.transpose_mul(axis), by_gain.transpose_mul(axis));
            let apart = together + axis.cross_force(self.force[body]);
            let speeding = by_motion.mul(axis);
            let (above, own) = rows.split_at_mut(dof * width);
            for &ancestor in structure.inertia.ancestors(dof) {
                let force = if ancestor >= tree.turn_start[dof] {
                    together
                } else {
                    apart
                };
                let other = axes[ancestor];
                let row = &mut above[ancestor * width..][..width];
                row[dof] += factor * other.dot(force);
                row[nv + dof] += factor * other.dot(speeding);
                own[ancestor] += factor
                    * (self.drift[ancestor].dot(across) + tree.gained_axis[ancestor].dot(gaining));
                own[nv + ancestor] += factor * other.dot(across);
            }
            own[dof] += factor * axis.dot(together);
            own[nv + dof] += factor * axis.dot(speeding);
        }
    }
}
