//! Encode, process, decode.
//!
//! Four kinds of rows: mesh nodes, object nodes, object–mesh edges (one a mesh node, both ways) and face edges. A layer
//! is, with every result added to what was there,
//!
//!   f ← face(f, senders' m and o, receivers' m and o)            (1)
//!   e ← edge(e, m, o)                                            (2)
//!   m ← mesh(m, Σ cut·f at the receiver, e)                      (3)
//!   o ← object(o, mean of e, Σ cut·f at the receiver)            (4)
//!
//! and the decoder reads six numbers of a mesh node from m and its o.

use super::block::{BlockShape, Dense, Record, Route, Scratch, Term, TermBars, zeros};
use super::{Links, Real};

/// Kinds of rows.
const MESH: usize = 0;
const OBJECT: usize = 1;
const EDGE: usize = 2;
const FACE: usize = 3;

/// Numbers that the decoder gives for a mesh node: acceleration and change of velocity, both as distances (scaled).
pub(super) const OUTPUTS: usize = 6;

/// Sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NetShape {
    /// Numbers of a latent.
    pub width: usize,
    /// Layers of messages.
    pub layers: usize,
    /// Features of mesh nodes, objects, object–mesh edges and face edges.
    pub features: [usize; 4],
}

/// Where which weights are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    encoders: [BlockShape; 4],
    layers: Vec<[BlockShape; 4]>,
    decoder: BlockShape,
    /// How many weights there are.
    pub count: usize,
}

impl Layout {
    /// Of a network of these sizes.
    pub fn new(shape: &NetShape) -> Self {
        let width = shape.width;
        let mut next = Next(0);
        let encoders = shape
            .features
            .map(|count| next.block(&[count], [width, width], true));
        let layer = |next: &mut Next| {
            [3, 3, 3, 5].map(|terms| next.block(&vec![width; terms], [width, width], true))
        };
        let layers = (0..shape.layers).map(|_| layer(&mut next)).collect();
        let decoder = next.block(&[width, width], [width, OUTPUTS], false);
        Self {
            encoders,
            layers,
            decoder,
            count: next.0,
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &BlockShape> {
        let layers = self.layers.iter().flatten();
        self.encoders.iter().chain(layers).chain([&self.decoder])
    }
}

/// Deals out places in the vector of weights.
struct Next(usize);

impl Next {
    fn take(&mut self, count: usize) -> usize {
        let start = self.0;
        self.0 += count;
        start
    }

    fn dense(&mut self, inner: usize, outer: usize) -> Dense {
        Dense {
            start: self.take(inner * outer),
            inner,
            outer,
        }
    }

    fn block(&mut self, inputs: &[usize], [hidden, out]: [usize; 2], has_norm: bool) -> BlockShape {
        BlockShape {
            terms: inputs
                .iter()
                .map(|&inner| self.dense(inner, hidden))
                .collect(),
            bias: self.take(hidden),
            second: self.dense(hidden, out),
            second_bias: self.take(out),
            norm: has_norm.then(|| self.take(2 * out)),
        }
    }
}

/// Who is linked with whom in a graph, or in many beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Rows of mesh nodes, objects, object–mesh edges and face edges.
    pub rows: [usize; 4],
    /// Face edges hear mesh nodes of their sender …
    pub send: Links,
    /// … and its object,
    pub send_object: Links,
    /// mesh nodes of their receiver, which hear them,
    pub receive: Links,
    /// and its object, which hears them.
    pub receive_object: Links,
    /// Mesh nodes hear the object to which they belong.
    pub owner: Links,
    /// Objects hear the mean of their object–mesh edges.
    pub mean: Links,
}

/// What is known of a graph, scaled: features row by row, and how much a face edge counts (0 to 1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features<F> {
    /// Of mesh nodes, objects, object–mesh edges, and face edges.
    pub rows: [Vec<F>; 4],
    /// How much a face edge counts.
    pub cut: Vec<F>,
}

/// Cotangents of [`Features`].
pub type FeaturesBar<F> = Features<F>;

/// Six numbers a mesh node.
pub type Readout<F> = Vec<F>;

/// Memory of forward and backward passes.
#[derive(Clone, Debug, Default)]
pub struct Activations<F> {
    levels: Vec<[Vec<F>; 4]>,
    encoders: [Record<F>; 4],
    layers: Vec<[Record<F>; 4]>,
    decoder: Record<F>,
    bars: [Vec<F>; 4],
    bar: Vec<F>,
    scratch: Scratch<F>,
}

