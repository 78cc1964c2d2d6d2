//! Joints.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use crate::model_spec::{JointKind, JointSpec};

/// Reads the attributes of a joint over the values of its class.
pub(super) fn read(a: &Attributes<'_, '_>, joint: &mut JointSpec) {
    a.set("name", &mut joint.name);
    a.set("type", &mut joint.kind);
    a.set("group", &mut joint.group);
    a.set("pos", &mut joint.position);
    a.set("axis", &mut joint.axis);
    a.set("springdamper", &mut joint.spring_damper);
    a.set("limited", &mut joint.limited);
    a.set("actuatorfrclimited", &mut joint.actuator_force_limited);
    a.set_leading("solreflimit", &mut joint.limit_solver_reference);
    a.set_leading("solimplimit", &mut joint.limit_solver_impedance);
    a.set_leading("solreffriction", &mut joint.friction_solver_reference);
    a.set_leading("solimpfriction", &mut joint.friction_solver_impedance);
    a.set_leading("stiffness", &mut joint.stiffness);
    a.set_range("range", &mut joint.range);
    a.set_range("actuatorfrcrange", &mut joint.actuator_force_range);
    a.set("actuatorgravcomp", &mut joint.actuator_gravity_compensation);
    a.set("margin", &mut joint.margin);
    a.set("ref", &mut joint.reference_value);
    a.set("springref", &mut joint.spring_reference);
    a.set("springyield", &mut joint.spring_yield);
    a.set("armature", &mut joint.armature);
    a.set_leading("damping", &mut joint.damping);
    a.set("frictionloss", &mut joint.friction_loss);
    a.set("user", &mut joint.user);
}

/// Reads a free joint, which has no class.
pub(super) fn read_free(a: &Attributes<'_, '_>) -> JointSpec {
    let mut joint = JointSpec {
        span: a.element.span(),
        kind: JointKind::Free,
        ..JointSpec::default()
    };
    a.set("name", &mut joint.name);
    a.set("group", &mut joint.group);
    a.set("align", &mut joint.align);
    joint
}

/// What the limits of an element say about whether it is limited.
pub(super) fn is_limited(limited: Option<bool>, range: [f64; 2], auto_limits: bool) -> bool {
    limited.unwrap_or(auto_limits && range != [0.0; 2])
}

impl Reader<'_> {
    /// Brings a joint to its final form: radians, and nothing that is unsupported.
    pub(super) fn finish_joint(&self, joint: &mut JointSpec) {
        if joint.spring_yield != 0.0 {
            let message = "plastic springs (springyield) are not supported";
            self.problems
                .unsupported(codes::SPRING_YIELD, joint.span, message);
            joint.spring_yield = 0.0;
        }
        let has_angle = matches!(joint.kind, JointKind::Hinge | JointKind::Ball);
        if !self.notation.degrees || !has_angle {
            return;
        }
        let degree = std::f64::consts::PI / 180.0;
        // Ranges that are not limits stay as written, as in MuJoCo.
        if is_limited(joint.limited, joint.range, self.auto_limits) {
            joint.range = joint.range.map(|bound| bound * degree);
        }
        if joint.kind == JointKind::Hinge {
            joint.reference_value *= degree;
            joint.spring_reference *= degree;
        }
    }
}
