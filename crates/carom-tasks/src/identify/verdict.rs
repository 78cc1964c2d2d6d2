//! The verdict: whether an answer may be used, in three grades with reasons, the worst first.
//!
//! A calibrated model that predicts better than the initial one may still be wrong: residuals may stay far above the noise, joints may be
//! frozen by an armature that no rotor has, values may lie at bounds. Every rule here looks at one such defect and says what speaks against
//! the answer; the worst of them is the grade.
//!
//! | rule | doubtful | no success |
//! |---|---|---|
//! | `loss` | | it did not fall |
//! | `replay` | | more errors rose than fell, or runs were lost, on fit or held-out recordings |
//! | `held_out` | an error rose | an error rose by more than half |
//! | `residuals` | above twice the noise of the mapping | |
//! | `impacts` | those of `--preset contact` are not all followed, or nobody knows | |
//! | `naive` | holding still or constant velocity has a lower error | in most measures |
//! | `plausibility` | armature above 100 times the inertia it moves; a mass that changed by more than a factor of 100; mass outside of its body | armature above 1000 times; moments that no body has |
//! | `bounds` | a value at a bound | |
//! | `intervals` | an interval over more than two decades, or wider than the value on each side | |
//! | `identifiability` | fitted although not identifiable | |
//! | `search` | ended by a limit while the loss still fell, or more than a standard error beside the minimum | stuck away from a minimum |
//! | `checks` | overfitted in cross-validation | a known truth is not recovered |
//! | `file` | | the calibrated model cannot be written |

use std::fmt;

use carom::{Data, Input, Model, State};

use super::conclude::Estimate;
use super::outcome::Outcome;
use super::replay::{ERROR_ROUNDING, Replay};
use crate::evaluate::{Floor, Predictor, Report, figure};

/// Residuals above so many times the noise are no success: with a right model and right noise they are 1 within some per cent.
const MAX_RESIDUAL_OVER_NOISE: f64 = 2.0;
/// Standard deviations of chance by which residuals may be above the noise where every impact is followed.
const MAX_CHANCE: f64 = 3.0;
/// Held-out errors that rose by this factor are no success.
const MAX_HELD_OUT_RISE: f64 = 1.5;
/// A naive predictor is not beaten by less than this share of its error.
const MIN_GAIN_OVER_NAIVE: f64 = 0.05;
/// Errors within this factor of the noise floor cannot be told from those of the true model.
const FLOOR_MARGIN: f64 = 1.5;
/// Reflected inertia of rotors over the inertia they move, for which an armature is doubtful, and impossible: geared wrists reach 50.
const MAX_ARMATURE_RATIOS: [f64; 2] = [100.0, 1000.0];
/// Factor by which the mass of a body may change.
const MAX_MASS_RATIO: f64 = 100.0;
/// Radius of gyration over the reach of a body's geoms: a shell has at most 1, and geoms may leave parts out.
const MAX_GYRATION: f64 = 2.0;
/// Radius of gyration over that of the initial model, which may have few geoms.
const MIN_GYRATION_RISE: f64 = 1.5;
/// Ends of an interval of positive numbers differ by at most this factor.
const MAX_INTERVAL_RATIO: f64 = 100.0;
/// Standard errors that an estimate may be off the minimum: below one, intervals hold nearly as often as they say.
const MAX_OFF_MINIMUM: f64 = 1.0;
/// The unit of the numbers of a pseudo-inertia.
const LOG_CHOLESKY: &str = "log-Cholesky";
/// Fit errors of folds over those of the parts left out: as cross-validation itself judges.
const MAX_FOLD_RATIO: f64 = 1.5;
/// Share by which the loss may fall in the last quarter of a search that a limit ends: what is left to gain is then less than noise costs.
const MAX_LATE_FALL: f64 = 0.01;
/// Moments of inertia violate the triangle inequality beyond rounding.
const TRIANGLE_ROUNDING: f64 = 1e-6;

