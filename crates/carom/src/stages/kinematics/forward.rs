use super::{Kinematics, camera};
use crate::math::{Mat3, Quat, Spatial, SpatialInertia, Vec3};
use crate::model::{Coincidence, JointKind, Model};
use crate::scalar::Scalar;
use crate::state::State;

/// Masses below this count as zero, as in MuJoCo.
pub(super) const MIN_MASS: f64 = 1e-15;

/// Computes all frames from the configuration.
pub fn forward<T: Scalar>(model: &Model<T>, state: &State<T>, out: &mut Kinematics<T>) {
    body_frames(model, state, out);
    inertial_frames(model, out);
    geom_frames(model, out);
    site_frames(model, out);
    subtree_centers(model, out);
    body_inertias(model, out);
    dof_axes(model, out);
    camera::frames(model, out);
}

/// Frames of all bodies and, on the way, joint anchors and axes.
fn body_frames<T: Scalar>(model: &Model<T>, state: &State<T>, out: &mut Kinematics<T>) {
    out.body_position[0] = Vec3::ZERO;
    out.body_quat[0] = Quat::identity();
    out.body_rotation[0] = Mat3::identity();
    let (bodies, kinds) = (&model.structure.bodies, &model.structure.joints.kind);
    for body in 1..model.counts().nbody {
        let joints = bodies.joints[body].clone();
        let single = (joints.len() == 1).then(|| kinds[joints.start]);
        let (position, quat, rotation) = match single {
            Some(JointKind::Free) => free_body_frame(model, state, joints.start, out),
            Some(JointKind::Hinge) => hinged_frame(model, state, (body, joints.start), out),
            _ => {
                let (mut position, mut quat) = fixed_frame(model, state, body, out);
                for joint in joints {
                    (position, quat) = move_by_joint(model, state, joint, (position, quat), out);
                }
                let quat = renormalized(quat);
                (position, quat, quat.to_mat3())
            }
        };
        out.body_position[body] = position;
        out.body_quat[body] = quat;
        out.body_rotation[body] = rotation;
    }
}

/// The unit quaternion along one that is nearly so: a product of unit quaternions.
#[inline]
fn renormalized<T: Scalar>(quat: Quat<T>) -> Quat<T> {
    /// Deviation of the square below which one Newton step is exact to rounding.
    const NEARLY: f64 = 1e-8;
    let excess = quat.dot(quat) - 1.0;
    if excess.value().abs() > NEARLY {
        return quat.normalized();
    }
    let unit = quat * (T::ONE - excess * 0.5);
    if !T::HAS_DERIVATIVES {
        return unit;
    }
    // Derivatives of the exact one; values to the last bit as without them, since ties are broken by that bit.
    let exact = quat.normalized();
    Quat(std::array::from_fn(|i| {
        exact.0[i].with_value(unit.0[i].value())
    }))
}

/// The three or four coordinates from `address` on.
#[inline]
fn coordinates<T: Scalar, const N: usize>(qpos: &[T], address: usize) -> [T; N] {
    std::array::from_fn(|i| qpos[address + i])
}

/// A free body's frame is its coordinates. (3)
#[inline]
fn free_body_frame<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    joint: usize,
    out: &mut Kinematics<T>,
) -> (Vec3<T>, Quat<T>, Mat3<T>) {
    let address = model.structure.joints.qpos[joint];
    let position = Vec3(coordinates(&state.qpos, address));
    let quat = Quat(coordinates(&state.qpos, address + 3)).normalized();
    out.joint_anchor[joint] = position;
    out.joint_axis[joint] = model.joints.axis[joint];
    (position, quat, quat.to_mat3())
}

/// The frame of a body on a single hinge. As the axis is fixed in the body, it comes from the final rotation. (2)
#[inline]
fn hinged_frame<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    (body, joint): (usize, usize),
    out: &mut Kinematics<T>,
) -> (Vec3<T>, Quat<T>, Mat3<T>) {
    let (mut position, fixed) = fixed_frame(model, state, body, out);
    let address = model.structure.joints.qpos[joint];
    let angle = state.qpos[address] - model.qpos.reference[address];
    let (anchor_local, axis_local) = (model.joints.position[joint], model.joints.axis[joint]);
    let quat = renormalized(fixed.mul(Quat::from_axis_angle(axis_local, angle)));
    let rotation = quat.to_mat3();
    let mut anchor = position;
    if !is_zero(anchor_local) {
        anchor += fixed.rotate(anchor_local);
        position = anchor - rotation.mul_vec(anchor_local);
    }
    out.joint_anchor[joint] = anchor;
    out.joint_axis[joint] = rotation.mul_vec(axis_local);
    (position, quat, rotation)
}

