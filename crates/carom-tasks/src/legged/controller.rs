//! From a state and a command to the torques of the joints.

use carom::math::{Mat3, Vec3};
use carom::{Data, Input, Model, Scalar, State, forward_frames};

use super::gait::{Gait, Phase};
use super::robot::{Motion, Robot};
use super::swing::Swing;
use super::{FORCES, LEGS};

/// How many numbers a policy sees.
///
/// In this order: velocity of the centre of mass (3, trunk axes), roll, pitch and yaw, which is zero in the frame of the heading (3),
/// angular velocity (3, trunk axes), which legs stand (4), feet relative to the centre of mass (12, trunk axes), friction
/// coefficients (4), and what is wanted: place (3, the height alone differs from zero), velocity (3, heading), angles (3, zero), angular
/// velocity (3).
pub const OBSERVED: usize = 41;

/// Where the feet begin among the observed numbers, and what comes before and after them.
pub(super) const STANDS: usize = 9;
pub(super) const FEET: usize = 13;
pub(super) const FRICTION: usize = 25;
pub(super) const WANTED: usize = 29;

/// Damping of a leg's servo that is as fast as it can be without swinging over.
const CRITICAL: f64 = 2.0;
/// What keeps the servo of a stretched leg finite (m²): the square of a twentieth of a usual leg.
const STRETCHED: f64 = 1e-4;

/// What is wanted of the trunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Speed ahead (m/s).
    pub forward: f64,
    /// Speed to the left (m/s).
    pub sideways: f64,
    /// Turning speed, to the left (rad/s).
    pub turn: f64,
}

/// From what is observed to the forces of the ground at the feet, heading frame (N); those of swinging feet do not act.
pub trait ForcePolicy {
    /// Writes the forces, foot after foot.
    fn forces(&mut self, observed: &[f64; OBSERVED], forces: &mut [f64; FORCES]);
}

/// The controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// What it controls.
    pub robot: Robot,
    /// When legs swing.
    pub gait: Gait,
    /// How legs swing.
    pub swing: Swing,
    /// Height of the centre of mass that is wanted (m).
    pub height: f64,
    /// Friction coefficient of the ground that it may count on.
    pub friction: f64,
    /// How fast a swinging foot follows its path (rad/s).
    pub bandwidth: f64,
    /// The largest torque of a joint (N·m).
    pub torque: f64,
}

impl Motion {
    /// What a policy sees.
    pub fn observed(
        &self,
        controller: &Controller,
        time: f64,
        command: Command,
    ) -> [f64; OBSERVED] {
        self.observe(controller, time, command)
    }
}

impl<T: Scalar> Motion<T> {
    /// What a policy sees; see [`OBSERVED`].
    pub fn observe(&self, controller: &Controller, time: f64, command: Command) -> [T; OBSERVED] {
        let mut out = [T::ZERO; OBSERVED];
        let axes = &self.rotation;
        out[..3].copy_from_slice(&axes.transpose_mul_vec(self.linear).0);
        out[3..5].copy_from_slice(&self.tilt);
        out[6..9].copy_from_slice(&axes.transpose_mul_vec(self.angular).0);
        for (leg, foot) in self.feet.iter().enumerate() {
            let stands = controller.gait.phase(leg, time).is_stance();
            out[STANDS + leg] = T::from(f64::from(u8::from(stands)));
            let place = FEET + 3 * leg;
            out[place..place + 3].copy_from_slice(&axes.transpose_mul_vec(*foot).0);
            out[FRICTION + leg] = T::from(controller.friction);
        }
        out[WANTED + 2] = T::from(controller.height);
        out[WANTED + 3] = T::from(command.forward);
        out[WANTED + 4] = T::from(command.sideways);
        out[WANTED + 11] = T::from(command.turn);
        out
    }
}

impl Controller {
    /// With numbers that suit robots of the size of a dog.
    pub fn new(robot: Robot, gait: Gait) -> Self {
        Self {
            height: robot.height,
            robot,
            gait,
            swing: Swing::default(),
            friction: 0.45,
            bandwidth: 50.0,
            torque: f64::INFINITY,
        }
    }

