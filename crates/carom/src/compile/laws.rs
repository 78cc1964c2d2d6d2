//! Contact laws: which contacts follow which, their numbers and contact points.
//!
//! A law works on the level of accelerations, impulses or forces, and so goes with some integrators and laws only:
//! what makes no sense is refused here, with the way out.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::{
    ComplementaritySpec, ContactLaw, ContactLawSpec, ContactPoints, HuntCrossleySpec, ImpulseSpec,
    Reference,
};

use super::Source;
use super::geoms::own_frame;
use super::report::{Report, code};
use crate::laws::points::{box_grid, box_grid_size};
use crate::math::Vec3;
use crate::model::{GeomKind, ImpulsePair, Integrator, LawKind, Model, Structure};
use crate::stages::collision::{can_touch, for_each_unfiltered_pair};

/// The most points that one law may give to a geom.
const MAX_POINTS: usize = 100_000;

/// Fills the structure of the contact laws.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for spec in &source.spec.contact_laws {
        let resolve = |geom: &Option<Reference>, report: &mut Report| {
            let table = &source.lookup.geoms;
            geom.as_ref()
                .and_then(|geom| table.resolve(geom, || called(spec), report))
        };
        let [geom1, geom2] = [&spec.geom1, &spec.geom2].map(|geom| resolve(geom, report));
        let (kind, iterations) = match &spec.law {
            ContactLaw::Soft => (LawKind::Soft, 0),
            ContactLaw::Complementarity(law) => {
                check_complementarity(spec, law, report);
                (LawKind::Complementarity, law.iterations as usize)
            }
            ContactLaw::HuntCrossley(law) => {
                check_hunt_crossley(spec, law, report);
                (LawKind::HuntCrossley, 0)
            }
            ContactLaw::Impulse(law) => {
                check_impulse(spec, law, report);
                (LawKind::Impulse, law.impacts as usize)
            }
        };
        let first = structure.counts.ncontact_point;
        let points = geom1.map_or(0, |geom| points(source, spec, geom, report).len());
        structure.counts.ncontact_point += points;
        let laws = &mut structure.laws;
        laws.label.push(spec.label.clone());
        laws.kind.push(kind);
        laws.geom1.push(geom1);
        laws.geom2.push(geom2);
        laws.points.push(first..first + points);
        laws.iterations.push(iterations);
    }
    structure.counts.nlaw = source.spec.contact_laws.len();
    let laws = &mut structure.laws;
    laws.has_hunt_crossley = laws.kind.contains(&LawKind::HuntCrossley);
    let of_kind = |kind: LawKind| laws.kind.iter().position(|&found| found == kind);
    let complementarity = of_kind(LawKind::Complementarity);
    let whole = (0..laws.kind.len()).find(|&law| laws.geom1[law].is_none());
    // The law of the whole model speaks for limits and equalities, if it is of that kind.
    laws.of_rows = complementarity.map(|first| {
        whole
            .filter(|&law| laws.kind[law] == LawKind::Complementarity)
            .unwrap_or(first)
    });
    check_levels(source, structure, report);
    check_dimensions(source, structure, report);
    find_impulse_pairs(source, structure);
    check_impacts(source, structure, report);
}

/// Lists the geoms that may meet under the impulse law.
fn find_impulse_pairs(source: Source<'_>, structure: &mut Structure) {
    if !structure.laws.kind.contains(&LawKind::Impulse) {
        return;
    }
    let filter_parent = source.spec.option.flags.filter_parent;
    let (laws, kinds) = (&structure.laws, &structure.geoms.kind);
    let mut found = Vec::new();
    for_each_unfiltered_pair(structure, filter_parent, |geoms, _| {
        let [first, second] = geoms.map(|geom| kinds[geom]);
        let law = (laws.find(geoms)).filter(|&law| laws.kind[law] == LawKind::Impulse);
        if let Some(law) = law.filter(|_| can_touch(first, second)) {
            found.push(ImpulsePair { geoms, law });
        }
    });
    structure.laws.impulse_pairs = found;
}

/// Refuses what impacts do not have: friction, contact points, the stages of RK4.
fn check_impacts(source: Source<'_>, structure: &Structure, report: &mut Report) {
    let laws = &structure.laws;
    for (law, spec) in source.spec.contact_laws.iter().enumerate() {
        if laws.kind[law] != LawKind::Impulse {
            continue;
        }
        if spec.points != ContactPoints::Shape {
            let message = format!(
                "{} has no contact points: impacts are of whole shapes",
                called(spec)
            );
            report.error(code::LAW, spec.span, message);
        }
        let condim = |geom: usize| structure.geoms.condim[geom];
        let mut geoms = (laws.impulse_pairs.iter())
            .filter(|pair| pair.law == law)
            .flat_map(|pair| pair.geoms);
        if let Some(geom) = geoms.find(|&geom| condim(geom) > 1) {
            let message = format!(
                "{} has no friction, but geom '{}' has condim {}",
                called(spec),
                structure.names.geoms[geom],
                condim(geom)
            );
            let help = "set condim=\"1\" for the geom, or choose law=complementarity";
            report.error_help(code::LAW, spec.span, message, help);
        }
        if source.spec.option.integrator == Integrator::RungeKutta4 {
            let message = format!(
                "{} changes velocities within a step, but the integrator is RK4, whose stages know one velocity",
                called(spec)
            );
            let help = "set <option integrator=\"Euler\"/>, implicit or implicitfast";
            report.error_help(code::LAW, spec.span, message, help);
        }
    }
}

