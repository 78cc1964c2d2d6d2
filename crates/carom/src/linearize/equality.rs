//! Derivatives of the forces of connect and weld constraints.
//!
//! The rows of a constraint ask for ë + b·ė + k·d(|e|)·e = 0 of an error e of place and orientation between two bodies:
//! with V, A their velocities and accelerations (gravity aside) about a common point, y is a function of both poses,
//! velocities and accelerations alone. Its derivatives by each of them come from dual numbers, six directions at a time.
//! A dof j changes, by its position and by its velocity, for the bodies that it moves (see `rne` and
//! [`Coriolis`](crate::integrate::coriolis), with s̈ taken without gravity):
//!
//!   pose by s(j),   V by s(j) × V + ṡ(j),   A by s(j) × A + s̈(j) + ṡ(j) × V                            (1)
//!   V by s(j),   A by e(j) + s(j) × V                                                                (2)
//!
//! Forces f of the rows are a force F at the anchor p of either body and a torque T, with opposite signs: τ(i) = ±s(i)·w,
//! w = (p × F + T, F), whose rows and axes change as for contacts.

use super::Rows;
use super::forces::Context;
use super::forward_mode::Number;
use super::rne::TreeDerivative;
use super::rows::weight_rate;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Quat, Spatial, Vec3};
use crate::model::EqualityKind;
use crate::stages::constraint::{Anchor, End, Errors, equality_anchors};

/// A dof of a connect or weld constraint, about the common point.
#[derive(Clone, Copy, Debug)]
struct EndDof {
    dof: usize,
    /// Which bodies it moves.
    moves: [bool; 2],
    axis: Spatial,
    /// ṡ, s̈ without gravity, and e.
    rate: Spatial,
    carried: Spatial,
    drift: Spatial,
}

/// Room for one constraint.
#[derive(Clone, Debug, Default)]
pub(super) struct EqualityDerivative {
    dofs: Vec<EndDof>,
}

/// Changes of y and of the violation along six directions of one input.
#[derive(Clone, Copy, Default)]
struct Slopes {
    residual: [[f64; 6]; 6],
    violation: [f64; 6],
    /// Of the rows of the torque's map.
    turn_rows: [[Vec3; 6]; 3],
}

/// Both ends at the solution, and what their rows are weighted with.
struct Joined<'a> {
    ends: [End<f64>; 2],
    weld: bool,
    torque_scale: f64,
    stiffness: f64,
    damping: f64,
    impedance: f64,
    impedance_slope: f64,
    weight: [f64; 6],
    force: &'a [f64],
    weight_rate: f64,
    center: Vec3,
}

impl EqualityDerivative {
    /// Adds the derivatives of a block's force, if it is a connect or weld constraint.
    pub(super) fn add(
        &mut self,
        context: &Context<'_>,
        tree: &TreeDerivative,
        index: usize,
        rows: &mut Rows<'_>,
    ) {
        let (model, data) = (context.model, context.data);
        let block = &data.constraint.blocks[index];
        let kind = model.structure.equalities.kind[block.object];
        if !matches!(kind, EqualityKind::Connect | EqualityKind::Weld) {
            return;
        }
        let Some(anchors) = equality_anchors(model, &data.kinematics, block.object) else {
            return;
        };
        let center = anchors[0].point;
        let own = data.constraint.block_rows(block);
        let mut weight = [0.0; 6];
        for (weight, row) in weight.iter_mut().zip(own) {
            *weight = row.weight;
        }
        let impedance = &own[0].impedance;
        let joined = Joined {
            ends: anchors.map(|anchor| end(context, tree, anchor, center)),
            weld: kind == EqualityKind::Weld,
            torque_scale: model.equalities.data[block.object][10],
            stiffness: impedance.stiffness,
            damping: impedance.damping,
            impedance: impedance.value,
            impedance_slope: impedance.slope,
            weight,
            force: &data.solve.force[block.rows()],
            weight_rate: weight_rate(&own[0]),
            center,
        };
        self.gather(context, tree, [anchors[0].body, anchors[1].body], center);
        self.expand(context, &joined, rows);
    }

