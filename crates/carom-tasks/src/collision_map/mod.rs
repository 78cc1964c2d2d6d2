//! Maps of collisions from a few recorded strikes.
//!
//! A held body strikes another one that stands on a table. A [`CollisionMap`] says where the struck body goes and where it comes
//! to rest. It is the physics of both in the plane (`carom-planar`), with sixteen numbers that ten strikes identify.
//! `docs/collision_maps.md` is the page for users.

mod engine;
mod fit;
mod score;
pub mod store;
mod strikes;
#[cfg(test)]
mod tests;

pub use carom_planar::{
    Arm, Bodies, ContactLaw, Laws, Limits, Outline, Planar, Side, Standing, Strike, TableLaw,
};
pub use engine::Engine;
pub use score::{Prediction, Score, THRESHOLDS, relative_error};
pub use strikes::{Frame, Recorded, StrikeMapping, Strikes, read};

use carom::{Error, ErrorKind, Model, plan_view};
use rayon::prelude::*;

/// Fewest strikes that a map is fitted to.
pub const FEWEST_SHOTS: usize = 3;

/// What happens when a held body strikes one that stands on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct CollisionMap {
    /// The two bodies.
    pub bodies: Bodies,
    /// What happens between them and on the table.
    pub laws: Laws,
    /// Where the laws were learned.
    pub limits: Limits,
}

impl CollisionMap {
    /// What happens to the body at rest in this pose when the striker comes in this state.
    pub fn strike(&self, pose: [f64; 3], striker: Planar) -> Strike {
        self.bodies.strike(&self.laws, pose, striker, true)
    }

    /// Predictions of recorded strikes.
    pub fn predict(&self, strikes: &[Recorded]) -> Vec<Prediction> {
        (strikes.par_iter())
            .map(|strike| {
                let found = self.strike(strike.pose, strike.striker);
                Prediction {
                    post: found.post,
                    rest: found.rest,
                }
            })
            .collect()
    }
}

/// The bodies of recorded strikes in a scene.
///
/// # Errors
/// When the scene lacks them, or they have shapes without an outline.
pub fn bodies(model: &Model, mapping: &StrikeMapping, mass: Option<f64>) -> Result<Bodies, Error> {
    let mut struck = plan_view::standing(model, &mapping.scene.struck)?;
    struck.mass = mass.unwrap_or(struck.mass);
    let striker = plan_view::held(model, &mapping.scene.striker)?;
    Ok(Bodies::new(
        struck,
        striker,
        mapping.arm(),
        mapping.strikes.quiet,
    ))
}

/// A map that was learned, and what its shots say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// The map.
    pub map: CollisionMap,
    /// Relative errors of velocities at shots that the contact law was not fitted to, each left out in turn.
    pub left_out: Vec<f64>,
}

/// Learns a map from strikes.
///
/// # Errors
/// When there are too few, or no law could be computed.
pub fn learn(bodies: Bodies, shots: &[Recorded]) -> Result<Learned, Error> {
    if shots.len() < FEWEST_SHOTS {
        let why = format!("{} strikes are too few for a map", shots.len());
        return Err(Error::new(ErrorKind::Recording, why)
            .remedy(format!("take at least {FEWEST_SHOTS}, better ten")));
    }
    let found = fit::table(&bodies, shots)?;
    let all: Vec<(&Recorded, Planar)> = shots.iter().zip(found.post).collect();
    let contact = fit::contact(&bodies, &found.law, &all, None)?;
    let gyration = bodies.struck.gyration;
    let mut left_out = Vec::with_capacity(shots.len());
    for at in 0..shots.len() {
        let mut others = all.clone();
        let (shot, _) = others.remove(at);
        let law = fit::contact(&bodies, &found.law, &others, Some(&contact))?;
        let laws = Laws {
            contact: law,
            table: found.law,
        };
        let strike = bodies.strike(&laws, shot.pose, shot.striker, false);
        left_out.push(score::relative_error(&strike.post, &shot.post, gyration));
    }
    let laws = Laws {
        contact,
        table: found.law,
    };
    let limits = fit::limits(&bodies, &laws, shots);
    let map = CollisionMap {
        bodies,
        laws,
        limits,
    };
    Ok(Learned { map, left_out })
}
