//! The MJCF reader: model files of MuJoCo to a [`ModelSpec`].
//!
//! ```
//! use carom_spec::mjcf::{ReadSettings, read};
//! use carom_spec::{MemorySource, SourceMap};
//!
//! let text = r#"<mujoco><worldbody><body name="ball"><geom size="0.1"/></body></worldbody></mujoco>"#;
//! let files = MemorySource::new().with("ball.xml", text);
//! let mut sources = SourceMap::new();
//! let (model, diagnostics) =
//!     read("ball.xml".as_ref(), &files, &ReadSettings::default(), &mut sources);
//! assert!(diagnostics.is_empty());
//! assert_eq!(model.bodies[1].name, "ball");
//! ```
//!
//! The file is checked against the grammar first (`schema`), then read section by section in
//! MuJoCo's order, whatever order the file has: settings, defaults, assets, everything that refers
//! to bodies, and the tree of bodies last. All problems are reported in one run; after an error
//! the model holds what could be read.

mod actuator;
mod asset;
mod attach;
pub(crate) mod attribute;
mod body;
mod builtin;
pub(crate) mod check;
pub mod codes;
pub mod collision_map;
mod contact;
pub mod contact_law;
mod custom;
mod defaults;
mod draft;
mod equality;
pub mod extension;
mod geom;
mod history;
pub(crate) mod include;
mod joint;
pub mod joint_law;
mod key;
mod keywords;
pub mod learned_term;
mod load;
mod merge;
mod names;
pub(crate) mod orientation;
mod part;
mod patch;
pub(crate) mod problems;
mod references;
mod schema;
mod sensor;
pub(crate) mod settings;
pub mod simulation;
mod tendon;
mod viewer;
mod write;

use std::path::{Path, PathBuf};

pub use patch::{NotPatched, patched, relocated};
pub use problems::Allow;
pub use schema::{KnownElement, known_elements};
pub use write::{AssetStorage, write, write_with};

use crate::diagnostic::Diagnostic;
use crate::model_spec::ModelSpec;
use crate::source::{FileSource, SourceMap};
use crate::xml::Element;
use asset::AssetFolders;
use attribute::Attributes;
use defaults::Classes;
use draft::Draft;
use include::Tree;
use keywords::ConflictPolicy;
use load::Loader;
use orientation::AngleNotation;
use problems::Problems;

/// How a file is read.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// Unsupported features that are skipped with a warning.
    pub allow: Allow,
}

/// Reads a model file with everything it includes.
///
/// The texts of all files are kept in `sources`, for showing the diagnostics.
pub fn read(
    path: &Path,
    source: &dyn FileSource,
    settings: &ReadSettings,
    sources: &mut SourceMap,
) -> (ModelSpec, Vec<Diagnostic>) {
    let problems = Problems::new(&settings.allow);
    let mut spec = match Tree::load(path, None, source, sources, &problems) {
        Some(tree) => read_loaded(&tree, path, source, &problems, sources),
        None => ModelSpec::default(),
    };
    check::check(&mut spec, &problems);
    (spec, problems.into_list())
}

/// Reads a model whose files are loaded, except those of models that it attaches.
pub(crate) fn read_loaded(
    tree: &Tree,
    path: &Path,
    source: &dyn FileSource,
    problems: &Problems<'_>,
    sources: &mut SourceMap,
) -> ModelSpec {
    let loader = Loader::new(source, problems, std::mem::take(sources));
    let draft = loader.read_tree(tree, path, &[]);
    *sources = loader.into_sources();
    draft.map_or_else(ModelSpec::default, Draft::finish)
}

/// Reads one section of a file.
type ReadSection<'r> = fn(&Reader<'r>, Element<'_>, &mut ModelSpec);

/// Everything that reading functions share.
struct Reader<'r> {
    tree: &'r Tree,
    loader: &'r Loader<'r>,
    problems: &'r Problems<'r>,
    /// Model files that led to this one, itself included.
    chain: &'r [PathBuf],
    notation: AngleNotation,
    auto_limits: bool,
    strip_path: bool,
    conflict: ConflictPolicy,
    folders: AssetFolders,
    classes: Classes,
}

impl<'r> Reader<'r> {
    fn new(tree: &'r Tree, loader: &'r Loader<'r>, chain: &'r [PathBuf]) -> Self {
        Self {
            tree,
            loader,
            problems: loader.problems,
            chain,
            notation: AngleNotation::default(),
            auto_limits: true,
            strip_path: false,
            conflict: ConflictPolicy::default(),
            folders: AssetFolders::default(),
            classes: Classes::default(),
        }
    }

    fn attributes<'t>(&self, element: Element<'t>) -> Attributes<'r, 't> {
        Attributes::new(element, self.problems)
    }

    fn read_all(&mut self, draft: &mut Draft) {
        self.read_settings(&mut draft.spec);
        for section in self.tree.sections("option") {
            let names = section.attributes().map(|option| option.name().to_owned());
            draft.authored.extend(names);
        }
        self.read_defaults();
        let reader: &Self = self;
        let sections: [(&str, ReadSection<'r>); 8] = [
            ("custom", Self::read_custom),
            ("asset", Self::read_assets),
            ("contact", Self::read_contacts),
            ("equality", Self::read_equalities),
            ("tendon", Self::read_tendons),
            ("actuator", Self::read_actuators),
            ("sensor", Self::read_sensors),
            ("keyframe", Self::read_keyframes),
        ];
        for (tag, read_section) in sections {
            for section in reader.tree.sections(tag) {
                read_section(reader, section, &mut draft.spec);
            }
        }
        for section in reader.tree.sections("asset") {
            for element in reader.tree.children(section) {
                if element.tag() == "model" {
                    reader.read_model_asset(element, draft);
                }
            }
        }
        reader.read_worlds(draft);
    }
}
