//! Maps of collisions: which bodies they are for, and their numbers.

use std::sync::Arc;

use carom_planar::{Arm, Bodies, Limits, NUMBERS};
use carom_spec::model_spec::CollisionMapSpec;

use super::Source;
use super::report::{Report, code};
use crate::math::{Quat, Vec3};
use crate::model::{GeomKind, Integrator, LawLevel, Model, STRIKE_MEMORY, StrikeMap, Structure};
use crate::plan_view;

/// Fills the counts. The arm behind the striker has activations of its own.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let maps = &source.spec.collision_maps;
    let Some(map) = maps.first() else {
        return;
    };
    if let Some(second) = maps.get(1) {
        let message = format!("'{}' is a second map of collisions", second.name);
        let help = "a model has one: leave one of them out";
        report.error_help(code::COLLISION_MAP, second.span, message, help);
    }
    if map.numbers.len() != NUMBERS || map.limits.len() != 4 {
        let message = format!(
            "map '{}' has {} numbers and {} limits, and should have {NUMBERS} and 4",
            map.name,
            map.numbers.len(),
            map.limits.len()
        );
        report.error_help(code::COLLISION_MAP, map.span, message, LEARN);
    }
    if structure.laws.acts_on(LawLevel::Impact) {
        let message = "a map of collisions does not go with the impulse law";
        let help = "choose another contact law for the other pairs";
        report.error_help(code::COLLISION_MAP, map.span, message, help);
    }
    structure.counts.nstrike_number = NUMBERS;
    structure.counts.na += STRIKE_MEMORY;
}

/// Fills the numbers.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let numbers = source
        .spec
        .collision_maps
        .iter()
        .flat_map(|map| &map.numbers);
    for (target, &number) in model.strikes.number.iter_mut().zip(numbers) {
        *target = number;
    }
}

/// What to do about a map that is not for its bodies.
const LEARN: &str = "learn a map for this scene: carom learn collision";

/// Makes the map of a model whose numbers are complete.
pub(super) fn finish(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let Some(spec) = source.spec.collision_maps.first() else {
        return;
    };
    match map(source, spec, model) {
        Ok(map) => model.strike = Some(Arc::new(map)),
        Err((message, help)) => {
            let message = format!("map '{}': {message}", spec.name);
            report.error_help(code::COLLISION_MAP, spec.span, message, help);
        }
    }
}

type Refusal = (String, &'static str);

fn map(source: Source<'_>, spec: &CollisionMapSpec, model: &Model) -> Result<StrikeMap, Refusal> {
    let structure = &*model.structure;
    if model.settings.integrator == Integrator::RungeKutta4 {
        let why = "maps change velocities within a step, whose stages under RK4 know one velocity";
        return Err((
            why.to_owned(),
            "set <option integrator=\"Euler\"/>, implicit or implicitfast",
        ));
    }
    let gravity = model.option.gravity[0].0;
    if gravity[0] != 0.0 || gravity[1] != 0.0 || gravity[2] >= 0.0 {
        return Err((
            "gravity is not along −z".to_owned(),
            "let the table be level",
        ));
    }
    let body = |name: &str| {
        let found = source.lookup.bodies.get(name);
        found.ok_or_else(|| {
            (
                format!("there is no body '{name}'"),
                "name a body of the model",
            )
        })
    };
    let ids = [body(&spec.struck.name)?, body(&spec.striker.name)?];
    let table = source.lookup.geoms.get(&spec.table.name).ok_or_else(|| {
        let why = format!("there is no geom '{}'", spec.table.name);
        (why, "name the geom that the struck body stands on")
    })?;
    let is_level = |quat: Quat| (quat.rotate(Vec3([0.0, 0.0, 1.0]))[2] - 1.0).abs() < 1e-9;
    let owner = structure.geoms.body[table];
    let is_flat = matches!(structure.geoms.kind[table], GeomKind::Plane | GeomKind::Box);
    if structure.bodies.weld[owner] != 0
        || !is_flat
        || !is_level(model.bodies.quat[owner].mul(model.geoms.quat[table]))
    {
        let why = format!(
            "'{}' is no level plane or box that stays in place",
            spec.table.name
        );
        return Err((
            why,
            "let the struck body stand on a plane or box of the world",
        ));
    }
    let free = plan_view::free_joint(model, ids[0]).ok_or_else(|| {
        let why = format!("body '{}' has no free joint", spec.struck.name);
        (why, "give the struck body a free joint")
    })?;
    let held = plan_view::held_joints(model, ids[1]).ok_or_else(|| {
        let why = format!(
            "body '{}' does not move by slides along x and y and a hinge about z in the world",
            spec.striker.name
        );
        (
            why,
            "give the striker these three joints, at the origin of its frame, in this order",
        )
    })?;
    let bodies = bodies(spec, model)?;
    if bodies.fingerprint() != spec.fingerprint {
        let why = "it was learned with bodies of other shape, mass or gravity".to_owned();
        return Err((why, LEARN));
    }
    let heights = |id: usize| {
        let corners = plan_view::corners(model, id).unwrap_or_default();
        let low = corners.iter().fold(f64::INFINITY, |low, p| low.min(p[2]));
        let high = corners
            .iter()
            .fold(f64::NEG_INFINITY, |high, p| high.max(p[2]));
        [low, high]
    };
    let ([low, high], at) = (heights(ids[0]), model.bodies.position[ids[1]].0);
    let limits: [f64; 4] = std::array::from_fn(|k| spec.limits[k]);
    Ok(StrikeMap {
        name: spec.name.clone(),
        bodies,
        limits: Limits::of(limits),
        ids,
        table,
        free,
        held,
        memory: structure.counts.na - STRIKE_MEMORY,
        centre: model.bodies.inertial_position[ids[0]],
        origin: [at[0], at[1]],
        span: heights(ids[1]).map(|height| at[2] + height),
        top: high - low,
    })
}

fn bodies(spec: &CollisionMapSpec, model: &Model) -> Result<Bodies, Refusal> {
    let no_outline = |error: crate::Error| (error.to_string(), LEARN);
    let struck = plan_view::standing(model, &spec.struck.name).map_err(no_outline)?;
    let striker = plan_view::held(model, &spec.striker.name).map_err(no_outline)?;
    let [delay, brake, retreat, travel] = spec.arm;
    let arm = Arm {
        delay,
        brake,
        retreat,
        travel,
    };
    Ok(Bodies::new(struck, striker, arm, spec.quiet))
}
