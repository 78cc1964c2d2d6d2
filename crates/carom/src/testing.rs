//! What the unit tests of several modules share.

pub(crate) mod aba;
mod constrained;
mod mechanism;
#[path = "../tests/shared/random_mjcf.rs"]
pub(crate) mod random_mjcf;
pub(crate) mod stage_check;
pub(crate) mod step_check;

use std::ops::{Deref, DerefMut};
use std::path::Path;

use carom_spec::mjcf;
use carom_spec::model_spec::{ComplementaritySpec, ContactLaw, ContactLawSpec, LawKind};
use carom_spec::model_spec::{FormKind, FormSpec, LearnedTermSpec, Reference, TermMode};
use carom_spec::model_spec::{JointLawDescription, JointLawKind, JointLawNumber};
use carom_spec::source::{MemorySource, SourceMap};
use carom_spec::span::Span;

use crate::compile::compile;
use crate::model::{Integrator, Model};

pub(crate) use constrained::{Constrained, random_constrained};
pub(crate) use mechanism::{assert_close, random_input, random_model, random_state};

/// Numbers without a pattern, and what modules draw with them: vectors, rotations, forests.
pub(crate) struct Random(carom_testing::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(carom_testing::Random::new(seed))
    }

    /// The stream from a place in it.
    pub(crate) fn at(place: u64) -> Self {
        Self(carom_testing::Random(place))
    }
}

impl Deref for Random {
    type Target = carom_testing::Random;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Random {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

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

/// The model of an MJCF text with learned terms, whose weights are small random numbers.
pub(crate) fn model_with_terms(text: &str, terms: Vec<LearnedTermSpec>) -> Model {
    let path = Path::new("test.xml");
    let files = MemorySource::new().with(path, text);
    let (settings, mut sources) = (mjcf::ReadSettings::default(), SourceMap::new());
    let (mut spec, problems) = mjcf::read(path, &files, &settings, &mut sources);
    assert!(problems.is_empty(), "{problems:?}");
    spec.learned_terms = terms;
    let (model, problems) = compile(&spec);
    let mut model = model.unwrap_or_else(|| panic!("{problems:?}"));
    let mut random = Random::new(11);
    let structure = std::sync::Arc::clone(&model.structure);
    for term in &structure.learned.terms {
        for (index, weight) in model.learned.weight[term.weights.clone()]
            .iter_mut()
            .enumerate()
        {
            let least = term.form.lower_bound(index);
            *weight = 0.5 * random.next();
            if least.is_finite() {
                *weight = least + 0.2 + weight.abs();
            }
        }
    }
    model
}

/// A learned term that adds to its targets.
pub(crate) fn learned_term(
    name: &str,
    targets: &[&str],
    inputs: &[&str],
    kind: FormKind,
) -> LearnedTermSpec {
    LearnedTermSpec {
        name: name.to_owned(),
        span: Span::default(),
        targets: references(targets),
        inputs: references(inputs),
        mode: TermMode::Add,
        is_shared: true,
        form: FormSpec {
            kind,
            odd: Vec::new(),
            dissipative: Vec::new(),
            bound: None,
        },
        scales: Vec::new(),
        range: Vec::new(),
        weights: Vec::new(),
        weights_file: None,
        seed: 0,
    }
}

/// References by these names, from nowhere.
pub(crate) fn references(names: &[&str]) -> Vec<Reference> {
    let reference = |name: &&str| Reference {
        name: (*name).to_owned(),
        ..Reference::default()
    };
    names.iter().map(reference).collect()
}

/// Joints that slide and turn and have every law of joints, with numbers that all matter.
pub(crate) fn every_joint_law(option: &str) -> String {
    let mut texts = Vec::new();
    for joint in ["turn", "lift"] {
        for kind in JointLawKind::ALL {
            let JointLawDescription { name, numbers } = kind.description();
            let number = |number: &JointLawNumber| {
                format!("; {}={}", number.name, 1.3 * number.default + 0.25)
            };
            let data: Vec<String> = numbers.iter().map(number).collect();
            let data = format!("law={name}; joint={joint}{}", data.concat());
            texts.push(format!(
                r#"<text name="carom/joint/{joint}_{name}" data="{data}"/>"#
            ));
        }
    }
    let texts = texts.concat();
    format!(
        r#"<mujoco><option {option}/><worldbody>
          <body><joint name="turn" axis="0 1 0" damping=".02"/><geom size=".1" pos=".3 0 0"/>
            <body pos=".5 0 0"><joint name="lift" type="slide" axis=".6 0 .8"/><geom size=".1"/>
              <body pos="0 0 .2"><joint type="ball"/><geom size=".1" pos=".1 .2 0"/></body></body></body>
        </worldbody><actuator><motor joint="turn" gear="3"/><motor joint="lift"/></actuator>
        <custom>{texts}</custom></mujoco>"#
    )
}

/// The model of a file.
pub(crate) fn model_from_file(path: &Path) -> Model {
    let read = carom_spec::read_file(path, &[]);
    let (model, problems) = compile(&read.spec);
    model.unwrap_or_else(|| panic!("{}: {problems:?}", path.display()))
}

/// The models shared between projects under a contact law; none, and a skip, where they are not there. Models that the law
/// does not admit, and those in which nothing moves, are left out.
pub(crate) fn shared_models(law: &str) -> Vec<(String, Model)> {
    let mut models = Vec::new();
    for (name, path) in carom_testing::shared_models() {
        match model_under_law(&path, law) {
            Ok(model) => models.push((name, model)),
            Err(why) => println!("{name}: left out, {why}"),
        }
    }
    models
}

/// The models that ship.
pub(crate) fn shipped_models() -> Vec<(String, Model)> {
    (carom_testing::shipped_models().into_iter())
        .filter_map(|(name, path)| Some((name, model_under_law(&path, "soft").ok()?)))
        .collect()
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
