//! Laws of contact and table from a few strikes, by least squares.
//!
//! The table comes first, from whole slides: where each began is unknown, and so is how much the sand differed under it. Then
//! comes the contact, from the velocities that the slides began with.

use carom::{Error, ErrorKind};
use carom_optimise::linalg::Matrix;
use carom_optimise::{
    Bounds, Evaluation, LeastSquaresSettings, Limits, LocalSettings, OneByOne, Optimiser, Request,
    Settings, Space, Unobserved, Want, minimise,
};
use carom_planar::{Bodies, CONTACT_NUMBERS, ContactLaw, Laws, Planar, TABLE_NUMBERS, TableLaw};
use rayon::prelude::*;

use super::score::wrapped;
use super::strikes::Recorded;

/// What a number may be, and what is likely.
struct Known {
    start: f64,
    low: f64,
    high: f64,
    /// Step of differences, and scale.
    step: f64,
    /// Standard deviation about the start; infinite where nothing is known.
    deviation: f64,
}

const fn known([start, low, high, step, deviation]: [f64; 5]) -> Known {
    Known {
        start,
        low,
        high,
        step,
        deviation,
    }
}

/// The numbers of [`TableLaw`].
const TABLE: [Known; TABLE_NUMBERS] = [
    known([0.3, 0.02, 1.5, 0.003, f64::INFINITY]),
    known([0.03, 0.0, 0.4, 0.003, 0.05]),
    known([0.08, 0.02, 0.4, 0.003, 0.03]),
    known([0.02, 0.0, 1.0, 0.003, 0.1]),
    known([0.0, -0.3, 0.3, 0.003, 0.03]),
    known([0.0, -0.3, 0.3, 0.003, 0.03]),
    known([1.0, 0.0, 2.0, 0.02, 0.3]),
    known([1.0, -0.8, 5.0, 0.02, 1.0]),
];

/// The numbers of [`ContactLaw`].
const CONTACT: [Known; CONTACT_NUMBERS] = [
    known([19.0, 14.0, 30.0, 0.02, f64::INFINITY]),
    known([0.0, -4.0, 2.5, 0.02, 1.5]),
    known([0.3, 0.0, 1.5, 0.005, 0.3]),
    known([1.0, -1.5, 5.0, 0.02, 1.5]),
    known([4.0, 2.0, 6.0, 0.02, 0.7]),
    known([-3.5, -7.0, 0.0, 0.02, 1.5]),
    known([-4.6, -6.5, -2.3, 0.02, 1.0]),
    known([1.0, 0.5, 2.0, 0.01, 0.3]),
];

/// Unknowns of each slide: where it began, its velocity, and the part by which friction was higher.
const OWN: usize = 7;
/// Their scales, as steps of differences.
const OWN_STEPS: [f64; OWN] = [3e-5, 3e-5, 3e-4, 6e-4, 6e-4, 6e-3, 3e-3];
/// How well a frame is explained by any such law: position (m) and angle (rad). The misses of a law last for many frames, so these
/// are several times larger than a single one: each frame would else count as news, and drown what is known beforehand.
const FRAME: [f64; 3] = [4e-3, 4e-3, 8e-2];
/// The same for the place of rest.
const REST: [f64; 3] = [3e-3, 3e-3, 6e-2];
/// How well a measured state after contact is known.
const POST: Planar = [1e-4, 1e-4, 2e-3, 4e-3, 4e-3, 8e-2];
/// The same for a slide that begins later, by its frames.
const LATE: Planar = [1e-3, 1e-3, 2e-2, 0.1, 0.1, 2.0];
/// Part by which friction differs from strike to strike.
const SAND: f64 = 0.02;
/// Bodies closer than this touch, by frames (m).
const CLOSE: f64 = 5e-4;
/// Frames that show how fast a slide begins.
const FIRST_FRAMES: usize = 5;

/// What is seen of a slide without contact.
struct Slide {
    start: Planar,
    certainty: Planar,
    times: Vec<f64>,
    places: Vec<[f64; 3]>,
    rest: [f64; 3],
    is_whole: bool,
}

