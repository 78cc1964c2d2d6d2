//! What names of arrays say: the words in them, and what robotics calls by those words.

/// What an array measures, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Time stamps.
    Time,
    /// Coordinates of joints, or the position of a body.
    Position,
    /// Velocities of joints, or the linear velocity of a body.
    Velocity,
    /// Accelerations, which nothing is compared with.
    Acceleration,
    /// Measured forces or torques of joints.
    Effort,
    /// What actuators were told.
    Command,
    /// The orientation of a body.
    Rotation,
    /// The linear velocity of a body.
    Linear,
    /// The angular velocity of a body.
    Angular,
    /// Position and orientation side by side.
    Pose,
    /// Linear and angular velocity side by side.
    Twist,
    /// Positions and velocities side by side.
    State,
    /// Nothing that is known.
    Unknown,
}

const TIME: &[&str] = &[
    "t",
    "time",
    "times",
    "stamp",
    "stamps",
    "timestamp",
    "timestamps",
    "ts",
    "elapsed",
    "clock",
    "seconds",
    "secs",
    "sec",
    "nsec",
    "nsecs",
    "msec",
    "usec",
    "milliseconds",
];
const ACCELERATION: &[&str] = &[
    "acc",
    "accel",
    "acceleration",
    "accelerations",
    "ddq",
    "qdd",
    "qddot",
    "qacc",
    "alpha",
    "jerk",
];
const COMMAND: &[&str] = &[
    "ctrl",
    "control",
    "controls",
    "cmd",
    "cmds",
    "command",
    "commands",
    "commanded",
    "action",
    "actions",
    "u",
    "goal",
    "target",
    "desired",
    "des",
    "reference",
    "ref",
    "setpoint",
    "setpoints",
    "input",
    "inputs",
    "pwm",
    "duty",
    "voltage",
    "current",
    "currents",
];
const EFFORT: &[&str] = &[
    "tau", "torque", "torques", "effort", "efforts", "force", "forces", "trq", "frc", "moment",
];
const ROTATION: &[&str] = &[
    "quat",
    "quaternion",
    "quats",
    "orientation",
    "orientations",
    "rot",
    "rotation",
    "rotations",
    "attitude",
    "rotvec",
    "rvec",
    "rotmat",
];
const ANGULAR: &[&str] = &["angvel", "angular", "gyro", "angularvelocity", "rotvel"];
const LINEAR: &[&str] = &["linvel", "linear", "linearvelocity"];
const VELOCITY: &[&str] = &[
    "vel",
    "vels",
    "velocity",
    "velocities",
    "dq",
    "qd",
    "qdot",
    "dqdt",
    "qvel",
    "omega",
    "speed",
    "speeds",
    "thetadot",
    "dtheta",
    "dot",
    "v",
    "w",
    "xdot",
    "rate",
    "rates",
];
const POSITION: &[&str] = &[
    "pos",
    "position",
    "positions",
    "q",
    "qs",
    "qpos",
    "angle",
    "angles",
    "theta",
    "thetas",
    "phi",
    "psi",
    "ang",
    "enc",
    "encoder",
    "encoders",
    "p",
    "xyz",
    "translation",
    "location",
    "displacement",
];
const POSE: &[&str] = &["pose", "poses", "transform", "odom", "odometry"];
const TWIST: &[&str] = &["twist", "twists"];
const STATE: &[&str] = &["state", "states", "x"];

/// Words that are in many names and say nothing of what is measured.
const FILLERS: &[&str] = &[
    "joint",
    "joints",
    "jnt",
    "motor",
    "motors",
    "actuator",
    "actuators",
    "axis",
    "measured",
    "measurement",
    "meas",
    "actual",
    "act",
    "robot",
    "robot0",
    "arm",
    "data",
    "raw",
    "filtered",
    "filt",
    "est",
    "estimated",
    "sensor",
    "body",
    "object",
    "obj",
    "base",
    "world",
    "the",
    "of",
    "in",
    "rad",
    "deg",
    "degree",
    "degrees",
    "radians",
    "m",
    "mm",
    "cm",
    "s",
    "ms",
    "us",
    "ns",
    "nm",
    "n",
    "a",
    "d",
    "per",
    "field",
    "msg",
];

/// The words of a name in small letters: `panda_joint1.pos [deg]` has panda, joint, 1, pos, deg.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            last = ' ';
            continue;
        }
        let is_new = last == ' '
            || last.is_numeric() != letter.is_numeric()
            || (last.is_lowercase() && letter.is_uppercase());
        if is_new {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    for word in &mut words {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            let short = word.trim_start_matches('0');
            *word = if short.is_empty() { "0" } else { short }.to_owned();
        }
    }
    words
}

/// A name for a comment: on one line.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// Whether a word says what is measured, or nothing at all: not what it is measured of.
pub(super) fn is_known(word: &str) -> bool {
    word_part(word) != Part::Unknown || is_filler(word)
}

