//! Motors and servos with several controls, states or forces: what their laws see and give, and the chain rule over it.
//!
//! Each law is a file of its own with its equations: [`dc_motor`](super::dc_motor), [`pid`](super::pid),
//! [`so3`](super::so3). All of them are functions of one set of numbers, [`Seen`], so the derivatives by controls,
//! states, lengths, speeds and parameters follow from dual numbers in one place: with outputs yₖ(x),
//!
//!   x̄ = Σₖ ȳₖ·∂yₖ/∂x                                                                      (1)

use super::dc_motor::DcMotor;
use super::pid::Pid;
use super::so3::Orientation;
use crate::dual::{Dual, LANES};
use crate::model::{ActuatorInput, ActuatorStructure, GainKind, ServoInputs, ServoStates};
use crate::scalar::Scalar;

/// Most controls of an actuator.
pub const MOST_CONTROLS: usize = 4;
/// Most states of an actuator.
pub const MOST_STATES: usize = ServoStates::MAX_COUNT;
/// Most forces of an actuator.
pub const MOST_FORCES: usize = 3;

/// Everything that a law depends on. What an actuator does not have is zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<T> {
    /// Parameters of the dynamics.
    pub dynamics: [T; 10],
    /// Parameters of the gain.
    pub gain: [T; 10],
    /// Parameters of the bias.
    pub bias: [T; 10],
    /// Range of the activations.
    pub activation_range: [T; 2],
    /// Lengths (m or rad), one for each force.
    pub length: [T; MOST_FORCES],
    /// Their rates (m/s or rad/s).
    pub velocity: [T; MOST_FORCES],
    /// Controls within their ranges.
    pub controls: [T; MOST_CONTROLS],
    /// Activations.
    pub activations: [T; MOST_STATES],
    /// Rates of the activations with which they advance; only [`Servo::advance`] reads them.
    pub rates: [T; MOST_STATES],
    /// Length of a full turn, where set points are equivalent modulo it (rad); zero otherwise.
    pub period: T,
    /// Time step (s).
    pub timestep: T,
}

/// How many numbers [`Seen`] has.
const NUMBERS: usize = 3 * 10 + 2 + 2 * MOST_FORCES + MOST_CONTROLS + 2 * MOST_STATES + 2;

/// A number with its derivatives by some of what a law depends on: a law is compiled for this width in any case.
pub type Varied = Dual<LANES>;

impl<T: Scalar> Seen<T> {
    /// All zero.
    #[must_use]
    pub fn zero() -> Self {
        Self {
            dynamics: [T::ZERO; 10],
            gain: [T::ZERO; 10],
            bias: [T::ZERO; 10],
            activation_range: [T::ZERO; 2],
            length: [T::ZERO; MOST_FORCES],
            velocity: [T::ZERO; MOST_FORCES],
            controls: [T::ZERO; MOST_CONTROLS],
            activations: [T::ZERO; MOST_STATES],
            rates: [T::ZERO; MOST_STATES],
            period: T::ZERO,
            timestep: T::ZERO,
        }
    }

    /// All numbers, always in the same order.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut T> {
        (self.dynamics.iter_mut())
            .chain(&mut self.gain)
            .chain(&mut self.bias)
            .chain(&mut self.activation_range)
            .chain(&mut self.length)
            .chain(&mut self.velocity)
            .chain(&mut self.controls)
            .chain(&mut self.activations)
            .chain(&mut self.rates)
            .chain([&mut self.period, &mut self.timestep])
    }
}

impl Seen<f64> {
    /// The same numbers, of which [`LANES`] are variables from a place on; the others are constants.
    fn varied(mut self, first: usize) -> Seen<Varied> {
        let mut out = Seen::zero();
        let pairs = out.numbers_mut().zip(self.numbers_mut());
        for (place, (varied, &mut number)) in pairs.enumerate() {
            *varied = (place.checked_sub(first))
                .map_or(Dual::constant(number), |lane| Dual::variable(number, lane));
        }
        out
    }

    /// The cotangents of all numbers from those of outputs, which `law` computes with their cotangents. (1)
    #[must_use]
    pub fn pull_back<O>(self, mut law: impl FnMut(&Seen<Varied>) -> O) -> Self
    where
        O: IntoIterator<Item = (Varied, f64)>,
    {
        let mut sums = [0.0; NUMBERS];
        for (chunk, sums) in sums.chunks_mut(LANES).enumerate() {
            for (output, bar) in law(&self.varied(chunk * LANES)) {
                // What has no cotangent may have infinite slopes.
                if bar != 0.0 {
                    for (sum, slope) in sums.iter_mut().zip(output.tangent) {
                        *sum += slope * bar;
                    }
                }
            }
        }
        let mut out = Self::zero();
        for (number, sum) in out.numbers_mut().zip(sums) {
            *number = sum;
        }
        out
    }
}

/// What a law gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acting<T> {
    /// Forces that the range of forces limits (N or N·m).
    pub force: [T; MOST_FORCES],
    /// What adds to the first of them beyond the limit (N or N·m).
    pub mechanical: T,
    /// Rates of the activations.
    pub rates: [T; MOST_STATES],
}

