//! What is said where the calibrated model cannot be written.

use std::fmt::Write as _;
use std::path::Path;

use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{Free, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping};

use super::{identification_json, identification_page, identification_text};

#[test]
fn what_cannot_be_written_is_not_lost() {
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
    let mut found = workflow::identify(&question, None, &mut Unwatched).unwrap();
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
