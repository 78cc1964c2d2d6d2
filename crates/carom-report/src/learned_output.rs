//! What was learned, as a page: each term over its inputs with the data's density, errors before and after, and where terms extrapolate.

use carom::model::{LearnedTerm, Model, Signal};
use carom::{Data, Input, dynamics};
use carom_form::Numbers;
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::evaluate::{Report, figure};
use carom_tasks::learn::Learned;
use carom_tasks::recording::Recordings;

/// Frames that are looked at, and points that are drawn of them.
const MAX_FRAMES: usize = 4000;
const MAX_DOTS: usize = 400;
/// Points of a curve, and bars of a density.
const POINTS: usize = 160;
const BARS: usize = 40;
/// A curve goes on this far beyond the data, in parts of their range.
const BEYOND: f64 = 0.25;
/// Most curves of a term: a picture for every input and output of a large network says nothing.
const MOST_CURVES: usize = 24;

/// Errors on some recordings without the terms, and with them.
#[derive(Clone, Copy, Debug)]
pub struct Errors<'a> {
    /// What they are, such as "held-out recordings".
    pub name: &'a str,
    /// Of the model as it was.
    pub before: &'a Report,
    /// Of the model with trained terms.
    pub after: &'a Report,
}

/// One page for any browser. `seen` are the recordings that training saw.
pub fn learned_page(learned: &Learned, seen: &Recordings, errors: &[Errors<'_>]) -> String {
    let model = &learned.model;
    let mut page = Page::new("Learned terms").text(&summary(learned));
    for errors in errors {
        page = error_table(page, errors);
    }
    if !learned.parameters.is_empty() {
        let row = |(name, [before, after]): &(String, [f64; 2])| {
            vec![name.clone(), figure(*before), figure(*after)]
        };
        let rows: Vec<Vec<String>> = learned.parameters.iter().map(row).collect();
        page = page
            .heading("Parameters of the model")
            .table(&["parameter", "before", "after"], &rows);
    }
    let frames = frames(model, seen);
    for index in 0..model.structure.learned.terms.len() {
        let name = &learned.spec.learned_terms[index].name;
        page = term(page, (model, index), name, &frames);
    }
    let row = |one: &carom_tasks::learn::Horizon| {
        vec![
            one.search.clone(),
            one.frames.to_string(),
            one.evaluations.to_string(),
            figure(one.before),
            figure(one.after),
            one.validation.map_or("–".to_owned(), figure),
            one.end.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = learned.horizons.iter().map(row).collect();
    let head = [
        "search",
        "frames",
        "evaluations",
        "loss before",
        "after",
        "held-out",
        "end",
    ];
    page.heading("Training").table(&head, &rows).html()
}

fn summary(learned: &Learned) -> String {
    let validation = learned.validation.map_or(String::new(), |[before, after]| {
        let (before, after) = (figure(before), figure(after));
        format!(" On held-out recordings the loss fell from {before} to {after}.")
    });
    let terms = learned.spec.learned_terms.len();
    let s = if terms == 1 { "" } else { "s" };
    format!(
        "{terms} term{s} with {} weights.{validation}",
        learned.weights
    )
}

fn error_table(page: Page, errors: &Errors<'_>) -> Page {
    let heads: Vec<String> = errors
        .after
        .metrics
        .iter()
        .map(|metric| metric.head())
        .collect();
    let mut head = vec!["trajectory".to_owned()];
    head.extend(
        heads
            .iter()
            .flat_map(|name| [format!("{name} before"), "after".to_owned()]),
    );
    head.push("steps outside training".to_owned());
    let pairs = |before: &[f64], after: &[f64]| -> Vec<String> {
        let pairs = before.iter().zip(after);
        pairs
            .flat_map(|(before, after)| [figure(*before), figure(*after)])
            .collect()
    };
    let mut rows = Vec::new();
    let outside: usize = errors
        .after
        .trajectories
        .iter()
        .map(|one| one.extrapolating)
        .sum();
    let all = pairs(&errors.before.total, &errors.after.total);
    rows.push([vec!["mean".to_owned()], all, vec![outside.to_string()]].concat());
    for (before, after) in errors
        .before
        .trajectories
        .iter()
        .zip(&errors.after.trajectories)
    {
        let own = match before.failure.as_ref().or(after.failure.as_ref()) {
            Some(_) => vec!["–".to_owned(); 2 * heads.len()],
            None => pairs(&before.errors, &after.errors),
        };
        let label = [after.label.clone()].to_vec();
        rows.push([label, own, vec![after.extrapolating.to_string()]].concat());
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    page.heading(&format!("Errors on {}", errors.name))
        .table(&head, &rows)
}

/// Inputs of all places at recorded frames, frame by frame.
fn frames(model: &Model, recordings: &Recordings) -> Vec<Vec<f64>> {
    let nu = model.counts().nu;
    let all: usize = recordings.trajectories.iter().map(|one| one.frames()).sum();
    let every = all.div_ceil(MAX_FRAMES).max(1);
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    let mut frames = Vec::new();
    for (index, trajectory) in recordings.trajectories.iter().enumerate() {
        for frame in (recordings.start..trajectory.frames()).step_by(every) {
            let Ok(state) = recordings.start(model, index, frame) else {
                continue;
            };
            let controls = &trajectory.controls[frame * nu..][..nu];
            input.ctrl.copy_from_slice(controls);
            dynamics::forward(model, &state, &input, &mut data);
            frames.push(data.learned.input.clone());
        }
    }
    frames
}

/// What a term gives for inputs.
fn value(model: &Model, term: &LearnedTerm, x: &[f64]) -> Vec<f64> {
    let numbers = Numbers {
        weights: &model.learned.weight[term.weights.clone()],
        constants: &model.learned.constant[term.constants.clone()],
    };
    let mut y = vec![0.0; term.form.outputs()];
    term.form
        .value(x, numbers, &mut y, &mut vec![0.0; term.form.room()]);
    y
}

fn term(page: Page, (model, index): (&Model, usize), name: &str, frames: &[Vec<f64>]) -> Page {
    let structure = &model.structure.learned;
    let term = &structure.terms[index];
    let page = page.heading(&format!("Term '{name}'"));
    let places = &structure.places[term.places.clone()];
    let (Some(first), false) = (places.first(), frames.is_empty()) else {
        return page.text("It acts on contacts: what it reads is known in simulations only.");
    };
    // What is shared by some places has the data of all of them.
    let inputs: Vec<&[f64]> = (frames.iter())
        .flat_map(|frame| places.iter().map(|place| &frame[place.inputs.clone()]))
        .collect();
    let signals = &structure.signals[first.inputs.clone()];
    let middle: Vec<f64> = (0..signals.len()).map(|k| median(&inputs, k)).collect();
    let mut page = page.text(
        "Each curve is the term over one input, with all others at their medians; it is drawn beyond the data in another colour, \
         where the term extrapolates. Dots are what the term gives at recorded frames. Bars below say how many frames there are.",
    );
    let mut curves = 0;
    for (k, signal) in signals.iter().enumerate() {
        let mut numbers: Vec<f64> = inputs.iter().map(|x| x[k]).collect();
        numbers.sort_by(f64::total_cmp);
        let data = [numbers[0], numbers[numbers.len() - 1]];
        if data[1] <= data[0] || curves >= MOST_CURVES {
            continue;
        }
        let label = label(*signal);
        for output in 0..term.form.outputs() {
            curves += 1;
            let series = curve((model, term), (&middle, &inputs), (k, output), data);
            page = page.chart(&Chart {
                title: &format!("{name}: output {} over {label}", output + 1),
                x: (&label, Scale::Linear),
                y: ("what the term gives", Scale::Linear),
                series: &series,
            });
        }
        let bars = density(&numbers, data);
        page = page.chart(&Chart {
            title: &format!("{name}: density of {label}"),
            x: (&label, Scale::Linear),
            y: ("share of the frames", Scale::Linear),
            series: &[Series::line("frames", bars)],
        });
    }
    if curves >= MOST_CURVES {
        page = page.text("Further inputs are left out.");
    }
    page
}

/// A term over one input: within the data, beyond them, and at recorded frames.
fn curve(
    (model, term): (&Model, &LearnedTerm),
    (middle, inputs): (&[f64], &[&[f64]]),
    (input, output): (usize, usize),
    [low, high]: [f64; 2],
) -> [Series; 3] {
    let reach = BEYOND * (high - low);
    let (begin, end) = (low - reach, high + reach);
    let (mut within, mut beyond) = (Vec::new(), Vec::new());
    for point in 0..=POINTS {
        let x = begin + (end - begin) * point as f64 / POINTS as f64;
        let mut at = middle.to_vec();
        at[input] = x;
        let y = value(model, term, &at)[output];
        let is_within = (low..=high).contains(&x);
        within.push([x, if is_within { y } else { f64::NAN }]);
        beyond.push([x, if is_within { f64::NAN } else { y }]);
    }
    let every = inputs.len().div_ceil(MAX_DOTS).max(1);
    let dots = inputs.iter().step_by(every);
    let dots = dots
        .map(|x| [x[input], value(model, term, x)[output]])
        .collect();
    [
        Series::line("within the data", within),
        Series::line("beyond the data", beyond),
        Series::dots("at recorded frames", dots),
    ]
}

/// The outline of a histogram of numbers in order.
fn density(numbers: &[f64], [low, high]: [f64; 2]) -> Vec<[f64; 2]> {
    let mut counts = [0_usize; BARS];
    for number in numbers {
        let place = (number - low) / (high - low) * BARS as f64;
        counts[(place as usize).min(BARS - 1)] += 1;
    }
    let edge = |bar: usize| low + (high - low) * bar as f64 / BARS as f64;
    let mut outline = vec![[low, 0.0]];
    for (bar, count) in counts.iter().enumerate() {
        let share = *count as f64 / numbers.len() as f64;
        outline.extend([[edge(bar), share], [edge(bar + 1), share]]);
    }
    outline.push([high, 0.0]);
    outline
}

fn median(inputs: &[&[f64]], input: usize) -> f64 {
    let mut numbers: Vec<f64> = inputs.iter().map(|x| x[input]).collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// What an input is called under a picture.
fn label(signal: Signal) -> String {
    const AXES: [&str; 3] = ["x", "y", "z"];
    match signal {
        Signal::Position { of, .. } => match of {
            carom::model::Angle::Plain => "position".to_owned(),
            carom::model::Angle::Sine => "sine of the position".to_owned(),
            carom::model::Angle::Cosine => "cosine of the position".to_owned(),
        },
        Signal::Velocity(_) => "velocity".to_owned(),
        Signal::PassiveForce(_) => "passive force".to_owned(),
        Signal::BiasForce(_) => "bias force".to_owned(),
        Signal::ActuationForce(_) => "force of the actuators".to_owned(),
        Signal::BodyPosition(_, axis) => format!("position along {}", AXES[axis % 3]),
        Signal::BodyRotation(_, entry) => {
            format!("rotation matrix {}{}", AXES[entry / 3 % 3], AXES[entry % 3])
        }
        Signal::Motion(_, part) if part < 3 => format!("angular velocity about {}", AXES[part]),
        Signal::Motion(_, part) => format!("velocity along {}", AXES[part % 3]),
        Signal::Control(_) => "control".to_owned(),
        Signal::Activation(_) => "activation".to_owned(),
        Signal::Length(_) => "length".to_owned(),
        Signal::Rate(_) => "velocity of the actuator".to_owned(),
        Signal::ActuatorForce(_) => "force of the actuator".to_owned(),
        Signal::Contact(_) => "contact".to_owned(),
        Signal::Time => "time".to_owned(),
    }
}
