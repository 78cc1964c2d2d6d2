//! The adjoint of equality constraints.
//!
//! Errors and biases of connect and weld are a function of how their two ends are placed and move; its Jacobian comes
//! from dual numbers, one end at a time. The polynomials of joints and tendons are differentiated by hand.

use super::Block;
use super::backward::{ImpedanceBar, Pass};
use super::equality::{Anchor, End, Errors, anchors, polynomial};
use super::pair::{self, Directions, Side, SideBar};
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{EqualityKind, Model};
use crate::stages::kinematics::Kinematics;
use crate::stages::sensing::Sensed;

/// The adjoint of one equality.
pub(super) fn block(pass: &mut Pass<'_>, block: &Block) {
    match pass.model.structure.equalities.kind[block.object] {
        EqualityKind::Connect | EqualityKind::Weld => bodies(pass, block),
        EqualityKind::Joint => joints(pass, block),
        EqualityKind::Tendon => tendons(pass, block),
    }
}

/// The twin of [`polynomial`] and its slope: adds to the coefficients, returns the cotangents of y and x.
pub(crate) fn polynomial_vjp(
    data: &[f64; 12],
    x: Option<f64>,
    (position_bar, slope_bar): (f64, f64),
    data_bar: &mut [f64; 12],
) -> (f64, f64) {
    data_bar[0] -= position_bar;
    let Some(x) = x else {
        return (position_bar, 0.0);
    };
    let (_, slope) = polynomial(data, 0.0, Some(x));
    let (mut power, mut power_before) = (x, 1.0);
    for (degree, bar) in (1..).zip(&mut data_bar[1..5]) {
        *bar += slope_bar * f64::from(degree) * power_before - position_bar * power;
        (power, power_before) = (power * x, power);
    }
    let bend = 2.0 * data[2] + x * (6.0 * data[3] + x * 12.0 * data[4]);
    (position_bar, slope_bar * bend - position_bar * slope)
}

fn joints(pass: &mut Pass<'_>, block: &Block) {
    let [position_bar, _] = pass.single(block);
    let (model, equality) = (pass.model, block.object);
    let (joints, equalities) = (&model.structure.joints, &model.structure.equalities);
    let (first, second) = (equalities.object1[equality], equalities.object2[equality]);
    let slope_bar = second.map_or(0.0, |joint| {
        let columns = pass.constraint.block_columns(block);
        let place = columns.iter().position(|&dof| dof == joints.dof[joint]);
        place.map_or(0.0, |place| -pass.bar.jacobian[block.value + place])
    });
    let x = second.map(|joint| {
        let address = joints.qpos[joint];
        pass.state.qpos[address] - model.qpos.reference[address]
    });
    let (y_bar, x_bar) = polynomial_vjp(
        &model.equalities.data[equality],
        x,
        (position_bar, slope_bar),
        &mut pass.bars.model.equalities.data[equality],
    );
    for (joint, bar) in [(Some(first), y_bar), (second, x_bar)] {
        let Some(joint) = joint else { continue };
        pass.bars.state.qpos[joints.dof[joint]] += bar;
        pass.bars.model.qpos.reference[joints.qpos[joint]] -= bar;
    }
}

fn tendons(pass: &mut Pass<'_>, block: &Block) {
    let [position_bar, _] = pass.single(block);
    let (model, equality) = (pass.model, block.object);
    let equalities = &model.structure.equalities;
    let (first, second) = (equalities.object1[equality], equalities.object2[equality]);
    let length = &pass.sources.tendon.length;
    let displacement = |tendon: usize| length[tendon] - model.tendons.length_reference[tendon];
    let x = second.map(displacement);
    let data = &model.equalities.data[equality];
    let (_, slope) = polynomial(data, 0.0, x);
    let (columns, pattern) = (
        pass.constraint.block_columns(block),
        &model.structure.tendons.jacobian,
    );
    let entries = &pass.bar.jacobian[block.values()];
    let mut slope_bar = 0.0;
    for (tendon, factor, follows) in [(Some(first), 1.0, false), (second, -slope, true)] {
        let Some(tendon) = tendon else { continue };
        for index in pattern.row(tendon) {
            let Ok(place) = columns.binary_search(&pattern.columns[index]) else {
                continue;
            };
            pass.bars.data.tendon.jacobian[index] += entries[place] * factor;
            if follows {
                slope_bar -= entries[place] * pass.sources.tendon.jacobian[index];
            }
        }
    }
    let (y_bar, x_bar) = polynomial_vjp(
        data,
        x,
        (position_bar, slope_bar),
        &mut pass.bars.model.equalities.data[equality],
    );
    for (tendon, bar) in [(Some(first), y_bar), (second, x_bar)] {
        let Some(tendon) = tendon else { continue };
        pass.bars.data.tendon.length[tendon] += bar;
        pass.bars.model.tendons.length_reference[tendon] -= bar;
    }
}

