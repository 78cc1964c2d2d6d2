//! `carom quickstart`.

use std::fs;
use std::path::Path;

use crate::support::{Folder, run};

/// Commands that were printed, each as its arguments, with the patterns of file names that a shell would replace.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("carom "));
    lines
        .map(|line| line.split_whitespace().flat_map(expanded).collect())
        .collect()
}

fn expanded(word: &str) -> Vec<String> {
    match word.split_once('*') {
        None => vec![word.to_owned()],
        Some((start, end)) => (1..=3)
            .map(|index| format!("{start}{index}{end}"))
            .filter(|path| Path::new(path).exists())
            .collect(),
    }
}

#[test]
fn hidden_numbers_are_found_and_printed_commands_do_the_same() {
    let folder = Folder::new("quickstart");
    let place = folder.path("ball");
    let place = place.to_str().unwrap();
    let outcome = run(&["quickstart", "--no-open", "--out", place]);
    let text = &outcome.succeeds().stdout;
    assert_eq!(text.matches('✓').count(), 4, "{text}");
    assert_eq!(outcome.stderr, "");
    let mut names: Vec<String> = fs::read_dir(place)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let listed = "ball.xml calibrated.xml held_out.csv identify.toml map.toml report.html throw1.csv throw2.csv throw3.csv";
    assert_eq!(names.join(" "), listed);
    let calibrated = folder.path("ball/calibrated.xml");
    let before = fs::read(&calibrated).unwrap();
    fs::remove_file(&calibrated).unwrap();
    let commands = commands(text);
    assert_eq!(commands.len(), 4, "{text}");
    for command in &commands {
        if command[0] != "view" {
            run(command).succeeds();
        }
    }
    // The last command gives the numbers that were printed above it.
    let (_, printed) = text.split_once("with errors of ").unwrap();
    let (millimetres, degrees) = printed.split_once(" mm and ").unwrap();
    let after = |text: &str| -> f64 {
        let (_, after) = text.split_once("→ ").unwrap();
        let number = after.split_whitespace().next().unwrap();
        number.parse().unwrap()
    };
    let document = run(&[&commands[3][..], &["--json".to_owned()]].concat()).json();
    for (metric, factor, printed) in [("position", 1e3, millimetres), ("rotation", 1.0, degrees)] {
        let found = factor * document["total"][metric].as_f64().unwrap();
        let printed = after(printed);
        assert!(
            (found - printed).abs() < 1e-3 * printed,
            "{metric}: {found} for {printed}"
        );
    }
    assert!(document["floor"]["errors"]["position"].as_f64().unwrap() > 0.0);
    let calibrated_text = fs::read_to_string(&calibrated).unwrap();
    assert!(
        calibrated_text.contains("carom/simulation"),
        "{calibrated_text}"
    );
    // In fixed steps, as other programs take them, the file holds too: within a fifth, on a throw that the step was not chosen by.
    let fixed = [
        &commands[3][..],
        &["--json".to_owned(), "--fixed-steps".to_owned()],
    ]
    .concat();
    let fixed = run(&fixed).json();
    for metric in ["position", "rotation"] {
        let error = |document: &serde_json::Value| document["total"][metric].as_f64().unwrap();
        assert!(error(&fixed) < 1.2 * error(&document), "{metric}: {fixed}");
    }
    assert_eq!(fs::read(&calibrated).unwrap(), before);
    let page = fs::read_to_string(folder.path("ball/report.html")).unwrap();
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));
}

#[test]
fn another_seed_hides_another_ball() {
    let folder = Folder::new("quickstart-seed");
    let place = folder.path("ball");
    let place = place.to_str().unwrap();
    let line = ["quickstart", "--seed", "2", "--out", place, "--json"];
    let document = run(&line).succeeds().json();
    assert_eq!(document["within"], 4, "{document}");
    assert!(document.get("error").is_none());
    let noise = document["noise"].as_f64().unwrap();
    assert!((noise - 1.0).abs() < 0.1, "{document}");
    let error = |when: &str, metric: &str| document["validation"][when][metric].as_f64().unwrap();
    for metric in ["position", "rotation"] {
        assert!(
            error("after", metric) < 0.3 * error("before", metric),
            "{document}"
        );
    }
}

#[test]
fn folders_of_others_are_left_alone() {
    let folder = Folder::new("quickstart-other");
    fs::write(folder.path("map.toml"), "mine").unwrap();
    let place = folder.0.to_str().unwrap();
    let line = ["quickstart", "--out", place];
    run(&line).fails(2, &["holds other files", "--out"]);
    assert_eq!(fs::read_to_string(folder.path("map.toml")).unwrap(), "mine");
    let file = folder.path("map.toml/ball");
    run(&["quickstart", "--out", file.to_str().unwrap()]).fails(2, &["cannot make the folder"]);
}
