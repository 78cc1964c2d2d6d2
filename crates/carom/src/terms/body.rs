//! Forces on bodies: those of the medium over their motion, [`fluid`](crate::laws::fluid), and what all forces on bodies share.
//!
//! A body feels the medium at its parts: its inertial frame or some of its geoms. With R the axes of a part, r its arm from the centre
//! of mass of the tree, V the motion of the body and u the wind, the law f sees x = Rᵀ·(V about the part − u), and the body feels
//! F = (R·f(x) about the centre), so that for any motion A of the body
//!
//!   A·F = a·f(x),   a = Rᵀ·(A about the part)                                                     (1)
//!
//! Implicit integrators take B = ∂F/∂V with A·B·C = a·∂f/∂x·c. Both are contractions of a law with motions that one change of frame leads
//! to the part, so they share one adjoint: with the derivatives of the contraction by x, a (and c), each motion passes
//!
//!   R̄ += m·(m̄ in the part)ᵀ,   its own cotangent and r̄ by the change of reference point          (2)
//!
//! Without a medium all forces vanish, but not their derivatives by density and viscosity.
//!
//! Forces F on bodies become generalised forces by the motion axes s, and pass their cotangents in two walks over the tree:
//!
//!   τ(i) = s(i)·Σ F over the subtree of dof i                                                     (3)
//!   F̄ = the motion of the body when the dofs move at τ̄, from the root to the leaves               (4)
//!   s̄(i) += τ̄(i)·Σ F over the subtree of dof i, from the leaves to the root                       (5)

use crate::cotangent::DataBar;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::laws::fluid::{BOX_PARAMETERS, ELLIPSOID_PARAMETERS, ForceDerivative, Law, Medium};
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::{Model, Structure};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Generalised force of forces on all bodies (about their tree's centre of mass), by one pass from leaves to root.
/// The body forces become those of whole subtrees. (3)
pub(crate) fn project<T: Scalar>(
    structure: &Structure,
    kinematics: &Kinematics<T>,
    force: &mut [Spatial<T>],
    generalized: &mut [T],
) {
    let bodies = &structure.bodies;
    for body in (1..force.len()).rev() {
        let whole = force[body];
        for dof in bodies.dofs[body].clone() {
            generalized[dof] = kinematics.dof_axis[dof].dot(whole);
        }
        let parent = bodies.parent[body];
        if parent != 0 {
            force[parent] += whole;
        }
    }
}

/// The motion of each body when the dofs move at given speeds. (4)
pub(crate) fn motions(
    structure: &Structure,
    kinematics: &Kinematics,
    speeds: &[f64],
    motion: &mut [Spatial],
) {
    let bodies = &structure.bodies;
    motion[0] = Spatial::ZERO;
    for body in 1..motion.len() {
        let mut sum = motion[bodies.parent[body]];
        for dof in bodies.dofs[body].clone() {
            sum = sum.scale_add(kinematics.dof_axis[dof], speeds[dof]);
        }
        motion[body] = sum;
    }
}

/// Adds to the cotangents of the motion axes; `force` is used up. (5)
pub(crate) fn axes_vjp(
    structure: &Structure,
    speeds: &[f64],
    force: &mut [Spatial],
    axes_bar: &mut [Spatial],
) {
    let bodies = &structure.bodies;
    for body in (1..force.len()).rev() {
        let whole = force[body];
        for dof in bodies.dofs[body].clone() {
            axes_bar[dof] = axes_bar[dof].scale_add(whole, speeds[dof]);
        }
        force[bodies.parent[body]] += whole;
    }
}

/// The medium of a model.
#[inline]
pub(crate) fn medium<T: Scalar>(model: &Model<T>) -> Medium<T> {
    Medium {
        density: model.option.density[0],
        viscosity: model.option.viscosity[0],
    }
}

/// Whether there is no medium.
pub(crate) fn is_absent(model: &Model) -> bool {
    model.option.density[0] == 0.0 && model.option.viscosity[0] == 0.0
}

/// Whether geoms of the body ask for the ellipsoid model, which switches its inertia box off.
fn has_ellipsoids<T: Scalar>(model: &Model<T>, body: usize) -> bool {
    (model.structure.bodies.geoms[body].clone())
        .any(|geom| model.geoms.fluid[geom][0].value() > 0.0)
}

/// A frame of a body at which the medium acts.
struct Part<'a, T> {
    frame: Frame,
    rotation: &'a Mat3<T>,
    /// From the centre of mass of the tree.
    arm: Vec3<T>,
    law: Law<T>,
}

/// Whose frame it is.
#[derive(Clone, Copy)]
enum Frame {
    Body(usize),
    Geom(usize),
}

