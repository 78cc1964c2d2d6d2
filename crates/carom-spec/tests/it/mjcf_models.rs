//! Real models, read from the shared folder when it is there.

use std::path::{Path, PathBuf};

use carom_spec::diagnostic::render_all;
use carom_spec::mjcf::{Allow, ReadSettings, codes, read};
use carom_spec::{DiskSource, SourceMap};

/// Folder of the shared models; `None` when it is absent.
fn models_folder() -> Option<PathBuf> {
    let shared = std::env::var_os("CAROM_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let models = shared.join("models");
    models.is_dir().then_some(models)
}

/// The main file of each model: `folder` and `file` of the manifest's entries.
fn model_files(models: &Path) -> Vec<PathBuf> {
    let manifest = std::fs::read_to_string(models.join("manifest.json")).expect("manifest");
    let mut files: Vec<PathBuf> = manifest
        .split('"')
        .filter(|text| {
            Path::new(text)
                .extension()
                .is_some_and(|ending| ending == "xml")
        })
        .flat_map(|text| {
            let folders = std::fs::read_dir(models).expect("models").flatten();
            let candidates = folders.map(|folder| folder.path().join(text));
            candidates.filter(|path| path.is_file()).collect::<Vec<_>>()
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

#[test]
fn shared_models_are_read_without_errors() {
    let Some(models) = models_folder() else {
        eprintln!("skipped: the shared models are not there");
        return;
    };
    let files = model_files(&models);
    assert!(!files.is_empty());
    let mut failures = String::new();
    for path in files {
        let mut sources = SourceMap::new();
        // One model has a signed distance geom; everything else is supported.
        let settings = ReadSettings {
            allow: Allow::Codes(vec![codes::SDF.to_owned()]),
        };
        let (model, diagnostics) = read(&path, &DiskSource::default(), &settings, &mut sources);
        let errors: Vec<_> = diagnostics
            .into_iter()
            .filter(|one| one.is_error())
            .collect();
        if !errors.is_empty() || model.bodies.len() < 2 {
            failures.push_str(&format!(
                "{}\n{}",
                path.display(),
                render_all(&errors, &sources)
            ));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
