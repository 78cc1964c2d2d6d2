//! Mappings that are proposed from names and shapes: good recordings are read as they were made, odd ones are understood where
//! two ways can be tried, and bad ones leave a file with comments that is a mapping all the same.

use std::path::Path;

use carom::{Model, State};
use carom_tasks::npz::Array;
use carom_tasks::recording::{self, Mapping, Proposal, Recordings};

use crate::support::{Folder, model, model_of, shared, simulate};

const TWO_LINKS: &str = r#"<mujoco>
  <compiler angle="radian"/><option timestep="0.005"/>
  <worldbody>
    <body><joint name="shoulder" axis="0 1 0" range="-2 2" limited="true"/><geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
      <body pos="0 0 -0.5"><joint name="elbow" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
        <site name="tip" pos="0 0 -0.4"/></body></body>
  </worldbody>
  <actuator><motor name="m1" joint="shoulder" gear="2"/><motor name="m2" joint="elbow"/></actuator>
  <sensor><framepos name="tip_position" objtype="site" objname="tip"/></sensor>
</mujoco>"#;

fn proposed(model: &Model, path: &Path) -> Proposal {
    recording::propose(model, "arm.xml", path).unwrap()
}

/// The proposal, and the recording read by its text.
fn read(model: &Model, path: &Path) -> (Proposal, Recordings) {
    let found = proposed(model, path);
    assert!(found.is_complete, "{}", found.text);
    let mapping = Mapping::parse(&found.text, "map.toml")
        .unwrap_or_else(|why| panic!("{why}\n{}", found.text));
    let recordings = recording::load(model, &mapping, &[path.to_owned()]).unwrap();
    (found, recordings)
}

/// A swing of a model as a table with other names for its columns.
fn swing(folder: &Folder, model: &Model, names: &str) -> std::path::PathBuf {
    let mut start = State::reference(model);
    start.qpos[0] = 0.4;
    let text = simulate(model, &start, (200, 2), &|time| 0.6 * (3.0 * time).sin());
    let (_, rows) = text.split_once('\n').unwrap();
    folder.write("run.csv", &format!("{names}\n{rows}"))
}

