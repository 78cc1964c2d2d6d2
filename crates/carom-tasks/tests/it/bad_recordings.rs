//! What is said about recordings and mappings that are wrong: file, array or column, row, remedy.

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
        refusal("words", POSE, "t,x,y,z,w,i,j,k\n0,a,0,1,1,0,0,0\n"),
        "'toss.csv': [[body]] \"cube\" position: 'x' holds words, not numbers"
    );
    assert_eq!(
        refusal("cells", POSE, "t,x,y,z,w,i,j,k\n0,0,0,1,1,0,0\n"),
        "'toss.csv': line 2: 7 cells, but the header has 8 columns"
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
        ],
    );
    let refusal =
        |mapping: &str| folder.plain(&load(&cube, mapping, &path).unwrap_err().to_string());
    let body = "[[body]]\nname = 'cube'\nposition = 'state[0:3]'\nrotation = 'state[3:7]'\n";
    assert_eq!(
        refusal(&format!("time.dt = 0.1\n{body}linear_velocity = 'short'\n")),
        "'toss.npz': [[body]] \"cube\" linear_velocity has 3 rows, but its other arrays have 4; all parts of a pose must be equally long"
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
            "toss.csv: body cube position moves by 412.5105 m, 4545 times the size of the body; if it is in millimetres, give unit = \"mm\"",
            "toss.csv: body cube linear_velocity is 0.001 times what differences of the positions give; one of the two has a wrong unit, or the time has"
        ]
    );
    assert_eq!(
        warnings("milliseconds", &mapping, &fall(1.0, 1000.0)),
        [
            "toss.csv: frames are 10.000 s apart; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds)",
            "toss.csv: body cube linear_velocity is 1034.483 times what differences of the positions give; one of the two has a wrong unit, or the time has"
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
        "toss.csv: it lasts 10000000 s with frames up to 10000000 s apart, but the model steps by 0.006756756756756757 s; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds), or cut gaps by [trajectories] longest_gap"
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
