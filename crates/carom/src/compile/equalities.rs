//! Equality constraints: objects resolved to ids and the twelve numbers of each.
//!
//! | kind    | 0…2               | 3…5              | 6…9               | 10           | 11                  |
//! |---------|-------------------|------------------|-------------------|--------------|---------------------|
//! | connect | anchor in body 1  | anchor in body 2 |                   | 1            |                     |
//! | weld    | anchor in body 2  | it in body 1     | orientation of 2 in 1 | torque scale | 1: pose at reference |
//! | joint, tendon | polynomial of degree 4 in 0…4 ||                   | 1            |                     |
//!
//! The second anchor of a connect and a relative pose that the file leaves out are those of the reference
//! configuration; [`constants`] derives them. Constraints between sites need neither.

use carom_spec::model_spec::{EqualityKind as Coupling, EqualityObjects, EqualitySpec, Reference};

use super::Source;
use super::lookup::NameTable;
use super::report::{Checked, Report, code};
use crate::math::{Quat, Vec3};
use crate::model::{EqualityKind, JointKind, Model, Structure};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Where the torque scale of a weld stands; 1 for other kinds.
const TORQUE_SCALE: usize = 10;
/// Set when the relative pose of a weld follows from the reference configuration.
const POSE_AT_REFERENCE: usize = 11;

/// Fills the structure of equality constraints.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for equality in &source.spec.equalities {
        let checked = &mut report.checked("equality constraint", &equality.name, equality.span);
        let [first, second] = resolve(source, equality, checked);
        if let (Some(first), Some(second)) = (first, second)
            && first == second
        {
            let message = format!("{checked} couples an element with itself");
            checked.error(code::EQUALITY, message);
        }
        let (kind, between_sites) = match &equality.kind {
            Coupling::Connect { objects, .. } => (EqualityKind::Connect, are_sites(objects)),
            Coupling::Weld { objects, .. } => (EqualityKind::Weld, are_sites(objects)),
            Coupling::Joint { .. } => (EqualityKind::Joint, false),
            Coupling::Tendon { .. } => (EqualityKind::Tendon, false),
        };
        if kind == EqualityKind::Joint {
            let is_vector = |joint: usize| {
                matches!(
                    structure.joints.kind[joint],
                    JointKind::Free | JointKind::Ball
                )
            };
            if [first, second].into_iter().flatten().any(is_vector) {
                let message =
                    format!("{checked} couples a joint that is neither a slide nor a hinge");
                checked.error(code::EQUALITY, message);
            }
        }
        let equalities = &mut structure.equalities;
        equalities.kind.push(kind);
        equalities.between_sites.push(between_sites);
        // An unresolved first object was reported; any id keeps the lists in step.
        equalities.object1.push(first.unwrap_or(0));
        equalities.object2.push(second);
        equalities.active.push(equality.active);
    }
    structure.counts.nequality = source.spec.equalities.len();
}

fn are_sites(objects: &EqualityObjects) -> bool {
    matches!(objects, EqualityObjects::Sites { .. })
}

/// The ids of the two objects; none for one that does not exist or is left out.
fn resolve(
    source: Source<'_>,
    equality: &EqualitySpec,
    checked: &mut Checked<'_>,
) -> [Option<usize>; 2] {
    let lookup = source.lookup;
    let mut pair = |table: &NameTable, first: &Reference, second: Option<&Reference>| {
        [Some(first), second].map(|reference| checked.resolve(table, reference?))
    };
    match &equality.kind {
        Coupling::Connect { objects, .. } | Coupling::Weld { objects, .. } => match objects {
            EqualityObjects::Bodies { first, second } => {
                let [first, other] = pair(&lookup.bodies, first, second.as_ref());
                // A body left out is the world.
                [first, if second.is_none() { Some(0) } else { other }]
            }
            EqualityObjects::Sites { first, second } => pair(&lookup.sites, first, Some(second)),
        },
        Coupling::Joint { first, second, .. } => pair(&lookup.joints, first, second.as_ref()),
        Coupling::Tendon { first, second, .. } => pair(&lookup.tendons, first, second.as_ref()),
    }
}

/// Fills the numbers of equality constraints as far as the file gives them.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    for (id, equality) in source.spec.equalities.iter().enumerate() {
        model.equalities.solref[id] = equality.solver_reference;
        model.equalities.solimp[id] = equality.solver_impedance;
        model.equalities.data[id] = data(&equality.kind);
    }
}

fn data(coupling: &Coupling) -> [f64; 12] {
    let mut data = [0.0; 12];
    data[TORQUE_SCALE] = 1.0;
    match coupling {
        Coupling::Connect { objects, .. } if are_sites(objects) => data = [0.0; 12],
        Coupling::Connect { anchor, .. } => data[..3].copy_from_slice(anchor),
        Coupling::Weld {
            objects,
            torque_scale,
            ..
        } if are_sites(objects) => {
            // The unused part keeps MuJoCo's default, the identity polynomial.
            data[1] = 1.0;
            data[TORQUE_SCALE] = *torque_scale;
        }
        Coupling::Weld {
            anchor,
            relative_pose,
            torque_scale,
            ..
        } => {
            data[..3].copy_from_slice(anchor);
            data[TORQUE_SCALE] = *torque_scale;
            // A zero quaternion is the older way to leave the pose out.
            match relative_pose.filter(|pose| pose[3..] != [0.0; 4]) {
                Some([x, y, z, quat @ ..]) => {
                    data[3..6].copy_from_slice(&[x, y, z]);
                    data[6..10].copy_from_slice(&Quat(quat).normalized().0);
                }
                None => data[POSE_AT_REFERENCE] = 1.0,
            }
        }
        Coupling::Joint { polynomial, .. } | Coupling::Tendon { polynomial, .. } => {
            data[..5].copy_from_slice(polynomial);
        }
    }
    data
}

/// Derives second anchors and relative poses from the kinematics at the reference configuration:
///
///   connect: a₂ = R₂ᵀ·(x₁ + R₁·a₁ − x₂)        weld: a₁ = R₁ᵀ·(x₂ + R₂·a₂ − x₁),  q = q₁⁻¹ ⊗ q₂
pub(super) fn constants<T: Scalar>(model: &mut Model<T>, kinematics: &Kinematics<T>) {
    let equalities = &model.structure.equalities;
    for (id, data) in model.equalities.data.iter_mut().enumerate() {
        let (Some(second), false) = (equalities.object2[id], equalities.between_sites[id]) else {
            continue;
        };
        let first = equalities.object1[id];
        let anchor = Vec3([data[0], data[1], data[2]]);
        match equalities.kind[id] {
            EqualityKind::Connect => {
                let anchor = carry(kinematics, first, second, anchor);
                data[3..6].copy_from_slice(&anchor.0);
            }
            EqualityKind::Weld if data[POSE_AT_REFERENCE].value() != 0.0 => {
                let anchor = carry(kinematics, second, first, anchor);
                let quat = kinematics.body_quat[first]
                    .conjugate()
                    .mul(kinematics.body_quat[second]);
                data[3..6].copy_from_slice(&anchor.0);
                data[6..10].copy_from_slice(&quat.0);
            }
            _ => {}
        }
    }
}

/// A point of the frame of body `from` in the frame of body `to`.
fn carry<T: Scalar>(kinematics: &Kinematics<T>, from: usize, to: usize, point: Vec3<T>) -> Vec3<T> {
    let world = kinematics.body_position[from] + kinematics.body_rotation[from].mul_vec(point);
    kinematics.body_rotation[to].transpose_mul_vec(world - kinematics.body_position[to])
}