/// Whether states and controls are those that the simulation had.
fn is_as_made(model: &Model, folder: &Folder, recordings: &Recordings) {
    let names = "time,qpos[0],qpos[1],qvel[0],qvel[1],ctrl[0],ctrl[1],sensordata[0],sensordata[1],sensordata[2]";
    let path = swing(folder, model, names);
    let mapping = recording::mapping_for(model, None, std::slice::from_ref(&path)).unwrap();
    let truth = recording::load(model, &mapping, &[path]).unwrap();
    let (found, truth) = (&recordings.trajectories[0], &truth.trajectories[0]);
    assert_eq!(found.times.len(), truth.times.len());
    let pairs = [
        (&found.times, &truth.times),
        (&found.qpos, &truth.qpos),
        (&found.qvel, &truth.qvel),
        (&found.controls, &truth.controls),
    ];
    for (found, truth) in pairs {
        for (a, b) in found.iter().zip(truth) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
}

#[test]
fn columns_with_names_of_joints_and_actuators_are_read_as_they_were_made() {
    let folder = Folder::new("map-names");
    let model = model_of(&folder, TWO_LINKS);
    for names in [
        "t,shoulder_pos,elbow_pos,shoulder_vel,elbow_vel,m1_cmd,m2_cmd,tip_position_x,tip_position_y,tip_position_z",
        "time [s],Shoulder.position,Elbow.position,Shoulder.velocity,Elbow.velocity,m1,m2,sx,sy,sz",
        "timestamp,q_shoulder,q_elbow,dq_shoulder,dq_elbow,u_m1,u_m2,a,b,c",
        // By order, since names of the model are not in them.
        "t,q1,q2,dq1,dq2,u1,u2,a,b,c",
        "sec,theta_0,theta_1,omega_0,omega_1,ctrl[0],ctrl[1],a,b,c",
        "t,joint_1_pos,joint_2_pos,joint_1_vel,joint_2_vel,command_1,command_2,a,b,c",
    ] {
        let path = swing(&folder, &model, names);
        let (found, recordings) = read(&model, &path);
        assert!(found.undecided.is_empty(), "{names}: {:?}", found.undecided);
        is_as_made(&model, &folder, &recordings);
    }
}

#[test]
fn measured_torques_stand_for_controls_of_motors() {
    let folder = Folder::new("map-torques");
    let model = model_of(&folder, TWO_LINKS);
    let path = swing(&folder, &model, "t,q1,q2,qd1,qd2,tau1,tau2,a,b,c");
    let (found, recordings) = read(&model, &path);
    assert!(
        found.text.contains("measured torque as the control"),
        "{}",
        found.text
    );
    // The gear of the first motor is 2.
    let control = recordings.trajectories[0].controls[2 * 40];
    let other = recordings.trajectories[0].controls[2 * 40 + 1];
    assert!((2.0 * control - other).abs() < 1e-12 && other != 0.0);
    // What was commanded is better than what was measured; a motor takes no positions.
    let path = swing(
        &folder,
        &model,
        "t,q1,q2,q_des_1,q_des_2,tau_cmd_1,tau_cmd_2,tau_1,tau_2,c",
    );
    let (found, _) = read(&model, &path);
    assert!(
        found.text.contains("control = \"tau_cmd_1\""),
        "{}",
        found.text
    );
    assert!(
        found
            .unused
            .iter()
            .any(|one| one.contains("q_des_1") && one.contains("motor")),
        "{:?}",
        found.unused
    );
}

#[test]
fn degrees_and_milliseconds_are_told_by_names_or_by_what_they_do() {
    let folder = Folder::new("map-units");
    let model = model_of(&folder, TWO_LINKS);
    let path = swing(&folder, &model, "t,q1,q2,dq1,dq2,u1,u2,a,b,c");
    let text = std::fs::read_to_string(&path).unwrap();
    let scaled = |names: &str| {
        let rows = text.lines().skip(1).map(|line| {
            let mut cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            cells[0] = 1e3 * cells[0] + 5000.0;
            for angle in &mut cells[1..5] {
                *angle = angle.to_degrees();
            }
            let cells: Vec<String> = cells.iter().map(f64::to_string).collect();
            cells.join(",")
        });
        let rows: Vec<String> = rows.collect();
        folder.write("scaled.csv", &format!("{names}\n{}", rows.join("\n")))
    };
    for names in [
        "t_ms,q1_deg,q2_deg,dq1_deg,dq2_deg,u1,u2,a,b,c",
        // Nothing says so: 10 apart are no seconds, and a shoulder with a range of 2 rad does not swing by 20.
        "t,q1,q2,dq1,dq2,u1,u2,a,b,c",
    ] {
        let path = scaled(names);
        let (found, recordings) = read(&model, &path);
        assert!(found.text.contains("unit = \"deg\""), "{}", found.text);
        let times = &recordings.trajectories[0].times;
        assert!((times[1] - times[0] - 0.01).abs() < 1e-9, "{}", found.text);
        is_as_made(&model, &folder, &recordings);
    }
}

#[test]
fn arrays_are_read_by_their_shapes() {
    let folder = Folder::new("map-shapes");
    let model = model_of(&folder, TWO_LINKS);
    let (runs, frames) = (3, 50);
    let numbers = |width: usize| -> Vec<f64> {
        (0..runs * frames * width)
            .map(|k| 0.01 * (k % 37) as f64)
            .collect()
    };
    let path = folder.npz(
        "runs.npz",
        &[
            ("q", &[runs, frames, 2], numbers(2)),
            ("qd", &[runs, frames, 2], numbers(2)),
            ("tau", &[runs, frames, 2], numbers(2)),
            ("mode", &[runs], vec![0.0; runs]),
            ("dt", &[], vec![0.01]),
        ],
    );
    let (found, recordings) = read(&model, &path);
    assert_eq!(recordings.trajectories.len(), runs, "{}", found.text);
    assert_eq!(found.unused, ["'mode'"]);
    let path = folder.npz(
        "flat.npz",
        &[
            ("state", &[runs * frames, 4], numbers(4)),
            ("offsets", &[runs + 1], vec![0.0, 50.0, 100.0, 150.0]),
            ("rate", &[], vec![100.0]),
        ],
    );
    let (_, recordings) = read(&model, &path);
    assert_eq!(recordings.trajectories.len(), runs);
    assert!((recordings.trajectories[0].times[1] - 0.01).abs() < 1e-12);
    // Runs by a column, whose clock begins anew.
    let rows: Vec<String> = (0..60)
        .map(|k| {
            format!(
                "{},{},{},0.1",
                k / 20,
                0.01 * f64::from(k % 20),
                0.01 * f64::from(k)
            )
        })
        .collect();
    let path = folder.write("trials.csv", &format!("trial,t,q1,q2\n{}", rows.join("\n")));
    let (_, recordings) = read(&model, &path);
    assert_eq!(recordings.trajectories.len(), 3);
    // Without such a column the reader is asked.
    let path = folder.write("resets.csv", &format!("what,t,q1,q2\n{}", rows.join("\n")));
    let found = proposed(&model, &path);
    assert!(
        !found.is_complete && found.undecided[0].contains("goes back at line 22"),
        "{:?}",
        found.undecided
    );
}

/// A cube that spins in the air, in the columns of a motion capture system.
fn tracked(folder: &Folder, names: &str, order: [usize; 4]) -> std::path::PathBuf {
    let model = model("models/cube.xml");
    let mut start = State::reference(&model);
    start.qpos[2] = 3.0;
    start.qvel[..6].copy_from_slice(&[0.5, 0.2, 1.0, 2.0, -3.0, 4.0]);
    let text = simulate(&model, &start, (150, 5), &|_| 0.0);
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let mut moved = cells[..14].to_vec();
        for (place, from) in order.into_iter().enumerate() {
            moved[4 + place] = cells[4 + from];
        }
        moved.join(",")
    });
    let rows: Vec<String> = rows.collect();
    folder.write("cube.csv", &format!("{names}\n{}", rows.join("\n")))
}

