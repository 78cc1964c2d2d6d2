//! Random mechanisms for property tests.

use std::ops::Range;
use std::sync::Arc;

use super::Random;
use crate::integrate;
use crate::linalg::{DofPattern, TreeSparsity};
use crate::math::{Quat, Vec3};
use crate::model::{
    Coincidence, Cone, Disable, Enable, Integrator, JacobianKind, JointKind, Model, Settings,
    SolverKind, SparsePattern, Structure,
};
use crate::state::{Input, State};

impl Random {
    pub(crate) fn vec3(&mut self) -> Vec3 {
        Vec3(self.numbers())
    }

    fn axis(&mut self) -> Vec3 {
        self.vec3().normalized().0
    }

    pub(crate) fn quat(&mut self) -> Quat {
        Quat(self.numbers()).normalized()
    }
}

/// Settings of an unconstrained mechanism under Euler integration.
pub(crate) fn settings() -> Settings {
    Settings {
        integrator: Integrator::Euler,
        cone: Cone::default(),
        jacobian: JacobianKind::default(),
        solver: SolverKind::default(),
        iterations: 100,
        ls_iterations: 50,
        noslip_iterations: 0,
        ccd_iterations: 50,
        disable: Disable::default(),
        enable: Enable::default(),
        disabled_actuator_groups: 0,
    }
}

/// The discrete side of a mechanism while it grows, body by body in depth-first order.
struct Growth {
    structure: Structure,
    dof_parent: Vec<Option<usize>>,
}

impl Growth {
    fn new() -> Self {
        let mut growth = Self {
            structure: Structure::default(),
            dof_parent: Vec::new(),
        };
        growth.structure.counts.one = 1;
        growth.push_body(0, &[]);
        growth
    }

    /// Adds a body with its joints.
    fn push_body(&mut self, parent: usize, joints: &[JointKind]) {
        let body = self.structure.counts.nbody;
        let first_joint = self.structure.counts.njoint;
        let first_dof = self.structure.counts.nv;
        let mut moving: Vec<usize> = if body == 0 {
            Vec::new()
        } else {
            self.structure.bodies.moving_dofs.columns(parent).to_vec()
        };
        let mut previous = moving.last().copied();
        for &kind in joints {
            let joint = self.structure.counts.njoint;
            let (coordinates, dofs) = match kind {
                JointKind::Free => (7, 6),
                JointKind::Ball => (4, 3),
                JointKind::Slide | JointKind::Hinge => (1, 1),
            };
            let table = &mut self.structure.joints;
            table.kind.push(kind);
            table.body.push(body);
            table.qpos.push(self.structure.counts.nq);
            table.dof.push(self.structure.counts.nv);
            table.limited.push(false);
            table.actuator_force_limited.push(false);
            table.actuator_gravcomp.push(false);
            for _ in 0..dofs {
                let dof = self.structure.counts.nv;
                self.dof_parent.push(previous);
                self.structure.dofs.body.push(body);
                self.structure.dofs.joint.push(joint);
                self.structure.dofs.parent.push(previous);
                moving.push(dof);
                previous = Some(dof);
                self.structure.counts.nv += 1;
            }
            self.structure.counts.nq += coordinates;
            self.structure.counts.njoint += 1;
        }
        let n = &mut self.structure.counts;
        n.nbody += 1;
        let static_body = moving.is_empty();
        let bodies = &mut self.structure.bodies;
        let tree = match (static_body, body) {
            (true, _) => None,
            (false, _) if bodies.tree[parent].is_some() => bodies.tree[parent],
            (false, _) => {
                n.ntree += 1;
                Some(n.ntree - 1)
            }
        };
        bodies.parent.push(parent);
        bodies.root.push(if parent == 0 {
            body
        } else {
            bodies.root[parent]
        });
        bodies.weld.push(if joints.is_empty() && body > 0 {
            bodies.weld[parent]
        } else {
            body
        });
        bodies.mocap.push(None);
        bodies.joints.push(first_joint..n.njoint);
        bodies.dofs.push(first_dof..n.nv);
        bodies.geoms.push(Range::default());
        bodies.tree.push(tree);
        bodies.moving_dofs.push_row(moving);
    }

    /// What follows from the finished tree.
    fn finish(mut self) -> Structure {
        let structure = &mut self.structure;
        let bodies = &mut structure.bodies;
        bodies.subtree_end = (1..=bodies.parent.len()).collect();
        for body in (1..bodies.parent.len()).rev() {
            let (parent, end) = (bodies.parent[body], bodies.subtree_end[body]);
            bodies.subtree_end[parent] = bodies.subtree_end[parent].max(end);
        }
        structure.dofs.tree = structure
            .dofs
            .body
            .iter()
            .map(|&body| bodies.tree[body].unwrap())
            .collect();
        for (dof, &tree) in structure.dofs.tree.iter().enumerate() {
            if tree == structure.tree_dofs.len() {
                structure.tree_dofs.push(dof..dof);
            }
            structure.tree_dofs[tree].end = dof + 1;
        }
        structure.inertia = TreeSparsity::new(self.dof_parent);
        structure.dof_pairs = DofPattern::new(&structure.inertia);
        structure.counts.ninertia = structure.inertia.entry_count();
        structure.counts.ndof_pair = structure.dof_pairs.entry_count();
        structure.tendons.jacobian = SparsePattern::default();
        structure.coincidences.bodies = vec![Coincidence::None; structure.counts.nbody];
        self.structure
    }
}

