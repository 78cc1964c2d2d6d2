//! From bodies that move to graphs and back.
//!
//! [`Solid`] is what a body is made of, [`Body`] where it is, [`Scene`] all of them. `contacts` finds who is near whom,
//! `features` says it in numbers that neither a shift nor a turn about the vertical changes, [`Batch`] collects graphs for a
//! network, and `motion` makes a motion of its answer. All but the search is generic over `Scalar`, so that dual numbers
//! give its derivatives.

mod body;
mod contacts;
mod features;
mod graph;
pub(crate) mod motion;
mod solid;
#[cfg(test)]
mod tests;

pub use body::{Body, Heading, Twist};
pub use contacts::{Contact, Contacts, Place};
pub use features::{
    EDGE_FEATURES, FACE_FEATURES, MESH_FEATURES, OBJECT_FEATURES, Setting, WitnessMode,
};
pub(crate) use features::{
    MESH_PUSH, OBJECT_PUSH, edge_features, face_features, mesh_features, object_features, push,
};
pub use graph::{Batch, Normalizer};
pub use solid::{Face, FlatSolid, Scene, Solid};
