//! Torques of joints against those of inverse dynamics, for arms whose torques were recorded.
//!
//! Where a joint's actuators are motors whose recorded controls are torques or currents, the equations of motion have no unknown but the
//! parameters. With positions q, velocities v and accelerations a of filtered signals, joint j has the residual
//!
//!   rⱼ = Σₐ g·(k·u(t − δ) + b₀ + b₁·g·q + b₂·g·v) − f·F[tanh(v/v₀)] − (M(q)·a + c(q, v) − passive)ⱼ        (1)
//!
//! over its actuators a with gear g, gain k, control u, delay δ and bias b, and its dry friction f. F is the filter of the signals, which rounds the jumps of friction too. Everything but δ enters linearly: it is
//! the regressor form Y(q, v, a)·π of the equations of motion [Atkeson 1986], in which a body counts by ten numbers,
//!
//!   π = (m, m·c, E),   E = ∫ r·rᵀ dm about the origin of the body                                       (2)
//!
//! - `filter.rs`: the zero-phase filter; `signals.rs`: signals at an even rate and their differences,
//! - `measured.rs`: which joints have torques, and the residuals (1) of a model,
//! - `regressor.rs`: Y, and residuals with their derivatives with respect to any parameters,
//! - `base.rs`: the combinations that motions identify, by a rank-revealing factorisation, and what is left by the best of them.

mod base;
mod filter;
mod measured;
mod regressor;
mod signals;
#[cfg(test)]
mod tests;

pub(crate) use base::{Base, rms_by_axis};
pub(crate) use measured::{Axis, Measured};
pub(crate) use regressor::Regressor;
pub(crate) use signals::Signals;
