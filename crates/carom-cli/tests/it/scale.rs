//! Runs by a recipe survive whatever ends the program.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use carom_testing::by_tier;

use crate::support::{Folder, carom, root, run};

const RECIPE: &str = "model = 'model.xml'\nruns = 60\nseed = 5\nframes = 20\nrate = 60\nruns_per_shard = 2\n\
    [bodies]\ncount = 2\n[shot]\nspeed = [0.8, 1.4]\nway = [0.02, 0.03]\n";

fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    let model = root().join("datasets/two_cubes.xml");
    fs::copy(model, folder.path("model.xml")).unwrap();
    fs::write(folder.path("recipe.toml"), RECIPE).unwrap();
    folder
}

fn line(folder: &Folder, out: &str, more: &[&str]) -> Vec<String> {
    let paths = ["recipe.toml", out].map(|name| folder.path(name).display().to_string());
    let [recipe, out] = paths;
    let words = ["scale", "--recipe", &recipe, "--out", &out];
    let all = words.iter().chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

/// What is complete under its name.
fn bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let all = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, entry.path())
    });
    let whole = all.filter(|(name, _)| !name.starts_with('.'));
    let mut read: Vec<_> = whole
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect();
    read.sort();
    read
}

#[test]
fn kills_at_any_moment_lose_nothing_and_make_nothing_twice() {
    let folder = prepared("scale-kills");
    let begin = Instant::now();
    run(&line(&folder, "whole", &["--threads", "1"])).succeeds();
    let took = begin.elapsed();
    let whole = bytes(&folder.path("whole"));
    assert_eq!(whole.len(), 31);
    let mut killed = 0;
    let moments = by_tier(3, 20);
    for moment in 0..moments {
        let part = (f64::from(moment) + 0.5) / f64::from(moments);
        let out = format!("killed{moment}");
        let mut child = carom()
            .args(line(&folder, &out, &["--threads", "2"]))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(took.mul_f64(0.7 * part));
        killed += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        run(&line(&folder, &out, &["--threads", "2"])).succeeds();
        assert_eq!(
            whole,
            bytes(&folder.path(&out)),
            "killed at {part} of the time"
        );
    }
    assert!(killed > 0, "all runs were quicker than the first one");
}

#[test]
fn what_was_made_is_said_and_pictured() {
    let folder = prepared("scale-report");
    let report = folder.path("page.html");
    let more = ["--json", "--report", report.to_str().unwrap()];
    let document = run(&line(&folder, "runs", &more)).json();
    assert_eq!(document["runs"], 60);
    assert_eq!(document["made"], 60);
    let page = fs::read_to_string(&report).unwrap();
    for words in ["Faces", "Speed of approach", "face on face", "<svg"] {
        assert!(page.contains(words), "{words}");
    }
    let again = run(&line(&folder, "runs", &["--json"])).json();
    assert_eq!((&again["runs"], &again["made"]), (&60.into(), &0.into()));
    fs::write(
        folder.path("recipe.toml"),
        RECIPE.replace("seed = 5", "seed = 6"),
    )
    .unwrap();
    run(&line(&folder, "runs", &[])).fails(2, &["another recipe", "another folder"]);
    fs::write(
        folder.path("recipe.toml"),
        RECIPE.replace("rate = 60", "rate = 0"),
    )
    .unwrap();
    run(&line(&folder, "new", &[])).fails(2, &["line 5", "rate"]);
}