impl Slide {
    /// From separation on; after the last touch for one that was struck again.
    fn of(strike: &Recorded, bodies: &Bodies) -> Option<Self> {
        let again = (strike.frames.iter())
            .filter(|frame| frame.time > strike.separation + 6e-3)
            .rfind(|frame| bodies.gap(frame.body, frame.striker) < CLOSE);
        let from = again.map_or(strike.separation, |frame| frame.time + 5e-3);
        let frames: Vec<_> = (strike.frames.iter())
            .filter(|frame| frame.time > from + 1e-9)
            .collect();
        let (mut start, mut begin, mut certainty) = (strike.post, from, POST);
        if again.is_some() {
            let [first, .., last] = frames.get(..FIRST_FRAMES)? else {
                return None;
            };
            let span = last.time - first.time;
            let rate = |k: usize| {
                let change = last.body[k] - first.body[k];
                (if k == 2 { wrapped(change) } else { change }) / span
            };
            let [x, y, yaw] = first.body;
            start = [x, y, yaw, rate(0), rate(1), rate(2)];
            begin = first.time;
            certainty = LATE;
        }
        Some(Self {
            start,
            certainty,
            times: frames.iter().map(|frame| frame.time - begin).collect(),
            places: frames.iter().map(|frame| frame.body).collect(),
            rest: strike.rest,
            is_whole: again.is_none(),
        })
    }

    fn residuals(&self, bodies: &Bodies, table: &[f64], own: &[f64]) -> Vec<f64> {
        let mut law = TableLaw::of(table);
        law.friction *= 1.0 + own[6];
        let start = [own[0], own[1], own[2], own[3], own[4], own[5]];
        let (places, rest) = bodies.slide_through(&law, start, &self.times);
        let mut residuals = Vec::with_capacity(3 * places.len() + 10);
        let pairs = places.iter().zip(&self.places).map(|pair| (pair, FRAME));
        for ((found, seen), scale) in pairs.chain([((&rest, &self.rest), REST)]) {
            for k in 0..3 {
                let off = found[k] - seen[k];
                residuals.push(if k == 2 { wrapped(off) } else { off } / scale[k]);
            }
        }
        for k in 0..6 {
            residuals.push((own[k] - self.start[k]) / self.certainty[k]);
        }
        residuals.push(own[6] / SAND);
        residuals
    }
}

/// What slides tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableFit {
    /// The law.
    pub law: TableLaw,
    /// Velocities after contact, those of slides that began with them.
    pub post: Vec<Planar>,
}

/// The law of the table from slides.
///
/// # Errors
/// When nothing slides, or no law could be computed.
pub(super) fn table(bodies: &Bodies, strikes: &[Recorded]) -> Result<TableFit, Error> {
    let slides: Vec<Option<Slide>> = strikes.iter().map(|one| Slide::of(one, bodies)).collect();
    let used: Vec<&Slide> = slides.iter().flatten().collect();
    if used.is_empty() {
        let why = "no strike of the shots shows a slide without contact";
        return Err(Error::new(ErrorKind::Recording, why).remedy("take more shots"));
    }
    let mut start: Vec<f64> = TABLE.iter().map(|one| one.start).collect();
    let mut low: Vec<f64> = TABLE.iter().map(|one| one.low).collect();
    let mut high: Vec<f64> = TABLE.iter().map(|one| one.high).collect();
    let mut steps: Vec<f64> = TABLE.iter().map(|one| one.step).collect();
    for slide in &used {
        start.extend(slide.start);
        start.push(0.0);
        for (k, &step) in OWN_STEPS.iter().enumerate() {
            let at = if k < 6 { slide.start[k] } else { 0.0 };
            let span = if k < 6 {
                10.0 * slide.certainty[k]
            } else {
                0.25
            };
            low.push(at - span);
            high.push(at + span);
            steps.push(step);
        }
    }
    let parts = |point: &[f64], wants: bool| -> Vec<(Vec<f64>, Vec<Vec<f64>>)> {
        (used.par_iter().enumerate())
            .map(|(at, slide)| {
                let own = TABLE_NUMBERS + OWN * at;
                let mut unknowns = point[..TABLE_NUMBERS].to_vec();
                unknowns.extend(&point[own..own + OWN]);
                let residuals = |unknowns: &[f64]| {
                    let (table, own) = unknowns.split_at(TABLE_NUMBERS);
                    slide.residuals(bodies, table, own)
                };
                let found = residuals(&unknowns);
                let columns = if wants { unknowns.len() } else { 0 };
                let slopes = (0..columns).map(|k| {
                    let global = if k < TABLE_NUMBERS {
                        k
                    } else {
                        own + k - TABLE_NUMBERS
                    };
                    let step = inward(unknowns[k], steps[global], high[global]);
                    let mut moved = unknowns.clone();
                    moved[k] += step;
                    let there = residuals(&moved);
                    (there.iter().zip(&found))
                        .map(|(a, b)| (a - b) / step)
                        .collect()
                });
                let slopes = slopes.collect();
                (found, slopes)
            })
            .collect()
    };
    let evaluate = |point: &[f64], wants: bool| {
        let parts = parts(point, wants);
        let mut residuals: Vec<f64> = parts.iter().flat_map(|part| part.0.clone()).collect();
        let rows = residuals.len();
        residuals.extend(prior(&TABLE, point));
        let mut jacobian = Matrix::zeros(residuals.len(), if wants { point.len() } else { 0 });
        if wants {
            let mut row = 0;
            for (at, (found, slopes)) in parts.iter().enumerate() {
                for (k, column) in slopes.iter().enumerate() {
                    let global = if k < TABLE_NUMBERS { k } else { k + OWN * at };
                    for (i, slope) in column.iter().enumerate() {
                        jacobian[(row + i, global)] = *slope;
                    }
                }
                row += found.len();
            }
            for (k, one) in TABLE.iter().enumerate() {
                jacobian[(rows + k, k)] = 1.0 / one.deviation;
            }
        }
        (residuals, jacobian)
    };
    let point = least_squares(start, [low, high.clone()], &steps, 25, &evaluate)?;
    let mut at = TABLE_NUMBERS;
    let mut post = Vec::with_capacity(strikes.len());
    for (slide, strike) in slides.iter().zip(strikes) {
        let mut best = strike.post;
        if let Some(slide) = slide {
            if slide.is_whole {
                best.copy_from_slice(&point[at..at + 6]);
            }
            at += OWN;
        }
        post.push(best);
    }
    Ok(TableFit {
        law: TableLaw::of(&point),
        post,
    })
}

