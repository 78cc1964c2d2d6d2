//! Equality constraints: points and frames that coincide, joints and tendons that follow a polynomial.
//!
//! With x₁, x₂ the anchors, q₁, q₂ the orientations (the first times the relative pose), s the torque scale:
//!
//!   connect: r = x₁ − x₂;   weld: also r = s·vec(q₂* ⊗ q₁),  ṙ = ½·s·vec(q₂* ⊗ (ω₁ − ω₂) ⊗ q₁)     (1)
//!   joint, tendon: r = y − y₀ − c₀ − Σ cᵢ·(x − x₀)ⁱ                                               (2)
//!
//! The terms J̇·v of (1) are accelerations of the anchors and orientations at zero joint acceleration:
//!
//!   connect: ẍ₁ − ẍ₂;   weld: ½·s·vec(q₂* ⊗ (ω̇₁ − ω̇₂ + ½·(ω₁ − ω₂) ⊗ ω₁ − ½·ω₂ ⊗ (ω₁ − ω₂)) ⊗ q₁)   (3)

use super::forward::Context;
use super::pair::{self, Directions, Side};
use super::{Block, BlockKind, Constraint, Row};
use crate::jacobian;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{EqualityKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Appends the equality constraints that are active.
pub(super) fn push<T: Scalar>(context: &Context<T>, active: &[bool], out: &mut Constraint<T>) {
    let equalities = &context.model.structure.equalities;
    for (equality, &kind) in equalities.kind.iter().enumerate() {
        if !active[equality] {
            continue;
        }
        match kind {
            EqualityKind::Connect | EqualityKind::Weld => push_bodies(context, equality, out),
            EqualityKind::Joint => push_joints(context, equality, out),
            EqualityKind::Tendon => push_tendons(context, equality, out),
        }
    }
}

/// One end of a connect or weld constraint.
#[derive(Clone, Copy)]
pub(crate) struct Anchor<T: Scalar> {
    pub(crate) body: usize,
    pub(crate) point: Vec3<T>,
    /// Orientation that a weld aligns.
    pub(crate) quat: Quat<T>,
}

/// An end and how it moves.
#[derive(Clone, Copy)]
pub(crate) struct End<T: Scalar> {
    pub(crate) anchor: Anchor<T>,
    /// Centre of mass of the body's tree, about which the motions are given.
    pub(crate) center: Vec3<T>,
    /// Velocity of the body.
    pub(crate) motion: Spatial<T>,
    /// Acceleration of the body at zero joint acceleration.
    pub(crate) acceleration: Spatial<T>,
}

impl<T: Scalar> End<T> {
    fn new(context: &Context<T>, anchor: Anchor<T>) -> Self {
        let (kinematics, velocity) = (context.sources.kinematics, context.sources.velocity);
        let mut acceleration = Spatial::ZERO;
        for &dof in jacobian::moving_dofs(context.model, anchor.body) {
            acceleration += velocity.dof_axis_dot[dof] * context.state.qvel[dof];
        }
        Self {
            anchor,
            center: kinematics.subtree_com[context.model.structure.bodies.root[anchor.body]],
            motion: velocity.body[anchor.body],
            acceleration,
        }
    }

    /// Acceleration of the point at zero joint acceleration.
    fn point_acceleration(&self) -> Vec3<T> {
        let offset = self.anchor.point - self.center;
        let point_velocity = jacobian::point_velocity(self.motion, offset);
        jacobian::point_velocity(self.acceleration, offset)
            + self.motion.angular().cross(point_velocity)
    }
}

/// Both ends of a connect or weld constraint.
pub(crate) fn anchors<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    equality: usize,
) -> Option<[Anchor<T>; 2]> {
    let equalities = &model.structure.equalities;
    let objects = [equalities.object1[equality], equalities.object2[equality]?];
    if equalities.between_sites[equality] {
        return Some(objects.map(|site| {
            let body = model.structure.sites.body[site];
            Anchor {
                body,
                point: kinematics.site_position[site],
                quat: kinematics.body_quat[body].mul(model.sites.quat[site]),
            }
        }));
    }
    let data = &model.equalities.data[equality];
    let vector = |start: usize| Vec3([data[start], data[start + 1], data[start + 2]]);
    let (points, relative) = match equalities.kind[equality] {
        EqualityKind::Weld => (
            [vector(3), vector(0)],
            Quat([data[6], data[7], data[8], data[9]]),
        ),
        _ => ([vector(0), vector(3)], Quat::identity()),
    };
    let quats = [
        kinematics.body_quat[objects[0]].mul(relative),
        kinematics.body_quat[objects[1]],
    ];
    Some(std::array::from_fn(|end| {
        let body = objects[end];
        let rotation = &kinematics.body_rotation[body];
        Anchor {
            body,
            point: rotation.mul_vec(points[end]) + kinematics.body_position[body],
            quat: quats[end],
        }
    }))
}

