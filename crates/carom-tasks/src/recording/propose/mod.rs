//! `carom map`: a mapping from names and shapes of a recording.
//!
//! Arrays are matched with elements of the model by the words of their names, else by their shapes. What remains ambiguous is tried:
//! of two orders of a quaternion, two units or two axes the one stands in the mapping of which the reader of recordings says less.
//! What cannot be decided so stands in the text as a comment, with the candidates.

mod assign;
mod clock;
mod elements;
mod signals;
mod text;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use carom::{Error, Model};

use super::load::from_tables;
use super::mapping::{Axes, JointMapping, Mapping, RotationFormat, Source};
use super::table::Table;
use crate::npz;
use assign::{Draft, Open};
use elements::Elements;
use signals::Signal;
use words::{Part, printable};

/// A mapping that was proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The text of the mapping file, with comments.
    pub text: String,
    /// Whether recordings can be read by it as it is.
    pub is_complete: bool,
    /// Whether the names of the arrays say all of it, so that no mapping is needed.
    pub is_needless: bool,
    /// What the reader has to decide, in sentences.
    pub undecided: Vec<String>,
    /// Arrays that are not mapped.
    pub unused: Vec<String>,
    /// What looks wrong with the recording read so.
    pub warnings: Vec<String>,
}

/// Proposes a mapping for a file. `model_file` is what the text calls the model.
///
/// # Errors
/// When the file cannot be read.
pub fn propose(model: &Model, model_file: &str, path: &Path) -> Result<Proposal, Error> {
    let is_archive = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    let table = if is_archive {
        of_archive(
            path.display().to_string(),
            npz::read(path).map_err(unreadable)?,
        )
    } else {
        (Table::read(path, None)?, false)
    };
    Ok(propose_for(model, model_file, table))
}

/// Proposes a mapping for arrays in memory.
pub fn propose_for_arrays(
    model: &Model,
    model_file: &str,
    name: &str,
    arrays: impl IntoIterator<Item = (String, npz::Array)>,
) -> Proposal {
    propose_for(model, model_file, of_archive(name.to_owned(), arrays))
}

fn unreadable(cause: Error) -> Error {
    Error::of(carom::ErrorKind::Recording, cause)
}

/// A table of arrays, and whether their first axis counts trajectories: if some have three axes that are no matrices.
fn of_archive(
    name: String,
    arrays: impl IntoIterator<Item = (String, npz::Array)>,
) -> (Table, bool) {
    let arrays: Vec<(String, npz::Array)> = arrays.into_iter().collect();
    let counts_trajectories = |(_, array): &(String, npz::Array)| match array.shape.as_slice() {
        [_, 3, 3] | [_, 4, 4] => false,
        shape => shape.len() >= 3,
    };
    let has_axis = arrays.iter().any(counts_trajectories);
    (Table::from_arrays(name, arrays, has_axis), has_axis)
}

fn propose_for(model: &Model, model_file: &str, (table, has_axis): (Table, bool)) -> Proposal {
    if let Ok(mapping) = Mapping::of_own_arrays(model, &table, &BTreeMap::new())
        && !has_axis
    {
        return own(model, model_file, &table, &mapping);
    }
    let mut draft = Draft::new(model);
    draft.mapping.trajectories.axis = has_axis;
    let is_named = |found: &[String]| draft.elements.is_named(found);
    let signals = signals::signals(&table, &is_named);
    let clock = clock::set(&mut draft.mapping, &table, &signals);
    assign_all(&mut draft, &table, &clock.used, signals);
    if !clock.open.is_empty() {
        draft.open.insert(
            0,
            Open {
                about: clock.open,
                tables: String::new(),
            },
        );
    }
    in_order(&mut draft);
    choose(model, &table, &mut draft, clock.step);
    finish(model, model_file, &table, draft, &clock.note)
}

/// Maps signals: by names, then what is left by shapes.
fn assign_all(draft: &mut Draft<'_>, table: &Table, used: &[String], signals: Vec<Signal>) {
    let rows = clock::most_rows(&signals);
    let mut left = Vec::new();
    for signal in signals {
        let is_used = signal
            .places
            .first()
            .is_some_and(|place| used.contains(place))
            || used.contains(&signal.name);
        let is_time = signal.part == Part::Time && signal.width() == 1 && signal.owner().is_empty();
        // Controls of steps have one row fewer than there are frames.
        let fits = signal.has_clock
            || signal.rows == rows
            || draft.mapping.trajectories.axis
            || signal.rows + 1 == rows;
        if is_used {
            continue;
        }
        if !fits || is_time {
            draft.unused.push(signal.name.clone());
        } else if !draft.by_name(&signal) {
            left.push(signal);
        }
    }
    // Positions first: what follows is understood beside them.
    let mut lists = signals::lists(table, left);
    lists.sort_by_key(|signal| (signal.part, !signal.owner().is_empty()));
    for signal in lists {
        draft.by_shape(&signal);
    }
    let words = table
        .arrays
        .iter()
        .filter(|(name, array)| array.word.is_some() && !used.contains(name));
    draft
        .unused
        .extend(words.map(|(name, _)| format!("'{}' (words)", printable(name))));
}

