//! Reference files: where they are and what they hold.

use std::path::{Path, PathBuf};

use carom::Model;
use carom::math::{Quat, Vec3};
use carom::{Input, State};
use carom_spec::{Diagnostic, DiskSource, FileSource};

use super::contacts::to_index;
use super::trajectory;
use crate::failure::{CONTENT, Failure, READ};
use crate::npz::{self, Array, Npz};

/// How closely contacts of a model can be expected to agree.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// No contact, or closed-form colliders only.
    Exact,
    /// Smooth convex shapes found by an iterative method.
    Ccd,
    /// Mesh or height-field contacts.
    Loose,
}

impl Class {
    /// As manifests write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ccd => "ccd",
            Self::Loose => "loose",
        }
    }
}

/// One model with its reference results.
pub(crate) struct Reference {
    /// Model file.
    pub model_path: PathBuf,
    /// Expected agreement.
    pub class: Class,
    arrays: Npz,
}

impl Reference {
    /// Reads `folder/ref.npz`.
    pub(crate) fn read(folder: &Path, entry: &Entry) -> Result<Self, String> {
        let arrays = npz::read(&folder.join("ref.npz")).map_err(|cause| cause.to_string())?;
        let file = match &entry.file {
            Some(file) => file.clone(),
            None => arrays
                .get("meta/file")
                .and_then(|array| array.as_strings().first().cloned())
                .ok_or_else(|| {
                    format!(
                        "{}/ref.npz does not say which model file it is for (meta/file)",
                        folder.display()
                    )
                })?,
        };
        let class = entry.class.unwrap_or_else(|| infer_class(&arrays));
        Ok(Self {
            model_path: folder.join(file),
            class,
            arrays,
        })
    }

    /// The numbers of an entry; none when it is absent.
    pub(crate) fn get(&self, key: &str) -> Option<&[f64]> {
        self.arrays.get(key).map(Array::as_numbers)
    }

    /// The numbers of an entry, empty when it is absent.
    pub(crate) fn numbers(&self, key: &str) -> &[f64] {
        self.get(key).unwrap_or(&[])
    }

    /// Row `row` of a two-dimensional entry.
    pub(crate) fn row(&self, key: &str, row: usize) -> &[f64] {
        let Some(array) = self.arrays.get(key) else {
            return &[];
        };
        let width: usize = array.shape.get(1..).unwrap_or_default().iter().product();
        array
            .as_numbers()
            .get(row * width..(row + 1) * width)
            .unwrap_or(&[])
    }

    /// How many snapshots there are.
    pub(crate) fn snapshots(&self) -> usize {
        self.numbers("meta/snapshot_steps").len()
    }

    /// State and input of a snapshot.
    pub(crate) fn snapshot_state(
        &self,
        model: &Model,
        snapshot: usize,
    ) -> Result<(State, Input), String> {
        let mut state = State::reference(model);
        let mut input = Input::zeros(model);
        let get = |name: &str| self.numbers(&format!("s{snapshot}/in/{name}"));
        state.time = get("time").first().copied().unwrap_or(0.0);
        copy("qpos", &mut state.qpos, get("qpos"))?;
        copy("qvel", &mut state.qvel, get("qvel"))?;
        copy("act", &mut state.act, get("act"))?;
        copy("ctrl", &mut input.ctrl, get("ctrl"))?;
        copy(
            "qacc_warmstart",
            &mut state.warmstart,
            get("qacc_warmstart"),
        )?;
        set_mocap(&mut state, get("mocap_pos"), get("mocap_quat"));
        if !state.history.is_empty() {
            let steps = self.numbers("meta/snapshot_steps").get(snapshot);
            let step = to_index(steps.copied().unwrap_or(0.0));
            state.history = trajectory::histories_before(model, self, step)?;
        }
        Ok((state, input))
    }
}

fn copy(name: &str, target: &mut [f64], source: &[f64]) -> Result<(), String> {
    if target.len() != source.len() {
        return Err(format!(
            "{name} has {} numbers, the reference has {}",
            target.len(),
            source.len()
        ));
    }
    target.copy_from_slice(source);
    Ok(())
}

fn set_mocap(state: &mut State, positions: &[f64], quats: &[f64]) {
    for (target, source) in state
        .mocap_position
        .iter_mut()
        .zip(positions.as_chunks::<3>().0)
    {
        *target = Vec3(*source);
    }
    for (target, source) in state.mocap_quat.iter_mut().zip(quats.as_chunks::<4>().0) {
        *target = Quat(*source);
    }
}

