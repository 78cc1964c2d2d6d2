//! What is said about recordings and mappings that are wrong: file, array or column, row, remedy.

use std::fmt::Write as _;

use carom_tasks::recording::{self, Mapping};

use crate::support::{Folder, load, model};

const CUBE: &str = "datasets/contactnets_cube.xml";

/// A mapping of a table with a pose.
const POSE: &str = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = ['x', 'y', 'z']\nrotation = ['w', 'i', 'j', 'k']\n";
const HEADER: &str = "t,x,y,z,w,i,j,k\n";

/// The message for a table.
fn refusal(name: &str, mapping: &str, table: &str) -> String {
    let folder = Folder::new(name);
    let path = folder.write("toss.csv", table);
    let error = load(&model(CUBE), mapping, &path).unwrap_err();
    folder.plain(&error.to_string())
}

/// The warnings for a table.
fn warnings(name: &str, mapping: &str, table: &str) -> Vec<String> {
    let folder = Folder::new(name);
    let path = folder.write("toss.csv", table);
    let recordings = load(&model(CUBE), mapping, &path).unwrap();
    let warnings = recordings.warnings.iter();
    warnings.map(|warning| folder.plain(warning)).collect()
}

fn rows(rows: &[&str]) -> String {
    format!("{HEADER}{}\n", rows.join("\n"))
}

#[test]
fn numbers_that_are_not_numbers() {
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0,nan,1,1,0,0,0"]);
    assert_eq!(
        refusal("nan", POSE, &table),
        "'toss.csv': [[body]] \"cube\" position: 'y', line 3: NaN is not a number; if that means 'not measured', say so in the mapping: missing = true"
    );
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0,inf,1,1,0,0,0"]);
    assert_eq!(
        refusal("inf", POSE, &table),
        "'toss.csv': [[body]] \"cube\" position: 'y', line 3: inf is not a number; remove the row or mark the value as missing (NaN, missing = true)"
    );
}

#[test]
fn controls_are_never_missing() {
    let folder = Folder::new("control");
    let path = folder.write("swing.csv", "t,angle,torque\n0,0.1,0\n0.1,0.1,nan\n");
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n\
        [[actuator]]\nname = 'pivot_torque'\ncontrol = 'torque'\n";
    let error = load(&model("models/pendulum.xml"), mapping, &path).unwrap_err();
    assert_eq!(
        folder.plain(&error.to_string()),
        "'swing.csv': [[actuator]] \"pivot_torque\": 'torque', line 3: NaN is not a number; a control acts at every row: write the one that was held"
    );
}

#[test]
fn quaternions_in_the_other_order() {
    let table =
        "t,x,y,z,qx,qy,qz,qw\n0,0,0,1,0.6,0,0,0.8\n0.1,0,0,0.9,0.8,0,0,0.6\n0.2,0,0,0.7,1,0,0,0\n";
    let mapping = POSE.replace("['w', 'i', 'j', 'k']", "['qx', 'qy', 'qz', 'qw']");
    let by_name = "'toss.csv': [[body]] \"cube\" rotation: the columns qx, qy, qz, qw are not read in the order that their names tell; give rotation_format = \"xyzw\"";
    let found = warnings("order", &mapping, table);
    assert!(found.contains(&by_name.to_owned()), "{found:?}");
    let right = format!("{mapping}rotation_format = 'xyzw'\n");
    assert_eq!(
        warnings("right", &right, table)
            .iter()
            .find(|one| one.contains("rotation_format")),
        None
    );
    let right = POSE.replace("['w', 'i', 'j', 'k']", "['qw', 'qx', 'qy', 'qz']");
    let found = warnings("right", &right, table);
    assert_eq!(
        found.iter().find(|one| one.contains("rotation_format")),
        None
    );
    // Without such names: a body that is hardly turned, read the wrong way.
    let still = rows(&[
        "0,0,0,1,0,0,0.1,0.995",
        "0.1,0,0,0.9,0,0.1,0,0.995",
        "0.2,0,0,0.7,0.1,0,0,0.995",
    ]);
    let found = warnings("half", POSE, &still);
    let half = "'toss.csv': [[body]] \"cube\" rotation: it is turned by about half a turn in most frames; if the numbers are in the order xyzw, give rotation_format = \"xyzw\"";
    assert!(found.contains(&half.to_owned()), "{found:?}");
}

