//! Which geoms of a model may touch at all, and which pairs of shapes have no collider yet.

use super::forward::rank;
use super::narrow;
use crate::model::{GeomKind, Model, Structure};

/// Calls `found` for every pair of geoms that the filters let touch, wherever they are, with the explicit contact pair if
/// there is one. Looks at all pairs of geoms.
pub fn for_each_possible_pair(model: &Model, found: impl FnMut([usize; 2], Option<usize>)) {
    let disable = &model.settings.disable;
    if !(disable.contact || disable.constraint) {
        for_each_unfiltered_pair(&model.structure, !disable.filterparent, found);
    }
}

/// As [`for_each_possible_pair`], of a model that is not finished yet.
pub(crate) fn for_each_unfiltered_pair(
    structure: &Structure,
    filter_parent: bool,
    mut found: impl FnMut([usize; 2], Option<usize>),
) {
    let mut explicit = Vec::new();
    let pairs = structure.pairs.geom1.iter().zip(&structure.pairs.geom2);
    for (pair, (&first, &second)) in pairs.enumerate() {
        explicit.push([first.min(second), first.max(second)]);
        found([first, second], Some(pair));
    }
    explicit.sort_unstable();
    for second in 0..structure.counts.ngeom {
        for first in 0..second {
            let (body1, body2) = (structure.geoms.body[first], structure.geoms.body[second]);
            if structure.geom_bits_match(first, second)
                && structure.bodies_may_touch(body1, body2, filter_parent)
                && explicit.binary_search(&[first, second]).is_err()
            {
                found([first, second], None);
            }
        }
    }
}

/// Kinds of geoms that may touch in this model but whose contacts are not found, in the order of the colliders.
///
/// Meant for a warning when a model is loaded. Pairs of geoms, which are many, are looked at only where two kinds of the model
/// have no collider.
pub fn unsupported_pairs(model: &Model) -> Vec<[GeomKind; 2]> {
    let is_missing = |a, b| narrow::can_touch(a, b) && narrow::collider::<f64>(a, b).is_none();
    let mut kinds = model.structure.geoms.kind.clone();
    kinds.sort_unstable_by_key(|&kind| rank(kind));
    kinds.dedup();
    let mut of_kinds = kinds.iter().enumerate();
    if !of_kinds.any(|(first, &a)| kinds[first..].iter().any(|&b| is_missing(a, b))) {
        return Vec::new();
    }
    let mut found: Vec<[GeomKind; 2]> = Vec::new();
    for_each_possible_pair(model, |geoms, _| {
        let kinds = geoms.map(|geom| model.structure.geoms.kind[geom]);
        let [a, b] = if rank(kinds[0]) > rank(kinds[1]) {
            [kinds[1], kinds[0]]
        } else {
            kinds
        };
        if is_missing(a, b) && !found.contains(&[a, b]) {
            found.push([a, b]);
        }
    });
    found.sort_by_key(|kinds| kinds.map(rank));
    found
}