/// A network: sizes and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Net<F> {
    /// Sizes.
    pub shape: NetShape,
    /// Where which weights are.
    pub layout: Layout,
    /// The weights.
    pub weights: Vec<F>,
}

impl<F: Real> Net<F> {
    /// A network with random weights: uniform with the variance of one over the numbers that go in; gains are one, biases zero,
    /// and the decoder begins small.
    pub fn random(shape: NetShape, mut uniform: impl FnMut() -> f64) -> Self {
        let layout = Layout::new(&shape);
        let mut weights = vec![F::default(); layout.count];
        for block in layout.blocks() {
            let inputs: usize = block.terms.iter().map(|dense| dense.inner).sum();
            let is_last = block.norm.is_none();
            let mut fill = |dense: &Dense, inputs: usize, factor: f64| {
                let size = factor * (3.0 / inputs as f64).sqrt();
                for weight in &mut weights[dense.start..dense.start + dense.inner * dense.outer] {
                    *weight = F::of(size * (2.0 * uniform() - 1.0));
                }
            };
            for dense in &block.terms {
                fill(dense, inputs, 1.0);
            }
            fill(
                &block.second,
                block.second.inner,
                if is_last { 0.01 } else { 1.0 },
            );
            if let Some(norm) = block.norm {
                weights[norm..norm + block.second.outer].fill(F::of(1.0));
            }
        }
        Self {
            shape,
            layout,
            weights,
        }
    }

    /// The same network in other numbers.
    pub fn convert<G: Real>(&self) -> Net<G> {
        let weights = self.weights.iter().map(|weight| G::of(weight.wide()));
        Net {
            shape: self.shape,
            layout: self.layout.clone(),
            weights: weights.collect(),
        }
    }

    /// Six numbers for every mesh node.
    pub fn forward<'a>(
        &self,
        topology: &Topology,
        features: &Features<F>,
        work: &'a mut Activations<F>,
    ) -> &'a [F] {
        let width = self.shape.width;
        work.levels
            .resize_with(self.shape.layers + 1, Default::default);
        work.layers.resize_with(self.shape.layers, Default::default);
        for kind in 0..4 {
            let block = &self.layout.encoders[kind];
            let term = same(&features.rows[kind]);
            let record = &mut work.encoders[kind];
            block.forward(
                &self.weights,
                topology.rows[kind],
                &[term],
                record,
                &mut work.scratch,
            );
            let level = &mut work.levels[0][kind];
            zeros(level, topology.rows[kind] * width);
            block.add_to(&self.weights, record, level);
        }
        for layer in 0..self.shape.layers {
            let (before, after) = work.levels.split_at_mut(layer + 1);
            let (before, after) = (&before[layer], &mut after[0]);
            for kind in [FACE, EDGE, MESH, OBJECT] {
                let mut own = std::mem::take(&mut after[kind]);
                let block = &self.layout.layers[layer][kind];
                let record = &mut work.layers[layer][kind];
                let (terms, count) = terms(kind, topology, &features.cut, before, after);
                block.forward(
                    &self.weights,
                    topology.rows[kind],
                    &terms[..count],
                    record,
                    &mut work.scratch,
                );
                own.clear();
                own.extend_from_slice(&before[kind]);
                block.add_to(&self.weights, record, &mut own);
                after[kind] = own;
            }
        }
        let last = &work.levels[self.shape.layers];
        let terms = [same(&last[MESH]), gathered(&last[OBJECT], &topology.owner)];
        let rows = topology.rows[MESH];
        (self.layout.decoder).forward(
            &self.weights,
            rows,
            &terms,
            &mut work.decoder,
            &mut work.scratch,
        );
        &work.decoder.out
    }

    /// The adjoint of [`Self::forward`], which must have been called last: adds to the gradient, and to the cotangents of the
    /// features where those are asked for.
    pub fn backward(
        &self,
        topology: &Topology,
        features: &Features<F>,
        (readout_bar, work): (&[F], &mut Activations<F>),
        gradient: &mut [F],
        mut features_bar: Option<&mut FeaturesBar<F>>,
    ) {
        let width = self.shape.width;
        for kind in 0..4 {
            zeros(&mut work.bars[kind], topology.rows[kind] * width);
        }
        let Activations {
            levels,
            encoders,
            layers,
            decoder,
            bars,
            bar,
            scratch,
        } = work;
        let weights = &self.weights[..];
        let block = &self.layout.decoder;
        let last = &levels[self.shape.layers];
        block.backward(weights, decoder, readout_bar, gradient, scratch);
        let term = same(&last[MESH]);
        let into = only(&mut bars[MESH]);
        block.term_backward((0, weights), term, gradient, into, scratch);
        let term = gathered(&last[OBJECT], &topology.owner);
        let into = only(&mut bars[OBJECT]);
        block.term_backward((1, weights), term, gradient, into, scratch);
        for layer in (0..self.shape.layers).rev() {
            let (before, after) = (&levels[layer], &levels[layer + 1]);
            for kind in [OBJECT, MESH, EDGE, FACE] {
                let block = &self.layout.layers[layer][kind];
                let (terms, count) = terms(kind, topology, &features.cut, before, after);
                bar.clear();
                bar.extend_from_slice(&bars[kind]);
                block.backward(weights, &layers[layer][kind], bar, gradient, scratch);
                for (index, &term) in terms[..count].iter().enumerate() {
                    let cut_bar = match (term.route, &mut features_bar) {
                        (Route::Scatter(..), Some(features_bar)) => Some(&mut features_bar.cut[..]),
                        _ => None,
                    };
                    let into = TermBars {
                        x: Some(&mut bars[SOURCES[kind][index]]),
                        factors: cut_bar,
                    };
                    block.term_backward((index, weights), term, gradient, into, scratch);
                }
            }
        }
        for kind in 0..4 {
            let block = &self.layout.encoders[kind];
            block.backward(weights, &encoders[kind], &bars[kind], gradient, scratch);
            let into = features_bar
                .as_deref_mut()
                .map(|features_bar| &mut features_bar.rows[kind][..]);
            let term = same(&features.rows[kind]);
            block.term_backward(
                (0, weights),
                term,
                gradient,
                TermBars {
                    x: into,
                    factors: None,
                },
                scratch,
            );
        }
    }
}

