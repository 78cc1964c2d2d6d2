//! What the contacts of a model mean physically.
//!
//! Pairs of geoms with the same law form a kind. How deep a contact sinks in depends on the bodies too: of each kind the
//! pair is shown that sinks deepest under the weight of the lighter of its two sides, resting on one contact point. The
//! effective mass is the engine's own estimate, the inverse of the bodies' inverse weights.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use carom::model::{Cone, Integrator, JointKind, LawLevel, Model};
use carom::stages::collision::for_each_possible_pair;
use carom::stages::collision::parameters::{Parameters, mix};

use crate::{NormalContact, pyramid_ratio};

/// Speed of the impact whose restitution is given (m/s).
pub const SURVEY_SPEED: f64 = 1.0;
/// Difference of restitution from which steps count as too long.
const RESTITUTION_ERROR: f64 = 0.1;
/// Greatest rate times step at which RK4 is stable, for real and imaginary rates.
const RUNGE_KUTTA_BOUND: f64 = 2.78;
/// Penetration from which a resting body counts as sunk in, over the radius of the smaller geom.
const SUNK: f64 = 0.5;

/// Pairs of geoms with the same contact law, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactKind {
    /// Number of pairs of geoms.
    pub pairs: usize,
    /// The pair that sinks in deepest.
    pub geoms: [usize; 2],
    /// Its parameters.
    pub parameters: Parameters,
    /// Its law.
    pub contact: NormalContact,
    /// Weight of its lighter side (N).
    pub weight: f64,
    /// Restitution of an impact at [`SURVEY_SPEED`].
    pub restitution: f64,
    /// Least and greatest restitution that the model's time step gives.
    pub stepped_restitution: [f64; 2],
    /// Time constant at full impedance (s).
    pub time_constant: f64,
    /// Penetration at rest under the weight (m).
    pub rest_penetration: f64,
    /// What the time step or the stiffness makes of it, in sentences.
    pub concerns: Vec<String>,
}

/// The pair of a kind that sinks in deepest so far.
struct Deepest {
    pairs: usize,
    geoms: [usize; 2],
    parameters: Parameters,
    mass: f64,
    weight: f64,
}

/// The kinds of soft contacts of a model, most pairs first. Looks at all pairs of geoms.
pub fn survey(model: &Model) -> Vec<ContactKind> {
    let weights = weights(model);
    let mut kinds: BTreeMap<[u64; 9], Deepest> = BTreeMap::new();
    for_each_possible_pair(model, |geoms, pair| {
        let parameters = mix(model, geoms, pair);
        let mass = effective_mass(model, geoms);
        if model.structure.laws.level_of(parameters.law) != LawLevel::Acceleration
            || !mass.is_finite()
        {
            return;
        }
        let [first, second] = geoms.map(|geom| weights[model.structure.geoms.body[geom]]);
        let weight = first.min(second);
        let weight = if weight.is_finite() { weight } else { 0.0 };
        let deepest = Deepest {
            pairs: 1,
            geoms,
            parameters,
            mass,
            weight,
        };
        match kinds.entry(key(model, &parameters)) {
            Entry::Vacant(place) => {
                place.insert(deepest);
            }
            Entry::Occupied(mut place) => {
                let known = place.get_mut();
                let pairs = known.pairs + 1;
                // Stiffness grows with the mass: the depth depends on the weight over the mass.
                if weight / mass > known.weight / known.mass {
                    *known = deepest;
                }
                known.pairs = pairs;
            }
        }
    });
    let described = kinds
        .into_values()
        .filter_map(|kind| describe(model, &kind));
    let mut kinds: Vec<_> = described.collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.pairs));
    kinds
}

fn describe(model: &Model, deepest: &Deepest) -> Option<ContactKind> {
    let Deepest {
        pairs,
        geoms,
        parameters,
        mass,
        weight,
    } = *deepest;
    let Parameters { solref, solimp, .. } = parameters;
    let contact = NormalContact::in_model(model, solref, solimp, mass).ok()?;
    let contact = contact.with_ratio(ratio(model, &parameters)).ok()?;
    let timestep = model.option.timestep[0];
    let mut kind = ContactKind {
        pairs,
        geoms,
        parameters,
        contact,
        weight,
        restitution: contact.restitution(SURVEY_SPEED),
        stepped_restitution: contact.stepped_restitution(SURVEY_SPEED, timestep),
        time_constant: contact.time_constant(contact.full_depth()),
        rest_penetration: contact.rest_penetration(weight),
        concerns: Vec::new(),
    };
    kind.concerns = concerns(model, &kind);
    Some(kind)
}

/// The engine's estimate of the effective mass of a pair (kg); infinite if neither side moves.
fn effective_mass(model: &Model, geoms: [usize; 2]) -> f64 {
    let [first, second] = geoms.map(|geom| {
        let body = model.structure.geoms.body[geom];
        model.bodies.inverse_weight[body][0]
    });
    1.0 / (first + second)
}

