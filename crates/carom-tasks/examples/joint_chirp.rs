//! Experiment: what a servo's joint is like, from a chirp: damping, dry friction, armature, and the delay of its commands. The same
//! joint is driven with a soft and with a stiff servo; what is found with one must predict the motion with the other.
//!
//! `cargo run --release -p carom-tasks --example joint_chirp` prints a table and writes `target/experiments/joint_chirp/`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod motions;

use std::error::Error;
use std::f64::consts::TAU;

use carom::parameters::Parameters;
use carom::{Model, State};
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::evaluate::evaluate;
use carom_tasks::identify::{Identified, Settings};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::Recordings;
use motions::Motion;

/// Gains of the two servos: stiffness (N·m/rad) and damping (N·m·s/rad).
const GAINS: [(&str, [f64; 2]); 2] = [("soft", [20.0, 0.6]), ("stiff", [80.0, 2.0])];
/// Parameters with what they are and what the model says.
const UNKNOWN: [(&str, f64, f64); 4] = [
    ("joint.shaft.damping[0] log", 0.35, 0.1),
    ("joint.shaft.frictionloss log", 0.25, 0.1),
    ("joint.shaft.armature log", 0.03, 0.01),
    ("actuator.servo.delay", 0.0137, 0.004),
];
/// Noise of the recorded angles (rad) and velocities (rad/s).
const NOISE: [f64; 2] = [5e-4, 0.01];
/// Frames of the chirp, 4 ms apart; its length (s), its frequencies at start and end (Hz), and its amplitude (rad).
const FRAMES: usize = 1000;
const SECONDS: f64 = 4.0;
const FREQUENCIES: [f64; 2] = [0.3, 6.0];
const AMPLITUDE: f64 = 0.4;
/// Seeds of the noise, and in the quick form.
const SEEDS: [u64; 2] = [10, 2];

/// A lever on a geared motor, with a servo whose commands arrive late.
fn lever(gains: [f64; 2]) -> Result<Model, Box<dyn Error>> {
    let [stiffness, damping] = gains;
    let [friction, armature, loss, delay] =
        [UNKNOWN[0].2, UNKNOWN[2].2, UNKNOWN[1].2, UNKNOWN[3].2];
    common::model_from_text(format!(
        r#"<mujoco><option timestep="0.002" integrator="implicitfast"/>
          <worldbody><body><joint name="shaft" axis="0 1 0" damping="{friction}" frictionloss="{loss}" armature="{armature}"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.6"/></body></worldbody>
          <actuator><position name="servo" joint="shaft" kp="{stiffness}" kv="{damping}" delay="{delay}" nsample="20" interp="linear"/></actuator>
        </mujoco>"#
    ))
}

/// The phase of a chirp grows with the square of time.
fn chirp(time: f64) -> f64 {
    let [first, last] = FREQUENCIES;
    AMPLITUDE * (TAU * (first + 0.5 * (last - first) * time / SECONDS) * time).sin()
}

/// What a servo's chirp looks like.
fn recorded((name, model): (&str, &Model), seed: u64) -> Result<Recordings, Box<dyn Error>> {
    let names = UNKNOWN.map(|(name, _, _)| name.trim_end_matches(" log"));
    let parameters = Parameters::select(model, &names)?;
    let truth = parameters.apply(&UNKNOWN.map(|(_, truth, _)| truth))?;
    let motion = Motion {
        start: State::reference(&truth),
        frames: FRAMES,
        every: 2,
        control: &|time| vec![chirp(time)],
        noise: NOISE,
        seed,
    };
    let mapping = motions::mapping(&[("shaft", NOISE)], &["servo"]);
    motion.record(&truth, (&format!("chirp_{name}_{seed}"), &mapping), model)
}

fn found(model: &Model, recordings: &Recordings) -> Result<Identified, Box<dyn Error>> {
    let settings = Settings {
        free: motions::free(&UNKNOWN.map(|(name, _, _)| name))?,
        confidence: 0.99,
        ..Settings::default()
    };
    motions::identified(model, recordings, settings)
}