/// Connect and weld.
fn push_bodies<T: Scalar>(context: &Context<T>, equality: usize, out: &mut Constraint<T>) {
    let kinematics = context.sources.kinematics;
    let Some([first, second]) = anchors(context.model, kinematics, equality) else {
        return;
    };
    let bodies = [first.body, second.body];
    let columns = pair::push_columns(context.model, bodies, true, out);
    if columns.is_empty() {
        return;
    }
    let weld = context.model.structure.equalities.kind[equality] == EqualityKind::Weld;
    let torque_scale = context.model.equalities.data[equality][10];
    let ends = [first, second].map(|anchor| End::new(context, anchor));
    let errors = Errors::new(&ends, torque_scale, weld);
    let directions = Directions {
        linear: &[Vec3::X, Vec3::Y, Vec3::Z],
        angular: if weld { &errors.turn_rows } else { &[] },
    };
    let row_count = if weld { 6 } else { 3 };
    let block = out.open(BlockKind::Equality, equality, columns.range(), row_count);
    let values = &mut out.jacobian[block.values()];
    for (side, (anchor, sign)) in [(first, 1.0), (second, -1.0)].into_iter().enumerate() {
        let side = Side {
            index: side,
            body: anchor.body,
            point: anchor.point,
            sign,
        };
        pair::add_side(
            context.model,
            kinematics,
            &columns,
            side,
            directions,
            values,
        );
    }
    if context.is_empty(&block, out) {
        out.discard_last_block();
        return;
    }
    push_rows(context, &block, bodies, &errors, out);
}

/// What the rows of a connect or weld express.
#[derive(Clone, Copy)]
pub(crate) struct Errors<T: Scalar> {
    /// Errors of place and, scaled, of orientation. (1)
    pub(crate) error: [Vec3<T>; 2],
    /// J̇·v of both. (3)
    pub(crate) bias: [Vec3<T>; 2],
    /// Rows of the map from relative angular velocity to the rate of the orientation error.
    pub(crate) turn_rows: [Vec3<T>; 3],
    /// Length of all errors together.
    pub(crate) violation: T,
}

impl<T: Scalar> Errors<T> {
    pub(crate) fn new(ends: &[End<T>; 2], torque_scale: T, weld: bool) -> Self {
        let [first, second] = ends;
        let place = first.anchor.point - second.anchor.point;
        let mut errors = Self {
            error: [place, Vec3::ZERO],
            bias: [
                first.point_acceleration() - second.point_acceleration(),
                Vec3::ZERO,
            ],
            turn_rows: [Vec3::ZERO; 3],
            violation: place.norm_squared(),
        };
        if weld {
            let anchors = [&first.anchor, &second.anchor];
            let (_, turn) = (second.anchor.quat.conjugate())
                .mul(first.anchor.quat)
                .parts();
            errors.error[1] = turn * torque_scale;
            errors.bias[1] = error_rate(anchors, torque_scale, turn_bias(first, second));
            errors.turn_rows = turn_rows(anchors, torque_scale);
            errors.violation += errors.error[1].norm_squared();
        }
        errors.violation = errors.violation.sqrt();
        errors
    }
}

