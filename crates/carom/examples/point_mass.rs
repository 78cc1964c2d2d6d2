//! Experiment: a point mass meets a wall, with and without the time at which it does [Paulus 2025, fig. 4].
//!
//! A unit mass starts at q₀ with the velocity −1, without gravity; the loss is |q − 1| after 2 s. Whatever the wall does,
//! a start that is δ farther away delays everything by δ, so that ∂q/∂q₀ = −v at the end. The wall is ideally elastic, or a
//! penalty: a = −v − 50·q for q < 0, as long as it pushes. Fixed steps that see the wall when they begin beyond it get the
//! derivative of the elastic wall wrong at any step size; that of the penalty scatters with coarse steps and converges to a
//! wrong number with fine ones, since the force begins with a jump. Steps that know the time of impact, and motions in
//! continuous time with jumps at the onset of forces, are right.
//!
//! `cargo run --release -p carom --example point_mass` prints a table and writes `target/experiments/point_mass/`;
//! with `-- --quick` for fewer starts.
mod common;

use std::error::Error;

use carom::flow::{Flow, FlowSettings, Tolerances};
use carom::rollout::{Adjoint, Controls, gradient_batch};
use carom::{Model, State};
use carom_plot::{Chart, Page, Scale, Series};

use common::LastPosition;

/// Starts over 0 m to 3 m.
const POINTS: usize = 2000;
/// Every so many of them are followed with fine steps.
const FINE_EVERY: usize = 20;
/// Length (s) and number of coarse and of fine steps.
const COARSE: (f64, usize) = (0.1, 20);
const FINE: (f64, usize) = (1e-4, 20_000);
const TARGET: f64 = 1.0;

/// Of so many starts only one is followed in the quick form.
const QUICK_EVERY: usize = 50;

/// The position after some steps.
fn position_after(steps: usize) -> LastPosition {
    LastPosition {
        coordinate: 0,
        steps,
    }
}

/// Where a start leads to, and the derivative ∂q/∂q₀ that was found.
#[derive(Clone, Copy)]
struct Outcome {
    start: f64,
    position: f64,
    velocity: f64,
    derivative: f64,
}

impl Outcome {
    fn loss(&self) -> f64 {
        (self.position - TARGET).abs()
    }

    fn gradient(&self, derivative: f64) -> f64 {
        derivative * (self.position - TARGET).signum()
    }

    /// The error of the derivative: it should be −v.
    fn error(&self) -> f64 {
        (self.derivative + self.velocity).abs()
    }
}

fn model(step: f64, joint: &str, custom: &str) -> Result<Model, Box<dyn Error>> {
    common::model_from_text(format!(
        r#"<mujoco><option gravity="0 0 0" timestep="{step}"><flag refsafe="disable"/></option>
          <default><geom condim="1" margin="0.3"/></default><worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 0.1"><joint type="slide" axis="0 0 1" {joint}/><geom size="0.1" mass="1"/></body></worldbody>
          {custom}</mujoco>"#
    ))
}

