//! The toss of a body at a table [Paulus 2025]: down with some speed and a little to the side, asked where it is later.

use std::error::Error;

use carom::{Model, State};

/// Which position is the loss, and which velocity the variable.
pub(crate) const SIDEWAYS: usize = 1;
pub(crate) const DOWN: usize = 2;

/// Names and geoms, as thrown in the paper; the mesh is ours.
pub(crate) const SHAPES: [(&str, &str); 6] = [
    ("sphere", r#"size="0.05" density="1""#),
    (
        "ellipsoid",
        r#"type="ellipsoid" size="0.05 0.05 0.1" density="200" euler="80 0 0""#,
    ),
    (
        "capsule",
        r#"type="capsule" size="0.05 0.07" density="50" euler="60 0 0""#,
    ),
    (
        "cylinder",
        r#"type="cylinder" size="0.04 0.05" density="100" euler="70 10 0""#,
    ),
    ("cube", CUBE),
    ("mesh", r#"type="mesh" mesh="stone" density="100""#),
];

pub(crate) const CUBE: &str = r#"type="box" size="0.05 0.05 0.05" density="100" euler="60 0 0""#;

/// Names of kinds of contact, and what geoms have: forces that begin at zero, and MuJoCo's default.
pub(crate) const CONTACTS: [(&str, &str); 2] = [("d₀ = 0", CONTINUOUS), ("default", "")];

pub(crate) const CONTINUOUS: &str = r#"solref="0.005 1" solimp="0 0.95 0.001 0.5 2""#;

/// A body of some shape over a table, with steps of some length (s).
pub(crate) fn model(shape: &str, contact: &str, step: f64) -> Result<Model, Box<dyn Error>> {
    super::model_from_text(format!(
        r#"<mujoco><option gravity="0 0 -2" timestep="{step}"><flag refsafe="disable" eulerdamp="disable"/></option>
          <default><geom {contact}/></default>
          <asset><mesh name="stone" vertex="0.06 0 0.01  -0.05 0.01 0  0 0.05 -0.01  0.01 -0.06 0  0 0.01 0.05  0.01 0 -0.045"/></asset>
          <worldbody><geom type="plane" size="20 20 1"/>
          <body pos="0 0 0.2"><freejoint/><geom {shape}/></body></worldbody></mujoco>"#
    ))
}

/// How it is thrown.
pub(crate) fn start(model: &Model, speed: f64) -> State {
    let mut start = State::reference(model);
    (start.qvel[SIDEWAYS], start.qvel[DOWN]) = (-0.1, speed);
    start
}
