//! `cargo xtask wheel`: the Python package as one file for every Python from 3.10 on, tried in a fresh environment.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::command::{command, output, root, run, target_folder};
use crate::python::{PACKAGE, executable, system_python};

/// What a new user would try first.
const TRIAL: &str = "\
import carom
model = carom.Model.load('models/humanoid.xml')
rollout = model.rollout(model.state(batch=4), steps=50)
gradient = rollout.backward(qpos=rollout.qpos)
assert gradient.qvel.shape == (4, model.nv)
print(f'carom {carom.__version__}: {rollout}')
";

/// Builds the wheel, tries it, and says how large it is.
pub(crate) fn make() -> Outcome {
    let wheel = build()?;
    let folder = target_folder().join("wheel-trial");
    remove(&folder)?;
    run(command(system_python()).args(["-m", "venv"]).arg(&folder))?;
    let python = executable(&folder);
    let quietly = ["install", "--quiet", "--disable-pip-version-check"];
    run(command(&python)
        .args(["-m", "pip"])
        .args(quietly)
        .arg(&wheel))?;
    let said = output(command(&python).args(["-c", TRIAL]))?;
    let name = wheel.strip_prefix(root()).unwrap_or(&wheel);
    let bytes = fs::metadata(&wheel);
    let bytes = bytes.map_err(|error| format!("cannot read {}: {error}", name.display()))?;
    let megabytes = bytes.len() as f64 / 1e6;
    print!("{said}");
    println!("{}: {megabytes:.1} MB", name.display());
    Ok(())
}

/// Builds the wheel into `target/wheels` with all optimisations.
pub(crate) fn build() -> Result<PathBuf, String> {
    let folder = target_folder().join("wheels");
    remove(&folder)?;
    let mut maturin = command(PACKAGE.interpreter()?);
    maturin.args(["-m", "maturin", "build", "--release", "--locked", "--quiet"]);
    run(maturin.arg("--out").arg(&folder))?;
    let made = wheels(&folder);
    let fits = |wheel: &&PathBuf| wheel.to_string_lossy().contains("-cp310-abi3-");
    let wheel = made.iter().find(fits);
    wheel.cloned().ok_or_else(|| {
        format!("there is no wheel for all versions of Python from 3.10 on among {made:?}")
    })
}

/// Removes a folder that may not be there.
pub(crate) fn remove(folder: &Path) -> Outcome {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The wheels of a folder.
fn wheels(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "whl"))
        .collect()
}