fn elastic(law: &str, step: f64) -> Result<Model, Box<dyn Error>> {
    let custom = format!(r#"<custom><text name="carom/contact" data="{law}"/></custom>"#);
    model(step, "", &custom)
}

/// A limit of the joint at zero, with the impedance as near to one as it gets: its acceleration is that of the reference.
fn penalty(step: f64) -> Result<Model, Box<dyn Error>> {
    let limit = r#"limited="true" range="0 10" solreflimit="-50 -1" solimplimit="0.9999 0.9999 0.001 0.5 2""#;
    let mut model = model(step, limit, "")?;
    model.settings.disable.contact = true;
    Ok(model)
}

fn starts(model: &Model, every: usize) -> Vec<State> {
    let quick = if common::is_quick() { QUICK_EVERY } else { 1 };
    let every = (every * quick).min(POINTS);
    let places = (every / 2..POINTS).step_by(every);
    let place = |index: usize| 3.0 * (index as f64 + 0.5) / POINTS as f64;
    places
        .map(|index| {
            let mut start = State::reference(model);
            (start.qpos[0], start.qvel[0]) = (place(index), -1.0);
            start
        })
        .collect()
}

/// Follows all starts in fixed steps.
fn in_steps(
    model: &Model,
    (_, steps): (f64, usize),
    every: usize,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let starts = starts(model, every);
    let controls = vec![Controls::Zero; starts.len()];
    let mut losses = vec![position_after(steps); starts.len()];
    let found = gradient_batch(
        model,
        &starts,
        &controls,
        steps,
        Adjoint::Stored,
        &mut losses,
    );
    let mut outcomes = Vec::with_capacity(starts.len());
    for (start, found) in starts.iter().zip(found) {
        let (end, gradient) = found?;
        outcomes.push(outcome(start, &end, gradient.start.qpos[0]));
    }
    Ok(outcomes)
}

/// Follows all starts in continuous time, over intervals as long as the steps.
fn in_continuous_time(
    model: &Model,
    (interval, intervals): (f64, usize),
    every: usize,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let settings = FlowSettings {
        tolerances: Tolerances::all(1e-9),
        ..FlowSettings::default()
    };
    let flow = Flow::new(model, settings)?;
    let mut outcomes = Vec::new();
    for start in starts(model, every) {
        let motion = flow.run(&start, &Controls::Zero, interval, intervals);
        let gradient = motion.backward(&flow, &Controls::Zero, &mut position_after(intervals))?;
        outcomes.push(outcome(&start, motion.end(), gradient.start.qpos[0]));
    }
    Ok(outcomes)
}

fn outcome(start: &State, end: &State, derivative: f64) -> Outcome {
    Outcome {
        start: start.qpos[0],
        position: end.qpos[0],
        velocity: end.qvel[0],
        derivative,
    }
}

/// Root of the mean square of the errors of derivatives, where the mass has met the wall and is not about to.
fn error_after_impact(outcomes: &[Outcome]) -> f64 {
    let hits: Vec<_> = (outcomes.iter())
        .filter(|outcome| outcome.start < 1.5)
        .map(|outcome| outcome.error().powi(2))
        .collect();
    (hits.iter().sum::<f64>() / hits.len() as f64).sqrt()
}

fn greatest_error(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(Outcome::error).fold(0.0, f64::max)
}

/// A number for the table.
fn figure(number: f64) -> String {
    if number == 0.0 || number > 0.01 {
        format!("{number:.2}")
    } else {
        format!("{number:.0e}")
    }
}

/// The curves of one kind of wall.
struct Wall {
    name: &'static str,
    /// Coarse steps, fine steps, and what knows the time of impact, coarse and fine.
    outcomes: [Vec<Outcome>; 4],
    names: [&'static str; 4],
}

impl Wall {
    fn rows(&self) -> Vec<Vec<String>> {
        let row = |(name, outcomes): (&&str, &Vec<Outcome>)| {
            vec![
                self.name.to_owned(),
                (*name).to_owned(),
                figure(error_after_impact(outcomes)),
                figure(greatest_error(outcomes)),
            ]
        };
        self.names.iter().zip(&self.outcomes).map(row).collect()
    }

    fn charts(&self, page: Page) -> Page {
        let start = ("q₀ (m)", Scale::Linear);
        let line = |index: usize, number: &dyn Fn(&Outcome) -> f64| {
            let points = self.outcomes[index].iter();
            let points = points.map(|outcome| [outcome.start, number(outcome)]);
            Series::line(self.names[index], points.collect())
        };
        let losses = [0, 1, 2].map(|index| line(index, &Outcome::loss));
        let found = |outcome: &Outcome| outcome.gradient(outcome.derivative);
        let mut gradients = [0, 1, 2].map(|index| line(index, &found)).to_vec();
        let truth = |outcome: &Outcome| outcome.gradient(-outcome.velocity);
        let truth_every = self.outcomes[2].len().div_ceil(40);
        let expected = line(2, &truth).points.into_iter().step_by(truth_every);
        gradients.push(Series::dots("truth", expected.collect()));
        let [loss, gradient] = ["loss", "gradient"].map(|of| format!("{}: {of}", self.name));
        page.heading(self.name)
            .chart(&Chart {
                title: &loss,
                x: start,
                y: ("|q − 1| after 2 s (m)", Scale::Linear),
                series: &losses,
            })
            .chart(&Chart {
                title: &gradient,
                x: start,
                y: ("dL/dq₀", Scale::Linear),
                series: &gradients,
            })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rebound = "law=complementarity; restitution=1; mixing=0; baumgarte=0 1";
    let elastic = Wall {
        name: "Elastic wall",
        outcomes: [
            in_steps(&elastic(rebound, COARSE.0)?, COARSE, 1)?,
            in_steps(&elastic(rebound, FINE.0)?, FINE, FINE_EVERY)?,
            in_steps(&elastic("law=impulse", COARSE.0)?, COARSE, 1)?,
            in_steps(&elastic("law=impulse", FINE.0)?, FINE, FINE_EVERY)?,
        ],
        names: [
            "steps of 0.1 s",
            "steps of 0.1 ms",
            "time of impact, steps of 0.1 s",
            "time of impact, steps of 0.1 ms",
        ],
    };
    let penalty = Wall {
        name: "Penalty",
        outcomes: [
            in_steps(&penalty(COARSE.0)?, COARSE, 1)?,
            in_steps(&penalty(FINE.0)?, FINE, FINE_EVERY)?,
            in_continuous_time(&penalty(COARSE.0)?, COARSE, 1)?,
            in_continuous_time(&penalty(FINE.0)?, FINE, 5 * FINE_EVERY)?,
        ],
        names: [
            "steps of 0.1 s",
            "steps of 0.1 ms",
            "onset jumps, intervals of 0.1 s",
            "onset jumps, intervals of 0.1 ms",
        ],
    };
    let rows = [elastic.rows(), penalty.rows()].concat();
    let head = [
        "wall",
        "method",
        "error of ∂q/∂q₀ after impact",
        "greatest anywhere",
    ];
    common::print_table(&head, &rows, 2);
    let page = Page::new("A point mass and a wall")
        .text("A start that is farther away delays everything, so that the derivative of the last position by the first one is the last velocity taken negative. Fixed steps miss how the time of impact moves: with the elastic wall their derivative has the wrong sign at any step size; with the penalty it scatters at coarse steps, and fine ones converge to a wrong number, since the force of the wall begins with a jump. What knows the time of impact is right at any step size.")
        .table(&head, &rows);
    let page = penalty.charts(elastic.charts(page));
    common::save(&page, "point_mass")?;

    for outcomes in &elastic.outcomes[..2] {
        assert!(
            error_after_impact(outcomes) > 1.9,
            "the sign should be wrong at any step"
        );
    }
    for outcomes in &elastic.outcomes[2..] {
        assert!(greatest_error(outcomes) < 1e-9, "the time of impact is off");
    }
    let [coarse, fine, ..] = &penalty.outcomes;
    assert!(
        error_after_impact(coarse) > 0.5,
        "coarse steps should scatter"
    );
    assert!(
        error_after_impact(fine) > 0.05,
        "fine steps should converge to a wrong number"
    );
    for outcomes in &penalty.outcomes[2..] {
        assert!(greatest_error(outcomes) < 1e-3, "an onset jump is off");
    }
    Ok(())
}
