//! Every real number of a model, in flat arrays. GLOSSARY.md maps the names to MuJoCo's.

use crate::arrays::arrays;
use crate::math::{Mat3, Quat, Vec3};

arrays! {
    /// Physical constants and tolerances (arrays of length one, so that they are visited like all others).
    pub struct OptionNumbers {
        /// Time step (s).
        timestep: [T; one],
        /// Gravity (m/s²).
        gravity: [Vec3<T>; one],
        /// Wind velocity (m/s).
        wind: [Vec3<T>; one],
        /// Magnetic flux.
        magnetic: [Vec3<T>; one],
        /// Density of the medium (kg/m³).
        density: [T; one],
        /// Viscosity of the medium (Pa·s).
        viscosity: [T; one],
        /// Ratio of frictional to normal constraint impedance.
        impratio: [T; one],
        /// Constraint solver tolerance.
        tolerance: [T; one],
        /// Line-search tolerance.
        ls_tolerance: [T; one],
        /// No-slip solver tolerance.
        noslip_tolerance: [T; one],
        /// Convex collider tolerance.
        ccd_tolerance: [T; one],
        /// Margin of all contacts when contact override is on (m).
        override_margin: [T; one],
        /// solref of all contacts when contact override is on.
        override_solref: [[T; 2]; one],
        /// solimp of all contacts when contact override is on.
        override_solimp: [[T; 5]; one],
        /// Friction of all contacts when contact override is on.
        override_friction: [[T; 5]; one],
    }
}

arrays! {
    /// Reference configurations.
    pub struct QposNumbers {
        /// Default configuration.
        reference: [T; nq],
        /// Configuration at which joint springs are at rest.
        spring: [T; nq],
    }
}

arrays! {
    /// Numbers of the bodies.
    pub struct BodyNumbers {
        /// Position of the body frame in the parent's frame (m).
        position: [Vec3<T>; nbody],
        /// Orientation of the body frame in the parent's frame.
        quat: [Quat<T>; nbody],
        /// Centre of mass in the body frame (m).
        inertial_position: [Vec3<T>; nbody],
        /// Orientation of the principal axes of inertia in the body frame.
        inertial_quat: [Quat<T>; nbody],
        /// Mass (kg).
        mass: [T; nbody],
        /// Mass of the body and all its descendants (kg).
        subtree_mass: [T; nbody],
        /// Principal moments of inertia (kg·m²).
        inertia: [Vec3<T>; nbody],
        /// Products of inertia xy, xz, yz in the frame of the principal axes (kg·m²). Zero in every compiled model: they
        /// carry derivatives where principal moments coincide, since then the axes have none.
        inertia_products: [Vec3<T>; nbody],
        /// Mean inverse inertia at the reference configuration: translation (1/kg), rotation (1/(kg·m²)).
        inverse_weight: [[T; 2]; nbody],
        /// Fraction of the body's weight that is compensated.
        gravcomp: [T; nbody],
    }
}

arrays! {
    /// Numbers of the joints.
    pub struct JointNumbers {
        /// Anchor in the body frame (m).
        position: [Vec3<T>; njoint],
        /// Axis in the body frame (unit).
        axis: [Vec3<T>; njoint],
        /// Linear stiffness (N/m or N·m/rad).
        stiffness: [T; njoint],
        /// Coefficients of the quadratic and cubic spring terms.
        stiffness_poly: [[T; 2]; njoint],
        /// Limits (m or rad).
        range: [[T; 2]; njoint],
        /// Limits of the total actuator force on the joint (N or N·m).
        actuator_force_range: [[T; 2]; njoint],
        /// Distance at which the limit constraint becomes active (m or rad).
        margin: [T; njoint],
        /// Reference dynamics of the limit constraint.
        solref: [[T; 2]; njoint],
        /// Impedance of the limit constraint.
        solimp: [[T; 5]; njoint],
    }
}

