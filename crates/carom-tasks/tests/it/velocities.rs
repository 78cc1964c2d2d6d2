//! Velocities that were not recorded.

use std::fmt::Write as _;

use carom::math::{Quat, Vec3};

use crate::support::{Folder, load, model};

const TIMES: [f64; 9] = [0.0, 0.01, 0.025, 0.03, 0.05, 0.06, 0.075, 0.08, 0.1];

/// A table of a free cube that moves by a parabola and turns at a constant rate about its own axis.
fn toss() -> String {
    let mut lines = vec!["t,x,y,z,w,i,j,k".to_owned()];
    for t in TIMES {
        let quat = Quat::new(0.8, 0.6, 0.0, 0.0).mul(Quat::exp(Vec3([3.0 * t, -2.0 * t, 1.0 * t])));
        let [w, i, j, k] = quat.0;
        let (x, y, z) = (0.2 + 1.5 * t, -0.4 * t, 0.3 + 2.0 * t - 4.905 * t * t);
        lines.push(format!("{t},{x},{y},{z},{w},{i},{j},{k}"));
    }
    lines.join("\n")
}

fn mapping(velocity: &str) -> String {
    format!(
        "[time]\ncolumn = 't'\n[velocity]\n{velocity}\n[[body]]\nname = 'cube'\nposition = ['x', 'y', 'z']\nrotation = ['w', 'i', 'j', 'k']\n"
    )
}

#[test]
fn parabolas_are_exact_for_parabolas_at_uneven_times() {
    let folder = Folder::new("smooth");
    let cube = model("datasets/contactnets_cube.xml");
    let path = folder.write("toss.csv", &toss());
    let recordings = load(
        &cube,
        &mapping("method = 'smooth'\nframes = 3\nsmooth_positions = true"),
        &path,
    )
    .unwrap();
    for (frame, t) in TIMES.iter().enumerate() {
        let start = recordings.start(&cube, 0, frame).unwrap();
        let expected = [1.5, -0.4, 2.0 - 9.81 * t, 3.0, -2.0, 1.0];
        for (found, expected) in start.qvel.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-9,
                "frame {frame}: {found} and {expected}"
            );
        }
        assert!((start.qpos[2] - (0.3 + 2.0 * t - 4.905 * t * t)).abs() < 1e-12);
    }
}

#[test]
fn differences_are_means_since_the_frame_before() {
    let folder = Folder::new("backward");
    let cube = model("datasets/contactnets_cube.xml");
    let path = folder.write("toss.csv", &toss());
    let recordings = load(&cube, &mapping("method = 'backward'"), &path).unwrap();
    for frame in 0..TIMES.len() {
        let (from, to) = (TIMES[frame.max(1) - 1], TIMES[frame.max(1)]);
        let start = recordings.start(&cube, 0, frame).unwrap();
        let expected = [1.5, -0.4, 2.0 - 4.905 * (from + to), 3.0, -2.0, 1.0];
        for (found, expected) in start.qvel.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-9,
                "frame {frame}: {found} and {expected}"
            );
        }
    }
}

#[test]
fn means_start_half_an_interval_later() {
    let folder = Folder::new("means");
    let cube = model("datasets/contactnets_cube.xml");
    let path = folder.write("toss.csv", &toss());
    let mut recordings = load(&cube, &mapping("method = 'backward'\nmeans = true"), &path).unwrap();
    assert!(recordings.velocity.means);
    // In continuous time a toss without contact is then predicted exactly but for what rounding leaves.
    recordings.start = 1;
    let settings = carom::flow::FlowSettings::default();
    let stepping = carom_tasks::problem::Stepping::Flow(settings);
    let report = carom_tasks::evaluate::evaluate(&cube, &recordings, stepping).unwrap();
    let error = report.total_of("position").unwrap();
    assert!(error < 1e-7, "{error}");
    recordings.velocity.means = false;
    let report = carom_tasks::evaluate::evaluate(&cube, &recordings, stepping).unwrap();
    assert!(report.total_of("position").unwrap() > 1e-3);
}

#[test]
fn missing_frames_are_passed_over() {
    let folder = Folder::new("missing-velocity");
    let cube = model("datasets/contactnets_cube.xml");
    let mut lines: Vec<String> = toss().lines().map(str::to_owned).collect();
    lines[4] = "0.03,nan,nan,nan,nan,nan,nan,nan".to_owned();
    let path = folder.write("toss.csv", &lines.join("\n"));
    let mapping = mapping("method = 'smooth'\nframes = 3") + "missing = true\n";
    let recordings = load(&cube, &mapping, &path).unwrap();
    assert!(recordings.trajectories[0].value(0, 3, 3).is_none());
    for frame in [2, 4] {
        let start = recordings.start(&cube, 0, frame).unwrap();
        assert!((start.qvel[2] - (2.0 - 9.81 * TIMES[frame])).abs() < 1e-9);
    }
    // Where it is missing, the state is between its neighbours.
    let start = recordings.start(&cube, 0, 3).unwrap();
    assert!((start.qpos[0] - (0.2 + 1.5 * 0.03)).abs() < 1e-12);
    assert!((start.qvel[3] - 3.0).abs() < 1e-9);
}

#[test]
fn a_cubic_is_exact_where_a_parabola_is_biased_as_documented() {
    let folder = Folder::new("cubic");
    let pendulum = model("models/pendulum.xml");
    let (rate, jerk) = (100.0, 60.0);
    let mut text = "t,angle\n".to_owned();
    for k in 0..21 {
        let t = f64::from(k) / rate;
        let place = 0.3 + 0.5 * t - 2.0 * t * t + jerk / 6.0 * t.powi(3);
        writeln!(text, "{t},{place}").unwrap();
    }
    let path = folder.write("swing.csv", &text);
    let slope = |velocity: &str| {
        let mapping = format!(
            "[time]\ncolumn = 't'\n[velocity]\nmethod = 'smooth'\nframes = 7\n{velocity}\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n"
        );
        let recordings = load(&pendulum, &mapping, &path).unwrap();
        recordings.start(&pendulum, 0, 10).unwrap().qvel[0]
    };
    let t: f64 = 0.1;
    let expected = 0.5 - 4.0 * t + jerk / 2.0 * t * t;
    for degree in 3..=5 {
        let found = slope(&format!("degree = {degree}"));
        assert!((found - expected).abs() < 1e-9, "{degree}: {found}");
    }
    // Σk⁴/Σk² = (3m² + 3m − 1)/5, about 3m²/5 for many frames.
    let bias = jerk / 6.0 * (3.0 * 49.0 + 21.0 - 1.0) / 5.0 / (rate * rate);
    assert!((slope("") - expected - bias).abs() < 1e-9);
    let mapping = "[time]\ncolumn = 't'\n[velocity]\nmethod = 'smooth'\ndegree = 9\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n";
    let error = load(&pendulum, mapping, &path).unwrap_err().to_string();
    assert!(
        error.contains("[velocity] degree = 9: give a number from 1 to 5"),
        "{error}"
    );
}
