//! The table of parameters.

use std::fmt::Write as _;

use carom_tasks::evaluate::figure;
use carom_tasks::identify::{Estimate, Outcome};

use super::escape;
use crate::checks_output::profile_interval;
use crate::summary_output::interval;

/// Start, value, interval and meaning of every parameter.
pub(super) fn table(found: &Outcome) -> String {
    let percent = 100.0 * found.identified.confidence;
    let truth = found.truth.as_deref();
    let profiles = found.checks.profiles.as_deref();
    let head = |is: bool, text: &str| {
        if is {
            format!("<th>{text}</th>")
        } else {
            String::new()
        }
    };
    let mut rows = format!(
        "<table><tr><th>parameter</th><th>start</th><th>value</th>{}<th>{percent} % interval</th>{}<th></th><th>unit</th></tr>",
        head(truth.is_some(), "hidden truth"),
        head(profiles.is_some(), "by its profile"),
    );
    for (index, one) in found.identified.estimates.iter().enumerate() {
        let note = if one.is_at_bound {
            "; at its bound"
        } else {
            ""
        };
        let known = truth.map(|truth| format!("<td>{}</td>", figure(truth[index])));
        let profiled = profiles.map(|all| {
            let own = all.iter().find(|profile| profile.name == one.name);
            format!("<td>{}</td>", own.map(profile_interval).unwrap_or_default())
        });
        let _ = write!(
            rows,
            "<tr><td><code>{}</code><small>{}{note}</small></td><td>{}</td><td><b>{}</b></td>{}<td>{}</td>{}<td>{}</td><td>{}</td></tr>",
            escape(&one.name),
            meaning(&one.name),
            figure(one.start),
            figure(one.value),
            known.unwrap_or_default(),
            escape(&interval(one)),
            profiled.unwrap_or_default(),
            range(one, truth.map(|truth| truth[index])),
            shown_unit(&one.unit),
        );
    }
    rows += "</table><p class=\"note\">Bars: the interval, the value (line), the start (circle)";
    rows += if truth.is_some() {
        ", the hidden truth (diamond).</p>"
    } else {
        ".</p>"
    };
    rows
}

/// A unit for readers: plain numbers have none.
fn shown_unit(unit: &str) -> String {
    match unit {
        "1" => String::new(),
        unit => escape(unit),
    }
}

/// A small picture of start, value and interval.
fn range(one: &Estimate, truth: Option<f64>) -> String {
    let [low, high] = one.interval;
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    let numbers = [low, high, one.start, one.value, truth.unwrap_or(one.value)];
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = if most > least { most - least } else { 1.0 };
    let place = |number: f64| 8.0 + 134.0 * (number - least) / width;
    let band = (place(high) - place(low)).max(2.0);
    let diamond = truth.map_or(String::new(), |truth| {
        let x = place(truth);
        format!("<path d=\"M{x:.1} 3l5 6-5 6-5-6z\" fill=\"none\" stroke=\"var(--good)\" stroke-width=\"1.6\"/>")
    });
    format!(
        "<svg class=\"range\" viewBox=\"0 0 150 18\"><line x1=\"4\" x2=\"146\" y1=\"9\" y2=\"9\" stroke=\"var(--line)\"/>\
         <rect x=\"{:.1}\" y=\"4\" width=\"{band:.1}\" height=\"10\" rx=\"3\" fill=\"var(--band)\"/>\
         <line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"2\" y2=\"16\" stroke=\"var(--mark)\" stroke-width=\"2\"/>\
         <circle cx=\"{:.1}\" cy=\"9\" r=\"3.4\" fill=\"none\" stroke=\"var(--soft)\" stroke-width=\"1.5\"/>{diamond}</svg>",
        place(low),
        place(one.start),
        x = place(one.value),
    )
}

/// What a parameter is, in words.
fn meaning(name: &str) -> &'static str {
    let (path, component) = match name.rsplit_once('[') {
        Some((path, rest)) => (path, rest.trim_end_matches(']')),
        None => (name, ""),
    };
    let family = path.split('.').next().unwrap_or_default();
    let attribute = path.rsplit('.').next().unwrap_or_default();
    match (family, attribute, component) {
        ("geom" | "pair", "friction", "0") => "sliding friction",
        ("geom", "friction", "1") => "spinning friction",
        ("geom", "friction", "2") => "rolling friction",
        ("pair", "friction", _) => "friction of the pair",
        ("geom" | "pair", "solref", "0") => "time constant of contacts",
        ("geom" | "pair", "solref", "1") => "damping ratio of contacts",
        ("geom" | "pair", "solimp", "0") => "impedance of contacts at first touch",
        ("geom" | "pair", "solimp", "1") => "impedance of contacts at full depth",
        ("geom" | "pair", "solimp", "2") => "depth at which contacts are at their stiffest",
        ("geom" | "pair", "solimp", "3") => "midpoint of the impedance",
        ("geom" | "pair", "solimp", "4") => "power of the impedance",
        ("geom", "size", _) => "size: half a side, or a radius",
        ("geom" | "body", "mass", _) => "mass",
        ("geom", "density", _) => "density",
        ("geom", "margin", _) => "distance at which contacts begin",
        ("body", "inertia", _) => "principal moment of inertia",
        ("body", "ipos", _) => "centre of mass",
        ("body", "pseudo_inertia", _) => {
            "mass, centre and inertia, by a form that is always physical"
        }
        ("joint" | "tendon", "damping", _) => "viscous damping",
        ("joint" | "tendon", "frictionloss", _) => "dry friction",
        ("joint" | "tendon", "stiffness", _) => "stiffness of the spring",
        ("joint", "armature", _) => "inertia of the rotor, as the joint feels it",
        ("joint", "springref", _) => "rest of the spring",
        ("actuator", "gear", _) => "gear of the actuator",
        ("actuator", "gainprm" | "kp", _) => "gain of the actuator",
        ("actuator", "delay", _) => "delay of the actuator",
        ("option", "gravity", _) => "gravity",
        (_, "pos", _) => "position",
        (_, "quat", _) => "orientation",
        _ => "",
    }
}