/// Cotangents of [`Errors`].
#[derive(Default)]
struct ErrorsBar {
    error: [Vec3; 2],
    bias: [Vec3; 2],
    turn_rows: [Vec3; 3],
    violation: f64,
}

/// Connect and weld.
fn bodies(pass: &mut Pass<'_>, block: &Block) {
    let (model, kinematics) = (pass.model, pass.sources.kinematics);
    let Some(anchors) = anchors(model, kinematics, block.object) else {
        return;
    };
    let torque_scale = model.equalities.data[block.object][10];
    let weld = block.row_count == 6;
    let ends = anchors.map(|anchor| end(pass, anchor));
    let errors = Errors::new(&ends, torque_scale, weld);
    let mut bar = ErrorsBar::default();
    rows(
        pass,
        block,
        anchors.map(|anchor| anchor.body),
        errors.violation,
        &mut bar,
    );

    let columns = pair::layout(model, anchors.map(|anchor| anchor.body), true, block.column);
    let directions = Directions {
        linear: &[Vec3::X, Vec3::Y, Vec3::Z],
        angular: if weld { &errors.turn_rows } else { &[] },
    };
    let mut point_bar = [Vec3::ZERO; 2];
    for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
        let mut side_bar = SideBar::default();
        let anchored = Side {
            index: side,
            body: anchors[side].body,
            point: anchors[side].point,
            sign,
        };
        pass.side(block, &columns, anchored, directions, &mut side_bar);
        point_bar[side] = side_bar.point;
        for (total, term) in bar.turn_rows.iter_mut().zip(side_bar.angular) {
            *total += term;
        }
    }
    for side in 0..2 {
        let mut numbers = end_backward(&ends, side, (torque_scale, weld), &bar);
        for k in 0..3 {
            numbers[POINT + k] += point_bar[side][k];
        }
        spread(pass, block.object, side, &ends[side], &numbers);
        // Both ends see the same scale.
        if side == 0 {
            pass.bars.model.equalities.data[block.object][10] += numbers[SCALE];
        }
    }
}

fn end(pass: &Pass<'_>, anchor: Anchor<f64>) -> End<f64> {
    let (kinematics, velocity) = (pass.sources.kinematics, pass.sources.velocity);
    let mut acceleration = Spatial::ZERO;
    for &dof in jacobian::moving_dofs(pass.model, anchor.body) {
        acceleration = acceleration.scale_add(velocity.dof_axis_dot[dof], pass.state.qvel[dof]);
    }
    End {
        anchor,
        center: kinematics.subtree_com[pass.model.structure.bodies.root[anchor.body]],
        motion: velocity.body[anchor.body],
        acceleration,
    }
}

/// From the rows to errors and biases.
fn rows(
    pass: &mut Pass<'_>,
    block: &Block,
    bodies: [usize; 2],
    violation: f64,
    bar: &mut ErrorsBar,
) {
    let mut impedance_bar = ImpedanceBar::default();
    for row in 0..block.row_count {
        let (part, axis) = (row / 3, row % 3);
        let reference_bar = pass.bar.rows[block.row + row].reference_acceleration;
        let inputs = pass.plain_row(block.row + row);
        impedance_bar.add(inputs.impedance);
        if !pass.exact_diagonal(block, &[(row, 1.0)], inputs.diagonal) {
            for body in bodies {
                pass.bars.model.bodies.inverse_weight[body][part] += inputs.diagonal;
            }
        }
        pass.velocity(block, row, inputs.velocity);
        bar.error[part][axis] += inputs.position;
        bar.bias[part][axis] -= reference_bar;
    }
    bar.violation = pass.spring(block, (violation, None), impedance_bar);
}