/// How far an answer may be trusted, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Do not use it.
    NoSuccess,
    /// Better than the initial model, but something speaks against it.
    Doubtful,
    /// Nothing that was looked at speaks against it.
    Success,
}

impl Grade {
    /// As JSON, Python and the first line of the text have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSuccess => "no success",
            Self::Doubtful => "doubtful",
            Self::Success => "success",
        }
    }

    /// The exit code of the command.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::NoSuccess => 1,
            Self::Doubtful => 3,
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Something that speaks against an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The best grade that it leaves.
    pub grade: Grade,
    /// The rule that found it.
    pub rule: &'static str,
    /// What it is, in words.
    pub words: String,
}

impl Reason {
    fn doubt(rule: &'static str, words: impl Into<String>) -> Self {
        Self {
            grade: Grade::Doubtful,
            rule,
            words: words.into(),
        }
    }

    fn objection(rule: &'static str, words: impl Into<String>) -> Self {
        Self {
            grade: Grade::NoSuccess,
            rule,
            words: words.into(),
        }
    }
}

/// A grade with its reasons, the worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The worst of the reasons' grades.
    pub grade: Grade,
    /// What speaks against the answer.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    fn new(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| reason.grade);
        Self {
            grade: reasons.first().map_or(Grade::Success, |worst| worst.grade),
            reasons,
        }
    }

    /// Words of the reasons of a grade.
    pub fn words(&self, grade: Grade) -> impl Iterator<Item = &str> {
        let own = self.reasons.iter().filter(move |one| one.grade == grade);
        own.map(|one| one.words.as_str())
    }
}

impl Outcome {
    /// Whether the answer may be used.
    pub fn verdict(&self) -> Verdict {
        let identified = &self.identified;
        let losses = [self.inspection.value, self.solution.value];
        let mut reasons = Vec::new();
        reasons.extend(loss(losses));
        reasons.extend(replay("the recordings of the fit", &self.fitted));
        if let Some(held_out) = &self.held_out {
            let replayed = replay("held-out recordings", held_out);
            let is_said = replayed.is_some();
            reasons.extend(replayed);
            reasons
                .extend(risen(held_out).filter(|rise| !is_said || rise.grade == Grade::Doubtful));
        }
        if let Err(why) = &self.description {
            reasons.push(Reason::objection("file", why.to_string()));
        }
        reasons.extend(search(&self.solution));
        if self.solution.is_finished {
            reasons.extend(off_minimum(&identified.estimates, &identified.off_minimum));
        }
        reasons.extend(self.checked());
        reasons.extend(self.over_noise.and_then(residuals));
        reasons.extend(self.impacts());
        let (after, floor) = match &self.held_out {
            Some([_, after]) => (after, &self.floors[1]),
            None => (&self.fitted[1], &self.floors[0]),
        };
        for (predictor, report) in &self.naive {
            reasons.extend(naive(*predictor, after, report, floor.as_ref()));
        }
        reasons.extend(armatures(&self.before, &identified.model));
        reasons.extend(masses(&self.before, &identified.model));
        reasons.extend(moments(&self.before, &identified.model));
        reasons.extend(gyrations(&self.before, &identified.model));
        reasons.extend(bounds(&identified.estimates));
        reasons.extend(intervals(&identified.estimates));
        if let Some(refusal) = self.inspection.refusal() {
            let words = format!("fitted although not identifiable: {refusal}");
            reasons.push(Reason::doubt("identifiability", words));
        }
        Verdict::new(reasons)
    }

