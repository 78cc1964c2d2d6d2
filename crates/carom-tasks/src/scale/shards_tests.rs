use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("carom_{name}_{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(bodies: usize, frames: usize, shape: usize) -> Run {
    let body = Body {
        half_size: [0.03, 0.02, 0.01],
        mass: 0.15,
        friction: 0.25,
        shape,
    };
    let rows = bodies * frames;
    let pose = (0..rows).map(|row| [0.01 * row as f64, 0.0, 0.03, 0.6, 0.0, 0.0, 0.8]);
    Run {
        bodies: vec![body; bodies],
        pose: pose.collect(),
        velocity: (0..rows).map(|row| [row as f64; 6]).collect(),
        start: frames / 2,
    }
}

fn shard() -> Shard {
    Shard {
        dt: 1.0 / 60.0,
        meshes: vec![vec![[0.0, 0.0, 0.01], [0.01, 0.0, 0.0]], vec![[1.0; 3]; 4]],
        runs: vec![run(2, 5, 0), run(11, 3, 2)],
    }
}

fn manifest(shards: Vec<ShardEntry>) -> Manifest {
    Manifest {
        format: super::super::manifest::FORMAT.to_owned(),
        recipe: "runs = 4\n".to_owned(),
        seed: 7,
        dt: 1.0 / 60.0,
        runs: 4,
        shards,
    }
}

#[test]
fn sums_are_those_of_zip() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    assert_eq!(crc32(b""), 0);
}

#[test]
fn shards_read_back_and_meshes_keep_their_bodies() {
    let folder = Folder::new("shards_read_back");
    let entries =
        [(0, 0), (1, 2)].map(|(index, first)| write(&folder.0, index, first, &shard()).unwrap());
    assert_eq!(entries[0].crc32, entries[1].crc32);
    assert_eq!(read(&folder.0, &entries[0]).unwrap(), shard());
    let written = manifest(entries.to_vec());
    written.write(&folder.0).unwrap();
    assert_eq!(Manifest::read(&folder.0).unwrap(), written);
    assert_eq!(written.present(), 4);

    let all = read_all(&folder.0, 0.3).unwrap();
    assert_eq!((all.runs.len(), all.meshes.len()), (4, 4));
    assert_eq!(all.runs[0], all.runs[2]);
    assert_eq!(
        (all.runs[1].bodies[0].shape, all.runs[3].bodies[0].shape),
        (2, 4)
    );
    assert_eq!(all.runs[1].frames(), 3);
    assert_eq!(all.runs[1].frame(2)[10], all.runs[1].pose[32]);
    // One file alone.
    let one = read_all(&folder.0.join(file_name(0)), 0.3).unwrap();
    assert_eq!(one, shard());
}

#[test]
fn damaged_missing_and_foreign_files_are_errors_that_say_what_helps() {
    let folder = Folder::new("shards_damaged");
    let error = Manifest::read(&folder.0).unwrap_err();
    assert!(
        error.to_string().contains("carom scale --recipe"),
        "{error}"
    );
    let entry = write(&folder.0, 0, 0, &shard()).unwrap();
    manifest(vec![entry.clone()]).write(&folder.0).unwrap();
    let path = folder.0.join(&entry.file);
    let whole = fs::read(&path).unwrap();

    // Every byte counts, wherever it is.
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let error = read_all(&folder.0, 0.3).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("shard-00000.npz") && text.contains("carom scale"),
            "{text}"
        );
        assert_eq!(error.kind(), &ErrorKind::Recording);
    }
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(
        read(&folder.0, &entry)
            .unwrap_err()
            .to_string()
            .contains("damaged")
    );
    fs::remove_file(&path).unwrap();
    let error = read(&folder.0, &entry).unwrap_err().to_string();
    assert!(
        error.contains("missing") && error.contains("same bits"),
        "{error}"
    );

    for (text, word) in [
        ("", "not the manifest"),
        ("{\"format\": \"carom-shards-1\"", "not the manifest"),
        ("[]", "its format is none"),
        ("{\"format\": \"other\"}", "'other'"),
        ("{\"format\": \"carom-shards-1\"}", "missing field"),
    ] {
        fs::write(folder.0.join("manifest.json"), text).unwrap();
        let error = Manifest::read(&folder.0).unwrap_err().to_string();
        assert!(
            error.contains(word) && error.contains("manifest.json"),
            "{error}"
        );
    }
    let bad = [
        ("../away.npz", 0, 1, "not the name"),
        ("a.npz", 3, 2, "beyond"),
        ("a.npz", usize::MAX, 2, "beyond"),
    ];
    for (file, first_run, runs, word) in bad {
        let (file, crc32) = (file.to_owned(), 0);
        let entry = ShardEntry {
            file,
            first_run,
            runs,
            crc32,
        };
        manifest(vec![entry]).write(&folder.0).unwrap();
        let error = Manifest::read(&folder.0).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    manifest(vec![entry.clone(), entry])
        .write(&folder.0)
        .unwrap();
    let error = Manifest::read(&folder.0).unwrap_err().to_string();
    assert!(error.contains("of the file before"), "{error}");
}

