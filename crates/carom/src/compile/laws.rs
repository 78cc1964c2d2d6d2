//! Contact laws: which contacts follow which, their numbers and contact points.
//!
//! A law works on the level of accelerations, impulses or forces, and so goes with some integrators and laws only:
//! what makes no sense is refused here, with the way out.

use carom_spec::diagnostic::Diagnostic;
use carom_spec::model_spec::{ContactLawSpec, ContactPoints, LawNumber, LawValue, Reference};

use super::Source;
use super::geoms::own_frame;
use super::primitive;
use super::report::{Report, code};
use crate::laws::admits;
use crate::laws::points::{box_grid, box_grid_size};
use crate::math::Vec3;
use crate::model::{
    GeomKind, GeomShape, ImpulsePair, Integrator, LawKind, LawLevel, Model, Structure,
};
use crate::stages::collision::narrow::patch::MAX_CELLS;
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
        let iterations = check_numbers(spec, report);
        let first = structure.counts.ncontact_point;
        let points = geom1.map_or(0, |geom| points(source, spec, geom, report).len());
        structure.counts.ncontact_point += points;
        let laws = &mut structure.laws;
        laws.label.push(spec.label.clone());
        laws.kind.push(spec.law.kind());
        laws.geom1.push(geom1);
        laws.geom2.push(geom2);
        laws.points.push(first..first + points);
        laws.cells.push(match spec.points {
            ContactPoints::Patch { cells } => cells as usize,
            _ => 0,
        });
        laws.iterations.push(iterations);
    }
    structure.counts.nlaw = source.spec.contact_laws.len();
    let laws = &mut structure.laws;
    let is_impulse = |&law: &usize| laws.kind[law].level() == LawLevel::Impulse;
    let first = (0..laws.kind.len()).find(is_impulse);
    let whole = (0..laws.kind.len()).find(|&law| laws.geom1[law].is_none());
    // The law of the whole model speaks for limits and equalities, if it is of that level.
    laws.of_rows = first.map(|first| whole.filter(is_impulse).unwrap_or(first));
    find_impulse_pairs(source, structure);
    check_mixture(source, structure, report);
    for (law, spec) in source.spec.contact_laws.iter().enumerate() {
        check_integrator(source, structure, (law, spec), report);
        check_dimension(structure, (law, spec), report);
        check_points(spec, report);
    }
}

/// Lists the geoms that may meet under the impulse law.
fn find_impulse_pairs(source: Source<'_>, structure: &mut Structure) {
    let is_impact = |law: usize| structure.laws.kind[law].level() == LawLevel::Impact;
    if !(0..structure.laws.kind.len()).any(is_impact) {
        return;
    }
    let filter_parent = source.spec.option.flags.filter_parent;
    let (laws, kinds) = (&structure.laws, &structure.geoms.kind);
    let mut found = Vec::new();
    for_each_unfiltered_pair(structure, filter_parent, |geoms, _| {
        let [first, second] = geoms.map(|geom| kinds[geom]);
        let law = laws.find(geoms).filter(|&law| is_impact(law));
        if let Some(law) = law.filter(|_| can_touch(first, second)) {
            found.push(ImpulsePair { geoms, law });
        }
    });
    structure.laws.impulse_pairs = found;
}

/// How a law is called in messages.
fn called(spec: &ContactLawSpec) -> String {
    match spec.label.as_str() {
        "" => "the contact law of the model".to_owned(),
        label => format!("contact law '{label}'"),
    }
}

/// Refuses integrators that a law does not go with.
fn check_integrator(
    source: Source<'_>,
    structure: &Structure,
    (law, spec): (usize, &ContactLawSpec),
    report: &mut Report,
) {
    let (laws, integrator) = (&structure.laws, source.spec.option.integrator);
    let level = laws.kind[law].level();
    // One of the laws that share their rows speaks for all of them.
    if level == LawLevel::Impulse && laws.of_rows != Some(law) {
        return;
    }
    let Some(refusal) = admits::integrator(level, integrator) else {
        return;
    };
    let name = match integrator {
        Integrator::Euler => "Euler",
        Integrator::RungeKutta4 => "RK4",
        Integrator::Implicit => "implicit",
        Integrator::ImplicitFast => "implicitfast",
    };
    let message = format!(
        "{} {}, but the integrator is {name}{}",
        called(spec),
        refusal.why,
        refusal.because
    );
    report.error_help(code::LAW, spec.span, message, refusal.help);
}

