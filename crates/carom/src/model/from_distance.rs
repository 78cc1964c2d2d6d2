//! Contacts from distance (CFD): contacts that already push a little where nothing touches yet.
//!
//! The gradient of a loss does not feel a contact that was missed, however closely. Paulus, Geist et al. therefore let
//! contacts act up to a distance w, with an impedance that continues that of touching from d₀ at r = 0 to d₁ at r = w,
//! and with a soft reference [Paulus 2025]. With r the distance less the margin, and y(x) the curve of `solimp` (midpoint
//! m, power p),
//!
//!   d(r) = d₁ + (d₀ − d₁)·y(1 − r/w) for r ≥ 0,   −r ← ln(1 + e^(−β·r))/β in the reference       (1)
//!
//! A robot simulated so hovers over the floor. Only gradients therefore use it, unless a model asks for more: the motion
//! is that of F, bit for bit, and derivatives are those of the system F̃ with (1), at the states of that motion.

use std::sync::Arc;

use super::{LawLevel, Model};
use crate::error::{Error, ErrorKind};
use crate::laws::admits;
use crate::scalar::Scalar;

/// Where contacts act from a distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActsIn {
    /// In gradients only; motions do not change by a bit.
    #[default]
    Gradients,
    /// In motions and their gradients: another system, in which things hover.
    Motions,
}

/// Between which geoms contacts act from a distance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Attracting {
    /// Between all that may touch.
    #[default]
    All,
    /// Between some geoms and all that they may touch; in order.
    Geoms(Vec<usize>),
    /// Between some pairs of geoms, the smaller id first; in order.
    Pairs(Vec<[usize; 2]>),
}

/// How contacts act from a distance.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactsFromDistance {
    /// Impedance at the distance `width`: d₁, `d_c` in the paper.
    pub far_impedance: f64,
    /// Impedance where the geoms are about to touch, d₀.
    pub near_impedance: f64,
    /// Distance from which contacts act: w, `w_c` in the paper (m).
    pub width: f64,
    /// Midpoint of the curve between the two: m, `m_c` in the paper.
    pub midpoint: f64,
    /// Power of the curve: p, `p_c` in the paper.
    pub power: f64,
    /// Sharpness β of the soft reference (1/m).
    pub sharpness: f64,
    /// Between which geoms.
    pub attracting: Attracting,
    /// In gradients or in motions.
    pub acts_in: ActsIn,
}

impl Default for ContactsFromDistance {
    /// The numbers of the public experiments of the paper; the sharpness leaves touching contacts nearly as they are.
    fn default() -> Self {
        Self {
            far_impedance: 0.0,
            near_impedance: 0.01,
            width: 0.1,
            midpoint: 1.0,
            power: 2.0,
            sharpness: 1e4,
            attracting: Attracting::All,
            acts_in: ActsIn::Gradients,
        }
    }
}

impl ContactsFromDistance {
    /// The same between some geoms, given by name, and all that they may touch.
    ///
    /// # Errors
    /// When the model has no geom of a name.
    pub fn of_geoms<T: Scalar>(self, model: &Model<T>, names: &[&str]) -> Result<Self, Error> {
        let geoms: Result<Vec<_>, _> = names.iter().map(|name| geom(model, name)).collect();
        let mut geoms = geoms?;
        geoms.sort_unstable();
        Ok(Self {
            attracting: Attracting::Geoms(geoms),
            ..self
        })
    }

    /// The same between some pairs of geoms, given by name.
    ///
    /// # Errors
    /// When the model has no geom of a name.
    pub fn of_pairs<T: Scalar>(self, model: &Model<T>, names: &[[&str; 2]]) -> Result<Self, Error> {
        let mut pairs = Vec::with_capacity(names.len());
        for [first, second] in names {
            let (first, second) = (geom(model, first)?, geom(model, second)?);
            pairs.push([first.min(second), first.max(second)]);
        }
        pairs.sort_unstable();
        Ok(Self {
            attracting: Attracting::Pairs(pairs),
            ..self
        })
    }

    /// Whether every number is in its range.
    ///
    /// # Errors
    /// With the number that is not.
    pub fn check(&self) -> Result<(), Error> {
        let is_impedance = |number: f64| (0.0..1.0).contains(&number);
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        let wrong = if !is_impedance(self.far_impedance) {
            "the far impedance d_c must be in [0, 1)"
        } else if !is_impedance(self.near_impedance) {
            "the near impedance d_0 must be in [0, 1)"
        } else if !is_positive(self.width) {
            "the width w_c must be positive"
        } else if !(0.0..=1.0).contains(&self.midpoint) {
            "the midpoint m_c must be in [0, 1]"
        } else if !(self.power.is_finite() && self.power >= 1.0) {
            "the power p_c must be at least 1"
        } else if !is_positive(self.sharpness) {
            "the sharpness must be positive"
        } else {
            return Ok(());
        };
        let message = format!("contacts from distance: {wrong}");
        Err(Error::new(ErrorKind::Value, message))
    }

