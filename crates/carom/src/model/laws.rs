//! Which contacts and joints follow which law.

use std::ops::Range;

pub use carom_spec::model_spec::{JointLawKind, LawKind, LawLevel};

/// A law at a joint that slides or turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointLaw {
    /// Which law.
    pub kind: JointLawKind,
    /// The joint.
    pub joint: usize,
    /// Its degree of freedom.
    pub dof: usize,
    /// Its coordinate in `qpos`.
    pub coordinate: usize,
    /// The first of its parameters among those of all such laws.
    pub first: usize,
}

impl JointLaw {
    /// The number of its parameters.
    pub fn count(&self) -> usize {
        self.kind.description().numbers.len()
    }

    /// The places of its parameters among those of all such laws.
    pub fn parameters(&self) -> Range<usize> {
        self.first..self.first + self.count()
    }
}

/// The place of a joint's parameter by its name, among those of all laws of joints.
pub(crate) fn joint_law_parameter(laws: &[JointLaw], joint: usize, name: &str) -> Option<usize> {
    let mut own = laws.iter().filter(|law| law.joint == joint);
    own.find_map(|law| {
        let mut numbers = law.kind.description().numbers.iter();
        let index = numbers.position(|number| number.name == name)?;
        Some(law.first + index)
    })
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
    /// Cells along the side of a face where boxes touch over patches; 0 where they do not.
    pub cells: Vec<usize>,
    /// Greatest number of iterations of the complementarity law, or of impacts in a step under the impulse law.
    pub iterations: Vec<usize>,
    /// The law whose numbers hold for limits, equalities and friction loss when impulses are solved for.
    pub of_rows: Option<usize>,
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

    /// The level of a contact's law.
    #[inline]
    pub fn level_of(&self, law: Option<usize>) -> LawLevel {
        self.kind_of(law).level()
    }

    /// Whether anything in the model may act on a level. Rows act on that of accelerations or on that of impulses.
    #[inline]
    pub fn acts_on(&self, level: LawLevel) -> bool {
        match level {
            LawLevel::Force => self.kind.iter().any(|kind| kind.level() == level),
            LawLevel::Acceleration => self.of_rows.is_none(),
            LawLevel::Impulse => self.of_rows.is_some(),
            LawLevel::Impact => !self.impulse_pairs.is_empty(),
        }
    }
}