#[test]
fn times_that_do_not_rise() {
    let table = rows(&["0,0,0,1,1,0,0,0", "0.2,0,0,1,1,0,0,0", "0.1,0,0,1,1,0,0,0"]);
    assert_eq!(
        refusal("unsorted", POSE, &table),
        "'toss.csv': time stamps 't', line 4: 0.1 comes after 0.2; sort the rows by time, or split trajectories by [trajectories] columns or offsets"
    );
    let table = rows(&["0,0,0,1,1,0,0,0", "0.2,0,0,1,1,0,0,0", "0.2,0,0,1,1,0,0,0"]);
    assert_eq!(
        refusal("repeated", POSE, &table),
        "'toss.csv': time stamps 't', line 4: 0.2 repeats the one before; remove one of the two rows"
    );
    let table = rows(&["0,0,0,1,1,0,0,0", ",0,0,1,1,0,0,0"]);
    assert_eq!(
        refusal("timeless", POSE, &table),
        "'toss.csv': [time] column: 't', line 3: NaN is not a number; remove the row, or give it a time"
    );
    // Comments and empty lines count as lines of the file.
    let table = "# made by hand\nt,x,y,z,w,i,j,k\n0,0,0,1,1,0,0,0\n\n0.2,0,0,1,1,0,0,0\n0.1,0,0,1,1,0,0,0\n";
    assert_eq!(
        refusal("lines", POSE, table),
        "'toss.csv': time stamps 't', line 6: 0.1 comes after 0.2; sort the rows by time, or split trajectories by [trajectories] columns or offsets"
    );
}

#[test]
fn columns_that_are_not_there() {
    assert_eq!(
        refusal(
            "column",
            &POSE.replace("'y'", "'Y'"),
            &rows(&["0,0,0,1,1,0,0,0"])
        ),
        "'toss.csv': [[body]] \"cube\" position: there is no 'Y' (it has i, j, k, t, w, x, y, z)"
    );
    assert_eq!(
        refusal(
            "width",
            &POSE.replace("['x', 'y', 'z']", "['x', 'y']"),
            &rows(&["0,0,0,1,1,0,0,0"])
        ),
        "'toss.csv': [[body]] \"cube\" position: 2 columns (x, y), but 3 are needed"
    );
    assert_eq!(
        refusal(
            "words",
            POSE,
            "t,x,y,z,w,i,j,k\n0,0,0,1,1,0,0,0\n\n# a comment\n0.1,a,0,1,1,0,0,0\n"
        ),
        "'toss.csv': [[body]] \"cube\" position: 'x', line 5: 'a' is not a number; correct the cell, or leave it empty if nothing was measured (missing = true)"
    );
    assert_eq!(
        refusal(
            "commas",
            POSE,
            "t;x;y;z;w;i;j;k\n0;0;0;1;1;0;0;0\n0,1;0;0;0,9;1;0;0;0\n"
        ),
        "'toss.csv': [[body]] \"cube\" position: 'z', line 3: '0,9' is not a number; write decimal points, not commas"
    );
    assert_eq!(
        refusal("cells", POSE, "t,x,y,z,w,i,j,k\n0,0,0,1,1,0,0\n"),
        "'toss.csv': line 2: 7 cells, but the header has 8 columns; complete the line, or remove it"
    );
    assert_eq!(
        refusal("double", POSE, "t,x,y,z,w,i,j,x\n0,0,0,1,1,0,0,0\n"),
        "'toss.csv': two columns are called 'x'; rename one"
    );
}