    /// Where segments and initial states were left to a horizon that grows, every impact must be followed, and errors must be known.
    fn impacts(&self) -> Option<Reason> {
        let identified = &self.identified;
        let chance = MAX_CHANCE / (2.0 * identified.degrees.max(1) as f64).sqrt();
        let words = if self.settings.runs.is_none() {
            return None;
        } else if identified.repetitions.is_none() {
            "the search was not repeated on recordings of the calibrated model itself: intervals are too narrow".to_owned()
        } else if !self.has_stated_noise {
            "the mapping does not state the noise of all that is compared: whether every impact is followed is not known".to_owned()
        } else if identified.noise > 1.0 + chance {
            format!(
                "residuals are {} times the noise, more than chance explains: some impacts are followed in a way that is nearly but not quite right, so that values are near the truth but may be beyond their intervals",
                figure(identified.noise)
            )
        } else {
            return None;
        };
        Some(Reason::doubt("impacts", words))
    }

    /// What cross-validation and recovery say.
    fn checked(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let failed = (self.checks.recovery.as_ref()).filter(|recovery| !recovery.is_passed);
        if let Some(failed) = failed {
            let why = failed.words.first().map_or("", String::as_str);
            let words = format!("a known truth is not recovered: {why}");
            reasons.push(Reason::objection("checks", words));
        }
        if let Some(folds) = &self.checks.cross_validation {
            let worst = folds.ratios().into_iter().fold(0.0, f64::max);
            if worst > MAX_FOLD_RATIO {
                let words = format!(
                    "overfitted: errors of trajectories that were left out are {} times those of the fit",
                    figure(worst)
                );
                reasons.push(Reason::doubt("checks", words));
            }
        }
        reasons
    }
}

/// Why a replay is no success: the loss did not fall, or the calibrated model is worse when it is replayed on the recordings of the fit or
/// on the held-out ones. `losses` are those before and after.
pub fn replay_objections(
    losses: [f64; 2],
    fitted: &[Report; 2],
    held_out: Option<&[Report; 2]>,
) -> Vec<String> {
    let fitted = replay("the recordings of the fit", fitted);
    let held_out = held_out.and_then(|held_out| replay("held-out recordings", held_out));
    let reasons = loss(losses).into_iter().chain(fitted).chain(held_out);
    reasons.map(|reason| reason.words).collect()
}

/// The loss must fall.
fn loss([before, after]: [f64; 2]) -> Option<Reason> {
    let is_lower = after < before * (1.0 - ERROR_ROUNDING);
    (!is_lower).then(|| {
        Reason::objection(
            "loss",
            "the search found nothing better than the start: the loss did not fall",
        )
    })
}

/// A replay must lose no trajectory, and more errors must fall than rise.
fn replay(recordings: &str, reports: &[Report; 2]) -> Option<Reason> {
    let objection = Replay::new(reports).objection(recordings);
    objection.map(|words| Reason::objection("replay", words))
}

/// No held-out error may rise.
fn risen([before, after]: &[Report; 2]) -> impl Iterator<Item = Reason> {
    let totals = before.total.iter().zip(&after.total);
    let metrics = before.metrics.iter().zip(totals);
    metrics.filter_map(|(metric, (&before, &after))| {
        let rise = after / before;
        if rise.is_nan() || rise <= 1.0 + ERROR_ROUNDING {
            return None;
        }
        let words = format!(
            "on held-out recordings, {} rose by {:.1} % ({} → {})",
            metric.head(),
            100.0 * (rise - 1.0),
            figure(before),
            figure(after)
        );
        Some(if rise > MAX_HELD_OUT_RISE {
            Reason::objection("held_out", words)
        } else {
            Reason::doubt("held_out", words)
        })
    })
}

/// Residuals must not be far above the noise.
fn residuals(over_noise: f64) -> Option<Reason> {
    (over_noise > MAX_RESIDUAL_OVER_NOISE).then(|| {
        let words = format!(
            "residuals are {} times the noise that the mapping states: the model does not explain the recordings, and intervals do not know of that",
            figure(over_noise)
        );
        Reason::doubt("residuals", words)
    })
}

