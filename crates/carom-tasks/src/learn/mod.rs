//! Training of learned terms: `carom learn terms` without its words.
//!
//! A [blueprint] says which terms a model is given. Their inputs are normalised by the recordings, and their weights are found by
//! predicting the recordings through the engine: first over short segments, whose loss has few minima, then over longer ones, up
//! to whole trajectories. Few weights are found by Levenberg–Marquardt, many by Adam and then L-BFGS. After every round of
//! evaluations the loss on held-out recordings is measured; the weights that were best there are kept, and a horizon ends when
//! they get no better.
//!
//! Results are the same bits for any number of threads, and if training was ended and resumed.

pub mod blueprint;
mod scales;
mod settings;
mod train;

pub use settings::{Settings, selections};
pub use train::{Horizon, Learned, Load, Progress, Unwatched, Watch, train};

use carom::load::ModelProblems;
use carom::{Error, Model};
use carom_spec::mjcf::learned_term::fingerprint;
use carom_spec::model_spec::LearnedTermSpec;
use carom_spec::weights::TermWeights;
use carom_spec::{ModelSpec, SourceMap};

/// Compiles a description that was given terms.
fn compile(spec: &ModelSpec) -> Result<Model, Error> {
    let (model, diagnostics) = carom::compile::compile(spec);
    model.ok_or_else(|| {
        Error::from(ModelProblems {
            diagnostics,
            sources: SourceMap::new(),
            unreadable: None,
        })
    })
}

/// What a file of weights has of trained terms.
pub fn weights_of(terms: &[LearnedTermSpec]) -> Vec<TermWeights> {
    let weights = |term: &LearnedTermSpec| TermWeights {
        name: term.name.clone(),
        fingerprint: fingerprint(term),
        weights: term.weights.clone(),
        scales: term.scales.clone(),
        range: term.range.clone(),
    };
    terms.iter().map(weights).collect()
}