fn check_impulse(spec: &ContactLawSpec, law: &ImpulseSpec, report: &mut Report) {
    let share = |value: f64| (0.0..=1.0).contains(&value);
    check(
        spec,
        ("restitution", law.restitution),
        share,
        "0 to 1",
        report,
    );
    let impacts = ("impacts", f64::from(law.impacts));
    check(spec, impacts, |count| count >= 1.0, "at least 1", report);
}

/// How a law is called in messages.
fn called(spec: &ContactLawSpec) -> String {
    match spec.label.as_str() {
        "" => "the contact law of the model".to_owned(),
        label => format!("contact law '{label}'"),
    }
}

/// Refuses integrators and mixtures that a law does not admit.
fn check_levels(source: Source<'_>, structure: &Structure, report: &mut Report) {
    let laws = &structure.laws;
    let Some(law) = laws.of_rows else {
        return;
    };
    let spec = &source.spec.contact_laws[law];
    let integrator = match source.spec.option.integrator {
        Integrator::Euler => None,
        Integrator::RungeKutta4 => Some("RK4"),
        Integrator::Implicit => Some("implicit"),
        Integrator::ImplicitFast => Some("implicitfast"),
    };
    if let Some(integrator) = integrator {
        let message = format!(
            "{} is complementarity, which gives impulses for a whole step, but the integrator is {integrator}",
            called(spec)
        );
        let help = "set <option integrator=\"Euler\"/>, or choose law=hunt_crossley, which goes with any integrator";
        report.error_help(code::LAW, spec.span, message, help);
    }
    let is_whole = |law: &usize| laws.geom1[*law].is_none();
    let soft = laws.kind.iter().position(|&kind| kind == LawKind::Soft);
    let rest_is_soft = !(0..laws.kind.len()).any(|law| is_whole(&law));
    if soft.is_some() || rest_is_soft {
        let other = match soft {
            Some(soft) => called(&source.spec.contact_laws[soft]),
            None => "the law of all other contacts".to_owned(),
        };
        let message = format!(
            "{} is complementarity and {other} is soft: a step is solved for impulses or for forces, not for both",
            called(spec)
        );
        let help = "add <text name=\"carom/contact\" data=\"law=complementarity\"/> (or law=hunt_crossley) \
                    for the other contacts";
        report.error_help(code::LAW, spec.span, message, help);
    }
}

/// Refuses torsional and rolling friction under the Hunt–Crossley law, which has none.
fn check_dimensions(source: Source<'_>, structure: &Structure, report: &mut Report) {
    let laws = &structure.laws;
    if !laws.has_hunt_crossley {
        return;
    }
    for (law, spec) in source.spec.contact_laws.iter().enumerate() {
        if laws.kind[law] != LawKind::HuntCrossley {
            continue;
        }
        let named = [laws.geom1[law], laws.geom2[law]];
        let geoms = match spec.geom1 {
            Some(_) => named.into_iter().flatten().collect(),
            None => (0..structure.counts.ngeom).collect::<Vec<_>>(),
        };
        let wide = geoms
            .into_iter()
            .find(|&geom| structure.geoms.condim[geom] > 3);
        if let Some(geom) = wide {
            let message = format!(
                "{} has no torsional or rolling friction, but geom '{}' has condim {}",
                called(spec),
                structure.names.geoms[geom],
                structure.geoms.condim[geom]
            );
            let help = "set condim=\"3\" for the geom, or choose law=complementarity";
            report.error_help(code::LAW, spec.span, message, help);
        }
    }
}

/// Reports a number outside of its range.
fn check(
    spec: &ContactLawSpec,
    (name, value): (&str, f64),
    allowed: impl Fn(f64) -> bool,
    range: &str,
    report: &mut Report,
) {
    if !allowed(value) {
        let message = format!("{name} of {} must be {range}, not {value}", called(spec));
        report.push(Diagnostic::error(code::LAW, message).at(spec.span));
    }
}

fn check_complementarity(spec: &ContactLawSpec, law: &ComplementaritySpec, report: &mut Report) {
    let share = |value: f64| (0.0..=1.0).contains(&value);
    let positive = |value: f64| value >= 0.0 && value.is_finite();
    let [penetration, gap] = law.baumgarte;
    for (name, value) in [
        ("restitution", law.restitution),
        ("the first number of baumgarte", penetration),
        ("the second number of baumgarte", gap),
    ] {
        check(spec, (name, value), share, "0 to 1", report);
    }
    for (name, value) in [
        ("restitution_speed", law.restitution_speed),
        ("mixing", law.mixing),
        ("tolerance", law.tolerance),
    ] {
        check(spec, (name, value), positive, "positive or zero", report);
    }
    let iterations = ("iterations", f64::from(law.iterations));
    check(spec, iterations, |count| count >= 1.0, "at least 1", report);
}

