//! What the experiments with tosses of a cube share: the model of [Paulus 2025, suppl. C.2], the recordings of
//! [Pfrommer 2020], and tosses that carom simulates itself where those are not at hand.
#![allow(dead_code, reason = "every experiment uses a part of it")]
#![allow(
    clippy::print_stdout,
    reason = "the figures are what experiments are for"
)]

use std::error::Error;
use std::path::{Path, PathBuf};

use carom::flow::{Flow, FlowSettings, Method, Tolerances};
use carom::rollout::Controls;
use carom::{Model, State};
use carom_optimise::random::Random;
use carom_tasks::npz::{self, Array};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::common;

/// Frames a second of the recordings; the paper says 1480.
pub(crate) const RATE: f64 = 148.0;

/// Sides that may be called true (mm): what the makers state, what the height at rest says, what corners say.
pub(crate) const TRUTHS: [(f64, &str); 3] = [
    (104.8, "stated"),
    (102.4, "by the height at rest"),
    (100.0, "by its corners, and the paper's"),
];

/// How a contact is, and how long a side (m).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cube {
    pub(crate) side: f64,
    pub(crate) friction: f64,
    pub(crate) solref: [f64; 2],
    pub(crate) solimp: [f64; 5],
}

/// The settings of the paper.
pub(crate) const PAPER: Cube = Cube {
    side: 0.1,
    friction: 0.4,
    solref: [0.02, 1.0],
    solimp: [0.05, 0.95, 0.01, 0.5, 2.0],
};

impl Cube {
    /// The model, one step a frame; the mass is that of the recordings.
    pub(crate) fn model(&self) -> Result<Model, Box<dyn Error>> {
        let list = |numbers: &[f64]| {
            let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
            words.join(" ")
        };
        let (half, step) = (0.5 * self.side, 1.0 / RATE);
        common::model_from_text(format!(
            r#"<mujoco><option timestep="{step}"/>
              <default><geom friction="{} 0.01 0.1" solref="{}" solimp="{}"/></default>
              <worldbody><geom name="board" type="plane" size="1 1 0.1"/>
              <body name="cube" pos="0 0 {half}"><freejoint/>
                <geom name="cube" type="box" size="{half} {half} {half}" mass="0.37"/></body></worldbody></mujoco>"#,
            self.friction,
            list(&self.solref),
            list(&self.solimp),
        ))
    }
}

/// Steps to a tolerance, as in the paper.
pub(crate) fn adaptive(tolerance: f64) -> Stepping {
    Stepping::Flow(FlowSettings {
        method: Method::Tsit5,
        tolerances: Tolerances::all(tolerance),
        ..FlowSettings::default()
    })
}

/// Recordings of tosses.
pub(crate) struct Tosses {
    pub(crate) recordings: Recordings,
    /// The cube that they were simulated with; none of real ones.
    pub(crate) truth: Option<Cube>,
}

impl Tosses {
    /// The first tosses of a file of the real recordings, or as many that are simulated with a hidden cube.
    pub(crate) fn of(file: &str, count: usize, hidden: Cube) -> Result<Self, Box<dyn Error>> {
        let mapping = common::root().join("datasets/contactnets_cube.toml");
        let mapping = Mapping::read(&mapping)?;
        let model = PAPER.model()?;
        let path = shared().join("data/contactnets_cube").join(file);
        if path.exists() {
            let mut recordings = recording::load(&model, &mapping, &[path])?;
            recordings.trajectories.truncate(count);
            // As in the paper. Segments also start in contact, where half of an acceleration would be that of a guessed contact.
            recordings.velocity.means = false;
            return Ok(Self {
                recordings,
                truth: None,
            });
        }
        println!(
            "skipped: {} is not there (set CAROM_SHARED); tosses of a hidden cube are simulated instead",
            path.display()
        );
        let folder = common::root().join("target/experiments/simulated");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}-{file}", std::process::id()));
        let seed = file.bytes().map(u64::from).sum();
        simulate(&hidden, count.min(MAX_SIMULATED), seed, &path)?;
        let recordings = recording::load(&model, &mapping, std::slice::from_ref(&path));
        std::fs::remove_file(&path)?;
        let mut recordings = recordings?;
        // Simulated velocities are those of their instants.
        recordings.velocity.means = false;
        Ok(Self {
            recordings,
            truth: Some(hidden),
        })
    }

    /// What they are, in words.
    pub(crate) fn describe(&self) -> String {
        let count = self.recordings.trajectories.len();
        let tosses = if count == 1 { "toss" } else { "tosses" };
        match &self.truth {
            None => format!("{count} real {tosses}"),
            Some(cube) => {
                let side = 1e3 * cube.side;
                format!("{count} simulated {tosses} of a cube of {side:.1} mm")
            }
        }
    }
}

fn shared() -> PathBuf {
    std::env::var_os("CAROM_SHARED").map_or_else(|| common::root().join("../shared"), PathBuf::from)
}

/// Simulated tosses are alike: a few of them tell all.
const MAX_SIMULATED: usize = 12;

/// Frames of a simulated toss.
const FRAMES: usize = 90;

/// Noise of simulated positions (m), quaternions, velocities (m/s) and angular velocities (rad/s).
const NOISE: [f64; 4] = [2e-4, 5e-4, 0.01, 0.05];

/// Writes simulated tosses as the real ones are written.
fn simulate(cube: &Cube, count: usize, seed: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let model = cube.model()?;
    let settings = FlowSettings {
        tolerances: Tolerances::all(1e-8),
        ..FlowSettings::default()
    };
    let flow = Flow::new(&model, settings)?;
    let mut random = Random::new(seed, 0);
    let mut rows = Vec::new();
    for _ in 0..count {
        let start = toss(&model, &mut random);
        let motion = flow.run(&start, &Controls::Zero, 1.0 / RATE, FRAMES - 1);
        if !motion.status().is_done() {
            return Err(motion.status().to_string().into());
        }
        for state in motion.states() {
            let numbers = state.qpos.iter().chain(&state.qvel).enumerate();
            rows.extend(numbers.map(|(place, number)| {
                let noise = match place {
                    0..3 => NOISE[0],
                    3..7 => NOISE[1],
                    7..10 => NOISE[2],
                    _ => NOISE[3],
                };
                number + noise * random.normal()
            }));
        }
    }
    for row in rows.chunks_exact_mut(13) {
        let length = row[3..7].iter().map(|x| x * x).sum::<f64>().sqrt();
        row[3..7].iter_mut().for_each(|x| *x /= length);
    }
    let offsets = (0..=count).map(|toss| (toss * FRAMES) as f64).collect();
    let arrays = [
        ("state", Array::numbers(&[count * FRAMES, 13], rows)),
        ("offsets", Array::numbers(&[count + 1], offsets)),
        ("dt", Array::numbers(&[], vec![1.0 / RATE])),
    ];
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    npz::write(std::fs::File::create(path)?, &named)?;
    Ok(())
}

/// A throw from 15 to 25 cm over the board, with speeds and spins as in the recordings.
fn toss(model: &Model, random: &mut Random) -> State {
    let mut start = State::reference(model);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    start.qpos[2] = between(0.15, 0.25);
    let turn: [f64; 4] = std::array::from_fn(|_| between(-1.0, 1.0));
    let length = turn.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (number, turn) in start.qpos[3..].iter_mut().zip(turn) {
        *number = turn / length;
    }
    for (place, most) in [0.8, 0.8, 0.5, 5.0, 5.0, 5.0].into_iter().enumerate() {
        start.qvel[place] = between(-most, most);
    }
    start
}