/// The frame of a body before its joints move it: fixed in its parent, or set from outside. (1)
#[inline]
fn fixed_frame<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    body: usize,
    out: &Kinematics<T>,
) -> (Vec3<T>, Quat<T>) {
    let (position, quat) = match model.structure.bodies.mocap[body] {
        Some(mocap) => (
            state.mocap_position[mocap],
            state.mocap_quat[mocap].normalized(),
        ),
        None => (model.bodies.position[body], model.bodies.quat[body]),
    };
    let parent = model.structure.bodies.parent[body];
    if parent == 0 {
        return (position, quat);
    }
    let parent_quat = out.body_quat[parent];
    (
        out.body_rotation[parent].mul_vec(position) + out.body_position[parent],
        if is_identity(quat) {
            parent_quat
        } else {
            parent_quat.mul(quat)
        },
    )
}

/// Moves a frame by one joint and records the joint's anchor and axis. (2)
#[inline]
fn move_by_joint<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    joint: usize,
    (position, quat): (Vec3<T>, Quat<T>),
    out: &mut Kinematics<T>,
) -> (Vec3<T>, Quat<T>) {
    let address = model.structure.joints.qpos[joint];
    let (anchor_local, axis_local) = (model.joints.position[joint], model.joints.axis[joint]);
    let centered = is_zero(anchor_local);
    let axis = quat.rotate(axis_local);
    let anchor = if centered {
        position
    } else {
        quat.rotate(anchor_local) + position
    };
    out.joint_axis[joint] = axis;
    out.joint_anchor[joint] = anchor;
    let turn = match model.structure.joints.kind[joint] {
        JointKind::Slide => {
            let travel = state.qpos[address] - model.qpos.reference[address];
            return (position.scale_add(axis, travel), quat);
        }
        JointKind::Hinge => {
            let angle = state.qpos[address] - model.qpos.reference[address];
            Quat::from_axis_angle(axis_local, angle)
        }
        JointKind::Ball | JointKind::Free => Quat(coordinates(&state.qpos, address)).normalized(),
    };
    let quat = quat.mul(turn);
    if centered {
        return (position, quat);
    }
    (anchor - quat.rotate(anchor_local), quat)
}

/// Whether a rotation is constantly none.
#[inline]
fn is_identity<T: Scalar>(quat: Quat<T>) -> bool {
    !T::HAS_DERIVATIVES && quat == Quat::identity()
}

/// Whether a vector is constantly zero.
#[inline]
fn is_zero<T: Scalar>(vector: Vec3<T>) -> bool {
    !T::HAS_DERIVATIVES && vector == Vec3::ZERO
}

/// Frames of the bodies, to which other frames are fixed.
pub(super) struct BodyFrames<'a, T> {
    position: &'a [Vec3<T>],
    quat: &'a [Quat<T>],
    rotation: &'a [Mat3<T>],
    inertial_position: &'a [Vec3<T>],
    inertial_rotation: &'a [Mat3<T>],
}

/// The frames of the bodies in the results of this stage.
macro_rules! body_frames {
    ($out:expr) => {
        BodyFrames {
            position: &$out.body_position,
            quat: &$out.body_quat,
            rotation: &$out.body_rotation,
            inertial_position: &$out.inertial_position,
            inertial_rotation: &$out.inertial_rotation,
        }
    };
}

impl<'a, T: Scalar> BodyFrames<'a, T> {
    /// The frames in finished results.
    pub(super) fn of(kinematics: &'a Kinematics<T>) -> Self {
        body_frames!(kinematics)
    }

    /// Writes the world frame of something fixed to a body. (4)
    ///
    /// A frame that coincides with another is copied, except where derivatives have to pass through its numbers.
    // One copy in memory: the step as a whole is larger than the instruction cache.
    #[inline(never)]
    pub(super) fn place(
        &self,
        (body, coincidence): (usize, Coincidence),
        (local_position, local_quat): (&Vec3<T>, &Quat<T>),
        position: &mut Vec3<T>,
        rotation: &mut Mat3<T>,
    ) {
        let coincidence = if T::HAS_DERIVATIVES {
            Coincidence::None
        } else {
            coincidence
        };
        *position = match coincidence {
            Coincidence::Body => self.position[body],
            Coincidence::Inertia => self.inertial_position[body],
            _ => self.rotation[body].mul_vec(*local_position) + self.position[body],
        };
        *rotation = match coincidence {
            Coincidence::Body | Coincidence::BodyAxes => self.rotation[body],
            Coincidence::Inertia | Coincidence::InertiaAxes => self.inertial_rotation[body],
            Coincidence::None => self.quat[body].mul(*local_quat).to_mat3(),
        };
    }
}

/// Centres of mass and principal axes.
fn inertial_frames<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    out.inertial_position[0] = Vec3::ZERO;
    out.inertial_rotation[0] = Mat3::identity();
    let frames = BodyFrames {
        position: &out.body_position,
        quat: &out.body_quat,
        rotation: &out.body_rotation,
        // An inertial frame does not refer to another.
        inertial_position: &[],
        inertial_rotation: &[],
    };
    let numbers = &model.bodies;
    let coincidences = &model.structure.coincidences.bodies;
    for body in 1..coincidences.len() {
        frames.place(
            (body, coincidences[body]),
            (
                &numbers.inertial_position[body],
                &numbers.inertial_quat[body],
            ),
            &mut out.inertial_position[body],
            &mut out.inertial_rotation[body],
        );
    }
}

