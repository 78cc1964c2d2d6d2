//! Bodies, their order, and the patterns that follow from it.
//!
//! Ids are positions in the depth-first order of the file. Three partitions of the bodies matter: the *root* is the
//! ancestor that hangs on the world, the *weld* body is the topmost one that moves rigidly with a body, and the *tree*
//! is the set of bodies whose dofs are connected.

use carom_spec::ModelSpec;
use carom_spec::model_spec::with_parents;

use super::Source;
use super::inertia::Inertials;
use super::report::{Report, code};
use crate::linalg::{DofPattern, TreeSparsity};
use crate::math::Vec3;
use crate::model::{Model, Structure};

/// Bodies must be fewer than this, as in MuJoCo (pairs of bodies are signed by 16 bits each).
const MAX_BODIES: usize = 65_534;

/// Entries of the inertia matrix beyond which a model is refused: a chain of 2800 hinges has as many.
const MAX_INERTIA_ENTRIES: usize = 4_000_000;

/// Whether the bodies are a tree in depth-first order; everything after relies on it.
pub(super) fn is_well_formed(spec: &ModelSpec, report: &mut Report) -> bool {
    let Some(world) = spec.bodies.first() else {
        report.push(carom_spec::Diagnostic::error(
            code::TREE,
            "the model has no world body",
        ));
        return false;
    };
    if let Some(joint) = world.joints.first() {
        let joint = &mut report.checked("joint", &joint.name, joint.span);
        joint.error_help(
            code::JOINT_PLACE,
            format!("{joint} is in the world, which cannot move"),
            "put the joint into a body",
        );
        return false;
    }
    if spec.bodies.len() >= MAX_BODIES {
        report.push(carom_spec::Diagnostic::error(
            code::TREE,
            format!(
                "{} bodies are too many, at most {MAX_BODIES} are allowed",
                spec.bodies.len() - 1
            ),
        ));
        return false;
    }
    // The path from the world to the previous body: the parent must be on it.
    let mut path = vec![0];
    for (id, body) in with_parents(&spec.bodies) {
        while path.last().is_some_and(|&last| last != body.parent) {
            path.pop();
        }
        if path.is_empty() {
            let body = &mut report.checked("body", &body.name, body.span);
            let message = format!("{body} does not follow its parent in depth-first order");
            body.error(code::TREE, message);
            return false;
        }
        path.push(id);
    }
    true
}

/// Fills the structure of bodies; joints and dofs follow in [`super::joints`].
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let spec = source.spec;
    let count = spec.bodies.len();
    structure.counts.nbody = count;
    let mut mocap_count = 0;
    for (id, body) in spec.bodies.iter().enumerate() {
        let bodies = &mut structure.bodies;
        let parent = if id == 0 { 0 } else { body.parent };
        bodies.parent.push(parent);
        bodies
            .root
            .push(if parent == 0 { id } else { bodies.root[parent] });
        let moves_alone = id == 0 || !body.joints.is_empty() || body.mocap;
        bodies
            .weld
            .push(if moves_alone { id } else { bodies.weld[parent] });
        bodies.mocap.push(body.mocap.then_some(mocap_count));
        mocap_count += usize::from(body.mocap);
        if id > 0 {
            check_body(spec, id, report);
        }
    }
    structure.counts.nmocap = mocap_count;
    structure.bodies.subtree_end = subtree_ends(&structure.bodies.parent);
    structure.has_gravcomp = spec
        .bodies
        .iter()
        .any(|body| body.gravity_compensation > 0.0);
}

/// One past the last descendant of each body.
fn subtree_ends(parents: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=parents.len()).collect();
    for id in (1..parents.len()).rev() {
        ends[parents[id]] = ends[parents[id]].max(ends[id]);
    }
    ends
}