/// Refuses models in which some rows would be solved for impulses and others for forces.
fn check_mixture(source: Source<'_>, structure: &Structure, report: &mut Report) {
    let laws = &structure.laws;
    let Some(law) = laws.of_rows else {
        return;
    };
    let spec = &source.spec.contact_laws[law];
    let soft = laws.kind.iter().position(|&kind| kind == LawKind::Soft);
    let rest_is_soft = laws.geom1.iter().all(Option::is_some);
    if soft.is_none() && !rest_is_soft {
        return;
    }
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

/// Refuses friction that a law does not have.
fn check_dimension(
    structure: &Structure,
    (law, spec): (usize, &ContactLawSpec),
    report: &mut Report,
) {
    let laws = &structure.laws;
    let description = laws.kind[law].description();
    let named = || [laws.geom1[law], laws.geom2[law]].into_iter().flatten();
    let geoms: Vec<usize> = match (description.level, &spec.geom1) {
        // Impacts are of pairs that are known: others need not fit.
        (LawLevel::Impact, _) => {
            let own = laws.impulse_pairs.iter().filter(|pair| pair.law == law);
            own.flat_map(|pair| pair.geoms).collect()
        }
        (_, Some(_)) => named().collect(),
        (_, None) => (0..structure.counts.ngeom).collect(),
    };
    let condim = |geom: usize| structure.geoms.condim[geom];
    let most = description.max_condim;
    if let Some(geom) = geoms.into_iter().find(|&geom| condim(geom) > most) {
        let message = format!(
            "{} has {}, but geom '{}' has condim {}",
            called(spec),
            admits::lacking_friction(most),
            structure.names.geoms[geom],
            condim(geom)
        );
        let help = format!("set condim=\"{most}\" for the geom, or choose law=complementarity");
        report.error_help(code::LAW, spec.span, message, help);
    }
}

/// Refuses contact points of impacts.
fn check_points(spec: &ContactLawSpec, report: &mut Report) {
    if spec.law.kind().level() == LawLevel::Impact && spec.points != ContactPoints::Shape {
        let message = format!(
            "{} has no contact points: impacts are of whole shapes",
            called(spec)
        );
        report.error(code::LAW, spec.span, message);
    }
    let ContactPoints::Patch { cells } = spec.points else {
        return;
    };
    if spec.law.kind().level() != LawLevel::Force {
        let message = format!("{} has no patches of cells", called(spec));
        let help = "choose law=hunt_crossley, or leave out patch";
        report.error_help(code::LAW, spec.span, message, help);
    }
    if !(1..=MAX_CELLS).contains(&(cells as usize)) {
        let message = format!(
            "{} cuts faces into {cells} × {cells} cells; patch must be 1 to {MAX_CELLS}",
            called(spec)
        );
        report.error(code::LAW, spec.span, message);
    }
}

/// Reports numbers outside of their ranges; gives the count among them, zero for a law without.
fn check_numbers(spec: &ContactLawSpec, report: &mut Report) -> usize {
    let (mut law, mut count) = (spec.law, 0);
    for (number, value) in law.values() {
        match value {
            LawValue::Numbers([value]) => check(spec, number, (number.name, *value), report),
            LawValue::Numbers(values) => {
                for (place, &mut value) in ["first", "second"].into_iter().zip(values) {
                    let name = format!("the {place} number of {}", number.name);
                    check(spec, number, (&name, value), report);
                }
            }
            LawValue::Count(value) => {
                check(spec, number, (number.name, f64::from(*value)), report);
                count = *value as usize;
            }
        }
    }
    count
}

/// Reports a number outside of its range.
fn check(
    spec: &ContactLawSpec,
    number: &LawNumber,
    (name, value): (&str, f64),
    report: &mut Report,
) {
    if !number.range.contains(value) {
        let range = number.range.words();
        let message = format!("{name} of {} must be {range}, not {value}", called(spec));
        report.push(Diagnostic::error(code::LAW, message).at(spec.span));
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
        ContactPoints::Shape | ContactPoints::Patch { .. } => Vec::new(),
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
            let frame = own_frame(
                geom,
                &mut Report::default().checked("geom", &geom.name, geom.span),
            );
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

/// Radius around the frame of a geom that holds its shape (m); those of primitives are not in the model yet.
fn bounding_radius(model: &Model, geom: usize) -> f64 {
    let kind = model.structure.geoms.kind[geom];
    match model.structure.geoms.shape[geom] {
        GeomShape::Primitive => primitive::bounding_radius(kind, model.geoms.size[geom].0),
        GeomShape::Mesh(_) | GeomShape::HeightField(_) => model.geoms.bounding_radius[geom],
    }
}

/// Fills the numbers of the laws and their contact points.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, report: &mut Report) {
    for (law, spec) in source.spec.contact_laws.iter().enumerate() {
        let mut values = spec.law;
        for (number, value) in values.values() {
            if let LawValue::Numbers(values) = value {
                model
                    .laws
                    .for_each_mut(|field, element, component, target| {
                        if field == number.name && element == law {
                            *target = values[component];
                        }
                    });
            }
        }
        let Some(geom) = model.structure.laws.geom1[law] else {
            continue;
        };
        // A little beyond the bounding sphere is rounding; more would never be found to touch.
        let reach = bounding_radius(model, geom) * (1.0 + 1e-9);
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
