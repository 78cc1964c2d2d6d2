//! Keyframes: stored states, completed with the reference state.
//!
//! A vector may be shorter than the model's; the rest is that of the reference state. `<size nkey>` adds keyframes
//! that are the reference state altogether.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::KeyframeSpec;

use super::Source;
use super::report::{Report, code};
use crate::model::{Counts, KeyframeRecipe, Model, Structure};

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
            let checked = &mut report.checked("keyframe", &keyframe.name, keyframe.span);
            let message =
                format!("{attribute} of {checked} has {found} numbers, the model has {expected}");
            checked.error(code::KEYFRAME, message);
        }
    }
}

/// Fills the numbers of keyframes that are given, and says how many those are.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) -> Vec<KeyframeRecipe> {
    let nothing = KeyframeSpec::default();
    let keyframes = (0..model.counts().nkeyframe)
        .map(|id| fill(source.spec.keyframes.get(id).unwrap_or(&nothing), id, model));
    keyframes.collect()
}

fn fill(keyframe: &KeyframeSpec, id: usize, model: &mut Model) -> KeyframeRecipe {
    let n = &model.structure.counts;
    let keys = &mut model.keyframes;
    keys.time[id] = keyframe.time;
    // Vectors of zeros by default.
    overwrite(&mut keys.qpos[id * n.nq..][..n.nq], &keyframe.qpos);
    overwrite(&mut keys.qvel[id * n.nv..][..n.nv], &keyframe.qvel);
    overwrite(&mut keys.act[id * n.na..][..n.na], &keyframe.activation);
    overwrite(&mut keys.ctrl[id * n.nu..][..n.nu], &keyframe.control);
    // Incomplete groups are left out.
    let positions = keyframe.mocap_position.chunks_exact(3).take(n.nmocap);
    let quats = keyframe.mocap_quaternion.chunks_exact(4).take(n.nmocap);
    let counts = KeyframeRecipe {
        qpos: keyframe.qpos.len(),
        mocap_position: positions.len(),
        mocap_quat: quats.len(),
    };
    for (place, position) in keys.mocap_position[id * n.nmocap..]
        .iter_mut()
        .zip(positions)
    {
        overwrite(&mut place.0, position);
    }
    for (place, quat) in keys.mocap_quat[id * n.nmocap..].iter_mut().zip(quats) {
        overwrite(&mut place.0, quat);
    }
    counts
}

/// Replaces the first numbers of `target`.
fn overwrite(target: &mut [f64], values: &[f64]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target = *value;
    }
}