    /// Whether contacts of two geoms act from a distance.
    #[inline]
    pub fn attracts(&self, [first, second]: [usize; 2]) -> bool {
        match &self.attracting {
            Attracting::All => true,
            Attracting::Geoms(geoms) => [first, second]
                .iter()
                .any(|geom| geoms.binary_search(geom).is_ok()),
            Attracting::Pairs(pairs) => pairs
                .binary_search(&[first.min(second), first.max(second)])
                .is_ok(),
        }
    }

    /// Distance that a geom adds to the reach of its pairs, so that it is at least the width for all that attract.
    pub(crate) fn reach(&self, geom: usize) -> f64 {
        match &self.attracting {
            Attracting::All => 0.5 * self.width,
            Attracting::Geoms(geoms) if geoms.binary_search(&geom).is_ok() => self.width,
            Attracting::Pairs(pairs) if pairs.iter().flatten().any(|&member| member == geom) => {
                0.5 * self.width
            }
            _ => 0.0,
        }
    }

    /// r of the reference, and its derivative. (1)
    pub(crate) fn soften<T: Scalar>(&self, distance: T) -> (T, T) {
        // Of e^(−β·|r|), which cannot overflow.
        let small = (-(distance.abs() * self.sharpness)).exp();
        let tail = (small + T::ONE).ln() / self.sharpness;
        if distance > T::ZERO {
            (-tail, small / (small + T::ONE))
        } else {
            (distance - tail, (small + T::ONE).recip())
        }
    }
}

/// Most names that an error lists.
const SHOWN_NAMES: usize = 10;

fn geom<T: Scalar>(model: &Model<T>, name: &str) -> Result<usize, Error> {
    let names = &model.structure.names.geoms;
    let found = (!name.is_empty())
        .then(|| names.iter().position(|other| other == name))
        .flatten();
    found.ok_or_else(|| {
        let named = names.iter().map(String::as_str);
        let mut known: Vec<&str> = named.filter(|known| !known.is_empty()).collect();
        known.sort_by_key(|known| !known.contains(name));
        known.truncate(SHOWN_NAMES);
        let known = if known.is_empty() {
            "none with a name".to_owned()
        } else {
            known.join(", ")
        };
        let message = format!("contacts from distance: the model has no geom '{name}'");
        Error::new(ErrorKind::Name, message).remedy(format!("it has {known}"))
    })
}

impl<T: Scalar> Model<T> {
    /// How contacts act from a distance in the motions of this model, if they do.
    #[inline]
    pub(crate) fn distant(&self) -> Option<&ContactsFromDistance> {
        let distant = self.from_distance.as_deref();
        distant.filter(|distant| distant.acts_in == ActsIn::Motions)
    }

    /// The same for the contacts of two geoms under a law. Contacts that stick or have a law of their own touch or do not.
    #[inline]
    pub(crate) fn distant_contacts(
        &self,
        geoms: [usize; 2],
        law: Option<usize>,
        adhesion: T,
    ) -> Option<&ContactsFromDistance> {
        let distant = self.distant()?;
        let is_soft = self.structure.laws.level_of(law) == LawLevel::Acceleration;
        let sticks = self.structure.has_adhesion && adhesion.value() != 0.0;
        (is_soft && !sticks && distant.attracts(geoms)).then_some(distant)
    }
}

impl Model {
    /// The system whose derivatives stand for those of this model: the one with contacts from distance, where only
    /// gradients are to know of them.
    pub(crate) fn surrogate(&self) -> Option<Self> {
        let distant = self.from_distance.as_deref()?;
        (distant.acts_in == ActsIn::Gradients).then(|| Self {
            from_distance: Some(Arc::new(ContactsFromDistance {
                acts_in: ActsIn::Motions,
                ..distant.clone()
            })),
            ..self.clone()
        })
    }

    /// How contacts act from a distance, if they do.
    pub fn contacts_from_distance(&self) -> Option<&ContactsFromDistance> {
        self.from_distance.as_deref()
    }

    /// The same model with contacts from distance, in gradients or in motions.
    ///
    /// # Errors
    /// When a number is out of its range, or the model's contacts are not soft.
    pub fn with_contacts_from_distance(
        mut self,
        distant: ContactsFromDistance,
    ) -> Result<Self, Error> {
        distant.check()?;
        if let Some(why) = admits::contacts_from_distance(&self.structure.laws) {
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        if self.strike.is_some() {
            let why = "contacts from distance do not go with a map of collisions";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        self.from_distance = Some(Arc::new(distant));
        Ok(self)
    }
}
