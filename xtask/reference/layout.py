"""Names of what a reference file holds: MuJoCo's own names, grouped as in the file.

A key of the file is the group, a slash, and the name: ``model/body_mass``, ``opt/timestep``, ``s0/qacc``.
"""

SIZES = (
    "nq nv nu na nbody njnt ngeom nsite nmesh ntendon nwrap neq nsensor nsensordata nkey nmocap npair nexclude "
    "nactuator ntree"
).split()

OPTIONS = (
    "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance gravity wind magnetic density viscosity "
    "o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations "
    "noslip_iterations ccd_iterations disableflags enableflags disableactuator"
).split()

# Compiled constants by element: ``body`` with ``mass`` is ``body_mass``.
_CONSTANTS = {
    "body": "parentid rootid weldid mocapid jntnum dofnum pos quat ipos iquat mass subtreemass inertia invweight0 gravcomp",
    "jnt": "type qposadr dofadr bodyid pos axis stiffness range limited margin solref solimp actfrclimited actfrcrange",
    "dof": "bodyid jntid parentid frictionloss armature damping invweight0 M0 solref solimp",
    "geom": "type contype conaffinity condim bodyid dataid priority solmix solref solimp size rbound pos quat friction "
    "margin gap fluid",
    "site": "type bodyid size pos quat",
    "mesh": "vertnum facenum pos quat scale",
    "hfield": "size nrow ncol",
    "pair": "dim geom1 geom2 solref solreffriction solimp margin gap friction",
    "exclude": "signature",
    "eq": "type obj1id obj2id objtype active0 solref solimp data",
    "tendon": "adr num type limited range margin stiffness damping armature frictionloss lengthspring length0 invweight0 "
    "solref_lim solimp_lim solref_fri solimp_fri",
    "wrap": "type objid prm",
    "actuator": "trntype dyntype gaintype biastype trnid actadr actnum ctrllimited forcelimited actlimited dynprm "
    "gainprm biasprm actearly ctrlrange forcerange actrange gear cranklength acc0 length0 lengthrange",
    "sensor": "type objtype objid reftype refid dim adr cutoff",
    "key": "time qpos qvel act ctrl mpos mquat",
}
CONSTANTS = ["qpos0", "qpos_spring"] + [
    f"{element}_{name}" for element, names in _CONSTANTS.items() for name in names.split()
]

# Inputs of a snapshot, and the results that are copied as they stand in mjData.
SNAPSHOT_INPUTS = "qpos qvel act ctrl mocap_pos mocap_quat qacc_warmstart".split()
SNAPSHOT_RESULTS = (
    "xpos xquat xipos ximat geom_xpos geom_xmat site_xpos site_xmat xanchor xaxis subtree_com cvel cdof "
    "qfrc_bias qfrc_passive qfrc_spring qfrc_damper qfrc_gravcomp qfrc_fluid qfrc_actuator qfrc_smooth qacc_smooth "
    "qfrc_constraint qacc act_dot actuator_length actuator_velocity actuator_force ten_length ten_velocity "
    "sensordata energy"
).split()

# Contact quantities with their width; 0 means one number per contact.
CONTACT = {
    "dist": 0, "pos": 3, "frame": 9, "geom": 2, "dim": 0, "includemargin": 0, "friction": 5, "solref": 2,
    "solreffriction": 2, "solimp": 5, "mu": 0, "exclude": 0, "efc_address": 0,
}  # fmt: skip

CONSTRAINT_ROWS = "type id pos margin vel aref D R diagA frictionloss KBIP force state".split()

# Geom type pairs that MuJoCo collides in closed form; every other pair goes through its iterative convex collider.
# plane 0, hfield 1, sphere 2, capsule 3, ellipsoid 4, cylinder 5, box 6, mesh 7
CLOSED_FORM_PAIRS = (
    {(0, other) for other in (2, 3, 4, 5, 6)} | {(2, other) for other in (2, 3, 5, 6)} | {(3, 3), (3, 6), (6, 6)}
)