fn check_body(spec: &ModelSpec, id: usize, report: &mut Report) {
    let body = &spec.bodies[id];
    let checked = &mut report.checked("body", &body.name, body.span);
    if body.mocap && (body.parent != 0 || !body.joints.is_empty()) {
        checked.error_help(
            code::MOCAP,
            format!("mocap {checked} is not a fixed child of the world"),
            "remove its joints and move it to the top level, or drop mocap",
        );
    }
    checked.all_finite(&[
        ("pos", &body.position),
        ("orientation", &body.quaternion),
        ("gravcomp", &[body.gravity_compensation]),
    ]);
}

/// Fills what follows from bodies and joints: dof parents, trees and sparsity patterns; false if these would be too
/// large.
pub(super) fn dof_structure(structure: &mut Structure, report: &mut Report) -> bool {
    let body_count = structure.counts.nbody;
    let mut last_dof = vec![None; body_count];
    let mut parents = vec![None; structure.counts.nv];
    for body in 0..body_count {
        let mut last = last_dof[structure.bodies.parent[body]];
        for dof in structure.bodies.dofs[body].clone() {
            parents[dof] = last;
            last = Some(dof);
        }
        last_dof[body] = last;
    }
    if !is_affordable(&parents, report) {
        return false;
    }
    fill_trees(structure, &parents);
    let sparsity = TreeSparsity::new(parents.iter().copied());
    for last in last_dof {
        let dofs = last.map_or(&[][..], |dof| sparsity.row_columns(dof));
        structure.bodies.moving_dofs.push_row(dofs.iter().copied());
    }
    structure.dof_pairs = DofPattern::new(&sparsity);
    structure.counts.ninertia = sparsity.entry_count();
    structure.counts.ndof_pair = structure.dof_pairs.entry_count();
    structure.inertia = sparsity;
    structure.dofs.parent = parents;
    true
}

/// Refuses chains so long that the patterns would exhaust memory.
fn is_affordable(parents: &[Option<usize>], report: &mut Report) -> bool {
    let mut depth = vec![1_usize; parents.len()];
    for (dof, parent) in parents.iter().enumerate() {
        if let Some(parent) = *parent {
            depth[dof] = depth[parent] + 1;
        }
    }
    let entries: usize = depth.iter().sum();
    if entries > MAX_INERTIA_ENTRIES {
        report.push(carom_spec::Diagnostic::error(
            code::TREE,
            format!(
                "the inertia matrix would have {entries} entries; chains of bodies are too long"
            ),
        ));
        return false;
    }
    true
}

/// Numbers the kinematic trees: a new one starts at each dof without parent.
fn fill_trees(structure: &mut Structure, parents: &[Option<usize>]) {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (dof, parent) in parents.iter().enumerate() {
        match ranges.last_mut() {
            Some(range) if parent.is_some() => range.end = dof + 1,
            _ => ranges.push(dof..dof + 1),
        }
        structure.dofs.tree.push(ranges.len() - 1);
    }
    structure.counts.ntree = ranges.len();
    structure.tree_dofs = ranges;
    let bodies = &mut structure.bodies;
    for &weld in &bodies.weld {
        let first_dof = bodies.dofs[weld].clone().next();
        bodies
            .tree
            .push(first_dof.map(|dof| structure.dofs.tree[dof]));
    }
}

/// Fills the given numbers of bodies.
pub(super) fn numbers(source: Source<'_>, inertials: &Inertials, model: &mut Model) {
    for (id, (body, inertial)) in source.spec.bodies.iter().zip(&inertials.bodies).enumerate() {
        let numbers = &mut model.bodies;
        let written = &inertial.written;
        numbers.position[id] = inertial.pose.position;
        numbers.quat[id] = inertial.pose.quat;
        numbers.inertial_position[id] = written.pose.position;
        numbers.inertial_quat[id] = written.pose.quat;
        numbers.mass[id] = written.mass;
        numbers.inertia[id] = Vec3(written.inertia);
        numbers.gravcomp[id] = body.gravity_compensation;
    }
}
