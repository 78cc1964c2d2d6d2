//! Contact parameters in physical units: stiffness, damping, restitution, penetration, time constant.
//!
//! Along its normal a soft contact is a one-dimensional law. With m the effective mass of the two bodies, ρ the distance
//! beyond the margin (negative in contact), a₀ the acceleration without the contact and k, b, d(ρ) the stiffness,
//! damping and impedance that [`constraint`](carom::stages::constraint) makes of solref and solimp, the solver finds
//!
//!   m·(a − a₀) = f = D·max(0, â − a),   â = −b·ρ̇ − k·d·ρ,   D = d/((1 − d)·κ)·m            (1)
//!
//! κ is the inverse mass that the engine takes for the row, times m: 1 for a free sphere with an elliptic cone or without
//! friction, [`pyramid_ratio`] times as much for a pyramid. Solved for the force, (1) is a spring, a damper and an
//! *inerter*, a device whose force is proportional to relative acceleration, in parallel:
//!
//!   f = −(K·ρ + C·ρ̇ + D·a),   K = D·k·d,   C = D·b                                      (2)
//!
//! So the bodies move as a mass m + D on a spring K and a damper C; with e = D/(m + D) = d/(d + (1 − d)·κ),
//!
//!   a = (1 − e)·a₀ + e·â,   ω² = K/(m + D) = e·k·d,   ζ = C/(2·ω·(m + D)) = e·b/(2·ω)        (3)
//!   time constant 1/(ζ·ω) = 2/(e·b),   penetration p at rest under a force F: K(p)·p = F   (4)
//!
//! For κ = 1 and constant impedance, time constant and ζ are the two numbers of a standard solref. An impact at speed v
//! without other forces then lasts until the force vanishes, at ω·t = 2·φ/sin φ with φ = acos ζ, and returns the fraction
//!
//!   ε = exp(−2·φ·cot φ) for ζ ≤ 1,   ε = exp(−2·η·coth η) with η = acosh ζ for ζ ≥ 1         (5)
//!
//! of the speed: 1 without damping, e⁻² ≈ 0.135 at critical damping [Schwager 2007]. Where the impedance varies
//! with depth, (1) is integrated numerically, and ε depends on the speed.
//!
//! ```
//! use carom_contact_units::{ContactDesign, NormalContact};
//!
//! // What MuJoCo's defaults mean for a body of 2 kg.
//! let contact = NormalContact::new([0.02, 1.0], [0.9, 0.95, 0.001, 0.5, 2.0], 2.0)?;
//! assert!((contact.restitution(1.0) - 0.135).abs() < 0.01);
//! assert!((contact.rest_penetration(2.0 * 9.81) - 3.67e-4).abs() < 1e-6);
//!
//! // A contact that gives way by 0.1 mm under the weight and bounces to half the speed.
//! let design = ContactDesign::constant(2.0, 0.9)?;
//! let contact = design.penetration_restitution((2.0 * 9.81, 1e-4), 0.5, 1.0)?;
//! println!("solref=\"{:?}\"", contact.solref());
//! # Ok::<(), carom::Error>(())
//! ```

mod design;
mod error;
mod impact;
mod survey;
#[cfg(test)]
mod tests;

pub use design::ContactDesign;
pub use impact::{
    Impact, damping_ratio_of_restitution, impact_duration_of_damping_ratio,
    restitution_of_damping_ratio,
};
pub use survey::{ContactKind, SURVEY_SPEED, metres, newtons, seconds, survey};

use carom::stages::constraint::Reference;
use carom::{Error, Model};

use error::positive;

/// A contact along its normal, between bodies of a given effective mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalContact {
    reference: Reference,
    mass: f64,
    ratio: f64,
}

/// Factor of κ for a friction pyramid, whose edges share one regularisation: μ²/ρ·(1 + μ²)/(n − 1) with friction μ,
/// `impratio` ρ and contact dimension n. It is 1 for μ = 1, ρ = 1, n = 3; less friction makes a stiffer contact.
pub fn pyramid_ratio(friction: f64, impratio: f64, dimension: u8) -> f64 {
    let square = friction * friction;
    square / impratio * (1.0 + square) / f64::from(dimension.max(2) - 1)
}

impl NormalContact {
    /// The contact that solref and solimp make of bodies with this effective mass (kg), for κ = 1 and a time step short
    /// enough for the time constant.
    pub fn new(solref: [f64; 2], solimp: [f64; 5], mass: f64) -> Result<Self, Error> {
        Self::from_reference(Reference::unlimited(solref, solimp), mass)
    }

    /// As [`Self::new`], with the time constant limited by the model's time step as in the simulation.
    pub fn in_model(
        model: &Model,
        solref: [f64; 2],
        solimp: [f64; 5],
        mass: f64,
    ) -> Result<Self, Error> {
        let timestep = model.option.timestep[0];
        Self::from_reference(Reference::new(model, timestep, solref, solimp), mass)
    }

    fn from_reference(reference: Reference, mass: f64) -> Result<Self, Error> {
        Ok(Self {
            reference,
            mass: positive("effective mass", mass)?,
            ratio: 1.0,
        })
    }

    /// The same contact with another κ, the engine's inverse mass for the row times the effective mass.
    pub fn with_ratio(self, ratio: f64) -> Result<Self, Error> {
        let ratio = positive("ratio of inverse masses", ratio)?;
        Ok(Self { ratio, ..self })
    }

