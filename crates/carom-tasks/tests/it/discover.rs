//! What models lack is found, and nothing is found where nothing is missing.

use carom_tasks::discover::{Discovery, Settings, discover};
use carom_tasks::recording::{self, Mapping};

use crate::hidden_made::{LAWS, Plan, expected, model, recordings};

fn plan(seed: u64) -> Plan {
    Plan {
        runs: 6,
        frames: 64,
        gap: 0.01,
        noise: [2e-4, 2e-3],
        seed,
    }
}

/// Terms with their inputs in order.
fn terms(found: &Discovery) -> Vec<(String, Vec<String>)> {
    let mut terms: Vec<(String, Vec<String>)> = (found.terms.iter())
        .map(|term| {
            let mut inputs = term.inputs.clone();
            inputs.sort();
            (term.target.clone(), inputs)
        })
        .collect();
    terms.sort();
    terms
}

fn find(law: &str, seed: u64) -> (Discovery, Vec<(String, Vec<String>)>) {
    let model = model("pendulum").unwrap();
    let law = LAWS.iter().find(|one| one.name == law).unwrap();
    let recordings = recordings(&model, law, &plan(seed)).unwrap();
    let found = discover(
        &model,
        &recordings,
        &Settings::default(),
        (None, &mut |_, _| ()),
    )
    .unwrap();
    (found, expected(law, 2))
}

#[test]
fn linear_damping_is_found_with_its_numbers() {
    let (found, expected) = find("viscous", 100);
    assert_eq!(terms(&found), expected, "{}", found.words());
    for (term, damping) in found.terms.iter().zip([0.06, 0.03]) {
        let number = &term.numbers[0];
        assert_eq!(number.name, "damping");
        let error = number.error.unwrap();
        assert!(
            (number.value - damping).abs() < 5.0 * error + 1e-3 * damping,
            "{number:?}"
        );
        assert!(error < 0.05 * damping, "{number:?}");
        assert!(term.remedy.as_ref().unwrap().contains("damping"));
    }
}

#[test]
fn nothing_is_missing_where_the_model_is_right() {
    for seed in 101..103 {
        let (found, _) = find("nothing", seed);
        assert!(found.terms.is_empty(), "{}", found.words());
        assert_eq!(found.words(), "nothing is missing");
    }
}

#[test]
fn errors_that_no_input_explains_are_not_called_nothing() {
    let model = model("pendulum").unwrap();
    let law = LAWS.iter().find(|law| law.name == "viscous").unwrap();
    let motion = recordings(&model, law, &plan(107)).unwrap();
    let settings = Settings {
        inputs: vec!["time".to_owned()],
        ..Settings::default()
    };
    let found = discover(&model, &motion, &settings, (None, &mut |_, _| ())).unwrap();
    assert!(found.terms.is_empty(), "{}", found.words());
    assert!(found.is_unexplained());
    assert!(found.words().starts_with("something is missing"));
}

#[test]
fn the_velocity_of_another_joint_is_told_from_its_own() {
    let (found, expected) = find("other velocity", 104);
    assert_eq!(terms(&found), expected, "{}", found.words());
}

#[test]
fn the_answer_does_not_depend_on_the_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| find("viscous", 105).0)
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one.terms, three.terms);
    assert_eq!(
        one.residuals.map(f64::to_bits),
        three.residuals.map(f64::to_bits)
    );
}

#[test]
fn unknown_names_and_short_recordings_are_errors() {
    let model = model("pendulum").unwrap();
    let motion = recordings(
        &model,
        &LAWS[0],
        &Plan {
            runs: 1,
            frames: 3,
            ..plan(0)
        },
    )
    .unwrap();
    let ask = |settings: &Settings| discover(&model, &motion, settings, (None, &mut |_, _| ()));
    let error = ask(&Settings {
        targets: vec!["joint.elbow.force".to_owned()],
        ..Settings::default()
    })
    .unwrap_err();
    assert!(matches!(error.kind(), carom_tasks::ErrorKind::Settings));
    assert!(error.to_string().contains("joint.elbow.force"), "{error}");
    let error = ask(&Settings {
        inputs: vec!["**weight*".to_owned()],
        ..Settings::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
    let error = ask(&Settings::default()).unwrap_err();
    assert!(matches!(error.kind(), carom_tasks::ErrorKind::Recording));
}

#[test]
fn the_hidden_frictions_of_the_shared_pendulum_are_found() {
    let Some(folder) = carom_testing::shared("data/pendulum_hidden_friction") else {
        return;
    };
    let datasets = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let model = carom::load::file(&datasets.join("pendulum_hidden_friction.xml"), &[])
        .unwrap()
        .model;
    let mapping = Mapping::read(&datasets.join("pendulum_hidden_friction.toml")).unwrap();
    let laws = [
        ("damped", vec!["velocity"]),
        ("coulomb", vec!["velocity"]),
        ("position", vec!["position", "velocity"]),
    ];
    // A few segments with large errors decide where samples are few.
    let few = laws.iter().cloned().map(|law| (law, 600));
    let many = laws.iter().cloned().map(|law| (law, 4000));
    let count = carom_testing::by_tier(1, 3);
    for ((law, inputs), most_intervals) in few.chain(many.take(count)) {
        let files = [folder.join(format!("{law}_train.npz"))];
        let recordings = recording::load(&model, &mapping, &files).unwrap();
        let settings = Settings {
            most_intervals,
            ..Settings::default()
        };
        let found = discover(&model, &recordings, &settings, (None, &mut |_, _| ())).unwrap();
        let expected: Vec<(String, Vec<String>)> = (1..=2)
            .map(|joint| {
                let names = inputs
                    .iter()
                    .map(|input| format!("joint.joint{joint}.{input}"));
                (format!("joint.joint{joint}.force"), names.collect())
            })
            .collect();
        assert_eq!(terms(&found), expected, "{law}: {}", found.words());
    }
}
