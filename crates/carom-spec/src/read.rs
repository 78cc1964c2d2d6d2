//! Reading a model file of either kind: MJCF or URDF, told apart by the root element.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::mjcf::check::check;
use crate::mjcf::include::Tree;
use crate::mjcf::problems::Problems;
use crate::mjcf::{self, Allow, ReadSettings};
use crate::model_spec::ModelSpec;
use crate::source::{DiskSource, FileSource, Noted, SourceMap};
use crate::urdf;

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
///
/// ```
/// use carom_spec::{MemorySource, mjcf::ReadSettings, read::read};
///
/// let text = r#"<robot name="one"><link name="base"/></robot>"#;
/// let files = MemorySource::new().with("one.urdf", text);
/// let model = read("one.urdf".as_ref(), &files, &ReadSettings::default());
/// assert!(model.diagnostics.is_empty());
/// assert_eq!(model.spec.bodies[1].name, "base");
/// ```
pub fn read(path: &Path, source: &dyn FileSource, settings: &ReadSettings) -> ReadModel {
    let mut sources = SourceMap::new();
    let noted = Noted::new(source);
    let source: &dyn FileSource = &noted;
    let problems = Problems::new(&settings.allow);
    let mut spec = match Tree::load(path, None, source, &mut sources, &problems) {
        Some(tree) if tree.root().tag().eq_ignore_ascii_case("robot") => {
            urdf::read(&tree, source, &problems)
        }
        Some(tree) => mjcf::read_loaded(&tree, path, source, &problems, &mut sources),
        None => ModelSpec::default(),
    };
    check(&mut spec, &problems);
    let diagnostics = problems.into_list();
    sources.read = noted.into_paths();
    ReadModel {
        spec,
        diagnostics,
        sources,
    }
}
