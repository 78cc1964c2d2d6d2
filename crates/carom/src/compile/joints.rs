//! Joints and their degrees of freedom.

use carom_spec::model_spec::{BodySpec, JointKind, JointSpec};

use super::Source;
use super::report::{Checked, Report, called, code};
use crate::math::{Quat, Vec3};
use crate::model::{Model, SourceNumbers, Structure};

/// More degrees of freedom in one body are refused, as in MuJoCo.
const MAX_BODY_DOFS: usize = 6;

/// Squares of lengths below this are too small to give a direction, as in MuJoCo.
const MIN_SQUARE: f64 = 1e-14;

/// Fills the structure of joints and the dofs of bodies; checks the joints.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for (id, body) in source.spec.bodies.iter().enumerate() {
        check_combination(body, report);
        let first_joint = structure.counts.njoint;
        let first_dof = structure.counts.nv;
        for joint in &body.joints {
            let mut checked = report.checked("joint", &joint.name, joint.span);
            check_joint(joint, &mut checked);
            push_joint(source, joint, id, structure, &mut checked);
        }
        structure
            .bodies
            .joints
            .push(first_joint..structure.counts.njoint);
        structure.bodies.dofs.push(first_dof..structure.counts.nv);
    }
}

fn push_joint(
    source: Source<'_>,
    joint: &JointSpec,
    body: usize,
    structure: &mut Structure,
    checked: &mut Checked<'_>,
) {
    let auto_limits = source.spec.compiler.auto_limits;
    let is_scalar = matches!(joint.kind, JointKind::Slide | JointKind::Hinge);
    let limited = match joint.kind {
        JointKind::Free => false,
        JointKind::Ball => ball_is_limited(joint, auto_limits, checked),
        JointKind::Slide | JointKind::Hinge => {
            checked.is_limited("", joint.limited, joint.range, auto_limits)
        }
    };
    let force_limited = is_scalar && {
        let (switch, range) = (joint.actuator_force_limited, joint.actuator_force_range);
        checked.is_limited("actuatorfrc", switch, range, auto_limits)
    };

    let counts = &mut structure.counts;
    let joints = &mut structure.joints;
    joints.kind.push(joint.kind);
    joints.body.push(body);
    joints.qpos.push(counts.nq);
    joints.dof.push(counts.nv);
    joints.limited.push(limited);
    joints.actuator_force_limited.push(force_limited);
    joints
        .actuator_gravcomp
        .push(joint.actuator_gravity_compensation);
    for _ in 0..joint.kind.dof_count() {
        structure.dofs.body.push(body);
        structure.dofs.joint.push(counts.njoint);
    }
    counts.nq += joint.kind.coordinate_count();
    counts.nv += joint.kind.dof_count();
    counts.njoint += 1;
}

/// A ball joint is limited by one angle: its range starts at zero.
fn ball_is_limited(joint: &JointSpec, auto_limits: bool, checked: &mut Checked<'_>) -> bool {
    let limits = joint.limited.unwrap_or(joint.range[0] < joint.range[1]);
    if joint.limited.is_none() && !auto_limits && joint.range != [0.0, 0.0] {
        checked.error_help(
            code::RANGE,
            format!("{checked} has range but does not say whether it limits"),
            "set limited, or compiler autolimits=\"true\"",
        );
    }
    if limits && joint.range[0] != 0.0 {
        checked.error_help(
            code::RANGE,
            format!("range of ball {checked} starts at {}", joint.range[0]),
            "a ball joint is limited by its largest angle: give range=\"0 angle\"",
        );
    }
    limits
}

/// Joints of one body that MuJoCo refuses to combine.
fn check_combination(body: &BodySpec, report: &mut Report) {
    let mut checked = report.checked("body", &body.name, body.span);
    let dofs: usize = body.joints.iter().map(|joint| joint.kind.dof_count()).sum();
    if dofs > MAX_BODY_DOFS {
        checked.error_help(
            code::JOINT_PLACE,
            format!("{checked} has {dofs} degrees of freedom, more than {MAX_BODY_DOFS}"),
            "move some of its joints to a child body",
        );
    }
    let is_ball = |joint: &JointSpec| joint.kind == JointKind::Ball;
    let ball = body.joints.iter().position(is_ball);
    let after_ball = ball.map_or(&[][..], |ball| &body.joints[ball + 1..]);
    let rotates = |joint: &&JointSpec| matches!(joint.kind, JointKind::Ball | JointKind::Hinge);
    if let Some(joint) = after_ball.iter().find(rotates) {
        let rotating = called("joint", &joint.name);
        let message = format!("{rotating} rotates after a ball joint of {checked}");
        checked.error_at(code::JOINT_PLACE, joint.span, message);
    }
    let Some(free) = body
        .joints
        .iter()
        .find(|joint| joint.kind == JointKind::Free)
    else {
        return;
    };
    let body_name = checked.to_string();
    let mut refuse = |message: String, help: &str| {
        report.error_help(code::JOINT_PLACE, free.span, message, help);
    };
    if body.joints.len() > 1 {
        refuse(
            format!("free joint of {body_name} is not the only joint of its body"),
            "a free joint already moves the body in every direction; remove the others",
        );
    }
    if body.parent != 0 {
        refuse(
            format!("free joint of {body_name} is not at the top level"),
            "only children of the world can be free",
        );
    }
}

