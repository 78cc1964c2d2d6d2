//! A network with all that it needs to be used: what scales its numbers, and by which step and threshold it goes.

use crate::network::{Activations, Features, Net, Real};
use crate::scene::motion::{self, Moments};
use crate::scene::{Batch, Body, Heading, Normalizer, Scene, Setting};

/// A trained network.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned<F> {
    /// Sizes and weights.
    pub net: Net<F>,
    /// Scales of its numbers.
    pub normalizer: Normalizer,
    /// Step and threshold.
    pub setting: Setting,
}

/// Memory for steps of a scene.
#[derive(Clone, Debug, Default)]
pub struct StepWork<F> {
    /// The graph.
    pub batch: Batch,
    /// Its features, scaled.
    pub features: Features<F>,
    /// Latents.
    pub activations: Activations<F>,
    /// What is said of each body.
    pub(crate) said: Vec<Moments>,
}

impl<F: Real> Learned<F> {
    /// The same in other numbers.
    pub fn convert<G: Real>(&self) -> Learned<G> {
        Learned {
            net: self.net.convert(),
            normalizer: self.normalizer.clone(),
            setting: self.setting,
        }
    }

    /// What the network says of each body that moves; bodies that do not move come last.
    pub(crate) fn ask(&self, scene: &Scene, bodies: &[Body], work: &mut StepWork<F>) {
        work.batch.clear();
        work.batch.add(scene, bodies, &[], &self.setting);
        work.batch.scaled(&self.normalizer, &mut work.features);
        let said = self
            .net
            .forward(&work.batch.topology, &work.features, &mut work.activations);
        work.said.clear();
        let mut nodes = said.chunks_exact(6);
        for solid in scene.solids.iter().filter(|solid| !solid.is_static()) {
            let mut moments = Moments::default();
            for (&vertex, node) in solid.vertices.iter().zip(&mut nodes) {
                let vector = |from: usize, scale: f64| {
                    carom::math::Vec3(std::array::from_fn(|axis| node[from + axis].wide() * scale))
                };
                let [a, b] = self.normalizer.outputs;
                moments.add(vertex, solid.vertices.len(), [vector(0, a), vector(3, b)]);
            }
            work.said.push(moments);
        }
    }

    /// Moves all bodies by a step; false if one has no next pose, and then it stays where it is.
    pub fn step(&self, scene: &Scene, bodies: &mut [Body], work: &mut StepWork<F>) -> bool {
        self.ask(scene, bodies, work);
        let mut is_whole = true;
        for (index, said) in work.said.iter().enumerate() {
            let (solid, body) = (&scene.solids[index], &mut bodies[index]);
            let heading = Heading::of(&body.rotation, 0);
            match motion::next(solid, body, &heading, said, self.setting.step) {
                Some(moved) => *body = moved,
                None => is_whole = false,
            }
        }
        is_whole
    }
}
