//! Motions that could be recorded next: per actuator a step and a chirp within its range, per joint a start away from rest, per
//! free body throws that hit differently.

use carom::math::{Quat, Vec3};
use carom::model::JointKind;
use carom::{Model, State};

use crate::recording::Recordings;

/// Maximum of frames of a candidate.
const MAX_FRAMES: usize = 400;
/// Maximum of candidates.
const MAX_CANDIDATES: usize = 64;
/// Highest frequency of a chirp (Hz), and as a fraction of the frame rate.
const MAX_CHIRP_FREQUENCY: [f64; 2] = [5.0, 0.1];
/// How far joints without limits are moved, and how fast: hinges (rad), then slides (m).
const JOINT_OFFSET: [f64; 2] = [1.5, 0.2];
const JOINT_SPEED: [f64; 2] = [3.0, 0.5];
/// Throws of free bodies: speed (m/s) and spin (rad/s).
const THROW_SPEED: f64 = 1.5;
const THROW_SPIN: f64 = 8.0;
/// The turn about y after an eighth of a turn about x that puts a cube on its corner: atan(1/√2).
const CORNER_TILT: f64 = 0.615_479_708_670_387_3;

/// A motion that could be recorded.
pub(super) struct Candidate {
    /// What to do.
    pub(super) words: String,
    pub(super) start: State,
    /// nu a frame.
    pub(super) controls: Vec<f64>,
}

/// When candidates are measured.
pub(super) struct Clock {
    pub(super) times: Vec<f64>,
}

impl Clock {
    /// As often and as long as the first recorded trajectory.
    fn of(recordings: &Recordings) -> Option<Self> {
        let trajectory = recordings.trajectories.first()?;
        let times = &trajectory.times[recordings.start.min(trajectory.frames() - 1)..];
        let count = times.len().min(MAX_FRAMES);
        let span = times.last()? - times.first()?;
        let spacing = span / (times.len() as f64 - 1.0);
        (count > 1 && spacing > 0.0).then(|| Self {
            times: (0..count).map(|frame| spacing * frame as f64).collect(),
        })
    }

    fn duration(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }
}

/// All candidates for a model, from the first recorded start.
pub(super) fn candidates(
    model: &Model,
    recordings: &Recordings,
) -> Option<(Clock, Vec<Candidate>)> {
    let clock = Clock::of(recordings)?;
    let start = recordings.start(model, 0, recordings.start).ok()?;
    let mut found = Candidates {
        model,
        recordings,
        clock: &clock,
        start,
        all: Vec::new(),
    };
    found.actuators();
    found.joints();
    let mut all = found.all;
    all.truncate(MAX_CANDIDATES);
    Some((clock, all))
}

struct Candidates<'a> {
    model: &'a Model,
    recordings: &'a Recordings,
    clock: &'a Clock,
    start: State,
    all: Vec<Candidate>,
}

