//! Impedance d(r) and the spring-damper of the reference acceleration.
//!
//! solimp = (d₀, d₁, width, midpoint, power). With x = |r|/width, the curve rises from d₀ at x = 0 to d₁ at x = 1 along
//! y(x): two power functions that meet at the midpoint with equal slope,
//!
//!   y = x^p / mid^(p−1) for x ≤ mid,   y = 1 − (1 − x)^p / (1 − mid)^(p−1) beyond            (1)
//!
//! solref is (time constant τ, damping ratio ζ), or with negative numbers (−stiffness, −damping):
//!
//!   k = 1/(d₁·τ·ζ)²,  b = 2/(d₁·τ)      or      k = stiffness/d₁²,  b = damping/d₁       (2)

use crate::model::{ContactsFromDistance, Model};
use crate::scalar::Scalar;

/// The least number that MuJoCo divides by.
pub(super) const MIN_VALUE: f64 = 1e-15;
/// Bounds of the impedance.
const IMPEDANCE_RANGE: [f64; 2] = [0.0001, 0.9999];
/// Least impedance of a contact from distance: nothing, but for divisions by it.
const LEAST_DISTANT: f64 = 1e-12;
/// What replaces a solref of mixed signs.
const DEFAULT_SOLREF: [f64; 2] = [0.02, 1.0];

/// A piece of the curve of an impedance. (1)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// Up to the midpoint, or up to the width where the curve is a straight line.
    #[default]
    Start,
    /// From the midpoint to the width.
    Middle,
    /// Beyond the width.
    End,
}

/// Spring-damper and impedance of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impedance<T: Scalar = f64> {
    /// k of (2); zero for friction.
    pub stiffness: T,
    /// b of (2).
    pub damping: T,
    /// d.
    pub value: T,
    /// Derivative of d by position.
    pub slope: T,
    /// The piece of the curve on which d was taken.
    pub piece: Piece,
}

/// Parameters of a spring-damper and its impedance, made safe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference<T: Scalar = f64> {
    solref: [T; 2],
    solimp: [T; 5],
}

impl<T: Scalar> Reference<T> {
    /// Parameters as the model gives them, brought into their ranges for steps of some length.
    pub fn new(model: &Model<T>, timestep: T, solref: [T; 2], solimp: [T; 5]) -> Self {
        Self::with_least_time_constant(least_time_constant(model, timestep), solref, solimp)
    }

    /// As [`Self::new`], given the least time constant if there is one.
    pub(super) fn with_least_time_constant(
        least: Option<T>,
        solref: [T; 2],
        solimp: [T; 5],
    ) -> Self {
        let unlimited = Self::unlimited(solref, solimp);
        Self {
            solref: limit_time_constant(least, unlimited.solref),
            ..unlimited
        }
    }

    /// As [`Self::new`], for a time step that is short enough for any time constant.
    pub fn unlimited(solref: [T; 2], solimp: [T; 5]) -> Self {
        let solref = if has_mixed_signs(solref) {
            DEFAULT_SOLREF.map(T::from)
        } else {
            solref
        };
        Self {
            solref,
            solimp: safe_solimp(solimp),
        }
    }

    /// `solimp` within its ranges.
    pub fn solimp(&self) -> [T; 5] {
        self.solimp
    }

    /// The reference of the friction directions of an elliptic cone: `solreffriction` unless zero or of mixed signs.
    pub(super) fn with_friction_solref(self, least: Option<T>, solreffriction: [T; 2]) -> Self {
        let zero = solreffriction == [T::ZERO; 2];
        if zero || has_mixed_signs(solreffriction) {
            return self;
        }
        Self {
            solref: limit_time_constant(least, solreffriction),
            ..self
        }
    }

    /// Impedance at a signed distance from the margin, with the spring and damper. (1), (2)
    pub fn at(&self, distance: T) -> Impedance<T> {
        let (value, slope) = impedance_curve(&self.solimp, distance);
        self.with(self.piece(distance), value, slope)
    }

    /// The piece of the curve that a signed distance from the margin is on.
    pub fn piece(&self, distance: T) -> Piece {
        piece_at(&self.solimp, distance.abs() / self.solimp[2])
    }

    /// [`Self::at`] a distance that is negative, on a given piece of the curve, which is followed beyond its ends.
    pub fn on(&self, piece: Piece, distance: T) -> Impedance<T> {
        let (value, slope) = curve_on(&self.solimp, piece, -distance / self.solimp[2]);
        let bounds = [LEAST_DISTANT, IMPEDANCE_RANGE[1]].map(T::from);
        let is_within = value >= bounds[0] && value <= bounds[1];
        let value = if is_within {
            value
        } else {
            value.clamp(bounds[0], bounds[1])
        };
        self.with(piece, value, -slope)
    }

    fn with(&self, piece: Piece, value: T, slope: T) -> Impedance<T> {
        Impedance {
            stiffness: self.stiffness(),
            damping: self.damping(),
            value,
            slope,
            piece,
        }
    }

    /// [`Self::at`] a distance, for a contact that also acts from a distance.
    pub(super) fn at_or_from(
        &self,
        distant: Option<&ContactsFromDistance>,
        distance: T,
    ) -> Impedance<T> {
        let Some(distant) = distant.filter(|_| distance >= T::ZERO) else {
            return self.at(distance);
        };
        let curve = [
            distant.far_impedance,
            distant.near_impedance,
            distant.width,
            distant
                .midpoint
                .clamp(IMPEDANCE_RANGE[0], IMPEDANCE_RANGE[1]),
            distant.power,
        ];
        let (value, slope) = impedance_curve(&curve.map(T::from), -distance + distant.width);
        let value = value.clamp(T::from(LEAST_DISTANT), T::from(IMPEDANCE_RANGE[1]));
        self.with(Piece::default(), value, -slope)
    }

