//! Recordings of all formats and conventions.

use carom_tasks::evaluate::evaluate;
use carom_tasks::problem::Stepping;
use carom_tasks::recording::Trajectory;

use crate::support::{Folder, load, model};

const PENDULUM: &str = "models/double_pendulum.xml";

#[test]
fn units_orders_and_offsets_are_converted() {
    let folder = Folder::new("units");
    let cube = model("datasets/contactnets_cube.xml");
    let path = folder.write(
        "toss.csv",
        "t;x;y;z;qx;qy;qz;qw;wx;wy;wz\n0;100;200;300;1;0;0;0;0;0;2\n10;101;200;300;1;0;0;0;0;0;2\n",
    );
    let mapping = "[time]\ncolumn = 't'\nfactor = 0.001\n[[body]]\nname = 'cube'\nposition = ['x', 'y', 'z']\nunit = 'mm'\n\
        rotation = ['qx', 'qy', 'qz', 'qw']\nrotation_format = 'xyzw'\nangular_velocity = ['wx', 'wy', 'wz']\nangular_velocity_axes = 'world'\n";
    let recordings = load(&cube, mapping, &path).unwrap();
    let start = recordings.start(&cube, 0, 1).unwrap();
    let near = |found: &[f64], expected: &[f64]| {
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{found} is not {expected}"
            );
        }
    };
    near(&start.qpos, &[0.101, 0.2, 0.3, 0.0, 1.0, 0.0, 0.0]);
    // A turn about the world's z is one about −z of a body that lies on its back.
    near(&start.qvel, &[0.1, 0.0, 0.0, 0.0, 0.0, -2.0]);
    assert_eq!(recordings.trajectories[0].times, [0.0, 0.01]);
}

#[test]
fn worlds_and_tracked_frames_are_placed() {
    let folder = Folder::new("frames");
    let cube = model("datasets/contactnets_cube.xml");
    let path = folder.write(
        "toss.csv",
        "t,x,y,z,w,i,j,k,vx,vy,vz,wx,wy,wz\n0,1,0,0,1,0,0,0,0,0,0,0,0,1\n0.01,1,0,0,1,0,0,0,0,0,0,0,0,1\n",
    );
    // The recording's world is turned by 90° about z and lies 1 m higher; the tag is 0.1 m along the body's x.
    let mapping = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = ['x', 'y', 'z']\nrotation = ['w', 'i', 'j', 'k']\n\
        linear_velocity = ['vx', 'vy', 'vz']\nangular_velocity = ['wx', 'wy', 'wz']\n\
        world = { position = [0, 0, 1], quaternion = [0.7071067811865476, 0, 0, 0.7071067811865476] }\ntracked = { position = [0.1, 0, 0] }\n";
    let recordings = load(&cube, mapping, &path).unwrap();
    let start = recordings.start(&cube, 0, 0).unwrap();
    let expected = [0.0, 0.9, 1.0, 0.5_f64.sqrt(), 0.0, 0.0, 0.5_f64.sqrt()];
    for (found, expected) in start.qpos.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
    // The tag stands still while the body turns about z at 1 rad/s: its centre moves along −(z × (0, 0.1, 0)).
    let expected = [0.1, 0.0, 0.0, 0.0, 0.0, 1.0];
    for (found, expected) in start.qvel.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{:?}", start.qvel);
    }
}

#[test]
fn tables_split_by_columns_and_gaps() {
    let folder = Folder::new("split");
    let pendulum = model(PENDULUM);
    let path = folder.write(
        "swings.csv",
        "run,t,a,b\nfirst,5.0,10,20\nfirst,5.1,11,23\nfirst,5.2,12,26\nsecond,0.0,1,1\nsecond,0.1,2,2\nsecond,0.9,3,3\nsecond,1.0,4,4\n",
    );
    let names = &pendulum.structure.names.joints;
    let mapping = format!(
        "[time]\ncolumn = 't'\n[trajectories]\ncolumns = ['run']\nlongest_gap = 0.5\n[[joint]]\nname = '{}'\nposition = 'a'\nunit = 'deg'\n\
         [[joint]]\nname = '{}'\nposition = 'b'\nminus = 'a'\nunit = 'deg'\noffset = 1.0\n",
        names[0], names[1]
    );
    let recordings = load(&pendulum, &mapping, &path).unwrap();
    let lengths: Vec<usize> = recordings
        .trajectories
        .iter()
        .map(Trajectory::frames)
        .collect();
    assert_eq!(lengths, [3, 2, 2]);
    assert_eq!(recordings.trajectories[2].label, "swings.csv #2");
    let start = recordings.start(&pendulum, 0, 2).unwrap();
    let degree = std::f64::consts::PI / 180.0;
    assert!((start.qpos[0] - 12.0 * degree).abs() < 1e-12);
    assert!((start.qpos[1] - (14.0 * degree + 1.0)).abs() < 1e-12);
    assert!((start.qvel[1] - 20.0 * degree).abs() < 1e-9);
}