/// Rate of the orientation error under a rate of the relative orientation. (1)
fn error_rate<T: Scalar>(
    [first, second]: [&Anchor<T>; 2],
    torque_scale: T,
    rate: Quat<T>,
) -> Vec3<T> {
    let (_, error) = second.quat.conjugate().mul(rate).mul(first.quat).parts();
    error * (torque_scale * 0.5)
}

/// Rows of the map from relative angular velocity to the rate of the orientation error. (1)
fn turn_rows<T: Scalar>(anchors: [&Anchor<T>; 2], torque_scale: T) -> [Vec3<T>; 3] {
    let column = |axis: Vec3<T>| error_rate(anchors, torque_scale, Quat::from_parts(T::ZERO, axis));
    let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(column);
    [0, 1, 2].map(|row| Vec3([x[row], y[row], z[row]]))
}

/// A torque and force on a body at a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointWrench<T: Scalar> {
    pub(crate) body: usize,
    pub(crate) point: Vec3<T>,
    /// Torque, then force.
    pub(crate) wrench: Spatial<T>,
}

/// What a connect or weld constraint does to its two bodies, from the forces of its rows.
pub(crate) fn wrenches<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    equality: usize,
    forces: &[T],
) -> Option<[PointWrench<T>; 2]> {
    let [first, second] = anchors(model, kinematics, equality)?;
    let (linear, angular) = forces.split_at_checked(3)?;
    let force = Vec3([linear[0], linear[1], linear[2]]);
    let torque_scale = model.equalities.data[equality][10];
    let mut torque = Vec3::ZERO;
    for (row, &force) in turn_rows([&first, &second], torque_scale)
        .into_iter()
        .zip(angular)
    {
        torque += row * force;
    }
    let wrench = Spatial::new(torque, force);
    let on = |anchor: Anchor<T>, wrench| PointWrench {
        body: anchor.body,
        point: anchor.point,
        wrench,
    };
    Some([on(first, wrench), on(second, -wrench)])
}

fn push_rows<T: Scalar>(
    context: &Context<T>,
    block: &Block,
    bodies: [usize; 2],
    errors: &Errors<T>,
    out: &mut Constraint<T>,
) {
    let impedance = context.spring(block).at(errors.violation);
    let weights = bodies.map(|body| context.model.bodies.inverse_weight[body]);
    for row in 0..block.row_count {
        let (part, axis) = (row / 3, row % 3);
        let approximate = weights[0][part] + weights[1][part];
        let diagonal = context.diagonal(approximate, block, row, out);
        let velocity = context.velocity(block, row, out);
        let position = [errors.error[part][axis], T::ZERO];
        let mut row = Row::new(position, velocity, diagonal, impedance);
        row.reference_acceleration -= errors.bias[part][axis];
        out.rows.push(row);
    }
}

/// Acceleration of the relative orientation at zero joint acceleration, before the map of (1). (3)
fn turn_bias<T: Scalar>(first: &End<T>, second: &End<T>) -> Quat<T> {
    let [omega1, omega2] = [first, second].map(|end| end.motion.angular());
    let pure = |vector: Vec3<T>| Quat::from_parts(T::ZERO, vector);
    let relative = pure(omega1 - omega2);
    pure(first.acceleration.angular() - second.acceleration.angular())
        + (relative.mul(pure(omega1)) - pure(omega2).mul(relative)).scale(0.5)
}

/// Value of (2) and its derivative by x.
pub(crate) fn polynomial<T: Scalar>(data: &[T; 12], y: T, x: Option<T>) -> (T, T) {
    let Some(x) = x else {
        return (y - data[0], T::ZERO);
    };
    let [_, c1, c2, c3, c4, ..] = *data;
    let value = x * (c1 + x * (c2 + x * (c3 + x * c4)));
    let slope = c1 + x * (c2 * 2.0 + x * (c3 * 3.0 + x * c4 * 4.0));
    (y - data[0] - value, slope)
}

