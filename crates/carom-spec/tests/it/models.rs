//! Where models for tests are.

use std::path::{Path, PathBuf};

/// The models of this repository, without the parts that are only included.
pub(crate) fn shipped_models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    main_files(&folder)
}

/// The shared models of other projects; none, and a skip, when the folder is absent.
pub(crate) fn shared_models() -> Vec<PathBuf> {
    let Some(folder) = carom_testing::shared("models") else {
        return Vec::new();
    };
    let mut models: Vec<PathBuf> = entries(&folder)
        .iter()
        .filter(|path| path.is_dir())
        .flat_map(|path| main_files(path))
        .collect();
    models.sort();
    models
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// All model files of a folder and the folders in it.
pub(crate) fn model_files(folder: &Path) -> Vec<PathBuf> {
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries(folder).into_iter().partition(|path| path.is_dir());
    files.retain(|path| {
        path.extension()
            .is_some_and(|ending| ending == "xml" || ending == "urdf")
    });
    files.extend(folders.iter().flat_map(|folder| model_files(folder)));
    files
}

/// The model files that no other file there includes or attaches.
fn main_files(folder: &Path) -> Vec<PathBuf> {
    let files = model_files(folder);
    let texts: Vec<String> = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap_or_default())
        .collect();
    let is_included = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let endings = [format!("\"{name}\""), format!("/{name}\"")];
        texts
            .iter()
            .any(|text| endings.iter().any(|ending| text.contains(ending)))
    };
    files
        .into_iter()
        .filter(|path| !is_included(path))
        .collect()
}