impl<T: Scalar> Part<'_, T> {
    /// A motion of the body, about the centre of mass of its tree, as the part has it.
    #[inline]
    fn local(&self, motion: Spatial<T>) -> Spatial<T> {
        motion.shift_motion(self.arm).into_local_axes(self.rotation)
    }

    /// The motion of the body relative to the medium, about the part, in world axes.
    #[inline]
    fn relative(&self, model: &Model<T>, velocity: &Velocity<T>, body: usize) -> Spatial<T> {
        let motion = velocity.body[body].shift_motion(self.arm);
        Spatial::new(motion.angular(), motion.linear() - model.option.wind[0])
    }

    /// The force on the body.
    #[inline]
    fn force(&self, model: &Model<T>, velocity: &Velocity<T>, body: usize) -> Spatial<T> {
        let motion = self.relative(model, velocity, body);
        let motion = motion.into_local_axes(self.rotation);
        let force = self.law.force(medium(model), motion);
        force.into_world_axes(self.rotation).shift_force(-self.arm)
    }
}

/// Visits the parts of a body; none of bodies that do not move or weigh nothing.
#[inline]
fn each_part<'a, T: Scalar>(
    model: &'a Model<T>,
    kinematics: &'a Kinematics<T>,
    body: usize,
    mut visit: impl FnMut(Part<'a, T>),
) {
    let bodies = &model.structure.bodies;
    if bodies.tree[body].is_none() || model.bodies.mass[body].value() < MIN_LENGTH {
        return;
    }
    let center = kinematics.subtree_com[bodies.root[body]];
    if !has_ellipsoids(model, body) {
        return visit(Part {
            frame: Frame::Body(body),
            rotation: &kinematics.inertial_rotation[body],
            arm: kinematics.inertial_position[body] - center,
            law: Law::InertiaBox {
                mass: model.bodies.mass[body],
                inertia: model.bodies.inertia[body],
            },
        });
    }
    for geom in bodies.geoms[body].clone() {
        let coefficients = model.geoms.fluid[geom];
        if coefficients[0] != T::ZERO {
            visit(Part {
                frame: Frame::Geom(geom),
                rotation: &kinematics.geom_rotation[geom],
                arm: kinematics.geom_position[geom] - center,
                law: Law::Ellipsoid {
                    kind: model.structure.geoms.kind[geom],
                    coefficients,
                    size: model.geoms.size[geom],
                },
            });
        }
    }
}

/// The force on one body, about the centre of mass of its tree, world axes.
pub(crate) fn force<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    body: usize,
) -> Spatial<T> {
    let mut sum = Spatial::ZERO;
    each_part(model, kinematics, body, |part| {
        let force = part.force(model, velocity, body);
        sum = match part.frame {
            Frame::Body(_) => force,
            Frame::Geom(_) => sum + force,
        };
    });
    sum
}

/// B, the derivative of the force on one body by its motion, about the centre of mass of its tree, world axes.
pub(crate) fn derivative<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    body: usize,
) -> ForceDerivative<T> {
    let mut sum = ForceDerivative::default();
    each_part(model, kinematics, body, |part| {
        let motion = part.relative(model, velocity, body);
        let motion = motion.into_local_axes(part.rotation);
        let local = part.law.derivative(medium(model), motion);
        sum.add(&local.into_world(part.rotation, part.arm));
    });
    sum
}

/// How B changes with the body's velocity: the matrix of y ↦ dB(y)·x, where `along` = x is a motion like the velocity; if
/// `symmetric`, with the symmetric part of B.
pub(crate) fn derivative_change(
    model: &Model,
    kinematics: &Kinematics,
    velocity: &Velocity,
    body: usize,
    along: Spatial,
    symmetric: bool,
) -> ForceDerivative<f64> {
    let medium = Medium {
        density: Dual::constant(model.option.density[0]),
        viscosity: Dual::constant(model.option.viscosity[0]),
    };
    let mut sum = ForceDerivative::default();
    each_part(model, kinematics, body, |part| {
        let motion = part.relative(model, velocity, body);
        let motion = motion.into_local_axes(part.rotation);
        let motion = Spatial(std::array::from_fn(|k| Dual::<6>::variable(motion[k], k)));
        let mut local = part.law.constant().derivative(medium, motion);
        if symmetric {
            local = local.symmetric();
        }
        let change = local.mul(part.local(along).map(Dual::constant));
        sum.add(&ForceDerivative::of_tangents(&change).into_world(part.rotation, part.arm));
    });
    sum
}

/// Bodies in the medium, and where their cotangents go.
pub(crate) struct Immersed<'a> {
    model: &'a Model,
    kinematics: &'a Kinematics,
    velocity: &'a Velocity,
    kinematics_bar: &'a mut Kinematics,
    velocity_bar: &'a mut Velocity,
    model_bar: &'a mut Model,
}

