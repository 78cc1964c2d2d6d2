//! The ball as it really is, and what a camera sees of its throws.

use std::fmt::Write as _;

use carom::flow::{Flow, FlowSettings, Tolerances};
use carom::math::{Quat, Vec3};
use carom::parameters::Parameters;
use carom::rollout::Controls;
use carom::{Error, ErrorKind, Model, State};
use carom_optimise::random::Random;
use carom_tasks::identify::Settings;

/// A number of the ball that is hidden, in the order of the settings.
pub(super) struct Unknown {
    /// What it is.
    pub(super) words: &'static str,
    /// What it is printed in, and how many of these make one of the model's.
    pub(super) unit: &'static str,
    pub(super) factor: f64,
    /// Least and greatest hidden value.
    range: [f64; 2],
}

impl Unknown {
    const fn new(words: &'static str, unit: &'static str, factor: f64, range: [f64; 2]) -> Self {
        Self {
            words,
            unit,
            factor,
            range,
        }
    }
}

pub(super) const UNKNOWNS: [Unknown; 4] = [
    Unknown::new("friction", "", 1.0, [0.12, 0.22]),
    Unknown::new("radius", "mm", 1e3, [0.045, 0.055]),
    Unknown::new("time constant of the contact", "ms", 1e3, [0.012, 0.03]),
    Unknown::new("damping ratio of the contact", "", 1.0, [0.08, 0.22]),
];

/// Frames of a throw, and seconds from one to the next: two or three impacts, but not the ever smaller bounces of a ball that comes to
/// rest, which tell little and take long to follow.
pub(super) const FRAMES: usize = 50;
const SECONDS_PER_FRAME: f64 = 0.01;
/// Noise of positions (m), rotations (rad), velocities (m/s) and angular velocities (rad/s), as the mapping states it.
pub(super) const NOISE: [f64; 4] = [0.0005, 0.005, 0.005, 0.05];
/// Columns of a recording.
const HEAD: &str = "time,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n";
/// Reality has no time steps; this is as near as matters.
const TRUTH_TOLERANCE: f64 = 1e-9;

/// The ball as it really is.
pub(super) struct Hidden {
    pub(super) model: Model,
    /// The numbers that make it so, in the order of the settings.
    pub(super) values: Vec<f64>,
}

impl Hidden {
    pub(super) fn new(model: &Model, settings: &Settings, seed: u64) -> Result<Self, Error> {
        let mut random = Random::new(seed, 0);
        let values: Vec<f64> = (UNKNOWNS.iter())
            .map(|unknown| between(&mut random, unknown.range))
            .collect();
        let free = settings.free.iter().map(|free| free.selection.clone());
        let free: Vec<_> = free.collect();
        let parameters = Parameters::new(model, &free)?;
        let mut theta = parameters.theta0().to_vec();
        for (name, &value) in parameters.names().zip(&values) {
            let set = parameters.set(&mut theta, name, value);
            set?;
        }
        let model = parameters.apply(&theta);
        Ok(Self {
            model: model?,
            values,
        })
    }

    /// A throw as a table, with noise.
    pub(super) fn thrown(&self, random: &mut Random) -> Result<String, Error> {
        let settings = FlowSettings {
            tolerances: Tolerances::all(TRUTH_TOLERANCE),
            ..FlowSettings::default()
        };
        let flow = Flow::new(&self.model, settings)?;
        let start = let_go(&self.model, random);
        let motion = flow.run(&start, &Controls::Zero, SECONDS_PER_FRAME, FRAMES - 1);
        if !motion.status().is_done() {
            return Err(Error::new(ErrorKind::Loss, motion.status().to_string()));
        }
        let mut table = HEAD.to_owned();
        for (frame, state) in motion.states().iter().enumerate() {
            let _ = write!(table, "{:.2}", frame as f64 * SECONDS_PER_FRAME);
            for number in seen(state, random) {
                let _ = write!(table, ",{number:.6}");
            }
            table.push('\n');
        }
        Ok(table)
    }
}

fn between(random: &mut Random, [low, high]: [f64; 2]) -> f64 {
    low + (high - low) * random.uniform()
}

/// A ball that was just let go: forwards and down, with a backspin that makes it slip at its first impacts.
fn let_go(model: &Model, random: &mut Random) -> State {
    let mut state = State::reference(model);
    let mut draw = |ranges: [[f64; 2]; 3]| ranges.map(|range| between(random, range));
    let place = draw([[-0.5, -0.3], [-0.1, 0.1], [0.2, 0.3]]);
    let turn = draw([[-1.0, 1.0]; 3]);
    let speed = draw([[1.0, 1.8], [-0.3, 0.3], [-0.5, 0.3]]);
    let spin = draw([[-4.0, 4.0], [-45.0, -25.0], [-4.0, 4.0]]);
    let quat = Quat::exp(Vec3(turn));
    state.qpos[..3].copy_from_slice(&place);
    state.qpos[3..7].copy_from_slice(&quat.0);
    state.qvel[..3].copy_from_slice(&speed);
    // The spin is about axes of the table, a velocity of a free joint about those of the body.
    state.qvel[3..6].copy_from_slice(&quat.rotate_inverse(Vec3(spin)).0);
    state
}

/// Position, quaternion, velocity and angular velocity with noise.
fn seen(state: &State, random: &mut Random) -> Vec<f64> {
    let mut noise = |deviation: f64| [0; 3].map(|_| deviation * random.normal());
    let [position, rotation, linear, angular] = NOISE.map(&mut noise);
    let sum = |numbers: &[f64], noise: [f64; 3]| -> Vec<f64> {
        (numbers.iter().zip(noise))
            .map(|(number, noise)| number + noise)
            .collect()
    };
    let quat = Quat(std::array::from_fn(|k| state.qpos[3 + k]));
    let mut row = sum(&state.qpos[..3], position);
    row.extend(quat.mul(Quat::exp(Vec3(rotation))).normalized().0);
    row.extend(sum(&state.qvel[..3], linear));
    row.extend(sum(&state.qvel[3..6], angular));
    row
}