#[test]
fn quaternions_that_are_not_unit() {
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0,0,1,0.5,0,0,0"]);
    assert_eq!(
        refusal("quaternion", POSE, &table),
        "'toss.csv': [[body]] \"cube\" rotation: line 3: the quaternion has length 0.5000, not 1; check the columns (w, i, j, k) and 'rotation_format'"
    );
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0.3,0,1,1.01,0,0,0"]);
    assert_eq!(
        warnings("odd", POSE, &table),
        [
            "'toss.csv': [[body]] \"cube\" rotation: quaternions are not of length 1 (first: line 3, 1.01000); they were normalised"
        ]
    );
}

#[test]
fn files_that_are_empty_or_no_tables() {
    assert_eq!(
        refusal("empty", POSE, ""),
        "'toss.csv': the file is empty; a table starts with a line of column names"
    );
    assert_eq!(
        refusal("rowless", POSE, HEADER),
        "'toss.csv': [[body]] \"cube\" is empty: there are no frames"
    );
    assert_eq!(
        refusal("headless", POSE, "0,0,0,1,1,0,0,0\n0.1,0,0,1,1,0,0,0\n"),
        "'toss.csv': the first line ('0,0,0,1,1,0,0,0') has numbers, not column names; add a header"
    );
    assert_eq!(
        refusal("single", POSE, &rows(&["0,0,0,1,1,0,0,0"])),
        "'toss.csv': there is no trajectory with 2 or more frames; check [trajectories] and the number of rows"
    );
    let folder = Folder::new("format");
    let path = folder.write("toss.xlsx", "");
    let error = load(&model(CUBE), POSE, &path).unwrap_err();
    assert_eq!(
        folder.plain(&error.to_string()),
        "'toss.xlsx': recordings are .npz, .csv or .mcap files"
    );
}

#[test]
fn arrays_of_wrong_lengths() {
    let folder = Folder::new("lengths");
    let cube = model(CUBE);
    let path = folder.npz(
        "toss.npz",
        &[
            (
                "state",
                &[4, 7],
                [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0].repeat(4),
            ),
            ("short", &[3, 3], (0..9).map(f64::from).collect()),
            ("offsets", &[3], vec![0.0, 5.0, 4.0]),
            ("none", &[0, 3], Vec::new()),
        ],
    );
    let refusal =
        |mapping: &str| folder.plain(&load(&cube, mapping, &path).unwrap_err().to_string());
    let body = "[[body]]\nname = 'cube'\nposition = 'state[0:3]'\nrotation = 'state[3:7]'\n";
    assert_eq!(
        refusal(&format!("time.dt = 0.1\n{body}linear_velocity = 'short'\n")),
        "'toss.npz': [[body]] \"cube\" linear_velocity has 3 rows, but its other arrays have 4; all parts of a pose must be equally long"
    );
    // The first array has no rows, and others have some.
    let none = body.replace("state[0:3]", "none");
    assert_eq!(
        refusal(&format!("time.dt = 0.1\n{none}linear_velocity = 'short'\n")),
        "'toss.npz': [[body]] \"cube\" rotation has 4 rows, but its other arrays have 0; all parts of a pose must be equally long"
    );
    // Ranges that no array has cost no memory: 2.4 TB would be these names.
    for place in [
        "nowhere[0:99999999999]",
        "state[0:99999999999]",
        "nowhere[5:2]",
    ] {
        let message = refusal(&format!(
            "time.dt = 0.1\n{}",
            body.replace("state[0:3]", place)
        ));
        assert!(message.contains("position: "), "{message}");
    }
    let frames = "time.dt = 0.1\ntrajectories.frames_per_row = 9999\n";
    let message = refusal(&format!("{frames}{body}"));
    assert!(
        message.contains("frames_per_row = 9999, but a row has"),
        "{message}"
    );
    assert_eq!(
        refusal(&format!(
            "time.dt = 0.1\ntrajectories.offsets = 'offsets'\n{body}"
        )),
        "'toss.npz': [trajectories] offsets: 'offsets' must rise from 0 to the number of rows (4), but its entry 1 is 5"
    );
    assert_eq!(
        refusal(&format!("time.dt = 0.1\n{}", body.replace("3:7", "4:8"))),
        "'toss.npz': [[body]] \"cube\" rotation: 'state[4:8]' asks for columns 4 to 7, but 'state' has 7 (0 to 6)"
    );
    assert_eq!(
        refusal(&format!("time.dt = 'short'\n{body}")),
        "'toss.npz': [time] dt: 'short' should be one number, it has 9 (time stamps go into 'column')"
    );
    assert_eq!(
        refusal(body),
        "mapping 'map.toml': [time] needs exactly one of 'column' (time stamps), 'dt' (seconds between frames) and 'rate' (frames per second)"
    );
}