/// A joint that follows another.
fn push_joints<T: Scalar>(context: &Context<T>, equality: usize, out: &mut Constraint<T>) {
    let (model, structure) = (context.model, &context.model.structure);
    let (joints, equalities) = (&structure.joints, &structure.equalities);
    let displacement = |joint: usize| {
        let position = joints.qpos[joint];
        context.state.qpos[position] - model.qpos.reference[position]
    };
    let (joint1, joint2) = (equalities.object1[equality], equalities.object2[equality]);
    let data = &model.equalities.data[equality];
    let (position, slope) = polynomial(data, displacement(joint1), joint2.map(displacement));
    let dof1 = joints.dof[joint1];
    let mut weight = model.dofs.inverse_weight[dof1];
    let start = out.columns.len();
    let mut values = [T::ONE, -slope];
    match joint2.map(|joint| joints.dof[joint]) {
        None => out.columns.push(dof1),
        Some(dof2) => {
            weight += model.dofs.inverse_weight[dof2];
            if dof2 == dof1 {
                out.columns.push(dof1);
                values[0] = T::ONE - slope;
            } else {
                out.columns.extend([dof1.min(dof2), dof1.max(dof2)]);
                if dof2 < dof1 {
                    values.swap(0, 1);
                }
            }
        }
    }
    let columns = start..out.columns.len();
    let block = out.open(BlockKind::Equality, equality, columns, 1);
    out.jacobian[block.values()].copy_from_slice(&values[..block.column_count]);
    push_scalar(context, &block, position, weight, out);
}

/// A tendon that follows another.
fn push_tendons<T: Scalar>(context: &Context<T>, equality: usize, out: &mut Constraint<T>) {
    let (model, tendon) = (context.model, context.sources.tendon);
    let equalities = &model.structure.equalities;
    let displacement = |index: usize| tendon.length[index] - model.tendons.length_reference[index];
    let (first, second) = (equalities.object1[equality], equalities.object2[equality]);
    let data = &model.equalities.data[equality];
    let (position, slope) = polynomial(data, displacement(first), second.map(displacement));
    let pattern = &model.structure.tendons.jacobian;
    let start = out.columns.len();
    let mut weight = model.tendons.inverse_weight[first];
    let columns2 = second.map_or(&[][..], |second| pattern.columns(second));
    merge(pattern.columns(first), columns2, &mut out.columns);
    let columns = start..out.columns.len();
    let block = out.open(BlockKind::Equality, equality, columns, 1);
    let terms = [(Some(first), T::ONE), (second, -slope)];
    for (index, factor) in terms {
        let Some(index) = index else { continue };
        let source = &tendon.jacobian[pattern.row(index)];
        let columns = &out.columns[block.columns()];
        let values = &mut out.jacobian[block.values()];
        for (&dof, &entry) in pattern.columns(index).iter().zip(source) {
            if let Ok(place) = columns.binary_search(&dof) {
                values[place] += entry * factor;
            }
        }
    }
    if let Some(second) = second {
        weight += model.tendons.inverse_weight[second];
    }
    push_scalar(context, &block, position, weight, out);
}

/// Appends the union of two increasing lists.
fn merge(first: &[usize], second: &[usize], union: &mut Vec<usize>) {
    let (mut i, mut j) = (0, 0);
    while i < first.len() || j < second.len() {
        let next = match (first.get(i), second.get(j)) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&a), None) => a,
            (None, Some(&b)) => b,
            (None, None) => return,
        };
        i += usize::from(first.get(i) == Some(&next));
        j += usize::from(second.get(j) == Some(&next));
        union.push(next);
    }
}

/// Completes a block of a single row.
fn push_scalar<T: Scalar>(
    context: &Context<T>,
    block: &Block,
    position: T,
    weight: T,
    out: &mut Constraint<T>,
) {
    if context.is_empty(block, out) {
        out.discard_last_block();
        return;
    }
    context.push_single(block, weight, [position, T::ZERO], out);
}
