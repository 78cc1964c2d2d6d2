//! Files that are missing, unreadable, huge, binary, empty, folders, pipes, loops or damaged.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

#[cfg(unix)]
use carom_testing::Random;

use crate::support::tool;
use crate::support::{Folder, Outcome, npy, run, words};

/// Every way a file gets into the program, with the file's place marked.
const WAYS: [&str; 8] = [
    "sim FILE",
    "check FILE",
    "gradient FILE --loss qpos[0] --wrt qvel[0]",
    "bench FILE",
    "sim models/cartpole.xml --controls FILE",
    "evaluate datasets/contactnets_cube.xml FILE --mapping datasets/contactnets_cube.toml",
    "evaluate datasets/contactnets_cube.xml tosses.npz --mapping FILE",
    "parity FOLDER",
];

/// Files that are not what they should be.
fn bad_files(folder: &Folder) -> Vec<(PathBuf, &'static str)> {
    let mut files = vec![
        (folder.path("missing.xml"), "missing.xml"),
        (folder.path("missing.npz"), "missing.npz"),
        (folder.with("empty.xml", ""), "empty.xml"),
        (folder.with("empty.npz", ""), "empty.npz"),
        (folder.with("empty.csv", ""), "empty.csv"),
        (folder.with("binary.xml", noise(5000)), "binary.xml"),
        (folder.with("binary.npz", noise(5000)), "binary.npz"),
        (folder.with("binary.csv", noise(5000)), "binary.csv"),
        (folder.with("zeros.xml", vec![0; 100_000]), "zeros.xml"),
        (folder.with("text.npz", "ctrl"), "text.npz"),
        (folder.with("noextension", "1,2"), "noextension"),
        (folder.0.clone(), "carom_cli_"),
        (folder.path("missing/deep.xml"), "missing"),
        (folder.path("empty.xml/below.xml"), "below.xml"),
    ];
    let sparse = folder.path("sparse.xml");
    for path in [sparse, folder.path("sparse.npz"), folder.path("sparse.csv")] {
        let file = fs::File::create(&path).unwrap();
        if file.set_len(5 << 30).is_ok() {
            files.push((path, "larger than the limit"));
        } else {
            carom_testing::skip("the file system has no files of 5 GB");
        }
    }
    #[cfg(unix)]
    files.extend(special_files(folder));
    files
}

#[cfg(unix)]
fn special_files(folder: &Folder) -> Vec<(PathBuf, &'static str)> {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mut files = Vec::new();
    for name in ["pipe.xml", "pipe.npz", "pipe.csv"] {
        if tool(Command::new("mkfifo").arg(folder.path(name))) {
            files.push((folder.path(name), "not a regular file"));
        } else {
            carom_testing::skip("there is no mkfifo, so pipes are not tried");
        }
        let path = folder.path(&format!("loop_{name}"));
        symlink(&path, &path).unwrap();
        files.push((path, "loop_"));
    }
    files.push((PathBuf::from("/dev/zero"), "not a regular file"));
    let name = OsString::from_vec(b"caf\xe9 \xff.xml".to_vec());
    files.push((folder.0.join(name), "caf"));
    let secret = folder.with("secret.xml", "<mujoco/>");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&secret).is_err() {
        files.push((secret, "secret.xml"));
    } else {
        carom_testing::skip("this user reads files without permission all the same");
    }
    files
}

/// Bytes without a pattern.
fn noise(count: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let byte = |_| u8::try_from(random.below(256)).unwrap();
    (0..count).map(byte).collect()
}

fn run_with(line: &str, mark: &str, path: &Path) -> Outcome {
    let arguments: Vec<OsString> = (words(line).into_iter())
        .map(|word| {
            if word == mark {
                path.into()
            } else {
                word.into()
            }
        })
        .collect();
    run(&arguments)
}

#[test]
fn bad_files_are_refused_by_name() {
    let folder = Folder::new("bad");
    for (path, word) in bad_files(&folder) {
        for way in WAYS.iter().filter(|way| way.contains("FILE")) {
            let outcome = run_with(way, "FILE", &path);
            outcome.is_in_order();
            assert_ne!(outcome.code, Some(0), "{outcome:#?}");
            // A model that can be read and is none is the answer no.
            let is_read =
                fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() < 1 << 20);
            let is_model = way.split(' ').nth(1) == Some("FILE");
            let code = if is_read && is_model { 1 } else { 2 };
            let is_table = matches!(
                path.extension().and_then(|end| end.to_str()),
                Some("npz" | "csv")
            );
            let word = match () {
                () if is_table => word,
                () if way.contains("--controls") => ".npz and .csv",
                () if way.contains("FILE --mapping") => ".npz, .csv or .mcap",
                () => word,
            };
            outcome.fails(code, &[word]);
        }
    }
}

