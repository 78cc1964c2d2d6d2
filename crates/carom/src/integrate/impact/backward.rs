//! The adjoint of impacts.
//!
//! With z = M⁻¹·v̄⁺, A = J·w and s = J·z, (2) of the module passes back
//!
//!   ū = −(1 + e)·s/A,   Ā = −λ·s/A,   ē = −(J·v)·s/A,   v̄ = v̄⁺ + Jᵀ·ū                    (2̄)
//!   J̄ = ū·v + 2·Ā·w + λ·z,   M̄ = −(λ·z + Ā·w)·wᵀ
//!
//! and the rest is that of the distance, its normal and its points, of the inertia and of the kinematics.

use super::{Impacts, TOUCHING, dot, middle, write_row};
use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::data::Data;
use crate::dynamics::At;
use crate::integrate::{add_scaled, integrate_positions_vjp};
use crate::jacobian::{self, Wrench};
use crate::math::Vec3;
use crate::model::{ImpulsePair, LawLevel, Model};
use crate::stages::collision::{self, GeomDistance};
use crate::stages::{inertia, kinematics, tendon};
use crate::state::{Input, State};

/// Room for the adjoint of the impacts of a step.
#[derive(Clone, Debug)]
pub(crate) struct ImpactAdjoint {
    state: State,
    data: Data,
    data_bar: DataBar,
    state_bar: StateBar,
    /// Cotangents of positions and velocities where the pass is.
    position: Vec<f64>,
    velocity: Vec<f64>,
    before: Vec<f64>,
    jacobian: Vec<f64>,
    response: Vec<f64>,
    /// z of (2̄).
    response_bar: Vec<f64>,
    /// J̄ of (2̄).
    row_bar: Vec<f64>,
    /// Cotangents of the end of the step as it would be without impacts.
    next: StateBar,
}

impl ImpactAdjoint {
    /// Room for the steps of a model; none where nothing meets.
    pub(crate) fn new(model: &Model) -> Option<Box<Self>> {
        let zeros = || vec![0.0; model.counts().nv];
        model.structure.laws.acts_on(LawLevel::Impact).then(|| {
            Box::new(Self {
                state: State::reference(model),
                data: Data::new(model),
                data_bar: DataBar::zeros(model),
                state_bar: StateBar::zeros(model),
                position: zeros(),
                velocity: zeros(),
                before: zeros(),
                jacobian: zeros(),
                response: zeros(),
                response_bar: zeros(),
                row_bar: zeros(),
                next: StateBar::zeros(model),
            })
        })
    }

    /// From the cotangents of the end of a step with impacts to those of the velocities that it began to move with, which are
    /// returned as cotangents of a step that moves nothing. Adds those of positions at the start and of the model to `bar`.
    pub(crate) fn backward(
        &mut self,
        at: At<'_>,
        end: &State,
        impacts: &Impacts,
        next: &StateBar,
        bar: &mut Cotangents,
    ) -> &StateBar {
        let (model, start, input) = (at.model, at.state, at.input);
        let (nq, nv) = (model.counts().nq, model.counts().nv);
        self.state.copy_from(start);
        self.position.copy_from_slice(&next.qpos);
        self.velocity.copy_from_slice(&next.qvel);
        let mut rest_bar = 0.0;
        let count = impacts.list.len();
        let positions_at = |index: usize| &impacts.positions[index * nq..][..nq];
        if let Some(last) = count.checked_sub(1)
            && !impacts.is_limited
        {
            rest_bar = self.move_back(model, positions_at(last), &end.qvel, impacts.rest);
        }
        for (index, impact) in impacts.list.iter().enumerate().rev() {
            let before = &impacts.velocities[index * nv..][..nv];
            self.state.qpos.copy_from_slice(positions_at(index));
            self.place(model);
            let rate = self.jump_back(model, input, impact.pair, before, bar);
            if impact.moves {
                let time_bar = dot(&self.position, before) - rest_bar;
                self.distance_back(model, input, impact.pair, -time_bar / rate, bar); // (1̄)
            }
            let from = match index.checked_sub(1) {
                Some(other) => positions_at(other),
                None => &start.qpos,
            };
            let _ = self.move_back(model, from, before, impact.time);
        }
        bar.input.timestep += rest_bar;
        add_scaled(&mut bar.state.qpos, &self.position, 1.0);
        self.next.set_zero();
        self.next.add(next);
        self.next.qpos.fill(0.0);
        self.next.qvel.copy_from_slice(&self.velocity);
        &self.next
    }

    /// The adjoint of q ⊕ time·v; returns the cotangent of the time.
    fn move_back(&mut self, model: &Model, from: &[f64], velocity: &[f64], time: f64) -> f64 {
        self.before.fill(0.0);
        let time_bar = integrate_positions_vjp(
            model,
            from,
            (velocity, time),
            (&self.position, &mut self.before),
            &mut self.velocity,
        );
        std::mem::swap(&mut self.position, &mut self.before);
        time_bar
    }

