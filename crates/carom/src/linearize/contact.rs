//! Derivatives of contact forces.
//!
//! The rows of a contact express the relative motion of two bodies at a point p, along the axes n(r) of its frame. For
//! joint velocities x, with V(x) = Σ s·x the motions of the bodies about p and Δ their difference, second less first,
//!
//!   J(r)·x = n(r)·Δ(x) translation, or rotation for spin and rolls.
//!
//! Moving body b by the motion ξ about p changes p, n and the distance (`geometry`), and V(x) of that body; for the motion of
//! a dof j, ξ = s(j), the latter becomes s(j) × V(x) + g(j) with g(j) = V(x) before its joint × s(j). So, with σ = ±1
//! the side of the body, and for translations,
//!
//!   d(J(r)·x) = dn(r)·Δ + n(r)·(Δ rotation × dp) + σ·n(r)·(ξ × V(x) + g)                              (1)
//!
//! and the forces f change by (1) of `rows`. Together they are a wrench w = (p × F + T, F) with F = Σ f(r)·n(r), which acts
//! on the dofs i of either body as σ·s(i)·w, and changes by
//!
//!   dw = Σ df(r)·(p × n(r), n(r)) + (dp × F + p × dF + dT, dF),   dF = Σ f(r)·dn(r)                    (2)
//!
//! linear in ξ and g: six by six matrices that are summed over all contacts of a pair of bodies. A motion of both bodies
//! carries the contact along, so that the matrix of the first body follows from that of the second,
//!
//!   dw(first) = ξ ×* w − dw(second)                                                                    (4)
//!
//! and, where tangents follow from the normal alone, what their lag behind the turn does. For a dof j that moves one or both
//! bodies,
//!
//!   ∂τ(i)/∂q(j) = σ·s(i)·(dw(j) − s(j) ×* w) for i beyond j,   σ·s(i)·dw(j) otherwise                    (3)

use super::Rows;
use super::forces::Context;
use super::geometry::{PointDerivative, Points, Scene, basis, tangent_rate};
use super::rne::TreeDerivative;
use super::rows::{curvature, spring_rate, weight_rate};
use crate::jacobian;
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::stages::collision::Contact;
use crate::stages::constraint::Row;
use crate::stages::solve::law::{Curvature, MAX_ROWS};

/// Room for the contacts of one pair of bodies.
#[derive(Clone, Debug)]
pub(super) struct ContactDerivative {
    points: Points,
    /// Dofs that move either body, with their axes and rates of axes about a common point.
    dofs: Vec<PairDof>,
}

/// A dof that moves one body of a pair, or both.
#[derive(Clone, Copy, Debug)]
struct PairDof {
    dof: usize,
    /// −1 for the first body, 1 for the second, 0 for both.
    side: f64,
    axis: Spatial,
    /// g of (1) for velocity and acceleration.
    rates: [Spatial; 2],
    /// dw along its motion (2), and along its velocity.
    by_position: Spatial,
    by_velocity: Spatial,
    /// The former less s ×* w. (3)
    beyond: Spatial,
}

/// Six columns.
type Matrix = [Spatial; 6];

#[inline]
fn apply(matrix: &Matrix, vector: Spatial) -> Spatial {
    let mut sum = [0.0; 6];
    for (column, number) in matrix.iter().zip(vector.0) {
        for (sum, entry) in sum.iter_mut().zip(column.0) {
            *sum += entry * number;
        }
    }
    Spatial(sum)
}

/// Sums over the contacts of a pair of bodies, about a common point.
struct Pair {
    bodies: [usize; 2],
    center: Vec3,
    /// Whether any dof moves the first body.
    first_moves: bool,
    /// Velocities and accelerations of both bodies.
    motions: [[Spatial; 2]; 2],
    /// dw of (2) by the motion of the first body and of the second, g aside.
    by_motion: [Matrix; 2],
    /// dw by g of velocity and of acceleration, for the second body.
    by_rate: [Matrix; 2],
    wrench: Spatial,
}

impl Pair {
    fn new(context: &Context<'_>, tree: &TreeDerivative, bodies: [usize; 2], center: Vec3) -> Self {
        let (model, data) = (context.model, context.data);
        let motion = |body: usize, motions: &[Spatial]| {
            let offset = jacobian::offset(model, &data.kinematics, body, center);
            motions[body].shift_motion(offset)
        };
        Self {
            bodies,
            center,
            first_moves: !jacobian::moving_dofs(model, bodies[0]).is_empty(),
            motions: [&data.velocity.body, &tree.gained]
                .map(|motions| bodies.map(|body| motion(body, motions))),
            by_motion: [[Spatial::ZERO; 6]; 2],
            by_rate: [[Spatial::ZERO; 6]; 2],
            wrench: Spatial::ZERO,
        }
    }
}

