//! The metrics on public recordings are those of their documentation: known settings give the published figures.

use carom::Model;
use carom_tasks::evaluate::{Report, evaluate};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::support::{Folder, model, model_of, root, shared};

fn recordings(model: &Model, mapping: &str, file: &str) -> Option<Recordings> {
    let path = shared(&format!("data/{file}"))?;
    let mapping = Mapping::read(&root().join("datasets").join(mapping)).unwrap();
    Some(recording::load(model, &mapping, &[path]).unwrap())
}

fn report(model: &Model, recordings: &Recordings) -> Report {
    let report = evaluate(model, recordings, Stepping::Fixed).unwrap();
    assert_eq!(report.failures().count(), 0);
    report
}

/// Figures agree with published ones to the digits that were printed.
fn assert_figures(report: &Report, figures: &[(&str, f64, f64)]) {
    for &(name, expected, unit) in figures {
        let found = report.total_of(name).unwrap();
        assert!(
            (found - expected).abs() <= unit,
            "{name}: {found}, published {expected}"
        );
    }
}

/// The cube of the settings of `DiffMJX`'s supplement C.2: side 0.1 m, friction 0.4, steps of 0.006767 s.
fn supplement(folder: &Folder) -> Model {
    let text = std::fs::read_to_string(root().join("datasets/contactnets_cube.xml")).unwrap();
    let text = text
        .replace("0.0524 0.0524 0.0524", "0.05 0.05 0.05")
        .replace("\"0.18 ", "\"0.4 ")
        .replace("0.006756756756756757", "0.006767");
    model_of(folder, &text)
}

#[test]
fn cube_figures_of_the_supplement() {
    let folder = Folder::new("supplement");
    let cube = supplement(&folder);
    let mapping = std::fs::read_to_string(root().join("datasets/contactnets_cube.toml")).unwrap();
    let mapping =
        Mapping::parse(&mapping.replace("dt = \"dt\"", "dt = 0.006767"), "c2.toml").unwrap();
    let published = [
        ("first40", [0.242, 0.278, 0.0617, 58.9, 19.0]),
        ("val", [0.262, 0.294, 0.0619, 59.0, 22.8]),
    ];
    for (name, [mae18, mae13, position, percent, rotation]) in published {
        let Some(path) = shared(&format!("data/contactnets_cube/{name}.npz")) else {
            return;
        };
        let recordings = recording::load(&cube, &mapping, &[path]).unwrap();
        let figures = [
            ("mae18", mae18, 0.0006),
            ("mae13", mae13, 0.0006),
            ("position", position, 0.00006),
            ("position_percent", percent, 0.06),
            ("rotation", rotation, 0.06),
        ];
        assert_figures(&report(&cube, &recordings), &figures);
    }
}

#[test]
fn cube_figures_of_the_nominal_side_and_friction() {
    let cube = model("datasets/contactnets_cube.xml");
    let figures = [
        ("mae18", 0.264, 0.0011),
        ("mae13", 0.303, 0.0011),
        ("position", 0.0276, 0.0001),
        ("position_percent", 26.3, 0.11),
        ("rotation", 20.5, 0.11),
    ];
    let Some(arrays) = recordings(
        &cube,
        "contactnets_cube.toml",
        "contactnets_cube/first40.npz",
    ) else {
        return;
    };
    let from_arrays = report(&cube, &arrays);
    assert_figures(&from_arrays, &figures);
    let Some(table) = recordings(
        &cube,
        "contactnets_cube_csv.toml",
        "contactnets_cube/first40.csv",
    ) else {
        return;
    };
    assert_eq!(table.trajectories.len(), 40);
    assert_figures(&report(&cube, &table), &figures);
}

