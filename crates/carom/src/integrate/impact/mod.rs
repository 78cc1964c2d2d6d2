//! Impacts within a step: the impulse law.
//!
//! When the velocities v of a step are known, positions move with them. Where geoms under the impulse law meet on the way,
//! at a distance g of zero after a time τ, velocities jump, and positions go on with the others:
//!
//!   q* = q ⊕ τ·v,   g(q*) = 0                                                          (1)
//!   v⁺ = v + w·λ,   w = M⁻¹·Jᵀ,   λ = −(1 + e)·(J·v)/(J·w)                             (2)
//!   q⁺ = q* ⊕ (h − τ)·v⁺, or the next impact on the way                                 (3)
//!
//! with J·v the rate of g and e the restitution. A step that knows the time of its impact is a function of where things were:
//! with e = 1 and two equal balls on a line the derivatives of the final state are those of the motion, at any h. Steps that
//! do not, as all others, have derivatives that are wrong however small they are [Hu 2020]. Dual numbers move τ by one step of
//! Newton's method from where it was found,
//!
//!   τ ← τ − g(q ⊕ τ·v)/(J·v)                                                           (4)
//!
//! and the backward pass by
//!
//!   τ̄ = q̄*·v − s̄,   q̄* −= ∇g·τ̄/(J·v),   θ̄ −= (∂g/∂θ)·τ̄/(J·v)                            (1̄)
//!
//! where s̄ is the cotangent of the rest of the step. Bodies that are in each other and approach meet at once, at a time that
//! does not move. Impacts at one instant are passed in the order of their pairs. Forces of other laws do not act during an
//! impact: they are finite, and it takes no time.

mod backward;
mod locate;

pub(crate) use backward::ImpactAdjoint;

use super::integrate_positions;
use crate::jacobian::{self, Wrench};
use crate::math::Vec3;
use crate::model::{ImpulsePair, LawLevel, Model};
use crate::scalar::Scalar;
use crate::stages::collision::{self, GeomDistance, Manifold};
use crate::stages::inertia::{self, Inertia};
use crate::stages::kinematics::{self, Kinematics};
use crate::stages::tendon::{self, Tendon};
use crate::state::State;

/// An impact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact<T: Scalar = f64> {
    /// What meets.
    pub pair: ImpulsePair,
    /// Time since the impact before it, or since the start of the step (s).
    pub time: T,
    /// Whether its time depends on the state.
    pub moves: bool,
}

/// The impacts of a step, and room to find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Impacts<T: Scalar = f64> {
    list: Vec<Impact<T>>,
    /// Positions at the impacts, nq each.
    positions: Vec<T>,
    /// Velocities before them, nv each.
    velocities: Vec<T>,
    /// Time after the last one (s).
    rest: T,
    /// Whether there were more than allowed: positions then stay for the rest of the step.
    is_limited: bool,
    /// Where the step is.
    state: State<T>,
    place: Place<T>,
    jacobian: Vec<T>,
    response: Vec<T>,
}

/// A place on the way.
#[derive(Clone, Debug, PartialEq)]
struct Place<T: Scalar> {
    state: State<T>,
    kinematics: Kinematics<T>,
    tendon: Tendon<T>,
    inertia: Inertia<T>,
    manifold: Manifold<T>,
}

/// Geoms that meet are closer than this (m), whatever rounding has made of it.
const TOUCHING: f64 = 1e-6;

impl<T: Scalar> Impacts<T> {
    /// Room for the steps of a model; none where nothing meets.
    pub(super) fn new(model: &Model<T>) -> Option<Box<Self>> {
        let n = model.counts();
        model.structure.laws.acts_on(LawLevel::Impact).then(|| {
            Box::new(Self {
                list: Vec::new(),
                positions: Vec::new(),
                velocities: Vec::new(),
                rest: T::ZERO,
                is_limited: false,
                state: State::reference(model),
                place: Place {
                    state: State::reference(model),
                    kinematics: Kinematics::zeros(n),
                    tendon: Tendon::zeros(n),
                    inertia: Inertia::zeros(n),
                    manifold: Manifold::default(),
                },
                jacobian: vec![T::ZERO; n.nv],
                response: vec![T::ZERO; n.nv],
            })
        })
    }

    /// The impacts of the last step, in order.
    pub fn list(&self) -> &[Impact<T>] {
        &self.list
    }

    /// Whether the last step had more impacts than its law allows.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Whether nothing met in the last step.
    pub(super) fn is_quiet(&self) -> bool {
        self.list.is_empty() && !self.is_limited
    }

