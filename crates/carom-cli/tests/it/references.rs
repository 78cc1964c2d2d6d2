//! References that users make of their own models, as docs/parity.md tells them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Folder, finish, root, run, tool};

/// A Python that has MuJoCo, if there is one.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("CAROM_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root().join(".venv/bin/python"));
    tool(Command::new(&python).args(["-c", "import mujoco"])).then_some(python)
}

#[test]
fn a_folder_of_models_becomes_references() {
    let Some(python) = python() else {
        eprintln!(
            "skipped: references of a user's folder, there is no Python with MuJoCo (set CAROM_PYTHON)"
        );
        return;
    };
    let folder = Folder::new("own");
    for name in ["cartpole.xml", "cartpole.urdf"] {
        fs::copy(root().join("models").join(name), folder.path(name)).unwrap();
    }
    folder.with(
        "part.xml",
        "<mujocoinclude><geom size='1'/></mujocoinclude>",
    );
    let mut make = Command::new(python);
    make.args(["-B", "xtask/reference/make_reference.py"])
        .arg(&folder.0);
    let made = finish(make.current_dir(root()));
    made.succeeds();
    assert!(
        made.stdout.contains("part.xml") && made.stdout.contains("left out"),
        "{made:#?}"
    );
    let arguments = ["parity", folder.0.to_str().unwrap()];
    let table = run(&arguments);
    assert!(
        table.succeeds().stdout.contains("2 of 2 models agree"),
        "{table:#?}"
    );
    // A model that was changed since is found out, by the constant that is different.
    let model = folder.path("cartpole.xml");
    let text = fs::read_to_string(&model).unwrap();
    let option = "<option timestep=\"0.01\"";
    let changed = text.replace(option, &format!("{option} gravity=\"0 0 -9\""));
    assert_ne!(changed, text);
    fs::write(&model, changed).unwrap();
    let table = run(&arguments);
    table.fails(1, &["1 of 2 models disagree"]);
    assert!(table.stdout.contains("FAILED first at"), "{table:#?}");
}