/// Frames of the geoms.
fn geom_frames<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    let frames = body_frames!(out);
    let structure = &model.structure;
    let local = model.geoms.position.iter().zip(&model.geoms.quat);
    let world = out.geom_position.iter_mut().zip(&mut out.geom_rotation);
    let places = (structure.geoms.body.iter()).zip(&structure.coincidences.geoms);
    for (((&body, &coincidence), local), (position, rotation)) in places.zip(local).zip(world) {
        frames.place((body, coincidence), local, position, rotation);
    }
}

/// Frames of the sites.
fn site_frames<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    let frames = body_frames!(out);
    let structure = &model.structure;
    let local = model.sites.position.iter().zip(&model.sites.quat);
    let world = out.site_position.iter_mut().zip(&mut out.site_rotation);
    let places = (structure.sites.body.iter()).zip(&structure.coincidences.sites);
    for (((&body, &coincidence), local), (position, rotation)) in places.zip(local).zip(world) {
        frames.place((body, coincidence), local, position, rotation);
    }
}

/// Centres of mass of the subtrees. (5)
fn subtree_centers<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    let nbody = model.counts().nbody;
    let parent = &model.structure.bodies.parent[..nbody];
    let (mass, subtree_mass) = (
        &model.bodies.mass[..nbody],
        &model.bodies.subtree_mass[..nbody],
    );
    let (center, position) = (
        &mut out.subtree_com[..nbody],
        &out.inertial_position[..nbody],
    );
    for body in 0..nbody {
        center[body] = position[body] * mass[body];
    }
    for body in (1..nbody).rev() {
        let moment = center[body];
        center[parent[body]] += moment;
        center[body] = normalized_center(moment, subtree_mass[body], position[body]);
    }
    center[0] = normalized_center(center[0], subtree_mass[0], position[0]);
}

/// First moment over mass; a subtree without mass has its centre at the body's.
#[inline]
fn normalized_center<T: Scalar>(moment: Vec3<T>, mass: T, position: Vec3<T>) -> Vec3<T> {
    if mass.value() < MIN_MASS {
        position
    } else {
        moment * mass.recip()
    }
}

/// Body inertias about the centre of mass of their tree. (6)
fn body_inertias<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    out.body_inertia[0] = SpatialInertia::ZERO;
    let (bodies, root) = (&model.bodies, &model.structure.bodies.root);
    for body in 1..model.counts().nbody {
        let offset = out.inertial_position[body] - out.subtree_com[root[body]];
        out.body_inertia[body] = SpatialInertia::from_body(
            bodies.inertia[body],
            &out.inertial_rotation[body],
            offset,
            bodies.mass[body],
        );
        let products = bodies.inertia_products[body];
        if T::HAS_DERIVATIVES || products != Vec3::ZERO {
            out.body_inertia[body].add_products(products, &out.inertial_rotation[body]);
        }
    }
}

/// Motion axes about the centre of mass of their tree. (7)
fn dof_axes<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    let joints = &model.structure.joints;
    for joint in 0..model.counts().njoint {
        let (body, dof) = (joints.body[joint], joints.dof[joint]);
        let center = out.subtree_com[model.structure.bodies.root[body]];
        let offset = center - out.joint_anchor[joint];
        let axis = out.joint_axis[joint];
        match joints.kind[joint] {
            JointKind::Slide => out.dof_axis[dof] = Spatial::new(Vec3::ZERO, axis),
            JointKind::Hinge => out.dof_axis[dof] = rotation_axis(axis, offset),
            JointKind::Ball => ball_axes(body, dof, offset, out),
            JointKind::Free => {
                out.dof_axis[dof] = Spatial::new(Vec3::ZERO, Vec3::X);
                out.dof_axis[dof + 1] = Spatial::new(Vec3::ZERO, Vec3::Y);
                out.dof_axis[dof + 2] = Spatial::new(Vec3::ZERO, Vec3::Z);
                ball_axes(body, dof + 3, offset, out);
            }
        }
    }
}

/// The three axes of a ball joint are those of the body frame.
#[inline]
fn ball_axes<T: Scalar>(body: usize, dof: usize, offset: Vec3<T>, out: &mut Kinematics<T>) {
    for k in 0..3 {
        out.dof_axis[dof + k] = rotation_axis(out.body_rotation[body].column(k), offset);
    }
}

/// Rotation about an axis through a point from which the reference is at `offset`.
#[inline]
fn rotation_axis<T: Scalar>(axis: Vec3<T>, offset: Vec3<T>) -> Spatial<T> {
    Spatial::new(axis, axis.cross(offset))
}
