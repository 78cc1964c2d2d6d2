//! What the contacts of a model mean physically.
//!
//! Pairs of geoms with the same law form a kind. How deep a contact sinks in depends on the bodies too: of each kind the
//! pair is shown that sinks deepest under the weight of the lighter of its two sides, resting on one contact point. The
//! effective mass is the engine's own estimate, the inverse of the bodies' inverse weights.

use std::collections::BTreeMap;

use super::{NormalContact, pyramid_ratio};
use crate::model::{Cone, Integrator, LawKind, Model};
use crate::stages::collision::for_each_possible_pair;
use crate::stages::collision::parameters::{Parameters, mix};

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

/// The kinds of soft contacts of a model, most pairs first. Looks at all pairs of geoms.
pub fn survey(model: &Model) -> Vec<ContactKind> {
    let mut kinds: BTreeMap<Vec<u64>, ContactKind> = BTreeMap::new();
    for_each_possible_pair(model, |geoms, pair| {
        let parameters = mix(model, geoms, pair);
        if model.structure.laws.kind_of(parameters.law) != LawKind::Soft {
            return;
        }
        let (weight, Some(contact)) = (weight(model, geoms), law(model, geoms, &parameters)) else {
            return;
        };
        let rest_penetration = contact.rest_penetration(weight);
        let kind = kinds
            .entry(key(model, &parameters))
            .or_insert_with(|| ContactKind {
                pairs: 0,
                geoms,
                parameters,
                contact,
                weight,
                restitution: 0.0,
                stepped_restitution: [0.0; 2],
                time_constant: 0.0,
                rest_penetration,
                concerns: Vec::new(),
            });
        kind.pairs += 1;
        if rest_penetration > kind.rest_penetration {
            *kind = ContactKind {
                geoms,
                parameters,
                contact,
                weight,
                rest_penetration,
                ..kind.clone()
            };
        }
    });
    let mut kinds: Vec<_> = kinds.into_values().collect();
    for kind in &mut kinds {
        let contact = &kind.contact;
        kind.restitution = contact.restitution(SURVEY_SPEED);
        kind.time_constant = contact.time_constant(contact.full_depth());
        let timestep = model.option.timestep[0];
        kind.stepped_restitution = contact.stepped_restitution(SURVEY_SPEED, timestep);
        kind.concerns = concerns(model, kind);
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.pairs));
    kinds
}

/// The law of a pair, in the model's time step.
fn law(model: &Model, geoms: [usize; 2], parameters: &Parameters) -> Option<NormalContact> {
    let weights = geoms.map(|geom| {
        let body = model.structure.geoms.body[geom];
        model.bodies.inverse_weight[body][0]
    });
    let mass = 1.0 / (weights[0] + weights[1]);
    let Parameters { solref, solimp, .. } = *parameters;
    let contact = NormalContact::in_model(model, solref, solimp, mass).ok()?;
    contact.with_ratio(ratio(model, parameters)).ok()
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
fn key(model: &Model, parameters: &Parameters) -> Vec<u64> {
    let ratio = ratio(model, parameters);
    let numbers = parameters.solref.iter().chain(&parameters.solimp);
    let numbers = numbers.copied().chain([ratio, parameters.margin]);
    numbers.map(f64::to_bits).collect()
}

/// Weight of the lighter of the two sides: of a whole tree where it touches another one or the world, of the moving part
/// where it touches itself.
fn weight(model: &Model, geoms: [usize; 2]) -> f64 {
    let bodies = &model.structure.bodies;
    let [first, second] = geoms.map(|geom| model.structure.geoms.body[geom]);
    let same_tree = bodies.root[first] == bodies.root[second];
    let mass = |body: usize| {
        if body == 0 || bodies.moving_dofs.columns(body).is_empty() {
            f64::INFINITY
        } else if same_tree {
            model.bodies.subtree_mass[body]
        } else {
            model.bodies.subtree_mass[bodies.root[body]]
        }
    };
    let lighter = mass(first).min(mass(second));
    let gravity = if model.settings.disable.gravity {
        0.0
    } else {
        model.option.gravity[0].norm()
    };
    if lighter.is_finite() {
        lighter * gravity
    } else {
        0.0
    }
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