/// A model must predict better than no model, unless it is as good as noise allows.
fn naive(
    predictor: Predictor,
    model: &Report,
    naive: &Report,
    floor: Option<&Floor>,
) -> Option<Reason> {
    let floors = floor.map(|floor| &floor.errors);
    let mut lost = Vec::new();
    let mut compared = 0;
    for (index, metric) in model.metrics.iter().enumerate() {
        let pair = [model, naive].map(|one| one.total.get(index).copied().unwrap_or(f64::NAN));
        if pair.iter().any(|error| !error.is_finite()) {
            continue;
        }
        compared += 1;
        let floor = floors.and_then(|floors| floors.get(index));
        let is_at_floor = floor.is_some_and(|floor| pair[0] <= FLOOR_MARGIN * floor);
        if pair[0] > (1.0 - MIN_GAIN_OVER_NAIVE) * pair[1] && !is_at_floor {
            let [model, naive] = pair.map(figure);
            lost.push(format!("{} {naive} against {model}", metric.head()));
        }
    }
    let words = format!(
        "{} predicts as well as the calibrated model or better ({})",
        predictor.words(),
        lost.join(", ")
    );
    match lost.len() {
        0 => None,
        count if 2 * count > compared => Some(Reason::objection("naive", words)),
        _ => Some(Reason::doubt("naive", words)),
    }
}

/// An armature that was found must be one that a rotor can have: the inertia that the joint moves is the diagonal of the mass matrix without
/// it, at the reference configuration.
fn armatures(before: &Model, after: &Model) -> Vec<Reason> {
    let is_new = |dof: &usize| before.dofs.armature[*dof] != after.dofs.armature[*dof];
    let count = after.counts().nv;
    let changed: Vec<usize> = (0..count).filter(is_new).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let mut data = Data::new(after);
    carom::forward(
        after,
        &State::reference(after),
        &Input::zeros(after),
        &mut data,
    );
    let matrix = data.mass_matrix(after);
    let reason = |dof: usize| {
        let armature = after.dofs.armature[dof];
        let moved = matrix[dof * (count + 1)] - armature;
        let ratio = armature / moved;
        let joint = after.structure.dofs.joint[dof];
        let words = format!(
            "the armature of joint {} is {} times the inertia that it moves ({} beside {}): such a joint is as good as frozen",
            name_of(&after.structure.names.joints, joint),
            figure(ratio),
            figure(armature),
            figure(moved)
        );
        match MAX_ARMATURE_RATIOS {
            [_, most] if ratio > most || moved <= 0.0 => {
                Some(Reason::objection("plausibility", words))
            }
            [most, _] if ratio > most => Some(Reason::doubt("plausibility", words)),
            _ => None,
        }
    };
    changed.into_iter().filter_map(reason).collect()
}

/// A mass must not be another order of magnitude than the model's author believed.
fn masses(before: &Model, after: &Model) -> Vec<Reason> {
    let masses = before.bodies.mass.iter().zip(&after.bodies.mass);
    let reason = |(body, (&before, &after)): (usize, (&f64, &f64))| {
        let ratio = after / before;
        let is_far = !(1.0 / MAX_MASS_RATIO..=MAX_MASS_RATIO).contains(&ratio);
        (is_far && before > 0.0).then_some((body, before, after))
    };
    let far = masses.enumerate().filter_map(reason);
    far.map(|(body, before, mass)| {
        let words = format!(
            "the mass of body {} went from {} to {} kg",
            name_of(&after.structure.names.bodies, body),
            figure(before),
            figure(mass)
        );
        Reason::doubt("plausibility", words)
    })
    .collect()
}

