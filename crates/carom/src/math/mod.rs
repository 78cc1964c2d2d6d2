//! Small algebra in three dimensions: vectors, quaternions, matrices, spatial vectors and inertias.
//!
//! All types are arrays in a transparent wrapper, generic over [`Scalar`](crate::scalar::Scalar).
//! A differentiable function `f` has a twin `f_vjp` right below it: it takes the same arguments and the
//! cotangent of the result, and *adds* to the cotangents of the arguments.

mod components;
mod mat3;
mod pose;
mod principal_axes;
mod quat;
mod spatial;
mod spatial_inertia;
mod vec3;

#[cfg(test)]
mod tests;

pub use components::Components;
pub use mat3::Mat3;
pub use pose::Pose;
pub use principal_axes::principal_axes;
pub use quat::Quat;
pub use spatial::Spatial;
pub use spatial_inertia::{BodyInertiaBar, SpatialInertia};
pub use vec3::Vec3;

pub use crate::linalg::symmetric_eigen;

/// Lengths below this count as zero, as in MuJoCo.
pub const MIN_LENGTH: f64 = 1e-15;