    /// The dofs that move either end.
    fn gather(
        &mut self,
        context: &Context<'_>,
        tree: &TreeDerivative,
        bodies: [usize; 2],
        center: Vec3,
    ) {
        let (model, data) = (context.model, context.data);
        self.dofs.clear();
        for (side, &body) in bodies.iter().enumerate() {
            let offset = jacobian::offset(model, &data.kinematics, body, center);
            for &dof in jacobian::moving_dofs(model, body) {
                if let Some(known) = self.dofs.iter_mut().find(|known| known.dof == dof) {
                    known.moves[side] = true;
                    continue;
                }
                let about = |motion: Spatial| motion.shift_motion(offset);
                let axis = data.kinematics.dof_axis[dof];
                // The world's fictitious acceleration is no motion of the anchors.
                let fall = data.bias.body_acceleration[0].cross_motion(axis);
                self.dofs.push(EndDof {
                    dof,
                    moves: [side == 0, side == 1],
                    axis: about(axis),
                    rate: about(data.velocity.dof_axis_dot[dof]),
                    carried: about(tree.carried[dof] - fall),
                    drift: about(tree.coriolis.drift[dof]),
                });
            }
        }
    }

    fn expand(&self, context: &Context<'_>, joined: &Joined<'_>, rows: &mut Rows<'_>) {
        let slopes: [[Slopes; 3]; 2] =
            std::array::from_fn(|side| std::array::from_fn(|input| joined.slopes(side, input)));
        let wrenches = joined.wrenches();
        let turn_rows = joined.errors().turn_rows;
        let nv = context.layout.nv;
        for other in &self.dofs {
            let mut changes = [Response::default(); 2];
            for side in (0..2).filter(|&side| other.moves[side]) {
                let End {
                    motion,
                    acceleration,
                    ..
                } = joined.ends[side];
                let [pose, velocity, force] = &slopes[side];
                let turned = other.axis.cross_motion(motion) + other.rate;
                let pushed = other.axis.cross_motion(acceleration)
                    + other.carried
                    + other.rate.cross_motion(motion);
                changes[0].add(pose, other.axis);
                changes[0].add(velocity, turned);
                changes[0].add(force, pushed);
                changes[1].add(velocity, other.axis);
                changes[1].add(force, other.drift + other.axis.cross_motion(motion));
            }
            let forces = changes.map(|change| joined.force_change(&change));
            for own in &self.dofs {
                let row = rows.row(own.dof);
                for side in (0..2).filter(|&side| own.moves[side]) {
                    let sign = if side == 0 { 1.0 } else { -1.0 };
                    let arm = joined.ends[side].anchor.point - joined.center;
                    let wrench = |forces: &[f64; 6]| joined.wrench(arm, forces, &turn_rows);
                    let mut change = wrench(&forces[0]);
                    let moved = if other.moves[side] {
                        jacobian::point_velocity(other.axis, arm)
                    } else {
                        Vec3::ZERO
                    };
                    let torque = changes[0].torque(joined.force);
                    let push = wrenches[side].linear();
                    change += Spatial::new(moved.cross(push) + torque, Vec3::ZERO);
                    if other.moves[side] && own.dof >= context.turn_start[other.dof] {
                        change -= other.axis.cross_force(wrenches[side]);
                    }
                    row[other.dof] += sign * own.axis.dot(change);
                    row[nv + other.dof] += sign * own.axis.dot(wrench(&forces[1]));
                }
            }
        }
    }
}

/// Changes of a constraint's rows along one dof.
#[derive(Clone, Copy, Default)]
struct Response {
    residual: [f64; 6],
    violation: f64,
    turn_rows: [Vec3; 3],
}

impl Response {
    fn add(&mut self, slopes: &Slopes, direction: Spatial) {
        for (k, along) in direction.0.into_iter().enumerate() {
            for (sum, slope) in self.residual.iter_mut().zip(&slopes.residual) {
                *sum += slope[k] * along;
            }
            self.violation += slopes.violation[k] * along;
            for (sum, slope) in self.turn_rows.iter_mut().zip(&slopes.turn_rows) {
                *sum = sum.scale_add(slope[k], along);
            }
        }
    }

    /// The change of the torque at fixed forces.
    fn torque(&self, force: &[f64]) -> Vec3 {
        let turning = force.get(3..).unwrap_or_default();
        let terms = self.turn_rows.iter().zip(turning);
        terms.fold(Vec3::ZERO, |sum, (&row, &force)| sum.scale_add(row, force))
    }
}

