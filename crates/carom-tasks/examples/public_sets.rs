//! Experiment: models identified from public recordings predict others of the same set better than the published baselines.
//!
//! Five sets: tosses of a cube, once for its poses and once for its velocities too, tosses of two hinged boxes, drops of a square, impacts of an
//! ellipse, swings of a double pendulum. For each, the model, the mapping and the settings in `datasets/` are all that `carom identify` needs; it
//! sees the recordings for training, and errors on those for validation must be below the baseline in every figure, those of the cube by a tenth
//! and a twentieth. Settings of the cube follow on each other: where one search ends, the next one starts.
//!
//! `cargo run --release -p carom-tasks --example public_sets` prints a table and writes `target/experiments/public_sets/`; names of sets behind `--`
//! leave out the others. With `-- --quick` nothing is searched: the calibrated models in `datasets/`, which `carom identify` has written,
//! are checked. Sets whose recordings are not in the folder `CAROM_SHARED` are left out.

#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::PathBuf;

use carom::Model;
use carom::load::Loaded;
use carom_plot::{Chart, Page, Scale, Series};
use carom_spec::mjcf::ReadSettings;
use carom_spec::read::read;
use carom_tasks::evaluate::{Report, evaluate};
use carom_tasks::identify::{Settings, Task, Unwatched, calibrated};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping, Recordings};
use cpu_time::ProcessTime;

/// A set of recordings and what its documentation says of a baseline.
struct Set {
    name: &'static str,
    /// Its folder of recordings, and its mapping.
    data: &'static str,
    model: &'static str,
    /// Settings of searches, each of which starts where the one before has ended; the last one names the calibrated model.
    searches: &'static [&'static str],
    train: &'static str,
    validation: &'static str,
    /// To which part of the baselines errors must fall.
    part: f64,
    figures: &'static [Figure],
}

/// An error and its published value.
struct Figure {
    what: &'static str,
    /// Columns of the evaluation, of which it is the mean.
    columns: &'static [&'static str],
    /// Frames that are predicted, and from every which one; all, from the first one, if none.
    window: Option<[usize; 2]>,
    baseline: f64,
}

/// From the first frame alone.
const ONCE: usize = 100_000;

const SETS: [Set; 8] = [
    Set {
        name: "contactnets_cube_poses",
        data: "contactnets_cube",
        model: "contactnets_cube_fine",
        searches: &["contactnets_cube", "contactnets_cube_poses"],
        part: 0.9,
        train: "train.npz",
        validation: "val.npz",
        figures: &[
            figure("position (%), val", &["position_percent"], None, 18.2),
            figure("rotation (deg), val", &["rotation"], None, 22.6),
        ],
    },
    Set {
        name: "contactnets_cube_poses",
        data: "contactnets_cube",
        model: "contactnets_cube_fine",
        searches: &["contactnets_cube", "contactnets_cube_poses"],
        part: 0.9,
        train: "train.npz",
        validation: "first40.npz",
        figures: &[
            figure("position (%), first40", &["position_percent"], None, 20.0),
            figure("rotation (deg), first40", &["rotation"], None, 19.9),
        ],
    },
    Set {
        name: "contactnets_cube_mae18",
        data: "contactnets_cube",
        model: "contactnets_cube_fine",
        searches: &["contactnets_cube", "contactnets_cube_mae18"],
        part: 0.95,
        train: "train.npz",
        validation: "val.npz",
        figures: &[figure("mae18, val", &["mae18"], None, 0.214)],
    },
    Set {
        name: "contactnets_cube_mae18",
        data: "contactnets_cube",
        model: "contactnets_cube_fine",
        searches: &["contactnets_cube", "contactnets_cube_mae18"],
        part: 0.95,
        train: "train.npz",
        validation: "first40.npz",
        figures: &[figure("mae18, first40", &["mae18"], None, 0.232)],
    },
    Set {
        name: "contactnets_elbow",
        data: "contactnets_elbow",
        model: "contactnets_elbow",
        searches: &["contactnets_elbow"],
        part: 1.0,
        train: "train.npz",
        validation: "val.npz",
        figures: &[
            figure("position (m), 121 frames", &["position"], None, 0.067),
            figure("rotation (deg), 121 frames", &["rotation"], None, 85.6),
            figure("joint (deg), 121 frames", &["angle_degrees"], None, 72.9),
            figure(
                "position (m), 40 frames",
                &["position"],
                Some([39, ONCE]),
                0.0178,
            ),
            figure(
                "rotation (deg), 40 frames",
                &["rotation"],
                Some([39, ONCE]),
                30.1,
            ),
            figure(
                "joint (deg), 40 frames",
                &["angle_degrees"],
                Some([39, ONCE]),
                25.3,
            ),
        ],
    },
    Set {
        name: "planar_square_drops",
        data: "planar_square_drops",
        model: "planar_square_drops",
        searches: &["planar_square_drops"],
        part: 1.0,
        train: "train.npz",
        validation: "val.npz",
        figures: &[
            figure("position (m), 200 frames", &["position"], None, 0.060),
            figure("rotation (deg), 200 frames", &["rotation"], None, 78.9),
            figure(
                "position (m), 50 frames",
                &["position"],
                Some([49, ONCE]),
                0.0148,
            ),
            figure(
                "rotation (deg), 50 frames",
                &["rotation"],
                Some([49, ONCE]),
                35.3,
            ),
        ],
    },
    Set {
        name: "planar_ellipse_impacts",
        data: "planar_ellipse_impacts",
        model: "planar_ellipse_impacts",
        searches: &["planar_ellipse_impacts"],
        part: 1.0,
        train: "train.csv",
        validation: "val.csv",
        figures: &[figure("velocities (m/s)", &["error"], None, 0.276)],
    },
    Set {
        name: "double_pendulum_ibm",
        data: "double_pendulum_ibm",
        model: "double_pendulum_ibm",
        searches: &["double_pendulum_ibm"],
        part: 1.0,
        train: "train.npz",
        validation: "val.npz",
        figures: &[
            figure(
                "angles (rad), 100 frames",
                &["arm1", "arm2"],
                Some([100, 100]),
                0.0113,
            ),
            figure(
                "angles (rad), 200 frames",
                &["arm1", "arm2"],
                Some([200, 200]),
                0.0281,
            ),
        ],
    },
];

