//! The adjoint of the derivatives of the medium's forces, as the implicit integrators need it.
//!
//! What they need is that of a·B·b for two motions a, b of a body, with B the derivative of the force on it. In the local
//! axes of a frame B is a small function of the motion and the law's numbers, whose derivatives come from dual numbers.

use super::fluid::{BoxDrag, has_ellipsoids, semi_axes};
use super::fluid_derivative::{ForceDerivative, ellipsoid, inertia_box};
use crate::dual::Dual;
use crate::math::{MIN_LENGTH, Mat3, Spatial, Vec3};
use crate::model::Model;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// A body in the medium, two motions of it, and where their cotangents go.
pub(crate) struct Immersed<'a> {
    pub(crate) model: &'a Model,
    pub(crate) kinematics: &'a Kinematics,
    pub(crate) velocity: &'a Velocity,
    pub(crate) kinematics_bar: &'a mut Kinematics,
    pub(crate) velocity_bar: &'a mut Velocity,
    pub(crate) model_bar: &'a mut Model,
}

/// Two motions of a body, about the centre of mass of its tree.
pub(crate) type Motions = [Spatial; 2];

/// A frame of the body, and the motions of the body and of the form about its origin.
struct Frame {
    arm: Vec3,
    rotation: Mat3,
    /// Relative to the medium, then the two; world axes.
    motions: [Spatial; 3],
}

impl Frame {
    fn local(&self, index: usize) -> Spatial {
        self.motions[index].into_local_axes(&self.rotation)
    }
}

/// Cotangents of a frame.
#[derive(Default)]
struct FrameBar {
    position: Vec3,
    rotation: Mat3,
    forms: Motions,
}

