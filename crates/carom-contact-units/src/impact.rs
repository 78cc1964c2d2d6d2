//! Impacts: closed form for constant impedance, a one-dimensional integration otherwise.

use crate::NormalContact;

/// Steps of the integration within the shortest time of the contact.
const RESOLUTION: f64 = 64.0;
/// More steps than any impact takes; a bound against hanging on extreme numbers.
const MAX_STEPS: usize = 4_000_000;
/// Meeting points within a step that [`stepped_restitution`] tries.
const PHASES: u32 = 16;

/// What an impact does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Speed when the surfaces part over the speed of the impact; zero if they stay together.
    pub restitution: f64,
    /// Time until the contact force first vanishes (s); infinite if it never does.
    pub duration: f64,
    /// Greatest penetration (m).
    pub depth: f64,
    /// Greatest contact force (N).
    pub peak_force: f64,
}

/// ε of (5) for a damping ratio ζ ≥ 0.
pub fn restitution_of_damping_ratio(ratio: f64) -> f64 {
    (-2.0 * half_angle_cotangent(ratio.max(0.0))).exp()
}

/// ω·t of the end of an impact, for a damping ratio ζ ≥ 0: 2·φ/sin φ.
pub fn impact_duration_of_damping_ratio(ratio: f64) -> f64 {
    let gap = 1.0 - ratio * ratio;
    if gap.abs() < SERIES {
        2.0 + gap / 3.0
    } else if gap > 0.0 {
        2.0 * ratio.acos() / gap.sqrt()
    } else {
        2.0 * ratio.acosh() / (-gap).sqrt()
    }
}

