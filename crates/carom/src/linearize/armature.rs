//! Armature of spatial tendons: inverse dynamics has m·Jᵀ·(J·a + J̇·q̇) for each, with armature m.
//!
//! The first part belongs to M, as far as the pattern of the tree holds it, and changes by B = ∂J/∂q (`bends`). Of the
//! second, with c = J̇·q̇ = vᵀ·B·v,
//!
//!   ∂/∂v = m·Jᵀ·(B·v + Bᵀ·v),    ∂/∂q = m·(c·B + Jᵀ·∂c/∂q)                                               (1)
//!
//! A straight leg has c by the relative position, velocity and acceleration of its ends at q̈ = 0, of which dual numbers
//! lead to dc.
//!
//! A dof j changes the motions of bodies beyond it as said in `rne`, by s × v + ṡ and s × a + s̈ + ṡ × v. Paths around
//! geoms have no armature.

use super::Rows;
use super::bends::{Bend, Bends};
use super::forces::Context;
use super::rne::TreeDerivative;
use crate::data::Data;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::Model;
use crate::stages::bias;
use crate::stages::tendon::{Step, steps};
use crate::terms::length::Advance;

/// Spatial tendons with armature.
fn heavy(model: &Model) -> impl Iterator<Item = (usize, f64)> {
    let armatures = model.tendons.armature.iter().copied().enumerate();
    let spatial = &model.structure.tendons.spatial;
    armatures.filter(|&(tendon, armature)| spatial[tendon] && armature != 0.0)
}

/// Subtracts the derivatives of what armature adds to inverse dynamics at an acceleration.
pub(super) fn subtract(
    context: &Context<'_>,
    bends: &Bends,
    tree: &TreeDerivative,
    acceleration: &[f64],
    rows: &mut Rows<'_>,
) {
    let Context {
        model, state, data, ..
    } = *context;
    let nv = context.layout.nv;
    add_inertia_change(model, data, bends, (acceleration, -1.0), rows);
    for (tendon, armature) in heavy(model) {
        let Some(bend) = bends.of_tendon(model, tendon) else {
            continue;
        };
        let row = model.structure.tendons.jacobian.row(tendon);
        let jacobian = &data.tendon.jacobian[row];
        let accelerations = &data.bias.body_acceleration;
        let (kinematics, velocity) = (&data.kinematics, &data.velocity);
        let along = bias::path_acceleration(model, tendon, kinematics, velocity, accelerations);
        bend.entries(|dof, other, entry| rows.row(dof)[other] -= armature * along * entry);
        let mut add = |column: usize, slope: f64| {
            for (&dof, &value) in bend.columns.iter().zip(jacobian) {
                rows.row(dof)[column] -= armature * value * slope; // (1)
            }
        };
        bend.along(&state.qvel, |other, slope| add(nv + other, slope));
        bend.across(&state.qvel, |other, slope| add(nv + other, slope));
        path_changes(context, tree, (tendon, bend), add);
    }
}

/// Adds ± ∂(M·x)/∂q, as far as M stems from armature.
pub(super) fn add_inertia_change(
    model: &Model,
    data: &Data,
    bends: &Bends,
    (x, sign): (&[f64], f64),
    rows: &mut Rows<'_>,
) {
    let advance = Advance {
        h: sign,
        acceleration: x,
        sparsity: &model.structure.inertia,
    };
    for (tendon, armature) in heavy(model) {
        let place = bends.tendon(model, data, tendon);
        place.damping_bend([armature, 0.0], advance, x, rows);
    }
}

/// Calls `visit` with ∂c/∂q of a tendon by each of its columns.
fn path_changes(
    context: &Context<'_>,
    tree: &TreeDerivative,
    (tendon, bend): (usize, Bend<'_>),
    mut visit: impl FnMut(usize, f64),
) {
    let model = context.model;
    let mut scale = 1.0;
    for step in steps(&model.structure.tendons, tendon) {
        match step {
            Step::Pulley(position) => scale = model.wraps.coefficient[position].recip(),
            Step::Leg(leg) => {
                let ends = leg.sites.map(|site| End::new(context, site));
                let relative: [Vec3; 3] =
                    std::array::from_fn(|k| ends[1].motion[k] - ends[0].motion[k]);
                if relative[0].norm() <= MIN_LENGTH {
                    continue;
                }
                for &dof in bend.columns {
                    let [before, after] =
                        (ends.each_ref()).map(|end| end.change(context, tree, dof));
                    let moving = std::array::from_fn(|k| {
                        let change = after[k] - before[k];
                        Vec3(std::array::from_fn(|axis| Dual {
                            value: relative[k][axis],
                            tangent: [change[axis]],
                        }))
                    });
                    visit(dof, scale * bias::stretching::<Dual<1>>(moving).tangent[0]);
                }
            }
        }
    }
}

/// A site as it moves.
struct End {
    body: usize,
    /// From the point that spatial vectors are about.
    offset: Vec3,
    /// Position, velocity and acceleration.
    motion: [Vec3; 3],
}

impl End {
    fn new(context: &Context<'_>, site: usize) -> Self {
        let (model, data) = (context.model, context.data);
        let body = model.structure.sites.body[site];
        let position = data.kinematics.site_position[site];
        let offset = jacobian::offset(model, &data.kinematics, body, position);
        let motion = data.velocity.body[body];
        let velocity = jacobian::point_velocity(motion, offset);
        let spatial = jacobian::point_velocity(data.bias.body_acceleration[body], offset);
        Self {
            body,
            offset,
            motion: [
                position,
                velocity,
                spatial + motion.angular().cross(velocity),
            ],
        }
    }

    /// How position, velocity and acceleration change by a dof; none if it does not move the body.
    fn change(&self, context: &Context<'_>, tree: &TreeDerivative, dof: usize) -> [Vec3; 3] {
        let data = context.data;
        let moves = jacobian::moving_dofs(context.model, self.body);
        if moves.binary_search(&dof).is_err() {
            return [Vec3::ZERO; 3];
        }
        let (axis, rate) = (
            data.kinematics.dof_axis[dof],
            data.velocity.dof_axis_dot[dof],
        );
        let (motion, gained) = (
            data.velocity.body[self.body],
            data.bias.body_acceleration[self.body],
        );
        // At q̈ = 0, without what joint accelerations add.
        let carried = tree.carried[dof] - tree.gained_axis[dof];
        let of_motion: Spatial = axis.cross_motion(motion) + rate;
        let of_gained = axis.cross_motion(gained) + carried + rate.cross_motion(motion);
        let position = jacobian::point_velocity(axis, self.offset);
        let velocity =
            jacobian::point_velocity(of_motion, self.offset) + motion.angular().cross(position);
        let acceleration = jacobian::point_velocity(of_gained, self.offset)
            + gained.angular().cross(position)
            + of_motion.angular().cross(self.motion[1])
            + motion.angular().cross(velocity);
        [position, velocity, acceleration]
    }
}
