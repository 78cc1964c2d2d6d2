//! Armature of spatial tendons: inverse dynamics has m·Jᵀ·(J·a + J̇·q̇) for each, with armature m.
//!
//! The first part belongs to M, as far as the pattern of the tree holds it, and changes by B = ∂J/∂q (`bends`). Of the
//! second, with c = J̇·q̇ = vᵀ·B·v,
//!
//!   ∂/∂v = m·Jᵀ·(B·v + Bᵀ·v),    ∂/∂q = m·(c·B + Jᵀ·∂c/∂q)                                               (1)
//!
//! A straight leg of length ℓ along d, with relative velocity w and relative acceleration b of its ends at q̈ = 0, has
//! c = d·b + (w·w − (d·w)²)/ℓ. With δp, δw, δb the changes of p₂ − p₁, w and b by a dof,
//!
//!   dd = (δp − d·(d·δp))/ℓ
//!   dc = dd·b + d·δb + 2·(w·δw − (d·w)·(dd·w + d·δw))/ℓ − (w·w − (d·w)²)·(d·δp)/ℓ²                         (2)
//!
//! A dof j changes the motions of bodies beyond it as said in `rne`, by s × v + ṡ and s × a + s̈ + ṡ × v. Paths around
//! geoms have no armature.

use super::Rows;
use super::bends::{Bend, Bends};
use super::forces::Context;
use super::rne::TreeDerivative;
use crate::data::Data;
use crate::jacobian;
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::{Model, Wrap};
use crate::stages::bias;
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
    let wraps = model.structure.tendons.wraps[tendon].clone();
    let path = &model.structure.tendons.path[wraps.clone()];
    let mut scale = 1.0;
    for (position, pair) in path.windows(2).enumerate() {
        match *pair {
            [Wrap::Pulley, _] => scale = model.wraps.coefficient[wraps.start + position].recip(),
            [Wrap::Site(first), Wrap::Site(second)] => {
                let leg = Leg::new(context, [first, second]);
                if leg.length <= MIN_LENGTH {
                    continue;
                }
                for &dof in bend.columns {
                    visit(dof, scale * leg.change(context, tree, dof));
                }
            }
            _ => {}
        }
    }
}

/// A site as it moves.
struct End {
    body: usize,
    /// From the point that spatial vectors are about.
    offset: Vec3,
    velocity: Vec3,
    acceleration: Vec3,
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
            velocity,
            acceleration: spatial + motion.angular().cross(velocity),
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
            + of_motion.angular().cross(self.velocity)
            + motion.angular().cross(velocity);
        [position, velocity, acceleration]
    }
}

/// A straight piece of a path.
struct Leg {
    ends: [End; 2],
    direction: Vec3,
    length: f64,
}

impl Leg {
    fn new(context: &Context<'_>, sites: [usize; 2]) -> Self {
        let [first, second] = sites.map(|site| context.data.kinematics.site_position[site]);
        let (direction, length) = (second - first).normalized();
        Self {
            ends: sites.map(|site| End::new(context, site)),
            direction,
            length,
        }
    }

    /// (2)
    fn change(&self, context: &Context<'_>, tree: &TreeDerivative, dof: usize) -> f64 {
        let [first, second] = &self.ends;
        let [before, after] = [first, second].map(|end| end.change(context, tree, dof));
        let [moved, sped, accelerated]: [Vec3; 3] = std::array::from_fn(|k| after[k] - before[k]);
        let (along, inverse) = (self.direction, self.length.recip());
        let (speed, acceleration) = (
            second.velocity - first.velocity,
            second.acceleration - first.acceleration,
        );
        let stretch = along.dot(moved);
        let turn = (moved - along * stretch) * inverse;
        let closing = along.dot(speed);
        let crossing = speed.dot(speed) - closing * closing;
        turn.dot(acceleration)
            + along.dot(accelerated)
            + 2.0 * (speed.dot(sped) - closing * (turn.dot(speed) + along.dot(sped))) * inverse
            - crossing * stretch * inverse * inverse
    }
}