impl Candidates<'_> {
    fn push(&mut self, words: String, start: State, controls: Option<Vec<f64>>) {
        let nu = self.model.counts().nu;
        let controls = controls.unwrap_or_else(|| vec![0.0; nu * self.clock.times.len()]);
        self.all.push(Candidate {
            words,
            start,
            controls,
        });
    }

    fn actuators(&mut self) {
        let nu = self.model.counts().nu;
        let names = self.model.structure.control_names();
        for actuator in 0..nu {
            let [low, high] = self.control_range(actuator);
            let name = named(&names, actuator, "actuator");
            let duration = self.clock.duration();
            let slowest = 1.0 / duration;
            let spacing = duration / (self.clock.times.len() as f64 - 1.0);
            let fastest = MAX_CHIRP_FREQUENCY[0]
                .min(MAX_CHIRP_FREQUENCY[1] / spacing)
                .max(2.0 * slowest);
            let signal = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
                let rows = self.clock.times.iter().map(|&time| of(time));
                let row = |value: f64| {
                    (0..nu).map(move |other| if other == actuator { value } else { 0.0 })
                };
                rows.flat_map(row).collect()
            };
            let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
            let chirp = signal(&|time| {
                let turns = slowest * time + 0.5 * (fastest - slowest) * time * time / duration;
                middle + half * (std::f64::consts::TAU * turns).sin()
            });
            let step = signal(&|time| if time < 0.5 * duration { high } else { low });
            let (low, high) = (short(low), short(high));
            let (slowest, fastest) = (short(slowest), short(fastest));
            let start = self.start.clone();
            self.push(
                format!("drive {name} with a chirp between {low} and {high}, from {slowest} to {fastest} Hz"),
                start.clone(),
                Some(chirp),
            );
            self.push(
                format!("step {name} to {high} for half of the time, then to {low}"),
                start,
                Some(step),
            );
        }
    }

    /// The range of a control: its limits, or what was recorded.
    fn control_range(&self, actuator: usize) -> [f64; 2] {
        if let Some(range) = self.model.control_range(actuator) {
            return range;
        }
        let nu = self.model.counts().nu;
        let recorded = self.recordings.trajectories.iter();
        let controls = recorded.flat_map(|trajectory| trajectory.controls.chunks_exact(nu));
        let most = controls.fold(0.0_f64, |most, row| most.max(row[actuator].abs()));
        if most > 0.0 {
            [-most, most]
        } else {
            [-1.0, 1.0]
        }
    }

    fn joints(&mut self) {
        let joints = self.model.structure.joints.clone();
        for (joint, kind) in joints.kind.iter().enumerate() {
            let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
            match kind {
                JointKind::Hinge => self.single(joint, (qpos, dof), 0),
                JointKind::Slide => self.single(joint, (qpos, dof), 1),
                JointKind::Free => self.free(joints.body[joint], (qpos, dof)),
                JointKind::Ball => {
                    let name = named(&self.model.structure.names.joints, joint, "joint");
                    let mut start = self.start.clone();
                    start.qvel[dof] += JOINT_SPEED[0];
                    let words = format!(
                        "let {name} start with {} rad/s about its x axis",
                        JOINT_SPEED[0]
                    );
                    self.push(words, start, None);
                }
            }
        }
    }

    /// A hinge or slide: away from where it started, and pushed.
    fn single(&mut self, joint: usize, (qpos, dof): (usize, usize), kind: usize) {
        let name = named(&self.model.structure.names.joints, joint, "joint");
        let unit = ["rad", "m"][kind];
        let here = self.start.qpos[qpos];
        let away = if self.model.structure.joints.limited[joint] {
            // The farther limit, with some room left.
            let [low, high] = self.model.joints.range[joint];
            let end = if high - here > here - low { high } else { low };
            here + 0.8 * (end - here)
        } else {
            here + JOINT_OFFSET[kind]
        };
        let mut start = self.start.clone();
        start.qpos[qpos] = away;
        start.qvel.fill(0.0);
        self.push(
            format!("release {name} from rest at {} {unit}", short(away)),
            start,
            None,
        );
        let mut start = self.start.clone();
        start.qvel[dof] += JOINT_SPEED[kind];
        let push = JOINT_SPEED[kind];
        self.push(
            format!("let {name} start with {push} {unit}/s more"),
            start,
            None,
        );
    }

    /// A free body: throws that spin, slide, and land on edges and corners.
    fn free(&mut self, body: usize, (qpos, dof): (usize, usize)) {
        let name = named(&self.model.structure.names.bodies, body, "body");
        let geoms = self.model.structure.bodies.geoms[body].clone();
        let size = (geoms.into_iter())
            .map(|geom| self.model.geoms.bounding_radius[geom])
            .fold(0.0, f64::max);
        let gravity = self.model.option.gravity[0];
        let up = if gravity.norm() > 0.0 {
            gravity.scale(-1.0 / gravity.norm())
        } else {
            Vec3([0.0, 0.0, 1.0])
        };
        let turned =
            |x: f64, y: f64| Quat::exp(Vec3([x, 0.0, 0.0])).mul(Quat::exp(Vec3([0.0, y, 0.0])));
        let eighth = std::f64::consts::FRAC_PI_4;
        let base = self.start.clone();
        let raised = |turn: Quat, down: f64| {
            let mut start = base.clone();
            start.qvel[dof..dof + 6].fill(0.0);
            for k in 0..3 {
                start.qpos[qpos + k] += 2.0 * size * up.0[k];
                start.qvel[dof + k] = -down * up.0[k];
            }
            start.qpos[qpos + 3..qpos + 7].copy_from_slice(&turn.0);
            start
        };
        let spun = |axis: usize| {
            let mut start = base.clone();
            start.qvel[dof + 3 + axis] += THROW_SPIN;
            start
        };
        let mut sideways = base.clone();
        let along = usize::from(up.0[0].abs() >= 0.9);
        sideways.qvel[dof + along] += THROW_SPEED;
        let throws = [
            (
                format!("throw {name} with {THROW_SPIN} rad/s more spin about its x axis"),
                spun(0),
            ),
            (
                format!("throw {name} with {THROW_SPIN} rad/s more spin about its z axis"),
                spun(2),
            ),
            (
                format!(
                    "throw {name} {THROW_SPEED} m/s faster along {}",
                    ["x", "y"][along]
                ),
                sideways,
            ),
            (
                format!("drop {name} on an edge"),
                raised(turned(eighth, 0.0), 0.0),
            ),
            (
                format!("throw {name} down on a corner with {THROW_SPEED} m/s"),
                raised(turned(eighth, CORNER_TILT), THROW_SPEED),
            ),
            (
                format!("drop {name} flat with {THROW_SPEED} m/s"),
                raised(turned(0.0, 0.0), THROW_SPEED),
            ),
        ];
        for (words, start) in throws {
            self.push(words, start, None);
        }
    }
}

/// A number with three digits that count, without zeros at its end.
fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let digits = number.abs().log10().floor();
    let factor = 10.0_f64.powf(2.0 - digits);
    format!("{}", (number * factor).round() / factor).replace('-', "−")
}

/// A name, or the kind and index of what has none.
fn named(names: &[String], index: usize, kind: &str) -> String {
    match names.get(index).map(String::as_str) {
        None | Some("") => format!("{kind} {index}"),
        Some(name) => name.to_owned(),
    }
}