/// Weight of the time of contact (s), the velocity of the striker (m/s) and its yaw rate (rad/s) beside the struck body's.
const DURATION: f64 = 3e-4;
const STRIKER: [f64; 3] = [1.2e-2, 1.2e-2, 0.2];
/// How well an impact is explained: part of the speed, and beyond that (m/s).
const IMPACT: [f64; 2] = [0.02, 0.002];

/// The contact law from impacts, where `post` are velocities after contact. Begins at a law if one is given.
///
/// # Errors
/// When no law could be computed.
pub(super) fn contact(
    bodies: &Bodies,
    table: &TableLaw,
    strikes: &[(&Recorded, Planar)],
    from: Option<&ContactLaw>,
) -> Result<ContactLaw, Error> {
    let gyration = bodies.struck.gyration;
    let residuals = |point: &[f64]| -> Vec<f64> {
        let laws = Laws {
            contact: ContactLaw::of(point),
            table: *table,
        };
        let parts: Vec<Vec<f64>> = (strikes.par_iter())
            .map(|(strike, post)| {
                let found = bodies.strike(&laws, strike.pose, strike.striker, false);
                let speed = post[3].hypot(post[4]).hypot(gyration * post[5]);
                let weight = 1.0 / (IMPACT[0] * speed + IMPACT[1]);
                let mut part = vec![
                    weight * (found.post[3] - post[3]),
                    weight * (found.post[4] - post[4]),
                    weight * gyration * (found.post[5] - post[5]),
                ];
                let duration = found.duration;
                let duration = if duration.is_finite() { duration } else { 0.0 };
                part.push((duration - strike.duration) / DURATION);
                for k in 0..3 {
                    let off = found.post_striker[3 + k] - strike.post_striker[3 + k];
                    part.push(off / STRIKER[k]);
                }
                part
            })
            .collect();
        parts.concat()
    };
    let steps: Vec<f64> = CONTACT.iter().map(|one| one.step).collect();
    let high: Vec<f64> = CONTACT.iter().map(|one| one.high).collect();
    let low: Vec<f64> = CONTACT.iter().map(|one| one.low).collect();
    let evaluate = |point: &[f64], wants: bool| {
        let mut found = residuals(point);
        let rows = found.len();
        found.extend(prior(&CONTACT, point));
        let mut jacobian = Matrix::zeros(found.len(), if wants { point.len() } else { 0 });
        if wants {
            for (k, one) in CONTACT.iter().enumerate() {
                let step = inward(point[k], steps[k], high[k]);
                let mut moved = point.to_vec();
                moved[k] += step;
                for (i, there) in residuals(&moved).into_iter().enumerate() {
                    jacobian[(i, k)] = (there - found[i]) / step;
                }
                jacobian[(rows + k, k)] = 1.0 / one.deviation;
            }
        }
        (found, jacobian)
    };
    let begin: Vec<f64> = match from {
        Some(law) => law.numbers().to_vec(),
        None => coarse_start(&residuals),
    };
    let iterations = if from.is_some() { 3 } else { 25 };
    let point = least_squares(begin, [low, high.clone()], &steps, iterations, &evaluate)?;
    Ok(ContactLaw::of(&point))
}

