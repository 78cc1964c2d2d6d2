//! Graph networks where a command takes a model.

use std::path::{Path, PathBuf};

use carom::{Error, ErrorKind, Place};
use carom_learn::{GraphSystem, store};
use carom_tasks::graph;
use carom_tasks::recording::Mapping;

use crate::failure::{Failure, READ, VALUE};
use crate::load::{self, Loaded};

/// A network in its scene.
pub(crate) struct Network {
    /// What steps.
    pub system: GraphSystem<f32>,
    /// The scene.
    pub scene: Loaded,
    /// What is not as in training.
    pub warnings: Vec<String>,
}

/// Whether a file is a graph network: by what it says, or by its name where it says nothing.
pub(crate) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "carom")
        || std::fs::read(path).is_ok_and(|bytes| store::is_network(&bytes))
}

/// Reads a network and puts it in a scene: the one that is asked for, that of the mapping, or that of its training.
pub(crate) fn load(
    path: &Path,
    scene: Option<&Path>,
    mapping: Option<&Mapping>,
    allow: &[String],
) -> Result<Network, Failure> {
    let bytes = std::fs::read(path).map_err(|cause| {
        Failure::sentence(READ, format!("cannot read '{}': {cause}", path.display()))
    })?;
    let (learned, card) = store::read(&bytes).map_err(|cause| {
        let why = format!("'{}'", path.display());
        Error::new(ErrorKind::Read, why)
            .because(cause)
            .at(Place::File(path.to_owned()))
    })?;
    let of_mapping = mapping.and_then(|mapping| {
        let folder = Path::new(&mapping.file).parent()?;
        Some(folder.join(mapping.scene.as_ref()?))
    });
    let named: Option<PathBuf> = scene.map(Path::to_owned).or(of_mapping);
    let scene = match (named, &card.scene) {
        (Some(named), _) => load::load(&named, allow)?,
        (None, Some(text)) => load::of_text(text)?,
        (None, None) => {
            let why = format!(
                "'{}' does not say in which scene it is used",
                path.display()
            );
            return Err(Failure::sentence(VALUE, why)
                .help("name a model file with --scene, or with `scene = \"…\"` in the mapping"));
        }
    };
    let placed = graph::system(learned, &card, &scene.model)?;
    Ok(Network {
        system: placed.system,
        scene,
        warnings: placed.warnings,
    })
}