arrays! {
    /// Numbers of the degrees of freedom.
    pub struct DofNumbers {
        /// Added inertia, e.g. of a rotor (kg or kg·m²).
        armature: [T; nv],
        /// Linear damping (N·s/m or N·m·s/rad).
        damping: [T; nv],
        /// Coefficients of the quadratic and cubic damping terms.
        damping_poly: [[T; 2]; nv],
        /// Dry friction (N or N·m).
        frictionloss: [T; nv],
        /// Reference dynamics of the friction constraint.
        solref: [[T; 2]; nv],
        /// Impedance of the friction constraint.
        solimp: [[T; 5]; nv],
        /// Diagonal of the inverse inertia at the reference configuration.
        inverse_weight: [T; nv],
        /// Diagonal of the inertia at the reference configuration.
        inertia_reference: [T; nv],
    }
}

arrays! {
    /// Numbers of the geoms.
    pub struct GeomNumbers {
        /// Size parameters; meaning depends on the shape (m).
        size: [Vec3<T>; ngeom],
        /// Position in the body frame (m).
        position: [Vec3<T>; ngeom],
        /// Orientation in the body frame.
        quat: [Quat<T>; ngeom],
        /// Friction coefficients: slide, spin (m), roll (m).
        friction: [Vec3<T>; ngeom],
        /// Weight when contact parameters of two geoms are mixed.
        solmix: [T; ngeom],
        /// Reference dynamics of contacts.
        solref: [[T; 2]; ngeom],
        /// Impedance of contacts.
        solimp: [[T; 5]; ngeom],
        /// Distance at which contacts become active (m).
        margin: [T; ngeom],
        /// Additional detection distance without force (m).
        gap: [T; ngeom],
        /// Velocity of the surface as contacts see it, in the geom frame: constant part (m/s), then angular velocity of
        /// the part that turns about the centre (rad/s).
        surface_velocity: [[T; 6]; ngeom],
        /// Force with which a contact can pull (N).
        adhesion: [T; ngeom],
        /// Radius of the bounding sphere around the geom centre (m); 0 for planes.
        bounding_radius: [T; ngeom],
        /// Bounding box in the geom frame: centre, then half sizes (m).
        bounding_box: [[T; 6]; ngeom],
        /// Ellipsoid fluid model: interaction flag, blunt drag, slender drag, angular drag, Kutta lift,
        /// Magnus lift, virtual mass (3), virtual inertia (3).
        fluid: [[T; 12]; ngeom],
    }
}

arrays! {
    /// Numbers of the sites.
    pub struct SiteNumbers {
        /// Size parameters (m).
        size: [Vec3<T>; nsite],
        /// Position in the body frame (m).
        position: [Vec3<T>; nsite],
        /// Orientation in the body frame.
        quat: [Quat<T>; nsite],
    }
}

arrays! {
    /// Numbers of the cameras.
    pub struct CameraNumbers {
        /// Position in the body frame (m).
        position: [Vec3<T>; ncamera],
        /// Orientation in the body frame.
        quat: [Quat<T>; ncamera],
        /// World position relative to the subtree's centre of mass at the reference configuration (m).
        position_from_com: [Vec3<T>; ncamera],
        /// World position relative to the body at the reference configuration (m).
        position_from_body: [Vec3<T>; ncamera],
        /// World orientation at the reference configuration.
        rotation_reference: [Mat3<T>; ncamera],
        /// Vertical field of view (degrees).
        fovy: [T; ncamera],
        /// Sensor width and height (m); zero when unused.
        sensor_size: [[T; 2]; ncamera],
        /// Focal length and principal point (m).
        intrinsic: [[T; 4]; ncamera],
    }
}