#[test]
fn runs_that_contradict_themselves_are_not_written() {
    type Spoil = fn(&mut Shard);
    let cases: [(Spoil, &str); 9] = [
        (|shard| shard.dt = 0.0, "'dt'"),
        (|shard| shard.runs[0].bodies[1].mass = -1.0, "mass"),
        (
            |shard| shard.runs[0].bodies[0].half_size[2] = f64::NAN,
            "half sizes",
        ),
        (|shard| shard.runs[0].bodies[0].friction = -0.1, "friction"),
        (
            |shard| shard.runs[1].bodies[0].shape = 3,
            "none of 2 meshes",
        ),
        (
            |shard| shard.runs[0].pose[3][4] = 1.0,
            "quaternion of body 1 at frame 1",
        ),
        (
            |shard| shard.runs[0].velocity[3][0] = f64::INFINITY,
            "no finite state",
        ),
        (|shard| shard.runs[0].start = 5, "starts at frame 5"),
        (|shard| shard.runs[1].bodies.truncate(10), "no whole frames"),
    ];
    for (spoil, word) in cases {
        let mut shard = shard();
        spoil(&mut shard);
        let error = to_bytes(&shard).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
    let mut arrays = to_arrays(&shard());
    arrays.remove("start");
    assert_eq!(from_arrays(&arrays).unwrap().runs[0].start, 0);
    for name in ["pose", "offsets", "bodies", "shape", "mesh_offsets", "dt"] {
        let mut arrays = to_arrays(&shard());
        arrays.insert(name.to_owned(), Array::numbers(&[2], vec![0.5, 9.0]));
        let error = from_arrays(&arrays).unwrap_err().to_string();
        assert!(error.contains(name), "{name}: {error}");
        arrays.remove(name);
        let error = from_arrays(&arrays).unwrap_err().to_string();
        assert!(error.contains(&format!("no array '{name}'")), "{error}");
    }
}

/// A cube that slides and turns at constant speeds, and one at rest.
fn tracked() -> Npz {
    let mut pose = Vec::new();
    for frame in 0..6 {
        let time = 0.01 * f64::from(frame);
        let half = 0.5 * (3.0 + 2.0 * time);
        pose.extend([
            1.5 * time,
            -0.5 * time,
            0.03,
            half.cos(),
            0.0,
            0.0,
            half.sin(),
        ]);
        pose.extend([0.2, 0.0, 0.03, -1.02, 0.0, 0.0, 0.0]);
    }
    let arrays = [
        ("pose", Array::numbers(&[6, 2, 7], pose)),
        ("offsets", Array::numbers(&[3], vec![0.0, 4.0, 6.0])),
        (
            "side",
            Array::numbers(&[2, 2], vec![0.06, 0.04, 0.06, 0.08]),
        ),
        ("mass", Array::numbers(&[2, 2], vec![0.15; 4])),
        ("start", Array::numbers(&[2], vec![3.0, 1.0])),
        ("dt", Array::numbers(&[], vec![0.01])),
    ];
    arrays.map(|(name, array)| (name.to_owned(), array)).into()
}

#[test]
fn recordings_of_tracked_cubes_become_runs() {
    let shard = recorded::from_arrays(&tracked(), 0.2).unwrap();
    assert_eq!(shard.runs.len(), 2);
    let [first, second] = [&shard.runs[0], &shard.runs[1]];
    assert_eq!((first.frames(), first.start), (4, 3));
    assert_eq!((second.frames(), second.start), (2, 1));
    assert_eq!(second.bodies[1].half_size, [0.04; 3]);
    assert_eq!(first.bodies[0].friction, 0.2);
    for run in &shard.runs {
        for frame in 0..run.frames() {
            let expected = [1.5, -0.5, 0.0, 0.0, 0.0, 2.0];
            for (found, expected) in run.velocities(frame)[0].iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
            }
            assert_eq!(run.velocities(frame)[1], [0.0; 6]);
            assert_eq!(run.frame(frame)[1][3], -1.0);
        }
    }
    // And they are shards.
    to_bytes(&shard).unwrap();

    let mut arrays = tracked();
    arrays.insert("side".to_owned(), Array::numbers(&[2], vec![0.06; 2]));
    let error = recorded::from_arrays(&arrays, 0.2).unwrap_err().to_string();
    assert!(
        error.contains("'side'") && error.contains("(2, 2)"),
        "{error}"
    );
}

#[test]
fn shared_recordings_are_read() {
    let name = "data/two_cubes/bowling.npz";
    let Some(path) = carom_testing::shared(name) else {
        return;
    };
    let shard = read_all(&path, 0.2).unwrap();
    assert_eq!(shard.runs.len(), 5);
    assert!(
        shard
            .runs
            .iter()
            .all(|run| run.bodies.len() == 11 && run.frames() == 40)
    );
}
