//! What a model lacks: `carom discover` without its words.
//!
//! Recorded motions say which forces a model is missing: between two frames it has to get from one recorded state to the next
//! (`passage.rs`). Measurements are noisy, so frames are taken together in segments whose first state is unknown (`segments.rs`). What
//! is left is a linear regression of forces on functions of everything that they may depend on (`library.rs`), with the derivatives of the
//! simulation as its matrix. A search by cross-validated errors finds which functions are needed (`select.rs`), down to none at all.

mod library;
mod moments;
mod passage;
mod segments;
mod select;
mod targets;
mod words;

use std::sync::atomic::{AtomicBool, Ordering};

use carom::{Error, Model, State};
use rayon::prelude::*;

use crate::error;
use crate::problem::Run;
use crate::recording::Recordings;
use library::Clock;
use passage::Passage;
use segments::{Rows, Segment};
use select::Question;
use targets::{Target, Variable};
pub use words::{Number, Term};

/// Intervals of a segment where velocities are measured, and where only positions are.
const INTERVALS: [usize; 2] = [16, 24];
/// How many times longer segments are where these tell nothing.
const LONGER: [usize; 1] = [3];
/// Fewest of them.
const FEWEST_INTERVALS: [usize; 2] = [1, 3];
/// Blocks of a cross-validation.
const BLOCKS: usize = 20;
/// Fewest segments that tell anything.
const FEWEST_SEGMENTS: usize = 5;
/// Segments that are followed in a row by one thread.
const CHUNK: usize = 4;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where forces may be missing, by name, with `*` for any letters; everywhere if empty.
    pub targets: Vec<String>,
    /// What they may depend on; everything if empty.
    pub inputs: Vec<String>,
    /// Most intervals between frames that are looked at.
    pub most_intervals: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            inputs: Vec::new(),
            most_intervals: 4000,
        }
    }
}

/// What a model lacks.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Missing forces, in the order of the targets; none where nothing is missing.
    pub terms: Vec<Term>,
    /// The targets that were looked at.
    pub targets: Vec<String>,
    /// The inputs that were looked at.
    pub inputs: Vec<String>,
    /// Transitions between frames that were used.
    pub samples: usize,
    /// Root mean square of what the model fails to predict, in standard deviations of the noise, without the terms and with
    /// them, where they were not fitted.
    pub residuals: [f64; 2],
    /// Whether the search was told to stop before its end.
    pub is_stopped: bool,
}

/// Errors beyond so many standard deviations of the noise are no noise. Where recordings have none, its estimate is too small by a
/// factor of up to 2.5.
const MAX_NOISE: f64 = 5.0;

impl Discovery {
    /// Whether no law was found, but the errors of the model are no noise either.
    pub fn is_unexplained(&self) -> bool {
        self.terms.is_empty() && self.residuals[0] > MAX_NOISE
    }

    /// All of it in words.
    pub fn words(&self) -> String {
        if self.is_unexplained() {
            return format!(
                "something is missing, but no force over these inputs explains it: errors are {:.1} times the noise; calibrate \
                 the model first, and check the noise that the mapping states",
                self.residuals[0]
            );
        }
        if self.terms.is_empty() {
            return "nothing is missing".to_owned();
        }
        let sentences: Vec<&str> = self
            .terms
            .iter()
            .map(|term| term.sentence.as_str())
            .collect();
        sentences.join("\n")
    }
}

/// Looks for what a model lacks. `tell` hears how the search goes: steps taken, and the share of the squares that is left.
///
/// # Errors
/// When names fit nothing, or recordings do not measure the state of the model or are too short.
pub fn discover(
    model: &Model,
    recordings: &Recordings,
    settings: &Settings,
    (stop, tell): (Option<&AtomicBool>, &mut dyn FnMut(usize, f64)),
) -> Result<Discovery, Error> {
    let (targets, variables) = targets::all(model);
    let targets = targets::chosen(&targets, |one| &one.name, &settings.targets, "target")?;
    let variables = targets::chosen(&variables, |one| &one.name, &settings.inputs, "input")?;
    if targets.is_empty() {
        return Err(error::settings(
            "the model has no joint that slides or turns and no free body: there is nothing at which a force could be missing",
        ));
    }
    let nv = model.counts().nv;
    let [positions, velocities] = segments::measured_numbers(recordings, nv);
    if positions < nv {
        return Err(error::recording(format!(
            "the recordings measure {positions} of the {nv} coordinates of the model: a missing force could not be told from an unseen motion"
        ))
        .remedy("give every joint or free body a [[joint]] or [[body]] entry with its position in the mapping"));
    }
    let kind = usize::from(velocities < nv);
    let asked = Asked {
        model,
        recordings,
        targets: &targets,
        variables: &variables,
        most: settings.most_intervals,
        stop,
    };
    // Short segments tell much where there is little noise; where they tell nothing, longer ones may.
    let mut found = asked.answer(INTERVALS[kind], FEWEST_INTERVALS[kind], tell)?;
    for factor in LONGER {
        if !found.terms.is_empty() || found.is_stopped {
            break;
        }
        let length = factor * INTERVALS[kind];
        match asked.answer(length, length, tell) {
            Ok(longer) => found = longer,
            // The recordings have no segments of this length.
            Err(_) => break,
        }
    }
    Ok(found)
}

