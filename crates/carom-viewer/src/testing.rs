//! Models for tests.

use std::sync::Arc;

use carom::Model;
use carom_spec::mjcf::ReadSettings;

/// A model from MJCF text that must be valid.
pub(crate) fn model(text: &str) -> Arc<Model> {
    let name = "model.xml";
    let files = carom_spec::MemorySource::new().with(name, text);
    let read = carom_spec::read::read(name.as_ref(), &files, &ReadSettings::default());
    let loaded = carom::load::compiled(read);
    Arc::new(loaded.unwrap_or_else(|error| panic!("{error}")).model)
}

/// A ball of 2 kg that falls, and a pendulum with a motor and a keyframe.
pub(crate) fn ball_and_pendulum() -> Arc<Model> {
    model(
        r#"<mujoco model="ball &lt;/script> and pendulum">
          <option timestep="0.002"/>
          <worldbody>
            <geom name="floor" type="plane" size="1 1 0.1" pos="0 0 -5"/>
            <body name="ball"><freejoint/><geom type="sphere" size="0.1" mass="2" contype="0" conaffinity="0"/></body>
            <body name="rod" pos="1 0 0">
              <joint name="hinge" type="hinge" axis="0 1 0"/>
              <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5" mass="1" contype="0" conaffinity="0" rgba="1 0 0 0.5"/>
            </body>
          </worldbody>
          <actuator><motor joint="hinge"/></actuator>
          <sensor><jointpos joint="hinge"/></sensor>
          <keyframe><key name="up" qpos="0 0 0 1 0 0 0 3.1" ctrl="0.25"/></keyframe>
        </mujoco>"#,
    )
}

/// The f32 numbers of a frame after its header.
pub(crate) fn numbers(frame: &[u8]) -> Vec<f32> {
    let (words, _) = frame[crate::frame::HEADER..].as_chunks::<4>();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Time of a frame (s); not a number where there is none yet.
pub(crate) fn time(frame: &[u8]) -> f64 {
    let bytes = frame.get(8..16);
    bytes.map_or(f64::NAN, |bytes| {
        f64::from_le_bytes(bytes.try_into().unwrap())
    })
}