arrays! {
    /// Numbers of the meshes.
    pub struct MeshNumbers {
        /// Vertices of all meshes in the frame of their inertia (m).
        vertex: [Vec3<T>; nmesh_vertex],
        /// Lowest corners of the boxes around triangles (m).
        box_low: [Vec3<T>; nmesh_box],
        /// Highest corners of the boxes around triangles (m).
        box_high: [Vec3<T>; nmesh_box],
        /// Translation applied to the file's vertices (m).
        position: [Vec3<T>; nmesh],
        /// Rotation applied to the file's vertices.
        quat: [Quat<T>; nmesh],
        /// Scale applied to the file's vertices.
        scale: [Vec3<T>; nmesh],
    }
}

arrays! {
    /// Numbers of the height fields.
    pub struct HeightFieldNumbers {
        /// Half size in x and y, height of 1.0, thickness of the base (m).
        size: [[T; 4]; nheight_field],
        /// Elevations of all height fields, normalised to 0…1, row-major.
        elevation: [T; nheight_field_value],
    }
}

arrays! {
    /// Numbers of the explicit contact pairs.
    pub struct PairNumbers {
        /// Reference dynamics in the normal direction.
        solref: [[T; 2]; npair],
        /// Reference dynamics in the friction directions; zero means as the normal.
        solreffriction: [[T; 2]; npair],
        /// Impedance.
        solimp: [[T; 5]; npair],
        /// Distance at which the contact becomes active (m).
        margin: [T; npair],
        /// Additional detection distance without force (m).
        gap: [T; npair],
        /// Force with which the contact can pull (N).
        adhesion: [T; npair],
        /// Friction: two slide, spin, two roll.
        friction: [[T; 5]; npair],
    }
}

arrays! {
    /// Numbers of the contact laws; each kind of law reads those that it declares.
    pub struct LawNumbers {
        /// Coefficient of restitution.
        restitution: [T; nlaw],
        /// Approach speed below which contacts do not bounce (m/s).
        restitution_speed: [T; nlaw],
        /// Share of a penetration corrected, and share of a gap that may close, in one step.
        baumgarte: [[T; 2]; nlaw],
        /// Velocity by which a unit impulse gives way (1/kg).
        mixing: [T; nlaw],
        /// Violation that ends the iterations (m/s).
        tolerance: [T; nlaw],
        /// Stiffness (N/mⁿ).
        stiffness: [T; nlaw],
        /// Exponent n of the depth.
        exponent: [T; nlaw],
        /// Dissipation (s/m).
        dissipation: [T; nlaw],
        /// Speed at which friction has nearly reached its full size (m/s).
        transition_speed: [T; nlaw],
        /// Ratio of the greatest static to the sliding friction.
        static_ratio: [T; nlaw],
        /// Viscous coefficient: of friction, or of a damper (N·s/m).
        viscous: [T; nlaw],
        /// Normal force above which viscous friction acts in full (N).
        viscous_force: [T; nlaw],
    }
}

arrays! {
    /// Points at which geoms touch where a law gives them some.
    pub struct ContactPointNumbers {
        /// Position in the frame of the geom (m).
        position: [Vec3<T>; ncontact_point],
    }
}

arrays! {
    /// Numbers of the equality constraints.
    pub struct EqualityNumbers {
        /// Reference dynamics.
        solref: [[T; 2]; nequality],
        /// Impedance.
        solimp: [[T; 5]; nequality],
        /// Anchors, relative pose, torque scale or polynomial, depending on the kind; MuJoCo's `eq_data`.
        data: [[T; 12]; nequality],
    }
}