/// Moments of inertia that were found must be those of a body: none above the sum of the others.
fn moments(before: &Model, after: &Model) -> Vec<Reason> {
    let bodies = before.bodies.inertia.iter().zip(&after.bodies.inertia);
    let is_impossible = |(before, after): (&carom::math::Vec3, &carom::math::Vec3)| {
        let [a, b, c] = after.0;
        let excess = 2.0 * a.max(b).max(c) - (a + b + c);
        before.0 != after.0 && (excess > TRIANGLE_ROUNDING * (a + b + c) || a.min(b).min(c) < 0.0)
    };
    let impossible = bodies.enumerate().filter(|(_, pair)| is_impossible(*pair));
    impossible
        .map(|(body, (_, moments))| {
            let [a, b, c] = moments.0.map(figure);
            let words = format!(
                "no body has the moments of inertia of {} ({a}, {b}, {c}): one is above the sum of the others; free its pseudo_inertia instead",
                name_of(&after.structure.names.bodies, body),
            );
            Reason::objection("plausibility", words)
        })
        .collect()
}

/// The mass of a body must lie about where the body is: its radius of gyration √(I/m) beside how far its geoms reach from the centre of mass.
fn gyrations(before: &Model, after: &Model) -> Vec<Reason> {
    let radius = |model: &Model, body: usize| {
        let moments = model.bodies.inertia[body].0;
        (moments.into_iter().fold(0.0, f64::max) / model.bodies.mass[body]).sqrt()
    };
    let reach = |body: usize| {
        let geoms = &after.geoms;
        let own = after.structure.geoms.body.iter().enumerate();
        let own = own
            .filter(|(_, owner)| **owner == body)
            .map(|(geom, _)| geom);
        let center = after.bodies.inertial_position[body];
        own.map(|geom| (geoms.position[geom] - center).norm() + geoms.bounding_radius[geom])
            .fold(0.0, f64::max)
    };
    let bodies = 1..after.bodies.mass.len();
    let changed = bodies.filter(|&body| before.bodies.inertia[body] != after.bodies.inertia[body]);
    let reason = |body: usize| {
        let [old, new] = [before, after].map(|model| radius(model, body));
        let reach = reach(body);
        let is_far = new > MAX_GYRATION * reach && new > MIN_GYRATION_RISE * old;
        (is_far && reach > 0.0).then(|| {
            let words = format!(
                "the mass of body {} lies {} m from its centre by its inertia, and its geoms reach {} m",
                name_of(&after.structure.names.bodies, body),
                figure(new),
                figure(reach)
            );
            Reason::doubt("plausibility", words)
        })
    };
    changed.filter_map(reason).collect()
}

/// Values must not lie at bounds: the best value is elsewhere.
fn bounds(estimates: &[Estimate]) -> impl Iterator<Item = Reason> {
    let at_bound = estimates.iter().filter(|one| one.is_at_bound);
    at_bound.map(|one| {
        let words = format!("{} lies at a bound ({})", one.name, figure(one.value));
        Reason::doubt("bounds", words)
    })
}

/// Intervals must tell something. One that is infinite, that spans decades, or that goes further to each side than both the value and the
/// initial value are large does not. Of numbers that have no scale of their own, as those of a pseudo-inertia, only the first is known.
fn intervals(estimates: &[Estimate]) -> impl Iterator<Item = Reason> {
    let wide = estimates.iter().filter(|one| {
        let [low, high] = one.interval;
        let half = 0.5 * (high - low);
        let has_scale = one.start != 0.0 && one.unit != LOG_CHOLESKY;
        let spans_decades = low > 0.0 && high > MAX_INTERVAL_RATIO * low
            || high < 0.0 && low < MAX_INTERVAL_RATIO * high;
        let is_wide = spans_decades || half > one.value.abs().max(one.start.abs());
        !half.is_finite() || has_scale && is_wide
    });
    // What lies at a bound has been said.
    wide.filter(|one| !one.is_at_bound).map(|one| {
        let [low, high] = one.interval.map(figure);
        let words = format!(
            "the recordings hardly determine {}: its interval is {low} … {high}",
            one.name
        );
        Reason::doubt("intervals", words)
    })
}