    fn place(&mut self, model: &Model) {
        let Self { state, data, .. } = self;
        kinematics::forward(model, state, &mut data.kinematics);
        tendon::forward(model, state, &data.kinematics, &mut data.tendon);
        inertia::forward(model, &data.kinematics, &data.tendon, &mut data.inertia);
    }

    /// (2̄); returns J·v.
    fn jump_back(
        &mut self,
        model: &Model,
        input: &Input,
        pair: ImpulsePair,
        before: &[f64],
        bar: &mut Cotangents,
    ) -> f64 {
        let Self { data, .. } = self;
        let manifold = &mut data.collision.manifold;
        let kinematics = &data.kinematics;
        let Some(found) = collision::distance(model, kinematics, pair.geoms, TOUCHING, manifold)
        else {
            return f64::INFINITY;
        };
        write_row(model, kinematics, pair.geoms, &found, &mut self.jacobian);
        let rate = dot(&self.jacobian, before);
        self.response.copy_from_slice(&self.jacobian);
        inertia::solve(model, &data.inertia, &mut self.response);
        self.response_bar.copy_from_slice(&self.velocity);
        inertia::solve(model, &data.inertia, &mut self.response_bar);
        let yielding = dot(&self.jacobian, &self.response);
        let along = dot(&self.jacobian, &self.response_bar);
        let restitution = 1.0 + model.laws.restitution[pair.law];
        let impulse = -restitution * rate / yielding;
        let rate_bar = -restitution * along / yielding;
        let yielding_bar = -impulse * along / yielding;
        bar.model.laws.restitution[pair.law] -= rate * along / yielding;
        for (dof, row_bar) in self.row_bar.iter_mut().enumerate() {
            *row_bar = rate_bar * before[dof]
                + 2.0 * yielding_bar * self.response[dof]
                + impulse * self.response_bar[dof];
        }
        add_scaled(&mut self.velocity, &self.jacobian, rate_bar);
        self.data_bar.start(data);
        let matrix_bar = &mut self.data_bar.inertia.matrix;
        inertia::subtract_scaled_square(model, &self.response, yielding_bar, matrix_bar);
        for response_bar in &mut self.response_bar {
            *response_bar *= impulse;
        }
        inertia::subtract_outer_product(model, &self.response_bar, &self.response, matrix_bar);
        let found_bar = self.row_back(model, pair.geoms, &found);
        self.geometry_back(model, input, pair.geoms, &found_bar, bar);
        rate
    }

    /// From J̄ to the point and the normal of a contact.
    fn row_back(&mut self, model: &Model, geoms: [usize; 2], found: &GeomDistance) -> GeomDistance {
        let (mut normal, mut point) = (Vec3::ZERO, Vec3::ZERO);
        for (geom, sign) in geoms.into_iter().zip([-1.0, 1.0]) {
            let body = model.structure.geoms.body[geom];
            let dofs = jacobian::moving_dofs(model, body).iter();
            let bar = jacobian::apply_force_vjp(
                model,
                &self.data.kinematics,
                Wrench::force(body, middle(found), found.normal * sign),
                dofs.map(|&dof| (dof, self.row_bar[dof])),
                &mut self.data_bar.kinematics,
            );
            normal = normal.scale_add(bar.force, sign);
            point += bar.point;
        }
        GeomDistance {
            distance: 0.0,
            points: [point * 0.5; 2],
            normal,
        }
    }

    /// Adds the derivatives of the distance, times a coefficient.
    fn distance_back(
        &mut self,
        model: &Model,
        input: &Input,
        pair: ImpulsePair,
        coefficient: f64,
        bar: &mut Cotangents,
    ) {
        self.data_bar.start(&self.data);
        let found_bar = GeomDistance {
            distance: coefficient,
            points: [Vec3::ZERO; 2],
            normal: Vec3::ZERO,
        };
        self.geometry_back(model, input, pair.geoms, &found_bar, bar);
    }

    /// From cotangents of a distance, and those of inertia and kinematics in `self.data_bar`, to positions and model.
    fn geometry_back(
        &mut self,
        model: &Model,
        input: &Input,
        geoms: [usize; 2],
        found_bar: &GeomDistance,
        bar: &mut Cotangents,
    ) {
        self.state_bar.set_zero();
        // The stages work on cotangents of this place, and leave those of the step alone.
        std::mem::swap(&mut bar.data, &mut self.data_bar);
        std::mem::swap(&mut bar.state, &mut self.state_bar);
        let kinematics = &self.data.kinematics;
        collision::distance_backward(model, kinematics, geoms, TOUCHING, found_bar, bar);
        let at = At {
            model,
            state: &self.state,
            input,
            data: &self.data,
        };
        inertia::backward(at, bar);
        tendon::backward(at, bar);
        kinematics::backward(at, bar);
        std::mem::swap(&mut bar.data, &mut self.data_bar);
        std::mem::swap(&mut bar.state, &mut self.state_bar);
        add_scaled(&mut self.position, &self.state_bar.qpos, 1.0);
        self.state_bar.qpos.fill(0.0);
        bar.state.add(&self.state_bar);
    }
}