#[test]
fn names_that_the_model_does_not_have() {
    let refusal = |mapping: &str| refusal("names", mapping, &rows(&["0,0,0,1,1,0,0,0"]));
    assert_eq!(
        refusal(&POSE.replace("'cube'", "'box'")),
        "mapping 'map.toml': [[body]] name = \"box\": there is no such body; the model has world, cube"
    );
    assert_eq!(
        refusal("time.dt = 0.1\n[[joint]]\nname = 'cube'\nposition = 'x'\n"),
        "mapping 'map.toml': [[joint]] name = \"cube\": a free or ball joint has no single coordinate; map the pose of its body by [[body]]"
    );
    assert_eq!(
        refusal("time.dt = 0.1\n"),
        "mapping 'map.toml': it maps nothing; add [[body]], [[joint]] or [[sensor]] tables with arrays of the recording"
    );
    let message = refusal("time.dt = 0.1\n[[body]]\nname = 'cube'\npositon = 'x'\n");
    assert!(
        message.contains("line 4, column 1") && message.contains("unknown field `positon`"),
        "{message}"
    );
}

#[test]
fn units_that_are_wrong_by_a_thousand() {
    let fall = |scale: f64, time: f64| {
        let row = |k: u8| {
            let t = f64::from(k) * 0.01;
            let z = (1.0 - 4.905 * t * t) * scale;
            format!("{},0,0,{z},1,0,0,0,0,0,{}", t * time, -9.81 * t)
        };
        let rows: Vec<String> = (0..30).map(row).collect();
        format!("t,x,y,z,w,i,j,k,vx,vy,vz\n{}\n", rows.join("\n"))
    };
    let mapping = format!("{POSE}linear_velocity = ['vx', 'vy', 'vz']\n");
    assert_eq!(
        warnings("right", &mapping, &fall(1.0, 1.0)),
        Vec::<String>::new()
    );
    assert_eq!(
        warnings("millimetres", &mapping, &fall(1000.0, 1.0)),
        [
            "toss.csv: body cube position moves by 412.5 m, 4545 times the size of the body; if it is in millimetres, give unit = \"mm\"",
            "toss.csv: body cube linear_velocity is 0.001034 times what differences of the positions give; one of the two has a wrong unit, or the time has"
        ]
    );
    assert_eq!(
        warnings("milliseconds", &mapping, &fall(1.0, 1000.0)),
        [
            "toss.csv: frames are 10.000 s apart; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds)",
            "toss.csv: body cube linear_velocity is 1034 times what differences of the positions give; one of the two has a wrong unit, or the time has"
        ]
    );
}

#[test]
fn recordings_in_which_nothing_moves() {
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0,0,1,1,0,0,0"]);
    assert_eq!(
        warnings("still", POSE, &table),
        ["toss.csv: nothing moves in any trajectory; there is nothing to compare a model with"]
    );
}

#[test]
fn joints_and_actuators_that_are_not_mapped() {
    let folder = Folder::new("unmapped");
    let path = folder.write("cart.csv", "t,x\n0,0\n0.1,0.1\n");
    let mapping = "time.column = 't'\n[[joint]]\nname = 'slider'\nposition = 'x'\n";
    let recordings = load(&model("models/cartpole.xml"), mapping, &path).unwrap();
    assert_eq!(
        recordings.warnings,
        [
            "mapping 'map.toml': joint 'hinge' is not mapped; simulations start with its reference position, at rest",
            "mapping 'map.toml': actuator 'push' is not mapped; its control is 0"
        ]
    );
}

