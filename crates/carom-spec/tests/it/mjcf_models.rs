//! Real models, read from the shared folder when it is there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use carom_spec::diagnostic::render_all;
use carom_spec::mjcf::{ReadSettings, read};
use carom_spec::{Diagnostic, DiskSource, SourceMap};

/// Folder of the shared models; `None` when it is absent.
fn models_folder() -> Option<PathBuf> {
    let shared = std::env::var_os("CAROM_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let models = shared.join("models");
    models.is_dir().then_some(models)
}

/// The main file of each model: the manifest gives `"name": "folder"` and `"file": "file"`.
fn model_files(models: &Path) -> Vec<PathBuf> {
    let manifest = std::fs::read_to_string(models.join("manifest.json")).expect("manifest");
    let words: Vec<&str> = manifest.split('"').collect();
    let value_after = |key: &str, from: usize| {
        let found = words[from..].iter().position(|word| *word == key)?;
        Some((from + found, *words.get(from + found + 2)?))
    };
    let mut files = Vec::new();
    let mut at = 0;
    while let Some((place, folder)) = value_after("name", at) {
        let Some((next, file)) = value_after("file", place) else {
            break;
        };
        files.push(models.join(folder).join(file));
        at = next + 1;
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "xml"));
    files
}

#[test]
fn shared_models_are_read_without_errors() {
    let Some(models) = models_folder() else {
        eprintln!("skipped: the shared models are not there");
        return;
    };
    let files = model_files(&models);
    assert!(
        files.len() > 50,
        "only {} models in the manifest",
        files.len()
    );
    let mut failures = String::new();
    for path in files {
        let mut sources = SourceMap::new();
        let settings = ReadSettings::default();
        let (model, diagnostics) = read(&path, &DiskSource::default(), &settings, &mut sources);
        let errors: Vec<_> = diagnostics
            .into_iter()
            .filter(Diagnostic::is_error)
            .collect();
        if !errors.is_empty() || model.bodies.len() < 2 {
            let rendered = render_all(&errors, &sources);
            let _ = writeln!(failures, "{}\n{rendered}", path.display());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
