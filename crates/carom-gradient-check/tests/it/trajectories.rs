//! Gradients of single steps and of trajectories of 100 steps, on every model at hand, against dual numbers.
//!
//! Dual numbers follow the same trajectory to the last bit, along directions of the start, of all controls and of all
//! numbers of the model at once. No kink is an excuse: both take the same side. Where numbers grow beyond all bounds the
//! trajectory ends before, which is printed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use carom_gradient_check::{DUAL_BAR, check_trajectory};

/// Steps of the trajectories.
const STEPS: usize = 100;
/// Steps before the single one: contacts have been made by then.
const BEFORE: usize = 40;
/// Share of the models whose trajectory may be shorter, by numbers that grow beyond all bounds.
const SHORTER: f64 = 0.05;

/// What was found on one model.
enum Found {
    Agrees { line: String, is_shorter: bool },
    Wrong(String),
}

fn examine(path: &Path) -> Found {
    // Many files are called scene.xml: their folder tells more.
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    let name = Path::new(folder).join(path.file_stem().unwrap_or_default());
    let name = name.display();
    let model = carom::load::file(path, &[]).unwrap().model;
    let (mut line, mut is_shorter) = (format!("{name}:"), false);
    for (before, steps) in [(BEFORE, 1), (0, STEPS)] {
        let report = match check_trajectory(&model, before, steps, 1) {
            Ok(report) => report,
            Err(error) => return Found::Wrong(format!("{name}: {error}")),
        };
        write!(line, " {} steps {:.1e}", report.steps, report.error).unwrap();
        if let Some((step, why)) = &report.ended {
            is_shorter = true;
            write!(line, " (ended before step {step}: {why})").unwrap();
        }
        if report.error.is_nan() || report.error > DUAL_BAR {
            let since = report.disagree_at.unwrap_or(steps);
            return Found::Wrong(format!(
                "{line}, along {}, since step {since}",
                report.along
            ));
        }
    }
    Found::Agrees { line, is_shorter }
}

#[test]
fn steps_and_trajectories_agree_with_dual_numbers_on_every_model() {
    let models = carom_testing::shipped_models().into_iter();
    let models = models.chain(carom_testing::shared_models());
    let mut paths: Vec<PathBuf> = models.map(|(_, path)| path).collect();
    // The largest files take longest: they go first.
    paths.sort_by_key(|path| std::fs::metadata(path).map_or(0, |file| file.len()));
    let queue: Mutex<Vec<PathBuf>> = Mutex::new(paths);
    let found: Mutex<Vec<Found>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(path) = queue.lock().unwrap().pop() else {
                        break;
                    };
                    let result = examine(&path);
                    found.lock().unwrap().push(result);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let (mut wrong, mut shorter) = (Vec::new(), 0);
    for found in &found {
        match found {
            Found::Agrees { line, is_shorter } => {
                println!("{line}");
                shorter += usize::from(*is_shorter);
            }
            Found::Wrong(line) => wrong.push(line.as_str()),
        }
    }
    println!("{} models, {shorter} of them shorter", found.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        shorter as f64 <= SHORTER * found.len() as f64,
        "{shorter} of {} trajectories end early",
        found.len()
    );
}