#[test]
fn hidden_friction_figures_of_the_ideal_model() {
    let pendulum = model("datasets/pendulum_hidden_friction.xml");
    let published = [
        ("damped", 0.00136, 0.0308, 1.7),
        ("coulomb", 0.000_126, 0.00447, 0.299),
        ("position", 0.000_662, 0.0171, 1.01),
    ];
    for (law, one_step, roll_q, roll_v) in published {
        let file = format!("pendulum_hidden_friction/{law}_test.npz");
        let Some(mut known) = recordings(&pendulum, "pendulum_hidden_friction.toml", &file) else {
            return;
        };
        let rolled = report(&pendulum, &known);
        assert_figures(
            &rolled,
            &[
                ("mse q", roll_q, 0.005 * roll_q),
                ("mse v", roll_v, 0.005 * roll_v),
            ],
        );
        known.evaluate.window = Some(1);
        known.evaluate.every = Some(1);
        assert_figures(
            &report(&pendulum, &known),
            &[("mse", one_step, 0.005 * one_step)],
        );
    }
}

#[test]
fn lengths_are_those_of_the_reference() {
    let pendulum = model("datasets/pendulum_lengths.xml");
    let Some(known) = recordings(
        &pendulum,
        "pendulum_lengths.toml",
        "pendulum_lengths/reference.npz",
    ) else {
        return;
    };
    assert!(report(&pendulum, &known).total_of("angle").unwrap() < 1e-8);
}

/// Errors by name, and what they may be at most.
type Bounds = &'static [(&'static str, f64)];

/// Calibrated models are better than the published baselines; the one that is only near is about as good, so signs, frames and units are right.
#[test]
fn other_sets_are_predicted_better_than_by_their_baselines() {
    let bounds: [(&str, &str, &str, Bounds); 4] = [
        (
            "contactnets_elbow_calibrated",
            "contactnets_elbow/val.npz",
            "contactnets_elbow",
            &[
                ("position", 0.067),
                ("rotation", 85.6),
                ("angle_degrees", 72.9),
            ],
        ),
        (
            "planar_square_drops_calibrated",
            "planar_square_drops/val.npz",
            "planar_square_drops",
            &[
                ("position", 0.060),
                ("rotation", 78.9),
                ("angle_degrees", 78.9),
            ],
        ),
        (
            "double_pendulum_ibm_calibrated",
            "double_pendulum_ibm/val.npz",
            "double_pendulum_ibm",
            &[("angle", 0.0113)],
        ),
        (
            "schmidt_lipson_double",
            "schmidt_lipson_pendulum/double_pendulum_train.csv",
            "schmidt_lipson_double",
            &[("angle", 0.06)],
        ),
    ];
    for (xml, file, mapping, figures) in bounds {
        let model = model(&format!("datasets/{xml}.xml"));
        let Some(known) = recordings(&model, &format!("{mapping}.toml"), file) else {
            return;
        };
        let report = report(&model, &known);
        for &(name, bound) in figures {
            let found = report.total_of(name).unwrap();
            println!("{xml}: {name} {found}");
            assert!(found < bound, "{xml}: {name} is {found}, more than {bound}");
        }
    }
}

#[test]
fn single_impacts_and_pendulums_are_read() {
    let ellipse = model("datasets/planar_ellipse_impacts_calibrated.xml");
    let Some(known) = recordings(
        &ellipse,
        "planar_ellipse_impacts.toml",
        "planar_ellipse_impacts/val.csv",
    ) else {
        return;
    };
    assert_eq!(
        (known.trajectories.len(), known.trajectories[0].frames()),
        (172, 2)
    );
    let error = report(&ellipse, &known).total_of("error").unwrap();
    println!("ellipse: {error}");
    assert!(
        error < 0.276,
        "the baseline is 0.276, doing nothing 3.95: {error}"
    );
    let single = model("datasets/schmidt_lipson_single.xml");
    let Some(known) = recordings(
        &single,
        "schmidt_lipson_single.toml",
        "schmidt_lipson_pendulum/single_pendulum_train.csv",
    ) else {
        return;
    };
    assert!(report(&single, &known).total_of("angle").unwrap() < 0.03);
}
