//! What the model's contacts mean physically.

use carom::Model;
use carom_contact_units::{ContactKind, SURVEY_SPEED, metres, newtons, seconds};
use serde_json::json;

use carom_report::naming::pair_name;

/// How many kinds of contacts the table shows.
const SHOWN: usize = 8;
/// Before what a kind means.
const INDENT: &str = "             ";

/// Lines for people.
pub(super) fn lines(model: &Model, kinds: &[ContactKind]) -> Vec<String> {
    let pairs: usize = kinds.iter().map(|kind| kind.pairs).sum();
    let other_laws = !model.structure.laws.kind.is_empty();
    if pairs == 0 {
        let none = if other_laws {
            "none of the soft law"
        } else {
            "none possible"
        };
        return vec![format!("{:<24} {none}", "contacts")];
    }
    let count = match (pairs, kinds.len()) {
        (1, _) => "1 pair of geoms may touch".to_owned(),
        (_, 1) => format!("{pairs} pairs of geoms may touch, all alike"),
        (_, kinds) => format!("{pairs} pairs of geoms may touch, of {kinds} kinds"),
    };
    let law = if other_laws { " by the soft law" } else { "" };
    let mut lines = vec![format!("{:<24} {count}{law}", "contacts")];
    for kind in kinds.iter().take(SHOWN) {
        let numbers = |list: &[f64]| {
            let texts: Vec<_> = list.iter().map(f64::to_string).collect();
            texts.join(" ")
        };
        let parameters = &kind.parameters;
        let friction = match parameters.dimension {
            1 => "frictionless".to_owned(),
            dimension => format!("condim {dimension}, friction {}", parameters.friction[0]),
        };
        let pairs = match kind.pairs {
            1 => "1 pair".to_owned(),
            count => format!("{count} pairs"),
        };
        lines.push(format!(
            "  {pairs:<10} solref {}, solimp {}, {friction}",
            numbers(&parameters.solref),
            numbers(&parameters.solimp[..3]),
        ));
        lines.push(format!(
            "{INDENT}restitution {:.3} at {SURVEY_SPEED} m/s, time constant {}",
            kind.restitution,
            seconds(kind.time_constant)
        ));
        if kind.weight > 0.0 {
            lines.push(format!(
                "{INDENT}{} sinks in by {} under {}",
                pair_name(model, kind.geoms),
                metres(kind.rest_penetration),
                newtons(kind.weight)
            ));
        }
    }
    if kinds.len() > SHOWN {
        lines.push(format!(
            "  and {} more kinds (--json lists all)",
            kinds.len() - SHOWN
        ));
    }
    lines
}

/// The sentences of all kinds, each with an example.
pub(super) fn warnings(model: &Model, kinds: &[ContactKind]) -> Vec<String> {
    let mut list = Vec::new();
    for kind in kinds {
        for concern in &kind.concerns {
            let example = pair_name(model, kind.geoms);
            let others = match kind.pairs {
                1 => String::new(),
                2 => " and one more pair".to_owned(),
                count => format!(" and {} more pairs", count - 1),
            };
            list.push(format!("contact of {example}{others}: {concern}"));
        }
    }
    list
}

/// All kinds for programs.
pub(super) fn to_json(model: &Model, kinds: &[ContactKind]) -> serde_json::Value {
    kinds
        .iter()
        .map(|kind| {
            let depth = kind.rest_penetration;
            json!({
                "pairs": kind.pairs,
                "geoms": pair_name(model, kind.geoms),
                "solref": kind.parameters.solref,
                "solimp": kind.parameters.solimp,
                "condim": kind.parameters.dimension,
                "friction": kind.parameters.friction,
                "margin": kind.parameters.margin,
                "effective_mass": kind.contact.mass(),
                "restitution": kind.restitution,
                "restitution_speed": SURVEY_SPEED,
                "restitution_of_steps": kind.stepped_restitution,
                "time_constant": kind.time_constant,
                "weight": kind.weight,
                "rest_penetration": depth,
                "stiffness": kind.contact.stiffness(depth),
                "damping": kind.contact.damping(depth),
                "inertance": kind.contact.inertance(depth),
                "damping_ratio": kind.contact.damping_ratio(depth),
                "warnings": kind.concerns,
            })
        })
        .collect()
}
