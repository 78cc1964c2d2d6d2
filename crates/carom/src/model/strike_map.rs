//! A map of collisions: what a held body does to another one that stands on a table, instead of the solver.

use carom_planar::{Bodies, Laws, Limits, NUMBERS};

use super::Model;
use crate::math::Vec3;
use crate::scalar::Scalar;

/// How many activations the arm behind the striker remembers what it was doing in.
pub const STRIKE_MEMORY: usize = 6;

/// A map of collisions of two bodies. Its numbers are those of the family `strikes` of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct StrikeMap {
    /// Its name.
    pub name: String,
    /// The two bodies as they look from above.
    pub bodies: Bodies,
    /// Where its laws were learned.
    pub limits: Limits,
    /// Ids of the body that is struck and of the one that strikes.
    pub ids: [usize; 2],
    /// The geom that the struck body stands on.
    pub table: usize,
    /// First coordinate and first dof of the struck body's free joint.
    pub(crate) free: [usize; 2],
    /// Coordinates and dofs of the striker along x, along y and about z.
    pub(crate) held: [[usize; 2]; 3],
    /// First of the activations that remember what the arm was doing.
    pub(crate) memory: usize,
    /// Centre of mass of the struck body in its frame (m).
    pub(crate) centre: Vec3,
    /// Where the frame of the striker is while its coordinates are zero (m).
    pub(crate) origin: [f64; 2],
    /// Lowest and highest corner of the striker (m), in the world.
    pub(crate) span: [f64; 2],
    /// Highest corner of the struck body above its underside (m).
    pub(crate) top: f64,
}

impl<T: Scalar> Model<T> {
    /// The laws of the map of collisions, if there is one.
    pub(crate) fn strike_laws(&self) -> Option<Laws<T>> {
        let numbers: &[T; NUMBERS] = self.strikes.number.first_chunk()?;
        Some(Laws::of(numbers))
    }
}