fn ratio(model: &Model, parameters: &Parameters) -> f64 {
    match (parameters.dimension, model.settings.cone) {
        (1, _) | (_, Cone::Elliptic) => 1.0,
        (dimension, Cone::Pyramidal) => {
            let friction = parameters.friction[0].max(1e-5);
            pyramid_ratio(friction, model.option.impratio[0].max(1e-15), dimension)
        }
    }
}

/// Laws are the same if all numbers that enter them are.
fn key(model: &Model, parameters: &Parameters) -> [u64; 9] {
    let [time, damping] = parameters.solref;
    let [start, end, width, midpoint, power] = parameters.solimp;
    let ratio = ratio(model, parameters);
    let margin = parameters.margin;
    [
        time, damping, start, end, width, midpoint, power, ratio, margin,
    ]
    .map(f64::to_bits)
}

/// The weight that can come to rest on each body (N): of all that falls with it, or where it only turns about something
/// fixed, of the part that it carries. Infinite for what is fixed.
fn weights(model: &Model) -> Vec<f64> {
    let (bodies, joints) = (&model.structure.bodies, &model.structure.joints);
    let gravity = if model.settings.disable.gravity {
        0.0
    } else {
        model.option.gravity[0].norm()
    };
    let mut falls = vec![false; bodies.parent.len()];
    for (kind, &body) in joints.kind.iter().zip(&joints.body) {
        falls[body] |= matches!(kind, JointKind::Free | JointKind::Slide);
    }
    // The topmost body that falls, on the way from the root to each body.
    let mut falling: Vec<Option<usize>> = vec![None; bodies.parent.len()];
    let mut weights = vec![f64::INFINITY; bodies.parent.len()];
    for body in 1..bodies.parent.len() {
        falling[body] = falling[bodies.parent[body]].or(falls[body].then_some(body));
        if !bodies.moving_dofs.columns(body).is_empty() {
            let carried = falling[body].unwrap_or(body);
            weights[body] = gravity * model.bodies.subtree_mass[carried];
        }
    }
    weights
}

fn concerns(model: &Model, kind: &ContactKind) -> Vec<String> {
    let timestep = model.option.timestep[0];
    let mut list = Vec::new();
    let [asked, _] = kind.parameters.solref;
    let limited = asked > 0.0 && asked < 2.0 * timestep && !model.settings.disable.refsafe;
    let contact = &kind.contact;
    let frequency = contact.frequency(contact.full_depth()) * timestep;
    let decay = 2.0 * timestep / kind.time_constant;
    let runge_kutta = model.settings.integrator == Integrator::RungeKutta4;
    let unstable = if runge_kutta {
        frequency.max(decay) > RUNGE_KUTTA_BOUND
    } else {
        decay >= 2.0 || frequency * frequency + 2.0 * decay >= 4.0
    };
    if limited {
        list.push(format!(
            "the time constant of {} is shorter than two time steps and is raised to {}; a time step of at most {} would keep it",
            seconds(asked),
            seconds(2.0 * timestep),
            seconds(0.5 * asked)
        ));
    } else if unstable {
        list.push(format!(
            "the contact is too stiff for the time step of {} and unstable",
            seconds(timestep)
        ));
    } else if kind.time_constant < 2.0 * timestep {
        list.push(format!(
            "the time constant of {} is shorter than two time steps of {}",
            seconds(kind.time_constant),
            seconds(timestep)
        ));
    }
    let [least, greatest] = kind.stepped_restitution;
    let error = (kind.restitution - least).max(greatest - kind.restitution);
    if list.is_empty() && !runge_kutta && error > RESTITUTION_ERROR {
        list.push(format!(
            "steps of {} bounce with a restitution of {least:.2} to {greatest:.2} instead of {:.2}",
            seconds(timestep),
            kind.restitution
        ));
    }
    let radius = kind
        .geoms
        .map(|geom| model.geoms.bounding_radius[geom])
        .into_iter()
        .filter(|&radius| radius > 0.0)
        .fold(f64::INFINITY, f64::min);
    if kind.rest_penetration > SUNK * radius {
        list.push(format!(
            "at rest on one point the lighter side sinks in by {}, {:.0} % of the smaller geom's radius",
            metres(kind.rest_penetration),
            100.0 * kind.rest_penetration / radius
        ));
    }
    list
}

/// A time in the unit in which it reads best.
pub fn seconds(time: f64) -> String {
    scaled(time, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")])
}

/// A length in the unit in which it reads best.
pub fn metres(length: f64) -> String {
    scaled(
        length,
        &[(1.0, "m"), (1e-3, "mm"), (1e-6, "µm"), (1e-9, "nm")],
    )
}

/// A force in the unit in which it reads best.
pub fn newtons(force: f64) -> String {
    scaled(force, &[(1e3, "kN"), (1.0, "N"), (1e-3, "mN")])
}

/// Three significant digits in the first unit that is not larger than the number.
fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let fits = |(unit, _): &&(f64, &str)| number.abs() >= *unit;
    let Some(&(unit, name)) = units.iter().find(fits).or(units.last()) else {
        return number.to_string();
    };
    let value = number / unit;
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {name}");
    }
    let digits = 2.0 - value.abs().log10().floor();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number of digits, clamped"
    )]
    let digits = digits.clamp(0.0, 3.0) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {name}")
}
