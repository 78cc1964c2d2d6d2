//! Pairs of geoms that may touch: bounding spheres, swept along one axis.
//!
//! Geoms without bounds (planes) are paired with all others. The order of the sweep is kept from step to step, where
//! it is nearly sorted already; the pairs are sorted at the end, so they do not depend on it.

use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

use super::narrow;

/// A pair of geoms to examine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The two bodies, smaller id first.
    bodies: [u32; 2],
    /// Explicit contact pair, or `u32::MAX`; explicit pairs of two bodies come first.
    pub pair: u32,
    /// The two geoms, in the order of their bodies.
    pub geoms: [u32; 2],
}

impl Candidate {
    /// A pair found by the sweep or, with an id, given by the model.
    fn new<T: Scalar>(model: &Model<T>, geoms: [usize; 2], pair: Option<usize>) -> Self {
        let body = |geom: usize| model.structure.geoms.body[geom];
        let narrow_id = |id: usize| u32::try_from(id).unwrap_or(u32::MAX);
        let key = |geom: usize| (body(geom), geom);
        let [first, second] = if key(geoms[0]) <= key(geoms[1]) {
            geoms
        } else {
            [geoms[1], geoms[0]]
        };
        Self {
            bodies: [narrow_id(body(first)), narrow_id(body(second))],
            pair: pair.map_or(u32::MAX, narrow_id),
            geoms: [narrow_id(first), narrow_id(second)],
        }
    }
}

/// Work area of the broad phase; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Broad {
    /// Bounded geoms in the order of their lower bounds.
    order: Vec<u32>,
    /// Lower and upper bound of each geom along the sweep.
    bounds: Vec<[f64; 2]>,
    /// The pairs found.
    pub candidates: Vec<Candidate>,
}

/// Finds all pairs of geoms whose inflated bounding spheres overlap and that no filter keeps apart.
pub(super) fn find<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    broad.candidates.clear();
    sort_along_sweep(model, kinematics, broad);
    sweep(model, kinematics, broad);
    unbounded(model, kinematics, broad);
    for pair in 0..model.counts().npair {
        let geoms = [
            model.structure.pairs.geom1[pair],
            model.structure.pairs.geom2[pair],
        ];
        let reach = (model.pairs.margin[pair] + model.pairs.gap[pair]).value();
        if within_reach(model, kinematics, geoms, reach) {
            broad
                .candidates
                .push(Candidate::new(model, geoms, Some(pair)));
        }
    }
    broad.candidates.sort_unstable();
}

/// Detection distance that a geom contributes.
#[inline]
fn reach<T: Scalar>(model: &Model<T>, geom: usize) -> f64 {
    if model.settings.enable.override_contacts {
        model.option.override_margin[0].value() * 0.5
    } else {
        (model.geoms.margin[geom] + model.geoms.gap[geom]).value()
    }
}

fn is_unbounded<T: Scalar>(model: &Model<T>, geom: usize) -> bool {
    model.structure.geoms.kind[geom] == GeomKind::Plane
}

/// A geom that no contact bits connect to anything needs no look.
fn is_inert<T: Scalar>(model: &Model<T>, geom: usize) -> bool {
    let geoms = &model.structure.geoms;
    geoms.contype[geom] == 0 && geoms.conaffinity[geom] == 0
}

fn sort_along_sweep<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    let ngeom = model.counts().ngeom;
    if broad.bounds.len() != ngeom {
        broad.bounds.resize(ngeom, [0.0; 2]);
        let bounded =
            (0..ngeom).filter(|&geom| !is_unbounded(model, geom) && !is_inert(model, geom));
        broad.order.clear();
        broad
            .order
            .extend(bounded.filter_map(|geom| u32::try_from(geom).ok()));
    }
    for &geom in &broad.order {
        let geom = geom as usize;
        let center = kinematics.geom_position[geom][0].value();
        let radius = model.geoms.bounding_radius[geom].value() + reach(model, geom);
        broad.bounds[geom] = [center - radius, center + radius];
    }
    // Insertion sort: linear when little has moved since the last step.
    let Broad { order, bounds, .. } = broad;
    for index in 1..order.len() {
        let geom = order[index];
        let lower = bounds[geom as usize][0];
        let mut place = index;
        while place > 0 && bounds[order[place - 1] as usize][0] > lower {
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = geom;
    }
}

fn sweep<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    let Broad {
        order,
        bounds,
        candidates,
    } = broad;
    for (index, &first) in order.iter().enumerate() {
        let first = first as usize;
        let upper = bounds[first][1];
        for &second in &order[index + 1..] {
            let second = second as usize;
            if bounds[second][0] > upper {
                break;
            }
            consider(model, kinematics, [first, second], candidates);
        }
    }
}

fn unbounded<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    let Broad {
        order, candidates, ..
    } = broad;
    for plane in (0..model.counts().ngeom).filter(|&geom| is_unbounded(model, geom)) {
        for &other in order.iter() {
            consider(model, kinematics, [plane, other as usize], candidates);
        }
    }
}

/// Adds a pair if its spheres overlap and no filter keeps it apart.
#[inline]
fn consider<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geoms: [usize; 2],
    candidates: &mut Vec<Candidate>,
) {
    let structure = &*model.structure;
    let [first, second] = geoms;
    let reach = reach(model, first) + reach(model, second);
    let filter_parent = !model.settings.disable.filterparent;
    let (body1, body2) = (structure.geoms.body[first], structure.geoms.body[second]);
    if structure.geom_bits_match(first, second)
        && within_reach(model, kinematics, geoms, reach)
        && structure.bodies_may_touch(body1, body2, filter_parent)
        && !has_explicit_pair(model, geoms)
    {
        candidates.push(Candidate::new(model, geoms, None));
    }
}

/// An explicit pair replaces the one that contact bits would give.
fn has_explicit_pair<T: Scalar>(model: &Model<T>, [first, second]: [usize; 2]) -> bool {
    let pairs = &model.structure.pairs;
    pairs
        .geom1
        .iter()
        .zip(&pairs.geom2)
        .any(|(&a, &b)| (a, b) == (first, second) || (a, b) == (second, first))
}

/// Whether bounding spheres, or a plane and a bounding sphere, are closer than `reach`.
fn within_reach<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    [first, second]: [usize; 2],
    reach: f64,
) -> bool {
    let kinds = &model.structure.geoms.kind;
    if !narrow::can_touch(kinds[first], kinds[second]) {
        return false;
    }
    let center = |geom: usize| kinematics.geom_position[geom].value();
    let radius = |geom: usize| model.geoms.bounding_radius[geom].value();
    let between = center(second) - center(first);
    if kinds[first] == GeomKind::Plane {
        let normal = kinematics.geom_rotation[first].value().column(2);
        return between.dot(normal) <= radius(second) + reach;
    }
    if kinds[second] == GeomKind::Plane {
        let normal = kinematics.geom_rotation[second].value().column(2);
        return -between.dot(normal) <= radius(first) + reach;
    }
    let bound = radius(first) + radius(second) + reach;
    between.norm_squared() <= bound * bound
}
