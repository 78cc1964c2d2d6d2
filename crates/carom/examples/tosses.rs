//! Experiment: gradients of tosses, for six shapes and two kinds of contact [Paulus 2025, fig. 5].
//!
//! A body is thrown at a table, down with u₀ and a little to the side; the loss is where it is after a second. Its
//! derivative by u₀ passes through impacts, slips and turns. Fixed steps see an impact when they begin beyond it: unrolled
//! gradients scatter where the force of a contact begins at zero (d₀ = 0), and converge to wrong numbers where it begins
//! with a jump, as MuJoCo's does by default. Gradients in continuous time are right for both wherever difference quotients
//! of the motion can tell. They cannot near kinks of the loss, and where contacts chatter: there the mesh under the default
//! contact has derivatives without bound, which the table counts.
//!
//! `cargo run --release -p carom --example tosses` prints a table and writes `target/experiments/tosses/`; with `-- --quick`
//! a few of the tosses only.

#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

mod common;

use std::error::Error;
use std::time::Instant;

use carom::Model;
use carom::flow::{Flow, FlowSettings, Status, Tolerances};
use carom::rollout::{Adjoint, Controls, gradient};
use carom_plot::{Chart, Page, Scale, Series};
use cpu_time::ThreadTime;
use rayon::prelude::*;

use common::toss::{self, CONTACTS, DOWN, SHAPES, SIDEWAYS};
use common::{LastPosition, median, worst_if_nan};

/// Speeds over −3 m/s to −1 m/s, and every so many of them that are checked by difference quotients.
const POINTS: usize = 200;
const CHECKED_EVERY: usize = 10;
/// The same in the quick form.
const QUICK: (usize, usize) = (1, 1);
/// Fixed steps (s), and how many of them.
const STEP: f64 = 0.001;
const STEPS: usize = 1000;
/// Of motions with gradients, and of those that differences are taken of.
const TOLERANCE: f64 = 1e-7;
const TOLERANCE_OF_DIFFERENCES: f64 = 1e-10;
/// Of difference quotients (m/s).
const WIDTH: f64 = 2e-5;
/// No derivative of a toss is as large (s): one that is has grown through contacts that chatter.
const UNBOUNDED: f64 = 1e3;
/// No toss of a second needs as many: one that does is reported.
const MOST_STEPS: usize = 30_000;
/// What a toss leads to.
struct Toss {
    speed: f64,
    loss: f64,
    status: Status,
    /// In continuous time; none where the backward pass says why.
    derivative: Result<f64, String>,
    /// Unrolled through fixed steps.
    unrolled: f64,
    /// Whether a difference quotient was asked for, and that quotient where two widths agree on it.
    is_checked: bool,
    difference: Option<f64>,
    /// CPU time of motion and gradient (ms).
    milliseconds: f64,
}

impl Toss {
    /// The derivative for plots: what was not found leaves a gap.
    fn shown(&self) -> f64 {
        *self.derivative.as_ref().unwrap_or(&f64::NAN)
    }

    /// Why there is no gradient of any use.
    fn trouble(&self) -> Option<String> {
        match &self.derivative {
            Err(why) => Some(why.clone()),
            Ok(derivative) if derivative.is_nan() || derivative.abs() > UNBOUNDED => {
                Some(format!("{derivative:.0e} s; motion {}", self.status))
            }
            Ok(_) => None,
        }
    }

    /// How far a derivative is off, as a part of it (or of 1e-3 s where it is smaller), where that is known.
    fn error_of(&self, derivative: f64) -> Option<f64> {
        let expected = self.difference?;
        Some((derivative - expected).abs() / expected.abs().max(1e-3))
    }
}

/// A body, and how it is thrown.
struct Body {
    model: Model,
    flow: Flow,
    fine: Flow,
}

impl Body {
    fn new(shape: &str, contact: &str) -> Result<Self, Box<dyn Error>> {
        let model = toss::model(shape, contact, STEP)?;
        let flow = |tolerance: f64| {
            let settings = FlowSettings {
                tolerances: Tolerances::all(tolerance),
                most_steps: MOST_STEPS,
                ..FlowSettings::default()
            };
            Flow::new(&model, settings)
        };
        let (flow, fine) = (flow(TOLERANCE)?, flow(TOLERANCE_OF_DIFFERENCES)?);
        Ok(Self { model, flow, fine })
    }

