//! Colliders, one file per pair of shapes.
//!
//! Each is a function of two [`PosedShape`](super::PosedShape)s and the margin that appends to a
//! [`Manifold`](super::Manifold).