/// Places of an end's numbers among the directions of the duals.
const POINT: usize = 0;
const CENTER: usize = 3;
const QUAT: usize = 6;
const MOTION: usize = 10;
const ACCELERATION: usize = 16;
const SCALE: usize = 22;
const NUMBERS: usize = 23;

/// The cotangents of one end's numbers and of the torque scale.
fn end_backward(
    ends: &[End<f64>; 2],
    side: usize,
    (torque_scale, weld): (f64, bool),
    bar: &ErrorsBar,
) -> [f64; NUMBERS] {
    type Number = Dual<NUMBERS>;
    let moving = |place: usize, index: usize, value: f64| {
        if index == side {
            Number::variable(value, place)
        } else {
            Number::constant(value)
        }
    };
    let duals = [0, 1].map(|index| {
        let end = &ends[index];
        End {
            anchor: Anchor {
                body: end.anchor.body,
                point: Vec3(std::array::from_fn(|k| {
                    moving(POINT + k, index, end.anchor.point[k])
                })),
                quat: Quat(std::array::from_fn(|k| {
                    moving(QUAT + k, index, end.anchor.quat[k])
                })),
            },
            center: Vec3(std::array::from_fn(|k| {
                moving(CENTER + k, index, end.center[k])
            })),
            motion: Spatial(std::array::from_fn(|k| {
                moving(MOTION + k, index, end.motion[k])
            })),
            acceleration: Spatial(std::array::from_fn(|k| {
                moving(ACCELERATION + k, index, end.acceleration[k])
            })),
        }
    });
    let errors = Errors::new(&duals, Number::variable(torque_scale, SCALE), weld);
    let mut sum = [0.0; NUMBERS];
    let mut pull = |number: Number, bar: f64| {
        if bar != 0.0 {
            for (sum, tangent) in sum.iter_mut().zip(number.tangent) {
                *sum += tangent * bar;
            }
        }
    };
    for k in 0..3 {
        for part in 0..2 {
            pull(errors.error[part][k], bar.error[part][k]);
            pull(errors.bias[part][k], bar.bias[part][k]);
        }
        for row in 0..3 {
            pull(errors.turn_rows[row][k], bar.turn_rows[row][k]);
        }
    }
    pull(errors.violation, bar.violation);
    sum
}

/// Hands an end's cotangents on to the stages and to the model.
fn spread(pass: &mut Pass<'_>, equality: usize, side: usize, end: &End<f64>, bar: &[f64; NUMBERS]) {
    let vector = |place: usize| Vec3(std::array::from_fn(|k| bar[place + k]));
    let spatial = |place: usize| Spatial(std::array::from_fn(|k| bar[place + k]));
    let (model, body) = (pass.model, end.anchor.body);
    let (kinematics, velocity) = (pass.sources.kinematics, pass.sources.velocity);
    let bars = &mut *pass.bars;
    bars.data.kinematics.subtree_com[model.structure.bodies.root[body]] += vector(CENTER);
    bars.data.velocity.body[body] += spatial(MOTION);
    let acceleration_bar = spatial(ACCELERATION);
    for &dof in jacobian::moving_dofs(model, body) {
        let rate_bar = &mut bars.data.velocity.dof_axis_dot[dof];
        *rate_bar = rate_bar.scale_add(acceleration_bar, pass.state.qvel[dof]);
        bars.state.qvel[dof] += velocity.dof_axis_dot[dof].dot(acceleration_bar);
    }
    let quat_bar = Quat(std::array::from_fn(|k| bar[QUAT + k]));
    let anchor_bar = AnchorBar {
        equality,
        side,
        body,
        point: vector(POINT),
        quat: quat_bar,
    };
    anchor_bar.spread(model, kinematics, bars);
}

/// Cotangents of the point and orientation of one side of an equality.
struct AnchorBar {
    equality: usize,
    side: usize,
    body: usize,
    point: Vec3,
    quat: Quat,
}

