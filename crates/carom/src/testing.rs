//! What the unit tests of several modules share.

mod constrained;
mod mechanism;
pub(crate) mod stage_check;
pub(crate) mod step_check;

use std::path::Path;

use carom_spec::mjcf;
use carom_spec::source::{MemorySource, SourceMap};

use crate::compile::compile;
use crate::model::Model;

pub(crate) use constrained::{Constrained, random_constrained};
pub(crate) use mechanism::{assert_close, random_input, random_model, random_state};

/// The model of an MJCF text.
pub(crate) fn model_from_mjcf(text: &str) -> Model {
    let path = Path::new("test.xml");
    let files = MemorySource::new().with(path, text);
    let (settings, mut sources) = (mjcf::ReadSettings::default(), SourceMap::new());
    let (spec, problems) = mjcf::read(path, &files, &settings, &mut sources);
    assert!(problems.is_empty(), "{problems:?}");
    let (model, problems) = compile(&spec);
    model.unwrap_or_else(|| panic!("{problems:?}"))
}

/// The model of a file.
pub(crate) fn model_from_file(path: &Path) -> Model {
    let read = carom_spec::read_file(path, &[]);
    let (model, problems) = compile(&read.spec);
    model.unwrap_or_else(|| panic!("{}: {problems:?}", path.display()))
}

/// A reproducible stream of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in [−1, 1).
    pub(crate) fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Numbers in [−1, 1).
    pub(crate) fn numbers<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.next())
    }

    /// Numbers in [−1, 1).
    pub(crate) fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }
}
