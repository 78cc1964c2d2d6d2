//! Stage by stage at each snapshot, in pipeline order.

use carom::math::{Mat3, Quat};
use carom::model::{GeomShape, SparsePattern};
use carom::{Data, Model};
use carom_mujoco::{flat, inertia_tensor};

use super::compare::{Comparison, Family, Label, Quantity, RowNames, compare, compare_rows};
use super::reference::{Class, Reference};
use super::sensors;

/// Compares all smooth stages at one snapshot.
pub(crate) fn compare_smooth(
    model: &Model,
    reference: &Reference,
    rows: &RowNames<'_>,
    snapshot: usize,
    out: &mut Vec<Comparison>,
) -> Result<(), String> {
    let (state, input) = reference.snapshot_state(model, snapshot)?;
    let mut data = Data::new(model);
    carom::forward_and_sense(model, &state, &input, &mut data);
    let mut check = Checker {
        reference,
        rows,
        snapshot,
        out,
    };
    positions(model, &data, &mut check);
    velocities(&data, &mut check);
    forces(&data, &mut check);
    sensors::compare_smooth(model, &data, &mut check);
    if model.settings.enable.energy {
        let energy = &data.sensing.energy[0];
        check.check("sensing", "energy", Family::Model, FORCE_TOLERANCE, energy);
    }
    Ok(())
}

/// Compares named quantities of one snapshot.
pub(super) struct Checker<'a> {
    pub(super) reference: &'a Reference,
    pub(super) rows: &'a RowNames<'a>,
    pub(super) snapshot: usize,
    pub(super) out: &'a mut Vec<Comparison>,
}

