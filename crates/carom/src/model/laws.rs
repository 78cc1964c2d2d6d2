//! Which contacts follow which law.

use std::ops::Range;

/// How a contact pushes; see [`laws`](crate::laws).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LawKind {
    /// MuJoCo's convex law, on the level of accelerations.
    #[default]
    Soft,
    /// Complementarity of impulses and velocities, on the level of a whole step.
    Complementarity,
    /// Hunt–Crossley springs, on the level of forces.
    HuntCrossley,
    /// Impacts within a step, on the level of velocities.
    Impulse,
}

/// Two geoms that may meet under the impulse law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImpulsePair {
    /// The geoms.
    pub geoms: [usize; 2],
    /// Their law.
    pub law: usize,
}

/// The contact laws of a model, in the order of the file; none for a model that is soft throughout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LawStructure {
    /// Label in the file; empty for the law of the whole model.
    pub label: Vec<String>,
    /// Kind.
    pub kind: Vec<LawKind>,
    /// Geom whose contacts follow the law; none for all geoms.
    pub geom1: Vec<Option<usize>>,
    /// The other geom, where the law holds for a pair.
    pub geom2: Vec<Option<usize>>,
    /// Contact points of the first geom; empty where it touches with its whole shape.
    pub points: Vec<Range<usize>>,
    /// Greatest number of iterations of the complementarity law, or of impacts in a step under the impulse law.
    pub iterations: Vec<usize>,
    /// The law whose numbers hold for limits, equalities and friction loss when impulses are solved for.
    pub of_rows: Option<usize>,
    /// Whether any law is of the Hunt–Crossley kind.
    pub has_hunt_crossley: bool,
    /// Geoms that may meet under the impulse law.
    pub impulse_pairs: Vec<ImpulsePair>,
}

impl LawStructure {
    /// The law of contacts between two geoms; none means soft. A pair beats a geom, a geom beats the model, and of
    /// equals the last one wins.
    #[inline]
    pub fn find(&self, geoms: [usize; 2]) -> Option<usize> {
        if self.kind.is_empty() {
            return None;
        }
        let candidates = (0..self.kind.len()).filter_map(|law| Some((self.rank(law, geoms)?, law)));
        candidates.max().map(|(_, law)| law)
    }

    /// How closely a law fits two geoms; none if it does not.
    fn rank(&self, law: usize, [first, second]: [usize; 2]) -> Option<u8> {
        match (self.geom1[law], self.geom2[law]) {
            (None, _) => Some(0),
            (Some(geom), None) => (geom == first || geom == second).then_some(1),
            (Some(a), Some(b)) => {
                ([a, b] == [first, second] || [b, a] == [first, second]).then_some(2)
            }
        }
    }

    /// The kind of a contact's law.
    #[inline]
    pub fn kind_of(&self, law: Option<usize>) -> LawKind {
        law.map_or(LawKind::Soft, |law| self.kind[law])
    }

    /// Whether bodies may meet within a step.
    #[inline]
    pub fn has_impacts(&self) -> bool {
        !self.impulse_pairs.is_empty()
    }

    /// Whether constraints are solved for impulses instead of forces.
    #[inline]
    pub fn is_impulse_level(&self) -> bool {
        self.of_rows.is_some()
    }
}
