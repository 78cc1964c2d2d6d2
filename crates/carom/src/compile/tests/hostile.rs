//! Damaged models: the compiler refuses or accepts them, but never panics, hangs or lets numbers that are not finite
//! through.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use carom_spec::mjcf::{self, ReadSettings};
use carom_spec::source::ReadError;
use carom_spec::{DiskSource, FileSource, ModelSpec, SourceMap};

use crate::compile::compile;
use crate::model::Model;
use crate::testing::Random;

/// Numbers that break careless arithmetic.
const HOSTILE: [&str; 16] = [
    "0", "-1", "1e308", "-1e308", "1e-308", "1e-320", "nan", "inf", "-inf", "1e20", "1e-20", "-0",
    "1", "3", "1e5", "1e-5",
];

fn shipped_models() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut models = Vec::new();
    for folder in [root.clone(), root.join("features")] {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        models.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "xml")));
    }
    if let Some(more) = std::env::var_os("CAROM_FUZZ_MODELS") {
        let entries = std::fs::read_dir(more).unwrap();
        models.extend(
            entries
                .map(|entry| entry.unwrap().path().join("model.xml"))
                .filter(|p| p.exists()),
        );
    }
    models.sort();
    models
}

/// Where the numbers of a text are.
fn number_places(text: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut start = None;
    for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_part = character.is_ascii_digit() || matches!(character, '.' | '-' | '+');
        match (is_part, start) {
            (true, None) => start = Some(offset),
            (false, Some(first)) => {
                places.push((first, offset));
                start = None;
            }
            _ => {}
        }
    }
    places
}

fn damage(text: &str, random: &mut Random) -> String {
    let mut damaged = text.to_owned();
    for _ in 0..=random.below(3) {
        let places = number_places(&damaged);
        let (start, end) = places[random.below(places.len())];
        let value = HOSTILE[random.below(HOSTILE.len())];
        damaged.replace_range(start..end, value);
    }
    damaged
}

fn check_finite(model: &Model) {
    model.for_each(|quantity, element, component, number| {
        let may_be_infinite = quantity.row().may_be_infinite && !number.is_nan();
        assert!(
            number.is_finite() || may_be_infinite,
            "{quantity}[{element}][{component}] is {number}"
        );
    });
}

fn compile_checked(spec: &ModelSpec) {
    let (model, diagnostics) = compile(spec);
    match model {
        Some(model) => check_finite(&model),
        None => assert!(diagnostics.iter().any(carom_spec::Diagnostic::is_error)),
    }
}

/// The files beside a model, with the model itself replaced.
struct Damaged<'a> {
    model: &'a Path,
    text: &'a str,
}

impl FileSource for Damaged<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        if path == self.model {
            return Ok(self.text.into());
        }
        DiskSource::default().read(path)
    }
}

#[test]
fn damaged_numbers_never_panic() {
    let rounds = std::env::var("CAROM_FUZZ_ROUNDS");
    let rounds: usize = rounds.ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut random = Random::new(11);
    let mut failures = Vec::new();
    for path in shipped_models() {
        let text = std::fs::read_to_string(&path).unwrap();
        for _ in 0..rounds {
            let damaged = damage(&text, &mut random);
            let source = Damaged {
                model: &path,
                text: &damaged,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let mut sources = SourceMap::new();
                let settings = ReadSettings::default();
                let (spec, _) = mjcf::read(&path, &source, &settings, &mut sources);
                compile_checked(&spec);
            }));
            if outcome.is_err() {
                failures.push(format!("{}:\n{damaged}", path.display()));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} panicked, first {}",
        failures.len(),
        failures[0]
    );
}