/// The search must not be stuck, nor be ended while it still made progress.
fn search(solution: &super::Solution) -> Option<Reason> {
    if solution.is_stalled {
        let words = format!(
            "the search is stuck and not at a minimum ({}): the values are the best that it met, and intervals mean little; try shorter segments, another start or --optimiser cmaes",
            solution.end
        );
        return Some(Reason::objection("search", words));
    }
    let fall = late_fall(&solution.history);
    (!solution.is_finished && fall > MAX_LATE_FALL).then(|| {
        let words = format!(
            "the search was ended while the loss still fell ({}; by {:.1} % in the last quarter): give it more --evaluations or --seconds",
            solution.end,
            100.0 * fall
        );
        Reason::doubt("search", words)
    })
}

/// By which share the lowest loss fell in the last quarter of the evaluations; all of it where there are too few to say.
fn late_fall(history: &[f64]) -> f64 {
    let lowest = |losses: &[f64]| losses.iter().copied().fold(f64::INFINITY, f64::min);
    let early = lowest(&history[..history.len() - history.len() / 4]);
    let last = lowest(history);
    if history.len() < 4 || !early.is_finite() {
        1.0
    } else {
        1.0 - last / early
    }
}

/// A search that ended by itself must have ended at the minimum, or intervals are about another point.
fn off_minimum(estimates: &[Estimate], off: &[f64]) -> Option<Reason> {
    let far = estimates.iter().zip(off);
    let far = far.filter(|(_, off)| **off > MAX_OFF_MINIMUM);
    let (one, off) = far.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let words = format!(
        "the search ended beside the minimum: {} is {} standard errors off, so intervals are about another point; try another start or --optimiser multi-start",
        one.name,
        figure(*off)
    );
    Some(Reason::doubt("search", words))
}

