//! The adjoint of the collision stage.
//!
//! Contacts come in runs: all points of one pair of geoms. Of each run with a cotangent, in this order,
//!
//!   parameters → geoms, explicit pair or override                                                       (1̄)
//!   surface velocity → position and frame of the contact, pose and field of the geoms                      (2̄)
//!   frame (n, t, n × t) with t ∝ a − n·(n·a) → normal n and preferred tangent a                             (3̄)
//!   distance, position, normal, tangent of the points → poses, sizes, vertices, elevations of the two shapes  (4̄)
//!
//! The last step holds fixed which features touch, as dual numbers do. A rigid motion of both shapes takes the points
//! along: with F the force and T the torque (about the centre c of a shape) of a cotangent on a pose,
//!
//!   F₁ + F₂ = Σ p̄,     T₁ + T₂ + (c₂ − c₁) × F₂ = Σ (p − c₁) × p̄ + n × n̄ + a × ā,                        (5)
//!
//! so the pose of one shape is enough ([`PairBar::complete`]). Pairs with corners or round ends on a plane have a
//! formula ([`plane`]), others with a formula run once over dual numbers ([`local`]), and those found by a search are
//! differentiated at the features that it ends with.
//!
//! Where the points have no derivative (concentric spheres, a sphere's centre on a box), that of the branch taken by
//! the forward pass is used; it is finite.

mod local;
mod pair_bar;
mod plane;

use super::forward::{MIN_FRICTION, posed_shape};
use super::narrow::{self, convex, height_field};
use super::parameters::{self, Parameters};
use super::{
    Contact, ContactPoint, Manifold, PosedShape, ShapeData, map, points, surface_velocity,
};
use crate::cotangent::{Cotangents, DataBar};
use crate::dual::Dual;
use crate::dynamics::At;
use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, Model};
use crate::stages::kinematics::Kinematics;
pub(crate) use local::add as add_tangent;
pub(super) use local::turn;
pub(crate) use pair_bar::{PairBar, ShapeBar, add_wrench};

/// Work area of the backward pass; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackwardWork {
    /// The points of a pair and their cotangents.
    pub(super) points: Vec<Cotangent>,
    /// For searches that are repeated.
    pub(super) manifold: Manifold,
    /// Colliders of spheres: three directions of the centre, a radius, three sizes. Made when they are asked for first, as
    /// the next ones are: points with derivatives take so much room that moving it would cost more than a step.
    spheres: Option<Box<Manifold<Dual<7>>>>,
    /// Other colliders: six directions of a pose, three sizes each.
    shapes: Option<Box<Manifold<Dual<12>>>>,
    /// Polygons that are clipped.
    clip: convex::ClipBar,
}

impl BackwardWork {
    /// Room for points of a collider.
    pub(crate) fn manifold_mut(&mut self) -> &mut Manifold {
        &mut self.manifold
    }
}

/// A point and its cotangent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cotangent {
    /// The point; its tangent is that of the collider, or zero.
    pub(super) point: ContactPoint,
    /// Its cotangent.
    pub(super) bar: ContactPoint,
}

/// Adds the cotangents of the geoms' poses, and of the model's shapes and contact parameters.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let model_bar = &mut bar.model;
    let DataBar {
        kinematics: kinematics_bar,
        contacts: contacts_bar,
        collision: work,
        ..
    } = &mut bar.data;
    work.manifold.convex.single_point = model.settings.disable.multiccd;
    let mut contacts = &*at.data.collision.contacts;
    let mut bars = &contacts_bar[..];
    while let Some(first) = contacts.first() {
        let same = |contact: &&Contact| (contact.geoms, contact.pair) == (first.geoms, first.pair);
        let count = contacts.iter().take_while(same).count();
        let (run, run_bar) = (&contacts[..count], &bars[..count]);
        if run_bar.iter().any(is_nonzero) {
            let mut pass = Pass {
                model,
                kinematics,
                kinematics_bar,
                model_bar,
            };
            pass.parameters(run, run_bar);
            work.points.clear();
            for (contact, bar) in run.iter().zip(run_bar) {
                work.points.push(pass.point(contact, *bar));
            }
            pass.shapes(first, work);
        }
        (contacts, bars) = (&contacts[count..], &bars[count..]);
    }
}

/// Whether any number of a cotangent is not zero.
fn is_nonzero(bar: &Contact) -> bool {
    let mut is_nonzero = false;
    let _ = bar.map(|number| {
        is_nonzero |= number != 0.0;
        number
    });
    is_nonzero
}

/// What a run of contacts reads and where its cotangents go.
pub(super) struct Pass<'a> {
    pub(super) model: &'a Model,
    pub(super) kinematics: &'a Kinematics,
    pub(super) kinematics_bar: &'a mut Kinematics,
    pub(super) model_bar: &'a mut Model,
}

