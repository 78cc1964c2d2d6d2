//! Pairs of geoms that may touch: world-aligned boxes, swept along one axis.
//!
//! The sweep goes along the axis on which the geoms are spread most. Its order is kept from step to step, where it is
//! nearly sorted already; the pairs are sorted at the end, so they do not depend on it. Boxes that overlap are held
//! against bounding spheres and filters. Geoms without bounds (planes) are paired with all others.

use crate::math::Vec3;
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

use super::narrow;

/// A pair of geoms to examine. The order is MuJoCo's: by bodies, explicit pairs before others, by geoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The two bodies, the smaller id in the upper half.
    bodies: u64,
    /// Explicit contact pair, or `u32::MAX`.
    pub pair: u32,
    /// The two geoms, in the order of their bodies.
    pub geoms: [u32; 2],
}

/// Ids are stored in 32 bits.
fn narrow_id(id: usize) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}

impl Candidate {
    /// A pair found by the sweep or, with an id, given by the model.
    fn new<T: Scalar>(model: &Model<T>, geoms: [usize; 2], pair: Option<usize>) -> Self {
        let body = |geom: usize| model.structure.geoms.body[geom];
        let key = |geom: usize| (body(geom), geom);
        let [first, second] = if key(geoms[0]) <= key(geoms[1]) {
            geoms
        } else {
            [geoms[1], geoms[0]]
        };
        let [upper, lower] = [first, second].map(|geom| u64::from(narrow_id(body(geom))));
        Self {
            bodies: upper << 32 | lower,
            pair: pair.map_or(u32::MAX, narrow_id),
            geoms: [narrow_id(first), narrow_id(second)],
        }
    }
}

/// The world-aligned box of a geom, grown by its reach (m). The axis of the sweep comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bounds {
    lower: [f64; 3],
    upper: [f64; 3],
    geom: u32,
}

impl Bounds {
    /// Whether two boxes that overlap along the sweep do so along the other axes.
    #[inline]
    fn overlaps_beside(&self, other: &Self) -> bool {
        let apart = |axis: usize| {
            self.lower[axis] > other.upper[axis] || other.lower[axis] > self.upper[axis]
        };
        !(apart(1) || apart(2))
    }
}

/// Work area of the broad phase; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Broad {
    /// Number of geoms of the model that the lists were made for.
    geom_count: usize,
    /// Bounded geoms in the order of their lower bounds along the sweep.
    bounds: Vec<Bounds>,
    /// Geoms without bounds.
    unbounded: Vec<u32>,
    /// Axis of the sweep.
    axis: usize,
    /// The pairs found.
    pub candidates: Vec<Candidate>,
}

/// Fewer geoms are swept along x, whatever their places.
const CHOOSE_AXIS_FROM: usize = 16;
/// How many times the variance along another axis must be larger before the sweep turns to it.
const TURN_RATIO: f64 = 2.0;
/// Part of the bounding radius that boxes are grown by, for rounding.
const ROUNDING: f64 = 1e-9;
/// Boxes are grown by this many times the reach: points of two corners count up to √3 times their margin.
const REACH_FACTOR: f64 = 2.0;