const fn figure(
    what: &'static str,
    columns: &'static [&'static str],
    window: Option<[usize; 2]>,
    baseline: f64,
) -> Figure {
    Figure {
        what,
        columns,
        window,
        baseline,
    }
}

/// A set with its model, its recordings and the calibrated model.
struct Known {
    nominal: Model,
    calibrated: Model,
    train: Recordings,
    validation: Recordings,
    /// CPU time of the search (s).
    seconds: Option<f64>,
}

impl Set {
    /// Reads all, and identifies unless the quick form is asked for; none if the recordings are not there.
    fn read(&self) -> Result<Option<Known>, Box<dyn Error>> {
        let folder = shared().join("data").join(self.data);
        let files = [self.train, self.validation].map(|file| folder.join(file));
        if let Some(absent) = files.iter().find(|file| !file.exists()) {
            println!("skipped: {} (no {})", self.name, absent.display());
            return Ok(None);
        }
        let file =
            |name: &str, ending: &str| common::root().join(format!("datasets/{name}{ending}"));
        let mut loaded = carom::load::file(&file(self.model, ".xml"), &[])?;
        let mapping = Mapping::read(&file(self.data, ".toml"))?;
        let [train, validation] =
            files.map(|path| recording::load(&loaded.model, &mapping, &[path]));
        let mut known = Known {
            nominal: loaded.model.clone(),
            calibrated: loaded.model.clone(),
            train: train?,
            validation: validation?,
            seconds: None,
        };
        let last = self.searches.last().copied().unwrap_or(self.name);
        if common::is_quick() {
            known.calibrated = carom::load::file(&file(last, "_calibrated.xml"), &[])?.model;
            return Ok(Some(known));
        }
        let begin = ProcessTime::now();
        for name in self.searches {
            let settings = Settings::read(&file(name, "_identify.toml"))?;
            loaded = self.identified(&loaded, &known.train, settings)?;
        }
        known.seconds = Some(begin.elapsed().as_secs_f64());
        known.calibrated = loaded.model;
        Ok(Some(known))
    }

    /// The model that a search calibrates.
    fn identified(
        &self,
        loaded: &Loaded,
        train: &Recordings,
        settings: Settings,
    ) -> Result<Loaded, Box<dyn Error>> {
        let mut task = Task::new(&loaded.model, train, settings)?;
        if let Some(refusal) = task.inspect()?.refusal() {
            return Err(format!("{}: {refusal}", self.name).into());
        }
        task.warm_up(None)?;
        let solution = task.solve(None, None, &mut Unwatched)?;
        println!("{}: {}", self.name, solution.end);
        let theta = &solution.x[..task.parameters().len()];
        let text = calibrated(&loaded.model, &loaded.spec, None, task.parameters(), theta)?;
        let files = carom_spec::MemorySource::new().with("model.xml", text);
        let read = read("model.xml".as_ref(), &files, &ReadSettings::default());
        Ok(carom::load::compiled(read)?)
    }
}

/// The folder with the recordings.
fn shared() -> PathBuf {
    std::env::var_os("CAROM_SHARED").map_or_else(|| common::root().join("../shared"), PathBuf::from)
}