/// Whether a word says nothing of what is measured.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

fn word_part(word: &str) -> Part {
    LISTS
        .iter()
        .find(|(_, list)| list.contains(&word))
        .map_or(Part::Unknown, |&(part, _)| part)
}

/// Lists in the order in which they decide: a `target_position` is a command, a `joint_velocity` no position.
const LISTS: &[(Part, &[&str])] = &[
    (Part::Acceleration, ACCELERATION),
    (Part::Command, COMMAND),
    (Part::Effort, EFFORT),
    (Part::Rotation, ROTATION),
    (Part::Angular, ANGULAR),
    (Part::Linear, LINEAR),
    (Part::Twist, TWIST),
    (Part::Velocity, VELOCITY),
    (Part::Position, POSITION),
    (Part::Pose, POSE),
    (Part::Time, TIME),
    (Part::State, STATE),
];

/// What words say is measured.
pub(super) fn part(words: &[String]) -> Part {
    let says = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if says(LINEAR) && says(ACCELERATION) {
        return Part::Acceleration;
    }
    // `target` and `goal` are bodies too; only with what they are told, or alone, are they commands.
    let found = LISTS.iter().find(|(_, list)| says(list));
    found.map_or(Part::Unknown, |&(part, _)| part)
}

/// Seconds of a unit in words of a name; none where it names no unit.
pub(super) fn time_factor(words: &[String]) -> Option<f64> {
    words.iter().find_map(|word| match word.as_str() {
        "ns" | "nsec" | "nsecs" | "nanoseconds" => Some(1e-9),
        "us" | "usec" | "usecs" | "microseconds" => Some(1e-6),
        "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "seconds" => Some(1.0),
        _ => None,
    })
}

/// The unit of angles or lengths in words of a name, as mappings call it.
pub(super) fn unit(words: &[String], is_angle: bool) -> Option<&'static str> {
    let units: &[(&[&str], &str)] = if is_angle {
        &[
            (&["deg", "degree", "degrees", "dps"], "deg"),
            (&["turn", "turns", "rev", "revs"], "turn"),
        ]
    } else {
        &[
            (&["mm", "millimeters", "millimetres"], "mm"),
            (&["cm", "centimeters", "centimetres"], "cm"),
            (&["inch", "inches"], "in"),
            (&["ft", "feet"], "ft"),
        ]
    };
    let says = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    units
        .iter()
        .find(|(list, _)| says(list))
        .map(|&(_, unit)| unit)
}

/// A component of a vector or quaternion at the end of a name: what it is of, as a word, and which one.
pub(super) fn component(words: &[String]) -> Option<(Option<&'static str>, char)> {
    let last = words.last()?;
    let mut letters = last.chars();
    match (letters.next(), letters.next(), letters.next()) {
        (Some(axis @ ('w' | 'x' | 'y' | 'z')), None, _) => Some((None, axis)),
        (Some(family), Some(axis @ ('w' | 'x' | 'y' | 'z')), None) => {
            let family = match family {
                'p' => "position",
                'q' => "quaternion",
                'v' => "linear",
                'w' => "angular",
                _ => return None,
            };
            Some((Some(family), axis))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of(name: &str) -> Part {
        part(&words(name))
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(
            words("panda_joint01.pos [deg]"),
            ["panda", "joint", "1", "pos", "deg"]
        );
        assert_eq!(words("shoulderPanJoint"), ["shoulder", "pan", "joint"]);
        assert_eq!(
            words("/joint_states.velocity.elbow"),
            ["joint", "states", "velocity", "elbow"]
        );
        assert_eq!(words("…"), [""; 0]);
    }

    #[test]
    fn words_of_the_field_say_what_is_measured() {
        for (name, expected) in [
            ("q", Part::Position),
            ("joint_positions", Part::Position),
            ("dq", Part::Velocity),
            ("omega2", Part::Velocity),
            ("tau_measured", Part::Effort),
            ("q_des", Part::Command),
            ("target_joint_velocity", Part::Command),
            ("cube_orientation", Part::Rotation),
            ("imu.angular", Part::Angular),
            ("linear_acceleration", Part::Acceleration),
            ("timestamp_ns", Part::Time),
            ("foo", Part::Unknown),
        ] {
            assert_eq!(part_of(name), expected, "{name}");
        }
        assert_eq!(time_factor(&words("timestamp [ms]")), Some(1e-3));
        assert_eq!(unit(&words("knee_deg"), true), Some("deg"));
        assert_eq!(unit(&words("z_mm"), false), Some("mm"));
        assert_eq!(
            component(&words("cube_qw")),
            Some((Some("quaternion"), 'w'))
        );
        assert_eq!(component(&words("pose.position.x")), Some((None, 'x')));
        assert_eq!(component(&words("qd")), None);
    }
}