impl ContactDerivative {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        Self {
            points: Points::new(model),
            dofs: Vec::with_capacity(model.counts().nv),
        }
    }

    /// Adds the derivatives of all contact forces; false where a collider does not find its points again.
    pub(super) fn add(
        &mut self,
        context: &Context<'_>,
        tree: &TreeDerivative,
        rows: &mut Rows<'_>,
    ) -> bool {
        let data = context.data;
        self.points.clear();
        let first = data.constraint.first_contact;
        let bodies_of = |index: usize| {
            let contact = &data.collision.contacts[data.constraint.blocks[index].object];
            contact
                .geoms
                .map(|geom| context.model.structure.geoms.body[geom])
        };
        let mut pair: Option<Pair> = None;
        let mut stiffness: Curvature = [[0.0; MAX_ROWS]; MAX_ROWS];
        for index in first..data.constraint.blocks.len() {
            if !curvature(context, index, &mut stiffness) {
                continue;
            }
            let bodies = bodies_of(index);
            if pair.as_ref().is_none_or(|pair| pair.bodies != bodies) {
                if let Some(pair) = pair.take() {
                    self.expand(context, tree, &pair, rows);
                }
                let contact = &data.collision.contacts[data.constraint.blocks[index].object];
                pair = Some(Pair::new(context, tree, bodies, contact.position));
            }
            let Some(pair) = &mut pair else { continue };
            if !self.add_contact(context, (index, &stiffness), pair) {
                return false;
            }
        }
        if let Some(pair) = pair {
            self.expand(context, tree, &pair, rows);
        }
        true
    }

    /// Adds one contact to the sums of its pair of bodies.
    fn add_contact(
        &mut self,
        context: &Context<'_>,
        (index, stiffness): (usize, &Curvature),
        pair: &mut Pair,
    ) -> bool {
        let data = context.data;
        let block = &data.constraint.blocks[index];
        let scene = Scene {
            model: context.model,
            kinematics: &data.kinematics,
            contacts: &data.collision.contacts,
        };
        let Some(geometry) = self.points.of_contact(&scene, block.object, pair.center) else {
            return false;
        };
        let contact = &data.collision.contacts[block.object];
        let at = Touch::new(
            contact,
            data.constraint.block_rows(block),
            &data.solve.force[block.rows()],
            stiffness,
            pair,
        );
        match at.count {
            1 => at.add::<1>(&geometry, pair),
            3 => at.add::<3>(&geometry, pair),
            4 => at.add::<4>(&geometry, pair),
            _ => at.add::<MAX_ROWS>(&geometry, pair),
        }
        true
    }

    /// From motions of bodies to dofs. (3)
    fn expand(
        &mut self,
        context: &Context<'_>,
        tree: &TreeDerivative,
        pair: &Pair,
        rows: &mut Rows<'_>,
    ) {
        let (model, data) = (context.model, context.data);
        let lists = pair.bodies.map(|body| jacobian::moving_dofs(model, body));
        let common = (lists[0].iter().zip(lists[1]))
            .take_while(|(first, second)| first == second)
            .count();
        self.dofs.clear();
        for (list, body, side) in [
            (&lists[0][..common], pair.bodies[0], 0.0),
            (&lists[0][common..], pair.bodies[0], -1.0),
            (&lists[1][common..], pair.bodies[1], 1.0),
        ] {
            let offset = jacobian::offset(model, &data.kinematics, body, pair.center);
            for &dof in list {
                let about = |motion: Spatial| motion.shift_motion(offset);
                let rates = [data.velocity.dof_axis_dot[dof], tree.gained_axis[dof]];
                self.dofs.push(PairDof {
                    dof,
                    side,
                    axis: about(data.kinematics.dof_axis[dof]),
                    rates: rates.map(about),
                    by_position: Spatial::ZERO,
                    by_velocity: Spatial::ZERO,
                    beyond: Spatial::ZERO,
                });
            }
        }
        for dof in &mut self.dofs {
            dof.change(pair);
        }
        let nv = context.layout.nv;
        for own in &self.dofs[common..] {
            let row = rows.row(own.dof);
            let axis = own.axis.scale(own.side);
            for other in &self.dofs {
                let same_branch = other.side == 0.0 || other.side == own.side;
                let change = if same_branch && own.dof >= context.turn_start[other.dof] {
                    other.beyond
                } else {
                    other.by_position
                };
                row[other.dof] += axis.dot(change);
                row[nv + other.dof] += axis.dot(other.by_velocity);
            }
        }
    }
}