    fn toss(&self, speed: f64, is_checked: bool) -> Result<Toss, String> {
        let start = toss::start(&self.model, speed);
        let clock = ThreadTime::now();
        let motion = self.flow.run(&start, &Controls::Zero, 1.0, 1);
        let mut loss = LastPosition {
            coordinate: SIDEWAYS,
            steps: 1,
        };
        let found = motion.backward(&self.flow, &Controls::Zero, &mut loss);
        let milliseconds = 1e3 * clock.elapsed().as_secs_f64();
        loss.steps = STEPS;
        let controls = Controls::Zero;
        let unrolled = gradient(
            &self.model,
            &start,
            &controls,
            STEPS,
            Adjoint::Stored,
            &mut loss,
        );
        let (_, unrolled) = unrolled.map_err(|error| format!("{speed} m/s: {error}"))?;
        Ok(Toss {
            speed,
            loss: motion.end().qpos[SIDEWAYS],
            status: motion.status(),
            derivative: found
                .map(|found| found.start.qvel[DOWN])
                .map_err(|error| error.to_string()),
            unrolled: unrolled.start.qvel[DOWN],
            is_checked,
            difference: is_checked.then(|| self.difference(speed)).flatten(),
            milliseconds,
        })
    }

    /// The difference quotient, where those of two widths agree: nothing happens between their ends.
    fn difference(&self, speed: f64) -> Option<f64> {
        let end = |speed: f64| {
            let start = toss::start(&self.model, speed);
            let motion = self.fine.run(&start, &Controls::Zero, 1.0, 1);
            motion.end().qpos[SIDEWAYS]
        };
        let widths = [WIDTH, -WIDTH, 0.5 * WIDTH, -0.5 * WIDTH];
        let ends: Vec<f64> = (widths.into_par_iter())
            .map(|width| end(speed + width))
            .collect();
        let wide = (ends[0] - ends[1]) / (2.0 * WIDTH);
        let narrow = (ends[2] - ends[3]) / WIDTH;
        let extrapolated = narrow + (narrow - wide) / 3.0;
        let is_known = (wide - narrow).abs() < 1e-3 * narrow.abs() + 1e-6;
        is_known.then_some(extrapolated)
    }

    /// All tosses, over the threads of the machine.
    fn tosses(&self, (points, checked_every): (usize, usize)) -> Result<Vec<Toss>, String> {
        let toss = |index: usize| {
            let speed = -3.0 + 2.0 * (index as f64 + 0.5) / points as f64;
            self.toss(speed, index.is_multiple_of(checked_every))
        };
        (0..points).into_par_iter().map(toss).collect()
    }
}

/// What tosses come to.
struct Summary {
    unfinished: usize,
    held: usize,
    without: usize,
    /// Tosses of which a quotient was asked for, and of which it is known.
    asked: usize,
    checked: usize,
    /// Medians of the errors, and how many are within a per cent.
    error: f64,
    within: usize,
    unrolled: f64,
    /// What a toss took, as a median and at most (ms).
    milliseconds: f64,
    longest: f64,
}

impl Summary {
    fn of(tosses: &[Toss]) -> Self {
        let count = |what: &dyn Fn(&Toss) -> bool| tosses.iter().filter(|toss| what(toss)).count();
        let errors = |derivative: &dyn Fn(&Toss) -> f64| -> Vec<f64> {
            let errors = tosses
                .iter()
                .map(|toss| toss.error_of(derivative(toss)).map(worst_if_nan));
            errors.flatten().collect()
        };
        let times = tosses.iter().map(|toss| toss.milliseconds);
        let errors_here = errors(&Toss::shown);
        Self {
            unfinished: count(&|toss| !toss.status.is_done()),
            held: count(&|toss| matches!(toss.status, Status::Held { .. })),
            without: count(&|toss| toss.trouble().is_some()),
            asked: count(&|toss| toss.is_checked),
            checked: errors_here.len(),
            within: errors_here.iter().filter(|&&error| error < 0.01).count(),
            error: median(errors_here),
            unrolled: median(errors(&|toss| toss.unrolled)),
            milliseconds: median(times.clone().collect()),
            longest: times.fold(0.0, f64::max),
        }
    }

