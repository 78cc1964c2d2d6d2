//! Maps of collisions: what a held body does to another one that stands on a table.

use super::Reference;
use crate::span::Span;

/// A map of collisions: laws of contact and table that were learned from strikes. Their numbers are those of the crate
/// `carom-planar`, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct CollisionMapSpec {
    /// Its name, and that of its numbers in the file of weights.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// The body that is struck.
    pub struck: Reference,
    /// The body that strikes.
    pub striker: Reference,
    /// The geom that the struck body stands on.
    pub table: Reference,
    /// How the arm moves after touch: delay (s), braking (m/s²), speed back (m/s), way back (m).
    pub arm: [f64; 4],
    /// Time without contact that ends a contact (s).
    pub quiet: f64,
    /// Numbers of the laws.
    pub numbers: Vec<f64>,
    /// Limits of their validity.
    pub limits: Vec<f64>,
    /// Which bodies they belong to.
    pub fingerprint: u64,
    /// The file that the numbers are in, as the text names it.
    pub weights_file: String,
}