impl PairDof {
    /// dw along the dof's motion and velocity.
    fn change(&mut self, pair: &Pair) {
        let [first, second] = &pair.by_motion;
        self.by_position = if self.side == 0.0 {
            apply(first, self.axis) + apply(second, self.axis)
        } else {
            let own = if self.side < 0.0 { first } else { second };
            let rates =
                apply(&pair.by_rate[0], self.rates[0]) + apply(&pair.by_rate[1], self.rates[1]);
            self.by_velocity = apply(&pair.by_rate[0], self.axis).scale(self.side);
            apply(own, self.axis) + rates.scale(self.side)
        };
        self.beyond = self.by_position - self.axis.cross_force(pair.wrench);
    }
}

/// How a contact's geometry changes.
struct Change {
    distance: f64,
    position: Vec3,
    frame: [Vec3; 3],
}

impl Change {
    fn new(contact: &Contact, distance: f64, position: Vec3, [normal, tangent]: [Vec3; 2]) -> Self {
        let other = normal.cross(contact.frame.row(1)) + contact.frame.row(0).cross(tangent);
        Self {
            distance,
            position,
            frame: [normal, tangent, other],
        }
    }

    /// Along a motion of the second geom.
    fn of_second(geometry: &PointDerivative, contact: &Contact, k: usize) -> Self {
        let (distance, position) = (geometry.distance[k], geometry.position[k]);
        Self::new(contact, distance, position, geometry.frame[k])
    }

    /// Along a turn of the frame about the normal.
    fn of_frame(contact: &Contact) -> Self {
        Self {
            distance: 0.0,
            position: Vec3::ZERO,
            frame: [Vec3::ZERO, contact.frame.row(2), -contact.frame.row(1)],
        }
    }
}

/// A contact at the solution.
struct Touch<'a> {
    contact: &'a Contact,
    /// Its rows.
    count: usize,
    force: [f64; MAX_ROWS],
    damping: [f64; MAX_ROWS],
    /// Of the first row, by distance.
    spring_rate: f64,
    weight_rate: f64,
    stiffness: &'a Curvature,
    /// From the common point to the contact.
    arm: Vec3,
    /// Wrenches of the rows' unit forces about the common point.
    axes: [Spatial; MAX_ROWS],
    /// F.
    push: Vec3,
    /// Velocity and acceleration of the second body about the common point.
    motions: [Spatial; 2],
    /// Of velocity and acceleration, the relative motion at the contact.
    relative: [Spatial; 2],
}

impl<'a> Touch<'a> {
    fn new(
        contact: &'a Contact,
        rows: &[Row],
        forces: &[f64],
        stiffness: &'a Curvature,
        pair: &Pair,
    ) -> Self {
        let arm = contact.position - pair.center;
        let mut axes = [Spatial::ZERO; MAX_ROWS];
        let (mut force, mut damping) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let mut push = Vec3::ZERO;
        for (index, (row, &along)) in rows.iter().zip(forces).enumerate() {
            (force[index], damping[index]) = (along, row.impedance.damping);
            let axis = contact.frame.row(index % 3);
            if index < 3 {
                axes[index] = Spatial::new(arm.cross(axis), axis);
                push = push.scale_add(axis, along);
            } else {
                axes[index] = Spatial::new(axis, Vec3::ZERO);
            }
        }
        Self {
            contact,
            count: rows.len(),
            force,
            damping,
            spring_rate: spring_rate(&rows[0]),
            weight_rate: weight_rate(&rows[0]),
            stiffness,
            arm,
            axes,
            push,
            motions: pair.motions.map(|[_, second]| second),
            relative: (pair.motions).map(|[first, second]| (second - first).shift_motion(arm)),
        }
    }

    /// F and T as a wrench about the common point.
    fn wrench(&self) -> Spatial {
        let mut wrench = Spatial::ZERO;
        for (&axis, &force) in self.axes.iter().zip(&self.force) {
            wrench = wrench.scale_add(axis, force);
        }
        wrench
    }

