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
    /// Distance beyond the margin up to which the contact acts, zero unless contacts act from a distance (m).
    pub range: f64,
    /// The contact law; none for MuJoCo's soft one.
    pub law: Option<usize>,
    /// The explicit pair that the parameters are from, if any.
    pub pair: Option<usize>,
}

/// Distance up to which points of two geoms, or of an explicit pair, become contacts: margin and gap. Cheaper than all
/// [`Parameters`] for pairs that turn out not to touch.
#[inline]
pub(crate) fn detection_distance<T: Scalar>(
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
    let reach = if model.settings.enable.override_contacts {
        model.option.override_margin[0] + gap
    } else {
        margin + gap
    };
    match model.distant() {
        Some(distant) if distant.attracts([first, second]) => reach + distant.width,
        _ => reach,
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
    let distant = model.distant_contacts([first, second], mixed.law, mixed.adhesion);
    mixed.range = distant.map_or(0.0, |distant| distant.width);
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
        range: 0.0,
        law: None,
        pair: Some(pair),
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
        range: 0.0,
        law: None,
        pair: None,
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
        range: 0.0,
        law: None,
        pair: None,
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

/// The twin of [`mix`]: adds the cotangents of the numbers that the parameters come from.
pub(super) fn mix_vjp(model: &Model, geoms: [usize; 2], bar: &Parameters, model_bar: &mut Model) {
    let mut bar = *bar;
    if model.settings.enable.override_contacts {
        let option = &mut model_bar.option;
        option.override_margin[0] += bar.margin;
        add(&mut option.override_friction[0], &bar.friction);
        add(&mut option.override_solref[0], &bar.solref);
        add(&mut option.override_solimp[0], &bar.solimp);
        (bar.margin, bar.friction) = (0.0, [0.0; 5]);
        (bar.solref, bar.solimp) = ([0.0; 2], [0.0; 5]);
    }
    let Some(pair) = bar.pair else {
        of_geoms_vjp(model, geoms, &bar, model_bar);
        return;
    };
    let pairs = &mut model_bar.pairs;
    pairs.margin[pair] += bar.margin;
    pairs.gap[pair] += bar.gap;
    pairs.adhesion[pair] += bar.adhesion;
    add(&mut pairs.friction[pair], &bar.friction);
    add(&mut pairs.solref[pair], &bar.solref);
    add(&mut pairs.solreffriction[pair], &bar.solreffriction);
    add(&mut pairs.solimp[pair], &bar.solimp);
}

fn of_geoms_vjp(
    model: &Model,
    [first, second]: [usize; 2],
    bar: &Parameters,
    model_bar: &mut Model,
) {
    let (geoms, out) = (&model.geoms, &mut model_bar.geoms);
    for geom in [first, second] {
        out.margin[geom] += bar.margin;
        out.gap[geom] += bar.gap;
    }
    let [slide1, slide2, spin, roll1, roll2] = bar.friction;
    let friction = [slide1 + slide2, spin, roll1 + roll2];
    let priority = &model.structure.geoms.priority;
    if priority[first] != priority[second] {
        let winner = if priority[first] > priority[second] {
            first
        } else {
            second
        };
        out.adhesion[winner] += bar.adhesion;
        add(&mut out.friction[winner].0, &friction);
        add(&mut out.solref[winner], &bar.solref);
        add(&mut out.solimp[winner], &bar.solimp);
        return;
    }
    out.adhesion[first] += bar.adhesion;
    out.adhesion[second] += bar.adhesion;
    for (k, bar) in friction.into_iter().enumerate() {
        let is_second = geoms.friction[second][k] > geoms.friction[first][k];
        out.friction[if is_second { second } else { first }][k] += bar;
    }
    let weight = first_weight(geoms.solmix[first], geoms.solmix[second]);
    let mut weight_bar = 0.0;
    let (solref1, solref2) = (geoms.solref[first], geoms.solref[second]);
    let standard = solref1[0] > 0.0 && solref2[0] > 0.0;
    for (k, bar) in bar.solref.into_iter().enumerate() {
        if standard {
            out.solref[first][k] += bar * weight;
            out.solref[second][k] += bar * (1.0 - weight);
            weight_bar += bar * (solref1[k] - solref2[k]);
        } else {
            let is_second = solref2[k] < solref1[k];
            out.solref[if is_second { second } else { first }][k] += bar;
        }
    }
    for (k, bar) in bar.solimp.into_iter().enumerate() {
        out.solimp[first][k] += bar * weight;
        out.solimp[second][k] += bar * (1.0 - weight);
        weight_bar += bar * (geoms.solimp[first][k] - geoms.solimp[second][k]);
    }
    let [mix1, mix2] = [first, second].map(|geom| geoms.solmix[geom]);
    if mix1 >= MIN_WEIGHT && mix2 >= MIN_WEIGHT {
        let scale = weight_bar / (mix1 + mix2).powi(2);
        out.solmix[first] += mix2 * scale;
        out.solmix[second] -= mix1 * scale;
    }
}

fn add(sum: &mut [f64], bar: &[f64]) {
    for (sum, bar) in sum.iter_mut().zip(bar) {
        *sum += bar;
    }
}
