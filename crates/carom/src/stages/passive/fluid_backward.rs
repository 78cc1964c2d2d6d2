//! The adjoint of the medium's forces.
//!
//! The laws are differentiated in local axes by dual numbers: of the inertia box by motion, mass, inertia and medium, of
//! the ellipsoid's lift and drag by coefficients, size, motion and medium; the added mass has a closed form. Changes of
//! frame around them are written out: with R the frame's axes, r its lever arm from the tree's centre of mass and m the
//! motion that the cotangents give the body,
//!
//!   F̄ = Rᵀ·(m about the frame's origin),   w̄ = R·(local motion's cotangent),   R̄ = (R·F̄)·Fᵀ + w·(w̄ in the frame)ᵀ
//!
//! Without a medium all forces vanish, but not their derivatives by density and viscosity.

use super::Passive;
use super::backward::{Targets, body_motions, subtree_forces};
use super::fluid::{
    BoxDrag, Medium, added_mass, has_ellipsoids, inertia_box, lift_and_drag, semi_axes,
};
use crate::dual::Dual;
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::Model;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Adds the cotangents of frames, velocities, masses, geoms and the medium.
pub(super) fn backward(
    model: &Model,
    kinematics: &Kinematics,
    velocity: &Velocity,
    bar: &mut Passive,
    targets: &mut Targets<'_>,
) {
    let structure = &model.structure;
    body_motions(structure, kinematics, &bar.fluid, &mut bar.body_force);
    let medium = Medium::new(model);
    let present = medium.density != 0.0 || medium.viscosity != 0.0;
    for body in 1..structure.counts.nbody {
        targets.body_work[body] = Spatial::ZERO;
        if structure.bodies.tree[body].is_none() || model.bodies.mass[body] < MIN_LENGTH {
            continue;
        }
        let mut immersed = Immersed {
            model,
            kinematics,
            velocity,
            medium,
            body,
            motion: bar.body_force[body],
            targets,
        };
        let boxed = !has_ellipsoids(model, body);
        match (present, boxed) {
            (true, true) => immersed.inertia_box(),
            (true, false) => immersed.for_ellipsoids(Immersed::ellipsoid),
            (false, true) => immersed.absent_around_box(),
            (false, false) => immersed.for_ellipsoids(Immersed::absent_around_ellipsoid),
        }
    }
    if present {
        subtree_forces(structure, &bar.fluid, targets);
    }
}

/// A body in the medium.
struct Immersed<'a, 't> {
    model: &'a Model,
    kinematics: &'a Kinematics,
    velocity: &'a Velocity,
    medium: Medium<f64>,
    body: usize,
    /// Cotangent of the force on the body: the motion that the dofs' cotangents give it.
    motion: Spatial,
    targets: &'a mut Targets<'t>,
}

impl Immersed<'_, '_> {
    fn for_ellipsoids(&mut self, mut each: impl FnMut(&mut Self, usize)) {
        for geom in self.model.structure.bodies.geoms[self.body].clone() {
            if self.model.geoms.fluid[geom][0] != 0.0 {
                each(self, geom);
            }
        }
    }

    fn inertia_box(&mut self) {
        let body = self.body;
        let frame = self.inertial_frame();
        let numbers = &self.model.bodies;
        let inertia = numbers.inertia[body];
        let force = inertia_box(
            self.medium_variables::<12>(10),
            Dual::variable(numbers.mass[body], 6),
            Vec3(std::array::from_fn(|i| Dual::variable(inertia[i], 7 + i))),
            frame.motion_variables(0),
        );
        let force_bar = frame.force_bar(self.motion);
        let [m0, m1, m2, m3, m4, m5, mass, ix, iy, iz, density, viscosity] =
            pull_back(force, force_bar);
        let numbers_bar = &mut self.targets.model.bodies;
        numbers_bar.mass[body] += mass;
        numbers_bar.inertia[body] += Vec3([ix, iy, iz]);
        self.add_medium(density, viscosity);
        let motion_bar = Spatial([m0, m1, m2, m3, m4, m5]);
        let frame_bar = self.frame_bar(&frame, force.value(), motion_bar);
        self.targets.kinematics.inertial_position[body] += frame_bar.position;
        self.targets.kinematics.inertial_rotation[body] += frame_bar.rotation;
    }