/// A question with its names resolved.
struct Asked<'a> {
    model: &'a Model,
    recordings: &'a Recordings,
    targets: &'a [Target],
    variables: &'a [Variable],
    most: usize,
    stop: Option<&'a AtomicBool>,
}

impl Asked<'_> {
    /// What segments of some length say.
    fn answer(
        &self,
        length: usize,
        fewest: usize,
        tell: &mut dyn FnMut(usize, f64),
    ) -> Result<Discovery, Error> {
        let (model, recordings) = (self.model, self.recordings);
        let (targets, variables) = (self.targets, self.variables);
        let cut = Cut::new(model, recordings, [fewest, length], self.most)?;
        let passages: Vec<Option<Passage>> = (cut.runs.par_iter())
            .map(|run| {
                let points = &cut.points[run.trajectory];
                passage::follow((model, recordings), (targets, variables), points, run)
            })
            .collect();
        let passages: Vec<Passage> = passages.into_iter().flatten().collect();
        let places: Vec<(usize, usize)> = (passages.iter().enumerate())
            .flat_map(|(index, passage)| {
                let count = passage.intervals.len() / cut.intervals;
                (0..count).map(move |k| (index, k * cut.intervals))
            })
            .collect();
        let segments: Vec<Segment> = (places.par_iter())
            .map(|&(index, first)| {
                let place = (first, cut.intervals);
                Segment::new((model, recordings), (index, &passages[index]), place)
            })
            .collect();
        if segments.len() < FEWEST_SEGMENTS {
            return Err(error::recording(format!(
                "{} usable stretches of {} frames: too few to tell what is missing",
                segments.len(),
                cut.intervals + 1
            ))
            .remedy("give longer or more recordings"));
        }
        let noise = segments::noise(recordings, &segments, model.counts().nv);
        let question = question(
            (targets, variables),
            (&passages, &segments),
            (&noise, recordings),
            self.stop,
        );
        let laws = question.search(tell);
        let rows = question.measured.len() as f64;
        let root = |left: &[f64]| (left.iter().sum::<f64>() / rows).sqrt();
        let nothing = question.nothing();
        Ok(Discovery {
            terms: words::terms(&question, &laws),
            targets: targets.iter().map(|target| target.name.clone()).collect(),
            inputs: variables
                .iter()
                .map(|variable| variable.name.clone())
                .collect(),
            samples: segments.iter().map(|segment| segment.intervals).sum(),
            residuals: [root(&nothing.left), root(&laws.left)],
            is_stopped: self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)),
        })
    }
}

/// Which frames are looked at.
struct Cut {
    /// States of all frames.
    points: Vec<Vec<Option<State>>>,
    /// Frames in a row, whole segments each.
    runs: Vec<Run>,
    /// Intervals of a segment.
    intervals: usize,
}

impl Cut {
    fn new(
        model: &Model,
        recordings: &Recordings,
        [fewest, length]: [usize; 2],
        most: usize,
    ) -> Result<Self, Error> {
        let count = recordings.trajectories.len();
        let points: Vec<Vec<Option<State>>> = (0..count)
            .into_par_iter()
            .map(|trajectory| passage::points(model, recordings, trajectory))
            .collect();
        // Runs of frames whose states are known.
        let mut whole = Vec::new();
        for (trajectory, points) in points.iter().enumerate() {
            let mut first = None;
            for frame in 0..=points.len() {
                let is_known = points.get(frame).is_some_and(Option::is_some);
                match (is_known, first) {
                    (true, None) => first = Some(frame),
                    (false, Some(begin)) => {
                        whole.push(Run {
                            trajectory,
                            first: begin,
                            last: frame - 1,
                        });
                        first = None;
                    }
                    _ => {}
                }
            }
        }
        let lengths = || whole.iter().map(|run| run.last - run.first);
        let all: usize = lengths().sum();
        let intervals = (all / (2 * BLOCKS)).clamp(fewest, length);
        let segments: usize = lengths().map(|length| length / intervals).sum();
        if segments == 0 {
            return Err(error::recording(
                "no trajectory has enough frames in a row with known positions and velocities"
                    .to_owned(),
            ));
        }
        let keeps_memory = model.counts().na > 0 || !State::reference(model).history.is_empty();
        let every = (segments * intervals).div_ceil(most.max(1)).max(1);
        let chunk = if keeps_memory && every == 1 {
            usize::MAX / 2 / intervals
        } else {
            CHUNK
        };
        let mut runs = Vec::new();
        let mut number = 0_usize;
        for run in &whole {
            let count = (run.last - run.first) / intervals;
            let mut segment = 0;
            while segment < count {
                let together = if every == 1 {
                    chunk.min(count - segment)
                } else {
                    1
                };
                if every == 1 || number.is_multiple_of(every) {
                    let first = run.first + segment * intervals;
                    runs.push(Run {
                        trajectory: run.trajectory,
                        first,
                        last: first + together * intervals,
                    });
                }
                segment += together;
                number += together;
            }
        }
        Ok(Self {
            points,
            runs,
            intervals,
        })
    }
}

