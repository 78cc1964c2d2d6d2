//! What tests share: models, folders, and recordings made by simulation.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use carom::{Data, Input, Model, State};
use carom_tasks::npz::{self, Array};
use carom_tasks::recording::{self, Mapping, Recordings};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A model of the repository.
pub(crate) fn model(path: &str) -> Model {
    let loaded = carom::load::file(&root().join(path), &[]);
    loaded.expect("the model compiles").model
}

/// A model from its text.
pub(crate) fn model_of(folder: &Folder, text: &str) -> Model {
    let path = folder.write("model.xml", text);
    carom::load::file(&path, &[])
        .unwrap_or_else(|error| panic!("{}", error))
        .model
}

/// A folder that is removed with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("carom-tasks-{name}-{process}-{count}"));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("writes a file");
        path
    }

    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("writes a file");
        path
    }

    pub(crate) fn npz(&self, name: &str, arrays: &[(&str, &[usize], Vec<f64>)]) -> PathBuf {
        let arrays: Vec<(&str, Array)> = arrays
            .iter()
            .map(|(name, shape, values)| (*name, Array::numbers(shape, values.clone())))
            .collect();
        let arrays: Vec<(&str, &Array)> =
            arrays.iter().map(|(name, array)| (*name, array)).collect();
        let path = self.0.join(name);
        let file = std::fs::File::create(&path).expect("creates a file");
        npz::write(file, &arrays).expect("writes arrays");
        path
    }

    /// A message without the path of this folder.
    pub(crate) fn plain(&self, message: &str) -> String {
        message.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn load(
    model: &Model,
    mapping: &str,
    path: &Path,
) -> Result<Recordings, carom_tasks::Error> {
    let mapping = Mapping::parse(mapping, "map.toml")?;
    recording::load(model, &mapping, &[path.to_owned()])
}

/// Simulates a model and writes a table of times, configurations, velocities, controls and sensors.
pub(crate) fn simulate(
    model: &Model,
    start: &State,
    (steps, every): (usize, usize),
    control: &dyn Fn(f64) -> f64,
) -> String {
    let n = model.counts();
    let mut state = start.clone();
    let mut input = Input::zeros(model);
    let mut data = Data::new(model);
    let names = [
        ("qpos", n.nq),
        ("qvel", n.nv),
        ("ctrl", n.nu),
        ("sensor", n.nsensor_value),
    ];
    let columns = names
        .iter()
        .flat_map(|(name, count)| (0..*count).map(move |index| format!("{name}[{index}]")));
    let header: Vec<String> = std::iter::once("t".to_owned()).chain(columns).collect();
    let mut lines = vec![header.join(",")];
    for step in 0..=steps {
        if step % every == 0 {
            input.ctrl.fill(control(state.time));
            carom::forward_and_sense(model, &state, &input, &mut data);
            let numbers = (state.qpos.iter())
                .chain(&state.qvel)
                .chain(&input.ctrl)
                .chain(&data.sensing.values);
            let cells: Vec<String> = numbers.map(f64::to_string).collect();
            lines.push(format!("{},{}", state.time, cells.join(",")));
        }
        carom::step(model, &mut state, &input, &mut data);
    }
    lines.join("\n")
}

pub(crate) use carom_testing::shared;
