//! Explicit contact pairs, excluded pairs of bodies and the contact bits of bodies.
//!
//! As in MuJoCo, pairs and exclusions are sorted by the signature of their bodies, first·2¹⁶ + second with the smaller
//! id first. The parameters of a pair are its own: nothing is taken from its geoms.

use carom_spec::model_spec::{PairSpec, Reference};

use super::Source;
use super::lookup::NameTable;
use super::report::{Checked, Report, code};
use crate::model::{Model, Structure};

/// Fills the structure of contact pairs and filters.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    pairs(source, structure, report);
    exclusions(source, structure, report);
    body_bits(structure);
}

fn pairs(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let spec = source.spec;
    for pair in &spec.pairs {
        check(pair, report);
    }
    let order = order(source, structure, report);
    let names = source.lookup.pairs.names();
    for &(_, [first, second], index) in &order {
        structure.pairs.geom1.push(first);
        structure.pairs.geom2.push(second);
        structure
            .pairs
            .condim
            .push(spec.pairs[index].contact_dimension);
        structure.names.pairs.push(names[index].clone());
    }
    structure.counts.npair = order.len();
}

fn check(pair: &PairSpec, report: &mut Report) {
    let condim = pair.contact_dimension;
    if !matches!(condim, 1 | 3 | 4 | 6) {
        let pair = &mut report.checked("contact pair", &pair.name, pair.span);
        let message = format!("condim {condim} of {pair} is not 1, 3, 4 or 6");
        pair.error(code::CONTACT, message);
    }
}

/// Signature, geoms and place in the file of all pairs that can be resolved, in the order of their ids.
fn order(
    source: Source<'_>,
    structure: &Structure,
    report: &mut Report,
) -> Vec<(i64, [usize; 2], usize)> {
    let mut order = Vec::with_capacity(source.spec.pairs.len());
    for (index, pair) in source.spec.pairs.iter().enumerate() {
        let checked = &mut report.checked("contact pair", &pair.name, pair.span);
        let table = &source.lookup.geoms;
        let geoms = resolve_both(table, [&pair.geom1, &pair.geom2], checked);
        let Some([first, second]) = geoms else {
            continue;
        };
        let [body1, body2] = [first, second].map(|geom| structure.geoms.body[geom]);
        let geoms = if body1 > body2 {
            [second, first]
        } else {
            [first, second]
        };
        order.push((signature(body1, body2), geoms, index));
    }
    order.sort_by_key(|&(signature, _, _)| signature);
    order
}

fn resolve_both(
    table: &NameTable,
    references: [&Reference; 2],
    checked: &mut Checked<'_>,
) -> Option<[usize; 2]> {
    let [first, second] = references.map(|reference| checked.resolve(table, reference));
    Some([first?, second?])
}

/// How MuJoCo encodes a pair of bodies.
fn signature(body1: usize, body2: usize) -> i64 {
    // More than 2¹⁶ bodies would collide there; here the product just grows.
    let wide = |body: usize| i64::try_from(body).unwrap_or(i64::MAX >> 16);
    (wide(body1.min(body2)) << 16) + wide(body1.max(body2))
}

fn exclusions(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for exclude in &source.spec.excludes {
        let checked = &mut report.checked("contact exclusion", &exclude.name, exclude.span);
        let table = &source.lookup.bodies;
        let bodies = resolve_both(table, [&exclude.body1, &exclude.body2], checked);
        if let Some([first, second]) = bodies {
            let pair = [first.min(second), first.max(second)];
            structure.filter.excluded_bodies.push(pair);
        }
    }
    let filter = &mut structure.filter;
    filter.excluded_bodies.sort_unstable();
    let signatures = filter.excluded_bodies.iter();
    filter.exclude_signature = signatures
        .map(|&[first, second]| signature(first, second))
        .collect();
    filter.excluded_bodies.dedup();
}

/// The contact bits of a body are those of all its geoms.
fn body_bits(structure: &mut Structure) {
    let geoms = &structure.geoms;
    let any = |bits: &[u32]| bits.iter().fold(0, |all, bits| all | bits);
    for range in &structure.bodies.geoms {
        let filter = &mut structure.filter;
        filter.body_contype.push(any(&geoms.contype[range.clone()]));
        filter
            .body_conaffinity
            .push(any(&geoms.conaffinity[range.clone()]));
    }
}

/// Fills the numbers of contact pairs.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let order = order(source, &model.structure, report);
    for (id, &(_, _, index)) in order.iter().enumerate() {
        let pair = &source.spec.pairs[index];
        let numbers = &mut model.pairs;
        numbers.solref[id] = pair.solver_reference;
        numbers.solreffriction[id] = pair.friction_solver_reference;
        numbers.solimp[id] = pair.solver_impedance;
        numbers.margin[id] = pair.margin;
        numbers.gap[id] = pair.gap;
        numbers.adhesion[id] = pair.adhesion;
        numbers.friction[id] = pair.friction;
    }
}