#[test]
fn quaternions_are_read_in_the_order_in_which_they_turn() {
    let folder = Folder::new("map-poses");
    let model = model("models/cube.xml");
    let (wxyz, xyzw) = ([0, 1, 2, 3], [1, 2, 3, 0]);
    for (names, order) in [
        ("t,px,py,pz,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz", wxyz),
        ("t,x,y,z,qx,qy,qz,qw,vx,vy,vz,wx,wy,wz", xyzw),
        (
            "t,cube_px,cube_py,cube_pz,cube_qx,cube_qy,cube_qz,cube_qw,cube_vx,cube_vy,cube_vz,cube_wx,cube_wy,cube_wz",
            xyzw,
        ),
        (
            "t,pos_0,pos_1,pos_2,quat_0,quat_1,quat_2,quat_3,linvel_0,linvel_1,linvel_2,angvel_0,angvel_1,angvel_2",
            wxyz,
        ),
        // No name says so, but how it turns does.
        (
            "t,pos[0],pos[1],pos[2],quat[0],quat[1],quat[2],quat[3],linvel[0],linvel[1],linvel[2],angvel[0],angvel[1],angvel[2]",
            xyzw,
        ),
    ] {
        let path = tracked(&folder, names, order);
        let (found, recordings) = read(&model, &path);
        assert!(found.warnings.is_empty(), "{names}: {:?}", found.warnings);
        let own = tracked(&folder, "t,px,py,pz,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz", wxyz);
        let (_, truth) = read(&model, &own);
        for (a, b) in recordings.trajectories[0]
            .qpos
            .iter()
            .zip(&truth.trajectories[0].qpos)
        {
            assert!((a - b).abs() < 1e-9, "{names}\n{}", found.text);
        }
        assert_eq!(
            recordings.trajectories[0].qvel, truth.trajectories[0].qvel,
            "{names}"
        );
    }
}