#[test]
fn times_that_would_take_forever() {
    let table = rows(&["0,0,0,1,1,0,0,0", "10000000,0.1,0,1,1,0,0,0"]);
    assert_eq!(
        refusal("nanoseconds", POSE, &table),
        "toss.csv: it lasts 10000000 s with frames up to 10000000 s apart, but the model steps by 0.006756756756756757 s; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds), or cut gaps by [trajectories] max_gap"
    );
    let table = rows(&[
        "0,0,0,1,1,0,0,0",
        "20,0.1,0,1,1,0,0,0",
        "40,0.2,0,1,1,0,0,0",
    ]);
    assert_eq!(
        refusal("milliseconds", POSE, &table),
        "toss.csv: frames are 20.000 s apart, 2960 steps of the model; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds); if they are, ask for that many by [simulation] steps_per_frame"
    );
    let asked = format!("{POSE}\n[simulation]\nsteps_per_frame = 2960\n");
    let told = warnings("asked", &asked, &table);
    assert!(
        told.iter().any(|one| one.contains("20.000 s apart")),
        "{told:?}"
    );
}

#[test]
fn mappings_that_cannot_be_meant() {
    let table = rows(&["0,0,0,1,1,0,0,0", "0.1,0.1,0,1,1,0,0,0"]);
    let refusal = |mapping: &str| refusal("senseless", mapping, &table);
    assert_eq!(
        refusal(&format!("trajectories.frames_per_row = 0\n{POSE}")),
        "mapping 'map.toml': [trajectories] frames_per_row = 0: give a number from 1 to 10000"
    );
    assert_eq!(
        refusal(&format!("{POSE}world = {{ quaternion = [1, 1, 0, 0] }}\n")),
        "mapping 'map.toml': \"cube\" world: the quaternion has length 1.4142, not 1"
    );
    assert_eq!(
        refusal(&format!("{POSE}unit = 'inch'\n")),
        "mapping 'map.toml': [[body]] \"cube\": unit 'inch' is none of m, mm, cm, in, ft; for another one give 'factor'"
    );
    assert_eq!(
        refusal(&format!("{POSE}noise = {{ position = 0 }}\n")),
        "mapping 'map.toml': noise = 0: a standard deviation is a number above 0; leave it out if it is unknown"
    );
    assert_eq!(
        refusal(&format!("{POSE}compare = ['pose']\n")),
        "mapping 'map.toml': [[body]] \"cube\" compare: 'pose' is none of position, rotation, linear_velocity, angular_velocity"
    );
    assert_eq!(
        refusal(&format!("trajectories.start = 1\n{POSE}")),
        "mapping 'map.toml': no trajectory is left that has a frame after its start"
    );
}

#[test]
fn axes_that_differ() {
    let folder = Folder::new("axes");
    let path = folder.npz(
        "runs.npz",
        &[("a", &[2, 6], vec![0.0; 12]), ("b", &[3, 4], vec![0.0; 12])],
    );
    let mapping = "time.dt = 0.1\ntrajectories.axis = true\n[[joint]]\nname = 'shoulder'\nposition = 'a'\n[[joint]]\nname = 'elbow'\nposition = 'b'\n";
    let error = load(&model("models/double_pendulum.xml"), mapping, &path).unwrap_err();
    assert_eq!(
        folder.plain(&error.to_string()),
        "'runs.npz': [[joint]] \"elbow\" position has 4 frames a trajectory, but [[joint]] \"shoulder\" position has 6 frames a trajectory; all arrays need the same"
    );
}

/// A fall of thirty frames, of which one is written differently.
fn fall_with(frame: usize, row: &str) -> String {
    let mut all: Vec<String> = (0..30_u8)
        .map(|k| {
            let t = f64::from(k) * 0.01;
            format!("{t},0,0,{},1,0,0,0", 1.0 - 4.905 * t * t)
        })
        .collect();
    row.clone_into(&mut all[frame]);
    format!("{HEADER}{}\n", all.join("\n"))
}

