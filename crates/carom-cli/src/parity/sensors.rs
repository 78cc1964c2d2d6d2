//! Sensor values at each snapshot.

use carom::coverage::is_evaluated;
use carom::model::{GeomKind, Sensor, SensorGeoms};
use carom::{Data, Model};
use carom_spec::model_spec::SensorNeed;

use super::compare::{Comparison, Family};
use super::reference::Class;
use super::snapshots::Checker;

/// What a sensor reads, as far as agreement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Positions, velocities and smooth forces.
    Smooth,
    /// Accelerations and forces, which constraints change.
    Constrained,
    /// Distances of round shapes and planes, and rays.
    Geometry,
    /// Distances of shapes whose nearest points MuJoCo finds by iteration.
    Convex,
    /// Contacts: which points a collider chooses decides.
    Contacts,
}

fn source_of(model: &Model, sensor: &Sensor) -> Source {
    match sensor.kind.row().need {
        SensorNeed::Contacts => Source::Contacts,
        SensorNeed::Rays => Source::Geometry,
        SensorNeed::Distance => {
            let mut sides = sensor.geoms().into_iter();
            if sides.all(|side| is_round(model, side)) {
                Source::Geometry
            } else {
                Source::Convex
            }
        }
        SensorNeed::Acceleration | SensorNeed::InteractionForce | SensorNeed::ConstraintForce => {
            Source::Constrained
        }
        SensorNeed::Motion | SensorNeed::SubtreeVelocity | SensorNeed::Energy => Source::Smooth,
    }
}

/// Whether all geoms of a sensor are such that distances between them have formulas.
fn is_round(model: &Model, geoms: SensorGeoms) -> bool {
    let structure = &model.structure;
    let geoms = match geoms {
        SensorGeoms::Geom(geom) => geom..geom + 1,
        SensorGeoms::Body(body) => structure.bodies.geoms[body].clone(),
    };
    let is_round = |kind| matches!(kind, GeomKind::Plane | GeomKind::Sphere | GeomKind::Capsule);
    structure.geoms.kind[geoms].iter().copied().all(is_round)
}

/// Compares sensors that need neither contacts nor, where constraints act, accelerations.
pub(super) fn compare_smooth(model: &Model, data: &Data, check: &mut Checker<'_>) {
    let constrained = check
        .theirs("nefc")
        .and_then(|count| count.first().copied())
        .unwrap_or(0.0)
        > 0.0;
    let wanted = |source: Source| match source {
        Source::Smooth => true,
        Source::Constrained => !constrained,
        Source::Geometry | Source::Convex | Source::Contacts => false,
    };
    compare(model, data, check, ("sensordata", 1e-10), wanted);
}

/// Compares all sensors. Those of contacts have the tolerance of forces; where a collider chooses the points they are
/// compared for information only.
pub(super) fn compare_all(model: &Model, data: &Data, check: &mut Checker<'_>) {
    let tolerance = match check.reference.class {
        Class::Exact => 1e-10,
        Class::Ccd => 1e-4,
        Class::Loose => 1e-2,
    };
    let of_contacts = |source: Source| source == Source::Contacts;
    let name = "sensordata with constraints";
    compare(model, data, check, (name, tolerance), |source| {
        !of_contacts(source) && source != Source::Convex
    });
    // The tolerance of contact positions that MuJoCo finds by iteration.
    let name = "sensordata of distances";
    compare(model, data, check, (name, tolerance.max(1e-5)), |source| {
        source == Source::Convex
    });
    let exact = check.reference.class == Class::Exact;
    let of_forces = if exact { 1e-8 } else { tolerance };
    let name = "sensordata of contacts";
    if let Some(comparison) = compare(model, data, check, (name, of_forces), of_contacts) {
        comparison.judged = exact;
    }
}

/// Compares the wanted sensors that are evaluated; none when there are none.
fn compare<'a>(
    model: &Model,
    data: &Data,
    check: &'a mut Checker<'_>,
    (name, tolerance): (&str, f64),
    wanted: impl Fn(Source) -> bool,
) -> Option<&'a mut Comparison> {
    let mut theirs = check.theirs("sensordata")?;
    let mut ours = data.sensing.values.clone();
    let sensors = &model.structure.sensors;
    let mut any = false;
    for (index, sensor) in sensors.list.iter().enumerate() {
        if is_evaluated(sensor.kind) && wanted(source_of(model, sensor)) {
            any = true;
            continue;
        }
        let values = sensors.address[index]..sensors.address[index] + sensors.dimension[index];
        ours.get_mut(values.clone()).unwrap_or_default().fill(0.0);
        theirs.get_mut(values).unwrap_or_default().fill(0.0);
    }
    if !any {
        return None;
    }
    let family = Family::SensorValue;
    check.check_against("sensing", name, family, tolerance, &ours, &theirs);
    check.out.last_mut()
}