/// Tables in the order of the model.
fn in_order(draft: &mut Draft<'_>) {
    let place = |elements: &[elements::Element], name: &str| {
        elements.iter().position(|element| element.name == name)
    };
    let Draft {
        elements, mapping, ..
    } = draft;
    mapping
        .joints
        .sort_by_key(|joint| place(&elements.joints, &joint.name));
    mapping
        .actuators
        .sort_by_key(|actuator| place(&elements.controls, &actuator.name));
    mapping
        .sensors
        .sort_by_key(|sensor| place(&elements.sensors, &sensor.name));
}

/// Gaps of more steps than this part trajectories.
const GAP_STEPS: f64 = 5.0;

/// Another way to understand a recording.
type Alternative = Box<dyn Fn(&mut Mapping)>;

/// Takes of two ways to understand something the one of which less is to be said.
fn choose(model: &Model, table: &Table, draft: &mut Draft<'_>, step: Option<f64>) {
    let mut score = trouble(model, &draft.mapping, table);
    if score == 0 {
        return;
    }
    let mut all = alternatives(&draft.mapping);
    all.extend(degrees(&draft.elements, &draft.mapping, table));
    // Gaps in time part trajectories.
    all.extend(step.map(|step| -> Alternative {
        let gap = (GAP_STEPS * step * 1e4).round() / 1e4;
        Box::new(move |mapping| mapping.trajectories.max_gap = Some(gap.max(step)))
    }));
    for alternative in all {
        let mut other = draft.mapping.clone();
        alternative(&mut other);
        let found = trouble(model, &other, table);
        if found < score {
            (draft.mapping, score) = (other, found);
        }
    }
}

/// How much is to be said of a mapping: one for each warning, a thousand where the recording cannot be read.
fn trouble(model: &Model, mapping: &Mapping, table: &Table) -> usize {
    match from_tables(model, mapping, [Ok(table.clone())]) {
        Ok(recordings) => recordings.warnings.len(),
        Err(_) => 1000,
    }
}

fn alternatives(mapping: &Mapping) -> Vec<Alternative> {
    let mut all: Vec<Alternative> = Vec::new();
    for index in 0..mapping.bodies.len() {
        let pose = &mapping.bodies[index];
        let is_named = pose.rotation.as_ref().is_some_and(is_named);
        if pose.rotation.is_some() && pose.rotation_format == RotationFormat::Wxyz && !is_named {
            all.push(Box::new(move |mapping| {
                mapping.bodies[index].rotation_format = RotationFormat::Xyzw;
            }));
        }
        if pose.angular_velocity.is_some() {
            all.push(Box::new(move |mapping| {
                mapping.bodies[index].angular_velocity_axes = Axes::World;
            }));
        }
        if pose.linear_velocity.is_some() && pose.angular_velocity.is_some() {
            all.push(Box::new(move |mapping| {
                let pose = &mut mapping.bodies[index];
                std::mem::swap(&mut pose.linear_velocity, &mut pose.angular_velocity);
            }));
        }
        if pose.unit.is_none() && pose.position.is_some() {
            all.push(Box::new(move |mapping| {
                mapping.bodies[index].unit = Some("mm".to_owned());
            }));
        }
    }
    all.push(Box::new(|mapping| {
        for pose in &mut mapping.bodies {
            pose.missing = true;
        }
        for joint in &mut mapping.joints {
            joint.missing = true;
        }
        for sensor in &mut mapping.sensors {
            sensor.missing = true;
        }
    }));
    all
}

/// Whether columns say their order by their names: qw, qx, qy, qz.
fn is_named(source: &Source) -> bool {
    let columns = source.places();
    columns.len() > 1 && words::component(&words::words(&columns[0])).is_some()
}

