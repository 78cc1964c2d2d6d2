//! References that users make of their own models, as docs/parity.md tells them.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;

use carom_testing::Random;

use crate::support::{Folder, finish, npy, root, run, tool};

/// A Python that has MuJoCo, if there is one.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("CAROM_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root().join(".venv/bin/python"));
    tool(Command::new(&python).args(["-c", "import mujoco"])).then_some(python)
}

#[test]
fn a_folder_of_models_becomes_references() {
    let Some(python) = python() else {
        carom_testing::skip("there is no Python with MuJoCo; set CAROM_PYTHON");
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

/// Damaged references of a model.
const DAMAGED: usize = 300;

/// The arrays of a reference, as they are in the file.
fn arrays(name: &str) -> Vec<(String, Vec<u8>)> {
    let path = root().join("tests/reference").join(name).join("ref.npz");
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let name = entry.name().unwrap().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        arrays.push((name, bytes));
    }
    arrays
}

/// The shape in the header of an array, as it is written.
fn shape(npy: &[u8]) -> String {
    let text = String::from_utf8_lossy(&npy[..npy.len().min(512)]).into_owned();
    let start = text.find("'shape': ").unwrap() + 9;
    let end = start + text[start..].find(')').unwrap() + 1;
    text[start..end].to_owned()
}

fn numbers_in(shape: &str) -> usize {
    let lengths = shape.trim_matches(['(', ')']).split(',').map(str::trim);
    lengths
        .filter(|length| !length.is_empty())
        .map(|length| length.parse::<usize>().unwrap())
        .product()
}

#[test]
fn damaged_references_fail_and_do_not_panic() {
    let folder = Folder::new("damaged");
    let mut random = Random::new(1);
    let mut manifest = Vec::new();
    for model in ["cube", "equalities"] {
        let whole = arrays(model);
        let file = match model {
            "cube" => "models/cube.xml",
            _ => "models/features/equalities.xml",
        };
        let file = fs::canonicalize(root().join(file)).unwrap();
        for copy in 0..DAMAGED / 2 {
            let name = format!("{model}_{copy}");
            fs::create_dir(folder.path(&name)).unwrap();
            let mut damaged = whole.clone();
            for _ in 0..=random.below(3) {
                damage(&mut damaged, &mut random);
            }
            let out = fs::File::create(folder.path(&name).join("ref.npz")).unwrap();
            let mut archive = zip::ZipWriter::new(out);
            let options = zip::write::SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Stored);
            for (name, bytes) in damaged {
                archive.start_file(name, options).unwrap();
                archive.write_all(&bytes).unwrap();
            }
            archive.finish().unwrap();
            manifest.push(serde_json::json!({ "name": name, "file": file, "class": "exact" }));
        }
    }
    folder.with("manifest.json", serde_json::to_vec(&manifest).unwrap());
    let outcome = run(&["parity", folder.0.to_str().unwrap(), "--json"]);
    outcome.fails(1, &["models disagree"]);
    let document = outcome.json();
    assert_eq!(document["models"].as_array().unwrap().len(), manifest.len());
}

/// Drops an array, or replaces it by something else.
fn damage(arrays: &mut Vec<(String, Vec<u8>)>, random: &mut Random) {
    let index = random.below(arrays.len());
    let shape = shape(&arrays[index].1);
    let count = numbers_in(&shape);
    let all = |number: f64| number.to_le_bytes().repeat(count);
    arrays[index].1 = match random.below(8) {
        0 => {
            arrays.remove(index);
            return;
        }
        1 => npy("'<f8'", "(0,)", &[]),
        2 => npy("'<f8'", "()", &f64::NAN.to_le_bytes()),
        3 => npy("'<f8'", &shape, &all(1e300)),
        4 => npy("'<f8'", &shape, &all(-1.0)),
        5 => npy("'<f8'", &shape, &all(f64::NAN)),
        6 => npy("'<f8'", "(2, 0, 7)", &[]),
        _ => npy("'<U1'", "(3,)", &[0; 12]),
    };
}
