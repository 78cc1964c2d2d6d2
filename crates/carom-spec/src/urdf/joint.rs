//! Joints, and joints that follow others.

use super::codes;
use super::link::origin;
use super::read::{unique_child, warn_misspelling};
use crate::mjcf::attribute::Attributes;
use crate::mjcf::orientation::{from_z_axis, rotate, unit};
use crate::mjcf::problems::Problems;
use crate::model_spec::{
    BodySpec, EqualityKind, EqualitySpec, JointKind, JointSpec, ModelSpec, Reference,
};
use crate::xml::Element;

/// Types of URDF joints; `spherical` is an extension of Bullet.
const KINDS: [&str; 7] = [
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
    "spherical",
];

/// Gives a body the pose and the joints that its `<joint>` says.
pub(super) fn read(element: Element<'_>, body: &mut BodySpec, problems: &Problems<'_>) {
    let a = Attributes::new(element, problems);
    let name = a.require::<String>("name").unwrap_or_default();
    let pose = origin(element, problems);
    (body.position, body.quaternion) = (pose.position, pose.quaternion);
    for child in element.children() {
        let known = [
            "origin",
            "parent",
            "child",
            "axis",
            "limit",
            "dynamics",
            "mimic",
            "calibration",
            "safety_controller",
        ];
        warn_misspelling(child, &known, problems);
    }
    let Some(kind) = a.require::<String>("type") else {
        return;
    };
    let mut axis = [1.0, 0.0, 0.0];
    if let Some(element) = unique_child(element, "axis", problems)
        && let Some(written) = Attributes::new(element, problems).require("xyz")
    {
        axis = written;
    }
    let joint = |kind: JointKind, suffix: &str, axis: [f64; 3]| JointSpec {
        name: format!("{name}{suffix}"),
        span: element.span(),
        kind,
        axis,
        ..JointSpec::default()
    };
    let mut joints = match kind.as_str() {
        "revolute" | "continuous" => vec![joint(JointKind::Hinge, "", axis)],
        "prismatic" => vec![joint(JointKind::Slide, "", axis)],
        "spherical" => vec![joint(JointKind::Ball, "", axis)],
        "floating" => vec![joint(JointKind::Free, "", JointSpec::default().axis)],
        "fixed" => return,
        "planar" => {
            let Some(direction) = unit(axis) else {
                problems.error(
                    codes::JOINT,
                    element.span(),
                    "the axis of a plane cannot be zero",
                );
                return;
            };
            // Two axes in the plane: x and y turned with z onto the normal.
            let turn = from_z_axis(direction);
            vec![
                joint(JointKind::Slide, "_TX", rotate(turn, [1.0, 0.0, 0.0])),
                joint(JointKind::Slide, "_TY", rotate(turn, [0.0, 1.0, 0.0])),
                joint(JointKind::Hinge, "_RZ", axis),
            ]
        }
        other => {
            let message = format!("must be one of {}, not '{other}'", KINDS.join(", "));
            a.error(codes::JOINT, "type", &message);
            return;
        }
    };
    read_dynamics(element, &mut joints, problems);
    if let Some(limit) = unique_child(element, "limit", problems) {
        read_limit(limit, kind != "continuous", &mut joints[0], problems);
    }
    body.joints = joints;
}

fn read_dynamics(element: Element<'_>, joints: &mut [JointSpec], problems: &Problems<'_>) {
    let Some(dynamics) = unique_child(element, "dynamics", problems) else {
        return;
    };
    let a = Attributes::new(dynamics, problems);
    let (damping, friction) = (a.get("damping"), a.get("friction"));
    for joint in joints {
        joint.damping[0] = damping.unwrap_or(joint.damping[0]);
        joint.friction_loss = friction.unwrap_or(joint.friction_loss);
    }
}

fn read_limit(limit: Element<'_>, has_range: bool, joint: &mut JointSpec, problems: &Problems<'_>) {
    let a = Attributes::new(limit, problems);
    if has_range && joint.kind != JointKind::Free {
        let [low, high] = &mut joint.range;
        let (has_low, has_high) = (a.set("lower", low), a.set("upper", high));
        // Half a range, or one upside down, limits nothing; otherwise its presence decides.
        if has_low != has_high || joint.range[0] > joint.range[1] {
            joint.limited = Some(false);
        }
    }
    if let Some(effort) = a.get::<f64>("effort").filter(|effort| *effort != 0.0) {
        joint.actuator_force_range = [-effort.abs(), effort.abs()];
    }
}

/// Adds an equality constraint for every `<mimic>`.
pub(super) fn read_mimics(root: Element<'_>, spec: &mut ModelSpec, problems: &Problems<'_>) {
    let is_scalar = |spec: &ModelSpec, name: &str| {
        let mut joints = spec.bodies.iter().flat_map(|body| &body.joints);
        joints.any(|joint| {
            joint.name == name && matches!(joint.kind, JointKind::Hinge | JointKind::Slide)
        })
    };
    for element in root.children().filter(|child| child.tag() == "joint") {
        let Some(mimic) = unique_child(element, "mimic", problems) else {
            continue;
        };
        let a = Attributes::new(mimic, problems);
        let (Some(name), Some(leader)) = (element.value("name"), a.require::<Reference>("joint"))
        else {
            continue;
        };
        if !is_scalar(spec, name) || !is_scalar(spec, &leader.name) {
            let message = format!(
                "<mimic> of joint '{name}' is ignored: both joints must be revolute, continuous or \
                 prismatic"
            );
            problems.warning(codes::NO_EFFECT, mimic.span(), message);
            continue;
        }
        let offset = a.get("offset").unwrap_or(0.0);
        let multiplier = a.get("multiplier").unwrap_or(1.0);
        spec.equalities.push(EqualitySpec {
            span: mimic.span(),
            kind: EqualityKind::Joint {
                first: Reference {
                    name: name.to_owned(),
                    span: element.span(),
                },
                second: Some(leader),
                polynomial: [offset, multiplier, 0.0, 0.0, 0.0],
            },
            ..EqualitySpec::default()
        });
    }
}
