//! Columns that belong together: vectors and quaternions by their components, lists by their numbers.

use std::collections::BTreeMap;

use super::super::mapping::Source;
use super::super::table::{Array, Table};
use super::words::{self, Part, component, printable, words};

/// Something that was recorded at every frame.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    /// What it is called in comments.
    pub(super) name: String,
    /// Where each of its numbers is.
    pub(super) places: Vec<String>,
    /// Where all of them are.
    pub(super) source: Source,
    /// Words of its name, without numbers of a list and components of a vector.
    pub(super) words: Vec<String>,
    /// What it measures, by its words.
    pub(super) part: Part,
    /// Number of rows.
    pub(super) rows: usize,
    /// Smallest and largest finite number; none where there is none.
    pub(super) range: Option<[f64; 2]>,
    /// Whether it has time stamps of its own.
    pub(super) has_clock: bool,
    /// Whether it comes from a message of ROS 2.
    pub(super) is_message: bool,
}

impl Signal {
    /// Numbers a frame.
    pub(super) fn width(&self) -> usize {
        self.places.len()
    }

    /// Some of its numbers.
    pub(super) fn some(&self, first: usize, count: usize) -> Source {
        if self.width() == count {
            return self.source.clone();
        }
        match &self.source {
            Source::One(array) if !array.contains('[') => {
                Source::One(format!("{array}[{first}:{}]", first + count))
            }
            _ => Source::Several(self.places[first..first + count].to_vec()),
        }
    }

    /// One of its numbers.
    pub(super) fn one(&self, index: usize) -> Source {
        Source::One(self.places[index].clone())
    }

    /// Its words without those that say what is measured, or nothing: what it is measured of.
    pub(super) fn owner(&self) -> Vec<String> {
        let owner = self.words.iter().filter(|word| !words::is_known(word));
        owner.cloned().collect()
    }
}

/// The range of finite numbers.
fn range(arrays: &[&Array]) -> Option<[f64; 2]> {
    let numbers = arrays.iter().flat_map(|array| &array.values);
    let finite = numbers.copied().filter(|number| number.is_finite());
    finite.fold(None, |range: Option<[f64; 2]>, number| {
        let [low, high] = range.unwrap_or([number; 2]);
        Some([low.min(number), high.max(number)])
    })
}

/// A signal of several columns.
fn joined(table: &Table, columns: &[&str], words: Vec<String>) -> Signal {
    let arrays: Vec<&Array> = columns
        .iter()
        .map(|&column| &table.arrays[column])
        .collect();
    Signal {
        name: named(columns),
        places: columns.iter().map(|&column| column.to_owned()).collect(),
        source: source_of(columns),
        part: words::part(&words),
        words,
        rows: arrays[0].rows(),
        range: range(&arrays),
        has_clock: table.clocks.contains_key(columns[0]),
        is_message: table.clocks.contains_key(columns[0]),
    }
}

/// `q[0]`, `q[1]`, `q[2]` are `q[0:3]`.
fn source_of(columns: &[&str]) -> Source {
    if let [column] = columns {
        return Source::One((*column).to_owned());
    }
    let stem = columns[0].strip_suffix("[0]");
    let is_row = |stem: &&str| {
        let expected = |(index, column): (usize, &&str)| **column == format!("{stem}[{index}]");
        columns.iter().enumerate().all(expected)
    };
    match stem.filter(is_row) {
        Some(stem) => Source::One(format!("{stem}[0:{}]", columns.len())),
        None => Source::Several(columns.iter().map(|&column| column.to_owned()).collect()),
    }
}

fn named(columns: &[&str]) -> String {
    match columns {
        [column] => format!("'{}'", printable(column)),
        [first, .., last] => format!("'{}' to '{}'", printable(first), printable(last)),
        [] => String::new(),
    }
}

