//! Experiment: inertias of an arm whose truth is known. Joints do not tell all of them, however they move: what cannot be told is named
//! and refused. With the parameters held that the refusal proposes, or with priors, the truth is found within its intervals.
//!
//! `cargo run --release -p carom-tasks --example known_truth` prints tables and writes `target/experiments/known_truth/`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod motions;

use std::error::Error;

use carom::parameters::Parameters;
use carom::{Model, State};
use carom_optimise::random::Random;
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::identify::{Estimate, Free, Inspection, Prior, Settings, Task};
use carom_tasks::recording::Recordings;
use motions::Motion;

/// Links, joints and servos of the arm.
const LINKS: [&str; 3] = ["link1", "link2", "link3"];
const JOINTS: [&str; 3] = ["yaw", "shoulder", "elbow"];
/// Combinations of inertial parameters that the torques of a chain of n joints tell: 7·n − 4 − 2, where the first joint is vertical
/// and the second is not [Mayeda 1990].
const TOLD: usize = 7 * JOINTS.len() - 6;
/// Noise of the recorded angles (rad) and velocities (rad/s).
const NOISE: [f64; 2] = [2e-4, 2e-3];
/// How well drawings know masses and moments, relative, and centres of mass (m).
const DRAWINGS: [f64; 2] = [0.1, 0.005];
/// With which probability intervals are to hold the truth.
const CONFIDENCE: f64 = 0.99;
/// Truths that are tried, and in the quick form.
const TRUTHS: [u64; 2] = [6, 1];

/// An arm that turns about the vertical and bends twice, with soft servos, as its drawings say.
fn drawn() -> Result<Model, Box<dyn Error>> {
    common::model_from_text(
        r#"<mujoco><option timestep="0.005" integrator="implicitfast"/>
          <default><joint axis="0 1 0" damping="0.2"/><position kp="30" kv="2"/></default>
          <worldbody><body name="link1" pos="0 0 0.3"><joint name="yaw" axis="0 0 1"/>
            <inertial pos="0.02 0.01 0.05" mass="2.0" diaginertia="0.012 0.011 0.009"/>
            <body name="link2" pos="0 0 0.1"><joint name="shoulder"/>
              <inertial pos="0.14 0.01 0.02" mass="1.5" diaginertia="0.006 0.014 0.013"/>
              <body name="link3" pos="0.3 0 0"><joint name="elbow"/>
                <inertial pos="0.11 -0.01 0.015" mass="0.9" diaginertia="0.003 0.008 0.0075"/>
              </body></body></body></worldbody>
          <actuator><position name="yaw" joint="yaw"/><position name="shoulder" joint="shoulder"/><position name="elbow" joint="elbow"/></actuator>
        </mujoco>"#
            .to_owned(),
    )
}

/// Mass, centre of mass and moments of every link, one by one.
fn inertial_names() -> Vec<String> {
    let numbers = |link: &str| {
        let mut names = vec![format!("body.{link}.mass")];
        for attribute in ["ipos", "inertia"] {
            names.extend((0..3).map(|k| format!("body.{link}.{attribute}[{k}]")));
        }
        names
    };
    LINKS.into_iter().flat_map(numbers).collect()
}

/// Commands of all joints: sines that do not repeat together.
fn commands(time: f64) -> Vec<f64> {
    let wave = |k: f64| {
        0.7 * (1.3 * k * time + k).sin() + 0.4 * ((3.1 + 0.7 * k) * time).sin() - 0.7 * k.sin()
    };
    vec![wave(1.0), wave(1.7), wave(2.3)]
}

fn recorded(truth: &Model, model: &Model, seed: u64) -> Result<Recordings, Box<dyn Error>> {
    let motion = Motion {
        start: State::reference(truth),
        frames: 500,
        every: 2,
        control: &commands,
        noise: NOISE,
        seed,
    };
    let mapping = motions::mapping(&JOINTS.map(|joint| (joint, NOISE)), &JOINTS);
    motion.record(truth, (&format!("arm_{seed}"), &mapping), model)
}

/// What is asked of some parameters.
fn asked(free: Vec<Free>) -> Settings {
    Settings {
        free,
        confidence: CONFIDENCE,
        ..Settings::default()
    }
}

fn inspected(
    model: &Model,
    recordings: &Recordings,
    free: Vec<Free>,
) -> Result<Inspection, Box<dyn Error>> {
    Ok(Task::new(model, recordings, asked(free))?.inspect()?)
}

/// How far the truth may be from the drawings: a deviation of each number.
fn deviation(name: &str, value: f64) -> f64 {
    if name.contains("ipos") {
        DRAWINGS[1]
    } else {
        DRAWINGS[0] * value
    }
}

/// An arm that was built, somewhere around its drawings in some of its numbers.
fn built(model: &Model, names: &[&str], seed: u64) -> Result<(Model, Vec<f64>), Box<dyn Error>> {
    let parameters = Parameters::select(model, names)?;
    let mut random = Random::new(seed, 7);
    let truth: Vec<f64> = (names.iter().zip(parameters.theta0()))
        .map(|(name, value)| value + deviation(name, *value) * random.normal().clamp(-2.0, 2.0))
        .collect();
    Ok((parameters.apply(&truth)?, truth))
}

/// Intervals that hold the truth, of all.
#[derive(Default)]
struct Held {
    held: usize,
    asked: usize,
}

