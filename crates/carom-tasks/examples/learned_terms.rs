//! Experiment: terms learned through the simulation predict held-out recordings better than the best parameters alone.
//!
//! Swimmers in water, whose models know no water: the term is trained on 200 steps, and errors on steps 201 to 900 of other runs must be 20
//! times below those of fitted damping where resistance acts on the links, and five times where a network gives the forces of all joints (with
//! `-- joints`). A real servo (`-- servo_xl330`), whose friction grows with the load, must be predicted to 0.050 rad over whole runs. Blueprints and
//! mappings are those in `datasets/`; they are all that `carom learn terms` needs.
//!
//! `cargo run --release -p carom-tasks --example learned_terms` prints a table and writes `target/experiments/learned_terms/`; names of sets behind
//! `--` leave out the others. With `-- --quick` only resistance of links in one medium is learned. Sets whose recordings are not in the folder
//! `CAROM_SHARED` are left out.

#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::{Path, PathBuf};

use carom::Model;
use carom_plot::Page;
use carom_tasks::evaluate::evaluate;
use carom_tasks::learn::{self, Unwatched, blueprint};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping};
use cpu_time::ProcessTime;

/// Recordings, a blueprint, and what errors must be below.
struct Set {
    name: &'static str,
    model: &'static str,
    train: &'static str,
    test: &'static str,
    mapping: &'static str,
    blueprint: &'static str,
    frames: Option<[usize; 2]>,
    /// Columns of the evaluation with the error of the best parameters alone, and by how much the term's must be below it.
    figures: &'static [(&'static str, f64, f64)],
    is_quick: bool,
}

/// A swimmer in a medium, on steps 201 to 900.
macro_rules! swimmer {
    ($name:literal, $robot:literal, $medium:literal, $form:expr, $figures:expr, $is_quick:literal) => {
        Set {
            name: $name,
            model: concat!("swimmer_media/scenes/", $robot, "_vacuum.xml"),
            train: concat!("swimmer_media/", $robot, "_", $medium, "_train.npz"),
            test: concat!("swimmer_media/", $robot, "_", $medium, "_test.npz"),
            mapping: "swimmer_media.toml",
            blueprint: $form,
            frames: Some([201, 900]),
            figures: $figures,
            is_quick: $is_quick,
        }
    };
}

const LINKS: &str = "swimmer_media_blueprint.toml";
const JOINTS: &str = "swimmer_media_joint_blueprint.toml";

#[rustfmt::skip]
const SETS: [Set; 9] = [
    swimmer!("swimmer2", "swimmer2", "water25", LINKS, &[("mse q", 0.366, 20.0), ("mse v", 0.101, 20.0)], true),
    swimmer!("swimmer2", "swimmer2", "water5", LINKS, &[("mse q", 0.37, 20.0), ("mse v", 0.101, 20.0)], false),
    swimmer!("swimmer2", "swimmer2", "air25", LINKS, &[("mse q", 3.62e-4, 1.0), ("mse v", 1.01e-3, 1.0)], false),
    swimmer!("swimmer6", "swimmer6", "water25", LINKS, &[("mse q", 0.825, 20.0), ("mse v", 0.729, 20.0)], true),
    swimmer!("swimmer6", "swimmer6", "water5", LINKS, &[("mse q", 0.823, 20.0), ("mse v", 0.726, 20.0)], false),
    swimmer!("swimmer6", "swimmer6", "air25", LINKS, &[("mse q", 2.26e-3, 1.0), ("mse v", 2.51e-2, 1.0)], false),
    swimmer!("joints", "swimmer2", "water25", JOINTS, &[("mse q", 0.366, 5.0), ("mse v", 0.101, 5.0)], false),
    swimmer!("joints", "swimmer6", "water25", JOINTS, &[("mse q", 0.825, 5.0), ("mse v", 0.729, 5.0)], false),
    Set {
        name: "servo_xl330",
        model: "servo_xl330/servo.xml",
        train: "servo_xl330/train.npz",
        test: "servo_xl330/val.npz",
        mapping: "servo_xl330.toml",
        blueprint: "servo_xl330_blueprint.toml",
        frames: None,
        figures: &[("angle", 0.192, 3.84)],
        is_quick: false,
    },
];

