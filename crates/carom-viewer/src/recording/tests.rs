use super::*;
use crate::testing::{ball_and_pendulum, numbers, time};

fn two_states() -> ([f64; 2], Vec<f64>) {
    let first = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.1];
    let second = [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0, 0.2];
    ([0.0, 0.5], [first, second].concat())
}

#[test]
fn states_become_frames() {
    let model = ball_and_pendulum();
    let (time_of, qpos) = two_states();
    let motion = Trajectory {
        time: &time_of,
        qpos: &qpos,
        ..Trajectory::default()
    };
    let recording = Recording::new("run", &model, &motion, None).unwrap();
    assert_eq!((recording.frames(), recording.duration()), (2, 0.5));
    assert!(!recording.has_gradients());
    let last = recording.frame(1).unwrap();
    assert_eq!(time(last), 0.5);
    // Body 1 is the ball.
    assert_eq!(numbers(last)[7..14], [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn the_bytes_are_laid_out_as_the_page_reads_them() {
    let model = ball_and_pendulum();
    let (time_of, qpos) = two_states();
    let motion = Trajectory {
        time: &time_of,
        qpos: &qpos,
        ..Trajectory::default()
    };
    let recording = Recording::new("möve", &model, &motion, None).unwrap();
    let bytes = recording.to_bytes();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(&bytes[..4], b"CRR1");
    assert_eq!((word(4), word(8)), (2, 5));
    assert_eq!(&bytes[12..20], "möve\0\0\0".as_bytes());
    let first = recording.frame(0).unwrap();
    assert_eq!(word(20), first.len());
    assert_eq!(&bytes[24..24 + first.len()], first);
    assert_eq!(&bytes[24..28], b"CRF1");
    let second = 24 + first.len();
    assert_eq!(second % 4, 0);
    assert_eq!(bytes.len(), second + 4 + word(second));
}

#[test]
fn thinning_keeps_the_ends_and_a_regular_pace() {
    let time_of: Vec<f64> = (0..=1000).map(|step| f64::from(step) * 0.002).collect();
    let rows = chosen(&time_of, Some(60.0));
    assert_eq!((rows[0], *rows.last().unwrap()), (0, 1000));
    assert!((120..=122).contains(&rows.len()), "{}", rows.len());
    assert!(rows.windows(2).all(|pair| pair[1] - pair[0] <= 9));
    assert_eq!(chosen(&time_of, None).len(), 1001);
    // After a gap the pace is the same.
    let rows = chosen(&[0.0, 10.0, 10.001, 10.002, 10.02], Some(60.0));
    assert_eq!(rows, [0, 1, 4]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = ball_and_pendulum();
    let (time_of, qpos) = two_states();
    let motion = Trajectory {
        time: &time_of,
        qpos: &qpos,
        ..Trajectory::default()
    };
    let check = |motion: Trajectory<'_>, expected: &str| {
        let error = Recording::new("run", &model, &motion, None).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(Trajectory::default(), "no states");
    check(
        Trajectory {
            qpos: &qpos[1..],
            ..motion
        },
        "qpos has 15 numbers; 2 states of this model have 16 (8 each)",
    );
    check(
        Trajectory {
            qvel: &[0.0],
            ..motion
        },
        "qvel has 1 numbers",
    );
    check(
        Trajectory {
            time: &[0.5, 0.0],
            ..motion
        },
        "time goes back in row 1",
    );
    check(
        Trajectory {
            time: &[0.0, f64::NAN],
            ..motion
        },
        "time is NaN in row 1",
    );
    check(
        Trajectory {
            gradient: &[0.0; 8],
            ..motion
        },
        "grad_qvel has 8 numbers",
    );
}

/// For a free body the arrow is the gradient itself; for the pendulum it lies across the rod, g/r at the distance r of
/// its centre of mass.
#[test]
fn gradients_become_arrows() {
    let model = ball_and_pendulum();
    let (time_of, mut qpos) = two_states();
    qpos[7] = 0.0;
    let motion = Trajectory {
        time: &time_of,
        qpos: &qpos,
        gradient: &[1.0, -2.0, 3.0, 0.0, 0.0, 0.0, 0.5],
        ..Trajectory::default()
    };
    let recording = Recording::new("run", &model, &motion, None).unwrap();
    assert!(recording.has_gradients());
    let first = numbers(recording.frame(0).unwrap());
    let arrows = &first[first.len() - 9..];
    assert_eq!(arrows[..3], [0.0; 3]);
    for (found, expected) in arrows[3..6].iter().zip([1.0, -2.0, 3.0]) {
        assert!((found - expected).abs() < 1e-5, "{arrows:?}");
    }
    // The rod hangs down: turning about y moves its centre along −x.
    assert!((arrows[6] + 0.5 / 0.25).abs() < 1e-5, "{arrows:?}");
    assert!(arrows[7].abs() + arrows[8].abs() < 1e-5, "{arrows:?}");
    // The second row has no gradient: its frame is that much shorter.
    let second = numbers(recording.frame(1).unwrap());
    assert_eq!(second.len() + 9, first.len());
}

#[test]
fn a_simulation_is_recorded_at_the_rate_of_the_page() {
    let model = ball_and_pendulum();
    let start = crate::Start::reference(&model);
    let (recording, failure) = Recording::simulate("sim", &model, &start, 1.0, |_| true).unwrap();
    assert_eq!(failure, None);
    assert!(
        (60..=62).contains(&recording.frames()),
        "{}",
        recording.frames()
    );
    assert!((recording.duration() - 1.0).abs() < 1e-9);
    let (still, _) = Recording::simulate("still", &model, &start, 0.0, |_| true).unwrap();
    assert_eq!((still.frames(), still.duration()), (1, 0.0));
    let (cut, _) = Recording::simulate("cut", &model, &start, 1.0, |time| time < 0.5).unwrap();
    assert!((0.5..0.52).contains(&cut.duration()), "{}", cut.duration());
}

#[test]
fn a_simulation_that_fails_is_kept_up_to_there() {
    let model = ball_and_pendulum();
    let mut start = crate::Start::reference(&model);
    // The square of this is not finite.
    start.state.qvel[6] = 1e200;
    let (recording, failure) = Recording::simulate("sim", &model, &start, 1.0, |_| true).unwrap();
    assert!(failure.unwrap().contains("smaller time step"));
    assert!(recording.frames() >= 1);
    assert!(recording.duration() < 1.0);
}