/// Hinges in degrees, with velocities in degrees or radians a second: only where a range says that the numbers are no radians. What
/// swings over many turns is left as it is, since pendulums do.
fn degrees(elements: &Elements<'_>, mapping: &Mapping, table: &Table) -> Vec<Alternative> {
    let size = |joint: &JointMapping| -> Option<f64> {
        let block = table.block(joint.position.as_ref()?.places(), 1, "").ok()?;
        let finite = block.values.iter().filter(|value| value.is_finite());
        Some(finite.fold(0.0_f64, |most, value| most.max(value.abs())))
    };
    let is_outside = |joint: &JointMapping| {
        let known = elements
            .joints
            .iter()
            .find(|known| known.name == joint.name);
        known
            .zip(size(joint))
            .is_some_and(|(known, size)| elements.fits_in_degrees(known.id, size))
    };
    if !mapping.joints.iter().any(is_outside) {
        return Vec::new();
    }
    let hinges = elements
        .joints
        .iter()
        .filter(|joint| elements.is_hinge(joint.id));
    let hinges: Vec<String> = hinges.map(|joint| joint.name.clone()).collect();
    let alternative = |has_velocities: bool| -> Alternative {
        let hinges = hinges.clone();
        Box::new(move |mapping| {
            let own =
                |joint: &&mut JointMapping| hinges.contains(&joint.name) && joint.unit.is_none();
            for joint in mapping.joints.iter_mut().filter(own) {
                joint.unit = Some("deg".to_owned());
                if !has_velocities {
                    joint.velocity_factor = Some(180.0 / std::f64::consts::PI);
                }
            }
        })
    };
    vec![alternative(true), alternative(false)]
}

/// The proposal for a recording that needs none.
fn own(model: &Model, model_file: &str, table: &Table, mapping: &Mapping) -> Proposal {
    let read = from_tables(model, mapping, [Ok(table.clone())]);
    let mut text = head(model_file, &table.file);
    text.push_str(
        "# The names of its arrays say what they are: commands read it without a mapping, too.\n",
    );
    text.push_str(&text::tables(mapping, "", &text::Notes::default()));
    Proposal {
        text,
        is_complete: read.is_ok(),
        is_needless: read.is_ok(),
        undecided: read
            .as_ref()
            .err()
            .map(Error::to_string)
            .into_iter()
            .collect(),
        unused: Vec::new(),
        warnings: read.map_or_else(|_| Vec::new(), |recordings| recordings.warnings),
    }
}

fn head(model_file: &str, file: &str) -> String {
    let name = |path: &str| {
        Path::new(path)
            .file_name()
            .map_or(printable(path), |name| printable(&name.to_string_lossy()))
    };
    format!(
        "# What the arrays of {} are in {}: proposed by `carom map` from names and shapes. Check it; then\n#   carom evaluate {} {} --mapping map.toml\n# docs/recordings.md describes every line. Where you know the noise of a table, state it (standard deviation): noise = 0.001\n",
        name(file),
        name(model_file),
        name(model_file),
        name(file),
    )
}

fn finish(
    model: &Model,
    model_file: &str,
    table: &Table,
    draft: Draft<'_>,
    time_note: &str,
) -> Proposal {
    let Draft {
        mapping,
        notes,
        open,
        mut unused,
        ..
    } = draft;
    let mut text = head(model_file, &table.file);
    text.push_str(&text::tables(&mapping, time_note, &notes));
    let mut undecided = Vec::new();
    for Open { about, tables } in &open {
        let _ = writeln!(text, "\n# Undecided: {}", about.trim_end());
        if !tables.is_empty() {
            text.push_str("# If so, take the signs out:\n");
            text.push_str(&text::commented(tables));
        }
        undecided.push(about.lines().next().unwrap_or_default().to_owned());
    }
    unused.sort();
    unused.dedup();
    if !unused.is_empty() {
        let _ = writeln!(
            text,
            "\n# Not mapped, since names and shapes do not say what it is in the model:"
        );
        for signal in &unused {
            let _ = writeln!(text, "#   {signal}");
        }
    }
    let read = from_tables(model, &mapping, [Ok(table.clone())]);
    let is_complete = read.is_ok();
    let warnings = match read {
        Ok(recordings) => recordings.warnings,
        Err(why) => {
            let _ = writeln!(
                text,
                "\n# It cannot be read so: {}",
                printable(&why.to_string())
            );
            undecided.push(why.to_string());
            Vec::new()
        }
    };
    if !warnings.is_empty() {
        text.push_str("\n# Read so, this looks wrong:\n");
        for warning in &warnings {
            let _ = writeln!(text, "#   {}", printable(warning));
        }
    }
    Proposal {
        text,
        is_complete,
        is_needless: false,
        undecided,
        unused,
        warnings,
    }
}
