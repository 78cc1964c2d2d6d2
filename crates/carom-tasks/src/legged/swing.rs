//! Where a swinging foot is to be.
//!
//! Seen from a body that moves with v, a foot that stands moves with −v. It is to lift off half a stance behind its neutral place and to
//! touch down half a stance ahead of it [Raibert 1986, §2], shifted by what the speed is off:
//!
//!   p(s) = v·(T₁·(h₀₁ − ½) − T₂·(h₁₀ + h₁₁)) + k·(v − v*)·h₀₁                                    (1)
//!
//! with the times T₁ of stance and T₂ of swing, and the cubic Hermite polynomials h of the phase s: at both ends the foot rests on the ground. Its height is a bump with level
//! ends,
//!
//!   z(s) = 16·c·s²·(1 − s)² − b·s³                                                          (2)
//!
//! of clearance c, and it reaches for a point b below the ground, so that it does not land late. Both depend on the state now and on
//! nothing before: the controller has no memory, and derivatives of its torques are those of a function.

use carom::Scalar;

/// Numbers of the swing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Height of the bump, c (m).
    pub clearance: f64,
    /// How far below the ground it reaches, b (m).
    pub reach: f64,
    /// How far the step is shifted by an error of the speed, k (s).
    pub shift: f64,
}

impl Default for Swing {
    fn default() -> Self {
        Self {
            clearance: 0.06,
            reach: 0.01,
            shift: 0.1,
        }
    }
}

/// A place and its speed, along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course<T> {
    /// Relative to the neutral place of the foot, or to the ground (m).
    pub place: T,
    /// Relative to the body, or to the ground (m/s).
    pub speed: T,
}

impl Swing {
    /// (1) along one horizontal axis, for the speeds of the body there. `times` are those of stance and swing (s).
    pub fn along<T: Scalar>(
        &self,
        s: f64,
        [stance, swing]: [f64; 2],
        v: T,
        wanted: T,
    ) -> Course<T> {
        let h01 = s * s * (3.0 - 2.0 * s);
        let ends = s * (1.0 - s) * (1.0 - 2.0 * s);
        let h01_dot = 6.0 * s * (1.0 - s);
        let ends_dot = 1.0 - 6.0 * s + 6.0 * s * s;
        let off = (v - wanted) * self.shift;
        Course {
            place: v * (stance * (h01 - 0.5) - swing * ends) + off * h01,
            speed: (v * (stance * h01_dot - swing * ends_dot) + off * h01_dot) / swing,
        }
    }

    /// (2).
    pub fn height(&self, s: f64, swing: f64) -> Course<f64> {
        let rest = s * (1.0 - s);
        let bump = 16.0 * self.clearance;
        Course {
            place: bump * rest * rest - self.reach * s * s * s,
            speed: (2.0 * bump * rest * (1.0 - 2.0 * s) - 3.0 * self.reach * s * s) / swing,
        }
    }
}
