//! Physics options.

/// Time integrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Integrator {
    /// Semi-implicit Euler with implicit joint damping.
    #[default]
    Euler,
    /// Fourth-order Runge–Kutta.
    RungeKutta4,
    /// Implicit in velocity.
    Implicit,
    /// Implicit in velocity without the derivative of centripetal and Coriolis forces.
    ImplicitFast,
}

/// Friction cone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cone {
    /// Pyramid.
    #[default]
    Pyramidal,
    /// Ellipse.
    Elliptic,
}

/// Storage of constraint Jacobians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JacobianKind {
    /// Dense.
    Dense,
    /// Sparse.
    Sparse,
    /// By size.
    #[default]
    Auto,
}

/// Constraint solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SolverKind {
    /// Projected Gauss–Seidel.
    ProjectedGaussSeidel,
    /// Conjugate gradients.
    ConjugateGradient,
    /// Newton.
    #[default]
    Newton,
}

/// Parts of the pipeline that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Flags {
    /// All constraints.
    pub constraint: bool,
    /// Equality constraints.
    pub equality: bool,
    /// Dry friction of joints and tendons.
    pub friction_loss: bool,
    /// Joint and tendon limits.
    pub limit: bool,
    /// Contacts.
    pub contact: bool,
    /// Joint and tendon springs.
    pub spring: bool,
    /// Joint and tendon dampers.
    pub damper: bool,
    /// Gravity.
    pub gravity: bool,
    /// Clamping of controls.
    pub clamp_control: bool,
    /// Warm start of the solver.
    pub warm_start: bool,
    /// No contacts between a body and its parent.
    pub filter_parent: bool,
    /// Actuator forces.
    pub actuation: bool,
    /// Lower bound of the solver's time constants.
    pub reference_safety: bool,
    /// Sensors.
    pub sensor: bool,
    /// Mid-phase collision filter.
    pub mid_phase: bool,
    /// Implicit joint damping in the Euler integrator.
    pub euler_damping: bool,
    /// Automatic reset after numerical failure.
    pub auto_reset: bool,
    /// MuJoCo's own convex collider.
    pub native_ccd: bool,
    /// Constraint islands.
    pub island: bool,
    /// Several contacts of a convex pair.
    pub multi_ccd: bool,
    /// Overrides the contact parameters of all geoms.
    pub override_contacts: bool,
    /// Energies.
    pub energy: bool,
    /// Comparison of forward and inverse dynamics.
    pub forward_inverse: bool,
    /// Inverse dynamics of the discrete map.
    pub inverse_discrete: bool,
    /// Sleeping; not supported.
    pub sleep: bool,
    /// Exact diagonal of the constraint inertia.
    pub exact_diagonal: bool,
    /// Speculative contacts; not supported.
    pub speculative: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            constraint: true,
            equality: true,
            friction_loss: true,
            limit: true,
            contact: true,
            spring: true,
            damper: true,
            gravity: true,
            clamp_control: true,
            warm_start: true,
            filter_parent: true,
            actuation: true,
            reference_safety: true,
            sensor: true,
            mid_phase: true,
            euler_damping: true,
            auto_reset: true,
            native_ccd: true,
            island: true,
            multi_ccd: true,
            override_contacts: false,
            energy: false,
            forward_inverse: false,
            inverse_discrete: false,
            sleep: false,
            exact_diagonal: false,
            speculative: false,
        }
    }
}

/// Physics options.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// Time step (s).
    pub timestep: f64,
    /// Ratio of frictional to normal constraint impedance for elliptic cones.
    pub impedance_ratio: f64,
    /// Solver tolerance.
    pub tolerance: f64,
    /// Line search tolerance.
    pub line_search_tolerance: f64,
    /// No-slip solver tolerance.
    pub noslip_tolerance: f64,
    /// Convex collision tolerance.
    pub ccd_tolerance: f64,
    /// Gravity (m/s²).
    pub gravity: [f64; 3],
    /// Velocity of the medium (m/s).
    pub wind: [f64; 3],
    /// Magnetic flux.
    pub magnetic: [f64; 3],
    /// Density of the medium (kg/m³).
    pub density: f64,
    /// Viscosity of the medium (Pa·s).
    pub viscosity: f64,
    /// Contact margin when contacts are overridden (m).
    pub override_margin: f64,
    /// Solver reference when contacts are overridden.
    pub override_solver_reference: [f64; 2],
    /// Solver impedance when contacts are overridden.
    pub override_solver_impedance: [f64; 5],
    /// Friction when contacts are overridden.
    pub override_friction: [f64; 5],
    /// Integrator.
    pub integrator: Integrator,
    /// Friction cone.
    pub cone: Cone,
    /// Jacobian storage.
    pub jacobian: JacobianKind,
    /// Solver.
    pub solver: SolverKind,
    /// Largest number of solver iterations.
    pub iterations: u32,
    /// Largest number of line search iterations.
    pub line_search_iterations: u32,
    /// Number of no-slip iterations.
    pub noslip_iterations: u32,
    /// Largest number of convex collision iterations.
    pub ccd_iterations: u32,
    /// Actuator groups that are switched off, one bit each (0 to 30).
    pub disabled_actuator_groups: u32,
    /// Switches.
    pub flags: Flags,
}

impl Default for OptionSpec {
    fn default() -> Self {
        Self {
            timestep: 0.002,
            impedance_ratio: 1.0,
            tolerance: 1e-8,
            line_search_tolerance: 0.01,
            noslip_tolerance: 1e-6,
            ccd_tolerance: 1e-6,
            gravity: [0.0, 0.0, -9.81],
            wind: [0.0; 3],
            magnetic: [0.0, -0.5, 0.0],
            density: 0.0,
            viscosity: 0.0,
            override_margin: 0.0,
            override_solver_reference: super::DEFAULT_SOLVER_REFERENCE,
            override_solver_impedance: super::DEFAULT_SOLVER_IMPEDANCE,
            override_friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            integrator: Integrator::Euler,
            cone: Cone::Pyramidal,
            jacobian: JacobianKind::Auto,
            solver: SolverKind::Newton,
            iterations: 100,
            line_search_iterations: 50,
            noslip_iterations: 0,
            ccd_iterations: 35,
            disabled_actuator_groups: 0,
            flags: Flags::default(),
        }
    }
}