/// Places of the states of a motor or servo among its activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Limited set point.
    pub slew: Option<usize>,
    /// Integrated error.
    pub integral: Option<usize>,
    /// Temperature.
    pub temperature: Option<usize>,
    /// Bristle deflection.
    pub bristle: Option<usize>,
    /// Current.
    pub current: Option<usize>,
}

impl Places {
    /// The places of the states that there are.
    #[must_use]
    pub fn of(states: ServoStates) -> Self {
        let mut next = 0;
        let [slew, integral, temperature, bristle, current] = states.flags().map(|present| {
            let place = next;
            next += usize::from(present);
            present.then_some(place)
        });
        Self {
            slew,
            integral,
            temperature,
            bristle,
            current,
        }
    }
}

/// The controls of a servo: set points of position and velocity, feedforward, voltage; zero where there is none.
pub(super) fn unpack<T: Scalar>(inputs: ServoInputs, controls: &[T; MOST_CONTROLS]) -> [T; 4] {
    let mut next = 0;
    let [position, velocity, feedforward, voltage, _] = inputs.flags();
    [position, velocity, feedforward, voltage].map(|present| {
        let place = next;
        next += usize::from(present);
        if present { controls[place] } else { T::ZERO }
    })
}

/// The equivalent of a set point that is nearest to `center`, where a full turn has a length.
pub(super) fn nearest_turn<T: Scalar>(setpoint: T, center: T, period: T) -> T {
    if period.value() <= 0.0 {
        return setpoint;
    }
    let turns = ((setpoint - center).value() / period.value()).round();
    setpoint - period * turns
}

/// A set point that leaves the last one no faster than `rate`.
pub(super) fn limit_rate<T: Scalar>(setpoint: T, last: T, rate: T, timestep: T) -> T {
    let reach = rate * timestep;
    setpoint.clamp(last - reach, last + reach)
}

/// The error that an integral goes on to sum: none that would take it further beyond ±`most`, if there is such a limit.
pub(super) fn without_windup<T: Scalar>(error: T, integral: T, most: T) -> T {
    if most.value() <= 0.0 {
        error
    } else if integral.value() >= most.value() {
        error.min(T::ZERO)
    } else if integral.value() <= -most.value() {
        error.max(T::ZERO)
    } else {
        error
    }
}

/// Duration over which an exact filter with time constant τ applies its rate: τ·(1 − e^(−h/τ)).
pub(super) fn filter_duration<T: Scalar>(time_constant: T, timestep: T) -> T {
    time_constant * (-(-timestep / time_constant).exp() + 1.0)
}

/// The law of a motor or servo, with what is discrete about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servo {
    /// Electric motor.
    DcMotor(DcMotor),
    /// Servo of a length.
    Pid(Pid),
    /// Servo of an orientation.
    Orientation(Orientation),
}

impl Servo {
    /// The law of an actuator, if it is one of these; most are not, which is answered in place.
    #[inline]
    #[must_use]
    pub fn of(actuators: &ActuatorStructure, actuator: usize) -> Option<Self> {
        let gain = actuators.gain[actuator];
        let is_servo = matches!(gain, GainKind::DcMotor | GainKind::Pid | GainKind::So3);
        is_servo.then(|| Self::of_kind(gain, actuators, actuator))
    }

    #[cold]
    fn of_kind(gain: GainKind, actuators: &ActuatorStructure, actuator: usize) -> Self {
        let (input, states) = (actuators.input[actuator], actuators.states[actuator]);
        let inputs = match input {
            ActuatorInput::Servo(inputs) => inputs,
            ActuatorInput::RotationVector | ActuatorInput::Quaternion => ServoInputs::default(),
        };
        let early = actuators.activation_early[actuator];
        let limited = actuators.activation_limited[actuator];
        match gain {
            GainKind::DcMotor => Self::DcMotor(DcMotor { inputs, states }),
            GainKind::Pid => Self::Pid(Pid {
                inputs,
                states,
                early,
                limited,
            }),
            _ => Self::Orientation(Orientation {
                by_quaternion: input == ActuatorInput::Quaternion,
                integrates: !actuators.activations[actuator].is_empty(),
                early,
                limited,
            }),
        }
    }

    /// Forces and rates of the activations.
    pub fn act<T: Scalar>(&self, seen: &Seen<T>) -> Acting<T> {
        match self {
            Self::DcMotor(law) => law.act(seen),
            Self::Pid(law) => law.act(seen),
            Self::Orientation(law) => law.act(seen),
        }
    }

    /// The activations after a step, from `seen.rates`.
    pub fn advance<T: Scalar>(&self, seen: &Seen<T>) -> [T; MOST_STATES] {
        match self {
            Self::DcMotor(law) => law.advance(seen),
            Self::Pid(law) => law.advance(seen),
            Self::Orientation(law) => law.advance(seen),
        }
    }

    /// ∂force/∂velocity that implicit integrators take, the same for each force; whether a limit holds the force.
    pub fn velocity_derivative<T: Scalar>(&self, seen: &Seen<T>, is_force_held: bool) -> T {
        match self {
            Self::DcMotor(law) => law.velocity_derivative(seen, is_force_held),
            Self::Pid(_) | Self::Orientation(_) if is_force_held => T::ZERO,
            Self::Pid(_) | Self::Orientation(_) => seen.bias[2],
        }
    }
}

#[cfg(test)]
mod tests;