    /// Adds what motions and rates of the bodies do to a contact of N rows.
    fn add<const N: usize>(&self, geometry: &PointDerivative, pair: &mut Pair) {
        let wrench = self.wrench();
        pair.wrench += wrench;
        let spin = (pair.first_moves && !geometry.tangents_turn)
            .then(|| self.respond::<N>(&Change::of_frame(self.contact), None));
        let [first, second] = &mut pair.by_motion;
        for (k, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let motion = basis(k);
            let change = Change::of_second(geometry, self.contact, k);
            let response = self.respond::<N>(&change, Some(motion));
            *second += response;
            // Where both move together the contact goes along, except for tangents that do not turn with it. (4)
            let (turn, shift) = motion;
            *first += Spatial::new(turn, shift).cross_force(wrench) - response;
            if let (Some(spin), true) = (spin, k < 3) {
                *first = first.scale_add(spin, self.tangent_lag(turn));
            }
        }
        self.add_rates::<N>(&mut pair.by_rate);
    }

    /// By how much the tangents turn more about the normal than the bodies do.
    fn tangent_lag(&self, turn: Vec3) -> f64 {
        let [normal, tangent, other] = [0, 1, 2].map(|row| self.contact.frame.row(row));
        let along = if normal[1].abs() < 0.5 {
            Vec3::Y
        } else {
            Vec3::Z
        };
        let rate = tangent_rate(self.contact, along, Vec3::ZERO, turn.cross(normal));
        (rate - turn.cross(tangent)).dot(other)
    }

    /// Relative motion at the contact and its change as the second body moves, as acceleration and damped velocity
    /// together.
    #[inline]
    fn moved(
        &self,
        damping: f64,
        change: &Change,
        motion: Option<(Vec3, Vec3)>,
    ) -> (Spatial, Spatial) {
        let [velocity, acceleration] = self.relative;
        let relative = acceleration.scale_add(velocity, damping);
        let Some((turn, shift)) = motion else {
            return (relative, Spatial::ZERO);
        };
        let [velocity, acceleration] = self.motions;
        let own = acceleration.scale_add(velocity, damping);
        let carried = Spatial::new(turn, shift).cross_motion(own);
        let carried = carried.shift_motion(self.arm);
        let slid = relative.angular().cross(change.position);
        let moved = Spatial::new(carried.angular(), carried.linear() + slid);
        (relative, moved)
    }

    /// dw along a motion of the second body, or a change of the frame alone. (1), (2)
    #[inline]
    fn respond<const N: usize>(&self, change: &Change, motion: Option<(Vec3, Vec3)>) -> Spatial {
        let common = self.moved(self.damping[0], change, motion);
        let mut residual = [0.0; N];
        for (row, residual) in residual.iter_mut().enumerate() {
            let (rate, unit) = (change.frame[row % 3], self.contact.frame.row(row % 3));
            // Friction may be damped differently.
            let (relative, moved) = if self.damping[row] == self.damping[0] {
                common
            } else {
                self.moved(self.damping[row], change, motion)
            };
            *residual = if row < 3 {
                rate.dot(relative.linear()) + unit.dot(moved.linear())
            } else {
                rate.dot(relative.angular()) + unit.dot(moved.angular())
            };
        }
        residual[0] += self.spring_rate * change.distance;
        let growth = self.weight_rate * change.distance;
        let mut wrench = Spatial::ZERO;
        let (mut push_rate, mut moment) = (Vec3::ZERO, change.position.cross(self.push));
        for row in 0..N {
            let mut own = self.force[row] * growth;
            for (&stiffness, &residual) in self.stiffness[row].iter().zip(&residual) {
                own -= stiffness * residual;
            }
            wrench = wrench.scale_add(self.axes[row], own);
            let turned = change.frame[row % 3];
            if row < 3 {
                push_rate = push_rate.scale_add(turned, self.force[row]);
            } else {
                moment = moment.scale_add(turned, self.force[row]);
            }
        }
        wrench + Spatial::new(moment + self.arm.cross(push_rate), push_rate)
    }

    /// Adds dw by rates g of velocity and acceleration, of the second body. (1)
    fn add_rates<const N: usize>(&self, [by_velocity, by_acceleration]: &mut [Matrix; 2]) {
        for row in 0..N {
            // What a unit rate along the row's axis does.
            let mut wrench = Spatial::ZERO;
            for other in 0..N {
                wrench = wrench.scale_add(self.axes[other], -self.stiffness[other][row]);
            }
            let damped = wrench.scale(self.damping[row]);
            for k in 0..6 {
                let along = self.axes[row].0[k];
                by_acceleration[k] = by_acceleration[k].scale_add(wrench, along);
                by_velocity[k] = by_velocity[k].scale_add(damped, along);
            }
        }
    }
}
