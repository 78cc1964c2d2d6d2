//! What happens between the bodies, and behind the striker.

use carom_scalar::scalar::Scalar;

use crate::motion::Moving;

/// Damping ratio of the arm, which recordings of a few milliseconds do not show.
const ARM_DAMPING: f64 = 0.7;

/// How the arm moves the striker after the first touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// It goes on as before for so long (s).
    pub delay: f64,
    /// Then it brakes (m/s²),
    pub brake: f64,
    /// and goes back along its line (m/s)
    pub retreat: f64,
    /// so far (m).
    pub travel: f64,
}

/// What happens between the bodies, and behind the striker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactLaw<T: Scalar = f64> {
    /// Pressure along the outline for a depth of a metre (N/m), as a logarithm.
    pub stiffness: T,
    /// Its growth with the speed of approach (s/m), as a logarithm.
    pub dissipation: T,
    /// Coulomb's coefficient.
    pub friction: T,
    /// Mass of striker and arm (kg), as a logarithm.
    pub arm_mass: T,
    /// How fast the arm follows its command (rad/s), as a logarithm.
    pub arm_rate: T,
    /// Inertia of striker and arm about the vertical (kg·m²), as a logarithm.
    pub arm_inertia: T,
    /// Slip below which friction fades out (m/s), as a logarithm.
    pub slip: T,
    /// Power of the depth in the pressure.
    pub power: T,
}

/// How many numbers a contact law has.
pub const CONTACT_NUMBERS: usize = 8;

impl<T: Scalar> ContactLaw<T> {
    /// The numbers in order.
    pub fn numbers(&self) -> [T; CONTACT_NUMBERS] {
        [
            self.stiffness,
            self.dissipation,
            self.friction,
            self.arm_mass,
            self.arm_rate,
            self.arm_inertia,
            self.slip,
            self.power,
        ]
    }

    /// The law of numbers in order.
    pub fn of(n: &[T]) -> Self {
        Self {
            stiffness: n[0],
            dissipation: n[1],
            friction: n[2],
            arm_mass: n[3],
            arm_rate: n[4],
            arm_inertia: n[5],
            slip: n[6],
            power: n[7],
        }
    }
}

/// What the arm was doing when the bodies touched first, from which follows what it does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command<T: Scalar = f64> {
    /// Time since the first touch (s); zero before.
    pub clock: T,
    /// x, y, yaw of the striker at the first touch.
    pub from: [T; 3],
    /// Its velocity there (m/s).
    pub velocity: [T; 2],
}

/// How many numbers a command has.
pub(crate) const COMMAND_NUMBERS: usize = 6;

impl<T: Scalar> Command<T> {
    /// Before any touch.
    pub fn none() -> Self {
        Self {
            clock: T::ZERO,
            from: [T::ZERO; 3],
            velocity: [T::ZERO; 2],
        }
    }

    /// The numbers in order.
    pub fn numbers(&self) -> [T; COMMAND_NUMBERS] {
        let ([x, y, yaw], [u, v]) = (self.from, self.velocity);
        [self.clock, x, y, yaw, u, v]
    }

    /// The command of numbers in order.
    pub fn of(n: &[T]) -> Self {
        Self {
            clock: n[0],
            from: [n[1], n[2], n[3]],
            velocity: [n[4], n[5]],
        }
    }

    /// Whether the bodies have touched.
    pub fn has_begun(&self) -> bool {
        self.clock.value() > 0.0
    }

    /// How far along its line the arm is, as a multiple of the velocity at the first touch, and how fast.
    fn along(&self, arm: &Arm, speed: T) -> (T, T) {
        let braking = self.clock - arm.delay;
        if braking.value() <= 0.0 || arm.brake <= 0.0 {
            return (speed * self.clock, speed);
        }
        let ahead = speed * arm.delay;
        let back = T::from(-arm.retreat);
        // It turns where the speed is zero, and brakes again when it is back by the travel.
        let turning = (speed - back) / arm.brake;
        if braking.value() < turning.value() {
            let now = speed - braking * arm.brake;
            return (ahead + (speed + now) * braking * 0.5, now);
        }
        let after_turn = ahead + (speed + back) * turning * 0.5;
        let turn = ahead + speed * speed * (0.5 / arm.brake);
        let way = (after_turn - turn + arm.travel).max(T::ZERO);
        let backwards = braking - turning;
        if arm.retreat <= 0.0 {
            return (after_turn, T::ZERO);
        }
        let goes_for = way / arm.retreat;
        if backwards.value() < goes_for.value() {
            return (after_turn + back * backwards, back);
        }
        let stopping = backwards - goes_for;
        let stops_for = arm.retreat / arm.brake;
        let stopping = stopping.min(T::from(stops_for));
        let now = back + stopping * arm.brake;
        (after_turn - way + (back + now) * stopping * 0.5, now)
    }

    /// What the arm does to the striker: two forces (N) and a torque (N·m).
    pub(crate) fn force(&self, arm: &Arm, law: &ContactLaw<T>, held: &Moving<T>) -> [T; 3] {
        if !self.has_begun() {
            return [T::ZERO; 3];
        }
        let [u, v] = self.velocity;
        let speed = (u * u + v * v).sqrt();
        let direction = if speed.value() > 0.0 {
            [u / speed, v / speed]
        } else {
            [T::ZERO; 2]
        };
        let (along, now) = self.along(arm, speed);
        let rate = law.arm_rate.exp();
        let (spring, damper) = (rate * rate, rate * (2.0 * ARM_DAMPING));
        let mass = law.arm_mass.exp();
        let pull = |k: usize| {
            let goal = self.from[k] + direction[k] * along;
            mass * (spring * (goal - held.pose[k]) + damper * (direction[k] * now - held.rate[k]))
        };
        let turn = spring * (self.from[2] - held.pose[2]) - damper * held.rate[2];
        [pull(0), pull(1), law.arm_inertia.exp() * turn]
    }
}
