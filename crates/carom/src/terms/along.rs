//! How the parameters of terms change along directions of the model's numbers.
//!
//! A direction θ moves the parameters p of an element at rates ṗ, and its law by ∂f/∂p·ṗ. Models over dual numbers carry the
//! rates; a term reads them where it reads its parameters.

use super::Term;
use crate::dual::{Dual, LANES};
use crate::model::Model;

/// The elements of a term whose parameters change, and how.
#[derive(Clone, Debug)]
pub(crate) struct Changes<const K: usize>(Vec<Change<K>>);

/// The rates at which the parameters of one element change along one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<const K: usize> {
    pub(crate) element: usize,
    pub(crate) direction: usize,
    rates: [f64; K],
}

impl<const K: usize> Default for Changes<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<const K: usize> Changes<K> {
    /// Notes what changes of `count` elements along the first `lanes` directions of a model, the first of which is `first`.
    pub(crate) fn note<L: Term<N, K>, const N: usize>(
        &mut self,
        model: &Model<Dual<LANES>>,
        count: usize,
        first: usize,
        lanes: usize,
    ) {
        for element in 0..count {
            let parameters = L::parameters(model, element);
            for lane in 0..lanes {
                let rates = parameters.map(|parameter| parameter.tangent[lane]);
                if rates != [0.0; K] {
                    self.0.push(Change {
                        element,
                        direction: first + lane,
                        rates,
                    });
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Change<K>> {
        self.0.iter()
    }
}

impl<const K: usize> Change<K> {
    /// ∂f/∂p·ṗ.
    pub(crate) fn of(&self, by_parameters: [f64; K]) -> f64 {
        let products = by_parameters.iter().zip(&self.rates);
        products.map(|(slope, rate)| slope * rate).sum()
    }
}