impl Figure {
    fn report(&self, model: &Model, recordings: &mut Recordings) -> Result<Report, Box<dyn Error>> {
        recordings.evaluate.window = self.window.map(|[frames, _]| frames);
        recordings.evaluate.every = self.window.map(|[_, every]| every);
        let report = evaluate(model, recordings, Stepping::Fixed)?;
        if let Some(failure) = report.failures().next() {
            return Err(format!("{failure:?}").into());
        }
        Ok(report)
    }

    fn error(&self, model: &Model, recordings: &mut Recordings) -> Result<f64, Box<dyn Error>> {
        let report = self.report(model, recordings)?;
        let columns = self.columns.iter();
        let errors: Option<Vec<f64>> = columns.map(|name| report.total_of(name)).collect();
        let errors = errors.ok_or_else(|| format!("no column {:?}", self.columns))?;
        Ok(errors.iter().sum::<f64>() / errors.len() as f64)
    }
}

/// What was measured for one figure.
struct Row {
    set: &'static str,
    what: &'static str,
    baseline: f64,
    /// What the error on validation must be below.
    bar: f64,
    /// Of the model as it was: training, validation.
    nominal: [f64; 2],
    /// Of the calibrated model.
    calibrated: [f64; 2],
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let number = |value: f64| {
            let places = if value < 1.0 { 4 } else { 1 };
            format!("{value:.places$}")
        };
        let change = 100.0 * (self.calibrated[1] / self.baseline - 1.0);
        vec![
            self.set.to_owned(),
            self.what.to_owned(),
            number(self.nominal[0]),
            number(self.calibrated[0]),
            number(self.nominal[1]),
            number(self.calibrated[1]),
            number(self.baseline),
            format!("{change:+.0} %"),
        ]
    }
}

const HEAD: [&str; 8] = [
    "set",
    "error",
    "train before",
    "after",
    "val before",
    "after",
    "baseline",
    "below",
];

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = (std::env::args().skip(1))
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let mut rows = Vec::new();
    let mut page = Page::new("Public recordings").text(
        "Models identified from recordings for training, and their errors on those and on recordings for validation, beside published baselines on the latter.",
    );
    for set in &SETS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == set.name) {
            continue;
        }
        let Some(mut known) = set.read()? else {
            continue;
        };
        let first = rows.len();
        for figure in set.figures {
            rows.push(measure(set, figure, &mut known)?);
        }
        page = page.heading(set.name);
        if let Some(seconds) = known.seconds {
            page = page.text(&format!("The search took {seconds:.0} s of CPU time."));
        }
        page = chart(page, &rows[first..]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    common::print_table(&HEAD, &cells, 2);
    common::save(
        &page.heading("All figures").table(&HEAD, &cells),
        "public_sets",
    )?;
    for row in &rows {
        assert!(
            row.calibrated[1] < row.bar,
            "{}, {}: {} on validation, not below {}, as the baseline {} asks for",
            row.set,
            row.what,
            row.calibrated[1],
            row.bar,
            row.baseline
        );
    }
    Ok(())
}

fn measure(set: &Set, figure: &Figure, known: &mut Known) -> Result<Row, Box<dyn Error>> {
    let mut of = |model: &Model| -> Result<[f64; 2], Box<dyn Error>> {
        Ok([
            figure.error(model, &mut known.train)?,
            figure.error(model, &mut known.validation)?,
        ])
    };
    Ok(Row {
        set: set.name,
        what: figure.what,
        baseline: figure.baseline,
        bar: set.part * figure.baseline,
        nominal: of(&known.nominal)?,
        calibrated: of(&known.calibrated)?,
    })
}

/// Errors in parts of the baseline.
fn chart(page: Page, rows: &[Row]) -> Page {
    let series = |name: &str, error: &dyn Fn(&Row) -> f64| {
        let points = rows.iter().enumerate();
        let points = points.map(|(k, row)| [k as f64 + 1.0, error(row) / row.baseline]);
        Series::dots(name, points.collect())
    };
    let names: Vec<String> = (rows.iter().enumerate())
        .map(|(k, row)| format!("{}: {}", k + 1, row.what))
        .collect();
    let ends = [0.5, rows.len() as f64 + 0.5];
    let level = |height: f64| ends.map(|x| [x, height]).to_vec();
    page.text(&names.join("; ")).chart(&Chart {
        title: "Errors in parts of the baseline",
        x: ("figure", Scale::Linear),
        y: ("error / baseline", Scale::Linear),
        series: &[
            series("before, validation", &|row| row.nominal[1]),
            series("after, training", &|row| row.calibrated[0]),
            series("after, validation", &|row| row.calibrated[1]),
            Series::line("baseline", level(1.0)),
            Series::line("no error", level(0.0)),
        ],
    })
}
