//! Drops geoms that cannot collide, and meshes that are then not used.
//!
//! Geoms that others refer to by name stay, as do those in the ellipsoid fluid model. Where the inertia of a body was
//! inferred from a geom that goes, that inertia becomes explicit. Materials and textures stay for the viewer; nothing
//! compiled depends on them.

use std::collections::HashSet;

use carom_spec::ModelSpec;
use carom_spec::model_spec::{CompilerSettings, GeomSpec, InertiaFromGeom};

use super::super::assets::Assets;
use super::super::inertia::{BodyInertial, body_inertial, infers_inertia};
use super::super::report::{Report, code};
use super::references::References;

/// Geoms lighter than this (kg) do not count for inertia.
const MIN_MASS: f64 = 1e-14;

/// Which meshes have to be processed: all, unless visual geoms are dropped and nothing else uses them.
pub(in super::super) fn needed_meshes(spec: &ModelSpec) -> Vec<bool> {
    if !spec.compiler.discard_visual {
        return vec![true; spec.meshes.len()];
    }
    let references = References::new(spec);
    let used = meshes_of(spec, &references, |body, geom| {
        !is_visual(geom, &references) || may_have_mass(&spec.compiler, spec, body, geom)
    });
    let meshes = spec.meshes.iter();
    meshes
        .map(|mesh| used.contains(mesh.name.as_str()))
        .collect()
}

/// Whether nothing but the viewer uses a geom, its inertia aside.
fn is_visual(geom: &GeomSpec, references: &References) -> bool {
    let is_referenced = !geom.name.is_empty() && references.geoms.contains(&geom.name);
    geom.contype == 0 && geom.conaffinity == 0 && !geom.fluid_ellipsoid && !is_referenced
}
fn may_have_mass(
    settings: &CompilerSettings,
    spec: &ModelSpec,
    body: usize,
    geom: &GeomSpec,
) -> bool {
    let [low, high] = settings.inertia_group_range;
    body > 0
        && infers_inertia(&spec.bodies[body], settings)
        && (low..=high).contains(&geom.group)
        && geom.mass.unwrap_or(geom.density) != 0.0
}

/// Names of the meshes that sites, other elements and the geoms for which `counts` holds use.
fn meshes_of<'a>(
    spec: &'a ModelSpec,
    references: &'a References,
    counts: impl Fn(usize, &GeomSpec) -> bool,
) -> HashSet<&'a str> {
    let mut used: HashSet<&str> = references.meshes.iter().map(String::as_str).collect();
    for (id, body) in spec.bodies.iter().enumerate() {
        let geoms = body.geoms.iter().filter(|geom| counts(id, geom));
        let geom_meshes = geoms.filter_map(|geom| geom.mesh.as_ref());
        let site_meshes = body.sites.iter().filter_map(|site| site.mesh.as_ref());
        used.extend(
            geom_meshes
                .chain(site_meshes)
                .map(|mesh| mesh.name.as_str()),
        );
    }
    used
}

/// Drops visual geoms and unused meshes.
pub(super) fn discard(spec: &mut ModelSpec, assets: &mut Assets, report: &mut Report) {
    let references = References::new(spec);
    for id in 0..spec.bodies.len() {
        let body = &spec.bodies[id];
        let is_visual: Vec<bool> = body
            .geoms
            .iter()
            .map(|geom| is_visual(geom, &references))
            .collect();
        let settings = &spec.compiler;
        let counts = body
            .geoms
            .iter()
            .zip(&is_visual)
            .any(|(geom, is_visual)| *is_visual && may_have_mass(settings, spec, id, geom));
        if counts {
            let mut problems = Report::default();
            let inertial = body_inertial(spec, assets, id, &mut problems);
            if problems.has_errors() {
                // The body is left alone: its problems come up again when it is compiled.
                continue;
            }
            adopt(spec, id, &inertial, &is_visual, report);
        }
        let mut visual = is_visual.into_iter();
        let geoms = &mut spec.bodies[id].geoms;
        geoms.retain(|_| !visual.next().unwrap_or(false));
    }
    let used = meshes_of(spec, &references, |_, _| true);
    let keep: Vec<bool> = spec
        .meshes
        .iter()
        .map(|mesh| used.contains(mesh.name.as_str()))
        .collect();
    let mut flags = keep.iter().copied();
    spec.meshes.retain(|_| flags.next().unwrap_or(true));
    assets.retain(spec, |id| keep[id], |_| true);
}

/// Makes the inertia of a body explicit if a visual geom contributes to it.
fn adopt(
    spec: &mut ModelSpec,
    id: usize,
    inertial: &BodyInertial,
    is_visual: &[bool],
    report: &mut Report,
) {
    let mut geoms = inertial.geoms.iter().zip(is_visual);
    let contributes = geoms.any(|(geom, is_visual)| {
        *is_visual && geom.as_ref().is_some_and(|geom| geom.part.mass > MIN_MASS)
    });
    if !contributes {
        return;
    }
    let body = &mut spec.bodies[id];
    if spec.compiler.inertia_from_geom == InertiaFromGeom::Always {
        let body = &mut report.checked("body", &body.name, body.span);
        body.error_help(
            code::MASS,
            format!("discardvisual drops geoms with mass from {body}, which inertiafromgeom=\"true\" counts"),
            "use inertiafromgeom=\"auto\", or give visual geoms zero mass",
        );
        return;
    }
    body.inertial = Some(inertial.part.to_spec(body.span));
}