/// Puts the numbers of a search together.
fn question<'a>(
    (targets, variables): (&'a [Target], &'a [Variable]),
    (passages, segments): (&[Passage], &[Segment]),
    (noise, recordings): (&[f64], &Recordings),
    stop: Option<&'a AtomicBool>,
) -> Question<'a> {
    let rows: Vec<Rows> = segments
        .par_iter()
        .map(|segment| segment.rows(noise))
        .collect();
    let mut nodes: Vec<Vec<f64>> = vec![Vec::new(); variables.len()];
    for segment in segments {
        let passage = &passages[segment.passage];
        for (nodes, values) in nodes.iter_mut().zip(&passage.variables) {
            for interval in segment.first..segment.first + segment.intervals {
                nodes.extend(select::at_nodes(values, interval));
            }
        }
    }
    let root = |values: &[f64]| {
        let square: f64 = values.iter().map(|x| x * x).sum();
        (square / values.len().max(1) as f64).sqrt()
    };
    let size = |values: &Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let size = root(values);
        let spread: Vec<f64> = values.iter().map(|x| x - mean).collect();
        if root(&spread) > 1e-9 * size {
            size
        } else {
            0.0
        }
    };
    let forces = |target: usize| {
        let all: Vec<f64> = passages
            .iter()
            .flat_map(|one| one.forces[target].iter().copied())
            .collect();
        root(&all)
    };
    let times = passages.iter().flat_map(|one| one.times.windows(2));
    let gaps: Vec<f64> = times.map(|pair| pair[1] - pair[0]).collect();
    let spans = recordings
        .trajectories
        .iter()
        .filter_map(|one| one.times.last().copied());
    let ends = ends(passages, segments, &rows);
    let firsts = std::iter::once(0).chain(ends.iter().copied());
    Question {
        targets,
        variables,
        // In units of the noise, its square is one for each number.
        floors: firsts
            .zip(&ends)
            .map(|(first, end)| (end - first) as f64)
            .collect(),
        measured: rows
            .iter()
            .flat_map(|rows| rows.measured.iter().copied())
            .collect(),
        ends,
        intervals: segments.iter().map(|segment| segment.intervals).collect(),
        sizes: nodes.iter().map(size).collect(),
        forces: (0..targets.len()).map(forces).collect(),
        clock: Clock {
            span: spans.fold(0.0, f64::max),
            gap: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
        },
        nodes,
        rows,
        stop,
    }
}

/// Where blocks end: whole trajectories where there are many, and otherwise neighbouring segments.
fn ends(passages: &[Passage], segments: &[Segment], rows: &[Rows]) -> Vec<usize> {
    let trajectory = |segment: &Segment| passages[segment.passage].trajectory;
    let mut groups: Vec<usize> = Vec::new();
    let mut all: Vec<usize> = segments.iter().map(trajectory).collect();
    all.dedup();
    let is_many = all.len() >= BLOCKS / 2;
    let mut number = 0_usize;
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 && trajectory(segment) != trajectory(&segments[index - 1]) {
            number += 1;
        }
        let (place, count) = if is_many {
            (number, all.len())
        } else {
            (index, segments.len())
        };
        let blocks = if is_many {
            count.min(2 * BLOCKS)
        } else {
            count.min(BLOCKS)
        };
        groups.push(place * blocks / count);
    }
    let mut ends = Vec::new();
    let mut end = 0;
    for (index, rows) in rows.iter().enumerate() {
        end += rows.measured.len();
        if groups.get(index + 1) != Some(&groups[index]) {
            ends.push(end);
        }
    }
    ends
}
