//! Models to test with: those the repository ships and, where present, the shared ones.

use std::path::{Path, PathBuf};

use serde_json::Value;

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

/// The shared models, or none (and a word about it) when they are not there.
pub(crate) fn shared() -> Vec<PathBuf> {
    let folder =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let folder = folder.join("models");
    let Ok(text) = std::fs::read_to_string(folder.join("manifest.json")) else {
        println!("skipped: no shared models at {}", folder.display());
        return Vec::new();
    };
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let list = manifest.get("models").unwrap_or(&manifest);
    let list = list.as_array().unwrap();
    let path = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        folder.join(text("name")).join(text("file"))
    };
    list.iter().map(path).collect()
}