/// A signal of a whole array.
fn of_array(table: &Table, name: &str, array: &Array) -> Signal {
    let places = if array.width == 1 {
        vec![name.to_owned()]
    } else {
        (0..array.width)
            .map(|index| format!("{name}[{index}]"))
            .collect()
    };
    let words = words(name);
    let has_clock = table.clocks.contains_key(name);
    Signal {
        name: format!("'{}'", printable(name)),
        places,
        source: Source::One(name.to_owned()),
        part: words::part(&words),
        words,
        rows: array.rows(),
        range: range(&[array]),
        has_clock,
        is_message: has_clock,
    }
}

/// Whether a column can be joined with others.
fn is_column(array: &Array) -> bool {
    array.width == 1 && array.word.is_none() && array.rows() > 1
}

/// The words of a vector's name, and what it is where its components say so.
type Vector = (Vec<String>, Option<&'static str>);

/// What was recorded, with vectors and quaternions put together; a column with the name of a joint stands for itself, as x and z
/// do of what moves in a plane.
pub(super) fn signals(table: &Table, is_element: &dyn Fn(&[String]) -> bool) -> Vec<Signal> {
    let is_clock = |name: &String| table.clocks.values().any(|clock| clock == name);
    let mut vectors: BTreeMap<Vector, BTreeMap<char, &str>> = BTreeMap::new();
    for name in table
        .arrays
        .iter()
        .filter(|(_, array)| is_column(array))
        .map(|(name, _)| name)
    {
        let found = words(name);
        if is_element(&found) {
            continue;
        }
        if let Some((family, axis)) = component(&found) {
            let owner = found[..found.len() - 1].to_vec();
            vectors
                .entry((owner, family))
                .or_default()
                .insert(axis, name);
        }
    }
    let mut signals = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for ((mut owner, family), axes) in vectors {
        let columns: Vec<&str> = ['w', 'x', 'y', 'z']
            .iter()
            .filter_map(|axis| axes.get(axis).copied())
            .collect();
        let is_quaternion = columns.len() == 4;
        let has_all = ['x', 'y', 'z'].iter().all(|axis| axes.contains_key(axis));
        if !has_all {
            continue;
        }
        match (is_quaternion, family) {
            (true, _) => owner.push("quaternion".to_owned()),
            (false, Some(family)) => owner.push(family.to_owned()),
            (false, None) if words::part(&owner) == Part::Unknown => {
                owner.push("position".to_owned());
            }
            _ => {}
        }
        taken.extend(&columns);
        signals.push(joined(table, &columns, owner));
    }
    for (name, array) in &table.arrays {
        if !taken.contains(&name.as_str())
            && array.word.is_none()
            && array.rows() > 1
            && !is_clock(name)
        {
            signals.push(of_array(table, name, array));
        }
    }
    signals
}

/// Columns whose names differ by a number alone, as lists: `q1` to `q7`.
pub(super) fn lists(table: &Table, singles: Vec<Signal>) -> Vec<Signal> {
    let mut lists: BTreeMap<Vec<String>, Vec<(usize, Signal)>> = BTreeMap::new();
    let mut others = Vec::new();
    for signal in singles {
        let number = signal
            .words
            .iter()
            .rposition(|word| word.parse::<usize>().is_ok());
        match number.filter(|_| signal.width() == 1) {
            Some(place) => {
                let mut owner = signal.words.clone();
                let index = owner.remove(place).parse().unwrap_or(0);
                lists.entry(owner).or_default().push((index, signal));
            }
            None => others.push(signal),
        }
    }
    for (owner, mut list) in lists {
        list.sort_by_key(|(index, _)| *index);
        let is_row = list.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
        if list.len() < 2 || !is_row {
            others.extend(list.into_iter().map(|(_, signal)| signal));
            continue;
        }
        let columns: Vec<&str> = list
            .iter()
            .map(|(_, signal)| signal.places[0].as_str())
            .collect();
        others.push(joined(table, &columns, owner));
    }
    others
}
