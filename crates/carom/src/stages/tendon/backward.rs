//! The adjoint of tendon lengths and Jacobians.
//!
//! A straight leg from p to q of length ℓ has the unit vector u = (q − p)/ℓ and adds the wrenches of the forces ∓κu at
//! its ends to the Jacobian, with κ one over the pulley's divisor. The cotangents of the Jacobian's entries, taken as
//! speeds of the dofs, give the two ends the velocities ṽ; then
//!
//!   ū = κ·(ṽ(q) − ṽ(p)),   κ̄ += u·(ṽ(q) − ṽ(p)) + ℓ·L̄,   q̄ = −p̄ = (1 − u·uᵀ)·ū/ℓ + κL̄·u      (1̄)
//!
//! besides what the lever arms receive. The path around a geom is differentiated in the geom's frame by dual numbers:
//! ten inputs (two ends, side point, radius), seven outputs (arc, two points).

use std::mem::take;

use super::Tendon;
use super::wrap::{Contact, Shape, wrap_local};
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::jacobian::{Wrench, apply_force_vjp};
use crate::math::{Mat3, Vec3};
use crate::model::{Model, Wrap};
use crate::stages::kinematics::Kinematics;

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
        let tendons = &self.model.structure.tendons;
        let range = tendons.wraps[tendon].clone();
        let mut pulley = None;
        let mut position = range.start;
        while position + 1 < range.end {
            let path = &tendons.path[position..range.end];
            let (end, consumed) = match *path {
                [Wrap::Site(start), Wrap::Site(end), ..] => {
                    self.pop(start);
                    let ends = [start, end].map(|site| self.site(site));
                    let bars = self.straight(3 * position, ends);
                    self.add_to_sites([start, end], bars);
                    (end, 1)
                }
                [
                    Wrap::Site(start),
                    Wrap::Sphere { geom, side },
                    Wrap::Site(end),
                    ..,
                ] => {
                    self.around(position, Shape::Sphere, (geom, side), [start, end]);
                    (end, 2)
                }
                [
                    Wrap::Site(start),
                    Wrap::Cylinder { geom, side },
                    Wrap::Site(end),
                    ..,
                ] => {
                    self.around(position, Shape::Cylinder, (geom, side), [start, end]);
                    (end, 2)
                }
                _ => {
                    if path[0] == Wrap::Pulley {
                        self.finish_branch(pulley);
                        pulley = Some(position);
                        self.scale = self.model.wraps.coefficient[position].recip();
                        self.points += 1;
                    }
                    position += 1;
                    continue;
                }
            };
            position += consumed;
            if position + 1 == range.end || tendons.path[position + 1] == Wrap::Pulley {
                self.pop(end);
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

    /// A leg with a wrapping geom in between.
    fn around(
        &mut self,
        position: usize,
        shape: Shape,
        (geom, side): (usize, Option<usize>),
        sites: [usize; 2],
    ) {
        self.pop(sites[0]);
        let [start, end] = sites.map(|site| self.site(site));
        let local = Local {
            center: self.kinematics.geom_position[geom],
            rotation: &self.kinematics.geom_rotation[geom],
        };
        let side_position = side.map(|site| self.kinematics.site_position[site]);
        let contact = wrap_local(
            shape,
            Dual::<10>::variable(self.model.geoms.size[geom][0], 9),
            [
                local.variables(start.position, 0),
                local.variables(end.position, 3),
            ],
            side_position.map(|side| local.variables(side, 6)),
        );
        let Some(contact) = contact else {
            let bars = self.straight(3 * position, [start, end]);
            self.add_to_sites(sites, bars);
            return;
        };
        let body = self.model.structure.geoms.body[geom];
        let [enter, leave] = contact.points.map(|point| End {
            position: local.rotation.mul_vec(point.value()) + local.center,
            body,
        });
        let mut point_bars = [0, 1].map(|k| self.own.path_point[self.points + k]);
        self.points += 2;
        let [start_bar, enter_bar] = self.straight(3 * position + 1, [start, enter]);
        let [leave_bar, end_bar] = self.straight(3 * position + 2, [leave, end]);
        self.add_to_sites(sites, [start_bar, end_bar]);
        point_bars[0] += enter_bar;
        point_bars[1] += leave_bar;
        self.scale_bar += self.length_bar * contact.length.value;

        let arc_bar = self.length_bar * self.scale;
        let mut frame_bar = LocalBar::default();
        let inputs_bar = frame_bar.outputs(&local, &contact, arc_bar, point_bars);
        let vector = |first: usize| Vec3(std::array::from_fn(|i| inputs_bar[first + i]));
        let start_bar = frame_bar.input(&local, start.position, vector(0));
        let end_bar = frame_bar.input(&local, end.position, vector(3));
        self.add_to_sites(sites, [start_bar, end_bar]);
        if let (Some(site), Some(position)) = (side, side_position) {
            self.bar.data.kinematics.site_position[site] +=
                frame_bar.input(&local, position, vector(6));
        }
        self.bar.model.geoms.size[geom][0] += inputs_bar[9];
        self.bar.data.kinematics.geom_position[geom] += frame_bar.center;
        self.bar.data.kinematics.geom_rotation[geom] += frame_bar.rotation;
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

    fn add_to_sites(&mut self, sites: [usize; 2], bars: [Vec3; 2]) {
        for (site, bar) in sites.into_iter().zip(bars) {
            self.bar.data.kinematics.site_position[site] += bar;
        }
    }
}

/// The frame of a wrapping geom.
struct Local<'a> {
    center: Vec3,
    rotation: &'a Mat3,
}

impl Local<'_> {
    /// A world point in the frame, as three independent variables.
    fn variables(&self, point: Vec3, first: usize) -> Vec3<Dual<10>> {
        let local = self.rotation.transpose_mul_vec(point - self.center);
        Vec3(std::array::from_fn(|i| Dual::variable(local[i], first + i)))
    }
}

/// Cotangent of the frame of a wrapping geom.
#[derive(Default)]
struct LocalBar {
    center: Vec3,
    rotation: Mat3,
}

impl LocalBar {
    /// From the cotangents of arc and world points to those of the ten inputs in the frame.
    fn outputs(
        &mut self,
        local: &Local<'_>,
        contact: &Contact<Dual<10>>,
        arc_bar: f64,
        point_bars: [Vec3; 2],
    ) -> [f64; 10] {
        let mut inputs_bar = contact.length.tangent.map(|slope| slope * arc_bar);
        for (point, bar) in contact.points.iter().zip(point_bars) {
            self.center += bar;
            let mut local_bar = Vec3::ZERO;
            (local.rotation).mul_vec_vjp(point.value(), bar, &mut self.rotation, &mut local_bar);
            for (component, bar) in point.0.iter().zip(local_bar.0) {
                for (input_bar, slope) in inputs_bar.iter_mut().zip(component.tangent) {
                    *input_bar += slope * bar;
                }
            }
        }
        inputs_bar
    }

    /// From the cotangent of a point in the frame to that of the point in the world.
    fn input(&mut self, local: &Local<'_>, point: Vec3, local_bar: Vec3) -> Vec3 {
        let mut bar = Vec3::ZERO;
        (local.rotation).transpose_mul_vec_vjp(
            point - local.center,
            local_bar,
            &mut self.rotation,
            &mut bar,
        );
        self.center -= bar;
        bar
    }
}