#[test]
fn bags_are_read_by_their_messages() {
    let folder = Folder::new("map-bags");
    let cube = model("models/cube.xml");
    let path = folder.write_bytes("bag.mcap", &crate::bags::example());
    let (found, recordings) = read(&cube, &path);
    assert!(
        found.text.contains("rotation_format = \"xyzw\""),
        "{}",
        found.text
    );
    assert!(
        found.text.contains("linear_velocity_axes = \"body\""),
        "{}",
        found.text
    );
    // It moves along its own x, which points along the world's y.
    assert!((recordings.trajectories[0].qvel[1] - 2.0).abs() < 1e-9);
}

#[test]
fn runs_of_carom_need_no_mapping() {
    let folder = Folder::new("map-own");
    let model = model_of(&folder, TWO_LINKS);
    let names = "time,qpos[0],qpos[1],qvel[0],qvel[1],ctrl[0],ctrl[1],sensordata[0],sensordata[1],sensordata[2]";
    let path = swing(&folder, &model, names);
    let (found, recordings) = read(&model, &path);
    assert!(found.is_needless, "{}", found.text);
    is_as_made(&model, &folder, &recordings);
    // A run of another model is refused with the way on.
    let other = model_of(
        &folder,
        &TWO_LINKS
            .replace("<joint name=\"elbow\" axis=\"0 1 0\"/>", "")
            .replace("<motor name=\"m2\" joint=\"elbow\"/>", ""),
    );
    let error = recording::mapping_for(&other, None, &[path])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("'qpos' has 2 numbers a row, the model has 1"),
        "{error}"
    );
    assert!(error.contains("carom map MODEL"), "{error}");
}

#[test]
fn what_cannot_be_decided_stands_as_a_comment_with_the_candidates() {
    let folder = Folder::new("map-open");
    let arm = model("models/arm7.xml");
    let rows: Vec<String> = (0..20)
        .map(|k| format!("{},0.1,0.2,0.3", 0.01 * f64::from(k)))
        .collect();
    let path = folder.write(
        "part.csv",
        &format!("t,q_a1,q_a2,q_a3\n{}", rows.join("\n")),
    );
    let found = proposed(&arm, &path);
    assert!(!found.is_complete);
    assert!(
        found
            .text
            .contains("may be the position of 3 of the joints joint1, joint2"),
        "{}",
        found.text
    );
    // With the signs taken out it is a mapping that reads the recording.
    let lines = found
        .text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest.starts_with("[[joint]]")
                    || rest.starts_with("name = ")
                    || rest.starts_with("position = ") =>
            {
                rest
            }
            _ => line,
        });
    let decided = lines.collect::<Vec<_>>().join("\n");
    let mapping = Mapping::parse(&decided, "map.toml").unwrap();
    assert!(
        recording::load(&arm, &mapping, &[path]).is_ok(),
        "{decided}"
    );
    // Without times it says what may be given.
    let path = folder.write(
        "timeless.csv",
        &format!("k,q1,q2,q3,q4,q5,q6,q7\n{}", "0,0,0,0,0,0,0,0\n".repeat(9)),
    );
    let found = proposed(&arm, &path);
    assert!(
        !found.is_complete && found.text.contains("# rate = 100"),
        "{}",
        found.text
    );
}

#[test]
fn cells_that_were_not_measured_are_missing() {
    let folder = Folder::new("map-missing");
    let model = model_of(&folder, TWO_LINKS);
    let rows: Vec<String> = (0..30)
        .map(|k| {
            format!(
                "{},{},{}",
                0.01 * f64::from(k),
                if k % 7 == 3 {
                    String::new()
                } else {
                    (0.1 * f64::from(k)).to_string()
                },
                0.2
            )
        })
        .collect();
    let path = folder.write(
        "gaps.csv",
        &format!("t,shoulder,elbow\n{}", rows.join("\n")),
    );
    let (found, _) = read(&model, &path);
    assert!(found.text.contains("missing = true"), "{}", found.text);
}