    /// Effective mass (kg).
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// Impedance d at a depth (m).
    pub fn impedance(&self, depth: f64) -> f64 {
        self.reference.at(-depth).value
    }

    /// Whether the impedance is the same at all depths, so that (5) holds.
    pub fn is_linear(&self) -> bool {
        let [start, end, width, ..] = self.reference.solimp();
        start == end || width <= 0.0
    }

    /// Mass D of the inerter at a depth (kg). (1)
    pub fn inertance(&self, depth: f64) -> f64 {
        let d = self.impedance(depth);
        self.mass * d / ((1.0 - d) * self.ratio)
    }

    /// Stiffness K at a depth (N/m): force at rest over penetration. (2)
    pub fn stiffness(&self, depth: f64) -> f64 {
        self.inertance(depth) * self.reference.stiffness() * self.impedance(depth)
    }

    /// Damping C at a depth (N·s/m). (2)
    pub fn damping(&self, depth: f64) -> f64 {
        self.inertance(depth) * self.reference.damping()
    }

    /// The share e of the reference in the acceleration at a depth. (3)
    pub fn share(&self, depth: f64) -> f64 {
        let d = self.impedance(depth);
        d / (d + (1.0 - d) * self.ratio)
    }

    /// Undamped angular frequency ω at a depth (rad/s). (3)
    pub fn frequency(&self, depth: f64) -> f64 {
        (self.share(depth) * self.reference.stiffness() * self.impedance(depth)).sqrt()
    }

    /// Damping ratio ζ at a depth. (3)
    pub fn damping_ratio(&self, depth: f64) -> f64 {
        0.5 * self.share(depth) * self.reference.damping() / self.frequency(depth)
    }

    /// Time constant of the decay at a depth (s); infinite without damping. (4)
    pub fn time_constant(&self, depth: f64) -> f64 {
        // The sign of a zero must not matter.
        2.0 / (self.share(depth) * self.reference.damping()).abs()
    }

    /// The depth from which on the impedance is constant (m).
    pub fn full_depth(&self) -> f64 {
        if self.is_linear() {
            0.0
        } else {
            self.reference.solimp()[2]
        }
    }

    /// Penetration at rest under a force (N) that pushes the bodies together. (4)
    pub fn rest_penetration(&self, force: f64) -> f64 {
        if force <= 0.0 {
            return 0.0;
        }
        if self.reference.stiffness() <= 0.0 {
            return f64::INFINITY;
        }
        // The bounds of the impedance bound the stiffness, and so the penetration.
        let [start, end, ..] = self.reference.solimp();
        let at = |d: f64| {
            force / (self.mass * d * d / ((1.0 - d) * self.ratio)) / self.reference.stiffness()
        };
        let (mut low, mut high) = (at(start.max(end)), at(start.min(end)));
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.stiffness(middle) * middle < force {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Coefficient of restitution ε of an impact at a speed (m/s) without other forces.
    pub fn restitution(&self, speed: f64) -> f64 {
        if self.is_linear() {
            restitution_of_damping_ratio(self.damping_ratio(0.0)) // (5)
        } else {
            self.impact(speed, 0.0).restitution
        }
    }

    /// The impact at a speed (m/s), while a constant force (N) pushes the bodies together.
    pub fn impact(&self, speed: f64, force: f64) -> Impact {
        impact::integrate(self, speed, force)
    }

    /// Restitution that steps of `timestep` seconds give, least and greatest over where in a step the bodies meet. The
    /// integrator is the semi-implicit one that all but RK4 amount to for a free body.
    pub fn stepped_restitution(&self, speed: f64, timestep: f64) -> [f64; 2] {
        impact::stepped_restitution(self, speed, timestep)
    }

    /// Acceleration (3) at a distance beyond the margin (negative in contact) and its rate.
    fn acceleration(&self, distance: f64, rate: f64, free: f64) -> f64 {
        if distance >= 0.0 {
            return free;
        }
        let impedance = self.reference.at(distance);
        let d = impedance.value;
        let wanted = -impedance.damping * rate - impedance.stiffness * d * distance;
        let share = d / (d + (1.0 - d) * self.ratio);
        free + share * (wanted - free).max(0.0)
    }

    /// `solref` in the standard form (time constant, damping ratio), or in the direct one where there is no damping or
    /// no stiffness to express that way.
    pub fn solref(&self) -> [f64; 2] {
        let (k, b) = (self.reference.stiffness(), self.reference.damping());
        if k > 0.0 && b > 0.0 {
            [2.0 / (self.reference.solimp()[1] * b), 0.5 * b / k.sqrt()]
        } else {
            self.direct_solref()
        }
    }

    /// `solref` in the direct form (−stiffness, −damping), which no time step limits.
    pub fn direct_solref(&self) -> [f64; 2] {
        let end = self.reference.solimp()[1];
        let (k, b) = (self.reference.stiffness(), self.reference.damping());
        [-k * end * end, -b * end]
    }

    /// `solimp`, brought into its ranges.
    pub fn solimp(&self) -> [f64; 5] {
        self.reference.solimp()
    }
}

/// The code of the page on contact parameters runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/contact_parameters.md")]
struct Page;
