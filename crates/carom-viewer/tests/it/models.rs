//! Models to test with: those the repository ships and, where present, the shared ones.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every model file that ships, except the parts that others include.
pub(crate) fn shipped() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["models", "models/features"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let end = path.extension().and_then(|end| end.to_str());
            if matches!(end, Some("xml" | "urdf")) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 15, "the shipped models are missing");
    found
}

/// The shared models, or none (and a skip) when they are not there.
pub(crate) fn shared() -> Vec<PathBuf> {
    let models = carom_testing::shared_models();
    models.into_iter().map(|(_, path)| path).collect()
}