    /// Remembers the state at the start of a step.
    pub(super) fn begin(&mut self, start: &State<T>) {
        self.state.copy_from(start);
        self.place.state.copy_from(start);
    }

    /// Moves positions from the start of a step with the velocities at its end; both change where things meet. (1) to (3)
    pub(super) fn pass(&mut self, model: &Model<T>, end: &mut State<T>, timestep: T) {
        self.list.clear();
        self.positions.clear();
        self.velocities.clear();
        self.is_limited = false;
        self.state.qvel.copy_from_slice(&end.qvel);
        self.rest = timestep;
        let disable = &model.settings.disable;
        if disable.contact || disable.constraint {
            return;
        }
        while let Some(found) = self.next_impact(model) {
            let most = model.structure.laws.iterations[found.pair.law];
            if self.list.len() >= most {
                self.is_limited = true;
                break;
            }
            if !self.meet(model, found) {
                break;
            }
        }
        if self.is_quiet() {
            return;
        }
        let State { qpos, qvel, .. } = &mut self.state;
        if !self.is_limited {
            integrate_positions(model, qpos, qvel, self.rest);
        }
        end.qpos.copy_from_slice(qpos);
        end.qvel.copy_from_slice(qvel);
    }

    /// Goes to an impact, and past it. (2) False if there is none after all.
    fn meet(&mut self, model: &Model<T>, mut impact: Impact<T>) -> bool {
        self.go(model, impact.time);
        if impact.moves
            && let Some(found) = self.place.distance(model, impact.pair.geoms)
        {
            let rate = self.rate(model, &impact.pair, &found);
            impact.time -= found.distance / rate.value(); // (4)
            self.go(model, impact.time);
        }
        let place = &mut self.place;
        let Some(found) = place.distance(model, impact.pair.geoms) else {
            return false;
        };
        tendon::forward(model, &place.state, &place.kinematics, &mut place.tendon);
        let Place { inertia, .. } = place;
        inertia::forward(model, &place.kinematics, &place.tendon, inertia);
        self.positions.extend_from_slice(&self.place.state.qpos);
        self.velocities.extend_from_slice(&self.state.qvel);
        let rate = self.rate(model, &impact.pair, &found);
        self.response.copy_from_slice(&self.jacobian);
        inertia::solve(model, &self.place.inertia, &mut self.response);
        let yielding = dot(&self.jacobian, &self.response);
        let restitution = model.laws.restitution[impact.pair.law];
        let impulse = -((T::ONE + restitution) * rate / yielding);
        for (velocity, &response) in self.state.qvel.iter_mut().zip(&self.response) {
            *velocity += response * impulse;
        }
        self.state.qpos.copy_from_slice(&self.place.state.qpos);
        self.rest -= impact.time;
        self.list.push(impact);
        true
    }

    /// Goes to a time from where the step is.
    fn go(&mut self, model: &Model<T>, time: T) {
        let Self { state, place, .. } = self;
        place.state.qpos.copy_from_slice(&state.qpos);
        integrate_positions(model, &mut place.state.qpos, &state.qvel, time);
        kinematics::forward(model, &place.state, &mut place.kinematics);
    }

    /// J·v; J stays.
    fn rate(&mut self, model: &Model<T>, pair: &ImpulsePair, found: &GeomDistance<T>) -> T {
        let kinematics = &self.place.kinematics;
        write_row(model, kinematics, pair.geoms, found, &mut self.jacobian);
        dot(&self.jacobian, &self.state.qvel)
    }
}

impl<T: Scalar> Place<T> {
    /// How far geoms are that touch.
    fn distance(&mut self, model: &Model<T>, geoms: [usize; 2]) -> Option<GeomDistance<T>> {
        let Self {
            kinematics,
            manifold,
            ..
        } = self;
        // Those in each other are as near as can be.
        collision::distance(model, kinematics, geoms, TOUCHING, manifold)
    }
}

/// The middle between the points where geoms meet.
fn middle<T: Scalar>(found: &GeomDistance<T>) -> Vec3<T> {
    (found.points[0] + found.points[1]) * T::from(0.5)
}

/// J: the derivative of the distance by the velocities, nv.
fn write_row<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geoms: [usize; 2],
    found: &GeomDistance<T>,
    out: &mut [T],
) {
    out.fill(T::ZERO);
    let point = middle(found);
    for (geom, normal) in geoms.into_iter().zip([-found.normal, found.normal]) {
        let body = model.structure.geoms.body[geom];
        jacobian::apply_force(model, kinematics, Wrench::force(body, point, normal), out);
    }
}

fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    (a.iter().zip(b)).fold(T::ZERO, |sum, (&a, &b)| sum + a * b)
}