fn check_joint(joint: &JointSpec, checked: &mut Checked<'_>) {
    let [time, ratio] = joint.spring_damper;
    if (time != 0.0 || ratio != 0.0) && !(time > 0.0 && ratio > 0.0) {
        let message =
            format!("springdamper of {checked} must be two positive numbers, found {time} {ratio}");
        checked.error(code::SPRING_DAMPER, message);
    }
    if joint.spring_yield != 0.0 {
        let message = format!("plastic springs are not supported, found in {checked}");
        checked.error(code::UNSUPPORTED, message);
    }
    let has_axis = matches!(joint.kind, JointKind::Slide | JointKind::Hinge);
    let is_zero = |axis: [f64; 3]| axis.iter().map(|x| x * x).sum::<f64>() < MIN_SQUARE;
    if checked.finite("axis", &joint.axis) && has_axis && is_zero(joint.axis) {
        checked.error_help(
            code::JOINT_AXIS,
            format!("axis of {checked} is zero"),
            "give the direction of the joint, e.g. axis=\"0 0 1\"",
        );
    }
    checked.all_finite(&[
        ("pos", &joint.position),
        ("ref", &[joint.reference_value]),
        ("stiffness", &joint.stiffness),
        ("springref", &[joint.spring_reference]),
        ("springdamper", &joint.spring_damper),
        ("margin", &[joint.margin]),
        ("solreflimit", &joint.limit_solver_reference),
        ("solimplimit", &joint.limit_solver_impedance),
        ("armature", &[joint.armature]),
        ("damping", &joint.damping),
        ("frictionloss", &[joint.friction_loss]),
        ("solreffriction", &joint.friction_solver_reference),
        ("solimpfriction", &joint.friction_solver_impedance),
    ]);
}

/// Fills the numbers of joints and dofs, and the reference configurations.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let structure = std::sync::Arc::clone(&model.structure);
    let joints = source.spec.bodies.iter().flat_map(|body| &body.joints);
    for (id, joint) in joints.enumerate() {
        let numbers = &mut model.joints;
        let is_scalar = matches!(joint.kind, JointKind::Slide | JointKind::Hinge);
        let is_free = joint.kind == JointKind::Free;
        numbers.position[id] = if is_free {
            Vec3::ZERO
        } else {
            Vec3(joint.position)
        };
        numbers.axis[id] = if is_scalar {
            unit(Vec3(joint.axis))
        } else {
            Vec3::Z
        };
        let [linear, quadratic, cubic] = joint.stiffness;
        numbers.stiffness[id] = linear;
        numbers.stiffness_poly[id] = [quadratic, cubic];
        numbers.range[id] = joint.range;
        numbers.actuator_force_range[id] = joint.actuator_force_range;
        numbers.margin[id] = joint.margin;
        numbers.solref[id] = joint.limit_solver_reference;
        numbers.solimp[id] = joint.limit_solver_impedance;
        let first = structure.joints.dof[id];
        for dof in first..first + joint.kind.dof_count() {
            fill_dof(joint, dof, model);
        }
        fill_reference(joint, id, model);
    }
}

/// Fills the numbers that springs and dampers follow from.
pub(super) fn sources(source: Source<'_>, numbers: &mut SourceNumbers) {
    let joints = source.spec.bodies.iter().flat_map(|body| &body.joints);
    for (id, joint) in joints.enumerate() {
        numbers.spring_damper[id] = joint.spring_damper;
    }
}

fn fill_dof(joint: &JointSpec, dof: usize, model: &mut Model) {
    let numbers = &mut model.dofs;
    let [linear, quadratic, cubic] = joint.damping;
    numbers.armature[dof] = joint.armature;
    numbers.damping[dof] = linear;
    numbers.damping_poly[dof] = [quadratic, cubic];
    numbers.frictionloss[dof] = joint.friction_loss;
    numbers.solref[dof] = joint.friction_solver_reference;
    numbers.solimp[dof] = joint.friction_solver_impedance;
}

/// The joint's part of the default configuration, and of the one at which springs rest.
fn fill_reference(joint: &JointSpec, id: usize, model: &mut Model) {
    let start = model.structure.joints.qpos[id];
    let body = model.structure.joints.body[id];
    let place = start..start + joint.kind.coordinate_count();
    let (reference, spring) = (
        &mut model.qpos.reference[place.clone()],
        &mut model.qpos.spring[place],
    );
    match joint.kind {
        JointKind::Free => {
            reference[..3].copy_from_slice(&model.bodies.position[body].0);
            reference[3..].copy_from_slice(&model.bodies.quat[body].0);
            spring.copy_from_slice(reference);
        }
        JointKind::Ball => {
            reference.copy_from_slice(&Quat::identity().0);
            spring.copy_from_slice(reference);
        }
        JointKind::Slide | JointKind::Hinge => {
            reference[0] = joint.reference_value;
            spring[0] = joint.spring_reference;
        }
    }
}

/// The unit vector; a length that is 1 within rounding is left alone.
fn unit(vector: Vec3) -> Vec3 {
    let length = vector.norm();
    if (length - 1.0).abs() > MIN_SQUARE {
        Vec3(vector.0.map(|x| x / length))
    } else {
        vector
    }
}