arrays! {
    /// Numbers of the tendons.
    pub struct TendonNumbers {
        /// Length limits (m).
        range: [[T; 2]; ntendon],
        /// Limits of the total actuator force on the tendon (N).
        actuator_force_range: [[T; 2]; ntendon],
        /// Distance at which the limit constraint becomes active (m).
        margin: [T; ntendon],
        /// Linear stiffness (N/m).
        stiffness: [T; ntendon],
        /// Coefficients of the quadratic and cubic spring terms.
        stiffness_poly: [[T; 2]; ntendon],
        /// Linear damping (N·s/m).
        damping: [T; ntendon],
        /// Coefficients of the quadratic and cubic damping terms.
        damping_poly: [[T; 2]; ntendon],
        /// Inertia of the tendon's length change (kg).
        armature: [T; ntendon],
        /// Dry friction (N).
        frictionloss: [T; ntendon],
        /// Range of lengths at which the spring is at rest (m).
        spring_length: [[T; 2]; ntendon],
        /// Length at the reference configuration (m).
        length_reference: [T; ntendon],
        /// Inverse inertia at the reference configuration (1/kg).
        inverse_weight: [T; ntendon],
        /// Reference dynamics of the limit constraint.
        solref_limit: [[T; 2]; ntendon],
        /// Impedance of the limit constraint.
        solimp_limit: [[T; 5]; ntendon],
        /// Reference dynamics of the friction constraint.
        solref_friction: [[T; 2]; ntendon],
        /// Impedance of the friction constraint.
        solimp_friction: [[T; 5]; ntendon],
    }
}

arrays! {
    /// Numbers of the tendon path elements.
    pub struct WrapNumbers {
        /// Joint coefficient of a fixed tendon, or divisor of a pulley; zero otherwise.
        coefficient: [T; nwrap],
    }
}

arrays! {
    /// Numbers of the actuators.
    pub struct ActuatorNumbers {
        /// Scale from transmission length to actuator length, and its force direction.
        gear: [[T; 6]; nactuator],
        /// Crank length of a slider-crank (m).
        crank_length: [T; nactuator],
        /// Parameters of the activation dynamics.
        dynamics: [[T; 10]; nactuator],
        /// Parameters of the gain.
        gain: [[T; 10]; nactuator],
        /// Parameters of the bias.
        bias: [[T; 10]; nactuator],
        /// Control limits.
        control_range: [[T; 2]; nactuator],
        /// Force limits (N or N·m).
        force_range: [[T; 2]; nactuator],
        /// Activation limits.
        activation_range: [[T; 2]; nactuator],
        /// Damping that the actuator adds to its joint or tendon; already part of their damping.
        damping: [T; nactuator],
        /// Quadratic and cubic damping that the actuator adds.
        damping_poly: [[T; 2]; nactuator],
        /// Armature that the actuator adds to its joint or tendon; already part of their armature.
        armature: [T; nactuator],
        /// Acceleration from unit force at the reference configuration.
        acceleration_reference: [T; nactuator],
        /// Length at the reference configuration (m or rad).
        length_reference: [T; nactuator],
        /// Feasible range of lengths (m or rad).
        length_range: [[T; 2]; nactuator],
        /// Time after which a control acts (s); needs a history.
        delay: [T; nactuator],
    }
}

arrays! {
    /// Numbers of the sensors.
    pub struct SensorNumbers {
        /// Values beyond it are clipped; zero means none.
        cutoff: [T; nsensor],
        /// Standard deviation of the noise that a user may add.
        noise: [T; nsensor],
        /// Time after which a value is reported (s); needs a history.
        delay: [T; nsensor],
        /// Period of readings and its phase (s); a period of zero reads every step.
        interval: [[T; 2]; nsensor],
    }
}

arrays! {
    /// Numbers of the keyframes, one after another.
    pub struct KeyframeNumbers {
        /// Time (s).
        time: [T; nkeyframe],
        /// Configurations.
        qpos: [T; nkeyframe_qpos],
        /// Velocities.
        qvel: [T; nkeyframe_qvel],
        /// Activations.
        act: [T; nkeyframe_act],
        /// Controls.
        ctrl: [T; nkeyframe_ctrl],
        /// Positions of mocap bodies (m).
        mocap_position: [Vec3<T>; nkeyframe_mocap],
        /// Orientations of mocap bodies.
        mocap_quat: [Quat<T>; nkeyframe_mocap],
    }
}
