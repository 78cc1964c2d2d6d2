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
use super::pair::{self, Directions};
use super::{Block, BlockKind, Constraint, Reference, Row};
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
struct Anchor<T: Scalar> {
    body: usize,
    point: Vec3<T>,
    /// Orientation that a weld aligns.
    quat: Quat<T>,
}

impl<T: Scalar> Anchor<T> {
    /// Acceleration of the point and of the body's rotation at zero joint acceleration.
    fn bias_acceleration(&self, context: &Context<T>) -> (Vec3<T>, Vec3<T>) {
        let (kinematics, velocity) = (context.sources.kinematics, context.sources.velocity);
        let offset = jacobian::offset(context.model, kinematics, self.body, self.point);
        let mut acceleration = Spatial::ZERO;
        for &dof in jacobian::moving_dofs(context.model, self.body) {
            acceleration += velocity.dof_axis_dot[dof] * context.state.qvel[dof];
        }
        let motion = velocity.body[self.body];
        let point_velocity = jacobian::point_velocity(motion, offset);
        let linear =
            jacobian::point_velocity(acceleration, offset) + motion.angular().cross(point_velocity);
        (linear, acceleration.angular())
    }
}

/// Both ends of a connect or weld constraint.
fn anchors<T: Scalar>(
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
    let to_error = |rate: Quat<T>| error_rate([&first, &second], torque_scale, rate);
    let turns = turn_rows([&first, &second], torque_scale);
    let directions = Directions {
        linear: &[Vec3::X, Vec3::Y, Vec3::Z],
        angular: if weld { &turns } else { &[] },
    };
    let row_count = if weld { 6 } else { 3 };
    let block = out.open(BlockKind::Equality, equality, columns.range(), row_count);
    let values = &mut out.jacobian[block.values()];
    for (side, (anchor, sign)) in [(first, 1.0), (second, -1.0)].into_iter().enumerate() {
        let motion = (anchor.body, anchor.point, sign);
        let model = context.model;
        pair::add_side(
            model,
            kinematics,
            (&columns, side),
            motion,
            directions,
            values,
        );
    }
    if context.is_empty(&block, out) {
        out.discard_last_block();
        return;
    }
    let (bias, bias_turn) = bias_accelerations(context, &first, &second);
    let position = first.point - second.point;
    let (_, turn) = second.quat.conjugate().mul(first.quat).parts();
    let turn = turn * torque_scale;
    let (bias_turn, mut violation) = (to_error(bias_turn), position.norm_squared());
    if weld {
        violation += turn.norm_squared();
    }
    let lines = [0, 1, 2].map(|k| Line {
        position: position[k],
        bias: bias[k],
        weight: 0,
    });
    let turns = [0, 1, 2].map(|k| Line {
        position: turn[k],
        bias: bias_turn[k],
        weight: 1,
    });
    let lines = lines.iter().chain(&turns).take(row_count);
    push_rows(context, &block, (bodies, violation.sqrt()), lines, out);
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

/// A row of a connect or weld: its error, J̇·v, and which inverse weight of the bodies it uses.
struct Line<T: Scalar> {
    position: T,
    bias: T,
    weight: usize,
}

fn push_rows<'a, T: Scalar>(
    context: &Context<T>,
    block: &Block,
    (bodies, violation): ([usize; 2], T),
    lines: impl Iterator<Item = &'a Line<T>>,
    out: &mut Constraint<T>,
) {
    let reference = reference(context, block.object);
    let impedance = reference.at(violation);
    let weights = bodies.map(|body| context.model.bodies.inverse_weight[body]);
    for (row, line) in lines.enumerate() {
        let approximate = weights[0][line.weight] + weights[1][line.weight];
        let diagonal = context.diagonal(approximate, block, row, out);
        let velocity = context.velocity(block, row, out);
        let mut row = Row::new([line.position, T::ZERO], velocity, diagonal, impedance);
        row.reference_acceleration -= line.bias;
        out.rows.push(row);
    }
}

/// J̇·v of the anchors and, before the map of (1), of the orientations. (3)
fn bias_accelerations<T: Scalar>(
    context: &Context<T>,
    first: &Anchor<T>,
    second: &Anchor<T>,
) -> (Vec3<T>, Quat<T>) {
    let (linear1, angular1) = first.bias_acceleration(context);
    let (linear2, angular2) = second.bias_acceleration(context);
    let [omega1, omega2] =
        [first, second].map(|anchor| context.sources.velocity.body[anchor.body].angular());
    let pure = |vector: Vec3<T>| Quat::from_parts(T::ZERO, vector);
    let relative = pure(omega1 - omega2);
    let turn = pure(angular1 - angular2)
        + (relative.mul(pure(omega1)) - pure(omega2).mul(relative)).scale(0.5);
    (linear1 - linear2, turn)
}

fn reference<T: Scalar>(context: &Context<T>, equality: usize) -> Reference<T> {
    let numbers = &context.model.equalities;
    Reference::new(
        context.model,
        numbers.solref[equality],
        numbers.solimp[equality],
    )
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
    let diagonal = context.diagonal(weight, block, 0, out);
    let velocity = context.velocity(block, 0, out);
    let impedance = reference(context, block.object).at(position);
    out.rows
        .push(Row::new([position, T::ZERO], velocity, diagonal, impedance));
}