    /// k of (2).
    pub fn stiffness(&self) -> T {
        let ([time_constant, ratio], width) = (self.solref, self.solimp[1]);
        if time_constant > T::ZERO {
            floor(width * width * time_constant * time_constant * ratio * ratio).recip()
        } else {
            -time_constant / floor(width * width)
        }
    }

    /// b of (2).
    pub fn damping(&self) -> T {
        let ([time_constant, ratio], width) = (self.solref, self.solimp[1]);
        if ratio > T::ZERO {
            T::from(2.0) / floor(width * time_constant)
        } else {
            -ratio / floor(width)
        }
    }
}

/// The impedance and its derivative at a signed distance from the margin, for a solimp within its ranges. (1)
pub fn impedance_curve<T: Scalar>(solimp: &[T; 5], distance: T) -> (T, T) {
    let x = distance.abs() / solimp[2];
    if x <= T::ZERO && solimp[2].value() > MIN_VALUE {
        return (solimp[0], T::ZERO);
    }
    let (value, slope) = curve_on(solimp, piece_at(solimp, x), x);
    (value, if distance < T::ZERO { -slope } else { slope })
}

/// The piece of the curve that x is on.
fn piece_at<T: Scalar>(&[_, _, _, midpoint, power]: &[T; 5], x: T) -> Piece {
    if x >= T::ONE {
        Piece::End
    } else if x > midpoint && power != T::ONE {
        Piece::Middle
    } else {
        Piece::Start
    }
}

/// The impedance and its derivative by distance at x on a piece, also beyond its ends.
fn curve_on<T: Scalar>(solimp: &[T; 5], piece: Piece, x: T) -> (T, T) {
    let [start, end, width, midpoint, power] = *solimp;
    // Where both ends are the same, the curve is flat, but moving one of them still bends it.
    let is_flat = start == end && !T::HAS_DERIVATIVES;
    if is_flat || width.value() <= MIN_VALUE {
        return ((start + end) * 0.5, T::ZERO);
    }
    let is_straight = power == T::ONE;
    let (y, slope) = match piece {
        Piece::End => return (end, T::ZERO),
        _ if !T::HAS_DERIVATIVES && is_straight => (x, T::ONE),
        Piece::Start if !(is_straight && x > midpoint) => {
            let scale = raise(midpoint, power - T::ONE).recip();
            let (y, slope) = signed_power(x, power);
            (scale * y, scale * slope)
        }
        _ => {
            let scale = raise(T::ONE - midpoint, power - T::ONE).recip();
            let (y, slope) = signed_power(T::ONE - x, power);
            (T::ONE - scale * y, scale * slope)
        }
    };
    // The straight line without rounding, as plain numbers take it.
    let y = if is_straight {
        y.with_value(x.value())
    } else {
        y
    };
    (start + y * (end - start), slope * (end - start) / width)
}

/// x^p and its derivative, for negative x as smooth as powers allow: even or odd, as the next integer power is.
fn signed_power<T: Scalar>(x: T, power: T) -> (T, T) {
    if x > T::ZERO {
        return (raise(x, power), power * raise(x, power - T::ONE));
    }
    if x.value() == 0.0 {
        let slope = if power == T::ONE { T::ONE } else { T::ZERO };
        return (x * slope, slope);
    }
    let (y, slope) = (raise(-x, power), power * raise(-x, power - T::ONE));
    if power.value().round() % 2.0 == 0.0 {
        (y, -slope)
    } else {
        (-y, slope)
    }
}

/// base^exponent, with the usual exponents 1 and 2 multiplied out.
#[inline]
fn raise<T: Scalar>(base: T, exponent: T) -> T {
    if T::HAS_DERIVATIVES {
        let value = raise(base.value(), exponent.value());
        base.powt(exponent).with_value(value)
    } else if exponent == T::ONE {
        base
    } else if exponent.value() == 2.0 {
        base * base
    } else {
        base.powt(exponent)
    }
}

/// Standard and direct format must not be mixed.
fn has_mixed_signs<T: Scalar>([first, second]: [T; 2]) -> bool {
    (first > T::ZERO) != (second > T::ZERO)
}

/// The shortest time constant that the integrator can resolve, two time steps, unless the model waives it.
pub(super) fn least_time_constant<T: Scalar>(model: &Model<T>, timestep: T) -> Option<T> {
    (!model.settings.disable.refsafe).then(|| timestep * 2.0)
}

fn limit_time_constant<T: Scalar>(least: Option<T>, [first, second]: [T; 2]) -> [T; 2] {
    match least {
        Some(least) if first > T::ZERO => [first.max(least), second],
        _ => [first, second],
    }
}

fn safe_solimp<T: Scalar>([start, end, width, midpoint, power]: [T; 5]) -> [T; 5] {
    let [low, high] = IMPEDANCE_RANGE.map(T::from);
    [
        start.clamp(low, high),
        end.clamp(low, high),
        width.max(T::ZERO),
        midpoint.clamp(low, high),
        power.max(T::ONE),
    ]
}

/// At least the least divisor.
#[inline]
pub(super) fn floor<T: Scalar>(number: T) -> T {
    number.max(T::from(MIN_VALUE))
}
