//! Losses: how far a prediction is from a recording, as residuals whose halved squares add up to the value.
//!
//! At a frame, each compared channel gives a group of numbers e: prediction less recording, for orientations the rotation
//! vector log(R̂ᵀ·R), or the entries of R − R̂ or of the quaternions. A group is weighted, r = e·w/σ with σ the standard deviation of the
//! noise where it is known, and a penalty ρ of s = ‖r‖² says what it costs:
//!
//! | penalty | ρ | |
//! |---|---|---|
//! | squared | s/2 | for noise that is Gaussian |
//! | huber(δ) | s/2 up to ‖r‖ = δ, then δ·‖r‖ − δ²/2 | outliers count less |
//! | norm(ε) | √(s + ε²) − ε | distance and angle themselves, as in Eq. 1 of the few-shot paper |
//! | absolute(ε) | the same for each number of the group | mean absolute errors |
//!
//! The residual that is handed out is r̃ = r·√(2ρ/s), so that the loss is ½‖r̃‖² for every penalty, and Gauss–Newton methods need not
//! know which one it is.

mod observe;
mod penalty;

pub use observe::Observer;
pub(crate) use observe::{Observed, measured};
pub use penalty::Penalty;

use crate::recording::{Channel, Quantity};

/// How orientations are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RotationError {
    /// By the rotation vector between them (rad), three numbers.
    #[default]
    Vector,
    /// By the nine entries of their matrices.
    Matrix,
    /// By the four numbers of their quaternions, of equal sign.
    Quaternion,
}

impl RotationError {
    fn width(self) -> usize {
        match self {
            Self::Vector => 3,
            Self::Matrix => 9,
            Self::Quaternion => 4,
        }
    }
}

/// What numbers of each kind count; 0 leaves them out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Positions of bodies and sites (1/m).
    pub position: f64,
    /// Orientations.
    pub rotation: f64,
    /// Velocities of bodies (s/m).
    pub linear_velocity: f64,
    /// Angular velocities of bodies (s/rad).
    pub angular_velocity: f64,
    /// Joints.
    pub joint_position: f64,
    /// Velocities of joints.
    pub joint_velocity: f64,
    /// Sensors.
    pub sensor: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            position: 1.0,
            rotation: 1.0,
            linear_velocity: 1.0,
            angular_velocity: 1.0,
            joint_position: 1.0,
            joint_velocity: 1.0,
            sensor: 1.0,
        }
    }
}

impl Weights {
    /// Configurations alone.
    pub fn positions() -> Self {
        Self {
            linear_velocity: 0.0,
            angular_velocity: 0.0,
            joint_velocity: 0.0,
            ..Self::default()
        }
    }

    fn of(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Position(_) => self.position,
            Quantity::Rotation(_) => self.rotation,
            Quantity::LinearVelocity { .. } => self.linear_velocity,
            Quantity::AngularVelocity { .. } => self.angular_velocity,
            Quantity::JointPosition { .. } => self.joint_position,
            Quantity::JointVelocity { .. } => self.joint_velocity,
            Quantity::Sensor { .. } => self.sensor,
        }
    }
}

/// Over what the loss is a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Average {
    /// Nothing: penalties are summed. With known noise the value is then a negative logarithm of the likelihood.
    Sum,
    /// All predicted frames.
    #[default]
    Frames,
    /// The frames of each run, then the runs: short trajectories count as much as long ones.
    Runs,
}

/// How far a prediction is from a recording; see the [module](self) documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// What a group of residuals costs.
    pub penalty: Penalty,
    /// How orientations are compared.
    pub rotation: RotationError,
    /// What each kind of channel counts.
    pub weights: Weights,
    /// Whether residuals are divided by the standard deviation of the noise, where it is known.
    pub by_noise: bool,
    /// Over what the loss is a mean.
    pub average: Average,
}

impl Default for Loss {
    /// Squares of everything that was recorded, in units of its noise.
    fn default() -> Self {
        Self {
            penalty: Penalty::Squared,
            rotation: RotationError::Vector,
            weights: Weights::default(),
            by_noise: true,
            average: Average::Frames,
        }
    }
}

impl Loss {
    /// Eq. 1 of the few-shot paper: Σ ‖x − x̂‖/w + |angle(R, R̂)| over frames and bodies, for bodies of width w (m).
    pub fn distance_and_angle(width: f64) -> Self {
        Self {
            penalty: Penalty::Norm { softness: 1e-6 },
            weights: Weights {
                position: 1.0 / width,
                ..Weights::positions()
            },
            by_noise: false,
            ..Self::default()
        }
    }

    /// Squared errors of poses with orientations as matrices, as in the identification of `DiffMJX`.
    pub fn squared_poses() -> Self {
        Self {
            rotation: RotationError::Matrix,
            weights: Weights::positions(),
            by_noise: false,
            ..Self::default()
        }
    }

    /// Mean absolute errors of positions, entries of rotation matrices and velocities: `mae18` of a free body, but for the factor 18.
    pub fn absolute() -> Self {
        Self {
            penalty: Penalty::Absolute { softness: 1e-3 },
            rotation: RotationError::Matrix,
            by_noise: false,
            average: Average::Runs,
            ..Self::default()
        }
    }

    /// The factor of the error of a channel; 0 if it is not compared.
    pub fn weight(&self, channel: &Channel) -> f64 {
        let weight = self.weights.of(channel.quantity);
        match channel.noise {
            _ if !channel.is_compared => 0.0,
            Some(noise) if self.by_noise => weight / noise,
            _ => weight,
        }
    }

    /// Residuals of a channel at a frame.
    pub fn width(&self, channel: &Channel) -> usize {
        match channel.quantity {
            Quantity::Rotation(_) => self.rotation.width(),
            _ => channel.width,
        }
    }
}
