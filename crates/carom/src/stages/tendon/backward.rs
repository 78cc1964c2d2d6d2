//! The adjoint of tendon lengths and Jacobians.
//!
//! A straight leg from p to q of length ℓ has the unit vector u = (q − p)/ℓ and adds the wrenches of the forces ∓κu at
//! its ends to the Jacobian, with κ one over the pulley's divisor. The cotangents of the Jacobian's entries, taken as
//! speeds of the dofs, give the two ends the velocities ṽ; then
//!
//!   ū = κ·(ṽ(q) − ṽ(p)),   κ̄ += u·(ṽ(q) − ṽ(p)) + ℓ·L̄,   q̄ = −p̄ = (1 − u·uᵀ)·ū/ℓ + κL̄·u      (1̄)
//!
//! besides what the lever arms receive. The path around a geom is differentiated in the geom's frame by dual numbers:
//! ten inputs (two ends, side point, radius), seven outputs (arc, two points). With x the points that go in and y those
//! that come out, force and torque on the frame, about its centre c, are
//!
//!   F = Σ ȳ − Σ x̄,   T = Σ (y − c) × ȳ − Σ (x − c) × x̄                                             (2̄)

use std::mem::take;

use super::Tendon;
use super::path::{Around, Step, steps};
use super::wrap::wrap_local;
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::jacobian::{Wrench, apply_force_vjp};
use crate::math::Vec3;
use crate::model::{Model, Wrap};
use crate::stages::collision::{ShapeBar, add_tangent, add_wrench};
use crate::stages::kinematics::Kinematics;

/// A number of the path around a geom: two ends, side point, radius.
type Number = Dual<10>;

/// Adds the cotangents of sites, wrapping geoms, axes, joint positions and coefficients.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let own = take(&mut bar.data.tendon);
    for id in 0..own.length.len() {
        if at.model.structure.tendons.spatial[id] {
            let mut tracer = Tracer {
                model: at.model,
                kinematics: &at.data.kinematics,
                own: &own,
                bar: &mut *bar,
                length_bar: own.length[id],
                points: at.data.tendon.path_start[id],
                scale: 1.0,
                scale_bar: 0.0,
            };
            tracer.trace(id);
        } else {
            fixed(at, id, &own, bar);
        }
    }
    bar.data.tendon = own;
}

fn fixed(at: At<'_>, tendon: usize, own: &Tendon, bar: &mut Cotangents) {
    let (model, state) = (at.model, at.state);
    let structure = &model.structure;
    let tendons = &structure.tendons;
    let length_bar = own.length[tendon];
    for position in tendons.wraps[tendon].clone() {
        if let Wrap::Joint(joint) = tendons.path[position] {
            let joints = &structure.joints;
            let value = state.qpos[joints.qpos[joint]];
            bar.state.qpos[joints.dof[joint]] += model.wraps.coefficient[position] * length_bar;
            bar.model.wraps.coefficient[position] +=
                value * length_bar + own.jacobian[tendons.joint_entry[position]];
        }
    }
}

/// An end of a straight leg.
#[derive(Clone, Copy)]
struct End {
    position: Vec3,
    body: usize,
}

/// Walks along a spatial path, leg by leg, as the forward pass does.
struct Tracer<'a> {
    model: &'a Model,
    kinematics: &'a Kinematics,
    own: &'a Tendon,
    bar: &'a mut Cotangents,
    /// Cotangent of the tendon's length.
    length_bar: f64,
    /// Path points passed so far, over all tendons.
    points: usize,
    /// One over the pulley's divisor.
    scale: f64,
    scale_bar: f64,
}

