//! Multilayer perceptrons.
//!
//!   z⁽ˡ⁾ = W⁽ˡ⁾·a⁽ˡ⁻¹⁾ + b⁽ˡ⁾,   a⁽ˡ⁾ = σ(z⁽ˡ⁾),   a⁽⁰⁾ = x                                (1)
//!   y = W⁽ᴸ⁾·a⁽ᴸ⁻¹⁾ + b⁽ᴸ⁾                                                            (2)
//!
//! Adjoint, from the last layer to the first:
//!
//!   b̄⁽ˡ⁾ += z̄⁽ˡ⁾,   W̄⁽ˡ⁾ += z̄⁽ˡ⁾·a⁽ˡ⁻¹⁾ᵀ,   ā⁽ˡ⁻¹⁾ = W⁽ˡ⁾ᵀ·z̄⁽ˡ⁾,   z̄⁽ˡ⁾ = σ′(z⁽ˡ⁾)·ā⁽ˡ⁾         (1̄)
//!
//! Weights stand layer by layer: the columns of W⁽ˡ⁾ one after another, then b⁽ˡ⁾. By columns, the inner loops run over
//! neighbouring numbers whose sums do not wait for each other.

use carom_scalar::Scalar;

use crate::activation::Activation;
use crate::{CoreBars, Function};

/// A network of dense layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlp {
    layers: Vec<Layer>,
    activation: Activation,
}

/// One dense layer, and where its numbers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// Its first weight.
    weights: usize,
    /// Its first input among the values of all layers.
    values: usize,
}

impl Mlp {
    /// A network with these hidden layers; without any, it is linear.
    pub fn new(inputs: usize, hidden: &[usize], outputs: usize, activation: Activation) -> Self {
        let widths = [&[inputs], hidden, &[outputs]].concat();
        let (mut weights, mut values) = (0, 0);
        let layer = |pair: &[usize]| {
            let layer = Layer {
                inputs: pair[0],
                outputs: pair[1],
                weights,
                values,
            };
            weights += (pair[0] + 1) * pair[1];
            values += pair[0];
            layer
        };
        let layers = widths.windows(2).map(layer).collect();
        Self { layers, activation }
    }

    fn last(&self) -> Layer {
        self.layers[self.layers.len() - 1]
    }

    /// Numbers that enter layers.
    fn stored(&self) -> usize {
        self.last().values + self.last().inputs
    }

    fn widest(&self) -> usize {
        let widths = self.layers.iter().map(|layer| layer.inputs);
        widths.max().unwrap_or(0).max(self.outputs())
    }
}

impl Function for Mlp {
    fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    fn outputs(&self) -> usize {
        self.last().outputs
    }

    fn weights(&self) -> usize {
        self.last().bias().end
    }