/// Contact pairs of meshes (7) and height fields (1) are loose; other iterative pairs are `ccd`.
fn infer_class(arrays: &Npz) -> Class {
    let pairs = arrays
        .get("meta/convex_pairs")
        .map_or(&[][..], Array::as_numbers);
    if pairs.iter().any(|&kind| kind == 1.0 || kind == 7.0) {
        Class::Loose
    } else if pairs.is_empty() {
        Class::Exact
    } else {
        Class::Ccd
    }
}

/// One line of a manifest, or a folder found without one.
pub(crate) struct Entry {
    /// Folder name.
    pub name: String,
    file: Option<String>,
    class: Option<Class>,
    /// Whether the model is compared as far as it is smooth, and why no further.
    pub smooth_because: Option<String>,
}

/// The models of a folder: those of `manifest.json` if there is one, otherwise every subfolder with a `ref.npz`, or
/// the folder itself.
pub(crate) fn discover(folder: &Path) -> Result<Vec<(PathBuf, Entry)>, Failure> {
    let manifest = folder.join("manifest.json");
    if manifest.is_file() {
        return read_manifest(folder, &manifest);
    }
    let name_of = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    if folder.join("ref.npz").is_file() {
        let entry = Entry {
            name: name_of(folder),
            file: None,
            class: None,
            smooth_because: None,
        };
        return Ok(vec![(folder.to_owned(), entry)]);
    }
    let listing = std::fs::read_dir(folder).map_err(|cause| {
        let message = format!("cannot list the folder '{}': {cause}", folder.display());
        Failure::sentence(READ, message)
    })?;
    let mut found: Vec<PathBuf> = listing
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("ref.npz").is_file())
        .collect();
    found.sort();
    if found.is_empty() {
        let message = format!(
            "'{}' holds no reference files: expected manifest.json, ref.npz or folders with a ref.npz",
            folder.display()
        );
        return Err(Failure::sentence(CONTENT, message).help(
            "make them from your models with `cargo xtask reference`, as docs/parity.md says",
        ));
    }
    Ok(found
        .into_iter()
        .map(|path| {
            let entry = Entry {
                name: name_of(&path),
                file: None,
                class: None,
                smooth_because: None,
            };
            (path, entry)
        })
        .collect())
}

/// Largest manifest (bytes).
const MAX_MANIFEST: u64 = 16 << 20;

fn read_manifest(folder: &Path, manifest: &Path) -> Result<Vec<(PathBuf, Entry)>, Failure> {
    let place = manifest.display();
    let bytes = DiskSource::with_size_limit(MAX_MANIFEST).read(manifest)?;
    let text = String::from_utf8_lossy(&bytes);
    let refuse = |message: String| Failure::sentence(CONTENT, format!("'{place}': {message}"));
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|cause| {
        let lines = text
            .split_inclusive('\n')
            .take(cause.line().saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        let at = start + cause.column().saturating_sub(1);
        let message = format!("the manifest is not JSON: {cause}");
        Failure::in_text(
            manifest,
            &text,
            at..at + 1,
            Diagnostic::error(CONTENT, message),
        )
    })?;
    let list = json
        .as_array()
        .ok_or_else(|| refuse("not a list of models".to_owned()))?;
    let text_of = |entry: &serde_json::Value, key: &str| {
        entry
            .get(key)
            .and_then(|value| value.as_str())
            .map(str::to_owned)
    };
    if list.is_empty() {
        return Err(refuse("the manifest lists no models".to_owned()));
    }
    list.iter()
        .enumerate()
        .map(|(index, entry)| {
            let name = text_of(entry, "name")
                .ok_or_else(|| refuse(format!("entry {index} has no name")))?;
            let class = match text_of(entry, "class").as_deref() {
                None => None,
                Some("exact") => Some(Class::Exact),
                Some("ccd") => Some(Class::Ccd),
                Some("loose") => Some(Class::Loose),
                Some(other) => {
                    let message = format!("model '{name}' has the unknown class '{other}'; there are exact, ccd and loose");
                    return Err(refuse(message));
                }
            };
            let file = text_of(entry, "file");
            let smooth_because = text_of(entry, "smooth_because");
            let path = folder.join(&name);
            Ok((
                path,
                Entry {
                    name,
                    file,
                    class,
                    smooth_because,
                },
            ))
        })
        .collect()
}
