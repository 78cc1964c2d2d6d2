//! Sensors of whatever carries a frame: pose, velocity, acceleration and force, with their adjoints.

use super::Sensed;
use super::backward::Reverse;
use super::measure::Reader;
use crate::cotangent::{quat_bar, turn_bar};
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{FrameObject, Model};
use crate::scalar::Scalar;

/// A frame in the world, carried by a body.
#[derive(Clone, Copy, Debug)]
struct Frame<'a, T: Scalar> {
    body: usize,
    position: Vec3<T>,
    rotation: &'a Mat3<T>,
    /// From the centre of mass of the body's tree to the frame.
    offset: Vec3<T>,
}

impl<'a, T: Scalar> Frame<'a, T> {
    fn new(model: &Model<T>, stages: &Sensed<'a, T>, object: FrameObject) -> Self {
        let (structure, kinematics) = (&model.structure, stages.kinematics);
        let (body, position, rotation) = match object {
            FrameObject::Inertial(body) => (
                body,
                kinematics.inertial_position[body],
                &kinematics.inertial_rotation[body],
            ),
            FrameObject::Body(body) => (
                body,
                kinematics.body_position[body],
                &kinematics.body_rotation[body],
            ),
            FrameObject::Geom(geom) => (
                structure.geoms.body[geom],
                kinematics.geom_position[geom],
                &kinematics.geom_rotation[geom],
            ),
            FrameObject::Site(site) => (
                structure.sites.body[site],
                kinematics.site_position[site],
                &kinematics.site_rotation[site],
            ),
            FrameObject::Camera(camera) => (
                structure.cameras.body[camera],
                kinematics.camera_position[camera],
                &kinematics.camera_rotation[camera],
            ),
        };
        let center = kinematics.subtree_com[structure.bodies.root[body]];
        Frame {
            body,
            position,
            rotation,
            offset: position - center,
        }
    }

    /// Velocity in world axes about the frame's origin, given that of all bodies.
    fn velocity(&self, stages: &Sensed<'_, T>) -> Spatial<T> {
        stages.velocity.body[self.body].shift_motion(self.offset)
    }

    /// Acceleration of the frame and its origin in world axes; the world itself accelerates against gravity.
    fn acceleration(&self, stages: &Sensed<'_, T>, body_acceleration: &[Spatial<T>]) -> Spatial<T> {
        let velocity = self.velocity(stages);
        let spatial = body_acceleration[self.body].shift_motion(self.offset);
        // The spatial acceleration is that of whichever point passes by; the body-fixed one also turns with the body.
        let turning = velocity.angular().cross(velocity.linear());
        Spatial::new(spatial.angular(), spatial.linear() + turning)
    }
}

/// Orientation of an object in the world.
fn quat<T: Scalar>(model: &Model<T>, stages: &Sensed<'_, T>, object: FrameObject) -> Quat<T> {
    let structure = &model.structure;
    let (body, local) = match object {
        FrameObject::Body(body) => return stages.kinematics.body_quat[body],
        FrameObject::Inertial(body) => (body, model.inertial_quat(body)),
        FrameObject::Geom(geom) => (structure.geoms.body[geom], model.geom_quat(geom)),
        FrameObject::Site(site) => (structure.sites.body[site], model.site_quat(site)),
        FrameObject::Camera(camera) => (structure.cameras.body[camera], model.cameras.quat[camera]),
    };
    stages.kinematics.body_quat[body].mul(local)
}