#[test]
fn bad_reference_folders_are_refused_by_name() {
    let folder = Folder::new("references");
    let sub = |name: &str, file: &str, bytes: &[u8]| {
        let path = folder.path(name);
        fs::create_dir_all(path.join("model")).unwrap();
        fs::write(path.join(file), bytes).unwrap();
        path
    };
    for (path, code, words) in [
        (folder.path("missing"), 2, ["missing", "cannot list"]),
        (
            sub("empty", "note.txt", b""),
            2,
            ["no reference files", "docs/parity.md"],
        ),
        (
            sub("file", "note.txt", b"").join("note.txt"),
            2,
            ["cannot list", "note.txt"],
        ),
        (
            sub("bad", "manifest.json", b"[{]"),
            2,
            ["manifest.json:1:3", "not JSON"],
        ),
        (
            sub("binary", "manifest.json", &noise(100)),
            2,
            ["manifest.json", "not JSON"],
        ),
        (
            sub("object", "manifest.json", b"{}"),
            2,
            ["manifest.json", "not a list"],
        ),
        (
            sub("nothing", "manifest.json", b"[]"),
            2,
            ["manifest.json", "no models"],
        ),
        (
            sub("nameless", "manifest.json", b"[{}]"),
            2,
            ["manifest.json", "no name"],
        ),
        (
            sub("class", "manifest.json", br#"[{"name":"a","class":"b"}]"#),
            2,
            ["'b'", "loose"],
        ),
        (
            sub("absent", "manifest.json", br#"[{"name":"a"}]"#),
            1,
            ["1 of 1 models", "disagree"],
        ),
        (
            sub("damaged", "model/ref.npz", &noise(500)),
            1,
            ["1 of 1 models", "disagree"],
        ),
    ] {
        let outcome = run_with("parity FOLDER", "FOLDER", &path);
        outcome.fails(code, &words);
        if code == 1 {
            assert!(outcome.stdout.contains("ref.npz"), "{outcome:#?}");
        }
    }
    #[cfg(unix)]
    {
        let path = sub("pipe", "note.txt", b"");
        if tool(Command::new("mkfifo").arg(path.join("manifest.json"))) {
            run_with("parity FOLDER", "FOLDER", &path).fails(2, &[]);
        }
    }
}

/// An .npz file with one array.
fn archive(name: &str, npy: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file(format!("{name}.npy"), options).unwrap();
    archive.write_all(npy).unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn damaged_archives_are_refused() {
    let folder = Folder::new("archives");
    let good = archive("ctrl", &npy("'<f8'", "(2, 1)", &[0; 16]));
    let play = |name: &str, bytes: &[u8]| {
        let path = folder.with(name, bytes);
        run_with(
            "sim models/cartpole.xml --seconds 0.01 --controls FILE",
            "FILE",
            &path,
        )
    };
    play("good.npz", &good).succeeds();
    for cut in [1, 10, good.len() / 2, good.len() - 1] {
        play("cut.npz", &good[..cut]).fails(2, &["cut.npz"]);
    }
    for (name, npy, word) in [
        ("other", npy("'<f8'", "(2, 1)", &[0; 16]), "no array 'ctrl'"),
        ("ctrl", npy("'<f8'", "(2, 3)", &[0; 48]), "shape [2, 3]"),
        (
            "ctrl",
            npy("'<f8'", "(2, 1, 1)", &[0; 16]),
            "shape [2, 1, 1]",
        ),
        ("ctrl", npy("'<f8'", "()", &[0; 8]), "shape []"),
        ("ctrl", npy("'<f8'", "(0, 1)", &[]), "no row"),
        (
            "ctrl",
            npy("'<f8'", "(1, 1)", &f64::NAN.to_le_bytes()),
            "not finite",
        ),
        (
            "ctrl",
            npy("'<f8'", "(4611686018427387904, 1)", &[0; 8]),
            "cut off",
        ),
        (
            "ctrl",
            npy("'<f8'", "(99999999999999999999, 1)", &[0; 8]),
            "no 'shape'",
        ),
        ("ctrl", npy("'<f8'", "(-1, 1)", &[0; 8]), "no 'shape'"),
        (
            "ctrl",
            npy("'<c16'", "(1, 1)", &[0; 16]),
            "'<c16' is not supported",
        ),
        (
            "ctrl",
            npy("'|O'", "(1, 1)", &[0; 16]),
            "'|O' is not supported",
        ),
        (
            "ctrl",
            npy("[('a', '<f8')]", "(1, 1)", &[0; 16]),
            "is not supported",
        ),
        (
            "ctrl",
            npy("'<U2'", "(1, 1)", &[0; 8]),
            "texts, not numbers",
        ),
        ("ctrl", b"not an array".to_vec(), "not a numpy array"),
    ] {
        play("bad.npz", &archive(name, &npy)).fails(2, &["bad.npz", word]);
    }
}

#[test]
fn archives_that_expand_are_refused_before_they_do() {
    let folder = Folder::new("bomb");
    let path = folder.path("bomb.npz");
    let mut bomb = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    // 300 MB that would be 2.4 GB in memory, in a file of some hundred KB.
    let count = 300 << 20;
    bomb.start_file("ctrl.npy", options).unwrap();
    bomb.write_all(&npy("'|i1'", &format!("({count}, 1)"), &[]))
        .unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..count >> 20 {
        bomb.write_all(&zeros).unwrap();
    }
    bomb.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let begin = std::time::Instant::now();
    let line = "sim models/cartpole.xml --controls FILE";
    run_with(line, "FILE", &path).fails(2, &["bomb.npz", "too much memory"]);
    assert!(begin.elapsed().as_secs() < 20);
}

#[test]
fn tables_with_wrong_columns_are_refused_where_they_are() {
    let folder = Folder::new("tables");
    for (text, words) in [
        ("1,2\n", ["bad.csv:1:1", "2 columns, expected 1"]),
        ("1\n2,3\n", ["bad.csv:2:1", "2 columns, expected 1"]),
        ("1\ntwo\n", ["bad.csv:2:1", "'two' is not a number"]),
        ("u\n1\n\n2\n,\n", ["bad.csv:5:1", "2 columns"]),
        ("1e999\n", ["bad.csv", "not finite"]),
        ("\n\n\n", ["bad.csv", "no row"]),
    ] {
        let path = folder.with("bad.csv", text);
        let outcome = run_with("sim models/cartpole.xml --controls FILE", "FILE", &path);
        outcome.fails(2, &words);
    }
    let path = folder.with("good.csv", "1\n");
    let outcome = run_with("sim models/cube.xml --controls FILE", "FILE", &path);
    outcome.fails(2, &["has no controls"]);
}