impl Held {
    fn add(&mut self, estimates: &[Estimate], truth: &[f64]) {
        let pairs = estimates.iter().zip(truth);
        self.held += pairs
            .filter(|(one, truth)| motions::holds(one, **truth))
            .count();
        self.asked += truth.len();
    }

    fn judge(&self, what: &str) {
        let Self { held, asked } = self;
        println!("{what}: {held} of {asked} intervals hold the truth");
        assert!(
            held * 20 >= asked * 19,
            "{what}: only {held} of {asked} intervals hold the truth"
        );
    }
}

/// Errors of what was found, with the ends of the intervals, relative to how well the drawings know it.
fn chart(page: Page, title: &str, estimates: &[Estimate], truth: &[f64]) -> Page {
    let of = |number: &dyn Fn(&Estimate) -> f64| -> Vec<[f64; 2]> {
        (estimates.iter().zip(truth).enumerate())
            .map(|(index, (one, truth))| {
                [
                    index as f64,
                    (number(one) - truth) / deviation(&one.name, one.start),
                ]
            })
            .collect()
    };
    page.chart(&Chart {
        title,
        x: ("parameter, in the order of the table", Scale::Linear),
        y: (
            "less the truth, over the drawings' deviation",
            Scale::Linear,
        ),
        series: &[
            Series::dots("found", of(&|one| one.value)),
            Series::line("low end", of(&|one| one.interval[0])),
            Series::line("high end", of(&|one| one.interval[1])),
            Series::line("drawings", of(&|one| one.start)),
        ],
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arm = drawn()?;
    let plan = recorded(&arm, &arm, 0)?;

    // All ten numbers of every link.
    let all = inspected(&arm, &plan, motions::free(&["body.link?.pseudo_inertia"])?)?;
    println!(
        "all inertias: {} of {} combinations can be told",
        all.rank,
        10 * LINKS.len()
    );
    assert_eq!(
        all.rank, TOLD,
        "the joints tell {TOLD} combinations: {all:?}"
    );
    assert!(all.refusal().is_some());

    // Mass, centre and moments of each, one by one: what must be held is said.
    let names = inertial_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let each = inspected(&arm, &plan, motions::free(&names)?)?;
    let refusal = each
        .refusal()
        .ok_or("a set that cannot be told was not refused")?;
    println!(
        "\nmasses, centres and moments: refused, since {}",
        refusal.replace("; ", ";\n  ")
    );
    let silent: Vec<&str> = each
        .silent
        .iter()
        .map(|one| one.parameter.as_str())
        .collect();
    let rest: Vec<&str> = (names.iter().copied())
        .filter(|name| !silent.contains(name) && !each.hold.iter().any(|held| held == name))
        .collect();
    assert_eq!(rest.len(), each.rank);

    let mut page = Page::new("Inertias of an arm with a known truth")
        .text(&format!("All ten numbers of the inertia of three links: the motion of the joints tells {} of 30 combinations, as many as theory says. The set is refused.", all.rank))
        .table(
            &["Mass, centre and moments of the three links, one by one, are refused"],
            &refusal.split("; ").map(|reason| vec![reason.to_owned()]).collect::<Vec<_>>(),
        );
    let (mut reduced, mut with_priors) = (Held::default(), Held::default());
    for seed in 1..=TRUTHS[usize::from(common::is_quick())] {
        // The parameters that were proposed are held at what they are.
        let (truth, values) = built(&arm, &rest, seed)?;
        let recordings = recorded(&truth, &arm, seed)?;
        let settings = asked(motions::free(&rest)?);
        let found = motions::identified(&arm, &recordings, settings)?;
        reduced.add(&found.estimates, &values);
        if seed == 1 {
            page = shown(
                page,
                ("With the proposed parameters held", "held"),
                &found.estimates,
                &values,
            );
        }
        // Nothing is held, but the drawings are priors.
        let (truth, values) = built(&arm, &names, seed + 100)?;
        let recordings = recorded(&truth, &arm, seed + 100)?;
        let mut settings = asked(motions::free(&names)?);
        let drawings = Parameters::select(&arm, &names)?.theta0().to_vec();
        for ((free, name), mean) in settings.free.iter_mut().zip(&names).zip(drawings) {
            free.prior = Some(Prior {
                mean,
                sd: deviation(name, mean),
            });
        }
        let found = motions::identified(&arm, &recordings, settings)?;
        with_priors.add(&found.estimates, &values);
        if seed == 1 {
            page = shown(
                page,
                ("With the drawings as priors", "priors"),
                &found.estimates,
                &values,
            );
        }
    }
    reduced.judge("with the proposed parameters held");
    with_priors.judge("with priors");
    common::save(&page, "known_truth")?;
    Ok(())
}

/// A part of the page, and of what is printed.
fn shown(page: Page, (title, short): (&str, &str), estimates: &[Estimate], truth: &[f64]) -> Page {
    let rows: Vec<Vec<String>> = (estimates.iter().zip(truth))
        .map(|(one, truth)| motions::row(one, *truth))
        .collect();
    println!("\n{title}");
    common::print_table(&motions::HEAD, &rows, 1);
    let page = page.heading(title).table(&motions::HEAD, &rows);
    chart(
        page,
        &format!("Errors and intervals ({short})"),
        estimates,
        truth,
    )
}
