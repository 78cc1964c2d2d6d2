//! Contact parameters of a pair of geoms, mixed as MuJoCo does.
//!
//! The geom of higher priority gives condim, friction, solref, solimp and adhesion. At equal priority, condim and
//! friction are the larger of both, solref and solimp the mean weighted by `solmix` (direct, non-positive solref: the
//! smaller of both), adhesion the sum. Margins and gaps add up always. Explicit pairs bring their own, and the contact
//! override of the options replaces margin, friction, solref and solimp.

use crate::model::Model;
use crate::scalar::Scalar;

/// Weights below this count as zero.
const MIN_WEIGHT: f64 = 1e-15;

/// What a contact needs besides its geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters<T: Scalar = f64> {
    /// Contact dimensionality: 1, 3, 4 or 6.
    pub dimension: u8,
    /// Distance below which the contact acts (m).
    pub margin: T,
    /// Distance beyond the margin below which the contact is found (m).
    pub gap: T,
    /// Friction: two slide, spin, two roll.
    pub friction: [T; 5],
    /// Reference dynamics, normal direction.
    pub solref: [T; 2],
    /// Reference dynamics, friction directions; zero means as the normal.
    pub solreffriction: [T; 2],
    /// Impedance.
    pub solimp: [T; 5],
    /// Force with which the contact can pull (N).
    pub adhesion: T,
    /// The contact law; none for MuJoCo's soft one.
    pub law: Option<usize>,
}

/// Distance up to which points of two geoms, or of an explicit pair, become contacts: margin and gap. Cheaper than all
/// [`Parameters`] for pairs that turn out not to touch.
#[inline]
pub(super) fn detection_distance<T: Scalar>(
    model: &Model<T>,
    [first, second]: [usize; 2],
    pair: Option<usize>,
) -> T {
    let (pairs, geoms) = (&model.pairs, &model.geoms);
    let (margin, gap) = match pair {
        Some(pair) => (pairs.margin[pair], pairs.gap[pair]),
        None => (
            geoms.margin[first] + geoms.margin[second],
            geoms.gap[first] + geoms.gap[second],
        ),
    };
    if model.settings.enable.override_contacts {
        model.option.override_margin[0] + gap
    } else {
        margin + gap
    }
}

/// Parameters of two geoms, or of the explicit pair that names them.
pub fn mix<T: Scalar>(
    model: &Model<T>,
    [first, second]: [usize; 2],
    pair: Option<usize>,
) -> Parameters<T> {
    let mut mixed = match pair {
        Some(pair) => of_pair(model, pair),
        None => of_geoms(model, first, second),
    };
    mixed.law = model.structure.laws.find([first, second]);
    if !model.settings.enable.override_contacts {
        return mixed;
    }
    let option = &model.option;
    Parameters {
        margin: option.override_margin[0],
        friction: option.override_friction[0],
        solref: option.override_solref[0],
        solimp: option.override_solimp[0],
        ..mixed
    }
}

fn of_pair<T: Scalar>(model: &Model<T>, pair: usize) -> Parameters<T> {
    let pairs = &model.pairs;
    Parameters {
        dimension: model.structure.pairs.condim[pair],
        margin: pairs.margin[pair],
        gap: pairs.gap[pair],
        friction: pairs.friction[pair],
        solref: pairs.solref[pair],
        solreffriction: pairs.solreffriction[pair],
        solimp: pairs.solimp[pair],
        adhesion: pairs.adhesion[pair],
        law: None,
    }
}

fn of_geoms<T: Scalar>(model: &Model<T>, first: usize, second: usize) -> Parameters<T> {
    let (structure, geoms) = (&model.structure.geoms, &model.geoms);
    let margin = geoms.margin[first] + geoms.margin[second];
    let gap = geoms.gap[first] + geoms.gap[second];
    let solreffriction = [T::ZERO; 2];
    let of_one = |geom: usize| Parameters {
        dimension: structure.condim[geom],
        margin,
        gap,
        friction: five(geoms.friction[geom].0),
        solref: geoms.solref[geom],
        solreffriction,
        solimp: geoms.solimp[geom],
        adhesion: geoms.adhesion[geom],
        law: None,
    };
    match structure.priority[first].cmp(&structure.priority[second]) {
        std::cmp::Ordering::Greater => return of_one(first),
        std::cmp::Ordering::Less => return of_one(second),
        std::cmp::Ordering::Equal => {}
    }
    let weight = first_weight(geoms.solmix[first], geoms.solmix[second]);
    let blend = |a: T, b: T| a * weight + b * (T::ONE - weight);
    let (solref1, solref2) = (geoms.solref[first], geoms.solref[second]);
    // A solref whose first number is not positive gives stiffness and damping directly.
    let standard = solref1[0].value() > 0.0 && solref2[0].value() > 0.0;
    let solref = std::array::from_fn(|i| {
        if standard {
            blend(solref1[i], solref2[i])
        } else {
            solref1[i].min(solref2[i])
        }
    });
    let (solimp1, solimp2) = (geoms.solimp[first], geoms.solimp[second]);
    let (friction1, friction2) = (geoms.friction[first], geoms.friction[second]);
    Parameters {
        dimension: structure.condim[first].max(structure.condim[second]),
        margin,
        gap,
        friction: five(std::array::from_fn(|i| friction1[i].max(friction2[i]))),
        solref,
        solreffriction,
        solimp: std::array::from_fn(|i| blend(solimp1[i], solimp2[i])),
        adhesion: geoms.adhesion[first] + geoms.adhesion[second],
        law: None,
    }
}

/// Weight of the first of two geoms.
fn first_weight<T: Scalar>(mix1: T, mix2: T) -> T {
    match (mix1.value() >= MIN_WEIGHT, mix2.value() >= MIN_WEIGHT) {
        (true, true) => mix1 / (mix1 + mix2),
        (true, false) => T::ONE,
        (false, true) => T::ZERO,
        (false, false) => T::from(0.5),
    }
}

/// Slide, spin and roll to two slides, spin and two rolls.
fn five<T: Scalar>([slide, spin, roll]: [T; 3]) -> [T; 5] {
    [slide, slide, spin, roll, roll]
}
