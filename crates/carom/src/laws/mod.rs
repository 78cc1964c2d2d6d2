//! Laws at one element: smooth forces, and what pushes bodies apart.
//!
//! A smooth force is a `Law`, a function of a few inputs and parameters with its derivatives in one file: `spring`,
//! `damper`, `actuator`, `muscle`, `activation` and the medium, `fluid`. `terms` has where they act.
//!
//! Laws of joints that files choose by texts are in `joint`, one file each.
//!
//! Contact laws:
//!
//! | law | level | integrators | what it is |
//! |---|---|---|---|
//! | soft (default) | acceleration | all | MuJoCo's convex law, in [`solve::law`](crate::stages::solve::law) |
//! | complementarity | impulse | Euler | rigid contact: one Coulomb problem a contact, [`cone`], swept over all contacts |
//! | Hunt–Crossley | force | all | a spring and damper at each contact point, [`hunt_crossley`], [`brown_mcphee`] |
//! | Kelvin–Voigt | force | all | a linear spring and damper at each contact point, [`kelvin_voigt`] |
//! | impulse | impact | Euler, implicit, implicitfast | ideal impacts without friction, at their own times within a step, `integrate/impact/` |
//!
//! What a law is called, its numbers and its level are declared in [`carom_spec::model_spec::LawKind`]; what a level goes
//! with is in `admits`. Laws on the level of forces are functions at one contact, [`force`].
//!
//! A law holds for a whole model, for one geom or for a pair of geoms; how a file says so is told in
//! [`carom_spec::mjcf::contact_law`]. Contacts on the level of forces are smooth functions of the state and join
//! any of the others. Soft and complementarity contacts do not mix: a step either has forces or impulses to solve for.
//! Under the complementarity law limits, equalities and friction loss are solved for as impulses as well.
//!
//! In both further laws `margin` is the distance at which contacts are found; bodies touch where their shapes do.
//!
//! Motors and servos with several controls, states or forces are laws at one actuator: [`servo`] has what they share,
//! [`dc_motor`], [`pid`] and [`so3`] have their equations.

pub(crate) mod activation;
pub(crate) mod actuator;
pub(crate) mod admits;
pub mod brown_mcphee;
pub mod cone;
pub(crate) mod damper;
pub mod dc_motor;
pub(crate) mod fluid;
pub mod force;
pub mod hunt_crossley;
pub(crate) mod joint;
pub mod kelvin_voigt;
pub(crate) mod law;
pub(crate) mod lift;
pub(crate) mod muscle;
pub mod pid;
pub mod points;
pub mod servo;
pub mod so3;
pub(crate) mod spring;

use crate::math::Vec3;
use crate::model::{LawKind, LawNumbers};
use crate::scalar::Scalar;
use force::{ForceLaw, Touch, TouchBar};

force::force_laws! {
    HuntCrossley => hunt_crossley::HuntCrossleyContact,
    KelvinVoigt => kelvin_voigt::KelvinVoigtContact;
    others: Soft | Complementarity | Impulse
}
