//! Settings of the compile step.

/// Whether body inertia is computed from geoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InertiaFromGeom {
    /// Never.
    Never,
    /// Always, whatever the file says.
    Always,
    /// Only for bodies without explicit inertia.
    #[default]
    Auto,
}

/// Actuators whose length range is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthRangeMode {
    /// None.
    None,
    /// Muscles.
    #[default]
    Muscle,
    /// Muscles and user-defined ones.
    MuscleUser,
    /// All.
    All,
}

/// How actuator length ranges are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthRangeSettings {
    /// Which actuators.
    pub mode: LengthRangeMode,
    /// Keeps ranges given in the file.
    pub use_existing: bool,
    /// Uses joint and tendon limits as range.
    pub use_limit: bool,
    /// Target acceleration of the force.
    pub acceleration: f64,
    /// Largest force; 0 for no bound.
    pub max_force: f64,
    /// Time constant of velocity reduction (s).
    pub time_constant: f64,
    /// Time step (s); 0 for that of the model.
    pub timestep: f64,
    /// Simulated time (s).
    pub total_time: f64,
    /// Time at the end over which lengths are evaluated (s).
    pub interval: f64,
    /// Convergence tolerance relative to the range.
    pub tolerance: f64,
}

impl Default for LengthRangeSettings {
    fn default() -> Self {
        Self {
            mode: LengthRangeMode::Muscle,
            use_existing: true,
            use_limit: false,
            acceleration: 20.0,
            max_force: 0.0,
            time_constant: 1.0,
            timestep: 0.01,
            total_time: 10.0,
            interval: 2.0,
            tolerance: 0.05,
        }
    }
}

/// Settings of the compile step.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct CompilerSettings {
    /// Infers `limited` from the presence of a range.
    pub auto_limits: bool,
    /// Lower bound of body masses (kg).
    pub bound_mass: f64,
    /// Lower bound of diagonal inertia (kg·m²).
    pub bound_inertia: f64,
    /// Total mass to which all masses are scaled (kg); `None` keeps them.
    pub set_total_mass: Option<f64>,
    /// Repairs inertias that violate the triangle inequality.
    pub balance_inertia: bool,
    /// Fits primitives to a mesh's bounding box rather than its inertia box.
    pub fit_bounding_box: bool,
    /// Drops geoms and assets that only matter for the viewer.
    pub discard_visual: bool,
    /// Fuses static bodies with their parents.
    pub fuse_static: bool,
    /// Whether body inertia is computed from geoms.
    pub inertia_from_geom: InertiaFromGeom,
    /// Groups of geoms that count for inertia, both ends included.
    pub inertia_group_range: [i32; 2],
    /// Writes explicit inertia when saving.
    pub save_inertial: bool,
    /// Aligns free joints with inertial frames.
    pub align_free: bool,
    /// Length range settings.
    pub length_range: LengthRangeSettings,
}

impl Default for CompilerSettings {
    fn default() -> Self {
        Self {
            auto_limits: true,
            bound_mass: 0.0,
            bound_inertia: 0.0,
            set_total_mass: None,
            balance_inertia: false,
            fit_bounding_box: false,
            discard_visual: false,
            fuse_static: false,
            inertia_from_geom: InertiaFromGeom::Auto,
            inertia_group_range: [0, 5],
            save_inertial: false,
            align_free: false,
            length_range: LengthRangeSettings::default(),
        }
    }
}

/// Sizes of user data; `None` takes the longest array found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeSpec {
    /// Global user data.
    pub user_data: usize,
    /// Least number of keyframes.
    pub keyframes: usize,
    /// User numbers per body.
    pub body_user: Option<usize>,
    /// User numbers per joint.
    pub joint_user: Option<usize>,
    /// User numbers per geom.
    pub geom_user: Option<usize>,
    /// User numbers per site.
    pub site_user: Option<usize>,
    /// User numbers per camera.
    pub camera_user: Option<usize>,
    /// User numbers per tendon.
    pub tendon_user: Option<usize>,
    /// User numbers per actuator.
    pub actuator_user: Option<usize>,
    /// User numbers per sensor.
    pub sensor_user: Option<usize>,
}