    /// Hidden weights that keep the size of what passes through them [Glorot 2010, eq. 16], and a last layer whose outputs are all
    /// `y` until it is trained.
    fn initial(&self, y: f64, normal: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.weights()];
        for layer in &self.layers[..self.layers.len() - 1] {
            let size = (2.0 / (layer.inputs + layer.outputs) as f64).sqrt();
            for weight in &mut weights[layer.matrix()] {
                *weight = size * normal();
            }
        }
        weights[self.last().bias()].fill(y);
        weights
    }

    /// Those of the last layer are of the size of its outputs.
    fn weight_scales(&self, _: &[f64], z: &[f64]) -> Vec<f64> {
        let mut scales = vec![1.0; self.weights()];
        for column in scales[self.last().weights..].chunks_exact_mut(z.len()) {
            column.copy_from_slice(z);
        }
        scales
    }

    /// (1), (2). The inputs of all layers and the sums of the hidden ones stay in `room`.
    fn value<T: Scalar>(&self, x: &[T], w: &[T], y: &mut [T], room: &mut [T]) {
        let (values, sums) = room.split_at_mut(self.stored());
        values[..x.len()].copy_from_slice(x);
        let (last, hidden) = (self.last(), &self.layers[..self.layers.len() - 1]);
        for layer in hidden {
            let (input, output) = values[layer.values..].split_at_mut(layer.inputs);
            let sums = &mut sums[layer.values + layer.inputs..][..layer.outputs];
            layer.sums(input, w, sums); // (1)
            self.activation.values(sums, output);
        }
        last.sums(&values[last.values..], w, y); // (2)
    }

    /// (1̄). Adds to the cotangents of inputs and weights.
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        y_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        room: &mut [T],
    ) {
        let (room, work) = room.split_at_mut(2 * self.stored());
        let (sum_bar, value_bar) = work.split_at_mut(self.widest());
        self.value(x, w, &mut sum_bar[..y_bar.len()], room);
        sum_bar[..y_bar.len()].copy_from_slice(y_bar);
        let (values, sums) = room.split_at(self.stored());
        for layer in self.layers.iter().rev() {
            let (sum_bar, value_bar) = (
                &mut sum_bar[..layer.inputs.max(layer.outputs)],
                &mut value_bar[..layer.inputs],
            );
            let inputs = layer.values..layer.values + layer.inputs;
            layer.vjp(&values[inputs.clone()], w, sum_bar, value_bar, bars.weights);
            if layer.values == 0 {
                break;
            }
            for (k, index) in inputs.enumerate() {
                let slope = self.activation.slope(sums[index], values[index]);
                sum_bar[k] = slope * value_bar[k];
            }
        }
        for (bar, &found) in bars.inputs.iter_mut().zip(&*value_bar) {
            *bar += found;
        }
    }

    /// The inputs of all layers, the sums of the hidden ones, and two cotangents.
    fn room(&self) -> usize {
        2 * self.stored() + 2 * self.widest()
    }
}

impl Layer {
    /// W⁽ˡ⁾ among the weights.
    fn matrix(self) -> std::ops::Range<usize> {
        self.weights..self.weights + self.inputs * self.outputs
    }

    /// b⁽ˡ⁾ among the weights.
    fn bias(self) -> std::ops::Range<usize> {
        let start = self.matrix().end;
        start..start + self.outputs
    }

    /// W·a + b.
    #[inline]
    fn sums<T: Scalar>(self, input: &[T], w: &[T], sums: &mut [T]) {
        for (sum, &bias) in sums.iter_mut().zip(&w[self.bias()]) {
            *sum = bias;
        }
        let columns = w[self.matrix()].chunks_exact(self.outputs);
        for (&input, column) in input.iter().zip(columns) {
            for (sum, &weight) in sums.iter_mut().zip(column) {
                *sum += input * weight;
            }
        }
    }

    /// The adjoint of [`Self::sums`]: adds to the cotangents of the weights, overwrites those of the inputs.
    #[inline]
    fn vjp<T: Scalar>(
        self,
        input: &[T],
        w: &[T],
        sum_bar: &[T],
        input_bar: &mut [T],
        w_bar: &mut [T],
    ) {
        let sum_bar = &sum_bar[..self.outputs];
        for (bar, &sum) in w_bar[self.bias()].iter_mut().zip(sum_bar) {
            *bar += sum;
        }
        let columns = w[self.matrix()].chunks_exact(self.outputs);
        let column_bars = w_bar[self.matrix()].chunks_exact_mut(self.outputs);
        let inputs = input.iter().zip(input_bar);
        for ((&input, input_bar), (column, column_bar)) in inputs.zip(columns.zip(column_bars)) {
            *input_bar = dot(sum_bar, column);
            for (&sum, bar) in sum_bar.iter().zip(column_bar) {
                *bar += sum * input;
            }
        }
    }
}

/// Σ aᵢ·wᵢ, by four sums that do not wait for each other.
#[inline]
fn dot<T: Scalar>(a: &[T], w: &[T]) -> T {
    let (fours, others) = (a.chunks_exact(4), w.chunks_exact(4));
    let rest = fours.remainder().iter().zip(others.remainder());
    let rest = rest.fold(T::ZERO, |sum, (&a, &w)| sum + a * w);
    let mut sums = [T::ZERO; 4];
    for (a, w) in fours.zip(others) {
        for k in 0..4 {
            sums[k] += a[k] * w[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