/// Of which kind the inputs of the blocks of a layer are, in the order of [`terms`].
const SOURCES: [&[usize]; 4] = [
    &[MESH, FACE, EDGE],
    &[OBJECT, EDGE, FACE],
    &[EDGE, MESH, OBJECT],
    &[FACE, MESH, OBJECT, MESH, OBJECT],
];

fn only<F>(x: &mut [F]) -> TermBars<'_, F> {
    TermBars {
        x: Some(x),
        factors: None,
    }
}

fn same<F>(x: &[F]) -> Term<'_, F> {
    Term {
        x,
        route: Route::Same,
    }
}

fn gathered<'a, F>(x: &'a [F], links: &'a Links) -> Term<'a, F> {
    Term {
        x,
        route: Route::Gather(links),
    }
}

/// The inputs of a block of a layer: (1) to (4). What is new in this layer is in `after`.
fn terms<'a, F>(
    kind: usize,
    topology: &'a Topology,
    cut: &'a [F],
    before: &'a [Vec<F>; 4],
    after: &'a [Vec<F>; 4],
) -> ([Term<'a, F>; 5], usize)
where
    F: Copy,
{
    let heard = |links| Term {
        x: &after[FACE][..],
        route: Route::Scatter(links, cut),
    };
    let none = same(&[]);
    match kind {
        FACE => (
            [
                same(&before[FACE]),
                gathered(&before[MESH], &topology.send),
                gathered(&before[OBJECT], &topology.send_object),
                gathered(&before[MESH], &topology.receive),
                gathered(&before[OBJECT], &topology.receive_object),
            ],
            5,
        ),
        EDGE => (
            [
                same(&before[EDGE]),
                same(&before[MESH]),
                gathered(&before[OBJECT], &topology.owner),
                none,
                none,
            ],
            3,
        ),
        MESH => (
            [
                same(&before[MESH]),
                heard(&topology.receive),
                same(&after[EDGE]),
                none,
                none,
            ],
            3,
        ),
        _ => (
            [
                same(&before[OBJECT]),
                gathered(&after[EDGE], &topology.mean),
                heard(&topology.receive_object),
                none,
                none,
            ],
            3,
        ),
    }
}