/// An end, with the full acceleration of its body.
fn end(
    context: &Context<'_>,
    tree: &TreeDerivative,
    anchor: Anchor<f64>,
    center: Vec3,
) -> End<f64> {
    let data = context.data;
    let body = anchor.body;
    let offset = jacobian::offset(context.model, &data.kinematics, body, center);
    let bias = data.bias.body_acceleration[body] - data.bias.body_acceleration[0];
    End {
        anchor,
        center,
        motion: data.velocity.body[body].shift_motion(offset),
        acceleration: (bias + tree.gained[body]).shift_motion(offset),
    }
}

impl Joined<'_> {
    fn errors(&self) -> Errors<f64> {
        Errors::new(&self.ends, self.torque_scale, self.weld)
    }

    /// Derivatives along six directions of the pose (0), velocity (1) or acceleration (2) of one end.
    fn slopes(&self, side: usize, input: usize) -> Slopes {
        let mut ends = self.ends.map(lifted);
        let variable = Spatial(std::array::from_fn(|k| Number::variable(0.0, k)));
        let end = &mut ends[side];
        match input {
            0 => move_anchor(end, &variable),
            1 => end.motion += variable,
            _ => end.acceleration += variable,
        }
        let errors = Errors::new(&ends, Number::constant(self.torque_scale), self.weld);
        let [first, second] = &ends;
        let speed =
            |end: &End<Number>| jacobian::point_velocity(end.motion, end.anchor.point - end.center);
        let place_rate = speed(first) - speed(second);
        let spin = first.motion.angular() - second.motion.angular();
        let mut slopes = Slopes::default();
        let violation = errors.violation.tangent;
        slopes.violation = violation;
        for row in 0..self.force.len() {
            let (part, axis) = (row / 3, row % 3);
            let rate = if part == 0 {
                place_rate[axis]
            } else {
                errors.turn_rows[axis].dot(spin)
            };
            let error = errors.error[part][axis];
            for k in 0..6 {
                let spring = self.impedance * error.tangent[k]
                    + self.impedance_slope * violation[k] * error.value;
                slopes.residual[row][k] = errors.bias[part][axis].tangent[k]
                    + self.damping * rate.tangent[k]
                    + self.stiffness * spring;
            }
        }
        for axis in 0..3 {
            for k in 0..6 {
                slopes.turn_rows[axis][k] = errors.turn_rows[axis].map(|number| number.tangent[k]);
            }
        }
        slopes
    }

    /// df along a change of the rows.
    fn force_change(&self, change: &Response) -> [f64; 6] {
        let mut out = [0.0; 6];
        for (row, &force) in self.force.iter().enumerate() {
            out[row] = force * self.weight_rate * change.violation
                - self.weight[row] * change.residual[row];
        }
        out
    }

    /// The wrench of forces of the rows at an anchor.
    fn wrench(&self, arm: Vec3, forces: &[f64; 6], turn_rows: &[Vec3; 3]) -> Spatial {
        let push = Vec3([forces[0], forces[1], forces[2]]);
        let mut moment = arm.cross(push);
        if self.weld {
            for (&row, &force) in turn_rows.iter().zip(&forces[3..]) {
                moment = moment.scale_add(row, force);
            }
        }
        Spatial::new(moment, push)
    }

    /// w at both anchors.
    fn wrenches(&self) -> [Spatial; 2] {
        let mut forces = [0.0; 6];
        forces[..self.force.len()].copy_from_slice(self.force);
        let turn_rows = self.errors().turn_rows;
        let arms = [0, 1].map(|side: usize| self.ends[side].anchor.point - self.center);
        arms.map(|arm| self.wrench(arm, &forces, &turn_rows))
    }
}

/// An end over dual numbers.
fn lifted(end: End<f64>) -> End<Number> {
    End {
        anchor: Anchor {
            body: end.anchor.body,
            point: end.anchor.point.map(Dual::constant),
            quat: end.anchor.quat.map(Dual::constant),
        },
        center: end.center.map(Dual::constant),
        motion: end.motion.map(Dual::constant),
        acceleration: end.acceleration.map(Dual::constant),
    }
}

/// Moves an anchor along a motion about the common point.
fn move_anchor(end: &mut End<Number>, motion: &Spatial<Number>) {
    let anchor = &mut end.anchor;
    anchor.point += jacobian::point_velocity(*motion, anchor.point - end.center);
    let turn = Quat::from_parts(Number::constant(1.0), motion.angular() * 0.5);
    anchor.quat = turn.mul(anchor.quat);
}