/// Beyond what the shots show, laws are trusted by this factor.
const BEYOND: f64 = 1.3;
/// And bodies may be in each other by this many times the depth of the shots.
const DEEPER: f64 = 2.0;

/// Where laws are trusted: a little beyond the speeds and depths of the shots.
pub(super) fn limits(bodies: &Bodies, laws: &Laws, shots: &[Recorded]) -> carom_planar::Limits {
    let mut limits = carom_planar::Limits {
        speed: 0.0,
        slide: 0.0,
        spin: 0.0,
        depth: 0.0,
    };
    for shot in shots {
        let [_, _, _, u, v, rate] = shot.striker;
        let [_, _, _, x, y, spin] = shot.post;
        limits.speed = limits.speed.max(BEYOND * u.hypot(v));
        limits.slide = limits.slide.max(BEYOND * x.hypot(y));
        limits.spin = limits.spin.max(BEYOND * spin.abs().max(rate.abs()));
        let found = bodies.strike(laws, shot.pose, shot.striker, false);
        limits.depth = limits.depth.max(DEEPER * found.depth);
    }
    limits
}

/// The best of a few stiffnesses: the time of contact is nowhere near the recorded one for most.
fn coarse_start(residuals: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let nominal: Vec<f64> = CONTACT.iter().map(|one| one.start).collect();
    let mut best = (f64::INFINITY, nominal.clone());
    for part in 0..8 {
        let mut point = nominal.clone();
        point[0] = 15.0 + f64::from(part);
        let sum: f64 = residuals(&point).iter().map(|off| off * off).sum();
        if sum < best.0 {
            best = (sum, point);
        }
    }
    best.1
}

/// Distance from what is likely.
fn prior(known: &[Known], point: &[f64]) -> Vec<f64> {
    (known.iter().zip(point))
        .map(|(one, at)| (at - one.start) / one.deviation)
        .collect()
}

/// A step that stays below a bound.
fn inward(at: f64, step: f64, high: f64) -> f64 {
    if at + step > high { -step } else { step }
}

/// Residuals at a point, with their Jacobian if it is wanted.
type Residuals<'a> = dyn Fn(&[f64], bool) -> (Vec<f64>, Matrix) + 'a;

fn least_squares(
    start: Vec<f64>,
    [low, high]: [Vec<f64>; 2],
    scale: &[f64],
    iterations: u64,
    evaluate: &Residuals<'_>,
) -> Result<Vec<f64>, Error> {
    let settings = |cause| Error::of(ErrorKind::Settings, cause);
    let bounds = Bounds::new(low, high).map_err(|cause| Error::of(ErrorKind::Settings, cause))?;
    // The scale of a search is larger than the step of its differences.
    let scale = scale.iter().map(|step| 10.0 * step).collect();
    let space = Space::new(start, bounds)
        .and_then(|space| space.with_scale(scale))
        .map_err(settings)?;
    let method = LocalSettings::LeastSquares(LeastSquaresSettings {
        value_tolerance: 1e-5,
        step_tolerance: 1e-5,
        iterations,
        first_radius: f64::INFINITY,
        ..LeastSquaresSettings::default()
    });
    let mut search = Settings::Local(method).search(space, 0);
    let mut evaluator = OneByOne(|request: &Request| {
        let wants = matches!(request.want, Want::Jacobian | Want::Gradient);
        let (residuals, jacobian) = evaluate(&request.point, wants);
        Ok(if wants {
            Evaluation::Jacobian {
                residuals,
                jacobian,
            }
        } else {
            Evaluation::Residuals(residuals)
        })
    });
    let limits = Limits::default();
    minimise(&mut search, &mut evaluator, &limits, &mut Unobserved)
        .map_err(|cause| Error::of(ErrorKind::Loss, cause))?;
    let best = search.best().ok_or_else(|| {
        Error::new(
            ErrorKind::Loss,
            "no motion of the strikes could be computed",
        )
    })?;
    Ok(best.point.clone())
}