/// The mean error of the angle (rad).
fn error(model: &Model, recordings: &Recordings) -> Result<f64, Box<dyn Error>> {
    let report = evaluate(model, recordings, Stepping::Fixed)?;
    report
        .total_of("angle")
        .ok_or_else(|| "no angles were compared".into())
}

/// The model of one servo with what was found with the other.
fn transferred(model: &Model, found: &Identified) -> Result<Model, Box<dyn Error>> {
    let parameters = Parameters::select(model, &UNKNOWN.map(|(name, _, _)| name))?;
    Ok(parameters.apply(&found.theta)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let models = [lever(GAINS[0].1)?, lever(GAINS[1].1)?];
    let (mut held, mut asked) = (0, 0);
    let mut page = Page::new("A joint's chirp")
        .text("Damping, dry friction, armature and the delay of commands, from one chirp of a servo. Intervals are at 99 %.");
    for seed in 0..SEEDS[usize::from(common::is_quick())] {
        let names = GAINS.map(|(name, _)| name);
        let recordings = [
            recorded((names[0], &models[0]), seed)?,
            recorded((names[1], &models[1]), seed)?,
        ];
        for (index, name) in names.into_iter().enumerate() {
            let other = 1 - index;
            let found = found(&models[index], &recordings[index])?;
            for (estimate, (_, truth, _)) in found.estimates.iter().zip(UNKNOWN) {
                asked += 1;
                held += usize::from(motions::holds(estimate, truth));
                assert!(
                    (estimate.value / truth - 1.0).abs() < 0.1,
                    "seed {seed}, {name}: {estimate:?}, the truth is {truth}"
                );
            }
            let before = error(&models[other], &recordings[other])?;
            let after = error(&transferred(&models[other], &found)?, &recordings[other])?;
            // What is left is the noise of the recording: its mean is 0.8 deviations.
            assert!(
                after < NOISE[0],
                "seed {seed}: found with the {name} servo, the other is off by {after} rad"
            );
            if seed == 0 {
                let rows: Vec<Vec<String>> = (found.estimates.iter().zip(UNKNOWN))
                    .map(|(estimate, (_, truth, _))| motions::row(estimate, truth))
                    .collect();
                println!(
                    "\n{name} servo; the other servo's angle is off by {:.2} mrad before, {:.2} mrad after",
                    1e3 * before,
                    1e3 * after
                );
                common::print_table(&motions::HEAD, &rows, 1);
                page = page.heading(&format!("With the {name} servo"))
                    .text(&format!("With these parameters, the angle of the other servo is predicted to {:.2} mrad; it was {:.1} mrad before. The noise of the recordings is {:.2} mrad.", 1e3 * after, 1e3 * before, 1e3 * NOISE[0]))
                    .table(&motions::HEAD, &rows)
                    .chart(&residuals(&found, name).chart());
            }
        }
    }
    println!("\n{held} of {asked} intervals hold the truth");
    assert!(
        held * 20 >= asked * 19,
        "only {held} of {asked} intervals hold the truth"
    );
    common::save(&page, "joint_chirp")?;
    Ok(())
}

/// Residuals over time, before and after.
struct Residuals {
    title: String,
    series: [Series; 2],
}

impl Residuals {
    fn chart(&self) -> Chart<'_> {
        Chart {
            title: &self.title,
            x: ("time (s)", Scale::Linear),
            y: ("residual, in deviations of the noise", Scale::Logarithmic),
            series: &self.series,
        }
    }
}

fn residuals(found: &Identified, name: &str) -> Residuals {
    let before = found.frames.iter().map(|frame| [frame.time, frame.before]);
    let after = found.frames.iter().map(|frame| [frame.time, frame.after]);
    Residuals {
        title: format!("Residuals of the {name} servo"),
        series: [
            Series::line("before", before.collect()),
            Series::line("after", after.collect()),
        ],
    }
}
