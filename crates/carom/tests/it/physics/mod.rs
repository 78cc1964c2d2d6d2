//! Physics that any simulator owes its users, checked against textbook answers and not against another simulator.

mod complementarity;
mod conservation;
mod friction;
mod impacts;
mod resting;
mod spin;

use std::path::Path;

use carom::compile::compile;
use carom::math::Vec3;
use carom::stages::sensing::{kinetic_energy, potential_energy};
use carom::{Data, Input, Model, State};
use carom_spec::mjcf;
use carom_spec::source::{MemorySource, SourceMap};

/// Gravity of all scenes (m/s²).
const GRAVITY: f64 = 9.81;

/// A simulation in progress.
struct Scene {
    model: Model,
    state: State,
    input: Input,
    data: Data,
}

impl Scene {
    /// A scene of geoms and bodies, given as the inside of an MJCF world.
    fn new(option: &str, defaults: &str, world: &str) -> Self {
        Self::from_mjcf(&format!(
            "<mujoco><option {option}/><default><geom {defaults}/></default>\
             <worldbody>{world}</worldbody></mujoco>"
        ))
    }

    fn from_mjcf(text: &str) -> Self {
        let path = Path::new("scene.xml");
        let files = MemorySource::new().with(path, text);
        let (settings, mut sources) = (mjcf::ReadSettings::default(), SourceMap::new());
        let (spec, problems) = mjcf::read(path, &files, &settings, &mut sources);
        assert!(problems.is_empty(), "{problems:?}");
        let (model, problems) = compile(&spec);
        let model = model.unwrap_or_else(|| panic!("{problems:?}"));
        Self {
            state: State::reference(&model),
            input: Input::zeros(&model),
            data: Data::new(&model),
            model,
        }
    }

    fn step(&mut self) {
        carom::step(&self.model, &mut self.state, &self.input, &mut self.data);
    }

    fn run(&mut self, seconds: f64) {
        let end = self.state.time + seconds;
        while self.state.time < end - 1e-12 {
            self.step();
        }
    }

    /// Position of the free body whose coordinates come `index`-th.
    fn position(&self, index: usize) -> Vec3 {
        Vec3(std::array::from_fn(|k| self.state.qpos[7 * index + k]))
    }

    /// Linear velocity of the free body whose coordinates come `index`-th.
    fn velocity(&self, index: usize) -> Vec3 {
        Vec3(std::array::from_fn(|k| self.state.qvel[6 * index + k]))
    }

    /// Angular velocity of that body, in its own axes.
    fn spin(&self, index: usize) -> Vec3 {
        Vec3(std::array::from_fn(|k| self.state.qvel[6 * index + 3 + k]))
    }

    /// The z axis of that body in the world.
    fn up(&self, index: usize) -> Vec3 {
        let quat: [f64; 4] = std::array::from_fn(|k| self.state.qpos[7 * index + 3 + k]);
        carom::math::Quat(quat).to_mat3().column(2)
    }

    /// Kinetic and potential energy at the current state (J).
    fn energy(&mut self) -> f64 {
        carom::dynamics::forward(&self.model, &self.state, &self.input, &mut self.data);
        let (stages, _) = self.data.split_sensing();
        potential_energy(&self.model, &self.state, &stages)
            + kinetic_energy(&self.model, &self.state, &stages)
    }

    /// Whether any contact acts at the state that was last evaluated.
    fn touches(&self) -> bool {
        let mut contacts = self.data.collision.contacts.iter();
        contacts.any(|contact| contact.distance < contact.include_margin)
    }

    /// Greatest speed of any free body (m/s).
    fn greatest_speed(&self) -> f64 {
        let bodies = self.state.qvel.len() / 6;
        (0..bodies)
            .map(|body| self.velocity(body).norm())
            .fold(0.0, f64::max)
    }
}

/// Fails unless two numbers agree to a relative error.
#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs() / expected.abs();
    assert!(
        error <= relative,
        "{found} instead of {expected}: relative error {error:.2e}"
    );
}