impl Tracer<'_> {
    fn trace(&mut self, tendon: usize) {
        let model = self.model;
        let mut pulley = None;
        for step in steps(&model.structure.tendons, tendon) {
            match step {
                Step::Pulley(position) => {
                    self.finish_branch(pulley);
                    pulley = Some(position);
                    self.scale = model.wraps.coefficient[position].recip();
                    self.points += 1;
                }
                Step::Leg(leg) => {
                    self.pop(leg.sites[0]);
                    let ends = leg.sites.map(|site| self.site(site));
                    let bars = match leg.around {
                        Some(around) => self.around(leg.position, around, ends),
                        None => self.straight(3 * leg.position, ends),
                    };
                    for (site, bar) in leg.sites.into_iter().zip(bars) {
                        self.bar.data.kinematics.site_position[site] += bar;
                    }
                    if leg.is_last {
                        self.pop(leg.sites[1]);
                    }
                }
            }
        }
        self.finish_branch(pulley);
    }

    /// Hands the scale's cotangent to the pulley that the branch began with.
    fn finish_branch(&mut self, pulley: Option<usize>) {
        if let Some(position) = pulley {
            self.bar.model.wraps.coefficient[position] -= self.scale * self.scale * self.scale_bar;
        }
        self.scale_bar = 0.0;
    }

    /// A leg with a wrapping geom in between; returns the cotangents of its ends.
    fn around(&mut self, position: usize, around: Around, ends: [End; 2]) -> [Vec3; 2] {
        let Around { shape, geom, side } = around;
        let (center, rotation) = (
            self.kinematics.geom_position[geom],
            &self.kinematics.geom_rotation[geom],
        );
        // Three independent variables each, in the frame of the geom.
        let variables = |point: Vec3, first: usize| {
            let local = rotation.transpose_mul_vec(point - center);
            Vec3(std::array::from_fn(|i| {
                Number::variable(local[i], first + i)
            }))
        };
        let side_position = side.map(|site| self.kinematics.site_position[site]);
        let [start, end] = ends;
        let contact = wrap_local(
            shape,
            Number::variable(self.model.geoms.size[geom][0], 9),
            [variables(start.position, 0), variables(end.position, 3)],
            side_position.map(|side| variables(side, 6)),
        );
        let Some(contact) = contact else {
            return self.straight(3 * position, ends);
        };
        let body = self.model.structure.geoms.body[geom];
        let [enter, leave] = contact.points.map(|point| End {
            position: rotation.mul_vec(point.value()) + center,
            body,
        });
        let mut point_bars = [0, 1].map(|k| self.own.path_point[self.points + k]);
        self.points += 2;
        let [mut start_bar, enter_bar] = self.straight(3 * position + 1, [start, enter]);
        let [leave_bar, mut end_bar] = self.straight(3 * position + 2, [leave, end]);
        point_bars[0] += enter_bar;
        point_bars[1] += leave_bar;
        self.scale_bar += self.length_bar * contact.length.value;

        let mut inputs_bar = [0.0; 10];
        add_tangent(
            &mut inputs_bar,
            contact.length,
            self.length_bar * self.scale,
        );
        for (point, bar) in contact.points.iter().zip(point_bars) {
            let local_bar = rotation.transpose_mul_vec(bar);
            for axis in 0..3 {
                add_tangent(&mut inputs_bar, point[axis], local_bar[axis]);
            }
        }
        // A rigid motion of everything takes the points along: the geom receives what the ends do not. (2̄)
        let mut geom_bar = ShapeBar::default();
        geom_bar.add_point(enter.position - center, point_bars[0]);
        geom_bar.add_point(leave.position - center, point_bars[1]);
        let mut input = |point: Vec3, first: usize| {
            let bar = rotation.mul_vec(Vec3(std::array::from_fn(|i| inputs_bar[first + i])));
            geom_bar.add_point(point - center, -bar);
            bar
        };
        start_bar += input(start.position, 0);
        end_bar += input(end.position, 3);
        let kinematics_bar = &mut self.bar.data.kinematics;
        if let (Some(site), Some(position)) = (side, side_position) {
            kinematics_bar.site_position[site] += input(position, 6);
        }
        self.bar.model.geoms.size[geom][0] += inputs_bar[9];
        add_wrench(self.kinematics, geom, &geom_bar, kinematics_bar);
        [start_bar, end_bar]
    }

    /// A straight leg; returns the cotangents of its ends. (1̄)
    fn straight(&mut self, leg: usize, [start, end]: [End; 2]) -> [Vec3; 2] {
        let difference = end.position - start.position;
        let (direction, length) = difference.normalized();
        let legs = &self.model.structure.tendons.legs;
        let force = direction * self.scale;
        let [start_force_bar, mut start_bar] = self.pull(legs.first(leg), start, -force);
        let [end_force_bar, mut end_bar] = self.pull(legs.second(leg), end, force);
        let force_bar = end_force_bar - start_force_bar;
        self.scale_bar += force_bar.dot(direction) + length * self.length_bar;
        let mut difference_bar = Vec3::ZERO;
        difference.normalized_vjp(
            force_bar * self.scale,
            self.length_bar * self.scale,
            &mut difference_bar,
        );
        start_bar -= difference_bar;
        end_bar += difference_bar;
        [start_bar, end_bar]
    }

    /// The generalised force of a force at a point; returns the cotangents of the force and of the point.
    fn pull(&mut self, entries: &[[u32; 2]], point: End, force: Vec3) -> [Vec3; 2] {
        if entries.is_empty() {
            return [Vec3::ZERO; 2];
        }
        let bar =
            (entries.iter()).map(|&[dof, entry]| (dof as usize, self.own.jacobian[entry as usize]));
        let bar = apply_force_vjp(
            self.model,
            self.kinematics,
            Wrench::force(point.body, point.position, force),
            bar,
            &mut self.bar.data.kinematics,
        );
        [bar.force, bar.point]
    }

    fn site(&self, site: usize) -> End {
        End {
            position: self.kinematics.site_position[site],
            body: self.model.structure.sites.body[site],
        }
    }

    /// Passes a site among the path points.
    fn pop(&mut self, site: usize) {
        self.bar.data.kinematics.site_position[site] += self.own.path_point[self.points];
        self.points += 1;
    }
}