    /// Torques of all joints, leg after leg, that press these forces through standing legs and move swinging ones.
    pub fn torques<T: Scalar>(
        &self,
        motion: &Motion<T>,
        time: f64,
        command: Command,
        forces: &[T; FORCES],
    ) -> [T; FORCES] {
        let mut torques = [T::ZERO; FORCES];
        let ground = self.ground(motion, time);
        for leg in 0..LEGS {
            let own = match self.gait.phase(leg, time) {
                Phase::Stance(_) => {
                    let force = Vec3([forces[3 * leg], forces[3 * leg + 1], forces[3 * leg + 2]]);
                    -motion.jacobians[leg].transpose_mul_vec(force)
                }
                Phase::Swing(s) => {
                    let wanted = self.pull(motion, leg, s, command, ground);
                    let inertia = self.robot.legs[leg].inertia;
                    widened(&inertia).mul_vec(solve(&motion.jacobians[leg], wanted))
                }
            };
            let limit = T::from(self.torque);
            for axis in 0..3 {
                torques[3 * leg + axis] = own[axis].clamp(-limit, limit);
            }
        }
        torques
    }

    /// Height of the ground in the frame of the heading: that of the feet that stand, or of all if none does.
    fn ground<T: Scalar>(&self, motion: &Motion<T>, time: f64) -> T {
        let stands = |&leg: &usize| self.gait.phase(leg, time).is_stance();
        let mut count = (0..LEGS).filter(stands).count();
        let any = count > 0;
        count = if any { count } else { LEGS };
        let standing = (0..LEGS).filter(|leg| !any || stands(leg));
        let sum = standing.fold(T::ZERO, |sum, leg| sum + motion.feet[leg][2]);
        sum / count as f64
    }

    /// Acceleration that brings a swinging foot to its path.
    fn pull<T: Scalar>(
        &self,
        motion: &Motion<T>,
        leg: usize,
        s: f64,
        command: Command,
        ground: T,
    ) -> Vec3<T> {
        let times = [self.gait.stance, self.gait.swing];
        let (foot, speed) = (motion.feet[leg], motion.foot_speeds[leg]);
        let neutral = self.robot.legs[leg].neutral;
        let (body, turning) = (motion.linear, motion.angular[2]);
        let across = [-neutral[1], neutral[0]];
        let wanted = [command.forward, command.sideways];
        // Of the foot as it is seen from the turning frame.
        let seen = [
            speed[0] - body[0] + turning * foot[1],
            speed[1] - body[1] - turning * foot[0],
        ];
        let mut pull = Vec3::ZERO;
        let (stiffness, damping) = (self.bandwidth * self.bandwidth, CRITICAL * self.bandwidth);
        for axis in 0..2 {
            let v = body[axis] + turning * across[axis];
            let goal = T::from(wanted[axis] + command.turn * across[axis]);
            let course = self.swing.along(s, times, v, goal);
            let off = course.place + neutral[axis] - foot[axis];
            pull[axis] = off * stiffness + (course.speed - seen[axis]) * damping;
        }
        let course = self.swing.height(s, self.gait.swing);
        let off = ground + course.place - foot[2];
        pull[2] = off * stiffness + (-speed[2] + course.speed) * damping;
        pull
    }

    /// Writes the torques of a state to the input.
    pub fn act(
        &self,
        model: &Model,
        state: &State,
        command: Command,
        policy: &mut dyn ForcePolicy,
        data: &mut Data,
        input: &mut Input,
    ) {
        forward_frames(model, state, data);
        let motion = self.robot.motion(model, state, &data.kinematics);
        let observed = motion.observed(self, state.time, command);
        let mut forces = [0.0; FORCES];
        policy.forces(&observed, &mut forces);
        let torques = self.torques(&motion, state.time, command, &forces);
        for (dof, torque) in self.robot.joint_dofs().zip(torques) {
            input.force[dof] = torque;
        }
    }
}

fn widened<T: Scalar>(matrix: &Mat3) -> Mat3<T> {
    let [x, y, z] = [0, 1, 2].map(|row| matrix.row(row).map(T::from));
    Mat3::from_rows(x, y, z)
}

/// Jᵀ·(J·Jᵀ + λ·1)⁻¹·a: the joint accelerations that move the foot with a, and remain finite where the leg is stretched.
fn solve<T: Scalar>(jacobian: &Mat3<T>, a: Vec3<T>) -> Vec3<T> {
    let mut square = jacobian.mul(&jacobian.transpose());
    for axis in 0..3 {
        square[4 * axis] = square[4 * axis] + STRETCHED;
    }
    jacobian.transpose_mul_vec(square.inverse().mul_vec(a))
}