/// Finds all pairs of geoms whose inflated bounding spheres overlap and that no filter keeps apart.
pub(super) fn find<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    broad.candidates.clear();
    if broad.geom_count != model.counts().ngeom {
        broad.list_geoms(model);
    }
    let turned = broad.choose_axis(kinematics);
    broad.update_bounds(model, kinematics);
    broad.sort_along_sweep(turned);
    sweep(model, kinematics, broad);
    sweep_unbounded(model, kinematics, broad);
    for pair in 0..model.counts().npair {
        let geoms = [
            model.structure.pairs.geom1[pair],
            model.structure.pairs.geom2[pair],
        ];
        if within_reach(model, kinematics, geoms, pair_reach(model, pair)) {
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
    let reach = if model.settings.enable.override_contacts {
        model.option.override_margin[0].value() * 0.5
    } else {
        (model.geoms.margin[geom] + model.geoms.gap[geom]).value()
    };
    match model.distant() {
        Some(distant) => reach + distant.reach(geom),
        None => reach,
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

impl Broad {
    fn list_geoms<T: Scalar>(&mut self, model: &Model<T>) {
        self.geom_count = model.counts().ngeom;
        self.bounds.clear();
        self.unbounded.clear();
        for geom in (0..self.geom_count).filter(|&geom| !is_inert(model, geom)) {
            if is_unbounded(model, geom) {
                self.unbounded.push(narrow_id(geom));
            } else {
                self.bounds.push(Bounds {
                    geom: narrow_id(geom),
                    ..Bounds::default()
                });
            }
        }
    }

    /// Turns the sweep to another axis where the geoms are spread much more along it; returns whether it did.
    fn choose_axis<T: Scalar>(&mut self, kinematics: &Kinematics<T>) -> bool {
        if self.bounds.len() < CHOOSE_AXIS_FROM {
            return false;
        }
        let count = self.bounds.len() as f64;
        let (mut sum, mut squares) = (Vec3::ZERO, Vec3::ZERO);
        for bounds in &self.bounds {
            let position = kinematics.geom_position[bounds.geom as usize].value();
            sum += position;
            squares += position.component_mul(position);
        }
        let variance = squares - sum.component_mul(sum) * (1.0 / count);
        let mut best = self.axis;
        for axis in 0..3 {
            if variance[axis] > variance[best] {
                best = axis;
            }
        }
        let turns = variance[best] > TURN_RATIO * variance[self.axis];
        if turns {
            self.axis = best;
        }
        turns
    }

    fn update_bounds<T: Scalar>(&mut self, model: &Model<T>, kinematics: &Kinematics<T>) {
        let axes = [self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3];
        for bounds in &mut self.bounds {
            let geom = bounds.geom as usize;
            let position = kinematics.geom_position[geom].value();
            let rotation = kinematics.geom_rotation[geom].value();
            let [x, y, z, a, b, c] = model.geoms.bounding_box[geom].map(Scalar::value);
            let offset = rotation.mul_vec(Vec3([x, y, z]));
            let half = rotation.map(f64::abs).mul_vec(Vec3([a, b, c]));
            let radius = model.geoms.bounding_radius[geom].value();
            let growth = ROUNDING * radius + REACH_FACTOR * reach(model, geom);
            for (place, axis) in axes.into_iter().enumerate() {
                let lower = (offset[axis] - half[axis]).max(-radius);
                let upper = (offset[axis] + half[axis]).min(radius);
                bounds.lower[place] = position[axis] + lower - growth;
                bounds.upper[place] = position[axis] + upper + growth;
            }
        }
    }

    fn sort_along_sweep(&mut self, turned: bool) {
        if turned {
            self.bounds
                .sort_unstable_by(|a, b| a.lower[0].total_cmp(&b.lower[0]));
            return;
        }
        // Insertion sort: linear when little has moved since the last step.
        for index in 1..self.bounds.len() {
            let bounds = self.bounds[index];
            let mut place = index;
            while place > 0 && self.bounds[place - 1].lower[0] > bounds.lower[0] {
                self.bounds[place] = self.bounds[place - 1];
                place -= 1;
            }
            if place != index {
                self.bounds[place] = bounds;
            }
        }
    }
}

fn sweep<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    let Broad {
        bounds, candidates, ..
    } = broad;
    for (index, first) in bounds.iter().enumerate() {
        for second in &bounds[index + 1..] {
            if second.lower[0] > first.upper[0] {
                break;
            }
            if first.overlaps_beside(second) {
                let geoms = [first.geom as usize, second.geom as usize];
                consider(model, kinematics, geoms, candidates);
            }
        }
    }
}

fn sweep_unbounded<T: Scalar>(model: &Model<T>, kinematics: &Kinematics<T>, broad: &mut Broad) {
    let Broad {
        bounds,
        unbounded,
        candidates,
        ..
    } = broad;
    for &plane in unbounded.iter() {
        for other in bounds.iter() {
            let geoms = [plane as usize, other.geom as usize];
            consider(model, kinematics, geoms, candidates);
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

/// Whether two geoms may be so near that a contact of theirs acts, explicit pairs of them included.
pub(crate) fn is_within_reach<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    geoms: [usize; 2],
) -> bool {
    let pairs = &model.structure.pairs;
    let explicit = (0..model.counts().npair).filter(|&pair| {
        let (a, b) = (pairs.geom1[pair], pairs.geom2[pair]);
        (a.min(b), a.max(b)) == (geoms[0].min(geoms[1]), geoms[0].max(geoms[1]))
    });
    let reach = explicit
        .map(|pair| pair_reach(model, pair))
        .fold(reach(model, geoms[0]) + reach(model, geoms[1]), f64::max);
    within_reach(model, kinematics, geoms, reach)
}

/// Detection distance of an explicit pair.
fn pair_reach<T: Scalar>(model: &Model<T>, pair: usize) -> f64 {
    let reach = (model.pairs.margin[pair] + model.pairs.gap[pair]).value();
    reach + model.distant().map_or(0.0, |distant| distant.width)
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
