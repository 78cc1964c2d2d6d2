//! Frames that coincide with the frame of their body or of its inertia.
//!
//! Frames closer than a micrometre (and a microradian) count as the same, as in MuJoCo: kinematics then copies the
//! frame instead of multiplying. Derivatives ignore this and go through the frame's own numbers.

use std::sync::Arc;

use super::Model;
use crate::math::{Quat, Vec3};
use crate::scalar::Scalar;

/// Differences of coordinates below this count as none.
const TOLERANCE: f64 = 1e-6;

/// What a frame fixed to a body coincides with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coincidence {
    /// Nothing.
    #[default]
    None,
    /// The frame of the body.
    Body,
    /// The axes of the body, with another origin.
    BodyAxes,
    /// The inertial frame of the body.
    Inertia,
    /// The axes of the inertial frame, with another origin.
    InertiaAxes,
}

/// Coincidences of all attached frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coincidences {
    /// Inertial frames of bodies; never `Inertia`.
    pub bodies: Vec<Coincidence>,
    /// Geoms.
    pub geoms: Vec<Coincidence>,
    /// Sites.
    pub sites: Vec<Coincidence>,
}

impl Coincidences {
    /// Moves all frames apart in the model's own numbers: what derivatives go through.
    pub fn clear(&mut self) {
        for list in [&mut self.bodies, &mut self.geoms, &mut self.sites] {
            list.fill(Coincidence::None);
        }
    }
}

/// Orientations in the body frame, coincidences taken into account.
impl<T: Scalar> Model<T> {
    /// Orientation of a body's inertial frame.
    pub fn inertial_quat(&self, body: usize) -> Quat<T> {
        let own = self.bodies.inertial_quat[body];
        self.attached_quat(body, self.structure.coincidences.bodies[body], own)
    }

    /// Orientation of a geom.
    pub fn geom_quat(&self, geom: usize) -> Quat<T> {
        let (structure, own) = (&self.structure, self.geoms.quat[geom]);
        self.attached_quat(
            structure.geoms.body[geom],
            structure.coincidences.geoms[geom],
            own,
        )
    }

    /// Orientation of a site.
    pub fn site_quat(&self, site: usize) -> Quat<T> {
        let (structure, own) = (&self.structure, self.sites.quat[site]);
        self.attached_quat(
            structure.sites.body[site],
            structure.coincidences.sites[site],
            own,
        )
    }

    fn attached_quat(&self, body: usize, coincidence: Coincidence, own: Quat<T>) -> Quat<T> {
        match coincidence {
            _ if T::HAS_DERIVATIVES => own,
            Coincidence::None => own,
            Coincidence::Body | Coincidence::BodyAxes => Quat::identity(),
            Coincidence::Inertia | Coincidence::InertiaAxes => self.inertial_quat(body),
        }
    }
}

impl<T: Scalar> Model<T> {
    /// Finds the coincidences anew, after poses of geoms, sites or inertias have changed.
    pub fn find_coincidences(&mut self) {
        let bodies = &self.bodies;
        let plain = |position: Vec3<T>, quat: Quat<T>| {
            (Vec3(position.0.map(T::value)), Quat(quat.0.map(T::value)))
        };
        let inertial =
            |body: usize| plain(bodies.inertial_position[body], bodies.inertial_quat[body]);
        let attached = |body: usize, pose: (Vec3, Quat)| match with_body(pose) {
            Coincidence::None => with_inertia(pose, inertial(body)),
            found => found,
        };
        let (geoms, sites) = (&self.geoms, &self.sites);
        let found = Coincidences {
            bodies: (0..self.counts().nbody)
                .map(|body| with_body(inertial(body)))
                .collect(),
            geoms: (self.structure.geoms.body.iter().enumerate())
                .map(|(geom, &body)| attached(body, plain(geoms.position[geom], geoms.quat[geom])))
                .collect(),
            sites: (self.structure.sites.body.iter().enumerate())
                .map(|(site, &body)| attached(body, plain(sites.position[site], sites.quat[site])))
                .collect(),
        };
        if found != self.structure.coincidences {
            Arc::make_mut(&mut self.structure).coincidences = found;
        }
    }
}

fn with_body((position, quat): (Vec3, Quat)) -> Coincidence {
    match (
        is_near(&position.0, &[0.0; 3]),
        is_same_rotation(quat, Quat::identity()),
    ) {
        (true, true) => Coincidence::Body,
        (false, true) => Coincidence::BodyAxes,
        _ => Coincidence::None,
    }
}

fn with_inertia((position, quat): (Vec3, Quat), (center, axes): (Vec3, Quat)) -> Coincidence {
    match (
        is_near(&position.0, &center.0),
        is_same_rotation(quat, axes),
    ) {
        (true, true) => Coincidence::Inertia,
        (false, true) => Coincidence::InertiaAxes,
        _ => Coincidence::None,
    }
}

/// A quaternion and its negative are the same rotation.
fn is_same_rotation(a: Quat, b: Quat) -> bool {
    is_near(&a.0, &b.0) || is_near(&a.0, &b.0.map(|number| -number))
}

fn is_near(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(x, y)| (x - y).abs() < TOLERANCE)
}
