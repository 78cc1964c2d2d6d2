//! The contact of a thrown box by the preset `contact`, with nothing chosen by hand.

use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{ErrorBasis, Grade, Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping};

use crate::support::Folder;
use crate::throws_made::{MAPPING, Thrown};

/// Sliding friction, time constant (s) and damping ratio.
const TRUTH: [f64; 3] = [0.35, 0.012, 0.5];
const START: [f64; 3] = [0.5, 0.015, 0.7];

fn identified() -> Outcome {
    let folder = Folder::new("throws");
    let thrown = Thrown {
        size: [0.06, 0.045, 0.03],
        contact: TRUTH,
        speeds: [1.5, 8.0],
        throws: 3,
        frames: 40,
    };
    let read = |thrown: Thrown, name: &str| {
        let path = folder.write(name, &thrown.mjcf());
        carom::load::file(&path, &[]).unwrap()
    };
    let hidden = read(thrown, "hidden.xml").model;
    let begun = Thrown {
        contact: START,
        ..thrown
    };
    let begun = read(begun, "box.xml");
    let paths = thrown.record(&hidden, &folder.path(""), 0).unwrap();
    let mapping = Mapping::parse(MAPPING, "mapping.toml").unwrap();
    let recordings = recording::load(&begun.model, &mapping, &paths).unwrap();
    let mut settings = Settings::default();
    settings.add_preset("contact").unwrap();
    let question = Question {
        model: &begun.model,
        spec: &begun.spec,
        original: None,
        recordings: &recordings,
        held_out: None,
        settings,
        checks: WantedChecks::NONE,
        resume: None,
    };
    workflow::identify(&question, None, &mut Unwatched).unwrap()
}

/// Errors are those of repeated searches, never narrower than by derivatives, and intervals hold the truth. The verdict goes by
/// whether every impact is followed.
#[test]
fn throws_tell_a_contact_with_intervals_from_repeated_searches() {
    if !carom_testing::is_long() {
        carom_testing::skip("five searches through impacts take minutes: they run with --long");
        return;
    }
    let outcome = identified();
    let found = &outcome.identified;
    assert_eq!(found.basis, ErrorBasis::Repetitions);
    let repetitions = found.repetitions.as_ref().unwrap();
    assert!(repetitions.errors.len() >= 3 && repetitions.factor >= 1.0);
    for (one, truth) in found.estimates.iter().zip(TRUTH) {
        let [low, high] = one.interval;
        assert!(low <= truth && truth <= high, "{one:?} {truth}");
        assert!((one.value / truth - 1.0).abs() < 0.15, "{one:?} {truth}");
    }
    let chance = 3.0 / (2.0 * found.degrees as f64).sqrt();
    let verdict = outcome.verdict();
    let is_doubted = verdict.reasons.iter().any(|one| one.rule == "impacts");
    assert_eq!(is_doubted, found.noise > 1.0 + chance, "{verdict:?}");

    // Without repeated searches, or above the noise, nothing is green.
    let mut unrepeated = outcome.clone();
    unrepeated.identified.repetitions = None;
    let mut above = outcome;
    above.identified.noise = 1.1;
    for doubted in [&unrepeated, &above] {
        let verdict = doubted.verdict();
        assert!(verdict.grade <= Grade::Doubtful, "{verdict:?}");
        assert!(verdict.reasons.iter().any(|one| one.rule == "impacts"));
    }
}
