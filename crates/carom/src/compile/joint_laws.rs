//! Laws of joints: which joint follows which, and their numbers.

use carom_spec::model_spec::JointLawSpec;

use super::Source;
use super::report::{Report, code};
use crate::model::{JointKind, JointLaw, Model, Structure};

/// How a law is called in messages.
fn called(spec: &JointLawSpec) -> String {
    format!("law '{}'", spec.name)
}

/// Fills the structure of the laws of joints.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let mut first = 0;
    for spec in &source.spec.joint_laws {
        check_numbers(spec, report);
        let table = &source.lookup.joints;
        let Some(joint) = table.resolve(&spec.joint, || called(spec), report) else {
            continue;
        };
        let joints = &structure.joints;
        if !matches!(joints.kind[joint], JointKind::Hinge | JointKind::Slide) {
            let message = format!(
                "{} is for joint '{}', which neither slides nor turns about one axis",
                called(spec),
                spec.joint.name
            );
            let help = "laws of joints are for joints of type hinge or slide";
            report.error_help(code::JOINT_LAW, spec.span, message, help);
            continue;
        }
        let law = JointLaw {
            kind: spec.kind,
            joint,
            dof: joints.dof[joint],
            coordinate: joints.qpos[joint],
            first,
        };
        check_names(spec, law, &structure.joint_laws, report);
        first += law.count();
        structure.joint_laws.push(law);
    }
    structure.counts.njoint_law_parameter = first;
}

/// Reports numbers outside of their ranges.
fn check_numbers(spec: &JointLawSpec, report: &mut Report) {
    for (own, &value) in spec.kind.description().numbers.iter().zip(&spec.numbers) {
        if !own.range.contains(value) {
            let (name, range) = (own.name, own.range.words());
            let message = format!("{name} of {} must be {range}, not {value}", called(spec));
            let help = format!("without it, {name} is {} {}", own.default, own.unit);
            report.error_help(code::JOINT_LAW, spec.span, message, help);
        }
    }
}

/// Refuses laws that give a joint two numbers of one name: a parameter would mean both.
fn check_names(spec: &JointLawSpec, law: JointLaw, before: &[JointLaw], report: &mut Report) {
    let same_joint = before.iter().filter(|other| other.joint == law.joint);
    let taken = same_joint.flat_map(|other| other.kind.description().numbers);
    let own = law.kind.description().numbers;
    for name in taken.map(|number| number.name) {
        if own.iter().any(|number| number.name == name) {
            let joint = &spec.joint.name;
            let message = format!("{} gives joint '{joint}' a second '{name}'", called(spec));
            let help = "a joint has at most one law of each kind: leave one of them out";
            report.error_help(code::JOINT_LAW, spec.span, message, help);
            return;
        }
    }
}

/// Fills the numbers of the laws.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let numbers = source.spec.joint_laws.iter().flat_map(|law| &law.numbers);
    for (parameter, &number) in model.joint_laws.parameter.iter_mut().zip(numbers) {
        *parameter = number;
    }
}
