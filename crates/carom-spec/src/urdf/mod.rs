//! Reads URDF with MuJoCo's conventions.
//!
//! - Links become bodies in the order in which joints list them; root links are fixed to the world, and a
//!   root link named `world` is the world itself.
//! - `<collision>` becomes a geom; `<visual>` too, without contact and mass, when the `<mujoco>` extension
//!   sets `discardvisual="false"`. A collision geom takes the colour of the visual before it.
//! - `planar` becomes two slides and a hinge, `floating` a free joint, `spherical` a ball joint.
//! - `<limit effort>` clamps the actuator force on the joint; limits of `continuous` joints are ignored.
//! - `<mimic>` becomes a joint equality constraint.
//! - Static bodies are fused with their parents when the model is compiled, unless the extension says
//!   `fusestatic="false"`.
//!
//! `package://` and `model://` addresses, which MuJoCo cannot follow, are looked for in the folders around
//! the file.

mod geometry;
mod joint;
mod link;
mod read;

/// The stable codes of all URDF diagnostics.
pub mod codes {
    /// A link is missing, repeated or not part of the tree.
    pub const LINK: &str = "U001";
    /// A joint is wrong.
    pub const JOINT: &str = "U002";
    /// An element is missing or repeated.
    pub const ELEMENT: &str = "U003";
    /// A geometry or its mesh file cannot be used.
    pub const GEOMETRY: &str = "U004";
    /// Something has no effect.
    pub const NO_EFFECT: &str = "U101";
}

pub(crate) use read::read;