impl AnchorBar {
    /// Hands them on.
    fn spread(self, model: &Model, kinematics: &Kinematics, bars: &mut Cotangents) {
        let Self {
            equality,
            side,
            body,
            point: point_bar,
            quat: quat_bar,
        } = self;
        let (kinematics_bar, model_bar) = (&mut bars.data.kinematics, &mut bars.model);
        let body_quat = kinematics.body_quat[body];
        let body_quat_bar = &mut kinematics_bar.body_quat[body];
        let equalities = &model.structure.equalities;
        if equalities.between_sites[equality] {
            let site = if side == 0 {
                equalities.object1[equality]
            } else {
                equalities.object2[equality].unwrap_or_default()
            };
            kinematics_bar.site_position[site] += point_bar;
            let (own, mut own_bar) = (model.sites.quat[site], Quat::default());
            body_quat.mul_vjp(own, quat_bar, body_quat_bar, &mut own_bar);
            model_bar.sites.quat[site] += own_bar.scale_add(own, -own.dot(own_bar));
            return;
        }
        let weld = equalities.kind[equality] == EqualityKind::Weld;
        let data = &model.equalities.data[equality];
        let data_bar = &mut model_bar.equalities.data[equality];
        // The second anchor of a weld comes first.
        let place = if weld == (side == 0) { 3 } else { 0 };
        let local = Vec3([data[place], data[place + 1], data[place + 2]]);
        let mut local_bar = Vec3::ZERO;
        kinematics_bar.body_position[body] += point_bar;
        kinematics.body_rotation[body].mul_vec_vjp(
            local,
            point_bar,
            &mut kinematics_bar.body_rotation[body],
            &mut local_bar,
        );
        for k in 0..3 {
            data_bar[place + k] += local_bar[k];
        }
        let body_quat_bar = &mut kinematics_bar.body_quat[body];
        if weld && side == 0 {
            let relative = Quat([data[6], data[7], data[8], data[9]]);
            let mut relative_bar = Quat::default();
            body_quat.mul_vjp(relative, quat_bar, body_quat_bar, &mut relative_bar);
            for k in 0..4 {
                data_bar[6 + k] += relative_bar[k];
            }
        } else {
            *body_quat_bar += quat_bar;
        }
    }
}

/// The twin of [`wrenches`](super::equality::wrenches) for the rows of a block, from the cotangent of the wrench on the
/// first body less that on the second, and those of the two points. With f the forces along the turns and s the torque
/// scale, the torque is ½·s·vec(q₂ ⊗ f ⊗ q₁*).
pub(crate) fn wrenches_vjp(
    stages: &Sensed<'_, f64>,
    model: &Model,
    block: &Block,
    wrench_bar: Spatial,
    point_bars: [Vec3; 2],
    bars: &mut Cotangents,
) {
    let (kinematics, equality) = (stages.kinematics, block.object);
    let forces = &stages.solve.force[block.rows()];
    let forces_bar = &mut bars.data.solve.force[block.rows()];
    let Some(anchors) = anchors(model, kinematics, equality) else {
        return;
    };
    let mut quat_bars = [Quat::default(); 2];
    let (linear, angular) = forces_bar.split_at_mut(3);
    for (bar, force) in linear.iter_mut().zip(wrench_bar.linear().0) {
        *bar += force;
    }
    if let [x, y, z] = forces[3..] {
        let scale = model.equalities.data[equality][10];
        let [first, second] = anchors.map(|anchor| anchor.quat);
        let torque_bar = Quat::from_parts(0.0, wrench_bar.angular());
        let half = second.conjugate().mul(torque_bar);
        let turn = half.mul(first).parts().1.scale(0.5);
        for (bar, turn) in angular.iter_mut().zip(turn.0) {
            *bar += turn * scale;
        }
        let force = Vec3([x, y, z]);
        bars.model.equalities.data[equality][10] += force.dot(turn);
        let mut half_bar = Quat::default();
        let product_bar = Quat::from_parts(0.0, force * (0.5 * scale));
        half.mul_vjp(first, product_bar, &mut half_bar, &mut quat_bars[0]);
        quat_bars[1] = half_bar.mul(torque_bar.conjugate()).conjugate();
    }
    for side in 0..2 {
        let anchor_bar = AnchorBar {
            equality,
            side,
            body: anchors[side].body,
            point: point_bars[side],
            quat: quat_bars[side],
        };
        anchor_bar.spread(model, kinematics, bars);
    }
}
