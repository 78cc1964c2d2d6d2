//! `cargo xtask compare --against PROGRAM`: what two carom programs print and record, side by side.
//!
//! Simulations must agree to the bit, derivatives to a relative difference, and what is identified with them to a wider one,
//! as searches take rounding further. Fields that the other program prints must be there; more are welcome. Times are not
//! compared, nor the sizes of rounding errors.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Outcome;
use crate::command::{carom_program, command, root, target_folder};

/// Fields that are times or consist of rounding.
const NOT_COMPARED: [&str; 13] = [
    "seconds",
    "steps_per_second",
    "real_time_factor",
    "out",
    "cost_ratio",
    "cosine",
    "difference_error",
    "dual_error",
    "linear_error",
    "difference",
    "doubt",
    "rounded",
    "elapsed",
];

/// How many times the tolerance of derivatives what is identified may differ by.
const IDENTIFIED: f64 = 1e6;

/// Data sets that are evaluated where recordings of them are there: model, mapping and recording.
const SETS: [[&str; 3]; 7] = [
    [
        "contactnets_cube",
        "contactnets_cube",
        "contactnets_cube/val.npz",
    ],
    [
        "contactnets_cube_calibrated",
        "contactnets_cube",
        "contactnets_cube/val.npz",
    ],
    [
        "contactnets_elbow",
        "contactnets_elbow",
        "contactnets_elbow/val.npz",
    ],
    [
        "planar_square_drops",
        "planar_square_drops",
        "planar_square_drops/val.npz",
    ],
    [
        "planar_ellipse_impacts",
        "planar_ellipse_impacts",
        "planar_ellipse_impacts/val.csv",
    ],
    [
        "pendulum_lengths",
        "pendulum_lengths",
        "pendulum_lengths/reference.npz",
    ],
    [
        "schmidt_lipson_single",
        "schmidt_lipson_single",
        "schmidt_lipson_pendulum/single_pendulum_train.csv",
    ],
];

/// A command line, and how close its answers must be.
struct Case {
    name: String,
    arguments: Vec<String>,
    /// Largest relative difference; none for bits.
    tolerance: f64,
    /// A file that it writes, as the last argument.
    writes: Option<&'static str>,
}

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Asked {
    /// The other program
    #[arg(long, value_name = "PROGRAM")]
    against: PathBuf,
    /// This program, if it is built already
    #[arg(long)]
    program: Option<PathBuf>,
    /// Largest relative difference of derivatives; what is identified with them may differ by a million times as much
    #[arg(long, default_value_t = 1e-12)]
    tolerance: f64,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
}

/// Runs all cases by both programs; fails when answers differ.
pub(crate) fn compare(asked: &Asked) -> Outcome {
    let Asked {
        against: other,
        program,
        tolerance,
        only,
    } = asked;
    let ours = carom_program(program.as_deref())?;
    let folder = target_folder().join("compare");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let (mut different, mut count, mut largest) = (0, 0, 0.0_f64);
    for case in cases(*tolerance)
        .iter()
        .filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only)))
    {
        count += 1;
        let [mine, theirs] = [(&*ours, "this"), (other.as_path(), "other")]
            .map(|(program, who)| answer(program, case, &folder.join(who)));
        let (mine, theirs) = (mine?, theirs?);
        let mut differences = Differences::new(case.tolerance);
        if mine.code != theirs.code {
            differences.add(
                "exit code",
                &format!("{:?} instead of {:?}", mine.code, theirs.code),
            );
        }
        differences.values("", &mine.answer, &theirs.answer);
        if mine.file != theirs.file {
            differences.add("the recorded file", "other bytes");
        }
        largest = largest.max(differences.largest);
        if differences.found.is_empty() {
            continue;
        }
        different += 1;
        println!("{} ({} differences)", case.name, differences.found.len());
        for line in differences.found.iter().take(5) {
            println!("    {line}");
        }
    }
    println!(
        "{count} command lines; {different} differ; largest relative difference of numbers {largest:.1e}"
    );
    if different > 0 || count == 0 {
        return Err("the programs do not agree".to_owned());
    }
    Ok(())
}

