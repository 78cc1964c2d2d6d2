//! Which pairs of shapes of a model have no collider yet.

use super::forward::rank;
use super::narrow;
use crate::model::{GeomKind, Model};

/// Kinds of geoms that may touch in this model but whose contacts are not found, in the order of the colliders.
///
/// Meant for a warning when a model is loaded: it looks at all pairs of geoms.
pub fn unsupported_pairs(model: &Model) -> Vec<[GeomKind; 2]> {
    let (structure, disable) = (&*model.structure, &model.settings.disable);
    if disable.contact || disable.constraint {
        return Vec::new();
    }
    let mut found: Vec<[GeomKind; 2]> = Vec::new();
    let mut consider = |first: usize, second: usize| {
        let kinds = [structure.geoms.kind[first], structure.geoms.kind[second]];
        let [a, b] = if rank(kinds[0]) > rank(kinds[1]) {
            [kinds[1], kinds[0]]
        } else {
            kinds
        };
        if narrow::can_touch(a, b)
            && narrow::collider::<f64>(a, b).is_none()
            && !found.contains(&[a, b])
        {
            found.push([a, b]);
        }
    };
    for (&first, &second) in structure.pairs.geom1.iter().zip(&structure.pairs.geom2) {
        consider(first, second);
    }
    for second in 0..structure.counts.ngeom {
        for first in 0..second {
            let (body1, body2) = (structure.geoms.body[first], structure.geoms.body[second]);
            if structure.geom_bits_match(first, second)
                && structure.bodies_may_touch(body1, body2, !disable.filterparent)
            {
                consider(first, second);
            }
        }
    }
    found.sort_by_key(|kinds| kinds.map(rank));
    found
}
