//! Keyframes: stored states, completed with the reference state.
//!
//! A vector may be shorter than the model's; the rest is that of the reference state. `<size nkey>` adds keyframes
//! that are the reference state altogether.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::KeyframeSpec;

use super::Source;
use super::report::{Report, called, code};
use crate::math::{MIN_LENGTH, Quat, Vec3};
use crate::model::{Counts, JointKind, Model, Structure};

/// Numbers that all keyframes may have together; more would not fit in memory.
const MOST_NUMBERS: usize = 1 << 27;

/// Fills the structure of keyframes.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for keyframe in &source.spec.keyframes {
        check_lengths(keyframe, &structure.counts, report);
    }
    let mut count = source.spec.keyframes.len().max(source.spec.size.keyframes);
    let n = &mut structure.counts;
    let numbers_each = n.nq + n.nv + n.na + n.nu + 7 * n.nmocap + 1;
    if count.saturating_mul(numbers_each) > MOST_NUMBERS {
        let message = format!("{count} keyframes are too many to hold");
        report.push(Diagnostic::error(code::KEYFRAME, message));
        count = 0;
    }
    n.nkeyframe = count;
    n.nkeyframe_qpos = count * n.nq;
    n.nkeyframe_qvel = count * n.nv;
    n.nkeyframe_act = count * n.na;
    n.nkeyframe_ctrl = count * n.nu;
    n.nkeyframe_mocap = count * n.nmocap;
    structure.names.keyframes = source.lookup.keyframes.names().to_vec();
    structure.names.keyframes.resize(count, String::new());
}

fn check_lengths(keyframe: &KeyframeSpec, n: &Counts, report: &mut Report) {
    let vectors = [
        ("qpos", keyframe.qpos.len(), n.nq),
        ("qvel", keyframe.qvel.len(), n.nv),
        ("act", keyframe.activation.len(), n.na),
        ("ctrl", keyframe.control.len(), n.nu),
        ("mpos", keyframe.mocap_position.len(), 3 * n.nmocap),
        ("mquat", keyframe.mocap_quaternion.len(), 4 * n.nmocap),
    ];
    for (attribute, found, expected) in vectors {
        if found > expected {
            let owner = called("keyframe", &keyframe.name);
            let message =
                format!("{attribute} of {owner} has {found} numbers, the model has {expected}");
            report.error(code::KEYFRAME, keyframe.span, message);
        }
    }
}

/// Fills the numbers of keyframes.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, _report: &mut Report) {
    let nothing = KeyframeSpec::default();
    for id in 0..model.counts().nkeyframe {
        let keyframe = source.spec.keyframes.get(id).unwrap_or(&nothing);
        fill(keyframe, id, model);
    }
}

fn fill(keyframe: &KeyframeSpec, id: usize, model: &mut Model) {
    let structure = &model.structure;
    let n = &structure.counts;
    let keys = &mut model.keyframes;
    keys.time[id] = keyframe.time;
    let qpos = &mut keys.qpos[id * n.nq..][..n.nq];
    qpos.copy_from_slice(&model.qpos.reference);
    overwrite(qpos, &keyframe.qpos);
    normalize_quaternions(structure, qpos);
    // Vectors of zeros by default.
    overwrite(&mut keys.qvel[id * n.nv..][..n.nv], &keyframe.qvel);
    overwrite(&mut keys.act[id * n.na..][..n.na], &keyframe.activation);
    overwrite(&mut keys.ctrl[id * n.nu..][..n.nu], &keyframe.control);

    for (body, mocap) in structure.bodies.mocap.iter().enumerate() {
        let Some(mocap) = *mocap else { continue };
        let place = id * n.nmocap + mocap;
        let position = group(&keyframe.mocap_position, mocap).map(Vec3);
        keys.mocap_position[place] = position.unwrap_or(model.bodies.position[body]);
        let quat = group(&keyframe.mocap_quaternion, mocap).map(Quat);
        keys.mocap_quat[place] = match quat {
            // MuJoCo leaves a zero quaternion as it is.
            Some(quat) if quat.dot(quat).sqrt() < MIN_LENGTH => quat,
            Some(quat) => quat.normalized(),
            None => model.bodies.quat[body],
        };
    }
}

/// Replaces the first numbers of `target`.
fn overwrite(target: &mut [f64], values: &[f64]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target = *value;
    }
}

/// Group number `index` of N numbers, if it is complete.
fn group<const N: usize>(values: &[f64], index: usize) -> Option<[f64; N]> {
    values.get(N * index..)?.first_chunk().copied()
}

fn normalize_quaternions(structure: &Structure, qpos: &mut [f64]) {
    let joints = structure.joints.kind.iter().zip(&structure.joints.qpos);
    for (kind, &start) in joints {
        let start = match kind {
            JointKind::Free => start + 3,
            JointKind::Ball => start,
            JointKind::Slide | JointKind::Hinge => continue,
        };
        if let Some(numbers) = qpos[start..].first_chunk_mut() {
            *numbers = Quat(*numbers).normalized().0;
        }
    }
}