fn cases(tolerance: f64) -> Vec<Case> {
    let mut cases = Vec::new();
    for model in models() {
        let name = model
            .strip_prefix(root())
            .unwrap_or(&model)
            .display()
            .to_string();
        let path = model.display().to_string();
        let mut add = |what: &str, arguments: &[&str], tolerance: f64, writes| {
            let words = what
                .split(' ')
                .chain([&*path])
                .chain(arguments.iter().copied());
            cases.push(Case {
                name: format!("{what} {name}"),
                arguments: words.map(str::to_owned).collect(),
                tolerance,
                writes,
            });
        };
        add(
            "sim",
            &["--seconds", "1", "--json", "--out"],
            0.0,
            Some("run.npz"),
        );
        let wanted = [
            "--loss",
            "qvel[0]",
            "--wrt",
            "qpos[0],qvel[0],option.gravity",
            "--json",
        ];
        let fixed = ["--integrator", "fixed", "--seconds", "0.1", "--no-check"];
        add("gradient", &[&wanted[..], &fixed].concat(), tolerance, None);
        let flow = ["--seconds", "0.1", "--no-check"];
        add("gradient", &[&wanted[..], &flow].concat(), tolerance, None);
        add(
            "check",
            &["--gradients", "--no-timing", "--json"],
            tolerance,
            None,
        );
    }
    let shared =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    for [model, mapping, recording] in SETS {
        let recording = shared.join("data").join(recording);
        if !recording.is_file() {
            println!("left out: {} is not there", recording.display());
            continue;
        }
        let line = format!(
            "datasets/{model}.xml|{}|--mapping|datasets/{mapping}.toml|--json",
            recording.display()
        );
        cases.push(Case {
            name: format!("evaluate {model}"),
            arguments: ["evaluate"]
                .into_iter()
                .chain(line.split('|'))
                .map(str::to_owned)
                .collect(),
            tolerance: 0.0,
            writes: None,
        });
    }
    for seed in ["7", "8"] {
        let line = ["quickstart", "--no-open", "--json", "--seed", seed, "--out"];
        cases.push(Case {
            name: format!("quickstart, seed {seed}"),
            arguments: line.map(str::to_owned).to_vec(),
            tolerance: IDENTIFIED * tolerance,
            writes: Some("quickstart"),
        });
    }
    let lengths = shared.join("data/pendulum_lengths/reference.npz");
    if lengths.is_file() {
        let free = "body.rod1_*.pos[2] tied-ratio bounds(-12,-0.05)";
        for optimiser in ["lm", "lbfgs", "cmaes"] {
            let line = [
                "identify",
                "datasets/pendulum_lengths.xml",
                &lengths.display().to_string(),
                "--mapping",
                "datasets/pendulum_lengths.toml",
                "--free",
                free,
                "--optimiser",
                optimiser,
                "--evaluations",
                "20",
                "--json",
            ];
            cases.push(Case {
                name: format!("identify pendulum_lengths by {optimiser}"),
                arguments: line.map(str::to_owned).to_vec(),
                tolerance: IDENTIFIED * tolerance,
                writes: None,
            });
        }
    }
    cases
}

/// All models that ship.
fn models() -> Vec<PathBuf> {
    let mut models: Vec<PathBuf> = ["models", "models/features"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(root().join(folder)).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "xml" || end == "urdf")
        })
        .collect();
    models.sort();
    models
}

/// What a program did with a case.
struct Answered {
    code: Option<i32>,
    /// Standard output as JSON; as text if it is none.
    answer: Value,
    file: Option<Vec<u8>>,
}

fn answer(program: &Path, case: &Case, folder: &Path) -> Result<Answered, String> {
    let _ = std::fs::remove_dir_all(folder); // there may be none
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut asked = command(program);
    asked.args(&case.arguments);
    let written = case.writes.map(|name| folder.join(name));
    asked.args(&written);
    let output = asked
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let file = written.filter(|file| file.is_file());
    Ok(Answered {
        code: output.status.code(),
        answer: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        file: file.and_then(|file| std::fs::read(file).ok()),
    })
}

/// What differs, and by how much.
struct Differences {
    tolerance: f64,
    largest: f64,
    found: Vec<String>,
}

impl Differences {
    fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            largest: 0.0,
            found: Vec::new(),
        }
    }

    fn add(&mut self, place: &str, what: &str) {
        self.found.push(format!("{place}: {what}"));
    }

    /// Ours and theirs at a place of the answer.
    fn values(&mut self, place: &str, ours: &Value, theirs: &Value) {
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) => {
                for (name, theirs) in theirs {
                    if NOT_COMPARED.contains(&name.as_str()) {
                        continue;
                    }
                    let place = format!("{place}.{name}");
                    match ours.get(name) {
                        Some(ours) => self.values(&place, ours, theirs),
                        None => self.add(&place, "is missing"),
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
                for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    self.values(&format!("{place}[{index}]"), ours, theirs);
                }
            }
            (Value::Number(a), Value::Number(b)) => {
                let [a, b] = [a, b].map(|number| number.as_f64().unwrap_or(f64::NAN));
                let relative = (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
                let relative = if a == b { 0.0 } else { relative };
                self.largest = self.largest.max(relative);
                if relative > self.tolerance {
                    self.add(
                        place,
                        &format!("{a:e} instead of {b:e}, {relative:.1e} apart"),
                    );
                }
            }
            // Sentences hold rounded numbers, and paths; where numbers may differ, so may those.
            (Value::String(_), Value::String(_)) if self.tolerance > 0.0 => {}
            _ if ours == theirs => {}
            _ => self.add(place, &format!("{ours} instead of {theirs}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Differences;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_their_place() {
        let theirs = json!({ "a": [1.0, 2.0], "seconds": 3.0, "gone": null });
        let ours = json!({ "a": [1.0, 2.0 + 1e-13], "seconds": 9.0, "more": 1 });
        let mut bits = Differences::new(0.0);
        bits.values("", &ours, &theirs);
        assert_eq!(bits.found.len(), 2, "{:?}", bits.found);
        assert!(bits.found[0].starts_with(".a[1]: 2.0000000000001e0 instead of 2e0"));
        assert_eq!(bits.found[1], ".gone: is missing");
        let mut close = Differences::new(1e-12);
        close.values("", &ours["a"], &theirs["a"]);
        assert!(close.found.is_empty() && close.largest > 0.0);
    }
}