#[test]
fn arrays_split_by_offsets_axes_and_choice() {
    let folder = Folder::new("npz");
    let pendulum = model("models/pendulum.xml");
    let joint = pendulum.structure.names.joints[0].clone();
    let flat = folder.npz(
        "flat.npz",
        &[
            ("q", &[7], (0..7).map(f64::from).collect()),
            ("starts", &[4], vec![0.0, 2.0, 4.0, 7.0]),
            ("good", &[3], vec![1.0, 0.0, 1.0]),
            ("hz", &[], vec![50.0]),
        ],
    );
    let mapping = format!(
        "time.rate = 'hz'\n[trajectories]\noffsets = 'starts'\nkeep = 'good'\n[[joint]]\nname = '{joint}'\nposition = 'q'\n"
    );
    let recordings = load(&pendulum, &mapping, &flat).unwrap();
    let firsts: Vec<f64> = recordings
        .trajectories
        .iter()
        .map(|t| t.values[0][0])
        .collect();
    assert_eq!(firsts, [0.0, 4.0]);
    assert_eq!(recordings.trajectories[1].times, [0.0, 0.02, 0.04]);

    let cube = folder.npz(
        "cube.npz",
        &[("q", &[2, 3, 1], vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0])],
    );
    let mapping = format!(
        "time.dt = 0.1\ntrajectories.axis = true\n[[joint]]\nname = '{joint}'\nposition = 'q[0]'\n"
    );
    let recordings = load(&pendulum, &mapping, &cube).unwrap();
    assert_eq!(recordings.trajectories.len(), 2);
    assert_eq!(recordings.trajectories[1].values[0], [10.0, 11.0, 12.0]);
}

#[test]
fn controls_may_have_one_row_fewer_than_frames() {
    let folder = Folder::new("controls");
    let cartpole = model("models/cartpole.xml");
    let names = &cartpole.structure.names;
    let path = folder.npz(
        "runs.npz",
        &[
            (
                "q",
                &[2, 3, 2],
                (0..12).map(|x| f64::from(x) * 0.01).collect(),
            ),
            ("u", &[2, 2, 1], vec![1.0, 2.0, 3.0, 4.0]),
        ],
    );
    let mapping = format!(
        "time.dt = 0.01\ntrajectories.axis = true\n[[joint]]\nname = '{}'\nposition = 'q[0]'\n[[joint]]\nname = '{}'\nposition = 'q[1]'\n\
         [[actuator]]\nname = '{}'\ncontrol = 'u[0]'\nfactor = 10\n",
        names.joints[0], names.joints[1], names.actuators[0]
    );
    let recordings = load(&cartpole, &mapping, &path).unwrap();
    let controls: Vec<&[f64]> = recordings
        .trajectories
        .iter()
        .map(|t| t.controls.as_slice())
        .collect();
    assert_eq!(controls, [[10.0, 20.0, 20.0], [30.0, 40.0, 40.0]]);
}

#[test]
fn channels_with_clocks_of_their_own_meet_on_all_times() {
    let folder = Folder::new("clocks");
    let pendulum = model(PENDULUM);
    let names = &pendulum.structure.names.joints;
    let path = folder.npz(
        "two.npz",
        &[
            ("a", &[3], vec![0.0, 0.1, 0.2]),
            ("ta", &[3], vec![10.0, 10.1, 10.2]),
            ("b", &[2], vec![1.0, 1.3]),
            ("tb", &[2], vec![10.0, 10.15]),
        ],
    );
    let mapping = format!(
        "[[joint]]\nname = '{}'\nposition = 'a'\ntime = 'ta'\n[[joint]]\nname = '{}'\nposition = 'b'\ntime = 'tb'\n",
        names[0], names[1]
    );
    let recordings = load(&pendulum, &mapping, &path).unwrap();
    let trajectory = &recordings.trajectories[0];
    assert_eq!(trajectory.frames(), 4);
    assert!(
        trajectory.value(0, 2, 1).is_none(),
        "the first joint has no value at 10.15"
    );
    let start = recordings.start(&pendulum, 0, 1).unwrap();
    assert!((start.qpos[1] - 1.2).abs() < 1e-9, "between its neighbours");
    let error = recordings.start(&pendulum, 0, 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two.npz: frame 3 cannot start a simulation: qpos[1] is missing there and around it; start from another frame ([trajectories] start)"
    );
}