fn check_hunt_crossley(spec: &ContactLawSpec, law: &HuntCrossleySpec, report: &mut Report) {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    for (name, value) in [
        ("stiffness", law.stiffness),
        ("transition_speed", law.transition_speed),
        ("viscous_force", law.viscous_force),
    ] {
        check(spec, (name, value), positive, "positive", report);
    }
    for (name, value) in [("dissipation", law.dissipation), ("viscous", law.viscous)] {
        let allowed = |value: f64| value == 0.0 || positive(value);
        check(spec, (name, value), allowed, "positive or zero", report);
    }
    let at_least_one = |value: f64| value >= 1.0 && value.is_finite();
    for (name, value) in [
        ("exponent", law.exponent),
        ("static_ratio", law.static_ratio),
    ] {
        check(spec, (name, value), at_least_one, "at least 1", report);
    }
}

/// The contact points of a law's first geom, in the geom's frame; empty for a whole shape.
fn points(
    source: Source<'_>,
    spec: &ContactLawSpec,
    geom: usize,
    report: &mut Report,
) -> Vec<[f64; 3]> {
    match &spec.points {
        ContactPoints::Shape => Vec::new(),
        ContactPoints::List(points) => points.clone(),
        &ContactPoints::Grid { spacing, faces } => {
            let Some(geom) = source
                .spec
                .bodies
                .iter()
                .flat_map(|body| &body.geoms)
                .nth(geom)
            else {
                return Vec::new();
            };
            if geom.kind != GeomKind::Box || geom.mesh.is_some() {
                let message = format!(
                    "{} asks for a grid on geom '{}', which is not a box with sizes of its own",
                    called(spec),
                    geom.name
                );
                let help = "give the contact points of other shapes one by one, with points=";
                report.error_help(code::LAW, spec.span, message, help);
                return Vec::new();
            }
            // What is wrong with the geom itself is reported with it.
            let frame = own_frame(geom, &geom.name, &mut Report::default());
            frame.map_or_else(Vec::new, |(_, half)| {
                grid(spec, half, (spacing, faces), report)
            })
        }
    }
}

fn grid(
    spec: &ContactLawSpec,
    half: [f64; 3],
    (spacing, faces): (f64, [bool; 6]),
    report: &mut Report,
) -> Vec<[f64; 3]> {
    let is_usable = spacing > 0.0 && half.iter().all(|&half| half > 0.0);
    let size = box_grid_size(half, spacing, faces);
    if !is_usable || size > MAX_POINTS as f64 {
        let message = format!(
            "a grid of {spacing} m in {} has no sensible number of points",
            called(spec)
        );
        report.error(code::LAW, spec.span, message);
        return Vec::new();
    }
    box_grid(half, spacing, faces)
}

/// Fills the numbers of the laws and their contact points.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, report: &mut Report) {
    for (law, spec) in source.spec.contact_laws.iter().enumerate() {
        match &spec.law {
            ContactLaw::Soft => {}
            ContactLaw::Complementarity(numbers) => {
                let laws = &mut model.laws;
                laws.restitution[law] = numbers.restitution;
                laws.restitution_speed[law] = numbers.restitution_speed;
                laws.baumgarte[law] = numbers.baumgarte;
                laws.mixing[law] = numbers.mixing;
                laws.tolerance[law] = numbers.tolerance;
            }
            ContactLaw::Impulse(numbers) => model.laws.restitution[law] = numbers.restitution,
            ContactLaw::HuntCrossley(numbers) => {
                let laws = &mut model.laws;
                laws.stiffness[law] = numbers.stiffness;
                laws.exponent[law] = numbers.exponent;
                laws.dissipation[law] = numbers.dissipation;
                laws.transition_speed[law] = numbers.transition_speed;
                laws.static_ratio[law] = numbers.static_ratio;
                laws.viscous[law] = numbers.viscous;
                laws.viscous_force[law] = numbers.viscous_force;
            }
        }
        let Some(geom) = model.structure.laws.geom1[law] else {
            continue;
        };
        // A little beyond the bounding sphere is rounding; more would never be found to touch.
        let reach = model.geoms.bounding_radius[geom] * (1.0 + 1e-9);
        let first = model.structure.laws.points[law].start;
        for (index, point) in points(source, spec, geom, report).into_iter().enumerate() {
            let point = Vec3(point);
            if point.norm() > reach {
                let name = &model.structure.names.geoms[geom];
                let message = format!(
                    "a contact point of {} lies outside of geom '{name}'",
                    called(spec)
                );
                let help = "points are given in the frame of the geom, in metres";
                report.error_help(code::LAW, spec.span, message, help);
                break;
            }
            model.contact_points.position[first + index] = point;
        }
    }
}