    /// What is claimed of all shapes together under a kind of contact.
    fn check(&self, contact: &str) {
        let Self {
            checked, within, ..
        } = self;
        assert_eq!(self.unfinished, 0, "{contact}: tosses that do not end");
        assert_eq!(self.without, 0, "{contact}: tosses without a gradient");
        assert!(
            self.error < 2e-4 && 20 * within > 19 * checked,
            "{contact}: gradients in continuous time are off by {:.0e}, {within} of {checked} are within 1 %",
            self.error
        );
        assert!(
            self.unrolled > 0.5,
            "{contact}: unrolled gradients are off by {:.0e} only",
            self.unrolled
        );
    }

    fn row(&self, contact: &str, shape: &str) -> Vec<String> {
        vec![
            contact.to_owned(),
            shape.to_owned(),
            format!("{:.0e}", self.error),
            format!("{} of {}", self.within, self.checked),
            (self.asked - self.checked).to_string(),
            format!("{:.0e}", self.unrolled),
            self.held.to_string(),
            self.unfinished.to_string(),
            self.without.to_string(),
            format!("{:.0}", self.milliseconds),
            format!("{:.0}", self.longest),
        ]
    }
}

const HEAD: [&str; 11] = [
    "contact",
    "shape",
    "median error",
    "within 1 %",
    "not known",
    "unrolled, median error",
    "held",
    "unfinished",
    "no gradient",
    "CPU ms",
    "at most",
];

/// Loss and gradient over the speed.
fn charts(page: Page, name: &str, tosses: &[Toss]) -> Page {
    let points = |number: &dyn Fn(&Toss) -> f64| -> Vec<[f64; 2]> {
        let points = tosses.iter().map(|toss| [toss.speed, number(toss)]);
        points.collect()
    };
    let quotients = tosses
        .iter()
        .filter_map(|toss| Some([toss.speed, toss.difference?]));
    let slopes = tosses.windows(2).map(|pair| {
        let width = pair[1].speed - pair[0].speed;
        let middle = 0.5 * (pair[1].speed + pair[0].speed);
        [middle, (pair[1].loss - pair[0].loss) / width]
    });
    let speed = ("u₀ (m/s)", Scale::Linear);
    page.chart(&Chart {
        title: &format!("{name}: loss"),
        x: speed,
        y: ("y after 1 s (m)", Scale::Linear),
        series: &[Series::line("loss", points(&|toss| toss.loss))],
    })
    .chart(&Chart {
        title: &format!("{name}: gradient"),
        x: speed,
        y: ("dL/du₀ (s)", Scale::Linear),
        series: &[
            Series::line("unrolled, steps of 1 ms", points(&|toss| toss.unrolled)).cut_off(),
            Series::line("slope between neighbours", slopes.collect()),
            Series::line("continuous time", points(&Toss::shown)).cut_off(),
            Series::dots("difference quotients", quotients.collect()),
        ],
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let extent = if common::is_quick() {
        QUICK
    } else {
        (POINTS, CHECKED_EVERY)
    };
    let mut page = Page::new("Tosses").text("A body is thrown at a table, and the derivative of where it is after a second is taken by the speed with which it is thrown: in continuous time, and unrolled through fixed steps. Difference quotients are marked where two widths agree on them; a line joins the slopes of the loss between neighbours. Where the loss has kinks, or contacts chatter until they are held on their surface, these do not agree with any derivative.");
    let (mut rows, mut claims) = (Vec::new(), Vec::new());
    for (contact_name, contact) in CONTACTS {
        page = page.heading(&format!("Contact: {contact_name}"));
        let mut of_all_shapes = Vec::new();
        for (shape_name, shape) in SHAPES {
            let clock = Instant::now();
            let tosses = Body::new(shape, contact)?.tosses(extent)?;
            rows.push(Summary::of(&tosses).row(contact_name, shape_name));
            let name = format!("{shape_name}, {contact_name}");
            page = charts(page, &name, &tosses);
            println!("{name}: {:.1} s", clock.elapsed().as_secs_f64());
            for toss in &tosses {
                if let Some(why) = toss.trouble() {
                    println!("  no gradient at {:.3} m/s: {why}", toss.speed);
                }
            }
            of_all_shapes.extend(tosses);
        }
        claims.push((contact_name, Summary::of(&of_all_shapes)));
    }
    println!();
    common::print_table(&HEAD, &rows, 2);
    let page = page.heading("Errors").table(&HEAD, &rows);
    common::save(&page, "tosses")?;
    for (contact, summary) in claims {
        summary.check(contact);
    }
    Ok(())
}