/// The damping ratio ζ for which (5) gives this restitution, which must be above 0 and at most 1.
pub fn damping_ratio_of_restitution(restitution: f64) -> f64 {
    let wanted = -0.5 * restitution.clamp(f64::MIN_POSITIVE, 1.0).ln();
    // φ·cot φ grows with ζ, from 0 and finally like ln 2·ζ.
    let (mut low, mut high) = (0.0, 1.0 + wanted.exp());
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if half_angle_cotangent(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Below this |1 − ζ²| the series at critical damping is exact to rounding.
const SERIES: f64 = 1e-8;

/// φ·cot φ with φ = acos ζ, continued by η·coth η beyond ζ = 1.
fn half_angle_cotangent(ratio: f64) -> f64 {
    let gap = 1.0 - ratio * ratio;
    if gap.abs() < SERIES {
        1.0 - gap / 3.0
    } else if gap > 0.0 {
        ratio * ratio.acos() / gap.sqrt()
    } else {
        ratio * ratio.acosh() / (-gap).sqrt()
    }
}

/// Position and rate of the one-dimensional motion.
#[derive(Clone, Copy)]
struct Motion {
    distance: f64,
    rate: f64,
}

impl Motion {
    /// One step of the classical Runge–Kutta method.
    fn advanced(self, contact: &NormalContact, free: f64, h: f64) -> Self {
        let slope = |at: Self| Self {
            distance: at.rate,
            rate: contact.acceleration(at.distance, at.rate, free),
        };
        let along = |slope: Self, h: f64| Self {
            distance: self.distance + h * slope.distance,
            rate: self.rate + h * slope.rate,
        };
        let first = slope(self);
        let second = slope(along(first, 0.5 * h));
        let third = slope(along(second, 0.5 * h));
        let fourth = slope(along(third, h));
        let mean = |f: fn(Self) -> f64| (f(first) + 2.0 * (f(second) + f(third)) + f(fourth)) / 6.0;
        let mean = Self {
            distance: mean(|slope| slope.distance),
            rate: mean(|slope| slope.rate),
        };
        along(mean, h)
    }
}

/// Integrates an impact until the surfaces part or the bodies stay together.
pub(super) fn integrate(contact: &NormalContact, speed: f64, force: f64) -> Impact {
    let mut impact = Impact {
        restitution: 0.0,
        duration: f64::INFINITY,
        depth: 0.0,
        peak_force: 0.0,
    };
    if !(speed > 0.0 && speed.is_finite() && force >= 0.0 && force.is_finite()) {
        return impact;
    }
    let free = -force / contact.mass();
    let h = step_size(contact, speed);
    let mut motion = Motion {
        // Just inside: the law acts from the first moment.
        distance: -speed * h * 1e-9,
        rate: -speed,
    };
    let mut time = 0.0;
    for _ in 0..MAX_STEPS {
        let pushed = pushes(contact, motion, free);
        let push =
            contact.mass() * (contact.acceleration(motion.distance, motion.rate, free) - free);
        impact.peak_force = impact.peak_force.max(push);
        impact.depth = impact.depth.max(-motion.distance);
        let next = motion.advanced(contact, free, h);
        if pushed && !pushes(contact, next, free) && impact.duration.is_infinite() {
            let share = release(contact, motion, free, h);
            impact.duration = time + share * h;
            if free == 0.0 {
                // Nothing acts any more: the speed stays.
                let end = motion.advanced(contact, free, share * h);
                impact.restitution = (end.rate / speed).max(0.0);
                return impact;
            }
        }
        if next.distance >= 0.0 {
            impact.restitution = parting_speed(motion, free) / speed;
            return impact;
        }
        let turned_back = motion.rate > 0.0 && next.rate <= 0.0;
        let settled =
            next.rate.abs() < 1e-9 * speed && (next.rate - motion.rate).abs() < 1e-12 * speed;
        if turned_back || settled {
            return impact;
        }
        motion = next;
        time += h;
    }
    impact
}

/// A fraction of the shortest time in the law.
fn step_size(contact: &NormalContact, speed: f64) -> f64 {
    let [start, end, ..] = contact.solimp();
    let width = contact.full_depth();
    let depth = if start > end { 0.0 } else { width };
    let rate = contact.frequency(depth) + 2.0 / contact.time_constant(depth);
    // A fast body crosses the depths over which the impedance varies in a shorter time.
    let crossing = if width > 0.0 {
        0.25 * speed / width
    } else {
        0.0
    };
    1.0 / (RESOLUTION * (rate + crossing))
}

fn pushes(contact: &NormalContact, motion: Motion, free: f64) -> bool {
    contact.acceleration(motion.distance, motion.rate, free) > free
}

/// The fraction of a step after which the force vanishes.
fn release(contact: &NormalContact, motion: Motion, free: f64, h: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if pushes(contact, motion.advanced(contact, free, middle * h), free) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Speed at which a freely moving body leaves, from its last position inside.
fn parting_speed(motion: Motion, free: f64) -> f64 {
    (motion.rate * motion.rate - 2.0 * free * motion.distance)
        .max(0.0)
        .sqrt()
}

/// Least and greatest restitution of semi-implicit steps, over where in a step the bodies meet.
pub(super) fn stepped_restitution(contact: &NormalContact, speed: f64, timestep: f64) -> [f64; 2] {
    let mut bounds = [f64::INFINITY, f64::NEG_INFINITY];
    for phase in 0..PHASES {
        let inside = (f64::from(phase) + 0.5) / f64::from(PHASES);
        let restitution = stepped_impact(contact, speed, timestep, inside);
        bounds = [bounds[0].min(restitution), bounds[1].max(restitution)];
    }
    bounds
}

/// Steps until the surfaces part; `inside` is the part of the first step spent in contact.
fn stepped_impact(contact: &NormalContact, speed: f64, timestep: f64, inside: f64) -> f64 {
    let mut motion = Motion {
        distance: -speed * timestep * inside,
        rate: -speed,
    };
    for _ in 0..MAX_STEPS {
        let acceleration = contact.acceleration(motion.distance, motion.rate, 0.0);
        // Without force the speed stays; inwards it would soon meet force again.
        if motion.distance >= 0.0 || (acceleration == 0.0 && motion.rate >= 0.0) {
            break;
        }
        motion.rate += timestep * acceleration;
        motion.distance += timestep * motion.rate;
    }
    (motion.rate / speed).max(0.0)
}
