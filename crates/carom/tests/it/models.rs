//! Models to test with: those the repository ships and, where present, the shared ones.

use std::path::{Path, PathBuf};

use carom::Model;
use carom_spec::mjcf::ReadSettings;
use carom_spec::read::ReadModel;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    carom_testing::root()
}

/// Every model file below `models/`, except the parts that others include.
pub(crate) fn shipped() -> Vec<PathBuf> {
    let models = carom_testing::shipped_models();
    models.into_iter().map(|(_, path)| path).collect()
}

/// The shared models, or none (and a skip) when they are not there.
pub(crate) fn shared() -> Vec<PathBuf> {
    let models = carom_testing::shared_models();
    models.into_iter().map(|(_, path)| path).collect()
}

/// Loads a model that must be valid.
pub(crate) fn load(path: &Path) -> Model {
    compile(
        &path.display().to_string(),
        &carom_spec::read_file(path, &[]),
    )
}

/// A model from MJCF text that must be valid.
pub(crate) fn from_text(text: &str) -> Model {
    let name = "model.xml";
    let files = carom_spec::MemorySource::new().with(name, text);
    let read = carom_spec::read::read(name.as_ref(), &files, &ReadSettings::default());
    compile(name, &read)
}

/// A model from MJCF text, or whether it was refused with a sentence.
pub(crate) fn try_from_text(text: &str) -> Result<Model, bool> {
    let name = "model.xml";
    let files = carom_spec::MemorySource::new().with(name, text);
    let read = carom_spec::read::read(name.as_ref(), &files, &ReadSettings::default());
    let (model, problems) = carom::compile::compile(&read.spec);
    let mut problems = problems.iter();
    model.ok_or(problems.any(|problem| problem.is_error() && !problem.message.is_empty()))
}

fn compile(name: &str, read: &ReadModel) -> Model {
    let errors: Vec<_> = read
        .diagnostics
        .iter()
        .filter(|problem| problem.is_error())
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
    let (model, problems) = carom::compile::compile(&read.spec);
    model.unwrap_or_else(|| panic!("{name}: {problems:?}"))
}