/// The name of an element, or its number.
fn name_of(names: &[String], index: usize) -> String {
    match names.get(index) {
        Some(name) if !name.is_empty() => format!("'{name}'"),
        _ => format!("#{index}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Metric, TrajectoryErrors};

    fn report(errors: &[f64]) -> Report {
        let metrics = ["angle", "mse v", "sensor"].into_iter().zip(errors);
        let metrics = metrics.map(|(name, _)| Metric {
            name: name.to_owned(),
            unit: "",
        });
        Report {
            metrics: metrics.collect(),
            trajectories: vec![TrajectoryErrors {
                label: "run".to_owned(),
                frames: 10,
                windows: 1,
                extrapolating: 0,
                errors: errors.to_vec(),
                failure: None,
            }],
            total: errors.to_vec(),
        }
    }

    fn estimate(start: f64, value: f64, interval: [f64; 2]) -> Estimate {
        Estimate {
            name: "joint.a.damping[0]".to_owned(),
            unit: "N·m·s/rad".to_owned(),
            start,
            value,
            error: 0.0,
            interval,
            is_at_bound: false,
        }
    }

    fn grades(reasons: impl IntoIterator<Item = Reason>) -> Vec<Grade> {
        reasons.into_iter().map(|reason| reason.grade).collect()
    }

    /// An arm with an armature at its wrist, a mass and moments of inertia of its last link.
    fn arm(armature: f64, mass: f64, moments: [f64; 3]) -> Model {
        let text = r#"<mujoco><worldbody><body name="link"><joint name="shoulder" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
          <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="0 1 0" armature="0.01"/>
            <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/></body></body></worldbody></mujoco>"#;
        let path = std::path::Path::new("arm.xml");
        let files = carom_spec::MemorySource::new().with(path, text);
        let settings = carom_spec::mjcf::ReadSettings::default();
        let read = carom_spec::read::read(path, &files, &settings);
        let mut model = carom::load::compiled(read).unwrap().model;
        model.dofs.armature[1] = armature;
        model.bodies.mass[2] = mass;
        model.bodies.inertia[2] = carom::math::Vec3(moments);
        model
    }

    #[test]
    fn the_worst_reason_is_the_grade_and_comes_first() {
        let [doubt, objection] = [
            Reason::doubt("bounds", "a doubt"),
            Reason::objection("loss", "an objection"),
        ];
        let verdict = Verdict::new(vec![doubt.clone(), objection.clone()]);
        assert_eq!(verdict.grade, Grade::NoSuccess);
        assert_eq!(verdict.reasons, [objection, doubt.clone()]);
        assert_eq!(Verdict::new(vec![doubt]).grade, Grade::Doubtful);
        assert_eq!(Verdict::new(Vec::new()).grade, Grade::Success);
        let all = [Grade::Success, Grade::Doubtful, Grade::NoSuccess];
        assert_eq!(all.map(Grade::exit_code), [0, 3, 1]);
    }

    #[test]
    fn a_loss_that_does_not_fall_is_no_success() {
        assert_eq!(loss([2.0, 1.0]), None);
        assert_eq!(grades(loss([2.0, 2.0])), [Grade::NoSuccess]);
    }

    #[test]
    fn searches_that_are_ended_while_the_loss_falls_are_doubtful() {
        let ended = |history: &[f64], is_finished| {
            let solution = crate::identify::Solution {
                x: Vec::new(),
                value: 1.0,
                end: "all evaluations are used up".to_owned(),
                is_finished,
                is_stalled: false,
                is_stopped: false,
                is_by_secants: false,
                history: history.to_vec(),
            };
            grades(search(&solution))
        };
        let falling = [8.0, 7.0, f64::INFINITY, 6.0, 5.0, 4.0, 3.0, 2.0];
        let flat = [8.0, 2.0, 2.01, 2.0, 2.0, 2.5, 1.999, 2.0];
        assert_eq!(ended(&falling, false), [Grade::Doubtful]);
        assert_eq!(ended(&falling, true), []);
        assert_eq!(ended(&flat, false), []);
        assert_eq!(ended(&[1.0], false), [Grade::Doubtful]);
        assert_eq!(ended(&[f64::INFINITY; 8], false), [Grade::Doubtful]);
    }

    #[test]
    fn every_held_out_error_that_rose_counts() {
        let before = report(&[1.0, 1.0, 1.0]);
        let rose = |errors: &[f64]| grades(risen(&[before.clone(), report(errors)]));
        assert_eq!(rose(&[0.5, 1.0, f64::NAN]), []);
        assert_eq!(rose(&[0.5, 1.01, 0.2]), [Grade::Doubtful]);
        assert_eq!(rose(&[3.9, 0.1, 0.2]), [Grade::NoSuccess]);
    }

    #[test]
    fn residuals_above_twice_the_noise_are_doubtful() {
        assert_eq!(residuals(1.9), None);
        assert_eq!(grades(residuals(2.1)), [Grade::Doubtful]);
        assert_eq!(grades(residuals(65.0)), [Grade::Doubtful]);
    }

    #[test]
    fn naive_predictors_must_be_beaten_above_the_noise_floor() {
        let judged = |model: &[f64], still: &[f64], floor: Option<&[f64]>| {
            let floor = floor.map(|errors| Floor {
                errors: errors.to_vec(),
                is_stated: true,
            });
            let [model, still] = [model, still].map(report);
            grades(naive(Predictor::HoldStill, &model, &still, floor.as_ref()))
        };
        assert_eq!(judged(&[0.1, 0.2], &[1.0, 1.0], None), []);
        assert_eq!(
            judged(&[0.1, 1.1, 0.1], &[1.0, 1.0, 1.0], None),
            [Grade::Doubtful]
        );
        assert_eq!(judged(&[2.0, 0.99], &[1.0, 1.0], None), [Grade::NoSuccess]);
        // No model can be better than the noise.
        assert_eq!(judged(&[1.0, 1.0], &[1.0, 1.0], Some(&[0.9, 0.9])), []);
        // What is not compared does not count.
        assert_eq!(judged(&[0.1, 2.0], &[1.0, f64::NAN], None), []);
    }

    #[test]
    fn armatures_are_judged_by_the_inertia_they_move() {
        let before = arm(0.01, 0.5, [1e-3; 3]);
        let found = |armature| grades(armatures(&before, &arm(armature, 0.5, [1e-3; 3])));
        assert_eq!(found(0.05), []);
        assert_eq!(found(0.2), [Grade::Doubtful]);
        assert_eq!(found(9.0), [Grade::NoSuccess]);
        // One that the model's author wrote is none of ours.
        let own = arm(9.0, 0.5, [1e-3; 3]);
        assert_eq!(armatures(&own, &own), []);
    }

    #[test]
    fn masses_and_moments_must_be_those_of_a_body() {
        let before = arm(0.01, 0.5, [1e-3; 3]);
        let heavy = |mass| grades(masses(&before, &arm(0.01, mass, [1e-3; 3])));
        assert_eq!(heavy(5.0), []);
        assert_eq!(heavy(60.0), [Grade::Doubtful]);
        assert_eq!(heavy(1e-3), [Grade::Doubtful]);
        let shaped = |shape| grades(moments(&before, &arm(0.01, 0.5, shape)));
        assert_eq!(shaped([1e-3, 2e-3, 3e-3]), []);
        assert_eq!(shaped([1e-3, 2e-3, 3.1e-3]), [Grade::NoSuccess]);
        assert_eq!(shaped([-1e-3, 2e-3, 2e-3]), [Grade::NoSuccess]);
        // The first link is 0.3 m long.
        let spread = |radius: f64| {
            let mut after = before.clone();
            let moment = radius * radius * after.bodies.mass[1];
            after.bodies.inertia[1] = carom::math::Vec3([moment; 3]);
            grades(gyrations(&before, &after))
        };
        assert_eq!(spread(0.15), []);
        assert_eq!(spread(0.6), [Grade::Doubtful]);
    }

    #[test]
    fn searches_that_end_beside_the_minimum_are_doubtful() {
        let estimates = [
            estimate(0.1, 0.3, [0.28, 0.32]),
            estimate(0.1, 0.2, [0.18, 0.22]),
        ];
        assert_eq!(off_minimum(&estimates, &[1e-6, 0.3]), None);
        assert_eq!(
            grades(off_minimum(&estimates, &[0.3, 5.0])),
            [Grade::Doubtful]
        );
        assert_eq!(off_minimum(&estimates, &[]), None);
    }

    #[test]
    fn values_at_bounds_and_wide_intervals_are_doubtful() {
        let good = estimate(0.1, 0.3, [0.28, 0.32]);
        let at_bound = Estimate {
            is_at_bound: true,
            ..good.clone()
        };
        assert_eq!(grades(bounds(&[good.clone(), at_bound])), [Grade::Doubtful]);
        let wide = |interval| grades(intervals(&[estimate(0.1, 0.3, interval)]));
        assert_eq!(grades(intervals(&[good])), []);
        assert_eq!(wide([1e-3, 0.4]), [Grade::Doubtful]);
        assert_eq!(wide([1e-17, 1.0]), [Grade::Doubtful]);
        assert_eq!(wide([-0.2, 0.8]), [Grade::Doubtful]);
        assert_eq!(wide([f64::NEG_INFINITY, f64::INFINITY]), [Grade::Doubtful]);
        // A number that is zero is known if its interval is small beside what it was believed to be.
        assert_eq!(grades(intervals(&[estimate(0.1, 0.0, [-0.01, 0.01])])), []);
        let number = Estimate {
            unit: LOG_CHOLESKY.to_owned(),
            ..estimate(0.1, 0.0, [-1.0, 1.0])
        };
        assert_eq!(grades(intervals(&[number])), []);
    }
}
