//! Damaged recordings, mappings and settings: whatever is in them, reading ends with an error or with numbers that are finite,
//! soon and in bounded memory.

use std::path::PathBuf;

use carom::Model;
use carom_tasks::identify::Settings;
use carom_tasks::recording::{self, Mapping, Recordings};
use carom_testing::Random;
use carom_testing::mutation::{Campaign, mutate};

use crate::bags;
use crate::support::{Folder, model};

/// A cube's motion as files of all kinds, with a mapping for each.
fn originals(folder: &Folder) -> Vec<(&'static str, Vec<u8>, String)> {
    let rows = 12;
    let columns: Vec<f64> = (0..rows).flat_map(pose).collect();
    let of = |range: std::ops::Range<usize>| -> Vec<f64> {
        columns
            .chunks(8)
            .flat_map(|row| row[range.clone()].to_vec())
            .collect()
    };
    let path = folder.npz(
        "original.npz",
        &[
            ("t", &[rows], of(0..1)),
            ("p", &[rows, 3], of(1..4)),
            ("q", &[rows, 4], of(4..8)),
            ("starts", &[3], vec![0.0, 6.0, 12.0]),
        ],
    );
    let npz = std::fs::read(path).unwrap();
    let mut csv = "t,x,y,z,w,\"i\",j,k,toss\r\n".to_owned();
    for (row, numbers) in columns.chunks(8).enumerate() {
        let cells: Vec<String> = numbers.iter().map(f64::to_string).collect();
        csv.extend([cells.join(","), format!(",\"toss, {}\"\r\n", row / 6)]);
    }
    let arrays = "[time]\ncolumn = 't'\n[trajectories]\noffsets = 'starts'\n[[body]]\nname = 'cube'\nposition = 'p[0:3]'\n\
        rotation = 'q'\nrotation_format = 'wxyz'\nnoise = { position = 0.001, rotation = 0.01 }\n";
    let table = "[time]\ncolumn = 't'\n[trajectories]\ncolumns = ['toss']\n[[body]]\nname = 'cube'\nposition = ['x', 'y', 'z']\n\
        rotation = ['w', 'i', 'j', 'k']\nmissing = true\nnoise = { position = 0.001, rotation = 0.01 }\n";
    vec![
        ("run.npz", npz, arrays.to_owned()),
        ("run.csv", csv.into_bytes(), table.to_owned()),
        ("run.mcap", bags::example(), bags::ODOMETRY.to_owned()),
    ]
}

/// Time, position and rotation of a cube that is thrown.
fn pose(row: usize) -> [f64; 8] {
    let t = 0.01 * row as f64;
    let half = 0.5 * t;
    [
        t,
        0.3 * t,
        0.1,
        0.5 + t - 4.9 * t * t,
        half.cos(),
        half.sin(),
        0.0,
        0.0,
    ]
}

/// Every number that a simulation would start from or be driven by is finite; measured ones are finite or missing.
fn check(recordings: &Recordings) -> Result<(), String> {
    for trajectory in &recordings.trajectories {
        let driving = trajectory.times.iter().chain(&trajectory.controls);
        if let Some(number) = driving.clone().find(|number| !number.is_finite()) {
            return Err(format!(
                "{}: {number} among times and controls",
                trajectory.label
            ));
        }
        let mut measured = trajectory.values.iter().flatten();
        if measured.any(|number| number.is_infinite()) {
            return Err(format!("{}: an infinite measurement", trajectory.label));
        }
    }
    Ok(())
}

/// One damaged recording or mapping.
fn attempt(
    random: &mut Random,
    cube: &Model,
    folder: &Folder,
    originals: &[(&'static str, Vec<u8>, String)],
) -> Result<(), String> {
    let (name, bytes, mapping) = &originals[random.below(originals.len())];
    let (mut bytes, mut mapping) = (bytes.clone(), mapping.clone().into_bytes());
    let (in_file, in_mapping) = random.pick(&[(true, false), (false, true), (true, true)]);
    for _ in 0..=random.below(3) {
        if in_file {
            mutate(&mut bytes, random);
        }
        if in_mapping {
            mutate(&mut mapping, random);
        }
    }
    let Ok(mapping) = String::from_utf8(mapping) else {
        return Ok(());
    };
    let Ok(mapping) = Mapping::parse(&mapping, "map.toml") else {
        return Ok(());
    };
    let path: PathBuf = folder.write_bytes(name, &bytes);
    match recording::load(cube, &mapping, &[path]) {
        Ok(recordings) => check(&recordings),
        Err(error) if error.to_string().is_empty() => Err("an error without words".to_owned()),
        Err(_) => Ok(()),
    }
}

#[test]
fn damaged_recordings_and_mappings_are_refused_in_good_order() {
    let folder = Folder::new("mutations");
    let cube = model("datasets/contactnets_cube.xml");
    let originals = originals(&folder);
    for (name, bytes, mapping) in &originals {
        let path = folder.write_bytes(name, bytes);
        let mapping = Mapping::parse(mapping, "map.toml").unwrap();
        let whole = recording::load(&cube, &mapping, &[path]);
        check(&whole.unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap();
    }
    let campaign = Campaign {
        count: 500_000,
        seconds: 4,
    };
    campaign.run(|random| attempt(random, &cube, &folder, &originals));
}

const SETTINGS: &str = r#"
free = ["geom.*.friction[0] tied", "geom.cube.size log tied"]
[[parameter]]
select = "geom.cube.solref[0]"
transform = "log"
bounds = [0.001, 0.1]
prior = { mean = 0.02, sd = 0.01 }
start = 0.02
[loss]
kind = "likelihood"
huber = 3.0
frames = 5
every = 5
[initial_states]
free = true
position = 1e-3
velocity = 1e-2
[simulation]
tolerance = 1e-6
[optimiser]
kind = "lm"
evaluations = 500
seconds = 60
seed = 1
confidence = 0.95
"#;

#[test]
fn damaged_settings_are_refused_in_good_order() {
    Settings::parse(SETTINGS, "settings.toml").unwrap();
    let campaign = Campaign {
        count: 100_000,
        seconds: 1,
    };
    campaign.run(|random| {
        let mut bytes = SETTINGS.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, random);
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(());
        };
        let settings = match Settings::parse(&text, "settings.toml") {
            Ok(settings) => settings,
            Err(error) if error.to_string().is_empty() => {
                return Err("an error without words".to_owned());
            }
            Err(_) => return Ok(()),
        };
        match settings.seconds {
            Some(seconds) if !seconds.is_finite() => Err(format!("seconds = {seconds}")),
            _ => Ok(()),
        }
    });
}