impl<'a> Immersed<'a> {
    /// Those of a state.
    pub(crate) fn new(at: At<'a>, data_bar: &'a mut DataBar, model_bar: &'a mut Model) -> Self {
        Self {
            model: at.model,
            kinematics: &at.data.kinematics,
            velocity: &at.data.velocity,
            kinematics_bar: &mut data_bar.kinematics,
            velocity_bar: &mut data_bar.velocity,
            model_bar,
        }
    }

    /// The contraction A·F of the force on a body for one motion, A·B·C for two: adds `bar` times its derivatives by everything but
    /// the motions; returns its value, and `bar` times those by the motions.
    pub(crate) fn contract_vjp<const N: usize>(
        &mut self,
        body: usize,
        motions: [Spatial; N],
        bar: f64,
    ) -> (f64, [Spatial; N]) {
        let (model, kinematics) = (self.model, self.kinematics);
        let (mut sum, mut motions_bar) = (0.0, [Spatial::ZERO; N]);
        each_part(model, kinematics, body, |part| {
            let relative = part.relative(model, self.velocity, body);
            let motion = relative.into_local_axes(part.rotation);
            let local = motions.map(|motion| part.local(motion));
            let medium = medium(model);
            let (value, gradient) = part.law.contract_gradient(medium, motion, &local);
            sum += value;
            self.add_parameters(part.frame, gradient.parameters.map(|slope| bar * slope));
            let mut local_bars = part.law.contract_by_motions(medium, motion, local);
            for local_bar in &mut local_bars {
                *local_bar *= bar;
            }

            // (2), of the body's own motion and of those given.
            let (mut arm_bar, mut rotation_bar) = (Vec3::ZERO, Mat3::default());
            let mut pass = |about: Spatial, seen: Spatial, seen_bar: Spatial, to: &mut Spatial| {
                let world_bar = seen_bar.into_world_axes(part.rotation);
                rotation_bar += seen.angular().outer(seen_bar.angular())
                    + seen.linear().outer(seen_bar.linear());
                about.shift_motion_vjp(part.arm, world_bar, to, &mut arm_bar);
                world_bar
            };
            let own_bar = pass(
                self.velocity.body[body],
                relative,
                gradient.motion * bar,
                &mut self.velocity_bar.body[body],
            );
            for (index, target) in motions_bar.iter_mut().enumerate() {
                let seen = motions[index].shift_motion(part.arm);
                pass(motions[index], seen, local_bars[index], target);
            }
            self.model_bar.option.wind[0] -= own_bar.linear();
            let root = model.structure.bodies.root[body];
            self.kinematics_bar.subtree_com[root] -= arm_bar;
            let bars = &mut *self.kinematics_bar;
            let (position_bar, axes_bar) = match part.frame {
                Frame::Body(body) => (
                    &mut bars.inertial_position[body],
                    &mut bars.inertial_rotation[body],
                ),
                Frame::Geom(geom) => (&mut bars.geom_position[geom], &mut bars.geom_rotation[geom]),
            };
            *position_bar += arm_bar;
            *axes_bar += rotation_bar;
        });
        (sum, motions_bar)
    }

    /// [`contract_vjp`](Self::contract_vjp) where there is no medium: only the derivatives by density and viscosity remain. With
    /// `symmetric`, the symmetric part of B is contracted.
    pub(crate) fn absent_vjp<const N: usize>(
        &mut self,
        body: usize,
        motions: [Spatial; N],
        bar: f64,
        symmetric: bool,
    ) {
        let (model, kinematics) = (self.model, self.kinematics);
        each_part(model, kinematics, body, |part| {
            let motion = part.relative(model, self.velocity, body);
            let motion = motion.into_local_axes(part.rotation);
            let local = motions.map(|motion| part.local(motion));
            let [density, viscosity] =
                (part.law).contract_by_absent_medium(motion, local, symmetric);
            self.add_medium([bar * density, bar * viscosity]);
        });
    }

    fn add_medium(&mut self, [density, viscosity]: [f64; 2]) {
        self.model_bar.option.density[0] += density;
        self.model_bar.option.viscosity[0] += viscosity;
    }

    fn add_parameters(&mut self, frame: Frame, bar: [f64; ELLIPSOID_PARAMETERS]) {
        let count = match frame {
            Frame::Body(body) => {
                let bodies = &mut self.model_bar.bodies;
                bodies.mass[body] += bar[0];
                bodies.inertia[body] += Vec3([bar[1], bar[2], bar[3]]);
                BOX_PARAMETERS
            }
            Frame::Geom(geom) => {
                let geoms = &mut self.model_bar.geoms;
                for (target, bar) in geoms.fluid[geom].iter_mut().zip(bar) {
                    *target += bar;
                }
                geoms.size[geom] += Vec3([bar[12], bar[13], bar[14]]);
                ELLIPSOID_PARAMETERS
            }
        };
        self.add_medium([bar[count - 2], bar[count - 1]]);
    }
}