impl<T: Scalar> Reader<'_, T> {
    fn frame(&self, object: FrameObject) -> Frame<'_, T> {
        Frame::new(self.model, self.stages, object)
    }

    /// Velocity of a site in its own axes.
    pub(super) fn local_velocity(&self, site: usize) -> Spatial<T> {
        let frame = self.frame(FrameObject::Site(site));
        frame.velocity(self.stages).into_local_axes(frame.rotation)
    }

    /// Linear acceleration of a site in its own axes.
    pub(super) fn local_acceleration(&self, site: usize) -> Vec3<T> {
        let frame = self.frame(FrameObject::Site(site));
        let acceleration = frame.acceleration(self.stages, &self.sensing.body_acceleration);
        frame.rotation.transpose_mul_vec(acceleration.linear())
    }

    /// Force and torque between a body and its parent, at a site and in its axes.
    pub(super) fn local_force(&self, site: usize) -> Spatial<T> {
        let frame = self.frame(FrameObject::Site(site));
        self.sensing.interaction_force[frame.body]
            .shift_force(frame.offset)
            .into_local_axes(frame.rotation)
    }

    /// Acceleration of a frame in world axes.
    pub(super) fn frame_acceleration(&self, object: FrameObject) -> Spatial<T> {
        let frame = self.frame(object);
        frame.acceleration(self.stages, &self.sensing.body_acceleration)
    }

    /// Position of an object in the frame of a reference, or in the world.
    pub(super) fn frame_position(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
    ) -> Vec3<T> {
        let position = self.frame(object).position;
        match reference.map(|object| self.frame(object)) {
            None => position,
            Some(frame) => frame.rotation.transpose_mul_vec(position - frame.position),
        }
    }

    /// An axis of an object in the frame of a reference, or in the world.
    pub(super) fn frame_axis(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
        axis: usize,
    ) -> Vec3<T> {
        let axis = self.frame(object).rotation.column(axis);
        match reference.map(|object| self.frame(object)) {
            None => axis,
            Some(frame) => frame.rotation.transpose_mul_vec(axis),
        }
    }

    /// Orientation of an object in the frame of a reference, or in the world.
    pub(super) fn frame_quat(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
    ) -> Quat<T> {
        let orientation = |object| quat(self.model, self.stages, object);
        match reference {
            None => orientation(object),
            Some(reference) => orientation(reference).conjugate().mul(orientation(object)),
        }
    }

    /// Velocity of an object as seen from a reference that moves and turns, in its axes; or in the world.
    pub(super) fn relative_velocity(
        &self,
        object: FrameObject,
        reference: Option<FrameObject>,
    ) -> Spatial<T> {
        let object = self.frame(object);
        let velocity = object.velocity(self.stages);
        let Some(reference) = reference else {
            return velocity;
        };
        let reference = self.frame(reference);
        let offset = object.position - reference.position;
        let carried = reference.velocity(self.stages).shift_motion(offset);
        (velocity - carried).into_local_axes(reference.rotation)
    }
}

/// Cotangents of a frame.
#[derive(Clone, Copy, Default)]
struct FrameBar {
    position: Vec3,
    rotation: Mat3,
    /// Of the lever arm from the tree's centre of mass.
    offset: Vec3,
}