#[test]
fn frames_that_do_not_fit_the_others() {
    let only = |name: &str, table: &str| warnings(name, POSE, table);
    assert_eq!(
        only("jump", &fall_with(12, "0.12,2,0,0.93,1,0,0,0")),
        [
            "toss.csv: body cube position at frame 12 (0.1200 s) jumps by 2.000 m, 86.76 times as far as most others; correct the frame, or mark it as missing (NaN, missing = true)"
        ]
    );
    assert_eq!(
        only("far", &fall_with(12, "0.12,1e300,0,0.93,1,0,0,0")),
        [
            "toss.csv: body cube position moves by 1.000e300 m, 1.102e301 times the size of the body; if it is in millimetres, give unit = \"mm\"",
            "toss.csv: body cube position at frame 12 (0.1200 s) jumps by 1.000e300 m, 4.338e301 times as far as most others; correct the frame, or mark it as missing (NaN, missing = true)"
        ]
    );
    assert_eq!(
        only("turn", &fall_with(12, "0.12,0,0,0.93,0,1,0,0")),
        [
            "toss.csv: body cube rotation at frame 12 (0.1200 s) jumps by 3.142 rad, where most others do not move; correct the frame, or mark it as missing (NaN, missing = true)"
        ]
    );
    assert_eq!(
        only("gap", &fall_with(0, "-5,0,0,1,1,0,0,0")),
        [
            "toss.csv: frames 0 and 1 are 5.010 s apart, 501 times as far as most; cut trajectories there by [trajectories] max_gap, or correct the time stamps"
        ]
    );
}

#[test]
fn joints_in_degrees_and_with_wraps() {
    let folder = Folder::new("degrees");
    let pendulum = model("models/pendulum.xml");
    let of = |name: &str, angle: &dyn Fn(f64) -> f64, rate: &str| {
        let mut text = "t,angle,rate\n".to_owned();
        for k in 0..100_u8 {
            let t = 0.01 * f64::from(k);
            writeln!(text, "{t},{},{rate}", angle(t)).unwrap();
        }
        let path = folder.write(name, &text);
        let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nvelocity = 'rate'\n[[actuator]]\nname = 'pivot_torque'\ncontrol = 'rate'\nfactor = 0\n";
        let warnings = load(&pendulum, mapping, &path).unwrap().warnings;
        warnings
            .iter()
            .map(|one| folder.plain(one))
            .collect::<Vec<_>>()
    };
    let swing = |t: f64| 0.8 * (3.6 * t).cos();
    assert_eq!(of("right.csv", &swing, "1"), Vec::<String>::new());
    assert_eq!(
        of("degrees.csv", &|t| 57.3 * swing(t), "100"),
        [
            "degrees.csv: joint pivot position goes to and fro over 91.68 rad, 15 turns; if it is in degrees, give unit = \"deg\""
        ]
    );
    let turning = |t: f64| (3.0 + 2.0 * t) % std::f64::consts::TAU - std::f64::consts::PI;
    let wrapped = of(
        "wrapped.csv",
        &|t| {
            if t < 0.5 {
                turning(t)
            } else {
                turning(t) - std::f64::consts::TAU
            }
        },
        "2",
    );
    assert_eq!(
        wrapped,
        [
            "wrapped.csv: joint pivot position at frame 50 (0.5000 s) jumps by 6.263 rad, 313.2 times as far as most others; if angles start anew after a turn, give unwrap = true"
        ]
    );
    let fast = of("fast.csv", &swing, "1e12");
    assert!(
        fast.iter().any(|one| one.starts_with("fast.csv: joint pivot velocity at frame 0 (0.000000 s) is 1.000e12 rad/s; correct the value")),
        "{fast:?}"
    );
}