impl Immersed<'_> {
    /// Adds `bar` times the derivatives of a·B·b by everything but a and b; returns its value and those by a and b.
    pub(crate) fn form_vjp(&mut self, body: usize, pair: Motions, bar: f64) -> (f64, Motions) {
        let bodies = &self.model.structure.bodies;
        let (mut sum, mut pair_bar) = (0.0, Motions::default());
        if bodies.tree[body].is_none() || self.model.bodies.mass[body] < MIN_LENGTH {
            return (sum, pair_bar);
        }
        if self.is_absent() {
            self.absent(body, pair, bar);
            return (sum, pair_bar);
        }
        let mut add = |(value, motions): (f64, Motions)| {
            sum += value;
            for (total, motion) in pair_bar.iter_mut().zip(motions) {
                *total += motion;
            }
        };
        if !has_ellipsoids(self.model, body) {
            add(self.in_box(body, pair, bar));
            return (sum, pair_bar);
        }
        for geom in bodies.geoms[body].clone() {
            if self.model.geoms.fluid[geom][0] != 0.0 {
                add(self.in_ellipsoid(body, geom, pair, bar));
            }
        }
        (sum, pair_bar)
    }

    /// Whether there is no medium: then a·B·b vanishes, but not its derivatives by density and viscosity.
    pub(crate) fn is_absent(&self) -> bool {
        let option = &self.model.option;
        option.density[0] == 0.0 && option.viscosity[0] == 0.0
    }

    fn absent(&mut self, body: usize, pair: Motions, bar: f64) {
        if !has_ellipsoids(self.model, body) {
            let (position, rotation) = (
                self.kinematics.inertial_position[body],
                self.kinematics.inertial_rotation[body],
            );
            let frame = self.frame(body, position, rotation, pair);
            let numbers = &self.model.bodies;
            let drag = BoxDrag::new(numbers.mass[body], numbers.inertia[body]);
            let motions = [1, 2].map(|index| frame.local(index));
            let [density, viscosity] = drag.form_slopes(frame.local(0), motions);
            self.add_medium(bar * density, bar * viscosity);
            return;
        }
        let medium = self.medium_variables::<2>(0);
        for geom in self.model.structure.bodies.geoms[body].clone() {
            let coefficients = self.model.geoms.fluid[geom];
            if coefficients[0] == 0.0 {
                continue;
            }
            let (position, rotation) = (
                self.kinematics.geom_position[geom],
                self.kinematics.geom_rotation[geom],
            );
            let frame = self.frame(body, position, rotation, pair);
            let size = Vec3::from_f64(self.model.geoms.size[geom]);
            let axes = semi_axes(self.model.structure.geoms.kind[geom], size);
            let motion = Spatial::from_f64(frame.local(0));
            let derivative = ellipsoid(&coefficients.map(Dual::constant), medium, axes, motion);
            let (_, [density, viscosity]) = form(&derivative, &frame, bar);
            self.add_medium(density, viscosity);
        }
    }

    fn in_box(&mut self, body: usize, pair: Motions, bar: f64) -> (f64, Motions) {
        let (position, rotation) = (
            self.kinematics.inertial_position[body],
            self.kinematics.inertial_rotation[body],
        );
        let frame = self.frame(body, position, rotation, pair);
        let numbers = &self.model.bodies;
        let inertia = numbers.inertia[body];
        let derivative = inertia_box(
            self.medium_variables::<12>(10),
            (
                Dual::variable(numbers.mass[body], 6),
                Vec3(std::array::from_fn(|i| Dual::variable(inertia[i], 7 + i))),
            ),
            variables(frame.local(0)),
        );
        let (value, slopes) = form(&derivative, &frame, bar);
        let numbers_bar = &mut self.model_bar.bodies;
        numbers_bar.mass[body] += slopes[6];
        numbers_bar.inertia[body] += Vec3([slopes[7], slopes[8], slopes[9]]);
        self.add_medium(slopes[10], slopes[11]);
        let frame_bar = self.frame_vjp(body, &frame, &derivative, motion_of(&slopes), bar, pair);
        self.kinematics_bar.inertial_position[body] += frame_bar.position;
        self.kinematics_bar.inertial_rotation[body] += frame_bar.rotation;
        (value, frame_bar.forms)
    }

    fn in_ellipsoid(
        &mut self,
        body: usize,
        geom: usize,
        pair: Motions,
        bar: f64,
    ) -> (f64, Motions) {
        let (position, rotation) = (
            self.kinematics.geom_position[geom],
            self.kinematics.geom_rotation[geom],
        );
        let frame = self.frame(body, position, rotation, pair);
        let (size, coefficients) = (self.model.geoms.size[geom], self.model.geoms.fluid[geom]);
        let size = Vec3(std::array::from_fn(|i| Dual::variable(size[i], 18 + i)));
        let derivative = ellipsoid(
            &std::array::from_fn(|i| Dual::<23>::variable(coefficients[i], 6 + i)),
            self.medium_variables(21),
            semi_axes(self.model.structure.geoms.kind[geom], size),
            variables(frame.local(0)),
        );
        let (value, slopes) = form(&derivative, &frame, bar);
        let numbers_bar = &mut self.model_bar.geoms;
        for (sum, slope) in numbers_bar.fluid[geom].iter_mut().zip(&slopes[6..18]) {
            *sum += slope;
        }
        numbers_bar.size[geom] += Vec3([slopes[18], slopes[19], slopes[20]]);
        self.add_medium(slopes[21], slopes[22]);
        let frame_bar = self.frame_vjp(body, &frame, &derivative, motion_of(&slopes), bar, pair);
        self.kinematics_bar.geom_position[geom] += frame_bar.position;
        self.kinematics_bar.geom_rotation[geom] += frame_bar.rotation;
        (value, frame_bar.forms)
    }

    fn frame(&self, body: usize, position: Vec3, rotation: Mat3, pair: Motions) -> Frame {
        let root = self.model.structure.bodies.root[body];
        let arm = position - self.kinematics.subtree_com[root];
        let [a, b] = pair.map(|motion| motion.shift_motion(arm));
        let own = self.velocity.body[body].shift_motion(arm);
        let wind = self.model.option.wind[0];
        Frame {
            arm,
            rotation,
            motions: [Spatial::new(own.angular(), own.linear() - wind), a, b],
        }
    }

    fn medium_variables<const N: usize>(&self, first: usize) -> (Dual<N>, Dual<N>) {
        let option = &self.model.option;
        (
            Dual::variable(option.density[0], first),
            Dual::variable(option.viscosity[0], first + 1),
        )
    }

    fn add_medium(&mut self, density: f64, viscosity: f64) {
        self.model_bar.option.density[0] += density;
        self.model_bar.option.viscosity[0] += viscosity;
    }

    /// From the cotangent of the local motion to those of the frame, the body's velocity, the wind and the two motions.
    fn frame_vjp<const N: usize>(
        &mut self,
        body: usize,
        frame: &Frame,
        derivative: &ForceDerivative<Dual<N>>,
        local_motion_bar: Spatial,
        bar: f64,
        pair: Motions,
    ) -> FrameBar {
        let [a, b] = [1, 2].map(|index| Spatial::from_f64(frame.local(index)));
        let local_bars = [
            local_motion_bar,
            derivative.mul(b).value() * bar,
            derivative.transpose_mul(a).value() * bar,
        ];
        let mut result = FrameBar::default();
        let mut arm_bar = Vec3::ZERO;
        let velocity_bar = &mut self.velocity_bar.body[body];
        let [a_bar, b_bar] = &mut result.forms;
        let about_center = [self.velocity.body[body], pair[0], pair[1]];
        let targets = [velocity_bar, a_bar, b_bar];
        for (index, target) in targets.into_iter().enumerate() {
            let motion_bar = local_bars[index].into_world_axes(&frame.rotation);
            let motion = frame.motions[index];
            result.rotation += motion.angular().outer(local_bars[index].angular())
                + motion.linear().outer(local_bars[index].linear());
            about_center[index].shift_motion_vjp(frame.arm, motion_bar, target, &mut arm_bar);
            if index == 0 {
                self.model_bar.option.wind[0] -= motion_bar.linear();
            }
        }
        let root = self.model.structure.bodies.root[body];
        self.kinematics_bar.subtree_com[root] -= arm_bar;
        result.position = arm_bar;
        result
    }
}

/// The value of a·B·b, and `bar` times its derivatives by the variables in B.
fn form<const N: usize>(
    derivative: &ForceDerivative<Dual<N>>,
    frame: &Frame,
    bar: f64,
) -> (f64, [f64; N]) {
    let [a, b] = [1, 2].map(|index| Spatial::from_f64(frame.local(index)));
    let value = a.dot(derivative.mul(b));
    (value.value, value.tangent.map(|slope| slope * bar))
}

/// A motion as the first six variables.
fn variables<const N: usize>(motion: Spatial) -> Spatial<Dual<N>> {
    Spatial(std::array::from_fn(|i| Dual::variable(motion[i], i)))
}

/// The first six of some slopes.
fn motion_of(slopes: &[f64]) -> Spatial {
    Spatial(std::array::from_fn(|i| slopes[i]))
}