impl<'a> Reverse<'a> {
    fn frame(&self, object: FrameObject) -> Frame<'a, f64> {
        Frame::new(self.model, self.stages, object)
    }

    /// Hands the cotangents of a frame to whatever carries it.
    fn spread(&mut self, object: FrameObject, body: usize, bar: &FrameBar) {
        let kinematics = &mut self.bars.data.kinematics;
        kinematics.subtree_com[self.model.structure.bodies.root[body]] -= bar.offset;
        let (position, rotation) = match object {
            FrameObject::Inertial(body) => (
                &mut kinematics.inertial_position[body],
                &mut kinematics.inertial_rotation[body],
            ),
            FrameObject::Body(body) => (
                &mut kinematics.body_position[body],
                &mut kinematics.body_rotation[body],
            ),
            FrameObject::Geom(geom) => (
                &mut kinematics.geom_position[geom],
                &mut kinematics.geom_rotation[geom],
            ),
            FrameObject::Site(site) => (
                &mut kinematics.site_position[site],
                &mut kinematics.site_rotation[site],
            ),
            FrameObject::Camera(camera) => (
                &mut kinematics.camera_position[camera],
                &mut kinematics.camera_rotation[camera],
            ),
        };
        *position += bar.position + bar.offset;
        *rotation += bar.rotation;
    }

    /// The twin of [`Frame::velocity`].
    fn velocity(&mut self, frame: &Frame<'_, f64>, bar: Spatial, frame_bar: &mut FrameBar) {
        self.stages.velocity.body[frame.body].shift_motion_vjp(
            frame.offset,
            bar,
            &mut self.bars.data.velocity.body[frame.body],
            &mut frame_bar.offset,
        );
    }

    /// The twin of [`Frame::acceleration`].
    fn acceleration(&mut self, frame: &Frame<'_, f64>, bar: Spatial, frame_bar: &mut FrameBar) {
        let velocity = frame.velocity(self.stages);
        let [mut spin_bar, mut speed_bar] = [Vec3::ZERO; 2];
        (velocity.angular()).cross_vjp(
            velocity.linear(),
            bar.linear(),
            &mut spin_bar,
            &mut speed_bar,
        );
        self.velocity(frame, Spatial::new(spin_bar, speed_bar), frame_bar);
        self.sensing.body_acceleration[frame.body].shift_motion_vjp(
            frame.offset,
            bar,
            &mut self.bar.body_acceleration[frame.body],
            &mut frame_bar.offset,
        );
    }

    /// The adjoint of [`Reader::local_velocity`].
    pub(super) fn local_velocity(&mut self, site: usize, bar: Spatial) {
        let object = FrameObject::Site(site);
        let frame = self.frame(object);
        let mut frame_bar = FrameBar {
            rotation: outer_products(frame.velocity(self.stages), bar),
            ..FrameBar::default()
        };
        let velocity_bar = bar.into_world_axes(frame.rotation);
        self.velocity(&frame, velocity_bar, &mut frame_bar);
        self.spread(object, frame.body, &frame_bar);
    }

    /// The adjoint of [`Reader::local_force`].
    pub(super) fn local_force(&mut self, site: usize, bar: Spatial) {
        let object = FrameObject::Site(site);
        let frame = self.frame(object);
        let force = self.sensing.interaction_force[frame.body];
        let mut frame_bar = FrameBar {
            rotation: outer_products(force.shift_force(frame.offset), bar),
            ..FrameBar::default()
        };
        force.shift_force_vjp(
            frame.offset,
            bar.into_world_axes(frame.rotation),
            &mut self.bar.interaction_force[frame.body],
            &mut frame_bar.offset,
        );
        self.spread(object, frame.body, &frame_bar);
    }

    /// The adjoint of [`Reader::local_acceleration`].
    pub(super) fn local_acceleration(&mut self, site: usize, bar: Vec3) {
        let object = FrameObject::Site(site);
        let frame = self.frame(object);
        let acceleration = frame.acceleration(self.stages, &self.sensing.body_acceleration);
        let (mut frame_bar, mut linear_bar) = (FrameBar::default(), Vec3::ZERO);
        frame.rotation.transpose_mul_vec_vjp(
            acceleration.linear(),
            bar,
            &mut frame_bar.rotation,
            &mut linear_bar,
        );
        let acceleration_bar = Spatial::new(Vec3::ZERO, linear_bar);
        self.acceleration(&frame, acceleration_bar, &mut frame_bar);
        self.spread(object, frame.body, &frame_bar);
    }

    /// The adjoint of [`Reader::frame_acceleration`].
    pub(super) fn frame_acceleration(&mut self, object: FrameObject, bar: Spatial) {
        let frame = self.frame(object);
        let mut frame_bar = FrameBar::default();
        self.acceleration(&frame, bar, &mut frame_bar);
        self.spread(object, frame.body, &frame_bar);
    }

    /// The adjoint of [`Reader::frame_position`].
    pub(super) fn frame_position(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        bar: Vec3,
    ) {
        let frame = self.frame(object);
        let mut object_bar = FrameBar::default();
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let mut reference_bar = FrameBar::default();
            seen_from.rotation.transpose_mul_vec_vjp(
                frame.position - seen_from.position,
                bar,
                &mut reference_bar.rotation,
                &mut object_bar.position,
            );
            reference_bar.position -= object_bar.position;
            self.spread(reference, seen_from.body, &reference_bar);
        } else {
            object_bar.position = bar;
        }
        self.spread(object, frame.body, &object_bar);
    }

    /// The adjoint of [`Reader::frame_axis`].
    pub(super) fn frame_axis(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        axis: usize,
        bar: Vec3,
    ) {
        let frame = self.frame(object);
        let mut axis_bar = bar;
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let mut reference_bar = FrameBar::default();
            axis_bar = Vec3::ZERO;
            seen_from.rotation.transpose_mul_vec_vjp(
                frame.rotation.column(axis),
                bar,
                &mut reference_bar.rotation,
                &mut axis_bar,
            );
            self.spread(reference, seen_from.body, &reference_bar);
        }
        let mut object_bar = FrameBar::default();
        for k in 0..3 {
            object_bar.rotation[3 * k + axis] = axis_bar[k];
        }
        self.spread(object, frame.body, &object_bar);
    }

    /// The adjoint of [`Reader::relative_velocity`].
    pub(super) fn relative_velocity(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        bar: Spatial,
    ) {
        let frame = self.frame(object);
        let mut object_bar = FrameBar::default();
        let mut difference_bar = bar;
        if let Some(reference) = reference {
            let seen_from = self.frame(reference);
            let own = seen_from.velocity(self.stages);
            let offset = frame.position - seen_from.position;
            let difference = frame.velocity(self.stages) - own.shift_motion(offset);
            let mut reference_bar = FrameBar {
                rotation: outer_products(difference, bar),
                ..FrameBar::default()
            };
            difference_bar = bar.into_world_axes(seen_from.rotation);
            let mut own_bar = Spatial::ZERO;
            own.shift_motion_vjp(
                offset,
                -difference_bar,
                &mut own_bar,
                &mut object_bar.position,
            );
            reference_bar.position -= object_bar.position;
            self.velocity(&seen_from, own_bar, &mut reference_bar);
            self.spread(reference, seen_from.body, &reference_bar);
        }
        self.velocity(&frame, difference_bar, &mut object_bar);
        self.spread(object, frame.body, &object_bar);
    }

    /// The adjoint of [`Reader::frame_quat`].
    pub(super) fn frame_quat(
        &mut self,
        object: FrameObject,
        reference: Option<FrameObject>,
        bar: Quat,
    ) {
        let mut object_bar = bar;
        if let Some(reference) = reference {
            let own = quat(self.model, self.stages, object);
            let inverse = quat(self.model, self.stages, reference).conjugate();
            let mut inverse_bar = Quat::default();
            object_bar = Quat::default();
            inverse.mul_vjp(own, bar, &mut inverse_bar, &mut object_bar);
            self.orientation(reference, inverse_bar.conjugate());
        }
        self.orientation(object, object_bar);
    }

    /// The twin of [`quat`].
    fn orientation(&mut self, object: FrameObject, bar: Quat) {
        let (model, model_bar) = (self.model, &mut self.bars.model);
        let structure = &model.structure;
        let (body, local, own_bar) = match object {
            FrameObject::Body(body) => {
                self.bars.data.kinematics.body_quat[body] += bar;
                return;
            }
            FrameObject::Inertial(body) => (
                body,
                model.inertial_quat(body),
                &mut model_bar.bodies.inertial_quat[body],
            ),
            FrameObject::Geom(geom) => (
                structure.geoms.body[geom],
                model.geom_quat(geom),
                &mut model_bar.geoms.quat[geom],
            ),
            FrameObject::Site(site) => (
                structure.sites.body[site],
                model.site_quat(site),
                &mut model_bar.sites.quat[site],
            ),
            FrameObject::Camera(camera) => (
                structure.cameras.body[camera],
                model.cameras.quat[camera],
                &mut model_bar.cameras.quat[camera],
            ),
        };
        let mut local_bar = Quat::default();
        self.stages.kinematics.body_quat[body].mul_vjp(
            local,
            bar,
            &mut self.bars.data.kinematics.body_quat[body],
            &mut local_bar,
        );
        *own_bar += quat_bar(local, turn_bar(local, local_bar));
    }
}

/// a·bᵀ of the rotational halves plus that of the translational halves.
fn outer_products(a: Spatial, b: Spatial) -> Mat3 {
    a.angular().outer(b.angular()) + a.linear().outer(b.linear())
}
