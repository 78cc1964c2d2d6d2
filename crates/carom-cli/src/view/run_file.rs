//! Runs as `carom sim --out` writes them.

use std::path::{Path, PathBuf};

use carom::Model;
use carom_viewer::recording::FRAME_RATE;
use carom_viewer::{Recording, Trajectory};

use crate::command_line::choice;
use crate::failure::{CONTENT, Failure};
use crate::npz::{self, Npz};

/// A run that was read.
pub(super) struct RunFile {
    path: PathBuf,
    arrays: Npz,
}

/// Name of a file without folder and ending.
pub(super) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

impl RunFile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let arrays = npz::read(path)?;
        let file = Self {
            path: path.to_owned(),
            arrays,
        };
        for needed in ["time", "qpos"] {
            if !file.arrays.contains_key(needed) {
                let failure = file.refuse(&format!("it has no array '{needed}', so it is no run"));
                let names = file.arrays.keys().map(String::as_str);
                return Err(match choice(needed, names) {
                    Some(help) => failure.help(help),
                    None => failure,
                });
            }
        }
        Ok(file)
    }

    fn refuse(&self, message: &str) -> Failure {
        Failure::sentence(CONTENT, format!("'{}': {message}", self.path.display()))
    }

    /// The model that the run names: from where we are, or beside the run.
    pub(super) fn model(&self) -> Result<PathBuf, Failure> {
        let names = self.arrays.get("model").map(npz::Array::as_strings);
        let name = names.and_then(<[String]>::first).ok_or_else(|| {
            self.refuse("it does not say which model it is of")
                .help("give it with --model")
        })?;
        let from_here = PathBuf::from(name);
        let beside = self.path.with_file_name("").join(name);
        [from_here, beside]
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| {
                self.refuse(&format!("its model '{name}' is not there"))
                    .help("give it with --model")
            })
    }

    pub(super) fn recording(&self, model: &Model) -> Result<Recording, Failure> {
        let numbers = |name: &str| match self.arrays.get(name) {
            Some(array) => array.as_numbers(),
            None => &[],
        };
        let motion = Trajectory {
            time: numbers("time"),
            qpos: numbers("qpos"),
            qvel: numbers("qvel"),
            act: numbers("act"),
            ctrl: numbers("ctrl"),
            mocap_position: numbers("mocap_pos"),
            mocap_quat: numbers("mocap_quat"),
            gradient: numbers("grad_qvel"),
        };
        let name = stem(&self.path);
        Recording::new(&name, model, &motion, Some(FRAME_RATE))
            .map_err(|cause| self.refuse(&cause.to_string()))
    }
}
