//! Real models, read from the shared folder when it is there.

use std::fmt::Write as _;
use std::path::PathBuf;

use carom_spec::diagnostic::render_all;
use carom_spec::mjcf::{ReadSettings, read};
use carom_spec::{Diagnostic, DiskSource, SourceMap};

#[test]
fn shared_models_are_read_without_errors() {
    let models = carom_testing::shared_models();
    if models.is_empty() {
        return; // which was written down
    }
    let files = models.into_iter().map(|(_, path)| path);
    let files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "xml"))
        .collect();
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