/// Whatever the names are, the text is a mapping file that says what the proposal says.
#[test]
fn every_text_is_a_mapping_file() {
    let folder = Folder::new("map-any");
    let mut models = vec![model_of(&folder, TWO_LINKS)];
    models.extend(
        [
            "models/arm7.xml",
            "models/cube.xml",
            "models/humanoid.xml",
            "models/hand.xml",
        ]
        .map(model),
    );
    let pieces = [
        "q", "dq", "tau", "cmd", "pos", "x", "qw", "joint1", "elbow", "cube", "\"", "\\", "\n",
        "\u{7f}", "é", "…", "[0]", "[1]", ".", "_", "deg", "t", "time", "state", "quat", "#", "'",
        "\u{0}", "run", "offsets", " ", "1", "02",
    ];
    let mut seed = 1_u64;
    let mut next = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let rounds = carom_testing::by_tier(300, 20_000);
    for round in 0..rounds {
        let mut arrays = Vec::new();
        for _ in 0..=next(9) {
            let name: String = (0..=next(4)).map(|_| pieces[next(pieces.len())]).collect();
            let shape: Vec<usize> = (0..next(4))
                .map(|_| [0, 1, 2, 3, 4, 7, 12][next(7)])
                .collect();
            let count = shape.iter().product();
            let bad = [f64::NAN, f64::INFINITY, 1e300, -0.0];
            let numbers = (0..count)
                .map(|k| {
                    if next(40) == 0 {
                        bad[next(4)]
                    } else {
                        0.01 * k as f64
                    }
                })
                .collect();
            arrays.push((name, Array::numbers(&shape, numbers)));
        }
        let model = &models[round % models.len()];
        let found = recording::propose_for_arrays(model, "a\nb.xml", "run\n.npz", arrays);
        let mapping = Mapping::parse(&found.text, "map.toml");
        assert!(mapping.is_ok(), "{:?}\n{}", mapping.err(), found.text);
    }
}

/// Public recordings of real robots, as they are.
#[test]
fn public_recordings_are_mapped() {
    for (model_file, data, joints, trajectories) in [
        (
            "datasets/panda_excitation.xml",
            "panda_excitation/val.npz",
            7,
            2,
        ),
        (
            "datasets/schmidt_lipson_double.xml",
            "schmidt_lipson_pendulum/double_pendulum_train.csv",
            2,
            0,
        ),
        ("datasets/servo_xl330.xml", "servo_xl330/val.npz", 1, 2),
        (
            "datasets/double_pendulum_ibm.xml",
            "double_pendulum_ibm/val.npz",
            2,
            2,
        ),
        (
            "datasets/pendulum_hidden_friction.xml",
            "pendulum_hidden_friction/damped_test.npz",
            2,
            10,
        ),
        (
            "datasets/contactnets_cube.xml",
            "contactnets_cube/first40.csv",
            0,
            40,
        ),
    ] {
        let Some(path) = shared(&format!("data/{data}")) else {
            return;
        };
        let model = model(model_file);
        let (found, recordings) = read(&model, &path);
        let mapping = Mapping::parse(&found.text, "map.toml").unwrap();
        assert_eq!(mapping.joints.len(), joints, "{data}\n{}", found.text);
        // All of them are in radians, also those of pendulums that tumble over many turns.
        let units = mapping
            .joints
            .iter()
            .filter_map(|joint| joint.unit.as_ref());
        assert_eq!(units.count(), 0, "{data}\n{}", found.text);
        let controls = if data.starts_with("panda") { 7 } else { 0 };
        assert_eq!(mapping.actuators.len(), controls, "{data}\n{}", found.text);
        assert!(
            trajectories == 0 || recordings.trajectories.len() == trajectories,
            "{data}\n{}",
            found.text
        );
    }
}
