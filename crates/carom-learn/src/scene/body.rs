//! Where a body is and how it moves.

use carom::math::{Mat3, Vec3};
use carom_scalar::Scalar;

/// Velocities in world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist<T = f64> {
    /// Of the centre (m/s).
    pub linear: Vec3<T>,
    /// Angular (rad/s).
    pub angular: Vec3<T>,
}

/// Pose and velocity of a body; its centre is the mean of its vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body<T = f64> {
    /// The centre (m).
    pub position: Vec3<T>,
    /// From the frame of the body to the world.
    pub rotation: Mat3<T>,
    /// Velocities.
    pub twist: Twist<T>,
}

impl<T: Scalar> Body<T> {
    /// Where a point of the body is.
    pub fn point(&self, local: Vec3) -> Vec3<T> {
        self.position + self.rotation.mul_vec(constant(local))
    }

    /// How fast the body moves where it is at a point of the world (m/s).
    pub fn velocity_at(&self, point: Vec3<T>) -> Vec3<T> {
        self.twist.linear + self.twist.angular.cross(point - self.position)
    }

    /// The body over plain numbers.
    pub fn plain(&self) -> Body {
        let vector = |vector: Vec3<T>| vector.map(Scalar::value);
        Body {
            position: vector(self.position),
            rotation: self.rotation.map(Scalar::value),
            twist: Twist {
                linear: vector(self.twist.linear),
                angular: vector(self.twist.angular),
            },
        }
    }
}

/// A vector of plain numbers over another scalar.
pub(crate) fn constant<T: Scalar>(vector: Vec3) -> Vec3<T> {
    vector.map(T::from)
}

/// The frame in which a body sees its surroundings: z is up, x where a horizontal axis of the body points. A turn of
/// everything about the vertical turns it too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heading<T = f64> {
    cos: T,
    sin: T,
}

/// An axis that is less horizontal than this (length of its shadow) gives way to the next one.
const LEAST_SHADOW: f64 = 0.5;

impl<T: Scalar> Heading<T> {
    /// The frame of a body, some quarter turns further on.
    pub fn of(rotation: &Mat3<T>, quarter_turns: usize) -> Self {
        let first = rotation.column(0);
        let is_steep = first[0].value().hypot(first[1].value()) < LEAST_SHADOW;
        let axis = if is_steep { rotation.column(1) } else { first };
        let length = (axis[0] * axis[0] + axis[1] * axis[1]).sqrt();
        let (cos, sin) = (axis[0] / length, axis[1] / length);
        let (cos, sin) = match quarter_turns % 4 {
            0 => (cos, sin),
            1 => (-sin, cos),
            2 => (-cos, -sin),
            _ => (sin, -cos),
        };
        Self { cos, sin }
    }

    /// A vector of the world, seen from the frame.
    pub fn see(&self, world: Vec3<T>) -> Vec3<T> {
        Vec3::new(
            self.cos * world[0] + self.sin * world[1],
            self.cos * world[1] - self.sin * world[0],
            world[2],
        )
    }

    /// A vector of the frame, in the world.
    pub fn show(&self, seen: Vec3<T>) -> Vec3<T> {
        Vec3::new(
            self.cos * seen[0] - self.sin * seen[1],
            self.sin * seen[0] + self.cos * seen[1],
            seen[2],
        )
    }
}
