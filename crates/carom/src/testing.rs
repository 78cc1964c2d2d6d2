//! What the unit tests of several modules share.

mod constrained;
mod mechanism;
#[path = "../tests/shared/random.rs"]
mod random;
#[path = "../tests/shared/random_mjcf.rs"]
pub(crate) mod random_mjcf;
pub(crate) mod stage_check;
pub(crate) mod step_check;

use std::path::Path;

use carom_spec::mjcf;
use carom_spec::model_spec::{ComplementaritySpec, ContactLaw, ContactLawSpec, LawKind};
use carom_spec::source::{MemorySource, SourceMap};

use crate::compile::compile;
use crate::model::{Integrator, Model};

pub(crate) use constrained::{Constrained, random_constrained};
pub(crate) use mechanism::{assert_close, random_input, random_model, random_state};
pub(crate) use random::Random;

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

/// The models shared between projects under a contact law, or none (and a word about it) where they are not there.
pub(crate) fn shared_models(law: &str) -> Vec<(String, Model)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root.join("../shared"), Into::into);
    let Ok(manifest) = std::fs::read_to_string(shared.join("models/manifest.json")) else {
        println!("skipped: no shared models at {}", shared.display());
        return Vec::new();
    };
    let (mut name, mut models) = ("", Vec::new());
    for line in manifest.lines() {
        let value = |key: &str| line.trim().strip_prefix(key)?.split('"').nth(1);
        if let Some(found) = value(r#""name":"#) {
            name = found;
        } else if let Some(file) = value(r#""file":"#) {
            let path = shared.join("models").join(name).join(file);
            match model_under_law(&path, law) {
                Ok(model) => models.push((name.to_owned(), model)),
                Err(why) => println!("{name}: skipped, {why}"),
            }
        }
    }
    models
}

/// The model of a file whose contacts follow a law, or why there is nothing to check.
fn model_under_law(path: &Path, law: &str) -> Result<Model, String> {
    let mut spec = carom_spec::read_file(path, &[]).spec;
    let law = match law {
        "complementarity" => ContactLaw::Complementarity(ComplementaritySpec {
            mixing: 1e-3,
            tolerance: 1e-14,
            ..ComplementaritySpec::default()
        }),
        name => ContactLaw::new(LawKind::from_name(name).unwrap()),
    };
    if law != ContactLaw::Soft {
        spec.option.integrator = Integrator::Euler;
        spec.contact_laws = vec![ContactLawSpec {
            law,
            ..ContactLawSpec::default()
        }];
    }
    let (model, problems) = compile(&spec);
    let model = model.ok_or_else(|| format!("{problems:?}"))?;
    if model.counts().nv == 0 {
        return Err("nothing moves".to_owned());
    }
    Ok(model)
}
