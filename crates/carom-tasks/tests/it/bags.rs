//! Bags of ROS 2, written here by hand.

use crate::support::{Folder, load, model};

/// Writes CDR: numbers aligned to their size.
struct Message(Vec<u8>);

impl Message {
    fn new() -> Self {
        Self(vec![0, 1, 0, 0])
    }

    fn align(&mut self, size: usize) {
        while !(self.0.len() - 4).is_multiple_of(size) {
            self.0.push(0);
        }
    }

    fn u32(mut self, number: u32) -> Self {
        self.align(4);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn f64s(mut self, numbers: &[f64]) -> Self {
        for number in numbers {
            self.align(8);
            self.0.extend(number.to_le_bytes());
        }
        self
    }

    fn text(self, text: &str) -> Self {
        let mut message = self.u32(u32::try_from(text.len()).unwrap() + 1);
        message.0.extend(text.as_bytes());
        message.0.push(0);
        message
    }

    fn header(self, milliseconds: u32) -> Self {
        let (seconds, rest) = (1_700_000_000 + milliseconds / 1000, milliseconds % 1000);
        self.u32(seconds).u32(rest * 1_000_000).text("map")
    }
}

fn text(text: &str) -> Vec<u8> {
    [
        &u32::try_from(text.len()).unwrap().to_le_bytes()[..],
        text.as_bytes(),
    ]
    .concat()
}

fn record(opcode: u8, content: &[u8]) -> Vec<u8> {
    [
        &[opcode][..],
        &(content.len() as u64).to_le_bytes(),
        content,
    ]
    .concat()
}

/// Schema and channel of a topic, both with one number.
fn topic(id: u16, name: &str, kind: &str) -> Vec<u8> {
    let schema = [
        &id.to_le_bytes()[..],
        &text(kind),
        &text("ros2msg"),
        &text(""),
    ]
    .concat();
    let id = id.to_le_bytes();
    let channel = [&id[..], &id, &text(name), &text("cdr"), &text("")].concat();
    [record(3, &schema), record(4, &channel)].concat()
}

fn message(id: u16, milliseconds: u64, Message(data): Message) -> Vec<u8> {
    let time = ((1_700_000_000_000 + milliseconds) * 1_000_000).to_le_bytes();
    record(
        5,
        &[&id.to_le_bytes()[..], &[0; 4], &time, &time, &data].concat(),
    )
}

fn chunk(compression: &str, size: usize, packed: &[u8]) -> Vec<u8> {
    let head = [
        &[0; 16][..],
        &(size as u64).to_le_bytes(),
        &[0; 4],
        &text(compression),
    ]
    .concat();
    record(
        6,
        &[&head[..], &(packed.len() as u64).to_le_bytes(), packed].concat(),
    )
}

fn file(records: &[u8]) -> Vec<u8> {
    let magic = b"\x89MCAP0\r\n";
    [
        &magic[..],
        &record(1, &[text("ros2"), text("test")].concat()),
        records,
        &record(2, &[0; 20]),
        magic,
    ]
    .concat()
}

/// Frames of zstd and LZ4 with their bytes as they are.
fn stored_zstd(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap();
    let block = (size << 3 | 1).to_le_bytes();
    [
        &[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..],
        &size.to_le_bytes(),
        &block[..3],
        bytes,
    ]
    .concat()
}

fn stored_lz4(bytes: &[u8]) -> Vec<u8> {
    let size = (u32::try_from(bytes.len()).unwrap() | 0x8000_0000).to_le_bytes();
    [
        &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82][..],
        &size,
        bytes,
        &[0; 4],
    ]
    .concat()
}

/// Odometry of a cube at 100 Hz: it moves along its own x, which points along the world's y.
fn odometry() -> Vec<u8> {
    let mut records = topic(1, "/cube", "nav_msgs/msg/Odometry");
    let half = 0.5_f64.sqrt();
    for k in 0..4_u32 {
        let message_of = Message::new()
            .header(10 * k)
            .text("cube")
            .f64s(&[0.1, 0.02 * f64::from(k), 0.5])
            .f64s(&[0.0, 0.0, half, half])
            .f64s(&[0.0; 36])
            .f64s(&[2.0, 0.0, 0.0, 0.0, 0.0, 0.3])
            .f64s(&[0.0; 36]);
        records.extend(message(1, u64::from(10 * k), message_of));
    }
    records
}

pub(crate) const ODOMETRY: &str = "[[body]]\nname = 'cube'\nposition = '/cube.position'\nrotation = '/cube.orientation'\nrotation_format = 'xyzw'\n\
    linear_velocity = '/cube.linear'\nlinear_velocity_axes = 'body'\nangular_velocity = '/cube.angular'\n";

/// A bag with records of its own and packed ones.
pub(crate) fn example() -> Vec<u8> {
    let records = odometry();
    let (topic, messages) = records.split_at(topic(1, "/cube", "nav_msgs/msg/Odometry").len());
    let packed = chunk("lz4", messages.len(), &stored_lz4(messages));
    file(&[topic, &packed].concat())
}

