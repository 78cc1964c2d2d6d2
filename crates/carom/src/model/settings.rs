//! Discrete choices of how to simulate.

pub use carom_spec::model_spec::{Cone, Integrator, JacobianKind, SolverKind};

/// Standard features that can be switched off (`option/flag` in MJCF). `true` means *disabled*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent switches, named as in the file format"
)]
pub struct Disable {
    /// All constraints.
    pub constraint: bool,
    /// Equality constraints.
    pub equality: bool,
    /// Joint and tendon friction loss.
    pub frictionloss: bool,
    /// Joint and tendon limits.
    pub limit: bool,
    /// Contacts.
    pub contact: bool,
    /// Springs of joints and tendons.
    pub spring: bool,
    /// Dampers of joints and tendons.
    pub damper: bool,
    /// Gravity.
    pub gravity: bool,
    /// Clamping of controls to their range.
    pub clampctrl: bool,
    /// Warm start of the constraint solver.
    pub warmstart: bool,
    /// Removal of contacts between a body and its parent.
    pub filterparent: bool,
    /// Actuator forces and activation dynamics.
    pub actuation: bool,
    /// Lower bound of the constraint time constant at two time steps.
    pub refsafe: bool,
    /// Sensors.
    pub sensor: bool,
    /// Mid-phase collision filtering.
    pub midphase: bool,
    /// Implicit joint damping in the Euler integrator.
    pub eulerdamp: bool,
    /// Native convex collision detection.
    pub nativeccd: bool,
    /// Separate solution of independent groups of constraints.
    pub island: bool,
    /// Several contact points per convex pair.
    pub multiccd: bool,
}

/// Optional features that can be switched on (`option/flag` in MJCF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent switches, named as in the file format"
)]
pub struct Enable {
    /// One set of contact parameters for all contacts.
    pub override_contacts: bool,
    /// Energies.
    pub energy: bool,
    /// Comparison of forward and inverse dynamics.
    pub fwdinv: bool,
    /// Discrete-time inverse dynamics.
    pub invdiscrete: bool,
    /// Exact diagonal of the constraint-space inertia.
    pub diagexact: bool,
}

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Integrator.
    pub integrator: Integrator,
    /// Friction cone.
    pub cone: Cone,
    /// Constraint Jacobian representation asked for by the file (results do not depend on it).
    pub jacobian: JacobianKind,
    /// Constraint solver.
    pub solver: SolverKind,
    /// Greatest number of solver iterations.
    pub iterations: usize,
    /// Greatest number of line-search iterations.
    pub ls_iterations: usize,
    /// Greatest number of no-slip iterations.
    pub noslip_iterations: usize,
    /// Greatest number of iterations of the convex collider.
    pub ccd_iterations: usize,
    /// Switched-off features.
    pub disable: Disable,
    /// Switched-on features.
    pub enable: Enable,
    /// Actuator groups that are switched off, one bit a group.
    pub disabled_actuator_groups: u32,
}