#[test]
fn archives_that_are_damaged() {
    let folder = Folder::new("archives");
    let cube = model(CUBE);
    let state = || [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0].repeat(40);
    let path = folder.npz("toss.npz", &[("state", &[40, 7], state())]);
    let mapping = "time.dt = 0.1\n[[body]]\nname = 'cube'\nposition = 'state[0:3]'\nrotation = 'state[3:7]'\n";
    let refusal = |name: &str, bytes: &[u8]| {
        let path = folder.write_bytes(name, bytes);
        folder.plain(&load(&cube, mapping, &path).unwrap_err().to_string())
    };
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(
        refusal("empty.npz", b""),
        "'empty.npz': the file is empty; write it again with numpy.savez(file, name=array, …)"
    );
    assert_eq!(
        refusal("single.npz", b"\x93NUMPY\x01\x00"),
        "'single.npz': this is one .npy array without a name; write it with numpy.savez(file, name=array, …)"
    );
    assert_eq!(
        refusal("words.npz", b"time,x,y\n"),
        "'words.npz': not an .npz archive; write it with numpy.savez(file, name=array, …)"
    );
    for length in [4, whole.len() / 2, whole.len() - 1] {
        let message = refusal("cut.npz", &whole[..length]);
        assert!(
            message.starts_with("'cut.npz': the file is cut off or damaged ("),
            "{message}"
        );
        assert!(
            message.ends_with("copy it again, or write it anew with numpy.savez"),
            "{message}"
        );
    }
    // A byte of the packed numbers: the archive's own sum tells.
    let mut flipped = whole.clone();
    let place = 60;
    flipped[place] ^= 0x55;
    let message = refusal("flipped.npz", &flipped);
    assert!(message.contains("damaged"), "{message}");
}

#[test]
fn arrays_that_no_mapping_names_are_not_unpacked() {
    let folder = Folder::new("unnamed");
    // Numbers that are objects cannot be read, 800 TB of zeros not held.
    let npy = |descriptor: &str, shape: &str, body: &[u8]| {
        let header =
            format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        bytes
    };
    let angles: Vec<u8> = (0..20)
        .flat_map(|k| (0.01 * f64::from(k)).to_le_bytes())
        .collect();
    let members = [
        ("q.npy", npy("<f8", "(20, 1)", &angles)),
        ("q_raw.npy", npy("|O", "(20,)", &[0; 160])),
        ("video.npy", npy("<f8", "(100000000000000,)", &[0; 8])),
    ];
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in &members {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        std::io::Write::write_all(&mut archive, content).unwrap();
    }
    let path = folder.write_bytes("run.npz", &archive.finish().unwrap().into_inner());
    let text =
        "<mujoco><worldbody><body><joint name='j'/><geom size='0.1'/></body></worldbody></mujoco>";
    let model = carom::load::file(&folder.write("model.xml", text), &[])
        .unwrap()
        .model;
    let load = |place: &str| {
        let mapping = format!("time.rate = 100\n[[joint]]\nname = 'j'\nposition = '{place}'\n");
        let mapping = Mapping::parse(&mapping, "joint.toml").unwrap();
        recording::load(&model, &mapping, std::slice::from_ref(&path))
    };
    for place in ["q", "q[0]", "q[0:1]"] {
        assert_eq!(load(place).unwrap().trajectories[0].frames(), 20, "{place}");
    }
    assert!(carom_tasks::npz::read(&path).is_err());
    // Whoever names them hears why not, and sees all names otherwise.
    let message = load("q_raw").unwrap_err().to_string();
    assert!(message.contains("'|O' is not supported"), "{message}");
    let message = load("angle").unwrap_err().to_string();
    assert!(message.contains("it has q, q_raw, video"), "{message}");
}

#[test]
fn arrays_in_column_major_order_are_read() {
    let folder = Folder::new("columns");
    // Two rows of three, written column by column as numpy does for transposed arrays.
    let mut npy = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }           \n".to_vec();
    assert_eq!(npy.len(), 10 + 0x46);
    for number in [1.0_f64, 4.0, 2.0, 5.0, 3.0, 6.0] {
        npy.extend(number.to_le_bytes());
    }
    let path = folder.write_bytes("columns.npz", &stored("a.npy", &npy));
    let arrays = carom_tasks::npz::read(&path).unwrap();
    assert_eq!(arrays["a"].shape, [2, 3]);
    assert_eq!(arrays["a"].as_numbers(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

/// A zip archive with one entry that is not packed.
fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file(name, options).unwrap();
    std::io::Write::write_all(&mut archive, content).unwrap();
    archive.finish().unwrap().into_inner()
}