/// Joints of one body: of all kinds, several on a body, or none.
fn random_joints(random: &mut Random, parent: usize) -> Vec<JointKind> {
    let kinds = |random: &mut Random| match random.below(3) {
        0 => JointKind::Slide,
        _ => JointKind::Hinge,
    };
    match random.below(8) {
        0 | 1 if parent == 0 => vec![JointKind::Free],
        2 => vec![JointKind::Ball],
        // A hinge in place of the slide could turn about the ball's centre, and M would be singular.
        3 => vec![JointKind::Slide, JointKind::Ball],
        4 => (0..3).map(|_| kinds(random)).collect(),
        5 => vec![],
        _ => vec![kinds(random)],
    }
}

/// A random mechanism of `bodies` bodies: trees with all kinds of joints, static parts, off-centre frames.
pub(crate) fn random_model(seed: u64, bodies: usize) -> Model {
    let mut random = Random::new(seed);
    let mut growth = Growth::new();
    let mut last = 0;
    for body in 1..=bodies {
        // Depth-first order: a new body hangs on the last one or on one of its ancestors.
        let mut parent = last;
        while parent > 0 && random.below(4) == 0 {
            parent = growth.structure.bodies.parent[parent];
        }
        let joints = random_joints(&mut random, parent);
        growth.push_body(parent, &joints);
        last = body;
    }
    let mut model = Model::zeros(Arc::new(growth.finish()), settings());
    fill_numbers(&mut random, &mut model);
    model
}

/// Numbers of a mechanism without damping, springs and actuators.
fn fill_numbers(random: &mut Random, model: &mut Model) {
    let structure = Arc::clone(&model.structure);
    model.option.timestep[0] = 0.002;
    model.option.gravity[0] = Vec3([0.3, -0.2, -9.81]);
    model.option.impratio[0] = 1.0;
    for body in 0..structure.counts.nbody {
        model.bodies.quat[body] = Quat::identity();
        model.bodies.inertial_quat[body] = Quat::identity();
        if body == 0 {
            continue;
        }
        let numbers = &mut model.bodies;
        numbers.position[body] = random.vec3() * 0.5;
        numbers.inertial_position[body] = random.vec3() * 0.2;
        // Some identity frames, to meet the shortcuts.
        if random.below(3) > 0 {
            numbers.quat[body] = random.quat();
            numbers.inertial_quat[body] = random.quat();
        }
        numbers.mass[body] = random.between(0.2, 2.0);
        let sides = Vec3([0.0; 3].map(|_: f64| random.between(0.1, 0.5)));
        let squares = sides.component_mul(sides) * (numbers.mass[body] / 3.0);
        numbers.inertia[body] = Vec3([
            squares[1] + squares[2],
            squares[0] + squares[2],
            squares[0] + squares[1],
        ]);
    }
    for body in (0..structure.counts.nbody).rev() {
        let numbers = &mut model.bodies;
        numbers.subtree_mass[body] += numbers.mass[body];
        if body > 0 {
            let parent = structure.bodies.parent[body];
            numbers.subtree_mass[parent] += numbers.subtree_mass[body];
        }
    }
    for joint in 0..structure.counts.njoint {
        let centered = structure.joints.kind[joint] == JointKind::Free || random.below(3) == 0;
        if !centered {
            model.joints.position[joint] = random.vec3() * 0.2;
        }
        model.joints.axis[joint] = match structure.joints.kind[joint] {
            JointKind::Free | JointKind::Ball => Vec3::Z,
            JointKind::Slide | JointKind::Hinge => random.axis(),
        };
        let address = structure.joints.qpos[joint];
        match structure.joints.kind[joint] {
            JointKind::Free => model.qpos.reference[address + 3] = 1.0,
            JointKind::Ball => model.qpos.reference[address] = 1.0,
            JointKind::Slide | JointKind::Hinge => model.qpos.reference[address] = random.next(),
        }
    }
    model.qpos.spring = model.qpos.reference.clone();
    for dof in 0..structure.counts.nv {
        if random.below(2) == 0 {
            model.dofs.armature[dof] = random.between(0.0, 0.3);
        }
    }
}

/// A random state in motion.
pub(crate) fn random_state(seed: u64, model: &Model) -> State {
    let mut random = Random::new(seed ^ 0x5EED);
    let mut state = State::reference(model);
    let displacement = random.vector(model.counts().nv);
    integrate::integrate_positions(model, &mut state.qpos, &displacement, 1.5);
    state.qvel = random.vector(model.counts().nv);
    state
}

/// Random applied forces.
pub(crate) fn random_input(seed: u64, model: &Model) -> Input {
    let mut random = Random::new(seed ^ 0xF0CE);
    let mut input = Input::zeros(model);
    input.force = random.vector(model.counts().nv);
    for wrench in &mut input.body_force {
        *wrench = crate::math::Spatial::new(random.vec3(), random.vec3());
    }
    input
}

/// Fails unless the numbers agree within `tolerance` of the greatest of them (or of 1).
#[track_caller]
pub(crate) fn assert_close(name: &str, actual: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), expected.len(), "{name}: lengths");
    let scale = expected.iter().fold(1.0_f64, |scale, x| scale.max(x.abs()));
    for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
        let error = (a - e).abs() / scale;
        assert!(
            error <= tolerance,
            "{name}[{index}]: {a} instead of {e}, relative error {error:e}"
        );
    }
}
