//! What is said where the calibrated model cannot be written, and of what residuals depend on.

use std::fmt::Write as _;
use std::path::Path;

use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{
    Dependence, Dependences, Driver, Finding, Free, Outcome, Settings, Unwatched,
};
use carom_tasks::recording::{self, Mapping, Recordings};

use super::{identification_json, identification_page, identification_text};

/// What is found of a pendulum, and its recordings.
fn pendulum() -> (Outcome, Recordings) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/pendulum.xml");
    let loaded = carom::load::file(&model, &[]).unwrap();
    let folder = std::env::temp_dir().join(format!("carom-unwritten-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("swing.csv");
    let mut text = "t,angle\n".to_owned();
    for k in 0..100 {
        let time = 0.01 * f64::from(k);
        let angle = 0.5 * (3.6 * time).cos() * (-0.02 * time).exp();
        writeln!(text, "{time},{angle}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let mapping =
        "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = 0.01\n";
    let mapping = Mapping::parse(mapping, "swing.toml").unwrap();
    let recordings = recording::load(&loaded.model, &mapping, &[path]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: None,
        recordings: &recordings,
        held_out: None,
        settings: Settings {
            free: vec![Free::new("joint.pivot.damping[0]".parse().unwrap())],
            ..Settings::default()
        },
        checks: WantedChecks::NONE,
        resume: None,
    };
    let found = workflow::identify(&question, None, &mut Unwatched).unwrap();
    (found, recordings)
}

#[test]
fn what_cannot_be_written_is_not_lost() {
    let (mut found, recordings) = pendulum();
    assert!(found.description.is_ok());
    let why = "the calibrated model cannot be written";
    found.description = Err(carom::Error::new(carom::ErrorKind::Description, why));
    assert!(found.objections().iter().any(|objection| objection == why));
    assert!(found.refusal().is_some());
    let value = found.identified.estimates[0].value;
    let document = identification_json(&found);
    assert_eq!(document["parameters"][0]["value"], value);
    assert!(document["objections"].to_string().contains(why));
    assert!(identification_text(&found).contains(why));
    let page = identification_page(&found, &recordings);
    assert!(page.contains("joint.pivot.damping[0]") && page.contains("cannot be written"));
}

#[test]
fn a_description_that_is_not_that_of_the_model_is_refused_before_the_search() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/pendulum.xml");
    let mut loaded = carom::load::file(&model, &[]).unwrap();
    let folder = std::env::temp_dir().join(format!("carom-other-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("swing.csv");
    std::fs::write(&path, "t,angle\n0,0.5\n0.01,0.499\n0.02,0.497\n").unwrap();
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n";
    let mapping = Mapping::parse(mapping, "swing.toml").unwrap();
    let recordings = recording::load(&loaded.model, &mapping, &[path]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    loaded.spec.option.gravity[2] = -1.0;
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: None,
        recordings: &recordings,
        held_out: None,
        settings: Settings {
            free: vec![Free::new("joint.pivot.damping[0]".parse().unwrap())],
            ..Settings::default()
        },
        checks: WantedChecks::NONE,
        resume: None,
    };
    let refused = workflow::identify(&question, None, &mut Unwatched).unwrap_err();
    assert!(
        refused.to_string().contains("cannot be written"),
        "{refused}"
    );
}

#[test]
fn what_residuals_depend_on_is_said_where_it_is_significant_alone() {
    let (mut found, recordings) = pendulum();
    let row = |driver, share, is_significant| Dependence {
        signal: "joint pivot position".to_owned(),
        driver,
        element: "joint pivot".to_owned(),
        correlation: -0.9,
        share,
        probability: 1e-9,
        is_significant,
    };
    let words = "velocity-dependent: free joint.pivot.damping[0]";
    found.dependences = Some(Dependences {
        rows: vec![
            row(Driver::Velocity, 0.812, true),
            row(Driver::Load, 0.01, false),
        ],
        findings: vec![Finding {
            signal: "joint pivot position".to_owned(),
            driver: Driver::Velocity,
            element: "joint pivot".to_owned(),
            share: 0.812,
            words: words.to_owned(),
        }],
        runs: [1, 1],
    });
    let text = identification_text(&found);
    assert!(text.contains("what residuals depend on") && text.contains(words));
    assert!(text.contains("81.2 %") && !text.contains("load-dependent"));
    let page = identification_page(&found, &recordings);
    assert!(page.contains("What residuals depend on") && page.contains("&lt; 1e-6"));
    assert!(page.contains("81.2 %") && !page.contains("load-dependent"));
    let document = identification_json(&found);
    assert_eq!(document["dependences"]["rows"][0]["driver"], "velocity");
    assert_eq!(document["dependences"]["rows"][1]["significant"], false);
    assert_eq!(document["dependences"]["findings"][0]["words"], words);
    // Nothing is named where nothing is significant.
    found.dependences = Some(Dependences::default());
    assert!(!identification_text(&found).contains("depend on"));
    let page = identification_page(&found, &recordings);
    assert!(page.contains("Residuals depend on nothing that was looked at"));
    found.dependences = None;
    assert!(identification_json(&found)["dependences"].is_null());
    assert!(!identification_page(&found, &recordings).contains("esiduals depend on"));
}
