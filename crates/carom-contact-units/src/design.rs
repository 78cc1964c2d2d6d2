//! From wanted physical behaviour to solref.

use carom::Error;
use carom::stages::constraint::Reference;

use crate::error::{no_impedance, no_restitution, positive};
use crate::{NormalContact, damping_ratio_of_restitution};

/// What is given before the behaviour is chosen: the effective mass and how the impedance depends on depth.
///
/// The impedance decides how much of the bodies' inertia the contact adds, D = d/((1 − d)·κ)·m: near 1 the contact
/// gives little way under load for its speed, near 0 it is a plain spring and damper. "Full" below means at the depth
/// where the impedance has reached its end, so at all depths if it is constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactDesign {
    mass: f64,
    ratio: f64,
    solimp: [f64; 5],
}

impl ContactDesign {
    /// A contact of bodies with this effective mass (kg) whose impedance is the same at all depths.
    pub fn constant(mass: f64, impedance: f64) -> Result<Self, Error> {
        Self::new(mass, [impedance, impedance, 0.001, 0.5, 2.0])
    }

    /// A contact of bodies with this effective mass (kg) and any `solimp`.
    pub fn new(mass: f64, solimp: [f64; 5]) -> Result<Self, Error> {
        let outside = |d: &&f64| !(0.0001..=0.9999).contains(*d);
        if let Some(&impedance) = solimp[..2].iter().find(outside) {
            return Err(no_impedance(impedance));
        }
        Ok(Self {
            mass: positive("effective mass", mass)?,
            ratio: 1.0,
            solimp,
        })
    }

    /// The same with another κ, the engine's inverse mass for the row times the effective mass.
    pub fn with_ratio(self, ratio: f64) -> Result<Self, Error> {
        let ratio = positive("ratio of inverse masses", ratio)?;
        Ok(Self { ratio, ..self })
    }

    /// From full stiffness (N/m) and damping (N·s/m).
    pub fn stiffness_damping(&self, stiffness: f64, damping: f64) -> Result<NormalContact, Error> {
        let stiffness = positive("stiffness", stiffness)?;
        if damping != 0.0 {
            positive("damping", damping)?;
        }
        let d = self.end();
        let inertance = self.inertance(d);
        Ok(self.contact(stiffness / (inertance * d), damping / inertance))
    }

    /// From full stiffness (N/m) and the restitution of an impact at a speed (m/s).
    pub fn stiffness_restitution(
        &self,
        stiffness: f64,
        restitution: f64,
        speed: f64,
    ) -> Result<NormalContact, Error> {
        let d = self.end();
        let k = positive("stiffness", stiffness)? / (self.inertance(d) * d);
        self.with_restitution(restitution, speed, &|_| k)
    }

    /// From the penetration (m) at rest under a force (N), and the restitution of an impact at a speed (m/s).
    pub fn penetration_restitution(
        &self,
        (force, penetration): (f64, f64),
        restitution: f64,
        speed: f64,
    ) -> Result<NormalContact, Error> {
        let force = positive("force", force)?;
        let penetration = positive("penetration", penetration)?;
        let d = self.contact(1.0, 0.0).impedance(penetration);
        let k = force / (self.inertance(d) * d * penetration);
        self.with_restitution(restitution, speed, &|_| k)
    }

    /// From the full time constant (s) and damping ratio; for κ = 1 these are solref itself.
    pub fn time_constant_damping_ratio(
        &self,
        time_constant: f64,
        damping_ratio: f64,
    ) -> Result<NormalContact, Error> {
        let b = self.damping_of_time_constant(time_constant)?;
        let ratio = positive("damping ratio", damping_ratio)?;
        Ok(self.contact(self.stiffness_of_ratio(b, ratio), b))
    }

    /// From the full time constant (s) and the restitution of an impact at a speed (m/s). The restitution must be
    /// below 1: without damping there is no time constant.
    pub fn time_constant_restitution(
        &self,
        time_constant: f64,
        restitution: f64,
        speed: f64,
    ) -> Result<NormalContact, Error> {
        let b = self.damping_of_time_constant(time_constant)?;
        check_restitution(restitution)?;
        if restitution == 1.0 {
            return Err(no_restitution(restitution));
        }
        let speed = positive("speed", speed)?;
        let guess = damping_ratio_of_restitution(restitution);
        let candidate = |ratio: f64| self.contact(self.stiffness_of_ratio(b, ratio), b);
        let ratio = decrease_to(guess, restitution, |ratio| {
            candidate(ratio).restitution(speed)
        });
        Ok(candidate(ratio))
    }

    /// Finds the damping of a contact whose stiffness is known.
    fn with_restitution(
        &self,
        restitution: f64,
        speed: f64,
        stiffness: &dyn Fn(f64) -> f64,
    ) -> Result<NormalContact, Error> {
        check_restitution(restitution)?;
        let speed = positive("speed", speed)?;
        let k = stiffness(restitution);
        if restitution == 1.0 {
            return Ok(self.contact(k, 0.0));
        }
        // ζ = e·b/(2·ω) at full depth; exact for constant impedance.
        let d = self.end();
        let share = d / (d + (1.0 - d) * self.ratio);
        let guess = 2.0 * damping_ratio_of_restitution(restitution) * (k * d / share).sqrt();
        let candidate = |b: f64| self.contact(k, b);
        let b = decrease_to(guess, restitution, |b| candidate(b).restitution(speed));
        Ok(candidate(b))
    }

    fn damping_of_time_constant(&self, time_constant: f64) -> Result<f64, Error> {
        let time_constant = positive("time constant", time_constant)?;
        let d = self.end();
        let share = d / (d + (1.0 - d) * self.ratio);
        Ok(2.0 / (share * time_constant))
    }

    /// k for a full damping ratio: ζ² = e·b²/(4·k·d).
    fn stiffness_of_ratio(&self, b: f64, ratio: f64) -> f64 {
        let d = self.end();
        let share = d / (d + (1.0 - d) * self.ratio);
        share * b * b / (4.0 * d * ratio * ratio)
    }

    fn end(&self) -> f64 {
        self.contact(1.0, 0.0).impedance(f64::INFINITY)
    }

    fn inertance(&self, d: f64) -> f64 {
        self.mass * d / ((1.0 - d) * self.ratio)
    }

    /// The contact with these numbers k and b of the reference.
    fn contact(&self, k: f64, b: f64) -> NormalContact {
        let end = self.solimp[1];
        let direct = [-k * end * end, -b * end];
        NormalContact {
            reference: Reference::unlimited(direct, self.solimp),
            mass: self.mass,
            ratio: self.ratio,
        }
    }
}

fn check_restitution(restitution: f64) -> Result<(), Error> {
    if restitution > 0.0 && restitution <= 1.0 {
        Ok(())
    } else {
        Err(no_restitution(restitution))
    }
}

/// Where a decreasing function of a positive number reaches a value, near a guess.
fn decrease_to(guess: f64, value: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (guess, guess);
    for _ in 0..60 {
        if function(low) >= value {
            break;
        }
        low *= 0.5;
    }
    for _ in 0..60 {
        if function(high) <= value {
            break;
        }
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if function(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