#[test]
fn controls_act_from_their_own_times_on() {
    let folder = Folder::new("between");
    let cartpole = model("models/cartpole.xml");
    let names = &cartpole.structure.names;
    let path = folder.npz(
        "async.npz",
        &[
            ("q", &[3], vec![0.0, 0.1, 0.2]),
            ("tq", &[3], vec![10.0, 10.1, 10.2]),
            // One before the first frame, one between two, one that is late by less than a step, and one after the last.
            ("u", &[4], vec![1.0, 2.0, 3.0, 4.0]),
            ("tu", &[4], vec![9.95, 10.05, 10.1001, 10.3]),
        ],
    );
    let mapping = format!(
        "[[joint]]\nname = '{}'\nposition = 'q'\ntime = 'tq'\n[[actuator]]\nname = '{}'\ncontrol = 'u'\ntime = 'tu'\n",
        names.joints[0], names.actuators[0]
    );
    let recordings = load(&cartpole, &mapping, &path).unwrap();
    let trajectory = &recordings.trajectories[0];
    let times: Vec<f64> = (trajectory.times.iter())
        .map(|time| (time * 1e6).round() / 1e6)
        .collect();
    assert_eq!(times, [0.0, 0.05, 0.1, 0.2]);
    assert_eq!(trajectory.controls, [1.0, 2.0, 3.0, 3.0]);
    assert!(
        trajectory.value(0, 1, 1).is_none(),
        "nothing was measured there"
    );
}

#[test]
fn rows_may_hold_several_frames() {
    let folder = Folder::new("wide");
    let pendulum = model("models/pendulum.xml");
    let joint = pendulum.structure.names.joints[0].clone();
    let path = folder.write(
        "pairs.csv",
        "id,a0,a1,v0,v1\n1,0.1,0.2,1,2\n2,0.3,0.4,3,4\n",
    );
    let mapping = format!(
        "time.dt = 0.5\ntrajectories.frames_per_row = 2\n[[joint]]\nname = '{joint}'\nposition = 'a{{frame}}'\nvelocity = 'v{{frame}}'\n"
    );
    let recordings = load(&pendulum, &mapping, &path).unwrap();
    assert_eq!(recordings.trajectories.len(), 2);
    assert_eq!(
        recordings.trajectories[1].values,
        [vec![0.3, 0.4], vec![3.0, 4.0]]
    );
}

#[test]
fn angles_are_unwrapped_on_request() {
    let folder = Folder::new("unwrap");
    let pendulum = model("models/pendulum.xml");
    let joint = pendulum.structure.names.joints[0].clone();
    let path = folder.write("turns.csv", "t,a\n0,170\n0.1,179\n0.2,-172\n0.3,-163\n");
    let mapping = format!(
        "time.column = 't'\n[[joint]]\nname = '{joint}'\nposition = 'a'\nunit = 'deg'\nunwrap = true\n"
    );
    let recordings = load(&pendulum, &mapping, &path).unwrap();
    let last = recordings.trajectories[0].values[0][3].to_degrees();
    assert!((last - 197.0).abs() < 1e-9, "{last}");
}

#[test]
fn errors_of_joints_add_up_where_a_sum_is_asked_for() {
    let folder = Folder::new("sums");
    let pendulum = model("datasets/double_pendulum_ibm.xml");
    // It hangs at rest: all that is recorded is error.
    let path = folder.write(
        "swing.csv",
        "t,a,b,v\n0,0,0,0\n0.01,0.03,-0.04,0\n0.02,0.03,-0.04,0\n",
    );
    let mapping = "[time]\ncolumn = 't'\n[[joint]]\nname = 'joint1'\nposition = 'a'\nvelocity = 'v'\n\
        [[joint]]\nname = 'joint2'\nposition = 'b'\nvelocity = 'v'\n[evaluate]\nwithout_start = true\n\
        [[evaluate.distance]]\nname = 'both'\npositions = ['joint1', 'joint2']\n\
        [[evaluate.distance]]\nname = 'arm2'\npositions = ['joint1', 'joint2']\nsum = true\n";
    let recordings = load(&pendulum, mapping, &path).unwrap();
    let report = evaluate(&pendulum, &recordings, Stepping::Fixed).unwrap();
    for (name, expected) in [("both", 0.05), ("arm2", 0.01)] {
        let found = report.total_of(name).unwrap();
        assert!((found - expected).abs() < 1e-12, "{name}: {found}");
    }
}