    fn ellipsoid(&mut self, geom: usize) {
        let frame = self.geom_frame(geom);
        let coefficients = &self.model.geoms.fluid[geom];
        let size = self.model.geoms.size[geom];
        let size = Vec3(std::array::from_fn(|i| {
            Dual::<16>::variable(size[i], 11 + i)
        }));
        let mut varying = coefficients.map(Dual::constant);
        for (place, coefficient) in varying[1..6].iter_mut().enumerate() {
            *coefficient = Dual::variable(coefficient.value, 6 + place);
        }
        let drag = lift_and_drag(
            &varying,
            self.medium_variables(14),
            semi_axes(self.model.structure.geoms.kind[geom], size),
            frame.motion_variables(0),
        );
        let density = self.medium.density;
        let force = added_mass(coefficients, density, frame.local_motion) + drag.value();
        let force_bar = frame.force_bar(self.motion);
        let interaction = coefficients[0];
        let law_bar = force_bar * interaction;
        let bars: [f64; 16] = pull_back(drag, law_bar);
        let mut motion_bar = Spatial(std::array::from_fn(|i| bars[i]));
        self.add_medium(bars[14], bars[15]);
        let numbers_bar = &mut self.targets.model.geoms;
        numbers_bar.fluid[geom][0] += force.dot(force_bar);
        for (bar, term) in numbers_bar.fluid[geom][1..6].iter_mut().zip(&bars[6..11]) {
            *bar += term;
        }
        numbers_bar.size[geom] += Vec3([bars[11], bars[12], bars[13]]);
        added_mass_vjp(
            coefficients,
            density,
            frame.local_motion,
            law_bar,
            &mut AddedMassBar {
                coefficients: &mut numbers_bar.fluid[geom],
                density: &mut self.targets.model.option.density[0],
                motion: &mut motion_bar,
            },
        );
        let frame_bar = self.frame_bar(&frame, force * interaction, motion_bar);
        self.targets.kinematics.geom_position[geom] += frame_bar.position;
        self.targets.kinematics.geom_rotation[geom] += frame_bar.rotation;
    }

    fn absent_around_box(&mut self) {
        let frame = self.inertial_frame();
        let numbers = &self.model.bodies;
        let drag = BoxDrag::new(numbers.mass[self.body], numbers.inertia[self.body]);
        let [density, viscosity] =
            drag.force_slopes(frame.local_motion, frame.force_bar(self.motion));
        self.add_medium(density, viscosity);
    }

    fn absent_around_ellipsoid(&mut self, geom: usize) {
        let frame = self.geom_frame(geom);
        let medium = self.medium_variables::<2>(0);
        let coefficients = self.model.geoms.fluid[geom].map(Dual::constant);
        let kind = self.model.structure.geoms.kind[geom];
        let axes = semi_axes(kind, Vec3::from_f64(self.model.geoms.size[geom]));
        let motion = Spatial::from_f64(frame.local_motion);
        let force = added_mass(&coefficients, medium.density, motion)
            + lift_and_drag(&coefficients, medium, axes, motion);
        let law_bar = frame.force_bar(self.motion) * coefficients[0].value;
        let [density, viscosity] = pull_back(force, law_bar);
        self.add_medium(density, viscosity);
    }

    fn inertial_frame(&self) -> Frame {
        let kinematics = self.kinematics;
        self.frame(
            kinematics.inertial_position[self.body],
            kinematics.inertial_rotation[self.body],
        )
    }

    fn geom_frame(&self, geom: usize) -> Frame {
        let kinematics = self.kinematics;
        self.frame(
            kinematics.geom_position[geom],
            kinematics.geom_rotation[geom],
        )
    }

    fn frame(&self, position: Vec3, rotation: Mat3) -> Frame {
        let root = self.model.structure.bodies.root[self.body];
        let arm = position - self.kinematics.subtree_com[root];
        let motion = self.velocity.body[self.body].shift_motion(arm);
        let motion = Spatial::new(motion.angular(), motion.linear() - self.medium.wind);
        Frame {
            arm,
            rotation,
            motion,
            local_motion: motion.into_local_axes(&rotation),
        }
    }

    /// Density and viscosity as the variables `first` and `first` + 1.
    fn medium_variables<const N: usize>(&self, first: usize) -> Medium<Dual<N>> {
        Medium {
            density: Dual::variable(self.medium.density, first),
            viscosity: Dual::variable(self.medium.viscosity, first + 1),
            wind: Vec3::ZERO,
        }
    }

    fn add_medium(&mut self, density: f64, viscosity: f64) {
        let option = &mut self.targets.model.option;
        option.density[0] += density;
        option.viscosity[0] += viscosity;
    }

