//! Reading a model file of either kind: MJCF or URDF, told apart by the root element.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::mjcf::{self, Allow, ReadSettings};
use crate::model_spec::ModelSpec;
use crate::source::{DiskSource, FileSource, SourceMap};

/// A model file after reading.
#[derive(Debug)]
pub struct ReadModel {
    /// The description; best effort when there are errors.
    pub spec: ModelSpec,
    /// All problems found.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts of all files read, for showing the diagnostics.
    pub sources: SourceMap,
}

/// Reads a model from disk. `allow` lists codes of unsupported features to skip with a warning; `all` means every
/// one.
pub fn read_file(path: &Path, allow: &[String]) -> ReadModel {
    let allow = match allow {
        [] => Allow::Nothing,
        codes if codes.iter().any(|code| code == "all") => Allow::Everything,
        codes => Allow::Codes(codes.to_vec()),
    };
    read(path, &DiskSource::default(), &ReadSettings { allow })
}

/// Reads a model from any source of files.
pub fn read(path: &Path, source: &dyn FileSource, settings: &ReadSettings) -> ReadModel {
    let mut sources = SourceMap::new();
    let (spec, diagnostics) = mjcf::read(path, source, settings, &mut sources);
    ReadModel {
        spec,
        diagnostics,
        sources,
    }
}