impl Pass<'_> {
    /// (1̄)
    fn parameters(&mut self, run: &[Contact], run_bar: &[Contact]) {
        let [first, ..] = run else { return };
        let mut sum = Parameters {
            dimension: 0,
            margin: 0.0,
            gap: 0.0,
            friction: [0.0; 5],
            solref: [0.0; 2],
            solreffriction: [0.0; 2],
            solimp: [0.0; 5],
            adhesion: 0.0,
            range: 0.0,
            law: None,
            pair: first.pair,
        };
        let add = |sum: &mut [f64], bar: &[f64]| {
            for (sum, bar) in sum.iter_mut().zip(bar) {
                *sum += bar;
            }
        };
        for bar in run_bar {
            sum.margin += bar.include_margin;
            sum.adhesion += bar.adhesion;
            add(&mut sum.friction, &bar.friction);
            add(&mut sum.solref, &bar.solref);
            add(&mut sum.solreffriction, &bar.solreffriction);
            add(&mut sum.solimp, &bar.solimp);
        }
        // The least friction does not depend on anything. That of the contacts may be another one: learned terms change it.
        let mixed = parameters::mix(self.model, first.geoms, first.pair);
        for (bar, friction) in sum.friction.iter_mut().zip(mixed.friction) {
            if friction <= MIN_FRICTION {
                *bar = 0.0;
            }
        }
        parameters::mix_vjp(self.model, first.geoms, &sum, self.model_bar);
    }

    /// From a contact to the point that its collider found: (2̄) and (3̄).
    fn point(&mut self, contact: &Contact, mut bar: Contact) -> Cotangent {
        if self.model.structure.has_surface_velocity {
            surface_velocity::set_vjp(
                self.model,
                self.kinematics,
                contact,
                &mut bar,
                (self.kinematics_bar, self.model_bar),
            );
        }
        let tangent = self.preferred_tangent(contact);
        let [normal_bar, tangent_bar] = frame_vjp(&contact.frame, tangent, &bar.frame);
        Cotangent {
            point: ContactPoint {
                distance: contact.distance,
                position: contact.position,
                normal: contact.frame.row(0),
                tangent,
            },
            bar: ContactPoint {
                distance: bar.distance,
                position: bar.position,
                normal: normal_bar,
                tangent: tangent_bar,
            },
        }
    }

    /// The tangent that the collider asked for: capsules on planes have their axis.
    fn preferred_tangent(&self, contact: &Contact) -> Vec3 {
        let (model, geoms) = (self.model, contact.geoms);
        let kinds = geoms.map(|geom| model.structure.geoms.kind[geom]);
        if kinds != [GeomKind::Plane, GeomKind::Capsule]
            || points::of_law(model, contact.law).is_some()
            || model.mapped_pair(geoms).is_some()
        {
            return Vec3::ZERO;
        }
        self.kinematics.geom_rotation[geoms[1]].column(2)
    }

    /// (4̄)
    fn shapes(&mut self, contact: &Contact, work: &mut BackwardWork) {
        let (model, geoms) = (self.model, contact.geoms);
        if let Some((owner, points)) = points::of_law(model, contact.law) {
            points::backward(self, owner, points, contact, work);
            return;
        }
        let shape1 = posed_shape(model, self.kinematics, geoms[0]);
        let mut shape2 = posed_shape(model, self.kinematics, geoms[1]);
        let reach = parameters::detection_distance(model, geoms, contact.pair);
        let mut pair = PairBar::new(geoms, self.model_bar);
        let points = std::mem::take(&mut work.points);
        if let Some(mapped) = model.mapped_pair(geoms) {
            let shapes = [&shape1, &shape2];
            map::backward(&*mapped.map, shapes, reach, &points, &mut pair);
        } else if let Some((collider, cells)) = narrow::patch::of_law(model, contact.law, geoms) {
            shape2.data = ShapeData::Cells(cells);
            let room = work.shapes.get_or_insert_default();
            local::shapes(
                collider,
                [&shape1, &shape2],
                reach,
                &points,
                room,
                &mut pair,
            );
        } else {
            shapes_backward([&shape1, &shape2], reach, &points, work, &mut pair);
        }
        work.points = points;
        pair.finish(self.kinematics, self.kinematics_bar);
    }
}

/// The cotangents of two shapes from those of their points; `reach` is the margin of their collider.
pub(super) fn shapes_backward(
    shapes: [&PosedShape<'_>; 2],
    reach: f64,
    points: &[Cotangent],
    work: &mut BackwardWork,
    out: &mut PairBar<'_>,
) {
    use GeomKind as K;
    match shapes.map(|shape| shape.kind) {
        [K::Plane, K::Sphere | K::Capsule | K::Box | K::Mesh] => {
            plane::backward(shapes, reach, points, out);
        }
        [
            K::Sphere,
            second @ (K::Sphere | K::Capsule | K::Cylinder | K::Box),
        ] => {
            if let Some(collider) = narrow::sphere_collider(second) {
                let room = work.spheres.get_or_insert_default();
                local::spheres(collider, shapes, reach, points, room, out);
            }
        }
        [K::HeightField, _] => {
            height_field::backward(shapes, reach, points, &mut work.manifold.convex, out);
        }
        [first, second] => {
            if let Some(collider) = narrow::formula_collider(first, second) {
                let room = work.shapes.get_or_insert_default();
                local::shapes(collider, shapes, reach, points, room, out);
            } else {
                let buffers = (&mut work.manifold.convex, &mut work.clip);
                convex::backward(shapes, reach, points, buffers, out);
            }
        }
    }
}

/// Cotangents of the normal and of the preferred tangent from that of the frame. (3̄)
fn frame_vjp(frame: &Mat3, preferred: Vec3, bar: &Mat3) -> [Vec3; 2] {
    let [normal, tangent, _] = [0, 1, 2].map(|row| frame.row(row));
    let [mut normal_bar, mut tangent_bar, other_bar] = [0, 1, 2].map(|row| bar.row(row));
    normal.cross_vjp(tangent, other_bar, &mut normal_bar, &mut tangent_bar);
    let along = super::forward::tangent_source(normal, preferred);
    let across = along - normal * normal.dot(along);
    let mut across_bar = Vec3::ZERO;
    across.normalized_vjp(tangent_bar, 0.0, &mut across_bar);
    let cosine_bar = -across_bar.dot(normal);
    normal_bar += along * cosine_bar - across_bar * normal.dot(along);
    let preferred_bar = across_bar + normal * cosine_bar;
    [normal_bar, preferred_bar]
}
