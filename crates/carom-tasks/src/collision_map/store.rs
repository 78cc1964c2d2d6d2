//! Maps in files of weights, and scenes that name them.

use carom::{Error, ErrorKind};
use carom_spec::ModelSpec;
use carom_spec::model_spec::{CollisionMapSpec, InertiaSpec, Reference};
use carom_spec::span::Span;
use carom_spec::weights::{self, TermWeights};

use super::{CollisionMap, StrikeMapping};

/// The bytes of a file of weights with the map of a contact pair; the engine reads it with the scene.
pub fn write(pair: &str, map: &CollisionMap) -> Vec<u8> {
    weights::write(&[TermWeights {
        name: pair.to_owned(),
        fingerprint: map.bodies.fingerprint(),
        weights: map.laws.numbers().to_vec(),
        scales: Vec::new(),
        range: map.limits.numbers().map(|most| [0.0, most]).to_vec(),
    }])
}

/// The scene with a map: the mass of the struck body and the coefficients of friction that were found, and the text that
/// names the map and its `file` of weights.
///
/// # Errors
/// When the scene lacks a contact pair that the mapping names.
pub fn scene(
    mut spec: ModelSpec,
    mapping: &StrikeMapping,
    map: &CollisionMap,
    file: &str,
) -> Result<ModelSpec, Error> {
    let names = &mapping.scene;
    let own: Vec<String> = (spec.bodies.iter())
        .filter(|body| body.name == names.struck)
        .flat_map(|body| body.geoms.iter().map(|geom| geom.name.clone()))
        .collect();
    let coefficients = [
        (&names.pair, map.laws.contact.friction),
        (&names.table, map.laws.table.friction),
    ];
    let mut table = None;
    for (name, coefficient) in coefficients {
        let Some(pair) = spec.pairs.iter_mut().find(|pair| pair.name == *name) else {
            let why = format!("the scene has no contact pair '{name}'");
            return Err(Error::new(ErrorKind::Name, why)
                .remedy("name one under [scene] in the mapping, or add it to the scene"));
        };
        pair.friction[..2].fill(coefficient);
        let is_own = own.contains(&pair.geom1.name);
        table = Some(if is_own { &pair.geom2 } else { &pair.geom1 }.clone());
    }
    let reference = |name: &str| Reference {
        name: name.to_owned(),
        span: Span::default(),
    };
    let arm = map.bodies.arm;
    spec.collision_maps = vec![CollisionMapSpec {
        name: names.pair.clone(),
        span: Span::default(),
        struck: reference(&names.struck),
        striker: reference(&names.striker),
        table: reference(&table.map(|table| table.name).unwrap_or_default()),
        arm: [arm.delay, arm.brake, arm.retreat, arm.travel],
        quiet: map.bodies.quiet,
        numbers: map.laws.numbers().to_vec(),
        limits: map.limits.numbers().to_vec(),
        fingerprint: map.bodies.fingerprint(),
        weights_file: file.to_owned(),
    }];
    Ok(spec)
}

/// Gives a body another mass, and inertia in proportion.
pub fn weigh(spec: &mut ModelSpec, body: &str, ratio: f64) {
    for body in spec.bodies.iter_mut().filter(|own| own.name == body) {
        if let Some(inertial) = &mut body.inertial {
            inertial.mass *= ratio;
            let moments = match &mut inertial.inertia {
                InertiaSpec::Diagonal { diagonal, .. } => &mut diagonal[..],
                InertiaSpec::Full(moments) => &mut moments[..],
            };
            for moment in moments {
                *moment *= ratio;
            }
        }
        for geom in &mut body.geoms {
            geom.density *= ratio;
            if let Some(mass) = &mut geom.mass {
                *mass *= ratio;
            }
        }
    }
}