/// What was measured for one figure.
struct Row {
    cells: Vec<String>,
    after: f64,
    bar: f64,
}

/// The folder with the recordings.
fn shared() -> PathBuf {
    std::env::var_os("CAROM_SHARED").map_or_else(|| common::root().join("../shared"), PathBuf::from)
}

impl Set {
    /// Trains and evaluates; nothing if the recordings are not there.
    fn rows(&self) -> Result<Vec<Row>, Box<dyn Error>> {
        let files =
            [self.model, self.train, self.test].map(|file| shared().join("data").join(file));
        if let Some(absent) = files.iter().find(|file| !file.exists()) {
            println!("skipped: {} (no {})", self.name, absent.display());
            return Ok(Vec::new());
        }
        let [model, train, test] = files;
        let datasets = common::root().join("datasets");
        let mapping = Mapping::read(&datasets.join(self.mapping))?;
        let blueprint = blueprint::read(&datasets.join(self.blueprint))?;
        let loaded = carom::load::file(&model, &[])?;
        let load = |model: &Model| {
            Ok((
                recording::load(model, &mapping, std::slice::from_ref(&train))?,
                None,
            ))
        };
        let begin = ProcessTime::now();
        let learned = learn::train(
            loaded.spec,
            blueprint.terms,
            &load,
            &blueprint.training,
            None,
            (None, &mut Unwatched),
        )?;
        let seconds = begin.elapsed().as_secs_f64();
        let of = |model: &Model| self.errors(model, &mapping, &test);
        let (before, after) = (of(&loaded.model)?, of(&learned.model)?);
        let figures = self.figures.iter().zip(before.into_iter().zip(after));
        let row =
            |(&(what, baseline, factor), (before, after)): (&(&str, f64, f64), (f64, f64))| {
                let bar = baseline / factor;
                let cells = [
                    self.test.to_owned(),
                    what.to_owned(),
                    learned.weights.to_string(),
                    format!("{before:.3e}"),
                    format!("{baseline:.3e}"),
                    format!("{after:.3e}"),
                    format!("{bar:.3e}"),
                    format!("{seconds:.0}"),
                ];
                Row {
                    cells: cells.into(),
                    after,
                    bar,
                }
            };
        Ok(figures.map(row).collect())
    }

    fn errors(
        &self,
        model: &Model,
        mapping: &Mapping,
        test: &Path,
    ) -> Result<Vec<f64>, Box<dyn Error>> {
        let mut recordings = recording::load(model, mapping, &[test.to_path_buf()])?;
        recordings.evaluate.frames = self.frames;
        let report = evaluate(model, &recordings, Stepping::Fixed)?;
        if let Some(failure) = report.failures().next() {
            return Err(format!("{failure:?}").into());
        }
        let errors = self.figures.iter().map(|&(what, ..)| {
            let error = report.total_of(what);
            error.ok_or_else(|| format!("the evaluation has no column '{what}'").into())
        });
        errors.collect()
    }
}

const HEAD: [&str; 8] = [
    "recordings",
    "error",
    "weights",
    "before",
    "parameters alone",
    "after",
    "bar",
    "CPU s",
];

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = (std::env::args().skip(1))
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let mut rows = Vec::new();
    for set in &SETS {
        let is_named = wanted.iter().any(|name| name == set.name);
        let is_left_out = !wanted.is_empty() && !is_named || common::is_quick() && !set.is_quick;
        if !is_left_out {
            rows.extend(set.rows()?);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells.clone()).collect();
    common::print_table(&HEAD, &cells, 2);
    let page = Page::new("Learned terms")
        .text("Errors on held-out recordings: of the model as it is, of the best parameters alone, and with a learned term.")
        .table(&HEAD, &cells);
    common::save(&page, "learned_terms")?;
    for row in &rows {
        let what = row.cells[..2].join(", ");
        assert!(
            row.after <= row.bar,
            "{what}: {} is above {}",
            row.after,
            row.bar
        );
    }
    Ok(())
}
