//! Where laws were learned.

use crate::motion::{Bodies, Course};
use carom_scalar::scalar::Scalar;

/// The box in which laws were learned; they are not asked outside of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Fastest that the striker came (m/s).
    pub speed: f64,
    /// Fastest that the struck body slid (m/s).
    pub slide: f64,
    /// Fastest that it turned (rad/s).
    pub spin: f64,
    /// How deep the bodies were in each other (m).
    pub depth: f64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        speed: f64::INFINITY,
        slide: f64::INFINITY,
        spin: f64::INFINITY,
        depth: f64::INFINITY,
    };

    /// The numbers in order.
    pub fn numbers(&self) -> [f64; 4] {
        [self.speed, self.slide, self.spin, self.depth]
    }

    /// The limits of numbers in order.
    pub fn of([speed, slide, spin, depth]: [f64; 4]) -> Self {
        Self {
            speed,
            slide,
            spin,
            depth,
        }
    }

    /// Whether bodies that move so are within, for as long as `reach` (s).
    pub fn admit<T: Scalar>(&self, bodies: &Bodies, course: &Course<T>, reach: f64) -> bool {
        let size = |rate: &[T; 3]| rate[0].value().hypot(rate[1].value());
        let body = &course.body.rate;
        if size(body) > self.slide || body[2].value().abs() > self.spin {
            return false;
        }
        // Where they do not come near, the striker may move as it likes.
        if bodies.are_apart(course, reach) {
            return true;
        }
        size(&course.held.rate) <= self.speed
            && course.held.rate[2].value().abs() <= self.spin
            && bodies.depth_bound(course) <= self.depth
    }
}