#[test]
fn chunks_are_as_large_as_they_say_and_have_no_chunks_in_them() {
    let folder = Folder::new("chunks");
    let cube = model("datasets/contactnets_cube.xml");
    let records = odometry();
    // A chunk in a chunk in a chunk …: one level would be a call each.
    let mut nested = records.clone();
    for _ in 0..50_000 {
        nested = chunk("", nested.len(), &nested);
        if nested.len() > 4_000_000 {
            break;
        }
    }
    let small = chunk("lz4", records.len() - 1, &stored_lz4(&records));
    let large = chunk("zstd", records.len() + 1, &stored_zstd(&records));
    let huge = chunk("zstd", 1 << 40, &stored_zstd(&records));
    for (bytes, why) in [
        (nested, "a chunk is within a chunk"),
        (small, "bytes that it says"),
        (large, "bytes that it says"),
        (huge, "more than is read"),
    ] {
        let path = folder.write_bytes("bad.mcap", &file(&bytes));
        let error = load(&cube, ODOMETRY, &path).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn odometry_is_read_from_plain_and_packed_chunks() {
    let folder = Folder::new("odometry");
    let cube = model("datasets/contactnets_cube.xml");
    let records = odometry();
    let packed = [
        ("plain.mcap", file(&records)),
        ("chunk.mcap", file(&chunk("", records.len(), &records))),
        (
            "zstd.mcap",
            file(&chunk("zstd", records.len(), &stored_zstd(&records))),
        ),
        (
            "lz4.mcap",
            file(&chunk("lz4", records.len(), &stored_lz4(&records))),
        ),
    ];
    for (name, bytes) in packed {
        let path = folder.write_bytes(name, &bytes);
        let recordings =
            load(&cube, ODOMETRY, &path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let trajectory = &recordings.trajectories[0];
        assert_eq!(trajectory.frames(), 4, "{name}");
        assert!((trajectory.times[3] - 0.03).abs() < 1e-12);
        let start = recordings.start(&cube, 0, 2).unwrap();
        let half = 0.5_f64.sqrt();
        let expected = [
            0.1, 0.04, 0.5, half, 0.0, 0.0, half, 0.0, 2.0, 0.0, 0.0, 0.0, 0.3,
        ];
        for (found, expected) in start.qpos.iter().chain(&start.qvel).zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{name}: {found} is not {expected}"
            );
        }
    }
}

#[test]
fn joints_and_commands_of_different_rates_meet() {
    let folder = Folder::new("joints");
    let cartpole = model("models/cartpole.xml");
    let mut records = topic(1, "/joint_states", "sensor_msgs/msg/JointState");
    records.extend(topic(2, "/command", "std_msgs/msg/Float64MultiArray"));
    for k in 0..5_u32 {
        let x = f64::from(k);
        let state = Message::new()
            .header(10 * k)
            .u32(2)
            .text("hinge")
            .text("slider");
        let state = state
            .u32(2)
            .f64s(&[0.1 * x, 0.2 * x])
            .u32(2)
            .f64s(&[10.0, 20.0])
            .u32(0);
        records.extend(message(1, u64::from(10 * k), state));
        if k % 2 == 0 {
            let command = Message::new().u32(0).u32(0).u32(1).f64s(&[x]);
            records.extend(message(2, u64::from(10 * k), command));
        }
    }
    let path = folder.write_bytes("run.mcap", &file(&records));
    let mapping = "[[joint]]\nname = 'slider'\nposition = '/joint_states.position.slider'\nvelocity = '/joint_states.velocity.slider'\n\
        [[joint]]\nname = 'hinge'\nposition = '/joint_states.position.hinge'\n[[actuator]]\nname = 'push'\ncontrol = '/command.data'\n";
    let recordings = load(&cartpole, mapping, &path).unwrap();
    let trajectory = &recordings.trajectories[0];
    assert_eq!(trajectory.controls, [0.0, 0.0, 2.0, 2.0, 4.0]);
    let start = recordings.start(&cartpole, 0, 3).unwrap();
    let expected = [0.6, 0.3, 20.0, 10.0];
    for (found, expected) in start.qpos.iter().chain(&start.qvel).zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

#[test]
fn damaged_bags_and_foreign_messages_are_refused() {
    let folder = Folder::new("damaged");
    let cube = model("datasets/contactnets_cube.xml");
    let refusal = |name: &str, bytes: &[u8]| {
        let path = folder.write_bytes(name, bytes);
        folder.plain(&load(&cube, ODOMETRY, &path).unwrap_err().to_string())
    };
    assert_eq!(
        refusal("bag.mcap", b"SQLite"),
        "'bag.mcap': not an MCAP file; a ROS 2 bag in .db3 can be converted by 'ros2 bag convert'"
    );
    let whole = file(&odometry());
    assert_eq!(
        refusal("cut.mcap", &whole[..whole.len() / 2]),
        "'cut.mcap': the file is cut off or damaged"
    );
    let mut records = topic(1, "/chatter", "std_msgs/msg/String");
    records.extend(message(1, 0, Message::new().text("hello")));
    assert_eq!(
        refusal("other.mcap", &file(&records)),
        "'other.mcap': it has 1 × std_msgs/msg/String; read are JointState, PoseStamped, TransformStamped, TFMessage, Odometry, Imu, Float64 and Float64MultiArray in CDR"
    );
    let mut records = topic(1, "/cube", "geometry_msgs/msg/PoseStamped");
    records.extend(message(1, 0, Message::new().header(0).f64s(&[0.0])));
    assert_eq!(
        refusal("short.mcap", &file(&records)),
        "'short.mcap': a message of '/cube' (geometry_msgs/msg/PoseStamped) cannot be read: it ends too early"
    );
    // Any cut or any wrong byte is an error or a table, never a panic.
    for cut in 0..whole.len() {
        let mut wrong = whole.clone();
        wrong[cut] ^= 0x55;
        for bytes in [&wrong[..], &whole[..cut]] {
            let path = folder.write_bytes("any.mcap", bytes);
            let _ = load(&cube, ODOMETRY, &path);
        }
    }
}