impl Checker<'_> {
    pub(super) fn theirs(&self, name: &str) -> Option<Vec<f64>> {
        self.reference
            .get(&format!("s{}/{name}", self.snapshot))
            .map(<[f64]>::to_vec)
    }

    pub(super) fn check(
        &mut self,
        stage: &'static str,
        name: &str,
        family: Family,
        tolerance: f64,
        ours: &[f64],
    ) {
        if let Some(theirs) = self.theirs(name) {
            self.check_against(stage, name, family, tolerance, ours, &theirs);
        }
    }

    pub(super) fn check_against(
        &mut self,
        stage: &'static str,
        name: &str,
        family: Family,
        tolerance: f64,
        ours: &[f64],
        theirs: &[f64],
    ) {
        let quantity = Quantity {
            stage,
            name: format!("s{}/{name}", self.snapshot),
            family,
            tolerance,
        };
        self.out.push(compare(quantity, self.rows, ours, theirs));
    }

    /// Compares arrays whose rows are not elements of the model; a label says what a row is.
    pub(super) fn check_labelled(
        &mut self,
        (stage, name): (&'static str, &str),
        tolerance: f64,
        rows: (usize, Label<'_>),
        [ours, theirs]: [&[f64]; 2],
    ) {
        let quantity = Quantity {
            stage,
            name: format!("s{}/{name}", self.snapshot),
            family: Family::Row,
            tolerance,
        };
        self.out.push(compare_rows(quantity, rows, ours, theirs));
    }
}

const KINEMATICS_TOLERANCE: f64 = 1e-12;
const FORCE_TOLERANCE: f64 = 1e-11;

fn positions(model: &Model, data: &Data, check: &mut Checker<'_>) {
    let k = &data.kinematics;
    let stage = "kinematics";
    check.check(
        stage,
        "xpos",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &flat(&k.body_position),
    );
    check_quats(check, &k.body_quat);
    check.check(
        stage,
        "xipos",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &flat(&k.inertial_position),
    );
    check_inertial_rotations(model, check, &k.inertial_rotation);
    check.check(
        stage,
        "xanchor",
        Family::Joint,
        KINEMATICS_TOLERANCE,
        &flat(&k.joint_anchor),
    );
    check.check(
        stage,
        "xaxis",
        Family::Joint,
        KINEMATICS_TOLERANCE,
        &flat(&k.joint_axis),
    );
    // A mesh's frame is that of its inertia, with the tolerance of the mesh's mass properties.
    let mesh = check.reference.class == Class::Loose && model.counts().nmesh > 0;
    let geoms = if mesh { 1e-7 } else { KINEMATICS_TOLERANCE };
    check.check(
        stage,
        "geom_xpos",
        Family::Geom,
        geoms,
        &flat(&k.geom_position),
    );
    check_geom_rotations(model, check, &k.geom_rotation, geoms);
    check.check(
        stage,
        "site_xpos",
        Family::Site,
        KINEMATICS_TOLERANCE,
        &flat(&k.site_position),
    );
    check.check(
        stage,
        "site_xmat",
        Family::Site,
        KINEMATICS_TOLERANCE,
        &flat(&k.site_rotation),
    );
    check.check(
        stage,
        "subtree_com",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &flat(&k.subtree_com),
    );
    check.check(
        stage,
        "cdof",
        Family::Dof,
        KINEMATICS_TOLERANCE,
        &flat(&k.dof_axis),
    );
    let (nv, structure) = (model.counts().nv, &model.structure);
    check.check(
        "tendon",
        "ten_length",
        Family::Tendon,
        KINEMATICS_TOLERANCE,
        &data.tendon.length,
    );
    let dense_tendons = dense(&structure.tendons.jacobian, &data.tendon.jacobian, nv);
    check.check(
        "tendon",
        "ten_J",
        Family::Tendon,
        KINEMATICS_TOLERANCE,
        &dense_tendons,
    );
    let mass = data.mass_matrix(model);
    check.check("inertia", "qM", Family::Dof, KINEMATICS_TOLERANCE, &mass);
    let transmission = &data.transmission;
    let name = "transmission";
    check.check(
        name,
        "actuator_length",
        Family::Output,
        KINEMATICS_TOLERANCE,
        &transmission.length,
    );
    let dense_moments = dense(&structure.actuators.moment, &transmission.moment, nv);
    check.check(
        name,
        "actuator_moment",
        Family::Output,
        KINEMATICS_TOLERANCE,
        &dense_moments,
    );
}

/// Quaternions stand for the same rotation with either sign.
fn check_quats(check: &mut Checker<'_>, ours: &[Quat]) {
    let Some(mut theirs) = check.theirs("xquat") else {
        return;
    };
    for (quat, row) in ours.iter().zip(theirs.as_chunks_mut::<4>().0) {
        let dot: f64 = quat.0.iter().zip(row.iter()).map(|(a, b)| a * b).sum();
        if dot < 0.0 {
            for number in row.iter_mut() {
                *number = -*number;
            }
        }
    }
    check.check_against(
        "kinematics",
        "xquat",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &flat(ours),
        &theirs,
    );
}

/// Principal axes are compared through the inertia tensor, which does not depend on their order and sign.
fn check_inertial_rotations(model: &Model, check: &mut Checker<'_>, ours: &[Mat3]) {
    let Some(theirs) = check.theirs("ximat") else {
        return;
    };
    let inertias = check.reference.numbers("model/body_inertia").to_vec();
    let (rotations, inertias) = (theirs.as_chunks::<9>().0, inertias.as_chunks::<3>().0);
    let ours: Vec<f64> = ours
        .iter()
        .zip(&model.bodies.inertia)
        .flat_map(|(rotation, inertia)| inertia_tensor(rotation, inertia))
        .collect();
    let theirs: Vec<f64> = rotations
        .iter()
        .zip(inertias)
        .flat_map(|(rotation, inertia)| inertia_tensor(&Mat3(*rotation), &(*inertia).into()))
        .collect();
    check.check_against(
        "kinematics",
        "ximat",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &ours,
        &theirs,
    );
}

/// Mesh geoms are compared without the rotation into the mesh's principal axes.
fn check_geom_rotations(model: &Model, check: &mut Checker<'_>, ours: &[Mat3], tolerance: f64) {
    let Some(theirs) = check.theirs("geom_xmat") else {
        return;
    };
    let mesh_quats = check.reference.numbers("model/mesh_quat").to_vec();
    let mesh_quats = mesh_quats.as_chunks::<4>().0;
    let undo = |rotation: &Mat3, mesh: &Quat| rotation.mul(&mesh.to_mat3().transpose()).0;
    let mut left = Vec::with_capacity(theirs.len());
    let mut right = Vec::with_capacity(theirs.len());
    let geoms = ours
        .iter()
        .zip(theirs.as_chunks::<9>().0)
        .zip(&model.structure.geoms.shape);
    for ((a, b), shape) in geoms {
        match *shape {
            GeomShape::Mesh(mesh) if mesh < mesh_quats.len() => {
                left.extend(undo(a, &model.meshes.quat[mesh]));
                right.extend(undo(&Mat3(*b), &Quat(mesh_quats[mesh])));
            }
            _ => {
                left.extend(a.0);
                right.extend(b);
            }
        }
    }
    check.check_against(
        "kinematics",
        "geom_xmat",
        Family::Geom,
        tolerance,
        &left,
        &right,
    );
}

fn velocities(data: &Data, check: &mut Checker<'_>) {
    let v = &data.velocity;
    check.check(
        "velocity",
        "cvel",
        Family::Body,
        KINEMATICS_TOLERANCE,
        &flat(&v.body),
    );
    check.check(
        "velocity",
        "ten_velocity",
        Family::Tendon,
        KINEMATICS_TOLERANCE,
        &v.tendon,
    );
    check.check(
        "velocity",
        "actuator_velocity",
        Family::Output,
        KINEMATICS_TOLERANCE,
        &v.actuator,
    );
}

fn forces(data: &Data, check: &mut Checker<'_>) {
    let Data {
        passive,
        bias,
        actuation,
        acceleration,
        ..
    } = data;
    check.check(
        "passive",
        "qfrc_spring",
        Family::Dof,
        FORCE_TOLERANCE,
        &passive.spring,
    );
    check.check(
        "passive",
        "qfrc_damper",
        Family::Dof,
        FORCE_TOLERANCE,
        &passive.damper,
    );
    check.check(
        "passive",
        "qfrc_gravcomp",
        Family::Dof,
        FORCE_TOLERANCE,
        &passive.gravcomp,
    );
    check.check(
        "passive",
        "qfrc_fluid",
        Family::Dof,
        FORCE_TOLERANCE,
        &passive.fluid,
    );
    check.check(
        "passive",
        "qfrc_passive",
        Family::Dof,
        FORCE_TOLERANCE,
        &passive.total,
    );
    check.check(
        "bias",
        "qfrc_bias",
        Family::Dof,
        FORCE_TOLERANCE,
        &bias.force,
    );
    check.check(
        "actuation",
        "act_dot",
        Family::Activation,
        FORCE_TOLERANCE,
        &actuation.activation_dot,
    );
    check.check(
        "actuation",
        "actuator_force",
        Family::Output,
        FORCE_TOLERANCE,
        &actuation.actuator_force,
    );
    check.check(
        "actuation",
        "qfrc_actuator",
        Family::Dof,
        FORCE_TOLERANCE,
        &actuation.force,
    );
    check.check(
        "acceleration",
        "qfrc_smooth",
        Family::Dof,
        FORCE_TOLERANCE,
        &acceleration.force_smooth,
    );
    check.check(
        "acceleration",
        "qacc_smooth",
        Family::Dof,
        FORCE_TOLERANCE,
        &acceleration.smooth,
    );
}

fn dense(pattern: &SparsePattern, values: &[f64], columns: usize) -> Vec<f64> {
    let rows = pattern.start.len().saturating_sub(1);
    let mut matrix = vec![0.0; rows * columns];
    for row in 0..rows {
        for (&column, &value) in pattern.columns(row).iter().zip(&values[pattern.row(row)]) {
            matrix[row * columns + column] = value;
        }
    }
    matrix
}
