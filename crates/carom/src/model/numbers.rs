//! Every real number of a model, in flat arrays, and the table of what is known of them.
//!
//! A row declares a field, its [`Quantity`], its unit, and what [`Row`](crate::quantity::Row) has words for: the attribute
//! of the file format, which values make sense, what follows from what, and MuJoCo's name.

use crate::math::{Mat3, Quat, Vec3};
use crate::quantity::Purpose::{
    Contact, ContactOverride, Damper, DryFriction, Equality, Gravity, Limit, Medium, Spring,
};
use crate::quantity::{LEAST_DRY_FRICTION, LEAST_FRICTION, quantities};

/// Why numbers that follow from inertias cannot be chosen.
const FROM_MASSES: &str = "follows from masses, inertias and frames: select those";
/// Why bounds of geoms cannot be chosen.
const FROM_SIZE: &str = "follows from the size: select that";
/// Why poses in the world cannot be chosen.
const FROM_POSES: &str = "follows from poses of bodies and cameras: select those";
/// Why boxes around triangles cannot be chosen.
const FROM_VERTICES: &str = "follows from the vertices: select those";
/// Why numbers of keyframes cannot be chosen.
const STORED: &str = "is part of a stored state: select state.qpos, state.qvel or state.act";

quantities! {
    model {
        /// Physical constants and tolerances (arrays of length one, so that they are visited like all others).
        option: Option = OptionNumbers {
            /// Time step.
            timestep: [T; one] = OptionTimestep("s").symbol("h").option("timestep").positive().called("opt.timestep");
            /// Gravity.
            gravity: [Vec3<T>; one] = OptionGravity("m/s²").purpose(Gravity).symbol("g").option("gravity").direct()
                .called("opt.gravity");
            /// Wind velocity.
            wind: [Vec3<T>; one] = OptionWind("m/s").purpose(Medium).option("wind").direct().called("opt.wind");
            /// Magnetic flux.
            magnetic: [Vec3<T>; one] = OptionMagnetic("1").option("magnetic").direct().called("opt.magnetic");
            /// Density of the medium.
            density: [T; one] = OptionDensity("kg/m³").purpose(Medium).symbol("ρ").option("density").positive()
                .direct().called("opt.density");
            /// Viscosity of the medium.
            viscosity: [T; one] = OptionViscosity("Pa·s").purpose(Medium).symbol("β").option("viscosity").positive()
                .direct().called("opt.viscosity");
            /// Ratio of frictional to normal constraint impedance.
            impratio: [T; one] = OptionImpratio("1").option("impratio").positive().direct().called("opt.impratio");
            /// Constraint solver tolerance.
            tolerance: [T; one] = OptionTolerance("1").option("tolerance").setting().called("opt.tolerance");
            /// Line-search tolerance.
            ls_tolerance: [T; one] = OptionLsTolerance("1").option("ls_tolerance").setting()
                .called("opt.ls_tolerance");
            /// No-slip solver tolerance.
            noslip_tolerance: [T; one] = OptionNoslipTolerance("1").option("noslip_tolerance").setting()
                .called("opt.noslip_tolerance");
            /// Convex collider tolerance.
            ccd_tolerance: [T; one] = OptionCcdTolerance("m").option("ccd_tolerance").setting()
                .called("opt.ccd_tolerance");
            /// Margin of all contacts when contact override is on.
            override_margin: [T; one] = OptionOverrideMargin("m").purpose(ContactOverride).option("o_margin").direct()
                .called("opt.o_margin");
            /// solref of all contacts when contact override is on.
            override_solref: [[T; 2]; one] = OptionOverrideSolref("s, 1").purpose(ContactOverride).option("o_solref")
                .one_sign().direct().called("opt.o_solref");
            /// solimp of all contacts when contact override is on.
            override_solimp: [[T; 5]; one] = OptionOverrideSolimp("1, 1, m, 1").purpose(ContactOverride)
                .option("o_solimp").direct().called("opt.o_solimp");
            /// Friction of all contacts when contact override is on.
            override_friction: [[T; 5]; one] = OptionOverrideFriction("1, 1, m").purpose(ContactOverride)
                .option("o_friction").at_least(LEAST_FRICTION).direct().called("opt.o_friction");
        }
        /// Reference configurations.
        qpos: Qpos = QposNumbers {
            /// Default configuration.
            reference: [T; nq] = QposReference("m or rad").symbol("q₀").joint("ref").aliases(&["reference"])
                .coordinate().mujoco("qpos0");
            /// Configuration at which joint springs are at rest.
            spring: [T; nq] = QposSpring("m or rad").symbol("q_s").joint("springref").coordinate()
                .mujoco("qpos_spring");
        }
        /// Numbers of the bodies.
        bodies: Bodies = BodyNumbers {
            /// Position of the body frame in the parent's frame.
            position: [Vec3<T>; nbody] = BodyPosition("m").symbol("p").body("pos").mujoco("body_pos");
            /// Orientation of the body frame in the parent's frame.
            quat: [Quat<T>; nbody] = BodyQuat("1").symbol("q").body("quat").unit_vector().mujoco("body_quat");
            /// Centre of mass in the body frame.
            inertial_position: [Vec3<T>; nbody] = BodyInertialPosition("m").body("ipos").aliases(&["com"])
                .mujoco("body_ipos");
            /// Orientation of the principal axes of inertia in the body frame.
            inertial_quat: [Quat<T>; nbody] = BodyInertialQuat("1").body("iquat").unit_vector().frame("body_iquat");
            /// Mass.
            mass: [T; nbody] = BodyMass("kg").symbol("m").body("mass").positive().mujoco("body_mass");
            /// Mass of the body and all its descendants.
            subtree_mass: [T; nbody] = BodySubtreeMass("kg").body("subtree_mass").aliases(&["subtreemass"])
                .derived(FROM_MASSES).mujoco("body_subtreemass");
            /// Principal moments of inertia.
            inertia: [Vec3<T>; nbody] = BodyInertia("kg·m²").symbol("I").body("inertia").aliases(&["diaginertia"])
                .positive().frame("body_inertia");
            /// Products of inertia xy, xz, yz in the frame of the principal axes. Zero in every compiled model: they
            /// carry derivatives where principal moments coincide, since then the axes have none.
            inertia_products: [Vec3<T>; nbody] = BodyInertiaProducts("kg·m²");
            /// Mean inverse inertia at the reference configuration: translation (1/kg), rotation (1/(kg·m²)).
            inverse_weight: [[T; 2]; nbody] = BodyInverseWeight("1/kg, 1/(kg·m²)").body("invweight0")
                .derived(FROM_MASSES).mujoco("body_invweight0");
            /// Fraction of the body's weight that is compensated.
            gravcomp: [T; nbody] = BodyGravcomp("1").purpose(Gravity).body("gravcomp").direct()
                .mujoco("body_gravcomp");
        }
        /// Numbers of the joints.
        joints: Joints = JointNumbers {
            /// Anchor in the body frame.
            position: [Vec3<T>; njoint] = JointPosition("m").symbol("a").joint("pos").mujoco("jnt_pos");
            /// Axis in the body frame (unit).
            axis: [Vec3<T>; njoint] = JointAxis("1").symbol("s").joint("axis").unit_vector().mujoco("jnt_axis");
            /// Linear stiffness.
            stiffness: [T; njoint] = JointStiffness("N/m or N·m/rad").purpose(Spring).symbol("k").joint("stiffness")
                .direct().mujoco("jnt_stiffness");
            /// Coefficients of the quadratic and cubic spring terms.
            stiffness_poly: [[T; 2]; njoint] = JointStiffnessPoly("N/m² or N·m/rad², N/m³ or N·m/rad³")
                .purpose(Spring).joint("stiffness").direct().adopted("jnt_stiffnesspoly");
            /// Limits.
            range: [[T; 2]; njoint] = JointRange("m or rad").purpose(Limit).joint("range").may_be_infinite()
                .mujoco("jnt_range");
            /// Limits of the total actuator force on the joint.
            actuator_force_range: [[T; 2]; njoint] = JointActuatorForceRange("N or N·m").joint("actuatorfrcrange")
                .aliases(&["actfrcrange"]).direct().may_be_infinite().mujoco("jnt_actfrcrange");
            /// Distance at which the limit constraint becomes active.
            margin: [T; njoint] = JointMargin("m or rad").purpose(Limit).joint("margin").direct().mujoco("jnt_margin");
            /// Reference dynamics of the limit constraint.
            solref: [[T; 2]; njoint] = JointSolref("s, 1").purpose(Limit).joint("solreflimit").one_sign().direct()
                .mujoco("jnt_solref");
            /// Impedance of the limit constraint.
            solimp: [[T; 5]; njoint] = JointSolimp("1, 1, m or rad, 1").purpose(Limit).joint("solimplimit").direct()
                .mujoco("jnt_solimp");
        }
        /// Numbers of the degrees of freedom.
        dofs: Dofs = DofNumbers {
            /// Added inertia, e.g. of a rotor.
            armature: [T; nv] = DofArmature("kg or kg·m²").joint("armature").all_dofs().positive()
                .mujoco("dof_armature");
            /// Linear damping.
            damping: [T; nv] = DofDamping("N·s/m or N·m·s/rad").purpose(Damper).symbol("d").joint("damping")
                .all_dofs().positive().direct().mujoco("dof_damping");
            /// Coefficients of the quadratic and cubic damping terms.
            damping_poly: [[T; 2]; nv] = DofDampingPoly("N·s²/m² or N·m·s²/rad², N·s³/m³ or N·m·s³/rad³")
                .purpose(Damper).joint("damping").all_dofs().direct().called("dof_dampingpoly");
            /// Dry friction.
            frictionloss: [T; nv] = DofFrictionloss("N or N·m").purpose(DryFriction).joint("frictionloss").all_dofs()
                .at_least(LEAST_DRY_FRICTION).direct().mujoco("dof_frictionloss");
            /// Reference dynamics of the friction constraint.
            solref: [[T; 2]; nv] = DofSolref("s, 1").purpose(DryFriction).joint("solreffriction").all_dofs()
                .one_sign().direct().mujoco("dof_solref");
            /// Impedance of the friction constraint.
            solimp: [[T; 5]; nv] = DofSolimp("1, 1, m or rad, 1").purpose(DryFriction).joint("solimpfriction")
                .all_dofs().direct().mujoco("dof_solimp");
            /// Diagonal of the inverse inertia at the reference configuration.
            inverse_weight: [T; nv] = DofInverseWeight("1/kg or 1/(kg·m²)").joint("invweight0")
                .aliases(&["inverse_weight"]).derived(FROM_MASSES).mujoco("dof_invweight0");
            /// Diagonal of the inertia at the reference configuration.
            inertia_reference: [T; nv] = DofInertiaReference("kg or kg·m²").derived(FROM_MASSES).mujoco("dof_M0");
        }
        /// Numbers of the geoms.
        geoms: Geoms = GeomNumbers {
            /// Size parameters; meaning depends on the shape.
            size: [Vec3<T>; ngeom] = GeomSize("m").geom("size").positive().mujoco("geom_size");
            /// Position in the body frame.
            position: [Vec3<T>; ngeom] = GeomPosition("m").geom("pos").mujoco("geom_pos");
            /// Orientation in the body frame.
            quat: [Quat<T>; ngeom] = GeomQuat("1").geom("quat").unit_vector().frame("geom_quat");
            /// Friction coefficients: slide, spin (m), roll (m).
            friction: [Vec3<T>; ngeom] = GeomFriction("1, m").purpose(Contact).symbol("μ").geom("friction")
                .at_least(LEAST_FRICTION).direct().mujoco("geom_friction");
            /// Weight when contact parameters of two geoms are mixed.
            solmix: [T; ngeom] = GeomSolmix("1").purpose(Contact).geom("solmix").positive().direct()
                .mujoco("geom_solmix");
            /// Reference dynamics of contacts.
            solref: [[T; 2]; ngeom] = GeomSolref("s, 1").purpose(Contact).geom("solref").one_sign().direct()
                .mujoco("geom_solref");
            /// Impedance of contacts.
            solimp: [[T; 5]; ngeom] = GeomSolimp("1, 1, m, 1").purpose(Contact).geom("solimp").direct()
                .mujoco("geom_solimp");
            /// Distance at which contacts become active.
            margin: [T; ngeom] = GeomMargin("m").geom("margin").direct().mujoco("geom_margin");
            /// Additional detection distance without force.
            gap: [T; ngeom] = GeomGap("m").purpose(Contact).geom("gap").direct().mujoco("geom_gap");
            /// Velocity of the surface as contacts see it, in the geom frame: constant part (m/s), then angular velocity of
            /// the part that turns about the centre (rad/s).
            surface_velocity: [[T; 6]; ngeom] = GeomSurfaceVelocity("m/s, rad/s").geom("surfacevel").direct()
                .mujoco("geom_surfacevel");
            /// Force with which a contact can pull.
            adhesion: [T; ngeom] = GeomAdhesion("N").symbol("δ").geom("adhesion").positive().direct()
                .mujoco("geom_adhesion");
            /// Radius of the bounding sphere around the geom centre; 0 for planes.
            bounding_radius: [T; ngeom] = GeomBoundingRadius("m").geom("rbound").derived(FROM_SIZE)
                .mujoco("geom_rbound");
            /// Bounding box in the geom frame: centre, then half sizes.
            bounding_box: [[T; 6]; ngeom] = GeomBoundingBox("m").geom("aabb").derived(FROM_SIZE).adopted("geom_aabb");
            /// Ellipsoid fluid model: interaction flag, blunt drag, slender drag, angular drag, Kutta lift,
            /// Magnus lift, virtual mass (3), virtual inertia (3).
            fluid: [[T; 12]; ngeom] = GeomFluid("1, 1, 1, 1, 1, 1, kg, kg, kg, kg·m²").geom("fluidcoef")
                .aliases(&["fluid"]).components(1, 5).direct().mujoco("geom_fluid");
        }
        /// Numbers of the sites.
        sites: Sites = SiteNumbers {
            /// Size parameters.
            size: [Vec3<T>; nsite] = SiteSize("m").site("size").positive().direct().mujoco("site_size");
            /// Position in the body frame.
            position: [Vec3<T>; nsite] = SitePosition("m").site("pos").mujoco("site_pos");
            /// Orientation in the body frame.
            quat: [Quat<T>; nsite] = SiteQuat("1").site("quat").unit_vector().mujoco("site_quat");
        }
        /// Numbers of the cameras.
        cameras: Cameras = CameraNumbers {
            /// Position in the body frame.
            position: [Vec3<T>; ncamera] = CameraPosition("m").camera("pos").adopted("cam_pos");
            /// Orientation in the body frame.
            quat: [Quat<T>; ncamera] = CameraQuat("1").camera("quat").unit_vector().adopted("cam_quat");
            /// World position relative to the subtree's centre of mass at the reference configuration.
            position_from_com: [Vec3<T>; ncamera] = CameraPositionFromCom("m").derived(FROM_POSES)
                .adopted("cam_poscom0");
            /// World position relative to the body at the reference configuration.
            position_from_body: [Vec3<T>; ncamera] = CameraPositionFromBody("m").derived(FROM_POSES)
                .adopted("cam_pos0");
            /// World orientation at the reference configuration.
            rotation_reference: [Mat3<T>; ncamera] = CameraRotationReference("1").derived(FROM_POSES)
                .adopted("cam_mat0");
            /// Vertical field of view (degrees).
            fovy: [T; ncamera] = CameraFovy("degree").camera("fovy").positive().direct().adopted("cam_fovy");
            /// Sensor width and height; zero when unused.
            sensor_size: [[T; 2]; ncamera] = CameraSensorSize("m").camera("sensorsize").positive().direct()
                .adopted("cam_sensorsize");
            /// Focal length and principal point.
            intrinsic: [[T; 4]; ncamera] = CameraIntrinsic("m").camera("intrinsic").aliases(&["focal"]).direct()
                .adopted("cam_intrinsic");
        }
        /// Numbers of the meshes.
        meshes: Meshes = MeshNumbers {
            /// Vertices of all meshes in the frame of their inertia.
            vertex: [Vec3<T>; nmesh_vertex] = MeshVertex("m").mesh("vertex").aliases(&["vert"]).vertices().direct()
                .adopted("mesh_vert");
            /// Lowest corners of the boxes around triangles.
            box_low: [Vec3<T>; nmesh_box] = MeshBoxLow("m").derived(FROM_VERTICES).called("bvh_aabb");
            /// Highest corners of the boxes around triangles.
            box_high: [Vec3<T>; nmesh_box] = MeshBoxHigh("m").derived(FROM_VERTICES).called("bvh_aabb");
            /// Translation applied to the file's vertices.
            position: [Vec3<T>; nmesh] = MeshPosition("m").mujoco("mesh_pos");
            /// Rotation applied to the file's vertices.
            quat: [Quat<T>; nmesh] = MeshQuat("1").unit_vector().frame("mesh_quat");
            /// Scale applied to the file's vertices.
            scale: [Vec3<T>; nmesh] = MeshScale("1").mesh("scale")
                .refused("is folded into the vertices when the mesh is read: select those").mujoco("mesh_scale");
        }
        /// Numbers of the height fields.
        height_fields: HeightFields = HeightFieldNumbers {
            /// Half size in x and y, height of 1.0, thickness of the base.
            size: [[T; 4]; nheight_field] = HeightFieldSize("m").height_field("size").positive().mujoco("hfield_size");
            /// Elevations of all height fields, normalised to 0…1, row-major.
            elevation: [T; nheight_field_value] = HeightFieldElevation("1").height_field("elevation").elevations()
                .direct().adopted("hfield_data");
        }
        /// Numbers of the explicit contact pairs.
        pairs: Pairs = PairNumbers {
            /// Reference dynamics in the normal direction.
            solref: [[T; 2]; npair] = PairSolref("s, 1").purpose(Contact).pair("solref").one_sign().direct()
                .mujoco("pair_solref");
            /// Reference dynamics in the friction directions; zero means as the normal.
            solreffriction: [[T; 2]; npair] = PairSolreffriction("s, 1").pair("solreffriction").one_sign().direct()
                .mujoco("pair_solreffriction");
            /// Impedance.
            solimp: [[T; 5]; npair] = PairSolimp("1, 1, m, 1").purpose(Contact).pair("solimp").direct()
                .mujoco("pair_solimp");
            /// Distance at which the contact becomes active.
            margin: [T; npair] = PairMargin("m").pair("margin").direct().mujoco("pair_margin");
            /// Additional detection distance without force.
            gap: [T; npair] = PairGap("m").purpose(Contact).pair("gap").direct().mujoco("pair_gap");
            /// Force with which the contact can pull.
            adhesion: [T; npair] = PairAdhesion("N").symbol("δ").pair("adhesion").positive().direct()
                .mujoco("pair_adhesion");
            /// Friction: two slide, spin, two roll.
            friction: [[T; 5]; npair] = PairFriction("1, 1, m").purpose(Contact).symbol("μ").pair("friction")
                .at_least(LEAST_FRICTION).direct().mujoco("pair_friction");
        }
        /// Numbers of the contact laws; each kind of law reads those that it declares.
        laws: Laws = LawNumbers {
            /// Coefficient of restitution.
            restitution: [T; nlaw] = LawRestitution("1").symbol("e").law("restitution").positive().direct();
            /// Approach speed below which contacts do not bounce.
            restitution_speed: [T; nlaw] = LawRestitutionSpeed("m/s").law("restitution_speed").positive().direct();
            /// Share of a penetration corrected, and share of a gap that may close, in one step.
            baumgarte: [[T; 2]; nlaw] = LawBaumgarte("1").symbol("α, β").law("baumgarte").positive().direct();
            /// Velocity by which a unit impulse gives way.
            mixing: [T; nlaw] = LawMixing("1/kg").symbol("R").law("mixing").positive().direct();
            /// Violation that ends the iterations.
            tolerance: [T; nlaw] = LawTolerance("m/s").law("tolerance").setting();
            /// Stiffness.
            stiffness: [T; nlaw] = LawStiffness("N/mⁿ").symbol("k").law("stiffness").positive().direct();
            /// Exponent n of the depth.
            exponent: [T; nlaw] = LawExponent("1").symbol("n").law("exponent").positive().direct();
            /// Dissipation.
            dissipation: [T; nlaw] = LawDissipation("s/m").symbol("c").law("dissipation").positive().direct();
            /// Speed at which friction has nearly reached its full size.
            transition_speed: [T; nlaw] = LawTransitionSpeed("m/s").symbol("v_t").law("transition_speed").positive()
                .direct();
            /// Ratio of the greatest static to the sliding friction.
            static_ratio: [T; nlaw] = LawStaticRatio("1").law("static_ratio").positive().direct();
            /// Viscous coefficient: of friction, or of a damper.
            viscous: [T; nlaw] = LawViscous("N·s/m").symbol("σ").law("viscous").positive().direct();
            /// Normal force above which viscous friction acts in full.
            viscous_force: [T; nlaw] = LawViscousForce("N").law("viscous_force").positive().direct();
        }
        /// Points at which geoms touch where a law gives them some.
        contact_points: ContactPoints = ContactPointNumbers {
            /// Position in the frame of the geom.
            position: [Vec3<T>; ncontact_point] = ContactPointPosition("m");
        }
        /// Parameters of the laws of joints, law after law; each kind of law declares their names, units and ranges.
        joint_laws: JointLaws = JointLawNumbers {
            /// Parameter of a law.
            parameter: [T; njoint_law_parameter] = JointLawParameter("by law").purpose(Damper).direct();
        }
        /// Numbers of the map of collisions, in the order of `carom_planar::Laws`.
        strikes: Strikes = StrikeNumbers {
            /// Number of a law.
            number: [T; nstrike_number] = StrikeNumber("by law");
        }
        /// Numbers of the learned terms, term after term.
        learned: Learned = LearnedNumbers {
            /// Weights.
            weight: [T; nlearned_weight] = LearnedWeight("by form").symbol("w").learned("weights").weights().direct();
            /// Constants: centre and scale of each input, then the bound of the outputs if there is one.
            constant: [T; nlearned_constant] = LearnedConstant("by site").symbol("c, s, B")
                .refused("says how inputs are scaled, which the weights can say as well: select those");
            /// Lowest and highest value of each input in the data that a term was trained on, term after term.
            range: [[T; 2]; nlearned_range] = LearnedRange("by site").may_be_infinite().setting();
        }
        /// Numbers of the equality constraints.
        equalities: Equalities = EqualityNumbers {
            /// Reference dynamics.
            solref: [[T; 2]; nequality] = EqualitySolref("s, 1").purpose(Equality).equality("solref").one_sign()
                .direct().compared("eq_solref");
            /// Impedance.
            solimp: [[T; 5]; nequality] = EqualitySolimp("1, 1, m or rad, 1").purpose(Equality).equality("solimp")
                .direct().compared("eq_solimp");
            /// Anchors, relative pose, torque scale or polynomial, depending on the kind; MuJoCo's `eq_data`.
            data: [[T; 12]; nequality] = EqualityData("by kind").purpose(Equality).mujoco("eq_data");
        }
        /// Numbers of the tendons.
        tendons: Tendons = TendonNumbers {
            /// Length limits.
            range: [[T; 2]; ntendon] = TendonRange("m").purpose(Limit).tendon("range").may_be_infinite()
                .mujoco("tendon_range");
            /// Limits of the total actuator force on the tendon.
            actuator_force_range: [[T; 2]; ntendon] = TendonActuatorForceRange("N").tendon("actuatorfrcrange")
                .aliases(&["actfrcrange"]).direct().may_be_infinite().adopted("tendon_actfrcrange");
            /// Distance at which the limit constraint becomes active.
            margin: [T; ntendon] = TendonMargin("m").purpose(Limit).tendon("margin").direct().mujoco("tendon_margin");
            /// Linear stiffness.
            stiffness: [T; ntendon] = TendonStiffness("N/m").purpose(Spring).symbol("k").tendon("stiffness").direct()
                .mujoco("tendon_stiffness");
            /// Coefficients of the quadratic and cubic spring terms.
            stiffness_poly: [[T; 2]; ntendon] = TendonStiffnessPoly("N/m², N/m³").purpose(Spring).tendon("stiffness")
                .direct().adopted("tendon_stiffnesspoly");
            /// Linear damping.
            damping: [T; ntendon] = TendonDamping("N·s/m").purpose(Damper).symbol("d").tendon("damping").positive()
                .direct().mujoco("tendon_damping");
            /// Coefficients of the quadratic and cubic damping terms.
            damping_poly: [[T; 2]; ntendon] = TendonDampingPoly("N·s²/m², N·s³/m³").purpose(Damper).tendon("damping")
                .direct().called("tendon_dampingpoly");
            /// Inertia of the tendon's length change.
            armature: [T; ntendon] = TendonArmature("kg").tendon("armature").positive().mujoco("tendon_armature");
            /// Dry friction.
            frictionloss: [T; ntendon] = TendonFrictionloss("N").purpose(DryFriction).tendon("frictionloss")
                .at_least(LEAST_DRY_FRICTION).direct().mujoco("tendon_frictionloss");
            /// Range of lengths at which the spring is at rest.
            spring_length: [[T; 2]; ntendon] = TendonSpringLength("m").tendon("springlength")
                .mujoco("tendon_lengthspring");
            /// Length at the reference configuration.
            length_reference: [T; ntendon] = TendonLengthReference("m").tendon("length0")
                .derived("follows from sites and joints: select those").mujoco("tendon_length0");
            /// Inverse inertia at the reference configuration.
            inverse_weight: [T; ntendon] = TendonInverseWeight("1/kg").tendon("invweight0").derived(FROM_MASSES)
                .mujoco("tendon_invweight0");
            /// Reference dynamics of the limit constraint.
            solref_limit: [[T; 2]; ntendon] = TendonSolrefLimit("s, 1").purpose(Limit).tendon("solreflimit")
                .one_sign().direct().mujoco("tendon_solref_lim");
            /// Impedance of the limit constraint.
            solimp_limit: [[T; 5]; ntendon] = TendonSolimpLimit("1, 1, m, 1").purpose(Limit).tendon("solimplimit")
                .direct().mujoco("tendon_solimp_lim");
            /// Reference dynamics of the friction constraint.
            solref_friction: [[T; 2]; ntendon] = TendonSolrefFriction("s, 1").purpose(DryFriction)
                .tendon("solreffriction").one_sign().direct().mujoco("tendon_solref_fri");
            /// Impedance of the friction constraint.
            solimp_friction: [[T; 5]; ntendon] = TendonSolimpFriction("1, 1, m, 1").purpose(DryFriction)
                .tendon("solimpfriction").direct().mujoco("tendon_solimp_fri");
        }
        /// Numbers of the tendon path elements.
        wraps: Wraps = WrapNumbers {
            /// Joint coefficient of a fixed tendon, or divisor of a pulley; zero otherwise.
            coefficient: [T; nwrap] = WrapCoefficient("1").tendon("coef").aliases(&["coefficient", "divisor"]).path()
                .compared("wrap_prm");
        }
        /// Numbers of the actuators.
        actuators: Actuators = ActuatorNumbers {
            /// Scale from transmission length to actuator length, and its force direction.
            gear: [[T; 6]; nactuator] = ActuatorGear("1").actuator("gear").adopted("actuator_gear");
            /// Crank length of a slider-crank.
            crank_length: [T; nactuator] = ActuatorCrankLength("m").symbol("r").actuator("cranklength").positive()
                .mujoco("actuator_cranklength");
            /// Parameters of the activation dynamics.
            dynamics: [[T; 10]; nactuator] = ActuatorDynamics("s").actuator("dynprm").direct()
                .mujoco("actuator_dynprm");
            /// Parameters of the gain.
            gain: [[T; 10]; nactuator] = ActuatorGain("by kind").actuator("gainprm").mujoco("actuator_gainprm");
            /// Parameters of the bias.
            bias: [[T; 10]; nactuator] = ActuatorBias("by kind").actuator("biasprm").mujoco("actuator_biasprm");
            /// Control limits; of several controls those that have no limits of their own.
            control_range: [[T; 2]; nactuator] = ActuatorControlRange("by kind").actuator("ctrlrange").direct()
                .may_be_infinite().adopted("actuator_ctrlrange");
            /// Limits of the velocity that a servo with set points is given.
            velocity_range: [[T; 2]; nactuator] = ActuatorVelocityRange("m/s or rad/s").actuator("velrange").direct()
                .may_be_infinite();
            /// Limits of its feedforward.
            feedforward_range: [[T; 2]; nactuator] = ActuatorFeedforwardRange("N or N·m").actuator("ffrange").direct()
                .may_be_infinite();
            /// Force limits.
            force_range: [[T; 2]; nactuator] = ActuatorForceRange("N or N·m").actuator("forcerange").direct()
                .may_be_infinite().mujoco("actuator_forcerange");
            /// Activation limits.
            activation_range: [[T; 2]; nactuator] = ActuatorActivationRange("by kind").actuator("actrange").direct()
                .may_be_infinite().mujoco("actuator_actrange");
            /// Damping that the actuator adds to its joint or tendon; already part of their damping.
            damping: [T; nactuator] = ActuatorDamping("N·s/m or N·m·s/rad").purpose(Damper).actuator("damping")
                .called("actuator_damping");
            /// Quadratic and cubic damping that the actuator adds.
            damping_poly: [[T; 2]; nactuator] = ActuatorDampingPoly("N·s²/m² or N·m·s²/rad², N·s³/m³ or N·m·s³/rad³")
                .purpose(Damper).actuator("damping").called("actuator_dampingpoly");
            /// Armature that the actuator adds to its joint or tendon; already part of their armature.
            armature: [T; nactuator] = ActuatorArmature("kg or kg·m²").actuator("armature").positive()
                .called("actuator_armature");
            /// Acceleration from unit force at the reference configuration.
            acceleration_reference: [T; nout] = ActuatorAccelerationReference("1/kg or 1/(kg·m²)")
                .actuator("acc0").derived(FROM_MASSES).adopted("actuator_acc0");
            /// Length at the reference configuration.
            length_reference: [T; nout] = ActuatorLengthReference("m or rad").actuator("length0")
                .derived("follows from the transmission: select that").adopted("actuator_length0");
            /// Feasible range of lengths.
            length_range: [[T; 2]; nactuator] = ActuatorLengthRange("m or rad").actuator("lengthrange").direct()
                .may_be_infinite().adopted("actuator_lengthrange");
            /// Time after which a control acts; needs a history.
            delay: [T; nactuator] = ActuatorDelay("s").actuator("delay").positive().direct().called("actuator_delay");
        }
        /// Numbers of the sensors.
        sensors: Sensors = SensorNumbers {
            /// Values beyond it are clipped; zero means none.
            cutoff: [T; nsensor] = SensorCutoff("by kind").sensor("cutoff").positive().direct()
                .mujoco("sensor_cutoff");
            /// Standard deviation of the noise that a user may add.
            noise: [T; nsensor] = SensorNoise("by kind").sensor("noise")
                .refused("is only told to the user: no reading depends on it").adopted("sensor_noise");
            /// Time after which a value is reported; needs a history.
            delay: [T; nsensor] = SensorDelay("s").sensor("delay").positive().direct().called("sensor_delay");
            /// Period of readings and its phase; a period of zero reads every step.
            interval: [[T; 2]; nsensor] = SensorInterval("s").sensor("interval")
                .refused("decides when readings are taken: results jump with it").called("sensor_interval");
        }
        /// Numbers of the keyframes, one after another.
        keyframes: Keyframes = KeyframeNumbers {
            /// Time.
            time: [T; nkeyframe] = KeyframeTime("s").symbol("t").compared("key_time");
            /// Configurations.
            qpos: [T; nkeyframe_qpos] = KeyframeQpos("m or rad").symbol("q").key("qpos").refused(STORED)
                .compared("key_qpos");
            /// Velocities.
            qvel: [T; nkeyframe_qvel] = KeyframeQvel("m/s or rad/s").symbol("v").key("qvel").refused(STORED)
                .compared("key_qvel");
            /// Activations.
            act: [T; nkeyframe_act] = KeyframeAct("by kind").symbol("w").key("act").refused(STORED)
                .compared("key_act");
            /// Controls.
            ctrl: [T; nkeyframe_ctrl] = KeyframeCtrl("by kind").symbol("u").key("ctrl")
                .refused("is a control: its gradient is that of the input").compared("key_ctrl");
            /// Positions of mocap bodies.
            mocap_position: [Vec3<T>; nkeyframe_mocap] = KeyframeMocapPosition("m").key("mpos")
                .refused("is part of a stored state: select state.mocap_pos").compared("key_mpos");
            /// Orientations of mocap bodies.
            mocap_quat: [Quat<T>; nkeyframe_mocap] = KeyframeMocapQuat("1").key("mquat")
                .refused("is part of a stored state: select state.mocap_quat").unit_vector().compared("key_mquat");
        }
    }
    sources {
        /// Given numbers that are not part of a model, because nothing but derived numbers depends on them.
        sources: Sources = SourceNumbers {
            /// Mass of geoms that give one.
            geom_mass: [T; ngeom] = GeomMass("kg").geom("mass").positive();
            /// Density of geoms that do not give their mass (kg/m³, or kg/m² of a shell).
            geom_density: [T; ngeom] = GeomDensity("kg/m³").geom("density").positive();
            /// Time constant (s) and damping ratio of joints that give these instead of stiffness and damping.
            spring_damper: [[T; 2]; njoint] = JointSpringDamper("s, 1").joint("springdamper")
                .aliases(&["spring_damper"]).positive();
            /// Volume of meshes (m³), or surface of shells (m²).
            mesh_volume: [T; nmesh] = MeshVolume("m³ or m²");
            /// Half sides of the boxes that have the inertia of the meshes.
            mesh_inertia_box: [Vec3<T>; nmesh] = MeshInertiaBox("m");
            /// Volume, centre and inertia (xx, yy, zz, xy, xz, yz, for unit density) of meshes whose vertices are parameters,
            /// in the frames of the meshes.
            mesh_moments: [[T; 10]; nmesh] = MeshMoments("m³, m⁴, m⁴, m⁴, m⁵");
        }
    }
}
