//! What experiments share: models from text or files, losses, where pages go, and a quick form for tests.
#![allow(dead_code, reason = "every experiment uses a part of it")]
#![allow(
    clippy::print_stdout,
    reason = "the figures are what experiments are for"
)]

pub(crate) mod toss;

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use carom::cotangent::StateBar;
use carom::rollout::Loss;
use carom::{Model, State, compile};
use carom_plot::Page;
use carom_spec::mjcf::ReadSettings;
use carom_spec::output::write_whole;
use carom_spec::read::{self, ReadModel};

/// Whether a shorter form is asked for, with fewer points: `-- --quick`. It makes the same claims.
pub(crate) fn is_quick() -> bool {
    std::env::args().any(|argument| argument == "--quick")
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(Path::parent);
    root.map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A model from the text of its file.
pub(crate) fn model_from_text(text: String) -> Result<Model, Box<dyn Error>> {
    let files = carom_spec::MemorySource::new().with("model.xml", text);
    let settings = ReadSettings::default();
    compiled(&read::read("model.xml".as_ref(), &files, &settings))
}

/// A model of the workspace.
pub(crate) fn model_from_file(path: &str) -> Result<Model, Box<dyn Error>> {
    compiled(&carom_spec::read_file(&root().join(path), &[]))
}

fn compiled(read: &ReadModel) -> Result<Model, Box<dyn Error>> {
    let (model, problems) = compile::compile(&read.spec);
    Ok(model.ok_or_else(|| format!("{problems:?}"))?)
}

/// A number of the last position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPosition {
    /// Which.
    pub(crate) coordinate: usize,
    /// After how many steps or intervals.
    pub(crate) steps: usize,
}

impl Loss for LastPosition {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.steps {
            bar.qpos[self.coordinate] += 1.0;
        }
    }
}

/// The number in the middle; none of none.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A derivative that was not found is as wrong as it gets.
pub(crate) fn worst_if_nan(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Prints a table: the first columns to the left, as many as are words, and numbers to the right.
pub(crate) fn print_table(head: &[&str], rows: &[Vec<String>], words: usize) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.fold(head[column].chars().count(), usize::max)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let print = |cells: &[&str]| {
        let padded = cells.iter().zip(&widths).enumerate();
        let line: Vec<String> = padded
            .map(|(column, (cell, &width))| {
                if column < words {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        println!("{}", line.join("  ").trim_end());
    };
    print(head);
    for row in rows {
        print(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Writes a page, each file whole or not at all, below `target/experiments/`, or below `quick/` there, and says where it is.
pub(crate) fn save(page: &Page, name: &str) -> Result<(), Box<dyn Error>> {
    let form = if is_quick() { "quick" } else { "" };
    let folder = root().join("target/experiments").join(form).join(name);
    fs::create_dir_all(&folder)?;
    for (name, text) in page.files() {
        write_whole(&folder.join(name), |out| out.write_all(text.as_bytes()))?;
    }
    println!("page: {}", folder.join("index.html").display());
    Ok(())
}