    /// Adds the force to the body's; from it and the cotangent of the local motion to the cotangents of the frame,
    /// the body's velocity, the tree's centre of mass and the wind.
    fn frame_bar(&mut self, frame: &Frame, force: Spatial, local_motion_bar: Spatial) -> FrameBar {
        let (rotation, arm) = (&frame.rotation, frame.arm);
        let world_force = force.into_world_axes(rotation);
        self.targets.body_work[self.body] += world_force.shift_force(-arm);
        let force_bar = self.motion.shift_motion(arm);
        let motion_bar = local_motion_bar.into_world_axes(rotation);
        let rotation_bar =
            outer_products(force_bar, force) + outer_products(frame.motion, local_motion_bar);
        let mut arm_bar = world_force.linear().cross(self.motion.angular());
        self.velocity.body[self.body].shift_motion_vjp(
            arm,
            motion_bar,
            &mut self.targets.velocity.body[self.body],
            &mut arm_bar,
        );
        self.targets.model.option.wind[0] -= motion_bar.linear();
        let root = self.model.structure.bodies.root[self.body];
        self.targets.kinematics.subtree_com[root] -= arm_bar;
        FrameBar {
            position: arm_bar,
            rotation: rotation_bar,
        }
    }
}

/// What moves through the medium.
struct Frame {
    /// From the tree's centre of mass to the frame's origin.
    arm: Vec3,
    rotation: Mat3,
    /// Relative to the medium, about the frame's origin, in world axes.
    motion: Spatial,
    /// The same in local axes.
    local_motion: Spatial,
}

/// Cotangent of a frame.
struct FrameBar {
    position: Vec3,
    rotation: Mat3,
}

impl Frame {
    /// The cotangent of the local force, for the body's motion about the tree's centre of mass.
    fn force_bar(&self, motion: Spatial) -> Spatial {
        (motion.shift_motion(self.arm)).into_local_axes(&self.rotation)
    }

    /// The local motion as six variables.
    fn motion_variables<const N: usize>(&self, first: usize) -> Spatial<Dual<N>> {
        let motion = self.local_motion;
        Spatial(std::array::from_fn(|i| {
            Dual::variable(motion[i], first + i)
        }))
    }
}

/// a·bᵀ of the rotational halves plus that of the translational halves.
fn outer_products(a: Spatial, b: Spatial) -> Mat3 {
    a.angular().outer(b.angular()) + a.linear().outer(b.linear())
}

/// The cotangents of N variables from that of a force that depends on them.
fn pull_back<const N: usize>(force: Spatial<Dual<N>>, bar: Spatial) -> [f64; N] {
    let mut sum = [0.0; N];
    for (component, bar) in force.0.iter().zip(bar.0) {
        for (sum, slope) in sum.iter_mut().zip(component.tangent) {
            *sum += slope * bar;
        }
    }
    sum
}

/// Cotangents of what the added mass depends on.
struct AddedMassBar<'a> {
    coefficients: &'a mut [f64; 12],
    density: &'a mut f64,
    motion: &'a mut Spatial,
}

/// The twin of [`added_mass`].
fn added_mass_vjp(
    coefficients: &[f64; 12],
    density: f64,
    motion: Spatial,
    bar: Spatial,
    bars: &mut AddedMassBar<'_>,
) {
    let [_, _, _, _, _, _, mx, my, mz, ix, iy, iz] = *coefficients;
    let (mass, inertia) = (Vec3([mx, my, mz]), Vec3([ix, iy, iz]));
    let (spin, speed) = (motion.angular(), motion.linear());
    let momentum = speed.component_mul(mass) * density;
    let angular_momentum = spin.component_mul(inertia) * density;
    let [mut momentum_bar, mut angular_bar] = [Vec3::ZERO; 2];
    let [mut spin_bar, mut speed_bar] = [Vec3::ZERO; 2];
    momentum.cross_vjp(speed, bar.angular(), &mut momentum_bar, &mut speed_bar);
    momentum.cross_vjp(spin, bar.linear(), &mut momentum_bar, &mut spin_bar);
    angular_momentum.cross_vjp(spin, bar.angular(), &mut angular_bar, &mut spin_bar);

    speed_bar += momentum_bar.component_mul(mass) * density;
    spin_bar += angular_bar.component_mul(inertia) * density;
    *bars.motion += Spatial::new(spin_bar, speed_bar);
    let (mass_bar, inertia_bar) = (
        momentum_bar.component_mul(speed),
        angular_bar.component_mul(spin),
    );
    *bars.density += mass_bar.dot(mass) + inertia_bar.dot(inertia);
    for k in 0..3 {
        bars.coefficients[6 + k] += mass_bar[k] * density;
        bars.coefficients[9 + k] += inertia_bar[k] * density;
    }
}
