//! Throws of a box onto a floor whose contact is known, as a motion capture system would have recorded them: poses alone, with noise.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use carom::math::{Quat, Vec3};
use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;

/// Noise of recorded positions (m) and of orientations (rad).
pub(crate) const NOISE: [f64; 2] = [1e-3, 0.5 * std::f64::consts::PI / 180.0];
/// Steps of the model from a frame to the next, at 100 Hz.
const STEPS: usize = 5;

/// What the recordings are.
pub(crate) const MAPPING: &str = "time.column = 't'\n[[body]]\nname = 'box'\nposition = 'p[0:3]'\nrotation = 'q[0:4]'\n\
    noise = { position = 0.001, rotation = 0.008726646 }\n";

/// A box and the contact of its throws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thrown {
    /// Half sides (m).
    pub(crate) size: [f64; 3],
    /// Sliding friction, time constant (s) and damping ratio.
    pub(crate) contact: [f64; 3],
    /// Greatest horizontal speed (m/s) and rate of a spin about each axis (rad/s).
    pub(crate) speeds: [f64; 2],
    /// Number of throws, and of frames after the first of each.
    pub(crate) throws: usize,
    pub(crate) frames: usize,
}

impl Thrown {
    /// The model file.
    pub(crate) fn mjcf(&self) -> String {
        let [a, b, c] = self.size;
        let [friction, time, ratio] = self.contact;
        format!(
            "<mujoco><option timestep='0.002'/><default><geom friction='{friction} 0.005 0.0001' solref='{time} {ratio}'/></default>\
             <worldbody><geom name='floor' type='plane' size='3 3 0.1'/><body name='box' pos='0 0 0.5'><freejoint/>\
             <geom name='box' type='box' size='{a} {b} {c}' mass='0.4'/></body></worldbody></mujoco>"
        )
    }

    /// Throws as tables, below a folder.
    pub(crate) fn record(
        &self,
        model: &Model,
        folder: &Path,
        seed: u64,
    ) -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let mut random = Random::new(seed, 20);
        (0..self.throws)
            .map(|throw| {
                let path = folder.join(format!("throw{throw}.csv"));
                std::fs::write(&path, self.table(model, &mut random)?)?;
                Ok(path)
            })
            .collect()
    }

    fn table(&self, model: &Model, random: &mut Random) -> Result<String, std::fmt::Error> {
        let mut within = |size: f64| size * (2.0 * random.uniform() - 1.0);
        let [speed, spin] = self.speeds;
        let mut state = State::reference(model);
        state.qpos[2] = 0.35 + within(0.1);
        let turn = Quat::exp(Vec3([within(3.0), within(3.0), within(3.0)]));
        state.qpos[3..7].copy_from_slice(&turn.0);
        for (velocity, size) in state
            .qvel
            .iter_mut()
            .zip([speed, speed, 0.5, spin, spin, spin])
        {
            *velocity = within(size);
        }
        let (input, mut data) = (Input::zeros(model), Data::new(model));
        let mut text = "t,p[0],p[1],p[2],q[0],q[1],q[2],q[3]\n".to_owned();
        for _ in 0..=self.frames {
            let position = (0..3).map(|k| state.qpos[k] + NOISE[0] * random.normal());
            let position: Vec<f64> = position.collect();
            let quat = Quat(std::array::from_fn(|k| state.qpos[3 + k]));
            let error = Vec3(std::array::from_fn(|_| NOISE[1] * random.normal()));
            let numbers = position.into_iter().chain(quat.mul(Quat::exp(error)).0);
            let cells: Vec<String> = numbers.map(|number| number.to_string()).collect();
            writeln!(text, "{},{}", state.time, cells.join(","))?;
            for _ in 0..STEPS {
                carom::step(model, &mut state, &input, &mut data);
            }
        }
        Ok(text)
    }
}
