//! The stages of the dynamics, one folder each.
//!
//! A stage owns one struct of results. Its `forward` takes `&` of the structs of earlier stages and `&mut` of its
//! own, so the borrow checker enforces the data flow that [`dynamics`](crate::dynamics) lists. Stages allocate
//! nothing and cannot fail. Scratch memory is part of the stage's struct.

pub mod acceleration;
pub mod actuation;
pub mod bias;
pub mod collision;
pub mod compliance;
pub mod constraint;
pub mod inertia;
pub mod kinematics;
pub mod learned;
pub mod passive;
pub mod sensing;
pub mod solve;
pub mod tendon;
pub mod transmission;
pub mod velocity;
